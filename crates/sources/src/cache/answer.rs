//! The rows of an answer, gathered as they arrive and made a piece of at the end.

use std::cmp::Ordering;

use model::edge_range::order_rows;
use model::{Bitmap, Column, Result};

use super::piece::{Lists, Numbers, Origin, Piece};
use crate::keys::{Keys, NO_KEY};

/// Rows of nodes of a kind.
#[derive(Debug)]
pub(crate) struct NodeAnswer {
    table: usize,
    space: usize,
    keys: Vec<u64>,
    /// By number of property, what was asked for.
    columns: Vec<Option<Column>>,
    properties: Vec<usize>,
}

impl NodeAnswer {
    /// Takes the answer to a question for these properties of nodes, whose keys are numbered in `space`.
    pub(crate) fn new(table: usize, space: usize, property_count: usize, properties: Vec<usize>) -> NodeAnswer {
        let mut columns = vec![None; property_count];
        properties.iter().for_each(|&property| columns[property] = Some(Column::nulls(0)));
        NodeAnswer { table, space, keys: Vec::new(), columns, properties }
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, keys: &Keys, mut rows: Vec<Column>) -> Result<()> {
        check_columns(rows.len(), 1 + self.properties.len())?;
        keys.encode(self.space, &rows[0], &mut self.keys)?;
        for (column, &property) in rows.drain(1..).zip(&self.properties) {
            add(&mut self.columns[property], column);
        }
        Ok(())
    }

    /// Adds rows whose keys have numbers already.
    pub(crate) fn push_numbers(&mut self, keys: &[u64], columns: &[Column]) {
        self.keys.extend_from_slice(keys);
        for (column, &property) in columns.iter().zip(&self.properties) {
            add(&mut self.columns[property], column.clone());
        }
    }

    /// The rows that arrived, as a piece. Of the keys `asked` for, those without a row are noted as not being there.
    pub(crate) fn finish(mut self, asked: &[u64], at_ns: u64, origin: Origin) -> Piece {
        let rows = self.keys.len() as u32;
        let mut order: Vec<u32> = (0..rows).filter(|&row| self.keys[row as usize] != NO_KEY).collect();
        order.sort_by_key(|&row| self.keys[row as usize]);
        order.dedup_by_key(|row| self.keys[*row as usize]);
        let mut absent: Vec<u64> = asked.to_vec();
        absent.retain(|key| order.binary_search_by_key(key, |&row| self.keys[row as usize]).is_err());
        absent.sort_unstable();
        absent.dedup();
        let mut exists = None;
        if !absent.is_empty() {
            let first = self.keys.len() as u32;
            self.keys.extend_from_slice(&absent);
            self.columns.iter_mut().flatten().for_each(|column| column.append(&Column::nulls(absent.len())));
            order.extend(first..first + absent.len() as u32);
            order.sort_by_key(|&row| self.keys[row as usize]);
            exists = Some(order.iter().map(|&row| row < first).collect::<Bitmap>());
        }
        let keys = order.iter().map(|&row| self.keys[row as usize]).collect();
        let columns = self.columns.into_iter().map(|column| column.map(|column| column.gather(&order))).collect();
        let mut piece = Piece::new(self.table, keys, columns, at_ns, origin);
        piece.exists = exists;
        piece
    }
}

/// Rows of edges of a kind, by one of their ends.
#[derive(Debug)]
pub(crate) struct EdgeAnswer {
    table: usize,
    /// The spaces of the keys of the near node, the far node, and the edge.
    spaces: [usize; 3],
    has_keys: bool,
    near: Vec<u64>,
    far: Vec<u64>,
    edge_keys: Vec<u64>,
    columns: Vec<Option<Column>>,
    properties: Vec<usize>,
}

impl EdgeAnswer {
    /// Takes the answer to a question for these properties of edges; `has_keys` where edges have keys.
    pub(crate) fn new(
        table: usize,
        spaces: [usize; 3],
        has_keys: bool,
        property_count: usize,
        properties: Vec<usize>,
    ) -> EdgeAnswer {
        let mut columns = vec![None; property_count];
        properties.iter().for_each(|&property| columns[property] = Some(Column::nulls(0)));
        EdgeAnswer {
            table,
            spaces,
            has_keys,
            near: Vec::new(),
            far: Vec::new(),
            edge_keys: Vec::new(),
            columns,
            properties,
        }
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, keys: &Keys, mut rows: Vec<Column>) -> Result<()> {
        check_columns(rows.len(), 3 + self.properties.len())?;
        keys.encode(self.spaces[0], &rows[0], &mut self.near)?;
        keys.encode(self.spaces[1], &rows[1], &mut self.far)?;
        if self.has_keys {
            keys.encode(self.spaces[2], &rows[2], &mut self.edge_keys)?;
        }
        for (column, &property) in rows.drain(3..).zip(&self.properties) {
            add(&mut self.columns[property], column);
        }
        Ok(())
    }

    /// The rows that arrived, as a piece of lists. Nodes of `asked` without a row have no edges.
    pub(crate) fn finish(self, asked: &[u64], at_ns: u64, origin: Origin) -> Piece {
        let is_edge = |row: usize| self.near[row] != NO_KEY && self.far[row] != NO_KEY;
        let mut order: Vec<u32> = (0..self.near.len() as u32).filter(|&row| is_edge(row as usize)).collect();
        order.sort_by(|&a, &b| self.order(a as usize, b as usize));
        let mut keys: Vec<u64> = order.iter().map(|&row| self.near[row as usize]).collect();
        keys.extend_from_slice(asked);
        keys.sort_unstable();
        keys.dedup();
        let mut ends = Vec::with_capacity(keys.len());
        let mut end = 0;
        for &key in &keys {
            while end < order.len() && self.near[order[end] as usize] == key {
                end += 1;
            }
            ends.push(end as u32);
        }
        let pick = |from: &[u64]| Numbers::new(order.iter().map(|&row| from[row as usize]).collect());
        let edge_keys = self.has_keys.then(|| pick(&self.edge_keys));
        let lists = Lists { ends, far: pick(&self.far), edge_keys };
        let gathered = self.columns.iter().map(|column| column.as_ref().map(|column| column.gather(&order)));
        let mut piece = Piece::new(self.table, keys, gathered.collect(), at_ns, origin);
        piece.lists = Some(lists);
        piece
    }

    /// The order of two edges: by their ends, then by their keys, and where these do not tell them apart by all that was
    /// asked of them.
    fn order(&self, a: usize, b: usize) -> Ordering {
        let ends = self.near[a].cmp(&self.near[b]).then_with(|| self.far[a].cmp(&self.far[b]));
        ends.then_with(|| {
            if self.has_keys {
                return self.edge_keys[a].cmp(&self.edge_keys[b]);
            }
            let mut columns = self.columns.iter().flatten();
            columns
                .find_map(|column| Some(order_rows(column, a, column, b)).filter(|order| order.is_ne()))
                .unwrap_or(Ordering::Equal)
        })
    }
}

fn add(to: &mut Option<Column>, column: Column) {
    match to {
        Some(to) if !to.is_empty() => to.append(&column),
        to => *to = Some(column),
    }
}

fn check_columns(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(model::error!(Internal, "a connector answered with {found} columns, {expected} were asked for"))
}
