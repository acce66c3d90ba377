//! `db.loadCsv`: the records of a file of separated values as rows; `LOAD CSV` is a call of it.

use std::path::PathBuf;
use std::sync::Arc;

use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::{Column, ColumnData, Result, Value, error};
use sources::files::records::Records;

/// Records given on at once.
const BATCH_ROWS: usize = 1024;

/// The procedure.
pub(super) fn procedure() -> Arc<dyn Procedure> {
    Arc::new(LoadCsv { is_allowed: true })
}

/// The procedure where files are none of the callers' business.
pub(super) fn refused() -> Arc<dyn Procedure> {
    Arc::new(LoadCsv { is_allowed: false })
}

struct LoadCsv {
    is_allowed: bool,
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
        if !self.is_allowed {
            return Err(error!(Unsupported, "LOAD CSV reads files of the machine that serves this database")
                .with_remedy("read the file where the client runs, and pass its rows as a parameter to UNWIND"));
        }
        let path = path(&arguments[0])?;
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

/// The path that a text means.
fn path(file: &Value) -> Result<PathBuf> {
    let Value::String(text) = file else {
        return Err(error!(Type, "LOAD CSV needs the name of a file as text, found {}", file.type_name()));
    };
    if let Some(path) = text.strip_prefix("file://") {
        return Ok(PathBuf::from(unescaped(path)));
    }
    match text.split_once("://") {
        Some((scheme, _)) => Err(error!(Unsupported, "LOAD CSV cannot read {scheme} URLs")
            .with_remedy("fetch the file first, and name it by its path")),
        None => Ok(PathBuf::from(&**text)),
    }
}

/// The path of a URL, in which `%20` stands for a space.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = if *first == b'%' { tail.get(..2) } else { None };
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn delimiter(terminator: &Value) -> Result<u8> {
    match terminator {
        Value::Null => Ok(b','),
        Value::String(text) if text.len() == 1 => Ok(text.as_bytes()[0]),
        other => Err(error!(Argument, "FIELDTERMINATOR must be one ASCII character, found {other}")
            .with_remedy("write FIELDTERMINATOR ';', or leave it out for a comma")),
    }
}
