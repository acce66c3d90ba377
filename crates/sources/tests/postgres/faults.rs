//! Faults: servers that die, halt or refuse, tables that are not as the definition says, rows that do not fit.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::{Column, Direction, ErrorCode, Value};
use sources::connect::connect;
use sources::connector::{Question, Which};
use testing::servers::{self, Postgres, PostgresOptions};

use super::{PEOPLE, PEOPLE_DEFINITION, all_nodes, database, definition, names, people, rows};

/// The error of reading all nodes with all properties.
fn failure(url: &str, json: &str) -> model::Error {
    let connector = connect(url, &definition(json)).unwrap();
    let properties: Vec<usize> = (0..definition(json).nodes[0].properties.len()).collect();
    let asked = connector.read().unwrap().ask(&[all_nodes(&properties)], &mut |_, _| Ok(true));
    asked.expect_err("this cannot be read")
}

#[test]
fn a_server_that_dies_in_the_middle_is_an_error_and_then_forgotten() {
    let Some(server) = Postgres::start(&PostgresOptions::default()) else { return };
    let many = "CREATE TABLE person (id int PRIMARY KEY, name text, born date);
        INSERT INTO person SELECT n, 'name ' || n, NULL FROM generate_series(1, 300000) n; CHECKPOINT;";
    let (_, url) = database(&server, many);
    let json = r#"{ "nodes": { "person": { "table": "person", "key": "id", "properties": ["id", "name"] } } }"#;
    let connector = connect(&url, &definition(json)).unwrap();
    let mut reading = connector.read().unwrap();
    let stream = reading.start(&all_nodes(&[1])).unwrap();
    assert_eq!(reading.more(stream, 1_000).unwrap().unwrap()[0].len(), 1_000);
    let kept = connector.read().unwrap();
    drop(kept);
    server.server().kill();
    // Rows that arrived before the end may still be given; then the error says where.
    let lost = loop {
        match reading.more(stream, 1_000) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the end of what is not whole"),
            Err(lost) => break lost,
        }
    };
    assert_eq!(lost.code(), ErrorCode::Source, "{lost}");
    for part in ["127.0.0.1", "nodes person", "the connection was lost", "SELECT n.\"id\", n.\"name\" FROM \"person\""]
    {
        assert!(lost.message().contains(part), "{part} in {lost}");
    }
    // The snapshot is gone, and is not replaced by another in silence.
    let gone = reading.ask(&[all_nodes(&[])], &mut |_, _| Ok(true)).unwrap_err();
    assert!(gone.message().contains("the snapshot is gone"), "{gone}");
    let down = connector.read().unwrap().ask(&[all_nodes(&[])], &mut |_, _| Ok(true)).unwrap_err();
    assert!(down.message().contains("cannot connect"), "{down}");
    server.start_again();
    assert_eq!(
        rows(connector.read().unwrap().as_mut(), Question::CountNodes { kind: 0, which: Which::All }),
        [[Value::Int(300_000)]]
    );
}

#[test]
fn connections_that_were_kept_are_replaced() {
    let Some(server) = Postgres::start(&PostgresOptions::default()) else { return };
    let (database, connector) = people(&server);
    let mut several: Vec<_> = (0..4).map(|_| connector.read().unwrap()).collect();
    several.iter_mut().for_each(|reading| assert_eq!(names(reading.as_mut()).len(), 3));
    drop(several);
    server.run(&database, "CHECKPOINT;");
    server.server().kill();
    server.start_again();
    // All kept connections are dead, and nobody notices.
    for _ in 0..6 {
        assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
    }
    // One that the server closes.
    let mut reading = connector.read().unwrap();
    assert_eq!(names(reading.as_mut()).len(), 3);
    drop(reading);
    let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'knotwork';";
    server.run(&database, others);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
}

#[test]
fn a_slow_server_is_not_waited_for_for_ever() {
    let Some(server) = Postgres::start(&PostgresOptions::default()) else { return };
    let (_, url) = database(&server, PEOPLE);
    let connector =
        connect(&format!("{url}?timeout_ms=400&connect_timeout_ms=400"), &definition(PEOPLE_DEFINITION)).unwrap();
    let mut reading = connector.read().unwrap();
    assert_eq!(names(reading.as_mut()).len(), 3);
    server.server().pause();
    let late = reading.ask(&[all_nodes(&[])], &mut |_, _| Ok(true)).unwrap_err();
    assert!(late.message().contains("no answer within 400ms"), "{late}");
    // A new connection is taken by the network, and then nobody speaks.
    let silent = connector.read().unwrap().ask(&[all_nodes(&[])], &mut |_, _| Ok(true)).unwrap_err();
    assert!(silent.message().contains("no answer within 400ms"), "{silent}");
    server.server().resume();
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
    // The server itself ends what takes too long.
    let slow = r#"{ "nodes": { "slow": { "sql": "SELECT 1 AS id, pg_sleep(5)::text AS nap", "key": "id", "properties": ["nap"] } } }"#;
    let long = failure(&format!("{url}?timeout_ms=300"), slow);
    assert!(long.message().contains("statement timeout"), "{long}");
    assert!(long.remedy().contains("statement_timeout"), "{}", long.remedy());
}

#[test]
fn tables_that_are_not_as_the_definition_says() {
    let Some(server) = servers::postgres() else { return };
    let (database, connector) = people(server);
    assert_eq!(names(connector.read().unwrap().as_mut()).len(), 3);
    server.run(&database, "ALTER TABLE person RENAME COLUMN name TO title;");
    let asked = connector.read().unwrap().ask(&[all_nodes(&[1])], &mut |_, _| Ok(true)).unwrap_err();
    assert_eq!(asked.code(), ErrorCode::Definition, "{asked}");
    assert!(asked.message().contains("name does not exist"), "{asked}");
    assert!(asked.remedy().contains("knot source check"), "{}", asked.remedy());
    // Another type under the same name is read as it is.
    server.run(
        &database,
        "ALTER TABLE person RENAME COLUMN title TO name; ALTER TABLE person ALTER COLUMN born TYPE text;",
    );
    let found = rows(connector.read().unwrap().as_mut(), all_nodes(&[2]));
    assert_eq!(found[0][1], Value::string("1990-01-02"));
    server.run(&database, "DROP TABLE knows;");
    let mut reading = connector.read().unwrap();
    let gone = reading.ask(&[Question::CountEdges { kind: 1 }], &mut |_, _| Ok(true)).unwrap_err();
    assert_eq!(gone.code(), ErrorCode::Definition, "{gone}");
    assert!(gone.message().contains("edges knows") && gone.message().contains("\"knows\" does not exist"), "{gone}");
    drop(reading);
    let missing = connector.facts().unwrap_err();
    assert!(missing.message().contains("there is no table \"knows\""), "{missing}");
}

#[test]
fn rows_that_do_not_fit() {
    let Some(server) = servers::postgres() else { return };
    let (_, url) = database(
        server,
        "CREATE TABLE t (id int, age text, day date); INSERT INTO t VALUES (1, '7', NULL), (NULL, '8', NULL), (3, 'seven', 'infinity');
         CREATE TABLE likes (a int, b int); INSERT INTO likes VALUES (1, 3), (1, 99), (NULL, 1), (3, NULL);",
    );
    let json = |properties: &str| {
        format!(
            r#"{{ "nodes": {{ "t": {{ "table": "t", "key": "id", "properties": [{properties}] }} }},
            "edges": {{ "likes": {{ "table": "likes", "source": "t(a)", "target": "t(b)" }} }} }}"#
        )
    };
    let odd = failure(&url, &json(r#"{ "name": "age", "type": "INTEGER" }"#));
    assert_eq!(odd.code(), ErrorCode::Definition, "{odd}");
    assert!(odd.message().contains("t.age: the value 'seven' of the row with key 3"), "{odd}");
    let endless = failure(&url, &json(r#""day""#));
    assert!(endless.message().contains("the column day holds the date infinity"), "{endless}");
    // A row without a key is no node, one without an end no edge; a key that leads nowhere is an error for its reader.
    let connector = connect(&url, &definition(&json(r#""age""#))).unwrap();
    let mut reading = connector.read().unwrap();
    assert_eq!(rows(reading.as_mut(), all_nodes(&[])), [[Value::Int(1)], [Value::Int(3)]]);
    let of = Which::All;
    let edges = rows(reading.as_mut(), Question::Edges { kind: 0, direction: Direction::Out, of, properties: &[] });
    assert_eq!(edges.len(), 2);
    assert!(!connector.facts().unwrap().edges[0].ends_exist.1);
}

#[test]
fn passwords_and_certificates() {
    let options =
        PostgresOptions { password: Some("s3cret".to_owned()), needs_tls: true, ..PostgresOptions::default() };
    let Some(server) = Postgres::start(&options) else { return };
    let (_, url) = database(&server, PEOPLE);
    let with = |password: &str, settings: &str| {
        let url = url.replace("postgres@", &format!("postgres:{password}@"));
        let connector = connect(&format!("{url}?{settings}"), &definition(PEOPLE_DEFINITION)).unwrap();
        let mut reading = connector.read().unwrap();
        reading.ask(&[all_nodes(&[])], &mut |_, _| Ok(true))
    };
    let authority = server.authority().unwrap().display().to_string();
    with("s3cret", "sslmode=require").unwrap();
    with("s3cret", "").unwrap();
    with("s3cret", &format!("sslmode=verify-full&sslrootcert={authority}")).unwrap();
    let check = |password: &str, settings: &str, part: &str| {
        let refused = with(password, settings).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Source, "{refused}");
        assert!(refused.message().contains(part), "{part} in {refused}");
        assert!(!format!("{refused:?}").contains(password), "{refused:?}");
    };
    check("wr0ng", "sslmode=require", "password authentication failed");
    check("s3cret", "sslmode=disable", "no encryption");
    let other = testing::Folder::new();
    let strange = servers::certificates::make(other.path()).unwrap().authority.display().to_string();
    check("s3cret", &format!("sslmode=verify-ca&sslrootcert={strange}"), "TLS");
    check("s3cret", "sslmode=verify-full", "no authority is named");
    let Some(plain) = servers::postgres() else { return };
    let connector =
        connect(&format!("{}?sslmode=require", plain.url("postgres")), &definition(PEOPLE_DEFINITION)).unwrap();
    let refused = connector.facts().unwrap_err();
    assert!(refused.message().contains("does not speak TLS"), "{refused}");
}

#[test]
fn many_sessions_share_few_connections() {
    let Some(server) = servers::postgres() else { return };
    let (database, url) = database(server, PEOPLE);
    let connector = connect(&format!("{url}?pool_size=8"), &definition(PEOPLE_DEFINITION)).unwrap();
    let (done, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for number in 0..200 {
            let (connector, done) = (&connector, &done);
            scope.spawn(move || {
                let mut reading = connector.read().unwrap();
                let keys = Column::from_values(&[Value::Int(1 + number % 3)]);
                let which = Which::Keys(&keys);
                for _ in 0..5 {
                    let question =
                        Question::Nodes { kind: 0, which: which.clone(), properties: &[1], order: &[], limit: None };
                    assert_eq!(rows(reading.as_mut(), question).len(), 1);
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        let open = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' AND application_name = 'knotwork';"
        );
        for _ in 0..5 {
            let count: usize = server.rows("postgres", &open)[0][0].parse().unwrap();
            most.fetch_max(count, Ordering::Relaxed);
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 200);
    assert!(most.load(Ordering::Relaxed) <= 8, "{most:?}");
}

/// The first request may be any that the user has no right to: the answer comes and says so.
#[test]
fn what_the_user_may_not_do_is_said() {
    let Some(server) = servers::postgres() else { return };
    let (_, url) = database(
        server,
        "CREATE ROLE limited LOGIN; CREATE TABLE open (id int PRIMARY KEY, v int); INSERT INTO open VALUES (1, 1);
        GRANT SELECT ON open TO limited; CREATE TABLE shut (id int PRIMARY KEY, v int); CREATE TABLE t (id int PRIMARY KEY, v int GENERATED ALWAYS AS (id * 2) STORED); INSERT INTO t VALUES (1);",
    );
    super::types::check_computed(&url);
    let limited = url.replacen("postgres@", "limited@", 1);
    assert_ne!(limited, url);
    let table = r#"{ "nodes": { "T": { "table": "shut", "show-key": false, "properties": ["v"] } } }"#;
    let query = r#"{ "nodes": { "T": { "sql": "SELECT id, v FROM shut", "properties": ["v"] } } }"#;
    let by_key = r#"{ "nodes": { "T": { "sql": "SELECT v FROM shut WHERE id = ?", "properties": ["v"] } } }"#;
    for json in [table, query, by_key] {
        let connector = connect(&limited, &definition(json)).unwrap();
        let found = super::silent::ends(json, move || (connector.facts().err(), connector.check()));
        let key = Column::from_values([&Value::Int(1)]);
        let asked = |which| {
            let connector = connect(&limited, &definition(json)).unwrap();
            let question = Question::Nodes { kind: 0, which, properties: &[0], order: &[], limit: None };
            connector.read().unwrap().ask(&[question], &mut |_, _| Ok(true)).unwrap_err()
        };
        for failure in found.0.into_iter().chain([asked(Which::Keys(&key))]) {
            assert_eq!(failure.code(), ErrorCode::Source, "{failure}");
            assert!(failure.message().contains("permission denied for table shut"), "{failure}");
            assert!(failure.remedy().contains("grant the right"), "{}", failure.remedy());
        }
        match found.1 {
            Ok(findings) => {
                let says = |text: &str| findings.iter().any(|finding| finding.message.contains(text));
                assert!(says("permission denied") && !says("there is no table"), "{findings:?}");
            }
            Err(failure) => assert!(failure.message().contains("permission denied"), "{failure}"),
        }
    }
    let open = r#"{ "nodes": { "T": { "table": "open", "show-key": false, "properties": ["v"] } } }"#;
    let connector = connect(&limited, &definition(open)).unwrap();
    let failure = super::silent::ends("a change", move || {
        let (keys, values) = (Column::from_values([&Value::Int(1)]), Column::from_values([&Value::Int(5)]));
        let change = sources::connector::Change::UpdateNodes { kind: 0, keys: &keys, property: 0, values: &values };
        connector.write().unwrap().change(&change).unwrap_err()
    });
    assert!(failure.message().contains("permission denied for table open"), "{failure}");
}
