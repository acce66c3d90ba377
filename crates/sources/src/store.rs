//! A database with its graph definition as a graph behind the waist, with a cache and prefetchers.

mod crossing;

use std::sync::Arc;

use model::MemoryBudget;
use model::platform::Clock;

pub use self::crossing::Crossing;

/// What a source shares with the database that it is attached to.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Where what is kept is counted.
    pub memory: Arc<MemoryBudget>,
    /// Tells how old it is.
    pub clock: Arc<dyn Clock>,
}
