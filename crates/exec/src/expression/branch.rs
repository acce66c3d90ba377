//! `CASE` and `coalesce`: each branch is evaluated only for the rows that take it.

use cypher::plan::BinaryOperator;
use model::{Column, Result, Value};

use super::comparison;
use super::evaluate::evaluate;
use super::frame::Frame;
use super::logic::{on_rows, true_rows};
use super::node::Node;
use crate::vector::Vector;

/// `CASE operand WHEN … THEN … ELSE … END`.
pub(crate) fn case(
    operand: Option<&Node>,
    whens: &[(Node, Node)],
    otherwise: Option<&Node>,
    frame: &Frame<'_>,
) -> Result<Vector> {
    let operand = operand.map(|operand| evaluate(operand, frame)).transpose()?;
    let mut merge = Merge::new(frame.rows());
    for (when, then) in whens {
        if merge.open.is_empty() {
            break;
        }
        let taken = match &operand {
            Some(operand) => equal_rows(operand, when, frame, &merge.open)?,
            None => condition_rows(when, frame, &merge.open)?,
        };
        if !taken.is_empty() {
            let vector = on_rows(then, frame, &taken)?;
            merge.take(taken, vector);
        }
    }
    if let Some(otherwise) = otherwise
        && !merge.open.is_empty()
    {
        let rest = std::mem::take(&mut merge.open);
        let vector = on_rows(otherwise, frame, &rest)?;
        merge.take(rest, vector);
    }
    Ok(merge.finish())
}

/// The first argument that is not null.
pub(crate) fn coalesce(arguments: &[Node], frame: &Frame<'_>) -> Result<Vector> {
    let mut merge = Merge::new(frame.rows());
    for argument in arguments {
        if merge.open.is_empty() {
            break;
        }
        let vector = on_rows(argument, frame, &merge.open)?;
        if vector.never_null() {
            let rest = std::mem::take(&mut merge.open);
            merge.take(rest, vector);
            break;
        }
        let known: Vec<u32> = (0..merge.open.len() as u32).filter(|&index| !vector.is_null(index as usize)).collect();
        let taken = known.iter().map(|&index| merge.open[index as usize]).collect();
        merge.take(taken, vector.gather(&known));
    }
    Ok(merge.finish())
}

/// The rows among `open` for which a condition is true.
fn condition_rows(when: &Node, frame: &Frame<'_>, open: &[u32]) -> Result<Vec<u32>> {
    if open.len() == frame.rows() {
        return true_rows(when, frame);
    }
    let kept = true_rows(when, &Frame::of_rows(frame, open))?;
    Ok(kept.into_iter().map(|index| open[index as usize]).collect())
}

/// The rows among `open` for which the operand of a simple `CASE` equals a `WHEN`.
fn equal_rows(operand: &Vector, when: &Node, frame: &Frame<'_>, open: &[u32]) -> Result<Vec<u32>> {
    let value = on_rows(when, frame, open)?;
    let operand = if open.len() == frame.rows() { operand.clone() } else { operand.gather(open) };
    let equal = comparison::evaluate(BinaryOperator::Equal, &operand, &value, open.len())?;
    let is_true = |index: &usize| matches!(equal.value(*index), Value::Bool(true));
    Ok((0..open.len()).filter(is_true).map(|index| open[index]).collect())
}

/// Puts the results of branches together again.
struct Merge {
    rows: usize,
    /// Rows that no branch took so far.
    open: Vec<u32>,
    /// For each branch that took rows: which, and their results.
    branches: Vec<(Vec<u32>, Vector)>,
}

impl Merge {
    fn new(rows: usize) -> Merge {
        Merge { rows, open: (0..rows as u32).collect(), branches: Vec::new() }
    }

    fn take(&mut self, taken: Vec<u32>, vector: Vector) {
        if taken.is_empty() {
            return;
        }
        let mut next = taken.iter().peekable();
        self.open.retain(|row| next.next_if_eq(&row).is_none());
        self.branches.push((taken, vector));
    }

    fn finish(mut self) -> Vector {
        if !self.open.is_empty() {
            let open = std::mem::take(&mut self.open);
            self.branches.push((open, Vector::NULL));
        }
        if self.branches.len() == 1
            && let Some((_, vector)) = self.branches.pop()
        {
            return vector;
        }
        let mut order = vec![0_u32; self.rows];
        let mut all = Column::nulls(0);
        let mut before = 0;
        for (rows, vector) in self.branches {
            for (index, &row) in rows.iter().enumerate() {
                order[row as usize] = (before + index) as u32;
            }
            before += rows.len();
            all.append(&vector.into_column(rows.len()));
        }
        Vector::new(all.gather(&order))
    }
}
