//! A graph that a definition describes, attached to an empty store and asked by statements.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use database::{AttachOptions, Config, Database, Error, Interrupt, Parameters, QueryResult, Session, StoppingClock};
use introspect::SystemClock;
use introspect::subject::server::Statements;

/// The name of the source in the store.
const SOURCE: &str = "graph";

/// An empty store that the graph is attached to, and a session of it. The order is that in which they end.
pub(super) struct Described {
    session: Session,
    database: Database,
    _folder: Scratch,
}

/// A folder that is removed when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    /// Makes a folder for this user alone in that of temporary files, with a name that nobody could make before.
    fn new() -> Result<Scratch, Error> {
        let number = RandomState::new().build_hasher().finish();
        let path = std::env::temp_dir().join(format!("knotwork-introspect-{number:016x}.knot"));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|cause| Error::of_file(&path, &cause))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing is in it but an empty store, named for what it is.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// True for the file of a graph definition.
pub(super) fn is_definition(subject: &Path) -> bool {
    subject.extension().is_some_and(|ending| ending == "json") && !subject.is_dir()
}

impl Described {
    /// Attaches the graph that a file describes. Statements that take longer than the limit fail.
    pub(super) fn open(
        file: &Path,
        config: Config,
        limit: Duration,
        clock: Arc<SystemClock>,
        interrupt: &Interrupt,
    ) -> Result<Described, Error> {
        let scratch = Scratch::new()?;
        let database = Database::open(&scratch.0, config)?;
        let options = AttachOptions { read_only: true, ..AttachOptions::default() };
        let _listening = interrupt.listen();
        database.attach(SOURCE, &file.to_string_lossy(), &options)?;
        let mut session = database.session();
        session.set_timeout(Some(limit));
        session.time_by(StoppingClock::new(clock, interrupt));
        Ok(Described { session, database, _folder: scratch })
    }
}

impl Statements for Described {
    fn set_limit(&mut self, limit: Duration) {
        self.session.set_timeout(Some(limit));
    }

    fn query(&mut self, text: &str, parameters: &Parameters) -> Result<QueryResult, Error> {
        self.session.query(text, parameters)
    }

    fn system(&self) -> Option<(String, String)> {
        Some((super::OWN_NAME.to_owned(), env!("CARGO_PKG_VERSION").to_owned()))
    }

    fn can_cool(&self) -> bool {
        true
    }

    fn cool(&mut self) -> Result<Option<&'static str>, Error> {
        self.database.forget(SOURCE)?;
        Ok(Some("what is cached of the source is forgotten; the caches of the source itself stay"))
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn folders_are_for_this_user_alone_and_have_names_of_their_own() {
        let [one, other] = [(); 2].map(|()| Scratch::new().expect("the folder can be written"));
        assert_ne!(one.0, other.0);
        #[cfg(unix)]
        {
            let mode = std::fs::metadata(&one.0).expect("it is there").permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o700);
        }
        let path = one.0.clone();
        drop(one);
        assert!(!path.exists() && other.0.exists());
    }
}
