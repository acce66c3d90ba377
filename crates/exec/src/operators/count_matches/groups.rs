//! Branches whose numbers depend on each other: the product of what they could be, less what they must not be.

use cypher::plan::Difference;
use model::store::EdgeIds;
use model::{Direction, Map, NodeId, Result};

use super::evaluation::{Evaluation, for_each_part};
use super::lists::{Edges, Lists};
use super::tree::{Different, Group, Node};

/// The most members of a group that differ.
const MEMBERS_MAX: usize = 4;

/// Ids of nodes whose lists are made at a time.
const LIST_STEP: u64 = 4_096;

/// Numbers of nodes that are few.
#[derive(Default)]
pub(super) struct Marks {
    by_id: Vec<u64>,
    others: Map<NodeId, u64>,
}

/// The ids for which an array is kept.
const MARKED_IDS_MAX: u64 = 1 << 28;

impl Marks {
    fn prepare(&mut self, bound: u64) {
        if bound <= MARKED_IDS_MAX && self.by_id.len() < bound as usize {
            self.by_id.resize(bound as usize, 0);
        }
    }

    #[inline]
    fn add(&mut self, node: NodeId, number: u64) {
        match self.by_id.get_mut(node.0 as usize) {
            Some(mark) => *mark = mark.saturating_add(number),
            None => {
                let mark = self.others.entry(node).or_default();
                *mark = mark.saturating_add(number);
            }
        }
    }

    #[inline]
    fn get(&self, node: NodeId) -> u64 {
        match self.by_id.get(node.0 as usize) {
            Some(mark) => *mark,
            None => self.others.get(&node).copied().unwrap_or(0),
        }
    }

    fn clear(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            if let Some(mark) = self.by_id.get_mut(node.0 as usize) {
                *mark = 0;
            }
        }
        self.others.clear();
    }
}

/// What the edges of one node come to for each member, and by what they are told apart.
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
    let (near, over) = Ends::of_both(evaluation, node, (*near, *over), nodes)?;
    let (places, ends) = distinct(&over.edges.neighbors);
    let lists;
    let own;
    let by_id = evaluation.pays_whole(ends.len()) || evaluation.tables.lists[*list].get().is_some();
    if by_id {
        lists = evaluation.tables.lists[*list].get_or_make(|| all_lists(evaluation, *direction, types))?;
    } else {
        let mut few = Lists::default();
        few.add(&mut Edges::of(evaluation.runtime, &ends, *direction, types, EdgeIds::Omit)?);
        own = few;
        lists = std::sync::Arc::new(own);
    }
    let list_of = |edge: usize| {
        let end = over.edges.neighbors[edge];
        lists.get(if by_id { end.0 as usize } else { places[edge] as usize })
    };
    subtract(evaluation, &near, &over, nodes.len(), &|marks, near, edge| {
        let (list, end) = (list_of(edge), over.edges.neighbors[edge]);
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
        met.saturating_mul(over.each[edge])
    })
}

/// `near` and `far` that differ, where `over` leads to the node of the latter.
pub(super) fn across(
    evaluation: &mut Evaluation<'_, '_>,
    node: &Node,
    (near, over, far): (usize, usize, usize),
    nodes: &[NodeId],
) -> Result<Vec<u64>> {
    let (middle, far) = (&node.branches[over].node, &node.branches[over].node.branches[far]);
    let (near, over) = Ends::of_both(evaluation, node, (near, over), nodes)?;
    let (places, ends) = distinct(&over.edges.neighbors);
    let known = evaluation.know(middle, &ends)?;
    let rests: Vec<u64> = ends.iter().map(|&end| evaluation.get(&known, end).rest).collect();
    let edges = Edges::of(evaluation.runtime, &ends, far.direction, &far.types, EdgeIds::Omit)?;
    let each = evaluation.contributions(far, &ends, &edges)?;
    subtract(evaluation, &near, &over, nodes.len(), &|marks, _, edge| {
        let place = places[edge] as usize;
        let met = edges
            .range(place)
            .fold(0_u64, |met, at| met.saturating_add(marks.get(edges.neighbors[at]).saturating_mul(each[at])));
        met.saturating_mul(rests[place])
    })
}

/// The edges of a branch from a batch of nodes, and what each comes to.
struct Ends {
    edges: Edges,
    each: Vec<u64>,
}

impl Ends {
    fn of_both(
        evaluation: &mut Evaluation<'_, '_>,
        node: &Node,
        branches: (usize, usize),
        nodes: &[NodeId],
    ) -> Result<(Ends, Ends)> {
        let mut of = |branch: usize| {
            let branch = &node.branches[branch];
            let edges = Edges::of(evaluation.runtime, nodes, branch.direction, &branch.types, EdgeIds::Omit)?;
            let each = evaluation.contributions(branch, nodes, &edges)?;
            Ok(Ends { edges, each })
        };
        Ok((of(branches.0)?, of(branches.1)?))
    }
}

/// For each node the product of two branches, less what `lost` says of each edge of the second, being given the marks
/// and the ends of the first.
fn subtract(
    evaluation: &mut Evaluation<'_, '_>,
    near: &Ends,
    over: &Ends,
    nodes: usize,
    lost: &dyn Fn(&Marks, &[NodeId], usize) -> u64,
) -> Result<Vec<u64>> {
    let mut marks = std::mem::take(&mut evaluation.marks);
    marks.prepare(evaluation.runtime.view().view().node_id_bound());
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
            less += u128::from(lost(&marks, ends, edge));
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
    let work = parts.iter_mut().enumerate().map(|(number, part)| (number, part)).collect();
    for_each_part(evaluation.runtime, evaluation.tables, work, &|evaluation, number, part: &mut Lists| {
        let start = number as u64 * LIST_STEP;
        let ids: Vec<NodeId> = (start..(start + LIST_STEP).min(bound)).map(NodeId).collect();
        part.add(&mut Edges::of(evaluation.runtime, &ids, direction, types, EdgeIds::Omit)?);
        Ok(())
    })?;
    Ok(Lists::joined(parts))
}
