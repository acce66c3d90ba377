//! TLS and plain Bolt on one port.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bolt::Value;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use server::{Settings, Tls, tls};

use super::client::{Client, ENDLESS, IGNORED, PULL, RESET, SUCCESS, map, message, pull, run, socket, text};
use super::running::{Running, folder};

/// A server with a certificate of its own, and the certificate.
pub(crate) fn start(settings: Settings, is_required: bool) -> (Running, CertificateDer<'static>) {
    let folder = folder();
    let (certificate, key) = tls::self_signed(&folder.join("a.knot"), &[]).unwrap();
    let trusted = CertificateDer::from_pem_file(&certificate).unwrap();
    let settings = Settings { tls: Some(Tls { certificate, key, is_required }), ..settings };
    (Running::start_with(settings, database::Config::default(), folder), trusted)
}

/// A client's end of TLS that trusts that certificate alone.
pub(crate) fn secure<S: Read + Write>(
    socket: S,
    trusted: &CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
) -> StreamOwned<ClientConnection, S> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), socket)
}

#[test]
fn both_versions_of_tls_carry_large_messages_both_ways() {
    let (running, trusted) = start(Settings::default(), true);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut client = Client::log_in(secure(socket(running.address), &trusted, &[version]), "5.8");
        assert_eq!(client.rows("UNWIND range(1, 100000) AS i RETURN i, 'some text ' + i AS t"), 100_000);
        let long = text(&"x".repeat(3_000_000));
        client.send(&[run("RETURN $x AS x", map(&[("x", long.clone())])), pull()].concat());
        client.expect(SUCCESS);
        let (_, row) = client.answer().unwrap();
        assert_eq!(row, bolt::Value::List(vec![long]));
        client.expect(SUCCESS);
    }
}

#[test]
fn a_client_that_reads_slowly_gets_all_rows() {
    let (running, trusted) = start(Settings { patience: Duration::from_millis(10), ..Settings::default() }, true);
    let mut client = Client::log_in(secure(socket(running.address), &trusted, rustls::ALL_VERSIONS), "5.8");
    client.send(
        &[run("UNWIND range(1, 300000) AS i RETURN i, 'a text that takes some room ' + i AS t", map(&[])), pull()]
            .concat(),
    );
    // Others are served meanwhile, and the rows wait on the disk.
    let mut other = Client::log_in(secure(socket(running.address), &trusted, rustls::ALL_VERSIONS), "5.8");
    assert_eq!(other.rows("UNWIND range(1, 300000) AS i RETURN i"), 300_000);
    client.expect(SUCCESS);
    assert_eq!(client.rest(), 300_000);
}

#[test]
fn signs_of_life_and_reset_come_through() {
    let (running, trusted) = start(Settings { keep_alive: Duration::from_millis(20), ..Settings::default() }, true);
    let mut client = Client::log_in(secure(socket(running.address), &trusted, rustls::ALL_VERSIONS), "5.8");
    client.send(&run(ENDLESS, map(&[])));
    client.expect(SUCCESS);
    client.send(&pull());
    for _ in 0..3 {
        client.hear();
    }
    client.send(&message(RESET, vec![]));
    client.expect(IGNORED);
    client.expect(SUCCESS);
}

#[test]
fn clients_that_reset_in_the_middle_of_rows_stop_nobody() {
    let (running, trusted) = start(Settings::default(), true);
    let secured = || secure(socket(running.address), &trusted, rustls::ALL_VERSIONS);
    let (many, few) =
        (run("UNWIND range(1, 10000000) AS i RETURN i, 'abcdefgh' AS t", map(&[])), map(&[("n", Value::Int(10))]));
    let asked = [many, message(PULL, vec![few])].concat();
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (mut client, asked) = (Client::log_in(secured(), "5.8"), &asked);
            scope.spawn(move || {
                for round in 0..600_u64 {
                    client.send(asked);
                    std::thread::sleep(Duration::from_micros((round + worker) * 7 % 20 * 400));
                    client.send(&message(RESET, vec![]).repeat(6));
                    let mut resets = 0;
                    // The answers to both requests come first, whether they were carried out or not.
                    while resets < 6 {
                        let (tag, fields) = client.answer().unwrap();
                        resets += u64::from(tag == SUCCESS && fields == map(&[]));
                    }
                }
                assert_eq!(client.rows("RETURN 1 AS x"), 1);
            });
        }
    });
    assert_eq!(Client::log_in(secured(), "5.8").rows("RETURN 1 AS x"), 1);
}

#[test]
fn who_does_not_encrypt_is_turned_away_unless_that_is_optional() {
    let (running, _) = start(Settings::default(), true);
    let mut plain = socket(running.address);
    plain.write_all(&[&bolt::handshake::PREAMBLE[..], &[0, 8, 8, 5], &[0; 12]].concat()).unwrap();
    let mut answer = Vec::new();
    // No version is agreed on, so that no password is sent.
    assert!(plain.read_to_end(&mut answer).is_err() || answer.is_empty(), "{answer:?}");
    let (running, trusted) = start(Settings::default(), false);
    let mut plain = Client::connect(running.address);
    let mut encrypted = Client::log_in(secure(socket(running.address), &trusted, rustls::ALL_VERSIONS), "5.8");
    assert_eq!((plain.rows("RETURN 1 AS x"), encrypted.rows("RETURN 1 AS x")), (1, 1));
}

#[test]
fn tls_without_a_certificate_is_refused_by_an_alert() {
    let (_running, trusted) = start(Settings::default(), true);
    let without = Running::start(Settings::default());
    let mut client = secure(socket(without.address), &trusted, rustls::ALL_VERSIONS);
    let error = client.write_all(b"x").and_then(|()| client.flush()).unwrap_err();
    assert!(error.to_string().contains("HandshakeFailure"), "{error}");
    assert_eq!(Client::connect(without.address).rows("RETURN 1 AS x"), 1);
}

#[test]
fn bytes_that_are_no_tls_end_their_connection_alone() {
    let (running, trusted) = start(Settings::default(), true);
    let mut state: u64 = 24;
    eprintln!("seed {state}");
    for round in 0..100 {
        let mut socket = socket(running.address);
        let bytes: Vec<u8> = (0..1 + round * 7)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let head = [0x16, 3, 1, (bytes.len() >> 8) as u8, bytes.len() as u8];
        // The server may have closed it before all were sent.
        let _ = socket.write_all(&[&head[..], &bytes].concat());
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer[0] == 0x15, "round {round}: {answer:?}");
    }
    let mut client = Client::log_in(secure(socket(running.address), &trusted, rustls::ALL_VERSIONS), "5.8");
    assert_eq!(client.rows("RETURN 1 AS x"), 1);
}
