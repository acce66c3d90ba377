//! Databases that are attached: parts of the graph that lie elsewhere.
//!
//! Modules in reading order:
//! - [`address`]: what a text that is attached means: a URL, a graph definition, a file.
//! - [`definition`]: graph definitions written and checked.
//! - [`options`]: how it is attached.
//! - [`statement`]: `ATTACH`, `DETACH` and `PRELOAD`.
//! - [`preload`]: copies a source, or a part of it, into the native store.
//! - [`procedures`]: what the sources are and were asked; forgetting what is cached.
//!
//! Invariant: what is attached changes as a whole, and who reads keeps what it began with. While nothing is attached the
//! native store is asked directly.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::{GraphStore, Result, Schema, error};
use sources::connect::connect;
use sources::definition::GraphDefinition;
use sources::federation::{Federation, MEMBERS_MAX, Member, MemberStore};
use sources::store::{Environment, SourceStats, SourceStore};
use sources::urls::without_password;

use crate::database::Database;

mod address;
mod definition;
mod options;
mod preload;
mod procedures;
mod read_only;
pub(crate) mod statement;

pub use address::environment_variable;
pub use definition::{Finding, InferredDefinition, Severity, check_definition, infer_definition, inferable_sources};
pub use options::AttachOptions;
pub use preload::{Preload, PreloadProgress, PreloadSummary};
pub(crate) use procedures::procedures;

/// A source that is attached, as it may be shown.
#[derive(Clone, Debug)]
pub struct Attachment {
    /// Name.
    pub name: Arc<str>,
    /// URL, without a password; empty for a store that was attached as such.
    pub url: String,
    /// The labels that its nodes have.
    pub labels: Vec<Arc<str>>,
    /// The types that its edges have.
    pub edge_types: Vec<Arc<str>>,
    /// True if it can be written to.
    pub writes: bool,
    /// Nodes and edges in it, about.
    pub nodes: u64,
    /// Edges in it, about.
    pub edges: u64,
    /// Statistics of its requests and of the cached answers, if it is a database.
    pub stats: Option<SourceStats>,
    /// Notes on what an inferred definition leaves out, a sentence each.
    pub notes: Vec<String>,
}

/// Sources attached to a database.
pub(crate) struct Attachments {
    native: Arc<dyn GraphStore>,
    now: RwLock<Arc<Attached>>,
    /// Held by who attaches or detaches.
    changing: Mutex<()>,
}

/// Sources attached at one moment.
pub(crate) struct Attached {
    /// Counts changes, so that a plan is not used after one.
    pub(crate) generation: u64,
    /// The store that answers.
    pub(crate) store: Arc<dyn GraphStore>,
    sources: Vec<Arc<Source>>,
}

/// One source.
pub(crate) struct Source {
    pub(crate) member: Member,
    /// URL, without a password.
    url: String,
    /// The source, if it is a database.
    pub(crate) database: Option<SourceStore>,
    notes: Vec<String>,
}

impl Attachments {
    pub(crate) fn new(native: Arc<dyn GraphStore>) -> Attachments {
        let now = Attached { generation: 0, store: native.clone(), sources: Vec::new() };
        Attachments { native, now: RwLock::new(Arc::new(now)), changing: Mutex::default() }
    }

    pub(crate) fn now(&self) -> Arc<Attached> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, sources: Vec<Arc<Source>>) -> Result<()> {
        let store: Arc<dyn GraphStore> = if sources.is_empty() {
            self.native.clone()
        } else {
            let members = sources.iter().map(|source| source.member.clone()).collect();
            Arc::new(Federation::new(self.native.clone(), members)?)
        };
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        *now = Arc::new(Attached { generation: now.generation + 1, store, sources });
        Ok(())
    }

    /// Attaches what `make` makes with the number that it gets.
    fn attach(&self, name: &str, make: impl FnOnce(u8) -> Result<Source>) -> Result<Arc<Source>> {
        let _changing = self.change();
        let sources = &self.now().sources;
        check_name(name)?;
        if sources.iter().any(|source| &*source.member.name == name) {
            return Err(error!(Argument, "a source named {name} is attached already")
                .with_remedy(format!("choose another name, or DETACH {name} first")));
        }
        let number = free_number(sources)?;
        let source = Arc::new(make(number)?);
        self.set(sources.iter().cloned().chain([source.clone()]).collect())?;
        Ok(source)
    }
}

/// A name must be one that can be written without quotes.
fn check_name(name: &str) -> Result<()> {
    let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if is_word {
        return Ok(());
    }
    Err(error!(Argument, "expected a name of letters, digits and underscores for the source, found `{name}`")
        .with_remedy("name it: ATTACH '…' AS shop"))
}

/// The number after the one given last, so that ids of a source that was detached are not soon those of another.
fn free_number(sources: &[Arc<Source>]) -> Result<u8> {
    let last = sources.last().map_or(0, |source| usize::from(source.member.number));
    let is_free = |number: &usize| sources.iter().all(|source| usize::from(source.member.number) != *number);
    let found = (0..MEMBERS_MAX).map(|step| (last + step) % MEMBERS_MAX + 1).find(is_free);
    let number = found.and_then(|number| u8::try_from(number).ok());
    number.ok_or_else(|| {
        error!(Limit, "{MEMBERS_MAX} sources are attached, which is all there can be").with_remedy("detach one first")
    })
}

impl Attached {
    /// The source of that name.
    pub(crate) fn source(&self, name: &str) -> Result<&Arc<Source>> {
        self.sources.iter().find(|source| &*source.member.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.sources.iter().map(|source| &*source.member.name).collect();
            let error = error!(NotFound, "no source is named {name}");
            match names.as_slice() {
                [] => error.with_remedy("attach one: ATTACH 'postgres://…' AS name"),
                names => error.with_remedy(format!("attached are {}", names.join(", "))),
            }
        })
    }

    pub(crate) fn sources(&self) -> &[Arc<Source>] {
        &self.sources
    }
}

impl Source {
    /// The source as it may be shown.
    pub(crate) fn shown(&self) -> Result<Attachment> {
        let view = self.member.store.read_member()?;
        let (schema, counts): (&Schema, _) = (view.schema(), view.estimates());
        Ok(Attachment {
            name: self.member.name.clone(),
            url: self.url.clone(),
            labels: schema.labels.iter().cloned().collect(),
            edge_types: schema.edge_types.iter().cloned().collect(),
            writes: self.member.store.capabilities().writes,
            nodes: counts.nodes,
            edges: counts.edges,
            stats: self.database.as_ref().map(SourceStore::stats),
            notes: self.notes.clone(),
        })
    }
}

impl Database {
    /// Attaches a database as a part of the graph, under a name that is new. `from` is its URL, or the graph definition that
    /// names it: the JSON itself or the path of a file. Sessions see it from their next statement or transaction on.
    ///
    /// Without a definition, one is made from the tables of the database.
    pub fn attach(&self, name: &str, from: &str, options: &AttachOptions) -> Result<Attachment> {
        let source = self.shared.attachments.attach(name, |number| {
            let found = address::resolve(name, from, options)?;
            let source = self.source(&found.url, found.definition, number, options);
            let database = source.map_err(|failure| failure.within(&format!("source {name}")))?.named(name);
            let member = Member { number, name: name.into(), store: Arc::new(database.clone()) };
            let url = without_password(&found.url);
            let notes = found.notes.into_iter().chain(database.notes()).collect();
            Ok(Source { member, url, database: Some(database), notes })
        })?;
        source.shown()
    }

    fn source(
        &self,
        url: &str,
        mut definition: GraphDefinition,
        number: u8,
        how: &AttachOptions,
    ) -> Result<SourceStore> {
        how.change(&mut definition);
        definition.check()?;
        let mut connector = connect(url, &definition)?;
        if how.read_only {
            connector = Arc::new(read_only::ReadOnly(connector));
        }
        let environment = Environment { memory: self.memory().clone(), clock: self.shared_clock() };
        SourceStore::new(Arc::new(definition), connector, number, environment)
    }

    /// Attaches any store; `make` gets the number that must stand in the highest byte of its ids.
    pub fn attach_store(&self, name: &str, make: impl FnOnce(u8) -> Arc<dyn MemberStore>) -> Result<Attachment> {
        let source = self.shared.attachments.attach(name, |number| {
            let member = Member { number, name: name.into(), store: make(number) };
            Ok(Source { member, url: String::new(), database: None, notes: Vec::new() })
        })?;
        source.shown()
    }

    /// Detaches a source. Statements and transactions that began before go on with it.
    pub fn detach(&self, name: &str) -> Result<()> {
        let attachments = &self.shared.attachments;
        let _changing = attachments.change();
        let now = attachments.now();
        let gone = now.source(name)?;
        attachments.set(now.sources.iter().filter(|source| !Arc::ptr_eq(source, gone)).cloned().collect())
    }

    /// The attached sources, in the order in which they were attached.
    pub fn attachments(&self) -> Result<Vec<Attachment>> {
        self.shared.attachments.now().sources.iter().map(|source| source.shown()).collect()
    }

    /// Forgets what is cached of a source, so that what is read from now on is fetched anew.
    pub fn forget(&self, name: &str) -> Result<()> {
        procedures::forget(&self.shared.attachments, name, None)
    }
}
