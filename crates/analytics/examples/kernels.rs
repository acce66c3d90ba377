//! Times the kernels on a seeded Kronecker graph made in memory: `kernels [SCALE] [THREADS] [KERNEL]`, 20
//! and 2 if left out, all kernels.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use analytics::algorithms::{bfs, cdlp, kcore, lcc, leiden, louvain, pagerank, sssp, triangles, wcc};
use analytics::{EdgeList, Graph, GraphView, Sides};
use model::Interrupt;
use model::store::Direction;
use testing::graphs::{Kronecker, kronecker};
use testing::random::SeededRandom;

/// Runs of each kernel, at most, and seconds after which no further one begins; the fastest and the median are printed.
const RUNS: usize = 7;
const SECONDS: f64 = 3.0;

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

/// Prints times of what was asked for.
struct Bench {
    out: std::io::Stdout,
    threads: usize,
    /// Kernels whose name does not begin so are left out.
    only: String,
}

/// Seconds that all threads of this process have computed for, where the system tells.
#[allow(clippy::disallowed_methods, reason = "an example asks the system what it used")]
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

impl Bench {
    fn is_wanted(&self, what: &str) -> bool {
        what.starts_with(&self.only)
    }

    /// Runs something several times; the last column is the time that it would take if nothing else ran.
    #[allow(clippy::disallowed_methods, reason = "an example measures with the real clock")]
    fn time<R>(&mut self, what: &str, mut run: impl FnMut() -> R) -> Result<R, Box<dyn Error>> {
        let mut times = Vec::with_capacity(RUNS);
        let before = processor_seconds();
        let result = loop {
            let start = std::time::Instant::now();
            let result = run();
            times.push(start.elapsed().as_secs_f64());
            if times.len() == RUNS || times.iter().sum::<f64>() > SECONDS {
                break result;
            }
        };
        let each = (processor_seconds() - before) / (times.len() * self.threads) as f64;
        times.sort_by(f64::total_cmp);
        let (best, median) = (times[0], times[times.len() / 2]);
        let threads = self.threads;
        writeln!(self.out, "{what:<40} best {best:>8.4} s  median {median:>8.4} s  processor/{threads} {each:>8.4} s")?;
        self.out.flush()?;
        Ok(result)
    }

    /// The rate at which all threads together read memory one after the other.
    #[allow(clippy::disallowed_methods, reason = "an example measures with the real clock")]
    fn memory_rate(&mut self) -> Result<(), Box<dyn Error>> {
        let numbers: Vec<u64> = (0..1 << 26).collect();
        let mut best = 0.0_f64;
        for _ in 0..RUNS {
            let start = std::time::Instant::now();
            let sum: u64 = std::thread::scope(|scope| {
                let parts = numbers.chunks(numbers.len().div_ceil(self.threads));
                let parts: Vec<_> = parts.map(|part| scope.spawn(|| part.iter().sum::<u64>())).collect();
                parts.into_iter().map(|part| part.join().unwrap_or_default()).sum()
            });
            assert_eq!(sum, (numbers.len() as u64 - 1) * numbers.len() as u64 / 2);
            best = best.max(8.0 * numbers.len() as f64 / start.elapsed().as_secs_f64());
        }
        Ok(writeln!(self.out, "memory read at {:.1} GB/s", best / 1e9)?)
    }
}

/// Views of one graph.
struct Views {
    both: Arc<GraphView>,
    forward: GraphView,
    undirected: Arc<GraphView>,
    weighted: GraphView,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let scale = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let threads = arguments.next().map_or(Ok(2), |text| text.parse())?;
    let mut bench = Bench { out: std::io::stdout(), threads, only: arguments.next().unwrap_or_default() };
    let graph = make(scale);
    writeln!(bench.out, "{} nodes, {} edges, {threads} threads", graph.nodes, graph.sources.len())?;
    bench.memory_rate()?;
    let views = build(&mut bench, &graph)?;
    ranks(&mut bench, &views)?;
    communities(&mut bench, &views)?;
    neighborhoods(&mut bench, &views)?;
    searches(&mut bench, &views)
}

fn build(bench: &mut Bench, graph: &Edges) -> Result<Views, Box<dyn Error>> {
    let list = EdgeList { sources: &graph.sources, targets: &graph.targets, weights: &[] };
    let weighted = EdgeList { weights: &graph.weights, ..list };
    let threads = bench.threads;
    let build =
        |list: &EdgeList<'_>, direction, sides| GraphView::from_edges(graph.nodes, list, direction, sides, threads);
    let forward = bench.time("view, forward", || build(&list, Direction::Out, Sides::Forward))?;
    let both = bench.time("view, both", || build(&list, Direction::Out, Sides::ForwardAndBackward))?;
    let undirected = bench.time("view, undirected", || build(&list, Direction::Both, Sides::Forward))?;
    let weighted = bench.time("view, forward with weights", || build(&weighted, Direction::Out, Sides::Forward))?;
    Ok(Views { both: Arc::new(both), forward, undirected: Arc::new(undirected), weighted })
}

fn neighborhoods(bench: &mut Bench, views: &Views) -> Result<(), Box<dyn Error>> {
    let (threads, interrupt) = (bench.threads, Interrupt::new());
    let (both, undirected) = (Graph::in_memory(views.both.clone()), Graph::in_memory(views.undirected.clone()));
    if bench.is_wanted("cdlp") {
        let config = cdlp::Config::default();
        let labels = bench.time("cdlp, 10 iterations", || cdlp::run(&both, &config, threads, &interrupt))??;
        writeln!(bench.out, "  iterations {}, converged: {}", labels.iterations, labels.did_converge)?;
        cdlp::verify(&views.both, &labels)?;
        bench.time("cdlp, undirected", || cdlp::run(&undirected, &config, threads, &interrupt))??;
    }
    if bench.is_wanted("kcore") {
        let cores = bench.time("kcore", || kcore::run(&undirected, threads, &interrupt))??;
        writeln!(bench.out, "  degeneracy {}", cores.iter().max().unwrap_or(&0))?;
        kcore::verify(&views.undirected, &cores)?;
    }
    if bench.is_wanted("triangles") {
        let triads = bench.time("triangles", || triangles::run(&views.undirected, threads, &interrupt))??;
        writeln!(bench.out, "  {} triangles", triads.closed.iter().sum::<u64>() / 3)?;
        triangles::verify(&views.undirected, &triads)?;
    }
    if bench.is_wanted("lcc") {
        bench.time("lcc, undirected", || lcc::run(&views.undirected, threads, &interrupt))??;
        let found = bench.time("lcc, directed", || lcc::run(&views.both, threads, &interrupt))??;
        lcc::verify(&views.both, &found, threads, &interrupt)?;
    }
    Ok(())
}

fn ranks(bench: &mut Bench, views: &Views) -> Result<(), Box<dyn Error>> {
    let (threads, interrupt) = (bench.threads, Interrupt::new());
    if bench.is_wanted("pagerank") {
        let pulled = Graph::in_memory(views.both.clone());
        let config = pagerank::Config::default();
        let ranks = bench.time("pagerank, 20 iterations", || {
            pagerank::run(&pulled, &config, pagerank::Means::threads(threads), &interrupt)
        })??;
        pagerank::verify(&views.both, &config, &ranks)?;
        let exact = pagerank::Config { tolerance: 1e-300, ..config };
        let full = bench.time("pagerank, 20 iterations, full precision", || {
            pagerank::run(&pulled, &exact, pagerank::Means::threads(threads), &interrupt)
        })??;
        let errors = ranks.scores.iter().zip(&full.scores).map(|(a, b)| (a - b).abs() / b);
        writeln!(bench.out, "  largest relative difference of the two: {:e}", errors.fold(0.0, f64::max))?;
    }
    if bench.is_wanted("wcc") {
        let components = bench.time("wcc, forward rows", || wcc::run(&views.forward, threads, &interrupt))??;
        bench.time("wcc, both rows", || wcc::run(&views.both, threads, &interrupt))??;
        wcc::verify(&views.both, &components)?;
    }
    Ok(())
}

fn communities(bench: &mut Bench, views: &Views) -> Result<(), Box<dyn Error>> {
    let (view, threads, interrupt) = (&*views.undirected, bench.threads, Interrupt::new());
    if bench.is_wanted("louvain") {
        let config = louvain::Config::default();
        let found = bench.time("louvain", || louvain::run(view, &config, None, threads, &interrupt))??;
        writeln!(bench.out, "  modularity by level {:?}", found.modularities)?;
        louvain::verify(view, &config, &found)?;
    }
    if bench.is_wanted("leiden") {
        let config = leiden::Config::default();
        let found = bench.time("leiden", || leiden::run(view, &config, None, threads, &interrupt))??;
        writeln!(bench.out, "  modularity by level {:?}", found.modularities)?;
        leiden::verify(view, &config, &found)?;
    }
    Ok(())
}

fn searches(bench: &mut Bench, views: &Views) -> Result<(), Box<dyn Error>> {
    let (threads, interrupt) = (bench.threads, Interrupt::new());
    let mut random = SeededRandom::new(7);
    let sources: Vec<u32> = std::iter::repeat_with(|| random.index(views.forward.node_count()) as u32)
        .filter(|&node| views.forward.forward_degree(node) > 0)
        .take(8)
        .collect();
    let sides = [("forward rows", &views.forward), ("both rows", &views.both), ("undirected", &views.undirected)];
    for (what, view) in sides {
        if !bench.is_wanted("bfs") {
            break;
        }
        let distances = bench.time(&format!("bfs from 8 sources, {what}"), || {
            let runs = sources.iter().map(|&source| bfs::run(view, source, None, threads, &interrupt));
            runs.collect::<Result<Vec<_>, _>>()
        })??;
        for (&source, distances) in sources.iter().zip(&distances) {
            bfs::verify(view, source, distances)?;
        }
    }
    if bench.is_wanted("sssp") {
        let distances = bench.time("sssp from 8 sources", || {
            let runs = sources.iter().map(|&source| sssp::run(&views.weighted, source, threads, &interrupt));
            runs.collect::<Result<Vec<_>, _>>()
        })??;
        for (&source, distances) in sources.iter().zip(&distances) {
            sssp::verify(&views.weighted, source, distances)?;
        }
    }
    Ok(())
}
