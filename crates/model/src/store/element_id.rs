//! Element ids: what names an edge for good, as text, with where to look for it.

use std::sync::Arc;

use super::{EdgeIds, Expand, ReadView};
use crate::batch::EdgeBatch;
use crate::error::Result;
use crate::id::{EdgeId, EdgeTypeId, NodeId};
use crate::value::EdgeValue;

/// Stands for the number of an id that names no edge. No edge has it.
pub const NO_EDGE_NUMBER: u64 = i64::MAX as u64;

/// An element id, taken apart: type, source, target and number of the edge, separated by colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementId {
    /// The type.
    pub edge_type: EdgeTypeId,
    /// Its source.
    pub source: NodeId,
    /// Its target.
    pub target: NodeId,
    /// Its number.
    pub number: u64,
}

impl ElementId {
    /// That of an edge with this number.
    pub fn of(edge: &EdgeValue, number: u64) -> ElementId {
        ElementId { edge_type: edge.edge_type, source: edge.source, target: edge.target, number }
    }

    /// The text read back; `None` for any but the one text that there is of each.
    pub fn parse(text: &str) -> Option<ElementId> {
        let mut parts = text.split(':').map(|part| {
            let is_plain = part == "0" || part.starts_with(|first: char| ('1'..='9').contains(&first));
            if is_plain { part.parse::<u64>().ok() } else { None }
        });
        let mut next = || parts.next().flatten();
        let (edge_type, source, target, number) = (next()?, next()?, next()?, next()?);
        let edge_type = EdgeTypeId(u32::try_from(edge_type).ok()?);
        let is_whole = parts.next().is_none();
        is_whole.then_some(ElementId { edge_type, source: NodeId(source), target: NodeId(target), number })
    }
}

impl std::fmt::Display for ElementId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}:{}", self.edge_type.0, self.source.0, self.target.0, self.number)
    }
}

/// Default of [`ReadView::element_ids`].
pub fn element_ids_by_number<V: ReadView + ?Sized>(view: &V, edges: &[EdgeValue]) -> Result<Vec<Arc<str>>> {
    let ids: Vec<EdgeId> = edges.iter().map(|edge| edge.id).collect();
    let numbers = view.edge_numbers(&ids)?;
    let text = |(edge, number): (&EdgeValue, u64)| Arc::from(ElementId::of(edge, number).to_string());
    Ok(edges.iter().zip(numbers).map(text).collect())
}

/// Default of [`ReadView::find_edges`]: expands the sources.
pub fn find_by_expanding<V: ReadView + ?Sized>(view: &V, ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
    let mut found = vec![None; ids.len()];
    for (found, wanted) in found.iter_mut().zip(ids) {
        let Some(wanted) = ElementId::parse(wanted) else { continue };
        let types = Some(vec![wanted.edge_type]);
        let expand = Expand { types, edge_ids: EdgeIds::Include, ..Expand::default() };
        let from = [wanted.source];
        let mut cursor = view.expand(&from, &expand)?;
        let mut batch = EdgeBatch::default();
        while found.is_none() && cursor.next(&mut batch)? {
            let rows = (0..batch.neighbors.len()).filter(|&row| batch.neighbors[row] == wanted.target);
            let edges: Vec<EdgeId> = rows.map(|row| batch.edges[row]).collect();
            let numbers = view.edge_numbers(&edges)?;
            let at = numbers.iter().position(|&number| number == wanted.number);
            *found = at.map(|at| EdgeValue {
                id: edges[at],
                source: wanted.source,
                target: wanted.target,
                edge_type: wanted.edge_type,
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{EdgeTypeId, ElementId, NodeId};

    #[test]
    fn there_is_one_text_for_each_id() {
        let id = ElementId { edge_type: EdgeTypeId(5), source: NodeId(12), target: NodeId(0), number: 991 };
        assert_eq!(id.to_string(), "5:12:0:991");
        assert_eq!(ElementId::parse("5:12:0:991"), Some(id));
        let wrong = [
            "", "5", "5:12:0", "5:12:0:991:", "5:12:0:991:1", "05:12:0:991", "+5:12:0:991", "5: 12:0:991",
            "5:12:00:991", "5:12:0:18446744073709551616", "4294967296:0:0:0", "-1:0:0:0", "a:0:0:0",
        ];
        for text in wrong {
            assert_eq!(ElementId::parse(text), None, "{text}");
        }
    }
}
