//! All edges, by scans of the table of edges: each part of the tokens for itself.
//!
//! Edges are read by number and not by their ends, so that nothing depends on how edges of a node lie in partitions. Each
//! version of an edge is one row that says by itself whether it is seen, so that pages need not be put together.

use std::collections::BTreeMap;

use model::batch::EdgeBlock;
use model::store::{EdgeBlockCursor, EdgeIds, EdgeStream};
use model::{EdgeId, EdgeTypeId, NodeId, Result, meter};

use super::pages::{Cells, Pages};
use super::{View, columns};
use crate::packed::PackedRow;
use crate::rows::{Properties, is_seen, read_properties};
use crate::tables::{Table, Tokens};

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
    pages: Pages<'a>,
    /// Blocks that were read and not handed out.
    blocks: Vec<Edges>,
    /// Edges that the transaction made or changed are still to come.
    owes_own: bool,
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
    /// The edges of one of `parts` parts; the first has those of the transaction too.
    pub(super) fn new(view: &'a View, stream: &EdgeStream, part: usize, parts: usize) -> AllEdges<'a> {
        let vary = !stream.keys.is_empty();
        let mut places = vec![DIED, TYPE, SOURCE, TARGET];
        if vary {
            places.insert(1, PROPERTIES);
        }
        // Numbers that were given out bound the rows, also where most edges are gone by now.
        let rows = view.state.next.edges.div_ceil(parts.max(1) as u64);
        let pages = Pages::new(view, Table::Edge, Tokens::ALL.part(part, parts), &Cells { places, vary }, rows);
        let owes_own = part == 0 && !view.own.edges.is_empty();
        AllEdges { view, stream: stream.clone(), pages, blocks: Vec::new(), owes_own }
    }

    fn is_wanted(&self, edge_type: EdgeTypeId, source: NodeId) -> bool {
        self.stream.types.as_ref().is_none_or(|types| types.contains(&edge_type))
            && self.stream.sources.as_ref().is_none_or(|sources| sources.contains(&source.0))
    }

    /// Reads further pages.
    fn fill(&mut self) -> Result<()> {
        let mut blocks: BTreeMap<EdgeTypeId, Edges> = BTreeMap::new();
        let mut used = 0;
        for page in self.pages.read()? {
            for row in page.rows() {
                used += u64::from(self.take(&row, &mut blocks)?);
            }
        }
        meter::count(|meter| meter.rows_used += used);
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
            } else if self.pages.is_over() {
                return Ok(false);
            } else {
                self.fill()?;
            }
        }
    }
}
