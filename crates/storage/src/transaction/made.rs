//! Indexes and constraints as they were built: what is in them, under their names, so that repeating the operation that
//! made one does not build it again.
//!
//! Invariant: what was built holds all that was there at the moment where it is put to use.

use std::sync::Arc;

use model::{Constraint, Index, Interrupt, Map, Result};

use crate::index_build::ordered::build;
use crate::memtable::UniqueIndex;
use crate::ordered_index::entries::OrderedEntries;
use crate::snapshot::Snapshot;
use crate::wal::record::Operation;

/// Contents of one index, or of those of one constraint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// The values by which nodes are looked up.
    pub(super) values: UniqueIndex,
    /// The entries in order; none where nothing is kept in order.
    pub(super) entries: OrderedEntries,
}

/// The contents of some indexes and constraints, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Made {
    contents: Map<Arc<str>, Contents>,
    /// Stops the builds of others; none where what repeats records must come to its end.
    interrupt: Option<Interrupt>,
}

impl Made {
    /// Those of the names that a state knows.
    pub(crate) fn of(snapshot: &Snapshot, names: &[Arc<str>]) -> Made {
        let contents = names.iter().map(|name| (name.clone(), snapshot.contents_of(name))).collect();
        Made { contents, interrupt: None }
    }

    /// Fails if whoever waits for the operations gave up.
    pub(super) fn check_interrupt(&self) -> Result<()> {
        self.interrupt.as_ref().map_or(Ok(()), Interrupt::check)
    }

    /// No contents yet; the operations, and the builds of indexes, hear this interrupt.
    pub(crate) fn heard_by(interrupt: &Interrupt) -> Made {
        Made { interrupt: Some(interrupt.clone()), ..Made::default() }
    }

    /// True if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }

    /// The contents that an operation makes.
    pub(super) fn find(&self, operation: &Operation<'_>) -> Option<Contents> {
        match operation {
            Operation::CreateConstraint(Constraint { name, .. }) | Operation::CreateIndex(Index { name, .. }) => {
                self.contents.get(name).cloned()
            }
            _ => None,
        }
    }
}

impl Snapshot {
    fn contents_of(&self, name: &str) -> Contents {
        let schema = &self.memtable.schema;
        let constraint = schema.constraints.iter().position(|constraint| &*constraint.name == name);
        let index = schema.indexes.iter().position(|index| &*index.name == name);
        Contents {
            values: constraint.and_then(|at| self.memtable.indexes.get(at)).cloned().unwrap_or_default(),
            entries: index.and_then(|at| self.memtable.ordered.get(at)).cloned().unwrap_or_else(nothing),
        }
    }

    /// The contents of a new index, over what is there; fails with `SCHEMA` if it has no place beside the others.
    pub(super) fn build_index(&self, index: &Index, interrupt: &Interrupt) -> Result<Contents> {
        self.memtable.schema.check_index(index)?;
        self.contents_of_index(index, interrupt)
    }

    /// The same, where it is known to have a place.
    pub(super) fn contents_of_index(&self, index: &Index, interrupt: &Interrupt) -> Result<Contents> {
        Ok(Contents { values: UniqueIndex::default(), entries: build(self, index, None, interrupt)? })
    }

    /// The contents of a new constraint, over what is there; fails with `CONSTRAINT` if that breaks it.
    pub(super) fn build_constraint(&self, constraint: &Constraint, interrupt: &Interrupt) -> Result<Contents> {
        self.memtable.schema.check_constraint(constraint)?;
        self.check_rule_of_all(constraint, interrupt)?;
        self.contents_of_constraint(constraint, interrupt)
    }

    /// The same, looked at for equal values only.
    pub(super) fn contents_of_constraint(&self, constraint: &Constraint, interrupt: &Interrupt) -> Result<Contents> {
        let values = self.values_of_all(constraint, interrupt)?;
        let entries = match constraint.index() {
            Some(index) => build(self, &index, Some(constraint), interrupt)?,
            None => nothing(),
        };
        Ok(Contents { values, entries })
    }

    /// Applies an operation; what it makes is not built if that was done before.
    pub(super) fn apply_made(&mut self, operation: Operation<'_>, first_own: u32, made: &Made) -> Result<()> {
        match (made.find(&operation), operation) {
            (Some(contents), Operation::CreateConstraint(constraint)) => self.create_constraint(constraint, contents),
            (Some(contents), Operation::CreateIndex(index)) => self.create_index(index, contents),
            (_, operation) => return self.apply(operation, first_own, made.interrupt.as_ref()),
        }
        Ok(())
    }
}

fn nothing() -> OrderedEntries {
    OrderedEntries::made(Vec::new())
}
