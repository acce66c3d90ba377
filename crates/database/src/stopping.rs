//! A clock that ends statements of another session when a longer work is cancelled.

use std::sync::Arc;

use model::Interrupt;
use model::platform::Clock;

/// A clock that stands far ahead once a longer work is cancelled, so that the statement that runs for it is over its time. For
/// [`Session::time_by`](crate::Session::time_by), with a time limit.
#[derive(Debug)]
pub struct StoppingClock {
    clock: Arc<dyn Clock>,
    interrupt: Interrupt,
}

impl StoppingClock {
    /// A clock that goes as another until that flag is raised.
    pub fn new(clock: Arc<dyn Clock>, interrupt: &Interrupt) -> Arc<StoppingClock> {
        Arc::new(StoppingClock { clock, interrupt: interrupt.clone() })
    }
}

impl Clock for StoppingClock {
    fn now_ns(&self) -> u64 {
        if self.interrupt.check_unpaused().is_err() { u64::MAX / 2 } else { self.clock.now_ns() }
    }

    fn unix_us(&self) -> i64 {
        self.clock.unix_us()
    }
}
