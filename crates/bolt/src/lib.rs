//! The Bolt protocol of Neo4j's drivers, both sides, without I/O: bytes in, requests or answers out, and back.
//!
//! Modules in reading order:
//! - [`version`]: the versions that are spoken, and what differs between them.
//! - [`handshake`]: the first bytes of a connection.
//! - [`chunks`]: messages in pieces of at most 65,535 bytes.
//! - [`packstream`]: values as bytes, read with bounds.
//! - [`encoder`]: values to bytes, piece by piece.
//! - [`structures`]: dates, times, durations, nodes, relationships, paths.
//! - [`entity`]: nodes, relationships and paths, as clients read them.
//! - [`message`]: requests of clients.
//! - [`request`]: the same, as clients write them.
//! - [`answer`]: answers of servers.
//! - [`own`]: what our own clients and servers say to each other besides.
//! - [`states`]: states of a connection, and the requests that each takes.
//!
//! Invariants: nothing panics on any input; no memory is taken because a length was declared, only as bytes arrive; the
//! depth and the decoded size of a message are bounded. The crate depends on nothing.
//!
//! After: Neo4j, "Bolt Protocol", "PackStream", versions 4.4 to 6.0.

pub mod answer;
pub mod chunks;
pub mod encoder;
pub mod entity;
pub mod handshake;
pub mod message;
pub mod own;
pub mod packstream;
pub mod request;
pub mod states;
pub mod structures;
pub mod version;

pub use answer::{Answer, Failure};
pub use chunks::Chunks;
pub use encoder::Encoder;
pub use entity::Entity;
pub use handshake::{Handshake, Outcome};
pub use message::Request;
pub use packstream::{Limits, Value};
pub use states::{Machine, State, Step};
pub use version::Version;
