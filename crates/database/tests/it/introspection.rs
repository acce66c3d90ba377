//! The parts of a profile add up, each kind of wait is found under its name, and each call is counted once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use database::session::ResultSink;
use database::{
    Config, Database, Durability, ErrorCode, Parameters, PartKind, Phase, Priority, ResultBatch, Session,
    StatementSummary, Value, Wait, Waterfall,
};
use model::platform::Platform;
use testing::Folder;
use testing::random::SeededRandom;
use testing::simulation::{Delays, SlowClock, SlowDisk};

const NODES: u64 = 110_000;

fn open(folder: &Folder, threads: usize) -> Database {
    let config = Config { durability: Durability::Off, threads, ..Config::default() };
    Database::open(&folder.join("s.knot"), config).expect("the store of a test can be opened")
}

fn run(session: &mut Session, text: &str) -> StatementSummary {
    session.query(text, &Parameters::default()).unwrap_or_else(|error| panic!("{text}: {error:?}")).summary
}

/// The waterfall of a statement, after the checks that hold of all.
fn profiled(session: &mut Session, text: &str) -> (StatementSummary, Waterfall) {
    let summary = run(session, &format!("PROFILE {text}"));
    let report = summary.report.as_ref().expect("a profile has a report");
    let waterfall = report.waterfall.clone().expect("a profile has a waterfall");
    let sum: u64 = waterfall.parts.iter().map(|part| part.ns).sum();
    assert_eq!(sum, waterfall.whole_ns, "{text}: {waterfall:?}");
    assert!(waterfall.whole_ns <= summary.time_ns, "{text}");
    assert_eq!(summary.phases.whole_ns(), summary.time_ns, "{text}");
    let rests = waterfall.parts.iter().filter(|part| part.kind == PartKind::Unexplained).count();
    assert_eq!(rests, 1, "{text}");
    let operators: u64 = report.lines.iter().filter_map(|line| line.actual).map(|actual| actual.wall_ns).sum();
    assert!(operators <= summary.phases.ns(Phase::Run) + summary.phases.queue_ns(), "{text}: {waterfall:?}");
    for actual in report.lines.iter().filter_map(|line| line.actual) {
        assert_eq!(actual.wall_cpu_ns() + actual.wall_waits.total(), actual.wall_ns, "{text}");
    }
    assert!(!waterfall.finding.is_empty(), "{text}");
    for name in ["\"waterfall\":{", "\"finding\":\"", "\"wholeNs\":", "\"wallNs\":"] {
        assert!(report.json().contains(name), "{text}: {}", report.json());
    }
    (summary, waterfall)
}

/// A query that reads much or little, sorts, groups, follows edges, or runs in parts.
fn generated(random: &mut SeededRandom) -> String {
    let limit = 1 + random.below(NODES);
    let start = random.pick(&["MATCH (n:N)", "MATCH (n)", "MATCH (n:N)-[:R]->(m)", "MATCH (n:N)<-[r:R]-(m)"]);
    let condition = random.pick(&["n.id < #", "n.k = 3", "n.id = #", "n.k <> 2 AND n.id > #"]);
    let end = random.pick(&[
        "RETURN count(*)",
        "RETURN n.k AS k, count(*) ORDER BY k",
        "RETURN n.id AS id ORDER BY id DESC LIMIT 10",
        "RETURN n LIMIT 20",
        "RETURN DISTINCT n.k",
        "RETURN n.id, n.k",
        "WITH n LIMIT 50 RETURN n.id, COUNT { (n)-->() } AS degree",
        "RETURN sum(n.k), max(n.id)",
    ]);
    format!("{start} WHERE {condition} {end}").replace('#', &limit.to_string())
}

#[test]
fn parts_add_up_on_one_thread_and_on_several() {
    let folder = Folder::new();
    let seed = testing::random::seed_or(52);
    let mut random = SeededRandom::new(seed);
    {
        let database = open(&folder, 1);
        let mut session = database.session();
        run(&mut session, &format!("UNWIND range(1, {NODES}) AS i CREATE (:N {{id: i, k: i % 7}})"));
        run(&mut session, "UNWIND range(1, 5000) AS i CREATE (:N {id: -i, k: 1})-[:R]->(:N {id: -i - 5000, k: 2})");
        database.checkpoint().expect("a checkpoint can be made");
    }
    let texts: Vec<String> = (0..40).map(|_| generated(&mut random)).collect();
    let mut rows = Vec::new();
    for threads in [1, 3] {
        let database = open(&folder, threads);
        let mut session = database.session();
        let mut found = Vec::new();
        for text in &texts {
            let (summary, _) = profiled(&mut session, text);
            let report = summary.report.expect("a profile has a report");
            let given: Vec<u64> =
                report.lines.iter().filter_map(|line| line.actual).map(|actual| actual.rows).collect();
            found.push(given[0]);
        }
        let written = profiled(&mut session, "UNWIND range(1, 3000) AS i CREATE (x:X {i: i}) SET x.j = i DELETE x").1;
        assert!(written.ns(PartKind::Phase(Phase::Commit)) > 0);
        profiled(
            &mut session,
            "UNWIND range(1, 500) AS i CALL (i) { CREATE (x:X {i: i}) DELETE x } IN 2 CONCURRENT TRANSACTIONS OF 50 ROWS RETURN count(*)",
        );
        rows.push(found);
    }
    assert_eq!(rows[0], rows[1], "seed {seed}");
}

/// A database on a slow disk, whose clock nothing else moves far.
struct Slow {
    clock: Arc<SlowClock>,
    database: Database,
    folder: Folder,
}

const MS: u64 = 1_000_000;

impl Slow {
    fn new(delays: Delays, durability: Durability, memory_bytes_max: usize) -> Slow {
        Slow::open(Folder::new(), delays, durability, memory_bytes_max)
    }

    /// The same store, of which nothing is in memory.
    fn opened_anew(self, delays: Delays, durability: Durability, memory_bytes_max: usize) -> Slow {
        let Slow { database, folder, .. } = self;
        drop(database);
        Slow::open(folder, delays, durability, memory_bytes_max)
    }

    fn open(folder: Folder, delays: Delays, durability: Durability, memory_bytes_max: usize) -> Slow {
        let clock = Arc::new(SlowClock::default());
        let real = storage::os::platform();
        let disk = Arc::new(SlowDisk::new(real.disk.clone(), clock.clone(), delays));
        let platform = Platform { disk, clock: clock.clone(), random: real.random };
        let config = Config { durability, threads: 1, memory_bytes_max: Some(memory_bytes_max), ..Config::default() };
        let path = folder.join("s.knot");
        let database = Database::open_on(platform, &path, config).expect("the store of a test can be opened");
        Slow { clock, database, folder }
    }
}

/// Asserts that a statement waited so long for one thing, and for nothing else.
#[track_caller]
fn check_waits(waterfall: &Waterfall, expected: Wait, least: u64) {
    for wait in Wait::ALL {
        let ns = waterfall.ns(PartKind::Wait(wait));
        assert_eq!(ns, waterfall.waits.of(wait));
        if wait == expected {
            assert!(ns >= least, "{} ns of {} in {waterfall:?}", ns, wait.name());
        } else if wait != Wait::Verify {
            assert!(ns < MS, "{} ns of {} in {waterfall:?}", ns, wait.name());
        }
    }
}

#[test]
fn a_wait_for_the_disk_is_told_at_the_first_access_to_a_block() {
    let delays = || Delays { read: MS, ..Delays::default() };
    let slow = Slow::new(delays(), Durability::Off, 1 << 30);
    let mut session = slow.database.session();
    run(&mut session, "UNWIND range(1, 20000) AS i CREATE (:N {id: i})");
    slow.database.checkpoint().expect("a checkpoint can be made");
    drop(session);
    let slow = slow.opened_anew(delays(), Durability::Off, 1 << 30);
    let mut session = slow.database.session();
    let text = "MATCH (n:N) WHERE n.id < 0 RETURN n.id";
    let (summary, waterfall) = profiled(&mut session, text);
    check_waits(&waterfall, Wait::Disk, MS);
    assert!(waterfall.ns(PartKind::Wait(Wait::Verify)) > 0);
    assert!(summary.counts.block_misses > 0);
    assert!(waterfall.finding.contains("blocks came from disk"), "{}", waterfall.finding);
    let (summary, waterfall) = profiled(&mut session, text);
    assert_eq!(summary.counts.block_misses, 0);
    assert!(summary.counts.block_uses > 0);
    assert_eq!(waterfall.waits.total(), 0, "nobody waits for what is there");
}

#[test]
fn a_wait_for_the_log_is_told_in_the_commit() {
    let slow = Slow::new(Delays { sync: 5 * MS, ..Delays::default() }, Durability::Full, 1 << 30);
    let mut session = slow.database.session();
    let (summary, waterfall) = profiled(&mut session, "CREATE (:N)");
    check_waits(&waterfall, Wait::Log, 5 * MS);
    assert!(summary.phases.ns(Phase::Commit) >= 5 * MS);
    assert!(waterfall.finding.contains("the commit waited for the disk"), "{}", waterfall.finding);
    session.begin().expect("a transaction can be begun");
    let (_, waterfall) = profiled(&mut session, "CREATE (:N)");
    assert_eq!(waterfall.ns(PartKind::Wait(Wait::Log)), 0, "it commits nothing");
    let commit = run(&mut session, "COMMIT");
    assert!(commit.counts.waits.of(Wait::Log) >= 5 * MS && commit.phases.ns(Phase::Commit) >= 5 * MS);
}

#[test]
fn a_wait_for_temporary_files_is_told() {
    let slow = Slow::new(Delays { temporary: MS, ..Delays::default() }, Durability::Off, 1 << 30);
    let mut session = slow.database.session();
    session.set_query_memory(Some(100_000));
    let (summary, waterfall) = profiled(&mut session, "UNWIND range(1, 50000) AS i RETURN i ORDER BY i % 1000, i");
    check_waits(&waterfall, Wait::Spill, 2 * MS);
    assert!(summary.spilled_bytes > 0);
    assert!(waterfall.finding.contains("is temporary files: Sort"), "{}", waterfall.finding);
}

#[test]
fn a_wait_for_a_source_is_told_with_its_questions() {
    let slow = Slow::new(Delays::default(), Durability::Off, 1 << 30);
    let write = |name: &str, text: &str| std::fs::write(slow.folder.join(name), text).expect("a file can be written");
    write("p.csv", "id,name\n1,Ann\n2,Bob\n");
    write("d.json", r#"{"nodes": {"P": {"file": "p.csv", "key": "id", "properties": ["id", "name"]}}, "edges": {}}"#);
    let mut session = slow.database.session();
    run(&mut session, &format!("ATTACH '{}' AS d", slow.folder.join("d.json").display()));
    let (summary, waterfall) = profiled(&mut session, "MATCH (p:P) RETURN p.name");
    assert!(waterfall.ns(PartKind::Wait(Wait::Source)) > 0, "{waterfall:?}");
    assert!(summary.counts.round_trips > 0);
}

#[test]
fn a_wait_for_another_writer_is_told() {
    let slow = Slow::new(Delays::default(), Durability::Off, 16 << 20);
    let mut large = slow.database.session();
    run(&mut large, "CREATE (:N {id: 0})");
    large.begin().expect("a transaction can be begun");
    // More than memory has room for: it keeps the turn of writers.
    run(&mut large, "UNWIND range(1, 60000) AS i CREATE (:M {id: i, text: 'a text of some length for ' + i})");
    let (began, mut small) = (AtomicBool::new(false), slow.database.session());
    let summary = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            began.store(true, Ordering::Release);
            run(&mut small, "MATCH (n:N {id: 0}) SET n.x = 1")
        });
        while !began.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        // A writer that waits looks at the clock again and again.
        let start = slow.clock.time();
        while slow.clock.time() < start + 80 && !writer.is_finished() {
            std::thread::yield_now();
        }
        slow.clock.pass(1_000 * MS);
        large.commit().expect("the large transaction commits");
        writer.join().expect("the small one commits")
    });
    assert!(summary.counts.waits.of(Wait::Lock) >= 1_000 * MS, "{summary:?}");
    let phases = &summary.phases;
    assert!(phases.ns(Phase::Commit) + phases.ns(Phase::Retry) >= 1_000 * MS, "{summary:?}");
}

/// A sink that runs a statement of another session while its own is at work.
struct Crowd<'s> {
    other: &'s mut Session,
    summary: Option<StatementSummary>,
}

impl ResultSink for Crowd<'_> {
    fn columns(&mut self, _names: &[Arc<str>]) -> database::Result<()> {
        Ok(())
    }

    fn rows(&mut self, _batch: ResultBatch) -> database::Result<bool> {
        self.summary = Some(profiled(self.other, "UNWIND range(1, 20000) AS i RETURN count(i)").0);
        Ok(false)
    }
}

#[test]
fn a_wait_for_statements_that_come_first_is_told() {
    let slow = Slow::new(Delays::default(), Durability::Off, 1 << 30);
    let (mut first, mut other) = (slow.database.session(), slow.database.session());
    other.set_priority(Priority::Low);
    let mut crowd = Crowd { other: &mut other, summary: None };
    first.run("RETURN 1", &Parameters::default(), &mut crowd).expect("the statement runs");
    let summary = crowd.summary.expect("the other ran meanwhile");
    assert!(summary.counts.waits.of(Wait::Queue) > 0 && summary.phases.queue_ns() > 0, "{summary:?}");
}

#[test]
fn a_plan_of_the_cache_is_told() {
    let folder = Folder::new();
    let database = open(&folder, 1);
    let mut session = database.session();
    let first = run(&mut session, "RETURN 1");
    assert!(!first.phases.is_plan_cached && first.phases.compile_ns() > 0);
    let second = run(&mut session, "RETURN 1");
    assert!(second.phases.is_plan_cached);
    assert_eq!(second.phases.compile_ns(), 0);
    let (_, waterfall) = profiled(&mut session, "RETURN 1");
    assert!(!waterfall.is_plan_cached);
    assert!(profiled(&mut session, "RETURN 1").1.is_plan_cached);
}

/// `statement, calls, errors, rows, plan cache hits`, by text.
fn statements(session: &mut Session) -> Vec<(String, [i64; 4])> {
    let text = "SHOW STATEMENTS YIELD statement, calls, errors, rows, planCacheHits ORDER BY statement";
    let rows: Vec<Vec<Value>> = session.query(text, &Parameters::default()).expect(text).rows().collect();
    let number = |value: &Value| if let Value::Int(number) = value { *number } else { panic!("{value}") };
    let row = |row: &Vec<Value>| {
        let Value::String(statement) = &row[0] else { panic!("{}", row[0]) };
        (statement.to_string(), [1, 2, 3, 4].map(|at| number(&row[at])))
    };
    rows.iter().map(row).filter(|(text, _)| !text.starts_with("SHOW") && !text.starts_with("CALL")).collect()
}

#[test]
fn calls_of_sessions_at_the_same_time_are_counted_once_each() {
    let folder = Folder::new();
    let database = open(&folder, 2);
    run(&mut database.session(), "UNWIND range(1, 10) AS i CREATE (:N {id: i})");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let mut session = database.session();
            scope.spawn(move || {
                for number in 0..150 {
                    run(&mut session, "MATCH (n:N) RETURN n.id");
                    run(&mut session, &format!("RETURN {number} + 'secret{thread}'"));
                    session.query("RETURN 1 +", &Parameters::default()).err().expect("it does not parse");
                    session.query("RETURN 1 / 0", &Parameters::default()).err().expect("nobody can divide by it");
                }
            });
        }
    });
    let found = statements(&mut database.session());
    let of = |text: &str| found.iter().find(|(statement, _)| statement == text).map(|(_, counts)| *counts);
    assert_eq!(
        of("MATCH (n:N) RETURN n.id").map(|counts| counts[..3].to_vec()),
        Some(vec![600, 0, 6_000]),
        "{found:?}"
    );
    assert_eq!(of("RETURN ? + ?").map(|counts| counts[..3].to_vec()), Some(vec![600, 0, 600]), "{found:?}");
    assert_eq!(of("RETURN ? +"), Some([600, 600, 0, 0]), "{found:?}");
    assert_eq!(of("RETURN ? / ?").map(|counts| counts[..3].to_vec()), Some(vec![600, 600, 0]), "{found:?}");
    assert!(!found.iter().any(|(text, _)| text.contains("secret")), "{found:?}");
    let mut session = database.session();
    let forgotten = session.query("CALL dbms.resetStatements()", &Parameters::default()).expect("it can be called");
    assert!(matches!(forgotten.single(), Some(Value::Int(5..))), "{:?}", forgotten.single());
    assert_eq!(statements(&mut session), []);
}

#[test]
fn statements_that_end_early_are_errors_and_those_that_are_tried_again_count_once() {
    let folder = Folder::new();
    let database = open(&folder, 1);
    let mut session = database.session();
    struct Cancel(database::Interrupt);
    impl ResultSink for Cancel {
        fn columns(&mut self, _names: &[Arc<str>]) -> database::Result<()> {
            self.0.cancel();
            Ok(())
        }
        fn rows(&mut self, _batch: ResultBatch) -> database::Result<bool> {
            Ok(true)
        }
    }
    let mut cancel = Cancel(session.interrupt());
    let text = "UNWIND range(1, 1000000) AS i RETURN sum(i)";
    let failure = session.run(text, &Parameters::default(), &mut cancel).expect_err("it was cancelled");
    assert_eq!(failure.code(), ErrorCode::Cancelled);
    let mut result = database::QueryResult::default();
    let tried = session.run_briefly(
        "UNWIND range(1, 2000000) AS i RETURN max(i)",
        &Parameters::default(),
        &mut result,
        std::time::Duration::ZERO,
    );
    assert!(matches!(tried, Ok(None)));
    run(&mut session, "CREATE (:N {id: 1}) RETURN 1");
    run(&mut session, "MATCH (n) SET n.x = 3");
    session.begin().expect("a transaction can be begun");
    run(&mut session, "COMMIT");
    let expected = [
        ("COMMIT", [1, 0, 0, 0]),
        ("CREATE (:N {id: ?}) RETURN ?", [1, 0, 1, 0]),
        ("MATCH (n) SET n.x = ?", [1, 0, 0, 0]),
        ("UNWIND range(?, ?) AS i RETURN sum(i)", [1, 1, 0, 0]),
    ];
    assert_eq!(statements(&mut session), expected.map(|(text, counts)| (text.to_owned(), counts)));
}

#[test]
fn an_index_is_proposed_where_all_nodes_carry_the_label_too() {
    // On this clock the time of a part is the number of its looks: a busy machine does not change which is the longest.
    let slow = Slow::new(Delays::default(), Durability::Off, 1 << 30);
    let mut session = slow.database.session();
    run(&mut session, "UNWIND range(1, 50000) AS i CREATE (:P {u: i})");
    let proposed = |session: &mut Session| {
        let (_, waterfall) = profiled(session, "MATCH (p:P) WHERE p.u = 77 RETURN p.u");
        assert!(waterfall.finding.contains("CREATE INDEX FOR (p:P) ON (p.u)"), "{}", waterfall.finding);
    };
    // Once where the planner leaves the label out, and once where it cannot.
    proposed(&mut session);
    run(&mut session, "CREATE (:Q)");
    proposed(&mut session);
}
