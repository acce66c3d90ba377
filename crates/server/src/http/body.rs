//! JSON of requests, read into the values that parameters are made of, within a limit of memory.
//!
//! Invariant: what is taken from the allocator is charged before it is taken, as PackStream's decoder does.

use std::cell::Cell;
use std::fmt;

use bolt::Value;
use bolt::packstream::heap_bytes;
use serde_core::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::head::Refusal;

/// Items of a list for which there is room from the start; further room is made as they come.
const FIRST_ROOM: usize = 8;

/// Reads a document, and gives the bytes of memory that its values take too, which are at most `memory`.
pub(crate) fn read(bytes: &[u8], memory: usize) -> Result<(Value, usize), Refusal> {
    let left = Cell::new(memory);
    let mut input = serde_json::Deserializer::from_slice(bytes);
    let value = Tree { left: &left }.deserialize(&mut input).and_then(|value| input.end().map(|()| value));
    match value {
        Ok(value) => Ok((value, memory - left.get())),
        Err(cause) => Err(Refusal::new(400, format!("the body cannot be read as JSON: {cause}"))),
    }
}

/// One value.
#[derive(Clone, Copy)]
struct Tree<'m> {
    /// Bytes of memory that may still be taken.
    left: &'m Cell<usize>,
}

impl Tree<'_> {
    fn charge<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(heap_bytes(bytes));
        self.left.set(left.ok_or_else(|| E::custom("its values take too much memory"))?);
        Ok(())
    }

    /// Makes room for one more, if there is none.
    fn make_room<T, E: Error>(self, held: &mut Vec<T>) -> Result<(), E> {
        let old = held.capacity();
        if held.len() < old {
            return Ok(());
        }
        let new = (old * 2).max(FIRST_ROOM);
        // Both are there while one is copied to the other.
        self.charge(new * size_of::<T>())?;
        held.reserve_exact(new - old);
        self.left.set(self.left.get() + heap_bytes(old * size_of::<T>()));
        Ok(())
    }

    fn text<E: Error>(self, text: &str) -> Result<String, E> {
        self.charge(text.len())?;
        Ok(text.to_owned())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        let value = i64::try_from(value);
        value.map(Value::Int).map_err(|_| E::custom("an integer is larger than 64 bits with a sign hold"))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.text(text).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut held = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            self.make_room(&mut held)?;
            held.push(item);
        }
        Ok(Value::List(held))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut held = Vec::new();
        while let Some(Value::String(key)) = entries.next_key_seed(self)? {
            self.make_room(&mut held)?;
            held.push((key, entries.next_value_seed(self)?));
        }
        Ok(Value::Map(held))
    }
}

#[cfg(test)]
mod tests {
    use bolt::Value;

    use super::read;

    fn text(text: &str) -> Value {
        Value::String(text.to_owned())
    }

    #[test]
    fn documents_become_values() {
        let document = br#"{"a": [null, true, -5, 1.5, 1e3, "\u00e4\n"], "b": {"c": 9223372036854775807}, "a": 1}"#;
        let list =
            vec![Value::Null, Value::Bool(true), Value::Int(-5), Value::Float(1.5), Value::Float(1e3), text("ä\n")];
        let inner = Value::Map(vec![("c".to_owned(), Value::Int(i64::MAX))]);
        let expected = [("a".to_owned(), Value::List(list)), ("b".to_owned(), inner), ("a".to_owned(), Value::Int(1))];
        assert_eq!(read(document, 1 << 20).unwrap().0, Value::Map(expected.to_vec()));
    }

    #[test]
    fn what_is_no_document_is_told_with_its_place() {
        for (document, part) in [
            (&b"{\"a\": }"[..], "line 1 column 7"),
            (b"{} {}", "trailing"),
            (b"", "EOF"),
            (b"[9223372036854775808]", "64 bits"),
            (b"[1e999]", "out of range"),
            (b"\"\xFF\"", "unicode"),
            (&b"[".repeat(200), "recursion"),
        ] {
            let refusal = read(document, 1 << 20).unwrap_err();
            assert!(refusal.status == 400 && refusal.failure.message.contains(part), "{}", refusal.failure.message);
        }
    }

    #[test]
    fn memory_is_bounded() {
        for document in ["[[1],".repeat(20_000), "{\"a\":{\"b\":".repeat(20_000), "[\"x\",".repeat(20_000)] {
            assert!(read(document.as_bytes(), 100_000).is_err());
        }
        let many = format!("[{}]", vec!["{\"a\":1}"; 10_000].join(","));
        let (_, bytes) = read(many.as_bytes(), 8 << 20).unwrap();
        assert!(bytes > 10_000 * 300, "{bytes}");
        let refusal = read(many.as_bytes(), bytes / 2).unwrap_err();
        assert!(refusal.failure.message.contains("too much memory"), "{}", refusal.failure.message);
    }
}
