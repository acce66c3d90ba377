//! Numbers in their order, each once: in memory as far as they fit, sorted on disk beyond.

use std::sync::Arc;

use model::{Column, ColumnData, Interrupt, Result};

use super::sorter::{Sorted, Sorter, key_of_column};
use crate::chunk::Chunk;
use crate::memory::Charge;
use crate::runtime::Flow;

/// Numbers that are sorted without a look at the interrupt: some milliseconds.
const SORTED_AT_ONCE: usize = 1 << 18;

/// See the module.
pub(crate) struct SortedNumbers<'m>(Sorter<'m>);

impl<'m> SortedNumbers<'m> {
    /// None.
    pub(crate) fn new(charge: Charge<'m>) -> SortedNumbers<'m> {
        SortedNumbers(Sorter::new(charge, 1, usize::MAX))
    }

    /// Adds numbers.
    pub(crate) fn push(&mut self, numbers: impl Iterator<Item = u64>, interrupt: &Interrupt) -> Result<()> {
        let numbers: Vec<i64> = numbers.map(u64::cast_signed).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let (rows, column) = (numbers.len(), Column::new(ColumnData::Int(numbers)));
        self.0.push(Chunk { rows, columns: vec![Arc::new(column)] }, &key_of_column(0), interrupt)
    }

    /// Gives them all, some at a time, in the order of signed numbers.
    pub(crate) fn for_each(self, interrupt: &Interrupt, each: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let (mut last, mut fresh) = (None, Vec::new());
        let mut give = |numbers: &[i64]| {
            fresh.clear();
            for &number in numbers {
                if last.replace(number) != Some(number) {
                    fresh.push(number.cast_unsigned());
                }
            }
            each(&fresh)
        };
        match self.0.finish(&key_of_column(0), interrupt)? {
            Sorted::Runs(runs) => {
                let give = &mut |chunk: Chunk| give(numbers_of(&chunk)?).map(|()| Flow::Continue);
                runs.push(&[0], interrupt, give).map(|_| ())
            }
            Sorted::InMemory(chunk, _) if chunk.rows == 0 => Ok(()),
            Sorted::InMemory(mut chunk, _charge) => {
                let column = chunk.columns.pop().map(Arc::unwrap_or_clone);
                let Some(Column { data: ColumnData::Int(mut numbers), .. }) = column else { return Err(no_numbers()) };
                sort(&mut numbers, interrupt)?;
                give(&numbers)
            }
        }
    }
}

/// Sorts in place, in pieces between which the interrupt is heard.
fn sort(numbers: &mut [i64], interrupt: &Interrupt) -> Result<()> {
    interrupt.check()?;
    if numbers.len() <= SORTED_AT_ONCE {
        numbers.sort_unstable();
    } else if !numbers.is_sorted() {
        let middle = numbers.len() / 2;
        let (less, _, more) = numbers.select_nth_unstable(middle);
        sort(less, interrupt)?;
        sort(more, interrupt)?;
    }
    Ok(())
}

fn numbers_of(chunk: &Chunk) -> Result<&[i64]> {
    match chunk.columns.first().map(|column| &column.data) {
        Some(ColumnData::Int(numbers)) => Ok(numbers),
        _ => Err(no_numbers()),
    }
}

fn no_numbers() -> model::Error {
    model::error!(Internal, "sorted numbers are no numbers")
}

#[cfg(test)]
mod tests {
    use model::{ErrorCode, Interrupt};
    use testing::random::{SeededRandom, seed_or};

    use super::{SORTED_AT_ONCE, sort};

    #[test]
    fn numbers_are_sorted_in_pieces_and_stopped_between_them() {
        let mut random = SeededRandom::new(seed_or(17));
        let spread = 1 << (random.below(40) + 4);
        let mut numbers: Vec<i64> = (0..5 * SORTED_AT_ONCE).map(|_| random.below(spread) as i64).collect();
        let mut expected = numbers.clone();
        expected.sort_unstable();
        let interrupt = Interrupt::new();
        sort(&mut numbers, &interrupt).expect("nobody stops it");
        assert!(numbers == expected, "seed {}", seed_or(17));
        interrupt.cancel();
        assert_eq!(sort(&mut numbers, &interrupt).map_err(|error| error.code()), Err(ErrorCode::Cancelled));
    }
}
