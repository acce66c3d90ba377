//! A plan as text: a tree of operators, what each does, and how many rows it is expected to give.

use std::fmt::Write as _;

use super::{OperatorId, Plan};

mod details;
pub(crate) mod expression;
mod search;

pub use expression::quoted;

/// One operator as EXPLAIN shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRow {
    /// Distance from the root; the inputs of an operator follow it, one deeper.
    pub depth: usize,
    /// Number of the operator.
    pub id: OperatorId,
    /// Its name.
    pub operator: &'static str,
    /// Details of what it does, as Cypher.
    pub details: String,
    /// Number of rows that the planner expects it to give.
    pub estimated_rows: f64,
}

/// The operators of a plan from the root down; subplans of expressions stand below the operator that computes them.
pub fn rows(plan: &Plan) -> Vec<PlanRow> {
    let mut rows = Vec::new();
    details::push_rows(&plan.root, 0, &plan.slots, &mut rows);
    rows
}

/// A number for the operators of a plan and their order, without what they do.
pub fn shape(plan: &Plan) -> u64 {
    // FNV-1a with 64 bits.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    details::each_name(&plan.root, 0, &mut |depth, name| {
        for byte in name.bytes().chain([depth as u8]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    });
    hash
}

/// The plan as a table for people.
pub fn text(plan: &Plan) -> String {
    text_with(plan, &[], &|_| Vec::new())
}

/// The plan as a table with further columns, as PROFILE needs them: `actual` gives a cell for each of `headers`.
pub fn text_with(plan: &Plan, headers: &[&str], actual: &dyn Fn(OperatorId) -> Vec<String>) -> String {
    let rows = rows(plan);
    let mut table = vec![vec!["operator".to_string(), "details".to_string(), "estimated rows".to_string()]];
    table[0].extend(headers.iter().map(|header| header.to_string()));
    for row in &rows {
        let operator = format!("{}{}", "  ".repeat(row.depth), row.operator);
        let mut cells = vec![operator, row.details.clone(), estimate(row.estimated_rows)];
        cells.extend(actual(row.id));
        cells.resize(table[0].len(), String::new());
        table.push(cells);
    }
    align(&table)
}

/// The first two columns to the left, numbers to the right.
fn align(table: &[Vec<String>]) -> String {
    let width_of = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    // No format pads to more than 65,535.
    let widths: Vec<usize> = (0..table[0].len()).map(|column| width_of(column).min(usize::from(u16::MAX))).collect();
    let mut text = String::new();
    for row in table {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let gap = if column == 0 { "" } else { " | " };
            let written =
                if column < 2 { write!(line, "{gap}{cell:<width$}") } else { write!(line, "{gap}{cell:>width$}") };
            written.expect("writing to a string cannot fail");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A whole number from ten on, one decimal below.
fn estimate(rows: f64) -> String {
    if rows >= 10.0 || rows.fract() == 0.0 { format!("{rows:.0}") } else { format!("{rows:.1}") }
}
