//! Branches whose numbers depend on each other: the product of what they could be, less what they must not be.

use std::borrow::Cow;

use cypher::plan::Difference;
use model::store::EdgeIds;
use model::{Direction, Map, NodeId, Result};

use super::evaluation::{Evaluation, for_each_part};
use super::lists::{Edges, Lists};
use super::tree::{Branch, Different, Group, Node};
use crate::adjacency::expansion;
use crate::memory::Charge;

/// The most members of a group that differ.
const MEMBERS_MAX: usize = 4;

/// Ids of nodes whose lists are made at a time.
const LIST_STEP: u64 = 4_096;

/// Numbers of nodes that are few.
#[derive(Default)]
pub(super) struct Marks {
    /// The id of the first place of the array.
    first: u64,
    by_id: Vec<u64>,
    others: Map<NodeId, u64>,
}

/// The ids for which an array is kept.
const MARKED_IDS_MAX: u64 = 1 << 28;

impl Marks {
    /// Takes room for the ids of these nodes, of which some will be marked, if it is granted. No mark may be set.
    pub(super) fn prepare(&mut self, nodes: &[NodeId], charge: &mut Charge<'_>) {
        let bounds = (nodes.iter().map(|node| node.0).min(), nodes.iter().map(|node| node.0).max());
        let (Some(first), Some(last)) = bounds else { return };
        self.first = first;
        let more = (last - first + 1).saturating_sub(self.by_id.len() as u64) as usize;
        if last - first < MARKED_IDS_MAX && more > 0 && charge.try_grow(more * size_of::<u64>()).is_ok() {
            self.by_id.resize(self.by_id.len() + more, 0);
        }
    }

    /// The place of a node in the array, perhaps behind its end.
    #[inline]
    fn place(&self, node: NodeId) -> usize {
        node.0.wrapping_sub(self.first) as usize
    }

    #[inline]
    pub(super) fn add(&mut self, node: NodeId, number: u64) {
        let place = self.place(node);
        match self.by_id.get_mut(place) {
            Some(mark) => *mark = mark.saturating_add(number),
            None => {
                let mark = self.others.entry(node).or_default();
                *mark = mark.saturating_add(number);
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, node: NodeId) -> u64 {
        match self.by_id.get(self.place(node)) {
            Some(mark) => *mark,
            None => self.others.get(&node).copied().unwrap_or(0),
        }
    }

    /// Number of times that the node was counted before.
    #[inline]
    fn count(&mut self, node: NodeId) -> u64 {
        let place = self.place(node);
        let mark = match self.by_id.get_mut(place) {
            Some(mark) => mark,
            None => self.others.entry(node).or_default(),
        };
        *mark += 1;
        *mark - 1
    }

    pub(super) fn clear(&mut self, nodes: &[NodeId]) {
        for &node in nodes {
            let place = self.place(node);
            if let Some(mark) = self.by_id.get_mut(place) {
                *mark = 0;
            }
        }
        self.others.clear();
    }
}

/// The values of one node's edges for each member, and the key that tells them apart.
#[derive(Clone, Copy)]
struct Entry {
    key: u64,
    values: [u64; MEMBERS_MAX],
}

/// Branches that differ.
pub(super) fn different(
    evaluation: &mut Evaluation<'_, '_>,
    node: &Node,
    different: &Different,
    nodes: &[NodeId],
) -> Result<Vec<u64>> {
    let branches: Vec<_> = different.members.iter().map(|&member| &node.branches[member]).collect();
    if let [a, b] = branches.as_slice()
        && a.types == b.types
        && a.chained.is_none()
        && b.chained.is_none()
    {
        let is_opposite = a.direction != Direction::Both && a.direction == b.direction.reverse();
        if is_opposite && different.by == Difference::Edges {
            return opposite(evaluation, (a, b), nodes);
        }
        if a.direction == b.direction {
            return alike(evaluation, (a, b), different.by, nodes);
        }
    }
    // Branches that follow the same edges follow them together.
    let mut walks: Vec<Vec<usize>> = Vec::new();
    for (member, branch) in branches.iter().enumerate() {
        let same = |walk: &&mut Vec<usize>| {
            let other = branches[walk[0]];
            other.direction == branch.direction && other.types == branch.types
        };
        match walks.iter_mut().find(same) {
            Some(walk) => walk.push(member),
            None => walks.push(vec![member]),
        }
    }
    let by_edge = different.by == Difference::Edges;
    let ids = if by_edge && walks.len() > 1 { EdgeIds::Include } else { EdgeIds::Omit };
    let mut followed = Vec::with_capacity(walks.len());
    for walk in &walks {
        let branch = branches[walk[0]];
        let edges = Edges::of(evaluation.runtime, nodes, branch.direction, &branch.types, ids)?;
        let mut each = Vec::with_capacity(walk.len());
        for &member in walk {
            each.push((member, evaluation.contributions(branches[member], nodes, &edges)?));
        }
        followed.push((edges, each));
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut factors = Vec::with_capacity(nodes.len());
    for at in 0..nodes.len() {
        entries.clear();
        for (edges, each) in &followed {
            for edge in edges.range(at) {
                let key = match (by_edge, ids) {
                    (true, EdgeIds::Include) => edges.ids[edge].0,
                    (true, EdgeIds::Omit) => edge as u64,
                    (false, _) => edges.neighbors[edge].0,
                };
                let mut values = [0; MEMBERS_MAX];
                each.iter().for_each(|(member, numbers)| values[*member] = numbers[edge]);
                entries.push(Entry { key, values });
            }
        }
        if !by_edge || followed.len() > 1 {
            merge(&mut entries);
        }
        factors.push(total(&entries, different));
    }
    Ok(factors)
}

/// Two branches that follow the edges of the same types both ways, and differ in their edges: only a loop is met by both.
fn opposite(evaluation: &mut Evaluation<'_, '_>, (a, b): (&Branch, &Branch), nodes: &[NodeId]) -> Result<Vec<u64>> {
    let mut factors = evaluation.sums(a, nodes)?;
    let others = evaluation.sums(b, nodes)?;
    factors.iter_mut().zip(others).for_each(|(factor, other)| *factor = factor.saturating_mul(other));
    let places: Vec<usize> = (0..nodes.len()).filter(|&at| factors[at] != 0).collect();
    let some: Vec<NodeId> = places.iter().map(|&at| nodes[at]).collect();
    let mut loops = Vec::new();
    {
        let view = evaluation.runtime.view();
        let view = view.view();
        let Some(expand) = expansion(view, a.direction, &a.types, EdgeIds::Omit) else { return Ok(factors) };
        let counts = view.loops(&some, expand.types.as_deref())?;
        let found = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        loops.extend(found.map(|(at, count)| (places[at], some[at], count)));
    }
    let ends: Vec<NodeId> = loops.iter().map(|&(_, node, _)| node).collect();
    let (to_a, to_b) = (evaluation.values(&a.node, &ends)?, evaluation.values(&b.node, &ends)?);
    for ((place, _, count), (a, b)) in loops.into_iter().zip(to_a.into_iter().zip(to_b)) {
        let lost = count.saturating_mul(a).saturating_mul(b);
        if factors[place] != u64::MAX {
            factors[place] = factors[place].saturating_sub(lost);
        }
    }
    Ok(factors)
}

/// Two branches that follow the same edges, and differ in them or in the nodes they lead to.
fn alike(
    evaluation: &mut Evaluation<'_, '_>,
    (a, b): (&Branch, &Branch),
    by: Difference,
    nodes: &[NodeId],
) -> Result<Vec<u64>> {
    let edges = Edges::of(evaluation.runtime, nodes, a.direction, &a.types, EdgeIds::Omit)?;
    let (to_a, to_b) = (evaluation.contributions(a, nodes, &edges)?, evaluation.contributions(b, nodes, &edges)?);
    let mut marks = std::mem::take(&mut evaluation.marks);
    marks.prepare(&edges.neighbors, &mut evaluation.charge);
    let mut factors = Vec::with_capacity(nodes.len());
    for at in 0..nodes.len() {
        let (mut sum_a, mut sum_b, mut same, mut is_over) = (0_u64, 0_u64, 0_u128, false);
        for edge in edges.range(at) {
            let (a, b) = (to_a[edge], to_b[edge]);
            sum_a = sum_a.saturating_add(a);
            sum_b = sum_b.saturating_add(b);
            // Of as many edges to one node each meets itself and, if nodes must differ, each other twice.
            let times = match by {
                Difference::Edges => 1,
                Difference::Nodes => 2 * marks.count(edges.neighbors[edge]) + 1,
            };
            match (u128::from(a) * u128::from(b)).checked_mul(times.into()).and_then(|it| same.checked_add(it)) {
                Some(sum) => same = sum,
                None => is_over = true,
            }
        }
        if by == Difference::Nodes {
            marks.clear(&edges.neighbors[edges.range(at)]);
        }
        is_over |= sum_a == u64::MAX || sum_b == u64::MAX;
        let product = u128::from(sum_a) * u128::from(sum_b);
        factors.push(match (product, is_over) {
            (0, _) => 0,
            (_, true) => u64::MAX,
            _ => u64::try_from(product.saturating_sub(same)).unwrap_or(u64::MAX),
        });
    }
    evaluation.marks = marks;
    Ok(factors)
}

/// Makes one entry of those with the same key.
fn merge(entries: &mut Vec<Entry>) {
    entries.sort_unstable_by_key(|entry| entry.key);
    entries.dedup_by(|entry, first| {
        let is_same = entry.key == first.key;
        if is_same {
            let pairs = first.values.iter_mut().zip(entry.values);
            pairs.for_each(|(mine, more)| *mine = mine.saturating_add(more));
        }
        is_same
    });
}

/// In how many ways the members can be chosen among entries without two that must differ being the same.
fn total(entries: &[Entry], different: &Different) -> u64 {
    let mut sums = [Some(0_i128); 1 << MEMBERS_MAX];
    let wanted = different.terms.iter().flat_map(|(_, sets)| sets);
    let mut is_wanted = [false; 1 << MEMBERS_MAX];
    wanted.for_each(|&set| is_wanted[set as usize] = true);
    for (set, sum) in sums.iter_mut().enumerate().filter(|(set, _)| is_wanted[*set]) {
        for entry in entries {
            let members = (0..MEMBERS_MAX).filter(|member| set & (1 << member) != 0);
            let product = members.map(|member| entry.values[member]).try_fold(1_i128, |product, value| {
                if value == u64::MAX && product != 0 { None } else { product.checked_mul(i128::from(value)) }
            });
            *sum = sum.zip(product).and_then(|(sum, product)| sum.checked_add(product));
        }
    }
    let lone = (0..different.members.len()).map(|member| sums[1 << member]);
    if lone.into_iter().any(|sum| sum == Some(0)) {
        return 0;
    }
    let mut total = Some(0_i128);
    for (factor, sets) in &different.terms {
        let product =
            sets.iter().try_fold(i128::from(*factor), |product, &set| product.checked_mul(sums[set as usize]?));
        total = total.zip(product).and_then(|(total, product)| total.checked_add(product));
    }
    total.map_or(u64::MAX, |total| u64::try_from(total).unwrap_or(u64::MAX))
}

/// `over` and `near` with no edge from the one end to the other.
pub(super) fn apart(
    evaluation: &mut Evaluation<'_, '_>,
    node: &Node,
    group: &Group,
    nodes: &[NodeId],
) -> Result<Vec<u64>> {
    let Group::Apart { near, over, direction, types, different, list } = group else { return Ok(Vec::new()) };
    let (near, over) = (&node.branches[*near], &node.branches[*over]);
    let kept = with_both(evaluation, near, over, nodes)?;
    let (near, over) = (Ends::of(evaluation, near, &kept.nodes)?, Ends::of(evaluation, over, &kept.nodes)?);
    let ends = &over.edges.neighbors;
    let met = |marks: &Marks, near: &[NodeId], list: &[NodeId], end: NodeId| {
        // The shorter of the two is gone through.
        let is_long = list.len() > 8 * near.len();
        let mut met = if is_long {
            let mut met = 0_u64;
            for (at, node) in near.iter().enumerate() {
                if !near[..at].contains(node) && list.binary_search(node).is_ok() {
                    met = met.saturating_add(marks.get(*node));
                }
            }
            met
        } else {
            list.iter().fold(0_u64, |met, &node| met.saturating_add(marks.get(node)))
        };
        if *different && list.binary_search(&end).is_err() {
            met = met.saturating_add(marks.get(end));
        }
        met
    };
    if evaluation.has_low_memory() {
        // The list of one end at a time.
        let factors = subtract(evaluation, &near, &over, kept.nodes.len(), &mut |evaluation, marks, near, edge| {
            let end = ends[edge];
            let mut one = Lists::default();
            one.add(&mut Edges::of(evaluation.runtime, &[end], *direction, types, EdgeIds::Omit)?);
            Ok(met(marks, near, one.get(0), end).saturating_mul(over.each[edge]))
        })?;
        return Ok(kept.spread(factors));
    }
    // If many edges lead to the same nodes, each of these is looked at once.
    let (places, once) = if ends.len() > 2 * kept.nodes.len() {
        let (places, once) = distinct(ends);
        (places, Cow::Owned(once))
    } else {
        (Vec::new(), Cow::Borrowed(ends.as_slice()))
    };
    let pays = evaluation.pays_whole(once.len());
    let whole = match evaluation.tables.lists[*list].get() {
        None if pays => {
            let has_room = evaluation.takes_lists(*direction, types);
            let make = || has_room.then(|| all_lists(evaluation, *direction, types)).transpose();
            evaluation.tables.lists[*list].get_or_try(make)?
        }
        known => known,
    };
    let mut few = Lists::default();
    if whole.is_none() {
        few.add(&mut Edges::of(evaluation.runtime, &once, *direction, types, EdgeIds::Omit)?);
    }
    let list_of = |edge: usize| match (&whole, places.get(edge)) {
        (Some(whole), _) => whole.get(ends[edge].0 as usize),
        (None, Some(&place)) => few.get(place as usize),
        (None, None) => few.get(edge),
    };
    let factors = subtract(evaluation, &near, &over, kept.nodes.len(), &mut |_, marks, near, edge| {
        Ok(met(marks, near, list_of(edge), ends[edge]).saturating_mul(over.each[edge]))
    })?;
    Ok(kept.spread(factors))
}

/// `near` and `far` that differ, where `over` leads to the node of the latter.
pub(super) fn across(
    evaluation: &mut Evaluation<'_, '_>,
    node: &Node,
    (near, over, far): (usize, usize, usize),
    nodes: &[NodeId],
) -> Result<Vec<u64>> {
    let (near, over) = (&node.branches[near], &node.branches[over]);
    let (middle, far) = (&over.node, &over.node.branches[far]);
    let kept = with_both(evaluation, near, over, nodes)?;
    let near = Ends::of(evaluation, near, &kept.nodes)?;
    let over_edges = Edges::of(evaluation.runtime, &kept.nodes, over.direction, &over.types, EdgeIds::Omit)?;
    let ends = &over_edges.neighbors;
    let rests = evaluation.rests(middle, ends)?;
    if evaluation.has_low_memory() {
        // The edges of one end at a time.
        let sums = evaluation.sums(far, ends)?;
        let numbers = sums.iter().zip(&rests).map(|(&sum, &rest)| sum.saturating_mul(rest)).collect();
        let over = Ends { edges: over_edges, each: numbers };
        let ends = &over.edges.neighbors;
        let factors = subtract(evaluation, &near, &over, kept.nodes.len(), &mut |evaluation, marks, _, edge| {
            let end = &ends[edge..=edge];
            let edges = Edges::of(evaluation.runtime, end, far.direction, &far.types, EdgeIds::Omit)?;
            let each = evaluation.contributions(far, end, &edges)?;
            let parts = edges.neighbors.iter().zip(&each).map(|(&it, &each)| marks.get(it).saturating_mul(each));
            Ok(parts.fold(0_u64, u64::saturating_add).saturating_mul(rests[edge]))
        })?;
        return Ok(kept.spread(factors));
    }
    let edges = Edges::of(evaluation.runtime, ends, far.direction, &far.types, EdgeIds::Omit)?;
    let each = evaluation.contributions(far, ends, &edges)?;
    // The middle node's value follows from the edges at hand.
    let stands_for = |end: usize| {
        let sum = each[edges.range(end)].iter().fold(0_u64, |sum, &it| sum.saturating_add(it));
        sum.saturating_mul(rests[end])
    };
    let numbers = (0..ends.len()).map(stands_for).collect();
    let over = Ends { edges: over_edges, each: numbers };
    let factors = subtract(evaluation, &near, &over, kept.nodes.len(), &mut |_, marks, _, edge| {
        let met = edges
            .range(edge)
            .fold(0_u64, |met, at| met.saturating_add(marks.get(edges.neighbors[at]).saturating_mul(each[at])));
        Ok(met.saturating_mul(rests[edge]))
    })?;
    Ok(kept.spread(factors))
}

/// Some of the nodes of a batch, with their places in it.
pub(super) struct Kept {
    pub(super) nodes: Vec<NodeId>,
    places: Vec<u32>,
    all: usize,
}

impl Kept {
    /// The factors of these nodes among those of all; others come to nothing.
    pub(super) fn spread(&self, factors: Vec<u64>) -> Vec<u64> {
        let mut all = vec![0; self.all];
        self.places.iter().zip(factors).for_each(|(&place, factor)| all[place as usize] = factor);
        all
    }
}

/// The nodes that have edges of two branches.
pub(super) fn with_both(evaluation: &Evaluation<'_, '_>, a: &Branch, b: &Branch, nodes: &[NodeId]) -> Result<Kept> {
    let view = evaluation.runtime.view();
    let mut kept = Kept { nodes: nodes.to_vec(), places: (0..nodes.len() as u32).collect(), all: nodes.len() };
    for branch in [a, b] {
        let expand = expansion(view.view(), branch.direction, &branch.types, EdgeIds::Omit);
        let degrees = match expand {
            Some(expand) => view.view().degrees(&kept.nodes, branch.direction, expand.types.as_deref())?,
            None => vec![0; kept.nodes.len()],
        };
        let mut degree = degrees.iter();
        kept.nodes.retain(|_| degree.next().is_some_and(|&degree| degree > 0));
        let mut degree = degrees.iter();
        kept.places.retain(|_| degree.next().is_some_and(|&degree| degree > 0));
    }
    Ok(kept)
}

/// The edges of a branch from a batch of nodes, and what each comes to.
struct Ends {
    edges: Edges,
    each: Vec<u64>,
}

impl Ends {
    fn of(evaluation: &mut Evaluation<'_, '_>, branch: &Branch, nodes: &[NodeId]) -> Result<Ends> {
        let edges = Edges::of(evaluation.runtime, nodes, branch.direction, &branch.types, EdgeIds::Omit)?;
        let each = evaluation.contributions(branch, nodes, &edges)?;
        Ok(Ends { edges, each })
    }
}

/// Number that an edge takes off: given the marks and the ends of the first branch, and the edge of the second.
type Lost<'l> = dyn FnMut(&mut Evaluation<'_, '_>, &Marks, &[NodeId], usize) -> Result<u64> + 'l;

/// For each node the product of two branches, less what `lost` says of each edge of the second, being given the marks
/// and the ends of the first.
fn subtract(
    evaluation: &mut Evaluation<'_, '_>,
    near: &Ends,
    over: &Ends,
    nodes: usize,
    lost: &mut Lost<'_>,
) -> Result<Vec<u64>> {
    let mut marks = std::mem::take(&mut evaluation.marks);
    marks.prepare(&near.edges.neighbors, &mut evaluation.charge);
    let mut factors = Vec::with_capacity(nodes);
    for at in 0..nodes {
        let sum = |ends: &Ends| ends.each[ends.edges.range(at)].iter().fold(0_u64, |sum, &it| sum.saturating_add(it));
        let (a, b) = (sum(near), sum(over));
        if a == 0 || b == 0 {
            factors.push(0);
            continue;
        }
        let range = near.edges.range(at);
        let ends = &near.edges.neighbors[range.clone()];
        range.for_each(|edge| marks.add(near.edges.neighbors[edge], near.each[edge]));
        let mut less = 0_u128;
        for edge in over.edges.range(at).filter(|&edge| over.each[edge] != 0) {
            less += u128::from(lost(evaluation, &marks, ends, edge)?);
        }
        marks.clear(ends);
        let product = u128::from(a) * u128::from(b);
        let is_over = a == u64::MAX || b == u64::MAX;
        factors.push(if is_over { u64::MAX } else { u64::try_from(product.saturating_sub(less)).unwrap_or(u64::MAX) });
        evaluation.runtime.environment.interrupt.check()?;
    }
    evaluation.marks = marks;
    Ok(factors)
}

/// Nodes without repetition, and which of them each is.
fn distinct(nodes: &[NodeId]) -> (Vec<u32>, Vec<NodeId>) {
    let mut ends = Vec::new();
    let mut numbers: Map<NodeId, u32> = Map::default();
    let number = |&node: &NodeId| {
        *numbers.entry(node).or_insert_with(|| {
            ends.push(node);
            ends.len() as u32 - 1
        })
    };
    (nodes.iter().map(number).collect(), ends)
}

/// The lists of all nodes, by id.
fn all_lists(evaluation: &Evaluation<'_, '_>, direction: Direction, types: &[std::sync::Arc<str>]) -> Result<Lists> {
    let bound = evaluation.runtime.view().view().node_id_bound();
    let mut parts: Vec<Lists> = (0..bound.div_ceil(LIST_STEP)).map(|_| Lists::default()).collect();
    let work = parts.iter_mut().enumerate().collect();
    for_each_part(evaluation.runtime, evaluation.tables, work, &|evaluation, number, part: &mut Lists| {
        let start = number as u64 * LIST_STEP;
        let ids: Vec<NodeId> = (start..(start + LIST_STEP).min(bound)).map(NodeId).collect();
        part.add(&mut Edges::of(evaluation.runtime, &ids, direction, types, EdgeIds::Omit)?);
        Ok(())
    })?;
    Ok(Lists::joined(parts))
}
