//! Names and counts of what a graph holds, by statements where it is in another process.

use std::path::PathBuf;
use std::sync::Arc;

use database::{Parameters, StoreInfo};
use model::{Result, Value};

use crate::session::Session;

/// Names that stand in the text of queries.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Labels and types of relationships.
    pub labels_and_types: Vec<String>,
    /// Property keys.
    pub property_keys: Vec<String>,
}

impl Session {
    /// Labels, edge types, property keys, constraints and indexes, with counts. In another process, what is known of the files is left
    /// out.
    ///
    /// # Errors
    /// As those of statements.
    pub fn info(&mut self) -> Result<StoreInfo> {
        if let Some(database) = self.graph().database() {
            return database.info();
        }
        let count = |session: &mut Session, pattern: &str, counted: &str| -> Result<u64> {
            let found = session.query(&format!("MATCH {pattern} RETURN count({counted})"), &Parameters::default())?;
            Ok(match found.single() {
                Some(Value::Int(count)) => count.unsigned_abs(),
                _ => 0,
            })
        };
        let mut info = StoreInfo { path: PathBuf::from(self.graph().place()), ..StoreInfo::default() };
        info.nodes = count(self, "(n)", "n")?;
        info.edges = count(self, "()-[r]->()", "r")?;
        for name in self.listed("labels", "label")? {
            let nodes = count(self, &format!("(n:{})", quoted(&name)), "n")?;
            info.labels.push((name, nodes));
        }
        for name in self.listed("relationshipTypes", "relationshipType")? {
            let edges = count(self, &format!("()-[r:{}]->()", quoted(&name)), "r")?;
            info.edge_types.push((name, edges));
        }
        info.property_keys = self.listed("propertyKeys", "propertyKey")?;
        let owned = |texts: Vec<Arc<str>>| texts.iter().map(ToString::to_string).collect();
        info.constraints = owned(self.texts("SHOW CONSTRAINTS YIELD createStatement")?);
        info.indexes = owned(self.texts("SHOW INDEXES YIELD createStatement")?);
        Ok(info)
    }

    /// The names that the graph knows at present.
    ///
    /// # Errors
    /// As those of statements.
    pub fn names(&mut self) -> Result<Names> {
        let owned = |texts: Vec<Arc<str>>| texts.iter().map(ToString::to_string).collect::<Vec<String>>();
        if let Some(database) = self.graph().database() {
            let info = database.info()?;
            let labels_and_types = info.labels.iter().chain(&info.edge_types).map(|(name, _)| name.to_string());
            return Ok(Names {
                labels_and_types: labels_and_types.collect(),
                property_keys: owned(info.property_keys),
            });
        }
        let mut labels = owned(self.listed("labels", "label")?);
        labels.extend(owned(self.listed("relationshipTypes", "relationshipType")?));
        let property_keys = owned(self.listed("propertyKeys", "propertyKey")?);
        Ok(Names { labels_and_types: labels, property_keys })
    }

    /// The names of all functions and procedures.
    ///
    /// # Errors
    /// As those of statements.
    pub fn callable_names(&mut self) -> Result<Vec<String>> {
        if let Some(database) = self.graph().database() {
            return Ok(database.callable_names());
        }
        let mut names = self.texts("SHOW FUNCTIONS YIELD name")?;
        names.extend(self.texts("SHOW PROCEDURES YIELD name")?);
        Ok(names.iter().map(ToString::to_string).collect())
    }

    /// The names that one of the lists of the schema has.
    fn listed(&mut self, procedure: &str, column: &str) -> Result<Vec<Arc<str>>> {
        self.texts(&format!("CALL db.{procedure}() YIELD {column} RETURN {column}"))
    }

    /// The texts of a result of one column.
    fn texts(&mut self, statement: &str) -> Result<Vec<Arc<str>>> {
        let found = self.query(statement, &Parameters::default())?;
        let text = |row: Vec<Value>| match row.into_iter().next() {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        Ok(found.rows().filter_map(text).collect())
    }
}

/// A name as it may stand in a pattern, whatever it is made of.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
