//! Limits of the machine, which no store can pass: memory, clock, network within the machine, disk.
//!
//! Cost: two to ten seconds; memory of the largest working set; a file without a name beside the store.

use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use model::platform::Clock;
use model::{Error, Interrupt, Result};

use crate::os::{ALIGNMENT, ScratchFile, line_of, read_at};
use crate::random::Stream;

/// Words of a cache line.
const LINE_WORDS: usize = 8;
const LINE_BYTES: usize = 8 * LINE_WORDS;
/// Bytes of the smallest working set; each next one is four times as large.
const WORKING_SET_MIN: usize = 16 << 10;
/// Loads of one measurement of latency.
const LOADS: usize = 1 << 20;
/// Readings of the clock in a round, and rounds, of which the fastest counts.
const CLOCK_READINGS: u64 = 10_000;
const CLOCK_ROUNDS: usize = 10;
/// Round trips over the loopback.
const ROUND_TRIPS: usize = 2_000;
/// Bytes of one sequential read or write.
const SEQUENTIAL_BYTES: usize = 1 << 20;
const RANDOM_BYTES: usize = 4096;
const RANDOM_READS_MAX: usize = 2_000;
const SYNCS_MAX: usize = 100;
/// Time for random reads, and for syncs.
const DISK_NS_MAX: u64 = 1_000_000_000;

/// Effort of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Under a minute in all.
    Quick,
    /// A few minutes.
    Full,
}

/// Limits of the disk that holds the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskLimits {
    /// Bytes a second that are read one after the other.
    pub sequential_bytes_per_second: f64,
    /// Nanoseconds of a read of 4 KiB at a random place, half of them below.
    pub random_read_ns: f64,
    /// Nanoseconds of a write of 4 KiB and its sync, half of them below.
    pub sync_ns: f64,
    /// The way in which the page cache was avoided: `direct`, `dropped`, or `cached` if it was not.
    pub method: &'static str,
}

/// Limits of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineLimits {
    /// Name of the processor.
    pub processor: String,
    /// Threads that it runs at a time.
    pub threads: usize,
    /// Load of the last minute, before anything was measured.
    pub load: String,
    /// Nanoseconds of a look at the clock.
    pub clock_ns: f64,
    /// Bytes of a working set, and nanoseconds of a load that depends on the one before.
    pub load_ns: Vec<(usize, f64)>,
    /// Bytes a second that one thread reads from memory.
    pub memory_bytes_per_second: f64,
    /// Nanoseconds of a byte to another thread and back, over TCP within the machine.
    pub loopback_ns: Option<f64>,
    /// Limits of the disk, or the reason for which there are none.
    pub disk: std::result::Result<DiskLimits, String>,
}

/// Nanoseconds of a look at the clock.
pub fn clock_cost(clock: &dyn Clock) -> f64 {
    let round = |_| {
        let start = clock.now_ns();
        for _ in 1..CLOCK_READINGS {
            black_box(clock.now_ns());
        }
        (clock.now_ns() - start) as f64 / CLOCK_READINGS as f64
    };
    (0..CLOCK_ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// Measures the machine, and the disk that a folder is on.
///
/// # Errors
/// `CANCELLED`.
pub fn measure(folder: &Path, effort: Effort, clock: &dyn Clock, interrupt: &Interrupt) -> Result<MachineLimits> {
    let (working_set_max, file_bytes) = match effort {
        Effort::Quick => (64 << 20, 64 << 20),
        Effort::Full => (256 << 20, 256 << 20),
    };
    let load = line_of("/proc/loadavg", "").split(' ').next().unwrap_or_default().to_owned();
    let mut load_ns = Vec::new();
    let mut bytes = WORKING_SET_MIN;
    while bytes <= working_set_max {
        interrupt.check()?;
        load_ns.push((bytes, load_latency(bytes, clock)));
        bytes *= 4;
    }
    interrupt.check()?;
    let memory_bytes_per_second = bandwidth(working_set_max, clock);
    let loopback_ns = loopback(clock).ok();
    interrupt.check()?;
    let disk = disk_limits(folder, file_bytes, clock, interrupt);
    interrupt.check()?;
    Ok(MachineLimits {
        processor: line_of("/proc/cpuinfo", "model name"),
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        load,
        clock_ns: clock_cost(clock),
        load_ns,
        memory_bytes_per_second,
        loopback_ns,
        disk: disk.map_err(|cause| not_measured(folder, &cause)),
    })
}

/// A circle through all lines of a working set, in random order (Sattolo): in each line, the number of the next.
fn circle(lines: usize) -> Vec<[u64; LINE_WORDS]> {
    let stream = Stream::new(1, "working set");
    let mut order: Vec<u32> = (0..lines as u32).collect();
    for at in (1..lines).rev() {
        order.swap(at, stream.below(at as u64, at as u64) as usize);
    }
    let mut memory = vec![[0; LINE_WORDS]; lines];
    for (at, &next) in order.iter().enumerate() {
        memory[at][0] = u64::from(next);
    }
    memory
}

fn load_latency(bytes: usize, clock: &dyn Clock) -> f64 {
    let memory = circle(bytes / LINE_BYTES);
    let mut place = 0;
    let mut follow = |loads: usize| {
        for _ in 0..loads {
            place = memory[place][0] as usize;
        }
        black_box(place);
    };
    follow(memory.len().min(LOADS));
    let start = clock.now_ns();
    follow(LOADS);
    (clock.now_ns() - start) as f64 / LOADS as f64
}

fn bandwidth(bytes: usize, clock: &dyn Clock) -> f64 {
    let words = vec![1_u64; bytes / 8];
    let mut best = 0.0_f64;
    for _ in 0..4 {
        let start = clock.now_ns();
        black_box(black_box(&words).iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
        let seconds = (clock.now_ns() - start) as f64 / 1e9;
        best = best.max(bytes as f64 / seconds.max(1e-9));
    }
    best
}

fn loopback(clock: &dyn Clock) -> std::io::Result<f64> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut byte = [0];
            while far.read_exact(&mut byte).is_ok() && far.write_all(&byte).is_ok() {}
        });
        let mut times = Vec::with_capacity(ROUND_TRIPS);
        let mut trip = || -> std::io::Result<()> {
            let start = clock.now_ns();
            near.write_all(&[1])?;
            near.read_exact(&mut [0])?;
            times.push((clock.now_ns() - start) as f64);
            Ok(())
        };
        let outcome = (0..ROUND_TRIPS).try_for_each(|_| trip());
        drop(near);
        outcome.map(|()| median(&mut times))
    })
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// A part of a buffer that begins where reads past the page cache may write.
fn aligned(buffer: &mut [u8], bytes: usize) -> &mut [u8] {
    let offset = buffer.as_ptr().align_offset(ALIGNMENT);
    &mut buffer[offset..offset + bytes]
}

/// The reason for which a disk is not measured, with the whole path of the folder.
fn not_measured(folder: &Path, cause: &std::io::Error) -> String {
    let place = std::path::absolute(folder);
    Error::of_file(place.as_deref().unwrap_or(folder), cause).to_string()
}

fn disk_limits(folder: &Path, bytes: usize, clock: &dyn Clock, interrupt: &Interrupt) -> std::io::Result<DiskLimits> {
    let mut file = ScratchFile::new(folder)?;
    let mut memory = vec![0; SEQUENTIAL_BYTES + ALIGNMENT];
    let stream = Stream::new(1, "disk");
    for chunk in 0..bytes / SEQUENTIAL_BYTES {
        // A disk may take blocks of zeros, or of the same bytes, for less than they are.
        for (at, word) in memory.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&stream.at((chunk * SEQUENTIAL_BYTES + at) as u64).to_le_bytes());
        }
        file.writer.write_all(aligned(&mut memory, SEQUENTIAL_BYTES))?;
        interrupt.check().map_err(std::io::Error::other)?;
    }
    file.writer.sync_data()?;
    file.forget();
    let start = clock.now_ns();
    for chunk in 0..bytes / SEQUENTIAL_BYTES {
        read_at(&file.reader, aligned(&mut memory, SEQUENTIAL_BYTES), (chunk * SEQUENTIAL_BYTES) as u64)?;
        interrupt.check().map_err(std::io::Error::other)?;
    }
    let seconds = (clock.now_ns() - start) as f64 / 1e9;
    file.forget();
    let mut reads = Vec::new();
    let (start, blocks) = (clock.now_ns(), (bytes / RANDOM_BYTES) as u64);
    while reads.len() < RANDOM_READS_MAX && clock.now_ns() - start < DISK_NS_MAX {
        let place = stream.below(u64::MAX - reads.len() as u64, blocks) * RANDOM_BYTES as u64;
        let before = clock.now_ns();
        read_at(&file.reader, aligned(&mut memory, RANDOM_BYTES), place)?;
        reads.push((clock.now_ns() - before) as f64);
    }
    let mut syncs = Vec::new();
    let start = clock.now_ns();
    while syncs.len() < SYNCS_MAX && clock.now_ns() - start < DISK_NS_MAX {
        let before = clock.now_ns();
        file.writer.write_all(aligned(&mut memory, RANDOM_BYTES))?;
        file.writer.sync_data()?;
        syncs.push((clock.now_ns() - before) as f64);
    }
    Ok(DiskLimits {
        sequential_bytes_per_second: bytes as f64 / seconds.max(1e-9),
        random_read_ns: median(&mut reads),
        sync_ns: median(&mut syncs),
        method: file.method,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use model::Interrupt;
    use testing::simulation::CountingClock;

    use super::{Effort, aligned, circle, disk_limits, loopback, measure, median, not_measured};

    #[test]
    fn a_circle_leads_through_all_lines() {
        let memory = circle(1_000);
        let (mut place, mut steps) = (0, 0);
        loop {
            place = memory[place][0] as usize;
            steps += 1;
            if place == 0 {
                break;
            }
        }
        assert_eq!(steps, 1_000);
    }

    /// The clock is one that goes on by a microsecond at each look, so that times are numbers of looks.
    #[test]
    fn the_disk_is_measured_and_nothing_stays() {
        let folder = testing::Folder::new();
        let clock = CountingClock::default();
        let limits = disk_limits(folder.path(), 4 << 20, &clock, &Interrupt::new()).expect("the folder can be written");
        assert_eq!((limits.random_read_ns, limits.sync_ns), (1_000.0, 1_000.0));
        assert!(["direct", "dropped", "cached"].contains(&limits.method));
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
        let cancelled = Interrupt::new();
        cancelled.cancel();
        assert!(measure(folder.path(), Effort::Quick, &clock, &cancelled).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0);
        let missing = folder.path().join("missing");
        assert!(disk_limits(&missing, 1 << 20, &clock, &Interrupt::new()).is_err());
        let here = std::env::current_dir().expect("it is there");
        let told = not_measured(Path::new("."), &std::io::ErrorKind::PermissionDenied.into());
        assert_eq!(told, format!("FILE: {}: permission denied", here.display()));
    }

    #[test]
    fn small_pieces() {
        assert_eq!(loopback(&CountingClock::default()).expect("the machine has a loopback"), 1_000.0);
        assert_eq!((median(&mut [3.0, 1.0, 2.0]), median(&mut [])), (2.0, 0.0));
        let mut buffer = vec![0; 3 * 4096];
        assert_eq!(aligned(&mut buffer, 4096).as_ptr().align_offset(4096), 0);
    }
}
