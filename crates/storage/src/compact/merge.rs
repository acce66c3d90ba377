//! Merging partitions in order of age, with their patches resolved.

use std::sync::Arc;

use model::id::EdgeTypeId;
use model::{Result, error};

use super::cut::cut;
use super::pick::span;
use super::throttle::{Throttle, Throttled};
use crate::build::BuildContext;
use crate::build::chunk::BoxedSource;
use crate::bulk::partitions::{EdgeSources, live_edges, write_partitions};
use crate::levels::Policy;
use crate::manifest::PartitionEntry;
use crate::partition::Partition;
use crate::version::Version;

/// Writes partitions of a level that hold the edges of the inputs, which are in order of age.
pub fn merge(
    context: &BuildContext,
    base: &Version,
    inputs: &[u64],
    level: u8,
    policy: &Policy,
    throttle: &Throttle,
) -> Result<Vec<PartitionEntry>> {
    let mut partitions: Vec<&Arc<Partition>> = Vec::new();
    for &number in inputs {
        let missing = || error!(Internal, "there is no partition {number} to merge");
        partitions.push(base.partition_with(number).ok_or_else(missing)?);
    }
    let intervals =
        cut(base, &partitions, span(&partitions), level, policy, context.targets_max(base.node_id_bound()))?;
    let sections = partitions.iter().flat_map(|partition| partition.live_sections());
    let mut types: Vec<EdgeTypeId> =
        sections.filter(|section| section.edge_count() > 0).map(|section| section.edge_type()).collect();
    types.sort_unstable();
    types.dedup();
    let of_type = |edge_type: EdgeTypeId, interval: &std::ops::Range<u64>| {
        let mut sources: Vec<BoxedSource<'_>> = Vec::new();
        for partition in &partitions {
            let is_here = crate::version::edit::overlaps(&partition.entry().interval, interval);
            let Some((index, _)) = partition.section_of(edge_type).filter(|_| is_here) else { continue };
            let Some(live) = partition.live(index) else { continue };
            let inner = live_edges(live, &base.manifest().schema)?;
            sources.push(Box::new(Throttled { inner, throttle, interrupt: &context.interrupt }));
        }
        Ok(sources)
    };
    write_partitions(
        context,
        &intervals,
        level,
        base.node_id_bound(),
        &base.manifest().schema,
        EdgeSources { types, of_type: Box::new(of_type) },
    )
}
