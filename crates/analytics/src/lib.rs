//! Graph algorithms on a snapshot, in place: called from Cypher through [`model::procedure::Procedure`].
//!
//! Modules in reading order:
//! - [`settings`]: the one map argument of every algorithm, read by tables with errors that name the key.
//! - [`projection`]: which nodes, edges and weights of the graph take part.
//! - [`numbering`]: small numbers for the nodes that take part.
//! - [`rows`]: rows of neighbors in blocks, and passes over them.
//! - [`execution`]: where the graph and the state of its nodes lie, and how much of the machine a run uses.
//! - [`edges`]: the edges of a projection in blocks, as a store gives them.
//! - [`scratch`]: temporary files of a computation, and memory in their place.
//! - [`streamed`]: rows that are read from the store each time they are asked for.
//! - [`graph_view`]: a compact copy of a projection in memory, for algorithms that read the whole graph.
//! - [`view_cache`]: copies that are kept from call to call.
//! - [`graph`]: the graph that an algorithm works on, as rows in memory or streamed from the store.
//! - [`algorithm`]: an algorithm written once, and the procedures made of it.
//! - [`arrays`]: a graph that lies in arrays, for callers without a store.
//! - [`parallel`]: splitting work over threads, in the same pieces in every run.
//! - [`long_rows`]: rows that hold lists or paths, handed on by their size.
//! - [`many_sources`]: searches from many nodes, at a time and one after another.
//! - [`edge_passes`]: the edges of a graph in arrays, one pass after another, for programs of other languages.
//! - [`held`]: memory of a run, and the bounds of a search.
//! - [`huge`]: large arrays in large pages.
//! - [`pull`]: sums of values along edges, the step of many iterations.
//! - [`random`]: seeded random numbers.
//! - [`search`]: best-first search and paths straight over the waist, for algorithms that read a small part.
//! - [`blocks`]: what holds a graph together in two ways, in memory or streamed.
//! - [`spilled`]: state in temporary files.
//! - [`program`]: computations written as edge programs and vertex programs.
//! - [`network`]: undirected weighted networks, coarsened by their communities.
//! - [`sphere`]: great-circle distances.
//! - [`procedure`]: what all algorithms share in being called and in giving rows.
//! - [`algorithms`]: the list, one file an algorithm.
//! - [`kept`]: computations that are kept and mended as the graph changes.
//! - [`catalog`]: every procedure of this crate.
//! - [`reference`]: the tables of `docs/algorithms.md`.
//!
//! Invariants: data is reached only through [`model::ReadView`], in batches; no I/O happens here; the answer does not
//! depend on the number of threads (sums of floats within the tolerance that an algorithm states).

pub mod algorithm;
pub mod algorithms;
pub mod arrays;
pub(crate) mod blocks;
pub(crate) mod catalog;
pub mod edge_passes;
pub(crate) mod edges;
pub mod execution;
pub mod graph;
pub mod graph_view;
pub mod held;
pub(crate) mod huge;
pub(crate) mod kept;
pub(crate) mod long_rows;
pub(crate) mod many_sources;
pub(crate) mod network;
pub(crate) mod numbering;
pub(crate) mod parallel;
pub(crate) mod procedure;
pub mod program;
pub(crate) mod projection;
pub(crate) mod pull;
pub(crate) mod random;
pub mod reference;
pub mod rows;
pub(crate) mod scratch;
pub(crate) mod search;
pub mod settings;
pub(crate) mod sphere;
pub(crate) mod spilled;
pub(crate) mod streamed;
pub mod view_cache;

pub use algorithm::{About, Algorithm, Follows, JobPlan, Needs, Outcome, RowOrder, Run, Shape};
pub use arrays::ArrayGraph;
pub use catalog::{procedures, procedures_with};
pub use edge_passes::{EdgeArrays, EdgePasses};
pub use graph::{Estimate, Execution, Graph, Pace, RowBlock, RowSink, Rows, Selection, Side};
pub use graph_view::{Csr, EdgeList, GraphView, Sides};
pub use held::SearchContext;
pub use projection::{Projection, Weight};
pub use view_cache::{ViewCache, ViewCacheStats};
