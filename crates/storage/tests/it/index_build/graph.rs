//! A graph that random transactions change, and what indexes and constraints over it must hold.

use std::sync::atomic::{AtomicI64, Ordering};

use model::store::{EdgeIds, Expand, NewEdges, NewNodes};
use model::{
    Column, ColumnData, Constraint, Direction, EdgeBatch, EdgeId, EdgeTypeId, GraphStore, Index, IndexBatch, IndexScan,
    Interrupt, KeyOrder, KeyRange, LabelId, NodeId, PropertyKeyId, ReadView, Result, Rule, Subject, Value,
    WriteTransaction,
};
use storage::NativeStore;
use testing::random::SeededRandom;

const NAME: &str = "made";

/// The graph that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    NodeIndex,
    EdgeIndex,
    Unique,
    UniquePair,
    UniqueEdges,
    Exists,
}

pub(super) const KINDS: [Kind; 6] =
    [Kind::NodeIndex, Kind::EdgeIndex, Kind::Unique, Kind::UniquePair, Kind::UniqueEdges, Kind::Exists];

impl Kind {
    fn name(self) -> String {
        format!("{NAME} {self:?}")
    }

    pub(super) fn is_constraint(self) -> bool {
        !matches!(self, Kind::NodeIndex | Kind::EdgeIndex)
    }

    fn index(self, names: &Names) -> Index {
        let (subject, keys) = match self {
            Kind::NodeIndex => (Subject::Label(names.label), vec![names.value]),
            Kind::EdgeIndex => (Subject::EdgeType(names.edge_type), vec![names.value]),
            Kind::Unique | Kind::Exists => (Subject::Label(names.label), vec![names.number]),
            Kind::UniquePair => (Subject::Label(names.label), vec![names.number, names.value]),
            Kind::UniqueEdges => (Subject::EdgeType(names.edge_type), vec![names.number]),
        };
        Index { name: self.name().into(), subject, keys }
    }

    pub(super) fn make(self, transaction: &mut dyn WriteTransaction, interrupt: &Interrupt) -> Result<()> {
        let index = self.index(&Names::of(transaction));
        if !self.is_constraint() {
            return transaction.create_index(index, interrupt);
        }
        let Index { name, subject, keys } = index;
        let rule = if self == Kind::Exists { Rule::Exists } else { Rule::Unique };
        transaction.create_constraint(Constraint { name, subject, keys, rule }, interrupt)
    }

    pub(super) fn drop_from(self, transaction: &mut dyn WriteTransaction) {
        match self.is_constraint() {
            true => transaction.drop_constraint(&self.name()).unwrap(),
            false => transaction.drop_index(&self.name()).unwrap(),
        }
    }
}

/// The names of the graph: nodes of label `P` and edges of type `E`, each with a `number` of its own and some `value`.
#[derive(Clone, Copy)]
struct Names {
    label: LabelId,
    edge_type: EdgeTypeId,
    number: PropertyKeyId,
    value: PropertyKeyId,
}

impl Names {
    fn of(transaction: &mut dyn WriteTransaction) -> Names {
        Names {
            label: transaction.label("P").unwrap(),
            edge_type: transaction.edge_type("E").unwrap(),
            number: transaction.property_key("number").unwrap(),
            value: transaction.property_key("value").unwrap(),
        }
    }

    fn seen(view: &dyn ReadView) -> Names {
        let schema = view.schema();
        Names {
            label: schema.label("P").unwrap(),
            edge_type: schema.edge_type("E").unwrap(),
            number: schema.property_key("number").unwrap(),
            value: schema.property_key("value").unwrap(),
        }
    }
}

/// Gives out the numbers.
#[derive(Default)]
pub(super) struct Graph(AtomicI64);

fn ints(values: impl Iterator<Item = i64>) -> Column {
    Column::new(ColumnData::Int(values.collect()))
}

impl Graph {
    /// Makes `count` nodes and edges.
    pub(super) fn fill(store: &NativeStore, count: usize) -> Graph {
        let graph = Graph::default();
        let mut transaction = store.write().unwrap();
        let nodes = graph.nodes(&mut *transaction, count, &mut SeededRandom::new(1));
        let targets: Vec<NodeId> = nodes.iter().map(|node| NodeId(node.0 / 2)).collect();
        graph.edges(&mut *transaction, &nodes, &targets, &mut SeededRandom::new(2));
        transaction.commit().unwrap();
        graph
    }

    fn numbers(&self, count: usize) -> Column {
        let first = self.0.fetch_add(count as i64, Ordering::Relaxed);
        ints(first..first + count as i64)
    }

    fn nodes(&self, to: &mut dyn WriteTransaction, count: usize, random: &mut SeededRandom) -> Vec<NodeId> {
        let names = Names::of(to);
        let properties = [self.numbers(count), ints((0..count).map(|_| random.below(50) as i64))];
        let (labels, keys) = ([names.label], [names.number, names.value]);
        to.create_nodes(&NewNodes { count, labels: &labels, keys: &keys, properties: &properties }).unwrap()
    }

    fn edges(&self, to: &mut dyn WriteTransaction, sources: &[NodeId], targets: &[NodeId], random: &mut SeededRandom) {
        let names = Names::of(to);
        // Few values, so that parallel edges share entries.
        let values = ints((0..sources.len()).map(|_| random.below(3) as i64));
        let (properties, keys) = ([self.numbers(sources.len()), values], [names.number, names.value]);
        let new = NewEdges { edge_type: names.edge_type, sources, targets, keys: &keys, properties: &properties };
        to.create_edges(&new).unwrap();
    }

    /// Adds some nodes and edges, also between those that are there.
    pub(super) fn add(&self, to: &mut dyn WriteTransaction, random: &mut SeededRandom) {
        let count = 1 + random.index(3);
        let nodes = self.nodes(to, count, random);
        let targets: Vec<NodeId> = nodes.iter().map(|_| pick(to.view(), random)).collect();
        self.edges(to, &nodes, &targets, random);
        self.edges(to, &targets, &nodes, random);
        self.edges(to, &targets, &nodes, random);
    }

    /// Changes `count` things.
    pub(super) fn change(&self, to: &mut dyn WriteTransaction, random: &mut SeededRandom, count: usize) {
        let names = Names::of(to);
        for _ in 0..count {
            let node = pick(to.view(), random);
            let edges = edges_of(to.view(), &[node]);
            let value = Column::from_values(&[match random.below(4) {
                0 => Value::Null,
                _ => Value::Int(random.below(50) as i64),
            }]);
            match random.below(9) {
                0 | 1 => self.add(to, random),
                2 => to.set_node_properties(&[node], names.value, &value).unwrap(),
                3 => to.set_node_properties(&[node], names.number, &self.numbers(1)).unwrap(),
                4 if to.view().has_label(&[node], names.label).unwrap().get(0) => {
                    to.remove_labels(&[node], &[names.label]).unwrap();
                }
                4 => to.add_labels(&[node], &[names.label]).unwrap(),
                5 if !edges.is_empty() => {
                    to.set_edge_properties(&[*random.pick(&edges)], names.value, &value).unwrap();
                }
                6 if !edges.is_empty() => {
                    to.set_edge_properties(&[*random.pick(&edges)], names.number, &self.numbers(1)).unwrap();
                }
                7 if !edges.is_empty() => to.delete_edges(&[*random.pick(&edges)]).unwrap(),
                8 => {
                    to.delete_edges(&edges).unwrap();
                    to.delete_nodes(&[node]).unwrap();
                }
                _ => {}
            }
        }
    }

    /// Changes something in a transaction of its own.
    pub(super) fn commit(&self, store: &NativeStore, random: &mut SeededRandom) {
        let mut transaction = store.write().unwrap();
        let count = 1 + random.index(4);
        self.change(&mut *transaction, random, count);
        transaction.commit().unwrap();
    }

    /// Gives all edges one value.
    pub(super) fn set_all_edges(&self, to: &mut dyn WriteTransaction, value: i64) -> Result<()> {
        let names = Names::of(to);
        let nodes: Vec<NodeId> = (0..to.view().node_id_bound()).map(NodeId).collect();
        let edges = edges_of(to.view(), &nodes);
        to.set_edge_properties(&edges, names.value, &Column::constant(&Value::Int(value), edges.len()))
    }

    /// Breaks a constraint of a kind, together with what is there.
    pub(super) fn violate(&self, to: &mut dyn WriteTransaction, kind: Kind) {
        let names = Names::of(to);
        let nodes: Vec<NodeId> = (0..to.view().node_id_bound()).map(NodeId).collect();
        let values = to.view().node_properties(&nodes, &[names.number, names.value]).unwrap();
        let has_label = to.view().has_label(&nodes, names.label).unwrap();
        let is_whole = |&row: &usize| has_label.get(row) && !values[0].is_null(row) && !values[1].is_null(row);
        let row = (0..nodes.len()).find(is_whole).unwrap();
        let properties: Vec<Column> = values.iter().map(|column| Column::from_values(&[column.value(row)])).collect();
        let (labels, keys) = ([names.label], [names.number, names.value]);
        let kept = if kind == Kind::Exists { 1..2 } else { 0..2 };
        let new = NewNodes { count: 1, labels: &labels, keys: &keys[kept.clone()], properties: &properties[kept] };
        to.create_nodes(&new).unwrap();
    }

    /// Compares what was made with what is there.
    pub(super) fn check(&self, view: &dyn ReadView, kind: Kind, place: &str) {
        let names = Names::seen(view);
        let index = kind.index(&names);
        let schema = view.schema();
        let is_there =
            schema.indexes.iter().map(|index| &index.name).chain(schema.constraints.iter().map(|held| &held.name));
        assert_eq!(
            is_there.filter(|name| **name == index.name).count(),
            usize::from(kind.is_there_twice()) + 1,
            "{place}"
        );
        let found = match index.subject {
            Subject::Label(label) => nodes_by_values(view, label, &index.keys),
            Subject::EdgeType(_) => edges_by_values(view, &index.keys),
        };
        match kind {
            Kind::Exists => {
                assert_eq!(found.len(), nodes_by_values(view, names.label, &[]).len(), "{place}: all have one");
            }
            Kind::Unique => {
                let values: Vec<Value> = found.iter().map(|(values, _)| values[0].clone()).collect();
                let owners = view.lookup(names.label, names.number, &Column::from_values(&values)).unwrap();
                for (row, (values, node)) in found.into_iter().enumerate() {
                    let owner = owners.value(row);
                    assert!(matches!(owner, Value::Node(owner) if owner.0 == node), "{place}: {values:?} is {owner:?}");
                }
            }
            _ => assert_eq!(scanned(view, index), found, "{place}"),
        }
    }
}

impl Kind {
    /// True if a constraint has an index of its name.
    fn is_there_twice(self) -> bool {
        matches!(self, Kind::UniquePair | Kind::UniqueEdges)
    }
}

/// A node that is there.
fn pick(view: &dyn ReadView, random: &mut SeededRandom) -> NodeId {
    loop {
        let node = NodeId(random.below(view.node_id_bound()));
        if view.nodes_exist(&[node]).unwrap().get(0) {
            return node;
        }
    }
}

fn expand(
    view: &dyn ReadView,
    from: &[NodeId],
    direction: Direction,
    keys: &[PropertyKeyId],
) -> Vec<(EdgeId, Vec<Value>)> {
    let expand = Expand { direction, edge_ids: EdgeIds::Include, keys: keys.to_vec(), ..Expand::default() };
    let (mut cursor, mut batch, mut found) = (view.expand(from, &expand).unwrap(), EdgeBatch::default(), Vec::new());
    while cursor.next(&mut batch).unwrap() {
        for row in 0..batch.len() {
            found.push((batch.edges[row], batch.properties.iter().map(|column| column.value(row)).collect()));
        }
    }
    found
}

fn edges_of(view: &dyn ReadView, nodes: &[NodeId]) -> Vec<EdgeId> {
    let mut edges: Vec<EdgeId> = expand(view, nodes, Direction::Both, &[]).into_iter().map(|(edge, _)| edge).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Values and the nodes that have them, in order of both.
type Entries = Vec<(Vec<Value>, u64)>;

fn sorted(mut entries: Entries) -> Entries {
    entries.retain(|(values, _)| !values.iter().any(Value::is_null));
    let key = |values: &[Value]| -> Vec<i64> {
        let int = |value: &Value| if let Value::Int(value) = value { *value } else { panic!("{value:?}") };
        values.iter().map(int).collect()
    };
    entries.sort_unstable_by_key(|(values, id)| (key(values), *id));
    entries
}

fn nodes_by_values(view: &dyn ReadView, label: LabelId, keys: &[PropertyKeyId]) -> Entries {
    let nodes: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
    let (columns, has_label) = (view.node_properties(&nodes, keys).unwrap(), view.has_label(&nodes, label).unwrap());
    let rows = (0..nodes.len()).filter(|&row| has_label.get(row));
    sorted(rows.map(|row| (columns.iter().map(|column| column.value(row)).collect(), nodes[row].0)).collect())
}

fn edges_by_values(view: &dyn ReadView, keys: &[PropertyKeyId]) -> Entries {
    let nodes: Vec<NodeId> = (0..view.node_id_bound()).map(NodeId).collect();
    sorted(expand(view, &nodes, Direction::Out, keys).into_iter().map(|(edge, values)| (values, edge.0)).collect())
}

/// All that an index has.
fn scanned(view: &dyn ReadView, index: Index) -> Entries {
    let keys = index.keys.clone();
    let scan = IndexScan { index, equal: vec![], rows: 1, range: KeyRange::All, order: KeyOrder::Ascending };
    let (mut cursor, mut batch) = (view.index_scan(&scan).unwrap(), IndexBatch::default());
    let mut found = Vec::new();
    while cursor.next(&mut batch).unwrap() {
        let edges: Vec<EdgeId> = batch.edges.iter().map(|edge| edge.id).collect();
        let of_nodes = view.node_properties(&batch.nodes, &keys).unwrap();
        let of_edges = view.edge_properties(&edges, &keys).unwrap();
        let values = |columns: &[Column], row: usize| columns.iter().map(|column| column.value(row)).collect();
        found.extend((0..batch.nodes.len()).map(|row| (values(&of_nodes, row), batch.nodes[row].0)));
        found.extend((0..edges.len()).map(|row| (values(&of_edges, row), edges[row].0)));
    }
    sorted(found)
}
