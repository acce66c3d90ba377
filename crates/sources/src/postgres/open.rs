//! Opening a connection: the network, TLS, and logging in.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;

use model::{Error, Result, error};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};

use super::failure::{self, Failure};
use super::tls;
use super::url::{Settings, SslMode};
use super::wire::{Stream, Wire, put_text};

/// The code of a request for TLS, in the place of a version.
const SSL_REQUEST: u32 = 80_877_103;
/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 196_608;

/// Connects and logs in.
pub(super) fn open(settings: &Settings) -> Result<Wire> {
    let stream = connect(settings).map_err(|error| unreachable(settings, &error))?;
    let stream = match stream {
        Stream::Tcp(stream) if settings.ssl != SslMode::Disable => encrypted(settings, stream)?,
        other => other,
    };
    let mut wire = Wire::new(stream);
    wire.set_read_timeout(Some(settings.connect_timeout)).map_err(|error| unreachable(settings, &error))?;
    log_in(settings, &mut wire)?;
    // The server itself ends statements that take too long; where it no longer answers at all, this does, later.
    let patience = settings.statement_timeout.map(|limit| limit + limit / 4);
    wire.set_read_timeout(patience).map_err(|error| unreachable(settings, &error))?;
    Ok(wire)
}

fn unreachable(settings: &Settings, error: &io::Error) -> Error {
    let what = if super::wire::is_wait(error) {
        format!("no answer within {:?}", settings.connect_timeout)
    } else {
        error.to_string()
    };
    error!(Source, "{}: cannot connect: {what}", settings.name)
        .with_remedy("see that the server runs, and check host and port in the source's URL")
}

fn connect(settings: &Settings) -> io::Result<Stream> {
    if settings.is_socket() {
        return UnixStream::connect(format!("{}/.s.PGSQL.{}", settings.host, settings.port)).map(Stream::Unix);
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name of the host is not known");
    for address in (&*settings.host, settings.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, settings.connect_timeout) {
            Ok(stream) => {
                // Questions are sent whole; waiting for more would only delay them.
                stream.set_nodelay(true)?;
                return Ok(Stream::Tcp(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Asks the server whether it speaks TLS, and goes on as it answers and `sslmode` allows.
fn encrypted(settings: &Settings, mut stream: TcpStream) -> Result<Stream> {
    let ask = |stream: &mut TcpStream| -> io::Result<u8> {
        stream.set_read_timeout(Some(settings.connect_timeout))?;
        stream.set_write_timeout(Some(settings.connect_timeout))?;
        let mut request = 8_u32.to_be_bytes().to_vec();
        request.extend(SSL_REQUEST.to_be_bytes());
        stream.write_all(&request)?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        Ok(answer[0])
    };
    match ask(&mut stream).map_err(|error| unreachable(settings, &error))? {
        b'S' => tls::client(settings, stream),
        _ if settings.ssl == SslMode::Prefer => Ok(Stream::Tcp(stream)),
        _ => Err(error!(Source, "{}: the server does not speak TLS, which sslmode asks for", settings.name)
            .with_remedy("turn TLS on in the server, or use sslmode=prefer")),
    }
}

fn log_in(settings: &Settings, wire: &mut Wire) -> Result<()> {
    let cannot = |error: io::Error| unreachable(settings, &error);
    wire.output.message(None, |out| {
        out.extend(PROTOCOL.to_be_bytes());
        let parameters = [
            ("user", &*settings.user),
            ("database", &*settings.database),
            ("client_encoding", "UTF8"),
            ("application_name", "knotwork"),
            ("DateStyle", "ISO"),
            ("TimeZone", "UTC"),
        ];
        for (name, value) in parameters {
            put_text(out, name);
            put_text(out, value);
        }
        out.push(0);
    });
    wire.send().map_err(cannot)?;
    let mut scram = None;
    loop {
        let (tag, range) = wire.next().map_err(cannot)?;
        let body = wire.body(range);
        match tag {
            b'R' => {
                let (kind, rest) = body.split_at_checked(4).ok_or_else(|| cannot(io::ErrorKind::InvalidData.into()))?;
                let kind = u32::from_be_bytes([kind[0], kind[1], kind[2], kind[3]]);
                let rest = rest.to_vec();
                authenticate(settings, wire, (kind, &rest), &mut scram)?;
            }
            b'E' => return Err(failure::of_login(settings, &Failure::parse(body))),
            b'K' => wire.cancel_key = body.to_vec(),
            b'Z' => return Ok(()),
            // Parameters, notices.
            _ => {}
        }
    }
}

/// Answers one question of the server about who asks.
fn authenticate(
    settings: &Settings,
    wire: &mut Wire,
    (kind, body): (u32, &[u8]),
    scram: &mut Option<ScramSha256>,
) -> Result<()> {
    let cannot = |error: io::Error| unreachable(settings, &error);
    let password = || {
        settings.password().ok_or_else(|| {
            error!(Source, "{}: the server asks for a password, and there is none", settings.name)
                .with_remedy("give it in the URL, in PGPASSWORD or in ~/.pgpass")
        })
    };
    let garbled = || cannot(io::Error::new(io::ErrorKind::InvalidData, "the server's proof of the password is wrong"));
    match kind {
        0 => return Ok(()),
        3 => {
            let password = password()?;
            wire.output.message(Some(b'p'), |out| put_text(out, &password));
        }
        5 => {
            let salt = body.first_chunk().copied().ok_or_else(garbled)?;
            let hash = md5_hash(settings.user.as_bytes(), password()?.as_bytes(), salt);
            wire.output.message(Some(b'p'), |out| put_text(out, &hash));
        }
        10 => {
            let offered = body.split(|&byte| byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes());
            if !offered {
                return Err(error!(Source, "{}: the server asks for an unknown way to log in", settings.name));
            }
            let state = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
            wire.output.message(Some(b'p'), |out| {
                put_text(out, SCRAM_SHA_256);
                out.extend((state.message().len() as u32).to_be_bytes());
                out.extend(state.message());
            });
            *scram = Some(state);
        }
        11 => {
            let state = scram.as_mut().ok_or_else(garbled)?;
            state.update(body).map_err(|_| garbled())?;
            let message = state.message().to_vec();
            wire.output.message(Some(b'p'), |out| out.extend(message));
        }
        12 => return scram.as_mut().ok_or_else(garbled)?.finish(body).map_err(|_| garbled()),
        other => {
            return Err(error!(Source, "{}: the server asks to log in by way {other}", settings.name)
                .with_remedy("passwords (scram-sha-256, md5) and trust are known here"));
        }
    }
    wire.send().map_err(cannot)
}
