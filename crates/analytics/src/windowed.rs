//! Algorithms with nothing in memory but one interval of nodes: as vertex programs, or two windows of rows at a time.
//!
//! Each gives what the algorithm of its name gives; only the values for the nodes, which are the answer, are in memory.

pub(crate) mod bfs;
pub(crate) mod cdlp;

pub(crate) mod pagerank;
pub(crate) mod sssp;
pub(crate) mod triangles;
pub(crate) mod wcc;
