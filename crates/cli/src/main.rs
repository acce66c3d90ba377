//! knot: the shell and command of Knotwork.

fn main() {}
