//! Users and their passwords, and how often they may be guessed.
//!
//! The file has a line for each user: name, method, cost, salt and hash. A password that was right is known again for some
//! minutes by a keyed digest, since the method takes memory and time on purpose. A wrong one makes its sender wait: the user's
//! name from that address, and no one else.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use argon2::{Algorithm, Argon2, Params, Version};
use model::{Map, Result, error};
use sha2::{Digest, Sha256};

use crate::private_file::{self, PRIVATE};

/// The name of the first user: the one that examples of drivers have.
pub const FIRST_USER: &str = "neo4j";
/// The shortest password.
pub const PASSWORD_BYTES_MIN: usize = 8;

/// Memory in KiB and passes of the method, as OWASP recommends.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
/// Passwords that are tried at a time: each takes that memory.
const ATTEMPTS_AT_ONCE: usize = 2;
/// Time for which a password that was right is known, in nanoseconds.
const KNOWN_NS: u64 = 300 * 1_000_000_000;
/// Passwords that are known at most, and senders of wrong ones.
const ENTRIES_MAX: usize = 10_000;
/// Wrong passwords after which there is a delay.
const FREE_FAILURES: u32 = 3;
/// The first delay, which doubles, and the longest, in nanoseconds.
const DELAY_NS: u64 = 250_000_000;
const DELAY_NS_MAX: u64 = 5_000_000_000;

/// Outcome of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The password is right.
    Welcome,
    /// The name or the password is wrong.
    Wrong,
    /// It was wrong too often just now.
    TooMany,
}

struct User {
    name: String,
    salt: Vec<u8>,
    hash: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Failures {
    count: u32,
    not_before_ns: u64,
}

/// The users of a server.
pub(crate) struct Credentials {
    users: Vec<User>,
    key: [u8; 32],
    known: Mutex<Map<[u8; 32], u64>>,
    failures: Mutex<Map<(String, IpAddr), Failures>>,
    attempts: Mutex<usize>,
    ended: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn file_failure(path: &Path, cause: &std::io::Error) -> model::Error {
    model::Error::of_file(path, cause)
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|cause| error!(Io, "the system gives no random numbers: {cause}"))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name that nobody can guess.
pub(crate) fn random_name() -> Result<String> {
    Ok(hex(&random::<16>()?))
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?) as u8)).collect()
}

fn hash(password: &str, salt: &[u8]) -> Result<Vec<u8>> {
    let failed = |cause: argon2::Error| error!(Internal, "a password cannot be hashed: {cause}");
    let params = Params::new(MEMORY_KIB, PASSES, 1, None).map_err(failed)?;
    let mut out = vec![0; 32];
    let method = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    method.hash_password_into(password.as_bytes(), salt, &mut out).map_err(failed)?;
    Ok(out)
}

/// Compares without telling by its time where the difference is.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

/// Makes the file of users if it is not there, with one user and a password made by chance, which stands in the file that is
/// given; `None` if there are users already.
///
/// # Errors
/// Fails if a file cannot be written.
pub fn first_start(file: &Path) -> Result<Option<PathBuf>> {
    if file.try_exists().map_err(|cause| file_failure(file, &cause))? {
        return Ok(None);
    }
    let password = hex(&random::<12>()?);
    let told = file.with_extension("password");
    private_file::write(&told, &format!("{password}\n"), PRIVATE)?;
    set_password(file, &password)?;
    Ok(Some(told))
}

/// Sets the password of the first user, and makes the file if it is not there.
///
/// # Errors
/// Fails if the password is too short, or the file cannot be written.
pub fn set_password(file: &Path, password: &str) -> Result<()> {
    if password.len() < PASSWORD_BYTES_MIN {
        return Err(error!(Argument, "a password has {PASSWORD_BYTES_MIN} characters at least")
            .with_remedy("choose a longer one"));
    }
    let salt = random::<16>()?;
    let hash = hash(password, &salt)?;
    let line = format!("{FIRST_USER} argon2id m={MEMORY_KIB},t={PASSES},p=1 {} {}\n", hex(&salt), hex(&hash));
    private_file::write(file, &line, PRIVATE)
}

impl Credentials {
    /// Reads the file of users.
    pub(crate) fn read(path: &Path) -> Result<Credentials> {
        let text = std::fs::read_to_string(path).map_err(|cause| file_failure(path, &cause))?;
        let metadata = std::fs::metadata(path).map_err(|cause| file_failure(path, &cause))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(error!(File, "{}: others than its owner may read the file of users", path.display())
                .with_remedy("take the right from them, as with chmod 600"));
        }
        let cost = format!("m={MEMORY_KIB},t={PASSES},p=1");
        let user = |(number, line): (usize, &str)| {
            let fields: Vec<&str> = line.split(' ').collect();
            let parsed = match fields.as_slice() {
                [name, "argon2id", held, salt, hash] if *held == cost => {
                    of_hex(salt).zip(of_hex(hash)).map(|(salt, hash)| User { name: (*name).to_owned(), salt, hash })
                }
                _ => None,
            };
            parsed.ok_or_else(|| {
                error!(File, "{}: line {} is no user", path.display(), number + 1)
                    .with_remedy("set the password anew: knot serve STORE --set-password")
            })
        };
        let users = text.lines().enumerate().map(user).collect::<Result<Vec<_>>>()?;
        if users.is_empty() {
            return Err(error!(File, "{}: no user stands in it, so that nobody could log in", path.display())
                .with_remedy("set a password with knot serve STORE --set-password, or delete the file for a new one"));
        }
        Ok(Credentials {
            users,
            key: random()?,
            known: Mutex::default(),
            failures: Mutex::default(),
            attempts: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    /// The names of the users.
    pub(crate) fn names(&self) -> Vec<String> {
        self.users.iter().map(|user| user.name.clone()).collect()
    }

    /// Says whether a name and a password belong together.
    pub(crate) fn check(&self, user: &str, password: &str, from: IpAddr, now_ns: u64) -> Verdict {
        let digest = self.digest(user, password);
        if locked(&self.known).get(&digest).is_some_and(|until| now_ns < *until) {
            return Verdict::Welcome;
        }
        // A name that nobody has takes no more room than one.
        let is_known_name = self.users.iter().any(|held| held.name == user);
        let sender = (if is_known_name { user.to_owned() } else { String::new() }, from);
        if locked(&self.failures).get(&sender).is_some_and(|failures| now_ns < failures.not_before_ns) {
            return Verdict::TooMany;
        }
        if !self.is_right(user, password) {
            let mut failures = locked(&self.failures);
            if failures.len() >= ENTRIES_MAX {
                failures.retain(|_, held| held.not_before_ns > now_ns);
            }
            let held = failures.entry(sender).or_default();
            held.count = held.count.saturating_add(1);
            if held.count >= FREE_FAILURES {
                let delay = DELAY_NS << (held.count - FREE_FAILURES).min(10);
                held.not_before_ns = now_ns + delay.min(DELAY_NS_MAX);
            }
            return Verdict::Wrong;
        }
        locked(&self.failures).remove(&sender);
        let mut known = locked(&self.known);
        if known.len() >= ENTRIES_MAX {
            known.clear();
        }
        known.insert(digest, now_ns + KNOWN_NS);
        Verdict::Welcome
    }

    fn digest(&self, user: &str, password: &str) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(self.key);
        digest.update((user.len() as u64).to_be_bytes());
        digest.update(user);
        digest.update(password);
        digest.finalize().into()
    }

    fn is_right(&self, user: &str, password: &str) -> bool {
        let waiting = self.ended.wait_while(locked(&self.attempts), |attempts| *attempts >= ATTEMPTS_AT_ONCE);
        let mut attempts = waiting.unwrap_or_else(PoisonError::into_inner);
        *attempts += 1;
        drop(attempts);
        // The work is the same for a name that nobody has, so that its time does not tell.
        let held = self.users.iter().find(|held| held.name == user);
        let salt = held.map_or(&[0; 16][..], |held| &held.salt);
        let hashed = hash(password, salt);
        *locked(&self.attempts) -= 1;
        self.ended.notify_one();
        held.is_some_and(|held| hashed.is_ok_and(|hash| is_same(&hash, &held.hash)))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{Credentials, DELAY_NS, Verdict, first_start, set_password};

    #[test]
    fn passwords_are_made_checked_and_guessed_slowly() {
        let folder = std::env::temp_dir().join(format!("knotwork-users-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a.knot.users");
        let told = first_start(&file).unwrap().expect("there was no file of users");
        assert_eq!(first_start(&file).unwrap(), None);
        for path in [&file, &told] {
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let password = std::fs::read_to_string(&told).unwrap();
        let users = Credentials::read(&file).unwrap();
        let here = "127.0.0.1".parse().unwrap();
        assert_eq!(users.check("neo4j", password.trim(), here, 0), Verdict::Welcome);
        assert_eq!(users.check("neo4j", "neo4j", here, 0), Verdict::Wrong);
        assert_eq!(users.check("nobody", password.trim(), here, 0), Verdict::Wrong);
        // Three in all are free.
        for _ in 0..2 {
            assert_eq!(users.check("neo4j", "wrong", here, 1), Verdict::Wrong);
        }
        assert_eq!(users.check("neo4j", "another", here, 2), Verdict::TooMany);
        // A password that is known is not locked out, and neither is another address.
        assert_eq!(users.check("neo4j", password.trim(), here, 2), Verdict::Welcome);
        assert_eq!(users.check("neo4j", "wrong", "127.0.0.2".parse().unwrap(), 2), Verdict::Wrong);
        assert_eq!(users.check("neo4j", "another", here, 2 + DELAY_NS), Verdict::Wrong);
        assert!(set_password(&file, "short").is_err());
        set_password(&file, "longer than that").unwrap();
        let users = Credentials::read(&file).unwrap();
        assert_eq!(users.check("neo4j", "longer than that", here, 0), Verdict::Welcome);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Credentials::read(&file).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_without_users_is_refused() {
        let folder = std::env::temp_dir().join(format!("knotwork-no-users-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("a.knot.users");
        crate::private_file::write(&file, "", 0o600).unwrap();
        let error = Credentials::read(&file).err().expect("nobody could log in");
        assert!(
            error.to_string().contains("a.knot.users") && error.remedy_line().contains("--set-password"),
            "{error:?}"
        );
        // The remedy helps.
        set_password(&file, "long enough").unwrap();
        assert_eq!(Credentials::read(&file).unwrap().names(), ["neo4j"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
