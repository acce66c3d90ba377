//! Random queries: against a naive matcher, and between stores, planners, thread counts and batch sizes.
//!
//! The seed of a failure is in its message; `FUZZ_SEED` replays it.

use cypher::optimizer::OptimizerConfig;
use database::Parameters;
use exec::RunSettings;
use testing::ReferenceStore;
use testing::random::{SeededRandom, seed_or};

use crate::engine::{Bare, Engine, Native, run_script};
use crate::oracle::matches;
use crate::queries::{graph, pattern, pattern_text, query};

const ROUNDS: u64 = 40;
const QUERIES: usize = 25;

/// Rows in a form that can be compared, or the code of the error.
fn ask(engine: &mut dyn Engine, text: &str) -> Result<Vec<Vec<String>>, String> {
    match engine.run(text, &Parameters::default()) {
        Ok(answer) => Ok(answer.sorted_rows()),
        Err(error) => Err(error.code().name().to_string()),
    }
}

/// The rows that the oracle finds, each as the ids of all variables.
fn expected_rows(matches: Vec<Vec<usize>>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> =
        matches.into_iter().map(|row| row.into_iter().map(|id| id.to_string()).collect()).collect();
    rows.sort();
    rows
}

fn make(engine: &mut dyn Engine, statements: &[String]) {
    for statement in statements {
        run_script(engine, statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    engine.settle();
}

#[test]
fn patterns_match_what_the_oracle_finds() {
    let first = seed_or(1);
    for seed in first..first + ROUNDS {
        let mut random = SeededRandom::new(seed);
        let (graph, statements) = graph(&mut random);
        let mut engine: Box<dyn Engine> = match seed % 3 {
            0 => Box::new(Native::reopening(1)),
            1 => Box::new(Native::new(2)),
            _ => Box::new(Bare::new(Box::new(ReferenceStore::with_batch_rows(3)))),
        };
        make(&mut *engine, &statements);
        for _ in 0..QUERIES {
            let first = pattern(&mut random, 0);
            let found = matches(&graph, &first, &[]);
            let all = |count: usize| (0..count).map(|v| format!("v{v}.id")).collect::<Vec<_>>().join(", ");
            let text = format!("MATCH {} RETURN {}", pattern_text(&first), all(first.variables));
            let seed_text = || format!("FUZZ_SEED={seed}\n{}\n", statements.join(";\n"));
            assert_eq!(ask(&mut *engine, &text), Ok(expected_rows(found.clone())), "{}{text}", seed_text());
            // A second MATCH uses edges anew; an optional one keeps the rows that find nothing.
            let more = pattern(&mut random, first.variables);
            let optional = random.chance(50);
            let word = if optional { "OPTIONAL MATCH" } else { "MATCH" };
            let text =
                format!("MATCH {} {word} {} RETURN {}", pattern_text(&first), pattern_text(&more), all(more.variables));
            if found.len() > 200 {
                continue;
            }
            let mut rows = Vec::new();
            for row in found {
                let bound: Vec<Option<usize>> = row.iter().copied().map(Some).collect();
                let further = matches(&graph, &more, &bound);
                if further.is_empty() && optional {
                    let mut kept = row.clone();
                    kept.resize(more.variables, usize::MAX);
                    rows.push(kept);
                }
                rows.extend(further);
            }
            let mut expected = expected_rows(rows);
            let null = usize::MAX.to_string();
            expected.iter_mut().flatten().filter(|cell| **cell == null).for_each(|cell| *cell = "null".into());
            expected.sort();
            assert_eq!(ask(&mut *engine, &text), Ok(expected), "{}{text}", seed_text());
        }
    }
}

#[test]
fn subqueries_find_what_the_oracle_finds() {
    let first = seed_or(2_000);
    for seed in first..first + ROUNDS {
        let mut random = SeededRandom::new(seed);
        let (graph, statements) = graph(&mut random);
        let mut engine: Box<dyn Engine> = match seed % 3 {
            0 => Box::new(Native::new(2)),
            1 => Box::new(Bare::new(Box::new(ReferenceStore::foreign(1)))),
            _ => Box::new(Bare::new(Box::new(ReferenceStore::with_batch_rows(3)))),
        };
        make(&mut *engine, &statements);
        for _ in 0..QUERIES / 2 {
            let outer = pattern(&mut random, 0);
            let inner = pattern(&mut random, outer.variables);
            let found = matches(&graph, &outer, &[]);
            if found.len() > 100 {
                continue;
            }
            let further = |row: &Vec<usize>| {
                let bound: Vec<Option<usize>> = row.iter().copied().map(Some).collect();
                matches(&graph, &inner, &bound)
            };
            let ids = |count: usize| (0..count).map(|v| format!("v{v}.id")).collect::<Vec<_>>().join(", ");
            let (outer_text, inner_text) = (pattern_text(&outer), pattern_text(&inner));
            let new: Vec<String> = (outer.variables..inner.variables).map(|v| format!("v{v}")).collect();
            let returned = if new.is_empty() { "1 AS one".to_string() } else { new.join(", ") };
            let (all, own) = (ids(inner.variables), ids(outer.variables));
            let joined: Vec<Vec<usize>> = found.iter().flat_map(further).collect();
            let with = |make: &dyn Fn(usize) -> usize| {
                let row = |row: &Vec<usize>| row.iter().copied().chain([make(further(row).len())]).collect();
                found.iter().map(row).collect::<Vec<Vec<usize>>>()
            };
            let mut matched = found.clone();
            matched.retain(|row| !further(row).is_empty());
            let checks = [
                (format!("CALL (*) {{ MATCH {inner_text} RETURN {returned} }} RETURN {all}"), joined.clone()),
                (format!("CALL {{ WITH * MATCH {inner_text} WITH * SKIP 0 RETURN {returned} }} RETURN {all}"), joined),
                (format!("WITH * WHERE EXISTS {{ {inner_text} }} RETURN {own}"), matched.clone()),
                (format!("WITH * WHERE EXISTS {{ MATCH {inner_text} RETURN 1 AS x LIMIT 1 }} RETURN {own}"), matched),
                (format!("RETURN {own}, COUNT {{ {inner_text} }}"), with(&|count| count)),
                (
                    format!("RETURN {own}, size(COLLECT {{ MATCH {inner_text} WITH 1 AS x RETURN x }})"),
                    with(&|count| count),
                ),
                (
                    format!("CALL (*) {{ MATCH {inner_text} RETURN count(*) AS c }} RETURN {own}, c"),
                    with(&|count| count),
                ),
                (
                    format!(
                        "RETURN {own}, COUNT {{ MATCH {inner_text} RETURN 1 AS x UNION ALL MATCH {inner_text} RETURN 2 AS x }}"
                    ),
                    with(&|count| 2 * count),
                ),
                (
                    format!(
                        "RETURN {own}, COUNT {{ MATCH {inner_text} RETURN 1 AS x UNION MATCH {inner_text} RETURN 1 AS x }}"
                    ),
                    with(&|count| count.min(1)),
                ),
            ];
            for (rest, expected) in checks {
                let text = format!("MATCH {outer_text} {rest}");
                let context = || format!("FUZZ_SEED={seed}\n{};\n{text}", statements.join(";\n"));
                assert_eq!(ask(&mut *engine, &text), Ok(expected_rows(expected)), "{}", context());
            }
        }
    }
}

/// The engines that are compared, each with its name.
fn engines() -> Vec<(&'static str, Box<dyn Engine>)> {
    let bare = |store: ReferenceStore, settings: RunSettings, optimizer: OptimizerConfig| -> Box<dyn Engine> {
        let mut engine = Bare::new(Box::new(store));
        (engine.settings, engine.optimizer) = (settings, optimizer);
        Box::new(engine)
    };
    let spilling = |store: ReferenceStore, settings: RunSettings| -> Box<dyn Engine> {
        let mut engine = Bare::new(Box::new(store));
        (engine.settings, engine.spills) = (settings, true);
        Box::new(engine)
    };
    let replanning = |store: ReferenceStore, settings: RunSettings, spills: bool| -> Box<dyn Engine> {
        let mut engine = Bare::new(Box::new(store));
        (engine.settings, engine.spills, engine.replans) = (settings, spills, true);
        Box::new(engine)
    };
    let default = RunSettings::default();
    let small = RunSettings { batch_rows: 2, ..default };
    let parallel = RunSettings { threads: 2, parallel_nodes_min: 1, batch_rows: 3, ..default };
    let covering = OptimizerConfig { covering_labels: true, ..OptimizerConfig::default() };
    vec![
        ("no optimizer", bare(ReferenceStore::new(), default, OptimizerConfig::none())),
        ("reference", bare(ReferenceStore::new(), default, covering)),
        ("foreign, small batches", bare(ReferenceStore::foreign(1), small, OptimizerConfig::default())),
        ("two threads", bare(ReferenceStore::with_batch_rows(2), parallel, OptimizerConfig::default())),
        ("two threads, everything spills", spilling(ReferenceStore::with_batch_rows(2), parallel)),
        ("one thread, everything spills", spilling(ReferenceStore::new(), small)),
        ("re-planned at every horizon", replanning(ReferenceStore::new(), small, false)),
        ("two threads, re-planned at every horizon", replanning(ReferenceStore::with_batch_rows(2), parallel, true)),
        ("native, everything spills", Box::new(Native::spilling(2))),
        ("native", Box::new(Native::new(1))),
        ("native, from files", Box::new(Native::reopening(2))),
    ]
}

#[test]
fn engines_agree_on_random_queries() {
    let first = seed_or(1_000);
    for seed in first..first + ROUNDS {
        let mut random = SeededRandom::new(seed);
        let (_, statements) = graph(&mut random);
        let mut engines = engines();
        engines.iter_mut().for_each(|(_, engine)| make(&mut **engine, &statements));
        for _ in 0..QUERIES {
            let text = query(&mut random);
            let (name, engine) = &mut engines[0];
            let (name, expected) = (*name, ask(&mut **engine, &text));
            for (other, engine) in &mut engines[1..] {
                let found = ask(&mut **engine, &text);
                let context = || format!("FUZZ_SEED={seed}\n{};\n{text}\n{name} and {other}", statements.join(";\n"));
                assert_eq!(found, expected, "{}", context());
            }
        }
    }
}
