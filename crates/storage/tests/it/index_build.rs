//! Indexes and constraints that are made while others commit: nobody waits for the build, and what it leaves is exact.
//!
//! A build looks at its deadline now and then; the clock of that deadline is a hook of the test, which commits, flushes, merges
//! and makes other indexes in that moment, on the thread of the build. If the build held what these need, the test would
//! never end.

mod graph;
pub(crate) mod hook;

use model::{ErrorCode, GraphStore, Interrupt, Result};
use storage::{Durability, Maintenance, NativeStore, OpenOptions};
use testing::random::{SeededRandom, seed_or};
use testing::simulation::{FaultyDisk, MemoryDisk, platform};

use crate::directory::TestDirectory;
use graph::{Graph, KINDS, Kind};
use hook::{beside, ends_after};

/// Nodes beyond which an index is written as a run at once.
const MANY: usize = 70_000;

/// When others commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// After the transaction has begun, before it builds; so that it builds once more at its commit.
    Before,
    /// While it builds.
    Within,
    /// After it has built, before it commits.
    After,
    /// While it builds once more.
    Again,
}

/// A look that never comes.
const NEVER: u64 = 1 << 60;

const MOMENTS: [When; 4] = [When::Before, When::Within, When::After, When::Again];

fn options() -> OpenOptions {
    OpenOptions { durability: Durability::Off, ..OpenOptions::create() }
}

/// Makes an index or constraint; `others` run at the moments, each once, in a build after `looks` looks.
fn build(
    store: &NativeStore,
    kind: Kind,
    moments: &[When],
    looks: u64,
    others: &mut (dyn FnMut() + Send),
) -> Result<()> {
    let looks_for = |when: When| if moments.contains(&when) { looks } else { NEVER };
    let mut transaction = store.write()?;
    if moments.contains(&When::Before) {
        others();
    }
    beside(looks_for(When::Within), None, others, |interrupt| kind.make(&mut *transaction, interrupt))?;
    if moments.contains(&When::After) {
        others();
    }
    beside(looks_for(When::Again), None, others, |interrupt| {
        let _listening = interrupt.listen();
        transaction.commit()
    })
}

/// Some moments. Where nobody has committed before, what others commit is followed from the beginning.
fn moments(random: &mut SeededRandom) -> Vec<When> {
    MOMENTS.into_iter().filter(|&when| random.chance(if when == When::Before { 25 } else { 70 })).collect()
}

/// Random commits at random moments of the builds of everything that is built; compared with what is there.
fn check_builds(seed: u64, nodes: usize, rounds: usize) {
    let mut random = SeededRandom::new(seed);
    for kind in KINDS {
        let directory = TestDirectory::new();
        let store = directory.open_with(options());
        let graph = Graph::fill(&store, nodes);
        for round in 0..rounds {
            let place = format!("seed {seed}: {kind:?}, round {round}");
            let mut open = store.write().unwrap();
            let reader = store.read().unwrap();
            graph.change(&mut *open, &mut random, 3);
            let moments: Vec<When> = moments(&mut random);
            let (looks, mut own) = (random.below(3), SeededRandom::new(random.next_u64()));
            let made = build(&store, kind, &moments, looks, &mut || {
                for _ in 0..1 + own.below(40) {
                    graph.commit(&store, &mut own);
                }
                match own.below(4) {
                    0 => store.checkpoint(&Interrupt::new()).unwrap(),
                    1 => store.compact(&Interrupt::new()).unwrap(),
                    _ => {}
                }
            });
            made.unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(reader.schema().indexes.is_empty() && reader.schema().constraints.is_empty(), "{place}");
            // It may have written what others wrote since; otherwise its entries are those of the new index, too.
            if let Err(error) = open.commit() {
                assert_eq!(error.code(), ErrorCode::Conflict, "{place}: {error}");
            }
            graph.check(&*store.read().unwrap(), kind, &place);
            if random.chance(50) {
                store.checkpoint(&Interrupt::new()).unwrap();
                graph.check(&*store.read().unwrap(), kind, &place);
            }
            graph.commit(&store, &mut random);
            graph.check(&*store.read().unwrap(), kind, &place);
            let mut transaction = store.write().unwrap();
            kind.drop_from(&mut *transaction);
            transaction.commit().unwrap();
        }
        drop((store, graph));
        crate::numbered::check_files(&directory.platform(), directory.path());
    }
}

#[test]
fn what_commits_beside_a_build_is_in_it() {
    check_builds(seed_or(170), 300, 30);
}

#[test]
fn also_where_it_is_written_as_a_run() {
    check_builds(seed_or(171), MANY, 1);
}

/// Of two that break a constraint together, one of which makes it, the second is refused, whichever it is.
#[test]
fn a_constraint_is_exact_over_what_was_there_and_what_came() {
    for kind in [Kind::Unique, Kind::UniquePair, Kind::Exists] {
        for moment in MOMENTS {
            let directory = TestDirectory::new();
            let store = directory.open_with(options());
            let graph = Graph::fill(&store, 100);
            let moments = if moment == When::Again { vec![When::Before, moment] } else { vec![moment] };
            let (mut calls, place) = (0, format!("{kind:?}, {moment:?}"));
            let made = build(&store, kind, &moments, 0, &mut || {
                calls += 1;
                if calls == moments.len() {
                    let mut transaction = store.write().unwrap();
                    graph.violate(&mut *transaction, kind);
                    transaction.commit().unwrap();
                } else {
                    graph.commit(&store, &mut SeededRandom::new(1));
                }
            });
            assert_eq!(calls, moments.len(), "{place}");
            let error = made.unwrap_err();
            assert_eq!(error.code(), ErrorCode::Conflict, "{place}: {error}");
            let error = build(&store, kind, &[], 0, &mut || {}).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Constraint, "{place}: {error}");
            assert!(store.read().unwrap().schema().constraints.is_empty(), "{place}");
        }
        // A transaction that has been open since before the build is the second.
        let directory = TestDirectory::new();
        let store = directory.open_with(options());
        let graph = Graph::fill(&store, 100);
        let mut open = store.write().unwrap();
        graph.violate(&mut *open, kind);
        build(&store, kind, &[], 0, &mut || {}).unwrap();
        assert_eq!(open.commit().unwrap_err().code(), ErrorCode::Conflict, "{kind:?}");
    }
}

/// An index is not built again where the commits beside its build were followed.
#[test]
fn a_build_that_was_followed_is_not_repeated() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let graph = Graph::fill(&store, 1_000);
    for (moments, expected) in [(&[When::Within, When::After][..], 1), (&[When::Before], 2)] {
        let mut random = SeededRandom::new(seed_or(172));
        let mut transaction = store.write().unwrap();
        let mut others = || (0..100).for_each(|_| graph.commit(&store, &mut random));
        if moments.contains(&When::Before) {
            others();
        }
        let looks = if moments.contains(&When::Within) { 0 } else { NEVER };
        beside(looks, None, &mut others, |interrupt| Kind::NodeIndex.make(&mut *transaction, interrupt)).unwrap();
        if moments.contains(&When::After) {
            others();
        }
        let before = store.stats().moves;
        let interrupt = Interrupt::new();
        let listening = interrupt.listen();
        transaction.commit().unwrap();
        drop(listening);
        let builds = if interrupt.progress() == (0, 0) { 1 } else { 2 };
        assert_eq!(builds, expected, "{moments:?}");
        assert_eq!(store.stats().moves - before, expected - 1);
        graph.check(&*store.read().unwrap(), Kind::NodeIndex, "followed");
        let mut transaction = store.write().unwrap();
        Kind::NodeIndex.drop_from(&mut *transaction);
        transaction.commit().unwrap();
    }
}

/// More is committed beside the build than it may hold: it builds again, and in the end others wait for it.
#[test]
fn a_build_that_falls_behind_gets_through() {
    let directory = TestDirectory::new();
    let options = OpenOptions { memory_bytes_max: Some(1 << 20), ..options() };
    let store = directory.open_with(options);
    let graph = Graph::fill(&store, 2_000);
    let mut random = SeededRandom::new(seed_or(173));
    for kind in [Kind::NodeIndex, Kind::Unique] {
        let mut transaction = store.write().unwrap();
        // Each time more than the 64th part of the limit; the last build has others wait.
        let mut calls = 0;
        let mut others = || {
            calls += 1;
            (0..if calls <= 3 { 400 } else { 0 }).for_each(|_| graph.commit(&store, &mut random));
        };
        beside(0, None, &mut others, |interrupt| kind.make(&mut *transaction, interrupt)).unwrap();
        let before = store.stats().moves;
        beside(0, Some(1), &mut others, |interrupt| {
            let _listening = interrupt.listen();
            transaction.commit().unwrap();
        });
        // Those of others are moved, too, when files were written meanwhile.
        assert!(store.stats().moves - before >= 3 && calls > 3, "{kind:?}: {calls}");
        graph.check(&*store.read().unwrap(), kind, "fallen behind");
    }
}

/// Two are built at once, the one within the other; and one of them twice.
#[test]
fn several_are_built_at_once() {
    for outer in KINDS {
        for inner in KINDS {
            let directory = TestDirectory::new();
            let store = directory.open_with(options());
            let graph = Graph::fill(&store, 200);
            let mut random = SeededRandom::new(seed_or(174));
            let result = build(&store, outer, &[When::Within], 0, &mut || {
                graph.commit(&store, &mut random);
                build(&store, inner, &[], 0, &mut || {}).unwrap();
                graph.commit(&store, &mut random);
            });
            if outer == inner {
                assert_eq!(result.unwrap_err().code(), ErrorCode::Conflict);
            } else {
                result.unwrap();
                graph.check(&*store.read().unwrap(), outer, "outer");
            }
            graph.check(&*store.read().unwrap(), inner, "inner");
            store.checkpoint(&Interrupt::new()).unwrap();
            graph.commit(&store, &mut random);
            graph.check(&*store.read().unwrap(), outer, "outer");
        }
    }
}

/// A transaction that also writes nodes and edges, before and after it makes the index.
#[test]
fn a_transaction_may_write_beside_what_it_builds() {
    for kind in KINDS {
        let seed = seed_or(175);
        let directory = TestDirectory::new();
        let store = directory.open_with(options());
        let graph = Graph::fill(&store, 200);
        let mut random = SeededRandom::new(seed);
        for round in 0..6 {
            let mut transaction = store.write().unwrap();
            graph.add(&mut *transaction, &mut random);
            let mut others = || {
                let mut transaction = store.write().unwrap();
                graph.add(&mut *transaction, &mut random);
                transaction.commit().unwrap();
            };
            beside(0, None, &mut others, |interrupt| kind.make(&mut *transaction, interrupt)).unwrap();
            others();
            graph.add(&mut *transaction, &mut random);
            transaction.commit().unwrap();
            graph.check(&*store.read().unwrap(), kind, &format!("seed {seed}: {kind:?}, round {round}"));
            let mut transaction = store.write().unwrap();
            kind.drop_from(&mut *transaction);
            transaction.commit().unwrap();
        }
    }
}

/// A build that is cancelled or runs out of time, also when it builds once more at its commit, leaves nothing.
#[test]
fn a_build_that_is_stopped_leaves_nothing() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let graph = Graph::fill(&store, MANY);
    store.checkpoint(&Interrupt::new()).unwrap();
    let files = || directory.disk().list(directory.path()).unwrap().len();
    let before = files();
    let mut random = SeededRandom::new(seed_or(176));
    for kind in KINDS {
        for is_again in [false, true] {
            let mut transaction = store.write().unwrap();
            let interrupt = ends_after(2);
            let error = if is_again {
                graph.commit(&store, &mut random);
                kind.make(&mut *transaction, &Interrupt::new()).unwrap();
                let _listening = interrupt.listen();
                transaction.commit().unwrap_err()
            } else {
                let error = kind.make(&mut *transaction, &interrupt).unwrap_err();
                drop(transaction);
                error
            };
            assert_eq!(error.code(), ErrorCode::Timeout, "{kind:?}: {error}");
            let schema = store.read().unwrap().schema().clone();
            assert!(schema.indexes.is_empty() && schema.constraints.is_empty(), "{kind:?}");
            assert_eq!(files(), before, "{kind:?}: the files are gone");
            graph.commit(&store, &mut random);
        }
    }
}

/// A disk that fills up during a build: the statement is told, others commit, and it is built when there is room again.
#[test]
fn a_full_disk_ends_a_build_and_nothing_else() {
    let seed = seed_or(177);
    let inner = std::sync::Arc::new(MemoryDisk::new());
    let disk = std::sync::Arc::new(FaultyDisk::new(inner.clone()));
    let path = std::path::Path::new("/stores/test.knot");
    let store = NativeStore::open(path, options(), platform(disk.clone(), seed)).unwrap();
    let graph = Graph::fill(&store, MANY);
    store.checkpoint(&Interrupt::new()).unwrap();
    let mut random = SeededRandom::new(seed);
    for kind in KINDS.into_iter().filter(|&kind| kind != Kind::Exists) {
        let (mut transaction, before) = (store.write().unwrap(), inner.files());
        disk.fill_at(disk.operation_count() + 1);
        let error = kind.make(&mut *transaction, &Interrupt::new()).unwrap_err();
        drop(transaction);
        disk.mend();
        assert_eq!(error.code(), ErrorCode::DiskFull, "seed {seed}: {kind:?}: {error}");
        assert_eq!(inner.files(), before, "seed {seed}: {kind:?}: the files are gone");
        graph.commit(&store, &mut random);
        build(&store, kind, &[When::Within], 0, &mut || graph.commit(&store, &mut random)).unwrap();
        graph.check(&*store.read().unwrap(), kind, "after a full disk");
        let mut transaction = store.write().unwrap();
        kind.drop_from(&mut *transaction);
        transaction.commit().unwrap();
        store.checkpoint(&Interrupt::new()).unwrap();
        store.compact(&Interrupt::new()).unwrap();
    }
}

/// An index that a log says was made is built anew when the store is opened; the opening can be stopped.
#[test]
fn an_opening_that_is_stopped_leaves_all_as_it_was() {
    // Few enough that the entries stay in the log, and no run is written of them.
    const FEW: usize = 40_000;
    let seed = seed_or(178);
    let path = std::path::Path::new("/stores/test.knot");
    let inner = MemoryDisk::new();
    let options = OpenOptions::create;
    let store = NativeStore::open(path, options(), platform(std::sync::Arc::new(inner.clone()), seed)).unwrap();
    let graph = Graph::fill(&store, FEW);
    store.checkpoint(&Interrupt::new()).unwrap();
    let kinds = [Kind::Unique, Kind::EdgeIndex];
    kinds.into_iter().for_each(|kind| build(&store, kind, &[], 0, &mut || {}).unwrap());
    let killed = inner.copy();
    drop(store);
    let reading = OpenOptions::read_only();
    for (disk, options, name) in
        [(killed, options(), "killed"), (inner.copy(), options(), "closed"), (inner, reading, "read")]
    {
        let (before, mut looks, mut refused) = (disk.files(), 1, 0);
        let store = loop {
            let stopped = disk.copy();
            let interrupt = ends_after(looks);
            let listening = interrupt.listen();
            let opened = NativeStore::open(path, options, platform(std::sync::Arc::new(stopped.clone()), seed));
            drop(listening);
            let error = match opened {
                Ok(store) => break store,
                Err(error) => error,
            };
            assert_eq!(error.code(), ErrorCode::Timeout, "{name}, {looks} looks: {error}");
            if name != "killed" {
                assert_eq!(stopped.files(), before, "{name}, {looks} looks");
            }
            (looks, refused) = (looks * 3, refused + 1);
            if refused == 3 {
                let store = NativeStore::open(path, options, platform(std::sync::Arc::new(stopped), seed)).unwrap();
                kinds.into_iter().for_each(|kind| graph.check(&*store.read().unwrap(), kind, name));
            }
        };
        assert!(refused >= 3, "{name}: refused {refused} times");
        kinds.into_iter().for_each(|kind| graph.check(&*store.read().unwrap(), kind, name));
    }
}

/// Changing an indexed property of many edges hears the time-out within the call, and is undone.
#[test]
fn a_long_change_of_indexed_edges_is_stopped_on_the_way() {
    let directory = TestDirectory::new();
    let store = directory.open_with(options());
    let graph = Graph::fill(&store, 30_000);
    build(&store, Kind::EdgeIndex, &[], 0, &mut || {}).unwrap();
    let mut transaction = store.write().unwrap();
    let savepoint = transaction.savepoint();
    let interrupt = ends_after(1);
    let listening = interrupt.listen();
    let error = graph.set_all_edges(&mut *transaction, 77).unwrap_err();
    drop(listening);
    assert_eq!(error.code(), ErrorCode::Timeout, "{error}");
    transaction.rollback_to(savepoint).unwrap();
    graph.check(transaction.view(), Kind::EdgeIndex, "stopped");
    graph.set_all_edges(&mut *transaction, 78).unwrap();
    graph.check(transaction.view(), Kind::EdgeIndex, "changed");
    transaction.commit().unwrap();
    graph.check(&*store.read().unwrap(), Kind::EdgeIndex, "committed");
}

/// Reads that fail while an index is built beside commits: pages of the store's files, and one read of any file, also of what
/// the build has sorted. The statement is told or has built what is right, others commit, and it is built when the disk
/// reads again.
#[test]
fn a_read_that_fails_ends_a_build_and_nothing_else() {
    const FAILURES: usize = 4;
    let seed = seed_or(178);
    let mut random = SeededRandom::new(seed);
    let origin = MemoryDisk::new();
    let path = std::path::Path::new("/stores/test.knot");
    let on = |disk: &FaultyDisk| platform(std::sync::Arc::new(disk.clone()), seed);
    // So little memory that what a build reads is not kept, and what it sorts goes to the disk.
    let options = OpenOptions { memory_bytes_max: Some(1 << 20), maintenance: Maintenance::Inline, ..options() };
    let filled = NativeStore::open(path, options, on(&FaultyDisk::new(std::sync::Arc::new(origin.clone())))).unwrap();
    let graph = Graph::fill(&filled, MANY);
    filled.checkpoint(&Interrupt::new()).unwrap();
    drop(filled);
    let is_data = |path: &std::path::Path| path.extension().is_some_and(|kind| kind == "nodes" || kind == "edges");
    let pages: Vec<_> = origin.pages().into_iter().filter(|(path, _)| is_data(path)).collect();
    let (mut ended, mut of_runs) = (0, 0);
    for kind in KINDS {
        let mut reads = None;
        for trial in 0..2 * FAILURES {
            let inner = origin.copy();
            let disk = FaultyDisk::new(std::sync::Arc::new(inner.clone()));
            let store = NativeStore::open(path, options, on(&disk)).unwrap();
            let first = disk.read_count();
            let mut what = "nothing".to_owned();
            if let Some(reads) = reads {
                let (read, (path, start)) = (random.below(reads), random.pick(&pages));
                if trial % 2 == 0 {
                    disk.fail_read_at(first + read);
                    what = format!("read {read} of {reads}");
                } else {
                    disk.fail_reads(path, *start..start + 1);
                    what = format!("the page at byte {start} of {}", path.display());
                }
            }
            let mut own = SeededRandom::new(seed);
            let made = build(&store, kind, &[], 0, &mut || {});
            reads.get_or_insert(disk.read_count() - first);
            disk.mend_reads();
            let place = format!("FUZZ_SEED={seed}: {kind:?}, {what} fails");
            graph.commit(&store, &mut own);
            if let Err(error) = made {
                assert_eq!(error.code(), ErrorCode::Io, "{place}: {error}");
                ended += 1;
                of_runs += u64::from(error.message().contains(".run"));
                let schema = store.read().unwrap().schema().clone();
                assert!(schema.indexes.is_empty() && schema.constraints.is_empty(), "{place}");
                build(&store, kind, &[When::Within], 0, &mut || graph.commit(&store, &mut own)).unwrap();
            }
            graph.check(&*store.read().unwrap(), kind, &place);
            drop(store);
            crate::numbered::check_files(&on(&disk), path);
        }
    }
    assert!(ended > KINDS.len() && of_runs > 2, "{ended} builds were ended, {of_runs} of them by sorted runs");
}
