//! A hint to the processor to load what will be read soon.
//!
//! Unsafe code is allowed here, since the standard library has no safe form of the instruction. It reads nothing, changes
//! nothing and cannot fault.
#![allow(unsafe_code, reason = "the instruction has no safe form in the standard library")]

/// Begins to load the cache line in which a value starts.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction is part of every x86-64 processor, takes any address, and this one is that of a value.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
