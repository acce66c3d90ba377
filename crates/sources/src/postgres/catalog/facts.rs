//! The facts that tables and indexes state of the kinds of a definition: for statements, and for the planner.

use super::{IndexOf, Place, Table};
use crate::connector::KindFacts;
use crate::definition::{EdgeKind, End, EndNode, GraphDefinition, NodeKind, Property, Rows};
use crate::sql::RowsFacts;
use crate::sql::catalog::Unwritable;

/// The facts of a kind's rows before its keys and ends are looked at.
fn rows_facts(place: &Place, tables: &[Table]) -> RowsFacts {
    match place {
        Place::Query(facts) => facts.clone(),
        Place::Table(number) => RowsFacts {
            columns: tables[*number].columns.clone(),
            points: tables[*number].indexes.iter().filter_map(|index| index.point.clone()).collect(),
            ..RowsFacts::default()
        },
    }
}

/// True if an index finds rows by these columns: it begins with them, in any order.
fn finds(table: &Table, columns: &[String]) -> bool {
    let begins = |index: &IndexOf| {
        let start = index.columns.get(..columns.len()).unwrap_or_default();
        !start.is_empty() && columns.iter().all(|name| start.contains(name))
    };
    table.indexes.iter().any(|index| index.is_ordered && begins(index))
}

/// The facts that indexes state of properties.
fn property_facts(place: &Place, tables: &[Table], properties: &[Property], rows: u64) -> KindFacts {
    let mut about = KindFacts { rows, ..KindFacts::default() };
    let Place::Table(number) = place else { return about };
    let number_of = |column: &String| properties.iter().position(|property| property.column == *column);
    for index in &tables[*number].indexes {
        let columns = index.point.as_ref().map_or(&*index.columns, |point| &point.columns[..]);
        let numbers: Vec<usize> = columns.iter().map_while(number_of).collect();
        if index.is_unique && columns.len() == 1 {
            about.unique.extend(&numbers);
        }
        if !numbers.is_empty() {
            about.indexed.push(numbers);
        }
    }
    about.unique.sort_unstable();
    about.unique.dedup();
    let spans = &tables[*number].spans;
    let span = |(number, property): (usize, &Property)| Some((number, *spans.get(&property.column)?));
    about.spans = properties.iter().enumerate().filter_map(span).collect();
    about
}

/// The facts known of a kind of nodes.
pub(super) fn node_facts(node: &NodeKind, place: &Place, tables: &[Table], rows: u64) -> (RowsFacts, KindFacts) {
    let mut facts = rows_facts(place, tables);
    let mut about = property_facts(place, tables, &node.properties, rows);
    if let Place::Table(number) = place {
        let table = &tables[*number];
        facts.has_index = [finds(table, &node.key); 2];
        let names = |index: &&IndexOf| index.columns.iter().all(|column| node.key.contains(column));
        let has_key = table
            .indexes
            .iter()
            .filter(|index| index.is_unique && !index.columns.is_empty())
            .any(|index| names(&index));
        facts.unwritable = Unwritable::of(table.is_view, has_key);
    }
    if let [key] = &*node.key
        && let Some(number) = node.properties.iter().position(|property| property.column == *key)
        && !about.unique.contains(&number)
    {
        about.unique.push(number);
    }
    (facts, about)
}

/// The facts known of a kind of edges.
pub(super) fn edge_facts(
    definition: &GraphDefinition,
    edge: &EdgeKind,
    place: &Place,
    tables: &[Table],
    tables_of: &[Option<usize>],
    rows: u64,
) -> (RowsFacts, KindFacts) {
    let mut facts = rows_facts(place, tables);
    let mut about = property_facts(place, tables, &edge.properties, rows);
    let Place::Table(number) = place else {
        // A query by key is believed to be made for it.
        if let Rows::ByKey { reverse, .. } = &edge.rows {
            about.by_end = (true, reverse.is_some());
        }
        return (facts, about);
    };
    let table = &tables[*number];
    facts.unwritable = Unwritable::of(table.is_view, true);
    facts.has_index = [finds(table, &edge.source.columns), finds(table, &edge.target.columns)];
    about.by_end = (facts.has_index[0], facts.has_index[1]);
    let exists = |end: &End| {
        let EndNode::Kind(kind) = end.node else { return false };
        let (Some(Some(there)), Some(node)) = (tables_of.get(kind), definition.nodes.get(kind)) else { return false };
        let is_own_row = there == number && node.key == end.columns;
        let refers = |(referred, columns, keys): &(i64, Vec<String>, Vec<String>)| {
            let pairs: Option<Vec<&String>> = end
                .columns
                .iter()
                .map(|name| columns.iter().position(|column| column == name).map(|at| &keys[at]))
                .collect();
            *referred == tables[*there].oid && pairs.is_some_and(|pairs| pairs.into_iter().eq(&node.key))
        };
        !end.is_array && (is_own_row || table.foreign_keys.iter().any(refers))
    };
    about.ends_exist = (exists(&edge.source), exists(&edge.target));
    (facts, about)
}
