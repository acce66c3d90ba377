//! Interrupts whose clock does what a test wants when somebody looks at the deadline.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use model::Interrupt;
use model::platform::Clock;

/// The action at a look.
#[derive(Debug)]
enum Event {
    /// Another thread does its work, and the thread that looks waits for it.
    Meet(Mutex<(SyncSender<()>, Receiver<()>)>),
    /// Others come first.
    Yield,
    /// The time is over.
    End,
}

/// A clock that counts how often it is looked at.
#[derive(Debug)]
struct Hook {
    looks: AtomicU64,
    /// The look at which it happens; the first is made by the setter of the deadline.
    at: u64,
    /// It happens again after that number of looks.
    again_after: Option<u64>,
    event: Event,
}

impl Clock for Hook {
    fn now_ns(&self) -> u64 {
        let look = self.looks.fetch_add(1, Ordering::Relaxed);
        let is_again = self.again_after.is_some_and(|after| look > self.at && (look - self.at).is_multiple_of(after));
        match &self.event {
            Event::End => u64::from(look >= self.at) << 40,
            Event::Meet(meeting) if look == self.at || is_again => {
                let (go, done) = &*meeting.lock().unwrap();
                // If the other side has panicked, its thread says so.
                if go.send(()).is_ok() {
                    let _ = done.recv();
                }
                0
            }
            Event::Meet(_) => 0,
            Event::Yield => {
                std::thread::sleep(Duration::from_millis(1));
                0
            }
        }
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

fn with_clock(hook: Hook, limit: Duration) -> Interrupt {
    let interrupt = Interrupt::new();
    interrupt.set_deadline(Some((Arc::new(hook), limit)));
    interrupt
}

/// Does some work, at whose look after `looks` others `others` runs to its end, once or after every `again_after`
/// further looks.
pub(super) fn beside<R>(
    looks: u64,
    again_after: Option<u64>,
    others: &mut (dyn FnMut() + Send),
    work: impl FnOnce(&Interrupt) -> R,
) -> R {
    std::thread::scope(|scope| {
        let ((go, gone), (finish, done)) = (sync_channel(1), sync_channel(1));
        scope.spawn(move || {
            while gone.recv().is_ok() {
                others();
                let _ = finish.send(());
            }
        });
        let event = Event::Meet(Mutex::new((go, done)));
        let hook = Hook { looks: AtomicU64::new(0), at: looks + 1, again_after, event };
        work(&with_clock(hook, Duration::MAX))
    })
}

/// An interrupt whose time is over after a number of looks.
pub(crate) fn ends_after(looks: u64) -> Interrupt {
    let hook = Hook { looks: AtomicU64::new(0), at: looks + 1, again_after: None, event: Event::End };
    with_clock(hook, Duration::from_nanos(1))
}

/// An interrupt that lets others work at each look.
pub(crate) fn yields() -> Interrupt {
    let hook = Hook { looks: AtomicU64::new(0), at: 0, again_after: None, event: Event::Yield };
    with_clock(hook, Duration::MAX)
}
