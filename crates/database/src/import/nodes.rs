//! Nodes: taken in the order of the file, so that ids follow it.

use std::sync::atomic::Ordering;

use model::{Column, ColumnData, Result};
use sources::files::{BadRow, RowBatch, Table};
use storage::bulk::{BulkLoad, KeyRows, NodeRows, RowError};

use super::keys::KeyTypes;
use super::mapping::{EdgeMapping, Group, NodeMapping};
use super::rows::{Position, by_text, in_file, in_order, pick};
use super::{EdgeFile, NodeFile, Run};

/// Remedy for rows that the store refuses.
const REMEDY: &str =
    "pass --on-duplicate skip or update for nodes that are there, or --skip-bad FILE; the store is as it was";

/// Imports a file of nodes.
pub(super) fn import(
    run: &Run<'_>,
    file: &NodeFile,
    table: &dyn Table,
    mapping: &NodeMapping,
    load: &mut BulkLoad,
) -> Result<()> {
    let position = Position::default();
    let key_column = mapping.key.map(|column| table.columns()[column].name.as_str());
    let outcome = in_order(run, table, &mut |batch| {
        run.bad_rows.take(&file.path, &batch.bad)?;
        run.advance(batch.len(), &position.0, table);
        let push = |batch: &RowBatch, labels: &[String], load: &mut BulkLoad| {
            let errors = push(run, batch, mapping, labels, load)?;
            let bad: Vec<BadRow> = errors.iter().map(|error| bad_row(batch, error, key_column, REMEDY)).collect();
            run.bad_rows.take(&file.path, &bad)
        };
        match mapping.label_column {
            None => push(&batch, &mapping.labels, load),
            Some(column) => by_text(&batch.columns[column], batch.len()).into_iter().try_for_each(|(text, rows)| {
                let more = text.as_deref().map_or_else(Vec::new, labels_of);
                let labels: Vec<String> = mapping.labels.iter().cloned().chain(more).collect();
                match rows {
                    None => push(&batch, &labels, load),
                    Some(rows) => push(&pick(&batch, &rows), &labels, load),
                }
            }),
        }
    });
    in_file(&file.path, outcome.map_err(|failure| run.bad_rows.cause_of(failure)))
}

/// Makes the nodes of some rows; gives the rows that are refused.
fn push(
    run: &Run<'_>,
    batch: &RowBatch,
    mapping: &NodeMapping,
    labels: &[String],
    load: &mut BulkLoad,
) -> Result<Vec<RowError>> {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let names: Vec<&str> = mapping.properties.iter().map(|(_, name)| name.as_str()).collect();
    let columns: Vec<Column> = mapping.properties.iter().map(|(index, _)| batch.columns[*index].clone()).collect();
    let key = mapping.key.map(|column| KeyRows {
        group: &mapping.key_group,
        property: mapping.key_property.as_deref(),
        values: &batch.columns[column],
    });
    let rows = NodeRows { count: batch.len(), labels: &labels, key, names: &names, columns: &columns, origin: 0 };
    let added = load.push_nodes(&rows)?;
    run.nodes_created.fetch_add(added.created, Ordering::Relaxed);
    run.nodes_merged.fetch_add(added.merged, Ordering::Relaxed);
    Ok(added.errors)
}

/// The labels of a field: between semicolons, or as JSON where their names hold such.
fn labels_of(text: &str) -> Vec<String> {
    if let (true, Ok(labels)) = (text.starts_with('['), serde_json::from_str(text)) {
        return labels;
    }
    text.split(';').map(str::trim).filter(|label| !label.is_empty()).map(str::to_string).collect()
}

/// A row that the store did not take, with its line, its text and what to do about it.
pub(super) fn bad_row(batch: &RowBatch, error: &RowError, column: Option<&str>, remedy: &str) -> BadRow {
    let column = column.map(str::to_owned);
    let row = error.row as usize;
    let fields = || batch.columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(",");
    let text = batch.texts.get(row).unwrap_or_else(fields);
    BadRow { line: batch.lines[row], column, reason: error.reason.clone(), text, remedy: Some(remedy.to_owned()) }
}

/// Makes the nodes that a file of edges speaks of: each key of a group once.
pub(super) fn import_ends(
    run: &Run<'_>,
    file: &EdgeFile,
    table: &dyn Table,
    mapping: &EdgeMapping,
    groups: &[&Group],
    types: &KeyTypes,
    load: &mut BulkLoad,
) -> Result<()> {
    let mut push = |group: &Group, keys: &Column| -> Result<()> {
        let labels: Vec<&str> = group.label.iter().map(String::as_str).collect();
        let keys = distinct(&types.converted(&group.name, keys));
        let key = KeyRows { group: &group.name, property: group.property.as_deref(), values: &keys };
        let rows = NodeRows { count: keys.len(), labels: &labels, key: Some(key), names: &[], columns: &[], origin: 0 };
        run.nodes_created.fetch_add(load.push_nodes(&rows)?.created, Ordering::Relaxed);
        Ok(())
    };
    if let (Some(count), [group]) = (table.node_count(), groups) {
        // Nodes that no arc names are there too.
        for first in (1..=count as i64).step_by(NUMBERED_ROWS) {
            run.interrupt.check()?;
            let last = (first + NUMBERED_ROWS as i64 - 1).min(count as i64);
            push(group, &Column::new(ColumnData::Int((first..=last).collect())))?;
        }
    }
    let ends = [(mapping.source, &mapping.source_group), (mapping.target, &mapping.target_group)];
    let outcome = in_order(run, table, &mut |batch| {
        // An edge that lacks an end is a bad row, and its other end is no node for that.
        let [source, target] = ends.map(|(column, _)| &batch.columns[column]);
        let is_whole = |row: &u32| !source.is_null(*row as usize) && !target.is_null(*row as usize);
        let whole: Vec<u32> = (0..batch.len() as u32).filter(is_whole).collect();
        for (column, name) in ends {
            if let Some(group) = groups.iter().find(|group| group.name == *name) {
                match whole.len() == batch.len() {
                    true => push(group, &batch.columns[column])?,
                    false => push(group, &batch.columns[column].gather(&whole))?,
                }
            }
        }
        Ok(())
    });
    in_file(&file.path, outcome)
}

/// Nodes that a file only counts and that are made at a time.
const NUMBERED_ROWS: usize = 1 << 16;

/// The values of a column that are not null, each once, in order of first appearance.
fn distinct(column: &Column) -> Column {
    let mut rows: Vec<u32> = (0..column.len() as u32).filter(|&row| !column.is_null(row as usize)).collect();
    match &column.data {
        ColumnData::Int(numbers) => {
            let mut seen = model::Set::default();
            rows.retain(|&row| seen.insert(numbers[row as usize]));
        }
        _ => {
            let mut seen = model::Set::default();
            rows.retain(|&row| seen.insert(column.value(row as usize)));
        }
    }
    column.gather(&rows)
}
