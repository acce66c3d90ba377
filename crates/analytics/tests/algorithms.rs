//! The algorithms as they are called, against naive references, verifiers, published results and errors.

#[path = "algorithms/arrays.rs"]
mod arrays;
#[path = "algorithms/call.rs"]
mod call;
#[path = "algorithms/centrality.rs"]
mod centrality;
#[path = "algorithms/communities.rs"]
mod communities;
#[path = "algorithms/communities_at_once.rs"]
mod communities_at_once;
#[path = "algorithms/distance_centrality.rs"]
mod distance_centrality;
#[path = "algorithms/edge_passes.rs"]
mod edge_passes;
#[path = "algorithms/errors.rs"]
mod errors;
#[path = "algorithms/errors_structure.rs"]
mod errors_structure;
#[path = "algorithms/generated.rs"]
mod generated;
#[path = "algorithms/graphalytics.rs"]
mod graphalytics;
#[path = "algorithms/naive.rs"]
mod naive;
#[path = "algorithms/naive_centrality.rs"]
mod naive_centrality;
#[path = "algorithms/naive_neighborhoods.rs"]
mod naive_neighborhoods;
#[path = "algorithms/naive_structure.rs"]
mod naive_structure;
#[path = "algorithms/neighborhoods.rs"]
mod neighborhoods;
#[path = "algorithms/paths.rs"]
mod paths;
#[path = "algorithms/programs.rs"]
mod programs;
#[path = "algorithms/reference.rs"]
mod reference;
#[path = "algorithms/roads.rs"]
mod roads;
#[path = "algorithms/rows.rs"]
mod rows;
#[path = "algorithms/similarity.rs"]
mod similarity;
#[path = "algorithms/spilled.rs"]
mod spilled;
#[path = "algorithms/streamed.rs"]
mod streamed;
#[path = "algorithms/structure.rs"]
mod structure;
#[path = "algorithms/walks.rs"]
mod walks;
#[path = "algorithms/weights.rs"]
mod weights;
#[path = "algorithms/windows.rs"]
mod windows;
