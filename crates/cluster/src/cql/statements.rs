//! The statements of CQL, made of the shapes of the tables.

use std::ops::Bound;
use std::sync::Arc;

use crate::tables::{Change, ColumnShape, FieldKind, RowWrite, Scan, Slice, Table};

/// Treatment of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A read at a quorum, or a write that may be repeated.
    Repeatable,
    /// A read of a page of a whole table at a quorum.
    Scan,
    /// A write that happens under a condition.
    Conditional,
    /// A read in the order of the conditional writes.
    Serial,
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) text: Arc<str>,
    pub(super) kind: Kind,
}

fn text(kind: Kind, text: String) -> Text {
    Text { text: Arc::from(text), kind }
}

/// Names joined, each with what follows it.
fn joined<'a>(columns: impl IntoIterator<Item = &'a ColumnShape>, behind: &str, between: &str) -> String {
    let names = columns.into_iter().map(|(name, _)| format!("\"{name}\"{behind}"));
    names.collect::<Vec<_>>().join(between)
}

/// The statements that make a keyspace and its tables.
pub(super) fn definitions(keyspace: &str, copies: u32) -> Vec<String> {
    let replication = format!("{{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}");
    let mut statements = vec![format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}")];
    for table in Table::ALL {
        let shape = table.shape();
        let columns = shape.partition.iter().chain(shape.clustering).chain(shape.cells);
        let column = |(name, kind): &ColumnShape| {
            let kind = if *kind == FieldKind::Int { "bigint" } else { "blob" };
            format!("\"{name}\" {kind}, ")
        };
        let columns: String = columns.map(column).collect();
        // The seal is of an epoch, not of a record.
        let seal = if table == Table::Log { "sealed bigint static, " } else { "" };
        let (partition, clustering) = (joined(shape.partition, "", ", "), joined(shape.clustering, "", ", "));
        statements.push(format!(
            "CREATE TABLE IF NOT EXISTS {keyspace}.{} ({columns}{seal}PRIMARY KEY (({partition}), {clustering}))",
            shape.name
        ));
    }
    statements
}

/// A write of a row. The timestamp comes first among its values, then cells, then the key.
pub(super) fn write(keyspace: &str, row: &RowWrite) -> Text {
    let shape = row.table.shape();
    let name = shape.name;
    let key = joined(shape.partition.iter().chain(shape.clustering), " = ?", " AND ");
    text(
        Kind::Repeatable,
        match &row.change {
            Change::Put(cells) => {
                let set = joined(cells.iter().map(|(at, _)| &shape.cells[*at]), " = ?", ", ");
                format!("UPDATE {keyspace}.{name} USING TIMESTAMP ? SET {set} WHERE {key}")
            }
            // The seal of an epoch belongs to its partition and has to stay.
            Change::Delete if row.clustering.is_empty() && row.table == Table::Log => {
                let partition = joined(shape.partition, " = ?", " AND ");
                let first = joined(&shape.clustering[..1], " >= ?", "");
                format!("DELETE FROM {keyspace}.{name} USING TIMESTAMP ? WHERE {partition} AND {first}")
            }
            Change::Delete if row.clustering.is_empty() => {
                let partition = joined(shape.partition, " = ?", " AND ");
                format!("DELETE FROM {keyspace}.{name} USING TIMESTAMP ? WHERE {partition}")
            }
            Change::Delete => format!("DELETE FROM {keyspace}.{name} USING TIMESTAMP ? WHERE {key}"),
            Change::DeleteUpTo => {
                let (last, before) = shape.clustering.split_last().unwrap_or((&shape.partition[0], &[]));
                let equal = joined(shape.partition.iter().chain(before), " = ?", " AND ");
                let last = joined([last], " <= ?", "");
                format!("DELETE FROM {keyspace}.{name} USING TIMESTAMP ? WHERE {equal} AND {last}")
            }
        },
    )
}

/// A read of a slice: the clustering key, then the cells.
pub(super) fn read(keyspace: &str, slice: &Slice) -> Text {
    let shape = slice.table.shape();
    let columns = joined(shape.clustering.iter().chain(shape.cells), "", ", ");
    let equal = shape.partition.iter().chain(&shape.clustering[..slice.prefix.len()]);
    let mut conditions = vec![joined(equal, " = ?", " AND ")];
    let next = shape.clustering.get(slice.prefix.len());
    for (bound, included, excluded) in [(&slice.from, ">=", ">"), (&slice.to, "<=", "<")] {
        let sign = match bound {
            Bound::Unbounded => continue,
            Bound::Included(_) => included,
            Bound::Excluded(_) => excluded,
        };
        conditions.push(joined(next, &format!(" {sign} ?"), ""));
    }
    let conditions = conditions.join(" AND ");
    text(Kind::Repeatable, format!("SELECT {columns} FROM {keyspace}.{} WHERE {conditions}", shape.name))
}

/// A scan of a range of tokens: the number of the graph, the clustering key, then the cells that are wanted. The graph
/// cannot be a condition, since the key has one by its token.
pub(super) fn scan(keyspace: &str, scan: &Scan) -> Text {
    let shape = scan.table.shape();
    let cells = scan.cells.iter().map(|at| &shape.cells[*at]);
    let columns = joined(shape.partition[..1].iter().chain(shape.clustering).chain(cells), "", ", ");
    let token = format!("token({})", joined(shape.partition, "", ", "));
    let name = shape.name;
    text(Kind::Scan, format!("SELECT {columns} FROM {keyspace}.{name} WHERE {token} > ? AND {token} <= ?"))
}

/// The records of an epoch from the last one on, each with the seal of the epoch.
pub(super) fn tail(keyspace: &str) -> Text {
    text(
        Kind::Repeatable,
        format!(
            "SELECT sequence, record, sealed FROM {keyspace}.log WHERE graph = ? AND epoch = ? ORDER BY sequence DESC"
        ),
    )
}

/// The append of a record. Its answer has the columns of the condition, and so the record that is there.
pub(super) fn append(keyspace: &str) -> Text {
    text(
        Kind::Conditional,
        format!(
            "UPDATE {keyspace}.log SET record = ? WHERE graph = ? AND epoch = ? AND sequence = ? \
             IF record = null AND sealed = null"
        ),
    )
}

/// The record at a place.
pub(super) fn place(keyspace: &str) -> Text {
    text(Kind::Serial, format!("SELECT record FROM {keyspace}.log WHERE graph = ? AND epoch = ? AND sequence = ?"))
}

/// The seal of an epoch.
pub(super) fn seal(keyspace: &str) -> Text {
    text(
        Kind::Conditional,
        format!("UPDATE {keyspace}.log SET sealed = 1 WHERE graph = ? AND epoch = ? IF sealed = null"),
    )
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::{definitions, read, scan, write};
    use crate::tables::{Change, Field, RowWrite, Scan, Slice, Table, Tokens};

    #[test]
    fn statements_are_those_of_the_tables() {
        let all = definitions("knot", 3);
        assert_eq!(all.len(), 1 + Table::ALL.len());
        assert_eq!(
            all[3],
            "CREATE TABLE IF NOT EXISTS knot.applied (\"graph\" bigint, \"epoch\" bigint, \"sequence\" bigint, \
             \"done\" bigint, PRIMARY KEY ((\"graph\", \"epoch\"), \"sequence\"))"
        );
        let one = Field::Int(1);
        let slice = Slice::new(Table::EdgeOut, vec![one.clone(), one.clone()], vec![one.clone(), one.clone()])
            .between(Bound::Included(Field::Bytes([1].into())), Bound::Excluded(Field::Bytes([2].into())));
        assert!(read("knot", &slice).text.ends_with(
            "FROM knot.edge_out WHERE \"graph\" = ? AND \"bucket\" = ? AND \"source\" = ? AND \"type\" = ? \
             AND \"sort\" >= ? AND \"sort\" < ?"
        ));
        let edges = Scan { table: Table::Edge, graph: 1, tokens: Tokens::ALL, cells: vec![0, 2] };
        assert_eq!(
            &*scan("knot", &edges).text,
            "SELECT \"graph\", \"number\", \"born\", \"died\", \"type\" FROM knot.edge \
             WHERE token(\"graph\", \"bucket\") > ? AND token(\"graph\", \"bucket\") <= ?"
        );
        let row = |change: Change, clustering: Vec<Field>| RowWrite {
            table: Table::Applied,
            partition: vec![one.clone(), one.clone()],
            clustering,
            timestamp: 7,
            change,
        };
        let put = write("knot", &row(Change::Put(vec![(0, one.clone())]), vec![one.clone()]));
        assert_eq!(
            &*put.text,
            "UPDATE knot.applied USING TIMESTAMP ? SET \"done\" = ? WHERE \"graph\" = ? AND \"epoch\" = ? \
             AND \"sequence\" = ?"
        );
        let range = RowWrite { table: Table::Node, ..row(Change::DeleteUpTo, vec![one.clone(), one.clone()]) };
        assert_eq!(
            &*write("knot", &range).text,
            "DELETE FROM knot.node USING TIMESTAMP ? WHERE \"graph\" = ? AND \"bucket\" = ? AND \"id\" = ? AND \"born\" <= ?"
        );
        let all = write("knot", &row(Change::Delete, Vec::new()));
        assert!(all.text.ends_with("TIMESTAMP ? WHERE \"graph\" = ? AND \"epoch\" = ?"), "{}", all.text);
        let all = write("knot", &RowWrite { table: Table::Log, ..row(Change::Delete, Vec::new()) });
        assert!(all.text.ends_with("WHERE \"graph\" = ? AND \"epoch\" = ? AND \"sequence\" >= ?"), "{}", all.text);
    }
}
