//! Patterns that lie in one part of the graph as a whole.

use model::pattern_query::{PatternEdge, PatternTest};
use model::{EdgeTypeId, GraphPattern, LabelId, PropertyKeyId};

use super::view::Joined;

impl Joined {
    /// The one part that has all matches of a pattern, with the query in its own names; `None` if there is no such part.
    pub(super) fn pattern_in_one(&self, asked: &GraphPattern) -> Option<(usize, GraphPattern)> {
        let has = |edge: &PatternEdge<EdgeTypeId>, node: usize| edge.source == node || edge.target == node;
        let is_tested = |test: &PatternTest<EdgeTypeId>, node: usize| {
            has(&test.edge, node) && (!test.is_absent || test.inner == node)
        };
        // A node without labels is of the part that has its edges; an edge that must not be there says nothing of it.
        let is_end = |node: usize| {
            asked.edges.iter().any(|edge| has(edge, node)) || asked.tests.iter().any(|test| is_tested(test, node))
        };
        let mut nodes = asked.nodes.iter().enumerate();
        if nodes.any(|(at, node)| node.of.is_empty() && !is_end(at)) {
            return None;
        }
        (1..self.parts.len()).find(|&part| self.has_all(part, asked)).and_then(|part| {
            let map = self.map(part);
            let labels = |_: usize, labels: &Vec<LabelId>| self.labels_in(part, labels);
            let edge_type = |_: usize, of: &EdgeTypeId| map.types.to_part(of.0).map(EdgeTypeId);
            let key = |_: usize, key: &PropertyKeyId| map.keys.to_part(key.0).map(PropertyKeyId);
            Some((part, asked.renamed(&labels, &edge_type, &key)?))
        })
    }

    /// True if no other part has nodes of the labels, or edges of the types, and no edge leads to another part.
    fn has_all(&self, part: usize, asked: &GraphPattern) -> bool {
        let labels = || asked.nodes.iter().flat_map(|node| &node.of).copied();
        let types = || asked.edges.iter().chain(asked.tests.iter().map(|test| &test.edge)).map(|edge| edge.of);
        let own: Option<Vec<EdgeTypeId>> =
            types().map(|of| self.map(part).types.to_part(of.0).map(EdgeTypeId)).collect();
        let Some(own) = own.filter(|_| labels().all(|label| self.map(part).labels.to_part(label.0).is_some())) else {
            return false;
        };
        let is_native_empty =
            labels().all(|label| self.lacks_nodes_of(label)) && types().all(|of| self.lacks_edges_of(of));
        let lacks_all = |other: usize| {
            let map = self.map(other);
            labels().all(|label| map.labels.to_part(label.0).is_none())
                && types().all(|of| map.types.to_part(of.0).is_none())
        };
        let are_others_empty = (1..self.parts.len()).filter(|&other| other != part).all(lacks_all);
        is_native_empty && are_others_empty && !self.crosses(part, Some(&own))
    }

    /// True if the native store surely has no edge of a type.
    fn lacks_edges_of(&self, of: EdgeTypeId) -> bool {
        let native = self.map(0).types.to_part(of.0);
        native.is_none_or(|of| self.parts[0].view().statistics().edge_type(EdgeTypeId(of)) == 0)
    }
}
