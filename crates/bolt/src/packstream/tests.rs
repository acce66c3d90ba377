//! Values on the bytes of the specification, at random, and on bytes that are no values.

use super::{Limits, Malformed, Value, decode, decode_charged, encode, heap_bytes};
use crate::encoder::Encoder;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b' ').collect();
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut Encoder::new(&mut out), value);
    out
}

fn text(text: &str) -> Value {
    Value::String(text.to_owned())
}

#[test]
fn the_examples_of_the_specification() {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let numbers = |count| Value::List((1..=count).map(Value::Int).collect());
    let node = Value::Structure(
        0x4E,
        vec![
            Value::Int(3),
            Value::List(vec![text("Example"), text("Node")]),
            Value::Map(vec![("name".into(), text("example"))]),
        ],
    );
    let cases = [
        (Value::Null, "C0"),
        (Value::Bool(true), "C3"),
        (Value::Bool(false), "C2"),
        (Value::Int(1), "01"),
        (Value::Int(42), "2A"),
        (Value::Int(127), "7F"),
        (Value::Int(-16), "F0"),
        (Value::Int(-17), "C8 EF"),
        (Value::Int(-128), "C8 80"),
        (Value::Int(128), "C9 00 80"),
        (Value::Int(1234), "C9 04 D2"),
        (Value::Int(-129), "C9 FF 7F"),
        (Value::Int(32_768), "CA 00 00 80 00"),
        (Value::Int(-32_769), "CA FF FF 7F FF"),
        (Value::Int(2_147_483_648), "CB 00 00 00 00 80 00 00 00"),
        (Value::Int(i64::MIN), "CB 80 00 00 00 00 00 00 00"),
        (Value::Int(i64::MAX), "CB 7F FF FF FF FF FF FF FF"),
        (Value::Float(1.23), "C1 3F F3 AE 14 7A E1 47 AE"),
        (Value::Float(1.1), "C1 3F F1 99 99 99 99 99 9A"),
        (Value::Float(-1.1), "C1 BF F1 99 99 99 99 99 9A"),
        (Value::Float(std::f64::consts::TAU), "C1 40 19 21 FB 54 44 2D 18"),
        (Value::Bytes(Vec::new()), "CC 00"),
        (Value::Bytes(vec![1, 2, 3]), "CC 03 01 02 03"),
        (text(""), "80"),
        (text("A"), "81 41"),
        (text(letters), "D0 1A 41 42 43 44 45 46 47 48 49 4A 4B 4C 4D 4E 4F 50 51 52 53 54 55 56 57 58 59 5A"),
        (text("Größenmaßstäbe"), "D0 12 47 72 C3 B6 C3 9F 65 6E 6D 61 C3 9F 73 74 C3 A4 62 65"),
        (Value::List(Vec::new()), "90"),
        (numbers(3), "93 01 02 03"),
        (numbers(40), "D4 28 0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728"),
        (Value::Map(Vec::new()), "A0"),
        (Value::Map(vec![("one".into(), text("eins"))]), "A1 83 6F 6E 65 84 65 69 6E 73"),
        (node, "B3 4E 03 92 87 45 78 61 6D 70 6C 65 84 4E 6F 64 65 A1 84 6E 61 6D 65 87 65 78 61 6D 70 6C 65"),
    ];
    for (value, hex) in cases {
        assert_eq!(encoded(&value), bytes(hex), "{value:?}");
        assert_eq!(decode(&bytes(hex), Limits::default()), Ok(value));
    }
}

#[test]
fn an_integer_may_be_wider_than_it_needs() {
    for hex in ["01", "C8 01", "C9 00 01", "CA 00 00 00 01", "CB 00 00 00 00 00 00 00 01"] {
        assert_eq!(decode(&bytes(hex), Limits::default()), Ok(Value::Int(1)), "{hex}");
    }
    assert_eq!(decode(&bytes("D2 00 00 00 01 41"), Limits::default()), Ok(text("A")));
    assert_eq!(decode(&bytes("D6 00 00 00 01 C0"), Limits::default()), Ok(Value::List(vec![Value::Null])));
}

#[test]
fn what_is_no_value_is_refused() {
    let cases = [
        ("", Malformed::Truncated),
        ("C9 00", Malformed::Truncated),
        ("85 41", Malformed::Truncated),
        ("D6 FF FF FF FF", Malformed::Truncated),
        ("DA FF FF FF FF 80", Malformed::Truncated),
        ("D2 FF FF FF FF 41", Malformed::Truncated),
        ("CE FF FF FF FF 41", Malformed::Truncated),
        ("92 C0", Malformed::Truncated),
        ("B1", Malformed::Truncated),
        ("C4", Malformed::Marker(0xC4)),
        ("E0", Malformed::Marker(0xE0)),
        ("82 C3 28", Malformed::Text),
        ("A1 01 01", Malformed::Key),
        ("C0 C0", Malformed::Rest),
    ];
    for (hex, expected) in cases {
        assert_eq!(decode(&bytes(hex), Limits::default()), Err(expected), "{hex}");
    }
    for marker in [0x91, 0xB1, 0xA1] {
        // A hundred thousand lists, structures or maps, each within the one before.
        let deep: Vec<u8> = match marker {
            0x91 => vec![marker; 100_000],
            0xB1 => [marker, 1].repeat(50_000),
            _ => [marker, 0x80].repeat(50_000),
        };
        assert_eq!(decode(&deep, Limits::default()), Err(Malformed::Deep), "{marker:X}");
    }
    let limits = Limits { depth: 2, memory: 1 << 20 };
    assert!(decode(&bytes("91 91 C0"), limits).is_ok());
    assert_eq!(decode(&bytes("91 91 90"), limits), Err(Malformed::Deep));
}

#[test]
fn small_bytes_make_no_large_values() {
    // A byte for each null, of which each takes many times as much.
    let nulls = [&[0xD6, 0, 0x10, 0, 0][..], &vec![0xC0; 1 << 20]].concat();
    let limits = Limits { depth: 10, memory: 4 << 20 };
    assert_eq!(decode(&nulls, limits), Err(Malformed::Large));
    assert!(decode(&nulls, Limits { depth: 10, memory: 64 << 20 }).is_ok());
}

/// Memory of the heap that a value takes.
fn held(value: &Value) -> usize {
    let all = |items: &[Value]| items.iter().map(held).sum::<usize>();
    match value {
        Value::Bytes(bytes) => heap_bytes(bytes.capacity()),
        Value::String(text) => heap_bytes(text.capacity()),
        Value::List(items) | Value::Structure(_, items) => {
            heap_bytes(items.capacity() * size_of::<Value>()) + all(items)
        }
        Value::Map(entries) => {
            let inner = |(key, item): &(String, Value)| heap_bytes(key.capacity()) + held(item);
            heap_bytes(entries.capacity() * size_of::<(String, Value)>()) + entries.iter().map(inner).sum::<usize>()
        }
        _ => 0,
    }
}

#[test]
fn what_is_decoded_takes_no_more_memory_than_is_charged() {
    // Of each shape as many as make some hundred KiB on the wire.
    let shapes: [(&str, &str); 8] = [
        ("short lists", "91 01"),
        ("empty lists", "90"),
        ("short maps", "A1 81 61 01"),
        ("maps of empty keys", "A1 80 C0"),
        ("short strings", "81 61"),
        ("short bytes", "CC 01 00"),
        ("structures", "B1 44 01"),
        ("lists that say how long they are", "D6 00 00 00 01 01"),
    ];
    for (name, hex) in shapes {
        let (one, count) = (bytes(hex), 100_000_u32);
        let whole = [&[0xD6][..], &count.to_be_bytes(), &one.repeat(count as usize)].concat();
        let (value, charged) = decode_charged(&whole, Limits { depth: 10, memory: 1 << 30 }).unwrap();
        let taken = held(&value);
        assert_eq!(taken, charged, "{name}");
        // A limit is a limit on that, not on the bytes of the wire.
        let limits = Limits { depth: 10, memory: taken - 1 };
        assert_eq!(decode(&whole, limits), Err(Malformed::Large), "{name}");
        let limits = Limits { depth: 10, memory: taken * 2 };
        assert_eq!(decode(&whole, limits), Ok(value), "{name}");
    }
}

#[test]
fn what_random_values_take_is_charged() {
    let mut random = Random::of_environment(24);
    for round in 0..rounds(2_000) {
        let bytes = encoded(&random.value(4));
        let (value, charged) = decode_charged(&bytes, Limits::default()).unwrap();
        assert_eq!(held(&value), charged, "round {round}");
    }
}

/// The generator of random numbers of the tests of this crate.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn of_environment(default: u64) -> Random {
        let seed = std::env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(default);
        eprintln!("FUZZ_SEED={seed}");
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn length(&mut self) -> usize {
        let bound = [4, 20, 300, 70_000][usize::try_from(self.below(64)).unwrap().saturating_sub(60)];
        self.below(bound) as usize
    }

    pub(crate) fn value(&mut self, depth: usize) -> Value {
        let kinds = if depth == 0 { 6 } else { 9 };
        match self.below(kinds) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 1),
            2 => Value::Int((self.next() >> self.below(64)) as i64),
            3 => Value::Float(self.next() as f64 / 3.0),
            4 => Value::Bytes((0..self.length()).map(|at| at as u8).collect()),
            5 => Value::String("aß€𝄞".chars().cycle().take(self.length()).collect()),
            6 => Value::List((0..self.length().min(40)).map(|_| self.value(depth - 1)).collect()),
            7 => {
                let entry = |at: usize, random: &mut Random| (format!("k{at}"), random.value(depth - 1));
                Value::Map((0..self.length().min(40)).map(|at| entry(at, self)).collect())
            }
            _ => Value::Structure(self.next() as u8, (0..self.below(16)).map(|_| self.value(depth - 1)).collect()),
        }
    }
}

/// Rounds of a randomised test: as many as in the environment variable `FUZZ_ROUNDS`, otherwise `default`.
pub(crate) fn rounds(default: u64) -> u64 {
    std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(default)
}

#[test]
fn random_values_come_back() {
    let mut random = Random::of_environment(20);
    for round in 0..rounds(3_000) {
        let value = random.value(4);
        let bytes = encoded(&value);
        let found = decode(&bytes, Limits::default());
        assert_eq!(found, Ok(value), "round {round}");
        // Cut anywhere, it is no value.
        let cut = random.below(bytes.len() as u64) as usize;
        assert!(decode(&bytes[..cut], Limits::default()).is_err(), "round {round}, cut at {cut}");
    }
}

#[test]
fn random_bytes_do_no_harm() {
    let mut random = Random::of_environment(21);
    let mut read = 0;
    for round in 0..rounds(20_000) {
        let mut bytes = if random.below(2) == 0 {
            (0..random.below(300)).map(|_| random.next() as u8).collect()
        } else {
            encoded(&random.value(3))
        };
        for _ in 0..random.below(4) {
            if !bytes.is_empty() {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next() as u8;
            }
        }
        if let Ok(value) = decode(&bytes, Limits { depth: 20, memory: 1 << 22 }) {
            // It may have been written in more bytes than it needs, but it stays the same value.
            let again = decode(&encoded(&value), Limits::default()).expect("what was read can be written");
            // NaN differs from itself, and is written by the same bytes.
            assert_eq!(encoded(&again), encoded(&value), "round {round}");
            read += 1;
        }
    }
    assert!(read > 1_000, "{read} were values");
}
