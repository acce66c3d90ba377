//! Random changes of nodes as many runs, merges and folds, against a model that anyone can read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use model::{Column, Constraint, Interrupt, LabelId, NodeId, PropertyKeyId, Schema, Set, Value};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{MemoryDisk, platform};

use super::{NodeJob, NodePolicy, run};
use crate::build::BuildConfig;
use crate::bulk::{BulkLoad, Changes, KeyRows, NodeChange, NodeRows, OnDuplicate, rewrite};
use crate::check::check;
use crate::tiers::Tiers;
use crate::version::Version;

const LABELS: u32 = 4;
const KEYS: u32 = 4;
/// Label 0 and key 0 are unique together, as are label 1 and key 1.
const UNIQUE: u32 = 2;

#[derive(Clone, Debug, Default, PartialEq)]
struct ModelNode {
    labels: Vec<LabelId>,
    properties: BTreeMap<PropertyKeyId, Value>,
}

type Model = BTreeMap<u64, ModelNode>;

/// A store with its model, changed at random.
struct Subject {
    random: SeededRandom,
    version: Arc<Version>,
    model: Model,
    bound: u64,
    /// For each constraint the values that were taken since the last change began.
    taken: Vec<Set<Value>>,
}

impl Subject {
    fn new(seed: u64) -> Subject {
        let platform = platform(Arc::new(MemoryDisk::new()), seed);
        let directory = Path::new("store.knot");
        platform.disk.create_directory(directory).unwrap();
        let version = Version::create(&platform, directory).unwrap();
        Subject { random: SeededRandom::new(seed), version, model: Model::new(), bound: 0, taken: Vec::new() }
    }

    fn schema(&mut self) -> Schema {
        let mut schema = self.version.manifest().schema.clone();
        for number in 0..LABELS.max(KEYS) {
            schema.labels.intern(&format!("L{number}"));
            schema.property_keys.intern(&format!("k{number}"));
        }
        for number in 0..UNIQUE {
            let (label, key) = (LabelId(number), PropertyKeyId(number));
            let at = schema.constraints.iter().position(|constraint| constraint.lookup_key() == Some((label, key)));
            match at {
                // A constraint goes now and then, and comes back.
                Some(at) if self.random.chance(3) => drop(schema.constraints.remove(at)),
                None if self.random.chance(60) && self.is_unique(number) => {
                    schema.constraints.push(Constraint::unique(format!("c{number}"), label, key));
                }
                _ => {}
            }
        }
        schema
    }

    fn is_unique(&self, number: u32) -> bool {
        let mut values: Vec<&Value> = self.values_of(number).collect();
        let count = values.len();
        values.sort();
        values.dedup();
        values.len() == count
    }

    fn values_of(&self, number: u32) -> impl Iterator<Item = &Value> {
        let nodes = self.model.values().filter(move |node| node.labels.contains(&LabelId(number)));
        nodes.filter_map(move |node| node.properties.get(&PropertyKeyId(number)))
    }

    fn value(&mut self, key: u32, is_free: bool) -> Value {
        let random = &mut self.random;
        if random.chance(20) {
            return Value::Null;
        }
        if key < UNIQUE {
            // Few values, so that they move from node to node; floats that equal integers among them.
            let wish = random.below(2_000) as i64;
            let value = if random.chance(10) { Value::Float(wish as f64) } else { Value::Int(wish) };
            let is_free = is_free && self.taken[key as usize].insert(value.clone());
            return if is_free { value } else { Value::Null };
        }
        match random.below(5) {
            0 => Value::string(&format!("text {}", random.below(50))),
            1 => Value::Float(random.unit()),
            2 => Value::list(vec![Value::Int(1), Value::Bool(true)]),
            _ => Value::Int(random.below(1 << 40) as i64),
        }
    }

    fn change(&mut self) {
        let schema = self.schema();
        self.taken = (0..UNIQUE).map(|number| self.values_of(number).cloned().collect()).collect();
        let mut changes: BTreeMap<u64, NodeChange> = BTreeMap::new();
        // New ids after a gap, now and then a large one: over groups and segments.
        self.bound += match self.random.below(12) {
            0 => 1 << 19,
            1 => 70_000,
            2..6 => self.random.below(9),
            _ => 0,
        };
        let count = if self.random.chance(20) { 6_000 } else { self.random.below(300) };
        for _ in 0..count {
            let id = self.bound;
            self.bound += 1;
            if self.random.chance(95) {
                self.model.insert(id, ModelNode::default());
                self.touch(id, true, &mut changes);
            }
        }
        let ids: Vec<u64> = self.model.keys().copied().collect();
        for _ in 0..if ids.is_empty() { 0 } else { self.random.below(400) } {
            let id = ids[self.random.index(ids.len())];
            if self.model.contains_key(&id) {
                self.touch(id, false, &mut changes);
            }
        }
        let changes = Changes {
            schema,
            node_id_bound: self.bound,
            nodes: changes.into_values().collect(),
            wal_number: self.version.manifest().wal_number,
            ..Changes::default()
        };
        self.version = rewrite(&self.version, changes, &BuildConfig::default(), &Interrupt::new()).unwrap();
    }

    fn touch(&mut self, id: u64, is_new: bool, changes: &mut BTreeMap<u64, NodeChange>) {
        let mut change =
            changes.remove(&id).unwrap_or_else(|| NodeChange { node: NodeId(id), ..NodeChange::default() });
        if !is_new && self.random.chance(5) {
            self.model.remove(&id);
            changes.insert(id, NodeChange { is_deleted: true, ..change });
            return;
        }
        if is_new || self.random.chance(30) {
            let labels: Vec<LabelId> = (0..LABELS).filter(|_| self.random.chance(40)).map(LabelId).collect();
            let old = self.model[&id].clone();
            // A label does not come to a node whose value is taken there.
            let taken = &mut self.taken;
            let mut is_free = |label: &LabelId| {
                let value = old.properties.get(&PropertyKeyId(label.0)).filter(|_| label.0 < UNIQUE);
                old.labels.contains(label) || value.is_none_or(|value| taken[label.0 as usize].insert(value.clone()))
            };
            let labels: Vec<LabelId> = labels.into_iter().filter(&mut is_free).collect();
            change.labels = Some(labels.iter().rev().copied().collect());
            self.model.get_mut(&id).unwrap().labels = labels;
        }
        for key in 0..KEYS {
            if self.random.chance(30) {
                let is_free = self.model[&id].labels.contains(&LabelId(key)) || key >= UNIQUE;
                let value = self.value(key, is_free);
                let properties = &mut self.model.get_mut(&id).unwrap().properties;
                if value.is_null() {
                    properties.remove(&PropertyKeyId(key));
                } else {
                    properties.insert(PropertyKeyId(key), value.clone());
                }
                change.properties.push((PropertyKeyId(key), value));
            }
        }
        changes.insert(id, change);
    }

    /// Loads nodes at the end of the last segment, and updates some that are there.
    fn load(&mut self) {
        // So little memory that updates become runs before the end.
        let config = BuildConfig { on_duplicate: OnDuplicate::Update, memory_bytes: 1 << 19, ..BuildConfig::default() };
        let mut load = BulkLoad::unchecked(&self.version, config, &Interrupt::new());
        let count = 1_500;
        for batch in 0..2 {
            let name = self.version.manifest().schema.property_keys.name(3).cloned().unwrap_or_else(|| "k3".into());
            let values: Vec<Value> = (0..count).map(|at| Value::Int(at + batch * 1_000)).collect();
            let keys: Vec<Value> = (0..count).map(|at| Value::Int(at % 40)).collect();
            let keys = Column::from_values(&keys);
            let key = Some(KeyRows { group: "g", property: None, values: &keys });
            let columns = [Column::from_values(&values)];
            let names: &[&str] = &[&name];
            let rows = NodeRows { count: count as usize, labels: &["L2"], key, names, columns: &columns, origin: 0 };
            let added = load.push_nodes(&rows).unwrap();
            for (node, value) in added.nodes.iter().zip(values) {
                let node = self.model.entry(node.unwrap().0).or_default();
                node.labels = vec![LabelId(2)];
                node.properties.insert(PropertyKeyId(3), value);
            }
        }
        self.version = load.finish().unwrap();
        self.bound = self.version.node_id_bound();
    }

    /// Takes a step of compaction, whose edit is applied after further changes at times.
    fn compact(&mut self) -> Option<NodeJob> {
        let random = &mut self.random;
        let tiers = Tiers { fan: 2 + random.index(2), least_bytes: 1 << random.below(15), runs_max: 4 };
        let policy = NodePolicy {
            tiers,
            fold_bytes_min: 1 << random.below(22),
            fold_share: 1 + random.below(4),
            fold_segments_max: 1 + random.index(2),
        };
        let job = policy.pick(&self.version).unwrap()?;
        let built = run(&self.version, &job, &BuildConfig::default(), &Interrupt::new()).unwrap();
        match self.random.below(4) {
            0 | 1 => self.change(),
            2 => self.load(),
            _ => {}
        }
        self.version = built.install(&self.version).unwrap();
        Some(job)
    }
}

fn assert_same(version: &Version, model: &Model, name: &str) {
    let bound = version.node_id_bound();
    // All nodes that are there, and some that are not.
    let mut ids: Vec<u64> = model.keys().flat_map(|&id| [id.saturating_sub(1), id, id + 1]).collect();
    ids.extend([0, bound, bound + 1, 1 << 31]);
    ids.sort_unstable();
    ids.dedup();
    let nodes: Vec<NodeId> = ids.iter().rev().map(|&id| NodeId(id)).collect();
    let exist = version.nodes_exist(&nodes).unwrap();
    let labels = version.node_labels(&nodes).unwrap();
    let has: Vec<_> = (0..LABELS).map(|label| version.has_label(&nodes, LabelId(label)).unwrap()).collect();
    let keys: Vec<PropertyKeyId> = (0..KEYS).map(PropertyKeyId).collect();
    let columns = version.node_properties(&nodes, &keys).unwrap();
    for (row, node) in nodes.iter().enumerate() {
        let expected = model.get(&node.0);
        assert_eq!(exist.get(row), expected.is_some(), "{name}: node {}", node.0);
        let expected = expected.cloned().unwrap_or_default();
        assert_eq!(labels[row], expected.labels, "{name}: node {}", node.0);
        for label in 0..LABELS {
            let expected = expected.labels.contains(&LabelId(label));
            assert_eq!(has[label as usize].get(row), expected, "{name}: label {label} of {}", node.0);
        }
        for (&key, column) in keys.iter().zip(&columns) {
            let expected = expected.properties.get(&key).cloned().unwrap_or_default();
            assert_eq!(column.value(row), expected, "{name}: {key:?} of {}", node.0);
        }
    }
    assert_scans(version, model, name);
    assert_lookups(version, model, name);
    let statistics = &version.manifest().statistics;
    assert_eq!(statistics.nodes, model.len() as u64, "{name}");
    for label in (0..LABELS).map(LabelId) {
        let expected = model.values().filter(|node| node.labels.contains(&label)).count() as u64;
        assert_eq!(statistics.label(label), expected, "{name}: {label:?}");
    }
}

fn assert_scans(version: &Version, model: &Model, name: &str) {
    let mut words = Vec::new();
    for labels in [&[][..], &[LabelId(1)], &[LabelId(0), LabelId(2)]] {
        let mut found = Vec::new();
        let step = 1_500;
        for first in (0..version.node_id_bound().div_ceil(64)).step_by(step) {
            version.label_words(labels, first, step, &mut words).unwrap();
            for (index, word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
                let bits = (0..64).filter(|bit| word >> bit & 1 == 1);
                found.extend(bits.map(|bit| (first + index as u64) * 64 + bit));
            }
        }
        let has_all = |node: &ModelNode| labels.iter().all(|label| node.labels.contains(label));
        let expected: Vec<u64> = model.iter().filter(|(_, node)| has_all(node)).map(|(&id, _)| id).collect();
        assert_eq!(found, expected, "{name}: nodes with {labels:?}");
    }
}

fn assert_lookups(version: &Version, model: &Model, name: &str) {
    let values: Vec<Value> = (0..2_000).map(Value::Int).collect();
    let column = Column::from_values(&values);
    for number in 0..UNIQUE {
        let (label, key) = (LabelId(number), PropertyKeyId(number));
        let Some(found) = version.lookup(label, key, &column).unwrap() else { continue };
        let mut expected = vec![None; values.len()];
        for (&id, node) in model.iter().filter(|(_, node)| node.labels.contains(&label)) {
            let at = node.properties.get(&key).and_then(|value| values.iter().position(|of| of == value));
            if let Some(at) = at {
                expected[at] = Some(NodeId(id));
            }
        }
        assert_eq!(found, expected, "{name}: values of {label:?}");
    }
}

#[test]
fn runs_merges_and_folds_agree_with_the_model() {
    for seed in [1, 2].map(seed_or) {
        let mut subject = Subject::new(seed);
        let mut held: Vec<(Arc<Version>, Model)> = Vec::new();
        let (mut merges, mut folds, mut index_merges) = (0, 0, 0);
        for step in 0..32 {
            let name = format!("seed {seed} step {step}");
            subject.change();
            for _ in 0..subject.random.below(3) {
                match subject.compact() {
                    Some(NodeJob::MergeRuns(_)) => merges += 1,
                    Some(NodeJob::Fold(_)) => folds += 1,
                    Some(NodeJob::MergeIndex(..)) => index_merges += 1,
                    // The model has no ordered indexes.
                    Some(NodeJob::MergeOrdered(..)) | None => {}
                }
            }
            let version = &subject.version;
            if step % 4 == 3 {
                assert_same(version, &subject.model, &name);
                let problems = check(version.platform(), version.directory(), &Interrupt::new()).unwrap();
                assert!(problems.is_empty(), "{name}: {problems:?}");
            }
            if step % 10 == 5 {
                held.push((version.clone(), subject.model.clone()));
            }
        }
        assert!(merges > 0 && folds > 0 && index_merges > 0, "seed {seed}: {merges} {folds} {index_merges}");
        for (at, (version, model)) in held.iter().enumerate() {
            assert_same(version, model, &format!("seed {seed} snapshot {at}"));
        }
        drop(held);
        let version = &subject.version;
        let files = version.platform().disk.list(version.directory()).unwrap().len();
        let left = files - version.manifest().files().count() - 3;
        assert_eq!(left, 0, "seed {seed}: files that nobody names");
        let reopened = Version::open(version.platform(), version.directory()).unwrap();
        assert_same(&reopened, &subject.model, &format!("seed {seed} reopened"));
    }
}
