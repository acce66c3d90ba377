//! Workload of a store while it is recorded: random transactions, with checkpoints, bulk loads and reopening in
//! between.

use std::sync::Arc;

use model::platform::Platform;
use model::{GraphStore, Value};

use super::{Maintenance, Subject};
use crate::ReferenceStore;
use crate::differential::{
    Content, Ending, Operation, RandomTransaction, apply, assert_same_content, identities_of, random_operations,
    rules_of_each_kind,
};
use crate::random::SeededRandom;
use crate::simulation::{Journal, JournalDisk, platform};

/// Amount of work, and the frequency of its kinds in percent of the transactions.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Number of transactions.
    pub transactions: usize,
    /// Rows of one operation, at most.
    pub rows_max: usize,
    /// Checkpoints.
    pub checkpoint_percent: u64,
    /// Compactions.
    pub compact_percent: u64,
    /// Closing and opening.
    pub reopen_percent: u64,
    /// Bulk loads.
    pub bulk_percent: u64,
    /// Backups.
    pub backup_percent: u64,
    /// True if a commit is durable when it returns; otherwise only what came before a checkpoint is.
    pub is_durable: bool,
    /// The first transaction makes constraints of each kind.
    pub has_rules: bool,
}

/// The type of the edges that are loaded in bulk, and those that a later bulk load changes.
pub const LOADED_EDGES: &str = "KNOWS";

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            transactions: 30,
            rows_max: 6,
            checkpoint_percent: 8,
            compact_percent: 5,
            reopen_percent: 5,
            bulk_percent: 6,
            backup_percent: 3,
            is_durable: true,
            has_rules: false,
        }
    }
}

/// A run of a store, and what it must hold after each step.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The seed that gives it again.
    pub seed: u64,
    /// Record of what was done to the disk, with notes of where steps begin and end.
    pub journal: Journal,
    /// The content after each step; the first is that of an empty store.
    pub contents: Vec<Content>,
    /// The edges after each step, by their element ids.
    pub identities: Vec<Vec<String>>,
    /// The steps; step `n` leads to content `n`, so the first is numbered 1.
    pub steps: Vec<RandomTransaction>,
    /// The backups, in order.
    pub backups: Vec<FinishedBackup>,
    /// True if a commit was durable when it returned.
    pub is_durable: bool,
    /// Bulk loads that changed edges which were there before.
    pub updating_loads: u64,
}

/// A backup that was made.
#[derive(Clone, Copy, Debug)]
pub struct FinishedBackup {
    /// Its number.
    pub number: u64,
    /// The step that it holds the content of.
    pub step: usize,
    /// Number of events that the journal had when it was finished.
    pub position: usize,
}

/// Runs a workload on a new store.
///
/// # Panics
/// If the store fails, or does something else than the reference store; the message tells the seed.
pub fn record<S: Subject>(subject: &S, workload: &Workload, seed: u64) -> Recording {
    let disk = JournalDisk::new();
    let platform = platform(Arc::new(disk.clone()), seed);
    let mut run = Run {
        subject,
        workload: *workload,
        random: SeededRandom::new(seed ^ 0xD15C),
        reference: ReferenceStore::new(),
        contents: vec![content_of(&ReferenceStore::new())],
        identities: vec![Vec::new()],
        steps: Vec::new(),
        backups: Vec::new(),
        loads: Vec::new(),
        disk,
        platform,
    };
    let mut store = subject.open(&run.platform).expect("opening a new store");
    let rules = workload.has_rules.then(rules_of_each_kind);
    for mut transaction in rules.into_iter().chain(random_operations(seed, workload.transactions)) {
        cut_rows(&mut transaction, workload.rows_max);
        run.transaction(&store, &transaction);
        store = run.between(store);
    }
    assert_same_content(&content_of(&store), run.contents.last().expect("there is a first content"));
    drop(store);
    Recording {
        seed,
        journal: run.disk.journal(),
        contents: run.contents,
        identities: run.identities,
        steps: run.steps,
        backups: run.backups,
        is_durable: workload.is_durable,
        updating_loads: run.loads.len().saturating_sub(1) as u64,
    }
}

fn content_of(store: &dyn GraphStore) -> Content {
    Content::of(&*store.read().expect("taking a snapshot"))
}

struct Run<'a, S> {
    subject: &'a S,
    workload: Workload,
    random: SeededRandom,
    disk: JournalDisk,
    platform: Platform,
    reference: ReferenceStore,
    contents: Vec<Content>,
    identities: Vec<Vec<String>>,
    steps: Vec<RandomTransaction>,
    backups: Vec<FinishedBackup>,
    /// The steps that were bulk loads.
    loads: Vec<i64>,
}

impl<S: Subject> Run<'_, S> {
    fn transaction(&mut self, store: &S::Store, transaction: &RandomTransaction) {
        let commits = transaction.ending == Ending::Commit;
        if commits {
            self.begin_step(transaction);
        }
        let found = apply(store, transaction).expect("transactions succeed");
        let expected = apply(&self.reference, transaction).expect("transactions on the reference store succeed");
        assert_eq!(found, expected, "seed of the random operations ended differently in the two stores");
        if commits {
            self.end_step(store, self.workload.is_durable);
        }
    }

    fn begin_step(&mut self, transaction: &RandomTransaction) {
        self.steps.push(transaction.clone());
        self.disk.begin(self.steps.len() as u64);
    }

    fn end_step(&mut self, store: &S::Store, is_durable: bool) {
        if is_durable {
            self.acknowledge();
        }
        self.contents.push(content_of(&self.reference));
        self.identities.push(identities_of(&*store.read().expect("taking a snapshot")));
    }

    fn acknowledge(&self) {
        self.disk.acknowledge(self.steps.len() as u64);
    }

    fn between(&mut self, mut store: S::Store) -> S::Store {
        if self.random.chance(self.workload.bulk_percent) {
            let step = self.steps.len() as i64;
            let transaction = loaded(step, self.loads.last().copied());
            self.loads.push(step);
            self.begin_step(&transaction);
            apply(&self.reference, &transaction).expect("transactions on the reference store succeed");
            self.maintain(&store, &Maintenance::BulkLoad(transaction));
            self.end_step(&store, true);
        }
        if self.random.chance(self.workload.checkpoint_percent) {
            self.maintain(&store, &Maintenance::Checkpoint);
            self.acknowledge();
        }
        if self.random.chance(self.workload.compact_percent) {
            self.maintain(&store, &Maintenance::Compact);
        }
        if self.random.chance(self.workload.backup_percent) {
            let number = self.backups.len() as u64 + 1;
            self.maintain(&store, &Maintenance::Backup(number));
            let (step, position) = (self.steps.len(), self.disk.position());
            self.backups.push(FinishedBackup { number, step, position });
        }
        if self.random.chance(self.workload.reopen_percent) {
            drop(store);
            store = self.subject.open(&self.platform).expect("opening the store again");
        }
        store
    }

    fn maintain(&self, store: &S::Store, maintenance: &Maintenance) {
        self.subject.maintain(store, maintenance).unwrap_or_else(|error| panic!("{maintenance:?}: {error:?}"));
    }
}

/// Nodes and edges between them that collide with nothing, and changes of edges that the load before has made.
fn loaded(step: i64, before: Option<i64>) -> RandomTransaction {
    const NODES: i64 = 12;
    let uid_of = |step: i64, number: i64| 1_000_000 + 1_000 * step + number;
    let uid = |number: i64| uid_of(step, number);
    let value = |number: i64| vec![Value::string(&format!("loaded {number}")), Value::Int(number)];
    let nodes = (0..NODES).map(|number| (uid(number), value(number))).collect();
    let edges = (0..2 * NODES).map(|number| (uid(number % NODES), uid(number * 5 % NODES), value(number))).collect();
    let keys = vec!["name", "age"];
    let mut operations = vec![
        Operation::CreateNodes { labels: vec!["Robot"], keys: keys.clone(), rows: nodes },
        Operation::CreateEdges { edge_type: LOADED_EDGES, keys, rows: edges },
    ];
    if let Some(before) = before {
        // Of two parallel edges one.
        let rows = (0..NODES).step_by(2).map(|number| ((uid_of(before, number), 1), Value::Int(step))).collect();
        operations.push(Operation::SetEdgeProperties { key: "loaded", rows });
    }
    RandomTransaction { operations, ending: Ending::Commit }
}

/// Leaves out rows above a number, so that stores stay small: a crash is as instructive in a small store.
fn cut_rows(transaction: &mut RandomTransaction, rows_max: usize) {
    for operation in &mut transaction.operations {
        match operation {
            Operation::CreateNodes { rows, .. } => rows.truncate(rows_max),
            Operation::CreateEdges { rows, .. } => rows.truncate(rows_max),
            Operation::SetNodeProperties { rows, .. } => rows.truncate(rows_max),
            Operation::SetEdgeProperties { rows, .. } => rows.truncate(rows_max),
            Operation::AddLabels { nodes, .. }
            | Operation::RemoveLabels { nodes, .. }
            | Operation::DeleteNodes { nodes }
            | Operation::DetachDeleteNodes { nodes } => nodes.truncate(rows_max),
            Operation::DeleteEdges { edges } => edges.truncate(rows_max),
            _ => {}
        }
    }
}
