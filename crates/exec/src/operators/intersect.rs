//! `Intersect`: for each row, the nodes to which an edge leads from each of several bound nodes.
//!
//! The bound nodes of a row that change least from row to row come first: what their lists have in common is kept, and
//! marked in a bitmap, for as long as they stay the same, so that for each row only the list of the last node is looked at.
//! Three ways to give the result: the nodes; the nodes with their edges; and counted ([`lower_counted`]), when the consumer
//! only wants to know how many there are, of all nodes or of each.
//!
//! Cost: for each row the shortest of the lists, or a search in the longer one for each node of the shorter.
//! After: Ngo, Ré, Rudra, "Skew strikes back", 2013.

mod held;
mod two_lists;
mod used_edges;

use std::sync::Arc;

use cypher::plan::{IntersectLeg, Operator, OperatorKind, SlotId};
use model::{Column, ColumnData, EdgeValue, NodeId, Result};

use crate::chunk::{Chunk, Layout};
use crate::lowering::{Demand, Lowered, Lowering, column_of, keep, misplaced};
use crate::neighbor_lists::{List, ListKind, ListReader, Lists, Numbers};
use crate::rows::{gather_columns, node_at};
use crate::runtime::{Flow, Physical, Runtime, Scope, Sink, Step};
use held::Common;
use used_edges::{Ends, UsedEdges};

/// Number of rows by which a list is loaded into the processor's caches ahead of being read.
const FETCH_AHEAD: usize = 4;
/// The most rows of one node that are made before they are passed on.
const ROWS_AT_ONCE: usize = 1 << 12;

struct Intersect {
    input: Step,
    /// The columns with the nodes that legs start from and with the ends of edges they must differ from.
    columns: Vec<usize>,
    legs: Vec<Leg>,
    gives_node: bool,
    gives_edges: bool,
    output: Output,
    keep: Vec<usize>,
}

/// The use made of the nodes found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// A row for each combination of edges.
    Each,
    /// A row for each node, however many edges lead there.
    Once,
    /// A row for each input row that has any.
    Any,
    /// A row for each input row that has any, with how many.
    Count,
    /// A row for each node, with the number of combinations of edges that lead there.
    CountEach,
}

/// An edge that leads to the node.
struct Leg {
    /// Among the columns of the operator.
    from: usize,
    kind: ListKind,
    gives_edge: bool,
    distinct_from: Vec<Ends>,
    /// Earlier legs from whose edges this one must differ.
    distinct_legs: Vec<usize>,
}

/// Lowers `Intersect`.
pub(crate) fn lower(lowering: &mut Lowering, kind: &OperatorKind, demand: &Demand) -> Result<Lowered> {
    let OperatorKind::Intersect { to, .. } = kind else { return Err(misplaced(kind)) };
    let output = match (demand.multiplicity, demand.slots.contains(to)) {
        (true, _) => Output::Each,
        (false, true) => Output::Once,
        (false, false) => Output::Any,
    };
    let (operator, layout) = lower_to(lowering, kind, demand, output)?;
    Ok((Box::new(operator), layout))
}

/// Lowers a plan counted, if it is an `Intersect` whose edges nobody reads: its rows, and the slot that says for how many rows
/// each stands.
pub(crate) fn lower_counted(
    lowering: &mut Lowering,
    plan: &Operator,
    demand: &Demand,
) -> Result<Option<(Step, Layout, SlotId)>> {
    let OperatorKind::Intersect { to, legs, .. } = &plan.kind else { return Ok(None) };
    if legs.iter().any(|leg| gives_edge(leg, demand)) {
        return Ok(None);
    }
    let output = if demand.slots.contains(to) { Output::CountEach } else { Output::Count };
    let (operator, mut layout) = lower_to(lowering, &plan.kind, demand, output)?;
    let count = lowering.hidden_slot();
    layout.push(count);
    Ok(Some((Step { id: plan.id, operator: Box::new(operator), in_parts: false }, layout, count)))
}

fn gives_edge(leg: &IntersectLeg, demand: &Demand) -> bool {
    leg.edge.is_some_and(|edge| demand.slots.contains(&edge))
}

fn lower_to(
    lowering: &mut Lowering,
    kind: &OperatorKind,
    demand: &Demand,
    output: Output,
) -> Result<(Intersect, Layout)> {
    let OperatorKind::Intersect { input, to, labels, legs } = kind else { return Err(misplaced(kind)) };
    let with_edges = legs.iter().any(|leg| gives_edge(leg, demand));
    let mut below = demand.clone().without([to]);
    for leg in legs {
        below = below.without(&leg.edge).and_slots([&leg.from]);
    }
    for bound in legs.iter().flat_map(|leg| &leg.distinct_from) {
        below = below.and_slots(with_edges.then_some(&bound.edge)).and_slots([&bound.left, &bound.right]);
    }
    let (input, layout) = lowering.lower(input, &below)?;
    let sorted = |names: &[Arc<str>]| {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        names
    };
    let mut columns: Vec<usize> = Vec::new();
    let mut number = |column: usize| {
        let known = columns.iter().position(|&known| known == column);
        known.unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        })
    };
    let mut lowered = Vec::with_capacity(legs.len());
    for leg in legs {
        let mut distinct_from = Vec::with_capacity(leg.distinct_from.len());
        for bound in &leg.distinct_from {
            distinct_from.push(Ends::lower(bound, &layout, with_edges, &mut number)?);
        }
        lowered.push(Leg {
            from: number(column_of(&layout, leg.from)?),
            kind: ListKind { direction: leg.direction, types: sorted(&leg.types), labels: sorted(labels), with_edges },
            gives_edge: gives_edge(leg, demand),
            distinct_from,
            distinct_legs: leg.distinct_legs.clone(),
        });
    }
    let (keep, mut layout) = keep(&layout, demand);
    let gives_node = demand.slots.contains(to);
    if gives_node {
        layout.push(*to);
    }
    legs.iter().filter(|leg| gives_edge(leg, demand)).filter_map(|leg| leg.edge).for_each(|edge| {
        layout.push(edge);
    });
    let output = if with_edges { Output::Each } else { output };
    Ok((Intersect { input, columns, legs: lowered, gives_node, gives_edges: with_edges, output, keep }, layout))
}

/// The lists of a run, and buffers.
struct Search<'o, 'm> {
    operator: &'o Intersect,
    numbers: Numbers,
    /// Lists by kind, and which of them each leg has.
    lists: Vec<Lists<'m>>,
    of_leg: Vec<usize>,
    common: Common,
    taken: UsedEdges,
    found: Found,
}

/// Rows to be given.
#[derive(Default)]
struct Found {
    origins: Vec<u32>,
    nodes: Vec<NodeId>,
    counts: Vec<i64>,
    /// For each leg that gives its edge, the edges.
    edges: Vec<Vec<EdgeValue>>,
}

/// The rows of a chunk in which the nodes of all legs are there, with the numbers of nodes column by column.
struct Bound {
    rows: Vec<u32>,
    nodes: Vec<Vec<u32>>,
}

impl<'o, 'm> Search<'o, 'm> {
    fn new(operator: &'o Intersect, runtime: &Runtime<'m>) -> Search<'o, 'm> {
        let mut kinds: Vec<&ListKind> = Vec::new();
        let mut of_leg = Vec::with_capacity(operator.legs.len());
        for leg in &operator.legs {
            let known = kinds.iter().position(|kind| **kind == leg.kind);
            of_leg.push(known.unwrap_or(kinds.len()));
            if known.is_none() {
                kinds.push(&leg.kind);
            }
        }
        let mut found = Found::default();
        found.edges.resize(operator.legs.len(), Vec::new());
        Search {
            operator,
            numbers: Numbers::of(runtime.view().view()),
            lists: kinds.into_iter().map(|kind| Lists::new(runtime, kind)).collect(),
            of_leg,
            common: Common::default(),
            taken: UsedEdges::default(),
            found,
        }
    }

    fn bound(&mut self, chunk: &Chunk) -> Bound {
        let Intersect { columns, legs, .. } = self.operator;
        let columns: Vec<&Column> = columns.iter().map(|&column| &*chunk.columns[column]).collect();
        let is_whole = |column: &&Column| matches!(column.data, ColumnData::Node(_)) && column.validity.is_none();
        if columns.iter().all(is_whole) {
            let number = |column: &Column| match &column.data {
                ColumnData::Node(nodes) => nodes.iter().map(|&node| self.numbers.number(node)).collect(),
                _ => Vec::new(),
            };
            let nodes: Vec<Vec<u32>> = columns.into_iter().map(number).collect();
            return Bound { rows: (0..chunk.rows as u32).collect(), nodes };
        }
        let mut bound = Bound { rows: Vec::new(), nodes: vec![Vec::new(); columns.len()] };
        for row in 0..chunk.rows {
            if legs.iter().all(|leg| node_at(columns[leg.from], row).is_some()) {
                bound.rows.push(row as u32);
                for (column, nodes) in columns.iter().zip(&mut bound.nodes) {
                    let node = node_at(column, row).map(|node| self.numbers.number(node));
                    nodes.push(node.unwrap_or(u32::MAX));
                }
            }
        }
        bound
    }

    /// Legs by how often their node changes from row to row, the steadiest first.
    fn order(&self, bound: &Bound) -> Vec<usize> {
        let legs = &self.operator.legs;
        let changes = |leg: &usize| bound.nodes[legs[*leg].from].windows(2).filter(|pair| pair[0] != pair[1]).count();
        let mut order: Vec<usize> = (0..legs.len()).collect();
        order.sort_by_cached_key(changes);
        order
    }

    /// Finds what the rows of a chunk have.
    fn chunk(&mut self, runtime: &Runtime<'_>, chunk: &Chunk, sink: &mut Sink<'_>) -> Result<Flow> {
        let bound = self.bound(chunk);
        // Legs may share lists, so that none is forgotten between them.
        self.lists.iter_mut().for_each(Lists::make_room);
        for (leg, &list) in self.operator.legs.iter().zip(&self.of_leg) {
            self.lists[list].prepare(runtime, &mut self.numbers, &bound.nodes[leg.from])?;
        }
        let order = self.order(&bound);
        let Search { operator, numbers, lists, of_leg, common, taken, found } = self;
        let readers: Vec<ListReader<'_>> = of_leg.iter().map(|&list| lists[list].reader()).collect();
        let rows = Rows { operator, chunk, numbers, readers: &readers, nodes: &bound.nodes };
        let froms: Vec<&[u32]> = operator.legs.iter().map(|leg| bound.nodes[leg.from].as_slice()).collect();
        let batch_rows = runtime.environment.settings.batch_rows.max(1);
        let Some((&last, steady)) = order.split_last() else { return Ok(Flow::Continue) };
        let mut looked_at = 0;
        common.begin(numbers.bound());
        let mut nodes = vec![0; froms.len()];
        let mut first: (Option<u32>, List<'_>) = (None, List::default());
        for at in 0..bound.rows.len() {
            nodes.iter_mut().zip(&froms).for_each(|(node, from)| *node = from[at]);
            let stays = at + 1 < bound.rows.len() && steady.iter().all(|&leg| froms[leg][at + 1] == nodes[leg]);
            common.hold(&readers, steady, &nodes, stays);
            if let Some(&ahead) = froms[last].get(at + 2 * FETCH_AHEAD) {
                readers[last].fetch_place(ahead);
            }
            if let Some(&ahead) = froms[last].get(at + FETCH_AHEAD) {
                readers[last].fetch(ahead);
            }
            let list = readers[last].list(nodes[last]);
            looked_at += list.nodes.len();
            if looked_at > model::limits::CANCEL_CHECK_EDGES {
                runtime.environment.interrupt.check()?;
                looked_at = 0;
            }
            if first.0 != Some(nodes[steady[0]]) {
                first = (Some(nodes[steady[0]]), readers[steady[0]].list(nodes[steady[0]]));
            }
            let mut give = |found: &mut Found| match found.origins.len() {
                few if few < batch_rows => Ok(Flow::Continue),
                _ => operator.give(chunk, found, sink),
            };
            let flow = match rows.find(bound.rows[at], at, (common, first.1, list), taken, found, &mut give) {
                Ok(Flow::Continue) => give(found),
                ended => ended,
            };
            if !matches!(flow, Ok(Flow::Continue)) {
                common.clear(&readers, steady);
                return flow;
            }
        }
        common.clear(&readers, steady);
        operator.give(chunk, found, sink)
    }
}

/// Passes on what was found, if it is enough for a batch.
type Give<'g> = dyn FnMut(&mut Found) -> Result<Flow> + 'g;

/// The rows of a chunk, to be looked at one by one.
struct Rows<'a> {
    operator: &'a Intersect,
    chunk: &'a Chunk,
    numbers: &'a Numbers,
    /// For each leg its lists.
    readers: &'a [ListReader<'a>],
    /// The numbers of nodes, column by column.
    nodes: &'a [Vec<u32>],
}

impl Rows<'_> {
    /// The number of a row's node that a leg starts from.
    fn from(&self, leg: usize, at: usize) -> u32 {
        self.nodes[self.operator.legs[leg].from][at]
    }

    /// The number of edges of a leg that lead to a node.
    fn edge_count(&self, leg: usize, at: usize, to: u32) -> usize {
        self.readers[leg].edge_count(self.from(leg, at), to)
    }

    /// Finds what a row has: `list` of the last leg against what is held of the others.
    #[inline]
    fn find(
        &self,
        row: u32,
        at: usize,
        (common, first, list): (&Common, List<'_>, List<'_>),
        taken: &mut UsedEdges,
        found: &mut Found,
        give: &mut Give<'_>,
    ) -> Result<Flow> {
        let legs = &self.operator.legs;
        let node = |column: usize| self.nodes[column][at];
        taken.look(legs, node);
        match self.operator.output {
            Output::Count if !taken.is_any() => found.count(row, common.count(first, list)),
            Output::Count if taken.nodes().is_some() => {
                let mut count = common.count(first, list);
                for to in taken.nodes().into_iter().flatten() {
                    let edges = |leg: usize| self.edge_count(leg, at, to);
                    // Mostly some leg does not lead there.
                    if (0..legs.len()).all(|leg| self.readers[leg].leads_to(self.from(leg, at), to)) {
                        count += taken.count(legs, &node, to, &edges) - common.count_to(first, list, to);
                    }
                }
                found.count(row, count);
            }
            _ if self.operator.gives_edges => {
                return self.find_edges((row, at), (common, first, list), taken, found, give);
            }
            _ => return self.find_nodes((row, at), (common, first, list), taken, found, give),
        }
        Ok(Flow::Continue)
    }

    /// Finds the nodes of a row, in how many ways each is reached.
    fn find_nodes(
        &self,
        (row, at): (u32, usize),
        (common, first, list): (&Common, List<'_>, List<'_>),
        taken: &UsedEdges,
        found: &mut Found,
        give: &mut Give<'_>,
    ) -> Result<Flow> {
        let legs = &self.operator.legs;
        let node = |column: usize| self.nodes[column][at];
        let output = self.operator.output;
        let is_any_taken = taken.is_any();
        let (mut total, mut flow) = (0, Ok(Flow::Continue));
        common.each(first, list, |to| {
            let count = match is_any_taken {
                false => common.count_to(first, list, to),
                true => taken.count(legs, &node, to, &|leg| self.edge_count(leg, at, to)),
            };
            total += count;
            let mut rows = match output {
                Output::Each => count as usize,
                Output::Once | Output::CountEach => usize::from(count > 0),
                Output::Any | Output::Count => 0,
            };
            while rows > 0 {
                // Parallel edges of two hubs make more rows than there is memory for.
                let part = rows.min(ROWS_AT_ONCE);
                rows -= part;
                found.origins.extend(std::iter::repeat_n(row, part));
                found.nodes.extend(std::iter::repeat_n(self.numbers.node(to), part));
                if output == Output::CountEach {
                    found.counts.push(count);
                }
                flow = give(found);
                if !matches!(flow, Ok(Flow::Continue)) {
                    return false;
                }
            }
            output != Output::Any || total == 0
        });
        match output {
            Output::Any if total > 0 => found.origins.push(row),
            Output::Count => found.count(row, total),
            _ => {}
        }
        flow
    }

    /// Finds the combinations of edges of a row.
    fn find_edges(
        &self,
        (row, at): (u32, usize),
        (common, first, list): (&Common, List<'_>, List<'_>),
        taken: &mut UsedEdges,
        found: &mut Found,
        give: &mut Give<'_>,
    ) -> Result<Flow> {
        let legs = &self.operator.legs;
        let mut flow = Ok(Flow::Continue);
        common.each(first, list, |number| {
            let to = self.numbers.node(number);
            let from = |leg: usize| self.numbers.node(self.from(leg, at));
            let places = |leg: usize| self.readers[leg].places(self.from(leg, at), number);
            let edge = |leg: usize, place: usize| self.readers[leg].edge(place, from(leg), to);
            flow = taken.combine(legs, (self.chunk, row), &places, &edge, &mut |edges| {
                found.origins.push(row);
                found.nodes.push(to);
                for (leg, edge) in edges.iter().enumerate().filter(|(leg, _)| legs[*leg].gives_edge) {
                    found.edges[leg].push(*edge);
                }
                give(found)
            });
            matches!(flow, Ok(Flow::Continue))
        });
        flow
    }
}

impl Intersect {
    /// Gives the rows found so far.
    fn give(&self, chunk: &Chunk, found: &mut Found, sink: &mut Sink<'_>) -> Result<Flow> {
        if found.origins.is_empty() {
            return Ok(Flow::Continue);
        }
        if self.output == Output::Count && self.keep.is_empty() {
            // Nothing tells the rows apart.
            found.origins.truncate(1);
            found.counts = vec![found.counts.iter().sum()];
        }
        let rows = found.origins.len();
        let mut columns = gather_columns(chunk, &self.keep, &found.origins);
        found.origins.clear();
        if self.gives_node {
            columns.push(Arc::new(Column::new(ColumnData::Node(std::mem::take(&mut found.nodes)))));
        }
        found.nodes.clear();
        for (leg, edges) in self.legs.iter().zip(&mut found.edges) {
            if leg.gives_edge {
                columns.push(Arc::new(Column::new(ColumnData::Edge(std::mem::take(edges)))));
            }
        }
        if matches!(self.output, Output::Count | Output::CountEach) {
            columns.push(Arc::new(Column::new(ColumnData::Int(std::mem::take(&mut found.counts)))));
        }
        sink(Chunk { rows, columns })
    }
}

impl Found {
    fn count(&mut self, row: u32, count: i64) {
        if count > 0 {
            self.origins.push(row);
            self.counts.push(count);
        }
    }
}

impl Physical for Intersect {
    fn run(&self, scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        let runtime = scope.runtime;
        let mut search: Option<Search<'_, '_>> = None;
        self.input.run(scope, &mut |chunk| {
            runtime.environment.interrupt.check()?;
            let search = search.get_or_insert_with(|| Search::new(self, runtime));
            search.chunk(runtime, &chunk, sink)
        })
    }
}
