//! The waist: a property graph that is read and written in batches, all that queries and analytics know of data.
//!
//! Designed for stores a network away as much as for our own files: one call per batch, never per node or edge;
//! hints about what comes next; a statement of what the store can do itself. Few methods are required; the others
//! have correct, slow defaults, so that a new store works on its first day.

pub mod by_scan;
pub mod chosen;
mod element_id;
mod filtered;
mod known_ends;
mod runs;
mod topology;

use std::ops::Range;
use std::sync::Arc;

use crate::Map;
use crate::batch::{EdgeBatch, EdgeBlock, NodeBatch};
use crate::column::{Bitmap, Column, ColumnBuilder, ColumnData};
use crate::condition::Condition;
use crate::course::Course;
use crate::edge_range::{EdgeRange, EdgeTop};
use crate::error::Result;
use crate::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use crate::index_scan::{IndexCursor, IndexScan, KeyOrder};
use crate::interrupt::Interrupt;
use crate::pattern_query::GraphPattern;
use crate::schema::{Constraint, Index, Schema, SortKey};
use crate::statistics::Statistics;
use crate::value::{EdgeValue, Value};

pub use self::element_id::{ElementId, NO_EDGE_NUMBER, element_ids_by_number, find_by_expanding};
pub use self::filtered::scan_filtered;
pub use self::known_ends::{Ends, KnownEnds, Leads};
pub use self::runs::{EdgeRunCursor, RUN_BLOCK_EDGES, RunScan, runs_by_stream};
pub use self::topology::{EdgeDelta, Freshness, Moment, Topology};

/// Capabilities of a store. A planner may push work down only where the answer is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// `write` works.
    pub writes: bool,
    /// Node ids are dense, below `ReadView::node_id_bound`, so that arrays may be indexed by them and scans split.
    pub dense_node_ids: bool,
    /// Edges can be followed from target to source at about the cost of the other way.
    pub expands_against_direction: bool,
    /// `lookup` uses an index for unique constraints.
    pub looks_up_by_key: bool,
    /// `edge_partitions` answers.
    pub streams_edges: bool,
    /// A round trip is expensive (a network lies between): prefer fewer, larger batches.
    pub is_remote: bool,
    /// Writing makes the labels, edge types and property keys that it names, properties take values of any type, and
    /// constraints, indexes and sort keys can be declared. Elsewhere the schema is that of the tables: names it lacks fail
    /// with `ARGUMENT`, changes of labels and of rules with `READ_ONLY`.
    pub flexible_schema: bool,
}

/// Direction in which the edges of a node are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Edges that start at the node.
    #[default]
    Out,
    /// Edges that end at the node.
    In,
    /// All edges of the node; a self-loop comes once.
    Both,
}

impl Direction {
    /// The direction seen from the other end.
    #[must_use]
    pub fn reverse(self) -> Direction {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
            Direction::Both => Direction::Both,
        }
    }
}

/// Request for nodes, and for what to bring along.
#[derive(Clone, Debug, Default)]
pub struct NodeScan {
    /// Nodes must carry all of these; empty for all nodes.
    pub labels: Vec<LabelId>,
    /// Properties to bring along.
    pub keys: Vec<PropertyKeyId>,
    /// Only ids in this range (for parallel scans); only where ids are dense.
    pub range: Option<Range<u64>>,
    /// Conditions that must hold, as far as [`ReadView::takes`] says that the store tests them; it may pass over the others.
    /// [`scan_filtered`] tests those itself.
    pub filter: Vec<Condition<PropertyKeyId>>,
    /// Nodes that are enough, of those for which the conditions hold. A store may give others too.
    pub first: Option<FirstNodes>,
}

/// The first nodes in an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstNodes {
    /// Properties that they are ordered by, as `ORDER BY` does, and the direction of each; none for any nodes.
    pub order: Vec<(PropertyKeyId, KeyOrder)>,
    /// Number of nodes.
    pub limit: u64,
}

/// The parts of a scan that a store does itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// For each condition of [`NodeScan::filter`], whether no node is given for which it does not hold.
    pub filter: Vec<bool>,
    /// True if about as many nodes are read as [`NodeScan::first`] says.
    pub first: bool,
}

/// Request for edges to follow from a batch of nodes, and for what to bring along. By default all that start at a node.
///
/// Every store honours `ranges` and `top` exactly; one that has nothing better calls [`chosen::expand_chosen`].
#[derive(Clone, Debug, Default)]
pub struct Expand {
    /// Direction to follow.
    pub direction: Direction,
    /// Edges must be of one of these types; `None` for any type. Each type at most once.
    pub types: Option<Vec<EdgeTypeId>>,
    /// Inclusion of edge ids in the result.
    pub edge_ids: EdgeIds,
    /// Properties to bring along.
    pub keys: Vec<PropertyKeyId>,
    /// Edges must lie in all of these ranges.
    pub ranges: Vec<EdgeRange>,
    /// Of the edges left of each input node only the first few; an input named twice gets them twice.
    pub top: Option<EdgeTop>,
}

impl Expand {
    /// True if edges are chosen by their properties.
    pub fn is_chosen(&self) -> bool {
        !self.ranges.is_empty() || self.top.is_some()
    }
}

/// Choice of whether an expansion tells edge ids, which may cost a search for each edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeIds {
    /// `EdgeBatch::edges` stays empty.
    #[default]
    Omit,
    /// `EdgeBatch::edges` is filled.
    Include,
}

/// Requests that will come soon: advice that a store may use to fetch ahead.
#[derive(Clone, Debug)]
pub enum AccessHint<'a> {
    /// These nodes will be expanded so.
    Expand(&'a [NodeId], &'a Expand),
    /// These properties of these nodes will be read.
    NodeProperties(&'a [NodeId], &'a [PropertyKeyId]),
    /// Nodes on this course will be expanded so, until another is told.
    Course(&'a Course, &'a Expand),
}

/// A request to a store, for callers that ask how it would be carried out.
#[derive(Clone, Copy, Debug)]
pub enum Access<'a> {
    /// Nodes found by label.
    Scan(&'a NodeScan),
    /// Nodes found by the unique value of a property.
    Lookup(LabelId, PropertyKeyId),
    /// Nodes or edges found in an ordered index.
    Index(&'a IndexScan),
    /// Edges followed from a batch of nodes.
    Expand(&'a Expand),
    /// Properties of nodes of a label (`None`: any) that were found before.
    NodeProperties(Option<LabelId>, &'a [PropertyKeyId]),
    /// Number of nodes or edges.
    Count(&'a Count),
    /// Matches of a pattern, or groups of them.
    Pattern(&'a GraphPattern),
}

/// Nodes or edges to count.
#[derive(Clone, Debug, PartialEq)]
pub enum Count {
    /// Nodes that carry all of these labels; all nodes if there are none.
    Nodes(Vec<LabelId>),
    /// Nodes that carry all of these labels and for which all conditions hold.
    Matching(Vec<LabelId>, Vec<Condition<PropertyKeyId>>),
    /// Edges of one of these types; all edges if `None`. Each type at most once.
    Edges(Option<Vec<EdgeTypeId>>),
}

/// A property graph.
pub trait GraphStore: Send + Sync {
    /// Capabilities of the store.
    fn capabilities(&self) -> Capabilities;
    /// A view of one moment, which is that of its first question where the store is remote. What is committed later does
    /// not show in it; it never blocks writers.
    fn read(&self) -> Result<Arc<dyn ReadView>>;
    /// Begins a transaction that may write. Many may be open at a time; whether they wait for each other here or are
    /// compared when they commit is the store's affair. Fails with `READ_ONLY` where writing is not possible.
    fn write(&self) -> Result<Box<dyn WriteTransaction>>;
    /// Begins a transaction of that isolation; the default knows [`IsolationLevel::Snapshot`] only.
    fn write_isolated(&self, isolation: IsolationLevel) -> Result<Box<dyn WriteTransaction>> {
        match isolation {
            IsolationLevel::Snapshot => self.write(),
            IsolationLevel::Serializable => {
                Err(crate::error!(Unsupported, "this store has no serializable transactions, only snapshot isolation"))
            }
        }
    }

    /// Like [`GraphStore::write_isolated`], for what is tried again: where the store can see to it, nobody else commits
    /// before the transaction has ended.
    fn write_alone(&self, isolation: IsolationLevel) -> Result<Box<dyn WriteTransaction>> {
        self.write_isolated(isolation)
    }
}

/// Protection of a transaction from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    /// It reads one moment, and of two that write the same thing only the first can commit. Two that read what the other
    /// writes may both commit (write skew).
    #[default]
    Snapshot,
    /// It commits only if all that it read is still so: as if transactions ran one after the other.
    Serializable,
}

/// A cursor over nodes.
pub trait NodeCursor {
    /// Clears `out` and fills it with up to about `BATCH_ROWS` further nodes; false, with `out` empty, at the end.
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool>;
}

/// A cursor over the edges of an expansion.
pub trait EdgeCursor {
    /// Clears `out` and fills it with up to about `BATCH_ROWS` further edges; false, with `out` empty, at the end.
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool>;

    /// Makes the next batches have at most that many edges, and at least one: the caller may have enough of a few. Stores that make
    /// whole batches at no less cost leave them as they are.
    fn limit_batches(&mut self, _rows: usize) {}
}

/// A cursor over the rows of a pattern query.
pub trait RowCursor {
    /// Further rows, with the columns that were asked for; `None` at the end.
    fn next(&mut self) -> Result<Option<Vec<Column>>>;
}

/// A cursor over the edges of a partition.
pub trait EdgeBlockCursor: Send {
    /// Clears `out` and fills it with further edges; false, with `out` empty, at the end.
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool>;
}

/// Everything at one moment.
///
/// Contract: ids that the view never gave out may be asked for; nodes that do not exist have no labels, properties or
/// edges. A property key or label id that the schema lacks is treated as absent everywhere.
pub trait ReadView: Send + Sync {
    /// The names and constraints of this moment.
    fn schema(&self) -> &Schema;

    /// The counts of this moment.
    fn statistics(&self) -> &Statistics;

    /// Counts to choose plans by. Unlike those of `statistics` no answer may rest on them, so that a serializable
    /// transaction need not rely on them.
    fn estimates(&self) -> &Statistics {
        self.statistics()
    }

    /// Capabilities of the store.
    fn capabilities(&self) -> Capabilities;

    /// One more than the largest node id, where ids are dense; otherwise 0.
    fn node_id_bound(&self) -> u64;

    /// Finds nodes.
    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>>;

    /// The parts of a scan that the store does itself; none by default.
    fn takes(&self, _scan: &NodeScan) -> Taken {
        Taken::default()
    }

    /// Follows edges from a batch of nodes. `from` may name a node twice.
    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>>;

    /// One column for each key: the properties of each node, null where it has none.
    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>>;

    /// One column for each key: the properties of each edge, null where it has none.
    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>>;

    /// For each node, its labels in order of their ids.
    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>>;

    /// For each node, whether it exists and carries the label.
    fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        Ok(self.node_labels(nodes)?.iter().map(|labels| labels.contains(&label)).collect())
    }

    /// For each node, whether it exists.
    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap>;

    /// For each edge, whether it exists.
    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap>;

    /// For each edge, its number: the same in every view for the life of the edge, and never that of another, not even
    /// after the edge is gone. Below [`NO_EDGE_NUMBER`], which is given for an id that names no edge.
    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>>;

    /// For each edge a text that names it as its number does, and by which it is found.
    fn element_ids(&self, edges: &[EdgeValue]) -> Result<Vec<Arc<str>>> {
        element_ids_by_number(self, edges)
    }

    /// The edges of element ids; `None` where the edge is gone, or the text is the element id of none.
    fn find_edges(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        find_by_expanding(self, element_ids)
    }

    /// For each node, all its properties.
    fn all_node_properties(&self, nodes: &[NodeId]) -> Result<Vec<Vec<(PropertyKeyId, Value)>>> {
        let keys: Vec<PropertyKeyId> = (0..self.schema().property_keys.len() as u32).map(PropertyKeyId).collect();
        let columns = self.node_properties(nodes, &keys)?;
        Ok(rows_of_properties(nodes.len(), &keys, &columns))
    }

    /// For each edge, all its properties.
    fn all_edge_properties(&self, edges: &[EdgeId]) -> Result<Vec<Vec<(PropertyKeyId, Value)>>> {
        let keys: Vec<PropertyKeyId> = (0..self.schema().property_keys.len() as u32).map(PropertyKeyId).collect();
        let columns = self.edge_properties(edges, &keys)?;
        Ok(rows_of_properties(edges.len(), &keys, &columns))
    }

    /// For each value, the node of that label whose property equals it, under a uniqueness constraint on that
    /// label and key; a column of nodes with nulls. The default scans the label.
    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        lookup_by_scan(self, label, key, values)
    }

    /// Reads an ordered index of the schema: for each row of equal values, the nodes or edges in order. Fails with
    /// `SCHEMA` if there is no such index. The default reads everything and sorts.
    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        by_scan::index_by_scan(self, scan)
    }

    /// For each node, how many edges an expansion would find. The default expands.
    fn degrees(&self, from: &[NodeId], direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        let expand = Expand { direction, types: types.map(<[_]>::to_vec), ..Expand::default() };
        let mut degrees = vec![0; from.len()];
        let mut cursor = self.expand(from, &expand)?;
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch)? {
            batch.inputs.iter().for_each(|&input| degrees[input as usize] += 1);
        }
        Ok(degrees)
    }

    /// For each node, how many edges lead from it to itself. The default compares degrees.
    fn loops(&self, nodes: &[NodeId], types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        let of = |direction| self.degrees(nodes, direction, types);
        let (out, back, both) = (of(Direction::Out)?, of(Direction::In)?, of(Direction::Both)?);
        Ok((0..nodes.len()).map(|at| (out[at] + back[at]).saturating_sub(both[at])).collect())
    }

    /// Number of nodes or edges, where the store can tell without giving them out; `None` otherwise.
    fn count(&self, _count: &Count) -> Result<Option<u64>> {
        Ok(None)
    }

    /// The rows of a pattern query, where the store matches patterns itself; `None` otherwise.
    fn query_pattern<'a>(&'a self, _query: &GraphPattern) -> Result<Option<Box<dyn RowCursor + 'a>>> {
        Ok(None)
    }

    /// The statements, in the language of a foreign database, that an access sends to it, for `EXPLAIN`; none for a store
    /// that sends none. Parameters stand in them by number.
    fn statements(&self, _access: &Access<'_>) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Advice about what comes next; may be ignored.
    fn prefetch(&self, _hint: &AccessHint<'_>) {}

    /// Gives back what the view holds of another database, such as a transaction whose locks others wait for. What is read
    /// afterwards may be of a later moment.
    fn release(&self) {}

    /// True if the store fetches by itself what lies on the course of a search: then the search need not run ahead.
    fn follows_courses(&self) -> bool {
        false
    }

    /// The edges as sequential streams, where the store has them so.
    fn edge_partitions(&self) -> Option<&dyn EdgePartitions> {
        None
    }

    /// All edges of the stream's types, as blocks in any order, where the store can give them without being asked node
    /// by node; `None` otherwise. No ids are given. Edges at ids that are no nodes may be among them: the caller knows
    /// the nodes.
    fn all_edges<'a>(&'a self, _stream: &EdgeStream) -> Result<Option<Box<dyn EdgeBlockCursor + 'a>>> {
        Ok(None)
    }

    /// One of so many parts of what [`ReadView::all_edges`] gives, numbered from 0: each edge is in one part, and always in
    /// the same. Several threads may read parts at once. `None` where edges do not come in parts; the answer is the same for
    /// all parts.
    fn all_edges_part<'a>(
        &'a self,
        _stream: &EdgeStream,
        _part: usize,
        _parts: usize,
    ) -> Result<Option<Box<dyn EdgeBlockCursor + 'a>>> {
        Ok(None)
    }

    /// When what the view gave out was read from a store that keeps what it read.
    fn freshness(&self) -> Freshness {
        Freshness::default()
    }

    /// The name of the state of all that is read; `None` if it has none, as in a transaction, or if reads must be known.
    fn moment(&self) -> Option<Moment> {
        None
    }

    /// The place for what is found out about the state that is read; `None` where it has no [`moment`](ReadView::moment).
    fn known_ends(&self) -> Option<&KnownEnds> {
        None
    }

    /// The name of the state of the edges; `None` if it has none, as in a transaction that changed edges itself.
    fn topology(&self) -> Option<Topology> {
        None
    }

    /// The edges that came and went from an earlier state to this one; `None` if that is not known, or is no shorter than
    /// reading the edges anew.
    fn edges_since(&self, _before: &Topology) -> Result<Option<EdgeDelta>> {
        Ok(None)
    }
}

fn rows_of_properties(rows: usize, keys: &[PropertyKeyId], columns: &[Column]) -> Vec<Vec<(PropertyKeyId, Value)>> {
    (0..rows)
        .map(|row| {
            let present = keys.iter().zip(columns).filter(|(_, column)| !column.is_null(row));
            present.map(|(&key, column)| (key, column.value(row))).collect()
        })
        .collect()
}

/// Default of [`ReadView::lookup`]: scans the label and compares. For stores that have an index for some keys.
pub fn lookup_by_scan<V: ReadView + ?Sized>(
    view: &V,
    label: LabelId,
    key: PropertyKeyId,
    values: &Column,
) -> Result<Column> {
    let mut wanted: Map<Value, Option<NodeId>> = values.values().map(|value| (value, None)).collect();
    let scan = NodeScan { labels: vec![label], keys: vec![key], ..NodeScan::default() };
    let mut cursor = view.scan(&scan)?;
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch)? {
        for (row, &node) in batch.nodes.iter().enumerate() {
            let value = batch.properties[0].value(row);
            // Null and NaN equal nothing, themselves not either.
            if let Some(found) = wanted.get_mut(&value)
                && value.equals(&value) == Some(true)
            {
                *found = Some(node);
            }
        }
    }
    let mut nodes = ColumnBuilder::default();
    values.values().for_each(|value| nodes.push(&wanted[&value].map_or(Value::Null, Value::Node)));
    Ok(nodes.finish())
}

/// The edges of a view as partitions, each with the edges whose target lies in one interval of node ids.
///
/// The partitions together hold every edge of the view once; their intervals may overlap.
pub trait EdgePartitions: Sync {
    /// Number of partitions.
    fn count(&self) -> usize;
    /// The interval of target ids of a partition.
    fn interval(&self, partition: usize) -> Range<u64>;
    /// Number of edges of these types (`None`: any) that a partition holds.
    fn edge_count(&self, partition: usize, types: Option<&[EdgeTypeId]>) -> u64;
    /// Reads a partition from start to end: edge type by edge type, each sorted by source, then target (by source,
    /// then sort key, where the type has one), except for unmerged writes, which come in blocks of their own.
    /// `sources` restricts to a range of source ids.
    fn stream(&self, partition: usize, stream: &EdgeStream) -> Result<Box<dyn EdgeBlockCursor + '_>>;
    /// Reads a partition by node, in either direction: edge type by edge type, the runs of each ascending by node, except
    /// for unmerged writes, which come in blocks of their own. Within a run neighbors ascend, where the type has no sort
    /// key. Ids must fit into 32 bits; fails with `UNSUPPORTED` where one does not.
    fn runs<'a>(&'a self, partition: usize, scan: &'a RunScan<'a>) -> Result<Box<dyn EdgeRunCursor + 'a>> {
        runs_by_stream(self, partition, scan)
    }
}

/// Request for edges of a partition.
#[derive(Clone, Debug, Default)]
pub struct EdgeStream {
    /// Edges must be of one of these types; `None` for any type.
    pub types: Option<Vec<EdgeTypeId>>,
    /// Only edges whose source is in this range.
    pub sources: Option<Range<u64>>,
    /// Properties to bring along.
    pub keys: Vec<PropertyKeyId>,
    /// Inclusion of edge ids in the result.
    pub edge_ids: EdgeIds,
}

/// New nodes that have the same labels and the same property keys.
#[derive(Clone, Debug)]
pub struct NewNodes<'a> {
    /// Number of nodes.
    pub count: usize,
    /// Their labels.
    pub labels: &'a [LabelId],
    /// The keys of their properties.
    pub keys: &'a [PropertyKeyId],
    /// One column for each key, `count` rows each; null means that the node has no such property.
    pub properties: &'a [Column],
}

/// New edges of one type that have the same property keys.
#[derive(Clone, Debug)]
pub struct NewEdges<'a> {
    /// Their type.
    pub edge_type: EdgeTypeId,
    /// Source node of each edge.
    pub sources: &'a [NodeId],
    /// Target node of each edge; as many as `sources`.
    pub targets: &'a [NodeId],
    /// The keys of their properties.
    pub keys: &'a [PropertyKeyId],
    /// One column for each key, a row for each edge; null means that the edge has no such property.
    pub properties: &'a [Column],
}

/// Progress of a transaction at one moment: what `rollback_to` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(pub u64);

/// The writing of one transaction. Nothing shows to others before `commit`; dropped without it, nothing happened.
///
/// Contract: each call either happens whole or fails and changes nothing; after one that was stopped, since nobody waits for it any
/// more, a store may ask for a way back to a savepoint before anything else, and refuses to commit. Ids stay valid until the transaction ends; the
/// ids of nodes also after it was committed.
pub trait WriteTransaction: Send + Sync {
    /// The graph as this transaction has left it so far.
    fn view(&self) -> &dyn ReadView;

    /// The id of a label, made if new.
    fn label(&mut self, name: &str) -> Result<LabelId>;
    /// The id of an edge type, made if new.
    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId>;
    /// The id of a property key, made if new.
    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId>;

    /// Adds nodes; fails with `CONSTRAINT` if a unique value is taken.
    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>>;
    /// Adds edges; fails with `NOT_FOUND` if an end is not there.
    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>>;
    /// Sets one property of each node, a row each; null removes it. A later row for the same node wins.
    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()>;
    /// Sets one property of each edge, a row each; null removes it. A later row for the same edge wins.
    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()>;
    /// Adds labels to nodes.
    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()>;
    /// Takes labels from nodes.
    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()>;
    /// Deletes edges; those already gone are passed over.
    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()>;
    /// Deletes nodes; those already gone are passed over; fails with `STILL_CONNECTED` if one has edges.
    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()>;

    /// Adds a constraint, checked against what is there, with the index that keeps its values, saying how far it has come;
    /// fails with `SCHEMA` if the name or rule exists.
    fn create_constraint(&mut self, constraint: Constraint, interrupt: &Interrupt) -> Result<()>;
    /// Drops a constraint by name, with its index; fails with `SCHEMA` if there is none.
    fn drop_constraint(&mut self, name: &str) -> Result<()>;
    /// Adds an ordered index over what is there, saying how far it has come; fails with `SCHEMA` if the name, or one like it, exists.
    fn create_index(&mut self, index: Index, _interrupt: &Interrupt) -> Result<()> {
        Err(crate::error!(Unsupported, "index {}: this store keeps no indexes", index.name))
    }
    /// Drops an index by name; fails with `SCHEMA` if there is none, or if a constraint needs it.
    fn drop_index(&mut self, name: &str) -> Result<()> {
        Err(crate::error!(SchemaRule, "no index is named {name}"))
    }

    /// Declares that edges of a type are kept in the order of these properties, which come once each and are one at
    /// least; fails with `SCHEMA` if the type has a sort key already. Answers stay what they were.
    fn set_sort_key(&mut self, sort_key: SortKey) -> Result<()>;
    /// Takes back the sort key of a type; fails with `SCHEMA` if there is none.
    fn drop_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()>;

    /// From now on values that must be unique may be so only in the end: they are compared by [`check_deferred`], not by each
    /// call that sets properties or adds labels. Until then [`ReadView::lookup`] finds one of those that have a value.
    /// `rollback_to` ends it too. A store that cannot do so compares them in each call as before.
    ///
    /// [`check_deferred`]: WriteTransaction::check_deferred
    fn defer_unique(&mut self) {}
    /// Compares what was deferred: fails with `CONSTRAINT` if two values are equal that must not be.
    fn check_deferred(&mut self) -> Result<()> {
        Ok(())
    }

    /// Says what is about to be made because it was not there, as hashes of what it is: of two transactions that claim the
    /// same and do not see each other only one can commit. Claims outlive `rollback_to`.
    fn claim(&mut self, _hashes: &[u64]) {}

    /// Says whether a statement runs in it from now on. Others wait as long as one runs, where they have to wait for this
    /// transaction at all; they do not wait long for one in which nothing is done.
    fn set_at_work(&mut self, _is_at_work: bool) {}

    /// Marks this point, so that a statement that fails can be undone alone.
    fn savepoint(&mut self) -> Savepoint;
    /// Undoes everything since that point.
    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()>;

    /// Makes it durable, then visible. After an error nothing of it is visible. Fails with `CONFLICT` if what it wrote was
    /// written by another since it began; then the whole transaction may be tried again.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// The node ids of a column; `None` in rows that are null or hold no node.
pub fn nodes_of(column: &Column) -> Vec<Option<NodeId>> {
    match &column.data {
        ColumnData::Node(nodes) => {
            (0..nodes.len()).map(|row| if column.is_null(row) { None } else { Some(nodes[row]) }).collect()
        }
        _ => column.values().map(|value| if let Value::Node(node) = value { Some(node) } else { None }).collect(),
    }
}
