//! Transactions of their own, tried again where another came first.

use std::sync::{MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use model::meter::{self, Wait};
use model::{Interrupt, IsolationLevel, Result, WriteTransaction, error};

use crate::database::Database;
use crate::phases::{Phase, Stopwatch};

/// Number of attempts where others write the same.
const ATTEMPTS: usize = 100;
/// The longest wait before the second time, in microseconds.
const FIRST_WAIT_US_MAX: u64 = 200;
/// Time between two checks of the interrupt while others are tried again.
const PATIENCE: Duration = Duration::from_millis(2);

/// Does some work as a transaction of its own; again, if another that committed first had written the same. From the third
/// time on such transactions run one at a time, so that each gets through. A watch is told of commits and of what was in vain.
pub(crate) fn transact<T>(
    database: &Database,
    isolation: IsolationLevel,
    interrupt: &Interrupt,
    watch: Option<&Stopwatch>,
    mut work: impl FnMut(&mut dyn WriteTransaction) -> Result<T>,
) -> Result<T> {
    let commit = |transaction: Box<dyn WriteTransaction>| match watch {
        Some(watch) => watch.during(Phase::Commit, || transaction.commit()),
        None => transaction.commit(),
    };
    let _listening = interrupt.listen();
    let (mut turn, mut is_alone) = (None, false);
    for attempt in 1.. {
        let store = database.store();
        let begun = if is_alone { store.write_alone(isolation) } else { store.write_isolated(isolation) };
        let mut transaction = begun?;
        transaction.set_at_work(true);
        let result = work(&mut *transaction);
        // A transaction that outgrew memory after others had committed is not left to them again.
        is_alone |= result.is_err();
        match result.and_then(|result| commit(transaction).map(|()| result)) {
            Ok(result) => return Ok(result),
            Err(error) if !error.is_outrun() || attempt == ATTEMPTS => return Err(error),
            Err(_) => interrupt.check()?,
        }
        if let Some(watch) = watch {
            watch.in_vain();
        }
        if attempt == 2 {
            turn = Some(turn_of_retries(database, interrupt)?);
        } else if turn.is_none() {
            let _waiting = meter::waiting(Wait::Lock);
            std::thread::sleep(Duration::from_micros(database.random() % FIRST_WAIT_US_MAX));
        }
    }
    Err(error!(Internal, "a transaction was tried again forever"))
}

/// Waits until nobody else is tried again.
fn turn_of_retries<'d>(database: &'d Database, interrupt: &Interrupt) -> Result<MutexGuard<'d, ()>> {
    let _waiting = meter::waiting(Wait::Lock);
    loop {
        match database.shared.retries.try_lock() {
            Ok(turn) => return Ok(turn),
            Err(TryLockError::Poisoned(turn)) => return Ok(PoisonError::into_inner(turn)),
            Err(TryLockError::WouldBlock) => {}
        }
        interrupt.check_unpaused()?;
        std::thread::sleep(PATIENCE);
    }
}
