//! All nodes or edges of a kind, by `SCAN`: piece by piece, without a snapshot. A key that is there from the first
//! piece to the last comes once; one that comes or goes meanwhile may be there or not.
//!
//! Cost: `SCAN` walks over all keys of the database, whatever the pattern; ids met are kept until the end, since Redis
//! may name a key twice: a bit for an integer, the string for others.

use model::{Column, Direction, Map, Result, Set, StringColumn, error};
use redis::Value as Reply;

use super::connection::{Commands, Link};
use super::fetch::{EdgeFetch, NodeFetch, resolve, unexpected};
use super::pattern::Pattern;
use super::plan::Plan;
use super::text::{Reading, TextColumn, integer};

/// Keys that the server looks at for one piece.
const SCAN_KEYS: &str = "2000";

/// The ids in the keys of some patterns, each once.
#[derive(Debug)]
pub(super) struct IdScan {
    patterns: Vec<Pattern>,
    /// Keys whose id is no integer are of something else, if the definition says that ids are integers.
    are_integers: bool,
    cursor: String,
    seen: Seen,
    ids: StringColumn,
}

/// Ids that were met.
#[derive(Debug, Default)]
struct Seen {
    /// Bits of integers, by their upper bits.
    integers: Map<i64, u64>,
    texts: Set<Box<str>>,
}

impl Seen {
    /// Adds an id; whether it is new.
    fn add(&mut self, id: &str) -> bool {
        let Some(number) = integer(id) else { return self.texts.insert(id.into()) };
        let bits = self.integers.entry(number >> 6).or_default();
        let bit = 1 << (number & 63);
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }
}

impl IdScan {
    pub(super) fn new(patterns: Vec<Pattern>, reading: Reading) -> IdScan {
        let are_integers = reading == Reading::IntegerKey;
        IdScan { patterns, are_integers, cursor: "0".into(), seen: Seen::default(), ids: StringColumn::default() }
    }

    /// Approximately `rows` further ids; `None` at the end.
    pub(super) fn next(&mut self, plan: &Plan, rows: usize, link: &mut Link) -> Result<Option<StringColumn>> {
        while self.ids.len() < rows {
            let Some(pattern) = self.patterns.first() else { break };
            let mut commands = Commands::default();
            commands.push(&["SCAN", &self.cursor, "MATCH", &pattern.glob(), "COUNT", SCAN_KEYS]);
            let replies = link.exchange(&commands)?;
            let (cursor, keys) = scan_reply(replies, link.name())?;
            for key in &keys {
                let Reply::BulkString(bytes) = key else { return Err(unexpected(link.name(), "SCAN", key)) };
                let key = std::str::from_utf8(bytes).map_err(|_| {
                    let key = String::from_utf8_lossy(bytes);
                    error!(Definition, "{}: the key '{key}' is not UTF-8", link.name())
                })?;
                if let Some(id) = plan.id_of(pattern, key)
                    && (!self.are_integers || integer(id).is_some())
                    && self.seen.add(id)
                {
                    self.ids.push(id);
                }
            }
            if cursor == "0" {
                self.patterns.remove(0);
            }
            self.cursor = cursor;
        }
        let ids = std::mem::take(&mut self.ids);
        Ok((!ids.is_empty()).then_some(ids))
    }
}

/// Cursor and keys of a reply to `SCAN`.
pub(super) fn scan_reply(replies: Vec<Reply>, source: &str) -> Result<(String, Vec<Reply>)> {
    let Some(Reply::Array(parts)) = replies.into_iter().next() else {
        return Err(error!(Source, "{source}: SCAN: expected a cursor and keys"));
    };
    let mut parts = parts.into_iter();
    match (parts.next(), parts.next()) {
        (Some(Reply::BulkString(cursor)), Some(Reply::Array(keys))) => {
            Ok((String::from_utf8_lossy(&cursor).into_owned(), keys))
        }
        (Some(reply), _) => Err(unexpected(source, "SCAN", &reply)),
        (None, _) => Err(error!(Source, "{source}: SCAN: expected a cursor and keys")),
    }
}

/// The rows that a scan brings.
#[derive(Debug)]
pub(super) enum Scanned {
    /// Nodes of a kind.
    Nodes(usize),
    /// Edges of a kind by their forward keys; seen from the target for `In`.
    Edges(usize, Direction),
}

/// Number of ids whose keys are asked for in one pipeline.
const PIECE_IDS: usize = 4_096;

/// Begins the scan of all ids.
pub(super) fn begin(plan: &Plan, scanned: &Scanned) -> IdScan {
    match scanned {
        Scanned::Nodes(kind) => {
            let node = &plan.nodes[*kind];
            IdScan::new(node.patterns().cloned().collect(), node.reading())
        }
        Scanned::Edges(kind, _) => {
            let edges = &plan.edges[*kind];
            IdScan::new(vec![edges.forward.pattern.clone()], edges.source.reading())
        }
    }
}

/// The next piece, with these properties; `None` at the end.
pub(super) fn next_piece(
    plan: &Plan,
    scanned: &Scanned,
    scan: &mut IdScan,
    properties: &[usize],
    rows: usize,
    link: &mut Link,
) -> Result<Option<Vec<Column>>> {
    let Some(ids) = scan.next(plan, rows.min(PIECE_IDS), link)? else { return Ok(None) };
    let properties = properties.to_vec();
    let mut commands = Commands::default();
    match *scanned {
        Scanned::Nodes(kind) => {
            let plan = &plan.nodes[kind];
            let keys = keys_of(&ids, plan.reading(), &plan.name, link.name())?;
            let fetch = NodeFetch { plan, ids, keys, properties };
            fetch.write(&mut commands);
            let replies = link.exchange(&commands)?;
            fetch.read(&replies, link).map(Some)
        }
        Scanned::Edges(kind, direction) => {
            let plan = &plan.edges[kind];
            resolve(&plan.forward, &ids, link)?;
            let keys = keys_of(&ids, plan.source.reading(), &plan.name, link.name())?;
            let fetch = EdgeFetch { plan, direction: Direction::Out, ids, keys, properties };
            fetch.write(&mut commands);
            let replies = link.exchange(&commands)?;
            let mut columns = fetch.read(&replies, link)?;
            if direction == Direction::In {
                columns.swap(0, 1);
            }
            Ok(Some(columns))
        }
    }
}

/// Ids as keys.
pub(super) fn keys_of(ids: &StringColumn, reading: Reading, kind: &str, source: &str) -> Result<Column> {
    let mut keys = TextColumn::new(reading);
    for id in ids.iter() {
        if !keys.push(id) {
            return Err(error!(Definition, "{source}: {kind}: the id '{id}' is not INTEGER, as the definition says"));
        }
    }
    Ok(keys.finish())
}

/// Number of edges of a kind, by the sizes of their forward keys.
pub(super) fn count_edges(plan: &Plan, kind: usize, link: &mut Link) -> Result<u64> {
    let edges = &plan.edges[kind];
    let mut scan = begin(plan, &Scanned::Edges(kind, Direction::Out));
    let mut count = 0;
    while let Some(ids) = scan.next(plan, PIECE_IDS, link)? {
        resolve(&edges.forward, &ids, link)?;
        count += sizes(plan, kind, &ids, link)?.iter().sum::<u64>();
    }
    Ok(count)
}

/// Number of edges that start at each of these nodes.
pub(super) fn sizes(plan: &Plan, kind: usize, ids: &StringColumn, link: &mut Link) -> Result<Vec<u64>> {
    use crate::definition::Structure;
    let edges = &plan.edges[kind];
    let structure = edges.forward.structure().unwrap_or(Structure::Set);
    let command = match structure {
        Structure::List => "LLEN",
        Structure::SortedSet => "ZCARD",
        Structure::Hash => "HLEN",
        _ => "SCARD",
    };
    let pattern = &edges.forward.pattern;
    let mut commands = Commands::default();
    ids.iter().for_each(|id| commands.push_key(command, [&pattern.before, id, &pattern.after], &[]));
    let replies = link.exchange(&commands)?;
    let size = |(row, reply): (usize, &Reply)| match reply {
        Reply::Int(size) => Ok(*size as u64),
        reply => {
            let expected = super::plan::structure_name(structure);
            Err(super::fetch::refused(link, command, &pattern.key(ids.get(row)), expected, reply))
        }
    };
    replies.iter().enumerate().map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::Seen;

    #[test]
    fn ids_are_new_once() {
        let mut seen = Seen::default();
        for id in ["1", "-1", "63", "64", "01", "x"] {
            assert!(seen.add(id) && !seen.add(id), "{id}");
        }
    }
}
