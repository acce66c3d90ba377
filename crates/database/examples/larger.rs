//! Runs whole-graph algorithms on a store that is larger than the memory given:
//! `larger STORE MEMORY_MIB DISK_RATE [NAMES [EXECUTION]]`.
//!
//! Everything goes through Cypher, straight from the transactional store. For each algorithm it prints the time, the bytes
//! that were read from the disk, for each iteration where there are such, and the part of the disk's sequential rate
//! (`DISK_RATE`, in MB/s, as the caller measured it; 0 if not) at which they came. Memory is limited by Knotwork's own
//! limit; whether the operating system keeps to it too is the caller's affair. NAMES is a list like `pagerank,wcc`; `shared`
//! among them runs PageRank alone and then twice at once, and prints what the second costs in bytes read.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use database::{Access, Config, Database, Parameters, Value};
use model::platform::Platform;

type Outcome<T> = Result<T, Box<dyn Error>>;

const ITERATIONS: u64 = 20;
const LABEL_ITERATIONS: u64 = 10;
/// Calls that are run: a name, a call, and the number of passes that the algorithm makes, if that is known.
const CALLS: [(&str, &str, u64); 6] = [
    ("pagerank", "CALL algo.pagerank.stats({maxIterations: 20, tolerance: 0.0, execution: $way})", ITERATIONS),
    ("wcc", "CALL algo.wcc.stats({execution: $way})", 1),
    ("bfs", "CALL algo.bfs.stats({sourceNode: $source, execution: $way})", 0),
    ("sssp", "CALL algo.sssp.stats({sourceNode: $source, execution: $way})", 0),
    ("cdlp", "CALL algo.cdlp.stats({maxIterations: 10, execution: $way})", LABEL_ITERATIONS),
    ("scc", "CALL algo.scc.stats({execution: $way})", 0),
];
const SOURCE: &str = "MATCH (a)-->() RETURN id(a) LIMIT 1";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [store, memory_mib, rate, rest @ ..] = arguments.as_slice() else {
        return Err("usage: larger STORE MEMORY_MIB DISK_RATE [NAMES [EXECUTION]]".into());
    };
    let names = rest.first().map_or("pagerank,wcc,bfs,cdlp", |names| names);
    let way = rest.get(1).map_or("streaming", |way| way);
    let memory = memory_mib.parse::<usize>()? << 20;
    let config = Config {
        access: Access::ReadOnly,
        memory_bytes_max: Some(memory),
        query_memory_max: Some(memory),
        ..Config::default()
    };
    run(Path::new(store), config, rate.parse()?, names, way)
}

fn run(store: &Path, config: Config, disk_rate: f64, names: &str, way: &str) -> Outcome<()> {
    let mut out = std::io::stdout();
    let platform = storage::os::platform();
    let database = Database::open(store, config)?;
    let mut session = database.session();
    let source = match session.query(SOURCE, &Parameters::default())?.rows().next() {
        Some(row) => row[0].clone(),
        None => return Err("the store has no edges".into()),
    };
    for name in names.split(',') {
        if name == "shared" {
            shared(&mut out, &platform, &database, way)?;
            continue;
        }
        let (_, call, passes) = CALLS.iter().find(|call| call.0 == name).ok_or(format!("nothing is called {name}"))?;
        let mut parameters = Parameters::default();
        parameters.insert("source".into(), source.clone());
        parameters.insert("way".into(), Value::string(way));
        let before = database.info()?.cache.bytes_read;
        let (result, seconds) = timed(&platform, || session.query(call, &parameters))?;
        let read = (database.info()?.cache.bytes_read - before) as f64 / 1e6;
        let row = result.rows().next().unwrap_or_default();
        let found: Vec<String> =
            result.columns.iter().zip(&row).map(|(column, value)| format!("{column} {value}")).collect();
        write!(out, "{name:<9} {seconds:>7.2} s  {read:>8.0} MB read")?;
        if *passes > 0 {
            write!(out, "  {:>7.1} MB and {:.3} s an iteration", read / *passes as f64, seconds / *passes as f64)?;
        }
        let rate = read / seconds;
        write!(out, "  {rate:>6.0} MB/s")?;
        if disk_rate > 0.0 {
            write!(out, " ({:.0} % of the disk's {disk_rate:.0} MB/s)", 100.0 * rate / disk_rate)?;
        }
        writeln!(out, "  {}", found.join(", "))?;
        out.flush()?;
    }
    Ok(())
}

/// PageRank alone, then two at once in sessions of their own, which should read the same partitions together.
fn shared(out: &mut impl Write, platform: &Platform, database: &Database, way: &str) -> Outcome<()> {
    let mut parameters = Parameters::default();
    parameters.insert("way".into(), Value::string(way));
    let run = || database.session().query(CALLS[0].1, &parameters).map(drop);
    let mut figures = [(0.0, 0.0); 2];
    for (count, figure) in [1, 2].into_iter().zip(&mut figures) {
        let before = database.info()?.cache.bytes_read;
        let ((), seconds) = timed(platform, || {
            std::thread::scope(|scope| {
                let runs: Vec<_> = (0..count).map(|_| scope.spawn(run)).collect();
                runs.into_iter().try_for_each(|run| run.join().expect("a run does not panic"))
            })
        })?;
        *figure = ((database.info()?.cache.bytes_read - before) as f64 / 1e6, seconds);
    }
    let [(one, alone), (two, together)] = figures;
    write!(out, "shared    one run {one:.0} MB in {alone:.2} s, two at once {two:.0} MB in {together:.2} s")?;
    if one > 0.0 {
        write!(out, ": {:+.0} % read", 100.0 * (two / one - 1.0))?;
    }
    writeln!(out)?;
    Ok(())
}

/// The result of a call, and the time it took in seconds.
fn timed<T>(platform: &Platform, call: impl FnOnce() -> model::Result<T>) -> Outcome<(T, f64)> {
    let start = platform.clock.now_ns();
    let result = call()?;
    Ok((result, (platform.clock.now_ns() - start) as f64 / 1e9))
}
