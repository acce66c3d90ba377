//! Disjunctions each of whose parts an index answers: the nodes or edges that any of them finds, each once.
//!
//! `n.id = $x OR n.email = $y` is a lookup and a seek, one after the other. What an earlier part of the disjunction holds
//! for is left out of the later ones, so that nothing comes twice and nothing is kept to compare.

use model::{Set, Value};

use super::graph_order::SEEK_ROWS_MAX;
use super::seek::{Seek, SeekTarget, seeks};
use super::step::{Condition, ConditionKind, Lookup, Problem};
use super::{Planner, Stream, operator};
use crate::plan::conditions::{add_conjuncts, at, has_labels, replace_slot};
use crate::plan::{Expression, ExpressionKind, OperatorKind, SlotId};

/// Most parts of a disjunction that is answered so. Each part leaves out all before it, so that a plan grows with their square.
const PARTS_MAX: usize = 32;

/// A disjunction as a union of what indexes find.
#[derive(Debug)]
pub(super) struct IndexUnion {
    pub(super) target: SeekTarget,
    /// The disjunction, which it makes true.
    pub(super) condition: usize,
    parts: Vec<Part>,
    pub(super) needs: Set<SlotId>,
    /// Estimated number of nodes or edges that it finds for one row.
    pub(super) rows: f64,
}

/// A part of the disjunction.
#[derive(Debug)]
struct Part {
    way: Way,
    /// The whole part.
    predicate: Expression,
}

/// The index that answers a part.
#[derive(Debug)]
enum Way {
    Lookup(Lookup),
    Seek(Seek),
}

impl Way {
    fn target(&self) -> SeekTarget {
        match self {
            Way::Lookup(lookup) => SeekTarget::Node(lookup.node),
            Way::Seek(seek) => seek.target,
        }
    }

    fn needs(&self) -> &Set<SlotId> {
        match self {
            Way::Lookup(lookup) => &lookup.needs,
            Way::Seek(seek) => &seek.needs,
        }
    }

    fn rows(&self) -> f64 {
        match self {
            Way::Lookup(lookup) => lookup.rows(),
            Way::Seek(seek) => seek.rows,
        }
    }

    /// True if it answers one of the conditions from a number on.
    fn uses(&self, first: usize) -> bool {
        match self {
            Way::Lookup(lookup) => lookup.condition >= first,
            Way::Seek(seek) => seek.conditions.iter().any(|&condition| condition >= first),
        }
    }
}

impl Problem<'_> {
    /// Finds the disjunctions that indexes answer.
    pub(super) fn find_index_unions(&mut self, bound: &Set<SlotId>) {
        for condition in 0..self.conditions.len() {
            let ConditionKind::Predicate(predicate) = &self.conditions[condition].kind else { continue };
            let ExpressionKind::Or(items) = &predicate.kind else { continue };
            // Each part is evaluated again where it leaves out what an earlier one found, and for a slot of its own.
            if items.len() > PARTS_MAX || predicate.is_random() || !can_be_moved(predicate) {
                continue;
            }
            let items = items.clone();
            let mut ways: Vec<Vec<Way>> = Vec::with_capacity(items.len());
            for item in &items {
                let found = self.ways(item, bound);
                if found.is_empty() {
                    break;
                }
                ways.push(found);
            }
            if ways.len() == items.len() {
                let union = self.cheapest_union(condition, &items, ways);
                self.index_unions.extend(union);
            }
        }
    }

    /// The indexes that answer a part of a disjunction.
    fn ways(&mut self, part: &Expression, bound: &Set<SlotId>) -> Vec<Way> {
        let mut conjuncts = Vec::new();
        add_conjuncts(part.clone(), &mut conjuncts);
        // Beside the other conditions, as if the part were one of them.
        let first = self.conditions.len();
        for conjunct in conjuncts {
            let needs = self.needs(&conjunct);
            self.conditions.push(Condition { kind: ConditionKind::Predicate(conjunct), needs, selectivity: 1.0 });
        }
        let lookups = self.lookups(bound).into_iter().map(Way::Lookup);
        let schema = self.cost.schema();
        let indexes = seeks(self, schema, bound).into_iter().map(Way::Seek);
        let found = lookups.chain(indexes).filter(|way| way.uses(first)).collect();
        self.conditions.truncate(first);
        found
    }

    /// The union about the one node or edge that all parts can find, with the best way for each; the target that
    /// finds fewest.
    fn cheapest_union(&self, condition: usize, items: &[Expression], mut ways: Vec<Vec<Way>>) -> Option<IndexUnion> {
        let rows_of = |target: SeekTarget, ways: &[Way]| {
            let rows = ways.iter().filter(|way| way.target() == target).map(Way::rows);
            rows.reduce(f64::min)
        };
        let targets = ways[0].iter().map(Way::target).filter(|&target| !self.is_searched(target));
        let sum = |target| ways.iter().map(|ways| rows_of(target, ways)).sum::<Option<f64>>();
        let priced = targets.filter_map(|target| Some((target, sum(target)?)));
        let (target, rows) = priced.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut parts = Vec::with_capacity(items.len());
        let mut needs = Set::default();
        for (ways, item) in ways.iter_mut().zip(items) {
            let of_target = (0..ways.len()).filter(|&way| ways[way].target() == target);
            let best = of_target.min_by(|&a, &b| ways[a].rows().total_cmp(&ways[b].rows()))?;
            let way = ways.swap_remove(best);
            needs.extend(way.needs().iter().copied());
            parts.push(Part { way, predicate: item.clone() });
        }
        // The parts are tested where the union is, so that all they read must be there.
        needs.extend(self.conditions[condition].needs.iter().copied());
        needs.remove(&self.slot_of(target));
        Some(IndexUnion { target, condition, parts, needs, rows })
    }

    /// True if a store of another kind takes the whole disjunction as the condition of a scan.
    fn is_searched(&self, target: SeekTarget) -> bool {
        let schema = self.cost.schema();
        let SeekTarget::Node(node) = target else { return false };
        let labels = self.labels_of(self.graph.nodes[node].slot);
        schema.searchable.iter().any(|index| labels.iter().any(|label| **label == *schema.subject_name(index.subject)))
    }
}

impl IndexUnion {
    /// True if it finds few enough to be taken before a start elsewhere is looked for.
    pub(super) fn is_narrow(&self) -> bool {
        self.rows <= SEEK_ROWS_MAX
    }

    /// Estimated cost for one row.
    pub(super) fn cost(&self) -> f64 {
        2.0 * self.parts.len() as f64 + self.rows
    }
}

impl Planner<'_> {
    /// Finds the nodes or edges of each part in a branch of its own.
    pub(super) fn index_union(&mut self, stream: &mut Stream, problem: &Problem<'_>, union: &IndexUnion, rows: f64) {
        let slot = problem.slot_of(union.target);
        let (name, kind) = (self.slots.name(slot).to_owned(), self.slots.kind(slot));
        let outer = stream.bound.clone();
        let mut branches = Vec::with_capacity(union.parts.len());
        for (number, Part { way, predicate }) in union.parts.iter().enumerate() {
            let mut branch = Stream::argument(&outer, stream.labels.clone());
            // A slot is defined in one place: each branch has its own.
            let own = self.slots.named(&name, kind);
            match way {
                Way::Lookup(lookup) => self.lookup(&mut branch, problem, lookup, own, lookup.rows()),
                Way::Seek(seek) => self.seek(&mut branch, problem, seek, own, seek.rows),
            }
            let mut predicates = vec![predicate.clone()];
            predicates.extend(union.parts[..number].iter().map(|part| is_not_true(&part.predicate)));
            // An id says nothing of labels.
            if let (Way::Lookup(Lookup { key: None, .. }), SeekTarget::Node(node)) = (way, union.target) {
                let node = &problem.graph.nodes[node];
                if !node.labels.is_empty() {
                    predicates.push(has_labels(slot, node.labels.clone(), node.span));
                }
            }
            predicates.iter_mut().for_each(|predicate| replace_slot(predicate, slot, own));
            self.filter(&mut branch, predicates);
            branches.push((branch.into_subplan(&outer, &[own]), vec![own]));
        }
        let subplan = operator(OperatorKind::Union { branches, slots: vec![slot] }, union.rows);
        self.apply(stream, subplan, rows);
        stream.bound.insert(slot);
    }
}

/// True of an expression that may stand in several places, for other slots.
fn can_be_moved(expression: &Expression) -> bool {
    !matches!(expression.kind, ExpressionKind::Subquery { .. } | ExpressionKind::Path { .. })
        && expression.operands().into_iter().all(can_be_moved)
}

/// True where a predicate is false or null.
fn is_not_true(predicate: &Expression) -> Expression {
    let literal = |value: bool| at(predicate.span, ExpressionKind::Literal(Value::Bool(value)));
    let whens = vec![(predicate.clone(), literal(false))];
    let otherwise = Some(Box::new(literal(true)));
    at(predicate.span, ExpressionKind::Case { operand: None, whens, otherwise })
}
