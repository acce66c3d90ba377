//! Self-made certificates for servers that speak TLS.

use std::path::{Path, PathBuf};

use crate::servers::process::run;

/// Paths of the parts of a certificate.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate of the authority that signed the server's.
    pub authority: PathBuf,
    /// The server's certificate, for `localhost` and 127.0.0.1.
    pub certificate: PathBuf,
    /// The server's key.
    pub key: PathBuf,
}

/// Makes an authority and a certificate signed by it in a folder, with `openssl`; `None` where that is not installed.
pub fn make(folder: &Path) -> Option<Certificate> {
    let file = |name: &str| folder.join(name);
    let text = |name: &str| file(name).to_string_lossy().into_owned();
    let openssl = |arguments: &[&str]| {
        let command: Vec<String> = ["openssl"].iter().chain(arguments).map(|&word| word.to_owned()).collect();
        run(&command, "").ok()
    };
    std::fs::write(file("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").ok()?;
    let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let (ca_key, ca) = (text("ca.key"), text("ca.crt"));
    openssl(
        &[
            &["req", "-x509", "-days", "2", "-subj", "/CN=authority of a test"],
            &new_key[..],
            &["-keyout", &ca_key, "-out", &ca],
        ]
        .concat(),
    )?;
    let (key, request, certificate) = (text("server.key"), text("server.csr"), text("server.crt"));
    openssl(&[&["req", "-subj", "/CN=localhost"], &new_key[..], &["-keyout", &key, "-out", &request]].concat())?;
    let names = text("names");
    let sign = ["x509", "-req", "-days", "2", "-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial", "-extfile", &names];
    openssl(&[&sign[..], &["-in", &request, "-out", &certificate]].concat())?;
    Some(Certificate { authority: file("ca.crt"), certificate: file("server.crt"), key: file("server.key") })
}
