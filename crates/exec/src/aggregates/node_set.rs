//! A set of nodes that grows from a short list over a hash set to pages of bits.
//!
//! Cost: with pages, one or two cache misses a node and 8 KiB for each range of 65,536 ids in use.

use model::{NodeId, Set};

/// Longest list that is searched from start to end.
const LIST_NODES_MAX: usize = 16;
/// Most nodes kept by hash before pages are made.
const HASHED_NODES_MAX: usize = 512;
/// Nodes that come together from which pages are made at once.
const PAGED_BATCH_MIN: usize = 128;
/// Bits of an id that say where in its page it is.
const PAGE_BITS: u32 = 16;
/// Words of a page.
const PAGE_WORDS: usize = 1 << (PAGE_BITS - 6);
/// Most pages: ids above them, as foreign stores may use, stay in the hash set.
const PAGES_MAX: u64 = 1 << 20;

type Page = Box<[u64; PAGE_WORDS]>;

/// A set of nodes.
#[derive(Clone, Debug)]
pub(super) enum NodeSet {
    List(Vec<NodeId>),
    Hashed(Set<NodeId>),
    Paged { pages: Vec<Option<Page>>, far: Set<NodeId> },
}

impl Default for NodeSet {
    fn default() -> NodeSet {
        NodeSet::List(Vec::new())
    }
}

impl NodeSet {
    /// Adds a node; true if it is new.
    #[inline]
    pub(super) fn insert(&mut self, node: NodeId) -> bool {
        match self {
            NodeSet::Paged { pages, far } => insert_paged(pages, far, node),
            _ => self.insert_small(node),
        }
    }

    /// Adds nodes; how many are new.
    pub(super) fn insert_all(&mut self, nodes: impl ExactSizeIterator<Item = NodeId>) -> usize {
        // So many are told apart faster by bits from the first on.
        if nodes.len() >= PAGED_BATCH_MIN {
            self.make_pages();
        }
        let mut rest = nodes;
        let mut new = 0;
        while !matches!(self, NodeSet::Paged { .. })
            && let Some(node) = rest.next()
        {
            new += usize::from(self.insert_small(node));
        }
        if let NodeSet::Paged { pages, far } = self {
            rest.for_each(|node| new += usize::from(insert_paged(pages, far, node)));
        }
        new
    }

    /// Adds the nodes of another set; how many are new.
    pub(super) fn insert_set(&mut self, other: NodeSet) -> usize {
        if matches!(self, NodeSet::List(list) if list.is_empty()) {
            *self = other;
            return self.len();
        }
        let mut new = 0;
        let (pages, far) = match other {
            NodeSet::Paged { pages, far } => (pages, far),
            other => {
                other.for_each(|node| new += usize::from(self.insert(node)));
                return new;
            }
        };
        self.make_pages();
        let NodeSet::Paged { pages: mine, far: my_far } = self else { return new };
        far.into_iter().for_each(|node| new += usize::from(my_far.insert(node)));
        if mine.len() < pages.len() {
            mine.resize(pages.len(), None);
        }
        for (mine, page) in mine.iter_mut().zip(pages) {
            let Some(page) = page else { continue };
            match mine {
                None => {
                    new += bits_of(&page);
                    *mine = Some(page);
                }
                Some(mine) => {
                    for (word, more) in mine.iter_mut().zip(page.iter()) {
                        new += (more & !*word).count_ones() as usize;
                        *word |= more;
                    }
                }
            }
        }
        new
    }

    fn len(&self) -> usize {
        match self {
            NodeSet::List(list) => list.len(),
            NodeSet::Hashed(set) => set.len(),
            NodeSet::Paged { pages, far } => far.len() + pages.iter().flatten().map(bits_of).sum::<usize>(),
        }
    }

    fn make_pages(&mut self) {
        if let NodeSet::Paged { .. } = self {
            return;
        }
        let (mut pages, mut far) = (Vec::new(), Set::default());
        self.for_each(|node| {
            insert_paged(&mut pages, &mut far, node);
        });
        *self = NodeSet::Paged { pages, far };
    }

    fn insert_small(&mut self, node: NodeId) -> bool {
        match self {
            NodeSet::List(list) => {
                if list.contains(&node) {
                    return false;
                }
                list.push(node);
                if list.len() > LIST_NODES_MAX {
                    *self = NodeSet::Hashed(list.drain(..).collect());
                }
                true
            }
            NodeSet::Hashed(set) => {
                let is_new = set.insert(node);
                if set.len() > HASHED_NODES_MAX {
                    self.make_pages();
                }
                is_new
            }
            NodeSet::Paged { pages, far } => insert_paged(pages, far, node),
        }
    }

    /// Approximate bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let hashed = |set: &Set<NodeId>| set.len() * 2 * size_of::<NodeId>();
        let heap = match self {
            NodeSet::List(list) => list.capacity() * size_of::<NodeId>(),
            NodeSet::Hashed(set) => hashed(set),
            NodeSet::Paged { pages, far } => {
                let used = pages.iter().filter(|page| page.is_some()).count();
                hashed(far) + pages.len() * size_of::<usize>() + used * PAGE_WORDS * size_of::<u64>()
            }
        };
        size_of::<NodeSet>() + heap
    }

    /// Calls `each` with every node, in no particular order.
    pub(super) fn for_each(&self, mut each: impl FnMut(NodeId)) {
        match self {
            NodeSet::List(list) => list.iter().for_each(|&node| each(node)),
            NodeSet::Hashed(set) => set.iter().for_each(|&node| each(node)),
            NodeSet::Paged { pages, far } => {
                far.iter().for_each(|&node| each(node));
                for (number, page) in pages.iter().enumerate() {
                    let words = page.iter().flat_map(|page| page.iter().enumerate());
                    for (index, &word) in words {
                        let mut bits = word;
                        while bits != 0 {
                            let bit = u64::from(bits.trailing_zeros());
                            each(NodeId((number as u64) << PAGE_BITS | (index as u64) << 6 | bit));
                            bits &= bits - 1;
                        }
                    }
                }
            }
        }
    }
}

fn bits_of(page: &Page) -> usize {
    page.iter().map(|word| word.count_ones() as usize).sum()
}

#[inline]
fn insert_paged(pages: &mut Vec<Option<Page>>, far: &mut Set<NodeId>, node: NodeId) -> bool {
    let number = (node.0 >> PAGE_BITS) as usize;
    if let Some(Some(page)) = pages.get_mut(number) {
        return set_bit(page, node);
    }
    insert_new_page(pages, far, node)
}

#[inline]
fn set_bit(page: &mut Page, node: NodeId) -> bool {
    let word = &mut page[(node.0 >> 6) as usize % PAGE_WORDS];
    let bit = 1 << (node.0 % 64);
    let is_new = *word & bit == 0;
    *word |= bit;
    is_new
}

#[cold]
fn insert_new_page(pages: &mut Vec<Option<Page>>, far: &mut Set<NodeId>, node: NodeId) -> bool {
    let number = node.0 >> PAGE_BITS;
    if number >= PAGES_MAX {
        return far.insert(node);
    }
    let number = number as usize;
    if pages.len() <= number {
        pages.resize(number + 1, None);
    }
    set_bit(pages[number].get_or_insert_with(|| Box::new([0; PAGE_WORDS])), node)
}
