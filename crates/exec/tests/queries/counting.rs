//! Patterns that are counted: random trees with parts that must differ, may be missing or must not be there give what
//! walking them gives; and what the plans of some of them are.

use cypher::optimizer::{OptimizerConfig, Use};
use exec::RunSettings;
use testing::random::{SeededRandom, seed_or};

use super::memory::{check_full_disk, with_limit};
use super::optimizer::{Bench, graph};
use super::{check, check_error};

/// Writes random queries that count.
pub(super) struct Writer<'r> {
    pub(super) random: &'r mut SeededRandom,
    pub(super) nodes: usize,
}

impl Writer<'_> {
    fn query(&mut self) -> String {
        let mut text = format!("MATCH {}", self.tree());
        let mut conditions: Vec<String> = Vec::new();
        for _ in 0..self.random.below(4) {
            conditions.push(self.condition());
        }
        if !conditions.is_empty() {
            text.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        for at in 0..self.random.below(3) {
            let (from, edge) = (self.node(), self.edge());
            let far = if self.random.chance(30) { format!("{}(p{at})", self.edge()) } else { String::new() };
            let filter = if self.random.chance(30) { format!(" WHERE o{at}.age > 1") } else { String::new() };
            text.push_str(&format!(" OPTIONAL MATCH ({from}){edge}(o{at}{}){far}{filter}", self.label()));
        }
        text.push_str(&self.returned());
        text
    }

    /// A tree, edge by edge, each from a node that is there; and now and then two in one path.
    pub(super) fn tree(&mut self) -> String {
        if self.random.chance(30) {
            return self.row();
        }
        let label = self.label();
        let mut parts = vec![format!("(n0{label})")];
        self.nodes = 1;
        for _ in 0..1 + self.random.below(4) {
            let (from, edge, label) = (self.node(), self.edge(), self.label());
            parts.push(format!("({from}){edge}(n{}{label})", self.nodes));
            self.nodes += 1;
        }
        parts.join(", ")
    }

    /// Three edges in a row, mostly of the same type and direction, and perhaps more from their nodes.
    fn row(&mut self) -> String {
        let same = self.edge();
        let label = self.label();
        let mut text = format!("(n0{label})");
        for at in 1..=3 {
            let edge = if self.random.chance(70) { same.clone() } else { self.edge() };
            let clause = if self.random.chance(5) { format!(" MATCH (n{})", at - 1) } else { String::new() };
            let label = self.label();
            text.push_str(&format!("{clause}{edge}(n{at}{label})"));
        }
        self.nodes = 4;
        if self.random.chance(30) {
            let (from, edge) = (self.node(), self.edge());
            text.push_str(&format!(", ({from}){edge}(n4)"));
            self.nodes = 5;
        }
        text
    }

    pub(super) fn node(&mut self) -> String {
        format!("n{}", self.random.index(self.nodes))
    }

    fn label(&mut self) -> &'static str {
        ["", "", "", ":Person", ":Thing", ":Company"][self.random.index(6)]
    }

    pub(super) fn edge(&mut self) -> String {
        let types = ["", ":KNOWS", ":KNOWS", ":WORKS_AT", ":KNOWS|WORKS_AT"][self.random.index(5)];
        let (left, right) = [("-", "->"), ("<-", "-"), ("-", "-")][self.random.index(3)];
        format!("{left}[{types}]{right}")
    }

    pub(super) fn condition(&mut self) -> String {
        let (a, b) = (self.node(), self.node());
        match self.random.below(8) {
            0..=2 => format!("{a} <> {b}"),
            3 => format!("NOT ({a}){}({b})", self.edge()),
            4 => format!("NOT ({a}){}(:Thing)", self.edge()),
            5 => format!("({a}){}()", self.edge()),
            6 => format!("{a}.age > {}", self.random.below(3)),
            _ => format!("({a}.id <> {b}.id OR {a}.age IS NULL)"),
        }
    }

    fn returned(&mut self) -> String {
        let node = self.node();
        let value = match self.random.below(6) {
            0 => format!("count({node})"),
            1 => format!("count({node}.age)"),
            2 => format!("sum({node}.age), min({node}.id)"),
            3 => format!("count(*), count(DISTINCT {node}.age)"),
            _ => "count(*)".to_string(),
        };
        let key = if self.random.chance(30) { format!("{}.id, ", self.node()) } else { String::new() };
        format!(" RETURN {key}{value}")
    }
}

#[test]
fn fuzz_counted_patterns_agree_with_walked_ones() {
    let seed = seed_or(20_261_123);
    let rounds: u64 = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let mut random = SeededRandom::new(seed);
    let all = OptimizerConfig::default();
    let walked = OptimizerConfig { count_matches: false, ..all };
    let plain = RunSettings::default();
    let threads = RunSettings { threads: 3, parallel_nodes_min: 0, batch_rows: 2, ..plain };
    let (mut compared, mut counted) = (0, 0);
    for round in 0..rounds {
        let statements = graph(&mut random);
        let bench = Bench::new(&statements);
        for _ in 0..60 {
            let query = Writer { random: &mut random, nodes: 0 }.query();
            let expected = bench.run(&query, &walked, plain);
            let unused = OptimizerConfig { unused: false, ..all };
            let subplans = OptimizerConfig { counted_subplans: Use::Always, ..all };
            let runs = [
                (all, plain, None),
                (all, threads, None),
                (subplans, threads, None),
                (subplans, plain, Some(0)),
                (unused, plain, None),
                (all, plain, Some(0)),
                (all, threads, Some(2_000)),
            ];
            for (config, settings, limit) in runs {
                let found = match limit {
                    None => bench.run(&query, &config, settings),
                    Some(limit) => with_limit(limit, |memory| bench.run_within(&query, &config, settings, memory)),
                };
                let (Ok(expected), Ok(found)) = (&expected, &found) else {
                    panic!("seed {seed}, round {round}: {query}\n{expected:?}\n{found:?}");
                };
                let place = format!("seed {seed}, round {round}:\n{}\n{query}\n{}", statements.join(";\n"), found.1);
                assert_eq!(found.0, expected.0, "{place}");
                compared += 1;
                counted += u64::from(found.1.contains("CountMatches"));
            }
        }
    }
    assert!(counted * 3 > compared, "only {counted} of {compared} plans count");
}

/// Few of many nodes pass, or none: those from which no edge leads to one are dropped before their edges are read.
#[test]
fn patterns_that_few_nodes_end_agree_with_walked_ones() {
    let seed = seed_or(20_261_129);
    let mut random = SeededRandom::new(seed);
    let statements = [
        "UNWIND range(0, 239) AS i CREATE (:N {id: i})",
        "MATCH (a:N) WHERE a.id % 3 = 0 SET a:M",
        "MATCH (a:N) UNWIND [1, 3, 4, 7, 60, 0] AS i MATCH (b:N) WHERE b.id = (a.id * 5 + i * i) % 240 CREATE (a)-[:R]->(b)",
        "MATCH (a:N) UNWIND [2, 2, 11] AS i MATCH (b:N) WHERE b.id = (a.id + i) % 240 CREATE (a)-[:S]->(b)",
    ];
    let bench = Bench::new(&statements.map(str::to_string));
    let all = OptimizerConfig::default();
    let walked = OptimizerConfig { count_matches: false, ..all };
    let threads = RunSettings { threads: 3, parallel_nodes_min: 0, batch_rows: 7, ..RunSettings::default() };
    let (mut counted, mut some) = (0, 0);
    for round in 0..150 {
        let mut text = "MATCH (n0:N)".to_owned();
        let hops = 1 + random.index(3);
        for at in 1..=hops {
            let edge = ["-[:R]->", "<-[:R]-", "-[:S]-", "-[:R|S]->", "-[:R]->"][random.index(5)];
            text += &format!("{edge}(n{at}{})", ["", ":N", ":M"][random.index(3)]);
        }
        let few = random.index(hops + 1);
        text += &match random.index(4) {
            0 => format!(" WHERE n{few}.id < 0"),
            1 => format!(" WHERE n{few}.id < {}", 1 + random.index(12)),
            2 => format!(" WHERE NOT EXISTS {{ (n{few})-[:R]->() }}"),
            _ => format!(" WHERE n{few}.id < 9 AND EXISTS {{ (n{few})-[:S]->(:M) }} AND n0.id >= 5"),
        };
        text += &match random.index(3) {
            0 => " RETURN count(*)".to_owned(),
            1 => format!(" RETURN n{0}.id % 5 AS k, count(*)", random.index(hops + 1)),
            _ => format!(" RETURN count(DISTINCT n{})", random.index(hops + 1)),
        };
        let place = format!("seed {seed}, round {round}: {text}");
        let expected =
            bench.run(&text, &walked, RunSettings::default()).unwrap_or_else(|error| panic!("{place}\n{error:?}"));
        for settings in [RunSettings::default(), threads] {
            let found = bench.run(&text, &all, settings).unwrap_or_else(|error| panic!("{place}\n{error:?}"));
            assert_eq!(found.0, expected.0, "{place}\n{}", found.1);
            counted += usize::from(found.1.contains("CountMatches"));
        }
        some += usize::from(expected.0.iter().any(|row| row != "0"));
    }
    assert!(counted > 150 && some > 50, "{counted} plans of 300 count, {some} of 150 queries have rows");
}

/// Walks whose edges may come again, and some whose edges may not: their levels do not fit into a
/// few kilobytes.
const LEVELS: &[&str] = &[
    "MATCH (a:N)-[:R]->(b)-[:S]->(c) MATCH (c)-[:R]->(d)-[:S]->(e) WHERE e.id < 1000 OR e.odd = 1 RETURN count(*)",
    "MATCH (a:N)-[:R]->(b)-[:S]->(c) MATCH (c)-[:R]->(d)-[:S]->(e {odd: 1}) RETURN count(*), sum(a.id)",
    "MATCH (a:N)-[:R]->(b)-[:R]->(c)-[:R]->(d:Few) RETURN a.id % 10, count(*)",
    "MATCH (a:N)-[:R]-(b)-[:R]-(c)-[:R]-(d {odd: 1}) WITH a, count(*) AS n RETURN max(n), sum(n)",
    "MATCH (a:N) WHERE EXISTS { (a)-[:R]->(b)-[:S]->(c)-[:R]->({id: 7}) } RETURN count(*)",
];

#[test]
fn levels_that_do_not_fit_go_to_files() {
    let statements = [
        "UNWIND range(0, 2999) AS i CREATE (:N {id: i, odd: i % 2})",
        "MATCH (a:N) WHERE a.id < 300 SET a:Few",
        "MATCH (a:N) UNWIND [1, 5, 9, 17] AS i MATCH (b:N) WHERE b.id = (a.id * 7 + i) % 3000 CREATE (a)-[:R]->(b)",
        "MATCH (a:N) UNWIND [2, 3, 3, 11] AS i MATCH (b:N) WHERE b.id = (a.id * 3 + i) % 3000 CREATE (a)-[:S]->(b)",
    ];
    let bench = Bench::new(&statements.map(str::to_string));
    let config = OptimizerConfig { partial_aggregation: Use::Never, ..OptimizerConfig::default() };
    let mut spilled = 0;
    for query in LEVELS {
        let (expected, _) = bench.run(query, &config, RunSettings::default()).expect("it runs");
        for (limit, threads) in [(0, 1), (20_000, 1), (20_000, 3), (60_000, 3)] {
            let settings = RunSettings { threads, parallel_nodes_min: 0, ..RunSettings::default() };
            with_limit(limit, |memory| {
                let (rows, plan) = bench.run_within(query, &config, settings, memory).expect("it runs");
                assert_eq!(rows, expected, "{query} within {limit}\n{plan}");
                spilled += u32::from(plan.contains("CountMatches") && memory.spilled() > 0);
            });
        }
        for operation in [0, 1, 3] {
            check_full_disk(&bench.store, query, operation, 0);
        }
    }
    assert!(spilled >= 12, "{spilled} of 20 runs spill");
}

/// A loop, parallel edges, an edge back, and a node without edges.
const KNOTS: &str = "CREATE (a:N {id: 1}), (b:N {id: 2}), (c:N:M {id: 3}), (:N {id: 4}), \
    (a)-[:E]->(a), (a)-[:E]->(b), (a)-[:E]->(b), (b)-[:E]->(a), (b)-[:E]->(c), (c)-[:F]->(a);\n";

#[test]
fn counted_patterns() {
    let cases: &[(&str, &[&str])] = &[
        ("MATCH (x)-[:E]->(y)-[:E]->(z) RETURN count(*)", &["9"]),
        ("MATCH (x)-[:E]-(y)-[:E]-(z) RETURN count(*)", &["24"]),
        ("MATCH (x)-[:E]->(y)-[:E]->(z) WHERE x <> z RETURN count(*)", &["5"]),
        ("MATCH (x)-[:E]-(y)-[:E]-(z) WHERE x <> z RETURN count(*)", &["12"]),
        ("MATCH (x)-[:E]->(y:M) RETURN count(*)", &["1"]),
        ("MATCH (x)-[:E]->(y), (x)-[:E]->(z), (x)-[:E]->(w) RETURN count(*)", &["6"]),
        ("MATCH (x)-[:E]->(y)-[:E]->(z) RETURN x.id, count(*)", &["1, 6", "2, 3"]),
        ("MATCH (x:N) OPTIONAL MATCH (x)-[:E]->(y:N)-[:E]->(z) RETURN count(*)", &["11"]),
        ("MATCH (x)-[:F]->(y)-[:G]->(z) RETURN count(*)", &["0"]),
        ("MATCH (x)-[:E]->()-[:E]->()-[:E]->(y) RETURN count(*)", &["12"]),
        ("MATCH (x)-[:E]->()-[:E]->()-[:E]->(y:M) RETURN count(*)", &["4"]),
    ];
    for (query, expected) in cases {
        check(&format!("{KNOTS}{query}"), expected);
    }
}

#[test]
fn three_edges_in_a_row_are_not_walked() {
    let mut statements = vec!["UNWIND range(0, 99) AS i CREATE (:N {id: i})".to_string()];
    let square = "UNWIND range(1, 20) AS i MATCH (b:N) WHERE b.id = (a.id * 7 + i * i) % 100 CREATE (a)-[:E]->(b)";
    statements.push(format!("MATCH (a:N) {square}"));
    let bench = Bench::new(&statements);
    let count = |query: &str| {
        let settings = RunSettings { profile: true, ..RunSettings::default() };
        let (rows, plan) = bench.run(query, &OptimizerConfig::default(), settings).expect("it is counted");
        assert!(plan.contains("CountMatches") && !plan.contains("Expand"), "{query}\n{plan}");
        rows[0].parse::<u64>().expect("a count is a number")
    };
    let out: Vec<Vec<(usize, usize)>> =
        (0..100).map(|a| (1..=20).map(|i| (a * 20 + i - 1, (a * 7 + i * i) % 100)).collect()).collect();
    let mut trails = 0;
    for (first, middle) in out.iter().flatten() {
        for (second, node) in &out[*middle] {
            let is_new = |(third, _): &&(usize, usize)| third != first && third != second;
            trails += if first == second { 0 } else { out[*node].iter().filter(is_new).count() as u64 };
        }
    }
    assert!(trails < 100 * 20 * 20 * 20);
    assert_eq!(count("MATCH (a:N)-[:E]->()-[:E]->()-[:E]->(d) RETURN count(*)"), trails);
    // Edges of several patterns may be the same.
    let walks = "MATCH (a)-[:E]->(b) MATCH (b)-[:E]->(c) MATCH (c)-[:E]->(d) RETURN count(*)";
    assert_eq!(count(walks), 100 * 20 * 20 * 20);
}

#[test]
fn a_tree_hangs_from_few_nodes() {
    let statements = [
        "UNWIND range(0, 499) AS i CREATE (:N {id: i})",
        "MATCH (a:N) WHERE a.id < 5 SET a:Few",
        "MATCH (a:N) UNWIND [1, 3, 4, 7] AS i MATCH (b:N) WHERE b.id = (a.id + i * i) % 500 CREATE (a)-[:R]->(b)",
    ];
    let bench = Bench::new(&statements.map(str::to_string));
    let query = "MATCH (a:Few)-[:R]-(b)-[:R]->(c) RETURN count(*)";
    let run = |config| bench.run(query, &config, RunSettings::default()).expect("it is counted");
    let (rows, plan) = run(OptimizerConfig::default());
    assert_eq!(rows, run(OptimizerConfig::none()).0);
    assert!(plan.contains("NodeScan") && plan.contains(":Few") && plan.contains("CountMatches"), "{plan}");
    let scan = plan.lines().find(|line| line.contains("NodeScan")).unwrap_or_default();
    assert!(scan.contains("Few"), "{plan}");
}

#[test]
fn a_number_that_is_too_large_is_an_error() {
    // 32 edges to a node that has itself for a neighbor 32 times: 2^5 ways at each step.
    let steps: String = (0..13).map(|at| format!("-[:S{at}]->(n{at})")).collect();
    let script = format!(
        "UNWIND range(0, 13) AS i CREATE (:N {{id: i}});\n{}MATCH (start:N){steps} RETURN count(*)",
        (0..13)
            .map(|at| format!(
                "UNWIND range(1, 32) AS i MATCH (a:N {{id: {at}}}), (b:N {{id: {}}}) CREATE (a)-[:S{at}]->(b);\n",
                at + 1
            ))
            .collect::<String>()
    );
    check_error(&script, "ARITHMETIC");
}
