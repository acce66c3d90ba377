//! The state of a graph that is not in rows: names, rules, counts and ids, made of the records of the log one after the other.
//!
//! Invariant: the state at a sequence number is the same in every process, whether it was made of records or read from a
//! checkpoint.

mod bytes;
mod purge;

use std::sync::Arc;

pub(crate) use bytes::rules_of;
use model::{
    Constraint, EdgeTypeId, Index, LabelId, Map, PropertyKeyId, Result, Schema, SortKey, Statistics, Subject, error,
};
pub(crate) use purge::{Dead, Purge, PurgeStep, Sweep};

/// Names a transaction for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TransactionId(pub(crate) u64, pub(crate) u64);

/// The state at a sequence number.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    /// Number of the last record in it; 0 before the first.
    pub(crate) sequence: u64,
    pub(crate) schema: Arc<Schema>,
    pub(crate) statistics: Arc<Statistics>,
    /// The first node id, and the first number of an edge, that nobody was given.
    pub(crate) next: Ids,
    /// Numbers of indexes and of constraints that have one, by name.
    pub(crate) indexes: Arc<Map<Arc<str>, u32>>,
    /// The first number of an index that was never used.
    pub(crate) next_index: u32,
    /// The last record that changed the edges: which there are.
    pub(crate) edges_changed: u64,
    /// The last record that changed properties of edges.
    pub(crate) edge_properties_changed: u64,
    /// The bulk load that has begun and not ended. Until then nobody sees its rows.
    pub(crate) loading: Option<Loading>,
    /// Progress of the purge of dead rows, and what is left to purge.
    pub(crate) purge: Purge,
    pub(crate) dead: Dead,
}

/// A bulk load under way, or left by a process that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loading {
    pub(crate) id: TransactionId,
    /// The record with which it began, from which its rows are born.
    pub(crate) since: u64,
    /// The first ids that are its own.
    pub(crate) first: Ids,
    /// The first ids behind them.
    pub(crate) end: Ids,
}

/// The beginning or the end of a bulk load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadStep {
    /// It begins, in place of another that was left, with a block of ids.
    Begin(TransactionId),
    /// Its rows are all written, and seen from here on.
    End(TransactionId),
}

/// Numbers of ids, of nodes and of edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    pub(crate) nodes: u64,
    pub(crate) edges: u64,
}

/// Lists of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    Label,
    EdgeType,
    PropertyKey,
}

impl NameKind {
    pub(crate) const ALL: [NameKind; 3] = [NameKind::Label, NameKind::EdgeType, NameKind::PropertyKey];

    /// The names of that kind.
    pub(crate) fn of(self, schema: &Schema) -> &model::schema::Names {
        match self {
            NameKind::Label => &schema.labels,
            NameKind::EdgeType => &schema.edge_types,
            NameKind::PropertyKey => &schema.property_keys,
        }
    }

    fn of_mut(self, schema: &mut Schema) -> &mut model::schema::Names {
        match self {
            NameKind::Label => &mut schema.labels,
            NameKind::EdgeType => &mut schema.edge_types,
            NameKind::PropertyKey => &mut schema.property_keys,
        }
    }
}

/// A name that a transaction gave a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewName {
    pub(crate) kind: NameKind,
    pub(crate) number: u32,
    pub(crate) name: Arc<str>,
}

/// All constraints, indexes and sort keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) sort_keys: Vec<SortKey>,
    pub(crate) numbers: Vec<(Arc<str>, u32)>,
    pub(crate) next_index: u32,
}

/// Changes of counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) nodes: i64,
    pub(crate) edges: i64,
    pub(crate) labels: Vec<(LabelId, i64)>,
    pub(crate) types: Vec<(EdgeTypeId, i64)>,
}

/// Change of the state by one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) names: Vec<NewName>,
    /// The rules, if they changed.
    pub(crate) rules: Option<Rules>,
    pub(crate) counts: Counts,
    /// Numbers of ids that are given to the process of the record.
    pub(crate) block: Ids,
    /// True if nodes or edges were written.
    pub(crate) has_data: bool,
    /// True if edges came or went.
    pub(crate) has_edges: bool,
    /// True if properties of edges changed.
    pub(crate) has_edge_properties: bool,
    /// The beginning or the end of a bulk load.
    pub(crate) load: Option<LoadStep>,
    /// Rows that no later view sees.
    pub(crate) dead: u64,
    /// A step of the purge.
    pub(crate) purge: Option<PurgeStep>,
}

impl Delta {
    /// True if it writes nodes, edges, rules or names, or takes ids.
    pub(crate) fn writes(&self) -> bool {
        self.has_data || self.rules.is_some() || !self.names.is_empty() || self.block != Ids::default()
    }
}

/// An index with its number: an ordered index, or the values of a constraint.
#[derive(Clone, Debug)]
pub(crate) struct NumberedIndex {
    pub(crate) number: u32,
    pub(crate) subject: Subject,
    pub(crate) keys: Vec<PropertyKeyId>,
    pub(crate) name: Arc<str>,
    /// True if no two may have the same values.
    pub(crate) is_unique: bool,
}

/// All indexes of a schema, those of constraints among them.
pub(crate) fn indexes_of(schema: &Schema, numbers: &Map<Arc<str>, u32>) -> Vec<NumberedIndex> {
    let of_constraints = schema.constraints.iter().filter(|held| held.lookup_key().is_some());
    let of_constraints = of_constraints.map(|held| (&held.name, held.subject, &held.keys));
    let ordered = schema.indexes.iter().map(|index| (&index.name, index.subject, &index.keys));
    let numbered = |(name, subject, keys): (&Arc<str>, Subject, &Vec<PropertyKeyId>)| {
        let number = *numbers.get(name)?;
        let is_unique = schema.constraints.iter().any(|held| held.name == *name && held.is_unique());
        Some(NumberedIndex { number, subject, keys: keys.clone(), name: name.clone(), is_unique })
    };
    of_constraints.chain(ordered).filter_map(numbered).collect()
}

fn add(count: &mut u64, change: i64) {
    *count = count.saturating_add_signed(change);
}

impl State {
    /// The state behind a further transaction of the record with that number, and the first ids of its block.
    pub(crate) fn apply(&mut self, sequence: u64, delta: &Delta) -> Result<Ids> {
        self.abandon_load(delta);
        let first = self.next;
        self.next.nodes += delta.block.nodes;
        self.next.edges += delta.block.edges;
        if !delta.names.is_empty() || delta.rules.is_some() {
            let schema = Arc::make_mut(&mut self.schema);
            for NewName { kind, number, name } in &delta.names {
                let found = kind.of_mut(schema).intern(name);
                if found != *number {
                    return Err(error!(
                        Corrupt,
                        "record {sequence} of the log: the name {name} has the number {found}"
                    ));
                }
            }
            if let Some(rules) = &delta.rules {
                let is_gone = |number: &u32| !rules.numbers.iter().any(|(_, kept)| kept == number);
                let mut gone: Vec<u32> = self.indexes.values().copied().filter(is_gone).collect();
                gone.sort_unstable();
                self.dead.indexes.extend(gone.into_iter().map(|number| (number, sequence)));
                schema.constraints.clone_from(&rules.constraints);
                schema.indexes.clone_from(&rules.indexes);
                schema.sort_keys.clone_from(&rules.sort_keys);
                self.indexes = Arc::new(rules.numbers.iter().cloned().collect());
                self.next_index = rules.next_index;
            }
        }
        if delta.counts != Counts::default() {
            let statistics = Arc::make_mut(&mut self.statistics);
            add(&mut statistics.nodes, delta.counts.nodes);
            add(&mut statistics.edges, delta.counts.edges);
            for (label, change) in &delta.counts.labels {
                add(statistics.nodes_by_label.entry(*label).or_default(), *change);
            }
            for (edge_type, change) in &delta.counts.types {
                add(statistics.edges_by_type.entry(*edge_type).or_default(), *change);
            }
        }
        self.dead.rows += delta.dead;
        if let Some(step) = &delta.purge {
            self.purge.clone_from(&step.purge);
            self.dead.rows = self.dead.rows.saturating_sub(step.gone);
            self.dead.indexes.retain(|(number, _)| !step.indexes.contains(number));
        }
        if delta.has_edges {
            self.edges_changed = sequence;
        }
        if delta.has_edge_properties {
            self.edge_properties_changed = sequence;
        }
        match delta.load {
            Some(LoadStep::Begin(id)) => {
                self.loading = Some(Loading { id, since: sequence, first, end: self.next });
            }
            Some(LoadStep::End(_)) => self.loading = None,
            None => {}
        }
        Ok(first)
    }

    /// Takes back the ids of a bulk load that another one replaces, if nobody was given ids since.
    fn abandon_load(&mut self, delta: &Delta) {
        if let (Some(LoadStep::Begin(_)), Some(left)) = (delta.load, self.loading)
            && self.next == left.end
        {
            self.next = left.first;
        }
    }

    /// The last record whose rows are seen: while a load is under way, the one before it.
    pub(crate) fn seen(&self) -> u64 {
        self.loading.map_or(self.sequence, |loading| loading.since - 1)
    }
}

/// Differences between two counts.
pub(crate) fn difference(before: &Statistics, after: &Statistics) -> Counts {
    let change = |before: u64, after: u64| after.wrapping_sub(before) as i64;
    let mut labels: Vec<(LabelId, i64)> = Vec::new();
    for (&label, &count) in &after.nodes_by_label {
        labels.push((label, change(before.label(label), count)));
    }
    let mut types: Vec<(EdgeTypeId, i64)> = Vec::new();
    for (&edge_type, &count) in &after.edges_by_type {
        types.push((edge_type, change(before.edge_type(edge_type), count)));
    }
    labels.retain(|(_, change)| *change != 0);
    types.retain(|(_, change)| *change != 0);
    labels.sort_unstable();
    types.sort_unstable();
    Counts { nodes: change(before.nodes, after.nodes), edges: change(before.edges, after.edges), labels, types }
}
