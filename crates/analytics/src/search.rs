//! Search straight over the waist, for algorithms that read a small part of the graph: edges are fetched in batches,
//! as the search comes to need them, and never the whole graph.
//!
//! - [`best_first`]: Dijkstra's algorithm and A* between two nodes.
//! - [`ground`]: what was read, kept for the next search.
//! - [`nearby`]: edges fetched once for several searches, and searches over them.
//! - [`parallel_edges`]: paths over the same nodes, by different edges.
//! - [`path`]: a list of nodes becomes a path with its edges.
//! - [`slots`]: small numbers for the nodes that a search has met.

pub(crate) mod best_first;
pub(crate) mod ground;
pub(crate) mod nearby;
pub(crate) mod parallel_edges;
pub(crate) mod path;
pub(crate) mod slots;
