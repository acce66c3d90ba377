//! `knot generate`: a graph of a chosen kind, size and seed.

use database::{Config, Interrupt};
use introspect::generate::{
    Distribution, GeneratedGraph, GraphKind, GraphOptions, INITIATOR, parse_count, write_files, write_store,
};

use crate::arguments::{GenerateArguments, GeneratedKind};
use crate::failure::{Failure, Outcome};
use crate::format::counted;
use crate::{progress, signals};

const COMMAND: &str = "generate";

pub(super) fn run(arguments: &GenerateArguments) -> Outcome<()> {
    let graph = GeneratedGraph::new(&options(arguments)?).map_err(usage)?;
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let output = &arguments.output;
    let is_store = output.extension().is_some_and(|extension| extension == "knot");
    let config = Config { memory_bytes_max: super::memory_limit(None)?, ..Config::default() };
    let done = progress::watch_query(&interrupt, || match is_store {
        true => write_store(&graph, output, config, &interrupt),
        false => write_files(&graph, output, &interrupt),
    })?;
    let (nodes, edges) = (counted(done.nodes, "node"), counted(done.edges, "edge"));
    tell!("{nodes} and {edges} in {}", output.display());
    Ok(())
}

/// Wrong words of the command line.
fn usage(error: database::Error) -> Failure {
    Failure::UsageOf(COMMAND, format!("{}; {}", error.message(), error.remedy()))
}

fn options(arguments: &GenerateArguments) -> Outcome<GraphOptions> {
    let kind = match arguments.kind {
        GeneratedKind::Barabasi => GraphKind::Barabasi,
        GeneratedKind::Kronecker => GraphKind::Kronecker,
        GeneratedKind::Erdos => GraphKind::Erdos,
        GeneratedKind::Ratings => GraphKind::Ratings,
        GeneratedKind::Social => GraphKind::Social,
        GeneratedKind::Lubm => GraphKind::Lubm,
    };
    let nodes = match arguments.scale {
        Some(scale) => 1 << scale,
        None => parse_count(&arguments.nodes).map_err(usage)?,
    };
    let initiator = match arguments.initiator.as_deref() {
        None => INITIATOR,
        Some(&[a, b, c, d]) => [a, b, c, d],
        Some(other) => {
            let message = format!("expected four shares, as 0.57,0.19,0.19,0.05, found {}", other.len());
            return Err(Failure::UsageOf(COMMAND, message));
        }
    };
    Ok(GraphOptions {
        edges_per_node: arguments.edges_per_node,
        initiator,
        seed: arguments.seed,
        properties: properties(&arguments.properties)?,
        edge_properties: properties(&arguments.edge_properties)?,
        edge_types: arguments.edge_types,
        ..GraphOptions::new(kind, nodes)
    })
}

/// Properties as the command line has them; `None` if it says nothing of them.
fn properties(words: &[String]) -> Outcome<Option<Vec<(String, Distribution)>>> {
    match words {
        [] => return Ok(None),
        [word] if word == "none" => return Ok(Some(Vec::new())),
        _ => {}
    }
    let property = |word: &String| {
        let (name, distribution) = word
            .split_once('=')
            .ok_or_else(|| Failure::UsageOf(COMMAND, format!("expected NAME=DISTRIBUTION or none, found '{word}'")))?;
        Ok((name.to_owned(), Distribution::parse(distribution).map_err(usage)?))
    };
    words.iter().map(property).collect::<Outcome<Vec<_>>>().map(Some)
}
