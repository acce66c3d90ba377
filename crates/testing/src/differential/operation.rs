//! Random transactions: every kind of write, on a graph that stays small enough to collide with itself.

use std::sync::Arc;

use model::temporal::Date;
use model::{LabelId, PropertyKind, PropertyType, Rule, Value};

use crate::random::SeededRandom;
use crate::scalars::random_scalar;

/// One transaction.
#[derive(Clone, Debug)]
pub struct RandomTransaction {
    /// Writes of the transaction, in order. Operations may fail; then they must change nothing.
    pub operations: Vec<Operation>,
    /// End of the transaction.
    pub ending: Ending,
}

/// End of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is committed.
    Commit,
    /// It is dropped, and leaves no trace.
    Drop,
}

/// The edge that is the `pick`th of those that start at a node, sorted by content and counted around.
pub type EdgePick = (i64, usize);

/// One call, or a few, on a transaction.
#[allow(missing_docs, reason = "the fields are what their names say")]
#[derive(Clone, Debug)]
pub enum Operation {
    /// Adds nodes: a `uid` and a row of values each.
    CreateNodes { labels: Vec<&'static str>, keys: Vec<&'static str>, rows: Vec<(i64, Vec<Value>)> },
    /// Adds edges between nodes given by `uid`; those whose ends are not there are left out.
    CreateEdges { edge_type: &'static str, keys: Vec<&'static str>, rows: Vec<(i64, i64, Vec<Value>)> },
    /// Sets a property of nodes.
    SetNodeProperties { key: &'static str, rows: Vec<(i64, Value)> },
    /// Sets a property of edges.
    SetEdgeProperties { key: &'static str, rows: Vec<(EdgePick, Value)> },
    /// Adds labels to nodes.
    AddLabels { nodes: Vec<i64>, labels: Vec<&'static str> },
    /// Takes labels from nodes.
    RemoveLabels { nodes: Vec<i64>, labels: Vec<&'static str> },
    /// Deletes edges.
    DeleteEdges { edges: Vec<EdgePick> },
    /// Deletes nodes; fails if one has edges.
    DeleteNodes { nodes: Vec<i64> },
    /// Deletes nodes after all their edges.
    DetachDeleteNodes { nodes: Vec<i64> },
    /// Adds a constraint or an index.
    CreateRule(&'static RuleSpec),
    /// Drops a constraint or an index.
    DropRule(&'static RuleSpec),
    /// Declares the sort key of a type; fails if it has one.
    SetSortKey { edge_type: &'static str, keys: Vec<&'static str> },
    /// Takes back the sort key of a type; fails if it has none.
    DropSortKey { edge_type: &'static str },
    /// Marks a point.
    Savepoint,
    /// Rolls back to the `back`-th mark before the latest, if there are as many.
    RollbackTo { back: usize },
    /// Compares the two transactions as they are now.
    Compare,
}

pub(super) const LABELS: [&str; 4] = ["Person", "City", "Robot", "ünusual label"];
const EDGE_TYPES: [&str; 3] = ["KNOWS", "LIVES_IN", "`quoted`"];
/// Keys of any value. `code` is left to [`code`], since constraints are on it.
const KEYS: [&str; 5] = ["name", "age", "mixed", "list", "rare"];

/// A constraint or an index, by names.
#[allow(missing_docs, reason = "the fields are what their names say")]
#[derive(Clone, Copy, Debug)]
pub struct RuleSpec {
    pub name: &'static str,
    pub on_edges: bool,
    pub subject: &'static str,
    pub keys: &'static [&'static str],
    /// `None` for an index. A label that it names is a place in [`LABELS`].
    pub rule: Option<Rule>,
}

const fn rule(name: &'static str, subject: &'static str, keys: &'static [&'static str], rule: Rule) -> RuleSpec {
    RuleSpec { name, on_edges: false, subject, keys, rule: Some(rule) }
}

const fn index(name: &'static str, on_edges: bool, subject: &'static str, keys: &'static [&'static str]) -> RuleSpec {
    RuleSpec { name, on_edges, subject, keys, rule: None }
}

const fn ends(name: &'static str, subject: &'static str, from: u32, to: u32) -> RuleSpec {
    let rule = Some(Rule::Ends { from: LabelId(from), to: LabelId(to) });
    RuleSpec { name, on_edges: true, subject, keys: &[], rule }
}

const STRING: Rule = Rule::Type(PropertyType::One(PropertyKind::String));
/// The property that must be there at the end of a transaction is the one that all nodes have: what commits is decided
/// before it is tried.
static RULES: [RuleSpec; 16] = [
    rule("person_code", "Person", &["code"], Rule::Unique),
    rule("city_code", "City", &["code"], Rule::Unique),
    rule("person_again", "Person", &["code"], Rule::Unique),
    rule("two_of_person", "Person", &["name", "mixed"], Rule::Unique),
    rule("city_name", "City", &["name"], STRING),
    RuleSpec { name: "known", on_edges: true, subject: "KNOWS", keys: &["rare", "name"], rule: Some(Rule::Unique) },
    index("person_mixed", false, "Person", &["mixed"]),
    index("person_age", false, "Person", &["age", "name"]),
    index("robot_list", false, "Robot", &["list"]),
    index("knows_mixed", true, "KNOWS", &["mixed"]),
    index("lives_age", true, "LIVES_IN", &["age", "rare"]),
    index("person_mixed", false, "City", &["mixed"]),
    ends("knows_person", "KNOWS", 0, 0),
    ends("knows_unusual", "KNOWS", 3, 2),
    rule("unusual_key", "ünusual label", &["uid"], Rule::Key),
    rule("robot_uid", "Robot", &["uid"], Rule::Exists),
];

/// Places in [`RULES`] of one constraint of each kind, of one over several properties, and of indexes of nodes and edges.
const ONE_OF_EACH: [usize; 8] = [0, 3, 4, 7, 9, 12, 14, 15];

/// Words of the statements of the rules that [`rules_of_each_kind`] makes: names, or what a rule without one is about.
pub fn words_of_each_kind() -> impl Iterator<Item = &'static str> {
    ONE_OF_EACH.iter().map(|&at| match RULES[at].rule {
        Some(Rule::Ends { .. }) => "(FROM ",
        _ => RULES[at].name,
    })
}

/// A transaction that makes a constraint of each kind, and indexes.
pub fn rules_of_each_kind() -> RandomTransaction {
    let operations = ONE_OF_EACH.iter().map(|&at| Operation::CreateRule(&RULES[at])).collect();
    RandomTransaction { operations, ending: Ending::Commit }
}

/// `count` transactions, the same for the same seed.
pub fn random_operations(seed: u64, count: usize) -> Vec<RandomTransaction> {
    let mut generator = Generator { random: SeededRandom::new(seed), next_uid: 0 };
    (0..count).map(|_| generator.transaction()).collect()
}

struct Generator {
    random: SeededRandom,
    /// Uids below were used, perhaps in vain.
    next_uid: i64,
}

impl Generator {
    fn transaction(&mut self) -> RandomTransaction {
        let count = 1 + self.random.index(12);
        let operations = (0..count).map(|_| self.operation()).collect();
        let ending = if self.random.chance(80) { Ending::Commit } else { Ending::Drop };
        RandomTransaction { operations, ending }
    }

    fn operation(&mut self) -> Operation {
        match self.random.below(100) {
            0..20 => self.create_nodes(),
            20..42 => self.create_edges(),
            42..52 => {
                let key = self.key();
                let rows = (0..self.rows()).map(|_| (self.uid(), self.value_of(key))).collect();
                Operation::SetNodeProperties { key, rows }
            }
            52..62 => {
                let key = self.key();
                let rows = (0..self.rows()).map(|_| (self.edge(), self.value_of(key))).collect();
                Operation::SetEdgeProperties { key, rows }
            }
            62..67 => Operation::AddLabels { nodes: self.uids(), labels: self.labels() },
            67..71 => Operation::RemoveLabels { nodes: self.uids(), labels: self.labels() },
            71..77 => Operation::DeleteEdges { edges: (0..self.rows()).map(|_| self.edge()).collect() },
            77..81 => Operation::DeleteNodes { nodes: self.uids() },
            81..85 => Operation::DetachDeleteNodes { nodes: self.uids() },
            85..88 => Operation::CreateRule(self.random.pick(&RULES)),
            88..89 => Operation::DropRule(self.random.pick(&RULES)),
            89 if self.random.chance(70) => {
                let mut keys = vec![self.key()];
                keys.extend(self.random.chance(50).then(|| self.key()));
                Operation::SetSortKey { edge_type: self.random.pick::<&str>(&EDGE_TYPES), keys }
            }
            89 => Operation::DropSortKey { edge_type: self.random.pick::<&str>(&EDGE_TYPES) },
            90..94 => Operation::Savepoint,
            94..97 => Operation::RollbackTo { back: self.random.index(2) },
            _ => Operation::Compare,
        }
    }

    fn create_nodes(&mut self) -> Operation {
        let keys = self.keys();
        let count = if self.random.chance(2) { 500 } else { self.rows() };
        let rows = (0..count).map(|_| {
            self.next_uid += 1;
            (self.next_uid - 1, keys.iter().map(|key| self.value_of(key)).collect())
        });
        let rows = rows.collect();
        Operation::CreateNodes { labels: self.labels(), keys, rows }
    }

    fn create_edges(&mut self) -> Operation {
        let keys = self.keys();
        let edge_type = *self.random.pick(&EDGE_TYPES);
        let hub = self.uid();
        let is_star = self.random.chance(20);
        let count = if self.random.chance(2) { 900 } else { self.rows() };
        let rows = (0..count).map(|_| {
            let source = if is_star { hub } else { self.uid() };
            let target = if self.random.chance(10) { source } else { self.uid() };
            (source, target, keys.iter().map(|key| self.value_of(key)).collect())
        });
        let rows = rows.collect();
        Operation::CreateEdges { edge_type, keys, rows }
    }

    /// A few rows, sometimes none, sometimes many.
    fn rows(&mut self) -> usize {
        if self.random.chance(10) { self.random.index(80) } else { self.random.index(6) }
    }

    fn uid(&mut self) -> i64 {
        self.random.below(self.next_uid.max(1) as u64) as i64
    }

    fn uids(&mut self) -> Vec<i64> {
        (0..self.rows()).map(|_| self.uid()).collect()
    }

    fn edge(&mut self) -> EdgePick {
        (self.uid(), self.random.index(5))
    }

    fn labels(&mut self) -> Vec<&'static str> {
        LABELS.into_iter().filter(|_| self.random.chance(35)).collect()
    }

    fn key(&mut self) -> &'static str {
        let index = self.random.index(KEYS.len());
        if self.random.chance(20) { "code" } else { KEYS[index] }
    }

    fn keys(&mut self) -> Vec<&'static str> {
        KEYS.into_iter().chain(["code"]).filter(|_| self.random.chance(40)).collect()
    }

    fn value_of(&mut self, key: &str) -> Value {
        if self.random.chance(15) {
            return Value::Null;
        }
        match key {
            "code" => self.code(),
            "name" => self.text(),
            "age" => Value::Int(self.random.below(100) as i64),
            "list" => Value::list((0..self.random.index(4)).map(|_| self.value()).filter(|x| !x.is_null()).collect()),
            _ => self.value(),
        }
    }

    /// Values of which a few are equal, also across types, so that constraints bite.
    fn code(&mut self) -> Value {
        let number = self.random.below(5_000) as i64;
        match self.random.below(4) {
            0 => Value::Float(number as f64),
            1 => Value::from(format!("code {number}")),
            _ => Value::Int(number),
        }
    }

    fn text(&mut self) -> Value {
        match self.random.below(20) {
            0 => Value::string(""),
            1 => Value::from("long text ".repeat(1 + self.random.index(600))),
            2 => Value::string("q'uo\"te\\ \n\t\0 ünï \u{1F980}"),
            _ => Value::from(format!("name {}", self.random.below(50))),
        }
    }

    fn value(&mut self) -> Value {
        let special_floats = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 3.0];
        let special_ints = [0, -1, 3, i64::MIN, i64::MAX, 1 << 53, 255, -129, 65_536];
        match self.random.below(9) {
            0 => Value::Bool(self.random.chance(50)),
            1 => Value::Int(*self.random.pick(&special_ints)),
            2 => Value::Float(*self.random.pick(&special_floats)),
            3 => self.text(),
            4 => Value::Bytes(Arc::from((0..self.random.index(20)).map(|x| x as u8).collect::<Vec<u8>>())),
            5 => Value::Date(Date(self.random.below(60_000) as i64 - 30_000)),
            6 => {
                let mut own = SeededRandom::new(self.random.next_u64());
                random_scalar(|| own.next_u64())
            }
            7 => Value::list(vec![Value::Int(1), Value::string("two"), Value::list(vec![Value::Float(3.0)])]),
            _ => Value::Int(self.random.below(10) as i64),
        }
    }
}
