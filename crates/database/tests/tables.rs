//! Northwind and Chinook, two shops in tables: definitions are inferred from their foreign keys, and twenty questions of each
//! in Cypher are answered as the same questions in SQL. The dumps are taken from `../shared/data` beside the repository, or
//! from the folder that the environment variable `KNOTWORK_DATA` names.

use std::path::PathBuf;
use std::process::Command;

use database::{AttachOptions, Config, Database, Parameters, Value};
use sources::connect::{connect, inspect};
use sources::infer;
use testing::Folder;
use testing::servers::{Postgres, postgres, skip};

/// The standard output of a program.
fn output(command: &mut Command) -> Result<String, String> {
    let done = command.output().map_err(|cause| format!("{command:?}: {cause}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)))
    }
}

fn data(file: &str) -> Result<PathBuf, String> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("KNOTWORK_DATA").map_or_else(beside, PathBuf::from).join(file);
    if path.exists() { Ok(path) } else { Err(format!("{} is not there", path.display())) }
}

fn northwind() -> Result<String, String> {
    let packed = data("northwind/northwind.tar.zst")?;
    output(Command::new("tar").arg("--zstd").arg("-xOf").arg(packed).arg("northwind_psql/northwind.sql"))
}

/// The statements without those that make the database.
fn chinook() -> Result<String, String> {
    let packed = data("chinook/Chinook_PostgreSql.sql.zst")?;
    let text = output(Command::new("zstd").arg("-dqc").arg(packed))?;
    let is_kept =
        |line: &&str| !["DROP DATABASE", "CREATE DATABASE", "\\c "].iter().any(|start| line.starts_with(start));
    Ok(text.lines().filter(is_kept).collect::<Vec<_>>().join("\n"))
}

/// A server with the tables in a database of that name, and its URL.
fn loaded(name: &str, statements: Result<String, String>) -> Option<(&'static Postgres, String)> {
    let statements = match statements {
        Ok(statements) => statements,
        Err(reason) => {
            skip(&format!("questions about {name}: {reason}"));
            return None;
        }
    };
    let server = postgres()?;
    let url = server.database(name);
    server.run(name, &statements);
    server.run(name, "ANALYZE;");
    Some((server, url))
}

/// Labels with their keys, and types with their ends.
fn outline(url: &str) -> Vec<String> {
    let mut source = inspect(url).expect("a store of a test can be read and written");
    let catalog = source.catalog().expect("a store of a test can be read and written");
    let inferred = infer::definition(&catalog, &|name| source.quote(name));
    let definition = &inferred.definition;
    let nodes = definition.nodes.iter().map(|kind| format!("{}({})", kind.name, kind.key.join(", ")));
    let end = |end: &sources::definition::End| match end.node {
        sources::definition::EndNode::Kind(number) => definition.nodes[number].name.to_string(),
        sources::definition::EndNode::Foreign { .. } => "elsewhere".to_owned(),
    };
    let edges = definition.edges.iter().map(|kind| {
        let properties: Vec<&str> = kind.properties.iter().map(|property| &*property.name).collect();
        format!("{} {} {} [{}]", end(&kind.source), kind.edge_type, end(&kind.target), properties.join(" "))
    });
    let outline: Vec<String> = nodes.chain(edges).chain(inferred.notes.iter().cloned()).collect();
    // The definition fits its source: nothing is found but slowness.
    let connector = connect(url, definition).expect("a store of a test can be read and written");
    let found = connector.check().expect("a store of a test can be read and written");
    let wrong: Vec<String> = found
        .iter()
        .filter(|finding| finding.severity != sources::check::Severity::Slow)
        .map(|finding| finding.to_string())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    outline
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// True if two strings are the same, or the same number.
fn are_same(a: &str, b: &str) -> bool {
    a == b
        || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if (a - b).abs() <= 1e-9 * a.abs().max(b.abs()))
}

fn ask(server: &Postgres, name: &str, url: &str, questions: &str) {
    let folder = Folder::new();
    let database =
        Database::open(&folder.join("shop.knot"), Config::default()).expect("the store of a test can be opened");
    database.attach(name, url, &AttachOptions::default()).expect("a store of a test can be read and written");
    let mut session = database.session();
    let mut count = 0;
    for question in questions.split("\n\n").filter(|question| !question.starts_with("//")) {
        let (cypher, sql) = question.trim().split_once("\n= ").unwrap_or_else(|| panic!("no SQL beside {question}"));
        let result = session.query(cypher, &Parameters::default());
        let result = result.unwrap_or_else(|failure| panic!("{}", failure.render(cypher)));
        let found: Vec<Vec<String>> = result.rows().map(|row| row.iter().map(text_of).collect()).collect();
        let expected = server.rows(name, &format!("{sql};"));
        let same = |(found, expected): (&Vec<String>, &Vec<String>)| {
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| are_same(a, b))
        };
        let is_same = found.len() == expected.len() && found.iter().zip(&expected).all(same);
        assert!(is_same && !found.is_empty(), "{cypher}\n{found:?}\n{expected:?}");
        count += 1;
    }
    assert_eq!(count, 20);
}

fn check(name: &str, statements: Result<String, String>, expected: &str, questions: &str) {
    let Some((server, url)) = loaded(name, statements) else { return };
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(outline(&url), expected);
    ask(server, name, &url, questions);
}

#[test]
fn northwind_answers_as_its_tables_do() {
    check(
        "northwind",
        northwind(),
        "Category(category_id)
         CustomerDemographic(customer_type_id)
         Customer(customer_id)
         Employee(employee_id)
         Order(order_id)
         Product(product_id)
         Region(region_id)
         Shipper(shipper_id)
         Supplier(supplier_id)
         Territory(territory_id)
         UsState(state_id)
         Employee REPORTS_TO Employee []
         Order HAS_CUSTOMER Customer []
         Order HAS_EMPLOYEE Employee []
         Order SHIP_VIA Shipper []
         Product HAS_SUPPLIER Supplier []
         Product HAS_CATEGORY Category []
         Territory HAS_REGION Region []
         Customer CUSTOMER_CUSTOMER_DEMO CustomerDemographic []
         Employee HAS_TERRITORY Territory []
         Order ORDER_DETAILS Product [unit_price quantity discount]",
        include_str!("tables/northwind.txt"),
    );
}

#[test]
fn chinook_answers_as_its_tables_do() {
    check(
        "chinook",
        chinook(),
        "Album(album_id)
         Artist(artist_id)
         Customer(customer_id)
         Employee(employee_id)
         Genre(genre_id)
         Invoice(invoice_id)
         InvoiceLine(invoice_line_id)
         MediaType(media_type_id)
         Playlist(playlist_id)
         Track(track_id)
         Album HAS_ARTIST Artist []
         Customer HAS_SUPPORT_REP Employee []
         Employee REPORTS_TO Employee []
         Invoice HAS_CUSTOMER Customer []
         InvoiceLine HAS_INVOICE Invoice []
         InvoiceLine HAS_TRACK Track []
         Track HAS_ALBUM Album []
         Track HAS_MEDIA_TYPE MediaType []
         Track HAS_GENRE Genre []
         Playlist HAS_TRACK Track []",
        include_str!("tables/chinook.txt"),
    );
}
