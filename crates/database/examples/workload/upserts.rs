//! `UNWIND … MERGE` of nodes and of edges; somewhat less than half of the rows are new. With `existing=N` the store's files
//! hold N nodes and four times as many edges before. With `maps=1` rows are maps rather than lists.

use database::{Parameters, Value};
use serde_json::json;

use crate::measuring::{Arguments, Outcome, Random, load_edges, load_nodes, now, percentiles, print, sizes};

const NODES: &str = "UNWIND $rows AS r MERGE (n:V {id: r[0]}) SET n.score = r[1]";
const EDGES: &str = "UNWIND $rows AS r MATCH (a:V {id: r[0]}), (b:V {id: r[1]}) MERGE (a)-[e:E]->(b) SET e.t = r[2]";

const NODES_OF_MAPS: &str = "UNWIND $rows AS r MERGE (n:V {id: r.a}) SET n.score = r.b";
const EDGES_OF_MAPS: &str =
    "UNWIND $rows AS r MATCH (a:V {id: r.a}), (b:V {id: r.b}) MERGE (a)-[e:E]->(b) SET e.t = r.c";

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let database = arguments.open()?;
    let mut session = database.session();
    let existing = arguments.number("existing", 0)?;
    if existing > 0 {
        load_nodes(&database, "V", existing)?;
        load_edges(&database, existing, 4 * existing)?;
        database.checkpoint()?;
    } else {
        session.query("CREATE CONSTRAINT ids FOR (n:V) REQUIRE n.id IS UNIQUE", &Parameters::default())?;
    }
    let are_maps = arguments.number("maps", 0)? == 1;
    let queries = if are_maps { [NODES_OF_MAPS, EDGES_OF_MAPS] } else { [NODES, EDGES] };
    let (rows, batch) = (arguments.number("rows", 200_000)?, arguments.number("batch", 1_000)?);
    let ids = if existing > 0 { 2 * existing } else { rows / 2 };
    let mut random = Random::new(3);
    for (name, query) in ["nodes", "edges"].into_iter().zip(queries) {
        let mut latencies = Vec::new();
        let start = now();
        for _ in 0..rows / batch {
            let row = |_| {
                let id = |random: &mut Random| Value::Int(random.below(ids) as i64);
                let (a, b, c) = (id(&mut random), id(&mut random), id(&mut random));
                if are_maps {
                    return Value::map([("a".into(), a), ("b".into(), b), ("c".into(), c)]);
                }
                Value::list(if name == "nodes" { vec![a, b] } else { vec![a, b, c] })
            };
            let list = Value::list((0..batch).map(row).collect());
            let before = now();
            session.query(query, &Parameters::from_iter([("rows".into(), list)]))?;
            latencies.push(now() - before);
        }
        let seconds = now() - start;
        print(&json!({
            "result": "upserts", "what": name, "batch": batch, "durability": arguments.text("durability", "full"),
            "rows": rows, "seconds": seconds, "rows_per_second": rows as f64 / seconds,
            "batches": percentiles(&mut latencies), "store": sizes(&database)?,
        }))?;
    }
    Ok(())
}
