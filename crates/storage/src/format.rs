//! The constants of the file format: magic numbers, versions, sizes and names. Byte for byte in `docs/format.md`.

use std::ops::Range;

use model::{EdgeId, PropertyKeyId};

/// The first eight bytes of every file of a store.
pub const MAGIC: [u8; 8] = *b"KNOTWORK";
/// The last eight bytes of every immutable file.
pub const MAGIC_END: [u8; 8] = *b"KROWTONK";
/// The version that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u16 = 3;
/// The least version a reader must know to read what this program writes.
pub const READER_VERSION_MIN: u16 = 3;
/// The oldest version that this program reads. Version 1 was never released; in version 2 edges have no numbers.
pub const FORMAT_VERSION_MIN: u16 = 2;
/// Bytes of the header of every file.
pub const HEADER_BYTES: usize = 64;
/// Bytes of the trailer of every immutable file.
pub const TRAILER_BYTES: usize = 64;
/// Bytes covered by one checksum, and the unit in which files come into memory and leave it.
pub const CHECKSUM_BLOCK_BYTES: usize = 4 << 10;
/// Bytes after each packed array, so that a 64-bit load of its last entry stays inside the file.
pub const PADDING_BYTES: usize = 8;
/// Values in one block of a property column.
pub const COLUMN_BLOCK_ROWS: usize = 16_384;
/// Node ids in one node segment, as a power of two.
pub const SEGMENT_BITS: u32 = 20;
/// Node ids in one node segment.
pub const SEGMENT_NODES: u64 = 1 << SEGMENT_BITS;
/// One more than the largest node id that a store can hold.
pub const NODE_ID_LIMIT: u64 = 1 << 32;
/// One more than the largest number that an edge can have. The byte above is left to those who join stores.
pub const EDGE_NUMBER_LIMIT: u64 = 1 << 56;
/// In the directory of a properties file the key of the column of edge numbers, which is no property.
pub const EDGE_NUMBER_KEY: PropertyKeyId = PropertyKeyId(u32::MAX);
/// Number of generations of a manifest: each that is sound has one after it.
pub const GENERATION_LIMIT: u64 = 1 << 62;
/// The interval of the last partition has no end of its own: it takes the nodes still to come.
pub const INTERVAL_END: u64 = NODE_ID_LIMIT;
/// The name of the manifest.
pub const MANIFEST_NAME: &str = "MANIFEST";
/// The name of a second manifest with the same bytes, for a salvage where the first is damaged.
pub const MANIFEST_COPY_NAME: &str = "MANIFEST.copy";
/// The name under which a manifest is written before it replaces the old one.
pub const MANIFEST_NEW_NAME: &str = "MANIFEST.new";
/// The name of the file whose lock means that the store is open.
pub const LOCK_NAME: &str = "LOCK";
/// The name of the socket by which other processes reach the one that writes.
pub const SOCKET_NAME: &str = "SOCKET";
/// The name of the file that says what a backup is one of; a directory with it is not opened for writing.
pub const BACKUP_NAME: &str = "BACKUP";
/// The name of the file that is there while a backup or a restore is under way.
pub const COPYING_NAME: &str = "COPYING";

/// Kind of a file, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum FileKind {
    /// The manifest.
    Manifest = 1,
    /// A node segment.
    Nodes = 2,
    /// The topology of an edge partition.
    Edges = 3,
    /// The property columns of an edge partition.
    EdgeProperties = 4,
    /// A unique key index.
    Keys = 5,
    /// A write-ahead log.
    Wal = 6,
    /// A sorted run of a bulk build; never outlives it.
    Run = 7,
    /// Deletions from an edge partition, and changes in it, since it was written.
    Patch = 8,
    /// Changed and new nodes, written by a flush.
    NodeRun = 9,
    /// A run of an ordered index.
    OrderedKeys = 10,
}

impl FileKind {
    /// The end of the names of such files.
    pub fn extension(self) -> &'static str {
        match self {
            FileKind::Manifest => "manifest",
            FileKind::Nodes => "nodes",
            FileKind::Edges => "edges",
            FileKind::EdgeProperties => "props",
            FileKind::Keys => "keys",
            FileKind::Wal => "wal",
            FileKind::Run => "run",
            FileKind::Patch => "patch",
            FileKind::NodeRun => "noderun",
            FileKind::OrderedKeys => "ordered",
        }
    }

    /// The name of a file of this kind with that number.
    pub fn file_name(self, number: u64) -> String {
        format!("{number:08}.{}", self.extension())
    }

    /// Kind and number of a file by its name; `None` for names that this program does not make.
    pub fn parse(name: &str) -> Option<(FileKind, u64)> {
        let (number, extension) = name.split_once('.')?;
        let kinds = [
            FileKind::Nodes,
            FileKind::Edges,
            FileKind::EdgeProperties,
            FileKind::Keys,
            FileKind::Wal,
            FileKind::Run,
            FileKind::Patch,
            FileKind::NodeRun,
            FileKind::OrderedKeys,
        ];
        let kind = kinds.into_iter().find(|kind| kind.extension() == extension)?;
        Some((kind, number.parse().ok()?))
    }
}

/// Bits of a position within a section.
pub const POSITION_BITS: u32 = 32;
/// Bits of the number of a section within its partition.
pub const SECTION_BITS: u32 = 19;
/// Most types of edges: each may have a section in a partition.
pub const EDGE_TYPES_MAX: usize = (1 << SECTION_BITS) - 1;
/// Most bytes of one value of a property, as files and the log hold it.
pub const VALUE_BYTES_MAX: usize = u32::MAX as usize;
/// Bits of the slot of a partition.
pub const PARTITION_BITS: u32 = 12;
/// Partitions that may be open at once, those of versions that somebody still reads included.
pub const PARTITION_SLOTS: usize = 1 << PARTITION_BITS;
/// The bit of an edge id that says that the edge is in the memtable; the bits below it are the memtable's.
pub const MEMTABLE_EDGE_BIT: u64 = 1 << 63;

/// Place of a published edge: the parts of an [`EdgeId`] whose highest bit is clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgePlace {
    /// The slot of the partition.
    pub partition: usize,
    /// Index of the section in its partition.
    pub section: usize,
    /// Position of the edge in the out-direction of the section.
    pub position: u64,
}

impl EdgePlace {
    /// The id of the edge at this place.
    #[inline]
    pub fn id(self) -> EdgeId {
        EdgeId(EdgePlace::base(self.partition, self.section) | self.position)
    }

    /// The id of position 0 of a section; the id of position `p` is `p` more.
    #[inline]
    pub fn base(partition: usize, section: usize) -> u64 {
        (partition as u64) << (POSITION_BITS + SECTION_BITS) | (section as u64) << POSITION_BITS
    }

    /// The place of a published edge; `None` for an edge of the memtable.
    #[inline]
    pub fn of(edge: EdgeId) -> Option<EdgePlace> {
        if edge.0 & MEMTABLE_EDGE_BIT != 0 {
            return None;
        }
        Some(EdgePlace {
            partition: (edge.0 >> (POSITION_BITS + SECTION_BITS)) as usize,
            section: (edge.0 >> POSITION_BITS) as usize & ((1 << SECTION_BITS) - 1),
            position: edge.0 & ((1 << POSITION_BITS) - 1),
        })
    }
}

/// The ids of a node segment.
pub fn segment_range(segment: u64) -> Range<u64> {
    segment << SEGMENT_BITS..(segment + 1) << SEGMENT_BITS
}

#[cfg(test)]
mod tests {
    use super::{EdgePlace, FileKind, MEMTABLE_EDGE_BIT};
    use model::EdgeId;

    #[test]
    fn edge_ids_keep_their_parts() {
        for place in [(0, 0, 0), (4095, 524_287, (1 << 32) - 1), (3, 7, 12345)] {
            let place = EdgePlace { partition: place.0, section: place.1, position: place.2 };
            assert_eq!(EdgePlace::of(place.id()), Some(place));
        }
        assert_eq!(EdgePlace::of(EdgeId(MEMTABLE_EDGE_BIT | 5)), None);
    }

    #[test]
    fn names_are_read_back() {
        assert_eq!(FileKind::parse(&FileKind::Keys.file_name(12)), Some((FileKind::Keys, 12)));
        assert_eq!(FileKind::parse("LOCK"), None);
        assert_eq!(FileKind::parse(super::SOCKET_NAME), None);
        assert_eq!(FileKind::parse("notes.txt"), None);
    }
}
