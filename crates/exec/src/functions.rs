//! The scalar functions, one file for each category, and the catalog of all functions.
