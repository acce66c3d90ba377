//! The socket of a connection, beside the driver's own hand on it: the driver waits for as long as it was told when it
//! connected, and cannot be told otherwise.
//!
//! Uses unsafe code: the driver lends the number of its socket only.
#![allow(unsafe_code, reason = "the driver gives the number of its socket, not the socket")]

use std::io;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use ::mysql::Conn;

/// A socket that a driver reads and writes.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
}

impl Socket {
    pub(super) fn of(connection: &Conn) -> io::Result<Socket> {
        // SAFETY: the socket is open as long as the connection lives, which is borrowed until a copy was made.
        let borrowed = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
        Ok(Socket { stream: TcpStream::from(borrowed.try_clone_to_owned()?) })
    }

    pub(super) fn try_clone(&self) -> io::Result<Socket> {
        Ok(Socket { stream: self.stream.try_clone()? })
    }

    /// Limits the time that each read and write may wait; for ever with `None`.
    pub(super) fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(patience).and(self.stream.set_write_timeout(patience))
    }

    /// Ends the connection: a thread that waits for it is told at once.
    pub(super) fn close(&self) {
        // One that is closed already is as it should be.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
