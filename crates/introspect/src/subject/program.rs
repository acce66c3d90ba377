//! A program as a subject: it speaks JSON lines, measures each call itself, and may be in any language and ask any system.
//!
//! docs/introspect.md has the protocol. The loop of a call runs inside the program, so that the pipe is in no figure.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use model::{Error, ErrorCode, Interrupt, Result, Value};
use serde_json::{Value as Json, json};

use super::{Call, Choice, Counts, Description, Start, Subject, workload};
use crate::operations::{Operation, StatementName, Way};

/// Longest line that a program may write.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Times of a program to end in: it may remove copies of its data, unless nobody waits for that.
const END: Duration = Duration::from_secs(60);
const CANCELLED_END: Duration = Duration::from_secs(1);
/// Time between looks at the interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// A program that speaks JSON lines.
pub struct Program {
    command: String,
    child: Child,
    input: ChildStdin,
    lines: Receiver<std::io::Result<String>>,
    answer_limit: Duration,
    interrupt: Interrupt,
    description: Description,
    operations: Vec<String>,
    timer_ns: f64,
}

impl Program {
    /// Starts a command of the shell. Each answer must come within the limit.
    pub fn start(command: &str, answer_limit: Duration, interrupt: &Interrupt) -> Result<Program> {
        let failed = |cause: std::io::Error| {
            Error::new(ErrorCode::Argument, format!("the program '{command}' cannot be started: {cause}"))
                .with_remedy("give a command of the shell")
        };
        let mut child = Command::new("sh")
            .args(["-c", &format!("exec {command}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::Error::other("it has no pipes")));
        };
        let (sender, lines) = sync_channel(1);
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            loop {
                let mut line = String::new();
                let read = std::io::Read::take(&mut reader, LINE_BYTES_MAX).read_line(&mut line);
                let is_end = matches!(read, Ok(0) | Err(_));
                if sender.send(read.map(|_| line)).is_err() || is_end {
                    return;
                }
            }
        });
        let mut program = Program {
            command: command.to_owned(),
            child,
            input,
            lines,
            answer_limit,
            interrupt: interrupt.clone(),
            description: Description::default(),
            operations: Vec::new(),
            timer_ns: 0.0,
        };
        let told = program.ask(&json!({"ask": "describe"}))?;
        program.note(&told)?;
        Ok(program)
    }

    fn note(&mut self, told: &Json) -> Result<()> {
        let text = |key: &str| told[key].as_str().map(str::to_owned).ok_or_else(|| self.odd(key, "a string", told));
        let count = |key: &str| told[key].as_u64().ok_or_else(|| self.odd(key, "a count", told));
        let settings = told["settings"].as_object().into_iter().flatten();
        let description = Description {
            system: text("system")?,
            version: text("version")?,
            place: text("place")?,
            nodes: count("nodes")?,
            edges: count("edges")?,
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
            let message = format!("the program '{}' has an operation '{unknown}', which is not known", self.command);
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
        let message =
            format!("the program '{}' answered {key}: {}, where {expected} is expected", self.command, told[key]);
        Error::new(ErrorCode::Argument, message).with_remedy("mend the program; docs/introspect.md has the protocol")
    }

    fn broken(&self, cause: &str) -> Error {
        Error::new(ErrorCode::Source, format!("the program '{}' {cause}", self.command))
            .with_remedy("see what it wrote to standard error; docs/introspect.md has the protocol")
    }

    /// Sends a line and waits for its answer.
    fn ask(&mut self, question: &Json) -> Result<Json> {
        let sent = writeln!(self.input, "{question}").and_then(|()| self.input.flush());
        if sent.is_err() {
            self.interrupt.check()?;
            return Err(self.broken("has ended"));
        }
        let mut waited = Duration::ZERO;
        let line = loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(Ok(line)) if line.is_empty() => {
                    self.interrupt.check()?;
                    return Err(self.broken("has ended"));
                }
                Ok(Ok(line)) => break line,
                Ok(Err(cause)) => return Err(self.broken(&format!("wrote what is no text: {cause}"))),
                Err(RecvTimeoutError::Disconnected) => return Err(self.broken("has ended")),
                Err(RecvTimeoutError::Timeout) => {
                    self.interrupt.check()?;
                    waited += LOOK;
                    if waited >= self.answer_limit {
                        let limit = self.answer_limit.as_secs();
                        return Err(self.broken(&format!("did not answer {} within {limit} s", question["ask"])));
                    }
                }
            }
        };
        let told: Json = serde_json::from_str(&line)
            .map_err(|cause| self.broken(&format!("wrote '{}', which is no JSON: {cause}", line.trim_end())))?;
        match told["error"].as_str() {
            Some(cause) => Err(self.broken(&format!("reports: {cause}"))),
            None => Ok(told),
        }
    }
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
        Ok(self.description.clone())
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
        let told = self.ask(&question)?;
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

    fn cool(&mut self) -> Result<()> {
        self.ask(&json!({"ask": "cool"})).map(drop)
    }

    fn copy(&mut self) -> Result<()> {
        self.ask(&json!({"ask": "copy"})).map(drop)
    }

    fn warm(&mut self) -> Result<()> {
        self.ask(&json!({"ask": "warm"})).map(drop)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program may clean up after this word; one that does not end is ended.
        let _ = writeln!(self.input, "{}", json!({"ask": "close"})).and_then(|()| self.input.flush());
        let limit = if self.interrupt.check().is_err() { CANCELLED_END } else { END };
        for _ in 0..limit.as_millis() / LOOK.as_millis() {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
