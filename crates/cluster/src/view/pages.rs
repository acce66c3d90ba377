//! Pages of a scan of a table by ranges of tokens: several stretches of a part in flight.
//!
//! Cost: a request for some thousand rows ([`crate::Settings::scan_rows`]), versions that are not seen among them. At most
//! [`LANES_MAX`] pages of about [`PAGE_BYTES`] are held, and charged to the budget of memory. Nothing is kept in the cache. Rows
//! of other graphs of the keyspace are read and passed over.

use model::{Consumer, Reservation, Result};

use super::View;
use crate::packed::Packed;
use crate::tables::{Field, PageAsk, Row, Scan, Table, Tokens};

/// Rows of the first page, where cells come along whose size is not known yet.
const ROWS_FIRST: u32 = 256;
/// Rows of a page at least, where rows are large.
const ROWS_MIN: u32 = 16;
/// Bytes of a page, by estimate.
const PAGE_BYTES: usize = 1 << 20;
/// Bytes of a row in memory beside its fields of variable length, estimated.
const ROW_BYTES: usize = 256;
/// Stretches of a part that are read at the same time.
const LANES_MAX: u64 = 4;

/// A part of a table that is being read.
pub(super) struct Pages<'a> {
    view: &'a View,
    table: Table,
    /// The next page of each stretch that is not at its end.
    asks: Vec<PageAsk>,
    page_rows: u32,
    _held: Reservation,
}

/// The cells of a scan.
pub(super) struct Cells {
    /// Their places.
    pub(super) places: Vec<usize>,
    /// True if the size of some is not known.
    pub(super) vary: bool,
}

impl<'a> Pages<'a> {
    /// A part of a table that is expected to have `rows` rows; none if there are none.
    pub(super) fn new(view: &'a View, table: Table, tokens: Tokens, cells: &Cells, rows: u64) -> Pages<'a> {
        let page_rows = if cells.vary { view.scan_rows.min(ROWS_FIRST) } else { view.scan_rows };
        let lanes = (rows / u64::from(view.scan_rows)).clamp(u64::from(rows > 0), LANES_MAX) as usize;
        let lane = |lane: usize| {
            let (tokens, graph) = (tokens.part(lane, lanes), view.reader.ring.graph);
            let scan = Scan { table, graph, tokens, cells: cells.places.clone() };
            PageAsk { scan, from: None, rows: page_rows }
        };
        let held = view.memory.charge(Consumer::Query, lanes * PAGE_BYTES);
        Pages { view, table, asks: (0..lanes).map(lane).collect(), page_rows, _held: held }
    }

    /// True if all is read.
    pub(super) fn is_over(&self) -> bool {
        self.asks.is_empty()
    }

    /// The next page of each stretch, in one round trip.
    pub(super) fn read(&mut self) -> Result<Vec<Packed>> {
        self.asks.iter_mut().for_each(|ask| ask.rows = self.page_rows);
        let reader = &self.view.reader;
        let pages = reader.ring.scan(&self.asks)?;
        reader.log.confirm(reader.at)?;
        let packed = pages.iter().map(|page| Packed::new(self.table, &page.rows)).collect();
        pages.iter().for_each(|page| self.adapt(&page.rows));
        let asks = std::mem::take(&mut self.asks).into_iter().zip(pages);
        let going_on = asks.filter_map(|(ask, page)| page.next.map(|next| PageAsk { from: Some(next), ..ask }));
        self.asks = going_on.collect();
        packed
    }

    /// Chooses the rows of further pages by the bytes of those that were read.
    fn adapt(&mut self, rows: &[Row]) {
        if !rows.is_empty() {
            let bytes: usize = rows.iter().map(row_bytes).sum();
            let fitting = PAGE_BYTES / (bytes / rows.len()).max(1);
            self.page_rows = (fitting as u32).max(ROWS_MIN).min(self.view.scan_rows);
        }
    }
}

/// Bytes of a row in memory, estimated.
fn row_bytes(row: &Row) -> usize {
    let fields = row.clustering.iter().chain(row.cells.iter().flatten());
    let length = |field: &Field| if let Field::Bytes(bytes) = field { bytes.len() } else { 0 };
    ROW_BYTES + fields.map(length).sum::<usize>()
}
