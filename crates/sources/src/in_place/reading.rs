//! Questions answered from files: rows by number where an index finds them, all rows in order elsewhere.

use std::collections::VecDeque;
use std::sync::Arc;

use model::{Column, ColumnBuilder, ColumnData, Direction, Map, MemoryBudget, Result, Value, error};

use super::plan::{ColumnOf, EdgeFile, EndColumns, NodeFile, Plan};
use super::table::{IndexKey, Scan, Version, elements, key_column};
use crate::condition::Shape;
use crate::connector::{Condition, Question, Reading, RowsSink, StreamId, Test, Which};

/// Reads files; each as it is when it is first looked at.
pub(super) struct InPlaceReading {
    plan: Arc<Plan>,
    memory: Arc<MemoryBudget>,
    /// The files that were looked at.
    versions: Map<usize, Arc<Version>>,
    streams: Map<u64, Stream>,
    streams_begun: u64,
}

/// A question that is read piece by piece.
struct Stream {
    version: Arc<Version>,
    rows: Source,
    shape: Shape,
    answer: Answer,
    counted: Option<u64>,
}

/// Rows of a file that may answer a question.
enum Source {
    /// All in order, or those that conditions may hold of.
    Scan(Box<Scan>),
    /// Rows by number, ascending.
    Rows { rows: VecDeque<Vec<u32>> },
    /// Keys that an index alone is enough for.
    Known(Option<Column>),
}

/// The conversion of rows of a file into rows of an answer.
struct Answer {
    /// The columns that are read, with what their values are converted to.
    columns: Vec<usize>,
    kinds: Vec<Option<model::PropertyKind>>,
    /// For each column of the answer's properties its place among those read; `None` where the file has none.
    properties: Vec<Option<usize>>,
    ends: Ends,
    /// The keys that are asked for, sorted; `None` for all.
    keys: Option<Vec<Value>>,
}

enum Ends {
    /// A node: number of the columns of its key.
    Node(usize),
    /// An edge: places of the columns of near end, far end and key.
    Edge { near: Vec<usize>, far: Vec<usize>, key: Vec<usize>, is_array: (bool, bool) },
}

/// Rows that are read for an answer at a time.
const PIECE_ROWS: usize = 16_384;

impl InPlaceReading {
    pub(super) fn new(plan: Arc<Plan>, memory: Arc<MemoryBudget>) -> InPlaceReading {
        InPlaceReading { plan, memory, versions: Map::default(), streams: Map::default(), streams_begun: 0 }
    }

    fn version(&mut self, table: usize) -> Result<Arc<Version>> {
        if let Some(version) = self.versions.get(&table) {
            version.check_unchanged()?;
            return Ok(version.clone());
        }
        let version = self.plan.version(table, &self.memory)?;
        self.versions.insert(table, version.clone());
        Ok(version)
    }

    fn stream(&mut self, question: &Question<'_>) -> Result<Stream> {
        let plan = self.plan.clone();
        match question {
            Question::Nodes { kind, which, properties, order, limit } => {
                let shape = Shape::new(properties, conditions_of(which)?, order, *limit);
                self.node_stream(&plan.nodes[*kind], which, shape)
            }
            Question::CountNodes { kind, which } => {
                let node = &plan.nodes[*kind];
                let shape = Shape::new(&[], conditions_of(which)?, &[], None);
                let mut stream = self.node_stream(node, which, shape)?;
                stream.counted = Some(0);
                if matches!(which, Which::All) {
                    count_at_once(&mut stream);
                }
                Ok(stream)
            }
            Question::Edges { kind, direction, of, properties } => {
                let shape = Shape::new(properties, conditions_of(of)?, &[], None);
                self.edge_stream(&plan.edges[*kind], *direction, of, shape)
            }
            Question::CountEdges { kind } => {
                let shape = Shape::new(&[], &[], &[], None);
                let edge = &plan.edges[*kind];
                let mut stream = self.edge_stream(edge, Direction::Out, &Which::All, shape)?;
                stream.counted = Some(0);
                if !edge.source.is_array && !edge.target.is_array {
                    count_at_once(&mut stream);
                }
                Ok(stream)
            }
            Question::Pattern(_) => Err(error!(Unsupported, "files are not matched with patterns where they lie")),
        }
    }

    fn node_stream(&mut self, node: &NodeFile, which: &Which<'_>, shape: Shape) -> Result<Stream> {
        let version = self.version(node.table)?;
        let mut answer = Answer::new(&version, &node.properties, shape.fetch())?;
        for key in &node.key {
            answer.add(version.column(&key.name)?, key.kind);
        }
        let at = answer.columns.len() - node.key.len();
        answer.ends = Ends::Node(at);
        let index_key = index_key(&version, &node.key, false)?;
        let rows = match which {
            Which::Keys(keys) => {
                let index = version.index(&index_key, true)?;
                if index.is_exact()
                    && node.key.len() == 1
                    && answer.columns.len() == 1
                    && matches!(keys.data, ColumnData::Int(_))
                {
                    // The answer is the keys themselves.
                    let there: Vec<u32> = (0..keys.len() as u32)
                        .filter(|&row| index.rows(&keys.value(row as usize)).next().is_some())
                        .collect();
                    Source::Known(Some(keys.gather(&there)))
                } else {
                    answer.keys = Some(sorted(keys.values()));
                    by_number(keys.values().flat_map(|key| index.rows(&key).collect::<Vec<_>>()))
                }
            }
            Which::Where(conditions) => match keys_among(conditions, node) {
                // The conditions are looked at again, row by row.
                Some(values) => {
                    let index = version.index(&index_key, true)?;
                    by_number(values.iter().flat_map(|key| index.rows(key).collect::<Vec<_>>()))
                }
                None => scan(&version, &answer, &shape)?,
            },
            _ => scan(&version, &answer, &shape)?,
        };
        Ok(Stream { version, rows, shape, answer, counted: None })
    }

    fn edge_stream(&mut self, edge: &EdgeFile, direction: Direction, of: &Which<'_>, shape: Shape) -> Result<Stream> {
        let version = self.version(edge.table)?;
        let (near, far) =
            if direction == Direction::In { (&edge.target, &edge.source) } else { (&edge.source, &edge.target) };
        let mut answer = Answer::new(&version, &edge.properties, shape.fetch())?;
        let mut places = |columns: &[ColumnOf]| -> Result<Vec<usize>> {
            columns.iter().map(|column| Ok(answer.add(version.column(&column.name)?, column.kind))).collect()
        };
        let (near_at, far_at, key) = (places(&near.columns)?, places(&far.columns)?, places(&edge.key)?);
        answer.ends = Ends::Edge { near: near_at, far: far_at, key, is_array: (near.is_array, far.is_array) };
        let rows = match of {
            Which::Keys(keys) => {
                let index = version.index(&index_key(&version, &near.columns, near.is_array)?, false)?;
                answer.keys = Some(sorted(keys.values()));
                by_number(keys.values().flat_map(|key| index.rows(&key).collect::<Vec<_>>()))
            }
            _ => scan(&version, &answer, &shape)?,
        };
        Ok(Stream { version, rows, shape, answer, counted: None })
    }

    /// Further rows of a stream; `None` at the end.
    fn advance(stream: &mut Stream) -> Result<Option<Vec<Column>>> {
        let keys = if matches!(stream.answer.ends, Ends::Node(_)) { 1 } else { 3 };
        while !stream.shape.is_full() {
            let read = match &mut stream.rows {
                Source::Known(known) => {
                    let known = known.take();
                    let width = stream.shape.fetch().len();
                    match known.map(|known| vec![known; 1 + width]) {
                        Some(columns) => match stream.shape.push(columns, 1) {
                            Some(columns) => return Ok(Some(columns)),
                            None => continue,
                        },
                        None => None,
                    }
                }
                Source::Scan(scan) => scan.next()?.map(|(_, columns)| columns),
                Source::Rows { rows } => match rows.pop_front() {
                    Some(rows) => Some(stream.version.gather(&rows, &stream.answer.columns)?),
                    None => None,
                },
            };
            // Rows read are valid only if the file did not change meanwhile.
            stream.version.check_unchanged()?;
            let Some(columns) = read else { return Ok(stream.shape.finish(keys)) };
            let columns = stream.version.converted(columns, stream.answer.kinds.iter().copied())?;
            let columns = stream.answer.rows(columns);
            if let Some(columns) = stream.shape.push(columns, keys) {
                return Ok(Some(columns));
            }
        }
        Ok(None)
    }

    /// Runs a stream to its end, or until its rows are no longer wanted.
    fn run(stream: &mut Stream, sink: &mut dyn FnMut(Vec<Column>) -> Result<bool>) -> Result<()> {
        let Some(mut count) = stream.counted else {
            while let Some(columns) = InPlaceReading::advance(stream)? {
                if !sink(columns)? {
                    break;
                }
            }
            return Ok(());
        };
        while let Some(columns) = InPlaceReading::advance(stream)? {
            count += columns[0].len() as u64;
        }
        sink(vec![Column::new(ColumnData::Int(vec![count as i64]))]).map(drop)
    }
}

/// Takes a count from the file's own, where that is right.
fn count_at_once(stream: &mut Stream) {
    let ends: Vec<usize> = match &stream.answer.ends {
        Ends::Node(at) => (*at..stream.answer.columns.len()).collect(),
        Ends::Edge { near, far, .. } => near.iter().chain(far).copied().collect(),
    };
    let columns: Vec<usize> = ends.into_iter().map(|place| stream.answer.columns[place]).collect();
    if let Some(rows) = stream.version.rows_without_nulls(&columns) {
        stream.counted = Some(rows);
        stream.rows = Source::Rows { rows: VecDeque::new() };
    }
}

fn conditions_of<'a>(which: &'a Which<'_>) -> Result<&'a [Condition]> {
    match which {
        Which::Where(conditions) => Ok(conditions),
        Which::Boxes { .. } => Err(error!(Unsupported, "files have no index that finds boxes")),
        Which::Within { .. } => Err(error!(Unsupported, "files can not be asked for what lies within reach at once")),
        Which::OnCourse(_) => Err(error!(Unsupported, "files can not be asked for what lies on a course at once")),
        Which::All | Which::Keys(_) => Ok(&[]),
    }
}

/// The values that conditions leave for a node's key, if they name them.
fn keys_among<'a>(conditions: &'a [Condition], node: &NodeFile) -> Option<&'a [Value]> {
    let [key] = node.key.as_slice() else { return None };
    conditions.iter().find_map(|condition| match condition {
        Condition::Is { property, test: Test::OneOf(values) } if node.properties.get(*property) == Some(key) => {
            Some(values.as_slice())
        }
        _ => None,
    })
}

fn index_key(version: &Version, columns: &[ColumnOf], is_array: bool) -> Result<IndexKey> {
    let columns = columns.iter().map(|column| Ok((version.column(&column.name)?, column.kind)));
    Ok(IndexKey { columns: columns.collect::<Result<_>>()?, is_array })
}

fn sorted(keys: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut keys: Vec<Value> = keys.collect();
    keys.sort_by(Value::order);
    keys
}

/// Rows by number, ascending and each once, in pieces.
fn by_number(rows: impl Iterator<Item = u32>) -> Source {
    let mut rows: Vec<u32> = rows.collect();
    rows.sort_unstable();
    rows.dedup();
    Source::Rows { rows: rows.chunks(PIECE_ROWS).map(<[u32]>::to_vec).collect() }
}

/// All rows, with the conditions that the file can look at by itself.
fn scan(version: &Version, answer: &Answer, shape: &Shape) -> Result<Source> {
    // A value that is converted first is not what the file's statistics are about.
    let column = |property: usize| {
        let place = answer.properties[property]?;
        answer.kinds[place].is_none().then(|| answer.columns[place])
    };
    let on_columns = |condition: &Condition| {
        let mut is_plain = true;
        condition.for_each_property(&mut |&property| is_plain &= column(property).is_some());
        is_plain.then(|| condition.renamed(&mut |&property| column(property).unwrap_or_default()))
    };
    let conditions: Vec<Condition> = shape.conditions().iter().filter_map(on_columns).collect();
    Ok(Source::Scan(Box::new(version.scan(&answer.columns, &conditions)?)))
}

impl Answer {
    fn new(version: &Version, properties: &[ColumnOf], fetch: &[usize]) -> Result<Answer> {
        let mut answer =
            Answer { columns: Vec::new(), kinds: Vec::new(), properties: Vec::new(), ends: Ends::Node(0), keys: None };
        for &property in fetch {
            let ColumnOf { name, kind } = &properties[property];
            let place = version.property(name)?.map(|column| answer.add(column, *kind));
            answer.properties.push(place);
        }
        Ok(answer)
    }

    /// Reads a column too; its place.
    fn add(&mut self, column: usize, kind: Option<model::PropertyKind>) -> usize {
        self.columns.push(column);
        self.kinds.push(kind);
        self.columns.len() - 1
    }

    /// Rows of the file as rows of the answer: keys, then all properties that are fetched.
    fn rows(&self, columns: Vec<Column>) -> Vec<Column> {
        let count = columns.first().map_or(0, Column::len);
        let properties = |columns: &[Column]| -> Vec<Column> {
            let of = |place: &Option<usize>| place.map_or_else(|| Column::nulls(count), |place| columns[place].clone());
            self.properties.iter().map(of).collect()
        };
        match &self.ends {
            Ends::Node(at) => {
                let key = key_column(&columns[*at..]);
                let kept = self.kept(&[&key]);
                let mut answer = vec![key];
                answer.extend(properties(&columns));
                gathered(answer, kept, count)
            }
            Ends::Edge { near, far, key, is_array } => {
                let end = |places: &[usize]| {
                    let parts: Vec<Column> = places.iter().map(|&place| columns[place].clone()).collect();
                    key_column(&parts)
                };
                let key = if key.is_empty() { Column::nulls(count) } else { end(key) };
                let (near, far) = (end(near), end(far));
                if *is_array != (false, false) {
                    return self.unfolded(&near, &far, key, properties(&columns), *is_array);
                }
                let kept = self.kept(&[&near, &far]);
                let mut answer = vec![near, far, key];
                answer.extend(properties(&columns));
                gathered(answer, kept, count)
            }
        }
    }

    /// The rows none of whose keys is null, and the first of whose is asked for.
    fn kept(&self, keys: &[&Column]) -> Vec<u32> {
        let is_there = |&row: &u32| keys.iter().all(|key| !key.is_null(row as usize));
        let rows = (0..keys[0].len() as u32).filter(is_there);
        match (&self.keys, &keys[0].data) {
            (None, _) => rows.collect(),
            (Some(asked), ColumnData::Int(numbers)) => {
                let is_asked = |number: i64| asked.binary_search_by(|key| key.order(&Value::Int(number))).is_ok();
                rows.filter(|&row| is_asked(numbers[row as usize])).collect()
            }
            (Some(_), _) => rows.filter(|&row| self.is_asked(&keys[0].value(row as usize))).collect(),
        }
    }

    fn is_asked(&self, key: &Value) -> bool {
        self.keys.as_ref().is_none_or(|asked| asked.binary_search_by(|other| other.order(key)).is_ok())
    }

    /// Rows with arrays at an end: an edge for each element.
    fn unfolded(
        &self,
        near: &Column,
        far: &Column,
        key: Column,
        properties: Vec<Column>,
        (near_is_array, far_is_array): (bool, bool),
    ) -> Vec<Column> {
        let (mut nears, mut fars, mut rows) = (ColumnBuilder::default(), ColumnBuilder::default(), Vec::new());
        let of = |value: &Value, is_array: bool| -> Vec<Value> {
            if is_array {
                elements(value).cloned().collect()
            } else {
                Some(value.clone()).filter(|v| !v.is_null()).into_iter().collect()
            }
        };
        for row in 0..near.len() {
            let far = of(&far.value(row), far_is_array);
            for near in of(&near.value(row), near_is_array).iter().filter(|near| self.is_asked(near)) {
                for far in &far {
                    nears.push(near);
                    fars.push(far);
                    rows.push(row as u32);
                }
            }
        }
        let mut answer = vec![nears.finish(), fars.finish(), key.gather(&rows)];
        answer.extend(properties.iter().map(|column| column.gather(&rows)));
        answer
    }
}

fn gathered(columns: Vec<Column>, kept: Vec<u32>, count: usize) -> Vec<Column> {
    if kept.len() == count {
        return columns;
    }
    columns.iter().map(|column| column.gather(&kept)).collect()
}

impl Reading for InPlaceReading {
    fn ask(&mut self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()> {
        for (number, question) in questions.iter().enumerate() {
            let mut stream = self.stream(question)?;
            InPlaceReading::run(&mut stream, &mut |columns| sink(number, columns))?;
        }
        Ok(())
    }

    fn start(&mut self, question: &Question<'_>) -> Result<StreamId> {
        let stream = self.stream(question)?;
        let id = self.streams_begun;
        self.streams_begun += 1;
        self.streams.insert(id, stream);
        Ok(StreamId(id))
    }

    fn more(&mut self, stream: StreamId, _rows: usize) -> Result<Option<Vec<Column>>> {
        let Some(open) = self.streams.get_mut(&stream.0) else { return Ok(None) };
        let columns = if open.counted.is_some() {
            let mut counted = None;
            InPlaceReading::run(open, &mut |columns| {
                counted = Some(columns);
                Ok(true)
            })?;
            self.streams.remove(&stream.0);
            return Ok(counted);
        } else {
            InPlaceReading::advance(open)?
        };
        if columns.is_none() {
            self.streams.remove(&stream.0);
        }
        Ok(columns)
    }

    fn stop(&mut self, stream: StreamId) {
        self.streams.remove(&stream.0);
    }
}

/// Columns of an end, for messages.
pub(super) fn end_names(end: &EndColumns) -> String {
    end.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}
