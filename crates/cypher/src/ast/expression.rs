//! The syntax tree of expressions.

use model::Span;

use super::{LabelExpression, Name, PathPattern, Query};

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The text of the expression, with the parentheses around it if it has some.
    pub span: Span,
    /// Kind and operands of the expression.
    pub kind: ExpressionKind,
}

/// Kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// `1`, `-1`, `0x1f`, `0o17`.
    Integer(i64),
    /// `1.0`, `.5`, `1e9`, `Inf`, `NaN`.
    Float(f64),
    /// `'text'`, unescaped.
    String(String),
    /// `$name`, `$1`, `` $`a name` ``: the name without the dollar sign.
    Parameter(String),
    /// A name of the scope.
    Variable(String),
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `{key: value}`, in the order written.
    Map(Vec<MapEntry>),
    /// `base.key`.
    Property {
        /// A node, edge, map or temporal value.
        base: Box<Expression>,
        /// The key.
        key: Name,
    },
    /// `base[index]`.
    Index {
        /// A list, map, node or edge.
        base: Box<Expression>,
        /// A position or a key.
        index: Box<Expression>,
    },
    /// `base[from..to]`.
    Slice {
        /// A list.
        base: Box<Expression>,
        /// The first position.
        from: Option<Box<Expression>>,
        /// One past the last position.
        to: Option<Box<Expression>>,
    },
    /// `base:Label`.
    HasLabels {
        /// A node or edge.
        base: Box<Expression>,
        /// Condition on its labels or type.
        labels: Box<LabelExpression>,
    },
    /// `NOT x`, `-x`, `+x`, `x IS NULL`, `x IS NOT NULL`.
    Unary {
        /// The operator.
        operator: UnaryOperator,
        /// Its operand.
        operand: Box<Expression>,
    },
    /// `x + y` and the other operators of two operands that do not chain.
    Binary {
        /// The operator.
        operator: BinaryOperator,
        /// On the left.
        left: Box<Expression>,
        /// On the right.
        right: Box<Expression>,
    },
    /// `x AND y AND z`; two or more.
    And(Vec<Expression>),
    /// `x OR y OR z`; two or more.
    Or(Vec<Expression>),
    /// `x XOR y XOR z`; two or more, from left to right.
    Xor(Vec<Expression>),
    /// `first < x <= y`: each neighbouring pair compared, the answers joined by `AND`.
    Comparison {
        /// The leftmost operand.
        first: Box<Expression>,
        /// The operators and operands after it; one or more.
        rest: Vec<Comparison>,
    },
    /// `CASE [subject] WHEN … THEN … [ELSE …] END`.
    Case {
        /// Value compared with each `WHEN`; without it each `WHEN` is a predicate.
        subject: Option<Box<Expression>>,
        /// One or more branches.
        branches: Vec<CaseBranch>,
        /// The value after `ELSE`.
        otherwise: Option<Box<Expression>>,
    },
    /// `name.space.function([DISTINCT] argument, …)`.
    Function {
        /// The parts of its name, between its dots; `exists(…)` is a function of that name.
        name: Vec<Name>,
        /// `DISTINCT` stands before the arguments.
        distinct: bool,
        /// The arguments.
        arguments: Vec<Expression>,
    },
    /// `count(*)`.
    CountStar,
    /// `[variable IN list WHERE predicate | projection]`.
    ListComprehension {
        /// The name of the list's elements.
        variable: Name,
        /// The list.
        list: Box<Expression>,
        /// Predicate that selects the elements to keep.
        predicate: Option<Box<Expression>>,
        /// Expression that they become.
        projection: Option<Box<Expression>>,
    },
    /// `[path = (a)-[r]->(b) WHERE predicate | projection]`; the path's name is in the pattern.
    PatternComprehension {
        /// The pattern.
        pattern: Box<PathPattern>,
        /// Predicate that selects the matches to keep.
        predicate: Option<Box<Expression>>,
        /// Expression that they become.
        projection: Box<Expression>,
    },
    /// `all(variable IN list WHERE predicate)` and its kin.
    Quantifier {
        /// Quantifier: the number of elements that must pass.
        quantifier: Quantifier,
        /// The name of the list's elements.
        variable: Name,
        /// The list.
        list: Box<Expression>,
        /// The test; without it the elements themselves are the test.
        predicate: Option<Box<Expression>>,
    },
    /// `reduce(accumulator = initial, variable IN list | step)`.
    Reduce {
        /// The name of the running value.
        accumulator: Name,
        /// Its first value.
        initial: Box<Expression>,
        /// The name of the list's elements.
        variable: Name,
        /// The list.
        list: Box<Expression>,
        /// The running value after each element.
        step: Box<Expression>,
        /// Predicate that must hold of each running value. If there is one, the expression is `allReduce`, which tells
        /// whether it holds.
        predicate: Option<Box<Expression>>,
    },
    /// `variable{.key, .*, key: value, other}`.
    MapProjection {
        /// The node, edge or map.
        variable: Name,
        /// Items that are taken.
        items: Vec<MapProjectionItem>,
    },
    /// `(a)-[:X]->(b)` as a predicate, or `shortestPath(…)` as a value.
    Pattern(Box<PathPattern>),
    /// The subject of the `CASE` around it, before the operator of a `WHEN > 3`.
    CaseSubject,
    /// `operand IS [NOT] :: type`.
    TypeTest {
        /// The value.
        operand: Box<Expression>,
        /// `NOT` stands before the type.
        negated: bool,
        /// The type in canonical words, as `LIST<INTEGER NOT NULL> | FLOAT`.
        of: String,
    },
    /// `EXISTS { … }`, `COUNT { … }`, `COLLECT { … }`.
    Subquery {
        /// Kind of value made of its rows.
        kind: SubqueryKind,
        /// The query; a bare pattern in the braces is a `MATCH` without `RETURN`.
        query: Box<Query>,
    },
}

/// `key: value`.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// The key.
    pub key: Name,
    /// The value.
    pub value: Expression,
}

/// An operator and the operand after it, in a chain of comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The operator.
    pub operator: ComparisonOperator,
    /// The operand on its right.
    pub operand: Expression,
}

/// `WHEN condition THEN value`.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseBranch {
    /// The condition, or the value to compare with; after a subject also a comparison whose left side is the subject.
    pub condition: Expression,
    /// Further ones after commas, of which one is enough.
    pub others: Vec<Expression>,
    /// The value of the branch.
    pub value: Expression,
}

/// One item of a map projection.
#[derive(Clone, Debug, PartialEq)]
pub enum MapProjectionItem {
    /// `.key`.
    Property(Name),
    /// `.*`.
    All(Span),
    /// `key: value`.
    Entry(MapEntry),
    /// `name`: the variable under its own name.
    Variable(Name),
}

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `NOT x`.
    Not,
    /// `-x`.
    Minus,
    /// `+x`.
    Plus,
    /// `x IS NULL`.
    IsNull,
    /// `x IS NOT NULL`.
    IsNotNull,
}

/// Operators of two operands that do not chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `%`.
    Modulo,
    /// `^`.
    Power,
    /// `||`.
    Concatenate,
    /// `STARTS WITH`.
    StartsWith,
    /// `ENDS WITH`.
    EndsWith,
    /// `CONTAINS`.
    Contains,
    /// `=~`.
    Matches,
    /// `IN`.
    In,
}

/// Operators that compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// `=`.
    Equal,
    /// `<>`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
}

/// Number of elements of a list that must pass a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// `all`.
    All,
    /// `any`.
    Any,
    /// `none`.
    None,
    /// `single`.
    Single,
}

/// Value that a subquery expression makes of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryKind {
    /// True if there is a row.
    Exists,
    /// Number of rows.
    Count,
    /// The list of their only column.
    Collect,
}

impl Expression {
    /// The expression of that kind at that place.
    pub fn new(span: Span, kind: ExpressionKind) -> Expression {
        Expression { span, kind }
    }

    /// Calls `visit` with each expression directly below this one, in the order written.
    /// Expressions within patterns and subqueries are not below it: they have a scope of their own.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        use ExpressionKind as Kind;
        match &self.kind {
            Kind::Null | Kind::Boolean(_) | Kind::Integer(_) | Kind::Float(_) | Kind::String(_) => {}
            Kind::Parameter(_) | Kind::Variable(_) | Kind::CountStar | Kind::CaseSubject => {}
            Kind::Pattern(_) | Kind::Subquery { .. } => {}
            Kind::List(items) | Kind::And(items) | Kind::Or(items) | Kind::Xor(items) => items.iter().for_each(visit),
            Kind::Map(entries) => entries.iter().for_each(|entry| visit(&entry.value)),
            Kind::Property { base, .. } | Kind::HasLabels { base, .. } => visit(base),
            Kind::Index { base, index } => [base, index].into_iter().for_each(|child| visit(child)),
            Kind::Slice { base, from, to } => {
                visit(base);
                [from, to].into_iter().flatten().for_each(|bound| visit(bound));
            }
            Kind::Unary { operand, .. } | Kind::TypeTest { operand, .. } => visit(operand),
            Kind::Binary { left, right, .. } => [left, right].into_iter().for_each(|child| visit(child)),
            Kind::Comparison { first, rest } => {
                visit(first);
                rest.iter().for_each(|comparison| visit(&comparison.operand));
            }
            Kind::Case { subject, branches, otherwise } => {
                subject.iter().for_each(|child| visit(child));
                for branch in branches {
                    visit(&branch.condition);
                    branch.others.iter().for_each(&mut *visit);
                    visit(&branch.value);
                }
                otherwise.iter().for_each(|child| visit(child));
            }
            Kind::Function { arguments, .. } => arguments.iter().for_each(visit),
            Kind::ListComprehension { list, predicate, projection, .. } => {
                visit(list);
                [predicate, projection].into_iter().flatten().for_each(|child| visit(child));
            }
            Kind::PatternComprehension { predicate, projection, .. } => {
                predicate.iter().for_each(|child| visit(child));
                visit(projection);
            }
            Kind::Quantifier { list, predicate, .. } => {
                visit(list);
                predicate.iter().for_each(|child| visit(child));
            }
            Kind::Reduce { initial, list, step, predicate, .. } => {
                [initial, list, step].into_iter().chain(predicate).for_each(|child| visit(child));
            }
            Kind::MapProjection { items, .. } => items.iter().for_each(|item| {
                if let MapProjectionItem::Entry(entry) = item {
                    visit(&entry.value);
                }
            }),
        }
    }
}
