//! A database that is attached for reading only.

use std::sync::Arc;

use model::{MemoryBudget, Result};
use sources::catalog::Catalog;
use sources::check::Finding;
use sources::connector::{Abilities, Connector, Facts, Question, Reading, Writing};

/// A connector that refuses to write.
pub(super) struct ReadOnly(pub(super) Arc<dyn Connector>);

impl Connector for ReadOnly {
    fn abilities(&self) -> Abilities {
        Abilities { writes: false, ..self.0.abilities() }
    }

    fn facts(&self) -> Result<Facts> {
        self.0.facts()
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        self.0.read()
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        Err(model::error!(ReadOnly, "{} is attached for reading only", self.0.name())
            .with_remedy("attach it without READ_ONLY"))
    }

    fn statement(&self, question: &Question<'_>) -> Option<String> {
        self.0.statement(question)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn charge_to(&self, memory: &Arc<MemoryBudget>) {
        self.0.charge_to(memory);
    }

    fn catalog(&self) -> Result<Catalog> {
        self.0.catalog()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        self.0.check()
    }
}
