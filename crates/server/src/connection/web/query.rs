//! The Query API: statements, each a transaction of its own, or within transactions that stay open between requests.

use std::sync::Arc;

use bolt::message::{Map, Mode, Scope};
use bolt::{Request, Value};
use database::Session;

use crate::connection::Connection;
use crate::http::result::{self, Told};
use crate::http::{ACCEPTED, Head, Json, Refusal, read_json};
use crate::serve::Server;
use crate::transactions::{Found, Open, Owner, Transaction};
use crate::{credentials, failure, statement};

/// A request of the Query API.
struct Asked {
    statement: Option<String>,
    parameters: Map,
    scope: Scope,
    has_counters: bool,
}

fn wrong_format(message: impl Into<String>) -> Refusal {
    let description = "connection exception - protocol error";
    failure::plain("Neo.ClientError.Request.InvalidFormat", "08N06", description, message).into()
}

/// Reads a request; the answer is to have the form that it asks for.
fn read(
    connection: &mut Connection,
    head: &Head,
    body: &[u8],
    database: &str,
    may_be_arrow: bool,
) -> Result<Asked, Refusal> {
    let answer = head.accepted()?;
    if answer.is_arrow && !may_be_arrow {
        let message = "the answers of transactions that stay open are JSON: ask for Arrow outside of them";
        return Err(Refusal::new(406, message));
    }
    let content = head.content()?;
    let mut asked = Asked {
        statement: None,
        parameters: Map::new(),
        scope: Scope { database: Some(database.to_owned()), ..Scope::default() },
        has_counters: false,
    };
    connection.takes_types = content.json == Json::Typed;
    connection.request_bytes = 0;
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(asked);
    }
    let (document, bytes) = read_json(body, connection.values_bytes_max())?;
    connection.request_bytes = bytes;
    let Value::Map(entries) = document else {
        return Err(wrong_format(r#"the body is no object such as {"statement": "RETURN 1"}"#));
    };
    for (key, value) in entries {
        asked.take(&key, value)?;
    }
    Ok(asked)
}

impl Asked {
    /// Takes an entry of the body; what is not known is passed over.
    fn take(&mut self, key: &str, value: Value) -> Result<(), Refusal> {
        match (key, value) {
            (_, Value::Null) => {}
            ("statement", Value::String(text)) => self.statement = Some(text).filter(|text| !text.is_empty()),
            ("parameters", Value::Map(parameters)) => self.parameters = parameters,
            ("includeCounters", Value::Bool(is_wanted)) => self.has_counters = is_wanted,
            ("accessMode", Value::String(mode)) if mode.eq_ignore_ascii_case("read") => self.scope.mode = Mode::Read,
            ("accessMode", Value::String(mode)) if mode.eq_ignore_ascii_case("write") => self.scope.mode = Mode::Write,
            ("bookmarks", Value::List(items)) => {
                let text = |item| if let Value::String(text) = item { Some(text) } else { None };
                let bookmarks: Option<Vec<String>> = items.into_iter().map(text).collect();
                self.scope.bookmarks = bookmarks.ok_or_else(|| wrong_format("a bookmark is text"))?;
            }
            ("impersonatedUser", Value::String(name)) => self.scope.impersonated = Some(name),
            ("maxExecutionTime", Value::Int(seconds)) if seconds >= 0 => {
                self.scope.timeout_ms = Some(seconds.saturating_mul(1_000));
            }
            ("statement" | "impersonatedUser", _) => return Err(wrong_format(format!("'{key}' is text"))),
            ("parameters", _) => return Err(wrong_format("'parameters' is an object of names and values")),
            ("includeCounters", _) => return Err(wrong_format("'includeCounters' is true or false")),
            ("accessMode", _) => return Err(wrong_format("'accessMode' is \"Read\" or \"Write\"")),
            ("bookmarks", _) => return Err(wrong_format("'bookmarks' is a list of texts")),
            ("maxExecutionTime", _) => return Err(wrong_format("'maxExecutionTime' is a number of seconds")),
            _ => {}
        }
        Ok(())
    }
}

/// Runs the statement of a request, and answers.
fn execute(connection: &mut Connection, text: String, asked: Asked) {
    if let Some(reply) = &mut connection.link.reply {
        reply.shape.has_counters = asked.has_counters;
    }
    statement::run(connection, Request::Run(text, asked.parameters, asked.scope));
}

/// Runs a statement that is a transaction of its own.
pub(super) fn run(connection: &mut Connection, head: &Head, body: &[u8], database: &str) -> Result<(), Refusal> {
    let mut asked = read(connection, head, body, database, true)?;
    let text = asked.statement.take();
    let text = text.ok_or_else(|| wrong_format(r#"the body has no statement: send {"statement": "RETURN 1"}"#))?;
    execute(connection, text, asked);
    Ok(())
}

fn owner(connection: &Connection, user: &str) -> Owner {
    Owner { user: user.to_owned(), address: connection.link.wire.peer().map(|peer| peer.ip()) }
}

/// Begins a transaction that stays open.
pub(super) fn begin(
    connection: &mut Connection,
    head: &Head,
    body: &[u8],
    database: &str,
    user: &str,
) -> Result<(), Refusal> {
    let asked = read(connection, head, body, database, false)?;
    let place = connection.find(Some(database))?;
    let server = connection.link.server.clone();
    let id = credentials::random_name().map_err(|error| failure::of_error(&error, ""))?;
    let max = server.settings.connections_max;
    if !server.transactions.reserve(&id, owner(connection, user), max) {
        return Err(failure::too_many_transactions(max).into());
    }
    let session = connection.new_session(&place.database);
    visit(connection, &id, (place.name, session), None, |connection| {
        statement::open(connection, &asked.scope)?;
        continue_with(connection, &id, asked);
        Ok(())
    })
}

/// Runs the statement of a request in the transaction at hand, if it has one, and answers that the transaction is open.
fn continue_with(connection: &mut Connection, id: &str, mut asked: Asked) {
    let idle = connection.link.server.settings.idle_http_transaction;
    let told = Told { id: id.to_owned(), idle };
    let now_us = connection.link.server.database.clock().unix_us();
    let Some(reply) = &mut connection.link.reply else { return };
    match asked.statement.take() {
        Some(text) => {
            reply.shape.transaction = Some(told);
            execute(connection, text, asked);
        }
        None => {
            reply.body().push(b'{');
            result::transaction(reply.body(), &told, now_us);
            reply.body().push(b'}');
            connection.link.finish(ACCEPTED);
        }
    }
}

/// The place of a transaction in the list of those that are open, which forgets it unless it was given back.
struct Place<'p> {
    server: Arc<Server>,
    id: &'p str,
    is_kept: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.server.transactions.forget(self.id);
        }
    }
}

/// Does a request with the session of a transaction in the place of the connection's own; the transaction stays open afterwards,
/// unless it has ended.
fn visit(
    connection: &mut Connection,
    id: &str,
    (database, mut session): (Arc<str>, Session),
    transaction: Option<Transaction>,
    act: impl FnOnce(&mut Connection) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut place = Place { server: connection.link.server.clone(), id, is_kept: false };
    session.set_client(connection.client());
    connection.link.wire.stop_by(session.interrupt());
    let own = (std::mem::replace(&mut connection.link.database, database), connection.session.replace(session));
    connection.transaction = transaction;
    let done = act(connection);
    let database = std::mem::replace(&mut connection.link.database, own.0);
    let session = std::mem::replace(&mut connection.session, own.1);
    if let Some(own) = &connection.session {
        connection.link.wire.stop_by(own.interrupt());
    }
    if let (Some(session), Some(mut transaction)) = (session, connection.transaction.take()) {
        transaction.touched_ns = place.server.now_ns();
        place.is_kept = true;
        place.server.transactions.give_back(id, Open { session, database, transaction });
    }
    done
}

/// Takes a transaction out that is the client's own.
fn take(connection: &Connection, database: &str, id: &str, user: &str) -> Result<Open, Refusal> {
    let transactions = &connection.link.server.transactions;
    match transactions.take(id, &owner(connection, user)) {
        Found::Open(open) => {
            let is_here =
                open.transaction.scope.database.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(database));
            if is_here {
                return Ok(*open);
            }
            transactions.give_back(id, *open);
            Err(failure::no_transaction(id).into())
        }
        Found::Busy => Err(failure::busy_transaction(id).into()),
        Found::Nothing => Err(failure::no_transaction(id).into()),
    }
}

/// Runs a statement in a transaction, or keeps it open.
pub(super) fn go_on(
    connection: &mut Connection,
    head: &Head,
    body: &[u8],
    database: &str,
    id: &str,
    user: &str,
) -> Result<(), Refusal> {
    let asked = read(connection, head, body, database, false)?;
    let Open { session, database, transaction } = take(connection, database, id, user)?;
    visit(connection, id, (database, session), Some(transaction), |connection| {
        continue_with(connection, id, asked);
        Ok(())
    })
}

/// Commits a transaction, behind a last statement if there is one.
pub(super) fn commit(
    connection: &mut Connection,
    head: &Head,
    body: &[u8],
    database: &str,
    id: &str,
    user: &str,
) -> Result<(), Refusal> {
    let mut asked = read(connection, head, body, database, false)?;
    let Open { session, database, transaction } = take(connection, database, id, user)?;
    visit(connection, id, (database, session), Some(transaction), |connection| {
        if let Some(text) = asked.statement.take() {
            connection.link.reply.iter_mut().for_each(|reply| reply.shape.is_held = true);
            execute(connection, text, asked);
            commit_behind(connection);
            return Ok(());
        }
        let bookmark = statement::close(connection)?;
        if let Some(reply) = &mut connection.link.reply {
            reply.body().push(b'{');
            result::bookmark(reply.body(), &bookmark);
            reply.body().push(b'}');
        }
        connection.link.finish(ACCEPTED);
        Ok(())
    })
}

/// Commits behind a statement that has succeeded, and ends its answer.
fn commit_behind(connection: &mut Connection) {
    let held = connection.link.reply.as_mut().and_then(|reply| reply.held.take());
    let (Some(mut end), Some(number)) = (held, connection.link.answering) else { return };
    match statement::close(connection) {
        Ok(bookmark) => {
            end.push(b',');
            result::bookmark(&mut end, &bookmark);
            end.push(b'}');
            if let Some(stream) = connection.link.streams.get_mut(&number) {
                stream.end = Some(end);
            }
            connection.link.pump();
        }
        Err(failure) => connection.link.fail(failure),
    }
}

/// Undoes a transaction.
pub(super) fn roll_back(connection: &mut Connection, database: &str, id: &str, user: &str) -> Result<(), Refusal> {
    let Open { session, database, transaction } = take(connection, database, id, user)?;
    visit(connection, id, (database, session), Some(transaction), |connection| {
        connection.roll_back();
        if let Some(reply) = &mut connection.link.reply {
            reply.body().extend_from_slice(b"{}");
        }
        connection.link.finish(200);
        Ok(())
    })
}
