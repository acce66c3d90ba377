//! Users and their passwords, and how often they may be guessed.
//!
//! A password that was right is known again for some minutes by a keyed digest, since the method takes memory and time on
//! purpose. A wrong one makes its sender wait: the user's name from that address, and no one else.
//!
//! Invariant: what a change of users says is in the file before it holds, and holds for the next statement of open connections.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use argon2::{Algorithm, Argon2, Params, Version};
use model::{Map, Result, error};
use sha2::{Digest, Sha256};

use crate::private_file::{self, PRIVATE};
use crate::users::{self, Grant, Role, User, hex};

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
    /// The password is right, and the user may not log in.
    Suspended,
}

impl Verdict {
    /// Its name in the audit log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Welcome => "success",
            Verdict::Wrong => "wrong name or password",
            Verdict::TooMany => "throttled",
            Verdict::Suspended => "suspended",
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Failures {
    count: u32,
    not_before_ns: u64,
}

/// The users of a server.
pub(crate) struct Credentials {
    file: PathBuf,
    users: RwLock<Vec<User>>,
    /// Held while users are changed.
    changing: Mutex<()>,
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

/// A name that nobody can guess.
pub(crate) fn random_name() -> Result<String> {
    Ok(hex(&random::<16>()?))
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

/// Sets the password of the first user, who may do everything then, and makes the file if it is not there. Others stay.
///
/// # Errors
/// Fails if the password is too short, or the file cannot be read or written.
pub fn set_password(file: &Path, password: &str) -> Result<()> {
    let (salt, hash) = hashed(password)?;
    let grants = vec![Grant { role: Role::Admin, database: None }];
    let name = FIRST_USER.to_owned();
    let first = User { name, salt, hash, must_change: false, is_suspended: false, grants };
    let is_there = std::fs::metadata(file).is_ok_and(|metadata| metadata.len() > 0);
    let mut users = if is_there { users::read(file, &cost())? } else { Vec::new() };
    users.retain(|user| user.name != FIRST_USER);
    users.insert(0, first);
    users::write(file, &users, &cost())
}

/// The salt and the hash of a new password.
pub(crate) fn hashed(password: &str) -> Result<(Vec<u8>, Vec<u8>)> {
    if password.len() < PASSWORD_BYTES_MIN {
        return Err(error!(Argument, "a password has {PASSWORD_BYTES_MIN} characters at least")
            .with_remedy("choose a longer one"));
    }
    let salt = random::<16>()?;
    let hash = hash(password, &salt)?;
    Ok((salt.to_vec(), hash))
}

/// The cost of the method, as lines of users say it.
fn cost() -> String {
    format!("m={MEMORY_KIB},t={PASSES},p=1")
}

impl Credentials {
    /// Reads the file of users.
    pub(crate) fn read(path: &Path) -> Result<Credentials> {
        Ok(Credentials {
            file: path.to_path_buf(),
            users: RwLock::new(users::read(path, &cost())?),
            changing: Mutex::default(),
            key: random()?,
            known: Mutex::default(),
            failures: Mutex::default(),
            attempts: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    /// The users as they are now.
    pub(crate) fn users(&self) -> RwLockReadGuard<'_, Vec<User>> {
        self.users.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A user as it is now.
    pub(crate) fn user(&self, name: &str) -> Option<User> {
        self.look(name, |user| user.cloned())
    }

    /// Looks at a user as it is now, without a copy.
    pub(crate) fn look<T>(&self, name: &str, look: impl FnOnce(Option<&User>) -> T) -> T {
        look(self.users().iter().find(|user| user.name == name))
    }

    /// Changes the users, in their file first.
    ///
    /// # Errors
    /// Fails with the error of the change, or if the file cannot be written, or nobody could change users any more.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<User>) -> Result<()>) -> Result<()> {
        let _changing = locked(&self.changing);
        let mut users = self.users().clone();
        change(&mut users)?;
        if !users.iter().any(|user| user.is_administrator() && !user.is_suspended) {
            return Err(error!(SchemaRule, "no user would be left who has the role admin and may log in")
                .with_remedy("give the role to another user before"));
        }
        users::write(&self.file, &users, &cost())?;
        *self.users.write().unwrap_or_else(PoisonError::into_inner) = users;
        locked(&self.known).clear();
        Ok(())
    }

    /// Says whether a name and a password belong together.
    pub(crate) fn check(&self, user: &str, password: &str, from: IpAddr, now_ns: u64) -> Verdict {
        let digest = self.digest(user, password);
        let held = self.user(user);
        let welcome =
            if held.as_ref().is_some_and(|held| held.is_suspended) { Verdict::Suspended } else { Verdict::Welcome };
        if locked(&self.known).get(&digest).is_some_and(|until| now_ns < *until) {
            return welcome;
        }
        // A name that nobody has takes no more room than one.
        let is_known_name = held.is_some();
        let sender = (if is_known_name { user.to_owned() } else { String::new() }, from);
        if locked(&self.failures).get(&sender).is_some_and(|failures| now_ns < failures.not_before_ns) {
            return Verdict::TooMany;
        }
        if !self.is_right(held.as_ref(), password) {
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
        welcome
    }

    fn digest(&self, user: &str, password: &str) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(self.key);
        digest.update((user.len() as u64).to_be_bytes());
        digest.update(user);
        digest.update(password);
        digest.finalize().into()
    }

    /// True if the password is that of the user.
    pub(crate) fn is_right(&self, user: Option<&User>, password: &str) -> bool {
        let waiting = self.ended.wait_while(locked(&self.attempts), |attempts| *attempts >= ATTEMPTS_AT_ONCE);
        let mut attempts = waiting.unwrap_or_else(PoisonError::into_inner);
        *attempts += 1;
        drop(attempts);
        // The work is the same for a name that nobody has, so that its time does not tell.
        let salt = user.map_or(&[0; 16][..], |user| &user.salt);
        let hashed = hash(password, salt);
        *locked(&self.attempts) -= 1;
        self.ended.notify_one();
        user.is_some_and(|user| hashed.is_ok_and(|hash| is_same(&hash, &user.hash)))
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
        let users = Credentials::read(&file).unwrap();
        assert!(users.user("neo4j").is_some_and(|user| user.is_administrator()));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
