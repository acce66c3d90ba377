//! The ids that the edges of a large transaction keep, while they move from memory into files.
//!
//! An id that a transaction has given out stays valid until it ends. So an edge that it made keeps the id that it had in
//! memory, counted on over all stages of the transaction, and an edge of the files that a sort key moved keeps that of its
//! old place. A stage that was written into files leaves two lists of numbers behind: the id of the edge at each position,
//! and the place of each edge.
//!
//! Cost: 16 bytes of a temporary file for each edge that was written; nothing for edges that were there before.

use std::borrow::Cow;

use model::store::EdgeCursor;
use model::{EdgeBatch, EdgeId, IndexBatch, IndexCursor, Map, Result};

use super::spool::Spool;
use crate::format::{EdgePlace, MEMTABLE_EDGE_BIT};
use crate::memtable::{edge_id, ordinal};

/// In the list of places: the edge is in no file.
const NOWHERE: u64 = u64::MAX;

/// The ids of the edges of all stages.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    parts: Vec<Part>,
    spool: Option<Box<Spool>>,
}

/// The edges of a stage that was written into files.
#[derive(Debug)]
struct Part {
    /// Edges made before the stage, and in it.
    first: u64,
    made: u64,
    /// Start, in the spool, of the places of those that it made.
    places: u64,
    /// The slot of its partition; none if it has no edges.
    slot: Option<usize>,
    /// The edges before each section.
    sections: Vec<u64>,
    /// Start, in the spool, of the ids of the edges of its partition.
    ids: u64,
    /// The new places of edges that had an id before the stage.
    moved: Map<u64, u64>,
}

impl Aliases {
    /// True as long as every edge lies where its id says.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Forgets all stages but the first few.
    pub(crate) fn truncate(&mut self, stages: usize) {
        self.parts.truncate(stages);
    }

    /// Bytes kept beside the edges.
    pub(crate) fn spool(&mut self, make: impl FnOnce() -> Result<Spool>) -> Result<&mut Spool> {
        if self.spool.is_none() {
            self.spool = Some(Box::new(make()?));
        }
        Ok(self.spool.as_mut().expect("the spool was just made"))
    }

    /// Bytes that were put into the spool.
    pub(crate) fn spooled(&self, start: u64, length: usize) -> Result<Vec<u8>> {
        self.spool.as_ref().map_or_else(|| Ok(Vec::new()), |spool| spool.read(start, length))
    }

    /// Edges made in the stages that were written.
    fn made(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.first + part.made)
    }

    /// Takes in a stage that made `made` edges in memory. `placed` are the ids that the edges of its partition had in
    /// it, section by section; the spool was made.
    pub(crate) fn add(&mut self, made: u64, slot: Option<usize>, placed: Vec<Vec<EdgeId>>) -> Result<()> {
        let mut sections = Vec::with_capacity(placed.len());
        let mut ids: Vec<EdgeId> = Vec::new();
        let mut places = vec![NOWHERE; made as usize];
        let mut moved = Map::default();
        for (section, edges) in placed.into_iter().enumerate() {
            sections.push(ids.len() as u64);
            let base = EdgePlace::base(slot.unwrap_or_default(), section);
            for (place, &edge) in (base..).zip(&edges) {
                if let Some(ordinal) = ordinal(edge) {
                    places[ordinal as usize] = place;
                }
            }
            let mut visible = edges;
            let was_in_files: Vec<bool> = visible.iter().map(|&edge| ordinal(edge).is_none()).collect();
            self.to_visible(&mut visible)?;
            let old = (base..).zip(&visible).zip(was_in_files).filter(|(_, was_in_files)| *was_in_files);
            moved.extend(old.map(|((place, edge), _)| (edge.0, place)));
            ids.extend(visible);
        }
        let first = self.made();
        let Some(spool) = &mut self.spool else {
            return Err(model::error!(Internal, "a stage was written and has no spool"));
        };
        let places = spool.append(&bytes_of(places.into_iter()))?;
        let ids = spool.append(&bytes_of(ids.into_iter().map(|edge| edge.0)))?;
        self.parts.push(Part { first, made, places, slot, sections, ids, moved });
        Ok(())
    }

    /// Gives edges, as the present stage knows them, the ids that the transaction has given out.
    pub(crate) fn to_visible(&self, edges: &mut [EdgeId]) -> Result<()> {
        let Some(spool) = self.spool.as_ref().filter(|_| !self.parts.is_empty()) else { return Ok(()) };
        let made = self.made();
        let mut numbers = spool.numbers();
        for edge in edges {
            if let Some(ordinal) = ordinal(*edge) {
                *edge = EdgeId(MEMTABLE_EDGE_BIT | (made + u64::from(ordinal)));
            } else if let Some(place) = EdgePlace::of(*edge)
                && let Some(part) = self.parts.iter().find(|part| part.slot == Some(place.partition))
            {
                let before = part.sections.get(place.section).copied().unwrap_or_default();
                *edge = EdgeId(numbers.get(part.ids, before + place.position)?);
            }
        }
        Ok(())
    }

    /// Edges by the ids that the transaction has given out, as the present stage knows them; ids that nothing has for those
    /// that are gone.
    pub(crate) fn to_inner<'e>(&self, edges: &'e [EdgeId]) -> Result<Cow<'e, [EdgeId]>> {
        let Some(spool) = self.spool.as_ref().filter(|_| !self.parts.is_empty()) else {
            return Ok(Cow::Borrowed(edges));
        };
        let made = self.made();
        let has_moved = self.parts.iter().any(|part| !part.moved.is_empty());
        let mut numbers = spool.numbers();
        let mut inner = |edge: EdgeId| -> Result<EdgeId> {
            let moved = || self.parts.iter().rev().find_map(|part| part.moved.get(&edge.0));
            if has_moved && let Some(&place) = moved() {
                return Ok(EdgeId(place));
            }
            if edge.0 & MEMTABLE_EDGE_BIT == 0 {
                return Ok(edge);
            }
            let number = edge.0 ^ MEMTABLE_EDGE_BIT;
            if let Some(ordinal) = number.checked_sub(made) {
                return Ok(edge_id(u32::try_from(ordinal).unwrap_or(u32::MAX)));
            }
            let at = self.parts.partition_point(|part| part.first + part.made <= number);
            let part = &self.parts[at];
            match numbers.get(part.places, number - part.first)? {
                NOWHERE => Ok(edge_id(u32::MAX)),
                place => Ok(EdgeId(place)),
            }
        };
        Ok(Cow::Owned(edges.iter().map(|&edge| inner(edge)).collect::<Result<_>>()?))
    }
}

fn bytes_of(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    numbers.flat_map(u64::to_le_bytes).collect()
}

/// A cursor that gives the ids that the transaction has given out.
pub(crate) struct Aliased<'a, C: ?Sized> {
    pub(crate) inner: Box<C>,
    pub(crate) aliases: &'a Aliases,
}

impl EdgeCursor for Aliased<'_, dyn EdgeCursor + '_> {
    fn limit_batches(&mut self, rows: usize) {
        self.inner.limit_batches(rows);
    }

    fn next(&mut self, out: &mut EdgeBatch) -> Result<bool> {
        let is_some = self.inner.next(out)?;
        self.aliases.to_visible(&mut out.edges)?;
        Ok(is_some)
    }
}

impl IndexCursor for Aliased<'_, dyn IndexCursor + '_> {
    fn next(&mut self, out: &mut IndexBatch) -> Result<bool> {
        let is_some = self.inner.next(out)?;
        let mut ids: Vec<EdgeId> = out.edges.iter().map(|edge| edge.id).collect();
        self.aliases.to_visible(&mut ids)?;
        out.edges.iter_mut().zip(ids).for_each(|(edge, id)| edge.id = id);
        Ok(is_some)
    }
}

#[cfg(test)]
mod tests {
    use model::EdgeId;

    use super::Aliases;
    use crate::format::EdgePlace;
    use crate::memtable::edge_id;
    use crate::transaction::spool::Spool;
    use testing::simulation::MemoryDisk;

    fn place(partition: usize, section: usize, position: u64) -> EdgeId {
        EdgePlace { partition, section, position }.id()
    }

    #[test]
    fn edges_keep_their_ids_over_stages() {
        let disk: std::sync::Arc<dyn model::platform::Disk> = std::sync::Arc::new(MemoryDisk::new());
        disk.create_directory("/s".as_ref()).unwrap();
        let mut aliases = Aliases::default();
        let check = |aliases: &Aliases, visible: EdgeId, inner: EdgeId| {
            let mut edges = [inner];
            aliases.to_visible(&mut edges).unwrap();
            assert_eq!((edges[0], aliases.to_inner(&[visible]).unwrap()[0]), (visible, inner));
        };
        check(&aliases, edge_id(7), edge_id(7));
        aliases.spool(|| Spool::new(&disk, "/s".into())).unwrap();
        // Of four edges made the second was deleted; an edge of the files moved.
        let old = place(0, 0, 9);
        aliases.add(4, Some(3), vec![vec![edge_id(3), edge_id(0)], vec![old, edge_id(2)]]).unwrap();
        check(&aliases, edge_id(0), place(3, 0, 1));
        check(&aliases, edge_id(3), place(3, 0, 0));
        check(&aliases, edge_id(2), place(3, 1, 1));
        check(&aliases, old, place(3, 1, 0));
        check(&aliases, place(0, 0, 8), place(0, 0, 8));
        check(&aliases, edge_id(4), edge_id(0));
        assert_eq!(aliases.to_inner(&[edge_id(1)]).unwrap()[0], edge_id(u32::MAX));
        aliases.add(0, None, Vec::new()).unwrap();
        // The edge that moved moves again, and one that was made in the first stage.
        aliases.add(2, Some(5), vec![vec![place(3, 1, 0), edge_id(1), place(3, 0, 1)]]).unwrap();
        check(&aliases, old, place(5, 0, 0));
        check(&aliases, edge_id(5), place(5, 0, 1));
        check(&aliases, edge_id(0), place(5, 0, 2));
        check(&aliases, edge_id(6), edge_id(0));
        aliases.truncate(1);
        check(&aliases, edge_id(0), place(3, 0, 1));
        check(&aliases, edge_id(4), edge_id(0));
    }
}
