//! Memory that a run takes from its workspace, and the bounds of a search.

use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::{ProcedureContext, Unaccounted, Workspace};
use model::value::EdgeValue;

/// Memory taken from a workspace, given back when dropped.
pub(crate) struct Held<'a> {
    workspace: &'a dyn Workspace,
    what: &'static str,
    bytes: usize,
}

impl<'a> Held<'a> {
    /// Nothing so far.
    pub(crate) fn nothing(workspace: &'a dyn Workspace, what: &'static str) -> Held<'a> {
        Held { workspace, what, bytes: 0 }
    }

    /// Takes bytes for `what`, or fails with `LIMIT`.
    pub(crate) fn take(workspace: &'a dyn Workspace, what: &'static str, bytes: usize) -> Result<Held<'a>> {
        let mut held = Held::nothing(workspace, what);
        held.grow(bytes)?;
        Ok(held)
    }

    /// Takes more.
    pub(crate) fn grow(&mut self, more: usize) -> Result<()> {
        self.workspace.take(self.what, more)?;
        self.bytes += more;
        Ok(())
    }

    /// Gives some of it back already.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.workspace.give_back(bytes);
        self.bytes -= bytes;
    }

    /// Takes more or gives some back, so that it is this many bytes.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<()> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.bytes - bytes);
                Ok(())
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.workspace.give_back(self.bytes);
    }
}

/// The bounds of a search: what stops it, and from where it takes memory.
#[derive(Clone, Copy)]
pub struct SearchContext<'a> {
    /// To be checked and reported to.
    pub interrupt: &'a Interrupt,
    /// The memory that it may hold.
    pub workspace: &'a dyn Workspace,
}

impl<'a> SearchContext<'a> {
    /// Those of a call.
    pub fn of(context: &ProcedureContext<'a>) -> SearchContext<'a> {
        SearchContext { interrupt: context.interrupt, workspace: context.workspace }
    }

    /// A search that takes as much memory as it needs.
    pub fn unaccounted(interrupt: &'a Interrupt) -> SearchContext<'a> {
        SearchContext { interrupt, workspace: &Unaccounted }
    }

    /// Memory of the path over some nodes, while it is made and handed on.
    pub(crate) fn hold_path(&self, nodes: &[NodeId]) -> Result<Held<'a>> {
        let mut held = self.held();
        held.grow(nodes.len() * (size_of::<NodeId>() + size_of::<EdgeValue>()))?;
        Ok(held)
    }

    /// Memory of the search, nothing so far.
    pub(crate) fn held(&self) -> Held<'a> {
        Held::nothing(self.workspace, "a search for paths")
    }
}
