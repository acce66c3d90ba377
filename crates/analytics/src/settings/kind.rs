//! The types of settings: each reads a value, and says in messages and in the reference what it takes.

use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::Arc;

use model::Set;
use model::error::Result;
use model::id::NodeId;
use model::value::Value;

use super::Given;

/// A type of values, with its bounds.
pub trait Kind: Copy + Debug + Sync + 'static {
    /// A value that was read.
    type Value;
    /// A default, as a row holds it; [`Infallible`] if no value could be one.
    type Constant: Copy + Debug + Sync + 'static;
    /// A default as a call would write it.
    fn text(self, constant: Self::Constant) -> String {
        format!("{constant:?}")
    }
    /// The type as messages name it.
    fn expected(self) -> &'static str;
    /// The type and its bounds, as the reference shows them.
    fn domain(self) -> String {
        self.expected().to_owned()
    }
    /// Reads a value; fails on one of another type or out of bounds.
    fn read(self, given: &Given<'_, '_>) -> Result<Self::Value>;
}

/// A string.
#[derive(Clone, Copy, Debug)]
pub struct Text;

impl Kind for Text {
    type Value = Arc<str>;
    type Constant = &'static str;

    fn text(self, constant: &'static str) -> String {
        format!("'{constant}'")
    }

    fn expected(self) -> &'static str {
        "STRING"
    }

    fn read(self, given: &Given<'_, '_>) -> Result<Arc<str>> {
        match given.value {
            Value::String(text) => Ok(text.clone()),
            other => Err(given.wrong_type(other, self.expected())),
        }
    }
}

/// One of several words, in any case.
#[derive(Clone, Copy, Debug)]
pub struct OneOf<T: 'static>(
    /// The words of each value; the first of them is the one that is shown.
    pub(crate) &'static [(&'static [&'static str], T)],
);

impl<T> OneOf<T> {
    /// The words that are shown, as a sentence lists them.
    fn listed(&self) -> String {
        let words: Vec<String> = self.0.iter().map(|(words, _)| format!("'{}'", words[0])).collect();
        match words.split_last() {
            Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => words.concat(),
        }
    }
}

impl<T: Copy + Debug + PartialEq + Sync + 'static> Kind for OneOf<T> {
    type Value = T;
    type Constant = T;

    fn text(self, constant: T) -> String {
        let words = self.0.iter().find(|(_, value)| *value == constant).map_or("", |(words, _)| words[0]);
        format!("'{words}'")
    }

    fn expected(self) -> &'static str {
        "STRING"
    }

    fn domain(self) -> String {
        format!("STRING: {}", self.listed())
    }

    fn read(self, given: &Given<'_, '_>) -> Result<T> {
        let Value::String(text) = given.value else {
            return Err(given.wrong_type(given.value, self.expected()));
        };
        let is_it = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        match self.0.iter().find(|(words, _)| is_it(words)) {
            Some((_, value)) => Ok(*value),
            None => Err(given.refuse(&format!("is '{text}', expected {}", self.listed()))),
        }
    }
}

/// Names of one sort, as labels: one or a list of them. `None` for all, which is written `'*'`.
#[derive(Clone, Copy, Debug)]
pub struct Names;

impl Kind for Names {
    type Value = Option<Vec<Arc<str>>>;
    type Constant = Infallible;

    fn expected(self) -> &'static str {
        "STRING or LIST OF STRING"
    }

    fn read(self, given: &Given<'_, '_>) -> Result<Option<Vec<Arc<str>>>> {
        let items = given.items();
        let text = |item: &Value| match item {
            Value::String(text) => Ok(text.clone()),
            other => Err(given.wrong_type(other, self.expected())),
        };
        let texts: Vec<Arc<str>> = items.iter().map(text).collect::<Result<_>>()?;
        if texts.is_empty() {
            return Err(given.refuse("is an empty list, which leaves nothing; leave it out for all"));
        }
        Ok(if texts.iter().any(|text| &**text == "*") { None } else { Some(texts) })
    }
}

/// An integer of at least this.
#[derive(Clone, Copy, Debug)]
pub struct Integer(pub(crate) i64);

impl Kind for Integer {
    type Value = u64;
    type Constant = u64;

    fn expected(self) -> &'static str {
        "INTEGER"
    }

    fn domain(self) -> String {
        format!("INTEGER of at least {}", self.0)
    }

    fn read(self, given: &Given<'_, '_>) -> Result<u64> {
        match given.value {
            Value::Int(x) if *x >= self.0 => Ok(x.cast_unsigned()),
            Value::Int(x) => Err(given.refuse(&format!("is {x}, expected an integer of at least {}", self.0))),
            other => Err(given.wrong_type(other, self.expected())),
        }
    }
}

/// The seed of random numbers: any integer.
#[derive(Clone, Copy, Debug)]
pub struct Seed;

impl Kind for Seed {
    type Value = u64;
    type Constant = u64;

    fn expected(self) -> &'static str {
        "INTEGER"
    }

    fn read(self, given: &Given<'_, '_>) -> Result<u64> {
        match given.value {
            Value::Int(x) => Ok(x.cast_unsigned()),
            other => Err(given.wrong_type(other, self.expected())),
        }
    }
}

/// A number between two finite bounds, both included.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Number {
    /// Any finite number that is not negative.
    pub(crate) const POSITIVE: Number = Number { least: 0.0, most: f64::MAX };
    /// A part of a whole.
    pub(crate) const PART: Number = Number { least: 0.0, most: 1.0 };

    fn bounds(self) -> String {
        let is_plain = |number: f64| number == 0.0 || (1e-4..1e15).contains(&number);
        let text = |number: f64| if is_plain(number) { number.to_string() } else { format!("{number:e}") };
        match self.most {
            f64::MAX => format!("of at least {}", text(self.least)),
            most => format!("from {} to {}", text(self.least), text(most)),
        }
    }
}

impl Kind for Number {
    type Value = f64;
    type Constant = f64;

    fn expected(self) -> &'static str {
        "a number"
    }

    fn domain(self) -> String {
        format!("FLOAT {}", self.bounds())
    }

    fn read(self, given: &Given<'_, '_>) -> Result<f64> {
        let number = match given.value {
            Value::Int(x) => *x as f64,
            Value::Float(x) => *x,
            other => return Err(given.wrong_type(other, self.expected())),
        };
        if (self.least..=self.most).contains(&number) {
            return Ok(number);
        }
        let finite = if self.most == f64::MAX { "finite " } else { "" };
        Err(given.refuse(&format!("is {number}, expected a {finite}number {}", self.bounds())))
    }
}

/// A list of numbers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers;

impl Kind for Numbers {
    type Value = Vec<f64>;
    type Constant = Infallible;

    fn expected(self) -> &'static str {
        "LIST OF FLOAT"
    }

    fn read(self, given: &Given<'_, '_>) -> Result<Vec<f64>> {
        let Value::List(items) = given.value else {
            return Err(given.wrong_type(given.value, self.expected()));
        };
        let number = |item: &Value| match item {
            Value::Int(x) => Ok(*x as f64),
            Value::Float(x) => Ok(*x),
            other => Err(given.wrong_type(other, self.expected())),
        };
        items.iter().map(number).collect()
    }
}

/// True or false.
#[derive(Clone, Copy, Debug)]
pub struct Flag;

impl Kind for Flag {
    type Value = bool;
    type Constant = bool;

    fn expected(self) -> &'static str {
        "BOOLEAN"
    }

    fn read(self, given: &Given<'_, '_>) -> Result<bool> {
        match given.value {
            Value::Bool(flag) => Ok(*flag),
            other => Err(given.wrong_type(other, self.expected())),
        }
    }
}

/// A node of the graph, given as a node or by its id.
#[derive(Clone, Copy, Debug)]
pub struct Node;

impl Kind for Node {
    type Value = NodeId;
    type Constant = Infallible;

    fn expected(self) -> &'static str {
        "NODE or INTEGER (a node id)"
    }

    fn domain(self) -> String {
        "NODE or its id".to_owned()
    }

    fn read(self, given: &Given<'_, '_>) -> Result<NodeId> {
        let node = node_of(given.value).ok_or_else(|| given.wrong_type(given.value, self.expected()))?;
        given.require_nodes(&[node])?;
        Ok(node)
    }
}

/// Nodes of the graph, each once, in the order of their first mention.
#[derive(Clone, Copy, Debug)]
pub struct Nodes;

impl Kind for Nodes {
    type Value = Vec<NodeId>;
    type Constant = Infallible;

    fn expected(self) -> &'static str {
        "NODE, INTEGER (a node id) or LIST of these"
    }

    fn domain(self) -> String {
        "NODE, its id, or a LIST of these".to_owned()
    }

    fn read(self, given: &Given<'_, '_>) -> Result<Vec<NodeId>> {
        let items = given.items();
        if items.is_empty() {
            return Err(given.refuse("is an empty list, leave it out for all nodes"));
        }
        let (mut nodes, mut known) = (Vec::with_capacity(items.len()), Set::default());
        for item in items {
            let node = node_of(item).ok_or_else(|| given.wrong_type(item, self.expected()))?;
            if known.insert(node) {
                nodes.push(node);
            }
        }
        given.require_nodes(&nodes)?;
        Ok(nodes)
    }
}

/// The node that a value stands for: itself, or its id.
fn node_of(value: &Value) -> Option<NodeId> {
    match value {
        Value::Node(node) => Some(*node),
        Value::Int(id) if *id >= 0 => Some(NodeId(id.cast_unsigned())),
        _ => None,
    }
}
