//! `dbms.procedures` and `dbms.settings`: what can be called, and how the database was opened.

use std::sync::Arc;

use exec::procedures::{columns_of, described_argument};
use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, Procedures, RowSink, YieldSpec,
};
use model::{Result, Value};

use crate::settings::{Config, SparkSettings};

/// A procedure that lists what is known beforehand. Rows are made for each call: to make those of all procedures took two thirds of
/// the time to open a store.
struct Listing {
    signature: ProcedureSignature,
    listed: Listed,
}

/// The things that are listed.
enum Listed {
    Procedures(Vec<ProcedureSignature>),
    /// Name, value and description.
    Settings(Vec<[String; 3]>),
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

fn signature(name: &'static str, description: &'static str, yields: &'static [YieldSpec]) -> ProcedureSignature {
    let mode = ProcedureMode::Read;
    ProcedureSignature { name, aliases: &[], description, mode, arguments: &[], yields }
}

/// Lists all procedures, itself included.
pub(super) fn procedures(others: &Procedures) -> Arc<dyn Procedure> {
    let signature = signature("dbms.procedures", "The procedures that queries can call.", PROCEDURE);
    let others = others.iter().map(|other| *other.signature()).filter(|other| other.name != signature.name);
    let mut all: Vec<ProcedureSignature> = others.chain([signature]).collect();
    all.sort_by_key(|signature| signature.name);
    Arc::new(Listing { signature, listed: Listed::Procedures(all) })
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
    let of_spark = |told: fn(&SparkSettings) -> String| config.spark.as_ref().map_or_else(|| "none".to_owned(), told);
    let folder = |spark: &SparkSettings| {
        spark.folder.as_ref().map_or_else(|| "temporary".to_owned(), |path| path.display().to_string())
    };
    let rate = config.merge_bytes_per_second.to_string();
    let rows = [
        ("durability", format!("{:?}", config.durability), "what a commit waits for"),
        ("isolation", format!("{:?}", config.isolation), "what transactions are protected from"),
        ("memory_limit", memory, "bytes that the database may use in all"),
        ("merge_rate", rate, "bytes a second that merges may write, 0 for no limit"),
        ("priority", config.priority.name().to_owned(), "how urgent the statements of a new session are"),
        ("spark_folder", of_spark(folder), "folder for the tables of Spark's jobs"),
        ("spark_master", of_spark(|spark| spark.master.clone()), "where Spark computes"),
        ("spark_python", of_spark(|spark| spark.python.display().to_string()), "the Python that has PySpark"),
        ("threads", config.threads.to_string(), "threads that one statement may use"),
    ];
    let signature = signature("dbms.settings", "How the database was opened.", SETTING);
    let row = |(name, value, description): (&str, String, &str)| [name.to_owned(), value, description.to_owned()];
    Arc::new(Listing { signature, listed: Listed::Settings(rows.into_iter().map(row).collect()) })
}

impl Procedure for Listing {
    fn signature(&self) -> &ProcedureSignature {
        &self.signature
    }

    fn call(&self, _: &mut ProcedureContext<'_>, _: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let rows: Vec<Vec<Value>> = match &self.listed {
            Listed::Procedures(all) => all.iter().map(described).collect(),
            Listed::Settings(all) => {
                all.iter().map(|row| row.each_ref().map(|text| Value::string(text)).to_vec()).collect()
            }
        };
        sink(columns_of(&rows, self.signature.yields.len()))?;
        Ok(())
    }
}
