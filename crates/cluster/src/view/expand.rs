//! Expansions: the edges of some input nodes are read in one round trip, with the range of a sort key where there is one.

use std::ops::Bound;
use std::sync::Arc;

use model::codec::ordered::byte_range;
use model::limits::BATCH_ROWS;
use model::store::{EdgeCursor, EdgeIds};
use model::{Direction, EdgeBatch, EdgeId, EdgeRange, EdgeTypeId, Expand, KeyRange, Map, NodeId, Result, meter};

use super::{View, columns};
use crate::cache::Bounds;
use crate::reader::{Ask, Neighbors};
use crate::rows::{EdgeData, Properties, SORT_BYTES_MAX};
use crate::tables::Field;

/// Input nodes whose edges are read at a time.
const INPUTS: usize = BATCH_ROWS;
/// Types up to which each is asked for by itself.
const TYPES_MAX: usize = 4;

/// An edge at a node.
#[derive(Clone)]
struct Held {
    number: u64,
    edge_type: EdgeTypeId,
    neighbor: NodeId,
    /// Its properties; none unless some are asked for.
    properties: Properties,
}

/// An edge of an input.
struct Found {
    input: u32,
    is_reversed: bool,
    edge: Held,
}

/// A cursor over edges.
pub(super) struct ExpandCursor<'a> {
    view: &'a View,
    from: &'a [NodeId],
    expand: Expand,
    /// Bounds of the bytes of sort keys, by type; `None` where no edge can lie within them.
    bounds: Map<EdgeTypeId, Option<Bounds>>,
    next_input: usize,
    found: Vec<Found>,
    at: usize,
}

/// Bounds of the bytes of a sort key for the edges in a range of its first property; `None` if no edge lies in it. Rows
/// within the bounds have to be compared.
fn sort_bounds(range: &EdgeRange) -> Option<Bounds> {
    let bytes = byte_range(&[], &KeyRange::Between(range.lower.clone(), range.upper.clone()))?;
    let cut = |bytes: &[u8]| Field::Bytes(Arc::from(&bytes[..bytes.len().min(SORT_BYTES_MAX)]));
    let is_whole = bytes.end.len() <= SORT_BYTES_MAX;
    let end = if is_whole { Bound::Excluded(cut(&bytes.end)) } else { Bound::Included(cut(&bytes.end)) };
    Some((Bound::Included(cut(&bytes.start)), end))
}

impl<'a> ExpandCursor<'a> {
    /// Edges of nodes; those outside of `ranges` may be left out.
    pub(super) fn new(view: &'a View, from: &'a [NodeId], expand: Expand, ranges: &[EdgeRange]) -> ExpandCursor<'a> {
        let mut bounds = Map::default();
        for &edge_type in expand.types.iter().flatten() {
            // Rows are in the order of the sort key that was there when the view began.
            let key = view.state.schema.sort_key(edge_type).first();
            let is_bounded = |range: &&EdgeRange| {
                Some(&range.key) == key && !matches!((&range.lower, &range.upper), (Bound::Unbounded, Bound::Unbounded))
            };
            if let Some(range) = ranges.iter().find(is_bounded) {
                bounds.insert(edge_type, sort_bounds(range));
            }
        }
        ExpandCursor { view, from, expand, bounds, next_input: 0, found: Vec::new(), at: 0 }
    }

    /// Questions for the edges of a node in one direction.
    fn asks(&self, node: NodeId, is_reversed: bool, asks: &mut Vec<Ask>) {
        match &self.expand.types {
            Some(types) if types.len() <= TYPES_MAX => {
                for &edge_type in types {
                    let sort = match self.bounds.get(&edge_type) {
                        Some(None) => continue,
                        Some(Some(bounds)) => Some(bounds.clone()),
                        None => None,
                    };
                    asks.push(Ask { node, is_reversed, edge_type: Some(edge_type), sort });
                }
            }
            _ => asks.push(Ask { node, is_reversed, edge_type: None, sort: None }),
        }
    }

    fn is_wanted(&self, edge_type: EdgeTypeId) -> bool {
        self.expand.types.as_ref().is_none_or(|types| types.contains(&edge_type))
    }

    /// Reads the edges of the next inputs.
    fn fill(&mut self) -> Result<()> {
        self.found.clear();
        self.at = 0;
        let end = self.from.len().min(self.next_input + INPUTS);
        let inputs = self.next_input..end;
        self.next_input = end;
        let directions: &[bool] = match self.expand.direction {
            Direction::Out => &[false],
            Direction::In => &[true],
            Direction::Both => &[false, true],
        };
        let mut nodes: Vec<NodeId> = self.from[inputs.clone()].to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let mut asks = Vec::new();
        for &node in &nodes {
            directions.iter().for_each(|&is_reversed| self.asks(node, is_reversed, &mut asks));
        }
        let mut edges: Map<(NodeId, bool), Vec<Held>> = Map::default();
        for (ask, neighbors) in asks.iter().zip(self.view.reader.neighbors(&asks)?) {
            self.hold(&neighbors, edges.entry((ask.node, ask.is_reversed)).or_default())?;
        }
        let count = edges.values().map(Vec::len).sum::<usize>();
        meter::count(|meter| meter.rows_used += count as u64);
        for input in inputs {
            let node = self.from[input];
            for &is_reversed in directions {
                let base = edges.get(&(node, is_reversed)).map_or(&[][..], Vec::as_slice);
                let own = self.own_edges(node, is_reversed);
                // A self-loop was found in the other direction.
                let skips_loops = is_reversed && self.expand.direction == Direction::Both;
                let edges = base.iter().cloned().chain(own).filter(|edge| !(skips_loops && edge.neighbor == node));
                self.found.extend(edges.map(|edge| Found { input: input as u32, is_reversed, edge }));
            }
        }
        Ok(())
    }

    /// Adds the edges that were read and that the transaction has not touched.
    fn hold(&self, neighbors: &Neighbors, edges: &mut Vec<Held>) -> Result<()> {
        let own = &self.view.own.edges;
        for edge in neighbors.edges() {
            let edge = edge?;
            if !self.is_wanted(edge.edge_type) || !own.is_empty() && own.contains_key(&edge.number) {
                continue;
            }
            let properties = if self.expand.keys.is_empty() { Vec::new() } else { edge.properties()? };
            edges.push(Held { number: edge.number, edge_type: edge.edge_type, neighbor: edge.node, properties });
        }
        Ok(())
    }

    /// Edges of a node that the transaction touched.
    fn own_edges(&self, node: NodeId, is_reversed: bool) -> Vec<Held> {
        let own = &self.view.own;
        let ends = if is_reversed { &own.into } else { &own.out };
        let numbers = ends.range((node, 0)..=(node, u64::MAX)).map(|(_, number)| *number);
        let there = numbers.filter_map(|number| Some((number, own.edges.get(&number)?.new.clone()?)));
        let wanted = there.filter(|(_, data)| self.is_wanted(data.edge_type));
        let held = |(number, data): (u64, Arc<EdgeData>)| Held {
            number,
            edge_type: data.edge_type,
            neighbor: if is_reversed { data.source } else { data.target },
            properties: if self.expand.keys.is_empty() { Vec::new() } else { data.properties.clone() },
        };
        wanted.map(held).collect()
    }
}

impl EdgeCursor for ExpandCursor<'_> {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        out.clear();
        while self.at == self.found.len() {
            if self.next_input == self.from.len() {
                return Ok(false);
            }
            self.fill()?;
        }
        let end = self.found.len().min(self.at + BATCH_ROWS);
        let rows = &self.found[self.at..end];
        self.at = end;
        out.inputs.extend(rows.iter().map(|row| row.input));
        out.neighbors.extend(rows.iter().map(|row| row.edge.neighbor));
        out.types.extend(rows.iter().map(|row| row.edge.edge_type));
        if self.expand.direction == Direction::Both {
            out.reversed.extend(rows.iter().map(|row| row.is_reversed));
        }
        if self.expand.edge_ids == EdgeIds::Include {
            out.edges.extend(rows.iter().map(|row| EdgeId(row.edge.number)));
        }
        out.properties = columns(&self.expand.keys, rows.iter().map(|row| Some(&row.edge.properties[..])));
        Ok(true)
    }
}
