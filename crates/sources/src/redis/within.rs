//! Nodes within a few edges of others, found by a script in the server, with what is asked of them: one round trip.

use model::{Column, Direction, Map, Result, StringColumn, error};
use redis::Value as Reply;
use serde_json::json;

use super::connection::{Commands, Link};
use super::fetch::{EdgeFetch, NodeFetch, adjacency_of, unexpected};
use super::plan::{NodePlace, Plan, adjacency_structure, structure_name};
use super::text::key_text;
use crate::connector::Which;
use crate::definition::Structure;

/// Breadth first from the starts, then the commands of each output for all nodes of its kind that were met. Errors of
/// single commands stand among the replies, as they do in a pipeline.
const SCRIPT: &str = r"
local ask = cjson.decode(ARGV[1])
local call, pcall = redis.call, redis.pcall
local seen, met, frontier, count = {}, {}, {}, 0
local function meet(kind, id, to)
  local known = seen[kind]
  if not known then known = {}; seen[kind] = known; met[kind] = {} end
  if known[id] then return end
  known[id] = true
  local order = met[kind]
  order[#order + 1] = id
  local next = to[kind]
  if not next then next = {}; to[kind] = next end
  next[#next + 1] = id
  count = count + 1
end
for _, start in ipairs(ask.starts) do
  for _, id in ipairs(start[2]) do meet(start[1], id, frontier) end
end
for _ = 1, ask.depth do
  if count >= ask.limit then break end
  local reached = {}
  for _, way in ipairs(ask.along) do
    local kind, far, before, after, structure = way[1], way[2], way[3], way[4], way[5]
    for _, id in ipairs(frontier[kind] or {}) do
      if count >= ask.limit then break end
      local key, found = before .. id .. after, structure
      if found == '?' then found = call('TYPE', key).ok end
      local members
      if found == 'set' then members = pcall('SMEMBERS', key)
      elseif found == 'list' then members = pcall('LRANGE', key, 0, -1)
      elseif found == 'zset' then members = pcall('ZRANGE', key, 0, -1)
      elseif found == 'hash' then members = pcall('HKEYS', key)
      else members = {} end
      if members.err then return {key, members} end
      for _, member in ipairs(members) do meet(far, member, reached) end
    end
  end
  frontier = reached
end
local replies = {}
for at, output in ipairs(ask.outputs) do
  local ids, all, first = met[output.kind] or {}, {}, ''
  for _, id in ipairs(ids) do
    for _, command in ipairs(output.commands) do
      local reply
      if command.keys then
        local keys = {}
        for i, key in ipairs(command.keys) do keys[i] = key[1] .. id .. key[2] end
        reply = pcall(command.name, unpack(keys))
      else
        local key, name, rest = command.before .. id .. command.after, command.name, command.rest
        if command.any then
          local found = call('TYPE', key).ok
          if found ~= 'none' and first == '' then first = found end
          if found ~= 'none' and command.any[first] then
            name, rest = command.any[first][1], command.any[first][2]
          end
        end
        reply = pcall(name, key, unpack(rest))
      end
      all[#all + 1] = reply
    end
  end
  replies[3 * at - 2], replies[3 * at - 1], replies[3 * at] = ids, all, first
end
return replies
";

/// The request about the nodes that are found.
#[derive(Clone, Debug)]
pub(super) enum Output {
    /// Those of a kind, with properties.
    Nodes(usize, Vec<usize>),
    /// Edges of a kind at them, with properties.
    Edges(usize, Direction, Vec<usize>),
}

/// Asks for what lies within reach; for each output its columns.
pub(super) fn within(plan: &Plan, which: &Which<'_>, outputs: &[Output], link: &mut Link) -> Result<Vec<Vec<Column>>> {
    let Which::Within { starts, along, depth, limit } = which else {
        return Err(error!(Internal, "a script was asked for what needs none"));
    };
    let mut ask_starts = Vec::new();
    for (kind, keys) in *starts {
        let texts = keys.values().filter_map(|key| key_text(&key, plan.nodes[*kind].key_kind));
        ask_starts.push(json!([kind, texts.collect::<Vec<_>>()]));
    }
    let along = along.iter().map(|way| way_of(plan, *way)).collect::<Result<Vec<_>>>()?;
    let along: Vec<_> = along.into_iter().flatten().collect();
    let written: Vec<_> = outputs.iter().map(|output| output_of(plan, output)).collect();
    let ask = json!({
        "starts": ask_starts, "along": along, "depth": depth, "limit": limit, "outputs": written,
    });
    let mut commands = Commands::default();
    commands.push(&["EVAL", SCRIPT, "0", &ask.to_string()]);
    let mut replies = link.exchange(&commands).map_err(|failure| failure.within("lookahead"))?;
    let parts = match replies.pop() {
        Some(Reply::Array(parts)) if parts.len() == 3 * outputs.len() => parts,
        Some(Reply::Array(parts)) => match parts.as_slice() {
            [Reply::BulkString(key), failure] => {
                let key = String::from_utf8_lossy(key);
                return Err(super::fetch::refused(link, "lookahead", &key, "hash, set, list or zset", failure));
            }
            _ => return Err(unexpected(link.name(), "EVAL", &Reply::Array(parts))),
        },
        Some(reply) => return Err(unexpected(link.name(), "EVAL", &reply)),
        None => return Err(error!(Internal, "a script had no reply")),
    };
    let mut parts = parts.into_iter();
    let mut answers = Vec::new();
    for output in outputs {
        let next = (parts.next(), parts.next(), parts.next());
        let (Some(Reply::Array(ids)), Some(Reply::Array(replies)), Some(Reply::BulkString(first))) = next else {
            return Err(error!(Source, "{}: EVAL: expected ids and replies", link.name()));
        };
        if let (Output::Edges(kind, direction, _), Ok(first)) = (output, std::str::from_utf8(&first))
            && let Some(structure) = adjacency_structure(first)
        {
            adjacency_of(&plan.edges[*kind], *direction).find(structure);
        }
        answers.push(columns_of(plan, output, texts(&ids, link)?, &replies, link)?);
    }
    Ok(answers)
}

/// Ids that a script gives.
pub(super) fn texts(ids: &[Reply], link: &Link) -> Result<StringColumn> {
    let mut texts = StringColumn::default();
    for id in ids {
        let Reply::BulkString(bytes) = id else { return Err(unexpected(link.name(), "EVAL", id)) };
        let text = std::str::from_utf8(bytes);
        texts.push(text.map_err(|_| error!(Definition, "{}: an id is not UTF-8", link.name()))?);
    }
    Ok(texts)
}

/// A way as the script takes it: near kind, far kind, key, structure. `None` where it leads out of this source.
fn way_of(plan: &Plan, (kind, direction): (usize, Direction)) -> Result<Option<serde_json::Value>> {
    let edges = &plan.edges[kind];
    if direction == Direction::In && edges.reverse.is_none() {
        return Err(error!(Definition, "{}: no keys lead from its targets to its sources", edges.name)
            .with_remedy("give the pattern of the reverse keys, or follow the edges in their direction"));
    }
    let adjacency = adjacency_of(edges, direction);
    let (near, far) = match direction {
        Direction::In => (edges.target.kind, edges.source.kind),
        _ => (edges.source.kind, edges.target.kind),
    };
    let structure = adjacency.structure().map_or("?", structure_name);
    let pattern = &adjacency.pattern;
    Ok(near.zip(far).map(|(near, far)| json!([near, far, pattern.before, pattern.after, structure])))
}

pub(super) fn output_of(plan: &Plan, output: &Output) -> serde_json::Value {
    match output {
        Output::Nodes(kind, properties) => {
            let plan = &plan.nodes[*kind];
            let fields: Vec<&str> = properties
                .iter()
                .filter(|&&p| !plan.properties[p].is_key)
                .map(|&p| plan.properties[p].field.as_str())
                .collect();
            let commands = match &plan.place {
                NodePlace::Hash(at) if fields.is_empty() => vec![command("TYPE", &at.before, &at.after, &[])],
                NodePlace::Hash(at) => vec![command("HMGET", &at.before, &at.after, &fields)],
                NodePlace::Flat(patterns) if fields.is_empty() => {
                    let keys: Vec<_> = patterns.iter().flatten().map(|at| json!([at.before, at.after])).collect();
                    vec![json!({"name": "EXISTS", "keys": keys})]
                }
                NodePlace::Flat(patterns) => {
                    let asked = properties.iter().filter_map(|&p| patterns[p].as_ref());
                    asked.map(|at| command("GET", &at.before, &at.after, &[])).collect()
                }
            };
            json!({"kind": kind, "commands": commands})
        }
        Output::Edges(kind, direction, properties) => {
            let edges = &plan.edges[*kind];
            let at = &adjacency_of(edges, *direction).pattern;
            let near = if *direction == Direction::In { &edges.target } else { &edges.source };
            let fetch = edge_fetch(plan, *kind, *direction, properties, StringColumn::default(), Column::nulls(0));
            let (name, rest) = fetch.command(fetch.structure());
            let mut command = command(name, &at.before, &at.after, rest);
            if fetch.structure() == Structure::Any {
                // The script determines the structure at its first look.
                let known = [Structure::Set, Structure::List, Structure::SortedSet, Structure::Hash];
                let any = known.map(|known| (structure_name(known).to_owned(), json!(fetch.command(known))));
                command["any"] = serde_json::Value::Object(any.into_iter().collect());
            }
            json!({"kind": near.kind, "commands": [command]})
        }
    }
}

fn command(name: &str, before: &str, after: &str, rest: &[&str]) -> serde_json::Value {
    json!({"name": name, "before": before, "after": after, "rest": rest})
}

fn edge_fetch<'a>(
    plan: &'a Plan,
    kind: usize,
    direction: Direction,
    properties: &[usize],
    ids: StringColumn,
    keys: Column,
) -> EdgeFetch<'a> {
    EdgeFetch { plan: &plan.edges[kind], direction, ids, keys, properties: properties.to_vec() }
}

pub(super) fn columns_of(
    plan: &Plan,
    output: &Output,
    ids: StringColumn,
    replies: &[Reply],
    link: &mut Link,
) -> Result<Vec<Column>> {
    match output {
        Output::Nodes(kind, properties) => {
            let plan = &plan.nodes[*kind];
            let keys = super::scan::keys_of(&ids, plan.reading(), &plan.name, link.name())?;
            NodeFetch { plan, ids, keys, properties: properties.clone() }.read(replies, link)
        }
        Output::Edges(kind, direction, properties) => {
            let edges = &plan.edges[*kind];
            let near = if *direction == Direction::In { &edges.target } else { &edges.source };
            let keys = super::scan::keys_of(&ids, near.reading(), &edges.name, link.name())?;
            edge_fetch(plan, *kind, *direction, properties, ids, keys).read(replies, link)
        }
    }
}

/// Questions about the same nodes within reach, which one script answers: their numbers, by the first of them.
pub(super) fn grouped<'q>(questions: impl Iterator<Item = (usize, &'q Which<'q>)>) -> Vec<(&'q Which<'q>, Vec<usize>)> {
    let mut groups: Vec<(&Which<'_>, Vec<usize>)> = Vec::new();
    let mut by_place: Map<(usize, usize, u32, u64), usize> = Map::default();
    for (number, which) in questions {
        let Which::Within { starts, along, depth, limit } = which else { continue };
        let key = (starts.as_ptr() as usize, along.as_ptr() as usize, *depth, *limit);
        let group = *by_place.entry(key).or_insert_with(|| {
            groups.push((which, Vec::new()));
            groups.len() - 1
        });
        groups[group].1.push(number);
    }
    groups
}
