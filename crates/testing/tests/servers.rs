//! The servers that tests start: they answer, are gone when dropped, and come back after they were killed.

use testing::servers::{self, Postgres, PostgresOptions};

#[test]
fn postgres_answers_and_comes_back() {
    let Some(server) = Postgres::start(&PostgresOptions::default()) else { return };
    server.database("one");
    server.run("one", "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, NULL);");
    let expected = [["1", "x"], ["2", ""]];
    assert_eq!(server.rows("one", "SELECT a, b FROM t ORDER BY a;"), expected);
    server.run("one", "CHECKPOINT;");
    server.server().kill();
    server.start_again();
    assert_eq!(server.rows("one", "SELECT a, b FROM t ORDER BY a;"), expected);
    server.server().pause();
    server.server().resume();
    server.server().stop();
    server.start_again();
    assert_eq!(server.rows("one", "SELECT count(*) FROM t;"), [["2"]]);
    let folder = server.server().folder().to_owned();
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn postgres_with_password_and_tls() {
    let options =
        PostgresOptions { password: Some("secret".to_owned()), needs_tls: true, ..PostgresOptions::default() };
    let Some(server) = Postgres::start(&options) else { return };
    assert_eq!(server.rows("postgres", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid();"), [["t"]]);
}

#[test]
fn redis_answers() {
    let Some(server) = servers::redis() else { return };
    server.run(0, "SET a 1\n");
    assert_eq!(server.run(0, "GET a\n"), "1\n");
}

#[test]
fn mariadb_answers() {
    let Some(server) = servers::mariadb() else { return };
    server.database("one");
    server.run("one", "CREATE TABLE t (a int primary key, b varchar(10)); INSERT INTO t VALUES (1, 'x'), (2, 'y');");
    assert_eq!(server.rows("one", "SELECT a, b FROM t ORDER BY a;"), [["1", "x"], ["2", "y"]]);
}
