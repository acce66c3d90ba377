//! The numbers of a section's edges: what each is known by for good.
//!
//! A section whose numbers follow each other in the order of positions, as a bulk load gives them, stores the first alone.
//! Otherwise they are a column of the properties file, each as its distance from the edge's position.

use std::ops::Range;

use model::{Column, ColumnData, Result};

use super::Section;
use crate::codec::bytes::{Get, Put};
use crate::column::ColumnReader;
use crate::format::EDGE_NUMBER_LIMIT;

const CONSECUTIVE: u64 = 0;
const COLUMN: u64 = 1;

/// Place of the numbers of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberForm {
    /// The edge at position `p` has the number `p` more than this.
    Consecutive(i64),
    /// In the properties file.
    Column,
}

impl NumberForm {
    /// Adds it to the directory of the topology file.
    pub fn put(self, out: &mut Vec<u8>) {
        let (form, first) = match self {
            NumberForm::Consecutive(first) => (CONSECUTIVE, first),
            NumberForm::Column => (COLUMN, 0),
        };
        out.put_u64(form);
        out.put_u64(first as u64);
    }

    /// Reads it from there, for a section of `edges` edges.
    pub fn take(directory: &mut Get<'_>, edges: u64) -> Result<NumberForm> {
        match (directory.u64()?, directory.u64()? as i64) {
            (CONSECUTIVE, first) if first >= 0 && first as u64 <= EDGE_NUMBER_LIMIT.saturating_sub(edges) => {
                Ok(NumberForm::Consecutive(first))
            }
            (COLUMN, 0) => Ok(NumberForm::Column),
            (form, first) => Err(directory.damage(format!("edges are not numbered in the form {form} from {first}"))),
        }
    }
}

/// The numbers of a section as they are read.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) form: NumberForm,
    pub(super) column: Option<ColumnReader>,
}

impl Section {
    /// Says if the numbers follow each other or are a column.
    pub fn number_form(&self) -> NumberForm {
        self.numbers.form
    }

    /// The column of the numbers, if they are one: of each edge the distance of its number from its position.
    pub fn number_column(&self) -> Option<&ColumnReader> {
        self.numbers.column.as_ref()
    }

    /// The numbers of the edges at these positions, in any order.
    pub fn numbers(&self, positions: &[u64]) -> Result<Vec<u64>> {
        match self.numbers.form {
            NumberForm::Consecutive(first) => Ok(positions.iter().map(|position| first as u64 + position).collect()),
            NumberForm::Column => self.shifted(&self.expect_column()?.read(positions)?, positions.iter().copied()),
        }
    }

    /// The numbers of the edges of a run of positions.
    pub fn number_range(&self, run: Range<u64>) -> Result<Vec<u64>> {
        match self.numbers.form {
            NumberForm::Consecutive(first) => Ok(run.map(|position| first as u64 + position).collect()),
            NumberForm::Column => self.shifted(&self.expect_column()?.range(run.clone())?, run),
        }
    }

    fn expect_column(&self) -> Result<&ColumnReader> {
        let missing = || self.file().damage(0, "the numbers of the edges are missing from the properties file");
        self.numbers.column.as_ref().ok_or_else(missing)
    }

    fn shifted(&self, distances: &Column, positions: impl Iterator<Item = u64>) -> Result<Vec<u64>> {
        let damage = |found: String| self.file().damage(0, format!("the number of an edge is {found}"));
        let is_whole = distances.validity.as_ref().is_none_or(|bits| bits.count_ones() == distances.len());
        let ColumnData::Int(distances) = &distances.data else { return Err(damage("missing".to_owned())) };
        if !is_whole {
            return Err(damage("missing".to_owned()));
        }
        let number = |(&distance, position): (&i64, u64)| {
            let number = distance.wrapping_add(position as i64) as u64;
            if number < EDGE_NUMBER_LIMIT { Ok(number) } else { Err(damage(number.to_string())) }
        };
        distances.iter().zip(positions).map(number).collect()
    }
}
