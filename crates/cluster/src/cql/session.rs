//! The driver's session and its runtime, behind calls that wait.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::Map;
use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::client::session::Session as Driver;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::response::{PagingState, PagingStateResponse};
use scylla::statement::prepared::PreparedStatement;
use scylla::statement::{Consistency, SerialConsistency};
use scylla::value::{CqlValue, Row};
use tokio::runtime::Runtime;

use super::statements::{self, Kind, Text};
use super::{CqlConfig, faults};
use crate::tables::Fault;

/// Threads of the runtime.
const THREADS: usize = 2;
/// Time between two looks at an interrupt.
const LOOK: Duration = Duration::from_millis(50);
/// Time after which a read, or a write that may be repeated, is sent to another machine too.
const SPECULATION: Duration = Duration::from_millis(500);
/// The same of a page of a scan, which takes longer where machines are busy, and the more so if it is asked for twice.
const SCAN_SPECULATION: Duration = Duration::from_secs(3);
/// Time between two signs of life of a connection, and for the answer to one.
const ALIVE: Duration = Duration::from_secs(5);
/// Time for one attempt of an append, which is then repeated through another machine; Cassandra gives up earlier.
const APPEND_TIMEOUT: Duration = Duration::from_secs(4);
/// Rows of one page of an answer.
const PAGE_ROWS: i32 = 5_000;

/// A session. The runtime goes last, since the driver has tasks on it.
pub(super) struct Session {
    driver: Driver,
    prepared: Mutex<Map<Arc<str>, PreparedStatement>>,
    /// The treatment of scans.
    scans: ExecutionProfileHandle,
    runtime: Runtime,
}

fn profile(config: &CqlConfig, speculation: Duration) -> ExecutionProfileHandle {
    ExecutionProfile::builder()
        .consistency(Consistency::LocalQuorum)
        .serial_consistency(Some(SerialConsistency::LocalSerial))
        .request_timeout(Some(config.timeout))
        .speculative_execution_policy(Some(Arc::new(SimpleSpeculativeExecutionPolicy {
            max_retry_count: 2,
            retry_interval: speculation,
        })))
        .build()
        .into_handle()
}

fn no_session(problem: impl std::fmt::Display) -> Fault {
    Fault::Unavailable(problem.to_string())
}

impl Session {
    /// Connects, and makes keyspace and tables.
    pub(super) fn connect(config: &CqlConfig) -> Result<Session, Fault> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("knotwork-cql")
            .enable_all()
            .build()
            .map_err(no_session)?;
        let mut builder = SessionBuilder::new()
            .known_nodes(&config.hosts)
            .connection_timeout(config.timeout)
            .keepalive_interval(ALIVE)
            .keepalive_timeout(ALIVE)
            .default_execution_profile_handle(profile(config, SPECULATION));
        if let Some((user, password)) = &config.login {
            builder = builder.user(user, password);
        }
        let driver = runtime.block_on(builder.build()).map_err(no_session)?;
        let scans = profile(config, SCAN_SPECULATION);
        let session = Session { driver, prepared: Mutex::default(), scans, runtime };
        session.wait(async {
            let definitions = statements::definitions(&config.keyspace, config.copies);
            for statement in definitions.into_iter().filter(|_| config.creates) {
                let outcome = session.driver.query_unpaged(statement, ()).await;
                outcome.map_err(|error| faults::of(&error))?;
            }
            session.prepared(&statements::tail(&config.keyspace)).await.map(drop)
        })?;
        Ok(session)
    }

    pub(super) fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Waits for an answer.
    pub(super) fn wait<T>(&self, answer: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        self.runtime.block_on(answer)
    }

    /// Waits for an answer, as long as the wait is not cancelled.
    pub(super) fn wait_or_cancel<T>(
        &self,
        answer: impl Future<Output = Result<T, Fault>>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<T, Fault> {
        self.runtime.block_on(async {
            let mut answer = std::pin::pin!(answer);
            loop {
                match tokio::time::timeout(LOOK, answer.as_mut()).await {
                    Ok(outcome) => return outcome,
                    Err(_) if is_cancelled() => return Err(Fault::Cancelled("while it waited".to_owned())),
                    Err(_) => {}
                }
            }
        })
    }

    /// A prepared statement.
    pub(super) async fn prepared(&self, text: &Text) -> Result<PreparedStatement, Fault> {
        let known = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).get(&*text.text).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let mut statement = self.driver.prepare(&*text.text).await.map_err(|error| faults::of(&error.into()))?;
        statement.set_page_size(PAGE_ROWS);
        match text.kind {
            Kind::Repeatable => statement.set_is_idempotent(true),
            Kind::Scan => {
                statement.set_is_idempotent(true);
                statement.set_execution_profile_handle(Some(self.scans.clone()));
            }
            Kind::Conditional => {
                // An attempt without an answer is in doubt, and is told to the caller.
                statement.set_is_idempotent(false);
                statement.set_request_timeout(Some(APPEND_TIMEOUT));
                statement.set_retry_policy(Some(Arc::new(FallthroughRetryPolicy::new())));
            }
            Kind::Serial => {
                statement.set_is_idempotent(true);
                statement.set_consistency(Consistency::LocalSerial);
            }
        }
        let mut known = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(text.text.clone()).or_insert(statement).clone())
    }

    /// One page of rows, and where the next begins.
    pub(super) async fn page(
        &self,
        statement: &PreparedStatement,
        values: Vec<CqlValue>,
        page: Option<PagingState>,
        rows: i32,
    ) -> Result<(Vec<Row>, Option<PagingState>), Fault> {
        let mut statement = statement.clone();
        statement.set_page_size(rows);
        let page = page.unwrap_or_else(PagingState::start);
        let answer = self.driver.execute_single_page(&statement, values, page).await;
        let (answer, next) = answer.map_err(|error| faults::of(&error))?;
        let rows = answer.into_rows_result().map_err(faults::unexpected)?;
        let rows = rows.rows::<Row>().map_err(faults::unexpected)?.collect::<Result<Vec<Row>, _>>();
        let next = match next {
            PagingStateResponse::HasMorePages { state } => Some(state),
            PagingStateResponse::NoMorePages => None,
        };
        Ok((rows.map_err(faults::unexpected)?, next))
    }

    /// All rows of an answer.
    pub(super) async fn all_rows(
        &self,
        statement: &PreparedStatement,
        values: Vec<CqlValue>,
    ) -> Result<Vec<Row>, Fault> {
        let (mut all, mut page) = (Vec::new(), None);
        loop {
            let (mut rows, next) = self.page(statement, values.clone(), page, PAGE_ROWS).await?;
            all.append(&mut rows);
            if next.is_none() {
                return Ok(all);
            }
            page = next;
        }
    }
}
