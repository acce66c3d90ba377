//! The mix of requests of LinkBench (Armstrong et al. 2013), as in table 2 of the GraphChi-DB paper.
//!
//! Shares are those of LinkBench's own workload file; of its lists of links three in ten are ranges of time. Deleting
//! nodes (one request in a hundred) is left out: LinkBench leaves the links of a deleted node behind, a graph does not.

use std::sync::Mutex;

use database::{Database, ErrorCode, Parameters, Value};
use model::store::NewEdges;
use model::{Column, ColumnData, NodeId};
use serde_json::json;

use crate::measuring::{Arguments, Outcome, Random, load_nodes, now, percentiles, print, scatter, sizes};

/// Name, share in thousandths, query.
const REQUESTS: &[(&str, u64, &str)] = &[
    ("node_get", 129, "MATCH (n:Obj {id: $a}) RETURN n.version, n.time, n.data"),
    ("node_insert", 26, "CREATE (:Obj {id: $new, version: 0, time: $t, data: $d})"),
    ("node_update", 74, "MATCH (n:Obj {id: $a}) SET n.version = $t, n.time = $t, n.data = $d"),
    (
        "edge_ins_or_upd",
        90,
        "MATCH (a:Obj {id: $a}), (b:Obj {id: $b}) MERGE (a)-[e:Link]->(b) SET e.time = $t, e.version = 0, e.data = $d",
    ),
    ("edge_delete", 30, "MATCH (:Obj {id: $a})-[e:Link]->(:Obj {id: $b}) DELETE e"),
    ("edge_update", 80, "MATCH (:Obj {id: $a})-[e:Link]->(:Obj {id: $b}) SET e.time = $t, e.data = $d"),
    ("edge_count", 49, "MATCH (:Obj {id: $a})-[e:Link]->() RETURN count(e)"),
    ("edge_get", 5, "MATCH (:Obj {id: $a})-[e:Link]->(:Obj {id: $b}) RETURN e.time, e.data"),
    (
        "edge_getrange",
        152,
        "MATCH (:Obj {id: $a})-[e:Link]->(b) WHERE e.time > $t - 100000 RETURN b.id, e.time, e.data \
         ORDER BY e.time DESC LIMIT 1000",
    ),
    (
        "edge_outnbrs",
        355,
        "MATCH (:Obj {id: $a})-[e:Link]->(b) RETURN b.id, e.time, e.data ORDER BY e.time DESC LIMIT 1000",
    ),
];

const EDGES_PER_NODE: u64 = 5;

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let database = arguments.open()?;
    let nodes = arguments.number("nodes", 100_000)?;
    let (threads, seconds) = (arguments.number("threads", 1)?, arguments.number("seconds", 10)?);
    if database.info()?.nodes == 0 {
        load(&database, nodes, arguments.number("sortkey", 1)? > 0)?;
    }
    let latencies: Mutex<Vec<Vec<f64>>> = Mutex::new(vec![Vec::new(); REQUESTS.len()]);
    let conflicts = Mutex::new(0u64);
    let start = now();
    let outcome: Outcome<()> = std::thread::scope(|scope| {
        let client = |number: u64| {
            let (database, latencies, conflicts) = (&database, &latencies, &conflicts);
            move || {
                let (found, refused) = client(database, nodes, number, start + seconds as f64)?;
                let mut all = latencies.lock().expect("no holder panics");
                all.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
                *conflicts.lock().expect("no holder panics") += refused;
                Ok(())
            }
        };
        let clients: Vec<_> = (0..threads).map(|number| scope.spawn(client(number))).collect();
        clients.into_iter().try_for_each(|client| client.join().expect("no client panics"))
    });
    outcome?;
    let elapsed = now() - start;
    let mut latencies = latencies.into_inner()?;
    let count: usize = latencies.iter().map(Vec::len).sum();
    for ((name, share, _), latencies) in REQUESTS.iter().zip(&mut latencies) {
        print(&json!({
            "result": "linkbench_request", "request": name, "share": share, "threads": threads,
            "latency": percentiles(latencies),
        }))?;
    }
    print(&json!({
        "result": "linkbench", "threads": threads, "nodes": nodes, "durability": arguments.text("durability", "full"),
        "requests": count, "seconds": elapsed, "requests_per_second": count as f64 / elapsed,
        "conflicts": conflicts.into_inner()?, "store": sizes(&database)?,
    }))
}

/// The latencies of each kind of request, and how many were refused for conflicts after all retries.
fn client(database: &Database, nodes: u64, number: u64, until: f64) -> Outcome<(Vec<Vec<f64>>, u64)> {
    let mut random = Random::new(number + 100);
    let mut session = database.session();
    let mut latencies = vec![Vec::new(); REQUESTS.len()];
    let (mut refused, mut inserted) = (0, 0);
    // Ids of new nodes differ from run to run.
    let base = database.clock().unix_us() as u64 / 1_000_000;
    let shares: u64 = REQUESTS.iter().map(|(_, share, _)| share).sum();
    while now() < until {
        let mut pick = random.below(shares);
        let at = REQUESTS.iter().position(|(_, share, _)| {
            let is_it = pick < *share;
            pick = pick.saturating_sub(*share);
            is_it
        });
        let at = at.expect("the shares add up to their sum");
        let a = scatter(random.skewed(nodes), nodes);
        inserted += u64::from(at == 1);
        let parameters = Parameters::from_iter([
            ("a".into(), Value::Int(a as i64)),
            ("b".into(), Value::Int(((a + 1 + random.below(2 * EDGES_PER_NODE)) % nodes) as i64)),
            ("new".into(), Value::Int((base << 32 | number << 24 | inserted) as i64)),
            ("t".into(), Value::Int(1_000_000 + random.below(1_000_000) as i64)),
            ("d".into(), Value::string(&payload(&mut random))),
        ]);
        let before = now();
        match session.query(REQUESTS[at].2, &parameters) {
            Ok(_) => latencies[at].push(now() - before),
            Err(error) if [ErrorCode::Conflict, ErrorCode::Constraint].contains(&error.code()) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    Ok((latencies, refused))
}

/// A text of 8 to 135 letters.
fn payload(random: &mut Random) -> String {
    let length = 8 + random.below(128);
    (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
}

/// Nodes with edges to those that follow them, as LinkBench makes them; their number follows a power law.
fn load(database: &Database, nodes: u64, with_sort_key: bool) -> Outcome<()> {
    load_nodes(database, "Obj", nodes)?;
    if with_sort_key {
        database.session().query("CREATE SORT KEY FOR ()-[e:Link]-() ON (e.time)", &Parameters::default())?;
    }
    let mut random = Random::new(11);
    let (mut left, mut offsets) = (nodes * EDGES_PER_NODE, vec![0u64; nodes as usize]);
    while left > 0 {
        let rows = left.min(20_000) as usize;
        let (mut sources, mut targets) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for _ in 0..rows {
            let source = scatter(random.skewed(nodes), nodes);
            let offset = &mut offsets[source as usize];
            *offset += 1;
            sources.push(NodeId(source));
            targets.push(NodeId((source + *offset) % nodes));
        }
        let times = (0..rows).map(|_| random.below(1_000_000) as i64).collect();
        let texts: Vec<Value> = (0..rows).map(|_| Value::string(&payload(&mut random))).collect();
        let properties = [
            Column::new(ColumnData::Int(times)),
            Column::new(ColumnData::Int(vec![0; rows])),
            Column::from_values(&texts),
        ];
        let mut transaction = database.store().write()?;
        let edge_type = transaction.edge_type("Link")?;
        let mut keys = Vec::new();
        for name in ["time", "version", "data"] {
            keys.push(transaction.property_key(name)?);
        }
        let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &properties };
        transaction.create_edges(&new)?;
        transaction.commit()?;
        left -= rows as u64;
    }
    Ok(database.checkpoint()?)
}
