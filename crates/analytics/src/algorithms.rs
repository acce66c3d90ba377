//! The list of algorithms, one file each: claim, settings, run, verification by another method.

pub mod all_shortest_paths;
pub mod article_rank;
pub mod articulation_points;
pub mod astar;
pub mod betweenness;
pub mod bfs;
pub mod bidirectional_dijkstra;
pub mod bridges;
pub mod cdlp;
pub mod closeness;
pub mod degree;
pub mod dijkstra;
pub mod eigenvector;
pub mod harmonic;
pub mod hits;
pub mod kcore;
pub mod lcc;
pub mod leiden;
pub mod longest_path;
pub mod louvain;
pub mod modularity;
pub mod node_similarity;
pub mod pagerank;
pub mod random_walk;
pub mod scc;
pub mod shortest_path;
pub mod spanning_tree;
pub mod sssp;
pub mod topological_sort;
pub mod triangles;
pub mod wcc;
pub mod yens;

use std::sync::{Arc, OnceLock};

use model::procedure::Procedure;

use crate::algorithm::{GraphProcedure, procedures_of};
use crate::kept;
use crate::procedure::{AlgorithmProcedure, SearchProcedure};
use crate::view_cache::ViewCache;

/// Every procedure of this crate.
struct All {
    /// Searches that read a small part of the graph.
    searches: Vec<AlgorithmProcedure>,
    /// Those of them that keep what they read.
    keeping: Vec<SearchProcedure>,
    /// Those of each algorithm that reads all of a selection.
    whole: Vec<GraphProcedure>,
}

fn all() -> &'static All {
    static ALL: OnceLock<All> = OnceLock::new();
    ALL.get_or_init(|| {
        let keeping = vec![dijkstra::PROCEDURE, astar::PROCEDURE];
        let searches = vec![
            shortest_path::PROCEDURE,
            bidirectional_dijkstra::PROCEDURE,
            all_shortest_paths::PROCEDURE,
            yens::PROCEDURE,
        ];
        let whole = [
            procedures_of::<article_rank::Algorithm>(),
            procedures_of::<articulation_points::Algorithm>(),
            procedures_of::<betweenness::Algorithm>(),
            procedures_of::<bfs::Algorithm>(),
            procedures_of::<bridges::Algorithm>(),
            procedures_of::<cdlp::Algorithm>(),
            procedures_of::<closeness::Algorithm>(),
            procedures_of::<degree::Algorithm>(),
            procedures_of::<eigenvector::Algorithm>(),
            procedures_of::<harmonic::Algorithm>(),
            procedures_of::<hits::Algorithm>(),
            procedures_of::<kcore::Algorithm>(),
            procedures_of::<lcc::Algorithm>(),
            procedures_of::<leiden::Algorithm>(),
            procedures_of::<longest_path::Algorithm>(),
            procedures_of::<louvain::Algorithm>(),
            procedures_of::<modularity::Algorithm>(),
            procedures_of::<node_similarity::Algorithm>(),
            procedures_of::<pagerank::Algorithm>(),
            procedures_of::<random_walk::Algorithm>(),
            procedures_of::<scc::Algorithm>(),
            procedures_of::<spanning_tree::Algorithm>(),
            procedures_of::<sssp::Algorithm>(),
            procedures_of::<topological_sort::Algorithm>(),
            procedures_of::<triangles::Algorithm>(),
            procedures_of::<wcc::Algorithm>(),
        ];
        All { searches, keeping, whole: whole.concat() }
    })
}

/// The algorithms, to be registered. They read the graph anew for every call.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    with(None)
}

/// The algorithms, to be registered, with a place where they keep what they have read into memory.
pub fn procedures_with(views: Arc<ViewCache>) -> Vec<Arc<dyn Procedure>> {
    with(Some(views))
}

fn with(views: Option<Arc<ViewCache>>) -> Vec<Arc<dyn Procedure>> {
    let All { searches, keeping, whole } = all();
    let searches = searches.iter().map(|procedure| Arc::new(*procedure) as Arc<dyn Procedure>);
    let keeping = keeping.iter().map(|procedure| Arc::new(procedure.keeping(views.clone())) as Arc<dyn Procedure>);
    let whole = whole.iter().map(|procedure| Arc::new(procedure.keeping(views.clone())) as Arc<dyn Procedure>);
    let budget = views.as_ref().map(|views| views.budget().clone());
    searches.chain(keeping).chain(whole).chain(kept::procedures(budget)).collect()
}
