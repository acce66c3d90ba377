//! Real servers for tests: PostgreSQL, Redis and MariaDB, started on a random port of this machine and gone with the test; and
//! the library of DuckDB.
//!
//! - [`process`]: a server as a process that can be stopped, killed, paused and started again.
//! - [`postgres`](mod@postgres_server), [`redis`](mod@redis_server), [`mariadb`](mod@mariadb_server): how each is made.
//!
//! One of each serves all tests of a process; a test that breaks its server starts one of its own. What is not installed is
//! `None`, said aloud and counted by `scripts/test.sh`; `scripts/servers.sh` installs it.

use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

pub mod certificates;
pub mod mariadb_server;
pub mod postgres_server;
pub mod process;
pub mod redis_server;

pub use mariadb_server::Mariadb;
pub use postgres_server::{Postgres, PostgresOptions};
pub use redis_server::{Redis, RedisOptions};

/// The PostgreSQL server of this test process: no password, no TLS.
pub fn postgres() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Option<Postgres>> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::start(&PostgresOptions::default())).as_ref()
}

/// The Redis server of this test process: no password, no TLS.
pub fn redis() -> Option<&'static Redis> {
    static SERVER: OnceLock<Option<Redis>> = OnceLock::new();
    SERVER.get_or_init(|| Redis::start(&RedisOptions::default())).as_ref()
}

/// The MariaDB server of this test process: user `root` without a password.
pub fn mariadb() -> Option<&'static Mariadb> {
    static SERVER: OnceLock<Option<Mariadb>> = OnceLock::new();
    SERVER.get_or_init(Mariadb::start).as_ref()
}

/// The file of DuckDB's library.
pub fn duckdb_library() -> Option<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/duckdb");
    let files = std::fs::read_dir(folder).ok().into_iter().flatten().flatten();
    let found = files.map(|entry| entry.path()).find(|file| file.file_stem().is_some_and(|name| name == "libduckdb"));
    if found.is_none() {
        skip("DuckDB: its library is not there; scripts/servers.sh fetches it");
    }
    found
}

/// The path of a program, in `PATH` or in one of the folders.
fn program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().cloned().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The path of a program; says aloud that tests are skipped if there is none.
pub fn program_or_skip(server: &str, name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let found = program(name, folders);
    if found.is_none() {
        skip(&format!("{server}: {name} is not installed; scripts/servers.sh installs it"));
    }
    found
}

/// Says that a test is skipped, in the file that `scripts/test.sh` names and counts, and on standard error.
pub fn skip(reason: &str) {
    if let Some(path) = std::env::var_os("KNOTWORK_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| writeln!(file, "{reason}"));
    }
    let _ = writeln!(std::io::stderr(), "SKIPPED {reason}");
}
