//! Random writes applied in step to a store under test and to the reference store, and the comparison of the two.
//!
//! Writes name nodes by the property `uid`, and edges by their place among the edges of a node sorted by content, so
//! that they mean the same in both stores whatever ids each hands out.

mod apply;
mod choices;
mod content;
mod identities;
mod indexes;
mod operation;
mod runs;

use model::{GraphStore, NodeBatch, NodeId, NodeScan, ReadView};

use crate::ReferenceStore;

pub use apply::{apply, apply_to_both, picked_edges};
pub use content::{Content, assert_same, assert_same_content};
pub use identities::identities_of;
pub use operation::{
    EdgePick, Ending, Operation, RandomTransaction, random_operations, rules_of_each_kind, words_of_each_kind,
};

/// Treatment of the store under test after a transaction: checkpoint, close and open again, or nothing. Gets the store
/// and the number of the transaction, from 0.
pub type Between<'a> = dyn FnMut(Box<dyn GraphStore>, usize) -> Box<dyn GraphStore> + 'a;

/// Runs `count` random transactions on `store` and on a reference store, comparing after each, and returns `store`.
/// `between` may disturb the store after each transaction.
///
/// # Panics
/// If the stores differ; the message gives the seed and the number of the transaction.
pub fn check_random(
    seed: u64,
    count: usize,
    mut store: Box<dyn GraphStore>,
    between: &mut Between<'_>,
) -> Box<dyn GraphStore> {
    let reference = ReferenceStore::new();
    let mut expected = content_of(&reference);
    for (number, transaction) in random_operations(seed, count).iter().enumerate() {
        let place = Place { seed, number, transaction };
        let before_view = store.read().expect("taking a snapshot");
        apply_to_both(&*store, &reference, transaction);
        assert_same_content(&Content::of(&*before_view), &expected);
        drop(before_view);
        expected = content_of(&reference);
        assert_same_content(&content_of(&*store), &expected);
        store = between(store, number);
        drop(place);
    }
    assert_same_content(&content_of(&*store), &expected);
    store
}

fn content_of(store: &dyn GraphStore) -> Content {
    Content::of(&*store.read().expect("taking a snapshot"))
}

/// Says on a panic where it happened.
struct Place<'a> {
    seed: u64,
    number: usize,
    transaction: &'a RandomTransaction,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        const CHARACTERS_SHOWN: usize = 300;
        if !std::thread::panicking() {
            return;
        }
        eprintln!("random operations failed: FUZZ_SEED={}, transaction {}:", self.seed, self.number);
        for operation in &self.transaction.operations {
            let text: String = format!("{operation:?}").chars().take(CHARACTERS_SHOWN).collect();
            eprintln!("  {text}");
        }
        eprintln!("  then {:?}", self.transaction.ending);
    }
}

/// All nodes that a scan finds.
///
/// # Panics
/// If the scan fails.
pub fn scan_nodes(view: &dyn ReadView, scan: &NodeScan) -> Vec<NodeId> {
    let mut nodes = Vec::new();
    let mut cursor = view.scan(scan).expect("scanning");
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch).expect("scanning on") {
        nodes.extend_from_slice(&batch.nodes);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::{Content, assert_same_content, check_random};
    use crate::ReferenceStore;
    use crate::graphs::{GraphData, zoo};
    use crate::random::seed_or;
    use model::{Column, GraphStore, Value};

    fn content(graph: &GraphData) -> Content {
        let store = ReferenceStore::new();
        graph.load_into(&store).unwrap();
        Content::of(&*store.read().unwrap())
    }

    /// The comparison is itself compared: each of these must be noticed.
    #[test]
    fn small_differences_are_noticed() {
        let original = content(&zoo());
        let changes: [fn(&mut GraphData); 5] = [
            |graph| graph.edges[2].targets[0] = 2,
            |graph| graph.edges[2].edge_type = "CHASES".to_owned(),
            |graph| graph.edges[0].properties[0].1 = Column::constant(&Value::Float(1.0), 5),
            |graph| graph.nodes[1].labels.push("Animal".to_owned()),
            |graph| graph.nodes[0].properties[1].1 = Column::constant(&Value::Float(0.0), 10),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut graph = zoo();
            change(&mut graph);
            let changed = content(&graph);
            let result = std::panic::catch_unwind(|| assert_same_content(&original, &changed));
            assert!(result.is_err(), "change {number} goes unnoticed");
        }
    }

    #[test]
    fn reference_stores_agree_whatever_their_ids_and_batches() {
        for seed in [seed_or(1), seed_or(2)] {
            check_random(seed, 30, Box::new(ReferenceStore::with_batch_rows(7)), &mut |store, _| store);
            check_random(seed, 30, Box::new(ReferenceStore::foreign(50)), &mut |store, _| store);
        }
    }
}
