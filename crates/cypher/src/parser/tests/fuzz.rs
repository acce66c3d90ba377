//! Random texts: no panic, and what parses prints as what parses to the same.

use model::mix::next_random;

use crate::lexer;
use crate::parser::parse;
use crate::script::{is_unfinished, split_statements};
use crate::token::KEYWORDS;

/// Queries that mutations start from.
#[rustfmt::skip]
const SEEDS: &[&str] = &[
    "MATCH (n:A&B|!C {x: 1, y: $p})-[r:R|S*1..3 {z: 'a'}]->(m WHERE m.x > 1)<--() WHERE NOT n.x = m.x OR (n)-[:X]->(m) RETURN DISTINCT n.x AS x, count(*) ORDER BY x DESC, n.y SKIP 1 LIMIT 2",
    "UNWIND [1, 2.5, -0x1f, .5e3, 'it\\'s', null, true] AS v WITH *, v + 1 AS w WHERE v IN [1] XOR w IS NOT NULL RETURN CASE v WHEN 1 THEN 'a' ELSE v[0..2] END, [x IN [1] WHERE x:A | x ^ 2 % 3]",
    "MERGE (a:A)-[r:R]->(b) ON CREATE SET a.x = 1, a:L:M ON MATCH SET a += {b: 1} REMOVE a.x, b:L DETACH DELETE a, b",
    "CALL a.b.c({k: 1}) YIELD x AS y, z WHERE z STARTS WITH 'q' RETURN n{.a, .*, k: 1, y}, reduce(s = 0, e IN y | s + e), all(e IN y WHERE e =~ '.*')",
    "MATCH p = shortestPath((a)-[*..5]-(b)), (c) WHERE EXISTS { (a)-->(b) WHERE a.x } RETURN COUNT { MATCH (n) RETURN n }, [p = (a)-->(b) WHERE true | p], size((a)--()) UNION ALL RETURN 1, 2, 3",
    "FOREACH (x IN nodes(p) | SET x.seen = true CREATE ({v: x})) CREATE (z)",
    "MATCH (n) RETURN n", "RETURN -1 + 2 * n.x ^ 3", "RETURN NOT a = b OR c IN [1, 2]", "RETURN [x IN xs | x.y], n{.a, b}",
    "RETURN (a)-[:R*1..2]->(b) AND a:A|B", "RETURN CASE WHEN a THEN b ELSE c END IS NULL", "RETURN (a - b) - [c] - (d)",
    "MATCH (a)-[r:R]->(b) SET a.x = r.y", "RETURN exists(a.b), count(DISTINCT c), 'x' STARTS WITH $p", "RETURN a < b <= - c",
    "CREATE CONSTRAINT c IF NOT EXISTS FOR (n:L) REQUIRE (n.p, n.q) IS UNIQUE; DROP CONSTRAINT c IF EXISTS; SHOW CONSTRAINTS; CREATE SORT KEY FOR ()-[r:T]-() ON (r.a, r.b); DROP SORT KEY IF EXISTS FOR ()-[:T]-(); SHOW SORT KEYS; BEGIN; COMMIT",
    "MATCH p = SHORTEST 2 (a:A WHERE a.x > 1) ((x)-[r:R WHERE r.t < 3]->(y) WHERE x.k = y.k){1,5} (b)-[:S]->+(c) RETURN [n IN nodes(p) | n.x]",
    "MATCH REPEATABLE ELEMENTS q = ACYCLIC (a)--{2}(b), (c)-[:$(t)]->*(d:$any(l)) LET z = a.x FILTER z > 1 RETURN * OFFSET 1",
    "UNWIND $rows AS row CALL (row) { CREATE (n:$(row.l)) SET n[row.k] = row.v REMOVE n:$(row.m) } IN 2 CONCURRENT TRANSACTIONS OF 100 ROWS ON ERROR CONTINUE REPORT STATUS AS s RETURN s",
    "LOAD CSV WITH HEADERS FROM $f AS line FIELDTERMINATOR ';' OPTIONAL CALL { WITH line MATCH (n) RETURN COLLECT { MATCH (n)-->(m) RETURN m } AS c } RETURN c, x IS NOT :: LIST<INTEGER NOT NULL> FINISH",
    "COPY (MATCH (n) RETURN n.a AS a) TO 'x.parquet' (format = 'parquet', header = true)", "COPY T FROM ['a', $b] (from='A', to='B')",
    "COPY T FROM (MATCH (n) RETURN n.a, 1 AS b) (from = 'A', to = 'B')", "ALTER TABLE T ADD IF NOT EXISTS x INT64[]; ALTER TABLE T ADD FROM A TO B; ALTER TABLE T DROP IF EXISTS FROM A TO B", "CYPHER 25 START TRANSACTION",
    "CREATE NODE TABLE IF NOT EXISTS P(id INT64 PRIMARY KEY, tags STRING[])", "CREATE REL TABLE R(FROM A TO B, since DATE, MANY_MANY)",
    "WHEN $a THEN MATCH (n IS A) RETURN n.x AS x WHEN n.b THEN { RETURN 1 AS x UNION RETURN 2 AS x } ELSE RETURN 3 AS x NEXT FOR y IN [x] RETURN y",
    "MATCH (a)-[r IS R]->(b) USING INDEX a:A(x, y) USING SCAN b:B USING JOIN ON a, b WHERE a.x IS NOT NFC NORMALIZED AND b IS LABELED B|C RETURN normalize(a.x, NFKD), trim(LEADING 'x' FROM b.y), allReduce(s = 0, e IN l | s + e, s < 9)",
    "CALL (x) { INSERT (n) } IN TRANSACTIONS ON ERROR RETRY FOR 2 SECONDS THEN BREAK REPORT STATUS AS s MERGE (n:$(a))-[:$(b)]->(m) RETURN 1 NEXT NODETACH DELETE n",
    "ATTACH 'url' AS s (dbtype postgres, CACHE = '64 MiB', b 0.5, c $p); DETACH IF EXISTS s; SHOW SOURCES; PRELOAD s NODES (n:A WHERE n.x > 1), (:B) RELATIONSHIPS R, S",
    "SHOW TRANSACTIONS 'a', $b YIELD transactionId; TERMINATE TRANSACTION $ids YIELD *; SHOW DATABASE neo4j; SHOW VECTOR INDEXES; SHOW CURRENT USER; SHOW PROCEDURES EXECUTABLE BY CURRENT USER YIELD *",
    "CREATE OR REPLACE DATABASE a.b; DROP DATABASE `a-b` IF EXISTS; CREATE USER $u IF NOT EXISTS SET PASSWORD 'x' CHANGE NOT REQUIRED SET STATUS SUSPENDED; ALTER USER u SET PASSWORD $p; ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'; GRANT ROLES reader, admin ON DATABASE a, b TO u, $v; REVOKE ROLE reader FROM u; DROP USER u; SHOW ROLES",
    "SHOW INDEXES YIELD name ORDER BY name DESC SKIP 1 LIMIT 2 WHERE name = 'x'",
    "SHOW INDEXES YIELD name AS n, type WHERE type = 'RANGE' RETURN n ORDER BY n", "RETURN CASE x WHEN > 3, IS NULL THEN 1 WHEN 2 THEN 3 END",
    "MATCH (n) CALL (n) { WITH n RETURN 1 AS `x``y` UNION RETURN 2 AS x } RETURN $1, $`a b`, /* c */ - - n.x || 'ü' // end",
];

#[rustfmt::skip]
const SIGNS: &[&str] = &[
    "(", ")", "[", "]", "{", "}", ",", ";", ":", "::", ".", "..", "+", "+=", "-", "*", "/", "%", "^", "=", "=~", "<>",
    "<", "<=", ">", ">=", "|", "||", "&", "!", "->", "<-", "--", "-[", "]-", "n", "x", "`q q`", "A", "$p", "$", "1",
    "0", "2.5", "9223372036854775808", "0x", "1e999", "'s'", "\"t\"", "'", "`", "//", "/*", "*/", "\\", "\n", "é", "😀",
    "shortestPath", "count", "exists", "f(", "n.x", "(n)", "(n)-->(m)", "[x IN xs", "\u{ad}", "⟨", "\0",
];

/// A generator of random numbers, so that a seed replays.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        next_random(&mut self.0)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

fn soup(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(40) {
        let words = if random.below(3) == 0 { KEYWORDS } else { SIGNS };
        text.push_str(random.pick(words));
        if random.below(4) > 0 {
            text.push(' ');
        }
    }
    text
}

/// A seed with some of its tokens dropped, doubled, swapped, or replaced by others.
fn mutation(random: &mut Random) -> String {
    let seed = random.pick(SEEDS);
    let tokens = lexer::tokens(seed).expect("the seeds are right");
    let mut words: Vec<&str> =
        tokens.iter().map(|token| &seed[token.span.start as usize..token.span.end as usize]).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(words.len());
        match random.below(6) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[at]),
            2 => words.insert(at, random.pick(SIGNS)),
            3 => words.insert(at, random.pick(KEYWORDS)),
            4 => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
            _ => {
                // A stretch of one query in the middle of another is often right.
                let from = random.below(words.len());
                let stretch: Vec<&str> = words[from..].iter().take(random.below(12)).copied().collect();
                words.splice(at..at, stretch);
            }
        }
        if words.is_empty() {
            return String::new();
        }
    }
    words.join(" ")
}

/// A seed with some of its characters changed.
fn noise(random: &mut Random) -> String {
    let mut letters: Vec<char> = random.pick(SEEDS).chars().collect();
    for _ in 0..=random.below(5) {
        let at = random.below(letters.len());
        match random.below(3) {
            0 => drop(letters.remove(at)),
            1 => letters.insert(at, random.pick(SIGNS).chars().next().unwrap_or(' ')),
            _ => letters.truncate(at + 1),
        }
        if letters.is_empty() {
            break;
        }
    }
    letters.into_iter().collect()
}

/// Checks one text; whether it parsed.
fn check(text: &str, seed: u64) -> bool {
    for span in split_statements(text) {
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "seed {seed}: {text:?}");
    }
    let _ = is_unfinished(text);
    match parse(text) {
        Err(error) => {
            let span = error.span().unwrap_or_else(|| panic!("seed {seed}: no place: {error} in {text:?}"));
            assert!(span.start <= span.end && span.end as usize <= text.len(), "seed {seed}: {error:?} in {text:?}");
            assert!(text.is_char_boundary(span.start as usize), "seed {seed}: {error:?} in {text:?}");
            assert!(!error.render(text).is_empty(), "seed {seed}: {text:?}");
            false
        }
        Ok(statement) => {
            let first = statement.to_string();
            let again = parse(&first).unwrap_or_else(|error| panic!("seed {seed}: {text:?}\n{}", error.render(&first)));
            assert_eq!(again.to_string(), first, "seed {seed}: {text:?}");
            true
        }
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn fuzz_texts_never_panic_and_print_as_they_parse() {
    let seed = setting("FUZZ_SEED").unwrap_or(0x6b6e_6f74);
    let start = std::time::SystemTime::now();
    let seconds = setting("FUZZ_SECONDS").unwrap_or(0);
    let mut random = Random(seed);
    let (mut texts, mut parsed) = (0_u64, 0_u64);
    // Without a time the number of texts is fixed, so that each run tries the same ones.
    while texts < 40_000 || start.elapsed().is_ok_and(|elapsed| elapsed.as_secs() < seconds) {
        let text = match texts % 8 {
            0 => soup(&mut random),
            1 => noise(&mut random),
            _ => mutation(&mut random),
        };
        parsed += u64::from(check(&text, seed));
        texts += 1;
    }
    println!("seed {seed}: {texts} texts, {parsed} of them right");
    assert!(parsed > texts / 50, "seed {seed}: too few texts are right to say anything");
}
