//! States step by step, and at random.

use super::{Machine, State, Step};
use crate::Version;
use crate::message::{Portion, Request, Scope};
use crate::packstream::tests::{Random, rounds};

fn hello() -> Request {
    Request::Hello(Vec::new())
}

fn run() -> Request {
    Request::Run("RETURN 1".into(), Vec::new(), Scope::default())
}

fn begin() -> Request {
    Request::Begin(Scope::default())
}

fn pull() -> Request {
    Request::Pull(Portion { rows: None, stream: None })
}

fn machine(version: &str) -> Machine {
    Machine::new(Version::parse(version).unwrap())
}

fn ready() -> Machine {
    let mut machine = machine("5.4");
    for request in [hello(), Request::Logon(Vec::new())] {
        assert_eq!(machine.take(&request), Step::Act);
        machine.succeed(&request);
    }
    assert_eq!(machine.state(), State::Ready);
    machine
}

fn act(machine: &mut Machine, request: &Request) {
    assert_eq!(machine.take(request), Step::Act, "{request:?}");
    machine.succeed(request);
}

#[test]
fn a_transaction_may_outlast_a_reset() {
    let mut machine = ready();
    act(&mut machine, &begin());
    machine.fail();
    act(&mut machine, &Request::Reset);
    machine.resume();
    assert_eq!(machine.state(), State::Transaction);
    act(&mut machine, &Request::Commit);
    assert_eq!(machine.state(), State::Ready);
    // Another `RESET` is to come.
    act(&mut machine, &begin());
    machine.interrupt();
    machine.interrupt();
    act(&mut machine, &Request::Reset);
    machine.resume();
    assert_eq!(machine.state(), State::Interrupted);
}

#[test]
fn credentials_come_first() {
    let mut old = machine("5.0");
    act(&mut old, &hello());
    assert_eq!(old.state(), State::Ready);
    for request in [run(), Request::Reset, Request::Logon(Vec::new()), begin()] {
        let mut new = machine("5.1");
        assert_eq!(new.take(&request), Step::Refuse, "{request:?}");
        assert_eq!(new.state(), State::Defunct);
    }
    let mut new = machine("5.1");
    act(&mut new, &hello());
    assert_eq!(new.clone().take(&run()), Step::Refuse);
    assert_eq!(new.take(&Request::Logon(Vec::new())), Step::Act);
    new.fail();
    assert_eq!((new.state(), new.take(&run())), (State::Defunct, Step::Close));
}

#[test]
fn a_statement_streams_until_it_ends() {
    let mut machine = ready();
    assert_eq!(machine.clone().take(&pull()), Step::Refuse);
    act(&mut machine, &run());
    let stream = machine.open();
    assert_eq!((stream, machine.state()), (0, State::Streaming));
    assert_eq!(machine.clone().take(&run()), Step::Refuse);
    act(&mut machine, &pull());
    machine.end(stream);
    assert_eq!(machine.state(), State::Ready);
}

#[test]
fn a_transaction_has_several_streams() {
    let mut machine = ready();
    act(&mut machine, &begin());
    assert_eq!(machine.clone().take(&pull()), Step::Refuse);
    let (one, two) = (machine.open(), machine.open());
    assert_eq!((one, two), (0, 1));
    let of = |stream| Portion { rows: Some(5), stream };
    assert_eq!(machine.stream(of(None)), Some(two));
    assert_eq!(machine.stream(of(Some(one))), Some(one));
    assert_eq!(machine.stream(of(Some(7))), None);
    machine.end(two);
    assert_eq!((machine.stream(of(None)), machine.state()), (Some(one), State::Transaction));
    act(&mut machine, &Request::Commit);
    assert_eq!(machine.state(), State::Ready);
    // Numbers begin anew with each transaction.
    act(&mut machine, &begin());
    assert_eq!(machine.open(), 0);
}

#[test]
fn after_a_failure_all_is_ignored_until_reset() {
    let mut machine = ready();
    act(&mut machine, &begin());
    machine.open();
    machine.fail();
    let requests = [run(), pull(), begin(), Request::Commit, Request::Rollback, Request::Logoff];
    for request in requests {
        assert_eq!(machine.take(&request), Step::Ignore, "{request:?}");
    }
    act(&mut machine, &Request::Reset);
    assert_eq!(machine.state(), State::Ready);
    act(&mut machine, &run());
}

#[test]
fn reset_jumps_the_queue() {
    let mut machine = ready();
    act(&mut machine, &run());
    machine.open();
    machine.interrupt();
    machine.interrupt();
    machine.fail();
    assert_eq!(machine.take(&pull()), Step::Ignore);
    act(&mut machine, &Request::Reset);
    assert_eq!(machine.take(&run()), Step::Ignore);
    act(&mut machine, &Request::Reset);
    act(&mut machine, &run());
}

#[test]
fn goodbye_is_heard_everywhere() {
    for mut machine in [machine("4.4"), machine("5.8"), ready()] {
        assert_eq!(machine.take(&Request::Goodbye), Step::Close);
        assert_eq!(machine.take(&run()), Step::Close);
    }
}

#[test]
fn random_requests_keep_the_states_in_order() {
    let mut random = Random::of_environment(23);
    let requests = [
        hello(),
        Request::Logon(Vec::new()),
        Request::Logoff,
        Request::Reset,
        run(),
        pull(),
        begin(),
        Request::Commit,
        Request::Rollback,
        Request::Telemetry(0),
    ];
    for round in 0..rounds(2_000) {
        let mut machine = machine(if random.below(2) == 0 { "4.4" } else { "5.8" });
        for _ in 0..40 {
            let request = &requests[random.below(requests.len() as u64) as usize];
            let before = machine.state();
            match machine.take(request) {
                Step::Act => {
                    let stays_outside = matches!(before, State::Negotiation | State::Authentication);
                    assert!(
                        !stays_outside || matches!(request, Request::Hello(_) | Request::Logon(_)),
                        "round {round}: {request:?} of a stranger"
                    );
                    match (random.below(4), request) {
                        (0, _) if *request != Request::Reset => machine.fail(),
                        (_, Request::Run(..)) => {
                            machine.open();
                        }
                        (_, Request::Pull(portion)) => {
                            let stream = machine.stream(*portion).expect("a stream is open");
                            machine.end(stream);
                        }
                        _ => machine.succeed(request),
                    }
                }
                Step::Ignore => assert!(matches!(before, State::Failed | State::Interrupted), "round {round}"),
                Step::Refuse | Step::Close => assert_eq!(machine.state(), State::Defunct, "round {round}"),
            }
            if random.below(20) == 0 {
                machine.interrupt();
            }
        }
    }
}
