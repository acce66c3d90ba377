//! A small random graph with what sources find hard: strings as keys, absent values, edges twice, ends of two kinds.

use std::sync::Arc;

use model::{Column, MemoryBudget, Value};
use sources::connector::Connector;
use sources::definition::GraphDefinition;
use sources::store::{Environment, SourceStore};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};
use testing::random::SeededRandom;
use testing::simulation::CountingClock;

/// People with integers as keys (`uid`), places with strings; edges `KNOWS`, `LIKES` (weight), `VISITED` (some twice),
/// `NEXT` (since) and `FRIEND` (since, note).
pub(crate) fn world(seed: u64) -> GraphData {
    let mut random = SeededRandom::new(seed);
    let (people, places) = (random.index(60) + 2, random.index(25) + 1);
    let mut data = GraphData::default();
    let mut numbers: Vec<i64> = (0..people as i64 * 3).collect();
    random.shuffle(&mut numbers);
    let mut columns: [Vec<Value>; 4] = Default::default();
    for &number in numbers.iter().take(people) {
        columns[0].push(Value::Int(number));
        columns[1].push(if random.chance(20) { Value::Null } else { text(&mut random) });
        columns[2].push(if random.chance(30) { Value::Null } else { Value::Int(random.index(9) as i64) });
        columns[3].push(Value::Float(random.index(40) as f64 / 4.0));
    }
    data.nodes.push(group("Person", people, ["uid", "name", "age", "score"], &columns));
    let mut columns: [Vec<Value>; 4] = Default::default();
    for number in 0..places {
        columns[0].push(Value::string(&format!("p-{number:02}")));
        columns[1].push(text(&mut random));
        columns[2].push(Value::Float(random.index(20) as f64 + 0.5));
        columns[3].push(if random.chance(10) { Value::Null } else { Value::Float(random.index(20) as f64 - 9.75) });
    }
    data.nodes.push(group("Place", places, ["uid", "name", "lat", "lon"], &columns));
    let (people, places) = (0..people as u64, people as u64..(people + places) as u64);
    data.edges.push(edges(&mut random, "KNOWS", &people, &people, false, &[]));
    data.edges.push(edges(
        &mut random,
        "LIKES",
        &people,
        &places,
        false,
        &[("weight", |random| Value::Float(random.index(9) as f64 / 2.0))],
    ));
    data.edges.push(edges(&mut random, "VISITED", &people, &places, true, &[]));
    data.edges.push(edges(
        &mut random,
        "NEXT",
        &places,
        &places,
        false,
        &[("since", |random| Value::Int(random.index(5) as i64))],
    ));
    data.edges.push(edges(
        &mut random,
        "FRIEND",
        &people,
        &people,
        false,
        &[
            ("since", |random| Value::Int(random.index(5) as i64)),
            ("note", |random| if random.chance(40) { Value::Null } else { text(random) }),
        ],
    ));
    data
}

fn text(random: &mut SeededRandom) -> Value {
    Value::string(random.pick::<&str>(&["ann", "bob", "O'Neil", "a:b", "5x", "ünï \"q\", x", "line\nend"]))
}

fn group(label: &str, count: usize, names: [&str; 4], columns: &[Vec<Value>; 4]) -> NodeGroup {
    let properties = names.iter().zip(columns).map(|(name, values)| ((*name).to_owned(), Column::from_values(values)));
    NodeGroup { count, labels: vec![label.to_owned()], properties: properties.collect() }
}

type Make = fn(&mut SeededRandom) -> Value;

fn edges(
    random: &mut SeededRandom,
    edge_type: &str,
    sources: &std::ops::Range<u64>,
    targets: &std::ops::Range<u64>,
    may_repeat: bool,
    properties: &[(&str, Make)],
) -> EdgeGroup {
    let mut group = EdgeGroup { edge_type: edge_type.to_owned(), ..EdgeGroup::default() };
    let mut columns: Vec<Vec<Value>> = vec![Vec::new(); properties.len()];
    for _ in 0..random.index(150) {
        let source = sources.start + random.below(sources.end - sources.start);
        let target = targets.start + random.below(targets.end - targets.start);
        let is_there = group.sources.iter().zip(&group.targets).any(|(&s, &t)| (s, t) == (source, target));
        if is_there && !may_repeat {
            continue;
        }
        group.sources.push(source);
        group.targets.push(target);
        columns.iter_mut().zip(properties).for_each(|(column, (_, make))| column.push(make(random)));
    }
    let named =
        properties.iter().zip(&columns).map(|((name, _), values)| ((*name).to_owned(), Column::from_values(values)));
    group.properties = named.collect();
    group
}

/// The value of a node's `uid`.
pub(crate) fn uid(data: &GraphData, node: u64) -> Value {
    let people = data.nodes[0].count as u64;
    let (group, row) = if node < people { (0, node) } else { (1, node - people) };
    data.nodes[group].properties[0].1.value(row as usize)
}

/// The graph in the reference store.
pub(crate) fn reference(data: &GraphData) -> ReferenceStore {
    let store = ReferenceStore::new();
    data.load_into(&store).expect("the reference store takes the graph");
    store
}

/// The environment that a source needs of its database.
pub(crate) fn environment() -> Environment {
    Environment { memory: MemoryBudget::unlimited(), clock: Arc::new(CountingClock::default()) }
}

/// A source with its definition, as a graph.
pub(crate) fn store(definition: &GraphDefinition, connector: Arc<dyn Connector>) -> SourceStore {
    SourceStore::new(Arc::new(definition.clone()), connector, 3, environment())
        .expect("the source can be asked its sizes")
}
