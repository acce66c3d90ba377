//! The list of algorithms, one file each: claim, settings, run, verification by another method, procedures.

pub mod astar;
pub mod bfs;
pub mod dijkstra;
pub mod pagerank;
pub mod shortest_path;
pub mod wcc;

use std::sync::Arc;

use model::procedure::Procedure;

use crate::procedure::AlgorithmProcedure;

/// Every procedure of this crate.
const ALL: &[AlgorithmProcedure] = &[
    pagerank::PROCEDURE,
    pagerank::WRITE_PROCEDURE,
    wcc::PROCEDURE,
    wcc::WRITE_PROCEDURE,
    bfs::PROCEDURE,
    bfs::WRITE_PROCEDURE,
    shortest_path::PROCEDURE,
    dijkstra::PROCEDURE,
    dijkstra::DISTANCES_PROCEDURE,
    dijkstra::WRITE_PROCEDURE,
    astar::PROCEDURE,
];

/// The algorithms, to be registered.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    ALL.iter().map(|procedure| Arc::new(*procedure) as Arc<dyn Procedure>).collect()
}
