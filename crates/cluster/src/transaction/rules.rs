//! Constraints, indexes and sort keys that come and go. What is there is read and checked.

use model::{Constraint, Index, Interrupt, Result, Rule, Schema, Set, error};

use super::Transaction;

impl Transaction {
    pub(super) fn add_constraint(&mut self, constraint: Constraint, interrupt: &Interrupt) -> Result<()> {
        self.view.own.schema.check_constraint(&constraint)?;
        self.check_what_is_there(&constraint, interrupt)?;
        let (name, has_values) = (constraint.name.clone(), constraint.is_unique());
        self.view.own.set_rules(|schema, numbers, next| {
            if has_values {
                numbers.insert(constraint.name.clone(), *next);
                *next += 1;
            }
            schema.indexes.extend(constraint.index());
            schema.constraints.push(constraint);
        });
        if has_values { self.fill_index(&name) } else { Ok(()) }
    }

    fn fill_index(&mut self, name: &str) -> Result<()> {
        match self.view.own.index(name).cloned() {
            Some(index) => self.fill(&index),
            None => Err(error!(Internal, "the index {name} was made and is not there")),
        }
    }

    /// Fails if what is there breaks a new constraint.
    fn check_what_is_there(&self, constraint: &Constraint, interrupt: &Interrupt) -> Result<()> {
        let Some(&first) = constraint.keys.first() else { return Ok(()) };
        let mut seen: Set<Vec<u8>> = Set::default();
        let mut done = 0;
        self.each_holder(constraint.subject, &mut |id, _, properties| {
            done += 1;
            if done % 4_096 == 0 {
                interrupt.step(done, self.view.own.statistics.nodes)?;
            }
            let value = crate::rows::property(properties, first);
            if let (Rule::Type(of), Some(value)) = (constraint.rule, value)
                && !of.holds(value)
            {
                return Err(self.broken(constraint, &format!("{id} must be {of}, found {value}")));
            }
            let entry = crate::rows::entry_bytes(properties, &constraint.keys);
            if constraint.is_mandatory() && entry.is_none() {
                return Err(self.broken(constraint, &format!("{id} lacks a property")));
            }
            let has_value = |entry: &Vec<u8>| !model::codec::ordered::hold_nan(entry);
            if constraint.is_unique()
                && let Some(entry) = entry.filter(has_value)
                && !seen.insert(entry)
            {
                return Err(self.broken(constraint, &format!("{id} and another have the same")));
            }
            Ok(())
        })
    }

    pub(super) fn remove_constraint(&mut self, name: &str) -> Result<()> {
        let Some(at) = self.view.own.schema.constraints.iter().position(|held| &*held.name == name) else {
            return Err(error!(SchemaRule, "no constraint is named {name}"));
        };
        self.view.own.set_rules(|schema, numbers, _| {
            schema.constraints.remove(at);
            schema.indexes.retain(|index| &*index.name != name);
            numbers.remove(name);
        });
        Ok(())
    }

    pub(super) fn add_index(&mut self, index: Index) -> Result<()> {
        self.view.own.schema.check_index(&index)?;
        let name = index.name.clone();
        self.view.own.set_rules(|schema, numbers, next| {
            numbers.insert(index.name.clone(), *next);
            *next += 1;
            schema.indexes.push(index);
        });
        self.fill_index(&name)
    }

    pub(super) fn remove_index(&mut self, name: &str) -> Result<()> {
        let at = self.view.own.schema.check_drop_index(name)?;
        self.view.own.set_rules(|schema, numbers, _| {
            schema.indexes.remove(at);
            numbers.remove(name);
        });
        Ok(())
    }

    pub(super) fn change_sort_keys(&mut self, change: impl FnOnce(&mut Schema) -> Result<()>) -> Result<()> {
        let mut outcome = Ok(());
        self.view.own.set_rules(|schema, _, _| outcome = change(schema));
        outcome
    }
}
