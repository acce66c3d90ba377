//! Rows that are fetched along with missing ones: near nodes in boxes, or nodes within a few edges, in the same round
//! trip.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Column, Course, Direction, Map, NodeId, Result};

use super::layout::ListKind;
use super::load::{Asked, Missing, Table};
use super::view::SourceView;
use crate::cache::{Found, Origin, Piece};
use crate::connector::Which;
use crate::definition::Rows;
use crate::keys;
use crate::prefetch::{Cell, Depth, Flood, More, Sides, Use};

/// Approximate bytes of a row that is fetched ahead.
const ROW_BYTES: usize = 80;
/// The part of the rows that came last that must be used before more are asked for ahead.
const USED_SHARE: u64 = 3;
/// The part of the rows that were used that may lie unused when more come, and still more are asked for at once.
pub(super) const LEFT_SHARE: u64 = 8;
/// Nodes that are remembered by where they were met, at most.
const MET_MAX: usize = 1 << 16;

/// The data that a view remembers in order to foresee questions.
#[derive(Default)]
pub(super) struct Foresight {
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    /// The lists that it was asked for.
    lists: Vec<ListKind>,
    /// For nodes that are not in the cache, a place near them.
    pub(super) met: Map<(usize, u64), Sides>,
    /// Nodes that were announced, by kind, the first of them first.
    due: Map<usize, Vec<u64>>,
    /// The course of a search.
    pub(super) course: Option<Course>,
    /// The cells on it, by kind.
    pub(super) floods: Map<usize, Flood>,
    /// The request that the source works on ahead of being asked.
    pub(super) sent: Option<SentAhead>,
    /// The rows that must be used before the source is sent more to work on.
    pub(super) used_next: u64,
    /// The lists that a search follows, where the source itself is asked to follow courses.
    pub(super) on_course: Option<OnCourseLists>,
}

/// A request that was sent and is not answered yet.
pub(super) struct SentAhead {
    pub(super) what: WhatIsSent,
    pub(super) at_ns: u64,
}

pub(super) enum WhatIsSent {
    /// Blocks, with these lists of their nodes.
    Blocks(Vec<Blocks>, Vec<(ListKind, Vec<usize>)>),
    /// Nodes on the course of a search, with lists of theirs.
    OnCourse(OnCourseLists),
}

/// Lists that a search follows: of these nodes the source is asked which come next, with these properties of theirs.
#[derive(Clone)]
pub(super) struct OnCourseLists {
    /// The kind of nodes that they join.
    pub(super) near: usize,
    pub(super) list: ListKind,
    pub(super) properties: Vec<usize>,
    pub(super) node_properties: Vec<usize>,
}

/// Boxes of one kind of nodes that are fetched.
pub(super) struct Blocks {
    pub(super) kind: usize,
    pub(super) cells: Vec<Cell>,
    pub(super) dimensions: Vec<usize>,
    pub(super) boxes: Vec<Vec<(f64, f64)>>,
    pub(super) properties: Vec<usize>,
}

impl Blocks {
    pub(super) fn holds(&self, place: &Sides) -> bool {
        self.boxes.iter().any(|sides| sides.iter().zip(place).all(|(&(low, high), at)| (low..=high).contains(at)))
    }
}

impl SourceView {
    /// The use of the rows that were fetched ahead for this view.
    pub(super) fn usage(&self) -> Use {
        let counts = &self.cache.counts;
        let since = |now: &std::sync::atomic::AtomicU64, then: u64| now.load(Ordering::Relaxed).saturating_sub(then);
        let unused = since(&counts.ahead_fetched, self.counts_before[1])
            .saturating_sub(since(&counts.ahead_used, self.counts_before[2]));
        let room = (self.cache.bytes_max() / 4 / ROW_BYTES) as u64;
        Use { used: since(&counts.used, self.counts_before[0]), unused, room }
    }

    pub(super) fn foresight(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.foresight.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that lists of a kind are wanted.
    pub(super) fn note_list(&self, list: ListKind) {
        let mut foresight = self.foresight();
        if !foresight.lists.contains(&list) {
            foresight.lists.push(list);
        }
    }

    /// Notes which nodes will be expanded soon, in place of those that were announced before.
    pub(super) fn note_due(&self, nodes: &[NodeId]) {
        let layout = &self.shared.layout;
        let mut due: Map<usize, Vec<u64>> = Map::default();
        for &node in nodes {
            let (member, kind, key) = keys::parts(node);
            if member == layout.member && self.prefetcher.dimensions(kind).is_some() {
                due.entry(kind).or_default().push(key);
            }
        }
        self.foresight().due = due;
    }

    /// The nodes at whose places blocks are fetched: those of this kind, or at the near end.
    pub(super) fn near_kind(&self, table: Table) -> Option<usize> {
        let layout = &self.shared.layout;
        match table {
            Table::Nodes(kind) => Some(kind),
            Table::Lists(list) => Some(layout.ends(list).0).filter(|&space| !layout.is_foreign(space)),
        }
    }

    /// Fetches rows that are missing, and with them, in the same round trip, what will be missing next.
    pub(super) fn fetch_with_more(&self, missing: &[Missing]) -> Result<Vec<Arc<Piece>>> {
        if !self.prefetcher.is_on() {
            return self.fetch(missing);
        }
        for missing in missing {
            if let Table::Lists(list) = missing.table {
                self.note_list(list);
            }
        }
        let mut rest: Vec<Missing> = missing.to_vec();
        let flows = self.is_due();
        let blocks = self.choose_blocks(&mut rest, flows);
        let next = if flows { self.next_blocks(&blocks) } else { Vec::new() };
        let pieces = if !blocks.is_empty() || !next.is_empty() {
            self.fetch_blocks(&blocks, &rest, next)?
        } else if let Some(pieces) = self.fetch_on_course(missing)? {
            pieces
        } else if let Some(depth) = self.depth_of(missing) {
            self.fetch_within(missing, depth)?
        } else {
            self.fetch(missing)?
        };
        self.learn_lengths(&pieces);
        self.note_rim(&pieces);
        Ok(pieces)
    }

    /// Blocks around what is missing, which is taken from `rest` where it lies in them; none but those that hold it if what
    /// comes next on a course is asked for besides.
    fn choose_blocks(&self, rest: &mut Vec<Missing>, flows: bool) -> Vec<Blocks> {
        let prefetcher = &self.prefetcher;
        let mut kinds: Vec<usize> = rest.iter().filter_map(|missing| self.near_kind(missing.table)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let mut chosen = Vec::new();
        for kind in kinds {
            let Some(dimensions) = prefetcher.dimensions(kind) else { continue };
            let dimensions = dimensions.to_vec();
            let (mut places, mut guesses, mut known) = (Vec::new(), Vec::new(), Vec::new());
            for (at, missing) in rest.iter().enumerate().filter(|(_, m)| self.near_kind(m.table) == Some(kind)) {
                let found = self.cache_of(kind).places_of(kind, &missing.keys, &dimensions);
                let foresight = self.foresight();
                for (key, place) in missing.keys.iter().zip(found) {
                    match place {
                        Some(place) => {
                            places.push(place);
                            known.push((at, *key, place));
                        }
                        None => guesses.extend(foresight.met.get(&(kind, *key)).copied()),
                    }
                }
            }
            let due = self.foresight().due.get(&kind).cloned().unwrap_or_default();
            let due: Vec<Sides> =
                self.cache_of(kind).places_of(kind, &due, &dimensions).into_iter().flatten().collect();
            let (cells, boxes) = {
                let mut foresight = self.foresight();
                let more = match foresight.floods.get_mut(&kind) {
                    Some(_) if flows => More::Nothing,
                    Some(flood) => More::Course(flood),
                    None => More::Around(&due),
                };
                prefetcher.cells(kind, (&places, &guesses), (more, &[]), self.usage(), self.since_ns)
            };
            let mut properties = self.shared.hot.add(kind, &dimensions);
            properties.dedup();
            // Kinds that can only be asked by key are not in the blocks.
            known.retain(|(at, ..)| match rest[*at].table {
                Table::Lists(list) => !is_by_key(&self.shared.layout.definition.edges[list.edge].rows),
                Table::Nodes(_) => true,
            });
            let blocks = Blocks { kind, cells, dimensions, boxes, properties };
            let mut covered: Vec<Vec<u64>> = vec![Vec::new(); rest.len()];
            for (at, key, place) in known {
                if blocks.holds(&place) {
                    covered[at].push(key);
                } else {
                    prefetcher.note_miss(kind, &place);
                }
            }
            for (missing, covered) in rest.iter_mut().zip(covered) {
                missing.keys.retain(|key| covered.binary_search(key).is_err());
            }
            if !blocks.boxes.is_empty() {
                chosen.push(blocks);
            }
        }
        rest.retain(|missing| !missing.keys.is_empty());
        chosen
    }

    /// Asks for blocks, and for the rest by keys; and sends, in the same round trip, the next blocks on a course.
    fn fetch_blocks(&self, blocks: &[Blocks], rest: &[Missing], next: Vec<Blocks>) -> Result<Vec<Arc<Piece>>> {
        let columns: Vec<Column> = rest.iter().map(|missing| self.key_column(missing)).collect();
        let mut asked: Vec<(Asked<'_>, Which<'_>)> =
            rest.iter().zip(&columns).map(|(missing, keys)| (Asked::of(missing), Which::Keys(keys))).collect();
        let lists = self.hot_lists();
        asked.extend(self.asked_of(blocks, &lists));
        let at_ns = self.shared.environment.clock.now_ns();
        let others = self.asked_of(&next, &lists);
        let (pieces, is_sent) = self.ask_rows_and_send(&asked, &others)?;
        let rows = self.note_blocks(blocks, &pieces, at_ns);
        if is_sent {
            drop(others);
            self.foresight().sent = Some(SentAhead { what: WhatIsSent::Blocks(next, lists), at_ns });
        } else {
            self.note_arrival(rows);
        }
        Ok(pieces)
    }

    /// The requests for blocks: for their nodes, and for these lists of theirs.
    pub(super) fn asked_of<'b>(
        &self,
        blocks: &'b [Blocks],
        lists: &'b [(ListKind, Vec<usize>)],
    ) -> Vec<(Asked<'b>, Which<'b>)> {
        let mut asked = Vec::new();
        for block in blocks {
            let which = || Which::Boxes { properties: &block.dimensions, boxes: &block.boxes };
            let of = |table, properties| Asked { table, properties, keys: &[], origin: Origin::Ahead };
            asked.push((of(Table::Nodes(block.kind), block.properties.as_slice()), which()));
            for (list, properties) in lists {
                let is_by_key = is_by_key(&self.shared.layout.definition.edges[list.edge].rows);
                if self.near_kind(Table::Lists(*list)) == Some(block.kind) && !is_by_key {
                    asked.push((of(Table::Lists(*list), properties.as_slice()), which()));
                }
            }
        }
        asked
    }

    /// Notes what blocks held: how many rows.
    pub(super) fn note_blocks(&self, blocks: &[Blocks], pieces: &[Arc<Piece>], at_ns: u64) -> u64 {
        let mut all = 0;
        for block in blocks {
            let of_kind = |piece: &&Arc<Piece>| piece.origin == Origin::Ahead && self.is_at(piece.table, block.kind);
            let rows = pieces.iter().filter(of_kind).map(|piece| piece.row_count()).sum();
            self.prefetcher.note_cells(block.kind, &block.cells, rows, at_ns);
            all += rows;
        }
        all
    }

    /// Notes that `rows` rows were fetched ahead just now, which are kept already: the source is sent more to work on
    /// when a part of them was used; at once, if the search used nearly all that came before, so that it is the source
    /// that is waited for.
    pub(super) fn note_arrival(&self, rows: u64) {
        let Use { used, unused, .. } = self.usage();
        let before = unused.saturating_sub(rows);
        let is_waited_for = before <= rows || before <= used / LEFT_SHARE;
        self.foresight().used_next = match rows {
            // There is nothing more on this course.
            0 => u64::MAX,
            _ if is_waited_for => used,
            _ => used + rows / USED_SHARE,
        };
    }

    /// True if a table has nodes of a kind, or lists of theirs.
    fn is_at(&self, table: usize, kind: usize) -> bool {
        let layout = &self.shared.layout;
        match table.checked_sub(layout.nodes.len()) {
            None => table == kind,
            Some(list) => layout.ends(ListKind { edge: list / 2, is_reverse: list % 2 == 1 }).0 == kind,
        }
    }

    /// The lists that this view was asked for, with the properties to fetch.
    pub(super) fn hot_lists(&self) -> Vec<(ListKind, Vec<usize>)> {
        let lists = self.foresight().lists.clone();
        lists.into_iter().map(|list| (list, self.shared.hot.add(self.table(Table::Lists(list)), &[]))).collect()
    }

    /// The depth to which edges are followed from missing nodes. Where near nodes are fetched in blocks that is of no
    /// use, but to learn how long edges are.
    fn depth_of(&self, missing: &[Missing]) -> Option<Depth> {
        let starts = missing.iter().map(|missing| missing.keys.len()).sum();
        let has_places = |missing: &Missing| {
            self.near_kind(missing.table).is_some_and(|kind| self.prefetcher.dimensions(kind).is_some())
        };
        if missing.iter().any(has_places) {
            return self.prefetcher.probe(starts);
        }
        self.prefetcher.depth(starts, self.usage())
    }

    /// True if edges can be followed by the source itself.
    pub(super) fn is_local(&self, list: ListKind) -> bool {
        let layout = &self.shared.layout;
        let (near, far) = layout.ends(list);
        let rows = &layout.definition.edges[list.edge].rows;
        // Keys without reverse ones lead one way only.
        let is_one_way = matches!(rows, Rows::Keys(keys) if keys.reverse.is_none());
        let has_way = !is_one_way || list.direction() == Direction::Out;
        !layout.is_foreign(near) && !layout.is_foreign(far) && !is_by_key(rows) && has_way
    }

    /// Asks for nodes that can be reached from what is missing, and their edges.
    fn fetch_within(&self, missing: &[Missing], depth: Depth) -> Result<Vec<Arc<Piece>>> {
        let layout = &self.shared.layout;
        let is_local = |list: &ListKind| self.is_local(*list);
        let mut lists = self.hot_lists();
        lists.retain(|(list, _)| is_local(list));
        // Those that are missing come first, then those that begin at the same nodes.
        let is_start = |list: &ListKind| {
            let near = layout.ends(*list).0;
            missing.iter().any(|missing| self.near_kind(missing.table) == Some(near))
        };
        let is_missing = |list: &ListKind| missing.iter().any(|missing| missing.table == Table::Lists(*list));
        lists.sort_by_key(|(list, _)| (!is_missing(list), !is_start(list)));
        lists.truncate(self.prefetcher.lists_at_once());
        let along: Vec<(usize, Direction)> = lists.iter().map(|(list, _)| (list.edge, list.direction())).collect();
        let mut starts: Vec<(usize, Vec<u64>)> = Vec::new();
        for missing in missing {
            let Some(kind) = self.near_kind(missing.table) else { continue };
            match starts.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, keys)) => keys.extend_from_slice(&missing.keys),
                None => starts.push((kind, missing.keys.clone())),
            }
        }
        starts.iter_mut().for_each(|(_, keys)| {
            keys.sort_unstable();
            keys.dedup();
        });
        let kinds = self.reached_kinds(missing, &lists);
        if along.is_empty() || starts.is_empty() || depth.lists == 0 && kinds.is_empty() {
            return self.fetch(missing);
        }
        let key_columns: Vec<(usize, Column)> =
            starts.iter().map(|(kind, keys)| (*kind, self.shared.keys.decode(*kind, keys))).collect();
        let limit = depth.limit + starts.iter().map(|(_, keys)| keys.len() as u64).sum::<u64>();
        let within = |depth: u32| Which::Within { starts: &key_columns, along: &along, depth, limit };
        let starts_of =
            |kind: usize| starts.iter().find(|(other, _)| *other == kind).map_or(&[][..], |(_, keys)| keys.as_slice());
        let columns: Vec<Column> = missing.iter().map(|missing| self.key_column(missing)).collect();
        let mut asked: Vec<(Asked<'_>, Which<'_>)> = Vec::new();
        for (missing, keys) in missing.iter().zip(&columns) {
            let is_reached = match missing.table {
                Table::Nodes(kind) => kinds.iter().any(|(other, _)| *other == kind),
                Table::Lists(list) => depth.lists > 0 && lists.iter().any(|(other, _)| *other == list),
            };
            if !is_reached {
                asked.push((Asked::of(missing), Which::Keys(keys)));
            }
        }
        if depth.lists > 0 {
            for (list, properties) in &lists {
                let keys = starts_of(layout.ends(*list).0);
                let table = Table::Lists(*list);
                asked.push((Asked { table, properties, keys, origin: Origin::Ahead }, within(depth.lists)));
            }
        }
        for (kind, properties) in &kinds {
            let (table, keys) = (Table::Nodes(*kind), starts_of(*kind));
            asked.push((Asked { table, properties, keys, origin: Origin::Ahead }, within(depth.nodes)));
        }
        self.ask_rows(&asked)
    }

    /// The kinds of nodes that are missing, or that lists lead to and are of use.
    fn reached_kinds(&self, missing: &[Missing], lists: &[(ListKind, Vec<usize>)]) -> Vec<(usize, Vec<usize>)> {
        let layout = &self.shared.layout;
        let mut kinds: Vec<usize> = Vec::new();
        for missing in missing {
            if let Table::Nodes(kind) = missing.table {
                kinds.push(kind);
            }
        }
        for (list, _) in lists {
            let far = layout.ends(*list).1;
            if !layout.has_sure_ends(*list) || self.shared.hot.is_wanted(far) {
                kinds.push(far);
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds.retain(|&kind| !is_by_key(&layout.definition.nodes[kind].rows));
        kinds.into_iter().map(|kind| (kind, self.shared.hot.add(kind, &[]))).collect()
    }

    /// Remembers where nodes were met that are not in the cache, since they are near.
    pub(super) fn note_met(&self, list: ListKind, keys: &[u64], found: &Found) {
        let (near, far) = self.shared.layout.ends(list);
        let Some(dimensions) = self.prefetcher.dimensions(near).filter(|_| near == far) else { return };
        let mut unknown = Vec::new();
        for (&key, &place) in keys.iter().zip(&found.places) {
            let piece = found.piece(place);
            if piece.note_known(place.1 as usize)
                && let Some(lists) = &piece.lists
            {
                unknown.extend(lists.range(place.1 as usize).map(|edge| (lists.far.get(edge), key)));
            }
        }
        if unknown.is_empty() {
            return;
        }
        let (fars, nears): (Vec<u64>, Vec<u64>) = unknown.into_iter().unzip();
        let known = self.cache_of(far).places_of(far, &fars, dimensions);
        let places = self.cache_of(near).places_of(near, &nears, dimensions);
        let mut foresight = self.foresight();
        if foresight.met.len() > MET_MAX {
            foresight.met.clear();
        }
        for ((far_key, known), place) in fars.into_iter().zip(known).zip(places) {
            match (known, place) {
                (None, Some(place)) => {
                    foresight.met.insert((far, far_key), place);
                }
                (Some(known), Some(place)) if self.prefetcher.wants_lengths(near) => {
                    self.prefetcher.note_length(near, &place, &known);
                }
                _ => {}
            }
        }
    }

    /// Learns how long edges are from nodes that were met and now fetched.
    fn learn_lengths(&self, pieces: &[Arc<Piece>]) {
        let layout = &self.shared.layout;
        for piece in pieces.iter().filter(|piece| piece.table < layout.nodes.len()) {
            let kind = piece.table;
            let Some(dimensions) = self.prefetcher.dimensions(kind) else { continue };
            let mut foresight = self.foresight();
            if foresight.met.is_empty() {
                continue;
            }
            for (row, &key) in piece.keys.iter().enumerate() {
                if let Some(from) = foresight.met.remove(&(kind, key))
                    && let Some(to) = piece.sides(row, dimensions)
                {
                    self.prefetcher.note_length(kind, &from, &to);
                }
            }
        }
    }
}

/// True if rows can be asked for by key only.
fn is_by_key(rows: &Rows) -> bool {
    matches!(rows, Rows::ByKey { .. })
}
