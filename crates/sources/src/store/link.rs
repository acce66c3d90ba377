//! The connection of a view: opened by its first question, asked by one thread at a time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::meter::{self, Wait};
use model::{Column, Error, ErrorCode, Result};

use super::layout::Layout;
use crate::connector::{Connector, Question, Reading, RowsSink, StreamId, Writing};

/// A sink whose own work is none of the time that is waited for its rows.
fn at_work<'s>(sink: &'s mut RowsSink<'_>) -> impl FnMut(usize, Vec<Column>) -> Result<bool> + 's {
    |number, columns| {
        let _working = meter::working();
        sink(number, columns)
    }
}

/// A connection of a source, as views and transactions use it.
pub(crate) struct Link {
    connector: Arc<dyn Connector>,
    layout: Arc<Layout>,
    state: Mutex<Held>,
    /// Round trips of all links of the source.
    round_trips: Arc<AtomicU64>,
}

struct Held {
    state: State,
    sent: Sent,
}

/// State of a question that was sent without waiting for the answer.
#[derive(Default)]
enum Sent {
    #[default]
    Nothing,
    /// The source works on it.
    Waiting,
    /// It was answered when something else was asked.
    Answered(Vec<(usize, Vec<Column>)>),
}

enum State {
    Closed,
    /// It will be a transaction that writes.
    ToWrite,
    Reading(Box<dyn Reading>),
    Writing(Box<dyn Writing>),
}

impl Held {
    fn new(state: State) -> Held {
        Held { state, sent: Sent::Nothing }
    }

    /// Takes in the answers to what was sent, so that something else can be asked.
    fn settle(&mut self) -> Result<()> {
        let (Sent::Waiting, State::Reading(reading)) = (&self.sent, &mut self.state) else { return Ok(()) };
        let mut answers = Vec::new();
        // If this fails the reading is over.
        self.sent = Sent::Nothing;
        reading.receive(&mut |number, columns| {
            answers.push((number, columns));
            Ok(true)
        })?;
        self.sent = Sent::Answered(answers);
        Ok(())
    }
}

impl Link {
    pub(crate) fn new(connector: &Arc<dyn Connector>, layout: &Arc<Layout>, round_trips: &Arc<AtomicU64>) -> Link {
        Link {
            connector: connector.clone(),
            layout: layout.clone(),
            state: Mutex::new(Held::new(State::Closed)),
            round_trips: round_trips.clone(),
        }
    }

    /// The same for a transaction.
    pub(crate) fn writing(self, writing: Box<dyn Writing>) -> Link {
        Link { state: Mutex::new(Held::new(State::Writing(writing))), ..self }
    }

    /// The same for a transaction that begins with its first question or change.
    pub(crate) fn writing_later(self) -> Link {
        Link { state: Mutex::new(Held::new(State::ToWrite)), ..self }
    }

    /// True if anything was asked since it began.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state().state, State::Closed | State::ToWrite)
    }

    /// True if it is a transaction.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.state().state, State::ToWrite | State::Writing(_))
    }

    /// Undoes all of a transaction, and lets it begin anew.
    pub(crate) fn begin_anew(&self) {
        let ended = std::mem::replace(&mut *self.state(), Held::new(State::ToWrite));
        drop(ended);
    }

    /// Ends a reading, and with it what the source keeps for it; the next question begins another.
    pub(crate) fn release(&self) {
        let mut held = self.state();
        if matches!(held.state, State::Reading(_)) {
            let ended = std::mem::replace(&mut *held, Held::new(State::Closed));
            drop(held);
            drop(ended);
        }
    }

    fn state(&self) -> MutexGuard<'_, Held> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self) {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        meter::count(|meter| meter.round_trips += 1);
    }

    fn with<T>(&self, question: Option<&Question<'_>>, run: impl FnOnce(&mut dyn Reading) -> Result<T>) -> Result<T> {
        self.with_sent(question, |reading, _| run(reading))
    }

    /// The same, for readings: they may send requests whose answers are not waited for.
    fn with_sent<T>(
        &self,
        question: Option<&Question<'_>>,
        run: impl FnOnce(&mut dyn Reading, Option<&mut Sent>) -> Result<T>,
    ) -> Result<T> {
        let _waiting = meter::waiting(Wait::Source);
        let mut held = self.state();
        held.settle().map_err(|error| self.explain(error, None))?;
        let Held { state, sent } = &mut *held;
        let opened = match state {
            State::Closed => self.connector.read().map(|reading| *state = State::Reading(reading)),
            State::ToWrite => self.connector.write_later().map(|writing| *state = State::Writing(writing)),
            _ => Ok(()),
        };
        let result = opened.and_then(|()| match state {
            State::Reading(reading) => run(reading.as_mut(), Some(sent)),
            State::Writing(writing) => run(writing.as_mut(), None),
            State::Closed | State::ToWrite => {
                Err(model::error!(Internal, "a connection was closed while it was asked"))
            }
        });
        result.map_err(|error| self.explain(error, question))
    }

    /// Asks all questions in one round trip.
    pub(crate) fn ask(&self, questions: &[Question<'_>], sink: &mut RowsSink<'_>) -> Result<()> {
        if questions.is_empty() {
            return Ok(());
        }
        self.count();
        self.with(questions.first(), |reading| reading.ask(questions, &mut at_work(sink)))
    }

    /// Asks some questions and sends others, whose answers are taken by [`Link::receive`], all in one round trip; whether
    /// these were sent.
    pub(crate) fn ask_and_send(
        &self,
        questions: &[Question<'_>],
        sink: &mut RowsSink<'_>,
        others: &[Question<'_>],
    ) -> Result<bool> {
        if questions.is_empty() || others.is_empty() {
            return self.ask(questions, sink).map(|()| false);
        }
        self.count();
        self.with_sent(questions.first(), |reading, sent| {
            // Answers that came before and that nobody took are not lost.
            let mut sink = at_work(sink);
            let Some(sent @ Sent::Nothing) = sent else { return reading.ask(questions, &mut sink).map(|()| false) };
            let is_sent = reading.ask_and_send(questions, &mut sink, others)?;
            if is_sent {
                *sent = Sent::Waiting;
            }
            Ok(is_sent)
        })
    }

    /// Sends questions whose answers are taken by [`Link::receive`]; false if the source does not work ahead, or does so
    /// already.
    pub(crate) fn send(&self, questions: &[Question<'_>]) -> Result<bool> {
        let mut held = self.state();
        let Held { state: State::Reading(reading), sent: sent @ Sent::Nothing } = &mut *held else { return Ok(false) };
        let is_sent = reading.send(questions).map_err(|error| self.explain(error, questions.first()))?;
        if is_sent {
            *sent = Sent::Waiting;
            self.count();
        }
        Ok(is_sent)
    }

    /// Gives the answers to what was sent.
    pub(crate) fn receive(&self, sink: &mut RowsSink<'_>) -> Result<()> {
        let _waiting = meter::waiting(Wait::Source);
        let mut sink = at_work(sink);
        let mut held = self.state();
        let Held { state, sent } = &mut *held;
        let result = match (std::mem::take(sent), state) {
            (Sent::Waiting, State::Reading(reading)) => reading.receive(&mut sink),
            (Sent::Answered(answers), _) => {
                answers.into_iter().try_for_each(|(number, columns)| sink(number, columns).map(drop))
            }
            _ => Ok(()),
        };
        result.map_err(|error| self.explain(error, None))
    }

    /// Asks a question whose answer is one number.
    pub(crate) fn ask_count(&self, questions: &[Question<'_>]) -> Result<u64> {
        let mut count = 0;
        self.ask(questions, &mut |_, rows| {
            for column in rows.iter().take(1) {
                for value in column.values() {
                    let number = if let model::Value::Int(number) = value { u64::try_from(number).ok() } else { None };
                    count += number.ok_or_else(|| model::error!(Source, "a count was answered with {value}"))?;
                }
            }
            Ok(true)
        })?;
        Ok(count)
    }

    pub(crate) fn start(&self, question: &Question<'_>) -> Result<StreamId> {
        self.with(Some(question), |reading| reading.start(question))
    }

    pub(crate) fn more(&self, stream: StreamId, rows: usize, question: &Question<'_>) -> Result<Option<Vec<Column>>> {
        self.count();
        self.with(Some(question), |reading| reading.more(stream, rows))
    }

    pub(crate) fn stop(&self, stream: StreamId) {
        match &mut self.state().state {
            State::Closed | State::ToWrite => {}
            State::Reading(reading) => reading.stop(stream),
            State::Writing(writing) => writing.stop(stream),
        }
    }

    /// Uses the transaction, which must be one.
    pub(crate) fn change<T>(&self, run: impl FnOnce(&mut dyn Writing) -> Result<T>) -> Result<T> {
        self.count();
        let _waiting = meter::waiting(Wait::Source);
        let mut held = self.state();
        let state = &mut held.state;
        if let State::ToWrite = state {
            *state = State::Writing(self.connector.write_later().map_err(|error| self.explain(error, None))?);
        }
        match state {
            State::Writing(writing) => run(writing.as_mut()).map_err(|error| self.explain(error, None)),
            _ => Err(model::error!(TransactionState, "the transaction of {} has ended", self.connector.name())),
        }
    }

    /// Ends the transaction, making it durable.
    pub(crate) fn commit(&self) -> Result<()> {
        self.count();
        let _waiting = meter::waiting(Wait::Source);
        match std::mem::replace(&mut self.state().state, State::Closed) {
            State::Writing(writing) => writing.commit().map_err(|error| self.explain(error, None)),
            State::ToWrite => Ok(()),
            _ => Err(model::error!(TransactionState, "the transaction of {} has ended", self.connector.name())),
        }
    }

    /// The error with what its message lacks: what the source is called, where it lies, the kind that was asked for, and
    /// the statement.
    fn explain(&self, error: Error, question: Option<&Question<'_>>) -> Error {
        if matches!(error.code(), ErrorCode::Cancelled | ErrorCode::Timeout | ErrorCode::Limit) {
            return error;
        }
        let mut place = Vec::new();
        if let Some(called) = self.layout.called.get()
            && !error.message().starts_with(&format!("source {called}: "))
        {
            place.push(format!("source {called}"));
        }
        if !error.message().contains(self.connector.name()) {
            place.push(self.connector.name().to_owned());
        }
        if let Some(question) = question {
            let kind = self.kind_name(question);
            if !error.message().contains(&*kind) {
                place.push(kind);
            }
            // Connectors that know which of several statements failed name it themselves.
            let names_it = ["; statement: ", ", in: "].iter().any(|mark| error.message().contains(mark));
            if !names_it
                && let Some(statement) = self.connector.statement(question)
                && !error.message().contains(&statement)
            {
                place.push(statement);
            }
        }
        if place.is_empty() { error } else { error.within(&place.join(": ")) }
    }

    fn kind_name(&self, question: &Question<'_>) -> String {
        let definition = &self.layout.definition;
        match question {
            Question::Nodes { kind, .. } | Question::CountNodes { kind, .. } => {
                format!("nodes {}", definition.nodes[*kind].name)
            }
            Question::Edges { kind, .. } | Question::CountEdges { kind } => {
                format!("edges {}", definition.edges[*kind].name)
            }
            Question::Pattern(asked) => {
                let names: BTreeSet<&str> = asked.nodes.iter().map(|node| &*definition.nodes[node.of].name).collect();
                format!("a pattern of nodes {}", names.into_iter().collect::<Vec<_>>().join(", "))
            }
        }
    }
}
