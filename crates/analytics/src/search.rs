//! Search straight over the waist, for algorithms that read a small part of the graph.
