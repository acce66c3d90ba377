//! Round trips: each question of a view is one, whatever the number of nodes; a commit takes a few.

use std::ops::Bound;

use cluster::{ClusterStore, Settings};
use model::store::{EdgeIds, NewNodes};
use model::{
    Column, EdgeBatch, EdgeRange, ErrorCode, Expand, GraphStore, Index, IndexScan, KeyOrder, KeyRange, NodeId, Value,
};

use crate::graph::{add_edge, add_node, edges, named, open, prepare, set, value};
use crate::ring::{Faults, Ring};

#[test]
fn questions_and_commits_take_few_round_trips() {
    let ring = Ring::new(21, 5, Faults::NONE);
    let client = ring.client(0);
    let store = ClusterStore::open(client.clone(), client.settings(1, 1)).expect("opening a graph");
    let rounds = |what: &str, expected: u64, call: &mut dyn FnMut()| {
        let before = client.operations();
        call();
        let found = client.operations() - before;
        eprintln!("{what}: {found} round trips");
        assert_eq!(found, expected, "{what}");
    };
    prepare(&store).expect("preparing a graph");
    let mut transaction = store.write().expect("beginning a transaction");
    let label = [transaction.label("Many").expect("a label")];
    let many = NewNodes { count: 1_000, labels: &label, keys: &[], properties: &[] };
    let many: Vec<NodeId> = transaction.create_nodes(&many).expect("adding nodes");
    for pair in many.windows(2) {
        add_edge(&mut *transaction, pair[0], pair[1], 7).expect("adding an edge");
    }
    transaction.commit().expect("committing");

    let mut view = None;
    rounds("a snapshot", 1, &mut || view = Some(store.read().expect("a snapshot")));
    let view = view.expect("a snapshot was taken");
    let nodes: Vec<NodeId> = named(&*view).expect("reading").into_iter().map(|(_, node)| node).collect();
    rounds("properties of 1,000 nodes", 1, &mut || drop(view.all_node_properties(&many).expect("reading")));
    let slices = ring.counts().slices;
    rounds("edges of 1,000 nodes", 1, &mut || {
        let types = view.schema().edge_type("E").map(|edge_type| vec![edge_type]);
        let expand = Expand { edge_ids: EdgeIds::Include, types, ..Expand::default() };
        let mut cursor = view.expand(&many, &expand).expect("expanding");
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch).expect("expanding on") {}
    });
    let slices = ring.counts().slices - slices;
    assert!((32..40).contains(&slices), "32 neighbouring nodes lie in one partition: {slices} slices");
    let ids: Vec<_> = edges(&*view, nodes[0]).expect("reading").into_iter().map(|(_, edge)| edge).collect();
    rounds("properties of edges by id", 1, &mut || drop(view.all_edge_properties(&ids).expect("reading")));
    let (label, key) = (view.schema().label("N").expect("a label"), view.schema().property_key("name").expect("a key"));
    let names = Column::from_values(&(0..100).map(Value::Int).collect::<Vec<_>>());
    rounds("a lookup of 100 unique values", 1, &mut || drop(view.lookup(label, key, &names).expect("looking up")));
    rounds("a range of an index", 1, &mut || {
        let scan = IndexScan {
            // An index is known by its subject and properties; plans call it as they like.
            index: Index { name: "any name".into(), ..view.schema().indexes[0].clone() },
            equal: Vec::new(),
            rows: 1,
            range: KeyRange::All,
            order: KeyOrder::Ascending,
        };
        drop(view.index_scan(&scan).expect("scanning an index"));
    });

    let mut transaction = store.write().expect("beginning a transaction");
    set(&mut *transaction, nodes[0], "name", Value::Int(70)).expect("setting a property");
    let mut transaction = Some(transaction);
    rounds("a commit of one property: append, rows, mark", 3, &mut || {
        transaction.take().expect("it was begun").commit().expect("committing");
    });
    let mut transaction = store.write().expect("beginning a transaction");
    let text = Value::from("long ".repeat(5_000));
    add_node(&mut *transaction, &[("name", Value::Int(71)), ("text", text)]).expect("adding a node");
    let mut transaction = Some(transaction);
    rounds("a commit of a long text: body, append, rows, mark", 4, &mut || {
        transaction.take().expect("it was begun").commit().expect("committing");
    });
    let view = store.read().expect("a snapshot");
    assert_eq!(value(&*view, nodes[0], "name").expect("reading"), Value::Int(70));
}

#[test]
fn a_range_of_a_sort_key_reads_the_rows_in_it() {
    const EDGES: i64 = 1_000;
    let ring = Ring::new(22, 3, Faults::NONE);
    let store = open(&ring.client(0), 1, 1);
    let nodes = prepare(&store).expect("preparing a graph");
    let mut transaction = store.write().expect("beginning a transaction");
    for value in 0..EDGES {
        add_edge(&mut *transaction, nodes[1], nodes[2], 10_000 + value).expect("adding an edge");
    }
    transaction.commit().expect("committing");
    let view = store.read().expect("a snapshot");
    let (edge_type, key) = (view.schema().edge_type("E"), view.schema().property_key("value").expect("a key"));
    let lower = Bound::Included(Value::Int(10_500));
    let range = EdgeRange { key, lower, upper: Bound::Excluded(Value::Float(10_510.0)) };
    let expand = Expand { types: Some(vec![edge_type.expect("a type")]), ranges: vec![range], ..Expand::default() };
    let (from, before) = ([nodes[1]], model::meter::read().rows_fetched);
    let (mut cursor, mut batch) = (view.expand(&from, &expand).expect("expanding"), EdgeBatch::default());
    let mut found = 0;
    while cursor.next(&mut batch).expect("expanding on") {
        found += batch.len();
    }
    let rows = model::meter::read().rows_fetched - before;
    assert_eq!((found, rows), (10, 10), "edges in the range, and rows that were read for them");
}

#[test]
fn settings_hold() {
    let ring = Ring::new(23, 3, Faults::NONE);
    let nodes = prepare(&open(&ring.client(0), 1, 1)).expect("preparing a graph");
    let with = |change: &dyn Fn(&mut Settings)| {
        let client = ring.client(1);
        let mut settings = Settings { epoch_records: 8, ..client.settings(1, 7) };
        change(&mut settings);
        (ClusterStore::open(client.clone(), settings).expect("opening a graph"), client)
    };
    let (stale, client) = with(&|settings| settings.staleness_ns = 1_000_000_000);
    drop(stale.read().expect("a snapshot"));
    let before = client.operations();
    drop(stale.read().expect("a snapshot"));
    assert_eq!(client.operations(), before, "a snapshot that may be stale asks nobody");

    let (small, _) = with(&|settings| settings.transaction_rows_max = 5);
    let mut transaction = small.write().expect("beginning a transaction");
    nodes.iter().for_each(|&node| set(&mut *transaction, node, "x", Value::Int(1)).expect("setting a property"));
    assert_eq!(transaction.commit().map_err(|error| error.code()), Err(ErrorCode::Limit));

    let (reader, _) = with(&|settings| settings.is_read_only = true);
    assert!(!reader.capabilities().writes && !reader.read().expect("a snapshot").capabilities().writes);
    assert_eq!(reader.write().map(drop).map_err(|error| error.code()), Err(ErrorCode::ReadOnly));
    assert_eq!(named(&*reader.read().expect("a snapshot")).expect("reading").len(), 4);

    let other_epochs = || {
        let client = ring.client(2);
        let settings = Settings { epoch_records: 9, ..client.settings(1, 8) };
        ClusterStore::open(client, settings).map(drop).map_err(|error| error.code())
    };
    assert_eq!(other_epochs(), Err(ErrorCode::Version), "all processes cut the log into the same epochs");
}
