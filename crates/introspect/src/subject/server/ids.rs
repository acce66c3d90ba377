//! Ids of nodes that starts are drawn from: numbers between the least and the greatest id that are checked to be ids, or all ids, which
//! are read where those are too far apart.
//!
//! Invariant: the numbers of a seed are the same whatever is asked at once, and of them the ids are taken in order, so that each node is
//! as likely as any other.
//! Cost: draws are as many as starts, times the numbers for each id, at most [`SPARSE`]; a statement for each [`BATCH`] of them.

use model::{Interrupt, Result, Set, Value, error};

use super::{Statements, ids, natural};
use crate::random::Stream;

/// Numbers between the least and the greatest id for each id, from which on all ids are read.
const SPARSE: u64 = 16;
/// Numbers that are checked by one statement, at most and at least.
const BATCH: usize = 4_096;
const BATCH_MIN: usize = 64;
/// Numbers that are checked for each id that is wanted, after which they are given up.
const DRAWS_MAX: usize = 64 * SPARSE as usize;

/// The ids of all nodes.
#[derive(Debug, PartialEq)]
pub(super) enum Ids {
    /// Those of the numbers from the first to the last that are ids; so many.
    Between { first: u64, last: u64, count: u64 },
    /// All, ascending.
    Listed(Vec<u64>),
}

fn integer(value: Option<&Value>) -> Option<u64> {
    if let Some(Value::Int(number)) = value { u64::try_from(*number).ok() } else { None }
}

impl Ids {
    /// Asks a server for the bounds of its ids, and for all of them if they are sparse.
    pub(super) fn read<S: Statements>(session: &mut S) -> Result<Ids> {
        let bounds = session.query("MATCH (n) RETURN count(n), min(id(n)), max(id(n))", &Default::default())?;
        let bounds = bounds.rows().next().unwrap_or_default();
        let of = |column: usize| integer(bounds.get(column));
        if let (Some(count), Some(first), Some(last)) = (of(0), of(1), of(2))
            && last - first < count.saturating_mul(SPARSE)
        {
            return Ok(Ids::Between { first, last, count });
        }
        let all = session.query("MATCH (n) RETURN id(n)", &Default::default())?;
        let mut listed: Vec<u64> = all.rows().map(|row| natural(&row[0])).collect();
        listed.sort_unstable();
        Ok(Ids::Listed(listed))
    }

    /// The number of ids.
    pub(super) fn count(&self) -> u64 {
        match self {
            Ids::Between { count, .. } => *count,
            Ids::Listed(all) => all.len() as u64,
        }
    }

    /// The way in which starts are chosen, for people.
    pub(super) fn described(&self) -> String {
        match self {
            Ids::Between { first, last, count } => {
                let percent = 100.0 * *count as f64 / (last - first + 1) as f64;
                format!("drawn between the ids {first} and {last}, of which {percent:.0} % are nodes")
            }
            Ids::Listed(all) => format!("drawn from {} ids, which were read", all.len()),
        }
    }

    /// Ids drawn evenly by the numbers of a stream, of all or of those of the first so many numbers.
    pub(super) fn draw<S: Statements>(
        &self,
        session: &mut S,
        interrupt: &Interrupt,
        stream: Stream,
        (wanted, within): (usize, Option<u64>),
    ) -> Result<Vec<u64>> {
        let (first, last) = match self {
            Ids::Listed(all) => {
                let among = (all.len() as u64).min(within.unwrap_or(u64::MAX).max(1));
                return Ok((0..wanted as u64).map(|at| all[stream.below(at, among) as usize]).collect());
            }
            Ids::Between { first, last, .. } => (*first, *last),
        };
        let among = (last - first + 1).min(within.unwrap_or(u64::MAX).max(1));
        let mut found: Vec<u64> = Vec::with_capacity(wanted);
        let mut drawn = 0;
        while found.len() < wanted {
            interrupt.check()?;
            if drawn >= DRAWS_MAX.saturating_mul(wanted) {
                return Err(error!(Unsupported, "of {drawn} ids that were drawn {} are those of nodes", found.len())
                    .with_remedy("measure a graph that nobody deletes from meanwhile"));
            }
            let size = (wanted - found.len()).clamp(BATCH_MIN, BATCH);
            let numbers: Vec<u64> = (drawn..drawn + size).map(|at| first + stream.below(at as u64, among)).collect();
            drawn += size;
            let there = existing(session, &numbers)?;
            found.extend(numbers.into_iter().filter(|number| there.contains(number)));
        }
        found.truncate(wanted);
        Ok(found)
    }
}

/// Those of some numbers that are ids of nodes.
fn existing<S: Statements>(session: &mut S, numbers: &[u64]) -> Result<Set<u64>> {
    let statement = "UNWIND $ids AS i MATCH (n) WHERE id(n) = i RETURN id(n)";
    let rows = session.query(statement, &ids(numbers))?;
    Ok(rows.rows().map(|row| natural(&row[0])).collect())
}
