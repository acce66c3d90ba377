//! Communities of networks so large that many nodes are looked at at once: the same for any number of threads, and no
//! worse than those that are there to be found.

use analytics::algorithms::{leiden, louvain};
use analytics::{EdgeList, GraphView, Sides};
use model::Interrupt;
use model::store::Direction;
use testing::graphs::{Kronecker, kronecker};
use testing::random::{SeededRandom, seed_or};

/// A graph as arrays.
struct Arrays {
    name: &'static str,
    nodes: u32,
    sources: Vec<u32>,
    targets: Vec<u32>,
    /// A modularity that communities of this graph reach at least.
    modularity_min: f64,
}

/// Groups of nodes with most edges within, some of them parallel or self-loops, and nodes without edges.
fn planted(random: &mut SeededRandom) -> Arrays {
    let (nodes, groups) = (12_000, 60);
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for _ in 0..280_000 {
        let source = random.below(nodes - 50);
        let is_within = random.chance(80);
        let target =
            if is_within { source % groups + groups * random.below(nodes / groups) } else { random.below(nodes) };
        sources.push(source as u32);
        targets.push(if target < nodes - 50 { target } else { source } as u32);
    }
    Arrays { name: "planted", nodes: nodes as u32, sources, targets, modularity_min: 0.75 }
}

/// Few communities worth the name, and hubs.
fn skewed(seed: u64) -> Arrays {
    let graph = kronecker(&Kronecker { scale: 14, edge_factor: 24, seed, ..Kronecker::default() });
    let (sources, targets) = graph.edge_pairs().map(|(source, target)| (source as u32, target as u32)).unzip();
    Arrays { name: "kronecker", nodes: graph.node_count() as u32, sources, targets, modularity_min: 0.05 }
}

/// Neighbors next to each other, each a step from the next: all nodes look alike.
fn ladder() -> Arrays {
    let nodes = 90_000;
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for node in 0..nodes {
        for step in 1..4 {
            sources.push(node);
            targets.push((node + step) % nodes);
        }
    }
    Arrays { name: "ladder", nodes, sources, targets, modularity_min: 0.95 }
}

/// All leaves want to be with one node, which wants to be with one of them.
fn stars(random: &mut SeededRandom) -> Arrays {
    let nodes = 270_000;
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for node in 20..nodes {
        sources.push(node);
        targets.push(node % 20);
        if random.chance(5) {
            sources.push(node);
            targets.push(random.below(u64::from(nodes)) as u32);
        }
    }
    Arrays { name: "stars", nodes, sources, targets, modularity_min: 0.85 }
}

fn view(arrays: &Arrays, weights: &[f64]) -> GraphView {
    let list = EdgeList { sources: &arrays.sources, targets: &arrays.targets, weights };
    GraphView::from_edges(arrays.nodes, &list, Direction::Both, Sides::Forward, 2)
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let seed = seed_or(23);
    let mut random = SeededRandom::new(seed);
    for arrays in [planted(&mut random), skewed(seed), ladder(), stars(&mut random)] {
        let weights: Vec<f64> = arrays.sources.iter().map(|_| random.below(1_000) as f64 / 300.0).collect();
        for weights in [&[][..], &weights] {
            let view = view(&arrays, weights);
            let name = format!("{}, weighted {}, FUZZ_SEED={seed}", arrays.name, !weights.is_empty());
            let random_seed = random.below(1_000);
            let start = (0..arrays.nodes).map(|_| random.below(40) as u32).collect::<Vec<u32>>();
            compare_threads(&view, random_seed, &Some(start).filter(|_| random.chance(50)), &name);
            let shared = louvain::Config { random_seed, ..louvain::Config::default() };
            let found = louvain::run(&view, &shared, None, 2, &Interrupt::new()).unwrap();
            let least = arrays.modularity_min;
            let modularity = found.modularities[found.modularities.len() - 1];
            assert!(modularity > least, "{name}: Louvain reaches {modularity}, expected {least}");
            let found =
                leiden::run(&view, &leiden::Config { shared, theta: 0.01 }, None, 2, &Interrupt::new()).unwrap();
            let modularity = found.modularities[found.modularities.len() - 1];
            assert!(modularity > least, "{name}: Leiden reaches {modularity}, expected {least}");
        }
    }
}

/// Louvain and Leiden find the same with any number of threads, and pass their verifiers.
fn compare_threads(view: &GraphView, random_seed: u64, start: &Option<Vec<u32>>, name: &str) {
    for max_levels in [1, 10] {
        let shared = louvain::Config { max_levels, random_seed, keeps_levels: true, ..louvain::Config::default() };
        let config = leiden::Config { shared: shared.clone(), theta: 0.01 };
        let louvain = |threads| {
            louvain::run(view, &shared, start.clone(), threads, &Interrupt::new()).expect("weights are finite")
        };
        let leiden = |threads| {
            leiden::run(view, &config, start.clone(), threads, &Interrupt::new()).expect("weights are finite")
        };
        let (one_louvain, one_leiden) = (louvain(1), leiden(1));
        louvain::verify(view, &shared, &one_louvain).unwrap_or_else(|error| panic!("{name}: {error}"));
        leiden::verify(view, &config, &one_leiden).unwrap_or_else(|error| panic!("{name}: {error}"));
        for threads in [2, 4] {
            for (kind, one, many) in
                [("Louvain", &one_louvain, louvain(threads)), ("Leiden", &one_leiden, leiden(threads))]
            {
                let is_same = one.communities == many.communities && one.levels == many.levels;
                assert!(is_same, "{name}, {kind}: {threads} threads find other communities than one");
                assert_eq!(one.modularities, many.modularities, "{name}, {kind}: {threads} threads");
            }
        }
    }
}
