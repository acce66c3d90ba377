//! Code shared by the operators that write: property columns, creation, changes.

pub(crate) mod changes;
pub(crate) mod computed;
pub(crate) mod creation;
pub(crate) mod hazards;

use std::sync::Arc;

use cypher::plan::{Expression, ExpressionKind};
use model::procedure::Workspace;
use model::{Column, ColumnBuilder, ColumnData, Map, PropertyKeyId, Result, Span, Value};

use crate::chunk::{Chunk, Layout};
use crate::context::EvaluationContext;
use crate::expression::CompiledExpression;
use crate::lowering::Lowering;
use crate::memory::{Charge, QueryMemory};
use crate::pushing::push_in_batches;
use crate::rows::RowBuffer;
use crate::runtime::{Flow, Scope, Sink, Step, Writer};
use crate::size::chunk_bytes;
use crate::spill::RowStore;

/// Runs an input to its end and keeps its rows in memory, with the charge for them.
pub(crate) fn read_all<'r>(
    input: &Step,
    scope: Scope<'_, 'r>,
    width: usize,
    operator: &'static str,
) -> Result<(Chunk, Charge<'r>)> {
    let mut charge = scope.runtime.charge(operator);
    let mut buffer = RowBuffer::default();
    input.run(scope, &mut |chunk| {
        scope.runtime.environment.interrupt.check()?;
        charge.grow(chunk_bytes(&chunk))?;
        buffer.push(chunk);
        Ok(Flow::Continue)
    })?;
    Ok((buffer.finish(width), charge))
}

/// Rows that are worked on at a time, and between two looks at the interrupt.
const WORK_ROWS_MAX: usize = 1 << 18;
/// The fewest rows that are worked on at a time, however little memory is left.
const WORK_ROWS_MIN: usize = 1 << 11;
/// Bytes of memory that a row may need for what is computed of it, its properties above all.
const WORK_ROW_BYTES: usize = 1 << 10;

/// Number of rows that are worked on at a time, so that what is computed of them fits into the memory that is left.
fn work_rows(memory: &QueryMemory) -> usize {
    (memory.bytes_free() / WORK_ROW_BYTES).clamp(WORK_ROWS_MIN, WORK_ROWS_MAX)
}

/// Runs an input to its end, works on all its rows, and then passes on what came of them. Rows that do not fit into memory
/// are worked on in blocks, each of which sees what was done for those before it; where they must not (`is_opaque`),
/// that fails. Values whose uniqueness the work has deferred are compared when all of it is done.
pub(crate) fn change_all(
    (input, width, is_opaque): (&Step, usize, bool),
    scope: Scope<'_, '_>,
    operator: &'static str,
    work: &mut dyn FnMut(Chunk) -> Result<Chunk>,
    sink: &mut Sink<'_>,
) -> Result<Flow> {
    let settle = || scope.runtime.write(|writer| writer.transaction.check_deferred());
    if is_opaque {
        let (chunk, _charge) = read_all(input, scope, width, operator)?;
        let done = work(chunk)?;
        settle()?;
        return push_in_batches(scope, done, sink);
    }
    let interrupt = scope.runtime.environment.interrupt;
    let mut store = RowStore::new(scope.runtime.charge(operator));
    input.run(scope, &mut |chunk| {
        interrupt.check()?;
        store.push(chunk)?;
        Ok(Flow::Continue)
    })?;
    let memory = scope.runtime.environment.memory;
    let mut output = RowStore::new(scope.runtime.charge(operator));
    let mut work_on = |chunk: Chunk| -> Result<Flow> {
        let at_a_time = work_rows(memory);
        for start in (0..chunk.rows).step_by(at_a_time) {
            interrupt.check()?;
            output.push(work(chunk.slice(start, (start + at_a_time).min(chunk.rows)))?)?;
        }
        Ok(Flow::Continue)
    };
    match store.finish(width).into_chunk() {
        Ok((chunk, _charge)) if chunk.rows <= work_rows(memory) => {
            let done = work(chunk)?;
            settle()?;
            return push_in_batches(scope, done, sink);
        }
        Ok((chunk, _charge)) => work_on(chunk)?,
        Err(stored) => stored.for_each(&mut work_on)?,
    };
    settle()?;
    output.finish(0).for_each(&mut |chunk| push_in_batches(scope, chunk, sink))
}

/// The source of the properties of new nodes or edges.
pub(crate) enum PropertySource {
    /// There are none.
    None,
    /// A map written out: one expression for each key, computed as columns.
    Entries(Vec<(Arc<str>, CompiledExpression, Span)>),
    /// An expression that gives a map for each row.
    Map(CompiledExpression, Span),
}

impl PropertySource {
    /// Compiles an expression that gives a map, or null.
    pub(crate) fn compile(
        lowering: &mut Lowering,
        properties: Option<&Expression>,
        layout: &Layout,
    ) -> Result<PropertySource> {
        let Some(expression) = properties else { return Ok(PropertySource::None) };
        let ExpressionKind::Map(entries) = &expression.kind else {
            return Ok(PropertySource::Map(lowering.compile(expression, layout)?, expression.span));
        };
        // Of two entries with the same key the later counts.
        let last: Map<&Arc<str>, usize> = entries.iter().enumerate().map(|(at, (key, _))| (key, at)).collect();
        let mut compiled = Vec::with_capacity(last.len());
        for (_, (key, value)) in entries.iter().enumerate().filter(|(at, (key, _))| last[key] == *at) {
            compiled.push((key.clone(), lowering.compile(value, layout)?, value.span));
        }
        Ok(PropertySource::Entries(compiled))
    }

    /// One column for each key, a row for each row of the chunk; null where a row has no such property.
    pub(crate) fn columns(
        &self,
        chunk: &Chunk,
        context: &EvaluationContext<'_>,
    ) -> Result<Vec<(Arc<str>, Arc<Column>)>> {
        match self {
            PropertySource::None => Ok(Vec::new()),
            PropertySource::Entries(entries) => {
                let mut columns = Vec::with_capacity(entries.len());
                for (key, expression, span) in entries {
                    let column = expression.evaluate(chunk, context)?;
                    check_storable(key, &column).map_err(|error| error.at(*span))?;
                    columns.push((key.clone(), column));
                }
                Ok(columns)
            }
            PropertySource::Map(expression, span) => {
                let maps = expression.evaluate(chunk, context)?;
                columns_of_maps(&maps).map_err(|error| error.at(*span))
            }
        }
    }
}

/// The entries of a column of maps and nulls, as one column for each key in order of first appearance.
fn columns_of_maps(maps: &Column) -> Result<Vec<(Arc<str>, Arc<Column>)>> {
    let mut keys: Map<Arc<str>, usize> = Map::default();
    let mut builders: Vec<(Arc<str>, ColumnBuilder)> = Vec::new();
    for (row, value) in maps.values().enumerate() {
        let map = match &value {
            Value::Map(map) => map,
            Value::Null => continue,
            other => return Err(model::error!(Type, "properties need a map, found {other} ({})", other.type_name())),
        };
        for (key, value) in map.iter() {
            let index = *keys.entry(key.clone()).or_insert_with(|| {
                builders.push((key.clone(), ColumnBuilder::default()));
                builders.len() - 1
            });
            let builder = &mut builders[index].1;
            while builder.len() < row {
                builder.push(&Value::Null);
            }
            builder.push(value);
        }
    }
    let mut columns = Vec::with_capacity(builders.len());
    for (key, mut builder) in builders {
        while builder.len() < maps.len() {
            builder.push(&Value::Null);
        }
        let column = builder.finish();
        check_storable(&key, &column)?;
        columns.push((key, Arc::new(column)));
    }
    Ok(columns)
}

/// Fails if a column holds what no store keeps as a property.
pub(crate) fn check_storable(key: &str, column: &Column) -> Result<()> {
    let found = match &column.data {
        ColumnData::Node(_) | ColumnData::Edge(_) => {
            (0..column.len()).find(|&row| !column.is_null(row)).map(|row| column.value(row))
        }
        ColumnData::Value(values) => values.iter().find(|value| !value.is_null() && !value.is_storable()).cloned(),
        _ => None,
    };
    match found {
        None => Ok(()),
        Some(value) => Err(model::error!(
            Type::InvalidPropertyType,
            "property {key} cannot hold {value} ({}): expected a boolean, number, string, date or a list of such without null",
            value.type_name()
        )),
    }
}

/// Number of values of a column that are not null.
pub(crate) fn present_count(column: &Column) -> u64 {
    (0..column.len()).filter(|&row| !column.is_null(row)).count() as u64
}

/// The ids of the keys and the columns, as the store takes them.
pub(crate) fn resolve_keys(
    writer: &mut Writer<'_>,
    properties: Vec<(Arc<str>, Arc<Column>)>,
) -> Result<(Vec<PropertyKeyId>, Vec<Column>)> {
    let mut keys = Vec::with_capacity(properties.len());
    let mut columns = Vec::with_capacity(properties.len());
    for (key, column) in properties {
        let present = present_count(&column);
        if present == 0 {
            continue;
        }
        writer.counters.properties_set += present;
        keys.push(writer.transaction.property_key(&key)?);
        columns.push(Arc::unwrap_or_clone(column));
    }
    Ok((keys, columns))
}
