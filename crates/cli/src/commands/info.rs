//! `knot info`: what a store holds.

use std::io::Write;

use database::{Access, StoreInfo};
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::arguments::InfoArguments;
use crate::failure::Outcome;

pub(super) fn run(arguments: &InfoArguments) -> Outcome<()> {
    let info = super::open(&arguments.store, Access::ReadOnly)?.info()?;
    let text = if arguments.json { format!("{:#}\n", to_json(&info)) } else { to_text(&info) };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

fn to_json(info: &StoreInfo) -> serde_json::Value {
    let counts = |list: &[(std::sync::Arc<str>, u64)]| -> serde_json::Map<String, serde_json::Value> {
        list.iter().map(|(name, count)| (name.to_string(), json!(count))).collect()
    };
    json!({
        "path": info.path.display().to_string(),
        "nodes": info.nodes,
        "edges": info.edges,
        "labels": counts(&info.labels),
        "edgeTypes": counts(&info.edge_types),
        "propertyKeys": info.property_keys.iter().map(|key| key.to_string()).collect::<Vec<_>>(),
        "constraints": info.constraints,
        "indexes": info.indexes,
        "files": counts(&info.files.iter().map(|(name, length)| (name.as_str().into(), *length)).collect::<Vec<_>>()),
        "memtableBytes": info.memtable_bytes,
    })
}

/// The schema and the counts, as people read them. Also the shell's `:schema`.
pub(crate) fn to_text(info: &StoreInfo) -> String {
    let bytes: u64 = info.files.iter().map(|(_, length)| length).sum();
    let mut text = format!(
        "{}\n  {} nodes, {} edges, {} in {} files, {} not yet merged\n",
        info.path.display(),
        HumanCount(info.nodes),
        HumanCount(info.edges),
        HumanBytes(bytes),
        info.files.len(),
        HumanBytes(info.memtable_bytes as u64),
    );
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text += &format!("{title}\n");
            lines.iter().for_each(|line| text += &format!("  {line}\n"));
        }
    };
    let counted = |(name, count): &(std::sync::Arc<str>, u64)| format!("{name}  {}", HumanCount(*count));
    list("labels", info.labels.iter().map(counted).collect());
    list("edge types", info.edge_types.iter().map(counted).collect());
    list("property keys", info.property_keys.iter().map(|key| key.to_string()).collect());
    list("constraints", info.constraints.clone());
    list("indexes", info.indexes.clone());
    text
}
