//! Files of blocks: header, data, directory, checksum table and trailer.

use storage::format::{CHECKSUM_BLOCK_BYTES, HEADER_BYTES, TRAILER_BYTES};

use super::choices::Choices;
use super::fields;

/// Bytes of the trailer that its checksum covers.
const TRAILER_COVERED: usize = TRAILER_BYTES - 12;

/// The word at a place.
pub fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// Makes the checksum of a header right.
pub fn seal_header(bytes: &mut [u8]) {
    let sum = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// A file of blocks in its parts.
struct Parts {
    header: Vec<u8>,
    data: Vec<u8>,
    directory: Vec<u8>,
    trailer: Vec<u8>,
}

impl Parts {
    fn of(bytes: &[u8]) -> Parts {
        let trailer = &bytes[bytes.len() - TRAILER_BYTES..];
        let (start, length) = (word(trailer, 0) as usize, word(trailer, 8) as usize);
        Parts {
            header: bytes[..HEADER_BYTES].to_vec(),
            data: bytes[HEADER_BYTES..start].to_vec(),
            directory: bytes[start..start + length].to_vec(),
            trailer: trailer.to_vec(),
        }
    }

    /// The file, with right checksums. `change` may change the trailer's numbers before they are sealed.
    fn join(mut self, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let (start, length) = (self.header.len() + self.data.len(), self.directory.len());
        let mut bytes = [self.header, self.data, self.directory].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        for (at, number) in [start, length, bytes.len()].into_iter().enumerate() {
            self.trailer[8 * at..8 * at + 8].copy_from_slice(&(number as u64).to_le_bytes());
        }
        let table: Vec<u8> =
            bytes.chunks(CHECKSUM_BLOCK_BYTES).flat_map(|block| crc32fast::hash(block).to_le_bytes()).collect();
        self.trailer[32..36].copy_from_slice(&crc32fast::hash(&table).to_le_bytes());
        let mut numbers = self.trailer[..24].to_vec();
        change(&mut numbers);
        self.trailer[..24].copy_from_slice(&numbers[..24]);
        let sum = crc32fast::hash(&self.trailer[..TRAILER_COVERED]);
        self.trailer[TRAILER_COVERED..TRAILER_COVERED + 4].copy_from_slice(&sum.to_le_bytes());
        bytes.extend_from_slice(&table);
        bytes.extend_from_slice(&self.trailer);
        bytes
    }
}

/// Changes a file of blocks, most often its directory. `other` is another file of the same kind.
pub fn change(bytes: &[u8], other: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut parts = Parts::of(bytes);
    match choices.below(32) {
        0 => {
            fields::change(&mut parts.header, false, choices);
            seal_header(&mut parts.header);
        }
        1 => return parts.join(|numbers| fields::change(numbers, false, choices)),
        2 => {
            // The contents of one file under the name of another.
            let Parts { data, directory, .. } = Parts::of(other);
            (parts.data, parts.directory) = (data, directory);
        }
        3 => parts.directory = Parts::of(other).directory,
        4..22 => fields::change(&mut parts.directory, true, choices),
        _ => fields::change(&mut parts.data, false, choices),
    }
    parts.join(|_| ())
}
