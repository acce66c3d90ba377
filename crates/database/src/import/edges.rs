//! Edges: each thread parses its chunks and hands them to a loader of its own.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use model::{Column, EdgeId, Result};
use sources::files::{BadRow, RowBatch, Table, TableColumn};
use storage::bulk::{BulkLoad, EdgeLoader, EdgeRows};

use super::edge_keys::EdgeKeys;
use super::keys::KeyTypes;
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
    (types, keys): (&KeyTypes, &EdgeKeys),
    load: &mut BulkLoad,
) -> Result<()> {
    let position = Position::default();
    let threads = run.plan.threads.max(1);
    let loaders = (0..threads).map(|_| load.edge_loader()).collect::<Result<Vec<_>>>()?;
    let work = |loader: &mut EdgeLoader, batch: RowBatch| -> Result<()> {
        run.bad_rows.take(&file.path, &batch.bad)?;
        run.advance(batch.len(), &position.0, table);
        let push = |batch: &RowBatch, edge_type: &str, loader: &mut EdgeLoader| {
            let ends = ends_of(batch, mapping, types);
            let Some(sorted) = keys.sort(edge_type, mapping, batch, [&ends[0], &ends[1]])? else {
                return push(run, file, batch, mapping, (edge_type, &ends), table.columns(), loader);
            };
            let (known, rows) = &sorted.updates;
            keys.take_changes(update(edge_type, known, rows, mapping, keys, loader)?)?;
            run.edges_merged.fetch_add(sorted.passed_over + known.len() as u64, Ordering::Relaxed);
            run.bad_rows.take(&file.path, &sorted.bad)?;
            let ends = ends_of(&sorted.fresh, mapping, types);
            push(run, file, &sorted.fresh, mapping, (edge_type, &ends), table.columns(), loader)
        };
        match mapping.type_column {
            None => push(&batch, &mapping.edge_type, loader),
            Some(column) => by_text(&batch.columns[column], batch.len()).into_iter().try_for_each(|(text, rows)| {
                let edge_type = text.as_ref().unwrap_or(&mapping.edge_type);
                match rows {
                    None => push(&batch, edge_type, loader),
                    Some(rows) => push(&pick(&batch, &rows), edge_type, loader),
                }
            }),
        }
    };
    let outcome = in_any_order(run, table, loaders, &work)
        .and_then(|loaders| loaders.into_iter().try_for_each(EdgeLoader::finish));
    in_file(&file.path, outcome.map_err(|failure| run.bad_rows.cause_of(failure)))
}

/// Updates edges that are known from rows, one for each; gives the bytes that the changes take.
fn update(
    edge_type: &str,
    known: &[EdgeId],
    rows: &RowBatch,
    mapping: &EdgeMapping,
    keys: &EdgeKeys,
    loader: &mut EdgeLoader,
) -> Result<usize> {
    if known.is_empty() {
        return Ok(0);
    }
    let is_set = |name: &str| keys.property_of(edge_type, mapping) != Some(name);
    let (names, columns): (Vec<&str>, Vec<Column>) = (mapping.properties.iter())
        .filter(|(_, name)| is_set(name))
        .map(|(index, name)| (name.as_str(), rows.columns[*index].clone()))
        .unzip();
    loader.update(edge_type, known, &names, &columns)
}

/// The ends of edges as the keys that they name.
fn ends_of<'b>(batch: &'b RowBatch, mapping: &EdgeMapping, types: &KeyTypes) -> [Cow<'b, Column>; 2] {
    let source = types.converted(&mapping.source_group, &batch.columns[mapping.source]);
    [source, types.converted(&mapping.target_group, &batch.columns[mapping.target])]
}

fn push(
    run: &Run<'_>,
    file: &EdgeFile,
    batch: &RowBatch,
    mapping: &EdgeMapping,
    (edge_type, [sources, targets]): (&str, &[Cow<'_, Column>; 2]),
    columns_of: &[TableColumn],
    loader: &mut EdgeLoader,
) -> Result<()> {
    let names: Vec<&str> = mapping.properties.iter().map(|(_, name)| name.as_str()).collect();
    let columns: Vec<Column> = mapping.properties.iter().map(|(index, _)| batch.columns[*index].clone()).collect();
    let errors = loader.push(&EdgeRows {
        edge_type,
        source_group: &mapping.source_group,
        sources,
        target_group: &mapping.target_group,
        targets,
        names: &names,
        columns: &columns,
        origin: 0,
    })?;
    run.note_made(edge_type, (batch.len() - errors.len()) as u64);
    let name = |column: usize| columns_of.get(column).map_or("", |column| &column.name);
    let remedy = format!(
        "columns '{}' and '{}' are taken for the ends; name others with --source and --target, import the nodes too, or \
         pass --skip-bad FILE; the store is as it was",
        name(mapping.source),
        name(mapping.target)
    );
    let bad: Vec<BadRow> = errors
        .iter()
        .map(|error| {
            // An edge is refused for one of its ends; the reason begins with which.
            let end = if error.reason.starts_with("the source") { mapping.source } else { mapping.target };
            bad_row(batch, error, columns_of.get(end).map(|column| column.name.as_str()), &remedy)
        })
        .collect();
    run.bad_rows.take(&file.path, &bad)
}
