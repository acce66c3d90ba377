//! Salvage: copies all that can still be read of a damaged store into a new one, and tells what was lost.
//!
//! - [`opening`]: opens what can be opened, and the log as far as it goes.
//! - [`nodes`]: nodes, their labels and values.
//! - [`edges`]: edges, from either end, and their values.
//!
//! Everything is read as queries read it, in batches. A batch that fails for damage is halved until the ids that cannot be
//! read stand alone; what else they hold is copied. Node ids change: the new store numbers its nodes anew.
//!
//! Invariant: the damaged store is not changed.
//! Cost: one pass over the store; four bytes for each node id in memory; edges are sorted as an import sorts them; the log is
//! repeated within the memory that [`crate::check`] takes for it, as far as damage does not keep it from files.

mod edges;
mod nodes;
mod opening;

use std::path::{Path, PathBuf};

use model::platform::Platform;
use model::schema::{Index, SortKey, Subject};
use model::{
    Constraint, Error, ErrorCode, GraphStore, Interrupt, Map, PropertyKeyId, ReadView, Result, Schema, WriteTransaction,
};

use crate::backup::{check_free, remove_files};
use crate::build::BuildConfig;
use crate::bulk::BulkLoad;
use crate::engine::{NativeStore, OpenOptions};
use crate::problem::Problem;
use crate::snapshot::Snapshot;

/// Ids read by one call.
const BATCH: usize = 4_096;

/// Something that could not be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The file whose damage is the cause.
    pub file: PathBuf,
    /// Offset in the file, as near as can be told.
    pub offset: u64,
    /// The problem: what was found there and what was expected.
    pub problem: String,
    /// Data that is lost by it, as `12 values of name`.
    pub lost: String,
}

/// Result of a salvage.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Nodes copied.
    pub nodes: u64,
    /// Edges copied.
    pub edges: u64,
    /// Nodes that the damaged store should have had, as its manifest counts them; the log is not counted.
    pub nodes_listed: u64,
    /// Edges likewise.
    pub edges_listed: u64,
    /// Losses: data that could not be copied; empty if nothing was damaged.
    pub losses: Vec<Loss>,
}

/// Copies all that can be read of the store in a directory into a new store.
///
/// # Errors
/// If not even the manifest can be read, if this user has no right to read a file, if another process has the store open, or if the
/// new store cannot be written.
pub fn recover(platform: &Platform, damaged: &Path, new: &Path, interrupt: &Interrupt) -> Result<Recovery> {
    let is_new = !platform.disk.exists(new);
    if !is_new {
        check_free(platform, new)?;
    }
    let mut losses = Losses::default();
    let opened = opening::open(platform, damaged, &mut losses, interrupt)?;
    let outcome = copy(platform, &opened.snapshot, new, &mut losses, interrupt);
    let (nodes, edges) = outcome.inspect_err(|_| remove_files(platform, new, is_new))?;
    let (nodes_listed, edges_listed, losses) = (opened.nodes_listed, opened.edges_listed, losses.into_list());
    Ok(Recovery { nodes, edges, nodes_listed, edges_listed, losses })
}

/// Copies what can be read; gives the numbers of nodes and edges.
fn copy(
    platform: &Platform,
    snapshot: &Snapshot,
    new: &Path,
    losses: &mut Losses,
    interrupt: &Interrupt,
) -> Result<(u64, u64)> {
    let store = NativeStore::open(new, OpenOptions::create(), platform.clone())?;
    let counts = store.rebuild(interrupt, |base| {
        let mut load = BulkLoad::new(base, BuildConfig::default(), interrupt)?;
        let copied = nodes::copy(snapshot, &mut load, losses, interrupt)?;
        let mut loader = load.edge_loader()?;
        let edges = edges::copy(snapshot, &copied, &mut loader, losses, interrupt)?;
        loader.finish()?;
        Ok((load.finish()?, (copied.count, edges)))
    })?;
    restore_rules(snapshot, &store, losses, interrupt)?;
    store.checkpoint(interrupt)?;
    Ok(counts)
}

/// Makes sort keys, constraints and indexes anew. A rule that what is left breaks is told as lost.
fn restore_rules(snapshot: &Snapshot, store: &NativeStore, losses: &mut Losses, interrupt: &Interrupt) -> Result<()> {
    let schema = snapshot.schema();
    for sort_key in &schema.sort_keys {
        let mut transaction = store.write()?;
        let edge_type = transaction.edge_type(schema.edge_type_name(sort_key.edge_type))?;
        let keys = renumber(schema, &mut *transaction, &sort_key.keys)?;
        transaction.set_sort_key(SortKey { edge_type, keys })?;
        transaction.commit()?;
    }
    for constraint in &schema.constraints {
        let mut transaction = store.write()?;
        let subject = renumber_subject(schema, &mut *transaction, constraint.subject)?;
        let keys = renumber(schema, &mut *transaction, &constraint.keys)?;
        let mut rule = constraint.rule;
        for label in rule.labels_mut() {
            *label = transaction.label(schema.label_name(*label))?;
        }
        let name = constraint.name.clone();
        let made = transaction.create_constraint(Constraint { name, subject, keys, rule }, interrupt);
        match made.and_then(|()| transaction.commit()) {
            Ok(()) => {}
            Err(error) if !is_broken_rule(&error) => return Err(error),
            Err(error) => {
                let what = format!("the constraint {}, which what is left breaks", constraint.name);
                losses.add(&Problem::of(store.path(), &error), 1, &What::Text(what));
            }
        }
    }
    let is_of_constraint = |index: &&Index| schema.constraints.iter().any(|made| made.name == index.name);
    for index in schema.indexes.iter().filter(|index| !is_of_constraint(index)) {
        let mut transaction = store.write()?;
        let subject = renumber_subject(schema, &mut *transaction, index.subject)?;
        let keys = renumber(schema, &mut *transaction, &index.keys)?;
        let made = transaction.create_index(Index { name: index.name.clone(), subject, keys }, interrupt);
        match made.and_then(|()| transaction.commit()) {
            Err(error) if !is_broken_rule(&error) => return Err(error),
            Err(error) => {
                let what = What::Text(format!("the index {}", index.name));
                losses.add(&Problem::of(store.path(), &error), 1, &what);
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

/// True for errors of what was read: it breaks the rule. All others end the salvage.
fn is_broken_rule(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::Constraint | ErrorCode::SchemaRule)
}

fn renumber(
    schema: &Schema,
    transaction: &mut dyn WriteTransaction,
    keys: &[PropertyKeyId],
) -> Result<Vec<PropertyKeyId>> {
    keys.iter().map(|&key| transaction.property_key(schema.property_key_name(key))).collect()
}

fn renumber_subject(schema: &Schema, transaction: &mut dyn WriteTransaction, subject: Subject) -> Result<Subject> {
    Ok(match subject {
        Subject::Label(label) => Subject::Label(transaction.label(schema.label_name(label))?),
        Subject::EdgeType(kind) => Subject::EdgeType(transaction.edge_type(schema.edge_type_name(kind))?),
    })
}

/// A kind of thing that is lost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum What {
    Nodes,
    Labels,
    NodeValues(String),
    OutEdges(String),
    InEdges(String),
    EdgeValues(String),
    EdgesWithoutEnd,
    Text(String),
}

impl What {
    fn to_text(&self, count: u64) -> String {
        let many = |one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
        match self {
            What::Nodes => many("node"),
            What::Labels => format!("the labels of {}", many("node")),
            What::NodeValues(key) => format!("the property {key} of {}", many("node")),
            What::OutEdges(kind) => {
                format!("edges :{kind} that start at {}, but for those found from their ends", many("node"))
            }
            What::InEdges(kind) => format!("edges :{kind} that end at {}, where their starts were lost", many("node")),
            What::EdgeValues(key) => format!("the property {key} of {}", many("edge")),
            What::EdgesWithoutEnd => format!("{}, whose ends were lost", many("edge")),
            What::Text(text) => text.clone(),
        }
    }
}

/// Losses so far, by cause.
#[derive(Default)]
struct Losses {
    counts: Map<(Place, What), u64>,
    order: Vec<(Place, What)>,
}

/// File, offset and problem.
type Place = (PathBuf, u64, String);

impl Losses {
    fn add(&mut self, cause: &Problem, count: u64, what: &What) {
        let key = ((cause.file.clone(), cause.offset, cause.message.clone()), what.clone());
        if !self.counts.contains_key(&key) {
            self.order.push(key.clone());
        }
        *self.counts.entry(key).or_default() += count;
    }

    fn into_list(self) -> Vec<Loss> {
        let loss = |key: &(Place, What)| {
            let ((file, offset, problem), what) = key.clone();
            Loss { file, offset, problem, lost: what.to_text(self.counts[key]) }
        };
        self.order.iter().map(loss).collect()
    }
}

/// Reads ids in halves until those that fail stand alone. `read` takes what it is given or fails and takes nothing.
fn in_halves<I>(ids: &[I], read: &mut dyn FnMut(&[I]) -> Result<()>, fail: &mut dyn FnMut(&I, &Problem)) -> Result<()> {
    match read(ids) {
        // Any other error that keeps a part from being read: the rest is read.
        Err(error) if error.code() != ErrorCode::Cancelled => match ids {
            [] => Err(error),
            [id] => {
                fail(id, &Problem::of(Path::new(""), &error));
                Ok(())
            }
            _ => {
                let (left, right) = ids.split_at(ids.len() / 2);
                in_halves(left, read, fail)?;
                in_halves(right, read, fail)
            }
        },
        outcome => outcome,
    }
}

fn all_keys(view: &dyn ReadView) -> Vec<PropertyKeyId> {
    (0..view.schema().property_keys.len() as u32).map(PropertyKeyId).collect()
}
