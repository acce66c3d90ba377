//! Ids of nodes and numbers of edges: a process takes them in blocks, by records of the log, and gives them out one by one.
//!
//! Invariants: no id is given out twice, in any process; ids are dense but for the rests of blocks of processes that have
//! ended. Nodes that one transaction makes have neighbouring ids, and so share partitions.
//! Cost: one record of the log for a block; blocks double from [`FIRST_BLOCK`] to [`LARGEST_BLOCK`].

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use model::{Result, error};

use crate::commit::{Answer, Doubts, Pending, Queue};
use crate::items::Items;
use crate::log::Log;
use crate::record::{Member, Stored, TransactionId};
use crate::state::{Delta, Ids};

/// Ids of the first block that a process takes.
const FIRST_BLOCK: u64 = 256;
/// Ids of a block at most, unless more are needed at once.
const LARGEST_BLOCK: u64 = 65_536;

/// Ids that this process was given and has not given out.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    nodes: Mutex<Block>,
    edges: Mutex<Block>,
}

#[derive(Debug)]
struct Block {
    left: Range<u64>,
    next_size: u64,
}

impl Default for Block {
    fn default() -> Block {
        Block { left: 0..0, next_size: FIRST_BLOCK }
    }
}

/// Kinds of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdKind {
    Node,
    Edge,
}

impl Blocks {
    /// So many new ids.
    pub(crate) fn take(&self, kind: IdKind, count: u64, log: &Log, queue: &Queue) -> Result<Vec<u64>> {
        let block = if kind == IdKind::Node { &self.nodes } else { &self.edges };
        let mut block = block.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<u64> = block.take(count).collect();
        let missing = count - ids.len() as u64;
        if missing > 0 {
            let size = block.next_size.max(missing);
            // If it fails, the ids that were taken are lost, as those of a process that ends.
            let first = append_block(kind, size, log, queue)?;
            block.left = first..first + size;
            block.next_size = (block.next_size * 2).min(LARGEST_BLOCK);
            ids.extend(block.take(missing));
        }
        Ok(ids)
    }
}

impl Block {
    fn take(&mut self, count: u64) -> Range<u64> {
        let end = self.left.end.min(self.left.start.saturating_add(count));
        let taken = self.left.start..end;
        self.left.start = end;
        taken
    }
}

/// Records for one block at most.
const BLOCK_ATTEMPTS: usize = 8;

/// A block for this process: its first id. A process that slept until a checkpoint included its record does not learn
/// the place of the block, which nobody uses then, and takes another.
fn append_block(kind: IdKind, size: u64, log: &Log, queue: &Queue) -> Result<u64> {
    for _ in 0..BLOCK_ATTEMPTS {
        if let Some(first) = try_block(kind, size, log, queue)? {
            return Ok(first);
        }
    }
    Err(error!(Conflict, "no block of ids was given out in {BLOCK_ATTEMPTS} attempts"))
}

/// Appends a record that gives a block to this process: its first id; `None` if it is not known.
fn try_block(kind: IdKind, size: u64, log: &Log, queue: &Queue) -> Result<Option<u64>> {
    let state = log.state();
    if state.loading.is_some() {
        return Err(error!(Conflict, "a bulk load into the graph began after the transaction"));
    }
    let transaction = TransactionId(log.settings.random.next_u64(), log.settings.random.next_u64());
    let block = match kind {
        IdKind::Node => Ids { nodes: size, edges: 0 },
        IdKind::Edge => Ids { nodes: 0, edges: size },
    };
    let delta = Delta { block, ..Delta::default() };
    let items = Arc::new(Items::default());
    let stored = Stored::Inline(Arc::from(items.encode()));
    let member = Member::new(transaction, delta, stored, Stored::Inline(Arc::from([])), items);
    let pending = Arc::new(Pending {
        base: state.sequence,
        named_at: u64::MAX,
        member: Arc::new(member),
        rows: Arc::from([]),
        bytes: 128,
        doubts: Doubts::default(),
        answer: Mutex::new(Answer::Waiting),
    });
    queue.commit(log, pending)?;
    let first = log.take_grant(transaction);
    Ok(first.map(|first| if kind == IdKind::Node { first.nodes } else { first.edges }))
}
