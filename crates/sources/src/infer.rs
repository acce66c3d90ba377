//! Writes a definition from a catalog: tables with a primary key are nodes, foreign keys and join tables are edges.
//!
//! A join table is one that other tables do not refer to and whose primary key is its two foreign keys together; or one
//! that has two foreign keys and no primary key; or one that has nothing but a number of its own and two foreign keys.

use std::sync::Arc;

use model::{Map, Set};

use crate::catalog::{Catalog, ForeignKey, Table, TableName};
use crate::definition::{EdgeKind, End, EndNode, GraphDefinition, NodeKind, Property, Rows};

mod names;
#[cfg(test)]
mod tests;

use names::{camel, label_of, screaming, singular, type_of_key, words};

/// A definition, and what it leaves out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inferred {
    /// The definition, without a URL.
    pub definition: GraphDefinition,
    /// A sentence for each table or key that is not in it, with the reason.
    pub notes: Vec<String>,
}

/// The definition that the keys of a catalog suggest. `quote` writes names as the database's SQL has them.
pub fn definition(catalog: &Catalog, quote: &dyn Fn(&str) -> String) -> Inferred {
    let mut inference = Inference { catalog, quote, kinds: Map::default(), inferred: Inferred::default() };
    let (joins, entities) = inference.sort();
    inference.nodes(&entities);
    let mut edges = Vec::new();
    for table in &entities {
        table.foreign_keys.iter().for_each(|key| edges.extend(inference.reference(table, key)));
    }
    joins.iter().for_each(|table| edges.extend(inference.join(table)));
    inference.inferred.definition.edges = named(edges, &inference.inferred.definition.nodes);
    inference.inferred
}

struct Inference<'a> {
    catalog: &'a Catalog,
    quote: &'a dyn Fn(&str) -> String,
    /// The number of the kind that a table became.
    kinds: Map<TableName, usize>,
    inferred: Inferred,
}

impl<'a> Inference<'a> {
    /// Join tables, and tables whose rows are nodes.
    fn sort(&mut self) -> (Vec<&'a Table>, Vec<&'a Table>) {
        let (mut joins, mut entities, mut views) = (Vec::new(), Vec::new(), Vec::new());
        for table in &self.catalog.tables {
            if table.is_view {
                views.push(table.name.to_string());
            } else if self.is_join(table) {
                joins.push(table);
            } else if node_key(table).is_some() {
                entities.push(table);
            } else {
                self.note(format!("{}: skipped, it has no primary key", table.name));
            }
        }
        if !views.is_empty() {
            self.note(format!("views are skipped, they have no keys: {}", views.join(", ")));
        }
        (joins, entities)
    }

    fn is_join(&self, table: &Table) -> bool {
        let [first, second] = &table.foreign_keys[..] else { return false };
        let is_referred =
            self.catalog.tables.iter().any(|other| other.foreign_keys.iter().any(|key| key.table == table.name));
        let overlap = first.columns.iter().any(|column| second.columns.contains(column));
        let ends: Vec<&String> = first.columns.iter().chain(&second.columns).collect();
        if is_referred || overlap || ![first, second].iter().all(|key| self.refers_to_node(key)) {
            return false;
        }
        let is_key = |column: &&String| table.primary_key.contains(column);
        let own_number = table.primary_key.len() == 1 && !is_key(&ends[0]) && table.columns.len() == ends.len() + 1;
        let never_null = || ends.iter().all(|end| table.column(end).is_some_and(|column| !column.is_nullable));
        match table.primary_key.len() {
            0 => true,
            length => length == ends.len() && ends.iter().all(is_key) || own_number && never_null(),
        }
    }

    /// True if a foreign key refers to the key that names the rows of a table of nodes.
    fn refers_to_node(&self, key: &ForeignKey) -> bool {
        let referred = self.catalog.table(&key.table).and_then(node_key);
        referred.is_some_and(|referred| arranged(key, &referred).is_some())
    }

    fn nodes(&mut self, tables: &[&'a Table]) {
        let labels: Vec<String> = tables.iter().map(|table| label_of(&table.name.name)).collect();
        let mut taken = Set::default();
        for (table, plain) in tables.iter().zip(&labels) {
            let is_shared = labels.iter().filter(|label| *label == plain).count() > 1;
            let schema = table.name.schema.as_deref().filter(|_| is_shared).map(camel).unwrap_or_default();
            let label: Arc<str> = first_free(&format!("{schema}{plain}"), &mut taken);
            let Some(key) = node_key(table) else { continue };
            let properties = properties(table, |column| {
                key.contains(column) || !table.foreign_keys.iter().any(|key| key.columns.contains(column))
            });
            self.kinds.insert(table.name.clone(), self.inferred.definition.nodes.len());
            self.inferred.definition.nodes.push(NodeKind {
                name: label.clone(),
                labels: vec![label],
                rows: rows_of(&table.name),
                key,
                properties,
            });
        }
    }

    /// A foreign key of a table whose rows are nodes, as edges from these.
    fn reference(&mut self, table: &Table, key: &ForeignKey) -> Option<EdgeKind> {
        let source = self.kinds.get(&table.name).copied()?;
        let target = self.end(table, key)?;
        let nodes = &self.inferred.definition.nodes;
        let own_key = nodes[source].key.clone();
        let role: Vec<String> = key.columns.iter().filter(|column| !is_shared(table, column, key)).cloned().collect();
        let role = if role.is_empty() { &key.columns } else { &role };
        let edge_type = type_of_key(role, &nodes[target].labels[0]);
        let (rows, columns, far) = self.rows_to(table, key, target, &own_key);
        let source = End { node: EndNode::Kind(source), columns, is_array: false };
        let target = End { node: EndNode::Kind(target), columns: far, is_array: false };
        Some(EdgeKind {
            name: edge_type.as_str().into(),
            edge_type: edge_type.into(),
            rows,
            source,
            target,
            key: Vec::new(),
            properties: Vec::new(),
        })
    }

    /// A join table as edges.
    fn join(&mut self, table: &Table) -> Option<EdgeKind> {
        let [first, second] = &table.foreign_keys[..] else { return None };
        let (source, target) = (self.end(table, first)?, self.end(table, second)?);
        let nodes = &self.inferred.definition.nodes;
        let end = |key: &ForeignKey, number: usize| End {
            node: EndNode::Kind(number),
            columns: arranged(key, &nodes[number].key).unwrap_or_default(),
            is_array: false,
        };
        let is_end = |column: &String| first.columns.contains(column) || second.columns.contains(column);
        let edge_type = self.join_type(table, source, target);
        Some(EdgeKind {
            name: edge_type.as_str().into(),
            edge_type: edge_type.into(),
            rows: rows_of(&table.name),
            source: end(first, source),
            target: end(second, target),
            key: table.primary_key.clone(),
            properties: properties(table, |column| !is_end(column)),
        })
    }

    /// `HAS_TRACK` where the table is named only for its ends, and the table's own name where it says more.
    fn join_type(&self, table: &Table, source: usize, target: usize) -> String {
        let nodes = &self.inferred.definition.nodes;
        let (near, far) = (&nodes[source].labels[0], &nodes[target].labels[0]);
        let of_ends: Vec<String> = words(near).iter().chain(&words(far)).map(|word| singular(word)).collect();
        let says_more = words(&table.name.name).iter().any(|word| !of_ends.contains(&singular(word)));
        if source == target || says_more { screaming(&table.name.name) } else { format!("HAS_{}", screaming(far)) }
    }

    /// The kind that a foreign key refers to.
    fn end(&mut self, table: &Table, key: &ForeignKey) -> Option<usize> {
        let kind = self.kinds.get(&key.table).copied();
        if kind.is_none() {
            let columns = key.columns.join(", ");
            self.note(format!("{}({columns}): skipped, {} is not among the nodes", table.name, key.table));
        }
        kind
    }

    /// The rows of a foreign key seen as edges, with the columns of both ends. A key that refers to other columns than the
    /// node's key needs the other table too.
    fn rows_to(
        &self,
        table: &Table,
        key: &ForeignKey,
        target: usize,
        own_key: &[String],
    ) -> (Rows, Vec<String>, Vec<String>) {
        let far = &self.inferred.definition.nodes[target].key;
        if let Some(columns) = arranged(key, far) {
            return (rows_of(&table.name), own_key.to_vec(), columns);
        }
        let quote = self.quote;
        let column = |of: &str, name: &String| format!("{of}.{}", quote(name));
        let name = |which: &str, at: usize| format!("{which}_{}", at + 1);
        let shown = |of: &str, which: &str, columns: &[String]| -> Vec<String> {
            let numbered = columns.iter().enumerate();
            numbered.map(|(at, held)| format!("{} AS {}", column(of, held), quote(&name(which, at)))).collect()
        };
        let pairs = key.columns.iter().zip(&key.referred);
        let joined: Vec<String> =
            pairs.map(|(near, far)| format!("{} = {}", column("a", near), column("b", far))).collect();
        let sql = format!(
            "SELECT {} FROM {} a JOIN {} b ON {}",
            [shown("a", "source", own_key), shown("b", "target", far)].concat().join(", "),
            table.name.in_sql(quote),
            key.table.in_sql(quote),
            joined.join(" AND ")
        );
        let names = |which: &str, columns: &[String]| (0..columns.len()).map(|at| name(which, at)).collect();
        (Rows::Query(sql), names("source", own_key), names("target", far))
    }

    fn note(&mut self, note: String) {
        self.inferred.notes.push(note);
    }
}

/// The columns that name the rows of a table: its primary key, or else columns that are unique and never null.
fn node_key(table: &Table) -> Option<Vec<String>> {
    if !table.primary_key.is_empty() {
        return Some(table.primary_key.clone());
    }
    let never_null = |key: &&Vec<String>| {
        !key.is_empty() && key.iter().all(|name| table.column(name).is_some_and(|column| !column.is_nullable))
    };
    table.unique.iter().filter(never_null).min_by_key(|key| key.len()).cloned()
}

/// The columns of a foreign key in the order of the key that it refers to; `None` if it refers to other columns.
fn arranged(key: &ForeignKey, referred: &[String]) -> Option<Vec<String>> {
    if key.referred.len() != referred.len() {
        return None;
    }
    let place = |name: &String| key.referred.iter().position(|held| held == name);
    referred.iter().map(|name| place(name).map(|at| key.columns[at].clone())).collect()
}

/// True if a column serves another foreign key of the table too, as the tenant in composite keys.
fn is_shared(table: &Table, column: &String, key: &ForeignKey) -> bool {
    key.columns.len() > 1
        && (table.primary_key.contains(column)
            || table.foreign_keys.iter().any(|other| other != key && other.columns.contains(column)))
}

fn properties(table: &Table, keep: impl Fn(&String) -> bool) -> Vec<Property> {
    let kept = table.columns.iter().filter(|column| keep(&column.name));
    kept.map(|column| Property { name: column.name.as_str().into(), column: column.name.clone(), kind: None }).collect()
}

fn rows_of(name: &TableName) -> Rows {
    Rows::Table { schema: name.schema.clone(), name: name.name.clone() }
}

/// Edges with types that are distinct for each pair of ends, and with names that are distinct.
fn named(mut edges: Vec<EdgeKind>, nodes: &[NodeKind]) -> Vec<EdgeKind> {
    let label = |end: &End| match end.node {
        EndNode::Kind(number) => nodes[number].name.to_string(),
        EndNode::Foreign { .. } => String::new(),
    };
    let mut types = Set::default();
    for edge in &mut edges {
        let from = label(&edge.source);
        let mut number = 1;
        let plain = edge.edge_type.clone();
        while !types.insert((from.clone(), edge.edge_type.clone())) {
            number += 1;
            edge.edge_type = format!("{plain}_{number}").into();
        }
    }
    let shared: Vec<bool> =
        edges.iter().map(|edge| edges.iter().filter(|other| other.edge_type == edge.edge_type).count() > 1).collect();
    let mut taken = Set::default();
    for (edge, is_shared) in edges.iter_mut().zip(shared) {
        let name =
            if is_shared { format!("{}_{}", label(&edge.source), edge.edge_type) } else { edge.edge_type.to_string() };
        edge.name = first_free(&name, &mut taken);
    }
    edges
}

/// The name, with a number put to it if it is taken.
fn first_free(name: &str, taken: &mut Set<Arc<str>>) -> Arc<str> {
    let mut free: Arc<str> = name.into();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        free = format!("{name}{number}").into();
    }
    free
}
