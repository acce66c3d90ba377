//! Tests of many nodes of a segment for one label.
//!
//! Cost: a bit of a bitmap, which is made of a list of rows for many tests; nothing but a comparison where the rows lie next to each
//! other, as those of nodes that were imported together do; a search in the list for few tests. Blocks are verified once for all
//! tests, not once for each.

use std::ops::RangeInclusive;

use model::Result;

use super::{RowBitmap, Segment};

/// Tests for a label, of rows of one segment.
pub struct LabelTests<'s> {
    segment: &'s Segment,
    bitmap: RowBitmap,
    rows: Rows<'s>,
}

enum Rows<'s> {
    /// The bytes of a bitmap.
    Bits(&'s [u8]),
    /// All rows from the first to the last.
    Span(RangeInclusive<usize>),
    /// A bit for each row from the first on.
    Marks(usize, Vec<u64>),
    /// The rows in order.
    List(&'s [[u8; 4]]),
    /// Blocks are read for each test: they are few.
    Each,
}

impl<'s> LabelTests<'s> {
    /// Tests for the label whose rows a bitmap has, of which about as many are to come.
    pub fn new(segment: &'s Segment, bitmap: RowBitmap, tests: usize) -> Result<LabelTests<'s>> {
        let rows = match bitmap {
            RowBitmap::List { start, count } => of_list(segment.list(start, count)?, tests),
            _ => segment.bitmap_bytes(bitmap, tests)?.map_or(Rows::Each, Rows::Bits),
        };
        Ok(LabelTests { segment, bitmap, rows })
    }

    /// True if a row has the label.
    #[inline]
    pub fn holds(&self, row: usize) -> Result<bool> {
        match &self.rows {
            Rows::Each => self.segment.bit(self.bitmap, row),
            rows => Ok(holds(rows, row)),
        }
    }
}

#[inline]
fn holds(rows: &Rows<'_>, row: usize) -> bool {
    match rows {
        Rows::Bits(bytes) => bytes.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1),
        Rows::Span(span) => span.contains(&row),
        Rows::Marks(first, words) => {
            let bit = row.wrapping_sub(*first);
            words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
        }
        Rows::List(list) => list.binary_search_by_key(&(row as u32), |row| u32::from_le_bytes(*row)).is_ok(),
        Rows::Each => false,
    }
}

/// Steps of a search in a list that cost as much as a row of it that is marked.
const STEPS_OF_A_MARK: usize = 8;

/// The rows of a list, in the cheapest form for that number of tests.
fn of_list(list: &[[u8; 4]], tests: usize) -> Rows<'_> {
    let at = |row: &[u8; 4]| u32::from_le_bytes(*row) as usize;
    let (Some(first), Some(last)) = (list.first().map(at), list.last().map(at)) else { return Rows::List(list) };
    let span = last.saturating_sub(first) + 1;
    if span == list.len() {
        return Rows::Span(first..=last);
    }
    if list.len() + span / 64 > tests.saturating_mul(STEPS_OF_A_MARK) {
        return Rows::List(list);
    }
    let mut words = vec![0; span.div_ceil(64)];
    for bit in list.iter().map(|row| at(row).wrapping_sub(first)) {
        // Rows that are not in order are told by whoever reads them in order.
        if let Some(word) = words.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }
    Rows::Marks(first, words)
}

#[cfg(test)]
mod tests {
    use testing::random::{SeededRandom, seed_or};

    use super::{Rows, holds, of_list};

    #[test]
    fn each_form_of_a_list_has_its_rows() {
        let mut random = SeededRandom::new(seed_or(21));
        let mut forms = [0; 3];
        for length in [0, 1, 2, 3, 17, 300] {
            for tests in [1, 100_000] {
                let mut rows: Vec<u32> = (0..length).map(|_| 100 + random.below(600) as u32).collect();
                if length == 17 {
                    rows = (200..217).collect();
                }
                rows.sort_unstable();
                rows.dedup();
                let list: Vec<[u8; 4]> = rows.iter().map(|row| row.to_le_bytes()).collect();
                let form = of_list(&list, tests);
                forms[match form {
                    Rows::Span(_) => 0,
                    Rows::Marks(..) => 1,
                    _ => 2,
                }] += 1;
                for row in 0..801 {
                    assert_eq!(holds(&form, row), rows.contains(&(row as u32)), "{row} of {rows:?}");
                }
            }
        }
        assert!(forms.iter().all(|&count| count > 0), "{forms:?}");
    }
}
