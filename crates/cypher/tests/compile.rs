//! Queries and the plans or errors they give, as golden text, and queries mangled at random.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

use cypher::catalog::{Catalog, CompileContext, FunctionKind, FunctionSignature};
use cypher::optimizer::OptimizerConfig;
use cypher::plan::{Statement, explain};
use model::procedure::{ArgumentSpec, ProcedureMode, ProcedureSignature, YieldSpec};
use model::statistics::{EdgeSketch, ValueSketch};
use model::{Capabilities, Constraint, ErrorCode, Interrupt, Schema, Sketches, Statistics, Value};
use testing::golden::{self, Step};
use testing::random::SeededRandom;

const fn function(name: &'static str, kind: FunctionKind, min: usize, max: Option<usize>) -> FunctionSignature {
    FunctionSignature { name, kind, arguments_min: min, arguments_max: max, takes_weights: false }
}

const fn weighable(name: &'static str) -> FunctionSignature {
    FunctionSignature { takes_weights: true, ..function(name, FunctionKind::Aggregate, 1, Some(1)) }
}

const FUNCTIONS: &[FunctionSignature] = &[
    weighable("count"),
    weighable("sum"),
    weighable("avg"),
    function("max", FunctionKind::Aggregate, 1, Some(1)),
    function("collect", FunctionKind::Aggregate, 1, Some(1)),
    function("id", FunctionKind::Scalar, 1, Some(1)),
    function("size", FunctionKind::Scalar, 1, Some(1)),
    function("labels", FunctionKind::Scalar, 1, Some(1)),
    function("nodes", FunctionKind::Scalar, 1, Some(1)),
    function("relationships", FunctionKind::Scalar, 1, Some(1)),
    function("length", FunctionKind::Scalar, 1, Some(1)),
    function("startNode", FunctionKind::Scalar, 1, Some(1)),
    function("endNode", FunctionKind::Scalar, 1, Some(1)),
    function("reverse", FunctionKind::Scalar, 1, Some(1)),
    function("coalesce", FunctionKind::Scalar, 1, None),
    function("range", FunctionKind::Scalar, 2, Some(3)),
    function("toUpper", FunctionKind::Scalar, 1, Some(1)),
    function("rand", FunctionKind::Scalar, 0, Some(0)),
];

const PROCEDURES: &[ProcedureSignature] = &[
    ProcedureSignature {
        name: "algo.pagerank",
        aliases: &[],
        description: "ranks",
        mode: ProcedureMode::Read,
        arguments: &[ArgumentSpec {
            name: "config",
            type_name: "MAP",
            description: "settings",
            default: Some(|| Value::map([])),
        }],
        yields: &[YieldSpec { name: "node", type_name: "NODE" }, YieldSpec { name: "score", type_name: "FLOAT" }],
    },
    ProcedureSignature {
        name: "graph.clear",
        aliases: &[],
        description: "deletes a label",
        mode: ProcedureMode::Write,
        arguments: &[ArgumentSpec { name: "label", type_name: "STRING", description: "which", default: None }],
        yields: &[],
    },
];

struct FakeCatalog;

impl Catalog for FakeCatalog {
    fn function(&self, name: &str) -> Option<&FunctionSignature> {
        FUNCTIONS.iter().find(|signature| signature.name.eq_ignore_ascii_case(name))
    }

    fn function_names(&self) -> Vec<&str> {
        FUNCTIONS.iter().map(|signature| signature.name).collect()
    }

    fn procedure(&self, name: &str) -> Option<&ProcedureSignature> {
        PROCEDURES.iter().find(|signature| signature.name.eq_ignore_ascii_case(name))
    }

    fn procedure_names(&self) -> Vec<&str> {
        PROCEDURES.iter().map(|signature| signature.name).collect()
    }
}

/// A hundred thousand persons who know fifty others each, ten thousand companies, a unique id on both.
struct Fixture {
    interrupt: Interrupt,
    schema: Schema,
    statistics: Statistics,
}

impl Fixture {
    fn new() -> Fixture {
        let mut schema = Schema::default();
        let mut statistics = Statistics { nodes: 110_000, edges: 5_100_000, ..Statistics::default() };
        for (label, count) in [("Person", 100_000), ("Company", 10_000), ("Entity", 110_000)] {
            let id = model::LabelId(schema.labels.intern(label));
            statistics.nodes_by_label.insert(id, count);
            let key = model::PropertyKeyId(schema.property_keys.intern("id"));
            schema.constraints.push(Constraint::unique(label, id, key));
        }
        for (edge_type, count) in [("KNOWS", 5_000_000), ("WORKS_AT", 100_000)] {
            let id = model::EdgeTypeId(schema.edge_types.intern(edge_type));
            statistics.edges_by_type.insert(id, count);
        }
        ["name", "age", "city", "since"].into_iter().for_each(|key| {
            schema.property_keys.intern(key);
        });
        Fixture { interrupt: Interrupt::new(), schema, statistics }
    }

    /// The same store after it was looked through: companies are few in what `WORKS_AT` starts at, and none know others.
    fn with_sketches() -> Fixture {
        let mut fixture = Fixture::new();
        let label = |name: &str| fixture.schema.label(name);
        let (person, company) = (label("Person"), label("Company"));
        let mut sketches = Sketches { nodes: 110_000, edges: 5_100_000, ..Sketches::default() };
        for (edge_type, edges, target) in [("KNOWS", 5_000_000, person), ("WORKS_AT", 100_000, company)] {
            let id = fixture.schema.edge_type(edge_type).expect("the fixture has the type");
            let pairs =
                [(person, None), (None, target), (person, target)].map(|pair| (pair, edges)).into_iter().collect();
            sketches.edge_types.insert(id, EdgeSketch { edges, sampled: edges, pairs, ..EdgeSketch::default() });
        }
        for (key, distinct, numbers) in [("city", 500, None), ("age", 100, Some((0.0, 100.0)))] {
            let place = (person.expect("the fixture has it"), fixture.schema.property_key(key).expect("likewise"));
            let (nodes, sampled, present) = (100_000, 100_000, 100_000);
            sketches.values.insert(place, ValueSketch { nodes, sampled, present, distinct, numbers });
        }
        fixture.statistics.sketches = Some(Arc::new(sketches));
        fixture
    }

    fn context(&self) -> CompileContext<'_> {
        let capabilities = Capabilities {
            writes: true,
            dense_node_ids: true,
            expands_against_direction: true,
            looks_up_by_key: true,
            ..Capabilities::default()
        };
        CompileContext {
            catalog: &FakeCatalog,
            schema: &self.schema,
            statistics: &self.statistics,
            capabilities,
            interrupt: &self.interrupt,
            seen: &[],
        }
    }
}

/// The plan, its columns and hints; or the error with its caret.
fn render(text: &str, context: &CompileContext<'_>, config: &OptimizerConfig) -> Result<String, String> {
    let compiled = cypher::compile_with(text, context, config).map_err(|error| error.render(text))?;
    let mut found = match &compiled.statement {
        Statement::Query(_, plan) => {
            let columns: Vec<&str> = plan.columns.iter().map(|(name, _)| &**name).collect();
            format!("{}columns: {}", explain::text(plan), columns.join(" | "))
        }
        other => format!("{other:?}"),
    };
    for hint in &compiled.hints {
        found.push_str(&format!("\nhint: {} at {}..{}", hint.message, hint.span.start, hint.span.end));
    }
    Ok(found)
}

fn check_golden(file: &str, config: OptimizerConfig) {
    check_golden_of(&Fixture::new(), file, config);
}

fn check_golden_of(fixture: &Fixture, file: &str, config: OptimizerConfig) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    golden::check_file(&path, &mut |step| match step {
        Step::Graph(_) => Ok(String::new()),
        Step::Query { text, .. } => render(text, &fixture.context(), &config),
    });
}

#[test]
fn plans() {
    for file in ["patterns.golden", "projections.golden", "subqueries.golden", "writes.golden"] {
        check_golden(file, OptimizerConfig::default());
    }
}

#[test]
fn plans_with_sketches() {
    check_golden_of(&Fixture::with_sketches(), "sketches.golden", OptimizerConfig::default());
}

#[test]
fn plans_without_rules() {
    check_golden("unoptimised.golden", OptimizerConfig::none());
}

#[test]
fn plans_for_one_snapshot() {
    check_golden("snapshot.golden", OptimizerConfig { covering_labels: true, ..OptimizerConfig::default() });
}

#[test]
fn errors() {
    check_golden("errors.golden", OptimizerConfig::default());
}

/// Every query of the golden files.
fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut queries = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the golden files are part of this crate") {
        let path = entry.expect("the folder can be read on").path();
        let text = std::fs::read_to_string(path).expect("a golden file is text");
        for section in text.split("query:\n").skip(1) {
            let end = section.find("\nplan:\n").or_else(|| section.find("\nerror:\n")).unwrap_or(section.len());
            queries.push(section[..end].trim().to_string());
        }
    }
    queries
}

/// Words of the query in another order, doubled, dropped, or taken from another query.
fn mutate(words: &mut Vec<String>, other: &[String], random: &mut SeededRandom) {
    if words.is_empty() || other.is_empty() {
        return;
    }
    let at = random.index(words.len());
    match random.below(4) {
        0 => {
            words.remove(at);
        }
        1 => words.insert(at, random.pick(other).clone()),
        2 => words[at] = random.pick(other).clone(),
        _ => {
            let to = random.index(words.len());
            words.swap(at, to);
        }
    }
}

/// Words and single signs, so that mutations keep much of the grammar.
fn words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = false;
    for c in query.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(last) if is_word && before => last.push(c),
            _ => words.push(c.to_string()),
        }
        before = is_word;
    }
    words
}

#[test]
fn fuzz_compile_never_panics() {
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121);
    let rounds: u64 = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(30_000);
    let mut random = SeededRandom::new(seed);
    let fixture = Fixture::new();
    let corpus: Vec<Vec<String>> = corpus().iter().map(|query| words(query)).collect();
    assert!(corpus.len() > 50, "the golden files hold queries");
    let mut compiled = 0;
    for round in 0..rounds {
        let mut mangled = random.pick(&corpus).clone();
        for _ in 0..1 + random.below(3) {
            let other = random.pick(&corpus).clone();
            mutate(&mut mangled, &other, &mut random);
        }
        let text = mangled.concat();
        let config = if random.chance(20) { OptimizerConfig::none() } else { OptimizerConfig::default() };
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| render(&text, &fixture.context(), &config)));
        match outcome {
            Ok(result) => compiled += u64::from(result.is_ok()),
            Err(_) => panic!("seed {seed}, round {round}: {text}"),
        }
    }
    assert!(compiled > rounds / 50, "only {compiled} of {rounds} mutations compiled");
}

/// Many patterns that nothing connects.
fn unconnected() -> Vec<String> {
    let patterns = |pattern: &str, count: usize| {
        let numbered = (0..count).map(|at| pattern.replace('#', &at.to_string()));
        format!("MATCH {} RETURN 1 AS x", numbered.collect::<Vec<_>>().join(", "))
    };
    vec![
        patterns("(a#:Person)", 90),
        patterns("(a#:Person)", 300),
        patterns("(a#:Person {age: #})", 1_000),
        patterns("(a#:Person)-[:KNOWS]->(b#)", 30),
        patterns("(a#:Person)-[:KNOWS]->(b#)", 300),
        patterns("(a#:Person)-[:KNOWS]->(b#:Person)-[:KNOWS]->(a#)", 200),
    ]
}

#[test]
fn planning_stops_when_it_is_asked_to() {
    let fixture = Fixture::new();
    for text in unconnected() {
        cypher::compile(&text, &fixture.context()).expect("it can be planned");
    }
    fixture.interrupt.cancel();
    for text in unconnected() {
        let error = cypher::compile(&text, &fixture.context()).expect_err("it was cancelled");
        assert_eq!(error.code(), ErrorCode::Cancelled, "{error:?}");
    }
}
