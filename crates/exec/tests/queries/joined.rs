//! Pairs of nodes that a path joins: generated questions on small random graphs, compared with an evaluation that follows
//! the definition, and with each other wording of the same question.

use exec::{QueryMemory, RunSettings};
use model::Map;
use testing::ReferenceStore;
use testing::random::{SeededRandom, seed_or};

use super::memory::with_limit;
use super::optimizer::Bench;
use super::shapes::{Graph, Hop};
use super::{answer, rows_given, run_with, variants};

/// For each node, whether a path of a length within the bounds of the hop joins a node with it.
fn joined(graph: &Graph, hop: Hop, start: usize) -> Vec<bool> {
    let (min, max) = hop.lengths;
    let mut ends = vec![false; graph.labels.len()];
    // A node with the edges that were used on the way to it; their number is the length.
    let mut states = vec![(start, 0_u64)];
    let mut met = std::collections::BTreeSet::from([(start, 0_u64)]);
    while let Some((at, used)) = states.pop() {
        let length = used.count_ones() as usize;
        ends[at] |= length >= min;
        if length < max {
            for (edge, to) in hop.follow(graph, at) {
                let state = (to, used | 1 << edge);
                if used & (1 << edge) == 0 && met.insert(state) {
                    states.push(state);
                }
            }
        }
    }
    ends
}

/// Wordings that give the ids of the pairs that are joined, or of those that are not.
fn wordings(path: &str, is_joined: bool) -> Vec<String> {
    let pairs = "MATCH (a), (d)";
    let given = "RETURN a.id AS x, d.id AS y";
    let (not, positive) = if is_joined { ("", ">") } else { ("NOT ", "=") };
    let mut all = vec![
        format!("{pairs} WHERE {not}EXISTS {{ (a){path}(d) }} {given}"),
        format!("{pairs} WHERE {not}(a){path}(d) {given}"),
        format!("{pairs} WITH a, d, EXISTS {{ (a){path}(d) }} AS found WHERE {not}found {given}"),
        format!("MATCH (d) MATCH (a) WHERE {not}EXISTS {{ (a){path}(d) }} {given}"),
        format!("{pairs} WHERE {not}EXISTS {{ MATCH (a){path}(b) WHERE b.id = d.id }} {given}"),
    ];
    if !path.contains("..]") {
        // All paths are asked for.
        all.push(format!("{pairs} WHERE COUNT {{ (a){path}(d) }} {positive} 0 {given}"));
        all.push(format!(
            "{pairs} OPTIONAL MATCH p = (a){path}(d) WITH DISTINCT a, d, p IS NOT NULL AS found WHERE {not}found {given}"
        ));
    }
    if is_joined {
        all.push(format!("{pairs} MATCH (a){path}(d) RETURN DISTINCT a.id AS x, d.id AS y"));
        all.push(format!("MATCH (a){path}(d) RETURN DISTINCT a.id AS x, d.id AS y"));
        all.push(format!("{pairs} CALL (a, d) {{ MATCH (a){path}(d) RETURN DISTINCT 1 AS one }} {given}"));
    }
    all
}

#[test]
fn generated_pairs_are_joined_as_their_definition_says() {
    let seed = seed_or(20_261_125);
    let mut random = SeededRandom::new(seed);
    let mut with_rows = 0;
    for round in 0..8 {
        let graph = Graph::new(&mut random);
        let script = graph.script();
        let stores: Vec<(ReferenceStore, RunSettings)> = variants()
            .into_iter()
            .inspect(|(store, settings)| {
                answer(store, &script, &Map::default(), *settings).expect("the graph can be made");
            })
            .collect();
        for _ in 0..12 {
            let lengths = [(0, 64), (1, 64), (1, 4), (0, 2), (2, 3), (2, 5), (3, 3), (1, 1)][random.index(8)];
            let hop = Hop { lengths, is_told: true, ..Hop::new(&mut random, false) };
            let is_joined = random.chance(60);
            let mut expected = Vec::new();
            for start in 0..graph.labels.len() {
                let ends = joined(&graph, hop, start);
                let pair = |end: usize| format!("{start}, {end}");
                expected.extend((0..ends.len()).filter(|&end| ends[end] == is_joined).map(pair));
            }
            expected.sort();
            with_rows += usize::from(!expected.is_empty());
            for query in wordings(&hop.text().replace("..64", ".."), is_joined) {
                for (number, (store, settings)) in stores.iter().enumerate() {
                    let place = format!("seed {seed}, round {round}, variant {number}:\n{script}{query}");
                    let (mut rows, _) = answer(store, &query, &Map::default(), *settings)
                        .unwrap_or_else(|error| panic!("{place}\n{}", error.render(&query)));
                    rows.sort();
                    assert_eq!(rows, expected, "{place}");
                }
            }
        }
    }
    assert!(with_rows > 40, "only {with_rows} questions have rows");
}

/// 40 nodes `N` with edges to 8 others each, from one of which a chain leads to `Z`, parallel edges, loops, and `Y` apart.
const GRAPH: &[&str] = &[
    "UNWIND range(0, 39) AS i CREATE (:N {id: i})",
    "MATCH (a:N), (b:N) WHERE (a.id * 2 + b.id) % 5 = 0 OR b.id = a.id + 1 CREATE (a)-[:E {w: b.id % 3}]->(b)",
    "MATCH (a:N {id: 5}) CREATE (a)-[:E {w: 0}]->(z:Z {id: 40})-[:E {w: 1}]->(:Z {id: 41})<-[:E {w: 0}]-(z)",
    "MATCH (z:Z) CREATE (z)-[:E {w: 2}]->(z), (:Y {id: 42 + z.id})",
];

#[test]
fn pairs_with_a_node_in_common_are_joined_as_each_by_itself() {
    let statements: Vec<String> = GRAPH.iter().map(ToString::to_string).collect();
    let bench = Bench::new(&statements);
    let rows = |query: &str, batch_rows: usize| {
        let settings = RunSettings { batch_rows, ..RunSettings::default() };
        bench.run(query, &cypher::optimizer::OptimizerConfig::default(), settings).expect("the query runs").0
    };
    let paths = ["-[:E*]->", "<-[:E*]-", "-[:E*..3]-", "-[:E*0..2]->", "-[:E*1..2 {w: 1}]->", "<-[:E*0.. {w: 2}]-"];
    let mut found = 0;
    for path in paths {
        for (a, d) in [("a:N {id: 0}", "d"), ("a", "d:Z"), ("a {id: 41}", "d"), ("a:N {id: 5}", "d:N"), ("a:Y", "d")] {
            let query = format!("MATCH ({a}), ({d}) WHERE EXISTS {{ (a){path}(d) }} RETURN a.id, d.id");
            // With a row in each batch no pairs have a node in common.
            let expected = rows(&query, 1);
            assert_eq!(rows(&query, 2_048), expected, "{query}");
            found += expected.len();
        }
    }
    assert!(found > 200, "only {found} pairs");
}

#[test]
fn paths_of_a_fixed_length_are_counted_as_written_ones_are() {
    let statements: Vec<String> = GRAPH.iter().map(ToString::to_string).collect();
    let bench = Bench::new(&statements);
    let run = |query: &str| {
        let config = cypher::optimizer::OptimizerConfig::default();
        bench.run(query, &config, RunSettings::default()).expect("the query runs")
    };
    let cases = [
        ("(a)-[:E*2]->(d)", "(a)-[:E]->()-[:E]->(d)"),
        ("(a)-[:E*3]->(d)", "(a)-[:E]->()-[:E]->()-[:E]->(d)"),
        ("(a)<-[:E*3]-(d)", "(a)<-[:E]-()<-[:E]-()<-[:E]-(d)"),
        ("(a:N)-[:E*2]-(d:N)", "(a:N)-[:E]-()-[:E]-(d:N)"),
        ("(a:N {id: 5})-[:E*3]->(d)", "(a:N {id: 5})-[:E]->()-[:E]->()-[:E]->(d)"),
        ("(a:N {id: 5})-[:E*4]-(d)", "(a:N {id: 5})-[:E]-()-[:E]-()-[:E]-()-[:E]-(d)"),
    ];
    let mut counted = 0;
    for (path, written) in cases {
        let (rows, plan) = run(&format!("MATCH {path} RETURN count(*)"));
        let (expected, as_written) = run(&format!("MATCH {written} RETURN count(*)"));
        assert_eq!(rows, expected, "{path}\n{plan}");
        let is_counted = |plan: &str| plan.contains("CountMatches") && !plan.contains("VariableExpand");
        assert_eq!(is_counted(&plan), is_counted(&as_written), "{path}\n{plan}\n{as_written}");
        counted += usize::from(is_counted(&plan));
    }
    assert!(counted >= 4, "only {counted} are counted");
}

/// The nodes for which a pattern holds are found a few times where they cannot be kept, not for every few rows.
#[test]
fn nodes_that_are_joined_are_found_a_few_times_however_little_memory_there_is() {
    let store = ReferenceStore::new();
    for statement in [
        "CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE",
        "UNWIND range(0, 3999) AS i CREATE (:N {id: i})",
        "MATCH (a:N) UNWIND [1, 2, 3, 5, 8, 13, 21] AS i MATCH (b:N {id: (a.id * 7 + i) % 4000}) CREATE (a)-[:E]->(b)",
    ] {
        rows_given(&store, statement, 1_000);
    }
    let query = "MATCH (a:N) WHERE NOT EXISTS { (a)-[:E]->()-[:E]->()-[:E]->()-[:E]->(:N {id: 3}) } RETURN a.id";
    let settings = RunSettings { batch_rows: 64, profile: true, ..RunSettings::default() };
    let run = |memory: &QueryMemory| {
        let (rows, summary) = run_with(&store, query, &Map::default(), settings, memory).expect("the query runs");
        let given: u64 = summary.profile.values().map(|operator| operator.rows).sum();
        (rows.len(), given)
    };
    let (expected, given) = run(&QueryMemory::unlimited());
    assert!((1..4_000).contains(&expected) && given < 30_000, "{given} rows given for {expected}");
    for limit in [0, 10_000, 100_000] {
        let (rows, with_little) = with_limit(limit, run);
        assert_eq!(rows, expected, "limit {limit}");
        assert!(with_little < 2 * given, "limit {limit}: {with_little} rows given, {given} with enough memory");
    }
}
