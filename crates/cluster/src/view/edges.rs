//! All edges, by scans of the table of edges: each part of the tokens for itself, several stretches of it in flight.
//!
//! Edges are read by number and not by their ends, so that nothing depends on how edges of a node lie in partitions. Each
//! version of an edge is one row that says by itself whether it is seen, so that pages need not be put together.
//!
//! Cost: a request for some thousand rows ([`crate::Settings::scan_rows`]), versions that are not seen among them, where following the edges of nodes
//! takes a request for each node. A part holds at most [`LANES_MAX`] pages of [`PAGE_BYTES`], which are charged to the
//! budget of memory as long as the cursor lives. Nothing is kept in the cache. Rows of other graphs of the keyspace are read and
//! passed over.

use std::collections::BTreeMap;

use model::batch::EdgeBlock;
use model::store::{EdgeBlockCursor, EdgeIds, EdgeStream};
use model::{Consumer, EdgeId, EdgeTypeId, NodeId, Reservation, Result, meter};

use super::{View, columns};
use crate::packed::{Packed, PackedRow};
use crate::rows::{Properties, is_seen, read_properties};
use crate::tables::{Field, PageAsk, Row, Scan, Table, Tokens};

/// Rows of the first page, where properties come along whose size is not known yet.
const PAGE_ROWS_FIRST: u32 = 256;
/// Rows of a page at least, where rows are large.
const PAGE_ROWS_MIN: u32 = 16;
/// Bytes of a page, about.
const PAGE_BYTES: usize = 1 << 20;
/// Bytes of a row in memory beside its fields of variable length, about.
const ROW_BYTES: usize = 256;
/// Stretches of a part that are read at the same time.
const LANES_MAX: u64 = 4;

/// Places of cells in the table of edges.
const DIED: usize = 0;
const PROPERTIES: usize = 1;
const TYPE: usize = 2;
const SOURCE: usize = 3;
const TARGET: usize = 4;

/// A cursor over the edges of a part.
pub(super) struct AllEdges<'a> {
    view: &'a View,
    stream: EdgeStream,
    /// The next page of each stretch that is not at its end.
    asks: Vec<PageAsk>,
    page_rows: u32,
    /// Blocks that were read and not handed out.
    blocks: Vec<Edges>,
    /// Edges that the transaction made or changed are still to come.
    owes_own: bool,
    _held: Reservation,
}

/// Edges of one type.
#[derive(Default)]
struct Edges {
    edge_type: EdgeTypeId,
    numbers: Vec<EdgeId>,
    sources: Vec<NodeId>,
    targets: Vec<NodeId>,
    properties: Vec<Properties>,
}

impl<'a> AllEdges<'a> {
    /// The edges of one of so many parts; the first has those of the transaction too.
    pub(super) fn new(view: &'a View, stream: &EdgeStream, part: usize, parts: usize) -> AllEdges<'a> {
        let mut cells = vec![DIED, TYPE, SOURCE, TARGET];
        if !stream.keys.is_empty() {
            cells.insert(1, PROPERTIES);
        }
        let page_rows = if stream.keys.is_empty() { view.scan_rows } else { view.scan_rows.min(PAGE_ROWS_FIRST) };
        let (tokens, graph) = (Tokens::ALL.part(part, parts), view.reader.ring.graph);
        // Numbers that were given out bound the rows, also where most edges are gone by now.
        let edges = view.state.next.edges / parts.max(1) as u64;
        let lanes = (edges / u64::from(view.scan_rows)).clamp(1, LANES_MAX) as usize;
        let lane = |lane: usize| {
            let tokens = tokens.part(lane, lanes);
            let scan = Scan { table: Table::Edge, graph, tokens, cells: cells.clone() };
            PageAsk { scan, from: None, rows: page_rows }
        };
        let is_empty = edges == 0 && view.state.next.edges == 0;
        let asks = if is_empty { Vec::new() } else { (0..lanes).map(lane).collect() };
        let held = view.memory.charge(Consumer::Query, asks.len() * PAGE_BYTES);
        let owes_own = part == 0 && !view.own.edges.is_empty();
        AllEdges { view, stream: stream.clone(), asks, page_rows, blocks: Vec::new(), owes_own, _held: held }
    }

    fn is_wanted(&self, edge_type: EdgeTypeId, source: NodeId) -> bool {
        self.stream.types.as_ref().is_none_or(|types| types.contains(&edge_type))
            && self.stream.sources.as_ref().is_none_or(|sources| sources.contains(&source.0))
    }

    /// Reads the next page of each stretch.
    fn fill(&mut self) -> Result<()> {
        self.asks.iter_mut().for_each(|ask| ask.rows = self.page_rows);
        let pages = self.view.reader.ring.scan(&self.asks)?;
        let mut blocks: BTreeMap<EdgeTypeId, Edges> = BTreeMap::new();
        let mut used = 0;
        for page in &pages {
            self.adapt(&page.rows);
            for row in Packed::new(Table::Edge, &page.rows)?.rows() {
                used += u64::from(self.take(&row, &mut blocks)?);
            }
        }
        meter::count(|meter| meter.rows_used += used);
        let asks = std::mem::take(&mut self.asks).into_iter().zip(pages);
        let going_on = asks.filter_map(|(ask, page)| page.next.map(|next| PageAsk { from: Some(next), ..ask }));
        self.asks = going_on.collect();
        self.blocks.extend(blocks.into_values());
        Ok(())
    }

    /// Adds the edge of a row, if it is seen and wanted.
    fn take(&self, row: &PackedRow<'_>, blocks: &mut BTreeMap<EdgeTypeId, Edges>) -> Result<bool> {
        let (number, born) = (row.key(0)?, row.key(1)?);
        if !is_seen(row, born, self.view.reader.at)? {
            return Ok(false);
        }
        let edge_type = EdgeTypeId(row.full_cell(TYPE)? as u32);
        let (source, target) = (NodeId(row.full_cell(SOURCE)?), NodeId(row.full_cell(TARGET)?));
        if !self.is_wanted(edge_type, source) || self.view.own.edges.contains_key(&number) {
            return Ok(false);
        }
        let has_properties = !self.stream.keys.is_empty();
        let properties = if has_properties { read_properties(row.cell_bytes(PROPERTIES)?)? } else { Vec::new() };
        blocks.entry(edge_type).or_default().push(edge_type, EdgeId(number), (source, target), properties);
        Ok(true)
    }

    /// Chooses the rows of further pages by the bytes of those that were read.
    fn adapt(&mut self, rows: &[Row]) {
        if rows.is_empty() {
            return;
        }
        let bytes: usize = rows.iter().map(row_bytes).sum();
        let fitting = PAGE_BYTES / (bytes / rows.len()).max(1);
        self.page_rows = (fitting as u32).max(PAGE_ROWS_MIN).min(self.view.scan_rows);
    }

    /// Adds the edges that the transaction made or changed.
    fn fill_own(&mut self) {
        let mut blocks: BTreeMap<EdgeTypeId, Edges> = BTreeMap::new();
        for (&number, touched) in &self.view.own.edges {
            if let Some(edge) = touched.new.as_ref().filter(|edge| self.is_wanted(edge.edge_type, edge.source)) {
                let block = blocks.entry(edge.edge_type).or_default();
                block.push(edge.edge_type, EdgeId(number), (edge.source, edge.target), edge.properties.clone());
            }
        }
        self.blocks.extend(blocks.into_values());
    }
}

/// Bytes of a row in memory, about.
fn row_bytes(row: &Row) -> usize {
    let fields = row.clustering.iter().chain(row.cells.iter().flatten());
    let length = |field: &Field| match field {
        Field::Bytes(bytes) => bytes.len(),
        Field::Int(_) => 0,
    };
    ROW_BYTES + fields.map(length).sum::<usize>()
}

impl Edges {
    fn push(&mut self, edge_type: EdgeTypeId, number: EdgeId, ends: (NodeId, NodeId), properties: Properties) {
        self.edge_type = edge_type;
        self.numbers.push(number);
        self.sources.push(ends.0);
        self.targets.push(ends.1);
        self.properties.push(properties);
    }

    fn into_block(self, stream: &EdgeStream, out: &mut EdgeBlock) {
        out.edge_type = self.edge_type;
        out.sources = self.sources;
        out.targets = self.targets;
        if stream.edge_ids == EdgeIds::Include {
            out.edges = self.numbers;
        }
        out.properties = columns(&stream.keys, self.properties.iter().map(|properties| Some(&properties[..])));
    }
}

impl EdgeBlockCursor for AllEdges<'_> {
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        out.clear();
        loop {
            if let Some(block) = self.blocks.pop() {
                block.into_block(&self.stream, out);
                return Ok(true);
            }
            if std::mem::take(&mut self.owes_own) {
                self.fill_own();
            } else if self.asks.is_empty() {
                return Ok(false);
            } else {
                self.fill()?;
            }
        }
    }
}
