//! One moment of all parts.

use std::sync::{Arc, OnceLock};

use model::statistics::{EdgeSketch, Sketches};
use model::store::{
    AccessHint, EdgeBlockCursor, EdgeCursor, EdgeStream, Freshness, Moment, NO_EDGE_NUMBER, NodeCursor, RowCursor,
};
use model::{
    Access, Bitmap, Capabilities, Column, Count, Course, Direction, EdgeId, EdgeTypeId, EdgeValue, Expand,
    GraphPattern, IndexCursor, IndexScan, LabelId, Map, NodeId, NodeScan, PropertyKeyId, ReadView, Result, Schema,
    Statistics, Taken, Value, WriteTransaction,
};

use super::kept::Kept;
use super::names::{NameMap, Union};
use super::split::{Group, join_columns, split};
use super::{MEMBER_SHIFT, Member, MemberTransaction, MemberView, member_of_node, own_edge};

/// A part of a graph at one moment, or in a transaction.
pub(super) struct Part {
    /// Its name, if it is a member.
    pub(super) name: Option<Arc<str>>,
    pub(super) number: u8,
    pub(super) state: State,
    /// The types, by its own ids, of edges that lead to other parts.
    pub(super) crossing: Vec<EdgeTypeId>,
}

pub(super) enum State {
    Native(Arc<dyn ReadView>),
    NativeWriting(Box<dyn WriteTransaction>),
    Member(Arc<dyn MemberView>),
    MemberWriting(Box<dyn MemberTransaction>),
}

impl Part {
    pub(super) fn native(view: Arc<dyn ReadView>) -> Part {
        Part { name: None, number: 0, state: State::Native(view), crossing: Vec::new() }
    }

    pub(super) fn native_writing(transaction: Box<dyn WriteTransaction>) -> Part {
        Part { name: None, number: 0, state: State::NativeWriting(transaction), crossing: Vec::new() }
    }

    pub(super) fn member(member: &Member, view: Arc<dyn MemberView>) -> Part {
        let crossing = view.crossing_types();
        Part { name: Some(member.name.clone()), number: member.number, state: State::Member(view), crossing }
    }

    pub(super) fn view(&self) -> &dyn ReadView {
        match &self.state {
            State::Native(view) => &**view,
            State::NativeWriting(transaction) => transaction.view(),
            State::Member(view) => &**view,
            State::MemberWriting(transaction) => transaction.member_view(),
        }
    }

    pub(super) fn member_view(&self) -> Option<&dyn MemberView> {
        match &self.state {
            State::Native(_) | State::NativeWriting(_) => None,
            State::Member(view) => Some(&**view),
            State::MemberWriting(transaction) => Some(transaction.member_view()),
        }
    }

    /// The part as messages name it.
    pub(super) fn title(&self) -> String {
        self.name.as_ref().map_or_else(|| "the native store".to_owned(), |name| format!("the source {name}"))
    }
}

/// All parts at one moment.
pub(super) struct Joined {
    pub(super) parts: Vec<Part>,
    pub(super) union: Arc<Union>,
    /// The place of each member among the parts, by its number.
    places: [u8; 256],
    capabilities: Capabilities,
    pub(super) statistics: OnceLock<Statistics>,
    pub(super) estimates: OnceLock<Statistics>,
    pub(super) expands: Kept<Expand>,
    pub(super) index_scans: Kept<IndexScan>,
}

/// In [`Joined::places`]: there is no such member.
const NOWHERE: u8 = u8::MAX;

/// The capabilities of a graph whose parts have these.
pub(super) fn joined_capabilities(parts: impl Iterator<Item = Capabilities>) -> Capabilities {
    let parts: Vec<Capabilities> = parts.collect();
    Capabilities {
        writes: parts.iter().any(|part| part.writes),
        dense_node_ids: false,
        expands_against_direction: parts.iter().all(|part| part.expands_against_direction),
        looks_up_by_key: parts.iter().all(|part| part.looks_up_by_key),
        streams_edges: false,
        is_remote: parts.iter().any(|part| part.is_remote),
        flexible_schema: parts.iter().any(|part| part.flexible_schema),
    }
}

impl Joined {
    pub(super) fn new(parts: Vec<Part>, union: Arc<Union>) -> Joined {
        let mut places = [NOWHERE; 256];
        for (at, part) in parts.iter().enumerate() {
            places[usize::from(part.number)] = at as u8;
        }
        let capabilities = joined_capabilities(parts.iter().map(|part| part.view().capabilities()));
        Joined {
            parts,
            union,
            places,
            capabilities,
            statistics: OnceLock::new(),
            estimates: OnceLock::new(),
            expands: Kept::default(),
            index_scans: Kept::default(),
        }
    }

    /// The part that a node belongs to.
    #[inline]
    pub(super) fn part_of(&self, node: NodeId) -> Option<usize> {
        let place = self.places[usize::from(member_of_node(node))];
        (place != NOWHERE).then_some(usize::from(place))
    }

    /// The part that an edge belongs to, and its id there.
    #[inline]
    pub(super) fn own_edge(&self, edge: EdgeId) -> Option<(usize, EdgeId)> {
        let (member, edge) = own_edge(edge);
        let place = self.places[usize::from(member)];
        (place != NOWHERE).then_some((usize::from(place), edge))
    }

    pub(super) fn map(&self, part: usize) -> &NameMap {
        &self.union.maps[part]
    }

    pub(super) fn nodes_by_part<'n>(&self, nodes: &'n [NodeId]) -> Vec<Group<'n, NodeId>> {
        split(nodes, self.parts.len(), |node| Some((self.part_of(node)?, node)))
    }

    pub(super) fn edges_by_part<'e>(&self, edges: &'e [EdgeId]) -> Vec<Group<'e, EdgeId>> {
        split(edges, self.parts.len(), |edge| self.own_edge(edge))
    }

    /// Properties of a batch, each group from its part.
    fn properties<T: Copy>(
        &self,
        rows: usize,
        groups: &[Group<'_, T>],
        keys: &[PropertyKeyId],
        ask: impl Fn(&dyn ReadView, &[T], &[PropertyKeyId]) -> Result<Vec<Column>>,
    ) -> Result<Vec<Column>> {
        let mut answers = Vec::with_capacity(groups.len());
        for group in groups {
            let places: Vec<Option<PropertyKeyId>> =
                keys.iter().map(|key| self.map(group.part).keys.to_part(key.0).map(PropertyKeyId)).collect();
            let known: Vec<PropertyKeyId> = places.iter().copied().flatten().collect();
            let view = self.parts[group.part].view();
            let found = if known.is_empty() { Vec::new() } else { ask(view, &group.ids, &known)? };
            answers.push((group, with_nulls(&places, found, group.ids.len())));
        }
        Ok(join_columns(rows, keys.len(), answers))
    }

    fn all_properties<T: Copy>(
        &self,
        rows: usize,
        groups: &[Group<'_, T>],
        ask: impl Fn(&dyn ReadView, &[T]) -> Result<Vec<Vec<(PropertyKeyId, Value)>>>,
    ) -> Result<Vec<Vec<(PropertyKeyId, Value)>>> {
        let mut all = vec![Vec::new(); rows];
        for group in groups {
            let mut found = ask(self.parts[group.part].view(), &group.ids)?;
            let numbers = &self.map(group.part).keys;
            for (key, _) in found.iter_mut().flatten() {
                *key = PropertyKeyId(numbers.shared(key.0));
            }
            found.iter_mut().for_each(|properties| properties.sort_unstable_by_key(|(key, _)| *key));
            group.scatter(found, &mut all);
        }
        Ok(all)
    }

    /// The sum of the counts of all parts.
    fn sum<'s>(&'s self, of: impl Fn(&'s dyn ReadView) -> &'s Statistics + Copy) -> Statistics {
        let mut sum = Statistics::default();
        for (at, part) in self.parts.iter().enumerate() {
            let (counts, map) = (of(part.view()), self.map(at));
            sum.nodes += counts.nodes;
            sum.edges += counts.edges;
            for (label, count) in &counts.nodes_by_label {
                *sum.nodes_by_label.entry(LabelId(map.labels.shared(label.0))).or_default() += count;
            }
            for (edge_type, count) in &counts.edges_by_type {
                *sum.edges_by_type.entry(EdgeTypeId(map.types.shared(edge_type.0))).or_default() += count;
            }
            if at == 0 && map.is_same() {
                sum.sketches.clone_from(&counts.sketches);
            }
        }
        // Findings about the native store say nothing of names that others have too.
        let is_shared = |names: usize, map: &dyn Fn(&NameMap, u32) -> Option<u32>| {
            (0..names as u32).any(|id| self.union.maps.iter().filter(|held| map(held, id).is_some()).count() > 1)
        };
        let (labels, types) = (self.union.schema.labels.len(), self.union.schema.edge_types.len());
        if is_shared(labels, &|map, id| map.labels.to_part(id)) || is_shared(types, &|map, id| map.types.to_part(id)) {
            sum.sketches = None;
        }
        self.add_edge_sketches(&mut sum, of);
        sum
    }

    /// Adds the sketches of the edge types that one attached part has and no other.
    fn add_edge_sketches<'s>(&'s self, sum: &mut Statistics, of: impl Fn(&'s dyn ReadView) -> &'s Statistics) {
        let mut added: Map<EdgeTypeId, EdgeSketch> = Map::default();
        for (at, part) in self.parts.iter().enumerate().skip(1) {
            let map = self.map(at);
            let Some(sketches) = &of(part.view()).sketches else { continue };
            for (edge_type, sketch) in &sketches.edge_types {
                let shared = map.types.shared(edge_type.0);
                let holders = self.union.maps.iter().filter(|held| held.types.to_part(shared).is_some());
                if holders.count() == 1 {
                    let label = |label: Option<LabelId>| label.map(|label| LabelId(map.labels.shared(label.0)));
                    let pairs = sketch.pairs.iter().map(|(&(from, to), &count)| ((label(from), label(to)), count));
                    added.insert(EdgeTypeId(shared), EdgeSketch { pairs: pairs.collect(), ..sketch.clone() });
                }
            }
        }
        if !added.is_empty() {
            let (nodes, edges) = (sum.nodes, sum.edges);
            let none = || Arc::new(Sketches { nodes, edges, ..Sketches::default() });
            Arc::make_mut(sum.sketches.get_or_insert_with(none)).edge_types.extend(added);
        }
    }

    /// Labels in a part; `None` if it lacks one, so that no node carries all.
    pub(super) fn labels_in(&self, part: usize, labels: &[LabelId]) -> Option<Vec<LabelId>> {
        labels.iter().map(|label| self.map(part).labels.to_part(label.0).map(LabelId)).collect()
    }

    /// Edge types in a part: those of them that it has; `None` if it has none, so that no edge is of one of them.
    pub(super) fn types_in(&self, part: usize, types: Option<&[EdgeTypeId]>) -> Option<Option<Vec<EdgeTypeId>>> {
        let Some(types) = types else { return Some(None) };
        let known = types.iter().filter_map(|of| self.map(part).types.to_part(of.0));
        let known: Vec<EdgeTypeId> = known.map(EdgeTypeId).collect();
        (!known.is_empty()).then_some(Some(known))
    }

    /// True if a part may have edges of these types (of the part) at nodes of other parts.
    pub(super) fn crosses(&self, part: usize, types: Option<&[EdgeTypeId]>) -> bool {
        let crossing = &self.parts[part].crossing;
        types.map_or(!crossing.is_empty(), |types| crossing.iter().any(|of| types.contains(of)))
    }

    /// The share of a count that a part has; `None` if it has nothing of it.
    pub(super) fn count_within(&self, part: usize, count: &Count) -> Option<Count> {
        match count {
            Count::Nodes(labels) => self.labels_in(part, labels).map(Count::Nodes),
            Count::Matching(labels, filter) => {
                let scan = NodeScan { labels: labels.clone(), filter: filter.clone(), ..NodeScan::default() };
                self.scan_in(part, &scan).map(|(own, _)| Count::Matching(own.labels, own.filter))
            }
            Count::Edges(types) => self.types_in(part, types.as_deref()).map(Count::Edges),
        }
    }

    fn count_in(&self, part: usize, count: &Count) -> Result<Option<u64>> {
        match self.count_within(part, count) {
            None => Ok(Some(0)),
            // Only the parts that rows lead to can tell which of them are edges.
            Some(Count::Edges(types)) if self.crosses(part, types.as_deref()) => Ok(None),
            Some(count) => self.parts[part].view().count(&count),
        }
    }
}

/// Columns of the keys that a part knows, with nulls for the others.
pub(super) fn with_nulls<T>(places: &[Option<T>], found: Vec<Column>, rows: usize) -> Vec<Column> {
    let mut found = found.into_iter();
    let column = |place: &Option<T>| place.as_ref().and_then(|_| found.next()).unwrap_or_else(|| Column::nulls(rows));
    places.iter().map(column).collect()
}

impl ReadView for Joined {
    fn schema(&self) -> &Schema {
        &self.union.schema
    }

    fn statistics(&self) -> &Statistics {
        self.statistics.get_or_init(|| self.sum(ReadView::statistics))
    }

    fn estimates(&self) -> &Statistics {
        self.estimates.get_or_init(|| self.sum(ReadView::estimates))
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn node_id_bound(&self) -> u64 {
        0
    }

    fn scan(&self, scan: &NodeScan) -> Result<Box<dyn NodeCursor + '_>> {
        Ok(Box::new(self.scan_parts(scan)))
    }

    fn takes(&self, scan: &NodeScan) -> Taken {
        self.taken_in_parts(scan)
    }

    fn expand<'a>(&'a self, from: &'a [NodeId], expand: &'a Expand) -> Result<Box<dyn EdgeCursor + 'a>> {
        self.expand_parts(from, expand)
    }

    fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let groups = self.nodes_by_part(nodes);
        self.properties(nodes.len(), &groups, keys, |view, nodes, keys| view.node_properties(nodes, keys))
    }

    fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let groups = self.edges_by_part(edges);
        self.properties(edges.len(), &groups, keys, |view, edges, keys| view.edge_properties(edges, keys))
    }

    fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        let mut all = vec![Vec::new(); nodes.len()];
        for group in self.nodes_by_part(nodes) {
            let mut found = self.parts[group.part].view().node_labels(&group.ids)?;
            let numbers = &self.map(group.part).labels;
            if !numbers.is_same() {
                for labels in &mut found {
                    labels.iter_mut().for_each(|label| *label = LabelId(numbers.shared(label.0)));
                    labels.sort_unstable();
                }
            }
            group.scatter(found, &mut all);
        }
        Ok(all)
    }

    fn has_label(&self, nodes: &[NodeId], label: LabelId) -> Result<Bitmap> {
        let mut all = Bitmap::filled(nodes.len(), false);
        for group in self.nodes_by_part(nodes) {
            if let Some(label) = self.map(group.part).labels.to_part(label.0) {
                let found = self.parts[group.part].view().has_label(&group.ids, LabelId(label))?;
                group.scatter_bits(&found, &mut all);
            }
        }
        Ok(all)
    }

    fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        let mut all = Bitmap::filled(nodes.len(), false);
        for group in self.nodes_by_part(nodes) {
            group.scatter_bits(&self.parts[group.part].view().nodes_exist(&group.ids)?, &mut all);
        }
        Ok(all)
    }

    fn edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        let mut all = Bitmap::filled(edges.len(), false);
        for group in self.edges_by_part(edges) {
            group.scatter_bits(&self.parts[group.part].view().edges_exist(&group.ids)?, &mut all);
        }
        Ok(all)
    }

    fn edge_numbers(&self, edges: &[EdgeId]) -> Result<Vec<u64>> {
        let mut all = vec![NO_EDGE_NUMBER; edges.len()];
        for group in self.edges_by_part(edges) {
            let mut found = self.parts[group.part].view().edge_numbers(&group.ids)?;
            let member = u64::from(self.parts[group.part].number) << MEMBER_SHIFT;
            found.iter_mut().filter(|number| **number < 1 << MEMBER_SHIFT).for_each(|number| *number |= member);
            group.scatter(found, &mut all);
        }
        Ok(all)
    }

    fn element_ids(&self, edges: &[EdgeValue]) -> Result<Vec<Arc<str>>> {
        self.element_ids_of_parts(edges)
    }

    fn find_edges(&self, element_ids: &[&str]) -> Result<Vec<Option<EdgeValue>>> {
        self.find_edges_in_parts(element_ids)
    }

    fn all_node_properties(&self, nodes: &[NodeId]) -> Result<Vec<Vec<(PropertyKeyId, Value)>>> {
        let groups = self.nodes_by_part(nodes);
        self.all_properties(nodes.len(), &groups, |view, nodes| view.all_node_properties(nodes))
    }

    fn all_edge_properties(&self, edges: &[EdgeId]) -> Result<Vec<Vec<(PropertyKeyId, Value)>>> {
        let groups = self.edges_by_part(edges);
        self.all_properties(edges.len(), &groups, |view, edges| view.all_edge_properties(edges))
    }

    fn lookup(&self, label: LabelId, key: PropertyKeyId, values: &Column) -> Result<Column> {
        self.lookup_in_parts(label, key, values)
    }

    fn index_scan<'a>(&'a self, scan: &'a IndexScan) -> Result<Box<dyn IndexCursor + 'a>> {
        self.index_scan_parts(scan)
    }

    fn degrees(&self, from: &[NodeId], direction: Direction, types: Option<&[EdgeTypeId]>) -> Result<Vec<u64>> {
        self.degrees_in_parts(from, direction, types)
    }

    fn count(&self, count: &Count) -> Result<Option<u64>> {
        let mut sum = 0;
        for part in 0..self.parts.len() {
            match self.count_in(part, count)? {
                Some(count) => sum += count,
                None => return Ok(None),
            }
        }
        Ok(Some(sum))
    }

    fn query_pattern<'a>(&'a self, asked: &GraphPattern) -> Result<Option<Box<dyn RowCursor + 'a>>> {
        match self.pattern_in_one(asked) {
            Some((part, own)) => self.parts[part].view().query_pattern(&own),
            None => Ok(None),
        }
    }

    fn statements(&self, access: &Access<'_>) -> Vec<Arc<str>> {
        (1..self.parts.len()).flat_map(|part| self.statements_of(part, access)).collect()
    }

    fn all_edges<'a>(&'a self, stream: &EdgeStream) -> Result<Option<Box<dyn EdgeBlockCursor + 'a>>> {
        Ok(self.stream_parts(stream)?.map(|cursor| Box::new(cursor) as Box<dyn EdgeBlockCursor + 'a>))
    }

    fn moment(&self) -> Option<Moment> {
        Moment::joined(self.parts.iter().map(|part| part.view().moment()))
    }

    fn freshness(&self) -> Freshness {
        let parts = self.parts.iter().map(|part| part.view().freshness());
        parts.fold(Freshness::default(), |all, part| Freshness {
            oldest_ns: all.oldest_ns.min(part.oldest_ns),
            since_ns: all.since_ns.max(part.since_ns),
        })
    }

    fn follows_courses(&self) -> bool {
        self.parts.iter().any(|part| part.view().follows_courses())
    }

    fn release(&self) {
        self.parts.iter().for_each(|part| part.view().release());
    }

    fn prefetch(&self, hint: &AccessHint<'_>) {
        match hint {
            AccessHint::Expand(nodes, expand) => {
                for group in self.nodes_by_part(nodes) {
                    if let Some(expand) = self.expand_in(group.part, expand) {
                        self.parts[group.part].view().prefetch(&AccessHint::Expand(&group.ids, &expand));
                    }
                }
            }
            AccessHint::NodeProperties(nodes, keys) => {
                for group in self.nodes_by_part(nodes) {
                    let known = keys.iter().filter_map(|key| self.map(group.part).keys.to_part(key.0));
                    let known: Vec<PropertyKeyId> = known.map(PropertyKeyId).collect();
                    self.parts[group.part].view().prefetch(&AccessHint::NodeProperties(&group.ids, &known));
                }
            }
            AccessHint::Course(course, expand) => {
                for part in 0..self.parts.len() {
                    let [latitude, longitude] = course.properties.map(|key| self.map(part).keys.to_part(key.0));
                    if let (Some(expand), Some(latitude), Some(longitude)) =
                        (self.expand_in(part, expand), latitude, longitude)
                    {
                        let properties = [PropertyKeyId(latitude), PropertyKeyId(longitude)];
                        let course = Course { properties, ..**course };
                        self.parts[part].view().prefetch(&AccessHint::Course(&course, &expand));
                    }
                }
            }
        }
    }
}
