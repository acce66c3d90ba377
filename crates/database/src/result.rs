//! Result of a statement: columns in batches, with the nodes and edges that stand in them.

use std::sync::Arc;

pub use cypher::{Hint, HintKind};
use exec::heap_bytes;
use exec::identity::{numbered, rename};
use exec::profile::Counters;
use model::meter::Meter;
use model::{Column, ColumnData, EdgeId, EdgeValue, Map, NodeId, PropertyKeyId, ReadView, Result, Value};

use crate::phases::Phases;
use crate::picture;
use crate::plan_report::PlanReport;

/// Contents of a node, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRecord {
    /// Its labels.
    pub labels: Vec<Arc<str>>,
    /// Its properties.
    pub properties: Vec<(Arc<str>, Value)>,
}

/// Contents of an edge, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeRecord {
    /// Its type.
    pub edge_type: Arc<str>,
    /// Its properties.
    pub properties: Vec<(Arc<str>, Value)>,
}

/// The nodes and edges that stand in rows, as they were when the rows were made.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    /// Nodes.
    pub nodes: Map<NodeId, NodeRecord>,
    /// Edges, by their numbers.
    pub edges: Map<EdgeId, EdgeRecord>,
}

/// Rows of a result.
#[derive(Clone)]
pub struct ResultBatch {
    /// One column for each of the result's.
    pub columns: Vec<Arc<Column>>,
    /// Rows in it.
    pub rows: usize,
    /// The nodes and edges that stand in it.
    pub entities: Entities,
}

/// Summary of a statement's run, given after its rows.
#[derive(Clone, Debug, Default)]
pub struct StatementSummary {
    /// Changes that it made.
    pub counters: Counters,
    /// The plan as a table, for `EXPLAIN` and `PROFILE`.
    pub plan: Option<String>,
    /// The plan with its figures, for `EXPLAIN` and `PROFILE`.
    pub report: Option<Box<PlanReport>>,
    /// Hints at what is probably not meant, though it is no error: a name that the store has never seen.
    pub hints: Vec<Hint>,
    /// The most bytes that its operators held in memory at a time.
    pub memory_peak: u64,
    /// Bytes that it wrote to temporary files because they did not fit.
    pub spilled_bytes: u64,
    /// Nanoseconds from its text to its last row.
    pub time_ns: u64,
    /// The same by phases.
    pub phases: Phases,
    /// Counts of all its threads, and the sum of the time that they waited.
    pub counts: Meter,
}

impl StatementSummary {
    /// The summary of a statement that tells its plan, or does not, and its hints.
    #[inline]
    pub(crate) fn of_plan(report: Option<PlanReport>, hints: Vec<Hint>) -> StatementSummary {
        let plan = report.as_ref().map(|report| report.text().to_string());
        StatementSummary { plan, report: report.map(Box::new), hints, ..StatementSummary::default() }
    }
}

/// A whole result, held in memory.
#[derive(Default)]
pub struct QueryResult {
    /// The names of the columns.
    pub columns: Vec<Arc<str>>,
    /// The rows.
    pub batches: Vec<ResultBatch>,
    /// Summary of the statement's run.
    pub summary: StatementSummary,
}

impl QueryResult {
    /// Rows in all.
    pub fn row_count(&self) -> usize {
        self.batches.iter().map(|batch| batch.rows).sum()
    }

    /// All rows in order, as values.
    pub fn rows(&self) -> impl Iterator<Item = Vec<Value>> + '_ {
        self.batches
            .iter()
            .flat_map(|batch| (0..batch.rows).map(|row| batch.columns.iter().map(|column| column.value(row)).collect()))
    }

    /// The value of a result of one row and one column.
    pub fn single(&self) -> Option<Value> {
        match (self.columns.len(), self.row_count()) {
            (1, 1) => self.rows().next().and_then(|mut row| row.pop()),
            _ => None,
        }
    }

    /// The nodes and edges that stand in all rows.
    pub fn entities(&self) -> Entities {
        let mut all = Entities::default();
        for batch in &self.batches {
            all.nodes.extend(batch.entities.nodes.iter().map(|(id, record)| (*id, record.clone())));
            all.edges.extend(batch.entities.edges.iter().map(|(id, record)| (*id, record.clone())));
        }
        all
    }
}

/// Bytes of values that a batch has at most, unless one row has more: with each node and edge in them comes its record.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// A batch, cut into such with not too many values: few rows may hold long lists.
pub(crate) fn pieces<'c>(columns: &'c [Arc<Column>], rows: usize) -> Vec<Vec<Arc<Column>>> {
    let values = |column: &'c Arc<Column>| match &column.data {
        ColumnData::Value(values) => Some(&values[..]),
        _ => None,
    };
    let nested: Vec<&[Value]> = columns.iter().filter_map(values).collect();
    let (mut pieces, mut start, mut bytes) = (Vec::new(), 0, 0);
    let piece = |start: usize, end: usize| columns.iter().map(|column| Arc::new(column.slice(start, end))).collect();
    for row in 0..if nested.is_empty() { 0 } else { rows } {
        let more = nested.iter().map(|values| heap_bytes(&values[row])).sum::<usize>();
        if row > start && bytes + more > BATCH_BYTES_MAX {
            pieces.push(piece(start, row));
            (start, bytes) = (row, 0);
        }
        bytes += more;
    }
    pieces.push(if start == 0 { columns.to_vec() } else { piece(start, rows) });
    pieces
}

/// Rows with what is needed to show their nodes and edges.
pub(crate) fn hydrate(kept: Vec<(Vec<Arc<Column>>, usize)>, view: &dyn ReadView) -> Result<Vec<ResultBatch>> {
    let hydrate = |(mut columns, rows): (Vec<Arc<Column>>, usize)| {
        Ok(ResultBatch { entities: Entities::of_columns(&mut columns, view)?, columns, rows })
    };
    kept.into_iter().map(hydrate).collect()
}

impl Entities {
    /// True if nodes or edges may stand in columns.
    pub(crate) fn may_stand_in(columns: &[Arc<Column>]) -> bool {
        let may = |column: &Arc<Column>| {
            matches!(column.data, ColumnData::Node(_) | ColumnData::Edge(_) | ColumnData::Value(_))
        };
        columns.iter().any(may)
    }

    /// Reads what stands in columns of a view, in one call of the store for all nodes and few for all edges. The edges get
    /// their numbers as ids, in the columns as well.
    pub fn of_columns(columns: &mut [Arc<Column>], view: &dyn ReadView) -> Result<Entities> {
        let mut nodes = Vec::new();
        let mut edges = Vec::new();
        for column in columns.iter() {
            if Entities::may_stand_in(std::slice::from_ref(column)) {
                column.values().for_each(|value| collect(&value, &mut nodes, &mut edges));
            }
        }
        nodes.sort_unstable();
        nodes.dedup();
        edges.sort_unstable();
        edges.dedup();
        let drawn_nodes: Vec<(NodeId, NodeRecord)> = drawn(&mut nodes, |&node| {
            let (labels, properties) = picture::of_label(picture::label_of(node)?, view);
            Some((node, NodeRecord { labels, properties }))
        });
        let drawn_edges: Vec<(EdgeId, EdgeRecord)> = drawn(&mut edges, |edge| {
            let (edge_type, properties) = picture::is_edge(edge).then(|| picture::of_type(edge, view))?;
            Some((edge.id, EdgeRecord { edge_type, properties }))
        });
        let numbers = numbered(&edges, view)?;
        rename(columns, &numbers);
        let records = read_edges(&edges, view)?.into_iter();
        let mut edges: Map<EdgeId, EdgeRecord> = records.map(|(id, record)| (numbers[&id].id, record)).collect();
        edges.extend(drawn_edges);
        let mut nodes = read_nodes(nodes, view)?;
        nodes.extend(drawn_nodes);
        Ok(Entities { nodes, edges })
    }
}

/// Takes out of `all` what stands for the schema; see [`picture`].
fn drawn<T, R>(all: &mut Vec<T>, record: impl Fn(&T) -> Option<R>) -> Vec<R> {
    let records: Vec<R> = all.iter().filter_map(&record).collect();
    if !records.is_empty() {
        all.retain(|one| record(one).is_none());
    }
    records
}

fn collect(value: &Value, nodes: &mut Vec<NodeId>, edges: &mut Vec<EdgeValue>) {
    match value {
        Value::Node(node) => nodes.push(*node),
        Value::Edge(edge) => edges.push(*edge),
        Value::Path(path) => {
            nodes.extend(&path.nodes);
            edges.extend_from_slice(&path.edges);
        }
        Value::List(items) => items.iter().for_each(|item| collect(item, nodes, edges)),
        Value::Map(map) => map.values().for_each(|item| collect(item, nodes, edges)),
        _ => {}
    }
}

fn read_nodes(nodes: Vec<NodeId>, view: &dyn ReadView) -> Result<Map<NodeId, NodeRecord>> {
    if nodes.is_empty() {
        return Ok(Map::default());
    }
    let labels = view.node_labels(&nodes)?;
    let properties = view.all_node_properties(&nodes)?;
    let schema = view.schema();
    let label = |id: &model::LabelId| Arc::from(schema.label_name(*id));
    let record = |(labels, properties): (Vec<model::LabelId>, _)| NodeRecord {
        labels: labels.iter().map(label).collect(),
        properties: named(properties, view),
    };
    Ok(nodes.into_iter().zip(labels.into_iter().zip(properties).map(record)).collect())
}

fn read_edges(edges: &[EdgeValue], view: &dyn ReadView) -> Result<Map<EdgeId, EdgeRecord>> {
    if edges.is_empty() {
        return Ok(Map::default());
    }
    let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
    let properties = view.all_edge_properties(&ids)?;
    let record = |(edge, properties): (&EdgeValue, _)| {
        let edge_type = Arc::from(view.schema().edge_type_name(edge.edge_type));
        (edge.id, EdgeRecord { edge_type, properties: named(properties, view) })
    };
    Ok(edges.iter().zip(properties).map(record).collect())
}

fn named(properties: Vec<(PropertyKeyId, Value)>, view: &dyn ReadView) -> Vec<(Arc<str>, Value)> {
    properties.into_iter().map(|(key, value)| (Arc::from(view.schema().property_key_name(key)), value)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::{Column, Value};

    use super::pieces;

    #[test]
    fn pieces_are_the_batch_and_only_long_rows_are_cut_off() {
        let list = |length: usize| Value::list(vec![Value::string("a text of some bytes"); length]);
        for lengths in [
            vec![],
            vec![1],
            vec![3; 2_000],
            vec![20_000; 3],
            vec![100_000, 1, 1, 100_000, 100_000, 1],
            vec![9_000; 20],
        ] {
            let values: Vec<Value> = lengths.iter().map(|&length| list(length)).collect();
            let numbers: Vec<Value> = (0..lengths.len() as i64).map(Value::Int).collect();
            let columns = [Arc::new(Column::from_values(&numbers)), Arc::new(Column::from_values(&values))];
            let pieces = pieces(&columns, lengths.len());
            let all: Vec<(Value, Value)> =
                pieces.iter().flat_map(|piece| piece[0].values().zip(piece[1].values())).collect();
            assert_eq!(all, numbers.into_iter().zip(values).collect::<Vec<_>>());
            let most = pieces.iter().map(|piece| piece[0].len()).max();
            match lengths.first() {
                Some(20_000..) => assert!(most <= Some(3) && pieces.len() > 2, "{lengths:?}"),
                Some(9_000) => assert!(most <= Some(2), "{most:?}"),
                _ => assert_eq!(pieces.len(), 1),
            }
        }
    }
}
