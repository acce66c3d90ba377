//! A PostgreSQL server in a folder of its own.

use std::path::{Path, PathBuf};

use super::process::{Run, Server, as_user, free_port, run, server_folder};
use super::{certificates, program_or_skip, skip};

/// Options of a server.
#[derive(Clone, Debug, Default)]
pub struct PostgresOptions {
    /// The password that every connection needs; none if `None`.
    pub password: Option<String>,
    /// True if connections must use TLS, with a self-made certificate.
    pub needs_tls: bool,
    /// Further settings, `name=value`.
    pub settings: Vec<String>,
}

/// A PostgreSQL server with the superuser `postgres`.
#[derive(Debug)]
pub struct Postgres {
    server: Server,
    programs: PathBuf,
    password: Option<String>,
    authority: Option<PathBuf>,
}

impl Postgres {
    /// Makes and starts a server; `None`, said aloud, where PostgreSQL is not installed.
    pub fn start(options: &PostgresOptions) -> Option<Postgres> {
        let programs = installed()?;
        let folder = server_folder("postgres");
        let text = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let tool = |name: &str| programs.join(name).to_string_lossy().into_owned();
        let mut initdb = as_user("postgres");
        let authentication = if options.password.is_some() { "scram-sha-256" } else { "trust" };
        let words = ["-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"].map(str::to_owned);
        initdb.extend([tool("initdb"), "-D".to_owned(), text("data"), "-A".to_owned(), authentication.to_owned()]);
        initdb.extend(words);
        if let Some(password) = &options.password {
            std::fs::write(folder.join("password"), password).expect("the folder can be written");
            initdb.push(format!("--pwfile={}", text("password")));
        }
        run(&initdb, "").unwrap_or_else(|error| panic!("initdb: {error}"));
        let mut command = as_user("postgres");
        let (port, mut authority) = (free_port(), None);
        command.extend([tool("postgres"), "-D".to_owned(), text("data"), "-p".to_owned(), port.to_string()]);
        let mut settings = options.settings.clone();
        let sockets = format!("unix_socket_directories={}", folder.display());
        settings.extend(["listen_addresses=127.0.0.1".to_owned(), sockets, "fsync=off".to_owned()]);
        if options.needs_tls {
            let Some(certificate) = certificates::make(&folder) else {
                skip("PostgreSQL with TLS: openssl is not installed; scripts/servers.sh installs it");
                return None;
            };
            settings.extend(tls(&folder, &certificate));
            authority = Some(certificate.authority);
        }
        settings.into_iter().for_each(|setting| command.extend(["-c".to_owned(), setting]));
        let server = Server::start(folder, Run { command, port }).expect("PostgreSQL starts");
        let postgres = Postgres { server, programs, password: options.password.clone(), authority };
        postgres.wait_until_ready();
        Some(postgres)
    }

    /// The process, to be stopped, killed and paused.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The certificate of the authority that signed the server's, if it needs TLS.
    pub fn authority(&self) -> Option<&Path> {
        self.authority.as_deref()
    }

    /// The URL of a database, without a password.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.server.port())
    }

    /// Makes an empty database, which must not be there, and gives its URL.
    pub fn database(&self, name: &str) -> String {
        self.run("postgres", &format!("CREATE DATABASE \"{name}\";"));
        self.url(name)
    }

    /// Runs statements in a database, as `psql` reads them; fails the test if one fails.
    pub fn run(&self, database: &str, statements: &str) {
        self.psql(database, statements).unwrap_or_else(|error| panic!("psql: {error}"));
    }

    /// The rows of a query, each value as text.
    pub fn rows(&self, database: &str, query: &str) -> Vec<Vec<String>> {
        let text = self.psql(database, query).unwrap_or_else(|error| panic!("psql: {error}"));
        text.lines().map(|line| line.split('\u{1f}').map(str::to_owned).collect()).collect()
    }

    /// Starts the server again and waits until it answers.
    pub fn start_again(&self) {
        self.server.start_again();
        self.wait_until_ready();
    }

    fn psql(&self, database: &str, input: &str) -> Result<String, String> {
        let mut command = Vec::new();
        if let Some(password) = &self.password {
            command.extend(["env".to_owned(), format!("PGPASSWORD={password}")]);
        }
        let program = self.programs.join("psql").to_string_lossy().into_owned();
        let mode = ["-X", "-q", "-A", "-t", "-F", "\u{1f}", "-v", "ON_ERROR_STOP=1", "-f", "-", "-d"];
        command.push(program);
        command.extend(mode.map(str::to_owned));
        command.push(self.url(database));
        run(&command, input)
    }

    fn wait_until_ready(&self) {
        for _ in 0..1_000 {
            if self.psql("postgres", "SELECT 1;").is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("PostgreSQL does not answer: {}", self.server.log());
    }
}

/// The folder of the newest version's programs.
fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<u32> = versions.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    let folders = versions.iter().rev().map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    let initdb = program_or_skip("PostgreSQL", "initdb", &folders.collect::<Vec<_>>())?;
    initdb.parent().map(Path::to_owned)
}

/// Settings that make TLS a must.
fn tls(folder: &Path, certificate: &certificates::Certificate) -> Vec<String> {
    let mut chown = vec!["chown".to_owned(), "postgres".to_owned()];
    chown.push(certificate.key.to_string_lossy().into_owned());
    if !as_user("postgres").is_empty() {
        run(&chown, "").unwrap_or_else(|error| panic!("chown: {error}"));
    }
    // Over plain connections nobody is let in.
    let rules = folder.join("hba");
    std::fs::write(&rules, "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n").expect("is writable");
    vec![
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", certificate.certificate.display()),
        format!("ssl_key_file={}", certificate.key.display()),
        format!("hba_file={}", rules.display()),
    ]
}
