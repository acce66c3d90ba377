//! The memory limit while much is written: flushes, merges, an index build and readers at once, in a process of their own whose
//! memory can be measured.

use model::store::{NewEdges, NewNodes};
use model::{Column, ColumnData, Constraint, Consumer, GraphStore, Interrupt, IsolationLevel, NodeId};
use storage::levels::Policy;
use storage::{Durability, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::apart::{held_most, number_in, output_of};
use crate::directory::TestDirectory;

const PATH: &str = "KNOTWORK_TEST_MEMORY_STORE";
const BYTES: &str = "KNOTWORK_TEST_MEMORY_BYTES";
const LIMIT: usize = 48 << 20;
/// Bytes that a process holds besides: buffers of files, the state of its transactions, and what the allocator keeps.
const BESIDES: usize = 40 << 20;
const NODES: usize = 4_000;
const ROUNDS: usize = 60;

/// The work of the child; nothing when run as a test.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let limit: usize = std::env::var(BYTES).unwrap().parse().unwrap();
    let compaction = Policy { level0_edges: 20_000, ..Policy::default() };
    let options =
        OpenOptions { memory_bytes_max: Some(limit), durability: Durability::Off, compaction, ..OpenOptions::create() };
    let store = NativeStore::open(path.as_ref(), options, storage::os::platform()).unwrap();
    let mut most = 0;
    for round in 0..ROUNDS as u64 {
        write(&store, round);
        read(&store, round);
        most = most.max(store.memory().used());
    }
    let mut transaction = store.write().unwrap();
    let (label, key) = (transaction.label("P").unwrap(), transaction.property_key("number").unwrap());
    transaction.create_constraint(Constraint::unique("numbers", label, key), &Interrupt::new()).unwrap();
    transaction.commit().unwrap();
    store.compact(&Interrupt::new()).unwrap();
    let (stats, usage) = (store.stats(), store.memory().usage());
    println!("\nnodes {}", store.read().unwrap().statistics().nodes);
    println!("flushes {}", stats.flushes);
    println!("compactions {}", stats.compactions);
    println!("most {most}");
    for usage in usage {
        println!("{} {} {}", usage.consumer.name().replace(' ', "-"), usage.used, usage.peak);
    }
    println!("held {}", held_most());
}

fn write(store: &NativeStore, round: u64) {
    let mut transaction = store.write_isolated(IsolationLevel::Serializable).unwrap();
    let label = transaction.label("P").unwrap();
    let keys = ["number", "text"].map(|name| transaction.property_key(name).unwrap());
    let edge_type = transaction.edge_type("E").unwrap();
    let numbers: Vec<i64> = (0..NODES as i64).map(|node| node + (round as usize * NODES) as i64).collect();
    let texts: Vec<String> = numbers.iter().map(|number| format!("{number} {}", "y".repeat(40))).collect();
    let columns = [
        Column::new(ColumnData::Int(numbers)),
        Column::new(ColumnData::String(texts.iter().map(String::as_str).collect())),
    ];
    let new = NewNodes { count: NODES, labels: &[label], keys: &keys, properties: &columns };
    let nodes = transaction.create_nodes(&new).unwrap();
    let bound = nodes[NODES - 1].0 + 1;
    let mut random = SeededRandom::new(round);
    let sources: Vec<NodeId> = nodes.iter().flat_map(|&node| [node; 4]).collect();
    let targets: Vec<NodeId> = (0..sources.len()).map(|_| NodeId(random.below(bound))).collect();
    let weights = [Column::new(ColumnData::Int((0..sources.len() as i64).collect()))];
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys[..1], properties: &weights };
    transaction.create_edges(&new).unwrap();
    // Older nodes are read and changed too.
    let some: Vec<NodeId> = (0..500).map(|_| NodeId(random.below(bound))).collect();
    let found = transaction.view().node_properties(&some, &keys).unwrap();
    transaction.set_node_properties(&some, keys[1], &found[1]).unwrap();
    transaction.commit().unwrap();
}

fn read(store: &NativeStore, round: u64) {
    let view = store.read().unwrap();
    let mut random = SeededRandom::new(seed_or(9) + round);
    let nodes: Vec<NodeId> = (0..1_000).map(|_| NodeId(random.below(view.node_id_bound()))).collect();
    let key = view.schema().property_key("number").unwrap();
    let ColumnData::Int(numbers) = &view.node_properties(&nodes, &[key]).unwrap()[0].data else {
        panic!("unexpected kind of column")
    };
    nodes.iter().zip(numbers).for_each(|(node, &number)| assert_eq!(node.0 as i64, number));
}

/// Output of a child with that limit.
fn run(limit: usize) -> String {
    let directory = TestDirectory::new();
    output_of("memory_writes::child", &[(PATH, directory.path().as_os_str()), (BYTES, limit.to_string().as_ref())])
}

/// Bytes that a process with a small limit holds besides, as docs/memory-and-limits.md says, with those of the test itself.
const BESIDES_SMALL: usize = 24 << 20;

#[test]
fn a_small_limit_holds_but_for_what_is_said() {
    const SMALL: usize = 8 << 20;
    let text = run(SMALL);
    let number = |name: &str, at: usize| number_in(&text, name, at);
    assert_eq!(number("nodes", 1), NODES * ROUNDS, "{text}");
    assert!(number("compactions", 1) > 2, "{text}");
    assert!(number("most", 1) <= SMALL + SMALL / 8, "{text}");
    assert!(number("held", 1) <= (SMALL + BESIDES_SMALL) >> 10, "{text}");
}

#[test]
fn the_limit_holds_for_writes_merges_and_index_builds() {
    let text = run(LIMIT);
    let number = |name: &str, at: usize| number_in(&text, name, at);
    assert_eq!(number("nodes", 1), NODES * ROUNDS, "{text}");
    assert!(number("flushes", 1) > 4 && number("compactions", 1) > 2, "{text}");
    assert!(number("most", 1) <= LIMIT + LIMIT / 8, "{text}");
    let compaction = Consumer::Compaction.name();
    assert!(number(compaction, 1) == 0 && number(compaction, 2) > 0, "nothing is counted that is not held: {text}");
    assert!(number(compaction, 2) <= LIMIT / 4 * 3, "{text}");
    assert_eq!((number("sort", 1), number("query", 1)), (0, 0), "{text}");
    let held = number("held", 1);
    if held == 0 {
        eprintln!("this system does not tell what a process holds: only the counts were checked");
    }
    assert!(held <= (LIMIT + BESIDES) >> 10, "{held} KiB were held, the limit is {} KiB: {text}", LIMIT >> 10);
}
