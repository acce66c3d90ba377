//! The native engine: partitioned adjacency lists, property columns, write-ahead log, snapshots.
