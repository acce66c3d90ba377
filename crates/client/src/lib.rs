//! Sessions of a graph, wherever it is: in a store that this process has open, in one that another process has open, or on a server.
//!
//! Modules in reading order:
//! - [`address`]: addresses of servers, as users write them.
//! - `tls`: encryption of a connection.
//! - `wire`: one connection, and the messages that have arrived on it.
//! - `values`: rows and parameters.
//! - `failure`: failures of servers as errors of ours.
//! - `summary`: the end of a statement.
//! - `remote`: a session in another process.
//! - [`graph`]: the place where a graph is; a store goes from process to process.
//! - [`session`]: a session wherever the graph is.
//! - [`listing`]: names and counts of what a graph holds.
//!
//! Invariants: a statement is never sent twice unless it is certain that it has not run; when a connection is lost, the error says what
//! is known of the outcome; nothing panics on any bytes of a server, and no memory is taken because a length was declared.

pub mod address;
mod failure;
pub mod graph;
pub mod listing;
mod remote;
pub mod session;
mod summary;
mod tls;
mod values;
mod wire;

pub use address::Address;
pub use graph::Graph;
pub use server::share::is_shared_here;
pub use session::Session;
