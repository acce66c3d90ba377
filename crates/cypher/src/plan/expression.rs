//! Bound expressions: every variable is a slot, every function is known to exist.

use std::sync::Arc;

use model::{Span, Value};

use super::{Operator, SlotId};

/// An expression and where it stands in the query, for errors at run time.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Kind and operands of the expression.
    pub kind: ExpressionKind,
    /// Place in the query.
    pub span: Span,
}

/// Kinds of expressions. Semantics are openCypher's, nulls included.
#[derive(Clone, Debug)]
pub enum ExpressionKind {
    /// A constant.
    Literal(Value),
    /// `$name`.
    Parameter(Arc<str>),
    /// A variable.
    Slot(SlotId),
    /// `object.key`, of a node, edge, map, date or local date-time; null of null.
    Property {
        /// Owner of the property.
        object: Box<Expression>,
        /// Its key.
        key: Arc<str>,
    },
    /// `object[index]`, of a list, or by key of a map, node or edge.
    Subscript {
        /// The list or map.
        object: Box<Expression>,
        /// Index or key of the element; a negative index counts from the end.
        index: Box<Expression>,
    },
    /// `list[from..to]`.
    Slice {
        /// The list.
        list: Box<Expression>,
        /// First element; from the start if absent.
        from: Option<Box<Expression>>,
        /// One past the last element; to the end if absent.
        to: Option<Box<Expression>>,
    },
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `{key: value}`.
    Map(Vec<(Arc<str>, Expression)>),
    /// `object{.key, .*, name: value}`: the entries, after all properties of the object if `all`.
    MapProjection {
        /// A node, edge or map; the result is null if it is.
        object: Box<Expression>,
        /// True if `.*` is there.
        all: bool,
        /// The other entries, `.key` written out.
        entries: Vec<(Arc<str>, Expression)>,
    },
    /// `NOT a`, in three-valued logic.
    Not(Box<Expression>),
    /// `a AND b AND …`; a comparison chain is one of these too.
    And(Vec<Expression>),
    /// `a OR b OR …`.
    Or(Vec<Expression>),
    /// `a XOR b`.
    Xor(Box<Expression>, Box<Expression>),
    /// `-a`.
    Negate(Box<Expression>),
    /// An infix operator.
    Binary {
        /// The operator.
        operator: BinaryOperator,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
    },
    /// `a IS NULL`.
    IsNull(Box<Expression>),
    /// `a IS NOT NULL`.
    IsNotNull(Box<Expression>),
    /// `a:Label:Other` of a node (it carries all), or `r:TYPE` of an edge (it is of that type); null of null.
    HasLabels {
        /// The node or edge.
        object: Box<Expression>,
        /// All of these labels, or the one type.
        labels: Vec<Arc<str>>,
    },
    /// A scalar function, by the name in its signature.
    Function {
        /// Its name as documented.
        name: Arc<str>,
        /// Its arguments; their number has been checked.
        arguments: Vec<Expression>,
    },
    /// `CASE`: with an operand the whens are compared with it, else they are conditions.
    Case {
        /// The operand of the simple form.
        operand: Option<Box<Expression>>,
        /// Pairs of `WHEN` and `THEN`.
        whens: Vec<(Expression, Expression)>,
        /// `ELSE`; null if absent.
        otherwise: Option<Box<Expression>>,
    },
    /// `[slot IN list WHERE filter | body]`; without a body, the elements themselves.
    ListComprehension {
        /// Holds each element in turn.
        slot: SlotId,
        /// The list.
        list: Box<Expression>,
        /// Predicate that selects the elements.
        filter: Option<Box<Expression>>,
        /// Expression computed for each of them.
        body: Option<Box<Expression>>,
    },
    /// `all(slot IN list WHERE predicate)` and its kin.
    Quantifier {
        /// Kind of quantifier.
        kind: QuantifierKind,
        /// Holds each element in turn.
        slot: SlotId,
        /// The list.
        list: Box<Expression>,
        /// The condition.
        predicate: Box<Expression>,
    },
    /// `reduce(accumulator = initial, slot IN list | body)`.
    Reduce {
        /// Holds the value so far.
        accumulator: SlotId,
        /// The first value.
        initial: Box<Expression>,
        /// Holds each element in turn.
        slot: SlotId,
        /// The list.
        list: Box<Expression>,
        /// The next value.
        body: Box<Expression>,
        /// Predicate that must hold of each value. If there is one, the result tells whether it holds.
        predicate: Option<Box<Expression>>,
    },
    /// A path made of slots; null if any of them is null.
    Path {
        /// The first node.
        start: SlotId,
        /// Then edge by edge.
        steps: Vec<PathStep>,
    },
    /// A subplan run for the current row: pattern predicates, pattern comprehensions, `EXISTS {}`, `COUNT {}`.
    Subquery {
        /// Value to make of its rows.
        kind: SubqueryKind,
        /// Starts from an `Argument` with slots of the current row.
        plan: Arc<Operator>,
    },
}

/// A step of a path: the node it leads to is the other end of the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A slot with an edge.
    Edge(SlotId),
    /// A slot with a list of edges in walking order, maybe empty.
    Edges(SlotId),
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOperator {
    /// `+`: numbers, strings, lists, and lists with elements.
    Add,
    /// `-`.
    Subtract,
    /// `*`.
    Multiply,
    /// `/`: of integers an integer.
    Divide,
    /// `%`.
    Modulo,
    /// `^`: always a float.
    Power,
    /// `||`: strings and lists.
    Concatenate,
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
    /// `IN`.
    In,
    /// `STARTS WITH`.
    StartsWith,
    /// `ENDS WITH`.
    EndsWith,
    /// `CONTAINS`.
    Contains,
    /// `=~`: the whole text matches.
    Matches,
}

impl BinaryOperator {
    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Modulo => "%",
            BinaryOperator::Power => "^",
            BinaryOperator::Concatenate => "||",
            BinaryOperator::Equal => "=",
            BinaryOperator::NotEqual => "<>",
            BinaryOperator::Less => "<",
            BinaryOperator::LessOrEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterOrEqual => ">=",
            BinaryOperator::In => "IN",
            BinaryOperator::StartsWith => "STARTS WITH",
            BinaryOperator::EndsWith => "ENDS WITH",
            BinaryOperator::Contains => "CONTAINS",
            BinaryOperator::Matches => "=~",
        }
    }
}

/// The four quantifiers over lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantifierKind {
    /// Every element.
    All,
    /// At least one.
    Any,
    /// Not one.
    None,
    /// Exactly one.
    Single,
}

/// Value that an expression makes of a subplan's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryKind {
    /// True if there is a row.
    Exists,
    /// Number of rows.
    Count,
    /// The list of what this slot holds in each.
    Collect(SlotId),
}
