//! State of an open graph that its views and transactions share.

use std::sync::Arc;

use crate::bodies::Numbers;
use crate::commit::Queue;
use crate::ids::Blocks;
use crate::log::Log;

/// State that a store shares with its transactions.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) log: Arc<Log>,
    pub(crate) queue: Queue,
    pub(crate) blocks: Blocks,
    /// Names for transactions with bodies.
    pub(crate) names: Numbers,
    /// Number of the store, as long as it is open.
    pub(crate) number: u64,
}
