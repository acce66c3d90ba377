//! The canary: readers that lack a check. They read files as a store does, and believe what the trailer says about where the
//! directory is; a harness that does not find each of them would not find a check that the store lacks either.

use std::hint::black_box;
use std::path::Path;

use storage::format::{FileKind, TRAILER_BYTES};
use testing::simulation::MemoryDisk;

use crate::case::blocks::word;
use crate::case::reads::Outcomes;

/// Reads the stores of all cases.
pub type Reader = fn(&MemoryDisk, &Path) -> Outcomes;

/// A reader that lacks a check.
pub struct Careless {
    /// The name by which a process is told to use it.
    pub name: &'static str,
    /// The words with which the harness tells of it.
    pub told: &'static str,
    /// The reader.
    pub reader: Reader,
}

/// All of them.
pub const CARELESS: [Careless; 4] = [
    Careless { name: "beyond the end", told: "a panic, see above", reader: beyond_the_end },
    Careless { name: "too much memory", told: "bytes were held", reader: too_much_memory },
    Careless { name: "all of the memory", told: "wants too much memory", reader: all_of_the_memory },
    Careless { name: "no end", told: "does not end", reader: no_end },
];

/// Calls `read` with the bytes of each file of blocks, and the start and length of its directory.
fn with_directories(disk: &MemoryDisk, store: &Path, read: impl Fn(&[u8], usize, usize)) -> Outcomes {
    let is_of_blocks = |path: &Path| {
        let kind = path.file_name().and_then(|name| FileKind::parse(name.to_str()?));
        kind.is_some_and(|(kind, _)| kind != FileKind::Wal)
    };
    for path in disk.files().into_iter().filter(|path| path.parent() == Some(store) && is_of_blocks(path)) {
        let bytes = disk.bytes(&path).unwrap();
        let trailer = &bytes[bytes.len() - TRAILER_BYTES..];
        read(&bytes, word(trailer, 0) as usize, word(trailer, 8) as usize);
    }
    Outcomes::new()
}

fn beyond_the_end(disk: &MemoryDisk, store: &Path) -> Outcomes {
    with_directories(disk, store, |bytes, start, length| {
        black_box(&bytes[start..start.wrapping_add(length)]);
    })
}

fn too_much_memory(disk: &MemoryDisk, store: &Path) -> Outcomes {
    with_directories(disk, store, |_, _, length| {
        black_box(Vec::<u8>::with_capacity(length.min(1 << 30)));
    })
}

fn all_of_the_memory(disk: &MemoryDisk, store: &Path) -> Outcomes {
    with_directories(disk, store, |_, _, length| {
        black_box(Vec::<u8>::with_capacity(length.min(isize::MAX as usize)));
    })
}

fn no_end(disk: &MemoryDisk, store: &Path) -> Outcomes {
    with_directories(disk, store, |_, _, length| {
        (0..length).for_each(|at| {
            black_box(at);
        });
    })
}
