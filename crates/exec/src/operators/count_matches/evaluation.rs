//! Works out what nodes stand for.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cypher::plan::{CountedChain, Difference, NestedKind};
use model::procedure::GraphAccess;
use model::store::EdgeIds;
use model::{Bitmap, Column, ColumnData, Direction, EdgeBatch, EdgeTypeId, Map, NodeBatch, NodeId, NodeScan, Result};

use super::lists::Edges;
use super::row::{self, Row};
use super::tables::{Message, Tables, Whole};
use super::tree::{Branch, Group, Node};
use super::{edges_across, groups};
use crate::adjacency::expansion;
use crate::adjacency::label_ids;
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::profile::{At, Profiler};
use crate::repeats::Repeats;
use crate::runtime::Runtime;

/// Ids of nodes that a thread takes at a time when it works out what all stand for.
const STEP: usize = 4_096;

/// All nodes are evaluated once the share of requested ones reaches one in this number.
const WHOLE_SHARE: usize = 8;

/// The largest number of ids for which arrays are made.
const WHOLE_IDS_MAX: u64 = 1 << 32;

/// One thread's evaluation of a tree, with the numbers known of its nodes.
pub(super) struct Evaluation<'e, 'r> {
    pub(super) runtime: &'e Runtime<'r>,
    pub(super) tables: &'e Tables,
    /// By the number of a tree's node: what was worked out for single nodes.
    pub(super) memos: Vec<Map<NodeId, Message>>,
    /// The same for what was worked out last, where memory is short; may be forgotten at any time.
    pub(super) recent: Vec<Map<NodeId, Message>>,
    pub(super) marks: groups::Marks,
    /// Memory of the memos, and of the arrays that this thread made.
    pub(super) charge: Charge<'r>,
}

/// The location of the messages of nodes.
pub(super) enum Known {
    /// Every node stands for one match.
    One,
    Whole(Arc<Whole>),
    /// One match for each place that is set.
    Labelled(Bitmap),
    /// In the memo of that table.
    Memo(usize),
    /// One for each node that was asked for.
    Each(Vec<Message>),
}

/// Nodes that have come to something so far, their places among those asked for, and their numbers.
pub(super) struct Live {
    pub(super) nodes: Vec<NodeId>,
    places: Vec<u32>,
    products: Vec<u64>,
}

impl Live {
    /// Multiplies the numbers, and drops nodes that come to nothing.
    fn multiply(&mut self, factors: &[u64]) {
        let mut kept = 0;
        for (at, &factor) in factors.iter().enumerate() {
            let product = self.products[at].saturating_mul(factor);
            if product != 0 {
                self.nodes[kept] = self.nodes[at];
                self.places[kept] = self.places[at];
                self.products[kept] = product;
                kept += 1;
            }
        }
        self.nodes.truncate(kept);
        self.places.truncate(kept);
        self.products.truncate(kept);
    }

    /// Drops nodes for which something does not hold.
    pub(super) fn retain(&mut self, holds: impl Fn(NodeId) -> bool) {
        let factors: Vec<u64> = self.nodes.iter().map(|&node| u64::from(holds(node))).collect();
        if factors.contains(&0) {
            self.multiply(&factors);
        }
    }
}

impl<'e, 'r> Evaluation<'e, 'r> {
    /// Knows nothing but what is shared.
    pub(super) fn new(runtime: &'e Runtime<'r>, tables: &'e Tables) -> Evaluation<'e, 'r> {
        let empty = || tables.wholes.iter().map(|_| Map::default()).collect();
        let (memos, recent) = (empty(), empty());
        let charge = runtime.charge("CountMatches");
        Evaluation { runtime, tables, memos, recent, marks: groups::Marks::default(), charge }
    }

    /// Number of matches that each node stands for; the nodes may come again.
    pub(super) fn values(&mut self, node: &Node, nodes: &[NodeId]) -> Result<Vec<u64>> {
        let known = self.know(node, nodes)?;
        Ok(self.messages(&known, nodes).map(|message| message.value).collect())
    }

    /// Works out what nodes stand for, each of them anew.
    pub(super) fn evaluate(&mut self, node: &Node, nodes: &[NodeId]) -> Result<Vec<Message>> {
        let mut messages = vec![Message::default(); nodes.len()];
        let mut live = self.passing(node, nodes)?;
        // An optional part drops no node, so it comes after the parts that may.
        self.multiply_nested(node, &mut live, |kind| kind != NestedKind::Optional)?;
        let is_aside = |group: &Group| matches!(group, Group::Alone(at) if node.aside == Some(*at));
        for group in node.groups.iter().filter(|group| !is_aside(group)) {
            self.multiply_group(node, group, &mut live)?;
        }
        self.multiply_nested(node, &mut live, |kind| kind == NestedKind::Optional)?;
        if let Some(group) = node.groups.iter().find(|group| is_aside(group)) {
            live.places.iter().zip(&live.products).for_each(|(&at, &rest)| messages[at as usize].rest = rest);
            if let (true, Some(aside)) = (node.counts_loops, node.aside) {
                let loops = self.loops(&node.branches[aside], &live.nodes)?;
                live.places.iter().zip(loops).for_each(|(&at, loops)| messages[at as usize].loops = loops);
            }
            self.multiply_group(node, group, &mut live)?;
        }
        live.places.iter().zip(&live.products).for_each(|(&at, &value)| messages[at as usize].value = value);
        Ok(messages)
    }

    fn multiply_nested(&mut self, node: &Node, live: &mut Live, wanted: fn(NestedKind) -> bool) -> Result<()> {
        for (kind, nested) in node.nested.iter().filter(|(kind, _)| wanted(*kind)) {
            if live.nodes.is_empty() {
                break;
            }
            let mut factors: Vec<u64> = self.evaluate(nested, &live.nodes)?.iter().map(|it| it.value).collect();
            let change = |number: &mut u64| match kind {
                NestedKind::Optional => *number = (*number).max(1),
                NestedKind::Exists => *number = (*number).min(1),
                NestedKind::Absent => *number = u64::from(*number == 0),
            };
            factors.iter_mut().for_each(change);
            live.multiply(&factors);
        }
        Ok(())
    }

    fn multiply_group(&mut self, node: &Node, group: &Group, live: &mut Live) -> Result<()> {
        self.reduce(node, group, live)?;
        if live.nodes.is_empty() {
            return Ok(());
        }
        let factors = match group {
            Group::Alone(at) => self.sums(&node.branches[*at], &live.nodes)?,
            _ if self.has_low_memory() => self.group_in_parts(node, group, &live.nodes)?,
            Group::Different(different) => groups::different(self, node, different, &live.nodes)?,
            Group::Apart { .. } => groups::apart(self, node, group, &live.nodes)?,
            Group::Across { near, over, far } => groups::across(self, node, (*near, *over, *far), &live.nodes)?,
            Group::EdgesAcross(rule) => edges_across::count(self, node, rule, &live.nodes)?,
        };
        live.multiply(&factors);
        Ok(())
    }

    /// The nodes that are such as the tree wants them. One that comes many times is tested once.
    fn passing(&self, node: &Node, nodes: &[NodeId]) -> Result<Live> {
        let tests = node.predicate.is_some() || !node.labels.is_empty() && !self.are_labels_implied(node);
        let Some(repeats) = tests.then(|| Repeats::of(nodes)).flatten() else { return self.passing_each(node, nodes) };
        let live = self.passing_each(node, &repeats.nodes)?;
        let mut passes = vec![false; repeats.nodes.len()];
        live.places.iter().for_each(|&place| passes[place as usize] = true);
        let is_live = |place: &u32| passes[repeats.places[*place as usize] as usize];
        let places: Vec<u32> = (0..nodes.len() as u32).filter(is_live).collect();
        let nodes: Vec<NodeId> = places.iter().map(|&place| nodes[place as usize]).collect();
        Ok(Live { products: vec![1; nodes.len()], nodes, places })
    }

    fn passing_each(&self, node: &Node, nodes: &[NodeId]) -> Result<Live> {
        let view = self.runtime.view();
        let mut places: Vec<u32> = (0..nodes.len() as u32).collect();
        if !node.labels.is_empty() && !self.are_labels_implied(node) {
            match label_ids(view.view(), &node.labels) {
                None => places.clear(),
                Some(labels) => {
                    for label in labels {
                        let carry = view.view().has_label(nodes, label)?;
                        places.retain(|&place| carry.get(place as usize));
                    }
                }
            }
        }
        let mut passing: Vec<NodeId> = places.iter().map(|&place| nodes[place as usize]).collect();
        if let Some(predicate) = node.predicate.as_ref().filter(|_| !passing.is_empty()) {
            let column = Arc::new(Column::new(ColumnData::Node(passing.clone())));
            let chunk = Chunk { rows: passing.len(), columns: vec![column] };
            let rows = predicate.evaluate_predicate(&chunk, &self.runtime.evaluation(&view))?;
            if rows.len() < passing.len() {
                places = rows.iter().map(|&row| places[row as usize]).collect();
                passing = rows.iter().map(|&row| passing[row as usize]).collect();
            }
        }
        let products = vec![1; passing.len()];
        Ok(Live { nodes: passing, places, products })
    }

    /// For each node, the sum over the edges of a branch of what they lead to.
    pub(super) fn sums(&mut self, branch: &Branch, nodes: &[NodeId]) -> Result<Vec<u64>> {
        if branch.chained.is_none() && branch.node.is_only_labelled() {
            return self.sums_of_labelled(branch, nodes);
        }
        if branch.is_bare() {
            let view = self.runtime.view();
            let Some(expand) = expansion(view.view(), branch.direction, &branch.types, EdgeIds::Omit) else {
                return Ok(vec![0; nodes.len()]);
            };
            return view.view().degrees(nodes, branch.direction, expand.types.as_deref());
        }
        if branch.chained.is_none()
            && let Some(whole) = self.tables.wholes[branch.node.table].get()
        {
            return self.sums_of_whole(branch, &whole, nodes);
        }
        match (self.has_low_memory(), branch.chained) {
            (true, None) => self.sums_streamed(branch, nodes),
            (true, Some(_)) => self.in_parts(&branch.compared(), nodes, |it, some| it.sums_of_edges(branch, some)),
            (false, _) => self.sums_of_edges(branch, nodes),
        }
    }

    fn sums_of_edges(&mut self, branch: &Branch, nodes: &[NodeId]) -> Result<Vec<u64>> {
        let edges = Edges::of(self.runtime, nodes, branch.direction, &branch.types, EdgeIds::Omit)?;
        let each = self.contributions(branch, nodes, &edges)?;
        let sum = |node: usize| each[edges.range(node)].iter().fold(0_u64, |sum, &it| sum.saturating_add(it));
        Ok((0..nodes.len()).map(sum).collect())
    }

    fn sums_of_whole(&self, branch: &Branch, whole: &Whole, nodes: &[NodeId]) -> Result<Vec<u64>> {
        self.sums_by_end(branch, nodes, |_, end| whole.values.get(end.0 as usize).copied().unwrap_or(0))
    }

    /// The number of edges of a branch from each node to itself.
    fn loops(&self, branch: &Branch, nodes: &[NodeId]) -> Result<Vec<u64>> {
        self.sums_by_end(branch, nodes, |place, end| u64::from(nodes[place] == end))
    }

    /// For each node, the sum over the edges of a branch of a number that its place and their end tell.
    fn sums_by_end(
        &self,
        branch: &Branch,
        nodes: &[NodeId],
        number: impl Fn(usize, NodeId) -> u64,
    ) -> Result<Vec<u64>> {
        let mut sums = vec![0_u64; nodes.len()];
        let view = self.runtime.view();
        let Some(expand) = expansion(view.view(), branch.direction, &branch.types, EdgeIds::Omit) else {
            return Ok(sums);
        };
        let mut batch = EdgeBatch::default();
        let mut cursor = view.view().expand(nodes, &expand)?;
        while cursor.next(&mut batch)? {
            self.runtime.environment.interrupt.check()?;
            for (&input, &end) in batch.inputs.iter().zip(&batch.neighbors) {
                let sum = &mut sums[input as usize];
                *sum = sum.saturating_add(number(input as usize, end));
            }
        }
        Ok(sums)
    }

    /// For each edge of a branch from a batch of nodes, in how many ways the tree goes on from there.
    pub(super) fn contributions(&mut self, branch: &Branch, nodes: &[NodeId], edges: &Edges) -> Result<Vec<u64>> {
        let known = self.know(&branch.node, &edges.neighbors)?;
        let (back, difference) = match branch.chained {
            None => return Ok(self.messages(&known, &edges.neighbors).map(|message| message.value).collect()),
            Some(CountedChain::Back(back, difference)) => (back, difference),
            Some(CountedChain::Row { second, third, first_second }) => {
                let messages: Vec<Message> = self.messages(&known, &edges.neighbors).collect();
                let second = &branch.node.branches[second];
                let row = Row { second, third: &second.node.branches[third], first_second };
                return row::contributions(self, branch, row, (nodes, edges, &messages));
            }
        };
        let again = &branch.node.branches[back];
        // The walk back would have given this: the start seen as the end of the second edge.
        let at_start = self.values(&again.node, nodes)?;
        let mut each = Vec::with_capacity(edges.neighbors.len());
        let same_edge = SameEdge::of(self.runtime, branch, again);
        let mut counts: Map<NodeId, u64> = Map::default();
        for (node, &back) in at_start.iter().enumerate() {
            let range = edges.range(node);
            if difference == Difference::Nodes {
                counts.clear();
                edges.neighbors[range.clone()].iter().for_each(|&it| *counts.entry(it).or_default() += 1);
            }
            for edge in range {
                let neighbor = edges.neighbors[edge];
                let Message { value, rest, .. } = self.get(&known, edge, neighbor);
                let times = match difference {
                    Difference::Nodes => counts.get(&neighbor).copied().unwrap_or(0),
                    Difference::Edges => u64::from(same_edge.can_be(edges, edge, nodes[node] == neighbor)),
                };
                let lost = rest.saturating_mul(back).saturating_mul(times);
                each.push(if value == u64::MAX { value } else { value.saturating_sub(lost) });
            }
        }
        Ok(each)
    }

    /// Number of matches that each node stands for without the branch aside.
    pub(super) fn rests(&mut self, node: &Node, nodes: &[NodeId]) -> Result<Vec<u64>> {
        if node.groups.len() == 1 && node.nested.is_empty() {
            // Nothing but the branch aside: it only matters what is asked of the node itself.
            let live = self.passing(node, nodes)?;
            let mut rests = vec![0; nodes.len()];
            live.places.iter().for_each(|&place| rests[place as usize] = 1);
            return Ok(rests);
        }
        let known = self.know(node, nodes)?;
        Ok(self.messages(&known, nodes).map(|message| message.rest).collect())
    }

    /// The messages of the nodes that were asked for.
    pub(super) fn messages(&self, known: &Known, nodes: &[NodeId]) -> impl Iterator<Item = Message> {
        nodes.iter().enumerate().map(move |(at, &node)| self.get(known, at, node))
    }

    /// The message of one node, which is at position `at` among those that were asked for.
    #[inline]
    fn get(&self, known: &Known, at: usize, node: NodeId) -> Message {
        match known {
            Known::One => Message::ONE,
            Known::Whole(whole) => whole.get(node),
            Known::Labelled(places) => {
                if places.get(at) {
                    Message::ONE
                } else {
                    Message::default()
                }
            }
            Known::Memo(table) => self.memos[*table].get(&node).copied().unwrap_or_default(),
            Known::Each(each) => each[at],
        }
    }

    /// Sees that it is known what nodes stand for.
    pub(super) fn know(&mut self, node: &Node, nodes: &[NodeId]) -> Result<Known> {
        if node.is_bare() {
            return Ok(Known::One);
        }
        if node.is_only_labelled() {
            self.types_to(node)?;
            self.tables.asked[node.table].fetch_add(nodes.len(), Ordering::Relaxed);
            let is_implied = self.are_labels_implied(node);
            return if is_implied { Ok(Known::One) } else { self.labelled(node, nodes).map(Known::Labelled) };
        }
        if let Some(whole) = self.tables.wholes[node.table].get() {
            return Ok(Known::Whole(whole));
        }
        let asked = self.tables.asked[node.table].fetch_add(nodes.len(), Ordering::Relaxed) + nodes.len();
        if !self.has_low_memory() && self.pays_whole(asked) {
            self.find_types(node)?;
            if let Some(whole) = self.whole(node)? {
                return Ok(Known::Whole(whole));
            }
            self.turn_to_low_memory();
        }
        if self.has_low_memory() {
            let stored = if self.pays_whole(asked) { self.stored_messages(node, nodes)? } else { None };
            return stored.map_or_else(|| self.each(node, nodes), Ok).map(Known::Each);
        }
        let mut memo = std::mem::take(&mut self.memos[node.table]);
        let mut new = Vec::new();
        for &it in nodes {
            memo.entry(it).or_insert_with(|| {
                new.push(it);
                Message::default()
            });
        }
        if !self.takes_memo(new.len()) {
            new.iter().for_each(|it| {
                memo.remove(it);
            });
            self.memos[node.table] = memo;
            self.turn_to_low_memory();
            return self.each(node, nodes).map(Known::Each);
        }
        for some in new.chunks(STEP) {
            let messages = self.evaluate(node, some)?;
            for (&it, message) in some.iter().zip(messages) {
                memo.insert(it, message);
            }
        }
        self.memos[node.table] = memo;
        Ok(Known::Memo(node.table))
    }

    /// True if asking for this number of single nodes makes it pay to work out all.
    pub(super) fn pays_whole(&self, nodes: usize) -> bool {
        let view = self.runtime.view();
        let bound = view.view().node_id_bound();
        view.view().capabilities().dense_node_ids && bound <= WHOLE_IDS_MAX && nodes > bound as usize / WHOLE_SHARE
    }

    /// The messages of all nodes; `None` if there is no room for them.
    pub(super) fn whole(&mut self, node: &Node) -> Result<Option<Arc<Whole>>> {
        let (tables, runtime) = (self.tables, self.runtime);
        tables.wholes[node.table].get_or_try(|| {
            if !self.make_below(node)? {
                return Ok(None);
            }
            let bound = runtime.view().view().node_id_bound() as usize;
            if self.charge.try_grow(node.numbers() * bound * size_of::<u64>()).is_err() {
                return Ok(None);
            }
            let mut values = vec![0_u64; bound];
            let mut rests = vec![0_u64; if node.aside.is_some() { bound } else { 0 }];
            let mut loops = vec![0_u64; if node.counts_loops { bound } else { 0 }];
            let (mut rest_parts, mut loop_parts) = (rests.chunks_mut(STEP), loops.chunks_mut(STEP));
            let parts = values.chunks_mut(STEP).enumerate();
            let parts = parts.map(|(number, values)| {
                let others = (rest_parts.next().unwrap_or_default(), loop_parts.next().unwrap_or_default());
                (number * STEP, (values, others))
            });
            for_each_part(runtime, tables, parts.collect(), &|evaluation, start, (values, (rests, loops))| {
                evaluation.fill(node, start, values, (rests, loops))
            })?;
            Ok(Some(Whole { values, rests, loops, few: OnceLock::new() }))
        })
    }

    /// Works out all nodes that the branches of a node lead to, because they are wanted if all of the node are. False
    /// if there is no room for it.
    fn make_below(&mut self, node: &Node) -> Result<bool> {
        for below in node.below() {
            self.find_types(below)?;
            if !below.is_only_labelled() && self.whole(below)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Works out what nodes with successive ids stand for.
    fn fill(
        &mut self,
        node: &Node,
        start: usize,
        values: &mut [u64],
        (rests, loops): (&mut [u64], &mut [u64]),
    ) -> Result<()> {
        let ids = start as u64..(start + values.len()) as u64;
        let nodes = self.candidates(node, ids)?;
        let messages = self.evaluate(node, &nodes)?;
        for (it, message) in nodes.iter().zip(messages) {
            let at = it.0 as usize - start;
            values[at] = message.value;
            if let Some(rest) = rests.get_mut(at) {
                *rest = message.rest;
            }
            if let Some(number) = loops.get_mut(at) {
                *number = message.loops;
            }
        }
        Ok(())
    }

    /// The nodes of a range of ids that may be such as the tree wants them.
    pub(super) fn candidates(&self, node: &Node, ids: Range<u64>) -> Result<Vec<NodeId>> {
        if node.labels.is_empty() {
            return Ok(ids.map(NodeId).collect());
        }
        let view = self.runtime.view();
        let mut nodes = Vec::new();
        if let Some(labels) = label_ids(view.view(), &node.labels) {
            let scan = NodeScan { labels, range: Some(ids), ..NodeScan::default() };
            let mut cursor = view.view().scan(&scan)?;
            let mut batch = NodeBatch::default();
            while cursor.next(&mut batch)? {
                nodes.extend_from_slice(&batch.nodes);
            }
        }
        Ok(nodes)
    }
}

/// Does the work of each part, on all threads that the run may use.
pub(super) fn for_each_part<T: Send>(
    runtime: &Runtime<'_>,
    tables: &Tables,
    parts: Vec<(usize, T)>,
    work: &(dyn Fn(&mut Evaluation<'_, '_>, usize, T) -> Result<()> + Sync),
) -> Result<()> {
    let threads = runtime.environment.settings.threads.min(parts.len());
    if threads <= 1 || runtime.writes() {
        let mut evaluation = Evaluation::new(runtime, tables);
        return parts.into_iter().try_for_each(|(start, part)| work(&mut evaluation, start, part));
    }
    let view = runtime.view();
    let view = view.view();
    let (prepared, environment, shared) = (runtime.prepared, runtime.environment, runtime.states.clone());
    let parts = Mutex::new(parts.into_iter());
    let outcome = Mutex::new(Ok(()));
    let consumer = runtime.profiler.as_ref().and_then(Profiler::current);
    let profiles = Mutex::new(Vec::new());
    let work_on = |own: &Runtime<'_>| {
        let mut evaluation = Evaluation::new(own, tables);
        loop {
            let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((start, part)) = next else { return };
            if let Err(error) = work(&mut evaluation, start, part) {
                *outcome.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                // Nobody needs the other parts.
                parts.lock().unwrap_or_else(PoisonError::into_inner).by_ref().for_each(drop);
                return;
            }
        }
    };
    let work_through = || {
        let mut own = Runtime::new(GraphAccess::Read(view), prepared, environment);
        own.states = shared.clone();
        if let Some(profiler) = &own.profiler {
            profiler.switch(consumer.into());
        }
        work_on(&own);
        profiles.lock().unwrap_or_else(PoisonError::into_inner).push(own.into_profile());
    };
    let before = runtime.profiler.as_ref().map(|profiler| profiler.switch(At::Parts));
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| {
                let _helping = environment.interrupt.help();
                work_through();
            });
        }
        work_through();
    });
    if let (Some(profiler), Some(before)) = (&runtime.profiler, before) {
        profiler.add(&*profiles.lock().unwrap_or_else(PoisonError::into_inner));
        profiler.switch(before);
    }
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The check whether the second edge of a walk can be the first again.
pub(super) struct SameEdge {
    direction: Direction,
    again: Direction,
    /// The types of the second; `None` for any.
    types: Option<Vec<EdgeTypeId>>,
    /// The second can be of no type.
    never: bool,
}

impl SameEdge {
    /// For an edge of `again` that is followed from the node which one of `branch` leads to.
    pub(super) fn of(runtime: &Runtime<'_>, branch: &Branch, again: &Branch) -> SameEdge {
        let view = runtime.view();
        let expand = expansion(view.view(), again.direction, &again.types, EdgeIds::Omit);
        let never = expand.is_none();
        let types = expand.and_then(|expand| expand.types);
        SameEdge { direction: branch.direction, again: again.direction, types, never }
    }

    /// The same for both being followed from one node.
    pub(super) fn from_start(runtime: &Runtime<'_>, branch: &Branch, other: &Branch) -> SameEdge {
        let same = SameEdge::of(runtime, branch, other);
        SameEdge { again: same.again.reverse(), ..same }
    }

    /// True if an edge of the branch can be one of the other; `is_loop` if it leads to the node it comes from.
    pub(super) fn can_be(&self, edges: &Edges, edge: usize, is_loop: bool) -> bool {
        if self.never || self.types.as_ref().is_some_and(|types| !types.contains(&edges.types[edge])) {
            return false;
        }
        // The way the edge is met from the node it leads to.
        let back = match self.direction {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
            Direction::Both if edges.reversed[edge] => Direction::Out,
            Direction::Both => Direction::In,
        };
        is_loop || self.again == Direction::Both || self.again == back
    }
}
