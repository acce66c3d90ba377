//! Processes that are killed at every operation of a commit, and others that are killed while they take over.

use std::sync::Arc;

use cluster::ClusterStore;
use model::{Column, EdgeId, GraphStore, Result, Value};
use testing::differential::Content;

use crate::graph::{add_edge, add_node, edges, named, open, prepare, set, try_open};
use crate::ring::{Client, CrashKind, Faults, Ring};

/// A transaction with a write of every kind; its body is too long for a record of the log.
fn write_all_kinds(store: &ClusterStore) -> Result<()> {
    let mut transaction = store.write()?;
    let writer = &mut *transaction;
    let nodes: Vec<_> = named(writer.view())?.into_iter().map(|(_, node)| node).collect();
    let new = add_node(writer, &[("name", Value::Int(100)), ("text", Value::from("long ".repeat(3_000)))])?;
    add_edge(writer, new, nodes[0], 50)?;
    add_edge(writer, nodes[1], nodes[3], 51)?;
    set(writer, nodes[0], "name", Value::Int(200))?;
    let ids: Vec<EdgeId> = edges(writer.view(), nodes[2])?.into_iter().map(|(_, edge)| edge).collect();
    writer.delete_edges(&ids)?;
    let ids: Vec<EdgeId> = edges(writer.view(), nodes[3])?.into_iter().map(|(_, edge)| edge).collect();
    let key = writer.property_key("value")?;
    writer.set_edge_properties(&ids[..1], key, &Column::constant(&Value::Int(60), 1))?;
    let label = writer.label("New")?;
    writer.add_labels(&nodes[1..2], &[label])?;
    let label = writer.label("N")?;
    writer.remove_labels(&nodes[2..3], &[label])?;
    transaction.commit()
}

/// A transaction of the process that goes on.
fn write_more(store: &ClusterStore) -> Result<()> {
    let mut transaction = store.write()?;
    add_node(&mut *transaction, &[("name", Value::Int(999))])?;
    transaction.commit()
}

fn content(store: &ClusterStore) -> Content {
    Content::of(&*store.read().expect("taking a snapshot"))
}

/// Contents of a graph in which the first transaction happened or not, and the second did.
struct Expected {
    without: Content,
    with: Content,
}

impl Expected {
    fn new() -> Expected {
        let ring = Ring::new(1, 3, Faults::NONE);
        let make = |graph: i64, writes: bool| {
            let store = open(&ring.client(0), graph, 1);
            prepare(&store).expect("preparing a graph");
            if writes {
                write_all_kinds(&store).expect("writing");
            }
            write_more(&store).expect("writing more");
            content(&store)
        };
        Expected { without: make(0, false), with: make(1, true) }
    }

    /// True if the first transaction happened; fails if it did in part.
    fn happened(&self, found: &Content, place: &str) -> bool {
        assert!(*found == self.with || *found == self.without, "{place}: a part of a transaction: {found:?}");
        *found == self.with
    }
}

/// A graph, and a process that is about to be killed.
fn graph_with_victim(ring: &Arc<Ring>, graph: i64) -> (Arc<Client>, ClusterStore) {
    prepare(&open(&ring.client(0), graph, 1)).expect("preparing a graph");
    let victim = ring.client(1);
    let store = open(&victim, graph, 2);
    (victim, store)
}

#[test]
fn a_process_killed_at_any_operation_of_a_commit_leaves_all_or_nothing() {
    let expected = Expected::new();
    let ring = Ring::new(7, 3, Faults::NONE);
    let (mut graph, mut with, mut without) = (0, 0, 0);
    for kind in CrashKind::ALL {
        for operation in 1.. {
            graph += 1;
            let place = format!("killed at operation {operation}, {kind:?}");
            let (victim, store) = graph_with_victim(&ring, graph);
            victim.crash_at(operation, kind);
            let outcome = write_all_kinds(&store);
            let other = open(&ring.client(2), graph, 3);
            write_more(&other).unwrap_or_else(|error| panic!("{place}: the other goes on: {error:?}"));
            let found = content(&other);
            let happened = expected.happened(&found, &place);
            assert!(happened || outcome.is_err(), "{place}: an acknowledged commit is lost");
            let third = open(&ring.client(3), graph, 4);
            assert!(content(&third) == found, "{place}: two processes see the same");
            if !victim.has_ended() {
                break;
            }
            with += usize::from(happened);
            without += usize::from(!happened);
        }
    }
    eprintln!("killed {} times: the commit happened {with} times", with + without);
    assert!(with >= 8 && without >= 20, "{with} and {without}");
}

#[test]
fn a_process_killed_at_any_operation_of_a_takeover_is_taken_over_itself() {
    let expected = Expected::new();
    let ring = Ring::new(8, 3, Faults::NONE);
    let (mut graph, mut takeovers) = (0, 0);
    // The operation that appends the record: the first after which the commit happened.
    for victim_kind in [CrashKind::After, CrashKind::Half] {
        for first in 1.. {
            graph += 1;
            let (victim, store) = graph_with_victim(&ring, graph);
            victim.crash_at(first, victim_kind);
            drop(write_all_kinds(&store));
            if !victim.has_ended() {
                break;
            }
            let look = open(&ring.client(2), graph, 3);
            write_more(&look).expect("the other goes on");
            if !expected.happened(&content(&look), "the first is killed") {
                continue;
            }
            for (kind, second) in CrashKind::ALL.into_iter().flat_map(|kind| (1..12).map(move |second| (kind, second)))
            {
                graph += 1;
                let place = format!("killed at {first} {victim_kind:?}, the next at {second} {kind:?}");
                let (victim, store) = graph_with_victim(&ring, graph);
                victim.crash_at(first, victim_kind);
                drop(write_all_kinds(&store));
                let heir = ring.client(2);
                heir.crash_at(second, kind);
                let _ = try_open(&heir, graph, 3).and_then(|store| write_more(&store));
                let third = open(&ring.client(3), graph, 4);
                let is_written = named(&*third.read().expect("a snapshot")).expect("reading");
                if !is_written.iter().any(|(name, _)| *name == Value::Int(999)) {
                    // Its commit did not happen, or does not show before somebody goes on.
                    drop(write_more(&third));
                }
                assert!(expected.happened(&content(&third), &place), "{place}: a commit is lost");
                takeovers += usize::from(heir.has_ended());
            }
        }
    }
    eprintln!("{takeovers} processes were killed while they took over");
    assert!(takeovers > 100, "{takeovers}");
}
