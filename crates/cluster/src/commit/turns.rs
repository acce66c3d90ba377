//! Turns at the log, where several processes append: the one whose last record is the oldest goes first.
//!
//! A partition of the log takes one append at a time. One that finds the record of another process at its place took time
//! from it and brought nothing, so that processes that all try at once keep each other from the log. No process asks
//! another: all read the same records, and so know the same order. One that has others before it waits for as many
//! appends. One that does not come when it is its turn is passed over by the wait of the next, and is no longer counted
//! when others have been there twice.

use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Set, meter};

use crate::log::Log;

/// Appends after a lost one before which a process still looks whose turn it is.
const CALM_APPENDS: u32 = 16;
/// Factor by which the time of an append may become longer from one to the next: most of what is above is waiting.
const SLOWER_MAX: f64 = 1.02;
/// Losses one after the other beyond which the time that is drawn grows no more.
const LOSSES_MAX: u32 = 5;
/// Time that is waited at most.
const WAIT_NS_MAX: u64 = 2_000_000_000;

/// A process among those that append.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Appends that still look whose turn it is; none where no other process appends.
    contended: u32,
    /// Appends that were lost one after the other.
    losses: u32,
    /// Nanoseconds of an append that waits for no other, with what is read before it.
    append_ns: u64,
}

impl State {
    /// Learns from an append.
    fn ended(&mut self, ns: u64, is_lost: bool) {
        let most = (self.append_ns as f64 * SLOWER_MAX) as u64;
        self.append_ns = if self.append_ns == 0 { ns.max(1) } else { ns.clamp(1, most.max(1)) };
        if is_lost {
            (self.contended, self.losses) = (CALM_APPENDS, self.losses + 1);
        } else {
            (self.contended, self.losses) = (self.contended.saturating_sub(1), 0);
        }
    }

    /// Nanoseconds to wait behind so many others, and a random part: processes that lost several times may take each other
    /// for gone, and would append at the same time.
    fn wait_ns(&self, others: usize, draw: u64) -> u64 {
        let drawn = match self.losses {
            0 | 1 => self.append_ns / 4,
            losses => self.append_ns.saturating_mul(1 << losses.min(LOSSES_MAX)),
        };
        let turns = self.append_ns.saturating_mul(others as u64);
        turns.saturating_add(draw % drawn.max(1)).min(WAIT_NS_MAX)
    }
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns from an append that began at a time.
    pub(super) fn ended(&self, log: &Log, start_ns: u64, is_lost: bool) {
        self.lock().ended(log.settings.clock.now_ns().saturating_sub(start_ns), is_lost);
    }

    /// Waits until it is this process's turn, if others append, and reads what they appended: the time when it was waited.
    pub(super) fn wait(&self, log: &Log) -> u64 {
        if self.lock().contended == 0 {
            return log.settings.clock.now_ns();
        }
        let mut others = before(log.writers(), log.writer);
        loop {
            let ns = self.lock().wait_ns(others, log.settings.random.next_u64());
            let waiting = meter::waiting(meter::Wait::Log);
            log.ring.tables.wait(ns);
            drop(waiting);
            let now_ns = log.settings.clock.now_ns();
            // The append finds the records that cannot be read now.
            let has_more = log.records_ahead(log.tail()).is_ok_and(|records| !records.is_empty());
            let left = before(log.writers(), log.writer);
            // Those before it do not come, or were all there.
            if !has_more || left == 0 || left >= others {
                return now_ns;
            }
            others = left;
        }
    }
}

/// The number of processes that append and come before this one, from the writers of the last records, the last first.
fn before(writers: impl IntoIterator<Item = u64>, own: u64) -> usize {
    let (mut seen, mut later) = (Set::default(), None);
    for (distance, writer) in writers.into_iter().enumerate() {
        if seen.contains(&writer) {
            continue;
        }
        // A process's last record is as many places back as there are others behind it, where all take turns.
        if distance > 2 * seen.len() + 1 {
            break;
        }
        seen.insert(writer);
        if writer == own {
            later = Some(seen.len());
        }
    }
    later.map_or(0, |later| seen.len() - later)
}

#[cfg(test)]
mod tests {
    use super::{CALM_APPENDS, State, before};

    #[test]
    fn the_oldest_goes_first() {
        // 5 appended last, 1 first.
        let writers = [5, 4, 3, 2, 1, 5, 4, 3, 2, 1];
        assert_eq!((1..=5).map(|own| before(writers, own)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        // One that never appended, or an empty log.
        assert_eq!((before(writers, 9), before([], 9)), (0, 0));
    }

    #[test]
    fn those_that_are_gone_are_not_waited_for() {
        // 1 and 2 take turns; the others have been gone for a while.
        let writers: Vec<u64> = [2, 1].repeat(4).into_iter().chain(3..10).collect();
        assert_eq!((before(writers.iter().copied(), 1), before(writers.iter().copied(), 2)), (0, 1));
        // One that appends alone.
        assert_eq!(before([1, 1, 1, 1, 2, 3], 1), 0);
    }

    #[test]
    fn only_a_lost_append_makes_a_process_wait() {
        let mut state = State::default();
        state.ended(1_000, false);
        assert_eq!((state.contended, state.append_ns), (0, 1_000));
        state.ended(9_000, true);
        assert_eq!((state.contended, state.append_ns), (CALM_APPENDS, 1_020), "an append that waited says little");
        assert_eq!((state.wait_ns(0, 0), state.wait_ns(3, 0), state.wait_ns(3, 100)), (0, 3_060, 3_160));
        (0..CALM_APPENDS).for_each(|_| state.ended(1_000, false));
        assert_eq!((state.contended, state.losses, state.append_ns), (0, 0, 1_000));
    }

    #[test]
    fn those_that_lose_again_are_set_apart() {
        let mut state = State::default();
        (0..10).for_each(|_| state.ended(1_000, true));
        let furthest = (0..1_000).map(|draw| state.wait_ns(0, draw * 7_919)).max();
        assert!(furthest > Some(25_000) && furthest < Some(32_000), "{furthest:?}");
        assert_eq!(state.wait_ns(usize::MAX, 5), super::WAIT_NS_MAX);
    }
}
