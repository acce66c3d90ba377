//! A graph in several parts, against the same graph in one.

use std::sync::Arc;

use database::Parameters;
use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Constraint, EdgeBatch, ErrorCode, Expand, GraphStore, Index, Interrupt, Map, NodeBatch, NodeId, NodeScan,
    PropertyKeyId, Subject, Value, WriteTransaction,
};
use sources::federation::{Federation, Member};
use testing::ReferenceStore;
use testing::differential::Content;
use testing::random::{SeededRandom, seed_or};

use crate::engine::{Bare, Engine, run_script};
use crate::federation::member::{END, GHOST, TestMember};
use crate::queries::{graph, pattern, pattern_text, query};

#[path = "federation/member.rs"]
mod member;

const ROUNDS: u64 = 25;
const PARTS: usize = 4;

/// Why nothing can fail here.
const WORKS: &str = "a store of a test can be read and written";

/// The properties of a node or an edge, by name.
type Named = Vec<(String, Value)>;

/// A graph in plain rows.
struct Rows {
    /// In the order of the schema.
    labels: Vec<String>,
    nodes: Vec<(Vec<String>, Named)>,
    edges: Vec<(usize, usize, String, Named)>,
}

impl Rows {
    fn of(store: &dyn GraphStore) -> Rows {
        let view = store.read().expect(WORKS);
        let schema = view.schema();
        let named = |properties: &[(PropertyKeyId, Value)]| {
            properties.iter().map(|(key, value)| (schema.property_key_name(*key).to_owned(), value.clone())).collect()
        };
        let labels = schema.labels.iter().map(|name| name.to_string()).collect();
        let mut rows = Rows { labels, nodes: Vec::new(), edges: Vec::new() };
        let (mut batch, mut numbers, mut ids) = (NodeBatch::default(), Map::default(), Vec::new());
        let mut cursor = view.scan(&NodeScan::default()).expect(WORKS);
        while cursor.next(&mut batch).expect(WORKS) {
            let labels = view.node_labels(&batch.nodes).expect(WORKS);
            let properties = view.all_node_properties(&batch.nodes).expect(WORKS);
            for (row, &node) in batch.nodes.iter().enumerate() {
                numbers.insert(node, rows.nodes.len());
                ids.push(node);
                let labels = labels[row].iter().map(|&label| schema.label_name(label).to_owned()).collect();
                rows.nodes.push((labels, named(&properties[row])));
            }
        }
        let expand = Expand { edge_ids: EdgeIds::Include, ..Expand::default() };
        let (mut batch, mut cursor) = (EdgeBatch::default(), view.expand(&ids, &expand).expect(WORKS));
        while cursor.next(&mut batch).expect(WORKS) {
            let properties = view.all_edge_properties(&batch.edges).expect(WORKS);
            for row in 0..batch.len() {
                let (source, target) = (batch.inputs[row] as usize, numbers[&batch.neighbors[row]]);
                let edge_type = schema.edge_type_name(batch.types[row]).to_owned();
                rows.edges.push((source, target, edge_type, named(&properties[row])));
            }
        }
        rows
    }
}

fn add_node(transaction: &mut dyn WriteTransaction, labels: &[String], properties: &[(String, Value)]) -> NodeId {
    let labels: Vec<_> = labels.iter().map(|name| transaction.label(name).expect(WORKS)).collect();
    let keys: Vec<_> = properties.iter().map(|(name, _)| transaction.property_key(name).expect(WORKS)).collect();
    let properties: Vec<_> = properties.iter().map(|(_, value)| model::Column::constant(value, 1)).collect();
    let new = NewNodes { count: 1, labels: &labels, keys: &keys, properties: &properties };
    transaction.create_nodes(&new).expect(WORKS)[0]
}

/// The graph laid out over several stores: the first is native, the others are members.
fn split(rows: &Rows, random: &mut SeededRandom) -> Federation {
    let stores: Vec<ReferenceStore> =
        (0..PARTS).map(|part| ReferenceStore::with_batch_rows(1 + part + random.index(3))).collect();
    let mut writing: Vec<Box<dyn WriteTransaction>> = stores.iter().map(|store| store.write().expect(WORKS)).collect();
    // Names are met in another order in each member; what the native store knows comes first in the whole.
    for name in &rows.labels {
        writing[0].label(name).expect(WORKS);
    }
    writing[1..].iter_mut().for_each(|transaction| meet_names(&mut **transaction, random));
    let mut places: Vec<(usize, NodeId)> = Vec::new();
    for (labels, properties) in &rows.nodes {
        let part = random.index(PARTS);
        places.push((part, add_node(&mut *writing[part], labels, properties)));
    }
    let mut ghosts: Map<(usize, usize), NodeId> = Map::default();
    for (source, target, edge_type, properties) in &rows.edges {
        let same = places[*source].0 == places[*target].0;
        // An edge may be kept by a part that has neither end.
        let part = if same && random.chance(70) { places[*source].0 } else { 1 + random.index(PARTS - 1) };
        let mut end = |number: usize, writing: &mut dyn WriteTransaction| {
            if places[number].0 == part {
                return places[number].1;
            }
            *ghosts.entry((part, number)).or_insert_with(|| {
                let id = rows.nodes[number].1.iter().find(|(name, _)| name == END.1).expect(WORKS).clone();
                add_node(writing, &[GHOST.to_owned()], &[id])
            })
        };
        let transaction = &mut *writing[part];
        let (source, target) = (end(*source, transaction), end(*target, transaction));
        let keys: Vec<_> = properties.iter().map(|(name, _)| transaction.property_key(name).expect(WORKS)).collect();
        let columns: Vec<_> = properties.iter().map(|(_, value)| model::Column::constant(value, 1)).collect();
        let edge_type = transaction.edge_type(edge_type).expect(WORKS);
        let new = NewEdges { edge_type, sources: &[source], targets: &[target], keys: &keys, properties: &columns };
        transaction.create_edges(&new).expect(WORKS);
    }
    for transaction in &mut writing {
        add_rules(&mut **transaction, random);
    }
    writing.into_iter().for_each(|transaction| transaction.commit().expect(WORKS));
    let mut stores = stores.into_iter();
    let native: Arc<dyn GraphStore> = Arc::new(stores.next().expect(WORKS));
    let member = |(at, store)| {
        let number = [1, 2, 127][at];
        Member { number, name: format!("m{number}").into(), store: Arc::new(TestMember::new(number, store)) }
    };
    Federation::new(native, stores.enumerate().map(member).collect()).expect(WORKS)
}

/// Has a part know a few names before any of its data.
fn meet_names(transaction: &mut dyn WriteTransaction, random: &mut SeededRandom) {
    for _ in 0..random.index(4) {
        transaction.label(random.pick::<&str>(&["C", "B", "Z", "A"])).expect(WORKS);
        transaction.property_key(random.pick::<&str>(&["x", "w", "z", "id", "n"])).expect(WORKS);
        transaction.edge_type(random.pick::<&str>(&["T", "S", "Z"])).expect(WORKS);
    }
}

/// Indexes and a constraint, of which a part may lack some.
fn add_rules(transaction: &mut dyn WriteTransaction, random: &mut SeededRandom) {
    let id = transaction.property_key("id").expect(WORKS);
    let n = transaction.property_key("n").expect(WORKS);
    if random.chance(85) {
        let label = transaction.label("A").expect(WORKS);
        transaction.create_constraint(Constraint::unique("a_id", label, id), &Interrupt::new()).expect(WORKS);
    }
    for (name, label, key) in [("b_id", "B", id), ("a_n", "A", n), ("c_n", "C", n)] {
        if random.chance(85) {
            let subject = Subject::Label(transaction.label(label).expect(WORKS));
            let index = Index { name: name.into(), subject, keys: vec![key] };
            transaction.create_index(index, &Interrupt::new()).expect(WORKS);
        }
    }
}

/// Rows in a form that can be compared, or the code of the error.
fn ask(engine: &mut dyn Engine, text: &str) -> Result<Vec<Vec<String>>, String> {
    match engine.run(text, &Parameters::default()) {
        Ok(answer) => Ok(answer.sorted_rows()),
        Err(error) => Err(error.code().name().to_string()),
    }
}

#[test]
fn a_graph_in_parts_is_the_same_graph() {
    let first = seed_or(7_000);
    for seed in first..first + ROUNDS {
        let mut random = SeededRandom::new(seed);
        let whole = whole(&mut random);
        let parts = split(&Rows::of(&whole), &mut random);
        eprintln!("FUZZ_SEED={seed}");
        let (a, b) = (Content::of(&*whole.read().unwrap()), Content::of(&*parts.read().unwrap()));
        assert_eq!((a.nodes, a.edges), (b.nodes, b.edges));
        let mut writing = parts.write().unwrap();
        let names = (writing.label("New").unwrap(), writing.property_key("new").unwrap());
        let within = Content::of(writing.view());
        assert_eq!(within.edges, Content::of(&*whole.read().unwrap()).edges, "within a transaction, with {names:?}");
    }
}

/// A random graph in one store, all of whose nodes can be found from other parts.
fn whole(random: &mut SeededRandom) -> ReferenceStore {
    let (_, statements) = graph(random);
    let store = Arc::new(ReferenceStore::with_batch_rows(3));
    let mut engine = Bare::new(Box::new(Shared(store.clone())));
    for statement in statements.iter().filter(|text| !text.starts_with("CREATE CONSTRAINT")) {
        run_script(&mut engine, statement).expect(WORKS);
    }
    run_script(&mut engine, &format!("MATCH (n) SET n:{}", END.0)).expect(WORKS);
    drop(engine);
    Arc::into_inner(store).expect("nobody else has it")
}

#[test]
fn queries_find_the_same_in_parts() {
    let first = seed_or(8_000);
    for seed in first..first + ROUNDS {
        let mut random = SeededRandom::new(seed);
        let whole = whole(&mut random);
        let parts = split(&Rows::of(&whole), &mut random);
        let mut whole = Bare::new(Box::new(whole));
        let mut parts = Bare::new(Box::new(parts));
        parts.settings.batch_rows = 1 + random.index(5);
        for _ in 0..15 {
            let text = if random.chance(50) {
                query(&mut random)
            } else {
                let pattern = pattern(&mut random, 0);
                let ids: Vec<String> = (0..pattern.variables).map(|v| format!("v{v}.id")).collect();
                format!("MATCH {} RETURN {}", pattern_text(&pattern), ids.join(", "))
            };
            assert_eq!(ask(&mut parts, &text), ask(&mut whole, &text), "FUZZ_SEED={seed}\n{text}");
        }
    }
}

/// A store that is owned elsewhere too.
struct Shared(Arc<dyn GraphStore>);

impl GraphStore for Shared {
    fn capabilities(&self) -> model::Capabilities {
        self.0.capabilities()
    }

    fn read(&self) -> model::Result<Arc<dyn model::ReadView>> {
        self.0.read()
    }

    fn write(&self) -> model::Result<Box<dyn WriteTransaction>> {
        self.0.write()
    }
}

/// A native store and a member that has a person and its city.
fn two_parts() -> (Arc<Federation>, Bare) {
    let member = ReferenceStore::new();
    let mut engine = Bare::new(Box::new(Federation::new(Arc::new(ReferenceStore::new()), Vec::new()).expect(WORKS)));
    drop(std::mem::replace(&mut engine, Bare::new(Box::new(Shared(Arc::new(ReferenceStore::new()))))));
    let mut writing = member.write().expect(WORKS);
    let ann = add_node(&mut *writing, &["Person".into()], &[("name".into(), "Ann".into())]);
    let rome = add_node(&mut *writing, &["City".into()], &[("name".into(), "Rome".into())]);
    let edge_type = writing.edge_type("LIVES_IN").expect(WORKS);
    let new = NewEdges { edge_type, sources: &[ann], targets: &[rome], keys: &[], properties: &[] };
    writing.create_edges(&new).expect(WORKS);
    writing.commit().expect(WORKS);
    let member = Member { number: 1, name: "shop".into(), store: Arc::new(TestMember::new(1, member)) };
    let parts = Arc::new(Federation::new(Arc::new(ReferenceStore::new()), vec![member]).expect(WORKS));
    (parts.clone(), Bare::new(Box::new(Shared(parts))))
}

#[test]
fn writes_go_to_the_part_that_they_are_about() {
    let (_, mut engine) = two_parts();
    let mut check = |text: &str, expected: &[&str]| {
        let found = match engine.run(text, &Parameters::default()) {
            Ok(answer) => answer.rows.iter().map(|row| row.join(", ")).collect::<Vec<_>>(),
            Err(error) => vec![error.message().to_owned()],
        };
        assert_eq!(found, expected, "{text}");
    };
    check("CREATE (:Person {name: 'Bob'}) CREATE (:Person {name: 'Cid'})-[:LIVES_IN]->(:City {name: 'Oslo'})", &[]);
    check(
        "MATCH (p:Person) RETURN p.name, id(p) > 1000000 ORDER BY p.name",
        &["'Ann', true", "'Bob', true", "'Cid', true"],
    );
    check("CREATE (:Note {text: 'native', name: 'n'})-[:ABOUT {x: 1}]->(:Note {text: 'other'})", &[]);
    check("MATCH (n:Note)-[r:ABOUT]->() RETURN n.text, id(n) < 1000000, r.x", &["'native', true, 1"]);
    check("MATCH (p:Person {name: 'Bob'}) SET p.age = 7, p:Old RETURN p.age, labels(p)", &["7, ['Person', 'Old']"]);
    check("MATCH (n:Note {name: 'n'}) SET n.age = 8 RETURN n.age", &["8"]);
    check("MATCH (n) WHERE n.age > 0 RETURN n.age ORDER BY n.age", &["7", "8"]);
    check(
        "MATCH (p:Person {name: 'Ann'}) CREATE (p)-[:WROTE]->(:Note)",
        &["a relationship :WROTE from a node of the source shop to a node of the native store can not be created"],
    );
    check(
        "MATCH (n) WHERE n.age > 0 SET n.age = 0",
        &["the statement would write to the native store and to the source shop in one transaction"],
    );
    check(
        "CREATE (:Note {text: 'x'}) CREATE (:Person {name: 'Dan'})",
        &["this transaction has written to the native store, and cannot write to the source shop too"],
    );
    check("MATCH (n:Note {text: 'x'}) RETURN n", &[]);
    check("MATCH (p:Person {name: 'Cid'})-[r:LIVES_IN]->() DELETE r", &[]);
    check("MATCH (p:Person)-[:LIVES_IN]->(c) RETURN p.name, c.name", &["'Ann', 'Rome'"]);
    check("MATCH (p:Person {name: 'Ann'}) DELETE p", &["node 0 still has edges"]);
    check("MATCH (p:Person {name: 'Ann'}) DETACH DELETE p", &[]);
    check("MATCH (p:Person) RETURN count(*)", &["2"]);
    check("MERGE (c:City {name: 'Rome'}) MERGE (d:City {name: 'Bern'}) RETURN c.name, d.name", &["'Rome', 'Bern'"]);
    check("MATCH (c:City) RETURN c.name ORDER BY c.name", &["'Bern'", "'Oslo'", "'Rome'"]);
}

#[test]
fn a_transaction_returns_to_a_savepoint_in_all_parts() {
    let (parts, _) = two_parts();
    let mut transaction = parts.write().unwrap();
    let count = |transaction: &dyn WriteTransaction, label: &str| {
        let view = transaction.view();
        let Some(label) = view.schema().label(label) else { return 0 };
        let scan = NodeScan { labels: vec![label], ..NodeScan::default() };
        let (mut batch, mut cursor) = (NodeBatch::default(), view.scan(&scan).unwrap());
        let mut nodes = 0;
        while cursor.next(&mut batch).unwrap() {
            nodes += batch.nodes.len();
        }
        nodes
    };
    let start = transaction.savepoint();
    add_node(&mut *transaction, &["Person".into()], &[]);
    let middle = transaction.savepoint();
    add_node(&mut *transaction, &["Person".into()], &[]);
    assert_eq!(count(&*transaction, "Person"), 3);
    transaction.rollback_to(middle).unwrap();
    assert_eq!(count(&*transaction, "Person"), 2);
    transaction.rollback_to(start).unwrap();
    assert_eq!((count(&*transaction, "Person"), count(&*transaction, "Note")), (1, 0));
    // Nothing is written any more, so the native store may be.
    add_node(&mut *transaction, &["Note".into()], &[]);
    transaction.commit().unwrap();
    let mut after = parts.write().unwrap();
    assert_eq!((count(&*after, "Person"), count(&*after, "Note")), (1, 1));
    // The name is new in the native store and in the whole, with different numbers.
    let label = after.label("Fresh").unwrap();
    assert_eq!(after.label("Fresh").unwrap(), label);
    let node = add_node(&mut *after, &["Fresh".into()], &[("fresh".into(), 1.into())]);
    assert_eq!(after.view().node_labels(&[node]).unwrap(), [vec![label]]);
    let constraint = Constraint::unique("one", label, after.property_key("fresh").unwrap());
    after.create_constraint(constraint, &Interrupt::new()).unwrap();
    assert_eq!(after.drop_constraint("two").unwrap_err().code(), ErrorCode::SchemaRule);
    after.commit().unwrap();
    assert_eq!(parts.read().unwrap().schema().constraints.len(), 1);
}

#[test]
fn a_federation_keeps_the_contract_of_stores() {
    testing::store_contract::check_store(&|| {
        let member = Member { number: 3, name: "m".into(), store: Arc::new(TestMember::new(3, ReferenceStore::new())) };
        Box::new(Federation::new(Arc::new(ReferenceStore::new()), vec![member]).unwrap())
    });
}
