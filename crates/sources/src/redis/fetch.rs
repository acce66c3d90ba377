//! Nodes and edges of given ids: the commands that fetch them, and what their replies say.

use model::{Column, Direction, Error, Result, StringColumn, error};
use redis::Value as Reply;

use super::connection::{Commands, Link, is_refusal, not_let_in};
use super::packed::Packed;
use super::plan::{Adjacency, EdgePlace, EdgePlan, EndPlan, NodePlace, NodePlan, adjacency_structure, structure_name};
use super::text::{Reading, TextColumn};
use crate::definition::Structure;

/// Nodes of a kind by their ids.
pub(super) struct NodeFetch<'a> {
    pub(super) plan: &'a NodePlan,
    pub(super) ids: StringColumn,
    /// The keys, a value for each id.
    pub(super) keys: Column,
    pub(super) properties: Vec<usize>,
}

impl NodeFetch<'_> {
    /// The fields to fetch: properties that do not show the key.
    fn fields(&self) -> Vec<usize> {
        self.properties.iter().copied().filter(|&p| !self.plan.properties[p].is_key).collect()
    }

    /// Adds the commands that fetch the nodes.
    pub(super) fn write(&self, commands: &mut Commands) {
        let fields = self.fields();
        if fields.is_empty() {
            return (0..self.ids.len()).for_each(|row| self.write_doubt(row, commands));
        }
        match &self.plan.place {
            NodePlace::Hash(pattern) => {
                let names: Vec<&str> = fields.iter().map(|&p| self.plan.properties[p].field.as_str()).collect();
                for id in self.ids.iter() {
                    commands.push_key("HMGET", [&pattern.before, id, &pattern.after], &names);
                }
            }
            NodePlace::Flat(patterns) => {
                for id in self.ids.iter() {
                    for pattern in fields.iter().filter_map(|&p| patterns[p].as_ref()) {
                        commands.push_key("GET", [&pattern.before, id, &pattern.after], &[]);
                    }
                }
            }
        }
    }

    /// Number of replies that [`NodeFetch::write`] asks for.
    pub(super) fn replies(&self) -> usize {
        let fields = self.fields().len();
        match self.plan.place {
            NodePlace::Flat(_) if fields > 0 => self.ids.len() * fields,
            _ => self.ids.len(),
        }
    }

    /// Adds the command that tells whether a node is there.
    fn write_doubt(&self, row: usize, commands: &mut Commands) {
        let id = self.ids.get(row);
        match &self.plan.place {
            NodePlace::Hash(pattern) => commands.push_key("TYPE", [&pattern.before, id, &pattern.after], &[]),
            NodePlace::Flat(patterns) => {
                let keys: Vec<String> = patterns.iter().flatten().map(|pattern| pattern.key(id)).collect();
                let arguments: Vec<&str> = std::iter::once("EXISTS").chain(keys.iter().map(String::as_str)).collect();
                commands.push(&arguments);
            }
        }
    }

    /// The columns of the answer: key and properties of the nodes that are there. Nodes none of whose fields are there are
    /// asked for once more, all in one round trip.
    pub(super) fn read(&self, replies: &[Reply], link: &mut Link) -> Result<Vec<Column>> {
        let fields = self.fields();
        let mut columns = self.columns(&fields);
        let mut doubts: Vec<u32> = Vec::new();
        if fields.is_empty() {
            doubts.extend(0..self.ids.len() as u32);
        } else {
            let is_flat = matches!(self.plan.place, NodePlace::Flat(_));
            for row in 0..self.ids.len() {
                let values = match (is_flat, &replies[if is_flat { row * fields.len() } else { row }]) {
                    (true, _) => &replies[row * fields.len()..(row + 1) * fields.len()],
                    (false, Reply::Array(values)) => values.as_slice(),
                    (false, reply) => return Err(self.refused(link, row, fields[0], reply)),
                };
                for (value, &property) in values.iter().zip(&fields) {
                    if bytes_of(value).is_none() && !matches!(value, Reply::Nil) {
                        return Err(self.refused(link, row, property, value));
                    }
                }
                if self.read_row(row, &fields, values.iter().map(bytes_of), &mut columns, link)? {
                    doubts.push(row as u32);
                }
            }
        }
        let known = if fields.is_empty() { Some(replies) } else { None };
        self.answer(columns, &doubts, known, link)
    }

    /// The same from what a script packed: for each node its id, and the values of the fields.
    pub(super) fn read_packed(&self, mut packed: Packed<'_>, link: &mut Link) -> Result<Vec<Column>> {
        let fields = self.fields();
        let mut columns = self.columns(&fields);
        let (mut doubts, mut values) = (Vec::new(), Vec::with_capacity(fields.len()));
        for row in 0..self.ids.len() {
            packed.piece();
            values.clear();
            values.extend(fields.iter().map(|_| packed.value()));
            if self.read_row(row, &fields, values.iter().copied(), &mut columns, link)? {
                doubts.push(row as u32);
            }
        }
        self.answer(columns, &doubts, None, link)
    }

    fn columns(&self, fields: &[usize]) -> Vec<TextColumn> {
        fields.iter().map(|&p| TextColumn::new(self.plan.properties[p].reading)).collect()
    }

    /// The answer, without the nodes among those in doubt that are not there.
    fn answer(
        &self,
        columns: Vec<TextColumn>,
        doubts: &[u32],
        known: Option<&[Reply]>,
        link: &mut Link,
    ) -> Result<Vec<Column>> {
        let absent = self.absent(doubts, known, link)?;
        let mut columns = columns.into_iter().map(TextColumn::finish);
        let mut answer = vec![self.keys.clone()];
        for &property in &self.properties {
            let shows_key = self.plan.properties[property].is_key;
            answer.push(if shows_key { self.keys.clone() } else { columns.next().unwrap_or(Column::nulls(0)) });
        }
        if !absent.is_empty() {
            let mut absent = absent.into_iter().peekable();
            let there: Vec<u32> = (0..self.ids.len() as u32).filter(|&row| absent.next_if_eq(&row).is_none()).collect();
            answer = answer.iter().map(|column| column.gather(&there)).collect();
        }
        Ok(answer)
    }

    /// Adds a row to each column; whether all are null.
    fn read_row<'v>(
        &self,
        row: usize,
        fields: &[usize],
        values: impl Iterator<Item = Option<&'v [u8]>>,
        columns: &mut [TextColumn],
        link: &Link,
    ) -> Result<bool> {
        let mut all_null = true;
        for ((value, column), &property) in values.zip(columns).zip(fields) {
            let Some(bytes) = value else {
                column.push_null();
                continue;
            };
            all_null = false;
            let text = std::str::from_utf8(bytes);
            if !text.is_ok_and(|text| column.push(text)) {
                let plan = &self.plan.properties[property];
                let place = match &self.plan.place {
                    NodePlace::Hash(_) => format!("key '{}', field '{}'", self.key(row, property), plan.field),
                    NodePlace::Flat(_) => format!("key '{}'", self.key(row, property)),
                };
                return Err(does_not_convert(link.name(), &place, bytes, column_kind(plan.reading)));
            }
        }
        Ok(all_null)
    }

    /// The rows, of those in doubt, whose nodes are not there.
    fn absent(&self, doubts: &[u32], known: Option<&[Reply]>, link: &mut Link) -> Result<Vec<u32>> {
        let fetched;
        let replies = match known {
            Some(replies) => replies,
            None if doubts.is_empty() => return Ok(Vec::new()),
            None => {
                let mut commands = Commands::default();
                doubts.iter().for_each(|&row| self.write_doubt(row as usize, &mut commands));
                fetched = link.exchange(&commands)?;
                &fetched
            }
        };
        let mut absent = Vec::new();
        for (&row, reply) in doubts.iter().zip(replies) {
            let is_there = match (reply, &self.plan.place) {
                (Reply::SimpleString(found), _) if found == "none" => false,
                (Reply::SimpleString(found), NodePlace::Hash(_)) if found == "hash" => true,
                (Reply::SimpleString(found), NodePlace::Hash(_)) => {
                    return Err(wrong_type(link.name(), &self.key(row as usize, 0), found, "hash"));
                }
                (Reply::Int(count), _) => *count > 0,
                (reply, _) => return Err(unexpected(link.name(), "TYPE", reply)),
            };
            if !is_there {
                absent.push(row);
            }
        }
        Ok(absent)
    }

    fn key(&self, row: usize, property: usize) -> String {
        let id = self.ids.get(row);
        match &self.plan.place {
            NodePlace::Hash(pattern) => pattern.key(id),
            NodePlace::Flat(patterns) => {
                patterns[property].as_ref().map_or_else(String::new, |pattern| pattern.key(id))
            }
        }
    }

    fn refused(&self, link: &mut Link, row: usize, property: usize, reply: &Reply) -> Error {
        let (command, expected) = match self.plan.place {
            NodePlace::Hash(_) => ("HMGET", "hash"),
            NodePlace::Flat(_) => ("GET", "string"),
        };
        refused(link, command, &self.key(row, property), expected, reply)
    }
}

/// Edges of a kind at near nodes given by their ids.
pub(super) struct EdgeFetch<'a> {
    pub(super) plan: &'a EdgePlan,
    pub(super) direction: Direction,
    /// Ids of near nodes.
    pub(super) ids: StringColumn,
    /// Their keys, a value for each id.
    pub(super) keys: Column,
    pub(super) properties: Vec<usize>,
}

/// Far ends as they are read from replies.
struct Found {
    /// For each edge the row of its near node.
    near: Vec<u32>,
    far: TextColumn,
    /// The strings of the far ends, where they are needed for further commands.
    far_ids: Option<StringColumn>,
    scores: Option<TextColumn>,
}

impl EdgeFetch<'_> {
    fn adjacency(&self) -> &Adjacency {
        adjacency_of(self.plan, self.direction)
    }

    fn score(&self) -> Option<usize> {
        self.properties.iter().copied().find(|&p| self.plan.properties[p].place == EdgePlace::Score)
    }

    /// True if the scores stand beside the far ends, rather than only in the keys of the other direction.
    fn brings_scores(&self, structure: Structure) -> bool {
        self.score().is_some() && matches!(structure, Structure::SortedSet | Structure::Hash)
    }

    /// The command that fetches the far ends.
    pub(super) fn command(&self, structure: Structure) -> (&'static str, &'static [&'static str]) {
        match (structure, self.brings_scores(structure)) {
            (Structure::Set, _) => ("SMEMBERS", &[]),
            (Structure::List, _) => ("LRANGE", &["0", "-1"]),
            (Structure::SortedSet, true) => ("ZRANGE", &["0", "-1", "WITHSCORES"]),
            (Structure::SortedSet, false) => ("ZRANGE", &["0", "-1"]),
            (Structure::Hash, true) => ("HGETALL", &[]),
            (Structure::Hash, false) => ("HKEYS", &[]),
            // A structure that was not determined has no key among these, or becomes an error that names it.
            (Structure::Any | Structure::Flat, _) => ("SMEMBERS", &[]),
        }
    }

    pub(super) fn structure(&self) -> Structure {
        self.adjacency().structure().unwrap_or(Structure::Any)
    }

    /// Adds the commands that fetch the edges, one for each near node.
    pub(super) fn write(&self, commands: &mut Commands) {
        let pattern = &self.adjacency().pattern;
        let (command, rest) = self.command(self.structure());
        for id in self.ids.iter() {
            commands.push_key(command, [&pattern.before, id, &pattern.after], rest);
        }
    }

    /// The columns of the answer: near key, far key, no edge key, properties. What stands in keys of the edges' own is
    /// fetched, all in one further round trip.
    pub(super) fn read(&self, replies: &[Reply], link: &mut Link) -> Result<Vec<Column>> {
        let found = self.read_far(replies, link)?;
        self.answer(found, link)
    }

    /// The same from what a script packed: for each near node its id, how many items follow, and these.
    pub(super) fn read_packed(&self, mut packed: Packed<'_>, link: &mut Link) -> Result<Vec<Column>> {
        let (mut found, brings_scores) = self.nothing_found(self.ids.len());
        for row in 0..self.ids.len() {
            packed.piece();
            let size = packed.size().unwrap_or(0);
            for _ in 0..size / (1 + usize::from(brings_scores)) {
                let Some(far) = packed.piece() else { break };
                let score = if brings_scores { packed.piece() } else { None };
                found.near.push(row as u32);
                self.push_far(&mut found, row, (far, score), link.name())?;
            }
        }
        self.check_scores(&found, brings_scores, link)?;
        self.answer(found, link)
    }

    fn answer(&self, found: Found, link: &mut Link) -> Result<Vec<Column>> {
        let near = self.keys.gather(&found.near);
        let rows = found.near.len();
        let further = self.further(&found, link)?;
        let far = found.far.finish();
        let (source, target) = if self.direction == Direction::In { (&far, &near) } else { (&near, &far) };
        let scores = found.scores.map(TextColumn::finish);
        let mut further = further.into_iter();
        let mut properties = Vec::new();
        for &property in &self.properties {
            properties.push(match (&self.plan.properties[property].place, &scores) {
                (EdgePlace::Source, _) => source.clone(),
                (EdgePlace::Target, _) => target.clone(),
                (EdgePlace::Score, Some(scores)) => scores.clone(),
                (EdgePlace::Score, None) | (EdgePlace::Field(_), _) => further.next().unwrap_or(Column::nulls(rows)),
            });
        }
        let mut columns = vec![near, far, Column::nulls(rows)];
        columns.extend(properties);
        Ok(columns)
    }

    /// Nothing found so far, and whether scores stand beside the far ends.
    fn nothing_found(&self, rows: usize) -> (Found, bool) {
        let structure = self.structure();
        let brings_scores = self.brings_scores(structure);
        let needs_ids = self.properties.iter().any(|&p| match self.plan.properties[p].place {
            EdgePlace::Field(_) => true,
            EdgePlace::Score => !brings_scores,
            _ => false,
        });
        let score_reading = self.score().map(|p| self.score_reading(p, structure));
        let found = Found {
            near: Vec::with_capacity(rows * 3),
            far: TextColumn::new(self.far_end().reading()),
            far_ids: needs_ids.then(StringColumn::default),
            scores: score_reading.filter(|_| brings_scores).map(TextColumn::new),
        };
        (found, brings_scores)
    }

    fn far_end(&self) -> &EndPlan {
        if self.direction == Direction::In { &self.plan.source } else { &self.plan.target }
    }

    fn read_far(&self, replies: &[Reply], link: &mut Link) -> Result<Found> {
        let (mut found, brings_scores) = self.nothing_found(replies.len());
        let pairs = usize::from(brings_scores) + 1;
        for (row, reply) in replies.iter().enumerate() {
            let members = match reply {
                Reply::Array(members) => members,
                reply => return Err(self.refused(link, row, reply)),
            };
            for pair in members.chunks_exact(pairs) {
                found.near.push(row as u32);
                let bytes = |reply| bytes_of(reply).ok_or_else(|| unexpected(link.name(), &self.place(row), reply));
                let pair = (bytes(&pair[0])?, pair.get(1).map(bytes).transpose()?);
                self.push_far(&mut found, row, pair, link.name())?;
            }
        }
        self.check_scores(&found, brings_scores, link)?;
        Ok(found)
    }

    /// Fails if the definition takes scores from keys that have none.
    fn check_scores(&self, found: &Found, brings_scores: bool, link: &Link) -> Result<()> {
        if self.score().is_none() || brings_scores || self.direction != Direction::Out || found.near.is_empty() {
            return Ok(());
        }
        let key = self.adjacency().pattern.key(self.ids.get(found.near[0] as usize));
        Err(wrong_type(link.name(), &key, structure_name(self.structure()), "zset or hash")
            .with_remedy("the definition takes a score from it: drop the score, or keep sorted sets or hashes"))
    }

    fn place(&self, row: usize) -> String {
        format!("key '{}'", self.adjacency().pattern.key(self.ids.get(row)))
    }

    fn push_far(
        &self,
        found: &mut Found,
        row: usize,
        (far, score): (&[u8], Option<&[u8]>),
        source: &str,
    ) -> Result<()> {
        let text = std::str::from_utf8(far).ok().filter(|text| found.far.push(text));
        let Some(text) = text else {
            return Err(does_not_convert(source, &self.place(row), far, column_kind(self.far_end().reading())));
        };
        if let Some(ids) = &mut found.far_ids {
            ids.push(text);
        }
        if let (Some(scores), Some(bytes)) = (&mut found.scores, score)
            && !std::str::from_utf8(bytes).is_ok_and(|text| scores.push(text))
        {
            let place = format!("{}, the value of '{text}'", self.place(row));
            return Err(does_not_convert(source, &place, bytes, self.score_kind()));
        }
        Ok(())
    }

    /// A sorted set's scores are floats; the values of a hash are strings like others.
    fn score_reading(&self, property: usize, structure: Structure) -> Reading {
        match (self.plan.properties[property].kind, structure) {
            (Some(kind), _) => Reading::As(kind),
            (None, Structure::Hash) => Reading::Recognised,
            (None, _) => Reading::As(model::PropertyKind::Float),
        }
    }

    fn score_kind(&self) -> &'static str {
        let kind = self.score().and_then(|p| self.plan.properties[p].kind);
        kind.map_or("FLOAT", model::PropertyKind::name)
    }

    /// Properties that stand elsewhere: scores of the forward keys, fields of the edges' own hashes; in the order asked.
    fn further(&self, found: &Found, link: &mut Link) -> Result<Vec<Column>> {
        let Some(far_ids) = &found.far_ids else { return Ok(Vec::new()) };
        let needs_scores = self.score().is_some() && found.scores.is_none();
        if needs_scores {
            resolve(&self.plan.forward, far_ids, link)?;
        }
        let fields: Vec<&str> = self.fields().map(|(_, field)| field).collect();
        let forward = self.plan.forward.structure().unwrap_or(Structure::SortedSet);
        let mut commands = Commands::default();
        for (edge, &near) in found.near.iter().enumerate() {
            let (near, far) = (self.ids.get(near as usize), far_ids.get(edge));
            let (source, target) = if self.direction == Direction::In { (far, near) } else { (near, far) };
            if needs_scores {
                let command = if forward == Structure::Hash { "HGET" } else { "ZSCORE" };
                let pattern = &self.plan.forward.pattern;
                commands.push_key(command, [&pattern.before, source, &pattern.after], &[target]);
            }
            if let (Some(hash), false) = (&self.plan.edge_hash, fields.is_empty()) {
                let key = hash.key(source, target);
                commands.push_key("HMGET", [&key, "", ""], &fields);
            }
        }
        let replies = link.exchange(&commands)?;
        self.read_further(&replies, needs_scores, forward, link)
    }

    fn fields(&self) -> impl Iterator<Item = (usize, &str)> {
        self.properties.iter().filter_map(|&p| match &self.plan.properties[p].place {
            EdgePlace::Field(field) => Some((p, field.as_str())),
            _ => None,
        })
    }

    fn read_further(
        &self,
        replies: &[Reply],
        needs_scores: bool,
        forward: Structure,
        link: &mut Link,
    ) -> Result<Vec<Column>> {
        let mut columns = Vec::new();
        for &property in &self.properties {
            let plan = &self.plan.properties[property];
            columns.push(match plan.place {
                EdgePlace::Score if needs_scores => Some(TextColumn::new(self.score_reading(property, forward))),
                EdgePlace::Field(_) => Some(TextColumn::new(plan.kind.map_or(Reading::Recognised, Reading::As))),
                _ => None,
            });
        }
        let has_fields = self.fields().next().is_some();
        let mut push = |at: usize, reply: &Reply| -> Result<()> {
            let Some(column) = &mut columns[at] else { return Ok(()) };
            let name = &self.plan.properties[self.properties[at]].name;
            match (reply, bytes_of(reply)) {
                (Reply::Nil, _) => column.push_null(),
                (_, Some(bytes)) => {
                    if !std::str::from_utf8(bytes).is_ok_and(|text| column.push(text)) {
                        let kind = self.plan.properties[self.properties[at]].kind;
                        let place = format!("{}.{name}", self.plan.name);
                        let kind = kind.map_or("a text", model::PropertyKind::name);
                        return Err(does_not_convert(link.name(), &place, bytes, kind));
                    }
                }
                _ => return Err(unexpected(link.name(), &format!("{}.{name}", self.plan.name), reply)),
            }
            Ok(())
        };
        let score = self.score().and_then(|score| self.properties.iter().position(|&p| p == score));
        let fields: Vec<usize> = (0..self.properties.len())
            .filter(|&at| matches!(self.plan.properties[self.properties[at]].place, EdgePlace::Field(_)))
            .collect();
        let mut replies = replies.iter();
        while let Some(mut reply) = replies.next() {
            if let (true, Some(at)) = (needs_scores, score) {
                push(at, reply)?;
                if !has_fields {
                    continue;
                }
                let Some(next) = replies.next() else { break };
                reply = next;
            }
            let Reply::Array(values) = reply else {
                return Err(unexpected(link.name(), &format!("{}: HMGET of an edge", self.plan.name), reply));
            };
            fields.iter().zip(values).try_for_each(|(&at, value)| push(at, value))?;
        }
        Ok(columns.into_iter().flatten().map(TextColumn::finish).collect())
    }

    fn refused(&self, link: &mut Link, row: usize, reply: &Reply) -> Error {
        let structure = self.structure();
        let key = self.adjacency().pattern.key(self.ids.get(row));
        refused(link, self.command(structure).0, &key, structure_name(structure), reply)
    }
}

/// The keys that hold the edges of a node in a direction; the forward ones if there are no others.
pub(super) fn adjacency_of(plan: &EdgePlan, direction: Direction) -> &Adjacency {
    match (&plan.reverse, direction) {
        (Some(reverse), Direction::In) => reverse,
        _ => &plan.forward,
    }
}

/// Finds out what stands under the keys of an adjacency, if that is not known: one round trip at the first look.
pub(super) fn resolve(adjacency: &Adjacency, ids: &StringColumn, link: &mut Link) -> Result<()> {
    if adjacency.structure().is_some() {
        return Ok(());
    }
    let mut commands = Commands::default();
    let pattern = &adjacency.pattern;
    ids.iter().for_each(|id| commands.push_key("TYPE", [&pattern.before, id, &pattern.after], &[]));
    let replies = link.exchange(&commands)?;
    for (id, reply) in ids.iter().zip(&replies) {
        match reply {
            Reply::SimpleString(name) if name == "none" => {}
            Reply::SimpleString(name) => {
                let found = adjacency_structure(name)
                    .ok_or_else(|| wrong_type(link.name(), &pattern.key(id), name, structure_name(Structure::Any)))?;
                adjacency.find(found);
                return Ok(());
            }
            reply => return Err(unexpected(link.name(), "TYPE", reply)),
        }
    }
    Ok(())
}

fn bytes_of(reply: &Reply) -> Option<&[u8]> {
    match reply {
        Reply::BulkString(bytes) => Some(bytes),
        Reply::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

fn column_kind(reading: Reading) -> &'static str {
    match reading {
        Reading::As(kind) => kind.name(),
        Reading::IntegerKey => "INTEGER",
        Reading::Recognised | Reading::Key => "text in UTF-8",
    }
}

fn does_not_convert(source: &str, place: &str, found: &[u8], expected: &str) -> Error {
    let found = String::from_utf8_lossy(found);
    let found = crate::files::field::shortened(&found);
    error!(Definition, "{source}: {place}: expected {expected}, found '{found}'")
        .with_remedy("mend the value, or the property's kind in the definition")
}

/// The error of a key that holds something else than the definition says.
pub(super) fn wrong_type(source: &str, key: &str, found: &str, expected: &str) -> Error {
    error!(Definition, "{source}: key '{key}' holds a {found}, the definition expects a {expected}")
}

/// The error of a reply that refuses a key: a wrong type if it is one, else what the server says.
pub(super) fn refused(link: &mut Link, command: &str, key: &str, expected: &str, reply: &Reply) -> Error {
    if let Reply::ServerError(cause) = reply
        && (cause.code() == "WRONGTYPE" || cause.details().is_some_and(|text| text.contains("WRONGTYPE")))
    {
        let mut commands = Commands::default();
        commands.push(&["TYPE", key]);
        if let Ok([Reply::SimpleString(found)]) = link.exchange(&commands).as_deref() {
            return wrong_type(link.name(), key, found, expected);
        }
    }
    unexpected(link.name(), &format!("{command} {key}"), reply)
}

/// The error of a reply that is not what the command gives.
pub(super) fn unexpected(source: &str, command: &str, reply: &Reply) -> Error {
    match reply {
        Reply::ServerError(cause) if is_refusal(cause.code()) => {
            not_let_in(source, command, &format!("{} {}", cause.code(), cause.details().unwrap_or_default()))
        }
        Reply::ServerError(cause) => {
            error!(Source, "{source}: {command}: {} {}", cause.code(), cause.details().unwrap_or_default())
        }
        other => error!(Source, "{source}: {command}: expected values, found {other:?}"),
    }
}
