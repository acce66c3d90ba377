//! Approximate number of keys of each pattern, estimated from a piece of the key space.

use model::{Result, StringColumn};
use redis::Value as Reply;

use super::connection::{Commands, Link};
use super::fetch::resolve;
use super::plan::Plan;
use super::scan::{scan_reply, sizes};
use crate::connector::{Facts, KindFacts};

/// Keys that are looked at; Redis gives them in the order of their hashes, so that they stand for all.
const SAMPLE_KEYS: &str = "4000";
/// Nodes whose edges are counted.
const SAMPLE_NODES: usize = 64;

/// Sizes by a sample, and what the keys say of indexes.
pub(super) fn facts(plan: &Plan, link: &mut Link) -> Result<Facts> {
    let mut commands = Commands::default();
    commands.push(&["DBSIZE"]);
    commands.push(&["SCAN", "0", "COUNT", SAMPLE_KEYS]);
    let mut replies = link.exchange(&commands)?;
    let scanned = replies.split_off(1);
    let size = match replies.first() {
        Some(Reply::Int(size)) => *size as f64,
        _ => 0.0,
    };
    let (_, keys) = scan_reply(scanned, link.name())?;
    let keys: Vec<&str> = keys.iter().filter_map(text_of).collect();
    let scale = if keys.is_empty() { 0.0 } else { size / keys.len() as f64 };
    let mut facts = Facts::default();
    for node in &plan.nodes {
        // Of flat keys, the property that most nodes have tells how many there are.
        let found = |pattern| keys.iter().filter(|key| plan.id_of(pattern, key).is_some()).count();
        let rows = node.patterns().map(found).max().unwrap_or(0) as f64 * scale;
        let unique = (0..node.properties.len()).filter(|&p| node.properties[p].is_key).collect::<Vec<_>>();
        let indexed = unique.iter().map(|&property| vec![property]).collect();
        facts.nodes.push(KindFacts { rows: rows.round() as u64, indexed, unique, ..KindFacts::default() });
    }
    for (kind, edges) in plan.edges.iter().enumerate() {
        let pattern = &edges.forward.pattern;
        let ids: Vec<&str> = keys.iter().filter_map(|key| plan.id_of(pattern, key)).collect();
        let some: StringColumn = ids.iter().take(SAMPLE_NODES).copied().collect();
        // A key of the wrong type is an error when it is read; here it only says nothing.
        let known = resolve(&edges.forward, &some, link).and_then(|()| sizes(plan, kind, &some, link));
        let known = known.unwrap_or_default();
        let mean = known.iter().sum::<u64>() as f64 / known.len().max(1) as f64;
        let rows = (ids.len() as f64 * scale * mean).round() as u64;
        let by_end = (true, edges.reverse.is_some());
        facts.edges.push(KindFacts { rows, by_end, ends_exist: (false, false), ..KindFacts::default() });
    }
    Ok(facts)
}

fn text_of(reply: &Reply) -> Option<&str> {
    match reply {
        Reply::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}
