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

use model::procedure::{Procedure, ProcedureSignature};

use crate::algorithm::{About, Algorithm, Around, GraphProcedure, procedures_of};
use crate::procedure::{AlgorithmProcedure, SearchProcedure};
use crate::settings::Table;

/// Every procedure of this crate.
struct All {
    /// Searches that read a small part of the graph.
    searches: Vec<AlgorithmProcedure>,
    /// Those of them that keep what they read.
    keeping: Vec<SearchProcedure>,
    /// Those of each algorithm that reads all of a selection.
    whole: Vec<GraphProcedure>,
}

/// An algorithm that reads all of a selection.
pub(crate) struct Entry {
    pub(crate) about: About,
    procedures: fn() -> Vec<GraphProcedure>,
}

const fn entry<A: Algorithm>() -> Entry {
    Entry { about: A::ABOUT, procedures: procedures_of::<A> }
}

/// Every algorithm that reads all of a selection.
pub(crate) const WHOLE: &[Entry] = &[
    entry::<article_rank::Algorithm>(),
    entry::<articulation_points::Algorithm>(),
    entry::<betweenness::Algorithm>(),
    entry::<bfs::Algorithm>(),
    entry::<bridges::Algorithm>(),
    entry::<cdlp::Algorithm>(),
    entry::<closeness::Algorithm>(),
    entry::<degree::Algorithm>(),
    entry::<eigenvector::Algorithm>(),
    entry::<harmonic::Algorithm>(),
    entry::<hits::Algorithm>(),
    entry::<kcore::Algorithm>(),
    entry::<lcc::Algorithm>(),
    entry::<leiden::Algorithm>(),
    entry::<longest_path::Algorithm>(),
    entry::<louvain::Algorithm>(),
    entry::<modularity::Algorithm>(),
    entry::<node_similarity::Algorithm>(),
    entry::<pagerank::Algorithm>(),
    entry::<random_walk::Algorithm>(),
    entry::<scc::Algorithm>(),
    entry::<spanning_tree::Algorithm>(),
    entry::<sssp::Algorithm>(),
    entry::<topological_sort::Algorithm>(),
    entry::<triangles::Algorithm>(),
    entry::<wcc::Algorithm>(),
];

/// Every search that reads a small part of the graph: its signature and its settings.
pub(crate) fn searches() -> Vec<(ProcedureSignature, &'static [Table])> {
    let All { searches, keeping, .. } = all();
    let keeping = keeping.iter().map(|procedure| (procedure.signature, procedure.settings));
    searches.iter().map(|procedure| (procedure.signature, procedure.settings)).chain(keeping).collect()
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
        let whole = WHOLE.iter().flat_map(|entry| (entry.procedures)()).collect();
        All { searches, keeping, whole }
    })
}

/// The procedures of all algorithms, in these surroundings.
pub(crate) fn procedures(around: &Around) -> Vec<Arc<dyn Procedure>> {
    let All { searches, keeping, whole } = all();
    let views = &around.views;
    let searches = searches.iter().map(|procedure| Arc::new(*procedure) as Arc<dyn Procedure>);
    let keeping = keeping.iter().map(|procedure| Arc::new(procedure.keeping(views.clone())) as Arc<dyn Procedure>);
    let whole = whole.iter().map(|procedure| Arc::new(procedure.within(around.clone())) as Arc<dyn Procedure>);
    searches.chain(keeping).chain(whole).collect()
}
