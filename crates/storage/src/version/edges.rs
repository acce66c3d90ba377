//! Edges of a version: partitions, edge ids, properties and streams.

use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, NodeId, PropertyKeyId};
use model::store::EdgeStream;
use model::{Column, Result};

use super::{PartitionStream, Version, grouped};
use crate::format::EdgePlace;
use crate::partition::{Partition, Section};

impl Version {
    /// The partitions; of two whose intervals overlap the older comes first.
    #[inline]
    pub fn partitions(&self) -> &[Arc<Partition>] {
        &self.partitions
    }

    /// The partitions that may hold edges that end at a node, oldest first.
    #[inline]
    pub fn partitions_of(&self, target: NodeId) -> impl Iterator<Item = &Arc<Partition>> {
        self.partitions.iter().filter(move |partition| partition.entry().interval.contains(&target.0))
    }

    /// The partition in a slot.
    #[inline]
    pub fn partition_in(&self, slot: usize) -> Option<&Arc<Partition>> {
        self.partitions.get(usize::from(*self.by_slot.get(slot)?))
    }

    /// The partition whose topology file has that number.
    pub fn partition_with(&self, number: u64) -> Option<&Arc<Partition>> {
        self.partitions.iter().find(|partition| partition.entry().topology.number == number)
    }

    /// The section and position of a published edge; `None` if the id names none.
    #[inline]
    pub fn place(&self, edge: EdgeId) -> Option<(&Section, u64)> {
        let place = EdgePlace::of(edge)?;
        let section = self.partition_in(place.partition)?.sections().get(place.section)?;
        (place.position < section.edge_count()).then_some((section, place.position))
    }

    /// Source, target and type of a published edge; `None` if the id names none.
    pub fn edge(&self, edge: EdgeId) -> Result<Option<(NodeId, NodeId, EdgeTypeId)>> {
        let Some((section, position)) = self.place(edge) else { return Ok(None) };
        Ok(Some((section.source_at(position)?, section.target_at(position)?, section.edge_type())))
    }

    /// One column for each key: the properties of each edge, null where it has none or is none of this version.
    pub fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let place = |row: usize| match EdgePlace::of(edges[row]) {
            Some(place) => (Some((place.partition, place.section)), place.position),
            None => (None, 0),
        };
        let read_one = |key: PropertyKeyId| {
            grouped(edges.len(), place, |group, positions| {
                let section = group.and_then(|(partition, section): (usize, usize)| {
                    self.partition_in(partition)?.sections().get(section)
                });
                section.map_or_else(|| Ok(Column::nulls(positions.len())), |section| section.property(key, positions))
            })
        };
        keys.iter().map(|&key| read_one(key)).collect()
    }

    /// Streams a partition as `EdgePartitions::stream` wants it.
    pub fn stream(&self, partition: usize, stream: &EdgeStream) -> Result<PartitionStream<'_>> {
        Ok(PartitionStream::new(&self.partitions[partition], stream))
    }

    /// Advice that the edges of these nodes will be read soon.
    pub fn will_expand(&self, nodes: &[NodeId]) {
        for section in self.partitions.iter().flat_map(|partition| partition.sections()) {
            nodes.iter().for_each(|&node| section.will_need_out(node));
        }
        for &node in nodes {
            let sections = self.partitions_of(node).flat_map(|partition| partition.sections());
            sections.for_each(|section| section.will_need_in(node));
        }
    }
}
