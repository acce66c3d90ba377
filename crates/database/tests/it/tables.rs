//! Tables in memory: loaded as nodes and edges, few rows and many, and read by `LOAD FROM`.

use std::sync::Arc;

use database::import::OnDuplicate;
use database::load::{EdgeTable, EndKey, LoadSummary, NodeTable, OnMissing, TableSource};
use database::registry::Tables;
use database::{Config, Database, Durability, ErrorCode, Interrupt, Parameters, Value};
use model::{Column, ColumnData, Result};
use testing::Folder;

/// Rows of integers, in pieces of a thousand.
struct Numbers {
    names: Vec<String>,
    columns: Vec<Vec<i64>>,
}

const PIECE: usize = 1_000;

impl Numbers {
    fn new(columns: &[(&str, Vec<i64>)]) -> Numbers {
        let (names, columns) = columns.iter().map(|(name, rows)| ((*name).to_owned(), rows.clone())).unzip();
        Numbers { names, columns }
    }
}

impl TableSource for Numbers {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn row_count(&self) -> usize {
        self.columns[0].len()
    }

    fn pieces(&self) -> usize {
        self.row_count().div_ceil(PIECE)
    }

    fn piece_rows(&self, index: usize) -> usize {
        PIECE.min(self.row_count() - index * PIECE)
    }

    fn piece(&self, index: usize) -> Result<(usize, Vec<Column>)> {
        let start = index * PIECE;
        let end = start + self.piece_rows(index);
        Ok((start, self.columns.iter().map(|rows| Column::new(ColumnData::Int(rows[start..end].to_vec()))).collect()))
    }
}

fn open(folder: &Folder) -> Database {
    let config = Config { durability: Durability::Off, ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened")
}

fn ask(database: &Database, text: &str) -> Vec<Vec<Value>> {
    database.session().query(text, &Parameters::default()).unwrap_or_else(|e| panic!("{text}: {e:?}")).rows().collect()
}

fn end(column: &str) -> EndKey {
    EndKey { label: "N".into(), property: "id".into(), column: column.into() }
}

#[test]
fn few_rows_and_many_make_the_same_graph() {
    for count in [1_500_i64, 25_000] {
        let (folder, interrupt) = (Folder::new(), Interrupt::new());
        let database = open(&folder);
        let ids: Vec<i64> = (0..count).collect();
        let nodes = Numbers::new(&[("id", ids.clone()), ("square", ids.iter().map(|i| i * i).collect())]);
        let table = NodeTable { labels: vec!["N".into()], key: Some("id".into()), on_duplicate: OnDuplicate::Error };
        let made = database.load_nodes(&table, &nodes, &interrupt).expect("nodes are loaded");
        assert_eq!(made, LoadSummary { nodes_created: count as u64, ..LoadSummary::default() });
        let again = database.load_nodes(&table, &nodes, &interrupt).map(|_| ()).expect_err("keys are taken");
        assert!(matches!(again.code(), ErrorCode::Constraint | ErrorCode::Import), "{again:?}");
        let skip = NodeTable { on_duplicate: OnDuplicate::Skip, ..table };
        let skipped = database.load_nodes(&skip, &nodes, &interrupt).expect("rows are skipped");
        assert_eq!((skipped.nodes_created, skipped.nodes_merged), (0, count as u64));

        // The last edge leads to a node that is not there.
        let targets: Vec<i64> = (1..=count).collect();
        let edges = Numbers::new(&[("a", ids.clone()), ("b", targets), ("w", ids.clone())]);
        let table =
            EdgeTable { edge_type: "E".into(), source: end("a"), target: end("b"), on_missing: OnMissing::Error };
        let failed = database.load_edges(&table, &edges, &interrupt).map(|_| ()).expect_err("an end is missing");
        assert!(failed.message().contains(&format!("row {}", count - 1)), "{failed:?}");
        assert_eq!(ask(&database, "MATCH ()-[e]->() RETURN count(e)"), [[Value::Int(0)]]);
        let create = EdgeTable { on_missing: OnMissing::Create, ..table };
        let made = database.load_edges(&create, &edges, &interrupt).expect("edges are loaded");
        assert_eq!((made.nodes_created, made.edges_created), (1, count as u64));
        let sum = count * (count - 1) / 2;
        let found = ask(&database, "MATCH (a:N)-[e:E]->(b:N) WHERE b.id = a.id + 1 RETURN count(*), sum(e.w)");
        assert_eq!(found, [[Value::Int(count), Value::Int(sum)]]);
    }
}

#[test]
fn load_from_reads_the_tables_of_a_session() {
    let folder = Folder::new();
    let database = open(&folder);
    let mut session = database.session();
    let ids: Vec<i64> = (0..5_000).collect();
    let text = "LOAD FROM numbers WITH id, twice WHERE id > 4997 RETURN *";
    let tables = |columns: &[(&str, Vec<i64>)]| {
        let table: Arc<dyn TableSource + Send> = Arc::new(Numbers::new(columns));
        Some(Arc::new(Tables::from_iter([(Arc::from("numbers"), table)])))
    };
    let run = |session: &mut database::Session, text: &str| -> Result<Vec<Vec<Value>>> {
        Ok(session.query(text, &Parameters::default())?.rows().collect())
    };
    assert_eq!(run(&mut session, text).expect_err("there is no table").code(), ErrorCode::Semantic);
    session.set_tables(tables(&[("id", ids.clone()), ("twice", ids.iter().map(|i| i * 2).collect())]));
    assert_eq!(
        run(&mut session, text).expect("it is read"),
        [[4_998, 9_996], [4_999, 9_998]].map(|row| row.map(Value::Int))
    );
    let joined = "UNWIND [1, 2] AS x LOAD FROM numbers WITH x, id WHERE id = x RETURN sum(id), count(*)";
    assert_eq!(run(&mut session, joined).expect("it is read twice"), [[3, 2].map(Value::Int)]);
    // The plan of the same text is made anew for other columns, and the table is gone with the next setting.
    session.set_tables(tables(&[("other", vec![7])]));
    assert_eq!(run(&mut session, text).expect_err("a column is gone").code(), ErrorCode::Semantic);
    assert_eq!(run(&mut session, "LOAD FROM numbers RETURN *").expect("it is read"), [[Value::Int(7)]]);
    session.set_tables(None);
    let gone = run(&mut session, "LOAD FROM numbers RETURN *").expect_err("it is gone");
    assert!(gone.message().contains("no table with the name numbers"), "{gone:?}");
    let misread = run(&mut session, "LOAD FROM 'numbers.csv' RETURN *").expect_err("a text is no name");
    assert_eq!((misread.code(), misread.remedy()), (ErrorCode::Syntax, "write LOAD CSV FROM for a file"));
}
