//! `SHOW`: what it lists, as its procedures list it.

/// Things that can be shown, the procedure behind it, and the number of columns that are shown unless `YIELD` says which.
const SHOWN: &[(&str, &str, usize)] = &[
    ("CONSTRAINTS", "db.constraints()", 8),
    ("INDEXES", "db.indexes()", 12),
    ("RANGE INDEXES", "db.indexes('RANGE')", 12),
    ("SORT KEYS", "db.sortKeys()", 2),
    ("FUNCTIONS", "dbms.functions()", 3),
    ("PROCEDURES", "dbms.procedures()", 4),
    ("PROCEDURES EXECUTABLE BY CURRENT USER", "dbms.procedures()", 4),
    ("SETTINGS", "dbms.settings()", 3),
    ("SOURCES", "source.list()", 8),
    ("DATABASES", "dbms.databases()", 13),
    ("DATABASE neo4j", "dbms.databases('neo4j')", 13),
    ("DEFAULT DATABASE", "dbms.databases('neo4j')", 13),
    ("HOME DATABASE", "dbms.databases('neo4j')", 13),
    ("TRANSACTIONS", "dbms.transactions()", 10),
    ("STATEMENTS", "dbms.statements()", 8),
    ("CURRENT USER", "dbms.currentUser()", 5),
    ("USERS", "dbms.users()", 5),
    ("SERVERS", "dbms.servers()", 5),
];

#[test]
fn what_show_yields_is_what_its_procedure_yields() {
    let folder = testing::Folder::new();
    let database = database::Database::open(&folder.join("s.knot"), Default::default()).expect("a store can be opened");
    let mut session = database.session();
    let mut columns = |text: &str| session.query(text, &Default::default()).expect(text).columns;
    for (what, procedure, shown) in SHOWN {
        let all = columns(&format!("CALL {procedure}"));
        assert_eq!(columns(&format!("SHOW {what} YIELD *")), all, "{what}");
        assert_eq!(columns(&format!("SHOW {what} YIELD * LIMIT 0")), all, "{what}");
        assert_eq!(columns(&format!("SHOW {what}")), all[..*shown], "{what}");
        assert_eq!(columns(&format!("SHOW {what} WHERE true")), all[..*shown], "{what}");
    }
}
