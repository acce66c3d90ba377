//! Records kept of the nodes of each column.

use std::marker::PhantomData;
use std::ops::Range;

use model::error::Result;

use crate::scratch::plain::{Plain, place};
use crate::scratch::{Scratch, Spot};

/// The states of all nodes, column by column, with a mark for each node that the last iteration changed.
pub struct States<'a, S> {
    files: Vec<Scratch<'a>>,
    spots: Vec<Spot>,
    columns: Vec<u32>,
    kind: PhantomData<S>,
}

impl<'a, S: Plain> States<'a, S> {
    pub(super) fn new(files: Vec<Scratch<'a>>, spots: Vec<Spot>, columns: Vec<u32>) -> States<'a, S> {
        States { files, spots, columns, kind: PhantomData }
    }

    /// Of how many nodes there are states.
    pub fn len(&self) -> usize {
        self.columns.last().map_or(0, |&end| end as usize)
    }

    /// True without nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn nodes(&self, column: usize) -> Range<usize> {
        self.columns[column] as usize..self.columns[column + 1] as usize
    }

    /// The bytes of the states of a column.
    pub(super) fn read(&self, column: usize) -> Result<Vec<u8>> {
        let (file, start) = self.spots[column];
        let mut bytes = vec![0; self.nodes(column).len() * S::BYTES];
        self.files[file as usize].read_at(start, &mut bytes)?;
        Ok(bytes)
    }

    /// Adds the states and marks of some columns to those read before.
    pub(super) fn load(&self, columns: Range<usize>, states: &mut Vec<S>, marks: &mut Vec<u8>) -> Result<()> {
        for column in columns {
            let bytes = self.read(column)?;
            let count = self.nodes(column).len();
            states.extend((0..count).map(|at| S::read_from(&bytes[place::<S>(at)])));
            let (file, start) = self.spots[column];
            let from = marks.len();
            marks.resize(from + count, 0);
            self.files[file as usize].read_at(start + bytes.len() as u64, &mut marks[from..])?;
        }
        Ok(())
    }

    /// Gives each node, by number, with its state, without holding more than a part of them.
    pub fn each(&self, mut sink: impl FnMut(u32, S) -> Result<()>) -> Result<()> {
        for column in 0..self.spots.len() {
            let bytes = self.read(column)?;
            for (at, node) in self.nodes(column).enumerate() {
                sink(node as u32, S::read_from(&bytes[place::<S>(at)]))?;
            }
        }
        Ok(())
    }

    /// All states, by number of the node.
    pub fn to_vec(&self) -> Result<Vec<S>> {
        let mut states = Vec::with_capacity(self.len());
        self.each(|_, state| {
            states.push(state);
            Ok(())
        })?;
        Ok(states)
    }
}
