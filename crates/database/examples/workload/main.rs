//! Workloads on a store, as JSON lines: workload NAME store=PATH [name=value…].
//!
//! - [`inserts`]: edges as fast as they go in, with throughput over time; alone or while PageRank runs in a loop.
//! - [`upserts`]: `UNWIND … MERGE` of nodes and of edges.
//! - [`linkbench`]: the mix of requests of LinkBench, with latencies by request.
//! - [`reads`]: lists of neighbours by degree and direction, friends of friends, bytes an edge.
//! - [`at_once`]: queries while the whole graph is computed on.
//! - [`measuring`]: arguments, random numbers, percentiles.
//!
//! Each line that it prints is one result; `benchmarks/store.py` makes tables of them.

mod at_once;
mod inserts;
mod linkbench;
mod measuring;
mod reads;
mod upserts;

use measuring::{Arguments, Outcome};

fn main() -> Outcome<()> {
    let arguments = Arguments::read()?;
    match arguments.name.as_str() {
        "at_once" => at_once::run(&arguments),
        "inserts" => inserts::run(&arguments),
        "upserts" => upserts::run(&arguments),
        "linkbench" => linkbench::run(&arguments),
        "reads" => reads::run(&arguments),
        other => Err(format!("no workload has the name {other}").into()),
    }
}
