//! Logs: marks, links and records, taken apart and put together with right checksums at new places.

use storage::format::HEADER_BYTES;

use super::blocks::{seal_header, word};
use super::choices::Choices;
use super::fields;

const RECORD: [u8; 4] = *b"KREC";
const MARK: [u8; 4] = *b"KGRP";
const LINK: [u8; 4] = *b"KLNK";
const RECORD_HEADER_BYTES: usize = 24;

enum Part {
    /// Number of durable bytes.
    Mark(u64),
    /// Number, length and last transaction of the log before.
    Link([u64; 3]),
    Record {
        sequence: u64,
        payload: Vec<u8>,
    },
}

/// A log in its parts.
struct Log {
    header: Vec<u8>,
    parts: Vec<Part>,
    /// End of each part, and at last of the file.
    ends: Vec<usize>,
}

impl Log {
    fn of(bytes: &[u8]) -> Log {
        let (mut parts, mut ends, mut at) = (Vec::new(), Vec::new(), HEADER_BYTES);
        while at + 16 <= bytes.len() {
            let marker: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
            at += match marker {
                MARK => {
                    parts.push(Part::Mark(word(bytes, at + 8)));
                    16
                }
                LINK => {
                    parts.push(Part::Link([8, 16, 24].map(|behind| word(bytes, at + behind))));
                    32
                }
                RECORD => {
                    let length = word(bytes, at + 8) as usize;
                    let payload = bytes[at + RECORD_HEADER_BYTES..at + RECORD_HEADER_BYTES + length].to_vec();
                    parts.push(Part::Record { sequence: word(bytes, at + 16), payload });
                    RECORD_HEADER_BYTES + length
                }
                other => panic!("{other:?} begins no part of a log"),
            };
            ends.push(at);
        }
        Log { header: bytes[..HEADER_BYTES].to_vec(), parts, ends }
    }

    fn records(&mut self) -> Vec<(&mut u64, &mut Vec<u8>)> {
        let records = self.parts.iter_mut().filter_map(|part| match part {
            Part::Record { sequence, payload } => Some((sequence, payload)),
            _ => None,
        });
        records.collect()
    }

    /// Gives the records numbers that follow each other.
    fn number(&mut self, first: u64) {
        self.records().into_iter().zip(first..).for_each(|((sequence, _), number)| *sequence = number);
    }

    /// The file, with right checksums. What a mark called durable stays the same parts.
    fn join(self) -> Vec<u8> {
        let (number, identity) = (word(&self.header, 16), word(&self.header, 24));
        let is_linked = self.header[8] > 2;
        let name = [identity, number].map(u64::to_le_bytes);
        let sum = |words: &[u64], place: usize| {
            let number = is_linked.then_some(number);
            let all = words.iter().copied().chain([place as u64, identity]).chain(number);
            crc32fast::hash(&all.flat_map(u64::to_le_bytes).collect::<Vec<u8>>()).to_le_bytes()
        };
        let sizes = self.parts.iter().map(|part| match part {
            Part::Mark(_) => 16,
            Part::Link(_) => 32,
            Part::Record { payload, .. } => RECORD_HEADER_BYTES + payload.len(),
        });
        let mut end = HEADER_BYTES;
        let ends: Vec<usize> = sizes.map(|size| (end += size, end).1).collect();
        let moved = |durable: u64| {
            let part = self.ends.iter().position(|&end| end as u64 == durable);
            part.map_or(durable, |part| ends.get(part).copied().unwrap_or(end) as u64)
        };
        let mut bytes = self.header;
        for part in &self.parts {
            match part {
                Part::Mark(durable) => {
                    let durable = moved(*durable);
                    let head = [MARK, sum(&[durable], bytes.len())].concat();
                    bytes.extend_from_slice(&head);
                    bytes.extend_from_slice(&durable.to_le_bytes());
                }
                Part::Link(words) => {
                    let head = [LINK, sum(words, bytes.len())].concat();
                    bytes.extend_from_slice(&head);
                    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
                }
                Part::Record { sequence, payload } => {
                    let lengths = [payload.len() as u64, *sequence].map(u64::to_le_bytes).concat();
                    let covered = [&lengths, &**payload].concat();
                    let name = if is_linked { name.concat() } else { Vec::new() };
                    bytes.extend_from_slice(&RECORD);
                    bytes.extend_from_slice(&crc32fast::hash(&[name, covered.clone()].concat()).to_le_bytes());
                    bytes.extend_from_slice(&covered);
                }
            }
        }
        bytes
    }
}

/// Changes a log, most often what one of its records says.
pub fn change(bytes: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut log = Log::of(bytes);
    let mut records = log.records();
    assert!(!records.is_empty(), "a log that is changed has records");
    let first = *records[0].0;
    let at = choices.below(records.len());
    let other = choices.below(records.len());
    match choices.below(32) {
        0 => *records[at].0 = choices.word() >> choices.below(64),
        1 => {
            let payload = records[other].1.clone();
            *records[at].1 = payload;
        }
        2 => {
            // The operations of two transactions as one.
            let more = records[other].1.clone();
            records[at].1.extend_from_slice(&more);
        }
        3 => {
            let length = records[at].1.len();
            records[at].1.truncate(choices.below(length + 1));
        }
        4 => {
            let part = choices.below(log.parts.len());
            log.parts.remove(part);
            log.number(first);
        }
        5 => {
            let (from, to) = (choices.below(log.parts.len()), choices.below(log.parts.len()));
            log.parts.swap(from, to);
            log.number(first);
        }
        6 => change_words(&mut log, choices),
        7 => {
            fields::change(&mut log.header, false, choices);
            seal_header(&mut log.header);
        }
        _ => fields::change(records[at].1, true, choices),
    }
    log.join()
}

/// The log with another payload in its first record.
pub fn with_payload(bytes: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut log = Log::of(bytes);
    *log.records()[0].1 = payload.to_vec();
    log.join()
}

/// Changes the words of a mark or link.
fn change_words(log: &mut Log, choices: &mut Choices<'_>) {
    let is_other = |part: &&mut Part| !matches!(part, Part::Record { .. });
    let mut others: Vec<&mut Part> = log.parts.iter_mut().filter(is_other).collect();
    let at = choices.below(others.len());
    match &mut *others[at] {
        Part::Mark(durable) => *durable = durable.wrapping_add(choices.word() >> choices.below(64)),
        Part::Link(words) => words[choices.below(3)] = choices.word() >> choices.below(64),
        Part::Record { .. } => unreachable!("records were left out"),
    }
}
