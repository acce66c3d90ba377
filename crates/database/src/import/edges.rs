//! Edges: each thread parses its chunks and hands them to a loader of its own.

use std::sync::atomic::Ordering;

use model::{Column, Result};
use sources::files::{BadRow, RowBatch, Table, TableColumn};
use storage::bulk::{BulkLoad, EdgeLoader, EdgeRows};

use super::mapping::EdgeMapping;
use super::nodes::bad_row;
use super::rows::{Position, by_text, in_any_order, in_file, pick};
use super::{EdgeFile, Run};

/// Imports a file of edges.
pub(super) fn import(
    run: &Run<'_>,
    file: &EdgeFile,
    table: &dyn Table,
    mapping: &EdgeMapping,
    load: &mut BulkLoad,
) -> Result<()> {
    let position = Position::default();
    let threads = run.plan.threads.max(1);
    let loaders = (0..threads).map(|_| load.edge_loader()).collect::<Result<Vec<_>>>()?;
    let work = |loader: &mut EdgeLoader, batch: RowBatch| -> Result<()> {
        run.bad_rows.take(&file.path, &batch.bad)?;
        run.advance(batch.len(), &position.0, table);
        match mapping.type_column {
            None => push(run, file, &batch, mapping, &mapping.edge_type, table.columns(), loader),
            Some(column) => by_text(&batch.columns[column], batch.len()).into_iter().try_for_each(|(text, rows)| {
                let edge_type = if text.is_empty() { &mapping.edge_type } else { &text };
                match rows {
                    None => push(run, file, &batch, mapping, edge_type, table.columns(), loader),
                    Some(rows) => push(run, file, &pick(&batch, &rows), mapping, edge_type, table.columns(), loader),
                }
            }),
        }
    };
    let outcome = in_any_order(run, table, loaders, &work)
        .and_then(|loaders| loaders.into_iter().try_for_each(EdgeLoader::finish));
    in_file(&file.path, outcome.map_err(|failure| run.bad_rows.cause_of(failure)))
}

fn push(
    run: &Run<'_>,
    file: &EdgeFile,
    batch: &RowBatch,
    mapping: &EdgeMapping,
    edge_type: &str,
    columns_of: &[TableColumn],
    loader: &mut EdgeLoader,
) -> Result<()> {
    let names: Vec<&str> = mapping.properties.iter().map(|(_, name)| name.as_str()).collect();
    let columns: Vec<Column> = mapping.properties.iter().map(|(index, _)| batch.columns[*index].clone()).collect();
    let errors = loader.push(&EdgeRows {
        edge_type,
        source_group: &mapping.source_group,
        sources: &batch.columns[mapping.source],
        target_group: &mapping.target_group,
        targets: &batch.columns[mapping.target],
        names: &names,
        columns: &columns,
        origin: 0,
    })?;
    run.edges_created.fetch_add((batch.len() - errors.len()) as u64, Ordering::Relaxed);
    let bad: Vec<BadRow> = errors
        .iter()
        .map(|error| {
            // An edge is refused for one of its ends; the reason begins with which.
            let end = if error.reason.starts_with("the source") { mapping.source } else { mapping.target };
            bad_row(batch, error, columns_of.get(end).map(|column| column.name.clone()))
        })
        .collect();
    run.bad_rows.take(&file.path, &bad)
}
