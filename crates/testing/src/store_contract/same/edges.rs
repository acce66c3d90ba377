//! Edges: expansions of every kind, degrees, ids and properties.

use std::collections::BTreeMap;
use std::ops::Bound;

use model::store::EdgeIds;
use model::{
    Column, Direction, EdgeBatch, EdgeId, EdgeRange, EdgeTop, EdgeTypeId, Expand, Map, NodeId, PropertyKeyId, ReadView,
    Value,
};

use super::{Pair, assert_same, text};

/// One edge that an expansion gave out.
#[derive(Clone, Debug)]
struct Found {
    input: u32,
    line: String,
    values: Vec<Value>,
    edge: Option<EdgeId>,
    ends: (NodeId, NodeId),
}

impl Pair<'_> {
    /// All edges of an expansion, in order.
    fn expand(&self, side: usize, from: &[NodeId], expand: &Expand) -> Vec<Found> {
        let view = if side == 0 { self.view } else { self.reference };
        let mut found = Vec::new();
        let mut cursor = view.expand(from, expand).expect("nodes can be expanded");
        let mut batch = EdgeBatch::default();
        while cursor.next(&mut batch).expect("nodes can be expanded") {
            let rows = batch.len();
            assert!(rows > 0 && batch.inputs.len() == rows && batch.types.len() == rows, "a batch is filled");
            assert_eq!(batch.properties.len(), expand.keys.len(), "a column for each property");
            let is_both = expand.direction == Direction::Both;
            assert_eq!(batch.reversed.len(), if is_both { rows } else { 0 }, "directions where they are needed");
            assert_eq!(
                batch.edges.len(),
                if expand.edge_ids == EdgeIds::Include { rows } else { 0 },
                "ids if asked for"
            );
            for row in 0..rows {
                let is_reversed = batch.reversed.get(row).copied().unwrap_or(expand.direction == Direction::In);
                let (near, far) = (from[batch.inputs[row] as usize], batch.neighbors[row]);
                let values: Vec<Value> = batch.properties.iter().map(|column| column.value(row)).collect();
                let name = view.schema().edge_type_name(batch.types[row]);
                let line = format!("{is_reversed} {name} {}: {}", self.name(side, far), text(values.clone()));
                let ends = if is_reversed { (far, near) } else { (near, far) };
                found.push(Found { input: batch.inputs[row], line, values, edge: batch.edges.get(row).copied(), ends });
            }
        }
        assert!(found.is_sorted_by_key(|edge| edge.input), "inputs never decrease");
        found
    }

    /// A line for each edge of a view.
    pub(super) fn edge_lines(&self, side: usize, types: Option<Vec<EdgeTypeId>>) -> Vec<String> {
        let from: Vec<NodeId> = self.nodes.iter().map(|&(_, ours, theirs)| [ours, theirs][side]).collect();
        let found = self.expand(side, &from, &Expand { types, ..Expand::default() });
        let mut lines: Vec<String> =
            found.iter().map(|edge| format!("{} {}", self.name(side, from[edge.input as usize]), edge.line)).collect();
        lines.sort_unstable();
        lines
    }

    /// A random expansion, in both views' ids.
    fn pick_expansion(&mut self) -> (Expand, Expand) {
        let direction = *self.random.pick(&[Direction::Out, Direction::In, Direction::Both]);
        let mut types = self.types.clone();
        self.random.shuffle(&mut types);
        types.truncate(self.random.index(types.len() + 1));
        let is_any = self.random.chance(50);
        let (our_types, their_types): (Vec<_>, Vec<_>) = types.into_iter().unzip();
        let edge_ids = if self.random.chance(50) { EdgeIds::Include } else { EdgeIds::Omit };
        let (our_keys, their_keys) = self.pick_keys();
        let mut ours = Expand { direction, types: None, edge_ids, keys: our_keys, ..Expand::default() };
        let mut theirs = Expand { keys: their_keys, ..ours.clone() };
        if !is_any {
            (ours.types, theirs.types) = (Some(our_types), Some(their_types));
        }
        if self.random.chance(30) && !self.keys.is_empty() {
            let &(our_key, their_key) = self.random.pick(&self.keys);
            let value = Value::Int(self.random.below(10) as i64);
            let range = EdgeRange { key: our_key, lower: Bound::Included(value), upper: Bound::Unbounded };
            theirs.ranges.push(EdgeRange { key: their_key, ..range.clone() });
            ours.ranges.push(range);
        }
        if self.random.chance(30) && !self.keys.is_empty() {
            let &(our_key, their_key) = self.random.pick(&self.keys);
            let top = EdgeTop { keys: vec![our_key], descending: self.random.chance(50), limit: self.random.index(4) };
            theirs.top = Some(EdgeTop { keys: vec![their_key], ..top.clone() });
            ours.top = Some(top);
        }
        (ours, theirs)
    }

    /// A random expansion of random nodes, and their degrees.
    pub(super) fn check_expansion(&mut self) {
        let (ours, theirs) = self.pick_nodes();
        let (our_expand, their_expand) = self.pick_expansion();
        if our_expand.top.is_some() {
            return self.check_top(&ours, &theirs, &our_expand, &their_expand);
        }
        let lines = |found: Vec<Found>| {
            let mut lines: Vec<(u32, String)> = found.into_iter().map(|edge| (edge.input, edge.line)).collect();
            lines.sort_unstable();
            lines
        };
        let (a, b) = (self.expand(0, &ours, &our_expand), self.expand(1, &theirs, &their_expand));
        assert_same(&lines(a), &lines(b), &|| format!("{our_expand:?}"));
        let degrees = |view: &dyn ReadView, nodes: &[NodeId], expand: &Expand| {
            view.degrees(nodes, expand.direction, expand.types.as_deref()).expect("degrees can be told")
        };
        let (a, b) = (degrees(self.view, &ours, &our_expand), degrees(self.reference, &theirs, &their_expand));
        assert_same(&a, &b, &|| format!("degrees by {our_expand:?}"));
    }

    /// Of edges that are equal in what the first few are chosen by, any may be taken.
    fn check_top(&mut self, ours: &[NodeId], theirs: &[NodeId], our_expand: &Expand, their_expand: &Expand) {
        let with_value = |expand: &Expand| {
            let mut expand = expand.clone();
            expand.keys = expand.top.iter().flat_map(|top| top.keys.clone()).collect();
            expand
        };
        let values = |found: Vec<Found>| -> Vec<(u32, String)> {
            let mut values: Vec<(u32, String)> =
                found.into_iter().map(|edge| (edge.input, text(edge.values))).collect();
            values.sort_unstable();
            values
        };
        let a = values(self.expand(0, ours, &with_value(our_expand)));
        let b = values(self.expand(1, theirs, &with_value(their_expand)));
        assert_same(&a, &b, &|| format!("{our_expand:?}"));
        let all = self.expand(0, ours, &Expand { top: None, ..our_expand.clone() });
        let mut counts: Map<(u32, String), i64> = Map::default();
        all.into_iter().for_each(|edge| *counts.entry((edge.input, edge.line)).or_default() += 1);
        for edge in self.expand(0, ours, our_expand) {
            let count = counts.entry((edge.input, edge.line.clone())).or_default();
            *count -= 1;
            assert!(*count >= 0, "{our_expand:?} chose {edge:?}, which is not there so often");
        }
    }

    /// Properties and existence of edges by their ids.
    pub(super) fn check_edges(&mut self) {
        let (ours, _) = self.pick_nodes();
        let (keys, _) = self.pick_keys();
        let direction = *self.random.pick(&[Direction::Out, Direction::In, Direction::Both]);
        let expand = Expand { direction, edge_ids: EdgeIds::Include, keys: keys.clone(), ..Expand::default() };
        let mut found = self.expand(0, &ours, &expand);
        self.random.shuffle(&mut found);
        let mut ids: Vec<EdgeId> = found.iter().filter_map(|edge| edge.edge).collect();
        ids.push(EdgeId(u64::MAX - 3));
        let columns = self.view.edge_properties(&ids, &keys).expect("properties of edges can be read");
        for (row, edge) in found.iter().enumerate() {
            let values: Vec<Value> = columns.iter().map(|column: &Column| column.value(row)).collect();
            assert_eq!(text(values), text(edge.values.clone()), "properties {keys:?} of {edge:?}");
        }
        assert!(
            columns.iter().all(|column| column.is_null(found.len())),
            "an edge that is not there has no properties"
        );
        let exist = self.view.edges_exist(&ids).expect("edges can be looked for");
        assert!((0..ids.len()).all(|row| exist.get(row) == (row < found.len())), "which edges exist");
        let all = self.view.all_edge_properties(&ids).expect("properties of edges can be read");
        for (edge, all) in found.iter().zip(all) {
            let all: BTreeMap<PropertyKeyId, Value> = all.into_iter().collect();
            for (key, value) in keys.iter().zip(&edge.values) {
                assert_eq!(all.get(key).cloned().unwrap_or_default(), *value, "property {key:?} of {edge:?}");
            }
        }
    }

    /// Each edge has one id, whichever way and however often it is met, and no two have the same.
    pub(super) fn check_edge_ids(&mut self) {
        let from: Vec<NodeId> = self.nodes.iter().map(|&(_, ours, _)| ours).collect();
        let keys: Vec<PropertyKeyId> = self.keys.iter().map(|&(ours, _)| ours).collect();
        let mut edges: Map<EdgeId, String> = Map::default();
        let mut counts = Vec::new();
        for direction in [Direction::Out, Direction::In, Direction::Both, Direction::Out] {
            let expand = Expand { direction, edge_ids: EdgeIds::Include, keys: keys.clone(), ..Expand::default() };
            let found = self.expand(0, &from, &expand);
            counts.push(found.len());
            for edge in found {
                let line = format!("{:?}: {}", edge.ends, text(edge.values.clone()));
                let id = edge.edge.expect("ids were asked for");
                assert_eq!(*edges.entry(id).or_insert_with(|| line.clone()), line, "the edge of {id:?}");
            }
        }
        let loops = self.expand(0, &from, &Expand::default()).iter().filter(|edge| edge.ends.0 == edge.ends.1).count();
        assert_eq!(edges.len(), counts[0], "each edge has an id of its own");
        assert_eq!(counts, [edges.len(), edges.len(), 2 * edges.len() - loops, edges.len()], "edges each way");
        let expected = self.edge_lines(1, None);
        assert_same(&self.edge_lines(0, None), &expected, &|| "all edges".to_owned());
    }
}
