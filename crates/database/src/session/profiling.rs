//! Reports of `EXPLAIN` and `PROFILE`, with estimated times, and advice.

use cypher::catalog::Catalog;
use exec::profile::Summary;
use model::{ReadView, Result};

use super::Session;
use super::account::Account;
use crate::advice::{self, Ground};
use crate::engine::is_ring;
use crate::estimate::Around;
use crate::plan_cache::Compiled;
use crate::plan_report::PlanReport;

impl Session {
    /// The surroundings of a plan whose time is estimated.
    pub(super) fn around<'a>(
        &self,
        view: &'a dyn ReadView,
        catalog: &'a dyn Catalog,
        compiled: &Compiled,
    ) -> Around<'a> {
        let calibration = self.database.shared.statements.calibration();
        let threads = if compiled.is_parallel { self.database.config().threads } else { 1 };
        let is_ring = is_ring(self.database.path());
        Around { view, catalog, calibration, threads, is_ring }
    }

    /// The report of `PROFILE`.
    pub(super) fn profile(
        &self,
        account: &Account,
        (text, compiled): (&str, &Compiled),
        summary: &Summary,
        has_sources: bool,
    ) -> Result<PlanReport> {
        // The time that this takes is none of the statement's.
        let phases = account.watch.phases();
        let registry = self.registry();
        let snapshot = self.snapshot(&*self.database.store())?;
        let view = self.view(snapshot.as_deref())?;
        let around = self.around(view, &*registry, compiled);
        let asks_others = has_sources || is_ring(self.database.path());
        let plan = summary.replanned.last().map_or(&compiled.plan, |turn| &turn.plan);
        let mut report = PlanReport::profile(plan, summary, &phases, &around, asks_others);
        let ground = Ground { view, catalog: &*registry, interrupt: &self.interrupt };
        if !has_sources && let Some(advice) = advice::of_profile(text, plan, &report, &ground)? {
            report.advise(advice);
        }
        Ok(report)
    }
}
