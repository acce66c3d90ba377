//! Right queries and their canonical text.

use super::super::parse;

/// Each query prints as expected, and what it prints parses to what prints the same.
fn check(table: &[(&str, &str)]) {
    for (query, expected) in table {
        let expected = if expected.is_empty() { query } else { expected };
        let first = parse(query).unwrap_or_else(|error| panic!("{}", error.render(query))).to_string();
        assert_eq!(first, *expected, "{query}");
        let second = parse(&first).unwrap_or_else(|error| panic!("{}", error.render(&first))).to_string();
        assert_eq!(second, first, "{query}");
    }
}

/// As `check`, of expressions; an empty expectation is the text itself.
fn check_expressions(table: &[(&str, &str)]) {
    for (text, expected) in table {
        let expected = if expected.is_empty() { text } else { expected };
        check(&[(&format!("RETURN {text}"), &format!("RETURN {expected}"))]);
    }
}

#[test]
fn patterns() {
    check(&[
        ("MATCH (n) RETURN n", ""),
        ("match(n)return n;", "MATCH (n) RETURN n"),
        ("OPTIONAL MATCH (), (a:A:B {x: 1, y: $p}) RETURN *", ""),
        ("MATCH (a:A&B|!C) RETURN a", ""),
        ("MATCH (a:A|B&(C|D)) RETURN a", ""),
        ("MATCH (a:%) RETURN a", ""),
        ("MATCH (a:!(A|B)) RETURN a", ""),
        ("MATCH (a:A:B:C) RETURN a", ""),
        ("MATCH (a:A&B) RETURN a", "MATCH (a:A:B) RETURN a"),
        ("MATCH (a $props) RETURN a", ""),
        ("MATCH (a)-->(b)<--(c)--(d)<-->(e) RETURN a", "MATCH (a)-->(b)<--(c)--(d)--(e) RETURN a"),
        ("MATCH (a)-[]->(b)<-[]-(c)-[]-(d) RETURN a", "MATCH (a)-->(b)<--(c)--(d) RETURN a"),
        ("MATCH (a)-[r:A|B|:C {x: 1}]->(b) RETURN r", "MATCH (a)-[r:A|B|C {x: 1}]->(b) RETURN r"),
        ("MATCH (a)-[:A*]->(b)-[*2]-(c)<-[r*1..3]-(d)-[*..4]->(e)-[:X|Y*2..]->(f) RETURN a", ""),
        ("MATCH (a)-[* 1 .. 3 {x: 1}]->(b) RETURN a", "MATCH (a)-[*1..3 {x: 1}]->(b) RETURN a"),
        ("MATCH (a)-[*..]->(b) RETURN a", "MATCH (a)-[*]->(b) RETURN a"),
        ("MATCH (a WHERE a.x > 1)-[r:X WHERE r.y]->(:B WHERE true) RETURN a", ""),
        ("MATCH (WHERE true) RETURN 1", ""),
        ("MATCH p = (a)-->(b), q = shortestPath((a)-[*]->(b)) RETURN p, q", ""),
        (
            "MATCH (a)-[:R]->+(b)<-[:S]-*(c)-[r WHERE r.x > 1]-{2}(d)-->{,3}(e) RETURN a",
            "MATCH (a)-[:R]->+(b)<-[:S]-*(c)<-[r WHERE r.x > 1]->{2}(d)-->{0,3}(e) RETURN a",
        ),
        (
            "MATCH ((a)-[r]->(b) WHERE a.x < b.x){1,5} RETURN a",
            "MATCH ()((a)-[r]->(b) WHERE a.x < b.x){1,5}() RETURN a",
        ),
        (
            "MATCH (x) ((a)-->(b)<--(c))+ ((d)--(e)){2,} (y:Y) RETURN x",
            "MATCH (x)((a)-->(b)<--(c))+()((d)--(e)){2,}(y:Y) RETURN x",
        ),
        ("MATCH p = ANY SHORTEST PATHS (a)-->+(b) RETURN p", "MATCH p = SHORTEST 1 (a)-->+(b) RETURN p"),
        (
            "MATCH ALL SHORTEST TRAIL (a)-->+(b), ANY (c)-->(d) RETURN a",
            "MATCH SHORTEST 1 GROUPS TRAIL (a)-->+(b), ANY 1 (c)-->(d) RETURN a",
        ),
        (
            "MATCH SHORTEST 2 ACYCLIC PATH GROUPS ((a)-->+(b) WHERE a.x = 1) RETURN a",
            "MATCH SHORTEST 2 GROUPS ACYCLIC ((a)-->+(b) WHERE a.x = 1) RETURN a",
        ),
        ("MATCH ALL SIMPLE PATHS (a)-->(b) RETURN a", "MATCH ALL SIMPLE (a)-->(b) RETURN a"),
        ("MATCH REPEATABLE ELEMENT BINDINGS (a)-->(b) RETURN a", "MATCH REPEATABLE ELEMENTS (a)-->(b) RETURN a"),
        (
            "OPTIONAL MATCH DIFFERENT RELATIONSHIPS any = (a)-->(shortest) RETURN any",
            "OPTIONAL MATCH DIFFERENT RELATIONSHIPS `any` = (a)-->(shortest) RETURN `any`",
        ),
        ("MATCH p = ALLSHORTESTPATHS((a)-[*..5]-(b)) RETURN p", "MATCH p = allShortestPaths((a)-[*..5]-(b)) RETURN p"),
        ("MATCH (`a b`:`C``D` {`e f`: 1}) RETURN `a b`", ""),
        (
            "MATCH (count:Match {return: 1})-[end:ORDER]->(order) RETURN count, end, order",
            "MATCH (`count`:Match {return: 1})-[`end`:ORDER]->(`order`) RETURN `count`, `end`, `order`",
        ),
        ("MATCH (a)⟨—[r]–(b) RETURN a", "MATCH (a)<-[r]-(b) RETURN a"),
        ("MATCH (größe:Straße {名前: 1}) RETURN größe.名前", ""),
    ]);
}

#[test]
fn reading_clauses() {
    check(&[
        ("RETURN 1", ""),
        (
            "MATCH (n) WHERE n.x = 1 WITH DISTINCT n.y AS y, count(*) AS c ORDER BY c DESC, y SKIP 1 LIMIT 10 WHERE c > 1 RETURN *, y + 1 AS z ORDER BY z ASC LIMIT $k",
            "MATCH (n) WHERE n.x = 1 WITH DISTINCT n.y AS y, count(*) AS c ORDER BY c DESC, y SKIP 1 LIMIT 10 WHERE c > 1 RETURN *, y + 1 AS z ORDER BY z LIMIT $k",
        ),
        ("WITH * RETURN *", ""),
        ("UNWIND [1, 2] AS x RETURN x", ""),
        ("UNWIND $rows AS row MATCH (n {id: row.id}) RETURN n", ""),
        ("RETURN 1 AS x UNION RETURN 2 AS x UNION RETURN 3 AS x", ""),
        ("RETURN 1 AS x UNION ALL RETURN 2 AS x", ""),
        ("RETURN 1 AS x UNION DISTINCT RETURN 2 AS x", "RETURN 1 AS x UNION RETURN 2 AS x"),
        ("RETURN n ORDER BY n.a ASCENDING, n.b DESCENDING", "RETURN n ORDER BY n.a, n.b DESC"),
        ("CALL db.labels", ""),
        ("CALL db.labels YIELD *", ""),
        ("CALL algo.pagerank({damping: 0.85}) YIELD node, score AS s WHERE s > 1 RETURN node, s", ""),
        ("MATCH (n) CALL do.it(n, 1)", ""),
        ("MATCH (n) CALL { WITH n RETURN 1 AS x UNION RETURN 2 AS x } RETURN x", ""),
        ("MATCH (n) CALL (n) { CREATE (m) } RETURN n", ""),
        ("MATCH (n) CALL (*) { CREATE (m) } RETURN n", ""),
        ("MATCH (n) OPTIONAL CALL () { MATCH (m) RETURN m } RETURN n", ""),
        ("MATCH (n) OPTIONAL CALL p() YIELD x RETURN x", ""),
        ("MATCH (n) CALL (n) { DELETE n } IN TRANSACTIONS", ""),
        ("MATCH (n) CALL (n) { DELETE n } IN TRANSACTIONS ON ERROR RETRY", ""),
        (
            "CALL () { DELETE n } IN TRANSACTIONS REPORT STATUS AS s ON ERROR RETRY 2 SEC THEN BREAK",
            "CALL () { DELETE n } IN TRANSACTIONS ON ERROR RETRY FOR 2 SECONDS THEN BREAK REPORT STATUS AS s",
        ),
        ("RETURN a.b NEXT RETURN 1", "WITH a.b AS `a.b` RETURN 1"),
        (
            "RETURN a.b NEXT RETURN 1 AS x UNION RETURN 2 AS x",
            "WITH a.b AS `a.b` WITH collect([`a.b`]) AS `rows at 11` CALL (*) { UNWIND `rows at 11` AS `row at 11` \
             WITH `row at 11`[0] AS `a.b` RETURN 1 AS x UNION UNWIND `rows at 11` AS `row at 11` \
             WITH `row at 11`[0] AS `a.b` RETURN 2 AS x } RETURN x AS x",
        ),
        ("RETURN 1 AS x UNION RETURN 2 AS x NEXT RETURN x", "CALL () { RETURN 1 AS x UNION RETURN 2 AS x } RETURN x"),
        (
            "WHEN a THEN CREATE (b) ELSE { DELETE c }",
            "LET `case at 0` = CASE WHEN a THEN 0 ELSE 1 END CALL (*) { FILTER `case at 0` = 0 CALL (*) { CREATE (b) } \
             UNION ALL FILTER `case at 0` = 1 CALL (*) { DELETE c } }",
        ),
        ("FOR x IN y INSERT (x) NODETACH DELETE x", "UNWIND y AS x CREATE (x) DELETE x"),
        (
            "MATCH (a IS A)-[IS R]-(b) USING INDEX SEEK a:A(x) USING SCAN b:B WHERE a.x RETURN a",
            "MATCH (a:A)-[:R]-(b) USING INDEX a:A(x) USING SCAN b:B WHERE a.x RETURN a",
        ),
        (
            "MATCH (n) CALL (n) { DELETE n } in 4 concurrent transactions of 10 row on error break report status as s FINISH",
            "MATCH (n) CALL (n) { DELETE n } IN 4 CONCURRENT TRANSACTIONS OF 10 ROWS ON ERROR BREAK REPORT STATUS AS s FINISH",
        ),
        ("MATCH (n) CALL (n) { DELETE n } IN CONCURRENT TRANSACTIONS OF $n ROWS ON ERROR FAIL", ""),
        ("LET x = 1, y = x FILTER x > 0 RETURN y", ""),
        ("UNWIND [1] AS x FILTER WHERE x > 0 RETURN x OFFSET 1", "UNWIND [1] AS x FILTER x > 0 RETURN x SKIP 1"),
        (
            "MATCH (n:$(x)&!$any([$y])) SET n:A:$(x) REMOVE n:$(x):B",
            "MATCH (n:$(x)&!$any([$y])) SET n:A, n:$(x) REMOVE n:$(x), n:B",
        ),
        ("MATCH (n) SET n['a' + 'b'] = 1 REMOVE n[$k]", ""),
        ("CREATE (:$all($l))-[:$($t)]->()", "CREATE (:$($l))-[:$($t)]->()"),
        (
            "UNWIND [1] AS limit RETURN limit, limit.x ORDER BY limit LIMIT 5",
            "UNWIND [1] AS `limit` RETURN `limit`, `limit`.x ORDER BY `limit` LIMIT 5",
        ),
        ("EXPLAIN MATCH (n) RETURN n", ""),
        ("profile match (n) return n", "PROFILE MATCH (n) RETURN n"),
        ("/* one */ RETURN // two\n 1 // three", "RETURN 1"),
    ]);
}

#[test]
fn updating_clauses() {
    check(&[
        ("CREATE (a:A {x: 1})-[:R {y: 2}]->(b), (c)", ""),
        ("MERGE (a:A {x: 1}) ON CREATE SET a.y = 1, a:B ON MATCH SET a += {z: 1} RETURN a", ""),
        (
            "MERGE (a)-[r:R]->(b) ON MATCH SET r.x = 1 ON MATCH SET r.y = 2",
            "MERGE (a)-[r:R]->(b) ON MATCH SET r.x = 1, r.y = 2",
        ),
        ("MATCH (n) SET n.x = 1, n = {a: 1}, n += $map, n:A:B, n.y.z = 2", ""),
        (
            "MATCH (n) SET (n).x = 1, (CASE WHEN true THEN n END).y = 2",
            "MATCH (n) SET n.x = 1, CASE WHEN true THEN n END.y = 2",
        ),
        ("MATCH (n) REMOVE n.x, n:A:B, (n).y", "MATCH (n) REMOVE n.x, n:A:B, n.y"),
        ("MATCH (n) DELETE n, n.x", ""),
        ("MATCH p = (n) DETACH DELETE n, p", ""),
        ("MATCH p = (a)-->(b) FOREACH (x IN nodes(p) | SET x.seen = true FOREACH (y IN [1] | CREATE ({v: y})))", ""),
        ("CREATE (a) WITH a MATCH (b) CREATE (a)-[:R]->(b)", ""),
        ("CREATE (constraint)", "CREATE (`constraint`)"),
    ]);
}

#[test]
fn statements_that_are_no_queries() {
    check(&[
        ("CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS UNIQUE", ""),
        (
            "create constraint c if not exists for (n:L) require n.p is unique",
            "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:L) REQUIRE n.p IS UNIQUE",
        ),
        (
            "CREATE CONSTRAINT IF NOT EXISTS FOR (n:L) REQUIRE (n.p, n.q) IS NODE UNIQUE",
            "CREATE CONSTRAINT IF NOT EXISTS FOR (n:L) REQUIRE (n.p, n.q) IS UNIQUE",
        ),
        ("CREATE CONSTRAINT ON (n:L) ASSERT n.p IS UNIQUE", "CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS UNIQUE"),
        (
            "CREATE CONSTRAINT for FOR (n:L) REQUIRE n.p IS UNIQUE",
            "CREATE CONSTRAINT `for` FOR (n:L) REQUIRE n.p IS UNIQUE",
        ),
        ("CREATE CONSTRAINT c FOR (n:L) REQUIRE (n.p, n.q) IS NODE KEY", ""),
        ("CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS KEY", "CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS NODE KEY"),
        ("CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS NOT NULL", ""),
        ("CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS :: LOCAL DATETIME", ""),
        (
            "CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS TYPED list<bool not null>",
            "CREATE CONSTRAINT FOR (n:L) REQUIRE n.p IS :: LIST<BOOLEAN NOT NULL>",
        ),
        (
            "CREATE CONSTRAINT FOR ()<-[r:R]-() REQUIRE r.p IS REL KEY",
            "CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.p IS RELATIONSHIP KEY",
        ),
        (
            "CREATE RANGE INDEX i IF NOT EXISTS FOR (n:L) ON (n.p, n.q)",
            "CREATE INDEX i IF NOT EXISTS FOR (n:L) ON (n.p, n.q)",
        ),
        ("CREATE INDEX FOR ()-[r:R]->() ON (r.p)", "CREATE INDEX FOR ()-[r:R]-() ON (r.p)"),
        ("DROP INDEX i IF EXISTS", ""),
        ("CREATE SORT KEY FOR ()-[r:T]-() ON (r.a, r.b)", ""),
        (
            "create sort key if not exists for ()-[r:T]-() on r.a",
            "CREATE SORT KEY IF NOT EXISTS FOR ()-[r:T]-() ON (r.a)",
        ),
        ("DROP SORT KEY FOR ()-[:T]-()", ""),
        ("DROP SORT KEY IF EXISTS FOR ()-[r:T]-()", "DROP SORT KEY IF EXISTS FOR ()-[:T]-()"),
        ("SHOW SORT KEYS", "CALL db.sortKeys() YIELD *"),
        ("DROP CONSTRAINT c", ""),
        ("DROP CONSTRAINT c IF EXISTS", ""),
        ("SHOW CONSTRAINTS", RULES),
        ("BEGIN", ""),
        ("begin transaction;", "BEGIN"),
        ("COMMIT", ""),
        ("ROLLBACK", ""),
    ]);
}

const RULES: &str =
    "CALL db.constraints() YIELD id, name, type, entityType, labelsOrTypes, properties, ownedIndex, propertyType";
const INDEXES: &str = "CALL db.indexes() YIELD id, name, state, populationPercent, type, entityType, labelsOrTypes, properties, indexProvider, owningConstraint, lastRead, readCount";

#[test]
fn maintenance_and_prefixes() {
    check(&[
        ("checkpoint", "CHECKPOINT"),
        ("compact", "COMPACT"),
        ("backup database to 'a b.knot'", "BACKUP DATABASE TO 'a b.knot'"),
        ("BACKUP DATABASE TO $to BASE \"x\"", "BACKUP DATABASE TO $to BASE 'x'"),
        // These words are names elsewhere.
        ("MATCH (backup)-[:COMPACT]->(base) RETURN backup.checkpoint", ""),
        ("CYPHER runtime=interpreted RETURN 1", "RETURN 1"),
        ("cypher 5 planner=COST runtime = slotted PROFILE RETURN 1", "PROFILE RETURN 1"),
    ]);
}

#[test]
fn databases_users_and_roles() {
    check(&[
        ("create database a.b if not exists", "CREATE DATABASE `a.b` IF NOT EXISTS"),
        ("CREATE OR REPLACE DATABASE sales", ""),
        ("DROP DATABASE $name IF EXISTS", ""),
        ("CREATE USER ann SET PLAINTEXT PASSWORD \"it's\"", "CREATE USER ann SET PASSWORD 'it\\'s'"),
        ("CREATE OR REPLACE USER `a-b` SET PASSWORD $p CHANGE NOT REQUIRED SET STATUS ACTIVE", ""),
        ("CREATE USER ann IF NOT EXISTS SET PASSWORD 'a\\\\' CHANGE REQUIRED SET STATUS SUSPENDED", ""),
        ("ALTER USER ann IF EXISTS SET PASSWORD CHANGE REQUIRED", ""),
        ("alter current user set password from 'a' to $b", "ALTER CURRENT USER SET PASSWORD FROM 'a' TO $b"),
        ("DROP USER $u", ""),
        ("grant roles reader, `writer` to ann, $bob", "GRANT ROLE reader, writer TO ann, $bob"),
        ("REVOKE ROLE admin ON DATABASES sales, b FROM ann", "REVOKE ROLE admin ON DATABASE sales, b FROM ann"),
        ("SHOW ROLES YIELD role", "CALL dbms.roles() YIELD role"),
        // These words are names elsewhere.
        ("MATCH (user)-[:ROLE]->(database) RETURN user.password", ""),
    ]);
}

#[test]
fn lists_tables_and_files() {
    check(&[
        ("SHOW INDEXES", INDEXES),
        ("show all constraints", RULES),
        ("SHOW VECTOR INDEX YIELD name", "CALL db.indexes('VECTOR') YIELD name"),
        ("SHOW TRANSACTION 'a' YIELD status", "CALL dbms.transactions('a') YIELD status"),
        ("SHOW TRANSACTIONS 'a', $b YIELD status", "CALL dbms.transactions(['a', $b]) YIELD status"),
        ("SHOW DATABASE neo4j YIELD name", "CALL dbms.databases('neo4j') YIELD name"),
        ("SHOW STATEMENTS YIELD calls", "CALL dbms.statements() YIELD calls"),
        ("SHOW USER YIELD user", "CALL dbms.users() YIELD user"),
        ("SHOW CURRENT USER", "CALL dbms.currentUser() YIELD *"),
        ("SHOW PROCEDURES EXECUTABLE BY CURRENT USER YIELD name", "CALL dbms.procedures() YIELD name"),
        ("TERMINATE TRANSACTIONS 'a', 'b'", "CALL dbms.terminateTransactions(['a', 'b']) YIELD *"),
        ("terminate transaction $id yield message", "CALL dbms.terminateTransactions($id) YIELD message"),
        (
            "SHOW INDEX YIELD name, type AS kind WHERE kind = 'RANGE'",
            "CALL db.indexes() YIELD name, type AS kind WHERE kind = 'RANGE'",
        ),
        ("SHOW PROCEDURES YIELD name RETURN count(*) AS n", "CALL dbms.procedures() YIELD name RETURN count(*) AS n"),
        (
            "SHOW FUNCTIONS WHERE name STARTS WITH 'to'",
            "CALL dbms.functions() YIELD name, category, description WHERE name STARTS WITH 'to'",
        ),
        (
            "create node table Person(id INT64 PRIMARY KEY, names string[], born DATE)",
            "CREATE NODE TABLE Person (id INT64, names STRING[], born DATE, PRIMARY KEY (id))",
        ),
        (
            "CREATE REL TABLE IF NOT EXISTS KNOWS(FROM Person TO Person, since INT32, MANY_MANY)",
            "CREATE REL TABLE IF NOT EXISTS KNOWS (FROM Person TO Person, since INT64)",
        ),
        ("alter table KNOWS add if not exists from A to B", "ALTER TABLE KNOWS ADD IF NOT EXISTS FROM A TO B"),
        ("ALTER TABLE KNOWS DROP IF EXISTS FROM A TO `B C`", ""),
        ("ALTER TABLE KNOWS DROP FROM A TO B", ""),
        ("ALTER TABLE KNOWS ADD from STRING[]", "ALTER TABLE KNOWS ADD from STRING[]"),
        ("COPY Person FROM 'p.csv'", "COPY Person FROM ['p.csv']"),
        (
            "copy KNOWS from ['a.csv', $b] (from='Person', to = 'Person', header=true, delim='|')",
            "COPY KNOWS FROM ['a.csv', $b] (from = 'Person', to = 'Person', header = true, delim = '|')",
        ),
        ("COPY (MATCH (n) RETURN n.name) TO 'p.parquet'", ""),
        ("attach 'postgres://h/d' as shop", "ATTACH 'postgres://h/d' AS shop"),
        (
            "ATTACH 'dbname=d host=h' AS pg (dbtype postgres, PREFIX 'shop_', READ_ONLY = true, MAX_AGE $age)",
            "ATTACH 'dbname=d host=h' AS pg (dbtype = 'postgres', PREFIX = 'shop_', READ_ONLY = true, MAX_AGE = $age)",
        ),
        ("ATTACH $url ()", "ATTACH $url"),
        ("DETACH IF EXISTS shop", ""),
        ("detach shop", "DETACH shop"),
        (
            "PRELOAD shop nodes (c:Customer WHERE c.country = 'IT'), (:Product) relationships BOUGHT, SOLD",
            "PRELOAD shop NODES (c:Customer WHERE c.country = 'IT'), (:Product) RELATIONSHIPS BOUGHT, SOLD",
        ),
        ("PRELOAD shop", ""),
        (
            "LOAD CSV WITH HEADERS FROM 'file:///x.csv' AS line FIELDTERMINATOR ';' CREATE ({name: line.name})",
            "CALL db.loadCsv('file:///x.csv', true, ';') YIELD row AS line CREATE ({name: line.name})",
        ),
        (
            "MATCH (n) LOAD CSV FROM n.file AS x RETURN x",
            "MATCH (n) CALL db.loadCsv(n.file, false, null) YIELD row AS x RETURN x",
        ),
    ]);
}

#[test]
fn literals() {
    check_expressions(&[
        ("0", ""),
        ("-9223372036854775808", ""),
        ("- 1", "-1"),
        ("1_000", "1000"),
        ("0x1F", "31"),
        ("-0x8000000000000000", "-9223372036854775808"),
        ("0o17", "15"),
        (".5", "0.5"),
        ("1e9", "1000000000.0"),
        ("1.5E-3", "0.0015"),
        ("-0.0", ""),
        ("-1.5e300", "-1.5e300"),
        ("inf", "Inf"),
        ("-Infinity", "-Inf"),
        ("nan", "NaN"),
        ("TRUE", "true"),
        ("False", "false"),
        ("NULL", "null"),
        (r#""it's""#, r"'it\'s'"),
        (r"'a\n\t\\\u00e9\U0001F600\uD83D\uDE00'", r"'a\n\t\\é😀😀'"),
        ("''", ""),
        ("'// no /* comment'", ""),
        ("[]", ""),
        ("[1, 'a', [null]]", ""),
        ("{}", ""),
        ("{a: 1, `b c`: {d: []}, return: 2}", ""),
        ("$name + $1 + $`a b`", ""),
    ]);
}

#[test]
fn operators() {
    check_expressions(&[
        ("a OR b XOR c AND NOT d = e", ""),
        ("(a OR b) AND c", ""),
        ("((a)) AND (b AND c) AND d", "a AND (b AND c) AND d"),
        ("NOT NOT a", ""),
        ("NOT (a AND b)", ""),
        ("1 < x <= 3 <> y", ""),
        ("(1 < x) <= 3", ""),
        ("a = b = c", ""),
        ("1 + 2 * 3 ^ 4", ""),
        ("(1 + 2) * 3", ""),
        ("1 - 2 - 3", ""),
        ("1 - (2 - 3)", ""),
        ("2 ^ 3 ^ 4", ""),
        ("2 ^ (3 ^ 4)", ""),
        ("-3 ^ 2", ""),
        ("-(3 ^ 2)", ""),
        ("- - x", "--x"),
        ("-x.y", ""),
        ("-(1)", ""),
        ("--1", "-(-1)"),
        ("-1.5.x", "-(1.5).x"),
        ("+x % 2 / 3", ""),
        ("a || b + c", ""),
        ("a STARTS WITH b", ""),
        ("a ends with b or a contains c", "a ENDS WITH b OR a CONTAINS c"),
        ("a =~ 'x.*'", ""),
        ("a + b IN c + d", ""),
        ("a = b IN c", ""),
        ("a IN b IN c", ""),
        ("a IS NULL = b IS NOT NULL", ""),
        ("NOT a IS NULL", ""),
        ("a.b.c[0][1..2][..3][4..][..].d", ""),
        ("xs[1..-1]", ""),
        ("n:A", ""),
        ("n:A:B AND r:R", ""),
        ("n:(A|B)", ""),
        ("n:A|B", "n:(A|B)"),
        ("n:!A&(B|C)", ""),
        ("(n:A).x", ""),
        ("n.x:A", ""),
        ("a <-b", "a < -b"),
        ("(a) - (b)", "a - b"),
        ("(a) < -(b)", "a < -b"),
        ("(a)-[1, 2]", "a - [1, 2]"),
        ("(n:A OR b) - [x] - (c OR d)", ""),
    ]);
}

#[test]
fn brackets_and_calls() {
    check_expressions(&[
        ("CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END", ""),
        ("CASE a WHEN 1 THEN 'x' END.y", ""),
        ("case when case when a then b end then c end", "CASE WHEN CASE WHEN a THEN b END THEN c END"),
        ("[x IN xs]", ""),
        ("[(x IN xs)]", ""),
        ("[x IN xs, y]", ""),
        ("a IS NOT LABELED A&B", "NOT a:A:B"),
        ("a IS NFKC NORMALIZED", "isNormalized(a, 'NFKC')"),
        ("normalize(a, (NFD))", "normalize(a, `NFD`)"),
        ("(a)<-[:R*1..2]->+(b) AND c", ""),
        ("normalize(a, nfd)", "normalize(a, 'NFD')"),
        ("trim(LEADING 'x' FROM a)", "ltrim(a, 'x')"),
        ("allReduce(s = 0, x IN xs | s + x, s > 1)", ""),
        ("[x IN a >= b | x]", ""),
        ("[x IN (a >= b) WHERE x | x]", "[x IN a >= b WHERE x | x]"),
        ("[x IN a AND b]", ""),
        ("[(x IN a AND b)]", ""),
        ("[(x IN a) = b]", "[(x IN a = b)]"),
        ("[x IN a = b, y]", ""),
        ("[x IN y.where, z]", ""),
        ("[x IN xs WHERE x > 1]", ""),
        ("[x IN range(1, 3) | x * 2]", ""),
        ("[x IN xs WHERE x:A | x.y]", ""),
        ("[x IN xs WHERE (x)-[:A|B]->(:C|D) | x]", ""),
        ("[x IN xs WHERE (x:A|B) | x]", "[x IN xs WHERE x:(A|B) | x]"),
        ("[(a)-->(b) | b.x]", ""),
        ("[p = (a)-[:R]->(b:B) WHERE b.x | length(p)]", ""),
        ("[(a)-->(b)]", ""),
        ("[(a)-->(b), 1]", ""),
        (
            "all(x IN xs WHERE x > 1) AND any(x IN xs WHERE true) OR none(x IN [] WHERE x) OR single(x IN xs WHERE x)",
            "",
        ),
        ("any(x IN xs)", ""),
        ("reduce(acc = 0, x IN xs | acc + x)", ""),
        ("n{.a, .*, x: 1, v}", ""),
        ("n { }", "n{}"),
        ("`count`{x: 1}", ""),
        ("count{.a}", "`count`{.a}"),
        ("count(*) + count(DISTINCT n.x) + COUNT(n)", "count(*) + count(DISTINCT n.x) + COUNT(n)"),
        ("a.b.c(1, 2)", ""),
        ("f()", ""),
        ("exists(n.x) AND exists((n)-->())", ""),
        ("EXISTS { (n)-->(m) WHERE m.x }", "EXISTS { MATCH (n)-->(m) WHERE m.x }"),
        ("EXISTS { MATCH (n)-->(m) }", ""),
        ("COUNT { (:A)-->() } > 1", "COUNT { MATCH (:A)-->() } > 1"),
        ("COLLECT { MATCH (n) RETURN n.x ORDER BY n.x }", ""),
        ("EXISTS { MATCH (n) RETURN n UNION MATCH (m) RETURN m }", ""),
        ("NOT (a)-[:X]->()", ""),
        ("(a)-[:X*]-(b {x: 1})<--(c) AND size((a)-->()) > 0", ""),
        ("(a)--(b)", ""),
        ("((a)-->(b)) - [c] - b", ""),
        ("shortestPath((a)-[*]->(b))", ""),
        ("length(shortestPath((a)-[:R*..3]-(b)))", ""),
        ("exists", "`exists`"),
        ("all + any", "`all` + `any`"),
    ]);
}

#[test]
fn cases_and_types() {
    check_expressions(&[
        ("CASE x WHEN > 3, 1 THEN 2 WHEN IS NOT NULL THEN 3 WHEN STARTS WITH 'a' THEN 4 ELSE 5 END", ""),
        ("CASE x WHEN =~ 'a' THEN 1 WHEN IS :: INTEGER THEN 2 WHEN <> 1 THEN 3 END", ""),
        ("x IS :: INTEGER", ""),
        ("x IS NOT TYPED array<int not null | varchar>", "(x IS NOT :: LIST<INTEGER NOT NULL | STRING>)"),
        ("x IS :: TIMESTAMP WITH TIME ZONE OR y", "x IS :: ZONED DATETIME OR y"),
        ("[x IN l WHERE x IS :: BOOL | x]", "[x IN l WHERE x IS :: BOOLEAN | x]"),
    ]);
}
