//! Labels, types and properties that a file names have names in the schema: a file of another store, or one that was
//! written wrongly, is told when it is opened, and not where a name is looked for.

use model::schema::Names;
use model::{PropertyKeyId, Result, Schema};

use crate::file::StoreFile;
use crate::node_run::NodeRun;
use crate::partition::Partition;
use crate::segment::Segment;

/// Bytes that a name takes besides its text: its places in the list and in the table of numbers.
const NAME_BYTES: usize = 64;

/// Estimated bytes of the names of a schema.
pub(super) fn bytes(schema: &Schema) -> usize {
    let all = [&schema.labels, &schema.edge_types, &schema.property_keys];
    all.iter().flat_map(|names| names.iter()).map(|name| NAME_BYTES + name.len()).sum()
}

/// Fails unless a segment names only what the schema has.
pub(super) fn check_segment(schema: &Schema, segment: &Segment) -> Result<()> {
    let file = segment.file();
    segment.labels().iter().try_for_each(|label| is_in("label", &schema.labels, label.label.0, file))?;
    segment.columns().iter().try_for_each(|(key, _)| is_key(schema, *key, file))
}

/// Fails unless a node run names only what the schema has.
pub(super) fn check_run(schema: &Schema, run: &NodeRun) -> Result<()> {
    let labels = run.sets().iter().flat_map(|set| set.iter());
    labels.into_iter().try_for_each(|label| is_in("label", &schema.labels, label.0, run.file()))?;
    run.keys().iter().try_for_each(|key| is_key(schema, key.key, run.file()))
}

/// Fails unless a partition and its patches name only what the schema has.
pub(super) fn check_partition(schema: &Schema, partition: &Partition) -> Result<()> {
    for section in partition.sections() {
        is_in("edge type", &schema.edge_types, section.edge_type().0, section.file())?;
        section.columns().iter().try_for_each(|(key, column)| is_key(schema, *key, column.file()))?;
        section.sort_keys().iter().try_for_each(|&key| is_key(schema, key, section.file()))?;
    }
    for patch in partition.patches() {
        for (_, section) in patch.sections() {
            section.keys().try_for_each(|key| is_key(schema, key, patch.file()))?;
        }
    }
    Ok(())
}

fn is_key(schema: &Schema, key: PropertyKeyId, file: &StoreFile) -> Result<()> {
    is_in("property key", &schema.property_keys, key.0, file)
}

fn is_in(what: &str, names: &Names, number: u32, file: &StoreFile) -> Result<()> {
    match names.name(number) {
        Some(_) => Ok(()),
        None => Err(file.damage(0, format!("{what} {number} has no name"))),
    }
}
