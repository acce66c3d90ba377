//! TLS to a server: its certificate is compared with the authorities of this machine, or taken as it is.

use std::io::{Error, Result};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned};

/// An encrypted connection.
pub(crate) type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// Certificates that are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Those for the host that one of the machine's authorities has signed (`bolt+s`). `SSL_CERT_FILE` names others.
    Authorities,
    /// Any (`bolt+ssc`): nobody can listen, but somebody may pretend to be the server.
    Any,
}

/// The client's end over a connection, before anything was sent.
pub(crate) fn begin(host: &str, stream: TcpStream, trust: Trust) -> Result<Encrypted> {
    let name = ServerName::try_from(host.to_owned()).map_err(Error::other)?;
    let connection = ClientConnection::new(Arc::new(config(trust)?), name).map_err(Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}

fn config(trust: Trust) -> Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().map_err(Error::other)?;
    Ok(match trust {
        Trust::Authorities => builder.with_root_certificates(authorities()?).with_no_client_auth(),
        Trust::Any => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth(),
    })
}

/// The certificates of the machine's authorities. One that cannot be read leaves the others.
fn authorities() -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let cause = found.errors.first().map_or_else(|| "none is there".to_owned(), ToString::to_string);
        return Err(Error::other(format!("no certificate of an authority can be read: {cause}")));
    }
    Ok(roots)
}

/// Takes every certificate, but only from who has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
