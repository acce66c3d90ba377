//! Random queries give the same rows with and without the rules of the optimiser.

use std::sync::Arc;

use cypher::catalog::CompileContext;
use cypher::optimizer::{OptimizerConfig, Use};
use cypher::plan::{PlanMode, Statement, explain};
use exec::{Environment, QueryMemory, RunSettings};
use model::procedure::GraphAccess;
use model::{GraphStore, Interrupt, Map, Value};
use testing::ReferenceStore;
use testing::random::SeededRandom;

use super::memory::with_limit;
use super::{Functions, StoppedClock};

/// A store and functions to run queries with.
pub(super) struct Bench {
    pub(super) store: ReferenceStore,
    functions: Functions,
}

impl Bench {
    pub(super) fn new(statements: &[String]) -> Bench {
        let bench = Bench { store: ReferenceStore::new(), functions: Functions::new() };
        for statement in statements {
            let settings = RunSettings::default();
            bench.run(statement, &OptimizerConfig::default(), settings).expect("the graph of the test can be made");
        }
        bench
    }

    /// The rows of a query in order of their text, or its error; and its plan.
    pub(super) fn run(
        &self,
        text: &str,
        config: &OptimizerConfig,
        settings: RunSettings,
    ) -> Result<(Vec<String>, String), String> {
        self.run_within(text, config, settings, &QueryMemory::unlimited())
    }

    /// The same, with so much memory.
    pub(super) fn run_within(
        &self,
        text: &str,
        config: &OptimizerConfig,
        settings: RunSettings,
        memory: &QueryMemory,
    ) -> Result<(Vec<String>, String), String> {
        let view = self.store.read().expect("the store can be read");
        let capabilities = view.capabilities();
        let (schema, statistics) = (view.schema(), view.statistics());
        let interrupt = Interrupt::new();
        let context = CompileContext {
            catalog: &self.functions,
            schema,
            statistics,
            capabilities,
            interrupt: &interrupt,
            seen: &[],
        };
        let compiled = cypher::compile_with(text, &context, config).map_err(|error| error.render(text))?;
        let Statement::Query(_, plan) = &compiled.statement else { return Err("expected a query".to_string()) };
        let parameters: Map<Arc<str>, Value> = Map::default();
        let environment = Environment {
            parameters: &parameters,
            procedures: &self.functions.1,
            interrupt: &Interrupt::new(),
            clock: &StoppedClock,
            memory,
            settings,
            transactions: None,
            replanner: None,
        };
        let mut rows = Vec::new();
        let mut sink = |count: usize, columns: &[Arc<model::Column>]| {
            for row in 0..count {
                let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
                rows.push(values.join(", "));
            }
            Ok(true)
        };
        let plan_text = explain::text(plan);
        let outcome = if plan.mode == PlanMode::Read {
            exec::run(plan, GraphAccess::Read(&*view), environment, &mut sink)
        } else {
            let mut transaction = self.store.write().expect("the store can be written");
            let outcome = exec::run(plan, GraphAccess::Write(&mut *transaction), environment, &mut sink);
            transaction.commit().expect("the write can be committed");
            outcome
        };
        outcome.map_err(|error| format!("{}\n{plan_text}", error.render(text)))?;
        rows.sort_unstable();
        Ok((rows, plan_text))
    }
}

/// A small graph with loops, parallel edges, nodes of two labels, and properties that are missing here and there.
pub(super) fn graph(random: &mut SeededRandom) -> Vec<String> {
    let mut statements = vec![
        "CREATE CONSTRAINT FOR (n:Person) REQUIRE n.id IS UNIQUE".to_string(),
        "CREATE CONSTRAINT FOR (n:Company) REQUIRE n.id IS UNIQUE".to_string(),
        "CREATE SORT KEY FOR ()-[r:KNOWS]-() ON r.since".to_string(),
    ];
    if random.chance(80) {
        let indexes = [
            "CREATE INDEX FOR (n:Person) ON (n.age)",
            "CREATE INDEX FOR (n:Thing) ON (n.age, n.id)",
            "CREATE INDEX FOR (n:Company) ON (n.id, n.age)",
            "CREATE INDEX FOR ()-[r:KNOWS]-() ON (r.since)",
            "CREATE INDEX FOR ()-[r:WORKS_AT]->() ON (r.since)",
        ];
        statements.extend(indexes.map(str::to_string));
    }
    let count = 3 + random.below(6);
    for id in 0..count {
        let labels = ["Person", "Person", "Company", "Person:Old", "Old"][random.index(5)];
        let age = if random.chance(80) { format!(", age: {}", random.below(4)) } else { String::new() };
        statements.push(format!("CREATE (:{labels}:Thing {{id: {id}{age}}})"));
    }
    for _ in 0..random.below(3 * count) {
        let (from, to) = (random.below(count), random.below(count));
        let edge_type = if random.chance(70) { "KNOWS" } else { "WORKS_AT" };
        let since = match random.below(10) {
            0 => "'2'".to_string(),
            1 => "1.5".to_string(),
            _ => random.below(4).to_string(),
        };
        statements.push(format!(
            "MATCH (a {{id: {from}}}), (b {{id: {to}}}) CREATE (a)-[:{edge_type} {{since: {since}}}]->(b)"
        ));
    }
    statements
}

/// Writes random queries, keeping account of the variables that are bound.
struct Writer<'r> {
    random: &'r mut SeededRandom,
    nodes: Vec<String>,
    edges: Vec<String>,
    lists: Vec<String>,
    next: usize,
}

impl Writer<'_> {
    fn query(&mut self) -> String {
        let mut text = String::new();
        for index in 0..1 + self.random.below(3) {
            if index > 0 && self.random.chance(25) {
                text.push_str(&self.with());
            }
            text.push_str(&self.matching(index > 0));
        }
        if self.random.chance(20) && !self.nodes.is_empty() {
            text.push_str(&self.call());
        }
        if self.random.chance(15) {
            text.push_str(&format!("UNWIND [1, 2, {}] AS u{} ", self.value(), self.next));
        }
        text.push_str(&self.returned());
        text
    }

    /// A subquery whose nodes are found by a value of the row around it.
    fn call(&mut self) -> String {
        let outer = self.random.pick(&self.nodes).clone();
        let (found, limit) = (self.name("n"), self.random.chance(30));
        let key = ["id", "age"][self.random.index(2)];
        let kind = if self.random.chance(30) { "OPTIONAL CALL" } else { "CALL" };
        self.nodes.push(found.clone());
        let end = if limit { format!("{found} ORDER BY {found}.id LIMIT 1") } else { found.clone() };
        format!("{kind} ({outer}) {{ MATCH ({found}:Thing) WHERE {found}.{key} = {outer}.age RETURN {end} }} ")
    }

    fn name(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn matching(&mut self, may_be_optional: bool) -> String {
        let keyword = if may_be_optional && self.random.chance(30) { "OPTIONAL MATCH" } else { "MATCH" };
        let parts: Vec<String> = (0..1 + self.random.below(2)).map(|_| self.part()).collect();
        let mut text = format!("{keyword} {} ", parts.join(", "));
        if self.random.chance(50) {
            let conditions: Vec<String> = (0..1 + self.random.below(2)).map(|_| self.condition()).collect();
            text.push_str(&format!(
                "WHERE {} ",
                conditions.join(if self.random.chance(70) { " AND " } else { " OR " })
            ));
        }
        text
    }

    fn part(&mut self) -> String {
        let mut text = self.node();
        for _ in 0..self.random.below(3) {
            text.push_str(&self.edge());
            text.push_str(&self.node());
        }
        text
    }

    fn node(&mut self) -> String {
        let name = if !self.nodes.is_empty() && self.random.chance(40) {
            self.random.pick(&self.nodes).clone()
        } else {
            let name = self.name("n");
            self.nodes.push(name.clone());
            name
        };
        let label = ["", "", ":Person", ":Company", ":Thing", ":Person:Old"][self.random.index(6)];
        let properties =
            if self.random.chance(20) { format!(" {{id: {}}}", self.random.below(6)) } else { String::new() };
        format!("({name}{label}{properties})")
    }

    fn edge(&mut self) -> String {
        let types = ["", "", ":KNOWS", ":WORKS_AT", ":KNOWS|WORKS_AT"][self.random.index(5)];
        let properties =
            if self.random.chance(15) { format!(" {{since: {}}}", self.random.below(4)) } else { String::new() };
        let (left, right) = [("-", "->"), ("<-", "-"), ("-", "-")][self.random.index(3)];
        if self.random.chance(20) {
            let length = ["*1..2", "*0..1", "*2", "*..2", "*2..3", "*3"][self.random.index(6)];
            let name = self.name("l");
            self.lists.push(name.clone());
            return format!("{left}[{name}{types}{length}{properties}]{right}");
        }
        let name = self.name("r");
        self.edges.push(name.clone());
        format!("{left}[{name}{types}{properties}]{right}")
    }

    fn value(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("{}", self.random.below(5)),
            1 if !self.edges.is_empty() => format!("{}.since", self.random.pick(&self.edges)),
            2 if !self.lists.is_empty() => format!("size({})", self.random.pick(&self.lists)),
            _ => match self.nodes.is_empty() {
                true => "null".to_string(),
                false => format!("{}.{}", self.random.pick(&self.nodes), ["id", "age"][self.random.index(2)]),
            },
        }
    }

    fn condition(&mut self) -> String {
        let (a, b) = (self.value(), self.value());
        let node = if self.nodes.is_empty() { None } else { Some(self.random.pick(&self.nodes).clone()) };
        match (self.random.below(22), node) {
            (0, Some(node)) => format!("({node})-[:KNOWS]->()"),
            (1, Some(node)) => format!("NOT ({node})<-[:WORKS_AT]-(:Person)"),
            (2, Some(node)) => format!("{node}:Person"),
            (3, Some(node)) => format!("EXISTS {{ ({node})-->(z:Thing) WHERE z.age > {b} }}"),
            (4, _) if !self.lists.is_empty() => {
                format!("all(e IN {} WHERE e.since > {b})", self.random.pick(&self.lists))
            }
            (5, _) => format!("{a} IN [0, 2, {b}]"),
            (6, _) => format!("{a} = {b}"),
            (7, _) => format!("{a} < {b} + 1"),
            (8..=10, _) if !self.edges.is_empty() => {
                let (edge, value) = (self.random.pick(&self.edges).clone(), self.random.below(4));
                let operator = ["=", "<", "<=", ">", ">="][self.random.index(5)];
                let value = ["", "'1'", "true"]
                    .get(self.random.index(9))
                    .filter(|it| !it.is_empty())
                    .map_or(value.to_string(), |it| it.to_string());
                if self.random.chance(30) {
                    format!("{value} {operator} {edge}.since")
                } else {
                    format!("{edge}.since {operator} {value}")
                }
            }
            (18, Some(node)) => {
                let key = self.random.below(6);
                format!("NOT EXISTS {{ ({node})-[s]-(y)<-[t:KNOWS]-(z {{id: {key}}}) WHERE s.since <> 1 }}")
            }
            (19, Some(node)) => format!("EXISTS {{ MATCH ({node}:Person)-->(y)-->(z:Thing)-->({node}) }}"),
            (20, Some(node)) => {
                format!("COUNT {{ ({node})<--(y:Person) WHERE y.age > 2 AND {node}.age >= y.age }} = 0")
            }
            (21, Some(node)) => {
                let key = self.random.below(6);
                format!("EXISTS {{ MATCH ({node})-[s:KNOWS]->(y) MATCH (y)-[t:KNOWS]-(z) WHERE z.id < {key} }}")
            }
            (11, _) => format!("EXISTS {{ MATCH (z:Thing) WHERE z.age = {a} }}"),
            (12, _) => format!("NOT EXISTS {{ MATCH (z:Person {{age: {a}}})-->(y) WHERE y.id <> {b} }}"),
            (13, _) => format!("COUNT {{ MATCH (z:Thing) WHERE {a} = z.id }} < {b}"),
            (14, Some(node)) => {
                format!("({node}.id = 1 OR 3 = {node}.id OR {node}.id IN [4, null, {}])", self.random.below(9))
            }
            (15, Some(node)) => format!("({node}.id = {a} OR {node}.age = {b})"),
            (16, Some(node)) => {
                let (low, other) = (self.random.below(4), self.random.pick(&self.nodes).clone());
                format!("({node}.age > {low} AND {other}.id <> 2 OR {node}.id IN [{a}, 3] OR id({node}) = {b})")
            }
            (17, _) if !self.edges.is_empty() => {
                let edge = self.random.pick(&self.edges).clone();
                format!("({edge}.since = {} OR {edge}.since < 1 OR {edge}.since = {b})", self.random.below(4))
            }
            _ => format!("({a} <> {b} OR {a} IS NULL)"),
        }
    }

    fn with(&mut self) -> String {
        let mut kept: Vec<String> = self.nodes.iter().filter(|_| self.random.chance(70)).cloned().collect();
        self.edges.retain(|_| self.random.chance(50));
        self.lists.clear();
        if kept.is_empty() {
            kept.push("1 AS one".to_string());
        }
        let columns: Vec<String> = kept.iter().chain(&self.edges).cloned().collect();
        self.nodes = kept.into_iter().filter(|name| name != "1 AS one").collect();
        let distinct = if self.random.chance(30) { "DISTINCT " } else { "" };
        format!("WITH {distinct}{} ", columns.join(", "))
    }

    fn returned(&mut self) -> String {
        let mut columns = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let value = self.value();
            columns.push(match self.random.below(8) {
                0 => format!("count({value})"),
                1 => format!("count(DISTINCT {value})"),
                2 => format!("{}({value})", self.random.pick(&["min", "max"])),
                _ => value,
            });
        }
        if self.random.chance(20) && !self.nodes.is_empty() {
            let node = self.random.pick(&self.nodes).clone();
            columns.push(format!("COUNT {{ ({node})-->() }}"));
            columns.push(format!("size([({node})-[q]-(y) WHERE q.since > 1 | y.id])"));
        }
        let named: Vec<String> = columns.iter().enumerate().map(|(i, column)| format!("{column} AS c{i}")).collect();
        let distinct = if self.random.chance(20) { "DISTINCT " } else { "" };
        // A limit is only comparable if it leaves all rows, or if the rows are ordered by all columns.
        let order: Vec<String> = (0..named.len()).map(|i| format!("c{i}")).collect();
        let end = match self.random.below(4) {
            0 => format!(" ORDER BY {} LIMIT {}", order.join(", "), self.random.below(6)),
            1 => format!(" ORDER BY {} DESC SKIP 1 LIMIT 3", order.join(" DESC, ")),
            _ => String::new(),
        };
        format!("RETURN {distinct}{}{end}", named.join(", "))
    }
}

/// All rules, none, and each alone left out.
fn configs() -> Vec<OptimizerConfig> {
    let all = OptimizerConfig::default();
    vec![
        OptimizerConfig::none(),
        OptimizerConfig { covering_labels: true, ..all },
        OptimizerConfig { reorder_patterns: false, ..all },
        OptimizerConfig { lookups: false, ..all },
        OptimizerConfig { hash_joins: false, ..all },
        OptimizerConfig { intersections: false, ..all },
        OptimizerConfig { semi_apply: false, ..all },
        OptimizerConfig { exists_joins: Use::Never, ..all },
        OptimizerConfig { exists_joins: Use::Always, ..all },
        OptimizerConfig { distinct_nodes: Use::Always, ..all },
        OptimizerConfig { unused: false, ..all },
        OptimizerConfig { count_matches: false, ..all },
        OptimizerConfig { counted_subplans: Use::Never, ..all },
        OptimizerConfig { counted_subplans: Use::Always, ..all },
        OptimizerConfig { counted_subplans: Use::Always, exists_joins: Use::Never, count_matches: false, ..all },
        OptimizerConfig { partial_aggregation: Use::Never, ..all },
        OptimizerConfig { partial_aggregation: Use::Always, ..all },
        OptimizerConfig { partial_aggregation: Use::Always, count_matches: false, ..all },
        OptimizerConfig { first_matches: Use::Never, ..all },
        OptimizerConfig { first_matches: Use::Always, ..all },
        OptimizerConfig { first_matches: Use::Always, count_matches: false, partial_aggregation: Use::Never, ..all },
        OptimizerConfig { distinct_already: false, ..all },
        OptimizerConfig { joined_paths: false, ..all },
        OptimizerConfig { sort_keys: false, ..all },
        OptimizerConfig { edge_filters: false, ..all },
    ]
}

#[test]
fn fuzz_optimised_plans_agree() {
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122);
    let rounds: u64 = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(12);
    let mut random = SeededRandom::new(seed);
    let configs = configs();
    let mut compared = 0;
    for _ in 0..rounds {
        let statements = graph(&mut random);
        let bench = Bench::new(&statements);
        for _ in 0..40 {
            let writer =
                Writer { random: &mut random, nodes: Vec::new(), edges: Vec::new(), lists: Vec::new(), next: 0 };
            let query = { writer }.query();
            let settings = RunSettings { batch_rows: 7, ..RunSettings::default() };
            let expected = bench.run(&query, &OptimizerConfig::default(), settings);
            for config in &configs {
                let settings = RunSettings::default();
                let found = bench.run(&query, config, settings);
                let agree = match (&expected, &found) {
                    (Ok(expected), Ok(found)) => expected.0 == found.0,
                    (Err(_), Err(_)) => true,
                    _ => false,
                };
                compared += u64::from(expected.is_ok());
                let graph = statements.join(";\n");
                assert!(agree, "seed {seed}\n{graph}\n{query}\n{expected:#?}\n{config:?}\n{found:#?}");
            }
        }
    }
    assert!(compared > rounds * 100, "only {compared} comparisons");
}

#[test]
fn equalities_with_constants_are_looked_up_together() {
    let bench = Bench::new(&graph(&mut SeededRandom::new(7)));
    for condition in ["n.id = 1 OR 3 = n.id", "n.id = 1 OR n.id IN [2, 3] OR n.id = null", "id(n) = 1 OR id(n) = 2"] {
        let query = format!("MATCH (n:Person) WHERE {condition} RETURN n.id");
        let settings = RunSettings::default;
        let (rows, plan) = bench.run(&query, &OptimizerConfig::default(), settings()).expect("the query runs");
        let (expected, _) = bench.run(&query, &OptimizerConfig::none(), settings()).expect("the query runs");
        assert_eq!(rows, expected, "{query}");
        assert!(!plan.contains("NodeScan"), "{query}\n{plan}");
    }
}

#[test]
fn disjunctions_whose_parts_have_indexes_scan_nothing() {
    let mut statements = graph(&mut SeededRandom::new(11));
    statements.push("CREATE INDEX IF NOT EXISTS FOR (n:Person) ON (n.age)".to_string());
    statements.push("CREATE INDEX IF NOT EXISTS FOR ()-[r:WORKS_AT]->() ON (r.since)".to_string());
    statements.push("CREATE (:Person:Thing {id: 101, age: 2}), (:Person:Thing {id: 102, age: 101})".to_string());
    statements.push("MATCH (a {id: 101}), (b {id: 102}) CREATE (a)-[:WORKS_AT {since: 7}]->(b)".to_string());
    let bench = Bench::new(&statements);
    for (query, rows_min) in [
        ("MATCH (n:Person) WHERE n.id = 101 OR n.age = 2 RETURN n.id", 1),
        ("MATCH (n:Person) WHERE n.id = 101 OR n.age = 2 OR id(n) = 1 OR n.age > 50 RETURN n.id", 2),
        (
            "UNWIND [[101, 102], [102, 102], [null, 101], [7777, null]] AS p \
          MATCH (n:Person) WHERE n.id = p[0] OR n.id = p[1] RETURN n.id, p",
            4,
        ),
        ("MATCH (m:Person {id: 102}) MATCH (n:Person) WHERE n.id = m.age OR n.age = m.id RETURN n.id", 1),
        ("MATCH (n:Person) WHERE n.id = 101 AND n.age > 7 OR n.age = 101 RETURN n.id", 1),
        ("MATCH (a)-[r:WORKS_AT]->(b) WHERE r.since = 7 OR r.since > 100 RETURN a.id, b.id", 1),
        ("MATCH (a:Person)-[:WORKS_AT]->(b) WHERE a.id = 101 OR a.age = 101 RETURN a.id, b.id", 1),
        ("MATCH (p:Person {id: 101}) OPTIONAL MATCH (n:Person) WHERE n.id = p.age OR n.age = p.id RETURN n.id", 1),
    ] {
        let settings = RunSettings::default;
        let (rows, plan) = bench.run(query, &OptimizerConfig::default(), settings()).expect("the query runs");
        let (expected, _) = bench.run(query, &OptimizerConfig::none(), settings()).expect("the query runs");
        assert_eq!(rows, expected, "{query}\n{plan}");
        assert!(rows.len() >= rows_min, "{query}\n{rows:?}");
        assert!(!plan.contains("Scan"), "{query}\n{plan}");
    }
    // Plans of very many parts would grow with their square.
    let parts: Vec<String> = (0..2_000).map(|i| format!("n.id = {i} OR n.age = {i}")).collect();
    let query = format!("MATCH (n:Person) WHERE {} RETURN n.id", parts.join(" OR "));
    let (rows, plan) = bench.run(&query, &OptimizerConfig::default(), RunSettings::default()).expect("the query runs");
    let (expected, _) = bench.run(&query, &OptimizerConfig::none(), RunSettings::default()).expect("the query runs");
    assert_eq!(rows, expected);
    assert!(plan.contains("NodeScan"), "a plan of {} bytes", plan.len());
    // A part without an index leaves a scan.
    let query = "MATCH (n:Person) WHERE n.id = 101 OR n.name = 'x' RETURN n.id";
    let (_, plan) = bench.run(query, &OptimizerConfig::default(), RunSettings::default()).expect("the query runs");
    assert!(plan.contains("NodeScan"), "{plan}");
}

/// Ranges and first edges by a sort key, where ties do not show.
const SORTED_QUERIES: &[&str] = &[
    "MATCH (a)-[r:KNOWS]->(b) WHERE r.since > 1 RETURN a.id, b.id, r.since",
    "MATCH (a)<-[r:KNOWS]-(b) WHERE r.since >= 1 AND r.since < 3 RETURN a.id, b.id, r.since",
    "MATCH (a)-[r:KNOWS]-(b) WHERE r.since = 2 RETURN a.id, b.id",
    "MATCH (a)-[r:KNOWS]->(b) WHERE r.since < null RETURN a.id, b.id",
    "MATCH (a)-[r:KNOWS]->(b) RETURN r.since AS s ORDER BY s DESC LIMIT 3",
    "MATCH (a)<-[r:KNOWS]-(b) RETURN r.since ORDER BY r.since LIMIT 4",
    "MATCH (a)-[r:KNOWS]-(b) WHERE r.since >= 1 WITH r.since AS s ORDER BY s SKIP 1 LIMIT 2 RETURN s",
    "MATCH (a)-[r:KNOWS]->(b:Person) RETURN r.since ORDER BY r.since DESC LIMIT 3",
    "MATCH (a)-[r:KNOWS]->(b) WHERE b.id > 3 RETURN r.since ORDER BY r.since LIMIT 3",
    "MATCH (a)-[q:KNOWS]->(b)-[r:KNOWS]->(c) RETURN r.since ORDER BY r.since DESC LIMIT 5",
    "MATCH (a)-[r:KNOWS]->(b) WHERE r.since > 'x' RETURN count(*)",
];

#[test]
fn plans_with_sort_keys_agree_with_plans_without() {
    let mut random = SeededRandom::new(7);
    for _ in 0..20 {
        let statements = graph(&mut random);
        let bench = Bench::new(&statements);
        for query in SORTED_QUERIES {
            let settings = RunSettings { batch_rows: 7, ..RunSettings::default() };
            let expected = bench.run(query, &OptimizerConfig::none(), settings).expect("the query runs");
            let found = bench.run(query, &OptimizerConfig::default(), RunSettings::default()).expect("the query runs");
            assert_eq!(expected.0, found.0, "{query}\n{}", statements.join(";\n"));
        }
    }
}

/// Patterns that subplans ask for.
const ASKED: &[&str] = &[
    "(n)-[:KNOWS]->(m:Person) WHERE m.age > 1",
    "(n)-[:KNOWS]-(m) WHERE m.age = 1 OR m.age = 2",
    "(n)-[:KNOWS]-()-[:KNOWS]-(m)",
    "(n)-[:KNOWS]-()-[:KNOWS]-(m)-[:KNOWS]-(k:Person)",
    "(n)-->(m)-[:KNOWS]->(k)<--(l) WHERE m.age > 0",
    "(n)-[:KNOWS]->(m:Person)-[:KNOWS]->()-[:KNOWS]->(l), (m)-[:WORKS_AT]->(c)",
    "(n)-[:KNOWS]-(m)-[:KNOWS]-(k)-[:KNOWS]-(l)-[:KNOWS]-(o)",
    "MATCH (n)-[e]-(m) MATCH (m)-[f]-(k) MATCH (k)-[g]-(l) WHERE e <> g",
    "MATCH (n)-[e:KNOWS]->(m) MATCH (m)-[f]-(k)<-[g]-(l) WHERE e <> g AND m.age > 0",
    "MATCH (n)-[e]-(m)<-[f:KNOWS]-(k) MATCH (k)-[g]->(l:Person) WHERE e <> g",
    "(n)-->(m:Thing)-->(k)-->(n)-->(l)",
    "(n)-->(m), (n)-->(k) WHERE m <> k",
    "(n)-[:KNOWS]->(m)-[:WORKS_AT]->(c:Company) WHERE m.age > n.age",
    "(n)-[:KNOWS]-(m) WHERE NOT EXISTS { (m)-->(:Company) }",
    "(n)-[:KNOWS]-(m) WHERE EXISTS { (m)-->()-->(k) WHERE k.age = 1 }",
];

#[test]
fn what_subplans_ask_of_trees_is_counted() {
    let counted = OptimizerConfig {
        counted_subplans: Use::Always,
        exists_joins: Use::Never,
        count_matches: false,
        ..OptimizerConfig::default()
    };
    let mut random = SeededRandom::new(11);
    let benches: Vec<Bench> = (0..6).map(|_| Bench::new(&graph(&mut random))).collect();
    let run = |query: &str| {
        let is_counted = |bench: &&Bench| {
            let (expected, _) =
                bench.run(query, &OptimizerConfig::none(), RunSettings::default()).expect("the query runs");
            let mut is_counted = true;
            for (batch_rows, threads, limit) in [(2_048, 1, None), (7, 1, None), (1, 1, Some(0)), (3, 3, Some(2_000))] {
                let settings = RunSettings { batch_rows, threads, parallel_nodes_min: 0, ..RunSettings::default() };
                let found = match limit {
                    None => bench.run(query, &counted, settings),
                    Some(limit) => with_limit(limit, |memory| bench.run_within(query, &counted, settings, memory)),
                };
                let (rows, plan) = found.unwrap_or_else(|error| panic!("limit {limit:?}: {error}\n{query}"));
                assert_eq!(rows, expected, "{query}\n{plan}");
                is_counted &= plan.contains("CountMatches");
            }
            is_counted
        };
        benches.iter().filter(is_counted).count() == benches.len()
    };
    for body in ASKED {
        // Four edges in a row that must all differ do not hang from their end as a tree, and a cycle from no node.
        let has_trees = !body.contains("->(n)") && !body.contains("(o)");
        let is_tree = has_trees && !body.contains("n.age");
        let conditions = [
            (format!("EXISTS {{ {body} }}"), is_tree),
            (format!("NOT EXISTS {{ {body} }}"), is_tree),
            (format!("COUNT {{ {body} }} > 1"), has_trees),
        ];
        for (condition, is_counted) in &conditions {
            assert_eq!(run(&format!("MATCH (n) WHERE {condition} RETURN n.id")), *is_counted, "{condition}");
            assert_eq!(run(&format!("MATCH (a)-->(n:Person) WHERE {condition} RETURN a.id, n.age")), *is_counted);
            // A missing node has no match.
            run(&format!("MATCH (a) OPTIONAL MATCH (a)-[:WORKS_AT]->(n) WITH a, n WHERE {condition} RETURN a.id"));
        }
        assert_eq!(run(&format!("MATCH (n) RETURN n.id, COUNT {{ {body} }} AS matches")), has_trees, "{body}");
        assert_eq!(run(&format!("MATCH (n) RETURN n.id, EXISTS {{ {body} }} AS matches")), is_tree, "{body}");
        assert_eq!(run(&format!("MATCH (n)--(x) RETURN max(COUNT {{ {body} }}), min(x.id)")), has_trees, "{body}");
        run(&format!("UNWIND [1, 2] AS i OPTIONAL MATCH (n {{id: i}}) RETURN i, COUNT {{ {body} }}"));
    }
    // These read more of the row than one node, or a part of the matches.
    for query in [
        "MATCH (n)-->(k) RETURN n.id, COUNT { (n)-->(m) WHERE m.age > k.age }",
        "MATCH (n) RETURN n.id, COUNT { MATCH (n)-->(m) WITH m LIMIT 1 WHERE m.age = 1 RETURN m }",
        "MATCH (n) RETURN n.id, COUNT { (n)-->(m) WHERE m.age = rand() }",
    ] {
        assert!(!run(query), "{query}");
    }
}

#[test]
fn sizes_of_collected_lists_are_counted() {
    let bench = Bench::new(&graph(&mut SeededRandom::new(13)));
    let run = |query: &str| {
        let (rows, plan) =
            bench.run(query, &OptimizerConfig::default(), RunSettings::default()).expect("the query runs");
        let (expected, _) = bench.run(query, &OptimizerConfig::none(), RunSettings::default()).expect("the query runs");
        assert_eq!(rows, expected, "{query}\n{plan}");
        plan
    };
    for list in [
        "[(n)-[:KNOWS]->(m) | m.age]",
        "[(n)-[r]-(m:Person) WHERE m.age > 1 | r]",
        "[p = (n)-[:KNOWS]->()-[:KNOWS]-(m) | 1]",
        "COLLECT { MATCH (n)-->(m) RETURN m.id }",
        "COLLECT { MATCH (n)-->(m) RETURN null AS x UNION ALL MATCH (n)<--(m) RETURN 1 AS x }",
        "COLLECT { MATCH (n)-->(m) RETURN DISTINCT m.age }",
        "COLLECT { MATCH (n)-->(m) RETURN m.age AS x ORDER BY x LIMIT 2 }",
    ] {
        run(&format!("MATCH (n) RETURN n.id, size({list}) AS matches"));
        run(&format!("MATCH (n) WHERE size({list}) > 1 OR n.id = 1 RETURN n.id"));
        run(&format!("OPTIONAL MATCH (n {{id: -1}}) RETURN size({list})"));
    }
    // An item that fails does so though nobody reads it.
    let failing = "MATCH (n) RETURN size([(n)-[:KNOWS]->(m) | 1 / (m.id - m.id)])";
    assert!(bench.run(failing, &OptimizerConfig::default(), RunSettings::default()).is_err());
    let plan = run("MATCH (n) WHERE size([(n)-[:KNOWS]->(m) | m.age]) > 0 RETURN n.id");
    assert!(plan.contains("SemiApply"), "{plan}");
    let plan = run("MATCH (n) RETURN n.id, size([(n)-->(m) | [m, 1]]), size([1, 2]), size('text')");
    assert!(plan.contains("COLLECT"), "{plan}");
}

/// Optional patterns in a row, what is returned, and how many of them are not counted.
const OPTIONAL_PATTERNS: &[(&str, &str, usize)] = &[
    ("OPTIONAL MATCH (n)-[:KNOWS]->(m) OPTIONAL MATCH (n)-[q]-(k:Person)", "n.id, count(m), count(k), count(*)", 0),
    (
        "OPTIONAL MATCH (n)-[r]->(m) OPTIONAL MATCH (n)<-[q]-(k) OPTIONAL MATCH (n)--(l)--(x)",
        "count(r), count(l), sum(n.age)",
        0,
    ),
    ("OPTIONAL MATCH (n)-[:KNOWS]->(m) OPTIONAL MATCH (n)-[q]-(k)", "n.age, count(k), min(n.id), count(DISTINCT n)", 0),
    // The second starts from a match of the first.
    (
        "OPTIONAL MATCH (n)-->(m) OPTIONAL MATCH (m)-->(k) OPTIONAL MATCH (n)<--(l)",
        "n.id, count(k), count(l), count(m)",
        1,
    ),
    ("OPTIONAL MATCH (n)-->(m) OPTIONAL MATCH (n)-->(k) WHERE k.age > m.age", "n.id, count(k), count(m)", 2),
    ("OPTIONAL MATCH (n)-->(m) OPTIONAL MATCH (n)-->(k)", "m.id, count(k), count(*)", 1),
    ("OPTIONAL MATCH (n)-->(m) OPTIONAL MATCH (n)-->(k)", "k.id, count(m)", 2),
];

#[test]
fn counts_of_optional_matches_make_no_rows() {
    let counted = OptimizerConfig { counted_subplans: Use::Always, ..OptimizerConfig::default() };
    let mut random = SeededRandom::new(12);
    let benches: Vec<Bench> = (0..6).map(|_| Bench::new(&graph(&mut random))).collect();
    let run = |query: &str| {
        let kept = |bench: &Bench| {
            let (expected, _) =
                bench.run(query, &OptimizerConfig::none(), RunSettings::default()).expect("the query runs");
            let settings = RunSettings { batch_rows: 3, threads: 2, parallel_nodes_min: 0, ..RunSettings::default() };
            let (rows, plan) = bench.run(query, &counted, settings).expect("the query runs");
            assert_eq!(rows, expected, "{query}\n{plan}");
            plan.lines().filter(|line| line.trim_start().starts_with("Optional")).count()
        };
        // Some graphs have an index from which a pattern is matched rather than counted.
        benches.iter().map(kept).min()
    };
    for pattern in [
        "(n)-[r:KNOWS]->(m)",
        "(n)-[r:KNOWS]->(m:Person) WHERE m.age > 1",
        "(n)-[:KNOWS]-()-[r:KNOWS]-(m)",
        "(n)-[r]->(m) WHERE NOT EXISTS { (m)-->(:Company) }",
        "(n)-[:KNOWS]->(k)-[r:WORKS_AT]->(m) WHERE k.age > n.age",
    ] {
        for (start, returned) in [
            ("MATCH (n)", "n.id, count(m)"),
            ("MATCH (n)", "count(r), count(*), min(n.id), sum(n.age)"),
            ("MATCH (a)-->(n:Person)", "a.id, count(m), count(n.age), count(DISTINCT n.id), collect(DISTINCT n.age)"),
            ("MATCH (a) OPTIONAL MATCH (a)-[:WORKS_AT]->(n) WITH DISTINCT a, n", "a.id, count(m), avg(a.id)"),
            ("UNWIND [1, 2, 2, 77] AS i OPTIONAL MATCH (n {id: i})", "i, count(m), count(*), sum(i)"),
            ("MATCH (n) WHERE n.id > 1000", "count(m), sum(n.id), count(*)"),
        ] {
            let of_start = start.matches("OPTIONAL").count();
            let query = format!("{start} OPTIONAL MATCH {pattern} RETURN {returned}");
            assert_eq!(run(&query), Some(of_start), "{query}");
        }
        run(&format!(
            "MATCH (n) OPTIONAL MATCH {pattern} WITH n, count(m) AS c OPTIONAL MATCH (n)-->(x) RETURN c, n.id, count(x)"
        ));
    }
    for &(patterns, returned, kept) in OPTIONAL_PATTERNS {
        let query = format!("MATCH (n) {patterns} RETURN {returned}");
        assert_eq!(run(&query), Some(kept), "{query}");
        run(&format!("MATCH (a) OPTIONAL MATCH (a)-[:WORKS_AT]-(n) {patterns} RETURN {returned}"));
    }
    // These read something of the matches besides, or tell equal ones apart.
    for returned in
        ["m.id, count(m)", "count(m), max(m.id)", "count(DISTINCT m)", "count(m.age)", "n.id, count(m), collect(n.id)"]
    {
        let query = format!("MATCH (n) OPTIONAL MATCH (n)-[:KNOWS]->(m) RETURN {returned}");
        assert_eq!(run(&query), Some(1), "{query}");
    }
}

#[test]
fn patterns_that_hang_on_one_node_are_joined_where_all_rows_are_asked_for() {
    let bench = Bench::new(&graph(&mut SeededRandom::new(5)));
    let always = OptimizerConfig { exists_joins: Use::Always, ..OptimizerConfig::default() };
    let run = |query: &str| {
        let (rows, plan) = bench.run(query, &always, RunSettings::default()).expect("the query runs");
        let (expected, _) = bench.run(query, &OptimizerConfig::none(), RunSettings::default()).expect("the query runs");
        assert_eq!(rows, expected, "{query}\n{plan}");
        plan.contains("HashJoin")
    };
    for condition in [
        "EXISTS { (n)-[:KNOWS]->(m:Person) WHERE m.age > 1 }",
        "NOT EXISTS { (n)-[:KNOWS]-(m) WHERE m.age = 1 OR n.age = 2 }",
        "NOT (n)<-[:WORKS_AT]-(:Person)",
        "COUNT { (n)-[r:KNOWS]->()-[s]->(m) WHERE r.since <> s.since } = 0",
        "COUNT { (n)-->(:Thing) } > 0",
        "EXISTS { (n:Thing)-->(n) }",
        // From a node that is found by its key.
        "EXISTS { (n)-[:KNOWS]->(:Person {id: 1}) }",
        "NOT EXISTS { (n)-[:KNOWS]-()-[:KNOWS]-(m:Person {id: 1}) }",
        "EXISTS { (n)-->(m:Person)-->(k) WHERE m.id IN [0, 1, 2, 2, null] AND k.age = 1 }",
        "EXISTS { (n)-[:KNOWS]-(m)-[:KNOWS]-(:Person {id: 2})-[]-(n) }",
        "NOT EXISTS { (n)-->(m:Person {id: n.age}) }",
        "COUNT { (n)-[r]-(m)-[s]-(:Company {id: 3})-[t]-(k:Person {id: 1}) WHERE r.since <= t.since } = 0",
    ] {
        assert!(run(&format!("MATCH (n) WHERE {condition} RETURN n.id")), "{condition}");
        assert!(run(&format!("MATCH (a)-->(n:Person) WHERE {condition} RETURN a.id, n.age")), "{condition}");
    }
    for query in [
        "MATCH (n) WHERE EXISTS { (n)-->(m) WHERE m.age > 1 } WITH n LIMIT 1 RETURN count(n)",
        "MATCH (n)-->(k) WHERE EXISTS { (n)-->(m) WHERE m.age > k.age } RETURN n.id",
        "MATCH (n)-->(k) WHERE EXISTS { (n)-->(k) } RETURN n.id",
        "MATCH (n) WHERE EXISTS { (n)-->(m) WHERE EXISTS { (m)-->(n) } } RETURN n.id",
        "MATCH (n) WHERE EXISTS { MATCH (n)-->(m) WITH m LIMIT 1 WHERE m.age = 1 RETURN m } RETURN n.id",
    ] {
        assert!(!run(query), "{query}");
    }
}
