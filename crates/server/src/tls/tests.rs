//! Certificates that are read, refused with a remedy, made, and read again.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Identity, LOOK_NS, Tls, self_signed};
use crate::private_file::{self, PRIVATE};

/// A folder that is gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("knotwork-tls-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn pair(&self, name: &str) -> Tls {
        let (certificate, key) = self_signed(&self.0.join(name), &[]).unwrap();
        Tls { certificate, key, is_required: true }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        private_file::write(&path, text, PRIVATE).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_certificate_is_made_once() {
    let folder = Folder::new("made");
    let store = folder.0.join("a.knot");
    let names = ["db.example.org".to_owned(), "192.0.2.7".to_owned(), "localhost".to_owned()];
    let (certificate, key) = self_signed(&store, &names).unwrap();
    assert_eq!((mode(&certificate), mode(&key)), (0o644, 0o600));
    let text = std::fs::read_to_string(&certificate).unwrap();
    let again = self_signed(&store, &[]).unwrap();
    assert_eq!(again, (certificate.clone(), key.clone()));
    assert_eq!(std::fs::read_to_string(&certificate).unwrap(), text);
    let tls = Tls { certificate: certificate.clone(), key, is_required: true };
    assert!(Identity::read(&tls).unwrap().session().is_some());
    // Half a pair is not made whole, since the other half may be somewhere.
    std::fs::remove_file(&certificate).unwrap();
    let error = self_signed(&store, &[]).unwrap_err();
    assert!(error.to_string().contains("a.knot.certificate.pem") && !error.remedy().is_empty(), "{error:?}");
    assert!(self_signed(&folder.0.join("b.knot"), &["a name with blanks and ä".to_owned()]).is_err());
}

#[test]
fn files_that_cannot_be_used_are_named_with_a_remedy() {
    let folder = Folder::new("bad");
    let (good, other) = (folder.pair("a.knot"), folder.pair("b.knot"));
    let open = folder.file("open.pem", &std::fs::read_to_string(&good.key).unwrap());
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o644)).unwrap();
    let encrypted = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let strange = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let weak = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
    let (encrypted, strange) = (folder.file("encrypted.pem", encrypted), folder.file("strange.pem", strange));
    let (weak, cut, empty) = (folder.file("weak.pem", weak), folder.file("cut.pem", cut), folder.file("empty.pem", ""));
    let missing = folder.0.join("missing.pem");
    let cases = [
        (&missing, &good.key, "missing.pem", "--tls-certificate"),
        (&good.certificate, &missing, "missing.pem", "--tls-key"),
        (&empty, &good.key, "empty.pem: no certificate", "PEM"),
        (&cut, &good.key, "cut.pem", "PEM"),
        (&strange, &good.key, "strange.pem", "X.509"),
        (&good.certificate, &empty, "empty.pem: no private key", "PEM"),
        (&good.certificate, &encrypted, "encrypted.pem: the key is encrypted", "openssl pkey"),
        (&good.certificate, &weak, "weak.pem", "ECDSA"),
        (&good.certificate, &open, "open.pem: everybody may read", "chmod 600"),
        (&good.certificate, &other.key, "b.knot.key.pem: the key is not that", "one pair"),
    ];
    for (certificate, key, said, remedy) in cases {
        let tls = Tls { certificate: certificate.clone(), key: key.clone(), is_required: false };
        let error = Identity::read(&tls).err().unwrap_or_else(|| panic!("{said} was taken"));
        assert!(error.to_string().contains(said), "{said}: {error}");
        assert!(error.remedy().contains(remedy), "{said}: {}", error.remedy());
    }
}

#[test]
fn files_that_change_are_read_again_once_they_have_settled() {
    let folder = Folder::new("again");
    let (tls, other) = (folder.pair("a.knot"), folder.pair("b.knot"));
    let identity = Identity::read(&tls).unwrap();
    let config = || std::sync::Arc::as_ptr(&identity.config.lock().unwrap()) as usize;
    let first = config();
    let mut watch = identity.watch(0);
    let mut at = 0;
    let mut look = || {
        at += LOOK_NS;
        // A look is no more often than that.
        assert_eq!(identity.look(&mut watch, at - 1), None);
        identity.look(&mut watch, at)
    };
    assert_eq!(look(), None);
    let copy =
        |from: &Path, to: &Path| private_file::write(to, &std::fs::read_to_string(from).unwrap(), PRIVATE).unwrap();
    copy(&other.certificate, &tls.certificate);
    // It has just changed; at the next look it does not go with the key.
    assert_eq!(look(), None);
    let told = look().expect("the files have settled");
    assert!(told.starts_with("warning") && told.contains("from before is kept"), "{told}");
    assert_eq!((config(), look()), (first, None));
    copy(&other.key, &tls.key);
    assert_eq!(look(), None);
    let told = look().expect("the files have settled");
    assert!(told.contains("a.knot.certificate.pem has changed"), "{told}");
    assert_ne!(config(), first);
    assert_eq!(look(), None);
    // Files that are gone are as bad as files that say nothing.
    std::fs::remove_file(&tls.key).unwrap();
    assert_eq!(look(), None);
    assert!(look().is_some_and(|told| told.starts_with("warning")));
    assert_eq!(look(), None);
}
