//! A server that speaks Cypher as a subject: by statements alone, whose times have the network and the reading of their rows in them.
//!
//! Only what Neo4j's dialect has in common with others is asked. An operation whose statement the server does not compile is left out.
//! Starts are drawn by ids, not from all nodes, where the server's ids are dense: `ids`.

mod ids;

use std::sync::Arc;
use std::time::Duration;

use database::{Parameters, QueryResult};
use model::platform::Clock;
use model::{EdgeTypeId, Error, ErrorCode, Interrupt, LabelId, PropertyKeyId, Result, Value, error};

use self::ids::Ids;
use super::knotwork::{CANDIDATES, Names, SAMPLE, statements};
use super::workload::{self, Statement};
use super::{Call, Choice, Description, Start, Subject};
use crate::machine::clock_cost;
use crate::operations::{Operation, Way};
use crate::random::Stream;

/// Time limit of statements that is meant by none.
const STATEMENT_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// Statements that find names by reading everything.
const LABELS: &str = "MATCH (n) UNWIND labels(n) AS l RETURN DISTINCT l";
const TYPES: &str = "MATCH ()-[r]->() RETURN DISTINCT type(r)";
/// The statement that shows whether the graph can be asked at all.
const PROBE: &str = "MATCH (n) RETURN id(n) LIMIT 1";
/// Types of edges that are counted to find the most frequent one.
const TYPES_MAX: usize = 200;
/// Nodes whose degrees are asked for by one statement.
const DEGREES_MAX: usize = 4_096;

/// A session of a server.
pub trait Statements {
    /// Runs a statement and holds its rows.
    fn query(&mut self, text: &str, parameters: &Parameters) -> Result<QueryResult>;
    /// Sets the time limit of statements from now on.
    fn set_limit(&mut self, limit: Duration);
    /// Name and version of the system, where they are known without asking.
    fn system(&self) -> Option<(String, String)> {
        None
    }
    /// True if there are caches at hand that can be emptied.
    fn can_cool(&self) -> bool {
        false
    }
    /// Empties caches, as far as they are at hand, and says how; `None` where none are.
    fn cool(&mut self) -> Result<Option<&'static str>> {
        Ok(None)
    }
}

/// A server that is measured.
pub struct CypherServer<S> {
    session: S,
    place: String,
    clock: Arc<dyn Clock>,
    interrupt: Interrupt,
    timer_ns: f64,
    /// Name and version of the system.
    system: (String, String),
    names: Names,
    nodes: Ids,
    edges: u64,
    /// Operations whose statements the server compiles.
    operations: Vec<Operation>,
    cold_method: &'static str,
    workload: Vec<Statement>,
    /// Time limit of statements.
    statement_limit: Duration,
    /// The reason for which the server answers no more.
    lost: Option<Error>,
}

impl<S: Statements> CypherServer<S> {
    /// Looks at a server: what it is, what its graph has, which operations it can do. It reads the ids of all nodes only if they are sparse.
    ///
    /// # Errors
    /// Those of the connection; `ARGUMENT` if the graph has no nodes.
    pub fn open(session: S, place: String, clock: Arc<dyn Clock>, interrupt: &Interrupt) -> Result<CypherServer<S>> {
        let timer_ns = clock_cost(&*clock);
        let mut server = CypherServer {
            session,
            place,
            clock,
            interrupt: interrupt.clone(),
            timer_ns,
            system: ("server".to_owned(), "unknown".to_owned()),
            names: Names::default(),
            nodes: Ids::Listed(Vec::new()),
            edges: 0,
            operations: Vec::new(),
            cold_method: "none: the caches of a server cannot be emptied from here",
            workload: Vec::new(),
            statement_limit: STATEMENT_LIMIT,
            lost: None,
        };
        server.nodes = Ids::read(&mut server.session)?;
        if server.nodes.count() == 0 {
            let failed = error!(Argument, "{}: the graph has no nodes to start from", server.place);
            return Err(failed.with_remedy("fill it first"));
        }
        server.edges = server.rows("MATCH ()-[r]->() RETURN count(r)")?.first().map_or(0, |row| natural(&row[0]));
        if let Some(system) = server.session.system() {
            server.system = system;
        } else {
            // A server need not have such procedures and commands.
            let named = "CALL dbms.components() YIELD name, versions RETURN name, versions[0]";
            let named = server.rows(named).unwrap_or_default();
            if let Some([name, version]) = named.first().map(Vec::as_slice) {
                server.system = (text(name), text(version));
            }
        }
        interrupt.check()?;
        server.find_names()?;
        for operation in Operation::all().into_iter().filter(|operation| !operation.is_write()) {
            let explained = format!("EXPLAIN {}", statements::text(operation, &server.names));
            if server.has_names(operation)
                && server.session.query(&explained, &statements::parameters(&Start::default())).is_ok()
            {
                server.operations.push(operation);
            }
            interrupt.check()?;
        }
        server.workload = workload::built_in(&server.schema()?);
        Ok(server)
    }

    /// The same server, with other statements than those that are built in.
    ///
    /// # Errors
    /// `ARGUMENT` if one calls a procedure: it could write.
    pub fn with_statements(self, workload: Vec<Statement>) -> Result<CypherServer<S>> {
        if let Some(statement) = workload.iter().find(|statement| statement.calls_procedure()) {
            let name = statement.name.text();
            let failed = error!(Argument, "statement '{name}' calls a procedure, which may write on a server");
            return Err(
                failed.with_remedy("leave the statement out, or measure a store, which is opened for reading only")
            );
        }
        Ok(CypherServer { workload, ..self })
    }

    /// The names of the graph, by which statements are chosen; properties are those of a sample.
    fn schema(&mut self) -> Result<workload::Schema> {
        let labels = self.listed_names("CALL db.labels() YIELD label RETURN label", LABELS)?;
        let types = self.edge_types()?;
        let mut names = |statement: &str| -> Result<Vec<String>> {
            Ok(self.rows(statement)?.iter().map(|row| text(&row[0])).collect())
        };
        let keys = |of: &str| format!("MATCH {of} WITH x LIMIT {SAMPLE} UNWIND keys(x) AS k RETURN DISTINCT k");
        Ok(workload::Schema {
            labels,
            types,
            properties: [names(&keys("(x)"))?, names(&keys("()-[x]->()"))?].concat(),
            key: self.names.key.clone().map(|((_, label), (_, key))| (label, key)),
        })
    }

    /// Names that a procedure lists, or where a server has no such procedure, those that are found by reading everything.
    fn listed_names(&mut self, listing: &str, reading: &str) -> Result<Vec<String>> {
        let rows = match self.rows(listing) {
            Ok(rows) => rows,
            Err(_) => {
                self.interrupt.check()?;
                self.rows(reading)?
            }
        };
        Ok(rows.iter().map(|row| text(&row[0])).collect())
    }

    fn edge_types(&mut self) -> Result<Vec<String>> {
        self.listed_names("CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType", TYPES)
    }

    /// The type with the most edges. Servers know their numbers, so that nothing is read.
    fn frequent_type(&mut self) -> Result<Option<String>> {
        let mut most: Option<(u64, String)> = None;
        for name in self.edge_types()?.into_iter().take(TYPES_MAX) {
            self.interrupt.check()?;
            let counted = format!("MATCH ()-[r:{}]->() RETURN count(r)", statements::quoted(&name));
            let count = self.rows(&counted)?.first().map_or(0, |row| natural(&row[0]));
            if count > most.as_ref().map_or(0, |(most, _)| *most) {
                most = Some((count, name));
            }
        }
        Ok(most.map(|(_, name)| name))
    }

    /// Sets the time limit of statements from now on; that of looking at the server may be longer.
    pub fn with_limit(mut self, limit: Duration) -> CypherServer<S> {
        self.session.set_limit(limit);
        self.statement_limit = limit;
        self
    }

    /// Ids of nodes that are drawn evenly.
    fn drawn(&mut self, stream: Stream, wanted: usize, within: Option<u64>) -> Result<Vec<u64>> {
        self.nodes.draw(&mut self.session, &self.interrupt, stream, (wanted, within))
    }

    fn check_lost(&self) -> Result<()> {
        self.lost.clone().map_or(Ok(()), Err)
    }

    /// Asks a statement. After a failure of the connection the server is asked whether it is there at all.
    fn ask(&mut self, statement: &str, parameters: &Parameters) -> Result<QueryResult> {
        self.check_lost()?;
        let answer = self.session.query(statement, parameters);
        if let Err(failed) = &answer
            && matches!(failed.code(), ErrorCode::Connection | ErrorCode::OutcomeUnknown | ErrorCode::Source)
            && let Err(gone) = self.session.query(PROBE, &Parameters::default())
        {
            self.lost = Some(gone.within("the server was lost").with_remedy("see why it ended, then measure again"));
        }
        answer
    }

    fn rows(&mut self, statement: &str) -> Result<Vec<Vec<Value>>> {
        self.rows_with(statement, &Parameters::default())
    }

    fn rows_with(&mut self, statement: &str, parameters: &Parameters) -> Result<Vec<Vec<Value>>> {
        Ok(self.ask(statement, parameters)?.rows().collect())
    }

    /// Names to use: the most frequent relationship type, a unique property, and properties that a sample has.
    fn find_names(&mut self) -> Result<()> {
        self.names.edge_type = self.frequent_type()?.map(|name| (EdgeTypeId(0), name));
        let constraints = "SHOW CONSTRAINTS YIELD type, entityType, labelsOrTypes, properties \
                           WHERE entityType = 'NODE' AND (type CONTAINS 'UNIQUE' OR type CONTAINS 'KEY') \
                           RETURN labelsOrTypes, properties";
        // That of the label with the most nodes, as of a store.
        let mut most = None;
        for row in self.rows(constraints).unwrap_or_default() {
            if let (Some([label]), Some([key])) = (listed(&row[0]), listed(&row[1])) {
                let (label, key) = (text(label), text(key));
                let counted = format!("MATCH (n:{}) RETURN count(n)", statements::quoted(&label));
                let count = self.rows(&counted)?.first().map_or(0, |row| natural(&row[0]));
                if most.is_none_or(|most| count > most) {
                    most = Some(count);
                    self.names.key = Some(((LabelId(0), label), (PropertyKeyId(0), key)));
                }
            }
        }
        let sample = |of: &str, variable: &str| {
            format!("MATCH {of} WITH {variable} LIMIT {SAMPLE} UNWIND keys({variable}) AS k RETURN k, {variable}[k]")
        };
        let of_nodes = self.rows(&sample("(n)", "n"))?;
        let of_key = self.names.key.as_ref().map(|(_, (_, key))| key.clone());
        self.names.integer =
            frequent(&of_nodes, |key, value| matches!(value, Value::Int(_)) && Some(key) != of_key.as_deref())
                .or_else(|| frequent(&of_nodes, |_, value| matches!(value, Value::Int(_))));
        self.names.string = frequent(&of_nodes, |_, value| matches!(value, Value::String(_)));
        let of_edges = self.rows(&sample("()-[r]->()", "r"))?;
        self.names.of_edge = frequent(&of_edges, |_, value| matches!(value, Value::Int(_) | Value::Float(_)))
            .or_else(|| frequent(&of_edges, |_, _| true));
        Ok(())
    }

    fn has_names(&self, operation: Operation) -> bool {
        match operation {
            Operation::EdgeByText | Operation::EdgeProperty | Operation::Clustering => false,
            operation => self.names.are_there_for(operation),
        }
    }

    /// Degrees of nodes, in their order.
    fn degrees(&mut self, nodes: &[u64]) -> Result<Vec<u64>> {
        let statement = "UNWIND $ids AS i MATCH (n) WHERE id(n) = i OPTIONAL MATCH (n)-[r]-() RETURN i, count(r)";
        let degrees: model::Map<u64, u64> =
            self.rows_with(statement, &ids(nodes))?.iter().map(|row| (natural(&row[0]), natural(&row[1]))).collect();
        Ok(nodes.iter().map(|node| degrees.get(node).copied().unwrap_or(0)).collect())
    }

    /// Nodes that are each as likely as they have edges: of many that are drawn evenly, those at the ends of edges that are drawn
    /// from all their edges.
    fn by_degree(&mut self, count: usize, seed: u64) -> Result<Vec<u64>> {
        let stream = Stream::new(seed, Choice::ByDegree.name());
        let candidates = self.drawn(stream, count * CANDIDATES, None)?;
        let mut last = 0;
        let mut ends = Vec::with_capacity(candidates.len());
        for part in candidates.chunks(DEGREES_MAX) {
            self.interrupt.check()?;
            ends.extend(self.degrees(part)?.into_iter().map(|degree| {
                last += degree;
                last
            }));
        }
        let mut draws = Stream::new(seed, "edges").draws(0);
        let chosen = |at: usize| {
            let edge = draws.below(last.max(1));
            candidates[if last == 0 { at } else { ends.partition_point(|end| *end <= edge) }]
        };
        Ok((0..count).map(chosen).collect())
    }

    /// The unique keys of nodes.
    fn keys(&mut self, nodes: &[u64]) -> Result<model::Map<u64, Value>> {
        let Some(((_, label), (_, key))) = &self.names.key else { return Ok(model::Map::default()) };
        let (label, key) = (statements::quoted(label), statements::quoted(key));
        let statement = format!("UNWIND $ids AS i MATCH (n:{label}) WHERE id(n) = i RETURN i, n.{key}");
        let rows = self.rows_with(&statement, &ids(nodes))?;
        Ok(rows.into_iter().filter_map(|row| Some((natural(row.first()?), row.get(1)?.clone()))).collect())
    }
}

impl<S: Statements> Subject for CypherServer<S> {
    fn describe(&self) -> Result<Description> {
        self.check_lost()?;
        Ok(Description {
            system: self.system.0.clone(),
            version: self.system.1.clone(),
            place: self.place.clone(),
            nodes: self.nodes.count(),
            edges: self.edges,
            bytes: 0,
            settings: [self.names.described(), vec![("starts".to_owned(), self.nodes.described())]].concat(),
            cold_method: self.cold_method.to_owned(),
        })
    }

    fn can(&self, operation: Operation, way: Way) -> bool {
        let is_statement = matches!(operation, Operation::Statement(_));
        way == Way::Cypher && (is_statement || self.operations.contains(&operation))
    }

    fn statements(&self) -> Vec<Operation> {
        workload::operations(&self.workload)
    }

    fn starts(&self, operation: Operation, chosen: &[Start]) -> Result<Vec<Start>> {
        workload::starts(&self.workload, operation, chosen)
    }

    fn choose(&mut self, choice: Choice, count: usize, seed: u64) -> Result<Vec<Start>> {
        self.check_lost()?;
        let stream = Stream::new(seed, choice.name());
        let nodes = match choice {
            Choice::ByDegree => self.by_degree(count + 1, seed)?,
            Choice::Uniform => self.drawn(stream, count + 1, None)?,
            Choice::Within(most) => self.drawn(stream, count + 1, Some(most))?,
        };
        self.interrupt.check()?;
        let keys = self.keys(&nodes)?;
        let start = |pair: &[u64]| Start {
            node: pair[0],
            target: pair[1],
            key: keys.get(&pair[0]).filter(|key| !key.is_null()).cloned(),
            ..Start::default()
        };
        Ok(nodes.windows(2).map(start).collect())
    }

    fn perform(&mut self, operation: Operation, _: Way, start: &Start) -> Result<Call> {
        let (text, parameters) = statements::call(operation, &self.names, &self.workload, start)?;
        let begin = self.clock.now_ns();
        let result = self.ask(&text, &parameters)?;
        let ns = self.clock.now_ns() - begin;
        self.interrupt.check()?;
        let (rows, checksum, counts) = statements::outcome(operation, &result, (self.nodes.count(), self.edges));
        Ok(Call { ns, rows, checksum, counts })
    }

    fn timer_ns(&self) -> f64 {
        self.timer_ns
    }

    fn limit(&mut self, limit: Option<Duration>) {
        self.session.set_limit(self.statement_limit.min(limit.unwrap_or(Duration::MAX)));
    }

    fn can_cool(&self) -> bool {
        self.session.can_cool()
    }

    fn cool(&mut self) -> Result<()> {
        self.check_lost()?;
        if let Some(method) = self.session.cool()? {
            self.cold_method = method;
        }
        Ok(())
    }

    fn warm(&mut self) -> Result<()> {
        self.rows("MATCH (n) RETURN sum(size(keys(n)))")?;
        self.rows("MATCH ()-[r]->() RETURN sum(size(keys(r)))").map(drop)
    }
}

fn ids(nodes: &[u64]) -> Parameters {
    let ids = nodes.iter().map(|node| Value::Int(node.cast_signed())).collect();
    Parameters::from_iter([("ids".into(), Value::list(ids))])
}

fn natural(value: &Value) -> u64 {
    if let Value::Int(number) = value { number.cast_unsigned() } else { 0 }
}

fn text(value: &Value) -> String {
    if let Value::String(text) = value { text.to_string() } else { String::new() }
}

fn listed(value: &Value) -> Option<&[Value]> {
    if let Value::List(items) = value { Some(items) } else { None }
}

/// The property that the most rows of a name and a value have with such a value.
fn frequent(rows: &[Vec<Value>], is_wanted: impl Fn(&str, &Value) -> bool) -> Option<(PropertyKeyId, String)> {
    let mut counts = std::collections::BTreeMap::new();
    for row in rows {
        let (Value::String(key), Some(value)) = (&row[0], row.get(1)) else { continue };
        if is_wanted(key, value) {
            *counts.entry(key.to_string()).or_insert(0_u64) += 1;
        }
    }
    let (key, _) = counts.into_iter().max_by_key(|(key, count)| (*count, std::cmp::Reverse(key.clone())))?;
    Some((PropertyKeyId(0), key))
}
