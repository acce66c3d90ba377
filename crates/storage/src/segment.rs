//! Node segments.
