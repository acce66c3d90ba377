//! The page of the algorithms has the reference that is made from their tables: `UPDATE_GOLDEN=1` writes it anew.

use std::path::Path;

use analytics::reference::reference;
use testing::golden::check_text;

const BEGIN: &str = "<!-- The reference is generated: UPDATE_GOLDEN=1 cargo test -p knotwork-analytics reference -->\n";
const END: &str = "<!-- End of the generated reference -->\n";

#[test]
fn the_reference_of_the_page_is_that_of_the_tables() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms.md");
    let text = std::fs::read_to_string(&page).expect("the page can be read");
    let (before, rest) = text.split_once(BEGIN).expect("the page marks where the reference begins");
    let (_, after) = rest.split_once(END).expect("the page marks where the reference ends");
    check_text(&page, &format!("{before}{BEGIN}\n{}\n{END}{after}", reference()));
}

#[test]
fn sentences_are_whole_and_names_are_told_apart() {
    for line in reference().lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let [names, _, _, sentence] = cells[..] else { panic!("a row has four cells: {line}") };
        assert!(sentence.ends_with('.') && sentence.starts_with(char::is_uppercase), "{names}: {sentence}");
    }
}
