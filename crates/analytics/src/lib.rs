//! Graph algorithms on a snapshot, in place.
