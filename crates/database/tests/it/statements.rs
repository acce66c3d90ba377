//! Statements that store much, commit often or change the schema, put through what the store itself is put through: power
//! cuts, kills, full disks, sectors that cannot be read, little memory, and an end at any check.
//!
//! Each is run on a copy of one store on a simulated disk. What is there afterwards is all that the statement does, or
//! nothing of it; of a statement that commits by itself, some of its batches, the first ones. The statement can then be run
//! again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use database::export::{ExportFormat, export};
use database::{Config, Database, Durability, Error, ErrorCode, Interrupt, Parameters};
use model::Consumer;
use model::platform::Disk;
use testing::Folder;
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{FaultyDisk, JournalDisk, MemoryDisk, PAGE_BYTES, SURVIVALS, Ticks, Wreck, platform};

const STORE: &str = "/stores/test.knot";
/// Nodes of the store that the statements are run on, unless they are to need memory.
const SMALL: usize = 300;
/// Bytes that a bulk load takes at least.
const BULK_LOAD_BYTES: usize = model::limits::IMPORT_MEMORY_BYTES_MIN + (16 << 20);
/// Moments of a statement at which it meets something.
const MOMENTS: u64 = 9;

/// A statement, and what it may leave.
struct Subject {
    name: &'static str,
    statement: String,
    /// Statements that do the first parts of it, for one that commits by itself.
    parts: Vec<String>,
}

/// All that a store holds, line by line.
type Content = Vec<String>;

/// The statements, for a store of `size` nodes; their files lie in the folder.
fn subjects(folder: &Folder, size: usize) -> Vec<Subject> {
    let rows = |line: &dyn Fn(usize) -> String| (1..=size).map(|row| line(row) + "\n").collect::<String>();
    let file = |name: &str, text: String| {
        folder.write(name, text);
        folder.join(name).display().to_string()
    };
    let nodes = file("nodes.csv", format!("id,text\n{}", rows(&|row| format!("{},text {row}", row + size))));
    let edges = file("edges.csv", format!("from,to,w\n{}", rows(&|row| format!("{row},{},{row}", row % 7 + 1))));
    let known = file("known.csv", format!("id,text\n{}", rows(&|row| format!("{row},new text {row}"))));
    let keyed = |row: usize| format!("{row},{},{row},new text {row}", row % 50 + 1);
    let keyed = file("keyed.csv", format!("source,target,w,text\n{}", rows(&keyed)));
    let once = |name, statement: &str| Subject { name, statement: statement.to_owned(), parts: Vec::new() };
    let batch = size.div_ceil(5);
    let made = |count: usize| {
        format!(
            "UNWIND range(1, {count}) AS i CALL (i) {{ CREATE (:Made {{id: -i}}) }} IN TRANSACTIONS OF {batch} ROWS"
        )
    };
    vec![
        once("COPY to a new label", &format!("COPY P FROM '{nodes}'")),
        once("COPY to a label", &format!("COPY N FROM '{nodes}'")),
        once("COPY that updates nodes", &format!("COPY N FROM '{known}' (on_duplicate = 'update')")),
        once(
            "COPY that updates relationships",
            &format!("COPY R FROM '{keyed}' (from = 'N', to = 'N', edge_key = 'w', on_duplicate = 'update')"),
        ),
        once("COPY of a relationship table", &format!("COPY Held FROM '{edges}'")),
        Subject {
            name: "IN TRANSACTIONS",
            statement: made(size),
            parts: (1..5).map(|part| made((part * batch).min(size))).collect(),
        },
        once("algorithm that writes a property", "CALL algo.wcc.write({writeProperty: 'part'})"),
        once(
            "algorithm that writes relationships",
            "CALL algo.nodeSimilarity.write({topK: 1, similarityCutoff: 0.0, writeProperty: 'near', \
             writeRelationshipType: 'NEAR'})",
        ),
        once(
            "many writes",
            "MATCH (n:N) SET n.text = 'some longer text of ' + n.id CREATE (n)-[:R {w: n.id}]->(:M {id: -n.id})",
        ),
        once("many deletes", "MATCH (n:N) WHERE n.id > 10 DETACH DELETE n"),
        once("unique constraint", "CREATE CONSTRAINT c FOR (n:N) REQUIRE n.w IS UNIQUE"),
        once("composite constraint", "CREATE CONSTRAINT c FOR (n:N) REQUIRE (n.k, n.w) IS NODE KEY"),
        once("existence constraint", "CREATE CONSTRAINT c FOR (n:N) REQUIRE n.k IS NOT NULL"),
        once("type constraint", "CREATE CONSTRAINT c FOR (n:N) REQUIRE n.k IS :: INTEGER"),
        once("index of nodes", "CREATE INDEX c FOR (n:N) ON (n.k, n.s)"),
        once("index of relationships", "CREATE INDEX c FOR ()-[r:R]-() ON (r.w)"),
        once("sort key", "CREATE SORT KEY FOR ()-[r:R]-() ON (r.w)"),
        once("relationship table", "CREATE REL TABLE Kept(FROM N TO N, w INT64)"),
    ]
}

/// The disk with the store that statements are run on: files, and a log above them.
fn base(size: usize) -> MemoryDisk {
    let disk = MemoryDisk::new();
    let database = open(Arc::new(disk.clone()), None).expect("a store can be made");
    let half = size / 2;
    for range in [format!("range(1, {half})"), format!("range({half} + 1, {size})")] {
        let make = format!("UNWIND {range} AS i CREATE (:N {{id: i, k: i % 10, w: i + 0.5, s: 's' + i}})");
        run(&database, &make).expect("nodes");
        if range.starts_with("range(1,") {
            run(&database, "CREATE CONSTRAINT ids FOR (n:N) REQUIRE n.id IS UNIQUE").expect("a constraint");
            run(&database, "CREATE REL TABLE Held(FROM N TO N, w INT64)").expect("a table");
        }
        let edges =
            "MATCH (a:N), (b:N {id: a.id % 50 + 1}) WHERE NOT EXISTS { (a)-[:R]->() } CREATE (a)-[:R {w: a.id}]->(b)";
        run(&database, edges).expect("edges");
        if range.starts_with("range(1,") {
            database.checkpoint().expect("a checkpoint");
        }
    }
    drop(database);
    disk
}

fn open(disk: Arc<dyn Disk>, memory: Option<usize>) -> Result<Database, Error> {
    open_with(disk, Config { memory_bytes_max: memory, ..Config::default() })
}

fn open_with(disk: Arc<dyn Disk>, config: Config) -> Result<Database, Error> {
    let config = Config { durability: Durability::Full, threads: 1, ..config };
    Database::open_on(platform(disk, 3), Path::new(STORE), config)
}

fn run(database: &Database, text: &str) -> Result<(), Error> {
    database.session().query(text, &Parameters::default()).map(|_| ())
}

fn content(database: &Database) -> Content {
    let mut lines = Vec::new();
    for text in [
        "MATCH (n) RETURN n.id, labels(n), properties(n)",
        "MATCH (a)-[r]->(b) RETURN a.id, b.id, type(r), properties(r)",
        "SHOW CONSTRAINTS YIELD name, type RETURN name, type",
        "SHOW INDEXES YIELD name, type, properties RETURN name, type, properties",
        "SHOW SORT KEYS",
    ] {
        let found = database.session().query(text, &Parameters::default());
        lines.extend(found.unwrap_or_else(|error| panic!("{text}: {error:?}")).rows().map(|row| format!("{row:?}")));
    }
    lines.sort_unstable();
    lines
}

fn content_on(disk: &MemoryDisk, place: &str) -> Content {
    let database = open(Arc::new(disk.clone()), None).unwrap_or_else(|error| panic!("{place}: {error:?}"));
    content(&database)
}

/// The states that a statement may leave: nothing of it first, all of it last.
fn allowed(disk: &MemoryDisk, subject: &Subject) -> Vec<Content> {
    let mut states = vec![content_on(disk, subject.name)];
    for text in subject.parts.iter().chain([&subject.statement]) {
        let database = open(Arc::new(disk.copy()), None).expect("a store can be opened");
        run(&database, text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        states.push(content(&database));
    }
    assert_ne!(states.first(), states.last(), "{} does nothing", subject.name);
    states
}

/// Numbers below a bound: all if they are few, else some.
fn some(bound: u64, random: &mut SeededRandom) -> Vec<u64> {
    if bound <= MOMENTS { (0..bound).collect() } else { (0..MOMENTS).map(|_| random.below(bound)).collect() }
}

/// Runs a test for each statement: on its disk, with what it may leave.
fn for_each(size: usize, test: impl Fn(&Subject, &MemoryDisk, &[Content], &mut SeededRandom, &str)) {
    let (folder, disk, seed) = (Folder::new(), base(size), seed_or(29));
    let mut random = SeededRandom::new(seed);
    for subject in subjects(&folder, size) {
        let states = allowed(&disk, &subject);
        test(&subject, &disk, &states, &mut random, &format!("FUZZ_SEED={seed}: {}", subject.name));
    }
}

/// Checks what a statement has left, and that it can be run again if it has left nothing.
fn check_left(database: &Database, done: &Result<(), Error>, subject: &Subject, states: &[Content], place: &str) {
    let found = content(database);
    assert!(states.contains(&found), "{place}: a part of the statement is there; it ended with {done:?}");
    let is_done = Some(&found) == states.last();
    // A statement that commits by itself may be stopped behind its last batch.
    assert!(is_done == done.is_ok() || is_done && !subject.parts.is_empty(), "{place}: {done:?}");
    assert_eq!(database.spill_space().open_files(), 0, "{place}");
    if states.first() == Some(&found) {
        assert_eq!(database.memory().used_by(Consumer::Query), 0, "{place}");
        run(database, &subject.statement).unwrap_or_else(|error| panic!("{place}: run again: {error:?}"));
        assert_eq!(Some(&content(database)), states.last(), "{place}: run again");
    }
}

/// A statement on a disk that fails with errors of one code.
struct Trial<'a> {
    subject: &'a Subject,
    states: &'a [Content],
    code: ErrorCode,
}

impl Trial<'_> {
    /// Runs the statement, mends the disk, checks what is left, and closes the store. True if the statement failed.
    fn run(&self, database: Database, mend: impl FnOnce(), place: &str) -> bool {
        let done = run(&database, &self.subject.statement);
        if let Err(error) = &done {
            assert_eq!(error.code(), self.code, "{place}: {error:?}");
        }
        mend();
        check_left(&database, &done, self.subject, self.states, place);
        done.is_err()
    }
}

fn check_files(disk: &MemoryDisk, place: &str) {
    let found = storage::check::check(&platform(Arc::new(disk.clone()), 5), Path::new(STORE), &model::Interrupt::new());
    assert!(found.as_ref().is_ok_and(Vec::is_empty), "{place}: {found:?}");
}

#[test]
fn power_cuts_and_kills_leave_all_or_nothing() {
    for_each(SMALL, |subject, disk, states, random, place| {
        let journal_disk = JournalDisk::over(disk.copy());
        let database = open(Arc::new(journal_disk.clone()), None).expect("a store can be opened");
        let start = journal_disk.position();
        run(&database, &subject.statement).unwrap_or_else(|error| panic!("{place}: {error:?}"));
        let end = journal_disk.position();
        drop(database);
        let events = journal_disk.journal().events;
        let points: Vec<usize> =
            some((end - start) as u64, random).iter().map(|point| start + *point as usize).collect();
        let mut wreck = Wreck::of(disk);
        for (position, event) in events.iter().enumerate() {
            if points.contains(&position) || position == end {
                let place = format!("{place}: before operation {position}, {event:?}");
                let states = if position == end { &states[states.len() - 1..] } else { states };
                let left = wreck.after_power_cut(SURVIVALS[position % SURVIVALS.len()], position as u64);
                assert!(states.contains(&content_on(&left, &place)), "{place}: a part of the statement is there");
                check_files(&left, &place);
                check_second_life(wreck.after_kill(), states, &place);
            }
            wreck.advance(event);
        }
    });
}

/// After a kill, a commit, and a power cut all is there that was seen after the kill, and the commit.
fn check_second_life((disk, mut wreck): (MemoryDisk, Wreck), states: &[Content], place: &str) {
    let journal_disk = JournalDisk::over(disk);
    let database = open(Arc::new(journal_disk.clone()), None).unwrap_or_else(|error| panic!("{place}: {error:?}"));
    assert!(states.contains(&content(&database)), "{place}: after a kill a part of the statement is there");
    run(&database, "CREATE (:Later)").unwrap_or_else(|error| panic!("{place}: {error:?}"));
    let expected = content(&database);
    let end = journal_disk.position();
    drop(database);
    journal_disk.journal().events[..end].iter().for_each(|event| wreck.advance(event));
    let left = wreck.after_power_cut(SURVIVALS[0], 1);
    assert_eq!(content_on(&left, place), expected, "{place}: after a kill and a power cut");
}

#[test]
fn a_full_disk_leaves_all_or_nothing_and_what_has_no_room_can_be_run_again() {
    for_each(SMALL, |subject, disk, states, random, place| {
        let operations = {
            let counted = FaultyDisk::new(Arc::new(disk.copy()));
            let database = open(Arc::new(counted.clone()), None).expect("a store can be opened");
            let start = counted.operation_count();
            run(&database, &subject.statement).unwrap_or_else(|error| panic!("{place}: {error:?}"));
            counted.operation_count() - start
        };
        for operation in some(operations, random) {
            let place = format!("{place}: full from operation {operation} of {operations}");
            let inner = disk.copy();
            let faulty = FaultyDisk::new(Arc::new(inner.clone()));
            let database = open(Arc::new(faulty.clone()), None).expect("a store can be opened");
            faulty.fill_at(faulty.operation_count() + operation);
            let trial = Trial { subject, states, code: ErrorCode::DiskFull };
            trial.run(database, || faulty.mend(), &place);
            check_files(&inner, &place);
        }
    });
}

#[test]
fn sectors_that_cannot_be_read_leave_all_or_nothing() {
    for_each(SMALL, |subject, disk, states, random, place| {
        let is_data = |path: &Path| path.extension().is_some_and(|kind| kind != "wal") && !path.ends_with("LOCK");
        let pages: Vec<(PathBuf, u64)> = disk.pages().into_iter().filter(|(path, _)| is_data(path)).collect();
        for number in some(pages.len() as u64, random) {
            let (path, start) = &pages[number as usize];
            let place = format!("{place}: the page at byte {start} of {}", path.display());
            let inner = disk.copy();
            let faulty = FaultyDisk::new(Arc::new(inner.clone()));
            let is_late = number % 2 == 0;
            let fail = || faulty.fail_reads(path, *start..start + 1);
            if !is_late {
                fail();
            }
            let database = match open(Arc::new(faulty.clone()), None) {
                Ok(database) => database,
                Err(error) => {
                    assert!(!is_late && error.code() == ErrorCode::Io, "{place}: {error:?}");
                    continue;
                }
            };
            if is_late {
                fail();
            }
            let trial = Trial { subject, states, code: ErrorCode::Io };
            trial.run(database, || faulty.mend_reads(), &place);
            check_files(&inner, &place);
        }
    });
}

/// Also of files that the statement itself makes and reads back, with and without a name.
#[test]
fn a_read_that_fails_at_any_moment_leaves_all_or_nothing() {
    let ended = std::cell::Cell::new(0);
    for query_memory_max in [None, Some(64 << 10)] {
        for_each(SMALL, |subject, disk, states, random, place| {
            let on = |disk: &FaultyDisk| {
                let config = Config { query_memory_max, ..Config::default() };
                open_with(Arc::new(disk.clone()), config).expect("a store can be opened")
            };
            let reads = {
                let counted = FaultyDisk::new(Arc::new(disk.copy()));
                let (database, start) = (on(&counted), counted.read_count());
                match run(&database, &subject.statement) {
                    // Statements that cannot spill need more memory.
                    Err(error) if error.code() == ErrorCode::Limit => return,
                    done => done.unwrap_or_else(|error| panic!("{place}: {error:?}")),
                }
                counted.read_count() - start
            };
            for read in some(reads, random) {
                let place = format!("{place}, memory {query_memory_max:?}: read {read} of {reads} fails");
                let inner = disk.copy();
                let faulty = FaultyDisk::new(Arc::new(inner.clone()));
                let database = on(&faulty);
                faulty.fail_read_at(faulty.read_count() + read);
                let trial = Trial { subject, states, code: ErrorCode::Io };
                ended.set(ended.get() + u64::from(trial.run(database, || faulty.mend_reads(), &place)));
                check_files(&inner, &place);
            }
        });
    }
    assert!(ended.get() > 60, "{} statements met a read that failed", ended.get());
}

/// Files of an export with their contents; the folder is gone afterwards.
fn exported(database: &Database, folder: &Folder) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let to = folder.join("exported");
    let view = database.store().read()?;
    if let Err(error) = export(&*view, &to, ExportFormat::Csv, &Interrupt::new()) {
        assert!(!to.exists(), "something is left of an export that failed: {error}");
        return Err(error);
    }
    let files = std::fs::read_dir(&to).expect("it was made").map(|entry| entry.expect("it is there"));
    let name = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut files: Vec<_> =
        files.map(|entry| (name(&entry), std::fs::read(entry.path()).expect("it is a file"))).collect();
    files.sort_unstable();
    std::fs::remove_dir_all(&to).expect("it is there");
    Ok(files)
}

#[test]
fn an_export_of_what_is_damaged_or_cannot_be_read_is_right_or_leaves_nothing() {
    const TRIALS: usize = 60;
    let (folder, seed) = (Folder::new(), seed_or(31));
    let (disk, mut random) = (base(SMALL), SeededRandom::new(seed));
    let expected = exported(&open(Arc::new(disk.copy()), None).expect("it opens"), &folder).expect("it is sound");
    let pages: Vec<(PathBuf, u64)> = disk.pages().into_iter().filter(|(path, _)| !path.ends_with("LOCK")).collect();
    for is_damage in [false, true] {
        let mut told = 0;
        for _ in 0..TRIALS {
            let (path, start) = random.pick(&pages);
            let place =
                format!("FUZZ_SEED={seed}: the page at byte {start} of {}, damaged: {is_damage}", path.display());
            let inner = disk.copy();
            let faulty = FaultyDisk::new(Arc::new(inner.clone()));
            if is_damage {
                let flip = |bytes: &mut Vec<u8>| {
                    let end = bytes.len().min(*start as usize + PAGE_BYTES as usize);
                    bytes[random.index(end - *start as usize) + *start as usize] ^= 4;
                };
                inner.corrupt(path, flip).expect("it is there");
            } else {
                faulty.fail_reads(path, *start..start + 1);
            }
            let codes = if is_damage { [ErrorCode::Corrupt, ErrorCode::Version] } else { [ErrorCode::Io; 2] };
            let found = open(Arc::new(faulty), None).and_then(|database| exported(&database, &folder));
            match found {
                Ok(files) => assert!(files == expected, "{place}: the export is wrong"),
                Err(error) => {
                    assert!(codes.contains(&error.code()), "{place}: {error:?}");
                    told += 1;
                }
            }
        }
        assert!(told > TRIALS / 4, "FUZZ_SEED={seed}, damaged: {is_damage}: {told} were told");
    }
}

#[test]
fn an_end_at_any_check_leaves_all_or_nothing() {
    for_each(SMALL, |subject, disk, states, random, place| {
        let stopped_after = |checks: u64| {
            let database = open(Arc::new(disk.copy()), None).expect("a store can be opened");
            let ticks = Arc::new(Ticks::default());
            let mut session = database.session();
            session.time_by(ticks.clone());
            session.set_timeout(Some(Duration::from_nanos(checks)));
            let done = session.query(&subject.statement, &Parameters::default()).map(|_| ());
            (database, done, ticks.count())
        };
        let checks = stopped_after(u64::MAX / 2).2;
        let mut stops = 0;
        for check in some(checks, random) {
            let place = format!("{place}: ended at check {check} of {checks}");
            let (database, done, _) = stopped_after(check);
            if let Err(error) = &done {
                assert_eq!(error.code(), ErrorCode::Timeout, "{place}: {error:?}");
                stops += 1;
            }
            check_left(&database, &done, subject, states, &place);
        }
        assert!(stops > 0, "{place}: it was never stopped in {checks} checks");
    });
}

#[test]
fn little_memory_leaves_all_or_nothing() {
    const NODES: usize = 40_000;
    // Bytes of the batches in flight of a merge and of a statement. A bulk load has a limit of its own.
    const BESIDES: usize = 8 << 20;
    let besides = |subject: &Subject| if subject.statement.starts_with("COPY") { BULK_LOAD_BYTES } else { BESIDES };
    for_each(NODES, |subject, disk, states, _, place| {
        for limit in [32 << 20, 64 << 20] {
            let place = format!("{place}: within {} MiB", limit >> 20);
            let inner = disk.copy();
            let database = open(Arc::new(inner.clone()), Some(limit)).expect("a store can be opened");
            let done = run(&database, &subject.statement);
            let (peak, usage) = (database.memory().peak(), database.memory().usage());
            if let Err(error) = &done {
                assert_eq!(error.code(), ErrorCode::Limit, "{place}: {error:?}");
            }
            assert!(peak <= limit + besides(subject), "{place}: {peak} bytes were held, {done:?}: {usage:?}");
            drop(database);
            let found = content_on(&inner, &place);
            assert!(states.contains(&found), "{place}: a part of the statement is there");
            assert_eq!(done.is_ok(), Some(&found) == states.last(), "{place}: {done:?}");
        }
    });
}
