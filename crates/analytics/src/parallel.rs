//! Splitting work over threads, in the same pieces in every run, so that results can be put together in order.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use model::{Interrupt, interrupt};

/// Runs `work` on every task, on up to `threads` threads of which the caller's is one; results in order of the tasks.
///
/// Cost: about 20 µs for each further thread, so callers pass one thread for small work.
pub(crate) fn map_tasks<T: Send, R: Send>(threads: usize, tasks: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_tasks_with(&mut vec![(); threads.max(1)], tasks, |(), task| work(task))
}

/// The same on a thread for each of some states, at least one, that the tasks which a thread takes share.
pub(crate) fn map_tasks_with<S: Send, T: Send, R: Send>(
    states: &mut [S],
    tasks: Vec<T>,
    work: impl Fn(&mut S, T) -> R + Sync,
) -> Vec<R> {
    let workers = states.len().min(tasks.len());
    let Some((own, others)) = states[..workers].split_first_mut() else { return Vec::new() };
    if others.is_empty() {
        return tasks.into_iter().map(|task| work(own, task)).collect();
    }
    let queue = Mutex::new(tasks.into_iter().enumerate());
    let take_all = |state: &mut S| {
        let mut results = Vec::new();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, task)) = next else { return results };
            results.push((index, work(state, task)));
        }
    };
    let run = interrupt::of_this_thread();
    let mut results = std::thread::scope(|scope| {
        let take_all = &take_all;
        let run = run.as_ref();
        let help = move |state| {
            let _helping = run.map(Interrupt::help);
            take_all(state)
        };
        let others: Vec<_> = others.iter_mut().map(|state| scope.spawn(move || help(state))).collect();
        let mut results = take_all(own);
        for other in others {
            match other.join() {
                Ok(more) => results.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// `0..count` cut into at most `pieces` ranges of about equal length, each but the last a multiple of `grain`.
pub(crate) fn even_ranges(count: usize, pieces: usize, grain: usize) -> Vec<Range<usize>> {
    let step = count.div_ceil(pieces.max(1)).next_multiple_of(grain.max(1)).max(1);
    (0..count).step_by(step).map(|start| start..(start + step).min(count)).collect()
}

/// The rows of a table cut into at most about `pieces` ranges of about equal work: a row costs its edges and one.
pub(crate) fn ranges_of_equal_work(offsets: &[u64], pieces: usize) -> Vec<Range<usize>> {
    let rows = offsets.len().saturating_sub(1);
    let work_before = |row: usize| offsets[row] + row as u64;
    if rows == 0 {
        return Vec::new();
    }
    let step = work_before(rows).div_ceil(pieces.max(1) as u64).max(1);
    let mut ranges = Vec::with_capacity(pieces);
    let mut start = 0;
    while start < rows {
        let goal = work_before(start) + step;
        let (mut low, mut high) = (start + 1, rows);
        while low < high {
            let middle = usize::midpoint(low, high);
            if work_before(middle) < goal { low = middle + 1 } else { high = middle }
        }
        ranges.push(start..low);
        start = low;
    }
    ranges
}

/// `slice` cut at the given ranges, which follow one another from its start.
pub(crate) fn split_mut<'a, T>(mut slice: &'a mut [T], ranges: &[Range<usize>]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, rest) = std::mem::take(&mut slice).split_at_mut(range.len());
        parts.push(part);
        slice = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{even_ranges, map_tasks, ranges_of_equal_work, split_mut};

    #[test]
    fn results_come_in_order_of_the_tasks() {
        for threads in [1, 2, 5] {
            let squares = map_tasks(threads, (0..100_u64).collect(), |x| x * x);
            assert_eq!(squares, (0..100).map(|x| x * x).collect::<Vec<u64>>());
        }
        assert!(map_tasks(2, Vec::<u8>::new(), |x| x).is_empty());
    }

    #[test]
    fn ranges_cover_everything_once() {
        for (count, pieces, grain) in [(0, 3, 1), (1, 3, 1), (10, 3, 1), (130, 4, 64), (1000, 7, 64)] {
            let all: Vec<usize> = even_ranges(count, pieces, grain).into_iter().flatten().collect();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
        for offsets in [vec![0], vec![0, 5], vec![0, 0, 0, 100, 100, 101], vec![0, 100, 100, 100]] {
            for pieces in 1..5 {
                let all: Vec<usize> = ranges_of_equal_work(&offsets, pieces).into_iter().flatten().collect();
                assert_eq!(all, (0..offsets.len() - 1).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_slice_splits_at_ranges() {
        let mut numbers = [0, 1, 2, 3, 4];
        let parts = split_mut(&mut numbers, &[0..2, 2..2, 2..5]);
        assert_eq!(parts, [&mut [0, 1][..], &mut [][..], &mut [2, 3, 4][..]]);
    }
}
