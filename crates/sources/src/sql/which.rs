//! The conditions that select rows: by keys, and by boxes.

use std::borrow::Cow;

use model::{Column, ColumnData, Result, Value, error};

use crate::definition::NodeKind;
use crate::sql::draft::Draft;
use crate::sql::rows::is_empty;
use crate::sql::{ColumnFacts, Dialect, RowsFacts, Writer, quote};

/// Joins rows with keys, or adds the condition that their key is one of these.
///
/// `expressions` are the columns of the key in the rows.
pub(super) fn by_keys<'q>(
    draft: &mut Draft<'q>,
    dialect: &'static dyn Dialect,
    expressions: &[String],
    facts: &[&ColumnFacts],
    keys: &'q Column,
    has_index: bool,
) -> Result<()> {
    // An empty list of rows cannot be written.
    if !dialect.has_arrays() && is_empty(keys) {
        draft.conditions.push("1 = 0".to_owned());
        return Ok(());
    }
    if let ([expression], [facts]) = (expressions, facts) {
        let condition = dialect.one_of(draft, expression, facts, Cow::Borrowed(keys), has_index);
        draft.conditions.push(condition);
        return Ok(());
    }
    dialect.rows_of(draft, expressions, facts, keys)
}

/// The condition that a row lies in one of some boxes.
pub(super) struct Inside {
    /// The join that the rows need; empty for none.
    pub(super) join: String,
    pub(super) condition: String,
}

/// That a node, whose rows are under the alias `n`, lies in one of the boxes.
pub(super) fn in_boxes(
    draft: &mut Draft<'_>,
    writer: &Writer<'_>,
    (kind, node): (usize, &NodeKind),
    properties: &[usize],
    boxes: &[Vec<(f64, f64)>],
) -> Result<Inside> {
    let facts = writer.catalog.node(kind);
    let mut columns = Vec::with_capacity(properties.len());
    for &property in properties {
        let property = node.properties.get(property).ok_or_else(|| {
            error!(
                Internal,
                "{} has {} properties, and a box is of number {property}",
                node.name,
                node.properties.len()
            )
        })?;
        columns.push(&*property.column);
    }
    let mut ranges: Vec<&Vec<(f64, f64)>> = Vec::with_capacity(boxes.len());
    for bounds in boxes {
        if bounds.len() != columns.len() {
            return Err(error!(Internal, "a box has {} ranges for {} properties", bounds.len(), columns.len()));
        }
        if bounds.iter().all(|(least, largest)| least <= largest) {
            ranges.push(bounds);
        }
    }
    if let Some((expression, order)) = point_index(writer.dialect, facts, &columns)
        && !ranges.is_empty()
        && are_apart(&ranges)
    {
        return Ok(in_points(draft, &expression, order, &ranges));
    }
    // The text is one of a few, so that statements are known again: boxes that hold nothing are added to make it so.
    let wanted = if ranges.is_empty() { 0 } else { ranges.len().next_power_of_two() };
    let nowhere = vec![(f64::MAX, f64::MAX); columns.len()];
    ranges.resize(wanted, &nowhere);
    let each: Vec<String> =
        ranges.iter().map(|bounds| in_box(draft, writer.dialect, facts, &columns, bounds)).collect();
    let condition = if each.is_empty() { "1 = 0".to_owned() } else { format!("({})", each.join("\n    OR ")) };
    Ok(Inside { join: String::new(), condition })
}

/// True if no two boxes have a place in common.
fn are_apart(boxes: &[&Vec<(f64, f64)>]) -> bool {
    let meet = |a: &[(f64, f64)], b: &[(f64, f64)]| a.iter().zip(b).all(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
    boxes.iter().enumerate().all(|(at, one)| !boxes[..at].iter().any(|other| meet(one, other)))
}

/// The same where a spatial index finds points in boxes: the boxes are joined as rows, so that the text, and the plan, are
/// the same for any number of them. Boxes that meet would give rows twice.
fn in_points(draft: &mut Draft<'_>, expression: &str, order: [usize; 2], boxes: &[&Vec<(f64, f64)>]) -> Inside {
    let side = |of: fn(&(f64, f64)) -> f64, at: usize| {
        Column::new(ColumnData::Float(boxes.iter().map(|b| of(&b[at])).collect()))
    };
    let [x, y] = order;
    let sides =
        [side(|range| range.0, x), side(|range| range.0, y), side(|range| range.1, x), side(|range| range.1, y)];
    let arrays: Vec<String> = sides.into_iter().map(|side| draft.array(Cow::Owned(side), "float8")).collect();
    let join = format!("\nCROSS JOIN unnest({}) AS place(x_0, y_0, x_1, y_1)", arrays.join(", "));
    let condition = format!("{expression} <@ box(point(place.x_0, place.y_0), point(place.x_1, place.y_1))");
    Inside { join, condition }
}

fn in_box(
    draft: &mut Draft<'_>,
    dialect: &'static dyn Dialect,
    facts: &RowsFacts,
    columns: &[&str],
    bounds: &[(f64, f64)],
) -> String {
    if let Some((expression, order)) = point_index(dialect, facts, columns) {
        let [x, y] = order.map(|at| bounds[at]);
        let mut corner = |x: f64, y: f64| {
            let (x, y) = (draft.value(Value::Float(x), "float8"), draft.value(Value::Float(y), "float8"));
            format!("point({x}, {y})")
        };
        let (low, high) = (corner(x.0, y.0), corner(x.1, y.1));
        return format!("{expression} <@ box({low}, {high})");
    }
    let ranges = columns.iter().zip(bounds).map(|(column, &(least, largest))| {
        let facts = facts.column(column);
        let (least, largest) = box_bounds(facts, least, largest);
        let (least, largest) = (draft.value(least, &facts.sql_type), draft.value(largest, &facts.sql_type));
        format!("{} BETWEEN {least} AND {largest}", quote::column(dialect, "n", column))
    });
    let ranges: Vec<String> = ranges.collect();
    format!("({})", ranges.join(" AND "))
}

/// Bounds in the kind of the column: a column of integers is compared with integers, so that its index serves.
fn box_bounds(facts: &ColumnFacts, least: f64, largest: f64) -> (Value, Value) {
    if facts.kind != Some(model::PropertyKind::Integer) {
        return (Value::Float(least), Value::Float(largest));
    }
    // The cast takes what is too large for it to the ends of the range.
    let (low, high) = match facts.sql_type.as_str() {
        "int2" => (i64::from(i16::MIN), i64::from(i16::MAX)),
        "int4" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    (Value::Int((least.ceil() as i64).max(low)), Value::Int((largest.floor() as i64).min(high)))
}

/// The spatial index of these two columns, and which column is its first coordinate.
fn point_index(dialect: &'static dyn Dialect, facts: &RowsFacts, columns: &[&str]) -> Option<(String, [usize; 2])> {
    if columns.len() != 2 {
        return None;
    }
    facts.points.iter().find_map(|index| {
        let place = |name: &String| columns.iter().position(|column| column == name);
        let (x, y) = (place(&index.columns[0])?, place(&index.columns[1])?);
        let [first, second] = [x, y].map(|at| quote::column(dialect, "n", columns[at]));
        let expression = index.expression.replace("{0}", &first).replace("{1}", &second);
        (x != y).then_some((expression, [x, y]))
    })
}
