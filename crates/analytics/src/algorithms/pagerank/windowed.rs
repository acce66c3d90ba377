//! PageRank as a vertex program: what lies on an edge is the share of the score that its source gives away.
//!
//! Claim: as that of `pagerank.rs`; shares on edges are rounded to 32 bits where they are there.
//! Cost: per iteration 4 bytes an edge and a share are read, then written, and the share read again: 12 bytes an edge.

use std::marker::PhantomData;
use std::ops::AddAssign;

use model::error::Result;

use super::{Config, PageRank};
use crate::algorithm::Run;
use crate::graph::Graph;
use crate::program::{Context, Edge, Node, Plain, VertexProgram, run_vertex_program};

/// A share in the precision asked for.
trait Share: Plain {
    fn rounded(share: f64) -> Self;
    fn exact(self) -> f64;
}

impl Share for f32 {
    fn rounded(share: f64) -> f32 {
        share as f32
    }

    fn exact(self) -> f64 {
        f64::from(self)
    }
}

impl Share for f64 {
    fn rounded(share: f64) -> f64 {
        share
    }

    fn exact(self) -> f64 {
        self
    }
}

/// Figures of an iteration.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Sum of the scores of nodes without edges.
    dangling: f64,
    /// By how much scores changed.
    change: f64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.dangling += other.dangling;
        self.change += other.change;
    }
}

struct Ranking<'c, S> {
    config: &'c Config,
    node_count: f64,
    /// The score that every node receives in any case.
    base: f64,
    found: PageRank,
    shares: PhantomData<fn() -> S>,
}

impl<S: Share> VertexProgram for Ranking<'_, S> {
    type State = f64;
    type Value = S;
    type Gathered = f64;
    type Total = Sums;

    fn start(&self, node: Node, total: &mut Sums) -> f64 {
        let score = 1.0 / self.node_count;
        if node.degree == 0 {
            total.dangling += score;
        }
        score
    }

    fn should_iterate(&mut self, iteration: u64, changed: u64, total: &Sums) -> bool {
        if iteration > 0 {
            self.found.iterations = iteration;
            self.found.change = total.change;
            self.found.did_converge = total.change < self.config.tolerance;
        }
        self.base = (1.0 - self.config.damping_factor + self.config.damping_factor * total.dangling) / self.node_count;
        changed > 0 && !self.found.did_converge && iteration < self.config.max_iterations
    }

    fn scatter(&self, node: Node, score: &f64, _edge: Edge, _before: S) -> S {
        S::rounded(score / f64::from(node.degree))
    }

    fn gather(&self, received: &mut f64, share: S) {
        *received += share.exact();
    }

    fn apply(&self, node: Node, score: &mut f64, received: &mut f64, total: &mut Sums) -> bool {
        let new = self.base + self.config.damping_factor * *received;
        total.change += (new - *score).abs();
        if node.degree == 0 {
            total.dangling += new;
        }
        *score = new;
        true
    }
}

/// Ranks the nodes of a graph that has forward rows; without scores if the run gives no values.
pub(crate) fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<PageRank> {
    if config.is_rounded() { rank::<f32>(graph, config, run) } else { rank::<f64>(graph, config, run) }
}

fn rank<S: Share>(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<PageRank> {
    let found = PageRank { scores: Vec::new(), iterations: 0, change: f64::INFINITY, did_converge: false };
    let node_count = graph.node_count() as f64;
    let mut ranking = Ranking::<S> { config, node_count, base: 0.0, found, shares: PhantomData };
    let states = run_vertex_program(&mut ranking, graph, &Context::of(run))?;
    let scores = if run.gives_values { states.to_vec()? } else { Vec::new() };
    Ok(PageRank { scores, ..ranking.found })
}
