//! The operators, one file each, named as EXPLAIN prints them.
//!
//! Each file has `lower`, which makes the operator from its part of the plan, and the operator's `run`.

pub(crate) mod aggregate;
pub(crate) mod apply;
pub(crate) mod argument;
pub(crate) mod call;
pub(crate) mod count_matches;
pub(crate) mod create;
pub(crate) mod create_rule;
pub(crate) mod cross_product;
pub(crate) mod declare_ends;
pub(crate) mod delete;
pub(crate) mod distinct;
pub(crate) mod drop_rule;
pub(crate) mod edge_by_id;
pub(crate) mod expand;
pub(crate) mod extend;
pub(crate) mod filter;
pub(crate) mod for_each;
pub(crate) mod gather;
pub(crate) mod hash_join;
pub(crate) mod import;
pub(crate) mod index_seek;
pub(crate) mod intersect;
pub(crate) mod limit;
pub(crate) mod merge;
pub(crate) mod node_by_id;
pub(crate) mod node_lookup;
pub(crate) mod node_scan;
pub(crate) mod node_union_scan;
pub(crate) mod optional;
pub(crate) mod path_search;
pub(crate) mod project;
pub(crate) mod semi_apply;
pub(crate) mod set;
pub(crate) mod shortest_path;
pub(crate) mod skip;
pub(crate) mod sort;
pub(crate) mod sort_keys;
pub(crate) mod subquery;
pub(crate) mod top;
pub(crate) mod union;
pub(crate) mod unit;
pub(crate) mod unwind;
pub(crate) mod variable_expand;
