//! Patterns that lie in the source as a whole: matched by it, with nothing kept here.

use model::pattern_query::{PatternColumn, PatternEdge};
use model::store::RowCursor;
use model::{Column, ColumnData, EdgeTypeId, ErrorCode, GraphPattern, LabelId, NodeId, Result, error};

use super::layout::Layout;
use super::scan::{FIRST_ROWS, GROWTH, ROWS_MAX};
use super::view::SourceView;
use crate::connector::{KindPattern, Question, StreamId};
use crate::keys;

/// A pattern whose nodes and edges are each of one kind; `None` if they may be of several, or of none, or of another part
/// of the graph.
pub(super) fn by_kind(layout: &Layout, asked: &GraphPattern) -> Option<KindPattern> {
    let is_here = |edge: &usize| !layout.edges[*edge].ends.iter().any(|&space| layout.is_foreign(space));
    let of_type = |of| (0..layout.edges.len()).filter(move |&edge| layout.edges[edge].edge_type == of);
    let all: Vec<&PatternEdge<EdgeTypeId>> =
        asked.edges.iter().chain(asked.tests.iter().map(|test| &test.edge)).collect();
    let mut edges: Vec<Vec<usize>> = all.iter().map(|edge| of_type(edge.of).filter(is_here).collect()).collect();
    let mut nodes: Vec<Vec<usize>> = asked.nodes.iter().map(|node| layout.kinds_of(&node.of)).collect();
    // Ends narrow what edges may be, and edges what nodes may be, until nothing changes. An edge that must not be there says
    // nothing of the node that has none.
    let says_nothing = |edge: usize, node: usize| {
        let test = edge.checked_sub(asked.edges.len()).map(|test| &asked.tests[test]);
        test.is_some_and(|test| test.is_absent && test.inner != node)
    };
    loop {
        let count = |kinds: &[Vec<usize>]| kinds.iter().map(Vec::len).sum::<usize>();
        let before = count(&nodes) + count(&edges);
        for (number, (edge, kinds)) in all.iter().zip(&mut edges).enumerate() {
            kinds.retain(|&kind| {
                let [source, target] = layout.edges[kind].ends;
                nodes[edge.source].contains(&source) && nodes[edge.target].contains(&target)
            });
            for (side, node) in [edge.source, edge.target].into_iter().enumerate() {
                if !says_nothing(number, node) {
                    nodes[node].retain(|held| kinds.iter().any(|&kind| layout.edges[kind].ends[side] == *held));
                }
            }
        }
        if count(&nodes) + count(&edges) == before {
            break;
        }
    }
    // Edges of the type that lead to other parts would be left out.
    let crosses = |edge: usize| !is_here(&edge);
    if all.iter().any(|edge| of_type(edge.of).any(crosses)) {
        return None;
    }
    let one = |kinds: &Vec<usize>| if let [kind] = kinds[..] { Some(kind) } else { None };
    let nodes: Vec<usize> = nodes.iter().map(one).collect::<Option<_>>()?;
    let edges: Vec<usize> = edges.iter().map(one).collect::<Option<_>>()?;
    let node = |at: usize, _: &Vec<LabelId>| Some(nodes[at]);
    asked.renamed(&node, &|at, _| Some(edges[at]), &|at, key| layout.nodes[nodes[at]].properties.get(key).copied())
}

impl SourceView {
    /// The rows of a pattern query, if the source matches it.
    pub(super) fn match_pattern(&self, asked: &GraphPattern) -> Result<Option<Rows<'_>>> {
        let Some(asked) = by_kind(&self.shared.layout, asked) else { return Ok(None) };
        if self.shared.connector.statement(&Question::Pattern(&asked)).is_none() {
            return Ok(None);
        }
        let mut rows = Rows { view: self, asked, stream: None, rows_next: FIRST_ROWS, first: None };
        // The source may find that it cannot answer.
        match rows.pull() {
            Ok(first) => rows.first = Some(first),
            Err(error) if error.code() == ErrorCode::Unsupported => return Ok(None),
            Err(error) => return Err(error),
        }
        Ok(Some(rows))
    }
}

/// Rows that are pulled from the source piece by piece.
pub(super) struct Rows<'a> {
    view: &'a SourceView,
    asked: KindPattern,
    stream: Option<StreamId>,
    rows_next: usize,
    /// The first piece, until it is given.
    first: Option<Option<Vec<Column>>>,
}

impl Rows<'_> {
    fn pull(&mut self) -> Result<Option<Vec<Column>>> {
        let (link, question) = (&self.view.link, Question::Pattern(&self.asked));
        let stream = match self.stream {
            Some(stream) => stream,
            None => *self.stream.insert(link.start(&question)?),
        };
        let Some(mut columns) = link.more(stream, self.rows_next, &question)? else { return Ok(None) };
        self.rows_next = (self.rows_next * GROWTH).min(ROWS_MAX);
        let expected = self.asked.columns.len();
        if columns.len() != expected {
            return Err(error!(Internal, "a connector gave {} columns, {expected} were asked for", columns.len()));
        }
        let shared = &self.view.shared;
        for (column, asked) in columns.iter_mut().zip(&self.asked.columns) {
            if let PatternColumn::Node(at) = asked {
                let (kind, mut numbers) = (self.asked.nodes[*at].of, Vec::with_capacity(column.len()));
                shared.keys.encode(kind, column, &mut numbers)?;
                let base = keys::id_base(shared.layout.member, kind);
                let nodes = numbers.into_iter().map(|number| NodeId(base | number)).collect();
                *column = Column::new(ColumnData::Node(nodes));
            }
        }
        let rows = columns.first().map_or(0, Column::len) as u64;
        self.view.cache.count_passed(rows);
        Ok(Some(columns))
    }
}

impl RowCursor for Rows<'_> {
    fn next(&mut self) -> Result<Option<Vec<Column>>> {
        match self.first.take() {
            Some(first) => Ok(first),
            None => self.pull(),
        }
    }
}

impl Drop for Rows<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            self.view.link.stop(stream);
        }
    }
}
