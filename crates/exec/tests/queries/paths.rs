//! Variable-length patterns and shortest paths, with cycles, self-loops and parallel edges.

use cypher::optimizer::OptimizerConfig;
use exec::RunSettings;
use testing::random::{SeededRandom, seed_or};

use super::check;
use super::optimizer::Bench;

/// A chain 1→2→3→4 with a shortcut 1→3, a way back 4→1, a loop at 2, and 3→4 twice.
const GRAPH: &str = "CREATE (a:N {id: 1}), (b:N {id: 2}), (c:N {id: 3}), (d:N {id: 4}),
    (a)-[:E {w: 1}]->(b), (b)-[:E {w: 2}]->(c), (c)-[:E {w: 3}]->(d), (c)-[:E {w: 4}]->(d), (a)-[:E {w: 5}]->(c),
    (d)-[:E {w: 6}]->(a), (b)-[:E {w: 7}]->(b);\n";

fn check_graph(query: &str, expected: &[&str]) {
    check(&format!("{GRAPH}{query}"), expected);
}

#[test]
fn lengths_are_bounded() {
    check_graph("MATCH (a {id: 1})-[r*1..1]->(b) RETURN [x IN r | x.w], b.id", &["[1], 2", "[5], 3"]);
    check_graph(
        "MATCH (a {id: 1})-[r*2]->(b) RETURN [x IN r | x.w], b.id",
        &["[1, 2], 3", "[1, 7], 2", "[5, 3], 4", "[5, 4], 4"],
    );
    check_graph("MATCH (a {id: 1})-[r*0..1]->(b) RETURN size(r), b.id", &["0, 1", "1, 2", "1, 3"]);
    check_graph("MATCH (a {id: 1})-[*0]->(b) RETURN b.id", &["1"]);
    check_graph("MATCH (a {id: 1})-[*2..1]->(b) RETURN b.id", &[]);
    check_graph("MATCH (a {id: 1})-[:Unknown*0..2]->(b) RETURN b.id", &["1"]);
    check_graph("MATCH (a {id: 2})<-[r*2]-(b) RETURN [x IN r | x.w], b.id", &["[1, 6], 4", "[7, 1], 1"]);
}

#[test]
fn no_edge_twice_in_a_path() {
    // From 2: over the loop or not, to 3, by either edge to 4, to 1; from 1 on to 3 and the other edge to 4, and so on.
    check("CREATE (a:N {id: 1})-[:E]->(a);\nMATCH (a)-[r*]->(b) RETURN size(r)", &["1"]);
    check("CREATE (a:N {id: 1})-[:E]->(a);\nMATCH (a)-[r*]-(b) RETURN size(r)", &["1"]);
    check("CREATE (a:N {id: 1})-[:E]->(b:N {id: 2});\nMATCH (a {id: 1})-[r*]-(b) RETURN size(r), b.id", &["1, 2"]);
    check(
        "CREATE (a:N {id: 1})-[:E]->(b:N {id: 2}), (a)-[:E]->(b);\nMATCH (a {id: 1})-[r*]-(b) RETURN size(r), b.id",
        &["1, 2", "1, 2", "2, 1", "2, 1"],
    );
    check_graph("MATCH (a {id: 2})-[r*]->(b {id: 1}) RETURN size(r) AS n, count(*) AS c", &["3, 2", "4, 2"]);
}

#[test]
fn ends_may_be_bound() {
    check_graph(
        "MATCH (a {id: 1}), (d {id: 4}) MATCH (a)-[r*..3]->(d) RETURN [x IN r | x.w]",
        &["[5, 3]", "[5, 4]", "[1, 2, 3]", "[1, 2, 4]"],
    );
    check_graph(
        "MATCH (a {id: 3})-[r*..4]->(a) RETURN [x IN r | x.w]",
        &["[3, 6, 5]", "[4, 6, 5]", "[3, 6, 1, 2]", "[4, 6, 1, 2]"],
    );
}

#[test]
fn edges_differ_across_the_pattern() {
    check_graph("MATCH (a {id: 1})-[s]->(b)-[r*2]->(c) WHERE s.w = 5 RETURN [x IN r | x.w]", &["[3, 6]", "[4, 6]"]);
    check_graph(
        "MATCH (a {id: 2})-[s]->(b)-[r*1..2]->(c) WHERE s.w = 7 RETURN [x IN r | x.w]",
        &["[2]", "[2, 3]", "[2, 4]"],
    );
    check_graph("MATCH (a {id: 1})-[r*1..2]->(b)-[s]->(c {id: 2}) RETURN [x IN r | x.w], s.w", &["[1], 7"]);
}

#[test]
fn properties_on_all_edges() {
    check_graph("MATCH (a {id: 1})-[r*1..3 {w: 1}]->(b) RETURN b.id", &["2"]);
    check_graph("MATCH (a {id: 1})-[r*1..3]->(b) WHERE all(x IN r WHERE x.w < 4) RETURN b.id", &["2", "3", "4"]);
}

#[test]
fn distinct_ends_only() {
    check_graph("MATCH (a {id: 1})-[*1..3]->(b) RETURN count(DISTINCT b)", &["4"]);
    check_graph("MATCH (a {id: 1})-[*1..2]->(b) RETURN DISTINCT b.id", &["2", "3", "4"]);
    check_graph("MATCH (a {id: 1})-[*1..2]-(b) RETURN DISTINCT b.id", &["2", "3", "4"]);
    check_graph("MATCH (a {id: 1})-[*0..2]-(b) RETURN DISTINCT b.id", &["1", "2", "3", "4"]);
    check_graph("MATCH (a {id: 2})-[*2..2]->(b) RETURN DISTINCT b.id", &["3", "4"]);
    check_graph(
        "MATCH (a) RETURN a.id, EXISTS { (a)-[*2..3]->({id: 1}) }",
        &["1, true", "2, true", "3, true", "4, false"],
    );
    check_graph("MATCH (a:N)-[*]->(b:N) RETURN count(DISTINCT b)", &["4"]);
}

#[test]
fn paths_as_values() {
    check_graph(
        "MATCH p = (a {id: 1})-[*2]->(b {id: 3}) RETURN length(p), [n IN nodes(p) | n.id], [r IN relationships(p) | r.w]",
        &["2, [1, 2, 3], [1, 2]"],
    );
    check_graph("MATCH p = (a {id: 1})<-[:E]-(b) RETURN [n IN nodes(p) | n.id]", &["[1, 4]"]);
    check_graph("MATCH p = (a {id: 1}) RETURN length(p)", &["0"]);
}

#[test]
fn shortest_paths() {
    let ends = "MATCH (a {id: 1}), (d {id: 4})";
    check_graph(&format!("{ends} MATCH p = shortestPath((a)-[*]->(d)) RETURN length(p)"), &["2"]);
    check_graph(&format!("{ends} MATCH p = shortestPath((a)-[:E*..1]->(d)) RETURN length(p)"), &[]);
    check_graph(&format!("{ends} MATCH p = shortestPath((a)-[*]-(d)) RETURN [n IN nodes(p) | n.id]"), &["[1, 4]"]);
    check_graph(
        &format!("{ends} MATCH p = allShortestPaths((a)-[*]->(d)) RETURN [r IN relationships(p) | r.w]"),
        &["[5, 3]", "[5, 4]"],
    );
    check_graph(&format!("{ends} MATCH p = shortestPath((d)<-[*]-(a)) RETURN [n IN nodes(p) | n.id]"), &["[4, 3, 1]"]);
    check_graph("MATCH (a {id: 2}) MATCH p = shortestPath((a)-[*0..]->(a)) RETURN length(p)", &["0"]);
    check_graph(
        "MATCH (a:N), (b:N {id: 2}) WHERE a.id <> 2 MATCH p = shortestPath((a)-[*]->(b)) RETURN a.id, length(p)",
        &["1, 1", "3, 3", "4, 2"],
    );
    check(
        "CREATE (:N {id: 1}), (:N {id: 2});\nMATCH (a {id: 1}), (b {id: 2}) MATCH p = shortestPath((a)-[*]-(b)) RETURN p",
        &[],
    );
    check(
        "CREATE (:N {id: 1}), (:N {id: 2});\nMATCH (a {id: 1}), (b {id: 2}) OPTIONAL MATCH p = shortestPath((a)-[*]-(b)) RETURN p",
        &["null"],
    );
}

#[test]
fn shortest_paths_in_a_grid() {
    let grid = "UNWIND range(0, 15) AS i CREATE (:G {id: i});\n\
        MATCH (a:G), (b:G) WHERE (b.id = a.id + 1 AND a.id % 4 <> 3) OR b.id = a.id + 4 CREATE (a)-[:E]->(b);\n";
    let ends = "MATCH (a:G {id: 0}), (b:G {id: 15})";
    check(
        &format!("{grid}{ends} MATCH p = allShortestPaths((a)-[*]->(b)) RETURN count(*), min(length(p))"),
        &["20, 6"],
    );
    check(&format!("{grid}{ends} MATCH p = allShortestPaths((b)-[*]-(a)) RETURN count(*), max(length(p))"), &["20, 6"]);
    check(&format!("{grid}{ends} MATCH p = (a)-[*]->(b) RETURN count(*)"), &["20"]);
    check(&format!("{grid}{ends} MATCH p = shortestPath((b)-[*]->(a)) RETURN p"), &[]);
}

#[test]
fn a_shortest_way_round() {
    check_graph(
        "MATCH (a {id: 1}) MATCH p = shortestPath((a)-[*1..]->(a)) RETURN [n IN nodes(p) | n.id]",
        &["[1, 3, 4, 1]"],
    );
    check_graph("MATCH (a {id: 2}) MATCH p = shortestPath((a)-[*1..]->(a)) RETURN length(p)", &["1"]);
    // Undirected, the way back along the same relationship is no way round.
    check_graph("MATCH (a {id: 1}) MATCH p = shortestPath((a)-[*1..]-(a)) RETURN length(p)", &["3"]);
    check_graph(
        "MATCH (a {id: 2}) MATCH p = allShortestPaths((a)-[*1..]-(a)) RETURN [r IN relationships(p) | r.w]",
        &["[7]"],
    );
    check_graph(
        "MATCH (a {id: 3}) MATCH p = allShortestPaths((a)-[*1..]-(a)) RETURN [r IN relationships(p) | r.w]",
        &["[3, 4]", "[4, 3]"],
    );
}

/// 30 nodes `N` with edges to all others, from one of which a chain of three leads to the node `Z`: too many paths for
/// a test to walk them all.
const DENSE: &str = "UNWIND range(0, 29) AS i CREATE (:N {id: i});\n\
    MATCH (a:N), (b:N) WHERE a.id <> b.id CREATE (a)-[:E]->(b);\n\
    MATCH (a:N {id: 5}) CREATE (a)-[:E]->(:Y)-[:E]->(:Y)-[:E]->(:Z);\n";

#[test]
fn paths_between_known_nodes_grow_from_both_ends() {
    let store = testing::ReferenceStore::new();
    let run = |query: &str| {
        let settings = exec::RunSettings::default();
        let memory = exec::QueryMemory::unlimited();
        let mut rows = Vec::new();
        for statement in query.split(";\n") {
            let answer = super::run_with(&store, statement, &model::Map::default(), settings, &memory);
            rows = answer.unwrap_or_else(|error| panic!("{}\n{statement}", error.render(statement))).0;
        }
        rows
    };
    run(DENSE.trim_end_matches(";\n"));
    let ends = "MATCH (a:N {id: 0}), (z:Z)";
    let cases: &[(&str, &str)] = &[
        // One node before that with id 5.
        ("MATCH p = (a)-[:E*5]->(z) RETURN count(p), min(length(p))", "28, 5"),
        ("MATCH p = (a)-[:E*2..6]->(z) RETURN count(p), min(length(p))", "841, 4"),
        ("MATCH p = (z)<-[:E*5..6]-(a) RETURN count(p), min(length(p))", "840, 5"),
        ("MATCH p = (a)-[:E*..9]->(z) RETURN length(p) LIMIT 1", "4"),
        ("WHERE EXISTS { (a)-[:E*6..9]->(z) } RETURN 1", "1"),
        ("WHERE NOT EXISTS { (z)-[:E*0..20]->(a) } RETURN 1", "1"),
        ("WHERE NOT EXISTS { (z)-[:E*3..20]->(a) } RETURN 1", "1"),
        ("MATCH (a)-[:E*2..6]->(b) RETURN count(DISTINCT b)", "33"),
        ("MATCH (a)-[:E*7]->(b) RETURN count(DISTINCT b)", "33"),
        ("MATCH (a)-[:E*4..20]-(b) RETURN count(DISTINCT b)", "33"),
    ];
    for (query, expected) in cases {
        assert_eq!(run(&format!("{ends} {query}")), [*expected], "{query}");
    }
}

/// Ends of paths in any direction, of which the start is one if a way leads round to it, are those of all paths.
#[test]
fn ways_round_are_those_of_all_paths() {
    let seed = seed_or(4_711);
    for round in 0..60 {
        let mut random = SeededRandom::new(seed.wrapping_add(round));
        let nodes = 3 + random.index(7);
        let mut statements = vec![format!("UNWIND range(0, {}) AS i CREATE (:N {{id: i}})", nodes - 1)];
        for _ in 0..random.index(nodes + 4) {
            let (a, b) = (random.index(nodes), random.index(nodes));
            let b = if random.chance(85) && a == b { (a + 1) % nodes } else { b };
            statements.push(format!("MATCH (a:N {{id: {a}}}), (b:N {{id: {b}}}) CREATE (a)-[:E]->(b)"));
        }
        let bench = Bench::new(&statements);
        let run = |query: &str| {
            let found = bench.run(query, &OptimizerConfig::default(), RunSettings::default());
            found.unwrap_or_else(|error| panic!("FUZZ_SEED={seed}, round {round}: {error}\n{query}")).0
        };
        for bounds in ["*1..1", "*1..2", "*1..3", "*1..4", "*1..5", "*1..7", "*1.."] {
            let ends = format!("MATCH (a:N)-[:E{bounds}]-(b) RETURN DISTINCT a.id AS a, b.id AS b ORDER BY a, b");
            let paths = format!(
                "MATCH p = (a:N)-[:E{bounds}]-(b) WITH a, b, count(length(p)) AS n RETURN a.id AS a, b.id AS b ORDER BY a, b"
            );
            assert_eq!(run(&ends), run(&paths), "FUZZ_SEED={seed}, round {round}: {ends}\n{statements:#?}");
        }
    }
}
