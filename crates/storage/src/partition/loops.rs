//! Which nodes of a section have self-loops: found out once for each node, as a section never changes.
//!
//! Memory: a quarter of a byte for each id between the first and the last source, from the first question on; nothing
//! for a section of too many ids, which searches each time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use model::{NodeId, Result};

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
    words: OnceLock<Box<[Word]>>,
}

impl Loops {
    /// Whether a node between the first and the last has a self-loop; `find` says so where it is not known yet.
    #[inline]
    pub(super) fn get_or_find(
        &self,
        (first, last): (u64, u64),
        node: NodeId,
        find: impl FnOnce() -> Result<bool>,
    ) -> Result<bool> {
        if last - first >= IDS_MAX {
            return find();
        }
        let words = self.words.get_or_init(|| (0..(last - first) / 64 + 1).map(|_| Word::default()).collect());
        let at = node.0 - first;
        let (word, bit) = (&words[(at / 64) as usize], 1 << (at % 64));
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

#[cfg(test)]
mod tests {
    use super::{IDS_MAX, Loops};
    use model::NodeId;

    #[test]
    fn a_node_is_looked_at_once() {
        let loops = Loops::default();
        let ask = |node: u64, has: bool| {
            let mut asked = false;
            let found = loops.get_or_find((100, 1_000), NodeId(node), || {
                asked = true;
                Ok(has)
            });
            (found.unwrap(), asked)
        };
        for (node, has) in [(100, true), (163, false), (164, true), (1_000, true), (999, false)] {
            assert_eq!(ask(node, has), (has, true), "{node} at first");
            assert_eq!(ask(node, !has), (has, false), "{node} again");
        }
    }

    #[test]
    fn a_failure_is_not_remembered() {
        let loops = Loops::default();
        let failure = loops.get_or_find((0, 9), NodeId(3), || Err(model::error!(Corrupt, "damaged")));
        assert!(failure.is_err());
        assert!(loops.get_or_find((0, 9), NodeId(3), || Ok(true)).unwrap());
    }

    #[test]
    fn sections_of_many_ids_remember_nothing() {
        let loops = Loops::default();
        for has in [true, false] {
            assert_eq!(loops.get_or_find((0, IDS_MAX), NodeId(5), || Ok(has)).unwrap(), has);
        }
        assert!(loops.words.get().is_none());
    }
}
