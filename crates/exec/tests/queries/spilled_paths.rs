//! Paths through graphs that are much larger than the memory of the query: they are those found in large memory, in the
//! same order where the search gives one, and those that a plain search of the test finds.

use exec::{QueryMemory, RunSettings};
use model::store::{NewEdges, NewNodes};
use model::{Column, ErrorCode, GraphStore, Map, NodeId, Value};
use testing::ReferenceStore;
use testing::random::{SeededRandom, seed_or};

use super::memory::{check_full_disk, compare, with_limit};
use super::{answer, run_with};

/// Edges as source and target.
type Edges = Vec<(usize, usize)>;

/// A random graph of one shape: scattered edges, a long chain with a few ways across, a grid, or one node beside all others.
fn graph(random: &mut SeededRandom, shape: usize) -> (usize, Edges) {
    match shape {
        0 => {
            let nodes = 600 + random.index(600);
            let node = |random: &mut SeededRandom| random.index(nodes);
            (nodes, (0..4 * nodes).map(|_| (node(random), node(random))).collect())
        }
        1 => {
            let nodes = 400;
            let across = (0..20).map(|_| {
                let node = random.index(nodes - 60);
                (node, node + 2 + random.index(50))
            });
            let across: Edges = across.collect();
            ((nodes), (1..nodes).map(|node| (node - 1, node)).chain(across).collect())
        }
        2 => {
            let side = 24;
            let right = (0..side * side).filter(|node| node % side + 1 < side).map(|node| (node, node + 1));
            let down = (0..side * (side - 1)).map(|node| (node, node + side));
            (side * side, right.chain(down).collect())
        }
        _ => {
            let nodes = 1_500;
            let spokes = (1..nodes).flat_map(|node| [(0, node), (node, (node * 7 + 1) % nodes)]);
            (nodes, spokes.collect())
        }
    }
}

fn make(store: &ReferenceStore, nodes: usize, edges: &Edges) {
    let integers = |of: &mut dyn Iterator<Item = usize>| {
        let values: Vec<Value> = of.map(|number| Value::Int(number as i64)).collect();
        [Column::from_values(&values)]
    };
    let mut transaction = store.write().expect("the reference store can be written");
    let (label, edge_type) = (
        transaction.label("N").expect("the reference store takes it"),
        transaction.edge_type("E").expect("the reference store takes it"),
    );
    let (id, weight) = (
        transaction.property_key("id").expect("the reference store takes it"),
        transaction.property_key("w").expect("the reference store takes it"),
    );
    let properties = integers(&mut (0..nodes));
    let new = NewNodes { count: nodes, labels: &[label], keys: &[id], properties: &properties };
    let ids = transaction.create_nodes(&new).expect("the reference store takes it");
    let sources: Vec<NodeId> = edges.iter().map(|edge| ids[edge.0]).collect();
    let targets: Vec<NodeId> = edges.iter().map(|edge| ids[edge.1]).collect();
    let properties = integers(&mut edges.iter().map(|edge| edge.0 % 3));
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[weight], properties: &properties };
    transaction.create_edges(&new).expect("the reference store takes it");
    transaction.commit().expect("the reference store takes it");
}

/// The distance of each node from a start along edges, and how many shortest paths lead there.
fn distances(nodes: usize, edges: &Edges, start: usize, is_both: bool) -> Vec<Option<(usize, u64)>> {
    let mut found: Vec<Option<(usize, u64)>> = vec![None; nodes];
    found[start] = Some((0, 1));
    for depth in 1.. {
        let mut next: Vec<(usize, u64)> = Vec::new();
        let mut walk = |from: usize, to: usize| {
            if let (Some((known, ways)), None) = (found[from], found[to])
                && known + 1 == depth
            {
                next.push((to, ways));
            }
        };
        for &(source, target) in edges {
            walk(source, target);
            if is_both {
                walk(target, source);
            }
        }
        if next.is_empty() {
            break;
        }
        for (node, ways) in next {
            found[node] = Some((depth, ways + found[node].map_or(0, |(_, known)| known)));
        }
    }
    found
}

/// Queries between two nodes and from one, and whether their rows come in one order.
fn queries(from: usize, to: usize) -> Vec<(String, bool)> {
    let ends = format!("MATCH (a:N {{id: {from}}}), (b:N {{id: {to}}})");
    let nodes = "RETURN [n IN nodes(p) | n.id] AS l";
    vec![
        (format!("{ends} MATCH p = shortestPath((a)-[:E*]->(b)) {nodes}"), true),
        (format!("{ends} MATCH p = shortestPath((a)-[:E*]-(b)) {nodes}"), true),
        (format!("{ends} MATCH p = shortestPath((a)-[r:E*]-(b)) WHERE all(e IN r WHERE e.w < 2) {nodes}"), true),
        (format!("{ends} MATCH p = allShortestPaths((a)-[:E*]->(b)) WITH p LIMIT 300 {nodes}"), true),
        (format!("{ends} MATCH p = allShortestPaths((b)-[:E*..9]-(a)) WITH p LIMIT 300 {nodes}"), true),
        (format!("{ends} MATCH p = SHORTEST 3 (a)-[:E]->+(b) {nodes}"), true),
        (format!("{ends} MATCH p = ALL SHORTEST (a) ((x)-[:E]->(y)-[:E]-(z)){{1,4}} (b) {nodes}"), true),
        (format!("MATCH p = ANY (a:N {{id: {from}}})-[:E]->+(b) {nodes}"), true),
        (format!("MATCH ANY (a:N {{id: {from}}})-[:E]->+(b) RETURN b.id"), true),
        (format!("MATCH p = ALL SHORTEST (a:N {{id: {from}}})-[:E]-{{1,3}}(b) {nodes}"), true),
        (format!("MATCH (a:N {{id: {from}}})-[:E*]-(b) RETURN DISTINCT b.id"), true),
        (
            format!("MATCH (a:N {{id: {from}}})-[r:E*0..]->(b) WHERE all(e IN r WHERE e.w < 2) RETURN DISTINCT b.id"),
            true,
        ),
        (format!("MATCH p = (a:N {{id: {from}}})-[:E*1..3]->(b) {nodes}"), false),
        (format!("MATCH p = (a:N {{id: {from}}})-[r:E*1..6]->(b {{id: {to}}}) {nodes}"), false),
        (
            format!(
                "MATCH p = (a:N {{id: {from}}})-[r:E*1..4]->(b) WHERE allReduce(s = 0, e IN r | s + e.w, s < 5) {nodes}"
            ),
            false,
        ),
        (format!("MATCH p = ACYCLIC (a:N {{id: {from}}})-[:E]->{{1,3}}(b) {nodes}"), true),
        (format!("MATCH p = (a:N {{id: {from}}}) ((x)-[:E]->(y)<-[:E]-(z)){{1}} (b) {nodes}"), true),
    ]
}

#[test]
fn paths_beyond_memory_are_those_within() {
    let seed = seed_or(20_261_123);
    let mut random = SeededRandom::new(seed);
    for round in 0..8 {
        let (nodes, edges) = graph(&mut random, round % 4);
        let store = if round < 4 { ReferenceStore::new() } else { ReferenceStore::foreign(3) };
        make(&store, nodes, &edges);
        let from = random.index(nodes / 3);
        // A path along the chain fits into what is never refused.
        let to = if round % 4 == 1 { from + 100 + random.index(80) } else { nodes - 1 - random.index(nodes / 3) };
        let batch_rows = *random.pick(&[3, 100, 2_048]);
        let settings = RunSettings { batch_rows, ..RunSettings::default() };
        for (query, is_ordered) in queries(from, to) {
            let place = format!("FUZZ_SEED={seed} round {round}: {query}");
            let unlimited = run_with(&store, &query, &Map::default(), settings, &QueryMemory::unlimited());
            for limit in [0, 10_000, 200_000] {
                let (outcome, peak) = with_limit(limit, |memory| {
                    let outcome = run_with(&store, &query, &Map::default(), settings, memory);
                    (outcome, memory.peak())
                });
                compare(&format!("{place} with {limit} bytes"), &unlimited, &outcome);
                assert!(peak < limit.max(64 << 10) + (256 << 10), "{place} with {limit} bytes holds {peak}");
                if is_ordered {
                    let rows = |outcome: &model::Result<super::Answer>| outcome.as_ref().expect("it ran").0.clone();
                    assert_eq!(rows(&outcome), rows(&unlimited), "{place} with {limit} bytes: the order");
                }
            }
        }
        check_distances(&store, (nodes, &edges), from, &format!("FUZZ_SEED={seed} round {round}"));
    }
}

/// Compares lengths and numbers of shortest paths from one node with those of a plain search.
fn check_distances(store: &ReferenceStore, (nodes, edges): (usize, &Edges), from: usize, place: &str) {
    let run = |query: &str| {
        let run = |memory: &QueryMemory| {
            run_with(store, query, &Map::default(), RunSettings::default(), memory).expect(query).0
        };
        let mut rows = with_limit(0, run);
        rows.sort();
        rows
    };
    let start = format!("(a:N {{id: {from}}})");
    for (arrow, is_both) in [("->", false), ("-", true)] {
        let found = distances(nodes, edges, from, is_both);
        let others = || found.iter().enumerate().filter(|(node, _)| *node != from);
        let mut lengths: Vec<String> =
            others().filter_map(|(node, found)| found.map(|(length, _)| format!("{node}, {length}"))).collect();
        lengths.sort();
        let query =
            format!("MATCH p = ANY SHORTEST {start}-[:E]{arrow}+(b) WHERE b.id <> {from} RETURN b.id, length(p)");
        assert_eq!(run(&query), lengths, "{place}: {query}");
        let query = format!("MATCH {start}-[:E*]{arrow}(b) WHERE b.id <> {from} RETURN DISTINCT b.id");
        assert_eq!(run(&query).len(), lengths.len(), "{place}: {query}");
        for (node, known) in others().step_by(211) {
            let Some((length, ways)) = known.filter(|(_, ways)| *ways < 2_000) else { continue };
            let query = format!(
                "MATCH {start}, (b:N {{id: {node}}}) MATCH p = allShortestPaths((a)-[:E*]{arrow}(b)) \
                 RETURN length(p), count(*)"
            );
            assert_eq!(run(&query), [format!("{length}, {ways}")], "{place}: {query}");
            let query = query.replace("allShortestPaths", "shortestPath");
            assert_eq!(run(&query), [format!("{length}, 1")], "{place}: {query}");
        }
    }
}

/// A graph of two parts, each larger than a few pages hold, and queries that spill in it: those from part to part go through
/// the whole of one.
fn spilling() -> (ReferenceStore, Vec<String>) {
    let store = ReferenceStore::new();
    let part = |first: usize| {
        (1..20_000).flat_map(move |node| [(node - 1, node), (node / 2, node)].map(|(a, b)| (first + a, first + b)))
    };
    let edges: Edges = part(0).chain(part(20_000)).collect();
    make(&store, 40_000, &edges);
    let ends = "MATCH (a:N {id: 0}), (b:N {id: 39999})";
    let queries = vec![
        format!("{ends} MATCH p = shortestPath((b)<-[:E*]-(a)) RETURN length(p)"),
        format!("{ends} MATCH p = allShortestPaths((a)-[:E*]->(b)) RETURN length(p)"),
        format!("{ends} MATCH p = SHORTEST 2 (a)-[:E]->+(b) RETURN length(p)"),
        "MATCH p = ALL SHORTEST (a:N {id: 0})-[:E]->+(b) RETURN count(p)".to_string(),
        "MATCH p = ANY SHORTEST (a:N {id: 0})-[:E]->+(b) RETURN sum(length(p))".to_string(),
        "MATCH (a:N {id: 0})-[:E*]->(b) RETURN count(DISTINCT b)".to_string(),
        "MATCH p = (a:N {id: 0})-[:E*1..9]->(b) RETURN sum(length(p))".to_string(),
    ];
    (store, queries)
}

#[test]
fn a_full_disk_ends_a_search_and_nothing_is_left() {
    let (store, queries) = spilling();
    for query in &queries {
        for operation in [0, 1, 3, 10] {
            check_full_disk(&store, query, operation, 0);
        }
    }
}

/// A path that is a row is in memory as a whole.
#[test]
fn a_path_larger_than_memory_names_the_limit() {
    let store = ReferenceStore::new();
    let edges: Edges = (1..6_000).map(|node| (node - 1, node)).collect();
    make(&store, 6_000, &edges);
    for path in ["shortestPath((a)-[:E*]->(b))", "allShortestPaths((a)-[:E*]->(b))", "SHORTEST 2 (a)-[:E]->+(b)"] {
        let query = format!("MATCH (a:N {{id: 0}}), (b:N {{id: 5999}}) MATCH p = {path} RETURN length(p)");
        let error = with_limit(100_000, |memory| {
            run_with(&store, &query, &Map::default(), RunSettings::default(), memory).expect_err(&query)
        });
        assert_eq!(error.code(), ErrorCode::Limit, "{query}: {error:?}");
        assert!(error.message().contains("relationships: "), "{query}: {error:?}");
        assert!(error.message().contains("of the 100000 bytes it may hold"), "{query}: {error:?}");
        let (rows, _) = answer(&store, &query.replace("5999", "200"), &Map::default(), RunSettings::default())
            .expect("a shorter path fits");
        assert!(rows.iter().all(|row| row == "200" || row == "201"), "{rows:?}");
    }
}
