//! The hint that parts of a pattern have nothing in common, so that each match of one is paired with every match of the other.

use model::{Set, Span};

use super::{Planner, Stream};
use crate::binder::tree::QueryGraph;
use crate::binder::{Hint, HintKind};
use crate::plan::SlotId;

/// Nodes that edges or conditions connect.
struct Part {
    slots: Set<SlotId>,
    span: Span,
    /// True if a condition, or what is known before, chooses among its matches.
    is_chosen: bool,
}

impl Planner<'_> {
    /// Notes a product of parts of which no condition chooses any. One that is chosen, as by a key, is paired on purpose.
    pub(super) fn hint_product(&mut self, stream: &Stream, graph: &QueryGraph) {
        if graph.nodes.len() < 2 {
            return;
        }
        let mut parts: Vec<Part> = Vec::new();
        for node in &graph.nodes {
            let is_chosen = stream.bound.contains(&node.slot);
            parts.push(Part { slots: Set::from_iter([node.slot]), span: node.span, is_chosen });
        }
        for edge in &graph.edges {
            let is_chosen = stream.bound.contains(&edge.slot);
            join(&mut parts, &Set::from_iter([edge.left, edge.right]), is_chosen);
            if let Some(part) = parts.iter_mut().find(|part| part.slots.contains(&edge.left)) {
                part.slots.insert(edge.slot);
            }
        }
        for predicate in &graph.predicates {
            let mut used = Set::default();
            predicate.free_slots(&mut used);
            join(&mut parts, &used, true);
        }
        parts.sort_by_key(|part| part.span.start);
        let mut open = parts.iter().filter(|part| !part.is_chosen);
        if let (Some(_), Some(second)) = (open.next(), open.next()) {
            let message = "parts of the pattern have nothing in common: each match of one is paired with every match of the \
                           other; connect them, or match them one after the other";
            let (kind, message) = (HintKind::Product, message.to_owned());
            self.unmet.push(Hint { kind, message, span: second.span });
        }
    }
}

/// Makes one part of those that have any of these slots. A condition about them chooses among its matches.
fn join(parts: &mut Vec<Part>, slots: &Set<SlotId>, is_chosen: bool) {
    let (touched, mut others): (Vec<Part>, Vec<Part>) =
        parts.drain(..).partition(|part| part.slots.iter().any(|slot| slots.contains(slot)));
    let joined = touched.into_iter().reduce(|mut all, part| {
        all.slots.extend(part.slots);
        all.span = if part.span.start < all.span.start { part.span } else { all.span };
        all.is_chosen |= part.is_chosen;
        all
    });
    if let Some(mut part) = joined {
        part.is_chosen |= is_chosen;
        others.push(part);
    }
    *parts = others;
}
