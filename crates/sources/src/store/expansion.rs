//! Edges followed from a batch of nodes: lists of all kinds and both ways, read from pieces.

use model::limits::BATCH_ROWS;
use model::store::{EdgeCursor, EdgeIds};
use model::{Column, Direction, EdgeBatch, EdgeTypeId, Expand, Map, NodeId, Result, Set};

use super::crossing::Crossing;
use super::edge_ids::{EdgeName, MetEdge};
use super::layout::ListKind;
use super::load::{Table, Wanted};
use super::view::SourceView;
use crate::cache::{Found, Place, gather};
use crate::keys::{self, NO_KEY};

/// Input nodes whose edges are asked for at a time, at most.
const INPUTS_MAX: usize = 1 << 15;

/// The lists of one kind that an expansion reads, and what was found of them.
struct Source {
    list: ListKind,
    /// By key of the expansion, the number of the property.
    properties: Vec<Option<usize>>,
    edge_type: EdgeTypeId,
    /// The bits that the ids of the far nodes have in common; `None` if they are of another part of the graph.
    far_base: Option<u64>,
    far_space: usize,
    /// The input nodes that have such lists, ascending, and for each where its list is.
    inputs: Vec<u32>,
    keys: Vec<u64>,
    found: Found,
    /// The number of the first of its pieces among those of all sources.
    first_piece: u32,
    /// Far nodes that are not there, if some are not.
    absent: Set<u64>,
    /// Near nodes that are not there.
    absent_near: Set<u64>,
    /// For far nodes of other parts of the graph, the nodes.
    crossed: Map<u64, Vec<NodeId>>,
}

/// A cursor over the edges of an expansion.
pub(super) struct ExpandCursor<'a> {
    view: &'a SourceView,
    expand: Expand,
    from: &'a [NodeId],
    crossing: Option<&'a dyn Crossing>,
    sources: Vec<Source>,
    /// The input nodes from here on were not loaded.
    loaded: usize,
    /// The position of the next edge in the loaded ones.
    at: Position,
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Default)]
struct Position {
    /// For the sources, the next of their inputs is that which is not less than this.
    input: usize,
    source: usize,
    /// The place among the inputs of each source is kept by the source; this is the edge within its list.
    edge: usize,
}

/// An edge that is given out.
#[derive(Clone, Copy)]
struct Row {
    input: u32,
    source: u32,
    /// Its piece among those of all sources, and the edge there.
    place: Place,
    neighbor: NodeId,
    /// The key of the near node, and the first edge of its list.
    near: u64,
    start: u32,
}

impl<'a> ExpandCursor<'a> {
    pub(super) fn new(
        view: &'a SourceView,
        from: &'a [NodeId],
        expand: Expand,
        crossing: Option<&'a dyn Crossing>,
    ) -> ExpandCursor<'a> {
        ExpandCursor {
            view,
            expand,
            from,
            crossing,
            sources: Vec::new(),
            loaded: 0,
            at: Position::default(),
            rows: Vec::new(),
        }
    }

    /// Loads the edges of the next inputs.
    fn load(&mut self) -> Result<()> {
        let (start, end) = (self.loaded, self.from.len().min(self.loaded + INPUTS_MAX));
        self.loaded = end;
        self.at = Position { input: start, source: 0, edge: 0 };
        self.sources.clear();
        let layout = &self.view.shared.layout;
        for list in layout.lists(self.expand.direction, self.expand.types.as_deref()) {
            let mut source = self.source(list);
            self.choose_inputs(&mut source, start, end)?;
            if !source.inputs.is_empty() && (source.far_base.is_some() || self.crossing.is_some()) {
                self.sources.push(source);
            }
        }
        let wanted: Vec<Wanted> = self.sources.iter().map(|source| self.wanted(source)).collect();
        let mut first_piece = 0;
        for (source, found) in self.sources.iter_mut().zip(self.view.load(&wanted)?) {
            source.first_piece = first_piece;
            first_piece += found.pieces.len() as u32;
            source.found = found;
        }
        self.check_ends()?;
        for source in &self.sources {
            self.view.note_met(source.list, &source.keys, &source.found);
        }
        self.cross()
    }

    fn source(&self, list: ListKind) -> Source {
        let layout = &self.view.shared.layout;
        let kind = &layout.edges[list.edge];
        let far_space = layout.ends(list).1;
        Source {
            list,
            properties: self.expand.keys.iter().map(|key| kind.properties.get(key).copied()).collect(),
            edge_type: kind.edge_type,
            far_base: (!layout.is_foreign(far_space)).then(|| keys::id_base(layout.member, far_space)),
            far_space,
            inputs: Vec::new(),
            keys: Vec::new(),
            found: Found::default(),
            first_piece: 0,
            absent: Set::default(),
            absent_near: Set::default(),
            crossed: Map::default(),
        }
    }

    /// Notes which inputs can have such lists.
    fn choose_inputs(&self, source: &mut Source, start: usize, end: usize) -> Result<()> {
        let layout = &self.view.shared.layout;
        let near = layout.ends(source.list).0;
        if !layout.is_foreign(near) {
            for (input, &node) in self.from[start..end].iter().enumerate() {
                let (member, kind, key) = keys::parts(node);
                if member == layout.member && kind == near {
                    source.inputs.push((start + input) as u32);
                    source.keys.push(key);
                }
            }
            return Ok(());
        }
        let Some(crossing) = self.crossing else { return Ok(()) };
        let (label, property) = &layout.foreign[near - layout.nodes.len()];
        let values = crossing.values_of(&self.from[start..end], label, property)?;
        let mut numbers = Vec::new();
        self.view.shared.keys.encode(near, &values, &mut numbers)?;
        for (input, &key) in numbers.iter().enumerate().filter(|(_, key)| **key != NO_KEY) {
            source.inputs.push((start + input) as u32);
            source.keys.push(key);
        }
        Ok(())
    }

    fn wanted(&self, source: &Source) -> Wanted {
        let kind = &self.view.shared.layout.edges[source.list.edge];
        let mut properties: Vec<usize> = source.properties.iter().flatten().copied().collect();
        if self.expand.edge_ids == EdgeIds::Include && !kind.has_keys {
            // Edges of the same ends are told apart by all that is known of them.
            properties = (0..kind.property_count).collect();
        }
        properties.sort_unstable();
        properties.dedup();
        Wanted { table: Table::Lists(source.list), keys: source.keys.clone(), properties }
    }

    /// Finds out which ends of edges are not there, where the source does not see to it that they are.
    fn check_ends(&mut self) -> Result<()> {
        let layout = &self.view.shared.layout;
        let mut asked: Map<usize, Vec<u64>> = Map::default();
        let mut unsure = Vec::new();
        for (number, source) in self.sources.iter().enumerate() {
            let reverse = ListKind { is_reverse: !source.list.is_reverse, ..source.list };
            let (is_far_sure, is_near_sure) = (layout.has_sure_ends(source.list), layout.has_sure_ends(reverse));
            if is_far_sure && is_near_sure {
                continue;
            }
            for (&key, &place) in source.keys.iter().zip(&source.found.places) {
                let piece = source.found.piece(place);
                let Some(lists) = &piece.lists else { continue };
                let edges = lists.range(place.1 as usize);
                if piece.is_sure(place.1 as usize) || edges.is_empty() {
                    continue;
                }
                if !is_near_sure {
                    asked.entry(layout.ends(source.list).0).or_default().push(key);
                }
                if !is_far_sure {
                    asked.entry(source.far_space).or_default().extend(edges.map(|edge| lists.far.get(edge)));
                }
                unsure.push((number, key, place));
            }
        }
        if unsure.is_empty() {
            return Ok(());
        }
        let mut absent: Map<usize, Set<u64>> = Map::default();
        for (kind, keys) in self.absent_nodes(asked)? {
            absent.insert(kind, keys);
        }
        for (number, key, place) in unsure {
            self.note_ends(number, key, place, &absent);
        }
        Ok(())
    }

    /// The nodes among those asked, by kind, that are not there.
    fn absent_nodes(&self, asked: Map<usize, Vec<u64>>) -> Result<Vec<(usize, Set<u64>)>> {
        let mut wanted = Vec::new();
        for (kind, mut keys) in asked {
            keys.sort_unstable();
            keys.dedup();
            wanted.push(Wanted { table: Table::Nodes(kind), keys, properties: Vec::new() });
        }
        let founds = self.view.load(&wanted)?;
        let absent = wanted.iter().zip(&founds).map(|(wanted, found)| {
            let is_absent = |place: &Place| !found.piece(*place).is_there(place.1 as usize);
            let keys = wanted.keys.iter().zip(&found.places).filter(|(_, place)| is_absent(place));
            let Table::Nodes(kind) = wanted.table else { return (usize::MAX, Set::default()) };
            (kind, keys.map(|(&key, _)| key).collect())
        });
        Ok(absent.collect())
    }

    /// Notes of a list whether its ends are there.
    fn note_ends(&mut self, number: usize, key: u64, place: Place, absent: &Map<usize, Set<u64>>) {
        let layout = &self.view.shared.layout;
        let source = &mut self.sources[number];
        let piece = &source.found.pieces[place.0 as usize];
        let Some(lists) = &piece.lists else { return };
        let mut is_sure = true;
        if absent.get(&layout.ends(source.list).0).is_some_and(|keys| keys.contains(&key)) {
            source.absent_near.insert(key);
            is_sure = false;
        }
        if let Some(absent) = absent.get(&source.far_space).filter(|keys| !keys.is_empty()) {
            for edge in lists.range(place.1 as usize) {
                let far = lists.far.get(edge);
                if absent.contains(&far) {
                    source.absent.insert(far);
                    is_sure = false;
                }
            }
        }
        if is_sure {
            piece.make_sure(place.1 as usize);
        }
    }

    /// Finds the far nodes of other parts of the graph.
    fn cross(&mut self) -> Result<()> {
        let (Some(crossing), layout) = (self.crossing, &self.view.shared.layout) else { return Ok(()) };
        for source in self.sources.iter_mut().filter(|source| source.far_base.is_none()) {
            let mut far = Vec::new();
            for &place in &source.found.places {
                if let Some(lists) = &source.found.piece(place).lists {
                    far.extend(lists.range(place.1 as usize).map(|edge| lists.far.get(edge)));
                }
            }
            far.sort_unstable();
            far.dedup();
            let (label, property) = &layout.foreign[source.far_space - layout.nodes.len()];
            let values = self.view.shared.keys.decode(source.far_space, &far);
            for (row, node) in crossing.nodes_of(label, property, &values)? {
                source.crossed.entry(far[row as usize]).or_default().push(node);
            }
        }
        Ok(())
    }

    /// Chooses the next edges to give out, about `BATCH_ROWS`; none if all that is loaded was given out.
    fn choose_rows(&mut self) {
        self.rows.clear();
        let mut starts: Vec<usize> = Vec::with_capacity(self.sources.len());
        for (number, source) in self.sources.iter().enumerate() {
            // Of the present input, the sources before the present one are done.
            let first = self.at.input as u32 + u32::from(number < self.at.source);
            starts.push(source.inputs.partition_point(|&input| input < first));
        }
        while self.at.input < self.loaded && self.rows.len() < BATCH_ROWS {
            let input = self.at.input as u32;
            while self.at.source < self.sources.len() && self.rows.len() < BATCH_ROWS {
                let source = &self.sources[self.at.source];
                let start = &mut starts[self.at.source];
                if source.inputs.get(*start) != Some(&input) {
                    self.at.source += 1;
                    continue;
                }
                let (key, place) = (source.keys[*start], source.found.places[*start]);
                let room = BATCH_ROWS - self.rows.len();
                let is_both = self.expand.direction == Direction::Both;
                let node = self.from[input as usize];
                let list = List { input, node, near: key, place, skips_loops: is_both && source.list.is_reverse };
                let done = source.add_rows(&list, self.at, room, &mut self.rows);
                if let Some(edge) = done {
                    self.at.edge = edge;
                } else {
                    *start += 1;
                    self.at = Position { source: self.at.source + 1, edge: 0, ..self.at };
                }
            }
            if self.at.source == self.sources.len() {
                self.at = Position { input: self.at.input + 1, source: 0, edge: 0 };
            }
        }
    }

    fn fill(&self, out: &mut EdgeBatch) -> Result<()> {
        out.inputs.extend(self.rows.iter().map(|row| row.input));
        out.neighbors.extend(self.rows.iter().map(|row| row.neighbor));
        out.types.extend(self.rows.iter().map(|row| self.sources[row.source as usize].edge_type));
        if self.expand.direction == Direction::Both {
            out.reversed.extend(self.rows.iter().map(|row| self.sources[row.source as usize].list.is_reverse));
        }
        if self.expand.edge_ids == EdgeIds::Include {
            let met = self.rows.iter().map(|row| self.sources[row.source as usize].met(self.from, row));
            self.view.edge_names.number(met, &mut out.edges)?;
        }
        if self.expand.keys.is_empty() {
            return Ok(());
        }
        let places: Vec<Place> = self.rows.iter().map(|row| row.place).collect();
        let mut columns: Vec<Option<&Column>> = Vec::new();
        for at in 0..self.expand.keys.len() {
            columns.clear();
            for source in &self.sources {
                columns.extend(
                    source
                        .found
                        .pieces
                        .iter()
                        .map(|piece| source.properties[at].and_then(|property| piece.columns[property].as_ref())),
                );
            }
            out.properties.push(gather(&columns, &places));
        }
        Ok(())
    }
}

/// A list of which edges are given out.
struct List {
    input: u32,
    node: NodeId,
    near: u64,
    place: Place,
    /// A loop was seen from its start already.
    skips_loops: bool,
}

impl Source {
    /// Adds edges of a list from one on, approximately `room` at most; returns the edge to go on from, if there are
    /// more.
    fn add_rows(&self, list: &List, at: Position, room: usize, rows: &mut Vec<Row>) -> Option<usize> {
        let List { input, node, near, place, skips_loops } = *list;
        let lists = self.found.piece(place).lists.as_ref()?;
        if !self.absent_near.is_empty() && self.absent_near.contains(&near) {
            return None;
        }
        let edges = lists.range(place.1 as usize);
        let end = edges.end.min(edges.start + at.edge + room);
        let (source, start, piece) = (at.source as u32, edges.start as u32, self.first_piece + place.0);
        for edge in edges.start + at.edge..end {
            let far = lists.far.get(edge);
            if !self.absent.is_empty() && self.absent.contains(&far) {
                continue;
            }
            let row = |neighbor| Row { input, source, place: (piece, edge as u32), neighbor, near, start };
            match self.far_base {
                Some(base) if !(skips_loops && NodeId(base | far) == node) => rows.push(row(NodeId(base | far))),
                Some(_) => {}
                None => {
                    let nodes = self.crossed.get(&far).map_or(&[][..], Vec::as_slice).iter();
                    rows.extend(nodes.filter(|&&neighbor| !(skips_loops && neighbor == node)).map(|&node| row(node)));
                }
            }
        }
        (end < edges.end).then(|| end - edges.start)
    }

    /// An edge that is given out, as views remember it.
    fn met(&self, from: &[NodeId], row: &Row) -> MetEdge {
        let piece = &self.found.pieces[(row.place.0 - self.first_piece) as usize];
        let edge = row.place.1 as usize;
        let lists = piece.lists.as_ref();
        let key = |edge: usize| lists.and_then(|lists| lists.edge_keys.as_ref()).map_or(NO_KEY, |keys| keys.get(edge));
        let far = |edge: usize| lists.map_or(NO_KEY, |lists| lists.far.get(edge));
        // Edges that agree in their ends and keys lie side by side.
        let is_same = |other: &usize| far(*other) == far(edge) && key(*other) == key(edge);
        let ordinal = (row.start as usize..edge).rev().take_while(is_same).count() as u32;
        let (near, neighbor) = (from[row.input as usize], row.neighbor);
        let (source, target) = if self.list.is_reverse { (neighbor, near) } else { (near, neighbor) };
        let name = EdgeName { edge: self.list.edge as u32, ordinal, source, target, key: key(edge) };
        MetEdge { name, list: self.list, near: row.near, far: far(edge) }
    }
}

impl EdgeCursor for ExpandCursor<'_> {
    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        out.clear();
        loop {
            self.choose_rows();
            if !self.rows.is_empty() {
                break;
            }
            if self.loaded == self.from.len() {
                return Ok(false);
            }
            self.load()?;
        }
        model::meter::count(|meter| meter.rows_used += self.rows.len() as u64);
        self.fill(out)?;
        Ok(true)
    }
}
