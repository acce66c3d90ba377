//! One connection: what its client asks, one request after the other.

mod link;
mod web;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bolt::message::{Scope, is_commit, is_goodbye, is_urgent};
use bolt::structures::Moments;
use bolt::{Failure, Limits, Machine, Request, State, Step, answer, own};
use database::tools::SYSTEM_NAME;
use database::{Client, DATABASE_NAME, Database, Quota, Session};
use model::limits::VALUE_DEPTH_MAX;
use parking_lot::Mutex;

use crate::convert::Form;
use crate::databases::{Found, Place};
use crate::limits::{
    ATTENDED_BYTES_MAX, HALF_MESSAGE_TIME, HTTP_IDLE_TIME, LOGIN_TIME, SEND_BYTES, SEND_TIME,
    STRANGER_MESSAGE_BYTES_MAX, UNSENT_BYTES_MAX, VALUES_PER_MESSAGE,
};
use crate::serve::Server;
use crate::transactions::Transaction;
use crate::wire::Wire;
use crate::{failure, login, statement};
pub(crate) use link::{HeldLink, Link};

/// Fate of a connection that a thread has served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It waits for its client.
    Park,
    /// It ends.
    Close,
    /// Its socket is somebody else's from now on.
    Leave,
}

/// A connection that a thread serves, as the front sees it.
#[derive(Clone)]
pub(crate) struct AtWork {
    pub(crate) wire: Arc<Wire>,
    link: Arc<Mutex<Link>>,
}

impl AtWork {
    /// Looks after the statement that runs while its thread computes: rows that are there are sent as they are asked for, and its
    /// client hears that the server is alive.
    pub(crate) fn attend(&self, now_ns: u64, interval_ns: u64) {
        // A thread that has the link sends something better. One that does not have it computes.
        if let Some(mut link) = self.link.try_lock() {
            link.attend();
        }
        self.wire.beat(now_ns, interval_ns);
    }
}

/// One connection.
pub(crate) struct Connection {
    /// Held by the connection, but while a statement computes.
    pub(crate) link: HeldLink,
    pub(crate) session: Option<Session>,
    pub(crate) transaction: Option<Transaction>,
    number: u64,
    came_ns: u64,
    /// Since when nothing was asked over HTTP.
    quiet_since_ns: Option<u64>,
    pub(crate) is_agreed: bool,
    pub(crate) is_by_manifest: bool,
    /// True if the client speaks HTTP.
    is_http: bool,
    is_stranger: bool,
    /// True if it is one too many, and only hears that.
    is_extra: bool,
    /// True if its client has said goodbye before it has read its answers.
    is_leaving: bool,
    /// Memory of the values of the request at hand.
    pub(crate) request_bytes: usize,
    /// True if the parameters of the request at hand have their types beside them.
    pub(crate) takes_types: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.link.wire.give_up();
        if !self.is_extra {
            self.link.server.connections.fetch_sub(1, Ordering::Relaxed);
        }
        if self.is_stranger {
            self.link.server.strangers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Connection {
    /// A connection that has just come; one that is too many only hears that.
    pub(crate) fn new(server: Arc<Server>, wire: Arc<Wire>, number: u64, is_extra: bool) -> Connection {
        if !is_extra {
            server.connections.fetch_add(1, Ordering::Relaxed);
        }
        server.strangers.fetch_add(1, Ordering::Relaxed);
        let now = server.now_ns();
        let link = Link::new(server, wire).held();
        Connection {
            link,
            session: None,
            transaction: None,
            number,
            came_ns: now,
            quiet_since_ns: None,
            is_agreed: false,
            is_by_manifest: false,
            is_http: false,
            is_stranger: true,
            is_extra,
            is_leaving: false,
            request_bytes: 0,
            takes_types: false,
        }
    }

    /// Its socket.
    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.link.wire
    }

    /// The same as others see it while a thread serves it.
    pub(crate) fn at_work(&self) -> AtWork {
        AtWork { wire: self.link.wire.clone(), link: HeldLink::mutex(&self.link).clone() }
    }

    /// Its number, in the order in which connections came.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// True as long as its client has not logged in.
    pub(crate) fn is_stranger(&self) -> bool {
        self.is_stranger
    }

    /// Its client has logged in as this user.
    pub(crate) fn let_in(&mut self, user: &str) {
        if std::mem::take(&mut self.is_stranger) {
            self.link.server.strangers.fetch_sub(1, Ordering::Relaxed);
        }
        self.link.wire.allow(self.link.server.settings.message_bytes_max);
        self.link.user = user.to_owned();
        // The first statement makes the session, in its database.
        let client = self.client();
        let quota = self.quota();
        if let Some(session) = &mut self.session {
            session.set_client(client);
            session.set_quota(quota);
        }
    }

    /// The memory limit of its user; none for processes of this machine, which come by the socket of the store.
    fn quota(&self) -> Option<Arc<Quota>> {
        self.link.wire.peer().and_then(|_| self.link.server.quotas.of(&self.link.user))
    }

    /// A session of its client in a database.
    pub(crate) fn new_session(&self, database: &Database) -> Session {
        let mut session = database.session();
        let is_network = self.link.wire.peer().is_some();
        if is_network {
            session.set_files(self.link.server.settings.files.clone());
        }
        session.set_quota(self.quota());
        if let Some(own) = &self.link.own {
            own.set(&mut session, is_network);
        }
        session.set_client(self.client());
        session
    }

    /// The database of that name: that of the server for none. Fails if it is not there, or cannot be used now.
    pub(crate) fn find(&self, database: Option<&str>) -> Result<Place, Failure> {
        match self.link.server.databases.find(database) {
            Found::Here(place) => Ok(place),
            Found::Nothing => Err(failure::no_database(database.unwrap_or_default())),
            Found::Offline(message) => Err(failure::offline(message)),
        }
    }

    /// Goes to the database of that name, outside of transactions.
    pub(crate) fn enter(&mut self, database: Option<&str>) -> Result<(), Failure> {
        let place = self.find(database)?;
        if self.session.is_none() || *self.link.database != *place.name {
            let session = self.new_session(&place.database);
            self.link.wire.stop_by(session.interrupt());
            self.link.database = place.name;
            self.session = Some(session);
        }
        Ok(())
    }

    /// Leaves a database that may be dropped, unless a transaction is open in it: a session would keep it.
    fn leave(&mut self) {
        if self.transaction.is_none() && *self.link.database != *DATABASE_NAME {
            self.session = None;
        }
    }

    /// Its client as others see it.
    pub(crate) fn client(&self) -> Client {
        let protocol = if self.is_http { "http" } else { "bolt" };
        let peer = self.link.wire.peer();
        Client {
            user: self.link.user.clone(),
            address: peer.map_or_else(|| "the socket of the store".to_owned(), |peer| peer.to_string()),
            connection: format!("{protocol}-{}", self.number),
            protocol: protocol.to_owned(),
        }
    }

    /// True if answers wait for the client to read.
    pub(crate) fn has_unsent(&self) -> bool {
        self.link.has_unsent()
    }

    /// True if a client that does not read its answers is to be heard: nothing that it asks waits already.
    pub(crate) fn hears(&self) -> bool {
        self.is_agreed && !self.link.is_last && !self.wire().has_message()
    }

    /// Hears a client that does not read its answers.
    pub(crate) fn hear(&mut self, now_ns: u64) {
        self.is_leaving |= self.link.wire.hear_farewell(now_ns);
    }

    /// True if it has said goodbye, and a thread is to see to it.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving || self.wire().is_gone()
    }

    /// True if rows that are there, or other answers, are to be sent, for which no thread is needed.
    pub(crate) fn sends(&self) -> bool {
        self.has_unsent() || self.link.answering.is_some()
    }

    /// True if it asks for something, or is to be closed.
    pub(crate) fn needs_thread(&self) -> bool {
        self.wire().has_message() || self.is_leaving() || self.link.is_last
    }

    /// Sends rows that are there and wanted, and other answers, as far as the client takes them, and no more than a share, since
    /// the front serves others too.
    pub(crate) fn send_on(&mut self) {
        for _ in 0..ATTENDED_BYTES_MAX / UNSENT_BYTES_MAX {
            self.link.pump();
            self.link.flush();
            if self.link.has_unsent() || self.link.answering.is_none() {
                return;
            }
        }
    }

    /// True once all that its client is to hear was sent.
    pub(crate) fn is_over(&self) -> bool {
        self.wire().is_gone() || self.link.is_last && !self.has_unsent()
    }

    /// True if something of its client is under way.
    pub(crate) fn is_at_work(&self) -> bool {
        // A transaction over HTTP may go on over any connection.
        let is_at_http = self.is_http && (self.link.reply.is_some() || self.link.server.transactions.count() > 0);
        self.transaction.is_some() || !self.link.streams.is_empty() || self.has_unsent() || is_at_http
    }

    /// The moment at which it does not wait any longer.
    pub(crate) fn deadline_ns(&self) -> Option<u64> {
        let login = self.is_stranger.then(|| self.came_ns + LOGIN_TIME.as_nanos() as u64);
        let stalled = self.link.stalled_ns.map(|since| since + SEND_TIME.as_nanos() as u64);
        let transaction = self.transaction.as_ref().map(|transaction| {
            let idle =
                transaction.touched_ns.saturating_add(self.link.server.settings.idle_transaction.as_nanos() as u64);
            let is_terminated = self.session.as_ref().is_some_and(Session::is_terminated);
            if is_terminated { 0 } else { transaction.deadline_ns.map_or(idle, |deadline| deadline.min(idle)) }
        });
        let half = self.link.wire.half_since_ns().map(|since| since + HALF_MESSAGE_TIME.as_nanos() as u64);
        let quiet = self.quiet_since_ns.map(|since| since + HTTP_IDLE_TIME.as_nanos() as u64);
        [login, stalled, half, quiet, transaction].into_iter().flatten().min()
    }

    /// Does what the client has asked, until it asks nothing more.
    pub(crate) fn serve(&mut self) -> Next {
        self.is_leaving = false;
        let mut is_new = false;
        loop {
            self.check_time();
            // Requests that have just come are looked at before there is another read.
            if !std::mem::take(&mut is_new) {
                self.link.receive();
            }
            if let Some(stream) = self.link.wire.handover() {
                self.link.server.guests.take_in(self.link.server.clone(), stream);
                return Next::Leave;
            }
            self.greet();
            self.take_messages();
            self.refuse_nonsense();
            self.link.pump();
            self.link.flush();
            if self.link.wire.is_gone() || self.link.wire.is_cut() {
                return Next::Close;
            }
            if self.link.has_unsent() {
                // A goodbye asks for nothing that was not done.
                if !self.link.is_last && self.link.wire.next_is(is_goodbye) {
                    self.end();
                    continue;
                }
                // The front waits until the client reads.
                self.leave();
                return Next::Park;
            }
            if self.link.is_last {
                return Next::Close;
            }
            if self.link.answering.is_some() || self.link.wire.has_message() {
                continue;
            }
            if self.link.server.is_ending() && !self.is_at_work() {
                return Next::Close;
            }
            let server = &self.link.server;
            is_new = !server.pool.is_short() && self.link.wire.receive_soon(|| server.now_ns());
            if !is_new {
                self.quiet_since_ns = (self.is_http && !self.is_stranger).then(|| self.link.server.now_ns());
                self.leave();
                return Next::Park;
            }
        }
    }

    /// Ends it. The client has a while to read the last answer.
    pub(crate) fn close(mut self) {
        let is_left = self.link.is_last || self.link.wire.is_gone() || self.is_at_work();
        if self.link.server.is_ending() && self.link.own.is_some() && !is_left {
            // A request of our own client that is on its way learns that it was not taken.
            self.link.fail(failure::ending());
        }
        self.session = None;
        self.link.flush();
        let (server, wire) = (self.link.server.clone(), self.link.wire.clone());
        let (is_gone, is_stranger) = (wire.is_gone(), self.is_stranger);
        drop(self);
        if !wire.leave() && !is_gone {
            server.see_off(wire, is_stranger);
        }
    }

    /// Nothing more is answered.
    fn end(&mut self) {
        self.roll_back();
        self.link.streams.clear();
        self.link.answering = None;
        self.link.is_last = true;
    }

    fn check_time(&mut self) {
        let now = self.link.server.now_ns();
        if self.deadline_ns().is_none_or(|deadline| now < deadline) {
            return;
        }
        let is_over =
            |since: Option<u64>, time: Duration| since.is_some_and(|since| since + time.as_nanos() as u64 <= now);
        let is_half =
            is_over(self.link.wire.half_since_ns(), HALF_MESSAGE_TIME) || is_over(self.quiet_since_ns, HTTP_IDLE_TIME);
        if self.is_stranger || is_half || is_over(self.link.stalled_ns, SEND_TIME) {
            return self.link.wire.give_up();
        }
        let is_terminated = self.session.as_ref().is_some_and(Session::is_terminated);
        self.roll_back();
        self.link.streams.clear();
        self.link.answering = None;
        self.link.deferred = Some(if is_terminated { failure::terminated() } else { failure::timed_out() });
    }

    /// Undoes the transaction, if one is open.
    pub(crate) fn roll_back(&mut self) {
        self.transaction = None;
        if let Some(session) = &mut self.session
            && session.in_transaction()
        {
            // It fails only without a transaction.
            let _ = session.rollback();
        }
    }

    fn greet(&mut self) {
        if self.is_agreed {
            return;
        }
        self.is_http = self.link.wire.is_http();
        let greeting = self.link.wire.greeting();
        self.link.out.extend(greeting.reply);
        if let Some((version, is_by_manifest)) = greeting.agreed {
            self.is_agreed = true;
            self.is_by_manifest = is_by_manifest;
            self.link.machine = Machine::new(version);
            let moments = if version.is_utc() { Moments::Utc } else { Moments::Local };
            self.link.form = Form { version, moments, is_own: false };
        }
    }

    fn take_messages(&mut self) {
        let is_talking = self.is_agreed || self.is_http;
        while is_talking && !self.link.is_last && (!self.link.wire.is_gone() || self.has_commit()) {
            // One request after the other: the rows that are wanted come first, unless the client wants them no more.
            self.link.pump();
            let may_go_on = self.link.answering.is_none() || self.link.wire.is_interrupted();
            if !may_go_on || self.link.unsent_bytes() >= UNSENT_BYTES_MAX || !self.take_next() {
                return;
            }
            if self.link.out.len() >= SEND_BYTES {
                self.link.flush();
            }
        }
    }

    /// True if all of an open transaction has run, and the request to commit it comes next.
    fn has_commit(&self) -> bool {
        !self.is_http && self.transaction.is_some() && self.link.wire.next_is(is_commit)
    }

    /// Takes the next message. False if there is none.
    fn take_next(&mut self) -> bool {
        match (self.link.wire.next(), self.is_http) {
            (Some(message), true) => {
                self.quiet_since_ns = None;
                web::take(self, &message);
                true
            }
            (Some(message), false) => {
                self.take(message);
                true
            }
            (None, true) => {
                let has_taken = web::take_question(self);
                // It may have been a WebSocket that begins.
                self.greet();
                has_taken
            }
            (None, false) => false,
        }
    }

    /// Tells the client of bytes that are no message, and ends the connection.
    fn refuse_nonsense(&mut self) {
        if self.link.is_last || self.link.reply.is_some() {
            return;
        }
        match self.link.wire.refusal() {
            Some(refusal) if self.is_http => web::refuse(self, refusal),
            Some(refusal) => self.refuse(*refusal.failure),
            None => {}
        }
    }

    /// The most memory that values of a request may take.
    pub(crate) fn values_bytes_max(&self) -> usize {
        let message =
            if self.is_stranger { STRANGER_MESSAGE_BYTES_MAX } else { self.link.server.settings.message_bytes_max };
        message.saturating_mul(VALUES_PER_MESSAGE)
    }

    fn take(&mut self, message: Vec<u8>) {
        self.link.note_resets();
        if self.link.machine.state() == State::Interrupted && self.link.answering.take().is_some() {
            // The rows that were wanted are not any more.
            self.link.streams.clear();
            answer::ignored(&mut self.link.out);
        }
        let limits = Limits { depth: VALUE_DEPTH_MAX as usize, memory: self.values_bytes_max() };
        let read = Request::read_charged(&message, self.link.form.version, limits);
        drop(message);
        let request = match read {
            Ok((request, bytes)) => {
                self.request_bytes = bytes;
                request
            }
            Err(cause) => return self.refuse(failure::of_protocol(cause.to_string())),
        };
        match self.link.machine.take(&request) {
            Step::Act => self.act(request),
            Step::Ignore => answer::ignored(&mut self.link.out),
            Step::Refuse => {
                let message = format!("{} is not expected here", request.name());
                self.refuse(failure::of_protocol(message));
            }
            Step::Close => self.end(),
        }
        if let Some(transaction) = &mut self.transaction {
            transaction.touched_ns = self.link.server.now_ns();
        }
    }

    /// Answers with a failure, and ends the connection.
    pub(crate) fn refuse(&mut self, failure: Failure) {
        self.link.fail(failure);
        self.end();
    }

    /// Answers the next request: there was no thread for it.
    pub(crate) fn refuse_for_threads(&mut self) {
        if self.link.is_last || self.sends() {
            return self.send_on();
        }
        self.link.receive();
        self.greet();
        let has_begun = self.is_agreed || self.is_http;
        if has_begun && !self.wire().is_gone() && !self.wire().has_message() {
            // Its request has not come whole, and has no answer yet.
            return self.link.flush();
        }
        let message = "all threads of the server are at work on other statements";
        let description = "connection exception - database unavailable";
        let failure = failure::plain("Neo.TransientError.Request.NoThreadsAvailable", "08N09", description, message);
        self.roll_back();
        if self.is_http {
            drop(self.link.wire.next());
            web::refuse(self, failure.into());
            self.end();
            return self.link.flush();
        }
        if !self.is_agreed || self.wire().is_gone() {
            return self.link.wire.give_up();
        }
        if self.is_stranger {
            self.refuse(failure);
            return self.link.flush();
        }
        if self.link.wire.next_is(is_urgent) {
            // It takes no statement.
            self.take_next();
            return self.send_on();
        }
        // The first request is answered, those behind it are ignored until the client resets.
        drop(self.link.wire.next());
        self.link.fail(failure);
        while self.link.wire.next_is(|message| !is_urgent(message)) {
            drop(self.link.wire.next());
            answer::ignored(&mut self.link.out);
        }
        self.link.flush();
    }

    /// Fails, and undoes the transaction: what has failed within it cannot be committed, unless its client is our own.
    pub(crate) fn fail(&mut self, failure: Failure) {
        self.leave_transaction();
        self.link.fail(failure);
    }

    fn act(&mut self, request: Request) {
        if self.is_extra {
            return self.refuse(failure::too_many_connections(self.link.server.settings.connections_max));
        }
        if request != Request::Reset
            && let Some(failure) = self.link.deferred.take()
        {
            return self.fail(failure);
        }
        match &request {
            Request::Hello(_) | Request::Logon(_) | Request::Logoff => login::act(self, request),
            Request::Telemetry(_) => self.link.succeed(&request),
            Request::Reset => {
                self.link.streams.clear();
                self.link.answering = None;
                self.link.deferred = None;
                if self.link.own.is_some() {
                    return self.reset_own();
                }
                self.roll_back();
                self.link.succeed(&request);
            }
            Request::Pull(portion) => self.link.ask(*portion, false),
            Request::Discard(portion) => self.link.ask(*portion, true),
            Request::Route(..) => self.route(&request),
            Request::Run(..) => statement::run(self, request),
            Request::Begin(_) => statement::begin(self, request),
            Request::Commit => statement::commit(self),
            Request::Rollback => {
                self.roll_back();
                self.link.streams.clear();
                self.link.succeed(&request);
            }
            Request::Goodbye => self.end(),
        }
    }

    /// A request has failed: the transaction is undone, unless its client is our own, and it is open still.
    pub(crate) fn leave_transaction(&mut self) {
        let is_open = self.session.as_ref().is_some_and(Session::in_transaction);
        if self.link.own.is_none() || !is_open {
            self.roll_back();
        }
    }

    /// `RESET` of one of our own clients: a transaction that is open stays so.
    fn reset_own(&mut self) {
        let is_open = self.session.as_ref().is_some_and(Session::in_transaction) && self.transaction.is_some();
        if !is_open {
            self.roll_back();
        }
        answer::success(&mut self.link.out, |out| {
            out.map(1);
            out.string(own::IN_TRANSACTION);
            out.bool(is_open);
        });
        self.link.machine.succeed(&Request::Reset);
        if is_open {
            self.link.machine.resume();
        }
    }

    fn route(&mut self, request: &Request) {
        let Request::Route(routing, _, database, impersonated) = request else { return };
        let found =
            statement::check_impersonation(impersonated.as_deref()).and_then(|()| self.find(database.as_deref()));
        let name = match found {
            // Drivers keep the answer under the name that it gives.
            Ok(_) if statement::is_system(database.as_deref()) => SYSTEM_NAME.into(),
            Ok(place) => place.name,
            Err(failure) => return self.link.fail(failure),
        };
        let server = &self.link.server;
        let dialled = bolt::message::text(routing, "address").map(str::to_owned);
        let own = self.link.wire.own_address().map(|address| address.to_string());
        let address = dialled.or(server.settings.advertised.clone()).or(own).unwrap_or_default();
        answer::success(&mut self.link.out, |out| {
            out.map(1);
            out.string("rt");
            out.map(3);
            out.string("ttl");
            out.int(300);
            out.entry("db", &name);
            out.string("servers");
            out.list(3);
            for role in ["ROUTE", "READ", "WRITE"] {
                out.map(2);
                out.string("addresses");
                out.list(1);
                out.string(&address);
                out.entry("role", role);
            }
        });
    }

    /// Time that the statement at hand may take: the least of what the client says, the server allows and is left of the
    /// transaction.
    pub(crate) fn time_limit(&self, scope: &Scope) -> Option<Duration> {
        let asked =
            scope.timeout_ms.filter(|limit| *limit > 0).map(|limit| Duration::from_millis(limit.unsigned_abs()));
        let left = self.transaction.as_ref().and_then(|transaction| transaction.deadline_ns);
        let left = left.map(|deadline| Duration::from_nanos(deadline.saturating_sub(self.link.server.now_ns())));
        [asked, self.link.server.settings.timeout, left].into_iter().flatten().min()
    }
}
