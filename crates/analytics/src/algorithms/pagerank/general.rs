//! Ranks by random walks in their general form: with weights, with chosen nodes to return to, and ArticleRank.
//!
//! Claim: score(v) = (1 − d)·t(v) + d·Σ score(u)·w(u, v)/divisor(u) over edges u→v. For PageRank divisor(u) is the weight
//! of all edges of u, t sums to 1, and what nodes without weight hold goes where t says. For ArticleRank divisor(u) is
//! that weight and the mean of it over all nodes, t(v) is 1, and nothing more is spread. Nothing is rounded to 32 bits.
//! Cost: per iteration one pass over the in-edges and one random read of 8 bytes an edge.
//! After: Page, Brin, Motwani, Winograd, 1999, section 6 (personalised); Li, Willett, "ArticleRank: a PageRank-based
//! alternative to numbers of citations for analysing citation networks", 2009.

use model::error::Result;
use model::interrupt::Interrupt;

use super::{Config, PageRank};
use crate::graph::{Graph, Side};
use crate::graph_view::GraphView;
use crate::pull::{Pull, forward_strengths, total};

/// The formula of the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Formula {
    /// PageRank: scores sum to 1.
    PageRank,
    /// ArticleRank: nodes with few edges give less to each; scores are from `1 − d` up.
    ArticleRank,
}

/// Bytes of state for each node.
pub(crate) const NODE_BYTES: usize = 5 * size_of::<f64>();

/// The weight with which a walker who follows no edge goes to each node.
struct Teleport {
    /// The weight of every node, if `weights` is empty.
    even: f64,
    weights: Vec<f64>,
}

impl Teleport {
    fn new(formula: Formula, node_count: usize, sources: &[(u32, f64)]) -> Teleport {
        let share = |weight: f64, total: f64| if formula == Formula::PageRank { weight / total } else { weight };
        let mut weights = vec![0.0; if sources.is_empty() { 0 } else { node_count }];
        let total = sources.iter().map(|source| source.1).sum();
        sources.iter().for_each(|&(source, weight)| weights[source as usize] = share(weight, total));
        Teleport { even: share(1.0, node_count as f64), weights }
    }

    #[inline]
    fn to(&self, node: usize) -> f64 {
        self.weights.get(node).copied().unwrap_or(self.even)
    }
}

/// For each node, by what its score is divided to be given to its neighbors.
fn divisors(formula: Formula, mut strengths: Vec<f64>) -> Vec<f64> {
    if formula == Formula::ArticleRank {
        let mean = total(&strengths, |strength| strength) / strengths.len() as f64;
        strengths.iter_mut().for_each(|strength| *strength += mean);
    }
    strengths
}

/// Ranks the nodes of a graph that has backward rows, with the weights that it was opened with. A walker returns to the
/// `sources`, different nodes with how often each beside the others, or without any to all nodes.
pub fn run(
    graph: &Graph<'_>,
    formula: Formula,
    config: &Config,
    sources: &[(u32, f64)],
    threads: usize,
    interrupt: &Interrupt,
) -> Result<PageRank> {
    let node_count = graph.node_count();
    let mut found = PageRank { scores: Vec::new(), iterations: 0, change: f64::INFINITY, did_converge: false };
    if node_count == 0 {
        return Ok(found);
    }
    let divisors = divisors(formula, forward_strengths(graph, threads, interrupt)?);
    let teleport = Teleport::new(formula, node_count, sources);
    let pull = Pull::new(graph, Side::Backward, threads, interrupt);
    let damping_factor = config.damping_factor;
    let mut scores: Vec<f64> = (0..node_count).map(|node| teleport.to(node)).collect();
    let (mut shares, mut next) = (vec![0.0; node_count], vec![0.0; node_count]);
    while found.iterations < config.max_iterations {
        interrupt.check()?;
        interrupt.step(found.iterations, config.max_iterations)?;
        let dangling = share_out(&scores, &divisors, &mut shares);
        let spread = if formula == Formula::PageRank { damping_factor * dangling } else { 0.0 };
        let base = 1.0 - damping_factor + spread;
        pull.sums(&shares, &mut next, |node, received| base * teleport.to(node) + damping_factor * received)?;
        found.change = scores.iter().zip(&next).map(|(before, after)| (before - after).abs()).sum();
        std::mem::swap(&mut scores, &mut next);
        found.iterations += 1;
        if found.change < config.tolerance {
            found.did_converge = true;
            break;
        }
    }
    interrupt.report(found.iterations, found.iterations);
    found.scores = scores;
    Ok(found)
}

/// Fills in what each node gives for a unit of weight; tells what nodes hold that give nothing.
fn share_out(scores: &[f64], divisors: &[f64], shares: &mut [f64]) -> f64 {
    let mut dangling = 0.0;
    for ((share, &score), &divisor) in shares.iter_mut().zip(scores).zip(divisors) {
        *share = if divisor > 0.0 { score / divisor } else { 0.0 };
        if divisor <= 0.0 {
            dangling += score;
        }
    }
    dangling
}

/// Checks a result by another method: one iteration more, pushed along the edges instead of pulled, must change the
/// scores by no more than the last iteration did, damped; and the scores of PageRank must sum to 1.
///
/// The view must have forward rows.
pub fn verify(
    view: &GraphView,
    formula: Formula,
    config: &Config,
    sources: &[(u32, f64)],
    result: &PageRank,
) -> Result<()> {
    let node_count = view.node_count();
    if node_count == 0 {
        return Ok(());
    }
    let all: f64 = result.scores.iter().sum();
    if formula == Formula::PageRank && (all - 1.0).abs() > 1e-9 {
        return Err(model::error!(Internal, "scores sum to {all}, expected 1"));
    }
    let rows = view.forward();
    let weights = |node: u32| {
        if rows.has_weights() { rows.weights(node).to_vec() } else { vec![1.0; rows.neighbors(node).len()] }
    };
    let strengths = (0..node_count as u32).map(|node| weights(node).iter().sum()).collect();
    let divisors = divisors(formula, strengths);
    let teleport = Teleport::new(formula, node_count, sources);
    let mut shares = vec![0.0; node_count];
    let dangling = share_out(&result.scores, &divisors, &mut shares);
    let spread = if formula == Formula::PageRank { config.damping_factor * dangling } else { 0.0 };
    let mut expected: Vec<f64> =
        (0..node_count).map(|node| (1.0 - config.damping_factor + spread) * teleport.to(node)).collect();
    for node in 0..node_count as u32 {
        for (&neighbor, weight) in rows.neighbors(node).iter().zip(weights(node)) {
            expected[neighbor as usize] += config.damping_factor * shares[node as usize] * weight;
        }
    }
    let residual: f64 = expected.iter().zip(&result.scores).map(|(a, b)| (a - b).abs()).sum();
    let allowed = config.damping_factor * result.change + 1e-9 * all;
    if residual > allowed {
        return Err(model::error!(Internal, "one more iteration changes scores by {residual}, expected {allowed}"));
    }
    Ok(())
}
