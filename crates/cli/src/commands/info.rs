//! `knot info`: what a store holds.

use std::io::Write;

use database::{Access, StoreInfo, StoreStats, Value};
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::arguments::InfoArguments;
use crate::failure::Outcome;

pub(super) fn run(arguments: &InfoArguments) -> Outcome<()> {
    let database = super::open(&arguments.store, Access::ReadOnly)?;
    crate::signals::cancellable(|interrupt| super::source::attach(&database, &arguments.attach, interrupt))?;
    let info = database.info()?;
    let text = if arguments.json { format!("{:#}\n", to_json(&info)) } else { full_text(&info) };
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
        "statistics": info.statistics.iter().map(|fact| json!({
            "name": fact.name, "subject": fact.subject, "value": number(&fact.value), "exact": fact.is_exact,
        })).collect::<Vec<_>>(),
        "sources": info.sources.iter().map(super::source::to_json).collect::<Vec<_>>(),
        "files": counts(&info.files.iter().map(|(name, length)| (name.as_str().into(), *length)).collect::<Vec<_>>()),
        "memtableBytes": info.memtable_bytes,
        "deadRows": info.dead_rows,
        "formatVersion": info.layout.format_version,
        "generation": info.layout.generation,
        "layout": info.layout.groups.iter().map(|group| json!({
            "name": group.name, "files": group.files, "bytes": group.bytes, "edges": group.edges,
        })).collect::<Vec<_>>(),
        "fileBytes": info.layout.file_bytes,
        "logBytes": info.layout.log_bytes,
        "otherBytes": info.layout.other_bytes,
        "edgesStored": info.layout.edges_stored,
        "memory": {
            "limit": info.memory.0, "used": info.memory.1, "peak": info.memory.2,
            "consumers": info.memory_usage.iter().map(|usage| json!({
                "name": usage.consumer.name(), "used": usage.used, "peak": usage.peak,
            })).collect::<Vec<_>>(),
        },
        "cache": {
            "bytes": info.cache.bytes, "bytesMax": info.cache.bytes_max, "uses": info.cache.uses,
            "misses": info.cache.misses, "hitRate": info.cache.hit_rate(), "bytesRead": info.cache.bytes_read,
            "evictions": info.cache.evictions,
        },
        "stats": stats_to_json(&info.stats),
    })
}

fn stats_to_json(stats: &StoreStats) -> serde_json::Value {
    json!({
        "commits": stats.commits, "conflicts": stats.conflicts, "moves": stats.moves, "groups": stats.groups,
        "largestGroup": stats.largest_group, "syncs": stats.syncs, "logBytes": stats.log_bytes,
        "stalls": stats.stalls, "stallNs": stats.stall_ns, "flushes": stats.flushes, "flushNs": stats.flush_ns,
        "compactions": stats.compactions, "compactionNs": stats.compaction_ns,
        "flushedBytes": stats.flushed_bytes, "patchBytes": stats.patch_bytes, "levelBytes": stats.level_bytes,
        "mergeStalls": stats.merge_stalls, "mergeStallNs": stats.merge_stall_ns,
        "writeAmplification": stats.write_amplification(),
    })
}

fn number(value: &Value) -> serde_json::Value {
    match value {
        Value::Int(number) => json!(number),
        Value::Float(number) => json!(number),
        _ => serde_json::Value::Null,
    }
}

/// Lines of sketches that are shown; all are in the JSON form and in `db.statistics()`.
const SKETCHES_SHOWN: usize = 24;

/// Estimates of the planner, beyond the exact counts.
fn sketches_text(info: &StoreInfo) -> String {
    let sketched: Vec<_> = info.statistics.iter().filter(|fact| !fact.is_exact).collect();
    if sketched.is_empty() {
        return String::new();
    }
    let row = |fact: &&database::statistics::Statistic| {
        vec![format!("{} {}", fact.name, fact.subject), number(&fact.value).to_string()]
    };
    let rows: Vec<Vec<String>> = sketched.iter().take(SKETCHES_SHOWN).map(row).collect();
    let mut text = format!("estimates for the planner\n{}", table(&rows));
    if sketched.len() > SKETCHES_SHOWN {
        text += &format!("  and {} more: CALL db.statistics()\n", sketched.len() - SKETCHES_SHOWN);
    }
    text
}

/// All that is known of a store: what it holds, its files, and what it did since it was opened. Also the shell's `:info`.
pub(crate) fn full_text(info: &StoreInfo) -> String {
    to_text(info) + &sketches_text(info) + &layout_text(info) + &activity_text(info)
}

/// A table of two or more columns, the first left, the others right aligned.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = format!("  {:<width$}", row[0], width = widths[0]);
        row.iter().enumerate().skip(1).for_each(|(at, cell)| line += &format!("  {cell:>width$}", width = widths[at]));
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn layout_text(info: &StoreInfo) -> String {
    let layout = &info.layout;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for group in &layout.groups {
        let plural = if group.files == 1 { "file" } else { "files" };
        let files = format!("{} {plural}", HumanCount(group.files));
        let edges = group.edges.map_or_else(String::new, |edges| format!("{} edges", HumanCount(edges)));
        rows.push(vec![group.name.clone(), files, HumanBytes(group.bytes).to_string(), edges]);
    }
    for (name, bytes) in [("logs", layout.log_bytes), ("snapshots and merges", layout.other_bytes)] {
        if bytes > 0 {
            rows.push(vec![name.to_owned(), String::new(), HumanBytes(bytes).to_string()]);
        }
    }
    let mut text =
        format!("files (format {}, manifest {})\n{}", layout.format_version, layout.generation, table(&rows));
    if info.edges > 0 && layout.edges_stored > 0 {
        let per_edge = layout.file_bytes as f64 / info.edges as f64;
        let amplification = layout.edges_stored as f64 / info.edges as f64;
        text += &format!(
            "  {per_edge:.1} bytes an edge, nodes and all; {amplification:.2} edges in files for each that is there\n"
        );
    }
    text
}

/// Activity of the store since it was opened; empty if there was none.
fn activity_text(info: &StoreInfo) -> String {
    let mut rows = vec![vec!["limit".to_owned(), HumanBytes(info.memory.0 as u64).to_string()]];
    rows.push(vec!["held".to_owned(), HumanBytes(info.memory.1 as u64).to_string()]);
    for usage in info.memory_usage.iter().filter(|usage| usage.peak > 0) {
        rows.push(vec![format!("- {}", usage.consumer.name()), HumanBytes(usage.used as u64).to_string()]);
    }
    let mut text = format!("memory\n{}", table(&rows));
    let (cache, stats) = (&info.cache, &info.stats);
    if cache.uses > 0 {
        text += &format!(
            "  {:.2} % of {} uses of blocks found them in memory; {} read, {} blocks given back\n",
            100.0 * cache.hit_rate(),
            HumanCount(cache.uses),
            HumanBytes(cache.bytes_read),
            HumanCount(cache.evictions),
        );
    }
    if stats.commits == 0 {
        return text;
    }
    let seconds = |ns: u64| format!("{:.1} s", ns as f64 / 1e9);
    let rows = [
        ("commits", stats.commits, String::new()),
        ("conflicts", stats.conflicts, String::new()),
        ("writes to the log", stats.groups, format!("{}, {} syncs", HumanBytes(stats.log_bytes), stats.syncs)),
        ("waits for merges", stats.stalls, seconds(stats.stall_ns)),
        ("waits for level 0", stats.merge_stalls, seconds(stats.merge_stall_ns)),
        (
            "merges into files",
            stats.flushes,
            format!("{}, {} of edges", seconds(stats.flush_ns), HumanBytes(stats.flushed_bytes)),
        ),
        ("merges of files", stats.compactions, seconds(stats.compaction_ns)),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, count, more)| vec![name.to_owned(), HumanCount(count).to_string(), more])
        .collect();
    let amplification = stats.write_amplification();
    text += &format!("since it was opened\n{}", table(&rows));
    text + &format!("  {amplification:.2} bytes of edge files written for each that was merged from memory\n")
}

/// The schema and the counts, as people read them. Also the shell's `:schema`.
pub(crate) fn to_text(info: &StoreInfo) -> String {
    let bytes: u64 = info.files.iter().map(|(_, length)| length).sum();
    let mut text =
        format!("{}\n  {} nodes, {} edges", info.path.display(), HumanCount(info.nodes), HumanCount(info.edges));
    // Of a graph in another process the files are not known.
    if !info.files.is_empty() {
        let (bytes, unmerged) = (HumanBytes(bytes), HumanBytes(info.memtable_bytes as u64));
        text += &format!(", {bytes} in {} files, {unmerged} not yet merged", info.files.len());
    }
    if let Some(rows) = info.dead_rows {
        text += &format!(", {} dead rows", HumanCount(rows));
    }
    text.push('\n');
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
    list("sources", info.sources.iter().flat_map(super::source::lines).collect());
    text
}
