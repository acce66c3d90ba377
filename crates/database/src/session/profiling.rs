//! Advice in the report of `PROFILE`.

use model::Result;

use super::Session;
use crate::advice::{self, Ground};
use crate::plan_cache::Compiled;
use crate::plan_report::PlanReport;

impl Session {
    /// Adds to a profile the index or sort key by which the statement would be faster.
    pub(super) fn advise_on(&self, report: &mut PlanReport, text: &str, compiled: &Compiled) -> Result<()> {
        let registry = self.registry();
        let interrupt = &self.interrupt;
        let snapshot = self.snapshot(&*self.database.store())?;
        let view = self.view(snapshot.as_deref())?;
        let ground = Ground { view, catalog: &*registry, interrupt };
        if let Some((statement, after_ns)) = advice::of_profile(text, &compiled.plan, report, &ground)? {
            report.advise(statement, after_ns);
        }
        Ok(())
    }
}
