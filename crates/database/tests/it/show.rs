//! `SHOW`: what it lists, as its procedures list it.

#[test]
fn what_show_yields_is_what_its_procedure_yields() {
    let folder = testing::Folder::new();
    let database = database::Database::open(&folder.join("s.knot"), Default::default()).expect("a store can be opened");
    let mut session = database.session();
    let mut columns = |text: &str| session.query(text, &Default::default()).expect("it is right").columns;
    for what in ["CONSTRAINTS", "INDEXES", "SORT KEYS", "FUNCTIONS", "PROCEDURES", "SETTINGS"] {
        assert_eq!(columns(&format!("SHOW {what} YIELD *")), columns(&format!("SHOW {what}")), "{what}");
        assert_eq!(columns(&format!("SHOW {what} YIELD * LIMIT 0")), columns(&format!("SHOW {what}")), "{what}");
    }
}
