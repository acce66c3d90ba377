//! Several stores as one graph: the native store and sources that are attached to it.
//!
//! The parts of a graph keep their ids: those of nodes carry the number of their member in the highest byte, which is 0
//! for the native store (see decision 0026), so whom to ask is read off an id. Names are what joins the parts: a label, an
//! edge type or a property key of one name is one thing, whichever parts have it, with a number of its own in the schema
//! of the whole. A part is asked only what it can know: of a batch of nodes that all belong to the native store nobody
//! else hears, and the native store is handed such a batch as it is.
//!
//! Invariants: ids of the native store mean the same in the whole graph. The native store comes first, so that a database
//! from which everything is detached again has the same numbers of names as before. Ids of edges of members have their
//! highest bit set besides the member's number, where no id of a native edge has more than the highest bit; therefore at
//! most [`MEMBERS_MAX`] members can be attached.

mod all_edges;
mod crossing;
mod element_ids;
mod expand;
mod index;
mod kept;
mod names;
mod patterns;
mod scan;
mod source;
mod split;
mod transaction;
mod view;

use std::sync::{Arc, Mutex, PoisonError};

use model::store::EdgeCursor;
use model::{
    Capabilities, EdgeId, EdgeTypeId, Expand, GraphStore, IsolationLevel, NodeId, ReadView, Result, WriteTransaction,
    error,
};

use self::names::Union;
use self::transaction::FederatedTransaction;
use self::view::{Joined, Part};
use crate::store::Crossing;

/// Members that can be attached at once.
pub const MEMBERS_MAX: usize = 127;
/// Position in ids of the bits with the number of the member.
const MEMBER_SHIFT: u32 = 56;
/// Set in ids of edges of members, and in ids of native edges that no member's number follows.
const MEMBER_EDGE_BIT: u64 = 1 << 63;

/// A store that can be part of a federation besides the native one: its ids of nodes and edges have its number in their
/// highest byte.
pub trait MemberStore: GraphStore {
    /// As [`GraphStore::read`].
    fn read_member(&self) -> Result<Arc<dyn MemberView>>;
    /// As [`GraphStore::write`].
    fn write_member(&self) -> Result<Box<dyn MemberTransaction>>;
    /// A transaction that costs nothing, and locks nothing, before it is used: with it a transaction of the whole graph
    /// reads what it may come to change. `None` where that is not so, or where nothing can be written.
    fn write_member_later(&self) -> Option<Box<dyn MemberTransaction>> {
        None
    }
}

/// One moment of a member.
pub trait MemberView: ReadView {
    /// The types, by the member's own ids, of edges that may lead to or from nodes of other parts.
    fn crossing_types(&self) -> Vec<EdgeTypeId> {
        Vec::new()
    }

    /// As [`ReadView::expand`], and of nodes of other parts the member's edges that start or end there.
    fn expand_across<'a>(
        &'a self,
        from: &'a [NodeId],
        expand: &'a Expand,
        _others: &'a dyn Crossing,
    ) -> Result<Box<dyn EdgeCursor + 'a>> {
        self.expand(from, expand)
    }
}

/// The writing of one transaction of a member.
pub trait MemberTransaction: WriteTransaction {
    /// As [`WriteTransaction::view`].
    fn member_view(&self) -> &dyn MemberView;
}

/// A store that is attached.
#[derive(Clone)]
pub struct Member {
    /// Its number, from 1 to [`MEMBERS_MAX`].
    pub number: u8,
    /// Name of the member.
    pub name: Arc<str>,
    /// The store.
    pub store: Arc<dyn MemberStore>,
}

/// The native store and what is attached to it.
pub struct Federation {
    native: Arc<dyn GraphStore>,
    members: Arc<[Member]>,
    /// The union of the names of the parts when last looked at.
    union: Mutex<Option<Arc<Union>>>,
}

impl Federation {
    /// Joins stores. Fails if there are too many, or two have the same number or name.
    pub fn new(native: Arc<dyn GraphStore>, members: Vec<Member>) -> Result<Federation> {
        if members.len() > MEMBERS_MAX {
            return Err(error!(Limit, "at most {MEMBERS_MAX} sources can be attached, found {}", members.len())
                .with_remedy("detach one first"));
        }
        for (at, member) in members.iter().enumerate() {
            let is_numbered = (1..=MEMBERS_MAX).contains(&usize::from(member.number));
            let same = |other: &Member| other.number == member.number || other.name == member.name;
            if !is_numbered || members[..at].iter().any(same) {
                return Err(error!(Internal, "source {} has the number {}", member.name, member.number));
            }
        }
        Ok(Federation { native, members: members.into(), union: Mutex::default() })
    }

    /// The names of the whole, as before if the parts have not changed theirs.
    fn union_of(&self, parts: &[Part]) -> Arc<Union> {
        let mut held = self.union.lock().unwrap_or_else(PoisonError::into_inner);
        match &*held {
            Some(union) if union.is_of(parts) => union.clone(),
            _ => {
                let union = Arc::new(Union::of(parts));
                *held = Some(union.clone());
                union
            }
        }
    }

    /// All parts, as one that is not among them asks them where its edges lead.
    pub fn crossing(&self) -> Result<Arc<dyn Crossing>> {
        Ok(Arc::new(self.joined(Part::native(self.native.read()?))?))
    }

    fn joined(&self, native: Part) -> Result<Joined> {
        let mut parts = vec![native];
        for member in self.members.iter() {
            parts.push(Part::member(member, member.store.read_member()?));
        }
        let union = self.union_of(&parts);
        Ok(Joined::new(parts, union))
    }
}

impl GraphStore for Federation {
    fn capabilities(&self) -> Capabilities {
        let members = self.members.iter().map(|member| member.store.capabilities());
        view::joined_capabilities(std::iter::once(self.native.capabilities()).chain(members))
    }

    fn read(&self) -> Result<Arc<dyn ReadView>> {
        Ok(Arc::new(self.joined(Part::native(self.native.read()?))?))
    }

    fn write(&self) -> Result<Box<dyn WriteTransaction>> {
        self.write_isolated(IsolationLevel::Snapshot)
    }

    fn write_isolated(&self, isolation: IsolationLevel) -> Result<Box<dyn WriteTransaction>> {
        self.begin(isolation, &|| self.native.write_isolated(isolation))
    }

    fn write_alone(&self, isolation: IsolationLevel) -> Result<Box<dyn WriteTransaction>> {
        self.begin(isolation, &|| self.native.write_alone(isolation))
    }
}

/// Begins the native part of a transaction.
type BeginNative<'a> = dyn Fn() -> Result<Box<dyn WriteTransaction>> + 'a;

impl Federation {
    fn begin(&self, isolation: IsolationLevel, native: &BeginNative<'_>) -> Result<Box<dyn WriteTransaction>> {
        let native = if self.native.capabilities().writes {
            Part::native_writing(native()?)
        } else if self.members.iter().any(|member| member.store.capabilities().writes) {
            Part::native(self.native.read()?)
        } else {
            // Says why not.
            return native();
        };
        let joined = self.joined(native)?;
        Ok(Box::new(FederatedTransaction::new(joined, self.members.clone(), isolation)))
    }
}

/// The number of the member that a node belongs to; 0 is the native store.
#[inline]
pub fn member_of_node(node: NodeId) -> u8 {
    (node.0 >> MEMBER_SHIFT) as u8
}

/// The number of the member that an edge belongs to, and its id there.
#[inline]
fn own_edge(edge: EdgeId) -> (u8, EdgeId) {
    let member = ((edge.0 & !MEMBER_EDGE_BIT) >> MEMBER_SHIFT) as u8;
    let is_native = edge.0 & MEMBER_EDGE_BIT == 0 || member == 0;
    if is_native { (0, edge) } else { (member, EdgeId(edge.0 & !MEMBER_EDGE_BIT)) }
}

/// The id in the whole graph of an edge of a member.
#[inline]
fn shared_edge(edge: EdgeId) -> EdgeId {
    EdgeId(edge.0 | MEMBER_EDGE_BIT)
}

#[cfg(test)]
mod tests {
    use model::EdgeId;

    use super::{own_edge, shared_edge};

    #[test]
    fn edges_of_members_are_told_from_native_ones() {
        // Native edges are in files, of any partition, or, with the highest bit, in memory.
        for native in [0, 1 << 34, 4095 << 51, (1 << 63) - 1, 1 << 63, 1 << 63 | u64::from(u32::MAX)] {
            assert_eq!(own_edge(EdgeId(native)), (0, EdgeId(native)));
        }
        for member in [1, 5, 127] {
            let edge = EdgeId(member << 56 | 12_345);
            assert_eq!(own_edge(shared_edge(edge)), (member as u8, edge));
        }
    }
}
