//! A shop in tables, and the definition that is inferred from its keys, whatever database holds them.

use sources::connect::{connect, inspect};
use sources::infer;

pub(crate) const STATEMENTS: &str = include_str!("shop.sql");

/// Fails unless the definition that is inferred is that of the golden file, and fits its source. `UPDATE_GOLDEN=1` writes it.
pub(crate) fn check(url: &str) {
    let mut source = inspect(url).unwrap();
    let catalog = source.catalog().unwrap();
    let inferred = infer::definition(&catalog, &|name| source.quote(name));
    assert_eq!(
        inferred.notes,
        ["log_lines: skipped, it has no primary key", "views are skipped, they have no keys: dear_products"]
    );
    let found = inferred.definition.to_json();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/relational/shop.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(file).unwrap_or_default());
    let findings = connect(url, &inferred.definition).unwrap().check().unwrap();
    let found: Vec<String> = findings.iter().map(|finding| finding.to_string()).collect();
    assert!(found.iter().all(|finding| finding.starts_with("slow: ")), "{found:#?}");
}
