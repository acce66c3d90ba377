//! Merging compared with the model of the bulk builds: every kind of change, with merges before, between and after.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use model::Interrupt;
use testing::random::{SeededRandom, seed_or};

use super::throttle::Throttle;
use super::{Compaction, levels, pick, run};
use crate::build::BuildConfig;
use crate::bulk::tests::model_graph::{ModelGraph, assert_same};
use crate::bulk::tests::{empty_store, load, random_changes};
use crate::bulk::{Built, build};
use crate::check::check;
use crate::levels::Policy;
use crate::version::Version;

const POLICY: Policy = Policy {
    fanout: 2,
    level0_edges: 500,
    partition_edges_max: 3_000,
    level0_max: 8,
    patch_share: 4,
    bytes_per_second: 0,
};

fn config() -> BuildConfig {
    BuildConfig { memory_bytes: 1 << 20, threads: 1, partition_edges_max: 4_000, ..BuildConfig::default() }
}

fn merged(version: &Arc<Version>, compaction: &Compaction) -> Built {
    let throttle = Throttle::new(version.platform().clock.clone(), 0, Arc::new(AtomicUsize::new(0)));
    run(version, compaction, &POLICY, &config(), &throttle, &Interrupt::new()).unwrap()
}

/// All merges that are due; gives how many there were.
fn merge_all(mut version: Arc<Version>, name: &str) -> (Arc<Version>, usize) {
    for count in 0.. {
        let Some(compaction) = pick(&version, &POLICY) else { return (version, count) };
        assert!(count < 200, "{name}: merging comes to an end");
        version = merged(&version, &compaction).install(&version).unwrap();
    }
    unreachable!("the loop has no end of its own")
}

fn assert_sound(version: &Arc<Version>, graph: &ModelGraph, name: &str) {
    assert_same(version, graph, name);
    let problems = check(version.platform(), version.directory(), &Interrupt::new()).unwrap();
    assert!(problems.is_empty(), "{name}: {problems:?}");
    let reopened = Version::open(version.platform(), version.directory()).unwrap();
    assert_eq!(reopened.manifest().partitions, version.manifest().partitions, "{name}");
    let files = version.manifest().files().count() + 3;
    assert_eq!(version.platform().disk.list(version.directory()).unwrap().len(), files, "{name}: files left over");
}

#[test]
fn merges_agree_with_the_model() {
    let (mut merges, mut depths) = (0, Vec::new());
    for round in 0..4 {
        let seed = seed_or(61) + round;
        let mut random = SeededRandom::new(seed);
        let (mut graph, mut version) = (ModelGraph::default(), empty_store(seed));
        for step in 0..8 {
            let name = format!("seed {seed} step {step}");
            let due = pick(&version, &POLICY);
            match (step % 4, due) {
                (0, _) => version = load(&version, config(), &mut graph, &mut random),
                // A flush comes while files are merged.
                (1, Some(due)) => {
                    let merge = merged(&version, &due);
                    for _ in 0..2 {
                        let changes = random_changes(&version, &mut graph, &mut random);
                        let flush = build(&version, changes, &config(), &Interrupt::new()).unwrap();
                        version = flush.install(&version).unwrap();
                    }
                    version = merge.install(&version).unwrap();
                }
                // Files are merged while a flush writes.
                (2, Some(due)) => {
                    let changes = random_changes(&version, &mut graph, &mut random);
                    let flush = build(&version, changes, &config(), &Interrupt::new()).unwrap();
                    version = merged(&version, &due).install(&version).unwrap();
                    if let Some(next) = pick(&version, &POLICY) {
                        version = merged(&version, &next).install(&version).unwrap();
                    }
                    version = flush.install(&version).unwrap();
                }
                _ => {
                    let changes = random_changes(&version, &mut graph, &mut random);
                    let flush = build(&version, changes, &config(), &Interrupt::new()).unwrap();
                    version = flush.install(&version).unwrap();
                }
            }
            assert_sound(&version, &graph, &name);
            if random.chance(40) {
                let held = version.clone();
                let before = graph.clone();
                let (after, count) = merge_all(version, &name);
                version = after;
                merges += count;
                assert_same(&held, &before, &format!("{name}, a version that was held"));
                drop(held);
                assert_sound(&version, &graph, &format!("{name} merged"));
            }
            depths.push(levels(&version).len());
        }
        while let Some(all) = super::pick::pick_all(&version) {
            version = merged(&version, &all).install(&version).unwrap();
        }
        assert_sound(&version, &graph, &format!("seed {seed}, all in one"));
        assert!(levels(&version).iter().all(|partition| partition.deleted == 0 && partition.patches == 0));
    }
    assert!(merges > 10 && depths.iter().any(|&depth| depth > 4), "{merges} merges, partitions {depths:?}");
}

#[test]
fn a_merge_that_is_stopped_leaves_nothing() {
    let mut random = SeededRandom::new(seed_or(71));
    let (mut graph, mut version) = (ModelGraph::default(), empty_store(71));
    for _ in 0..2 {
        version = load(&version, config(), &mut graph, &mut random);
    }
    let all = super::pick::pick_all(&version).unwrap();
    let throttle = Throttle::new(version.platform().clock.clone(), 0, Arc::new(AtomicUsize::new(0)));
    let interrupt = Interrupt::new();
    interrupt.cancel();
    assert!(run(&version, &all, &POLICY, &config(), &throttle, &interrupt).is_err());
    drop(merged(&version, &all));
    assert_sound(&version, &graph, "nothing was merged");
}
