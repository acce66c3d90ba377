//! Log of slow statements: a line of JSON for each one that took as long as a limit, or longer.
//!
//! Literals are left out of statements and plans, and parameters are not written, so that whoever reads the log does not see what
//! was searched for.
//!
//! Invariant: a statement does not fail because its line cannot be written. Lines that are lost are counted in the next one.
//! Cost: a statement that is quick compares two numbers.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cypher::plan::Plan;
use model::meter::Meter;
use model::{Error, Result};
use serde_json::{Map, Value as Json, json};

use crate::activity::{Client, moment_text};
use crate::phases::{Phase, Phases};
use crate::plan_report::{PlanReport, waits_json};

/// A file that slow statements are written to.
#[derive(Debug)]
pub struct SlowLog {
    path: PathBuf,
    limit: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// Lines that could not be written since the last one that was.
    lost: u64,
    /// True if a part of a line stands at the end of the file.
    is_torn: bool,
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
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let of_file = |cause| Error::of_file(path, &cause);
        let mut file = options.open(path).map_err(of_file)?;
        let is_torn = is_torn(&mut file).map_err(of_file)?;
        let state = Mutex::new(State { file, lost: 0, is_torn });
        Ok(SlowLog { path: path.to_path_buf(), limit, state })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if a statement that has come through these phases is slow.
    pub(crate) fn takes(&self, phases: &Phases) -> bool {
        u128::from(phases.whole_ns()) >= self.limit.as_nanos()
    }

    /// Writes the line of a statement of a client, which ended then.
    pub(crate) fn write(&self, ended: &Ended<'_>, client: &Client, unix_us: i64) {
        let mut line = line_of(ended, client, unix_us);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.lost > 0 {
            line.insert("lostBefore".into(), state.lost.into());
        }
        let start = if state.is_torn { "\n" } else { "" };
        let bytes = format!("{start}{}\n", Json::Object(line)).into_bytes();
        // All at once, so that lines of several processes do not mix.
        let written = loop {
            match state.file.write(&bytes) {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                written => break written.unwrap_or(0),
            }
        };
        if written == bytes.len() {
            (state.lost, state.is_torn) = (0, false);
        } else {
            state.lost += 1;
            state.is_torn |= written > 0;
        }
    }
}

/// True if a file ends within a line.
fn is_torn(file: &mut File) -> std::io::Result<bool> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
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
