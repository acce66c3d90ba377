//! The interactive shell: a line editor around a session, with commands that start with a colon.
//!
//! A statement ends with `;` or with an empty line. Ctrl-C cancels the running statement and keeps the session; Ctrl-D
//! leaves.

#![allow(clippy::print_stdout, reason = "a shell talks to its user on standard output")]

mod completion;

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use client::{Graph, Session};
use database::{Access, Error, ErrorCode, Parameters, Value};
use rustyline::config::Configurer;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::arguments::{Format, ShellArguments};
use crate::commands::query::{Manner, Script, Stats, ended, run_text, settle};
use crate::commands::{backup, check_new_store, is_address, reach};
use crate::failure::{self, Failure, Outcome, not_utf8};
use crate::{format, signals, values};

use completion::ShellHelper;

const HELP: &str = "\
:help                     this text
:schema                   labels, edge types, property keys, constraints and their counts
:info                     that, the files by level, memory, cache, and what was done since the store was opened
:params                   the parameters that are set
:param name => value      set a parameter to the value of an expression; also name: value, name=value, {name: value, …}
:param name               forget a parameter
:begin :commit :rollback  a transaction of several statements
:format table|csv|json|jsonl
:refresh                  move a store that was opened with -r on to what others have committed
:backup directory         copy the store as it is now, while others write to it
:quit                     leave (or Ctrl-D)
A statement ends with ; or an empty line. Tab completes keywords, labels, edge types, properties and procedures.
Ctrl-C cancels what runs. EXPLAIN and PROFILE before a query show its plan.";

/// Lines of history kept.
const HISTORY_LINES: usize = 10_000;

/// Opens the store or server of the command line, and runs what it says there, or the shell.
pub(crate) fn start(arguments: &ShellArguments) -> Outcome<()> {
    let Some(store) = &arguments.store else {
        return Err(Failure::Usage("expected a store or a command".into()));
    };
    if !is_address(store) {
        check_new_store(store)?;
    }
    let graph = reach(store, &arguments.opening, Access::ReadWrite)?;
    let parameters = values::parameters(&arguments.parameters)?;
    let Some(text) = &arguments.query else {
        return run(&graph, parameters, arguments.format, arguments.null.clone());
    };
    let format = arguments.format.unwrap_or_else(format::default_format);
    let manner = Manner { format, null: arguments.null.clone(), stats: Stats::Show };
    let mut session = graph.session();
    run_text(&mut session, Script::whole(text), &parameters, &manner)?;
    ended(&session)
}

/// Runs the shell until the input ends. Without a terminal, runs the statements of standard input.
fn run(graph: &Graph, parameters: Parameters, chosen: Option<Format>, null: Option<String>) -> Outcome<()> {
    let format = chosen.unwrap_or_else(format::default_format);
    let manner = Manner { format, null, stats: Stats::Show };
    let mut shell = Shell { graph, session: graph.session(), parameters, manner };
    if !std::io::stdin().is_terminal() {
        return shell.run_script();
    }
    let info = shell.session.info()?;
    println!("Knotwork {} on {}", env!("CARGO_PKG_VERSION"), info.path.display());
    println!("{} nodes, {} edges. :help for help.", info.nodes, info.edges);
    let mut editor = editor(&mut shell)?;
    let history = history_path();
    if let Some(path) = &history {
        // The first run has no history yet.
        let _ = editor.load_history(path);
    }
    loop {
        if let Some(helper) = editor.helper_mut() {
            helper.refresh(&mut shell.session);
        }
        let prompt = if shell.session.in_transaction() { "knot*> " } else { "knot> " };
        match editor.readline(prompt) {
            Ok(line) => {
                let line = line.trim();
                if line.is_empty() {
                    continue;
                }
                // A line that cannot be added to the history can still be run.
                let _ = editor.add_history_entry(line);
                signals::forget();
                if !shell.run_line(line)? {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(cause) => return Err(std::io::Error::other(cause).into()),
        }
    }
    if let Some(path) = &history {
        // A folder that cannot be written costs the history, not the session.
        let _ = std::fs::create_dir_all(path.parent().unwrap_or(path));
        let _ = editor.save_history(path);
    }
    shell.warn_of_open_transaction();
    Ok(())
}

fn editor(shell: &mut Shell<'_>) -> Outcome<Editor<ShellHelper, FileHistory>> {
    let config = Config::builder().auto_add_history(false).completion_type(rustyline::CompletionType::List).build();
    let mut editor = Editor::with_config(config).map_err(std::io::Error::other)?;
    editor.set_max_history_size(HISTORY_LINES).map_err(std::io::Error::other)?;
    editor.set_helper(Some(ShellHelper::new(&mut shell.session)));
    Ok(editor)
}

/// Path of the file in which lines are remembered: below the user's state folder.
fn history_path() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state")))?;
    Some(state.join("knotwork").join("history"))
}

struct Shell<'g> {
    graph: &'g Graph,
    session: Session,
    parameters: Parameters,
    manner: Manner,
}

impl Shell<'_> {
    /// Runs a line; false ends the shell.
    fn run_line(&mut self, line: &str) -> Outcome<bool> {
        if let Some(command) = line.strip_prefix(':') {
            return Ok(self.run_command(command).unwrap_or_else(|error| {
                failure::report(&error, None);
                true
            }));
        }
        match run_text(&mut self.session, Script::whole(line), &self.parameters, &self.manner) {
            Err(Failure::Error(error, query)) => failure::report(&error, query.as_deref()),
            Err(Failure::Trouble(error)) => failure::report(&error, None),
            Err(Failure::Usage(message) | Failure::UsageOf(_, message)) => tell!("{message}"),
            Err(Failure::OutputClosed) => return Err(Failure::OutputClosed),
            Ok(_) | Err(Failure::Reported) => {}
        }
        Ok(true)
    }

    /// Statements and commands from a pipe, until the first that fails.
    fn run_script(&mut self) -> Outcome<()> {
        self.manner.stats = Stats::Hide;
        let mut input = std::io::stdin().lock();
        let (mut text, mut done, mut statements) = (String::new(), 0, 0);
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line)? > 0 {
            let start = text.len();
            let read =
                std::str::from_utf8(&line).map_err(|_| not_utf8(&[text.as_bytes(), line.as_slice()].concat()))?;
            text.push_str(read);
            line.clear();
            match text[start..].trim().strip_prefix(':') {
                Some(command) if text[done..start].trim().is_empty() => {
                    let goes_on = self.run_command(command).map_err(|error| {
                        let line = text[..start].lines().count() + 1;
                        error
                            .within(&format!("line {line}, :{}", command.split_whitespace().next().unwrap_or_default()))
                    })?;
                    if !goes_on {
                        return ended(&self.session);
                    }
                    done = text.len();
                }
                _ if text.trim_end().ends_with(';') && !database::is_unfinished(&text[done..]) => {
                    let script = Script { text: &text, start: done, statements, is_numbered: true };
                    statements += run_text(&mut self.session, script, &self.parameters, &self.manner)?;
                    done = text.len();
                }
                _ => {}
            }
        }
        let script = Script { text: &text, start: done, statements, is_numbered: true };
        run_text(&mut self.session, script, &self.parameters, &self.manner)?;
        ended(&self.session)
    }

    fn warn_of_open_transaction(&self) {
        if self.session.in_transaction() {
            tell!("the open transaction was rolled back");
        }
    }

    /// Runs a command, given without its colon; false at the end of the session.
    fn run_command(&mut self, command: &str) -> database::Result<bool> {
        let (verb, rest) = command.trim().split_once(char::is_whitespace).unwrap_or((command.trim(), ""));
        let rest = rest.trim().trim_end_matches(';');
        match verb.trim_end_matches(';') {
            "quit" | "exit" | "q" => return Ok(false),
            "help" | "h" | "?" => println!("{HELP}"),
            "schema" => print!("{}", crate::commands::schema_text(&self.session.info()?)),
            "info" => print!("{}", crate::commands::info_text(&self.graph.database_to(":info")?.info()?)),
            "params" => self.print_parameters(),
            "param" => self.set_parameter(rest)?,
            "begin" => {
                settle(&mut self.session)?;
                self.session.begin()?;
            }
            "commit" => self.session.commit()?,
            "rollback" => self.session.rollback()?,
            "backup" => self.back_up(rest)?,
            "refresh" => self.refresh()?,
            "format" | "mode" => {
                self.manner.format = <Format as clap::ValueEnum>::from_str(rest, true).map_err(|_| {
                    let message = format!("unknown format '{rest}', expected table, csv, json or jsonl");
                    Error::new(ErrorCode::Argument, message).with_remedy("write :format csv")
                })?;
            }
            other => {
                let message = format!("unknown command ':{other}'");
                return Err(Error::new(ErrorCode::Argument, message).with_remedy(":help lists the commands"));
            }
        }
        Ok(true)
    }

    fn refresh(&self) -> database::Result<()> {
        let database = self.graph.database_to(":refresh")?;
        let has_new = backup::watched(|interrupt| database.refresh(interrupt))?;
        println!("{}", if has_new { "moved on to the newest commit" } else { "nothing new was committed" });
        Ok(())
    }

    fn back_up(&mut self, destination: &str) -> database::Result<()> {
        if destination.is_empty() {
            return Err(Error::new(ErrorCode::Argument, ":backup needs the directory to be made")
                .with_remedy("write :backup DIRECTORY"));
        }
        let path = std::path::Path::new(destination);
        let Some(database) = self.graph.database() else { return self.back_up_there(destination) };
        let summary = backup::watched(|interrupt| database.backup(path, None, interrupt))?;
        backup::report("backed up to", path, &summary);
        Ok(())
    }

    /// Has a server, or the process that has the store open, copy it.
    fn back_up_there(&mut self, destination: &str) -> database::Result<()> {
        let parameters = Parameters::from_iter([("to".into(), Value::string(destination))]);
        let _cancelling = signals::cancel_with(self.session.interrupt());
        let made = self.session.query("BACKUP DATABASE TO $to", &parameters)?;
        let directory = made.rows().next().into_iter().flatten().next();
        if let Some(Value::String(directory)) = directory {
            tell!("backed up to {directory}, every checksum verified");
        }
        Ok(())
    }

    fn print_parameters(&self) {
        let mut parameters: Vec<_> = self.parameters.iter().collect();
        parameters.sort();
        for (name, value) in parameters {
            println!("${name} = {value}");
        }
    }

    /// `name => value`, `name: value`, `name = value`, `{name: value, …}`; or a name alone, to forget it.
    fn set_parameter(&mut self, text: &str) -> database::Result<()> {
        if text.starts_with('{') {
            let Value::Map(entries) = self.value_of(text)? else { return Err(no_parameter(text)) };
            self.parameters.extend(entries.iter().map(|(name, value)| (name.clone(), value.clone())));
            return Ok(());
        }
        let name = text.trim_start_matches('$');
        let length = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        let (name, rest) = (&name[..length], name[length..].trim_start());
        if name.is_empty() {
            return Err(no_parameter(text));
        }
        let value = match rest.strip_prefix("=>").or_else(|| rest.strip_prefix(':')) {
            Some(expression) => self.value_of(expression)?,
            None if rest.is_empty() => {
                self.parameters.remove(name);
                return Ok(());
            }
            None => {
                let value = rest.strip_prefix('=').ok_or_else(|| no_parameter(text))?.trim();
                // A word is the text that it is, as on the command line.
                let is_word = value.chars().all(|c| c.is_alphanumeric() || " _-.,".contains(c));
                match self.value_of(value) {
                    Ok(value) => value,
                    Err(_) if is_word || value.starts_with(['{', '[']) => {
                        values::parameter(&format!("{name}={value}"))?.1
                    }
                    Err(failure) => return Err(failure),
                }
            }
        };
        self.parameters.insert(name.into(), value);
        Ok(())
    }

    /// The value of an expression.
    fn value_of(&mut self, expression: &str) -> database::Result<Value> {
        if expression.trim().is_empty() {
            return Err(no_parameter(expression));
        }
        let result = self.session.query(&format!("RETURN {} AS value", expression.trim()), &self.parameters)?;
        result.single().ok_or_else(|| no_parameter(expression))
    }
}

fn no_parameter(text: &str) -> Error {
    Error::new(ErrorCode::Argument, format!("expected a parameter and its value, found '{text}'"))
        .with_remedy("write :param name => value, or :param {name: value}")
}
