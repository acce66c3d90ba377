//! Times the kernels on a seeded Kronecker graph made in memory: `kernels [SCALE] [THREADS]`, 20 and 2 if left out.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use analytics::algorithms::{bfs, pagerank, sssp, wcc};
use analytics::{EdgeList, Graph, GraphView, Sides};
use model::Interrupt;
use model::store::Direction;
use testing::graphs::{Kronecker, kronecker};
use testing::random::SeededRandom;

/// Runs of each kernel; the fastest and the median are printed.
const RUNS: usize = 7;

/// The edges of a graph, sorted by source as a store streams them.
struct Edges {
    nodes: u32,
    sources: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<f64>,
}

fn make(scale: u32) -> Edges {
    let graph = kronecker(&Kronecker { scale, seed: 20_261_121, ..Kronecker::default() });
    let mut edges: Vec<u64> = graph.edge_pairs().map(|(source, target)| source << 32 | target).collect();
    edges.sort_unstable();
    let mut random = SeededRandom::new(1);
    Edges {
        nodes: graph.node_count() as u32,
        sources: edges.iter().map(|edge| (edge >> 32) as u32).collect(),
        targets: edges.iter().map(|edge| *edge as u32).collect(),
        weights: edges.iter().map(|_| (random.below(255) + 1) as f64).collect(),
    }
}

#[allow(clippy::disallowed_methods, reason = "an example measures with the real clock")]
fn time<R>(out: &mut impl Write, what: &str, mut run: impl FnMut() -> R) -> Result<R, Box<dyn Error>> {
    let mut times = Vec::with_capacity(RUNS);
    let mut result = None;
    for _ in 0..RUNS {
        let start = std::time::Instant::now();
        result = Some(run());
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    writeln!(out, "{what:<40} best {:>9.4} s   median {:>9.4} s", times[0], times[RUNS / 2])?;
    out.flush()?;
    Ok(result.expect("there is at least one run"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let threads = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let mut out = std::io::stdout();
    let graph = make(scale);
    let list = EdgeList { sources: &graph.sources, targets: &graph.targets, weights: &[] };
    let weighted = EdgeList { weights: &graph.weights, ..list };
    writeln!(out, "{} nodes, {} edges, {threads} threads", graph.nodes, graph.sources.len())?;

    let interrupt = Interrupt::new();
    let build =
        |list: &EdgeList<'_>, direction, sides| GraphView::from_edges(graph.nodes, list, direction, sides, threads);
    let backward = time(&mut out, "view, backward", || build(&list, Direction::Out, Sides::Backward))?;
    let forward = time(&mut out, "view, forward", || build(&list, Direction::Out, Sides::Forward))?;
    let both = time(&mut out, "view, both", || build(&list, Direction::Out, Sides::ForwardAndBackward))?;
    let undirected = time(&mut out, "view, undirected", || build(&list, Direction::Both, Sides::Forward))?;
    let costs = time(&mut out, "view, forward with weights", || build(&weighted, Direction::Out, Sides::Forward))?;

    let pulled = Graph::in_memory(Arc::new(backward));
    let config = pagerank::Config::default();
    let ranks = time(&mut out, "pagerank, 20 iterations", || pagerank::run(&pulled, &config, threads, &interrupt))??;
    pagerank::verify(&both, &config, &ranks)?;
    let exact = pagerank::Config { tolerance: 1e-300, ..config };
    let full = time(&mut out, "pagerank, 20 iterations, full precision", || {
        pagerank::run(&pulled, &exact, threads, &interrupt)
    })??;
    let errors = ranks.scores.iter().zip(&full.scores).map(|(a, b)| (a - b).abs() / b);
    writeln!(out, "  largest relative difference of the two: {:e}", errors.fold(0.0, f64::max))?;

    let components = time(&mut out, "wcc, forward rows", || wcc::run(&forward, threads, &interrupt))??;
    time(&mut out, "wcc, both rows", || wcc::run(&both, threads, &interrupt))??;
    wcc::verify(&both, &components)?;

    let mut random = SeededRandom::new(7);
    let sources: Vec<u32> = std::iter::repeat_with(|| random.below(u64::from(graph.nodes)) as u32)
        .filter(|&node| forward.forward_degree(node) > 0)
        .take(8)
        .collect();
    for (what, view) in [("forward rows", &forward), ("both rows", &both), ("undirected", &undirected)] {
        let distances = time(&mut out, &format!("bfs from 8 sources, {what}"), || {
            sources
                .iter()
                .map(|&source| bfs::run(view, source, None, threads, &interrupt))
                .collect::<Result<Vec<_>, _>>()
        })??;
        for (&source, distances) in sources.iter().zip(&distances) {
            bfs::verify(view, source, distances)?;
        }
    }
    let distances = time(&mut out, "distances from 8 sources", || {
        let runs = sources.iter().map(|&source| sssp::run(&costs, source, threads, &interrupt));
        runs.collect::<Result<Vec<_>, _>>()
    })??;
    for (&source, distances) in sources.iter().zip(&distances) {
        sssp::verify(&costs, source, distances)?;
    }
    Ok(())
}
