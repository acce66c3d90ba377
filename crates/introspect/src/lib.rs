//! Generated graphs, and stores measured in layers: each layer is also predicted from the one below.
//!
//! Modules in reading order:
//! - `random`: random numbers by place.
//! - [`generate`]: graphs from a seed, as files or stores.
//! - `os`: time, the page cache, files that are read past it.
//! - [`machine`]: limits of the machine.
//! - [`operations`]: the operations of the layers.
//! - [`subject`]: systems that are measured.
//! - [`measure`]: every operation with cold, warm and hot caches.
//! - [`cost_model`]: predictions of each layer from the one below, and fitted costs.
//! - [`findings`]: rules that say in sentences what the figures show.
//! - [`report`]: all of it as text, as JSON and as a page of HTML.
//! - [`replay`]: traces run again.
//! - [`compare`]: two measurements, and what of their difference is more than noise.

pub mod compare;
pub mod cost_model;
pub mod findings;
pub mod generate;
pub mod machine;
pub mod measure;
pub mod operations;
mod os;
mod random;
pub mod replay;
pub mod report;
pub mod subject;

pub use os::SystemClock;
