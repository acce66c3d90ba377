//! Logins: `HELLO`, `LOGON`, `LOGOFF`.

use std::time::Duration;

use bolt::message::{Map, get, text};
use bolt::structures::Moments;
use bolt::{Failure, Request, Value, Version, answer};

use crate::audit::Event;
use crate::connection::Connection;
use crate::credentials::Verdict;
use crate::failure;
use crate::own::Own;
use crate::settings::agent;

/// Does one of these requests.
pub(crate) fn act(connection: &mut Connection, request: Request) {
    match &request {
        Request::Hello(fields) => hello(connection, fields, &request),
        Request::Logon(fields) => match admit(connection, fields) {
            Ok(()) => connection.link.succeed(&request),
            Err(failure) => connection.refuse(failure),
        },
        _ => connection.link.succeed(&request),
    }
}

fn hello(connection: &mut Connection, fields: &Map, request: &Request) {
    let version = connection.link.form.version;
    if !version.has_logon()
        && let Err(failure) = admit(connection, fields)
    {
        return connection.refuse(failure);
    }
    connection.link.own = Own::of_hello(fields);
    connection.link.form.is_own = connection.link.own.is_some();
    let patches = match get(fields, "patch_bolt") {
        Some(Value::List(patches)) => patches.as_slice(),
        _ => &[],
    };
    let is_patched = !version.is_utc() && patches.iter().any(|patch| *patch == Value::String("utc".to_owned()));
    if is_patched {
        connection.link.form.moments = Moments::Utc;
    }
    let name = format!("bolt-{}", connection.number());
    let keep_alive = connection.link.server.settings.keep_alive;
    let is_by_manifest = connection.is_by_manifest;
    answer::success(&mut connection.link.out, |out| {
        out.map(3 + usize::from(is_patched) + usize::from(is_by_manifest));
        out.entry("server", &agent());
        out.entry("connection_id", &name);
        if is_patched {
            out.string("patch_bolt");
            out.list(1);
            out.string("utc");
        }
        if is_by_manifest {
            out.entry("protocol_version", &version.to_string());
        }
        out.string("hints");
        hints(out, version, keep_alive);
    });
    connection.link.machine.succeed(request);
}

fn hints(out: &mut bolt::Encoder<'_>, version: Version, keep_alive: Duration) {
    let has_routing_hint = version.tells_database();
    out.map(2 + usize::from(has_routing_hint));
    // One sign of life may be late.
    out.string("connection.recv_timeout_seconds");
    out.int((keep_alive.as_millis() * 2).div_ceil(1_000).clamp(1, i64::MAX as u128) as i64);
    out.string("telemetry.enabled");
    out.bool(false);
    if has_routing_hint {
        out.string("ssr.enabled");
        out.bool(true);
    }
}

/// The claim of a client to be somebody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'c> {
    /// The way in which it proves that.
    pub(crate) scheme: &'c str,
    pub(crate) user: Option<&'c str>,
    pub(crate) password: Option<&'c str>,
}

/// Lets a client of Bolt in that says who it is.
fn admit(connection: &mut Connection, fields: &Map) -> Result<(), Failure> {
    let claim = Claim {
        scheme: text(fields, "scheme").unwrap_or("none"),
        user: text(fields, "principal"),
        password: text(fields, "credentials"),
    };
    let name = check(connection, claim)?;
    connection.let_in(name);
    Ok(())
}

/// The name of the user who claims that, if the claim is right; an empty one where nobody has to log in.
pub(crate) fn check<'c>(connection: &Connection, claim: Claim<'c>) -> Result<&'c str, Failure> {
    let server = &connection.link.server;
    // The socket of a store lets in only whom its rights do.
    let (Some(credentials), Some(peer)) = (&server.credentials, connection.link.wire.peer()) else { return Ok("") };
    let (user, password) = match (claim.scheme, claim.user, claim.password) {
        ("basic", Some(user), Some(password)) => (user, password),
        ("basic", ..) => return Err(unauthorized("a name and a password are missing")),
        ("none", ..) => return Err(unauthorized("this server lets nobody in without a name and a password")),
        (other, ..) => {
            return Err(unauthorized(&format!("there is no authentication scheme '{other}', only basic")));
        }
    };
    let verdict = credentials.check(user, password, peer.ip(), server.now_ns());
    server.counts.login(verdict == Verdict::Welcome);
    // Each request of HTTP says who sends it: one that goes on is no login.
    if verdict != Verdict::Welcome || connection.is_stranger() {
        let event = Event::of_login(user, peer.to_string(), verdict.name());
        server.audit.record(&event, server.database.clock().unix_us());
    }
    match verdict {
        Verdict::Welcome => Ok(user),
        Verdict::Suspended => Err(unauthorized("the user is suspended: an administrator lets it in again")),
        Verdict::Wrong => Err(unauthorized("the name or the password is wrong")),
        Verdict::TooMany => Err(failure::plain(
            "Neo.ClientError.Security.AuthenticationRateLimit",
            "42NFC",
            "syntax error or access rule violation - authentication error",
            "the password was wrong too often: wait some seconds before the next attempt",
        )),
    }
}

fn unauthorized(message: &str) -> Failure {
    let description = "syntax error or access rule violation - credentials missing or wrong";
    failure::plain("Neo.ClientError.Security.Unauthorized", "42NFF", description, message)
}
