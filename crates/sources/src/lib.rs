//! Graphs that others keep: today, files of rows to import.
