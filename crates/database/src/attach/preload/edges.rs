//! The edges of a copy: those between nodes that were copied, and those between them and nodes of the native store.

use std::sync::atomic::Ordering;

use model::limits::BATCH_ROWS;
use model::{
    Direction, EdgeBatch, EdgeTypeId, Expand, LabelId, Map, NodeBatch, NodeId, NodeScan, PropertyKeyId, Result,
};
use sources::definition::EndNode;
use sources::federation::{Federation, member_of_node};
use sources::store::Crossing;
use storage::bulk::{BulkLoad, EdgeLoader};

use super::{Copying, Ids};

/// Pass over edges, by where their ends are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// From copied nodes, along the direction: all their edges.
    Out,
    /// Into copied nodes: those that start elsewhere.
    In,
    /// From native nodes to native nodes.
    Through,
}

impl Copying<'_> {
    /// Loads the edges of the nodes that were copied, and, unless only a part is copied, those of the source whose both
    /// ends are elsewhere.
    pub(super) fn edges(
        &mut self,
        nodes: &Ids,
        is_part: bool,
        types: Option<Vec<EdgeTypeId>>,
        load: &mut BulkLoad,
    ) -> Result<()> {
        let mut loader = load.edge_loader()?;
        let attachments = &self.database.shared.attachments;
        let attached = attachments.now();
        let members = attached.sources().iter().map(|source| source.member.clone());
        let members = members.filter(|member| member.number != self.member).collect();
        let others = Federation::new(attachments.native.clone(), members)?.crossing()?;
        let expand = Expand { types, keys: self.all_keys(), ..Expand::default() };
        for from in nodes.chunks(BATCH_ROWS) {
            self.expand(Pass::Out, from, &expand, nodes, &*others, &mut loader)?;
        }
        let into = self.foreign_types(expand.types.as_deref(), |source, target| source.is_some() && target.is_none());
        if !into.is_empty() {
            let expand = Expand { direction: Direction::In, types: Some(into), ..expand.clone() };
            for from in nodes.chunks(BATCH_ROWS) {
                self.expand(Pass::In, from, &expand, nodes, &*others, &mut loader)?;
            }
        }
        if !is_part {
            self.edges_through(&expand, nodes, &*others, &mut loader)?;
        }
        loader.finish()
    }

    /// The types of kinds of edges whose ends are such: of an end elsewhere its label is given.
    fn foreign_types(
        &self,
        asked: Option<&[EdgeTypeId]>,
        is_wanted: impl Fn(Option<&str>, Option<&str>) -> bool,
    ) -> Vec<EdgeTypeId> {
        let label = |node: &EndNode| match node {
            EndNode::Foreign { label, .. } => Some(label.to_string()),
            EndNode::Kind(_) => None,
        };
        let kinds = self.definition.iter().flat_map(|definition| &definition.edges);
        let wanted = kinds.filter(|kind| {
            let (source, target) = (label(&kind.source.node), label(&kind.target.node));
            is_wanted(source.as_deref(), target.as_deref())
        });
        let mut types: Vec<EdgeTypeId> =
            wanted.filter_map(|kind| self.view.schema().edge_type(&kind.edge_type)).collect();
        types.retain(|found| asked.is_none_or(|asked| asked.contains(found)));
        types.sort_unstable();
        types.dedup();
        types
    }

    /// Loads edges of the source between nodes that are all native.
    fn edges_through(
        &mut self,
        expand: &Expand,
        nodes: &Ids,
        others: &dyn Crossing,
        loader: &mut EdgeLoader,
    ) -> Result<()> {
        let native = self.database.own_store().read()?;
        let labels: Vec<LabelId> = (0..native.schema().labels.len() as u32).map(LabelId).collect();
        for label in labels {
            let name = native.schema().label_name(label);
            let types = self.foreign_types(expand.types.as_deref(), |source, target| {
                source.is_some_and(|source| source == name) && target.is_some()
            });
            if types.is_empty() {
                continue;
            }
            let expand = Expand { types: Some(types), ..expand.clone() };
            let scan = NodeScan { labels: vec![label], ..NodeScan::default() };
            let (mut cursor, mut batch) = (native.scan(&scan)?, NodeBatch::default());
            while cursor.next(&mut batch)? {
                let from: Ids = batch.nodes.iter().map(|&node| (node, node)).collect();
                self.expand(Pass::Through, &from, &expand, nodes, others, loader)?;
            }
        }
        Ok(())
    }

    /// Loads edges of a batch of nodes, each of which is given with its id in the native store.
    fn expand(
        &mut self,
        pass: Pass,
        from: &[(NodeId, NodeId)],
        expand: &Expand,
        nodes: &Ids,
        others: &dyn Crossing,
        loader: &mut EdgeLoader,
    ) -> Result<()> {
        let starts: Vec<NodeId> = from.iter().map(|(old, _)| *old).collect();
        let (view, mut batch) = (self.view, EdgeBatch::default());
        let mut cursor = view.expand_across(&starts, expand, others)?;
        while cursor.next(&mut batch)? {
            self.interrupt.check()?;
            self.load_edges(pass, from, &batch, nodes, &expand.keys, loader)?;
            let edges = self.progress.edges.fetch_add(batch.len() as u64, Ordering::Relaxed) + batch.len() as u64;
            self.report(nodes.len() as u64 + edges);
        }
        Ok(())
    }

    fn load_edges(
        &mut self,
        pass: Pass,
        from: &[(NodeId, NodeId)],
        batch: &EdgeBatch,
        nodes: &Ids,
        keys: &[PropertyKeyId],
        loader: &mut EdgeLoader,
    ) -> Result<()> {
        let mut groups: Map<EdgeTypeId, (Vec<u32>, Vec<NodeId>)> = Map::default();
        for (row, &neighbor) in batch.neighbors.iter().enumerate() {
            let member = member_of_node(neighbor);
            // Edges that start and end at copied nodes come with the first pass.
            if pass != Pass::Out && member == self.member {
                continue;
            }
            let found = match (member, nodes.binary_search_by_key(&neighbor, |(old, _)| *old)) {
                (0, _) => Some(neighbor),
                (_, Ok(at)) => Some(nodes[at].1),
                (_, Err(_)) => None,
            };
            let Some(found) = found else {
                self.skipped += 1;
                continue;
            };
            let (rows, others) = groups.entry(batch.types[row]).or_default();
            rows.push(row as u32);
            others.push(found);
        }
        for (edge_type, (rows, others)) in groups {
            let near: Vec<NodeId> = rows.iter().map(|&row| from[batch.inputs[row as usize] as usize].1).collect();
            let (sources, targets) = if pass == Pass::In { (&others, &near) } else { (&near, &others) };
            let (names, columns) = self.present(keys, &batch.properties, &rows);
            let edge_type = self.view.schema().edge_type_name(edge_type);
            loader.push_ids(edge_type, sources, targets, &names, &columns)?;
        }
        Ok(())
    }
}
