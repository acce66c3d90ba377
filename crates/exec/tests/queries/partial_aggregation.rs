//! Rows that are merged before an expansion: random patterns give what following each row gives, over graphs in which relationships
//! come in parallel, lead back and form loops.

use cypher::optimizer::{OptimizerConfig, Use};
use exec::RunSettings;
use testing::random::{SeededRandom, seed_or};

use super::counting::Writer;
use super::memory::with_limit;
use super::optimizer::Bench;

/// Few nodes and many relationships between them.
fn crowded(random: &mut SeededRandom) -> Vec<String> {
    let mut statements = vec!["CREATE CONSTRAINT FOR (n:Thing) REQUIRE n.id IS UNIQUE".to_string()];
    let count = 2 + random.below(5);
    for id in 0..count {
        let labels = ["Person", "Company", "Person:Old"][random.index(3)];
        let age = if random.chance(80) { format!(", age: {}", random.below(4)) } else { String::new() };
        statements.push(format!("CREATE (:{labels}:Thing {{id: {id}{age}, half: {}.5}})", random.below(3)));
    }
    for _ in 0..2 + random.below(9) {
        let (from, to) = (random.below(count), random.below(count));
        let (edge_type, times) = (["KNOWS", "KNOWS", "WORKS_AT"][random.index(3)], 1 + random.below(3));
        statements.push(format!(
            "MATCH (a {{id: {from}}}), (b {{id: {to}}}) UNWIND range(1, {times}) AS t CREATE (a)-[:{edge_type} {{since: t}}]->(b)"
        ));
    }
    statements
}

/// Items to return of three nodes.
fn returned(random: &mut SeededRandom, [a, b, c]: [&str; 3]) -> String {
    match random.below(10) {
        0 => format!("{a}.id AS x, {b}.id AS y, count(*)"),
        1 => format!("{a}.age, avg({b}.age), sum({c}.half), count({b}.age)"),
        2 => format!("DISTINCT {a}.age"),
        3 => format!("DISTINCT {a}.id AS x, {b}.id AS y"),
        4 => format!("{a}.age, min({b}.id), max({c}.age)"),
        5 => format!("count(DISTINCT {a}), sum({b}.half)"),
        6 => format!("avg({a}.half)"),
        7 => format!("{a}.id, toInteger(1000 * stDev({b}.age) + 0.25), toInteger(1000 * stDevP({c}.half) + 0.25)"),
        8 => format!("{a}.id, collect(DISTINCT {b}.age)[0] IS NULL"),
        _ => format!("{a}.id, count(*)"),
    }
}

fn query(random: &mut SeededRandom) -> String {
    let mut writer = Writer { random, nodes: 0 };
    let mut text = match writer.random.below(4) {
        0 => format!("MATCH {}", writer.tree()),
        _ => {
            let mut path = String::from(["(n0)", "(n0:Thing {id: 1})", "(n0:Person)"][writer.random.index(3)]);
            let edge = writer.edge();
            let hops = 2 + usize::from(writer.random.chance(50)) + usize::from(writer.random.chance(30));
            for at in 1..=hops {
                let edge = if writer.random.chance(60) { edge.clone() } else { writer.edge() };
                let edge = match writer.random.below(12) {
                    0 => edge.replace(']', "*1..2]"),
                    1 => edge.replace(']', "*2]"),
                    2..=4 => edge.replace('[', &format!("[r{at}")),
                    _ => edge,
                };
                let back = if at == hops && writer.random.chance(25) { 0 } else { at };
                path += &format!("{edge}(n{back}{})", ["", "", ":Person"][writer.random.index(3)]);
                if back == 0 {
                    path += ", (n0)-[]-(n9)";
                    path = path.replace("n9", &format!("n{at}"));
                }
            }
            path = match writer.random.below(8) {
                0 => format!("(h), {path}"),
                // The same node comes several times.
                1 => path.replacen("(n0", "(s)-[:WORKS_AT]->(n0", 1),
                _ => path,
            };
            writer.nodes = hops + 1;
            match writer.random.below(8) {
                0 => format!("UNWIND [1, 1, 0, 3] AS u MATCH {}", path.replacen("(n0", "(n0 {id: u})<--(), (n0", 1)),
                1 => format!("UNWIND [1, 1, 0, 3] AS u MATCH (n0:Thing {{id: u}}) MATCH {path}"),
                2 => format!("MATCH (x)-->(n0) MATCH {path}"),
                _ => format!("MATCH {path}"),
            }
        }
    };
    let conditions = conditions(&mut writer, &text);
    if !conditions.is_empty() {
        text += &format!(" WHERE {}", conditions.join(" AND "));
    }
    let clause = match writer.random.below(8) {
        0 => format!(" OPTIONAL MATCH ({}){}(o)", writer.node(), writer.edge()),
        1 => format!(" MATCH ({}){}(o)", writer.node(), writer.edge()),
        2 if writer.nodes > 2 => format!(" WITH n1, n{} MATCH (n1){}(o)", writer.nodes - 1, writer.edge()),
        _ => String::new(),
    };
    let renamed = clause.starts_with(" WITH");
    let last = writer.nodes - 1;
    let mut node =
        || if renamed { ["n1".to_owned(), format!("n{last}")][writer.random.index(2)].clone() } else { writer.node() };
    let (a, b, c) = (node(), node(), node());
    let returned = returned(writer.random, [&a, &b, &c]);
    let named: Vec<String> =
        (1..=4).map(|at| format!("r{at}")).filter(|name| text.contains(&format!("[{name}:"))).collect();
    if !renamed && !named.is_empty() && !text.contains('*') && writer.random.chance(25) {
        let edge = &named[writer.random.index(named.len())];
        return format!("{text}{clause} RETURN {a}.id, sum({edge}.since), max({edge}.since), count(*)");
    }
    format!("{text}{clause} RETURN {returned}")
}

/// Conditions on what a pattern names.
fn conditions(writer: &mut Writer<'_>, pattern: &str) -> Vec<String> {
    let mut conditions: Vec<String> = (0..writer.random.below(2)).map(|_| writer.condition()).collect();
    for at in 1..=4 {
        let name = format!("r{at}");
        if pattern.contains(&format!("[{name}")) && writer.random.chance(50) {
            conditions.push(format!("{name}.since {}", ["> 1", "= 2", "<> 1", "IN [1, 3]"][writer.random.index(4)]));
        }
    }
    if pattern.contains("(h)") {
        conditions.push(format!("h.{0} = {1}.{0}", ["age", "half"][writer.random.index(2)], writer.node()));
    }
    conditions
}

#[test]
fn merged_rows_count_as_often_as_single_ones() {
    let seed = seed_or(20_261_130);
    let rounds: u64 = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let mut random = SeededRandom::new(seed);
    let all = OptimizerConfig { partial_aggregation: Use::Always, ..OptimizerConfig::default() };
    let configs = [
        all,
        OptimizerConfig { count_matches: false, ..all },
        OptimizerConfig { count_matches: false, reorder_patterns: false, intersections: false, ..all },
        OptimizerConfig { unused: false, count_matches: false, ..all },
        OptimizerConfig::default(),
    ];
    let plain = RunSettings::default();
    let threads = RunSettings { threads: 3, parallel_nodes_min: 0, batch_rows: 2, ..plain };
    let (mut compared, mut merged, mut taken_off, mut different, mut excluded, mut intersected) = (0, 0, 0, 0, 0, 0);
    for round in 0..rounds {
        let statements = crowded(&mut random);
        let bench = Bench::new(&statements);
        for _ in 0..40 {
            let query = query(&mut random);
            let graph = statements.join(";\n");
            let expected = bench.run(&query, &OptimizerConfig::none(), plain);
            for (number, config) in configs.iter().enumerate() {
                let settings = if (round + number as u64).is_multiple_of(2) { plain } else { threads };
                let found = match number {
                    0 => with_limit(0, |memory| bench.run_within(&query, config, settings, memory)),
                    1 => with_limit(3_000, |memory| bench.run_within(&query, config, settings, memory)),
                    _ => bench.run(&query, config, settings),
                };
                let (Ok(expected), Ok(found)) = (&expected, &found) else {
                    panic!("seed {seed}, round {round}: {query}\n{graph}\n{expected:?}\n{found:?}");
                };
                assert_eq!(found.0, expected.0, "seed {seed}, round {round}:\n{graph}\n{query}\n{}", found.1);
                compared += 1;
                merged += u64::from(found.1.contains("PartialAggregate"));
                taken_off += u64::from(found.1.contains("PartialAggregate") && found.1.contains(" - 1"));
                excluded += u64::from(found.1.contains("Union"));
                let is_whole = found.1.contains("whole for each");
                let counts = found.1.lines().filter(|line| line.trim_start().starts_with("Aggregate")).count();
                different += u64::from(is_whole && counts > 1);
                let operators: Vec<&str> = found.1.lines().map(str::trim_start).collect();
                let is_merged = |pair: &[&str]| pair[0].starts_with("Intersect") && pair[1].starts_with("PartialAgg");
                intersected += u64::from(operators.windows(2).any(is_merged));
            }
        }
    }
    assert!(merged * 5 > compared, "only {merged} of {compared} plans merge rows");
    assert!(taken_off * 20 > compared, "only {taken_off} of {compared} plans take edges off");
    assert!(different * 200 > compared, "only {different} of {compared} plans merge the nodes that they start from");
    assert!(intersected * 1_000 > compared, "only {intersected} of {compared} plans merge rows before an intersection");
    assert!(
        excluded * 10 > compared,
        "only {excluded} of {compared} plans count trails as walks less those that come back"
    );
}

#[test]
fn rows_that_may_be_others_the_next_time_are_made_once() {
    let mut random = SeededRandom::new(7);
    let bench = Bench::new(&crowded(&mut random));
    let always =
        OptimizerConfig { partial_aggregation: Use::Always, count_matches: false, ..OptimizerConfig::default() };
    let trail = "(a)--(b)--(c)--(d) RETURN d.id, count(*)";
    let plan = |query: String| bench.run(&query, &always, RunSettings::default()).expect("it runs").1;
    assert!(plan(format!("MATCH {trail}")).contains("Union"));
    assert!(plan(format!("UNWIND [1, 2] AS u MATCH (a:Thing {{id: u}}) MATCH {trail}")).contains("Union"));
    let first = [
        "MATCH (a:Thing) WITH a LIMIT 2",
        "MATCH (a:Thing) WITH a SKIP 1",
        "MATCH (a:Thing) WITH a, rand() AS r WHERE r < 0.5 WITH a",
        "MATCH (x:Thing) CALL (x) { MATCH (x)--(a) RETURN a LIMIT 1 }",
        "MATCH (x:Thing)--(y) WITH x, collect(y)[0] AS a",
    ];
    for first in first {
        let plan = plan(format!("{first} MATCH {trail}"));
        assert!(!plan.contains("Union"), "{first}\n{plan}");
    }
}

#[test]
fn random_values_are_drawn_for_each_match() {
    let mut statements = vec!["UNWIND range(1, 40) AS i CREATE (:Thing {id: i})".to_string()];
    statements.push("MATCH (a:Thing), (b:Thing) WHERE b.id - a.id IN [1, 2, 3] CREATE (a)-[:KNOWS]->(b)".to_string());
    let bench = Bench::new(&statements);
    let always = OptimizerConfig { partial_aggregation: Use::Always, ..OptimizerConfig::default() };
    let pattern = "MATCH (a)-->(b)-->(c)-->(d)";
    let counts = |query: &str| {
        let rows = bench.run(query, &always, RunSettings::default()).expect("it runs").0;
        let number =
            |row: &String| row.rsplit(", ").next().and_then(|last| last.parse::<u64>().ok()).expect("a number");
        rows.iter().map(number).collect::<Vec<u64>>()
    };
    let all = counts(&format!("{pattern} RETURN count(*)"))[0];
    // 945 matches, so that fewer than 300 of one kind come once in 10^30 times.
    assert!(all > 900);
    let some = counts(&format!("{pattern} WHERE rand() < 0.5 RETURN count(*)"))[0];
    assert!((300..all - 300).contains(&some), "{some} of {all}");
    for (condition, pattern) in [("rand() < 0.5", "(a)-->(b)-->(c)"), ("rand() < b.id", "(a)-->(b)-->(c)-->(d)-->(e)")]
    {
        let query = format!("MATCH {pattern} WHERE {condition} RETURN a.id, count(*)");
        let plan = bench.run(&query, &OptimizerConfig::default(), RunSettings::default()).expect("it runs").1;
        let steps: Vec<&str> = plan.lines().filter_map(|line| line.split_whitespace().next()).collect();
        let at = |name: &str| steps.iter().position(|step| *step == name);
        assert!(at("Filter").is_some_and(|filter| Some(filter) < at("Expand")), "{plan}");
        assert!(at("CountMatches").is_none(), "{plan}");
    }
    let parts = counts(&format!("{pattern} RETURN rand() < 0.5 AS x, count(*)"));
    assert!(parts.len() == 2 && parts.iter().all(|part| *part >= 300), "{parts:?}");
}

#[test]
fn conditions_that_may_fail_are_asked_of_matches_only() {
    let statements = [
        "CREATE (:Thing {id: 100, z: 0})",
        "UNWIND range(0, 9) AS i CREATE (:Thing {id: i, z: 5})",
        "MATCH (q {id: 100}), (h {id: 0}) CREATE (q)-[:KNOWS {since: 0}]->(h)",
        "UNWIND range(1, 60) AS i MATCH (a {id: i % 10}), (b {id: (i * 7 + i / 10) % 10}) CREATE (a)-[:KNOWS {since: 5}]->(b)",
    ];
    let bench = Bench::new(&statements.map(str::to_string));
    let always =
        OptimizerConfig { partial_aggregation: Use::Always, count_matches: false, ..OptimizerConfig::default() };
    for query in [
        "MATCH (a {id: 100})--(b)--(c)--(d) WHERE 100 / d.z > 1 RETURN count(*)",
        "MATCH (a {id: 100})--(b)--(c)-[r]-(d) WHERE 10 / r.since > 1 RETURN count(*)",
        "MATCH (a {id: 100})--(b)--(c)--(d)--(e) WHERE 100 / e.z > 1 RETURN e.id, count(*)",
    ] {
        let expected = bench.run(query, &OptimizerConfig::none(), RunSettings::default()).expect("no trail leads back");
        let found = bench.run(query, &always, RunSettings::default()).expect("no trail leads back");
        assert!(found.1.contains("Union"), "{}", found.1);
        assert_eq!(found.0, expected.0, "{query}");
    }
    // From the other end all nodes would be asked.
    let query = "MATCH (a)-->(b)-->(c)-->(d)-->(e) WHERE 100 / e.z > 1 RETURN a.id, count(*)";
    let (expected, _) =
        bench.run(query, &OptimizerConfig::none(), RunSettings::default()).expect("no trail ends at 100");
    let as_written = OptimizerConfig { reorder_patterns: false, ..always };
    assert_eq!(bench.run(query, &as_written, RunSettings::default()).expect("no trail ends at 100").0, expected);
}

#[test]
fn many_parallel_edges_back_are_given_in_parts() {
    // More for the rows of a batch than are held at a time.
    let edges = 600;
    let create = |from: u32, to: u32| {
        format!(
            "MATCH (a {{id: {from}}}), (b {{id: {to}}}) UNWIND range(1, {edges}) AS t CREATE (a)-[:KNOWS {{since: t}}]->(b)"
        )
    };
    let bench = Bench::new(&["CREATE (:Thing {id: 0}), (:Thing {id: 1})".to_string(), create(0, 1), create(1, 0)]);
    let query = "MATCH (a:Thing {id: 0})-[r]->(b:Thing {id: 1}) MATCH (b)-[s]->(a)
        RETURN count(*), sum(r.since), sum(s.since), count(DISTINCT r), count(DISTINCT s)";
    let plain = OptimizerConfig { intersections: false, reorder_patterns: false, ..OptimizerConfig::none() };
    let sum = edges * edges * (edges + 1) / 2;
    let found = bench.run(query, &plain, RunSettings::default()).expect("it runs");
    assert!(found.1.contains("(b)-[s]->(a) into"), "{}", found.1);
    assert_eq!(found.0, [format!("{}, {sum}, {sum}, {edges}, {edges}", edges * edges)]);
}
