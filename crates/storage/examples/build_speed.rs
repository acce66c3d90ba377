//! Measures the bulk build and the reads of a Kronecker graph: `build_speed DIRECTORY [SCALE] [MEMORY_MIB]`.
//!
//! The directory must not exist; it is left there for inspection with `knot info`.

#[path = "shared/kronecker.rs"]
mod kronecker;

use std::path::Path;
use std::sync::Arc;

use model::batch::EdgeBlock;
use model::platform::Platform;
use model::store::EdgeStream;
use model::{Column, ColumnData, Interrupt, NodeId, Result};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, EdgeRows, KeyRows, NodeRows};
use storage::codec::hash::mix;
use storage::version::Version;

use kronecker::{EDGE_FACTOR, edge};

const BATCH: u64 = 1 << 16;
const THREADS: u64 = 2;

fn batch(start: u64, end: u64, scale: u32) -> (Column, Column, [Column; 2]) {
    let (sources, targets) = (start..end).map(|index| edge(index, scale)).map(|(s, t)| (s as i64, t as i64)).unzip();
    let times = (start..end).map(|index| 1_600_000_000 + (mix(index) % 100_000_000) as i64).collect();
    let weights = (start..end).map(|index| f64::from((mix(index ^ 7) % 1_000_000) as f32 / 1e6)).collect();
    let column = |data| Column::new(data);
    (
        column(ColumnData::Int(sources)),
        column(ColumnData::Int(targets)),
        [column(ColumnData::Int(times)), column(ColumnData::Float(weights))],
    )
}

fn seconds(platform: &Platform, since: u64) -> f64 {
    (platform.clock.now_ns() - since) as f64 / 1e9
}

fn peak_mib(platform: &Platform) -> u64 {
    let status = platform.disk.read(Path::new("/proc/self/status")).unwrap_or_default();
    let text = String::from_utf8_lossy(&status).into_owned();
    let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn in_threads<R: Send>(edges: u64, work: impl Fn(u64, u64) -> R + Sync) -> Vec<R> {
    let share = edges.div_ceil(THREADS);
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            (0..THREADS).map(|t| scope.spawn(move || work(t * share, ((t + 1) * share).min(edges)))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the work does not panic")).collect()
    })
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let directory = Path::new(arguments.get(1).map_or("kronecker.knot", |text| text));
    let scale: u32 = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(20);
    let memory_bytes = arguments.get(3).and_then(|text| text.parse::<usize>().ok()).unwrap_or(1024) << 20;
    let platform = storage::os::platform();
    let (nodes, edges) = (1u64 << scale, EDGE_FACTOR << scale);

    let start = platform.clock.now_ns();
    in_threads(edges, |from, to| {
        (from..to).step_by(BATCH as usize).map(|at| batch(at, (at + BATCH).min(to), scale).0.len()).sum::<usize>()
    });
    let making = seconds(&platform, start);
    eprintln!("making the edges alone: {making:.2} s");

    platform.disk.create_directory(directory).map_err(|error| model::error!(Io, "{error}"))?;
    let base = Version::create(&platform, directory)?;
    let start = platform.clock.now_ns();
    let config = BuildConfig { memory_bytes, ..BuildConfig::default() };
    let mut load = BulkLoad::new(&base, config, &Interrupt::new())?;
    for at in (0..nodes).step_by(BATCH as usize) {
        let count = BATCH.min(nodes - at);
        let values = Column::new(ColumnData::Int((at..at + count).map(|id| id as i64).collect()));
        let key = Some(KeyRows { group: "N", property: Some("id"), values: &values });
        let rows = NodeRows { count: count as usize, labels: &["N"], key, names: &[], columns: &[], origin: at };
        load.push_nodes(&rows)?;
    }
    eprintln!("nodes: {:.2} s", seconds(&platform, start));
    let loaders: Vec<_> = (0..THREADS).map(|_| load.edge_loader()).collect::<Result<_>>()?;
    let loaders = std::sync::Mutex::new(loaders);
    let results = in_threads(edges, |from, to| -> Result<()> {
        let mut loader = loaders.lock().expect("not poisoned").pop().expect("one for each thread");
        for at in (from..to).step_by(BATCH as usize) {
            let (sources, targets, columns) = batch(at, (at + BATCH).min(to), scale);
            let errors = loader.push(&EdgeRows {
                edge_type: "E",
                source_group: "N",
                sources: &sources,
                target_group: "N",
                targets: &targets,
                names: &["time", "weight"],
                columns: &columns,
                origin: at,
            })?;
            assert!(errors.is_empty(), "every end exists");
        }
        loader.finish()
    });
    results.into_iter().collect::<Result<Vec<_>>>()?;
    eprintln!("edges pushed: {:.2} s, peak {} MiB", seconds(&platform, start), peak_mib(&platform));
    let version = load.finish()?;
    let all = seconds(&platform, start);
    let bytes: u64 = version.manifest().files().map(|(_, file)| file.length).sum();
    eprintln!("built: {all:.2} s, peak {} MiB", peak_mib(&platform));
    eprintln!("  {:.2} M edges/s without making them", edges as f64 / (all - making).max(0.001) / 1e6);
    for (kind, file) in version.manifest().files() {
        eprintln!("  {}: {:.2} bytes/edge", kind.file_name(file.number), file.length as f64 / edges as f64);
    }
    eprintln!("  all: {:.2} bytes/edge", bytes as f64 / edges as f64);
    drop(version);
    let start = platform.clock.now_ns();
    let version = Version::open(&platform, directory)?;
    eprintln!("opened: {:.2} ms", seconds(&platform, start) * 1e3);
    measure_reads(&platform, &version, nodes)
}

fn measure_reads(platform: &Platform, version: &Arc<Version>, nodes: u64) -> Result<()> {
    for round in 0..2 {
        let start = platform.clock.now_ns();
        let (mut block, mut count, mut sum) = (EdgeBlock::default(), 0u64, 0u64);
        for partition in 0..version.partitions().len() {
            let mut stream = version.stream(partition, &EdgeStream::default())?;
            while stream.next(&mut block)? {
                count += block.targets.len() as u64;
                sum = sum.wrapping_add(block.targets.iter().map(|target| target.0).sum::<u64>());
            }
        }
        eprintln!("stream {round}: {count} edges in {:.3} s (sum {sum})", seconds(platform, start));
    }
    let (mut out, mut longest) = (Vec::new(), 0);
    for (round, name) in ["out", "in", "out", "in"].into_iter().enumerate() {
        let start = platform.clock.now_ns();
        let mut found = 0u64;
        for index in 0..100_000 {
            let node = NodeId(mix(index) % nodes);
            out.clear();
            for partition in version.partitions() {
                for section in partition.sections() {
                    if name == "out" {
                        section.targets(section.out_run(node)?, &mut out)?;
                    } else {
                        section.sources(section.in_run(node)?, &mut out)?;
                    }
                }
            }
            longest = longest.max(out.len());
            found += out.len() as u64;
        }
        let time = seconds(platform, start);
        eprintln!(
            "{name} {round}: {:.3} us a node, {:.2} ns an edge, longest {longest}",
            time * 10.0,
            time * 1e9 / found as f64
        );
    }
    Ok(())
}
