//! The names a store knows, each with its id, the constraints it holds and the indexes it keeps.

use std::fmt;
use std::sync::Arc;

use crate::Map;
use crate::column::{Column, ColumnData};
use crate::error;
use crate::error::Result;
use crate::id::{EdgeTypeId, LabelId, PropertyKeyId};
use crate::value::Value;
use crate::value::fixed::FixedKind;

/// Names numbered in order of first use.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<Arc<str>>,
    numbers: Map<Arc<str>, u32>,
}

impl Names {
    /// The number of a name, if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The number of a name, given now if it is new.
    pub fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find(name) {
            return number;
        }
        let number = self.names.len() as u32;
        let name: Arc<str> = Arc::from(name);
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    /// The name with that number.
    pub fn name(&self, number: u32) -> Option<&Arc<str>> {
        self.names.get(number as usize)
    }

    /// All names, in order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.names.iter()
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True without names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The nodes or edges that a constraint or an index is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// The nodes that carry a label.
    Label(LabelId),
    /// The edges of a type.
    EdgeType(EdgeTypeId),
}

/// The order in which a store keeps the edges of a type: those of one node by these properties, one after the other,
/// ascending in the order of `ORDER BY`, nulls last. It changes no answer, only what is fast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The type.
    pub edge_type: EdgeTypeId,
    /// The properties, at least one.
    pub keys: Vec<PropertyKeyId>,
}

/// Requirement of a constraint on the properties it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// No two have the same values; where one of them is null, nothing is demanded.
    Unique,
    /// All of them are there, and no two have the same values.
    Key,
    /// All of them are there.
    Exists,
    /// The value, if there is one, is of this type.
    Type(PropertyType),
    /// Edges of the type are declared to lead from nodes of one label to nodes of another. It names no property, and is
    /// told to those who load edges without saying what they join; no write is refused for it.
    Ends {
        /// Label of the nodes where the edges start.
        from: LabelId,
        /// Label of the nodes where they end.
        to: LabelId,
    },
}

impl Rule {
    /// The labels that the rule names, to be given other numbers.
    pub fn labels_mut(&mut self) -> impl Iterator<Item = &mut LabelId> {
        let labels = match self {
            Rule::Ends { from, to } => [Some(from), Some(to)],
            Rule::Unique | Rule::Key | Rule::Exists | Rule::Type(_) => [None, None],
        };
        labels.into_iter().flatten()
    }
}

/// The types a constraint may demand of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyType {
    /// One value of that kind.
    One(PropertyKind),
    /// A list of values of that kind.
    List(PropertyKind),
}

/// The kinds of single values a property can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyKind {
    /// True or false.
    Boolean,
    /// A 64-bit integer.
    Integer,
    /// A 64-bit float.
    Float,
    /// A text.
    String,
    /// A date.
    Date,
    /// A local date-time.
    LocalDateTime,
    /// A time of day without a zone.
    LocalTime,
    /// A time of day with an offset.
    Time,
    /// A date-time with a zone.
    DateTime,
    /// A duration.
    Duration,
    /// A universally unique identifier.
    Uuid,
    /// A point.
    Point,
}

impl PropertyKind {
    /// Every kind; its place here is its number in files.
    pub const ALL: [PropertyKind; 12] = [
        PropertyKind::Boolean,
        PropertyKind::Integer,
        PropertyKind::Float,
        PropertyKind::String,
        PropertyKind::Date,
        PropertyKind::LocalDateTime,
        PropertyKind::LocalTime,
        PropertyKind::Time,
        PropertyKind::DateTime,
        PropertyKind::Duration,
        PropertyKind::Uuid,
        PropertyKind::Point,
    ];

    /// Its name in Cypher.
    pub fn name(self) -> &'static str {
        self.fixed().and_then(FixedKind::name).unwrap_or("STRING")
    }

    /// The kind of a fixed size that it is; `None` for strings.
    pub fn fixed(self) -> Option<FixedKind> {
        Some(match self {
            PropertyKind::Boolean => FixedKind::Bool,
            PropertyKind::Integer => FixedKind::Int,
            PropertyKind::Float => FixedKind::Float,
            PropertyKind::String => return None,
            PropertyKind::Date => FixedKind::Date,
            PropertyKind::LocalDateTime => FixedKind::LocalDateTime,
            PropertyKind::LocalTime => FixedKind::LocalTime,
            PropertyKind::Time => FixedKind::Time,
            PropertyKind::DateTime => FixedKind::DateTime,
            PropertyKind::Duration => FixedKind::Duration,
            PropertyKind::Uuid => FixedKind::Uuid,
            PropertyKind::Point => FixedKind::Point,
        })
    }

    /// True if a value is of this kind.
    pub fn holds(self, value: &Value) -> bool {
        match self.fixed() {
            Some(kind) => FixedKind::of_value(value) == Some(kind),
            None => matches!(value, Value::String(_)),
        }
    }
}

impl PropertyType {
    /// The type of a name, as it displays.
    pub fn of_name(name: &str) -> Option<PropertyType> {
        let all = PropertyKind::ALL.into_iter().flat_map(|kind| [PropertyType::One(kind), PropertyType::List(kind)]);
        all.into_iter().find(|held| held.to_string() == name)
    }

    /// True if a value is of this type.
    pub fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (PropertyType::One(kind), value) => kind.holds(value),
            (PropertyType::List(kind), Value::List(items)) => items.iter().all(|item| kind.holds(item)),
            (PropertyType::List(_), _) => false,
        }
    }

    /// True if all values of a column are of this type, nulls aside.
    pub fn holds_all(self, column: &Column) -> bool {
        let mut present = (0..column.len()).filter(|&row| !column.is_null(row));
        match &column.data {
            ColumnData::Null(_) => true,
            ColumnData::Value(_) => present.all(|row| self.holds(&column.value(row))),
            // Others hold values of one kind.
            _ => present.next().is_none_or(|row| self.holds(&column.value(row))),
        }
    }
}

impl fmt::Display for PropertyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PropertyType::One(kind) => f.write_str(kind.name()),
            PropertyType::List(kind) => write!(f, "LIST<{} NOT NULL>", kind.name()),
        }
    }
}

/// A rule about nodes or edges that the store keeps.
///
/// Unique values and types are enforced by each write; that properties are there, when the transaction commits. What edges
/// join ([`Rule::Ends`]) is not enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The name by which it is dropped. Constraints and indexes share one space of names.
    pub name: Arc<str>,
    /// The nodes or edges it is about.
    pub subject: Subject,
    /// The properties it is about: one, or several for `Unique` and `Key`, or none for `Ends`.
    pub keys: Vec<PropertyKeyId>,
    /// The requirement.
    pub rule: Rule,
}

impl Constraint {
    /// No two nodes of the label have equal values of the property; nulls do not count.
    pub fn unique(name: impl Into<Arc<str>>, label: LabelId, key: PropertyKeyId) -> Constraint {
        Constraint { name: name.into(), subject: Subject::Label(label), keys: vec![key], rule: Rule::Unique }
    }

    /// Edges of a type lead from nodes of one label to nodes of another.
    pub fn ends(name: impl Into<Arc<str>>, edge_type: EdgeTypeId, from: LabelId, to: LabelId) -> Constraint {
        let (subject, rule) = (Subject::EdgeType(edge_type), Rule::Ends { from, to });
        Constraint { name: name.into(), subject, keys: Vec::new(), rule }
    }

    /// The label and the one property by which the store can look nodes up under this constraint, with a hash index.
    /// Other constraints on values are kept by an ordered index of the constraint's name.
    pub fn lookup_key(&self) -> Option<(LabelId, PropertyKeyId)> {
        match (self.subject, self.keys.as_slice()) {
            (Subject::Label(label), &[key]) if self.is_unique() => Some((label, key)),
            _ => None,
        }
    }

    /// True if no two may have the same values.
    pub fn is_unique(&self) -> bool {
        matches!(self.rule, Rule::Unique | Rule::Key)
    }

    /// True if the properties must be there.
    pub fn is_mandatory(&self) -> bool {
        matches!(self.rule, Rule::Exists | Rule::Key)
    }

    /// The ordered index that keeps the constraint's values, if it is of that kind.
    pub fn index(&self) -> Option<Index> {
        let is_ordered = self.is_unique() && self.lookup_key().is_none();
        is_ordered.then(|| Index { name: self.name.clone(), subject: self.subject, keys: self.keys.clone() })
    }
}

/// An ordered index: the nodes of a label, or the edges of a type, in the order of their values of some properties.
/// Only those that have all of the properties are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The name by which it is dropped; that of a constraint if it was made for one.
    pub name: Arc<str>,
    /// The nodes or edges in it.
    pub subject: Subject,
    /// By which properties it is ordered, the first first; at least one, each once.
    pub keys: Vec<PropertyKeyId>,
}

/// The names, constraints and indexes of one store at one moment.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Node labels.
    pub labels: Names,
    /// Edge types.
    pub edge_types: Names,
    /// Property keys of nodes and edges.
    pub property_keys: Names,
    /// The rules that the store enforces.
    pub constraints: Vec<Constraint>,
    /// Sort keys, at most one for a type.
    pub sort_keys: Vec<SortKey>,
    /// The ordered indexes, those made for constraints included.
    pub indexes: Vec<Index>,
    /// Properties by whose values the store finds nodes though no index of that kind is declared: [`ReadView::index_scan`]
    /// answers for them as for an index, and [`ReadView::takes`] takes conditions on them. None of them is in `indexes`.
    ///
    /// [`ReadView::index_scan`]: crate::ReadView::index_scan
    /// [`ReadView::takes`]: crate::ReadView::takes
    pub searchable: Vec<Index>,
    /// Labels whose nodes all lie in a store that answers [`ReadView::query_pattern`], ascending.
    ///
    /// [`ReadView::query_pattern`]: crate::ReadView::query_pattern
    pub matched: Vec<LabelId>,
}

impl Schema {
    /// The id of a label.
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.labels.find(name).map(LabelId)
    }

    /// The id of an edge type.
    pub fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.edge_types.find(name).map(EdgeTypeId)
    }

    /// The id of a property key.
    pub fn property_key(&self, name: &str) -> Option<PropertyKeyId> {
        self.property_keys.find(name).map(PropertyKeyId)
    }

    /// The name of a label; empty if the id is not of this schema.
    pub fn label_name(&self, id: LabelId) -> &str {
        self.labels.name(id.0).map_or("", |name| name)
    }

    /// The name of an edge type; empty if the id is not of this schema.
    pub fn edge_type_name(&self, id: EdgeTypeId) -> &str {
        self.edge_types.name(id.0).map_or("", |name| name)
    }

    /// The name of a property key; empty if the id is not of this schema.
    pub fn property_key_name(&self, id: PropertyKeyId) -> &str {
        self.property_keys.name(id.0).map_or("", |name| name)
    }

    /// The constraint by which the store can look nodes of that label up by that key, if there is one.
    pub fn unique(&self, label: LabelId, key: PropertyKeyId) -> Option<&Constraint> {
        self.constraints.iter().find(|constraint| constraint.lookup_key() == Some((label, key)))
    }

    /// Name of a label or edge type.
    pub fn subject_name(&self, subject: Subject) -> &str {
        match subject {
            Subject::Label(label) => self.label_name(label),
            Subject::EdgeType(edge_type) => self.edge_type_name(edge_type),
        }
    }

    /// The constraint for which an index was made, if it was made for one.
    pub fn owner(&self, index: &Index) -> Option<&Constraint> {
        self.constraints.iter().find(|constraint| constraint.name == index.name)
    }

    /// True if the name of a constraint or an index is in use.
    pub fn is_rule_name(&self, name: &str) -> bool {
        self.constraints.iter().any(|constraint| &*constraint.name == name)
            || self.indexes.iter().any(|index| &*index.name == name)
    }

    /// Fails with `SCHEMA` if a constraint cannot be made because of those that are there, or has no meaning.
    pub fn check_constraint(&self, new: &Constraint) -> Result<()> {
        let name = &new.name;
        self.check_name(name)?;
        match (new.rule, new.subject, &new.keys[..]) {
            (Rule::Ends { .. }, Subject::EdgeType(_), []) => {}
            (Rule::Ends { .. }, ..) => {
                return Err(error!(SchemaRule, "constraint {name}: labels of ends are those of an edge type alone"));
            }
            (Rule::Exists | Rule::Type(_), _, [_, _, ..]) => {
                return Err(error!(SchemaRule, "constraint {name}: only one property can be named here"));
            }
            (_, _, keys) => check_keys(name, keys)?,
        }
        let says_same = |held: &&Constraint| {
            let same_rule = held.rule == new.rule || held.is_unique() && new.is_unique();
            held.subject == new.subject && held.keys == new.keys && same_rule
        };
        if let Some(other) = self.constraints.iter().find(says_same) {
            return Err(error!(SchemaRule, "constraint {} already says the same", other.name));
        }
        match new.index() {
            Some(index) => self.check_same_index(&index),
            None => Ok(()),
        }
    }

    /// Fails with `SCHEMA` if an index cannot be made because of those that are there, or has no meaning.
    pub fn check_index(&self, new: &Index) -> Result<()> {
        self.check_name(&new.name)?;
        check_keys(&new.name, &new.keys)?;
        self.check_same_index(new)
    }

    /// The place of an index that may be dropped; fails with `SCHEMA` if there is none, or a constraint needs it.
    pub fn check_drop_index(&self, name: &str) -> Result<usize> {
        if self.constraints.iter().any(|constraint| &*constraint.name == name) {
            return Err(error!(SchemaRule, "index {name} belongs to the constraint {name}")
                .with_remedy("drop the constraint instead"));
        }
        let at = self.indexes.iter().position(|index| &*index.name == name);
        at.ok_or_else(|| error!(SchemaRule, "no index is named {name}"))
    }

    fn check_same_index(&self, new: &Index) -> Result<()> {
        let same = |held: &&Index| held.subject == new.subject && held.keys == new.keys;
        match self.indexes.iter().find(same) {
            Some(other) => Err(error!(SchemaRule, "index {} already has the same properties", other.name)),
            None => Ok(()),
        }
    }

    fn check_name(&self, name: &str) -> Result<()> {
        if self.constraints.iter().any(|held| &*held.name == name) {
            return Err(error!(SchemaRule, "constraint {name} already exists"));
        }
        if self.indexes.iter().any(|held| &*held.name == name) {
            return Err(error!(SchemaRule, "index {name} already exists"));
        }
        Ok(())
    }

    /// The Cypher statement that makes a constraint, if those before it are there.
    pub fn constraint_statement(&self, constraint: &Constraint) -> String {
        let (pattern, variable) = self.pattern(constraint.subject);
        let rule = match (constraint.rule, constraint.subject) {
            (Rule::Ends { from, to }, subject) => {
                let [name, from, to] =
                    [self.subject_name(subject), self.label_name(from), self.label_name(to)].map(quoted);
                let is_ends = |held: &&Constraint| held.subject == subject && matches!(held.rule, Rule::Ends { .. });
                let first = self.constraints.iter().find(is_ends);
                return match first {
                    Some(first) if first.name != constraint.name => {
                        format!("ALTER TABLE {name} ADD FROM {from} TO {to}")
                    }
                    _ => format!("CREATE REL TABLE {name} (FROM {from} TO {to})"),
                };
            }
            (Rule::Unique, _) => "UNIQUE".to_owned(),
            (Rule::Key, Subject::Label(_)) => "NODE KEY".to_owned(),
            (Rule::Key, Subject::EdgeType(_)) => "RELATIONSHIP KEY".to_owned(),
            (Rule::Exists, _) => "NOT NULL".to_owned(),
            (Rule::Type(of), _) => format!(":: {of}"),
        };
        let keys = self.key_list(variable, &constraint.keys);
        let keys = if constraint.keys.len() == 1 { keys } else { format!("({keys})") };
        format!("CREATE CONSTRAINT {} FOR {pattern} REQUIRE {keys} IS {rule}", quoted(&constraint.name))
    }

    /// The Cypher statement that makes an index.
    pub fn index_statement(&self, index: &Index) -> String {
        let (pattern, variable) = self.pattern(index.subject);
        let keys = self.key_list(variable, &index.keys);
        format!("CREATE INDEX {} FOR {pattern} ON ({keys})", quoted(&index.name))
    }

    fn pattern(&self, subject: Subject) -> (String, &'static str) {
        let name = quoted(self.subject_name(subject));
        match subject {
            Subject::Label(_) => (format!("(n:{name})"), "n"),
            Subject::EdgeType(_) => (format!("()-[r:{name}]-()"), "r"),
        }
    }

    fn key_list(&self, variable: &str, keys: &[PropertyKeyId]) -> String {
        let keys = keys.iter().map(|&key| format!("{variable}.{}", quoted(self.property_key_name(key))));
        keys.collect::<Vec<_>>().join(", ")
    }

    /// The pairs of labels that the edges of a type are declared to join, the first declared first.
    pub fn ends(&self, edge_type: EdgeTypeId) -> impl Iterator<Item = (LabelId, LabelId)> {
        let of_type = self.constraints.iter().filter(move |held| held.subject == Subject::EdgeType(edge_type));
        of_type.filter_map(|held| match held.rule {
            Rule::Ends { from, to } => Some((from, to)),
            _ => None,
        })
    }

    /// True if a name of which no more is said means edges: it is declared to, or it is that of a type and of no label.
    pub fn means_edges(&self, name: &str) -> bool {
        self.edge_type(name).is_some_and(|of| self.label(name).is_none() || self.ends(of).next().is_some())
    }

    /// Labels that edges of a type join, if their ends are named in part or not at all: the one declared pair that
    /// fits, or `None` if nothing is declared of the type. Fails with `ARGUMENT`, naming the pairs, if none fits or
    /// several do.
    pub fn declared_ends(&self, edge_type: &str, from: Option<&str>, to: Option<&str>) -> Result<Option<[&str; 2]>> {
        let Some(of) = self.edge_type(edge_type) else { return Ok(None) };
        let names = |(from, to)| [self.label_name(from), self.label_name(to)];
        let declared: Vec<[&str; 2]> = self.ends(of).map(names).collect();
        let fits = |pair: &&[&str; 2]| from.is_none_or(|from| pair[0] == from) && to.is_none_or(|to| pair[1] == to);
        let fitting: Vec<&[&str; 2]> = declared.iter().filter(fits).collect();
        match (&declared[..], &fitting[..]) {
            ([], _) => Ok(None),
            // Parts of a whole may declare the same.
            (_, [only, others @ ..]) if others.iter().all(|other| other == only) => Ok(Some(**only)),
            ([[from, to], ..], _) => {
                let pairs: Vec<String> = declared.iter().map(|[from, to]| format!("FROM {from} TO {to}")).collect();
                let pairs = pairs.join(", ");
                Err(error!(Argument, "relationships {edge_type} need the labels of both ends: declared are {pairs}")
                    .with_remedy(format!("name one of the pairs: (from = '{from}', to = '{to}')")))
            }
        }
    }

    /// The properties by which a store keeps the edges of a type in order; empty if it has no sort key.
    pub fn sort_key(&self, edge_type: EdgeTypeId) -> &[PropertyKeyId] {
        self.sort_keys.iter().find(|sort_key| sort_key.edge_type == edge_type).map_or(&[], |sort_key| &sort_key.keys)
    }

    /// Adds a sort key; fails with `SCHEMA` if it names no property, one twice, or a type that has a sort key.
    pub fn add_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        let edge_type = self.edge_type_name(sort_key.edge_type);
        if sort_key.keys.is_empty() {
            return Err(crate::error!(SchemaRule, "the sort key of :{edge_type} names no property"));
        }
        for (at, key) in sort_key.keys.iter().enumerate() {
            if sort_key.keys[..at].contains(key) {
                let name = self.property_key_name(*key);
                return Err(crate::error!(SchemaRule, "the sort key of :{edge_type} names the property {name} twice"));
            }
        }
        let there = self.sort_key(sort_key.edge_type);
        if !there.is_empty() {
            let names: Vec<&str> = there.iter().map(|&key| self.property_key_name(key)).collect();
            let found = names.join(", ");
            return Err(crate::error!(SchemaRule, "the type {edge_type} already has a sort key, ({found})")
                .with_remedy("drop it first"));
        }
        self.sort_keys.push(sort_key);
        Ok(())
    }

    /// Takes the sort key of a type away; fails with `SCHEMA` if there is none.
    pub fn remove_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        let before = self.sort_keys.len();
        self.sort_keys.retain(|sort_key| sort_key.edge_type != edge_type);
        if self.sort_keys.len() == before {
            let name = self.edge_type_name(edge_type);
            return Err(crate::error!(SchemaRule, "the type {name} has no sort key"));
        }
        Ok(())
    }
}

fn check_keys(name: &str, keys: &[PropertyKeyId]) -> Result<()> {
    if keys.is_empty() {
        return Err(error!(SchemaRule, "{name} names no property"));
    }
    if keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key)) {
        return Err(error!(SchemaRule, "{name} names a property twice"));
    }
    Ok(())
}

/// A name in backquotes.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
