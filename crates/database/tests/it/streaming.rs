//! Algorithms over rows that are streamed from a native store: with several partitions, unmerged writes, deleted edges,
//! changed properties and little memory they give what they give in memory.

use std::path::Path;

use database::{Config, Database, Parameters, Value};
use model::{Column, ColumnData, Interrupt, Map};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, EdgeRows, KeyRows, NodeRows};
use storage::version::Version;
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

/// A graph: how many nodes, and edges with weights.
struct Edges {
    nodes: u64,
    edges: Vec<(u64, u64, f64)>,
}

impl Edges {
    /// Random edges, more of them at nodes with small numbers.
    fn random(nodes: u64, count: usize, random: &mut SeededRandom) -> Edges {
        let mut node = || random.below(nodes).min(random.below(nodes));
        let edges = (0..count).map(|edge| (node(), node(), (edge % 100 + 1) as f64 / 10.0)).collect();
        Edges { nodes, edges }
    }

    /// Makes a store of them, in partitions of at most `partition_edges_max` edges.
    fn build(&self, folder: &Path, partition_edges_max: u64) {
        let ints =
            |values: &mut dyn Iterator<Item = u64>| Column::new(ColumnData::Int(values.map(|x| x as i64).collect()));
        let platform = storage::os::platform();
        let base = Version::create(&platform, folder).expect("the store of the test works");
        let config = BuildConfig { memory_bytes: 64 << 20, partition_edges_max, ..BuildConfig::default() };
        let mut load = BulkLoad::new(&base, config, &Interrupt::new()).expect("the store of the test works");
        let values = ints(&mut (0..self.nodes));
        let key = Some(KeyRows { group: "N", property: None, values: &values });
        let count = self.nodes as usize;
        load.push_nodes(&NodeRows { count, labels: &["N"], key, names: &[], columns: &[], origin: 0 })
            .expect("the store of the test works");
        let (sources, targets) =
            (ints(&mut self.edges.iter().map(|edge| edge.0)), ints(&mut self.edges.iter().map(|edge| edge.1)));
        let weights = [Column::new(ColumnData::Float(self.edges.iter().map(|edge| edge.2).collect()))];
        let rows = EdgeRows {
            edge_type: "E",
            source_group: "N",
            sources: &sources,
            target_group: "N",
            targets: &targets,
            names: &["weight"],
            columns: &weights,
            origin: 0,
        };
        let mut loader = load.edge_loader().expect("the store of the test works");
        assert!(loader.push(&rows).expect("the store of the test works").is_empty());
        loader.finish().expect("the store of the test works");
        load.finish().expect("the store of the test works");
    }
}

fn open(folder: &Path, memory_bytes: Option<usize>, threads: usize) -> Database {
    Database::open(folder, Config { memory_bytes_max: memory_bytes, threads, ..Config::default() })
        .expect("the store of the test works")
}

/// The rows of a statement.
fn rows(database: &Database, text: &str, parameters: &[(&str, Value)]) -> Vec<Vec<Value>> {
    let parameters: Parameters = parameters.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
    let result = database.session().query(text, &parameters).unwrap_or_else(|error| panic!("{text}: {error}"));
    result.rows().collect()
}

/// Runs every algorithm on the database in both ways and compares.
fn check(database: &Database, source: u64, name: &str) {
    let calls = [
        ("pagerank", "", 1e-6),
        ("pagerank", ", direction: 'IN', tolerance: 1e-300", 1e-9),
        ("pagerank", ", direction: 'BOTH'", 1e-6),
        ("wcc", "", 0.0),
        ("wcc", ", types: ['F']", 0.0),
        ("bfs", ", sourceNode: $source", 0.0),
        ("bfs", ", sourceNode: $source, direction: 'IN', types: ['E']", 0.0),
        ("bfs", ", sourceNode: $source, direction: 'BOTH', labels: ['N']", 0.0),
        ("sssp", ", sourceNode: $source, weightProperty: 'weight', defaultWeight: 2.0", 1e-12),
        ("sssp", ", sourceNode: $source, weightProperty: 'weight', types: ['E'], direction: 'IN'", 1e-12),
        ("sssp", ", sourceNode: $source, weightProperty: 'weight', defaultWeight: 1, direction: 'BOTH'", 1e-12),
    ];
    for (algorithm, settings, tolerance) in calls {
        let found = |way: &str, threads: u64| -> Map<Value, Value> {
            let value = match algorithm {
                "pagerank" => "score",
                "wcc" => "component",
                "bfs" => "distance",
                _ => "cost",
            };
            let text = format!(
                "CALL algo.{algorithm}({{execution: '{way}', concurrency: {threads}{settings}}}) \
                 YIELD node, {value} RETURN node, {value}"
            );
            let rows = rows(database, &text, &[("source", Value::Int(source as i64))]);
            rows.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect()
        };
        let expected = found("memory", 2);
        for threads in [1, 2] {
            let streamed = found("streaming", threads);
            assert_eq!(streamed.len(), expected.len(), "{name}, {algorithm} {settings}");
            for (node, value) in &streamed {
                let is_close = match (value, &expected[node]) {
                    (Value::Float(a), Value::Float(b)) => (a - b).abs() <= tolerance * b.abs() || a == b,
                    (a, b) => a == b,
                };
                assert!(is_close, "{name}, {algorithm} {settings}: {node} has {value}, expected {}", expected[node]);
            }
        }
    }
}

/// Adds edges of a type between nodes that are there.
fn add(database: &Database, edge_type: &str, edges: &Edges) {
    let list = edges.edges.iter().map(|&(source, target, weight)| {
        Value::list(vec![Value::Int(source as i64), Value::Int(target as i64), Value::Float(weight)])
    });
    let text = format!(
        "UNWIND $edges AS edge MATCH (a) WHERE id(a) = edge[0] MATCH (b) WHERE id(b) = edge[1] \
         CREATE (a)-[:{edge_type} {{weight: edge[2]}}]->(b)"
    );
    rows(database, &text, &[("edges", Value::list(list.collect()))]);
}

#[test]
fn streaming_a_native_store_gives_what_memory_gives() {
    let seed = seed_or(23);
    let mut random = SeededRandom::new(seed);
    // Partitions are cut at multiples of 4,096 targets.
    let nodes = 24_000;
    for (partition_edges_max, memory_bytes) in [(9_000, Some(96 << 20)), (1 << 28, None)] {
        let folder = Folder::new();
        Edges::random(nodes, 60_000, &mut random).build(folder.path(), partition_edges_max);
        let database = open(folder.path(), memory_bytes, 2);
        let partitions = database
            .store()
            .read()
            .expect("the store of the test works")
            .edge_partitions()
            .expect("the store of the test works")
            .count();
        assert_eq!(partitions > 2, partition_edges_max == 9_000, "{partitions} partitions");
        let name = |stage: &str| format!("{stage}, {partition_edges_max} edges a partition, FUZZ_SEED={seed}");
        // Types and properties that the settings name must be there.
        add(&database, "F", &Edges::random(nodes, 10, &mut random));
        check(&database, random.below(nodes), &name("few unmerged writes"));
        add(&database, "E", &Edges::random(nodes, 4_000, &mut random));
        add(&database, "F", &Edges::random(nodes, 1_000, &mut random));
        check(&database, random.below(nodes), &name("many unmerged writes"));
        database.checkpoint().expect("the store of the test works");
        rows(&database, "MATCH ()-[e]->() WHERE e.weight > 8.5 DELETE e", &[]);
        rows(&database, "MATCH ()-[e:E]->() WHERE e.weight < 2 SET e.weight = 3 * e.weight", &[]);
        check(&database, random.below(nodes), &name("deleted and changed"));
        rows(&database, "UNWIND range(1, 50) AS i MATCH (a) WHERE id(a) = i CREATE (a)-[:F]->(:M)-[:F]->(a)", &[]);
        rows(&database, "MATCH (a:N) WHERE id(a) = 77 DETACH DELETE a", &[]);
        database.checkpoint().expect("the store of the test works");
        check(&database, 1, &name("new nodes, one gone"));
        database.compact(&Interrupt::new()).expect("the store of the test works");
        check(&database, 1, &name("merged"));
    }
}

#[test]
fn what_a_small_frontier_does_not_touch_is_not_read() {
    let mut random = SeededRandom::new(seed_or(4));
    let folder = Folder::new();
    // Nodes with large numbers have few edges, so that their blocks are theirs alone.
    let mut graph = Edges::random(1 << 16, 1_500_000, &mut random);
    graph.edges.retain(|edge| edge.0 != 40_000);
    graph.edges.push((40_000, 50_000, 1.0));
    graph.build(folder.path(), 800_000);
    let read = |text: &str| {
        let database = open(folder.path(), None, 2);
        let source = Value::Int(40_000);
        let found = rows(&database, text, &[("source", source)]);
        (found[0][0].clone(), database.info().expect("the store of the test works").cache.bytes_read)
    };
    let all = read("CALL algo.wcc.stats({execution: 'streaming'}) YIELD componentCount RETURN componentCount");
    let far = "CALL algo.bfs.stats({execution: 'streaming', sourceNode: $source, maxDepth: 1}) YIELD nodesReached RETURN nodesReached";
    let (one, nothing) = (read(far), read("RETURN 1").1);
    assert_eq!(one.0, Value::Int(2));
    let (one, all) = (one.1 - nothing, all.1 - nothing);
    assert!(4 * one < all, "one step from one node read {one} bytes, a pass {all} bytes");
    assert!(all > 2 << 20, "a pass read {all} bytes");
}
