//! Every form of the index answers as the plain list of nodes and degrees does.

use std::sync::Arc;

use model::platform::Disk;
use testing::random::SeededRandom;
use testing::simulation::MemoryDisk;

use super::{DENSE, DENSE_ASCENDING, PointerIndex, SPARSE, form_of};
use crate::codec::bytes::Get;
use crate::file::{FileWriter, StoreFile};
use crate::format::FileKind;

type Degrees = [(u32, u32)];

fn write(form: u8, degrees: &Degrees) -> (Arc<StoreFile>, PointerIndex) {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let directory = std::path::Path::new("/index");
    disk.create_directory(directory).unwrap();
    let mut writer = FileWriter::create(&disk, directory, FileKind::Edges, 1, 7).unwrap();
    let edges = degrees.iter().map(|(_, degree)| u64::from(*degree)).sum();
    let extent = (degrees[0].0, degrees[degrees.len() - 1].0, degrees.len(), edges);
    let written = PointerIndex::write_as(form, degrees.iter().copied(), extent, &mut writer).unwrap();
    let mut bytes = Vec::new();
    written.put(&mut bytes);
    let entry = writer.finish(&bytes).unwrap();
    let file = StoreFile::open(&disk, directory, FileKind::Edges, entry).unwrap();
    let index = PointerIndex::take(&file, &mut file.directory().unwrap()).unwrap();
    assert_eq!(index, written);
    (file, index)
}

fn check(form: u8, degrees: &Degrees) {
    let (file, index) = write(form, degrees);
    let what = format!("form {form} of {} nodes", degrees.len());
    let (mut at, mut before) = (0, 0);
    for &(node, degree) in degrees {
        let (node, end) = (u64::from(node), at + u64::from(degree));
        assert_eq!(index.run(&file, node).unwrap(), at..end, "{what}: the run of {node}");
        for position in [at, (at + end) / 2, end - 1] {
            assert_eq!(index.node_at(&file, position).unwrap(), node, "{what}: the node at {position}");
        }
        for gap in [before, node.saturating_sub(1)].into_iter().filter(|gap| (before..node).contains(gap)) {
            assert!(index.run(&file, gap).unwrap().is_empty(), "{what}: the run of {gap}");
        }
        index.will_need(&file, node);
        (at, before) = (end, node + 1);
    }
    assert!(index.run(&file, before).unwrap().is_empty(), "{what}: behind the last");
    check_runs(&file, &index, degrees, &what);
}

/// Ranges of ids give the runs of the nodes within them.
fn check_runs(file: &StoreFile, index: &PointerIndex, degrees: &Degrees, what: &str) {
    let (first, last) = index.span().unwrap();
    let (mut nodes, mut ends) = (Vec::new(), Vec::new());
    for (start, end) in [(0, last + 5), (first, first + 1), (first + 1, last), (last, last + 1), (last / 3, last / 2)] {
        let slots = index.slots(file, start..end).unwrap();
        let mut found = Vec::new();
        for slot in slots.clone().step_by(100) {
            let mut at = index.runs(file, slot..slots.end.min(slot + 100), &mut nodes, &mut ends).unwrap();
            for (&node, &end) in nodes.iter().zip(&ends) {
                found.extend((end > at).then_some((node as u32, (end - at) as u32)));
                at = end;
            }
        }
        let is_within = |(node, _): &&(u32, u32)| (start..end).contains(&u64::from(*node));
        let expected: Vec<(u32, u32)> = degrees.iter().filter(is_within).copied().collect();
        assert_eq!(found, expected, "{what}: nodes {start}..{end}");
    }
}

/// About one in `gap` ids has edges, mostly few, sometimes `hub`.
fn random(random: &mut SeededRandom, base: u32, count: usize, gap: u32, hub: u64) -> Vec<(u32, u32)> {
    let mut node = base;
    let mut next = |_| {
        node += 1 + random.below(u64::from(2 * gap - 1)) as u32;
        let most = if random.below(50) == 0 { hub } else { 4 };
        (node, 1 + random.below(most) as u32)
    };
    (0..count).map(&mut next).collect()
}

#[test]
fn all_forms_find_runs_and_nodes() {
    let seed = 20_261_122;
    let mut source = SeededRandom::new(seed);
    for count in [1, 2, 63, 64, 65, 129, 1_000, 3_000] {
        for (gap, hub) in [(1, 4), (1, 100_000), (3, 1_000), (100, 50_000)] {
            let degrees = random(&mut source, 1_000 * (gap - 1), count, gap, hub);
            [DENSE, DENSE_ASCENDING, SPARSE].into_iter().for_each(|form| check(form, &degrees));
        }
    }
    // One node has nearly all edges, at either end.
    let many: Vec<(u32, u32)> = (0..500).map(|node| (node, 1)).collect();
    for form in [DENSE, DENSE_ASCENDING, SPARSE] {
        check(form, &[&[(0, u32::MAX)], &many[1..]].concat());
        check(form, &[&many[..499], &[(100_000, u32::MAX)]].concat());
    }
}

#[test]
fn sizes_decide_the_form() {
    for (span, count, edges, expected) in [
        (1, 1, 1, DENSE),
        (1 << 20, 550_000, 1 << 24, DENSE),
        (1 << 20, 190_000, 1_000_000, DENSE_ASCENDING),
        (1 << 20, 10_000, 14_000, SPARSE),
        (41_652_230, 36_447_479, 1_547_492_895, DENSE_ASCENDING),
    ] {
        assert_eq!(form_of(span, count, edges), expected, "{count} of {span} nodes, {edges} edges");
    }
}

#[test]
fn wrong_bytes_are_errors_and_never_panics() {
    let mut source = SeededRandom::new(7);
    let degrees = random(&mut source, 10, 700, 5, 1_000);
    for form in [DENSE, DENSE_ASCENDING, SPARSE] {
        let (file, index) = write(form, &degrees);
        let mut directory = Vec::new();
        index.put(&mut directory);
        for _ in 0..400 {
            let mut bytes = directory.clone();
            let at = source.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << source.below(8);
            let Ok(index) = PointerIndex::take(&file, &mut Get::new(&bytes, file.path(), 0)) else { continue };
            // Only that it comes back counts: the bytes are those of another index.
            (0..4_000).step_by(37).for_each(|node| drop(index.run(&file, node)));
            (0..index.edges().min(2_000)).step_by(37).for_each(|position| drop(index.node_at(&file, position)));
        }
    }
}
