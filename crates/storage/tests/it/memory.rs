//! The memory limit: blocks of files are given back, come back verified, and the process holds no more of them than said.

use std::io::{Seek, SeekFrom, Write};

use model::batch::EdgeRuns;
use model::store::{EdgeIds, EdgePartitions, EdgeRunCursor, NewEdges, NewNodes, RunScan};
use model::{Column, ColumnData, Consumer, Direction, ErrorCode, Expand, GraphStore, Interrupt, NodeId, ReadView};
use storage::{Durability, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};

use crate::directory::TestDirectory;

const NODES: usize = 40_000;
const LIMIT: usize = 512 << 10;

fn number(node: u64) -> i64 {
    (node as i64).wrapping_mul(0x5851_f42d_4c95_7f2d)
}

/// A store in files, much larger than the limit: nodes with a number and a string, each with three edges.
fn build(directory: &TestDirectory) {
    let store = directory.open_with(OpenOptions { durability: Durability::Off, ..OpenOptions::create() });
    let mut transaction = store.write().unwrap();
    let keys = ["number", "text"].map(|name| transaction.property_key(name).unwrap());
    let edge_type = transaction.edge_type("E").unwrap();
    let texts: Vec<String> = (0..NODES).map(|node| format!("{node} {}", "x".repeat(node % 50))).collect();
    let columns = [
        Column::new(ColumnData::Int((0..NODES as u64).map(number).collect())),
        Column::new(ColumnData::String(texts.iter().map(String::as_str).collect())),
    ];
    let new = NewNodes { count: NODES, labels: &[], keys: &keys, properties: &columns };
    let nodes = transaction.create_nodes(&new).unwrap();
    let sources: Vec<NodeId> = nodes.iter().flat_map(|&node| [node; 3]).collect();
    let targets: Vec<NodeId> = (0..3 * NODES).map(|edge| nodes[edge * 7_919 % NODES]).collect();
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
}

fn open_small(directory: &TestDirectory) -> NativeStore {
    directory.open_with(OpenOptions { memory_bytes_max: Some(LIMIT), ..OpenOptions::read_only() })
}

/// Reads the properties and the neighbours of nodes, and compares them with what was written.
fn read(view: &dyn ReadView, nodes: &[NodeId]) -> model::Result<()> {
    let keys: Vec<_> = ["number", "text"].iter().map(|name| view.schema().property_key(name).unwrap()).collect();
    let columns = view.node_properties(nodes, &keys)?;
    let (ColumnData::Int(numbers), ColumnData::String(texts)) = (&columns[0].data, &columns[1].data) else {
        panic!("unexpected kinds of columns")
    };
    for (row, node) in nodes.iter().enumerate() {
        assert_eq!(numbers[row], number(node.0));
        assert!(texts.get(row).starts_with(&format!("{} ", node.0)));
    }
    let expand = Expand { direction: Direction::Out, edge_ids: EdgeIds::Omit, ..Expand::default() };
    let (mut cursor, mut batch) = (view.expand(nodes, &expand)?, model::EdgeBatch::default());
    let mut found = 0;
    while cursor.next(&mut batch)? {
        for (input, neighbor) in batch.inputs.iter().zip(&batch.neighbors) {
            let from = nodes[*input as usize].0 as usize;
            assert!((0..3).any(|edge| (from * 3 + edge) * 7_919 % NODES == neighbor.0 as usize));
        }
        found += batch.len();
    }
    assert_eq!(found, nodes.len() * 3);
    Ok(())
}

/// KiB of the files of a directory that this process has mapped and in memory; `None` where that cannot be told.
fn mapped_kib(directory: &TestDirectory) -> Option<usize> {
    let text = String::from_utf8(directory.disk().read("/proc/self/smaps".as_ref()).ok()?).ok()?;
    let path = directory.path().to_str()?;
    let (mut is_ours, mut sum) = (false, 0);
    for line in text.lines() {
        match line.strip_prefix("Rss:") {
            Some(rss) if is_ours => sum += rss.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?,
            None if line.contains('-') && line.contains(" r") => is_ours = line.contains(path),
            _ => {}
        }
    }
    Some(sum)
}

#[test]
fn the_limit_is_obeyed_by_mapped_files() {
    let seed = seed_or(71);
    let mut random = SeededRandom::new(seed);
    let directory = TestDirectory::new();
    build(&directory);
    let store = open_small(&directory);
    let view = store.read().unwrap();
    let mut most = 0;
    for round in 0..60 {
        let nodes: Vec<NodeId> = (0..[1, 10, 1_000][round % 3]).map(|_| NodeId(random.below(NODES as u64))).collect();
        read(&*view, &nodes).unwrap();
        most = most.max(mapped_kib(&directory).unwrap_or(0));
    }
    let (cache, held) = (store.cache_statistics(), store.memory().used_by(Consumer::OpenFiles));
    assert!(cache.evictions > 100 && cache.misses > 100, "seed {seed}: {cache:?}");
    assert!(cache.bytes as usize <= LIMIT, "seed {seed}: {cache:?}");
    assert!(held > 0 && held < LIMIT / 4, "{held} bytes of open files");
    if mapped_kib(&directory).is_none() {
        eprintln!("this system does not tell what is mapped: only the count was checked");
    }
    // Beside the counted blocks there are the ends of the files, and pages that the kernel maps with a neighbour.
    assert!(most <= (LIMIT + LIMIT / 2) >> 10, "seed {seed}: {most} KiB mapped, the limit is {} KiB", LIMIT >> 10);
}

#[test]
fn a_block_that_is_damaged_while_it_is_away_is_noticed() {
    let directory = TestDirectory::new();
    build(&directory);
    let store = open_small(&directory);
    let view = store.read().unwrap();
    let all: Vec<NodeId> = (0..NODES as u64).map(NodeId).collect();
    all.chunks(500).for_each(|nodes| read(&*view, nodes).unwrap());
    let names = directory.disk().list(directory.path()).unwrap();
    let lengths = names
        .iter()
        .filter(|name| !name.ends_with(".wal"))
        .map(|name| (directory.disk().length(&directory.path().join(name)).unwrap(), directory.path().join(name)));
    let (length, path) = lengths.max().unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(length / 3)).unwrap();
    file.write_all(b"not what was written").unwrap();
    let error = all.chunks(500).find_map(|nodes| read(&*view, nodes).err()).expect("the damage is noticed");
    assert_eq!(error.code(), ErrorCode::Corrupt);
    assert!(error.message().contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
}

#[test]
fn blocks_make_room_for_others() {
    let directory = TestDirectory::new();
    build(&directory);
    let store = open_small(&directory);
    let all: Vec<NodeId> = (0..NODES as u64).map(NodeId).collect();
    all.chunks(500).for_each(|nodes| read(&*store.read().unwrap(), nodes).unwrap());
    let before = store.cache_statistics().bytes as usize;
    assert!(before > LIMIT / 2, "{before}");
    let held = store.memory().reserve(Consumer::Query, LIMIT * 3 / 4).unwrap();
    assert!(store.cache_statistics().bytes as usize <= LIMIT / 4);
    let refused = store.memory().reserve(Consumer::Sort, LIMIT).unwrap_err();
    assert!(refused.message().starts_with("sort asked for 512.0 KiB"), "{refused}");
    all.chunks(500).for_each(|nodes| read(&*store.read().unwrap(), nodes).unwrap());
    assert!(store.memory().used() <= LIMIT + (64 << 10), "{:?}", store.memory().usage());
    drop(held);
}

/// Bytes that a pass over all runs of a direction asks of the disk.
fn pass(store: &NativeStore, direction: Direction) -> u64 {
    let (view, before) = (store.read().unwrap(), store.cache_statistics());
    let (partitions, scan) = (view.edge_partitions().unwrap(), RunScan { direction, ..RunScan::default() });
    let (mut runs, mut edges) = (EdgeRuns::default(), 0);
    for partition in 0..partitions.count() {
        let mut cursor = partitions.runs(partition, &scan).unwrap();
        while cursor.next(&mut runs).unwrap() {
            edges += runs.neighbors.len();
            let now = store.cache_statistics();
            assert!(now.bytes <= now.bytes_max + (64 << 10), "{} of {} bytes are held", now.bytes, now.bytes_max);
        }
    }
    assert_eq!(edges, 3 * NODES);
    store.cache_statistics().bytes_read - before.bytes_read
}

#[test]
fn a_pass_finds_what_the_one_before_it_left() {
    let directory = TestDirectory::new();
    build(&directory);
    let options = OpenOptions { memory_bytes_max: Some(300 << 10), ..OpenOptions::read_only() };
    let store = directory.open_with(options);
    for direction in [Direction::Out, Direction::In] {
        let first = pass(&store, direction);
        for _ in 0..11 {
            pass(&store, direction);
        }
        let last = pass(&store, direction);
        let held = store.cache_statistics().bytes_max;
        assert!(held < first, "the test needs less memory: {held} bytes for {first}");
        assert!(last < first - held / 2, "{last} bytes read by a pass of {first}, {held} may be held");
    }
}

const DENSE_NODES: u64 = 30_000;
const DENSE_EDGES: u64 = 900_000;

/// A store of edges, most of it: 1.7 MB for each direction.
fn build_dense(directory: &TestDirectory) {
    let store = directory.open_with(OpenOptions { durability: Durability::Off, ..OpenOptions::create() });
    let mut transaction = store.write().unwrap();
    let edge_type = transaction.edge_type("E").unwrap();
    let new = NewNodes { count: DENSE_NODES as usize, labels: &[], keys: &[], properties: &[] };
    let nodes = transaction.create_nodes(&new).unwrap();
    let ends = |step: u64| (0..DENSE_EDGES).map(move |edge| edge * step % DENSE_NODES);
    let sources: Vec<NodeId> = ends(1).map(|node| nodes[node as usize]).collect();
    let targets: Vec<NodeId> = ends(7_919).map(|node| nodes[(node + 1) as usize % nodes.len()]).collect();
    let new = NewEdges { edge_type, sources: &sources, targets: &targets, keys: &[], properties: &[] };
    transaction.create_edges(&new).unwrap();
    transaction.commit().unwrap();
    store.checkpoint(&Interrupt::new()).unwrap();
}

/// A pass over the runs of a partition, part by part, that is moved on by hand.
struct Pass<'a> {
    partitions: &'a dyn EdgePartitions,
    parts: std::slice::Iter<'a, RunScan<'a>>,
    cursor: Option<Box<dyn EdgeRunCursor + 'a>>,
    edges: u64,
}

impl Pass<'_> {
    /// Reads another block; false at the end.
    fn step(&mut self) -> bool {
        let mut runs = EdgeRuns::default();
        loop {
            if let Some(cursor) = &mut self.cursor
                && cursor.next(&mut runs).unwrap()
            {
                self.edges += runs.neighbors.len() as u64;
                return true;
            }
            let Some(scan) = self.parts.next() else { return false };
            self.cursor = Some(self.partitions.runs(0, scan).unwrap());
        }
    }
}

/// Bytes that the last of some passes asks of the disk, read by `readers` readers of which each is some blocks behind
/// the one before, and which know of each other or not.
fn passes(directory: &TestDirectory, direction: Direction, readers: usize, are_known: bool) -> u64 {
    let options = OpenOptions { memory_bytes_max: Some(1 << 20), ..OpenOptions::read_only() };
    let store = directory.open_with(options);
    let view = store.read().unwrap();
    let partitions = view.edge_partitions().unwrap();
    assert_eq!(partitions.count(), 1);
    let others = if are_known { readers as u8 - 1 } else { 0 };
    let parts: Vec<RunScan<'_>> = (0..DENSE_NODES)
        .step_by(DENSE_NODES as usize / 10)
        .map(|start| {
            let nodes = Some(start..start + DENSE_NODES / 10);
            RunScan { direction, nodes, others, ..RunScan::default() }
        })
        .collect();
    let mut last = 0;
    for _ in 0..8 {
        let before = store.cache_statistics().bytes_read;
        let new = || Pass { partitions, parts: parts.iter(), cursor: None, edges: 0 };
        let mut all: Vec<Pass<'_>> = (0..readers).map(|_| new()).collect();
        let mut is_under_way = true;
        for round in 0.. {
            if !is_under_way {
                break;
            }
            is_under_way = false;
            for (reader, pass) in all.iter_mut().enumerate() {
                // Each begins two blocks after the one before it.
                is_under_way |= round < 2 * reader || pass.step();
            }
            let (now, slack) = (store.cache_statistics(), (64 << 10) * readers as u64);
            assert!(now.bytes <= now.bytes_max + slack, "{} of {} bytes are held", now.bytes, now.bytes_max);
        }
        assert!(all.iter().all(|pass| pass.edges == DENSE_EDGES));
        last = store.cache_statistics().bytes_read - before;
    }
    last
}

#[test]
fn passes_that_know_of_each_other_read_once() {
    let directory = TestDirectory::new();
    build_dense(&directory);
    for direction in [Direction::Out, Direction::In] {
        let alone = passes(&directory, direction, 1, true);
        assert!(alone > 500 << 10, "the test needs less memory: {alone} bytes read");
        let unknown = passes(&directory, direction, 2, false);
        for readers in [2, 3] {
            let known = passes(&directory, direction, readers, true);
            let text =
                format!("{direction:?}: {alone} bytes read by one, {known} by {readers}, {unknown} by two strangers");
            // Blocks that wait for passes behind take the room of those that would be found again.
            assert!(known < alone * 3 / 2 && known < unknown, "{text}");
        }
    }
}

/// Names stay in memory as long as the store is open: first as writes, then beside the files.
#[test]
fn names_count_against_the_limit() {
    const NAMES: usize = 20_000;
    const NAME: &str = "a property of which there are thousands";
    let least = NAMES * NAME.len();
    let directory = TestDirectory::new();
    let much = OpenOptions { memory_bytes_max: Some(1 << 30), ..OpenOptions::create() };
    let store = directory.open_with(OpenOptions { durability: Durability::Off, ..much });
    let used = |store: &NativeStore| store.memory().used_by(Consumer::OpenFiles);
    let before = used(&store);
    let mut transaction = store.write().unwrap();
    for number in 0..NAMES {
        transaction.property_key(&format!("{NAME} {number}")).unwrap();
    }
    transaction.commit().unwrap();
    assert!(store.memtable_bytes() > least, "{} bytes are counted as writes", store.memtable_bytes());
    let held = store.memory().used_by(Consumer::Memtable);
    assert!(held > least, "{held} bytes are counted as held");
    store.checkpoint(&Interrupt::new()).unwrap();
    assert!(used(&store) > before + least, "{before} bytes were counted before, {} are now", used(&store));
    drop(store);
    // A store whose names take more than its limit keeps but a few blocks of its files.
    let store = open_small(&directory);
    assert!(used(&store) > least && used(&store) > LIMIT, "{} bytes are counted", used(&store));
    assert!(store.memory().cache_bytes_max() < LIMIT / 4, "blocks give way to names");
    assert_eq!(store.read().unwrap().schema().property_keys.len(), NAMES);
}
