//! Flights in every kind of source: the data of tests that compare what sources answer with a copy in the native store.

use std::collections::BTreeSet;

use database::{Config, Database, Parameters, Session};
use rusqlite::Connection;
use testing::random::SeededRandom;
use testing::{Folder, servers};

use crate::engine::answer_of;

pub(super) const PROPERTIES: [&str; 8] = ["id", "month", "delay", "carrier", "speed", "day", "price", "code"];
pub(super) const ORIGIN: usize = PROPERTIES.len();

pub(super) const FLIGHTS: usize = 4_000;
pub(super) const AIRPORTS: [&str; 4] = ["EWR", "JFK", "LGA", "SWF"];
/// Strings that databases compare otherwise, or that are special in their patterns.
pub(super) const CARRIERS: [&str; 10] = ["UA", "ua", "A%", "A_", "AA", "a\\b", "it's", "", "Ä", "UA "];
/// Strings of columns that pad them.
pub(super) const CODES: [&str; 4] = ["a", "A", "ab", "abcd"];
const CREWS: u64 = 40;
const CREW_NAMES: [&str; 5] = ["Ann", "ann", "Bo", "Cy ", "Cy"];
/// The Redis database of this test.
pub(super) const REDIS: u8 = 7;

/// A value of a row; strings have quotes in SQL.
pub(super) enum Cell {
    Number(String),
    Text(String),
}

/// The flights: cells of the properties and of the origin, null where there is none.
pub(super) fn flights() -> Vec<Vec<Option<Cell>>> {
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

pub(super) fn tables(has_backslashes: bool) -> String {
    let mut sql = "CREATE TABLE airport (faa VARCHAR(3) PRIMARY KEY, name VARCHAR(20));
         CREATE TABLE crew (id INTEGER PRIMARY KEY, name VARCHAR(9), age INTEGER);
         CREATE TABLE flight (id INTEGER PRIMARY KEY, month INTEGER NOT NULL, delay INTEGER, carrier VARCHAR(9),
           speed DOUBLE PRECISION, day DATE, price DECIMAL(12,2), code CHAR(4),
           origin VARCHAR(3) REFERENCES airport (faa));
         CREATE TABLE duty (crew INTEGER NOT NULL REFERENCES crew (id), flight INTEGER NOT NULL REFERENCES flight (id),
           PRIMARY KEY (crew, flight));\n"
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
    sql.push_str(&crews());
    sql
}

/// Crews, most of them on a few of the flights.
fn crews() -> String {
    let mut random = SeededRandom::new(8);
    let mut sql = String::new();
    for id in 0..CREWS {
        let name = if random.chance(10) { "NULL".to_owned() } else { format!("'{}'", random.pick(&CREW_NAMES)) };
        let age = if random.chance(10) { "NULL".to_owned() } else { (20 + random.below(40)).to_string() };
        sql.push_str(&format!("INSERT INTO crew VALUES ({id}, {name}, {age});\n"));
    }
    let duties: BTreeSet<(u64, u64)> =
        (0..FLIGHTS / 2).map(|_| (random.below(CREWS - 1), random.below(FLIGHTS as u64 / 4))).collect();
    let duties: Vec<String> = duties.iter().map(|(crew, flight)| format!("({crew}, {flight})")).collect();
    sql + &format!("INSERT INTO duty VALUES {};\n", duties.join(", "))
}

pub(super) fn csv() -> String {
    let cell = |cell: &Option<Cell>| match cell {
        None => String::new(),
        Some(Cell::Number(number)) => number.clone(),
        Some(Cell::Text(text)) => format!("\"{text}\""),
    };
    let row = |row: Vec<Option<Cell>>| row.iter().map(cell).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = flights().into_iter().map(row).collect();
    format!("{},origin\n{}\n", PROPERTIES.join(","), rows.join("\n"))
}

pub(super) fn hashes() -> String {
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
pub(super) struct Source {
    pub(super) name: &'static str,
    url: String,
    /// The rows of its nodes and edges, as a definition names them.
    definition: String,
}

impl Source {
    pub(super) fn of_tables(name: &'static str, url: String) -> Source {
        let properties = PROPERTIES.map(|name| format!("\"{name}\"")).join(", ");
        let definition = format!(
            r#"{{
              "nodes": {{
                "Flight": {{ "table": "flight", "key": "id", "properties": [{properties}] }},
                "Airport": {{ "table": "airport", "key": "faa", "properties": ["faa", "name"] }},
                "Crew": {{ "table": "crew", "key": "id", "properties": ["id", "name", "age"] }}
              }},
              "edges": {{
                "FROM": {{ "table": "flight", "source": "Flight", "target": "Airport(origin)" }},
                "DUTY": {{ "table": "duty", "source": "Crew(crew)", "target": "Flight(flight)", "key": ["crew", "flight"] }},
                "ON": {{ "table": "duty", "source": "Crew(crew)", "target": "Flight(flight)" }}
              }}
            }}"#
        );
        Source { name, url, definition }
    }

    /// Without types in the source: those of numbers are in the definition.
    pub(super) fn of_rows(name: &'static str, url: String, rows: &str) -> Source {
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
    pub(super) fn attached(&self, folder: &Folder, name: &str) -> Database {
        let definition = folder.join("flights.json");
        std::fs::write(&definition, &self.definition).expect("the folder of a test can be written");
        let store = folder.join(&format!("{} {name}.knot", self.name));
        let database = Database::open(&store, Config::default()).expect("a store can be opened");
        let attach = format!("ATTACH '{}' AS f (DEFINITION '{}')", self.url, definition.display());
        rows(&mut database.session(), &attach);
        database
    }

    /// A database with a copy of the source, whose conditions nobody but the executor tests.
    pub(super) fn copied(&self, folder: &Folder) -> Database {
        let database = self.attached(folder, "copy");
        rows(&mut database.session(), "PRELOAD f");
        rows(&mut database.session(), "DETACH f");
        database
    }
}

/// The SQL databases that are there. The one of SQLite is also where tests ask what SQL would give.
pub(super) fn databases(name: &str, folder: &Folder) -> Vec<Source> {
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
pub(super) fn sources(name: &str, folder: &Folder) -> Vec<Source> {
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

pub(super) fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let answer = answer_of(session, text, &Parameters::default()).unwrap_or_else(|failure| panic!("{text}: {failure}"));
    answer.rows.iter().map(|row| row.join(", ")).collect()
}

/// Rows that a query gives, and rows that its source gave for them.
pub(super) fn fetched(session: &mut Session, text: &str) -> (u64, u64, String) {
    let result = session.query(&format!("PROFILE {text}"), &Parameters::default());
    let report = result.unwrap_or_else(|failure| panic!("{text}: {failure}")).summary.report.expect("it is asked for");
    let actual = report.lines.iter().filter_map(|line| line.actual);
    let fetched = actual.map(|actual| actual.storage.rows_fetched).sum();
    (report.lines[0].actual.map_or(0, |actual| actual.rows), fetched, report.text().to_owned())
}
