//! Tests of the store on a simulated ring of replicas.

mod caches;
mod capacity;
mod contract;
mod crashes;
mod graph;
mod histories;
mod loads;
mod log;
mod purge;
mod races;
#[cfg(feature = "cql")]
mod real_ring;
mod ring;
mod rounds;
mod scans;
