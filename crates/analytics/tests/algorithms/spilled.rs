//! State in temporary files while edges are streamed changes no answer, and is chosen where there is little memory.

use analytics::algorithms::{cdlp, pagerank};
use analytics::{Algorithm, Execution, Graph, Pace, Projection, Run, Selection};
use model::store::Direction;
use model::{Column, GraphStore, Interrupt, Value};
use testing::ReferenceStore;
use testing::graphs::erdos_renyi;

use crate::call::{call, call_within, number};
use crate::generated::{DIRECTIONS, on_all_graphs};
use testing::workspace::Limited;

/// The first column of an algorithm over streamed rows, with buffers of a few entries.
fn run<A: Algorithm>(store: &ReferenceStore, direction: Direction, config: &A::Config, spills: bool) -> Column {
    let view = store.read().expect("a store in memory can be read");
    let (projection, interrupt) = (Projection::all(direction), Interrupt::new());
    let sides = A::needs(config, false).sides;
    let selection = Selection { view: &*view, projection: &projection, weight: None, sides };
    let pace = Pace { buffer_bytes: 1 << 14, spills, ..Pace::full(2) };
    let graph = Graph::open_at(selection, Execution::Streaming, pace, None, &interrupt).expect("the store can be read");
    let workspace = Limited::new(1 << 30, 1 << 30);
    let run = Run {
        threads: pace.threads,
        interrupt: &interrupt,
        workspace: &workspace,
        execution: Execution::Streaming,
        spills,
        gives_values: true,
        selection,
    };
    let outcome = A::run(&graph, config, &run).expect("the store can be read");
    assert_eq!(workspace.files_made() > 0, spills, "files are made only to spill to");
    workspace.assert_all_given_back(A::ABOUT.name);
    outcome.columns[0].clone()
}

fn check<A: Algorithm>(store: &ReferenceStore, config: &A::Config, tolerance: f64, graph: &str) {
    for (word, direction) in DIRECTIONS {
        let expected = run::<A>(store, direction, config, false);
        let found = run::<A>(store, direction, config, true);
        for (node, (found, expected)) in found.values().zip(expected.values()).enumerate() {
            let is_close = || (number(&found) - number(&expected)).abs() <= tolerance * number(&expected).abs();
            assert!(found == expected || is_close(), "{graph}, {word}, {node}: {found}, expected {expected}");
        }
    }
}

#[test]
fn state_in_files_changes_no_answer() {
    on_all_graphs(|graph, naive, store, _, _| {
        if naive.node_count == 0 {
            return;
        }
        for (tolerance, close) in [(1e-7, 1e-6), (1e-12, 1e-12)] {
            let config = pagerank::Config { tolerance, max_iterations: 20, ..pagerank::Config::default() };
            let asked = pagerank::Personalized { config, ..pagerank::Personalized::default() };
            check::<pagerank::Algorithm>(store, &asked, close, graph);
        }
        for max_iterations in [1, 10] {
            check::<cdlp::Algorithm>(store, &cdlp::Config { max_iterations }, 0.0, graph);
        }
    });
}

#[test]
fn little_memory_takes_smaller_buffers_then_fewer_threads_then_files() {
    let nodes = 1 << 16;
    let store = ReferenceStore::new();
    erdos_renyi(nodes, nodes / 8, 3).load_into(&store).unwrap();
    // PageRank has 12 bytes of state for each node, of which 5 must lie in memory; components have 4. Bytes are in KiB.
    for (name, bytes, expected_bytes, has_files) in [
        ("algo.pagerank", 64 << 10, 768 + (16 << 10), false),
        ("algo.pagerank", 16 << 10, 768 + (8 << 10), false),
        ("algo.pagerank", 8 << 10, 768 + (4 << 10), false),
        ("algo.pagerank", 4_500, 320 + (4 << 10), true),
        ("algo.pagerank", 4 << 10, 320 + (2 << 10), true),
        ("algo.pagerank", 2 << 10, 320 + (1 << 10), true),
        ("algo.wcc", 8 << 10, 256 + (4 << 10), false),
        ("algo.wcc", 4 << 10, 256 + (2 << 10), false),
        ("algo.wcc", 2 << 10, 256 + (1 << 10), false),
    ] {
        let mut streamed = vec![("execution", Value::string("streaming"))];
        if name == "algo.pagerank" {
            streamed.push(("maxIterations", Value::Int(2)));
        }
        let workspace = Limited::new(bytes << 10, 1 << 30);
        let of = |name: &str, workspace: &Limited| {
            call_within(&store, name, &streamed, 2, &Interrupt::new(), workspace).expect("there is enough memory")
        };
        let estimate = of(&format!("{name}.stats.estimate"), &workspace);
        assert_eq!(number(&estimate[0][2]) as usize, expected_bytes << 10, "{name} in {bytes} KiB");
        let stats = of(&format!("{name}.stats"), &workspace);
        let expected = call(&store, &format!("{name}.stats"), &streamed[1..], 2).unwrap();
        assert_eq!(stats[0][0], expected[0][0], "{name} in {bytes} KiB");
        assert_eq!(workspace.files_made() > 0, has_files, "{name} in {bytes} KiB");
        assert_eq!(workspace.peak(), expected_bytes << 10, "{name} in {bytes} KiB");
        workspace.assert_all_given_back(name);
    }
}
