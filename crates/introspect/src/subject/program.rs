//! A program as a subject: it speaks JSON lines, measures each call itself, and may be in any language and ask any system.
//!
//! docs/introspect.md has the protocol. The loop of a call runs inside the program, so that the pipe is in no figure.
//!
//! - `process`: the program that runs, and its lines.

mod process;

use std::io::Write;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use model::{Error, ErrorCode, Interrupt, Result, Value, error};
use serde_json::{Value as Json, json};

use self::process::Process;
use super::{Call, Choice, Counts, Description, Start, Subject, plain, workload};
use crate::operations::{Operation, StatementName, Way};

/// Characters of a program's text that an error shows.
const SHOWN_CHARS: usize = 200;
/// Count of nodes or edges that no graph has.
const COUNT_MAX: u64 = 1 << 48;
/// Times of a program to end in: it may remove copies of its data, unless nobody waits for that.
const END: Duration = Duration::from_secs(60);
const CANCELLED_END: Duration = Duration::from_secs(1);
const BUSY_END: Duration = Duration::from_secs(1);
/// Beginning of the method of a program that cannot empty its caches.
const NOT_COLD: &str = "none";
/// Time between looks at the interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// Times within which a program answers.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// An answer to a question that is no call, and a load: it may read all its data, or write it.
    pub answer: Duration,
    /// A call of an operation. A program that takes longer is ended and started anew.
    pub call: Duration,
}

/// A program that speaks JSON lines.
pub struct Program {
    command: String,
    process: Process,
    limits: Limits,
    /// The limit of calls that is set from outside.
    call_limit: Duration,
    interrupt: Interrupt,
    description: Description,
    operations: Vec<String>,
    timer_ns: f64,
    /// True once it has made a copy of its data.
    is_copy: bool,
    /// The reason for which it answers no more.
    lost: Option<Error>,
}

/// A text of a program as an error shows it.
fn shown(text: &str) -> String {
    let text = plain(text.trim());
    let short: String = text.chars().take(SHOWN_CHARS).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

impl Program {
    /// Starts a command of the shell.
    ///
    /// # Errors
    /// `ARGUMENT` if it cannot be started or does not describe itself as it should.
    pub fn start(command: &str, limits: Limits, interrupt: &Interrupt) -> Result<Program> {
        let mut program = Program {
            command: command.to_owned(),
            process: Process::start(command)?,
            limits,
            call_limit: Duration::MAX,
            interrupt: interrupt.clone(),
            description: Description::default(),
            operations: Vec::new(),
            timer_ns: 0.0,
            is_copy: false,
            lost: None,
        };
        let told = program.ask(&json!({"ask": "describe"}))?;
        program.note(&told)?;
        Ok(program)
    }

    /// Ends a program that does not answer, and starts it anew where it was.
    fn restart(&mut self) -> Result<()> {
        self.process.end(BUSY_END);
        self.process = Process::start(&self.command)?;
        let told = self.ask(&json!({"ask": "describe"}))?;
        self.note(&told)?;
        if self.is_copy {
            self.ask(&json!({"ask": "copy"}))?;
        }
        Ok(())
    }

    fn note(&mut self, told: &Json) -> Result<()> {
        let text = |key: &str| told[key].as_str().map(str::to_owned).ok_or_else(|| self.odd(key, "a string", told));
        let count = |key: &str| told[key].as_u64().ok_or_else(|| self.odd(key, "a count", told));
        let size = |key: &str| match count(key)? {
            COUNT_MAX.. => Err(self.odd(key, "a count below 2^48", told)),
            count => Ok(count),
        };
        let settings = told["settings"].as_object().into_iter().flatten();
        let description = Description {
            system: text("system")?,
            version: text("version")?,
            place: text("place")?,
            nodes: size("nodes")?,
            edges: size("edges")?,
            bytes: count("bytes")?,
            settings: settings
                .map(|(name, value)| (name.clone(), value.as_str().map_or(value.to_string(), str::to_owned)))
                .collect(),
            cold_method: text("coldMethod")?,
        };
        let listed = told["operations"].as_array().ok_or_else(|| self.odd("operations", "a list", told))?;
        let operations: Vec<String> = listed.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        let all = Operation::all();
        let known = all.iter().map(ToString::to_string).chain(workload::names().map(str::to_owned));
        let known: Vec<String> = known.collect();
        if let Some(unknown) = operations.iter().find(|name| !known.contains(name)) {
            let message =
                format!("the program '{}' has an operation '{}', which is not known", self.command, shown(unknown));
            return Err(
                Error::new(ErrorCode::Argument, message).with_remedy(format!("name some of: {}", known.join("; ")))
            );
        }
        if description.nodes == 0 {
            let message = format!("the program '{}' has no nodes to start from", self.command);
            return Err(Error::new(ErrorCode::Argument, message).with_remedy("fill it first, as with knot generate"));
        }
        self.timer_ns = told["timerNs"].as_f64().unwrap_or(0.0);
        (self.description, self.operations) = (description, operations);
        Ok(())
    }

    fn odd(&self, key: &str, expected: &str, told: &Json) -> Error {
        let message = format!(
            "the program '{}' answered {key}: {}, where {expected} is expected",
            self.command,
            shown(&told[key].to_string())
        );
        Error::new(ErrorCode::Argument, message).with_remedy("mend the program; docs/introspect.md has the protocol")
    }

    fn broken(&self, cause: &str) -> Error {
        Error::new(ErrorCode::Source, format!("the program '{}' {cause}", self.command))
            .with_remedy("see what it wrote to standard error; docs/introspect.md has the protocol")
    }

    /// Asks what is no call: without an answer in time there is nothing to measure.
    fn ask(&mut self, question: &Json) -> Result<Json> {
        let limit = self.limits.answer;
        match self.answer(question, limit)? {
            Some(told) => Ok(told),
            None => Err(self.lose(&format!("did not answer {} within {}", question["ask"], limit_text(limit)))),
        }
    }

    /// Asks for a call. Without an answer in time the program is started anew.
    fn ask_within(&mut self, question: &Json, limit: Duration) -> Result<Json> {
        if let Some(told) = self.answer(question, limit)? {
            return Ok(told);
        }
        if let Err(failed) = self.restart() {
            self.lost = Some(failed.clone());
            return Err(failed);
        }
        Err(error!(Timeout, "no answer within {}", limit_text(limit))
            .with_remedy("measure a smaller graph, or without --quick, which gives calls more time"))
    }

    /// Notes that the program answers no more.
    fn lose(&mut self, cause: &str) -> Error {
        let failed = self.broken(cause);
        self.lost = Some(failed.clone());
        failed
    }

    /// Sends a line and waits for its answer; `None` if there is none in time.
    fn answer(&mut self, question: &Json, limit: Duration) -> Result<Option<Json>> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let sent = writeln!(self.process.input, "{question}").and_then(|()| self.process.input.flush());
        if sent.is_err() {
            self.interrupt.check()?;
            return Err(self.lose("has ended"));
        }
        let mut waited = Duration::ZERO;
        let line = loop {
            let look = LOOK.min(limit.saturating_sub(waited));
            match self.process.lines.recv_timeout(look) {
                Ok(Ok(line)) if line.is_empty() => {
                    self.interrupt.check()?;
                    return Err(self.lose("has ended"));
                }
                Ok(Ok(line)) => break line,
                Ok(Err(cause)) => {
                    let what = if cause.kind() == std::io::ErrorKind::FileTooLarge { "" } else { "what is no text: " };
                    return Err(self.lose(&format!("wrote {what}{cause}")));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.lose("has ended")),
                Err(RecvTimeoutError::Timeout) => {
                    self.interrupt.check()?;
                    waited += look;
                    if waited >= limit {
                        return Ok(None);
                    }
                }
            }
        };
        let told: Result<Json, _> = serde_json::from_str(&line);
        let told = told.map_err(|cause| self.lose(&format!("wrote '{}', which is no JSON: {cause}", shown(&line))))?;
        match told["error"].as_str() {
            Some(cause) => Err(self.broken(&format!("reports: {}", shown(cause)))),
            None => Ok(Some(told)),
        }
    }
}

/// A time limit for people.
fn limit_text(limit: Duration) -> String {
    if limit < Duration::from_secs(1) {
        return format!("{} ms", limit.as_millis());
    }
    let tenths = (10.0 * limit.as_secs_f64()).round() / 10.0;
    format!("{tenths} s")
}

fn start_of(told: &Json) -> Option<Start> {
    Some(Start {
        node: told["node"].as_u64()?,
        edge: told["edge"].as_u64(),
        edge_name: told["edgeName"].as_str().map(Into::into),
        target: told["target"].as_u64()?,
        key: match &told["key"] {
            Json::String(text) => Some(Value::String(text.as_str().into())),
            Json::Number(number) => number.as_i64().map(Value::Int),
            _ => None,
        },
        turn: 0,
    })
}

fn start_to(start: &Start) -> Json {
    let key = match &start.key {
        Some(Value::Int(number)) => json!(number),
        Some(Value::String(text)) => json!(text.to_string()),
        _ => Json::Null,
    };
    let edge_name = start.edge_name.as_deref();
    json!({"node": start.node, "edge": start.edge, "edgeName": edge_name, "target": start.target, "key": key})
}

impl Subject for Program {
    fn describe(&self) -> Result<Description> {
        self.lost.clone().map_or_else(|| Ok(self.description.clone()), Err)
    }

    fn can(&self, operation: Operation, way: Way) -> bool {
        way == Way::Api && self.operations.contains(&operation.to_string())
    }

    fn statements(&self) -> Vec<Operation> {
        let named = workload::names().filter(|name| self.operations.iter().any(|held| held == name));
        named.map(|name| Operation::Statement(StatementName::of(name))).collect()
    }

    fn choose(&mut self, choice: Choice, count: usize, seed: u64) -> Result<Vec<Start>> {
        let within = if let Choice::Within(nodes) = choice { json!(nodes) } else { Json::Null };
        let question =
            json!({"ask": "choose", "choice": choice.name(), "within": within, "count": count, "seed": seed});
        let told = self.ask(&question)?;
        let starts =
            told["starts"].as_array().and_then(|starts| starts.iter().map(start_of).collect::<Option<Vec<_>>>());
        match starts {
            Some(starts) if starts.len() == count => Ok(starts),
            Some(starts) => Err(self.broken(&format!("chose {} starts, where {count} were asked for", starts.len()))),
            None => Err(self.odd("starts", "a list of {node, target}", &told)),
        }
    }

    fn perform(&mut self, operation: Operation, _way: Way, start: &Start) -> Result<Call> {
        let question = json!({"ask": "perform", "operation": operation.to_string(), "start": start_to(start)});
        // A load takes as long as the graph is large.
        let is_load = operation.is_write() && operation.is_of_whole_graph();
        let limit = if is_load { self.limits.answer } else { self.limits.call.min(self.call_limit) };
        let told = self.ask_within(&question, limit)?;
        let ns = told["ns"].as_u64().ok_or_else(|| self.odd("ns", "a count of nanoseconds", &told))?;
        let rows = told["rows"].as_u64().ok_or_else(|| self.odd("rows", "a count", &told))?;
        let count = |key: &str| told["counts"][key].as_u64().unwrap_or(0);
        Ok(Call {
            ns,
            rows,
            checksum: told["checksum"].as_u64().unwrap_or(0),
            counts: Counts {
                neighborhoods: count("neighborhoods"),
                edges: count("edges"),
                unique_nodes: count("uniqueNodes"),
                properties: count("properties"),
                path_length: count("pathLength"),
                passes: count("passes"),
                ..Counts::default()
            },
        })
    }

    fn timer_ns(&self) -> f64 {
        self.timer_ns
    }

    fn limit(&mut self, limit: Option<Duration>) {
        self.call_limit = limit.unwrap_or(Duration::MAX);
    }

    fn can_cool(&self) -> bool {
        !self.description.cold_method.starts_with(NOT_COLD)
    }

    fn cool(&mut self) -> Result<()> {
        self.ask(&json!({"ask": "cool"})).map(drop)
    }

    fn copy(&mut self) -> Result<()> {
        self.ask(&json!({"ask": "copy"}))?;
        self.is_copy = true;
        Ok(())
    }

    fn warm(&mut self) -> Result<()> {
        let limit = self.limits.answer.min(self.call_limit);
        self.ask_within(&json!({"ask": "warm"}), limit).map(drop)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // One that does not keep to the protocol, and has nothing to remove, need not heed the end either.
        let is_of_no_use = self.lost.is_some() && !self.is_copy;
        self.process.end(match self.interrupt.check() {
            Err(_) => CANCELLED_END,
            Ok(()) if is_of_no_use => BUSY_END,
            Ok(()) => END,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SHOWN_CHARS, limit_text, shown};

    #[test]
    fn texts_are_shown_shortly() {
        assert_eq!(shown("\u{1b}a\n"), "a");
        assert_eq!(shown(&"ä".repeat(300)).chars().count(), SHOWN_CHARS + 1);
    }

    #[test]
    fn limits_are_written_shortly() {
        let texts = [59, 5_000, 600_000, 2_340].map(|ms| limit_text(Duration::from_millis(ms)));
        assert_eq!(texts, ["59 ms", "5 s", "600 s", "2.3 s"]);
    }
}
