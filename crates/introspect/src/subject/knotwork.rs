//! A store of Knotwork as a subject: read only, by calls of its interface and by statements. Writes go to a copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use database::{Access, Config, Database, Session, StoppingClock};
use model::meter::{self, Meter};
use model::mix::mix64;
use model::platform::Clock;
use model::store::{EdgeIds, Expand};
use model::{
    Column, ColumnData, Direction, EdgeBatch, EdgeId, EdgeTypeId, EdgeValue, Interrupt, LabelId, NodeBatch, NodeId,
    NodeScan, PropertyKeyId, ReadView, Result, Set, Value, error,
};

use self::writes::Writes;
use super::workload::{self, Statement};
use super::{Call, Choice, Counts, Description, Start, Subject};
use crate::machine::clock_cost;
use crate::operations::{Filter, Operation, Way};
use crate::os;
use crate::random::{Draws, Stream};

mod profiled;
pub(super) mod statements;
mod writes;

/// Nodes and edges looked at to find properties to read.
pub(super) const SAMPLE: usize = 256;
/// Candidates drawn for each start that is chosen by degree.
pub(super) const CANDIDATES: usize = 32;
/// Draws of a node after which ids without nodes are given up.
const DRAWS_MAX: usize = 1_000;
/// Iterations of PageRank.
const ITERATIONS: u64 = 20;

/// A store that is measured.
pub struct KnotworkStore {
    path: PathBuf,
    config: Config,
    clock: Arc<dyn Clock>,
    interrupt: Interrupt,
    statement_limit: Duration,
    /// The limit of calls that is set from outside.
    call_limit: Duration,
    names: Names,
    workload: Vec<Statement>,
    timer_ns: f64,
    cold_method: &'static str,
    open: Option<Open>,
    /// The copy, from when on it is measured in the place of the store. It is closed before it is removed.
    writes: Option<Writes>,
}

/// A store that is open.
struct Open {
    view: Arc<dyn ReadView>,
    session: Session,
    database: Database,
}

/// Names that operations use, as far as the store has such.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) edge_type: Option<(EdgeTypeId, String)>,
    pub(super) key: Option<((LabelId, String), (PropertyKeyId, String))>,
    pub(super) integer: Option<(PropertyKeyId, String)>,
    pub(super) string: Option<(PropertyKeyId, String)>,
    pub(super) of_edge: Option<(PropertyKeyId, String)>,
}

impl KnotworkStore {
    /// Opens a store to read. Statements that take longer than the limit fail.
    ///
    /// # Errors
    /// Those of opening it; `ARGUMENT` if it has no nodes.
    pub fn open(
        path: &Path,
        config: Config,
        clock: Arc<dyn Clock>,
        statement_limit: Duration,
        interrupt: &Interrupt,
    ) -> Result<KnotworkStore> {
        let mut store = KnotworkStore {
            path: path.to_owned(),
            config: Config { access: Access::ReadOnly, ..config },
            timer_ns: clock_cost(&*clock),
            clock,
            interrupt: interrupt.clone(),
            statement_limit,
            call_limit: Duration::MAX,
            names: Names::default(),
            workload: Vec::new(),
            cold_method: "the store is closed and opened anew; its files stay in the page cache",
            open: None,
            writes: None,
        };
        store.open_anew()?;
        let view = store.view()?;
        if view.statistics().nodes == 0 || !view.capabilities().dense_node_ids {
            let failed = error!(Argument, "{}: the store has no nodes to start from", path.display());
            return Err(failed.with_remedy("fill it first, as with knot generate or knot import"));
        }
        store.names = Names::of(&*view)?;
        store.workload = workload::built_in(&store.names.schema(view.schema()));
        Ok(store)
    }

    /// The same store, with other statements than those that are built in.
    ///
    /// # Errors
    /// `ARGUMENT` if one writes, as by a procedure that it calls. Those with mistakes are kept: their rows in the table tell them.
    pub fn with_statements(mut self, workload: Vec<Statement>) -> Result<KnotworkStore> {
        statements::check_reads(&mut self.opened()?.session, &workload)?;
        Ok(KnotworkStore { workload, ..self })
    }

    fn open_anew(&mut self) -> Result<()> {
        let database = Database::open_until(&self.path, self.config.clone(), &self.interrupt)?;
        let mut session = database.session();
        session.set_timeout(Some(self.statement_limit.min(self.call_limit)));
        session.time_by(StoppingClock::new(self.clock.clone(), &self.interrupt));
        let view = database.store().read()?;
        self.open = Some(Open { view, session, database });
        Ok(())
    }

    fn opened(&mut self) -> Result<&mut Open> {
        self.open.as_mut().ok_or_else(|| error!(Internal, "a subject is used after it failed to open"))
    }

    fn view(&mut self) -> Result<Arc<dyn ReadView>> {
        Ok(self.opened()?.view.clone())
    }

    /// Runs work and gives its time, what the store counted meanwhile, and its result.
    fn timed<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(u64, Meter, T)> {
        let before = meter::read();
        let start = self.clock.now_ns();
        let result = work()?;
        let ns = self.clock.now_ns() - start;
        Ok((ns, meter::read().since(before), result))
    }

    /// A call of the interface that may take long, within the limit of calls.
    fn within_limit<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _listening = self.interrupt.listen();
        let limit = (self.call_limit < Duration::MAX).then(|| (self.clock.clone(), self.call_limit));
        self.interrupt.set_deadline(limit);
        let outcome = work();
        self.interrupt.set_deadline(None);
        outcome
    }

    fn by_api(&mut self, operation: Operation, start: &Start) -> Result<Call> {
        let view = self.view()?;
        let (view, nodes, edge) = (&*view, [NodeId(start.node)], start.edge.map(EdgeId));
        let edges: Vec<EdgeId> = edge.into_iter().collect();
        let names = self.names.clone();
        let one = |work: &dyn Fn() -> Result<u64>| -> Result<Call> {
            let (ns, metered, checksum) = self.timed(work)?;
            Ok(Call { ns, rows: 1, checksum, counts: counts_of(&metered) })
        };
        let property = |key: Option<PropertyKeyId>| -> Result<Call> {
            let keys: Vec<PropertyKeyId> = key.into_iter().collect();
            let mut call = one(&|| view.node_properties(&nodes, &keys).map(|columns| checksum_of(&columns)))?;
            call.counts.properties = 1;
            Ok(call)
        };
        match operation {
            Operation::NodeById => one(&|| {
                let labels = view.node_labels(&nodes)?;
                view.nodes_exist(&nodes).map(|found| found.count_ones() as u64 * labels.len() as u64)
            }),
            Operation::NodeByKey => {
                let (label, key) = names.key.map_or_else(Default::default, |((label, _), (key, _))| (label, key));
                let values = Column::constant(start.key.as_ref().unwrap_or(&Value::Null), 1);
                one(&|| view.lookup(label, key, &values).map(|found| checksum_of(&[found])))
            }
            Operation::NodeInteger => property(names.integer.map(|(key, _)| key)),
            Operation::NodeString => property(names.string.map(|(key, _)| key)),
            Operation::NodeLabels => one(&|| view.node_labels(&nodes).map(|labels| labels[0].len() as u64)),
            Operation::EdgeByText => {
                let named: Vec<&str> = start.edge_name.as_deref().into_iter().collect();
                one(&|| view.find_edges(&named).map(|found| found.iter().flatten().count() as u64))
            }
            Operation::EdgeProperty => {
                let keys: Vec<PropertyKeyId> = names.of_edge.into_iter().map(|(key, _)| key).collect();
                let mut call = one(&|| view.edge_properties(&edges, &keys).map(|columns| checksum_of(&columns)))?;
                call.counts.properties = 1;
                Ok(call)
            }
            Operation::Degree(direction) => one(&|| view.degrees(&nodes, direction, None).map(|degrees| degrees[0])),
            Operation::FirstNeighbor(direction, filter) => {
                let expand = names.expand(direction, filter);
                self.neighbors(view, nodes[0], &expand, 1)
            }
            Operation::Neighbors(direction, filter) => {
                let expand = names.expand(direction, filter);
                self.neighbors(view, nodes[0], &expand, u64::MAX)
            }
            Operation::Hops(direction, hops) => {
                let (ns, metered, (found, counts)) =
                    self.within_limit(|| self.timed(|| hop(view, nodes[0], direction, hops)))?;
                let counts = Counts { unique_nodes: found, ..with(counts, &metered) };
                Ok(Call { ns, rows: found, checksum: found, counts })
            }
            Operation::Clustering => {
                let (ns, metered, (links, counts)) =
                    self.within_limit(|| self.timed(|| links_among_neighbors(view, nodes[0])))?;
                Ok(Call { ns, rows: 1, checksum: links, counts: with(counts, &metered) })
            }
            _ => Err(error!(Internal, "{operation} is asked for by statements only")),
        }
    }

    fn neighbors(&self, view: &dyn ReadView, node: NodeId, expand: &Expand, most: u64) -> Result<Call> {
        let (ns, metered, (rows, checksum)) = self.timed(|| {
            let from = [node];
            let (mut cursor, mut batch) = (view.expand(&from, expand)?, EdgeBatch::default());
            let (mut rows, mut checksum) = (0, 0_u64);
            while rows < most && cursor.next(&mut batch)? {
                let taken = batch.neighbors.iter().take((most - rows) as usize);
                checksum = taken.fold(checksum, |sum, neighbor| sum.wrapping_add(mix64(neighbor.0)));
                rows += (batch.len() as u64).min(most - rows);
            }
            Ok((rows, checksum))
        })?;
        let properties = if expand.keys.is_empty() { 0 } else { rows };
        let counts = Counts { neighborhoods: lists(expand.direction), edges: rows, properties, ..Counts::default() };
        Ok(Call { ns, rows, checksum, counts: with(counts, &metered) })
    }

    fn by_statement(&mut self, operation: Operation, start: &Start) -> Result<Call> {
        let (text, parameters) = statements::call(operation, &self.names, &self.workload, start)?;
        let (clock, open) = (self.clock.clone(), self.opened()?);
        let before = meter::read();
        let begin = clock.now_ns();
        let result = open.session.query(&text, &parameters)?;
        let ns = clock.now_ns() - begin;
        let metered = meter::read().since(before);
        let (nodes, edges) = (open.view.statistics().nodes, open.view.statistics().edges);
        let (rows, checksum, counts) = statements::outcome(operation, &result, (nodes, edges));
        Ok(Call { ns, rows, checksum, counts: with(counts, &metered) })
    }

    /// Reads all nodes, and their edges in both directions, with all properties.
    fn scan(&self, view: &dyn ReadView) -> Result<()> {
        let keys: Vec<PropertyKeyId> = (0..view.schema().property_keys.len() as u32).map(PropertyKeyId).collect();
        let scan = NodeScan { keys: keys.clone(), ..NodeScan::default() };
        let (mut cursor, mut nodes, mut edges) = (view.scan(&scan)?, NodeBatch::default(), EdgeBatch::default());
        while cursor.next(&mut nodes)? {
            for direction in [Direction::Out, Direction::In] {
                let expand = Expand { direction, keys: keys.clone(), ..Expand::default() };
                let mut cursor = view.expand(&nodes.nodes, &expand)?;
                while cursor.next(&mut edges)? {
                    self.interrupt.check()?;
                }
            }
        }
        Ok(())
    }

    /// A node drawn evenly from those that are there, of the first `bound` ids.
    fn draw(view: &dyn ReadView, bound: u64, draws: &mut Draws) -> Result<u64> {
        for _ in 0..DRAWS_MAX {
            let node = draws.below(bound.max(1));
            if view.nodes_exist(&[NodeId(node)])?.get(0) {
                return Ok(node);
            }
        }
        Err(error!(Unsupported, "of {DRAWS_MAX} ids that were drawn none is that of a node")
            .with_remedy("measure a store of which fewer nodes were deleted"))
    }

    fn start(&self, view: &dyn ReadView, node: u64, target: u64) -> Result<Start> {
        let from = [NodeId(node)];
        let expand = Expand { edge_ids: EdgeIds::Include, direction: Direction::Both, ..Expand::default() };
        let (mut cursor, mut batch) = (view.expand(&from, &expand)?, EdgeBatch::default());
        let edge = if cursor.next(&mut batch)? {
            let (neighbor, is_reversed) = (batch.neighbors[0], batch.reversed[0]);
            let (source, target) = if is_reversed { (neighbor, from[0]) } else { (from[0], neighbor) };
            Some(EdgeValue { id: batch.edges[0], source, target, edge_type: batch.types[0] })
        } else {
            None
        };
        let named = edge.map(|edge| view.element_ids(&[edge])).transpose()?;
        let edge_name = named.and_then(|names| names.first().cloned());
        let key = match &self.names.key {
            Some(((label, _), (key, _))) if view.has_label(&from, *label)?.get(0) => {
                view.node_properties(&from, &[*key])?.first().map(|column| column.value(0))
            }
            _ => None,
        };
        let edge = edge.map(|edge| edge.id.0);
        let key = key.filter(|key| !key.is_null());
        Ok(Start { node, edge, edge_name, target, key, turn: 0 })
    }
}

/// Adds what the store counted.
fn with(counts: Counts, metered: &Meter) -> Counts {
    Counts {
        block_uses: metered.block_uses,
        block_misses: metered.block_misses,
        bytes_read: metered.bytes_read,
        ..counts
    }
}

fn counts_of(metered: &Meter) -> Counts {
    with(Counts::default(), metered)
}

/// A sum over values that does not depend on their order.
pub(super) fn checksum_of(columns: &[Column]) -> u64 {
    let of_value = |value: Value| match value {
        Value::Int(number) => mix64(number.cast_unsigned()),
        Value::Node(node) => mix64(node.0),
        Value::String(text) => text.bytes().fold(text.len() as u64, |hash, byte| mix64(hash ^ u64::from(byte))),
        _ => 0,
    };
    columns.iter().flat_map(Column::values).map(of_value).fold(0, u64::wrapping_add)
}

/// Lists of neighbours that a node has in a direction.
pub(super) fn lists(direction: Direction) -> u64 {
    if direction == Direction::Both { 2 } else { 1 }
}

/// The number of different nodes within that number of hops, without the start.
fn hop(view: &dyn ReadView, start: NodeId, direction: Direction, hops: u32) -> Result<(u64, Counts)> {
    let expand = Expand { direction, ..Expand::default() };
    let mut seen = Set::default();
    seen.insert(start);
    let (mut frontier, mut counts, mut batch) = (vec![start], Counts::default(), EdgeBatch::default());
    for _ in 0..hops {
        let mut next = Vec::new();
        let mut cursor = view.expand(&frontier, &expand)?;
        while cursor.next(&mut batch)? {
            model::interrupt::work(batch.len())?;
            counts.edges += batch.len() as u64;
            next.extend(batch.neighbors.iter().copied().filter(|neighbor| seen.insert(*neighbor)));
        }
        counts.neighborhoods += frontier.len() as u64 * lists(direction);
        drop(cursor);
        // A store reads what lies side by side faster in order.
        next.sort_unstable();
        frontier = next;
    }
    Ok((seen.len() as u64 - 1, counts))
}

/// The number of edges from neighbours of a node to neighbours of it.
fn links_among_neighbors(view: &dyn ReadView, node: NodeId) -> Result<(u64, Counts)> {
    let both = Expand { direction: Direction::Both, ..Expand::default() };
    let from = [node];
    let (mut cursor, mut batch) = (view.expand(&from, &both)?, EdgeBatch::default());
    let mut neighbors = Set::default();
    let mut counts = Counts { neighborhoods: 2, ..Counts::default() };
    while cursor.next(&mut batch)? {
        counts.edges += batch.len() as u64;
        neighbors.extend(batch.neighbors.iter().copied().filter(|neighbor| *neighbor != node));
    }
    let mut inputs: Vec<NodeId> = neighbors.iter().copied().collect();
    inputs.sort_unstable();
    let mut links = 0;
    let mut cursor = view.expand(&inputs, &both)?;
    while cursor.next(&mut batch)? {
        model::interrupt::work(batch.len())?;
        counts.edges += batch.len() as u64;
        links += batch.neighbors.iter().filter(|neighbor| neighbors.contains(neighbor)).count() as u64;
    }
    counts.neighborhoods += 2 * inputs.len() as u64;
    counts.unique_nodes = inputs.len() as u64;
    Ok((links, counts))
}

impl Names {
    /// Names to use: the most frequent edge type, the first unique key, and properties that a sample has.
    fn of(view: &dyn ReadView) -> Result<Names> {
        let (schema, statistics) = (view.schema(), view.statistics());
        let types = (0..schema.edge_types.len() as u32).map(EdgeTypeId);
        let edge_type = types.max_by_key(|id| statistics.edge_type(*id));
        let named = |key: PropertyKeyId| (key, schema.property_key_name(key).to_owned());
        let keys = schema.constraints.iter().filter_map(|constraint| constraint.lookup_key());
        let key = keys.max_by_key(|(label, _)| statistics.label(*label));
        let mut names = Names {
            edge_type: edge_type.map(|id| (id, schema.edge_type_name(id).to_owned())),
            key: key.map(|(label, key)| ((label, schema.label_name(label).to_owned()), named(key))),
            ..Names::default()
        };
        let mut draws = Stream::new(1, "sample").draws(0);
        let bound = view.node_id_bound();
        let nodes = (0..SAMPLE).map(|_| KnotworkStore::draw(view, bound, &mut draws).map(NodeId));
        let nodes = nodes.collect::<Result<Vec<NodeId>>>()?;
        let of_key = key.map(|(_, key)| key);
        let sampled = view.all_node_properties(&nodes)?;
        names.integer = frequent(&sampled, |key, value| Some(key) != of_key && matches!(value, Value::Int(_)))
            .or_else(|| frequent(&sampled, |_, value| matches!(value, Value::Int(_))))
            .map(named);
        names.string = frequent(&sampled, |_, value| matches!(value, Value::String(_))).map(named);
        let expand = Expand { edge_ids: EdgeIds::Include, ..Expand::default() };
        let (mut cursor, mut batch) = (view.expand(&nodes, &expand)?, EdgeBatch::default());
        if cursor.next(&mut batch)? {
            batch.edges.truncate(SAMPLE);
            let sampled = view.all_edge_properties(&batch.edges)?;
            names.of_edge = frequent(&sampled, |_, value| matches!(value, Value::Int(_) | Value::Float(_)))
                .or_else(|| frequent(&sampled, |_, _| true))
                .map(named);
        }
        Ok(names)
    }

    /// The names of the graph, by which statements are chosen.
    fn schema(&self, schema: &model::Schema) -> workload::Schema {
        let labels = (0..schema.labels.len() as u32).map(|id| schema.label_name(LabelId(id)).to_owned());
        let types = (0..schema.edge_types.len() as u32).map(|id| schema.edge_type_name(EdgeTypeId(id)).to_owned());
        let keys = (0..schema.property_keys.len() as u32).map(PropertyKeyId);
        workload::Schema {
            labels: labels.collect(),
            types: types.collect(),
            properties: keys.map(|key| schema.property_key_name(key).to_owned()).collect(),
            key: self.key.clone().map(|((_, label), (_, key))| (label, key)),
        }
    }

    fn expand(&self, direction: Direction, filter: Filter) -> Expand {
        let types = match filter {
            Filter::Type => self.edge_type.as_ref().map(|(id, _)| vec![*id]),
            _ => None,
        };
        let keys = match filter {
            Filter::Property => self.of_edge.iter().map(|(key, _)| *key).collect(),
            _ => Vec::new(),
        };
        Expand { direction, types, keys, ..Expand::default() }
    }

    /// True if an operation has the names that it needs.
    pub(super) fn are_there_for(&self, operation: Operation) -> bool {
        match operation {
            Operation::NodeByKey => self.key.is_some(),
            Operation::NodeInteger => self.integer.is_some(),
            Operation::NodeString => self.string.is_some(),
            Operation::SetProperty => self.integer.is_some(),
            Operation::AddEdge => self.edge_type.is_some(),
            Operation::EdgeProperty | Operation::Neighbors(_, Filter::Property) => self.of_edge.is_some(),
            Operation::FirstNeighbor(_, Filter::Type) | Operation::Neighbors(_, Filter::Type) => {
                self.edge_type.is_some()
            }
            _ => true,
        }
    }

    pub(super) fn described(&self) -> Vec<(String, String)> {
        let pairs = [
            ("edge type", self.edge_type.as_ref().map(|(_, name)| name.clone())),
            ("key", self.key.as_ref().map(|((_, label), (_, key))| format!("{label}.{key}"))),
            ("integer property", self.integer.as_ref().map(|(_, name)| name.clone())),
            ("string property", self.string.as_ref().map(|(_, name)| name.clone())),
            ("edge property", self.of_edge.as_ref().map(|(_, name)| name.clone())),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// The property key that the most of a sample have with such a value.
fn frequent(
    sample: &[Vec<(PropertyKeyId, Value)>],
    is_wanted: impl Fn(PropertyKeyId, &Value) -> bool,
) -> Option<PropertyKeyId> {
    let mut counts = std::collections::BTreeMap::new();
    for (key, value) in sample.iter().flatten() {
        if is_wanted(*key, value) {
            *counts.entry(*key).or_insert(0) += 1;
        }
    }
    let (key, _) = counts.into_iter().max_by_key(|(key, count)| (*count, std::cmp::Reverse(*key)))?;
    Some(key)
}

impl Subject for KnotworkStore {
    fn describe(&self) -> Result<Description> {
        let open = self.open.as_ref().ok_or_else(|| error!(Internal, "a subject that is not open is described"))?;
        let info = open.database.info()?;
        let mut settings = self.names.described();
        settings.push(("memory limit".to_owned(), info.memory.0.to_string()));
        settings.push(("threads".to_owned(), self.config.threads.to_string()));
        Ok(Description {
            system: "knotwork".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            place: self.path.display().to_string(),
            nodes: info.nodes,
            edges: info.edges,
            bytes: info.files.iter().map(|(_, length)| length).sum(),
            settings,
            cold_method: self.cold_method.to_owned(),
        })
    }

    fn can(&self, operation: Operation, way: Way) -> bool {
        let has_names = self.names.are_there_for(operation);
        let is_asked = match operation {
            Operation::EmptyStatement | Operation::ShortestPath | Operation::Statement(_) => way == Way::Cypher,
            Operation::EdgeByText | Operation::EdgeProperty | Operation::Clustering => way == Way::Api,
            Operation::IngestBulk | Operation::IngestIncrement => {
                way == Way::Api && self.writes.as_ref().is_none_or(Writes::has_edges)
            }
            operation if operation.is_of_whole_graph() => way == Way::Cypher,
            _ => true,
        };
        has_names && is_asked
    }

    fn statements(&self) -> Vec<Operation> {
        workload::operations(&self.workload)
    }

    fn starts(&self, operation: Operation, chosen: &[Start]) -> Result<Vec<Start>> {
        workload::starts(&self.workload, operation, chosen)
    }

    fn count(&mut self, operation: Operation, start: &Start) -> Result<Option<Counts>> {
        let (text, parameters) = statements::call(operation, &self.names, &self.workload, start)?;
        let profile = self.opened()?.session.query(&format!("PROFILE {text}"), &parameters)?;
        Ok(profile.summary.report.as_ref().and_then(|report| profiled::counts(&report.lines)))
    }

    fn choose(&mut self, choice: Choice, count: usize, seed: u64) -> Result<Vec<Start>> {
        let view = self.view()?;
        let view = &*view;
        let mut draws = Stream::new(seed, choice.name()).draws(0);
        let bound = match choice {
            Choice::Within(bound) => bound.min(view.node_id_bound()),
            _ => view.node_id_bound(),
        };
        let mut nodes = Vec::with_capacity(count);
        for _ in 0..=count {
            self.interrupt.check()?;
            if choice != Choice::ByDegree {
                nodes.push(KnotworkStore::draw(view, bound, &mut draws)?);
                continue;
            }
            // One of a few nodes that are drawn evenly, as likely as it has edges.
            let candidates = (0..CANDIDATES).map(|_| KnotworkStore::draw(view, bound, &mut draws).map(NodeId));
            let candidates = candidates.collect::<Result<Vec<NodeId>>>()?;
            let degrees = view.degrees(&candidates, Direction::Both, None)?;
            let mut edge = draws.below(degrees.iter().sum::<u64>().max(1));
            let found = degrees.iter().position(|&degree| {
                let is_here = edge < degree;
                edge = edge.saturating_sub(degree);
                is_here
            });
            nodes.push(candidates[found.unwrap_or(0)].0);
        }
        nodes.windows(2).map(|pair| self.start(view, pair[0], pair[1])).collect()
    }

    fn perform(&mut self, operation: Operation, way: Way, start: &Start) -> Result<Call> {
        match way {
            _ if operation.is_write() => self.write(operation, way, start),
            Way::Api => self.by_api(operation, start),
            Way::Cypher => self.by_statement(operation, start),
        }
    }

    fn timer_ns(&self) -> f64 {
        self.timer_ns
    }

    fn limit(&mut self, limit: Option<Duration>) {
        self.call_limit = limit.unwrap_or(Duration::MAX);
        let limit = self.statement_limit.min(self.call_limit);
        if let Some(open) = &mut self.open {
            open.session.set_timeout(Some(limit));
        }
    }

    fn cool(&mut self) -> Result<()> {
        self.open = None;
        let is_dropped = os::forget_files(&self.path).map_err(|cause| model::Error::of_file(&self.path, &cause))?;
        if is_dropped {
            self.cold_method = "the store is closed, its files are dropped from the page cache, and it is opened anew";
        }
        self.open_anew()
    }

    fn copy(&mut self) -> Result<()> {
        let view = self.view()?;
        self.open = None;
        let writes = Writes::new(&self.path, &self.config, &*view, &self.interrupt)?;
        drop(view);
        self.path = writes.path().to_owned();
        self.config.access = Access::ReadWriteExisting;
        self.writes = Some(writes);
        self.open_anew()
    }

    fn warm(&mut self) -> Result<()> {
        let view = self.view()?;
        self.within_limit(|| self.scan(&*view))
    }
}

/// The integer of a column's row, or 0.
pub(super) fn integer(column: &Column, row: usize) -> u64 {
    match &column.data {
        ColumnData::Int(values) if !column.is_null(row) => values[row].cast_unsigned(),
        _ => 0,
    }
}
