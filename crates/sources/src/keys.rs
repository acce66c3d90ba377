//! Keys of nodes and edges as numbers of 48 bits, so that an id of 64 bits says whose node it is, of which kind, and
//! its key.
//!
//! A key that is an integer from 0 up to 2^47 is its own number. Other keys are numbered as they are met, with bit 47
//! set; a whole float counts as the integer that it equals. See docs/adr/0026.
//! Cost: nothing for small integers; for each other key about 100 bytes and its string, counted against the memory
//! limit for as long as the source is attached.

use std::sync::{Arc, PoisonError, RwLock};

use model::{Column, ColumnBuilder, ColumnData, Consumer, Map, MemoryBudget, NodeId, Reservation, Result, Value};

/// Bits of the number of a key.
const KEY_BITS: u32 = 48;
/// Numbers with this bit are not the keys themselves.
const NUMBERED: u64 = 1 << 47;
const KEY_MASK: u64 = (1 << KEY_BITS) - 1;
/// Stands for the key of what has none.
pub(crate) const NO_KEY: u64 = u64::MAX;
/// Bytes of a numbered key besides its string: an entry in a map and one in a list.
const ENTRY_BYTES: usize = 96;

/// The id of a node.
#[inline]
pub(crate) fn node_id(member: u8, kind: usize, number: u64) -> NodeId {
    NodeId(id_base(member, kind) | number)
}

/// The bits that the ids of all nodes of a kind have in common.
#[inline]
pub(crate) fn id_base(member: u8, kind: usize) -> u64 {
    u64::from(member) << 56 | (kind as u64) << KEY_BITS
}

/// The member and the kind of the node that an id names, and the number of its key.
#[inline]
pub(crate) fn parts(node: NodeId) -> (u8, usize, u64) {
    ((node.0 >> 56) as u8, (node.0 >> KEY_BITS & 0xFF) as usize, node.0 & KEY_MASK)
}

/// The numbers of all keys that are not small integers, by space: each kind of nodes or edges has its own.
pub(crate) struct Keys {
    spaces: Vec<RwLock<Space>>,
    name: Arc<str>,
}

/// The keys of one kind.
struct Space {
    values: Vec<Value>,
    texts: Map<Arc<str>, u64>,
    others: Map<Value, u64>,
    bytes: usize,
    held: Reservation,
}

/// The integer from 0 up to 2^47 that a value is or equals.
#[inline]
fn small(value: i64) -> Option<u64> {
    u64::try_from(value).ok().filter(|&number| number < NUMBERED)
}

/// A float that is a small integer.
fn whole(value: f64) -> Option<u64> {
    (value.trunc() == value && value >= 0.0 && value < NUMBERED as f64).then_some(value as u64)
}

impl Keys {
    pub(crate) fn new(spaces: usize, memory: &Arc<MemoryBudget>, source: &str) -> Keys {
        let space = || Space {
            values: Vec::new(),
            texts: Map::default(),
            others: Map::default(),
            bytes: 0,
            held: memory.empty(Consumer::SourceCache),
        };
        Keys { spaces: (0..spaces).map(|_| RwLock::new(space())).collect(), name: Arc::from(source) }
    }

    /// Adds the numbers of keys to `out`, [`NO_KEY`] for null. Keys met for the first time are numbered.
    pub(crate) fn encode(&self, space: usize, keys: &Column, out: &mut Vec<u64>) -> Result<()> {
        out.reserve(keys.len());
        match &keys.data {
            ColumnData::Int(numbers) if numbers.iter().all(|&number| small(number).is_some()) => {
                match &keys.validity {
                    None => out.extend(numbers.iter().map(|&number| number as u64)),
                    Some(bits) => out.extend(
                        numbers.iter().enumerate().map(|(row, &n)| if bits.get(row) { n as u64 } else { NO_KEY }),
                    ),
                }
                Ok(())
            }
            ColumnData::String(texts) => {
                let mut held = self.spaces[space].write().unwrap_or_else(PoisonError::into_inner);
                for row in 0..keys.len() {
                    out.push(if keys.is_null(row) { NO_KEY } else { held.number_of_text(texts.get(row), &self.name)? });
                }
                Ok(())
            }
            _ => {
                let mut held = self.spaces[space].write().unwrap_or_else(PoisonError::into_inner);
                for value in keys.values() {
                    out.push(held.number(&value, &self.name)?);
                }
                Ok(())
            }
        }
    }

    /// The number of a key, if it is one that needs none or was met before.
    pub(crate) fn find(&self, space: usize, key: &Value) -> Option<u64> {
        match key {
            Value::Null => return None,
            Value::Int(number) => {
                if let Some(number) = small(*number) {
                    return Some(number);
                }
            }
            Value::Float(number) => {
                if let Some(number) = whole(*number) {
                    return Some(number);
                }
            }
            _ => {}
        }
        let held = self.spaces[space].read().unwrap_or_else(PoisonError::into_inner);
        match key {
            Value::String(text) => held.texts.get(text).copied(),
            other => held.others.get(other).copied(),
        }
    }

    /// The keys of numbers, none of which is [`NO_KEY`].
    pub(crate) fn decode(&self, space: usize, numbers: &[u64]) -> Column {
        if numbers.iter().all(|&number| number < NUMBERED) {
            return Column::new(ColumnData::Int(numbers.iter().map(|&number| number as i64).collect()));
        }
        let held = self.spaces[space].read().unwrap_or_else(PoisonError::into_inner);
        let mut column = ColumnBuilder::default();
        numbers.iter().for_each(|&number| column.push(&held.value(number)));
        column.finish()
    }

    /// The key of a number; null for [`NO_KEY`], and for a number that was never given.
    pub(crate) fn value(&self, space: usize, number: u64) -> Value {
        if number < NUMBERED {
            return Value::Int(number as i64);
        }
        self.spaces[space].read().unwrap_or_else(PoisonError::into_inner).value(number)
    }

    /// True if a number stands for a key.
    pub(crate) fn is_known(&self, space: usize, number: u64) -> bool {
        number < NUMBERED || !self.value(space, number).is_null()
    }
}

impl Space {
    fn value(&self, number: u64) -> Value {
        if number < NUMBERED {
            return Value::Int(number as i64);
        }
        self.values.get((number & !NUMBERED) as usize).cloned().unwrap_or_default()
    }

    fn number_of_text(&mut self, text: &str, source: &str) -> Result<u64> {
        if let Some(&number) = self.texts.get(text) {
            return Ok(number);
        }
        let number = self.next(ENTRY_BYTES + text.len(), source)?;
        let text: Arc<str> = Arc::from(text);
        self.values.push(Value::String(text.clone()));
        self.texts.insert(text, number);
        Ok(number)
    }

    fn number(&mut self, key: &Value, source: &str) -> Result<u64> {
        let number = match key {
            Value::Null => return Ok(NO_KEY),
            Value::String(text) => return self.number_of_text(text, source),
            Value::Int(number) => small(*number),
            Value::Float(number) => whole(*number),
            _ => None,
        };
        if let Some(number) = number.or_else(|| self.others.get(key).copied()) {
            return Ok(number);
        }
        let number = self.next(ENTRY_BYTES + value_bytes(key), source)?;
        self.values.push(key.clone());
        self.others.insert(key.clone(), number);
        Ok(number)
    }

    /// Takes memory for one more key, and gives its number.
    fn next(&mut self, bytes: usize, source: &str) -> Result<u64> {
        self.held.cover(self.bytes + bytes).map_err(|error| error.within(&format!("keys of {source}")))?;
        self.bytes += bytes;
        Ok(NUMBERED | self.values.len() as u64)
    }
}

/// Approximate bytes of a key.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 16,
        Value::Bytes(bytes) => bytes.len() + 16,
        Value::List(items) => items.iter().map(|item| 24 + value_bytes(item)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use model::{Column, ErrorCode, MemoryBudget, NodeId, Value};

    use super::{Keys, NO_KEY, node_id, parts};

    #[test]
    fn ids_say_whose_they_are() {
        for (member, kind, number) in [(1, 0, 0), (255, 255, (1 << 48) - 1), (7, 3, 1 << 47)] {
            assert_eq!(parts(node_id(member, kind, number)), (member, kind, number));
        }
        assert_eq!(parts(NodeId(17)), (0, 0, 17));
    }

    #[test]
    fn keys_of_all_kinds_come_back() {
        let keys = Keys::new(2, &MemoryBudget::new(1 << 20), "a source");
        let pair = |a: i64, b: &str| Value::list(vec![Value::Int(a), Value::string(b)]);
        let values = [
            Value::Int(0),
            Value::Int(-1),
            Value::Int(i64::MAX),
            Value::string("a"),
            Value::Null,
            pair(1, "x"),
            pair(1, "y"),
            Value::Float(2.5),
        ];
        let mut numbers = Vec::new();
        keys.encode(1, &Column::from_values(&values), &mut numbers).unwrap();
        let mut again = Vec::new();
        values.iter().for_each(|value| keys.encode(1, &Column::from_values([value]), &mut again).unwrap());
        assert_eq!(numbers, again);
        for (value, &number) in values.iter().zip(&numbers) {
            assert_eq!((number == NO_KEY, &keys.value(1, number)), (value.is_null(), value));
            assert_eq!(keys.find(1, value), (!value.is_null()).then_some(number));
        }
        assert_eq!(keys.find(1, &Value::Float(3.0)), Some(3));
        assert_eq!(keys.find(0, &values[3]), None);
        assert!(keys.is_known(1, numbers[3]) && !keys.is_known(0, numbers[3]));
        let decoded = keys.decode(1, &[numbers[0], numbers[3], numbers[5]]);
        assert_eq!(decoded.values().collect::<Vec<_>>(), [values[0].clone(), values[3].clone(), values[5].clone()]);
    }

    #[test]
    fn keys_count_against_the_memory_limit() {
        let keys = Keys::new(1, &MemoryBudget::new(4_000), "a source");
        let texts: Vec<Value> = (0..100).map(|number| Value::string(&format!("key {number}"))).collect();
        let error = keys.encode(0, &Column::from_values(&texts), &mut Vec::new()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Limit);
        assert!(error.message().starts_with("keys of a source: "), "{error}");
    }
}
