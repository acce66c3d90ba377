//! A subject of known costs, with faults that can be planted: what is found of it is what was put into it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use model::mix::mix64;
use model::{Direction, Result, error};
use testing::simulation::SetClock;

use super::{Call, Choice, Counts, Description, Start, Subject};
use crate::generate::barabasi_ends;
use crate::operations::{Filter, Operation, StatementName, Way};
use crate::random::Stream;

/// Names of the statements.
pub(crate) const STATEMENTS: [&str; 2] = ["from each start", "always the same"];
/// Nodes of a block.
const BLOCK_NODES: u64 = 64;

/// Nanoseconds of the parts of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    pub(crate) call: f64,
    pub(crate) node: f64,
    pub(crate) edge_by_id: f64,
    pub(crate) neighborhood: f64,
    pub(crate) edge: f64,
    pub(crate) unique_node: f64,
    pub(crate) property: f64,
    /// A use of a block by a neighbourhood.
    pub(crate) block: f64,
    pub(crate) miss: f64,
    pub(crate) statement: f64,
    pub(crate) write: f64,
    pub(crate) commit: f64,
}

/// Faults that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The first neighbour costs as much as all.
    FirstIsAll,
    /// The direction against edges costs three times as much.
    SlowIn,
    /// A property costs ten nodes.
    SlowProperty,
    /// Each neighbourhood costs a call of its own, and each node found is read.
    NoAmortization,
    /// Statements over neighbourhoods cost four times the calls.
    SlowStatements,
    /// Reads from more nodes than these cost four times as much.
    Cliff(u64),
    /// Blocks that were read are read again.
    UselessCache,
    /// Cold reads cost a thousand times as much.
    SlowDisk,
    /// A commit costs a thousand writes.
    SlowCommit,
    /// An edge that is added costs ten that are loaded.
    SlowIncrement,
}

/// Time as it passes on a large graph: on a clock that calls set.
#[derive(Clone, Debug)]
pub(crate) struct SlowTime {
    pub(crate) clock: Arc<SetClock>,
    /// Times that a call takes what it takes by its costs; with cold caches, more.
    pub(crate) hot: f64,
    pub(crate) cold: f64,
    /// Nanoseconds of emptying caches, and of the scan.
    pub(crate) cool_ns: u64,
    pub(crate) scan_ns: u64,
    /// An operation that never gives an answer.
    pub(crate) stuck: Option<Operation>,
    /// Turn of the start from which two hops out never give an answer.
    pub(crate) stuck_after: Option<usize>,
    pub(crate) can_cool: bool,
}

pub(crate) struct Synthetic {
    lists: [Vec<Vec<u64>>; 2],
    pub(crate) costs: Costs,
    faults: Vec<Fault>,
    cached: BTreeSet<u64>,
    window: u64,
    calls: u64,
    differs: bool,
    is_copy: bool,
    has_no_copy: bool,
    has_statements: bool,
    time: Option<SlowTime>,
    limit: Duration,
    is_warm: bool,
}

impl Synthetic {
    /// A subject without faults on a Barabási–Albert graph.
    pub(crate) fn new(nodes: u64, per_node: u64) -> Synthetic {
        let mut lists = [vec![Vec::new(); nodes as usize], vec![Vec::new(); nodes as usize]];
        for (source, target) in barabasi_ends(nodes, per_node) {
            lists[0][source as usize].push(target);
            lists[1][target as usize].push(source);
        }
        let costs = Costs {
            call: 300.0,
            node: 200.0,
            edge_by_id: 150.0,
            neighborhood: 120.0,
            edge: 20.0,
            unique_node: 30.0,
            property: 40.0,
            block: 60.0,
            miss: 500.0,
            statement: 5_000.0,
            write: 400.0,
            commit: 8_000.0,
        };
        Synthetic {
            lists,
            costs,
            faults: Vec::new(),
            cached: BTreeSet::new(),
            window: 0,
            calls: 0,
            differs: false,
            is_copy: false,
            has_no_copy: false,
            has_statements: false,
            time: None,
            limit: Duration::MAX,
            is_warm: false,
        }
    }

    /// As on a large graph.
    pub(crate) fn slow(mut self, time: SlowTime) -> Synthetic {
        self.time = Some(time);
        self
    }

    /// So much time passes, or no more than the limit, which is then an error.
    fn pass(&self, ns: u64) -> Result<()> {
        let Some(time) = &self.time else { return Ok(()) };
        let limit = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        time.clock.pass(ns.min(limit));
        if ns > limit { Err(error!(Timeout, "no answer within {:?}", self.limit)) } else { Ok(()) }
    }

    pub(crate) fn with(mut self, faults: &[Fault]) -> Synthetic {
        self.faults = faults.to_vec();
        self
    }

    pub(crate) fn without_copy(mut self) -> Synthetic {
        self.has_no_copy = true;
        self
    }

    /// With a statement over the neighbours of a start, and one that is the same from each start.
    pub(crate) fn with_statements(mut self) -> Synthetic {
        self.has_statements = true;
        self
    }

    pub(crate) fn answers_differ(&mut self) {
        self.differs = true;
    }

    fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    fn neighbors(&self, node: u64, direction: Direction) -> Vec<u64> {
        let [out, back] = [0, 1].map(|side| self.lists[side][node as usize].as_slice());
        match direction {
            Direction::Out => out.to_vec(),
            Direction::In => back.to_vec(),
            Direction::Both => [out, back].concat(),
        }
    }

    /// Counts a look at the neighbours of a node: a list that is not empty is in a block of its own, which is always in memory.
    fn touch_list(&mut self, node: u64, direction: Direction, counts: &mut Counts) {
        self.touch(node, counts);
        counts.block_uses += u64::from(!self.neighbors(node, direction).is_empty());
    }

    /// Counts a look at a node's block.
    fn touch(&mut self, node: u64, counts: &mut Counts) {
        counts.block_uses += 1;
        let is_new = self.cached.insert(node / BLOCK_NODES);
        if is_new || self.has(Fault::UselessCache) {
            counts.block_misses += 1;
            counts.bytes_read += 4096;
        }
    }

    /// Number of different nodes within some hops; touches what it expands.
    fn hop(&mut self, start: u64, direction: Direction, hops: u32, counts: &mut Counts) -> u64 {
        let (mut seen, mut queue) = (vec![false; self.lists[0].len()], VecDeque::from([(start, 0)]));
        seen[start as usize] = true;
        let mut found = 0;
        while let Some((node, depth)) = queue.pop_front() {
            if depth == hops {
                continue;
            }
            self.touch_list(node, direction, counts);
            counts.neighborhoods += 1;
            for neighbor in self.neighbors(node, direction) {
                counts.edges += 1;
                if !std::mem::replace(&mut seen[neighbor as usize], true) {
                    found += 1;
                    queue.push_back((neighbor, depth + 1));
                }
            }
        }
        found
    }

    /// Fewest edges between two nodes, up to 8.
    fn distance(&self, start: &Start) -> u64 {
        let (mut seen, mut frontier) = (BTreeSet::from([start.node]), vec![start.node]);
        for hops in 0..8 {
            if seen.contains(&start.target) {
                return hops;
            }
            let next: Vec<u64> = frontier.iter().flat_map(|node| self.neighbors(*node, Direction::Both)).collect();
            frontier = next.into_iter().filter(|node| seen.insert(*node)).collect();
        }
        8
    }

    fn counted(&mut self, operation: Operation, start: &Start) -> (u64, u64, Counts) {
        let mut counts = Counts::default();
        let node = start.node;
        let all = |found: &[u64]| found.iter().fold(0_u64, |sum, node| sum.wrapping_add(mix64(*node)));
        match operation {
            Operation::Neighbors(direction, filter) => {
                self.touch_list(node, direction, &mut counts);
                let found = self.neighbors(node, direction);
                let rows = found.len() as u64;
                counts.neighborhoods = 1;
                (counts.edges, counts.unique_nodes) = (rows, rows);
                counts.properties = if filter == Filter::Property { rows } else { 0 };
                (rows, all(&found), counts)
            }
            Operation::FirstNeighbor(direction, _) => {
                self.touch(node, &mut counts);
                let found = self.neighbors(node, direction);
                let rows = found.len().min(1) as u64;
                counts.neighborhoods = 1;
                (counts.edges, counts.unique_nodes) = (rows, rows);
                (rows, all(&found[..rows as usize]), counts)
            }
            Operation::Hops(direction, hops) => {
                let found = self.hop(node, direction, hops, &mut counts);
                counts.unique_nodes = found;
                (found, found, counts)
            }
            Operation::Clustering => {
                counts.unique_nodes = self.hop(node, Direction::Both, 2, &mut counts);
                (1, 0, counts)
            }
            Operation::ShortestPath => {
                counts.path_length = self.distance(start);
                let hops = counts.path_length.min(3) as u32;
                counts.unique_nodes = self.hop(node, Direction::Both, hops, &mut counts);
                (1, counts.path_length, counts)
            }
            Operation::Statement(_) => {
                let found = self.neighbors(node, Direction::Both);
                (counts.neighborhoods, counts.edges) = (2, found.len() as u64);
                (1, 1, counts)
            }
            Operation::EmptyStatement => (1, 1, counts),
            Operation::IngestBulk | Operation::IngestIncrement => {
                let (nodes, edges) = (self.lists[0].len() as u64, self.lists[0].iter().map(Vec::len).sum::<usize>());
                let is_bulk = operation == Operation::IngestBulk;
                let edges = if is_bulk { edges as u64 * 9 / 10 } else { edges as u64 / 10 };
                (counts.unique_nodes, counts.passes) = if is_bulk { (nodes, 1) } else { (0, edges.div_ceil(100)) };
                (counts.edges, counts.properties) = (edges, counts.unique_nodes + edges);
                (edges, 0, counts)
            }
            operation if operation.is_of_whole_graph() => {
                let edges: usize = self.lists[0].iter().map(Vec::len).sum();
                let nodes = self.lists[0].len() as u64;
                (counts.neighborhoods, counts.edges, counts.unique_nodes) = (nodes, 2 * edges as u64, nodes);
                counts.passes = 1;
                (1, 1, counts)
            }
            operation if operation.is_write() => (1, 0, counts),
            _ => {
                self.touch(node, &mut counts);
                (1, 1, counts)
            }
        }
    }

    /// The cost of an operation that writes: the ingest in bulk takes half of its parts.
    fn write_cost(&self, operation: Operation, way: Way, counts: &Counts) -> f64 {
        let Costs { write, commit, statement, .. } = self.costs;
        let parts = (counts.unique_nodes + counts.edges + counts.properties) as f64 * write;
        match operation {
            Operation::IngestBulk => (parts + commit) / 2.0,
            Operation::IngestIncrement if self.has(Fault::SlowIncrement) => 5.0 * parts,
            Operation::IngestIncrement => parts + counts.passes as f64 * commit,
            Operation::Commit if self.has(Fault::SlowCommit) => 1_000.0 * write,
            Operation::Commit => commit,
            _ if way == Way::Cypher => statement + write,
            _ => write,
        }
    }

    fn cost(&self, operation: Operation, way: Way, counts: &Counts, all: u64) -> f64 {
        if operation.is_write() {
            return self.write_cost(operation, way, counts);
        }
        let costs = &self.costs;
        let of = |count: u64, cost: f64| count as f64 * cost;
        let mut property = if self.has(Fault::SlowProperty) { 10.0 * costs.node } else { costs.property };
        if self.faults.iter().any(|fault| matches!(fault, Fault::Cliff(size) if self.window > *size)) {
            property += 3.0 * (costs.call + costs.node + costs.property);
        }
        let in_direction = match operation {
            Operation::Neighbors(direction, _) | Operation::FirstNeighbor(direction, _) => direction == Direction::In,
            _ => false,
        };
        let (edges, unique) = match operation {
            Operation::FirstNeighbor(..) if self.has(Fault::FirstIsAll) => (all, all),
            _ => (counts.edges, counts.unique_nodes),
        };
        let layered = of(counts.neighborhoods, costs.neighborhood)
            + of(edges, costs.edge)
            + of(unique, costs.unique_node)
            + of(counts.properties, costs.property)
            + of(counts.block_uses, costs.block);
        let mut ns = costs.call
            + match operation {
                Operation::EmptyStatement => 0.0,
                Operation::EdgeByText => costs.edge_by_id,
                Operation::NodeInteger | Operation::NodeString => costs.node + property,
                Operation::EdgeProperty => costs.edge_by_id + costs.property,
                _ if counts.neighborhoods == 0 => costs.node,
                _ if in_direction && self.has(Fault::SlowIn) => 3.0 * layered + 2.0 * costs.call,
                _ => layered,
            };
        if self.has(Fault::NoAmortization) && matches!(operation, Operation::Hops(_, 2..)) {
            ns += of(counts.neighborhoods.saturating_sub(1), costs.call) + of(counts.edges, costs.unique_node);
        }
        if way == Way::Cypher {
            let factor = if self.has(Fault::SlowStatements) && counts.neighborhoods > 0 { 4.0 } else { 1.3 };
            ns = costs.statement + if operation == Operation::EmptyStatement { 0.0 } else { factor * ns };
        }
        let miss = if self.has(Fault::SlowDisk) { 1_000.0 * costs.miss } else { costs.miss };
        ns + of(counts.block_misses, miss)
    }
}

impl Subject for Synthetic {
    fn describe(&self) -> Result<Description> {
        let (nodes, edges) = (self.lists[0].len() as u64, self.lists[0].iter().map(Vec::len).sum::<usize>() as u64);
        let system = "synthetic".to_owned();
        Ok(Description { system, version: "1".to_owned(), nodes, edges, bytes: 4096, ..Description::default() })
    }

    fn can(&self, operation: Operation, way: Way) -> bool {
        match operation {
            Operation::EmptyStatement | Operation::ShortestPath | Operation::Statement(_) => way == Way::Cypher,
            Operation::EdgeByText | Operation::EdgeProperty | Operation::Clustering => way == Way::Api,
            Operation::IngestBulk | Operation::IngestIncrement => way == Way::Api,
            operation if operation.is_of_whole_graph() => way == Way::Cypher,
            _ => true,
        }
    }

    fn statements(&self) -> Vec<Operation> {
        let names = if self.has_statements { &STATEMENTS[..] } else { &[] };
        names.iter().map(|name| Operation::Statement(StatementName::of(name))).collect()
    }

    fn starts(&self, operation: Operation, chosen: &[Start]) -> Result<Vec<Start>> {
        let is_same = operation == Operation::Statement(StatementName::of(STATEMENTS[1]));
        Ok(if is_same { chosen[..1].to_vec() } else { super::starts_of(operation, chosen) })
    }

    fn count(&mut self, operation: Operation, start: &Start) -> Result<Option<Counts>> {
        Ok(Some(self.counted(operation, start).2))
    }

    fn choose(&mut self, choice: Choice, count: usize, seed: u64) -> Result<Vec<Start>> {
        let stream = Stream::new(seed, choice.name());
        let all = self.lists[0].len() as u64;
        self.window = if let Choice::Within(nodes) = choice { nodes } else { 0 };
        let bound = if let Choice::Within(nodes) = choice { nodes.min(all) } else { all };
        let node = |number: u64| match choice {
            // The target of an edge is a node as likely as it has edges.
            Choice::ByDegree => {
                let list = &self.lists[0][stream.below(number, all - 1) as usize + 1];
                list[number as usize % list.len()]
            }
            _ => stream.below(number, bound),
        };
        let start =
            |number: u64| Start { node: node(number), edge: Some(0), target: node(number + 1), ..Start::default() };
        Ok((0..count as u64).map(start).collect())
    }

    fn copy(&mut self) -> Result<()> {
        if self.has_no_copy {
            return Err(model::error!(Busy, "another has it"));
        }
        self.is_copy = true;
        Ok(())
    }

    fn perform(&mut self, operation: Operation, way: Way, start: &Start) -> Result<Call> {
        assert!(self.is_copy || !operation.is_write(), "only a copy is written");
        let (rows, mut checksum, counts) = self.counted(operation, start);
        let all = match operation {
            Operation::FirstNeighbor(direction, _) => self.neighbors(start.node, direction).len() as u64,
            _ => 0,
        };
        let exact = self.cost(operation, way, &counts, all);
        self.calls += 1;
        // Two percent of noise, the same in every run.
        let noise = 0.98 + 0.04 * (mix64(self.calls) >> 11) as f64 / (1_u64 << 53) as f64;
        if self.differs && way == Way::Cypher && operation == Operation::Degree(Direction::In) {
            checksum += 1;
        }
        let mut ns = exact * noise;
        if let Some(time) = &self.time {
            ns *= if self.is_warm { time.hot } else { time.cold };
            let is_turn = time.stuck_after == Some(start.turn) && operation == Operation::Hops(Direction::Out, 2);
            let is_stuck = time.stuck == Some(operation) || is_turn;
            self.pass(if is_stuck { u64::MAX } else { ns as u64 })?;
        }
        Ok(Call { ns: ns.round() as u64, rows, checksum, counts })
    }

    fn limit(&mut self, limit: Option<Duration>) {
        self.limit = limit.unwrap_or(Duration::MAX).min(Duration::from_secs(5));
    }

    fn can_cool(&self) -> bool {
        self.time.as_ref().is_none_or(|time| time.can_cool)
    }

    fn cool(&mut self) -> Result<()> {
        self.cached.clear();
        self.is_warm = false;
        if let Some(time) = &self.time {
            time.clock.pass(time.cool_ns);
        }
        Ok(())
    }

    fn warm(&mut self) -> Result<()> {
        self.is_warm = true;
        if let Some(time) = &self.time {
            self.pass(time.scan_ns)?;
        }
        self.cached = (0..(self.lists[0].len() as u64).div_ceil(BLOCK_NODES)).collect();
        Ok(())
    }
}
