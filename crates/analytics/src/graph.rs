//! The graph that an algorithm works on: rows of neighbors, read in one of several ways.
//!
//! An algorithm is written against [`Rows`] and runs whether they lie in memory or are streamed from the store; where
//! it gains from access at random places it asks [`Graph::view`] first.
//!
//! - [`both`]: rows of both sides at once.
//! - [`choice`]: which way to read, what it needs, and how that is shown.
//! - [`degrees`]: degrees that nodes are expected to have.
//! - [`work`]: time that a run takes.

pub(crate) mod both;
pub(crate) mod choice;
pub(crate) mod degrees;
pub(crate) mod work;

use std::sync::Arc;

use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::Workspace;
use model::store::Direction;

pub use crate::execution::{Execution, Pace};
pub use crate::projection::Selection;
pub use crate::rows::{RowBlock, RowSink, Rows, Side};
pub use choice::{Estimate, Needs};
pub use degrees::Degrees;
pub use work::{Kernel, PassCost, Work};

use crate::graph_view::GraphView;
use crate::numbering::Numbering;
use crate::rows;
use crate::scratch::Place;
use crate::streamed::StreamedRows;

/// A selection, to be read.
pub struct Graph<'a> {
    direction: Direction,
    way: Way<'a>,
}

enum Way<'a> {
    Memory(Arc<GraphView>),
    Streamed(StreamedRows<'a>),
}

impl<'a> Graph<'a> {
    /// Makes a selection ready to be read. [`Execution::Windows`] and [`Execution::Spark`] read as [`Execution::Streaming`]
    /// does: what they do otherwise is to keep the state of nodes elsewhere.
    pub fn open(
        selection: Selection<'a>,
        execution: Execution,
        threads: usize,
        interrupt: &'a Interrupt,
    ) -> Result<Graph<'a>> {
        Graph::open_at(selection, execution, Pace::full(threads), None, interrupt)
    }

    /// The same at a pace. With a workspace, edges of a store that has them in no order of use are copied to temporary files
    /// once; without, the store is asked for them in each pass.
    pub fn open_at(
        selection: Selection<'a>,
        execution: Execution,
        pace: Pace,
        workspace: Option<&'a dyn Workspace>,
        interrupt: &'a Interrupt,
    ) -> Result<Graph<'a>> {
        let Selection { view, projection, weight, sides } = selection;
        match execution {
            Execution::Memory => {
                let built = GraphView::build(view, projection, weight, sides, pace.threads, interrupt)?;
                Ok(Graph::in_memory(Arc::new(built)))
            }
            Execution::Streaming | Execution::Windows | Execution::Spark => {
                let rows = StreamedRows::new(selection, pace, workspace.map(Place::Disk), interrupt)?;
                Ok(Graph { direction: projection.direction, way: Way::Streamed(rows) })
            }
        }
    }

    /// A graph whose rows lie in memory.
    pub fn in_memory(view: Arc<GraphView>) -> Graph<'a> {
        let direction = if view.is_undirected() { Direction::Both } else { Direction::Out };
        Graph { direction, way: Way::Memory(view) }
    }

    /// The rows in memory, if they lie there: for kernels that gain from access at random places.
    pub fn view(&self) -> Option<&GraphView> {
        match &self.way {
            Way::Memory(view) => Some(view),
            Way::Streamed(_) => None,
        }
    }

    /// The rows in memory, for an algorithm that only asks for [`Execution::Memory`].
    pub fn in_memory_only(&self) -> Result<&GraphView> {
        self.view().ok_or_else(|| model::error!(Internal, "an algorithm that runs in memory was given streamed rows"))
    }

    /// The number of the node of a setting; fails if it does not take part.
    pub fn require(&self, node: NodeId, setting: &str) -> Result<u32> {
        self.index(node).ok_or_else(|| {
            let message = format!("node #{} of setting '{setting}' carries none of the labels asked for", node.0);
            model::error!(Argument, "{message}").with_remedy("name a label of the node, or leave 'labels' out")
        })
    }

    /// Entries that fit into the buffers of a side, about; all of them in memory.
    pub(crate) fn buffer_entries(&self) -> u64 {
        match &self.way {
            Way::Memory(_) => u64::MAX,
            Way::Streamed(streamed) => streamed.buffer_entries(),
        }
    }

    /// The rows, in whatever way they are read.
    pub fn rows(&self) -> &dyn Rows {
        match &self.way {
            Way::Memory(view) => &**view,
            Way::Streamed(streamed) => streamed.rows(),
        }
    }

    fn numbering(&self) -> &Numbering {
        match &self.way {
            Way::Memory(view) => view.numbering(),
            Way::Streamed(streamed) => streamed.numbering(),
        }
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.numbering().len()
    }

    /// About how many edges there are (exact in memory); an undirected graph counts an edge at both its ends.
    pub fn edge_count(&self) -> u64 {
        self.rows().edge_count()
    }

    /// The node of that number.
    #[inline]
    pub fn node(&self, index: u32) -> NodeId {
        self.numbering().node(index)
    }

    /// The number of a node, if it takes part.
    pub fn index(&self, node: NodeId) -> Option<u32> {
        self.numbering().index(node)
    }

    /// True if rows have weights.
    pub fn has_weights(&self) -> bool {
        match &self.way {
            Way::Memory(view) => view.has_weights(),
            Way::Streamed(streamed) => streamed.has_weights(),
        }
    }

    /// True if edges are followed both ways, so that forward and backward rows are the same.
    pub fn is_undirected(&self) -> bool {
        self.direction == Direction::Both
    }

    /// For each node, how many edges lead away from it. Without forward rows in memory it takes a pass over the edges.
    pub fn forward_degrees(&self, threads: usize, interrupt: &Interrupt) -> Result<Vec<u32>> {
        match &self.way {
            Way::Memory(view) => {
                Ok((0..view.node_count() as u32).map(|node| view.forward_degree(node) as u32).collect())
            }
            Way::Streamed(_) => rows::degrees(self.rows(), Side::Forward, threads, interrupt),
        }
    }
}
