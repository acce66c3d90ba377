//! From the syntax tree of an expression to the plan's, for tests: names are slots by position, or parameters.

use std::sync::Arc;

use cypher::ast;
use cypher::plan::{BinaryOperator, Expression, ExpressionKind, QuantifierKind, SlotId};
use model::{Span, Value};

/// The slots or parameters that names stand for.
pub(crate) struct Binder<'n> {
    names: &'n [String],
    as_parameters: bool,
    locals: Vec<(String, SlotId)>,
}

impl<'n> Binder<'n> {
    /// Names are slots, numbered in order.
    pub(crate) fn slots(names: &'n [String]) -> Binder<'n> {
        Binder { names, as_parameters: false, locals: Vec::new() }
    }

    /// Names are parameters.
    pub(crate) fn parameters(names: &'n [String]) -> Binder<'n> {
        Binder { names, as_parameters: true, locals: Vec::new() }
    }

    pub(crate) fn bind_text(&mut self, text: &str) -> Expression {
        let tree = cypher::parser::parse_expression(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
        self.bind(&tree)
    }

    fn boxed(&mut self, tree: &ast::Expression) -> Box<Expression> {
        Box::new(self.bind(tree))
    }

    fn maybe(&mut self, tree: &Option<Box<ast::Expression>>) -> Option<Box<Expression>> {
        tree.as_ref().map(|tree| self.boxed(tree))
    }

    fn all(&mut self, trees: &[ast::Expression]) -> Vec<Expression> {
        trees.iter().map(|tree| self.bind(tree)).collect()
    }

    fn bind(&mut self, tree: &ast::Expression) -> Expression {
        let span = tree.span;
        let kind = match &tree.kind {
            ast::ExpressionKind::Null => ExpressionKind::Literal(Value::Null),
            ast::ExpressionKind::Boolean(x) => ExpressionKind::Literal(Value::Bool(*x)),
            ast::ExpressionKind::Integer(x) => ExpressionKind::Literal(Value::Int(*x)),
            ast::ExpressionKind::Float(x) => ExpressionKind::Literal(Value::Float(*x)),
            ast::ExpressionKind::String(x) => ExpressionKind::Literal(Value::string(x)),
            ast::ExpressionKind::Parameter(name) => ExpressionKind::Parameter(Arc::from(name.as_str())),
            ast::ExpressionKind::Variable(name) => self.name(name),
            ast::ExpressionKind::List(items) => ExpressionKind::List(self.all(items)),
            ast::ExpressionKind::Map(entries) => ExpressionKind::Map(self.entries(entries)),
            ast::ExpressionKind::Property { base, key } => {
                ExpressionKind::Property { object: self.boxed(base), key: Arc::from(key.text.as_str()) }
            }
            ast::ExpressionKind::Index { base, index } => {
                ExpressionKind::Subscript { object: self.boxed(base), index: self.boxed(index) }
            }
            ast::ExpressionKind::Slice { base, from, to } => {
                ExpressionKind::Slice { list: self.boxed(base), from: self.maybe(from), to: self.maybe(to) }
            }
            ast::ExpressionKind::HasLabels { base, labels } => {
                ExpressionKind::HasLabels { object: self.boxed(base), labels: label_names(labels) }
            }
            ast::ExpressionKind::Unary { operator, operand } => self.unary(*operator, operand),
            ast::ExpressionKind::Binary { operator, left, right } => {
                let operator = infix(*operator);
                ExpressionKind::Binary { operator, left: self.boxed(left), right: self.boxed(right) }
            }
            ast::ExpressionKind::And(operands) => ExpressionKind::And(self.all(operands)),
            ast::ExpressionKind::Or(operands) => ExpressionKind::Or(self.all(operands)),
            ast::ExpressionKind::Xor(operands) => {
                let bound = self.all(operands).into_iter();
                return bound.reduce(|a, b| at(span, ExpressionKind::Xor(Box::new(a), Box::new(b)))).unwrap();
            }
            ast::ExpressionKind::Comparison { first, rest } => self.comparison(first, rest, span),
            ast::ExpressionKind::Case { subject, branches, otherwise } => ExpressionKind::Case {
                operand: self.maybe(subject),
                whens: branches.iter().map(|branch| (self.bind(&branch.condition), self.bind(&branch.value))).collect(),
                otherwise: self.maybe(otherwise),
            },
            ast::ExpressionKind::Function { name, arguments, .. } => {
                let name: Vec<&str> = name.iter().map(|part| part.text.as_str()).collect();
                ExpressionKind::Function { name: Arc::from(name.join(".")), arguments: self.all(arguments) }
            }
            ast::ExpressionKind::MapProjection { variable, items } => self.map_projection(variable, items, span),
            other => self.over_list(other),
        };
        at(span, kind)
    }

    fn name(&self, name: &str) -> ExpressionKind {
        if let Some((_, slot)) = self.locals.iter().rev().find(|(local, _)| local == name) {
            return ExpressionKind::Slot(*slot);
        }
        let position = self.names.iter().position(|known| known == name);
        let position = position.unwrap_or_else(|| panic!("{name} is no column of the test"));
        if self.as_parameters {
            ExpressionKind::Parameter(Arc::from(name))
        } else {
            ExpressionKind::Slot(SlotId(position as u32))
        }
    }

    fn enter(&mut self, name: &ast::Name) -> SlotId {
        let slot = SlotId(1_000 + self.locals.len() as u32);
        self.locals.push((name.text.clone(), slot));
        slot
    }

    fn entries(&mut self, entries: &[ast::MapEntry]) -> Vec<(Arc<str>, Expression)> {
        entries.iter().map(|entry| (Arc::from(entry.key.text.as_str()), self.bind(&entry.value))).collect()
    }

    fn unary(&mut self, operator: ast::UnaryOperator, operand: &ast::Expression) -> ExpressionKind {
        let operand = self.boxed(operand);
        match operator {
            ast::UnaryOperator::Not => ExpressionKind::Not(operand),
            ast::UnaryOperator::Minus => ExpressionKind::Negate(operand),
            ast::UnaryOperator::Plus => operand.kind,
            ast::UnaryOperator::IsNull => ExpressionKind::IsNull(operand),
            ast::UnaryOperator::IsNotNull => ExpressionKind::IsNotNull(operand),
        }
    }

    fn comparison(&mut self, first: &ast::Expression, rest: &[ast::Comparison], span: Span) -> ExpressionKind {
        let mut left = self.bind(first);
        let mut pairs = Vec::new();
        for comparison in rest {
            let right = self.bind(&comparison.operand);
            let operator = match comparison.operator {
                ast::ComparisonOperator::Equal => BinaryOperator::Equal,
                ast::ComparisonOperator::NotEqual => BinaryOperator::NotEqual,
                ast::ComparisonOperator::Less => BinaryOperator::Less,
                ast::ComparisonOperator::LessOrEqual => BinaryOperator::LessOrEqual,
                ast::ComparisonOperator::Greater => BinaryOperator::Greater,
                ast::ComparisonOperator::GreaterOrEqual => BinaryOperator::GreaterOrEqual,
            };
            let pair = ExpressionKind::Binary { operator, left: Box::new(left), right: Box::new(right.clone()) };
            pairs.push(at(span, pair));
            left = right;
        }
        if pairs.len() == 1 { pairs.remove(0).kind } else { ExpressionKind::And(pairs) }
    }

    fn map_projection(&mut self, variable: &ast::Name, items: &[ast::MapProjectionItem], span: Span) -> ExpressionKind {
        let object = Box::new(at(span, self.name(&variable.text)));
        let mut entries = Vec::new();
        for item in items {
            match item {
                ast::MapProjectionItem::Property(key) => {
                    let key: Arc<str> = Arc::from(key.text.as_str());
                    let value = ExpressionKind::Property { object: object.clone(), key: key.clone() };
                    entries.push((key, at(span, value)));
                }
                ast::MapProjectionItem::Entry(entry) => entries.extend(self.entries(std::slice::from_ref(entry))),
                ast::MapProjectionItem::Variable(name) => {
                    entries.push((Arc::from(name.text.as_str()), at(span, self.name(&name.text))));
                }
                ast::MapProjectionItem::All(_) => {}
            }
        }
        let all = items.iter().any(|item| matches!(item, ast::MapProjectionItem::All(_)));
        ExpressionKind::MapProjection { object, all, entries }
    }

    fn over_list(&mut self, kind: &ast::ExpressionKind) -> ExpressionKind {
        match kind {
            ast::ExpressionKind::ListComprehension { variable, list, predicate, projection } => {
                let list = self.boxed(list);
                let slot = self.enter(variable);
                let (filter, body) = (self.maybe(predicate), self.maybe(projection));
                self.locals.pop();
                ExpressionKind::ListComprehension { slot, list, filter, body }
            }
            ast::ExpressionKind::Quantifier { quantifier, variable, list, predicate } => {
                let kind = match quantifier {
                    ast::Quantifier::All => QuantifierKind::All,
                    ast::Quantifier::Any => QuantifierKind::Any,
                    ast::Quantifier::None => QuantifierKind::None,
                    ast::Quantifier::Single => QuantifierKind::Single,
                };
                let list = self.boxed(list);
                let slot = self.enter(variable);
                let predicate = self.maybe(predicate).expect("tests write the predicate");
                self.locals.pop();
                ExpressionKind::Quantifier { kind, slot, list, predicate }
            }
            ast::ExpressionKind::Reduce { accumulator, initial, variable, list, step, predicate } => {
                let (initial, list) = (self.boxed(initial), self.boxed(list));
                let (accumulator, slot) = (self.enter(accumulator), self.enter(variable));
                let body = self.boxed(step);
                let predicate = self.maybe(predicate);
                self.locals.truncate(self.locals.len() - 2);
                ExpressionKind::Reduce { accumulator, initial, slot, list, body, predicate }
            }
            other => panic!("the tests of expressions do not bind {other:?}"),
        }
    }
}

fn at(span: Span, kind: ExpressionKind) -> Expression {
    Expression { kind, span }
}

fn label_names(labels: &ast::LabelExpression) -> Vec<Arc<str>> {
    let names = labels.conjunction().expect("tests ask for labels that are all there");
    names.iter().map(|name| Arc::from(name.text.as_str())).collect()
}

fn infix(operator: ast::BinaryOperator) -> BinaryOperator {
    match operator {
        ast::BinaryOperator::Add => BinaryOperator::Add,
        ast::BinaryOperator::Subtract => BinaryOperator::Subtract,
        ast::BinaryOperator::Multiply => BinaryOperator::Multiply,
        ast::BinaryOperator::Divide => BinaryOperator::Divide,
        ast::BinaryOperator::Modulo => BinaryOperator::Modulo,
        ast::BinaryOperator::Power => BinaryOperator::Power,
        ast::BinaryOperator::Concatenate => BinaryOperator::Concatenate,
        ast::BinaryOperator::StartsWith => BinaryOperator::StartsWith,
        ast::BinaryOperator::EndsWith => BinaryOperator::EndsWith,
        ast::BinaryOperator::Contains => BinaryOperator::Contains,
        ast::BinaryOperator::Matches => BinaryOperator::Matches,
        ast::BinaryOperator::In => BinaryOperator::In,
    }
}
