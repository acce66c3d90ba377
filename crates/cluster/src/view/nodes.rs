//! All nodes, without anything of theirs, in no order: by a scan of the table of nodes.

use model::limits::BATCH_ROWS;
use model::store::NodeCursor;
use model::{NodeBatch, NodeId, NodeScan, Result, meter};

use super::View;
use super::pages::{Cells, Pages};
use crate::rows::is_seen;
use crate::tables::{Table, Tokens};

/// Place of the cell that says when a version died.
const DIED: usize = 0;

/// A cursor over all nodes.
pub(super) struct AllNodes<'a> {
    view: &'a View,
    pages: Pages<'a>,
    found: Vec<NodeId>,
    owes_own: bool,
}

impl<'a> AllNodes<'a> {
    /// True if a scan wants all nodes, nothing of theirs, and there are many.
    pub(super) fn serves(view: &View, scan: &NodeScan) -> bool {
        let is_whole = scan.labels.is_empty() && scan.range.is_none() && scan.first.is_none();
        is_whole
            && scan.keys.is_empty()
            && scan.filter.is_empty()
            && view.state.statistics.nodes > 2 * BATCH_ROWS as u64
    }

    pub(super) fn new(view: &'a View) -> AllNodes<'a> {
        let cells = Cells { places: vec![DIED], vary: false };
        let pages = Pages::new(view, Table::Node, Tokens::ALL, &cells, view.state.next.nodes);
        AllNodes { view, pages, found: Vec::new(), owes_own: !view.own.nodes.is_empty() }
    }

    fn fill(&mut self) -> Result<()> {
        let own = &self.view.own.nodes;
        if std::mem::take(&mut self.owes_own) {
            self.found.extend(own.iter().filter(|(_, touched)| touched.new.is_some()).map(|(id, _)| *id));
            return Ok(());
        }
        for page in self.pages.read()? {
            for row in page.rows() {
                let (id, born) = (NodeId(row.key(0)?), row.key(1)?);
                if is_seen(&row, born, self.view.reader.at)? && !own.contains_key(&id) {
                    self.found.push(id);
                }
            }
        }
        meter::count(|meter| meter.rows_used += self.found.len() as u64);
        Ok(())
    }
}

impl NodeCursor for AllNodes<'_> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        out.clear();
        while self.found.is_empty() {
            if self.pages.is_over() && !self.owes_own {
                return Ok(false);
            }
            self.fill()?;
        }
        let rest = self.found.split_off(self.found.len().min(BATCH_ROWS));
        out.nodes.append(&mut self.found);
        self.found = rest;
        Ok(true)
    }
}
