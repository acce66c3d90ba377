//! State that PageRank keeps of the nodes: the share that each gives to its neighbors, which edges ask for at random
//! places, and the state that is accessed only in order, degrees and the next shares, which may lie in temporary files.

use std::ops::Range;

use model::error::Result;
use model::procedure::Workspace;

use super::{Share, score_of, share_of};
use crate::graph::{Rows, Side};
use crate::huge;
use crate::parallel::split_mut;
use crate::rows::pass::map_pass;
use crate::spilled::{PieceWriter, Pieces};

/// The state of all nodes.
pub(super) struct State<'a, S> {
    shares: Vec<S>,
    /// The nodes of each piece.
    ranges: Vec<Range<usize>>,
    rest: Rest<'a, S>,
}

/// State that is accessed only in order.
enum Rest<'a, S> {
    Held { degrees: Vec<u32>, next: Vec<S> },
    Spilled { degrees: Pieces<'a>, workspace: &'a dyn Workspace },
}

/// The nodes one task works on.
pub(super) struct Piece<'p, S> {
    pub(super) rows: Range<usize>,
    pub(super) degrees: &'p [u32],
    /// Their next shares, to be filled in.
    pub(super) next: &'p mut [S],
}

impl<'a, S: Share> State<'a, S> {
    /// Every node has the score `start`; in memory unless there is a workspace for it.
    pub(super) fn new(
        degrees: Vec<u32>,
        start: f64,
        ranges: Vec<Range<usize>>,
        (threads, workspace): (usize, Option<&'a dyn Workspace>),
    ) -> Result<State<'a, S>> {
        let Some(workspace) = workspace else {
            let shares: Vec<S> = huge::collect(degrees.iter().map(|&degree| share_of(degree, start)));
            let next = huge::collect(shares.iter().copied());
            return Ok(State { shares, ranges, rest: Rest::Held { degrees, next } });
        };
        let node_count = degrees.len();
        let spilled = Pieces::of(workspace, threads, &degrees, &ranges)?;
        drop(degrees);
        let mut shares = huge::with_capacity(node_count);
        for (piece, range) in ranges.iter().enumerate() {
            shares.extend(spilled.read(piece, range.len())?.into_iter().map(|degree| share_of::<S>(degree, start)));
        }
        Ok(State { shares, ranges, rest: Rest::Spilled { degrees: spilled, workspace } })
    }

    /// Lets `work` fill in what the nodes of each piece give next, from what all give now; then next is now.
    pub(super) fn step<R: Send>(
        &mut self,
        rows: &dyn Rows,
        threads: usize,
        work: impl Fn(&[S], Piece<'_, S>) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let State { shares, ranges, rest } = self;
        let pass = (rows, Side::Backward.only());
        let now = &shares[..];
        match rest {
            Rest::Held { degrees, next } => {
                let pieces = ranges.iter().cloned().zip(split_mut(next, ranges)).collect();
                let done = map_pass(pass, threads, pieces, |(rows, next): (Range<usize>, &mut [S])| {
                    work(now, Piece { degrees: &degrees[rows.clone()], rows, next })
                });
                let done = done.into_iter().collect();
                std::mem::swap(shares, next);
                done
            }
            Rest::Spilled { degrees, workspace } => {
                let writer = PieceWriter::new(*workspace, threads)?;
                let pieces = ranges.iter().cloned().enumerate().collect();
                let done = map_pass(pass, threads, pieces, |(at, rows): (usize, Range<usize>)| {
                    let degrees: Vec<u32> = degrees.read(at, rows.len())?;
                    let mut next = vec![S::default(); rows.len()];
                    let found = work(now, Piece { rows, degrees: &degrees, next: &mut next })?;
                    Ok((writer.put(&next)?, found))
                });
                let (spots, found) = done.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
                writer.finish(spots).read_all(threads, shares, ranges)?;
                Ok(found)
            }
        }
    }

    /// The scores of all nodes.
    pub(super) fn into_scores(self) -> Result<Vec<f64>> {
        match self.rest {
            Rest::Held { degrees, next } => {
                drop(next);
                Ok(degrees.iter().zip(&self.shares).map(|(&degree, &share)| score_of(degree, share)).collect())
            }
            Rest::Spilled { degrees, .. } => {
                let mut scores = Vec::with_capacity(self.shares.len());
                for (piece, range) in self.ranges.iter().enumerate() {
                    let degrees: Vec<u32> = degrees.read(piece, range.len())?;
                    scores.extend(degrees.iter().zip(&self.shares[range.clone()]).map(|(&d, &s)| score_of(d, s)));
                }
                Ok(scores)
            }
        }
    }
}
