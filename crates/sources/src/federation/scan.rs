//! The nodes of all parts, one part after the other; a part is asked when those before it are through.

use std::sync::Arc;

use model::store::NodeCursor;
use model::{Access, LabelId, NodeBatch, NodeScan, PropertyKeyId, Result};

use super::view::{Joined, with_nulls};

/// Nodes of all parts.
pub(super) struct PartsScan<'a> {
    joined: &'a Joined,
    scan: NodeScan,
    /// The next part to ask.
    next: usize,
    /// The part that is read, with the places of the keys there.
    open: Option<Open<'a>>,
}

/// A part that is read, with the places of the keys there.
type Open<'a> = (Box<dyn NodeCursor + 'a>, Vec<Option<PropertyKeyId>>);

impl Joined {
    pub(super) fn scan_parts(&self, scan: &NodeScan) -> PartsScan<'_> {
        PartsScan { joined: self, scan: scan.clone(), next: 0, open: None }
    }

    /// The scan that a part is asked for, and for each key of `scan` its key in the part; `None` if the part has
    /// nothing of it.
    pub(super) fn scan_in(&self, part: usize, scan: &NodeScan) -> Option<(NodeScan, Vec<Option<PropertyKeyId>>)> {
        let labels: Vec<LabelId> = self.labels_in(part, &scan.labels)?;
        let place = |key: &PropertyKeyId| self.map(part).keys.to_part(key.0).map(PropertyKeyId);
        let places: Vec<Option<PropertyKeyId>> = scan.keys.iter().map(place).collect();
        let keys = places.iter().copied().flatten().collect();
        Some((NodeScan { labels, keys, range: scan.range.clone() }, places))
    }

    /// The statements of one part, as those of its own names.
    pub(super) fn statements_of(&self, part: usize, access: &Access<'_>) -> Vec<Arc<str>> {
        let (view, map) = (self.parts[part].view(), self.map(part));
        let label_in = |label: &LabelId| map.labels.to_part(label.0).map(LabelId);
        let key_in = |key: &PropertyKeyId| map.keys.to_part(key.0).map(PropertyKeyId);
        let statements = match access {
            Access::Scan(scan) => self.scan_in(part, scan).map(|(scan, _)| view.statements(&Access::Scan(&scan))),
            Access::Lookup(label, key) => {
                let known = label_in(label).zip(key_in(key));
                known.map(|(label, key)| view.statements(&Access::Lookup(label, key)))
            }
            Access::Index(scan) => self.index_scan_in(part, scan).map(|scan| view.statements(&Access::Index(&scan))),
            Access::Expand(expand) => {
                self.expand_in(part, expand).map(|expand| view.statements(&Access::Expand(&expand)))
            }
            Access::NodeProperties(label, keys) => {
                let keys: Vec<PropertyKeyId> = keys.iter().filter_map(key_in).collect();
                let label = match label {
                    Some(label) => label_in(label).map(Some),
                    None => Some(None),
                };
                let label = label.filter(|_| !keys.is_empty());
                label.map(|label| view.statements(&Access::NodeProperties(label, &keys)))
            }
            Access::Count(count) => self.count_within(part, count).map(|count| view.statements(&Access::Count(&count))),
        };
        let name = self.parts[part].name.as_deref().unwrap_or_default();
        statements.unwrap_or_default().into_iter().map(|text| format!("{name}: {text}").into()).collect()
    }
}

impl NodeCursor for PartsScan<'_> {
    fn next(&mut self, out: &mut NodeBatch) -> Result<bool> {
        loop {
            if let Some((cursor, places)) = &mut self.open {
                if cursor.next(out)? {
                    if places.iter().any(Option::is_none) {
                        out.properties = with_nulls(places, std::mem::take(&mut out.properties), out.nodes.len());
                    }
                    return Ok(true);
                }
                self.open = None;
            }
            let part = self.next;
            if part == self.joined.parts.len() {
                out.clear();
                return Ok(false);
            }
            self.next += 1;
            if let Some((scan, places)) = self.joined.scan_in(part, &self.scan) {
                let cursor = self.joined.parts[part].view().scan(&scan)?;
                self.open = Some((cursor, places));
            }
        }
    }
}
