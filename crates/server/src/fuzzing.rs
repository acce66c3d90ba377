//! One connection after the other, each fed with bytes from a fuzzer, on one thread.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use database::Database;
use model::Consumer;

use crate::arrivals::{Arrivals, Share};
use crate::connection::{Connection, Next};
use crate::serve::Server;
use crate::settings::Settings;
use crate::socket::Socket;
use crate::wire::Wire;

/// The longest time of a statement.
const STATEMENT_TIME: Duration = Duration::from_millis(200);
/// Bytes of one write, so that messages arrive in parts.
const PART_BYTES: usize = 16 << 10;

/// A server that is reached by bytes alone.
pub struct Subject {
    server: Arc<Server>,
    _woken: UnixStream,
}

impl Subject {
    /// A server of a database, without users.
    ///
    /// # Panics
    /// If it cannot start.
    #[allow(clippy::expect_used, reason = "a fuzzer ends where its server cannot start")]
    pub fn new(database: Database) -> Subject {
        let settings = Settings { timeout: Some(STATEMENT_TIME), patience: STATEMENT_TIME, ..Settings::default() };
        let (server, woken) = Server::new(database, settings, None, None).expect("it starts");
        Subject { server, _woken: woken }
    }

    /// Feeds a new connection, which is then closed. Gives what it answered.
    ///
    /// # Panics
    /// If anything panics that reads the bytes or runs what they ask.
    #[allow(clippy::expect_used, reason = "a fuzzer ends where it cannot make a connection")]
    pub fn feed(&self, bytes: &[u8]) -> Vec<u8> {
        let (client, stream) = UnixStream::pair().expect("a pair");
        client.set_nonblocking(true).expect("a setting");
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let share = Share::new(Arrivals::new(1 << 24), self.server.database.memory().empty(Consumer::Query));
        let newest = self.server.settings.newest;
        let wire = Wire::new(Socket::Unix(stream), Some(peer), newest, share, None).expect("a wire");
        let mut connection = Connection::new(self.server.clone(), Arc::new(wire), 1, false);
        let mut answers = Vec::new();
        let mut is_open = true;
        for part in bytes.chunks(PART_BYTES) {
            is_open = is_open && (&client).write_all(part).is_ok() && connection.serve() == Next::Park;
            read(&client, &mut answers);
        }
        // Answers that wait for the client to read go on as it reads.
        for _ in 0..16 {
            if !is_open || !connection.has_unsent() {
                break;
            }
            is_open = connection.serve() == Next::Park;
            read(&client, &mut answers);
        }
        connection.close();
        read(&client, &mut answers);
        answers
    }
}

fn read(mut client: &UnixStream, answers: &mut Vec<u8>) {
    match client.read_to_end(answers) {
        Err(cause) if cause.kind() != ErrorKind::WouldBlock => answers.clear(),
        _ => {}
    }
}
