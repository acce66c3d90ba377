//! The memory limit while one transaction writes many times what memory has room for, in a process of its own whose memory
//! can be measured.

use std::process::{Command, Stdio};

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{Column, ColumnData, Direction, EdgeBatch, EdgeId, Expand, GraphStore, NodeId};
use storage::{Durability, NativeStore, OpenOptions};

use crate::directory::TestDirectory;
use crate::memory_writes::status;

const PATH: &str = "KNOTWORK_TEST_LARGE_STORE";
const LIMIT: usize = 24 << 20;
/// What a process holds besides: buffers of files, the ids that the caller keeps, and what the allocator keeps.
const BESIDES: usize = 40 << 20;
const NODES: usize = 2_000;
const EDGES: usize = 400_000;
/// Edges of one call.
const ROWS: usize = 50_000;

/// What the child does; nothing when run as a test.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let before = status("VmRSS").unwrap_or(0);
    let options = OpenOptions { memory_bytes_max: Some(LIMIT), durability: Durability::Off, ..OpenOptions::create() };
    let store = NativeStore::open(path.as_ref(), options, storage::os::platform()).unwrap();
    let nodes = create(&store);
    println!("\nedges {}", store.read().unwrap().statistics().edges);
    println!("created {}", status("VmHWM").map_or(0, |most| most.saturating_sub(before)));
    delete(&store, &nodes);
    println!("left {}", store.read().unwrap().statistics().edges);
    println!("deleted {}", status("VmHWM").map_or(0, |most| most.saturating_sub(before)));
    println!("counted {}", store.memory().peak());
}

fn create(store: &NativeStore) -> Vec<NodeId> {
    let mut transaction = store.write().unwrap();
    let (edge_type, key) = (transaction.edge_type("E").unwrap(), transaction.property_key("n").unwrap());
    let new = NewNodes { count: NODES, labels: &[], keys: &[], properties: &[] };
    let nodes = transaction.create_nodes(&new).unwrap();
    for first in (0..EDGES).step_by(ROWS) {
        let sources: Vec<NodeId> = (first..first + ROWS).map(|edge| nodes[edge * 7 % NODES]).collect();
        let targets: Vec<NodeId> = (first..first + ROWS).map(|edge| nodes[edge * 13 % NODES]).collect();
        let numbers = [Column::new(ColumnData::Int((first as i64..(first + ROWS) as i64).collect()))];
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[key], properties: &numbers };
        transaction.create_edges(&new).unwrap();
    }
    transaction.commit().unwrap();
    nodes
}

fn delete(store: &NativeStore, nodes: &[NodeId]) {
    let mut transaction = store.write().unwrap();
    let expand = Expand { direction: Direction::Out, edge_ids: EdgeIds::Include, ..Expand::default() };
    let (mut batch, mut edges): (EdgeBatch, Vec<EdgeId>) = Default::default();
    let mut cursor = transaction.view().expand(nodes, &expand).unwrap();
    while cursor.next(&mut batch).unwrap() {
        edges.extend_from_slice(&batch.edges);
    }
    drop(cursor);
    transaction.delete_edges(&edges).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn one_transaction_of_many_times_the_memory_is_within_the_limit() {
    let directory = TestDirectory::new();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory_large::child", "--nocapture", "--test-threads=1"])
        .env(PATH, directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let number = |name: &str| -> usize {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
    };
    assert_eq!((number("edges"), number("left")), (EDGES, 0), "{text}");
    assert!(number("counted") <= LIMIT + LIMIT / 4, "{text}");
    let most = (LIMIT + BESIDES) >> 10;
    assert!(number("created") <= most && number("deleted") <= most, "at most {most} KiB may be held: {text}");
}
