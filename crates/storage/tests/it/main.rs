//! The native store from outside: the contract, random writes, crashes, damage, full disks, and what opening refuses.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

mod backup;
mod concurrent_cuts;
mod conflicts;
mod contract;
mod crash;
mod damage;
mod directory;
mod extremes;
mod faults;
mod fixtures;
mod histories;
mod identity;
mod index_build;
mod interleaved;
mod isolation;
mod kills;
mod large;
mod log;
mod memory;
mod memory_large;
mod memory_writes;
mod numbered;
mod opening;
mod ordered;
mod power_cuts;
mod random;
mod read_errors;
mod recover;
mod salvage;
mod sketches;
mod sort_keys;
mod topology;
mod unique_build;
mod unique_exchange;
mod vast;
