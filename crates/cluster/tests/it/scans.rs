//! Scans of all edges by ranges of tokens give what following the edges of all nodes gives, on a ring with faults, at old
//! moments and within transactions; boundaries that are off by one and pages that are repeated are found.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ClusterStore;
use model::batch::EdgeBlock;
use model::store::{EdgeIds, EdgeStream, NewEdges, NewNodes};
use model::{
    Column, Consumer, EdgeBatch, EdgeId, ErrorCode, Expand, GraphStore, Interrupt, MemoryBudget, NodeBatch, NodeId,
    NodeScan, ReadView, Result, Value, WriteTransaction,
};
use testing::random::{SeededRandom, seed_or};

use crate::graph::try_open_with;
use crate::ring::{Canary, Client, Faults, Ring};

const NODES: u64 = 60;
const TYPES: [&str; 3] = ["A", "B", "C"];

/// Edges as texts, by their numbers. A number that comes twice stands there twice.
type Edges = Vec<(u64, String)>;

fn store(client: &Arc<Client>, graph: i64, scan_rows: u32, seed: u64) -> ClusterStore {
    let change = |settings: &mut cluster::Settings| (settings.scan_rows, settings.attempts) = (scan_rows, 60);
    try_open_with(client, graph, seed, &change).expect("opening a graph")
}

/// Makes nodes, or on a graph that has them makes, changes and deletes edges.
fn write(store: &ClusterStore, random: &mut SeededRandom) -> Result<()> {
    let mut transaction = store.write()?;
    if transaction.view().statistics().nodes == 0 {
        let label = [transaction.label("N")?];
        transaction.create_nodes(&NewNodes { count: NODES as usize, labels: &label, keys: &[], properties: &[] })?;
        return transaction.commit();
    }
    change(&mut *transaction, random)?;
    transaction.commit()
}

fn change(transaction: &mut dyn WriteTransaction, random: &mut SeededRandom) -> Result<()> {
    let edges: Vec<EdgeId> = by_expanding(transaction.view()).into_iter().map(|(number, _)| EdgeId(number)).collect();
    let keys = [transaction.property_key("value")?];
    let some: Vec<EdgeId> = edges.into_iter().filter(|_| random.chance(10)).collect();
    let (gone, changed) = some.split_at(some.len() / 2);
    transaction.delete_edges(gone)?;
    let values = Column::from_values(&changed.iter().map(|edge| Value::Int(edge.0 as i64 * 10)).collect::<Vec<_>>());
    transaction.set_edge_properties(changed, keys[0], &values)?;
    for name in TYPES {
        let edge_type = transaction.edge_type(name)?;
        let count = random.index(20);
        let ends = |random: &mut SeededRandom| (0..count).map(|_| NodeId(random.below(NODES))).collect::<Vec<_>>();
        let (sources, targets) = (ends(random), ends(random));
        let values = Column::from_values(&(0..count as i64).map(Value::Int).collect::<Vec<_>>());
        let properties = [values];
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &properties };
        transaction.create_edges(&new)?;
    }
    Ok(())
}

fn text(view: &dyn ReadView, edge_type: model::EdgeTypeId, source: NodeId, target: NodeId, value: &Value) -> String {
    format!("{}: {} to {} {value}", view.schema().edge_type_name(edge_type), source.0, target.0)
}

fn by_expanding(view: &dyn ReadView) -> Edges {
    let keys: Vec<_> = view.schema().property_key("value").into_iter().collect();
    let expand = Expand { keys, edge_ids: EdgeIds::Include, ..Expand::default() };
    let from: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
    let (mut cursor, mut batch) = (view.expand(&from, &expand).expect("expanding"), EdgeBatch::default());
    let mut found = Vec::new();
    while cursor.next(&mut batch).expect("expanding on") {
        for row in 0..batch.len() {
            let value = batch.properties.first().map_or(Value::Null, |column| column.value(row));
            let ends = (from[batch.inputs[row] as usize], batch.neighbors[row]);
            found.push((batch.edges[row].0, text(view, batch.types[row], ends.0, ends.1, &value)));
        }
    }
    found.sort_unstable();
    found
}

fn by_scanning(view: &dyn ReadView, parts: usize) -> Result<Edges> {
    let keys: Vec<_> = view.schema().property_key("value").into_iter().collect();
    let stream = EdgeStream { keys, edge_ids: EdgeIds::Include, ..EdgeStream::default() };
    let mut found = Vec::new();
    for part in 0..parts {
        let mut cursor = view.all_edges_part(&stream, part, parts)?.expect("a ring gives its edges in parts");
        let mut block = EdgeBlock::default();
        while cursor.next(&mut block)? {
            assert!(!block.sources.is_empty(), "a block has edges");
            for row in 0..block.sources.len() {
                let value = block.properties.first().map_or(Value::Null, |column| column.value(row));
                let edge = text(view, block.edge_type, block.sources[row], block.targets[row], &value);
                found.push((block.edges[row].0, edge));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Counts of a run.
#[derive(Debug, Default)]
struct Run {
    scans: usize,
    edges: usize,
    differing: usize,
}

/// Writes a graph beside another one, and compares scans with expansions: now, at older moments, within transactions.
fn run(seed: u64, faults: Faults, canary: Option<Canary>) -> (Run, crate::ring::Counts) {
    let mut random = SeededRandom::new(seed);
    let ring = Ring::new(seed, 5, faults);
    let (client, other) = (ring.client(0), ring.client(1));
    let rows = 5 + random.below(20) as u32;
    let (graph, beside) = (store(&client, 1, rows, seed), store(&other, 2, rows, seed));
    let (mut views, mut counts) = (Vec::new(), Run::default());
    for round in 0..8 {
        for graph in [&graph, &beside] {
            while write(graph, &mut random).is_err() {}
        }
        let view = graph.read().expect("a snapshot");
        views.push((by_expanding(&*view), view));
        ring.trouble(faults, canary);
        for (expected, view) in &views {
            for parts in [1, 2, 8, 3] {
                let found = by_scanning(&**view, parts).expect("scanning");
                (counts.scans, counts.edges) = (counts.scans + 1, counts.edges + found.len());
                counts.differing += usize::from(found != *expected);
            }
        }
        ring.trouble(faults, None);
        if round > 1 {
            let mut transaction = graph.write().expect("beginning a transaction");
            change(&mut *transaction, &mut random).expect("writing");
            let expected = by_expanding(transaction.view());
            counts.differing += usize::from(by_scanning(transaction.view(), 4).expect("scanning") != expected);
        }
    }
    (counts, ring.counts())
}

#[test]
fn scans_find_each_edge_once_on_a_ring_with_faults() {
    let lossy = Faults { lost_read: 15, ..Faults::MANY };
    let mut lost = 0;
    for (at, faults) in [Faults::NONE, Faults::MANY, lossy].into_iter().enumerate() {
        let seed = seed_or(61) + at as u64;
        eprintln!("FUZZ_SEED={seed}");
        let (counts, of_ring) = run(seed, faults, None);
        eprintln!("{counts:?}, {of_ring:?}");
        assert_eq!(counts.differing, 0, "scans differ from expansions");
        assert!(counts.scans > 100 && counts.edges > 5_000 && of_ring.pages > 1_000, "{counts:?}");
        lost += of_ring.lost_pages;
    }
    assert!(lost > 50, "{lost} pages were asked for again");
}

#[test]
fn every_canary_of_scans_is_found() {
    for canary in Canary::OF_SCANS {
        let is_found = (0..6).any(|seed| {
            let faults = Faults { lost_read: 10, ..Faults::NONE };
            run(seed_or(71) + seed, faults, Some(canary)).0.differing > 0
        });
        assert!(is_found, "{canary:?} was not found");
    }
}

/// A ring with a graph of so many edges, in one commit.
fn large(edges: usize, scan_rows: u32) -> (Arc<Ring>, Arc<Client>, ClusterStore) {
    let ring = Ring::new(5, 3, Faults::NONE);
    let client = ring.client(0);
    let graph = store(&client, 1, scan_rows, 5);
    let mut transaction = graph.write().expect("beginning a transaction");
    let new = NewNodes { count: 2_000, labels: &[], keys: &[], properties: &[] };
    let nodes = transaction.create_nodes(&new).expect("adding nodes");
    let edge_type = transaction.edge_type("A").expect("a type");
    let sources: Vec<NodeId> = (0..edges).map(|at| nodes[at * 7 % nodes.len()]).collect();
    let targets: Vec<NodeId> = (0..edges).map(|at| nodes[at * 13 % nodes.len()]).collect();
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new).expect("adding edges");
    transaction.commit().expect("committing");
    (ring, client, graph)
}

/// 20,000 edges in four parts of four stretches: a round trip has four pages.
#[test]
fn a_scan_takes_few_round_trips() {
    const EDGES: usize = 20_000;
    let (ring, client, graph) = large(EDGES, 250);
    let view = graph.read().expect("a snapshot");
    let measured = |what: &str, call: &dyn Fn() -> usize| {
        let (trips, pages, rows) = (client.operations(), ring.counts().pages, model::meter::read().rows_fetched);
        assert_eq!(call(), EDGES, "{what}");
        let trips = client.operations() - trips;
        let pages = ring.counts().pages - pages;
        eprintln!("{what}: {trips} round trips, {pages} pages, {} rows", model::meter::read().rows_fetched - rows);
        (trips, pages)
    };
    let (trips, pages) = measured("four parts", &|| by_scanning(&*view, 4).expect("scanning").len());
    // 80 pages are full; each of 16 stretches has a last one that is not.
    assert!((20..=40).contains(&trips) && (80..=80 + 16).contains(&pages), "{trips} round trips, {pages} pages");
    let (trips, _) = measured("one part", &|| by_scanning(&*view, 1).expect("scanning").len());
    assert!((20..=40).contains(&trips), "{trips} round trips");
}

/// Ids of all nodes, by a scan that may come in no order, or by ranges.
fn nodes(view: &dyn ReadView, range: Option<std::ops::Range<u64>>) -> Vec<NodeId> {
    let scan = NodeScan { range, ..NodeScan::default() };
    let (mut cursor, mut batch, mut found) = (view.scan(&scan).expect("scanning"), NodeBatch::default(), Vec::new());
    while cursor.next(&mut batch).expect("scanning on") {
        assert!(!batch.nodes.is_empty(), "a batch has nodes");
        found.extend_from_slice(&batch.nodes);
    }
    found.sort_unstable();
    found
}

#[test]
fn all_nodes_are_found_once_in_few_pages() {
    const NODES: usize = 6_000;
    let ring = Ring::new(9, 3, Faults { lost_read: 5, ..Faults::NONE });
    let client = ring.client(0);
    let graph = store(&client, 1, 500, 9);
    let mut transaction = graph.write().expect("beginning a transaction");
    let new = NewNodes { count: NODES, labels: &[], keys: &[], properties: &[] };
    let made = transaction.create_nodes(&new).expect("adding nodes");
    transaction.commit().expect("committing");
    let before = graph.read().expect("a snapshot");
    let mut transaction = graph.write().expect("beginning a transaction");
    transaction.delete_nodes(&made[100..200]).expect("deleting");
    let label = transaction.label("New").expect("a label");
    transaction.add_labels(&made[1_000..2_000], &[label]).expect("changing");
    transaction.commit().expect("committing");
    let view = graph.read().expect("a snapshot");
    let (pages, reads) = (ring.counts().pages, ring.counts().reads);
    assert_eq!(nodes(&*view, None).len(), NODES - 100);
    let (pages, reads) = (ring.counts().pages - pages, ring.counts().reads - reads);
    assert!((15..40).contains(&pages) && reads == 0, "{pages} pages, {reads} other reads");
    let mut transaction = graph.write().expect("beginning a transaction");
    transaction.delete_nodes(&made[300..400]).expect("deleting");
    transaction.create_nodes(&NewNodes { count: 10, ..new }).expect("adding nodes");
    for view in [&*before, &*view, transaction.view()] {
        let expected = nodes(view, Some(0..view.node_id_bound()));
        assert_eq!(expected.len() as u64, view.statistics().nodes);
        assert_eq!(nodes(view, None), expected);
    }
}

#[test]
fn a_scan_is_cancelled_and_says_what_went_wrong() {
    let (ring, client, graph) = large(4_000, 100);
    let view = graph.read().expect("a snapshot");
    let stream = EdgeStream::default();
    let interrupt = Interrupt::new();
    let listening = interrupt.listen();
    let mut cursor = view.all_edges(&stream).expect("scanning").expect("it can be scanned");
    let mut block = EdgeBlock::default();
    assert!(cursor.next(&mut block).expect("the first page"));
    interrupt.cancel();
    let outcome = loop {
        match cursor.next(&mut block) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(failure) => break Some(failure.code()),
        }
    };
    assert_eq!(outcome, Some(ErrorCode::Cancelled));
    drop(listening);
    ring.take_away(2);
    let before = client.operations();
    let failure = by_scanning(&*view, 2).expect_err("a majority is away");
    assert_eq!(failure.code(), ErrorCode::Connection, "{failure}");
    assert_eq!(client.operations() - before, 60, "the page is asked for as often as any other question");
    ring.calm();
    assert_eq!(by_scanning(&*view, 2).expect("scanning").len(), 4_000, "the same view goes on");
}

#[test]
fn pages_are_counted_to_the_budget_of_memory_and_stay_small() {
    let ring = Ring::new(8, 3, Faults::NONE);
    let client = ring.client(0);
    let memory = MemoryBudget::new(64 << 20);
    let graph = try_open_with(&client, 1, 8, &|settings| settings.memory = memory.clone()).expect("opening a graph");
    let mut transaction = graph.write().expect("beginning a transaction");
    let new = NewNodes { count: 2, labels: &[], keys: &[], properties: &[] };
    let nodes = transaction.create_nodes(&new).expect("adding nodes");
    let (edge_type, keys) =
        (transaction.edge_type("A").expect("a type"), [transaction.property_key("value").expect("a key")]);
    const EDGES: usize = 1_000;
    let (sources, targets) = (vec![nodes[0]; EDGES], vec![nodes[1]; EDGES]);
    let properties = [Column::constant(&Value::from("x".repeat(20_000)), EDGES)];
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &properties };
    transaction.create_edges(&new).expect("adding edges");
    transaction.commit().expect("committing");
    let view = graph.read().expect("a snapshot");
    let held = memory.used_by(Consumer::Query);
    let stream = EdgeStream { keys: keys.to_vec(), ..EdgeStream::default() };
    let mut cursor = view.all_edges(&stream).expect("scanning").expect("it can be scanned");
    assert!(memory.used_by(Consumer::Query) > held, "pages are counted");
    let (mut block, mut sizes) = (EdgeBlock::default(), BTreeMap::new());
    while cursor.next(&mut block).expect("scanning on") {
        *sizes.entry(block.sources.len()).or_insert(0) += 1;
    }
    drop(cursor);
    assert_eq!(memory.used_by(Consumer::Query), held, "and given back");
    let small = sizes.iter().filter(|(rows, _)| **rows <= 60).map(|(_, pages)| pages).sum::<usize>();
    assert!(small > 10, "pages of large rows have few: {sizes:?}");
}
