//! The nodes of all parts, one part after the other; a part is asked when those before it are through.

use std::sync::Arc;

use model::store::{NodeCursor, scan_filtered};
use model::{Access, FirstNodes, LabelId, NodeBatch, NodeScan, PropertyKeyId, Result, Taken};

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
        let mut filter = Vec::with_capacity(scan.filter.len());
        for condition in &scan.filter {
            match condition.known(&place) {
                Some(condition) if condition.is_never() => return None,
                found => filter.extend(found),
            }
        }
        let first = scan.first.as_ref().map(|first| FirstNodes {
            order: first.order.iter().filter_map(|(key, order)| Some((place(key)?, *order))).collect(),
            limit: first.limit,
        });
        Some((NodeScan { labels, keys, range: scan.range.clone(), filter, first }, places))
    }

    /// The parts of a scan that all parts of the graph do themselves.
    pub(super) fn taken_in_parts(&self, scan: &NodeScan) -> Taken {
        let mut taken = Taken { filter: vec![true; scan.filter.len()], first: scan.first.is_some() };
        for part in 0..self.parts.len() {
            if part == 0 && scan.labels.iter().any(|&label| self.lacks_nodes_of(label)) {
                continue;
            }
            let view = self.parts[part].view();
            for (at, condition) in scan.filter.iter().enumerate() {
                let one = NodeScan { filter: vec![condition.clone()], first: None, ..scan.clone() };
                let Some((one, _)) = self.scan_in(part, &one) else { continue };
                taken.filter[at] &= one.filter.is_empty() || view.takes(&one).filter == [true];
            }
            if let Some((own, _)) = self.scan_in(part, scan) {
                taken.first &= view.takes(&own).first;
            }
        }
        taken
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
            Access::Pattern(asked) => {
                let own = self.pattern_in_one(asked).filter(|(at, _)| *at == part);
                own.map(|(_, own)| view.statements(&Access::Pattern(&own)))
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
                let cursor = scan_filtered(self.joined.parts[part].view(), &scan)?;
                self.open = Some((cursor, places));
            }
        }
    }
}
