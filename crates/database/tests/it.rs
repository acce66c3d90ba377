//! The whole system: text in, rows out, on native stores and on reference stores.
//!
//! Modules in reading order:
//! - `golden`: all golden files, on several kinds of stores and in several ways of running.
//! - `oracle`, `queries`, `differential`: random graphs and queries, against a naive matcher and between engines.
//! - `aggregation`: aggregation across an edge and counted patterns, against the same row by row.
//! - `label_counts`: counts of relationships between labels, against the relationships.
//! - `attach`, `attach_servers`: files and databases that are attached.
//! - `source_writing`: what is written into databases that are attached. `source_paths`: paths in them.
//! - `federation`: a graph in several parts, against the same graph in one.
//! - `lsqb`: the nine patterns of a benchmark, on its own data and with its own counts.
//! - `acid`: the ACID tests of a benchmark's definition, with many threads.
//! - `conflicts`: two transactions at once, step by step.
//! - `histories`: statements of all kinds in sessions side by side, recorded and checked.
//! - `serializable`: the same, where what was read counts too.
//! - `transactions`: what is visible to whom, what a failure leaves, what a cancelled statement leaves.
//! - `limits`: queries that are cancelled, too slow or too large; bad input.
//! - `identity`: what a relationship is known by, from statement to statement.
//! - `stopping`: every operator, function and procedure stopped at every look at the interrupt.
//! - `statements`: statements that store much or commit often, on disks that fail, in little memory, and stopped.
//! - `introspection`: where the time of statements goes, and their statistics.
//! - `advice`: indexes, constraints, sort keys and rewrites that would help statements. `trace`: statements that are recorded.
//! - `depth`: values, texts and plans that are nested deeply.
//! - `graph_views`: what algorithms keep in memory from call to call.
//! - `algorithm_writes`: algorithms that write, and fail on the way.
//! - `kept`: computations kept while the graph changes.
//! - `priorities`: statements of all priorities at once.
//! - `ring`: a database on a real ring of machines. `ring_algorithms`: algorithms on a simulated one.
//! - `streaming`: algorithms over edges streamed from native stores.
//! - `import`: files into stores and back.
//! - `rel_tables`: what relationship tables declare.

#[path = "it/acid.rs"]
mod acid;
#[path = "it/advice.rs"]
mod advice;
#[path = "it/aggregation.rs"]
mod aggregation;
#[path = "it/algorithm_writes.rs"]
mod algorithm_writes;
#[path = "it/answer.rs"]
mod answer;
#[path = "it/attach.rs"]
mod attach;
#[cfg(all(feature = "postgres", feature = "redis"))]
#[path = "it/attach_servers.rs"]
mod attach_servers;
#[path = "it/conflicts.rs"]
mod conflicts;
#[path = "it/depth.rs"]
mod depth;
#[path = "it/differential.rs"]
mod differential;
#[path = "it/engine.rs"]
mod engine;
#[path = "it/federation.rs"]
mod federation;
#[path = "it/golden.rs"]
mod golden;
#[path = "it/graph_views.rs"]
mod graph_views;
#[path = "it/histories.rs"]
mod histories;
#[path = "it/identity.rs"]
mod identity;
#[path = "it/import.rs"]
mod import;
#[path = "it/introspection.rs"]
mod introspection;
#[path = "it/kept.rs"]
mod kept;
#[path = "it/label_counts.rs"]
mod label_counts;
#[path = "it/limits.rs"]
mod limits;
#[path = "it/lsqb.rs"]
mod lsqb;
#[path = "it/oracle.rs"]
mod oracle;
#[path = "it/priorities.rs"]
mod priorities;
#[path = "it/queries.rs"]
mod queries;
#[path = "it/rel_tables.rs"]
mod rel_tables;
#[path = "it/replanning.rs"]
mod replanning;
#[cfg(feature = "cql")]
#[path = "it/ring.rs"]
mod ring;
#[cfg(feature = "cql")]
#[path = "it/ring_algorithms.rs"]
mod ring_algorithms;
#[path = "it/serializable.rs"]
mod serializable;
#[path = "it/show.rs"]
mod show;
#[cfg(feature = "cql")]
#[allow(dead_code, reason = "the tests of the store on a ring use more of it")]
#[path = "../../cluster/tests/it/simulated.rs"]
mod simulated_ring;
#[path = "it/slow_log.rs"]
mod slow_log;
#[cfg(feature = "sqlite")]
#[path = "it/source_paths.rs"]
mod source_paths;
#[cfg(all(feature = "mysql", feature = "postgres", feature = "redis", feature = "sqlite"))]
#[path = "it/source_pushdown.rs"]
mod source_pushdown;
#[cfg(feature = "sqlite")]
#[path = "it/source_values.rs"]
mod source_values;
#[cfg(all(feature = "mysql", feature = "postgres", feature = "redis", feature = "sqlite"))]
#[path = "it/source_writing.rs"]
mod source_writing;
#[path = "it/statements.rs"]
mod statements;
#[path = "it/stopping.rs"]
mod stopping;
#[path = "it/streaming.rs"]
mod streaming;
#[path = "it/tables.rs"]
mod tables;
#[path = "it/tools.rs"]
mod tools;
#[path = "it/trace.rs"]
mod trace;
#[path = "it/transactions.rs"]
mod transactions;
