//! State of an open graph that its views and transactions share.

use crate::commit::Queue;
use crate::ids::Blocks;
use crate::log::Log;

/// State that a store shares with its transactions.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) log: Log,
    pub(crate) queue: Queue,
    pub(crate) blocks: Blocks,
    /// Number of the store, as long as it is open.
    pub(crate) number: u64,
}
