//! A relational database as a subject: by statements of its SQL over the driver of an attached one, for reading alone. A time goes
//! from before the statement is sent until its last row is decoded.

use std::sync::Arc;
use std::time::Duration;

use database::relational::{RelationalDatabase, SqlAnswer};
use model::platform::Clock;
use model::{ErrorCode, Interrupt, Map, Result, Value, error};

use self::sample::{Ends, Keys};
use self::statements::{Statement, outcome};
use self::tables::Tables;
use super::knotwork::{checksum_of, integer};
use super::{Call, Choice, Description, Start, Subject};
use crate::machine::clock_cost;
use crate::operations::{Operation, Way};
use crate::os;
use crate::random::{Draws, Stream};

mod sample;
mod statements;
mod tables;

pub use tables::TableChoice;

/// A relational database that is measured.
pub struct SqlSubject {
    database: RelationalDatabase,
    clock: Arc<dyn Clock>,
    interrupt: Interrupt,
    statement_limit: Duration,
    timer_ns: f64,
    tables: Tables,
    statements: Map<String, Statement>,
    nodes: Keys,
    /// Keys of the edges, if they have such.
    edges: Option<Keys>,
    /// Ends of edges, once they are needed.
    ends: Option<Ends>,
    /// The limit of calls that is set from outside.
    call_limit: Duration,
    description: Description,
    /// The reason for which the database answers no more.
    lost: Option<model::Error>,
}

impl SqlSubject {
    /// Connects to a database of a URL or path, finds its tables of nodes and edges, and reads keys to draw starts from.
    /// Statements that take longer than the limit fail.
    ///
    /// # Errors
    /// Those of the connection; `ARGUMENT` if there are no such tables, or no nodes.
    pub fn open(
        address: &str,
        choice: &TableChoice,
        clock: Arc<dyn Clock>,
        statement_limit: Duration,
        interrupt: &Interrupt,
    ) -> Result<SqlSubject> {
        let _listening = interrupt.listen();
        let mut database = RelationalDatabase::open(address)?;
        let place = database.name();
        let catalog = database.catalog()?;
        let tables = Tables::find(&catalog, choice).map_err(|failed| failed.within(&place))?;
        let mut reader = Reader { database: &mut database, clock: &clock };
        let nodes = Keys::read(&mut reader, &tables.nodes, &tables.key, tables.is_key_unique);
        let nodes = nodes.map_err(|failed| failed.within(&place))?;
        if nodes.count() == 0 {
            let failed = error!(Argument, "{place}: the table {} has no rows to start from", tables.nodes);
            return Err(failed.with_remedy("fill it first, or name another with --tables"));
        }
        let edge_key = tables.edge_key.clone();
        let edges = edge_key.map(|key| Keys::read(&mut reader, &tables.edges, &key, true)).transpose()?;
        let edges = edges.filter(|edges| edges.count() > 0);
        let mut description = reader.describe(&tables, nodes.count())?;
        let of_edges = edges.as_ref().map(|edges| ("keys of edges".to_owned(), edges.described()));
        description.settings.extend([("keys of nodes".to_owned(), nodes.described())].into_iter().chain(of_edges));
        let has_start = |operation: &Operation| {
            edges.is_some() || !matches!(operation, Operation::EdgeByText | Operation::EdgeProperty)
        };
        let all = Operation::all().into_iter().filter(has_start);
        let statements =
            all.filter_map(|operation| Some((operation.to_string(), Statement::of(operation, &tables, &database)?)));
        Ok(SqlSubject {
            statements: statements.collect(),
            timer_ns: clock_cost(&*clock),
            interrupt: interrupt.clone(),
            ends: None,
            call_limit: Duration::MAX,
            lost: None,
            database,
            clock,
            statement_limit,
            tables,
            nodes,
            edges,
            description,
        })
    }

    fn reader(&mut self) -> Reader<'_> {
        Reader { database: &mut self.database, clock: &self.clock }
    }

    /// Asks within the limit of a statement. After a failure the database is asked whether it is there at all.
    fn ask(&mut self, text: &str, parameters: &[Value]) -> Result<SqlAnswer> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let _listening = self.interrupt.listen();
        self.interrupt.set_deadline(Some((self.clock.clone(), self.statement_limit.min(self.call_limit))));
        let answer = self.database.ask(text, parameters, &self.clock);
        self.interrupt.set_deadline(None);
        if let Err(failed) = &answer
            && failed.code() == ErrorCode::Source
            && self.database.ask("SELECT 1", &[], &self.clock).is_err()
        {
            self.lost = Some(failed.clone());
        }
        answer
    }

    /// Nodes that are each as likely, of the first of them.
    fn drawn(&mut self, draws: &mut Draws, wanted: (usize, u64)) -> Result<Vec<i64>> {
        let mut reader = Reader { database: &mut self.database, clock: &self.clock };
        self.nodes.draw(&mut reader, draws, wanted)
    }

    /// Nodes that are each as likely as they have edges: ends of edges that are drawn evenly.
    fn by_degree(&mut self, count: usize, draws: &mut Draws) -> Result<Vec<i64>> {
        let mut reader = Reader { database: &mut self.database, clock: &self.clock };
        if self.ends.is_none() {
            self.ends = Some(Ends::read(&mut reader, &self.tables, self.edges.as_ref())?);
        }
        let mut found = match (&self.ends, &self.edges, &self.tables.edge_key) {
            (Some(Ends::Drawn), Some(edges), Some(key)) => {
                sample::drawn_ends(&mut reader, &self.tables, (edges, key), draws, count)?
            }
            (Some(Ends::Listed(ends)), ..) if !ends.is_empty() => {
                (0..count).map(|_| ends[draws.below(ends.len() as u64) as usize]).collect()
            }
            _ => Vec::new(),
        };
        // Edges whose ends are all null lead to no node.
        found.extend(self.nodes.draw(&mut reader, draws, (count - found.len(), u64::MAX))?);
        Ok(found)
    }
}

impl Subject for SqlSubject {
    fn describe(&self) -> Result<Description> {
        self.lost.clone().map_or_else(|| Ok(self.description.clone()), Err)
    }

    fn can(&self, operation: Operation, way: Way) -> bool {
        way == Way::Api && self.statements.contains_key(&operation.to_string())
    }

    fn choose(&mut self, choice: Choice, count: usize, seed: u64) -> Result<Vec<Start>> {
        let _listening = self.interrupt.listen();
        self.describe()?;
        let mut draws = Stream::new(seed, choice.name()).draws(0);
        let nodes = match choice {
            Choice::ByDegree => self.by_degree(count + 1, &mut draws)?,
            Choice::Uniform => self.drawn(&mut draws, (count + 1, u64::MAX))?,
            Choice::Within(most) => self.drawn(&mut draws, (count + 1, most))?,
        };
        let mut reader = Reader { database: &mut self.database, clock: &self.clock };
        let edges = self.edges.as_ref().map(|edges| edges.draw(&mut reader, &mut draws, (count, u64::MAX)));
        let edges = edges.transpose()?.unwrap_or_default();
        let start = |(at, pair): (usize, &[i64])| Start {
            node: pair[0].cast_unsigned(),
            target: pair[1].cast_unsigned(),
            key: Some(Value::Int(pair[0])),
            edge: edges.get(at).map(|edge| edge.cast_unsigned()),
            ..Start::default()
        };
        Ok(nodes.windows(2).enumerate().map(start).collect())
    }

    fn perform(&mut self, operation: Operation, _: Way, start: &Start) -> Result<Call> {
        let Some(statement) = self.statements.get(&operation.to_string()).cloned() else {
            return Err(error!(Internal, "{operation} is no statement of these tables"));
        };
        let answer = self.ask(&statement.text, &statement.parameters(start))?;
        let (rows, checksum, counts) = outcome(operation, &answer);
        Ok(Call { ns: answer.ns, rows, checksum, counts })
    }

    fn timer_ns(&self) -> f64 {
        self.timer_ns
    }

    fn limit(&mut self, limit: Option<Duration>) {
        self.call_limit = limit.unwrap_or(Duration::MAX);
    }

    fn can_cool(&self) -> bool {
        self.database.file().is_some()
    }

    fn cool(&mut self) -> Result<()> {
        self.describe()?;
        let Some(file) = self.database.file() else { return Ok(()) };
        let mut is_dropped = false;
        self.database.while_closed(|| {
            is_dropped = os::forget_file(&file).map_err(|cause| model::Error::of_file(&file, &cause))?;
            Ok(())
        })?;
        if is_dropped {
            self.description.cold_method =
                "the database is closed, its file is dropped from the page cache, and it is opened anew".to_owned();
        }
        Ok(())
    }

    fn copy(&mut self) -> Result<()> {
        Err(error!(Unsupported, "a relational database is only read, and writes are measured on a copy").with_remedy(
            "leave out --writes, or measure it by the program examples/introspect/sql.py, which copies its tables",
        ))
    }

    fn warm(&mut self) -> Result<()> {
        let _listening = self.interrupt.listen();
        self.describe()?;
        let tables = self.tables.clone();
        let limit = (self.call_limit < Duration::MAX).then(|| (self.clock.clone(), self.call_limit));
        self.interrupt.set_deadline(limit);
        let outcome = self.reader().read_all(&tables);
        self.interrupt.set_deadline(None);
        outcome
    }
}

/// Asks a database for what is not measured.
struct Reader<'a> {
    database: &'a mut RelationalDatabase,
    clock: &'a Arc<dyn Clock>,
}

impl Reader<'_> {
    fn ask(&mut self, text: &str) -> Result<SqlAnswer> {
        self.database.ask(text, &[], self.clock)
    }

    /// The rows of a table that have one of some keys: columns of it. Statements of as many keys have the same text, which is prepared
    /// once.
    fn rows_of(&mut self, columns: &str, (table, key): (&str, &str), keys: &[i64]) -> Result<SqlAnswer> {
        let mark = |number: usize| self.database.parameter(number).unwrap_or_else(|| "?".to_owned());
        let marks: Vec<String> = (1..=keys.len()).map(mark).collect();
        let text = format!("SELECT {columns} FROM {table} WHERE {key} IN ({})", marks.join(", "));
        let parameters: Vec<Value> = keys.iter().copied().map(Value::Int).collect();
        self.database.ask(&text, &parameters, self.clock)
    }

    fn quoted(&self, name: &str) -> String {
        self.database.quoted(name)
    }

    fn number(&mut self, text: &str) -> Result<u64> {
        Ok(self.ask(text)?.columns.first().map_or(0, |column| integer(column, 0)))
    }

    fn describe(&mut self, tables: &Tables, nodes: u64) -> Result<Description> {
        let version = self.ask(self.database.version_statement())?;
        let version = match version.columns.first().map(|column| column.value(0)) {
            Some(Value::String(text)) => text.to_string(),
            _ => "unknown".to_owned(),
        };
        let edges = tables.edges.in_sql(|name| self.quoted(name));
        let edges = self.number(&format!("SELECT count(*) FROM {edges}"))?;
        let (bytes, cold_method) = match self.database.file() {
            Some(file) => {
                let bytes = std::fs::metadata(&file).map_or(0, |held| held.len());
                (bytes, "the database is closed and opened anew; its file stays in the page cache")
            }
            None => (self.table_bytes(tables)?, "none: the caches of a server cannot be emptied from here"),
        };
        let mut settings = vec![("tables".to_owned(), tables.described())];
        for (name, column) in [
            ("integer property", &tables.integer),
            ("string property", &tables.string),
            ("key of edges", &tables.edge_key),
            ("edge property", &tables.edge_property),
        ] {
            settings.extend(column.clone().map(|column| (name.to_owned(), column)));
        }
        Ok(Description {
            system: self.database.system(&version).to_lowercase(),
            version,
            place: self.database.name(),
            nodes,
            edges,
            bytes,
            settings,
            cold_method: cold_method.to_owned(),
        })
    }

    fn table_bytes(&mut self, tables: &Tables) -> Result<u64> {
        let mut bytes = 0;
        for table in [&tables.nodes, &tables.edges] {
            if let Some(statement) = self.database.bytes_statement(table) {
                bytes += self.number(&statement)?;
            }
        }
        Ok(bytes)
    }

    /// Reads all rows of both tables.
    fn read_all(&mut self, tables: &Tables) -> Result<()> {
        let of_nodes = [&tables.integer, &tables.string].into_iter().flatten().cloned().collect::<Vec<_>>();
        let of_edges: Vec<String> = tables.ends.iter().chain(&tables.edge_property).cloned().collect();
        for (table, columns) in [(&tables.nodes, of_nodes), (&tables.edges, of_edges)] {
            let greatest: Vec<String> = columns.iter().map(|name| format!(", max({})", self.quoted(name))).collect();
            let table = table.in_sql(|name| self.quoted(name));
            let answer = self.ask(&format!("SELECT count(*){} FROM {table}", greatest.concat()))?;
            checksum_of(&answer.columns);
        }
        Ok(())
    }
}
