//! Measures reads of a store under a memory limit: `memory STORE LIMIT_MIB [plain]`.
//!
//! `LIMIT_MIB` 0 is the default limit. `plain` leaves residency to the operating system: the files are mapped and nothing
//! else, which is what the budget is compared with. Prints a line for each operation: cold and warm latencies; then
//! what the cache did, and what the process held. The caller empties the page cache before.

use std::any::Any;
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::batch::{EdgeBatch, EdgeBlock};
use model::platform::{Disk, MappedFile, Platform, WriteFile};
use model::store::{EdgeBlockCursor, EdgeStream};
use model::{Direction, Expand, GraphStore, NodeId, PropertyKeyId, ReadView, Result, Set};
use storage::codec::hash::mix;
use storage::{NativeStore, OpenOptions};

/// A disk whose maps are left to the operating system.
#[derive(Debug)]
struct PlainDisk(Arc<dyn Disk>);

struct PlainMap(Arc<dyn MappedFile>);

impl MappedFile for PlainMap {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Disk for PlainDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.0.create(path)
    }
    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn WriteFile>> {
        self.0.append(path, length)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }
    fn map(&self, path: &Path) -> io::Result<Arc<dyn MappedFile>> {
        Ok(Arc::new(PlainMap(self.0.map(path)?)))
    }
    fn length(&self, path: &Path) -> io::Result<u64> {
        self.0.length(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.0.create_directory(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.0.remove_directory(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.sync_directory(path)
    }
    fn exists(&self, path: &Path) -> bool {
        self.0.exists(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Any + Send + Sync>> {
        self.0.lock(path)
    }
}

/// The store that is measured.
struct Measure {
    platform: Platform,
    view: Arc<dyn ReadView>,
    bound: u64,
}

impl Measure {
    fn now(&self) -> f64 {
        self.platform.clock.now_ns() as f64 / 1e3
    }

    fn nodes(&self, seed: u64, count: u64) -> Vec<NodeId> {
        (0..count).map(|index| NodeId(mix(index ^ seed << 32) % self.bound)).collect()
    }

    /// The neighbours of some nodes.
    fn expand(&self, from: &[NodeId], direction: Direction, keys: &[PropertyKeyId]) -> Result<Vec<NodeId>> {
        let expand = Expand { direction, keys: keys.to_vec(), ..Expand::default() };
        let (mut cursor, mut batch, mut found) = (self.view.expand(from, &expand)?, EdgeBatch::default(), Vec::new());
        while cursor.next(&mut batch)? {
            found.extend_from_slice(&batch.neighbors);
        }
        Ok(found)
    }

    fn friends_of_friends(&self, node: NodeId) -> Result<usize> {
        let mut friends = self.expand(&[node], Direction::Out, &[])?;
        friends.truncate(200);
        let second: Set<NodeId> = self.expand(&friends, Direction::Out, &[])?.into_iter().collect();
        Ok(second.len())
    }

    /// Runs an operation for each item of a list, twice; prints percentiles of the first and the second time.
    fn run<T>(&self, name: &str, items: &[T], mut operation: impl FnMut(&T) -> Result<usize>) -> Result<()> {
        let mut line = format!("{name:<34}");
        let mut sums = [0; 2];
        for sum in &mut sums {
            let mut times = Vec::with_capacity(items.len());
            for item in items {
                let start = self.now();
                *sum += operation(item)?;
                times.push(self.now() - start);
            }
            times.sort_by(f64::total_cmp);
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
            line += &format!(
                " {:>10.1} {:>10.1} {:>10.1}",
                at(0.5),
                at(0.95),
                times.iter().sum::<f64>() / items.len() as f64
            );
        }
        assert_eq!(sums[0], sums[1], "both rounds find the same");
        eprintln!("{line}   ({} found)", sums[0]);
        Ok(())
    }
}

fn status(platform: &Platform, field: &str) -> u64 {
    let status = platform.disk.read(Path::new("/proc/self/status")).unwrap_or_default();
    let text = String::from_utf8_lossy(&status).into_owned();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let directory = Path::new(arguments.get(1).map_or("kronecker.knot", |text| text));
    let limit = arguments.get(2).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0) << 20;
    let is_plain = arguments.get(3).is_some_and(|text| text == "plain");
    let mut platform = storage::os::platform();
    if is_plain {
        platform.disk = Arc::new(PlainDisk(platform.disk));
    }
    let start = platform.clock.now_ns();
    let memory_bytes_max = if is_plain { Some(usize::MAX / 2) } else { (limit > 0).then_some(limit) };
    let store =
        NativeStore::open(directory, OpenOptions { memory_bytes_max, ..OpenOptions::read_only() }, platform.clone())?;
    let view = store.read()?;
    let bound = view.node_id_bound();
    let measure = Measure { platform: platform.clone(), view, bound };
    eprintln!("opened in {:.2} ms", (platform.clock.now_ns() - start) as f64 / 1e6);
    let keys: Vec<PropertyKeyId> = (0..measure.view.schema().property_keys.len() as u32).map(PropertyKeyId).collect();
    eprintln!(
        "{:<34} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "µs", "cold p50", "p95", "mean", "warm p50", "p95", "mean"
    );
    measure.run("properties of a node", &measure.nodes(1, 2_000), |&node| {
        Ok(measure.view.node_properties(&[node], &keys)?.iter().map(|column| column.len()).sum())
    })?;
    measure.run("out-edges of a node", &measure.nodes(2, 2_000), |&node| {
        Ok(measure.expand(&[node], Direction::Out, &[])?.len())
    })?;
    measure.run("in-edges of a node", &measure.nodes(3, 2_000), |&node| {
        Ok(measure.expand(&[node], Direction::In, &[])?.len())
    })?;
    let batches: Vec<Vec<NodeId>> = (0..20).map(|batch| measure.nodes(100 + batch, 1_000)).collect();
    measure.run("out-edges of 1,000 nodes", &batches, |nodes| Ok(measure.expand(nodes, Direction::Out, &[])?.len()))?;
    measure.run("out-edges and weights of 1,000", &batches[..5], |nodes| {
        Ok(measure.expand(nodes, Direction::Out, &keys)?.len())
    })?;
    measure.run("properties of 1,000 nodes", &batches, |nodes| {
        Ok(measure.view.node_properties(nodes, &keys)?.iter().map(|column| column.len()).sum())
    })?;
    measure.run("friends of friends", &measure.nodes(4, 200), |&node| measure.friends_of_friends(node))?;
    measure.run("all edges", &[()], |()| scan(&*measure.view))?;
    measure.run("out-edges of a node, again", &measure.nodes(2, 2_000), |&node| {
        Ok(measure.expand(&[node], Direction::Out, &[])?.len())
    })?;
    eprintln!(
        "RSS {} MiB, of it files {} MiB; peak {} MiB",
        status(&platform, "VmRSS"),
        status(&platform, "RssFile"),
        status(&platform, "VmHWM")
    );
    let cache = store.cache_statistics();
    eprintln!("{cache:?}, hit rate {:.4}", cache.hit_rate());
    for usage in store.memory().usage().iter().filter(|usage| usage.peak > 0) {
        eprintln!("  {}: {} KiB, peak {} KiB", usage.consumer.name(), usage.used >> 10, usage.peak >> 10);
    }
    Ok(())
}

fn scan(view: &dyn ReadView) -> Result<usize> {
    let partitions = view.edge_partitions().expect("the native store has partitions");
    let mut found = 0;
    for partition in 0..partitions.count() {
        let mut cursor: Box<dyn EdgeBlockCursor> = partitions.stream(partition, &EdgeStream::default())?;
        let mut block = EdgeBlock::default();
        while cursor.next(&mut block)? {
            found += block.sources.len();
        }
    }
    Ok(found)
}
