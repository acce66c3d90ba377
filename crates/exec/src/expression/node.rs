//! The compiled tree: variables are positions, functions are resolved, constants are marked.

use std::sync::Arc;

use cypher::plan::{BinaryOperator, QuantifierKind};
use model::{Span, Value};

use super::membership::SetCache;
use super::text::PatternCache;
use crate::context::SubplanId;
use crate::functions::Function;

/// A compiled expression and where it stands.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) span: Span,
}

/// The computation of a node.
#[derive(Debug)]
pub(crate) enum NodeKind {
    Constant(Value),
    Parameter(Arc<str>),
    /// A variable, or a property of one.
    Position(usize),
    Property {
        object: Box<Node>,
        key: Arc<str>,
    },
    Subscript {
        object: Box<Node>,
        index: Box<Node>,
    },
    Slice {
        list: Box<Node>,
        from: Option<Box<Node>>,
        to: Option<Box<Node>>,
    },
    List(Vec<Node>),
    Map(Vec<(Arc<str>, Node)>),
    MapProjection {
        object: Box<Node>,
        all: bool,
        entries: Vec<(Arc<str>, Node)>,
    },
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Xor(Box<Node>, Box<Node>),
    Negate(Box<Node>),
    Arithmetic(BinaryOperator, Box<Node>, Box<Node>),
    Compare(BinaryOperator, Box<Node>, Box<Node>),
    In {
        element: Box<Node>,
        list: Box<Node>,
        cache: SetCache,
    },
    Text(BinaryOperator, Box<Node>, Box<Node>),
    Matches {
        text: Box<Node>,
        pattern: Box<Node>,
        cache: PatternCache,
    },
    IsNull(Box<Node>),
    IsNotNull(Box<Node>),
    HasLabels {
        object: Box<Node>,
        labels: Vec<Arc<str>>,
    },
    Call {
        function: &'static Function,
        arguments: Vec<Node>,
    },
    /// The first argument that is not null; the others are not evaluated.
    Coalesce(Vec<Node>),
    Case {
        operand: Option<Box<Node>>,
        whens: Vec<(Node, Node)>,
        otherwise: Option<Box<Node>>,
    },
    Comprehension {
        local: usize,
        list: Box<Node>,
        filter: Option<Box<Node>>,
        body: Option<Box<Node>>,
    },
    Quantifier {
        kind: QuantifierKind,
        local: usize,
        list: Box<Node>,
        predicate: Box<Node>,
    },
    Reduce {
        accumulator: usize,
        initial: Box<Node>,
        local: usize,
        list: Box<Node>,
        body: Box<Node>,
        predicate: Option<Box<Node>>,
    },
    Path {
        start: usize,
        steps: Vec<Step>,
    },
    /// A subplan, run for the vectors of these positions.
    Subquery {
        subplan: SubplanId,
        positions: Vec<usize>,
    },
}

/// A step of a path, by position.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// An edge.
    Edge(usize),
    /// A list of edges.
    Edges(usize),
}
