//! The answer of a script: two lists of strings in one string, read where they lie.
//!
//! A reply of nested arrays costs the server some lookups for each array and the client an allocation for each value;
//! one string costs neither. Pieces are joined by zero bytes; the number of pieces of each list, and the number of
//! those that stand for an absent value, come first, so that a string with a zero of its own is seen.

/// Stands for an absent value: no string, since it is not UTF-8.
const NOTHING: &[u8] = b"\xff";

/// A list, from where it is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed<'a> {
    rest: Option<&'a [u8]>,
    /// Number of pieces of the list.
    pub(super) count: usize,
}

impl<'a> Packed<'a> {
    /// The two lists of a packed string; `None` if it is not as it was packed.
    pub(super) fn both(bytes: &'a [u8]) -> Option<[Packed<'a>; 2]> {
        let mut rest = Packed { rest: Some(bytes), count: 0 };
        let [first, second, nothings] = [rest.size()?, rest.size()?, rest.size()?];
        let (mut lists, mut found) = ([rest; 2], 0);
        for (list, count) in lists.iter_mut().zip([first, second]) {
            (*list, found) = (Packed { count, ..rest }, 0);
            // An empty list is an empty piece.
            for _ in 0..count.max(1) {
                found += usize::from(rest.piece()? == NOTHING);
            }
        }
        (rest.rest.is_none() && found == nothings).then_some(lists)
    }

    /// The next piece.
    #[inline]
    pub(super) fn piece(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let Some(end) = rest.iter().position(|&byte| byte == 0) else {
            self.rest = None;
            return Some(rest);
        };
        self.rest = Some(&rest[end + 1..]);
        Some(&rest[..end])
    }

    /// The next piece, which is a value that may not be there.
    #[inline]
    pub(super) fn value(&mut self) -> Option<&'a [u8]> {
        self.piece().filter(|piece| *piece != NOTHING)
    }

    /// The next piece, which is a number.
    pub(super) fn size(&mut self) -> Option<usize> {
        std::str::from_utf8(self.piece()?).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Packed;

    #[test]
    fn lists_are_read_as_they_were_packed() {
        let [mut lists, mut nodes] = Packed::both(b"4\x003\x001\x0042\x002\x007\x00\x00a\x00\xff\x00").unwrap();
        assert_eq!((lists.count, lists.piece(), lists.size()), (4, Some(b"42".as_slice()), Some(2)));
        assert_eq!((lists.piece(), lists.piece()), (Some(b"7".as_slice()), Some(b"".as_slice())));
        assert_eq!((nodes.count, nodes.value(), nodes.value()), (3, Some(b"a".as_slice()), None));
        assert_eq!((nodes.value(), nodes.piece()), (Some(b"".as_slice()), None));
        let [lists, nodes] = Packed::both(b"0\x000\x000\x00\x00").unwrap();
        assert_eq!((lists.count, nodes.count), (0, 0));
    }

    #[test]
    fn a_text_with_a_zero_is_seen() {
        for bytes in ["", "1\x001\x000\0a\0b\0c", "2\x001\x000\0a\0b", "0\x001\x001\0\0b", "x\x000\x000\0\0"] {
            assert_eq!(Packed::both(bytes.as_bytes()), None, "{bytes:?}");
        }
    }
}
