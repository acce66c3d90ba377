//! Tools that tests share: the reference store, the store contract, graph generators, golden files, house rules. Never
//! in a product.
//!
//! Modules in reading order:
//! - [`reference_store`]: a naive, correct store in memory, with which faster stores are compared.
//! - [`store_contract`]: the checks that every store must pass.
//! - [`differential`]: random writes applied to two stores, and the comparison of two views.
//! - [`crashes`]: power cuts at every operation of a run.
//! - [`histories`]: what concurrent transactions saw, and the check that this is possible.
//! - [`graphs`]: seeded graph generators.
//! - [`golden`]: text files of graphs, queries and expected results.
//! - [`folder`]: a folder on the real disk for one test.
//! - [`simulation`]: an operating system in memory that fails on purpose.
//! - [`workspace`]: a workspace of procedures with limits that counts what is held.
//! - [`memory`]: the memory of this process, as the operating system counts it.
//! - [`servers`]: PostgreSQL, Redis and MariaDB, real ones, started for a test process.
//! - [`scalars`]: values of time at their limits, identifiers, and points.
//! - [`random`]: the seeded random numbers of all of these.

pub mod crashes;
pub mod differential;
pub mod folder;
pub mod golden;
pub mod graphs;
pub mod histories;
pub mod memory;
pub mod random;
pub mod reference_store;
pub mod scalars;
pub mod servers;
pub mod simulation;
pub mod store_contract;
pub mod workspace;

pub use folder::Folder;
pub use reference_store::ReferenceStore;
