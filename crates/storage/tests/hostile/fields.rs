//! Changes of a region of bytes: fields of one to eight bytes, exchanged and copied parts, bytes put in and taken out.

use super::choices::Choices;

/// Numbers at some limit of the format.
const LIMITS: [u64; 28] = [
    0,
    1,
    2,
    3,
    7,
    8,
    56,
    57,
    58,
    63,
    64,
    65,
    127,
    255,
    256,
    511,
    512,
    16_384,
    (1 << 16) - 1,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    1 << 40,
    1 << 56,
    (1 << 63) - 1,
    1 << 63,
];

/// A number that stands in place of another: at some limit, near it, or near the length of what holds it.
fn odd(before: u64, length: usize, choices: &mut Choices<'_>) -> u64 {
    match choices.below(10) {
        0 => before.wrapping_add(1),
        1 => before.wrapping_sub(1),
        2 => before.wrapping_mul(2),
        3 => before / 2,
        4 => !0 - choices.below(2) as u64,
        5 => (length as u64).wrapping_add(choices.below(17) as u64).wrapping_sub(8),
        6 => choices.word() >> choices.below(64),
        7 => before ^ 1 << choices.below(64),
        _ => choices.pick(&LIMITS),
    }
}

/// A place in the region for a field of that size, more often than not where a field begins.
fn place(length: usize, size: usize, choices: &mut Choices<'_>) -> usize {
    let at = choices.below(length - size + 1);
    if choices.below(3) > 0 { at / 4 * 4 } else { at }
}

fn read(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Changes a field, or a few. Bytes are put in or taken out only where that is allowed.
pub fn change(region: &mut Vec<u8>, may_grow: bool, choices: &mut Choices<'_>) {
    for _ in 0..choices.pick(&[1, 1, 1, 2, 4]) {
        let size = choices.pick(&[1, 2, 4, 4, 8, 8]);
        if region.len() < 2 * size {
            return;
        }
        let at = place(region.len(), size, choices);
        match choices.below(if may_grow { 16 } else { 14 }) {
            0..9 => {
                let after = odd(read(&region[at..at + size]), region.len(), choices).to_le_bytes();
                region[at..at + size].copy_from_slice(&after[..size]);
            }
            9 | 10 => {
                let from = place(region.len(), size, choices);
                region.copy_within(from..from + size, at);
            }
            11 => {
                let other = place(region.len(), size, choices);
                (0..size).for_each(|byte| region.swap(at + byte, other + byte));
            }
            12 => {
                let length = (choices.below(64) + 1).min(region.len() - at);
                let from = choices.below(region.len() - length + 1);
                region.copy_within(from..from + length, at);
            }
            13 => {
                let length = (choices.below(64) + 1).min(region.len() - at);
                region[at..at + length].fill(choices.pick(&[0, 255]));
            }
            14 => {
                let length = (choices.below(24) + 1).min(region.len() - at);
                let part = region[at..at + length].to_vec();
                let to = choices.below(region.len() + 1);
                region.splice(to..to, part);
            }
            _ => {
                let length = (choices.below(24) + 1).min(region.len() - at);
                region.drain(at..at + length);
            }
        }
    }
}
