//! TLS: as far as `sslmode` asks, the server's certificate is checked.

use std::net::TcpStream;
use std::sync::Arc;

use model::{Result, error};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};

use super::url::{Settings, SslMode};
use super::wire::Stream;

/// The checks of a certificate.
#[derive(Debug)]
struct Check {
    provider: Arc<CryptoProvider>,
    /// The authorities of which one must have signed it; nobody in particular if `None`.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    /// True if it must be for the host that was asked for.
    of_host: bool,
}

/// Talks TLS over a connection whose server is willing.
pub(super) fn client(settings: &Settings, stream: TcpStream) -> Result<Stream> {
    let fail = |what: &dyn std::fmt::Display| error!(Source, "{}: TLS: {what}", settings.name);
    let provider = Arc::new(ring::default_provider());
    let is_checked = matches!(settings.ssl, SslMode::VerifyCa | SslMode::VerifyFull)
        // As `psql` does: a certificate authority that is named is checked.
        || settings.ssl == SslMode::Require && settings.root_certificate.is_some();
    let authorities = match is_checked {
        true => {
            let roots = Arc::new(roots(settings)?);
            let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            Some(builder.build().map_err(|error| fail(&error))?)
        }
        false => None,
    };
    let check = Check { provider: provider.clone(), authorities, of_host: settings.ssl == SslMode::VerifyFull };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fail(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(check))
        .with_no_client_auth();
    let host = ServerName::try_from(settings.host.clone()).map_err(|error| fail(&error))?;
    let mut connection = ClientConnection::new(Arc::new(config), host).map_err(|error| fail(&error))?;
    let mut stream = stream;
    while connection.is_handshaking() {
        connection
            .complete_io(&mut stream)
            .map_err(|error| fail(&error).with_remedy("check sslmode and sslrootcert, and the server's certificate"))?;
    }
    Ok(Stream::Tls(Box::new(StreamOwned::new(connection, stream))))
}

/// The certificates of those who are believed.
fn roots(settings: &Settings) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(path) = &settings.root_certificate else {
        return Err(error!(Source, "{}: sslmode asks for a certificate, and no authority is named", settings.name)
            .with_remedy("name the authority's certificate: sslrootcert=FILE in the URL, or PGSSLROOTCERT"));
    };
    let unreadable = |error: &dyn std::fmt::Display| {
        error!(File, "{}: the authority's certificate {}: {error}", settings.name, path.display())
    };
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    Ok(roots)
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(certificate, intermediates, host, stapled, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.of_host => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
