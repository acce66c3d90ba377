//! Comparison of a definition with its files: columns that are not there, rows that can not be read, keys twice or
//! null, ends without a node.
//!
//! Cost: reads the key columns of all files once, and the first rows of those of edges.

use std::sync::Arc;

use model::{MemoryBudget, Result, Value};

use super::plan::{ColumnOf, EdgeFile, EndColumns, NodeFile, Plan};
use super::table::{IndexKey, Version, elements, key_column};
use crate::check::{Finding, Severity};

pub(super) fn check(plan: &Plan, memory: &Arc<MemoryBudget>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for node in &plan.nodes {
        let place = format!("nodes.{}", node.name);
        if let Err(failure) = check_nodes(plan, node, &place, memory, &mut findings) {
            findings.push(of_failure(&place, &failure));
        }
    }
    for edge in &plan.edges {
        let place = format!("edges.{}", edge.name);
        if let Err(failure) = check_edges(plan, edge, &place, memory, &mut findings) {
            findings.push(of_failure(&place, &failure));
        }
    }
    findings
}

fn of_failure(place: &str, failure: &model::Error) -> Finding {
    Finding::new(Severity::Error, place, failure.message()).with_remedy(failure.remedy())
}

fn index_key(version: &Version, columns: &[ColumnOf], is_array: bool) -> Result<IndexKey> {
    let columns = columns.iter().map(|column| Ok((version.column(&column.name)?, column.kind)));
    Ok(IndexKey { columns: columns.collect::<Result<_>>()?, is_array })
}

/// Names the columns of properties that the file does not have.
fn check_properties(version: &Version, properties: &[ColumnOf], place: &str, findings: &mut Vec<Finding>) {
    for property in properties {
        let place = format!("{place}.properties");
        match version.property(&property.name) {
            Ok(Some(_)) => {}
            Ok(None) => findings.push(Finding::new(
                Severity::Warning,
                place,
                format!("{}: '{}' does not come in the first rows", version.path().display(), property.name),
            )),
            Err(failure) => findings.push(of_failure(&place, &failure)),
        }
    }
}

fn check_nodes(
    plan: &Plan,
    node: &NodeFile,
    place: &str,
    memory: &Arc<MemoryBudget>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let version = plan.version(node.table, memory)?;
    check_properties(&version, &node.properties, place, findings);
    if let Some(reason) = version.slow_rows() {
        let message = format!("{}: {reason}", version.path().display());
        findings.push(
            Finding::new(Severity::Slow, place, message).with_remedy("write it as Parquet of several row groups"),
        );
    }
    let key = index_key(&version, &node.key, false)?;
    version.index(&key, true)?;
    let nulls = null_rows(&version, &key)?;
    if nulls > 0 {
        let message = format!("{}: {nulls} rows have no key, and are no nodes", version.path().display());
        findings.push(Finding::new(Severity::Warning, format!("{place}.key"), message));
    }
    Ok(())
}

/// Number of rows that have a null among the columns.
fn null_rows(version: &Version, key: &IndexKey) -> Result<u64> {
    let columns: Vec<usize> = key.columns.iter().map(|(column, _)| *column).collect();
    if version.rows_without_nulls(&columns).is_some() {
        return Ok(0);
    }
    let (mut scan, mut nulls) = (version.scan(&columns, &[])?, 0);
    while let Some((_, columns)) = scan.next()? {
        let keys = key_column(&columns);
        nulls += (0..keys.len()).filter(|&row| keys.is_null(row)).count() as u64;
    }
    Ok(nulls)
}

fn check_edges(
    plan: &Plan,
    edge: &EdgeFile,
    place: &str,
    memory: &Arc<MemoryBudget>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let version = plan.version(edge.table, memory)?;
    check_properties(&version, &edge.properties, place, findings);
    for (end, name) in [(&edge.source, "source"), (&edge.target, "target")] {
        check_end(plan, &version, end, &format!("{place}.{name}"), memory, findings)?;
    }
    Ok(())
}

/// Looks the ends of the first rows up among the nodes.
fn check_end(
    plan: &Plan,
    version: &Version,
    end: &EndColumns,
    place: &str,
    memory: &Arc<MemoryBudget>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let key = index_key(version, &end.columns, end.is_array)?;
    let Some(kind) = end.kind else { return Ok(()) };
    let node = &plan.nodes[kind];
    let nodes = plan.version(node.table, memory)?;
    let index = nodes.index(&index_key(&nodes, &node.key, false)?, true)?;
    let numbers: Vec<usize> = key.columns.iter().map(|(column, _)| *column).collect();
    let Some((_, columns)) = version.scan(&numbers, &[])?.next()? else { return Ok(()) };
    let keys = key_column(&version.converted(columns, key.columns.iter().map(|(_, kind)| *kind))?);
    let (mut looked_up, mut missing, mut example) = (0_u64, 0_u64, None);
    for value in keys.values() {
        let mut look = |value: &Value| {
            looked_up += 1;
            if index.rows(value).next().is_none() {
                missing += 1;
                example.get_or_insert_with(|| value.clone());
            }
        };
        match end.is_array {
            true => elements(&value).for_each(&mut look),
            false if !value.is_null() => look(&value),
            false => {}
        }
    }
    if let Some(example) = example {
        let file = version.path().display();
        let message = format!("{file}: {missing} of the first {looked_up} name no node of {}, as {example}", node.name);
        findings.push(Finding::new(Severity::Warning, place, message));
    }
    Ok(())
}
