//! A store for the drivers of Neo4j, over Bolt and HTTP (`knot serve`), and for other processes of its user, over a socket in its
//! directory.
//!
//! Modules in reading order:
//! - [`settings`]: settings of a server.
//! - [`serve`](mod@serve): the front: connections that come, those that wait, and those at work whose clients may speak.
//! - [`share`](mod@share): the socket in the directory of a store.
//! - [`handover`]: a server whose store another process has open.
//! - `limits`: every fixed limit.
//! - `pool`: the threads that statements run on.
//! - `tls`: the certificate, and how it is renewed.
//! - `arrivals`: room for what arrives, shared by all.
//! - `socket`: connections over TCP and within the machine.
//! - `outlet`: the sending half of a socket, and its TLS.
//! - `websocket`: frames of a WebSocket, in which Bolt may come.
//! - `http`: HTTP without I/O: requests, answers, JSON.
//! - `inbox`: bytes that have arrived, put together.
//! - `wire`: one socket and what has arrived on it.
//! - `leaving`: connections that have ended, until their clients have taken note.
//! - `counts`: what has happened since the start, for `/metrics`.
//! - `transactions`: transactions of clients, and those that stay open between requests of HTTP.
//! - `connection`: requests of a client, one request after the other.
//! - `login`: logins.
//! - `own`: sessions of our own clients.
//! - [`databases`]: the databases of a server.
//! - `users`: users and their roles, in their file.
//! - `administration`: commands about databases, users and roles, and what the roles allow.
//! - `audit`: the audit log.
//! - `private_file`: files that hold secrets.
//! - `quotas`: memory limits of users.
//! - `credentials`: users and passwords, and how often they may be guessed.
//! - `statement`: one statement, whose rows go to the client as it asks for them.
//! - `rows`: rows that wait for their client, in memory and on the disk.
//! - [`convert`]: values in and out.
//! - `summary`: the end of a statement.
//! - `failure`: errors as drivers know them.
//! - `bookmarks`: names of moments that transactions come after.
//! - `fuzzing`: connections that a fuzzer feeds (only with `cfg(fuzzing)`).
//!
//! Invariants: nothing of a client reaches a session before it has logged in; a client that does not read holds a thread no
//! longer than `Settings::patience`, and memory no more than `limits` says; every wait has an end.

mod administration;
mod arrivals;
mod audit;
mod bookmarks;
mod connection;
pub mod convert;
mod counts;
pub mod credentials;
pub mod databases;
mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod handover;
mod http;
mod inbox;
mod leaving;
mod limits;
mod login;
mod outlet;
mod own;
mod pool;
mod private_file;
mod quotas;
mod rows;
pub mod serve;
pub mod settings;
pub mod share;
mod socket;
mod statement;
mod summary;
pub mod tls;
mod transactions;
mod users;
mod websocket;
mod wire;

pub use bolt::Version;
pub use databases::Folder;
pub use handover::{Handover, News, hand_over};
pub use serve::{serve, serve_on};
pub use settings::{Admission, Notice, Settings};
pub use share::{Sharing, share};
pub use socket::Listeners;
pub use tls::Tls;
