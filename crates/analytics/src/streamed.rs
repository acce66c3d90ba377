//! Rows that are not held in memory: read from the store each time they are asked for, or from a copy in files.
//!
//! - [`partitioned`]: from the store's edge partitions, in sequential reads.
//! - [`blocks`]: runs of edges made rows of consecutive nodes.
//! - [`numbered`]: runs of edges with numbers for node ids, and with weights.
//! - [`gathered`]: rows whose edges lie in several places, put together window by window.
//! - [`resident`]: the edges of small partitions, read once.
//! - [`copied`]: from temporary files, for stores without partitions that give all their edges.
//! - [`expanded`]: by following the edges of batches of nodes, for other stores.
//!
//! Cost: nothing is held but the buffers of a block, and the edges of small partitions.

mod blocks;
mod copied;
mod expanded;
mod gathered;
mod numbered;
mod partitioned;
mod resident;

use std::ops::Range;
use std::sync::Arc;

use model::column::Bitmap;
use model::error::{ErrorCode, Result};
use model::interrupt::Interrupt;
use model::store::{Direction, EdgePartitions, ReadView};

use crate::edges;
use crate::execution::Pace;
use crate::numbering::Numbering;
use crate::parallel::even_ranges;
use crate::projection::Selection;
use crate::rows::{Rows, Side, Sides};
use crate::scratch::Place;
use copied::CopiedRows;
use expanded::ExpandedRows;
use partitioned::PartitionedRows;

/// A selection whose rows are read when they are asked for.
pub(crate) struct StreamedRows<'a> {
    numbering: Arc<Numbering>,
    has_weights: bool,
    buffer_entries: usize,
    rows: Box<dyn Rows + 'a>,
}

/// Bytes of a buffer for each entry of a row, so that it holds entries with weights before and after they are put in
/// order.
const BUFFER_BYTES_PER_ENTRY: u64 = 16;
/// Parts for each thread, where any range of nodes can be a part.
const PARTS_PER_THREAD: usize = 16;

impl<'a> StreamedRows<'a> {
    /// The rows of a selection. Without a place for files, a store without partitions is asked for the edges of batches of
    /// nodes in each pass.
    pub(crate) fn new(
        selection: Selection<'a>,
        pace: Pace,
        place: Option<Place<'a>>,
        interrupt: &'a Interrupt,
    ) -> Result<StreamedRows<'a>> {
        let numbering = Arc::new(Numbering::build(selection.view, selection.projection.labels.as_deref(), interrupt)?);
        let buffer_entries = (pace.buffer_bytes / BUFFER_BYTES_PER_ENTRY).max(1) as usize;
        let source =
            Source { selection, numbering: numbering.clone(), threads: pace.threads, buffer_entries, interrupt };
        let rows: Box<dyn Rows + 'a> = match (partitions_of(selection.view), place) {
            (Some(partitions), _) => Box::new(PartitionedRows::new(source, partitions)?),
            (None, Some(place)) if has_room(place)? => {
                let Selection { view, projection, weight, .. } = selection;
                match edges::all_of_view(view, projection, weight, &numbering, pace.threads, interrupt)? {
                    Some(edges) => Box::new(CopiedRows::new(source, &*edges, place)?),
                    None => Box::new(ExpandedRows::new(source)),
                }
            }
            (None, _) => Box::new(ExpandedRows::new(source)),
        };
        Ok(StreamedRows { numbering, has_weights: selection.weight.is_some(), buffer_entries, rows })
    }

    /// Approximate number of entries that fit into the buffers of a side.
    pub(crate) fn buffer_entries(&self) -> u64 {
        self.buffer_entries as u64
    }

    /// The numbers of nodes, when no more rows are read.
    pub(crate) fn into_numbering(self) -> Numbering {
        let StreamedRows { numbering, rows, .. } = self;
        drop(rows);
        Arc::unwrap_or_clone(numbering)
    }

    pub(crate) fn numbering(&self) -> &Numbering {
        &self.numbering
    }

    pub(crate) fn has_weights(&self) -> bool {
        self.has_weights
    }

    pub(crate) fn rows(&self) -> &dyn Rows {
        &*self.rows
    }
}

/// True if files can be made there at all.
fn has_room(place: Place<'_>) -> Result<bool> {
    match place.file() {
        Ok(_) => Ok(true),
        Err(failure) if failure.code() == ErrorCode::Io => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// The partitions of a view, if rows can be read from them: ids must fit into 32 bits.
pub(crate) fn partitions_of(view: &dyn ReadView) -> Option<&dyn EdgePartitions> {
    let is_narrow = view.capabilities().dense_node_ids && u32::try_from(view.node_id_bound()).is_ok();
    if is_narrow { view.edge_partitions() } else { None }
}

/// Bytes of topology that one pass over a selection reads if nothing is cached, as the partitions are: neighbors packed to
/// the bits that their interval needs, and a few bits of pointers for each node. `None` for stores without partitions.
pub(crate) fn pass_bytes(selection: &Selection<'_>) -> Option<u64> {
    let partitions = partitions_of(selection.view)?;
    let (projection, bound) = (selection.projection, selection.view.node_id_bound());
    let followed = match selection.sides {
        Sides::Backward => projection.direction.reverse(),
        Sides::Forward | Sides::ForwardAndBackward => projection.direction,
    };
    let directions = match followed {
        Direction::Both => &[Direction::Out, Direction::In][..],
        Direction::Out => &[Direction::Out],
        Direction::In => &[Direction::In],
    };
    let bits_of = |ids: u64| u64::from(u64::BITS - ids.saturating_sub(1).leading_zeros());
    let mut bits = 0;
    for partition in 0..partitions.count() {
        let edges = partitions.edge_count(partition, projection.types.as_deref());
        let interval = partitions.interval(partition);
        let targets = interval.end - interval.start;
        for direction in directions {
            let (nodes, others) = if *direction == Direction::In { (targets, bound) } else { (bound, targets) };
            let listed = nodes.min(edges);
            bits += edges * bits_of(others) + listed * (2 + bits_of(edges / listed.max(1)));
        }
    }
    Some(bits / 8)
}

/// The selection that is read, and the numbering of its nodes.
struct Source<'a> {
    selection: Selection<'a>,
    numbering: Arc<Numbering>,
    threads: usize,
    /// Approximate number of entries of rows that a thread gathers at a time.
    buffer_entries: usize,
    interrupt: &'a Interrupt,
}

impl Source<'_> {
    /// Ranges of nodes as parts, where any range can be one.
    fn node_parts(&self) -> Vec<Range<usize>> {
        even_ranges(self.numbering.len(), PARTS_PER_THREAD * self.threads, 1)
    }

    /// The direction in which the store follows edges for rows of that side.
    fn direction(&self, side: Side) -> Direction {
        match side {
            Side::Forward => self.selection.projection.direction,
            Side::Backward => self.selection.projection.direction.reverse(),
        }
    }

    /// Approximate number of entries of the rows of a side, if `stored` edges are stored.
    fn entries(&self, stored: u64) -> u64 {
        if self.selection.projection.direction == Direction::Both { 2 * stored } else { stored }
    }
}

/// True if one of the bits of a range is set.
fn has_any(bits: &Bitmap, range: std::ops::Range<usize>) -> bool {
    let end = range.end.min(bits.len());
    if range.start >= end {
        return false;
    }
    let (first, last) = (range.start / 64, (end - 1) / 64);
    let low = u64::MAX << (range.start % 64);
    let high = u64::MAX >> (63 - (end - 1) % 64);
    let words = &bits.words()[first..=last];
    if first == last {
        return words[0] & low & high != 0;
    }
    words[0] & low != 0 || words[words.len() - 1] & high != 0 || words[1..words.len() - 1].iter().any(|&word| word != 0)
}

#[cfg(test)]
mod tests {
    use model::column::Bitmap;

    use super::has_any;

    #[test]
    fn bits_of_a_range_are_found() {
        for length in [1, 63, 64, 65, 200] {
            for bit in [0, 1, 62, 63, 64, 127, 128, 199] {
                let bits: Bitmap = (0..length).map(|at| at == bit).collect();
                for start in 0..length {
                    for end in start..=length {
                        assert_eq!(has_any(&bits, start..end), (start..end).contains(&bit) && bit < length);
                    }
                }
            }
        }
    }
}
