//! `db.loadCsv`: the records of a file of separated values as rows; `LOAD CSV` is a call of it.

use std::sync::Arc;

use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::{Column, ColumnData, Result, Value, error};
use sources::files::records::Records;

use crate::files::FileAccess;

/// Records given on at once.
const BATCH_ROWS: usize = 1024;

/// Name of the statement in errors.
const STATEMENT: &str = "LOAD CSV";

/// The procedure for callers who may name these files.
pub(super) fn procedure(files: FileAccess) -> Arc<dyn Procedure> {
    Arc::new(LoadCsv { files })
}

struct LoadCsv {
    files: FileAccess,
}

static SIGNATURE: ProcedureSignature = ProcedureSignature {
    name: "db.loadCsv",
    aliases: &[],
    description: "The records of a file of comma separated values, as lists of texts or, with headers, as maps.",
    mode: ProcedureMode::Read,
    arguments: &[
        ArgumentSpec {
            name: "file",
            type_name: "STRING",
            description: "A path, or a URL that starts with file://; .gz and .zst are unpacked.",
            default: None,
        },
        ArgumentSpec {
            name: "headers",
            type_name: "BOOLEAN",
            description: "True if the first record names the fields; false by default.",
            default: Some(|| Value::Bool(false)),
        },
        ArgumentSpec {
            name: "terminator",
            type_name: "STRING",
            description: "The one character between fields; a comma by default.",
            default: Some(|| Value::Null),
        },
    ],
    yields: &[
        YieldSpec { name: "row", type_name: "LIST<STRING> | MAP" },
        YieldSpec { name: "line", type_name: "INTEGER" },
        YieldSpec { name: "file", type_name: "STRING" },
    ],
};

impl Procedure for LoadCsv {
    fn signature(&self) -> &ProcedureSignature {
        &SIGNATURE
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let Value::String(text) = &arguments[0] else {
            let found = arguments[0].type_name();
            return Err(error!(Type, "LOAD CSV needs the name of a file as text, found {found}"));
        };
        let path = self.files.to_read(STATEMENT, text)?;
        let mut records = Records::open(&path, delimiter(&arguments[2])?, context.interrupt)?;
        let file = Value::string(&std::path::absolute(&path).unwrap_or(path).display().to_string());
        let mut headers: Option<Vec<Arc<str>>> = None;
        if matches!(arguments[1], Value::Bool(true)) {
            let Some((_, fields)) = records.next_record()? else { return Ok(()) };
            headers = Some(fields.map(Arc::from).collect());
        }
        loop {
            let (mut rows, mut lines) = (Vec::new(), Vec::new());
            while rows.len() < BATCH_ROWS {
                let Some((line, fields)) = records.next_record()? else { break };
                lines.push(line as i64);
                rows.push(match &headers {
                    Some(names) => as_map(names, fields),
                    None => Value::list(fields.map(Value::string).collect()),
                });
            }
            context.interrupt.check()?;
            let is_end = rows.len() < BATCH_ROWS;
            let wants_more = rows.is_empty()
                || sink({
                    let files = vec![file.clone(); rows.len()];
                    let rows = Column::new(ColumnData::Value(rows));
                    vec![rows, Column::new(ColumnData::Int(lines)), Column::new(ColumnData::Value(files))]
                })?;
            if is_end || !wants_more {
                return Ok(());
            }
        }
    }
}

/// A field that is empty or missing is null, as in Neo4j.
fn as_map<'f>(names: &[Arc<str>], mut fields: impl Iterator<Item = &'f str>) -> Value {
    let value = |field: Option<&str>| field.filter(|text| !text.is_empty()).map_or(Value::Null, Value::string);
    Value::map(names.iter().map(|name| (name.clone(), value(fields.next()))))
}

fn delimiter(terminator: &Value) -> Result<u8> {
    match terminator {
        Value::Null => Ok(b','),
        Value::String(text) if text.len() == 1 => Ok(text.as_bytes()[0]),
        other => Err(error!(Argument, "FIELDTERMINATOR must be one ASCII character, found {other}")
            .with_remedy("write FIELDTERMINATOR ';', or leave it out for a comma")),
    }
}
