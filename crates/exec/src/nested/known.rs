//! Answers of a subplan by the arguments that decide them, for the time of a run: each is asked for once, in however many batches its
//! arguments come. Nodes at the ends of parallel edges, or of paths, are arguments of many rows.
//!
//! Cost: a look into a hash table a row; the arguments and 16 bytes for each answer. Where few arguments come again, or there is no
//! memory for it, only repeats within a batch are left out.

use std::sync::{Arc, Mutex, PoisonError};

use model::{Column, Map, Result};

use crate::chunk::Chunk;
use crate::group_table::GroupTable;
use crate::runtime::Runtime;

/// Rows for each of the different arguments, from which on a subplan runs for these alone.
const REPEATS_MIN: usize = 2;

/// Number of rows after which it is judged whether arguments come again.
const JUDGED_ROWS: usize = 1 << 12;

/// Asks a subplan for its answer to each row of a chunk.
pub(super) type Ask<'a> = dyn FnMut(&Chunk) -> Result<Vec<i64>> + 'a;

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
    /// The answers of a subplan, which has a number of its own, to the rows of a chunk, decided by these columns.
    pub(super) fn answers(
        &self,
        subplan: usize,
        runtime: &Runtime<'_>,
        (chunk, columns): (&Chunk, &[Arc<Column>]),
        ask: &mut Ask<'_>,
    ) -> Result<Vec<i64>> {
        let held = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What a statement writes between two batches may change answers.
        let is_kept = !runtime.writes();
        let known = is_kept.then(|| held().get_mut(&subplan).and_then(Vec::pop)).flatten();
        let mut known = known.unwrap_or_default();
        let answers = match known.is_given_up || !is_kept {
            true => Known::default().within(chunk, columns, ask),
            false => known.answers(runtime, chunk, columns, ask),
        }?;
        if is_kept {
            held().entry(subplan).or_default().push(known);
        }
        Ok(answers)
    }
}

impl Known {
    /// Answers to a chunk, each asked for once.
    fn within(mut self, chunk: &Chunk, columns: &[Arc<Column>], ask: &mut Ask<'_>) -> Result<Vec<i64>> {
        let (mut places, mut firsts) = (Vec::with_capacity(chunk.rows), Vec::new());
        self.table.insert(columns, chunk.rows, &mut places, &mut firsts);
        if firsts.len() * REPEATS_MIN > chunk.rows {
            return ask(chunk);
        }
        let answers = ask(&chunk.gather(&firsts))?;
        Ok(places.into_iter().map(|place| answers[place as usize]).collect())
    }

    fn answers(
        &mut self,
        runtime: &Runtime<'_>,
        chunk: &Chunk,
        columns: &[Arc<Column>],
        ask: &mut Ask<'_>,
    ) -> Result<Vec<i64>> {
        let (mut places, mut firsts) = (Vec::with_capacity(chunk.rows), Vec::new());
        self.table.insert(columns, chunk.rows, &mut places, &mut firsts);
        match firsts.len() {
            0 => {}
            all if all == chunk.rows => self.answers.extend(ask(chunk)?),
            _ => self.answers.extend(ask(&chunk.gather(&firsts))?),
        }
        let answers = places.into_iter().map(|place| self.answers[place as usize]).collect();
        self.rows += chunk.rows;
        let comes_again = self.table.len() * REPEATS_MIN <= self.rows || self.rows < JUDGED_ROWS;
        if !comes_again || !self.charge(runtime) {
            runtime.states.give_back(self.charged, runtime.environment.memory);
            *self = Known { is_given_up: true, ..Known::default() };
        }
        Ok(answers)
    }

    /// Charges what has been added; false if there is no memory for it.
    fn charge(&mut self, runtime: &Runtime<'_>) -> bool {
        let bytes = self.table.bytes() + self.answers.capacity() * size_of::<i64>();
        let mut charge = runtime.charge("Subquery");
        if charge.try_grow(bytes.saturating_sub(self.charged)).is_err() {
            return false;
        }
        runtime.states.take_over(charge);
        self.charged = self.charged.max(bytes);
        true
    }
}
