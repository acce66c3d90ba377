//! Wrong queries and what is said about them.
