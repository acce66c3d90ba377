//! Turns: of the threads of several clients one runs at a time, from one operation of the ring to the next, and a seed
//! decides which. Some are passed over for a while, as a process that is paused.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use testing::random::SeededRandom;

/// Chance that a client is paused when it asks for its turn, in percent.
const PAUSE_CHANCE: u64 = 2;
/// Turns of others that a pause lasts at most.
const PAUSE_TURNS: u64 = 60;

/// The turns of some clients.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    random: SeededRandom,
    /// Clients that have not finished.
    active: usize,
    /// Clients that wait, each with the turns of others that it has to wait for at least.
    waiting: BTreeMap<usize, u64>,
    running: Option<usize>,
    pauses: u64,
    is_suspended: bool,
}

/// Time in which nobody takes turns.
#[derive(Debug)]
pub(crate) struct Suspended<'a>(&'a Turns);

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        self.0.lock().is_suspended = false;
    }
}

impl Turns {
    /// Turns for so many clients, all of which ask for them until they finish.
    pub(crate) fn new(seed: u64, clients: usize) -> Turns {
        let random = SeededRandom::new(seed ^ 0x7475_726e);
        let waiting = BTreeMap::new();
        let state = State { random, active: clients, waiting, running: None, pauses: 0, is_suspended: false };
        Turns { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of pauses so far.
    pub(crate) fn pauses(&self) -> u64 {
        self.lock().pauses
    }

    /// Lets operations run as they come, while no client waits.
    pub(crate) fn suspend(&self) -> Suspended<'_> {
        self.lock().is_suspended = true;
        Suspended(self)
    }

    /// Waits for the next turn.
    pub(crate) fn take(&self, client: usize) {
        let mut state = self.lock();
        if state.active == 0 || state.is_suspended {
            return;
        }
        let is_paused = state.random.chance(PAUSE_CHANCE);
        let wait = if is_paused { state.random.below(PAUSE_TURNS) } else { 0 };
        state.pauses += u64::from(is_paused);
        state.waiting.insert(client, wait);
        state.running = None;
        self.choose(&mut state);
        while state.running != Some(client) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that a client asks for no more turns.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.active -= 1;
        state.running = None;
        self.choose(&mut state);
    }

    /// Gives the turn to one of those that wait, once all do.
    fn choose(&self, state: &mut State) {
        if state.running.is_some() || state.waiting.len() < state.active || state.waiting.is_empty() {
            return;
        }
        let ready: Vec<usize> =
            state.waiting.iter().filter(|(_, wait)| **wait == 0).map(|(client, _)| *client).collect();
        let all: Vec<usize> = state.waiting.keys().copied().collect();
        let next = *state.random.pick(if ready.is_empty() { &all } else { &ready });
        state.waiting.values_mut().for_each(|wait| *wait = wait.saturating_sub(1));
        state.waiting.remove(&next);
        state.running = Some(next);
        self.changed.notify_all();
    }
}
