//! Every procedure of this crate: the algorithms, and those of kept computations.

use std::sync::Arc;

use model::procedure::Procedure;

use crate::view_cache::ViewCache;
use crate::{algorithms, kept};

/// The procedures, to be registered. They read the graph anew for every call.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    with(None)
}

/// The procedures, to be registered, with a place where they keep what they have read into memory.
pub fn procedures_with(views: Arc<ViewCache>) -> Vec<Arc<dyn Procedure>> {
    with(Some(&views))
}

fn with(views: Option<&Arc<ViewCache>>) -> Vec<Arc<dyn Procedure>> {
    let budget = views.map(|views| views.budget().clone());
    algorithms::procedures(views).into_iter().chain(kept::procedures(budget)).collect()
}
