//! Runs edge programs with the states of nodes in files: accumulators of some columns in memory, and the states of one
//! interval after another.
//!
//! Cost: an iteration reads 4 bytes an edge (12 with weights), 8 bytes for each pair of an interval and a receiver, and
//! the states of all intervals once for each band of columns whose accumulators fit; nothing is written but new states.

use std::ops::Range;

use model::error::Result;

use super::plan::{Plan, Sizes};
use super::records::States;
use crate::graph::Graph;
use crate::parallel::map_tasks;
use crate::program::edge::EdgeProgram;
use crate::program::shards::{Shards, build};
use crate::program::{Context, Node};
use crate::scratch::plain::{Plain, place, push};
use crate::scratch::{Lanes, Spot, Stream};

/// Nodes and runs between two checks for interruption.
const CHECK_STEPS: u32 = 1 << 12;

/// Runs a program; gives the states, in files.
pub(crate) fn run<'a, P: EdgeProgram>(
    program: &mut P,
    graph: &Graph<'_>,
    context: &Context<'a>,
) -> Result<States<'a, P::State>> {
    let state = size_of::<P::State>().max(P::State::BYTES);
    let sizes = Sizes {
        state,
        receiver: 2 * (state + size_of::<Option<P::Accumulator>>()) + 6,
        edge: if P::USES_WEIGHTS { 16 } else { 8 },
        is_both_ways: false,
    };
    let (plan, held) = Plan::sized(sizes, graph, context)?;
    let shards = match P::USES_WEIGHTS {
        true => build::<f64>(graph, plan.layout, plan.bytes, context)?,
        false => build::<()>(graph, plan.layout, plan.bytes, context)?,
    };
    let pass = Pass { shards: &shards, plan: &plan, context };
    let (mut states, mut changed) = pass.start(program)?;
    let mut iteration = 0;
    while program.should_iterate(iteration, changed) {
        context.interrupt.check()?;
        context.interrupt.step(iteration, 0)?;
        (states, changed) = pass.iterate(program, &states)?;
        iteration += 1;
    }
    drop(held);
    Ok(states)
}

/// The data that stays the same from iteration to iteration.
struct Pass<'p, 'a> {
    shards: &'p Shards<'a>,
    plan: &'p Plan,
    context: &'p Context<'a>,
}

/// The nodes of an interval, whose edges are processed.
#[derive(Default)]
struct Sources<S> {
    first: usize,
    states: Vec<S>,
    marks: Vec<u8>,
}

/// The values that gather at the nodes of a column.
type Accumulators<P> = Vec<Option<<P as EdgeProgram>::Accumulator>>;

impl<'a> Pass<'_, 'a> {
    fn degrees(&self, nodes: &Range<usize>) -> Result<Vec<u32>> {
        let mut degrees = Vec::new();
        match &self.shards.sides[0].degrees {
            Some(file) => file.read_values::<u32>(nodes.start as u64, nodes.len(), &mut degrees)?,
            None => degrees.resize(nodes.len(), 0),
        }
        Ok(degrees)
    }

    /// Makes the first states; tells how many nodes are new.
    fn start<P: EdgeProgram>(&self, program: &P) -> Result<(States<'a, P::State>, u64)> {
        let lanes = Lanes::new(self.context.place(), self.plan.threads)?;
        let done = map_tasks(self.plan.threads, (0..self.shards.column_count()).collect(), |column| {
            let nodes = self.shards.column_nodes(column);
            let (mut out, mut marks) = (Vec::new(), Vec::with_capacity(nodes.len()));
            for (number, degree) in nodes.clone().zip(self.degrees(&nodes)?) {
                let node = Node { number: number as u32, degree };
                let state = program.start(node);
                marks.push(u8::from(program.is_new(node, &state)));
                push(state, &mut out);
            }
            let new = marks.iter().map(|&mark| u64::from(mark)).sum::<u64>();
            out.extend(marks);
            lanes.append(|file| file.append(&out).map(|()| new))
        });
        self.collect(lanes, done)
    }

    fn collect<S: Plain>(&self, lanes: Lanes<'a>, done: Vec<Result<(Spot, u64)>>) -> Result<(States<'a, S>, u64)> {
        let (mut spots, mut changed) = (Vec::with_capacity(done.len()), 0);
        for column in done {
            let (spot, more) = column?;
            spots.push(spot);
            changed += more;
        }
        Ok((States::new(lanes.into_files(), spots, self.shards.columns.clone()), changed))
    }

    /// Columns that are worked on at a time: as many as their accumulators fit into memory.
    fn bands<P: EdgeProgram>(&self) -> Vec<Range<usize>> {
        let room = (self.plan.half() / 2 / size_of::<Option<P::Accumulator>>()).max(1);
        let mut bands: Vec<Range<usize>> = Vec::new();
        for column in 0..self.shards.column_count() {
            match bands.last_mut() {
                Some(band) if (self.shards.columns[column + 1] - self.shards.columns[band.start]) as usize <= room => {
                    band.end = column + 1;
                }
                _ => bands.push(column..column + 1),
            }
        }
        bands
    }

    fn iterate<P: EdgeProgram>(
        &self,
        program: &P,
        states: &States<'a, P::State>,
    ) -> Result<(States<'a, P::State>, u64)> {
        let lanes = Lanes::new(self.context.place(), self.plan.threads)?;
        let mut done = Vec::with_capacity(self.shards.column_count());
        let mut sources = Sources::default();
        let mut loaded = None;
        for band in self.bands::<P>() {
            let mut gathered: Vec<Accumulators<P>> =
                band.clone().map(|column| vec![None; self.shards.column_nodes(column).len()]).collect();
            for row in 0..self.shards.layout.row_count() {
                if loaded != Some(row) {
                    sources = Sources { first: self.shards.layout.row_nodes(row).start, ..Sources::default() };
                    states.load(self.shards.row_columns(row), &mut sources.states, &mut sources.marks)?;
                    loaded = Some(row);
                }
                if P::ONLY_CHANGED && sources.marks.iter().all(|&mark| mark == 0) {
                    continue;
                }
                let tasks: Vec<_> = band.clone().zip(&mut gathered).collect();
                let parts = map_tasks(self.plan.threads, tasks, |(column, accumulators)| {
                    self.process(program, &sources, row, column, accumulators)
                });
                parts.into_iter().collect::<Result<()>>()?;
            }
            done.extend(map_tasks(self.plan.threads, band.zip(gathered).collect(), |(column, accumulators)| {
                let (out, changed) = self.update(program, states, column, accumulators)?;
                lanes.append(|file| file.append(&out).map(|()| changed))
            }));
        }
        self.collect(lanes, done)
    }

    /// Processes the edges from an interval to a column.
    fn process<P: EdgeProgram>(
        &self,
        program: &P,
        sources: &Sources<P::State>,
        row: usize,
        column: usize,
        accumulators: &mut [Option<P::Accumulator>],
    ) -> Result<()> {
        let (side, part) = (&self.shards.sides[0], self.shards.part(row, column));
        let (edges, first, buffer) =
            (side.edges(part), self.shards.columns[column], self.plan.half() / 2 / (3 * self.plan.threads));
        let buffer = buffer.min(super::plan::BUFFER_BYTES.1);
        let mut runs = side.runs(part, buffer);
        let mut numbers = Stream::of::<u32>(&side.senders, edges.clone(), buffer);
        let mut weights = side.weights.as_ref().map(|file| Stream::of::<f64>(file, edges, buffer));
        let mut until_check = CHECK_STEPS;
        while let Some((receiver, count)) = runs.next::<(u32, u32)>()? {
            let slot = &mut accumulators[(receiver - first) as usize];
            let mut left = count as usize;
            while left > 0 {
                let bytes = numbers.items(u32::BYTES, left)?;
                left -= bytes.len() / u32::BYTES;
                for number in bytes.chunks_exact(u32::BYTES) {
                    let at = u32::read_from(number) as usize - sources.first;
                    let weight = match &mut weights {
                        Some(weights) => weights.next::<f64>()?.unwrap_or(1.0),
                        None => 1.0,
                    };
                    if !P::ONLY_CHANGED || sources.marks[at] != 0 {
                        program.process_edge(&sources.states[at], weight, slot.get_or_insert_default());
                    }
                }
            }
            until_check -= 1;
            if until_check == 0 {
                self.context.interrupt.check()?;
                until_check = CHECK_STEPS;
            }
        }
        Ok(())
    }

    /// The new states of a column with their marks, and how many nodes changed.
    fn update<P: EdgeProgram>(
        &self,
        program: &P,
        states: &States<'a, P::State>,
        column: usize,
        accumulators: Accumulators<P>,
    ) -> Result<(Vec<u8>, u64)> {
        let nodes = self.shards.column_nodes(column);
        let before = states.read(column)?;
        let (mut out, mut marks) = (Vec::with_capacity(before.len() + nodes.len()), Vec::with_capacity(nodes.len()));
        let degrees = self.degrees(&nodes)?;
        for ((at, number), accumulator) in nodes.enumerate().zip(accumulators) {
            let mut state = P::State::read_from(&before[place::<P::State>(at)]);
            let mut is_changed = false;
            if !P::ONLY_CHANGED || accumulator.is_some() {
                let node = Node { number: number as u32, degree: degrees[at] };
                is_changed = program.update_node(node, &mut state, accumulator.unwrap_or_default());
            }
            marks.push(u8::from(is_changed));
            push(state, &mut out);
        }
        let changed = marks.iter().map(|&mark| u64::from(mark)).sum();
        out.extend(marks);
        Ok((out, changed))
    }
}
