//! Ways to find nodes and edges by ordered indexes: equal values of the first keys, a range of the next.
//!
//! An index holds only what has all of its keys, so it can be used only where the query wants all of them to be there.

use std::sync::Arc;

use model::{Schema, Set, Subject};

use super::cost::{CostModel, End};
use super::length::length_of;
use super::step::{Condition, ConditionKind, Problem};
use crate::binder::tree::{EdgeLength, GraphEdge};
use crate::plan::conditions::property_of_slot;
use crate::plan::node_choice::mirrored;
use crate::plan::{BinaryOperator, Expression, ExpressionKind, IndexRange, SlotId};

/// A way to find nodes or edges by an ordered index.
#[derive(Debug)]
pub(super) struct Seek {
    pub(super) target: SeekTarget,
    /// The label or the edge type.
    pub(super) subject: Arc<str>,
    /// None for a seek by element id, which `equal` is then.
    pub(super) keys: Vec<Arc<str>>,
    pub(super) equal: Vec<Expression>,
    /// The last of `equal` is a list, any of whose elements is meant.
    pub(super) is_list: bool,
    pub(super) range: IndexRange,
    pub(super) needs: Set<SlotId>,
    /// The conditions that it makes true.
    pub(super) conditions: Vec<usize>,
    /// Estimated number of nodes or edges that it finds for one row.
    pub(super) rows: f64,
}

/// Node or edge to find, by its number in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeekTarget {
    Node(usize),
    Edge(usize),
}

/// Test of one property by a predicate.
enum Test<'a> {
    Equal(&'a Expression),
    In(&'a Expression),
    Above(&'a Expression, bool),
    Below(&'a Expression, bool),
    StartsWith(&'a Expression),
    /// That it is there.
    Present,
}

/// Tests of the property of one key.
#[derive(Default)]
struct KeyTests<'a> {
    tests: Vec<(usize, Test<'a>)>,
}

/// All seeks that a graph allows.
pub(super) fn seeks(problem: &Problem<'_>, schema: &Schema, bound: &Set<SlotId>) -> Vec<Seek> {
    let mut seeks = Vec::new();
    for index in schema.indexes.iter().chain(&schema.searchable) {
        let subject: Arc<str> = Arc::from(schema.subject_name(index.subject));
        let keys: Vec<Arc<str>> = index.keys.iter().map(|&key| Arc::from(schema.property_key_name(key))).collect();
        let is_unique = schema.owner(index).is_some();
        let mut add = |target, slot| {
            if !bound.contains(&slot)
                && let Some(mut seek) = seek(problem, target, slot, &subject, &keys)
            {
                let count = match index.subject {
                    Subject::Label(_) => problem.cost.labelled(std::slice::from_ref(&subject)),
                    Subject::EdgeType(_) => problem.cost.edges(std::slice::from_ref(&subject)),
                };
                seek.rows = rows_of(&seek, &problem.cost, count, is_unique);
                seeks.push(seek);
            }
        };
        match index.subject {
            Subject::Label(_) => {
                for (at, node) in problem.graph.nodes.iter().enumerate() {
                    if problem.labels_of(node.slot).contains(&subject) {
                        add(SeekTarget::Node(at), node.slot);
                    }
                }
            }
            Subject::EdgeType(_) => {
                for (at, edge) in problem.graph.edges.iter().enumerate() {
                    if edge.length == EdgeLength::One && edge.types.as_slice() == [subject.clone()] {
                        add(SeekTarget::Edge(at), edge.slot);
                    }
                }
            }
        }
    }
    seeks.extend(seeks_by_element_id(problem, bound));
    seeks
}

/// `elementId(r) = …` and `elementId(r) IN …`.
fn seeks_by_element_id<'a>(problem: &'a Problem<'_>, bound: &'a Set<SlotId>) -> impl Iterator<Item = Seek> + 'a {
    let seek = move |condition: usize, side: &Expression, value: &Expression, is_list: bool| {
        let slot = element_id_of_slot(side)?;
        let is_edge = |edge: &GraphEdge| edge.slot == slot && edge.length == EdgeLength::One;
        let edge = problem.graph.edges.iter().position(is_edge)?;
        let needs = problem.needs(value);
        let rows = if is_list { length_of(value) } else { 1.0 };
        let is_possible = !bound.contains(&slot) && !needs.contains(&slot);
        is_possible.then(|| Seek {
            target: SeekTarget::Edge(edge),
            subject: Arc::from(""),
            keys: Vec::new(),
            equal: vec![value.clone()],
            is_list,
            range: IndexRange::All,
            needs,
            conditions: vec![condition],
            rows,
        })
    };
    problem.conditions.iter().enumerate().filter_map(move |(at, condition)| {
        let ConditionKind::Predicate(predicate) = &condition.kind else { return None };
        let ExpressionKind::Binary { operator, left, right } = &predicate.kind else { return None };
        match operator {
            BinaryOperator::Equal => seek(at, left, right, false).or_else(|| seek(at, right, left, false)),
            BinaryOperator::In => seek(at, left, right, true),
            _ => None,
        }
    })
}

/// `elementId(slot)`.
fn element_id_of_slot(expression: &Expression) -> Option<SlotId> {
    let ExpressionKind::Function { name, arguments } = &expression.kind else { return None };
    match arguments.as_slice() {
        [Expression { kind: ExpressionKind::Slot(slot), .. }] if name.eq_ignore_ascii_case("elementId") => Some(*slot),
        _ => None,
    }
}

/// Of `count` that are in the index.
fn rows_of(seek: &Seek, cost: &CostModel<'_>, count: f64, is_unique: bool) -> f64 {
    let lists = seek.equal.last().filter(|_| seek.is_list).map_or(1.0, length_of);
    if is_unique && seek.equal.len() == seek.keys.len() {
        return lists;
    }
    let is_node = matches!(seek.target, SeekTarget::Node(_));
    // Without sketches each key tells about the root of what is there apart.
    let left = seek.keys.iter().take(seek.equal.len()).fold(count, |left, key| {
        let share = if is_node { cost.equal_share(&seek.subject, key) } else { None };
        share.map_or_else(|| left.sqrt().max(1.0), |share| left * share)
    });
    let sketched = match (&seek.range, seek.keys.get(seek.equal.len())) {
        (IndexRange::Between { lower, upper }, Some(key)) if is_node => {
            let [lower, upper] = [lower, upper]
                .map(|end| end.as_ref().map(|(value, is_inclusive)| End { value, is_inclusive: *is_inclusive }));
            cost.range_share(&seek.subject, key, lower, upper)
        }
        _ => None,
    };
    let share = match &seek.range {
        _ if sketched.is_some() => sketched.unwrap_or_default(),
        IndexRange::All => 1.0,
        IndexRange::Between { lower: Some(_), upper: Some(_) } | IndexRange::StartsWith(_) => 0.1,
        IndexRange::Between { .. } => 0.3,
    };
    lists * left * share
}

fn seek(
    problem: &Problem<'_>,
    target: SeekTarget,
    slot: SlotId,
    subject: &Arc<str>,
    keys: &[Arc<str>],
) -> Option<Seek> {
    let tests: Vec<KeyTests<'_>> = keys.iter().map(|key| tests_of(problem, slot, key)).collect();
    let mut seek = Seek {
        target,
        subject: subject.clone(),
        keys: keys.to_vec(),
        equal: Vec::new(),
        is_list: false,
        range: IndexRange::All,
        needs: Set::default(),
        conditions: Vec::new(),
        rows: 0.0,
    };
    let mut at = 0;
    while at < keys.len() && !seek.is_list {
        let Some(is_list) = tests[at].equality(&mut seek) else { break };
        seek.is_list = is_list;
        at += 1;
    }
    if at < keys.len() && !seek.is_list && tests[at].range(&mut seek) {
        at += 1;
    }
    let is_of_use = !seek.conditions.is_empty();
    let rest_is_there = tests[at..].iter().all(|tests| !tests.tests.is_empty());
    if !is_of_use || !rest_is_there {
        return None;
    }
    let mut needs = Set::default();
    let range = match &seek.range {
        IndexRange::All => Vec::new(),
        IndexRange::Between { lower, upper } => lower.iter().chain(upper).map(|(value, _)| value).collect(),
        IndexRange::StartsWith(prefix) => vec![prefix],
    };
    seek.equal.iter().chain(range).for_each(|value| needs.extend(problem.needs(value)));
    seek.needs = needs;
    let is_possible = !seek.needs.contains(&slot);
    is_possible.then_some(seek)
}

impl KeyTests<'_> {
    /// Takes an equality, or a list of values if there is none; whether it was a list.
    fn equality(&self, seek: &mut Seek) -> Option<bool> {
        let one = self.tests.iter().find_map(|(condition, test)| match test {
            Test::Equal(value) => Some((*condition, *value, false)),
            _ => None,
        });
        let (condition, value, is_list) = one.or_else(|| {
            self.tests.iter().find_map(|(condition, test)| match test {
                Test::In(list) => Some((*condition, *list, true)),
                _ => None,
            })
        })?;
        seek.equal.push(value.clone());
        seek.conditions.push(condition);
        Some(is_list)
    }

    /// Takes a range; false if there is none.
    fn range(&self, seek: &mut Seek) -> bool {
        let prefix = self.tests.iter().find_map(|(condition, test)| match test {
            Test::StartsWith(prefix) => Some((*condition, *prefix)),
            _ => None,
        });
        if let Some((condition, prefix)) = prefix {
            seek.range = IndexRange::StartsWith(prefix.clone());
            seek.conditions.push(condition);
            return true;
        }
        let (mut lower, mut upper) = (None, None);
        for (condition, test) in &self.tests {
            match test {
                Test::Above(value, is_included) if lower.is_none() => {
                    lower = Some(((*value).clone(), *is_included));
                    seek.conditions.push(*condition);
                }
                Test::Below(value, is_included) if upper.is_none() => {
                    upper = Some(((*value).clone(), *is_included));
                    seek.conditions.push(*condition);
                }
                _ => {}
            }
        }
        let is_range = lower.is_some() || upper.is_some();
        if is_range {
            seek.range = IndexRange::Between { lower, upper };
        }
        is_range
    }
}

fn tests_of<'a>(problem: &'a Problem<'_>, slot: SlotId, key: &Arc<str>) -> KeyTests<'a> {
    let mut found = KeyTests::default();
    for (at, Condition { kind, .. }) in problem.conditions.iter().enumerate() {
        let ConditionKind::Predicate(predicate) = kind else { continue };
        let is_property = |side: &Expression| property_of_slot(side).is_some_and(|of| of == (slot, key));
        let test = match &predicate.kind {
            ExpressionKind::IsNotNull(of) if is_property(of) => Some(Test::Present),
            ExpressionKind::Binary { operator, left, right } => {
                // Written the other way round, the operator says the opposite of the property.
                if is_property(left) && !problem.needs(right).contains(&slot) {
                    test(*operator, right)
                } else if is_property(right) && !problem.needs(left).contains(&slot) {
                    mirrored(*operator).and_then(|operator| test(operator, left))
                } else {
                    None
                }
            }
            _ => None,
        };
        found.tests.extend(test.map(|test| (at, test)));
    }
    found
}

fn test(operator: BinaryOperator, value: &Expression) -> Option<Test<'_>> {
    Some(match operator {
        BinaryOperator::Equal => Test::Equal(value),
        BinaryOperator::In => Test::In(value),
        BinaryOperator::Greater => Test::Above(value, false),
        BinaryOperator::GreaterOrEqual => Test::Above(value, true),
        BinaryOperator::Less => Test::Below(value, false),
        BinaryOperator::LessOrEqual => Test::Below(value, true),
        BinaryOperator::StartsWith => Test::StartsWith(value),
        _ => return None,
    })
}
