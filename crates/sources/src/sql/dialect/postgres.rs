//! The dialect of PostgreSQL.

use std::borrow::Cow;

use model::{Column, Result, Value};

use super::Dialect;
use crate::catalog::TableName;
use crate::registry::{POSTGRES_QUOTES, Quotes};
use crate::sql::draft::Draft;
use crate::sql::rows::{GIVEN, equal, given_columns, unnest};
use crate::sql::{ColumnFacts, ParameterValue, quote};

#[derive(Debug)]
pub(super) struct Postgres;

impl Dialect for Postgres {
    fn quotes(&self) -> Quotes {
        POSTGRES_QUOTES
    }

    fn parameter(&self, number: usize) -> Option<String> {
        Some(format!("${number}"))
    }

    fn version(&self) -> &'static str {
        "SELECT current_setting('server_version')"
    }

    fn table_bytes(&self, table: &TableName) -> Option<String> {
        let name = table.in_sql(|name| quote::name(self, name)).replace('\'', "''");
        Some(format!("SELECT pg_total_relation_size('{name}'::regclass)"))
    }

    fn has_arrays(&self) -> bool {
        true
    }

    fn has_lateral(&self) -> bool {
        true
    }

    fn orders_unknown(&self) -> bool {
        false
    }

    /// Null is the largest value without being told.
    fn order_of_null(&self, _goes_down: bool) -> Option<&'static str> {
        Some("")
    }

    fn cast(&self, parameter: String, _value: &Value, sql_type: &str) -> String {
        if sql_type.is_empty() { parameter } else { format!("{parameter}::{sql_type}") }
    }

    fn array<'q>(&self, draft: &mut Draft<'q>, values: Cow<'q, Column>, sql_type: &str) -> String {
        let mark = draft.mark(ParameterValue::Array(values), sql_type);
        if sql_type.is_empty() { mark } else { format!("{mark}::{sql_type}[]") }
    }

    /// If an index finds them, the database goes through it with the array; else it makes a table of the array, since
    /// it would look through all of the array for each row.
    fn one_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expression: &str,
        facts: &ColumnFacts,
        values: Cow<'q, Column>,
        has_index: bool,
    ) -> String {
        let array = draft.array(values, &facts.sql_type);
        if has_index || facts.sql_type.is_empty() {
            format!("{expression} = ANY({array})")
        } else {
            format!("{expression} IN (SELECT unnest({array}))")
        }
    }

    fn rows_of<'q>(
        &self,
        draft: &mut Draft<'q>,
        expressions: &[String],
        facts: &[&ColumnFacts],
        keys: &'q Column,
    ) -> Result<()> {
        let types: Vec<&str> = facts.iter().map(|facts| &*facts.sql_type).collect();
        let given = unnest(draft, keys, &types, GIVEN)?;
        draft.from.push_str(&format!("\nJOIN {given} ON {}", equal(expressions, &given_columns(types.len()))));
        Ok(())
    }

    fn starts_with(&self, draft: &mut Draft<'_>, column: &str, facts: &ColumnFacts, prefix: &str) -> String {
        if facts.is_binary
            && let Some(after) = after_all_with(prefix)
        {
            // A plan for any pattern cannot go through an index; one for a range can.
            let least = draft.value(Value::string(prefix), "text");
            let after = draft.value(Value::String(after.into()), "text");
            return format!("{column} >= {least} AND {column} < {after}");
        }
        let pattern = Value::string(&quote::prefix_pattern(prefix));
        format!("{column}::text LIKE {} ESCAPE '!'", draft.value(pattern, "text"))
    }

    fn ends_with(&self, draft: &mut Draft<'_>, column: &str, end: &str) -> String {
        let end = draft.value(Value::string(end), "text");
        let text = format!("{column}::text COLLATE \"C\"");
        format!("right({text}, length({end})) = {end}")
    }

    fn contains(&self, draft: &mut Draft<'_>, column: &str, part: &str) -> String {
        let part = draft.value(Value::string(part), "text");
        format!("strpos({column}::text COLLATE \"C\", {part}) > 0")
    }

    fn by_bytes(&self, column: &str) -> String {
        format!("{column} COLLATE \"C\"")
    }

    fn elements(&self, array: &str, _facts: &ColumnFacts, alias: &str) -> String {
        format!("\nCROSS JOIN LATERAL unnest({array}) AS {alias}(value)")
    }

    fn is_loose(&self, end: &ColumnFacts, key: &ColumnFacts) -> bool {
        if end.sql_type.is_empty() || key.sql_type.is_empty() {
            return false;
        }
        let both = |types: &[&str]| [end, key].iter().all(|facts| types.contains(&&*facts.sql_type));
        let is_alike = end.sql_type == key.sql_type
            || both(&["int2", "int4", "int8", "numeric"])
            || both(&["text", "varchar", "name"])
            || both(&["float4", "float8"]);
        key.is_loose || !is_alike
    }

    /// All parts of a recursive query must have the same collation; what is compared with them keeps its own.
    fn reached(&self, expression: &str, sql_type: &str, is_alike: bool) -> String {
        match is_alike {
            true if sql_type.is_empty() => expression.to_owned(),
            true if !matches!(sql_type, "text" | "varchar" | "bpchar") => format!("{expression}::{sql_type}"),
            true => format!("{expression}::{sql_type} COLLATE \"default\""),
            false => format!("{expression}::text COLLATE \"default\""),
        }
    }

    fn value_of_text(&self, expression: &str, sql_type: &str) -> Option<String> {
        (!sql_type.is_empty()).then(|| format!("{expression}::{sql_type}"))
    }
}

/// The least string that is greater than all that have the prefix, by bytes; `None` if there is none.
fn after_all_with(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        // The letters between two planes of surrogates are none.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}
