//! Scans by ranges of tokens, page by page. Tokens are few, so that boundaries of ranges are tokens of partitions.

use std::sync::Arc;

use cluster::tables::{Fault, Field, Page, PageAsk, Row, Scan, Slice, Table};

use super::faults::timed_out;
use super::{Canary, Inner};

/// Different tokens, a power of two.
const TOKENS: u64 = 64;

/// The last row of a page: token, partition and clustering key; the order in which a scan gives rows.
pub(super) type Position = (i64, Vec<Field>, Vec<Field>);

/// The token of a partition, never the least one.
fn token(partition: &[Field]) -> i64 {
    let hash = partition.iter().fold(29_u64, |hash, field| match field {
        Field::Int(number) => model::mix::mix64(hash ^ *number as u64),
        Field::Bytes(bytes) => model::mix::mix64(hash ^ bytes.len() as u64),
    });
    let step = u64::MAX / TOKENS + 1;
    let behind = i128::from(hash % TOKENS + 1) * i128::from(step);
    (i128::from(i64::MIN) + behind).min(i128::from(i64::MAX)) as i64
}

impl Inner {
    /// Reads pages, each for itself.
    pub(super) fn scan(&mut self, pages: &[PageAsk]) -> Result<Vec<Page>, Fault> {
        let found: Result<Vec<Page>, Fault> = pages.iter().map(|ask| self.read_page(ask)).collect();
        let found = found?;
        self.counts.pages += pages.len() as u64;
        if self.random.chance(self.faults.lost_read) {
            self.counts.lost_pages += pages.len() as u64;
            if self.canary == Some(Canary::SkipsLostPage) {
                let skipped =
                    |(page, ask): (Page, &PageAsk)| Page { rows: Vec::new(), next: page.next.or(ask.from.clone()) };
                return Ok(found.into_iter().zip(pages).map(skipped).collect());
            }
            return Err(timed_out("a page"));
        }
        Ok(found)
    }

    /// True if a scan has the partitions of a token.
    fn scans(&self, scan: &Scan, token: i64) -> bool {
        match self.canary {
            Some(Canary::ScanEndsEarly) => scan.tokens.holds(token) && token != scan.tokens.to,
            Some(Canary::ScanBeginsEarly) => scan.tokens.holds(token) || token == scan.tokens.after,
            _ => scan.tokens.holds(token),
        }
    }

    /// Partitions of a table within a scan, those of other graphs among them, in the order of their tokens.
    fn partitions_of(&self, scan: &Scan) -> Vec<(i64, Vec<Field>)> {
        let of_replica = |at: usize| {
            let all = self.replicas[at].partitions.keys();
            all.filter(|(table, _)| *table == scan.table).map(|(_, partition)| (token(partition), partition.clone()))
        };
        let mut partitions: Vec<(i64, Vec<Field>)> = (0..self.replicas.len()).flat_map(of_replica).collect();
        partitions.retain(|(token, _)| self.scans(scan, *token));
        partitions.sort_unstable();
        partitions.dedup();
        partitions
    }

    fn read_page(&mut self, ask: &PageAsk) -> Result<Page, Fault> {
        let from = ask.from.as_ref().map(|from| {
            let number = u64::from_le_bytes(from[..].try_into().expect("the number of a page"));
            self.pages[number as usize].clone()
        });
        let repeats = self.canary == Some(Canary::RepeatsRow);
        let is_behind = |place: &Position| from.as_ref().is_none_or(|from| place > from || repeats && place == from);
        let (mut page, mut count) = (Page::default(), 0);
        for (token, partition) in self.partitions_of(&ask.scan) {
            if from.as_ref().is_some_and(|from| (token, &partition) < (from.0, &from.1)) {
                continue;
            }
            let slice = Slice::new(ask.scan.table, partition.clone(), Vec::new());
            for row in self.read_slice(&slice)? {
                let place = (token, partition.clone(), row.clustering.clone());
                if !is_behind(&place) {
                    continue;
                }
                count += 1;
                if partition[0] == Field::Int(ask.scan.graph) {
                    page.rows.push(wanted(&ask.scan, row));
                }
                if count >= ask.rows {
                    self.pages.push(place);
                    page.next = Some(Arc::from((self.pages.len() as u64 - 1).to_le_bytes()));
                    return Ok(page);
                }
            }
        }
        Ok(page)
    }
}

/// A row with the cells that are wanted.
fn wanted(scan: &Scan, row: Row) -> Row {
    assert!(scan.cells.is_sorted() && scan.table != Table::Log, "a scan of data");
    let cells = row.cells.into_iter().enumerate().map(|(at, cell)| cell.filter(|_| scan.cells.contains(&at)));
    Row { clustering: row.clustering, cells: cells.collect() }
}
