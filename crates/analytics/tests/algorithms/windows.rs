//! Runs in windows give the same results as runs in memory, within the memory they may hold, and leave nothing behind.

use model::{ErrorCode, Interrupt, NodeId, Result, Value};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, Kronecker, NodeGroup, kronecker};
use testing::random::SeededRandom;

use crate::call::{by_number, call, call_within, number};
use crate::generated::{DIRECTIONS, on_all_graphs};
use testing::workspace::Limited;

/// As much as any of these graphs needs.
const PLENTY: usize = 1 << 30;
/// Least bytes that an estimate states for intervals and windows.
const WINDOW_BYTES: usize = 16 << 20;
/// Buffers of a thread, where there is memory and where there is little.
const BUFFER_BYTES: usize = 8 << 20;
const BUFFER_BYTES_MIN: usize = 1 << 20;

fn in_windows<'s>(settings: &[(&'s str, Value)]) -> Vec<(&'s str, Value)> {
    [settings, &[("execution", Value::string("windows"))]].concat()
}

fn check(
    store: &ReferenceStore,
    ids: &[NodeId],
    (name, settings): (&str, &[(&str, Value)]),
    (memory, threads): (usize, usize),
    tolerance: f64,
    graph: &str,
) {
    let in_memory = [settings, &[("execution", Value::string("memory"))]].concat();
    let expected = by_number(&call(store, name, &in_memory, 2).expect("there is memory"), ids);
    let workspace = Limited::new(memory, PLENTY);
    let rows = call_within(store, name, &in_windows(settings), threads, &Interrupt::new(), &workspace)
        .unwrap_or_else(|error| panic!("{graph}, {name}: {error}"));
    for (node, (found, expected)) in by_number(&rows, ids).iter().zip(&expected).enumerate() {
        let is_close = || (number(found) - number(expected)).abs() <= tolerance * number(expected).abs();
        assert!(found == expected || is_close(), "{graph}, {name} of {node}: {found}, expected {expected}");
    }
    assert!(workspace.peak() <= memory && workspace.files_made() > 0, "{graph}, {name}");
    workspace.assert_all_given_back(name);
}

/// A kernel with its settings and tolerance.
type Kernel = (&'static str, Vec<(&'static str, Value)>, f64);

/// All of them.
fn kernels(word: &str, source: NodeId, weight: &str) -> Vec<Kernel> {
    let direction = || vec![("direction", Value::string(word))];
    let from = || [direction(), vec![("sourceNode", Value::Node(source))]].concat();
    let weights = vec![("weightProperty", Value::string(weight)), ("defaultWeight", Value::Float(1.5))];
    vec![
        ("algo.wcc", Vec::new(), 0.0),
        ("algo.pagerank", direction(), 1e-6),
        ("algo.pagerank", [direction(), vec![("tolerance", Value::Float(1e-12))]].concat(), 1e-12),
        ("algo.bfs", from(), 0.0),
        ("algo.bfs", [from(), vec![("maxDepth", Value::Int(2))]].concat(), 0.0),
        ("algo.sssp", from(), 0.0),
        ("algo.sssp", [from(), weights].concat(), 1e-12),
        ("algo.cdlp", direction(), 0.0),
        ("algo.cdlp", [direction(), vec![("maxIterations", Value::Int(2))]].concat(), 0.0),
        ("algo.lcc", direction(), 1e-12),
    ]
}

#[test]
fn windows_give_what_memory_gives() {
    on_all_graphs(|graph, _, store, ids, random: &mut SeededRandom| {
        for (word, _) in DIRECTIONS {
            let Some(source) = (!ids.is_empty()).then(|| ids[random.index(ids.len())]) else {
                check(store, ids, ("algo.wcc", &[]), (PLENTY, 2), 0.0, graph);
                check(store, ids, ("algo.pagerank", &[]), (PLENTY, 2), 0.0, graph);
                continue;
            };
            for (name, settings, tolerance) in kernels(word, source, "weight") {
                check(store, ids, (name, &settings), (PLENTY, 1 + random.index(2)), tolerance, graph);
            }
        }
    });
}

/// The memory in which a call has `bytes` bytes for its intervals and windows, and the least buffers for each thread.
fn memory_with(store: &ReferenceStore, name: &str, settings: &[(&str, Value)], threads: usize, bytes: usize) -> usize {
    let rows = call(store, &format!("{name}.estimate"), &in_windows(settings), threads).expect("it can be estimated");
    number(&rows[0][2]) as usize - WINDOW_BYTES - threads * (BUFFER_BYTES - BUFFER_BYTES_MIN) + bytes
}

fn large() -> testing::graphs::GraphData {
    kronecker(&Kronecker { scale: 12, seed: 5, ..Kronecker::default() })
}

#[test]
fn many_intervals_give_the_same() {
    for (kind, store) in [("dense", ReferenceStore::new()), ("foreign", ReferenceStore::foreign(7))] {
        let ids = large().load_into(&store).unwrap();
        for (at, (name, settings, tolerance)) in kernels("OUT", ids[1], "weight").into_iter().enumerate() {
            for bytes in [56 << 10, 200 << 10] {
                // The rows of the node with most edges must fit into a window.
                let bytes = if name == "algo.lcc" { 2 * bytes } else { bytes };
                let threads = 1 + (at + bytes) % 2;
                let memory = memory_with(&store, name, &settings, threads, bytes);
                check(&store, &ids, (name, &settings), (memory, threads), tolerance, kind);
            }
        }
    }
}

#[test]
fn what_is_too_little_is_said() {
    let store = ReferenceStore::new();
    large().load_into(&store).unwrap();
    let memory = memory_with(&store, "algo.pagerank", &[], 2, 9000);
    let workspace = Limited::new(memory, PLENTY);
    let found = call_within(&store, "algo.pagerank", &in_windows(&[]), 2, &Interrupt::new(), &workspace);
    let error = found.unwrap_err();
    assert_eq!(error.message(), "6750 bytes of memory are too few for windows over 4096 nodes");
    workspace.assert_all_given_back("too little");
}

#[test]
fn a_way_that_needs_less_is_taken_when_memory_is_gone() {
    // A view of these edges takes 1.6 MB, the least buffers of one thread that streams them 1 MiB.
    let store = ReferenceStore::new();
    let edges = EdgeGroup {
        edge_type: "E".into(),
        sources: (0..400_000).map(|edge| edge % 1_000).collect(),
        targets: (0..400_000).map(|edge| edge / 400).collect(),
        ..EdgeGroup::default()
    };
    let graph = GraphData { nodes: vec![NodeGroup { count: 1_000, ..NodeGroup::default() }], edges: vec![edges] };
    graph.load_into(&store).unwrap();
    let run = |workspace: &Limited| {
        let settings = [("maxIterations", Value::Int(1))];
        let rows = call_within(&store, "algo.pagerank", &settings, 1, &Interrupt::new(), workspace);
        workspace.assert_all_given_back("promised");
        rows.map(|rows| rows.len())
    };
    let workspace = Limited::new(1_300_000, 0).promising(PLENTY);
    assert_eq!(run(&workspace).unwrap(), 1_000);
    assert!(workspace.peak() > 1 << 20, "it was streamed");
    assert_eq!(run(&Limited::new(1 << 20, 0).promising(PLENTY)).unwrap_err().code(), ErrorCode::Limit);
}

#[test]
fn a_full_disk_and_a_cancel_leave_nothing_behind() {
    let store = ReferenceStore::new();
    let ids = large().load_into(&store).unwrap();
    let run = |name: &str, settings: &[(&str, Value)], workspace: &Limited, interrupt: &Interrupt| -> Result<()> {
        call_within(&store, name, &in_windows(settings), 2, interrupt, workspace).map(drop)
    };
    for (name, settings, _) in kernels("OUT", ids[1], "weight") {
        let all = Limited::new(PLENTY, PLENTY);
        run(name, &settings, &all, &Interrupt::new()).unwrap();
        // The bytes on disk at one time vary by a third with the order in which threads take turns.
        for part in [0, 1, 3, 5] {
            let workspace = Limited::new(PLENTY, all.peak_on_disk() * part / 10);
            let error = run(name, &settings, &workspace, &Interrupt::new()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::DiskFull, "{name}");
            assert_eq!(
                error.message(),
                "a computation keeps its state in temporary files, and the disk is full",
                "{name}"
            );
            workspace.assert_all_given_back(name);
        }
        for file in [0, all.files_made() / 2, all.files_made() - 2] {
            let interrupt = Interrupt::new();
            let workspace = Limited::new(PLENTY, PLENTY).cancelling_at(file, &interrupt);
            let error = run(name, &settings, &workspace, &interrupt).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Cancelled, "{name}");
            workspace.assert_all_given_back(name);
        }
    }
}
