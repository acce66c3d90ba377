//! Salvage of stores that are damaged somewhere in a file of any kind: there is a store afterwards, its files are in order,
//! it holds nothing that was never there, and what it lacks was told.
//!
//! `SALVAGES=1500 cargo test --release -p knotwork-storage salvage` damages each kind of file so often.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::store::{Expand, NodeScan};
use model::{Column, EdgeBatch, GraphStore, Interrupt, NodeBatch, NodeId, PropertyKeyId, ReadView, Value};
use storage::check::check;
use storage::recover::recover;
use storage::{NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

use crate::vast::{self, PATH};

/// Nodes of the store.
const NODES: usize = 480;
/// Damages of each kind of file, unless `SALVAGES` says more.
const SALVAGES: usize = 14;
const NEW: &str = "/stores/new.knot";
/// Difference between the first unique number of a node and another one that it was given.
const MOVED: i64 = 1_000_000;

/// Content that was ever there, or that a salvage gave: values by node and property, sets of labels by node, values of
/// edges by type and ends. Nodes go by their first unique number.
#[derive(Default)]
struct Content {
    nodes: BTreeSet<i64>,
    labels: BTreeSet<(i64, Vec<String>)>,
    values: BTreeSet<(i64, String, String)>,
    edges: BTreeMap<(String, i64, i64), BTreeSet<String>>,
}

impl Content {
    fn read(&mut self, view: &dyn ReadView) {
        let schema = view.schema();
        let keys: Vec<PropertyKeyId> = (0..schema.property_keys.len() as u32).map(PropertyKeyId).collect();
        let uid = schema.property_key("uid");
        let scan = NodeScan { keys: keys.clone(), ..NodeScan::default() };
        let (mut cursor, mut batch) = (view.scan(&scan).unwrap(), NodeBatch::default());
        let mut numbers: BTreeMap<NodeId, i64> = BTreeMap::new();
        while cursor.next(&mut batch).unwrap() {
            let labels = view.node_labels(&batch.nodes).unwrap();
            for (row, &node) in batch.nodes.iter().enumerate() {
                let value = |key: PropertyKeyId| batch.properties[key.0 as usize].value(row);
                // A node that lost its number cannot be told from others.
                let Some(Value::Int(number)) = uid.map(value) else { continue };
                let number = number % MOVED;
                numbers.insert(node, number);
                self.nodes.insert(number);
                let mut names: Vec<String> = labels[row].iter().map(|&label| schema.label_name(label).into()).collect();
                names.sort();
                self.labels.insert((number, names));
                for &key in keys.iter().filter(|&&key| !value(key).is_null()) {
                    self.values.insert((number, schema.property_key_name(key).into(), format!("{:?}", value(key))));
                }
            }
        }
        let expand = Expand { keys: keys.clone(), ..Expand::default() };
        let nodes: Vec<NodeId> = numbers.keys().copied().collect();
        for edge_type in (0..schema.edge_types.len() as u32).map(model::EdgeTypeId) {
            let expand = Expand { types: Some(vec![edge_type]), ..expand.clone() };
            let (mut cursor, mut batch) = (view.expand(&nodes, &expand).unwrap(), EdgeBatch::default());
            while cursor.next(&mut batch).unwrap() {
                for row in 0..batch.len() {
                    let Some(&target) = numbers.get(&batch.neighbors[row]) else { continue };
                    let source = numbers[&nodes[batch.inputs[row] as usize]];
                    let values =
                        self.edges.entry((schema.edge_type_name(edge_type).into(), source, target)).or_default();
                    values.extend(texts(&keys, &batch.properties, row, schema));
                }
            }
        }
    }

    /// The first thing that is not in another.
    fn not_in(&self, truth: &Content) -> Option<String> {
        if let Some(number) = self.nodes.difference(&truth.nodes).next() {
            return Some(format!("node {number}"));
        }
        // Labels that could not be read are gone, and where a change of them is lost older ones are back.
        let is_known = |(number, labels): &&(i64, Vec<String>)| {
            let of_node = || truth.labels.range((*number, vec![])..(*number + 1, vec![]));
            labels.iter().all(|label| of_node().any(|(_, known)| known.contains(label)))
        };
        if let Some((number, labels)) = self.labels.iter().find(|labels| !is_known(labels)) {
            return Some(format!("node {number} with the labels {labels:?}"));
        }
        if let Some((number, key, value)) = self.values.difference(&truth.values).next() {
            return Some(format!("node {number} with {key} = {value}"));
        }
        self.edges.iter().find_map(|(edge, values)| match truth.edges.get(edge) {
            None => Some(format!("the edge {edge:?}")),
            Some(known) => values.difference(known).next().map(|value| format!("the edge {edge:?} with {value}")),
        })
    }
}

fn texts(keys: &[PropertyKeyId], columns: &[Column], row: usize, schema: &model::Schema) -> Vec<String> {
    let there = keys.iter().zip(columns).filter(|(_, column)| !column.is_null(row));
    there.map(|(&key, column)| format!("{} = {:?}", schema.property_key_name(key), column.value(row))).collect()
}

/// Damages a file; what was done.
fn damage(disk: &MemoryDisk, path: &Path, random: &mut SeededRandom) -> String {
    let mut bytes = disk.bytes(path).unwrap();
    let at = random.index(bytes.len());
    let end = bytes.len().min(at + [1, 64, 512, 4_096][random.index(4)]);
    let what = match random.below(6) {
        0 => {
            bytes.truncate(at);
            "cut"
        }
        1 => {
            bytes.extend_from_slice(&[7; 8]);
            "eight bytes too many"
        }
        2 => {
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
            "garbage"
        }
        3 => {
            bytes[at..end].fill(0);
            "zeros"
        }
        4 => {
            bytes.clear();
            "no byte left"
        }
        _ => {
            bytes[at] ^= 1 << random.below(8);
            "a flipped bit"
        }
    };
    disk.put(path, bytes);
    format!("{what} at byte {at} of {}", path.display())
}

#[test]
fn there_is_always_a_store_and_nothing_in_it_is_invented() {
    let seed = seed_or(101);
    let salvages = std::env::var("SALVAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(SALVAGES);
    let whole = MemoryDisk::new();
    let mut truth = Content::default();
    let on = |disk: &MemoryDisk| platform(Arc::new(disk.clone()), seed);
    vast::make_with(&on(&whole), Path::new(PATH), seed, NODES, &mut |store| truth.read(&*store.read().unwrap()));
    let mut now = Content::default();
    let store = NativeStore::open(Path::new(PATH), OpenOptions::read_only(), on(&whole)).unwrap();
    now.read(&*store.read().unwrap());
    drop(store);
    let mut files: Vec<PathBuf> = whole.files();
    files.retain(|path| !path.ends_with("LOCK") && !path.ends_with("MANIFEST.copy"));
    let mut done = 0;
    for path in &files {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("manifest");
        for number in 0..salvages as u64 {
            let mut random = SeededRandom::new(seed.wrapping_mul(1_000_003) + done);
            done += 1;
            let disk = whole.copy();
            let what = format!("FUZZ_SEED={seed}, damage {number}: {}", damage(&disk, path, &mut random));
            let damaged = disk.copy();
            let recovery = recover(&on(&disk), Path::new(PATH), Path::new(NEW), &Interrupt::new());
            let recovery = recovery.unwrap_or_else(|error| panic!("{what}: nothing is salvaged: {error}"));
            let files_now = |disk: &MemoryDisk| {
                let old = disk.files().into_iter().filter(|file| file.starts_with(PATH) && !file.ends_with("LOCK"));
                old.map(|file| disk.bytes(&file).unwrap()).collect::<Vec<_>>()
            };
            assert!(files_now(&disk) == files_now(&damaged), "{what}: the damaged store was changed");
            assert_eq!(check(&on(&disk), Path::new(NEW), &Interrupt::new()).unwrap(), [], "{what}");
            let store = NativeStore::open(Path::new(NEW), OpenOptions::read_only(), on(&disk)).unwrap();
            let mut found = Content::default();
            found.read(&*store.read().unwrap());
            assert_eq!(found.not_in(&truth), None, "{what}: {:?}", recovery.losses);
            assert!(recovery.nodes > 0, "{what}: {recovery:?}");
            let holds_nodes = ["nodes", "noderun", "wal"].contains(&extension);
            assert!(holds_nodes || now.nodes.is_subset(&found.nodes), "{what}: nodes are gone: {recovery:?}");
            // A log that was cut looks as if a crash had come before its end was written.
            let is_whole = now.not_in(&found).is_none();
            assert!(is_whole || extension == "wal" || !recovery.losses.is_empty(), "{what}: no loss is told");
        }
    }
    assert!(files.len() >= 9 && done >= 9 * salvages as u64, "{done} damages of {} files", files.len());
}
