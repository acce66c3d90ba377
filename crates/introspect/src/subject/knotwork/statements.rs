//! The operations as statements, and what their results say.

use std::sync::Arc;

use database::outlook::{Action, Outlook};
use database::{Parameters, QueryResult, ResultBatch, ResultSink, Session};
use model::{Direction, Result, Value, error};

use super::writes::new_value;
use super::{Counts, ITERATIONS, Names, checksum_of, integer, lists};
use crate::operations::{Filter, Operation};
use crate::subject::Start;
use crate::subject::workload::{self, Statement};

pub(in crate::subject) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn quoted_or_none(name: Option<&(model::PropertyKeyId, String)>) -> String {
    quoted(name.map_or("", |(_, name)| name))
}

/// A pattern of one relationship from `n`, with what stands in its brackets.
fn pattern(direction: Direction, inside: &str) -> String {
    match direction {
        Direction::Out => format!("(n)-[{inside}]->(b)"),
        Direction::In => format!("(n)<-[{inside}]-(b)"),
        Direction::Both => format!("(n)-[{inside}]-(b)"),
    }
}

/// The statement of an operation. `$i` and `$j` are ids of nodes, `$k` is the key of the first, `$v`
/// an integer to be set.
pub(in crate::subject) fn text(operation: Operation, names: &Names) -> String {
    let by_id = |returned: &str| format!("MATCH (n) WHERE id(n) = $i RETURN {returned}");
    let inside = |filter: Filter| match (filter, &names.edge_type) {
        (Filter::Type, Some((_, name))) => format!(":{}", quoted(name)),
        (Filter::Property, _) => "r".to_owned(),
        _ => String::new(),
    };
    match operation {
        Operation::EmptyStatement => "RETURN 1".to_owned(),
        Operation::NodeByKey => {
            let names = names.key.as_ref().map(|((_, label), (_, key))| (quoted(label), quoted(key)));
            let (label, key) = names.unwrap_or_default();
            format!("MATCH (n:{label} {{{key}: $k}}) RETURN id(n)")
        }
        Operation::NodeInteger => by_id(&format!("n.{}", quoted_or_none(names.integer.as_ref()))),
        Operation::NodeString => by_id(&format!("n.{}", quoted_or_none(names.string.as_ref()))),
        Operation::NodeLabels => by_id("size(labels(n))"),
        Operation::Degree(direction) => by_id(&format!("COUNT {{ {} }}", pattern(direction, "").replace("(b)", "()"))),
        Operation::FirstNeighbor(direction, filter) => {
            format!("MATCH {} WHERE id(n) = $i RETURN id(b) LIMIT 1", pattern(direction, &inside(filter)))
        }
        Operation::Neighbors(direction, filter) => {
            let property = format!(", r.{}", quoted_or_none(names.of_edge.as_ref()));
            let property = if filter == Filter::Property { &property } else { "" };
            format!("MATCH {} WHERE id(n) = $i RETURN id(b){property}", pattern(direction, &inside(filter)))
        }
        Operation::Hops(direction, hops) => {
            let pattern = pattern(direction, &format!("*1..{hops}"));
            format!("MATCH {pattern} WHERE id(n) = $i AND b <> n RETURN count(DISTINCT b)")
        }
        Operation::ShortestPath => "CALL algo.shortest_path({sourceNode: $i, targetNode: $j, direction: 'BOTH'}) \
                                    YIELD distance, nodesExpanded RETURN distance, nodesExpanded"
            .to_owned(),
        Operation::Bfs => {
            "CALL algo.bfs.stats({sourceNode: $i, direction: 'BOTH'}) YIELD nodesReached RETURN nodesReached".to_owned()
        }
        Operation::Components => "CALL algo.wcc.stats() YIELD componentCount RETURN componentCount".to_owned(),
        Operation::PageRank => format!(
            "CALL algo.pagerank.stats({{maxIterations: {ITERATIONS}, tolerance: 0.0}}) \
             YIELD ranIterations RETURN ranIterations"
        ),
        Operation::Triangles => {
            "CALL algo.triangleCount.stats() YIELD globalTriangleCount RETURN globalTriangleCount".to_owned()
        }
        Operation::AddNode => "CREATE ()".to_owned(),
        Operation::AddEdge => {
            let edge_type = quoted(names.edge_type.as_ref().map_or("", |(_, name)| name));
            format!("MATCH (a), (b) WHERE id(a) = $i AND id(b) = $j CREATE (a)-[:{edge_type}]->(b)")
        }
        Operation::SetProperty => {
            format!("MATCH (n) WHERE id(n) = $i SET n.{} = $v", quoted_or_none(names.integer.as_ref()))
        }
        _ => by_id("id(n)"),
    }
}

/// Looks at the outlook of a statement, and does not let it run.
struct Judged(Option<Outlook>);

impl ResultSink for Judged {
    fn admits(&mut self, outlook: &Outlook) -> bool {
        self.0 = Some(*outlook);
        false
    }

    fn columns(&mut self, _: &[Arc<str>]) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, _: ResultBatch) -> Result<bool> {
        Ok(false)
    }
}

/// Compiles statements without running them, and fails if one does not only read.
pub(super) fn check_reads(session: &mut Session, workload: &[Statement]) -> Result<()> {
    for statement in workload {
        for text in statement.texts() {
            let mut judged = Judged(None);
            // A mistake is told where the statement is measured.
            let _ = session.run(text, &Parameters::default(), &mut judged);
            let Some(outlook) = judged.0.filter(|outlook| outlook.action != Action::Read) else { continue };
            let why = if outlook.calls_procedure { ": it calls a procedure that does" } else { "" };
            let failed = error!(Argument, "statement '{}' writes{why}", statement.name.text());
            return Err(failed.with_remedy("leave the statement out: only statements that read are measured"));
        }
    }
    Ok(())
}

/// The text and the parameters of a call of an operation.
pub(in crate::subject) fn call(
    operation: Operation,
    names: &Names,
    workload: &[Statement],
    start: &Start,
) -> Result<(Arc<str>, Parameters)> {
    match operation {
        Operation::Statement(name) => Ok(workload::find(workload, name)?.call(start)),
        _ => Ok((text(operation, names).into(), parameters(start))),
    }
}

/// The parameters of statements from a start.
pub(in crate::subject) fn parameters(start: &Start) -> Parameters {
    Parameters::from_iter([
        ("i".into(), Value::Int(start.node.cast_signed())),
        ("j".into(), Value::Int(start.target.cast_signed())),
        ("k".into(), start.key.clone().unwrap_or(Value::Null)),
        ("v".into(), Value::Int(new_value(start))),
    ])
}

/// Rows, checksum and counts of a result, in a graph of that number of nodes and edges.
pub(in crate::subject) fn outcome(
    operation: Operation,
    result: &QueryResult,
    (nodes, edges): (u64, u64),
) -> (u64, u64, Counts) {
    let rows = result.row_count() as u64;
    let first = |column: usize| {
        result.batches.iter().find(|batch| batch.rows > 0).map_or(0, |batch| integer(&batch.columns[column], 0))
    };
    let of_rows = result.batches.iter().map(|batch| checksum_of(std::slice::from_ref(&*batch.columns[0])));
    let checksum = of_rows.fold(0, u64::wrapping_add);
    let whole = |neighborhoods: u64, edges: u64, passes: u64| Counts {
        neighborhoods: neighborhoods * passes,
        edges: edges * passes,
        unique_nodes: nodes,
        passes,
        ..Counts::default()
    };
    match operation {
        Operation::Neighbors(direction, filter) | Operation::FirstNeighbor(direction, filter) => {
            let properties = if filter == Filter::Property { rows } else { 0 };
            let neighborhoods = lists(direction);
            let counts = Counts { neighborhoods, edges: rows, properties, ..Counts::default() };
            (rows, checksum, counts)
        }
        Operation::Hops(..) => {
            let found = first(0);
            (found, found, Counts { unique_nodes: found, ..Counts::default() })
        }
        Operation::NodeLabels | Operation::Degree(_) => (1, first(0), Counts::default()),
        Operation::NodeById => (rows, rows, Counts::default()),
        Operation::NodeInteger | Operation::NodeString => {
            (rows, checksum, Counts { properties: 1, ..Counts::default() })
        }
        Operation::ShortestPath => {
            let counts = Counts { path_length: first(0), neighborhoods: first(1), ..Counts::default() };
            (rows, first(0), counts)
        }
        Operation::Bfs => (1, first(0), whole(2 * first(0), 2 * edges, 1)),
        Operation::Components => (1, first(0), whole(2 * nodes, 2 * edges, 1)),
        Operation::PageRank => (1, first(0), whole(nodes, edges, first(0).max(1))),
        Operation::Triangles => (1, first(0), whole(nodes, 2 * edges, 1)),
        operation if operation.is_write() => (1, 0, Counts::default()),
        _ => (rows, checksum, Counts::default()),
    }
}
