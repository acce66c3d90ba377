//! Measures the sequential streams of edges: `stream_speed STORE [MEMORY_MIB] [ROUNDS] [blocks]`.
//!
//! Reads all runs in both directions with one and two threads, some rounds each, and prints edges and bytes a second, and
//! what came from the disk; with `blocks`, the streams of blocks for comparison. Under a limit of memory the caller sees to
//! it that the operating system keeps to it too.
//!
//! `stream_speed make STORE SCALE [MEMORY_MIB]` builds a Kronecker graph without properties, edge factor 16.

#[path = "shared/kronecker.rs"]
mod kronecker;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::batch::{EdgeBlock, EdgeRuns};
use model::platform::Platform;
use model::store::{EdgeStream, RunScan};
use model::{Column, ColumnData, Direction, GraphStore, Interrupt, ReadView, Result};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, EdgeRows, KeyRows, NodeRows};
use storage::version::Version;
use storage::{NativeStore, OpenOptions};

use kronecker::{EDGE_FACTOR, edge};

const BATCH: u64 = 1 << 16;
/// Parts of a partition that threads take in turn.
const PARTS: u64 = 64;

fn ints(values: impl Iterator<Item = u64>) -> Column {
    Column::new(ColumnData::Int(values.map(|value| value as i64).collect()))
}

fn seconds(platform: &Platform, since: u64) -> f64 {
    (platform.clock.now_ns() - since) as f64 / 1e9
}

fn make(platform: &Platform, directory: &Path, scale: u32, memory_bytes: usize) -> Result<()> {
    let (nodes, edges) = (1u64 << scale, EDGE_FACTOR << scale);
    let start = platform.clock.now_ns();
    platform.disk.create_directory(directory).map_err(|error| model::error!(Io, "{error}"))?;
    let base = Version::create(platform, directory)?;
    let config = BuildConfig { memory_bytes, ..BuildConfig::default() };
    let mut load = BulkLoad::new(&base, config, &Interrupt::new())?;
    for at in (0..nodes).step_by(BATCH as usize) {
        let count = BATCH.min(nodes - at);
        let values = ints(at..at + count);
        let key = Some(KeyRows { group: "N", property: None, values: &values });
        let rows = NodeRows { count: count as usize, labels: &["N"], key, names: &[], columns: &[], origin: at };
        load.push_nodes(&rows)?;
    }
    let next = AtomicUsize::new(0);
    let loaders = [load.edge_loader()?, load.edge_loader()?];
    let push = |mut loader: storage::bulk::EdgeLoader| -> Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed) as u64 * BATCH;
            if at >= edges {
                return loader.finish();
            }
            let ends: Vec<(u64, u64)> = (at..(at + BATCH).min(edges)).map(|index| edge(index, scale)).collect();
            let (sources, targets) = (ints(ends.iter().map(|ends| ends.0)), ints(ends.iter().map(|ends| ends.1)));
            let (group, names, columns) = ("N", &[], &[]);
            let (source_group, target_group, sources, targets) = (group, group, &sources, &targets);
            let rows =
                EdgeRows { edge_type: "E", source_group, sources, target_group, targets, names, columns, origin: at };
            assert!(loader.push(&rows)?.is_empty(), "every end exists");
        }
    };
    let push = &push;
    std::thread::scope(|scope| {
        let threads = loaders.map(|loader| scope.spawn(move || push(loader)));
        threads.into_iter().try_for_each(|thread| thread.join().expect("the work does not panic"))
    })?;
    let version = load.finish()?;
    let time = seconds(platform, start);
    eprintln!("{edges} edges in {time:.1} s: {:.2} M/s", edges as f64 / time / 1e6);
    for (kind, file) in version.manifest().files() {
        eprintln!("  {}: {:.2} bytes/edge", kind.file_name(file.number), file.length as f64 / edges as f64);
    }
    Ok(())
}

/// Partition and range of nodes of each turn of a thread.
fn parts(view: &dyn ReadView, direction: Direction) -> Vec<(usize, Range<u64>)> {
    let partitions = view.edge_partitions().expect("the store streams");
    let mut parts = Vec::new();
    for partition in 0..partitions.count() {
        let all = 0..view.node_id_bound();
        let nodes = if direction == Direction::In { partitions.interval(partition) } else { all };
        let step = (nodes.end - nodes.start).div_ceil(PARTS).max(1);
        parts.extend(nodes.clone().step_by(step as usize).map(|at| (partition, at..(at + step).min(nodes.end))));
    }
    parts
}

fn scan(view: &dyn ReadView, direction: Direction, threads: usize) -> Result<(u64, u64)> {
    let (parts, next) = (parts(view, direction), AtomicUsize::new(0));
    let work = || -> Result<(u64, u64)> {
        let partitions = view.edge_partitions().expect("the store streams");
        let (mut runs, mut edges, mut sum) = (EdgeRuns::default(), 0, 0u64);
        while let Some((partition, nodes)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let scan = RunScan { direction, nodes: Some(nodes.clone()), ..RunScan::default() };
            let mut cursor = partitions.runs(*partition, &scan)?;
            while cursor.next(&mut runs)? {
                edges += runs.neighbors.len() as u64;
                // A glance at each cache line, so that what is measured is the stream.
                sum += runs.neighbors.iter().step_by(16).map(|&node| u64::from(node)).sum::<u64>();
                sum += runs.nodes.len() as u64;
            }
        }
        Ok((edges, sum))
    };
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let (mut edges, mut sum) = (0, 0u64);
        for thread in threads {
            let (of_edges, of_sum) = thread.join().expect("the work does not panic")?;
            edges += of_edges;
            sum = sum.wrapping_add(of_sum);
        }
        Ok((edges, sum))
    })
}

/// Reads all edges as blocks of sources and targets.
fn stream(view: &dyn ReadView) -> Result<(u64, u64)> {
    let partitions = view.edge_partitions().expect("the store streams");
    let (mut block, mut edges, mut sum) = (EdgeBlock::default(), 0, 0u64);
    for partition in 0..partitions.count() {
        let mut cursor = partitions.stream(partition, &EdgeStream::default())?;
        while cursor.next(&mut block)? {
            edges += block.targets.len() as u64;
            sum += block.targets.iter().step_by(16).map(|node| node.0).sum::<u64>();
        }
    }
    Ok((edges, sum))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map_or("", |text| text);
    let number = |at: usize, default: usize| argument(at).parse().unwrap_or(default);
    let platform = storage::os::platform();
    if argument(0) == "make" {
        return make(&platform, Path::new(argument(1)), number(2, 20) as u32, number(3, 1024) << 20);
    }
    let memory_bytes_max = Some(number(1, 0)).filter(|&mib| mib > 0).map(|mib| mib << 20);
    let rounds = number(2, 3);
    let options = OpenOptions { memory_bytes_max, ..OpenOptions::read_only() };
    let store = NativeStore::open(Path::new(argument(0)), options, platform.clone())?;
    let view = store.read()?;
    let is_blocks = argument(3) == "blocks";
    let directions = if is_blocks { &[Direction::Out][..] } else { &[Direction::Out, Direction::In] };
    for &direction in directions {
        for threads in if is_blocks { 1..=1 } else { 1..=2 } {
            for round in 0..rounds {
                let (before, start) = (store.cache_statistics(), platform.clock.now_ns());
                let (edges, sum) = if is_blocks { stream(&*view)? } else { scan(&*view, direction, threads)? };
                let (time, after) = (seconds(&platform, start), store.cache_statistics());
                let read = (after.bytes_read - before.bytes_read) as f64;
                eprintln!(
                    "{direction:?} {threads} threads, round {round}: {edges} edges, {time:.3} s, {:.0} M edges/s; \
                     {:.3} GB read, {:.2} GB/s; {} MiB held ({sum:x})",
                    edges as f64 / time / 1e6,
                    read / 1e9,
                    read / time / 1e9,
                    after.bytes >> 20,
                );
            }
        }
    }
    Ok(())
}
