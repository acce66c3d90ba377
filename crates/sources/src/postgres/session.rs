//! A session of the server: statements that it knows, and what is asked of it in one go.

use std::io;
use std::sync::Arc;

use model::Map;

use super::decode::{Field, Rows, Unreadable, fields};
use super::encode::{self, Misfit};
use super::failure::Failure;
use super::url::Settings;
use super::wire::Wire;
use crate::sql::{Form, Statement};

/// Statements that a session keeps prepared.
const PREPARED_MAX: usize = 256;
/// Rows that are handed on at once.
const ROWS_MAX: usize = 1 << 16;

/// Settings of a session: short statements gain nothing from compiled code or from several workers, and plans that hold
/// for any parameters need not be made again for each.
const SETTINGS: &str =
    "SET jit = off; SET plan_cache_mode = force_generic_plan; SET max_parallel_workers_per_gather = 0";

/// A connection that has logged in.
pub(super) struct Session {
    pub(super) wire: Wire,
    prepared: Map<Arc<str>, String>,
    /// Number of answers ("ready") that were asked for and will not be looked at.
    unread: usize,
    /// True if it has answered anything since it was last taken from the pool.
    pub(super) has_answered: bool,
    /// True if it was used before it was taken.
    pub(super) is_used: bool,
    next_name: u64,
}

/// Why something that was asked has no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection does not work any more.
    Broken(io::Error),
    /// The server refused; the connection goes on.
    Refused(Box<Failure>),
    /// A parameter cannot be passed.
    Misfit(Misfit),
    /// A row cannot be read, in an answer of these fields.
    Unreadable(Unreadable, Vec<Field>),
    /// The receiver of the rows failed.
    Stopped(model::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        match error.downcast::<model::Error>() {
            Ok(unwanted) => Trouble::Stopped(unwanted),
            Err(error) => Trouble::Broken(error),
        }
    }
}

/// The message that follows a portal's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// All rows have come; a change says how many rows it changed.
    Complete(u64),
    /// There are more.
    Suspended,
}

impl Session {
    pub(super) fn open(settings: Arc<Settings>) -> model::Result<Session> {
        let mut wire = super::open::open(&settings)?;
        wire.output.query(SETTINGS);
        let mut unread = 1;
        if let Some(path) = &settings.search_path {
            wire.output.query(&format!("SET search_path = {path}"));
            unread += 1;
        }
        if let Some(limit) = settings.statement_timeout {
            wire.output.query(&format!("SET statement_timeout = {}", limit.as_millis()));
            unread += 1;
        }
        let prepared = Map::default();
        Ok(Session { wire, prepared, unread, has_answered: false, is_used: false, next_name: 0 })
    }

    /// Adds a statement of its own whose answer is not looked at, such as `COMMIT`; an error in it shows in the next.
    pub(super) fn queue(&mut self, text: &str) {
        self.wire.output.query(text);
        self.unread += 1;
    }

    /// Adds the end of something whose answer is not looked at.
    pub(super) fn queue_sync(&mut self) {
        self.wire.output.sync();
        self.unread += 1;
    }

    /// Notes that `answers` of the answers to the statements sent last will not be looked at.
    pub(super) fn skip(&mut self, answers: usize) {
        self.unread += answers;
    }

    /// They will be looked at.
    pub(super) fn unskip(&mut self, answers: usize) {
        self.unread -= answers;
    }

    /// Runs a statement that gives no rows: what the server calls it when it is done.
    pub(super) fn command(&mut self, text: &str) -> Result<String, Trouble> {
        self.wire.output.query(text);
        self.send()?;
        let mut done = String::new();
        loop {
            let (tag, range) = self.wire.next()?;
            match tag {
                b'C' => done = String::from_utf8_lossy(self.wire.body(range)).trim_end_matches('\0').to_owned(),
                b'E' => return Err(self.refused(range)),
                b'Z' => return Ok(done),
                _ => {}
            }
        }
    }

    /// Adds what is wanted of a statement: it is prepared if it is not, bound, described; not yet executed.
    pub(super) fn queue_bind(&mut self, portal: &str, statement: &Statement<'_>) -> Result<(), Trouble> {
        let name = match self.prepared.get(&*statement.text) {
            Some(name) => name.clone(),
            None if self.prepared.len() >= PREPARED_MAX => {
                self.wire.output.parse("", &statement.text);
                String::new()
            }
            None => {
                self.next_name += 1;
                let name = format!("k{}", self.next_name);
                self.wire.output.parse(&name, &statement.text);
                self.prepared.insert(Arc::from(&*statement.text), name.clone());
                name
            }
        };
        let is_change = statement.expects.is_some();
        encode::bind(&mut self.wire.output, portal, &name, &statement.parameters, is_change)
            .map_err(Trouble::Misfit)?;
        self.wire.output.describe(b'P', portal);
        Ok(())
    }

    /// Forgets what was prepared since: after a failure it is not known which of it the server has.
    pub(super) fn forget_prepared(&mut self) {
        if !self.prepared.is_empty() {
            self.prepared.clear();
            self.queue("DEALLOCATE ALL");
        }
    }

    /// Sends what was added, and reads past the answers that nobody looks at.
    pub(super) fn send(&mut self) -> Result<(), Trouble> {
        self.wire.send()?;
        while self.unread > 0 {
            let (tag, range) = self.wire.next()?;
            match tag {
                b'Z' => self.unread -= 1,
                b'E' => {
                    let failure = Failure::parse(self.wire.body(range));
                    if failure.ends_connection() {
                        return Err(Trouble::Broken(io::Error::new(
                            io::ErrorKind::ConnectionAborted,
                            "the server stops",
                        )));
                    }
                    // Read to the end, so that the connection can be used again.
                    self.unread -= 1;
                    self.finish()?;
                    while self.unread > 0 {
                        self.finish()?;
                        self.unread -= 1;
                    }
                    return Err(Trouble::Refused(Box::new(failure)));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads to the next "ready".
    pub(super) fn finish(&mut self) -> Result<(), Trouble> {
        loop {
            let (tag, _) = self.wire.next()?;
            if tag == b'Z' {
                return Ok(());
            }
        }
    }

    /// Reads what a portal's `Bind` and `Describe` were answered with: its fields, which are to be read in these forms.
    pub(super) fn read_fields(&mut self, forms: &[Form]) -> Result<Vec<Field>, Trouble> {
        loop {
            let (tag, range) = self.wire.next()?;
            match tag {
                b'T' => {
                    self.has_answered = true;
                    let mut found = fields(self.wire.body(range)).ok_or_else(garbled)?;
                    found.iter_mut().zip(forms).for_each(|(field, form)| field.form = *form);
                    return Ok(found);
                }
                // A statement without rows.
                b'n' => {
                    self.has_answered = true;
                    return Ok(Vec::new());
                }
                b'E' => return Err(self.refused(range)),
                _ => {}
            }
        }
    }

    /// Reads the rows of a portal, handing on many at once; `sink` says whether more are wanted.
    pub(super) fn read_rows(
        &mut self,
        fields: &[Field],
        mut sink: impl FnMut(Vec<model::Column>) -> model::Result<bool>,
    ) -> Result<After, Trouble> {
        let mut rows = Rows::new(fields).map_err(|reason| Trouble::Unreadable(reason, fields.to_vec()))?;
        let mut is_wanted = true;
        loop {
            let (tag, range) = self.wire.next()?;
            let after = match tag {
                b'D' => {
                    if is_wanted {
                        let pushed = rows.push(self.wire.body(range));
                        pushed.map_err(|reason| Trouble::Unreadable(reason, fields.to_vec()))?;
                        if rows.len() == ROWS_MAX {
                            is_wanted = sink(rows.take()).map_err(Trouble::Stopped)?;
                        }
                    }
                    continue;
                }
                b'C' => After::Complete(changed(self.wire.body(range))),
                b's' => After::Suspended,
                b'I' => After::Complete(0),
                b'E' => return Err(self.refused(range)),
                _ => continue,
            };
            if is_wanted && (rows.len() > 0 || !fields.is_empty()) {
                sink(rows.take()).map_err(Trouble::Stopped)?;
            }
            return Ok(after);
        }
    }

    fn refused(&mut self, range: std::ops::Range<usize>) -> Trouble {
        let failure = Failure::parse(self.wire.body(range));
        if failure.ends_connection() {
            return Trouble::Broken(io::Error::new(io::ErrorKind::ConnectionAborted, "the server stops"));
        }
        Trouble::Refused(Box::new(failure))
    }
}

/// The number of rows at the end of `INSERT 0 5`, `UPDATE 5`, `SELECT 5`.
fn changed(body: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(body);
    text.trim_end_matches('\0').rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn garbled() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the server's answer is garbled")
}
