//! Sessions of our own clients: they have the semantics of a session in the same process. A statement that fails is undone alone, and
//! `RESET` stops a statement, but leaves the transaction open; a time limit is one of each statement.

use std::path::PathBuf;

use bolt::message::{Map, get, text};
use bolt::{Value, own};
use database::{FileAccess, IsolationLevel, Priority, Session};

/// Settings of the session of one of our own clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    isolation: Option<IsolationLevel>,
    priority: Option<Priority>,
    query_memory: Option<usize>,
    folder: Option<PathBuf>,
}

impl Own {
    /// Those that `HELLO` names; `None` if the client is another.
    pub(crate) fn of_hello(fields: &Map) -> Option<Own> {
        let Some(Value::Map(settings)) = get(fields, own::HELLO) else { return None };
        let isolation = match text(settings, own::ISOLATION) {
            Some("serializable") => Some(IsolationLevel::Serializable),
            Some("snapshot") => Some(IsolationLevel::Snapshot),
            _ => None,
        };
        let priority = text(settings, own::PRIORITY).and_then(Priority::of_name);
        let query_memory = match get(settings, own::QUERY_MEMORY) {
            Some(Value::Int(bytes)) => usize::try_from(*bytes).ok(),
            _ => None,
        };
        let folder = text(settings, own::FOLDER).map(PathBuf::from);
        Some(Own { isolation, priority, query_memory, folder })
    }

    /// Gives them to a session. Over the network, where others than the owner of the process may come, the priority and the memory of
    /// statements stay what the server has.
    pub(crate) fn set(&self, session: &mut Session, is_network: bool) {
        if let Some(isolation) = self.isolation {
            session.set_isolation(isolation);
        }
        if is_network {
            return;
        }
        if let Some(priority) = self.priority {
            session.set_priority(priority);
        }
        session.set_files(FileAccess::Everywhere(self.folder.clone()));
        if self.query_memory.is_some() {
            session.set_query_memory(self.query_memory);
        }
    }
}
