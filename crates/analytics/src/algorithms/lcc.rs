//! The local clustering coefficient: of the pairs of a node's neighbors, the part that is joined.
//!
//! Claim: the coefficient of LDBC Graphalytics. Neighbors are the distinct nodes at the other end of a node's edges,
//! whichever way those lead. With d of them, it is the number of ordered pairs of neighbors that an edge leads from one to
//! the other of, divided by d·(d − 1); 0 for nodes of fewer than two neighbors. Without direction an edge leads both ways.
//! Cost: that of counting triangles.
//! After: Watts, Strogatz, "Collective dynamics of 'small-world' networks", 1998; LDBC Graphalytics 1.0.1, section 2.3.5.

use model::column::{Column, ColumnData};
use model::error::Result;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use super::triangles::{self, Triads};
use crate::algorithm::{About, Follows, JobOf, JobPlan, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::{Graph, Work};
use crate::graph_view::GraphView;
use crate::procedure::column;
use crate::settings::Settings;

/// For each node of a view with both sides, or of an undirected one, its coefficient.
pub fn run(view: &GraphView, threads: usize, interrupt: &Interrupt) -> Result<Vec<f64>> {
    Ok(coefficients(&triangles::run(view, threads, interrupt)?, view.is_undirected()))
}

/// Checks a result by another method: the counts that it comes of, and that each coefficient is what they make.
pub fn verify(view: &GraphView, coefficients: &[f64], threads: usize, interrupt: &Interrupt) -> Result<()> {
    let triads = triangles::run(view, threads, interrupt)?;
    triangles::verify(view, &triads)?;
    let directions = if view.is_undirected() { 2.0 } else { 1.0 };
    for (node, &found) in coefficients.iter().enumerate() {
        let pairs = f64::from(triads.degrees[node]) * (f64::from(triads.degrees[node]) - 1.0);
        let joined = directions * triads.closed[node] as f64;
        if !(0.0..=1.0).contains(&found) || (found * pairs - joined).abs() > 1e-6 * joined {
            return Err(model::error!(Internal, "node {node} has coefficient {found}, with {joined} of {pairs} pairs"));
        }
    }
    Ok(())
}

fn coefficients(triads: &Triads, is_undirected: bool) -> Vec<f64> {
    let directions = if is_undirected { 2.0 } else { 1.0 };
    let nodes = triads.degrees.iter().zip(&triads.closed);
    let coefficient = |(&degree, &closed): (&u32, &u64)| {
        let degree = f64::from(degree);
        if closed == 0 { 0.0 } else { directions * closed as f64 / (degree * (degree - 1.0)) }
    };
    nodes.map(coefficient).collect()
}

/// `algo.lcc`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = ();

    const ABOUT: About = About {
        name: "lcc",
        aliases: &["algo.localClusteringCoefficient", "gds.localClusteringCoefficient"],
        description: "Tells for each node which part of the pairs of its neighbors is joined.",
        settings: &[],
        direction: Follows::Chosen(Direction::Both),
        takes_weights: false,
        yields: &[column("localClusteringCoefficient", "FLOAT")],
        stats: &[column("averageClusteringCoefficient", "FLOAT"), column("nodeCount", "INTEGER")],
        shape: Shape::Nodes,
    };

    const JOB: Option<JobOf<()>> = Some(|_, ()| Ok(JobPlan::default()));

    fn read(_settings: &Settings<'_>, _view: &dyn ReadView) -> Result<()> {
        Ok(())
    }

    fn needs(_config: &(), _is_weighted: bool) -> Needs {
        triangles::needs()
    }

    fn work(_config: &(), _is_weighted: bool) -> Option<Work> {
        Some(triangles::WORK)
    }

    fn run(graph: &Graph<'_>, _config: &(), run: &Run<'_>) -> Result<Outcome> {
        let found = coefficients(&triangles::run_in(graph, run)?, graph.is_undirected());
        let average = if found.is_empty() { 0.0 } else { found.iter().sum::<f64>() / found.len() as f64 };
        let stats = vec![Value::Float(average), Value::Int(found.len() as i64)];
        Ok(Outcome { columns: vec![Column::new(ColumnData::Float(found))], order: RowOrder::ByNumber, stats })
    }
}
