//! `NOT`, `AND`, `OR`, `XOR` in three-valued logic, and the rows for which a predicate is true.
//!
//! The operands of `AND` and `OR` are evaluated from left to right, each only for the rows that are still undecided.

use model::{ColumnData, Result};

use super::evaluate::{evaluate, truth, truths};
use super::frame::Frame;
use super::node::{Node, NodeKind};
use crate::vector::{Operand, TruthBuilder, Vector, View, map, validity_of};

/// `NOT operand`.
pub(crate) fn not(operand: &Node, frame: &Frame<'_>) -> Result<Vector> {
    let vector = evaluate(operand, frame)?;
    match vector.view() {
        View::Null => Ok(Vector::NULL),
        View::Bool(a) => Ok(Vector::of(ColumnData::Bool(map(frame.rows(), a, |a| !a)), validity_of(&vector))),
        _ => truths(frame.rows(), |row| Ok(truth_at(&vector, row, operand)?.map(|truth| !truth))),
    }
}

/// `a AND b AND …`.
pub(crate) fn and(operands: &[Node], frame: &Frame<'_>) -> Result<Vector> {
    decide(operands, frame, false)
}

/// `a OR b OR …`.
pub(crate) fn or(operands: &[Node], frame: &Frame<'_>) -> Result<Vector> {
    decide(operands, frame, true)
}

/// `left XOR right`.
pub(crate) fn xor(left: &Node, right: &Node, frame: &Frame<'_>) -> Result<Vector> {
    let (a, b) = (evaluate(left, frame)?, evaluate(right, frame)?);
    truths(frame.rows(), |row| {
        let (a, b) = (truth_at(&a, row, left)?, truth_at(&b, row, right)?);
        Ok(a.zip(b).map(|(a, b)| a != b))
    })
}

/// The truth of one row; an error at the operand if it is neither boolean nor null.
fn truth_at(vector: &Vector, row: usize, operand: &Node) -> Result<Option<bool>> {
    match vector.view() {
        View::Null => Ok(None),
        View::Bool(values) => Ok(if vector.is_null(row) { None } else { Some(values.get(row)) }),
        _ => truth(&vector.value(row)).map_err(|error| error.at(operand.span)),
    }
}

/// An operand that is `decisive` decides its row. A row without one is null if an operand was, else the opposite.
fn decide(operands: &[Node], frame: &Frame<'_>, decisive: bool) -> Result<Vector> {
    let rows = frame.rows();
    let mut decided = vec![false; rows];
    let mut unknown = vec![false; rows];
    let mut open: Vec<u32> = (0..rows as u32).collect();
    for operand in operands {
        if open.is_empty() {
            break;
        }
        let vector = on_rows(operand, frame, &open)?;
        let mut still_open = Vec::with_capacity(open.len());
        for (index, &row) in open.iter().enumerate() {
            match truth_at(&vector, index, operand)? {
                Some(truth) if truth == decisive => decided[row as usize] = true,
                Some(_) => still_open.push(row),
                None => {
                    unknown[row as usize] = true;
                    still_open.push(row);
                }
            }
        }
        open = still_open;
    }
    let mut results = TruthBuilder::new(rows);
    for (decided, unknown) in decided.into_iter().zip(unknown) {
        results.push(match (decided, unknown) {
            (true, _) => Some(decisive),
            (false, true) => None,
            (false, false) => Some(!decisive),
        });
    }
    Ok(results.finish())
}

/// A node evaluated for some rows of a frame only.
pub(crate) fn on_rows(node: &Node, frame: &Frame<'_>, rows: &[u32]) -> Result<Vector> {
    if rows.len() == frame.rows() { evaluate(node, frame) } else { evaluate(node, &Frame::of_rows(frame, rows)) }
}

/// The rows for which a predicate is true, in order.
pub(crate) fn true_rows(node: &Node, frame: &Frame<'_>) -> Result<Vec<u32>> {
    if let NodeKind::And(operands) = &node.kind {
        return all_true(operands, frame);
    }
    let vector = evaluate(node, frame)?;
    let rows = frame.rows();
    match vector.view() {
        View::Null => Ok(Vec::new()),
        View::Bool(Operand::One(truth)) => Ok(if truth { (0..rows as u32).collect() } else { Vec::new() }),
        View::Bool(Operand::Many(truths)) => {
            // Written whether true or not: which rows are true can seldom be foreseen by the processor.
            let mut selected = vec![0; truths.len()];
            let mut count = 0;
            for (row, &truth) in truths.iter().enumerate() {
                selected[count] = row as u32;
                count += usize::from(truth);
            }
            selected.truncate(count);
            if !vector.never_null() {
                selected.retain(|&row| !vector.is_null(row as usize));
            }
            Ok(selected)
        }
        _ => {
            let mut selected = Vec::new();
            for row in 0..rows {
                if truth_at(&vector, row, node)? == Some(true) {
                    selected.push(row as u32);
                }
            }
            Ok(selected)
        }
    }
}

/// As `true_rows` of a conjunction: each operand narrows the rows for the next. A row that is null for one operand is
/// out for good, since it can only become false; the others are then not evaluated for it.
fn all_true(operands: &[Node], frame: &Frame<'_>) -> Result<Vec<u32>> {
    let mut selected: Vec<u32> = (0..frame.rows() as u32).collect();
    for operand in operands {
        if selected.is_empty() {
            break;
        }
        if selected.len() == frame.rows() {
            selected = true_rows(operand, frame)?;
        } else {
            let kept = true_rows(operand, &Frame::of_rows(frame, &selected))?;
            selected = kept.into_iter().map(|index| selected[index as usize]).collect();
        }
    }
    Ok(selected)
}
