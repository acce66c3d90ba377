//! `knot import`: files into a store.

use std::path::{Path, PathBuf};

use database::import::{EdgeFile, ImportPlan, ImportProgress, NodeFile, OnBadRow};
use database::import::{FieldType, FileFormat, OnDuplicate, ReadOptions};
use database::{Access, Config, Database, Interrupt};

use crate::arguments::{Duplicate, ImportArguments};
use crate::failure::{Failure, Outcome};
use crate::format::counted;
use crate::{progress, signals};

pub(super) fn run(arguments: &ImportArguments) -> Outcome<()> {
    let plan = plan(arguments)?;
    if plan.nodes.is_empty() && plan.edges.is_empty() {
        return Err(Failure::Usage(
            "expected files to import: --nodes, --edges, or files that say what they hold".into(),
        ));
    }
    let existed = arguments.store.exists();
    let database = Database::open(&arguments.store, Config { access: Access::ReadWrite, ..Config::default() })?;
    let clock = database.clock();
    let start = clock.now_ns();
    let interrupt = Interrupt::new();
    let state = ImportProgress::default();
    let cancelling = signals::cancel_with(interrupt.clone());
    let outcome = progress::watch_import(&state, arguments.no_progress, || database.import(&plan, &state, &interrupt));
    drop(cancelling);
    let summary = match outcome {
        Ok(summary) => summary,
        Err(failure) => {
            drop(database);
            if !existed {
                // The store was made for this import alone; an empty one would only be in the way.
                let _ = std::fs::remove_dir_all(&arguments.store);
            }
            return Err(failure.into());
        }
    };
    let seconds = (clock.now_ns() - start) as f64 / 1e9;
    let merged = if summary.nodes_merged > 0 { format!(" ({} merged)", summary.nodes_merged) } else { String::new() };
    let skipped = if summary.rows_skipped > 0 {
        format!(", {} left out", counted(summary.rows_skipped, "bad row"))
    } else {
        String::new()
    };
    let rows = (summary.nodes_created + summary.nodes_merged + summary.edges_created) as f64;
    eprintln!(
        "{}{merged}, {}{skipped} in {seconds:.2} s ({:.2} million rows/s)",
        counted(summary.nodes_created, "node"),
        counted(summary.edges_created, "edge"),
        rows / seconds / 1e6
    );
    Ok(())
}

fn plan(arguments: &ImportArguments) -> Outcome<ImportPlan> {
    let threads = arguments.threads.unwrap_or(Config::default().threads);
    let mut plan = ImportPlan {
        read: read_options(arguments)?,
        on_bad_row: arguments.skip_bad.clone().map_or(OnBadRow::Stop, OnBadRow::Skip),
        on_duplicate: match arguments.on_duplicate {
            Duplicate::Error => OnDuplicate::Error,
            Duplicate::Skip => OnDuplicate::Skip,
            Duplicate::Update => OnDuplicate::Update,
        },
        memory_bytes: arguments.memory_limit.as_deref().map(bytes).transpose()?,
        threads,
        ..ImportPlan::default()
    };
    for argument in &arguments.nodes {
        let (labels, path) = assignment(argument, "--nodes LABELS=FILE")?;
        let labels: Vec<String> = labels.split(':').filter(|label| !label.is_empty()).map(str::to_string).collect();
        let key = for_name(&arguments.key, labels.first().map_or("", String::as_str));
        plan.nodes.push(NodeFile { path, labels, key });
    }
    for argument in &arguments.edges {
        let (name, path) = assignment(argument, "--edges TYPE=FILE")?;
        plan.edges.push(edge_file(&name, path, arguments)?);
    }
    for path in &arguments.files {
        if database::import::holds_edges(path, &plan.read)? {
            plan.edges.push(edge_file("", path.clone(), arguments)?);
        } else {
            plan.nodes.push(NodeFile { path: path.clone(), labels: Vec::new(), key: for_name(&arguments.key, "") });
        }
    }
    Ok(plan)
}

/// A file of edges from `TYPE`, `TYPE:Source->Target`, or nothing.
fn edge_file(name: &str, path: PathBuf, arguments: &ImportArguments) -> Outcome<EdgeFile> {
    let (edge_type, ends) = name.split_once(':').map_or((name, None), |(edge_type, ends)| (edge_type, Some(ends)));
    let (source_label, target_label) = match ends {
        None => (None, None),
        Some(ends) => {
            let Some((source, target)) = ends.split_once("->") else {
                return Err(Failure::Usage(format!("expected TYPE:Source->Target=FILE, found '{name}'")));
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
    })
}

/// The column that is given for that label or type, or else for all.
fn for_name(choices: &[String], name: &str) -> Option<String> {
    let own = choices.iter().filter_map(|choice| choice.split_once('=')).find(|(owner, _)| *owner == name);
    own.map(|(_, column)| column.to_string()).or_else(|| choices.iter().find(|choice| !choice.contains('=')).cloned())
}

fn assignment(argument: &str, form: &str) -> Outcome<(String, PathBuf)> {
    match argument.split_once('=') {
        Some((name, path)) if !path.is_empty() => Ok((name.to_string(), Path::new(path).to_path_buf())),
        _ => Err(Failure::Usage(format!("expected {form}, found '{argument}'"))),
    }
}

fn read_options(arguments: &ImportArguments) -> Outcome<ReadOptions> {
    let mut options = ReadOptions { header: arguments.header.clone(), ..ReadOptions::default() };
    if let Some(name) = &arguments.format {
        let format = FileFormat::of_name(name);
        let unknown =
            || Failure::Usage(format!("unknown format '{name}', expected csv, jsonl, parquet, snap, dimacs or co"));
        options.format = Some(format.ok_or_else(unknown)?);
    }
    if let Some(text) = &arguments.delimiter {
        options.delimiter = Some(character("--delimiter", text)?);
    }
    options.quote = if arguments.quote == "none" { None } else { Some(character("--quote", &arguments.quote)?) };
    options.list_delimiter = character("--list-delimiter", &arguments.list_delimiter)?;
    for argument in &arguments.types {
        let Some((column, name)) = argument.rsplit_once(':') else {
            return Err(Failure::Usage(format!("expected --type COLUMN:TYPE, found '{argument}'")));
        };
        let Some(field_type) = FieldType::of_name(name) else {
            let known = "int, float, boolean, string, date, localtime, time, localdatetime, datetime, duration, or one of them with []";
            return Err(Failure::Usage(format!("unknown type '{name}', expected {known}")));
        };
        options.types.push((column.to_string(), field_type));
    }
    Ok(options)
}

fn character(option: &str, text: &str) -> Outcome<u8> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err(Failure::Usage(format!("{option} takes one character, found '{text}'"))),
    }
}

/// A size such as `512MiB`, `2GB` or `1073741824`, in bytes.
pub(super) fn bytes(text: &str) -> Outcome<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim();
    let unit = match text[digits.len()..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => 0,
    };
    match digits.parse::<f64>() {
        Ok(number) if unit > 0 && number > 0.0 => Ok((number * f64::from(unit)) as usize),
        _ => Err(Failure::Usage(format!("expected a size such as 512MiB or 2GB, found '{text}'"))),
    }
}
