//! Spark itself, on this machine: a Python with PySpark is named by `KNOTWORK_SPARK_PYTHON`; `scripts/spark.sh test` installs
//! one. Skipped aloud otherwise.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use database::{Config, Database, ErrorCode, Parameters, Session, SparkSettings, Value};
use testing::Folder;

use super::{Fixture, GREETING};

/// Relative difference that a score may have: the engine rounds what a node gives to 32 bits.
const TOLERANCE: f64 = 1e-6;

fn python() -> Option<PathBuf> {
    let named = std::env::var_os("KNOTWORK_SPARK_PYTHON").map(PathBuf::from);
    if named.is_none() {
        testing::servers::skip(
            "Spark: KNOTWORK_SPARK_PYTHON names no Python with PySpark; scripts/spark.sh test installs one",
        );
    }
    named
}

fn spark(python: PathBuf, folder: &Folder) -> SparkSettings {
    let folder = folder.join("jobs");
    std::fs::create_dir_all(&folder).expect("the folder of a test can be written");
    let options = vec![("spark.driver.memory".to_owned(), "1g".to_owned())];
    SparkSettings { python, folder: Some(folder), master: "local[2]".to_owned(), options }
}

fn open(folder: &Folder, spark: SparkSettings) -> Session {
    let config = Config { durability: database::Durability::Off, threads: 2, spark: Some(spark), ..Config::default() };
    Database::open(&folder.join("store.knot"), config).expect("a store can be opened").session()
}

fn query(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error:?}")).rows().collect()
}

/// Processes whose command names the folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy();
    let entries = std::fs::read_dir("/proc").expect("processes can be listed").flatten();
    let commands = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let texts = commands.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    texts.filter(|text| text.contains(&*folder)).collect()
}

/// Graphs with what kernels may trip over: statements that make them.
const GRAPHS: &[(&str, &[&str])] = &[
    ("no nodes", &[]),
    ("no edges", &["UNWIND range(0, 3) AS i CREATE (:A {i: i})"]),
    (
        // Self-loops, parallel edges, edges in both directions, nodes without edges in or out, weights of 0, several components.
        "odd",
        &[
            "UNWIND range(0, 15) AS i CREATE (:A {i: i})",
            "UNWIND [[0,1,1.5],[0,1,0.5],[1,2,2.0],[2,0,0.0],[2,2,1.0],[1,0,3.0],[2,3,1.0],[3,4,1.0],[0,3,9.0],[5,6,1.0],
                     [7,5,2.5],[8,8,1.0],[9,10,0.0],[11,12,1.0],[12,13,1.0],[13,14,1.0],[14,11,1.0],[11,13,5.0],[6,5,0.25]] AS e
             MATCH (a:A {i: e[0]}), (b:A {i: e[1]}) CREATE (a)-[:R {w: e[2]}]->(b)",
        ],
    ),
    (
        "random",
        &[
            "UNWIND range(0, 119) AS i CREATE (n:A {i: i}) WITH n WHERE n.i % 3 > 0 SET n:B",
            "UNWIND range(0, 699) AS k MATCH (a:A {i: (k * k * 31 + k) % 97}), (b:A {i: (k * 53 + k / 7) % 113})
             CREATE (a)-[:R {w: (k % 13) / 4.0}]->(b)",
            "UNWIND range(0, 99) AS k MATCH (a:A {i: k}), (b:A {i: (k * 7) % 120}) CREATE (a)-[:S {w: 1.0}]->(b)",
        ],
    ),
];

/// Calls, with `$way` in the place of the execution. Those with a source have it where the graph has a node with number 0.
const CALLS: &[&str] = &[
    "pagerank {maxIterations: 6}",
    "pagerank {maxIterations: 5, direction: 'BOTH', dampingFactor: 0.7}",
    "pagerank {maxIterations: 50, tolerance: 0.001, direction: 'IN'}",
    "pagerank {maxIterations: 4, weightProperty: 'w'}",
    "wcc {}",
    "cdlp {maxIterations: 4}",
    "cdlp {direction: 'BOTH'}",
    "lcc {}",
    "lcc {direction: 'OUT'}",
    "pagerank {maxIterations: 5, sourceNodes: [0, 2], sourceWeights: [1.0, 3.0]}",
    "bfs {sourceNode: 0}",
    "bfs {sourceNode: 1, direction: 'IN', maxDepth: 2}",
    "sssp {sourceNode: 0, weightProperty: 'w'}",
    "sssp {sourceNode: 1, direction: 'BOTH'}",
];
/// Calls on graphs without edges.
const CALLS_WITHOUT_EDGES: &[&str] =
    &["pagerank {maxIterations: 2}", "wcc {}", "cdlp {}", "lcc {}", "bfs {sourceNode: 0}", "sssp {sourceNode: 0}"];
/// Calls on the last graph alone.
const SELECTIONS: &[&str] = &[
    "pagerank {maxIterations: 5, labels: 'B', types: 'R'}",
    "wcc {labels: 'B', types: 'S'}",
    "bfs {labels: ['B'], sourceNode: 1}",
];

struct Case {
    name: String,
    algorithm: String,
    rows: Vec<(i64, Value)>,
    figures: Vec<Value>,
}

/// Computes with the engine, and keeps the tables and the task that Spark would get; `None` if the source is not there.
fn keep(fixture: &mut Fixture, (graph, call): (&str, &str), place: &Path) -> Option<Case> {
    let (algorithm, settings) = call.split_once(' ').expect("a call has settings");
    if graph == "no nodes" && call.contains("source") {
        return None;
    }
    let with = |way: &str| match settings {
        "{}" => format!("{{execution: '{way}'}}"),
        _ => settings.replacen('{', &format!("{{execution: '{way}', "), 1),
    };
    let rows = fixture.rows(&format!("CALL algo.{algorithm}({})", with("memory")));
    let mut figures = fixture.rows(&format!("CALL algo.{algorithm}.stats({})", with("memory"))).remove(0);
    figures.truncate(figures.len() - 2);
    let error = fixture.fails(&format!("CALL algo.{algorithm}({})", with("spark")));
    assert!(error.message().contains("kept"), "{call}: {error:?}");
    std::fs::create_dir_all(place).expect("the folder of a test can be written");
    std::fs::rename(fixture.folder.join("program.edges"), place.join("edges"))
        .expect("the folder of a test can be written");
    std::fs::rename(fixture.folder.join("program.task"), place.join("task.json"))
        .expect("the folder of a test can be written");
    let ids = |value: &Value| if let Value::Node(node) = value { node.0.cast_signed() } else { panic!("a node") };
    let rows = rows.into_iter().map(|row| (ids(&row[0]), row[1].clone())).collect();
    Some(Case { name: format!("{graph}: {call}"), algorithm: algorithm.to_owned(), rows, figures })
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= TOLERANCE * expected.abs()
}

/// Compares the rows and figures of Spark with those of the engine. Nodes with labels of their own have other numbers than ids.
fn compare(case: &Case, told: &serde_json::Value) {
    let found = told["rows"].as_array().expect("Spark tells rows and figures");
    assert_eq!(found.len(), case.rows.len(), "{}: rows", case.name);
    let mut numbers: Vec<i64> = case.rows.iter().map(|row| row.0).collect();
    numbers.sort_unstable();
    let number = |id: i64| numbers.iter().position(|&other| other == id).expect("the node has a row") as i64;
    let names_nodes = matches!(&*case.algorithm, "wcc" | "cdlp");
    // Nodes of searches, of which not all have a row, are compared by their values alone.
    let is_whole = !matches!(&*case.algorithm, "bfs" | "sssp");
    for ((id, value), row) in case.rows.iter().zip(found) {
        let is_node = !is_whole || row[0].as_i64() == Some(number(*id));
        let is_value = match value {
            Value::Int(name) if names_nodes => row[1].as_i64() == Some(number(*name)),
            Value::Int(count) => row[1].as_i64() == Some(*count),
            Value::Float(score) => is_near(row[1].as_f64().expect("Spark tells rows and figures"), *score),
            other => panic!("{other}"),
        };
        assert!(is_node && is_value, "{}: node {id} has {value}, Spark says {row}", case.name);
    }
    let figures: Vec<&serde_json::Value> =
        told["figures"].as_object().expect("Spark tells rows and figures").values().collect();
    for expected in &case.figures {
        let is_told = figures.iter().any(|told| match expected {
            Value::Int(count) => told.as_i64() == Some(*count),
            Value::Bool(flag) => told.as_bool() == Some(*flag),
            Value::Float(number) => told.as_f64().is_some_and(|told| is_near(told, *number)),
            other => panic!("{other}"),
        });
        assert!(is_told, "{}: the figure {expected} is not among {figures:?}", case.name);
    }
}

#[test]
fn kernels_agree_with_the_engine() {
    let Some(python) = python() else { return };
    let cases = Folder::new();
    let mut kept = Vec::new();
    for (graph, statements) in GRAPHS {
        let standing_in =
            format!("{GREETING}\ncp -R edges \"$0.edges\"\necho '{{\"event\":\"failed\",\"message\":\"kept\"}}'");
        let mut fixture = Fixture::new(&standing_in);
        let folder = Folder::new();
        fixture.session = super::open_empty(&folder, &fixture.folder);
        statements.iter().for_each(|text| drop(fixture.rows(text)));
        let calls = if graph.starts_with("no ") { CALLS_WITHOUT_EDGES } else { CALLS };
        let calls = calls.iter().chain(SELECTIONS.iter().filter(|_| *graph == "random"));
        for call in calls {
            let place = cases.join(&format!("case-{:03}", kept.len()));
            kept.extend(keep(&mut fixture, (graph, call), &place));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(root.join("tests/spark/cases.py"))
        .args([root.join("../../python/knotwork/spark"), cases.path().to_owned()])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", output.status);
    let lines: Vec<serde_json::Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), kept.len());
    kept.iter().zip(&lines).for_each(|(case, told)| compare(case, told));
    println!("spark: {} computations agree with the engine", kept.len());
}

#[test]
fn pagerank_of_a_million_edges_is_that_of_the_engine() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let mut session = open(&folder, spark(python, &folder));
    let (mut nodes, mut edges) = ("id\n".to_owned(), "from,to\n".to_owned());
    (0..1 << 17).for_each(|node| nodes += &format!("{node}\n"));
    let mut random = testing::random::SeededRandom::new(7);
    for _ in 0..1_000_000 {
        // A few nodes get many edges.
        let [from, to] = [0, 1].map(|_| (0..17).fold(0, |node, _| node * 2 + u64::from(random.below(100) < 30)));
        edges += &format!("{from},{to}\n");
    }
    let (nodes, edges) = (folder.write("nodes.csv", nodes), folder.write("edges.csv", edges));
    query(&mut session, "CREATE NODE TABLE N (id INT64, PRIMARY KEY (id))");
    query(&mut session, &format!("COPY N FROM '{}'", nodes.display()));
    query(&mut session, &format!("COPY R FROM '{}' (from = 'N', to = 'N')", edges.display()));
    let clock = storage_clock();
    let mut scores = Vec::new();
    let mut times = Vec::new();
    for way in ["memory", "streaming", "windows", "spark"] {
        let start = clock();
        scores.push(query(&mut session, &format!("CALL algo.pagerank({{execution: '{way}'}}) YIELD node, score")));
        times.push(clock() - start);
        println!("spark: PageRank of 1,000,000 edges, 20 iterations, {way}: {:.2} s", times[times.len() - 1]);
    }
    println!("spark: Spark takes {:.0} times as long as memory", times[3] / times[0]);
    assert_eq!(scores[0].len(), 1 << 17);
    for (ours, theirs) in scores[0].iter().zip(&scores[3]) {
        let (Value::Float(expected), Value::Float(found)) = (&ours[1], &theirs[1]) else { panic!("scores") };
        assert!(ours[0] == theirs[0] && is_near(*found, *expected), "{ours:?} {theirs:?}");
    }
}

/// Seconds.
fn storage_clock() -> impl Fn() -> f64 {
    let clock = storage::os::platform().clock;
    move || clock.now_ns() as f64 / 1e9
}

#[test]
fn results_are_written_and_a_cancelled_job_leaves_no_process() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let mut session = open(&folder, spark(python, &folder));
    GRAPHS[2].1.iter().for_each(|text| drop(query(&mut session, text)));
    let row = query(
        &mut session,
        "CALL algo.sssp.write({execution: 'spark', sourceNode: 0, weightProperty: 'w', writeProperty: 'c'})",
    );
    assert_eq!(row[0][..2], [Value::Int(5), Value::Int(5)]);
    let written = query(&mut session, "MATCH (n) WHERE n.c IS NOT NULL RETURN n.i, n.c ORDER BY n.i");
    let costs = [0.0, 0.5, 2.5, 3.5, 4.5];
    assert_eq!(written, [0, 1, 2, 3, 4].map(|i| vec![Value::Int(i), Value::Float(costs[i as usize])]));
    let interrupt = session.interrupt();
    let jobs = folder.join("jobs");
    let watching = std::thread::spawn({
        let jobs = jobs.clone();
        move || {
            while interrupt.progress().0 < 3 {
                std::thread::sleep(Duration::from_millis(10));
            }
            assert!(processes_of(&jobs).iter().any(|command| command.contains("java")), "the JVM is at work");
            interrupt.cancel();
        }
    });
    let text = "CALL algo.pagerank({execution: 'spark', maxIterations: 1000, tolerance: 0.0})";
    let error = session.query(text, &Parameters::default()).map(drop).unwrap_err();
    watching.join().unwrap();
    assert_eq!(error.code(), ErrorCode::Cancelled);
    assert_eq!(processes_of(&jobs), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(&jobs).unwrap().count(), 0);
}

/// The process that `a_killed_process_leaves_nothing` kills: a test that does nothing unless it is told a folder.
#[test]
fn process_to_be_killed() {
    let (Some(place), Some(python)) = (std::env::var_os("KNOTWORK_SPARK_KILLED"), python()) else { return };
    let spark = SparkSettings { python, folder: Some(PathBuf::from(place)), ..SparkSettings::default() };
    let folder = Folder::new();
    let mut session = open(&folder, spark);
    GRAPHS[2].1.iter().for_each(|text| drop(query(&mut session, text)));
    query(&mut session, "CALL algo.pagerank({execution: 'spark', maxIterations: 1000, tolerance: 0.0})");
}

#[test]
fn a_killed_process_leaves_nothing() {
    if python().is_none() {
        return;
    }
    let folder = Folder::new();
    let mut killed = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "real::process_to_be_killed"])
        .env("KNOTWORK_SPARK_KILLED", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let wait_until = |is_so: &dyn Fn() -> bool| {
        (0..1_200).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            is_so()
        })
    };
    let has_java = || processes_of(folder.path()).iter().any(|command| command.contains("SparkSubmit"));
    assert!(wait_until(&has_java), "the JVM starts");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let is_clean = || processes_of(folder.path()).is_empty() && std::fs::read_dir(folder.path()).unwrap().count() == 0;
    assert!(wait_until(&is_clean), "left: {:?}", processes_of(folder.path()));
}

#[test]
fn what_is_missing_is_named() {
    let Some(python) = python() else { return };
    let no_java = format!("JAVA_HOME=/nowhere exec {} \"$@\"", python.display());
    let error = Fixture::new(&no_java).fails("CALL algo.wcc({execution: 'spark'})");
    assert_eq!(error.code(), ErrorCode::Job);
    assert!(error.message().contains("/nowhere/bin/java") && error.remedy().contains("Java 17"), "{error:?}");
    // Isolated, Python finds no packages of an environment.
    let no_pyspark = format!("exec {} -S \"$@\"", python.display());
    let error = Fixture::new(&no_pyspark).fails("CALL algo.wcc({execution: 'spark'})");
    assert!(error.message().contains("has no PySpark") && error.remedy().contains("pip install"), "{error:?}");
}
