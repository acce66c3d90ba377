//! Comparison of a definition with the data in Redis, by samples: patterns without keys, keys of another type, values
//! that do not convert, far ends without a node.

use model::{Column, Direction, Result, StringColumn, Value};

use super::connection::{Commands, Link};
use super::fetch::{EdgeFetch, NodeFetch, resolve};
use super::plan::Plan;
use super::scan::{Scanned, begin, keys_of};
use super::text::key_text;
use crate::check::{Finding, Severity};

/// Nodes, and near ends of edges, that are looked at of each kind.
const SAMPLE: usize = 500;

/// Fails only where the server does not answer.
pub(super) fn check(plan: &Plan, link: &mut Link) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (kind, node) in plan.nodes.iter().enumerate() {
        let place = format!("nodes.{}", node.name);
        let Some(ids) = begin(plan, &Scanned::Nodes(kind)).next(plan, SAMPLE, link)? else {
            let globs: Vec<String> = node.patterns().map(|pattern| pattern.glob()).collect();
            findings.push(nothing(&place, &globs.join(", ")));
            continue;
        };
        let all: Vec<usize> = (0..node.properties.len()).collect();
        match nodes(plan, kind, ids, &all, link) {
            Ok(columns) => {
                for (property, column) in node.properties.iter().zip(&columns[1..]) {
                    if (0..column.len()).all(|row| column.is_null(row)) {
                        let message = format!("'{}' is there in none of {} nodes", property.field, column.len());
                        findings.push(Finding::new(Severity::Warning, format!("{place}.properties"), message));
                    }
                }
            }
            Err(failure) => findings.push(of_failure(&place, &failure)),
        }
    }
    for kind in 0..plan.edges.len() {
        check_edges(plan, kind, link, &mut findings)?;
    }
    Ok(findings)
}

fn nothing(place: &str, glob: &str) -> Finding {
    Finding::new(Severity::Warning, place, format!("no key matches {glob}"))
        .with_remedy("see that the database number and the pattern are right")
}

fn of_failure(place: &str, failure: &model::Error) -> Finding {
    Finding::new(Severity::Error, place, failure.message()).with_remedy(failure.remedy())
}

fn nodes(plan: &Plan, kind: usize, ids: StringColumn, properties: &[usize], link: &mut Link) -> Result<Vec<Column>> {
    let plan = &plan.nodes[kind];
    let keys = keys_of(&ids, plan.reading(), &plan.name, link.name())?;
    let fetch = NodeFetch { plan, ids, keys, properties: properties.to_vec() };
    let mut commands = Commands::default();
    fetch.write(&mut commands);
    let replies = link.exchange(&commands)?;
    fetch.read(&replies, link)
}

fn check_edges(plan: &Plan, kind: usize, link: &mut Link, findings: &mut Vec<Finding>) -> Result<()> {
    let edges = &plan.edges[kind];
    let place = format!("edges.{}", edges.name);
    if edges.reverse.is_none() {
        let message = "no keys lead from targets to sources: edges are followed against their direction by a scan";
        findings.push(
            Finding::new(Severity::Slow, format!("{place}.reverse-keys"), message)
                .with_remedy("keep the adjacency of the other direction too, and name its keys"),
        );
    }
    let Some(ids) = begin(plan, &Scanned::Edges(kind, Direction::Out)).next(plan, SAMPLE, link)? else {
        findings.push(nothing(&place, &edges.forward.pattern.glob()));
        return Ok(());
    };
    let far = resolve(&edges.forward, &ids, link).and_then(|()| {
        let keys = keys_of(&ids, edges.source.reading(), &edges.name, link.name())?;
        let properties = (0..edges.properties.len()).collect();
        let fetch = EdgeFetch { plan: edges, direction: Direction::Out, ids: ids.clone(), keys, properties };
        let mut commands = Commands::default();
        fetch.write(&mut commands);
        let replies = link.exchange(&commands)?;
        fetch.read(&replies, link)
    });
    let ends = match far {
        Ok(mut columns) => {
            columns.truncate(2);
            columns
        }
        Err(failure) => {
            findings.push(of_failure(&place, &failure));
            return Ok(());
        }
    };
    for (end, keys, name) in [(&edges.source, &ends[0], "source"), (&edges.target, &ends[1], "target")] {
        let Some(kind) = end.kind else { continue };
        let mut some: Vec<Value> = keys.values().take(SAMPLE * 4).collect();
        some.sort_by(Value::order);
        some.dedup();
        let texts: Vec<String> = some.iter().filter_map(|key| key_text(key, end.key_kind)).collect();
        let ids: StringColumn = texts.iter().map(String::as_str).collect();
        // Problems of the nodes themselves were reported at their own place.
        let Ok(found) = nodes(plan, kind, ids, &[], link) else { continue };
        let missing = texts.len() - found[0].len();
        if missing > 0 {
            let there: Vec<Value> = found[0].values().collect();
            let example = some.iter().find(|key| !there.contains(key)).map_or_else(String::new, ToString::to_string);
            let of = texts.len();
            let message = format!("{missing} of {of} ends name no node of {}, as {example}", plan.nodes[kind].name);
            findings.push(Finding::new(Severity::Warning, format!("{place}.{name}"), message));
        }
    }
    Ok(())
}
