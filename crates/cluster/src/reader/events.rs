//! Events: the nodes of labels and the entries of indexes at one moment, which are there if the last event that is seen says so.

use std::ops::{Bound, Range};
use std::sync::Arc;

use model::codec::ordered::after_prefix;
use model::{LabelId, NodeId, Result};

use super::{EntryAsk, Reader, Wanted, count_used};
use crate::cache::{BLOCK_BITS, Bounds, EQUAL_BYTES_MAX, Unit, place_of};
use crate::packed::{Packed, PackedRow};
use crate::rows::{ENTRY_BYTES_MAX, Entry, SEGMENT_BITS, SHARDS, entry_of, int};
use crate::tables::{Field, Slice, Table};

/// Calls `found` with the first event of each thing that is there. The first `keys` fields of the clustering key tell things
/// apart, the next is the record of the event.
fn each_present<'a>(
    rows: &'a Packed,
    keys: usize,
    at: u64,
    mut found: impl FnMut(&PackedRow<'a>) -> Result<()>,
) -> Result<()> {
    let mut last: Option<(PackedRow<'a>, bool)> = None;
    for row in rows.rows() {
        let says = if row.key(keys)? <= at { Some(row.full_cell(0)? == 1) } else { None };
        match &mut last {
            Some((first, is_present)) if first.begins_as(&row, keys) => *is_present = says.unwrap_or(*is_present),
            _ => {
                let before = last.replace((row, says.unwrap_or(false)));
                before.filter(|(_, is_present)| *is_present).map_or(Ok(()), |(first, _)| found(&first))?;
            }
        }
    }
    last.filter(|(_, is_present)| *is_present).map_or(Ok(()), |(first, _)| found(&first))
}

impl Reader {
    /// The nodes of a label whose ids lie in ranges, each within one block.
    pub(crate) fn labelled(&self, label: LabelId, ranges: &[Range<u64>]) -> Result<Vec<NodeId>> {
        let wanted = |ids: &Range<u64>| {
            let block = ids.start >> BLOCK_BITS;
            debug_assert!(ids.end <= (block + 1) << BLOCK_BITS, "the range {ids:?} lies within a block");
            // A whole block, if it is kept.
            let read = if self.cache.is_on() { block << BLOCK_BITS..(block + 1) << BLOCK_BITS } else { ids.clone() };
            let partition = vec![self.graph(), int(u64::from(label.0)), int(ids.start >> SEGMENT_BITS)];
            let slice = Slice::new(Table::ByLabel, partition, Vec::new())
                .between(Bound::Included(int(read.start)), Bound::Excluded(int(read.end)));
            Wanted { unit: Unit::Labelled { label: label.0, block }, bounds: None, slice }
        };
        let found = self.units(ranges.iter().map(wanted).collect())?;
        let mut nodes = Vec::new();
        for (ids, rows) in ranges.iter().zip(&found) {
            each_present(rows, 1, self.moment(), |event| {
                let id = event.key(0)?;
                nodes.extend(ids.contains(&id).then_some(NodeId(id)));
                Ok(())
            })?;
        }
        count_used(nodes.len());
        Ok(nodes)
    }

    /// Entries of indexes; those of each question in any order. Entries beyond [`ENTRY_BYTES_MAX`] are cut off, and bounds
    /// are compared as far as that.
    pub(crate) fn entries(&self, asks: &[EntryAsk]) -> Result<Vec<Vec<Entry>>> {
        let mut wanted = Vec::new();
        let mut counts = Vec::with_capacity(asks.len());
        for ask in asks {
            let shards = ask.shard.map_or(0..SHARDS, |shard| shard..shard + 1);
            counts.push((shards.end - shards.start) as usize);
            wanted.extend(shards.map(|shard| self.wanted_entries(ask, shard)));
        }
        let found = self.units(wanted)?;
        let mut found = found.iter();
        let mut answers = Vec::with_capacity(asks.len());
        for count in counts {
            let mut entries = Vec::new();
            for rows in found.by_ref().take(count) {
                each_present(rows, 2, self.moment(), |event| {
                    entries.push(entry_of(event)?);
                    Ok(())
                })?;
            }
            count_used(entries.len());
            answers.push(entries);
        }
        Ok(answers)
    }

    fn wanted_entries(&self, ask: &EntryAsk, shard: u64) -> Wanted {
        let (index, range) = (ask.index, &ask.range);
        let cut = |bytes: &[u8]| Field::Bytes(Arc::from(&bytes[..bytes.len().min(ENTRY_BYTES_MAX)]));
        let is_whole = range.end.len() <= ENTRY_BYTES_MAX;
        let from = Bound::Included(cut(&range.start));
        let to = if is_whole { Bound::Excluded(cut(&range.end)) } else { Bound::Included(cut(&range.end)) };
        let bounds: Bounds = (from, to);
        let partition = vec![self.graph(), int(u64::from(index)), int(shard)];
        let slice = Slice::new(Table::ByValue, partition, Vec::new()).between(bounds.0.clone(), bounds.1.clone());
        let is_equal = ask.shard.is_some()
            && range.start.len() <= EQUAL_BYTES_MAX
            && range.end == after_prefix(range.start.clone());
        if is_equal {
            let start = Arc::from(&range.start[..]);
            return Wanted { unit: Unit::Equal { index, shard, start }, bounds: None, slice };
        }
        Wanted { unit: Unit::EntryRange { index, shard, place: place_of(&bounds) }, bounds: Some(bounds), slice }
    }
}
