//! The kit's notation of values, and database values in the same form, so that the two can be compared.
//!
//! Both sides become one canonical text: labels and keys in order, floats as Rust prints them.

use std::sync::Arc;

use database::result::{EdgeRecord, NodeRecord};
use database::{Entities, Value};
use model::value::PathValue;

/// Treatment of the order of the elements of a list: it counts or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListOrder {
    Kept,
    Ignored,
}

/// A value as the kit writes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Notation {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    String(String),
    List(Vec<Notation>),
    Map(Vec<(String, Notation)>),
    Node {
        labels: Vec<String>,
        properties: Vec<(String, Notation)>,
    },
    Edge {
        edge_type: String,
        properties: Vec<(String, Notation)>,
    },
    /// Nodes, and between two of them an edge with whether it is followed from source to target.
    Path {
        nodes: Vec<Notation>,
        edges: Vec<(Notation, bool)>,
    },
}

impl Notation {
    /// A text that is the same for values that are the same.
    pub(crate) fn canonical(&self, order: ListOrder) -> String {
        match self {
            Notation::Null => "null".into(),
            Notation::Bool(value) => value.to_string(),
            Notation::Int(value) => value.to_string(),
            // Adding zero makes minus zero zero.
            Notation::Float(value) => format!("{:?}", value + 0.0),
            Notation::String(value) => format!("{value:?}"),
            Notation::List(items) => {
                let mut items: Vec<String> = items.iter().map(|item| item.canonical(order)).collect();
                if order == ListOrder::Ignored {
                    items.sort();
                }
                format!("[{}]", items.join(", "))
            }
            Notation::Map(entries) => entries_text(entries, order),
            Notation::Node { labels, properties } => {
                let mut labels: Vec<String> = labels.iter().map(|label| format!(":{label}")).collect();
                labels.sort();
                format!("({} {})", labels.concat(), entries_text(properties, order))
            }
            Notation::Edge { edge_type, properties } => format!("[:{edge_type} {}]", entries_text(properties, order)),
            Notation::Path { nodes, edges } => {
                let mut text = nodes[0].canonical(order);
                for ((edge, forward), node) in edges.iter().zip(&nodes[1..]) {
                    let (left, right) = if *forward { ("-", "->") } else { ("<-", "-") };
                    text += &format!("{left}{}{right}{}", edge.canonical(order), node.canonical(order));
                }
                format!("<{text}>")
            }
        }
    }

    /// A value of the database, with what its nodes and edges are. Values that the notation has no form for are
    /// compared by their text.
    pub(crate) fn of(value: &Value, entities: &Entities) -> Notation {
        match value {
            Value::Null => Notation::Null,
            Value::Bool(value) => Notation::Bool(*value),
            Value::Int(value) => Notation::Int(*value),
            Value::Float(value) => Notation::Float(*value),
            Value::String(value) => Notation::String(value.to_string()),
            Value::List(items) => Notation::List(items.iter().map(|item| Notation::of(item, entities)).collect()),
            Value::Map(map) => {
                let entry = |(key, value): (&Arc<str>, &Value)| (key.to_string(), Notation::of(value, entities));
                Notation::Map(map.iter().map(entry).collect())
            }
            Value::Node(node) => node_of(&entities.nodes[node]),
            Value::Edge(edge) => edge_of(&entities.edges[&edge.id]),
            Value::Path(path) => path_of(path, entities),
            other => Notation::String(other.to_string()),
        }
    }

    /// The value as a parameter.
    pub(crate) fn into_value(self) -> Result<Value, String> {
        Ok(match self {
            Notation::Null => Value::Null,
            Notation::Bool(value) => Value::Bool(value),
            Notation::Int(value) => Value::Int(value),
            Notation::Float(value) => Value::Float(value),
            Notation::String(value) => Value::from(value),
            Notation::List(items) => {
                Value::list(items.into_iter().map(Notation::into_value).collect::<Result<_, _>>()?)
            }
            Notation::Map(entries) => {
                let entries = entries.into_iter().map(|(key, value)| Ok((Arc::from(key), value.into_value()?)));
                Value::map(entries.collect::<Result<Vec<_>, String>>()?)
            }
            other => return Err(format!("{other:?} cannot be a parameter")),
        })
    }
}

fn entries_text(entries: &[(String, Notation)], order: ListOrder) -> String {
    let mut texts: Vec<String> =
        entries.iter().map(|(key, value)| format!("{key}: {}", value.canonical(order))).collect();
    texts.sort();
    format!("{{{}}}", texts.join(", "))
}

fn named(properties: &[(Arc<str>, Value)]) -> Vec<(String, Notation)> {
    properties.iter().map(|(key, value)| (key.to_string(), Notation::of(value, &Entities::default()))).collect()
}

fn node_of(record: &NodeRecord) -> Notation {
    let labels = record.labels.iter().map(|label| label.to_string()).collect();
    Notation::Node { labels, properties: named(&record.properties) }
}

fn edge_of(record: &EdgeRecord) -> Notation {
    Notation::Edge { edge_type: record.edge_type.to_string(), properties: named(&record.properties) }
}

fn path_of(path: &PathValue, entities: &Entities) -> Notation {
    let nodes = path.nodes.iter().map(|node| node_of(&entities.nodes[node])).collect();
    let steps = path.edges.iter().zip(&path.nodes);
    let edges = steps.map(|(edge, from)| (edge_of(&entities.edges[&edge.id]), edge.source == *from)).collect();
    Notation::Path { nodes, edges }
}

/// Reads a value.
pub(crate) fn parse(text: &str) -> Result<Notation, String> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value()?;
    reader.space();
    if reader.rest().is_empty() { Ok(value) } else { reader.refuse("the end") }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn refuse<T>(&self, expected: &str) -> Result<T, String> {
        Err(format!("expected {expected} at byte {} of the value {}", self.at, self.text))
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn is(&mut self, mark: &str) -> bool {
        self.space();
        self.rest().starts_with(mark)
    }

    fn take(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    fn expect(&mut self, mark: &str) -> Result<(), String> {
        if self.take(mark) { Ok(()) } else { self.refuse(mark) }
    }

    /// The characters from here on that pass.
    fn run(&mut self, passes: impl Fn(char) -> bool) -> &'a str {
        self.space();
        let rest = self.rest();
        let length = rest.find(|character| !passes(character)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn name(&mut self) -> Result<String, String> {
        if self.take("`") {
            let name = self.run(|character| character != '`').to_string();
            self.expect("`")?;
            return Ok(name);
        }
        let name = self.run(|character| character.is_alphanumeric() || character == '_');
        if name.is_empty() { self.refuse("a name") } else { Ok(name.to_string()) }
    }

    fn value(&mut self) -> Result<Notation, String> {
        self.space();
        match self.rest().chars().next() {
            Some('<') => self.path(),
            Some('(') => self.node(),
            Some('[') if self.rest()[1..].trim_start().starts_with(':') => self.edge(),
            Some('[') => self.list(),
            Some('{') => self.entries().map(Notation::Map),
            Some(quote @ ('\'' | '"')) => self.string(quote).map(Notation::String),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Notation, String> {
        let word = self.run(|character| character.is_alphanumeric() || matches!(character, '+' | '-' | '.' | '_'));
        match word {
            "null" => return Ok(Notation::Null),
            "true" | "false" => return Ok(Notation::Bool(word == "true")),
            _ => {}
        }
        if let Ok(value) = word.parse::<i64>() {
            return Ok(Notation::Int(value));
        }
        // Rust knows Inf, Infinity and NaN.
        word.parse::<f64>().map(Notation::Float).or_else(|_| self.refuse("a value"))
    }

    fn string(&mut self, quote: char) -> Result<String, String> {
        self.at += 1;
        let mut value = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((index, character)) = characters.next() {
            match character {
                _ if character == quote => {
                    self.at += index + 1;
                    return Ok(value);
                }
                '\\' => match characters.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, escaped)) => value.push(escaped),
                    None => break,
                },
                other => value.push(other),
            }
        }
        self.refuse("the end of the text")
    }

    fn list(&mut self) -> Result<Notation, String> {
        self.expect("[")?;
        let mut items = Vec::new();
        if self.take("]") {
            return Ok(Notation::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.take("]") {
                return Ok(Notation::List(items));
            }
            self.expect(",")?;
        }
    }

    fn entries(&mut self) -> Result<Vec<(String, Notation)>, String> {
        self.expect("{")?;
        let mut entries = Vec::new();
        if self.take("}") {
            return Ok(entries);
        }
        loop {
            let key = self.name()?;
            self.expect(":")?;
            entries.push((key, self.value()?));
            if self.take("}") {
                return Ok(entries);
            }
            self.expect(",")?;
        }
    }

    fn properties(&mut self) -> Result<Vec<(String, Notation)>, String> {
        if self.is("{") { self.entries() } else { Ok(Vec::new()) }
    }

    fn node(&mut self) -> Result<Notation, String> {
        self.expect("(")?;
        let mut labels = Vec::new();
        while self.take(":") {
            labels.push(self.name()?);
        }
        let properties = self.properties()?;
        self.expect(")")?;
        Ok(Notation::Node { labels, properties })
    }

    fn edge(&mut self) -> Result<Notation, String> {
        self.expect("[")?;
        self.expect(":")?;
        let edge_type = self.name()?;
        let properties = self.properties()?;
        self.expect("]")?;
        Ok(Notation::Edge { edge_type, properties })
    }

    fn path(&mut self) -> Result<Notation, String> {
        self.expect("<")?;
        let mut nodes = vec![self.node()?];
        let mut edges = Vec::new();
        while !self.take(">") {
            let forward = !self.take("<-");
            if forward {
                self.expect("-")?;
            }
            edges.push((self.edge()?, forward));
            self.expect(if forward { "->" } else { "-" })?;
            nodes.push(self.node()?);
        }
        Ok(Notation::Path { nodes, edges })
    }
}

#[test]
fn values_are_read_and_compared() {
    let canonical = |text: &str| parse(text).map(|value| value.canonical(ListOrder::Kept));
    for (text, expected) in [
        ("null", "null"),
        ("-3", "-3"),
        ("-0.0", "0.0"),
        ("1e2", "100.0"),
        ("-Inf", "-inf"),
        ("'it\\'s'", "\"it's\""),
        ("[1, [true], {b: 2, a: 'x'}]", "[1, [true], {a: \"x\", b: 2}]"),
        ("(:B:A {n: 1})", "(:A:B {n: 1})"),
        ("[:T {n: 1}]", "[:T {n: 1}]"),
        ("<(:A)<-[:T]-({n: 1})-[:S]->()>", "<(:A {})<-[:T {}]-( {n: 1})-[:S {}]->( {})>"),
    ] {
        assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
    }
    let ignored = |text: &str| parse(text).expect("a value").canonical(ListOrder::Ignored);
    assert_eq!(ignored("[[2, 1], 0]"), ignored("[0, [1, 2]]"));
    for wrong in ["", "[1", "{a}", "x", "1 2", "'a", "<(:A)-[:T]-()>"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}
