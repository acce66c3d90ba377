//! The nodes that a search over places will come to: cells in the order of its course; or, where the source finds no
//! places but can follow edges by itself, nodes beyond those whose edges are known.

use std::sync::Arc;

use model::{Column, Course, ErrorCode, Map, Result};

use super::ahead::{Blocks, LEFT_SHARE, OnCourseLists, SentAhead, WhatIsSent};
use super::layout::ListKind;
use super::load::{Asked, Missing, Table, Wanted, questions};
use super::view::SourceView;
use crate::cache::{Origin, Piece};
use crate::connector::{OnCourse, Which};
use crate::prefetch::{Cell, Flood, More, Sides, Use};

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

    /// True if the source may be sent more to work on: it can, and enough of the rows of its last request were used.
    pub(super) fn is_due(&self) -> bool {
        if !self.prefetcher.works_ahead() {
            return false;
        }
        let used = self.usage().used;
        let foresight = self.foresight();
        let has_course = !foresight.floods.is_empty() || foresight.on_course.is_some();
        has_course && foresight.sent.is_none() && used >= foresight.used_next
    }

    /// The next blocks on a search's course, without those that are asked for already.
    pub(super) fn next_blocks(&self, asked: &[Blocks]) -> Vec<Blocks> {
        let mut blocks = Vec::new();
        let mut floods = std::mem::take(&mut self.foresight().floods);
        for (&kind, flood) in &mut floods {
            let Some(dimensions) = self.prefetcher.dimensions(kind) else { continue };
            let taken: Vec<Cell> =
                asked.iter().filter(|block| block.kind == kind).flat_map(|block| block.cells.iter().copied()).collect();
            let more = (More::Course(flood), taken.as_slice());
            let (cells, boxes) = self.prefetcher.cells(kind, (&[], &[]), more, self.usage(), self.since_ns);
            if !cells.is_empty() {
                let properties = self.shared.hot.add(kind, dimensions);
                blocks.push(Blocks { kind, cells, dimensions: dimensions.to_vec(), boxes, properties });
            }
        }
        self.foresight().floods = floods;
        blocks
    }

    /// Has the source work on what comes next on a search's course while the search goes on, where it can and it is time.
    pub(super) fn work_ahead(&self) -> Result<()> {
        if !self.is_due() {
            return Ok(());
        }
        let on_course = self.foresight().on_course.clone();
        let is_sent = match on_course {
            Some(lists) => self.send_course(lists)?,
            None => self.send_blocks(&[])?,
        };
        if !is_sent {
            // It cannot, or not now; the cells were taken from the course, and are asked for when they are needed.
            self.foresight().used_next = u64::MAX;
        }
        Ok(())
    }

    /// Sends what asks for the next blocks, besides those that are asked for already; true if there are none.
    fn send_blocks(&self, asked: &[Blocks]) -> Result<bool> {
        let blocks = self.next_blocks(asked);
        if blocks.is_empty() {
            return Ok(true);
        }
        let (lists, at_ns) = (self.hot_lists(), self.shared.environment.clock.now_ns());
        let is_sent = self.link.send(&questions(&self.asked_of(&blocks, &lists)))?;
        if is_sent {
            self.foresight().sent = Some(SentAhead { what: WhatIsSent::Blocks(blocks, lists), at_ns });
        }
        Ok(is_sent)
    }

    /// Takes what the source worked on ahead, now that rows are missing.
    pub(super) fn take_ahead(&self, wanted: &[Wanted], gaps: &[Vec<u32>]) -> Result<Vec<Arc<Piece>>> {
        let Some(SentAhead { what, at_ns }) = self.foresight().sent.take() else { return Ok(Vec::new()) };
        match what {
            WhatIsSent::Blocks(blocks, lists) => {
                let asked = self.asked_of(&blocks, &lists);
                let answers = self.receive_rows(&asked)?;
                let rows = answers.rows;
                let Use { used, unused, .. } = self.usage();
                // Nothing else will be asked: the source goes on at once, while this is taken in.
                let is_enough = self.hold_all(&blocks, wanted, gaps) && (unused <= rows || unused <= used / LEFT_SHARE);
                let goes_on = is_enough && self.send_blocks(&blocks)?;
                let pieces = self.pieces(answers, &asked, at_ns)?;
                self.note_blocks(&blocks, &pieces, at_ns);
                if !goes_on {
                    self.note_arrival(rows);
                }
                Ok(pieces)
            }
            WhatIsSent::OnCourse(lists) => {
                // The request does not matter when the answer is taken in.
                let asked = lists.asked(&[], || Which::All);
                let pieces = self.receive_rows(&asked).and_then(|answers| self.pieces(answers, &asked, at_ns));
                let pieces = as_far_as_it_can(pieces)?.unwrap_or_default();
                self.note_rim(&pieces);
                self.note_arrival(pieces.iter().map(|piece| piece.row_count()).sum());
                Ok(pieces)
            }
        }
    }

    /// True if all rows that are missing are of nodes that lie in some blocks, as far as is known.
    fn hold_all(&self, blocks: &[Blocks], wanted: &[Wanted], gaps: &[Vec<u32>]) -> bool {
        wanted.iter().zip(gaps).filter(|(_, gaps)| !gaps.is_empty()).all(|(wanted, gaps)| {
            let Some(kind) = self.near_kind(wanted.table) else { return false };
            let Some(block) = blocks.iter().find(|block| block.kind == kind) else { return false };
            let keys: Vec<u64> = gaps.iter().map(|&at| wanted.keys[at as usize]).collect();
            let places = self.cache_of(kind).places_of(kind, &keys, &block.dimensions);
            let foresight = self.foresight();
            let place = |(key, place): (&u64, Option<Sides>)| {
                place.or_else(|| foresight.met.get(&(kind, *key)).copied()).is_some_and(|place| block.holds(&place))
            };
            keys.iter().zip(places).all(place)
        })
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
        let node_properties = self.shared.hot.add(near, &[latitude, longitude]);
        let lists = OnCourseLists { near, list: *list, properties: properties.clone(), node_properties };
        let ask = |questions: &[(Asked<'_>, Which<'_>)]| self.ask_rows(questions);
        let pieces = self.on_course(&lists, keys, (&course, [latitude, longitude]), ask);
        let Some(pieces) = as_far_as_it_can(pieces)? else { return Ok(None) };
        self.note_arrival(pieces.iter().map(|piece| piece.row_count()).sum());
        self.foresight().on_course = Some(lists);
        Ok(Some(pieces))
    }

    /// Sends what asks for the nodes that a search comes to next.
    fn send_course(&self, lists: OnCourseLists) -> Result<bool> {
        let layout = &self.shared.layout;
        let near = layout.ends(lists.list).0;
        let Some(course) = self.foresight().course else { return Ok(false) };
        let [latitude, longitude] = course.properties.map(|key| layout.nodes[near].properties.get(&key).copied());
        let (Some(latitude), Some(longitude)) = (latitude, longitude) else { return Ok(false) };
        let at_ns = self.shared.environment.clock.now_ns();
        let send = |asked: &[(Asked<'_>, Which<'_>)]| self.link.send(&questions(asked));
        let is_sent = self.on_course(&lists, &[], (&course, [latitude, longitude]), send)?;
        if is_sent {
            self.foresight().sent = Some(SentAhead { what: WhatIsSent::OnCourse(lists), at_ns });
        }
        Ok(is_sent)
    }

    /// Asks for the lists that are missing, and for the nodes that a search comes to from there.
    fn on_course<T>(
        &self,
        lists: &OnCourseLists,
        missing: &[u64],
        (course, properties): (&Course, [usize; 2]),
        run: impl FnOnce(&[(Asked<'_>, Which<'_>)]) -> Result<T>,
    ) -> Result<T> {
        let near = self.shared.layout.ends(lists.list).0;
        let limit = missing.len() as u64 + self.prefetcher.nodes_on_course(self.usage());
        let (starts, orders, known) = self.rim(lists.list, missing, (course, properties), limit);
        let decode = |keys: &[u64]| self.shared.keys.decode(near, keys);
        let (starts, known): (Column, Column) = (decode(&starts), decode(&known));
        let along = (lists.list.edge, lists.list.direction());
        let (starts, known, orders) = (&starts, &known, &*orders);
        let on = OnCourse { kind: near, along, course, properties, starts, orders, known, limit };
        run(&lists.asked(missing, || Which::OnCourse(&on)))
    }

    /// Nodes from which to follow edges: those that are missing, before all others, and the first on the course of those to
    /// which known edges lead; and nodes beside these whose edges are known.
    fn rim(
        &self,
        list: ListKind,
        missing: &[u64],
        (course, place): (&Course, [usize; 2]),
        limit: u64,
    ) -> (Vec<u64>, Vec<f64>, Vec<u64>) {
        let kind = self.shared.layout.ends(list).0;
        let mut rim = self
            .prefetcher
            .rim(self.shared.layout.list_table(list), |table, keys| self.cache_of(table).which_are_there(table, keys));
        let mut known: Vec<u64> = rim.iter().map(|(near, _)| *near).collect();
        known.sort_unstable();
        known.dedup();
        rim.retain(|(_, far)| missing.binary_search(far).is_err());
        let mut starts: Vec<u64> = rim.iter().map(|(_, far)| *far).collect();
        starts.sort_unstable();
        starts.dedup();
        let places = self.cache_of(kind).places_of(kind, &starts, &place);
        let order = course.order();
        let placed = starts.iter().zip(places).filter_map(|(key, sides)| Some((order.at(sides?[0], sides?[1]), *key)));
        let mut ordered: Vec<(f64, u64)> = placed.collect();
        ordered.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        ordered.truncate(STARTS_MAX.min(usize::try_from(limit).unwrap_or(STARTS_MAX)));
        let starts = missing.iter().copied().chain(ordered.iter().map(|(_, key)| *key)).collect();
        // Those that are missing come before all others.
        let orders = missing.iter().map(|_| 0.0).chain(ordered.iter().map(|(order, _)| order.max(f64::MIN_POSITIVE)));
        (starts, orders.collect(), known)
    }
}

impl OnCourseLists {
    /// The requests for the nodes met and for those followed, of which the edges of some must be told.
    fn asked<'a>(&'a self, keys: &'a [u64], which: impl Fn() -> Which<'a>) -> [(Asked<'a>, Which<'a>); 2] {
        let near = Table::Nodes(self.near);
        let asked = |table, properties, keys| Asked { table, properties, keys, origin: Origin::Ahead };
        [
            (asked(near, self.node_properties.as_slice(), &[]), which()),
            (asked(Table::Lists(self.list), self.properties.as_slice(), keys), which()),
        ]
    }
}

/// The answer that came; none if some of it could not be read: it was not asked for, and a later reader that needs it
/// gets the error.
fn as_far_as_it_can<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.code() == ErrorCode::Definition => Ok(None),
        other => other.map(Some),
    }
}
