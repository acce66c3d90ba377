//! The reference of all algorithms: their names, settings and columns, as `docs/algorithms.md` has them.
//!
//! Invariant: all of it comes from the tables by which calls are read.

use std::fmt::Write;

use model::procedure::{ProcedureSignature, YieldSpec};
use model::store::Direction;

use crate::algorithm::{About, Follows, Shape};
use crate::algorithms::{WHOLE, searches};
use crate::kept::calls::described;
use crate::settings::shared::{
    self, DIRECTION, MUST_CONVERGE, SEARCH, WEIGHTS, WRITE_PROPERTY, WRITE_RELATIONSHIP_TYPE,
};
use crate::settings::{Row, Table};

/// Settings of algorithms that converge, and of those that write.
const OF_SOME: Table = &[&MUST_CONVERGE, &WRITE_PROPERTY, &WRITE_RELATIONSHIP_TYPE];

/// Settings that are described once, for all procedures that have them.
fn shared_rows() -> Vec<&'static dyn Row> {
    let mut rows = shared::WHOLE.to_vec();
    rows.push(&DIRECTION);
    rows.extend(WEIGHTS);
    rows.extend(OF_SOME);
    rows
}

/// The reference as a part of a page, in Markdown.
pub fn reference() -> String {
    let mut text = String::from("### Shared settings\n\n");
    write_rows(&mut text, &shared_rows());
    text.push_str("\n### Algorithms on a whole selection\n");
    WHOLE.iter().for_each(|entry| write_algorithm(&mut text, &entry.about));
    text.push_str("\n### Searches between nodes\n");
    for (signature, tables) in searches() {
        let takes_weights = tables.iter().any(|table| table.iter().any(|row| row.name() == WEIGHTS[0].name()));
        write_head(&mut text, signature.name, signature.aliases, signature.description);
        write_item(&mut text, "Direction", &direction(Follows::Chosen(Direction::Out)));
        write_item(&mut text, "Weights", if takes_weights { "yes" } else { "no" });
        write_item(&mut text, "Rows", &columns(signature.yields));
        write_own_rows(&mut text, &tables.concat());
    }
    text.push_str("\n### Kept computations\n");
    for (ProcedureSignature { name, aliases, description, yields, .. }, table) in described() {
        write_head(&mut text, name, aliases, description);
        let names: Vec<&str> = table.iter().map(|row| row.name()).filter(|name| is_shared(name)).collect();
        if !names.is_empty() {
            write_item(&mut text, "Shared settings", &code(&names));
        }
        write_item(&mut text, "Rows", &columns(yields));
        write_own_rows(&mut text, table);
    }
    text
}

fn write_algorithm(text: &mut String, about: &About) {
    write_head(text, &format!("algo.{}", about.name), about.aliases, about.description);
    write_item(text, "Direction", &direction(about.direction));
    write_item(text, "Weights", if about.takes_weights { "yes" } else { "no" });
    let node = YieldSpec { name: "node", type_name: "NODE" };
    let first: &[YieldSpec] = if about.shape == Shape::Nodes { &[node] } else { &[] };
    write_item(text, "Rows", &columns(&[first, about.yields].concat()));
    write_item(text, "Statistics", &columns(about.stats));
    match about.shape {
        Shape::Nodes if about.yields.len() > 1 => {
            let names: Vec<String> = about.yields.iter().map(|spec| format!("<writeProperty>_{}", spec.name)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            write_item(text, "Written properties", &code(&names));
        }
        Shape::Nodes => write_item(text, "Written property", "`writeProperty`"),
        Shape::Pairs => {
            write_item(text, "Written relationships", "of type `writeRelationshipType`, with `writeProperty`");
        }
        Shape::Rows => {}
    }
    write_own_rows(text, about.settings);
}

fn write_head(text: &mut String, name: &str, aliases: &[&str], description: &str) {
    line(text, &format!("\n#### {name}\n\n{description}\n"));
    if !aliases.is_empty() {
        write_item(text, "Other names", &code(aliases));
    }
}

fn write_item(text: &mut String, name: &str, what: &str) {
    line(text, &format!("- {name}: {what}"));
}

fn write_own_rows(text: &mut String, rows: &[&'static dyn Row]) {
    let own: Vec<&'static dyn Row> = rows.iter().copied().filter(|row| !is_shared(row.name())).collect();
    if !own.is_empty() {
        text.push('\n');
        write_rows(text, &own);
    }
}

fn write_rows(text: &mut String, rows: &[&'static dyn Row]) {
    line(text, "| setting | type | default | meaning |\n|---|---|---|---|");
    for row in rows {
        let names = [&[row.name()], row.aliases()].concat();
        let (domain, default, sentence) = (row.domain(), row.default_text(), row.sentence());
        line(text, &format!("| {} | {domain} | {default} | {sentence} |", code(&names)));
    }
}

fn is_shared(name: &str) -> bool {
    shared_rows().iter().chain(SEARCH).any(|row| row.name() == name)
}

fn direction(follows: Follows) -> String {
    match follows {
        Follows::Chosen(_) => {
            let default = shared::direction_by_default(follows.default_direction());
            format!("{} by default", default.default_text())
        }
        Follows::Always(_) => "fixed by the algorithm".to_owned(),
    }
}

fn columns(specs: &[YieldSpec]) -> String {
    let shown: Vec<String> = specs.iter().map(|spec| format!("`{} {}`", spec.name, spec.type_name)).collect();
    shown.join(", ")
}

fn code(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a string succeeds");
}
