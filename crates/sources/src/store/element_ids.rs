//! Numbers and element ids of edges that a source gives: of a kind with keys the key, as ids of nodes have theirs.
//!
//! An edge of a kind without a key has a number that holds for one view, and is not found by its element id: nothing in the
//! source says that a row seen later is the same edge.

use model::store::{ElementId, NO_EDGE_NUMBER, find_by_expanding};
use model::{EdgeId, EdgeValue, Result};

use super::view::SourceView;

/// Place of the kind's number in the number of an edge, in bits.
const KIND_SHIFT: u32 = 48;

impl SourceView {
    pub(super) fn numbers_of_edges(&self, edges: &[EdgeId]) -> Vec<u64> {
        let met = self.edge_names.edges(edges);
        let number = |(edge, met): (&EdgeId, Option<super::edge_ids::MetEdge>)| {
            let Some(met) = met else { return NO_EDGE_NUMBER };
            let kind = met.name.edge;
            // Of two rows with one key, which no key should have, the second has none.
            let is_keyed = met.name.key >> KIND_SHIFT == 0 && met.name.ordinal == 0;
            let own = if is_keyed { met.name.key } else { edge.0 & ((1 << KIND_SHIFT) - 1) };
            u64::from(kind) << KIND_SHIFT | own
        };
        edges.iter().zip(met).map(number).collect()
    }

    pub(super) fn edges_of_element_ids(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        let is_keyed = |text: &&str| {
            let kind = ElementId::parse(text).and_then(|id| usize::try_from(id.number >> KIND_SHIFT).ok());
            kind.and_then(|kind| self.shared.layout.edges.get(kind)).is_some_and(|kind| kind.has_keys)
        };
        let texts: Vec<&str> = element_ids.iter().map(|text| if is_keyed(text) { text } else { "" }).collect();
        find_by_expanding(self, &texts)
    }
}
