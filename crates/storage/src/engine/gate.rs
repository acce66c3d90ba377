//! Whose turn it is to write: one transaction at a time, which may move from thread to thread.

use std::sync::{Arc, Condvar, Mutex};

use super::lock;

/// Where writers wait.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_taken: Mutex<bool>,
    freed: Condvar,
}

/// The turn to write, given on when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    gate: Arc<Gate>,
}

impl Gate {
    /// Waits for the turn.
    pub(crate) fn enter(gate: &Arc<Gate>) -> Turn {
        let mut is_taken = lock(&gate.is_taken);
        while *is_taken {
            is_taken = gate.freed.wait(is_taken).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        *is_taken = true;
        drop(is_taken);
        Turn { gate: gate.clone() }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *lock(&self.gate.is_taken) = false;
        self.gate.freed.notify_one();
    }
}
