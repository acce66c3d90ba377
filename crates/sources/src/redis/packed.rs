//! What scripts give back: lists that Redis's `cmsgpack` packed into one text, read where they lie.
//!
//! A reply of nested arrays costs the server some lookups for each array and the client an allocation for each value; one
//! text costs neither. Lists hold texts, whole numbers, and `false` for what is not there.

use model::{Error, error};

/// A packed text, from where it is read next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    rest: &'a [u8],
}

/// An item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    Text(&'a [u8]),
    Number(u64),
    Nothing,
}

impl<'a> Packed<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Packed<'a> {
        Packed { rest: bytes }
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A number of so many bytes, the highest first.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.bytes(bytes)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Begins a list: how many items it has.
    pub(super) fn list(&mut self) -> Option<usize> {
        let count = match self.number(1)? {
            // An empty table may be packed as either.
            0x80 => 0,
            tag @ 0x90..=0x9f => tag & 0xf,
            0xdc => self.number(2)?,
            0xdd => self.number(4)?,
            _ => return None,
        };
        usize::try_from(count).ok()
    }

    /// The next item.
    #[inline]
    pub(super) fn item(&mut self) -> Option<Item<'a>> {
        let length = match self.number(1)? {
            number @ 0..=0x7f => return Some(Item::Number(number)),
            tag @ 0xa0..=0xbf => tag & 0x1f,
            0xc0 | 0xc2 => return Some(Item::Nothing),
            0xd9 => self.number(1)?,
            0xda => self.number(2)?,
            0xdb => self.number(4)?,
            tag @ 0xcc..=0xcf => return Some(Item::Number(self.number(1 << (tag - 0xcc))?)),
            _ => return None,
        };
        Some(Item::Text(self.bytes(usize::try_from(length).ok()?)?))
    }

    /// The next item, which is a text.
    #[inline]
    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        match self.item()? {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The next item, which is a number.
    pub(super) fn size(&mut self) -> Option<usize> {
        match self.item()? {
            Item::Number(number) => usize::try_from(number).ok(),
            _ => None,
        }
    }
}

/// The error of a packed text that is not what the script packs.
pub(super) fn garbled(source: &str) -> Error {
    error!(Source, "{source}: EVAL: the answer of the script is garbled")
}

#[cfg(test)]
mod tests {
    use super::{Item, Packed};

    #[test]
    fn items_are_read_as_they_were_packed() {
        let long = [b'x'; 300];
        let mut bytes = vec![0x95, 0xa2, b'4', b'2', 7, 0xc2, 0xcd, 1, 0, 0xda, 1, 44];
        bytes.extend(long);
        bytes.extend([0xdc, 0, 1, 0xd9, 1, b'y', 0x90]);
        let mut packed = Packed::new(&bytes);
        assert_eq!(packed.list(), Some(5));
        let items: Vec<Item<'_>> = (0..5).map(|_| packed.item().unwrap()).collect();
        let expected =
            [Item::Text(b"42"), Item::Number(7), Item::Nothing, Item::Number(256), Item::Text(long.as_slice())];
        assert_eq!(items, expected);
        assert_eq!((packed.list(), packed.text(), packed.list()), (Some(1), Some(b"y".as_slice()), Some(0)));
        assert_eq!((packed.item(), packed.list()), (None, None), "nothing comes after the end");
        assert_eq!(Packed::new(&[0xa5, b'x']).item(), None, "a text that is cut off");
    }
}
