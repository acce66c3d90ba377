//! The syntax tree: what a Cypher text says, before any name is looked up.
//!
//! Invariant: every node carries the range of bytes it was read from, so that the binder can point at it
//! and can name an unnamed column by the text of its expression.
//! Invariant: a tree is at most [`model::limits::QUERY_DEPTH_MAX`] levels high, so recursion over it is safe;
//! chains of `AND`, `OR`, `XOR` and comparisons are one level however long they are.

use model::{Rule, Span};

pub use administration::Administration;
pub use clause::{PlannerHint, PlannerHintKind};
pub use expression::{
    BinaryOperator, CaseBranch, Comparison, ComparisonOperator, Expression, ExpressionKind, MapEntry,
    MapProjectionItem, Quantifier, SubqueryKind, UnaryOperator,
};
pub use maintenance::Maintenance;
pub use source::{Attach, Detach, Preload};
pub use table::{AlterTable, CreateTable, TableChange, TableColumn};

pub use path::{MatchMode, PathGroup, PathMode, PathSelector, Repetition, SelectorKind};

pub mod administration;
mod clause;
mod expression;
pub(crate) mod level;
mod maintenance;
mod matches;
mod path;
mod print;
mod source;
mod table;
pub(crate) mod table_types;
mod writes;

/// A name as written: variable, label, edge type, property key or function part, without its backticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The name, unescaped.
    pub text: String,
    /// Span of the name, backticks included.
    pub span: Span,
}

/// One statement of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The whole statement, without its semicolon.
    pub span: Span,
    /// Mode of the statement: run, explain or profile.
    pub mode: StatementMode,
    /// Kind and content of the statement.
    pub kind: StatementKind,
}

/// Modes of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementMode {
    /// Run it.
    Run,
    /// Show its plan without running it.
    Explain,
    /// Run it and show its plan with measures.
    Profile,
}

/// Kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Reads or writes data.
    Query(Query),
    /// `CREATE CONSTRAINT …`.
    CreateConstraint(CreateConstraint),
    /// `DROP CONSTRAINT …`.
    DropConstraint(DropRule),
    /// `CREATE INDEX …`.
    CreateIndex(CreateIndex),
    /// `DROP INDEX …`.
    DropIndex(DropRule),
    /// `CREATE SORT KEY …`.
    CreateSortKey(CreateSortKey),
    /// `DROP SORT KEY …`.
    DropSortKey(DropSortKey),
    /// `CREATE NODE TABLE …`, `CREATE REL TABLE …`.
    CreateTable(CreateTable),
    /// `ALTER TABLE … ADD …`.
    AlterTable(AlterTable),
    /// `COPY …`.
    Copy(Copy),
    /// `ATTACH …`.
    Attach(Attach),
    /// `DETACH …`.
    Detach(Detach),
    /// `PRELOAD …`.
    Preload(Preload),
    /// `CREATE DATABASE …`, `GRANT ROLE …` and the like.
    Administration(Administration),
    /// `BEGIN [TRANSACTION]`.
    Begin,
    /// `COMMIT [TRANSACTION]`.
    Commit,
    /// `ROLLBACK [TRANSACTION]`.
    Rollback,
    /// `CHECKPOINT`, `COMPACT`, `BACKUP DATABASE …`.
    Maintenance(Maintenance<Expression>),
}

/// `(variable:label)` or `()-[variable:type]-()`: what a constraint or an index is about.
#[derive(Clone, Debug, PartialEq)]
pub struct RulePattern {
    /// The variable that stands for the node or edge.
    pub variable: Name,
    /// The label or the edge type.
    pub subject: Name,
    /// True if the subject is an edge type.
    pub on_edges: bool,
}

/// `CREATE INDEX [name] [IF NOT EXISTS] FOR pattern ON (variable.property, …)`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Its name, if one is given.
    pub name: Option<Name>,
    /// An equal index that is already there is no error.
    pub if_not_exists: bool,
    /// Pattern of the nodes or edges that the index holds.
    pub pattern: RulePattern,
    /// The properties by which it is ordered; one or more.
    pub properties: Vec<Name>,
}

/// `CREATE CONSTRAINT [name] [IF NOT EXISTS] FOR pattern REQUIRE variable.property IS …`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateConstraint {
    /// Its name, if one is given.
    pub name: Option<Name>,
    /// An equal constraint that is already there is no error.
    pub if_not_exists: bool,
    /// Pattern of the nodes or edges that the constraint holds for.
    pub pattern: RulePattern,
    /// The properties that it names; one or more.
    pub properties: Vec<Name>,
    /// Rule for these properties.
    pub rule: Rule,
}

/// `DROP CONSTRAINT name [IF EXISTS]`, and the same with `INDEX`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropRule {
    /// Its name.
    pub name: Name,
    /// Its absence is no error.
    pub if_exists: bool,
}

/// `COPY … FROM file` or `COPY (query) TO file`, with options.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// From where to where.
    pub way: CopyWay,
    /// Options for reading or writing the file.
    pub options: Vec<CopyOption>,
}

/// From where to where something is copied.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyWay {
    /// Files into nodes of a label or edges of a type.
    From {
        /// The label or the type.
        name: Name,
        /// The files: texts or parameters.
        files: Vec<Expression>,
    },
    /// The rows of a query into nodes of a label or edges of a type.
    FromQuery {
        /// The label or the type.
        name: Name,
        /// The query.
        query: Box<Query>,
    },
    /// The rows of a query into a file.
    To {
        /// The query.
        query: Box<Query>,
        /// The file: a text or a parameter.
        file: Expression,
    },
}

/// `name = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyOption {
    /// The option.
    pub name: Name,
    /// A literal or a parameter.
    pub value: Expression,
}

/// `CREATE SORT KEY [IF NOT EXISTS] FOR ()-[variable:TYPE]-() ON (variable.property, …)`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSortKey {
    /// An equal sort key that is already there is no error.
    pub if_not_exists: bool,
    /// The variable that stands for the relationship.
    pub variable: Name,
    /// The relationship type.
    pub edge_type: Name,
    /// The properties, compared one after the other.
    pub properties: Vec<Name>,
}

/// `DROP SORT KEY [IF EXISTS] FOR ()-[:TYPE]-()`.
#[derive(Clone, Debug, PartialEq)]
pub struct DropSortKey {
    /// The relationship type.
    pub edge_type: Name,
    /// A missing sort key is no error.
    pub if_exists: bool,
}

/// Single queries joined by `UNION`.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The whole query.
    pub span: Span,
    /// The first single query.
    pub first: SingleQuery,
    /// The unions that follow it, in order.
    pub unions: Vec<Union>,
}

/// `UNION [ALL]` and the single query after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Union {
    /// The word `UNION`, with `ALL`.
    pub span: Span,
    /// Equal rows are kept.
    pub all: bool,
    /// The query after it.
    pub query: SingleQuery,
}

/// Clauses in the order they act.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleQuery {
    /// From the first clause to the last.
    pub span: Span,
    /// One or more clauses.
    pub clauses: Vec<Clause>,
}

/// One clause of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The whole clause.
    pub span: Span,
    /// Kind and content of the clause.
    pub kind: ClauseKind,
}

/// Kinds of clauses.
#[derive(Clone, Debug, PartialEq)]
pub enum ClauseKind {
    /// `[OPTIONAL] MATCH pattern [WHERE predicate]`.
    Match(MatchClause),
    /// `UNWIND list AS variable`.
    Unwind(UnwindClause),
    /// `WITH …`.
    With(Projection),
    /// `RETURN …`.
    Return(Projection),
    /// `CREATE pattern, …`.
    Create(Vec<PathPattern>),
    /// `MERGE pattern [ON CREATE SET …] [ON MATCH SET …]`.
    Merge(Box<MergeClause>),
    /// `SET item, …`.
    Set(Vec<SetItem>),
    /// `REMOVE item, …`.
    Remove(Vec<RemoveItem>),
    /// `[DETACH] DELETE expression, …`.
    Delete(DeleteClause),
    /// `FOREACH (variable IN list | clause …)`.
    Foreach(ForeachClause),
    /// `CALL procedure …`.
    Call(CallClause),
    /// `CALL { … }`.
    Subquery(SubqueryClause),
    /// `LET name = expression, …`.
    Let(Vec<LetItem>),
    /// `FILTER [WHERE] predicate`.
    Filter(Expression),
    /// `FINISH`: the query gives no rows.
    Finish,
}

/// `name = expression`.
#[derive(Clone, Debug, PartialEq)]
pub struct LetItem {
    /// The new variable.
    pub variable: Name,
    /// Its value.
    pub value: Expression,
}

/// `[OPTIONAL] MATCH [mode] pattern [USING …] [WHERE predicate]`.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchClause {
    /// Rows without a match are kept, with nulls.
    pub optional: bool,
    /// Match mode, which says if an edge may be matched twice; without one, it may not.
    pub mode: Option<MatchMode>,
    /// The comma-separated parts of the pattern.
    pub patterns: Vec<PathPattern>,
    /// Hints to the planner on how to find its nodes.
    pub hints: Vec<PlannerHint>,
    /// The `WHERE` that belongs to it.
    pub predicate: Option<Expression>,
}

/// `UNWIND list AS variable`.
#[derive(Clone, Debug, PartialEq)]
pub struct UnwindClause {
    /// The list.
    pub list: Expression,
    /// The name of its elements.
    pub variable: Name,
}

/// The part that `WITH` and `RETURN` share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// Equal rows are kept once.
    pub distinct: bool,
    /// The place of `*`, if it is there: all variables in scope come first.
    pub star: Option<Span>,
    /// The columns, after those of `*`.
    pub items: Vec<ProjectionItem>,
    /// `ORDER BY`, most significant first; empty if absent.
    pub order: Vec<SortItem>,
    /// `SKIP`.
    pub skip: Option<Expression>,
    /// `LIMIT`.
    pub limit: Option<Expression>,
    /// `WHERE`, only after `WITH`.
    pub predicate: Option<Expression>,
}

/// `expression [AS alias]`; without an alias the column is named by the text at the expression's span.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionItem {
    /// Expression and alias.
    pub span: Span,
    /// The value of the column.
    pub expression: Expression,
    /// The name after `AS`.
    pub alias: Option<Name>,
}

/// `expression [ASC | DESC]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SortItem {
    /// Expression and direction.
    pub span: Span,
    /// Expression to sort by.
    pub expression: Expression,
    /// Greatest first.
    pub descending: bool,
}

/// `MERGE pattern [ON CREATE SET …] [ON MATCH SET …]`.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeClause {
    /// Pattern to find or create.
    pub pattern: PathPattern,
    /// The items of all `ON CREATE SET`.
    pub on_create: Vec<SetItem>,
    /// The items of all `ON MATCH SET`.
    pub on_match: Vec<SetItem>,
}

/// One assignment of `SET`.
#[derive(Clone, Debug, PartialEq)]
pub struct SetItem {
    /// The whole assignment.
    pub span: Span,
    /// Kind and operands of the assignment.
    pub kind: SetItemKind,
}

/// Kinds of assignments of `SET`.
#[derive(Clone, Debug, PartialEq)]
pub enum SetItemKind {
    /// `target.key = value`.
    Property {
        /// The node or edge.
        target: Expression,
        /// The property.
        key: Name,
        /// Its new value.
        value: Expression,
    },
    /// `variable = value`: all properties are replaced.
    Replace {
        /// The node or edge.
        variable: Name,
        /// A map, node or edge.
        value: Expression,
    },
    /// `variable += value`: the properties named are changed.
    Merge {
        /// The node or edge.
        variable: Name,
        /// A map, node or edge.
        value: Expression,
    },
    /// `variable:A:B`.
    Labels {
        /// The node.
        variable: Name,
        /// The labels it gets; one or more.
        labels: Vec<Name>,
    },
    /// `variable:$(labels)`.
    ComputedLabels {
        /// The node.
        variable: Name,
        /// A string or a list of strings.
        labels: Expression,
    },
    /// `target[key] = value`.
    ComputedProperty {
        /// The node or edge.
        target: Expression,
        /// The name of the property.
        key: Expression,
        /// Its new value.
        value: Expression,
    },
}

/// One item of `REMOVE`.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoveItem {
    /// The whole item.
    pub span: Span,
    /// Kind and operands of the removal.
    pub kind: RemoveItemKind,
}

/// Kinds of items of `REMOVE`.
#[derive(Clone, Debug, PartialEq)]
pub enum RemoveItemKind {
    /// `target.key`.
    Property {
        /// The node or edge.
        target: Expression,
        /// The property.
        key: Name,
    },
    /// `variable:A:B`.
    Labels {
        /// The node.
        variable: Name,
        /// The labels it loses; one or more.
        labels: Vec<Name>,
    },
    /// `variable:$(labels)`.
    ComputedLabels {
        /// The node.
        variable: Name,
        /// A string or a list of strings.
        labels: Expression,
    },
    /// `target[key]`.
    ComputedProperty {
        /// The node or edge.
        target: Expression,
        /// The name of the property.
        key: Expression,
    },
}

/// `[DETACH] DELETE expression, …`.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteClause {
    /// The edges of a deleted node go with it.
    pub detach: bool,
    /// Nodes, edges and paths.
    pub expressions: Vec<Expression>,
}

/// `FOREACH (variable IN list | clause …)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeachClause {
    /// The name of the list's elements.
    pub variable: Name,
    /// The list.
    pub list: Expression,
    /// Updating clauses; one or more.
    pub body: Vec<Clause>,
}

/// `[OPTIONAL] CALL procedure [(argument, …)] [YIELD …]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CallClause {
    /// Rows for which the procedure gives none are kept, with nulls.
    pub optional: bool,
    /// The parts of the procedure's name, between its dots.
    pub procedure: Vec<Name>,
    /// The arguments, or none where the parentheses are left out and arguments are parameters of the same names.
    pub arguments: Option<Vec<Expression>>,
    /// Columns taken from the procedure's result.
    pub results: Yield,
}

/// Columns that a call takes from its procedure's result.
#[derive(Clone, Debug, PartialEq)]
pub enum Yield {
    /// There is no `YIELD`.
    Absent,
    /// `YIELD *`.
    All,
    /// `YIELD column [AS name], … [WHERE predicate]`.
    Items {
        /// The columns.
        items: Vec<YieldItem>,
        /// The `WHERE` after them.
        predicate: Option<Expression>,
    },
}

/// `column [AS alias]`.
#[derive(Clone, Debug, PartialEq)]
pub struct YieldItem {
    /// Column and alias.
    pub span: Span,
    /// The procedure's name of it.
    pub column: Name,
    /// The query's name of it, if another.
    pub alias: Option<Name>,
}

/// `[OPTIONAL] CALL [(a, b)] { … } [IN TRANSACTIONS …]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SubqueryClause {
    /// Rows for which it gives none are kept, with nulls.
    pub optional: bool,
    /// Variables that it sees.
    pub imports: Imports,
    /// Query to run for each row.
    pub query: Query,
    /// Division into transactions, if there is one.
    pub batches: Option<Box<Batches>>,
}

/// Variables of the query around it that a subquery sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Imports {
    /// Those that the `WITH` at its start names.
    Leading,
    /// `(*)`: all.
    All(Span),
    /// `(a, b)`: these.
    Listed(Vec<Name>),
}

/// `IN [n CONCURRENT] TRANSACTIONS [OF n ROWS] [ON ERROR …] [REPORT STATUS AS name]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Batches {
    /// From `IN` on.
    pub span: Span,
    /// `CONCURRENT` stands there, maybe with a number.
    pub concurrent: Option<Option<Expression>>,
    /// Number of rows of a transaction, if it is given.
    pub rows: Option<Expression>,
    /// Action after one fails, if it is given.
    pub on_error: Option<OnError>,
    /// One that another writer came before is tried again for some time, if it is said.
    pub retry: Option<Retry>,
    /// Takes what became of the transaction of each row.
    pub status: Option<Name>,
}

/// `RETRY [FOR n SECONDS]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// For how many seconds, if it is said.
    pub seconds: Option<Expression>,
}

/// Action after a transaction of `CALL { … } IN TRANSACTIONS` has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError {
    /// The next is tried.
    Continue,
    /// No further one is tried.
    Break,
    /// The query fails.
    Fail,
}

/// `[variable =] [selector] [mode] [shortestPath(] (a)-[r]->(b)… [)]`.
#[derive(Clone, Debug, PartialEq)]
pub struct PathPattern {
    /// The whole part.
    pub span: Span,
    /// The name of the path.
    pub variable: Option<Name>,
    /// The function around it.
    pub shortest: Option<Shortest>,
    /// Selector of the paths between two nodes that are wanted; all without one.
    pub selector: Option<PathSelector>,
    /// Path mode, which says what may repeat within a path.
    pub mode: Option<PathMode>,
    /// The first node.
    pub start: NodePattern,
    /// The edges and nodes after it.
    pub steps: Vec<PatternStep>,
    /// The `WHERE` within parentheses around the whole path: it holds of each path before any is selected.
    pub predicate: Option<Expression>,
}

/// The shortest paths that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortest {
    /// `shortestPath(…)`: one.
    One,
    /// `allShortestPaths(…)`: all of that length.
    All,
}

/// An edge, or what stands in its place, and the node after it.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternStep {
    /// The edge.
    pub edge: EdgePattern,
    /// The node at its far end.
    pub node: NodePattern,
}

/// `(variable :labels {properties} WHERE predicate)`.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePattern {
    /// With its parentheses.
    pub span: Span,
    /// Its name.
    pub variable: Option<Name>,
    /// `:A:B` and `:A&B` are both an `And`.
    pub labels: Option<LabelExpression>,
    /// A map literal or a parameter.
    pub properties: Option<Expression>,
    /// The inline `WHERE`.
    pub predicate: Option<Expression>,
}

/// `-[variable :types *length {properties} WHERE predicate]->repetition`, or a repeated path in parentheses.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgePattern {
    /// With its dashes and arrow heads.
    pub span: Span,
    /// Direction in which it points.
    pub arrow: Arrow,
    /// Its name.
    pub variable: Option<Name>,
    /// `:A|B` and `:A|:B` are both an `Or`.
    pub types: Option<LabelExpression>,
    /// `*…`, if it stands for a path of edges.
    pub length: Option<VariableLength>,
    /// `+`, `*` or `{…}` behind it.
    pub repetition: Option<Repetition>,
    /// The path in parentheses that stands in its place; then it asks for nothing else but the repetition.
    pub group: Option<Box<PathGroup>>,
    /// A map literal or a parameter.
    pub properties: Option<Expression>,
    /// The inline `WHERE`.
    pub predicate: Option<Expression>,
}

/// Direction in which an edge pattern points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrow {
    /// `-[]->`.
    Right,
    /// `<-[]-`.
    Left,
    /// `-[]-` and `<-[]->`: either way.
    Both,
}

/// `*`, `*2`, `*1..3`, `*..4`, `*2..`; an exact number is both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableLength {
    /// From the asterisk to the last bound.
    pub span: Span,
    /// The least number of edges, if given.
    pub min: Option<u64>,
    /// The greatest number of edges, if given.
    pub max: Option<u64>,
}

/// Condition on the labels of a node, or on the type of an edge.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelExpression {
    /// Without the leading colon.
    pub span: Span,
    /// Kind and operands of the condition.
    pub kind: LabelExpressionKind,
}

/// Kinds of label expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelExpressionKind {
    /// A label or type.
    Name(Name),
    /// `%`: any at all.
    Any,
    /// `!x`.
    Not(Box<LabelExpression>),
    /// `x&y` or `x:y`; two or more.
    And(Vec<LabelExpression>),
    /// `x|y` or `x|:y`; two or more.
    Or(Vec<LabelExpression>),
    /// `$(names)`: all of the labels that the value names, or with `$any(names)` at least one.
    Computed {
        /// A string or a list of strings.
        names: Box<Expression>,
        /// One is enough.
        any: bool,
    },
}

impl LabelExpression {
    /// The names of a plain conjunction (`:A`, `:A:B`), or `None` if anything else is asked.
    pub fn conjunction(&self) -> Option<Vec<&Name>> {
        match &self.kind {
            LabelExpressionKind::Name(name) => Some(vec![name]),
            LabelExpressionKind::And(parts) => parts.iter().map(LabelExpression::name).collect(),
            _ => None,
        }
    }

    /// The names of a plain alternative (`:A`, `:A|B`), or `None` if anything else is asked.
    pub fn alternatives(&self) -> Option<Vec<&Name>> {
        match &self.kind {
            LabelExpressionKind::Name(name) => Some(vec![name]),
            LabelExpressionKind::Or(parts) => parts.iter().map(LabelExpression::name).collect(),
            _ => None,
        }
    }

    /// The name, if nothing but one name is asked.
    pub fn name(&self) -> Option<&Name> {
        match &self.kind {
            LabelExpressionKind::Name(name) => Some(name),
            _ => None,
        }
    }
}
