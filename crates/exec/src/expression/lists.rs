//! Comprehensions, quantifiers and `reduce`: the lists of many rows are laid end to end and their body is evaluated
//! for all elements together, in pieces of bounded size.

use cypher::plan::QuantifierKind;
use model::{Result, Value, error};

use super::evaluate::{evaluate, truth};
use super::frame::Frame;
use super::logic::true_rows;
use super::node::Node;
use crate::allocations::list_bytes;
use crate::size::own_bytes;
use crate::vector::{TruthBuilder, Vector};

/// Elements evaluated at once.
const PIECE_ELEMENTS: usize = 8_192;

/// Elements laid end to end: for each, the row whose list it is of.
#[derive(Default)]
struct Piece {
    owners: Vec<u32>,
    elements: Vec<Value>,
}

/// Hands the elements of all lists to `each`, piece by piece in order; null lists have none.
fn for_each_piece(
    lists: &Vector,
    list: &Node,
    frame: &Frame<'_>,
    mut each: impl FnMut(&Piece) -> Result<()>,
) -> Result<()> {
    let mut piece = Piece::default();
    for row in 0..frame.rows() {
        let value = lists.value(row);
        for element in items_of(&value, list)? {
            piece.owners.push(row as u32);
            piece.elements.push(element.clone());
            if piece.owners.len() == PIECE_ELEMENTS {
                frame.context().interrupt.check()?;
                each(&piece)?;
                piece.owners.clear();
                piece.elements.clear();
            }
        }
    }
    if piece.owners.is_empty() { Ok(()) } else { each(&piece) }
}

fn items_of<'v>(value: &'v Value, list: &Node) -> Result<&'v [Value]> {
    match value {
        Value::Null => Ok(&[]),
        Value::List(items) => Ok(items),
        other => Err(error!(Type, "expected a list, found {}", other.type_name()).at(list.span)),
    }
}

/// `[local IN list WHERE filter | body]`.
pub(crate) fn comprehension(
    local: usize,
    list: &Node,
    filter: Option<&Node>,
    body: Option<&Node>,
    frame: &Frame<'_>,
) -> Result<Vector> {
    let lists = evaluate(list, frame)?;
    let mut results: Vec<Vec<Value>> = vec![Vec::new(); frame.rows()];
    let note = |bytes: usize| frame.context().made("a list comprehension", bytes);
    for_each_piece(&lists, list, frame, |piece| {
        let scratch = frame.context().scratch();
        let mut inner = Frame::of_rows(frame, &piece.owners);
        inner.set(local, Vector::from_values(&piece.elements));
        let kept = match filter {
            Some(filter) => true_rows(filter, &inner)?,
            None => (0..piece.owners.len() as u32).collect(),
        };
        let Some(body) = body else {
            drop(scratch);
            note(list_bytes(kept.len()))?;
            for &index in &kept {
                results[piece.owners[index as usize] as usize].push(piece.elements[index as usize].clone());
            }
            return Ok(());
        };
        let vector = super::logic::on_rows(body, &inner, &kept)?;
        drop(scratch);
        note(list_bytes(kept.len()) + vector.own_bytes())?;
        for (at, &index) in kept.iter().enumerate() {
            results[piece.owners[index as usize] as usize].push(vector.value(at));
        }
        Ok(())
    })?;
    let values: Vec<Value> = results
        .into_iter()
        .enumerate()
        .map(|(row, items)| if lists.is_null(row) { Value::Null } else { Value::list(items) })
        .collect();
    Ok(Vector::from_values(&values))
}

/// Counts of true, false and unknown results of a predicate over the list of a row.
#[derive(Clone, Copy, Default)]
struct Tally {
    yes: u32,
    no: u32,
    unknown: u32,
}

impl Tally {
    fn add(&mut self, value: &Value, predicate: &Node) -> Result<()> {
        match truth(value).map_err(|error| error.at(predicate.span))? {
            Some(true) => self.yes += 1,
            Some(false) => self.no += 1,
            None => self.unknown += 1,
        }
        Ok(())
    }
}

/// `all(local IN list WHERE predicate)` and its kin.
pub(crate) fn quantifier(
    kind: QuantifierKind,
    local: usize,
    list: &Node,
    predicate: &Node,
    frame: &Frame<'_>,
) -> Result<Vector> {
    let lists = evaluate(list, frame)?;
    let mut tallies = vec![Tally::default(); frame.rows()];
    for_each_piece(&lists, list, frame, |piece| {
        let _scratch = frame.context().scratch();
        let mut inner = Frame::of_rows(frame, &piece.owners);
        inner.set(local, Vector::from_values(&piece.elements));
        let vector = evaluate(predicate, &inner)?;
        for (index, &owner) in piece.owners.iter().enumerate() {
            tallies[owner as usize].add(&vector.value(index), predicate)?;
        }
        Ok(())
    })?;
    let mut results = TruthBuilder::new(frame.rows());
    for (row, tally) in tallies.into_iter().enumerate() {
        results.push(if lists.is_null(row) { None } else { verdict(kind, tally) });
    }
    Ok(results.finish())
}

fn verdict(kind: QuantifierKind, tally: Tally) -> Option<bool> {
    let unless_unknown = |answer: bool| if tally.unknown > 0 { None } else { Some(answer) };
    match kind {
        QuantifierKind::All if tally.no > 0 => Some(false),
        QuantifierKind::Any if tally.yes > 0 => Some(true),
        QuantifierKind::None if tally.yes > 0 => Some(false),
        QuantifierKind::Single if tally.yes > 1 => Some(false),
        QuantifierKind::All | QuantifierKind::None => unless_unknown(true),
        QuantifierKind::Any => unless_unknown(false),
        QuantifierKind::Single => unless_unknown(tally.yes == 1),
    }
}

/// `reduce(accumulator = initial, local IN list | body)`: step by step, for all rows whose list goes on; with a
/// predicate, whether it holds of each value, as far as that is not known.
pub(crate) fn reduce(
    (accumulator, initial): (usize, &Node),
    (local, list): (usize, &Node),
    (body, predicate): (&Node, Option<&Node>),
    frame: &Frame<'_>,
) -> Result<Vector> {
    let (initial, lists) = (evaluate(initial, frame)?, evaluate(list, frame)?);
    let lists: Vec<Value> = (0..frame.rows()).map(|row| lists.value(row)).collect();
    let items = lists.iter().map(|value| items_of(value, list)).collect::<Result<Vec<_>>>()?;
    let mut values: Vec<Value> = (0..frame.rows()).map(|row| initial.value(row)).collect();
    let mut active: Vec<u32> = (0..frame.rows() as u32).collect();
    let mut tallies = vec![Tally::default(); if predicate.is_some() { frame.rows() } else { 0 }];
    let scratch = frame.context().scratch();
    // Bytes of values whose list has ended.
    let mut ended = 0;
    for step in 0.. {
        active.retain(|&row| {
            let goes_on = items[row as usize].len() > step;
            if !goes_on {
                ended += own_bytes(&values[row as usize]);
            }
            goes_on
        });
        if active.is_empty() {
            break;
        }
        frame.context().interrupt.check()?;
        let mut inner = Frame::of_rows(frame, &active);
        let column = |of: &dyn Fn(usize) -> Value| -> Vector {
            Vector::from_values(&active.iter().map(|&row| of(row as usize)).collect::<Vec<_>>())
        };
        inner.set(accumulator, column(&|row| values[row].clone()));
        inner.set(local, column(&|row| items[row][step].clone()));
        let before = scratch.bytes();
        let next = evaluate(body, &inner)?;
        let made = scratch.bytes() - before;
        active.iter().enumerate().for_each(|(index, &row)| values[row as usize] = next.value(index));
        if let Some(predicate) = predicate {
            inner.set(accumulator, next);
            let holds = evaluate(predicate, &inner)?;
            for (index, &row) in active.iter().enumerate() {
                tallies[row as usize].add(&holds.value(index), predicate)?;
            }
            active.retain(|&row| tallies[row as usize].no == 0);
        }
        // The values of the step before are gone.
        scratch.keep(ended + made);
    }
    let left = scratch.bytes();
    scratch.leave(left);
    if predicate.is_some() {
        let mut results = TruthBuilder::new(frame.rows());
        for (tally, list) in tallies.into_iter().zip(&lists) {
            results.push(if list.is_null() { None } else { verdict(QuantifierKind::All, tally) });
        }
        return Ok(results.finish());
    }
    for (value, list) in values.iter_mut().zip(&lists) {
        if list.is_null() {
            *value = Value::Null;
        }
    }
    Ok(Vector::from_values(&values))
}
