//! Every procedure of this crate: the algorithms, and those of kept computations.

use std::sync::Arc;

use model::job::JobEngine;
use model::procedure::Procedure;

use crate::algorithm::Around;
use crate::view_cache::ViewCache;
use crate::{algorithms, kept};

/// The procedures, to be registered. They read the graph anew for every call.
pub fn procedures() -> Vec<Arc<dyn Procedure>> {
    within(Around::default())
}

/// The procedures, to be registered, with a place where they keep what they have read into memory, and a program that
/// computes elsewhere if there is one.
pub fn procedures_with(views: Arc<ViewCache>, engine: Option<Arc<dyn JobEngine>>) -> Vec<Arc<dyn Procedure>> {
    within(Around { views: Some(views), engine })
}

fn within(around: Around) -> Vec<Arc<dyn Procedure>> {
    let budget = around.views.as_ref().map(|views| views.budget().clone());
    algorithms::procedures(&around).into_iter().chain(kept::procedures(budget)).collect()
}
