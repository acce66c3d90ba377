//! The merge of sorted inputs that ends an external sort.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::Result;

/// Calls `each` with the entries of all inputs in order. `next` gives the next entry of an input, whose entries are sorted;
/// of equal entries that of the earlier input comes first.
pub fn merge_sorted<T: Ord>(
    inputs: usize,
    mut next: impl FnMut(usize) -> Result<Option<T>>,
    mut each: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut heads = BinaryHeap::new();
    for input in 0..inputs {
        heads.extend(next(input)?.map(|first| Reverse((first, input))));
    }
    while let Some(Reverse((entry, input))) = heads.pop() {
        each(entry)?;
        heads.extend(next(input)?.map(|entry| Reverse((entry, input))));
    }
    Ok(())
}
