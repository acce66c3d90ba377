//! Labels of the nodes of a version: of single nodes, of words of ids for scans, and counted.

use std::ops::Range;

use model::id::{LabelId, NodeId};
use model::{Bitmap, Map, Result};

use super::super::{DELETED, NodeRun};
use super::Layers;
use crate::format::{COLUMN_BLOCK_ROWS, SEGMENT_BITS, SEGMENT_NODES, segment_range};
use crate::segment::label_tests::LabelTests;
use crate::segment::{RowBitmap, Segment};

/// Words of a bitmap in one segment.
const SEGMENT_WORDS: u64 = SEGMENT_NODES / 64;
/// Rows of a run looked at together.
const PIECE_ROWS: u64 = 4_096;

impl Layers {
    /// For each node, whether it exists and carries the label.
    pub fn have_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        let mut bits = Bitmap::filled(nodes.len(), false);
        // Tests of the segment that the node before lies in.
        let mut current: Option<(u64, Option<LabelTests<'_>>)> = None;
        for (index, &node) in nodes.iter().enumerate() {
            let in_runs = if self.runs.is_empty() { None } else { self.labels_in_runs(node)? };
            if let Some(labels) = in_runs {
                bits.set(index, labels.binary_search(&label).is_ok());
                continue;
            }
            let number = node.0 >> SEGMENT_BITS;
            if current.as_ref().is_none_or(|(at, _)| *at != number) {
                let left = nodes.len() - index;
                let tests = match self.segment(number) {
                    Some(segment) => Some(LabelTests::new(segment, segment.label(label), left)?),
                    None => None,
                };
                current = Some((number, tests));
            }
            if let Some((_, Some(tests))) = &current {
                bits.set(index, tests.holds((node.0 & (SEGMENT_NODES - 1)) as usize)?);
            }
        }
        Ok(bits)
    }

    /// The labels of one node in order of their ids.
    pub fn labels_of(&self, node: NodeId) -> Result<Vec<LabelId>> {
        if let Some(labels) = self.labels_in_runs(node)? {
            return Ok(labels.to_vec());
        }
        let mut labels = Vec::new();
        if let Some((segment, row)) = self.place(node) {
            for label in segment.labels() {
                if segment.bit(label.rows, row)? {
                    labels.push(label.label);
                }
            }
        }
        Ok(labels)
    }

    /// The labels of each node in order of their ids.
    pub fn labels_of_each(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        let mut labels = Vec::with_capacity(nodes.len());
        // The nodes that runs say nothing of, by segment and row.
        let mut in_segments: Vec<(u64, u32, u32)> = Vec::new();
        for (at, &node) in nodes.iter().enumerate() {
            let in_runs = self.labels_in_runs(node)?;
            if in_runs.is_none() {
                in_segments.push((node.0 >> SEGMENT_BITS, (node.0 & (SEGMENT_NODES - 1)) as u32, at as u32));
            }
            labels.push(in_runs.map_or_else(Vec::new, <[LabelId]>::to_vec));
        }
        in_segments.sort_unstable();
        for nodes in in_segments.chunk_by(|left, right| left.0 == right.0) {
            let Some(segment) = self.segment(nodes[0].0) else { continue };
            for label in segment.labels() {
                segment.each_of(
                    label.rows,
                    nodes,
                    |&(_, row, _)| row as usize,
                    |&(_, _, at)| {
                        labels[at as usize].push(label.label);
                    },
                )?;
            }
        }
        Ok(labels)
    }

    /// Replaces `words` by `count` bitmap words: bit `i` of word `w` says that node `(first_word + w) * 64 + i` exists
    /// and carries all of the labels.
    pub fn label_words(&self, labels: &[LabelId], first_word: u64, count: usize, words: &mut Vec<u64>) -> Result<()> {
        words.clear();
        let end = first_word + count as u64;
        let mut from = first_word;
        while from < end {
            let number = from / SEGMENT_WORDS;
            let to = end.min((number + 1) * SEGMENT_WORDS);
            let start = words.len();
            match self.segment(number) {
                Some(segment) => {
                    segment_words(segment, labels, from % SEGMENT_WORDS..from % SEGMENT_WORDS + to - from, words)?
                }
                None => words.resize(start + (to - from) as usize, 0),
            }
            for run in self.runs_over(number) {
                correct(run, labels, from, &mut words[start..])?;
            }
            from = to;
        }
        Ok(())
    }

    /// Number of nodes that exist, and of those that carry each label.
    pub fn count(&self) -> Result<(u64, Map<LabelId, u64>)> {
        let (mut nodes, mut labels) = (0, Map::default());
        for number in 0..self.row_bound().div_ceil(SEGMENT_NODES) {
            let ids = segment_range(number);
            let mut is_plain = true;
            for run in self.runs_over(number) {
                is_plain &= run.ids().rows_in(run.file(), ids.clone())?.is_empty();
            }
            if let Some(segment) = self.segment(number).filter(|_| is_plain) {
                nodes += segment.alive_count();
                segment.labels().iter().for_each(|label| *labels.entry(label.label).or_default() += label.count);
            } else if !is_plain {
                nodes += self.count_segment(number, &mut labels)?;
            }
        }
        labels.retain(|_, count| *count > 0);
        Ok((nodes, labels))
    }

    /// The number of nodes of a segment, whose labels are added: one pass over the states of the runs and over the bitmaps.
    fn count_segment(&self, number: u64, labels: &mut Map<LabelId, u64>) -> Result<u64> {
        let ids = segment_range(number);
        // A bit for each node whose state a run says: what is older does not count.
        let mut said = vec![0u64; SEGMENT_WORDS as usize];
        let mut nodes = 0;
        for run in self.runs_over(number).iter().rev() {
            let mut of_sets = vec![0u64; run.sets().len()];
            each_state(run, ids.clone(), |at, code| {
                let (word, bit) = (&mut said[(at / 64) as usize], 1 << (at % 64));
                if *word & bit == 0 && code != DELETED {
                    run.state_of(code)?;
                    of_sets[(code - 1) as usize / 2] += 1;
                }
                *word |= bit;
                Ok(())
            })?;
            for (set, count) in run.sets().iter().zip(of_sets).filter(|(_, count)| *count > 0) {
                nodes += count;
                set.iter().for_each(|&label| *labels.entry(label).or_default() += count);
            }
        }
        let Some(segment) = self.segment(number) else { return Ok(nodes) };
        for label in segment.labels() {
            *labels.entry(label.label).or_default() += count_without(segment, label.rows, &said)?;
        }
        Ok(nodes + count_without(segment, segment.alive(), &said)?)
    }

    /// The labels that nodes of a segment may carry, in order.
    pub fn labels_in(&self, segment: u64) -> Vec<LabelId> {
        let of_segment = self.segment(segment).map_or(&[][..], Segment::labels).iter().map(|label| label.label);
        let sets = self.runs_over(segment).iter().flat_map(|run| run.sets());
        let mut labels: Vec<LabelId> = of_segment.chain(sets.flat_map(|set| set.iter().copied())).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }
}

/// Adds the words of a segment: which rows exist and carry all labels.
fn segment_words(segment: &Segment, labels: &[LabelId], range: Range<u64>, words: &mut Vec<u64>) -> Result<()> {
    let mut bitmaps: Vec<RowBitmap> = labels.iter().map(|&label| segment.label(label)).collect();
    // The one with the fewest rows comes first; words in which it has none are not looked for in the others.
    bitmaps.push(segment.alive());
    bitmaps.sort_by_key(|bitmap| match bitmap {
        RowBitmap::None => 0,
        RowBitmap::List { count, .. } => *count,
        RowBitmap::Words { .. } | RowBitmap::All => usize::MAX,
    });
    let (first, others) = (bitmaps[0], &bitmaps[1..]);
    let (start, at) = (range.start as usize, words.len());
    words.resize(at + (range.end - range.start) as usize, 0);
    if first == RowBitmap::None {
        return Ok(());
    }
    segment.each_word(first, start..range.end as usize, |index, mut word| {
        for &bitmap in others {
            if word != 0 {
                word &= segment.word(bitmap, index)?;
            }
        }
        words[at + index - start] = word;
        Ok(())
    })
}

/// The number of rows in a bitmap that are not in another.
fn count_without(segment: &Segment, bitmap: RowBitmap, others: &[u64]) -> Result<u64> {
    let mut count = 0;
    segment.each_word(bitmap, 0..others.len(), |index, word| {
        count += u64::from((word & !others[index]).count_ones());
        Ok(())
    })?;
    Ok(count)
}

/// Corrects words, the first of which is `first_word`, by what a run says.
fn correct(run: &NodeRun, labels: &[LabelId], first_word: u64, words: &mut [u64]) -> Result<()> {
    let base = first_word * 64;
    let has_all = |set: &[LabelId]| labels.iter().all(|label| set.binary_search(label).is_ok());
    // Made once there is a state: most runs say nothing of these nodes.
    let mut matches: Option<Vec<bool>> = None;
    each_state(run, base..base + words.len() as u64 * 64, |at, code| {
        let matches = matches.get_or_insert_with(|| run.sets().iter().map(|set| has_all(set)).collect());
        let is_match = code != DELETED && matches.get((code - 1) as usize / 2).copied().unwrap_or(false);
        let (word, bit) = (&mut words[(at / 64) as usize], 1 << (at % 64));
        if is_match {
            *word |= bit;
        } else {
            *word &= !bit;
        }
        Ok(())
    })
}

/// Calls with each node of a range of ids whose state a run says: its distance from the start of the range, and the code.
fn each_state(run: &NodeRun, range: Range<u64>, mut call: impl FnMut(u64, i64) -> Result<()>) -> Result<()> {
    let Some(states) = run.state_column() else { return Ok(()) };
    let rows = run.ids().rows_in(run.file(), range.clone())?;
    let (mut ids, mut row) = (Vec::new(), rows.start);
    while row < rows.end {
        let block_end = (row / COLUMN_BLOCK_ROWS as u64 + 1) * COLUMN_BLOCK_ROWS as u64;
        let end = rows.end.min(row + PIECE_ROWS).min(block_end);
        run.ids().read(run.file(), row..end, &mut ids)?;
        let Some(mut states) = states.cursor(row) else { break };
        let first = row as usize % COLUMN_BLOCK_ROWS;
        for (at, &id) in ids.iter().enumerate() {
            let Some(code) = states.find(first + at)?.map(|found| found.int()) else { continue };
            if !range.contains(&id) {
                return Err(run.file().damage(0, "the ids of a run are out of order"));
            }
            call(id - range.start, code)?;
        }
        row = end;
    }
    Ok(())
}
