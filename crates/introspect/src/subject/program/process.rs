//! A program that runs: its lines, and its end.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use model::{Error, ErrorCode, Result};
use serde_json::json;

use super::LOOK;

/// Bytes of the longest line that a program may write: ten thousand starts with long keys have some millions.
const LINE_BYTES_MAX: usize = 16 << 20;

/// Lines that are read of a program that is to end, between two looks at it.
const LINES_MAX: usize = 1_000;

/// A program that runs.
pub(super) struct Process {
    child: Child,
    pub(super) input: ChildStdin,
    /// Lines that it writes, an empty one at the end.
    pub(super) lines: Receiver<std::io::Result<String>>,
}

impl Process {
    /// Starts a command of the shell.
    pub(super) fn start(command: &str) -> Result<Process> {
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
                let read = read_line(&mut reader);
                let is_end = !matches!(&read, Ok(line) if !line.is_empty());
                if sender.send(read).is_err() || is_end {
                    return;
                }
            }
        });
        Ok(Process { child, input, lines })
    }

    /// Lets it end within a time, in which it may clean up, and ends it then.
    pub(super) fn end(&mut self, limit: Duration) {
        let _ = writeln!(self.input, "{}", json!({"ask": "close"})).and_then(|()| self.input.flush());
        for _ in 0..limit.as_millis() / LOOK.as_millis() {
            // One that writes what nobody asked for waits until it is read.
            self.lines.try_iter().take(LINES_MAX).for_each(drop);
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(LOOK);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a line; an empty one at the end.
fn read_line(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = Vec::new();
    std::io::Read::take(reader, LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line)?;
    if line.len() > LINE_BYTES_MAX {
        let cause = format!("a line of more than {} MiB", LINE_BYTES_MAX >> 20);
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, cause));
    }
    String::from_utf8(line).map_err(|cause| std::io::Error::new(std::io::ErrorKind::InvalidData, cause))
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES_MAX, read_line};

    #[test]
    fn lines_have_a_greatest_length() {
        let mut lines = &b"one\ntwo"[..];
        let read = [(); 3].map(|()| read_line(&mut lines).expect("it is text"));
        assert_eq!(read, ["one\n", "two", ""]);
        assert!(read_line(&mut &[b'x'; 9][..]).is_ok() && read_line(&mut &[0xff, b'\n'][..]).is_err());
        let long = vec![b'x'; LINE_BYTES_MAX + 1];
        assert!(read_line(&mut &long[..]).is_err_and(|cause| cause.to_string().contains("more than 16 MiB")));
    }
}
