//! Values of other types than those of their columns, which SQLite keeps: what is shown is what conditions find.

use database::{Config, Database, Parameters};
use rusqlite::Connection;
use testing::Folder;

use crate::engine::answer_of;

const TYPES: [&str; 15] = [
    "INTEGER", "BIGINT", "REAL", "DECIMAL(10,2)", "DECIMAL(18,0)", "NUMERIC", "TEXT", "BOOLEAN", "DATE", "TIMESTAMP",
    "", "WORD", "JSON", "BLOB", "VARCHAR(9)",
];
const STORED: [&str; 14] = [
    "5", "2.5", "3.0", "-1", "1", "9007199254740993", "'unknown'", "'n/a'", "''", "'5'", "'a' || char(0) || 'b'",
    "'2020-01-01'", "x'6161'", "NULL",
];
const CONDITIONS: [&str; 10] = [
    "c = $", "c <> $", "c < $", "c <= $", "c > $", "c >= $", "c IN [$, 3]", "c = $ OR c = 'n/a'", "NOT c = $",
    "NOT c IN [$, 3]",
];
const LITERALS: [&str; 14] = [
    "5", "2.5", "3", "3.0", "9007199254740993", "9007199254740992.0", "0.0 / 0.0", "'unknown'", "'n/a'", "''", "'5'",
    "'a\\u0000b'", "true", "date('2020-01-01')",
];
/// Conditions without a literal of another kind.
const OTHERS: [&str; 9] = [
    "c STARTS WITH 'un'", "c STARTS WITH ''", "c >= 2 AND c < 'z'", "c ENDS WITH 'n'", "c ENDS WITH 'b'",
    "c ENDS WITH 'a'", "c CONTAINS ''", "c CONTAINS 'b'", "c IS NULL OR c CONTAINS 'a'",
];

#[test]
fn conditions_find_what_is_shown() {
    let folder = Folder::new();
    let file = folder.join("any.db");
    let connection = Connection::open(&file).expect("the folder of a test can be written");
    for (number, declared) in TYPES.iter().enumerate() {
        let table = format!("CREATE TABLE t{number} (id INTEGER PRIMARY KEY, c {declared});");
        connection.execute_batch(&table).expect("the tables can be made");
        for stored in STORED {
            let row = format!("INSERT INTO t{number} (c) VALUES ({stored});");
            connection.execute_batch(&row).expect("the rows can be made");
        }
    }
    let pairs = "CREATE TABLE pair (g INTEGER NOT NULL, k TEXT NOT NULL, v TEXT, PRIMARY KEY (g, k));
        INSERT INTO pair VALUES (1, 'a', 'plain'), (1, 'a' || char(0) || 'b', 'nul'), (1, 'z', 'zed');";
    connection.execute_batch(pairs).expect("the tables can be made");
    drop(connection);
    let database = Database::open(&folder.join("store.knot"), Config::default()).expect("the store can be opened");
    let mut session = database.session();
    let mut rows = |text: &str| {
        let answer = answer_of(&mut session, text, &Parameters::default());
        answer.unwrap_or_else(|failure| panic!("{text}: {failure}")).rows
    };
    rows(&format!("ATTACH 'sqlite:{}' AS any", file.display()));
    let mut found_rows = 0;
    for (number, declared) in TYPES.iter().enumerate() {
        for condition in CONDITIONS.into_iter().chain(OTHERS) {
            for literal in LITERALS {
                let asked = condition.replace('$', literal).replace("c ", "n.c ");
                let tested = condition.replace('$', literal);
                let found = rows(&format!("MATCH (n:T{number}) WHERE {asked} RETURN n.id ORDER BY n.id"));
                // The value is no longer a property where it is tested.
                let expected = rows(&format!(
                    "MATCH (n:T{number}) WITH n.id AS id, [n.c][0] AS c WHERE {tested} RETURN id ORDER BY id"
                ));
                assert_eq!(found, expected, "{declared}: {asked}");
                found_rows += found.len();
                if !condition.contains('$') {
                    break;
                }
            }
        }
        for end in ["", " DESC"] {
            for limit in 1..=STORED.len() {
                let found = rows(&format!("MATCH (n:T{number}) RETURN n.c ORDER BY n.c{end} LIMIT {limit}"));
                let text = format!("MATCH (n:T{number}) WITH [n.c][0] AS c RETURN c ORDER BY c{end} LIMIT {limit}");
                assert_eq!(found, rows(&text), "{declared}:{end} LIMIT {limit}");
            }
        }
    }
    assert!(found_rows > 2_000, "{found_rows} rows were found");
    for condition in ["n.k = 'a\\u0000b'", "n.k IN ['a\\u0000b']", "n.g = 1 AND n.k = 'a\\u0000b'"] {
        assert_eq!(rows(&format!("MATCH (n:Pair) WHERE {condition} RETURN n.v")), [["'nul'"]], "{condition}");
    }
}
