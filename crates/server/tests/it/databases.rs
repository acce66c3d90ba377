//! Several databases and users over HTTP; sessions of Bolt's driver are in `tests/drivers/test_databases.py`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use database::{Access, Config, Database, FileAccess};
use serde_json::json;
use server::{Admission, Folder, Settings, credentials};

use bolt::Value;

use super::client::{Client, ROUTE, SUCCESS, get, map, message, pull, text};
use super::running::{Running, folder};
use super::web::Web;

/// A server with a folder of databases, and users if that is asked for.
fn start(has_users: bool) -> Running {
    let folder = folder();
    let databases = Some(Folder { path: folder.join("others"), memory_bytes_max: 64 << 20 });
    let users = folder.join("users");
    let admission = if has_users {
        credentials::set_password(&users, "long enough").unwrap();
        Admission::Users(users)
    } else {
        Admission::Everybody
    };
    Running::start_with(Settings { databases, admission, ..Settings::default() }, Default::default(), folder)
}

/// A client of HTTP with a login.
fn logged_in(running: &Running, name: &str, password: &str) -> Web {
    let mut web = Web::connect(running.address);
    let login = STANDARD.encode(format!("{name}:{password}"));
    web.headers.push_str(&format!("Authorization: Basic {login}\r\n"));
    web
}

fn statement(text: &str) -> String {
    json!({ "statement": text }).to_string()
}

fn run(web: &mut Web, database: &str, text: &str) -> serde_json::Value {
    web.post(&format!("/db/{database}/query/v2"), &statement(text)).rows()
}

fn code(web: &mut Web, database: &str, text: &str) -> (u16, String) {
    let (status, code, _) = web.post(&format!("/db/{database}/query/v2"), &statement(text)).error();
    (status, code)
}

#[test]
fn the_path_names_the_database() {
    let running = start(false);
    let mut web = Web::connect(running.address);
    assert_eq!(code(&mut web, "sales", "RETURN 1").0, 404);
    run(&mut web, "system", "CREATE DATABASE sales");
    for (database, count) in [("neo4j", 1), ("sales", 1), ("Sales", 2), ("neo4j", 2)] {
        run(&mut web, database, "CREATE (:A)");
        assert_eq!(run(&mut web, database, "MATCH (a:A) RETURN count(a)"), json!([[count]]), "{database}");
    }
    // A transaction stays in its database, over a connection that goes elsewhere between its requests.
    let begun = web.post("/db/sales/query/v2/tx", "").json();
    let path = format!("/db/sales/query/v2/tx/{}", begun["transaction"]["id"].as_str().unwrap());
    assert_eq!(run(&mut web, "neo4j", "MATCH (a:A) RETURN count(a)"), json!([[2]]));
    assert_eq!(web.post(&path, &statement("CREATE (:A) RETURN 1")).rows(), json!([[1]]));
    assert_eq!(run(&mut web, "sales", "MATCH (a:A) RETURN count(a)"), json!([[2]]));
    let elsewhere = path.replace("/db/sales/", "/db/neo4j/");
    assert_eq!(web.post(&elsewhere, &statement("RETURN 1")).error().0, 404);
    assert_eq!(web.post(&format!("{path}/commit"), "").status, 202);
    assert_eq!(run(&mut web, "sales", "MATCH (a:A) RETURN count(a)"), json!([[3]]));
}

#[test]
fn use_in_front_of_a_statement_names_the_database_too() {
    let running = start(false);
    let mut web = Web::connect(running.address);
    run(&mut web, "neo4j", "CREATE DATABASE sales");
    run(&mut web, "neo4j", "USE sales CREATE (:A)");
    for (text, count) in [
        ("MATCH (a:A) RETURN count(a)", 0),
        ("USE sales MATCH (a:A) RETURN count(a)", 1),
        ("use `Sales`\nMATCH (a:A) RETURN count(a)", 1),
        ("USE neo4j MATCH (a:A) RETURN count(a)", 0),
        ("MATCH (a:A) RETURN count(a)", 0),
    ] {
        assert_eq!(run(&mut web, "neo4j", text), json!([[count]]), "{text}");
    }
    assert_eq!(code(&mut web, "neo4j", "USE nowhere RETURN 1").1, "Neo.ClientError.Database.DatabaseNotFound");
    assert_eq!(code(&mut web, "neo4j", "USE sales RETRUN 1").1, "Neo.ClientError.Statement.SyntaxError");
    let mut bolt = Client::connect(running.address);
    assert_eq!(bolt.rows("USE sales MATCH (a:A) RETURN a"), 1);
    assert_eq!(bolt.rows("MATCH (a:A) RETURN a"), 0);
    bolt.send(&message(super::client::BEGIN, vec![map(&[("db", text("sales"))])]));
    bolt.expect(SUCCESS);
    assert_eq!(bolt.rows("USE sales MATCH (a:A) RETURN a"), 1);
    bolt.send(&message(super::client::RUN, vec![text("USE neo4j RETURN 1"), map(&[]), map(&[])]));
    let (_, told) = bolt.failure();
    assert!(told.contains("sales"), "{told}");
}

#[test]
fn transactions_of_all_databases_are_shown_and_ended_wherever_it_is_asked() {
    let running = start(false);
    let mut web = Web::connect(running.address);
    run(&mut web, "neo4j", "CREATE DATABASE sales");
    let begun = web.post("/db/sales/query/v2/tx", &statement("CREATE (:A)")).json();
    let path = format!("/db/sales/query/v2/tx/{}", begun["transaction"]["id"].as_str().unwrap());
    let open = "SHOW TRANSACTIONS YIELD database, transactionId, currentQuery WHERE currentQuery = '' RETURN database, transactionId";
    for database in ["neo4j", "sales", "system"] {
        let shown = run(&mut web, database, open);
        assert_eq!((shown.as_array().unwrap().len(), &shown[0][0]), (1, &json!("sales")), "{database}: {shown}");
    }
    let name = run(&mut web, "neo4j", open)[0][1].as_str().unwrap().to_owned();
    let ended = run(&mut web, "neo4j", &format!("TERMINATE TRANSACTIONS '{name}', 'sales-transaction-999'"));
    assert!(ended.as_array().unwrap().len() == 2 && ended.to_string().contains("not found"), "{ended}");
    assert!(web.post(&path, &statement("RETURN 1")).status >= 400);
    assert_eq!(run(&mut web, "sales", "MATCH (a:A) RETURN count(a)"), json!([[0]]));
    // One that is dropped is shown no more.
    run(&mut web, "neo4j", "DROP DATABASE sales");
    assert_eq!(run(&mut web, "neo4j", open), json!([]));
}

#[test]
fn a_drop_undoes_transactions_that_are_open() {
    let running = start(false);
    let mut web = Web::connect(running.address);
    run(&mut web, "neo4j", "CREATE DATABASE sales");
    let begun = web.post("/db/sales/query/v2/tx", &statement("CREATE (:A)")).json();
    let path = format!("/db/sales/query/v2/tx/{}", begun["transaction"]["id"].as_str().unwrap());
    // A client of Bolt with a transaction, and one that only rests there.
    let (mut bolt, mut resting) = (Client::connect(running.address), Client::connect(running.address));
    let there = map(&[("db", text("sales"))]);
    bolt.send(&message(super::client::BEGIN, vec![there.clone()]));
    bolt.expect(SUCCESS);
    resting.send(&message(super::client::RUN, vec![text("RETURN 1"), map(&[]), there.clone()]));
    resting.send(&pull());
    resting.expect(SUCCESS);
    assert_eq!(resting.rest(), 1);
    run(&mut web, "neo4j", "DROP DATABASE sales");
    assert!(std::fs::read_dir(running.folder.join("others")).unwrap().next().is_none());
    assert_eq!(web.post(&path, &statement("RETURN 1")).error().0, 404);
    bolt.send(&message(super::client::COMMIT, vec![]));
    assert!(bolt.failure().0.starts_with("Neo.TransientError.Transaction.Terminated"));
    resting.send(&message(super::client::RUN, vec![text("RETURN 1"), map(&[]), there]));
    assert_eq!(resting.failure().0, "Neo.ClientError.Database.DatabaseNotFound");
    assert_eq!(code(&mut web, "neo4j", "DROP DATABASE sales").1, "Neo.ClientError.Database.DatabaseNotFound");
    resting.reset();
    assert_eq!(resting.rows("RETURN 1"), 1);
}

#[test]
fn roles_are_looked_up_at_each_request() {
    let running = start(true);
    let as_user = |name: &str, password: &str| logged_in(&running, name, password);
    let (mut neo4j, mut ann) = (as_user("neo4j", "long enough"), as_user("ann", "also long enough"));
    assert_eq!(code(&mut ann, "neo4j", "RETURN 1").0, 401);
    run(&mut neo4j, "neo4j", "CREATE USER ann SET PASSWORD 'also long enough' CHANGE NOT REQUIRED");
    let mut ann = as_user("ann", "also long enough");
    let forbidden = (403, "Neo.ClientError.Security.Forbidden".to_owned());
    assert_eq!(run(&mut ann, "neo4j", "RETURN 1"), json!([[1]]));
    for text in [
        "MATCH (n) RETURN n",
        "RETURN COUNT { (n) }",
        "RETURN EXISTS { MATCH (n) WHERE n.x = 1 }",
        "RETURN [(a)-->(b) | b.x]",
        "RETURN reduce(x = [], y IN [1] | x + COLLECT { MATCH (n) RETURN n.x })",
        "UNWIND [1] AS x WITH x WHERE x = COUNT { (n) } RETURN x",
        "UNWIND [1] AS x RETURN x ORDER BY COUNT { (n) }",
        "UNWIND [1] AS x RETURN max(COUNT { (n) })",
        "RETURN 1 SKIP 0 LIMIT COUNT { (n) }",
        "CALL dbms.databases(COLLECT { MATCH (n) RETURN n.x }) YIELD name RETURN name",
    ] {
        let (status, code) = code(&mut ann, "neo4j", text);
        // A subquery that may not stand there is a mistake, and reads nothing either.
        assert!((status, &*code) == (403, &*forbidden.1) || code.ends_with("SyntaxError"), "{text}: {code}");
    }
    assert_eq!(code(&mut ann, "neo4j", "CREATE DATABASE mine"), forbidden);
    run(&mut neo4j, "neo4j", "GRANT ROLE writer TO ann");
    run(&mut ann, "neo4j", "CREATE (:A)");
    assert_eq!(code(&mut ann, "neo4j", "CREATE INDEX FOR (a:A) ON (a.x)"), forbidden);
    // A password that was known is forgotten with a change.
    run(&mut neo4j, "neo4j", "ALTER USER ann SET PASSWORD 'another that is long'");
    assert_eq!(code(&mut ann, "neo4j", "RETURN 1").0, 401);
    let mut ann = as_user("ann", "another that is long");
    run(&mut ann, "neo4j", "MATCH (n) RETURN count(n)");
    run(&mut neo4j, "neo4j", "DROP USER ann");
    assert_eq!(code(&mut ann, "neo4j", "RETURN 1").0, 401);
}

#[test]
fn clients_reach_the_files_of_one_folder_and_no_others() {
    let folder = folder();
    let (given, users) = (folder.join("given"), folder.join("users"));
    std::fs::create_dir_all(&given).unwrap();
    std::fs::write(given.join("people.csv"), "id,name\n1,Ann\n2,Bo\n").unwrap();
    std::fs::write(folder.join("secret.csv"), "id,name\n3,Cy\n").unwrap();
    credentials::set_password(&users, "long enough").unwrap();
    let settings = Settings {
        files: FileAccess::Within(given.canonicalize().unwrap()),
        databases: Some(Folder { path: folder.join("others"), memory_bytes_max: 64 << 20 }),
        admission: Admission::Users(users),
        ..Settings::default()
    };
    let running = Running::start_with(settings, Default::default(), folder.clone());
    let mut neo4j = logged_in(&running, "neo4j", "long enough");
    run(&mut neo4j, "neo4j", "CREATE USER ann SET PASSWORD 'also long enough' CHANGE NOT REQUIRED");
    run(&mut neo4j, "neo4j", "CREATE DATABASE sales");
    run(&mut neo4j, "neo4j", "GRANT ROLE writer TO ann");
    let mut ann = logged_in(&running, "ann", "also long enough");
    let secret = folder.join("secret.csv").display().to_string();
    for database in ["neo4j", "sales"] {
        for file in ["people.csv", "/people.csv", "file:///people.csv"] {
            let text = format!("LOAD CSV WITH HEADERS FROM '{file}' AS row RETURN collect(row.name)");
            assert_eq!(run(&mut ann, database, &text), json!([[["Ann", "Bo"]]]), "{file}");
        }
        for file in ["../secret.csv", "file:///../secret.csv", "given/../../secret.csv", "x/../people.csv"] {
            let (status, code) = code(&mut ann, database, &format!("LOAD CSV FROM '{file}' AS row RETURN row"));
            assert_eq!((status, &*code), (403, "Neo.ClientError.Security.Forbidden"), "{file}");
        }
        // It is looked for in the folder.
        assert_eq!(code(&mut ann, database, &format!("LOAD CSV FROM '{secret}' AS row RETURN row")).0, 400);
    }
    let forbidden = (403, "Neo.ClientError.Security.Forbidden".to_owned());
    for text in ["COPY Person FROM 'people.csv'", "COPY (RETURN 1 AS x) TO 'x.csv'", "BACKUP DATABASE TO 'copy.knot'"] {
        assert_eq!(code(&mut ann, "neo4j", text), forbidden, "{text}");
    }
    assert_eq!(run(&mut neo4j, "neo4j", "COPY Person FROM 'people.csv'"), json!([[2, 0, 0, 0]]));
    run(&mut neo4j, "neo4j", "COPY (MATCH (p:Person) RETURN p.name AS name ORDER BY name) TO 'names.csv'");
    assert_eq!(std::fs::read_to_string(given.join("names.csv")).unwrap(), "name\nAnn\nBo\n");
    run(&mut neo4j, "neo4j", "BACKUP DATABASE TO 'copy.knot'");
    let config = Config { access: Access::ReadOnly, ..Config::default() };
    let copied = Database::open(&given.join("copy.knot"), config).unwrap();
    let count = copied.session().query("MATCH (p:Person) RETURN count(p)", &Default::default()).unwrap();
    assert_eq!(count.single(), Some(2.into()));
    for text in [
        "COPY (RETURN 1 AS x) TO '../x.csv'",
        "BACKUP DATABASE TO '../copy.knot'",
        "COPY Person FROM 'people.csv' (skip_bad = '../bad.csv')",
        "ATTACH 'sqlite:people.db' AS s",
    ] {
        assert_eq!(code(&mut neo4j, "neo4j", text), forbidden, "{text}");
    }
}

#[test]
fn without_a_folder_clients_reach_no_files() {
    let running = start(false);
    let mut web = Web::connect(running.address);
    for text in [
        "LOAD CSV FROM 'a.csv' AS row RETURN row",
        "COPY Person FROM 'a.csv'",
        "COPY (RETURN 1 AS x) TO 'a.csv'",
        "BACKUP DATABASE TO 'a.knot'",
        "DETACH s",
    ] {
        assert_eq!(code(&mut web, "neo4j", text), (403, "Neo.ClientError.Security.Forbidden".to_owned()), "{text}");
    }
    assert_eq!(run(&mut web, "neo4j", "COMPACT"), json!([]));
}

#[test]
fn the_statements_of_a_user_share_a_limit_of_memory() {
    let settings = Settings { user_memory_bytes_max: Some(4 << 20), ..Settings::default() };
    let running = Running::start(settings);
    let mut web = Web::connect(running.address);
    let large = "UNWIND range(1, 1000000) AS i RETURN size(collect(toString(i)))";
    let (status, code, message) = web.post("/db/neo4j/query/v2", &statement(large)).error();
    assert!(status >= 400 && message.contains("4194304 bytes that they may hold together"), "{code}: {message}");
    // Nothing is left of it, and others are not concerned: a process of the same user.
    let small = "UNWIND range(1, 10000) AS i RETURN size(collect(toString(i)))";
    assert_eq!(run(&mut web, "neo4j", small), json!([[10_000]]));
    let mut local = running.database.session();
    assert_eq!(local.query(large, &Default::default()).unwrap().single(), Some(1_000_000.into()));
}

#[test]
fn routes_have_the_name_that_was_asked_for() {
    let running = start(false);
    let mut client = Client::connect(running.address);
    for (asked, expected) in [(Some("system"), "system"), (Some("neo4j"), "neo4j"), (None, "neo4j")] {
        let named = asked.map_or_else(|| map(&[]), |name| map(&[("db", text(name))]));
        client.send(&message(ROUTE, vec![map(&[]), Value::List(vec![]), named]));
        let answer = client.expect(SUCCESS);
        assert_eq!(get(get(&answer, "rt"), "db"), &text(expected));
    }
}
