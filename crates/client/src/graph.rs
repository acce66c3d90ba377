//! The place where a graph is: a store, which whoever opens it first has for all others, or a server.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use database::{Access, Config, Database};
use model::{Error, ErrorCode, Interrupt, Result, error};
use server::{Sharing, share};

use crate::address::Address;
use crate::remote::{Remote, Settings};
use crate::session::Session;
use crate::tls::Trust;
use crate::wire::{CONNECT_TIME, CONNECT_TIME_MIN, Wire, is_tick};

/// Time between two attempts to open a store that another process has, or to reach that; an attempt takes some 100 ms besides.
const PAUSE: Duration = Duration::from_millis(25);
/// Attempts to open a store first: whoever has it may just be opening or closing it.
const FIRST_ATTEMPTS: usize = 25;
/// Attempts for a store whose process has ended: one of the others opens it, and may have much to repeat.
const NEXT_ATTEMPTS: usize = 250;

/// A graph, wherever it is. A clone is another handle of the same.
#[derive(Clone)]
pub struct Graph(Arc<Inner>);

struct Inner {
    target: Target,
    config: Config,
    here: Mutex<Option<Here>>,
    /// A session in the other process that was made to see that it is there.
    spare: Mutex<Option<Remote>>,
    /// The name by which the other process called itself at first.
    agent: OnceLock<String>,
}

enum Target {
    Store(PathBuf),
    Server(Address),
}

/// A store that this process has open; others are let go before it is closed.
struct Here {
    _sharing: Option<Sharing>,
    database: Database,
}

/// The place at which a session is.
pub(crate) enum Place {
    Here(Database),
    There(Box<Remote>),
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Graph {
    /// The graph of the store in a directory. If another process has that open to write and shares it, sessions are over there, until
    /// it ends; then this process opens the store, or another one does.
    ///
    /// # Errors
    /// `BUSY` if another process has the store to write and does not share it, besides the errors of [`Database::open`].
    pub fn open(path: &Path, config: Config, interrupt: &Interrupt) -> Result<Graph> {
        let graph = Graph::new(Target::Store(path.to_path_buf()), config);
        let place = graph.settle(FIRST_ATTEMPTS, graph.settings(), interrupt)?;
        graph.keep(place);
        Ok(graph)
    }

    /// The graph of a database that this process has open for itself alone.
    pub fn of(database: Database) -> Graph {
        let graph = Graph::new(Target::Store(database.path().to_path_buf()), database.config().clone());
        *lock(&graph.0.here) = Some(Here { _sharing: None, database });
        graph
    }

    /// The graph of a server. Of the configuration, what is said of sessions holds.
    ///
    /// # Errors
    /// `CONNECTION` if it cannot be reached, or does not let the user in.
    pub fn connect(address: Address, config: Config, interrupt: &Interrupt) -> Result<Graph> {
        let graph = Graph::new(Target::Server(address), config);
        let place = graph.settle(FIRST_ATTEMPTS, graph.settings(), interrupt)?;
        graph.keep(place);
        Ok(graph)
    }

    fn new(target: Target, config: Config) -> Graph {
        Graph(Arc::new(Inner {
            target,
            config,
            here: Mutex::default(),
            spare: Mutex::default(),
            agent: OnceLock::new(),
        }))
    }

    fn keep(&self, place: Place) {
        if let Place::There(remote) = place {
            // It is set once, where the graph begins.
            let _ = self.0.agent.set(remote.agent().to_owned());
            *lock(&self.0.spare) = Some(*remote);
        }
    }

    /// A session.
    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }

    /// The configuration with which it was opened.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The name by which the server, or the process that has the store open, called itself at first.
    pub fn server_agent(&self) -> Option<&str> {
        self.0.agent.get().map(String::as_str)
    }

    /// The database, if this process has it open.
    pub fn database(&self) -> Option<Database> {
        lock(&self.0.here).as_ref().map(|here| here.database.clone())
    }

    /// The database, which must be open in this process to do what the verb says.
    ///
    /// # Errors
    /// `UNSUPPORTED` if it is elsewhere.
    pub fn database_to(&self, verb: &str) -> Result<Database> {
        match self.database() {
            Some(database) => Ok(database),
            // Its holder may have ended meanwhile.
            None => Ok(self.session().here_to(verb)?.database().clone()),
        }
    }

    /// The error of what the verb says, if the graph is not open in this process.
    pub(crate) fn is_elsewhere(&self, verb: &str) -> Error {
        error!(Unsupported, "{verb} works in the process that has the store open, and that is {}", self.place())
            .with_remedy("run it there, or once that process has ended")
    }

    /// The place of the graph, in words.
    pub fn place(&self) -> String {
        match &self.0.target {
            Target::Store(path) if self.database().is_some() => path.display().to_string(),
            Target::Store(path) => format!("the process that has {} open", path.display()),
            Target::Server(address) => address.to_string(),
        }
    }

    /// A place for a session that has none, or whose own is gone.
    pub(crate) fn settle_again(&self, settings: Settings, interrupt: &Interrupt) -> Result<Place> {
        if let Some(mut remote) = lock(&self.0.spare).take()
            && remote.settings() == settings
            && remote.is_alive()
        {
            return Ok(Place::There(Box::new(remote)));
        }
        self.settle(NEXT_ATTEMPTS, settings, interrupt)
    }

    /// Finds the place: this process if it has the store or can open it, the one that has it otherwise. For a time one that is just
    /// opening or closing it is waited for.
    fn settle(&self, attempts: usize, settings: Settings, interrupt: &Interrupt) -> Result<Place> {
        let path = match &self.0.target {
            Target::Store(path) => path,
            Target::Server(address) => return self.to_server(address, settings, interrupt),
        };
        let mut attempt = 0;
        loop {
            let mut here = lock(&self.0.here);
            if let Some(here) = &*here {
                return Ok(Place::Here(here.database.clone()));
            }
            if self.0.config.access != Access::ReadOnly
                && let Some(remote) = self.to_process(path, settings, interrupt)?
            {
                return Ok(Place::There(Box::new(remote)));
            }
            match Database::open_until(path, self.0.config.clone(), interrupt) {
                Ok(database) => {
                    // Others are told that the store is in use, as ever, where the file system has no sockets.
                    let sharing = share(&database).ok();
                    *here = Some(Here { _sharing: sharing, database: database.clone() });
                    return Ok(Place::Here(database));
                }
                Err(failure) if failure.code() == ErrorCode::Busy && attempt < attempts => {}
                Err(failure) => return Err(explained(failure)),
            }
            drop(here);
            interrupt.check_unpaused()?;
            std::thread::sleep(PAUSE);
            attempt += 1;
        }
    }

    /// The settings with which sessions begin.
    pub(crate) fn settings(&self) -> Settings {
        let config = &self.0.config;
        Settings { isolation: config.isolation, priority: config.priority, query_memory_max: config.query_memory_max }
    }

    /// A session in the process that has a store open; `None` if there is none that shares it. One that is there and says nothing, as
    /// one that is stopped, is an error: it would be silent at the next attempt too.
    fn to_process(&self, path: &Path, settings: Settings, interrupt: &Interrupt) -> Result<Option<Remote>> {
        let patience =
            self.0.config.timeout.map_or(CONNECT_TIME, |timeout| timeout.clamp(CONNECT_TIME_MIN, CONNECT_TIME));
        let reached = server::share::reach(path).and_then(|stream| Wire::to_process(stream, patience, interrupt));
        match reached {
            Ok(wire) => {
                let place = format!("the process that has {} open", path.display());
                Ok(Remote::log_in(wire, place, None, None, settings, interrupt).ok())
            }
            Err(cause) if is_tick(&cause) => {
                Err(error!(Busy, "the process that has {} open does not answer for {patience:?}", path.display())
                    .with_remedy("see whether it is stopped: the file LOCK in the store has its number; or read the store meanwhile (read only, -r)"))
            }
            Err(_) => interrupt.check_unpaused().map(|()| None),
        }
    }

    fn to_server(&self, address: &Address, settings: Settings, interrupt: &Interrupt) -> Result<Place> {
        let wire = Wire::to_server(&address.host, address.port, address.trust, interrupt).map_err(|cause| {
            error!(Connection, "cannot connect to {address}: {cause}")
                .with_remedy(match address.trust {
                    None => "see that a server listens there, as `knot serve STORE` does; with encryption the address begins with bolt+s://",
                    Some(Trust::Authorities) => "see that a server listens there with a certificate that this machine trusts; SSL_CERT_FILE names one that signed it, bolt+ssc:// takes any",
                    Some(Trust::Any) => "see that a server listens there with a certificate, as `knot serve STORE --tls-self-signed` does",
                })
        })?;
        let (login, database) = (address.login.as_ref(), address.database.clone());
        let remote = Remote::log_in(wire, address.to_string(), login, database, settings, interrupt)?;
        Ok(Place::There(Box::new(remote)))
    }
}

/// The error of a store that another process has, and does not share.
fn explained(failure: Error) -> Error {
    if failure.code() != ErrorCode::Busy {
        return failure;
    }
    failure.with_remedy(
        "that process does not let others write through it: close it there, or read the store meanwhile (read only, -r)",
    )
}
