//! A MariaDB server in a folder of its own.

use super::process::{Run, Server, as_user, free_port, run, server_folder};
use super::program_or_skip;

/// A MariaDB server with the user `root`, who has no password.
#[derive(Debug)]
pub struct Mariadb {
    server: Server,
}

impl Mariadb {
    /// Makes and starts a server; `None`, said aloud, where MariaDB is not installed.
    pub fn start() -> Option<Mariadb> {
        let folders = ["/usr/sbin".into(), "/usr/bin".into()];
        let program = program_or_skip("MariaDB", "mariadbd", &folders)?;
        let install = program_or_skip("MariaDB", "mariadb-install-db", &folders)?;
        let (folder, port) = (server_folder("mysql"), free_port());
        let data = format!("--datadir={}", folder.join("data").display());
        let words = ["--no-defaults", &data, "--auth-root-authentication-method=normal", "--skip-test-db"];
        let mut make = vec![install.to_string_lossy().into_owned()];
        make.extend(words.map(str::to_owned));
        let mut command = as_user("mysql");
        if !command.is_empty() {
            make.push("--user=mysql".to_owned());
        }
        run(&make, "").unwrap_or_else(|error| panic!("mariadb-install-db: {error}"));
        command.extend([program.to_string_lossy().into_owned(), "--no-defaults".to_owned(), data]);
        command.push(format!("--socket={}", folder.join("socket").display()));
        command.push(format!("--pid-file={}", folder.join("server.pid").display()));
        command.extend([format!("--port={port}"), "--bind-address=127.0.0.1".to_owned()]);
        command.extend(["--innodb-flush-log-at-trx-commit=0", "--character-set-server=utf8mb4"].map(str::to_owned));
        let server = Server::start(folder, Run { command, port }).expect("MariaDB starts");
        Some(Mariadb { server })
    }

    /// The process, to be stopped, killed and paused.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The URL of a database, without a password.
    pub fn url(&self, database: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{database}", self.server.port())
    }

    /// Makes an empty database, which must not be there, and gives its URL.
    pub fn database(&self, name: &str) -> String {
        self.run("mysql", &format!("CREATE DATABASE `{name}`;"));
        self.url(name)
    }

    /// Runs statements in a database, as `mariadb` reads them; fails the test if one fails.
    pub fn run(&self, database: &str, statements: &str) {
        self.client(database, statements);
    }

    /// The rows of a query, each value as text.
    pub fn rows(&self, database: &str, query: &str) -> Vec<Vec<String>> {
        let text = self.client(database, query);
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    }

    fn client(&self, database: &str, input: &str) -> String {
        let port = format!("--port={}", self.server.port());
        let words = ["mariadb", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--user=root", "--batch"];
        let mut command: Vec<String> = words.map(str::to_owned).to_vec();
        command.extend([port, "--skip-column-names".to_owned(), database.to_owned()]);
        run(&command, input).unwrap_or_else(|error| panic!("mariadb: {error}"))
    }
}
