//! Each rule on figures that are made up.

use std::sync::Arc;

use exec::OperatorProfile;
use model::meter::{Wait, Waits};

use super::{Evidence, PickedScan, RULES, estimate_factor, finding};
use crate::phases::Phase;
use crate::plan_report::PlanLine;
use crate::plan_report::waterfall::{Part, PartKind, Waterfall};

fn line(operator: &'static str, estimated_rows: f64, actual: OperatorProfile) -> PlanLine {
    PlanLine {
        depth: 0,
        operator,
        details: "n".to_owned(),
        estimated_rows,
        statements: Vec::new(),
        actual: Some(actual),
    }
}

/// An operator that gave that number of rows, in that number of nanoseconds.
fn actual(rows: u64, wall_ns: u64) -> OperatorProfile {
    OperatorProfile { rows, wall_ns, time_ns: wall_ns, ..OperatorProfile::default() }
}

/// A whole of 1,000 ns in which one part is that long; the rest is spread over parts that no rule looks at.
fn waterfall(kind: PartKind, ns: u64) -> Waterfall {
    let name = format!("{kind:?}");
    let rest = 1_000 - ns;
    let others = (0..4).map(|at| (PartKind::Operator(at), "work".to_owned(), rest / 4));
    let parts = others.chain([(kind, name, ns + rest % 4)]);
    let parts = parts.map(|(kind, name, ns)| Part { kind, name, ns }).collect();
    Waterfall { whole_ns: 1_000, parts, waits: Waits::NOTHING, is_plan_cached: false, finding: String::new() }
}

#[track_caller]
fn check(kind: PartKind, ns: u64, lines: &[PlanLine], expected: &str) {
    let waterfall = waterfall(kind, ns);
    let found = finding(&Evidence { waterfall: &waterfall, lines, scans: Vec::new() });
    assert_eq!(found, expected);
}

const NOTHING: &str = "25 % is work; nothing stands out that would change it";

#[test]
fn waits_are_named_with_their_remedies() {
    let wait = |wait, ns, expected| check(PartKind::Wait(wait), ns, &[], expected);
    wait(
        Wait::Queue,
        300,
        "30 % was spent waiting for statements that come first: raise its priority, or run fewer statements at a time",
    );
    wait(
        Wait::Lock,
        640,
        "64 % was spent waiting for other transactions: write from fewer sessions at a time, or in smaller transactions",
    );
    wait(
        Wait::Log,
        900,
        "90 %: the commit waited for the disk: group writes in one transaction, or open the store with relaxed durability",
    );
    for kind in [Wait::Queue, Wait::Lock, Wait::Log, Wait::Source, Wait::Spill, Wait::Disk] {
        check(PartKind::Wait(kind), 0, &[], NOTHING);
    }
}

#[test]
fn a_rule_needs_its_threshold() {
    check(PartKind::Wait(Wait::Log), 280, &[], "28 % is Wait(Log); nothing stands out that would change it");
    check(PartKind::Phase(Phase::Deliver), 480, &[], "48 % is Phase(Deliver); nothing stands out that would change it");
}

#[test]
fn phases_are_named_with_their_remedies() {
    let phase = |phase, expected| check(PartKind::Phase(phase), 500, &[], expected);
    phase(
        Phase::Retry,
        "50 % are attempts that another transaction came before: let statements that run at the same time write different nodes",
    );
    phase(
        Phase::Deliver,
        "50 % was taken by the consumer of the rows: ask for fewer rows or columns, or take them faster",
    );
    phase(
        Phase::Records,
        "50 % is reading the nodes and relationships of the result: return the properties that are needed instead of whole \
         nodes and relationships",
    );
    phase(
        Phase::Plan,
        "50 % is compiling: give values as parameters ($name), so that the plan is found in the cache the next time",
    );
    check(PartKind::Unexplained, 500, &[], "50 % is in no part: the work around so short a statement");
}

#[test]
fn the_operator_that_waits_most_is_named() {
    let waiting = |operator, wait, ns, change: &dyn Fn(&mut OperatorProfile)| {
        let mut profile = actual(1, ns);
        profile.wall_waits.count(wait, ns);
        change(&mut profile);
        line(operator, 1.0, profile)
    };
    let expand = waiting("Expand", Wait::Disk, 600, &|profile| profile.storage.block_misses = 41_000);
    let scan = waiting("NodeScan", Wait::Disk, 10, &|profile| profile.storage.block_misses = 7);
    check(
        PartKind::Wait(Wait::Disk),
        640,
        &[expand, scan],
        "64 %: 41007 blocks came from disk, most of them for Expand n; if it is the same when run again, the working set is \
         larger than the cache: raise memory_limit",
    );
    let sort = waiting("Sort", Wait::Spill, 500, &|profile| profile.spilled_bytes = 9_000);
    check(
        PartKind::Wait(Wait::Spill),
        500,
        &[sort],
        "50 % is temporary files: Sort n wrote 9000 bytes: raise the memory limit of queries (query_memory_max, --query-memory)",
    );
    let asked = |trips| waiting("Expand", Wait::Source, 500, &move |profile| profile.storage.round_trips = trips);
    check(
        PartKind::Wait(Wait::Source),
        500,
        &[asked(300)],
        "50 % is the source, which was asked 300 times, 300 of them by Expand n: PRELOAD what is read again and again, or copy \
         it into the store",
    );
    check(
        PartKind::Wait(Wait::Source),
        500,
        &[asked(2)],
        "50 % is the source's answer to 2 questions, most of it to Expand n: see the statements that EXPLAIN shows, and the \
         indexes that serve them there",
    );
}

#[test]
fn an_index_is_proposed_where_few_of_many_are_picked() {
    let check = |picked, scanned, expected| {
        let lines = [
            line("Filter", picked as f64, actual(picked, 120)),
            line("NodeScan", scanned as f64, actual(scanned, 700)),
        ];
        let waterfall = waterfall(PartKind::Operator(1), 700);
        let (variable, label, key) = (Arc::from("p"), Arc::from("P"), Arc::from("u"));
        let scans = vec![PickedScan { scan: 1, filter: 0, variable, label, key, is_only_condition: true }];
        assert_eq!(finding(&Evidence { waterfall: &waterfall, lines: &lines, scans }), expected);
    };
    check(
        1,
        50_000,
        "82 % is NodeScan :P with a condition on p.u, which 1 of 50000 nodes meet: CREATE INDEX FOR (p:P) ON (p.u) would seek \
         them",
    );
    let nothing = "70 % is Operator(1); nothing stands out that would change it";
    check(1, 500, nothing);
    check(20_000, 50_000, nothing);
}

#[test]
fn estimates_that_are_far_off_are_named_at_the_lowest_operator() {
    let lines = [line("Expand", 2.0, actual(90_000, 1)), line("NodeIndexSeek", 10.0, actual(3_000, 1))];
    check(
        PartKind::Phase(Phase::Deliver),
        0,
        &lines,
        "the estimate is off ×300 at NodeIndexSeek n: 10 rows were expected, 3000 came; if another order is better, USING \
         INDEX or USING SCAN says where to begin",
    );
    assert_eq!(estimate_factor(&lines[1]), Some((300.0, true)));
    assert_eq!(estimate_factor(&line("Expand", 500.0, actual(0, 1))), Some((500.0, false)));
    assert_eq!(estimate_factor(&line("Expand", 0.1, actual(0, 1))), Some((1.0, false)));
    assert_eq!(estimate_factor(&line("Expand", 500.0, actual(0, 0))), None, "it did not run");
    check(PartKind::Phase(Phase::Deliver), 0, &[line("Expand", 20.0, actual(1_000, 1))], NOTHING);
}

#[test]
fn every_rule_has_a_name_of_its_own_and_the_last_one_always_holds() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), RULES.len()), (15, 15));
    let waterfall = Waterfall { whole_ns: 0, parts: Vec::new(), ..waterfall(PartKind::Unexplained, 0) };
    assert_eq!(finding(&Evidence { waterfall: &waterfall, lines: &[], scans: Vec::new() }), "no time has passed");
}
