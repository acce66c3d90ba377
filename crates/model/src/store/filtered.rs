//! Scans with conditions, of stores that test all of them, some, or none.

use super::{NodeCursor, NodeScan, ReadView};
use crate::batch::NodeBatch;
use crate::condition::Condition;
use crate::error::Result;
use crate::id::PropertyKeyId;

/// Finds the nodes of a scan for which all its conditions hold: the store tests those that it takes, the others are tested
/// here.
pub fn scan_filtered<'a>(view: &'a (impl ReadView + ?Sized), scan: &NodeScan) -> Result<Box<dyn NodeCursor + 'a>> {
    if scan.filter.is_empty() {
        return view.scan(scan);
    }
    let taken = view.takes(scan).filter;
    let is_taken = |at: usize| taken.get(at).copied().unwrap_or(false);
    let mut inner = NodeScan { filter: Vec::new(), ..scan.clone() };
    let mut left: Vec<Condition<usize>> = Vec::new();
    for (at, condition) in scan.filter.iter().enumerate() {
        if is_taken(at) {
            inner.filter.push(condition.clone());
            continue;
        }
        left.push(condition.renamed(&mut |&key| place(&mut inner.keys, key)));
    }
    if left.is_empty() {
        return view.scan(&inner);
    }
    // Of nodes that may yet be left out, the first are not enough.
    inner.first = None;
    Ok(Box::new(Filtered { cursor: view.scan(&inner)?, left, keys: scan.keys.len() }))
}

fn place(keys: &mut Vec<PropertyKeyId>, key: PropertyKeyId) -> usize {
    keys.iter().position(|&other| other == key).unwrap_or_else(|| {
        keys.push(key);
        keys.len() - 1
    })
}

/// The nodes of a cursor for which conditions hold.
struct Filtered<'a> {
    cursor: Box<dyn NodeCursor + 'a>,
    /// Conditions on the columns of a batch.
    left: Vec<Condition<usize>>,
    /// Number of columns that were asked for.
    keys: usize,
}

impl NodeCursor for Filtered<'_> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        while self.cursor.next(out)? {
            let columns = &out.properties;
            let holds = |row: &u32| {
                let value = |&place: &usize| columns[place].value(*row as usize);
                self.left.iter().all(|condition| condition.holds(&value))
            };
            let kept: Vec<u32> = (0..out.nodes.len() as u32).filter(holds).collect();
            if kept.is_empty() {
                continue;
            }
            out.properties.truncate(self.keys);
            if kept.len() < out.nodes.len() {
                out.properties = out.properties.iter().map(|column| column.gather(&kept)).collect();
                out.nodes = kept.iter().map(|&row| out.nodes[row as usize]).collect();
            }
            return Ok(true);
        }
        Ok(false)
    }
}
