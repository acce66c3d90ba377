//! The words of two processes: sockets and settings first, then lines of JSON.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Result, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use model::{Error, ErrorCode};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde_json::{Value, json};

/// The most sockets that are passed; systems allow 253.
const SOCKETS_MAX: usize = 64;
/// The most bytes of settings.
const GIVEN_BYTES_MAX: usize = 1 << 20;
/// The longest line.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Sends sockets together with the length of a text of JSON, and that text behind it.
pub(super) fn send_with_sockets(stream: &UnixStream, sockets: &[BorrowedFd<'_>], given: &Value) -> Result<()> {
    let text = given.to_string();
    let length = (text.len() as u32).to_be_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(sockets)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(stream, &[IoSlice::new(&length)], &mut control, SendFlags::empty())?;
    (&*stream).write_all(&length[sent..])?;
    (&*stream).write_all(text.as_bytes())
}

/// Receives what [`send_with_sockets`] sends.
pub(super) fn receive_with_sockets(stream: &UnixStream) -> Result<(Vec<OwnedFd>, Value)> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(stream, &mut [IoSliceMut::new(&mut length)], &mut control, flags)?.bytes;
    let mut sockets = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            sockets.extend(passed);
        }
    }
    (&*stream).read_exact(&mut length[received..])?;
    let count = u32::from_be_bytes(length) as usize;
    if sockets.is_empty() || count > GIVEN_BYTES_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; count];
    (&*stream).read_exact(&mut text)?;
    Ok((sockets, serde_json::from_slice(&text)?))
}

/// Sends a line.
pub(super) fn say(stream: &UnixStream, line: &Value) -> Result<()> {
    (&*stream).write_all(format!("{line}\n").as_bytes())
}

/// Lines as they arrive.
pub(super) struct Lines<'a> {
    stream: &'a UnixStream,
    arrived: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(stream: &'a UnixStream) -> Lines<'a> {
        Lines { stream, arrived: Vec::new() }
    }

    /// The next line, if one arrives within that time.
    ///
    /// # Errors
    /// Fails once the other side has closed the connection, and at lines that are none.
    pub(super) fn next(&mut self, limit: Duration) -> Result<Option<Value>> {
        loop {
            if let Some(end) = self.arrived.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.arrived.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            if self.arrived.len() > LINE_BYTES_MAX {
                return Err(ErrorKind::InvalidData.into());
            }
            self.stream.set_read_timeout(Some(limit))?;
            let mut buffer = [0; 4_096];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.arrived.extend_from_slice(&buffer[..count]),
                Err(cause) if matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
                Err(cause) if cause.kind() == ErrorKind::Interrupted => return Ok(None),
                Err(cause) => return Err(cause),
            }
        }
    }
}

/// An error as it is told to the other process.
pub(super) fn json_of(error: &Error) -> Value {
    json!({"code": error.code().name(), "message": error.message(), "remedy": error.remedy()})
}

/// The error that [`json_of`] tells of.
pub(super) fn error_of(told: &Value) -> Error {
    let text = |key: &str| told[key].as_str().unwrap_or_default();
    let code = ErrorCode::ALL.iter().find(|code| code.name() == text("code"));
    Error::new(code.copied().unwrap_or(ErrorCode::Internal), text("message")).with_remedy(text("remedy"))
}
