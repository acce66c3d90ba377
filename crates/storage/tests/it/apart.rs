//! Work of tests that is done in a process of its own, whose memory can be measured: this program again, with one test.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// This program with the test of that name alone, which variables tell what to do. Its output is piped.
pub(crate) fn command(test: &str, variables: &[(&str, &OsStr)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).envs(variables.iter().copied());
    command.stdout(Stdio::piped());
    command
}

/// Output of that test, which must succeed.
pub(crate) fn output_of(test: &str, variables: &[(&str, &OsStr)]) -> String {
    let output = command(test, variables).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} ended with {}: {text}{errors}", output.status);
    text.into_owned()
}

/// The number at a place of the line of that name.
pub(crate) fn number_in(text: &str, name: &str, at: usize) -> usize {
    let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap_or_else(|| panic!("{text}"));
    line.split(' ').nth(at).unwrap().parse().unwrap()
}

fn of_this_process(file: &str) -> Option<String> {
    let bytes = storage::os::platform().disk.read(format!("/proc/self/{file}").as_ref()).ok()?;
    String::from_utf8(bytes).ok()
}

/// KiB of memory of that kind, if the system tells.
pub(crate) fn status(name: &str) -> Option<usize> {
    of_this_process("status")?.lines().find_map(|line| kib(line, name))
}

fn kib(line: &str, name: &str) -> Option<usize> {
    line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// KiB of memory that this process held at most, but for the pages of its program and libraries that it has run: these do not
/// depend on the store. 0 if the system does not tell.
pub(crate) fn held_most() -> usize {
    let most = status("VmHWM").unwrap_or(0);
    let (program, mut is_program, mut of_program) = (std::env::current_exe().unwrap(), false, 0);
    for line in of_this_process("smaps").unwrap_or_default().lines() {
        match kib(line, "Rss") {
            Some(resident) if is_program => of_program += resident,
            Some(_) => {}
            // The line of a range of addresses ends with the file that is mapped there.
            None if line.split(' ').next().is_some_and(|range| range.contains('-')) => {
                let file = line.find('/').map_or("", |at| &line[at..]);
                is_program = program.as_os_str() == file || file.contains(".so");
            }
            None => {}
        }
    }
    most.saturating_sub(of_program)
}
