//! Purposes of a store's files, by kind and level, with their sizes, as `knot info` shows them.

use model::Result;

use crate::engine::NativeStore;
use crate::format::FileKind;
use crate::manifest::Manifest;

/// Files of one kind and level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayoutGroup {
    /// Content of the files: `edges, level 0`, `key index :Person(id)`.
    pub name: String,
    /// Number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of edges in them, if they hold edges.
    pub edges: Option<u64>,
}

/// All files of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The format version of the program.
    pub format_version: u16,
    /// Number of manifests that the store has had.
    pub generation: u64,
    /// By kind and level, first what is read first.
    pub groups: Vec<LayoutGroup>,
    /// Edges that the files hold, those deleted since included.
    pub edges_stored: u64,
    /// Bytes of all files of the current version, without logs.
    pub file_bytes: u64,
    /// Bytes of the logs.
    pub log_bytes: u64,
    /// Bytes of files that no longer belong to the store but to snapshots that are still held, or to merges under way.
    pub other_bytes: u64,
}

impl Layout {
    /// Adds a file to its group, made in the order of first files.
    fn add(&mut self, name: String, bytes: u64, edges: Option<u64>) {
        let at = self.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            self.groups.push(LayoutGroup { name, ..LayoutGroup::default() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        group.files += 1;
        group.bytes += bytes;
        if let Some(edges) = edges {
            *group.edges.get_or_insert(0) += edges;
        }
    }

    /// The files that a manifest names.
    fn of(manifest: &Manifest) -> Layout {
        let mut layout = Layout {
            format_version: crate::format::FORMAT_VERSION,
            generation: manifest.generation,
            file_bytes: manifest.files().map(|(_, file)| file.length).sum(),
            edges_stored: manifest.partitions.iter().map(|entry| entry.edges).sum(),
            ..Layout::default()
        };
        let mut partitions: Vec<_> = manifest.partitions.iter().collect();
        partitions.sort_by_key(|entry| entry.level);
        for entry in partitions {
            layout.add(format!("edges, level {}", entry.level), entry.topology.length, Some(entry.edges));
            if let Some(file) = entry.properties {
                layout.add(format!("edge properties, level {}", entry.level), file.length, None);
            }
            for file in &entry.patches {
                layout.add(format!("edge changes, level {}", entry.level), file.length, None);
            }
        }
        for entry in &manifest.node_runs {
            layout.add("node runs".to_owned(), entry.file.length, None);
        }
        for entry in &manifest.segments {
            layout.add("node segments".to_owned(), entry.file.length, None);
        }
        for entry in &manifest.indexes {
            let (label, key) = (manifest.schema.label_name(entry.label), manifest.schema.property_key_name(entry.key));
            layout.add(format!("key index :{label}({key})"), entry.file.length, None);
        }
        for entry in &manifest.ordered {
            let schema = &manifest.schema;
            let index =
                schema.indexes.iter().find(|index| (index.subject, &index.keys) == (entry.subject, &entry.keys));
            let name = index.map_or("index that was dropped".to_owned(), |index| format!("index {}", index.name));
            layout.add(name, entry.file.length, None);
        }
        // Kinds of files that have no line of their own above.
        let own = [FileKind::Edges, FileKind::EdgeProperties, FileKind::Patch, FileKind::NodeRun];
        let own = own.into_iter().chain([FileKind::Nodes, FileKind::Keys, FileKind::OrderedKeys]).collect::<Vec<_>>();
        for (kind, file) in manifest.files().filter(|(kind, _)| !own.contains(kind)) {
            layout.add(format!("{} files", kind.extension()), file.length, None);
        }
        layout
    }
}

impl NativeStore {
    /// Purposes and sizes of the files of the store.
    pub fn layout(&self) -> Result<Layout> {
        let version = self.version();
        let mut layout = Layout::of(version.manifest());
        let disk = &self.platform().disk;
        let names =
            disk.list(self.path()).map_err(|error| crate::error::StorageError::io("list", self.path(), error))?;
        let named: model::Set<(FileKind, u64)> =
            version.manifest().files().map(|(kind, file)| (kind, file.number)).collect();
        for name in names {
            // A file may go between the listing and here.
            let Ok(bytes) = disk.length(&self.path().join(&name)) else { continue };
            match FileKind::parse(&name) {
                Some((FileKind::Wal, _)) => layout.log_bytes += bytes,
                Some(file) if !named.contains(&file) => layout.other_bytes += bytes,
                _ => {}
            }
        }
        Ok(layout)
    }
}
