//! Edges of a version: partitions, edge ids, properties and streams.

use std::sync::Arc;

use model::id::{EdgeId, EdgeTypeId, NodeId, PropertyKeyId};
use model::store::{EdgeStream, NO_EDGE_NUMBER, RunScan};
use model::{Column, Direction, Result, Value};

use super::{PartitionStream, Version};
use crate::column::grouped::grouped;
use crate::file::StoreFile;
use crate::format::EdgePlace;
use crate::partition::runs::{Lost, PartitionRuns};
use crate::partition::{LiveSection, Partition, Section};

/// Place of a section, as a search by type finds it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The type of the section's edges.
    pub edge_type: EdgeTypeId,
    /// The index of the partition.
    pub partition: u16,
    /// The index of the section.
    pub section: u32,
}

/// The sections of all partitions by type, those of one type oldest first.
pub(super) fn places(partitions: &[Arc<Partition>]) -> Vec<Place> {
    let mut places = Vec::with_capacity(partitions.iter().map(|partition| partition.sections().len()).sum());
    for (index, partition) in partitions.iter().enumerate() {
        places.extend(partition.sections().iter().zip(0..).map(|(section, number)| Place {
            edge_type: section.edge_type(),
            partition: index as u16,
            section: number,
        }));
    }
    if partitions.len() > 1 {
        places.sort_by_key(|place| place.edge_type);
    }
    places
}

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

    /// All sections, by type and then age.
    #[inline]
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The sections of one type, oldest first.
    #[inline]
    pub fn places_of(&self, edge_type: EdgeTypeId) -> &[Place] {
        let start = self.places.partition_point(|place| place.edge_type < edge_type);
        let rest = &self.places[start..];
        &rest[..rest.partition_point(|place| place.edge_type == edge_type)]
    }

    /// The sections of some types; of all where there is no list.
    pub fn wanted_places(&self, types: Option<&[EdgeTypeId]>) -> impl Iterator<Item = Place> {
        let all = if types.is_none() { self.places() } else { &[] };
        let listed = types.unwrap_or_default().iter().flat_map(|&edge_type| self.places_of(edge_type));
        all.iter().chain(listed).copied()
    }

    /// The partition and the section at a place.
    #[inline]
    pub fn at(&self, place: Place) -> (&Partition, LiveSection<'_>) {
        let partition = &self.partitions[usize::from(place.partition)];
        (partition, partition.live(place.section as usize).expect("places name sections that are there"))
    }

    /// The section and position that an edge id names, whether the edge was deleted since or not.
    #[inline]
    fn named(&self, edge: EdgeId) -> Option<(LiveSection<'_>, u64)> {
        let place = EdgePlace::of(edge)?;
        let section = self.partition_in(place.partition)?.live(place.section)?;
        (place.position < section.section.edge_count()).then_some((section, place.position))
    }

    /// The section and position of an edge; `None` if the id names none that is there.
    #[inline]
    pub fn place(&self, edge: EdgeId) -> Result<Option<(LiveSection<'_>, u64)>> {
        match self.named(edge) {
            Some((section, position)) if section.is_there(position)? => Ok(Some((section, position))),
            _ => Ok(None),
        }
    }

    /// Source, target and type of an edge; `None` if the id names none that is there.
    pub fn edge(&self, edge: EdgeId) -> Result<Option<(NodeId, NodeId, EdgeTypeId)>> {
        let Some((section, position)) = self.place(edge)? else { return Ok(None) };
        let section = section.section;
        Ok(Some((section.source_at(position)?, section.target_at(position)?, section.edge_type())))
    }

    /// The numbers of edges, deleted since or not; `NO_EDGE_NUMBER` for ids of none of this version.
    pub fn edge_numbers_of(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        let mut numbers = vec![NO_EDGE_NUMBER; edges.len()];
        let mut rows: Vec<usize> = (0..edges.len()).filter(|&row| self.named(edges[row]).is_some()).collect();
        let group = |row: usize| EdgePlace::of(edges[row]).map(|place| (place.partition, place.section));
        if !rows.is_sorted_by_key(|&row| group(row)) {
            rows.sort_by_key(|&row| group(row));
        }
        for rows in rows.chunk_by(|&a, &b| group(a) == group(b)) {
            let Some((live, _)) = self.named(edges[rows[0]]) else { continue };
            let positions: Vec<u64> =
                rows.iter().filter_map(|&row| EdgePlace::of(edges[row])).map(|place| place.position).collect();
            for (&row, number) in rows.iter().zip(live.section.numbers(&positions)?) {
                numbers[row] = number;
            }
        }
        Ok(numbers)
    }

    /// Adds the edges of a type from `source` to `target` to `out`, oldest first: by that order logs of version 2 name
    /// parallel edges.
    pub fn edges_between(
        &self,
        edge_type: EdgeTypeId,
        source: NodeId,
        target: NodeId,
        out: &mut Vec<EdgeId>,
    ) -> Result<()> {
        let mut positions = Vec::new();
        for &place in self.places_of(edge_type) {
            let (partition, section) = self.at(place);
            if partition.entry().interval.contains(&target.0) {
                positions.clear();
                section.between(source, target, &mut positions)?;
                let first = EdgePlace::base(partition.slot().into(), place.section as usize);
                out.extend(positions.iter().map(|position| EdgeId(first | position)));
            }
        }
        Ok(())
    }

    /// Number of pairs for which [`Version::ask_between`] is called at once.
    pub fn ask_between_max(&self, edge_type: EdgeTypeId) -> usize {
        StoreFile::nodes_ahead(self.places_of(edge_type).iter().map(|&place| self.at(place).1.section.file()))
    }

    /// Begins to read what [`Version::edges_between`] needs for pairs of a source and a target.
    pub fn ask_between(&self, edge_type: EdgeTypeId, pairs: &[(NodeId, NodeId)]) -> Result<()> {
        for &place in self.places_of(edge_type) {
            let (partition, live) = self.at(place);
            if live.section.file().is_cold() {
                let here = pairs.iter().filter(|(_, target)| partition.entry().interval.contains(&target.0));
                live.section.ask_out(here.map(|(source, _)| source))?;
            }
        }
        Ok(())
    }

    /// One column for each key: the properties of each edge, null where it has none or is none of this version.
    pub fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let place = |row: usize| match EdgePlace::of(edges[row]) {
            Some(place) => (Some((place.partition, place.section)), place.position),
            None => (None, 0),
        };
        let read_one = |key: PropertyKeyId| {
            grouped(edges.len(), place, |group, positions| {
                let section = group.and_then(|(slot, section): (usize, usize)| self.partition_in(slot)?.live(section));
                section.map_or_else(|| Ok(Column::nulls(positions.len())), |section| section.property(key, positions))
            })
        };
        keys.iter().map(|&key| read_one(key)).collect()
    }

    /// All properties of an edge, in order of their keys.
    pub fn all_edge_properties(&self, edge: EdgeId) -> Result<Vec<(PropertyKeyId, Value)>> {
        let Some((section, _)) = self.place(edge)? else { return Ok(Vec::new()) };
        let mut keys = section.keys();
        keys.sort_unstable();
        let columns = self.edge_properties(&[edge], &keys)?;
        let present = keys.into_iter().zip(&columns).filter(|(_, column)| !column.is_null(0));
        Ok(present.map(|(key, column)| (key, column.value(0))).collect())
    }

    /// Streams a partition as `EdgePartitions::stream` wants it.
    pub fn stream(&self, partition: usize, stream: &EdgeStream) -> Result<PartitionStream<'_>> {
        Ok(PartitionStream::new(&self.partitions[partition], stream))
    }

    /// Reads the runs of a partition that are asked for, without the edges that are lost besides those of its patches.
    pub fn runs<'a>(&'a self, partition: usize, scan: &'a RunScan<'a>, lost: Lost) -> PartitionRuns<'a> {
        let is_in = scan.direction == Direction::In;
        let is_wanted =
            |section: &&Section| scan.types.as_ref().is_none_or(|types| types.contains(&section.edge_type()));
        let sections = self.partitions.iter().flat_map(|partition| partition.sections()).filter(is_wanted);
        let pass_bytes = sections.map(|section| section.pass_bytes(is_in)).sum();
        PartitionRuns::new(&self.partitions[partition], scan, pass_bytes, lost)
    }

    /// Advice that the edges of these nodes will be read soon.
    pub fn will_expand(&self, nodes: &[NodeId]) {
        let cold = |section: &&crate::partition::Section| section.file().is_cold();
        for section in self.partitions.iter().flat_map(|partition| partition.sections()).filter(cold) {
            nodes.iter().for_each(|&node| section.will_need_out(node));
        }
        for &node in nodes {
            let sections = self.partitions_of(node).flat_map(|partition| partition.sections()).filter(cold);
            sections.for_each(|section| section.will_need_in(node));
        }
    }
}
