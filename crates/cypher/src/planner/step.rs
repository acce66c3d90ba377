//! The steps in which a pattern is matched, and what they need.

use std::sync::Arc;

use model::{Map, Set};

use super::cost::CostModel;
use super::index_union::IndexUnion;
use super::length::length_of;
use super::seek::{Seek, SeekTarget, seeks};
use crate::binder::tree::{EdgeLength, GraphEdge, GraphNode, QueryGraph};
use crate::plan::conditions::{id_of_slot, property_of_slot};
use crate::plan::{BinaryOperator, Expression, ExpressionKind, LookupValue, SlotId};

/// One step; numbers are those of the graph's nodes and edges, of lookups and conditions.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Nothing but conditions that hold of the input alone.
    Begin,
    /// All nodes with the labels of the pattern.
    Scan { node: usize },
    /// The node that a unique property or an id names.
    Lookup { lookup: usize },
    /// The nodes or edges that an ordered index finds.
    Seek { seek: usize },
    /// The nodes or edges that several indexes find together.
    IndexUnion { union: usize },
    /// Edges from a bound node; or, if `into`, between two.
    Expand { edge: usize, from_left: bool, into: bool },
    /// The node to which all of the edges lead from bound nodes.
    Intersect { node: usize, edges: Vec<usize> },
    /// Shortest paths between two bound nodes.
    ShortestPath { edge: usize },
    /// The ends of an edge that is bound already.
    BoundEdge { edge: usize },
    /// A part of the pattern that is planned by itself and joined on equalities, or with all rows.
    Join { steps: Vec<Planned>, on: Vec<usize> },
}

/// A step with the conditions that are tested right after it.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) step: Step,
    /// Rows before the conditions.
    pub(super) rows: f64,
    pub(super) conditions: Vec<usize>,
    /// Rows after the conditions.
    pub(super) rows_left: f64,
}

/// Condition on a match.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) kind: ConditionKind,
    /// It can be tested once these are bound.
    pub(super) needs: Set<SlotId>,
    pub(super) selectivity: f64,
}

#[derive(Debug)]
pub(super) enum ConditionKind {
    Predicate(Expression),
    /// A node of the graph carries its labels.
    Labels(usize),
}

/// A way to find a node without a scan.
#[derive(Debug)]
pub(super) struct Lookup {
    pub(super) node: usize,
    /// The label and property of a constraint; by id without.
    pub(super) key: Option<(Arc<str>, Arc<str>)>,
    pub(super) value: LookupValue,
    pub(super) needs: Set<SlotId>,
    /// The condition that it makes true.
    pub(super) condition: usize,
}

impl Lookup {
    /// Estimated number of nodes that it finds for one row.
    pub(super) fn rows(&self) -> f64 {
        match &self.value {
            LookupValue::One(_) => 1.0,
            LookupValue::Any(list) => length_of(list),
        }
    }
}

/// A node that carries at least one of several labels.
#[derive(Debug)]
pub(super) struct ScanUnion {
    pub(super) node: usize,
    pub(super) any: Vec<Arc<str>>,
    /// The condition that says so.
    pub(super) condition: usize,
    /// Number of nodes that a scan finds.
    pub(super) rows: f64,
}

/// Everything that holds of one graph while its order is sought.
pub(super) struct Problem<'a> {
    pub(super) graph: &'a QueryGraph,
    pub(super) cost: CostModel<'a>,
    pub(super) conditions: Vec<Condition>,
    pub(super) lookups: Vec<Lookup>,
    pub(super) seeks: Vec<Seek>,
    pub(super) index_unions: Vec<IndexUnion>,
    /// For each edge, what its filter needs.
    pub(super) edge_needs: Vec<Set<SlotId>>,
    /// For nodes of which one of several labels is asked, how to scan them.
    unions: Vec<ScanUnion>,
    /// Labels of nodes: of this graph, and known before.
    pub(super) labels: Map<SlotId, Vec<Arc<str>>>,
    /// The steps that hints want to come first.
    pub(super) hinted: Vec<Step>,
    /// Hints that nothing can follow, by their number in the graph.
    pub(super) unmet: Vec<usize>,
    /// All that is read of the matches, if it does not matter how often they come.
    pub(super) read_once: Option<Set<SlotId>>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(
        graph: &'a QueryGraph,
        cost: CostModel<'a>,
        known_labels: &Map<SlotId, Vec<Arc<str>>>,
        bound: &Set<SlotId>,
    ) -> Problem<'a> {
        let mut labels = known_labels.clone();
        for node in &graph.nodes {
            let known = labels.entry(node.slot).or_default();
            known.extend(node.labels.iter().filter(|label| !known.contains(label)).cloned().collect::<Vec<_>>());
        }
        let mut problem = Problem {
            graph,
            cost,
            conditions: Vec::new(),
            lookups: Vec::new(),
            seeks: Vec::new(),
            index_unions: Vec::new(),
            edge_needs: Vec::new(),
            unions: Vec::new(),
            labels,
            hinted: Vec::new(),
            unmet: Vec::new(),
            read_once: None,
        };
        problem.add_conditions();
        problem.lookups = problem.lookups(bound);
        problem.seeks = seeks(&problem, problem.cost.schema(), bound);
        problem.find_index_unions(bound);
        problem.follow_hints();
        problem.edge_needs = graph.edges.iter().map(|edge| problem.filter_needs(edge)).collect();
        problem
    }

    /// Finds the steps that hints want, and leaves out others that find the same.
    fn follow_hints(&mut self) {
        for (number, hint) in self.graph.hints.iter().enumerate() {
            let slot_of_lookup = |lookup: &Lookup| self.graph.nodes[lookup.node].slot;
            let Some(keys) = &hint.keys else {
                let carries = |node: &GraphNode| node.slot == hint.slot && node.labels.contains(&hint.subject);
                match self.graph.nodes.iter().position(carries) {
                    Some(node) => {
                        self.lookups.retain(|lookup| lookup.node != node);
                        self.seeks.retain(|seek| seek.target != SeekTarget::Node(node));
                        self.index_unions.retain(|union| union.target != SeekTarget::Node(node));
                        self.hinted.push(Step::Scan { node });
                    }
                    None => self.unmet.push(number),
                }
                continue;
            };
            let is_lookup = |lookup: &Lookup| {
                let key = lookup.key.as_ref();
                let is_key =
                    key.is_some_and(|(label, key)| *label == hint.subject && [key] == *keys.iter().collect::<Vec<_>>());
                slot_of_lookup(lookup) == hint.slot && is_key
            };
            let is_seek = |seek: &Seek| {
                self.slot_of(seek.target) == hint.slot && seek.subject == hint.subject && seek.keys == *keys
            };
            let lookup = self.lookups.iter().position(is_lookup).map(|lookup| Step::Lookup { lookup });
            let seek = || self.seeks.iter().position(is_seek).map(|seek| Step::Seek { seek });
            match lookup.or_else(seek) {
                Some(step) => self.hinted.push(step),
                None => self.unmet.push(number),
            }
        }
    }

    /// Finds the conditions `n:A|B`, for each node the one that leaves fewest.
    pub(super) fn find_unions(&mut self) {
        let mut unions: Vec<ScanUnion> = Vec::new();
        for (condition, Condition { kind, .. }) in self.conditions.iter().enumerate() {
            let ConditionKind::Predicate(predicate) = kind else { continue };
            let Some((slot, any)) = alternatives(predicate) else { continue };
            let Some(node) = self.graph.nodes.iter().position(|node| node.slot == slot) else { continue };
            let of = |label: &Arc<str>| {
                let mut labels = self.graph.nodes[node].labels.clone();
                labels.push(label.clone());
                self.cost.labelled(&labels)
            };
            let rows = any.iter().map(of).sum::<f64>().min(self.cost.labelled(&self.graph.nodes[node].labels));
            let found = ScanUnion { node, any, condition, rows };
            match unions.iter_mut().find(|known| known.node == node) {
                Some(known) if known.rows <= rows => {}
                Some(known) => *known = found,
                None => unions.push(found),
            }
        }
        self.unions = unions;
    }

    /// The union that a scan of the node would be.
    pub(super) fn union_of(&self, node: usize) -> Option<&ScanUnion> {
        self.unions.iter().find(|union| union.node == node)
    }

    /// The slot of a node or an edge of the graph.
    pub(super) fn slot_of(&self, target: SeekTarget) -> SlotId {
        match target {
            SeekTarget::Node(node) => self.graph.nodes[node].slot,
            SeekTarget::Edge(edge) => self.graph.edges[edge].slot,
        }
    }

    pub(super) fn labels_of(&self, slot: SlotId) -> &[Arc<str>] {
        self.labels.get(&slot).map_or(&[], Vec::as_slice)
    }

    /// The slots of the row that an expression needs, with paths taken apart.
    pub(super) fn needs(&self, expression: &Expression) -> Set<SlotId> {
        let mut slots = Set::default();
        expression.free_slots(&mut slots);
        for (path, value) in &self.graph.paths {
            if slots.remove(path) {
                value.free_slots(&mut slots);
            }
        }
        slots
    }

    fn filter_needs(&self, edge: &GraphEdge) -> Set<SlotId> {
        let Some(filter) = &edge.filter else { return Set::default() };
        let mut needs = self.needs(&filter.predicate);
        for own in filter.own_slots() {
            needs.remove(&own);
        }
        needs
    }

    fn add_conditions(&mut self) {
        let predicates: Vec<&Expression> = self.graph.predicates.iter().collect();
        let is_node = |slot| self.graph.nodes.iter().any(|node| node.slot == slot);
        let shares = self.cost.selectivities(&predicates, &|slot| is_node(slot).then(|| self.labels_of(slot)));
        for (predicate, selectivity) in predicates.into_iter().zip(shares) {
            let mut needs = self.needs(predicate);
            if predicate.is_random() {
                // Asked of each match, not of what matches begin with.
                needs.extend(self.graph.nodes.iter().map(|node| node.slot));
                needs.extend(self.graph.edges.iter().map(|edge| edge.slot));
            }
            let kind = ConditionKind::Predicate(predicate.clone());
            self.conditions.push(Condition { kind, needs, selectivity });
        }
        for (index, node) in self.graph.nodes.iter().enumerate() {
            if !node.labels.is_empty() {
                let selectivity = self.label_share(node);
                let needs = std::iter::once(node.slot).collect();
                self.conditions.push(Condition { kind: ConditionKind::Labels(index), needs, selectivity });
            }
        }
    }

    /// The share of what is reached as this node that carries its labels.
    fn label_share(&self, node: &GraphNode) -> f64 {
        let is_end = |edge: &&GraphEdge| edge.left == node.slot || edge.right == node.slot;
        // If several edges lead here, the estimate of the one that leaves most rows holds.
        let sketched = self.graph.edges.iter().filter(is_end).filter_map(|edge| {
            let (from, direction) = match edge.right == node.slot {
                true => (edge.left, edge.direction),
                false => (edge.right, edge.direction.reverse()),
            };
            let from = if edge.length == EdgeLength::One { self.labels_of(from) } else { &[] };
            self.cost.join_share(from, direction, &node.labels, &edge.types)
        });
        if let Some(share) = sketched.reduce(f64::max) {
            return share;
        }
        let is_typed = self.graph.edges.iter().filter(is_end).any(|edge| !edge.types.is_empty());
        self.cost.label_share(&node.labels, is_typed)
    }

    /// The lookups that the conditions allow.
    pub(super) fn lookups(&self, bound: &Set<SlotId>) -> Vec<Lookup> {
        let mut lookups = Vec::new();
        for (index, condition) in self.conditions.iter().enumerate() {
            let ConditionKind::Predicate(predicate) = &condition.kind else { continue };
            let ExpressionKind::Binary { operator, left, right } = &predicate.kind else { continue };
            match operator {
                BinaryOperator::Equal => {
                    lookups.extend(self.lookup(index, left, LookupValue::One((**right).clone()), bound));
                    lookups.extend(self.lookup(index, right, LookupValue::One((**left).clone()), bound));
                }
                BinaryOperator::In => {
                    lookups.extend(self.lookup(index, left, LookupValue::Any((**right).clone()), bound));
                }
                _ => {}
            }
        }
        lookups
    }

    fn lookup(&self, condition: usize, side: &Expression, value: LookupValue, bound: &Set<SlotId>) -> Option<Lookup> {
        let (slot, key) = match (property_of_slot(side), id_of_slot(side)) {
            (Some((slot, key)), _) => {
                let unique = self.labels_of(slot).iter().find(|label| self.cost.is_unique(label, key))?;
                (slot, Some((unique.clone(), key.clone())))
            }
            (None, Some(slot)) => (slot, None),
            (None, None) => return None,
        };
        let node = self.graph.nodes.iter().position(|node| node.slot == slot)?;
        let needs = match &value {
            LookupValue::One(value) | LookupValue::Any(value) => self.needs(value),
        };
        let is_possible = !bound.contains(&slot) && !needs.contains(&slot);
        is_possible.then_some(Lookup { node, key, value, needs, condition })
    }
}

/// `slot:A OR slot:B …`: the slot and the labels.
fn alternatives(predicate: &Expression) -> Option<(SlotId, Vec<Arc<str>>)> {
    let ExpressionKind::Or(items) = &predicate.kind else { return None };
    let mut any: Vec<Arc<str>> = Vec::with_capacity(items.len());
    let mut of = None;
    for item in items {
        let ExpressionKind::HasLabels { object, labels } = &item.kind else { return None };
        let (ExpressionKind::Slot(slot), [label]) = (&object.kind, labels.as_slice()) else { return None };
        if *of.get_or_insert(*slot) != *slot {
            return None;
        }
        if !any.contains(label) {
            any.push(label.clone());
        }
    }
    of.map(|slot| (slot, any))
}
