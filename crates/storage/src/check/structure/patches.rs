//! Invariants of the patches of a section.

use model::Result;

use super::super::Problems;
use crate::partition::LiveSection;
use crate::version::Version;

/// No edge is deleted twice, both directions know of every deletion, and all keys have names.
pub(super) fn check(live: LiveSection<'_>, version: &Version, problems: &mut Problems) -> Result<()> {
    let Some(patches) = live.patches else { return Ok(()) };
    let mut all = Vec::new();
    for layer in patches.layers() {
        let path = layer.file().path().to_owned();
        let (mut deleted, mut places, mut expected) = (Vec::new(), Vec::new(), Vec::new());
        layer.deleted(false, &mut deleted)?;
        layer.deleted(true, &mut places)?;
        for list in [&deleted, &places] {
            if !list.is_sorted_by(|a, b| a < b) || list.last().is_some_and(|&last| last >= live.section.edge_count()) {
                problems.add(&path, 0, "a list of deleted edges does not ascend within its section");
                return Ok(());
            }
        }
        for &position in &deleted {
            expected.push(live.section.in_place(position)?);
        }
        expected.sort_unstable();
        if expected != places {
            problems.add(&path, 0, "the two directions know of different deletions");
        }
        all.append(&mut deleted);
        layer.changes(|key, position, _| {
            if version.manifest().schema.property_keys.name(key.0).is_none() {
                problems.add(&path, 0, format!("property key {} has no name", key.0));
            }
            if position >= live.section.edge_count() {
                problems.add(&path, 0, format!("a property changed at {position}, behind the end of the section"));
            }
            Ok(())
        })?;
    }
    all.sort_unstable();
    if let Some(twice) = all.windows(2).find(|pair| pair[0] == pair[1]) {
        problems.add(live.section.file().path(), 0, format!("the edge at {} was deleted twice", twice[0]));
    }
    Ok(())
}
