//! The logical plan: what the planner makes and the executor runs.
//!
//! Names of labels, types and properties stay names here: the executor asks the store for their ids when it starts,
//! so that a cached plan outlives changes of the schema.

use std::sync::Arc;

use model::{PropertyType, Span, Value};

use crate::ast::{Administration, Maintenance};
pub use crate::catalog::HorizonId;

pub mod aggregate;
pub(crate) mod conditions;
pub mod counting;
pub mod explain;
pub mod expression;
pub(crate) mod known_types;
pub mod node_choice;
pub mod operator;
pub mod pushed;
mod rest;
pub mod search;
pub mod source;
mod visit;

pub use aggregate::Aggregate;
pub use counting::{CountedBranch, CountedChain, CountedNested, CountedNode, CountedRule, Difference, NestedKind};
pub use expression::{BinaryOperator, Expression, ExpressionKind, PathStep, QuantifierKind, SubqueryKind};
pub use node_choice::{NodeChoice, NodeTest, NodesFirst, node_test};
pub use operator::{
    Batches, BoundEdge, EdgeChoice, EdgeCondition, EdgeFilter, EdgeFirst, ForEachResult, IndexRange, IntersectLeg,
    LookupValue, NewEdge, NewEnds, NewNode, NewRule, OnError, Operator, OperatorId, OperatorKind, Retry, RuleKind,
    SetItem, SortKey,
};

pub use rest::operator_at;

pub use pushed::{AskedColumn, PushedFirst, PushedNode, PushedPattern, PushedValue};
pub use source::SourceStatement;

pub use search::{HopCondition, SearchElement, SearchHop, SearchMode, SearchPattern, SearchSelector, WalkCondition};

/// A variable of a query: a column of the rows that flow through a plan. Unique in its plan, so never shadowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u32);

/// Kind of values that a slot is known to hold (or null).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlotKind {
    /// A node.
    Node,
    /// An edge.
    Edge,
    /// A list of edges, as a variable-length pattern binds it.
    EdgeList,
    /// A path.
    Path,
    /// Anything.
    Any,
}

/// A slot's name in the query, or one made up for what has none there.
#[derive(Clone, Debug)]
pub struct SlotInfo {
    /// The name.
    pub name: Arc<str>,
    /// Kind of values that it holds.
    pub kind: SlotKind,
    /// A label of the query that is not tested, since all nodes carry it.
    pub covered_label: Option<Arc<str>>,
}

/// Effects that running a plan may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanMode {
    /// It reads; a snapshot is enough.
    Read,
    /// It writes nodes or edges, or calls a procedure that does.
    Write,
    /// It changes constraints.
    Schema,
    /// It reads, and writes in transactions that it begins and commits itself.
    Batches,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The last operator; the others are its inputs.
    pub root: Operator,
    /// The result's columns: name, and the slot of the root's output that holds it. Empty without `RETURN`.
    pub columns: Vec<(Arc<str>, SlotId)>,
    /// The type of every value of each column besides null, where it is known before there are rows.
    pub column_types: Arc<[Option<PropertyType>]>,
    /// All slots, by number.
    pub slots: Vec<SlotInfo>,
    /// Effects that running it may have.
    pub mode: PlanMode,
    /// The operators whose rows are those of a horizon.
    pub horizons: Vec<(HorizonId, OperatorId)>,
}

impl Plan {
    /// True if a value in a column is of the type that was told. Elements of lists may be null.
    pub fn is_as_told(&self, column: usize, value: &Value) -> bool {
        match (self.column_types.get(column).copied().flatten(), value) {
            (None, _) | (_, Value::Null) => true,
            (Some(PropertyType::List(kind)), Value::List(items)) => {
                items.iter().all(|item| item.is_null() || kind.holds(item))
            }
            (Some(told), value) => told.holds(value),
        }
    }
}

/// Word before a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// Nothing: run it.
    None,
    /// `EXPLAIN`: show the plan, do not run it.
    Explain,
    /// `PROFILE`: run it, and show the plan with what each operator did.
    Profile,
}

/// A `COPY`, with its values as they stand.
#[derive(Clone, Debug)]
pub struct CopyPlan {
    /// From where to where.
    pub way: CopyWay,
    /// Names in lower case, values, and where they stand.
    pub options: Vec<(Arc<str>, CopyValue, Span)>,
}

/// From where to where something is copied.
#[derive(Clone, Debug)]
pub enum CopyWay {
    /// Files into nodes of that label or edges of that type.
    From {
        /// The label or the type.
        name: Arc<str>,
        /// The files.
        files: Vec<CopyValue>,
    },
    /// The rows of a query into a file.
    To {
        /// The text of the query.
        query: Arc<str>,
        /// Start of the query in the statement's text.
        start: u32,
        /// The file.
        file: CopyValue,
    },
}

/// A value that is known now or when the parameters are.
#[derive(Clone, Debug)]
pub enum CopyValue {
    /// Known.
    Literal(model::Value),
    /// The parameter of that name.
    Parameter(Arc<str>),
}

/// One statement, ready to run.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A query.
    Query(Prefix, Arc<Plan>),
    /// `COPY`.
    Copy(Arc<CopyPlan>),
    /// `ATTACH`, `DETACH` or `PRELOAD`.
    Source(Arc<SourceStatement>),
    /// A command of a server.
    Administration(Arc<Administration>),
    /// `BEGIN`.
    Begin,
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`.
    Rollback,
    /// `CHECKPOINT`, `COMPACT` or `BACKUP DATABASE`.
    Maintenance(Arc<Maintenance<CopyValue>>),
}
