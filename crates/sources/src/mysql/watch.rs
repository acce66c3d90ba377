//! Looks after those who wait for the server: if their run is over, the server is told to give up what they wait for. If it
//! does not hear, their connection is closed.
//!
//! The driver waits until an answer comes. So another thread looks at the flags of those who wait, while there are any.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use model::Interrupt;

use super::Source;
use super::session::Handle;
use super::socket::Socket;

/// Time between two looks at the flags.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// Number of looks that find nobody waiting after which the thread ends.
const IDLE_LOOKS_MAX: u32 = 50;
/// Looks at a server that has not heard, which MariaDB itself may need two seconds for, before the connection is closed.
const TOLD_LOOKS_MAX: u32 = 30;
/// Time in which the server is told to interrupt a statement that has ended meanwhile.
const TELLING_WAIT: Duration = Duration::from_secs(3);

/// The waits that are being watched.
#[derive(Default)]
pub(super) struct Watch {
    state: Mutex<State>,
    /// An order to the server was given.
    told: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// The numbers of the waits that the server is being told to end.
    telling: Vec<u64>,
    /// Connections that it was told of, until somebody asks.
    told: Vec<u32>,
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
    /// Ends the wait. If the server is being told to interrupt the statement, which has ended, that is waited for: else the
    /// order would meet the next statement of this connection.
    fn drop(&mut self) {
        let mut state = self.watch.lock();
        let Some(at) = state.waiting.iter().position(|waiting| waiting.number == self.number) else { return };
        let over = state.waiting.swap_remove(at);
        if over.looks_since_told.is_none() {
            return;
        }
        state.told.push(over.connection);
        let is_telling = |state: &mut State| state.telling.contains(&self.number);
        let waited = self.watch.told.wait_timeout_while(state, TELLING_WAIT, is_telling);
        let (_state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out()
            && let Some(socket) = over.socket
        {
            socket.close();
        }
    }
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True, once, if the server was told to interrupt what this connection asked it.
    pub(super) fn was_told(&self, connection: u32) -> bool {
        let mut state = self.lock();
        let before = state.told.len();
        state.told.retain(|told| *told != connection);
        state.told.len() < before
    }

    /// Notes that the server was told of a wait.
    fn note_told(&self, number: u64) {
        self.lock().telling.retain(|telling| *telling != number);
        self.told.notify_all();
    }

    /// Those whose run is over with their connections, each once; `None` if the thread is to end.
    fn look(&self, idle_looks: &mut u32) -> Option<Vec<(u64, u32)>> {
        let mut state = self.lock();
        *idle_looks = if state.waiting.is_empty() { *idle_looks + 1 } else { 0 };
        if *idle_looks > IDLE_LOOKS_MAX {
            state.has_thread = false;
            return None;
        }
        let over: Vec<(u64, u32)> = state.waiting.iter_mut().filter_map(Waiting::look).collect();
        state.telling.extend(over.iter().map(|(number, _)| *number));
        Some(over)
    }
}

impl Waiting {
    /// The wait and its connection, if the server is to be told now.
    fn look(&mut self) -> Option<(u64, u32)> {
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
            (self.number, self.connection)
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
        for (number, connection) in over {
            let (teller, thread) = (source.clone(), std::thread::Builder::new().name("knotwork-mysql-kill".into()));
            // On a thread of its own, since a server that does not answer is waited for. Without one, the connection is
            // closed later.
            let spawned = thread.spawn(move || {
                teller.kill(connection);
                teller.watch.note_told(number);
            });
            if spawned.is_err() {
                source.watch.note_told(number);
            }
        }
    }
}
