//! Tables of nodes on pages against tables in memory.

use std::path::PathBuf;
use std::sync::Arc;

use model::{GraphStore, Map, MemoryBudget, NodeId};
use testing::ReferenceStore;
use testing::random::{SeededRandom, seed_or};
use testing::simulation::MemoryDisk;

use super::{NodeNumbers, NodeSet};
use crate::memory::{QueryMemory, SpillSpace};

/// A limit, the bound of dense ids, and how many ids there are.
fn check((limit, bound, ids): (usize, u64, u64), seed: u64) {
    let mut random = SeededRandom::new(seed);
    let disk = MemoryDisk::new();
    disk.put_directory(&PathBuf::from("spill"));
    let space = SpillSpace::new(Arc::new(disk), vec![PathBuf::from("spill")]);
    let memory = QueryMemory::new(MemoryBudget::new(1 << 30), Some(limit), space.clone());
    let store = ReferenceStore::new();
    let view = store.read().expect("the reference store can be read");
    let mut numbers = NodeNumbers::new(memory.open("test", None), &*view);
    numbers.bound = bound;
    let mut set = NodeSet::new(memory.open("test", None), &*view);
    let mut expected: Map<NodeId, u32> = Map::default();
    for step in 0..20_000 {
        let node = NodeId(if random.chance(2) { u64::MAX - random.below(9) } else { random.below(ids) });
        let known = expected.get(&node).copied();
        let place = format!("FUZZ_SEED={seed} limit {limit}, bound {bound}, step {step}");
        assert_eq!(numbers.get(node).unwrap(), known, "{place}");
        assert_eq!(set.contains(node).unwrap(), known.is_some(), "{place}");
        if random.chance(60) {
            assert_eq!(numbers.put(node, step).unwrap(), known, "{place}");
            assert_eq!(set.insert(node).unwrap(), known.is_none(), "{place}");
            expected.entry(node).or_insert(step);
            set.settle(&*view).unwrap();
        }
    }
    assert!(limit > 1_000_000 || memory.spilled() > 0, "seed {seed}: nothing of {} nodes spilled", expected.len());
    drop((numbers, set));
    assert_eq!((memory.used(), space.open_files()), (0, 0));
}

#[test]
fn tables_on_pages_are_as_those_in_memory() {
    let seed = seed_or(70);
    for (place, case) in [
        (0, 0, 10_000),
        (0, 10_000, 10_000),
        (0, 500, 100_000),
        (100_000, 20_000, 20_000),
        (100_000, 0, 1 << 40),
        (1 << 20, 0, 1 << 40),
        (1 << 30, 100, 1 << 40),
    ]
    .into_iter()
    .enumerate()
    {
        check(case, seed + place as u64);
    }
}
