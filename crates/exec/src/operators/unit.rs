//! `Unit`: one row without slots, the start of a plan.

use model::Result;

use crate::chunk::{Chunk, Layout};
use crate::lowering::Lowered;
use crate::runtime::{Flow, Physical, Scope, Sink};

struct Unit;

/// Lowers `Unit`.
pub(crate) fn lower() -> Lowered {
    (Box::new(Unit), Layout::default())
}

impl Physical for Unit {
    fn run(&self, _scope: Scope<'_, '_>, sink: &mut Sink<'_>) -> Result<Flow> {
        sink(Chunk::unit())
    }
}
