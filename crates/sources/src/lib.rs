//! Graphs that others keep: databases that are attached and read where they are, and files of rows to import.
//!
//! Modules in reading order:
//! - [`definition`]: what of a database is which part of the graph.
//! - [`urls`]: URLs as texts. [`registry`]: the drivers, a row for each. [`connect`]: from a URL to a driver.
//! - [`connector`]: what a database must be able to do, in questions and answers.
//! - [`catalog`]: what a relational database says of its tables; [`check`]: whether a definition fits its source.
//! - [`infer`]: a definition from a catalog.
//! - [`store`]: a database with its definition as a graph behind the waist, with a cache and prefetchers.
//! - [`federation`]: the native store and what is attached to it as one graph.
//! - `keys`: keys of nodes as ids.
//! - `cache`: what was fetched, kept for the next question.
//! - `prefetch`: what to fetch along with what is asked.
//! - `postgres`: a connector.
//! - [`in_place`]: files as a source. `redis`: Redis as one. `condition`: what is done with rows here where a source can not.
//! - [`sql`]: questions and changes as statements of SQL. [`sql_client`]: statements as others write them.
//! - `duckdb`, `mysql`, `sqlite`: connectors; `relational`: what connectors of relational databases share.
//! - [`files`]: tables in files, read in chunks by several threads.
//!
//! Invariants: what a source or a file holds is never an assertion here; a bad row is a value with its place and reason.

mod cache;
pub mod catalog;
pub mod check;
mod condition;
pub mod connect;
pub mod connector;
pub mod definition;
#[cfg(feature = "duckdb")]
pub mod duckdb;
pub mod federation;
pub mod files;
pub mod in_place;
pub mod infer;
mod keys;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
mod prefetch;
#[cfg(feature = "redis")]
pub mod redis;
pub mod registry;
#[cfg(feature = "sql")]
mod relational;
pub mod sql;
pub mod sql_client;
#[cfg(feature = "sqlite")]
mod sqlite;
pub mod store;
pub mod urls;
