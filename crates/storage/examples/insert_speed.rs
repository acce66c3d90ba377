//! Measures sustained inserts through transactions and what they cost readers:
//! `insert_speed DIRECTORY [MILLION_EDGES] [FANOUT] [EDGES_PER_TRANSACTION] [SCALE]`.
//!
//! Prints throughput over time, partitions by level, write amplification, and the latency of one-hop lookups in both
//! directions during and after. The directory must not exist; it is left there for inspection with `knot info`.

use std::path::Path;
use std::sync::Arc;

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{Column, ColumnData, Direction, EdgeBatch, Expand, GraphStore, Interrupt, NodeId, ReadView, Result};
use storage::codec::hash::mix;
use storage::levels::Policy;
use storage::{Durability, NativeStore, OpenOptions};

/// Nodes made in one transaction.
const NODES: u64 = 1 << 18;
/// Lookups of one measurement.
const LOOKUPS: u64 = 20_000;

/// The ends of edge `index` of a Kronecker graph, by the usual probabilities .57, .19, .19, .05.
fn edge(index: u64, scale: u32) -> (u64, u64) {
    let (mut source, mut target) = (0, 0);
    for level in 0..scale {
        let draw = mix(index.wrapping_mul(31).wrapping_add(u64::from(level / 4))) >> (16 * (level % 4)) & 0xffff;
        let (s, t) = match draw {
            0..37_356 => (0, 0),
            37_356..49_808 => (0, 1),
            49_808..62_259 => (1, 0),
            _ => (1, 1),
        };
        source = source << 1 | s;
        target = target << 1 | t;
    }
    let mask = (1 << scale) - 1;
    let shuffle = |x: u64| {
        let x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15 | 1) & mask;
        (x ^ (x >> 7)).wrapping_mul(0xbf58_476d_1ce4_e5b9 | 1) & mask
    };
    (shuffle(source), shuffle(target))
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, default: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let directory = Path::new(arguments.get(1).map_or("/tmp/insert.knot", |path| path));
    let (edges, fanout) = (number(2, 20) * 1_000_000, number(3, Policy::default().fanout as u64) as usize);
    let (batch, scale) = (number(4, 1_000), number(5, 20) as u32);
    let platform = storage::os::platform();
    let compaction = Policy { fanout, ..Policy::default() };
    let options = OpenOptions { durability: Durability::Off, compaction, ..OpenOptions::create() };
    let store = NativeStore::open(directory, options, platform.clone())?;
    for _ in 0..(1u64 << scale).div_ceil(NODES) {
        let mut transaction = store.write()?;
        let count = NODES.min(1 << scale) as usize;
        transaction.create_nodes(&NewNodes { count, labels: &[], keys: &[], properties: &[] })?;
        transaction.commit()?;
    }
    let start = platform.clock.now_ns();
    let (mut last, mut at, step) = (start, 0, edges / 20);
    while at < edges {
        let end = (at + batch).min(edges);
        let (sources, targets): (Vec<NodeId>, Vec<NodeId>) =
            (at..end).map(|index| edge(index, scale)).map(|(s, t)| (NodeId(s), NodeId(t))).unzip();
        let times = Column::new(ColumnData::Int((at..end).map(|index| index as i64).collect()));
        let mut transaction = store.write()?;
        let (edge_type, key) = (transaction.edge_type("KNOWS")?, transaction.property_key("time")?);
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key], properties: &[times] };
        transaction.create_edges(&new)?;
        transaction.commit()?;
        if end / step != at / step {
            let now = platform.clock.now_ns();
            let rate = step as f64 / ((now - last) as f64 / 1e9);
            let stats = store.stats();
            eprintln!(
                "{:4} M edges  {:7.0} edges/s  levels {:?}  amplification {:.2}  stalls {} + {} ({:.1} s)  {}",
                end / 1_000_000,
                rate,
                by_level(&store),
                stats.write_amplification(),
                stats.stalls,
                stats.merge_stalls,
                (stats.stall_ns + stats.merge_stall_ns) as f64 / 1e9,
                lookups(&store, 1 << scale)?,
            );
            last = platform.clock.now_ns();
        }
        at = end;
    }
    let seconds = |since: u64| (platform.clock.now_ns() - since) as f64 / 1e9;
    eprintln!("all: {:.0} edges/s", edges as f64 / seconds(start));
    store.checkpoint(&Interrupt::new())?;
    eprintln!("after a checkpoint: levels {:?}  {}", by_level(&store), lookups(&store, 1 << scale)?);
    by_degree(&store, 1 << scale)?;
    let since = platform.clock.now_ns();
    store.compact(&Interrupt::new())?;
    eprintln!("all in one in {:.1} s: {:?}  {}", seconds(since), by_level(&store), lookups(&store, 1 << scale)?);
    by_degree(&store, 1 << scale)?;
    let bytes: u64 = store.levels().iter().map(|partition| partition.bytes).sum();
    eprintln!("{:.2} bytes an edge", bytes as f64 / edges as f64);
    Ok(())
}

/// Partitions of each level.
fn by_level(store: &NativeStore) -> Vec<usize> {
    let mut counts = Vec::new();
    for partition in store.levels() {
        let level = usize::from(partition.level);
        counts.resize(counts.len().max(level + 1), 0);
        counts[level] += 1;
    }
    counts
}

fn hop(view: &Arc<dyn ReadView>, node: NodeId, expand: &Expand, batch: &mut EdgeBatch) -> Result<u64> {
    let from = [node];
    let mut cursor = view.expand(&from, expand)?;
    let mut count = 0;
    while cursor.next(batch)? {
        count += batch.neighbors.len() as u64;
    }
    Ok(count)
}

fn expand(direction: Direction) -> Expand {
    Expand { direction, types: None, edge_ids: EdgeIds::Omit, keys: Vec::new(), ranges: Vec::new(), top: None }
}

/// Microseconds of lookups at random nodes, the files alone and with the memtable.
fn lookups(store: &NativeStore, nodes: u64) -> Result<String> {
    let (view, platform) = (store.read()?, store.platform());
    let mut text = String::new();
    for (name, direction) in [("out", Direction::Out), ("in", Direction::In)] {
        let expand = expand(direction);
        let mut batch = EdgeBatch::default();
        let mut times = Vec::new();
        for index in 0..LOOKUPS {
            let node = NodeId(mix(index) % nodes);
            let start = platform.clock.now_ns();
            hop(&view, node, &expand, &mut batch)?;
            times.push(platform.clock.now_ns() - start);
        }
        times.sort_unstable();
        let at = |share: f64| times[(times.len() as f64 * share) as usize] as f64 / 1e3;
        text.push_str(&format!(" {name} p50 {:.2} p99 {:.2} us", at(0.5), at(0.99)));
    }
    Ok(text)
}

/// Microseconds of lookups by degree.
fn by_degree(store: &NativeStore, nodes: u64) -> Result<()> {
    let (view, platform) = (store.read()?, store.platform());
    for direction in [Direction::Out, Direction::In] {
        let expand = expand(direction);
        let mut batch = EdgeBatch::default();
        let mut classes: Vec<Vec<u64>> = vec![Vec::new(); 24];
        for index in 0..200_000 {
            let node = NodeId(mix(index ^ 99) % nodes);
            let start = platform.clock.now_ns();
            let degree = hop(&view, node, &expand, &mut batch)?;
            classes[(64 - degree.leading_zeros()) as usize].push(platform.clock.now_ns() - start);
        }
        let mut text = format!("{direction:?} by degree, p50 us:");
        for (class, times) in classes.iter_mut().enumerate().filter(|(_, times)| times.len() > 10) {
            times.sort_unstable();
            text.push_str(&format!("  <{}: {:.2}", 1u64 << class, times[times.len() / 2] as f64 / 1e3));
        }
        eprintln!("{text}");
    }
    Ok(())
}
