//! A generated graph as a folder of files, or as a store.
//!
//! Invariant: what fails or is cancelled leaves no file and no store.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use database::load::{EdgeTable, EndKey, NodeTable, OnMissing, TableSource};
use database::{Config, Database};
use model::{Column, ColumnData, Error, Interrupt, Result, error};

use super::{Edges, GeneratedGraph, Nodes, RANK, Rows};

/// The property that names a node.
pub(crate) const KEY: &str = "id";
/// Rows that are made at a time.
const PIECE_ROWS: u64 = 16_384;

/// Counts of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratedSummary {
    /// Nodes written.
    pub nodes: u64,
    /// Edges written.
    pub edges: u64,
}

/// Writes a graph as CSV files into a folder, which must be empty or not exist yet. `knot import` and neo4j-admin read them.
///
/// # Errors
/// `FILE` if the folder is not empty or a file cannot be written; `CANCELLED`.
pub fn write_files(graph: &GeneratedGraph, folder: &Path, interrupt: &Interrupt) -> Result<GeneratedSummary> {
    let failed = |cause: std::io::Error| Error::of_file(folder, &cause);
    let is_new = !folder.exists();
    std::fs::create_dir_all(folder).map_err(failed)?;
    if std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(error!(File, "{}: the folder is not empty", folder.display()).with_remedy("name a new folder"));
    }
    let mut files = Files { folder, written: Vec::new(), rows: 0, total: total(graph), interrupt };
    if let Err(failure) = files.all(graph) {
        files.written.iter().for_each(|path| drop(std::fs::remove_file(path)));
        if is_new {
            let _ = std::fs::remove_dir(folder);
        }
        return Err(failure);
    }
    Ok(summary(graph))
}

fn total(graph: &GeneratedGraph) -> u64 {
    graph.node_count() + graph.edge_count()
}

fn summary(graph: &GeneratedGraph) -> GeneratedSummary {
    GeneratedSummary { nodes: graph.node_count(), edges: graph.edge_count() }
}

struct Files<'a> {
    folder: &'a Path,
    written: Vec<PathBuf>,
    rows: u64,
    total: u64,
    interrupt: &'a Interrupt,
}

impl Files<'_> {
    fn all(&mut self, graph: &GeneratedGraph) -> Result<()> {
        for table in &graph.nodes {
            self.table(&format!("nodes-{}.csv", table.label), table, &node_header(table), &[table.label])?;
        }
        for table in &graph.edges {
            self.table(&edge_file(graph, table), table, &edge_header(table), &[&table.edge_type])?;
        }
        Ok(())
    }

    /// Writes a table, with fields that are the same in each row behind the others.
    fn table(&mut self, name: &str, rows: &dyn Rows, header: &[String], constant: &[&str]) -> Result<()> {
        let path = self.folder.join(name);
        let failed = |cause: std::io::Error| Error::of_file(&path, &cause);
        let file = File::create_new(&path).map_err(failed)?;
        self.written.push(path.clone());
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        let of_csv = |cause: csv::Error| failed(cause.into());
        writer.write_record(header).map_err(of_csv)?;
        let count = rows.row_count();
        for start in (0..count).step_by(PIECE_ROWS as usize) {
            let end = (start + PIECE_ROWS).min(count);
            let columns = rows.columns(start..end);
            for row in 0..(end - start) as usize {
                for column in &columns {
                    write_field(&mut writer, column, row).map_err(of_csv)?;
                }
                constant.iter().try_for_each(|field| writer.write_field(field)).map_err(of_csv)?;
                writer.write_record(None::<&[u8]>).map_err(of_csv)?;
            }
            self.rows += end - start;
            self.interrupt.step(self.rows, self.total)?;
        }
        writer.flush().map_err(failed)
    }
}

fn write_field(
    writer: &mut csv::Writer<BufWriter<File>>,
    column: &Column,
    row: usize,
) -> std::result::Result<(), csv::Error> {
    match &column.data {
        ColumnData::Int(values) => writer.write_field(values[row].to_string()),
        ColumnData::String(values) => writer.write_field(values.get(row)),
        _ => writer.write_field(column.value(row).to_string()),
    }
}

/// The file of a table: edges of one type between several labels have several.
fn edge_file(graph: &GeneratedGraph, table: &Edges) -> String {
    let Edges { edge_type, source_label, target_label, .. } = table;
    match graph.edges.iter().filter(|other| other.edge_type == *edge_type).count() {
        1 => format!("edges-{edge_type}.csv"),
        _ => format!("edges-{edge_type}-{source_label}-{target_label}.csv"),
    }
}

fn node_header(table: &Nodes) -> Vec<String> {
    let properties = table.properties.iter().map(|held| format!("{}:{}", held.name, held.distribution.type_name()));
    let rank = table.ranks.iter().map(|_| format!("{RANK}:string"));
    let label = std::iter::once(":LABEL".to_owned());
    std::iter::once(format!("id:ID({})", table.label)).chain(rank).chain(properties).chain(label).collect()
}

fn edge_header(table: &Edges) -> Vec<String> {
    let properties = table.properties.iter().map(|held| format!("{}:{}", held.name, held.distribution.type_name()));
    let ends = [format!(":START_ID({})", table.source_label), format!(":END_ID({})", table.target_label)];
    ends.into_iter().chain(properties).chain(std::iter::once(":TYPE".to_owned())).collect()
}

/// Writes a graph into a new store. Nodes have their number as the unique key `id`.
///
/// # Errors
/// `FILE` if something is there already, `CANCELLED`, and those of a load.
pub fn write_store(
    graph: &GeneratedGraph,
    path: &Path,
    config: Config,
    interrupt: &Interrupt,
) -> Result<GeneratedSummary> {
    if path.exists() {
        let failed = error!(File, "{}: something is there already", path.display());
        return Err(failed.with_remedy("name a new store, or remove that one"));
    }
    let outcome = Database::open(path, config).and_then(|database| load(graph, &database, interrupt));
    if outcome.is_err() {
        let _ = std::fs::remove_dir_all(path);
    }
    outcome.map(|()| summary(graph))
}

fn load(graph: &GeneratedGraph, database: &Database, interrupt: &Interrupt) -> Result<()> {
    let _listening = interrupt.listen();
    for nodes in &graph.nodes {
        load_nodes(database, nodes.label, nodes, interrupt)?;
    }
    for edges in &graph.edges {
        load_edges(database, &edges.edge_type, [edges.source_label, edges.target_label], edges, interrupt)?;
    }
    database.checkpoint()
}

/// Loads nodes of a label. Their column `id` is their unique key.
pub(crate) fn load_nodes(database: &Database, label: &str, rows: &dyn Rows, interrupt: &Interrupt) -> Result<()> {
    let table = NodeTable { labels: vec![label.to_owned()], key: Some(KEY.to_owned()), ..NodeTable::default() };
    database.load_nodes(&table, &Pieces::new(rows), interrupt)?;
    interrupt.check()
}

/// Loads edges of a type. Their columns `source` and `target` are the keys of nodes of these labels.
pub(crate) fn load_edges(
    database: &Database,
    edge_type: &str,
    [source_label, target_label]: [&str; 2],
    rows: &dyn Rows,
    interrupt: &Interrupt,
) -> Result<()> {
    let end = |label: &str, column: &str| EndKey {
        label: label.to_owned(),
        property: KEY.to_owned(),
        column: column.to_owned(),
    };
    let table = EdgeTable {
        edge_type: edge_type.to_owned(),
        source: end(source_label, "source"),
        target: end(target_label, "target"),
        on_missing: OnMissing::Error,
    };
    database.load_edges(&table, &Pieces::new(rows), interrupt)?;
    interrupt.check()
}

/// Rows in pieces, each made when it is asked for.
struct Pieces<'a> {
    rows: &'a dyn Rows,
    names: Vec<String>,
    count: u64,
}

impl<'a> Pieces<'a> {
    fn new(rows: &'a dyn Rows) -> Pieces<'a> {
        Pieces { rows, names: rows.names(), count: rows.row_count() }
    }

    fn range(&self, index: usize) -> std::ops::Range<u64> {
        let start = index as u64 * PIECE_ROWS;
        start..(start + PIECE_ROWS).min(self.count)
    }
}

impl TableSource for Pieces<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn row_count(&self) -> usize {
        self.count as usize
    }

    fn pieces(&self) -> usize {
        self.count.div_ceil(PIECE_ROWS) as usize
    }

    fn piece_rows(&self, index: usize) -> usize {
        let range = self.range(index);
        (range.end - range.start) as usize
    }

    fn piece(&self, index: usize) -> Result<(usize, Vec<Column>)> {
        let range = self.range(index);
        Ok((range.start as usize, self.rows.columns(range)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use database::{Access, Config, Database, ErrorCode, Interrupt, Value};

    use super::{write_files, write_store};
    use crate::generate::{GeneratedGraph, GraphKind, GraphOptions};

    fn bytes(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(folder).expect("the folder is there");
        let read = |entry: std::fs::DirEntry| {
            (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("a file"))
        };
        entries.map(|entry| read(entry.expect("an entry"))).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_files() {
        let folder = testing::Folder::new();
        let of_seed = |name: &str, seed: u64| {
            let options = GraphOptions { seed, edge_types: 2, ..GraphOptions::new(GraphKind::Barabasi, 20_000) };
            let graph = GeneratedGraph::new(&options).expect("there is such a graph");
            let path = folder.path().join(name);
            write_files(&graph, &path, &Interrupt::new()).expect("the files are written");
            bytes(&path)
        };
        let (one, same, other) = (of_seed("one", 1), of_seed("same", 1), of_seed("other", 2));
        assert_eq!(one.keys().collect::<Vec<_>>(), ["edges-LINK_1.csv", "edges-LINK_2.csv", "nodes-Node.csv"]);
        assert!(one == same && one.iter().all(|(name, bytes)| other[name] != *bytes));
        let text = String::from_utf8_lossy(&one["nodes-Node.csv"]).into_owned();
        assert!(text.starts_with("id:ID(Node),age:long,number:long,name:string,:LABEL\n0,"), "{}", &text[..100]);
        assert_eq!(text.lines().count(), 20_001);
        let text = String::from_utf8_lossy(&one["edges-LINK_1.csv"]).into_owned();
        assert!(text.starts_with(":START_ID(Node),:END_ID(Node),time:long,:TYPE\n"), "{}", &text[..100]);
    }

    #[test]
    fn a_store_has_what_was_generated() {
        let folder = testing::Folder::new();
        let path = folder.path().join("ratings.knot");
        let graph = GeneratedGraph::new(&GraphOptions::new(GraphKind::Ratings, 3_000)).expect("there is such a graph");
        let done = write_store(&graph, &path, Config::default(), &Interrupt::new()).expect("the store is made");
        assert_eq!((done.nodes, done.edges), (3_300, 60_000));
        let config = Config { access: Access::ReadOnly, ..Config::default() };
        let database = Database::open(&path, config).expect("the store opens");
        let query = "MATCH (u:User)-[r:RATED]->(p:Product) WHERE r.score >= 1 AND r.score <= 5 AND size(p.name) >= 15 \
                     RETURN count(r)";
        let result = database.session().query(query, &Default::default()).expect("the query runs");
        assert_eq!(result.single(), Some(Value::Int(60_000)));
        let again = write_store(&graph, &path, Config::default(), &Interrupt::new()).expect_err("it is there");
        assert!(again.message().contains("already"), "{again}");
    }

    #[test]
    fn what_is_cancelled_leaves_nothing() {
        let folder = testing::Folder::new();
        let graph = GeneratedGraph::new(&GraphOptions::new(GraphKind::Social, 30_000)).expect("there is such a graph");
        let interrupt = Interrupt::new();
        interrupt.cancel();
        for name in ["files", "s.knot"] {
            let path = folder.path().join(name);
            let outcome = match name {
                "files" => write_files(&graph, &path, &interrupt),
                _ => write_store(&graph, &path, Config::default(), &interrupt),
            };
            assert_eq!(outcome.expect_err("it was cancelled").code(), ErrorCode::Cancelled);
            assert!(!path.exists(), "{name}");
        }
    }
}
