//! Items that were written, with their transactions, as far back as the oldest open transaction can ask.

use std::collections::VecDeque;
use std::sync::Arc;

use model::{Consumer, Map, MemoryBudget, Reservation, Set};

use crate::transaction::items::Item;
use crate::transaction::reads::Read;

/// Items that are remembered at most. A transaction that stays open while more are written cannot commit any more.
const ITEMS_MAX: usize = 4_000_000;

/// Bytes of an entry of the map, and differences that are not worth counting.
const MAP_ENTRY_BYTES: usize = 17;
const COUNT_STEP_BYTES: usize = 64 << 10;
/// Entries of a map that is kept for its memory when it has become empty.
const KEPT_ENTRIES: usize = 1 << 14;

/// The last commits of items.
#[derive(Debug)]
pub(super) struct Conflicts {
    /// For the hash of an item, the last transaction that wrote it.
    latest: Map<u64, u64>,
    /// Commits whose items are in `latest`, oldest first.
    commits: VecDeque<(u64, Box<[u64]>)>,
    /// Last transaction of those whose writes were forgotten although older ones are open.
    forgotten: u64,
    memory: Reservation,
}

impl Conflicts {
    /// Nothing was written yet.
    pub(super) fn new(memory: &Arc<MemoryBudget>) -> Conflicts {
        let memory = memory.empty(Consumer::Memtable);
        Conflicts { latest: Map::default(), commits: VecDeque::new(), forgotten: 0, memory }
    }

    /// Counts what the map and the commits take.
    fn count_memory(&mut self) {
        let bytes = self.latest.capacity() * MAP_ENTRY_BYTES + self.latest.len() * size_of::<u64>();
        if bytes.abs_diff(self.memory.bytes()) >= COUNT_STEP_BYTES || bytes == 0 {
            self.memory.resize(bytes);
        }
    }

    /// True if the writes after a transaction are known.
    pub(super) fn knows_since(&self, sequence: u64) -> bool {
        sequence >= self.forgotten
    }

    /// The first of some items that was written after a transaction.
    pub(super) fn find<'a>(&self, items: &'a [Item], since: u64) -> Option<&'a Item> {
        if self.latest.is_empty() {
            return None;
        }
        items.iter().find(|item| self.latest.get(&item.hash()).is_some_and(|&sequence| sequence > since))
    }

    /// One of the items that were read, if it was changed after a transaction.
    pub(super) fn find_read<'a>(&self, reads: &'a Set<Read>, since: u64) -> Option<&'a Read> {
        let is_late = |hash: u64| self.latest.get(&hash).is_some_and(|&sequence| sequence > since);
        if is_late(Read::Schema.hash()) {
            return Some(&Read::Schema);
        }
        reads.iter().find(|read| is_late(read.hash()))
    }

    /// Forgets all items: a transaction changed too much to note, so those that are open cannot rely on anything.
    pub(super) fn forget_all(&mut self, sequence: u64) {
        self.latest = Map::default();
        self.commits = VecDeque::new();
        self.forgotten = sequence;
        self.count_memory();
    }

    /// Notes what a transaction wrote.
    pub(super) fn add(&mut self, sequence: u64, hashes: Box<[u64]>) {
        if hashes.is_empty() {
            return;
        }
        if self.latest.len() + hashes.len() > ITEMS_MAX {
            self.forget_all(sequence);
            return;
        }
        self.latest.extend(hashes.iter().map(|&hash| (hash, sequence)));
        self.commits.push_back((sequence, hashes));
        self.count_memory();
    }

    /// Forgets what no open transaction can conflict with; `None` if none is open.
    pub(super) fn forget_before(&mut self, oldest: Option<u64>) {
        let Some(oldest) = oldest else {
            if self.latest.capacity() > KEPT_ENTRIES {
                (self.latest, self.commits) = (Map::default(), VecDeque::new());
            }
            self.latest.clear();
            self.commits.clear();
            self.count_memory();
            return;
        };
        while let Some((sequence, hashes)) = self.commits.front().filter(|commit| commit.0 <= oldest) {
            for hash in hashes {
                if self.latest.get(hash) == Some(sequence) {
                    self.latest.remove(hash);
                }
            }
            self.commits.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::{Conflicts, Item};

    #[test]
    fn what_was_written_later_is_found_until_nobody_can_ask() {
        let mut conflicts = Conflicts::new(&model::MemoryBudget::unlimited());
        let items = |nodes: &[u64]| nodes.iter().map(|&node| Item::Node(NodeId(node))).collect::<Vec<_>>();
        let add = |conflicts: &mut Conflicts, sequence, nodes: &[u64]| {
            conflicts.add(sequence, items(nodes).iter().map(Item::hash).collect());
        };
        add(&mut conflicts, 5, &[1, 2]);
        add(&mut conflicts, 6, &[2, 3]);
        let found = |conflicts: &Conflicts, nodes: &[u64], since| conflicts.find(&items(nodes), since).copied();
        assert_eq!(found(&conflicts, &[4, 1], 4), Some(Item::Node(NodeId(1))));
        assert_eq!(found(&conflicts, &[4, 1], 5), None);
        assert_eq!(found(&conflicts, &[2], 5), Some(Item::Node(NodeId(2))));
        conflicts.forget_before(Some(5));
        assert_eq!(found(&conflicts, &[1], 0), None);
        assert_eq!(found(&conflicts, &[2], 5), Some(Item::Node(NodeId(2))));
        conflicts.forget_before(None);
        assert_eq!(found(&conflicts, &[2, 3], 0), None);
        assert!(conflicts.knows_since(6));
        conflicts.add(7, (0..super::ITEMS_MAX as u64 + 1).collect());
        assert!(!conflicts.knows_since(6) && conflicts.knows_since(7));
    }
}
