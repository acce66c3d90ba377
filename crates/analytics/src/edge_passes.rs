//! The edges of a selection in arrays, one pass after another: for programs that compute over whole arrays, as those of
//! NumPy do.
//!
//! An edge is a pair of numbers: that of the node it is followed from, and that of the node it leads to. Passes over one
//! opening see the same moment, and give the same edges in the same order.
//! Cost: a pass reads the edges once, by source, in sequential reads; with `among`, only what holds edges of these nodes,
//! as far as the store can tell. Held are the arrays of a batch and, where ids are not the numbers, 12 bytes a node.
//! After: Roy, Mihailovic, Zwaenepoel, "X-Stream", 2013; Zhu, Han, Chen, "GridGraph", 2015.

use std::borrow::Cow;

use model::batch::{EdgeBatch, EdgeRuns};
use model::column::{Bitmap, Column};
use model::error::Result;
use model::id::{EdgeTypeId, NodeId, PropertyKeyId};
use model::interrupt::Interrupt;
use model::limits::BATCH_ROWS;
use model::procedure::Workspace;
use model::store::{Direction, EdgeIds, EdgePartitions, ReadView, RunScan};
use model::value::Value;

use crate::graph::choice::{Answer, Load};
use crate::graph::{Estimate, Execution, Needs, Pace, Selection};
use crate::graph_view::Sides;
use crate::held::Held;
use crate::numbering::{ABSENT, Numbering};
use crate::projection::{Projection, Weight, edge_text, is_cost, property_key};
use crate::settings::kind::Names;
use crate::settings::shared::{DIRECTION, LABELS, TYPES, WEIGHTS};
use crate::settings::table::{Setting, Unset};
use crate::settings::{Settings, Table};
use crate::streamed::partitions_of;

/// Least number of edges of a batch, except for the last one of a pass.
pub const BATCH_EDGES: usize = 1 << 17;
static PROPERTIES: Setting<Names, Unset> =
    Setting::new("properties", Names, Unset("none"), "Properties of relationships that passes give.");
/// Settings of a selection.
const SETTINGS: &[Table] = &[&[&LABELS, &TYPES, &DIRECTION], WEIGHTS, &[&PROPERTIES]];

/// A batch of edges: arrays of one length.
#[derive(Clone, Debug, Default)]
pub struct EdgeArrays {
    /// For each edge the number of the node that it is followed from.
    pub sources: Vec<u32>,
    /// For each edge the number of the node that it leads to.
    pub targets: Vec<u32>,
    /// The weights of edges; empty without weights.
    pub weights: Vec<f64>,
    /// The properties that were asked for.
    pub properties: Vec<Column>,
}

/// Takes a batch; false if no more are wanted in this pass.
pub type EdgeSink<'s> = dyn FnMut(EdgeArrays) -> Result<bool> + 's;

/// A selection whose edges can be passed over.
pub struct EdgePasses<'a> {
    view: &'a dyn ReadView,
    projection: Projection,
    weight: Option<Weight>,
    keys: Vec<PropertyKeyId>,
    numbering: Numbering,
    interrupt: &'a Interrupt,
    _held: Held<'a>,
}

/// The way in which the runs of a partition become edges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// From the node of a run to its neighbors.
    Along,
    /// From the neighbors of a run to its node.
    Against,
    /// Both; edges from a node to itself once.
    Both,
    /// From the node of a run to its neighbors, except for edges from a node to itself.
    AlongToOthers,
}

impl<'a> EdgePasses<'a> {
    /// Opens a selection: `labels`, `types`, `direction`, `weightProperty`, `defaultWeight` and `properties`, as settings
    /// of algorithms have them.
    pub fn open(
        view: &'a dyn ReadView,
        settings: &Value,
        interrupt: &'a Interrupt,
        workspace: &'a dyn Workspace,
    ) -> Result<EdgePasses<'a>> {
        let settings = Settings::new("the edges of a program", settings, SETTINGS.concat(), view)?;
        let schema = view.schema();
        let projection = Projection::read(&settings, schema, settings.get(&DIRECTION)?)?;
        let weight = Weight::read(&settings, schema)?;
        let names = settings.get(&PROPERTIES)?.flatten().unwrap_or_default();
        let keys = names.iter().map(|name| property_key(schema, name)).collect::<Result<_>>()?;
        let selection = Selection { view, projection: &projection, weight: weight.as_ref(), sides: Sides::Forward };
        let needs = Needs { sides: Sides::Forward, node_bytes: 0, edge_bytes: 0, executions: &[Execution::Streaming] };
        let load = Load::new(&needs, Answer::Values);
        let bytes = Estimate::of(&selection, &load, Execution::Streaming, Pace::full(1)).bytes;
        let held = Held::take(workspace, "a pass over edges", bytes as usize)?;
        let numbering = Numbering::build(view, projection.labels.as_deref(), interrupt)?;
        Ok(EdgePasses { view, projection, weight, keys, numbering, interrupt, _held: held })
    }

    /// Number of nodes that take part.
    pub fn node_count(&self) -> usize {
        self.numbering.len()
    }

    /// The nodes in order of their numbers, which is that of their ids.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.numbering.len() as u32).map(|number| self.numbering.node(number))
    }

    /// Number of edges of the types asked for, whatever the labels of their ends.
    pub fn edge_count(&self) -> u64 {
        let statistics = self.view.statistics();
        match &self.projection.types {
            None => statistics.edges,
            Some(types) => types.iter().map(|&edge_type| statistics.edge_type(edge_type)).sum(),
        }
    }

    /// For each node, over how many edges it is left: a pass of its own.
    pub fn degrees(&self) -> Result<Vec<u32>> {
        let mut degrees = vec![0; self.node_count()];
        self.run(None, Brought::Nothing, &mut |edges| {
            edges.sources.iter().for_each(|&source| degrees[source as usize] += 1);
            Ok(true)
        })?;
        Ok(degrees)
    }

    /// Gives all edges, or those that are followed from the nodes whose bits are set.
    pub fn pass(&self, among: Option<&Bitmap>, sink: &mut EdgeSink<'_>) -> Result<()> {
        self.run(among, Brought::Asked, sink)
    }

    /// The flag that stops a pass.
    pub fn interrupt(&self) -> &Interrupt {
        self.interrupt
    }

    fn run(&self, among: Option<&Bitmap>, brought: Brought, sink: &mut EdgeSink<'_>) -> Result<()> {
        if among.is_some_and(|among| among.len() != self.node_count()) {
            let (found, expected) = (among.map_or(0, Bitmap::len), self.node_count());
            return Err(model::error!(Argument, "expected a bit for each of {expected} nodes, found {found}"));
        }
        let mut batch = Batch { passes: self, brought, edges: EdgeArrays::default(), sink, is_wanted: true };
        match partitions_of(self.view) {
            Some(partitions) => self.stream(partitions, among, &mut batch)?,
            None => self.expand(among, &mut batch)?,
        }
        if batch.is_wanted && !batch.edges.sources.is_empty() {
            batch.flush()?;
        }
        Ok(())
    }

    fn stream(
        &self,
        partitions: &dyn EdgePartitions,
        among: Option<&Bitmap>,
        batch: &mut Batch<'_, '_, '_>,
    ) -> Result<()> {
        let by_id = among.map(|among| self.by_id(among));
        let types = self.projection.types.as_deref();
        let ways: &[(Direction, Follow)] = match (self.projection.direction, among.is_some()) {
            (Direction::Out, _) => &[(Direction::Out, Follow::Along)],
            (Direction::In, false) => &[(Direction::Out, Follow::Against)],
            (Direction::In, true) => &[(Direction::In, Follow::Along)],
            (Direction::Both, false) => &[(Direction::Out, Follow::Both)],
            (Direction::Both, true) => &[(Direction::Out, Follow::Along), (Direction::In, Follow::AlongToOthers)],
        };
        let mut runs = EdgeRuns::default();
        for partition in (0..partitions.count()).filter(|&at| partitions.edge_count(at, types) > 0) {
            for &(direction, follow) in ways {
                let scan = RunScan {
                    direction,
                    types: self.projection.types.clone(),
                    nodes: None,
                    among: by_id.as_deref(),
                    keys: batch.keys(),
                    others: 0,
                };
                let mut cursor = partitions.runs(partition, &scan)?;
                while cursor.next(&mut runs)? {
                    self.interrupt.check()?;
                    batch.take_runs(&runs, follow)?;
                    if !batch.is_wanted {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// The bits of nodes by their ids.
    fn by_id<'b>(&self, among: &'b Bitmap) -> Cow<'b, Bitmap> {
        if matches!(self.numbering, Numbering::Identity(_)) {
            return Cow::Borrowed(among);
        }
        let mut bits = Bitmap::filled(self.view.node_id_bound() as usize, false);
        for (number, node) in self.nodes().enumerate() {
            if among.get(number) {
                bits.set(node.index(), true);
            }
        }
        Cow::Owned(bits)
    }

    /// The same for stores without partitions: follows the edges of a batch of nodes after the other.
    fn expand(&self, among: Option<&Bitmap>, batch: &mut Batch<'_, '_, '_>) -> Result<()> {
        let expand = self.projection.expand(self.projection.direction, batch.keys(), EdgeIds::Omit);
        let rows = if self.view.capabilities().is_remote { 8 * BATCH_ROWS } else { BATCH_ROWS };
        let mut wanted: Vec<u32> = Vec::with_capacity(rows);
        let mut input = EdgeBatch::default();
        let count = self.node_count() as u32;
        let mut next = 0;
        while next < count {
            wanted.clear();
            while next < count && wanted.len() < rows {
                if among.is_none_or(|among| among.get(next as usize)) {
                    wanted.push(next);
                }
                next += 1;
            }
            let nodes: Vec<NodeId> = wanted.iter().map(|&number| self.numbering.node(number)).collect();
            let mut cursor = self.view.expand(&nodes, &expand)?;
            while cursor.next(&mut input)? {
                self.interrupt.check()?;
                batch.take_expanded(&input, &wanted)?;
                if !batch.is_wanted {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The values that come with the ends of edges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brought {
    Nothing,
    /// Weights and properties, as the selection asks for them.
    Asked,
}

/// A batch that is being filled.
struct Batch<'p, 's, 'k> {
    passes: &'p EdgePasses<'p>,
    brought: Brought,
    edges: EdgeArrays,
    sink: &'s mut EdgeSink<'k>,
    is_wanted: bool,
}

impl Batch<'_, '_, '_> {
    /// The weight that is brought along.
    fn weight(&self) -> Option<&Weight> {
        self.passes.weight.as_ref().filter(|_| self.brought == Brought::Asked)
    }

    /// The properties to ask the store for: that of the weight first.
    fn keys(&self) -> Vec<PropertyKeyId> {
        match self.brought {
            Brought::Nothing => Vec::new(),
            Brought::Asked => {
                let weight = self.passes.weight.as_ref().map_or_else(Vec::new, Weight::keys);
                weight.into_iter().chain(self.passes.keys.iter().copied()).collect()
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.is_wanted = (self.sink)(std::mem::take(&mut self.edges))?;
        Ok(())
    }

    fn take_runs(&mut self, runs: &EdgeRuns, follow: Follow) -> Result<()> {
        let numbering = &self.passes.numbering;
        let edges = runs.neighbors.len();
        let edge_type = |_: usize| runs.edge_type;
        if matches!(numbering, Numbering::Identity(_)) && follow != Follow::AlongToOthers {
            let first = self.edges.sources.len();
            let (of_runs, of_neighbors) = match follow {
                Follow::Against => (&mut self.edges.targets, &mut self.edges.sources),
                _ => (&mut self.edges.sources, &mut self.edges.targets),
            };
            runs.runs().for_each(|(node, run)| of_runs.extend(std::iter::repeat_n(node, run.len())));
            of_neighbors.extend_from_slice(&runs.neighbors);
            self.bring(&runs.properties, None, edges, first, edge_type)?;
            if follow == Follow::Both {
                self.turn(first, edges, &runs.properties, edge_type)?;
            }
        } else {
            let first = self.edges.sources.len();
            let mut rows: Vec<u32> = Vec::with_capacity(edges);
            let mut row = 0;
            for (id, run) in runs.runs() {
                let number = numbering.number(id);
                for &neighbor in run {
                    let other = numbering.number(neighbor);
                    let is_left_out = follow == Follow::AlongToOthers && other == number;
                    if number != ABSENT && other != ABSENT && !is_left_out {
                        let (source, target) =
                            if follow == Follow::Against { (other, number) } else { (number, other) };
                        self.edges.sources.push(source);
                        self.edges.targets.push(target);
                        rows.push(row);
                    }
                    row += 1;
                }
            }
            self.bring(&runs.properties, Some(&rows), edges, first, edge_type)?;
            if follow == Follow::Both {
                let properties: Vec<Column> = runs.properties.iter().map(|column| column.gather(&rows)).collect();
                self.turn(first, rows.len(), &properties, edge_type)?;
            }
        }
        if self.edges.sources.len() >= BATCH_EDGES { self.flush() } else { Ok(()) }
    }

    fn take_expanded(&mut self, input: &EdgeBatch, wanted: &[u32]) -> Result<()> {
        let (mut numbers, mut rows) = (Vec::new(), Vec::with_capacity(input.len()));
        self.passes.numbering.indices(&input.neighbors, &mut numbers);
        let first = self.edges.sources.len();
        for (row, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != ABSENT) {
            self.edges.sources.push(wanted[input.inputs[row] as usize]);
            self.edges.targets.push(number);
            rows.push(row as u32);
        }
        self.bring(&input.properties, Some(&rows), input.len(), first, |row| input.types[row])?;
        if self.edges.sources.len() >= BATCH_EDGES { self.flush() } else { Ok(()) }
    }

    /// Adds the edges from `first` on the other way round, except those from a node to itself.
    fn turn(
        &mut self,
        first: usize,
        count: usize,
        properties: &[Column],
        edge_type: impl Fn(usize) -> EdgeTypeId,
    ) -> Result<()> {
        let EdgeArrays { sources, targets, .. } = &mut self.edges;
        let rows: Vec<u32> =
            (0..count as u32).filter(|&row| sources[first + row as usize] != targets[first + row as usize]).collect();
        let turned = sources.len();
        for &row in &rows {
            let (source, target) = (sources[first + row as usize], targets[first + row as usize]);
            sources.push(target);
            targets.push(source);
        }
        self.bring(properties, Some(&rows), count, turned, edge_type)
    }

    /// Adds the weights and properties of some rows, or of all, whose ends were added from `first` on.
    fn bring(
        &mut self,
        columns: &[Column],
        rows: Option<&[u32]>,
        count: usize,
        first: usize,
        edge_type: impl Fn(usize) -> EdgeTypeId,
    ) -> Result<()> {
        if self.brought == Brought::Nothing {
            return Ok(());
        }
        let mut columns = columns;
        if let Some(weight) = self.weight() {
            let mut costs = Vec::with_capacity(count);
            let (own, others) = columns.split_at(weight.keys().len());
            weight.append(own, count, &mut costs);
            if let Some(rows) = rows {
                costs = rows.iter().map(|&row| costs[row as usize]).collect();
            }
            if let Some(at) = costs.iter().position(|&cost| !is_cost(cost)) {
                let row = rows.map_or(at, |rows| rows[at] as usize);
                let value = own.first().map_or(Value::Null, |column| column.value(row));
                let node = |numbers: &[u32]| self.passes.numbering.node(numbers[first + at]);
                let ends = (node(&self.edges.sources), node(&self.edges.targets));
                let name = self.passes.view.schema().edge_type_name(edge_type(row));
                return Err(weight.fault(&value, &edge_text(name, ends.0, ends.1)));
            }
            columns = others;
            self.edges.weights.extend(costs);
        }
        let is_first = self.edges.properties.is_empty();
        for (at, column) in columns.iter().enumerate() {
            let chosen = rows.map_or(Cow::Borrowed(column), |rows| Cow::Owned(column.gather(rows)));
            if is_first {
                self.edges.properties.push(chosen.into_owned());
            } else {
                self.edges.properties[at].append(&chosen);
            }
        }
        Ok(())
    }
}
