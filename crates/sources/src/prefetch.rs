//! The choice of the rows to fetch along with those that are asked for: none, those that can be reached over few edges,
//! or those that lie near.
//!
//! Adaptive is the default. It fetches near nodes where an index finds nodes by two coordinates, else those that can be
//! reached where the source can follow edges by itself, else nothing. The amount follows from use: no more rows may lie
//! unused than were used, and as many as are sent in the time of a round trip. So a prefetch that is of no use stops by
//! itself, and one that is of use grows with the search.
//!
//! Invariant: rows fetched ahead only fill the cache; a question is answered from them as if they had been asked for.
//! After: Yoneki, Roy, "A unified graph query layer for multiple databases", 2012, section 7.

mod cells;
mod cost;
mod flood;

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::Map;

use crate::check::relational::cannot_prefetch;
use crate::connector::{Abilities, KindFacts};
use crate::definition::{GraphDefinition, NodeKind, Prefetch, Rows};

use self::cells::Grid;
pub(crate) use self::cells::{Cell, Sides};
use self::cost::Cost;
pub(crate) use self::flood::Flood;

/// Nodes that are reached over edges in one go, at most.
const LOOKAHEAD_NODES_MAX: u64 = 1 << 17;
/// Most edges that an adaptive lookahead goes.
const DEPTH_MAX: u32 = 8;
/// Nodes whose neighbors are fetched to learn how long edges are, at most.
const PROBE_MAX: usize = 64;
/// Edges whose far nodes' lists may be asked for that are remembered, at most.
const RIM_MAX: usize = 1 << 20;
/// Edges of a node, where nothing is known of them.
const DEGREE: f64 = 3.0;

/// The facts learned from one view to the next.
pub(crate) struct Prefetcher {
    mode: Prefetch,
    abilities: Abilities,
    /// For each kind of nodes, the properties that are its coordinates.
    dimensions: Vec<Option<Vec<usize>>>,
    degree: f64,
    /// Why nothing can be fetched ahead, though it is asked for.
    idle: Option<&'static str>,
    state: Mutex<State>,
}

struct State {
    grids: Map<usize, Grid>,
    cost: Cost,
    last: String,
    /// For tables of lists, edges by the keys of their ends: of the near nodes lists were fetched, of some far ones not.
    rims: Map<usize, Vec<(u64, u64)>>,
}

/// The figures that decide on the number of rows that may be fetched now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Use {
    /// Rows that were used since the view began.
    pub(crate) used: u64,
    /// Rows that were fetched ahead since then, and not used.
    pub(crate) unused: u64,
    /// Rows that the cache has room for, without what is used being dropped.
    pub(crate) room: u64,
}

/// The depth to which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Depth {
    /// Number of edges within which the lists of nodes are fetched.
    pub(crate) lists: u32,
    /// Number of edges within which nodes are fetched.
    pub(crate) nodes: u32,
    /// Nodes at most.
    pub(crate) limit: u64,
}

/// The rows that are fetched beside the cells of nodes that are missing.
pub(crate) enum More<'a> {
    /// Nothing.
    Nothing,
    /// Those around nodes that are due to be asked for soon, and around those that are missing.
    Around(&'a [Sides]),
    /// Those that a search comes to next.
    Course(&'a mut Flood),
}

impl Prefetcher {
    pub(crate) fn new(
        definition: &GraphDefinition,
        abilities: Abilities,
        nodes: &[KindFacts],
        edges: &[KindFacts],
    ) -> Prefetcher {
        let mode = definition.prefetch.clone();
        let kinds = definition.nodes.iter().zip(nodes);
        let dimensions: Vec<Option<Vec<usize>>> =
            kinds.map(|(kind, facts)| dimensions(&mode, abilities, kind, facts)).collect();
        let rows = |facts: &[KindFacts]| facts.iter().map(|facts| facts.rows).sum::<u64>() as f64;
        let degree = if rows(nodes) > 0.0 { (rows(edges) / rows(nodes)).clamp(0.1, 1e6) } else { DEGREE };
        let mut grids = Map::default();
        for (kind, (facts, dimensions)) in nodes.iter().zip(&dimensions).enumerate() {
            let Some(dimensions) = dimensions.as_ref().filter(|_| mode == Prefetch::Adaptive) else { continue };
            let span = |property: &usize| Some(facts.spans.iter().find(|(other, _)| other == property)?.1);
            let spans: Option<Vec<f64>> = dimensions.iter().map(span).collect();
            if let Some(spans) = spans.filter(|spans| facts.rows > 0 && spans.iter().all(|span| *span > 0.0)) {
                grids.insert(kind, Grid::of_spans(&spans, facts.rows as f64 * (1.0 + degree)));
            }
        }
        let state = State { grids, cost: Cost::default(), last: "nothing so far".to_owned(), rims: Map::default() };
        let idle = cannot_prefetch(definition);
        Prefetcher { mode, abilities, dimensions, degree, idle, state: Mutex::new(state) }
    }

    /// One for a cache of its own: it knows what this one has learned, and of nothing that was fetched.
    pub(crate) fn fork(&self) -> Prefetcher {
        let state = self.state();
        let grids = state.grids.iter().map(|(&kind, grid)| (kind, grid.emptied())).collect();
        let state = State { grids, cost: state.cost, last: state.last.clone(), rims: Map::default() };
        Prefetcher {
            mode: self.mode.clone(),
            abilities: self.abilities,
            dimensions: self.dimensions.clone(),
            degree: self.degree,
            idle: self.idle,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if anything is ever fetched ahead.
    pub(crate) fn is_on(&self) -> bool {
        self.mode != Prefetch::None
    }

    /// The properties that are the coordinates of a kind of nodes, if near ones are fetched.
    pub(crate) fn dimensions(&self, kind: usize) -> Option<&[usize]> {
        self.dimensions.get(kind)?.as_deref()
    }

    /// The present way of fetching ahead, in words.
    pub(crate) fn describe(&self) -> String {
        let mode = match &self.mode {
            Prefetch::None => return "none".to_owned(),
            Prefetch::Lookahead(depth) => format!("lookahead({depth})"),
            Prefetch::Block { size, .. } => format!("block({size})"),
            Prefetch::Adaptive => "adaptive".to_owned(),
        };
        match self.idle {
            Some(reason) => format!("{mode}: nothing: {reason}"),
            None if matches!(self.mode, Prefetch::Lookahead(_)) => mode,
            None => format!("{mode}: {}", self.state().last),
        }
    }

    /// The cells to fetch for nodes at these places and beside them, and their boxes; none if nothing is to be fetched there.
    ///
    /// Of some nodes the place is not known, but one near it. Cells that are `taken` were asked for already.
    pub(crate) fn cells(
        &self,
        kind: usize,
        (places, guesses): (&[Sides], &[Sides]),
        (more, taken): (More<'_>, &[Cell]),
        usage: Use,
        since_ns: u64,
    ) -> (Vec<Cell>, Vec<Vec<(f64, f64)>>) {
        let Some(dimensions) = self.dimensions(kind) else { return Default::default() };
        let count = dimensions.len();
        let mut state = self.state();
        let is_adaptive = self.mode == Prefetch::Adaptive;
        let (rows_max, more) = match more {
            _ if !is_adaptive => (0, More::Nothing),
            More::Nothing => (0, More::Nothing),
            More::Course(flood) => (state.cost.budget_on_course(usage), More::Course(flood)),
            More::Around(due) => match state.cost.budget(usage) {
                0 => return Default::default(),
                rows => (rows, More::Around(due)),
            },
        };
        let grid = match &self.mode {
            Prefetch::Block { size, .. } => state.grids.entry(kind).or_insert_with(|| Grid::of_size(*size, count)),
            _ => state.grids.entry(kind).or_insert_with(|| Grid::unknown(count)),
        };
        let mut places = places.to_vec();
        places.extend(guesses.iter().filter_map(|place| grid.nearest(place, since_ns)));
        let cells = grid.choose(&places, (more, taken), rows_max, since_ns);
        let boxes = grid.boxes(&cells);
        if !cells.is_empty() {
            state.last = format!("{} blocks of {:.4} in {} boxes", cells.len(), state.grids[&kind].size(), boxes.len());
        }
        (cells, boxes)
    }

    /// Notes that cells were fetched, and what they held.
    pub(crate) fn note_cells(&self, kind: usize, cells: &[Cell], rows: u64, at_ns: u64) {
        let is_adaptive = self.mode == Prefetch::Adaptive;
        if let Some(grid) = self.state().grids.get_mut(&kind) {
            grid.note(cells, rows, at_ns, is_adaptive);
        }
    }

    /// Notes that a node at this place was missing.
    pub(crate) fn note_miss(&self, kind: usize, place: &Sides) {
        if let Some(grid) = self.state().grids.get_mut(&kind) {
            grid.forget(place);
        }
    }

    /// Forgets what was fetched of a kind.
    pub(crate) fn forget(&self, kind: usize) {
        let mut state = self.state();
        state.rims.clear();
        if let Some(grid) = state.grids.get_mut(&kind) {
            grid.forget_all();
        }
    }

    /// Kinds and ways of edges that one lookahead may follow.
    pub(crate) fn lists_at_once(&self) -> usize {
        self.abilities.lookahead_lists_max.unwrap_or(usize::MAX)
    }

    /// True if it learns the depth to which edges are followed.
    pub(crate) fn is_adaptive(&self) -> bool {
        self.mode == Prefetch::Adaptive
    }

    /// True if the source may be sent questions whose answers are not waited for.
    pub(crate) fn works_ahead(&self) -> bool {
        self.mode == Prefetch::Adaptive && self.abilities.sends
    }

    /// True if the source itself is asked to follow the courses of searches.
    pub(crate) fn follows_courses(&self) -> bool {
        self.mode == Prefetch::Adaptive && self.abilities.courses
    }

    /// Number of nodes beside those that are needed that may be followed on a course.
    pub(crate) fn nodes_on_course(&self, usage: Use) -> u64 {
        let mut state = self.state();
        let nodes = (state.cost.budget_on_course(usage) as f64 / (1.0 + self.degree)) as u64;
        state.last = format!("{nodes} nodes ahead on the course of a search");
        nodes
    }

    /// Notes edges whose near nodes' lists were fetched.
    pub(crate) fn add_rim(&self, table: usize, edges: Vec<(u64, u64)>) {
        let mut state = self.state();
        let rim = state.rims.entry(table).or_default();
        if rim.len() + edges.len() > RIM_MAX {
            rim.clear();
        }
        rim.extend(edges);
    }

    /// Those of the edges noted for a table whose far nodes' lists are not there.
    pub(crate) fn rim(&self, table: usize, are_there: impl FnOnce(usize, &[u64]) -> Vec<bool>) -> Vec<(u64, u64)> {
        let mut state = self.state();
        let Some(rim) = state.rims.get_mut(&table) else { return Vec::new() };
        let far: Vec<u64> = rim.iter().map(|(_, far)| *far).collect();
        let mut there = are_there(table, &far).into_iter();
        rim.retain(|_| there.next() == Some(false));
        rim.clone()
    }

    /// Notes how far apart two joined nodes are.
    pub(crate) fn note_length(&self, kind: usize, from: &Sides, to: &Sides) {
        let Some(dimensions) = self.dimensions(kind) else { return };
        let count = dimensions.len();
        if self.mode == Prefetch::Adaptive {
            self.state().grids.entry(kind).or_insert_with(|| Grid::unknown(count)).note_length(from, to);
        }
    }

    /// True if it is not known yet how long the edges of a kind are.
    pub(crate) fn wants_lengths(&self, kind: usize) -> bool {
        self.mode == Prefetch::Adaptive && self.state().grids.get(&kind).is_none_or(Grid::is_unknown)
    }

    /// The depth to which edges are followed to learn how long they are; `None` once that is known.
    pub(crate) fn probe(&self, starts: usize) -> Option<Depth> {
        let knows_all = (0..self.dimensions.len()).all(|k| self.dimensions(k).is_none() || !self.wants_lengths(k));
        let is_of_use =
            self.mode == Prefetch::Adaptive && self.abilities.lookahead && !knows_all && starts <= PROBE_MAX;
        is_of_use.then_some(Depth { lists: 0, nodes: 1, limit: 64 * PROBE_MAX as u64 })
    }

    /// Notes how long an answer took.
    pub(crate) fn note_answer(&self, rows: u64, ns: u64) {
        self.state().cost.note(rows, ns);
    }

    /// The depth to which edges are followed from `starts` nodes; `None` for not at all.
    pub(crate) fn depth(&self, starts: usize, usage: Use) -> Option<Depth> {
        match self.mode {
            Prefetch::Lookahead(0) | Prefetch::None | Prefetch::Block { .. } => None,
            Prefetch::Lookahead(depth) if self.abilities.lookahead => {
                Some(Depth { lists: depth, nodes: depth, limit: LOOKAHEAD_NODES_MAX })
            }
            Prefetch::Adaptive if self.abilities.lookahead => {
                let mut state = self.state();
                let budget = state.cost.budget(usage).min(LOOKAHEAD_NODES_MAX);
                let (mut depth, mut rows) = (0, starts as f64 * (1.0 + self.degree));
                while depth < DEPTH_MAX && rows <= budget as f64 {
                    depth += 1;
                    rows *= self.degree.max(1.2);
                }
                if depth == 0 {
                    return None;
                }
                state.last = format!("lookahead of {depth}");
                Some(Depth { lists: depth - 1, nodes: depth, limit: budget })
            }
            _ => None,
        }
    }
}

/// The properties by which near nodes of a kind are found.
fn dimensions(mode: &Prefetch, abilities: Abilities, kind: &NodeKind, facts: &KindFacts) -> Option<Vec<usize>> {
    let find = |name: &str| kind.properties.iter().position(|property| property.name.eq_ignore_ascii_case(name));
    match mode {
        _ if !abilities.boxes || matches!(kind.rows, Rows::ByKey { .. }) => None,
        Prefetch::None | Prefetch::Lookahead(_) => None,
        Prefetch::Block { properties, .. } if !properties.is_empty() => {
            let found: Option<Vec<usize>> = properties.iter().map(|name| find(name)).collect();
            found.filter(|found| found.len() <= cells::DIMENSIONS_MAX)
        }
        _ => {
            let named = COORDINATES.iter().find_map(|(a, b)| Some(vec![find(a)?, find(b)?]));
            let is_found = |pair: &Vec<usize>| {
                facts
                    .indexed
                    .iter()
                    .any(|index| index.len() >= 2 && pair.iter().all(|property| index.contains(property)))
            };
            let is_explicit = matches!(mode, Prefetch::Block { .. });
            named.filter(|pair| is_explicit || is_found(pair)).or_else(|| {
                // Of an index over two properties that are not the key, these may be coordinates under other names.
                let key = kind.properties.iter().position(|property| kind.key.contains(&property.column));
                let pair =
                    facts.indexed.iter().find(|index| index.len() == 2 && !index.iter().any(|p| Some(*p) == key));
                pair.filter(|_| is_explicit).cloned()
            })
        }
    }
}

/// The names of coordinates.
const COORDINATES: [(&str, &str); 8] = [
    ("lat", "lon"),
    ("lat", "long"),
    ("lat", "lng"),
    ("latitude", "longitude"),
    ("lat_f", "long_f"),
    ("y", "x"),
    ("x", "y"),
    ("northing", "easting"),
];
