//! Rows of a label: a list while they are few, a bitmap from then on, in memory as in files.
//!
//! A bitmap takes 128 KiB for each label of a full segment, and each pass over labels reads all of it. Of tens of thousands
//! of labels most are on few nodes, whose list takes four bytes each.

use crate::format::SEGMENT_NODES;

/// Number of rows of a segment for each row of a label from which on a list is kept: an eighth of the bitmap's bytes.
const ROWS_OF_A_LISTED_ROW: usize = 256;
/// Longest list of a segment that still grows.
const LARGEST_LIST: usize = SEGMENT_NODES as usize / ROWS_OF_A_LISTED_ROW;

/// True if so few of the rows are kept as a list.
pub fn is_listed(count: u64, rows: usize) -> bool {
    count <= (rows / ROWS_OF_A_LISTED_ROW) as u64
}

/// The rows of one label of a segment that is being made.
#[derive(Debug)]
pub enum LabelRows {
    /// Each row once, in any order.
    List(Vec<u32>),
    /// A bit for each row, as far as bits are set.
    Words(Vec<u64>),
}

impl Default for LabelRows {
    fn default() -> LabelRows {
        LabelRows::List(Vec::new())
    }
}

impl LabelRows {
    /// Adds a row that is not there.
    pub fn add(&mut self, row: usize) {
        self.add_range(row, row + 1);
    }

    /// Adds rows that are not there.
    pub fn add_range(&mut self, start: usize, end: usize) {
        if let LabelRows::List(list) = self {
            if list.len() + (end - start) <= LARGEST_LIST {
                list.extend(start as u32..end as u32);
                return;
            }
            let list = std::mem::take(list);
            let mut words = Vec::new();
            list.iter().for_each(|&row| set_bits(&mut words, row as usize, row as usize + 1));
            *self = LabelRows::Words(words);
        }
        if let LabelRows::Words(words) = self {
            set_bits(words, start, end);
        }
    }

    /// Adds the rows of a word of a bitmap, none of which is there.
    pub fn add_word(&mut self, index: usize, word: u64) {
        match self {
            LabelRows::Words(words) => {
                words.resize(words.len().max(index + 1), 0);
                words[index] |= word;
            }
            LabelRows::List(_) => bits(word).for_each(|bit| self.add(index * 64 + bit)),
        }
    }

    /// Takes out the rows whose bits are set.
    pub fn remove(&mut self, rows: &[u64]) {
        let is_in = |row: u32| rows.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1);
        match self {
            LabelRows::List(list) => list.retain(|&row| !is_in(row)),
            LabelRows::Words(words) => words.iter_mut().zip(rows).for_each(|(word, out)| *word &= !out),
        }
    }

    /// Number of rows.
    pub fn count(&self) -> u64 {
        match self {
            LabelRows::List(list) => list.len() as u64,
            LabelRows::Words(words) => count_ones(words),
        }
    }

    /// The rows in order.
    pub fn into_list(self) -> Vec<u32> {
        match self {
            LabelRows::List(mut list) => {
                list.sort_unstable();
                list
            }
            LabelRows::Words(words) => {
                let of_word = |(index, &word): (usize, &u64)| bits(word).map(move |bit| (index * 64 + bit) as u32);
                words.iter().enumerate().flat_map(of_word).collect()
            }
        }
    }

    /// A bit for each of as many rows.
    pub fn into_words(self, rows: usize) -> Vec<u64> {
        let mut words = match self {
            LabelRows::Words(words) => words,
            LabelRows::List(list) => {
                let mut words = vec![0; rows.div_ceil(64)];
                list.iter().for_each(|&row| words[row as usize / 64] |= 1 << (row % 64));
                words
            }
        };
        words.resize(rows.div_ceil(64), 0);
        words
    }
}

/// The bits of a word that are set, in order.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

/// Number of bits that are set.
pub fn count_ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Sets the bits of a range, and makes room for them.
pub fn set_bits(words: &mut Vec<u64>, start: usize, end: usize) {
    words.resize(words.len().max(end.div_ceil(64)), 0);
    let mut at = start;
    while at < end {
        let count = (64 - at % 64).min(end - at);
        words[at / 64] |= (u64::MAX >> (64 - count)) << (at % 64);
        at += count;
    }
}
