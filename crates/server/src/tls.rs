//! The certificate of the server and its key: read, made on request, and read again when the files change.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use model::{Error, Result, error};
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use crate::private_file::{self, PRIVATE, PUBLIC, beside};

/// TLS of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The file of the certificate, in PEM, those that it was signed by after it.
    pub certificate: PathBuf,
    /// The file of its key, in PEM.
    pub key: PathBuf,
    /// True if clients that do not encrypt are turned away.
    pub is_required: bool,
}

/// Time between two looks at the files, in nanoseconds.
const LOOK_NS: u64 = 1_000_000_000;

/// Size, time of change and number of a file: what differs once it was written anew.
type Stamp = [(u64, i64, i64, u64); 2];

/// The certificate and the key that new connections get.
pub(crate) struct Identity {
    tls: Tls,
    config: Mutex<Arc<ServerConfig>>,
}

/// Watches the files of an identity.
pub(crate) struct Watch {
    /// The files that were read last.
    known: Option<Stamp>,
    /// The files as they were at the last look.
    seen: Option<Stamp>,
    looked_ns: u64,
}

impl Identity {
    /// Reads both files.
    pub(crate) fn read(tls: &Tls) -> Result<Identity> {
        let config = config(tls)?;
        Ok(Identity { tls: tls.clone(), config: Mutex::new(Arc::new(config)) })
    }

    /// True if clients that do not encrypt are turned away.
    pub(crate) fn is_required(&self) -> bool {
        self.tls.is_required
    }

    /// The session of a connection that has just come.
    pub(crate) fn session(&self) -> Option<ServerConnection> {
        let config = self.config.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ServerConnection::new(config).ok()
    }

    /// A watch over the files as they are.
    pub(crate) fn watch(&self, now_ns: u64) -> Watch {
        let known = stamp(&self.tls);
        Watch { known, seen: known, looked_ns: now_ns }
    }

    /// Reads the files again if they have changed, and not since the last look: whoever writes both may be between them. What is
    /// to be told about that is given.
    pub(crate) fn look(&self, watch: &mut Watch, now_ns: u64) -> Option<String> {
        if now_ns.saturating_sub(watch.looked_ns) < LOOK_NS {
            return None;
        }
        watch.looked_ns = now_ns;
        let stamp = stamp(&self.tls);
        let is_settled = stamp == watch.seen;
        watch.seen = stamp;
        if !is_settled || stamp == watch.known {
            return None;
        }
        watch.known = stamp;
        Some(match config(&self.tls) {
            Ok(config) => {
                *self.config.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                format!("the certificate in {} has changed, and new connections get it", self.tls.certificate.display())
            }
            Err(error) => {
                format!("warning: {error}{}; the certificate from before is kept", error.remedy_line())
            }
        })
    }
}

fn stamp(tls: &Tls) -> Option<Stamp> {
    let one = |path: &Path| {
        let held = std::fs::metadata(path).ok()?;
        Some((held.len(), held.mtime(), held.mtime_nsec(), held.ino()))
    };
    Some([one(&tls.certificate)?, one(&tls.key)?])
}

fn bytes(path: &Path, option: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|cause| {
        Error::of_file(path, &cause).with_remedy(format!("name a file that can be read with {option}"))
    })
}

fn config(tls: &Tls) -> Result<ServerConfig> {
    let (chain, key) = (chain(&tls.certificate)?, key(&tls.key)?);
    let failed = |cause: rustls::Error| match cause {
        rustls::Error::InconsistentKeys(_) => error!(
            File,
            "{}: the key is not that of the certificate in {}",
            tls.key.display(),
            tls.certificate.display()
        )
        .with_remedy("give both files of one pair with --tls-certificate and --tls-key"),
        rustls::Error::InvalidCertificate(_) => {
            error!(File, "{}: the first certificate cannot be used: {cause}", tls.certificate.display())
                .with_remedy("give an X.509 certificate of version 3, the server's own first")
        }
        cause => error!(File, "{}: the key cannot be used: {cause}", tls.key.display())
            .with_remedy("give an ECDSA (P-256, P-384), Ed25519 or RSA key (2048 bits or more)"),
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
    builder.with_no_client_auth().with_single_cert(chain, key).map_err(failed)
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let remedy = "give a file in PEM, the server's certificate first and those that signed it after it";
    let bytes = bytes(path, "--tls-certificate")?;
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&bytes)
        .collect::<std::result::Result<_, _>>()
        .map_err(|cause| error!(File, "{}: it is no PEM: {cause}", path.display()).with_remedy(remedy))?;
    if chain.is_empty() {
        return Err(error!(File, "{}: no certificate stands in it", path.display()).with_remedy(remedy));
    }
    Ok(chain)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let bytes = bytes(path, "--tls-key")?;
    let metadata = std::fs::metadata(path).map_err(|cause| Error::of_file(path, &cause))?;
    if metadata.permissions().mode() & 0o007 != 0 {
        return Err(error!(File, "{}: everybody may read the key", path.display())
            .with_remedy("take the right from others, as with chmod 600"));
    }
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|cause| match cause {
        _ if bytes.windows(9).any(|window| window == b"ENCRYPTED") => {
            error!(File, "{}: the key is encrypted with a password", path.display())
                .with_remedy("give it without one, as openssl pkey -in FILE -out FILE writes it")
        }
        pem::Error::NoItemsFound => error!(File, "{}: no private key stands in it", path.display())
            .with_remedy("give a file in PEM with a key, as in BEGIN PRIVATE KEY"),
        cause => error!(File, "{}: it is no PEM: {cause}", path.display())
            .with_remedy("give a file in PEM with a key, as in BEGIN PRIVATE KEY"),
    })
}

/// The files of a certificate that this server signs itself, beside the store; made if they are not there. `names` are host names
/// and addresses by which clients reach it, besides those of this machine.
///
/// # Errors
/// Fails if they cannot be made, or if only one of them is there.
pub fn self_signed(store: &Path, names: &[String]) -> Result<(PathBuf, PathBuf)> {
    let (certificate, key) = (beside(store, ".certificate.pem"), beside(store, ".key.pem"));
    let is_there = |path: &Path| path.try_exists().map_err(|cause| Error::of_file(path, &cause));
    match (is_there(&certificate)?, is_there(&key)?) {
        (true, true) => {}
        (false, false) => {
            let failed = |cause: rcgen::Error| {
                error!(Argument, "a certificate for {} cannot be made: {cause}", names.join(", "))
                    .with_remedy("give host names and addresses with --listen and --advertise")
            };
            let mut all: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
            all.extend(
                names.iter().filter(|name| !["localhost", "127.0.0.1", "::1"].contains(&name.as_str())).cloned(),
            );
            all.dedup();
            let mut params = rcgen::CertificateParams::new(all).map_err(failed)?;
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(rcgen::DnType::CommonName, "Knotwork, self-signed");
            let pair = rcgen::KeyPair::generate().map_err(failed)?;
            let signed = params.self_signed(&pair).map_err(failed)?;
            private_file::write(&key, &pair.serialize_pem(), PRIVATE)?;
            private_file::write(&certificate, &signed.pem(), PUBLIC)?;
        }
        (has_certificate, _) => {
            let (there, missing) = if has_certificate { (&certificate, &key) } else { (&key, &certificate) };
            return Err(error!(File, "{} is there, and {} is missing", there.display(), missing.display())
                .with_remedy("delete the first too, and a new pair is made, or bring the second back"));
        }
    }
    Ok((certificate, key))
}

#[cfg(test)]
mod tests;
