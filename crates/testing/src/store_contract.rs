//! The checks that every store must pass: what `model::store` promises, one promise each.
//!
//! Where a store says by its capabilities that it cannot do something, the check of it is left out.

mod constraints;
mod indexes;
mod reading;
mod same;
mod sort_keys;
mod subject;
mod transactions;
mod writing;

use model::GraphStore;

pub use same::{check_same, check_same_seeded};
use subject::Subject;

/// Makes an empty store.
pub type Make<'a> = dyn Fn() -> Box<dyn GraphStore> + 'a;

/// Closes a store and opens it again, or has it write what it holds in memory to files.
pub type Disturb<'a> = dyn Fn(Box<dyn GraphStore>) -> Box<dyn GraphStore> + 'a;

type Check = fn(&mut Subject<'_>);

/// Runs all checks, each on a store of its own.
///
/// # Panics
/// If a check fails; its name is printed.
pub fn check_store(make: &Make<'_>) {
    check_store_disturbed(make, &|store| store);
}

/// Runs all checks, each on a store of its own, with `disturb` after every commit: nothing may be lost by it.
///
/// # Panics
/// If a check fails; its name is printed.
pub fn check_store_disturbed(make: &Make<'_>, disturb: &Disturb<'_>) {
    let groups = [
        reading::CHECKS,
        writing::CHECKS,
        transactions::CHECKS,
        constraints::CHECKS,
        indexes::CHECKS,
        sort_keys::CHECKS,
    ];
    for (name, check) in groups.into_iter().flatten() {
        let place = Place(name);
        check(&mut Subject::new(make(), disturb));
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

    use super::{check_same, check_store};
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
    fn stores_with_the_same_graph_are_the_same() {
        let (store, foreign) = (ReferenceStore::new(), ReferenceStore::foreign(7));
        let data = graphs::social(60, 3);
        data.load_into(&store).unwrap();
        data.load_into(&foreign).unwrap();
        let (a, b) = (foreign.read().unwrap(), store.read().unwrap());
        check_same(a.as_ref(), b.as_ref(), "name");
    }
}
