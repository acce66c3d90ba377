//! Jobs of Spark against programs that stand in for it: what is said to them, their answers, and every way in which they fail.
//!
//! - `real`: Spark itself.
#![cfg(unix)]

#[path = "spark/real.rs"]
mod real;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use database::{Config, Database, Durability, Error, ErrorCode, Interrupt, Parameters, Session, SparkSettings, Value};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use testing::Folder;

/// The beginning of a program that works.
const GREETING: &str =
    "echo '{\"event\":\"begun\"}'; echo '{\"event\":\"ready\"}'; read task; echo \"$task\" >\"$0.task\"";
const WCC: &str = "CALL algo.wcc({execution: 'spark'})";

struct Fixture {
    folder: Folder,
    session: Session,
}

impl Fixture {
    /// A graph of five nodes, three of them in a row, and a program of shell for Spark.
    fn new(program: &str) -> Fixture {
        Fixture::with(program, None)
    }

    fn with(program: &str, timeout: Option<Duration>) -> Fixture {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        let python = folder.write("program", format!("#!/bin/sh\n{program}\n"));
        std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755))
            .expect("the folder of a test can be written");
        std::fs::create_dir(folder.join("jobs")).expect("the folder of a test can be written");
        let spark = SparkSettings { python, folder: Some(folder.join("jobs")), ..SparkSettings::default() };
        let session = open(&folder, spark, timeout);
        Fixture { folder, session }
    }

    fn rows(&mut self, text: &str) -> Vec<Vec<Value>> {
        let result =
            self.session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let rows = result.rows().collect();
        self.assert_nothing_is_left();
        rows
    }

    fn fails(&mut self, text: &str) -> Error {
        let error = self.session.query(text, &Parameters::default()).map(drop).expect_err(text);
        self.assert_nothing_is_left();
        error
    }

    /// The folder for jobs is empty, and no process that the program has noted lives.
    fn assert_nothing_is_left(&self) {
        assert_eq!(
            std::fs::read_dir(self.folder.join("jobs")).expect("the folder of a test can be written").count(),
            0,
            "a folder of a job is left"
        );
        for process in self.noted("processes").split_whitespace() {
            let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
            // A process that nobody waits for may stay as a zombie where the first process of a container is no init.
            let is_gone = state.is_empty() || state.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
            assert!(is_gone || cfg!(not(target_os = "linux")), "process {process} lives: {state}");
        }
    }

    /// The text that the program has left beside itself under that name.
    fn noted(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(&format!("program.{name}"))).unwrap_or_default()
    }

    /// Writes the result that the program copies to its place.
    fn result(&self, name: &str, nodes: Vec<i64>, values: ArrayRef) {
        std::fs::create_dir_all(self.folder.join("result")).expect("the folder of a test can be written");
        let columns = [("node", Arc::new(Int64Array::from(nodes)) as ArrayRef), ("value", values)];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true)))
            .expect("columns can be written");
        let file = File::create(self.folder.join(&format!("result/{name}.parquet")))
            .expect("the folder of a test can be written");
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("columns can be written");
        writer.write(&batch).expect("columns can be written");
        writer.close().expect("columns can be written");
    }
}

/// A store without nodes in a folder, whose jobs go to the program of another.
fn open_empty(folder: &Folder, programs: &Folder) -> Session {
    let (python, jobs) = (programs.join("program"), programs.join("jobs"));
    let spark = SparkSettings { python, folder: Some(jobs), ..SparkSettings::default() };
    let config = Config { durability: Durability::Off, threads: 2, spark: Some(spark), ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened").session()
}

fn open(folder: &Folder, spark: SparkSettings, timeout: Option<Duration>) -> Session {
    let config = Config { durability: Durability::Off, threads: 2, spark: Some(spark), timeout, ..Config::default() };
    let mut session = Database::open(&folder.join("store.knot"), config).expect("a store can be opened").session();
    session.set_timeout(None);
    session
        .query(
            "UNWIND range(0, 4) AS i CREATE (:N {i: i}) WITH count(*) AS all MATCH (a:N), (b:N) WHERE b.i = a.i + 1 AND b.i < 3 \
             CREATE (a)-[:R {w: a.i + 0.5}]->(b)",
            &Parameters::default(),
        )
        .expect("the statement runs");
    session.set_timeout(timeout);
    session
}

/// A program that does all it should, with the figures of a result that lies beside it, and keeps the tables.
fn answering(figures: &str) -> String {
    format!(
        "{GREETING}\ncp -R edges \"$0.edges\"\necho '{{\"event\":\"progress\",\"done\":1,\"total\":2}}'\n\
         cp -R \"$(dirname \"$0\")/result\" result\necho '{{\"event\":\"done\",\"figures\":{figures}}}'"
    )
}

#[test]
fn a_database_that_lets_nobody_use_spark_says_so() {
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, threads: 1, spark: None, ..Config::default() };
    let mut session = Database::open(&folder.join("store.knot"), config).expect("a store can be opened").session();
    let failure = session.query(WCC, &Parameters::default()).err().expect("nothing computes it");
    assert_eq!(failure.code(), ErrorCode::Argument);
    assert!(failure.remedy().contains("--spark-master"), "{failure}");
}

#[test]
fn a_job_gets_the_edges_and_its_rows_come_back() {
    let mut fixture = Fixture::new(&answering("{\"nodesReached\":3}"));
    let unknown: Vec<Option<f64>> = vec![Some(0.0), Some(0.5)];
    fixture.result("part-00000-a", vec![0, 1], Arc::new(Float64Array::from(unknown)));
    fixture.result("part-00001-a", vec![2], Arc::new(Float64Array::from(vec![2.0])));
    std::fs::write(fixture.folder.join("result/_SUCCESS"), "").unwrap();
    let text =
        "MATCH (s:N {i: 0}) CALL algo.sssp({execution: 'spark', sourceNode: s, weightProperty: 'w'}) YIELD node, cost
                RETURN node.i, cost";
    let expected = [(0, 0.0), (1, 0.5), (2, 2.0)].map(|(node, cost)| vec![Value::Int(node), Value::Float(cost)]);
    assert_eq!(fixture.rows(text), expected);
    let task: serde_json::Value = serde_json::from_str(&fixture.noted("task")).unwrap();
    let settings = serde_json::json!({"nodes": 5, "is_undirected": false, "is_weighted": true, "source": 0});
    assert_eq!(task, serde_json::json!({"name": "sssp", "rows": "known", "settings": settings}));
    let mut edges = Vec::new();
    for part in std::fs::read_dir(fixture.folder.join("program.edges")).unwrap() {
        let file = std::fs::OpenOptions::new().read(true).open(part.unwrap().path()).unwrap();
        for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let ends = |at: usize| batch.column(at).as_any().downcast_ref::<Int64Array>().unwrap().clone();
            let weights = batch.column(2).as_any().downcast_ref::<Float64Array>().unwrap();
            edges.extend((0..batch.num_rows()).map(|row| (ends(0).value(row), ends(1).value(row), weights.value(row))));
        }
    }
    edges.sort_by_key(|edge| edge.0);
    assert_eq!(edges, [(0, 1, 0.5), (1, 2, 1.5)]);
}

#[test]
fn results_are_written_and_figures_told() {
    let mut fixture = Fixture::new(&answering("{\"componentCount\":3}"));
    fixture.result("part-0", vec![0, 1, 2, 3, 4], Arc::new(Int64Array::from(vec![0, 0, 0, 3, 4])));
    let row = fixture.rows("CALL algo.wcc.write({execution: 'spark', writeProperty: 'c'})").remove(0);
    assert_eq!(row[..2], [Value::Int(5), Value::Int(3)]);
    let written = fixture.rows("MATCH (n:N) RETURN n.c ORDER BY n.i");
    assert_eq!(written, [0, 0, 0, 3, 4].map(|c| vec![Value::Int(c)]));
    assert_eq!(fixture.rows("CALL algo.wcc.stats({execution: 'spark'})")[0][0], Value::Int(3));
    assert!(fixture.noted("task").contains("\"rows\":\"none\""));
    // A node without a value loses the property.
    fixture.result("part-0", vec![0, 1, 2, 3, 4], Arc::new(Int64Array::from(vec![Some(0), None, None, None, None])));
    fixture.rows("CALL algo.wcc.write({execution: 'spark', writeProperty: 'c'})");
    assert_eq!(fixture.rows("MATCH (n:N) WHERE n.c IS NOT NULL RETURN count(n)"), [[Value::Int(1)]]);
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let folder = Folder::new();
    let spark = SparkSettings { python: PathBuf::from("/nowhere/python"), ..SparkSettings::default() };
    let error = open(&folder, spark, None).query(WCC, &Parameters::default()).map(drop).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Job);
    assert!(error.message().contains("/nowhere/python"), "{error:?}");
    assert!(error.remedy().contains("--spark-python"), "{error:?}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let folder = Folder::new();
    let spark = SparkSettings { folder: Some(folder.join("nowhere")), ..SparkSettings::default() };
    let error = open(&folder, spark, None).query(WCC, &Parameters::default()).map(drop).unwrap_err();
    assert_eq!(error.code(), ErrorCode::File);
    assert!(error.message().contains("nowhere") && error.remedy().contains("--spark-folder"), "{error:?}");
}

#[test]
fn failures_of_the_program_are_told() {
    let begun = "echo '{\"event\":\"begun\"}'";
    let failed = |message: &str| {
        format!("{begun}; echo '{{\"event\":\"failed\",\"message\":\"{message}\",\"remedy\":\"do this\"}}'")
    };
    let cases = [
        (
            "echo 'Traceback:' >&2; echo 'ImportError: no module' >&2; exit 1",
            ErrorCode::Job,
            "exit status: 1): ImportError: no module",
        ),
        ("echo hello world", ErrorCode::Job, "has said 'hello world'"),
        ("head -c 3000000 /dev/zero | tr '\\0' x", ErrorCode::Job, "has said 'xxx"),
        ("echo '{\"event\":\"done\"}'", ErrorCode::Job, "something else before 'begun'"),
        (&*format!("{begun}; {begun}; sleep 5"), ErrorCode::Job, "something else before 'ready'"),
        (&*format!("{begun}; kill -9 $$"), ErrorCode::Job, "signal: 9"),
        (&*format!("{GREETING}; kill -9 $$"), ErrorCode::Job, "signal: 9"),
        (&*failed("there is no Java"), ErrorCode::Job, "Spark has failed: there is no Java"),
        (&*failed("write: No space left on device"), ErrorCode::DiskFull, "No space left on device"),
        (
            &*format!("{GREETING}; echo '{{\"event\":\"done\",\"figures\":{{}}}}'"),
            ErrorCode::Job,
            "has not told 'componentCount'",
        ),
    ];
    for (program, code, part) in cases {
        let error = Fixture::new(program).fails(WCC);
        assert_eq!(error.code(), code, "{program}: {error:?}");
        assert!(error.message().contains(part), "{program}: {error:?}");
        assert!(!error.remedy().is_empty(), "{program}: {error:?}");
    }
    assert_eq!(Fixture::new(&failed("there is no Java")).fails(WCC).remedy(), "do this");
}

#[test]
fn results_that_are_none_are_told() {
    let done = "echo '{\"event\":\"done\",\"figures\":{\"componentCount\":1}}'";
    let mut fixture = Fixture::new(&format!("{GREETING}; {done}"));
    assert!(fixture.fails(WCC).message().contains("has left no result"));
    let mut fixture = Fixture::new(&format!("{GREETING}; mkdir result; echo nothing >result/part-0.parquet; {done}"));
    let error = fixture.fails(WCC);
    assert!(error.code() == ErrorCode::Job && error.message().contains("part-0.parquet"), "{error:?}");
    let mut fixture = Fixture::new(&answering("{\"componentCount\":1}"));
    fixture.result("part-0", vec![0, 77], Arc::new(Int64Array::from(vec![0, 0])));
    assert!(fixture.fails(WCC).message().contains("a node 77, which there is not"));
}

/// Programs that hang, with a process of their own: before they begin, before they are ready, at work; and one that does not listen.
const HANGING: [&str; 4] = [
    "sleep 1000 & echo $$ $! >\"$0.processes\"; wait",
    "sleep 1000 & echo $$ $! >\"$0.processes\"; echo '{\"event\":\"begun\"}'; wait",
    "sleep 1000 & echo $$ $! >\"$0.processes\"; echo '{\"event\":\"begun\"}'; echo '{\"event\":\"ready\"}'; read task; wait",
    "trap '' TERM; echo $$ >\"$0.processes\"; echo '{\"event\":\"begun\"}'; while :; do sleep 1; done",
];

#[test]
fn a_cancelled_job_leaves_nothing() {
    for program in HANGING {
        let mut fixture = Fixture::new(program);
        let interrupt: Interrupt = fixture.session.interrupt();
        let noted = fixture.folder.join("program.processes");
        let cancelling = std::thread::spawn(move || {
            while std::fs::read_to_string(&noted).unwrap_or_default().is_empty() {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(100));
            interrupt.cancel();
        });
        assert_eq!(fixture.fails(WCC).code(), ErrorCode::Cancelled, "{program}");
        cancelling.join().unwrap();
        // The session goes on.
        assert_eq!(fixture.rows("MATCH (n:N) RETURN count(n)"), [[Value::Int(5)]]);
    }
}

#[test]
fn a_job_ends_at_its_deadline() {
    let mut fixture = Fixture::with(HANGING[2], Some(Duration::from_millis(400)));
    assert_eq!(fixture.fails(WCC).code(), ErrorCode::Timeout);
}

#[test]
fn progress_is_told() {
    let progress = "echo '{\"event\":\"progress\",\"done\":3,\"total\":20}'; sleep 1000";
    let mut fixture = Fixture::new(&format!("{GREETING}; {progress}"));
    let interrupt = fixture.session.interrupt();
    let watching = std::thread::spawn(move || {
        while interrupt.progress() != (3, 20) {
            std::thread::sleep(Duration::from_millis(5));
        }
        interrupt.cancel();
    });
    assert_eq!(fixture.fails(WCC).code(), ErrorCode::Cancelled);
    watching.join().unwrap();
}

#[test]
fn spark_is_computed_by_only_where_it_is_named() {
    let mut fixture = Fixture::new("exit 1");
    assert_eq!(fixture.rows("CALL algo.wcc() YIELD component RETURN count(*)"), [[Value::Int(5)]]);
    let error = fixture.fails("CALL algo.triangleCount({execution: 'spark'})");
    assert!(error.message().ends_with("expected 'auto' or one of: memory, streaming, windows"), "{error:?}");
    let error = fixture.fails("CALL algo.wcc({execution: 'sparc'})");
    assert!(error.message().ends_with("expected 'auto' or one of: memory, streaming, windows, spark"), "{error:?}");
}

#[test]
fn estimates_show_every_way() {
    let mut fixture = Fixture::new("exit 1");
    let text = "CALL algo.pagerank.estimate({execution: $way}) YIELD execution, seconds, alternatives
                UNWIND alternatives AS a RETURN execution, seconds, a.execution, a.fits, a.seconds, a.remark";
    let mut rows = |way: &str| fixture.rows(&text.replace("$way", &format!("'{way}'")));
    let auto = rows("auto");
    let ways: Vec<String> = auto.iter().map(|row| row[2].to_string()).collect();
    assert_eq!(ways, ["'memory'", "'streaming'", "'windows'", "'spark'"]);
    for row in &auto {
        assert_eq!(row[0], Value::string("memory"));
        assert_eq!(row[3], Value::Bool(true));
        assert_eq!(row[4].is_null(), row[2] == Value::string("spark"), "{row:?}");
        assert_eq!(row[5] == Value::string(""), row[2] != Value::string("spark"), "{row:?}");
    }
    let spark = rows("spark");
    assert_eq!((&spark[0][0], &spark[0][1], spark.len()), (&Value::string("spark"), &Value::Null, 4));
}
