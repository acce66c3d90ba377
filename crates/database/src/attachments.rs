//! The sources that are attached to a database, and the federation that answers.
//!
//! Invariant: the set of attached sources changes as a whole, and a reader keeps the set that it began with.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::{GraphStore, Result, Schema, error};
use sources::federation::{Federation, MEMBERS_MAX, Member};
use sources::store::{SourceStats, SourceStore};

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
    /// Estimated number of nodes.
    pub nodes: u64,
    /// Estimated number of edges.
    pub edges: u64,
    /// Statistics of its requests and of the cached answers, if it is a database.
    pub stats: Option<SourceStats>,
    /// Notes on what an inferred definition leaves out, a sentence each.
    pub notes: Vec<String>,
}

/// Sources attached to a database.
pub(crate) struct Attachments {
    pub(crate) native: Arc<dyn GraphStore>,
    pub(crate) now: RwLock<Arc<Attached>>,
    /// Held while a source is attached or detached.
    pub(crate) changing: Mutex<()>,
}

/// Sources attached at one moment.
pub(crate) struct Attached {
    /// Counts changes, so that a plan is not used after one.
    pub(crate) generation: u64,
    /// The store that answers.
    pub(crate) store: Arc<dyn GraphStore>,
    pub(crate) sources: Vec<Arc<Source>>,
}

/// One source.
pub(crate) struct Source {
    pub(crate) member: Member,
    /// URL, without a password.
    pub(crate) url: String,
    /// The source, if it is a database.
    pub(crate) database: Option<SourceStore>,
    pub(crate) notes: Vec<String>,
}

impl Attachments {
    pub(crate) fn new(native: Arc<dyn GraphStore>) -> Attachments {
        let now = Attached { generation: 0, store: native.clone(), sources: Vec::new() };
        Attachments { native, now: RwLock::new(Arc::new(now)), changing: Mutex::default() }
    }

    pub(crate) fn now(&self) -> Arc<Attached> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, sources: Vec<Arc<Source>>) -> Result<()> {
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
    pub(crate) fn attach(&self, name: &str, make: impl FnOnce(u8) -> Result<Source>) -> Result<Arc<Source>> {
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
