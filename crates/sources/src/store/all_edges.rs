//! All edges, pulled from the source kind by kind, a statement for each, for those who read the whole graph.
//!
//! Edges read this way are not kept in the cache.

use model::batch::EdgeBlock;
use model::limits::BATCH_ROWS;
use model::store::{EdgeBlockCursor, EdgeStream};
use model::{Column, Direction, NodeId, PropertyKeyId, Result};

use super::view::SourceView;
use crate::connector::{Question, StreamId, Which};
use crate::definition::Rows;
use crate::keys::{self, NO_KEY};

/// Rows of a pull.
const ROWS: usize = 8 * BATCH_ROWS;

/// A cursor over the edges of several kinds.
pub(super) struct AllEdges<'a> {
    view: &'a SourceView,
    keys: Vec<PropertyKeyId>,
    /// Kinds to come, the next one last.
    kinds: Vec<usize>,
    open: Option<Open>,
}

/// A kind that is read.
struct Open {
    kind: usize,
    properties: Vec<usize>,
    stream: StreamId,
}

impl SourceView {
    /// The edges of a stream's types, without those at nodes of other parts of the graph; `None` if some can be asked for
    /// by the keys of their nodes only.
    pub(super) fn stream_edges(&self, stream: &EdgeStream) -> Option<AllEdges<'_>> {
        let layout = &self.shared.layout;
        let lists = layout.lists(Direction::Out, stream.types.as_deref());
        let mut kinds: Vec<usize> = lists.into_iter().map(|list| list.edge).collect();
        kinds.retain(|&kind| !layout.edges[kind].ends.iter().any(|&space| layout.is_foreign(space)));
        let is_scanned = |kind: &usize| !matches!(layout.definition.edges[*kind].rows, Rows::ByKey { scan: None, .. });
        if stream.sources.is_some() || !kinds.iter().all(is_scanned) {
            return None;
        }
        kinds.reverse();
        Some(AllEdges { view: self, keys: stream.keys.clone(), kinds, open: None })
    }
}

fn question(kind: usize, properties: &[usize]) -> Question<'_> {
    Question::Edges { kind, direction: Direction::Out, of: Which::All, properties }
}

impl AllEdges<'_> {
    fn begin(&mut self, kind: usize) -> Result<&Open> {
        let layout = &self.view.shared.layout;
        let known = self.keys.iter().filter_map(|key| layout.edges[kind].properties.get(key).copied());
        let mut properties: Vec<usize> = known.collect();
        properties.sort_unstable();
        properties.dedup();
        let stream = self.view.link.start(&question(kind, &properties))?;
        Ok(self.open.insert(Open { kind, properties, stream }))
    }

    /// Fills a block with rows of a kind.
    fn fill(&self, open: &Open, mut rows: Vec<Column>, out: &mut EdgeBlock) -> Result<()> {
        let (layout, shared) = (&self.view.shared.layout, &self.view.shared);
        let expected = 3 + open.properties.len();
        if rows.len() != expected {
            let found = rows.len();
            return Err(model::error!(Internal, "a connector gave {found} columns, {expected} were asked for"));
        }
        let edge = &layout.edges[open.kind];
        let (mut near, mut far) = (Vec::new(), Vec::new());
        shared.keys.encode(edge.ends[0], &rows[0], &mut near)?;
        shared.keys.encode(edge.ends[1], &rows[1], &mut far)?;
        let mut columns = rows.split_off(3);
        if near.contains(&NO_KEY) || far.contains(&NO_KEY) {
            let is_edge = |row: &u32| near[*row as usize] != NO_KEY && far[*row as usize] != NO_KEY;
            let kept: Vec<u32> = (0..near.len() as u32).filter(is_edge).collect();
            near = kept.iter().map(|&row| near[row as usize]).collect();
            far = kept.iter().map(|&row| far[row as usize]).collect();
            columns = columns.iter().map(|column| column.gather(&kept)).collect();
        }
        let nodes = |numbers: Vec<u64>, space: usize, out: &mut Vec<NodeId>| {
            let base = keys::id_base(layout.member, space);
            out.extend(numbers.into_iter().map(|number| NodeId(base | number)));
        };
        nodes(near, edge.ends[0], &mut out.sources);
        nodes(far, edge.ends[1], &mut out.targets);
        out.edge_type = edge.edge_type;
        for key in &self.keys {
            let number = edge.properties.get(key);
            let at = number.and_then(|number| open.properties.binary_search(number).ok());
            out.properties.push(at.map_or_else(|| Column::nulls(out.sources.len()), |at| columns[at].clone()));
        }
        model::meter::count(|meter| meter.rows_used += out.sources.len() as u64);
        Ok(())
    }
}

impl EdgeBlockCursor for AllEdges<'_> {
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        out.clear();
        loop {
            if self.open.is_none() {
                let Some(kind) = self.kinds.pop() else { return Ok(false) };
                self.begin(kind)?;
            }
            let Some(open) = &self.open else { return Ok(false) };
            match self.view.link.more(open.stream, ROWS, &question(open.kind, &open.properties))? {
                Some(rows) => {
                    self.fill(open, rows, out)?;
                    if !out.sources.is_empty() {
                        return Ok(true);
                    }
                }
                None => {
                    self.view.link.stop(open.stream);
                    self.open = None;
                }
            }
        }
    }
}

impl Drop for AllEdges<'_> {
    fn drop(&mut self) {
        if let Some(open) = &self.open {
            self.view.link.stop(open.stream);
        }
    }
}
