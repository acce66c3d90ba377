//! From a plan's expression to the compiled tree.

use std::sync::Arc;

use cypher::plan::{BinaryOperator, Expression, ExpressionKind, Operator, PathStep, SlotId, SubqueryKind};
use model::interrupt::work;
use model::{Result, Span, error};

use super::frame::{Place, Program, PropertyGroup};
use super::membership::SetCache;
use super::node::{Node, NodeKind, Step};
use super::text::PatternCache;
use crate::chunk::Layout;
use crate::context::CompileEnvironment;
use crate::functions;

/// Compiles expressions into trees that share one program.
pub(crate) struct Compiler<'e> {
    layout: &'e Layout,
    environment: &'e mut dyn CompileEnvironment,
    program: Program,
    /// Variables of the comprehensions around the current place, and their positions.
    scope: Vec<(SlotId, usize)>,
    /// Number of operands around the current place that are evaluated for some rows only.
    conditional_depth: usize,
}

impl<'e> Compiler<'e> {
    pub(crate) fn new(layout: &'e Layout, environment: &'e mut dyn CompileEnvironment) -> Compiler<'e> {
        let places = (0..layout.len()).map(Place::Column).collect();
        let program = Program { places, groups: Vec::new() };
        Compiler { layout, environment, program, scope: Vec::new(), conditional_depth: 0 }
    }

    pub(crate) fn finish(self) -> Program {
        self.program
    }

    pub(crate) fn compile(&mut self, expression: &Expression) -> Result<Node> {
        work(1)?;
        let span = expression.span;
        let kind = match &expression.kind {
            ExpressionKind::Literal(value) => NodeKind::Constant(value.clone()),
            ExpressionKind::Parameter(name) => NodeKind::Parameter(name.clone()),
            ExpressionKind::Slot(slot) => NodeKind::Position(self.position(*slot, span)?),
            ExpressionKind::Property { object, key } => self.property(object, key, span)?,
            ExpressionKind::Subscript { object, index } => self.subscript(object, index, span)?,
            ExpressionKind::Slice { list, from, to } => {
                NodeKind::Slice { list: self.boxed(list)?, from: self.maybe(from)?, to: self.maybe(to)? }
            }
            ExpressionKind::List(items) => NodeKind::List(self.all(items)?),
            ExpressionKind::Map(entries) => NodeKind::Map(self.entries(entries)?),
            ExpressionKind::MapProjection { object, all, entries } => {
                let object = self.boxed(object)?;
                NodeKind::MapProjection { object, all: *all, entries: self.entries(entries)? }
            }
            ExpressionKind::Not(operand) => NodeKind::Not(self.boxed(operand)?),
            ExpressionKind::And(operands) => NodeKind::And(self.first_always(operands)?),
            ExpressionKind::Or(operands) => NodeKind::Or(self.first_always(operands)?),
            ExpressionKind::Xor(left, right) => NodeKind::Xor(self.boxed(left)?, self.boxed(right)?),
            ExpressionKind::Negate(operand) => NodeKind::Negate(self.boxed(operand)?),
            ExpressionKind::Binary { operator, left, right } => self.binary(*operator, left, right)?,
            ExpressionKind::IsNull(operand) => NodeKind::IsNull(self.boxed(operand)?),
            ExpressionKind::IsNotNull(operand) => NodeKind::IsNotNull(self.boxed(operand)?),
            ExpressionKind::HasLabels { object, labels } => {
                NodeKind::HasLabels { object: self.boxed(object)?, labels: labels.clone() }
            }
            ExpressionKind::Function { name, arguments } => self.call(name, arguments, span)?,
            ExpressionKind::Case { operand, whens, otherwise } => self.case(operand, whens, otherwise)?,
            ExpressionKind::ListComprehension { .. }
            | ExpressionKind::Quantifier { .. }
            | ExpressionKind::Reduce { .. } => self.over_list(&expression.kind)?,
            ExpressionKind::Path { start, steps } => self.path(*start, steps, span)?,
            ExpressionKind::Subquery { kind, plan } => self.subquery(*kind, plan)?,
        };
        Ok(Node { kind, span })
    }

    fn boxed(&mut self, expression: &Expression) -> Result<Box<Node>> {
        self.compile(expression).map(Box::new)
    }

    fn maybe(&mut self, expression: &Option<Box<Expression>>) -> Result<Option<Box<Node>>> {
        expression.as_ref().map(|expression| self.boxed(expression)).transpose()
    }

    fn all(&mut self, expressions: &[Expression]) -> Result<Vec<Node>> {
        expressions.iter().map(|expression| self.compile(expression)).collect()
    }

    fn entries(&mut self, entries: &[(Arc<str>, Expression)]) -> Result<Vec<(Arc<str>, Node)>> {
        entries.iter().map(|(key, value)| Ok((key.clone(), self.compile(value)?))).collect()
    }

    /// Operands of which only the first is evaluated for every row.
    fn first_always(&mut self, operands: &[Expression]) -> Result<Vec<Node>> {
        let Some((first, rest)) = operands.split_first() else { return Ok(Vec::new()) };
        let mut nodes = vec![self.compile(first)?];
        nodes.extend(self.conditionally(|compiler| compiler.all(rest))?);
        Ok(nodes)
    }

    fn conditionally<T>(&mut self, compile: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.conditional_depth += 1;
        let compiled = compile(self);
        self.conditional_depth -= 1;
        compiled
    }

    fn position(&self, slot: SlotId, span: Span) -> Result<usize> {
        let local = self.scope.iter().rev().find(|(held, _)| *held == slot).map(|(_, position)| *position);
        local.or_else(|| self.layout.column(slot)).ok_or_else(|| {
            error!(Internal, "slot {} is not among the {} of its rows", slot.0, self.layout.len()).at(span)
        })
    }

    fn property(&mut self, object: &Expression, key: &Arc<str>, span: Span) -> Result<NodeKind> {
        match &object.kind {
            ExpressionKind::Slot(slot) => {
                let base = self.position(*slot, object.span)?;
                Ok(NodeKind::Position(self.property_position(base, key, span)))
            }
            _ => Ok(NodeKind::Property { object: self.boxed(object)?, key: key.clone() }),
        }
    }

    /// The position of a property: shared with every other use, read together with others that all rows need.
    fn property_position(&mut self, base: usize, key: &Arc<str>, span: Span) -> usize {
        let groups = &mut self.program.groups;
        let of_base = groups.iter().filter(|group| group.base == base);
        for group in of_base {
            if let Some(member) = group.keys.iter().position(|held| held == key) {
                return group.positions[member];
            }
        }
        let position = self.program.places.len();
        let shared = if self.conditional_depth == 0 {
            groups.iter().position(|group| group.base == base && group.is_unconditional)
        } else {
            None
        };
        let group = shared.unwrap_or_else(|| {
            let is_unconditional = self.conditional_depth == 0;
            groups.push(PropertyGroup { base, keys: Vec::new(), positions: Vec::new(), span, is_unconditional });
            groups.len() - 1
        });
        groups[group].keys.push(key.clone());
        groups[group].positions.push(position);
        self.program.places.push(Place::Property(group));
        position
    }

    fn subscript(&mut self, object: &Expression, index: &Expression, span: Span) -> Result<NodeKind> {
        if let (ExpressionKind::Slot(_), ExpressionKind::Literal(model::Value::String(key))) =
            (&object.kind, &index.kind)
        {
            return self.property(object, key, span);
        }
        Ok(NodeKind::Subscript { object: self.boxed(object)?, index: self.boxed(index)? })
    }

    fn binary(&mut self, operator: BinaryOperator, left: &Expression, right: &Expression) -> Result<NodeKind> {
        let (left, right) = (self.boxed(left)?, self.boxed(right)?);
        Ok(match operator {
            BinaryOperator::Add
            | BinaryOperator::Subtract
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::Power
            | BinaryOperator::Concatenate => NodeKind::Arithmetic(operator, left, right),
            BinaryOperator::Equal
            | BinaryOperator::NotEqual
            | BinaryOperator::Less
            | BinaryOperator::LessOrEqual
            | BinaryOperator::Greater
            | BinaryOperator::GreaterOrEqual => NodeKind::Compare(operator, left, right),
            BinaryOperator::In => NodeKind::In { element: left, list: right, cache: SetCache::default() },
            BinaryOperator::StartsWith | BinaryOperator::EndsWith | BinaryOperator::Contains => {
                NodeKind::Text(operator, left, right)
            }
            BinaryOperator::Matches => NodeKind::Matches { text: left, pattern: right, cache: PatternCache::default() },
        })
    }

    fn call(&mut self, name: &Arc<str>, arguments: &[Expression], span: Span) -> Result<NodeKind> {
        let function = functions::find(name)
            .ok_or_else(|| error!(UnknownFunction, "no scalar function is called {name}").at(span))?;
        if function.name == functions::conversion::COALESCE.name {
            return Ok(NodeKind::Coalesce(self.first_always(arguments)?));
        }
        Ok(NodeKind::Call { function, arguments: self.all(arguments)? })
    }

    fn case(
        &mut self,
        operand: &Option<Box<Expression>>,
        whens: &[(Expression, Expression)],
        otherwise: &Option<Box<Expression>>,
    ) -> Result<NodeKind> {
        let operand = self.maybe(operand)?;
        let mut compiled = Vec::with_capacity(whens.len());
        for (index, (when, then)) in whens.iter().enumerate() {
            let when = if index == 0 { self.compile(when)? } else { self.conditionally(|c| c.compile(when))? };
            compiled.push((when, self.conditionally(|c| c.compile(then))?));
        }
        let otherwise = self.conditionally(|c| c.maybe(otherwise))?;
        Ok(NodeKind::Case { operand, whens: compiled, otherwise })
    }

    /// Comprehensions, quantifiers and `reduce`: what stands in their body sees a variable of its own.
    fn over_list(&mut self, kind: &ExpressionKind) -> Result<NodeKind> {
        Ok(match kind {
            ExpressionKind::ListComprehension { slot, list, filter, body } => {
                let list = self.boxed(list)?;
                let local = self.enter(*slot);
                let filter = self.maybe(filter)?;
                let body = if filter.is_some() { self.conditionally(|c| c.maybe(body))? } else { self.maybe(body)? };
                self.scope.pop();
                NodeKind::Comprehension { local, list, filter, body }
            }
            ExpressionKind::Quantifier { kind, slot, list, predicate } => {
                let list = self.boxed(list)?;
                let local = self.enter(*slot);
                let predicate = self.boxed(predicate)?;
                self.scope.pop();
                NodeKind::Quantifier { kind: *kind, local, list, predicate }
            }
            ExpressionKind::Reduce { accumulator, initial, slot, list, body, predicate } => {
                let (initial, list) = (self.boxed(initial)?, self.boxed(list)?);
                let (accumulator, local) = (self.enter(*accumulator), self.enter(*slot));
                let body = self.boxed(body)?;
                let predicate = self.maybe(predicate)?;
                self.scope.truncate(self.scope.len() - 2);
                NodeKind::Reduce { accumulator, initial, local, list, body, predicate }
            }
            other => return Err(error!(Internal, "{other:?} does not run over a list")),
        })
    }

    fn enter(&mut self, slot: SlotId) -> usize {
        let position = self.program.places.len();
        self.program.places.push(Place::Local);
        self.scope.push((slot, position));
        position
    }

    fn path(&mut self, start: SlotId, steps: &[PathStep], span: Span) -> Result<NodeKind> {
        let start = self.position(start, span)?;
        let steps = steps.iter().map(|step| {
            Ok(match step {
                PathStep::Edge(slot) => Step::Edge(self.position(*slot, span)?),
                PathStep::Edges(slot) => Step::Edges(self.position(*slot, span)?),
            })
        });
        Ok(NodeKind::Path { start, steps: steps.collect::<Result<_>>()? })
    }

    fn subquery(&mut self, kind: SubqueryKind, plan: &Operator) -> Result<NodeKind> {
        let mut layout = self.layout.clone();
        let mut positions: Vec<usize> = (0..layout.len()).collect();
        for &(slot, position) in &self.scope {
            layout.push(slot);
            positions.push(position);
        }
        let subplan = self.environment.subplan(kind, plan, &layout)?;
        Ok(NodeKind::Subquery { subplan, positions })
    }
}
