//! Procedures that tools made for Neo4j call: the shape of the graph, and transactions that others see and end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use database::administration::{Administrator, Command, DatabaseRow, UserRow};
use database::{Client, Config, Database, ErrorCode, Interrupt, Parameters, Result, Session, Site, Value};
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

fn open(folder: &Folder) -> Database {
    Database::open(&folder.join("s.knot"), Config::default()).expect("a store can be opened")
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let result = session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let row = |row: Vec<Value>| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    let mut rows: Vec<String> = result.rows().map(row).collect();
    rows.sort();
    rows
}

const GRAPH: &[&str] = &[
    "CREATE CONSTRAINT one_name FOR (p:Person) REQUIRE p.name IS UNIQUE",
    "CREATE CONSTRAINT has_name FOR (p:Person) REQUIRE p.name IS NOT NULL",
    "CREATE INDEX by_year FOR (m:Movie) ON (m.year)",
    "CREATE (:Person:Actor {name: 'Ann', born: date('1970-01-02'), tags: ['a', 'b']}), (:Person {name: 'Bob', rating: 1})",
    "CREATE (:Movie {year: 1999, rating: 4.5}), (:Movie {year: 2003, rating: 4}), ({lost: true})",
    "MATCH (p:Person {name: 'Ann'}), (m:Movie) CREATE (p)-[:ACTED_IN {roles: ['x']}]->(m)",
    "MATCH (a:Person {name: 'Ann'}), (b:Person {name: 'Bob'}) CREATE (b)-[:KNOWS {since: datetime('2020-01-01T00:00Z')}]->(a)",
];

/// The queries of LangChain, LlamaIndex and neo4j-graphrag, and what they find.
const NODE_PROPERTIES: &str = "CALL apoc.meta.data({sample: 1000}) YIELD label, other, elementType, type, property \
    WHERE NOT type = 'RELATIONSHIP' AND elementType = 'node' \
    WITH label AS nodeLabel, property, type ORDER BY property \
    WITH nodeLabel, collect({property: property, type: type}) AS properties RETURN nodeLabel, properties";
const REL_PROPERTIES: &str = "CALL apoc.meta.data({sample: 1000}) YIELD label, other, elementType, type, property \
    WHERE NOT type = 'RELATIONSHIP' AND elementType = 'relationship' RETURN label, property, type";
const RELATIONSHIPS: &str = "CALL apoc.meta.data({sample: 1000}) YIELD label, other, elementType, type, property \
    WHERE type = 'RELATIONSHIP' AND elementType = 'node' UNWIND other AS other_node \
    RETURN label, property, toString(other_node)";
const MCP: &str = "CALL apoc.meta.schema({sample: 100}) YIELD value UNWIND keys(value) AS key WITH key, value[key] AS value \
    RETURN key, value.type, value.count, keys(value.relationships), keys(value.properties)";

/// Questions about the graph, and the rows that answer them.
const SHAPE: &[(&str, &[&str])] = &[
    (
        NODE_PROPERTIES,
        &[
            "'Actor' | [{property: 'born', type: 'DATE'}, {property: 'name', type: 'STRING'}, {property: 'tags', type: 'LIST'}]",
            "'Movie' | [{property: 'rating', type: 'FLOAT'}, {property: 'year', type: 'INTEGER'}]",
            "'Person' | [{property: 'born', type: 'DATE'}, {property: 'name', type: 'STRING'}, \
             {property: 'rating', type: 'INTEGER'}, {property: 'tags', type: 'LIST'}]",
        ],
    ),
    (REL_PROPERTIES, &["'ACTED_IN' | 'roles' | 'LIST'", "'KNOWS' | 'since' | 'DATE_TIME'"]),
    (
        RELATIONSHIPS,
        &[
            "'Actor' | 'ACTED_IN' | 'Movie'", "'Person' | 'ACTED_IN' | 'Movie'", "'Person' | 'KNOWS' | 'Actor'",
            "'Person' | 'KNOWS' | 'Person'",
        ],
    ),
    (
        MCP,
        &[
            "'ACTED_IN' | 'relationship' | 2 | null | ['roles']",
            "'Actor' | 'node' | 1 | ['ACTED_IN', 'KNOWS'] | ['born', 'name', 'tags']",
            "'KNOWS' | 'relationship' | 1 | null | ['since']",
            "'Movie' | 'node' | 2 | ['ACTED_IN'] | ['rating', 'year']",
            "'Person' | 'node' | 2 | ['ACTED_IN', 'KNOWS'] | ['born', 'name', 'rating', 'tags']",
        ],
    ),
    (
        "CALL db.schema.nodeTypeProperties()",
        &[
            "'' | [] | 'lost' | ['Boolean'] | false",
            "':`Movie`' | ['Movie'] | 'rating' | ['Double', 'Long'] | true",
            "':`Movie`' | ['Movie'] | 'year' | ['Long'] | true",
            "':`Person`' | ['Person'] | 'name' | ['String'] | true",
            "':`Person`' | ['Person'] | 'rating' | ['Long'] | true",
            "':`Person`:`Actor`' | ['Person', 'Actor'] | 'born' | ['Date'] | true",
            "':`Person`:`Actor`' | ['Person', 'Actor'] | 'name' | ['String'] | true",
            "':`Person`:`Actor`' | ['Person', 'Actor'] | 'tags' | ['StringArray'] | true",
        ],
    ),
    (
        "CALL db.schema.relTypeProperties()",
        &["':`ACTED_IN`' | 'roles' | ['StringArray'] | true", "':`KNOWS`' | 'since' | ['DateTime'] | true"],
    ),
    (
        "CALL apoc.meta.stats() YIELD nodeCount, relCount, labels, relTypesCount RETURN *",
        &["5 | 3 | {Actor: 1, Movie: 2, Person: 2} | {ACTED_IN: 2, KNOWS: 1}"],
    ),
    (
        "CALL apoc.schema.nodes() YIELD label, properties, type, size",
        &["'Movie' | ['year'] | 'RANGE' | 2", "'Person' | ['name'] | 'UNIQUENESS' | 2"],
    ),
];

#[test]
fn the_shape_of_a_graph_is_told_in_memory_in_files_and_in_transactions() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    GRAPH.iter().for_each(|text| drop(session.query(text, &Parameters::default()).expect(text)));
    for round in ["in memory", "in a transaction", "in files", "in files and a transaction"] {
        match round {
            "in a transaction" | "in files and a transaction" => session.begin().expect("a transaction"),
            "in files" => database.checkpoint().expect("it is written"),
            _ => {}
        }
        for (text, expected) in SHAPE {
            assert_eq!(rows(&mut session, text), *expected, "{round}: {text}");
        }
        if session.in_transaction() {
            session.rollback().expect("it is open");
        }
    }
}

#[test]
fn the_picture_of_a_graph_has_a_node_for_each_label_and_a_relationship_for_each_pair() {
    let folder = Folder::new();
    let mut session = open(&folder).session();
    GRAPH.iter().for_each(|text| drop(session.query(text, &Parameters::default()).expect(text)));
    for call in ["db.schema.visualization()", "apoc.meta.graph({sample: 10})", "apoc.meta.graphSample()"] {
        let result = session.query(&format!("CALL {call}"), &Parameters::default()).expect(call);
        let entities = result.entities();
        let nodes: BTreeSet<String> = entities.nodes.values().map(|node| node.labels.join(":")).collect();
        assert_eq!(nodes, ["Actor", "Movie", "Person"].map(String::from).into(), "{call}");
        let Some(row) = result.rows().next() else { panic!("{call}: one row") };
        let Value::List(edges) = &row[1] else { panic!("{call}: relationships") };
        let mut found = BTreeSet::new();
        for edge in edges.iter() {
            let Value::Edge(edge) = edge else { panic!("{call}: a relationship") };
            let end = |node| entities.nodes[&node].labels[0].to_string();
            found.insert((end(edge.source), entities.edges[&edge.id].edge_type.to_string(), end(edge.target)));
        }
        let triple = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        let expected: BTreeSet<_> = [
            triple("Actor", "ACTED_IN", "Movie"),
            triple("Person", "ACTED_IN", "Movie"),
            triple("Person", "KNOWS", "Actor"),
            triple("Person", "KNOWS", "Person"),
        ]
        .into();
        assert_eq!(found, expected, "{call}");
    }
}

#[test]
fn a_small_sample_of_a_large_graph_finds_what_is_frequent() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    for text in [
        "UNWIND range(1, 60000) AS i CREATE (:N {id: i})",
        "UNWIND range(1, 20000) AS i CREATE (:M {id: i, late: 'x'})",
        "MATCH (a:N), (b:M) WHERE a.id = b.id CREATE (a)-[:R {w: 1.5}]->(b)",
    ] {
        session.query(text, &Parameters::default()).expect(text);
    }
    database.compact(&database::Interrupt::new()).expect("it is merged");
    for sample in ["{sample: 50}", "{}", "{sample: -1}"] {
        let text = format!(
            "CALL apoc.meta.data({sample}) YIELD label, property, type, count, other RETURN label, property, type, other, count"
        );
        let found = rows(&mut session, &text);
        let expected = [
            "'M' | 'id' | 'INTEGER' | [] | 20000",
            "'M' | 'late' | 'STRING' | [] | 20000",
            "'N' | 'R' | 'RELATIONSHIP' | ['M'] | 20000",
            "'N' | 'id' | 'INTEGER' | [] | 60000",
            "'R' | 'N' | 'RELATIONSHIP' | ['M'] | 20000",
            "'R' | 'w' | 'FLOAT' | [] | 20000",
        ];
        assert_eq!(found, expected, "{sample}");
    }
}

#[test]
fn random_graphs_looked_at_whole_have_the_shape_that_queries_find() {
    let seed = seed_or(11);
    let mut random = SeededRandom::new(seed);
    for round in 0..6 {
        let folder = Folder::new();
        let database = open(&folder);
        let mut session = database.session();
        let mut of = |names: &[&'static str]| names[random.below(names.len() as u64) as usize];
        for _ in 0..40 {
            let (a, b, key, value) =
                (of(&["A", "B", "C"]), of(&["C", "D"]), of(&["x", "y"]), of(&["1", "'s'", "1.5", "[1]"]));
            let edge = of(&["R", "S"]);
            let text = format!("CREATE (:{a} {{{key}: {value}}})-[:{edge} {{{key}: {value}}}]->(:{b}:{a})");
            session.query(&text, &Parameters::default()).expect("it is right");
            if of(&["stay", "flush", "stay", "stay"]) == "flush" {
                database.checkpoint().expect("it is written");
            }
        }
        let shapes = [
            (
                "CALL apoc.meta.data({sample: -1}) YIELD label, property, elementType, type WHERE elementType = 'node' AND \
                 type <> 'RELATIONSHIP' RETURN label, property",
                "MATCH (n) UNWIND labels(n) AS label UNWIND keys(n) AS property RETURN DISTINCT label, property",
            ),
            (
                "CALL apoc.meta.data() YIELD label, property, type, elementType, other WHERE type = 'RELATIONSHIP' AND \
                 elementType = 'node' UNWIND other AS o RETURN label, property, o",
                "MATCH (n)-[r]->(m) UNWIND labels(n) AS label UNWIND labels(m) AS o RETURN DISTINCT label, type(r) AS p, o",
            ),
            (
                "CALL db.schema.relTypeProperties() YIELD relType, propertyName RETURN relType, propertyName",
                "MATCH ()-[r]->() UNWIND keys(r) AS k RETURN DISTINCT ':`' + type(r) + '`' AS t, k",
            ),
        ];
        for (told, found) in shapes {
            assert_eq!(rows(&mut session, told), rows(&mut session, found), "seed {seed}, round {round}: {told}");
        }
    }
}

#[test]
fn what_tools_ask_on_connecting_is_answered() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    for text in [
        "CALL db.ping()",
        "CALL dbms.licenseAgreementDetails() YIELD status",
        "CALL dbms.components() YIELD name, versions, edition UNWIND versions AS version RETURN version, edition",
        "CALL dbms.clientConfig()",
        "CALL dbms.listConfig() YIELD name, value",
        "CALL dbms.showCurrentUser()",
        "CALL db.info()",
        "SHOW DATABASES YIELD name, currentStatus WHERE currentStatus = 'online' RETURN name",
        "CYPHER 25 SHOW PROCEDURES EXECUTABLE BY CURRENT USER YIELD *",
        "CYPHER 5 SHOW FUNCTIONS EXECUTABLE BY CURRENT USER YIELD *",
        "SHOW PROCEDURES YIELD name WHERE name = 'apoc.meta.schema' RETURN count(name) > 0 AS there",
        "SHOW VECTOR INDEXES YIELD name, labelsOrTypes, properties, options WHERE name = 'x'",
        "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, options",
        "CALL db.labels() YIELD label RETURN COLLECT(label)[..1000] AS result UNION ALL \
         CALL db.relationshipTypes() YIELD relationshipType RETURN COLLECT(relationshipType)[..1000] AS result UNION ALL \
         CALL db.propertyKeys() YIELD propertyKey RETURN COLLECT(propertyKey)[..1000] AS result",
    ] {
        rows(&mut session, text);
    }
    let administrator: Option<Arc<dyn Administrator>> = Some(Arc::new(TwoUsers));
    database.set_site(Site { address: "host:7687".into(), administrator, ..Site::default() });
    session.set_client(Client { user: "ann".into(), ..Client::default() });
    assert_eq!(rows(&mut session, "SHOW CURRENT USER YIELD user"), ["'ann'"]);
    assert_eq!(rows(&mut session, "SHOW USERS YIELD user"), ["'ann'"], "others are an administrator's to see");
    assert!(session.query("SHOW STATEMENTS", &Parameters::default()).is_err());
    session.set_client(Client { user: "neo4j".into(), ..Client::default() });
    assert_eq!(rows(&mut session, "SHOW ROLES"), ["'admin' | 'neo4j'", "'reader' | 'ann'", "'writer' | null"]);
    assert_eq!(rows(&mut session, "SHOW USERS YIELD user"), ["'ann'", "'neo4j'"]);
    let databases = rows(&mut session, "SHOW DATABASES YIELD name, address, default, type");
    assert_eq!(databases, ["'neo4j' | 'host:7687' | true | 'standard'", "'system' | 'host:7687' | false | 'system'"]);
    assert_eq!(rows(&mut session, "SHOW DEFAULT DATABASE YIELD name"), ["'neo4j'"]);
}

/// A server with two users and one database.
struct TwoUsers;

impl Administrator for TwoUsers {
    fn admit(&self, _: &Command, _: &Client) -> Result<()> {
        Ok(())
    }

    fn run(&self, command: &Command, client: &Client, _: &Interrupt) -> Result<()> {
        panic!("{} of {}", command.verb(), client.user)
    }

    fn databases(&self, _: &str) -> Vec<DatabaseRow> {
        vec![DatabaseRow { name: "neo4j".into(), is_default: true, is_online: true, message: String::new() }]
    }

    fn users(&self) -> Option<Vec<UserRow>> {
        let user = |name: &str, role: &str| UserRow {
            name: name.into(),
            roles: vec![role.into()],
            must_change: false,
            is_suspended: false,
        };
        Some(vec![user("neo4j", "admin"), user("ann", "reader")])
    }

    fn is_admin(&self, user: &str) -> bool {
        user == "neo4j"
    }
}

#[test]
fn a_store_without_a_server_has_no_users() {
    let folder = Folder::new();
    let database = open(&folder);
    let outcome = database.session().query("CREATE DATABASE sales", &Parameters::default());
    let error = outcome.err().expect("there is no server");
    assert_eq!(error.code(), ErrorCode::Unsupported);
    assert!(error.remedy().contains("knot serve"), "{error:?}");
}

#[test]
fn metadata_of_a_transaction_is_bounded() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    session.begin().expect("a transaction");
    let half = "CALL tx.setMetaData({first: reduce(text = 'x', n IN range(1, 15) | text + text)})";
    rows(&mut session, half);
    rows(&mut session, half);
    let error = session.query(&half.replace("first", "second"), &Parameters::default()).err().expect("too much");
    assert_eq!(error.code(), ErrorCode::Limit, "{error:?}");
    assert_eq!(
        rows(&mut session, "CALL tx.getMetaData() YIELD metadata RETURN size(metadata.first), metadata.second"),
        ["32768 | null"]
    );
}

const TRANSACTIONS: &str = "SHOW TRANSACTIONS YIELD transactionId, username, currentQuery, status WHERE username <> 'me' \
                            RETURN transactionId, username, currentQuery, status";

fn id_of(session: &mut Session) -> String {
    let shown = session.query(
        "SHOW TRANSACTIONS YIELD transactionId, username WHERE username <> 'me' RETURN transactionId",
        &Parameters::default(),
    );
    match shown.expect("it is right").single() {
        Some(Value::String(id)) => id.to_string(),
        other => panic!("there is one transaction, found {other:?}"),
    }
}

#[test]
fn a_transaction_that_waits_is_seen_and_ended() {
    let folder = Folder::new();
    let database = open(&folder);
    let (mut me, mut other) = (database.session(), database.session());
    me.set_client(Client { user: "me".into(), ..Client::default() });
    other.set_client(Client { user: "ann".into(), address: "10.0.0.1:4".into(), ..Client::default() });
    assert!(rows(&mut me, TRANSACTIONS).is_empty());
    other.set_metadata(Some(Value::map([(Arc::from("app"), Value::from("tests"))])));
    other.begin().expect("a transaction");
    other.query("CREATE (:Lost)", &Parameters::default()).expect("it is right");
    let id = id_of(&mut me);
    assert_eq!(rows(&mut me, TRANSACTIONS), [format!("'{id}' | 'ann' | '' | 'Running'")]);
    let told = rows(
        &mut me,
        "SHOW TRANSACTIONS YIELD username, metaData, clientAddress WHERE username = 'ann' RETURN metaData, clientAddress",
    );
    assert_eq!(told, ["{app: 'tests'} | '10.0.0.1:4'"]);
    rows(&mut other, "CALL tx.setMetaData({app: 'others', step: 2})");
    assert_eq!(rows(&mut other, "CALL tx.getMetaData()"), ["{app: 'others', step: 2}"]);
    assert_eq!(
        rows(&mut me, "TERMINATE TRANSACTION 'neo4j-transaction-0'"),
        ["'neo4j-transaction-0' | null | 'Transaction not found.'"]
    );
    let parameters = Parameters::from_iter([(Arc::from("ids"), Value::list(vec![Value::from(id.as_str())]))]);
    let ended = me
        .query("TERMINATE TRANSACTIONS $ids YIELD username, message RETURN username, message", &parameters)
        .expect("it is right");
    let ended: Vec<Vec<Value>> = ended.rows().collect();
    assert_eq!(ended, [vec![Value::from("ann"), Value::from("Transaction terminated.")]]);
    assert!(other.is_terminated() && other.in_transaction());
    // It may not commit, by whatever way.
    let failure = other.commit().expect_err("it was ended");
    assert_eq!((failure.code(), other.in_transaction()), (ErrorCode::Cancelled, false));
    assert_eq!(rows(&mut me, "MATCH (n) RETURN count(n)"), ["0"]);
    assert!(rows(&mut me, TRANSACTIONS).is_empty());
    // Nor go on.
    other.begin().expect("a transaction");
    let id = id_of(&mut me);
    rows(&mut me, &format!("TERMINATE TRANSACTIONS '{id}'"));
    let failure = other.query("CREATE (:Lost)", &Parameters::default()).err().expect("it was ended");
    assert_eq!((failure.code(), other.in_transaction()), (ErrorCode::Cancelled, false));
    // The session is as good as before.
    other.query("CREATE (:Kept)", &Parameters::default()).expect("it is right");
    assert_eq!(rows(&mut me, "MATCH (n:Kept) RETURN count(n)"), ["1"]);
    drop(other);
    assert!(rows(&mut me, TRANSACTIONS).is_empty());
}

#[test]
fn a_statement_that_runs_is_seen_and_ended() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut me = database.session();
    me.set_client(Client { user: "me".into(), ..Client::default() });
    for opened in [false, true] {
        let mut other = database.session();
        other.set_timeout(Some(Duration::from_secs(60)));
        let running = std::thread::spawn(move || {
            if opened {
                other.begin().expect("a transaction");
                other.query("CREATE (:Lost)", &Parameters::default()).expect("it is right");
            }
            let text = "UNWIND range(1, 1000000000) AS i WITH i WHERE i % 7 = 3 RETURN count(i) AS so_long";
            let failure = other.query(text, &Parameters::default()).err().expect("it was ended");
            (failure, other.in_transaction())
        });
        let seen = loop {
            let shown = rows(&mut me, TRANSACTIONS);
            if shown.iter().any(|row| row.contains("so_long")) {
                break shown;
            }
            std::thread::yield_now();
        };
        assert_eq!(seen.len(), 1, "{seen:?}");
        let id = id_of(&mut me);
        rows(&mut me, &format!("TERMINATE TRANSACTIONS '{id}'"));
        let (failure, in_transaction) = running.join().expect("it ends");
        assert_eq!((failure.code(), in_transaction), (ErrorCode::Cancelled, false), "{failure}");
        assert!(failure.to_string().contains("terminated"), "{failure}");
    }
    assert_eq!(rows(&mut me, "MATCH (n:Lost) RETURN count(n)"), ["0"]);
}

#[test]
fn a_session_that_is_told_to_end_at_any_moment_never_commits_afterwards() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut me = database.session();
    me.set_client(Client { user: "me".into(), ..Client::default() });
    let (mut committed, mut ended) = (0, 0);
    for round in 0..60_u64 {
        let mut other = database.session();
        let (done, is_told) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, heard) = (done.clone(), is_told.clone());
        let place = round % 21;
        // Every other one waits until it was told; the rest run as they may, on a busy machine to their end.
        let waits = round % 2 == 0;
        let running = std::thread::spawn(move || {
            other.begin()?;
            for i in 0..20 {
                other.query(&format!("CREATE (:Part {{round: {round}, i: {i}}})"), &Parameters::default())?;
                let count = counter.fetch_add(1, Ordering::Release) + 1;
                while waits && count == place && !heard.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            }
            other.commit()
        });
        // From before the first statement to about the commit.
        while done.load(Ordering::Acquire) < place && !running.is_finished() {
            std::thread::yield_now();
        }
        let text = "SHOW TRANSACTIONS YIELD transactionId AS id, username WHERE username <> 'me' RETURN id";
        let ids = rows(&mut me, text);
        let told = ids.iter().any(|id| rows(&mut me, &format!("TERMINATE TRANSACTION {id}"))[0].contains("terminated"));
        is_told.store(true, Ordering::Release);
        let outcome = running.join().expect("it ends");
        let there = rows(&mut me, &format!("MATCH (n:Part {{round: {round}}}) RETURN count(n)"));
        match outcome {
            Ok(()) => {
                committed += 1;
                assert_eq!(there, ["20"], "round {round}");
            }
            Err(failure) => {
                ended += 1;
                assert!(told && failure.code() == ErrorCode::Cancelled, "round {round}: {failure}");
                assert_eq!(there, ["0"], "round {round}");
            }
        }
    }
    assert!(ended > 0, "{committed} committed, {ended} ended");
}
