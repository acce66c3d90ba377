//! Sessions that are open and what runs in them, for `SHOW TRANSACTIONS` and `TERMINATE TRANSACTIONS`; and the place at which
//! the database is reached.
//!
//! Invariant: a transaction that was begun and told to end never commits. Who ends it marks it and raises the interrupt of its
//! session under one lock; the session looks at the mark after it has lowered its interrupt, and before it commits it takes the
//! transaction from the list, in one step. A statement on its own is stopped unless it is committing already.
//! Cost: a statement takes one uncontended lock at its start and one at its end, and copies the start of its text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use model::platform::Clock;
use model::temporal::{DateTime, Duration, Zone};
use model::value::MapValue;
use model::{Error, Interrupt, Result, Value, error};

use crate::administration::{Administrator, Client, DATABASE_NAME};

/// Bytes of a statement that are kept to be shown.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Bytes that the metadata of a transaction may take.
pub const METADATA_BYTES_MAX: usize = 64 << 10;

/// The databases of one server, whose transactions are shown and ended together.
#[derive(Clone, Debug, Default)]
pub struct Neighbors(Arc<Mutex<Vec<Weak<Activity>>>>);

impl Neighbors {
    /// Adds a database, and leaves out those that are closed.
    fn add(&self, activity: &Arc<Activity>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|held| held.upgrade().is_some_and(|held| !Arc::ptr_eq(&held, activity)));
        all.push(Arc::downgrade(activity));
    }

    fn all(&self) -> Vec<Arc<Activity>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }
}

/// The place at which a database is reached.
#[derive(Clone)]
pub struct Site {
    /// The name by which clients ask for it.
    pub name: Arc<str>,
    /// The address that clients dial; empty if the process has the database for itself.
    pub address: String,
    /// Keeper of the databases, users and roles of the server.
    pub administrator: Option<Arc<dyn Administrator>>,
    /// The databases of the server.
    pub neighbors: Neighbors,
}

impl Default for Site {
    fn default() -> Site {
        let (name, address) = (Arc::from(DATABASE_NAME), String::new());
        Site { name, address, administrator: None, neighbors: Neighbors::default() }
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site").field("name", &self.name).field("address", &self.address).finish_non_exhaustive()
    }
}

/// A moment in microseconds since the Unix epoch, as text.
pub fn moment_text(unix_us: i64) -> String {
    let (seconds, micros) = (unix_us.div_euclid(1_000_000), unix_us.rem_euclid(1_000_000));
    DateTime { seconds, nanosecond: micros as u32 * 1_000, zone: Zone::UTC }.to_string()
}

/// A moment, by both clocks.
#[derive(Clone, Copy, Debug)]
struct Moment {
    unix_us: i64,
    ns: u64,
}

impl Moment {
    fn now(clock: &dyn Clock) -> Moment {
        Moment { unix_us: clock.unix_us(), ns: clock.now_ns() }
    }

    fn text(self) -> Value {
        Value::string(&moment_text(self.unix_us))
    }

    fn since(self, clock: &dyn Clock) -> Value {
        let ns = clock.now_ns().saturating_sub(self.ns);
        let (seconds, nanosecond) = ((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as u32);
        Value::Duration(Duration { months: 0, days: 0, seconds, nanosecond })
    }
}

/// A transaction, or a statement that is one by itself.
#[derive(Debug)]
struct Begun {
    number: u64,
    at: Moment,
    /// True from `BEGIN` to its end; otherwise it ends with its statement.
    is_open: bool,
    is_terminated: bool,
}

#[derive(Debug, Default)]
struct Held {
    client: Client,
    /// Metadata that the client gives of its next or present transaction.
    metadata: Option<Value>,
    transaction: Option<Begun>,
    /// The number of the statement that runs, and its start.
    statement: Option<(u64, Moment)>,
    /// Its text, or the start of it.
    text: String,
}

/// A session as others see it.
#[derive(Debug)]
struct Entry {
    interrupt: Interrupt,
    held: Mutex<Held>,
}

impl Entry {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Result of asking for the end of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Terminated {
    /// It was told, and belongs to this user.
    Told(String),
    /// There is none of that name.
    NotFound,
}

/// All sessions of a database.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    sessions: Mutex<BTreeMap<u64, Arc<Entry>>>,
    next: AtomicU64,
    site: RwLock<Site>,
}

/// A session among the others, from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Registration {
    activity: Arc<Activity>,
    entry: Arc<Entry>,
    number: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.activity.lock().remove(&self.number);
    }
}

/// The error of a statement whose transaction was ended by somebody else.
pub(crate) fn terminated() -> Error {
    error!(Cancelled, "the transaction was terminated, and is undone")
        .with_remedy("begin another, if it is still wanted")
}

impl Registration {
    /// A statement begins at that time by both clocks; fails if the transaction that it belongs to was told to end.
    pub(crate) fn start(&self, text: &str, ns: u64, unix_us: i64) -> Result<()> {
        let mut held = self.entry.lock();
        if held.transaction.as_ref().is_some_and(|transaction| transaction.is_terminated) {
            held.transaction = None;
            return Err(terminated());
        }
        let at = Moment { unix_us, ns };
        held.text.clear();
        let mut end = text.len().min(TEXT_BYTES_MAX);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        held.text.push_str(&text[..end]);
        held.statement = Some((self.activity.number(), at));
        if held.transaction.is_none() {
            let number = self.activity.number();
            held.transaction = Some(Begun { number, at, is_open: false, is_terminated: false });
        }
        Ok(())
    }

    /// The statement has ended. True if it was told to.
    pub(crate) fn end(&self) -> bool {
        let mut held = self.entry.lock();
        held.statement = None;
        let is_terminated = held.transaction.as_ref().is_some_and(|transaction| transaction.is_terminated);
        if held.transaction.as_ref().is_some_and(|transaction| !transaction.is_open) {
            held.transaction = None;
            held.metadata = None;
        }
        is_terminated
    }

    /// A transaction begins, which goes on behind the statement.
    pub(crate) fn begin(&self, clock: &dyn Clock) {
        let mut held = self.entry.lock();
        match &mut held.transaction {
            Some(transaction) => transaction.is_open = true,
            None => {
                let (number, at) = (self.activity.number(), Moment::now(clock));
                held.transaction = Some(Begun { number, at, is_open: true, is_terminated: false });
            }
        }
    }

    /// The transaction has ended, or is about to be committed. True if it was told to end before.
    pub(crate) fn finish(&self) -> bool {
        let mut held = self.entry.lock();
        held.metadata = None;
        held.transaction.take().is_some_and(|transaction| transaction.is_terminated)
    }

    /// True if the transaction was told to end.
    pub(crate) fn is_terminated(&self) -> bool {
        self.entry.lock().transaction.as_ref().is_some_and(|transaction| transaction.is_terminated)
    }

    /// Its number among the sessions of the database.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn client(&self) -> Client {
        self.entry.lock().client.clone()
    }

    pub(crate) fn set_client(&self, client: Client) {
        self.entry.lock().client = client;
    }

    pub(crate) fn set_metadata(&self, metadata: Option<Value>) {
        self.entry.lock().metadata = metadata;
    }
}

impl Activity {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Entry>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a session.
    pub(crate) fn register(self: &Arc<Activity>, interrupt: &Interrupt) -> Registration {
        let entry = Arc::new(Entry { interrupt: interrupt.clone(), held: Mutex::default() });
        let number = self.number();
        self.lock().insert(number, entry.clone());
        Registration { activity: self.clone(), entry, number }
    }

    pub(crate) fn site(&self) -> Site {
        self.site.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_site(self: &Arc<Activity>, site: Site) {
        site.neighbors.add(self);
        *self.site.write().unwrap_or_else(PoisonError::into_inner) = site;
    }

    /// This database and, behind it, the others of its server.
    fn everywhere(self: &Arc<Activity>) -> Vec<Arc<Activity>> {
        let others = self.site().neighbors.all().into_iter().filter(|other| !Arc::ptr_eq(other, self));
        std::iter::once(self.clone()).chain(others).collect()
    }

    fn entries(&self) -> Vec<Arc<Entry>> {
        self.lock().values().cloned().collect()
    }

    /// The session that hears this interrupt.
    fn entry_of(&self, interrupt: &Interrupt) -> Option<Arc<Entry>> {
        self.lock().values().find(|entry| entry.interrupt.is(interrupt)).cloned()
    }

    /// The client of the session that hears this interrupt.
    pub(crate) fn client_of(&self, interrupt: &Interrupt) -> Client {
        let entry = self.entry_of(interrupt);
        entry.map(|entry| entry.lock().client.clone()).unwrap_or_default()
    }

    /// The metadata of the transaction of the session that hears this interrupt.
    pub(crate) fn metadata_of(&self, interrupt: &Interrupt) -> Value {
        let entry = self.entry_of(interrupt);
        entry.and_then(|entry| entry.lock().metadata.clone()).unwrap_or_else(|| Value::map([]))
    }

    /// Adds entries to that metadata, over those of the same names.
    pub(crate) fn add_metadata(&self, interrupt: &Interrupt, added: &MapValue) -> Result<()> {
        let Some(entry) = self.entry_of(interrupt) else { return Ok(()) };
        let mut held = entry.lock();
        let mut all = match &held.metadata {
            Some(Value::Map(before)) => MapValue::clone(before),
            _ => MapValue::new(),
        };
        all.extend(added.iter().map(|(name, value)| (name.clone(), value.clone())));
        let metadata = Value::map(all);
        let bytes = exec::heap_bytes(&metadata);
        if bytes > METADATA_BYTES_MAX {
            return Err(error!(
                Limit,
                "metadata of a transaction may take {METADATA_BYTES_MAX} bytes, and this takes {bytes}"
            )
            .with_remedy("store what is large in the graph, and name it here"));
        }
        held.metadata = Some(metadata);
        Ok(())
    }

    /// Asks for the end of the transaction of that name, in any database of the server, if `is_theirs` holds for its user.
    pub(crate) fn terminate(self: &Arc<Activity>, name: &str, is_theirs: impl Fn(&str) -> bool) -> Terminated {
        let told = self.everywhere().iter().find_map(|activity| activity.terminate_here(name, &is_theirs));
        told.map_or(Terminated::NotFound, Terminated::Told)
    }

    /// Asks for the end of a transaction of this database; gives its user.
    fn terminate_here(&self, name: &str, is_theirs: &dyn Fn(&str) -> bool) -> Option<String> {
        let database = self.site().name;
        for entry in self.entries() {
            let mut held = entry.lock();
            let is_meant = |begun: &Begun| transaction_name(&database, begun.number) == name;
            if held.transaction.as_ref().is_some_and(is_meant) && is_theirs(&held.client.user) {
                held.terminate(&entry.interrupt);
                return Some(held.client.user.clone());
            }
        }
        None
    }

    /// Asks for the end of all transactions.
    pub(crate) fn terminate_all(&self) {
        for entry in self.entries() {
            entry.lock().terminate(&entry.interrupt);
        }
    }

    /// The rows of `SHOW TRANSACTIONS`: of all transactions of the server's databases, or of those with these names, of the users that are
    /// wanted.
    pub(crate) fn transactions(
        self: &Arc<Activity>,
        names: &[String],
        is_wanted: impl Fn(&str) -> bool,
        clock: &dyn Clock,
    ) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for activity in self.everywhere() {
            let database = activity.site().name;
            rows.extend(activity.entries().iter().filter_map(|entry| {
                let held = entry.lock();
                if is_wanted(&held.client.user) { row(&held, &database, names, clock) } else { None }
            }));
        }
        rows
    }
}

impl Held {
    /// Marks the transaction as one that is to end, and stops its statement.
    fn terminate(&mut self, interrupt: &Interrupt) {
        if let Some(transaction) = &mut self.transaction {
            transaction.is_terminated = true;
            if self.statement.is_some() {
                interrupt.cancel();
            }
        }
    }
}

fn transaction_name(database: &str, number: u64) -> String {
    format!("{database}-transaction-{number}")
}

fn row(held: &Held, database: &str, names: &[String], clock: &dyn Clock) -> Option<Vec<Value>> {
    let transaction = held.transaction.as_ref()?;
    let name = transaction_name(database, transaction.number);
    if !names.is_empty() && !names.contains(&name) {
        return None;
    }
    let text = Value::string;
    let of_statement = |value: &dyn Fn(&(u64, Moment)) -> Value| held.statement.as_ref().map_or(Value::Null, value);
    let status = if transaction.is_terminated { "Terminated with reason: told to end" } else { "Running" };
    let client = &held.client;
    let statement = if held.statement.is_some() { model::secrets::masked(&held.text) } else { String::new() };
    Some(vec![
        text(database),
        text(&name),
        of_statement(&|(number, _)| Value::string(&format!("query-{number}"))),
        text(&client.connection),
        text(&client.address),
        text(&client.user),
        text(&statement),
        transaction.at.text(),
        text(status),
        transaction.at.since(clock),
        text(""),
        held.metadata.clone().unwrap_or_else(|| Value::map([])),
        // They may hold what only their owner is to see.
        Value::Null,
        of_statement(&|(_, at)| at.text()),
        of_statement(&|_| Value::string("running")),
        of_statement(&|(_, at)| at.since(clock)),
        text(&client.protocol),
        Value::Null,
        text(""),
    ])
}
