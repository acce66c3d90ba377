//! Canonical Cypher of a syntax tree.
