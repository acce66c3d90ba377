//! A connection to a client of either kind: over TCP, or over the socket of a store, within this machine.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use database::SOCKET_NAME;
use model::error;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::limits::LINGER;

/// Longer paths are no addresses of sockets; systems allow 103 bytes, or 107.
const PATH_BYTES_MAX: usize = 100;

/// A place at which clients come.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// The next client, and its address, if it has one. Never waits.
    pub(crate) fn accept(&self) -> Result<(Socket, Option<SocketAddr>)> {
        match self {
            Listener::Tcp(listener) => listener.accept().map(|(stream, peer)| (Socket::Tcp(stream), Some(peer))),
            Listener::Unix(listener) => loop {
                let (stream, _) = listener.accept()?;
                if is_of_this_user(&stream) {
                    return Ok((Socket::Unix(stream), None));
                }
            },
        }
    }

    /// Another handle of it.
    pub(crate) fn try_clone(&self) -> Result<Listener> {
        match self {
            Listener::Tcp(listener) => listener.try_clone().map(Listener::Tcp),
            Listener::Unix(listener) => listener.try_clone().map(Listener::Unix),
        }
    }

    /// Its address, if it has one.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(_) => None,
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener) => listener.as_fd(),
        }
    }
}

/// Sockets on which a server listens.
pub struct Listeners(pub(crate) Vec<Listener>);

impl Listeners {
    /// Listens on these addresses.
    ///
    /// # Errors
    /// `IO` if one of them cannot be had.
    pub fn bind(addresses: &[SocketAddr]) -> model::Result<Listeners> {
        addresses.iter().map(listen).collect::<model::Result<_>>().map(Listeners)
    }

    /// Other handles of the same sockets.
    ///
    /// # Errors
    /// `IO` if there are no file descriptors left.
    pub fn try_clone(&self) -> model::Result<Listeners> {
        let handles = self.0.iter().map(Listener::try_clone).collect::<Result<_>>();
        handles.map(Listeners).map_err(|cause| error!(Io, "a socket cannot be kept: {cause}"))
    }

    /// The addresses, with the ports that the system has chosen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().filter_map(Listener::address).collect()
    }
}

/// Listens on an address.
fn listen(address: &SocketAddr) -> model::Result<Listener> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(Listener::Tcp(listener))
    });
    listener.map_err(|cause| {
        error!(Io, "cannot listen on {address}: {cause}")
            .with_remedy("choose another with --listen, or end what has it")
    })
}

/// Connects to the process that has a store open to write.
///
/// # Errors
/// Fails if there is none, or it is not shared, or it is another user's.
pub fn reach(directory: &Path) -> Result<UnixStream> {
    at_short_path(directory, |short| UnixStream::connect(short))
}

/// Does something with the path of the socket, in a form that is not too long for an address.
pub(crate) fn at_short_path<T>(directory: &Path, work: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let path = directory.join(SOCKET_NAME);
    if path.as_os_str().as_bytes().len() <= PATH_BYTES_MAX {
        return work(&path);
    }
    if !cfg!(target_os = "linux") {
        return Err(Error::new(ErrorKind::InvalidInput, "the path is too long for the address of a socket"));
    }
    let held = OpenOptions::new().read(true).open(directory)?;
    work(&PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd())).join(SOCKET_NAME))
}

/// Without a signal if the client has left. Elsewhere the standard library has asked for that.
#[cfg(any(target_os = "linux", target_os = "android"))]
const QUIETLY: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const QUIETLY: SendFlags = SendFlags::empty();

/// One end of a connection.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Sets what all connections have. Reads and writes never wait, but for [`Socket::read_soon`].
    pub(crate) fn prepare(&self) -> Result<()> {
        let limit = Some(LINGER).filter(|limit| !limit.is_zero());
        match self {
            Socket::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(limit)?;
                stream.set_nodelay(true)?;
                Ok(rustix::net::sockopt::set_socket_keepalive(stream, true)?)
            }
            Socket::Unix(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(limit)
            }
        }
    }

    /// Reads what comes soon: waits for it as long as a thread lingers. One call of the system, where a poll and a read are two.
    pub(crate) fn read_soon(&self, buffer: &mut [u8]) -> Result<usize> {
        Ok(recv(self, buffer, RecvFlags::empty())?.1)
    }

    /// Acknowledges at once what has arrived. Systems wait with that for an answer to go with it, some 40 ms, and clients that
    /// send in two parts wait as long with the second.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn acknowledge(&self) {
        if let Socket::Tcp(stream) = self {
            // Without it the client waits, as said.
            let _ = rustix::net::sockopt::set_tcp_quickack(stream, true);
        }
    }

    /// Other systems have no such order.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn acknowledge(&self) {}

    /// The address that the client reached, if there is one.
    pub(crate) fn own_address(&self) -> Option<SocketAddr> {
        match self {
            Socket::Tcp(stream) => stream.local_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    /// Says that nothing more will be sent.
    pub(crate) fn end(&self) {
        // A connection that is broken has ended.
        let _ = match self {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(stream) => stream.as_fd(),
            Socket::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        Ok(recv(self, buffer, RecvFlags::DONTWAIT)?.1)
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(send(self, bytes, SendFlags::DONTWAIT | QUIETLY)?)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// True if the other end of a connection is a process of the user who owns the socket.
#[cfg(target_os = "linux")]
fn is_of_this_user(stream: &UnixStream) -> bool {
    use std::os::unix::fs::MetadataExt;
    // The process owns what it has open itself.
    let own = std::fs::metadata("/proc/self").map(|held| held.uid());
    let peer = rustix::net::sockopt::socket_peercred(stream).map(|peer| peer.uid.as_raw());
    match (own, peer) {
        (Ok(own), Ok(peer)) => peer == own || peer == 0,
        // The rights of the socket have let it in.
        _ => true,
    }
}

/// The rights of the socket have let it in.
#[cfg(not(target_os = "linux"))]
fn is_of_this_user(_: &UnixStream) -> bool {
    true
}
