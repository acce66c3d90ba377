//! Degrees that the nodes of a selection are expected to have, with edges followed both ways: from the sketches of its
//! relationship types.
//!
//! Claim: nodes that many edges start at are those that many edges end at, and an edge between two nodes is as likely as the product of
//! their degrees makes it (the configuration model). Both are wrong in single graphs; of sums over all nodes they give the
//! order of size.

use model::statistics::{EdgeSketch, degree_classes};

use super::{Estimate, Selection};

/// Nodes of about the same degree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Class {
    /// Number of nodes.
    pub(crate) nodes: f64,
    /// Degree of each.
    pub(crate) degree: f64,
}

/// Classes of nodes, by falling degree; without the nodes that have no edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Degrees {
    classes: Vec<Class>,
    /// Number of nodes, those without edges among them.
    pub(crate) nodes: f64,
    /// Sum of all degrees: twice the number of edges.
    pub(crate) ends: f64,
}

impl Degrees {
    /// The degrees in a run with such an estimate; `None` where a type of the projection has no sketch.
    pub(crate) fn of(selection: &Selection<'_>, estimate: &Estimate) -> Option<Degrees> {
        let statistics = selection.view.statistics();
        let types = match &selection.projection.types {
            Some(types) => types.clone(),
            None => statistics.edges_by_type.keys().copied().collect(),
        };
        let with_edges = types.iter().filter(|&&edge_type| statistics.edge_type(edge_type) > 0);
        let sketch_of = |edge_type| statistics.sketches.as_ref()?.edge_types.get(edge_type);
        let found: Option<Vec<&EdgeSketch>> = with_edges.map(sketch_of).collect();
        let ends = 2 * estimate.edges_once(selection.projection.direction);
        Some(Degrees::of_sketches(&found?, estimate.nodes as f64, ends as f64))
    }

    pub(crate) fn of_sketches(sketches: &[&EdgeSketch], nodes: f64, ends: f64) -> Degrees {
        let sides = sketches.iter().flat_map(|sketch| [&sketch.out_degrees, &sketch.in_degrees]);
        let mut classes = sides.fold(vec![Class { nodes, degree: 0.0 }], |classes, histogram| {
            stacked(&classes, &stairs(histogram, nodes))
        });
        classes.retain(|class| class.degree > 0.0);
        let sum: f64 = classes.iter().map(|class| class.nodes * class.degree).sum();
        classes.iter_mut().for_each(|class| class.degree *= ends / sum.max(1.0));
        Degrees { classes, nodes, ends }
    }

    /// The classes, by falling degree.
    pub(crate) fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Probability that an edge joins a certain node of one class and a certain one of another.
    pub(crate) fn joined(&self, one: usize, other: usize) -> f64 {
        let expected = self.classes[one].degree * self.classes[other].degree / self.ends.max(1.0);
        1.0 - (-expected).exp()
    }
}

/// Classes of a histogram of a sketch, by falling degree, `nodes` nodes in all.
fn stairs(histogram: &[u64], nodes: f64) -> Vec<Class> {
    let falling = degree_classes(histogram).rev();
    let mut classes: Vec<Class> = falling.map(|(nodes, degree)| Class { nodes, degree }).collect();
    let met: f64 = classes.iter().map(|class| class.nodes).sum();
    classes.push(Class { nodes: (nodes - met).max(0.0), degree: 0.0 });
    classes
}

/// Classes of nodes that have the degrees of both: the largest of one with the largest of the other.
fn stacked(some: &[Class], others: &[Class]) -> Vec<Class> {
    let mut stacked = Vec::with_capacity(some.len() + others.len());
    let (mut some, mut others) = (some.iter().copied(), others.iter().copied());
    let (mut one, mut other) = (some.next(), others.next());
    while let (Some(a), Some(b)) = (&mut one, &mut other) {
        let nodes = a.nodes.min(b.nodes);
        if nodes > 0.0 {
            stacked.push(Class { nodes, degree: a.degree + b.degree });
        }
        a.nodes -= nodes;
        b.nodes -= nodes;
        let (ends_one, ends_other) = (a.nodes <= 0.0, b.nodes <= 0.0);
        if ends_one {
            one = some.next();
        }
        if ends_other {
            other = others.next();
        }
    }
    stacked
}

#[cfg(test)]
mod tests {
    use model::statistics::EdgeSketch;

    use super::{Class, Degrees, stacked, stairs};

    #[test]
    fn classes_are_stacked_from_the_largest_degree_on() {
        let (out, into) = (stairs(&[2, 0, 1], 4.0), stairs(&[0, 2], 4.0));
        assert_eq!(out.iter().map(|class| class.nodes).collect::<Vec<_>>(), [1.0, 2.0, 1.0]);
        let both = stacked(&out, &into);
        let sum: f64 = both.iter().map(|class| class.nodes * class.degree).sum();
        assert_eq!(both.iter().map(|class| class.nodes).collect::<Vec<_>>(), [1.0, 1.0, 1.0, 1.0]);
        assert!(both.is_sorted_by(|a, b| a.degree >= b.degree), "{both:?}");
        assert!((sum - (4.0 * 1.4 + 2.0 + 2.0 * 2.0 * 1.4)).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn degrees_sum_to_the_ends_of_all_edges() {
        let sketch =
            EdgeSketch { out_degrees: vec![0, 0, 100], in_degrees: vec![50, 0, 0, 30], ..EdgeSketch::default() };
        let degrees = Degrees::of_sketches(&[&sketch, &sketch], 1_000.0, 2_000.0);
        let sum: f64 = degrees.classes().iter().map(|class| class.nodes * class.degree).sum();
        assert!((sum - 2_000.0).abs() < 1e-6, "{sum}");
        // The expected number of neighbors is at most the degree, less the parallel edges.
        let Class { degree, .. } = degrees.classes()[0];
        let met: f64 =
            degrees.classes().iter().enumerate().map(|(other, class)| class.nodes * degrees.joined(0, other)).sum();
        assert!(met < degree && met > 0.5 * degree, "{met} of {degree}");
    }

    #[test]
    fn no_edges_are_no_classes() {
        assert!(Degrees::of_sketches(&[], 10.0, 0.0).classes().is_empty());
    }
}
