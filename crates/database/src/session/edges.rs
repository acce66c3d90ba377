//! The edges of the graph in arrays, as a statement of its own: for edge programs that are written in another language.

use analytics::EdgePasses;
use model::{Result, Value};

use super::Session;

impl Session {
    /// Opens the edges that settings name (see [`EdgePasses::open`]) and works on them: of one moment, or within the
    /// transaction that is open, in the memory and the time that a statement may take.
    pub fn with_edges<T>(&mut self, settings: &Value, work: impl FnOnce(&EdgePasses<'_>) -> Result<T>) -> Result<T> {
        let turn = self.turn.clone();
        let _at_work = turn.begin(self.priority, self.database.clock().now_ns(), self.timeout);
        self.interrupt.reset();
        self.interrupt.set_deadline(self.timeout.map(|limit| (self.clock.clone(), limit)));
        self.interrupt.become_long(1);
        let memory = self.query_memory();
        let snapshot = self.snapshot(&*self.database.store())?;
        work(&EdgePasses::open(self.view(snapshot.as_deref())?, settings, &self.interrupt, &memory)?)
    }
}
