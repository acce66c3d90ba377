//! Tests of how time is charged to operators.

use cypher::plan::OperatorId;
use model::Map;
use model::meter::Wait;
use testing::simulation::SetClock;

use super::{At, OperatorProfile, Profiler};

fn part(id: u32, time_ns: u64, disk_ns: u64) -> Map<OperatorId, OperatorProfile> {
    let mut profile = OperatorProfile { rows: 1, batches: 1, time_ns, ..OperatorProfile::default() };
    profile.storage.waits.count(Wait::Disk, disk_ns);
    profile.storage.block_uses = 7;
    Map::from_iter([(OperatorId(id), profile)])
}

#[test]
fn the_time_of_parts_is_divided_so_that_it_adds_up() {
    let clock = SetClock::default();
    let profiler = Profiler::new(&clock);
    clock.pass(5);
    let outside = profiler.switch(At::Operator(OperatorId(1)));
    clock.pass(10);
    let before = profiler.switch(At::Parts);
    clock.pass(100);
    profiler.add([&part(2, 120, 60), &part(3, 61, 0), &part(2, 20, 19)]);
    profiler.switch(before);
    clock.pass(1);
    profiler.switch(outside);
    clock.pass(1_000);
    let operators = profiler.finish();
    let of = |id| operators[&OperatorId(id)];
    assert_eq!((of(1).time_ns, of(1).wall_ns, of(1).wall_waits.total()), (11, 11, 0));
    assert_eq!((of(2).rows, of(2).time_ns, of(2).storage.block_uses), (2, 140, 14));
    assert_eq!((of(2).storage.waits.of(Wait::Disk), of(2).wall_waits.of(Wait::Disk)), (79, 39));
    assert_eq!((of(2).wall_ns, of(3).wall_ns), (70, 30), "69.65 and 30.34, and the rest to the larger");
    assert_eq!(operators.values().map(|profile| profile.wall_ns).sum::<u64>(), 111);
    assert_eq!(of(2).wall_cpu_ns(), 31);
}

#[test]
fn parts_that_no_clock_has_seen_have_the_time_that_passed() {
    let clock = SetClock::default();
    let profiler = Profiler::new(&clock);
    profiler.switch(At::Parts);
    clock.pass(40);
    profiler.add([&part(2, 0, 0), &part(1, 0, 0)]);
    assert_eq!(profiler.finish()[&OperatorId(1)].wall_ns, 40);
}
