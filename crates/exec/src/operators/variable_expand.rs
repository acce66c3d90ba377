//! `VariableExpand`: for each row, the paths of `min` to `max` edges from a node, no edge twice in one path.
//!
//! Paths grow level by level in batches ([`walk`]), on a stack in a temporary file where they do not fit ([`spilled`]). Of
//! the longest ones the last edge is not kept, but followed as `Expand` does, where nobody asks for the edges ([`last_hop`]).
//! Paths between two bound nodes grow from both sides ([`both_ends`]). If only the distinct ends matter, nodes are
//! visited once instead ([`reach`]), for all rows together where nobody asks for the row ([`together`]), for all pairs with a node in
//! common together ([`shared_end`]), or once for each length below the least ([`far`]), for all rows together too ([`far_together`]).

mod both_ends;
mod entries;
mod far;
mod far_together;
mod last_hop;
mod level;
mod origins;
mod reach;
mod round;
mod running;
mod shared_end;
mod spilled;
mod together;
mod used;
mod walk;

use std::sync::Arc;

use cypher::plan::{OperatorKind, SearchSelector};
use model::{Column, ColumnData, Direction, EdgeValue, NodeId, Result, Value};

use crate::chunk::Chunk;
use crate::edge_filter::EdgeFilter;
use crate::lowering::{Demand, Lowered, Lowering, column_of, columns_of, keep, misplaced};
use crate::operators::path_search::Pattern;
use crate::rows::{gather_columns, node_at, nodes_in};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};
use both_ends::{Aim, BothEnds, Outcome, Pair};
use last_hop::LastHop;
use shared_end::{Searches, SharedEnd};

pub(crate) struct VariableExpand {
    input: Step,
    from: usize,
    direction: Direction,
    types: Vec<Arc<str>>,
    min: u32,
    max: u32,
    /// The column of the end, if it is bound.
    bound: Option<usize>,
    gives_edges: bool,
    gives_node: bool,
    filter: Option<EdgeFilter>,
    distinct_from: Vec<usize>,
    keep: Vec<usize>,
    /// True if only the distinct ends matter.
    only_ends: bool,
    /// Pattern that finds a way back to the start where the ends are visited once and edges have no direction.
    round: Option<Pattern>,
    /// True if an edge may come twice in one path.
    repeats: bool,
    /// Tells paths that need not be made longer.
    running: Option<running::Running>,
    /// Follows the last edge of the longest paths, if these are not kept.
    last_hop: Option<LastHop>,
    /// A few paths may be enough: short ones are given before longer ones are made.
    few: bool,
}

/// Lowers `VariableExpand`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::VariableExpand {
        input,
        from,
        direction,
        types,
        min,
        max,
        edges,
        to,
        into,
        filter,
        distinct_from,
        repeats,
        running,
    } = kind
    else {
        return Err(misplaced(kind));
    };
    let mut below = demand.clone().without(edges).and_slots([from]).and_slots(distinct_from);
    below = if *into { below.and_slots([to]) } else { below.without([to]) };
    below = EdgeFilter::demand(filter.as_ref(), below);
    if let Some(running) = running {
        below = below.and_expression(running);
    }
    let (input, layout) = lowering.lower(input, &below)?;
    let from = column_of(&layout, *from)?;
    let bound = if *into { Some(column_of(&layout, *to)?) } else { None };
    let distinct_from = columns_of(&layout, distinct_from)?;
    let plan_filter = filter.as_ref();
    let filter = filter.as_ref().map(|filter| EdgeFilter::compile(lowering, filter, &layout)).transpose()?;
    let running = running.as_deref().map(|it| running::Running::compile(lowering, it, &layout)).transpose()?.flatten();
    let gives_edges = edges.is_some_and(|edges| demand.slots.contains(&edges));
    let gives_node = !into && demand.slots.contains(to);
    let may_merge = !gives_edges && running.is_none() && !demand.multiplicity;
    // A path is as good as its first part if nobody asks for the end either.
    let max = if may_merge && !into && !gives_node { Some(*min) } else { *max };
    let (keep, kept) = keep(&layout, demand);
    let only_ends = may_merge && (keep.is_empty() || pays_to_visit(max, distinct_from.len()));
    let is_round = only_ends && *min == 1 && *direction == Direction::Both && !repeats;
    let round = || Pattern::round(lowering, (types, max), plan_filter, SearchSelector::Shortest(1), &layout);
    let round = is_round.then(round).transpose()?;
    let mut layout = kept;
    for slot in edges.filter(|_| gives_edges).into_iter().chain(gives_node.then_some(*to)) {
        layout.push(slot);
    }
    let mut expand = VariableExpand {
        input,
        from,
        direction: *direction,
        types: types.clone(),
        min: *min,
        max: max.unwrap_or(u32::MAX),
        bound,
        gives_edges,
        gives_node,
        filter,
        distinct_from,
        keep,
        only_ends,
        round,
        repeats: *repeats,
        running,
        last_hop: None,
        few: demand.few,
    };
    expand.last_hop = LastHop::of(&expand);
    Ok((Box::new(expand), layout))
}

/// True if to visit nodes for each row costs less than to make paths of at most `max` edges that must differ from those in some columns.
fn pays_to_visit(max: Option<u32>, distinct_from: usize) -> bool {
    distinct_from == 0 || max.is_none_or(|max| max >= FAR_EDGES_MIN)
}

/// With fewer edges than this there is little to gain from visiting nodes once, for each length or where edges must differ from others.
const FAR_EDGES_MIN: u32 = 3;

/// Pairs of nodes between which paths are looked for together.
const PAIRS: usize = 128;

/// Paths found: for each the row it belongs to, where it ends, and its edges if they are wanted.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    ends: Vec<NodeId>,
    edges: Vec<Value>,
    /// Number of these edges.
    length: usize,
}

impl Found {
    /// Adds pairs that a path joins, of which nothing else is wanted.
    fn add(&mut self, pairs: &[Pair]) {
        self.rows.extend(pairs.iter().map(|pair| pair.row));
        self.ends.extend(pairs.iter().map(|pair| pair.end));
    }
}

impl VariableExpand {
    /// True if a path of a row may end at a node.
    fn is_end(&self, chunk: &Chunk, row: u32, node: NodeId) -> bool {
        self.bound.is_none_or(|bound| node_at(&chunk.columns[bound], row as usize) == Some(node))
    }

    /// True if each end can be found by its shortest walk alone.
    fn visits_once(&self) -> bool {
        // A shortest walk to another node comes to no node twice (else the part between could be left out), so it goes
        // along no edge twice and is a path; with it, no longer path to that node is of use, for it has at least `min`
        // edges as soon as `min` is at most 1. The same holds of the shortest way round along directed edges, which comes
        // to no other node twice. Against that, going along an undirected edge and back is a walk but no path, so there
        // the way round is sought by itself; and with a `min` of 2 the shortest walk may be too short. Where edges must differ from
        // those of the row, it is the shortest walk without these.
        self.only_ends && self.min <= 1
    }

    /// Gives the paths of the rows of a chunk.
    fn expand<'w, 'r>(
        &'w self,
        runtime: &'w Runtime<'r>,
        chunk: &Chunk,
        searches: &mut Searches<'w, 'r>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let (nodes, rows) = nodes_in(&chunk.columns[self.from], "the start of a pattern")?;
        let rows = rows.unwrap_or_else(|| (0..chunk.rows as u32).collect());
        if let Some(bound) = self.bound.filter(|_| self.running.is_none() && BothEnds::suits(runtime.view().view())) {
            let ends = rows.iter().map(|&row| node_at(&chunk.columns[bound], row as usize));
            let pairs = rows.iter().zip(nodes.iter()).zip(ends);
            let pairs = pairs.filter_map(|((&row, &start), end)| Some(Pair { row, start, end: end? }));
            return self.between(runtime, chunk, pairs.collect(), searches, sink);
        }
        if self.visits_once() {
            return reach::Reach::new(self, runtime, chunk)?.run(rows.into_iter().zip(nodes.iter().copied()), sink);
        }
        if !self.only_ends || self.bound.is_some() || self.max < FAR_EDGES_MIN {
            return walk::Walk::new(self, runtime, chunk, rows, nodes.into_owned(), self.min).run(sink);
        }
        for (row, &start) in rows.into_iter().zip(nodes.iter()) {
            if self.far_of_row(runtime, chunk, row, start, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Gives the paths between known nodes.
    fn between<'w, 'r>(
        &'w self,
        runtime: &'w Runtime<'r>,
        chunk: &Chunk,
        pairs: Vec<Pair>,
        searches: &mut Searches<'w, 'r>,
        sink: &mut Sink<'_>,
    ) -> Result<Flow> {
        let aim = match (self.only_ends, self.min <= 1) {
            (false, _) => Aim::All,
            (true, false) => Aim::Any,
            (true, true) => Aim::Nearest,
        };
        let is_round = |pair: &Pair| aim == Aim::Nearest && self.round.is_some() && pair.start == pair.end;
        let (rounds, others): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(is_round);
        if !rounds.is_empty() {
            let starts = rounds.iter().map(|pair| (pair.row, pair.start));
            if reach::Reach::new(self, runtime, chunk)?.run(starts, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        let may_share = aim == Aim::Nearest
            && self.distinct_from.is_empty()
            && self.filter.as_ref().is_none_or(EdgeFilter::is_same_for_all_rows);
        let (shared, others) = if may_share { shared_end::groups(others) } else { (Vec::new(), others) };
        for group in shared {
            if SharedEnd::run((self, runtime), chunk, group, searches, sink)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        for pairs in others.chunks(PAIRS) {
            if self.pairs(runtime, chunk, aim, pairs, self.min, sink)?.0 == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Gives the paths of at least `min` edges between known nodes: from both ends, or one pair by one where these take
    /// too much memory together, or from the start. Tells how many edges were looked at from both ends.
    fn pairs(
        &self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        aim: Aim,
        pairs: &[Pair],
        min: u32,
        sink: &mut Sink<'_>,
    ) -> Result<(Flow, u64)> {
        let mut search = BothEnds::new(self, runtime, chunk, aim, pairs.to_vec());
        let outcome = search.run(min, sink)?;
        let followed = search.followed;
        drop(search);
        let (length, left) = match outcome {
            Outcome::Over(flow) => return Ok((flow, followed)),
            Outcome::Refused(length, left) => (length, left),
        };
        for pair in &left {
            let flow = match aim {
                _ if pairs.len() > 1 => self.pairs(runtime, chunk, aim, &[*pair], length, sink)?.0,
                Aim::Nearest => reach::Reach::new(self, runtime, chunk)?.run([(pair.row, pair.start)], sink)?,
                _ => {
                    let mut walk = walk::Walk::new(self, runtime, chunk, vec![pair.row], vec![pair.start], length);
                    walk.end = Some(pair.end);
                    walk.run(sink)?
                }
            };
            if flow == Flow::Stop {
                return Ok((Flow::Stop, followed));
            }
        }
        Ok((Flow::Continue, followed))
    }

    /// Pushes what was found so far.
    fn flush(&self, chunk: &Chunk, found: &mut Found, sink: &mut Sink<'_>) -> Result<Flow> {
        let Found { rows, ends, edges, .. } = std::mem::take(found);
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        let mut columns = gather_columns(chunk, &self.keep, &rows);
        if self.gives_edges {
            columns.push(Arc::new(Column::new(ColumnData::Value(edges))));
        }
        if self.gives_node {
            columns.push(Arc::new(Column::new(ColumnData::Node(ends))));
        }
        sink(Chunk { rows: rows.len(), columns })
    }
}

/// A list of edges as a value.
pub(crate) fn edge_list(edges: impl IntoIterator<Item = EdgeValue>) -> Value {
    Value::list(edges.into_iter().map(Value::Edge).collect())
}

impl Physical for VariableExpand {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        if self.searches_together() {
            return self.run_together(scope, sink);
        }
        let mut searches = Searches::default();
        self.input.run(scope, &mut |chunk| self.expand(scope.runtime, &chunk, &mut searches, sink))
    }
}
