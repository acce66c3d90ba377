//! Element ids of edges: those of the native store as they are; those of a member as it gives them, behind its number and a
//! slash, so that they do not change when the numbers of names in the whole graph do.

use std::borrow::Cow;
use std::sync::Arc;

use model::store::ElementId;
use model::{EdgeTypeId, EdgeValue, Result};

use super::view::Joined;
use super::{MEMBER_SHIFT, shared_edge};

/// Between the number of a member and its own element id.
const SEPARATOR: char = '/';

impl Joined {
    pub(super) fn element_ids_of_parts(&self, edges: &[EdgeValue]) -> Result<Vec<Arc<str>>> {
        let mut all = vec![Arc::from(""); edges.len()];
        let mut of_part: Vec<(Vec<usize>, Vec<EdgeValue>)> = vec![Default::default(); self.parts.len()];
        for (row, edge) in edges.iter().enumerate() {
            let Some((part, id)) = self.own_edge(edge.id) else { continue };
            let Some(edge_type) = self.map(part).types.to_part(edge.edge_type.0).map(EdgeTypeId) else { continue };
            of_part[part].0.push(row);
            of_part[part].1.push(EdgeValue { id, edge_type, ..*edge });
        }
        for (part, (rows, edges)) in self.parts.iter().zip(of_part).filter(|(_, (rows, _))| !rows.is_empty()) {
            for (row, own) in rows.into_iter().zip(part.view().element_ids(&edges)?) {
                all[row] = match part.number {
                    0 => own,
                    member => Arc::from(format!("{member}{SEPARATOR}{own}")),
                };
            }
        }
        Ok(all)
    }

    pub(super) fn find_edges_in_parts(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        let mut all = vec![None; element_ids.len()];
        let mut of_part: Vec<(Vec<usize>, Vec<Cow<'_, str>>)> = vec![Default::default(); self.parts.len()];
        for (row, text) in element_ids.iter().enumerate() {
            if let Some((part, own)) = self.own_element_id(text) {
                of_part[part].0.push(row);
                of_part[part].1.push(own);
            }
        }
        for (at, (rows, texts)) in of_part.into_iter().enumerate().filter(|(_, (rows, _))| !rows.is_empty()) {
            let (part, types) = (&self.parts[at], &self.map(at).types);
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            for (row, found) in rows.into_iter().zip(part.view().find_edges(&texts)?) {
                all[row] = found.map(|edge| EdgeValue {
                    id: if part.number == 0 { edge.id } else { shared_edge(edge.id) },
                    edge_type: EdgeTypeId(types.shared(edge.edge_type.0)),
                    ..edge
                });
            }
        }
        Ok(all)
    }

    /// The part that an element id belongs to, and what it is there. An edge of a member may also be named by its number in
    /// the whole graph, as what a result gave is.
    fn own_element_id<'t>(&self, text: &'t str) -> Option<(usize, Cow<'t, str>)> {
        let part_of = |number: u8| self.parts.iter().position(|part| part.number == number);
        if let Some((member, own)) = text.split_once(SEPARATOR) {
            let number = member.parse::<u8>().ok().filter(|number| *number > 0 && number.to_string() == member)?;
            return Some((part_of(number)?, Cow::Borrowed(own)));
        }
        let id = ElementId::parse(text)?;
        let number = u8::try_from(id.number >> MEMBER_SHIFT).ok()?;
        if number == 0 {
            return Some((part_of(0)?, Cow::Borrowed(text)));
        }
        let part = part_of(number)?;
        let edge_type = EdgeTypeId(self.map(part).types.to_part(id.edge_type.0)?);
        let own = ElementId { edge_type, number: id.number & ((1 << MEMBER_SHIFT) - 1), ..id };
        Some((part, Cow::Owned(own.to_string())))
    }
}
