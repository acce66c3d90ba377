//! Commands of a server: its databases, its users and their roles.
//!
//! A command holds texts that are known now or when the parameters are ([`Word`]); [`Administration::resolved`] makes one whose
//! texts are known.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use super::print::{Plain, quoted};

/// A text that is known now or when the parameters are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Known.
    Known(Arc<str>),
    /// The parameter of that name.
    Parameter(Arc<str>),
}

/// Treatment of what is there already under the name of something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is an error.
    Refuse,
    /// `IF NOT EXISTS`: nothing is done.
    Keep,
    /// `OR REPLACE`: it is dropped before.
    Replace,
}

/// State of a user that a command sets; what it does not name stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserState<T> {
    /// The password.
    pub password: Option<T>,
    /// True if the password must be changed before anything else is done.
    pub must_change: Option<bool>,
    /// True if the user may not log in.
    pub is_suspended: Option<bool>,
}

/// A command of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Administration<T = Word> {
    /// `CREATE [OR REPLACE] DATABASE name [IF NOT EXISTS]`.
    CreateDatabase {
        /// Its name.
        name: T,
        /// If there is one of that name.
        existing: Existing,
    },
    /// `DROP DATABASE name [IF EXISTS]`.
    DropDatabase {
        /// Its name.
        name: T,
        /// One that is not there is no error.
        if_exists: bool,
    },
    /// `CREATE [OR REPLACE] USER name [IF NOT EXISTS] SET PASSWORD password …`.
    CreateUser {
        /// The name of the user.
        name: T,
        /// If there is one of that name.
        existing: Existing,
        /// The password and the rest.
        state: UserState<T>,
    },
    /// `ALTER USER name [IF EXISTS] SET …`.
    AlterUser {
        /// The name of the user.
        name: T,
        /// One that is not there is no error.
        if_exists: bool,
        /// Everything that is set.
        state: UserState<T>,
    },
    /// `ALTER CURRENT USER SET PASSWORD FROM old TO new`.
    SetOwnPassword {
        /// The password as it is.
        old: T,
        /// The password as it is to be.
        new: T,
    },
    /// `DROP USER name [IF EXISTS]`.
    DropUser {
        /// The name of the user.
        name: T,
        /// One that is not there is no error.
        if_exists: bool,
    },
    /// `GRANT ROLE role [ON DATABASE name] TO user`, or `REVOKE … FROM`.
    Roles {
        /// True if they are given, not taken.
        is_grant: bool,
        /// The roles.
        roles: Vec<T>,
        /// The databases in which they hold; all, if there are none.
        databases: Vec<T>,
        /// The users.
        users: Vec<T>,
    },
}

impl<T> Administration<T> {
    /// The same command with other texts.
    ///
    /// # Errors
    /// Fails with the error of the first text that cannot be had.
    pub fn resolved<U, E>(&self, text: &mut dyn FnMut(&T) -> Result<U, E>) -> Result<Administration<U>, E> {
        use Administration as A;
        let state = |state: &UserState<T>, text: &mut dyn FnMut(&T) -> Result<U, E>| {
            let password = state.password.as_ref().map(text).transpose()?;
            Ok(UserState { password, must_change: state.must_change, is_suspended: state.is_suspended })
        };
        Ok(match self {
            A::CreateDatabase { name, existing } => A::CreateDatabase { name: text(name)?, existing: *existing },
            A::DropDatabase { name, if_exists } => A::DropDatabase { name: text(name)?, if_exists: *if_exists },
            A::CreateUser { name, existing, state: held } => {
                A::CreateUser { name: text(name)?, existing: *existing, state: state(held, text)? }
            }
            A::AlterUser { name, if_exists, state: held } => {
                A::AlterUser { name: text(name)?, if_exists: *if_exists, state: state(held, text)? }
            }
            A::SetOwnPassword { old, new } => A::SetOwnPassword { old: text(old)?, new: text(new)? },
            A::DropUser { name, if_exists } => A::DropUser { name: text(name)?, if_exists: *if_exists },
            A::Roles { is_grant, roles, databases, users } => A::Roles {
                is_grant: *is_grant,
                roles: roles.iter().map(&mut *text).collect::<Result<_, E>>()?,
                databases: databases.iter().map(&mut *text).collect::<Result<_, E>>()?,
                users: users.iter().map(text).collect::<Result<_, E>>()?,
            },
        })
    }

    /// The command as a record of it names it: its words without its texts, so without passwords.
    pub fn verb(&self) -> &'static str {
        match self {
            Administration::CreateDatabase { .. } => "CREATE DATABASE",
            Administration::DropDatabase { .. } => "DROP DATABASE",
            Administration::CreateUser { .. } => "CREATE USER",
            Administration::AlterUser { .. } => "ALTER USER",
            Administration::SetOwnPassword { .. } => "ALTER CURRENT USER",
            Administration::DropUser { .. } => "DROP USER",
            Administration::Roles { is_grant: true, .. } => "GRANT ROLE",
            Administration::Roles { is_grant: false, .. } => "REVOKE ROLE",
        }
    }
}

impl Display for Word {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Word::Known(text) => Plain(text).fmt(f),
            Word::Parameter(name) => write!(f, "${}", Plain(name)),
        }
    }
}

/// A password, as a string with its quotes.
struct Secret<'w>(&'w Word);

impl Display for Secret<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Word::Known(text) => quoted(f, text),
            parameter => parameter.fmt(f),
        }
    }
}

impl Display for UserState<Word> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let change = |must_change| if must_change { "CHANGE REQUIRED" } else { "CHANGE NOT REQUIRED" };
        match (&self.password, self.must_change) {
            (Some(password), None) => write!(f, " SET PASSWORD {}", Secret(password))?,
            (Some(password), Some(must)) => write!(f, " SET PASSWORD {} {}", Secret(password), change(must))?,
            (None, Some(must)) => write!(f, " SET PASSWORD {}", change(must))?,
            (None, None) => {}
        }
        match self.is_suspended {
            Some(true) => f.write_str(" SET STATUS SUSPENDED"),
            Some(false) => f.write_str(" SET STATUS ACTIVE"),
            None => Ok(()),
        }
    }
}

impl Display for Administration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let or = |existing: &Existing| if *existing == Existing::Replace { "OR REPLACE " } else { "" };
        let unless = |existing: &Existing| if *existing == Existing::Keep { " IF NOT EXISTS" } else { "" };
        let if_there = |if_exists: &bool| if *if_exists { " IF EXISTS" } else { "" };
        match self {
            Administration::CreateDatabase { name, existing } => {
                write!(f, "CREATE {}DATABASE {name}{}", or(existing), unless(existing))
            }
            Administration::DropDatabase { name, if_exists } => {
                write!(f, "DROP DATABASE {name}{}", if_there(if_exists))
            }
            Administration::CreateUser { name, existing, state } => {
                write!(f, "CREATE {}USER {name}{}{state}", or(existing), unless(existing))
            }
            Administration::AlterUser { name, if_exists, state } => {
                write!(f, "ALTER USER {name}{}{state}", if_there(if_exists))
            }
            Administration::SetOwnPassword { old, new } => {
                write!(f, "ALTER CURRENT USER SET PASSWORD FROM {} TO {}", Secret(old), Secret(new))
            }
            Administration::DropUser { name, if_exists } => write!(f, "DROP USER {name}{}", if_there(if_exists)),
            Administration::Roles { is_grant, roles, databases, users } => {
                let joined = |words: &[Word]| words.iter().map(Word::to_string).collect::<Vec<_>>().join(", ");
                f.write_str(if *is_grant { "GRANT ROLE " } else { "REVOKE ROLE " })?;
                f.write_str(&joined(roles))?;
                if !databases.is_empty() {
                    write!(f, " ON DATABASE {}", joined(databases))?;
                }
                write!(f, " {} {}", if *is_grant { "TO" } else { "FROM" }, joined(users))
            }
        }
    }
}
