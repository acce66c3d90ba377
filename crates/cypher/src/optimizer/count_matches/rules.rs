//! A pattern turned to hang from one node, and its constraints as rules of the nodes and branches they are about.
//!
//! Two edges that share a node can only be the same if the nodes at their other ends are: where those must differ, the
//! edges need not be told to. A constraint that no rule can say makes slots be kept.

use std::sync::Arc;

use model::{Direction, Map};

use super::pattern::{Constraint, MustKeep, Pattern, PatternEdge};
use crate::catalog::CompileContext;
use crate::plan::conditions::conjunction;
use crate::plan::{CountedBranch, CountedChain, CountedNested, CountedNode, CountedRule, Difference, SlotId};

/// The most branches of a node that are kept from coinciding with each other.
const GROUP_MAX: usize = 4;

/// Cost of finding the number of edges of a node, relative to following one.
const DEGREE_COST: f64 = 0.1;

/// See the module.
pub(super) struct Oriented<'p> {
    pattern: &'p Pattern,
    places: Vec<Place>,
    of_slot: Map<SlotId, usize>,
}

/// A node of the tree.
struct Place {
    slot: SlotId,
    parent: Option<usize>,
    /// The edge from the parent, and its direction seen from there.
    edge: Option<(usize, Direction)>,
    children: Vec<usize>,
    rules: Vec<Rule>,
    chained: Option<(usize, Difference)>,
    /// The place two edges further down whose edge is not the one that leads here.
    row: Option<usize>,
}

/// A rule between children of a place.
enum Rule {
    Different(usize, usize, Difference),
    Apart {
        near: usize,
        over: usize,
        direction: Direction,
        types: Vec<Arc<str>>,
        different: bool,
    },
    Across {
        near: usize,
        over: usize,
        far: usize,
    },
    /// `far` stands below `over`. The flags say of the other pairs that their edges differ too.
    EdgesAcross {
        near: usize,
        over: usize,
        far: usize,
        near_over: bool,
        over_far: bool,
    },
}

impl Rule {
    /// The children it is about.
    fn pair(&self) -> [usize; 2] {
        match self {
            Rule::Different(a, b, _) => [*a, *b],
            Rule::Apart { near, over, .. } | Rule::Across { near, over, .. } | Rule::EdgesAcross { near, over, .. } => {
                [*near, *over]
            }
        }
    }
}

impl<'p> Oriented<'p> {
    /// Turns the part of the pattern that is connected with a node.
    pub(super) fn of(pattern: &'p Pattern, root: SlotId) -> Oriented<'p> {
        let place = |slot, parent, edge| {
            let (children, rules) = (Vec::new(), Vec::new());
            Place { slot, parent, edge, children, rules, chained: None, row: None }
        };
        let mut tree = Oriented { pattern, places: vec![place(root, None, None)], of_slot: Map::default() };
        tree.of_slot.insert(root, 0);
        let mut next = 0;
        while next < tree.places.len() {
            let slot = tree.places[next].slot;
            for (number, edge) in pattern.edges.iter().enumerate() {
                let (to, direction) = match (edge.left == slot, edge.right == slot) {
                    (true, _) => (edge.right, edge.direction),
                    (_, true) => (edge.left, edge.direction.reverse()),
                    _ => continue,
                };
                if tree.of_slot.contains_key(&to) {
                    continue;
                }
                let child = tree.places.len();
                tree.of_slot.insert(to, child);
                tree.places.push(place(to, Some(next), Some((number, direction))));
                tree.places[next].children.push(child);
            }
            next += 1;
        }
        tree
    }

    /// The tree with its rules.
    pub(super) fn tree(mut self, context: &CompileContext<'_>) -> Result<CountedNode, MustKeep> {
        for constraint in self.needed_constraints()? {
            self.place_rule(&constraint, context)?;
        }
        self.check()?;
        // Few edges first: nodes without any need not be looked at further.
        let edges = |place: &Place| {
            let types = place.edge.map_or(&[][..], |(edge, _)| self.pattern.edges[edge].types.as_slice());
            edge_count(types, context)
        };
        let counts: Vec<f64> = self.places.iter().map(edges).collect();
        self.places.iter_mut().for_each(|place| place.children.sort_by(|&a, &b| counts[a].total_cmp(&counts[b])));
        Ok(self.node(0))
    }

    /// Cost of following each edge from its parent's side, summed over all edges; used to choose a root. From few nodes
    /// few edges are followed, and each leads to one node at most.
    pub(super) fn cost(&self, nodes: f64, rows: &dyn Fn(SlotId) -> f64, edges: &dyn Fn(&PatternEdge) -> f64) -> f64 {
        let mut reached = vec![rows(self.places[0].slot)];
        let mut cost = DEGREE_COST * reached[0];
        for place in &self.places[1..] {
            let (Some((edge, direction)), Some(parent)) = (place.edge, place.parent) else { continue };
            let (edge, from) = (&self.pattern.edges[edge], reached[parent]);
            let all = edges(edge) * if direction == Direction::Both { 2.0 } else { 1.0 };
            // Between the average of all nodes, and what it is if all edges are at nodes with these labels.
            let of_node = all / (nodes * rows(self.places[parent].slot)).sqrt().max(1.0);
            let followed = all.min(from * of_node);
            reached.push(followed.min(rows(place.slot)));
            cost += DEGREE_COST * from + self.share_followed(place) * followed;
        }
        cost
    }

    /// Share of its edges that is followed: none to a node of which nothing is asked, and perhaps none if only labels
    /// are asked of it, since all nodes may carry them.
    fn share_followed(&self, place: &Place) -> f64 {
        let node = &self.pattern.nodes[&place.slot];
        let has_nested = self.pattern.nested.iter().any(|nested| nested.at == place.slot);
        match (place.children.is_empty() && node.predicates.is_empty() && !has_nested, node.labels.is_empty()) {
            (false, _) => 1.0,
            (true, false) => 0.1,
            (true, true) => 0.0,
        }
    }

    fn edge(&self, place: usize) -> Option<(&'p PatternEdge, Direction)> {
        self.places[place].edge.map(|(edge, direction)| (&self.pattern.edges[edge], direction))
    }

    /// The node that an edge leads to.
    fn end_of(&self, edge: usize) -> Option<usize> {
        self.places.iter().position(|place| place.edge.is_some_and(|(number, _)| number == edge))
    }

    /// The constraints of this tree, without those that others make true.
    fn needed_constraints(&self) -> Result<Vec<Constraint>, MustKeep> {
        let mut here = Vec::new();
        for constraint in &self.pattern.constraints {
            let slots = match constraint {
                Constraint::Edges(a, b) => [self.pattern.edges[*a].right, self.pattern.edges[*b].right],
                Constraint::Nodes(a, b) | Constraint::Apart { from: a, to: b, .. } => [*a, *b],
            };
            match slots.map(|slot| self.of_slot.contains_key(&slot)) {
                [true, true] => here.push(constraint.clone()),
                [false, false] => {}
                // The two stand in different trees.
                _ => return Err(slots.to_vec()),
            }
        }
        // A long pattern has thousands of constraints, nearly all between edges, which tell nothing of others.
        let (nodes, aparts): (Vec<&Constraint>, Vec<&Constraint>) = here
            .iter()
            .filter(|it| !matches!(it, Constraint::Edges(..)))
            .partition(|it| matches!(it, Constraint::Nodes(..)));
        let edges_told = |constraint: &Constraint| match constraint {
            Constraint::Edges(a, b) => nodes.iter().any(|other| self.tells_edges_apart(other, *a, *b)),
            _ => false,
        };
        let nodes_told = |constraint: &Constraint| match constraint {
            Constraint::Nodes(a, b) => {
                let apart = |it: &Constraint| self.tells_nodes_apart(it, *a, *b) || self.tells_nodes_apart(it, *b, *a);
                aparts.iter().any(|it| apart(it))
            }
            _ => false,
        };
        Ok(here.iter().filter(|it| !edges_told(it) && !nodes_told(it)).cloned().collect())
    }

    /// True if two edges are different because the constraint keeps nodes apart.
    fn tells_edges_apart(&self, constraint: &Constraint, a: usize, b: usize) -> bool {
        let Constraint::Nodes(x, y) = constraint else { return false };
        let (a, b) = (&self.pattern.edges[a], &self.pattern.edges[b]);
        let ends = |edge: &PatternEdge, end: SlotId| match (edge.left == end, edge.right == end) {
            (true, _) => Some((edge.right, edge.direction.reverse())),
            (_, true) => Some((edge.left, edge.direction)),
            _ => None,
        };
        [(x, y), (y, x)].into_iter().any(|(&x, &y)| match (ends(a, x), ends(b, y)) {
            // The same edge has the same end in the same direction.
            (Some((near, toward_x)), Some((far, toward_y))) => {
                near == far || (toward_x == toward_y && toward_x != Direction::Both)
            }
            _ => false,
        })
    }

    /// True if node `x` differs from node `y` because no edge leads to `x` from the node that such an edge to `y`
    /// starts from.
    fn tells_nodes_apart(&self, constraint: &Constraint, x: SlotId, y: SlotId) -> bool {
        let Constraint::Apart { from, to, direction, types } = constraint else { return false };
        let apart_from = match (*to == x, *from == x) {
            (true, _) => (*from, *direction),
            (_, true) => (*to, direction.reverse()),
            _ => return false,
        };
        let covers = |edge: &PatternEdge| {
            types.is_empty() || (!edge.types.is_empty() && edge.types.iter().all(|it| types.contains(it)))
        };
        self.pattern.edges.iter().filter(|edge| covers(edge)).any(|edge| {
            let leads_there = (edge.left, edge.direction) == apart_from && edge.right == y;
            leads_there || ((edge.right, edge.direction.reverse()) == apart_from && edge.left == y)
        })
    }

    fn place_rule(&mut self, constraint: &Constraint, context: &CompileContext<'_>) -> Result<(), MustKeep> {
        match constraint {
            Constraint::Edges(a, b) => {
                let slots = || vec![self.pattern.edges[*a].right, self.pattern.edges[*b].right];
                let (Some(a), Some(b)) = (self.end_of(*a), self.end_of(*b)) else { return Err(slots()) };
                let done = self.place_between(a, b, Difference::Edges)
                    || self.place_edges_across(a, b)
                    || self.place_edges_across(b, a)
                    || self.place_row(a, b)
                    || self.place_row(b, a);
                if done { Ok(()) } else { Err(vec![self.places[a].slot, self.places[b].slot]) }
            }
            Constraint::Nodes(x, y) => {
                let (a, b) = (self.of_slot[x], self.of_slot[y]);
                let done = self.place_between(a, b, Difference::Nodes)
                    || self.place_back(a, b)
                    || self.place_back(b, a)
                    || self.place_across(a, b)
                    || self.place_across(b, a);
                if done { Ok(()) } else { Err(vec![*x, *y]) }
            }
            Constraint::Apart { from, to, direction, types } => {
                let (a, b) = (self.of_slot[from], self.of_slot[to]);
                let Some(parent) = self.shared_parent(a, b) else { return Err(vec![*from, *to]) };
                // The ends of all branches `over` are looked at from: better many of few such edges each.
                let rows = |place: usize| labelled(&self.pattern.nodes[&self.places[place].slot].labels, context);
                let types = types.clone();
                let (near, over, direction) =
                    if rows(a) >= rows(b) { (b, a, *direction) } else { (a, b, direction.reverse()) };
                self.places[parent].rules.push(Rule::Apart { near, over, direction, types, different: false });
                Ok(())
            }
        }
    }

    fn shared_parent(&self, a: usize, b: usize) -> Option<usize> {
        self.places[a].parent.filter(|parent| self.places[b].parent == Some(*parent) && a != b)
    }

    /// A difference of two edges that share a node, or of the nodes they lead to.
    fn place_between(&mut self, a: usize, b: usize, difference: Difference) -> bool {
        if let Some(parent) = self.shared_parent(a, b) {
            self.places[parent].rules.push(Rule::Different(a, b, difference));
            return true;
        }
        if difference == Difference::Nodes {
            return false;
        }
        for (upper, lower) in [(a, b), (b, a)] {
            if self.places[lower].parent == Some(upper) && self.places[upper].chained.is_none() {
                self.places[upper].chained = Some((lower, Difference::Edges));
                return true;
            }
        }
        false
    }

    /// The end of a walk of two edges differs from its start.
    fn place_back(&mut self, start: usize, end: usize) -> bool {
        let Some(middle) = self.places[end].parent.filter(|&it| self.places[it].parent == Some(start)) else {
            return false;
        };
        let (Some((there, way)), Some((back, way_back))) = (self.edge(middle), self.edge(end)) else { return false };
        let mirrors = way == way_back.reverse() && same_types(&there.types, &back.types);
        if !mirrors || self.places[middle].chained.is_some() {
            return false;
        }
        self.places[middle].chained = Some((end, Difference::Nodes));
        true
    }

    /// Two ends of a walk of three edges differ, of which the middle one leads from the tree's upper node to its lower.
    fn place_across(&mut self, near: usize, far: usize) -> bool {
        let Some(over) = self.places[far].parent else { return false };
        let Some(upper) = self.shared_parent(near, over) else { return false };
        self.places[upper].rules.push(Rule::Across { near, over, far });
        true
    }

    /// The first and the last of three edges in a row differ, of which the middle one leads from the tree's upper node to
    /// its lower.
    fn place_edges_across(&mut self, near: usize, far: usize) -> bool {
        let Some(over) = self.places[far].parent else { return false };
        let Some(upper) = self.shared_parent(near, over) else { return false };
        self.places[upper].rules.push(Rule::EdgesAcross { near, over, far, near_over: false, over_far: false });
        true
    }

    /// The first and the last of three edges in a row differ, which lead away from the root.
    fn place_row(&mut self, first: usize, third: usize) -> bool {
        let is_row = self.places[third].parent.is_some_and(|second| self.places[second].parent == Some(first));
        let is_free = is_row && self.places[first].row.is_none();
        if is_free {
            self.places[first].row = Some(third);
        }
        is_free
    }

    /// True if an edge can be said to differ from the two that follow it in a row, and nothing else is said of those.
    fn is_row(&self, first: usize, third: usize) -> bool {
        let Some(second) = self.places[third].parent else { return false };
        let is_ruled = |at: usize, child: usize| self.places[at].rules.iter().any(|rule| rule.pair().contains(&child));
        let goes_on =
            |at: usize, next: usize| self.places[at].chained.is_none_or(|chained| chained == (next, Difference::Edges));
        let (middle, last) = (&self.places[second], &self.places[third]);
        let is_free = middle.row.is_none() && last.row.is_none() && last.chained.is_none();
        is_free
            && goes_on(first, second)
            && goes_on(second, third)
            && !is_ruled(first, second)
            && !is_ruled(second, third)
    }

    /// True if something is said of an edge and those that follow it.
    fn is_chained(&self, place: usize) -> bool {
        self.places[place].chained.is_some() || self.places[place].row.is_some()
    }

    /// Makes one rule of all that is asked of three edges in a row.
    fn merge_edges_across(&mut self, at: usize) {
        let rules = std::mem::take(&mut self.places[at].rules);
        let (mut across, mut others): (Vec<Rule>, Vec<Rule>) =
            rules.into_iter().partition(|rule| matches!(rule, Rule::EdgesAcross { .. }));
        for rule in &mut across {
            let Rule::EdgesAcross { near, over, far, near_over, over_far } = rule else { continue };
            let pair = [*near, *over];
            others.retain(|other| {
                let same =
                    matches!(other, Rule::Different(a, b, Difference::Edges) if pair.contains(a) && pair.contains(b));
                *near_over |= same;
                !same
            });
            let chained = &mut self.places[*over].chained;
            if *chained == Some((*far, Difference::Edges)) {
                *over_far = true;
                *chained = None;
            }
        }
        others.extend(across);
        self.places[at].rules = others;
    }

    /// Brings rules about the same branches together, and sees that they are such as can be counted.
    fn check(&mut self) -> Result<(), MustKeep> {
        for at in 0..self.places.len() {
            self.merge_apart(at);
            self.merge_edges_across(at);
            let refused = |tree: &Oriented<'_>, place: usize| Err(vec![tree.places[place].slot]);
            for (number, rule) in self.places[at].rules.iter().enumerate() {
                let [a, b] = rule.pair();
                let touching = self.places[at]
                    .rules
                    .iter()
                    .enumerate()
                    .filter(|(other, it)| *other != number && it.pair().iter().any(|place| [a, b].contains(place)));
                let is_lone = touching.clone().count() == 0;
                match rule {
                    Rule::Different(_, _, difference) => {
                        let fits = |(_, other): (usize, &Rule)| matches!(other, Rule::Different(_, _, other) if other == difference);
                        if !touching.clone().all(fits) || self.group_size(at, a) > GROUP_MAX {
                            return refused(self, a);
                        }
                    }
                    Rule::Apart { .. } if is_lone => {}
                    Rule::Across { over, far, .. } if is_lone => {
                        let place = &self.places[*over];
                        let is_ruled = place.rules.iter().any(|rule| rule.pair().contains(far));
                        if is_ruled || place.chained.is_some() || place.row.is_some() || self.is_chained(*far) {
                            return refused(self, a);
                        }
                    }
                    Rule::EdgesAcross { near, over, far, .. } if is_lone => {
                        let is_ruled = self.places[*over].rules.iter().any(|rule| rule.pair().contains(far));
                        if is_ruled || [near, over, far].iter().any(|place| self.is_chained(**place)) {
                            return refused(self, a);
                        }
                    }
                    _ => return refused(self, a),
                }
            }
            // Types may tell that the first of three edges in a row is not the last.
            let next = self.places[at].chained.and_then(|(child, _)| self.places[child].chained);
            self.places[at].row = self.places[at].row.or(next.map(|(child, _)| child));
            if let Some(third) = self.places[at].row {
                if !self.is_row(at, third) {
                    return refused(self, at);
                }
            } else if let Some((child, _)) = self.places[at].chained {
                let is_ruled = self.places[at].rules.iter().any(|rule| rule.pair().contains(&child));
                if is_ruled || self.is_chained(child) {
                    return refused(self, at);
                }
            }
        }
        Ok(())
    }

    /// A pair that is apart and different is told so by one rule.
    fn merge_apart(&mut self, at: usize) {
        let rules = std::mem::take(&mut self.places[at].rules);
        let (mut apart, mut others): (Vec<Rule>, Vec<Rule>) =
            rules.into_iter().partition(|rule| matches!(rule, Rule::Apart { .. }));
        for rule in &mut apart {
            let Rule::Apart { near, over, different, .. } = rule else { continue };
            let pair = [*near, *over];
            others.retain(|other| {
                let same =
                    matches!(other, Rule::Different(a, b, Difference::Nodes) if pair.contains(a) && pair.contains(b));
                *different |= same;
                !same
            });
        }
        others.extend(apart);
        self.places[at].rules = others;
    }

    /// Number of branches that must differ from each other, directly or through others.
    fn group_size(&self, at: usize, member: usize) -> usize {
        let mut group = vec![member];
        let mut next = 0;
        while next < group.len() {
            for rule in &self.places[at].rules {
                let pair = rule.pair();
                if pair.contains(&group[next]) {
                    pair.into_iter().for_each(|place| {
                        if !group.contains(&place) {
                            group.push(place);
                        }
                    });
                }
            }
            next += 1;
        }
        group.len()
    }

    fn node(&self, at: usize) -> CountedNode {
        let place = &self.places[at];
        let number = |child: usize| place.children.iter().position(|it| *it == child).unwrap_or_default();
        let mut node = CountedNode::bare(place.slot);
        if at > 0 {
            let asked = &self.pattern.nodes[&place.slot];
            node.labels = asked.labels.clone();
            node.predicate = conjunction(asked.predicates.clone());
        }
        node.branches = place.children.iter().map(|&child| self.branch(child)).collect();
        let nested = self.pattern.nested.iter().filter(|nested| nested.at == place.slot);
        node.nested = nested.map(|it| CountedNested { kind: it.kind, node: it.node.clone() }).collect();
        let rule = |rule: &Rule| match rule {
            Rule::Different(a, b, difference) => CountedRule::Different(number(*a), number(*b), *difference),
            Rule::Apart { near, over, direction, types, different } => CountedRule::Apart {
                near: number(*near),
                over: number(*over),
                direction: *direction,
                types: types.clone(),
                different: *different,
            },
            Rule::Across { near, over, far } => {
                let far = self.places[*over].children.iter().position(|it| it == far).unwrap_or_default();
                CountedRule::DifferentAcross { near: number(*near), over: number(*over), far }
            }
            Rule::EdgesAcross { near, over, far, near_over, over_far } => CountedRule::EdgesAcross {
                near: number(*near),
                over: number(*over),
                far: self.places[*over].children.iter().position(|it| it == far).unwrap_or_default(),
                near_over: *near_over,
                over_far: *over_far,
            },
        };
        node.rules = place.rules.iter().map(rule).collect();
        node
    }

    fn branch(&self, at: usize) -> CountedBranch {
        let place = &self.places[at];
        let (direction, types) = match self.edge(at) {
            Some((edge, direction)) => (direction, edge.types.clone()),
            None => (Direction::Out, Vec::new()),
        };
        let number = |child: usize| place.children.iter().position(|it| *it == child).unwrap_or_default();
        let back = place.chained.map(|(child, difference)| CountedChain::Back(number(child), difference));
        let row = place.row.and_then(|third| {
            let middle = self.places[third].parent?;
            let third = self.places[middle].children.iter().position(|it| *it == third)?;
            Some(CountedChain::Row { second: number(middle), third, first_second: place.chained.is_some() })
        });
        let chained = row.or(back);
        CountedBranch { direction, types, node: self.node(at), chained }
    }
}

/// Upper bound of the number of nodes that carry the labels.
pub(in crate::optimizer) fn labelled(labels: &[Arc<str>], context: &CompileContext<'_>) -> f64 {
    let statistics = context.statistics;
    let count = |label: &Arc<str>| context.schema.label(label).map_or(0, |label| statistics.label(label)) as f64;
    labels.iter().map(count).fold(statistics.nodes as f64, f64::min)
}

/// Edges of any of the types; all if there are none.
pub(super) fn edge_count(types: &[Arc<str>], context: &CompileContext<'_>) -> f64 {
    let statistics = context.statistics;
    if types.is_empty() {
        return statistics.edges as f64;
    }
    let count = |name: &Arc<str>| context.schema.edge_type(name).map_or(0, |id| statistics.edge_type(id));
    types.iter().map(count).sum::<u64>() as f64
}

fn same_types(a: &[Arc<str>], b: &[Arc<str>]) -> bool {
    a.len() == b.len() && a.iter().all(|name| b.contains(name))
}
