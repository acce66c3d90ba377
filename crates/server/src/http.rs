//! HTTP without I/O: bytes in, requests out; results in, answers out. Nothing here knows a connection or a session.
//!
//! - `head`: the first lines of a request.
//! - `intake`: requests put together from bytes that come in any pieces.
//! - `guard`: the names by which the server may be reached, and pages that may reach it.
//! - `body`: JSON of requests.
//! - `json`: values as JSON, plain or with their types.
//! - `result`: the document that a statement is answered with.
//! - `reply`: answers: their heads, and their bodies in pieces.
//!
//! Invariants: no memory is taken because a length was declared; heads, lines, bodies and their depth are bounded; what can be
//! understood in two ways (two lengths, a length and pieces) is refused.
//!
//! After: RFC 9110, RFC 9112; Neo4j, "Query API".

mod body;
mod guard;
mod head;
mod intake;
pub(crate) mod json;
mod reply;
pub(crate) mod result;

pub(crate) use body::read as read_json;
pub(crate) use guard::Guard;
pub(crate) use head::{Head, Media, Refusal};
pub(crate) use intake::Intake;
pub(crate) use json::Json;
pub(crate) use reply::{ACCEPTED, Reply, plain_answer};
