//! Which rows: by keys, and by boxes.

use std::borrow::Cow;

use model::{Column, ColumnData, Result, Value, error};

use crate::definition::NodeKind;
use crate::sql::draft::Draft;
use crate::sql::rows::{equal, given_columns, is_empty, key_columns, unnest};
use crate::sql::{ColumnFacts, Dialect, RowsFacts, Writer, quote};

/// Joins rows with keys, or adds the condition that their key is one of these.
///
/// `expressions` are the columns of the key in the rows. Where an index finds them, PostgreSQL goes through it with the
/// array; else it makes a table of the array, since it would look through all of the array for each row.
pub(super) fn by_keys<'q>(
    draft: &mut Draft<'q>,
    dialect: Dialect,
    expressions: &[String],
    facts: &[&ColumnFacts],
    keys: &'q Column,
    has_index: bool,
) -> Result<()> {
    // An empty list of rows cannot be written.
    if dialect == Dialect::MySql && is_empty(keys) {
        draft.conditions.push("1 = 0".to_owned());
        return Ok(());
    }
    if let ([expression], [facts]) = (expressions, facts) {
        let condition = one_of(draft, dialect, expression, facts, Cow::Borrowed(keys), has_index);
        draft.conditions.push(condition);
        return Ok(());
    }
    match dialect {
        Dialect::Postgres => {
            let types: Vec<&str> = facts.iter().map(|facts| &*facts.sql_type).collect();
            let given = unnest(draft, keys, &types, super::rows::GIVEN)?;
            draft.from.push_str(&format!("\nJOIN {given} ON {}", equal(expressions, &given_columns(types.len()))));
        }
        Dialect::MySql => {
            let types: Vec<&str> = facts.iter().map(|facts| &*facts.sql_type).collect();
            let rows = draft.members(Cow::Borrowed(keys), &types);
            let exact = key_columns(keys, facts.len())?;
            draft.conditions.push(format!("({}) IN {rows}", expressions.join(", ")));
            for ((expression, facts), column) in expressions.iter().zip(facts).zip(exact) {
                if is_text(&column, facts) {
                    let values = draft.members(Cow::Owned(column.into_owned()), &[""]);
                    draft.conditions.push(format!("{} IN {values}", bytes_of(expression)));
                }
            }
        }
        Dialect::Sqlite => {
            let rows = draft.members(Cow::Borrowed(keys), &vec![""; facts.len()]);
            draft.conditions.push(format!("({}) IN {rows}", expressions.join(", ")));
        }
    }
    Ok(())
}

/// The condition that an expression equals one of the values, none of which is null.
pub(super) fn one_of<'q>(
    draft: &mut Draft<'q>,
    dialect: Dialect,
    expression: &str,
    facts: &ColumnFacts,
    values: Cow<'q, Column>,
    has_index: bool,
) -> String {
    match dialect {
        Dialect::Postgres => {
            let array = draft.array(values, &facts.sql_type);
            if has_index || facts.sql_type.is_empty() {
                format!("{expression} = ANY({array})")
            } else {
                format!("{expression} IN (SELECT unnest({array}))")
            }
        }
        Dialect::MySql => {
            let texts = is_text(&values, facts).then(|| values.clone());
            let condition = format!("{expression} IN {}", draft.members(values, &[&facts.sql_type]));
            // Most collations take letters of both cases for equal; the first condition finds, the second decides.
            match texts {
                Some(texts) => {
                    let list = draft.members(texts, &[""]);
                    format!("({condition} AND {} IN {list})", bytes_of(expression))
                }
                None => condition,
            }
        }
        Dialect::Sqlite => format!("{expression} IN {}", draft.members(values, &[""])),
    }
}

/// A text of MySQL as bytes of UTF-8, which compare as Cypher's texts do.
pub(super) fn bytes_of(expression: &str) -> String {
    format!("CAST(CONVERT({expression} USING utf8mb4) AS BINARY)")
}

/// Tells whether values are texts that are compared with texts.
fn is_text(column: &Column, facts: &ColumnFacts) -> bool {
    matches!(facts.kind, None | Some(model::PropertyKind::String))
        && (0..column.len()).any(|row| matches!(column.value(row), Value::String(_)))
}

/// What says that a row lies in one of some boxes.
pub(super) struct Inside {
    /// What the rows are joined with; empty for nothing.
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

/// Whether no two boxes have a place in common.
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
    dialect: Dialect,
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
fn point_index(dialect: Dialect, facts: &RowsFacts, columns: &[&str]) -> Option<(String, [usize; 2])> {
    if dialect != Dialect::Postgres || columns.len() != 2 {
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
