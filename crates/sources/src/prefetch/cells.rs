//! A grid over coordinates: which of its cells were fetched, which to fetch next, and boxes of them.

use model::{Map, Set};

use super::More;

/// Coordinates that one kind may have.
pub(super) const DIMENSIONS_MAX: usize = 3;
/// Coordinates of a node; those that there are not are 0.
pub(crate) type Sides = [f64; DIMENSIONS_MAX];
/// A cell by its number in each dimension.
pub(crate) type Cell = [i64; DIMENSIONS_MAX];

/// Rows that a cell of an adaptive grid should hold, and between which they may lie before the grid is drawn anew.
const ROWS: f64 = 256.0;
const ROWS_LEAST: f64 = 24.0;
const ROWS_MOST: f64 = 2048.0;
/// The side of the first cells, in lengths of edges.
const LENGTHS: f64 = 16.0;
/// Lengths of edges that are kept to know the usual one.
const LENGTHS_KEPT: usize = 64;
/// Rings of cells around those that are needed, at most.
const RINGS_MAX: usize = 64;
/// Cells that are fetched at a time, at most.
const CELLS_MAX: usize = 4096;
/// Cells of a search's course that are looked at at a time, at most.
const PASSED_MAX: usize = 1 << 16;
/// Cells that are remembered, at most.
const REMEMBERED_MAX: usize = 1 << 18;

/// A grid of one kind of nodes.
#[derive(Debug)]
pub(super) struct Grid {
    dimensions: usize,
    /// The side of a cell; 0 while it is not known.
    size: f64,
    /// When each cell was fetched.
    fetched: Map<Cell, u64>,
    /// Cells that were fetched with this size, and their rows.
    counted: (f64, f64),
    lengths: Vec<f64>,
}

impl Grid {
    pub(super) fn of_size(size: f64, dimensions: usize) -> Grid {
        let size = if size.is_finite() && size > 0.0 { size } else { 0.0 };
        Grid { dimensions, size, fetched: Map::default(), counted: (0.0, 0.0), lengths: Vec::new() }
    }

    pub(super) fn unknown(dimensions: usize) -> Grid {
        Grid::of_size(0.0, dimensions)
    }

    /// One whose cells hold rows as they should if half of all rows lie within each of these spans.
    pub(super) fn of_spans(spans: &[f64], rows: f64) -> Grid {
        let middle = rows * 0.5_f64.powi(spans.len() as i32);
        let volume: f64 = spans.iter().product();
        let size = (volume * ROWS / middle).powf(1.0 / spans.len().max(1) as f64);
        Grid::of_size(size, spans.len())
    }

    /// The same grid, with nothing fetched.
    pub(super) fn emptied(&self) -> Grid {
        let (fetched, lengths) = (Map::default(), self.lengths.clone());
        Grid { dimensions: self.dimensions, size: self.size, fetched, counted: self.counted, lengths }
    }

    /// True if nothing is known to draw it by.
    pub(super) fn is_unknown(&self) -> bool {
        self.size == 0.0 && self.lengths.is_empty()
    }

    pub(super) fn size(&self) -> f64 {
        self.size
    }

    fn cell(&self, place: &Sides) -> Option<Cell> {
        let mut cell = [0; DIMENSIONS_MAX];
        for (number, side) in cell.iter_mut().zip(place).take(self.dimensions) {
            let at = (side / self.size).floor();
            // Beyond this numbers of cells would not tell their borders apart.
            if at.is_nan() || at.abs() > 1e15 {
                return None;
            }
            *number = at as i64;
        }
        Some(cell)
    }

    /// The cells to fetch: those of these places; then, if the direction of a search is known, the next ones on it; or
    /// of those due soon, the first ones first, and around them all; as many as hold approximately `rows_max` rows.
    /// None that is taken.
    pub(super) fn choose(
        &mut self,
        places: &[Sides],
        (more, taken): (More<'_>, &[Cell]),
        rows_max: u64,
        since_ns: u64,
    ) -> Vec<Cell> {
        if self.size == 0.0 {
            self.guess_size();
        }
        if self.size == 0.0 {
            return Vec::new();
        }
        let is_fetched = |cell: &Cell| self.fetched.get(cell).is_some_and(|&at_ns| at_ns >= since_ns);
        let mut seen: Set<Cell> = taken.iter().copied().collect();
        let mut ring: Vec<Cell> = places.iter().filter_map(|place| self.cell(place)).collect();
        ring.retain(|cell| seen.insert(*cell));
        let mut chosen: Vec<Cell> = ring.iter().filter(|cell| !is_fetched(cell)).copied().collect();
        let cells_max = ((rows_max as f64 / self.rows_of_a_cell()) as usize).min(CELLS_MAX);
        match more {
            More::Nothing => {}
            More::Course(flood) => {
                flood.begin(self.size);
                let mut passed = 0;
                while chosen.len() < cells_max
                    && passed < PASSED_MAX
                    && let Some(cell) = flood.next()
                {
                    passed += 1;
                    if !is_fetched(&cell) && seen.insert(cell) {
                        chosen.push(cell);
                    }
                }
            }
            More::Around(due) => self.choose_around((ring, due), (&mut chosen, seen), cells_max, is_fetched),
        }
        chosen.truncate(CELLS_MAX);
        chosen
    }

    /// Adds the cells of what is due soon, and those around them and around a first ring.
    fn choose_around(
        &self,
        (mut ring, due): (Vec<Cell>, &[Sides]),
        (chosen, mut seen): (&mut Vec<Cell>, Set<Cell>),
        cells_max: usize,
        is_fetched: impl Fn(&Cell) -> bool,
    ) {
        for cell in due.iter().filter_map(|place| self.cell(place)) {
            if seen.insert(cell) {
                ring.push(cell);
                if !is_fetched(&cell) && chosen.len() < cells_max {
                    chosen.push(cell);
                }
            }
        }
        if chosen.is_empty() && due.is_empty() {
            return;
        }
        for _ in 0..RINGS_MAX {
            let mut next = Vec::new();
            for cell in &ring {
                each_neighbor(cell, self.dimensions, |neighbor| {
                    if seen.insert(neighbor) {
                        next.push(neighbor);
                    }
                });
            }
            let fresh: Vec<Cell> = next.iter().filter(|cell| !is_fetched(cell)).copied().collect();
            if chosen.len() + fresh.len() > cells_max {
                // Of nodes that will be asked for the order is known in which they will be.
                let room = if due.is_empty() { 0 } else { cells_max.saturating_sub(chosen.len()) };
                chosen.extend(fresh.into_iter().take(room));
                break;
            }
            chosen.extend(fresh);
            ring = next;
        }
    }

    /// A place in the cell nearest to this one that was not fetched, itself or one next to it.
    pub(super) fn nearest(&self, place: &Sides, since_ns: u64) -> Option<Sides> {
        if self.size == 0.0 {
            return None;
        }
        let mut nearest: Option<(f64, Sides)> = None;
        each_neighbor(&self.cell(place)?, self.dimensions, |cell| {
            if self.fetched.get(&cell).is_some_and(|&at_ns| at_ns >= since_ns) {
                return;
            }
            let mut middle = [0.0; DIMENSIONS_MAX];
            let mut distance: f64 = 0.0;
            for at in 0..self.dimensions {
                middle[at] = (cell[at] as f64 + 0.5) * self.size;
                distance = distance.max((place[at] - middle[at]).abs() - self.size / 2.0);
            }
            if nearest.is_none_or(|(other, _)| distance < other) {
                nearest = Some((distance, middle));
            }
        });
        nearest.map(|(_, middle)| middle)
    }

    fn rows_of_a_cell(&self) -> f64 {
        if self.counted.0 > 0.0 { (self.counted.1 / self.counted.0).max(1.0) } else { ROWS }
    }

    fn guess_size(&mut self) {
        if !self.lengths.is_empty() {
            let mut lengths = self.lengths.clone();
            lengths.sort_by(f64::total_cmp);
            self.size = LENGTHS * lengths[lengths.len() / 2];
        }
    }

    /// Notes the distance, along the dimension where it is largest, between two joined nodes.
    pub(super) fn note_length(&mut self, from: &Sides, to: &Sides) {
        let sides = from.iter().zip(to).map(|(a, b)| (a - b).abs());
        let length = sides.fold(0.0, f64::max);
        if length > 0.0 && length.is_finite() && self.lengths.len() < LENGTHS_KEPT {
            self.lengths.push(length);
        }
    }

    /// Notes that cells were fetched; an adaptive grid is drawn anew if they hold too few rows, or too many.
    pub(super) fn note(&mut self, cells: &[Cell], rows: u64, at_ns: u64, is_adaptive: bool) {
        if self.fetched.len() + cells.len() > REMEMBERED_MAX {
            self.fetched.clear();
        }
        self.fetched.extend(cells.iter().map(|&cell| (cell, at_ns)));
        self.counted.0 += cells.len() as f64;
        self.counted.1 += rows as f64;
        let rows = self.counted.1 / self.counted.0.max(1.0);
        let is_known = self.counted.0 >= 4.0 || self.counted.1 > ROWS_MOST;
        if is_adaptive && is_known && !(ROWS_LEAST..=ROWS_MOST).contains(&rows) {
            let side = (ROWS / rows.max(0.5)).powf(1.0 / self.dimensions as f64);
            self.size *= side.clamp(0.05, 20.0);
            self.counted = (0.0, 0.0);
            self.fetched.clear();
        }
    }

    /// Forgets that the cell of a place was fetched.
    pub(super) fn forget(&mut self, place: &Sides) {
        if self.size > 0.0
            && let Some(cell) = self.cell(place)
        {
            self.fetched.remove(&cell);
        }
    }

    pub(super) fn forget_all(&mut self) {
        self.fetched.clear();
    }

    /// As few boxes as may be, with little effort, that hold just these cells.
    pub(super) fn boxes(&self, cells: &[Cell]) -> Vec<Vec<(f64, f64)>> {
        let mut cells = cells.to_vec();
        let mut boxes: Vec<(Cell, Cell)> = Vec::new();
        cells.sort_unstable();
        boxes.extend(cells.into_iter().map(|cell| (cell, cell)));
        for dimension in (0..self.dimensions).rev() {
            boxes.sort_unstable_by_key(|(low, high)| {
                let mut key = (*low, *high);
                (key.0[dimension], key.1[dimension]) = (0, 0);
                (key, low[dimension])
            });
            let mut merged: Vec<(Cell, Cell)> = Vec::new();
            for (low, high) in boxes {
                match merged.last_mut() {
                    Some(last) if can_join(last, &low, &high, dimension) => last.1[dimension] = high[dimension],
                    _ => merged.push((low, high)),
                }
            }
            boxes = merged;
        }
        let sides = |(low, high): (Cell, Cell)| {
            let side = |at: usize| (low[at] as f64 * self.size, ((high[at] + 1) as f64 * self.size).next_down());
            (0..self.dimensions).map(side).collect()
        };
        boxes.into_iter().map(sides).collect()
    }
}

/// Visits a cell and those that touch it.
pub(super) fn each_neighbor(cell: &Cell, dimensions: usize, mut visit: impl FnMut(Cell)) {
    let steps = 3_usize.pow(dimensions as u32);
    for step in 0..steps {
        let (mut neighbor, mut rest) = (*cell, step);
        for number in neighbor.iter_mut().take(dimensions) {
            *number += (rest % 3) as i64 - 1;
            rest /= 3;
        }
        visit(neighbor);
    }
}

/// True if a box begins where another ends, with the same borders in all other dimensions.
fn can_join(last: &(Cell, Cell), low: &Cell, high: &Cell, dimension: usize) -> bool {
    let is_same = |at: usize| at == dimension || last.0[at] == low[at] && last.1[at] == high[at];
    (0..DIMENSIONS_MAX).all(is_same) && last.1[dimension] + 1 == low[dimension]
}

#[cfg(test)]
mod tests {
    use testing::random::{SeededRandom, seed_or};

    use super::{Grid, More, Sides};

    #[test]
    fn boxes_hold_just_their_cells() {
        let seed = seed_or(2);
        let mut random = SeededRandom::new(seed);
        for dimensions in [1, 2, 3] {
            let grid = Grid::of_size(0.25, dimensions);
            let place = |random: &mut SeededRandom| -> Sides {
                std::array::from_fn(|at| if at < dimensions { random.unit() * 4.0 - 2.0 } else { 0.0 })
            };
            let places: Vec<Sides> = (0..60).map(|_| place(&mut random)).collect();
            let mut cells: Vec<_> = places.iter().filter_map(|place| grid.cell(place)).collect();
            cells.sort_unstable();
            cells.dedup();
            let boxes = grid.boxes(&cells);
            assert!(boxes.len() <= cells.len());
            for _ in 0..2_000 {
                let place = place(&mut random);
                let count = boxes
                    .iter()
                    .filter(|sides| sides.iter().zip(place).all(|(&(low, high), at)| (low..=high).contains(&at)))
                    .count();
                let expected = usize::from(cells.contains(&grid.cell(&place).unwrap()));
                assert_eq!(count, expected, "seed {seed}: {place:?} in {boxes:?}");
            }
        }
    }

    #[test]
    fn a_square_is_one_box() {
        let grid = Grid::of_size(1.0, 2);
        let cells: Vec<_> = (0..9).map(|cell| [cell / 3, cell % 3, 0]).collect();
        assert_eq!(grid.boxes(&cells).len(), 1);
    }

    #[test]
    fn no_cell_is_fetched_twice() {
        let mut grid = Grid::of_size(1.0, 2);
        let first = grid.choose(&[[0.5, 0.5, 0.0], [0.6, 0.1, 0.0]], (More::Around(&[]), &[]), 0, 0);
        assert_eq!(first, [[0, 0, 0]]);
        grid.note(&first, 10, 5, false);
        assert!(grid.choose(&[[0.9, 0.9, 0.0]], (More::Around(&[]), &[]), 1_000, 5).is_empty());
        assert_eq!(
            grid.choose(&[[0.9, 0.9, 0.0]], (More::Around(&[]), &[]), 0, 6),
            first,
            "what is too old is fetched again"
        );
        let more = grid.choose(&[[1.5, 0.5, 0.0]], (More::Around(&[]), &[]), 90, 0);
        assert_eq!(more.len(), 8, "a ring around the cell, but for that which is there");
    }

    #[test]
    fn what_was_asked_for_already_is_passed_over() {
        let mut grid = Grid::of_size(1.0, 2);
        assert_eq!(grid.choose(&[[0.5, 0.5, 0.0]], (More::Nothing, &[]), 0, 0), [[0, 0, 0]]);
        assert!(grid.choose(&[[0.5, 0.5, 0.0]], (More::Nothing, &[[0, 0, 0]]), 0, 0).is_empty());
    }

    #[test]
    fn cells_that_are_due_come_before_those_around() {
        let mut grid = Grid::of_size(1.0, 2);
        grid.note(&[[0, 0, 0]], 10, 5, false);
        let chosen = grid.choose(&[[5.5, 5.5, 0.0]], (More::Around(&[[0.5, 0.5, 0.0], [9.5, 0.5, 0.0]]), &[]), 45, 0);
        assert_eq!(chosen[..2], [[5, 5, 0], [9, 0, 0]]);
        assert_eq!(chosen.len(), 4, "as many of the ring as there is room for");
        assert_eq!(
            grid.choose(&[], (More::Around(&[[0.5, 0.5, 0.0]]), &[]), 80, 0).len(),
            8,
            "what lies around what is there"
        );
    }

    #[test]
    fn a_grid_is_drawn_by_what_its_cells_hold() {
        let mut grid = Grid::unknown(2);
        assert!(grid.choose(&[[0.0; 3]], (More::Around(&[]), &[]), 10, 0).is_empty());
        grid.note_length(&[0.0, 0.0, 0.0], &[0.001, 0.002, 0.0]);
        let cells = grid.choose(&[[0.0; 3]], (More::Around(&[]), &[]), 0, 0);
        assert_eq!((cells.len(), grid.size()), (1, 0.032));
        grid.note(&cells, 10_000, 1, true);
        assert!(grid.size() < 0.01, "{}", grid.size());
    }
}
