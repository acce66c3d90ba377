//! An algorithm, written once: what it is called, what it needs, how it runs. From it are made the procedures that
//! `CALL` knows: stream, stats, write and estimate, each with its names.

mod calls;
mod jobs;

use model::column::Column;
use model::error::Result;
use model::interrupt::Interrupt;
use model::procedure::{RowSink, Workspace, YieldSpec};
use model::store::{Direction, ReadView};
use model::value::Value;

pub(crate) use calls::{Around, GraphProcedure, procedures_of};

pub use crate::graph::Needs;

use crate::graph::{Execution, Graph, Selection, Work};
use crate::held::SearchContext;
use crate::settings::{Settings, Table};

/// Description of an algorithm, known before it runs.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name after `algo.`, as `pagerank`.
    pub name: &'static str,
    /// Other names in whole, without the mode, as `gds.pageRank`: `.stream`, `.stats`, `.write` and `.estimate` follow.
    pub aliases: &'static [&'static str],
    /// One sentence: what it finds.
    pub description: &'static str,
    /// Its own settings, besides those that all share.
    pub settings: Table,
    /// The direction in which edges are followed, and whether the setting `direction` may change it.
    pub direction: Follows,
    /// True if `weightProperty` and `defaultWeight` may be given.
    pub takes_weights: bool,
    /// The columns of its rows: for [`Shape::Nodes`] those behind `node`.
    pub yields: &'static [YieldSpec],
    /// The figures of a run as a whole.
    pub stats: &'static [YieldSpec],
    /// The shape of its rows.
    pub shape: Shape,
}

/// The direction in which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// As `direction` says, and so by default.
    Chosen(Direction),
    /// Always so: the algorithm has no setting `direction`.
    Always(Direction),
}

/// The shape of the rows of a result, which decides what writing means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A value or several for each node: written to the property `writeProperty`, several to `<writeProperty>_<column>`.
    Nodes,
    /// Pairs of nodes with a number: `node1`, `node2` and one column more; written as edges of the type
    /// `writeRelationshipType` with the number in `writeProperty`.
    Pairs,
    /// Something else, which is not written.
    Rows,
}

/// The surroundings of a run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Threads that may be used.
    pub threads: usize,
    /// To be checked and reported to.
    pub interrupt: &'a Interrupt,
    /// Memory and temporary files.
    pub workspace: &'a dyn Workspace,
    /// The way that was chosen.
    pub execution: Execution,
    /// True if state that is accessed only in order is to lie in temporary files, as [`Algorithm::spilled_bytes`]
    /// allows.
    pub spills: bool,
    /// True if values of nodes are asked for. If not, only figures are, and [`Outcome::columns`] may be left empty.
    pub gives_values: bool,
    /// The selection that is read: for the relationships of paths, which rows do not hold.
    pub selection: Selection<'a>,
}

impl<'a> Run<'a> {
    /// The bounds of a search within the run.
    pub(crate) fn context(&self) -> SearchContext<'a> {
        SearchContext { interrupt: self.interrupt, workspace: self.workspace }
    }
}

/// In which order the nodes of a result are streamed.
#[derive(Clone, Debug, Default)]
pub enum RowOrder {
    /// By their numbers.
    #[default]
    ByNumber,
    /// By the values of the first column, ascending, then by their numbers.
    ByValue,
    /// In this order; those not named have no row.
    Given(Vec<u32>),
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The columns of [`About::yields`]. For [`Shape::Nodes`] a row for each node, by number; nodes whose first value is
    /// null have no row in a stream, and lose the property when written.
    pub columns: Vec<Column>,
    /// For [`Shape::Nodes`], in which order the nodes are streamed.
    pub order: RowOrder,
    /// The values of [`About::stats`].
    pub stats: Vec<Value>,
}

/// A computation as another program is asked for it.
#[derive(Clone, Debug, Default)]
pub struct JobPlan {
    /// Its settings, with nodes as their numbers.
    pub settings: Vec<(&'static str, Value)>,
    /// True if the values that it finds are numbers of nodes, to be given as their ids.
    pub names_nodes: bool,
}

/// The plan of the job of a computation on a graph, which has the name of the algorithm. The program finds the same as
/// [`Algorithm::run`] does, within the tolerance that it states.
pub type JobOf<C> = fn(&Graph<'_>, &C) -> Result<JobPlan>;

/// An algorithm.
pub trait Algorithm: Send + Sync + 'static {
    /// Its own settings.
    type Config;
    /// Description of the algorithm.
    const ABOUT: About;
    /// The job of it for another program ([`Execution::Spark`]); `None` if none knows it. Its rows are [`Shape::Nodes`] with
    /// one column, and its program gives them in the order of [`Outcome::order`].
    const JOB: Option<JobOf<Self::Config>> = None;
    /// Reads its own settings; fails on what cannot be.
    fn read(settings: &Settings<'_>, view: &dyn ReadView) -> Result<Self::Config>;
    /// The rows and memory that a run with these settings needs.
    fn needs(config: &Self::Config, is_weighted: bool) -> Needs;
    /// Bytes of state for each node where only figures are asked for, if they can be told without the values of all nodes:
    /// then [`Run::gives_values`] is false.
    fn figures_bytes(_config: &Self::Config, _is_weighted: bool) -> Option<usize> {
        None
    }
    /// Bytes of state for each node that must lie in memory where edges are streamed and the rest of the state, which is
    /// needed in order alone, lies in temporary files; `None` if that cannot be: then [`Run::spills`] is false.
    fn spilled_bytes(_config: &Self::Config, _is_weighted: bool) -> Option<usize> {
        None
    }
    /// The most work that a run does; `None` where it depends on more of the graph than is known, or its time was not measured:
    /// then `estimate` tells none.
    fn work(_config: &Self::Config, _is_weighted: bool) -> Option<Work> {
        None
    }
    /// Runs. Progress is reported in iterations or edges; every loop over edges checks for interruption.
    fn run(graph: &Graph<'_>, config: &Self::Config, run: &Run<'_>) -> Result<Outcome>;
    /// Runs and hands on its rows, unless they are [`Shape::Nodes`]. To be written by algorithms whose rows are too many
    /// to be held together.
    fn send(graph: &Graph<'_>, config: &Self::Config, run: &Run<'_>, sink: &mut RowSink<'_>) -> Result<()> {
        calls::send_columns(&Self::run(graph, config, run)?.columns, sink)
    }
}
