//! `knot import`: files into a store.

use std::path::{Path, PathBuf};

use database::import::{EdgeFile, ImportPlan, ImportProgress, ImportSummary, NodeFile, OnBadRow};
use database::import::{FieldType, FileFormat, OnDuplicate, ReadOptions};
use database::{Access, Config, Database, Error, ErrorCode, Interrupt, Parameters, parse_bytes};

use crate::arguments::{Duplicate, ImportArguments};
use crate::failure::{Failure, Outcome};
use crate::format::counted;
use crate::{progress, signals};

pub(super) fn run(arguments: &ImportArguments) -> Outcome<()> {
    let (files, schema) = expanded(&arguments.files)?;
    let plan = plan(arguments, &files)?;
    // The export of an empty graph is a folder without files, or with a schema alone.
    let is_export = arguments.files.iter().any(|path| path.is_dir());
    if plan.nodes.is_empty() && plan.edges.is_empty() && !is_export {
        return Err(usage("expected files to import: --nodes, --edges, or files that say what they hold".into()));
    }
    let is_ring = database::is_ring(&arguments.store);
    if !is_ring && (arguments.staging.is_some() || arguments.restart) {
        return Err(usage(
            "--staging and --restart are for an import into a ring of machines (cql://HOST/KEYSPACE)".into(),
        ));
    }
    let existed = is_ring || arguments.store.exists();
    let config = Config { access: Access::ReadWrite, ..Config::default() };
    let database = super::open_with(&arguments.store, config).map_err(with_another_way)?;
    let clock = database.clock();
    let start = clock.now_ns();
    let interrupt = Interrupt::new();
    let state = ImportProgress::default();
    let cancelling = signals::cancel_with(interrupt.clone());
    let outcome = progress::watch_import(&state, arguments.no_progress, || match is_ring {
        true => into_ring(arguments, &database, &plan, &schema, &state, &interrupt),
        false => database.import(&plan, &state, &interrupt),
    });
    let declared = |summary| declare(&database, &schema, existed).map(|()| summary);
    let outcome = if is_ring { outcome } else { outcome.and_then(declared) };
    drop(cancelling);
    let summary = match outcome {
        Ok(summary) => summary,
        Err(failure) => {
            drop(database);
            if !existed {
                // The store was made for this import alone; an empty one would only be in the way.
                let _ = std::fs::remove_dir_all(&arguments.store);
            }
            return Err(match failure.code() {
                ErrorCode::Cancelled if is_ring => Error::new(ErrorCode::Cancelled, "the import was cancelled")
                    .with_remedy("the graph is as it was; run the same command again to go on with the import")
                    .into(),
                ErrorCode::Cancelled => Error::new(ErrorCode::Cancelled, "the import was cancelled")
                    .with_remedy("the store is as it was; run it again")
                    .into(),
                _ => failure.into(),
            });
        }
    };
    for note in state.notes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        tell!("note: {note}");
    }
    let seconds = (clock.now_ns() - start) as f64 / 1e9;
    let done = if arguments.on_duplicate == Duplicate::Update { "updated" } else { "there already" };
    let merged = if summary.nodes_merged > 0 { format!(" ({} {done})", summary.nodes_merged) } else { String::new() };
    let skipped = if summary.rows_skipped > 0 {
        format!(", {} left out", counted(summary.rows_skipped, "bad row"))
    } else {
        String::new()
    };
    let edges = if summary.edges_merged > 0 { format!(" ({} {done})", summary.edges_merged) } else { String::new() };
    let rows = (summary.nodes_created + summary.nodes_merged + summary.edges_created + summary.edges_merged) as f64;
    tell!(
        "{}{merged}, {}{edges}{skipped} in {seconds:.2} s ({:.2} million rows/s)",
        counted(summary.nodes_created, "node"),
        counted(summary.edges_created, "edge"),
        rows / seconds / 1e6
    );
    Ok(())
}

/// Imports into a graph on a ring, whose rules are those of the schemas too.
#[cfg(feature = "cql")]
fn into_ring(
    arguments: &ImportArguments,
    database: &Database,
    plan: &ImportPlan,
    schema: &[PathBuf],
    state: &ImportProgress,
    interrupt: &Interrupt,
) -> database::Result<ImportSummary> {
    let folder = arguments.staging.clone().unwrap_or_else(|| staging_of(&arguments.store));
    let staging = database::Staging { folder, restarts: arguments.restart };
    let declared = |store: &Database| declare(store, schema, false);
    database.import_into_ring(plan, &staging, &declared, state, interrupt)
}

#[cfg(not(feature = "cql"))]
fn into_ring(
    arguments: &ImportArguments,
    _: &Database,
    _: &ImportPlan,
    _: &[PathBuf],
    _: &ImportProgress,
    _: &Interrupt,
) -> database::Result<ImportSummary> {
    let place = arguments.store.display();
    Err(Error::new(ErrorCode::Unsupported, format!("{place}: this program was built without rings of machines")))
}

/// The folder of an import into a graph on a ring, unless told otherwise: by its keyspace and number.
#[cfg(feature = "cql")]
fn staging_of(address: &Path) -> PathBuf {
    let address = address.to_string_lossy();
    let name = address.rsplit('/').next().unwrap_or_default();
    let (keyspace, options) = name.split_once('?').unwrap_or((name, ""));
    let graph = options.split('&').find_map(|option| option.strip_prefix("graph="));
    PathBuf::from(graph.map_or_else(|| format!("{keyspace}.import"), |graph| format!("{keyspace}-{graph}.import")))
}

/// A store that another process has open takes files through that one.
fn with_another_way(failure: Error) -> Error {
    match failure.code() {
        ErrorCode::Busy => failure.with_remedy(
            "end that process first, or load the files through it, one by one: knot query STORE \"COPY Label FROM 'file'\"",
        ),
        _ => failure,
    }
}

/// A command line of this command that makes no sense.
fn usage(message: String) -> Failure {
    Failure::UsageOf("import", message)
}

/// The files, those of folders that an export has written among them, and the scripts of their schemas.
fn expanded(files: &[PathBuf]) -> Outcome<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut all, mut scripts) = (Vec::new(), Vec::new());
    for path in files {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let failed = |cause: std::io::Error| Error::new(ErrorCode::File, format!("{}: {cause}", path.display()));
        let mut found = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            found.push(entry.map_err(failed)?.path());
        }
        found.sort();
        for file in found {
            match file.file_name().map(|name| name.to_string_lossy().into_owned()) {
                Some(name) if name == "schema.cypher" => scripts.push(file),
                Some(name) if name.starts_with("nodes-") || name.starts_with("edges-") => all.push(file),
                _ => {
                    let message = format!("{}: is no file of an export", file.display());
                    return Err(Error::new(ErrorCode::Import, message).with_remedy("name the files to import").into());
                }
            }
        }
    }
    Ok((all, scripts))
}

/// Runs the statements of schemas, except those that say what the store has already.
fn declare(database: &Database, scripts: &[PathBuf], existed: bool) -> database::Result<()> {
    for path in scripts {
        let place = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|cause| Error::new(ErrorCode::File, format!("{place}: {cause}")))?;
        let mut session = database.session();
        let held = database::export::schema_statements(database.store().read()?.schema());
        for (index, statement) in database::split_statements(&text).into_iter().enumerate() {
            if held.iter().any(|held| held == statement.trim()) {
                continue;
            }
            session.query(statement, &Parameters::default()).map_err(|failure| {
                let failure = failure.within(&format!("{place}: statement {}", index + 1));
                let remedy = match existed {
                    true => {
                        "the nodes and edges are imported, and the statements before this one are run: mend the cause, \
                         then run it and those behind it with knot query"
                    }
                    false => "no store was made: mend the cause, and import again",
                };
                failure.with_remedy(remedy)
            })?;
        }
    }
    Ok(())
}

fn plan(arguments: &ImportArguments, files: &[PathBuf]) -> Outcome<ImportPlan> {
    let threads = arguments.threads.unwrap_or(Config::default().threads);
    let mut plan = ImportPlan {
        read: read_options(arguments, None)?,
        on_bad_row: arguments.skip_bad.clone().map_or(OnBadRow::Stop, OnBadRow::Skip),
        on_duplicate: match arguments.on_duplicate {
            Duplicate::Error => OnDuplicate::Error,
            Duplicate::Skip => OnDuplicate::Skip,
            Duplicate::Update => OnDuplicate::Update,
        },
        edge_keys: arguments.edge_key.iter().map(|key| edge_key(key)).collect(),
        memory_bytes: arguments.memory_limit.as_deref().map(bytes).transpose()?,
        threads,
        ..ImportPlan::default()
    };
    let (mut labels_named, mut types_named) = (Vec::new(), Vec::new());
    for argument in &arguments.nodes {
        let (names, path) = assignment(argument, "--nodes LABELS=FILE")?;
        let labels: Vec<String> = names.split(':').filter(|label| !label.is_empty()).map(str::to_string).collect();
        let first = labels.first().cloned().unwrap_or_default();
        let (key, read) = (for_name(&arguments.key, &first), read_of(arguments, &first)?);
        labels_named.push(first);
        plan.nodes.push(NodeFile { path, labels, key, read });
    }
    for argument in &arguments.edges {
        let (name, path) = assignment(argument, "--edges TYPE=FILE")?;
        let file = edge_file(&name, path, arguments)?;
        types_named.push(file.edge_type.clone().unwrap_or_default());
        plan.edges.push(file);
    }
    for path in files {
        if database::import::holds_edges(path, &plan.read)? {
            plan.edges.push(edge_file("", path.clone(), arguments)?);
        } else {
            let key = for_name(&arguments.key, "");
            plan.nodes.push(NodeFile { path: path.clone(), labels: Vec::new(), key, read: None });
        }
    }
    check_owners("--key", "label", &arguments.key, &labels_named)?;
    check_owners("--source", "type", &arguments.source, &types_named)?;
    check_owners("--target", "type", &arguments.target, &types_named)?;
    let either = [labels_named, types_named].concat();
    for (option, values) in [
        ("--type", &arguments.types),
        ("--header", &arguments.header),
        ("--delimiter", &arguments.delimiter),
        ("--list-delimiter", &arguments.list_delimiter),
    ] {
        check_owners(option, "label or type", values, &either)?;
    }
    Ok(plan)
}

/// `TYPE=PROPERTY`, or `TYPE`.
fn edge_key(argument: &str) -> (String, Option<String>) {
    match argument.split_once('=') {
        Some((edge_type, property)) => (edge_type.to_owned(), Some(property.to_owned())),
        None => (argument.to_owned(), None),
    }
}

/// Each label or type that an option is given for is that of a file.
fn check_owners(option: &str, kind: &str, values: &[String], known: &[String]) -> Outcome<()> {
    match values.iter().filter_map(|value| owned(value).0).find(|owner| !known.iter().any(|name| name == owner)) {
        Some(owner) => Err(usage(format!("{option} names the {kind} '{owner}', which no file is given for"))),
        None => Ok(()),
    }
}

/// A value of an option and the label or type that it is for: `Person=id`, or `id` for all.
fn owned(value: &str) -> (Option<&str>, &str) {
    match value.split_once('=') {
        Some((owner, rest)) if !owner.is_empty() && !rest.is_empty() => (Some(owner), rest),
        _ => (None, value),
    }
}

/// The values of an option for that label or type, or else for all; those for all come last.
fn of_owner<'v>(values: &'v [String], name: Option<&str>) -> Vec<&'v str> {
    let own = values.iter().map(|value| owned(value)).filter(|(owner, _)| owner.is_some() && *owner == name);
    let for_all = values.iter().map(|value| owned(value)).filter(|(owner, _)| owner.is_none());
    own.chain(for_all).map(|(_, value)| value).collect()
}

/// Reading of the files of a label or type, if options are given for it alone.
fn read_of(arguments: &ImportArguments, name: &str) -> Outcome<Option<ReadOptions>> {
    let options = [&arguments.types, &arguments.header, &arguments.delimiter, &arguments.list_delimiter];
    let is_named = options.iter().any(|values| values.iter().any(|value| owned(value).0 == Some(name)));
    if is_named { read_options(arguments, Some(name)).map(Some) } else { Ok(None) }
}

/// A file of edges from `TYPE`, `TYPE:Source->Target`, or nothing.
fn edge_file(name: &str, path: PathBuf, arguments: &ImportArguments) -> Outcome<EdgeFile> {
    let (edge_type, ends) = name.split_once(':').map_or((name, None), |(edge_type, ends)| (edge_type, Some(ends)));
    let (source_label, target_label) = match ends {
        None => (None, None),
        Some(ends) => {
            let Some((source, target)) = ends.split_once("->") else {
                return Err(usage(format!("expected TYPE:Source->Target=FILE, found '{name}'")));
            };
            (Some(source.to_string()), Some(target.to_string()))
        }
    };
    Ok(EdgeFile {
        path,
        edge_type: (!edge_type.is_empty()).then(|| edge_type.to_string()),
        source_label,
        target_label,
        source: for_name(&arguments.source, edge_type),
        target: for_name(&arguments.target, edge_type),
        read: read_of(arguments, edge_type)?,
    })
}

/// The column that is given for that label or type, or else for all.
fn for_name(choices: &[String], name: &str) -> Option<String> {
    of_owner(choices, Some(name)).first().map(|column| (*column).to_owned())
}

fn assignment(argument: &str, form: &str) -> Outcome<(String, PathBuf)> {
    match argument.split_once('=') {
        Some((name, path)) if !path.is_empty() => Ok((name.to_string(), Path::new(path).to_path_buf())),
        _ => Err(usage(format!("expected {form}, found '{argument}'"))),
    }
}

/// Reading of files: those of a label or type, or all for which nothing else is said.
fn read_options(arguments: &ImportArguments, name: Option<&str>) -> Outcome<ReadOptions> {
    let first = |values: &[String]| of_owner(values, name).first().map(|value| (*value).to_owned());
    let header = first(&arguments.header);
    let header = header.map(|names| names.split(',').map(|name| name.trim().to_owned()).collect());
    let mut options = ReadOptions { header, ..ReadOptions::default() };
    if let Some(name) = &arguments.format {
        let format = FileFormat::of_name(name);
        let unknown = || usage(format!("unknown format '{name}', expected csv, jsonl, parquet, snap, dimacs or co"));
        options.format = Some(format.ok_or_else(unknown)?);
    }
    if let Some(text) = first(&arguments.delimiter) {
        options.delimiter = Some(character("--delimiter", &text)?);
    }
    options.quote = if arguments.quote == "none" { None } else { Some(character("--quote", &arguments.quote)?) };
    if let Some(text) = first(&arguments.list_delimiter) {
        options.list_delimiter = character("--list-delimiter", &text)?;
    }
    for argument in of_owner(&arguments.types, name) {
        let Some((column, name)) = argument.rsplit_once(':') else {
            return Err(usage(format!("expected --type [LABEL=]COLUMN:TYPE, found '{argument}'")));
        };
        let Some(field_type) = FieldType::of_name(name) else {
            let known = "int, float, boolean, string, date, localtime, time, localdatetime, datetime, duration, json, or one of them with []";
            return Err(usage(format!("unknown type '{name}', expected {known}")));
        };
        options.types.push((column.to_string(), field_type));
    }
    Ok(options)
}

fn character(option: &str, text: &str) -> Outcome<u8> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err(usage(format!("{option} takes one character, found '{text}'"))),
    }
}

/// A size such as `512MiB`, `2GB` or `1073741824`, in bytes.
pub(super) fn bytes(text: &str) -> Outcome<usize> {
    let wrong = || Failure::Usage(format!("expected a size such as 512MiB or 2GB, found '{text}'"));
    parse_bytes(text).filter(|&bytes| bytes > 0).ok_or_else(wrong)
}
