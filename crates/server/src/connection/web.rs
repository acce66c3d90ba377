//! Requests of HTTP: the place that is asked for, the client that may ask, and answers that need no statement.

mod metrics;
mod query;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use database::tools::NEO4J_VERSION;

use super::Connection;
use crate::http::{Guard, Head, Media, Refusal, Reply};
use crate::login::{self, Claim};
use crate::{failure, websocket};

/// The version of the protocol of WebSockets.
const WEBSOCKET_VERSION: &str = "13";

/// A place that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route<'p> {
    Root,
    Health,
    Metrics,
    /// Statements of a database, each a transaction of its own.
    Query(&'p str),
    /// A transaction of a database begins.
    Begin(&'p str),
    /// A transaction of a database by its name.
    Transaction(&'p str, &'p str),
    /// The end of a transaction.
    Commit(&'p str, &'p str),
}

/// The place of a path, and the methods that it takes.
fn route(path: &str) -> Option<(Route<'_>, &'static str)> {
    let path = path.strip_prefix('/')?;
    let parts: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    let (reads, posts) = ("GET, HEAD, OPTIONS", "POST, OPTIONS");
    Some(match parts[..] {
        [""] => (Route::Root, reads),
        ["health"] => (Route::Health, reads),
        ["metrics"] => (Route::Metrics, reads),
        ["db", database, "query", "v2"] => (Route::Query(database), posts),
        ["db", database, "query", "v2", "tx"] => (Route::Begin(database), posts),
        ["db", database, "query", "v2", "tx", id] => (Route::Transaction(database, id), "POST, DELETE, OPTIONS"),
        ["db", database, "query", "v2", "tx", id, "commit"] => (Route::Commit(database, id), posts),
        _ => return None,
    })
}

/// Answers a request that has arrived.
pub(super) fn take(connection: &mut Connection, message: &[u8]) {
    let (head, start) = match Head::read(message) {
        Ok(read) => read,
        Err(refusal) => return refuse(connection, refusal),
    };
    begin_reply(connection, &head);
    if let Err(refusal) = act(connection, &head, &message[start..]) {
        connection.link.refuse(refusal);
    }
}

/// Answers with a failure, and ends the connection.
pub(super) fn refuse(connection: &mut Connection, refusal: Refusal) {
    let reply = Reply::to_nonsense(Media::JSON, now_s(connection));
    connection.link.reply = Some(Box::new(reply));
    connection.link.refuse(refusal);
}

/// Looks at the head of a request that is not read before that. False if there is none, or answers before it are to be sent.
pub(super) fn take_question(connection: &mut Connection) -> bool {
    let Some(question) = connection.link.wire.question() else { return false };
    connection.link.flush();
    if connection.link.has_unsent() {
        return false;
    }
    let head = match Head::read(&question) {
        Ok((head, _)) => head,
        Err(refusal) => {
            refuse(connection, refusal);
            return true;
        }
    };
    connection.quiet_since_ns = None;
    begin_reply(connection, &head);
    let admitted = if head.is_upgrade() { upgrade(connection, &head) } else { admit(connection, &head) };
    if let Err(refusal) = admitted {
        // The body is not read.
        connection.link.reply.iter_mut().for_each(|reply| reply.end());
        connection.link.refuse(refusal);
    }
    true
}

fn now_s(connection: &Connection) -> i64 {
    connection.link.server.database.clock().unix_us().div_euclid(1_000_000)
}

fn begin_reply(connection: &mut Connection, head: &Head) {
    let media = head.accepted().unwrap_or(Media::JSON);
    connection.link.reply = Some(Box::new(Reply::new(head, media, now_s(connection))));
}

/// Fails unless the client may send that at all; gives the place, if it is one for that method.
fn find<'h>(connection: &mut Connection, head: &'h Head) -> Result<(Route<'h>, &'static str), Refusal> {
    let server = connection.link.server.clone();
    let settings = &server.settings;
    if connection.is_extra {
        connection.link.reply.iter_mut().for_each(|reply| reply.end());
        return Err(failure::too_many_connections(settings.connections_max).into());
    }
    let guard = Guard { advertised: settings.advertised.as_deref(), origins: &settings.origins };
    let origin = guard.check(head, connection.link.wire.own_address())?;
    if let (Some(origin), Some(reply)) = (origin, &mut connection.link.reply) {
        reply.open_to(origin);
    }
    let Some((route, allowed)) = route(&head.path) else {
        let message = format!("there is nothing at {}; GET / tells what there is", head.path);
        return Err(Refusal::new(404, message));
    };
    if !allowed.split(", ").any(|method| method == head.method) {
        let message = format!("{} takes {allowed}, and no {}", head.path, head.method);
        return Err(Refusal { allowed, ..Refusal::new(405, message) });
    }
    Ok((route, allowed))
}

fn act(connection: &mut Connection, head: &Head, body: &[u8]) -> Result<(), Refusal> {
    let (route, allowed) = find(connection, head)?;
    if head.method == "OPTIONS" {
        tell_methods(connection, allowed);
        return Ok(());
    }
    match route {
        Route::Root => tell_root(connection, head),
        Route::Health => tell_health(connection),
        _ => return act_for_user(connection, head, body, route),
    }
    Ok(())
}

fn act_for_user(connection: &mut Connection, head: &Head, body: &[u8], route: Route<'_>) -> Result<(), Refusal> {
    let user = log_in(connection, head)?;
    match (route, head.method.as_str()) {
        (Route::Query(database), _) => query::run(connection, head, body, database),
        (Route::Begin(database), _) => query::begin(connection, head, body, database, &user),
        (Route::Transaction(database, id), "DELETE") => query::roll_back(connection, database, id, &user),
        (Route::Transaction(database, id), _) => query::go_on(connection, head, body, database, id, &user),
        (Route::Commit(database, id), _) => query::commit(connection, head, body, database, id, &user),
        (Route::Metrics | Route::Root | Route::Health, _) => {
            metrics::tell(connection);
            Ok(())
        }
    }
}

/// Lets the client in as the user whom its request names.
fn log_in(connection: &mut Connection, head: &Head) -> Result<String, Refusal> {
    let user = claimed(connection, head)?;
    connection.let_in(&user);
    Ok(user)
}

fn claimed(connection: &Connection, head: &Head) -> Result<String, Refusal> {
    let (scheme, content) = head.get("authorization").and_then(|value| value.split_once(' ')).unwrap_or(("none", ""));
    let scheme = scheme.to_ascii_lowercase();
    let decoded = match scheme.as_str() {
        "basic" => STANDARD.decode(content.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok()),
        _ => Some(String::new()),
    };
    let Some(decoded) = decoded else {
        let failure = failure::plain(
            "Neo.ClientError.Request.InvalidFormat",
            "08N06",
            "connection exception - protocol error",
            "the header Authorization is no Basic with a name, a colon and a password in Base64",
        );
        return Err(Refusal { status: 401, ..failure.into() });
    };
    let (user, password) = decoded.split_once(':').unzip();
    let user = login::check(connection, Claim { scheme: &scheme, user, password })?;
    Ok(user.to_owned())
}

/// Lets the body of a request in.
fn admit(connection: &mut Connection, head: &Head) -> Result<(), Refusal> {
    find(connection, head)?;
    log_in(connection, head)?;
    head.check_length(connection.link.server.settings.message_bytes_max)?;
    connection.link.reply = None;
    if head.is_expecting() {
        connection.link.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    connection.link.wire.admit();
    Ok(())
}

/// Begins a WebSocket, in which Bolt is spoken. Its client logs in then.
fn upgrade(connection: &mut Connection, head: &Head) -> Result<(), Refusal> {
    let key = head.get("sec-websocket-key").filter(|key| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16));
    match (key, head.get("sec-websocket-version")) {
        (Some(_), Some(WEBSOCKET_VERSION)) => {}
        (_, version) => {
            let reply = connection.link.reply.iter_mut();
            reply.for_each(|reply| reply.header("Sec-WebSocket-Version", WEBSOCKET_VERSION));
            let status = if version == Some(WEBSOCKET_VERSION) { 400 } else { 426 };
            let message = "a WebSocket begins with the headers Sec-WebSocket-Key and Sec-WebSocket-Version: 13";
            return Err(Refusal::new(status, message));
        }
    }
    let settings = &connection.link.server.settings;
    let guard = Guard { advertised: settings.advertised.as_deref(), origins: &settings.origins };
    guard.check(head, connection.link.wire.own_address())?;
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        websocket::accept(key.unwrap_or_default())
    );
    connection.link.reply = None;
    connection.is_http = false;
    connection.link.wire.upgrade(answer.as_bytes(), connection.link.server.now_ns());
    Ok(())
}

/// Methods of a place, and to pages of other sites that they may use them.
fn tell_methods(connection: &mut Connection, allowed: &'static str) {
    if let Some(reply) = &mut connection.link.reply {
        reply.header("Allow", allowed);
        reply.header("Access-Control-Allow-Methods", allowed);
        reply.header("Access-Control-Allow-Headers", "authorization, content-type, accept");
        reply.header("Access-Control-Max-Age", "600");
    }
    connection.link.finish(204);
}

/// Tells everybody what there is.
fn tell_root(connection: &mut Connection, head: &Head) {
    let link = &mut connection.link;
    let own = link.wire.own_address().map(|address| address.to_string()).unwrap_or_default();
    let host = head.get("host").map(str::to_owned).or(link.server.settings.advertised.clone()).unwrap_or(own);
    let scheme = if link.wire.is_encrypted() { "https" } else { "http" };
    let entries = [
        ("bolt_direct", format!("bolt://{host}")),
        ("bolt_routing", format!("neo4j://{host}")),
        ("query", format!("{scheme}://{host}/db/{{databaseName}}/query/v2")),
        ("neo4j_version", NEO4J_VERSION.to_owned()),
        ("neo4j_edition", "community".to_owned()),
        ("knotwork_version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let entries: Vec<(&str, &str)> = entries.iter().map(|(key, text)| (*key, text.as_str())).collect();
    if let Some(reply) = link.reply.take() {
        link.is_last |= reply.finish_with(200, &entries, &mut link.out);
    }
}

fn tell_health(connection: &mut Connection) {
    let link = &mut connection.link;
    let (status, text) = if link.server.is_ending() { (503, "ending") } else { (200, "ok") };
    if let Some(reply) = link.reply.take() {
        link.is_last |= reply.finish_with(status, &[("status", text)], &mut link.out);
    }
}

#[cfg(test)]
mod tests {
    use super::{Route, route};

    #[test]
    fn paths_lead_to_places() {
        for (path, expected) in [
            ("/", Some(Route::Root)),
            ("/health", Some(Route::Health)),
            ("/metrics/", Some(Route::Metrics)),
            ("/db/neo4j/query/v2", Some(Route::Query("neo4j"))),
            ("/db/a/query/v2/tx", Some(Route::Begin("a"))),
            ("/db/a/query/v2/tx/7", Some(Route::Transaction("a", "7"))),
            ("/db/a/query/v2/tx/7/commit", Some(Route::Commit("a", "7"))),
            ("/db/a/query/v2/tx/7/commit/x", None),
            ("/db/a/tx/commit", None),
            ("/db", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(route(path).map(|(route, _)| route), expected, "{path}");
        }
    }
}
