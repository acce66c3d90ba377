//! Progress bars on standard error: rows, rate and time left, on a terminal only.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::Interrupt;
use database::import::ImportProgress;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};

/// Runs `work` while a bar shows how far it has come.
pub(crate) fn watch_import<T>(progress: &ImportProgress, quiet: bool, work: impl FnOnce() -> T) -> T {
    if quiet || !std::io::stderr().is_terminal() {
        return work();
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| show(progress, &ended));
        let result = work();
        ended.store(true, Ordering::Relaxed);
        result
    })
}

fn show(progress: &ImportProgress, ended: &AtomicBool) {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent}% {elapsed} left {eta}") {
        bar.set_style(style);
    }
    while !ended.load(Ordering::Relaxed) {
        let rows = progress.rows.load(Ordering::Relaxed);
        bar.set_length(progress.bytes_total.load(Ordering::Relaxed).max(1));
        bar.set_position(progress.bytes_done.load(Ordering::Relaxed));
        let seconds = bar.elapsed().as_secs_f64().max(0.001);
        let doing = match progress.phase.load(Ordering::Relaxed) {
            0 => "reading",
            1 => "writing files",
            _ => "writing to the ring",
        };
        bar.set_message(format!("{doing} {} rows, {}/s", HumanCount(rows), HumanCount((rows as f64 / seconds) as u64)));
        std::thread::sleep(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}

/// Time that a query runs before its progress is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs a query while a bar shows how far the procedure that it calls has come, if that tells.
pub(crate) fn watch_query<T>(interrupt: &Interrupt, work: impl FnOnce() -> T) -> T {
    watch(interrupt, "{wide_bar} step {pos} of {len} {elapsed} left {eta}", work)
}

/// Runs work that reports bytes while a bar shows how far it has come.
pub(crate) fn watch_bytes<T>(interrupt: &Interrupt, work: impl FnOnce() -> T) -> T {
    watch(interrupt, "{wide_bar} {bytes} of {total_bytes} {bytes_per_sec} left {eta}", work)
}

fn watch<T>(interrupt: &Interrupt, template: &str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| show_query(interrupt, &ended, template));
        let result = work();
        ended.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        result
    })
}

fn show_query(interrupt: &Interrupt, ended: &AtomicBool, template: &str) {
    std::thread::park_timeout(PATIENCE);
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    while !ended.load(Ordering::Relaxed) {
        let (done, total) = interrupt.progress();
        if total > 0 {
            bar.set_length(total);
            bar.set_position(done.min(total));
        }
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}
