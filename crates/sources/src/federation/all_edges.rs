//! All edges of all parts, one part after the other, for those who read the whole graph.

use model::batch::EdgeBlock;
use model::store::{EdgeBlockCursor, EdgeIds, EdgePartitions, EdgeStream};
use model::{EdgeTypeId, PropertyKeyId, Result};

use super::view::{Joined, with_nulls};

/// Edges of all parts.
pub(super) struct AllEdges<'a> {
    joined: &'a Joined,
    /// Parts to come, the next one last.
    parts: Vec<(usize, Cursor<'a>)>,
    keys: Vec<PropertyKeyId>,
}

/// The edges of one part.
enum Cursor<'a> {
    Whole(Box<dyn EdgeBlockCursor + 'a>),
    /// The partitions from a number on.
    Partitions {
        partitions: &'a dyn EdgePartitions,
        next: usize,
        stream: EdgeStream,
        open: Option<Box<dyn EdgeBlockCursor + 'a>>,
    },
}

impl Joined {
    /// The edges of a stream's types; `None` if some lead from part to part, or a part cannot give all of its own.
    pub(super) fn stream_parts(&self, stream: &EdgeStream) -> Result<Option<AllEdges<'_>>> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for (part, held) in self.parts.iter().enumerate() {
            let Some(types) = self.types_in(part, stream.types.as_deref()) else { continue };
            if self.crosses(part, types.as_deref()) || stream.sources.is_some() {
                return Ok(None);
            }
            let known = stream.keys.iter().filter_map(|key| self.map(part).keys.to_part(key.0));
            let keys = known.map(PropertyKeyId).collect();
            let inner = EdgeStream { types, sources: None, keys, edge_ids: EdgeIds::Omit };
            let view = held.view();
            let cursor = match (view.edge_partitions(), view.all_edges(&inner)?) {
                (_, Some(cursor)) => Cursor::Whole(cursor),
                (Some(partitions), None) => Cursor::Partitions { partitions, next: 0, stream: inner, open: None },
                (None, None) => return Ok(None),
            };
            parts.push((part, cursor));
        }
        parts.reverse();
        Ok(Some(AllEdges { joined: self, parts, keys: stream.keys.clone() }))
    }
}

impl Cursor<'_> {
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        match self {
            Cursor::Whole(cursor) => cursor.next(out),
            Cursor::Partitions { partitions, next, stream, open } => loop {
                if let Some(cursor) = open {
                    if cursor.next(out)? {
                        return Ok(true);
                    }
                    *open = None;
                }
                if *next == partitions.count() {
                    return Ok(false);
                }
                *open = Some(partitions.stream(*next, stream)?);
                *next += 1;
            },
        }
    }
}

impl EdgeBlockCursor for AllEdges<'_> {
    fn next(&mut self, out: &mut EdgeBlock) -> Result<bool> {
        while let Some((part, cursor)) = self.parts.last_mut() {
            if cursor.next(out)? {
                let map = self.joined.map(*part);
                out.edge_type = EdgeTypeId(map.types.shared(out.edge_type.0));
                let places: Vec<Option<u32>> = self.keys.iter().map(|key| map.keys.to_part(key.0)).collect();
                let found = std::mem::take(&mut out.properties);
                out.properties = with_nulls(&places, found, out.sources.len());
                return Ok(true);
            }
            self.parts.pop();
        }
        out.clear();
        Ok(false)
    }
}
