//! Programs over a graph that its users write: what happens at an edge and at a node, and nothing about where they lie.
//!
//! - [`vertex`]: a node gathers what lies on its edges, is updated, and scatters new values onto its edges.
//! - [`edge`]: the three functions of edge streaming, with nothing on edges; reads least.
//! - [`plain`]: values of a fixed size, as states and what lies on edges must be.
//! - `windows`: how vertex programs run, with states and values in files.
//! - `shards`: the edges of a graph in files, to be read in windows.

pub mod edge;
pub(crate) mod shards;
pub mod vertex;
pub(crate) mod windows;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use model::error::Result;
use model::interrupt::Interrupt;
use model::procedure::{Unaccounted, Workspace};

use crate::algorithm::Run;
use crate::graph::Execution;
use crate::scratch::Place;

pub use crate::scratch::plain::{self, Plain};
pub use edge::{EdgeProgram, edge_program_sides, run_edge_program};
pub use vertex::{VertexProgram, run_vertex_program};
pub use windows::States;

/// The surroundings of the run of a program.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Threads that may be used.
    pub threads: usize,
    /// To be checked and reported to.
    pub interrupt: &'a Interrupt,
    /// Memory and temporary files.
    pub workspace: &'a dyn Workspace,
    /// The place of states and values: on disk with [`Execution::Windows`], in memory otherwise.
    pub execution: Execution,
}

impl<'a> Context<'a> {
    /// A run in memory that nobody accounts for.
    pub fn in_memory(threads: usize, interrupt: &'a Interrupt) -> Context<'a> {
        Context { threads, interrupt, workspace: &Unaccounted, execution: Execution::Memory }
    }

    pub(crate) fn of(run: &Run<'a>) -> Context<'a> {
        Context { threads: run.threads, interrupt: run.interrupt, workspace: run.workspace, execution: run.execution }
    }

    /// True if data that does not fit goes to temporary files.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.execution == Execution::Windows
    }

    pub(crate) fn place(&self) -> Place<'a> {
        match self.execution {
            Execution::Windows => Place::Disk(self.workspace),
            Execution::Memory | Execution::Streaming | Execution::Spark => Place::Memory(self.workspace),
        }
    }
}

/// A node, as programs see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number in the graph.
    pub number: u32,
    /// Over how many edges it sends: those that lead away from it, and those that lead to it too if the program goes both
    /// ways.
    pub degree: u32,
}

/// An edge, seen from the node that sends something over it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The other end.
    pub neighbor: u32,
    /// The weight of the edge; 1 without weights.
    pub weight: f64,
    /// True if it leads from the neighbor to the node that sends.
    pub is_reversed: bool,
}

/// Runs code of a user: a panic in it becomes an error, after everything that the run held is given back.
fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let message = panic_message(&*panic);
        Err(model::error!(Internal, "the program over the graph panicked: {message}").with_remedy("mend the program"))
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
