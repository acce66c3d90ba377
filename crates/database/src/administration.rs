//! Databases, users and roles of a server, as its sessions see them; a process that has a store for itself has none.

use std::sync::Arc;

pub use cypher::ast::administration::{Administration, Existing, UserState, Word};
use model::{ErrorDetail, Interrupt, Result, Value, error};

use crate::Parameters;

/// The name by which clients of a server ask for the database that they get if they name none.
pub const DATABASE_NAME: &str = "neo4j";

/// A command whose texts are known.
pub type Command = Administration<Arc<str>>;

/// User of a session. All is empty in a process that has the database itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// The name of the user.
    pub user: String,
    /// The address of the client.
    pub address: String,
    /// The name of the connection.
    pub connection: String,
    /// The protocol.
    pub protocol: String,
}

/// A database, for `SHOW DATABASES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseRow {
    /// Its name.
    pub name: Arc<str>,
    /// True for the one that sessions have that name none.
    pub is_default: bool,
    /// False if it could not be opened, or is about to go.
    pub is_online: bool,
    /// The reason for which it is not online.
    pub message: String,
}

/// A user, for `SHOW USERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRow {
    /// The name.
    pub name: String,
    /// The roles, as `GRANT ROLE` names them: `reader`, or `reader ON DATABASE sales`.
    pub roles: Vec<String>,
    /// True if the password must be changed first.
    pub must_change: bool,
    /// True if the user may not log in.
    pub is_suspended: bool,
}

/// Names of the roles, the weakest first.
pub const ROLES: [&str; 3] = ["reader", "writer", "admin"];

/// Keeper of the databases, users and roles of a server.
pub trait Administrator: Send + Sync {
    /// Fails unless a client may give a command.
    ///
    /// # Errors
    /// `READ_ONLY` with the detail `Forbidden`.
    fn admit(&self, command: &Command, client: &Client) -> Result<()>;

    /// Carries out a command of a client.
    ///
    /// # Errors
    /// Fails if the client may not give it, or it cannot be carried out; then nothing has changed.
    fn run(&self, command: &Command, client: &Client, interrupt: &Interrupt) -> Result<()>;

    /// The databases that a user may read.
    fn databases(&self, user: &str) -> Vec<DatabaseRow>;

    /// The users; `None` where nobody has to log in.
    fn users(&self) -> Option<Vec<UserRow>>;

    /// True if a user may see what others do, and end it.
    fn is_admin(&self, user: &str) -> bool;
}

/// The command with the texts of the parameters, for a session in a database, to which the administrator admits its client.
pub(crate) fn prepare(
    administrator: Option<&Arc<dyn Administrator>>,
    command: &Administration,
    (database, client): (&str, &Client),
    parameters: &Parameters,
) -> Result<Command> {
    let verb = command.verb();
    let Some(administrator) = administrator else {
        return Err(error!(
            Unsupported,
            "{verb}: a process that opens a store itself has no databases, users and roles"
        )
        .with_remedy("run it on a server, which knot serve starts"));
    };
    let command = command.resolved(&mut |word: &Word| match word {
        Word::Known(text) => Ok(text.clone()),
        Word::Parameter(name) => match parameters.get(name) {
            Some(Value::String(text)) => Ok(Arc::from(&**text)),
            Some(other) => {
                Err(error!(Type, "{verb} needs a string as the parameter ${name}, found {}", other.type_name()))
            }
            None => {
                Err(error!(Parameter, "the parameter ${name} is not given").with_detail(ErrorDetail::MissingParameter))
            }
        },
    })?;
    if let Command::DropDatabase { name, .. } | Command::CreateDatabase { name, existing: Existing::Replace } = &command
        && name.eq_ignore_ascii_case(database)
        && database != DATABASE_NAME
    {
        return Err(error!(Argument, "the session that drops the database '{database}' is in it")
            .with_remedy("run the command in another database, such as system"));
    }
    administrator.admit(&command, client)?;
    Ok(command)
}
