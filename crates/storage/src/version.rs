//! A version: everything that one manifest names, opened. What a snapshot reads below its memtable.
//!
//! Invariant: a version never changes. Its files stay on the disk until the last reference to it is gone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::batch::EdgeBlock;
use model::id::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId};
use model::platform::Platform;
use model::store::EdgeStream;
use model::{Bitmap, Column, Result};

use crate::manifest::Manifest;
use crate::partition::Partition;

/// The opened files of one manifest.
#[derive(Debug)]
pub struct Version {
    directory: PathBuf,
    platform: Platform,
    manifest: Manifest,
    partitions: Vec<Arc<Partition>>,
}

impl Version {
    /// Makes an empty store in an existing directory that holds none. The caller holds the store's lock.
    pub fn create(platform: &Platform, directory: &Path) -> Result<Arc<Version>> {
        Manifest::empty(platform.random.next_u64()).write(&platform.disk, directory)?;
        Version::open(platform, directory)
    }

    /// Opens the current version of a store and removes what interrupted builds left. The caller holds the lock.
    pub fn open(platform: &Platform, directory: &Path) -> Result<Arc<Version>> {
        let manifest = Manifest::read(&platform.disk, directory)?;
        let directory = directory.to_owned();
        Ok(Arc::new(Version { directory, platform: platform.clone(), manifest, partitions: Vec::new() }))
    }

    /// The store's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The platform that it was opened with.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// What the files are; schema, statistics, node id bound and log number stand there.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// For each node, whether it exists.
    pub fn nodes_exist(&self, nodes: &[NodeId]) -> Result<Bitmap> {
        Ok(Bitmap::filled(nodes.len(), false))
    }

    /// For each node, whether it exists and carries the label.
    pub fn has_label(&self, nodes: &[NodeId], _label: LabelId) -> Result<Bitmap> {
        Ok(Bitmap::filled(nodes.len(), false))
    }

    /// For each node, its labels in order of their ids.
    pub fn node_labels(&self, nodes: &[NodeId]) -> Result<Vec<Vec<LabelId>>> {
        Ok(vec![Vec::new(); nodes.len()])
    }

    /// Replaces `words` by bitmap words: bit `i` of word `w` says that node `(first_word + w) * 64 + i` exists and
    /// carries all of the labels.
    pub fn label_words(&self, _labels: &[LabelId], _first_word: u64, count: usize, words: &mut Vec<u64>) -> Result<()> {
        words.clear();
        words.resize(count, 0);
        Ok(())
    }

    /// One column for each key: the properties of each node, null where it has none.
    pub fn node_properties(&self, nodes: &[NodeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        Ok(keys.iter().map(|_| Column::nulls(nodes.len())).collect())
    }

    /// The partitions in order of their intervals.
    pub fn partitions(&self) -> &[Arc<Partition>] {
        &self.partitions
    }

    /// The partition of the edges that end at a node, with its index; `None` while there are no edges.
    pub fn partition_of(&self, target: NodeId) -> Option<(usize, &Arc<Partition>)> {
        let index = self.partitions.partition_point(|partition| partition.interval().end <= target.0);
        self.partitions.get(index).map(|partition| (index, partition))
    }

    /// Source, target and type of a published edge; `None` if the id names none.
    pub fn edge(&self, _edge: EdgeId) -> Result<Option<(NodeId, NodeId, EdgeTypeId)>> {
        Ok(None)
    }

    /// One column for each key: the properties of each edge, null where it has none or is none of this version.
    pub fn edge_properties(&self, edges: &[EdgeId], keys: &[PropertyKeyId]) -> Result<Vec<Column>> {
        Ok(keys.iter().map(|_| Column::nulls(edges.len())).collect())
    }

    /// Streams a partition as `EdgePartitions::stream` wants it.
    pub fn stream(&self, _partition: usize, _stream: &EdgeStream) -> Result<PartitionStream<'_>> {
        Ok(PartitionStream { _version: self })
    }

    /// For each value, the node with the label whose property equals it, by the index of that constraint, compared
    /// with the node's own value; `None` for the whole if there is no such constraint.
    pub fn lookup(
        &self,
        _label: LabelId,
        _key: PropertyKeyId,
        _values: &Column,
    ) -> Result<Option<Vec<Option<NodeId>>>> {
        Ok(None)
    }

    /// Advice that the out-edges (or in-edges) of these nodes will be read soon.
    pub fn will_expand(&self, _nodes: &[NodeId]) {}
}

/// A cursor over the edges of a partition.
#[derive(Debug)]
pub struct PartitionStream<'a> {
    _version: &'a Version,
}

impl PartitionStream<'_> {
    /// Clears `block` and fills it with further edges of one type; false, with `block` empty, at the end.
    pub fn next(&mut self, block: &mut EdgeBlock) -> Result<bool> {
        block.clear();
        Ok(false)
    }
}
