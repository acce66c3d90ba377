//! Expected number of different nodes that the edges of a node lead to, by the degrees of the nodes at their other ends.
//!
//! Claim: an edge leads to a node as likely as many such edges end there. So a thousand flights from an airport lead to few others, where
//! few have most flights, and 300 edges between 300 nodes drawn evenly to two in three of them.

use model::Direction;
use model::statistics::{EdgeSketch, degree_classes};

use super::taken::followed;
use crate::catalog::CompileContext;
use crate::plan::Operator;

/// Ends of the edges that a step follows.
pub(super) struct Ends {
    /// Nodes by classes, and the degree of each.
    classes: Vec<(f64, f64)>,
    /// The sum of all degrees.
    edges: f64,
}

impl Ends {
    /// The ends of a step that follows one edge; `None` for another one, and without sketches of its types.
    pub(super) fn of(step: &Operator, context: &CompileContext<'_>) -> Option<Ends> {
        let followed = followed(step)?;
        let sketches = &context.statistics.sketches.as_ref()?.edge_types;
        let found: Vec<&EdgeSketch> = match followed.types.is_empty() {
            true => sketches.values().collect(),
            false => {
                let known = followed.types.iter().filter_map(|name| context.schema.edge_type(name));
                known.map(|edge_type| sketches.get(&edge_type)).collect::<Option<_>>()?
            }
        };
        let sides = found.iter().flat_map(|sketch| match followed.direction {
            Direction::Out => [Some(&sketch.in_degrees), None],
            Direction::In => [Some(&sketch.out_degrees), None],
            Direction::Both => [Some(&sketch.in_degrees), Some(&sketch.out_degrees)],
        });
        let classes: Vec<(f64, f64)> = sides.flatten().flat_map(|histogram| degree_classes(histogram)).collect();
        let edges = classes.iter().map(|(nodes, degree)| nodes * degree).sum();
        Some(Ends { classes, edges })
    }

    /// Expected number of distinct nodes at the ends of that many edges.
    pub(super) fn different(&self, edges: f64) -> f64 {
        let is_met = |degree: f64| 1.0 - (-edges * degree / self.edges.max(1.0)).exp();
        self.classes.iter().map(|&(nodes, degree)| nodes * is_met(degree)).sum::<f64>().min(edges)
    }
}

#[cfg(test)]
mod tests {
    use super::Ends;

    fn ends(classes: &[(f64, f64)]) -> Ends {
        Ends { classes: classes.to_vec(), edges: classes.iter().map(|(nodes, degree)| nodes * degree).sum() }
    }

    #[test]
    fn few_edges_lead_to_different_nodes_and_many_to_the_same() {
        let even = ends(&[(300.0, 333.0)]);
        assert!((even.different(3.0) - 3.0).abs() < 0.1, "{}", even.different(3.0));
        assert!((even.different(300.0) - 189.6).abs() < 1.0, "{}", even.different(300.0));
        assert!(even.different(1e6) <= 300.0);
        let hubs = ends(&[(10.0, 10_000.0), (3_000.0, 1.0)]);
        assert!(hubs.different(900.0) < 60.0, "{}", hubs.different(900.0));
    }
}
