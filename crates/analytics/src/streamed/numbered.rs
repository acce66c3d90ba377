//! Runs of edges with numbers for node ids, without the edges whose ends do not take part, and with weights.
//!
//! Cost: where ids are the numbers and nothing is dropped, runs are handed on as the store gave them.

use model::batch::EdgeRuns;
use model::error::{Error, Result};
use model::id::NodeId;
use model::value::Value;

use super::Source;
use crate::numbering::{ABSENT, Numbering};
use crate::projection::{edge_text, is_cost};

/// Runs of neighbors: that of node `i` ends at `ends[i]` and begins where the one before it ends.
#[derive(Clone, Copy)]
pub(super) struct NumberedRuns<'a> {
    pub(super) nodes: &'a [u32],
    pub(super) ends: &'a [u32],
    pub(super) neighbors: &'a [u32],
    /// Empty without weights.
    pub(super) weights: &'a [f64],
}

impl<'a> NumberedRuns<'a> {
    /// The runs from `first` to before `end`, with where the first of them begins.
    pub(super) fn start_of(&self, run: usize) -> usize {
        if run == 0 { 0 } else { self.ends[run - 1] as usize }
    }

    /// The neighbors of a run, and their weights.
    pub(super) fn run(&self, run: usize) -> (&'a [u32], &'a [f64]) {
        let range = self.start_of(run)..self.ends[run] as usize;
        let weights = if self.weights.is_empty() { &[][..] } else { &self.weights[range.clone()] };
        (&self.neighbors[range], weights)
    }
}

/// The treatment of edges from a node to itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SelfLoops {
    /// All.
    Keep,
    /// None: they come by the other direction.
    Drop,
}

/// Numbers runs, block by block.
pub(super) struct Numberer<'s> {
    source: &'s Source<'s>,
    self_loops: SelfLoops,
    nodes: Vec<u32>,
    ends: Vec<u32>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    costs: Vec<f64>,
}

impl<'s> Numberer<'s> {
    pub(super) fn new(source: &'s Source<'s>, self_loops: SelfLoops) -> Numberer<'s> {
        let (nodes, ends, neighbors) = (Vec::new(), Vec::new(), Vec::new());
        Numberer { source, self_loops, nodes, ends, neighbors, weights: Vec::new(), costs: Vec::new() }
    }

    /// The same runs by numbers.
    pub(super) fn number<'a>(&'a mut self, runs: &'a EdgeRuns) -> Result<NumberedRuns<'a>> {
        self.costs.clear();
        if let Some(weight) = self.source.selection.weight {
            weight.append(&runs.properties, runs.neighbors.len(), &mut self.costs);
        }
        if matches!(*self.source.numbering, Numbering::Identity(_)) && self.self_loops == SelfLoops::Keep {
            if let Some(at) = self.costs.iter().position(|&cost| !is_cost(cost)) {
                return Err(self.fault(runs, at));
            }
            let (nodes, ends, neighbors) = (&runs.nodes, &runs.ends, &runs.neighbors);
            return Ok(NumberedRuns { nodes, ends, neighbors, weights: &self.costs });
        }
        self.choose(runs)?;
        let (nodes, ends) = (&self.nodes, &self.ends);
        Ok(NumberedRuns { nodes, ends, neighbors: &self.neighbors, weights: &self.weights })
    }

    fn choose(&mut self, runs: &EdgeRuns) -> Result<()> {
        let numbering = &*self.source.numbering;
        let (drops, has_weights) = (self.self_loops == SelfLoops::Drop, self.source.selection.weight.is_some());
        self.nodes.clear();
        self.ends.clear();
        self.neighbors.clear();
        self.weights.clear();
        let mut start = 0;
        for (&id, &end) in runs.nodes.iter().zip(&runs.ends) {
            let (run, number) = (start..end as usize, numbering.number(id));
            start = end as usize;
            if number == ABSENT {
                continue;
            }
            for at in run {
                let neighbor = numbering.number(runs.neighbors[at]);
                if neighbor == ABSENT || (drops && neighbor == number) {
                    continue;
                }
                self.neighbors.push(neighbor);
                if has_weights {
                    let cost = self.costs[at];
                    if !is_cost(cost) {
                        return Err(self.fault(runs, at));
                    }
                    self.weights.push(cost);
                }
            }
            if self.neighbors.len() as u32 > self.ends.last().copied().unwrap_or(0) {
                self.nodes.push(number);
                self.ends.push(self.neighbors.len() as u32);
            }
        }
        Ok(())
    }

    /// The error about the weight of the edge at a place of its block.
    fn fault(&self, runs: &EdgeRuns, at: usize) -> Error {
        let selection = &self.source.selection;
        let node = runs.nodes[runs.ends.partition_point(|&end| end as usize <= at)];
        let value = runs.properties.first().map_or(Value::Null, |column| column.value(at));
        let edge_type = selection.view.schema().edge_type_name(runs.edge_type);
        let edge = edge_text(edge_type, NodeId(u64::from(node)), NodeId(u64::from(runs.neighbors[at])));
        match selection.weight {
            Some(weight) => weight.fault(&value, &edge),
            None => model::error!(Internal, "{edge} was asked for its weight in a selection without weights"),
        }
    }
}
