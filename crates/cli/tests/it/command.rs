//! Running the command in a folder that goes away.

use std::io::Write;
use std::process::{Child, Command, Stdio};

/// Outcome of a run of the command.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// The output of a run that must succeed.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    /// The standard error of a run that must end with that code and print nothing.
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        self.stderr
    }
}

/// An empty folder in which the command is run.
pub(crate) struct Folder(testing::Folder);

impl std::ops::Deref for Folder {
    type Target = testing::Folder;

    fn deref(&self) -> &testing::Folder {
        &self.0
    }
}

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(testing::Folder::new())
    }

    /// The command, to be run in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_knot"));
        command.args(arguments).current_dir(self.path()).env("HOME", self.path()).env_remove("NO_COLOR");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        output_of(self.command(arguments).spawn().expect("the command starts"), "")
    }

    /// Runs the command with a text as its standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        output_of(self.command(arguments).stdin(Stdio::piped()).spawn().expect("the command starts"), input)
    }

    /// A store `s.knot` that these statements have made.
    pub(crate) fn make_store(&self, statements: &str) {
        self.run(&["s.knot", "-c", statements]).ok();
    }

    /// The only value of a query's result on `s.knot`.
    pub(crate) fn value(&self, query: &str) -> String {
        let rows = self.run(&["query", "s.knot", query, "--format", "csv"]).ok();
        rows.lines().nth(1).unwrap_or_default().to_string()
    }
}

fn output_of(mut child: Child, input: &str) -> Output {
    if let Some(mut stdin) = child.stdin.take() {
        // The command may end before it has read everything.
        let _ = stdin.write_all(input.as_bytes());
    }
    finish(child)
}

/// Waits for the end of a command.
pub(crate) fn finish(child: Child) -> Output {
    let output = child.wait_with_output().expect("the command ends");
    Output {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("the output is text"),
        stderr: String::from_utf8(output.stderr).expect("the output is text"),
    }
}

/// Sends a signal, such as `INT` or `KILL`.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "a child can be sent a signal");
}

/// Waits a moment.
pub(crate) fn pause(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}
