//! Properties and labels of nodes and edges that were found before.

use model::{Bitmap, Column, ColumnBuilder, EdgeId, LabelId, Map, NodeId, PropertyKeyId, Result, Value, error};

use super::edge_ids::MetEdge;
use super::layout::ListKind;
use super::load::{Table, Wanted};
use super::view::SourceView;
use crate::cache::{Found, NOWHERE, Place, gather};
use crate::connector::{Condition, Question, Test, Which};
use crate::keys;

/// The rows that were found, which lie in several tables.
struct Rows {
    /// For each table, the number of the property that each key stands for, and what was found.
    parts: Vec<(Vec<Option<usize>>, Found)>,
    /// For each row, its place among the pieces of all parts.
    places: Vec<Place>,
}

impl Rows {
    fn columns(&self, keys: usize) -> Vec<Column> {
        let mut columns: Vec<Option<&Column>> = Vec::new();
        let gathered = (0..keys).map(|at| {
            columns.clear();
            for (properties, found) in &self.parts {
                let column = |property: usize| found.pieces.iter().map(move |piece| piece.columns[property].as_ref());
                match properties[at] {
                    Some(property) => columns.extend(column(property)),
                    None => columns.extend(found.pieces.iter().map(|_| None)),
                }
            }
            gather(&columns, &self.places)
        });
        gathered.collect()
    }
}

impl SourceView {
    /// The nodes of this source, by kind: which of `nodes` they are, and the numbers of their keys.
    fn by_kind(&self, nodes: &[NodeId]) -> Vec<(usize, Vec<u32>, Vec<u64>)> {
        let layout = &self.shared.layout;
        let mut kinds: Vec<(usize, Vec<u32>, Vec<u64>)> = Vec::new();
        let mut last = usize::MAX;
        for (row, &node) in nodes.iter().enumerate() {
            let (member, kind, key) = keys::parts(node);
            if member != layout.member || kind >= layout.nodes.len() || !self.shared.keys.is_known(kind, key) {
                continue;
            }
            if kinds.get(last).is_none_or(|(other, ..)| *other != kind) {
                last = kinds.iter().position(|(other, ..)| *other == kind).unwrap_or_else(|| {
                    kinds.push((kind, Vec::new(), Vec::new()));
                    kinds.len() - 1
                });
            }
            kinds[last].1.push(row as u32);
            kinds[last].2.push(key);
        }
        kinds
    }

    pub(super) fn columns_of_nodes(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        let layout = &self.shared.layout;
        let kinds = self.by_kind(nodes);
        let properties = kinds.iter().map(|(kind, ..)| {
            keys.iter().map(|key| layout.nodes[*kind].properties.get(key).copied()).collect::<Vec<Option<usize>>>()
        });
        let properties: Vec<Vec<Option<usize>>> = properties.collect();
        let wanted: Vec<Wanted> = kinds
            .iter()
            .zip(&properties)
            .map(|((kind, _, keys), properties)| Wanted {
                table: Table::Nodes(*kind),
                keys: keys.clone(),
                properties: sorted(properties),
            })
            .collect();
        let mut rows = Rows { parts: Vec::new(), places: vec![NOWHERE; nodes.len()] };
        let mut first = 0;
        for (((_, at, _), found), properties) in kinds.iter().zip(self.load(&wanted)?).zip(properties) {
            for (&row, &(piece, place)) in at.iter().zip(&found.places) {
                rows.places[row as usize] = (first + piece, place);
            }
            first += found.pieces.len() as u32;
            rows.parts.push((properties, found));
        }
        model::meter::count(|meter| meter.rows_used += nodes.len() as u64);
        Ok(rows.columns(keys.len()))
    }

    /// For each node, whether it is there; and its kind if so.
    pub(super) fn kinds_of_nodes(&self, nodes: &[NodeId]) -> Result<Vec<Option<usize>>> {
        let mut kinds_of = vec![None; nodes.len()];
        let kinds = self.by_kind(nodes);
        let wanted = kinds.iter().map(|(kind, _, keys)| Wanted {
            table: Table::Nodes(*kind),
            keys: keys.clone(),
            properties: Vec::new(),
        });
        let wanted: Vec<Wanted> = wanted.collect();
        for ((kind, rows, _), found) in kinds.iter().zip(self.load(&wanted)?) {
            for (&row, &place) in rows.iter().zip(&found.places) {
                if found.piece(place).is_there(place.1 as usize) {
                    kinds_of[row as usize] = Some(*kind);
                }
            }
        }
        Ok(kinds_of)
    }

    pub(super) fn labels_of_nodes(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        let layout = &self.shared.layout;
        let labels = |kind: Option<usize>| kind.map_or_else(Vec::new, |kind| layout.nodes[kind].labels.clone());
        Ok(self.kinds_of_nodes(nodes)?.into_iter().map(labels).collect())
    }

    /// Positions of edges that this view gave out: those that are still there, by list.
    fn find_edges(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Rows> {
        let layout = &self.shared.layout;
        let met = self.edge_names.edges(edges);
        if self.link.is_writing() && met.iter().any(Option::is_none) {
            let source = self.shared.connector.name();
            return Err(error!(Unsupported, "{source}: an edge that was read in another transaction is used here")
                .with_remedy("match it again in this transaction"));
        }
        let mut lists: Vec<(ListKind, Vec<u32>, Vec<u64>)> = Vec::new();
        let mut places: Map<ListKind, usize> = Map::default();
        for (row, edge) in met.iter().enumerate() {
            let Some(edge) = edge else { continue };
            let at = *places.entry(edge.list).or_insert_with(|| {
                lists.push((edge.list, Vec::new(), Vec::new()));
                lists.len() - 1
            });
            lists[at].1.push(row as u32);
            lists[at].2.push(edge.near);
        }
        let properties = lists.iter().map(|(list, ..)| {
            keys.iter().map(|key| layout.edges[list.edge].properties.get(key).copied()).collect::<Vec<Option<usize>>>()
        });
        let properties: Vec<Vec<Option<usize>>> = properties.collect();
        let wanted = lists.iter().zip(&properties).map(|((list, _, keys), properties)| {
            let kind = &layout.edges[list.edge];
            // Edges without keys are told apart by all their properties.
            let needed = if kind.has_keys { sorted(properties) } else { (0..kind.property_count).collect() };
            Wanted { table: Table::Lists(*list), keys: keys.clone(), properties: needed }
        });
        let wanted: Vec<Wanted> = wanted.collect();
        let mut rows = Rows { parts: Vec::new(), places: vec![NOWHERE; edges.len()] };
        let mut first = 0;
        for (((_, at, _), found), properties) in lists.iter().zip(self.load(&wanted)?).zip(properties) {
            for (&row, &place) in at.iter().zip(&found.places) {
                let edge = met[row as usize].as_ref().and_then(|edge| place_of(edge, &found, place));
                if let Some(edge) = edge {
                    rows.places[row as usize] = (first + place.0, edge);
                }
            }
            first += found.pieces.len() as u32;
            rows.parts.push((properties, found));
        }
        Ok(rows)
    }

    pub(super) fn columns_of_edges(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        Ok(self.find_edges(edges, keys)?.columns(keys.len()))
    }

    pub(super) fn which_edges_exist(&self, edges: &[EdgeId]) -> Result<Bitmap> {
        Ok(self.find_edges(edges, &[])?.places.iter().map(|&place| place != NOWHERE).collect())
    }

    /// The nodes of a kind that have a value of a unique property: for each value, the node.
    pub(super) fn find_nodes(&self, kind: usize, property: usize, values: &Column) -> Result<Column> {
        let mut nodes: Vec<Value> = vec![Value::Null; values.len()];
        let mut rest: Vec<(usize, Value)> = Vec::new();
        let is_key = self.shared.layout.nodes[kind].key_property == Some(property);
        let (mut known, mut rows) = (Vec::new(), Vec::new());
        for (row, value) in values.values().enumerate() {
            // Null and NaN equal nothing.
            if value.equals(&value) != Some(true) {
                continue;
            }
            match self.shared.keys.find(kind, &value).filter(|_| is_key) {
                Some(key) => {
                    known.push(key);
                    rows.push((row, value));
                }
                None => rest.push((row, value)),
            }
        }
        let member = self.shared.layout.member;
        if !known.is_empty() {
            let wanted = Wanted { table: Table::Nodes(kind), keys: known.clone(), properties: vec![property] };
            let found = self.load_one(wanted)?;
            for (((row, value), key), place) in rows.into_iter().zip(known).zip(&found.places) {
                let piece = found.piece(*place);
                let held =
                    piece.columns[property].as_ref().map_or(Value::Null, |column| column.value(place.1 as usize));
                if piece.is_there(place.1 as usize) && held.equals(&value) == Some(true) {
                    nodes[row] = Value::Node(keys::node_id(member, kind, key));
                }
            }
        }
        if !rest.is_empty() {
            let found = self.ask_nodes(kind, property, is_key, &rest)?;
            for (row, value) in rest {
                nodes[row] = found.get(&value).map_or(Value::Null, |&node| Value::Node(node));
            }
        }
        let mut column = ColumnBuilder::default();
        nodes.iter().for_each(|node| column.push(node));
        Ok(column.finish())
    }

    fn ask_nodes(
        &self,
        kind: usize,
        property: usize,
        is_key: bool,
        wanted: &[(usize, Value)],
    ) -> Result<Map<Value, NodeId>> {
        let mut distinct: Vec<Value> = wanted.iter().map(|(_, value)| value.clone()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let column = Column::from_values(&distinct);
        let conditions = [Condition::is(property, Test::OneOf(distinct))];
        let which = if is_key { Which::Keys(&column) } else { Which::Where(&conditions) };
        let question = Question::Nodes { kind, which, properties: &[property], order: &[], limit: None };
        let mut found = Map::default();
        let (mut numbers, member) = (Vec::new(), self.shared.layout.member);
        self.link.ask(&[question], &mut |_, rows| {
            numbers.clear();
            self.shared.keys.encode(kind, &rows[0], &mut numbers)?;
            self.keep_scanned(kind, &[property], &numbers, &rows[1..], numbers.len())?;
            for (row, &number) in numbers.iter().enumerate().filter(|(_, number)| **number != keys::NO_KEY) {
                found.insert(rows[1].value(row), keys::node_id(member, kind, number));
            }
            Ok(true)
        })?;
        Ok(found)
    }
}

fn sorted(properties: &[Option<usize>]) -> Vec<usize> {
    let mut properties: Vec<usize> = properties.iter().flatten().copied().collect();
    properties.sort_unstable();
    properties.dedup();
    properties
}

/// Position of an edge in the list at a place, if it is still there.
fn place_of(edge: &MetEdge, found: &Found, place: Place) -> Option<u32> {
    let lists = found.piece(place).lists.as_ref()?;
    let range = lists.range(place.1 as usize);
    let key = |at: usize| lists.edge_keys.as_ref().map_or(keys::NO_KEY, |keys| keys.get(at));
    let mut same = range.filter(|&at| lists.far.get(at) == edge.far && key(at) == edge.name.key);
    same.nth(edge.name.ordinal as usize).map(|at| at as u32)
}
