//! A server in this process, and clients that do what no driver does.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

mod it {
    mod bounds;
    pub(crate) mod client;
    mod closing;
    mod databases;
    pub(crate) mod encryption;
    mod http;
    mod http_clients;
    mod http_transactions;
    mod life;
    mod portions;
    pub(crate) mod running;
    pub(crate) mod web;
}
