//! The contract of stores, and random transactions beside the reference store, on a ring without faults and with many.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use cluster::ClusterStore;
use model::GraphStore;
use testing::differential::check_random;
use testing::random::seed_or;
use testing::store_contract::{check_store, check_store_disturbed};

use crate::graph::CACHES;
use crate::ring::{Faults, Ring};

/// Opens a graph as a new process.
fn open(ring: &Arc<Ring>, graph: i64, client: usize) -> ClusterStore {
    open_with(ring, graph, client, CACHES[2])
}

/// The same with a cache of so many bytes.
fn open_with(ring: &Arc<Ring>, graph: i64, client: usize, cache: usize) -> ClusterStore {
    let client = ring.client(client);
    let mut settings = client.settings(graph, client.operations() + client_seed(graph));
    // Small, so that graphs of a few commits have several.
    (settings.epoch_records, settings.checkpoint_records) = (8, 5);
    // With a replica away and another in trouble, most attempts of a long write fail; here every commit has to succeed.
    settings.attempts = 60;
    settings.cache_bytes_max = cache;
    ClusterStore::open(client, settings).expect("opening a graph")
}

fn client_seed(graph: i64) -> u64 {
    graph as u64 * 31
}

#[test]
fn the_contract_holds() {
    for cache in CACHES {
        let ring = Ring::new(1, 3, Faults::NONE);
        let graphs = AtomicI64::new(0);
        check_store(&|| {
            let graph = graphs.fetch_add(1, Ordering::Relaxed);
            Box::new(open_with(&ring, graph, graph as usize, cache))
        });
        let count = graphs.into_inner();
        assert!(count > 60, "{count} checks ran, each on a graph of its own");
    }
}

#[test]
fn the_contract_holds_where_another_process_goes_on_after_each_commit() {
    let ring = Ring::new(2, 5, Faults::NONE);
    let (graphs, clients) = (AtomicI64::new(0), AtomicI64::new(0));
    let next = |graph| open(&ring, graph, clients.fetch_add(1, Ordering::Relaxed) as usize);
    let reopened = AtomicI64::new(0);
    check_store_disturbed(&|| Box::new(next(graphs.fetch_add(1, Ordering::Relaxed) + 1)), &|store| {
        drop(store);
        reopened.fetch_add(1, Ordering::Relaxed);
        // The graph of the check at hand is the last one that was made.
        Box::new(next(graphs.load(Ordering::Relaxed)))
    });
    let reopened = reopened.into_inner();
    assert!(reopened > 100, "{reopened} times another process went on");
}

#[test]
fn the_contract_holds_on_a_ring_with_many_faults() {
    let seed = seed_or(3);
    eprintln!("FUZZ_SEED={seed}");
    let ring = Ring::new(seed, 5, Faults::MANY);
    let graphs = AtomicI64::new(0);
    check_store(&|| {
        let graph = graphs.fetch_add(1, Ordering::Relaxed);
        Box::new(open(&ring, graph, graph as usize))
    });
    let counts = ring.counts();
    eprintln!("{counts:?}");
    assert!(counts.lost_answers > 20 && counts.late > 1_000 && counts.undecided > 20 && counts.outages > 10);
    assert!(counts.decided_late > 5, "{counts:?}");
}

/// Each transaction is that of another of two processes, whose caches live on.
#[test]
fn random_transactions_of_two_processes_agree_with_the_reference() {
    for cache in CACHES {
        let seed = seed_or(4) + cache as u64;
        eprintln!("FUZZ_SEED={seed}");
        let ring = Ring::new(seed, 4, Faults::NONE);
        let mut other: Box<dyn GraphStore> = Box::new(open_with(&ring, 1, 1, cache));
        check_random(seed, 24, Box::new(open_with(&ring, 1, 0, cache)), &mut |store, _| {
            std::mem::replace(&mut other, store)
        });
    }
}

#[test]
fn random_transactions_agree_with_the_reference() {
    for (seed, faults) in [(seed_or(1), Faults::NONE), (seed_or(2), Faults::MANY)] {
        eprintln!("FUZZ_SEED={seed}");
        let ring = Ring::new(seed, 4, faults);
        let store: Box<dyn GraphStore> = Box::new(open(&ring, 1, 0));
        let mut clients = 0;
        check_random(seed, 30, store, &mut |store, number| {
            if number % 3 != 1 {
                return store;
            }
            drop(store);
            clients += 1;
            let store = open(&ring, 1, clients);
            if number % 2 == 0 {
                store.trim().expect("dropping old epochs");
            }
            Box::new(store)
        });
        assert!(clients >= 10, "{clients} times another process went on");
    }
}
