//! Log of slow statements: a line of JSON for each one that took as long as a limit, or longer.
//!
//! Literals are left out of statements and plans, and parameters are not written, so that whoever reads the log does not see what
//! was searched for.
//!
//! Cost: a statement that is quick compares two numbers.

use std::path::Path;
use std::time::Duration;

use cypher::plan::Plan;
use model::meter::Meter;
use model::{Error, Result};
use serde_json::{Map, Value as Json, json};

use crate::activity::moment_text;
use crate::administration::Client;
use crate::line_log::LineLog;
use crate::phases::{Phase, Phases};
use crate::plan_report::{PlanReport, waits_json};

/// A file that slow statements are written to.
#[derive(Debug)]
pub struct SlowLog {
    lines: LineLog,
    limit: Duration,
}

/// A statement that has ended.
pub(crate) struct Ended<'s> {
    /// Its text without literals.
    pub(crate) text: &'s str,
    pub(crate) phases: &'s Phases,
    pub(crate) counts: &'s Meter,
    pub(crate) rows: u64,
    pub(crate) spilled_bytes: u64,
    pub(crate) failure: Option<&'s Error>,
    pub(crate) plan: Option<&'s Plan>,
}

impl SlowLog {
    /// Opens a log, which is made if it is missing, with rights for its user alone. Lines are added at its end.
    ///
    /// # Errors
    /// `FILE` if it cannot be written.
    pub fn open(path: &Path, limit: Duration) -> Result<SlowLog> {
        Ok(SlowLog { lines: LineLog::open(path)?, limit })
    }

    /// Says by this function, once, that lines cannot be written.
    #[must_use]
    pub fn telling(self, tell: fn(&str)) -> SlowLog {
        SlowLog { lines: self.lines.telling(tell), ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.lines.path()
    }

    /// True if a statement that has come through these phases is slow.
    pub(crate) fn takes(&self, phases: &Phases) -> bool {
        u128::from(phases.whole_ns()) >= self.limit.as_nanos()
    }

    /// Writes the line of a statement of a client, which ended then.
    pub(crate) fn write(&self, ended: &Ended<'_>, client: &Client, unix_us: i64) {
        self.lines.write(line_of(ended, client, unix_us));
    }
}

fn line_of(ended: &Ended<'_>, client: &Client, unix_us: i64) -> Map<String, Json> {
    let phases = ended.phases;
    let mut line = Map::new();
    let mut add = |key: &str, value: Json| {
        line.insert(key.to_owned(), value);
    };
    add("time", moment_text(unix_us).into());
    add("ms", (phases.whole_ns() as f64 / 1e6).into());
    add("statement", ended.text.into());
    if !client.user.is_empty() {
        add("user", client.user.as_str().into());
    }
    if !client.address.is_empty() {
        add("client", client.address.as_str().into());
    }
    if let Some(failure) = ended.failure {
        add("error", failure.code().name().into());
    }
    add("rows", ended.rows.into());
    let spent = Phase::ALL.iter().filter(|&&phase| phases.ns(phase) > 0);
    let spent = spent.map(|&phase| (format!("{}Ns", phase.name()), phases.ns(phase).into())).collect();
    add("phases", Json::Object(spent));
    add("waits", waits_json(&ended.counts.waits));
    add("planCached", phases.is_plan_cached.into());
    add("spilledBytes", ended.spilled_bytes.into());
    let counts = ended.counts;
    add(
        "storage",
        json!({
            "blockUses": counts.block_uses,
            "blockMisses": counts.block_misses,
            "bytesRead": counts.bytes_read,
            "bytesDecoded": counts.bytes_decoded,
            "roundTrips": counts.round_trips,
            "rowsFetched": counts.rows_fetched,
        }),
    );
    if let Some(plan) = ended.plan {
        add("plan", PlanReport::without_literals(plan));
    }
    line
}
