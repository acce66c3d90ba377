//! Finds nodes: words of bitmaps from the files, with the bits of changed nodes corrected, then the nodes made since.

use std::ops::Range;

use model::interrupt::{check_this_thread, work};
use model::limits::BATCH_ROWS;
use model::store::NodeCursor;
use model::{LabelId, NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView, Result};

use super::Snapshot;

/// Bitmap words taken from the files at a time.
const WORDS: u64 = 1_024;

/// Approximate bytes of the properties of one batch.
const BATCH_BYTES: u64 = 64 << 20;

/// A cursor over nodes.
pub(super) struct ScanCursor<'a> {
    snapshot: &'a Snapshot,
    labels: Vec<LabelId>,
    keys: Vec<PropertyKeyId>,
    /// Ids still to be looked at that are not in `words`.
    rest: Range<u64>,
    /// Bits of nodes to give out: bit `i` of word `w` is node `(first_word + w) * 64 + i`.
    words: Vec<u64>,
    first_word: u64,
    /// The word to look at next.
    word: usize,
}

impl<'a> ScanCursor<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, scan: &NodeScan) -> ScanCursor<'a> {
        let bound = snapshot.node_id_bound();
        let range = scan.range.clone().unwrap_or(0..bound);
        let rest = range.start.min(bound)..range.end.min(bound);
        let (labels, keys) = (scan.labels.clone(), scan.keys.clone());
        ScanCursor { snapshot, labels, keys, rest, words: Vec::new(), first_word: 0, word: 0 }
    }

    /// Takes the next ids of the files into `words`.
    fn load_words(&mut self) -> Result<()> {
        let memtable = &self.snapshot.memtable;
        let end = self.rest.end.min(memtable.first_node);
        self.first_word = self.rest.start / 64;
        let end_word = end.div_ceil(64).min(self.first_word + WORDS);
        let end = end.min(end_word * 64);
        let count = (end_word - self.first_word) as usize;
        self.snapshot.version.label_words(&self.labels, self.first_word, count, &mut self.words)?;
        if !memtable.node_changes.is_empty() {
            self.correct(self.rest.start..end);
        }
        let start_bit = self.rest.start % 64;
        self.words[0] &= u64::MAX << start_bit;
        if !end.is_multiple_of(64) {
            self.words[count - 1] &= (1 << (end % 64)) - 1;
        }
        self.rest.start = end;
        self.word = 0;
        Ok(())
    }

    fn correct(&mut self, ids: Range<u64>) {
        for (id, change) in self.snapshot.memtable.node_changes.range(ids) {
            let word = &mut self.words[(id / 64 - self.first_word) as usize];
            let has_all = |labels: &[LabelId]| self.labels.iter().all(|label| labels.contains(label));
            if change.is_deleted || change.labels.as_ref().is_some_and(|labels| !has_all(labels)) {
                *word &= !(1 << (id % 64));
            } else if change.labels.is_some() {
                *word |= 1 << (id % 64);
            }
        }
    }

    /// Nodes of the next batch, at most: few where values are very large.
    fn rows_max(&self) -> usize {
        if self.keys.is_empty() {
            return BATCH_ROWS;
        }
        let is_in_words = self.word < self.words.len();
        let next = if is_in_words { (self.first_word + self.word as u64) * 64 } else { self.rest.start };
        let row_bytes = self.snapshot.version.layers().row_bytes(NodeId(next), &self.keys);
        (BATCH_BYTES / row_bytes.max(1)).clamp(1, BATCH_ROWS as u64) as usize
    }

    fn take_from_words(&mut self, rows_max: usize, out: &mut Vec<NodeId>) {
        while self.word < self.words.len() && out.len() < rows_max {
            let mut bits = self.words[self.word];
            let base = (self.first_word + self.word as u64) * 64;
            while bits != 0 {
                out.push(NodeId(base + u64::from(bits.trailing_zeros())));
                bits &= bits - 1;
            }
            self.word += 1;
        }
    }

    fn take_from_memtable(&mut self, out: &mut Vec<NodeId>) -> Result<()> {
        let memtable = &self.snapshot.memtable;
        for (node, record) in memtable.new_nodes(NodeId(self.rest.start)) {
            self.rest.start = node.0;
            if out.len() >= BATCH_ROWS || node.0 >= self.rest.end {
                return Ok(());
            }
            // Few of very many may carry the labels.
            work(1)?;
            if !record.is_deleted && self.labels.iter().all(|label| record.labels.contains(label)) {
                out.push(node);
            }
        }
        self.rest.start = self.rest.end;
        Ok(())
    }
}

impl NodeCursor for ScanCursor<'_> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        out.clear();
        let rows_max = self.rows_max();
        while out.nodes.len() < rows_max {
            if self.word < self.words.len() {
                self.take_from_words(rows_max, &mut out.nodes);
            } else if self.rest.start >= self.rest.end {
                break;
            } else if self.rest.start < self.snapshot.memtable.first_node {
                check_this_thread()?;
                self.load_words()?;
            } else {
                self.take_from_memtable(&mut out.nodes)?;
            }
        }
        if out.nodes.is_empty() {
            return self.snapshot.sound(false);
        }
        if !self.keys.is_empty() {
            out.properties = self.snapshot.columns_of_nodes(&out.nodes, &self.keys)?;
        }
        self.snapshot.sound(true)
    }
}
