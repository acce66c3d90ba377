//! The crate graph is a table; a new edge is a change to this file.

mod layering {
    pub(crate) mod modules;
}

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use layering::modules::{imports, largest_circle, mutual_pairs};

/// Each crate, and the sibling crates that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("storage", &["model"]),
    ("sources", &["model"]),
    ("cluster", &["model"]),
    ("cypher", &["model"]),
    ("analytics", &["model"]),
    ("exec", &["model", "cypher"]),
    ("database", &["model", "storage", "sources", "cluster", "cypher", "exec", "analytics"]),
    ("introspect", &["model", "database"]),
    ("bolt", &[]),
    ("server", &["model", "bolt", "database"]),
    ("client", &["model", "bolt", "database", "server"]),
    ("cli", &["model", "client", "database", "introspect", "server"]),
    ("python", &["model", "client", "database"]),
    ("testing", &["model"]),
];

/// Third-party crates that may stand in these crates only: drivers, formats and terminals stay at the edge.
const FENCED: &[(&str, &str)] = &[
    ("arrow", "sources"),
    ("arrow-array", "sources"),
    ("arrow-array", "python"),
    ("arrow-cast", "sources"),
    ("arrow-cast", "python"),
    ("arrow-ipc", "sources"),
    ("parquet", "sources"),
    ("postgres-protocol", "sources"),
    ("rustls", "sources"),
    ("rustls", "server"),
    ("rustls", "client"),
    ("rustls-native-certs", "client"),
    ("rcgen", "server"),
    ("rusqlite", "sources"),
    ("libloading", "sources"),
    ("mysql", "sources"),
    ("redis", "sources"),
    ("pyo3", "python"),
    ("argon2", "server"),
    ("rustyline", "cli"),
    ("clap", "cli"),
    ("indicatif", "cli"),
    ("memmap2", "storage"),
    ("scylla", "cluster"),
    ("tokio", "cluster"),
    ("futures-util", "cluster"),
];

/// A crate, its pairs of modules, and the size of its largest set.
type Circles = (&'static str, &'static [(&'static str, &'static str)], usize);

/// Pairs of top-level modules of a crate that import from each other, and the size of the crate's largest set of modules
/// of which each reaches each. May only shrink.
const CIRCLES: &[Circles] = &[
    ("model", &[], 0),
    ("storage", &[("engine", "transaction")], 6),
    ("sources", &[], 3),
    ("cluster", &[], 0),
    ("cypher", &[], 0),
    ("analytics", &[], 0),
    ("exec", &[("neighbor_lists", "runtime"), ("parallel", "runtime")], 4),
    ("database", &[("attach", "session"), ("copy", "session")], 7),
    ("introspect", &[], 0),
    ("bolt", &[], 0),
    ("server", &[("connection", "login"), ("connection", "serve"), ("connection", "statement"), ("pool", "serve")], 5),
    ("client", &[("graph", "session")], 2),
    ("cli", &[], 0),
    ("python", &[("connection", "database"), ("convert", "entity")], 2),
    ("testing", &[], 0),
];

fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in the folder of crates").to_owned()
}

/// The names in a section of a manifest, as `[dependencies]` or `[dependencies.name]` give them.
fn dependencies(manifest: &str, section: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            is_inside = header == section;
            if let Some(name) = header.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')) {
                names.push(name.to_owned());
            }
        } else if is_inside && !line.starts_with('#') && line.contains('=') {
            let name: String = line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            names.push(name.strip_prefix("knotwork-").unwrap_or(&name).to_owned());
        }
    }
    names
}

fn manifest(name: &str) -> String {
    let path = crates_folder().join(name).join("Cargo.toml");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("crates/{name}/Cargo.toml: {error}"))
}

#[test]
fn every_crate_is_in_the_table() {
    let entries = std::fs::read_dir(crates_folder()).expect("the folder of crates can be read");
    let folders: BTreeSet<String> = entries
        .map(|entry| entry.expect("the folder can be read on"))
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let names: BTreeSet<String> = ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(folders, names, "folders in crates/, and names in the table of layering.rs");
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let siblings: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    let mut problems = Vec::new();
    for (name, allowed) in ALLOWED {
        let manifest = manifest(name);
        for dependency in dependencies(&manifest, "dependencies") {
            if siblings.contains(dependency.as_str()) && !allowed.contains(&dependency.as_str()) {
                problems.push(format!("{name} depends on {dependency}"));
            }
        }
        for dependency in dependencies(&manifest, "dev-dependencies") {
            let is_allowed = allowed.contains(&dependency.as_str()) || dependency == "testing" || dependency == *name;
            if siblings.contains(dependency.as_str()) && !is_allowed {
                problems.push(format!("the tests of {name} depend on {dependency}"));
            }
        }
    }
    assert!(problems.is_empty(), "not in the table of layering.rs: {problems:#?}");
}

#[test]
fn third_party_crates_stay_behind_their_fence() {
    let mut problems = Vec::new();
    for (name, _) in ALLOWED {
        for dependency in dependencies(&manifest(name), "dependencies") {
            let mut homes = FENCED.iter().filter(|(fenced, _)| *fenced == dependency).map(|(_, home)| home).peekable();
            if homes.peek().is_some() && !homes.any(|home| home == name) {
                problems.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert!(problems.is_empty(), "not allowed by the fences of layering.rs: {problems:#?}");
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    for (name, _) in ALLOWED {
        assert!(
            manifest(name).contains("[lints]\nworkspace = true"),
            "crates/{name}/Cargo.toml has [lints] workspace = true"
        );
    }
}

#[test]
fn modules_do_not_import_from_each_other_in_circles() {
    let mut problems = Vec::new();
    for (name, pairs, circle) in CIRCLES {
        let imports = imports(&crates_folder().join(name));
        let found = mutual_pairs(&imports);
        let pairs: BTreeSet<(String, String)> = pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        problems.extend(found.difference(&pairs).map(|(a, b)| format!("{name}: {a} and {b} import from each other")));
        problems
            .extend(pairs.difference(&found).map(|(a, b)| format!("{name}: {a}, {b} can be dropped from the table")));
        let size = largest_circle(&imports);
        if size != *circle {
            problems.push(format!("{name}: {size} modules reach each other, {circle} in the table"));
        }
    }
    assert_eq!(CIRCLES.len(), ALLOWED.len(), "every crate is in the table of circles");
    assert!(problems.is_empty(), "not as in the table of layering.rs, which may only shrink: {problems:#?}");
}

#[test]
fn manifests_are_read_right() {
    let manifest = "[dependencies]\nmodel.workspace = true\ncsv = \"1\"\n# no = 1\n[dependencies.exec]\npath = \"x\"\n\n\
                    [dev-dependencies]\nknotwork-testing = { path = \"y\" }\n";
    assert_eq!(dependencies(manifest, "dependencies"), ["model", "csv", "exec"]);
    assert_eq!(dependencies(manifest, "dev-dependencies"), ["testing"]);
}
