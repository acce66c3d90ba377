//! Tests of what survives a crash, and of what fails when.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use model::platform::Disk;

use super::FaultyDisk;
use crate::simulation::MemoryDisk;

fn disks() -> (MemoryDisk, FaultyDisk) {
    let memory = MemoryDisk::new();
    memory.create_directory(Path::new("d")).unwrap();
    let faulty = FaultyDisk::new(Arc::new(memory.clone()));
    (memory, faulty)
}

fn write(disk: &FaultyDisk, path: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = disk.create(Path::new(path))?;
    file.write_all(bytes)?;
    file.sync()
}

fn bytes(disk: &MemoryDisk, path: &str) -> Option<Vec<u8>> {
    disk.read(Path::new(path)).ok()
}

#[test]
fn a_crash_keeps_what_was_synced_and_only_that() {
    let (memory, disk) = disks();
    write(&disk, "d/synced", b"one").unwrap();
    disk.sync_directory(Path::new("d")).unwrap();
    let mut open = disk.append(Path::new("d/synced"), 3).unwrap();
    open.write_all(b" and more").unwrap();
    write(&disk, "d/unnamed", b"two").unwrap();
    disk.lose_unsynced(None).unwrap();
    assert_eq!(bytes(&memory, "d/synced").unwrap(), b"one");
    assert_eq!(bytes(&memory, "d/unnamed"), None, "its name was never made durable");
    assert_eq!(open.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn names_are_undone_latest_first() {
    let (memory, disk) = disks();
    write(&disk, "d/current", b"old").unwrap();
    write(&disk, "d/gone", b"gone").unwrap();
    disk.sync_directory(Path::new("d")).unwrap();
    write(&disk, "d/new", b"new").unwrap();
    disk.rename(Path::new("d/new"), Path::new("d/current")).unwrap();
    disk.remove(Path::new("d/gone")).unwrap();
    disk.lose_unsynced(None).unwrap();
    assert_eq!(bytes(&memory, "d/current").unwrap(), b"old");
    assert_eq!(bytes(&memory, "d/gone").unwrap(), b"gone");
    assert_eq!(bytes(&memory, "d/new"), None);
}

#[test]
fn a_seed_may_keep_a_part() {
    let lengths = |seed| {
        let (memory, disk) = disks();
        write(&disk, "d/log", b"").unwrap();
        disk.sync_directory(Path::new("d")).unwrap();
        disk.append(Path::new("d/log"), 0).unwrap().write_all(&[7; 100]).unwrap();
        disk.lose_unsynced(Some(seed)).unwrap();
        bytes(&memory, "d/log").unwrap().len()
    };
    let lengths: Vec<usize> = (0..20).map(lengths).collect();
    assert!(lengths.iter().any(|length| (1..100).contains(length)), "{lengths:?}");
}

#[test]
fn faults_come_at_their_operation() {
    let (memory, disk) = disks();
    disk.fail_at(1, ErrorKind::Other);
    let mut file = disk.create(Path::new("d/f")).unwrap();
    assert_eq!(file.write(b"abcd").unwrap_err().kind(), ErrorKind::Other);
    assert_eq!(bytes(&memory, "d/f").unwrap(), b"ab", "a write that fails may be torn");
    file.write_all(b"rest").unwrap();
    disk.fill_at(disk.operation_count() + 1);
    file.write_all(b"x").unwrap();
    assert_eq!(file.write(b"y").unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(disk.create(Path::new("d/g")).err().unwrap().kind(), ErrorKind::StorageFull);
    disk.remove(Path::new("d/f")).unwrap();
    disk.mend();
    disk.create(Path::new("d/g")).unwrap();
    disk.crash_at(disk.operation_count());
    assert!(disk.sync_directory(Path::new("d")).is_err() && disk.is_down());
    assert!(disk.read(Path::new("d/g")).is_err());
}
