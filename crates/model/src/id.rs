//! The ids of the graph's parts: distinct types, so that one is never taken for another.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The id as an index into a slice.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A node of one store. Native stores hand out dense ids from 0; a foreign store may use any.
    NodeId(u64)
);
id!(
    /// An edge, as one view names it. Opaque, and valid only as long as the view or transaction it came from; what names
    /// an edge for good is its number, see `ReadView::edge_numbers`.
    EdgeId(u64)
);
id!(
    /// A label, numbered in order of first use within a store.
    LabelId(u32)
);
id!(
    /// An edge type, numbered in order of first use within a store.
    EdgeTypeId(u32)
);
id!(
    /// A property key, shared by nodes and edges, numbered in order of first use within a store.
    PropertyKeyId(u32)
);
