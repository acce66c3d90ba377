//! Large arrays in large pages: a kernel that reads at random places spends less time finding out where they are, and an
//! array is ready sooner, since the system hands out a page of 2 MiB at once instead of one of 4 KiB.
//!
//! On systems that hand out large pages on request only (Linux, `transparent_hugepage` set to `madvise`) this is the
//! request; elsewhere nothing happens.
//!
//! Unsafe code is allowed here for the system call alone. It changes nothing that a program can see.
#![cfg_attr(target_os = "linux", allow(unsafe_code, reason = "the system call takes an address"))]

/// Arrays smaller than this stay as they are.
const BYTES_MIN: usize = 1 << 20;

/// An array of `length` times the value that memory begins with, as a rule 0.
pub(crate) fn zeroed<T: Clone + Default>(length: usize) -> Vec<T> {
    let mut array = vec![T::default(); length];
    advise(&mut array);
    array
}

/// An empty array with room for `capacity` values.
pub(crate) fn with_capacity<T>(capacity: usize) -> Vec<T> {
    let mut array = Vec::with_capacity(capacity);
    advise(&mut array);
    array
}

/// The values of an iterator of known length.
pub(crate) fn collect<T>(values: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut array = with_capacity(values.len());
    array.extend(values);
    array
}

/// Asks for large pages for what an array has allocated.
#[cfg(target_os = "linux")]
fn advise<T>(array: &mut Vec<T>) {
    const PAGE: usize = 4096;
    let bytes = array.capacity() * size_of::<T>();
    if bytes < BYTES_MIN {
        return;
    }
    let start = array.as_mut_ptr().cast::<u8>();
    let before = start.align_offset(PAGE).min(bytes);
    let length = (bytes - before) / PAGE * PAGE;
    // SAFETY: the whole pages between the first and the last byte that the array has allocated belong to it alone; the
    // advice changes neither what they hold nor who may use them. If the system refuses, nothing has happened.
    unsafe {
        let address = start.add(before).cast();
        let _ = rustix::mm::madvise(address, length, rustix::mm::Advice::LinuxHugepage);
    }
}

#[cfg(not(target_os = "linux"))]
fn advise<T>(_array: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::{collect, with_capacity, zeroed};

    #[test]
    fn arrays_hold_what_was_asked_for() {
        for length in [0, 1, 1000, 1 << 18, (5 << 18) + 3] {
            assert!(zeroed::<u32>(length).iter().all(|&number| number == 0));
            assert_eq!(zeroed::<u8>(length).len(), length);
            assert!(with_capacity::<u64>(length).capacity() >= length);
            assert_eq!(collect(0..length), (0..length).collect::<Vec<_>>());
        }
    }
}
