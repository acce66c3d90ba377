//! Results for a tree's nodes, shared by the runs of one statement and their threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use model::{Bitmap, NodeId, Result};

use super::lists::Lists;
use super::stored::Stored;
use crate::edge_ends::ByType;

/// The numbers of matches that a node stands for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Message {
    /// Number of matches; at most [`u64::MAX`], which stands for any number that is larger.
    pub(super) value: u64,
    /// Number of matches without the branch aside.
    pub(super) rest: u64,
    /// Number of edges of the branch aside that lead back to the node, where that is wanted.
    pub(super) loops: u64,
}

impl Message {
    /// Of a node of which nothing is asked.
    pub(super) const ONE: Message = Message { value: 1, rest: 1, loops: 0 };
}

/// The messages of all nodes, by id.
pub(super) struct Whole {
    pub(super) values: Vec<u64>,
    /// Empty if there is no branch aside.
    pub(super) rests: Vec<u64>,
    /// Empty if such edges are not wanted.
    pub(super) loops: Vec<u64>,
    /// The nodes that stand for a match, once it was asked for; `None` if they are many.
    pub(super) few: OnceLock<Option<Vec<NodeId>>>,
}

impl Whole {
    /// The message of one node.
    #[inline]
    pub(super) fn get(&self, node: NodeId) -> Message {
        let at = node.0 as usize;
        let of = |numbers: &[u64]| numbers.get(at).copied().unwrap_or(0);
        Message { value: of(&self.values), rest: of(&self.rests), loops: of(&self.loops) }
    }
}

/// A value made once, by the first thread that needs it; others wait meanwhile.
pub(super) struct Shared<T> {
    is_made: AtomicBool,
    made: Mutex<Option<Arc<T>>>,
}

impl<T> Shared<T> {
    fn new() -> Shared<T> {
        Shared { is_made: AtomicBool::new(false), made: Mutex::new(None) }
    }

    /// Returns what was made; `None` if it was not.
    pub(super) fn get(&self) -> Option<Arc<T>> {
        if !self.is_made.load(Ordering::Acquire) {
            return None;
        }
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns what was made, making it now if it was not; `None` if it cannot be made.
    pub(super) fn get_or_try(&self, make: impl FnOnce() -> Result<Option<T>>) -> Result<Option<Arc<T>>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = &*made {
            return Ok(Some(made.clone()));
        }
        let Some(new) = make()?.map(Arc::new) else { return Ok(None) };
        *made = Some(new.clone());
        self.is_made.store(true, Ordering::Release);
        Ok(Some(new))
    }
}

/// See the module.
pub(super) struct Tables {
    /// By the number of a tree's node.
    pub(super) wholes: Vec<Shared<Whole>>,
    /// By the number of a tree's node: the types of edges that lead to nodes with its labels; `None` if finding them is
    /// expensive.
    pub(super) types: Vec<Shared<Option<ByType>>>,
    /// By the number of a tree's node: how many nodes were asked for.
    pub(super) asked: Vec<AtomicUsize>,
    /// By the number of a tree's node: the nodes that edges lead from to one that stands for a match.
    pub(super) reached: Vec<Shared<Bitmap>>,
    /// By the number of a tree's node, where memory is short: what all nodes stand for.
    pub(super) stored: Vec<Shared<Stored>>,
    /// By the number of a list.
    pub(super) lists: Vec<Shared<Lists>>,
    /// Memory was refused: from then on little is remembered; see [`super::low_memory`].
    pub(super) has_low_memory: AtomicBool,
}

impl Tables {
    /// Nothing known of that many tables and lists.
    pub(super) fn new(tables: usize, lists: usize) -> Tables {
        Tables {
            wholes: (0..tables).map(|_| Shared::new()).collect(),
            asked: (0..tables).map(|_| AtomicUsize::new(0)).collect(),
            reached: (0..tables).map(|_| Shared::new()).collect(),
            stored: (0..tables).map(|_| Shared::new()).collect(),
            types: (0..tables).map(|_| Shared::new()).collect(),
            lists: (0..lists).map(|_| Shared::new()).collect(),
            has_low_memory: AtomicBool::new(false),
        }
    }
}
