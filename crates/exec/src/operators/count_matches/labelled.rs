//! Edges to nodes of which nothing but labels is asked: which of them need not be looked at, edge type by edge type.
//!
//! Every edge has one source and one target. So all edges of a type lead to labelled nodes if none leads to any other,
//! and none does if none leads to a labelled one; where the counts of the store are exact, it is enough to ask those of
//! the two that are fewer. Edges of types that lead only to labelled nodes are counted, those of types that never do are
//! passed over, and only the rest is followed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use model::store::EdgeIds;
use model::{
    Bitmap, Direction, EdgeBatch, EdgeTypeId, LabelId, NodeBatch, NodeId, NodeScan, ReadView, Result, Statistics,
};

use super::evaluation::Evaluation;
use super::tree::{Branch, Node};
use crate::adjacency::expansion;
use crate::adjacency::label_ids;
use crate::runtime::Runtime;

/// Number of edges below which they are followed without an estimate of what that costs.
const EDGES_MIN: u64 = 4_096;

/// Ids that are looked at together.
const STEP: u64 = 4_096;

/// The types of the edges that may lead to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ByType {
    /// Those that lead only to nodes with its labels.
    pub(super) always: Vec<EdgeTypeId>,
    /// Those that may lead to such nodes and to others. Types that are in neither list never do.
    pub(super) sometimes: Vec<EdgeTypeId>,
    /// No edge of any type need be looked at.
    pub(super) is_implied: bool,
}

/// Number of edges of a type with an end among some nodes, for each direction that is followed.
struct Held {
    edge_type: EdgeTypeId,
    counts: Vec<u64>,
}

/// The cases in which edges of a type lead to nodes with the labels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leads {
    Always,
    Never,
    Sometimes,
}

impl ByType {
    /// See the module. `None` where it would cost more to find out than to follow the edges.
    pub(super) fn of(runtime: &Runtime<'_>, node: &Node) -> Result<Option<ByType>> {
        let guard = runtime.view();
        let view = guard.view();
        let Some((direction, types)) = node.reached.as_ref().filter(|_| view.capabilities().dense_node_ids) else {
            return Ok(None);
        };
        let (Some(labels), Some(expand)) =
            (label_ids(view, &node.labels), expansion(view, *direction, types, EdgeIds::Omit))
        else {
            return Ok(Some(ByType::default()));
        };
        // Counts may be rested on where the store has them exactly, and where no transaction would then depend on them.
        let is_exact = !runtime.writes();
        let statistics = if is_exact { view.statistics() } else { view.estimates() };
        let all = || (0..view.schema().edge_types.len() as u32).map(EdgeTypeId).collect();
        let mut types: Vec<EdgeTypeId> = expand.types.unwrap_or_else(all);
        if is_exact {
            types.retain(|&edge_type| statistics.edge_type(edge_type) > 0);
        }
        let edges: u64 = types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum();
        if looks(statistics, &labels, types.len()) > edges {
            return Ok(None);
        }
        let ways: &[Direction] = match direction.reverse() {
            Direction::Out => &[Direction::Out],
            Direction::In => &[Direction::In],
            Direction::Both => &[Direction::Out, Direction::In],
        };
        let mut found = vec![Leads::Always; types.len()];
        for label in labels {
            let carry = statistics.label(label);
            let asks_carriers = is_exact && carry < statistics.nodes.saturating_sub(carry);
            let mut held: Vec<Held> =
                types.iter().map(|&edge_type| Held { edge_type, counts: vec![0; ways.len()] }).collect();
            if asks_carriers {
                add_labelled(runtime, view, label, ways, &mut held)?;
            } else {
                add_others(runtime, view, label, ways, &mut held)?;
            }
            for (found, held) in found.iter_mut().zip(&held) {
                let total = is_exact.then(|| statistics.edge_type(held.edge_type));
                *found = found.and(held.leads(total, asks_carriers));
            }
        }
        let with = |wanted: Leads| {
            let some = types.iter().zip(&found).filter(move |(_, found)| **found == wanted);
            some.map(|(&edge_type, _)| edge_type).collect()
        };
        let is_implied = found.iter().all(|found| *found == Leads::Always);
        Ok(Some(ByType { always: with(Leads::Always), sometimes: with(Leads::Sometimes), is_implied }))
    }
}

/// Number of times that a node is asked for its number of edges of a type.
fn looks(statistics: &Statistics, labels: &[LabelId], types: usize) -> u64 {
    let fewer = |label: &LabelId| {
        let carry = statistics.label(*label);
        carry.min(statistics.nodes.saturating_sub(carry))
    };
    labels.iter().map(fewer).sum::<u64>().saturating_mul(types as u64)
}

impl Leads {
    /// Combines the answers for two conditions that must both hold.
    fn and(self, other: Leads) -> Leads {
        match (self, other) {
            (Leads::Never, _) | (_, Leads::Never) => Leads::Never,
            (Leads::Always, Leads::Always) => Leads::Always,
            _ => Leads::Sometimes,
        }
    }
}

impl Held {
    /// The answer for the type. `total` is its number of edges, if known. The counts are of edges that lead to nodes
    /// with the label, or else of those that lead to others.
    fn leads(&self, total: Option<u64>, to_labelled: bool) -> Leads {
        let (if_none, if_all) = if to_labelled { (Leads::Never, Leads::Always) } else { (Leads::Always, Leads::Never) };
        if self.counts.iter().all(|&count| count == 0) {
            if_none
        } else if self.counts.iter().all(|&count| Some(count) == total) {
            if_all
        } else {
            Leads::Sometimes
        }
    }
}

fn add(view: &dyn ReadView, nodes: &[NodeId], ways: &[Direction], held: &mut [Held]) -> Result<()> {
    for held in held {
        let types = [held.edge_type];
        for (count, &way) in held.counts.iter_mut().zip(ways) {
            *count += view.degrees(nodes, way, Some(&types))?.iter().sum::<u64>();
        }
    }
    Ok(())
}

fn add_labelled(
    runtime: &Runtime<'_>,
    view: &dyn ReadView,
    label: LabelId,
    ways: &[Direction],
    held: &mut [Held],
) -> Result<()> {
    let scan = NodeScan { labels: vec![label], ..NodeScan::default() };
    let mut cursor = view.scan(&scan)?;
    let mut batch = NodeBatch::default();
    while cursor.next(&mut batch)? {
        runtime.environment.interrupt.check()?;
        add(view, &batch.nodes, ways, held)?;
    }
    Ok(())
}

/// The same for nodes without the label. Stops at the first edge if there is but one type: whether all of them lead there
/// is not worth to know.
fn add_others(
    runtime: &Runtime<'_>,
    view: &dyn ReadView,
    label: LabelId,
    ways: &[Direction],
    held: &mut [Held],
) -> Result<()> {
    let bound = view.node_id_bound();
    for start in (0..bound).step_by(STEP as usize) {
        runtime.environment.interrupt.check()?;
        let ids: Vec<NodeId> = (start..(start + STEP).min(bound)).map(NodeId).collect();
        let carry = view.has_label(&ids, label)?;
        let others: Vec<NodeId> = (0..ids.len()).filter(|&row| !carry.get(row)).map(|row| ids[row]).collect();
        add(view, &others, ways, held)?;
        if let [one] = &*held
            && one.counts.iter().any(|&count| count > 0)
        {
            break;
        }
    }
    Ok(())
}

impl Evaluation<'_, '_> {
    /// For each node, how many edges of a branch lead to nodes with the labels that are all that is asked of them.
    pub(super) fn sums_of_labelled(&mut self, branch: &Branch, nodes: &[NodeId]) -> Result<Vec<u64>> {
        let mut sums = vec![0_u64; nodes.len()];
        let guard = self.runtime.view();
        let view = guard.view();
        let (Some(labels), Some(mut expand)) =
            (label_ids(view, &branch.node.labels), expansion(view, branch.direction, &branch.types, EdgeIds::Omit))
        else {
            return Ok(sums);
        };
        let known = match self.types_to(&branch.node)? {
            None => self.types_that_pay(branch, nodes)?,
            known => known,
        };
        if let Some(by_type) = known.as_deref().and_then(Option::as_ref) {
            if !by_type.always.is_empty() {
                sums = view.degrees(nodes, branch.direction, Some(&by_type.always))?;
            }
            if by_type.sometimes.is_empty() {
                return Ok(sums);
            }
            expand.types = Some(by_type.sometimes.clone());
        }
        let (mut batch, mut followed) = (EdgeBatch::default(), 0);
        let mut cursor = view.expand(nodes, &expand)?;
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            followed += batch.len();
            let carry = carry_all(view, &batch.neighbors, &labels)?;
            for (row, &input) in batch.inputs.iter().enumerate() {
                sums[input as usize] += u64::from(carry.get(row));
            }
        }
        self.tables.asked[branch.node.table].fetch_add(followed, Ordering::Relaxed);
        Ok(sums)
    }

    /// The types of the edges that lead to the node of a branch, if finding them out costs less than following those of
    /// the nodes.
    fn types_that_pay(&self, branch: &Branch, nodes: &[NodeId]) -> Result<Option<Arc<Option<ByType>>>> {
        let edges: u64 = {
            let guard = self.runtime.view();
            let Some(expand) = expansion(guard.view(), branch.direction, &branch.types, EdgeIds::Omit) else {
                return Ok(None);
            };
            let estimates = guard.view().estimates();
            let all = expand
                .types
                .as_ref()
                .map_or(estimates.edges, |types| types.iter().map(|&edge_type| estimates.edge_type(edge_type)).sum());
            if all.saturating_mul(nodes.len() as u64) < EDGES_MIN.saturating_mul(estimates.nodes) {
                return Ok(None);
            }
            guard.view().degrees(nodes, branch.direction, expand.types.as_deref())?.iter().sum()
        };
        if edges < self.looks(&branch.node) { Ok(None) } else { self.find_types(&branch.node) }
    }

    /// The types of the edges that lead to a node, as far as known. They are determined once the number of edges
    /// followed reaches the number of lookups which that takes.
    pub(super) fn types_to(&self, node: &Node) -> Result<Option<Arc<Option<ByType>>>> {
        let asked = self.tables.asked[node.table].load(Ordering::Relaxed) as u64;
        match self.tables.types[node.table].get() {
            None if asked > 0 && asked >= self.looks(node) => self.find_types(node),
            known => Ok(known),
        }
    }

    fn looks(&self, node: &Node) -> u64 {
        let guard = self.runtime.view();
        let (schema, statistics) = (guard.view().schema(), guard.view().estimates());
        let labels: Vec<LabelId> = node.labels.iter().filter_map(|label| schema.label(label)).collect();
        let types = node.reached.as_ref().map_or(0, |(_, types)| types.len());
        looks(statistics, &labels, if types == 0 { schema.edge_types.len() } else { types })
    }

    /// The same, found out now.
    pub(super) fn find_types(&self, node: &Node) -> Result<Option<Arc<Option<ByType>>>> {
        self.tables.types[node.table].get_or_try(|| ByType::of(self.runtime, node).map(Some))
    }

    /// True if it was found that labels need not be tested.
    pub(super) fn are_labels_implied(&self, node: &Node) -> bool {
        let known = self.tables.types[node.table].get();
        known.as_deref().and_then(Option::as_ref).is_some_and(|by_type| by_type.is_implied)
    }

    /// The nodes that carry the labels of a node of which nothing else is asked.
    pub(super) fn labelled(&self, node: &Node, nodes: &[NodeId]) -> Result<Bitmap> {
        let guard = self.runtime.view();
        match label_ids(guard.view(), &node.labels) {
            Some(labels) => carry_all(guard.view(), nodes, &labels),
            None => Ok(Bitmap::filled(nodes.len(), false)),
        }
    }
}

fn carry_all(view: &dyn ReadView, nodes: &[NodeId], labels: &[LabelId]) -> Result<Bitmap> {
    let Some((first, others)) = labels.split_first() else { return Ok(Bitmap::filled(nodes.len(), true)) };
    let mut all = view.has_label(nodes, *first)?;
    for &label in others {
        let carry = view.has_label(nodes, label)?;
        let words = all.words().iter().zip(carry.words()).map(|(a, b)| a & b).collect();
        all = Bitmap::from_words(words, nodes.len());
    }
    Ok(all)
}
