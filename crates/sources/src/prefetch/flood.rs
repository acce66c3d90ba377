//! Cells in the order in which a search over places will come to them, from the cell where it begins.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::{Course, Set};

use super::cells::{Cell, DIMENSIONS_MAX, Sides, each_neighbor};

/// The cells that lie on a search's course.
#[derive(Debug)]
pub(crate) struct Flood {
    course: Course,
    /// The number of the coordinate that is the latitude, and of the one that is the longitude.
    axes: [usize; 2],
    /// The side of the cells that it was begun with.
    size: f64,
    seen: Set<Cell>,
    /// Cells beside those given out, with their places in the order, whose bits sort as the numbers do.
    border: BinaryHeap<(Reverse<u64>, Cell)>,
}

impl Flood {
    pub(crate) fn new(course: Course, axes: [usize; 2]) -> Flood {
        Flood { course, axes, size: 0.0, seen: Set::default(), border: BinaryHeap::new() }
    }

    /// Begins with cells of this size, if it did not before.
    pub(super) fn begin(&mut self, size: f64) {
        if self.size == size {
            return;
        }
        self.size = size;
        self.seen.clear();
        self.border.clear();
        let mut first: Cell = [0; DIMENSIONS_MAX];
        for (axis, at) in self.axes.into_iter().zip(self.course.from) {
            first[axis] = (at / size).floor() as i64;
        }
        self.add(first);
    }

    /// The next cell; each once.
    pub(super) fn next(&mut self) -> Option<Cell> {
        let (_, cell) = self.border.pop()?;
        each_neighbor(&cell, 2, |neighbor| self.add(neighbor));
        Some(cell)
    }

    fn add(&mut self, cell: Cell) {
        if self.seen.insert(cell) {
            let middle: Sides = cell.map(|number| (number as f64 + 0.5) * self.size);
            let [latitude, longitude] = self.axes.map(|axis| middle[axis]);
            let order = self.course.order_at(latitude, longitude);
            // Around the poles and beyond there are no places.
            if latitude.abs() <= 90.0 + self.size && longitude.abs() <= 360.0 && order.is_finite() {
                self.border.push((Reverse(order.max(0.0).to_bits()), cell));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{Course, PropertyKeyId};

    use super::Flood;

    #[test]
    fn cells_come_from_the_beginning_to_the_end() {
        let course = Course {
            properties: [PropertyKeyId(0), PropertyKeyId(1)],
            from: [45.05, 8.05],
            to: [45.05, 9.05],
            cost_per_km: 1.3,
            estimate_per_km: 1.0,
        };
        for axes in [[0, 1], [1, 0]] {
            let mut flood = Flood::new(course, axes);
            flood.begin(0.1);
            let cells: Vec<[i64; 2]> =
                (0..40).filter_map(|_| flood.next()).map(|cell| axes.map(|axis| cell[axis])).collect();
            assert_eq!(cells[0], [450, 80]);
            let goal = cells.iter().position(|cell| *cell == [450, 90]).unwrap();
            assert!((10..40).contains(&goal), "after {goal} cells");
            assert!(!cells.contains(&[450, 75]), "what lies behind comes later");
            let mut distinct = cells.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), cells.len());
        }
    }
}
