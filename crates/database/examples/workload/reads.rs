//! Reads of a graph whose degrees follow a power law: neighbours by degree and direction, friends of friends, bytes an edge.

use database::{Database, Parameters, Value};
use model::store::{EdgeIds, Expand};
use model::{Direction, EdgeBatch, NodeId, PropertyKeyId, ReadView};
use serde_json::json;

use crate::measuring::{Arguments, Outcome, Random, load_edges, load_nodes, now, percentiles, print, sizes};

pub(crate) const FRIENDS: &str =
    "MATCH (a:V {id: $i})-[:E]->(b:V) WITH b LIMIT 200 MATCH (b)-[:E]->(c:V) RETURN count(DISTINCT c)";
pub(crate) const POINT: &str = "MATCH (a:V {id: $i}) RETURN a.id";

/// Nodes measured for each doubling of the degree.
const NODES_PER_BUCKET: usize = 200;

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let database = arguments.open()?;
    let edges = arguments.number("edges", 2_000_000)?;
    let nodes = arguments.number("nodes", (edges / 16).max(1_000))?;
    if database.info()?.nodes == 0 {
        load_nodes(&database, "V", nodes)?;
        load_edges(&database, nodes, edges)?;
        database.checkpoint()?;
    }
    print(&json!({"result": "bytes", "store": sizes(&database)?}))?;
    let view = database.store().read()?;
    let queries = arguments.number("queries", 5_000)? as usize;
    let mut random = Random::new(23);
    for (name, query) in [("point", POINT), ("friends_of_friends", FRIENDS)] {
        let mut latencies = Vec::with_capacity(queries);
        let mut session = database.session();
        for _ in 0..queries {
            let parameters = Parameters::from_iter([("i".into(), Value::Int(random.below(nodes) as i64))]);
            let before = now();
            session.query(query, &parameters)?;
            latencies.push(now() - before);
        }
        print(&json!({"result": "query", "query": name, "latency": percentiles(&mut latencies)}))?;
    }
    by_degree(&*view, nodes, &mut random, &[])?;
    if let Some(key) = view.schema().property_key("t") {
        by_degree(&*view, nodes, &mut random, &[key])?;
    }
    report_cache(&database)
}

/// Lists of neighbours of single nodes, in both directions, by degree; with these properties of the edges.
fn by_degree(view: &dyn ReadView, nodes: u64, random: &mut Random, keys: &[PropertyKeyId]) -> Outcome<()> {
    let result = if keys.is_empty() { "degree" } else { "degree_with_property" };
    for direction in [Direction::Out, Direction::In] {
        let ids: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        let mut buckets: Vec<Vec<NodeId>> = Vec::new();
        for chunk in ids.chunks(10_000) {
            for (node, degree) in chunk.iter().zip(view.degrees(chunk, direction, None)?) {
                if degree > 0 {
                    let bucket = degree.ilog2() as usize;
                    buckets.resize(buckets.len().max(bucket + 1), Vec::new());
                    buckets[bucket].push(*node);
                }
            }
        }
        for (bucket, nodes) in buckets.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty()) {
            let mut latencies = Vec::new();
            let mut found = 0;
            for _ in 0..NODES_PER_BUCKET {
                let node = nodes[random.below(nodes.len() as u64) as usize];
                let before = now();
                found += neighbours(view, node, direction, keys)?;
                latencies.push(now() - before);
            }
            print(&json!({
                "result": result, "direction": format!("{direction:?}").to_lowercase(), "degree": 1u64 << bucket,
                "mean_degree": found as f64 / NODES_PER_BUCKET as f64, "latency": percentiles(&mut latencies),
            }))?;
        }
    }
    Ok(())
}

fn neighbours(view: &dyn ReadView, node: NodeId, direction: Direction, keys: &[PropertyKeyId]) -> Outcome<usize> {
    let expand = Expand { direction, edge_ids: EdgeIds::Omit, keys: keys.to_vec(), ..Expand::default() };
    let from = [node];
    let (mut cursor, mut batch, mut count) = (view.expand(&from, &expand)?, EdgeBatch::default(), 0);
    while cursor.next(&mut batch)? {
        count += batch.len();
    }
    Ok(count)
}

fn report_cache(database: &Database) -> Outcome<()> {
    let info = database.info()?;
    print(&json!({
        "result": "memory", "limit": info.memory.0, "used": info.memory.1, "peak": info.memory.2,
        "cache_hit_rate": info.cache.hit_rate(), "bytes_read": info.cache.bytes_read,
    }))
}
