//! The checks that every store must pass: what `model::store` promises, one promise each.
//!
//! Checks of what a store cannot do by its capabilities are left out. A store whose schema is not flexible is made with the
//! tables of [`TABLES`], which have a place for all that the checks write.

mod constraints;
mod filtering;
mod indexes;
mod reading;
mod same;
mod sort_keys;
mod subject;
mod tables;
mod transactions;
mod writing;

use model::{ErrorCode, GraphStore, PropertyKind, Value};

use crate::graphs::GraphData;
pub use same::{check_same, check_same_seeded};
use subject::{Subject, add_node};

/// Makes an empty store.
pub type Make<'a> = dyn Fn() -> Box<dyn GraphStore> + 'a;

/// Closes a store and opens it again, or has it write what it holds in memory to files.
pub type Disturb<'a> = dyn Fn(Box<dyn GraphStore>) -> Box<dyn GraphStore> + 'a;

/// Makes a store that holds a graph, for stores that are written by other means than a transaction.
pub type Publish<'a> = dyn Fn(&GraphData) -> Box<dyn GraphStore> + 'a;

/// Tables that hold what the checks write: of nodes, the labels; of edges, the type and the labels of both ends.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Labels and properties of the nodes of each table.
    pub nodes: &'static [(&'static [&'static str], &'static [&'static str])],
    /// Type of the edges of each table, and the tables of their ends by the only label.
    pub edges: &'static [(&'static str, &'static str, &'static str)],
    /// Properties of all edges.
    pub edge_properties: &'static [&'static str],
    /// Types of properties; `None` for bytes.
    pub types: &'static [(&'static str, Option<PropertyKind>)],
}

/// The tables of stores whose schema is not flexible.
pub const TABLES: Tables = Tables {
    nodes: &[
        (&["N"], &["name", "age", "count", "step", "round", "value", "a", "b", "c", "text", "bytes"]),
        (&["A"], &["name"]),
        (&["B"], &["name"]),
        (&["A", "B"], &["name"]),
        (&["B", "A", "C"], &["name"]),
        (&["New"], &["name"]),
        (&["Kept"], &["name"]),
        (&["R"], &["name"]),
        (&["Disturbed"], &["b"]),
    ],
    edges: &[
        ("E", "N", "N"),
        ("E", "New", "N"),
        ("E", "N", "New"),
        ("E", "N", "Kept"),
        ("E", "Kept", "Kept"),
        ("F", "N", "N"),
        ("F", "N", "R"),
        ("X", "N", "N"),
        ("Y", "N", "N"),
        ("Z", "N", "N"),
        ("DISTURBED", "Disturbed", "N"),
        ("DISTURBED", "N", "Disturbed"),
    ],
    edge_properties: &["round", "value", "a", "b", "c", "weight", "mark", "text", "bytes"],
    types: &[
        ("name", Some(PropertyKind::Integer)),
        ("age", Some(PropertyKind::Integer)),
        ("count", Some(PropertyKind::Integer)),
        ("step", Some(PropertyKind::Integer)),
        ("round", Some(PropertyKind::Integer)),
        ("value", Some(PropertyKind::Integer)),
        ("a", Some(PropertyKind::Integer)),
        ("b", Some(PropertyKind::String)),
        ("c", Some(PropertyKind::Float)),
        ("weight", Some(PropertyKind::Float)),
        ("mark", Some(PropertyKind::Boolean)),
        ("text", Some(PropertyKind::String)),
        ("bytes", None),
    ],
};

impl Tables {
    /// The type of a property; `None` for bytes.
    ///
    /// # Panics
    /// If no table has it.
    pub fn type_of(&self, property: &str) -> Option<PropertyKind> {
        let found = self.types.iter().find(|(name, _)| *name == property);
        found.unwrap_or_else(|| panic!("no table has a property {property}")).1
    }
}

type Check = fn(&mut Subject<'_>);
type Checks = &'static [Named];

/// A check with its name.
type Named = (&'static str, Check);

/// Runs all checks, each on a store of its own.
///
/// # Panics
/// If a check fails; its name is printed.
pub fn check_store(make: &Make<'_>) {
    check_store_disturbed(make, &|store| store);
}

/// Runs all checks but those of savepoints, for a store that undoes transactions only as a whole: it must say so.
///
/// # Panics
/// If a check fails; its name is printed.
pub fn check_store_without_savepoints(make: &Make<'_>) {
    run_all(make, &|store| store, &[]);
    let store = make();
    let mut transaction = store.write().expect("beginning a transaction");
    let savepoint = transaction.savepoint();
    add_node(transaction.as_mut(), &["Kept"], &[("name", Value::Int(3))]);
    let refused = transaction.rollback_to(savepoint).err().map(|failure| failure.code());
    assert_eq!(refused, Some(ErrorCode::Unsupported), "a part of a transaction cannot be undone");
}

/// Runs all checks, each on a store of its own, with `disturb` after every commit: nothing may be lost by it.
///
/// # Panics
/// If a check fails; its name is printed.
pub fn check_store_disturbed(make: &Make<'_>, disturb: &Disturb<'_>) {
    run_all(make, disturb, transactions::SAVEPOINTS);
}

fn run_all(make: &Make<'_>, disturb: &Disturb<'_>, savepoints: Checks) {
    let any = [reading::CHECKS, filtering::CHECKS, writing::CHECKS, transactions::CHECKS, savepoints];
    let flexible: [Checks; 5] =
        [writing::FLEXIBLE, transactions::FLEXIBLE, constraints::CHECKS, indexes::CHECKS, sort_keys::CHECKS];
    let own: &[Checks] = if make().capabilities().flexible_schema { &flexible } else { &[tables::CHECKS] };
    run(any.iter().chain(own).copied().flatten(), &|| Subject::new(make(), disturb));
}

/// Runs the checks of a store that is read only, each on stores that hold what was written elsewhere.
///
/// # Panics
/// If a check fails; its name is printed.
pub fn check_published(publish: &Publish<'_>) {
    run(reading::CHECKS.iter(), &|| Subject::published(publish));
    let refused = publish(&GraphData::default()).write().err().map(|failure| failure.code());
    assert_eq!(refused, Some(ErrorCode::ReadOnly), "a store that is read only refuses writing");
}

fn run<'a, 's>(checks: impl Iterator<Item = &'a Named>, subject: &dyn Fn() -> Subject<'s>) {
    for (name, check) in checks {
        let place = Place(name);
        check(&mut subject());
        drop(place);
    }
}

/// Says on a panic which check failed.
struct Place(&'static str);

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("store contract: {}", self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use model::GraphStore;

    use super::{check_published, check_same, check_store};
    use crate::ReferenceStore;
    use crate::graphs;

    #[test]
    fn the_reference_store_keeps_the_contract() {
        check_store(&|| Box::new(ReferenceStore::new()));
    }

    #[test]
    fn so_does_one_with_tiny_batches() {
        check_store(&|| Box::new(ReferenceStore::with_batch_rows(1)));
    }

    #[test]
    fn so_does_one_that_acts_as_foreign() {
        check_store(&|| Box::new(ReferenceStore::foreign(100)));
    }

    #[test]
    fn so_does_one_that_is_written_elsewhere() {
        check_published(&|data| {
            let store = ReferenceStore::foreign(100);
            data.load_into(&store).unwrap();
            Box::new(store.read_only())
        });
    }

    #[test]
    fn stores_with_the_same_graph_are_the_same() {
        let (store, foreign) = (ReferenceStore::new(), ReferenceStore::foreign(7));
        let data = graphs::social(60, 3);
        data.load_into(&store).unwrap();
        data.load_into(&foreign).unwrap();
        let (a, b) = (foreign.read().unwrap(), store.read().unwrap());
        check_same(a.as_ref(), b.as_ref(), "name");
    }
}
