//! A vector: what an expression gives for a batch of rows: a column, or one value that stands for every row.
//!
//! Constants stay single values for as long as nothing needs them as a column.

use std::sync::Arc;

use model::{
    Bitmap, Column, ColumnData, EdgeValue, Fixed, FixedKind, NodeId, Result, StringColumn, Value, each_fixed,
    each_vector,
};

use crate::allocations::own_bytes_of_column;
use crate::size::own_bytes;

/// One value for each row.
#[derive(Clone, Debug)]
pub(crate) enum Vector {
    /// The same value in every row.
    Constant(Value),
    /// A value a row.
    Column(Arc<Column>),
}

/// The rows of a vector of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a, T> {
    /// The same in every row.
    One(T),
    /// A value a row; what stands in null rows is not to be used.
    Many(&'a [T]),
}

/// The texts of a vector.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextOperand<'a> {
    /// The same in every row.
    One(&'a str),
    /// A text a row.
    Many(&'a StringColumn),
}

/// A vector by its kind, for fast paths.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    /// Null in every row.
    Null,
    /// Booleans.
    Bool(Operand<'a, bool>),
    /// Integers.
    Int(Operand<'a, i64>),
    /// Floats.
    Float(Operand<'a, f64>),
    /// Texts.
    String(TextOperand<'a>),
    /// Nodes.
    Node(Operand<'a, NodeId>),
    /// Edges.
    Edge(Operand<'a, EdgeValue>),
    /// Another kind of a fixed size; [`Vector::operand`] has the values.
    Other(FixedKind),
    /// Anything else, and mixtures.
    Value,
}

impl<T: Copy> Operand<'_, T> {
    /// The value of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> T {
        match self {
            Operand::One(value) => *value,
            Operand::Many(values) => values[row],
        }
    }
}

impl<'a> TextOperand<'a> {
    /// The text of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> &'a str {
        match self {
            TextOperand::One(text) => text,
            TextOperand::Many(texts) => texts.get(row),
        }
    }
}

impl Vector {
    /// Null in every row.
    pub(crate) const NULL: Vector = Vector::Constant(Value::Null);

    /// A vector of a new column.
    pub(crate) fn new(column: Column) -> Vector {
        Vector::Column(Arc::new(column))
    }

    /// A vector of values of one type, null where `validity` says so.
    pub(crate) fn of(data: ColumnData, validity: Option<Bitmap>) -> Vector {
        Vector::new(match validity {
            Some(validity) => Column::with_validity(data, validity),
            None => Column::new(data),
        })
    }

    /// A vector of these values.
    pub(crate) fn from_values(values: &[Value]) -> Vector {
        Vector::new(Column::from_values(values))
    }

    /// One row as a value.
    pub(crate) fn value(&self, row: usize) -> Value {
        match self {
            Vector::Constant(value) => value.clone(),
            Vector::Column(column) => column.value(row),
        }
    }

    /// True if the row is null.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        match self {
            Vector::Constant(value) => value.is_null(),
            Vector::Column(column) => column.is_null(row),
        }
    }

    /// True if no row can be null, as far as can be told without looking at values.
    pub(crate) fn never_null(&self) -> bool {
        match self {
            Vector::Constant(value) => !value.is_null(),
            Vector::Column(column) => {
                column.validity.is_none() && !matches!(column.data, ColumnData::Null(_) | ColumnData::Value(_))
            }
        }
    }

    /// The value, if it is the same in every row by construction.
    pub(crate) fn constant(&self) -> Option<&Value> {
        match self {
            Vector::Constant(value) => Some(value),
            Vector::Column(_) => None,
        }
    }

    /// The vector as a column of `rows` rows.
    pub(crate) fn into_column(self, rows: usize) -> Arc<Column> {
        match self {
            Vector::Constant(value) => Arc::new(Column::constant(&value, rows)),
            Vector::Column(column) => column,
        }
    }

    /// Bytes of its lists and texts that nobody else holds.
    pub(crate) fn own_bytes(&self) -> usize {
        match self {
            Vector::Constant(value) => own_bytes(value),
            Vector::Column(column) => own_bytes_of_column(column),
        }
    }

    /// Fails with `LIMIT` if a row is nested deeper or larger than values may be.
    #[inline]
    pub(crate) fn check_extent(&self) -> Result<()> {
        match self {
            Vector::Constant(value) => value.check_extent(),
            Vector::Column(column) => column.check_extent(),
        }
    }

    /// The rows at `rows`, in that order.
    pub(crate) fn gather(&self, rows: &[u32]) -> Vector {
        match self {
            Vector::Constant(value) => Vector::Constant(value.clone()),
            Vector::Column(column) => Vector::new(column.gather(rows)),
        }
    }

    /// The vector by its kind.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Vector::Constant(value) => each_fixed!(value, {
                Value::Null => View::Null,
                Value::Bool(x) => View::Bool(Operand::One(*x)),
                Value::Int(x) => View::Int(Operand::One(*x)),
                Value::Float(x) => View::Float(Operand::One(*x)),
                Value::String(x) => View::String(TextOperand::One(x)),
                Value::Node(x) => View::Node(Operand::One(*x)),
                Value::Edge(x) => View::Edge(Operand::One(*x)),
            }, x => View::Other(kind_of(std::slice::from_ref(x))), _ => View::Value),
            Vector::Column(column) => each_vector!(&column.data, {
                ColumnData::Null(_) => View::Null,
                ColumnData::Bool(rows) => View::Bool(Operand::Many(rows)),
                ColumnData::Int(rows) => View::Int(Operand::Many(rows)),
                ColumnData::Float(rows) => View::Float(Operand::Many(rows)),
                ColumnData::String(rows) => View::String(TextOperand::Many(rows)),
                ColumnData::Node(rows) => View::Node(Operand::Many(rows)),
                ColumnData::Edge(rows) => View::Edge(Operand::Many(rows)),
                ColumnData::Value(_) => View::Value,
            }, rows => View::Other(kind_of(rows))),
        }
    }

    /// Its values, if they are of that kind.
    pub(crate) fn operand<T: Fixed>(&self) -> Option<Operand<'_, T>> {
        match self {
            Vector::Constant(value) => T::of(value).map(Operand::One),
            Vector::Column(column) => T::rows(&column.data).map(Operand::Many),
        }
    }

    fn validity(&self) -> Option<&Bitmap> {
        match self {
            Vector::Constant(_) => None,
            Vector::Column(column) => column.validity.as_ref(),
        }
    }
}

fn kind_of<T: Fixed>(_: &[T]) -> FixedKind {
    T::KIND
}

/// The rows in which none of these typed vectors is null; `None` if that is all rows.
pub(crate) fn common_validity(left: &Vector, right: &Vector) -> Option<Bitmap> {
    match (left.validity(), right.validity()) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one.clone()),
        (Some(a), Some(b)) => {
            let words = a.words().iter().zip(b.words()).map(|(a, b)| a & b).collect();
            Some(Bitmap::from_words(words, a.len()))
        }
    }
}

/// The rows in which a typed vector is not null; `None` if that is all rows.
pub(crate) fn validity_of(vector: &Vector) -> Option<Bitmap> {
    vector.validity().cloned()
}

/// Applies `f` to each pair of rows.
#[inline]
pub(crate) fn zip<A: Copy, B: Copy, R>(
    rows: usize,
    left: Operand<'_, A>,
    right: Operand<'_, B>,
    mut f: impl FnMut(A, B) -> R,
) -> Vec<R> {
    match (left, right) {
        (Operand::Many(left), Operand::Many(right)) => left.iter().zip(right).map(|(&a, &b)| f(a, b)).collect(),
        (Operand::Many(left), Operand::One(b)) => left.iter().map(|&a| f(a, b)).collect(),
        (Operand::One(a), Operand::Many(right)) => right.iter().map(|&b| f(a, b)).collect(),
        (Operand::One(a), Operand::One(b)) => (0..rows).map(|_| f(a, b)).collect(),
    }
}

/// Applies `f` to each row.
#[inline]
pub(crate) fn map<A: Copy, R>(rows: usize, operand: Operand<'_, A>, mut f: impl FnMut(A) -> R) -> Vec<R> {
    match operand {
        Operand::Many(values) => values.iter().map(|&a| f(a)).collect(),
        Operand::One(a) => (0..rows).map(|_| f(a)).collect(),
    }
}

/// Applies `f` to the text of each row; to texts of a dictionary that is smaller than the rows are, once each.
#[inline]
pub(crate) fn map_texts<R: Copy>(rows: usize, texts: TextOperand<'_>, f: impl Fn(&str) -> R) -> Vec<R> {
    match entries(rows, texts) {
        Some((codes, entries)) => gathered(codes, &entries.iter().map(f).collect::<Vec<R>>()),
        None => (0..rows).map(|row| f(texts.get(row))).collect(),
    }
}

/// As [`map_texts`], by what may fail.
pub(crate) fn try_map_texts<R: Copy>(
    rows: usize,
    texts: TextOperand<'_>,
    mut f: impl FnMut(&str) -> Result<R>,
) -> Result<Vec<R>> {
    if let Some((codes, entries)) = entries(rows, texts) {
        return Ok(gathered(codes, &entries.iter().map(f).collect::<Result<Vec<R>>>()?));
    }
    let mut results = Vec::with_capacity(rows);
    for row in 0..rows {
        results.push(f(texts.get(row))?);
    }
    Ok(results)
}

/// The codes and the dictionary of texts, if that is smaller than the rows are.
fn entries(rows: usize, texts: TextOperand<'_>) -> Option<(&[u32], &StringColumn)> {
    let TextOperand::Many(column) = texts else { return None };
    column.codes().filter(|(_, entries)| entries.len() < rows)
}

fn gathered<R: Copy>(codes: &[u32], of_entries: &[R]) -> Vec<R> {
    codes.iter().map(|&code| of_entries[code as usize]).collect()
}

/// Booleans and nulls, row by row.
#[derive(Debug)]
pub(crate) struct TruthBuilder {
    values: Vec<bool>,
    validity: Bitmap,
}

impl TruthBuilder {
    /// An empty builder with room for `rows` rows.
    pub(crate) fn new(rows: usize) -> TruthBuilder {
        TruthBuilder { values: Vec::with_capacity(rows), validity: Bitmap::default() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, truth: Option<bool>) {
        self.values.push(truth.unwrap_or(false));
        self.validity.push(truth.is_some());
    }

    /// The vector.
    pub(crate) fn finish(self) -> Vector {
        Vector::of(ColumnData::Bool(self.values), Some(self.validity))
    }
}
