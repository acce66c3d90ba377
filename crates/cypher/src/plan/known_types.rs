//! The types of slots, as far as a plan, the schema and the signatures of functions tell them before there are rows.
//!
//! Nothing here is needed for right answers: it tells the types of columns that have no values. A type that is told holds
//! for every value besides null.

use model::{Map, PropertyKind, PropertyType, Rule, Schema, Subject, Value};

use super::{BinaryOperator, Expression, ExpressionKind, Operator, OperatorKind, PlanMode, SlotId, SubqueryKind};
use crate::catalog::{CompileContext, ResultType};

const BOOLEAN: PropertyType = PropertyType::One(PropertyKind::Boolean);
const INTEGER: PropertyType = PropertyType::One(PropertyKind::Integer);
const FLOAT: PropertyType = PropertyType::One(PropertyKind::Float);
const STRING: PropertyType = PropertyType::One(PropertyKind::String);

/// The types of these slots of a plan's output. To be asked before the optimiser drops what the data makes needless.
pub(crate) fn types_of(
    root: &Operator,
    outputs: &[SlotId],
    context: &CompileContext<'_>,
    mode: PlanMode,
) -> Vec<Option<PropertyType>> {
    // A statement that writes may take the label away, and with it the rule. What is attached keeps to no rule.
    let keeps_rules = mode == PlanMode::Read && context.capabilities.dense_node_ids;
    let schema = keeps_rules.then_some(context.schema);
    let mut known = Known { context, schema, types: Map::default(), subjects: Map::default(), places: Map::default() };
    known.visit(root, 0);
    outputs.iter().map(|slot| known.types.get(slot).copied()).collect()
}

struct Known<'a> {
    context: &'a CompileContext<'a>,
    schema: Option<&'a Schema>,
    types: Map<SlotId, PropertyType>,
    /// The labels or the edge type of each slot.
    subjects: Map<SlotId, Vec<Subject>>,
    /// In which order slots were defined.
    places: Map<SlotId, usize>,
}

impl Known<'_> {
    /// Learns what the operators tell, inputs first. Conditions hold for slots from the place `floor` on: those of a subplan
    /// say nothing of the rows around it.
    fn visit(&mut self, operator: &Operator, floor: usize) {
        match &operator.kind {
            OperatorKind::Optional { input, subplan, .. }
            | OperatorKind::SemiApply { input, subplan, .. }
            | OperatorKind::Merge { input, subplan, .. }
            | OperatorKind::ForEach { input, subplan, .. } => {
                self.visit(input, floor);
                self.visit(subplan, self.places.len());
            }
            _ => operator.inputs().into_iter().for_each(|input| self.visit(input, floor)),
        }
        for slot in operator.defined_slots() {
            let place = self.places.len();
            self.places.insert(slot, place);
        }
        self.learn(operator, floor);
    }

    fn learn(&mut self, operator: &Operator, floor: usize) {
        use OperatorKind as Kind;
        match &operator.kind {
            Kind::NodeScan { slot, labels, .. } | Kind::NodeUnionScan { slot, labels, .. } => self.label(*slot, labels),
            Kind::NodeLookup { slot, label, .. } => self.label(*slot, std::slice::from_ref(label)),
            Kind::IndexSeek { slot, subject, on_edges: false, .. } => self.label(*slot, std::slice::from_ref(subject)),
            Kind::IndexSeek { slot, subject, on_edges: true, .. } => self.edge(*slot, std::slice::from_ref(subject)),
            Kind::Expand { edge: Some(edge), types, .. } => self.edge(*edge, types),
            Kind::Intersect { to, labels, legs, .. } => {
                self.label(*to, labels);
                for leg in legs {
                    leg.edge.into_iter().for_each(|edge| self.edge(edge, &leg.types));
                }
            }
            Kind::Filter { predicate, .. } => match &predicate.kind {
                ExpressionKind::And(conditions) => conditions.iter().for_each(|each| self.condition(each, floor)),
                _ => self.condition(predicate, floor),
            },
            Kind::Project { items, .. } | Kind::Extend { items, .. } => self.items(items),
            Kind::Aggregate { keys, aggregates, .. } => {
                self.items(keys);
                for aggregate in aggregates {
                    self.tell(aggregate.slot, self.function(&aggregate.function, &aggregate.arguments));
                }
            }
            Kind::Unwind { list, slot, .. } => {
                let element = match self.type_of(list) {
                    Some(PropertyType::List(kind)) => Some(PropertyType::One(kind)),
                    _ => None,
                };
                self.tell(*slot, element);
            }
            Kind::CountMatches { count, .. } | Kind::PartialAggregate { count: Some(count), .. } => {
                self.tell(*count, Some(INTEGER));
            }
            Kind::Union { branches, slots } => {
                for (place, slot) in slots.iter().enumerate() {
                    let mut types = branches.iter().map(|(_, own)| self.types.get(own.get(place)?).copied());
                    let first = types.next().flatten();
                    let is_same = types.all(|found| found == first);
                    self.tell(*slot, first.filter(|_| is_same));
                }
            }
            Kind::Call { procedure, yields, .. } => {
                let Some(signature) = self.context.catalog.procedure(procedure) else { return };
                for (column, slot) in yields {
                    let told = signature.yields.get(*column).and_then(|told| named(told.type_name));
                    self.tell(*slot, told);
                }
            }
            _ => {}
        }
    }

    fn items(&mut self, items: &[(SlotId, Expression)]) {
        for (slot, expression) in items {
            self.tell(*slot, self.type_of(expression));
            if let ExpressionKind::Slot(own) = &expression.kind
                && let Some(subjects) = self.subjects.get(own).cloned()
            {
                self.subjects.insert(*slot, subjects);
            }
        }
    }

    fn tell(&mut self, slot: SlotId, found: Option<PropertyType>) {
        if let Some(found) = found {
            self.types.insert(slot, found);
        }
    }

    fn label(&mut self, slot: SlotId, labels: &[std::sync::Arc<str>]) {
        let Some(schema) = self.schema else { return };
        let found = labels.iter().filter_map(|label| schema.label(label)).map(Subject::Label);
        self.subjects.entry(slot).or_default().extend(found);
    }

    fn edge(&mut self, slot: SlotId, types: &[std::sync::Arc<str>]) {
        if let (Some(schema), [only]) = (self.schema, types) {
            self.subjects.entry(slot).or_default().extend(schema.edge_type(only).map(Subject::EdgeType));
        }
    }

    fn condition(&mut self, condition: &Expression, floor: usize) {
        if let ExpressionKind::HasLabels { object, labels } = &condition.kind
            && let ExpressionKind::Slot(slot) = object.kind
            && self.places.get(&slot).is_some_and(|place| *place >= floor)
        {
            // Of a relationship it is a type; where a label has that name, nothing follows.
            if !self.subjects.get(&slot).is_some_and(|all| all.iter().any(|one| matches!(one, Subject::EdgeType(_)))) {
                self.label(slot, labels);
            }
        }
    }

    /// The type of every value besides null.
    fn type_of(&self, expression: &Expression) -> Option<PropertyType> {
        use ExpressionKind as Kind;
        match &expression.kind {
            Kind::Literal(value) => of_value(value),
            Kind::Slot(slot) => self.types.get(slot).copied(),
            Kind::Property { object, key } => match &object.kind {
                Kind::Slot(slot) => self.property(*slot, key),
                _ => None,
            },
            Kind::Not(_) | Kind::And(_) | Kind::Or(_) | Kind::Xor(..) => Some(BOOLEAN),
            Kind::IsNull(_) | Kind::IsNotNull(_) | Kind::HasLabels { .. } | Kind::Quantifier { .. } => Some(BOOLEAN),
            Kind::Negate(operand) => self.type_of(operand).filter(|found| [INTEGER, FLOAT].contains(found)),
            Kind::Binary { operator, left, right } => binary(*operator, || (self.type_of(left), self.type_of(right))),
            Kind::Function { name, arguments } => self.function(name, arguments),
            Kind::Case { whens, otherwise, .. } => {
                let values = whens.iter().map(|(_, then)| then).chain(otherwise.as_deref());
                self.common(values)
            }
            Kind::List(items) => match self.common(items)? {
                PropertyType::One(kind) => Some(PropertyType::List(kind)),
                PropertyType::List(_) => None,
            },
            Kind::Slice { list, .. } => self.type_of(list).filter(|found| matches!(found, PropertyType::List(_))),
            Kind::Subquery { kind: SubqueryKind::Exists, .. } => Some(BOOLEAN),
            Kind::Subquery { kind: SubqueryKind::Count, .. } => Some(INTEGER),
            _ => None,
        }
    }

    /// The type that all have which are not null itself.
    fn common<'e>(&self, values: impl IntoIterator<Item = &'e Expression>) -> Option<PropertyType> {
        let mut values = values.into_iter().filter(|value| !matches!(value.kind, ExpressionKind::Literal(Value::Null)));
        let first = self.type_of(values.next()?)?;
        values.all(|value| self.type_of(value) == Some(first)).then_some(first)
    }

    fn function(&self, name: &str, arguments: &[Expression]) -> Option<PropertyType> {
        match self.context.catalog.result_of(name)? {
            ResultType::Always(found) => Some(found),
            ResultType::Arguments => self.common(arguments),
            ResultType::Argument => self.type_of(arguments.first()?),
            ResultType::Mean => match self.type_of(arguments.first()?)? {
                INTEGER | FLOAT => Some(FLOAT),
                found @ PropertyType::One(PropertyKind::Duration) => Some(found),
                _ => None,
            },
            ResultType::Sum => self.type_of(arguments.first()?).filter(|found| *found == INTEGER),
            ResultType::Element => match self.type_of(arguments.first()?)? {
                PropertyType::List(kind) => Some(PropertyType::One(kind)),
                PropertyType::One(_) => None,
            },
            ResultType::ListOfArgument => match self.type_of(arguments.first()?)? {
                PropertyType::One(kind) => Some(PropertyType::List(kind)),
                PropertyType::List(_) => None,
            },
        }
    }

    /// The type that a constraint demands of a property.
    fn property(&self, slot: SlotId, key: &str) -> Option<PropertyType> {
        let (schema, subjects) = (self.schema?, self.subjects.get(&slot)?);
        let key = schema.property_key(key)?;
        let speaks = |rule: &&model::Constraint| rule.keys == [key] && subjects.contains(&rule.subject);
        schema.constraints.iter().filter(speaks).find_map(|constraint| match constraint.rule {
            Rule::Type(demanded) => Some(demanded),
            _ => None,
        })
    }
}

/// The type of a constant.
fn of_value(value: &Value) -> Option<PropertyType> {
    if let Value::List(items) = value {
        let mut kinds = items.iter().filter(|item| !item.is_null()).map(of_value);
        let first = kinds.next()?;
        return match first? {
            PropertyType::One(kind) if kinds.all(|kind| kind == first) => Some(PropertyType::List(kind)),
            _ => None,
        };
    }
    PropertyKind::ALL.into_iter().find(|kind| kind.holds(value)).map(PropertyType::One)
}

fn binary(
    operator: BinaryOperator,
    operands: impl FnOnce() -> (Option<PropertyType>, Option<PropertyType>),
) -> Option<PropertyType> {
    use BinaryOperator as Op;
    match operator {
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Modulo => match operands() {
            (Some(INTEGER), Some(INTEGER)) => Some(INTEGER),
            (Some(INTEGER | FLOAT), Some(INTEGER | FLOAT)) => Some(FLOAT),
            (Some(STRING), Some(STRING)) if operator == Op::Add => Some(STRING),
            _ => None,
        },
        Op::Power => Some(FLOAT),
        Op::Concatenate => match operands() {
            (Some(left), Some(right)) if left == right => Some(left),
            _ => None,
        },
        _ => Some(BOOLEAN),
    }
}

/// The type of a name, as procedures tell those of their columns.
fn named(name: &str) -> Option<PropertyType> {
    let of = |name: &str| PropertyKind::ALL.into_iter().find(|kind| kind.name() == name);
    match name.strip_prefix("LIST<").and_then(|rest| rest.strip_suffix('>')) {
        Some(element) => of(element).map(PropertyType::List),
        None => of(name.trim_end_matches('?')).map(PropertyType::One),
    }
}
