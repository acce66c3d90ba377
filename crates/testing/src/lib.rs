//! What tests share: the reference store, the store contract, graph generators, golden files, house rules. Never in a product.
//!
//! Modules in reading order:
//! - [`reference_store`]: a naive, correct store in memory; what faster stores are compared with.

pub mod reference_store;

pub use reference_store::ReferenceStore;
