//! The operations as statements of SQL, once for all databases: only quotes and the marks of parameters differ.

use std::cell::Cell;

use database::relational::{RelationalDatabase, SqlAnswer};
use model::{Direction, Value};

use super::tables::Tables;
use crate::operations::{Filter, Operation};
use crate::subject::knotwork::{checksum_of, integer, lists};
use crate::subject::{Counts, Start};

/// A statement of an operation. Its parameters are all the same value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    pub(super) text: String,
    of: Parameter,
    marks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Parameter {
    Node,
    Edge,
}

/// The database's way to write names and parameters.
pub(super) trait Notation {
    /// A name in its quotes.
    fn quoted(&self, name: &str) -> String;
    /// The first parameter, if parameters have numbers.
    fn parameter(&self) -> Option<String>;
}

impl Notation for RelationalDatabase {
    fn quoted(&self, name: &str) -> String {
        RelationalDatabase::quoted(self, name)
    }

    fn parameter(&self) -> Option<String> {
        RelationalDatabase::parameter(self, 1)
    }
}

impl Statement {
    /// The statement of an operation; `None` if the tables lack what it needs, or it is none of SQL.
    pub(super) fn of(operation: Operation, tables: &Tables, notation: &dyn Notation) -> Option<Statement> {
        let writer = Writer { tables, notation, marks: Cell::new(0) };
        let text = writer.text(operation)?;
        let is_of_edge = matches!(operation, Operation::EdgeByText | Operation::EdgeProperty);
        let of = if is_of_edge { Parameter::Edge } else { Parameter::Node };
        let marks = writer.marks.get();
        Some(Statement { text, of, marks: if notation.parameter().is_some() { marks.min(1) } else { marks } })
    }

    /// Its parameters for a start.
    pub(super) fn parameters(&self, start: &Start) -> Vec<Value> {
        let value = match self.of {
            Parameter::Node => Some(start.node),
            Parameter::Edge => start.edge,
        };
        vec![value.map_or(Value::Null, |value| Value::Int(value.cast_signed())); self.marks]
    }
}

/// Writes statements, and counts the marks of their parameters.
struct Writer<'a> {
    tables: &'a Tables,
    notation: &'a dyn Notation,
    marks: Cell<usize>,
}

impl Writer<'_> {
    fn mark(&self) -> String {
        self.marks.set(self.marks.get() + 1);
        self.notation.parameter().unwrap_or_else(|| "?".to_owned())
    }

    fn name(&self, name: &str) -> String {
        self.notation.quoted(name)
    }

    fn nodes(&self) -> String {
        self.tables.nodes.in_sql(|name| self.name(name))
    }

    fn edges(&self) -> String {
        self.tables.edges.in_sql(|name| self.name(name))
    }

    fn text(&self, operation: Operation) -> Option<String> {
        let tables = self.tables;
        // Rows of another table that edges lead to are no starts of further steps.
        let is_there = |direction: Direction, hops: u32| tables.is_within || direction == Direction::Out && hops == 1;
        match operation {
            Operation::EmptyStatement => Some("SELECT 1".to_owned()),
            Operation::NodeById | Operation::NodeByKey => Some(self.of_node(&tables.key)),
            Operation::NodeInteger => tables.integer.as_ref().map(|column| self.of_node(column)),
            Operation::NodeString => tables.string.as_ref().map(|column| self.of_node(column)),
            Operation::EdgeByText => self.of_edge(&tables.ends),
            Operation::EdgeProperty => self.of_edge(std::slice::from_ref(tables.edge_property.as_ref()?)),
            Operation::Degree(direction) if is_there(direction, 1) => {
                Some(format!("SELECT count(*) FROM ({}) AS found", self.neighbors(direction, None)))
            }
            Operation::FirstNeighbor(direction, Filter::Plain) if is_there(direction, 1) => {
                Some(format!("{} LIMIT 1", self.neighbors(direction, None)))
            }
            Operation::Neighbors(direction, Filter::Plain) if is_there(direction, 1) => {
                Some(self.neighbors(direction, None))
            }
            Operation::Neighbors(direction, Filter::Property) if is_there(direction, 1) => {
                Some(self.neighbors(direction, Some(tables.edge_property.as_ref()?)))
            }
            Operation::Hops(direction, hops) if is_there(direction, hops) => Some(self.hops(direction, hops)),
            _ => None,
        }
    }

    /// A column of a node.
    fn of_node(&self, column: &str) -> String {
        let (column, nodes, key) = (self.name(column), self.nodes(), self.name(&self.tables.key));
        format!("SELECT {column} FROM {nodes} WHERE {key} = {}", self.mark())
    }

    /// Columns of an edge.
    fn of_edge(&self, columns: &[String]) -> Option<String> {
        let key = self.name(self.tables.edge_key.as_ref()?);
        let columns: Vec<String> = columns.iter().map(|column| self.name(column)).collect();
        Some(format!("SELECT {} FROM {} WHERE {key} = {}", columns.join(", "), self.edges(), self.mark()))
    }

    /// The near and the far end of edges in each of the directions.
    fn ways(&self, direction: Direction) -> Vec<(String, String)> {
        let [source, target] = [&self.tables.ends[0], &self.tables.ends[1]].map(|end| self.name(end));
        match direction {
            Direction::Out => vec![(source, target)],
            Direction::In => vec![(target, source)],
            Direction::Both => vec![(source.clone(), target.clone()), (target, source)],
        }
    }

    /// The neighbours of a node, each as often as there are edges, with a property of the edge. An edge from a node to itself is one in
    /// both directions too, as in Cypher.
    fn neighbors(&self, direction: Direction, property: Option<&String>) -> String {
        let mut parts = self.parts(direction, property);
        for (part, (_, far)) in parts.iter_mut().zip(self.ways(direction)).skip(1) {
            *part += &format!(" AND ({far} <> {} OR {far} IS NULL)", self.mark());
        }
        parts.join(" UNION ALL ")
    }

    /// The edges of a node in each way of the direction: their far ends, with a property.
    fn parts(&self, direction: Direction, property: Option<&String>) -> Vec<String> {
        let property = property.map_or(String::new(), |column| format!(", {}", self.name(column)));
        let part = |(near, far): (String, String)| {
            format!("SELECT {far}{property} FROM {} WHERE {near} = {}", self.edges(), self.mark())
        };
        self.ways(direction).into_iter().map(part).collect()
    }

    /// The different nodes within a number of hops: those of each hop are found from those of the one before. `CROSS JOIN` is an
    /// order of tables to SQLite, which else reads all edges, and any join to the others. The union of all hops makes nodes
    /// distinct, so that only hops in the middle need be.
    fn hops(&self, direction: Direction, hops: u32) -> String {
        let (edges, ways) = (self.edges(), self.ways(direction));
        let distinct = |is_needed: bool| if is_needed && ways.len() == 1 { "DISTINCT " } else { "" };
        if hops == 1 {
            let part = |(near, far): &(String, String)| {
                let (distinct, node, same) = (distinct(true), self.mark(), self.mark());
                format!("SELECT {distinct}{far} FROM {edges} WHERE {near} = {node} AND {far} <> {same}")
            };
            return ways.iter().map(part).collect::<Vec<_>>().join(" UNION ");
        }
        let start = self.parts(direction, None).join(" UNION ");
        let mut steps = vec![format!("r1 (n) AS ({start})")];
        for hop in 2..=hops {
            let (before, distinct) = (format!("r{}", hop - 1), distinct(hop < hops));
            let part = |(near, far): &(String, String)| {
                format!("SELECT {distinct}e.{far} FROM {before} CROSS JOIN {edges} AS e WHERE e.{near} = {before}.n")
            };
            steps.push(format!("r{hop} (n) AS ({})", ways.iter().map(part).collect::<Vec<_>>().join(" UNION ")));
        }
        let all: Vec<String> = (1..=hops).map(|hop| format!("SELECT n FROM r{hop}")).collect();
        let (steps, all) = (steps.join(", "), all.join(" UNION "));
        format!("WITH {steps} SELECT n FROM ({all}) AS reach WHERE n <> {}", self.mark())
    }
}

/// Rows, checksum and counts of an answer.
pub(super) fn outcome(operation: Operation, answer: &SqlAnswer) -> (u64, u64, Counts) {
    let rows = answer.rows() as u64;
    let checksum = checksum_of(answer.columns.get(..1).unwrap_or_default());
    match operation {
        Operation::Neighbors(direction, filter) | Operation::FirstNeighbor(direction, filter) => {
            let properties = if filter == Filter::Property { rows } else { 0 };
            let neighborhoods = lists(direction);
            (rows, checksum, Counts { neighborhoods, edges: rows, properties, ..Counts::default() })
        }
        Operation::Hops(..) => (rows, rows, Counts { unique_nodes: rows, ..Counts::default() }),
        Operation::Degree(_) => (1, answer.columns.first().map_or(0, |column| integer(column, 0)), Counts::default()),
        Operation::NodeById | Operation::EdgeByText => (rows, rows, Counts::default()),
        Operation::NodeInteger | Operation::NodeString | Operation::EdgeProperty => {
            (rows, checksum, Counts { properties: 1, ..Counts::default() })
        }
        _ => (rows, checksum, Counts::default()),
    }
}

#[cfg(test)]
mod tests {
    use database::relational::TableName;
    use model::{Direction, Value};

    use super::super::tables::Tables;
    use super::{Notation, Statement};
    use crate::operations::{Filter, Operation};
    use crate::subject::Start;

    /// Numbered parameters, or none.
    struct Written(bool);

    impl Notation for Written {
        fn quoted(&self, name: &str) -> String {
            format!("[{name}]")
        }

        fn parameter(&self) -> Option<String> {
            self.0.then(|| "$1".to_owned())
        }
    }

    fn tables(is_within: bool) -> Tables {
        Tables {
            nodes: TableName { schema: Some("s".to_owned()), name: "node".to_owned() },
            key: "id".to_owned(),
            is_key_unique: true,
            integer: Some("age".to_owned()),
            string: None,
            edges: TableName::of("edge"),
            ends: ["a".to_owned(), "b".to_owned()],
            edge_key: Some("number".to_owned()),
            edge_property: Some("time".to_owned()),
            is_within,
        }
    }

    #[test]
    fn statements_name_tables_and_columns() {
        let check = |operation: Operation, expected: &str| {
            let statement = Statement::of(operation, &tables(true), &Written(true));
            assert_eq!(statement.map_or(String::new(), |statement| statement.text), expected, "{operation}");
        };
        check(Operation::NodeInteger, "SELECT [age] FROM [s].[node] WHERE [id] = $1");
        check(Operation::NodeString, "");
        check(Operation::EdgeByText, "SELECT [a], [b] FROM [edge] WHERE [number] = $1");
        let both = "SELECT [b], [time] FROM [edge] WHERE [a] = $1 UNION ALL SELECT [a], [time] FROM [edge] WHERE [b] = $1 \
                    AND ([a] <> $1 OR [a] IS NULL)";
        check(Operation::Neighbors(Direction::Both, Filter::Property), both);
        let one = "SELECT [b] FROM [edge] WHERE [a] = $1 AND [b] <> $1 UNION SELECT [a] FROM [edge] WHERE [b] = $1 AND [a] <> $1";
        check(Operation::Hops(Direction::Both, 1), one);
        let hops = "WITH r1 (n) AS (SELECT [b] FROM [edge] WHERE [a] = $1), r2 (n) AS (SELECT e.[b] FROM r1 CROSS JOIN [edge] AS e \
                    WHERE e.[a] = r1.n) SELECT n FROM (SELECT n FROM r1 UNION SELECT n FROM r2) AS reach WHERE n <> $1";
        check(Operation::Hops(Direction::Out, 2), hops);
        check(Operation::PageRank, "");
    }

    #[test]
    fn parameters_without_numbers_are_passed_where_they_stand() {
        let start = Start { node: 7, edge: Some(9), ..Start::default() };
        for (operation, numbered, unnumbered) in [
            (Operation::EmptyStatement, vec![], vec![]),
            (Operation::Hops(Direction::Both, 2), vec![Value::Int(7)], vec![Value::Int(7); 3]),
            (Operation::Degree(Direction::Both), vec![Value::Int(7)], vec![Value::Int(7); 3]),
            (Operation::EdgeProperty, vec![Value::Int(9)], vec![Value::Int(9)]),
        ] {
            let of = |is_numbered: bool| {
                let statement = Statement::of(operation, &tables(true), &Written(is_numbered)).expect("there is one");
                statement.parameters(&start)
            };
            assert_eq!((of(true), of(false)), (numbered, unnumbered), "{operation}");
        }
    }

    #[test]
    fn edges_to_another_table_are_followed_once() {
        let all = Operation::all();
        let count = |is_within: bool| {
            let has = |operation: &&Operation| Statement::of(**operation, &tables(is_within), &Written(true)).is_some();
            all.iter().filter(has).count()
        };
        assert_eq!((count(true), count(false)), (24, 11));
    }
}
