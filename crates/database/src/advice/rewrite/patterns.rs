//! Labels, types and directions that a pattern leaves open, where the data leave one only.

use std::sync::Arc;

use cypher::ast::{Arrow, EdgePattern, ExpressionKind, LabelExpression, NodePattern, PathPattern, UnaryOperator};
use cypher::plan::explain::quoted;
use model::statistics::LabelPair;
use model::{EdgeTypeId, LabelId, Span};

use super::{Known, Part, Premise, Rewrite};

pub(super) fn add(part: &Part<'_>, known: Known<'_>, add: &mut dyn FnMut(Rewrite)) {
    for node in part.nodes() {
        labels(part, node, known, add);
    }
    for path in &part.clause.patterns {
        if path.shortest.is_some() || path.selector.is_some() || path.mode.is_some() {
            continue;
        }
        for (from, edge, to) in steps(path) {
            if edge.length.is_some() || edge.repetition.is_some() || edge.group.is_some() {
                continue;
            }
            let ends = (part.labels(from), part.labels(to));
            let ends = (ends.0.first().copied(), ends.1.first().copied());
            edge_type(part, edge, ends, known, add);
            direction(part, edge, ends, known, add);
        }
    }
}

/// The edges of a path, with the nodes before and behind each.
fn steps(path: &PathPattern) -> impl Iterator<Item = (&NodePattern, &EdgePattern, &NodePattern)> {
    let before = std::iter::once(&path.start).chain(path.steps.iter().map(|step| &step.node));
    before.zip(&path.steps).map(|(from, step)| (from, &step.edge, &step.node))
}

/// A label for a node without one, of which a condition asks for a property.
fn labels(part: &Part<'_>, node: &NodePattern, known: Known<'_>, add: &mut dyn FnMut(Rewrite)) {
    if node.labels.is_some() || !part.labels(node).is_empty() {
        return;
    }
    let is_free = |key: &&str| known.schema.property_key(key).is_some();
    for key in keys(part, node).into_iter().filter(is_free) {
        for label in known.labels_with(key) {
            let (property, place) =
                (quoted(key), node.variable.as_ref().map_or(node.span.start + 1, |name| name.span.end));
            let told = format!("each node with {property} is a :{}", quoted(label));
            let counts_against =
                format!("MATCH (n) WHERE n.{property} IS NOT NULL AND NOT n:{} RETURN count(*)", quoted(label));
            let space = if part.text[place as usize..].starts_with('{') { " " } else { "" };
            add(Rewrite {
                span: Span::new(place as usize, place as usize),
                by: format!(":{}{space}", quoted(label)),
                premise: Premise { counts_against, told },
                name: label.clone(),
                rests_on: Some(key.into()),
            });
        }
    }
}

/// Properties without which a node is no match.
fn keys<'q>(part: &Part<'q>, node: &'q NodePattern) -> Vec<&'q str> {
    let mut keys = Vec::new();
    if let Some(ExpressionKind::Map(entries)) = node.properties.as_ref().map(|map| &map.kind) {
        keys.extend(entries.iter().map(|entry| &*entry.key.text));
    }
    let Some(variable) = &node.variable else { return keys };
    for condition in part.conjuncts() {
        let sides = match &condition.kind {
            ExpressionKind::Comparison { first, rest } => {
                std::iter::once(&**first).chain(rest.iter().map(|other| &other.operand)).collect()
            }
            // The operators of texts and `IN` give null for a null on the left.
            ExpressionKind::Binary { left, .. } => vec![&**left],
            ExpressionKind::Unary { operator: UnaryOperator::IsNotNull, operand } => vec![&**operand],
            _ => Vec::new(),
        };
        let of_node = |side: &&'q cypher::ast::Expression| match &side.kind {
            ExpressionKind::Property { base, key } => {
                matches!(&base.kind, ExpressionKind::Variable(name) if *name == variable.text).then_some(&*key.text)
            }
            _ => None,
        };
        keys.extend(sides.iter().filter_map(of_node));
    }
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The type for an edge without one, where edges between such nodes have one type only.
fn edge_type(
    part: &Part<'_>,
    edge: &EdgePattern,
    ends: (Option<&str>, Option<&str>),
    known: Known<'_>,
    add: &mut dyn FnMut(Rewrite),
) {
    let Some(pair) = pair(ends, known) else { return };
    if edge.types.is_some() {
        return;
    }
    let joins = |edge_type| match edge.arrow {
        Arrow::Right => leads(edge_type, pair, known),
        Arrow::Left => leads(edge_type, (pair.1, pair.0), known),
        Arrow::Both => leads(edge_type, pair, known) || leads(edge_type, (pair.1, pair.0), known),
    };
    let types = known.schema.edge_types.iter().enumerate();
    let mut types = types.filter(|(id, _)| joins(EdgeTypeId(*id as u32))).map(|(_, name)| name);
    let (Some(name), None) = (types.next(), types.next()) else { return };
    let pattern = |of_edge: &str| {
        let [from, to] =
            [ends.0, ends.1].map(|label| label.map_or_else(String::new, |label| format!(":{}", quoted(label))));
        match edge.arrow {
            Arrow::Right => format!("({from})-[{of_edge}]->({to})"),
            Arrow::Left => format!("({from})<-[{of_edge}]-({to})"),
            Arrow::Both => format!("({from})-[{of_edge}]-({to})"),
        }
    };
    let (span, by) = with_type(part, edge, name);
    let counts_against = format!("MATCH {} RETURN count(*)", pattern(&format!(":!{}", quoted(name))));
    let told = format!("each relationship {} is a :{}", pattern(""), quoted(name));
    add(Rewrite { span, by, premise: Premise { counts_against, told }, name: name.clone(), rests_on: None });
}

/// The place of a type in the text of an edge, and what to put there.
fn with_type(part: &Part<'_>, edge: &EdgePattern, name: &Arc<str>) -> (Span, String) {
    let text = part.at(edge.span);
    let place = match (&edge.variable, text.find('[')) {
        (Some(variable), _) => Some(variable.span.end as usize),
        (None, Some(bracket)) => Some(edge.span.start as usize + bracket + 1),
        (None, None) => None,
    };
    match (place, edge.arrow) {
        (Some(place), _) => {
            let space = if part.text[place..].starts_with('{') { " " } else { "" };
            (Span::new(place, place), format!(":{}{space}", quoted(name)))
        }
        (None, Arrow::Right) => (edge.span, format!("-[:{}]->", quoted(name))),
        (None, Arrow::Left) => (edge.span, format!("<-[:{}]-", quoted(name))),
        (None, Arrow::Both) => (edge.span, format!("-[:{}]-", quoted(name))),
    }
}

/// The direction of an edge without one, where edges between such nodes lead one way only.
fn direction(
    part: &Part<'_>,
    edge: &EdgePattern,
    ends: (Option<&str>, Option<&str>),
    known: Known<'_>,
    add: &mut dyn FnMut(Rewrite),
) {
    let Some(pair) = pair(ends, known) else { return };
    let types = edge.types.as_ref().and_then(LabelExpression::alternatives).unwrap_or_default();
    let text = part.at(edge.span);
    if edge.arrow != Arrow::Both || types.is_empty() || !text.starts_with(['-', '<']) {
        return;
    }
    let leads =
        |pair| types.iter().any(|name| known.schema.edge_type(&name.text).is_some_and(|id| leads(id, pair, known)));
    let is_forward = match (leads(pair), leads((pair.1, pair.0))) {
        (true, false) => true,
        (false, true) => false,
        _ => return,
    };
    let bare = text.trim_start_matches('<').trim_end_matches('>');
    let by = if is_forward { format!("{bare}>") } else { format!("<{bare}") };
    let [from, to] =
        [ends.0, ends.1].map(|label| label.map_or_else(String::new, |label| format!(":{}", quoted(label))));
    let of_edge = types.iter().map(|name| quoted(&name.text)).collect::<Vec<_>>().join("|");
    let against =
        if is_forward { format!("({from})<-[:{of_edge}]-({to})") } else { format!("({from})-[:{of_edge}]->({to})") };
    let premise =
        Premise { counts_against: format!("MATCH {against} RETURN count(*)"), told: format!("there is no {against}") };
    let Some(first) = types.first() else { return };
    add(Rewrite { span: edge.span, by, premise, name: first.text.as_str().into(), rests_on: None });
}

/// The labels of the ends; `None` if neither has one, or one is unknown.
fn pair(ends: (Option<&str>, Option<&str>), known: Known<'_>) -> Option<LabelPair> {
    let label = |name: Option<&str>| -> Option<Option<LabelId>> {
        match name {
            Some(name) => known.label(name).map(Some),
            None => Some(None),
        }
    };
    let pair = (label(ends.0)?, label(ends.1)?);
    (pair != (None, None)).then_some(pair)
}

/// True if sketches have edges of a type from one label to the other, or there are none.
fn leads(edge_type: EdgeTypeId, pair: LabelPair, known: Known<'_>) -> bool {
    let sketches = known.statistics.sketches.as_ref();
    sketches.is_none_or(|sketches| sketches.edge_types.get(&edge_type).is_some_and(|edges| edges.share(pair) > 0.0))
}
