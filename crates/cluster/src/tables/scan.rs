//! Scans of a whole table of one graph, by ranges of tokens, page by page.
//!
//! A token is the hash of a partition key by which a wide-column store spreads partitions over its machines. Ranges that
//! share no token share no partition, so that their rows can be read at the same time, and each range again by itself.

use std::sync::Arc;

use super::{Row, Table};

/// Partitions whose tokens lie behind one token and up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The last token before the range; no partition has the least one of all.
    pub after: i64,
    /// The last token of the range.
    pub to: i64,
}

impl Tokens {
    /// All tokens.
    pub const ALL: Tokens = Tokens { after: i64::MIN, to: i64::MAX };

    /// One of `parts` parts of nearly equal length, numbered from 0, which together are the range.
    #[must_use]
    pub fn part(self, part: usize, parts: usize) -> Tokens {
        let (length, parts) = ((i128::from(self.to) - i128::from(self.after)).max(0), parts.max(1) as i128);
        let bound = |part: usize| (i128::from(self.after) + (length * part as i128 + parts - 1) / parts) as i64;
        Tokens { after: bound(part), to: bound(part + 1) }
    }

    /// True if a token lies in the range.
    pub fn holds(self, token: i64) -> bool {
        self.after < token && token <= self.to
    }
}

/// A question for the rows of a table that belong to a graph, of all partitions whose tokens lie in a range. Rows of one
/// partition come one after the other, in the order of their clustering keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The table, whose partition keys begin with the number of a graph.
    pub table: Table,
    /// The graph.
    pub graph: i64,
    /// Tokens of the partitions.
    pub tokens: Tokens,
    /// Cells that are wanted, by their place in [`super::Shape::cells`], ascending; rows have the others as `None`.
    pub cells: Vec<usize>,
}

/// A question for a page of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageAsk {
    /// The scan.
    pub scan: Scan,
    /// Beginning of the page, as [`Page::next`] of the page before said; `None` for the first.
    pub from: Option<Arc<[u8]>>,
    /// Rows of the page at most.
    pub rows: u32,
}

/// A page of a scan. It may have no row, and still not be the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Its rows.
    pub rows: Vec<Row>,
    /// Beginning of the next page; `None` if this is the last.
    pub next: Option<Arc<[u8]>>,
}

#[cfg(test)]
mod tests {
    use super::Tokens;

    #[test]
    fn parts_together_are_the_range() {
        for parts in [1, 2, 3, 64, 1_000] {
            let mut after = i64::MIN;
            for part in 0..parts {
                let tokens = Tokens::ALL.part(part, parts);
                assert_eq!(tokens.after, after, "part {part} of {parts} begins where the one before ends");
                assert!(tokens.after < tokens.to && tokens.holds(tokens.to) && !tokens.holds(tokens.after));
                after = tokens.to;
            }
            assert_eq!(after, i64::MAX);
        }
        let small = Tokens { after: 5, to: 7 };
        let held: Vec<i64> = (0..4).flat_map(|part| (0..10).filter(move |&at| small.part(part, 4).holds(at))).collect();
        assert_eq!(held, [6, 7]);
    }
}
