//! Execution modes: where the graph and the state of its nodes lie while an algorithm runs, and how much of the machine
//! a run uses.

/// The place of the graph and of the state of its nodes while an algorithm runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Execution {
    /// Both in memory: edges as compressed sparse rows.
    Memory,
    /// The state of nodes in memory, edges streamed from the store.
    Streaming,
    /// The state of nodes and of edges on disk, one interval of nodes in memory at a time.
    Windows,
    /// Both in another program, for which the edges are written as tables; see [`crate::algorithm::JobOf`].
    Spark,
}

impl Execution {
    /// Its name as settings and results have it.
    pub fn name(self) -> &'static str {
        match self {
            Execution::Memory => "memory",
            Execution::Streaming => "streaming",
            Execution::Windows => "windows",
            Execution::Spark => "spark",
        }
    }

    /// Every one of this process, the fastest first: those that are chosen where none is named.
    pub const ALL: [Execution; 3] = [Execution::Memory, Execution::Streaming, Execution::Windows];
}

/// Bytes of one interval of nodes and its windows, with their buffers, where there are as many.
const WINDOW_BYTES: u64 = 16 << 20;
/// Buffers of one thread that streams, for each side that it may ask for, where there is memory.
const STREAM_BYTES: u64 = 8 << 20;
/// The least of them: what unpacks the runs of a partition, and a row.
const STREAM_BYTES_MIN: u64 = 1 << 20;

/// The threads and buffers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Threads.
    pub threads: usize,
    /// Bytes of the buffers of one thread that streams, for each side that it may ask for.
    pub buffer_bytes: u64,
    /// True if state that is accessed only in order lies in temporary files.
    pub spills: bool,
    /// In windows, bytes of one interval of nodes and its windows at the least: what is free beyond them is used too.
    pub window_bytes: u64,
}

impl Pace {
    /// The pace of `threads` threads, as fast as they can.
    pub fn full(threads: usize) -> Pace {
        Pace { threads, buffer_bytes: STREAM_BYTES, spills: false, window_bytes: WINDOW_BYTES }
    }

    /// The paces at which a way can be gone, the fastest first; `spills` if the algorithm gains from it.
    pub(crate) fn all(execution: Execution, threads: usize, spills: bool) -> Vec<Pace> {
        let full = Pace::full(threads);
        let with = |buffer_bytes: u64| Pace { buffer_bytes, ..full };
        let smaller = [STREAM_BYTES, STREAM_BYTES / 2, STREAM_BYTES / 4].map(with);
        let fewer = std::iter::successors(Some(threads), |&threads| (threads > 1).then_some(threads / 2));
        match execution {
            Execution::Memory | Execution::Spark => vec![full],
            Execution::Streaming => {
                // Spilled state gains more from cached blocks of the store than from larger buffers.
                let least = fewer.map(|threads| Pace { threads, buffer_bytes: STREAM_BYTES_MIN, spills, ..full });
                let spilled = spills.then_some(Pace { spills, ..with(STREAM_BYTES / 4) });
                smaller.into_iter().chain(spilled).chain(least).collect()
            }
            Execution::Windows => {
                let least = with(STREAM_BYTES_MIN);
                let windows = [WINDOW_BYTES, WINDOW_BYTES / 2, WINDOW_BYTES / 4, WINDOW_BYTES / 16];
                let narrower = windows.map(|window_bytes| Pace { window_bytes, ..least });
                smaller.into_iter().chain(narrower).collect()
            }
        }
    }
}
