//! Measures what node runs and runs of key indexes cost: `node_runs DIRECTORY [ROUNDS] [FAN] [FOLD_SHARE] [--no-merge]`.
//!
//! On a million nodes with a unique key each round changes a property of random nodes and makes new ones, as one flush;
//! then all steps of compaction are taken. Told are bytes written for each byte flushed, and the time of point lookups,
//! of a property of all nodes, and of a scan by label. The directory must not exist; it is removed at the end.

use std::path::Path;
use std::sync::Arc;

use model::id::{LabelId, PropertyKeyId};
use model::platform::Platform;
use model::{Column, ColumnData, Interrupt, NodeId, Result, Value};
use storage::build::BuildConfig;
use storage::bulk::{BulkLoad, Changes, KeyRows, NodeChange, NodeRows, rewrite};
use storage::codec::hash::mix;
use storage::compact_nodes::{NodePolicy, step};
use storage::tiers::Tiers;
use storage::version::{Version, VersionEdit};

const NODES: u64 = 1 << 20;
const BATCH: u64 = 1 << 16;
const CHANGED: u64 = 100_000;
const NEW: u64 = 50_000;
const LOOKUPS: u64 = 20_000;

/// Ids and the three names of the graph, in the order in which the load makes them.
const LABEL: LabelId = LabelId(0);

struct Keys {
    id: PropertyKeyId,
    age: PropertyKeyId,
    name: PropertyKeyId,
}

fn load(base: &Arc<Version>) -> Result<Arc<Version>> {
    let mut load = BulkLoad::new(base, BuildConfig::default(), &Interrupt::new())?;
    for start in (0..NODES).step_by(BATCH as usize) {
        let ids = Column::new(ColumnData::Int((start..start + BATCH).map(|id| id as i64).collect()));
        let ages = Column::new(ColumnData::Int((start..start + BATCH).map(|id| (mix(id) % 90) as i64).collect()));
        let names: Vec<Value> = (start..start + BATCH).map(name_of).collect();
        let columns = [ages, Column::from_values(&names)];
        let key = Some(KeyRows { group: "g", property: Some("id"), values: &ids });
        let names = &["age", "name"];
        let labels = &["Person"];
        load.push_nodes(&NodeRows { count: BATCH as usize, labels, key, names, columns: &columns, origin: start })?;
    }
    load.finish()
}

fn name_of(id: u64) -> Value {
    Value::string(&format!("person number {id}"))
}

fn changes(version: &Version, keys: &Keys, round: u64) -> Changes {
    let bound = version.node_id_bound();
    let mut nodes: Vec<NodeChange> = (0..CHANGED)
        .map(|at| NodeChange {
            node: NodeId(mix(round << 32 | at) % bound),
            properties: vec![(keys.age, Value::Int((at % 90) as i64))],
            ..NodeChange::default()
        })
        .collect();
    nodes.sort_by_key(|change| change.node);
    nodes.dedup_by_key(|change| change.node);
    nodes.extend((bound..bound + NEW).map(|id| NodeChange {
        node: NodeId(id),
        labels: Some(vec![LABEL]),
        properties: vec![(keys.id, Value::Int(id as i64)), (keys.age, Value::Int(1)), (keys.name, name_of(id))],
        ..NodeChange::default()
    }));
    let mut changes = Changes::default();
    changes.schema = version.manifest().schema.clone();
    changes.node_id_bound = bound + NEW;
    changes.nodes = nodes;
    changes.wal_number = version.manifest().wal_number;
    changes.statistics = Some(version.manifest().statistics.clone());
    changes
}

/// Microseconds of one of `count` repetitions.
fn time(platform: &Platform, count: u64, mut work: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let start = platform.clock.now_ns();
    (0..count).try_for_each(&mut work)?;
    Ok((platform.clock.now_ns() - start) as f64 / 1e3 / count as f64)
}

fn reads(platform: &Platform, version: &Version, keys: &Keys) -> Result<[f64; 4]> {
    let bound = version.node_id_bound();
    let hit = time(platform, LOOKUPS, |at| {
        let value = Column::new(ColumnData::Int(vec![(mix(at) % bound) as i64]));
        let found = version.lookup(LABEL, keys.id, &value)?.and_then(|found| found[0]);
        let node = found.ok_or_else(|| model::error!(Internal, "a key was not found"))?;
        version.node_property(&[node], keys.age).map(|_| ())
    })?;
    let miss = time(platform, LOOKUPS, |at| {
        let value = Column::new(ColumnData::Int(vec![(mix(at) >> 8) as i64 | 1 << 60]));
        version.lookup(LABEL, keys.id, &value).map(|_| ())
    })?;
    let property = time(platform, 1, |_| {
        for start in (0..bound).step_by(2_048) {
            let nodes: Vec<NodeId> = (start..bound.min(start + 2_048)).map(NodeId).collect();
            version.node_property(&nodes, keys.age)?;
        }
        Ok(())
    })?;
    let mut words = Vec::new();
    let scan = time(platform, 1, |_| {
        (0..bound.div_ceil(64))
            .step_by(1_024)
            .try_for_each(|first| version.label_words(&[LABEL], first, 1_024, &mut words))
    })?;
    Ok([hit, miss, property * 1e3 / bound as f64, scan * 1e3 / bound as f64])
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, default: u64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let Some(directory) = arguments.get(1) else {
        eprintln!("usage: node_runs DIRECTORY [ROUNDS] [FAN] [FOLD_SHARE] [--no-merge]");
        return Ok(());
    };
    let directory = Path::new(directory);
    let platform = storage::os::platform();
    platform.disk.create_directory(directory).map_err(|error| model::error!(Io, "{error}"))?;
    let mut version = load(&Version::create(&platform, directory)?)?;
    let tiers = Tiers { fan: number(3, 4) as usize, ..Tiers::default() };
    let policy = NodePolicy { tiers, fold_share: number(4, 2), ..NodePolicy::default() };
    let merges = !arguments.iter().any(|text| text == "--no-merge");
    let schema = &version.manifest().schema;
    let find = |name: &str| schema.property_key(name).unwrap_or(PropertyKeyId(0));
    let keys = Keys { id: find("id"), age: find("age"), name: find("name") };
    let (config, interrupt) = (BuildConfig::default(), Interrupt::new());
    let (mut flushed, mut written) = (0, 0);
    eprintln!("round  rows/s  merge s  written/flushed  runs  index runs  hit us  miss us  property ns  scan ns");
    for round in 0..=number(2, 20) {
        let (mut flush, mut merge) = (0.0, 0.0);
        if round > 0 {
            let changes = changes(&version, &keys, round);
            flush = time(&platform, 1, |_| {
                let new = rewrite(&version, changes.clone(), &config, &interrupt)?;
                let edit = VersionEdit::difference(version.manifest(), new.manifest().clone());
                flushed += edit.node_bytes();
                written += edit.node_bytes();
                version = new;
                Ok(())
            })?;
            merge = time(&platform, 1, |_| {
                while merges && let Some(built) = step(&version, &policy, &config, &interrupt)? {
                    written += built.edit.node_bytes();
                    version = built.install(&version)?;
                }
                Ok(())
            })?;
        }
        let [hit, miss, property, scan] = reads(&platform, &version, &keys)?;
        eprintln!(
            "{round:5} {:7.0} {:8.2} {:16.2} {:5} {:11} {hit:7.2} {miss:8.2} {property:12.1} {scan:8.2}",
            (CHANGED + NEW) as f64 * 1e6 / flush,
            merge / 1e6,
            written as f64 / (flushed.max(1)) as f64,
            version.layers().runs().len(),
            version.indexes().len(),
        );
    }
    let names = platform.disk.list(directory).map_err(|error| model::error!(Io, "{error}"))?;
    drop(version);
    names.iter().for_each(|name| drop(platform.disk.remove(&directory.join(name))));
    Ok(())
}
