//! The cache of a source in a file, from one time that it is attached to the next.

use std::hash::BuildHasher;
use std::io::Write;
use std::path::Path;

use model::platform::Disk;
use model::{Map, Result, error};

use super::SourceStore;
use crate::cache::saved::{self, Stamp};

impl SourceStore {
    fn stamp(&self) -> Stamp {
        let definition = &self.shared.layout.definition;
        let meant = format!("{} {:?} {:?}", self.shared.connector.name(), definition.nodes, definition.edges);
        let source = Map::<String, ()>::default().hasher().hash_one(meant);
        let clock = &self.shared.environment.clock;
        Stamp { source, unix_us: clock.unix_us(), now_ns: clock.now_ns() }
    }

    /// Writes what is cached, and not too old, to a file, which is replaced; tells how many rows that are. What holds values
    /// that a file has no form for is left out.
    pub fn save(&self, disk: &dyn Disk, path: &Path) -> Result<u64> {
        let stamp = self.stamp();
        let mut pieces = self.shared.cache.pieces_since(stamp.now_ns.saturating_sub(self.age_max_ns()));
        // Of a row that was fetched twice, the later is read last.
        pieces.sort_by_key(|piece| piece.fetched_ns);
        let failed = |failure: std::io::Error| error!(File, "{}: {failure}", path.display());
        let draft = path.with_extension("draft");
        if disk.exists(&draft) {
            disk.remove(&draft).map_err(failed)?;
        }
        let mut file = disk.create(&draft).map_err(failed)?;
        let rows = saved::save(stamp, &self.shared.keys, &pieces, |section| file.write_all(section)).map_err(failed)?;
        file.flush().map_err(failed)?;
        file.sync().map_err(failed)?;
        drop(file);
        disk.rename(&draft, path).map_err(failed)?;
        Ok(rows)
    }

    /// Reads what [`SourceStore::save`] wrote, as far as it is of this source and definition and not too old; tells how many
    /// rows that are. To be called before the first view: what has been read since is not replaced.
    pub fn restore(&self, disk: &dyn Disk, path: &Path) -> Result<u64> {
        if !disk.exists(path) {
            return Ok(0);
        }
        let file = disk.map(path).map_err(|failure| error!(File, "{}: {failure}", path.display()))?;
        let layout = &self.shared.layout;
        let nodes = layout.nodes.iter().map(|kind| kind.property_count);
        let edges = layout.edges.iter().flat_map(|kind| [kind.property_count; 2]);
        let widths: Vec<usize> = nodes.chain(edges).collect();
        saved::restore(file.bytes(), self.stamp(), self.age_max_ns(), &self.shared.keys, &widths, |piece| {
            self.shared.cache.put(piece)
        })
    }

    fn age_max_ns(&self) -> u64 {
        u64::try_from(self.shared.layout.definition.cache.age_max.as_nanos()).unwrap_or(u64::MAX)
    }
}
