//! Every fixed limit of the server.

use std::time::Duration;

/// Bytes of a message before its sender has logged in.
pub(crate) const STRANGER_MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Time from the first byte to the login.
pub(crate) const LOGIN_TIME: Duration = Duration::from_secs(10);
/// Connections that have not logged in.
pub(crate) const STRANGERS_MAX: usize = 64;
/// Memory that a message which waits takes besides its bytes.
pub(crate) const MESSAGE_OVERHEAD_BYTES: usize = 64;
/// Memory of the values of a message, as a multiple of the bytes that it may have.
pub(crate) const VALUES_PER_MESSAGE: usize = 16;
/// Memory of values for which none is reserved.
pub(crate) const SMALL_VALUES_BYTES: usize = 64 << 10;
/// Part of the memory of the database that messages of all connections take which are not whole, or wait.
pub(crate) const ARRIVALS_SHARE: usize = 8;
/// Time for which a client may leave a message half sent.
pub(crate) const HALF_MESSAGE_TIME: Duration = Duration::from_secs(60);
/// Bytes that one read takes from a socket.
pub(crate) const READ_BYTES: usize = 16 << 10;
/// Reads from a socket that closes, at one look: what they take is dropped.
pub(crate) const DROPPED_READS: usize = 16;
/// Bytes that are looked at of a client that does not read its answers.
pub(crate) const FAREWELL_BYTES: usize = 1 << 10;
/// Time that a client has to take note of the end of its connection.
pub(crate) const LEAVING_TIME: Duration = Duration::from_secs(10);
/// Connections that wait for their clients to take note of the end: of those that had logged in, and of others.
pub(crate) const LEAVING_MAX: usize = 256;
pub(crate) const LEAVING_STRANGERS_MAX: usize = 64;
/// Bytes of answers that are put together before they are sent.
pub(crate) const SEND_BYTES: usize = 32 << 10;
/// Bytes of answers that wait because the client does not read; further rows stay in the buffer of their stream.
pub(crate) const UNSENT_BYTES_MAX: usize = 256 << 10;
/// Bytes of rows that the front sends at one look for a statement that computes.
pub(crate) const ATTENDED_BYTES_MAX: usize = 2 << 20;
/// Bytes of rows that a stream keeps in memory; a statement that has more waits for its client, or writes them to the disk.
pub(crate) const READ_AHEAD_BYTES: usize = 1 << 20;
/// Bytes of rows that a stream keeps on the disk.
pub(crate) const SPILLED_BYTES_MAX: u64 = 1 << 30;
/// Streams that are open in one transaction.
pub(crate) const STREAMS_MAX: usize = 1_000;
/// Time that a thread waits for the next request of a connection before it turns to others; a fuzzer sends all at once.
pub(crate) const LINGER: Duration = if cfg!(fuzzing) { Duration::ZERO } else { Duration::from_millis(1) };
/// Time after which a client that does not take what is sent to it is given up.
pub(crate) const SEND_TIME: Duration = Duration::from_secs(60);
/// Time that a request waits for a thread.
pub(crate) const THREAD_TIME: Duration = Duration::from_secs(10);
/// Time between two looks of a statement that waits for its client.
pub(crate) const WAIT_TIME: Duration = Duration::from_millis(20);
/// Time between two looks at sockets whose statements run.
pub(crate) const EAR_TIME: Duration = Duration::from_millis(5);
/// Time after which a thread without work ends.
pub(crate) const IDLE_THREAD_TIME: Duration = Duration::from_secs(10);
/// Time that statements of other processes have to end when the store is closed.
pub(crate) const CLOSING_TIME: Duration = Duration::from_secs(2);
/// Time that statements have to notice that they are stopped when the server ends.
pub(crate) const CUT_TIME: Duration = Duration::from_secs(10);
/// Time for which a client that is silent is waited for when the server ends.
pub(crate) const QUIET_TIME: Duration = Duration::from_millis(100);
/// Time that clients have to read the last answers when the server ends.
pub(crate) const FAREWELL_TIME: Duration = Duration::from_secs(1);
/// Time after which a client of HTTP that asks nothing more is given up.
pub(crate) const HTTP_IDLE_TIME: Duration = Duration::from_secs(300);
