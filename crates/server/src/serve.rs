//! The front: one thread that takes connections in, waits for those that say nothing, and listens to those whose statements run.
//!
//! Cost: a connection without a request takes a place in the list of one `poll`, no thread. While threads are at work the front
//! looks at the sockets of their statements every few milliseconds.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use database::{Access, Database, Interrupt, Neighbors};
use model::{Consumer, ErrorCode, Result, error};
use rustix::event::{PollFd, PollFlags, poll};

use crate::administration::Keeper;
use crate::arrivals::{Arrivals, Share};
use crate::audit::Audit;
use crate::bookmarks::Bookmarks;
use crate::connection::{AtWork, Connection};
use crate::counts::Counts;
use crate::credentials::Credentials;
use crate::databases::Databases;
use crate::leaving::Leaving;
use crate::limits::{ARRIVALS_SHARE, CUT_TIME, EAR_TIME, FAREWELL_TIME, STRANGERS_MAX, THREAD_TIME};
use crate::pool::Pool;
use crate::quotas::Quotas;
use crate::settings::{Admission, Notice, Settings};
use crate::socket::{Listener, Listeners};
use crate::tls::{Identity, Watch};
use crate::transactions::{Open, Transactions};
use crate::wire::{HANG_UP, Wire, timespec};

/// The longest time for which the front does not look at the order to end.
pub(crate) const LOOK_TIME: Duration = Duration::from_millis(100);

/// Servers that this process runs for others, each on a thread.
#[derive(Default)]
pub(crate) struct Guests {
    answer: OnceLock<fn(&Server, &UnixStream)>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Guests {
    /// Processes that pass their sockets are answered so from now on.
    pub(crate) fn answer_by(&self, answer: fn(&Server, &UnixStream)) {
        // The first stays; there is one way to answer.
        let _ = self.answer.set(answer);
    }

    /// Answers the process at the other end of a connection.
    pub(crate) fn take_in(&self, host: Arc<Server>, stream: UnixStream) {
        let Some(&answer) = self.answer.get() else { return };
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        // Without a thread the connection is closed, and the other process tries again.
        threads.extend(std::thread::Builder::new().name("guest".into()).spawn(move || answer(&host, &stream)));
    }

    /// Waits for the end of all, which they come to once their host is ending.
    pub(crate) fn join(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // One that has panicked has ended as well.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// State of a server that its threads share.
pub(crate) struct Server {
    /// The database that the server was started with.
    pub(crate) database: Database,
    /// That one, and the others.
    pub(crate) databases: Arc<Databases>,
    pub(crate) settings: Settings,
    /// `None` if everybody may come in.
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) audit: Audit,
    identity: Option<Arc<Identity>>,
    arrivals: Arc<Arrivals>,
    pub(crate) bookmarks: Bookmarks,
    pub(crate) pool: Pool,
    pub(crate) quotas: Quotas,
    /// Transactions of clients of HTTP, between their requests.
    pub(crate) transactions: Transactions,
    pub(crate) counts: Counts,
    /// Servers that other processes asked for.
    pub(crate) guests: Guests,
    /// Connections that threads have given back.
    parked: Mutex<Vec<Connection>>,
    /// Sockets of the connections that threads have.
    at_work: Mutex<Vec<AtWork>>,
    /// Connections that have ended, whose clients have not taken note of it; and whether these had not logged in.
    ended: Mutex<Vec<(Arc<Wire>, bool)>>,
    waker: UnixStream,
    is_ending: AtomicBool,
    pub(crate) connections: AtomicUsize,
    pub(crate) strangers: AtomicUsize,
    next: AtomicU64,
}

impl Server {
    /// Nanoseconds of the clock by which waits are measured.
    pub(crate) fn now_ns(&self) -> u64 {
        self.database.clock().now_ns()
    }

    /// True once no new work is taken on.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Says to the databases where they are reached, and who keeps them.
    fn tell_sites(&self, addresses: &[SocketAddr]) {
        let own = addresses.first().map(SocketAddr::to_string);
        let keeper = Keeper {
            databases: Arc::downgrade(&self.databases),
            credentials: self.credentials.clone(),
            audit: self.audit.clone(),
            address: self.settings.advertised.clone().or(own).unwrap_or_default().into(),
            neighbors: Neighbors::default(),
        };
        self.databases.all().iter().for_each(|place| keeper.tell(place));
    }

    /// Gives a connection to the front.
    pub(crate) fn park(&self, connection: Connection) {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        self.wake();
    }

    /// Gives a connection that has ended to the front, to wait until its client has taken note of it.
    pub(crate) fn see_off(&self, wire: Arc<Wire>, is_stranger: bool) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push((wire, is_stranger));
        self.wake();
    }

    /// A thread has left a connection.
    pub(crate) fn left(&self, wire: &Arc<Wire>) {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).retain(|held| !Arc::ptr_eq(&held.wire, wire));
    }
}

impl Server {
    /// A server that nobody has reached yet, and the end of the pipe that wakes its front.
    pub(crate) fn new(
        database: Database,
        settings: Settings,
        credentials: Option<Credentials>,
        identity: Option<Arc<Identity>>,
    ) -> Result<(Arc<Server>, UnixStream)> {
        let pipe = || -> std::io::Result<(UnixStream, UnixStream)> {
            let (waker, woken) = UnixStream::pair()?;
            waker.set_nonblocking(true)?;
            woken.set_nonblocking(true)?;
            Ok((waker, woken))
        };
        let (waker, woken) = pipe().map_err(|cause| error!(Io, "cannot make a pipe: {cause}"))?;
        let arrivals = Arrivals::new((database.memory().limit() / ARRIVALS_SHARE).max(settings.message_bytes_max));
        let bookmarks = Bookmarks::new(database.path());
        let databases = Arc::new(Databases::open(database.clone(), settings.databases.clone())?);
        let quotas = Quotas::new(settings.user_memory_bytes_max);
        let audit = Audit(settings.audit_log.clone());
        let server = Server {
            database,
            databases,
            settings,
            credentials: credentials.map(Arc::new),
            audit,
            identity,
            arrivals,
            bookmarks,
            pool: Pool::default(),
            quotas,
            transactions: Transactions::default(),
            counts: Counts::default(),
            guests: Guests::default(),
            parked: Mutex::default(),
            at_work: Mutex::default(),
            ended: Mutex::default(),
            waker,
            is_ending: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            strangers: AtomicUsize::new(0),
            next: AtomicU64::new(1),
        };
        Ok((Arc::new(server), woken))
    }

    /// Lets the front look around.
    pub(crate) fn wake(&self) {
        // If the pipe is full, the front is awake.
        let _ = (&self.waker).write(&[0]);
    }
}

/// Serves a database until it is asked to end, and then until what is at work has ended, or its time is over. `ready` is called
/// with the addresses once clients can come.
///
/// # Errors
/// Fails if an address cannot be listened on, or the file of users or those of the certificate cannot be read.
pub fn serve(database: Database, settings: Settings, end: &Interrupt, ready: impl FnOnce(&[SocketAddr])) -> Result<()> {
    serve_on(Listeners::bind(&settings.listen)?, database, settings, end, ready)
}

/// Like [`serve`], on sockets that listen already.
///
/// # Errors
/// Those of [`serve`], but for the addresses.
pub fn serve_on(
    listeners: Listeners,
    database: Database,
    settings: Settings,
    end: &Interrupt,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<()> {
    let (addresses, drain) = (listeners.addresses(), settings.drain);
    let notice = settings.notice.clone();
    let mut front = start(database.clone(), listeners, settings)?;
    ready(&addresses);
    std::thread::scope(|scope| {
        if database.config().access == Access::ReadOnly {
            scope.spawn(|| follow(&database, &notice, end));
        }
        while end.check_unpaused().is_ok() {
            front.turn(LOOK_TIME);
        }
        front.drain(drain);
    });
    Ok(())
}

/// Moves a database that is only read on to what another process has committed, again and again until the server ends. A state that
/// cannot be read is told once, and tried again; readers keep what they have.
fn follow(database: &Database, notice: &Notice, end: &Interrupt) {
    let mut is_behind = false;
    while end.check_unpaused().is_ok() {
        match database.refresh(end) {
            Err(error) if !is_behind && error.code() != ErrorCode::Cancelled => {
                (notice.0)(&format!("clients read an older state, the newest cannot be read: {error}"));
                is_behind = true;
            }
            Ok(_) if is_behind => {
                (notice.0)("clients read the newest state again");
                is_behind = false;
            }
            _ => {}
        }
        std::thread::sleep(LOOK_TIME);
    }
}

/// A server that clients can reach, with its users and its certificate.
pub(crate) fn start(database: Database, listeners: Listeners, settings: Settings) -> Result<Front> {
    let credentials = match &settings.admission {
        Admission::Users(file) => Some(Credentials::read(file)?),
        Admission::Everybody => None,
    };
    let identity = settings.tls.as_ref().map(|tls| Identity::read(tls).map(Arc::new)).transpose()?;
    let (server, woken) = Server::new(database, settings, credentials, identity)?;
    server.tell_sites(&listeners.addresses());
    Ok(Front::new(server, listeners.0, woken))
}

/// Sockets that a turn has found.
#[derive(Default)]
struct Found {
    listeners: Vec<usize>,
    waiting: Vec<usize>,
    heard: Vec<usize>,
    leaving: Vec<usize>,
    /// Places of waiting clients that have said something without reading their answers.
    saying: Vec<usize>,
}

/// The front of a server.
pub(crate) struct Front {
    server: Arc<Server>,
    listeners: Vec<Listener>,
    woken: UnixStream,
    /// Connections that wait for a request, or for their client to read.
    waiting: Vec<Connection>,
    /// Sockets of the statements that run.
    heard: Vec<AtWork>,
    /// Connections that have ended.
    leaving: Leaving,
    /// The files of the certificate.
    watch: Option<Watch>,
    /// No connection is accepted before that moment: there were no file descriptors left for one.
    full_until_ns: u64,
    /// The connection to the process for which this one serves: whatever comes on it ends a wait.
    asker: Option<UnixStream>,
}

impl Front {
    /// The front of a server that listens there.
    pub(crate) fn new(server: Arc<Server>, listeners: Vec<Listener>, woken: UnixStream) -> Front {
        let watch = server.identity.as_ref().map(|identity| identity.watch(server.now_ns()));
        Front {
            server,
            listeners,
            woken,
            waiting: Vec::new(),
            heard: Vec::new(),
            leaving: Leaving::default(),
            watch,
            full_until_ns: 0,
            asker: None,
        }
    }

    /// Serves for the process at the other end of a connection.
    pub(crate) fn serve_for(&mut self, asker: UnixStream) {
        self.asker = Some(asker);
    }

    /// True if there are no clients, so that nothing happens before the next one comes.
    pub(crate) fn is_alone(&self) -> bool {
        self.waiting.is_empty() && self.leaving.is_empty() && self.server.connections.load(Ordering::Relaxed) == 0
    }

    /// Waits until something happens, but no longer than that, and sees to it.
    pub(crate) fn turn(&mut self, limit: Duration) {
        self.fetch();
        let is_busy = self.listen_to_statements();
        let now = self.server.now_ns();
        let idle_ns = self.server.settings.idle_http_transaction.as_nanos() as u64;
        let due = self.waiting.iter().filter_map(|connection| connection.deadline_ns());
        let due = due.chain(self.server.transactions.next_end_ns(idle_ns)).chain(self.leaving.next_end_ns()).min();
        let due = due.map_or(limit, |due| Duration::from_nanos(due.saturating_sub(now)).min(limit));
        let found = self.poll(if is_busy { due.min(EAR_TIME) } else { due });
        let now = self.server.now_ns();
        for place in found.heard {
            // A statement that waits for its client takes bytes itself.
            let wire = &self.heard[place].wire;
            if wire.is_running() {
                wire.receive(now);
            }
        }
        let interval_ns = self.server.settings.keep_alive.as_nanos() as u64;
        self.heard
            .iter()
            .filter(|at_work| at_work.wire.is_running())
            .for_each(|at_work| at_work.attend(now, interval_ns));
        if let (Some(identity), Some(watch)) = (&self.server.identity, &mut self.watch)
            && let Some(notice) = identity.look(watch, now)
        {
            (self.server.settings.notice.0)(&notice);
        }
        for place in found.listeners {
            self.accept(place);
        }
        self.leaving.look(&found.leaving, now);
        self.hear(&found.saying);
        self.dispatch(&found.waiting);
        roll_back(self.server.transactions.overdue(now, idle_ns));
        let late = self.server.now_ns().saturating_sub(THREAD_TIME.as_nanos() as u64);
        while let Some(mut connection) = self.server.pool.overdue(late) {
            self.server.left(connection.wire());
            connection.refuse_for_threads();
            match connection.is_over() {
                true => connection.close(),
                false => self.waiting.push(connection),
            }
        }
    }

    fn fetch(&mut self) {
        let mut parked = self.server.parked.lock().unwrap_or_else(PoisonError::into_inner);
        self.waiting.append(&mut parked);
        drop(parked);
        let mut ended = self.server.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.server.now_ns();
        ended.drain(..).for_each(|(wire, is_stranger)| self.leaving.push(wire, is_stranger, now));
    }

    /// Chooses the statements to listen to: those that run now. True if a thread is at work.
    fn listen_to_statements(&mut self) -> bool {
        let at_work = self.server.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        self.heard = at_work.iter().filter(|at_work| at_work.wire.is_running()).cloned().collect();
        !at_work.is_empty()
    }

    fn poll(&mut self, limit: Duration) -> Found {
        let mut fds = vec![PollFd::new(&self.woken, PollFlags::IN)];
        let is_full = self.server.now_ns() < self.full_until_ns;
        let of_listener = if is_full { PollFlags::empty() } else { PollFlags::IN };
        fds.extend(self.listeners.iter().map(|listener| PollFd::new(listener, of_listener)));
        for connection in &self.waiting {
            // Requests of a client that does not read its answers wait until it does.
            // They are looked at for a goodbye alone.
            let flags = match (connection.sends(), connection.wire().has_room()) {
                (true, true) if connection.hears() => PollFlags::OUT | PollFlags::IN,
                (true, _) => PollFlags::OUT,
                (false, true) => PollFlags::IN,
                (false, false) => PollFlags::empty(),
            };
            fds.push(PollFd::from_borrowed_fd(connection.wire().fd(), flags | HANG_UP));
        }
        // A client that is given up is not listened to: its end would be found again and again.
        let heard: Vec<usize> = (0..self.heard.len()).filter(|&place| !self.heard[place].wire.is_gone()).collect();
        fds.extend(heard.iter().map(|&place| {
            let wire = &self.heard[place].wire;
            let flags = if wire.has_room() { PollFlags::IN } else { PollFlags::empty() };
            PollFd::from_borrowed_fd(wire.fd(), flags | HANG_UP)
        }));
        fds.extend(self.leaving.fds());
        fds.extend(self.asker.iter().map(|asker| PollFd::new(asker, PollFlags::IN | HANG_UP)));
        let mut found = Found::default();
        if poll(&mut fds, Some(&timespec(limit))).is_err() {
            return found;
        }
        let ends = [self.listeners.len(), self.waiting.len(), heard.len()];
        for (place, fd) in fds.iter().enumerate().skip(1).filter(|(_, fd)| !fd.revents().is_empty()) {
            let mut place = place - 1;
            let kind = ends.iter().position(|&count| {
                let is_here = place < count;
                place -= if is_here { 0 } else { count };
                is_here
            });
            match kind {
                Some(0) => found.listeners.push(place),
                Some(1) if fd.revents() == PollFlags::IN && self.waiting[place].sends() => found.saying.push(place),
                Some(1) => found.waiting.push(place),
                Some(_) => found.heard.push(heard[place]),
                // Behind them comes the connection to the process for which this one serves.
                None => found.leaving.push(place),
            }
        }
        let is_woken = !fds[0].revents().is_empty();
        drop(fds);
        let mut buffer = [0; 256];
        while is_woken && self.woken.read(&mut buffer).is_ok_and(|count| count == buffer.len()) {}
        found
    }

    fn accept(&mut self, place: usize) {
        loop {
            let (stream, peer) = match self.listeners[place].accept() {
                Ok(accepted) => accepted,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return,
                // Without file descriptors, say, it is tried again after a while.
                Err(_) => {
                    self.full_until_ns = self.server.now_ns() + LOOK_TIME.as_nanos() as u64;
                    return;
                }
            };
            self.server.counts.connection();
            let is_full = self.server.connections.load(Ordering::Relaxed) >= self.server.settings.connections_max;
            if self.server.strangers.load(Ordering::Relaxed) >= STRANGERS_MAX {
                if is_full {
                    continue;
                }
                self.evict();
            }
            let held = self.server.database.memory().empty(Consumer::Query);
            let share = Share::new(self.server.arrivals.clone(), held);
            let identity = self.server.identity.clone();
            let Ok(wire) = Wire::new(stream, peer, self.server.settings.newest, share, identity) else { continue };
            let number = self.server.next.fetch_add(1, Ordering::Relaxed);
            self.waiting.push(Connection::new(self.server.clone(), Arc::new(wire), number, is_full));
        }
    }

    /// Closes the connection that has waited longest without logging in; a client that means to log in does so at once.
    fn evict(&mut self) {
        let oldest = self.waiting.iter().enumerate().filter(|(_, connection)| connection.is_stranger());
        if let Some((place, _)) = oldest.min_by_key(|(_, connection)| connection.number()) {
            drop(self.waiting.swap_remove(place));
        }
    }

    /// Hears what clients say that do not read their answers.
    fn hear(&mut self, saying: &[usize]) {
        let now = self.server.now_ns();
        saying.iter().for_each(|&place| self.waiting[place].hear(now));
    }

    /// Gives the connections on which something has happened to threads, and those whose time is over.
    fn dispatch(&mut self, found: &[usize]) {
        let now = self.server.now_ns();
        let mut place = self.waiting.len();
        while place > 0 {
            place -= 1;
            let connection = &self.waiting[place];
            let is_due = connection.deadline_ns().is_some_and(|due| due <= now);
            let has_request = connection.wire().has_message() && !connection.has_unsent();
            if is_due || has_request || connection.is_leaving() || found.binary_search(&place).is_ok() {
                let mut connection = self.waiting.swap_remove(place);
                // Without a thread, answers go on nevertheless. A client that has closed its end is not looked at again and again.
                let has_ended = connection.wire().is_gone() || connection.wire().is_hung_up();
                let may_send = !is_due && connection.sends() && !has_ended;
                if may_send && self.server.pool.is_full(self.server.settings.statements_max) {
                    connection.send_on();
                    if connection.sends() || !connection.needs_thread() {
                        self.waiting.push(connection);
                        continue;
                    }
                }
                let mut at_work = self.server.at_work.lock().unwrap_or_else(PoisonError::into_inner);
                at_work.push(connection.at_work());
                drop(at_work);
                self.server.pool.put(&self.server, connection);
            }
        }
    }

    /// Lets what is at work come to its end within that time, and closes what is not.
    pub(crate) fn drain(&mut self, limit: Duration) {
        self.server.is_ending.store(true, Ordering::Release);
        self.listeners.clear();
        self.asker = None;
        let start = self.server.now_ns();
        let end = start + limit.as_nanos() as u64;
        loop {
            // A thread parks its connection before it is idle: so whoever is parked is seen by now, if no thread is at work.
            let was_busy = self.server.pool.is_busy();
            self.fetch();
            let is_empty = self.waiting.is_empty();
            // Requests of idle clients are heard once more, and refused in a way that has them try again; then they are closed.
            let is_idle = |place: &usize| !self.waiting[*place].is_at_work();
            let idle: Vec<usize> = (0..self.waiting.len()).filter(is_idle).collect();
            self.dispatch(&idle);
            self.leaving.settle(start, self.server.now_ns());
            if is_empty && !was_busy && self.leaving.is_empty() || self.server.now_ns() >= end {
                break;
            }
            self.turn(EAR_TIME);
        }
        self.waiting.clear();
        drop(self.server.transactions.clear());
        // Statements observe the interrupt within milliseconds, and their clients are told; one that does not is left behind when
        // the process ends.
        let end = self.server.now_ns() + CUT_TIME.as_nanos() as u64;
        while !self.server.pool.close() && self.server.now_ns() < end {
            let at_work = self.server.at_work.lock().unwrap_or_else(PoisonError::into_inner).clone();
            at_work.iter().for_each(|at_work| at_work.wire.cut());
            std::thread::sleep(EAR_TIME);
        }
        self.fetch();
        self.waiting.drain(..).for_each(Connection::close);
        // Those whose time was over are told so.
        let end = self.server.now_ns() + FAREWELL_TIME.as_nanos() as u64;
        self.fetch();
        while !self.leaving.is_empty() && self.server.now_ns() < end {
            self.turn(EAR_TIME);
            self.leaving.settle(start, self.server.now_ns());
        }
    }
}

/// Rolls transactions back whose time is over, which may take longer than the front has time for.
fn roll_back(over: Vec<Open>) {
    if !over.is_empty() {
        // Without a thread they are rolled back here.
        let _ = std::thread::Builder::new().name("rollback".into()).spawn(move || drop(over));
    }
}
