//! `knot source`: graph definitions of databases that can be attached; and `--attach` of the other commands.

use std::io::Write;

use database::{AttachOptions, Attachment, Database, Interrupt, Severity};
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::arguments::{CheckSourceArguments, InferArguments, SourceCommand};
use crate::failure::{Failure, Outcome};
use crate::whole_file;

pub(super) fn run(command: &SourceCommand) -> Outcome<()> {
    match command {
        SourceCommand::Infer(arguments) => infer(arguments),
        SourceCommand::Check(arguments) => check(arguments),
    }
}

fn infer(arguments: &InferArguments) -> Outcome<()> {
    let found = database::infer_definition(&arguments.url)?;
    match &arguments.output {
        None => std::io::stdout().lock().write_all(found.json.as_bytes())?,
        Some(path) => {
            whole_file::write(path, &found.json)?;
            tell!("wrote {}", path.display());
        }
    }
    found.notes.iter().for_each(|note| tell!("note: {note}"));
    Ok(())
}

fn check(arguments: &CheckSourceArguments) -> Outcome<()> {
    let findings = database::check_definition(&arguments.source, arguments.url.as_deref())?;
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        writeln!(out, "{}: {}: {}", finding.severity.name(), finding.place, finding.message)?;
        if !finding.remedy.is_empty() {
            writeln!(out, "  = {}", finding.remedy)?;
        }
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if errors > 0 {
        return Err(Failure::Reported);
    }
    if findings.is_empty() {
        writeln!(out, "{}: the definition fits its source", arguments.source)?;
    }
    Ok(())
}

/// Attaches what `--attach` names, until the flag is raised.
pub(super) fn attach(database: &Database, named: &[String], interrupt: &Interrupt) -> Outcome<()> {
    for pair in named {
        let Some((name, from)) = pair.split_once('=') else {
            let message = format!("expected --attach NAME=URL or NAME=definition.json, found '{pair}'");
            return Err(Failure::Usage(message));
        };
        let made = database.attach(name, from, &AttachOptions::default())?;
        made.notes.iter().for_each(|note| tell!("note: {name}: {note}"));
        interrupt.check()?;
    }
    Ok(())
}

/// A source in two or three lines.
pub(super) fn lines(source: &Attachment) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", source.name, source.url)];
    let names = |names: &[std::sync::Arc<str>]| names.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
    let (nodes, edges) = (HumanCount(source.nodes), HumanCount(source.edges));
    lines.push(format!(
        "  about {nodes} nodes of {}; {edges} edges of {}",
        names(&source.labels),
        names(&source.edge_types)
    ));
    if let Some(stats) = source.stats.as_ref().filter(|stats| stats.round_trips > 0) {
        lines.push(format!(
            "  {} round trips, {} rows fetched, {} used; {:.1} % of {} lookups in the cache, which holds {} of {}",
            HumanCount(stats.round_trips),
            HumanCount(stats.rows_fetched),
            HumanCount(stats.rows_used),
            100.0 * stats.hit_rate(),
            HumanCount(stats.lookups),
            HumanBytes(stats.cache_bytes as u64),
            HumanBytes(stats.cache_bytes_max as u64),
        ));
    }
    lines
}

/// A source as JSON.
pub(super) fn to_json(source: &Attachment) -> serde_json::Value {
    let names = |names: &[std::sync::Arc<str>]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    json!({
        "name": source.name.to_string(),
        "url": source.url,
        "labels": names(&source.labels),
        "edgeTypes": names(&source.edge_types),
        "writable": source.writes,
        "nodes": source.nodes,
        "edges": source.edges,
        "stats": source.stats.as_ref().map(|stats| json!({
            "roundTrips": stats.round_trips, "rowsFetched": stats.rows_fetched, "rowsUsed": stats.rows_used,
            "lookups": stats.lookups, "hits": stats.hits, "hitRate": stats.hit_rate(),
            "cacheBytes": stats.cache_bytes, "cacheBytesMax": stats.cache_bytes_max, "prefetch": stats.prefetch,
        })),
    })
}
