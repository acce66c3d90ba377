//! Reading of what may be silent: a pipe is read by a thread of its own, so that a statement that waits for it can be stopped.

use std::io::Read;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use model::Interrupt;

/// Bytes that are read at a time, and such pieces that may wait.
const PIECE_BYTES: usize = 64 << 10;
const PIECES: usize = 4;
/// Time between two looks at whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

type Piece = std::io::Result<Vec<u8>>;

/// The bytes of a pipe. If nobody ever writes to it, its thread waits as long as the process lives.
pub(super) struct PipeReader {
    pieces: Receiver<Piece>,
    piece: Vec<u8>,
    taken: usize,
    interrupt: Interrupt,
}

impl PipeReader {
    pub(super) fn open(path: PathBuf, interrupt: Interrupt) -> PipeReader {
        let (sender, pieces) = sync_channel(PIECES);
        std::thread::spawn(move || hand_over(&path, &sender));
        PipeReader { pieces, piece: Vec::new(), taken: 0, interrupt }
    }
}

/// Reads until the end, an error, or until nobody wants more.
fn hand_over(path: &std::path::Path, sender: &SyncSender<Piece>) {
    #[allow(clippy::disallowed_methods, reason = "files to import are not the store's; they are read as they are")]
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(cause) => return drop(sender.send(Err(cause))),
    };
    loop {
        let mut piece = vec![0; PIECE_BYTES];
        let read = match file.read(&mut piece) {
            Ok(0) => return,
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(count) => {
                piece.truncate(count);
                Ok(piece)
            }
            Err(cause) => Err(cause),
        };
        let is_last = read.is_err();
        if sender.send(read).is_err() || is_last {
            return;
        }
    }
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.piece.len() {
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => (self.piece, self.taken) = (piece?, 0),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    // The reason is asked for again where it can be told with its code.
                    self.interrupt.check().map_err(|failure| std::io::Error::other(failure.message().to_owned()))?;
                }
            }
        }
        let count = buffer.len().min(self.piece.len() - self.taken);
        buffer[..count].copy_from_slice(&self.piece[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}
