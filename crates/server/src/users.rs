//! Users and their roles, as their file has them.
//!
//! The file has a line for each user: name, method, cost, salt, hash, marks and roles. Lines of five fields are of files that
//! had one user, who may do everything.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use database::administration::{ROLES, UserRow};
use model::{Result, error};

use crate::private_file::{self, PRIVATE};

/// Bytes of a name.
const NAME_BYTES_MAX: usize = 64;
/// Marks of a user whose password must be changed, and of one who may not log in.
const MUST_CHANGE: &str = "change";
const SUSPENDED: &str = "suspended";
/// A list with nothing in it.
const NOTHING: &str = "-";

/// Kinds of what a user may do, each with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Reads.
    Reader,
    /// Writes nodes and relationships.
    Writer,
    /// Makes and drops indexes and constraints; in all databases, also databases and users.
    Admin,
}

impl Role {
    const ALL: [Role; 3] = [Role::Reader, Role::Writer, Role::Admin];

    pub(crate) fn name(self) -> &'static str {
        ROLES[self as usize]
    }

    /// The role of a name, as it is granted.
    pub(crate) fn of_name(name: &str) -> Result<Role> {
        Role::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            error!(NotFound, "there is no role '{name}'").with_remedy(format!("the roles are {}", ROLES.join(", ")))
        })
    }
}

/// A role that a user has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) role: Role,
    /// The database in which it holds; `None` for all.
    pub(crate) database: Option<Arc<str>>,
}

/// A user.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) salt: Vec<u8>,
    pub(crate) hash: Vec<u8>,
    pub(crate) must_change: bool,
    pub(crate) is_suspended: bool,
    pub(crate) grants: Vec<Grant>,
}

impl User {
    /// The strongest role that the user has in a database.
    pub(crate) fn role_in(&self, database: &str) -> Option<Role> {
        let holds = |grant: &&Grant| grant.database.as_ref().is_none_or(|held| **held == *database);
        self.grants.iter().filter(holds).map(|grant| grant.role).max()
    }

    /// True if the user may make databases and users.
    pub(crate) fn is_administrator(&self) -> bool {
        self.grants.iter().any(|grant| grant.role == Role::Admin && grant.database.is_none())
    }

    pub(crate) fn row(&self) -> UserRow {
        let role = |grant: &Grant| match &grant.database {
            Some(database) => format!("{} ON DATABASE {database}", grant.role.name()),
            None => grant.role.name().to_owned(),
        };
        UserRow {
            name: self.name.clone(),
            roles: self.grants.iter().map(role).collect(),
            must_change: self.must_change,
            is_suspended: self.is_suspended,
        }
    }

    fn line(&self, cost: &str) -> String {
        let list = |items: Vec<String>| if items.is_empty() { NOTHING.to_owned() } else { items.join(",") };
        let marks = [(self.must_change, MUST_CHANGE), (self.is_suspended, SUSPENDED)];
        let marks = marks.iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| (*mark).to_owned()).collect();
        let grant = |grant: &Grant| match &grant.database {
            Some(database) => format!("{}@{database}", grant.role.name()),
            None => grant.role.name().to_owned(),
        };
        let (salt, hash) = (hex(&self.salt), hex(&self.hash));
        let (marks, grants) = (list(marks), list(self.grants.iter().map(grant).collect()));
        format!("{} argon2id {cost} {salt} {hash} {marks} {grants}\n", self.name)
    }

    /// The user of a line; `None` if it is none.
    fn of_line(line: &str, cost: &str) -> Option<User> {
        let fields: Vec<&str> = line.split(' ').collect();
        let ([name, "argon2id", held_cost, salt, hash] | [name, "argon2id", held_cost, salt, hash, _, _]) = fields[..]
        else {
            return None;
        };
        let items = |field: usize| fields.get(field).filter(|list| **list != NOTHING).map(|list| list.split(','));
        let marks: Vec<&str> = items(5).into_iter().flatten().collect();
        let grant = |text: &str| {
            let (role, database) = text.split_once('@').map_or((text, None), |(role, database)| (role, Some(database)));
            Some(Grant { role: Role::of_name(role).ok()?, database: database.map(Arc::from) })
        };
        let all = || vec![Grant { role: Role::Admin, database: None }];
        let grants = match fields.len() {
            5 => all(),
            _ => items(6).into_iter().flatten().map(grant).collect::<Option<Vec<Grant>>>()?,
        };
        let is_known = marks.iter().all(|mark| [MUST_CHANGE, SUSPENDED].contains(mark));
        (held_cost == cost && is_known).then_some(())?;
        Some(User {
            name: name.to_owned(),
            salt: of_hex(salt)?,
            hash: of_hex(hash)?,
            must_change: marks.contains(&MUST_CHANGE),
            is_suspended: marks.contains(&SUSPENDED),
            grants,
        })
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?) as u8)).collect()
}

/// Fails unless a user can have that name.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_right = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_graphic() && !b":,@'\"`\\".contains(&byte));
    if is_right {
        return Ok(());
    }
    Err(error!(Argument, "'{}' is no name of a user", name.escape_debug()).with_remedy(format!(
        "take up to {NAME_BYTES_MAX} letters and signs of ASCII, without blanks, quotes, backslashes, colons, commas and @"
    )))
}

/// Reads the file of users.
pub(crate) fn read(path: &Path, cost: &str) -> Result<Vec<User>> {
    let failed = |cause: std::io::Error| model::Error::of_file(path, &cause);
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(error!(File, "{}: others than its owner may read the file of users", path.display())
            .with_remedy("take the right from them, as with chmod 600"));
    }
    let user = |(number, line): (usize, &str)| {
        User::of_line(line, cost).ok_or_else(|| {
            error!(File, "{}: line {} is no user", path.display(), number + 1)
                .with_remedy("delete the line, or the file for a new one with one user")
        })
    };
    let users = text.lines().enumerate().map(user).collect::<Result<Vec<_>>>()?;
    if users.is_empty() {
        return Err(error!(File, "{}: no user stands in it, so that nobody could log in", path.display())
            .with_remedy("set a password with knot serve STORE --set-password, or delete the file for a new one"));
    }
    Ok(users)
}

/// Writes the file of users, as a whole or not at all.
pub(crate) fn write(path: &Path, users: &[User], cost: &str) -> Result<()> {
    let text: String = users.iter().map(|user| user.line(cost)).collect();
    private_file::write(path, &text, PRIVATE)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Grant, Role, User, check_name};

    const COST: &str = "m=1,t=1,p=1";

    #[test]
    fn lines_hold_what_a_user_is() {
        let grants = vec![
            Grant { role: Role::Reader, database: None },
            Grant { role: Role::Writer, database: Some(Arc::from("sales.2026")) },
        ];
        for (must_change, is_suspended, grants) in
            [(false, false, Vec::new()), (true, false, grants.clone()), (true, true, grants)]
        {
            let name = "ann".to_owned();
            let user = User { name, salt: vec![1, 255], hash: vec![0], must_change, is_suspended, grants };
            let read = User::of_line(user.line(COST).trim_end(), COST).expect("it is a line");
            assert_eq!(read.row(), user.row());
            assert_eq!((read.salt, read.hash), (user.salt, user.hash));
        }
        let old = User::of_line("neo4j argon2id m=1,t=1,p=1 00 11", COST).expect("it is one of a single user");
        assert!(old.is_administrator());
        for wrong in [
            "", "a b", "a argon2id m=2,t=1,p=1 00 11", "a argon2id m=1,t=1,p=1 00 11 x -",
            "a argon2id m=1,t=1,p=1 00 11 - king",
        ] {
            assert!(User::of_line(wrong, COST).is_none(), "{wrong}");
        }
    }

    #[test]
    fn the_strongest_role_counts() {
        let grant = |role, database: Option<&str>| Grant { role, database: database.map(Arc::from) };
        let grants = vec![grant(Role::Reader, None), grant(Role::Admin, Some("sales"))];
        let user =
            User { name: String::new(), salt: vec![], hash: vec![], must_change: false, is_suspended: false, grants };
        assert_eq!(user.role_in("sales"), Some(Role::Admin));
        assert_eq!(user.role_in("neo4j"), Some(Role::Reader));
        assert!(!user.is_administrator());
    }

    #[test]
    fn names_fit_a_line() {
        assert!(check_name("ann.lee-2").is_ok());
        for name in ["", "a b", "a:b", "a,b", "a@b", "a\nb", "é", "'", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
