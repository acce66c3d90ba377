//! Questions answered: pipelines for keys, a script for what lies within reach, `SCAN` for all else.

use std::sync::Arc;

use model::{Column, ColumnData, Direction, Map, Result, StringColumn, error};

use super::connection::{Commands, Link};
use super::course::Asked;
use super::fetch::{EdgeFetch, NodeFetch, adjacency_of, resolve};
use super::plan::{EndPlan, Plan};
use super::scan::{IdScan, Scanned, begin, count_edges, next_piece};
use super::text::key_text;
use super::within::{Output, grouped, within};
use crate::condition::Shape;
use crate::connector::{Condition, OnCourse, Question, Reading, RowsSink, StreamId, Which};

/// Keys whose commands go into one pipeline at most: what the server holds of replies stays small.
const PIPELINE_KEYS: usize = 10_000;

/// Reads from a Redis server, without a snapshot.
pub(super) struct RedisReading {
    plan: Arc<Plan>,
    link: Link,
    streams: Map<u64, Stream>,
    streams_begun: u64,
    /// The request that was sent and is not yet answered.
    sent: Option<OnOneCourse>,
}

/// A question that is read piece by piece.
#[allow(clippy::large_enum_variant, reason = "few streams are open at a time")]
enum Stream {
    Scan {
        scanned: Scanned,
        scan: IdScan,
        shape: Shape,
        of: Option<Vec<model::Value>>,
    },
    /// Rows that are there already.
    Held(std::vec::IntoIter<Vec<Column>>),
}

/// Commands of a part of a question, and how their replies are read.
enum Fetch<'a> {
    Nodes(NodeFetch<'a>),
    Edges(EdgeFetch<'a>),
}

impl RedisReading {
    pub(super) fn new(plan: Arc<Plan>, link: Link) -> RedisReading {
        RedisReading { plan, link, streams: Map::default(), streams_begun: 0, sent: None }
    }

    /// The fetches of a question about keys; `None` where that takes a scan or a script.
    fn fetches<'p>(plan: &'p Plan, question: &Question<'_>, shape: Option<&Shape>) -> Option<Vec<Fetch<'p>>> {
        let mut fetches = Vec::new();
        match question {
            Question::Nodes { kind, which: Which::Keys(keys), .. }
            | Question::CountNodes { kind, which: Which::Keys(keys) } => {
                let node = &plan.nodes[*kind];
                let end = EndPlan { kind: Some(*kind), key_kind: node.key_kind };
                let properties = shape.map_or(&[][..], Shape::fetch);
                let is_node = |id: &str| node.patterns().any(|pattern| is_own(plan, pattern, id));
                for (ids, keys) in id_pieces(keys, &end, is_node) {
                    let properties = properties.to_vec();
                    fetches.push(Fetch::Nodes(NodeFetch { plan: node, ids, keys, properties }));
                }
            }
            Question::Edges { kind, direction, of: Which::Keys(keys), properties } => {
                let edges = &plan.edges[*kind];
                if *direction == Direction::In && edges.reverse.is_none() {
                    return None;
                }
                let near = if *direction == Direction::In { &edges.target } else { &edges.source };
                let pattern = &adjacency_of(edges, *direction).pattern;
                for (ids, keys) in id_pieces(keys, near, |id| is_own(plan, pattern, id)) {
                    let (direction, properties) = (*direction, properties.to_vec());
                    fetches.push(Fetch::Edges(EdgeFetch { plan: edges, direction, ids, keys, properties }));
                }
            }
            _ => return None,
        }
        Some(fetches)
    }

    /// Answers what is asked by keys, all in one pipeline as long as it is not too large.
    fn ask_keys(&mut self, asked: Vec<(usize, Fetch<'_>)>, give: &mut Give<'_, '_>) -> Result<()> {
        let mut unknown = Vec::new();
        for (_, fetch) in &asked {
            if let Fetch::Edges(edges) = fetch {
                unknown.push((adjacency_of(edges.plan, edges.direction), &edges.ids));
            }
        }
        for (adjacency, ids) in unknown {
            resolve(adjacency, ids, &mut self.link)?;
        }
        let mut rest = asked.as_slice();
        while !rest.is_empty() {
            let mut commands = Commands::default();
            let mut taken = 0;
            while taken < rest.len() && (taken == 0 || commands.len() < PIPELINE_KEYS) {
                match &rest[taken].1 {
                    Fetch::Nodes(nodes) => nodes.write(&mut commands),
                    Fetch::Edges(edges) => edges.write(&mut commands),
                }
                taken += 1;
            }
            let replies = self.link.exchange(&commands)?;
            let mut replies = replies.as_slice();
            for (number, fetch) in &rest[..taken] {
                let count = match fetch {
                    Fetch::Nodes(nodes) => nodes.replies(),
                    Fetch::Edges(edges) => edges.ids.len(),
                };
                let (own, others) = replies.split_at(count);
                replies = others;
                let columns = match fetch {
                    Fetch::Nodes(nodes) => nodes.read(own, &mut self.link)?,
                    Fetch::Edges(edges) => edges.read(own, &mut self.link)?,
                };
                give.rows(*number, columns)?;
            }
            rest = &rest[taken..];
        }
        Ok(())
    }

    fn ask_within(&mut self, questions: &[Question<'_>], give: &mut Give<'_, '_>) -> Result<()> {
        let asked = questions.iter().enumerate().filter_map(|(number, question)| match question {
            Question::Nodes { which: which @ Which::Within { .. }, .. }
            | Question::Edges { of: which @ Which::Within { .. }, .. }
            | Question::CountNodes { which: which @ Which::Within { .. }, .. } => Some((number, which)),
            _ => None,
        });
        for (which, numbers) in grouped(asked) {
            let mut outputs = Vec::new();
            for &number in &numbers {
                outputs.push(match &questions[number] {
                    Question::Nodes { kind, .. } | Question::CountNodes { kind, .. } => {
                        let properties =
                            give.shapes[number].as_ref().map_or(Vec::new(), |shape| shape.fetch().to_vec());
                        Output::Nodes(*kind, properties)
                    }
                    Question::Edges { kind, direction, properties, .. } => {
                        Output::Edges(*kind, *direction, properties.to_vec())
                    }
                    Question::CountEdges { .. } | Question::Pattern(_) => continue,
                });
            }
            let plan = self.plan.clone();
            let answers = within(&plan, which, &outputs, &mut self.link)?;
            for (number, columns) in numbers.into_iter().zip(answers) {
                give.rows(number, columns)?;
            }
        }
        Ok(())
    }

    /// Answers questions about the same course by one script.
    fn ask_on_course(&mut self, questions: &[Question<'_>], give: &mut Give<'_, '_>) -> Result<()> {
        let Some((on, mut on_course)) = OnOneCourse::of(questions)? else { return Ok(()) };
        let plan = self.plan.clone();
        let commands = on_course.asked.command(&plan, on, &mut self.link)?;
        let mut replies = self.link.exchange(&commands).map_err(|failure| failure.within("lookahead"))?;
        let (met, followed) = on_course.asked.read(&plan, replies.pop(), &mut self.link)?;
        on_course.nodes.map_or(Ok(()), |number| give.rows(number, met))?;
        on_course.edges.map_or(Ok(()), |number| give.rows(number, followed))
    }

    /// Begins the scan that answers a question.
    fn scan_of(&self, question: &Question<'_>) -> Result<Stream> {
        let conditions = |which: &Which<'_>| -> Result<Vec<Condition>> {
            match which {
                Which::Where(conditions) => Ok(conditions.to_vec()),
                Which::Boxes { .. } => {
                    Err(error!(Unsupported, "{}: Redis has no index that finds boxes", self.link.name()))
                }
                _ => Ok(Vec::new()),
            }
        };
        let (scanned, shape, of) = match question {
            Question::Nodes { kind, which, properties, order, limit } => {
                (Scanned::Nodes(*kind), Shape::new(properties, &conditions(which)?, order, *limit), None)
            }
            Question::CountNodes { kind, which } => {
                (Scanned::Nodes(*kind), Shape::new(&[], &conditions(which)?, &[], None), None)
            }
            Question::Edges { kind, direction, of, properties } => {
                let shape = Shape::new(properties, &conditions(of)?, &[], None);
                let keys = match of {
                    Which::Keys(keys) => Some(sorted(keys)),
                    _ => None,
                };
                (Scanned::Edges(*kind, *direction), shape, keys)
            }
            Question::CountEdges { kind } => {
                (Scanned::Edges(*kind, Direction::Out), Shape::new(&[], &[], &[], None), None)
            }
            Question::Pattern(_) => return Err(error!(Unsupported, "{}: Redis matches no patterns", self.link.name())),
        };
        let scan = begin(&self.plan, &scanned);
        Ok(Stream::Scan { scanned, scan, shape, of })
    }

    /// Further rows of a stream; `None` at the end.
    fn advance(&mut self, stream: &mut Stream, rows: usize) -> Result<Option<Vec<Column>>> {
        let (scanned, scan, shape, of) = match stream {
            Stream::Held(batches) => return Ok(batches.next()),
            Stream::Scan { scanned, scan, shape, of } => (scanned, scan, shape, of),
        };
        let keys = if matches!(scanned, Scanned::Nodes(_)) { 1 } else { 3 };
        while !shape.is_full() {
            let piece = next_piece(&self.plan, scanned, scan, shape.fetch(), rows.max(1), &mut self.link)?;
            let Some(mut columns) = piece else { return Ok(shape.finish(keys)) };
            if let Some(of) = of {
                let near = &columns[0];
                let is_asked = |&row: &u32| of.binary_search_by(|key| key.order(&near.value(row as usize))).is_ok();
                let kept: Vec<u32> = (0..near.len() as u32).filter(is_asked).collect();
                columns = columns.iter().map(|column| column.gather(&kept)).collect();
            }
            if let Some(columns) = shape.push(columns, keys) {
                return Ok(Some(columns));
            }
        }
        Ok(None)
    }
}

/// True if the key of an id is of a pattern, rather than of another that fixes more of it.
fn is_own(plan: &Plan, pattern: &super::pattern::Pattern, id: &str) -> bool {
    !plan.is_contested(pattern) || plan.id_of(pattern, &pattern.key(id)).is_some()
}

fn sorted(keys: &Column) -> Vec<model::Value> {
    let mut keys: Vec<_> = keys.values().collect();
    keys.sort_by(model::Value::order);
    keys
}

/// Keys that nodes can have, with their ids, in pieces of a pipeline.
fn id_pieces(keys: &Column, end: &EndPlan, is_own: impl Fn(&str) -> bool) -> Vec<(StringColumn, Column)> {
    let mut pieces = Vec::new();
    let (mut ids, mut rows) = (StringColumn::default(), Vec::new());
    for row in 0..keys.len() {
        let id = match &keys.data {
            // Most keys are integers: no value for each of them.
            ColumnData::Int(numbers) if keys.validity.is_none() => {
                key_text(&model::Value::Int(numbers[row]), end.key_kind)
            }
            _ => key_text(&keys.value(row), end.key_kind),
        };
        if let Some(id) = id.filter(|id| is_own(id)) {
            ids.push(&id);
            rows.push(row as u32);
        }
        if ids.len() == PIPELINE_KEYS || row + 1 == keys.len() && !ids.is_empty() {
            let keys = if rows.len() == keys.len() { keys.clone() } else { keys.gather(&rows) };
            pieces.push((std::mem::take(&mut ids), keys));
            rows.clear();
        }
    }
    pieces
}

/// Gives each question its rows, in the form that it wants.
struct Give<'s, 'f> {
    sink: &'s mut RowsSink<'f>,
    shapes: Vec<Option<Shape>>,
    counts: Vec<Option<u64>>,
    is_over: Vec<bool>,
}

impl Give<'_, '_> {
    fn rows(&mut self, number: usize, columns: Vec<Column>) -> Result<()> {
        if let Some(count) = &mut self.counts[number] {
            *count += columns[0].len() as u64;
            return Ok(());
        }
        let columns = match &mut self.shapes[number] {
            Some(shape) => shape.push(columns, 1),
            None => Some(columns),
        };
        self.give(number, columns)
    }

    fn give(&mut self, number: usize, columns: Option<Vec<Column>>) -> Result<()> {
        if let Some(columns) = columns.filter(|columns| !columns[0].is_empty() && !self.is_over[number]) {
            self.is_over[number] = !(self.sink)(number, columns)?;
        }
        Ok(())
    }

    /// Gives what was held back for an order, and the counts.
    fn finish(mut self) -> Result<()> {
        for number in 0..self.shapes.len() {
            if let Some(count) = self.counts[number] {
                self.give(number, Some(vec![Column::new(ColumnData::Int(vec![count as i64]))]))?;
            } else if let Some(mut shape) = self.shapes[number].take() {
                self.give(number, shape.finish(1))?;
            }
        }
        Ok(())
    }
}

/// Questions about one course, which one script answers: which number each has.
struct OnOneCourse {
    nodes: Option<usize>,
    edges: Option<usize>,
    asked: Asked,
}

impl OnOneCourse {
    /// Those among the questions, with their course; `None` if there are none.
    fn of<'q>(questions: &[Question<'q>]) -> Result<Option<(&'q OnCourse<'q>, OnOneCourse)>> {
        let (mut nodes, mut edges) = (None, None);
        let mut asked: Option<&OnCourse<'_>> = None;
        for (number, question) in questions.iter().enumerate() {
            let (on, held, properties) = match question {
                Question::Nodes { which: Which::OnCourse(on), properties, .. } => (*on, &mut nodes, *properties),
                Question::Edges { of: Which::OnCourse(on), properties, .. } => (*on, &mut edges, *properties),
                _ => continue,
            };
            if held.is_some() || asked.is_some_and(|other| !std::ptr::eq(other, on)) {
                return Err(error!(Internal, "two courses were asked for at once"));
            }
            *held = Some((number, properties));
            asked = Some(on);
        }
        let Some(on) = asked else { return Ok(None) };
        let of_nodes = nodes.map_or(&on.properties[..], |(_, properties)| properties).to_vec();
        let of_edges = edges.map_or(&[][..], |(_, properties)| properties).to_vec();
        let number = |held: Option<(usize, &[usize])>| held.map(|(number, _)| number);
        let asked = Asked::new(on, of_nodes, of_edges);
        Ok(Some((on, OnOneCourse { nodes: number(nodes), edges: number(edges), asked })))
    }
}

impl Reading for RedisReading {
    fn send(&mut self, questions: &[Question<'_>]) -> Result<bool> {
        let is_on_course = |question: &Question<'_>| {
            matches!(
                question,
                Question::Nodes { which: Which::OnCourse(_), order: [], limit: None, .. }
                    | Question::Edges { of: Which::OnCourse(_), .. }
            )
        };
        // A connection that was kept must first be seen to be alive.
        if self.sent.is_some() || !self.link.has_read() || !questions.iter().all(is_on_course) {
            return Ok(false);
        }
        let Some((on, mut on_course)) = OnOneCourse::of(questions)? else { return Ok(false) };
        let plan = self.plan.clone();
        let commands = on_course.asked.command(&plan, on, &mut self.link)?;
        self.link.send(&commands).map_err(|failure| failure.within("lookahead"))?;
        self.sent = Some(on_course);
        Ok(true)
    }

    fn receive(&mut self, sink: &mut RowsSink<'_>) -> Result<()> {
        let Some(on_course) = self.sent.take() else { return Ok(()) };
        let mut replies = self.link.receive().map_err(|failure| failure.within("lookahead"))?;
        let (met, followed) = on_course.asked.read(&self.plan.clone(), replies.pop(), &mut self.link)?;
        for (number, columns) in on_course.nodes.zip(Some(met)).into_iter().chain(on_course.edges.zip(Some(followed))) {
            if !columns[0].is_empty() {
                sink(number, columns)?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()> {
        let shape = |question: &Question<'_>| match question {
            Question::Nodes {
                which: Which::Keys(_) | Which::Within { .. } | Which::OnCourse(_),
                properties,
                order,
                limit,
                ..
            } => Some(Shape::new(properties, &[], order, *limit)),
            _ => None,
        };
        let count = |question: &Question<'_>| {
            matches!(question, Question::CountNodes { .. } | Question::CountEdges { .. }).then_some(0)
        };
        let mut give = Give {
            sink,
            shapes: questions.iter().map(shape).collect(),
            counts: questions.iter().map(count).collect(),
            is_over: vec![false; questions.len()],
        };
        let plan = self.plan.clone();
        let mut by_keys = Vec::new();
        let mut scans = Vec::new();
        for (number, question) in questions.iter().enumerate() {
            match RedisReading::fetches(&plan, question, give.shapes[number].as_ref()) {
                Some(fetches) => by_keys.extend(fetches.into_iter().map(|fetch| (number, fetch))),
                None if is_within(question) => {}
                None => scans.push(number),
            }
        }
        self.ask_keys(by_keys, &mut give)?;
        self.ask_within(questions, &mut give)?;
        self.ask_on_course(questions, &mut give)?;
        for number in scans {
            if let Question::CountEdges { kind } = &questions[number] {
                give.counts[number] = Some(count_edges(&plan, *kind, &mut self.link)?);
                continue;
            }
            let mut stream = self.scan_of(&questions[number])?;
            while let Some(columns) = self.advance(&mut stream, model::limits::BATCH_ROWS)? {
                match &mut give.counts[number] {
                    Some(count) => *count += columns[0].len() as u64,
                    None => give.give(number, Some(columns))?,
                }
                if give.is_over[number] {
                    break;
                }
            }
        }
        give.finish()
    }

    fn start(&mut self, question: &Question<'_>) -> Result<StreamId> {
        let is_asked = is_within(question)
            || matches!(question, Question::CountNodes { .. } | Question::CountEdges { .. })
            || RedisReading::fetches(&self.plan.clone(), question, None).is_some();
        let stream = if is_asked {
            let mut batches = Vec::new();
            self.ask(std::slice::from_ref(question), &mut |_, columns| {
                batches.push(columns);
                Ok(true)
            })?;
            Stream::Held(batches.into_iter())
        } else {
            self.scan_of(question)?
        };
        let id = self.streams_begun;
        self.streams_begun += 1;
        self.streams.insert(id, stream);
        Ok(StreamId(id))
    }

    fn more(&mut self, stream: StreamId, rows: usize) -> Result<Option<Vec<Column>>> {
        let Some(mut open) = self.streams.remove(&stream.0) else { return Ok(None) };
        let columns = self.advance(&mut open, rows)?;
        if columns.is_some() {
            self.streams.insert(stream.0, open);
        }
        Ok(columns)
    }

    fn stop(&mut self, stream: StreamId) {
        self.streams.remove(&stream.0);
    }
}

fn is_within(question: &Question<'_>) -> bool {
    matches!(
        question,
        Question::Nodes { which: Which::Within { .. } | Which::OnCourse(_), .. }
            | Question::Edges { of: Which::Within { .. } | Which::OnCourse(_), .. }
            | Question::CountNodes { which: Which::Within { .. }, .. }
    )
}
