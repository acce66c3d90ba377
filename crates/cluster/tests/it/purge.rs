//! Purges: what is dead goes, what a view sees stays, views that are too old say so; killed purges are continued; late writes
//! bring nothing back; and the canaries.

mod interposed;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cluster::settings::PurgeFault;
use cluster::tables::Table;
use cluster::{ClusterStore, Settings};
use model::{Constraint, EdgeId, ErrorCode, GraphStore, Interrupt, NodeId, ReadView, Result, Value, WriteTransaction};
use testing::differential::{Content, assert_same_content, check_random};
use testing::random::seed_or;
use testing::store_contract::check_store_disturbed;

use self::interposed::Interposed;
use crate::graph::{CACHES, add_edge, add_node, edges, named, prepare, set, try_open_with, value};
use crate::ring::{Canary, Client, CrashKind, Faults, Ring};

const GRAPH: i64 = 1;
/// A lease of 400 operations of the simulated ring.
const LEASE_NS: u64 = 400_000_000;
/// Tables whose rows die.
const TABLES: [Table; 6] = [Table::Node, Table::Edge, Table::EdgeOut, Table::EdgeIn, Table::ByLabel, Table::ByValue];

fn with_lease(settings: &mut Settings) {
    settings.lease_ns = LEASE_NS;
    settings.purge_rows = 40;
}

fn open_with(client: &Arc<Client>, seed: u64, change: &dyn Fn(&mut Settings)) -> ClusterStore {
    let change = |settings: &mut Settings| {
        with_lease(settings);
        change(settings);
    };
    try_open_with(client, GRAPH, seed, &change).expect("opening a graph")
}

fn open(client: &Arc<Client>, seed: u64) -> ClusterStore {
    open_with(client, seed, &|_| {})
}

fn commit(store: &ClusterStore, write: &dyn Fn(&mut dyn WriteTransaction) -> Result<()>) -> Result<()> {
    let mut transaction = store.write()?;
    write(&mut *transaction)?;
    transaction.commit()
}

fn set_x(store: &ClusterStore, node: NodeId, x: i64) {
    commit(store, &|writer| set(writer, node, "x", Value::Int(x))).expect("committing");
}

fn x(view: &dyn ReadView, node: NodeId) -> Result<Value> {
    value(view, node, "x")
}

fn content(store: &ClusterStore) -> Content {
    Content::of(&*store.read().expect("taking a snapshot"))
}

/// The content; `None` if parts of it contradict each other.
fn sound_content(store: &ClusterStore) -> Option<Content> {
    catch_unwind(AssertUnwindSafe(|| content(store))).ok()
}

fn rows(ring: &Ring) -> Vec<usize> {
    TABLES.iter().map(|table| ring.rows(GRAPH, *table)).collect()
}

/// Writes that end rows of every table, some of them twice.
fn end_rows(store: &ClusterStore, nodes: &[NodeId]) {
    for round in 0..3 {
        commit(store, &|writer| {
            set(writer, nodes[0], "name", Value::Int(100 + round))?;
            let label = [writer.label("Now")?];
            writer.add_labels(&nodes[1..2], &label)?;
            add_edge(writer, nodes[0], nodes[2], 70 + round)?;
            Ok(())
        })
        .expect("committing");
        commit(store, &|writer| {
            let label = [writer.label("Now")?];
            writer.remove_labels(&nodes[1..2], &label)?;
            let ids: Vec<EdgeId> = edges(writer.view(), nodes[0])?.iter().skip(1).map(|(_, edge)| *edge).collect();
            writer.delete_edges(&ids)?;
            set(writer, nodes[0], "name", Value::Int(0))
        })
        .expect("committing");
    }
    let gone = std::cell::Cell::new(NodeId(0));
    commit(store, &|writer| {
        gone.set(add_node(writer, &[("name", Value::Int(9))])?);
        Ok(())
    })
    .expect("committing");
    commit(store, &|writer| writer.delete_nodes(&[gone.get()])).expect("committing");
}

#[test]
fn a_node_that_changes_all_the_time_is_read_in_few_rows() {
    const CHANGES: i64 = 10_000;
    const BETWEEN_PURGES: i64 = 250;
    let ring = Ring::new(61, 3, Faults::NONE);
    let store = open_with(&ring.client(0), 1, &|settings| {
        (settings.epoch_records, settings.checkpoint_records) = (4_096, 1_024);
        (settings.purge_rows, settings.cache_bytes_max) = (100, 0);
    });
    let nodes = prepare(&store).expect("preparing a graph");
    let read = |expected: i64| {
        let view = store.read().expect("a snapshot");
        let before = model::meter::read().rows_fetched;
        assert_eq!(x(&*view, nodes[0]).expect("reading"), Value::Int(expected));
        model::meter::read().rows_fetched - before
    };
    let mut purged = 0;
    for number in 1..=CHANGES {
        set_x(&store, nodes[0], number);
        if number % BETWEEN_PURGES == 0 {
            assert_eq!(read(number), BETWEEN_PURGES as u64 + 1, "all versions are read before a purge");
            assert_eq!(store.dead_rows(), BETWEEN_PURGES as u64);
            let found = store.purge().expect("purging");
            assert_eq!((found.swept, store.dead_rows()), (0, 0));
            purged += found.rows;
            assert_eq!(read(number), 1, "one version is read after a purge");
        }
    }
    assert_eq!((purged, ring.rows(GRAPH, Table::Node)), (CHANGES as u64, 4));
}

#[test]
fn what_is_counted_as_dead_goes_and_nothing_else() {
    let ring = Ring::new(62, 3, Faults::NONE);
    let store = open(&ring.client(0), 1);
    let nodes = prepare(&store).expect("preparing a graph");
    let fresh = rows(&ring);
    end_rows(&store, &nodes);
    let (before, all) = (content(&store), rows(&ring));
    let surplus: usize = all.iter().zip(&fresh).map(|(all, fresh)| all - fresh).sum();
    assert_eq!(store.dead_rows(), surplus as u64, "{all:?} rows, {fresh:?} of them are seen");
    assert!(all.iter().zip(&fresh).all(|(all, fresh)| all > fresh), "rows of every table died: {all:?}");
    assert_eq!(store.purge().expect("purging").rows, surplus as u64);
    assert_eq!((rows(&ring), store.dead_rows()), (fresh, 0));
    assert_same_content(&content(&store), &before);
    assert_same_content(&content(&open(&ring.client(1), 2)), &before);
    assert_eq!(store.purge().expect("purging").rows, 0, "what is gone is not purged again");
}

#[test]
fn rows_are_found_without_the_log_by_a_sweep() {
    let ring = Ring::new(63, 3, Faults::NONE);
    let store = open(&ring.client(0), 1);
    let nodes = prepare(&store).expect("preparing a graph");
    let fresh = rows(&ring);
    end_rows(&store, &nodes);
    (0..30).for_each(|number| set_x(&store, nodes[1], number));
    let before = content(&store);
    assert!(store.trim().expect("dropping epochs") > 2);
    set_x(&store, nodes[1], 29);
    let purged = store.purge().expect("purging");
    assert!(purged.swept > 40, "{purged:?}");
    assert_eq!((rows(&ring), store.dead_rows()), (fresh, 0));
    assert_same_content(&content(&store), &before);
    set_x(&store, nodes[1], 30);
    assert_eq!(store.purge().expect("purging"), cluster::Purged { rows: 1, ..Default::default() }, "by the log again");
}

/// A view, changes of what it sees, and a purge by another process: what the view sees, and a later view.
fn see_purged(fault: Option<PurgeFault>, cache: usize) -> (Result<Value>, Value) {
    let ring = Ring::new(64, 3, Faults::NONE);
    let faulty = |settings: &mut Settings| (settings.purge_fault, settings.cache_bytes_max) = (fault, cache);
    let (a, b) = (open_with(&ring.client(0), 1, &faulty), open_with(&ring.client(1), 2, &faulty));
    let nodes = prepare(&a).expect("preparing a graph");
    set_x(&a, nodes[0], 1);
    let view = b.read().expect("a snapshot");
    set_x(&a, nodes[0], 2);
    let upto = a.sequence().expect("following");
    let later = b.read().expect("a snapshot");
    set_x(&a, nodes[0], 3);
    if fault == Some(PurgeFault::AboveHorizon) {
        a.purge_to(upto).expect("purging");
    } else {
        a.purge().expect("purging");
    }
    let seen = x(&*view, nodes[0]);
    (seen, x(&*later, nodes[0]).unwrap_or(Value::Null))
}

#[test]
fn views_from_before_the_horizon_fail_and_never_miss_rows() {
    for cache in CACHES {
        let (seen, later) = see_purged(None, cache);
        assert_eq!(seen.map_err(|error| error.code()), Err(ErrorCode::Conflict));
        assert_eq!(later, Value::Null, "it is from before the horizon too");
        let (seen, _) = see_purged(Some(PurgeFault::IgnoresHorizon), cache);
        assert_eq!(seen.expect("the canary reads on"), Value::Null, "the canary is found");
        let (seen, _) = see_purged(Some(PurgeFault::WaitsForNobody), cache);
        assert_eq!(seen.expect("its lease lasts"), Value::Null, "the canary is found");
        let (_, later) = see_purged(Some(PurgeFault::AboveHorizon), cache);
        assert_eq!(later, Value::Null, "the canary is found");
    }
}

#[test]
fn views_from_the_horizon_on_see_their_moment() {
    for cache in CACHES {
        let ring = Ring::new(65, 3, Faults::NONE);
        let cached = |settings: &mut Settings| settings.cache_bytes_max = cache;
        let (a, b) = (open_with(&ring.client(0), 1, &cached), open_with(&ring.client(1), 2, &cached));
        let nodes = prepare(&a).expect("preparing a graph");
        set_x(&a, nodes[0], 1);
        set_x(&a, nodes[0], 2);
        let (upto, view) = (a.sequence().expect("following"), b.read().expect("a snapshot"));
        set_x(&a, nodes[0], 3);
        let purged = a.purge_to(upto).expect("purging");
        assert_eq!(purged.rows, 2, "the version without the property, and the first with it");
        for _ in 0..2 {
            assert_eq!(x(&*view, nodes[0]).expect("reading"), Value::Int(2));
        }
        let mut transaction = b.write().expect("beginning a transaction");
        set(&mut *transaction, nodes[1], "x", Value::Int(5)).expect("writing");
        set_x(&a, nodes[0], 4);
        a.purge().expect("purging");
        let failure = set(&mut *transaction, nodes[2], "x", Value::Int(5)).expect_err("it began before the horizon");
        assert_eq!(failure.code(), ErrorCode::Conflict, "{failure:?}");
        assert!(!failure.remedy().is_empty());
    }
}

#[test]
fn deletions_that_are_too_early_leave_rows() {
    let ring = Ring::new(66, 3, Faults::NONE);
    let fault = |settings: &mut Settings| settings.purge_fault = Some(PurgeFault::DeletesTooEarly);
    let store = open_with(&ring.client(0), 1, &fault);
    let nodes = prepare(&store).expect("preparing a graph");
    let fresh = rows(&ring);
    end_rows(&store, &nodes);
    store.purge().expect("purging");
    assert_ne!(rows(&ring), fresh, "the canary is found");
}

/// A graph with dead rows of all kinds, whose purge is killed at an operation; what is there then, and after another purge.
fn kill_purge(fault: Option<PurgeFault>) -> (usize, bool) {
    let (mut killed, mut graph, mut is_right) = (0, 0, true);
    for (kind, does_trim) in CrashKind::ALL.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        for operation in 1.. {
            graph += 1;
            let ring = Ring::new(67 + graph, 3, Faults::NONE);
            let client = ring.client(0);
            let store = open_with(&client, 1, &|settings| settings.purge_fault = fault);
            let nodes = prepare(&store).expect("preparing a graph");
            let fresh = rows(&ring);
            end_rows(&store, &nodes);
            if does_trim {
                store.trim().expect("dropping epochs");
            }
            let before = Some(content(&store));
            client.crash_at(operation, kind);
            let outcome = store.purge();
            let other = open(&ring.client(1), 2);
            is_right &= sound_content(&other) == before;
            other.purge().expect("purging on");
            is_right &= sound_content(&other) == before && rows(&ring) == fresh && other.dead_rows() == 0;
            if fault.is_none() {
                assert!(
                    is_right,
                    "killed at operation {operation}, {kind:?}: {:?} rows, {fresh:?} are seen",
                    rows(&ring)
                );
            }
            if !client.has_ended() {
                outcome.expect("purging");
                break;
            }
            killed += 1;
        }
    }
    (killed, is_right)
}

#[test]
fn a_purge_killed_at_any_operation_is_continued_by_another_process() {
    let (killed, _) = kill_purge(None);
    eprintln!("{killed} purges were killed");
    assert!(killed > 60, "{killed}");
    let (_, is_right) = kill_purge(Some(PurgeFault::TakesLastEventAlone));
    assert!(!is_right, "the canary is found");
}

#[test]
fn entries_of_dropped_indexes_go() {
    let ring = Ring::new(68, 3, Faults::NONE);
    let store = open(&ring.client(0), 1);
    let nodes = prepare(&store).expect("preparing a graph");
    let entries = ring.rows(GRAPH, Table::ByValue);
    assert_eq!(entries, 8);
    commit(&store, &|writer| writer.drop_index("values")).expect("dropping an index");
    commit(&store, &|writer| writer.drop_constraint("unique name")).expect("dropping a constraint");
    let older = store.sequence().expect("following");
    commit(&store, &|writer| {
        let (label, name) = (writer.label("N")?, writer.property_key("name")?);
        writer.create_constraint(Constraint::unique("again", label, name), &Interrupt::new())
    })
    .expect("making a constraint");
    assert_eq!(ring.rows(GRAPH, Table::ByValue), entries + 4);
    assert_eq!(store.purge_to(older - 1).expect("purging").indexes, 1);
    assert_eq!(store.purge().expect("purging").indexes, 1);
    assert_eq!(ring.rows(GRAPH, Table::ByValue), 4, "entries of the new index");
    set_x(&store, nodes[0], 1);
    assert_eq!(store.purge().expect("purging").indexes, 0);
    let twice = commit(&store, &|writer| set(writer, nodes[0], "name", Value::Int(1)));
    assert_eq!(twice.map_err(|error| error.code()), Err(ErrorCode::Constraint));
}

fn add_long(writer: &mut dyn WriteTransaction, name: i64) -> Result<()> {
    add_node(writer, &[("name", Value::Int(name)), ("text", Value::from("long ".repeat(2_000)))]).map(drop)
}

#[test]
fn bodies_of_transactions_that_were_never_appended_go() {
    let ring = Ring::new(69, 3, Faults::NONE);
    // Without checkpoints, all processes do the same operations.
    let plain = |settings: &mut Settings| settings.checkpoint_records = 1_000;
    let store = open_with(&ring.client(0), 1, &plain);
    let nodes = prepare(&store).expect("preparing a graph");
    commit(&store, &|writer| add_long(writer, 10)).expect("committing");
    let (mut killed, mut appended) = (0, 1);
    for operation in 1.. {
        let client = ring.client(1);
        let victim = open_with(&client, 100 + operation, &plain);
        client.crash_at(operation, CrashKind::After);
        let name = 100 + operation as i64;
        let _ = commit(&victim, &|writer| add_long(writer, name));
        if !client.has_ended() {
            appended += 1;
            break;
        }
        killed += 1;
        // Writes the rows of a record whose writer was killed.
        set_x(&store, nodes[0], name);
        let names = named(&*store.read().expect("a snapshot")).expect("reading");
        appended += usize::from(names.iter().any(|(found, _)| *found == Value::Int(name)));
    }
    let bodies = ring.rows(GRAPH, Table::LogBody);
    assert!(killed > 5 && bodies == appended + 1, "{killed} were killed, {bodies} bodies, {appended} appended");
    let purged = store.purge().expect("purging");
    assert!(purged.bodies > 10, "{purged:?}");
    assert_eq!((ring.rows(GRAPH, Table::LogBody), ring.rows(GRAPH, Table::Bodies)), (appended, 0));
    (0..30).for_each(|number| commit(&store, &|writer| add_long(writer, 1_000 + number)).expect("committing"));
    store.purge().expect("purging");
    store.trim().expect("dropping epochs");
    let left = ring.rows(GRAPH, Table::LogBody);
    assert!(left <= 24, "{left} bodies are left, those of the last epochs");
    content(&open(&ring.client(2), 7));
}

/// A transaction that has written its body waits before its append, while another process purges: its outcome, and whether
/// another process can go on.
fn purge_before_append(fault: Option<PurgeFault>) -> (Option<ErrorCode>, bool) {
    let ring = Ring::new(70, 3, Faults::NONE);
    let purger = open_with(&ring.client(0), 1, &|settings| settings.purge_fault = fault);
    prepare(&purger).expect("preparing a graph");
    let client = ring.client(1);
    let mut settings = client.settings(GRAPH, 2);
    (settings.epoch_records, settings.lease_ns) = (8, LEASE_NS);
    let tables = Interposed::new(client);
    let store = ClusterStore::open(tables.clone(), settings).expect("opening a graph");
    commit(&store, &|writer| add_long(writer, 10)).expect("committing");
    let mut transaction = store.write().expect("beginning a transaction");
    add_long(&mut *transaction, 11).expect("writing");
    let purge = match fault {
        // Only the record of a new horizon makes a difference to the other.
        None => purger.sequence().expect("following"),
        Some(_) => 0,
    };
    tables.before_append(move || {
        purger.purge_to(purge).expect("purging");
    });
    let outcome = transaction.commit().err().map(|error| error.code());
    let other = try_open_with(&ring.client(2), GRAPH, 3, &with_lease);
    (outcome, other.and_then(|other| other.read()).is_ok())
}

#[test]
fn a_transaction_whose_body_was_purged_is_not_appended() {
    assert_eq!(purge_before_append(None), (Some(ErrorCode::Conflict), true));
    let (outcome, _) = purge_before_append(Some(PurgeFault::TakesLiveBodies));
    assert_ne!(outcome, Some(ErrorCode::Conflict), "the canary is found: it is appended without its body");
}

/// A process that is about to write the rows of its record, when another writes them, and purges what they and later records
/// left dead; then its own writes arrive.
fn apply_late(canary: Option<Canary>) -> bool {
    let ring = Ring::new(71, 3, Faults::NONE);
    let other = open(&ring.client(0), 1);
    let nodes = prepare(&other).expect("preparing a graph");
    let client = ring.client(1);
    let mut settings = client.settings(GRAPH, 2);
    (settings.epoch_records, settings.lease_ns) = (8, LEASE_NS);
    let tables = Interposed::new(client);
    let store = ClusterStore::open(tables.clone(), settings).expect("opening a graph");
    let mut transaction = store.write().expect("beginning a transaction");
    let gone = add_node(&mut *transaction, &[("name", Value::Int(50))]).expect("writing");
    add_edge(&mut *transaction, nodes[0], gone, 50).expect("writing");
    let (ring_now, first) = (ring.clone(), nodes[0]);
    let (sender, seen) = std::sync::mpsc::channel();
    tables.before_rows(move || {
        ring_now.trouble(Faults::NONE, canary);
        // Taken over by the next that commits.
        set_x(&other, first, 1);
        commit(&other, &|writer| {
            let ids: Vec<EdgeId> =
                edges(writer.view(), first)?.into_iter().filter(|(x, _)| *x == 50).map(|(_, edge)| edge).collect();
            writer.delete_edges(&ids)?;
            writer.delete_nodes(&[gone])
        })
        .expect("deleting");
        assert!(other.purge().expect("purging").rows >= 5);
        sender.send((rows(&ring_now), content(&other))).expect("somebody listens");
    });
    transaction.commit().expect("committing");
    let (before, content_before) = seen.recv().expect("the rows were written late");
    ring.calm();
    let found = sound_content(&open(&ring.client(2), 3));
    rows(&ring) == before && found == Some(content_before)
}

#[test]
fn rows_that_are_applied_late_stay_purged() {
    assert!(apply_late(None));
    assert!(!apply_late(Some(Canary::ForgetsDeletions)), "the canary is found");
}

#[test]
fn the_contract_holds_with_a_purge_after_each_commit() {
    let ring = Ring::new(72, 4, Faults::NONE);
    let (graphs, clients) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let open = |graph| {
        let number = clients.replace(clients.get() + 1);
        try_open_with(&ring.client(number), graph, number as u64, &with_lease).expect("opening a graph")
    };
    let purged = std::cell::Cell::new(0);
    let make = || -> Box<dyn GraphStore> {
        graphs.set(graphs.get() + 1);
        Box::new(open(graphs.get()))
    };
    check_store_disturbed(&make, &|store| {
        drop(store);
        let store = open(graphs.get());
        purged.set(purged.get() + store.purge().expect("purging").rows);
        Box::new(store)
    });
    assert!(purged.get() > 100, "{} rows were purged", purged.get());
}

#[test]
fn random_transactions_agree_with_the_reference_between_purges() {
    for (seed, faults) in [(seed_or(1), Faults::NONE), (seed_or(2), Faults::MANY)] {
        eprintln!("FUZZ_SEED={seed}");
        let ring = Ring::new(seed, 4, faults);
        let mut clients = 0;
        let mut next = || {
            clients += 1;
            let patient = |settings: &mut Settings| {
                with_lease(settings);
                settings.attempts = 60;
            };
            try_open_with(&ring.client(clients), GRAPH, clients as u64, &patient).expect("opening a graph")
        };
        let (first, mut purged) = (next(), 0);
        check_random(seed, 30, Box::new(first), &mut |_, number| {
            let store = next();
            if number % 2 == 0 {
                purged += store.purge().expect("purging").rows;
            }
            if number % 7 == 3 {
                store.trim().expect("dropping epochs");
            }
            Box::new(store)
        });
        ring.calm();
        assert!(purged > 100, "{purged} rows were purged");
        let last = next();
        last.purge().expect("purging");
        let before = rows(&ring);
        assert_eq!((last.dead_rows(), last.purge().expect("purging").rows), (0, 0));
        assert_eq!(rows(&ring), before);
    }
}

#[test]
fn a_lease_that_differs_is_refused() {
    let ring = Ring::new(73, 3, Faults::NONE);
    let store = open(&ring.client(0), 1);
    let nodes = prepare(&store).expect("preparing a graph");
    set_x(&store, nodes[0], 1);
    store.purge().expect("purging");
    let other = try_open_with(&ring.client(1), GRAPH, 2, &|settings| settings.lease_ns = 1);
    assert_eq!(other.map(drop).map_err(|error| error.code()), Err(ErrorCode::Version));
    let reader = open_with(&ring.client(2), 3, &|settings| settings.is_read_only = true);
    assert_eq!(reader.purge().map_err(|error| error.code()), Err(ErrorCode::ReadOnly));
}

#[test]
fn purges_in_the_background_leave_young_snapshots_alone() {
    let ring = Ring::new(74, 3, Faults::NONE);
    let keep_ns = 4_000_000_000;
    let client = ring.client(0);
    let background = |settings: &mut Settings| (settings.purge_interval_ns, settings.keep_ns) = (1_000_000, keep_ns);
    let store = open_with(&client, 1, &background);
    let other = open_with(&ring.client(1), 2, &background);
    let nodes = prepare(&store).expect("preparing a graph");
    let wait_until = |is_over: &dyn Fn() -> bool| {
        let start = std::time::SystemTime::now();
        while !is_over() {
            assert!(start.elapsed().map_or(true, |passed| passed.as_secs() < 60), "nothing was purged for a minute");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    };
    // Time passes with the operations of the ring.
    wait_until(&|| {
        (0..50).for_each(|_| number_up(&store, nodes[0]));
        let (rows, sequence) = (ring.rows(GRAPH, Table::Node) as u64, store.sequence().expect("following"));
        sequence > 1_500 && rows + 500 < sequence
    });
    set_x(&store, nodes[1], 1);
    let view = other.read().expect("a snapshot");
    set_x(&store, nodes[1], 2);
    assert_eq!(x(&*view, nodes[1]).expect("it is young"), Value::Int(1));
    drop((store, other));
}

fn number_up(store: &ClusterStore, node: NodeId) {
    match commit(store, &|writer| {
        let next = if let Value::Int(number) = x(writer.view(), node)? { number + 1 } else { 0 };
        set(writer, node, "x", Value::Int(next))
    }) {
        Err(error) if error.code() != ErrorCode::Conflict => panic!("a commit fails: {error:?}"),
        _ => {}
    }
}
