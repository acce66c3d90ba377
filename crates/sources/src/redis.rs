//! Redis as a source: nodes as hashes or flat keys, edges as sets, lists, sorted sets or hashes of their far ends.
//!
//! - [`pattern`]: keys and ids; [`plan`]: a definition as commands need it; [`text`]: strings as values.
//! - [`connection`]: connections, time-outs, pipelines; [`wire`]: bytes to and from a server.
//! - [`fetch`]: nodes and edges of given ids; [`scan`]: all of a kind.
//! - [`within`]: the nodes within reach, by a script.
//! - [`course`]: the nodes that a search comes to, by another script, whose answer is [`packed`].
//! - [`reading`]: questions answered; [`facts`]: approximate sizes.
//! - [`check`]: comparison of the definition with the data.
//!
//! Redis has no snapshots: one query may read data of several moments. It is not written to.
//! Cost: questions about keys are one pipeline, two where edges have hashes of their own or nodes none of the fields
//! asked.

mod check;
mod connection;
mod course;
mod facts;
mod fetch;
mod packed;
mod pattern;
mod plan;
mod reading;
mod scan;
mod text;
mod wire;
mod within;

use std::sync::Arc;

use model::{Direction, Result, error};

use self::connection::{Link, Server};
use self::fetch::adjacency_of;
use self::plan::{NodePlace, Plan, structure_name};
use self::reading::RedisReading;
use crate::check::Finding;
use crate::connector::{Abilities, Code, Connector, Facts, Question, Reading, Which, Writing};
use crate::definition::{GraphDefinition, Structure};

/// The code of the driver.
pub(crate) const CODE: Code =
    Code { open: |url, definition| Ok(Arc::new(RedisConnector::open(url, definition)?)), inspect: None, client: None };

/// A Redis server that a graph is read from.
pub struct RedisConnector {
    server: Arc<Server>,
    plan: Arc<Plan>,
}

impl RedisConnector {
    /// A server by its URL (`redis://`, or `rediss://` for TLS), with what of it is which part of the graph. Nothing is
    /// connected yet. The password comes with the URL or from `REDISCLI_AUTH`; `?timeout_ms=` and `?connect_timeout_ms=`
    /// set time-outs, `?sslrootcert=` names the file of an authority that is not one of the system's.
    pub fn open(url: &str, definition: &GraphDefinition) -> Result<RedisConnector> {
        let server = Arc::new(Server::of(url)?);
        let plan = Plan::of(definition).map_err(|failure| failure.within(server.name()))?;
        Ok(RedisConnector { server, plan: Arc::new(plan) })
    }

    fn link(&self) -> Link {
        Link::new(self.server.clone())
    }
}

impl Connector for RedisConnector {
    fn abilities(&self) -> Abilities {
        Abilities { lookahead: true, courses: true, sends: true, ..Abilities::default() }
    }

    fn facts(&self) -> Result<Facts> {
        facts::facts(&self.plan, &mut self.link())
    }

    fn read(&self) -> Result<Box<dyn Reading>> {
        Ok(Box::new(RedisReading::new(self.plan.clone(), self.link())))
    }

    fn write(&self) -> Result<Box<dyn Writing>> {
        let remedy = "write to Redis itself, or PRELOAD the source and write to the copy";
        Err(error!(
            ReadOnly,
            "{}: Redis is read only here: it has no transactions that could be undone",
            self.server.name()
        )
        .with_remedy(remedy))
    }

    fn statement(&self, question: &Question<'_>) -> Option<String> {
        Some(match question {
            Question::Nodes { kind, which, properties, .. } => {
                let node = self.plan.nodes.get(*kind)?;
                let fields: Vec<&str> = properties
                    .iter()
                    .filter_map(|&p| node.properties.get(p))
                    .filter(|property| !property.is_key)
                    .map(|property| property.field.as_str())
                    .collect();
                let id = "$1";
                let command = match &node.place {
                    NodePlace::Hash(pattern) if fields.is_empty() => format!("TYPE {}", pattern.key(id)),
                    NodePlace::Hash(pattern) => format!("HMGET {} {}", pattern.key(id), fields.join(" ")),
                    NodePlace::Flat(_) => {
                        let keys: Vec<String> = node.patterns().map(|pattern| pattern.key(id)).collect();
                        format!("GET {}", keys.join(" | GET "))
                    }
                };
                let pattern = node.patterns().next()?;
                for_each(which, &pattern.glob(), &command)
            }
            Question::Edges { kind, direction, of, .. } => {
                let edges = self.plan.edges.get(*kind)?;
                let adjacency = adjacency_of(edges, *direction);
                let structure = adjacency.structure().unwrap_or(Structure::Any);
                let key = adjacency.pattern.key("$1");
                let command = match structure {
                    Structure::List => format!("LRANGE {key} 0 -1"),
                    Structure::SortedSet => format!("ZRANGE {key} 0 -1 WITHSCORES"),
                    Structure::Hash => format!("HGETALL {key}"),
                    Structure::Set => format!("SMEMBERS {key}"),
                    other => format!("TYPE {key}, then the far ends of the {}", structure_name(other)),
                };
                let needs_scan = *direction == Direction::In && edges.reverse.is_none();
                let which = if needs_scan { &Which::All } else { of };
                for_each(which, &edges.forward.pattern.glob(), &command)
            }
            Question::CountNodes { kind, .. } => {
                let pattern = self.plan.nodes.get(*kind)?.patterns().next()?;
                for_each(&Which::All, &pattern.glob(), &format!("TYPE {}", pattern.key("$1")))
            }
            Question::CountEdges { kind } => {
                let edges = self.plan.edges.get(*kind)?;
                let command = match edges.forward.structure() {
                    Some(Structure::List) => "LLEN",
                    Some(Structure::SortedSet) => "ZCARD",
                    Some(Structure::Hash) => "HLEN",
                    _ => "SCARD",
                };
                let pattern = &edges.forward.pattern;
                for_each(&Which::All, &pattern.glob(), &format!("{command} {}", pattern.key("$1")))
            }
            Question::Pattern(_) => return None,
        })
    }

    fn name(&self) -> &str {
        self.server.name()
    }

    fn check(&self) -> Result<Vec<Finding>> {
        check::check(&self.plan, &mut self.link())
    }
}

/// A command as it is given for many ids.
fn for_each(which: &Which<'_>, glob: &str, command: &str) -> String {
    match which {
        Which::Keys(_) => format!("{command} (pipelined for all ids)"),
        Which::OnCourse(_) => format!("EVAL lookahead: {command} for ids on the course of a search"),
        Which::Within { .. } => format!("EVAL lookahead: {command} for all ids within reach"),
        _ => format!("SCAN MATCH {glob}; {command} (pipelined for all ids found)"),
    }
}
