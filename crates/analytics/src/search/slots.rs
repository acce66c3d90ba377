//! Small numbers for the nodes that a search has met, and a set of nodes.

use model::id::NodeId;
use model::store::ReadView;
use model::{Map, Set};

/// Above this bound of ids an array over all of them is not worth its address space.
const DENSE_IDS_MAX: u64 = 1 << 30;
/// Bytes that the operating system gives at a time.
const PAGE_BYTES: usize = 4096;

/// True if arrays indexed by node id may be used. They are zeroed by the operating system page by page, as they are
/// touched, so that a search that meets few nodes pays for few.
fn may_index(view: &dyn ReadView) -> bool {
    view.capabilities().dense_node_ids && view.node_id_bound() <= DENSE_IDS_MAX
}

/// The slot of each node met so far, given in order of meeting.
pub(crate) struct Slots {
    numbers: Numbers,
    nodes: Vec<NodeId>,
}

enum Numbers {
    /// For each id, its slot plus one; 0 for a node not met.
    Dense(Vec<u32>, Pages),
    Sparse(Map<NodeId, u32>),
}

/// The pages of an array that were touched: the others take no memory.
#[derive(Default)]
struct Pages {
    touched: Vec<u64>,
    count: usize,
}

impl Pages {
    #[inline]
    fn touch(&mut self, byte: usize) {
        let page = byte / PAGE_BYTES;
        if page / 64 >= self.touched.len() {
            self.touched.resize((page / 64 + 1).next_power_of_two(), 0);
        }
        let (word, bit) = (&mut self.touched[page / 64], 1 << (page % 64));
        self.count += usize::from(*word & bit == 0);
        *word |= bit;
    }

    fn byte_count(&self) -> usize {
        PAGE_BYTES * self.count
    }
}

impl Slots {
    pub(crate) fn new(view: &dyn ReadView) -> Slots {
        let numbers = if may_index(view) {
            Numbers::Dense(vec![0; view.node_id_bound() as usize], Pages::default())
        } else {
            Numbers::Sparse(Map::default())
        };
        Slots { numbers, nodes: Vec::new() }
    }

    /// The slot of a node, given now if it is new.
    #[inline]
    pub(crate) fn slot(&mut self, node: NodeId) -> u32 {
        let next = self.nodes.len() as u32;
        let slot = match &mut self.numbers {
            Numbers::Dense(numbers, pages) => {
                if node.index() >= numbers.len() {
                    numbers.resize(node.index() + 1, 0);
                }
                let number = &mut numbers[node.index()];
                if *number == 0 {
                    *number = next + 1;
                    pages.touch(4 * node.index());
                }
                *number - 1
            }
            Numbers::Sparse(numbers) => *numbers.entry(node).or_insert(next),
        };
        if slot == next {
            self.nodes.push(node);
        }
        slot
    }

    /// Appends the slots of some nodes, given now where they are new.
    pub(crate) fn append(&mut self, nodes: &[NodeId], slots: &mut Vec<u32>) {
        slots.reserve(nodes.len());
        slots.extend(nodes.iter().map(|&node| self.slot(node)));
    }

    /// Approximate bytes that it holds.
    pub(crate) fn byte_count(&self) -> usize {
        let numbers = match &self.numbers {
            Numbers::Dense(_, pages) => pages.byte_count(),
            Numbers::Sparse(numbers) => 16 * numbers.capacity(),
        };
        numbers + size_of::<NodeId>() * self.nodes.capacity()
    }

    /// The slot of a node, if it was met.
    #[inline]
    pub(crate) fn find(&self, node: NodeId) -> Option<u32> {
        match &self.numbers {
            Numbers::Dense(numbers, _) => numbers.get(node.index()).and_then(|number| number.checked_sub(1)),
            Numbers::Sparse(numbers) => numbers.get(&node).copied(),
        }
    }

    /// The node of a slot.
    #[inline]
    pub(crate) fn node(&self, slot: u32) -> NodeId {
        self.nodes[slot as usize]
    }

    /// The nodes of all slots from `start` on.
    pub(crate) fn nodes_from(&self, start: usize) -> &[NodeId] {
        &self.nodes[start..]
    }

    /// Number of nodes that have been met.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// A set of nodes.
pub(crate) enum NodeSet {
    /// A bit for each id.
    Dense(Vec<u64>),
    Sparse(Set<NodeId>),
}

impl NodeSet {
    pub(crate) fn new(view: &dyn ReadView) -> NodeSet {
        if may_index(view) {
            NodeSet::Dense(vec![0; view.node_id_bound().div_ceil(64) as usize])
        } else {
            NodeSet::Sparse(Set::default())
        }
    }

    /// Adds a node; true if it is new.
    #[inline]
    pub(crate) fn insert(&mut self, node: NodeId) -> bool {
        match self {
            NodeSet::Dense(words) => {
                if node.index() / 64 >= words.len() {
                    words.resize(node.index() / 64 + 1, 0);
                }
                let (word, bit) = (&mut words[node.index() / 64], 1 << (node.0 % 64));
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
            NodeSet::Sparse(nodes) => nodes.insert(node),
        }
    }

    /// Upper bound of its bytes while it holds `nodes` nodes.
    pub(crate) fn byte_count(&self, nodes: usize) -> usize {
        match self {
            NodeSet::Dense(words) => (8 * words.len()).min(PAGE_BYTES * nodes),
            NodeSet::Sparse(nodes) => 16 * nodes.capacity(),
        }
    }

    #[inline]
    pub(crate) fn contains(&self, node: NodeId) -> bool {
        match self {
            NodeSet::Dense(words) => words.get(node.index() / 64).is_some_and(|word| word >> (node.0 % 64) & 1 == 1),
            NodeSet::Sparse(nodes) => nodes.contains(&node),
        }
    }
}
