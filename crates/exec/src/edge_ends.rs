//! Types of edges that lead to labelled nodes always or never, and how many do, found out without a look at each edge.
//!
//! Every edge has one source and one target. So all edges of a type lead to labelled nodes if none leads to any other,
//! and none does if none leads to a labelled one; where the counts of the store are exact, it is enough to ask those of
//! the two that are fewer, and the rest of the edges lead to the rest of the nodes. What was found out is kept with the state of
//! the store ([`KnownEnds`]).

use std::sync::Arc;

use model::store::{EdgeIds, Ends, KnownEnds, Leads};
use model::{Direction, EdgeTypeId, Expand, LabelId, NodeBatch, NodeId, NodeScan, ReadView, Result, Statistics};

use crate::adjacency::{expansion, label_ids};
use crate::runtime::{Flow, Runtime};

/// Ids that are looked at together.
const STEP: u64 = 4_096;

/// Edges of some types, followed in a direction, and the labels of nodes that they may lead to.
#[derive(Clone, Copy)]
pub(crate) struct Led<'a> {
    pub(crate) direction: Direction,
    /// None for any.
    pub(crate) types: &'a [Arc<str>],
    pub(crate) labels: &'a [Arc<str>],
}

/// The types of the edges that may lead to nodes with labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByType {
    /// Those that lead only to nodes with the labels.
    pub(crate) always: Vec<EdgeTypeId>,
    /// Those that may lead to such nodes and to others. Types that are in neither list never do.
    pub(crate) sometimes: Vec<EdgeTypeId>,
    /// No edge of any type need be looked at.
    pub(crate) is_implied: bool,
}

/// Number of edges of a type with an end among some nodes, for each direction that is followed.
struct Held {
    edge_type: EdgeTypeId,
    counts: Vec<u64>,
}

impl Led<'_> {
    /// Ids of the labels, and what is expanded; `None` if the store has never seen one of the labels, or any of the types.
    fn resolve(&self, view: &dyn ReadView) -> Option<(Vec<LabelId>, Expand)> {
        label_ids(view, self.labels).zip(expansion(view, self.direction, self.types, EdgeIds::Omit))
    }

    /// Number of nodes whose edges have to be counted to find the types out; 0 if they are known.
    pub(crate) fn looks(&self, view: &dyn ReadView) -> u64 {
        let Some((labels, expand)) = self.resolve(view) else { return 0 };
        let types = expand.types.unwrap_or_else(|| all_types(view));
        self.looks_of(view, &labels, &types)
    }

    fn looks_of(&self, view: &dyn ReadView, labels: &[LabelId], types: &[EdgeTypeId]) -> u64 {
        let (statistics, known) = (view.estimates(), view.known_ends());
        let of_label = |&label: &LabelId| {
            let carry = statistics.label(label);
            let fewer = carry.min(statistics.nodes.saturating_sub(carry));
            let is_open = |of: &&EdgeTypeId| known.is_none_or(|known| known.get(**of, self.direction, label).is_none());
            fewer.saturating_mul(types.iter().filter(is_open).count() as u64)
        };
        labels.iter().map(of_label).sum()
    }
}

fn all_types(view: &dyn ReadView) -> Vec<EdgeTypeId> {
    (0..view.schema().edge_types.len() as u32).map(EdgeTypeId).collect()
}

/// The ends of the edges of each type that is followed. `None` where it would cost more to find out than to follow the edges.
pub(crate) fn ends_by_type(runtime: &Runtime<'_>, led: &Led<'_>) -> Result<Option<Vec<(EdgeTypeId, Ends)>>> {
    let guard = runtime.view();
    let view = guard.view();
    if !view.capabilities().dense_node_ids {
        return Ok(None);
    }
    let Some((labels, expand)) = led.resolve(view) else { return Ok(Some(Vec::new())) };
    // Counts may be rested on where the store has them exactly, and where no transaction would then depend on them.
    let is_exact = !runtime.writes();
    let statistics = if is_exact { view.statistics() } else { view.estimates() };
    let mut types = expand.types.unwrap_or_else(|| all_types(view));
    if is_exact {
        types.retain(|&edge_type| statistics.edge_type(edge_type) > 0);
    }
    let edges: u64 = types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum();
    if led.looks_of(view, &labels, &types) > edges {
        return Ok(None);
    }
    let all = |edge_type: EdgeTypeId| is_exact.then(|| statistics.edge_type(edge_type));
    let mut found: Vec<Ends> =
        types.iter().map(|&edge_type| Ends { leads: Leads::Always, edges: all(edge_type) }).collect();
    for label in labels {
        let ends = Search { runtime, view, direction: led.direction, label, is_exact }.ends(&types)?;
        found.iter_mut().zip(ends).for_each(|(found, ends)| *found = and(*found, ends));
    }
    Ok(Some(types.into_iter().zip(found).collect()))
}

/// Gives the ids of the store that are no node with a label, some at a time.
pub(crate) fn each_without(
    runtime: &Runtime<'_>,
    view: &dyn ReadView,
    label: LabelId,
    take: &mut dyn FnMut(&[NodeId]) -> Result<Flow>,
) -> Result<()> {
    let bound = view.node_id_bound();
    for start in (0..bound).step_by(STEP as usize) {
        runtime.environment.interrupt.check()?;
        let ids: Vec<NodeId> = (start..(start + STEP).min(bound)).map(NodeId).collect();
        let carry = view.has_label(&ids, label)?;
        let others: Vec<NodeId> = (0..ids.len()).filter(|&row| !carry.get(row)).map(|row| ids[row]).collect();
        if take(&others)? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

impl ByType {
    /// See the module. `None` where it would cost more to find out than to follow the edges.
    pub(crate) fn of(runtime: &Runtime<'_>, led: &Led<'_>) -> Result<Option<ByType>> {
        if led.resolve(runtime.view().view()).is_none() {
            return Ok(Some(ByType::default()));
        }
        let Some(found) = ends_by_type(runtime, led)? else { return Ok(None) };
        let with = |wanted: Leads| {
            let some = found.iter().filter(move |(_, ends)| ends.leads == wanted);
            some.map(|(edge_type, _)| *edge_type).collect()
        };
        let is_implied = found.iter().all(|(_, ends)| ends.leads == Leads::Always);
        Ok(Some(ByType { always: with(Leads::Always), sometimes: with(Leads::Sometimes), is_implied }))
    }
}

/// Combines the answers for two conditions that must both hold.
fn and(left: Ends, right: Ends) -> Ends {
    match (left.leads, right.leads) {
        (Leads::Never, _) | (_, Leads::Never) => Ends { leads: Leads::Never, edges: Some(0) },
        (Leads::Always, _) => right,
        (_, Leads::Always) => left,
        _ => Ends { leads: Leads::Sometimes, edges: None },
    }
}

/// A search for the types that lead to one label.
struct Search<'s, 'r> {
    runtime: &'s Runtime<'r>,
    view: &'s dyn ReadView,
    direction: Direction,
    label: LabelId,
    /// Statistics are exact.
    is_exact: bool,
}

impl Search<'_, '_> {
    /// The answer for each type: one that is known, or found out now.
    fn ends(&self, types: &[EdgeTypeId]) -> Result<Vec<Ends>> {
        let known: Option<&KnownEnds> = self.view.known_ends();
        let get = |&edge_type: &EdgeTypeId| known.and_then(|known| known.get(edge_type, self.direction, self.label));
        let answers: Vec<Option<Ends>> = types.iter().map(get).collect();
        let open: Vec<EdgeTypeId> =
            types.iter().zip(&answers).filter(|(_, answer)| answer.is_none()).map(|(&of, _)| of).collect();
        let mut found = if open.is_empty() { Vec::new() } else { self.find(&open)? }.into_iter();
        if let Some(known) = known {
            let pairs = open.iter().zip(found.as_slice());
            pairs.for_each(|(&edge_type, &ends)| known.keep(edge_type, self.direction, self.label, ends));
        }
        Ok(answers.into_iter().filter_map(|answer| answer.or_else(|| found.next())).collect())
    }

    fn find(&self, types: &[EdgeTypeId]) -> Result<Vec<Ends>> {
        let statistics: &Statistics = if self.is_exact { self.view.statistics() } else { self.view.estimates() };
        let carry = statistics.label(self.label);
        let asks_carriers = self.is_exact && carry < statistics.nodes.saturating_sub(carry);
        // Edges that lead to a node are followed from it the other way.
        let ways: &[Direction] = match self.direction.reverse() {
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
            Direction::Both => &[Direction::Out, Direction::In],
        };
        let mut held: Vec<Held> =
            types.iter().map(|&edge_type| Held { edge_type, counts: vec![0; ways.len()] }).collect();
        if asks_carriers {
            self.add_labelled(ways, &mut held)?;
        } else {
            self.add_others(ways, &mut held)?;
        }
        let total = |held: &Held| self.is_exact.then(|| statistics.edge_type(held.edge_type));
        Ok(held.iter().map(|held| held.ends(total(held), asks_carriers)).collect())
    }

    fn add(&self, nodes: &[NodeId], ways: &[Direction], held: &mut [Held]) -> Result<()> {
        for held in held {
            let types = [held.edge_type];
            for (count, &way) in held.counts.iter_mut().zip(ways) {
                *count += self.view.degrees(nodes, way, Some(&types))?.iter().sum::<u64>();
            }
        }
        Ok(())
    }

    fn add_labelled(&self, ways: &[Direction], held: &mut [Held]) -> Result<()> {
        let scan = NodeScan { labels: vec![self.label], ..NodeScan::default() };
        let mut cursor = self.view.scan(&scan)?;
        let mut batch = NodeBatch::default();
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            self.add(&batch.nodes, ways, held)?;
        }
        Ok(())
    }

    /// The same for nodes without the label. Stops at the first edge of a single type if nothing follows from their number.
    fn add_others(&self, ways: &[Direction], held: &mut [Held]) -> Result<()> {
        each_without(self.runtime, self.view, self.label, &mut |others| {
            self.add(others, ways, held)?;
            let is_answered = match &*held {
                [one] => !self.is_exact && one.counts.iter().any(|&count| count > 0),
                _ => false,
            };
            Ok(if is_answered { Flow::Stop } else { Flow::Continue })
        })
    }
}

impl Held {
    /// The answer for the type. `total` is its number of edges, if known. The counts are of edges that lead to nodes
    /// with the label, or else of those that lead to others.
    fn ends(&self, total: Option<u64>, to_labelled: bool) -> Ends {
        let (if_none, if_all) = if to_labelled { (Leads::Never, Leads::Always) } else { (Leads::Always, Leads::Never) };
        let leads = if self.counts.iter().all(|&count| count == 0) {
            if_none
        } else if self.counts.iter().all(|&count| Some(count) == total) {
            if_all
        } else {
            Leads::Sometimes
        };
        let edges = match (self.counts.as_slice(), total) {
            ([count], Some(total)) => Some(if to_labelled { *count } else { total.saturating_sub(*count) }),
            _ => None,
        };
        Ends { leads, edges }
    }
}
