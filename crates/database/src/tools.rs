//! Procedures that drivers and tools made for Neo4j call when they connect, and those behind `SHOW DATABASES`, `SHOW USERS`,
//! `SHOW TRANSACTIONS` and their like.
//!
//! The module `meta` has those that tell the shape of the graph.

use std::sync::Arc;

use exec::procedures::{columns_of, of, text, texts};
use model::procedure::{
    ArgumentSpec, Procedure, ProcedureContext, ProcedureMode, ProcedureSignature, RowSink, YieldSpec,
};
use model::{ErrorDetail, Result, Value, error};

use crate::activity::{Activity, Terminated};
use crate::administration::{DATABASE_NAME, DatabaseRow, ROLES, UserRow};
use crate::statements::Statements;

mod meta;

/// The version of Neo4j whose drivers and tools are served.
pub const NEO4J_VERSION: &str = "5.26.0";

/// Parts of a procedure of this module.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// The sessions of the database.
    pub(crate) activity: Arc<Activity>,
    /// The store's name: its path.
    pub(crate) store: Arc<str>,
    /// True if nothing can be written.
    pub(crate) is_read_only: bool,
    /// Statistics of the statements that were run.
    pub(crate) statements: Arc<Statements>,
}

type Rows = Vec<Vec<Value>>;
type Listed = fn(&Surroundings, &mut ProcedureContext<'_>, &[Value]) -> Result<Rows>;

/// A procedure, and the function that makes its rows.
#[derive(Clone)]
struct Tool {
    signature: ProcedureSignature,
    rows: Listed,
}

struct Placed {
    tool: Tool,
    surroundings: Surroundings,
}

impl Procedure for Placed {
    fn signature(&self) -> &ProcedureSignature {
        &self.tool.signature
    }

    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()> {
        let rows = (self.tool.rows)(&self.surroundings, context, arguments)?;
        sink(columns_of(&rows, self.tool.signature.yields.len()))?;
        Ok(())
    }
}

/// All of them.
pub(crate) fn procedures(surroundings: &Surroundings) -> Vec<Arc<dyn Procedure>> {
    let tools =
        of_place().into_iter().chain(of_transaction()).chain(of_activity()).chain(of_statements()).chain(meta::tools());
    tools.map(|tool| Arc::new(Placed { tool, surroundings: surroundings.clone() }) as Arc<dyn Procedure>).collect()
}

const fn flag(name: &'static str) -> YieldSpec {
    of(name, "BOOLEAN")
}

const fn number(name: &'static str) -> YieldSpec {
    of(name, "INTEGER")
}

const fn milliseconds(name: &'static str) -> YieldSpec {
    of(name, "FLOAT")
}

const fn tool(name: &'static str, description: &'static str, yields: &'static [YieldSpec], rows: Listed) -> Tool {
    let mode = ProcedureMode::Read;
    Tool { signature: ProcedureSignature { name, aliases: &[], description, mode, arguments: &[], yields }, rows }
}

fn with(arguments: &'static [ArgumentSpec], tool: Tool) -> Tool {
    Tool { signature: ProcedureSignature { arguments, ..tool.signature }, ..tool }
}

fn also(aliases: &'static [&'static str], tool: Tool) -> Tool {
    Tool { signature: ProcedureSignature { aliases, ..tool.signature }, ..tool }
}

const NAMES: &[ArgumentSpec] = &[ArgumentSpec {
    name: "names",
    type_name: "STRING | LIST<STRING>",
    description: "One name or several; all, if left out.",
    default: Some(|| Value::list(Vec::new())),
}];
const IDS: &[ArgumentSpec] = &[ArgumentSpec {
    name: "ids",
    type_name: "STRING | LIST<STRING>",
    description: "The ids of transactions, as SHOW TRANSACTIONS tells them.",
    default: None,
}];

const DATA: &[ArgumentSpec] = &[ArgumentSpec {
    name: "data",
    type_name: "MAP",
    description: "Entries for SHOW TRANSACTIONS; others of the same name give way.",
    default: None,
}];

const METADATA: &[YieldSpec] = &[of("metadata", "MAP")];
const COMPONENT: &[YieldSpec] = &[text("name"), texts("versions"), text("edition")];
const PING: &[YieldSpec] = &[flag("success")];
const INFO: &[YieldSpec] = &[text("id"), text("name"), of("creationDate", "STRING")];
const LICENSE: &[YieldSpec] = &[text("status"), of("daysLeftOnTrial", "INTEGER"), of("totalTrialDays", "INTEGER")];
const SETTING: &[YieldSpec] = &[text("name"), text("description"), text("value"), flag("dynamic")];
const CURRENT: &[YieldSpec] = &[text("username"), texts("roles"), texts("flags")];
const USER: &[YieldSpec] =
    &[text("user"), texts("roles"), flag("passwordChangeRequired"), flag("suspended"), text("home")];
const DATABASE: &[YieldSpec] = &[
    text("name"),
    text("type"),
    texts("aliases"),
    text("access"),
    text("address"),
    text("role"),
    flag("writer"),
    text("requestedStatus"),
    text("currentStatus"),
    text("statusMessage"),
    flag("default"),
    flag("home"),
    texts("constituents"),
    text("databaseID"),
    text("serverID"),
    text("store"),
];
const ROLE: &[YieldSpec] = &[text("role"), text("member")];
const SERVER: &[YieldSpec] = &[
    text("name"),
    text("address"),
    text("state"),
    text("health"),
    texts("hosting"),
    text("serverId"),
    text("httpAddress"),
    text("httpsAddress"),
    text("version"),
];
const TRANSACTION: &[YieldSpec] = &[
    text("database"),
    text("transactionId"),
    text("currentQueryId"),
    text("connectionId"),
    text("clientAddress"),
    text("username"),
    text("currentQuery"),
    text("startTime"),
    text("status"),
    of("elapsedTime", "DURATION"),
    text("outerTransactionId"),
    of("metaData", "MAP"),
    of("parameters", "MAP"),
    text("currentQueryStartTime"),
    text("currentQueryStatus"),
    of("currentQueryElapsedTime", "DURATION"),
    text("protocol"),
    text("requestUri"),
    text("statusDetails"),
];
const STATEMENT: &[YieldSpec] = &[
    text("statement"),
    number("calls"),
    number("errors"),
    number("rows"),
    milliseconds("totalMs"),
    milliseconds("meanMs"),
    milliseconds("p99Ms"),
    milliseconds("maxMs"),
    milliseconds("parseMs"),
    milliseconds("bindMs"),
    milliseconds("planMs"),
    milliseconds("prepareMs"),
    milliseconds("runMs"),
    milliseconds("recordsMs"),
    milliseconds("commitMs"),
    milliseconds("retryMs"),
    milliseconds("deliverMs"),
    milliseconds("diskWaitMs"),
    milliseconds("verifyMs"),
    milliseconds("sourceWaitMs"),
    milliseconds("logWaitMs"),
    milliseconds("lockWaitMs"),
    milliseconds("queueMs"),
    milliseconds("spillMs"),
    number("blockUses"),
    number("blockMisses"),
    number("bytesRead"),
    number("spilledBytes"),
    number("roundTrips"),
    number("planCacheHits"),
    text("plan"),
];
const FORGOTTEN: &[YieldSpec] = &[number("statements")];
const TERMINATION: &[YieldSpec] = &[text("transactionId"), text("username"), text("message")];

/// Name and place of this.
fn of_place() -> Vec<Tool> {
    vec![
        tool("dbms.components", "The version of Neo4j that clients may take this for.", COMPONENT, |_, _, _| {
            let versions = texts_of([NEO4J_VERSION]);
            Ok(vec![vec![Value::string("Neo4j Kernel"), versions, Value::string("community")]])
        }),
        tool("db.ping", "True, if the database answers.", PING, |_, _, _| Ok(vec![vec![Value::Bool(true)]])),
        tool("db.info", "The name of the database.", INFO, |surroundings, _, _| {
            let name = surroundings.activity.site().name;
            Ok(vec![vec![identity(surroundings), Value::string(&name), Value::Null]])
        }),
        tool("dbms.licenseAgreementDetails", "That there is no agreement to be accepted.", LICENSE, |_, _, _| {
            Ok(vec![vec![Value::string("yes"), Value::Int(0), Value::Int(0)]])
        }),
        also(
            &["dbms.listConfig"],
            tool("dbms.clientConfig", "Settings that Neo4j Browser asks for.", SETTING, |_, _, _| Ok(settings())),
        ),
        with(NAMES, tool("dbms.databases", "The databases, for SHOW DATABASES.", DATABASE, databases)),
        tool("dbms.servers", "This server, for SHOW SERVERS.", SERVER, servers),
    ]
}

/// Metadata of the transaction that asks.
fn of_transaction() -> Vec<Tool> {
    vec![
        tool("tx.getMetaData", "Metadata that the client gave of this transaction.", METADATA, |held, context, _| {
            Ok(vec![vec![held.activity.metadata_of(context.interrupt)]])
        }),
        with(
            DATA,
            tool("tx.setMetaData", "Adds to the metadata of this transaction.", &[], |held, context, arguments| {
                let Value::Map(added) = &arguments[0] else {
                    return Err(error!(Type, "tx.setMetaData needs a map, found {}", arguments[0].type_name()));
                };
                held.activity.add_metadata(context.interrupt, added)?;
                Ok(Vec::new())
            }),
        ),
    ]
}

/// Users and what they do.
fn of_activity() -> Vec<Tool> {
    vec![
        tool("dbms.showCurrentUser", "The user of this session.", CURRENT, |surroundings, context, _| {
            let user = current_user(surroundings, context);
            let flags = if user.must_change { vec![Value::string("password_change_required")] } else { Vec::new() };
            Ok(vec![vec![Value::string(&user.name), roles(&user), Value::list(flags)]])
        }),
        tool(
            "dbms.currentUser",
            "The user of this session, for SHOW CURRENT USER.",
            USER,
            |surroundings, context, _| Ok(vec![user(&current_user(surroundings, context))]),
        ),
        tool("dbms.users", "Users who may log in, for SHOW USERS.", USER, |surroundings, context, _| {
            let (users, sight) = (users(surroundings), Sight::of(surroundings, context));
            Ok(users.iter().filter(|held| sight.has(&held.name)).map(user).collect())
        }),
        tool("dbms.roles", "Roles and the users who have them, for SHOW ROLES.", ROLE, |surroundings, context, _| {
            let (users, sight) = (users(surroundings), Sight::of(surroundings, context));
            let seen = users.iter().filter(|held| sight.has(&held.name));
            let held = seen.flat_map(|user| user.roles.iter().map(|role| [role.as_str(), &user.name]));
            let unused =
                ROLES.iter().filter(|role| !users.iter().any(|user| user.roles.iter().any(|held| held == *role)));
            let mut rows: Rows = held.map(|row| row.map(Value::string).to_vec()).collect();
            rows.extend(unused.map(|role| vec![Value::string(role), Value::Null]));
            Ok(rows)
        }),
        with(
            NAMES,
            tool(
                "dbms.transactions",
                "Transactions at work, for SHOW TRANSACTIONS.",
                TRANSACTION,
                |held, context, names| {
                    let sight = Sight::of(held, context);
                    Ok(held.activity.transactions(&names_of(names), |user| sight.has(user), context.clock))
                },
            ),
        ),
        with(
            IDS,
            tool(
                "dbms.terminateTransactions",
                "Ends transactions, for TERMINATE TRANSACTIONS.",
                TERMINATION,
                |held, context, ids| {
                    let sight = Sight::of(held, context);
                    Ok(names_of(ids).into_iter().map(|id| termination(held, &id, &sight)).collect())
                },
            ),
        ),
    ]
}

/// Statistics of statements.
fn of_statements() -> Vec<Tool> {
    vec![
        tool(
            "dbms.statements",
            "Statements that were run and what they cost, for SHOW STATEMENTS.",
            STATEMENT,
            |surroundings, context, _| {
                Sight::of(surroundings, context).needs_all("SHOW STATEMENTS")?;
                Ok(surroundings.statements.rows())
            },
        ),
        tool(
            "dbms.resetStatements",
            "Forgets what SHOW STATEMENTS has counted; returns the number of statements.",
            FORGOTTEN,
            |surroundings, context, _| {
                Sight::of(surroundings, context).needs_all("dbms.resetStatements")?;
                Ok(vec![vec![Value::Int(surroundings.statements.reset() as i64)]])
            },
        ),
    ]
}

fn texts_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Value {
    Value::list(texts.into_iter().map(Value::string).collect())
}

/// The names in the first argument: one, or a list of several.
fn names_of(arguments: &[Value]) -> Vec<String> {
    let name = |value: &Value| if let Value::String(name) = value { Some(name.to_string()) } else { None };
    match arguments.first() {
        Some(Value::List(names)) => names.iter().filter_map(name).collect(),
        Some(other) => name(other).into_iter().collect(),
        None => Vec::new(),
    }
}

/// A name of the store that is the same whenever it is opened at this place.
fn identity(surroundings: &Surroundings) -> Value {
    // FNV-1a with 64 bits.
    let hash = surroundings
        .store
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Value::string(&format!("{hash:016X}"))
}

/// Users whose doings a user may see.
enum Sight {
    /// All: an administrator's, or that of a process that has the database for itself.
    All,
    /// That user alone.
    Own(String),
}

impl Sight {
    fn of(surroundings: &Surroundings, context: &ProcedureContext<'_>) -> Sight {
        let user = surroundings.activity.client_of(context.interrupt).user;
        match surroundings.activity.site().administrator {
            Some(administrator) if !administrator.is_admin(&user) => Sight::Own(user),
            _ => Sight::All,
        }
    }

    fn has(&self, user: &str) -> bool {
        match self {
            Sight::All => true,
            Sight::Own(name) => name == user,
        }
    }

    /// Fails unless it is that of all.
    fn needs_all(&self, verb: &str) -> Result<()> {
        match self {
            Sight::All => Ok(()),
            Sight::Own(name) => Err(error!(ReadOnly, "{verb} tells what others do, and {name} has not the role admin")
                .with_detail(ErrorDetail::Forbidden)
                .with_remedy("ask an administrator of the server")),
        }
    }
}

fn users(surroundings: &Surroundings) -> Vec<UserRow> {
    surroundings.activity.site().administrator.and_then(|administrator| administrator.users()).unwrap_or_default()
}

/// The user of a session; without roles where nobody has to log in.
fn current_user(surroundings: &Surroundings, context: &ProcedureContext<'_>) -> UserRow {
    let name = surroundings.activity.client_of(context.interrupt).user;
    let held = users(surroundings).into_iter().find(|user| user.name == name);
    held.unwrap_or(UserRow { name, roles: Vec::new(), must_change: false, is_suspended: false })
}

fn roles(user: &UserRow) -> Value {
    texts_of(user.roles.iter().map(String::as_str))
}

fn user(user: &UserRow) -> Vec<Value> {
    let (must_change, is_suspended) = (Value::Bool(user.must_change), Value::Bool(user.is_suspended));
    vec![Value::string(&user.name), roles(user), must_change, is_suspended, Value::Null]
}

/// Settings of Neo4j that its Browser looks at, with the values that fit here.
fn settings() -> Rows {
    let row = |(name, description, value): (&str, &str, &str)| {
        vec![Value::string(name), Value::string(description), Value::string(value), Value::Bool(false)]
    };
    [
        ("browser.allow_outgoing_connections", "whether Neo4j Browser may reach other hosts", "false"),
        ("browser.credential_timeout", "how long Neo4j Browser keeps a password", "0s"),
        ("browser.retain_connection_credentials", "whether Neo4j Browser keeps a password", "true"),
        ("client.allow_telemetry", "whether clients may send what they observe", "false"),
        ("dbms.default_database", "the database of sessions that name none", DATABASE_NAME),
        ("initial.dbms.default_database", "the database of sessions that name none", DATABASE_NAME),
    ]
    .map(row)
    .to_vec()
}

fn databases(surroundings: &Surroundings, context: &mut ProcedureContext<'_>, arguments: &[Value]) -> Result<Rows> {
    let names = names_of(arguments);
    let address = surroundings.activity.site().address;
    let row = |held: &DatabaseRow| {
        let is_system = &*held.name == SYSTEM_NAME;
        let access = if surroundings.is_read_only && !is_system { "read-only" } else { "read-write" };
        let is_default = Value::Bool(held.is_default);
        let status = if held.is_online { "online" } else { "offline" };
        vec![
            Value::string(&held.name),
            Value::string(if is_system { "system" } else { "standard" }),
            Value::list(Vec::new()),
            Value::string(access),
            Value::string(&address),
            Value::string("primary"),
            Value::Bool(true),
            Value::string("online"),
            Value::string(status),
            Value::string(&held.message),
            is_default.clone(),
            is_default,
            Value::list(Vec::new()),
            identity(surroundings),
            identity(surroundings),
            Value::string("knotwork"),
        ]
    };
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name));
    Ok(all_databases(surroundings, context).iter().filter(|held| wanted(&held.name)).map(row).collect())
}

/// The databases that a user may read, and `system`.
fn all_databases(surroundings: &Surroundings, context: &ProcedureContext<'_>) -> Vec<DatabaseRow> {
    let online = |name: &str, is_default| {
        let name = Arc::from(name);
        DatabaseRow { name, is_default, is_online: true, message: String::new() }
    };
    let mut all = match surroundings.activity.site().administrator {
        Some(administrator) => administrator.databases(&surroundings.activity.client_of(context.interrupt).user),
        None => vec![online(DATABASE_NAME, true)],
    };
    all.push(online(SYSTEM_NAME, false));
    all
}

/// The name of the database that `SHOW DATABASES` may be asked in. It holds nothing.
pub const SYSTEM_NAME: &str = "system";

fn servers(surroundings: &Surroundings, context: &mut ProcedureContext<'_>, _: &[Value]) -> Result<Rows> {
    let address = Value::string(&surroundings.activity.site().address);
    Ok(vec![vec![
        identity(surroundings),
        address,
        Value::string("Enabled"),
        Value::string("Available"),
        texts_of(all_databases(surroundings, context).iter().map(|held| &*held.name)),
        identity(surroundings),
        Value::Null,
        Value::Null,
        Value::string(NEO4J_VERSION),
    ]])
}

fn termination(surroundings: &Surroundings, id: &str, sight: &Sight) -> Vec<Value> {
    let (user, message) = match surroundings.activity.terminate(id, |user| sight.has(user)) {
        Terminated::Told(user) => (Value::string(&user), "Transaction terminated."),
        Terminated::NotFound => (Value::Null, "Transaction not found."),
    };
    vec![Value::string(id), user, Value::string(message)]
}

/// The number that a map of settings has under a name.
fn setting(arguments: &[Value], name: &str) -> Result<Option<i64>> {
    let Some(Value::Map(settings)) = arguments.first() else { return Ok(None) };
    match settings.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Int(number)) => Ok(Some(*number)),
        Some(other) => Err(error!(Type, "the setting {name} is a number of nodes, found {}", other.type_name())
            .with_remedy("give a whole number, or -1 for all")),
    }
}
