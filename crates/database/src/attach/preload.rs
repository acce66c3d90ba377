//! A source, or a part of it, copied into the native store: in bulk, and whole or not at all.
//!
//! Nodes get new ids. Edges that cross to nodes of the native store are copied too; those of which an end is neither copied
//! nor native are left out, and counted.
//!
//! - [`edges`]: which edges those are.
//!
//! For labels that are new to the native store, properties that are unique according to the source become constraints.
//! Cost: 16 bytes for each node that is copied, besides what a bulk load takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cypher::catalog::CompileContext;
use cypher::optimizer::OptimizerConfig;
use cypher::plan::Statement;
use exec::{Environment, QueryMemory, RunSettings};
use model::limits::BATCH_ROWS;
use model::procedure::GraphAccess;
use model::{
    Column, Constraint, Consumer, EdgeTypeId, Error, Interrupt, LabelId, Map, NodeBatch, NodeId, NodeScan,
    PropertyKeyId, Result, Rule, Value, error,
};
use sources::definition::{GraphDefinition, NodeKind, Rows};
use sources::federation::MemberView;
use sources::store::SourceStore;
use storage::bulk::{BulkLoad, NodeRows, RowError};

use crate::Parameters;
use crate::database::Database;
use crate::import::{ImportPlan, bulk_config};

mod edges;

/// The part of a source to copy.
#[derive(Clone, Debug, Default)]
pub struct Preload {
    /// Queries of the source, each of whose rows begins with the id of a node; all nodes if `None`.
    pub nodes: Option<Vec<Arc<str>>>,
    /// The types of the edges between those nodes; all if `None`.
    pub edge_types: Option<Vec<Arc<str>>>,
}

/// Progress of a copy.
#[derive(Debug, Default)]
pub struct PreloadProgress {
    /// Nodes taken so far.
    pub nodes: AtomicU64,
    /// Edges taken so far.
    pub edges: AtomicU64,
}

/// Counts of what was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreloadSummary {
    /// Nodes.
    pub nodes: u64,
    /// Edges.
    pub edges: u64,
    /// Edges that were left out, since an end of theirs was not copied and is not in the native store.
    pub skipped: u64,
}

/// Copied nodes: each with its new id, ascending.
type Ids = Vec<(NodeId, NodeId)>;

impl Database {
    /// Copies a source, or a part of it, into the native store. If it fails, the store is as it was. The source stays
    /// attached, so that what was copied is in the graph twice until it is detached.
    pub fn preload(
        &self,
        name: &str,
        what: &Preload,
        progress: &PreloadProgress,
        interrupt: &Interrupt,
    ) -> Result<PreloadSummary> {
        let source = self.shared.attachments.now().source(name)?.clone();
        let view = source.member.store.read_member()?;
        let view: &dyn MemberView = &*view;
        let (member, definition) = (source.member.number, source.database.as_ref().map(SourceStore::definition));
        let mut copy =
            Copying { database: self, view, member, definition, progress, interrupt, made: Vec::new(), skipped: 0 };
        let types = copy.types(name, what)?;
        let chosen = copy.chosen(what)?;
        copy.made = copy.add_constraints(chosen.is_some())?;
        let copied = self.preload_into(&mut copy, chosen, types);
        if copied.is_err() && !copy.made.is_empty() {
            let mut transaction = self.own_store().write()?;
            copy.made.iter().try_for_each(|made| transaction.drop_constraint(&made.name))?;
            transaction.commit()?;
        }
        copied.map_err(|failure| failure.within(&format!("source {name}")))
    }

    fn preload_into(
        &self,
        copy: &mut Copying<'_>,
        chosen: Option<Vec<NodeId>>,
        types: Option<Vec<EdgeTypeId>>,
    ) -> Result<PreloadSummary> {
        let plan = ImportPlan { threads: self.config().threads, ..ImportPlan::default() };
        let mut config = bulk_config(&plan, self.memory())?;
        config.on_duplicate = storage::bulk::OnDuplicate::Error;
        let _held = self.memory().charge(Consumer::Import, config.memory_bytes);
        let chosen_part = chosen.is_some();
        self.native_to("a copy of a source")?.rebuild(copy.interrupt, |base| {
            let mut load = BulkLoad::new(base, config, copy.interrupt)?;
            let nodes = copy.nodes(chosen, &mut load)?;
            let _ids = self.memory().charge(Consumer::Import, nodes.len() * size_of::<(NodeId, NodeId)>());
            copy.edges(&nodes, chosen_part, types, &mut load)?;
            let (nodes, edges) = load.counts();
            Ok((load.finish()?, PreloadSummary { nodes, edges, skipped: copy.skipped }))
        })
    }
}

struct Copying<'a> {
    database: &'a Database,
    view: &'a dyn MemberView,
    /// The number of the source among what is attached.
    member: u8,
    /// Definition that says which part of the source is which part of the graph, if the source is a database.
    definition: Option<&'a Arc<GraphDefinition>>,
    progress: &'a PreloadProgress,
    interrupt: &'a Interrupt,
    made: Vec<Made>,
    skipped: u64,
}

/// A uniqueness constraint that the copy makes, which the source says holds.
struct Made {
    name: Arc<str>,
    label: Arc<str>,
    key: Arc<str>,
}

impl Copying<'_> {
    fn types(&self, source: &str, what: &Preload) -> Result<Option<Vec<EdgeTypeId>>> {
        let Some(names) = &what.edge_types else { return Ok(None) };
        let schema = self.view.schema();
        let known = |name: &Arc<str>| {
            schema.edge_type(name).ok_or_else(|| {
                let known: Vec<&str> = schema.edge_types.iter().map(|name| &**name).collect();
                error!(NotFound, "the source {source} has no relationships :{name}")
                    .with_remedy(format!("it has {}", known.join(", ")))
            })
        };
        let mut types = names.iter().map(known).collect::<Result<Vec<_>>>()?;
        types.sort_unstable();
        types.dedup();
        Ok(Some(types))
    }

    /// The nodes that the queries name, each once, ascending; `None` for all nodes.
    fn chosen(&self, what: &Preload) -> Result<Option<Vec<NodeId>>> {
        let Some(queries) = &what.nodes else { return Ok(None) };
        let mut nodes = Vec::new();
        for query in queries {
            self.find(query, &mut nodes)?;
        }
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Some(nodes))
    }

    fn find(&self, query: &str, nodes: &mut Vec<NodeId>) -> Result<()> {
        let registry = self.database.registry();
        let (schema, statistics) = (self.view.schema(), self.view.estimates());
        let context = CompileContext {
            catalog: &*registry,
            schema,
            statistics,
            capabilities: self.view.capabilities(),
            interrupt: self.interrupt,
            seen: &[],
        };
        let compiled = cypher::compile_with(query, &context, &OptimizerConfig::default())?;
        let Statement::Query(_, plan) = compiled.statement else {
            return Err(error!(Internal, "expected a query of the nodes to copy, found {query}"));
        };
        let (parameters, memory) = (Parameters::default(), self.query_memory());
        let environment = Environment {
            parameters: &parameters,
            procedures: &registry.procedures,
            interrupt: self.interrupt,
            clock: self.database.clock(),
            settings: RunSettings::default(),
            memory: &memory,
            transactions: None,
            replanner: None,
        };
        exec::run(&plan, GraphAccess::Read(self.view), environment, &mut |rows, columns| {
            let id = |row| match columns[0].value(row) {
                Value::Int(id) => Ok(NodeId(id as u64)),
                other => Err(error!(Internal, "expected the ids of nodes to copy, found {other}")),
            };
            for row in 0..rows {
                nodes.push(id(row)?);
            }
            Ok(true)
        })?;
        Ok(())
    }

    fn query_memory(&self) -> QueryMemory {
        QueryMemory::new(self.database.memory().clone(), None, self.database.spill_space().clone())
    }

    /// Makes the source's uniqueness constraints on labels that the native store has no node of, and tells which.
    fn add_constraints(&self, is_part: bool) -> Result<Vec<Made>> {
        let mut transaction = self.database.own_store().write()?;
        let mut made = Vec::new();
        for constraint in &self.view.schema().constraints {
            let Some((label, key)) = constraint.lookup_key() else { continue };
            if is_part && self.view.estimates().label(label) == 0 {
                continue;
            }
            let of = (self.view.schema().label_name(label), self.view.schema().property_key_name(key));
            let name: Arc<str> = format!("unique_{}_{}", of.0, of.1).into();
            let (label, key) = (transaction.label(of.0)?, transaction.property_key(of.1)?);
            let view = transaction.view();
            let is_free = view.statistics().label(label) == 0 && !view.schema().is_rule_name(&name);
            if is_free && view.schema().unique(label, key).is_none() {
                let rule = Constraint { rule: Rule::Unique, ..Constraint::unique(name.clone(), label, key) };
                transaction.create_constraint(rule, self.interrupt)?;
                made.push(Made { name, label: of.0.into(), key: of.1.into() });
            }
        }
        if !made.is_empty() {
            transaction.commit()?;
        }
        Ok(made)
    }

    fn all_keys(&self) -> Vec<PropertyKeyId> {
        (0..self.view.schema().property_keys.len() as u32).map(PropertyKeyId).collect()
    }

    /// Loads nodes.
    fn nodes(&mut self, chosen: Option<Vec<NodeId>>, load: &mut BulkLoad) -> Result<Ids> {
        let keys = self.all_keys();
        let mut nodes = Vec::new();
        if let Some(chosen) = chosen {
            for batch in chosen.chunks(BATCH_ROWS) {
                let columns = self.view.node_properties(batch, &keys)?;
                self.load_nodes(batch, &keys, &columns, &mut nodes, load)?;
            }
            nodes.sort_unstable();
            return Ok(nodes);
        }
        // Label by label, so that a source is not asked for properties that it does not keep there.
        let labels = (0..self.view.schema().labels.len() as u32).map(LabelId);
        for label in labels {
            let scan = NodeScan { labels: vec![label], keys: keys.clone(), ..NodeScan::default() };
            self.scan_nodes(&scan, Some(label), &mut nodes, load)?;
        }
        self.scan_nodes(&NodeScan { keys, ..NodeScan::default() }, None, &mut nodes, load)?;
        nodes.sort_unstable();
        Ok(nodes)
    }

    /// Loads the nodes of a scan whose first label is that one.
    fn scan_nodes(&self, scan: &NodeScan, first: Option<LabelId>, nodes: &mut Ids, load: &mut BulkLoad) -> Result<()> {
        let (mut cursor, mut batch) = (self.view.scan(scan)?, NodeBatch::default());
        while cursor.next(&mut batch)? {
            let labels = self.view.node_labels(&batch.nodes)?;
            let is_new = |row: &u32| labels[*row as usize].first().copied() == first;
            let rows: Vec<u32> = (0..batch.nodes.len() as u32).filter(is_new).collect();
            let found: Vec<NodeId> = rows.iter().map(|&row| batch.nodes[row as usize]).collect();
            let columns: Vec<Column> = batch.properties.iter().map(|column| column.gather(&rows)).collect();
            self.load_nodes(&found, &scan.keys, &columns, nodes, load)?;
        }
        Ok(())
    }

    fn load_nodes(
        &self,
        nodes: &[NodeId],
        keys: &[PropertyKeyId],
        columns: &[Column],
        ids: &mut Ids,
        load: &mut BulkLoad,
    ) -> Result<()> {
        self.interrupt.check()?;
        let mut groups: Map<Vec<LabelId>, Vec<u32>> = Map::default();
        for (row, labels) in self.view.node_labels(nodes)?.into_iter().enumerate() {
            groups.entry(labels).or_default().push(row as u32);
        }
        let schema = self.view.schema();
        for (labels, rows) in groups {
            let labels: Vec<&str> = labels.iter().map(|&label| schema.label_name(label)).collect();
            let (names, columns) = self.present(keys, columns, &rows);
            let count = rows.len();
            let new = NodeRows { count, labels: &labels, key: None, names: &names, columns: &columns, origin: 0 };
            let added = load.push_nodes(&new)?;
            if let Some(failure) = added.errors.first() {
                return Err(self.refused(&labels, failure));
            }
            let old = rows.iter().map(|&row| nodes[row as usize]);
            ids.extend(old.zip(added.nodes).filter_map(|(old, new)| Some((old, new?))));
        }
        let done = self.progress.nodes.fetch_add(nodes.len() as u64, Ordering::Relaxed) + nodes.len() as u64;
        self.report(done);
        Ok(())
    }

    /// The error of a node that the store does not take. A constraint that the copy has made is no business of users: they
    /// hear which rows have one key.
    fn refused(&self, labels: &[&str], failure: &RowError) -> Error {
        let reason = &failure.reason;
        let is_made =
            |made: &&Made| failure.constraint.as_ref().is_some_and(|of| *of.0 == *made.label && *of.1 == *made.key);
        let Some(made) = self.made.iter().find(is_made) else {
            return error!(Constraint, "a node of :{} cannot be copied: {reason}", labels.join(":"))
                .with_remedy("copy a part of the source, or drop the constraint");
        };
        let kinds = self.definition.map_or(&[][..], |definition| &definition.nodes);
        let kind = kinds.iter().find(|kind| kind.labels.contains(&made.label));
        let (place, key) = kind.map_or_else(
            || (format!("the nodes of :{}", made.label), made.key.to_string()),
            |kind| (place_of(kind), kind.key.join(", ")),
        );
        error!(Constraint, "two rows of {place} have the same key {key}: {reason}")
            .with_remedy(format!("keep one of them, or name columns as the key that differ in every row of {place}"))
    }

    /// Tells how far it has come, by what the source said of its size.
    fn report(&self, done: u64) {
        let counts = self.view.estimates();
        self.interrupt.report(done, (counts.nodes + counts.edges).max(done));
    }

    /// Some rows of columns, those of nothing but nulls left out.
    fn present(&self, keys: &[PropertyKeyId], columns: &[Column], rows: &[u32]) -> (Vec<&str>, Vec<Column>) {
        let names = keys.iter().map(|&key| self.view.schema().property_key_name(key));
        let picked = columns.iter().map(|column| column.gather(rows));
        names.zip(picked).filter(|(_, column)| (0..column.len()).any(|row| !column.is_null(row))).unzip()
    }
}

/// The place of the rows of a kind, as users named it.
fn place_of(kind: &NodeKind) -> String {
    match &kind.rows {
        Rows::Table { schema: Some(schema), name } => format!("the table {schema}.{name}"),
        Rows::Table { schema: None, name } => format!("the table {name}"),
        Rows::File { path } => path.display().to_string(),
        Rows::Query(_) | Rows::ByKey { .. } => format!("the query of {}", kind.name),
        Rows::Keys(keys) => format!("the keys {}", keys.pattern),
    }
}
