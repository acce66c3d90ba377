//! Sorts edges that need not fit into memory: full buffers are sorted and put away, then merged.
//!
//! Cost: every edge is written and read once, and once more for each time that there are more runs than can be merged
//! at once. Holds the buffers of the threads that add, then a buffer for each run that is merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use model::error::Result;
use model::interrupt::Interrupt;
use model::limits::CANCEL_CHECK_EDGES;

use crate::scratch::plain::{Plain, push};
use crate::scratch::{Place, Scratch, Stream};

/// The weight of an edge: a number, or nothing.
pub(crate) trait EdgeWeight: Plain {
    /// The weight of the entry of that number in a block of rows.
    fn of(weights: &[f64], at: usize) -> Self;
    /// Numbers that are in the order of weights of at least 0.
    fn order(self) -> u64;
}

impl EdgeWeight for () {
    #[inline]
    fn of(_weights: &[f64], _at: usize) {}

    #[inline]
    fn order(self) -> u64 {
        0
    }
}

impl EdgeWeight for f64 {
    #[inline]
    fn of(weights: &[f64], at: usize) -> f64 {
        if weights.is_empty() { 1.0 } else { weights[at] }
    }

    #[inline]
    fn order(self) -> u64 {
        self.to_bits()
    }
}

/// An edge with the key by which it is sorted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Keyed<W> {
    pub(crate) key: u64,
    pub(crate) weight: W,
}

impl<W: EdgeWeight> Keyed<W> {
    #[inline]
    fn order(self) -> (u64, u64) {
        (self.key, self.weight.order())
    }
}

/// Bytes of a stream that is merged, at the most and at the least.
const MERGE_BYTES: Range<usize> = 64..256 << 10;
/// Bytes that are written at once.
const WRITE_BYTES: usize = 4 << 10;
/// Runs that are merged at once, at the most.
const FAN_IN_MAX: usize = 256;

/// Sorted runs in one file.
struct Runs<'a> {
    file: Scratch<'a>,
    /// For each run, its entries by number.
    list: Vec<Range<u64>>,
}

impl<'a> Runs<'a> {
    fn new(place: Place<'a>) -> Result<Runs<'a>> {
        Ok(Runs { file: place.file()?, list: Vec::new() })
    }
}

/// Edges being sorted.
pub(crate) struct Sorter<'a> {
    place: Place<'a>,
    runs: Mutex<Runs<'a>>,
}

impl<'a> Sorter<'a> {
    pub(crate) fn new(place: Place<'a>) -> Result<Sorter<'a>> {
        Ok(Sorter { place, runs: Mutex::new(Runs::new(place)?) })
    }

    /// Sorts what is in a buffer, puts it away and empties the buffer.
    pub(crate) fn put_away<W: EdgeWeight>(&self, buffer: &mut Vec<Keyed<W>>) -> Result<()> {
        if buffer.is_empty() {
            return Ok(());
        }
        buffer.sort_unstable_by_key(|entry| entry.order());
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let size = (u64::BYTES + W::BYTES) as u64;
        let start = runs.file.length() / size;
        let mut bytes = Vec::new();
        for piece in buffer.chunks(WRITE_BYTES / size_of::<Keyed<W>>()) {
            bytes.clear();
            piece.iter().for_each(|entry| push((entry.key, entry.weight), &mut bytes));
            runs.file.append(&bytes)?;
        }
        runs.list.push(start..start + buffer.len() as u64);
        buffer.clear();
        Ok(())
    }

    /// Gives all edges in order, holding at most `bytes` bytes.
    pub(crate) fn merge<W: EdgeWeight>(
        self,
        bytes: usize,
        interrupt: &Interrupt,
        mut sink: impl FnMut(Keyed<W>) -> Result<()>,
    ) -> Result<()> {
        let mut runs = self.runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let fan_in = (bytes / MERGE_BYTES.start).clamp(2, FAN_IN_MAX);
        while runs.list.len() > fan_in {
            let mut longer = Runs::new(self.place)?;
            for group in runs.list.chunks(fan_in) {
                let start = group[0].start;
                let mut buffer = Vec::new();
                merge_runs::<W>(&runs.file, group, bytes, interrupt, |entry| {
                    push((entry.key, entry.weight), &mut buffer);
                    if buffer.len() >= WRITE_BYTES {
                        longer.file.append(&buffer)?;
                        buffer.clear();
                    }
                    Ok(())
                })?;
                longer.file.append(&buffer)?;
                longer.list.push(start..group[group.len() - 1].end);
            }
            runs = longer;
        }
        merge_runs(&runs.file, &runs.list, bytes, interrupt, &mut sink)
    }
}

/// Merges some runs of a file.
fn merge_runs<W: EdgeWeight>(
    file: &Scratch<'_>,
    runs: &[Range<u64>],
    bytes: usize,
    interrupt: &Interrupt,
    mut sink: impl FnMut(Keyed<W>) -> Result<()>,
) -> Result<()> {
    let buffer_bytes = (bytes / runs.len().max(1)).clamp(MERGE_BYTES.start, MERGE_BYTES.end);
    let mut streams: Vec<Stream<'_, '_>> =
        runs.iter().map(|run| Stream::of::<(u64, W)>(file, run.clone(), buffer_bytes)).collect();
    let mut heads: Vec<W> = vec![W::default(); runs.len()];
    let mut heap = BinaryHeap::with_capacity(runs.len());
    for (at, stream) in streams.iter_mut().enumerate() {
        if let Some((key, weight)) = stream.next::<(u64, W)>()? {
            heads[at] = weight;
            heap.push(Reverse((key, weight.order(), at)));
        }
    }
    let mut until_check = CANCEL_CHECK_EDGES;
    while let Some(mut least) = heap.peek_mut() {
        until_check -= 1;
        if until_check == 0 {
            interrupt.check()?;
            until_check = CANCEL_CHECK_EDGES;
        }
        let Reverse((key, _, at)) = *least;
        sink(Keyed { key, weight: heads[at] })?;
        match streams[at].next::<(u64, W)>()? {
            Some((key, weight)) => {
                heads[at] = weight;
                *least = Reverse((key, weight.order(), at));
            }
            None => {
                std::collections::binary_heap::PeekMut::pop(least);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use model::interrupt::Interrupt;
    use model::procedure::Unaccounted;

    use super::{Keyed, Sorter};
    use crate::scratch::Place;

    #[test]
    fn edges_come_back_in_order_whatever_the_memory() {
        for (count, buffer, bytes) in [(0, 4, 64), (10, 100, 64), (1000, 7, 64), (1000, 7, 4096), (1000, 1, 200)] {
            let sorter = Sorter::new(Place::Memory(&Unaccounted)).unwrap();
            let mut expected = Vec::new();
            let mut entries = Vec::new();
            for number in 0..count as u64 {
                let (key, weight) = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58, (number % 3) as f64);
                expected.push((key, weight.to_bits()));
                entries.push(Keyed { key, weight });
                if entries.len() == buffer {
                    sorter.put_away(&mut entries).unwrap();
                }
            }
            sorter.put_away(&mut entries).unwrap();
            expected.sort_unstable();
            let mut found = Vec::new();
            sorter
                .merge(bytes, &Interrupt::new(), |entry: Keyed<f64>| {
                    found.push((entry.key, entry.weight.to_bits()));
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, expected, "{count} edges, {buffer} a buffer, {bytes} bytes");
        }
    }
}
