//! A server whose store another process has open: that process takes its clients in.
//!
//! The process that was asked to serve passes the sockets on which it listens, and its settings, over the socket of the store to the
//! process that has the store open (`SCM_RIGHTS`, unix(7)). Both have the sockets then. When the holder of the store ends, clients
//! wait in the queue of the sockets until the other process has opened the store, or has found the next holder.
//!
//! Invariants: clients are accepted by the holder of the store alone; the end of the connection between both ends the server.
//! Cost: clients are served as by any server, without a detour. The connection carries some lines of JSON.

mod given;
mod lines;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use database::{Interrupt, Site};
use model::{Error, Result, error};
use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use crate::limits::CLOSING_TIME;
use crate::serve::{Front, LOOK_TIME, Server, start};
use crate::settings::{Notice, Settings};
use crate::socket::{Listener, Listeners, reach};
use crate::wire::{HANDOVER_FIRST, HANG_UP, timespec};
use lines::Lines;

/// Time for which each side waits for the other to say what it has to say at once.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Looks at whether the server before has ended.
const CLAIMS: usize = 5;

/// Outcome of passing sockets to the holder of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// There is none that shares the store.
    NoHolder,
    /// The holder has ended, or has closed the store.
    HolderEnded,
    /// The server was asked to end, and has ended.
    Ended,
}

/// News of a server that another process runs.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// Clients can come; the number of the process that takes them in.
    Ready(u32),
    /// Something that whoever runs the server is to know.
    Notice(&'a str),
}

/// Passes sockets to the process that has a store open, until that ends or the server is asked to end.
///
/// # Errors
/// Those of the server in the other process, such as `BUSY` if the store is served already, and `FILE` if a file of the settings
/// cannot be read there.
pub fn hand_over(
    store: &Path,
    listeners: &Listeners,
    settings: &Settings,
    end: &Interrupt,
    told: &mut dyn FnMut(News<'_>),
) -> Result<Handover> {
    let given = given::to_json(settings)?;
    let Ok(stream) = reach(store) else { return Ok(Handover::NoHolder) };
    if pass(&stream, &listeners.0, &given).is_err() {
        return Ok(Handover::NoHolder);
    }
    let mut lines = Lines::new(&stream);
    let mut lost = Handover::NoHolder;
    // Time that the holder has left for its end, once it is asked for that.
    let mut left: Option<Duration> = None;
    loop {
        if end.check_unpaused().is_err() && left.is_none() {
            // Statements come to their end first.
            let _ = stream.shutdown(Shutdown::Write);
            left = Some(settings.drain + ANSWER_TIME);
            lost = Handover::Ended;
        }
        let line = match lines.next(LOOK_TIME) {
            Ok(Some(line)) => line,
            Ok(None) if left.is_some_and(|left| left.is_zero()) => return Ok(lost),
            Ok(None) => {
                left = left.map(|left| left.saturating_sub(LOOK_TIME));
                continue;
            }
            Err(_) => return Ok(lost),
        };
        if let Some(process) = line["ready"].as_u64() {
            if left.is_none() {
                lost = Handover::HolderEnded;
            }
            told(News::Ready(process as u32));
        } else if let Some(notice) = line["notice"].as_str() {
            told(News::Notice(notice));
        } else if !line["error"].is_null() {
            return Err(lines::error_of(&line["error"]));
        } else if line["ended"] == true {
            return Ok(lost);
        }
    }
}

/// Sends the sockets and the settings, once the other process says that it takes them.
fn pass(stream: &UnixStream, listeners: &[Listener], given: &Value) -> std::io::Result<()> {
    stream.set_read_timeout(Some(ANSWER_TIME))?;
    stream.set_write_timeout(Some(ANSWER_TIME))?;
    (&*stream).write_all(&[HANDOVER_FIRST])?;
    let mut answer = [0];
    (&*stream).read_exact(&mut answer)?;
    if answer != [HANDOVER_FIRST] {
        return Err(ErrorKind::InvalidData.into());
    }
    let sockets: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    lines::send_with_sockets(stream, &sockets, given)
}

/// Serves for another process, and tells it how that ended.
pub(crate) fn answer(host: &Server, stream: &UnixStream) {
    let outcome = serve_for(host, stream);
    let last = match outcome {
        Ok(()) => json!({"ended": true}),
        Err(error) => json!({"error": lines::json_of(&error)}),
    };
    // A process that is gone needs no word.
    let _ = lines::say(stream, &last);
}

fn serve_for(host: &Server, stream: &UnixStream) -> Result<()> {
    let failed = |cause: std::io::Error| error!(Connection, "the sockets of a server did not arrive: {cause}");
    let receive = || {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(ANSWER_TIME))?;
        stream.set_write_timeout(Some(ANSWER_TIME))?;
        (&*stream).write_all(&[HANDOVER_FIRST])?;
        lines::receive_with_sockets(stream)
    };
    let (sockets, given) = receive().map_err(failed)?;
    let listeners = sockets.into_iter().map(|socket| Listener::Tcp(TcpListener::from(socket))).collect::<Vec<_>>();
    let mut settings = given::of_json(&given)?;
    let teller = stream.try_clone().map_err(failed)?;
    settings.notice = Notice(Arc::new(move |text| drop(lines::say(&teller, &json!({"notice": text})))));
    let drain = settings.drain;
    let asker = stream.try_clone().map_err(failed)?;
    let mut front = claim(host, listeners, settings)?;
    front.serve_for(asker);
    if lines::say(stream, &json!({"ready": std::process::id()})).is_ok() {
        while !host.is_ending() && !is_left(stream) {
            front.turn(LOOK_TIME);
        }
    }
    // The next server need not wait for the last statements of this one.
    host.database.set_site(Site::default());
    front.drain(if host.is_ending() { drain.min(CLOSING_TIME) } else { drain });
    Ok(())
}

/// Starts a server on the database of another. Only one is reached at an address at a time: it keeps the users and the databases.
fn claim(host: &Server, listeners: Vec<Listener>, settings: Settings) -> Result<Front> {
    static CLAIMING: Mutex<()> = Mutex::new(());
    // The one before may have just ended.
    for _ in 0..CLAIMS {
        if !host.database.site().address.is_empty() {
            std::thread::sleep(LOOK_TIME);
        }
    }
    let _claiming = CLAIMING.lock().unwrap_or_else(PoisonError::into_inner);
    let address = host.database.site().address;
    if !address.is_empty() {
        let process = std::process::id();
        return Err(error!(Busy, "process {process} serves the store already, at {address}")
            .with_remedy("connect to that address, or end that server first"));
    }
    start(host.database.clone(), Listeners(listeners), settings).map_err(|error| {
        let place = format!("the process that has the store open, {}", std::process::id());
        Error::new(error.code(), format!("{place}, cannot serve it: {}", error.message())).with_remedy(error.remedy())
    })
}

/// True once the other process has closed its side, or is gone.
fn is_left(stream: &UnixStream) -> bool {
    let mut fds = [PollFd::new(stream, PollFlags::IN | HANG_UP)];
    // It says nothing more, so that all that can be read is the end.
    poll(&mut fds, Some(&timespec(Duration::ZERO))).is_ok_and(|ready| ready > 0)
}
