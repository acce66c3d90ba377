//! The audit log: a line of JSON for each login and each command about databases, users and roles. No password stands in it.

use std::sync::Arc;

use database::Client;
use database::activity::moment_text;
use database::administration::Command;
use database::line_log::LineLog;
use model::{Error, ErrorDetail};
use serde_json::{Map, Value as Json};

/// Something that is recorded.
pub(crate) struct Event<'e> {
    /// Name of it.
    event: &'static str,
    user: &'e str,
    address: String,
    /// `success`, or what it came to.
    outcome: &'static str,
    /// The object of a command.
    object: Option<&'e str>,
}

impl<'e> Event<'e> {
    /// A login, with the outcome that it came to.
    pub(crate) fn of_login(user: &'e str, address: String, outcome: &'static str) -> Event<'e> {
        Event { event: "login", user, address, outcome, object: None }
    }

    /// A command, and the error with which it failed.
    pub(crate) fn of_command(command: &'e Command, client: &'e Client, error: Option<&Error>) -> Event<'e> {
        let outcome = match error {
            None => "success",
            Some(error) if error.detail() == Some(ErrorDetail::Forbidden) => "forbidden",
            Some(error) => error.code().name(),
        };
        let object = match command {
            Command::CreateDatabase { name, .. }
            | Command::DropDatabase { name, .. }
            | Command::CreateUser { name, .. }
            | Command::AlterUser { name, .. }
            | Command::DropUser { name, .. } => Some(&**name),
            Command::Roles { users, .. } => users.first().map(|user| &**user),
            Command::SetOwnPassword { .. } => Some(client.user.as_str()),
        };
        Event { event: command.verb(), user: &client.user, address: client.address.clone(), outcome, object }
    }
}

/// The audit log of a server, if it has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audit(pub(crate) Option<Arc<LineLog>>);

impl Audit {
    /// Records an event of that moment. Nothing fails because it cannot be written.
    pub(crate) fn record(&self, event: &Event<'_>, unix_us: i64) {
        let Some(log) = &self.0 else { return };
        let mut line = Map::new();
        let mut add = |key: &str, value: Json| drop(line.insert(key.to_owned(), value));
        add("time", moment_text(unix_us).into());
        add("event", event.event.into());
        add("user", event.user.into());
        add("client", event.address.as_str().into());
        add("outcome", event.outcome.into());
        if let Some(object) = event.object {
            add("object", object.into());
        }
        log.write(line);
    }
}
