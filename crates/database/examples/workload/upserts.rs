//! `UNWIND … MERGE` of nodes and of edges; somewhat less than half of the rows are new.

use database::{Parameters, Value};
use serde_json::json;

use crate::measuring::{Arguments, Outcome, Random, now, percentiles, print, sizes};

const NODES: &str = "UNWIND $rows AS r MERGE (n:V {id: r[0]}) SET n.score = r[1]";
const EDGES: &str = "UNWIND $rows AS r MATCH (a:V {id: r[0]}), (b:V {id: r[1]}) MERGE (a)-[e:E]->(b) SET e.t = r[2]";

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let database = arguments.open()?;
    let mut session = database.session();
    session.query("CREATE CONSTRAINT ids FOR (n:V) REQUIRE n.id IS UNIQUE", &Parameters::default())?;
    let (rows, batch) = (arguments.number("rows", 200_000)?, arguments.number("batch", 1_000)?);
    let ids = rows / 2;
    let mut random = Random::new(3);
    for (name, query) in [("nodes", NODES), ("edges", EDGES)] {
        let mut latencies = Vec::new();
        let start = now();
        for _ in 0..rows / batch {
            let row = |_| {
                let id = |random: &mut Random| Value::Int(random.below(ids) as i64);
                let (a, b, c) = (id(&mut random), id(&mut random), id(&mut random));
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
