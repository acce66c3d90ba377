//! A server of Bolt that gives every statement the same answer, one row with one name, and looks at nothing: what the protocol, the
//! network and the client of a benchmark cost without a database. The answer has the parts that `knot serve` sends.
//! Prints its address; ends with standard input.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a benchmark tells its address, and ends if it cannot"
)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use knotwork_bolt::{Chunks, Handshake, Outcome, Version, answer};

/// Bytes of a request at most.
const LIMIT: usize = 1 << 20;
/// Tags of the requests that have answers of their own.
const HELLO: u8 = 0x01;
const GOODBYE: u8 = 0x02;
const RUN: u8 = 0x10;
const PULL: u8 = 0x3F;

/// Appends the answer to a request.
fn put_answer(message: &[u8], out: &mut Vec<u8>) {
    // A request is a structure: its size, then its tag.
    match message.get(1) {
        Some(&HELLO) => answer::success(out, |encoder| {
            encoder.map(2);
            encoder.entry("server", "Neo4j/5.26.0");
            encoder.entry("connection_id", "bolt-1");
        }),
        Some(&RUN) => answer::success(out, |encoder| {
            encoder.map(3);
            encoder.string("fields");
            encoder.list(1);
            encoder.string("name");
            encoder.string("t_first");
            encoder.int(0);
            encoder.entry("db", "neo4j");
        }),
        Some(&PULL) => {
            answer::record(out, 1, |encoder| encoder.string("person 12345"));
            answer::success(out, |encoder| {
                encoder.map(5);
                encoder.entry("type", "r");
                encoder.string("t_last");
                encoder.int(0);
                encoder.entry("db", "neo4j");
                encoder.string("statuses");
                encoder.list(1);
                encoder.map(3);
                encoder.entry("gql_status", "00000");
                encoder.entry("status_description", "note: successful completion");
                encoder.string("diagnostic_record");
                encoder.map(3);
                answer::diagnostic_record(encoder);
                encoder.entry("bookmark", "canned:0123456789abcdef:1");
            });
        }
        _ => answer::success(out, |encoder| encoder.map(0)),
    }
}

/// Answers one client until it leaves.
fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut buffer, mut out) = ([0; 1 << 16], Vec::new());
    let (mut handshake, mut chunks, mut is_agreed) = (Handshake::new(Version::ALL[0]), Chunks::default(), false);
    loop {
        let read = stream.read(&mut buffer)?;
        let mut input = &buffer[..read];
        if input.is_empty() {
            return Ok(());
        }
        while !is_agreed && !input.is_empty() {
            match handshake.feed(&mut input) {
                Outcome::More => {}
                Outcome::Send(bytes) => out.extend(bytes),
                Outcome::Agreed(_, bytes) => {
                    out.extend(bytes);
                    is_agreed = true;
                }
                Outcome::Refused(_) | Outcome::Foreign => return Ok(()),
            }
        }
        while let Some(message) =
            chunks.feed(&mut input, LIMIT).map_err(|error| std::io::Error::other(format!("{error:?}")))?
        {
            if message.get(1) == Some(&GOODBYE) {
                return Ok(());
            }
            put_answer(&message, &mut out);
        }
        stream.write_all(&out)?;
        out.clear();
    }
}

fn main() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    println!("bolt://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
