//! A cache in a file, so that it is warm again after a restart.
//!
//! The file is a row of sections, each with its length and a checksum: first whose cache it is and when it was written,
//! then the keys that have numbers, then a section for each piece. A file that is not whole, of another version, of another
//! definition or from the future is passed over, and so is what is too old.

mod bytes;

use std::sync::Arc;

use model::{Bitmap, Column};

use self::bytes::{Reader, Writer};
use super::piece::{Lists, Numbers, Origin, Piece};
use crate::keys::{Keys, NO_KEY};

/// The first section says that it is such a file; the number grows with every change of the format.
const MAGIC: &[u8; 8] = b"knotsrc1";

/// Whose cache a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// A hash of the source's name and its definition.
    pub(crate) source: u64,
    /// When it was written, in microseconds since the Unix epoch.
    pub(crate) unix_us: i64,
    /// The same moment by the clock that ages are measured by.
    pub(crate) now_ns: u64,
}

/// Gives the sections of a file to `write`, one after the other.
pub(crate) fn save<E>(
    stamp: Stamp,
    keys: &Keys,
    pieces: &[Arc<Piece>],
    mut write: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut section = Writer::default();
    section.raw(MAGIC);
    section.u64(stamp.source);
    section.u64(stamp.unix_us as u64);
    section.u64(keys.space_count() as u64);
    write(&section.finish())?;
    for space in 0..keys.space_count() {
        let mut section = Writer::default();
        if !section.column(&keys.numbered(space)) {
            // Without the keys nothing of this file would be understood.
            return Ok(0);
        }
        write(&section.finish())?;
    }
    let mut rows = 0;
    for piece in pieces {
        let mut section = Writer::default();
        if encode(piece, stamp.now_ns, &mut section) {
            rows += piece.row_count();
            write(&section.finish())?;
        }
    }
    Ok(rows)
}

/// What a file holds that may be used: pieces that are no older than `age_max_ns`. Keys get the numbers that they have in
/// the file, or others if these are taken.
pub(crate) fn restore(
    bytes: &[u8],
    stamp: Stamp,
    age_max_ns: u64,
    keys: &Keys,
    widths: &[usize],
    mut keep: impl FnMut(Piece) -> model::Result<()>,
) -> model::Result<u64> {
    let mut sections = bytes::sections(bytes);
    let Some((written_us, space_count)) = sections.next().and_then(|section| head(section, stamp)) else {
        return Ok(0);
    };
    if space_count != keys.space_count() {
        return Ok(0);
    }
    for space in 0..space_count {
        let Some(column) = sections.next().and_then(|section| Reader::new(section).column()) else { return Ok(0) };
        let mut given = Vec::new();
        keys.encode(space, &column, &mut given)?;
        // Only where all numbers are the same again does the file speak of the same nodes.
        if !keys.are_numbered_from_zero(&given) {
            return Ok(0);
        }
    }
    let passed_ns = u64::try_from(stamp.unix_us - written_us).unwrap_or(0).saturating_mul(1_000);
    let mut rows = 0;
    for section in sections {
        let Some((mut piece, age_ns)) = decode(&mut Reader::new(section), widths) else { break };
        let age_ns = age_ns.saturating_add(passed_ns);
        if age_ns <= age_max_ns && age_ns <= stamp.now_ns {
            piece.fetched_ns = stamp.now_ns - age_ns;
            rows += piece.row_count();
            keep(piece)?;
        }
    }
    Ok(rows)
}

/// When a file was written, and how many spaces of keys it has; `None` if it is not of this cache.
fn head(section: &[u8], stamp: Stamp) -> Option<(i64, usize)> {
    let mut reader = Reader::new(section);
    let is_known = reader.raw(MAGIC.len())? == MAGIC && reader.u64()? == stamp.source;
    let written_us = reader.u64()? as i64;
    let spaces = reader.u64()? as usize;
    (is_known && written_us <= stamp.unix_us).then_some((written_us, spaces))
}

/// False if the piece holds what cannot be written.
fn encode(piece: &Piece, now_ns: u64, out: &mut Writer) -> bool {
    out.u64(piece.table as u64);
    out.u64(now_ns.saturating_sub(piece.fetched_ns));
    out.u64(u64::from(piece.origin == Origin::Ahead));
    out.u64s(piece.keys.iter().copied());
    match &piece.exists {
        None => out.u64(0),
        Some(bits) => {
            out.u64(1);
            out.u64s(bits.words().iter().copied());
        }
    }
    match &piece.lists {
        None => out.u64(0),
        Some(lists) => {
            out.u64(if lists.edge_keys.is_some() { 2 } else { 1 });
            out.u64s(lists.ends.iter().map(|&end| u64::from(end)));
            out.u64s(lists.far.iter());
            lists.edge_keys.iter().for_each(|keys| out.u64s(keys.iter()));
        }
    }
    out.u64(piece.columns.len() as u64);
    piece.columns.iter().all(|column| match column {
        None => {
            out.u64(0);
            true
        }
        Some(column) => {
            out.u64(1);
            out.column(column)
        }
    })
}

/// A piece and its age when it was written; `None` if it does not make sense for tables of these widths.
fn decode(reader: &mut Reader<'_>, widths: &[usize]) -> Option<(Piece, u64)> {
    let (table, age_ns) = (reader.u64()? as usize, reader.u64()?);
    let origin = if reader.u64()? == 1 { Origin::Ahead } else { Origin::Asked };
    let keys = reader.u64s()?;
    let exists = match reader.u64()? {
        0 => None,
        _ => {
            let words = reader.u64s()?;
            (words.len() == keys.len().div_ceil(64)).then_some(())?;
            Some(Bitmap::from_words(words, keys.len()))
        }
    };
    let kind = reader.u64()?;
    let lists = if kind == 0 { None } else { Some(lists(reader, kind == 2, keys.len())?) };
    let rows = lists.as_ref().map_or(keys.len(), |lists| lists.far.len());
    (reader.u64()? as usize == *widths.get(table)?).then_some(())?;
    let mut columns: Vec<Option<Column>> = Vec::new();
    for _ in 0..widths[table] {
        columns.push(match reader.u64()? {
            0 => None,
            _ => Some(reader.column().filter(|column| column.len() == rows)?),
        });
    }
    let mut piece = Piece::new(table, keys, columns, 0, origin);
    (piece.exists, piece.lists) = (exists, lists);
    Some((piece, age_ns))
}

fn lists(reader: &mut Reader<'_>, has_keys: bool, rows: usize) -> Option<Lists> {
    let ends: Vec<u32> = reader.u64s()?.into_iter().map(u32::try_from).collect::<Result<_, _>>().ok()?;
    let far = reader.u64s()?;
    let edge_keys = if has_keys { Some(reader.u64s()?) } else { None };
    let is_whole = ends.len() == rows
        && ends.is_sorted()
        && ends.last().is_none_or(|&end| end as usize == far.len())
        && edge_keys.as_ref().is_none_or(|keys| keys.len() == far.len())
        && !far.contains(&NO_KEY);
    is_whole.then(|| Lists { ends, far: Numbers::new(far), edge_keys: edge_keys.map(Numbers::new) })
}
