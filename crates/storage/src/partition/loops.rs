//! Self-loops of the nodes of a section: found out once for each node, as a section never changes.
//!
//! Memory: a quarter of a byte for each id between the first and the last source, from the first question on, counted
//! as that of open files; nothing for a section of too many ids or where there is no room, which searches each time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{NodeId, Result};

use crate::file::Held;

/// The most ids of a section for which it is remembered: a megabyte.
const IDS_MAX: u64 = 1 << 22;

/// 64 nodes.
#[derive(Debug, Default)]
struct Word {
    known: AtomicU64,
    have: AtomicU64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Loops {
    words: OnceLock<Option<Words>>,
}

#[derive(Debug)]
struct Words {
    words: Box<[Word]>,
    _held: Held,
}

impl Loops {
    /// True if a node between the first and the last has a self-loop; `find` says so where it is not known yet, and
    /// `hold` counts the bytes given to it if there is room.
    #[inline]
    pub(super) fn get_or_find(
        &self,
        (first, last): (u64, u64),
        node: NodeId,
        hold: impl FnOnce(usize) -> Option<Held>,
        find: impl FnOnce() -> Result<bool>,
    ) -> Result<bool> {
        let Some(known) = self.words.get_or_init(|| Words::of(last - first, hold)) else { return find() };
        let at = node.0 - first;
        let (word, bit) = (&known.words[(at / 64) as usize], 1 << (at % 64));
        if word.known.load(Ordering::Acquire) & bit != 0 {
            return Ok(word.have.load(Ordering::Relaxed) & bit != 0);
        }
        let has = find()?;
        if has {
            word.have.fetch_or(bit, Ordering::Relaxed);
        }
        word.known.fetch_or(bit, Ordering::Release);
        Ok(has)
    }
}

impl Words {
    fn of(ids: u64, hold: impl FnOnce(usize) -> Option<Held>) -> Option<Words> {
        if ids >= IDS_MAX {
            return None;
        }
        let count = (ids / 64 + 1) as usize;
        let held = hold(count * size_of::<Word>())?;
        Some(Words { words: (0..count).map(|_| Word::default()).collect(), _held: held })
    }
}

#[cfg(test)]
mod tests {
    use super::{IDS_MAX, Loops};
    use crate::file::cache::BlockCache;
    use model::{Consumer, MemoryBudget, NodeId};

    /// Answer of `loops`, and whether it had to look.
    fn ask(loops: &Loops, cache: &std::sync::Arc<BlockCache>, ids: (u64, u64), node: u64, has: bool) -> (bool, bool) {
        let mut asked = false;
        let find = || {
            asked = true;
            Ok(has)
        };
        let hold = |bytes| cache.try_hold(Consumer::OpenFiles, bytes);
        (loops.get_or_find(ids, NodeId(node), hold, find).unwrap(), asked)
    }

    #[test]
    fn a_node_is_looked_at_once_and_the_memory_is_counted() {
        let budget = MemoryBudget::unlimited();
        let (cache, loops) = (BlockCache::new(budget.clone()), Loops::default());
        for (node, has) in [(100, true), (163, false), (164, true), (1_000, true), (999, false)] {
            assert_eq!(ask(&loops, &cache, (100, 1_000), node, has), (has, true), "{node} at first");
            assert_eq!(ask(&loops, &cache, (100, 1_000), node, !has), (has, false), "{node} again");
        }
        assert_eq!(budget.used_by(Consumer::OpenFiles), 15 * 16);
        drop(loops);
        assert_eq!(budget.used_by(Consumer::OpenFiles), 0);
    }

    #[test]
    fn a_failure_is_not_remembered() {
        let (cache, loops) = (BlockCache::new(MemoryBudget::unlimited()), Loops::default());
        let hold = |bytes| cache.try_hold(Consumer::OpenFiles, bytes);
        let failure = loops.get_or_find((0, 9), NodeId(3), hold, || Err(model::error!(Corrupt, "damaged")));
        assert!(failure.is_err());
        assert_eq!(ask(&loops, &cache, (0, 9), 3, true), (true, true));
    }

    #[test]
    fn sections_of_many_ids_and_without_room_remember_nothing() {
        for (memory, ids) in [(usize::MAX / 2, (0, IDS_MAX)), (1 << 10, (0, 1_000))] {
            let (cache, loops) = (BlockCache::new(MemoryBudget::new(memory)), Loops::default());
            for has in [true, false] {
                assert_eq!(ask(&loops, &cache, ids, 5, has), (has, true));
            }
        }
    }
}
