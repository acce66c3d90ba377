//! Computations that are kept and mended as the graph changes: PageRank and weakly connected components.
//!
//! `algo.keep` names one and runs it; `algo.kept` brings it up to date with the graph as it is now, by the edges that came
//! and went since, and gives its rows. Where the store cannot tell what came and went, or it is too much, the computation
//! runs anew: the rows are right in any case, `algo.kept.refresh` tells which it was. They are held in memory, which counts
//! in the memory limit as long as they are kept, and end with the database that holds them.
//!
//! - [`ranks`]: PageRank by its residual.
//! - [`components`]: components by searches from both ends of edges that went.
//! - [`change`]: which nodes and edges came and went.
//! - [`calls`]: the procedures.

pub(crate) mod calls;
mod change;
mod components;
mod ranks;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::error::Result;
use model::interrupt::Interrupt;
use model::memory::{Consumer, MemoryBudget, Reservation};
use model::procedure::{Procedure, Workspace};
use model::store::{Direction, ReadView, Topology};

use crate::graph::choice::{Answer, Load};
use crate::graph::{Estimate, Execution, Graph, Needs, Pace, Selection};
use crate::graph_view::Sides;
use crate::held::Held;
use crate::projection::Projection;
use change::Change;
use components::Components;
use ranks::Ranks;

/// The computation that is kept, and its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Weakly connected components.
    Components,
    /// PageRank, with its damping factor and the error that all scores together may have.
    Ranks { damping_factor: f64, tolerance: f64 },
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Components => "wcc",
            Kind::Ranks { .. } => "pagerank",
        }
    }

    /// Bytes that are kept for each node.
    fn kept_bytes(self) -> usize {
        match self {
            Kind::Components => components::NODE_BYTES,
            Kind::Ranks { .. } => ranks::NODE_BYTES,
        }
    }

    /// The needs of a run, besides the state that is kept of it.
    fn needs(self) -> Needs {
        let (sides, node_bytes) = match self {
            Kind::Components => (Sides::Forward, components::RUN_NODE_BYTES),
            Kind::Ranks { .. } => (Sides::Backward, ranks::RUN_NODE_BYTES),
        };
        Needs { sides, node_bytes, edge_bytes: 0, executions: &[Execution::Streaming] }
    }
}

/// Definition of the computation to be kept: by names, so that it can be resolved in every snapshot.
#[derive(Clone, Debug)]
struct Definition {
    kind: Kind,
    labels: Option<Vec<Arc<str>>>,
    types: Option<Vec<Arc<str>>>,
    direction: Direction,
}

impl Definition {
    fn projection(&self, view: &dyn ReadView) -> Result<Projection> {
        Projection::of_names(self.labels.as_deref(), self.types.as_deref(), self.direction, view.schema())
    }
}

/// The values that are kept, by node id.
#[derive(Debug)]
enum State {
    Components(Components),
    Ranks(Ranks),
}

impl State {
    /// Bytes held.
    fn byte_count(&self) -> usize {
        match self {
            State::Components(components) => components.byte_count(),
            State::Ranks(ranks) => ranks.byte_count(),
        }
    }
}

/// The resources of a call.
#[derive(Clone, Copy)]
struct Means<'a> {
    view: &'a dyn ReadView,
    threads: usize,
    interrupt: &'a Interrupt,
    workspace: &'a dyn Workspace,
    /// The budget that is charged with what is kept, if any is.
    budget: Option<&'a Arc<MemoryBudget>>,
}

/// A kept computation.
#[derive(Debug)]
struct Kept {
    definition: Definition,
    /// The state of the edges that the values are of, and the nodes that take part, as bits.
    topology: Option<Topology>,
    nodes: change::Nodes,
    state: State,
    /// The reservation for it in the memory limit.
    held: Option<Reservation>,
}

/// The result of a refresh.
#[derive(Clone, Copy, Debug, Default)]
struct Refreshed {
    edges_added: usize,
    edges_deleted: usize,
    /// Nodes whose edges were followed.
    nodes_touched: u64,
    /// True if the computation ran anew.
    did_run_anew: bool,
    /// The most by which all values together may differ from those of an exact run; 0 where the values are exact.
    error_bound: f64,
}

impl Kept {
    /// Computes all; fails with `LIMIT` where there is too little memory to run, or to keep it.
    fn new(definition: Definition, means: &Means<'_>) -> Result<(Kept, Refreshed)> {
        let Means { view, threads, interrupt, workspace, budget } = *means;
        if !view.capabilities().dense_node_ids || view.node_id_bound() >= u64::from(u32::MAX) {
            return Err(model::error!(Unsupported, "a computation can only be kept of a store with dense node ids")
                .with_remedy("call the algorithm itself"));
        }
        let projection = definition.projection(view)?;
        let kind = definition.kind;
        let held = match budget {
            Some(budget) => {
                let bytes = kind.kept_bytes() * view.node_id_bound() as usize;
                Some(budget.reserve(Consumer::KeptComputations, bytes)?)
            }
            None => None,
        };
        let needs = kind.needs();
        let selection = Selection { view, projection: &projection, weight: None, sides: needs.sides };
        let needed =
            Estimate::of(&selection, &Load::new(&needs, Answer::Figures), Execution::Streaming, Pace::full(threads))
                .bytes;
        let _running = Held::take(workspace, "algo.keep", needed as usize)?;
        let nodes = change::Nodes::read(view, &projection, interrupt)?;
        let graph = Graph::open_at(selection, Execution::Streaming, Pace::full(threads), Some(workspace), interrupt)?;
        let (state, error_bound) = match kind {
            Kind::Components => (State::Components(Components::run(&graph, &nodes, threads, interrupt)?), 0.0),
            Kind::Ranks { damping_factor, tolerance } => {
                let ranks = Ranks::run(&graph, &selection, &nodes, (damping_factor, tolerance), threads, interrupt)?;
                let bound = ranks.error_bound();
                (State::Ranks(ranks), bound)
            }
        };
        let refreshed = Refreshed { did_run_anew: true, error_bound, ..Refreshed::default() };
        let mut kept = Kept { definition, topology: view.topology(), nodes, state, held };
        kept.count_bytes();
        Ok((kept, refreshed))
    }

    /// Counts what is held by now.
    fn count_bytes(&mut self) {
        let bytes = self.state.byte_count() + self.nodes.byte_count();
        if let Some(held) = &mut self.held {
            held.need(bytes);
        }
    }

    /// Brings the values up to date with a view. After an error they are as they were, or the computation is to run anew.
    fn refresh(&mut self, means: &Means<'_>) -> Result<Refreshed> {
        let Means { view, interrupt, .. } = *means;
        let projection = self.definition.projection(view)?;
        let nodes = change::Nodes::read(view, &projection, interrupt)?;
        let topology = view.topology();
        let change = match (&self.topology, &topology) {
            (Some(before), Some(_)) => Change::between(view, before, &projection, &self.nodes, &nodes)?,
            _ => None,
        };
        // Until the values are those of the new state they are those of none.
        self.topology = None;
        let mended = match change {
            None => None,
            Some(change) => {
                let touched = match &mut self.state {
                    State::Components(components) => components.mend(view, &projection, &nodes, &change, interrupt)?,
                    State::Ranks(ranks) => ranks.mend(view, &projection, &nodes, &change, interrupt)?,
                };
                touched.map(|nodes_touched| Refreshed {
                    edges_added: change.added.len(),
                    edges_deleted: change.deleted.len(),
                    nodes_touched,
                    did_run_anew: false,
                    error_bound: match &self.state {
                        State::Components(_) => 0.0,
                        State::Ranks(ranks) => ranks.error_bound(),
                    },
                })
            }
        };
        if let Some(refreshed) = mended {
            (self.topology, self.nodes) = (topology, nodes);
            self.count_bytes();
            return Ok(refreshed);
        }
        let (kept, refreshed) = Kept::new(self.definition.clone(), means)?;
        *self = kept;
        Ok(refreshed)
    }
}

/// The kept computations of one database, by name.
#[derive(Debug)]
struct Keeper {
    budget: Option<Arc<MemoryBudget>>,
    kept: Mutex<BTreeMap<String, Arc<Mutex<Kept>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Keeper {
    fn find(&self, name: &str) -> Result<Arc<Mutex<Kept>>> {
        let kept = lock(&self.kept);
        kept.get(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = kept.keys().map(String::as_str).collect();
            let error = model::error!(NotFound, "no computation is kept under the name '{name}'");
            let known = if names.is_empty() { "none is".to_owned() } else { format!("kept: {}", names.join(", ")) };
            error.with_remedy(format!("keep one with algo.keep; {known}"))
        })
    }
}

/// The procedures of kept computations, which share what is kept; it counts in a budget, if one is given.
pub(crate) fn procedures(budget: Option<Arc<MemoryBudget>>) -> Vec<Arc<dyn Procedure>> {
    calls::all(&Arc::new(Keeper { budget, kept: Mutex::default() }))
}
