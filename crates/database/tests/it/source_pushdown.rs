//! Conditions, limits and orders that attached databases answer: no more rows come than SQL would give, and no others.

use database::{Config, Database, Parameters, Session};
use rusqlite::Connection;
use testing::random::{SeededRandom, seed_or};
use testing::{Folder, servers};

use crate::engine::answer_of;

const PROPERTIES: [&str; 8] = ["id", "month", "delay", "carrier", "speed", "day", "price", "code"];
const ORIGIN: usize = PROPERTIES.len();

const FLIGHTS: usize = 4_000;
const AIRPORTS: [&str; 4] = ["EWR", "JFK", "LGA", "SWF"];
/// Strings that databases compare otherwise, or that are special in their patterns.
const CARRIERS: [&str; 10] = ["UA", "ua", "A%", "A_", "AA", "a\\b", "it's", "", "Ä", "UA "];
/// Strings of columns that pad them.
const CODES: [&str; 4] = ["a", "A", "ab", "abcd"];
/// The Redis database of this test.
const REDIS: u8 = 7;

/// A value of a row; strings have quotes in SQL.
enum Cell {
    Number(String),
    Text(String),
}

/// The flights: cells of the properties and of the origin, null where there is none.
fn flights() -> Vec<Vec<Option<Cell>>> {
    let mut random = SeededRandom::new(7);
    let mut flight = |id: usize| {
        let delay = random.below(30) as i64 - 10;
        let delay = if random.chance(1) { delay + 900 } else { delay };
        let day = format!("2024-0{}-1{}", 1 + random.below(9), random.below(10));
        let cells = [
            Cell::Number(id.to_string()),
            Cell::Number((1 + random.below(12)).to_string()),
            Cell::Number(delay.to_string()),
            Cell::Text((*random.pick(&CARRIERS)).to_owned()),
            Cell::Number(format!("{}.5", random.below(600))),
            Cell::Text(day),
            Cell::Number(format!("{}.{:02}", random.below(90), random.below(100))),
            Cell::Text((*random.pick(&CODES)).to_owned()),
            Cell::Text((*random.pick(&AIRPORTS)).to_owned()),
        ];
        let is_kept = |at: usize, random: &mut SeededRandom| matches!(at, 0 | 1 | ORIGIN) || !random.chance(10);
        let cells = cells.into_iter().enumerate();
        cells.map(|(at, cell)| is_kept(at, &mut random).then_some(cell)).collect()
    };
    (0..FLIGHTS).map(&mut flight).collect()
}

fn tables(has_backslashes: bool) -> String {
    let mut sql = "CREATE TABLE airport (faa VARCHAR(3) PRIMARY KEY, name VARCHAR(20));
         CREATE TABLE flight (id INTEGER PRIMARY KEY, month INTEGER NOT NULL, delay INTEGER, carrier VARCHAR(9),
           speed DOUBLE PRECISION, day DATE, price DECIMAL(12,2), code CHAR(4),
           origin VARCHAR(3) REFERENCES airport (faa));\n"
        .to_owned();
    for faa in AIRPORTS {
        sql.push_str(&format!("INSERT INTO airport VALUES ('{faa}', 'Airport {faa}');\n"));
    }
    let cell = |cell: &Option<Cell>| match cell {
        None => "NULL".to_owned(),
        Some(Cell::Number(number)) => number.clone(),
        Some(Cell::Text(text)) if has_backslashes => format!("'{}'", text.replace('\'', "''").replace('\\', "\\\\")),
        Some(Cell::Text(text)) => format!("'{}'", text.replace('\'', "''")),
    };
    for flights in flights().chunks(500) {
        let row = |row: &Vec<Option<Cell>>| format!("({})", row.iter().map(cell).collect::<Vec<_>>().join(", "));
        let rows: Vec<String> = flights.iter().map(row).collect();
        sql.push_str(&format!("INSERT INTO flight VALUES {};\n", rows.join(", ")));
    }
    sql
}

fn csv() -> String {
    let cell = |cell: &Option<Cell>| match cell {
        None => String::new(),
        Some(Cell::Number(number)) => number.clone(),
        Some(Cell::Text(text)) => format!("\"{text}\""),
    };
    let row = |row: Vec<Option<Cell>>| row.iter().map(cell).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = flights().into_iter().map(row).collect();
    format!("{},origin\n{}\n", PROPERTIES.join(","), rows.join("\n"))
}

fn hashes() -> String {
    let mut commands = "FLUSHDB\n".to_owned();
    for (id, row) in flights().iter().enumerate() {
        commands.push_str(&format!("HSET flight:{id}"));
        for (name, cell) in PROPERTIES.iter().zip(row) {
            match cell {
                None => {}
                Some(Cell::Number(number)) => commands.push_str(&format!(" {name} {number}")),
                Some(Cell::Text(text)) => commands.push_str(&format!(" {name} \"{}\"", text.replace('\\', "\\\\"))),
            }
        }
        commands.push('\n');
    }
    commands
}

/// A source with the flights.
struct Source {
    name: &'static str,
    url: String,
    /// The rows of its nodes and edges, as a definition names them.
    definition: String,
}

impl Source {
    fn of_tables(name: &'static str, url: String) -> Source {
        let properties = PROPERTIES.map(|name| format!("\"{name}\"")).join(", ");
        let definition = format!(
            r#"{{
              "nodes": {{
                "Flight": {{ "table": "flight", "key": "id", "properties": [{properties}] }},
                "Airport": {{ "table": "airport", "key": "faa", "properties": ["faa", "name"] }}
              }},
              "edges": {{ "FROM": {{ "table": "flight", "source": "Flight", "target": "Airport(origin)" }} }}
            }}"#
        );
        Source { name, url, definition }
    }

    /// Without types in the source: those of numbers are in the definition.
    fn of_rows(name: &'static str, url: String, rows: &str) -> Source {
        let property = |name: &str| match name {
            "id" | "month" | "delay" => format!(r#"{{ "name": "{name}", "type": "INTEGER" }}"#),
            "speed" | "price" => format!(r#"{{ "name": "{name}", "type": "FLOAT" }}"#),
            "day" => format!(r#"{{ "name": "{name}", "type": "DATE" }}"#),
            _ => format!("\"{name}\""),
        };
        let properties = PROPERTIES.map(property).join(", ");
        let definition = format!(r#"{{ "nodes": {{ "Flight": {{ {rows}, "properties": [{properties}] }} }} }}"#);
        Source { name, url, definition }
    }

    /// A database to which the source is attached anew, so that nothing of it is cached.
    fn attached(&self, folder: &Folder, name: &str) -> Database {
        let definition = folder.join("flights.json");
        std::fs::write(&definition, &self.definition).expect("the folder of a test can be written");
        let store = folder.join(&format!("{} {name}.knot", self.name));
        let database = Database::open(&store, Config::default()).expect("a store can be opened");
        let attach = format!("ATTACH '{}' AS f (DEFINITION '{}')", self.url, definition.display());
        rows(&mut database.session(), &attach);
        database
    }

    /// A database with a copy of the source, whose conditions nobody but the executor tests.
    fn copied(&self, folder: &Folder) -> Database {
        let database = self.attached(folder, "copy");
        rows(&mut database.session(), "PRELOAD f");
        rows(&mut database.session(), "DETACH f");
        database
    }
}

/// The SQL databases that are there. The one of SQLite is also where tests ask what SQL would give.
fn databases(name: &str, folder: &Folder) -> Vec<Source> {
    let file = folder.join("flights.db");
    let connection = Connection::open(&file).expect("the folder of a test can be written");
    connection.execute_batch(&tables(false)).expect("the tables can be made");
    let mut found = vec![Source::of_tables("SQLite", format!("sqlite:{}", file.display()))];
    if let Some(server) = servers::postgres() {
        let url = server.database(name);
        server.run(name, &tables(false));
        found.push(Source::of_tables("PostgreSQL", url));
    }
    if let Some(server) = servers::mariadb() {
        let url = server.database(name);
        server.run(name, &tables(true));
        found.push(Source::of_tables("MariaDB", url));
    }
    found
}

/// All sources that are there.
fn sources(name: &str, folder: &Folder) -> Vec<Source> {
    let mut found = databases(name, folder);
    std::fs::write(folder.join("flight.csv"), csv()).expect("the folder of a test can be written");
    let url = format!("file:{}", folder.path().display());
    found.push(Source::of_rows("files", url, r#""file": "flight.csv", "key": "id""#));
    if let Some(server) = servers::redis() {
        server.run(REDIS, &hashes());
        found.push(Source::of_rows("Redis", server.url(REDIS), r#""keys": "flight:{id}""#));
    }
    found
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let answer = answer_of(session, text, &Parameters::default()).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    answer.rows.iter().map(|row| row.join(", ")).collect()
}

/// Rows that a query gives, and rows that its source gave for them.
fn fetched(session: &mut Session, text: &str) -> (u64, u64, String) {
    let result = session.query(&format!("PROFILE {text}"), &Parameters::default());
    let report = result.unwrap_or_else(|failure| panic!("{text}: {failure}")).summary.report.expect("it is asked for");
    let actual = report.lines.iter().filter_map(|line| line.actual);
    let fetched = actual.map(|actual| actual.storage.rows_fetched).sum();
    (report.lines[0].actual.map_or(0, |actual| actual.rows), fetched, report.text().to_owned())
}

/// Questions, with the SQL whose rows are needed to answer them; the rows fetched are at most twice as many.
const NEEDED: &[(&str, &str)] = &[
    ("MATCH (f:Flight) WHERE f.delay > 800 RETURN f.id", "SELECT id FROM flight WHERE delay > 800"),
    (
        "MATCH (f:Flight) WHERE 800 < f.delay AND f.month = 6 RETURN f.id",
        "SELECT id FROM flight WHERE delay > 800 AND month = 6",
    ),
    (
        "MATCH (f:Flight) WHERE f.delay > 800 OR f.speed < 2 RETURN f.id",
        "SELECT id FROM flight WHERE delay > 800 OR speed < 2",
    ),
    ("MATCH (f:Flight) WHERE f.id = 17 OR f.id = 80 RETURN f.month", "SELECT month FROM flight WHERE id IN (17, 80)"),
    (
        "MATCH (f:Flight) WHERE f.carrier IS NULL AND f.delay IS NULL RETURN f.id",
        "SELECT id FROM flight WHERE carrier IS NULL AND delay IS NULL",
    ),
    (
        "MATCH (f:Flight) WHERE f.carrier <> 'UA' AND f.delay > 800 RETURN f.id",
        "SELECT id FROM flight WHERE NOT carrier = 'UA' AND delay > 800",
    ),
    (
        "MATCH (f:Flight) WHERE NOT f.month IN [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] AND f.speed > 590 RETURN f.id, f.speed",
        "SELECT id FROM flight WHERE month > 10 AND speed > 590",
    ),
    (
        "MATCH (f:Flight) WHERE f.carrier CONTAINS '%' AND f.month = 1 RETURN f.id",
        "SELECT id FROM flight WHERE carrier = 'A%' AND month = 1",
    ),
    (
        "MATCH (f:Flight) WHERE f.carrier ENDS WITH '_' AND f.month = 1 RETURN f.id",
        "SELECT id FROM flight WHERE carrier = 'A_' AND month = 1",
    ),
    ("MATCH (f:Flight) RETURN f.id ORDER BY f.id LIMIT 5", "SELECT id FROM flight ORDER BY id LIMIT 5"),
    ("MATCH (f:Flight) RETURN f.id, f.delay ORDER BY f.delay DESC, f.id DESC LIMIT 4", "SELECT id FROM flight LIMIT 4"),
    (
        "MATCH (f:Flight) WHERE f.month = 3 RETURN f.id, f.speed ORDER BY f.speed SKIP 2 LIMIT 3",
        "SELECT id FROM flight LIMIT 5",
    ),
    ("MATCH (f:Flight) RETURN f.id LIMIT 3", "SELECT id FROM flight LIMIT 3"),
    ("MATCH (f:Flight) WHERE f.delay IS NULL RETURN count(*)", "SELECT count(*) FROM flight"),
    ("MATCH (f:Flight) WHERE f.delay > 5 AND f.month = 2 RETURN count(f)", "SELECT count(*) FROM flight"),
];

#[test]
fn no_more_is_fetched_than_sql_would_give() {
    let folder = Folder::new();
    for source in databases("pushdown_rows", &folder) {
        let counted = Connection::open(folder.join("flights.db")).expect("it is there");
        let database = source.attached(&folder, "rows");
        for (text, sql) in NEEDED {
            let query = format!("SELECT count(*) FROM ({sql}) AS q");
            let needed: i64 = counted.query_row(&query, [], |row| row.get(0)).expect("a query of a test runs");
            let mut session = database.session();
            rows(&mut session, "CALL source.forget('f')");
            let (_, fetched, report) = fetched(&mut session, text);
            assert!(
                fetched <= 2 * needed as u64,
                "{}: {text}: {fetched} rows fetched, {needed} are needed\n{report}",
                source.name
            );
        }
    }
}

#[test]
fn a_pattern_begins_with_the_few_rows_that_a_condition_leaves() {
    let folder = Folder::new();
    for source in databases("pushdown_pattern", &folder) {
        let database = source.attached(&folder, "pattern");
        let text = "MATCH (f:Flight)-[:FROM]->(o) WHERE f.delay > 800 RETURN o.faa, count(f) ORDER BY o.faa";
        let counted = Connection::open(folder.join("flights.db")).expect("it is there");
        let needed = "SELECT count(*) FROM flight WHERE delay > 800";
        let needed: i64 = counted.query_row(needed, [], |row| row.get(0)).expect("a query of a test runs");
        let (_, fetched, report) = fetched(&mut database.session(), text);
        // The flights, their edges, and the airports.
        let most = 2 * needed as u64 + 2 * AIRPORTS.len() as u64;
        assert!(fetched <= most, "{}: {fetched} rows fetched, {needed} flights are late\n{report}", source.name);
    }
}

/// A condition of a query over the flights.
fn condition(random: &mut SeededRandom, depth: u32) -> String {
    let number = |random: &mut SeededRandom| match random.below(5) {
        0 => "5.5".to_owned(),
        1 => "null".to_owned(),
        2 => "'x'".to_owned(),
        _ => (random.below(40) as i64 - 12).to_string(),
    };
    let text = |random: &mut SeededRandom| {
        let text = random.pick(&CARRIERS).replace('\\', "\\\\").replace('\'', "\\'");
        if random.chance(10) { "null".to_owned() } else { format!("'{text}'") }
    };
    let operator = |random: &mut SeededRandom| *random.pick(&["=", "<>", "<", "<=", ">", ">="]);
    let day = |random: &mut SeededRandom| format!("date('2024-0{}-1{}')", 1 + random.below(9), random.below(10));
    match if depth == 0 { 2 + random.below(11) } else { random.below(13) } {
        0 => format!("({} OR {})", condition(random, depth - 1), condition(random, depth - 1)),
        1 => format!("({} AND {})", condition(random, depth - 1), condition(random, depth - 1)),
        2 | 3 => {
            let property = random.pick(&["f.delay", "f.month", "f.speed", "f.id", "f.price"]);
            format!("{property} {} {}", operator(random), number(random))
        }
        4 => format!("{} {} f.delay", number(random), operator(random)),
        5 => format!("f.carrier {} {}", operator(random), text(random)),
        6 => {
            let word = random.pick(&["STARTS WITH", "ENDS WITH", "CONTAINS"]);
            format!("f.{} {word} {}", random.pick(&["carrier", "code"]), text(random))
        }
        7 => {
            let not = if random.chance(40) { "NOT " } else { "" };
            let items: Vec<String> = (0..random.below(4)).map(|_| text(random)).collect();
            format!("{not}f.carrier IN [{}]", items.join(", "))
        }
        8 => format!("f.{} IS NULL", random.pick(&["delay", "carrier", "speed", "day", "price", "unheard"])),
        9 => format!("f.{} IS NOT NULL", random.pick(&["delay", "carrier", "speed", "code"])),
        10 => format!("f.day {} {}", operator(random), day(random)),
        11 => {
            let words = [format!("{:?}", random.pick(&CODES)), "'ab  '".to_owned(), "'a '".to_owned()];
            format!("f.code {} {}", operator(random), random.pick(&words))
        }
        _ => format!("f.price {} {}.{:02}", operator(random), random.below(90), random.below(100)),
    }
}

/// A question for what a condition leaves, whose answer does not depend on the order of equal rows.
fn question(random: &mut SeededRandom, round: u64) -> String {
    let condition = condition(random, 2);
    let down = *random.pick(&["", " DESC"]);
    let end = match round % 4 {
        0 => "RETURN f.id, f.delay, f.carrier ORDER BY f.id".to_owned(),
        1 => "RETURN count(*), count(f.delay)".to_owned(),
        2 => {
            let key = random.pick(&["carrier", "code", "day", "price", "delay"]);
            format!("RETURN f.{key} ORDER BY f.{key}{down} LIMIT 7")
        }
        _ => format!("RETURN f.speed, f.delay ORDER BY f.delay{down}, f.speed{down} SKIP 3 LIMIT {}", random.below(9)),
    };
    format!("MATCH (f:Flight) WHERE {condition} {end}")
}

#[test]
fn answers_are_the_same_whoever_tests_and_sorts() {
    let folder = Folder::new();
    let seed = seed_or(41);
    for source in sources("pushdown_same", &folder) {
        let (attached, copied) = (source.attached(&folder, "same"), source.copied(&folder));
        let (mut attached, mut copied) = (attached.session(), copied.session());
        let mut random = SeededRandom::new(seed);
        let mut found = 0;
        for round in 0..80 {
            let text = question(&mut random, round);
            let expected = rows(&mut copied, &text);
            found += expected.len();
            assert_eq!(rows(&mut attached, &text), expected, "{}, seed {seed}: {text}", source.name);
        }
        assert!(found > 1_000, "{}: the questions ask for {found} rows only", source.name);
    }
}

#[test]
fn plans_say_what_is_pushed_and_indexes_are_real() {
    let folder = Folder::new();
    let database = databases("pushdown_plans", &folder).swap_remove(0).attached(&folder, "plans");
    let mut session = database.session();
    let text = "MATCH (f:Flight) WHERE f.delay > 800 AND f.carrier =~ 'U.*' RETURN f.id";
    let plan = rows(&mut session, "SHOW INDEXES");
    assert!(plan.iter().all(|row| row.contains("unique")), "{plan:?}");
    let mut explain = |text: &str| {
        let result = session.query(&format!("EXPLAIN {text}"), &Parameters::default());
        result.expect("a plan is told").summary.report.expect("it is asked for").text().to_owned()
    };
    let told = explain(text);
    assert!(told.contains("pushed: f.delay > 800") && told.contains("f.carrier =~ 'U.*'"), "{told}");
    assert!(told.contains("Filter") && told.contains("WHERE") && !told.contains("Index"), "{told}");
    let told = explain("MATCH (f:Flight) WHERE f.month = 6 RETURN f.id ORDER BY f.speed DESC LIMIT 5");
    assert!(told.contains("pushed: f.month = 6 ORDER BY f.speed DESC LIMIT 5"), "{told}");
    assert!(told.contains("LIMIT 5") && told.contains("Top"), "{told}");
}
