//! Answers of a subplan by the arguments that decide them, for the time of a run: each is asked for once, in however many batches its
//! arguments come. Nodes at the ends of parallel edges, or of paths, are arguments of many rows.
//!
//! Cost: a look into a hash table a row; the arguments and 16 bytes for each answer. Where few arguments come again, or there is no
//! memory for it, only repeats within a batch are left out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Column, Map, Result};

use crate::chunk::Chunk;
use crate::group_table::GroupTable;
use crate::memory::{Charge, QueryMemory};

/// Rows for each of the different arguments, from which on a subplan runs for these alone.
const REPEATS_MIN: usize = 2;

/// Number of rows after which it is judged whether arguments come again: nodes that do may be many.
const JUDGED_ROWS: usize = 1 << 16;

/// Rows of which one at least must have an answer that is known: to ask costs many times what a look does.
const ROWS_PER_HIT: usize = 8;

/// Asks a subplan for its answer to each row of a chunk.
pub(crate) type Ask<'a> = dyn FnMut(&Chunk) -> Result<Vec<i64>> + 'a;

/// Answers that one thread knows.
#[derive(Default)]
struct Known {
    table: GroupTable,
    answers: Vec<i64>,
    /// Rows that were looked up.
    rows: usize,
    /// Bytes charged to the query.
    charged: usize,
    is_given_up: bool,
}

/// Answers of all subplans of a run, for each as many as threads have asked it at the same time.
#[derive(Default)]
pub(crate) struct KnownAnswers(Mutex<Map<usize, Vec<Known>>>);

impl KnownAnswers {
    /// The answers of a subplan, which has a number of its own, to the rows of a chunk, decided by these columns. Bytes of the charge
    /// are held until [`KnownAnswers::release`].
    pub(crate) fn answers(
        &self,
        subplan: usize,
        charge: Charge<'_>,
        (chunk, columns): (&Chunk, &[Arc<Column>]),
        ask: &mut Ask<'_>,
    ) -> Result<Vec<i64>> {
        let known = self.held().get_mut(&subplan).and_then(Vec::pop);
        let mut known = known.unwrap_or_default();
        let answers = match known.is_given_up {
            true => answers_within(chunk, columns, ask),
            false => known.answers(charge, chunk, columns, ask),
        };
        self.held().entry(subplan).or_default().push(known);
        answers
    }

    fn held(&self) -> MutexGuard<'_, Map<usize, Vec<Known>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets all answers.
    pub(crate) fn release(&self, memory: &QueryMemory) {
        let mut held = self.held();
        if held.is_empty() {
            return;
        }
        memory.release(held.drain().flat_map(|(_, known)| known).map(|known| known.charged).sum());
    }
}

/// Answers to a chunk, each asked for once.
pub(crate) fn answers_within(chunk: &Chunk, columns: &[Arc<Column>], ask: &mut Ask<'_>) -> Result<Vec<i64>> {
    let (mut places, mut firsts) = (Vec::with_capacity(chunk.rows), Vec::new());
    GroupTable::default().insert(columns, chunk.rows, &mut places, &mut firsts);
    if firsts.len() * REPEATS_MIN > chunk.rows {
        return ask(chunk);
    }
    let answers = ask(&chunk.gather(&firsts))?;
    Ok(places.into_iter().map(|place| answers[place as usize]).collect())
}

impl Known {
    fn answers(
        &mut self,
        charge: Charge<'_>,
        chunk: &Chunk,
        columns: &[Arc<Column>],
        ask: &mut Ask<'_>,
    ) -> Result<Vec<i64>> {
        let (mut places, mut firsts) = (Vec::with_capacity(chunk.rows), Vec::new());
        self.table.insert(columns, chunk.rows, &mut places, &mut firsts);
        let new = match firsts.len() {
            0 => Ok(Vec::new()),
            all if all == chunk.rows => ask(chunk),
            _ => ask(&chunk.gather(&firsts)),
        };
        // The table has the arguments already, and the run ends: nobody may ask for what is missing.
        self.answers.extend(new.inspect_err(|_| self.is_given_up = true)?);
        let answers = places.into_iter().map(|place| self.answers[place as usize]).collect();
        self.rows += chunk.rows;
        let memory = charge.memory();
        let comes_again = (self.rows - self.table.len()) * ROWS_PER_HIT >= self.rows;
        if !comes_again && self.rows >= JUDGED_ROWS || !self.hold(charge) {
            memory.release(self.charged);
            *self = Known { is_given_up: true, ..Known::default() };
        }
        Ok(answers)
    }

    /// Holds bytes for what has been added; false if there is no memory for it.
    fn hold(&mut self, mut charge: Charge<'_>) -> bool {
        let bytes = self.table.bytes() + self.answers.capacity() * size_of::<i64>();
        let more = bytes.saturating_sub(self.charged);
        let fits = charge.try_grow(more).is_ok();
        self.charged += charge.into_bytes();
        fits
    }
}
