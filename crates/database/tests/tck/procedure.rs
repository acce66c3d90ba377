//! Procedures of which a scenario gives the whole table: the rows whose first columns equal the arguments.

use std::sync::Arc;

use database::{Result, Value};
use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::{Column, ColumnData};

use crate::notation;

/// A procedure that looks its rows up.
pub(crate) struct TableProcedure {
    signature: ProcedureSignature,
    rows: Vec<Vec<Value>>,
}

impl TableProcedure {
    /// From a sentence like `test.my.proc(in :: INTEGER?) :: (out :: STRING?):` and a table whose header is passed too.
    pub(crate) fn parse(sentence: &str, table: &[Vec<String>]) -> std::result::Result<Arc<dyn Procedure>, String> {
        let parts = sentence.trim().trim_end_matches(':').trim_end().strip_suffix(')');
        let parts = parts.and_then(|text| text.split_once(") :: (")).and_then(|(left, yields)| {
            let (name, arguments) = left.split_once('(')?;
            Some((name, arguments, yields))
        });
        let (name, arguments, yields) = parts.ok_or_else(|| format!("no signature: {sentence}"))?;
        let arguments = columns(arguments)?.into_iter().map(|(name, type_name)| ArgumentSpec {
            name,
            type_name,
            description: "",
            default: None,
        });
        let yields = columns(yields)?.into_iter().map(|(name, type_name)| YieldSpec { name, type_name });
        let signature = ProcedureSignature {
            name: kept(name),
            aliases: &[],
            description: "The rows of a table.",
            mode: ProcedureMode::Read,
            arguments: arguments.collect::<Vec<_>>().leak(),
            yields: yields.collect::<Vec<_>>().leak(),
        };
        let row = |row: &Vec<String>| row.iter().map(|cell| notation::parse(cell)?.into_value()).collect();
        let rows = table.iter().skip(1).map(row).collect::<std::result::Result<_, String>>()?;
        Ok(Arc::new(TableProcedure { signature, rows }))
    }
}

/// Signatures live as long as the process; these are few and short.
fn kept(text: &str) -> &'static str {
    text.to_string().leak()
}

/// Names and types of a list like `name :: STRING?, id :: INTEGER?`.
fn columns(list: &str) -> std::result::Result<Vec<(&'static str, &'static str)>, String> {
    let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| match part.split_once("::") {
        Some((name, type_name)) => Ok((kept(name.trim()), kept(type_name.trim()))),
        None => Err(format!("no name and type: {part}")),
    };
    parts.map(pair).collect()
}

impl Procedure for TableProcedure {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, _: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let found: Vec<&Vec<Value>> =
            self.rows.iter().filter(|row| row.iter().zip(arguments).all(|(cell, argument)| cell == argument)).collect();
        if found.is_empty() && !self.signature.yields.is_empty() {
            return Ok(());
        }
        let column = |index: usize| {
            let values = found.iter().map(|row| row[arguments.len() + index].clone());
            Column::new(ColumnData::Value(values.collect()))
        };
        sink((0..self.signature.yields.len()).map(column).collect())?;
        Ok(())
    }
}
