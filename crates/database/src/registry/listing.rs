//! `dbms.procedures` and `dbms.settings`: what can be called, and how the database was opened.

use std::sync::Arc;

use exec::procedures::{columns_of, described_argument};
use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, Procedures, RowSink, YieldSpec,
};
use model::{Result, Value};

use crate::settings::Config;

/// A procedure whose rows are known beforehand.
struct Listing {
    signature: ProcedureSignature,
    rows: Vec<Vec<Value>>,
}

const PROCEDURE: &[YieldSpec] = &[
    text("name"),
    text("description"),
    text("mode"),
    of("worksOnSystem", "BOOLEAN"),
    text("signature"),
    of("argumentDescription", "LIST<MAP>"),
    of("returnDescription", "LIST<MAP>"),
    of("admin", "BOOLEAN"),
    of("rolesExecution", "LIST<STRING>"),
    of("rolesBoostedExecution", "LIST<STRING>"),
    of("isDeprecated", "BOOLEAN"),
    text("deprecatedBy"),
    of("option", "MAP"),
];
const SETTING: &[YieldSpec] = &[text("name"), text("value"), text("description")];

const fn of(name: &'static str, type_name: &'static str) -> YieldSpec {
    YieldSpec { name, type_name }
}

const fn text(name: &'static str) -> YieldSpec {
    of(name, "STRING")
}

fn listing(name: &'static str, description: &'static str, yields: &'static [YieldSpec]) -> Listing {
    let mode = ProcedureMode::Read;
    let signature = ProcedureSignature { name, aliases: &[], description, mode, arguments: &[], yields };
    Listing { signature, rows: Vec::new() }
}

/// Lists all procedures, itself included.
pub(super) fn procedures(others: &Procedures) -> Arc<dyn Procedure> {
    let mut made = listing("dbms.procedures", "The procedures that queries can call.", PROCEDURE);
    let own = described(&made.signature);
    let others = others.iter().map(|other| other.signature()).filter(|other| other.name != made.signature.name);
    made.rows = others.map(described).chain([own]).collect();
    made.rows.sort_by_key(|row| row[0].to_string());
    Arc::new(made)
}

fn described(signature: &ProcedureSignature) -> Vec<Value> {
    let argument = |held: &ArgumentSpec| {
        let default = held.default.map_or_else(String::new, |default| format!(" = {}", default()));
        format!("{}{default} :: {}", held.name, held.type_name)
    };
    let arguments: Vec<String> = signature.arguments.iter().map(argument).collect();
    let yields: Vec<String> =
        signature.yields.iter().map(|column| format!("{} :: {}", column.name, column.type_name)).collect();
    let usage = format!("{}({}) :: ({})", signature.name, arguments.join(", "), yields.join(", "));
    let mode = if signature.mode == ProcedureMode::Read { "READ" } else { "WRITE" };
    let one = |held: &ArgumentSpec| described_argument(held.name, held.type_name, held.description);
    let column = |held: &YieldSpec| described_argument(held.name, held.type_name, held.name);
    vec![
        Value::string(signature.name),
        Value::string(signature.description),
        Value::string(mode),
        Value::Bool(signature.name.starts_with("dbms.")),
        Value::string(&usage),
        Value::list(signature.arguments.iter().map(one).collect()),
        Value::list(signature.yields.iter().map(column).collect()),
        Value::Bool(false),
        Value::Null,
        Value::Null,
        Value::Bool(false),
        Value::Null,
        Value::map([(Arc::from("deprecated"), Value::Bool(false))]),
    ]
}

/// Lists how the database was opened.
pub(super) fn settings(config: &Config) -> Arc<dyn Procedure> {
    let memory = config.memory_bytes_max.map_or_else(|| "half of the machine's".to_owned(), |bytes| bytes.to_string());
    let rate = config.merge_bytes_per_second.to_string();
    let rows = [
        ("durability", format!("{:?}", config.durability), "what a commit waits for"),
        ("isolation", format!("{:?}", config.isolation), "what transactions are protected from"),
        ("memory_limit", memory, "bytes that the database may use in all"),
        ("merge_rate", rate, "bytes a second that merges may write, 0 for no limit"),
        ("priority", config.priority.name().to_owned(), "how urgent the statements of a new session are"),
        ("threads", config.threads.to_string(), "threads that one statement may use"),
    ];
    let mut made = listing("dbms.settings", "How the database was opened.", SETTING);
    let row =
        |(name, value, description): (&str, String, &str)| [name, &value, description].map(Value::string).to_vec();
    made.rows = rows.into_iter().map(row).collect();
    Arc::new(made)
}

impl Procedure for Listing {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, _: &mut ProcedureContext<'_>, _: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        sink(columns_of(&self.rows, self.signature.yields.len()))?;
        Ok(())
    }
}
