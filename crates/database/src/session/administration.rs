//! Commands of a server in a session: each is a transaction, or the only statement of one, and is carried out as it commits.

use model::{Result, error};

use super::Session;
use super::account::Account;
use crate::Parameters;
use crate::administration::{Administration, Command, prepare};
use crate::compiling::Text;
use crate::phases::Phase;
use crate::result::StatementSummary;

impl Session {
    /// Carries out a command, or keeps it for the commit of the transaction that is open.
    pub(super) fn administer(
        &mut self,
        account: &Account,
        command: &Administration,
        parameters: &Parameters,
    ) -> Result<StatementSummary> {
        account.watch.switch(Phase::Run);
        let site = self.database.shared.activity.site();
        let client = self.registration.client();
        let command = prepare(site.administrator.as_ref(), command, (&site.name, &client), parameters)?;
        if !self.in_transaction() {
            self.carry_out(&command)?;
        } else if std::mem::replace(&mut self.has_run, true) {
            return Err(is_alone(&command));
        } else {
            self.command = Some(command);
        }
        Ok(StatementSummary::default())
    }

    pub(super) fn carry_out(&self, command: &Command) -> Result<()> {
        let administrator = self.database.shared.activity.site().administrator;
        let administrator = administrator.ok_or_else(|| error!(Closed, "the server has ended"))?;
        administrator.run(command, &self.registration.client(), &self.interrupt)
    }

    /// Fails if the transaction that is open is a command, and a statement comes behind it.
    pub(super) fn check_alone(&mut self, text: &Text) -> Result<()> {
        match text {
            Text::Begin | Text::Commit | Text::Rollback | Text::Administration(_) => return Ok(()),
            _ => self.has_run = true,
        }
        self.command.as_ref().map_or(Ok(()), |command| Err(is_alone(command)))
    }
}

fn is_alone(command: &Command) -> model::Error {
    error!(TransactionState, "{} is the only statement of its transaction", command.verb())
        .with_remedy("run it by itself, or in a transaction of its own")
}
