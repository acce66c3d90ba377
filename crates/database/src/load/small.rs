//! A table of few rows, as one transaction.

use model::id::LabelId;
use model::store::nodes_of;
use model::{ColumnBuilder, IsolationLevel, Map, WriteTransaction};

use super::{
    Column, Database, EdgeTable, EdgeTypeId, EndKey, Interrupt, LoadSummary, NewEdges, NewNodes, NodeId, NodeTable,
    OnDuplicate, OnMissing, PropertyKeyId, Result, TableSource, Value, error, others,
};
use crate::attempts;

/// Runs a transaction, again if another came first.
fn transact(
    database: &Database,
    interrupt: &Interrupt,
    work: impl Fn(&mut dyn WriteTransaction, &mut LoadSummary) -> Result<()>,
) -> Result<LoadSummary> {
    attempts::transact(database, IsolationLevel::Snapshot, interrupt, None, |transaction| {
        let mut done = LoadSummary::default();
        work(transaction, &mut done)?;
        Ok(done)
    })
}

pub(super) fn nodes(
    database: &Database,
    table: &NodeTable,
    key: Option<usize>,
    rows: &dyn TableSource,
    interrupt: &Interrupt,
) -> Result<LoadSummary> {
    transact(database, interrupt, |transaction, done| {
        let labels = table.labels.iter().map(|label| transaction.label(label)).collect::<Result<Vec<_>>>()?;
        let keys = rows.names().iter().map(|name| transaction.property_key(name)).collect::<Result<Vec<_>>>()?;
        for piece in 0..rows.pieces() {
            interrupt.check()?;
            let (origin, columns) = rows.piece(piece)?;
            let all = 0..rows.piece_rows(piece) as u32;
            let (mut fresh, mut later): (Vec<u32>, Vec<(u32, u32)>) = (all.collect(), Vec::new());
            if let Some(place) = key {
                refuse_nulls(&columns[place], origin)?;
                (fresh, later) = merge(transaction, table, (labels[0], place), &keys, &columns, origin, done)?;
            }
            let properties: Vec<Column> = columns.iter().map(|column| column.gather(&fresh)).collect();
            let new = NewNodes { count: fresh.len(), labels: &labels, keys: &keys, properties: &properties };
            let made = transaction.create_nodes(&new)?;
            done.nodes_created += made.len() as u64;
            if let Some(place) = key.filter(|_| table.on_duplicate == OnDuplicate::Update && !later.is_empty()) {
                let there: Vec<_> = later.iter().map(|(row, first)| (*row, made[*first as usize])).collect();
                update(transaction, place, &keys, &columns, &there)?;
            }
        }
        Ok(())
    })
}

fn refuse_nulls(keys: &Column, origin: usize) -> Result<()> {
    match (0..keys.len()).find(|row| keys.is_null(*row)) {
        Some(row) => Err(error!(Import, "row {}: the key is null", origin + row)),
        None => Ok(()),
    }
}

/// Rows, by their numbers, and rows of keys that an earlier row has, with its place among the former.
type Merged = (Vec<u32>, Vec<(u32, u32)>);

/// Updates or passes over the nodes that are there; gives the rows that are to be made, and those that come again.
fn merge(
    transaction: &mut dyn WriteTransaction,
    table: &NodeTable,
    (label, place): (LabelId, usize),
    keys: &[PropertyKeyId],
    columns: &[Column],
    origin: usize,
    done: &mut LoadSummary,
) -> Result<Merged> {
    let found = nodes_of(&transaction.view().lookup(label, keys[place], &columns[place])?);
    let mut made: Map<Value, u32> = Map::default();
    let (mut fresh, mut later): Merged = Default::default();
    let mut there: Vec<(u32, NodeId)> = Vec::new();
    for (row, node) in found.iter().enumerate() {
        let value = columns[place].value(row);
        let is_taken = node.is_some() || made.contains_key(&value);
        if is_taken && table.on_duplicate == OnDuplicate::Error {
            let (label, key) = (&table.labels[0], table.key.as_deref().unwrap_or_default());
            return Err(error!(
                Constraint,
                "row {}: there is a node :{label} with {key} = {value} already",
                origin + row
            )
            .with_remedy("leave it out, or pass on_duplicate=\"skip\" or \"update\""));
        }
        match node {
            Some(node) => there.push((row as u32, *node)),
            None if is_taken => {
                later.extend(made.get(&value).map(|first| (row as u32, *first)));
                done.nodes_merged += 1;
            }
            None => {
                made.insert(value, fresh.len() as u32);
                fresh.push(row as u32);
            }
        }
    }
    done.nodes_merged += there.len() as u64;
    if table.on_duplicate == OnDuplicate::Update && !there.is_empty() {
        update(transaction, place, keys, columns, &there)?;
    }
    Ok((fresh, later))
}

/// Sets what is not null.
fn update(
    transaction: &mut dyn WriteTransaction,
    place: usize,
    keys: &[PropertyKeyId],
    columns: &[Column],
    there: &[(u32, NodeId)],
) -> Result<()> {
    for (at, column) in columns.iter().enumerate().filter(|(at, _)| *at != place) {
        let (rows, nodes): (Vec<u32>, Vec<NodeId>) =
            there.iter().copied().filter(|(row, _)| !column.is_null(*row as usize)).unzip();
        transaction.set_node_properties(&nodes, keys[at], &column.gather(&rows))?;
    }
    Ok(())
}

pub(super) fn edges(
    database: &Database,
    table: &EdgeTable,
    places: (usize, usize),
    rows: &dyn TableSource,
    interrupt: &Interrupt,
) -> Result<LoadSummary> {
    transact(database, interrupt, |transaction, done| {
        let edge_type: EdgeTypeId = transaction.edge_type(&table.edge_type)?;
        for piece in 0..rows.pieces() {
            interrupt.check()?;
            let (origin, columns) = rows.piece(piece)?;
            let sources = ends(transaction, table, &table.source, &columns[places.0], done)?;
            let targets = ends(transaction, table, &table.target, &columns[places.1], done)?;
            let mut kept = Vec::with_capacity(sources.len());
            for row in 0..sources.len() {
                let (end, place) = match (sources[row], targets[row]) {
                    (Some(_), Some(_)) => {
                        kept.push(row as u32);
                        continue;
                    }
                    (None, _) => (&table.source, places.0),
                    _ => (&table.target, places.1),
                };
                if table.on_missing != OnMissing::Skip {
                    let (number, key) = (origin + row, columns[place].value(row));
                    let EndKey { label, property, .. } = end;
                    return Err(error!(Import, "row {number}: there is no node :{label} with {property} = {key}")
                        .with_remedy("load the nodes first, or pass on_missing=\"create\" or \"skip\""));
                }
                done.rows_skipped += 1;
            }
            let at = |ends: &[Option<NodeId>]| -> Vec<NodeId> {
                kept.iter().filter_map(|row| ends[*row as usize]).collect()
            };
            let (names, properties) = others(rows, &columns, &[places.0, places.1]);
            let keys = names.iter().map(|name| transaction.property_key(name)).collect::<Result<Vec<_>>>()?;
            let properties: Vec<Column> = properties.iter().map(|column| column.gather(&kept)).collect();
            let (sources, targets) = (at(&sources), at(&targets));
            let new =
                NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &properties };
            done.edges_created += transaction.create_edges(&new)?.len() as u64;
        }
        Ok(())
    })
}

/// The nodes of keys, made if they are to be.
fn ends(
    transaction: &mut dyn WriteTransaction,
    table: &EdgeTable,
    end: &EndKey,
    keys: &Column,
    done: &mut LoadSummary,
) -> Result<Vec<Option<NodeId>>> {
    let (label, key) = (transaction.label(&end.label)?, transaction.property_key(&end.property)?);
    let found = nodes_of(&transaction.view().lookup(label, key, keys)?);
    if table.on_missing != OnMissing::Create || found.iter().all(Option::is_some) {
        return Ok(found);
    }
    let mut missing = ColumnBuilder::default();
    let mut seen = model::Set::default();
    for (row, node) in found.iter().enumerate() {
        let value = keys.value(row);
        if node.is_none() && !value.is_null() && seen.insert(value.clone()) {
            missing.push(&value);
        }
    }
    let missing = missing.finish();
    let new = NewNodes { count: missing.len(), labels: &[label], keys: &[key], properties: &[missing] };
    done.nodes_created += transaction.create_nodes(&new)?.len() as u64;
    Ok(nodes_of(&transaction.view().lookup(label, key, keys)?))
}
