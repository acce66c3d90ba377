//! Compares encodings of the pointer index: `pointer_index DIRECTORY GRAPH...`.
//!
//! A graph is a file of edges, `*.csv` with the ends in the first two columns or `*.bin` with pairs of 32-bit numbers;
//! `FILE:N` takes its first N edges, as a partition of level 0 does, and `FILE%N` the edges of every Nth source.
//! `power:N:D` is N nodes with degrees by a power law, D in the mean. Told are bytes and the time of a lookup whose
//! result the next one waits for: the run of a node with edges, that of one without, and the node at a position.
//! Every encoding is compared with the plain one first. The index of the store is written to DIRECTORY and removed.

#[path = "pointer_index/compressed.rs"]
mod compressed;
#[path = "pointer_index/flat.rs"]
mod flat;

use std::path::Path;
use std::sync::Arc;

use model::Result;
use model::platform::Platform;
use storage::codec::hash::mix;
use storage::file::StoreFile;
use storage::file::write::FileWriter;
use storage::format::FileKind;
use storage::partition::pointer::PointerIndex;

use compressed::{Blocks, EliasFanoDense, EliasFanoSparse, Gamma};
use flat::{PackedDense, PackedSparse, PlainDense, PlainSparse};

const LOOKUPS: usize = 1 << 19;
/// Questions timed at once: few, so that most of them are not interrupted by other programs.
const CHUNK: usize = 1 << 13;

/// Why reading cannot fail.
const WRITTEN: &str = "the file was just written";

/// Nodes that have edges, ascending, each with its number of edges.
type Degrees = Vec<(u32, u32)>;

/// From a node to its run, and back.
trait Index {
    fn bytes(&self) -> usize;
    /// Start and end; equal if the node has no edges.
    fn run(&self, node: u64) -> (u64, u64);
    fn node_at(&self, position: u64) -> u64;
}

/// The form that the store chooses.
struct Stored {
    file: Arc<StoreFile>,
    index: PointerIndex,
}

impl Index for Stored {
    fn bytes(&self) -> usize {
        self.file.entry().length as usize
    }
    fn run(&self, node: u64) -> (u64, u64) {
        let run = self.index.run(&self.file, node).expect(WRITTEN);
        (run.start, run.end)
    }
    fn node_at(&self, position: u64) -> u64 {
        self.index.node_at(&self.file, position).expect(WRITTEN)
    }
}

fn degrees_of(edges: impl Iterator<Item = (u32, u32)>, limit: usize, modulus: u64) -> [Degrees; 2] {
    let mut counts = [Vec::new(), Vec::new()];
    for (source, target) in edges.take(limit).filter(|(source, _)| mix(u64::from(*source)).is_multiple_of(modulus)) {
        for (count, node) in counts.iter_mut().zip([source as usize, target as usize]) {
            if count.len() <= node {
                count.resize(node + 1, 0u32);
            }
            count[node] += 1;
        }
    }
    counts.map(|counts| (0u32..).zip(counts).filter(|(_, count)| *count > 0).collect())
}

/// Degrees by a Pareto law of shape 1.2, at most three million; every eighth node has none.
fn power_law(nodes: u64, mean: f64) -> Degrees {
    let scale = mean / 4.6;
    let degree = |node: u64| {
        let draw = (mix(node) >> 11) as f64 / (1u64 << 53) as f64;
        (scale * (1.0 - draw).powf(-1.0 / 1.2)).clamp(1.0, 3e6) as u32
    };
    (0..nodes).filter(|node| !mix(!node).is_multiple_of(8)).map(|node| (node as u32, degree(node))).collect()
}

fn csv_ends(line: &[u8]) -> Option<(u32, u32)> {
    let mut fields = line.split(|byte| *byte == b',').map(|field| std::str::from_utf8(field).ok()?.parse().ok());
    Some((fields.next()??, fields.next()??))
}

/// The degrees of a graph: of its sources, and of its targets if they are known.
fn degrees(platform: &Platform, graph: &str) -> Result<Vec<Degrees>> {
    let wrong = || model::error!(Argument, "{graph} is not FILE, FILE:N, FILE%N or power:N:D");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    if let Some(law) = graph.strip_prefix("power:") {
        let (nodes, mean) = law.split_once(':').ok_or_else(wrong)?;
        return Ok(vec![power_law(number(nodes)?, number(mean)? as f64)]);
    }
    let (path, limit, modulus) = match (graph.split_once(':'), graph.split_once('%')) {
        (Some((path, limit)), _) => (path, number(limit)? as usize, 1),
        (_, Some((path, modulus))) => (path, usize::MAX, number(modulus)?),
        _ => (graph, usize::MAX, 1),
    };
    let map = platform.disk.map(Path::new(path)).map_err(|error| model::error!(Io, "cannot map {path}: {error}"))?;
    let bytes = map.bytes();
    let [out, inward] = if path.ends_with(".bin") {
        let end = |pair: &[u8]| u32::from_le_bytes(pair.try_into().expect("four bytes"));
        degrees_of(bytes.chunks_exact(8).map(|pair| (end(&pair[..4]), end(&pair[4..]))), limit, modulus)
    } else {
        degrees_of(bytes.split(|byte| *byte == b'\n').filter_map(csv_ends), limit, modulus)
    };
    Ok(vec![out, inward])
}

/// Questions put to every index.
struct Questions {
    hits: Vec<u64>,
    misses: Vec<u64>,
    positions: Vec<u64>,
    edges: u64,
}

impl Questions {
    fn new(degrees: &Degrees) -> Questions {
        let edges = degrees.iter().map(|(_, degree)| u64::from(*degree)).sum();
        let bound = u64::from(degrees.last().map_or(0, |(node, _)| node + 1));
        let draw = |seed: u64, at: usize, below: u64| mix(mix(seed) ^ at as u64) % below;
        let is_hit = |node: u64| degrees.binary_search_by_key(&(node as u32), |(node, _)| *node).is_ok();
        let tries = (0..4 * LOOKUPS).map(|at| draw(2, at, bound));
        Questions {
            hits: (0..LOOKUPS).map(|at| u64::from(degrees[draw(1, at, degrees.len() as u64) as usize].0)).collect(),
            misses: tries.filter(|node| !is_hit(*node)).take(LOOKUPS).collect(),
            positions: (0..LOOKUPS).map(|at| draw(3, at, edges)).collect(),
            edges,
        }
    }

    fn compare(&self, name: &str, index: &dyn Index, plain: &PlainDense) {
        for node in self.hits.iter().chain(&self.misses) {
            let ((start, end), expected) = (index.run(*node), plain.run(*node));
            assert!((start, end) == expected || start == end && expected.0 == expected.1, "{name}: run of {node}");
        }
        for position in self.positions.iter().copied().chain([0, self.edges - 1]) {
            assert_eq!(index.node_at(position), plain.node_at(position), "{name}: node at {position}");
        }
    }
}

/// Nanoseconds of a question whose number depends on the answer before; the least of several chunks.
fn time(platform: &Platform, questions: &[u64], ask: impl Fn(u64) -> u64) -> f64 {
    let chunk_time = |chunk: &[u64]| {
        let start = platform.clock.now_ns();
        // Answers are below 2^63, so this adds nothing that the compiler could know.
        let last = chunk.iter().fold(0, |answer, question| ask(question + (answer >> 63)));
        std::hint::black_box(last);
        (platform.clock.now_ns() - start) as f64 / chunk.len() as f64
    };
    questions.chunks(CHUNK).map(chunk_time).fold(f64::MAX, f64::min)
}

fn measure<I: Index>(platform: &Platform, name: &str, index: &I, asked: &Questions, nodes: u64, plain: &PlainDense) {
    asked.compare(name, index, plain);
    let run = |node| {
        let (start, end) = index.run(node);
        start ^ end
    };
    eprintln!(
        "{name:<22} {:>12} {:>8.3} {:>8.4} {:>8.1} {:>8.1} {:>8.1}",
        index.bytes(),
        index.bytes() as f64 / nodes as f64,
        index.bytes() as f64 / asked.edges as f64,
        time(platform, &asked.hits, run),
        time(platform, &asked.misses, run),
        time(platform, &asked.positions, |position| index.node_at(position)),
    );
}

fn measure_all(platform: &Platform, directory: &Path, title: &str, degrees: &Degrees) -> Result<()> {
    let (Some(&(first, _)), Some(&(last, _))) = (degrees.first(), degrees.last()) else {
        return Err(model::error!(Argument, "{title} has no edges"));
    };
    let (asked, span) = (Questions::new(degrees), u64::from(last - first) + 1);
    eprintln!("\n{title}: {} of {span} nodes have edges, {} edges", degrees.len(), asked.edges);
    let columns = ["bytes", "/node", "/edge", "hit ns", "miss ns", "at ns"];
    let [bytes, node, edge, hit, miss, at] = columns;
    eprintln!("{:<22} {bytes:>12} {node:>8} {edge:>8} {hit:>8} {miss:>8} {at:>8}", "");
    let plain = PlainDense::new(degrees);
    measure(platform, "plain dense", &plain, &asked, span, &plain);
    measure(platform, "plain sparse", &PlainSparse::new(degrees), &asked, span, &plain);
    measure(platform, "packed dense", &PackedDense::new(degrees), &asked, span, &plain);
    measure(platform, "packed sparse", &PackedSparse::new(degrees), &asked, span, &plain);
    measure(platform, "blocks of 64", &Blocks::new(degrees), &asked, span, &plain);
    measure(platform, "Elias gamma, of 64", &Gamma::new(degrees), &asked, span, &plain);
    let scratch = |number| FileWriter::create(&platform.disk, directory, FileKind::Edges, number, 1);
    let open = |file: FileWriter| {
        let entry = file.finish(&[])?;
        StoreFile::open(&platform.disk, directory, FileKind::Edges, entry)
    };
    let dense = EliasFanoDense::new(degrees, scratch(1)?, &open)?;
    measure(platform, "Elias-Fano dense", &dense, &asked, span, &plain);
    let sparse = EliasFanoSparse::new(degrees, scratch(2)?, &open)?;
    measure(platform, "Elias-Fano sparse", &sparse, &asked, span, &plain);
    let mut file = scratch(3)?;
    let index = PointerIndex::write(degrees.iter().copied(), &mut file)?;
    let stored = Stored { file: open(file)?, index };
    measure(platform, "the store's choice", &stored, &asked, span, &plain);
    for number in 1..=3 {
        let path = directory.join(FileKind::Edges.file_name(number));
        let failed = |error| model::error!(Io, "cannot remove {}: {error}", path.display());
        platform.disk.remove(&path).map_err(failed)?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, directory, graphs @ ..] = arguments.as_slice() else {
        eprintln!("usage: pointer_index DIRECTORY GRAPH...");
        return Ok(());
    };
    let platform = storage::os::platform();
    let directory = Path::new(directory);
    platform.disk.create_directory(directory).map_err(|error| model::error!(Io, "{error}"))?;
    for graph in graphs {
        for (degrees, direction) in degrees(&platform, graph)?.iter().zip(["out", "in"]) {
            measure_all(&platform, directory, &format!("{graph} {direction}"), degrees)?;
        }
    }
    platform.disk.remove_directory(directory).map_err(|error| model::error!(Io, "{error}"))
}
