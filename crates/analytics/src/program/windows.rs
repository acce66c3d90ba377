//! Runs vertex programs: the states of nodes and the values on edges lie in files, and are read in windows.
//!
//! An iteration goes twice over the edges. *Scatter* takes interval after interval: with the states of its nodes in
//! memory, it reads over which edges they send, in order, and writes a value for each, in order. *Gather* takes column
//! after column: it reads side by side the windows of all rows that lead to its nodes, in order of the nodes.
//!
//! Cost, in one iteration: scatter reads 4 bytes an edge (12 with weights) and writes a value, gather reads the value;
//! both read 8 bytes for each pair of an interval and a receiver, and the states of nodes twice. Rows without a node that
//! changed, and columns that receive nothing new, are passed over if the program allows it.
//! Invariant: nodes gather in the order of senders, forward edges before reversed ones, whatever the memory and threads.

pub(crate) mod edges;
mod plan;
mod records;

use std::sync::atomic::{AtomicBool, Ordering};

use model::error::Result;

use super::shards::{EdgeSide, Shards};
use super::vertex::VertexProgram;
use super::{Context, Edge, Node};
use crate::parallel::map_tasks;
use crate::scratch::plain::{Plain, place, push};
use crate::scratch::{Lanes, Scratch, Spot, Stream};

pub(crate) use plan::Plan;
pub use records::States;

/// Nodes and edges between two checks for interruption.
const CHECK_STEPS: u32 = 1 << 12;

/// The values that lie on the edges of a row, part by part.
struct Values<'a> {
    files: Vec<Scratch<'a>>,
    spots: Vec<Spot>,
}

/// The nodes of an interval, loaded to send.
struct Senders<S> {
    first: usize,
    states: Vec<S>,
    marks: Vec<u8>,
    degrees: Vec<u32>,
}

/// A run under way.
pub(crate) struct Machine<'m, 'a, P: VertexProgram> {
    shards: &'m Shards<'a>,
    plan: &'m Plan,
    context: &'m Context<'a>,
    states: States<'a, P::State>,
    /// For each side and row, what lies on its edges; none before they have sent.
    values: Vec<Option<Values<'a>>>,
    /// For each column, whether it receives from a node that has changed.
    touched: Vec<AtomicBool>,
}

impl<'m, 'a, P: VertexProgram> Machine<'m, 'a, P> {
    pub(crate) fn new(shards: &'m Shards<'a>, plan: &'m Plan, context: &'m Context<'a>) -> Result<Machine<'m, 'a, P>> {
        Ok(Machine {
            shards,
            plan,
            context,
            states: States::new(Vec::new(), Vec::new(), shards.columns.clone()),
            values: (0..shards.sides.len() * shards.layout.row_count()).map(|_| None).collect(),
            touched: (0..shards.column_count()).map(|_| AtomicBool::new(false)).collect(),
        })
    }

    pub(crate) fn into_states(self) -> States<'a, P::State> {
        self.states
    }

    /// Makes the first states; tells how many nodes are new, and the totals.
    pub(crate) fn start(&mut self, program: &P) -> Result<(u64, P::Total)> {
        let (states, new, totals) = self.renewed(|column, out| {
            let nodes = self.shards.column_nodes(column);
            let degrees = self.degrees(nodes.start, nodes.len())?;
            let mut totals = P::Total::default();
            let mut marks = Vec::with_capacity(nodes.len());
            for (number, degree) in nodes.zip(degrees) {
                let node = Node { number: number as u32, degree };
                let state = program.start(node, &mut totals);
                marks.push(u8::from(program.is_new(node, &state)));
                push(state, out);
            }
            let new = marks.iter().map(|&mark| u64::from(mark)).sum();
            out.extend(marks);
            Ok((new, totals))
        })?;
        self.states = states;
        Ok((new, totals))
    }

    /// Makes the states of all columns anew; `make` adds those of one column and a mark for each node.
    fn renewed(
        &self,
        make: impl Fn(usize, &mut Vec<u8>) -> Result<(u64, P::Total)> + Sync,
    ) -> Result<(States<'a, P::State>, u64, P::Total)> {
        let lanes = Lanes::new(self.context.place(), self.plan.threads)?;
        let columns: Vec<usize> = (0..self.shards.column_count()).collect();
        let done = map_tasks(self.plan.threads, columns, |column| {
            self.context.interrupt.check()?;
            lanes.append(|file| {
                let mut bytes = Vec::new();
                let figures = make(column, &mut bytes)?;
                file.append(&bytes)?;
                Ok(figures)
            })
        });
        let mut spots = Vec::with_capacity(done.len());
        let (mut changed, mut totals) = (0, P::Total::default());
        for column in done {
            let (spot, (more, total)) = column?;
            spots.push(spot);
            changed += more;
            totals += total;
        }
        Ok((States::new(lanes.into_files(), spots, self.shards.columns.clone()), changed, totals))
    }

    /// Over how many edges some nodes send.
    fn degrees(&self, first: usize, count: usize) -> Result<Vec<u32>> {
        let mut sum = vec![0; count];
        let mut degrees = Vec::new();
        for file in self.shards.sides.iter().filter_map(|side| side.degrees.as_ref()) {
            file.read_values::<u32>(first as u64, count, &mut degrees)?;
            sum.iter_mut().zip(&degrees).for_each(|(sum, degree)| *sum += degree);
        }
        Ok(sum)
    }

    /// Lets nodes send; those of rows without a node that changed need not.
    pub(crate) fn scatter(&mut self, program: &P) -> Result<()> {
        self.touched.iter_mut().for_each(|touched| *touched.get_mut() = false);
        for row in 0..self.shards.layout.row_count() {
            let nodes = self.shards.layout.row_nodes(row);
            let (mut states, mut marks) = (Vec::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
            self.states.load(self.shards.row_columns(row), &mut states, &mut marks)?;
            if P::ONLY_CHANGED && marks.iter().all(|&mark| mark == 0) {
                continue;
            }
            let degrees = self.degrees(nodes.start, nodes.len())?;
            let senders = Senders { first: nodes.start, states, marks, degrees };
            for side in 0..self.shards.sides.len() {
                let at = side * self.shards.layout.row_count() + row;
                let values = self.scatter_row(program, side, row, &senders)?;
                self.values[at] = Some(values);
            }
        }
        Ok(())
    }

    fn scatter_row(&self, program: &P, side: usize, row: usize, senders: &Senders<P::State>) -> Result<Values<'a>> {
        let lanes = Lanes::new(self.context.place(), self.plan.send_threads)?;
        let before = self.values[side * self.shards.layout.row_count() + row].as_ref();
        let columns: Vec<usize> = (0..self.shards.column_count()).collect();
        let side = &self.shards.sides[side];
        let done = map_tasks(self.plan.send_threads, columns, |column| {
            let part = self.shards.part(row, column);
            if side.edges(part).is_empty() {
                return Ok((0, 0));
            }
            let (spot, is_touched) = lanes.append(|file| {
                let before =
                    before.map(|values| (&values.files[values.spots[column].0 as usize], values.spots[column].1));
                let mut sending = Sending { program, side, senders, file, out: Vec::new(), is_touched: false };
                sending.part(part, before, self.plan.send_buffer, self.context)?;
                Ok(sending.is_touched)
            })?;
            if is_touched {
                self.touched[column].store(true, Ordering::Relaxed);
            }
            Ok(spot)
        });
        Ok(Values { spots: done.into_iter().collect::<Result<_>>()?, files: lanes.into_files() })
    }

    /// Lets nodes receive and be updated; tells how many changed, and the totals.
    pub(crate) fn gather(&mut self, program: &P) -> Result<(u64, P::Total)> {
        let (states, changed, totals) = self.renewed(|column, out| {
            if P::ONLY_CHANGED && !self.touched[column].load(Ordering::Relaxed) {
                out.extend(self.states.read(column)?);
                out.resize(out.len() + self.shards.column_nodes(column).len(), 0);
                return Ok((0, P::Total::default()));
            }
            self.gather_column(program, column, out)
        })?;
        self.states = states;
        Ok((changed, totals))
    }

    fn gather_column(&self, program: &P, column: usize, out: &mut Vec<u8>) -> Result<(u64, P::Total)> {
        let nodes = self.shards.column_nodes(column);
        let degrees = self.degrees(nodes.start, nodes.len())?;
        let mut windows = self.windows(column)?;
        let before = self.states.read(column)?;
        let mut marks = vec![0_u8; nodes.len()];
        let (mut changed, mut totals) = (0, P::Total::default());
        let mut gathered = P::Gathered::default();
        let mut until_check = CHECK_STEPS;
        out.reserve_exact(before.len() + marks.len());
        for (at, number) in nodes.enumerate() {
            program.clear(&mut gathered);
            for window in &mut windows {
                if window.receiver == number as u32 {
                    window.receive(program, &mut gathered)?;
                }
            }
            let mut state = P::State::read_from(&before[place::<P::State>(at)]);
            let node = Node { number: number as u32, degree: degrees[at] };
            if program.apply(node, &mut state, &mut gathered, &mut totals) {
                marks[at] = 1;
                changed += 1;
            }
            push(state, out);
            until_check -= 1;
            if until_check == 0 {
                self.context.interrupt.check()?;
                until_check = CHECK_STEPS;
            }
        }
        out.extend(marks);
        Ok((changed, totals))
    }

    /// The windows of all rows that lead to a column.
    fn windows(&self, column: usize) -> Result<Vec<Window<'_, 'a>>> {
        let mut windows = Vec::new();
        for (side, edges) in self.shards.sides.iter().enumerate() {
            for row in 0..self.shards.layout.row_count() {
                let part = self.shards.part(row, column);
                let count = edges.edges(part).end - edges.edges(part).start;
                let values = self.values[side * self.shards.layout.row_count() + row].as_ref();
                let (Some(values), true) = (values, count > 0) else { continue };
                let (file, start) = values.spots[column];
                let bytes = start..start + count * P::Value::BYTES as u64;
                let mut window = Window {
                    runs: edges.runs(part, self.plan.receive_buffer),
                    values: Stream::new(&values.files[file as usize], bytes, self.plan.receive_buffer),
                    receiver: NOBODY,
                    count: 0,
                };
                window.advance()?;
                windows.push(window);
            }
        }
        Ok(windows)
    }
}

/// The receiver of a window that is used up.
const NOBODY: u32 = u32::MAX;

/// A part of a row, read by those who receive.
struct Window<'f, 'a> {
    runs: Stream<'f, 'a>,
    values: Stream<'f, 'a>,
    /// The next receiver, and the number of edges over which it receives.
    receiver: u32,
    count: u32,
}

impl Window<'_, '_> {
    fn advance(&mut self) -> Result<()> {
        (self.receiver, self.count) = self.runs.next::<(u32, u32)>()?.unwrap_or((NOBODY, 0));
        Ok(())
    }

    /// Gives a node what is for it.
    #[inline]
    fn receive<P: VertexProgram>(&mut self, program: &P, gathered: &mut P::Gathered) -> Result<()> {
        let mut left = self.count as usize;
        if P::Value::BYTES == 0 {
            (0..left).for_each(|_| program.gather(gathered, P::Value::default()));
            left = 0;
        }
        while left > 0 {
            let bytes = self.values.items(P::Value::BYTES, left)?;
            left -= bytes.len() / P::Value::BYTES;
            for value in bytes.chunks_exact(P::Value::BYTES) {
                program.gather(gathered, P::Value::read_from(value));
            }
        }
        self.advance()
    }
}

/// A part of a row, written by those who send.
struct Sending<'s, 'a, P: VertexProgram> {
    program: &'s P,
    side: &'s EdgeSide<'a>,
    senders: &'s Senders<P::State>,
    file: &'s mut Scratch<'a>,
    out: Vec<u8>,
    is_touched: bool,
}

impl<P: VertexProgram> Sending<'_, '_, P> {
    /// Sends over all edges of a part; `before` is where the values lie that were sent before.
    fn part(
        &mut self,
        part: usize,
        before: Option<(&Scratch<'_>, u64)>,
        buffer_bytes: usize,
        context: &Context<'_>,
    ) -> Result<()> {
        let edges = self.side.edges(part);
        let mut runs = self.side.runs(part, buffer_bytes);
        let mut numbers = Stream::of::<u32>(&self.side.senders, edges.clone(), buffer_bytes);
        let mut weights = self.side.weights.as_ref().map(|file| Stream::of::<f64>(file, edges.clone(), buffer_bytes));
        let mut before = before.filter(|_| P::USES_VALUES && P::Value::BYTES > 0).map(|(file, start)| {
            Stream::new(file, start..start + (edges.end - edges.start) * P::Value::BYTES as u64, buffer_bytes)
        });
        let mut until_check = CHECK_STEPS;
        while let Some((receiver, count)) = runs.next::<(u32, u32)>()? {
            let mut left = count as usize;
            while left > 0 {
                let bytes = numbers.items(u32::BYTES, left)?;
                left -= bytes.len() / u32::BYTES;
                for number in bytes.chunks_exact(u32::BYTES) {
                    let weight = match &mut weights {
                        Some(weights) => weights.next::<f64>()?.unwrap_or(1.0),
                        None => 1.0,
                    };
                    let before = match &mut before {
                        Some(before) => before.next::<P::Value>()?.unwrap_or_default(),
                        None => P::Value::default(),
                    };
                    self.send(u32::read_from(number), receiver, weight, before);
                }
                if self.out.len() >= buffer_bytes {
                    self.file.append(&self.out)?;
                    self.out.clear();
                }
            }
            until_check -= 1;
            if until_check == 0 {
                context.interrupt.check()?;
                until_check = CHECK_STEPS;
            }
        }
        self.file.append(&self.out)
    }

    #[inline]
    fn send(&mut self, sender: u32, receiver: u32, weight: f64, before: P::Value) {
        let at = sender as usize - self.senders.first;
        let is_changed = self.senders.marks[at] != 0;
        self.is_touched |= is_changed;
        let value = if P::ONLY_CHANGED && P::USES_VALUES && !is_changed {
            before
        } else {
            let node = Node { number: sender, degree: self.senders.degrees[at] };
            let edge = Edge { neighbor: receiver, weight, is_reversed: self.side.is_reversed };
            self.program.scatter(node, &self.senders.states[at], edge, before)
        };
        push(value, &mut self.out);
    }
}
