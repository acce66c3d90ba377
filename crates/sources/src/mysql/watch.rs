//! Looks after those who wait for the server: if their run is over, the server is told to give up what they wait for. If it
//! does not hear, their connection is closed.
//!
//! The driver waits until an answer comes. So another thread looks at the flags of those who wait, while there are any.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use model::Interrupt;

use super::Source;
use super::session::Handle;
use super::socket::Socket;

/// Time between two looks at the flags.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// Number of looks that find nobody waiting after which the thread ends.
const IDLE_LOOKS_MAX: u32 = 50;
/// Looks at a server that has not heard before the connection is closed.
const TOLD_LOOKS_MAX: u32 = 20;

/// The waits that are being watched.
#[derive(Default)]
pub(super) struct Watch {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    next_number: u64,
    has_thread: bool,
}

struct Waiting {
    number: u64,
    interrupt: Interrupt,
    connection: u32,
    /// None where the system has no number left for it.
    socket: Option<Socket>,
    /// Looks at it since the server was told.
    looks_since_told: Option<u32>,
}

/// As long as it lives somebody waits for an answer.
pub(super) struct Guard<'a> {
    watch: &'a Watch,
    number: u64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.watch.lock().waiting.retain(|waiting| waiting.number != self.number);
    }
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those whose run is over, each once; `None` if the thread is to end.
    fn look(&self, idle_looks: &mut u32) -> Option<Vec<u32>> {
        let mut state = self.lock();
        *idle_looks = if state.waiting.is_empty() { *idle_looks + 1 } else { 0 };
        if *idle_looks > IDLE_LOOKS_MAX {
            state.has_thread = false;
            return None;
        }
        Some(state.waiting.iter_mut().filter_map(Waiting::look).collect())
    }
}

impl Waiting {
    /// The connection, if the server is to be told now.
    fn look(&mut self) -> Option<u32> {
        if let Some(looks) = &mut self.looks_since_told {
            *looks += 1;
            if *looks >= TOLD_LOOKS_MAX
                && let Some(socket) = self.socket.take()
            {
                socket.close();
            }
            return None;
        }
        self.interrupt.check_unpaused().is_err().then(|| {
            self.looks_since_told = Some(0);
            self.connection
        })
    }
}

impl Source {
    /// Says that this thread waits for what was asked over a connection; `None` if no run of it could be over.
    pub(super) fn wait_for(self: &Arc<Source>, handle: &Handle<'_>) -> Option<Guard<'_>> {
        let interrupt = model::interrupt::of_this_thread()?;
        let (connection, socket) = (handle.connection, handle.socket.try_clone().ok());
        let watch = &self.watch;
        let mut state = watch.lock();
        state.next_number += 1;
        let number = state.next_number;
        state.waiting.push(Waiting { number, interrupt, connection, socket, looks_since_told: None });
        if !state.has_thread {
            let source = Arc::downgrade(self);
            let thread = std::thread::Builder::new().name("knotwork-mysql".into());
            // Without it the answer is waited for as long as it takes.
            state.has_thread = thread.spawn(move || look_after(&source)).is_ok();
        }
        Some(Guard { watch, number })
    }
}

fn look_after(source: &Weak<Source>) {
    let mut idle_looks = 0;
    loop {
        std::thread::sleep(LOOK_AFTER);
        let Some(source) = source.upgrade() else { return };
        let Some(over) = source.watch.look(&mut idle_looks) else { return };
        for connection in over {
            let (source, thread) = (source.clone(), std::thread::Builder::new().name("knotwork-mysql-kill".into()));
            // On a thread of its own, since a server that does not answer is waited for. Without one, the connection is
            // closed later.
            drop(thread.spawn(move || source.kill(connection)));
        }
    }
}
