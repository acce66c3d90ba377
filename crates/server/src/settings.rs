//! Settings of a server.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bolt::Version;
use database::FileAccess;
use database::line_log::LineLog;

use crate::databases::Folder;
use crate::tls::Tls;

/// The name that drivers look at: most refuse a server that does not begin like this.
pub(crate) fn agent() -> String {
    format!("Neo4j/{} (Knotwork {})", database::tools::NEO4J_VERSION, env!("CARGO_PKG_VERSION"))
}

/// Clients that may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Users with a password, which stand in this file.
    Users(PathBuf),
    /// Everybody who reaches the address.
    Everybody,
}

/// Something that is told news in words.
#[derive(Clone)]
pub struct Notice(pub Arc<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notice")
    }
}

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses to listen on.
    pub listen: Vec<SocketAddr>,
    /// Clients that may come in.
    pub admission: Admission,
    /// Folder of the databases that are made by statements; `None` if there are none.
    pub databases: Option<Folder>,
    /// Files that statements of clients over the network may name.
    pub files: FileAccess,
    /// Memory limit in bytes of the statements of one user together; `None` for no limit.
    pub user_memory_bytes_max: Option<usize>,
    /// Log of logins and of commands about databases and users.
    pub audit_log: Option<Arc<LineLog>>,
    /// TLS; `None` if there is none.
    pub tls: Option<Tls>,
    /// The address to give to clients that ask for a route and do not say what they dialled.
    pub advertised: Option<String>,
    /// The newest version of the protocol that is offered.
    pub newest: Version,
    /// The most connections.
    pub connections_max: usize,
    /// The most statements at work, and threads for them.
    pub statements_max: usize,
    /// The most bytes of a message.
    pub message_bytes_max: usize,
    /// The longest time that a statement may take, whatever its client says; `None` for no limit.
    pub timeout: Option<Duration>,
    /// The longest time that a transaction may be open without a request.
    pub idle_transaction: Duration,
    /// The longest time that a transaction over HTTP may be open without a request: its client may be gone without a sign.
    pub idle_http_transaction: Duration,
    /// Sites, such as `https://example.com`, whose pages may reach the server, besides those of this machine.
    pub origins: Vec<String>,
    /// The longest time that a statement waits for its client to take rows before it goes on without.
    pub patience: Duration,
    /// The longest time that statements at work have when the server ends.
    pub drain: Duration,
    /// Time after which the client of a statement that lasts hears that the server is alive. Drivers are told twice that time.
    pub keep_alive: Duration,
    /// Told what whoever runs the server is to know.
    pub notice: Notice,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listen: Vec::new(),
            admission: Admission::Everybody,
            databases: None,
            files: FileAccess::Nowhere,
            user_memory_bytes_max: None,
            audit_log: None,
            tls: None,
            advertised: None,
            newest: Version::ALL[0],
            connections_max: 1_000,
            statements_max: 64,
            message_bytes_max: 16 << 20,
            timeout: None,
            idle_transaction: Duration::from_secs(600),
            idle_http_transaction: Duration::from_secs(60),
            origins: Vec::new(),
            patience: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            keep_alive: Duration::from_secs(30),
            notice: Notice(Arc::new(|_| ())),
        }
    }
}
