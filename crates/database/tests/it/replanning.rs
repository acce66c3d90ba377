//! Plans whose rest is made anew at every horizon give what they give without that, and change what they change once.
//!
//! The seed of a failure is in its message; `FUZZ_SEED` replays it.

use cypher::optimizer::OptimizerConfig;
use database::{Parameters, Value};
use exec::RunSettings;
use testing::ReferenceStore;
use testing::random::{SeededRandom, seed_or};

use crate::engine::{Bare, Engine, Native, run_script};
use crate::queries::{graph, pattern, pattern_text};

const ROUNDS: u64 = 40;
const STATEMENTS: usize = 30;

/// An engine that makes the rest of plans anew, if it is to.
fn engine(replans: bool, settings: RunSettings, spills: bool) -> Bare {
    let mut engine = Bare::new(Box::new(ReferenceStore::with_batch_rows(3)));
    (engine.replans, engine.settings, engine.spills) = (replans, settings, spills);
    engine.optimizer = OptimizerConfig { covering_labels: true, ..engine.optimizer };
    engine
}

/// Clauses after which the rows are those of a horizon, and `v0` is a node of each.
fn horizon(random: &mut SeededRandom, variables: usize) -> String {
    let all: Vec<String> = (0..variables).map(|v| format!("v{v}")).collect();
    match random.index(13) {
        0 => "WITH DISTINCT v0".into(),
        1 => "WITH v0, count(*) AS c".into(),
        2 => format!("WITH {} ORDER BY v0.id, v0.n", all.join(", ")),
        3 => "WITH DISTINCT v0 ORDER BY v0.id LIMIT 3".into(),
        4 => "WITH collect(v0) AS vs UNWIND vs AS v0".into(),
        5 => "WITH v0 WHERE EXISTS { (v0)-->() }".into(),
        6 => "WITH v0.n AS key, count(*) AS c MATCH (v0) WHERE v0.n = key".into(),
        7 => "WITH *".into(),
        8 => "UNWIND range(1, 2) AS twice".into(),
        9 => "WITH v0, rand() AS r WHERE r < 2".into(),
        10 => "WITH v0, max(v0.n) AS most WHERE most IS NOT NULL OR v0.id > 2".into(),
        11 => "WITH v0 SKIP 0".into(),
        _ => "WITH v0, [x IN [1, 2] | x] AS list UNWIND list AS element WITH DISTINCT v0, element".into(),
    }
}

/// Clauses that read on.
fn further(random: &mut SeededRandom) -> String {
    let more = pattern_text(&pattern(random, 1));
    match random.index(8) {
        0..3 => format!("MATCH {more}"),
        3 => format!("OPTIONAL MATCH {more}"),
        4 => format!("CALL (v0) {{ MATCH {more} RETURN count(*) AS inner{} }}", random.below(1_000)),
        5 => "MATCH (w:A) WHERE w.n = v0.n".into(),
        6 => format!("MATCH (w:B) WHERE w.id = v0.id MATCH {more}"),
        _ => format!("MATCH (v0) WHERE NOT EXISTS {{ {more} }}"),
    }
}

/// A statement, and true if it writes.
fn statement(random: &mut SeededRandom) -> (String, bool) {
    let first = pattern(random, 0);
    let mut text = format!("MATCH {} {}", pattern_text(&first), horizon(random, first.variables));
    for _ in 0..1 + random.index(2) {
        text += &format!(" {}", further(random));
        if random.chance(40) {
            text += &format!(" {} MATCH (v0)--(other{})", horizon(random, 1), random.below(1_000));
        }
    }
    let last = match random.index(10) {
        0..3 => "RETURN count(*)",
        3 => "RETURN v0.id, count(*) AS found",
        4 => "RETURN DISTINCT v0.id ORDER BY v0.id",
        5 => "RETURN v0.id",
        6 => "RETURN collect(DISTINCT v0.n) IS NULL AS none, sum(v0.id)",
        7 => "SET v0.times = coalesce(v0.times, 0) + 1 WITH v0 MATCH (v0)-->(t) RETURN count(*)",
        8 => "MERGE (g:Group {key: coalesce(v0.n, -1)}) WITH g, v0 MATCH (h:Group) RETURN count(*), count(DISTINCT h)",
        _ => "CREATE (made:Made {of: v0.id}) WITH v0 MATCH (all:Made) WHERE all.of = v0.id RETURN count(*)",
    };
    let writes = !last.starts_with("RETURN");
    (format!("{text} {last}"), writes)
}

/// The whole graph.
const GRAPH: [&str; 2] = [
    "MATCH (n) RETURN labels(n), properties(n)",
    "MATCH (a)-[r]->(b) RETURN properties(a), type(r), properties(r), properties(b)",
];

fn ask(engine: &mut Bare, text: &str) -> Result<(Vec<Vec<String>>, String), String> {
    match engine.run(text, &Parameters::default()) {
        Ok(answer) => Ok((answer.sorted_rows(), format!("{:?}", answer.counters))),
        Err(error) => Err(error.code().name().to_string()),
    }
}

#[test]
fn the_rest_of_a_plan_made_anew_gives_the_same() {
    let first = seed_or(3_000);
    let (mut replanned, mut ran) = (0, 0);
    for seed in first..first + ROUNDS {
        let mut random = SeededRandom::new(seed);
        let (_, statements) = graph(&mut random);
        let small = RunSettings { batch_rows: 2, ..RunSettings::default() };
        let parallel = RunSettings { threads: 2, parallel_nodes_min: 1, batch_rows: 3, ..small };
        let mut engines = [
            ("as planned", engine(false, small, false)),
            ("re-planned", engine(true, small, false)),
            ("re-planned, two threads", engine(true, parallel, false)),
            ("re-planned, everything spills", engine(true, parallel, true)),
        ];
        for (_, engine) in &mut engines {
            for statement in &statements {
                run_script(engine, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
            }
        }
        for _ in 0..STATEMENTS {
            let (text, writes) = statement(&mut random);
            let expected = ask(&mut engines[0].1, &text);
            ran += 1;
            for (name, engine) in &mut engines[1..] {
                let context = || format!("FUZZ_SEED={seed}\n{};\n{text}\n{name}", statements.join(";\n"));
                assert_eq!(ask(engine, &text), expected, "{}", context());
            }
            for question in GRAPH.iter().filter(|_| writes) {
                let expected = ask(&mut engines[0].1, question);
                for (name, engine) in &mut engines[1..] {
                    assert_eq!(ask(engine, question), expected, "FUZZ_SEED={seed}\nafter {text}\n{name}");
                }
            }
        }
        replanned += engines.iter().map(|(_, engine)| engine.replanned).sum::<usize>();
        assert_eq!(engines[0].1.replanned, 0);
    }
    println!("{ran} statements, {replanned} rests");
    assert!(replanned > ran, "only {replanned} rests of {ran} statements were made anew");
}

/// Accounts of which conditions that hang together choose many more than their shares say, and shops of 1,000 cities.
const SHOPS: [&str; 2] = [
    "UNWIND range(0, 2999) AS i WITH i, i % 3 = 0 AS odd CREATE (:Account {city: i, a: odd, b: odd, c: odd, d: odd, e: odd})",
    "UNWIND range(0, 3999) AS i CREATE (:Shop {city: i % 1000})",
];
const CHOSEN: &str = "MATCH (a:Account) WHERE a.a = true AND a.b = true AND a.c = true AND a.d = true AND a.e = true";

#[test]
fn a_profile_tells_where_the_rest_was_made_anew() {
    let native = Native::new(1);
    let mut session = native.database().session();
    let mut ask =
        |text: &str| session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    SHOPS.iter().for_each(|text| drop(ask(text)));
    let read =
        format!("{CHOSEN} WITH DISTINCT a.city AS city MATCH (s:Shop) WHERE s.city = city RETURN count(*) AS shops");
    // The second time the rest is that of the first.
    for _ in 0..2 {
        let result = ask(&format!("PROFILE {read}"));
        let report = result.summary.report.expect("a profile has a plan");
        let text = report.text();
        assert!(text.contains("planned anew after Distinct city: 1 rows were expected, 1000 came\n"), "{text}");
        assert!(text.contains("HashJoin"), "{text}");
        assert!(report.json().contains("\"replanned\":[{\"after\":\"Distinct city\""), "{}", report.json());
        let distinct = report.lines.iter().find(|line| line.operator == "Distinct").expect("it is still there");
        assert_eq!(distinct.actual.map(|actual| actual.rows), Some(1_000));
    }
    assert_eq!(ask(&read).single(), Some(Value::Int(1_336)));
    let plan = ask(&format!("EXPLAIN {read}")).summary.report.expect("it was explained");
    assert!(plan.text().contains("planned anew, if need be, after: Distinct city\n"), "{}", plan.text());
    assert!(plan.text().contains("NodeScan"), "the plan in the cache stays: {}", plan.text());
}

#[test]
fn what_writes_before_and_after_writes_once() {
    let native = Native::new(1);
    let mut session = native.database().session();
    let mut ask =
        |text: &str| session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error}"));
    SHOPS.iter().for_each(|text| drop(ask(text)));
    let text = format!(
        "PROFILE {CHOSEN} CREATE (:Seen {{city: a.city}}) SET a.seen = coalesce(a.seen, 0) + 1 WITH DISTINCT a.city AS city \
         MATCH (s:Shop) WHERE s.city = city MERGE (c:City {{name: city}}) SET c.shops = coalesce(c.shops, 0) + 1 RETURN count(*)"
    );
    let result = ask(&text);
    let report = result.summary.report.clone().expect("a profile has a plan");
    assert_eq!(result.single(), Some(Value::Int(1_336)), "{}", report.text());
    assert_eq!(result.summary.counters.nodes_created, 1_000 + 334);
    assert_eq!(ask("MATCH (n:Seen) RETURN count(*)").single(), Some(Value::Int(1_000)));
    assert_eq!(ask("MATCH (a:Account) RETURN sum(a.seen)").single(), Some(Value::Int(1_000)));
    assert_eq!(ask("MATCH (c:City) RETURN sum(c.shops)").single(), Some(Value::Int(1_336)));
}
