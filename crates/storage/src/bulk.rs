//! Building the files of a new version by external sort: from an import, or from the changes of a memtable.

pub mod chunk;
pub mod context;
pub mod load;
pub mod rewrite;

pub use load::{BulkConfig, BulkLoad, EdgeLoader, EdgeRows, KeyRows, NodeRows, NodesAdded, OnDuplicate, RowError};
pub use rewrite::{Changes, EdgePropertyChange, NewEdgeRows, NodeChange, rewrite};
