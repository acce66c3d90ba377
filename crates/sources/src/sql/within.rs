//! All nodes within a number of edges of some nodes, found by the database in one statement.

use model::{Column, Direction, Result, Value, error};

use crate::connector::Which;
use crate::definition::{NodeKind, Rows};
use crate::sql::draft::Draft;
use crate::sql::rows::{EndOf, GIVEN, all_rows, equal, key_columns};
use crate::sql::which::by_keys;
use crate::sql::{ColumnFacts, Writer, quote};

/// The arrangement of keys of the kinds that take part, side by side in the rows that are reached.
struct Keys<'a> {
    writer: &'a Writer<'a>,
    /// The kinds that can be reached.
    kinds: Vec<usize>,
    /// Columns of the longest key.
    arity: usize,
    /// True if keys of all kinds are of the same types; else they stand as strings.
    is_alike: bool,
}

impl<'a> Keys<'a> {
    fn of(writer: &'a Writer<'a>, starts: &[(usize, Column)], along: &[(usize, Direction)]) -> Result<Keys<'a>> {
        let mut kinds: Vec<usize> = starts.iter().map(|(kind, _)| *kind).collect();
        for (number, direction) in along {
            let edge = writer.definition.edges.get(*number);
            let edge = edge.ok_or_else(|| error!(Internal, "kind {number} of edges is asked for"))?;
            let (near, far) = EndOf::of(edge, *direction);
            kinds.extend([near.node(writer, &edge.name)?.0, far.node(writer, &edge.name)?.0]);
        }
        kinds.sort_unstable();
        kinds.dedup();
        let mut keys = Keys { writer, kinds, arity: 1, is_alike: true };
        let nodes: Vec<(usize, &NodeKind)> =
            keys.kinds.iter().map(|&kind| (kind, &writer.definition.nodes[kind])).collect();
        keys.arity = nodes.iter().map(|(_, node)| node.key.len()).max().unwrap_or(1);
        let types: Vec<Vec<&str>> = nodes.iter().map(|&(kind, node)| key_types(writer, kind, node)).collect();
        keys.is_alike = types.iter().all(|held| *held == types[0]);
        Ok(keys)
    }

    /// An expression of a key's column as it stands in the rows.
    fn stored(&self, expression: &str, sql_type: &str) -> String {
        self.writer.dialect.reached(expression, sql_type, self.is_alike)
    }

    /// A column of the rows in its own type again; `None` where it has it.
    fn typed(&self, expression: &str, sql_type: &str) -> Option<String> {
        if self.is_alike { None } else { self.writer.dialect.value_of_text(expression, sql_type) }
    }

    /// `kind, depth, key_0, ...` of a row; columns that a shorter key has not are null.
    fn row(&self, kind: usize, depth: &str, expressions: &[String], types: &[&str]) -> String {
        let mut columns = vec![kind.to_string(), depth.to_owned()];
        columns.extend(expressions.iter().zip(types).map(|(expression, sql_type)| self.stored(expression, sql_type)));
        columns.resize(2 + self.arity, "NULL".to_owned());
        columns.join(", ")
    }
}

fn key_types<'w>(writer: &'w Writer<'_>, kind: usize, node: &NodeKind) -> Vec<&'w str> {
    let facts = writer.catalog.node(kind);
    if matches!(node.rows, Rows::ByKey { scan: None, .. }) {
        return vec![&facts.parameter[0]];
    }
    node.key.iter().map(|name| &*facts.column(name).sql_type).collect()
}

/// The columns of [`reached`] as keys of a kind.
pub(super) fn given(arity: usize) -> Vec<String> {
    (0..arity).map(|at| format!("{GIVEN}.key_{at}")).collect()
}

/// Adds the nodes that are reached to what stands before the statement, and gives those of a kind as rows to read from.
pub(super) fn reached<'q>(
    draft: &mut Draft<'q>,
    writer: &Writer<'_>,
    which: &Which<'q>,
    kind: usize,
) -> Result<String> {
    let Which::Within { starts, along, depth, limit } = which else {
        return Err(error!(Internal, "only what is within so many edges is reached"));
    };
    let keys = Keys::of(writer, starts, along)?;
    let (names, types) = (key_names(keys.arity), key_types_of(writer, kind)?);
    let start = starts_text(draft, &keys, starts)?;
    // As parameters, so that the text is one of few and is known again.
    let deepest = draft.value(Value::Int(i64::from(*depth)), "int4");
    let most = draft.value(Value::Int(i64::try_from(*limit).unwrap_or(i64::MAX)), "int8");
    let mut steps = Vec::new();
    for &(number, direction) in *along {
        steps.push(step(&keys, number, direction, &deepest)?);
    }
    let recursion = match (writer.dialect.has_lateral(), steps.is_empty()) {
        (_, true) => start,
        // A query may speak of itself once.
        (true, false) => format!(
            "{start}\n  UNION\n  SELECT step.* FROM reach CROSS JOIN LATERAL (\n    {}\n  ) AS step WHERE reach.depth < {deepest}",
            steps.join("\n    UNION ALL\n    ")
        ),
        (false, false) => format!("{start}\n  UNION\n  {}", steps.join("\n  UNION\n  ")),
    };
    draft.with.push(format!("reach(kind, depth, {names}) AS (\n  {recursion}\n)"));
    let columns: Vec<String> = types
        .iter()
        .enumerate()
        .map(|(at, sql_type)| {
            // Back from text, so that the index of the key serves.
            let typed = keys.typed(&format!("key_{at}"), sql_type).map(|typed| format!("{typed} AS key_{at}"));
            typed.unwrap_or_else(|| format!("key_{at}"))
        })
        .collect();
    let of_kind = if keys.kinds.len() > 1 { format!(" WHERE kind = {kind}") } else { String::new() };
    Ok(format!(
        "(SELECT DISTINCT {} FROM (SELECT * FROM reach LIMIT {most}) AS near{of_kind}) AS {GIVEN}",
        columns.join(", ")
    ))
}

fn key_names(arity: usize) -> String {
    (0..arity).map(|at| format!("key_{at}")).collect::<Vec<_>>().join(", ")
}

fn key_types_of<'w>(writer: &'w Writer<'_>, kind: usize) -> Result<Vec<&'w str>> {
    let node =
        writer.definition.nodes.get(kind).ok_or_else(|| error!(Internal, "kind {kind} of nodes is asked for"))?;
    Ok(key_types(writer, kind, node))
}

/// The nodes to start from.
fn starts_text<'q>(draft: &mut Draft<'q>, keys: &Keys<'_>, starts: &'q [(usize, Column)]) -> Result<String> {
    let (writer, mut parts) = (keys.writer, Vec::new());
    for (kind, column) in starts {
        let (kind, types) = (*kind, key_types_of(writer, *kind)?);
        let node = &writer.definition.nodes[kind];
        if writer.dialect.has_arrays() {
            let columns = key_columns(column, types.len())?;
            let arrays = columns.into_iter().zip(&types).map(|(column, sql_type)| draft.array(column, sql_type));
            let arrays: Vec<String> = arrays.collect();
            let names: Vec<String> = (0..types.len()).map(|at| format!("start.key_{at}")).collect();
            let row = keys.row(kind, "0", &names, &types);
            parts.push(format!("SELECT {row} FROM unnest({}) AS start({})", arrays.join(", "), key_names(types.len())));
            continue;
        }
        // Their rows say what types their keys have.
        let own: Vec<String> = node.key.iter().map(|name| quote::column(writer.dialect, "n", name)).collect();
        let facts: Vec<&ColumnFacts> = node.key.iter().map(|name| writer.catalog.node(kind).column(name)).collect();
        let before = draft.conditions.len();
        by_keys(draft, writer.dialect, &own, &facts, column, true)?;
        let conditions = draft.conditions.split_off(before).join(" AND ");
        let rows = all_rows(writer.dialect, &node.name, &node.rows, "n")?;
        parts.push(format!("SELECT {} FROM {rows} WHERE {conditions}", keys.row(kind, "0", &own, &types)));
    }
    match (parts.len(), writer.dialect.has_lateral()) {
        (0, _) => Err(error!(Internal, "nodes within so many edges of no kind are asked for")),
        (1, _) => Ok(parts.swap_remove(0)),
        (_, true) => Ok(format!("({})", parts.join("\n  UNION ALL "))),
        (_, false) => Ok(parts.join("\n  UNION ")),
    }
}

/// One kind of edges followed from the rows that are reached.
fn step(keys: &Keys<'_>, number: usize, direction: Direction, deepest: &str) -> Result<String> {
    let (writer, edge) = (keys.writer, &keys.writer.definition.edges[number]);
    let (dialect, facts) = (writer.dialect, writer.catalog.edge(number));
    let (near, far) = EndOf::of(edge, direction);
    let ((near_kind, near_node), (far_kind, far_node)) =
        (near.node(writer, &edge.name)?, far.node(writer, &edge.name)?);
    let near_types = key_types(writer, near_kind, near_node);
    let arrived =
        keys.row(far_kind, "reach.depth + 1", &far.expressions(dialect), &key_types(writer, far_kind, far_node));
    let reached: Vec<String> = (0..near.end.columns.len())
        .map(|at| match keys.typed(&format!("reach.key_{at}"), near_types[at]) {
            // Keys of other kinds are never cast: they might not be of this type.
            Some(typed) => format!("CASE WHEN reach.kind = {near_kind} THEN {typed} END"),
            None => format!("reach.key_{at}"),
        })
        .collect();
    let by_key = match &edge.rows {
        Rows::ByKey { sql, reverse, .. } if dialect.has_lateral() => {
            let sql = if near.side == 0 { Some(sql) } else { reverse.as_ref() };
            Some(sql.ok_or_else(|| {
                error!(Definition, "edges of {} cannot be followed against their direction", edge.name)
            })?)
        }
        _ => None,
    };
    let mut conditions = far.present(dialect, facts);
    let rows = match by_key {
        // A cast in the place of the key must not bind to what stands around it.
        Some(sql) => {
            let key = format!("({})", reached[0]);
            format!("{} AS e", quote::subquery(&quote::with_key(dialect, sql, &key)?))
        }
        None => {
            conditions.push(equal(&near.expressions(dialect), &reached));
            format!("{}{}", all_rows(dialect, &edge.name, &edge.rows, "e")?, near.items(dialect, facts))
        }
    };
    if keys.kinds.len() > 1 {
        conditions.push(format!("reach.kind = {near_kind}"));
    }
    let items = far.items(dialect, facts);
    if dialect.has_lateral() {
        let conditions = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") };
        return Ok(format!("SELECT {arrived} FROM {rows}{items} WHERE {conditions}"));
    }
    conditions.push(format!("reach.depth < {deepest}"));
    Ok(format!("SELECT {arrived} FROM reach CROSS JOIN {rows}{items} WHERE {}", conditions.join(" AND ")))
}
