//! Times the making of views in memory from a store: `view_speed STORE [THREADS]`, 2 if left out.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use analytics::{GraphView, Projection, Sides};
use model::store::Direction;
use model::{GraphStore, Interrupt};
use storage::{NativeStore, OpenMode, OpenOptions};

/// Views made of each kind; the fastest and the median are printed.
const RUNS: usize = 7;

/// Seconds that all threads of this process have computed for, where the system tells.
#[allow(clippy::disallowed_methods, reason = "an example asks the system what it used")]
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

#[allow(clippy::disallowed_methods, reason = "an example measures with the real clock")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: view_speed STORE [THREADS]")?;
    let threads = arguments.next().map_or(Ok(2), |text| text.parse::<usize>())?;
    let options = OpenOptions { mode: OpenMode::ReadOnly, ..OpenOptions::default() };
    let store = NativeStore::open(Path::new(&path), options, storage::os::platform())?;
    let view = store.read()?;
    let mut out = std::io::stdout();
    writeln!(out, "{} nodes, {} edges, {threads} threads", view.statistics().nodes, view.statistics().edges)?;
    for (name, direction, sides) in [
        ("forward", Direction::Out, Sides::Forward),
        ("backward", Direction::Out, Sides::Backward),
        ("both", Direction::Out, Sides::ForwardAndBackward),
        ("undirected", Direction::Both, Sides::Forward),
    ] {
        let projection = Projection::all(direction);
        let mut times = Vec::with_capacity(RUNS);
        let before = processor_seconds();
        for _ in 0..RUNS {
            let start = std::time::Instant::now();
            let made = GraphView::build(&*view, &projection, None, sides, threads, &Interrupt::new())?;
            times.push(start.elapsed().as_secs_f64());
            assert!(made.edge_count() as u64 >= view.statistics().edges / 2);
        }
        let each = (processor_seconds() - before) / (RUNS * threads) as f64;
        times.sort_by(f64::total_cmp);
        let (best, median) = (times[0], times[RUNS / 2]);
        writeln!(out, "{name:<12} best {best:>8.4} s  median {median:>8.4} s  processor/{threads} {each:>8.4} s")?;
    }
    Ok(())
}
