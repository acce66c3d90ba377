//! The operators of a plan. Each takes the rows of its input and gives rows; the names are those that EXPLAIN prints.
//!
//! A row is a value for each slot that is live. Unless an operator says otherwise, its output has the slots of its
//! input and those it adds.

use std::sync::Arc;

use model::{Direction, Rule, Span};

use super::{Aggregate, BinaryOperator, CountedNode, Expression, NodeChoice, PushedPattern, SearchPattern, SlotId};

/// The number of an operator within its plan, to hang a profile on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(pub u32);

/// An operator with what the planner expects of it.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its number.
    pub id: OperatorId,
    /// Number of rows that the planner expects it to give.
    pub estimated_rows: f64,
    /// Kind and parameters of the operator.
    pub kind: OperatorKind,
}

/// Kinds of operators.
#[derive(Clone, Debug)]
pub enum OperatorKind {
    /// One row without slots: the start of a plan.
    Unit,
    /// The start of a subplan: the current row of the operator or expression around it, with these slots.
    /// Row-local subplans (no aggregation, sorting, limit or distinct) may be run for a batch of rows at once.
    Argument {
        /// Slots of the outer row that the subplan uses.
        slots: Vec<SlotId>,
    },
    /// The rows that an earlier part of the run came to: the start of the rest of a plan.
    Held {
        /// Their slots.
        slots: Vec<SlotId>,
    },
    /// For each row, all nodes that carry all of the labels.
    NodeScan {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the node.
        slot: SlotId,
        /// Labels; none for all nodes.
        labels: Vec<Arc<str>>,
        /// Conditions that the store may test, and the nodes that are enough.
        choice: Option<Box<NodeChoice>>,
    },
    /// For each row, the nodes of the label whose property equals the value, by the index of a uniqueness constraint.
    NodeLookup {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the node.
        slot: SlotId,
        /// The label of the constraint.
        label: Arc<str>,
        /// The property of the constraint.
        key: Arc<str>,
        /// The value, or list of values; null finds nothing.
        value: LookupValue,
    },
    /// For each row, the nodes of a label, or the edges of a type, that an ordered index finds.
    IndexSeek {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the node or the edge.
        slot: SlotId,
        /// True if the index holds edges.
        on_edges: bool,
        /// The label or the edge type.
        subject: Arc<str>,
        /// All keys of the index.
        keys: Vec<Arc<str>>,
        /// Values that the first keys equal; null and NaN equal nothing.
        equal: Vec<Expression>,
        /// The last of `equal` is a list, any of whose values is meant; one that comes twice counts once.
        is_list: bool,
        /// Range of the key after those.
        range: IndexRange,
    },
    /// For each row, the node with that id (`id(n) = …`), if it exists.
    NodeById {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the node.
        slot: SlotId,
        /// The id or ids, as integers; anything else finds nothing.
        value: LookupValue,
    },
    /// For each row, the edge with that element id (`elementId(r) = …`), if it exists.
    EdgeById {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the edge.
        slot: SlotId,
        /// The element id or ids, as texts; anything else finds nothing.
        value: LookupValue,
    },
    /// For each row, the edges of a node and the nodes they lead to. A null node has none.
    Expand {
        /// Rows to extend.
        input: Box<Operator>,
        /// The node to start from.
        from: SlotId,
        /// Direction of the edges.
        direction: Direction,
        /// Edge types; none for any.
        types: Vec<Arc<str>>,
        /// Takes the edge, if it is used.
        edge: Option<SlotId>,
        /// Takes the node at the other end; or, if `into`, must hold it already.
        to: SlotId,
        /// True if `to` is bound: then only edges that lead there.
        into: bool,
        /// Slots with edges or lists of edges of the same pattern, from which this edge must differ. Needs `edge`.
        distinct_from: Vec<SlotId>,
        /// Conditions of the operators above on the edge, as far as the store can apply them.
        choice: Option<Box<EdgeChoice>>,
    },
    /// For each row, the paths of `min` to `max` edges from a node, no edge twice in one path unless `repeats`.
    VariableExpand {
        /// Rows to extend.
        input: Box<Operator>,
        /// The node to start from.
        from: SlotId,
        /// Direction of the edges.
        direction: Direction,
        /// Edge types; none for any.
        types: Vec<Arc<str>>,
        /// Fewest edges; 0 gives the node itself.
        min: u32,
        /// Most edges; `None` for no limit.
        max: Option<u32>,
        /// Takes the list of edges, if it is used.
        edges: Option<SlotId>,
        /// Takes the node at the end; or, if `into`, must hold it already.
        to: SlotId,
        /// True if `to` is bound.
        into: bool,
        /// Condition that every edge must satisfy.
        filter: Option<EdgeFilter>,
        /// Slots with edges or lists of edges of the same pattern, from which all edges must differ.
        distinct_from: Vec<SlotId>,
        /// True if an edge may come twice in one path.
        repeats: bool,
        /// `allReduce` over the edges, its list left empty: paths of which it is false are not made longer.
        running: Option<Box<Expression>>,
    },
    /// For each row, a shortest path between two nodes, or all shortest paths; no row if there is none.
    ShortestPath {
        /// Rows to extend.
        input: Box<Operator>,
        /// The node to start from.
        from: SlotId,
        /// The node to reach; or, if not `into`, takes each node that can be reached.
        to: SlotId,
        /// True if `to` is bound.
        into: bool,
        /// Direction of the edges.
        direction: Direction,
        /// Edge types; none for any.
        types: Vec<Arc<str>>,
        /// Fewest edges: 0 or 1.
        min: u32,
        /// Most edges; `None` for no limit.
        max: Option<u32>,
        /// Takes the list of edges.
        edges: SlotId,
        /// True to give all paths of the shortest length.
        all: bool,
        /// Condition that every edge must satisfy.
        filter: Option<EdgeFilter>,
    },
    /// For each row, the paths from a node that match a pattern of several parts, or those of them that are selected
    /// between their ends. No edge is one of `distinct_from`.
    PathSearch {
        /// Rows to extend.
        input: Box<Operator>,
        /// The node to start from.
        from: SlotId,
        /// Takes the node at the end; or, if `into`, must hold it already.
        to: SlotId,
        /// True if `to` is bound.
        into: bool,
        /// Pattern to look for.
        pattern: Box<SearchPattern>,
        /// The conditions that the pattern names by their place.
        conditions: Vec<Expression>,
        /// Takes the list of edges.
        edges: SlotId,
        /// Takes the list of how many edges each part has.
        counts: SlotId,
        /// Slots with edges or lists of edges of the same pattern, from which all edges must differ.
        distinct_from: Vec<SlotId>,
    },
    /// The rows for which the predicate is true.
    Filter {
        /// Rows to filter.
        input: Box<Operator>,
        /// Must be a boolean or null.
        predicate: Expression,
    },
    /// Exactly these slots, computed from each row.
    Project {
        /// Rows to compute from.
        input: Box<Operator>,
        /// Slot and value.
        items: Vec<(SlotId, Expression)>,
    },
    /// The slots of the input and these, computed from each row, in order; later ones may use earlier ones.
    Extend {
        /// Rows to extend.
        input: Box<Operator>,
        /// Slot and value.
        items: Vec<(SlotId, Expression)>,
    },
    /// One row for each distinct combination of these slots; no other slots.
    Distinct {
        /// Rows to reduce.
        input: Box<Operator>,
        /// Slots that are compared.
        slots: Vec<SlotId>,
    },
    /// Rows that are equal in these slots merged; no other slots.
    PartialAggregate {
        /// Rows to merge.
        input: Box<Operator>,
        /// Slots that are compared: nodes, or null.
        slots: Vec<SlotId>,
        /// Number of rows that each row of the input stands for; `None` if that is one.
        weight: Option<SlotId>,
        /// Takes the number of rows that each row stands for, if anybody asks.
        count: Option<SlotId>,
        /// Rows with one value of this slot come one after the other, and all of them that are equal are merged; `None` to merge
        /// rows as far as that pays.
        whole_for: Option<SlotId>,
    },
    /// One row for each group; exactly the slots of keys and aggregates. Without keys, one row in any case.
    Aggregate {
        /// Rows to group.
        input: Box<Operator>,
        /// Keys whose values make a group.
        keys: Vec<(SlotId, Expression)>,
        /// Aggregates computed for each group.
        aggregates: Vec<Aggregate>,
    },
    /// The rows of its input, which are made of the matches of a pattern: asked of the store, where that answers, and computed by
    /// the input elsewhere.
    PushedPattern {
        /// An aggregation, distinct values, or a projection.
        input: Box<Operator>,
        /// The same as a store is asked for it.
        pattern: Box<PushedPattern>,
    },
    /// All rows in order; equal rows in any order.
    Sort {
        /// Rows to sort.
        input: Box<Operator>,
        /// Most significant first.
        keys: Vec<SortKey>,
    },
    /// The first rows in order: `Sort` and `Limit` in one.
    Top {
        /// Rows to sort.
        input: Box<Operator>,
        /// Most significant first.
        keys: Vec<SortKey>,
        /// Number of rows to give: a non-negative integer, without slots.
        limit: Expression,
    },
    /// All but the first rows.
    Skip {
        /// Rows to pass on.
        input: Box<Operator>,
        /// Number of rows to skip: a non-negative integer, without slots.
        count: Expression,
    },
    /// The first rows. Writes below it still happen for all rows.
    Limit {
        /// Rows to pass on.
        input: Box<Operator>,
        /// Number of rows to give: a non-negative integer, without slots.
        count: Expression,
    },
    /// For each row, one for each element of a list; null is an empty list, another value a list of itself.
    Unwind {
        /// Rows to extend.
        input: Box<Operator>,
        /// The list.
        list: Expression,
        /// Takes the element.
        slot: SlotId,
    },
    /// The rows of all branches, one after the other; exactly the slots of the union.
    Union {
        /// Each branch, and which of its slots become the union's, in order.
        branches: Vec<(Operator, Vec<SlotId>)>,
        /// The slots of the union.
        slots: Vec<SlotId>,
    },
    /// For each row, that row with each row of the subplan.
    Apply {
        /// Outer rows.
        input: Box<Operator>,
        /// Starts from `Argument`.
        subplan: Box<Operator>,
    },
    /// As `Apply`, but a row for which the subplan gives none is passed on with these slots null.
    Optional {
        /// Outer rows.
        input: Box<Operator>,
        /// Starts from `Argument`.
        subplan: Box<Operator>,
        /// The slots that the subplan adds.
        slots: Vec<SlotId>,
    },
    /// The rows for which the subplan gives at least one row (or, if `anti`, none); slots of the input only.
    SemiApply {
        /// Outer rows.
        input: Box<Operator>,
        /// Starts from `Argument`.
        subplan: Box<Operator>,
        /// True to keep rows without a match.
        anti: bool,
    },
    /// Every row of the left with every row of the right, which is run once.
    CrossProduct {
        /// One side.
        left: Box<Operator>,
        /// The other, kept in memory.
        right: Box<Operator>,
    },
    /// Rows of left and right whose keys are equal (null equals nothing). The right side is kept in a hash table.
    HashJoin {
        /// One side.
        left: Box<Operator>,
        /// The other, kept in memory.
        right: Box<Operator>,
        /// Pairs of a left and a right expression.
        on: Vec<(Expression, Expression)>,
    },
    /// For each row, the rows of a procedure.
    Call {
        /// Outer rows.
        input: Box<Operator>,
        /// The procedure's full name.
        procedure: Arc<str>,
        /// As many as its signature has; a left-out one is its default.
        arguments: Vec<Expression>,
        /// Positions of the columns to take, and the slots that take them.
        yields: Vec<(usize, SlotId)>,
        /// Place of the call in the query.
        span: Span,
    },
    /// For each row, creates nodes, then edges between slots. All input rows are read before the first write.
    Create {
        /// Rows to create for.
        input: Box<Operator>,
        /// Nodes to create.
        nodes: Vec<NewNode>,
        /// Edges to create; their ends are bound or among `nodes`.
        edges: Vec<NewEdge>,
    },
    /// For each row in turn, the matches of a pattern; if there is none, creates it. Sees what earlier rows created.
    Merge {
        /// Rows to merge for.
        input: Box<Operator>,
        /// Finds the pattern; starts from `Argument`.
        subplan: Box<Operator>,
        /// The slots that the pattern adds.
        slots: Vec<SlotId>,
        /// Nodes to create.
        nodes: Vec<NewNode>,
        /// Edges to create.
        edges: Vec<NewEdge>,
        /// A path variable over the pattern, computed for found and created rows alike.
        path: Option<(SlotId, Expression)>,
        /// Changes to make on creation.
        on_create: Vec<SetItem>,
        /// Changes to make on each match.
        on_match: Vec<SetItem>,
    },
    /// For each row, sets and removes properties and labels, item by item. All input rows are read first.
    Set {
        /// Rows to work on; passed on.
        input: Box<Operator>,
        /// Changes to make.
        items: Vec<SetItem>,
    },
    /// For each row, deletes nodes, edges and paths. All input rows are read first; a node that would keep edges
    /// that are not deleted as well is an error, unless `detach`.
    Delete {
        /// Rows to work on; passed on.
        input: Box<Operator>,
        /// Expressions whose values are deleted; null is passed over.
        expressions: Vec<Expression>,
        /// True to delete the edges of nodes as well.
        detach: bool,
    },
    /// Adds a constraint or an index. No rows.
    CreateRule {
        /// Rule to add.
        rule: NewRule,
        /// True if an equal rule or a rule of that name is no error.
        if_not_exists: bool,
    },
    /// For each row, the nodes to which an edge leads from each of several bound nodes, with those edges: a row for each
    /// combination of edges. If one of the nodes is null there are none.
    Intersect {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the node.
        to: SlotId,
        /// Labels that the node must carry.
        labels: Vec<Arc<str>>,
        /// The edges that lead to the node, two at least.
        legs: Vec<IntersectLeg>,
    },
    /// Drops a constraint or an index. No rows.
    DropRule {
        /// Kind of the rule: constraint or index.
        kind: RuleKind,
        /// Its name.
        name: Arc<str>,
        /// True if its absence is no error.
        if_exists: bool,
    },
    /// Declares which labels the edges of a type join. No rows.
    DeclareEnds {
        /// The type.
        edge_type: Arc<str>,
        /// The pairs of labels.
        ends: Vec<NewEnds>,
        /// True if the type must not be declared yet.
        is_new: bool,
        /// True if what is there already is no error: the type if it must be new, a pair otherwise.
        if_not_exists: bool,
    },
    /// Declares the sort key of an edge type. No rows.
    CreateSortKey {
        /// The type.
        edge_type: Arc<str>,
        /// The properties.
        keys: Vec<Arc<str>>,
        /// True if an equal sort key that is there is no error.
        if_not_exists: bool,
    },
    /// Takes back the sort key of an edge type. No rows.
    DropSortKey {
        /// The type.
        edge_type: Arc<str>,
        /// True if its absence is no error.
        if_exists: bool,
    },
    /// For each row, in how many ways the trees that hang from its nodes can be matched; rows without any drop out. A
    /// number that no integer holds is an error. Only in plans that read.
    CountMatches {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the number.
        count: SlotId,
        /// The trees, from different slots of the row.
        trees: Vec<CountedNode>,
    },
    /// The rows with these slots of the row around the subplan added: those that an aggregation has dropped.
    Import {
        /// Rows to extend, of a subplan that runs row by row.
        input: Box<Operator>,
        /// Slots of the outer row.
        slots: Vec<SlotId>,
    },
    /// Runs a subplan that writes for each row in turn; it sees what it wrote for rows before. All input rows are read
    /// before the first run, and all rows of the subplan kept before the first is passed on.
    ForEach {
        /// Outer rows.
        input: Box<Operator>,
        /// Starts from `Argument`.
        subplan: Box<Operator>,
        /// The slots that the subplan adds.
        slots: Vec<SlotId>,
        /// Treatment of its rows.
        result: ForEachResult,
        /// Division into transactions, if there is one: `CALL { … } IN TRANSACTIONS`.
        batches: Option<Batches>,
    },
    /// For each row, the nodes that carry all of `labels` and at least one of `any`, each once.
    NodeUnionScan {
        /// Rows to extend.
        input: Box<Operator>,
        /// Takes the node.
        slot: SlotId,
        /// Labels; maybe none.
        labels: Vec<Arc<str>>,
        /// Further labels; two or more.
        any: Vec<Arc<str>>,
    },
}

/// Treatment of the rows that a subplan gives for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForEachResult {
    /// They join the row.
    Joined,
    /// They join the row; if there are none, it is passed on with nulls.
    Optional,
    /// Nothing: each outer row is passed on once.
    Ignored,
    /// Nothing; and the subplan gives the same if it runs for all outer rows at once.
    IgnoredAtOnce,
}

/// Division of the rows of a subquery into transactions, each of which is committed before the next.
#[derive(Clone, Debug)]
pub struct Batches {
    /// Number of rows of a transaction: a positive integer, without slots.
    pub rows: Option<Expression>,
    /// Several may run at a time: how many, if it is said.
    pub concurrent: Option<Option<Expression>>,
    /// Action after one fails.
    pub on_error: OnError,
    /// One that another writer came before is tried again for some time.
    pub retry: Option<Retry>,
    /// Takes what became of the transaction of each row.
    pub status: Option<SlotId>,
}

/// For how long a transaction is tried again.
#[derive(Clone, Debug)]
pub struct Retry {
    /// In seconds, if it is said: a number, without slots.
    pub seconds: Option<Expression>,
}

/// Action after one transaction of several fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The next is tried.
    Continue,
    /// No further one is tried.
    Break,
    /// The query fails.
    Fail,
}

/// One of the edges that lead to the node of an `Intersect`.
#[derive(Clone, Debug)]
pub struct IntersectLeg {
    /// The bound node to start from.
    pub from: SlotId,
    /// Direction of the edges.
    pub direction: Direction,
    /// Edge types; none for any.
    pub types: Vec<Arc<str>>,
    /// Takes the edge, if it is used.
    pub edge: Option<SlotId>,
    /// Bound edges of the same pattern, from which this edge must differ. Their types are among those of this edge.
    pub distinct_from: Vec<BoundEdge>,
    /// Earlier legs, from whose edges this edge must differ. Their types are those of this edge.
    pub distinct_legs: Vec<usize>,
}

/// An edge that is bound, with its ends.
#[derive(Clone, Debug)]
pub struct BoundEdge {
    /// The edge; read only where an edge of a leg is used.
    pub edge: SlotId,
    /// The end on the left of the pattern.
    pub left: SlotId,
    /// The end on the right.
    pub right: SlotId,
    /// Direction in which it runs, seen from the left; `Both` only if all legs that must differ from it go both ways.
    pub direction: Direction,
}

/// Kind of rule that a schema statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// Constraints.
    Constraint,
    /// Indexes.
    Index,
}

/// A constraint or an index to be made, by names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRule {
    /// Its name.
    pub name: Arc<str>,
    /// The label or the edge type.
    pub subject: Arc<str>,
    /// True if the subject is an edge type.
    pub on_edges: bool,
    /// The properties.
    pub keys: Vec<Arc<str>>,
    /// Rule of a constraint; `None` for an index.
    pub rule: Option<Rule>,
}

/// A pair of labels that the edges of a type are to join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEnds {
    /// The name of the constraint that keeps it.
    pub name: Arc<str>,
    /// Label of the nodes where edges start.
    pub from: Arc<str>,
    /// Label of the nodes where they end.
    pub to: Arc<str>,
}

/// Values of one key that an ordered index is to find.
#[derive(Clone, Debug)]
pub enum IndexRange {
    /// Any that is there.
    All,
    /// Those between two values, which count themselves if the flag says so.
    Between {
        /// `>` or `>=`.
        lower: Option<(Expression, bool)>,
        /// `<` or `<=`.
        upper: Option<(Expression, bool)>,
    },
    /// Texts that start so.
    StartsWith(Expression),
}

/// Edges of a node that the operators above will not leave out. Conditions on edges that are not listed here are tested
/// by those operators.
#[derive(Clone, Debug, Default)]
pub struct EdgeChoice {
    /// All of these hold; the sort key of the type finds such edges.
    pub conditions: Vec<EdgeCondition>,
    /// All of these hold too, and are tested edge by edge. With plain constants only.
    pub tests: Vec<EdgeCondition>,
    /// Only the first edges of each node are wanted.
    pub first: Option<EdgeFirst>,
}

/// A comparison of a property of the edge.
#[derive(Clone, Debug)]
pub struct EdgeCondition {
    /// The property.
    pub key: Arc<str>,
    /// `=`, `<`, `<=`, `>` or `>=`, with the property on the left.
    pub operator: BinaryOperator,
    /// A constant or a parameter.
    pub value: Expression,
}

/// The first edges in an order of their properties.
#[derive(Clone, Debug)]
pub struct EdgeFirst {
    /// The properties, most significant first.
    pub keys: Vec<Arc<str>>,
    /// True if the largest come first, by every property.
    pub descending: bool,
    /// Number of edges: a constant or a parameter.
    pub limit: Expression,
    /// Labels that the nodes at the far ends are asked for; where one lacks any, the first edges are not enough.
    pub labels: Vec<Arc<str>>,
}

/// One value to look up, or any of a list.
#[derive(Clone, Debug)]
pub enum LookupValue {
    /// `= value`.
    One(Expression),
    /// `IN list`; a value that comes twice finds its node once.
    Any(Expression),
}

/// A condition on each edge of a path, and on the nodes at its ends.
#[derive(Clone, Debug)]
pub struct EdgeFilter {
    /// Holds each edge in turn.
    pub slot: SlotId,
    /// Holds the node that the edge is walked from, if the condition asks for it.
    pub from: Option<SlotId>,
    /// Holds the node that the edge leads to, if the condition asks for it.
    pub to: Option<SlotId>,
    /// The condition; may use slots of the row.
    pub predicate: Expression,
}

impl EdgeFilter {
    /// The slots that it binds itself.
    pub fn own_slots(&self) -> impl Iterator<Item = SlotId> + use<> {
        [Some(self.slot), self.from, self.to].into_iter().flatten()
    }

    /// The same for walking the other way.
    #[must_use]
    pub fn reverse(self) -> EdgeFilter {
        EdgeFilter { from: self.to, to: self.from, ..self }
    }
}

/// A key to sort by.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Expression to compare.
    pub expression: Expression,
    /// True if the largest comes first (then null comes first too).
    pub descending: bool,
}

/// A node to create.
#[derive(Clone, Debug)]
pub struct NewNode {
    /// Takes the node.
    pub slot: SlotId,
    /// Its labels.
    pub labels: Vec<Arc<str>>,
    /// Its properties: a map, or null for none.
    pub properties: Option<Expression>,
}

/// An edge to create.
#[derive(Clone, Debug)]
pub struct NewEdge {
    /// Takes the edge.
    pub slot: SlotId,
    /// Its type; nothing if it is computed.
    pub edge_type: Arc<str>,
    /// Gives its type, a string, where no name is written.
    pub computed_type: Option<Expression>,
    /// Node where it starts; a null there is an error.
    pub source: SlotId,
    /// Node where it ends; a null there is an error.
    pub target: SlotId,
    /// Its properties: a map, or null for none.
    pub properties: Option<Expression>,
    /// Place in the query.
    pub span: Span,
}

/// One change of `SET`, `REMOVE`, `ON CREATE` or `ON MATCH`. A null object is passed over.
#[derive(Clone, Debug)]
pub enum SetItem {
    /// `object.key = value`; null removes.
    Property {
        /// A node or edge.
        object: Expression,
        /// The key.
        key: Arc<str>,
        /// The value.
        value: Expression,
    },
    /// `object = map`: these properties and no others.
    Replace {
        /// A node or edge.
        object: Expression,
        /// A map, node or edge.
        value: Expression,
    },
    /// `object += map`: these properties besides the others.
    Merge {
        /// A node or edge.
        object: Expression,
        /// A map, node or edge.
        value: Expression,
    },
    /// `node:Label:Other`.
    AddLabels {
        /// The node.
        node: Expression,
        /// The labels.
        labels: Vec<Arc<str>>,
    },
    /// `REMOVE node:Label`.
    RemoveLabels {
        /// The node.
        node: Expression,
        /// The labels.
        labels: Vec<Arc<str>>,
    },
    /// `node:$(labels)`.
    AddComputedLabels {
        /// The node.
        node: Expression,
        /// A string or a list of strings.
        labels: Expression,
    },
    /// `REMOVE node:$(labels)`.
    RemoveComputedLabels {
        /// The node.
        node: Expression,
        /// A string or a list of strings.
        labels: Expression,
    },
}
