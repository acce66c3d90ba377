//! Sources compared with a reference store that holds the same graph, whatever is cached and fetched ahead.

mod memory;
mod roads;
mod world;
mod writing;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, EdgeValue, ErrorCode, Expand, GraphStore, NodeScan, PropertyKind, ReadView};
use testing::random::{SeededRandom, seed_or};
use testing::store_contract::check_same_seeded;

use self::world::{World, batch_of, first_nodes};
use crate::connector::Abilities;
use crate::definition::{CacheSettings, Prefetch, Rows};

const PLAIN: Abilities = Abilities {
    snapshots: true,
    writes: true,
    boxes: false,
    lookahead: false,
    lookahead_lists_max: None,
    courses: false,
    sends: false,
    conditions: false,
    patterns: false,
};
const ALL: Abilities = Abilities {
    snapshots: true,
    writes: true,
    boxes: true,
    lookahead: true,
    lookahead_lists_max: None,
    courses: true,
    sends: false,
    conditions: true,
    patterns: false,
};

/// Every prefetcher.
fn prefetchers() -> Vec<Prefetch> {
    let block = |size: f64, names: &[&str]| Prefetch::Block {
        properties: names.iter().map(|&name| Arc::from(name)).collect(),
        size,
    };
    vec![
        Prefetch::None,
        Prefetch::Adaptive,
        Prefetch::Lookahead(1),
        Prefetch::Lookahead(3),
        block(0.5, &["lat", "lon"]),
        block(4.0, &[]),
        block(1.0, &["age"]),
    ]
}

#[test]
fn a_source_is_the_graph_that_its_definition_makes_of_it() {
    let seed = seed_or(11);
    for (round, abilities) in [PLAIN, ALL, Abilities { conditions: true, ..PLAIN }].into_iter().enumerate() {
        for bytes_max in [0, 30_000, 64 << 20] {
            for ends_exist in [false, true] {
                let seed = seed + (round * 100 + bytes_max % 97 + usize::from(ends_exist)) as u64;
                let mut world = World::new(seed, abilities, ends_exist);
                world.definition.cache = CacheSettings { bytes_max, age_max: Duration::from_secs(60) };
                let store = world.store();
                let reference = world.reference();
                for view in 0..2 {
                    let (view, seed) = (store.view(), seed + view);
                    check_same_seeded(&view, reference.read().unwrap().as_ref(), "uid", seed);
                }
            }
        }
    }
}

#[test]
fn fetching_ahead_changes_no_answer() {
    let seed = seed_or(5);
    for (number, prefetch) in prefetchers().into_iter().enumerate() {
        for (bytes_max, age_max) in [(0, 60), (20_000, 60), (64 << 20, 0), (64 << 20, 60)] {
            {
                let mut world = World::new(seed + number as u64, ALL, number % 2 == 0);
                world.definition.cache = CacheSettings { bytes_max, age_max: Duration::from_secs(age_max) };
                world.definition.prefetch = prefetch.clone();
                let store = world.store();
                let reference = world.reference();
                check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + number as u64);
                check_same_seeded(&store.view(), reference.read().unwrap().as_ref(), "uid", seed + number as u64 + 50);
            }
        }
    }
}

#[test]
fn a_lookahead_follows_no_more_lists_than_the_source_can() {
    let seed = seed_or(15);
    for (most, prefetch) in [(1, Prefetch::Lookahead(3)), (2, Prefetch::Lookahead(2)), (2, Prefetch::Adaptive)] {
        let abilities = Abilities { lookahead_lists_max: Some(most), boxes: false, courses: false, ..ALL };
        let mut world = World::new(seed, abilities, false);
        world.definition.prefetch = prefetch;
        let store = world.store();
        check_same_seeded(&store.view(), world.reference().read().unwrap().as_ref(), "uid", seed);
        let along = world.connector.state.along.load(Ordering::Relaxed);
        assert_eq!(along, most as u64, "seed {seed}: the most lists that were followed at once");
    }
}

#[test]
fn definitions_for_which_nothing_can_be_fetched_ahead_say_so() {
    let by_key = || Rows::ByKey { sql: "SELECT b FROM e WHERE a = ?".to_owned(), reverse: None, scan: None };
    for (prefetch, kinds, is_told) in [
        (Prefetch::Adaptive, 4, true),
        (Prefetch::Lookahead(2), 4, true),
        (Prefetch::Adaptive, 3, false),
        (Prefetch::None, 4, false),
    ] {
        let mut world = World::new(16, ALL, true);
        world.definition.edges[..kinds].iter_mut().for_each(|kind| kind.rows = by_key());
        world.definition.prefetch = prefetch;
        let store = world.store();
        let (notes, told) = (store.notes(), store.stats().prefetch);
        assert_eq!(notes.len(), usize::from(is_told), "{notes:?}");
        assert!(notes.iter().all(|note| note.contains("by key") && note.contains("name the tables")), "{notes:?}");
        assert_eq!(told.contains("nothing: all edges come from queries by key"), is_told, "{told}");
    }
}

#[test]
fn edges_with_keys_have_ids_that_outlast_a_view() {
    let store = World::new(6, ALL, true).store();
    let edges_of = |view: &dyn ReadView, name: &str| -> Vec<EdgeValue> {
        let nodes = first_nodes(view, "Person", 40);
        let types = Some(vec![view.schema().edge_type(name).unwrap()]);
        let found = batch_of(view, &nodes, &Expand { types, edge_ids: EdgeIds::Include, ..Expand::default() });
        let edge = |row: usize| EdgeValue {
            id: found.edges[row],
            source: nodes[found.inputs[row] as usize],
            target: found.neighbors[row],
            edge_type: found.types[row],
        };
        (0..found.len()).map(edge).collect()
    };
    let (view, later) = (store.view(), store.view());
    // Views number edges without keys as they meet them.
    edges_of(&later, "LIKES");
    for (name, is_keyed) in [("KNOWS", true), ("LIKES", false)] {
        let edges = edges_of(&view, name);
        assert!(!edges.is_empty());
        let ids = ReadView::element_ids(&view, &edges).unwrap();
        let texts: Vec<&str> = ids.iter().map(|id| &**id).collect();
        let found = ReadView::find_edges(&later, &texts).unwrap();
        if is_keyed {
            let found: Vec<EdgeValue> = found.into_iter().map(Option::unwrap).collect();
            let ends = |edge: &EdgeValue| (edge.source, edge.target, edge.edge_type);
            assert!(found.iter().map(ends).eq(edges.iter().map(ends)));
            assert_eq!(ReadView::element_ids(&later, &found).unwrap(), ids);
        } else {
            assert!(found.iter().all(Option::is_none), "an edge without a key is known in one view only");
        }
        let numbers = ReadView::edge_numbers(&view, &edges.iter().map(|edge| edge.id).collect::<Vec<_>>()).unwrap();
        assert!(numbers.iter().all(|&number| number < 1 << 56));
    }
    assert_eq!(ReadView::find_edges(&view, &["", "0:0:0:0", "x"]).unwrap(), [None; 3]);
}

#[test]
fn what_is_cached_is_not_asked_again() {
    let world = World::new(3, ALL, true);
    let store = world.store();
    let (view, again) = (store.view(), store.view());
    let nodes = first_nodes(&view, "Person", 50);
    let expand = Expand { direction: Direction::Both, ..Expand::default() };
    let found = batch_of(&view, &nodes, &expand);
    assert!(!found.is_empty());
    let before = store.stats().round_trips;
    assert_eq!(batch_of(&again, &nodes, &expand).neighbors, found.neighbors);
    assert_eq!(store.stats().round_trips, before);
    store.forget();
    let anew = store.view();
    batch_of(&anew, &nodes, &expand);
    assert_eq!(store.stats().round_trips, before + 1, "all kinds and both ways are one round trip");
    assert!(store.forget_kind("person") && store.forget_kind("knows") && !store.forget_kind("nobody"));
    assert!(store.stats().hit_rate() > 0.0 && store.stats().cache_bytes > 0);
}

#[test]
fn what_is_too_old_is_asked_again() {
    let mut world = World::new(4, ALL, true);
    world.definition.cache.age_max = Duration::from_secs(10);
    let store = world.store();
    let nodes = first_nodes(&store.view(), "Person", 20);
    let expand = Expand::default();
    let view = store.view();
    batch_of(&view, &nodes, &expand);
    let before = store.stats().round_trips;
    world.clock.advance(9_000_000_000);
    batch_of(&store.view(), &nodes, &expand);
    assert_eq!(store.stats().round_trips, before);
    world.clock.advance(2_000_000_000);
    batch_of(&view, &nodes, &expand);
    assert_eq!(store.stats().round_trips, before, "what a view read stays as it was");
    batch_of(&store.view(), &nodes, &expand);
    assert_eq!(store.stats().round_trips, before + 1);
}

#[test]
fn nodes_are_looked_up_by_their_keys() {
    for (abilities, is_key, is_unique) in
        [(PLAIN, true, true), (ALL, true, true), (ALL, false, true), (PLAIN, false, false)]
    {
        let mut world = World::new(14, abilities, true);
        world.definition.nodes[0].properties[0].kind = Some(PropertyKind::Integer);
        let store = world.store();
        let (label, name) = (store.schema().label("Person").unwrap(), if is_key { "id" } else { "uid" });
        let key = store.schema().property_key(name).unwrap();
        assert_eq!(store.schema().unique(label, key).is_some(), is_unique, "{abilities:?}");
        check_same_seeded(&store.view(), world.reference().read().unwrap().as_ref(), "uid", 14);
    }
}

#[test]
fn a_scan_pulls_no_more_than_is_wanted() {
    let world = World::new(6, ALL, true);
    let store = world.store();
    let view = store.view();
    let mut cursor = view.scan(&NodeScan::default()).unwrap();
    assert_eq!(store.stats().round_trips, 0, "nothing is asked before the first node is wanted");
    cursor.next(&mut model::NodeBatch::default()).unwrap();
    assert_eq!(store.stats().round_trips, 1);
}

#[test]
fn a_source_that_fails_in_the_middle_says_what_it_was_asked() {
    let world = World::new(7, ALL, true);
    let store = world.store();
    let view = store.view();
    let nodes = first_nodes(&view, "Person", 20);
    world.connector.state.good_trips.store(0, Ordering::Relaxed);
    let error = view.expand(&nodes, &Expand::default()).unwrap().next(&mut EdgeBatch::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Source);
    assert_eq!(error.message(), "memory: edges knows: edges 0 Out: the connection was closed");
    world.connector.state.good_trips.store(-1, Ordering::Relaxed);
    assert!(!batch_of(&view, &nodes, &Expand::default()).is_empty(), "nothing of the failed answer was kept");
}

#[test]
fn random_questions_of_many_threads_agree() {
    let seed = seed_or(8);
    let mut world = World::new(seed, ALL, false);
    world.definition.cache.bytes_max = 30_000;
    let (store, reference) = (world.store(), world.reference());
    let view = store.view();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (view, reference) = (&view, reference.read().unwrap());
            let seed = SeededRandom::new(seed + thread).next_u64();
            scope.spawn(move || check_same_seeded(view, reference.as_ref(), "uid", seed));
        }
    });
}
