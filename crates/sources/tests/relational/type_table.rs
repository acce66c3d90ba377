//! The table of types: what becomes of the values of each type of a database when they are read, are keys, are asked for
//! and are written. One table for each database is tested against a real one, and stands in `docs/sources.md`.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::asking::rows;
use model::pattern_query::{PatternColumn, PatternNode, PatternQuery};
use model::{Column, Direction, KeyOrder, Value};
use sources::connect::{connect, inspect};
use sources::connector::{Change, Condition, Connector, Question, Reading, Test, Which};
use sources::definition::GraphDefinition;

/// A type, as its columns are declared, and what becomes of its values.
pub(crate) struct Type {
    pub(crate) declared: &'static str,
    /// The kind of property that its values are.
    pub(crate) read: &'static str,
    pub(crate) key: Key,
    /// A value that is written comes to the database as it was read; else it is refused, or another value for the reason given.
    pub(crate) write: Write,
    /// Values as SQL has them, and as they are read: `None` where reading them is an error.
    pub(crate) values: &'static [(&'static str, Option<&'static str>)],
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Key {
    /// Every key finds its own row, and edges lead to it.
    Exact,
    /// The database has no unique columns of this type.
    #[allow(dead_code, reason = "in SQLite all columns can be unique")]
    None,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Write {
    Exact,
    /// Digits that a float has not are lost, as they are when it is read.
    AsRead,
    #[allow(dead_code, reason = "one of the databases takes all")]
    Refused,
}

/// A database, and the way to speak to it.
pub(crate) struct Database<'a> {
    pub(crate) name: &'static str,
    pub(crate) url: String,
    pub(crate) run: &'a dyn Fn(&str),
    /// Statements that the types need before they can be used.
    pub(crate) before: &'static str,
}

/// Tests every type, and that the documents say what was tested.
pub(crate) fn check(database: &Database<'_>, types: &[Type]) {
    (database.run)(database.before);
    // All of them are tested, so that one run tells all that is wrong.
    let mut wrong = Vec::new();
    for (number, of) in types.iter().enumerate() {
        let checked = catch_unwind(AssertUnwindSafe(|| Case::new(database, number, of).check()));
        wrong.extend(checked.err().map(|_| of.declared));
    }
    assert!(wrong.is_empty(), "{}: see above for {wrong:?}", database.name);
    check_document(database.name, types);
}

struct Case<'a> {
    of: &'a Type,
    table: String,
    url: &'a str,
    connector: Arc<dyn Connector>,
}

/// Properties of the nodes: their number, and the value.
const NUMBER: usize = 0;
const VALUE: usize = 1;

impl<'a> Case<'a> {
    /// A table with the values of a type, as keys too where they can be, and one that refers to it.
    fn new(database: &'a Database<'_>, number: usize, of: &'a Type) -> Case<'a> {
        let table = format!("t{number}");
        let declared = of.declared;
        let is_key = of.key == Key::Exact;
        let mut statements = if is_key {
            format!(
                "CREATE TABLE {table} (k {declared} NOT NULL PRIMARY KEY, n INTEGER NOT NULL, v {declared});
                CREATE TABLE {table}_e (id INTEGER NOT NULL PRIMARY KEY, k {declared}, FOREIGN KEY (k) REFERENCES {table} (k));"
            )
        } else {
            format!("CREATE TABLE {table} (k INTEGER NOT NULL PRIMARY KEY, n INTEGER NOT NULL, v {declared});")
        };
        for (row, (literal, _)) in of.values.iter().enumerate() {
            let key = if is_key { (*literal).to_owned() } else { row.to_string() };
            statements += &format!("INSERT INTO {table} VALUES ({key}, {row}, {literal});");
            if is_key {
                statements += &format!("INSERT INTO {table}_e VALUES ({row}, {literal});");
            }
        }
        (database.run)(&statements);
        let edges = if is_key {
            format!(r#", "edges": {{ "E": {{ "table": "{table}_e", "source": "E", "target": "T(k)" }} }}"#)
        } else {
            String::new()
        };
        let nodes_of_edges = if is_key {
            format!(r#", "E": {{ "table": "{table}_e", "key": "id", "properties": ["id"] }}"#)
        } else {
            String::new()
        };
        let definition = format!(
            r#"{{ "nodes": {{ "T": {{ "table": "{table}", "key": "k", "show-key": false, "properties": ["n", "v"] }}{nodes_of_edges} }}{edges} }}"#
        );
        let definition = GraphDefinition::from_json(&definition).unwrap();
        let connector = connect(&database.url, &definition).unwrap();
        connector.facts().unwrap_or_else(|failure| panic!("{}: {failure}", of.declared));
        Case { of, table, url: &database.url, connector }
    }

    fn check(&self) {
        self.check_read();
        if self.of.key == Key::Exact {
            self.check_keys();
        }
        if self.of.values.iter().all(|(_, shown)| shown.is_some()) {
            self.check_conditions();
            self.check_order();
            self.check_groups();
            self.check_writes();
        }
        if self.of.key == Key::Exact {
            self.check_deletes();
        }
    }

    fn reading(&self) -> Box<dyn Reading> {
        self.connector.read().unwrap()
    }

    fn nodes<'q>(which: Which<'q>, properties: &'q [usize]) -> Question<'q> {
        Question::Nodes { kind: 0, which, properties, order: &[], limit: None }
    }

    /// The rows of the nodes, in order of their numbers: key, number, value.
    fn all(&self) -> Vec<Vec<Value>> {
        let mut all = rows(self.reading().as_mut(), Self::nodes(Which::All, &[NUMBER, VALUE]));
        all.sort_by_key(|row| number(&row[1]));
        all
    }

    fn check_read(&self) {
        for (row, (literal, shown)) in self.of.values.iter().enumerate() {
            let numbered = [Condition::is(NUMBER, Test::OneOf(vec![Value::Int(row as i64)]))];
            let question = Self::nodes(Which::Where(&numbered), &[VALUE]);
            let mut found = Vec::new();
            let asked = self.reading().ask(&[question], &mut |_, columns| {
                found.extend(columns[1].values().map(|value| value.to_string()));
                Ok(true)
            });
            match shown {
                Some(shown) => {
                    asked.unwrap_or_else(|failure| panic!("{} {literal}: {failure}", self.of.declared));
                    assert_eq!(found, [*shown], "{} {literal}", self.of.declared);
                }
                None => {
                    let failure = asked.expect_err(self.of.declared);
                    let message = failure.message();
                    let says = message.contains(" v ") && message.contains(literal.trim_matches('\''));
                    assert!(says && !failure.remedy().is_empty(), "{failure}");
                }
            }
        }
    }

    /// Each key finds its own row and no other; each edge leads to the node that the database joins.
    fn check_keys(&self) {
        let mut reading = self.reading();
        let all = rows(reading.as_mut(), Self::nodes(Which::All, &[NUMBER]));
        assert_eq!(all.len(), self.of.values.len(), "{}: {all:?}", self.of.declared);
        for row in &all {
            let key = Column::from_values([&row[0]]);
            let found = rows(reading.as_mut(), Self::nodes(Which::Keys(&key), &[NUMBER]));
            assert_eq!(found, std::slice::from_ref(row), "{}", self.of.declared);
            let of = Which::Keys(&key);
            let edges = Question::Edges { kind: 0, direction: Direction::In, of, properties: &[] };
            let back = rows(reading.as_mut(), edges);
            let ends: Vec<[&Value; 2]> = back.iter().map(|edge| [&edge[0], &edge[1]]).collect();
            assert_eq!(ends, [[&row[0], &row[1]]], "{}: edges to {}", self.of.declared, row[0]);
        }
        let edges = Question::Edges { kind: 0, direction: Direction::Out, of: Which::All, properties: &[] };
        let found = rows(reading.as_mut(), edges);
        let expected: Vec<[&Value; 2]> = {
            let mut all: Vec<[&Value; 2]> = all.iter().map(|row| [&row[1], &row[0]]).collect();
            all.sort_by_key(|pair| number(pair[0]));
            all
        };
        let found: Vec<[&Value; 2]> = found.iter().map(|edge| [&edge[0], &edge[1]]).collect();
        assert_eq!(found, expected, "{}: edges", self.of.declared);
    }

    /// A condition holds of the rows whose values, as they are read, it holds of.
    fn check_conditions(&self) {
        let all = self.all();
        let mut tests: Vec<Test> = vec![Test::Present, Test::Absent, Test::NoneOf(vec![Value::string("a")])];
        for row in &all {
            let value = row[2].clone();
            tests.push(Test::OneOf(vec![value.clone()]));
            tests.push(Test::NoneOf(vec![value.clone()]));
            if let Value::String(text) = &value {
                let letters: Vec<char> = text.chars().collect();
                let (start, end) = letters.split_at(letters.len() / 2);
                let middle = &letters[letters.len() / 3..letters.len() - letters.len() / 3];
                tests.extend(and_negated([
                    Test::StartsWith(start.iter().collect()),
                    Test::EndsWith(end.iter().collect()),
                    Test::Contains(middle.iter().collect()),
                    Test::Contains(text.to_uppercase()),
                ]));
            }
            tests.push(Test::Between(Bound::Excluded(value.clone()), Bound::Unbounded));
            tests.push(Test::NotBetween(Bound::Included(value.clone()), Bound::Unbounded));
            tests.push(Test::NotBetween(Bound::Unbounded, Bound::Excluded(value.clone())));
            tests.push(Test::Between(Bound::Unbounded, Bound::Included(value)));
        }
        tests.push(Test::OneOf(all.iter().map(|row| row[2].clone()).collect()));
        let mut reading = self.reading();
        for test in tests {
            let one = Condition::is(VALUE, test.clone());
            // Beside a condition that always holds, and one that never does, it is the same.
            let always = Condition::Any(vec![one.clone(), Condition::is(NUMBER, Test::Absent)]);
            let both = Condition::All(vec![one.clone(), Condition::is(NUMBER, Test::Present)]);
            for condition in [one, always, both] {
                self.check_condition(reading.as_mut(), &all, &test, condition);
            }
        }
        for other in others() {
            let mut tests = vec![
                Test::OneOf(vec![other.clone()]),
                Test::NoneOf(vec![other.clone()]),
                Test::Between(Bound::Included(other.clone()), Bound::Unbounded),
                Test::Between(Bound::Excluded(other.clone()), Bound::Unbounded),
                Test::Between(Bound::Unbounded, Bound::Included(other.clone())),
                Test::Between(Bound::Unbounded, Bound::Excluded(other.clone())),
                Test::NotBetween(Bound::Included(other.clone()), Bound::Unbounded),
                Test::NotBetween(Bound::Unbounded, Bound::Included(other.clone())),
            ];
            if let Value::String(text) = &other {
                let text = text.to_string();
                let of_strings = [Test::StartsWith(text.clone()), Test::EndsWith(text.clone()), Test::Contains(text)];
                tests.extend(and_negated(of_strings));
            }
            for test in tests {
                let condition = Condition::is(VALUE, test.clone());
                self.check_condition(reading.as_mut(), &all, &test, condition);
            }
        }
    }

    fn check_condition(&self, reading: &mut dyn Reading, all: &[Vec<Value>], test: &Test, condition: Condition) {
        let expected: Vec<&Value> = all.iter().filter(|row| test.holds(&row[2])).map(|row| &row[1]).collect();
        let conditions = [condition];
        let mut found = rows(reading, Self::nodes(Which::Where(&conditions), &[NUMBER]));
        found.sort_by_key(|row| number(&row[1]));
        let found: Vec<&Value> = found.iter().map(|row| &row[1]).collect();
        assert_eq!(found, expected, "{}: {conditions:?}", self.of.declared);
    }

    /// Rows come in the order of their values as they are read, and the first of them are the first.
    fn check_order(&self) {
        let mut all: Vec<Value> = self.all().into_iter().map(|row| row[2].clone()).collect();
        all.sort_by(Value::order);
        for order in [KeyOrder::Ascending, KeyOrder::Descending] {
            for limit in 1..=all.len() {
                let question = Question::Nodes {
                    kind: 0,
                    which: Which::All,
                    properties: &[VALUE],
                    order: &[(VALUE, order)],
                    limit: Some(limit as u64),
                };
                let mut found: Vec<Value> = Vec::new();
                let mut reading = self.reading();
                let asked = reading.ask(&[question], &mut |_, columns| {
                    found.extend(columns[1].values());
                    Ok(true)
                });
                asked.unwrap_or_else(|failure| panic!("{}: {failure}", self.of.declared));
                let same = |(a, b): (&Value, &Value)| a.order(b).is_eq();
                let is_right = found.len() == limit && found.iter().zip(&all).all(same);
                assert!(is_right, "{}: {order:?}, {limit}: {found:?}, not {all:?}", self.of.declared);
            }
            all.reverse();
        }
    }

    /// Values that are equal as they are read are one group, and the least, the greatest and the sum of values are those of
    /// the values as they are read, wherever the source says that it computes them.
    fn check_groups(&self) {
        let all: Vec<Value> = self.all().into_iter().map(|row| row[2].clone()).collect();
        let there: Vec<&Value> = all.iter().filter(|value| !value.is_null()).collect();
        let sum = there.iter().try_fold(0_i64, |sum, value| match value {
            Value::Int(x) => sum.checked_add(*x),
            _ => None,
        });
        let mut distinct: Vec<&Value> = all.iter().collect();
        distinct.sort_by(|a, b| a.order(b));
        distinct.dedup_by(|a, b| a.order(b).is_eq());
        let least = there.iter().min_by(|a, b| a.order(b)).map_or(Value::Null, |value| (*value).clone());
        let most = there.iter().max_by(|a, b| a.order(b)).map_or(Value::Null, |value| (*value).clone());
        let of_all = [
            (PatternColumn::Min(0, VALUE), Some(least)),
            (PatternColumn::Max(0, VALUE), Some(most)),
            (PatternColumn::Sum(0, VALUE), sum.map(Value::Int)),
            (PatternColumn::Count(0, VALUE), Some(Value::Int(there.len() as i64))),
            (
                PatternColumn::DistinctCount(0, VALUE),
                Some(Value::Int(distinct.iter().filter(|value| !value.is_null()).count() as i64)),
            ),
        ];
        for (column, expected) in of_all {
            let is_sum = matches!(column, PatternColumn::Sum(..));
            match (self.answered(vec![column.clone()], true), expected) {
                (Some(Ok(found)), Some(expected)) => {
                    let is_same = found[0][0].order(&expected).is_eq();
                    let is_alike = is_same && found[0][0].type_name() == expected.type_name();
                    assert!(is_alike, "{}: {column:?}: {:?}, not {expected:?}", self.of.declared, found[0][0]);
                }
                // A sum that no integer holds.
                (Some(Err(_)), None) | (None, _) => {}
                (Some(answer), expected) => {
                    assert!(is_sum && expected.is_none(), "{}: {column:?}: {answer:?}", self.of.declared);
                    panic!("{}: {column:?}: {answer:?} of values that are no integers", self.of.declared);
                }
            }
        }
        let keys = vec![PatternColumn::Key(0, VALUE), PatternColumn::Matches];
        if let Some(found) = self.answered(keys, true) {
            let mut found = found.unwrap_or_else(|failure| panic!("{}: {failure}", self.of.declared));
            found.sort_by(|a, b| a[0].order(&b[0]));
            let count = |of: &Value| all.iter().filter(|value| value.order(of).is_eq()).count() as i64;
            let expected: Vec<[Value; 2]> =
                distinct.iter().map(|value| [(*value).clone(), Value::Int(count(value))]).collect();
            let same = |(a, b): (&Vec<Value>, &[Value; 2])| a[0].order(&b[0]).is_eq() && a[1] == b[1];
            let is_right = found.len() == expected.len() && found.iter().zip(&expected).all(same);
            assert!(is_right, "{}: groups {found:?}, not {expected:?}", self.of.declared);
        }
        // A value of a match is shown as that of a node.
        let Some(found) = self.answered(vec![PatternColumn::Key(0, NUMBER), PatternColumn::Key(0, VALUE)], false)
        else {
            panic!("{}: no source refuses to give properties", self.of.declared);
        };
        let mut found = found.unwrap_or_else(|failure| panic!("{}: {failure}", self.of.declared));
        found.sort_by_key(|row| number(&row[0]));
        let same = |(row, value): (&Vec<Value>, &Value)| {
            row[1].order(value).is_eq() && row[1].type_name() == value.type_name()
        };
        assert!(found.iter().zip(&all).all(same), "{}: {found:?}, not {all:?}", self.of.declared);
    }

    /// The rows of a pattern of one node; `None` if the source says that it does not compute them as Cypher does.
    fn answered(&self, columns: Vec<PatternColumn<usize>>, is_grouped: bool) -> Option<model::Result<Vec<Vec<Value>>>> {
        let asked = PatternQuery {
            nodes: vec![PatternNode { of: 0, conditions: Vec::new() }],
            edges: Vec::new(),
            distinct: Vec::new(),
            tests: Vec::new(),
            columns,
            is_grouped,
            first: None,
        };
        let question = Question::Pattern(&asked);
        self.connector.statement(&question)?;
        let mut found = Vec::new();
        let answer = self.reading().ask(std::slice::from_ref(&question), &mut |_, columns| {
            found.extend((0..columns[0].len()).map(|row| columns.iter().map(|column| column.value(row)).collect()));
            Ok(true)
        });
        match answer {
            Err(failure) if failure.code() == model::ErrorCode::Unsupported => None,
            answer => Some(answer.map(|()| found)),
        }
    }

    /// A value that is written to one row is what the database holds, and is read again; other rows are as they were.
    fn check_writes(&self) {
        let before = self.all();
        for to in (1..before.len()).rev() {
            let from = to - 1;
            let keys = Column::from_values([&before[to][0]]);
            let values = Column::from_values([&before[from][2]]);
            let mut writing = self.connector.write().unwrap();
            let change = Change::UpdateNodes { kind: 0, keys: &keys, property: VALUE, values: &values };
            let changed = writing.change(&change);
            if self.of.write == Write::Refused {
                assert!(changed.is_err(), "{}", self.of.declared);
                continue;
            }
            changed.unwrap_or_else(|failure| panic!("{}: {}: {failure}", self.of.declared, before[from][2]));
            writing.commit().unwrap();
            let after = self.all();
            assert_eq!(after[to][2], before[from][2], "{}: what was written", self.of.declared);
            if self.of.write == Write::Exact {
                let same = format!(
                    "SELECT count(*) FROM {0} a, {0} b WHERE a.n = {to} AND b.n = {from} AND {1}",
                    self.table,
                    self.same("a.v", "b.v")
                );
                assert_eq!(inspect(self.url).unwrap().number(&same).unwrap(), 1, "{}: {same}", self.of.declared);
            }
            assert_eq!(after[..to], before[..to], "{}: another row was changed", self.of.declared);
        }
    }

    /// That two values are the same to the last digit.
    fn same(&self, a: &str, b: &str) -> String {
        if self.of.declared.starts_with("json") { format!("{a}::text = {b}::text") } else { format!("{a} = {b}") }
    }

    /// A node that is deleted is the one that was meant.
    fn check_deletes(&self) {
        let mut all = rows(self.reading().as_mut(), Self::nodes(Which::All, &[NUMBER]));
        all.sort_by_key(|row| number(&row[1]));
        while let Some(last) = all.pop() {
            let keys = Column::from_values([&last[0]]);
            let edge = Column::from_values([&last[1]]);
            let mut writing = self.connector.write().unwrap();
            writing.change(&Change::DeleteNodes { kind: 1, keys: &edge }).unwrap();
            let deleted = writing.change(&Change::DeleteNodes { kind: 0, keys: &keys });
            deleted.unwrap_or_else(|failure| panic!("{}: {failure}", self.of.declared));
            writing.commit().unwrap();
            let mut left = rows(self.reading().as_mut(), Self::nodes(Which::All, &[NUMBER]));
            left.sort_by_key(|row| number(&row[1]));
            assert_eq!(left, all, "{}: {} was deleted", self.of.declared, last[0]);
        }
    }
}

/// Tests of strings, and those that hold of the other strings.
fn and_negated<const N: usize>(tests: [Test; N]) -> impl Iterator<Item = Test> {
    tests.into_iter().flat_map(|test| [Test::NoMatch(Box::new(test.clone())), test])
}

/// Values that a column may hold or not, and that databases take for others: beyond its bounds, of another kind, with blanks
/// at the end, with letters that its character set lacks.
fn others() -> Vec<Value> {
    let strings =
        ["", " ", "a", "A", "a ", "a\t", "a\u{1}", "b", "é", "ж", "🙂", "24", "null", "null "].map(Value::string);
    let integers = [-1, 0, 1, 5, 24, 70, 71, 2024, 40_000, 4_294_967_297, i64::MAX, i64::MIN].map(Value::Int);
    let floats = [0.5, -0.0, 24.0, 1e-10, 9e18, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(Value::Float);
    let lists = [vec![], vec![Value::Float(f64::NAN)], vec![Value::Int(1)]].map(Value::list);
    [strings.as_slice(), &integers, &floats, &lists].concat()
}

fn number(value: &Value) -> i64 {
    if let Value::Int(number) = value { *number } else { panic!("{value} is no number of a row") }
}

/// The rows of the table in the documents are those that were tested.
fn check_document(name: &str, types: &[Type]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sources.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- types of {name} -->\n"), format!("<!-- end of types of {name} -->"));
    let mut wanted = "| type | read as | key | condition | write |\n|---|---|---|---|---|\n".to_owned();
    types.iter().for_each(|of| wanted += &line(of));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("docs/sources.md has no `{begin}`"));
    let (held, after) = rest.split_once(&end).unwrap_or_else(|| panic!("docs/sources.md has no `{end}`"));
    if held == wanted {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_GOLDEN").is_some(),
        "docs/sources.md differs from what was tested of {name}; UPDATE_GOLDEN=1 writes:\n{wanted}"
    );
    std::fs::write(&path, format!("{before}{begin}{wanted}{end}{after}")).unwrap();
}

fn line(of: &Type) -> String {
    let key = match of.key {
        Key::Exact => "exact",
        Key::None => "–",
    };
    let is_refused = of.values.iter().any(|(_, shown)| shown.is_none());
    let write = match of.write {
        Write::Exact => "exact",
        Write::AsRead => "as read",
        Write::Refused => "refused",
    };
    let read = if is_refused { format!("{}; beyond 64 bits an error", of.read) } else { of.read.to_owned() };
    format!("| `{}` | {read} | {key} | as read | {write} |\n", of.declared)
}

/// Fails unless edges from a table to another are as many as the database joins, however they are counted and followed.
pub(crate) fn check_edges(url: &str, name: &str, edges: usize) {
    let definition = format!(
        r#"{{ "nodes": {{ "T": {{ "table": "{name}", "key": "k", "show-key": false, "properties": ["v"] }}, "R": {{ "table": "{name}_ref" }} }},
            "edges": {{ "E": {{ "table": "{name}_ref", "source": "R", "target": "T(k)" }} }} }}"#
    );
    let definition = GraphDefinition::from_json(&definition).unwrap();
    let connector = connect(url, &definition).unwrap();
    connector.facts().unwrap();
    let mut reading = connector.read().unwrap();
    fn asked(direction: Direction, of: Which<'_>) -> Question<'_> {
        Question::Edges { kind: 0, direction, of, properties: &[] }
    }
    let joined = format!("SELECT count(*) FROM {name} a JOIN {name}_ref b ON a.k = b.k");
    assert!(inspect(url).unwrap().number(&joined).unwrap() <= edges as u64, "{name}");
    let counted = rows(reading.as_mut(), Question::CountEdges { kind: 0 });
    assert_eq!(counted, [[Value::Int(edges as i64)]], "{name}: counted");
    let all = rows(reading.as_mut(), asked(Direction::Out, Which::All));
    assert_eq!(all.len(), edges, "{name}: all");
    let keys: Vec<Value> =
        rows(reading.as_mut(), Case::nodes(Which::All, &[])).into_iter().map(|row| row[0].clone()).collect();
    for edge in &all {
        assert!(keys.contains(&edge[1]), "{name}: an edge to {}, which is no node", edge[1]);
    }
    let back = rows(reading.as_mut(), asked(Direction::In, Which::Keys(&Column::from_values(&keys))));
    assert_eq!(back.len(), edges, "{name}: against their direction");
    let near: Vec<Value> = all.iter().map(|edge| edge[0].clone()).collect();
    let out = rows(reading.as_mut(), asked(Direction::Out, Which::Keys(&Column::from_values(&near))));
    assert_eq!(out, all, "{name}: in their direction");
    if connector.abilities().lookahead {
        let kind = definition.nodes.iter().position(|kind| &*kind.name == "R").unwrap();
        let (starts, along) = ([(kind, Column::from_values(&near))], [(0, Direction::Out), (0, Direction::In)]);
        let within = || Which::Within { starts: &starts, along: &along, depth: 2, limit: 1_000 };
        assert_eq!(rows(reading.as_mut(), asked(Direction::Out, within())), all, "{name}: within reach");
        let reached = rows(reading.as_mut(), Case::nodes(within(), &[]));
        assert!(!reached.is_empty() && reached.iter().all(|row| keys.contains(&row[0])), "{name}: nodes within reach");
    }
}

/// Fails unless each node of the table `pair`, whose keys have two columns, is found by its key, and changed alone.
pub(crate) fn check_pairs(url: &str) {
    let definition =
        r#"{ "nodes": { "T": { "table": "pair", "key": ["a", "b"], "show-key": false, "properties": ["v"] } } }"#;
    let connector = connect(url, &GraphDefinition::from_json(definition).unwrap()).unwrap();
    connector.facts().unwrap();
    let all = rows(connector.read().unwrap().as_mut(), Case::nodes(Which::All, &[0]));
    for row in &all {
        let key = Column::from_values([&row[0]]);
        let found = rows(connector.read().unwrap().as_mut(), Case::nodes(Which::Keys(&key), &[0]));
        assert_eq!(found, std::slice::from_ref(row));
        let mut writing = connector.write().unwrap();
        let values = Column::from_values([&Value::Int(10 * number(&row[1]))]);
        writing.change(&Change::UpdateNodes { kind: 0, keys: &key, property: 0, values: &values }).unwrap();
        writing.commit().unwrap();
    }
    let changed = rows(connector.read().unwrap().as_mut(), Case::nodes(Which::All, &[0]));
    let expected: Vec<i64> = all.iter().map(|row| 10 * number(&row[1])).collect();
    assert_eq!(changed.iter().map(|row| number(&row[1])).collect::<Vec<_>>(), expected);
}

/// Fails unless the column `v` of the table `t`, which the database computes, is told to be read only.
pub(crate) fn check_computed(url: &str) {
    let definition = r#"{ "nodes": { "T": { "table": "t", "show-key": false, "properties": ["v"] } } }"#;
    let connector = connect(url, &GraphDefinition::from_json(definition).unwrap()).unwrap();
    let (keys, values) = (Column::from_values([&Value::Int(1)]), Column::from_values([&Value::Int(5)]));
    let change = Change::UpdateNodes { kind: 0, keys: &keys, property: 0, values: &values };
    let failure = connector.write().unwrap().change(&change).unwrap_err();
    let remedy = "change the columns that it is computed from";
    assert_eq!((failure.code(), failure.remedy()), (model::ErrorCode::ReadOnly, remedy), "{failure}");
}
