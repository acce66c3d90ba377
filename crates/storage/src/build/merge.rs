//! The merge of sorted inputs that ends an external sort.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

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
    while let Some(mut head) = heads.peek_mut() {
        let entry = match next(head.0.1)? {
            Some(entry) => {
                let entry = std::mem::replace(&mut head.0.0, entry);
                drop(head);
                entry
            }
            None => PeekMut::pop(head).0.0,
        };
        each(entry)?;
    }
    Ok(())
}
