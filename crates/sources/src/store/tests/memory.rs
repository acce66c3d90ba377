//! A connector over rows in memory, which fails and changes when a test wants it to.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use model::{Column, ColumnBuilder, Direction, Map, Result, Value};

use crate::connector::{
    Abilities, Change, Condition, Connector, EdgeKeys, Facts, OnCourse, Question, Reading, RowsSink, StreamId, Which,
    Writing,
};
use crate::definition::{EndNode, GraphDefinition};

/// Rows of all kinds. A node's key comes before its properties; an edge's ends and key before its.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) nodes: Vec<Vec<Vec<Value>>>,
    pub(super) edges: Vec<Vec<Vec<Value>>>,
}

/// The database.
pub(super) struct MemoryConnector {
    pub(super) definition: Arc<GraphDefinition>,
    pub(super) rows: Arc<Mutex<Arc<Rows>>>,
    pub(super) abilities: Abilities,
    pub(super) facts: Facts,
    pub(super) state: Arc<State>,
}

/// State that tests look at and set.
#[derive(Debug)]
pub(super) struct State {
    /// Questions that were asked.
    pub(super) questions: AtomicU64,
    /// Round trips that still succeed; negative for all.
    pub(super) good_trips: AtomicI64,
    /// Transactions can be undone in part.
    pub(super) has_marks: AtomicBool,
    /// The most kinds and ways of edges that a question followed.
    pub(super) along: AtomicU64,
    /// The gate at which the next round trip waits twice: once its snapshot is there, and before it answers.
    pub(super) gate: Mutex<Option<Arc<Barrier>>>,
    /// The boxes of the questions by boxes.
    pub(super) boxes: Mutex<Vec<Vec<(f64, f64)>>>,
}

impl MemoryConnector {
    pub(super) fn new(definition: Arc<GraphDefinition>, rows: Rows, abilities: Abilities, facts: Facts) -> Self {
        let state = State {
            questions: AtomicU64::new(0),
            good_trips: AtomicI64::new(-1),
            has_marks: AtomicBool::new(true),
            along: AtomicU64::new(0),
            gate: Mutex::default(),
            boxes: Mutex::default(),
        };
        let rows = Arc::new(Mutex::new(Arc::new(rows)));
        MemoryConnector { definition, rows, abilities, facts, state: Arc::new(state) }
    }

    fn reading(&self) -> MemoryReading {
        MemoryReading {
            definition: self.definition.clone(),
            shared: self.rows.clone(),
            rows: self.rows.lock().unwrap().clone(),
            state: self.state.clone(),
            streams: Map::default(),
            next: 0,
            marks: Vec::new(),
            sent: None,
        }
    }
}

impl Connector for MemoryConnector {
    fn abilities(&self) -> Abilities {
        self.abilities
    }

    fn facts(&self) -> Result<Facts> {
        Ok(self.facts.clone())
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(self.reading()))
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        match self.abilities.writes {
            true => Ok(Box::new(self.reading())),
            false => Err(model::error!(ReadOnly, "memory: cannot be written")),
        }
    }

    fn statement(&self, question: &Question<'_>) -> Option<String> {
        Some(match question {
            Question::Nodes { kind, .. } => format!("nodes {kind}"),
            Question::Edges { kind, direction, .. } => format!("edges {kind} {direction:?}"),
            Question::CountNodes { kind, .. } => format!("count nodes {kind}"),
            Question::CountEdges { kind } => format!("count edges {kind}"),
            Question::Pattern(_) => return None,
        })
    }

    fn name(&self) -> &str {
        "memory"
    }
}

struct MemoryReading {
    definition: Arc<GraphDefinition>,
    shared: Arc<Mutex<Arc<Rows>>>,
    rows: Arc<Rows>,
    state: Arc<State>,
    streams: Map<u64, Vec<Vec<Value>>>,
    next: u64,
    marks: Vec<(u64, Arc<Rows>)>,
    /// Answers to what was sent.
    sent: Option<Vec<(usize, Vec<Column>)>>,
}

fn columns(rows: &[Vec<Value>], width: usize) -> Vec<Column> {
    let mut builders = vec![ColumnBuilder::default(); width];
    for row in rows {
        builders.iter_mut().zip(row).for_each(|(builder, value)| builder.push(value));
    }
    builders.into_iter().map(ColumnBuilder::finish).collect()
}

fn holds(condition: &Condition, properties: &[Value]) -> bool {
    condition.holds(&|&property| properties[property].clone())
}

impl MemoryReading {
    fn trip(&self) -> Result<()> {
        if self.state.good_trips.load(Ordering::Relaxed) == 0 {
            return Err(model::error!(Source, "the connection was closed"));
        }
        self.state.good_trips.fetch_sub(1, Ordering::Relaxed);
        let gate = self.state.gate.lock().unwrap().take();
        if let Some(gate) = gate {
            gate.wait();
            gate.wait();
        }
        Ok(())
    }

    fn kind_at(&self, edge: usize, direction: Direction, is_near: bool) -> Option<usize> {
        let kind = &self.definition.edges[edge];
        match if (direction == Direction::Out) == is_near { &kind.source.node } else { &kind.target.node } {
            EndNode::Kind(kind) => Some(*kind),
            EndNode::Foreign { .. } => None,
        }
    }

    /// The nodes that can be reached, by kind.
    fn within(&self, which: &Which<'_>) -> BTreeSet<(usize, Value)> {
        let Which::Within { starts, along, depth, limit } = which else { return BTreeSet::new() };
        self.state.along.fetch_max(along.len() as u64, Ordering::Relaxed);
        let mut reached: BTreeSet<(usize, Value)> =
            starts.iter().flat_map(|(kind, keys)| keys.values().map(|key| (*kind, key))).collect();
        for _ in 0..*depth {
            let mut next = reached.clone();
            for &(edge, direction) in *along {
                let (near, far) = (self.kind_at(edge, direction, true), self.kind_at(edge, direction, false));
                let (Some(near), Some(far)) = (near, far) else { continue };
                for row in &self.rows.edges[edge] {
                    let (a, b) = if direction == Direction::Out { (&row[0], &row[1]) } else { (&row[1], &row[0]) };
                    if reached.contains(&(near, a.clone())) && !b.is_null() && next.len() < *limit as usize {
                        next.insert((far, b.clone()));
                    }
                }
            }
            reached = next;
        }
        reached
    }

    /// The nodes that are followed, and those that are met.
    fn on_course(&self, on: &OnCourse<'_>) -> (BTreeSet<Value>, BTreeSet<Value>) {
        let (edge, direction) = on.along;
        let number = |value: &Value| if let Value::Float(number) = value { *number } else { f64::NAN };
        let order = |key: &Value| {
            let row = self.rows.nodes[on.kind].iter().find(|row| row[0] == *key)?;
            let [latitude, longitude] = on.properties.map(|property| number(&row[1 + property]));
            Some(on.course.order_at(latitude, longitude)).filter(|order| order.is_finite())
        };
        let mut waiting: Vec<(f64, Value)> = on.orders.iter().copied().zip(on.starts.values()).collect();
        let mut seen: BTreeSet<Value> = on.starts.values().chain(on.known.values()).collect();
        let (mut followed, mut met) = (BTreeSet::new(), BTreeSet::new());
        while followed.len() < on.limit as usize && !waiting.is_empty() {
            waiting.sort_by(|a, b| b.0.total_cmp(&a.0));
            let (_, near) = waiting.pop().unwrap();
            for row in &self.rows.edges[edge] {
                let (a, b) = if direction == Direction::Out { (&row[0], &row[1]) } else { (&row[1], &row[0]) };
                if *a == near && !b.is_null() && seen.insert(b.clone()) {
                    met.insert(b.clone());
                    waiting.extend(order(b).map(|order| (order, b.clone())));
                }
            }
            followed.insert(near);
        }
        (followed, met)
    }

    fn nodes(&self, kind: usize, which: &Which<'_>) -> Vec<Vec<Value>> {
        let rows = self.rows.nodes[kind].iter();
        match which {
            Which::All => rows.cloned().collect(),
            Which::Keys(keys) => {
                let keys: BTreeSet<Value> = keys.values().collect();
                assert!(!keys.iter().any(Value::is_null), "keys are not null");
                rows.filter(|row| keys.contains(&row[0])).cloned().collect()
            }
            Which::Where(conditions) => {
                rows.filter(|row| conditions.iter().all(|condition| holds(condition, &row[1..]))).cloned().collect()
            }
            Which::Boxes { properties, boxes } => {
                let number = |value: &Value| match value {
                    Value::Int(number) => *number as f64,
                    Value::Float(number) => *number,
                    _ => f64::NAN,
                };
                let is_in = |row: &[Value], sides: &[(f64, f64)]| {
                    let mut sides = properties.iter().zip(sides);
                    sides.all(|(&property, &(low, high))| (low..=high).contains(&number(&row[1 + property])))
                };
                self.state.boxes.lock().unwrap().extend(boxes.iter().cloned());
                rows.filter(|row| boxes.iter().any(|sides| is_in(row, sides))).cloned().collect()
            }
            Which::Within { .. } => {
                let reached = self.within(which);
                rows.filter(|row| reached.contains(&(kind, row[0].clone()))).cloned().collect()
            }
            Which::OnCourse(on) => {
                let met = self.on_course(on).1;
                rows.filter(|row| met.contains(&row[0])).cloned().collect()
            }
        }
    }

    fn edges(&self, edge: usize, direction: Direction, of: &Which<'_>) -> Vec<Vec<Value>> {
        let near = if direction == Direction::Out { 0 } else { 1 };
        let rows = self.rows.edges[edge].iter().filter(|row| !row[0].is_null() && !row[1].is_null());
        let rows = rows.map(|row| {
            let mut row = row.clone();
            row.swap(0, near);
            row
        });
        match of {
            Which::All => rows.collect(),
            Which::Keys(keys) => {
                let distinct: BTreeSet<Value> = keys.values().collect();
                assert_eq!(distinct.len(), keys.len(), "each key stands once");
                let keys = distinct;
                rows.filter(|row| keys.contains(&row[0])).collect()
            }
            Which::Where(conditions) => {
                rows.filter(|row| conditions.iter().all(|condition| holds(condition, &row[3..]))).collect()
            }
            Which::OnCourse(on) => {
                let followed = self.on_course(on).0;
                rows.filter(|row| followed.contains(&row[0])).collect()
            }
            Which::Boxes { .. } | Which::Within { .. } => {
                let Some(kind) = self.kind_at(edge, direction, true) else { return Vec::new() };
                let reached: BTreeSet<Value> = if let Which::Within { .. } = of {
                    self.within(of).into_iter().filter(|(other, _)| *other == kind).map(|(_, key)| key).collect()
                } else {
                    self.nodes(kind, of).into_iter().map(|mut row| row.remove(0)).collect()
                };
                rows.filter(|row| reached.contains(&row[0])).collect()
            }
        }
    }

    /// The rows of an answer, and how many columns they have.
    fn answer(&self, question: &Question<'_>) -> (Vec<Vec<Value>>, usize) {
        let pick = |row: Vec<Value>, fixed: usize, properties: &[usize]| -> Vec<Value> {
            let rest: Vec<Value> = properties.iter().map(|&property| row[fixed + property].clone()).collect();
            row[..fixed].iter().cloned().chain(rest).collect()
        };
        match question {
            Question::Nodes { kind, which, properties, order, limit } => {
                let mut rows = self.nodes(*kind, which);
                rows.sort_by(|a, b| {
                    let by = order.iter().map(|&(at, way)| way.of(a[1 + at].order(&b[1 + at])));
                    by.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
                });
                rows.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
                (rows.into_iter().map(|row| pick(row, 1, properties)).collect(), 1 + properties.len())
            }
            Question::Edges { kind, direction, of, properties } => {
                let rows = self.edges(*kind, *direction, of).into_iter();
                (rows.map(|row| pick(row, 3, properties)).collect(), 3 + properties.len())
            }
            Question::CountNodes { kind, which } => (vec![vec![Value::Int(self.nodes(*kind, which).len() as i64)]], 1),
            Question::CountEdges { kind } => {
                (vec![vec![Value::Int(self.edges(*kind, Direction::Out, &Which::All).len() as i64)]], 1)
            }
            Question::Pattern(_) => unreachable!("the connector has no statement for it"),
        }
    }
}

impl Reading for MemoryReading {
    fn send(&mut self, questions: &[Question<'_>]) -> Result<bool> {
        assert!(self.sent.is_none(), "what was sent is received before more is");
        self.trip()?;
        let answers = questions.iter().enumerate().map(|(number, question)| (number, self.answer(question)));
        let answers = answers.filter(|(_, (rows, _))| !rows.is_empty());
        self.sent = Some(answers.map(|(number, (rows, width))| (number, columns(&rows, width))).collect());
        Ok(true)
    }

    fn receive(&mut self, sink: &mut RowsSink<'_>) -> Result<()> {
        let sent = self.sent.take().expect("something was sent");
        sent.into_iter().try_for_each(|(number, columns)| sink(number, columns).map(drop))
    }

    fn ask(&mut self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()> {
        assert!(self.sent.is_none(), "what was sent is received before something else is asked");
        self.trip()?;
        self.state.questions.fetch_add(questions.len() as u64, Ordering::Relaxed);
        // The answers come in small pieces, those of all questions by turns.
        let mut answers: Vec<_> = questions.iter().map(|question| self.answer(question)).collect();
        while answers.iter().any(|(rows, _)| !rows.is_empty()) {
            for (number, (rows, width)) in answers.iter_mut().enumerate() {
                let rest = rows.split_off(rows.len().min(7));
                if !rows.is_empty() && !sink(number, columns(rows, *width))? {
                    rows.clear();
                    continue;
                }
                *rows = rest;
            }
        }
        Ok(())
    }

    fn start(&mut self, question: &Question<'_>) -> Result<StreamId> {
        let (mut rows, _) = self.answer(question);
        rows.reverse();
        self.next += 1;
        self.streams.insert(self.next, rows);
        Ok(StreamId(self.next))
    }

    fn more(&mut self, stream: StreamId, rows: usize) -> Result<Option<Vec<Column>>> {
        self.trip()?;
        let left = self.streams.get_mut(&stream.0).expect("the stream is open");
        let taken: Vec<Vec<Value>> = (0..rows).map_while(|_| left.pop()).collect();
        Ok((!taken.is_empty()).then(|| columns(&taken, taken[0].len())))
    }

    fn stop(&mut self, stream: StreamId) {
        assert!(self.streams.remove(&stream.0).is_some(), "only open streams are stopped");
    }
}

impl MemoryReading {
    /// The rows of edges that are named.
    fn named(&self, edge: usize, edges: &EdgeKeys<'_>) -> Vec<usize> {
        let rows = &self.rows.edges[edge];
        let named = (0..edges.sources.len()).filter_map(|at| {
            let name = [edges.sources.value(at), edges.targets.value(at), edges.keys.value(at)];
            rows.iter().position(|row| row[..3] == name)
        });
        named.collect()
    }
}

impl Writing for MemoryReading {
    fn change(&mut self, change: &Change<'_>) -> Result<Column> {
        let mut rows = (*self.rows).clone();
        let mut keys = Vec::new();
        match change {
            Change::InsertNodes { kind, count, properties } => {
                let width = self.definition.nodes[*kind].properties.len();
                for at in 0..*count {
                    let mut row = vec![Value::Null; 1 + width];
                    for (property, column) in *properties {
                        row[1 + property] = column.value(at);
                        if self.definition.nodes[*kind].properties[*property].column
                            == self.definition.nodes[*kind].key[0]
                        {
                            row[0] = column.value(at);
                        }
                    }
                    if rows.nodes[*kind].iter().any(|other| other[0] == row[0]) {
                        return Err(model::error!(Constraint, "key {} is taken", row[0]));
                    }
                    keys.push(row[0].clone());
                    rows.nodes[*kind].push(row);
                }
            }
            Change::InsertEdges { kind, sources, targets, properties } => {
                let width = self.definition.edges[*kind].properties.len();
                let has_key = !self.definition.edges[*kind].key.is_empty();
                for at in 0..sources.len() {
                    let key =
                        if has_key { Value::Int(1_000_000 + rows.edges[*kind].len() as i64) } else { Value::Null };
                    let mut row = vec![sources.value(at), targets.value(at), key.clone()];
                    row.resize(3 + width, Value::Null);
                    properties.iter().for_each(|(property, column)| row[3 + property] = column.value(at));
                    keys.push(key);
                    rows.edges[*kind].push(row);
                }
            }
            Change::UpdateNodes { kind, keys, property, values } => {
                for (key, value) in keys.values().zip(values.values()) {
                    let row = rows.nodes[*kind].iter_mut().find(|row| row[0] == key);
                    row.expect("a node that is there")[1 + property] = value;
                }
            }
            Change::UpdateEdges { kind, edges, property, values } => {
                for (at, value) in self.named(*kind, edges).into_iter().zip(values.values()) {
                    rows.edges[*kind][at][3 + property] = value;
                }
            }
            Change::DeleteNodes { kind, keys } => {
                let keys: Vec<Value> = keys.values().collect();
                rows.nodes[*kind].retain(|row| !keys.contains(&row[0]));
            }
            Change::DeleteEdges { kind, edges } => {
                let name = |at: usize| [edges.sources.value(at), edges.targets.value(at), edges.keys.value(at)];
                let names: Vec<[Value; 3]> = (0..edges.sources.len()).map(name).collect();
                rows.edges[*kind].retain(|row| !names.iter().any(|name| row[..3] == *name));
            }
        }
        self.rows = Arc::new(rows);
        Ok(Column::from_values(&keys))
    }

    fn mark(&mut self, number: u64) -> Result<bool> {
        if self.state.has_marks.load(Ordering::Relaxed) {
            self.marks.push((number, self.rows.clone()));
        }
        Ok(self.state.has_marks.load(Ordering::Relaxed))
    }

    fn undo_to(&mut self, number: u64) -> Result<()> {
        let at = self.marks.iter().rposition(|(other, _)| *other == number).expect("a mark that was made");
        self.marks.truncate(at + 1);
        self.rows = self.marks[at].1.clone();
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.trip()?;
        *self.shared.lock().unwrap() = self.rows;
        Ok(())
    }
}
