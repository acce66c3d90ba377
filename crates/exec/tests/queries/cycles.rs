//! Cyclic patterns give the same rows by intersection as by following edges one after the other, as patterns are written.

use cypher::optimizer::OptimizerConfig;
use exec::RunSettings;
use testing::random::{SeededRandom, seed_or};

use super::optimizer::Bench;

/// A graph with loops and parallel edges, of two types of edges and three kinds of labels. Some have hubs, whose lists are bits too.
fn graph(random: &mut SeededRandom, nodes: u64, edges: u64) -> Vec<String> {
    let has_hubs = random.chance(50);
    let end = |random: &mut SeededRandom| match random.below(nodes) {
        node if has_hubs => node.min(random.below(nodes)).min(random.below(nodes)),
        node => node,
    };
    let mut statements = Vec::new();
    for id in 0..nodes {
        let labels = ["", ":A", ":B", ":A:B"][random.index(4)];
        statements.push(format!("CREATE ({labels} {{id: {id}}})"));
    }
    let mut pairs = Vec::new();
    for _ in 0..edges {
        let (from, to) = (end(random), end(random));
        let (kind, w) = (["X", "X", "Y"][random.index(3)], random.below(3));
        pairs.push(format!("[{from}, {to}, '{kind}', {w}]"));
    }
    for kind in ["X", "Y"] {
        statements.push(format!(
            "UNWIND [{}] AS e WITH e WHERE e[2] = '{kind}' MATCH (a {{id: e[0]}}), (b {{id: e[1]}}) \
             CREATE (a)-[:{kind} {{w: e[3]}}]->(b)",
            pairs.join(", ")
        ));
    }
    statements
}

/// A cyclic pattern over up to four nodes: triangles, squares, cliques, with doubled edges and loops here and there.
fn pattern(random: &mut SeededRandom) -> (String, usize) {
    let shapes: [&[(usize, usize)]; 8] = [
        &[(0, 1), (1, 2), (2, 0)],
        &[(0, 1), (1, 2), (0, 2)],
        &[(0, 1), (1, 2), (2, 3), (3, 0)],
        &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
        &[(0, 1), (0, 1)],
        &[(0, 1), (1, 2), (2, 0), (2, 0)],
        &[(0, 0), (0, 1), (1, 2), (2, 0)],
        &[(0, 1), (1, 2), (2, 0), (2, 3), (3, 1)],
    ];
    let shape = shapes[random.index(shapes.len())];
    let same = random.chance(50).then(|| (random.index(3), random.index(3)));
    let mut text = String::from("MATCH ");
    for (number, (from, to)) in shape.iter().enumerate() {
        let (arrow, types) = same.unwrap_or_else(|| (random.index(3), random.index(4)));
        let (left, right) = [("-", "->"), ("<-", "-"), ("-", "-")][arrow];
        let types = ["", ":X", ":X|Y", ":Y"][types];
        let label = if random.chance(15) { [":A", ":B"][random.index(2)] } else { "" };
        // Edges of another clause may be the same.
        let gap = match number {
            0 => "",
            _ if random.chance(10) => " MATCH ",
            _ => ", ",
        };
        text.push_str(&format!("{gap}(n{from}){left}[e{number}{types}]{right}(n{to}{label})"));
    }
    (text, shape.len())
}

fn returned(random: &mut SeededRandom, edges: usize) -> String {
    let nodes = "n0.id, n1.id";
    let edge = random.index(edges);
    match random.below(8) {
        0 => "RETURN count(*)".to_string(),
        1 => "RETURN n0.id, count(*)".to_string(),
        2 => format!("RETURN {nodes}, e{edge}.w"),
        3 => format!("RETURN DISTINCT {nodes}"),
        4 => format!("WHERE e{edge}.w > 0 RETURN {nodes}"),
        5 => format!("WHERE n1.id > 2 RETURN count(*), sum(e{edge}.w)"),
        6 => format!("RETURN {}", (0..edges).map(|edge| format!("id(e{edge})")).collect::<Vec<_>>().join(", ")),
        _ => format!("RETURN {nodes}"),
    }
}

fn compare(bench: &Bench, query: &str, seed: u64, statements: &[String]) -> bool {
    let plain = OptimizerConfig { intersections: false, ..OptimizerConfig::default() };
    let all = OptimizerConfig::default();
    let usual = RunSettings::default();
    let expected = bench.run(query, &plain, usual).expect("the query runs");
    let parallel = RunSettings { threads: 3, parallel_nodes_min: 1, ..usual };
    let small = RunSettings { batch_rows: 3, ..usual };
    let mut plan = String::new();
    for (config, settings) in [(&all, usual), (&all, parallel), (&all, small)] {
        let found = bench.run(query, config, settings).unwrap_or_else(|error| panic!("seed {seed} {query}\n{error}"));
        plan = found.1;
        let graph = statements.join(";\n");
        let (expected, found) = (&expected.0, &found.0);
        assert!(expected == found, "seed {seed}\n{graph}\n{query}\n{plan}\n{expected:?}\n{found:?}");
    }
    plan.contains("Intersect")
}

#[test]
fn fuzz_cycles_agree() {
    let first = seed_or(1);
    let mut intersected = 0;
    for seed in first..first + 16 {
        let mut random = SeededRandom::new(seed);
        let (nodes, edges) = [(3, 6), (6, 14), (8, 30), (24, 90), (90, 200)][random.index(5)];
        let statements = graph(&mut random, nodes, edges);
        let bench = Bench::new(&statements);
        for _ in 0..25 {
            let (matched, edges) = pattern(&mut random);
            let query = format!("{matched} {}", returned(&mut random, edges));
            intersected += usize::from(compare(&bench, &query, seed, &statements));
        }
    }
    assert!(intersected > 100, "only {intersected} queries were planned as intersections");
}

#[test]
fn cycles_within_subqueries_agree() {
    let mut random = SeededRandom::new(5);
    let statements = graph(&mut random, 9, 40);
    let bench = Bench::new(&statements);
    for query in [
        "MATCH (a)-[:X]->(b) WHERE EXISTS { (a)-[:X]->(c)-[:X]->(b) } RETURN a.id, b.id",
        "MATCH (a)-[:X]->(b) WHERE NOT EXISTS { (a)-[:X]->(c)-[:Y]->(b) } RETURN a.id, b.id",
        "MATCH (a), (b) OPTIONAL MATCH (a)-[:X]->(c)<-[:X]-(b) RETURN a.id, b.id, c.id",
        "MATCH (a) RETURN a.id, COUNT { (a)-[:X]->(b)-[:X]->(c)-[:X]->(a) }",
        "MATCH (a)-[e]-(b) OPTIONAL MATCH (a)--(c)--(b) WHERE c.id > a.id RETURN a.id, b.id, count(c)",
        "MATCH (a)-[:X]->(b) WITH a, b LIMIT 1000 MATCH (b)-[:Y]->(c)-[:X]->(a) RETURN a.id, b.id, c.id",
        "OPTIONAL MATCH (z:Nowhere) MATCH (a)-[:X]->(b) OPTIONAL MATCH (z)-->(c)<--(b) RETURN a.id, b.id, c.id",
    ] {
        compare(&bench, query, 5, &statements);
    }
}
