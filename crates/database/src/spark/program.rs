//! The process of a job of Spark, and what is said between it and us: lines of JSON.
//!
//! The program says `begun` when it has found PySpark, `ready` when it has a session, `progress`, and at the end `done` with
//! figures or `failed` with a message. It is sent one line, the task. An input that closes is the sign that we are gone.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

use model::job::{JobFigures, JobTask};
use model::{Error, ErrorCode, Interrupt, Result, Value, error};
use serde_json::Value as Json;

use crate::settings::SparkSettings;

/// Time between looks at the interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// Looks until a program that was asked to end is killed.
const LOOKS_AT_THE_END: usize = 40;
/// Bytes of a line at the most: one that is longer is none of ours.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Bytes at the end of the log in which the cause of a failure is looked for.
const LOG_BYTES: u64 = 16 << 10;
/// Characters of a line that are quoted.
const QUOTED_MAX: usize = 300;
/// Lines that wait to be taken.
const LINES_WAITING: usize = 64;

/// A program at work. Dropped, it ends with all that it has started.
pub(super) struct Program {
    input: Option<ChildStdin>,
    child: Child,
    lines: Receiver<String>,
    log: PathBuf,
    python: PathBuf,
    is_ready: bool,
}

/// Something that the program has said.
enum Event {
    Begun,
    Ready,
    Progress(u64, u64),
    Done(JobFigures),
}

impl Program {
    /// Starts the program with its arguments; its log lies in the folder.
    pub(super) fn start(settings: &SparkSettings, folder: &Path, arguments: [&PathBuf; 2]) -> Result<Program> {
        let (log, own) = (folder.join("log"), folder.join("local"));
        std::fs::create_dir_all(&own).map_err(|cause| Error::of_file(&own, &cause))?;
        let file = std::fs::File::create(&log).map_err(|cause| Error::of_file(&log, &cause))?;
        let mut command = Command::new(&settings.python);
        // Temporary files of Python and of Spark are removed with the folder.
        command.args(arguments).current_dir(folder).env("TMPDIR", &own).env("SPARK_LOCAL_DIRS", &own);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        in_a_group_of_its_own(&mut command);
        let mut child = command.spawn().map_err(|cause| {
            error!(Job, "Spark cannot be started: the program {}: {cause}", settings.python.display()).with_remedy(
                "install Python with PySpark, and name it by spark_python (--spark-python); see docs/spark.md",
            )
        })?;
        let (sender, lines) = sync_channel(LINES_WAITING);
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || hand_on(output, &sender));
        }
        let python = settings.python.clone();
        Ok(Program { input: child.stdin.take(), child, lines, log, python, is_ready: false })
    }

    /// Waits until the program has found what it needs.
    pub(super) fn await_begin(&mut self, interrupt: &Interrupt) -> Result<()> {
        match self.next(interrupt)? {
            Event::Begun => Ok(()),
            _ => Err(self.strange("something else before 'begun'")),
        }
    }

    /// Waits until the program has a session.
    pub(super) fn await_session(&mut self, interrupt: &Interrupt) -> Result<()> {
        while !self.is_ready {
            let event = self.next(interrupt)?;
            self.take(&event)?;
        }
        Ok(())
    }

    /// Fails if the program has said that it failed, or has ended.
    pub(super) fn look(&mut self) -> Result<()> {
        loop {
            match self.lines.try_recv() {
                Ok(line) => {
                    let event = self.event(&line)?;
                    self.take(&event)?;
                }
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(self.ended()),
            }
        }
    }

    fn take(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::Ready => self.is_ready = true,
            Event::Progress(..) => {}
            Event::Begun | Event::Done(_) => return Err(self.strange("something else before 'ready'")),
        }
        Ok(())
    }

    /// Sends the task.
    pub(super) fn ask(&mut self, task: &JobTask) -> Result<()> {
        let settings = task.settings.iter().map(|(name, value)| ((*name).to_owned(), json_of(value)));
        let settings: serde_json::Map<String, Json> = settings.collect();
        let line = serde_json::json!({ "name": task.name, "rows": task.rows.name(), "settings": settings });
        let sent = self.input.as_mut().map(|input| writeln!(input, "{line}").and_then(|()| input.flush()));
        if matches!(sent, Some(Ok(()))) { Ok(()) } else { Err(self.ended()) }
    }

    /// Waits for the figures; progress goes to the interrupt.
    pub(super) fn await_figures(&mut self, interrupt: &Interrupt) -> Result<JobFigures> {
        loop {
            match self.next(interrupt)? {
                Event::Done(figures) => return Ok(figures),
                Event::Progress(done, total) => interrupt.report(done, total),
                Event::Begun | Event::Ready => return Err(self.strange("'begun' or 'ready' while it computed")),
            }
        }
    }

    fn next(&mut self, interrupt: &Interrupt) -> Result<Event> {
        loop {
            interrupt.check_unpaused()?;
            match interrupt.while_aside(|| self.lines.recv_timeout(LOOK)) {
                Ok(line) => return self.event(&line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            }
        }
    }

    fn event(&self, line: &str) -> Result<Event> {
        let said: Json = serde_json::from_str(line).unwrap_or(Json::Null);
        let number = |name: &str| said[name].as_u64().unwrap_or(0);
        match said["event"].as_str() {
            Some("begun") => Ok(Event::Begun),
            Some("ready") => Ok(Event::Ready),
            Some("progress") => Ok(Event::Progress(number("done"), number("total"))),
            Some("done") => {
                let figures = said["figures"].as_object().into_iter().flatten();
                Ok(Event::Done(figures.map(|(name, value)| (name.clone(), value_of(value))).collect()))
            }
            Some("failed") => Err(self.failed(&said)),
            _ => Err(self.strange(&format!("'{}'", quoted(line)))),
        }
    }

    /// The failure that the program tells of itself.
    fn failed(&self, said: &Json) -> Error {
        let message = said["message"].as_str().unwrap_or("it has not said why");
        let is_full = ["No space left on device", "Disk quota exceeded"].iter().any(|text| message.contains(text));
        let code = if is_full { ErrorCode::DiskFull } else { ErrorCode::Job };
        let error = Error::new(code, format!("Spark has failed: {message}"));
        match said["remedy"].as_str() {
            _ if is_full => error.with_remedy("free space, or name another folder by spark_folder (--spark-folder)"),
            Some(remedy) => error.with_remedy(remedy),
            None => error,
        }
    }

    fn strange(&self, said: &str) -> Error {
        error!(Job, "the program {} has said {said}, which a job of Spark does not say", self.python.display())
            .with_remedy("name a Python that has PySpark by spark_python (--spark-python)")
    }

    /// The failure of a program that has ended although it was not done.
    fn ended(&mut self) -> Error {
        // Its output is closed, which an end follows; a program that goes on without is no better.
        let status = (0..LOOKS_AT_THE_END).find_map(|_| {
            let status = self.child.try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(LOOK);
            }
            status
        });
        let how = status.map_or_else(|| "its output is closed".to_owned(), |status| status.to_string());
        let last = last_line(&self.log).map_or_else(String::new, |line| format!(": {}", quoted(&line)));
        error!(Job, "Spark has ended before it was done ({how}){last}").with_remedy(
            "see that Spark has memory enough (spark.driver.memory, spark.executor.memory), and that nobody ends it",
        )
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A job that finds its input closed believes that we have died, so that is closed last.
        end(&mut self.child);
        self.input = None;
    }
}

/// Hands on the lines of the output until it ends, or nobody takes them.
fn hand_on(output: ChildStdout, lines: &SyncSender<String>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if !text.is_empty() && lines.send(text).is_err() {
            return;
        }
    }
}

fn quoted(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(QUOTED_MAX).collect()
}

/// The last line with anything on it.
fn last_line(log: &Path) -> Option<String> {
    use std::io::{Seek, SeekFrom};
    let mut file = std::fs::OpenOptions::new().read(true).open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES))).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Bool(flag) => Json::from(*flag),
        Value::Int(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::String(text) => Json::from(text.to_string()),
        Value::List(items) => items.iter().map(json_of).collect(),
        _ => Json::Null,
    }
}

fn value_of(said: &Json) -> Value {
    match said {
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => {
            number.as_i64().map(Value::Int).or_else(|| number.as_f64().map(Value::Float)).unwrap_or(Value::Null)
        }
        Json::String(text) => Value::string(text),
        _ => Value::Null,
    }
}

/// Puts a process that is to be started into a group of its own, so that a Ctrl-C of the terminal reaches us alone, and all that
/// it starts can be ended with it.
#[cfg(unix)]
fn in_a_group_of_its_own(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn in_a_group_of_its_own(_command: &mut Command) {}

/// Asks a process and all that it has started to end, and kills what has not ended soon.
#[cfg(unix)]
fn end(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
    let group = Pid::from_child(child);
    // Of a group that is gone already there is nothing to end.
    let _ = kill_process_group(group, Signal::TERM);
    for _ in 0..LOOKS_AT_THE_END {
        // The child itself is among the group until it has been waited for.
        let _ = child.try_wait();
        if test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(LOOK);
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
