//! A database that is attached for reading only.

use model::Result;
use sources::connector::{Abilities, Connector, Facts, Question, Reading, Writing};
use std::sync::Arc;

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
}
