//! A property graph on a wide-column store, such as Apache Cassandra: written by any number of processes, with transactions.
//!
//! Modules in reading order:
//! - [`tables`]: the port of the wide-column store, and the tables.
//! - [`settings`]: settings of a store. `cql`: Apache Cassandra as a wide-column store.
//! - `rows`: nodes, edges and entries of indexes as rows. `body`: rows of a transaction as bytes.
//! - `items`: what a transaction wrote or relies on. `state`: names, rules, counts and ids. `record`: records of the log.
//! - `ring`: the tables of one graph, with repeats and errors.
//! - `log`: the shared log as one process knows it. `commit`: appending to it.
//! - `packed`: rows as bytes. `cache`: rows that were read, kept as long as the log does not change them.
//! - `reader`: rows of one moment. `overlay`: writes of a transaction. `view`: both as a `ReadView`.
//! - `ids`: blocks of ids of nodes and edges.
//! - `bodies`: names of transactions whose bodies are rows of their own. `purge`: the end of rows that nobody sees.
//! - `shared`: what views and transactions share. `transaction`: the checks and effects of writing.
//! - `store`: the store itself. `load`: a whole graph into a new one, at once.
//!
//! After: Bernstein, Reid, Das, "Hyder: a transactional record manager for shared flash", 2011; Balakrishnan et al., "Tango:
//! distributed data structures over a shared log", 2013.

#[cfg(feature = "cql")]
pub mod cql;
pub mod settings;
pub mod tables;

mod bodies;
mod body;
mod cache;
mod commit;
mod ids;
mod items;
mod load;
mod log;
mod overlay;
mod packed;
mod purge;
mod reader;
mod record;
mod ring;
mod rows;
mod shared;
mod state;
mod store;
mod transaction;
mod view;

pub use load::LoadPlan;
pub use purge::Purged;
pub use settings::Settings;
pub use store::ClusterStore;
