//! A Redis server in a folder of its own.

use std::path::{Path, PathBuf};

use super::process::{Run, Server, free_port, run, server_folder};
use super::{certificates, program_or_skip, skip};

/// Options of a server.
#[derive(Clone, Debug, Default)]
pub struct RedisOptions {
    /// The password that every connection needs; none if `None`.
    pub password: Option<String>,
    /// True if connections must use TLS, with a self-made certificate.
    pub needs_tls: bool,
}

/// A Redis server that keeps nothing on disk.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    options: RedisOptions,
    authority: Option<PathBuf>,
}

impl Redis {
    /// Makes and starts a server; `None`, said aloud, where Redis is not installed.
    pub fn start(options: &RedisOptions) -> Option<Redis> {
        let program = program_or_skip("Redis", "redis-server", &["/usr/bin".into()])?;
        let (folder, port) = (server_folder("redis"), free_port());
        let mut command = vec![program.to_string_lossy().into_owned()];
        let mut set = |name: &str, value: &str| command.extend([format!("--{name}"), value.to_owned()]);
        set("bind", "127.0.0.1");
        set("dir", &folder.to_string_lossy());
        set("save", "");
        set("appendonly", "no");
        let mut authority = None;
        if options.needs_tls {
            let Some(certificate) = certificates::make(&folder) else {
                skip("Redis with TLS: openssl is not installed; scripts/servers.sh installs it");
                return None;
            };
            set("port", "0");
            set("tls-port", &port.to_string());
            set("tls-cert-file", &certificate.certificate.to_string_lossy());
            set("tls-key-file", &certificate.key.to_string_lossy());
            set("tls-ca-cert-file", &certificate.authority.to_string_lossy());
            set("tls-auth-clients", "no");
            authority = Some(certificate.authority);
        } else {
            set("port", &port.to_string());
        }
        if let Some(password) = &options.password {
            set("requirepass", password);
        }
        let server = Server::start(folder, Run { command, port }).expect("Redis starts");
        Some(Redis { server, options: options.clone(), authority })
    }

    /// The process, to be stopped, killed and paused. What it held is lost when it ends.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The certificate of the authority that signed the server's, if it needs TLS.
    pub fn authority(&self) -> Option<&Path> {
        self.authority.as_deref()
    }

    /// The URL of a database by number, without a password.
    pub fn url(&self, database: u8) -> String {
        let scheme = if self.options.needs_tls { "rediss" } else { "redis" };
        format!("{scheme}://127.0.0.1:{}/{database}", self.server.port())
    }

    /// Runs commands, a line each, in a database, as `redis-cli` reads them; its answers.
    pub fn run(&self, database: u8, commands: &str) -> String {
        let port = self.server.port().to_string();
        let mut command = ["redis-cli", "-p", &port, "-n", &database.to_string()].map(str::to_owned).to_vec();
        if let Some(password) = &self.options.password {
            command.extend(["--no-auth-warning", "-a", password].map(str::to_owned));
        }
        if let Some(authority) = &self.authority {
            command.extend(["--tls", "--cacert", &authority.to_string_lossy()].map(str::to_owned));
        }
        run(&command, commands).unwrap_or_else(|error| panic!("redis-cli: {error}"))
    }
}
