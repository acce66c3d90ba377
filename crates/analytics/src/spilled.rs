//! Values of nodes that are read and written in order alone, in temporary files: what an algorithm that streams edges need
//! not hold in memory.
//!
//! Threads write piece by piece, each piece once; pieces are read in any order, whole.
//! Cost: each value is written once and read once; the bytes of a piece are held meanwhile.

use std::ops::Range;

use model::error::Result;
use model::procedure::Workspace;

use crate::parallel::{map_tasks, split_mut};
use crate::program::Plain;
use crate::scratch::plain::push;
use crate::scratch::{Lanes, Place, Scratch, Spot};

/// Values being written by several threads.
pub(crate) struct PieceWriter<'a>(Lanes<'a>);

impl<'a> PieceWriter<'a> {
    /// A writer for `threads` threads.
    pub(crate) fn new(workspace: &'a dyn Workspace, threads: usize) -> Result<PieceWriter<'a>> {
        Ok(PieceWriter(Lanes::new(Place::Disk(workspace), threads.max(1))?))
    }

    /// Puts the values of a piece away; tells where they are.
    pub(crate) fn put<T: Plain>(&self, values: &[T]) -> Result<Spot> {
        let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
        values.iter().for_each(|&value| push(value, &mut bytes));
        self.0.append(|file| file.append(&bytes)).map(|(spot, ())| spot)
    }

    /// The pieces, which are at these places.
    pub(crate) fn finish(self, spots: Vec<Spot>) -> Pieces<'a> {
        Pieces { files: self.0.into_files(), spots }
    }
}

/// Values that were put away.
pub(crate) struct Pieces<'a> {
    files: Vec<Scratch<'a>>,
    spots: Vec<Spot>,
}

impl<'a> Pieces<'a> {
    /// Puts away all values of some ranges, which follow one another.
    pub(crate) fn of<T: Plain>(
        workspace: &'a dyn Workspace,
        threads: usize,
        values: &[T],
        ranges: &[Range<usize>],
    ) -> Result<Pieces<'a>> {
        let writer = PieceWriter::new(workspace, threads)?;
        let spots = map_tasks(threads, ranges.to_vec(), |range| writer.put(&values[range]));
        let spots = spots.into_iter().collect::<Result<_>>()?;
        Ok(writer.finish(spots))
    }

    /// The first `count` values of a piece.
    pub(crate) fn read<T: Plain>(&self, piece: usize, count: usize) -> Result<Vec<T>> {
        let (file, start) = self.spots[piece];
        let mut bytes = vec![0; count * T::BYTES];
        self.files[file as usize].read_at(start, &mut bytes)?;
        Ok(bytes.chunks_exact(T::BYTES).map(T::read_from).collect())
    }

    /// Fills an array with the values of all pieces, those of each at its range.
    pub(crate) fn read_all<T: Plain>(&self, threads: usize, values: &mut [T], ranges: &[Range<usize>]) -> Result<()> {
        let parts = split_mut(values, ranges).into_iter().enumerate().collect();
        let done = map_tasks(threads, parts, |(piece, values): (usize, &mut [T])| {
            values.copy_from_slice(&self.read(piece, values.len())?);
            Ok(())
        });
        done.into_iter().collect()
    }
}
