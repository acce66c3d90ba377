//! Values of a fixed size that lie in files as bytes.

use std::ops::Range;

/// A value that is written as always the same number of bytes: states of nodes, values on edges.
///
/// Contract: what `read_from` makes of the bytes that `write_to` wrote is the same value.
pub trait Plain: Copy + Default + Send + Sync {
    /// Number of bytes that a value takes.
    const BYTES: usize;

    /// Writes it over exactly [`Plain::BYTES`] bytes.
    fn write_to(self, out: &mut [u8]);

    /// Reads it from exactly [`Plain::BYTES`] bytes.
    fn read_from(bytes: &[u8]) -> Self;
}

macro_rules! plain_numbers {
    ($($number:ty),*) => {
        $(impl Plain for $number {
            const BYTES: usize = size_of::<$number>();

            #[inline]
            fn write_to(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn read_from(bytes: &[u8]) -> $number {
                <$number>::from_le_bytes(bytes.try_into().expect("a plain value is read from as many bytes as it has"))
            }
        })*
    };
}

plain_numbers!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

impl Plain for () {
    const BYTES: usize = 0;

    #[inline]
    fn write_to(self, _out: &mut [u8]) {}

    #[inline]
    fn read_from(_bytes: &[u8]) {}
}

impl Plain for bool {
    const BYTES: usize = 1;

    #[inline]
    fn write_to(self, out: &mut [u8]) {
        out[0] = u8::from(self);
    }

    #[inline]
    fn read_from(bytes: &[u8]) -> bool {
        bytes[0] != 0
    }
}

impl<A: Plain, B: Plain> Plain for (A, B) {
    const BYTES: usize = A::BYTES + B::BYTES;

    #[inline]
    fn write_to(self, out: &mut [u8]) {
        self.0.write_to(&mut out[..A::BYTES]);
        self.1.write_to(&mut out[A::BYTES..]);
    }

    #[inline]
    fn read_from(bytes: &[u8]) -> (A, B) {
        (A::read_from(&bytes[..A::BYTES]), B::read_from(&bytes[A::BYTES..]))
    }
}

impl<A: Plain, const N: usize> Plain for [A; N]
where
    [A; N]: Default,
{
    const BYTES: usize = N * A::BYTES;

    #[inline]
    fn write_to(self, out: &mut [u8]) {
        self.into_iter().enumerate().for_each(|(at, value)| value.write_to(&mut out[place::<A>(at)]));
    }

    #[inline]
    fn read_from(bytes: &[u8]) -> [A; N] {
        std::array::from_fn(|at| A::read_from(&bytes[place::<A>(at)]))
    }
}

/// The byte range of the value of that number among others of its kind.
#[inline]
pub(crate) fn place<T: Plain>(at: usize) -> Range<usize> {
    at * T::BYTES..(at + 1) * T::BYTES
}

/// Adds the bytes of a value.
#[inline]
pub(crate) fn push<T: Plain>(value: T, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + T::BYTES, 0);
    value.write_to(&mut out[start..]);
}

#[cfg(test)]
mod tests {
    use super::{Plain, push};

    fn check<T: Plain + PartialEq + std::fmt::Debug>(value: T, bytes: usize) {
        let mut written = Vec::new();
        push(value, &mut written);
        assert_eq!(written.len(), bytes);
        assert_eq!(T::read_from(&written), value);
    }

    #[test]
    fn what_is_written_is_read_again() {
        check(7_u8, 1);
        check(-3_i64, 8);
        check(0.25_f32, 4);
        check(f64::INFINITY, 8);
        check((), 0);
        check(true, 1);
        check((5_u32, (-1.5, false)), 13);
        check([1_u16, 2, 3], 6);
    }
}
