//! Plan to batches: vectorised operators, expressions, functions, profiles.
