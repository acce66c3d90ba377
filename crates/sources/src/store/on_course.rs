//! What a search over places will come to: cells in the order of its course; or, where the source finds no places but can
//! follow edges by itself, nodes beyond those whose edges are known.

use std::sync::Arc;

use model::{Column, Course, Map, Result};

use super::ahead::{Blocks, SentAhead};
use super::layout::ListKind;
use super::load::{Asked, Missing, Table};
use super::view::SourceView;
use crate::cache::{Origin, Piece};
use crate::connector::{OnCourse, Question, Which};
use crate::prefetch::Flood;

/// Nodes whose edges are not known from which to go on, at most.
const STARTS_MAX: usize = 4096;

impl SourceView {
    /// Notes which way a search goes, in place of what was noted before.
    pub(super) fn note_course(&self, course: &Course) {
        let mut floods = Map::default();
        for (kind, layout) in self.shared.layout.nodes.iter().enumerate() {
            let Some(dimensions) = self.prefetcher.dimensions(kind) else { continue };
            let axis = |key| {
                let property = layout.properties.get(key)?;
                dimensions.iter().position(|dimension| dimension == property)
            };
            if let [Some(latitude), Some(longitude)] = course.properties.each_ref().map(axis)
                && dimensions.len() == 2
            {
                floods.insert(kind, Flood::new(*course, [latitude, longitude]));
            }
        }
        let mut foresight = self.foresight();
        foresight.course = Some(*course);
        foresight.floods = floods;
    }

    /// Has the source work on the next cells of a search's course while the search goes on, where it can.
    pub(super) fn work_ahead(&self) -> Result<()> {
        let is_due = |used: u64| {
            let foresight = self.foresight();
            !foresight.floods.is_empty() && foresight.sent.is_none() && used >= foresight.used_next
        };
        if !self.prefetcher.works_ahead() || !is_due(self.usage().used) {
            return Ok(());
        }
        let mut blocks = Vec::new();
        let mut floods = std::mem::take(&mut self.foresight().floods);
        for (&kind, flood) in &mut floods {
            let Some(dimensions) = self.prefetcher.dimensions(kind) else { continue };
            let (cells, boxes) = self.prefetcher.cells(kind, (&[], &[], &[]), Some(flood), self.usage(), self.since_ns);
            if !cells.is_empty() {
                let properties = self.shared.hot.add(kind, dimensions);
                blocks.push(Blocks { kind, cells, dimensions: dimensions.to_vec(), boxes, properties });
            }
        }
        self.foresight().floods = floods;
        if blocks.is_empty() {
            return Ok(());
        }
        let (lists, at_ns) = (self.hot_lists(), self.shared.environment.clock.now_ns());
        let is_sent = {
            let asked = self.asked_of(&blocks, &lists);
            let questions: Vec<Question<'_>> =
                asked.iter().map(|(asked, which)| asked.question(which.clone())).collect();
            self.link.send(&questions)?
        };
        let mut foresight = self.foresight();
        if is_sent {
            foresight.sent = Some(SentAhead { blocks, lists, at_ns });
        } else {
            // It cannot, or not now; the cells were taken from the course, and are asked for when they are needed.
            foresight.used_next = u64::MAX;
        }
        Ok(())
    }

    /// Takes what the source worked on ahead.
    pub(super) fn take_ahead(&self) -> Result<Vec<Arc<Piece>>> {
        let Some(SentAhead { blocks, lists, at_ns }) = self.foresight().sent.take() else { return Ok(Vec::new()) };
        let asked = self.asked_of(&blocks, &lists);
        let pieces = self.take_rows(&asked, at_ns, |_, sink| self.link.receive(sink))?;
        self.note_blocks(&blocks, &pieces, at_ns);
        Ok(pieces)
    }

    /// Remembers which nodes whose edges are not known the edges that came lead to.
    pub(super) fn note_rim(&self, pieces: &[Arc<Piece>]) {
        if !self.prefetcher.follows_courses() {
            return;
        }
        for piece in pieces {
            let Some(lists) = &piece.lists else { continue };
            let edges = (0..piece.keys.len()).flat_map(|row| lists.range(row).map(move |edge| (row, edge)));
            let rim: Vec<(u64, u64)> = edges.map(|(row, edge)| (piece.keys[row], lists.far.get(edge))).collect();
            self.prefetcher.add_rim(piece.table, rim);
        }
    }

    /// Asks for what the search that misses lists will come to next, where the source can tell; `None` elsewhere.
    pub(super) fn fetch_on_course(&self, missing: &[Missing]) -> Result<Option<Vec<Arc<Piece>>>> {
        let layout = &self.shared.layout;
        let ([Missing { table: Table::Lists(list), keys, properties }], true) =
            (missing, self.prefetcher.follows_courses())
        else {
            return Ok(None);
        };
        let (near, far) = layout.ends(*list);
        let Some(course) = self.foresight().course.filter(|_| near == far && self.is_local(*list)) else {
            return Ok(None);
        };
        let [latitude, longitude] = course.properties.map(|key| layout.nodes[near].properties.get(&key).copied());
        let (Some(latitude), Some(longitude)) = (latitude, longitude) else { return Ok(None) };
        let place = [latitude, longitude];
        let limit = keys.len() as u64 + self.prefetcher.nodes_on_course(self.usage());
        let (starts, orders, known) = self.rim(*list, keys, &course, place);
        let decode = |keys: &[u64]| self.shared.keys.decode(near, keys);
        let (starts, known): (Column, Column) = (decode(&starts), decode(&known));
        let along = (list.edge, list.direction());
        let (orders, course) = (&*orders, &course);
        let on =
            OnCourse { kind: near, along, course, properties: place, starts: &starts, orders, known: &known, limit };
        let node_properties = self.shared.hot.add(near, &place);
        let nodes = Asked { table: Table::Nodes(near), properties: &node_properties, keys: &[], origin: Origin::Ahead };
        let lists = Asked { table: Table::Lists(*list), properties, keys, origin: Origin::Ahead };
        self.ask_rows(&[(nodes, Which::OnCourse(&on)), (lists, Which::OnCourse(&on))]).map(Some)
    }

    /// Nodes from which to follow edges: those that are missing, before all others, and the first on the course of those to
    /// which known edges lead; and nodes beside these whose edges are known.
    fn rim(
        &self,
        list: ListKind,
        missing: &[u64],
        course: &Course,
        place: [usize; 2],
    ) -> (Vec<u64>, Vec<f64>, Vec<u64>) {
        let kind = self.shared.layout.ends(list).0;
        let mut rim = self
            .prefetcher
            .rim(self.shared.layout.list_table(list), |table, keys| self.cache.which_are_there(table, keys));
        let mut known: Vec<u64> = rim.iter().map(|(near, _)| *near).collect();
        known.sort_unstable();
        known.dedup();
        rim.retain(|(_, far)| missing.binary_search(far).is_err());
        let mut starts: Vec<u64> = rim.iter().map(|(_, far)| *far).collect();
        starts.sort_unstable();
        starts.dedup();
        let places = self.cache.places_of(kind, &starts, &place);
        let order = |sides: Option<[f64; 3]>| sides.map_or(0.0, |sides| course.order_at(sides[0], sides[1]));
        let mut ordered: Vec<(f64, u64)> = places.into_iter().map(order).zip(starts).collect();
        ordered.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        ordered.truncate(STARTS_MAX);
        let starts = missing.iter().copied().chain(ordered.iter().map(|(_, key)| *key)).collect();
        let orders = missing.iter().map(|_| 0.0).chain(ordered.iter().map(|(order, _)| *order)).collect();
        (starts, orders, known)
    }
}
