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
//! Invariant: the set of attached sources changes as a whole, and a reader keeps the set that it began with. While
//! nothing is attached the native store is asked directly.

use std::sync::Arc;

use model::Result;
use sources::connect::connect;
use sources::definition::GraphDefinition;
use sources::federation::{Member, MemberStore};
use sources::store::{Environment, SourceStore};
use sources::urls::without_password;

use crate::attachments::{Attachment, Source};
use crate::database::Database;

mod address;
mod definition;
mod options;
mod preload;
mod procedures;
mod read_only;
pub(crate) mod statement;

pub use address::environment_variable;
pub(crate) use address::of_text as url_of;
pub use definition::{Finding, InferredDefinition, Severity, check_definition, infer_definition, inferable_sources};
pub use options::AttachOptions;
pub use preload::{Preload, PreloadProgress, PreloadSummary};
pub(crate) use procedures::procedures;

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
