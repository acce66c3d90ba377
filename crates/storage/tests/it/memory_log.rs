//! The memory limit while a store is opened whose log was written with a larger one: in processes of their own whose memory can
//! be measured. One transaction of many small writes takes a multiple of its bytes in the log.

use model::store::{NewEdges, NewNodes};
use model::{Column, ColumnData, GraphStore, Interrupt, NodeId};
use storage::{Durability, NativeStore, OpenMode, OpenOptions};

use crate::apart::{held_most, number_in, output_of};
use crate::directory::TestDirectory;

const PATH: &str = "KNOTWORK_TEST_LOG_STORE";
const MODE: &str = "KNOTWORK_TEST_LOG_MODE";
const LIMIT: usize = 64 << 20;
/// Bytes that a process holds besides: buffers of files, and what the allocator keeps.
const BESIDES: usize = 40 << 20;
const LENGTH: usize = 500_000;

/// The work of the child; nothing when run as a test.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let (mode, platform) = (std::env::var(MODE).unwrap(), storage::os::platform());
    let options = OpenOptions { memory_bytes_max: Some(LIMIT), durability: Durability::Off, ..OpenOptions::create() };
    let mode = match &*mode {
        "check" => {
            let problems = storage::check::check(&platform, path.as_ref(), &Interrupt::new()).unwrap();
            assert!(problems.is_empty(), "{problems:?}");
            println!("\nheld {}", held_most());
            return;
        }
        "read" => OpenMode::ReadOnly,
        _ => OpenMode::Existing,
    };
    let store = NativeStore::open(path.as_ref(), OpenOptions { mode, ..options }, platform).unwrap();
    let view = store.read().unwrap();
    println!("\nnodes {}", view.statistics().nodes);
    println!("edges {}", view.statistics().edges);
    println!("held {}", held_most());
}

/// Writes a log of one transaction that makes a chain, and gives a property to each edge of it if `sets` is true.
fn write_chain(directory: &TestDirectory, sets: bool) {
    let options = OpenOptions {
        durability: Durability::Off,
        memtable_bytes_max: usize::MAX,
        memory_bytes_max: Some(4 << 30),
        ..OpenOptions::create()
    };
    let store = directory.open_with(options);
    let mut transaction = store.write().unwrap();
    let (edge_type, key) = (transaction.edge_type("NEXT").unwrap(), transaction.property_key("n").unwrap());
    let nodes = NewNodes { count: LENGTH + 1, labels: &[], keys: &[], properties: &[] };
    let nodes: Vec<NodeId> = transaction.create_nodes(&nodes).unwrap();
    let new = NewEdges { edge_type, sources: &nodes[..LENGTH], targets: &nodes[1..], keys: &[], properties: &[] };
    let edges = transaction.create_edges(&new).unwrap();
    if sets {
        let values = Column::new(ColumnData::Int((0..LENGTH as i64).collect()));
        transaction.set_edge_properties(&edges, key, &values).unwrap();
    }
    transaction.commit().unwrap();
}

#[test]
fn a_log_that_was_written_with_a_larger_limit_is_opened_within_a_small_one() {
    for sets in [false, true] {
        for mode in ["write", "read", "check"] {
            let directory = TestDirectory::new();
            write_chain(&directory, sets);
            let variables = [(PATH, directory.path().as_os_str()), (MODE, mode.as_ref())];
            let text = output_of("memory_log::child", &variables);
            if mode != "check" {
                assert_eq!(number_in(&text, "nodes", 1), LENGTH + 1, "{text}");
                assert_eq!(number_in(&text, "edges", 1), LENGTH, "{text}");
            }
            let held = number_in(&text, "held", 1);
            assert!(held <= (LIMIT + BESIDES) >> 10, "{held} KiB to {mode}, {sets}: {text}");
        }
    }
}
