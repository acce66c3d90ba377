//! Description that a relational database gives of itself: tables, columns, keys and indexes.
//!
//! Definitions are written from it ([`crate::infer`]) and compared with it ([`crate::check`]).

use std::fmt;

use model::Result;
use model::schema::PropertyKind;

/// The tables of a database, in order of schema and name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// The schema whose tables need not be named with it.
    pub default_schema: String,
    /// Tables and views.
    pub tables: Vec<Table>,
}

/// A table or a view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The schema and the name of the table.
    pub name: TableName,
    /// True if it is a view, which has no keys and indexes of its own.
    pub is_view: bool,
    /// Its columns in order.
    pub columns: Vec<TableColumn>,
    /// The columns of its primary key; empty without one.
    pub primary_key: Vec<String>,
    /// Columns whose values no two rows have alike, other than the primary key.
    pub unique: Vec<Vec<String>>,
    /// Its foreign keys, in order of their first columns.
    pub foreign_keys: Vec<ForeignKey>,
    /// The columns of each of its indexes, in order; those of keys included.
    pub indexes: Vec<Vec<String>>,
    /// Rows, about, if the database keeps count.
    pub rows: Option<u64>,
}

/// A table's name; the schema is `None` where it is the default one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// The schema.
    pub schema: Option<String>,
    /// The name in it.
    pub name: String,
}

/// A column of a table or a query.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type as the database writes it.
    pub declared: String,
    /// The kind of its values.
    pub kind: ColumnKind,
    /// True if it can be null.
    pub is_nullable: bool,
}

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A property's.
    One(PropertyKind),
    /// Arrays of a property's.
    List(PropertyKind),
    /// Numbers with digits after the point, exact in the database, floats here.
    Decimal,
    /// Bytes.
    Bytes,
    /// JSON: maps, lists and values.
    Json,
    /// Anything, as SQLite's columns without a type.
    Any,
    /// A type that is read as a string.
    Other,
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// Its columns.
    pub columns: Vec<String>,
    /// The table that it refers to.
    pub table: TableName,
    /// The columns there, in the same order.
    pub referred: Vec<String>,
}

/// A connection that a relational database can be looked at through.
pub trait Inspect {
    /// The catalog.
    fn catalog(&mut self) -> Result<Catalog>;
    /// The columns that a query gives; fails with `DEFINITION` if the database does not understand the query.
    fn columns(&mut self, sql: &str) -> Result<Vec<TableColumn>>;
    /// The one number that a query gives.
    fn number(&mut self, sql: &str) -> Result<u64>;
    /// A name as the database's SQL has it.
    fn quote(&self, name: &str) -> String;
}

impl Catalog {
    /// The table of that name.
    pub fn table(&self, name: &TableName) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == *name)
    }
}

impl Catalog {
    /// The table that a definition names, with or without the default schema.
    pub fn find(&self, schema: Option<&str>, name: &str) -> Option<&Table> {
        let schema = schema.filter(|schema| *schema != self.default_schema);
        self.tables.iter().find(|table| table.name.schema.as_deref() == schema && table.name.name == name)
    }
}

/// The one of some things that has a name, or else the only one whose name differs from it in case alone.
fn named<'a, T>(things: impl Iterator<Item = &'a T> + Clone, name: &str, of: impl Fn(&T) -> &str) -> Option<&'a T> {
    let exact = things.clone().find(|thing| of(thing) == name);
    exact.or_else(|| {
        let mut alike = things.filter(|thing| of(thing).eq_ignore_ascii_case(name));
        alike.next().filter(|_| alike.next().is_none())
    })
}

impl Catalog {
    /// The table that a user names, with or without the default schema; in another case too, if only one table is meant so.
    pub fn find_in_any_case(&self, schema: Option<&str>, name: &str) -> Option<&Table> {
        let is_default = |schema: &str| schema.eq_ignore_ascii_case(&self.default_schema);
        let schema = schema.filter(|schema| !is_default(schema));
        let within = |table: &&Table| match (table.name.schema.as_deref(), schema) {
            (Some(held), Some(schema)) => held.eq_ignore_ascii_case(schema),
            (held, schema) => held == schema,
        };
        self.find(schema, name).or_else(|| named(self.tables.iter().filter(within), name, |table| &table.name.name))
    }

    /// Writes names in foreign keys as the tables and columns have them, in databases to which case means nothing.
    #[cfg(feature = "embedded")]
    pub(crate) fn settle_references(&mut self) {
        let settled = |table: &Table| {
            let own =
                |name: &String| table.column_in_any_case(name).map_or_else(|| name.clone(), |held| held.name.clone());
            let key = |key: &ForeignKey| {
                let to = self.find_in_any_case(key.table.schema.as_deref(), &key.table.name);
                let there = |name: &String| {
                    to.and_then(|to| to.column_in_any_case(name)).map_or_else(|| name.clone(), |held| held.name.clone())
                };
                ForeignKey {
                    columns: key.columns.iter().map(own).collect(),
                    table: to.map_or_else(|| key.table.clone(), |to| to.name.clone()),
                    referred: key.referred.iter().map(there).collect(),
                }
            };
            table.foreign_keys.iter().map(key).collect::<Vec<ForeignKey>>()
        };
        let all: Vec<Vec<ForeignKey>> = self.tables.iter().map(settled).collect();
        for (table, keys) in self.tables.iter_mut().zip(all) {
            table.foreign_keys = keys;
            table.arrange();
        }
    }
}

impl Table {
    /// The column of that name; in another case too, if only one is meant so.
    pub fn column_in_any_case(&self, name: &str) -> Option<&TableColumn> {
        named(self.columns.iter(), name, |column| &column.name)
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Puts the foreign keys in the order of their first columns; of those that say the same, one stays.
    pub fn arrange(&mut self) {
        let mut keys = std::mem::take(&mut self.foreign_keys);
        let place = |name: &String| self.columns.iter().position(|column| column.name == *name);
        keys.sort_by_key(|key| key.columns.iter().map(place).collect::<Vec<_>>());
        keys.dedup();
        self.foreign_keys = keys;
    }

    /// True if no two rows have the same values of these columns, whatever their order.
    pub fn is_unique(&self, columns: &[String]) -> bool {
        let within = |key: &Vec<String>| !key.is_empty() && key.iter().all(|column| columns.contains(column));
        within(&self.primary_key) || self.unique.iter().any(within)
    }

    /// True if an index begins with these columns, in any order.
    pub fn is_indexed(&self, columns: &[String]) -> bool {
        let begins = |index: &Vec<String>| {
            index.len() >= columns.len() && index[..columns.len()].iter().all(|column| columns.contains(column))
        };
        self.indexes.iter().any(begins)
    }

    /// True if a foreign key holds these columns to the key of that table.
    pub fn refers(&self, columns: &[String], to: &TableName) -> bool {
        self.foreign_keys.iter().any(|key| key.table == *to && key.columns == columns)
    }
}

impl TableName {
    /// A table of the default schema.
    pub fn of(name: &str) -> TableName {
        TableName { schema: None, name: name.to_owned() }
    }

    /// The name in SQL, each part quoted.
    pub fn in_sql(&self, quote: impl Fn(&str) -> String) -> String {
        match &self.schema {
            Some(schema) => format!("{}.{}", quote(schema), quote(&self.name)),
            None => quote(&self.name),
        }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl ColumnKind {
    /// True if values can be converted to a kind of property, at least those that are written as one.
    pub fn converts_to(self, kind: PropertyKind) -> bool {
        use PropertyKind as P;
        let from = match self {
            ColumnKind::One(from) => from,
            ColumnKind::Decimal => P::Float,
            ColumnKind::Any | ColumnKind::Other => P::String,
            ColumnKind::List(_) | ColumnKind::Bytes => return false,
            ColumnKind::Json => return kind == P::String,
        };
        match (from, kind) {
            (from, kind) if from == kind => true,
            (P::String, _) | (_, P::String) => true,
            (P::Integer, P::Float | P::Boolean) | (P::Float, P::Integer) => true,
            (P::LocalDateTime | P::DateTime, P::Date | P::LocalDateTime | P::DateTime) => true,
            (P::Date, P::LocalDateTime) | (P::LocalTime, P::Time) | (P::Time, P::LocalTime) => true,
            _ => false,
        }
    }
}
