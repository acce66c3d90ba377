//! Commands about databases, users and roles, and what the roles allow.

use std::sync::{Arc, Weak};

use database::administration::{Administrator, Command, DatabaseRow, Existing, UserRow, UserState};
use database::{Action, Client, Interrupt, Neighbors, Outlook, Site};
use model::error::ErrorDetail;
use model::{Result, error};

use crate::audit::{Audit, Event};
use crate::credentials::{Credentials, hashed};
use crate::databases::{Databases, Place};
use crate::users::{self, Grant, Role, User};

/// The keeper of a server's databases and users, as its databases know it.
#[derive(Clone)]
pub(crate) struct Keeper {
    /// Weak, since they know it.
    pub(crate) databases: Weak<Databases>,
    /// `None` if everybody may come in.
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) audit: Audit,
    /// The address at which the databases are reached.
    pub(crate) address: Arc<str>,
    /// All databases.
    pub(crate) neighbors: Neighbors,
}

impl Keeper {
    /// Says to a database where it is reached, and who keeps it.
    pub(crate) fn tell(&self, place: &Place) {
        let administrator: Arc<dyn Administrator> = Arc::new(self.clone());
        let (name, address) = (place.name.clone(), self.address.to_string());
        let neighbors = self.neighbors.clone();
        place.database.set_site(Site { name, address, administrator: Some(administrator), neighbors });
    }

    fn record(&self, command: &Command, client: &Client, error: Option<&model::Error>) {
        if let Some(databases) = self.databases.upgrade() {
            self.audit.record(&Event::of_command(command, client, error), databases.unix_us());
        }
    }

    fn carry_out(&self, command: &Command, client: &Client, interrupt: &Interrupt) -> Result<()> {
        let Some(databases) = self.databases.upgrade() else { return Err(error!(Closed, "the server has ended")) };
        let user = &client.user;
        match (command, &self.credentials) {
            (Command::CreateDatabase { name, existing }, _) => {
                if let Some(place) = databases.create(name, *existing, interrupt)? {
                    self.tell(&place);
                }
                Ok(())
            }
            (Command::DropDatabase { name, if_exists }, _) => {
                let is_gone = databases.drop_named(name, interrupt)?;
                if is_gone || *if_exists { Ok(()) } else { Err(no_database(name)) }
            }
            (Command::SetOwnPassword { old, new }, Some(credentials)) => set_own_password(credentials, user, old, new),
            (about_users, Some(credentials)) => change_users(&databases, credentials, about_users, user),
            (_, None) => {
                Err(error!(Unsupported, "{}: this server lets in everybody, and has no users", command.verb())
                    .with_remedy("start it without --no-auth"))
            }
        }
    }
}

impl Administrator for Keeper {
    fn admit(&self, command: &Command, client: &Client) -> Result<()> {
        if matches!(command, Command::SetOwnPassword { .. }) || self.is_admin(&client.user) {
            return Ok(());
        }
        let (verb, user) = (command.verb(), &client.user);
        let error = error!(ReadOnly, "{verb} needs the role admin in all databases, and {user} has it not")
            .with_detail(ErrorDetail::Forbidden)
            .with_remedy("ask an administrator of the server");
        self.record(command, client, Some(&error));
        Err(error)
    }

    fn run(&self, command: &Command, client: &Client, interrupt: &Interrupt) -> Result<()> {
        // The rights may have changed since a transaction took the command.
        self.admit(command, client)?;
        let outcome = self.carry_out(command, client, interrupt);
        self.record(command, client, outcome.as_ref().err());
        outcome
    }

    fn databases(&self, user: &str) -> Vec<DatabaseRow> {
        let mut rows = self.databases.upgrade().map(|databases| databases.rows()).unwrap_or_default();
        if let Some(credentials) = self.credentials.as_ref().filter(|_| !self.is_admin(user)) {
            let may_see = |name: &str, held: Option<&User>| held.is_some_and(|user| user.role_in(name).is_some());
            credentials.look(user, |held| rows.retain(|row| may_see(&row.name, held)));
        }
        rows
    }

    fn users(&self) -> Option<Vec<UserRow>> {
        self.credentials.as_ref().map(|credentials| credentials.users().iter().map(User::row).collect())
    }

    /// Everybody is, where nobody has to log in.
    fn is_admin(&self, user: &str) -> bool {
        let may_all = |held: Option<&User>| held.is_some_and(|user| user.is_administrator() && !user.must_change);
        self.credentials.as_ref().is_none_or(|credentials| credentials.look(user, may_all))
    }
}

fn no_database(name: &str) -> model::Error {
    error!(NotFound, "there is no database '{name}'")
        .with_detail(ErrorDetail::DatabaseNotFound)
        .with_remedy("SHOW DATABASES tells those that there are")
}

fn no_user(name: &str) -> model::Error {
    error!(NotFound, "there is no user '{name}'").with_remedy("SHOW USERS tells those that there are")
}

fn set_own_password(credentials: &Credentials, user: &str, old: &str, new: &str) -> Result<()> {
    if !credentials.is_right(credentials.user(user).as_ref(), old) {
        return Err(error!(Argument, "the password after FROM is not that of {user}"));
    }
    if old == new {
        return Err(error!(Argument, "the new password is the old one").with_remedy("choose another"));
    }
    let (salt, hash) = hashed(new)?;
    credentials.change(|users| {
        let held = users.iter_mut().find(|held| held.name == user).ok_or_else(|| no_user(user))?;
        (held.salt, held.hash, held.must_change) = (salt, hash, false);
        Ok(())
    })
}

fn change_users(databases: &Databases, credentials: &Credentials, command: &Command, by: &str) -> Result<()> {
    match command {
        Command::CreateUser { name, existing, state } => create_user(credentials, name, *existing, state, by),
        Command::AlterUser { name, if_exists, state } => {
            let hashed = state.password.as_ref().map(|password| hashed(password)).transpose()?;
            credentials.change(|users| {
                let Some(held) = users.iter_mut().find(|held| held.name == **name) else {
                    return if *if_exists { Ok(()) } else { Err(no_user(name)) };
                };
                if let Some((salt, hash)) = hashed {
                    (held.salt, held.hash) = (salt, hash);
                }
                held.must_change = state.must_change.unwrap_or(held.must_change);
                held.is_suspended = state.is_suspended.unwrap_or(held.is_suspended);
                Ok(())
            })
        }
        Command::DropUser { name, if_exists } => credentials.change(|users| {
            if **name == *by {
                return Err(error!(Argument, "{by} cannot drop itself").with_remedy("have another administrator do it"));
            }
            let before = users.len();
            users.retain(|held| held.name != **name);
            if users.len() < before || *if_exists { Ok(()) } else { Err(no_user(name)) }
        }),
        Command::Roles { is_grant, roles, databases: names, users } => {
            let grants = grants_of(databases, *is_grant, roles, names)?;
            credentials.change(|held| change_roles(held, *is_grant, &grants, users))
        }
        Command::CreateDatabase { .. } | Command::DropDatabase { .. } | Command::SetOwnPassword { .. } => Ok(()),
    }
}

fn create_user(
    credentials: &Credentials,
    name: &str,
    existing: Existing,
    state: &UserState<Arc<str>>,
    by: &str,
) -> Result<()> {
    users::check_name(name)?;
    let (salt, hash) = hashed(state.password.as_deref().unwrap_or_default())?;
    credentials.change(|users| {
        if users.iter().any(|held| held.name == name) {
            match existing {
                Existing::Keep => return Ok(()),
                Existing::Refuse => {
                    return Err(error!(SchemaRule, "there is a user '{name}' already")
                        .with_remedy("choose another name, or write IF NOT EXISTS"));
                }
                Existing::Replace if name == by => {
                    return Err(error!(Argument, "{by} cannot replace itself").with_remedy("write ALTER USER"));
                }
                Existing::Replace => users.retain(|held| held.name != name),
            }
        }
        users.push(User {
            name: name.to_owned(),
            salt,
            hash,
            must_change: state.must_change.unwrap_or(true),
            is_suspended: state.is_suspended.unwrap_or(false),
            grants: Vec::new(),
        });
        Ok(())
    })
}

/// The grants that roles in databases are.
fn grants_of(held: &Databases, is_grant: bool, roles: &[Arc<str>], databases: &[Arc<str>]) -> Result<Vec<Grant>> {
    let mut grants = Vec::new();
    for role in roles {
        let role = Role::of_name(role)?;
        if databases.is_empty() {
            grants.push(Grant { role, database: None });
        }
        for name in databases {
            // A role is taken also in a database that is gone.
            if is_grant && !held.has(name) {
                return Err(no_database(name));
            }
            grants.push(Grant { role, database: Some(Arc::from(name.to_ascii_lowercase())) });
        }
    }
    Ok(grants)
}

fn change_roles(held: &mut [User], is_grant: bool, grants: &[Grant], names: &[Arc<str>]) -> Result<()> {
    for name in names {
        let user = held.iter_mut().find(|held| held.name == **name).ok_or_else(|| no_user(name))?;
        for grant in grants {
            let has = user.grants.contains(grant);
            match (is_grant, has) {
                (true, false) => user.grants.push(grant.clone()),
                (false, true) => user.grants.retain(|held| held != grant),
                // As in Neo4j, what is so already is no error.
                _ => {}
            }
        }
    }
    Ok(())
}

/// The reason for which a user may not run a statement in a database; `None` if it may be run.
pub(crate) fn refusal(credentials: &Credentials, user: &str, database: &str, outlook: &Outlook) -> Option<Denial> {
    credentials.look(user, |held| denial(held, database, outlook))
}

fn denial(user: Option<&User>, database: &str, outlook: &Outlook) -> Option<Denial> {
    let Some(held) = user.filter(|user| !user.is_suspended) else { return Some(Denial::Gone) };
    // Commands look at the rights of their user themselves, and one of them sets the password.
    if outlook.action == Action::Administration {
        return None;
    }
    if held.must_change {
        return Some(Denial::MustChange);
    }
    let needed = match needed(outlook)? {
        Role::Reader if outlook.is_apart => return None,
        needed => needed,
    };
    let has = held.role_in(database);
    (has < Some(needed)).then_some(Denial::Role { needed, has })
}

/// The role that a statement needs; `None` if it needs none. Each kind of statement has its row.
fn needed(outlook: &Outlook) -> Option<Role> {
    match outlook.action {
        Action::Read => Some(Role::Reader),
        // A plan tells labels and estimates, whatever it would do.
        Action::Control => Some(Role::Reader),
        Action::Write | Action::Batches if outlook.is_schema => Some(Role::Admin),
        Action::Write | Action::Batches => Some(Role::Writer),
        Action::Maintenance => Some(Role::Admin),
        // It makes constraints, and files.
        Action::Copy => Some(Role::Admin),
        // Refused to all who have roles; and here, should that change.
        Action::Attach => Some(Role::Admin),
        Action::Administration | Action::Transaction => None,
    }
}

/// The reason for which a user may not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// The user was dropped or suspended since the login.
    Gone,
    /// The password must be changed first.
    MustChange,
    /// The role is too weak.
    Role { needed: Role, has: Option<Role> },
}

#[cfg(test)]
mod tests {
    use database::{Action, Outlook};

    use super::needed;
    use crate::users::Role;

    fn outlook(action: Action, is_schema: bool) -> Outlook {
        let (rows, work) = (1.0, 1.0);
        let (calls_procedure, plan_writes, is_apart) = (false, false, false);
        Outlook { action, rows, work, calls_procedure, plan_writes, is_schema, is_apart }
    }

    #[test]
    fn each_kind_of_statement_needs_a_role() {
        for (action, is_schema, role) in [
            (Action::Read, false, Some(Role::Reader)),
            (Action::Control, true, Some(Role::Reader)),
            (Action::Write, false, Some(Role::Writer)),
            (Action::Batches, false, Some(Role::Writer)),
            (Action::Write, true, Some(Role::Admin)),
            (Action::Maintenance, false, Some(Role::Admin)),
            (Action::Copy, false, Some(Role::Admin)),
            (Action::Attach, false, Some(Role::Admin)),
            (Action::Administration, false, None),
            (Action::Transaction, false, None),
        ] {
            assert_eq!(needed(&outlook(action, is_schema)), role, "{action:?}");
        }
    }
}
