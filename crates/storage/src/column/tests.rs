//! Columns of every kind, through blocks and back, against the values that went in.

use std::path::Path;
use std::sync::Arc;

use model::fixed::Uuid;
use model::point::{Crs, Point};
use model::temporal::{Date, DateTime, Duration, LocalDateTime, LocalTime, NANOS_OF_DAY, Time, Zone};
use model::{Column, Consumer, ErrorCode, FixedKind, MemoryBudget, StringColumn, Value};
use testing::random::{SeededRandom, seed_or};

use super::access::Block;
use super::block::{BlockHeader, Encoding};
use super::dictionaries::Dictionaries;
use super::read::{gather, kind_of, range};
use super::{BlockSource, ColumnWriter, MemoryColumn};
use crate::file::cache::BlockCache;
use crate::format::COLUMN_BLOCK_ROWS;

/// Writes values in random pieces and reads them back by range and by gather; gives the encodings of the blocks.
fn check(name: &str, values: &[Value], random: &mut SeededRandom) -> Vec<Encoding> {
    let (mut memory, mut writer) = (MemoryColumn::default(), ColumnWriter::default());
    let mut start = 0;
    while start < values.len() {
        let end = (start + 1 + random.index(9_000)).min(values.len());
        memory.push(&mut writer, &Column::from_values(&values[start..end])).unwrap();
        start = end;
    }
    memory.seal(writer).unwrap();
    let kind = kind_of(memory.headers());
    for _ in 0..20 {
        let start = random.index(values.len());
        let end = start + random.index(values.len() - start + 1);
        let found = range(&memory, kind, start as u64..end as u64).unwrap();
        assert!(found.values().eq(values[start..end].iter().cloned()), "{name}: {start}..{end}");
        let positions: Vec<u64> = (0..300).map(|_| random.below(values.len() as u64 + 9)).collect();
        let found = gather(&memory, kind, &positions).unwrap();
        for (row, &position) in positions.iter().enumerate() {
            let expected = values.get(position as usize).cloned().unwrap_or_default();
            assert_eq!(found.value(row), expected, "{name}: position {position}");
        }
    }
    memory.headers().iter().map(|header| header.encoding).collect()
}

#[test]
fn every_kind_reads_back() {
    let seed = seed_or(7);
    let mut random = SeededRandom::new(seed);
    let rows = 2 * COLUMN_BLOCK_ROWS + 1_234;
    type Make = fn(&mut SeededRandom) -> Value;
    let kinds: [(&str, Encoding, Make); 21] = [
        ("small integers", Encoding::Packed(FixedKind::Int), |random| Value::Int(random.below(100) as i64 - 50)),
        ("all integers", Encoding::Packed(FixedKind::Int), |random| Value::Int(random.next_u64() as i64)),
        ("one integer", Encoding::Packed(FixedKind::Int), |_| Value::Int(-7)),
        ("floats", Encoding::Float64, |random| Value::Float(random.unit())),
        ("short floats", Encoding::Float32, |random| Value::Float(f64::from(random.unit() as f32))),
        ("one float", Encoding::FloatConstant, |_| Value::Float(-0.0)),
        ("booleans", Encoding::Bool, |random| Value::Bool(random.chance(50))),
        ("dates", Encoding::Packed(FixedKind::Date), |random| Value::Date(Date(random.next_u64() as i64 >> 26))),
        ("moments", Encoding::Parts(FixedKind::LocalDateTime), |random| {
            Value::LocalDateTime(LocalDateTime::of_micros(random.next_u64() as i64))
        }),
        ("days as moments", Encoding::Parts(FixedKind::LocalDateTime), |random| {
            Value::LocalDateTime(LocalDateTime { seconds: random.below(10_000) as i64 * 86_400, nanosecond: 0 })
        }),
        ("extreme moments", Encoding::Parts(FixedKind::LocalDateTime), |random| {
            Value::LocalDateTime(if random.chance(50) { LocalDateTime::MIN } else { LocalDateTime::MAX })
        }),
        ("times of day", Encoding::Packed(FixedKind::LocalTime), |random| {
            Value::LocalTime(LocalTime(random.below(NANOS_OF_DAY as u64) as i64))
        }),
        ("times", Encoding::Parts(FixedKind::Time), |random| {
            let local = LocalTime(random.below(NANOS_OF_DAY as u64) as i64);
            Value::Time(Time { local, offset: random.below(129_601) as i32 - 64_800 })
        }),
        ("moments with zones", Encoding::Parts(FixedKind::DateTime), |random| {
            let names = ["Europe/Stockholm", "Pacific/Honolulu", "+01:00", "Z"];
            let zone = Zone::parse(names[random.below(4) as usize]).unwrap();
            let seconds = random.next_u64() as i64 >> 12;
            Value::DateTime(DateTime { seconds, nanosecond: random.below(1_000_000_000) as u32, zone })
        }),
        ("durations", Encoding::Parts(FixedKind::Duration), |random| {
            let mut part = || random.next_u64() as i64;
            let (months, days, seconds) = (part(), part(), part());
            Value::Duration(Duration { months, days, seconds, nanosecond: random.below(1_000_000_000) as u32 })
        }),
        ("identifiers", Encoding::Parts(FixedKind::Uuid), |random| {
            Value::Uuid(Uuid::from_u64_pair(random.next_u64(), random.next_u64()))
        }),
        ("points", Encoding::Parts(FixedKind::Point), |random| {
            let [x, y] = [random.below(360), random.below(180)].map(|degrees| degrees as f64 / 2.0 - 45.0);
            Value::Point(Point::new(Crs::Wgs84, &[x, y]).unwrap())
        }),
        ("few texts", Encoding::StringDictionary, |random| Value::string(&format!("text {}", random.below(20)))),
        ("many texts", Encoding::StringPlain, |random| Value::string(&format!("{}", random.next_u64()))),
        ("texts of many scripts", Encoding::StringPlain, |random| {
            let number = random.next_u64();
            Value::string(&["", "ß", "数", "🜁"].map(|part| format!("{part}{}", number >> 40)).concat())
        }),
        ("mixture", Encoding::Mixed, |random| {
            if random.chance(50) { Value::Int(1) } else { Value::list(vec![Value::string("é"), Value::Bool(true)]) }
        }),
    ];
    for (name, encoding, make) in kinds {
        for nulls in [0, 3, 60, 99] {
            let values: Vec<Value> =
                (0..rows).map(|_| if random.chance(nulls) { Value::Null } else { make(&mut random) }).collect();
            let found = check(&format!("seed {seed} {name} with {nulls} % nulls"), &values, &mut random);
            assert!(nulls == 99 || found.iter().all(|&at| at == encoding), "{name}: {found:?}");
        }
    }
    let nulls = vec![Value::Null; rows];
    assert!(check("nulls", &nulls, &mut random).is_empty(), "a column without values takes nothing");
}

#[test]
fn blocks_of_different_kinds_widen_together() {
    let mut random = SeededRandom::new(seed_or(8));
    let block = |value: fn(i64) -> Value| (0..COLUMN_BLOCK_ROWS as i64).map(value).collect::<Vec<_>>();
    let values =
        [block(Value::Int), vec![Value::Null; COLUMN_BLOCK_ROWS], block(|i| Value::string(&i.to_string()))].concat();
    let encodings = check("kinds by block", &values, &mut random);
    assert_eq!(encodings, [Encoding::Packed(FixedKind::Int), Encoding::Absent, Encoding::StringPlain]);
}

#[test]
fn append_range_keeps_values_of_all_kinds() {
    let parts = [
        vec![Value::Null, Value::Null],
        vec![Value::Int(1), Value::Null, Value::Int(2)],
        vec![Value::Null],
        vec![Value::string("x"), Value::Null],
        vec![Value::list(vec![])],
    ];
    let mut column = Column::nulls(0);
    let mut expected = Vec::new();
    for part in &parts {
        column.append_range(&Column::from_values(part), 0, part.len());
        expected.extend(part.iter().cloned());
        assert!(column.values().eq(expected.iter().cloned()), "{expected:?}");
    }
}

#[test]
fn values_of_time_out_of_their_bounds_are_damage() {
    let moment = LocalDateTime { seconds: i64::MAX, nanosecond: 0 };
    let wrong: [Value; 7] = [
        Date(Date::MAX.0 + 1).into(),
        LocalTime(NANOS_OF_DAY).into(),
        Time { local: LocalTime(0), offset: 64_801 }.into(),
        moment.into(),
        LocalDateTime { seconds: 0, nanosecond: 1_000_000_000 }.into(),
        DateTime { seconds: i64::MIN, nanosecond: 0, zone: Zone::UTC }.into(),
        Duration { nanosecond: u32::MAX, ..Duration::default() }.into(),
    ];
    for value in wrong {
        let problem = value.check_time().unwrap_err();
        // Among others of its kind, and in a block of mixed kinds.
        for other in [None, Some(Value::Int(1))] {
            let values: Vec<Value> = [Some(value.clone()), other.clone()].into_iter().flatten().collect();
            let (mut memory, mut writer) = (MemoryColumn::default(), ColumnWriter::default());
            memory.push(&mut writer, &Column::from_values(&values)).unwrap();
            memory.seal(writer).unwrap();
            let (kind, rows) = (kind_of(memory.headers()), values.len() as u64);
            for found in [range(&memory, kind, 0..rows), gather(&memory, kind, &[0])] {
                let error = found.expect_err(problem.message());
                assert_eq!(error.code(), ErrorCode::Corrupt, "{error}");
                assert!(error.message().contains(problem.message()), "{error} tells of {problem}");
            }
        }
    }
}

/// Damage of the third block is told of the third block, however it is read; blocks in memory are numbered from 0.
#[test]
fn values_of_time_out_of_their_bounds_are_told_at_their_block() {
    let date = (Value::from(Date(7)), Value::from(Date(Date::MAX.0 + 1)));
    let time = (Value::from(LocalTime(7)), Value::from(LocalTime(NANOS_OF_DAY)));
    for (right, wrong) in [date, time] {
        let (mut memory, mut writer) = (MemoryColumn::default(), ColumnWriter::default());
        let mut values = vec![right; 4 * COLUMN_BLOCK_ROWS];
        let position = 2 * COLUMN_BLOCK_ROWS + 5;
        values[position] = wrong;
        memory.push(&mut writer, &Column::from_values(&values)).unwrap();
        memory.seal(writer).unwrap();
        let (kind, position) = (kind_of(memory.headers()), position as u64);
        let positions = [3, position + 1, position, 3 * COLUMN_BLOCK_ROWS as u64];
        for found in [range(&memory, kind, 0..values.len() as u64), gather(&memory, kind, &positions)] {
            let error = found.expect_err("a value is wrong");
            assert_eq!(error.code(), ErrorCode::Corrupt, "{error}");
            assert!(error.message().contains("at byte 2"), "{error}");
        }
        assert!(gather(&memory, kind, &positions[..2]).is_ok());
    }
}

/// A block with bytes of its own.
struct OneBlock {
    header: BlockHeader,
    bytes: Vec<u8>,
}

impl BlockSource for OneBlock {
    fn headers(&self) -> &[BlockHeader] {
        std::slice::from_ref(&self.header)
    }

    fn block(&self, _: usize) -> model::Result<Block<'_>> {
        Ok(Block::held(&self.header, &self.bytes, Path::new("test")))
    }
}

/// Whichever byte is damaged, a run of texts is that of its rows one by one, or both are damage.
#[test]
fn damaged_texts_are_damage_in_a_run_too() {
    let (mut memory, mut writer) = (MemoryColumn::default(), ColumnWriter::default());
    let values: Vec<Value> = (0..40).map(|row| Value::string(&format!("{row}é"))).collect();
    memory.push(&mut writer, &Column::from_values(&values)).unwrap();
    memory.seal(writer).unwrap();
    let (header, kind) = (memory.headers()[0], kind_of(memory.headers()));
    assert_eq!(header.encoding, Encoding::StringPlain);
    let bytes = memory.block(0).unwrap().read(0..header.length as usize).unwrap().to_vec();
    let mut damaged = 0;
    for at in 0..bytes.len() {
        for wrong in [0, 1, 0x80, 0xff] {
            let mut source = OneBlock { header, bytes: bytes.clone() };
            source.bytes[at] = wrong;
            let run = range(&source, kind, 0..40);
            let rows: Result<Vec<Value>, _> =
                (0..40).map(|row| gather(&source, kind, &[row]).map(|found| found.value(0))).collect();
            match (run, rows) {
                (Ok(run), Ok(rows)) => assert!(run.values().eq(rows), "byte {at} is {wrong}"),
                (Err(error), _) => {
                    assert_eq!(error.code(), ErrorCode::Corrupt, "byte {at} is {wrong}: {error}");
                    damaged += 1;
                }
                // Each text by itself may be whole where they overlap or leave something out between them, which a run is not.
                (Ok(_), Err(error)) => {
                    panic!("byte {at} is {wrong}: a run is whole, and of its rows one is not: {error}")
                }
            }
        }
    }
    assert!(damaged > bytes.len(), "{damaged} damages were found in {} bytes", bytes.len());
}

/// A block whose dictionary is kept, while there is room for it.
struct Keeping {
    block: OneBlock,
    dictionaries: Dictionaries,
    cache: Arc<BlockCache>,
}

impl BlockSource for Keeping {
    fn headers(&self) -> &[BlockHeader] {
        self.block.headers()
    }

    fn block(&self, block: usize) -> model::Result<Block<'_>> {
        self.block.block(block)
    }

    fn dictionary(&self, block: usize) -> Option<Arc<StringColumn>> {
        let hold = |bytes| self.cache.try_hold(Consumer::OpenFiles, bytes);
        self.dictionaries.get_or_read(block, hold, || self.block(block)?.dictionary())
    }
}

/// Whichever byte is damaged, with room or without, a run of texts in a dictionary that is kept is what it was before that.
#[test]
fn kept_dictionaries_are_those_that_are_read() {
    let (mut memory, mut writer) = (MemoryColumn::default(), ColumnWriter::default());
    let values: Vec<Value> = (0..60).map(|row| Value::string(&format!("text {}é", row * 7 % 9))).collect();
    memory.push(&mut writer, &Column::from_values(&values)).unwrap();
    memory.seal(writer).unwrap();
    let (header, kind) = (memory.headers()[0], kind_of(memory.headers()));
    assert_eq!(header.encoding, Encoding::StringDictionary);
    let bytes = memory.block(0).unwrap().read(0..header.length as usize).unwrap().to_vec();
    let (mut kept, mut damaged) = (0, 0);
    for room in [usize::MAX / 2, 64] {
        for at in 0..bytes.len() {
            for wrong in [bytes[at], 0, 0x80, 0xff] {
                let mut block = OneBlock { header, bytes: bytes.clone() };
                block.bytes[at] = wrong;
                let cache = BlockCache::new(MemoryBudget::new(room));
                let source = Keeping { block, dictionaries: Dictionaries::new(1), cache };
                let rows = 3..57;
                let first = range(&source, kind, rows.clone());
                for _ in 0..2 {
                    match (&first, range(&source, kind, rows.clone())) {
                        (Ok(first), Ok(again)) => assert!(first.values().eq(again.values()), "byte {at} is {wrong}"),
                        (Err(first), Err(again)) => assert_eq!(first.code(), again.code(), "byte {at} is {wrong}"),
                        (_, again) => panic!("byte {at} is {wrong}: {again:?}, before {first:?}"),
                    }
                }
                kept += usize::from(source.dictionary(0).is_some());
                damaged += usize::from(first.is_err());
            }
        }
    }
    assert!(kept > bytes.len() && kept < 4 * bytes.len() && damaged > 100, "{kept} kept, {damaged} damaged");
}

#[test]
fn a_header_that_contradicts_itself_is_damage() {
    let mut bytes = Vec::new();
    super::BlockHeader::absent(5).put(&mut bytes);
    for (at, wrong) in [(0, 99), (1, 60), (2, 63), (8, 6)] {
        let mut bytes = bytes.clone();
        bytes[at] = wrong;
        let mut get = crate::codec::bytes::Get::new(&bytes, Path::new("test"), 0);
        assert!(super::BlockHeader::take(&mut get).is_err(), "byte {at} is {wrong}");
    }
}

#[test]
fn few_values_among_many_rows_read_back_and_take_little_memory() {
    let seed = seed_or(12);
    let mut random = SeededRandom::new(seed);
    for share in [0, 1, 10, 1_000, 9_000, 10_000] {
        let (mut memory, mut writer) = (MemoryColumn::default(), ColumnWriter::default());
        let mut expected = Vec::new();
        while expected.len() < 3 * COLUMN_BLOCK_ROWS {
            let count = 1 + random.index(9_000);
            let places: Vec<u32> = (0..count as u32).filter(|_| random.below(10_000) < share).collect();
            let values: Vec<Value> = places.iter().map(|_| Value::Int(random.below(1_000) as i64)).collect();
            let first = expected.len();
            expected.resize(first + count, Value::Null);
            places.iter().zip(&values).for_each(|(&at, value)| expected[first + at as usize] = value.clone());
            memory.push_at(&mut writer, &places, &Column::from_values(&values), count).unwrap();
            assert!(share > 10 || writer.waiting_bytes() < 4_096, "seed {seed}: {}", writer.waiting_bytes());
            if random.chance(20) {
                expected.resize(expected.len() + random.index(3 * COLUMN_BLOCK_ROWS), Value::Null);
                memory.pad(&mut writer, expected.len() as u64).unwrap();
            }
        }
        memory.seal(writer).unwrap();
        let found = range(&memory, kind_of(memory.headers()), 0..expected.len() as u64).unwrap();
        assert!(found.values().eq(expected), "seed {seed}, {share} of 10,000");
    }
}
