//! `knot replay`: a trace run again on a store or a server.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use client::address::PASSWORD_VARIABLE;
use client::{Address, Graph, Session};
use database::trace::TraceEvent;
use database::{Access, Config, Error, Interrupt, Parameters, ResultSink, StoreCopy};
use introspect::SystemClock;
use introspect::findings::duration_text;
use introspect::machine::{self, Effort};
use introspect::replay::{ReplayOptions, ReplaySession, ReplaySubject, replay, to_json, to_text};
use introspect::subject::Description;

use crate::arguments::{ReplayArguments, Speed};
use crate::failure::{Failure, Outcome};
use crate::{progress, signals, whole_file};

/// Time of a replay that is told beforehand.
const LONG_NS: f64 = 60e9;
/// Time between two looks at Ctrl-C.
const NAP: Duration = Duration::from_millis(10);

pub(super) fn run(arguments: &ReplayArguments) -> Outcome<()> {
    let is_address = super::is_address(&arguments.on);
    if is_address && arguments.writes {
        let message = "--writes runs on a copy, and a server's store cannot be copied from here";
        return Err(Failure::UsageOf("replay", message.to_owned()));
    }
    let events: Vec<TraceEvent> = super::events_of(&arguments.trace)?.collect::<Result<_, Error>>()?;
    let memory_bytes_max = super::memory_limit(arguments.memory_limit.as_deref())?;
    let config = Config { memory_bytes_max, ..Config::default() };
    let interrupt = Interrupt::new();
    let _cancelling = signals::cancel_with(interrupt.clone());
    let copy = match arguments.writes {
        true => Some(StoreCopy::beside(&arguments.on, &config, &interrupt)?),
        false => None,
    };
    let graph = match arguments.on.to_str().filter(|_| is_address) {
        Some(text) => Graph::connect(Address::parse(text, std::env::var(PASSWORD_VARIABLE).ok())?, config, &interrupt)?,
        None => {
            let access = if copy.is_some() { Access::ReadWriteExisting } else { Access::ReadOnly };
            let path = copy.as_ref().map_or(&*arguments.on, StoreCopy::path);
            Graph::of(super::open_with(path, Config { access, ..config })?)
        }
    };
    let speed = match arguments.speed {
        Speed::Times(factor) => Some(factor),
        Speed::Max => None,
    };
    let options = ReplayOptions { speed, writes: arguments.writes };
    if let Some(lasting) = speed.and_then(|speed| lasting(&events, speed)) {
        tell!("hint: at this speed the trace lasts {}; --speed max does not wait", duration_text(lasting));
    }
    let clock = SystemClock::default();
    let subject = On { graph: &graph, running: Mutex::default() };
    let replayed = progress::watch_query(&interrupt, || {
        subject.stopped_by(&interrupt, || replay(events, &subject, options, &clock, &interrupt))
    })?;
    if let Some(file) = &arguments.json {
        let limits = machine::measure(Path::new("."), Effort::Quick, &clock, &interrupt)?;
        let json = to_json(&replayed, &describe(&graph, &arguments.on)?, &limits);
        whole_file::write(file, &format!("{json}\n"))?;
    }
    std::io::stdout().lock().write_all(to_text(&replayed).as_bytes())?;
    drop(graph);
    drop(copy);
    if replayed.differing() > 0 { Err(Failure::Reported) } else { Ok(()) }
}

/// Nanoseconds that a trace lasts at a speed, where that is long.
fn lasting(events: &[TraceEvent], speed: f64) -> Option<f64> {
    let moments = || events.iter().map(|event| event.at_us);
    let lasting = (moments().max()? - moments().min()?) as f64 * 1e3 / speed;
    (lasting >= LONG_NS).then_some(lasting)
}

/// The system on which the trace was run.
fn describe(graph: &Graph, place: &Path) -> Result<Description, Error> {
    let (nodes, edges) = match graph.database() {
        Some(database) => database.info().map(|info| (info.nodes, info.edges))?,
        None => (0, 0),
    };
    Ok(Description {
        system: "knotwork".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        place: model::secrets::masked(&place.display().to_string()),
        nodes,
        edges,
        bytes: 0,
        settings: Vec::new(),
        cold_method: "none: a trace is run as it was".to_owned(),
    })
}

/// The graph on which a trace is run.
struct On<'g> {
    graph: &'g Graph,
    /// Flags of the sessions that were opened.
    running: Mutex<Vec<Interrupt>>,
}

impl On<'_> {
    /// Does work, and stops all sessions as soon as a flag is raised.
    fn stopped_by<T>(&self, interrupt: &Interrupt, work: impl FnOnce() -> T) -> T {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    // Again and again: a session that begins a statement lowers its flag.
                    if interrupt.check_unpaused().is_err() {
                        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                        running.iter().for_each(Interrupt::cancel);
                    }
                    std::thread::sleep(NAP);
                }
            });
            let done = work();
            is_done.store(true, Ordering::Release);
            done
        })
    }
}

impl ReplaySubject for On<'_> {
    fn session(&self, _: &Interrupt) -> Result<Box<dyn ReplaySession + '_>, Error> {
        let session = self.graph.session();
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(session.interrupt());
        Ok(Box::new(OfGraph(session)))
    }
}

struct OfGraph(Session);

impl ReplaySession for OfGraph {
    fn run(&mut self, text: &str, parameters: &Parameters, sink: &mut dyn ResultSink) -> Result<(), Error> {
        self.0.run(text, parameters, sink).map(drop)
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.0.begin()
    }

    fn commit(&mut self) -> Result<(), Error> {
        self.0.commit()
    }

    fn rollback(&mut self) -> Result<(), Error> {
        self.0.rollback()
    }
}
