//! The interface that a database must implement to be a source: it answers questions about nodes and edges, many in one
//! round trip.
//!
//! Between this and the waist stands [`crate::store`], with its cache and prefetchers. A connector knows the definition
//! and the language of its database, nothing of ids, labels or caches: it is asked by the numbers of kinds and of their
//! properties, and answers with keys.

use std::sync::Arc;

use model::{Column, Course, Direction, KeyOrder, MemoryBudget, PatternQuery, Result, error};

use crate::catalog::{Catalog, Inspect};
use crate::check::Finding;
use crate::definition::GraphDefinition;
use crate::sql_client::SqlClient;

pub use model::condition::Test;

/// The abilities of a connector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// All that one [`Reading`] answers is of one moment.
    pub snapshots: bool,
    /// [`Connector::write`] works.
    pub writes: bool,
    /// [`Which::Boxes`] is answered, by an index where there is one.
    pub boxes: bool,
    /// [`Which::Within`] is answered in one round trip.
    pub lookahead: bool,
    /// Largest number of entries in `along` of [`Which::Within`]; any number with `None`.
    pub lookahead_lists_max: Option<usize>,
    /// [`Which::OnCourse`] is answered in one round trip.
    pub courses: bool,
    /// [`Reading::send`] works.
    pub sends: bool,
    /// [`Which::Where`] is answered by the database; elsewhere it need not be asked.
    pub conditions: bool,
    /// [`Question::Pattern`] is answered where [`Connector::statement`] has a statement for it; elsewhere never.
    pub patterns: bool,
}

/// A database that graphs are read from. Shared by all queries; it connects when it is first asked.
pub trait Connector: Send + Sync {
    /// The abilities of the connector.
    fn abilities(&self) -> Abilities;
    /// The sizes and indexes that are known, cheaply; kept by the caller.
    fn facts(&self) -> Result<Facts>;
    /// Begins to read. Need not connect before the first question.
    fn read(&self) -> Result<Box<dyn Reading>>;
    /// Begins a transaction of the source; fails with `READ_ONLY` where there is none.
    fn write(&self) -> Result<Box<dyn Writing>>;
    /// As [`Connector::write`], but until the first change it only reads, and keeps nobody from writing. A change fails with
    /// `CONFLICT` if somebody else has written what it would change, or holds it.
    fn write_later(&self) -> Result<Box<dyn Writing>> {
        self.write()
    }
    /// The statement that a question becomes; parameters stand in it by number.
    fn statement(&self, question: &Question<'_>) -> Option<String>;
    /// True if the source finds the nodes of a kind for which a condition holds without giving out many others. Elsewhere it
    /// answers too, but reads all nodes before it gives the first.
    fn finds(&self, _kind: usize, _condition: &Condition) -> bool {
        self.abilities().conditions
    }
    /// True if the source puts the nodes of a kind in the order of these properties as `ORDER BY` does.
    fn sorts(&self, _kind: usize, _properties: &[usize]) -> bool {
        self.abilities().conditions
    }
    /// The source as messages name it: a URL without a password, or a path.
    fn name(&self) -> &str;
    /// Says where the connector's own memory is counted, once, before it is asked anything.
    fn charge_to(&self, _memory: &Arc<MemoryBudget>) {}
    /// The catalog of the source's own tables and keys, from which a definition can be written.
    fn catalog(&self) -> Result<Catalog> {
        Err(error!(Definition, "{}: there is no catalog of tables and keys to infer a definition from", self.name())
            .with_remedy("write the definition by hand, as docs/sources.md shows"))
    }
    /// Compares the definition with the source.
    fn check(&self) -> Result<Vec<Finding>> {
        Err(error!(Unsupported, "{}: this source cannot be compared with its definition", self.name()))
    }
}

/// Opens a database to look at its tables.
pub(crate) type OpenCatalog = fn(&str) -> Result<Box<dyn Inspect>>;

/// Opens a database to ask it in its SQL.
pub(crate) type OpenClient = fn(&str) -> Result<Box<dyn SqlClient>>;

/// The code of a driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Code {
    /// Opens a source of a URL, with what of it is which part of the graph. Nothing need be connected yet.
    pub(crate) open: fn(&str, &GraphDefinition) -> Result<Arc<dyn Connector>>,
    /// Opens a database to look at its tables, where it has some.
    pub(crate) inspect: Option<OpenCatalog>,
    /// Opens a database to ask it in its SQL, where it has one. Nothing need be connected yet.
    pub(crate) client: Option<OpenClient>,
}

/// The facts known of a source.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// For each kind of nodes.
    pub nodes: Vec<KindFacts>,
    /// For each kind of edges.
    pub edges: Vec<KindFacts>,
}

/// The facts known of a kind.
#[derive(Clone, Debug, Default)]
pub struct KindFacts {
    /// Approximate number of rows.
    pub rows: u64,
    /// The properties (by number) whose values an index finds; several together where one index has several.
    pub indexed: Vec<Vec<usize>>,
    /// The properties (by number) whose values are unique, the key included.
    pub unique: Vec<usize>,
    /// For nodes: whether the key is kept as another value than the property of its column shows, so that nodes with a value
    /// of that property are found by a condition.
    pub hides_key: bool,
    /// For properties (by number) that are numbers: the width of the span in which the middle half of the values lies, where
    /// the source knows.
    pub spans: Vec<(usize, f64)>,
    /// For edges: whether an index finds those that start, and those that end, at a node.
    pub by_end: (bool, bool),
    /// For edges: whether the source sees to it that the nodes where they start, and where they end, are there: by a
    /// foreign key, or because its statements join their tables. Elsewhere an edge is given out only once its far node
    /// was found.
    pub ends_exist: (bool, bool),
}

/// Answers questions: a connection, with its snapshot where the source has them.
pub trait Reading: Send {
    /// Asks all questions in one round trip, and gives the rows of each with its number, in any order and batches, as
    /// [`Question`] says; questions whose rows are no longer wanted (false) may be cut short.
    fn ask(&mut self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()>;
    /// Sends questions whose answers are taken by [`Reading::receive`], before anything else is asked: meanwhile the source
    /// works. False where that cannot be.
    fn send(&mut self, _questions: &[Question<'_>]) -> Result<bool> {
        Ok(false)
    }
    /// Gives the answers to what was sent, as [`Reading::ask`] does.
    fn receive(&mut self, _sink: &mut RowsSink<'_>) -> Result<()> {
        Ok(())
    }
    /// As [`Reading::ask`] of some questions and [`Reading::send`] of others, all in one round trip where that can be;
    /// whether the others were sent.
    fn ask_and_send(
        &mut self,
        questions: &[Question<'_>],
        sink: &mut RowsSink<'_>,
        others: &[Question<'_>],
    ) -> Result<bool> {
        self.ask(questions, sink)?;
        self.send(others)
    }
    /// Begins to read the rows of a question piece by piece; several may be open. They are closed with the reading.
    fn start(&mut self, question: &Question<'_>) -> Result<StreamId>;
    /// About `rows` further rows of a question; `None` at the end.
    fn more(&mut self, stream: StreamId, rows: usize) -> Result<Option<Vec<Column>>>;
    /// Closes a question whose rows are no longer wanted.
    fn stop(&mut self, stream: StreamId);
}

/// Takes rows with the number of the question they answer: one column for each that the question asks.
pub type RowsSink<'a> = dyn FnMut(usize, Vec<Column>) -> Result<bool> + 'a;

/// A question that is read piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub u64);

/// A question to a source.
///
/// Keys of one column are values of that column; of several columns, lists of their values.
#[derive(Clone, Debug)]
pub enum Question<'a> {
    /// Nodes of a kind. Columns of the answer: the key, then the properties.
    Nodes {
        /// The kind's number.
        kind: usize,
        /// The keys or the condition that selects them.
        which: Which<'a>,
        /// Properties by number.
        properties: &'a [usize],
        /// The order of the rows: by these properties, as `ORDER BY`, each in its direction; none for any order.
        order: &'a [(usize, KeyOrder)],
        /// Largest number of nodes.
        limit: Option<u64>,
    },
    /// Edges of a kind at nodes of its near end: the source for `Out`, the target for `In` (never `Both`). Columns of the
    /// answer: the key of the near node, that of the far node, the edge's key (null where the kind has none), then the
    /// properties. A foreign end's key is the value of the property that it is found by.
    Edges {
        /// The kind's number.
        kind: usize,
        /// The way from the near to the far end.
        direction: Direction,
        /// The nodes at the near end; [`Which::Where`] here is about the edges' own properties.
        of: Which<'a>,
        /// Properties by number.
        properties: &'a [usize],
    },
    /// The number of nodes of a kind: one row, one integer.
    CountNodes {
        /// The kind's number.
        kind: usize,
        /// The keys or the condition that selects them.
        which: Which<'a>,
    },
    /// The number of edges of a kind: one row, one integer.
    CountEdges {
        /// The kind's number.
        kind: usize,
    },
    /// Matches of a pattern, or groups of them: the columns that it names, keys of nodes as in [`Question::Nodes`]. Asked only
    /// where [`Connector::statement`] has a statement for it. Fails with `UNSUPPORTED`, before the first rows, if values
    /// are found with which the source does not compute as Cypher does.
    Pattern(&'a KindPattern),
}

/// A pattern query whose nodes and edges are of one kind each, by the numbers of kinds and properties.
pub type KindPattern = PatternQuery<usize, usize, usize>;

/// The nodes that a question is about.
#[derive(Clone, Debug)]
pub enum Which<'a> {
    /// All.
    All,
    /// Those of these keys. Keys that there are no nodes of are passed over; none is null, each stands once.
    Keys(&'a Column),
    /// Those that meet all conditions.
    Where(&'a [Condition]),
    /// Those that lie in one of the boxes.
    Boxes {
        /// The properties (by number, of the kind at the near end) that are the dimensions.
        properties: &'a [usize],
        /// For each box the least and the largest value (both within) of each dimension.
        boxes: &'a [Vec<(f64, f64)>],
    },
    /// Those that can be reached over at most `depth` edges, the starts included.
    Within {
        /// Kinds of nodes with keys of each, from which to start.
        starts: &'a [(usize, Column)],
        /// The edges that may be followed: kinds and ways.
        along: &'a [(usize, Direction)],
        /// Edges at most.
        depth: u32,
        /// Approximate largest number of nodes.
        limit: u64,
    },
    /// Those that a search comes to: of edges, those of the nodes that it follows; of nodes, those that are met on the way,
    /// except those from which it starts.
    OnCourse(&'a OnCourse<'a>),
}

/// Nodes of a kind that a search will come to, from those that it has come to.
#[derive(Clone, Copy, Debug)]
pub struct OnCourse<'a> {
    /// The kind of nodes, which edges lead from and to.
    pub kind: usize,
    /// The edges that are followed: their kind, and which way.
    pub along: (usize, Direction),
    /// The course of the search.
    pub course: &'a Course,
    /// The properties of the nodes that are latitude and longitude.
    pub properties: [usize; 2],
    /// Keys of nodes whose edges are not known.
    pub starts: &'a Column,
    /// For each start, its place in the order of the course; those at 0 are followed before all others.
    pub orders: &'a [f64],
    /// Keys of nodes beside these whose edges are known: there it need not go.
    pub known: &'a Column,
    /// Nodes whose edges are followed, at most.
    pub limit: u64,
}

/// A condition on properties, by number.
pub type Condition = model::Condition<usize>;

/// Reads and writes in one transaction of the source.
pub trait Writing: Reading {
    /// Makes a change; what follows reads it. Fails with `READ_ONLY` if that cannot be changed in this source, naming the
    /// table and the reason.
    fn change(&mut self, change: &Change<'_>) -> Result<Column>;
    /// Marks this point, so that [`Writing::undo_to`] can come back to it; false where the source has no such marks. Numbers
    /// grow; a mark ends with those after it when the transaction comes back to one before it.
    fn mark(&mut self, _number: u64) -> Result<bool> {
        Ok(false)
    }
    /// Undoes everything since a mark, which stays.
    fn undo_to(&mut self, _number: u64) -> Result<()> {
        Err(model::error!(Unsupported, "the source cannot undo a part of a transaction"))
    }
    /// Makes everything durable and visible.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// A change. Rows are addressed by keys as in [`Question`].
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// New nodes of a kind; the answer is their keys, which the source may choose.
    InsertNodes {
        /// The kind's number.
        kind: usize,
        /// Number of new nodes.
        count: usize,
        /// Properties by number, with a column for each.
        properties: &'a [(usize, &'a Column)],
    },
    /// New edges of a kind; for a foreign key, its column of the row that has it (which must be null so far). The answer is
    /// their keys, null where the kind has none.
    InsertEdges {
        /// The kind's number.
        kind: usize,
        /// Keys of the nodes where they start.
        sources: &'a Column,
        /// Keys of the nodes where they end.
        targets: &'a Column,
        /// Properties by number, with a column for each.
        properties: &'a [(usize, &'a Column)],
    },
    /// A property of nodes; null removes it. The answer is empty.
    UpdateNodes {
        /// The kind's number.
        kind: usize,
        /// The nodes, a row for each.
        keys: &'a Column,
        /// The property, by number.
        property: usize,
        /// The values, a row for each.
        values: &'a Column,
    },
    /// A property of edges, which need a key; null removes it. The answer is empty.
    UpdateEdges {
        /// The kind's number.
        kind: usize,
        /// The edges: their ends and keys, a row for each.
        edges: EdgeKeys<'a>,
        /// The property, by number.
        property: usize,
        /// The values, a row for each.
        values: &'a Column,
    },
    /// Deletes nodes. The answer is empty.
    DeleteNodes {
        /// The kind's number.
        kind: usize,
        /// Their keys.
        keys: &'a Column,
    },
    /// Deletes edges; for a foreign key, sets its column null. The answer is empty.
    DeleteEdges {
        /// The kind's number.
        kind: usize,
        /// Their keys.
        edges: EdgeKeys<'a>,
    },
}

/// Edges by what names them.
#[derive(Clone, Copy, Debug)]
pub struct EdgeKeys<'a> {
    /// Keys of the nodes where they start.
    pub sources: &'a Column,
    /// Keys of the nodes where they end.
    pub targets: &'a Column,
    /// Their own keys; null where the kind has none.
    pub keys: &'a Column,
}
