//! The shape of a graph: which labels have which properties of which types, and what relationships join. Drawn from a sample
//! of nodes of each label and relationships of each type, spread over the store; exact where there are no more than that.
//!
//! Cost: a few thousand nodes and relationships, whatever the size of the store; every one if that is asked for.

use std::collections::{BTreeMap, BTreeSet};

use model::batch::EdgeBlock;
use model::store::{EdgeIds, EdgeStream, Expand, FirstNodes, NodeScan, ReadView};
use model::{EdgeBatch, EdgeId, EdgeTypeId, Interrupt, LabelId, NodeBatch, NodeId, PropertyKeyId, Result, Set, Value};

/// Nodes or relationships that are looked at in all, if there are many labels or types; and of each at least.
const SAMPLE_MAX: u64 = 1 << 16;
const SAMPLE_MIN: u64 = 16;
/// Places of the store at which samples of one label are taken.
const PLACES: u64 = 8;
/// Nodes whose properties are read at a time.
const BATCH: usize = 1_024;

/// The types that values of a property have.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyShape {
    /// Nodes or relationships of the sample that have the property.
    pub(crate) present: u64,
    /// Names of the types of single values, as `valueType()` says them.
    pub(crate) types: BTreeSet<&'static str>,
    /// Names of the types of elements of lists.
    pub(crate) lists: BTreeSet<&'static str>,
}

/// The properties of one kind of nodes or relationships.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    /// Number of them in all, as far as that is known.
    pub(crate) count: u64,
    /// Number of those that were looked at.
    pub(crate) sampled: u64,
    pub(crate) keys: BTreeMap<PropertyKeyId, KeyShape>,
}

impl Properties {
    /// True if every one was looked at.
    pub(crate) fn is_exact(&self) -> bool {
        self.sampled >= self.count
    }

    fn add(&mut self, properties: &[(PropertyKeyId, Value)]) {
        self.sampled += 1;
        for (key, value) in properties {
            let held = self.keys.entry(*key).or_default();
            held.present += 1;
            match value {
                Value::List(items) => {
                    held.lists.insert(items.first().map_or("ANY", Value::type_name));
                }
                other => {
                    held.types.insert(other.type_name());
                }
            }
        }
    }
}

/// The relationships of a type.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeShape {
    pub(crate) properties: Properties,
    /// About how many of them lead from nodes of one label to nodes of another.
    pub(crate) pairs: BTreeMap<(LabelId, LabelId), u64>,
}

/// The shape of a graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) labels: BTreeMap<LabelId, Properties>,
    /// The nodes of each set of labels that was met.
    pub(crate) kinds: BTreeMap<Vec<LabelId>, Properties>,
    pub(crate) types: BTreeMap<EdgeTypeId, TypeShape>,
}

impl Shape {
    /// Looks at up to about `sample` nodes of each label and relationships of each type; at all for `None`.
    pub(crate) fn draw(view: &dyn ReadView, sample: Option<u64>, interrupt: &Interrupt) -> Result<Shape> {
        let (schema, statistics) = (view.schema(), view.statistics());
        let labels: Vec<(LabelId, u64)> = (0..schema.labels.len() as u32)
            .map(|id| (LabelId(id), statistics.label(LabelId(id))))
            .filter(|(_, count)| *count > 0)
            .collect();
        let types: Vec<(EdgeTypeId, u64)> = (0..schema.edge_types.len() as u32)
            .map(|id| (EdgeTypeId(id), statistics.edge_type(EdgeTypeId(id))))
            .filter(|(_, count)| *count > 0)
            .collect();
        let most = |kinds: usize| {
            sample.map_or(u64::MAX, |sample| sample.min((SAMPLE_MAX / kinds.max(1) as u64).max(SAMPLE_MIN)).max(1))
        };
        let mut shape = Shape::default();
        let mut seen = Set::default();
        for &(label, count) in &labels {
            let properties = Properties { count, ..Properties::default() };
            shape.labels.insert(label, properties);
            let nodes = nodes_of(view, Some(label), count, most(labels.len()), interrupt)?;
            shape.add_nodes(view, Some(label), &nodes, &mut seen, interrupt)?;
        }
        // Nodes without a label are met among all.
        let nodes = nodes_of(view, None, statistics.nodes, most(1), interrupt)?;
        shape.add_nodes(view, None, &nodes, &mut seen, interrupt)?;
        for &(edge_type, count) in &types {
            interrupt.check()?;
            shape.add_edges(view, edge_type, count, most(types.len()), interrupt)?;
        }
        shape.add_sketches(view);
        Ok(shape)
    }

    fn add_nodes(
        &mut self,
        view: &dyn ReadView,
        label: Option<LabelId>,
        nodes: &[NodeId],
        seen: &mut Set<NodeId>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        for nodes in nodes.chunks(BATCH) {
            interrupt.check()?;
            let (labels, properties) = (view.node_labels(nodes)?, view.all_node_properties(nodes)?);
            for ((node, labels), properties) in nodes.iter().zip(labels).zip(properties) {
                if let Some(held) = label.and_then(|label| self.labels.get_mut(&label)) {
                    held.add(&properties);
                }
                if (label.is_some() || labels.is_empty()) && seen.insert(*node) {
                    self.kinds.entry(labels).or_default().add(&properties);
                }
            }
        }
        Ok(())
    }

    fn add_edges(
        &mut self,
        view: &dyn ReadView,
        edge_type: EdgeTypeId,
        count: u64,
        most: u64,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let held = self.types.entry(edge_type).or_default();
        held.properties.count = count;
        let edges = edges_of(view, edge_type, most, interrupt)?;
        let scale = |seen: u64, sampled: usize| seen.saturating_mul(count) / sampled.max(1) as u64;
        let mut pairs: BTreeMap<(LabelId, LabelId), u64> = BTreeMap::new();
        for edges in edges.chunks(BATCH) {
            interrupt.check()?;
            let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.0).collect();
            let ends = |end: fn(&(EdgeId, NodeId, NodeId)) -> NodeId| {
                let nodes: Vec<NodeId> = edges.iter().map(end).collect();
                view.node_labels(&nodes)
            };
            view.all_edge_properties(&ids)?.iter().for_each(|properties| held.properties.add(properties));
            for (sources, targets) in ends(|edge| edge.1)?.iter().zip(ends(|edge| edge.2)?) {
                let both = sources.iter().flat_map(|&source| targets.iter().map(move |&target| (source, target)));
                both.for_each(|pair| *pairs.entry(pair).or_default() += 1);
            }
        }
        held.pairs.extend(pairs.into_iter().map(|(pair, seen)| (pair, scale(seen, edges.len()).max(1))));
        Ok(())
    }

    /// Adds what the planner's sketches, drawn at the last merge from larger samples, have met.
    fn add_sketches(&mut self, view: &dyn ReadView) {
        let Some(sketches) = &view.statistics().sketches else { return };
        for (edge_type, sketch) in &sketches.edge_types {
            let Some(held) = self.types.get_mut(edge_type).filter(|held| !held.properties.is_exact()) else { continue };
            for (&(source, target), &count) in &sketch.pairs {
                let Some(pair) = source.zip(target) else { continue };
                if self.labels.contains_key(&pair.0) && self.labels.contains_key(&pair.1) {
                    held.pairs.insert(pair, count.max(1));
                }
            }
        }
        for &(label, key) in sketches.values.iter().filter(|(_, held)| held.present > 0).map(|(place, _)| place) {
            if let Some(held) = self.labels.get_mut(&label).filter(|held| !held.is_exact()) {
                held.keys.entry(key).or_default();
            }
        }
    }
}

/// Up to about `most` nodes of a label, from places all over the ids.
fn nodes_of(
    view: &dyn ReadView,
    label: Option<LabelId>,
    count: u64,
    most: u64,
    interrupt: &Interrupt,
) -> Result<Vec<NodeId>> {
    let bound = view.node_id_bound();
    let is_spread = view.capabilities().dense_node_ids && count > most && bound > PLACES;
    let places = if is_spread { PLACES } else { 1 };
    let mut nodes = Vec::new();
    let mut left = most;
    for place in 0..places {
        let range = is_spread.then(|| bound * place / places..bound * (place + 1) / places);
        let wanted = left.div_ceil(places - place);
        let first = (count > most).then(|| FirstNodes { order: Vec::new(), limit: wanted });
        let scan = NodeScan { labels: label.into_iter().collect(), range, first, ..NodeScan::default() };
        let mut cursor = view.scan(&scan)?;
        let (mut batch, mut found) = (NodeBatch::default(), 0);
        while found < wanted && cursor.next(&mut batch)? {
            interrupt.check()?;
            let taken = batch.nodes.len().min(usize::try_from(wanted - found).unwrap_or(usize::MAX));
            nodes.extend_from_slice(&batch.nodes[..taken]);
            found += taken as u64;
        }
        left -= found;
    }
    Ok(nodes)
}

/// Up to about `most` edges of a type, from several partitions where the store has some.
fn edges_of(
    view: &dyn ReadView,
    edge_type: EdgeTypeId,
    most: u64,
    interrupt: &Interrupt,
) -> Result<Vec<(EdgeId, NodeId, NodeId)>> {
    let mut edges = Vec::new();
    let mut left = most;
    if let Some(partitions) = view.edge_partitions() {
        let stream = EdgeStream { types: Some(vec![edge_type]), edge_ids: EdgeIds::Include, ..EdgeStream::default() };
        let with_edges: Vec<usize> =
            (0..partitions.count()).filter(|&at| partitions.edge_count(at, Some(&[edge_type])) > 0).collect();
        let step = if left == u64::MAX { 1 } else { with_edges.len().div_ceil(PLACES as usize).max(1) };
        let chosen: Vec<usize> = with_edges.into_iter().step_by(step).collect();
        for (place, &partition) in chosen.iter().enumerate() {
            let wanted = left.div_ceil((chosen.len() - place) as u64);
            let (mut cursor, mut block) = (partitions.stream(partition, &stream)?, EdgeBlock::default());
            let mut found = 0;
            while found < wanted && cursor.next(&mut block)? {
                interrupt.check()?;
                let all = block.edges.iter().zip(&block.sources).zip(&block.targets);
                let taken = usize::try_from(wanted - found).unwrap_or(usize::MAX);
                edges.extend(all.take(taken).map(|((&edge, &source), &target)| (edge, source, target)));
                found += block.edges.len().min(taken) as u64;
            }
            left -= found;
        }
        return Ok(edges);
    }
    // Edges of the first nodes that have some.
    let expand = Expand { types: Some(vec![edge_type]), edge_ids: EdgeIds::Include, ..Expand::default() };
    let (mut scan, mut nodes) = (view.scan(&NodeScan::default())?, NodeBatch::default());
    let mut passed = 0;
    while left > 0 && (most == u64::MAX || passed < SAMPLE_MAX) && scan.next(&mut nodes)? {
        passed += nodes.nodes.len() as u64;
        let (mut cursor, mut batch) = (view.expand(&nodes.nodes, &expand)?, EdgeBatch::default());
        while left > 0 && cursor.next(&mut batch)? {
            interrupt.check()?;
            let taken = batch.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            for row in 0..taken {
                edges.push((batch.edges[row], nodes.nodes[batch.inputs[row] as usize], batch.neighbors[row]));
            }
            left -= taken as u64;
        }
    }
    Ok(edges)
}
