//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use database::{Durability, IsolationLevel, Priority};

use crate::{config_file, failure};

mod spark;

pub(crate) use spark::SparkArguments;

/// Knotwork: an embedded property-graph database.
///
/// `knot STORE` opens the shell on a store, a directory that is made if it is missing and its name ends in .knot. Several processes may
/// write one. `knot bolt://USER@HOST:PORT` opens it on a server; KNOT_PASSWORD has the password.
#[derive(Parser)]
#[command(name = "knot", version, args_conflicts_with_subcommands = true, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) shell: ShellArguments,
}

impl Arguments {
    /// The arguments of this process; ends it with a message if they make no sense.
    pub(crate) fn of_process() -> Arguments {
        let words: Result<Vec<String>, _> = std::env::args_os().map(std::ffi::OsString::into_string).collect();
        // Words that are no UTF-8 are for the parser to judge.
        let parsed = match words.map(|words| config_file::expanded(words, &Arguments::command())) {
            Ok(Ok(words)) => Arguments::try_parse_from(words),
            Ok(Err(failure)) => {
                failure::report(&failure, None);
                std::process::exit(1)
            }
            Err(_) => Arguments::try_parse(),
        };
        parsed.unwrap_or_else(|error| {
            let first = std::env::args().nth(1).unwrap_or_default();
            let is_name = !first.starts_with('-') && !std::path::Path::new(&first).exists();
            let is_misread = matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict);
            match command_like(&first).filter(|_| is_name && is_misread) {
                Some(command) => {
                    tell!("USAGE: there is no command '{first}' (did you mean {command}?)\n  = run knot --help");
                    std::process::exit(2)
                }
                None => error.exit(),
            }
        })
    }
}

/// The command whose name is like that one.
pub(crate) fn command_like(name: &str) -> Option<String> {
    let commands = Arguments::command().get_subcommands().cloned().collect::<Vec<_>>();
    let known = clap::Command::new("knot").subcommand_required(true).subcommands(commands);
    let error = known.try_get_matches_from(["knot", name]).err()?;
    match error.get(ContextKind::SuggestedSubcommand)? {
        ContextValue::String(like) => Some(like.clone()),
        ContextValue::Strings(all) => all.last().cloned(),
        _ => None,
    }
}

/// `knot STORE`.
#[derive(Args)]
pub(crate) struct ShellArguments {
    /// The store's directory, or the address of a server
    pub(crate) store: Option<PathBuf>,
    /// Run this query instead of a shell
    #[arg(short = 'c', long = "query", value_name = "QUERY")]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) opening: OpeningArguments,
    /// Format of rows [default: table on a terminal, else csv]
    #[arg(short = 'm', long, value_enum)]
    pub(crate) format: Option<Format>,
    /// A parameter, as name=value; the value is read as JSON, or else as text
    #[arg(short = 'P', long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Text that stands for null in CSV [default: an empty field; an empty text is ""]
    #[arg(long, value_name = "TEXT")]
    pub(crate) null: Option<String>,
}

/// Options for opening a store to query it.
#[derive(Args)]
pub(crate) struct OpeningArguments {
    /// Open for reading only
    #[arg(short, long)]
    pub(crate) read_only: bool,
    /// Durability that a commit waits for: full (the disk), relaxed[=MILLISECONDS] (the disk has it at most that much
    /// later), off
    #[arg(long, value_name = "DURABILITY", default_value = "full", value_parser = durability)]
    pub(crate) durability: Durability,
    /// Isolation of transactions: snapshot, or serializable (what a transaction read must still be so when it commits)
    #[arg(long, value_name = "ISOLATION", default_value = "snapshot", value_parser = isolation)]
    pub(crate) isolation: IsolationLevel,
    /// Memory that the database may use in all, as 512MiB or 2GB [default: KNOTWORK_MEMORY_LIMIT, else half of what there is]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<String>,
    /// Memory that one query may use before it spills to temporary files, as 64MiB [default: half of the database's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) query_memory: Option<String>,
    /// Time limit of a query, as 500ms, 10s or 5min [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Priority of queries beside those of others: low, normal or high
    #[arg(long, value_name = "PRIORITY", default_value = "normal", value_parser = priority)]
    pub(crate) priority: Priority,
    /// Bytes a second that merges in the background may write, as 50MB [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub(crate) merge_rate: Option<String>,
    /// File to which statements that take long are written, a line of JSON each, without their literals and parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) slow_log: Option<PathBuf>,
    /// Time from which on a statement is written to the slow log
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = timeout, requires = "slow_log")]
    pub(crate) slow_time: Duration,
    /// File to which all statements are written with their parameters and times, a line of JSON each, for knot replay
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// A database to attach, as name=URL or name=definition.json; may be given several times
    #[arg(long, value_name = "NAME=SOURCE")]
    pub(crate) attach: Vec<String>,
    #[command(flatten)]
    pub(crate) spark: SparkArguments,
}

/// The longest delay of `relaxed` durability unless one is given.
const RELAXED_INTERVAL: Duration = Duration::from_millis(100);

fn timeout(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let milliseconds = match unit {
        "ms" => Some(1),
        "s" | "" => Some(1_000),
        "min" => Some(60_000),
        _ => None,
    };
    let parsed = number.parse::<u64>().ok().zip(milliseconds).and_then(|(number, unit)| number.checked_mul(unit));
    parsed.map(Duration::from_millis).ok_or_else(|| format!("expected a duration as 500ms, 10s or 5min, found {text}"))
}

fn durability(text: &str) -> Result<Durability, String> {
    let (name, interval) = text.split_once('=').map_or((text, None), |(name, interval)| (name, Some(interval)));
    match (name, interval.map(str::parse)) {
        ("full", None) => Ok(Durability::Full),
        ("off", None) => Ok(Durability::Off),
        ("relaxed", None) => Ok(Durability::Relaxed { interval: RELAXED_INTERVAL }),
        ("relaxed", Some(Ok(milliseconds))) => {
            Ok(Durability::Relaxed { interval: Duration::from_millis(milliseconds) })
        }
        _ => Err("expected full, relaxed, relaxed=MILLISECONDS or off".to_owned()),
    }
}

fn isolation(text: &str) -> Result<IsolationLevel, String> {
    match text {
        "snapshot" => Ok(IsolationLevel::Snapshot),
        "serializable" => Ok(IsolationLevel::Serializable),
        _ => Err("expected snapshot or serializable".to_owned()),
    }
}

fn priority(text: &str) -> Result<Priority, String> {
    Priority::of_name(text).ok_or_else(|| "expected low, normal or high".to_owned())
}

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run queries and print their rows
    Query(QueryArguments),
    /// Serve a store to the drivers of Neo4j, over Bolt
    Serve(Box<ServeArguments>),
    /// Import files of nodes and edges
    Import(Box<ImportArguments>),
    /// Export a store into a folder of files
    Export(ExportArguments),
    /// Show what a store holds
    Info(InfoArguments),
    /// Verify every checksum and cross-reference of a store
    Check(CheckArguments),
    /// Merge all files of a store as far as that goes
    Compact(CompactArguments),
    /// Copy a store, also while it is used, into a new directory
    Backup(BackupArguments),
    /// Copy a backup into a new directory, which then is a store
    Restore(RestoreArguments),
    /// Copy all that can be read of a damaged store into a new one, and tell what is lost
    Recover(RecoverArguments),
    /// Graphs in other databases: write and check their definitions
    #[command(subcommand)]
    Source(SourceCommand),
    /// Generate a graph of a chosen kind, size and seed, as files or as a store
    Generate(Box<GenerateArguments>),
    /// Measure a store in layers, predict each layer from the one below, and say what stands out
    Introspect(IntrospectArguments),
    /// Look for indexes, constraints, sort keys and rewrites by which statements would be faster
    Advise(AdviseArguments),
    /// Run a trace, which --record wrote, again, and compare times and rows
    Replay(ReplayArguments),
    /// Measurements that were written as JSON: a report of several, a comparison of two
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Import US airports and flights, query them, rank them, find and draw a route
    Demo(DemoArguments),
}

/// The form in which rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Table,
    /// Comma separated values with a header
    Csv,
    /// One JSON array of objects
    Json,
    /// One JSON object a line
    #[value(alias = "jsonlines")]
    Jsonl,
}

/// `knot query`.
#[derive(Args)]
pub(crate) struct QueryArguments {
    /// The store's directory, or the address of a server
    pub(crate) store: PathBuf,
    /// One or more statements, separated by `;` [default: standard input]
    pub(crate) query: Option<String>,
    /// A parameter, as name=value; the value is read as JSON, or else as text
    #[arg(short = 'P', long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Format of rows [default: table on a terminal, else csv]
    #[arg(short = 'm', long, value_enum)]
    pub(crate) format: Option<Format>,
    /// Text that stands for null in CSV [default: an empty field; an empty text is ""]
    #[arg(long, value_name = "TEXT")]
    pub(crate) null: Option<String>,
    #[command(flatten)]
    pub(crate) opening: OpeningArguments,
    /// Do not print counts and times to standard error
    #[arg(short = 's', long)]
    pub(crate) no_stats: bool,
}

/// `knot serve`.
///
/// Listens on this machine alone, and lets in who has the password of the user neo4j. At the first start one is made, and stands
/// in STORE.password. docs/server.md tells the rest.
#[derive(Args)]
pub(crate) struct ServeArguments {
    /// The store's directory, which is made if it is missing and its name ends in .knot
    pub(crate) store: PathBuf,
    /// Address to listen on; may be given several times [default: 127.0.0.1:7687 and [::1]:7687]
    #[arg(short, long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Vec<std::net::SocketAddr>,
    /// File of settings, TOML with the names of these flags, as connections = 100; flags here count before it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// File of users and their passwords [default: STORE.users]
    #[arg(long, value_name = "FILE")]
    pub(crate) users: Option<PathBuf>,
    /// Folder of further databases, which CREATE DATABASE makes; made if it is not there
    #[arg(long, value_name = "FOLDER")]
    pub(crate) databases: Option<PathBuf>,
    /// Memory limit of each of the further databases
    #[arg(long, value_name = "SIZE", default_value = "256MiB", requires = "databases")]
    pub(crate) database_memory: String,
    /// Folder of the files that LOAD CSV, COPY and BACKUP DATABASE of clients may name [default: none]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Option<PathBuf>,
    /// Memory limit of all statements of one user together [default: none]
    #[arg(long, value_name = "SIZE")]
    pub(crate) user_memory: Option<String>,
    /// File of a line of JSON for each login and each command about databases and users
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Set the password of the user neo4j to the first line of standard input, and end
    #[arg(long, conflicts_with = "no_auth")]
    pub(crate) set_password: bool,
    /// Let everybody in who reaches the address, which must be one of this machine
    #[arg(long)]
    pub(crate) no_auth: bool,
    /// File of the server's certificate, in PEM, and those that signed it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// File of the certificate's key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Use a certificate that the server signs itself, in STORE.certificate.pem, made if it is not there
    #[arg(long, conflicts_with = "tls_certificate")]
    pub(crate) tls_self_signed: bool,
    /// Clients that do not encrypt are turned away, or let in too, where there is a certificate
    #[arg(long, value_enum, value_name = "WHEN", default_value = "required")]
    pub(crate) tls: Encryption,
    /// Listen on addresses that other machines reach, though passwords and rows may cross the network as they are
    #[arg(long)]
    pub(crate) plaintext: bool,
    /// Address for clients that ask for a route and do not say which one they dialled; its name is taken in HTTP too
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) advertise: Option<String>,
    /// The newest version of Bolt to offer, as 5.4 [default: 6.0]
    #[arg(long, value_name = "VERSION", value_parser = bolt_version)]
    pub(crate) bolt_version: Option<server::Version>,
    /// Connections at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    pub(crate) connections: usize,
    /// Statements at a time; further ones wait for at most 10 s
    #[arg(long, value_name = "NUMBER", default_value_t = 64)]
    pub(crate) statements: usize,
    /// Size of a message, which holds a statement and its parameters, as 16MiB
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub(crate) message_limit: String,
    /// Time for which a transaction may be open without a request, as 10min
    #[arg(long, value_name = "DURATION", default_value = "10min", value_parser = timeout)]
    pub(crate) idle_transaction: Duration,
    /// Time for which a transaction over HTTP may be open without a request, as 1min
    #[arg(long, value_name = "DURATION", default_value = "1min", value_parser = timeout)]
    pub(crate) idle_http_transaction: Duration,
    /// Site whose pages may reach the server by HTTP and WebSocket, as https://example.com; may be given several times
    #[arg(long, value_name = "SITE", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Time for which a statement waits for its client to take rows, before it goes on into a temporary file
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = timeout)]
    pub(crate) patience: Duration,
    /// Time that statements at work have to end when the server is told to
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = timeout)]
    pub(crate) drain: Duration,
    /// Time after which the client of a statement that lasts is told that the server is alive
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = timeout)]
    pub(crate) keep_alive: Duration,
    #[command(flatten)]
    pub(crate) opening: OpeningArguments,
}

/// Need of clients to encrypt.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Encryption {
    /// Clients that do not are turned away
    Required,
    /// Both are let in
    Optional,
}

/// A site as browsers name it: without a path.
fn origin(text: &str) -> Result<String, String> {
    let authority = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match authority {
        Some(authority) if !authority.is_empty() && !authority.contains(['/', ' ', '*']) => Ok(text.to_owned()),
        _ => Err(format!("expected a site such as https://example.com, without a path, found {text}")),
    }
}

fn bolt_version(text: &str) -> Result<server::Version, String> {
    let known: Vec<String> = server::Version::ALL.iter().map(ToString::to_string).collect();
    server::Version::parse(text).ok_or_else(|| format!("expected one of {}, found {text}", known.join(", ")))
}

/// `knot import`.
///
/// Nodes come before edges. Headers of the form of neo4j-admin (`id:ID(Person)`, `:LABEL`, `:START_ID(Person)`,
/// `:END_ID`, `:TYPE`, `age:int`) say what columns are; otherwise options do. Files may end in .gz or .zst.
#[derive(Args)]
pub(crate) struct ImportArguments {
    /// The store's directory, or the address of a ring (cql://HOST/KEYSPACE); made if missing
    pub(crate) store: PathBuf,
    /// Files whose header or format says what they hold (neo4j-admin CSV, SNAP .txt, DIMACS .gr and .co), or the folder of an export
    pub(crate) files: Vec<PathBuf>,
    /// A file of nodes, as Label[:Label…]=FILE
    #[arg(short = 'n', long, value_name = "LABELS=FILE")]
    pub(crate) nodes: Vec<String>,
    /// A file of edges, as TYPE[:SourceLabel->TargetLabel]=FILE
    #[arg(short = 'e', long, alias = "relationships", value_name = "TYPE=FILE")]
    pub(crate) edges: Vec<String>,
    /// The column with the key of nodes, for all files or one label [default: id, else the first]
    #[arg(long, value_name = "[LABEL=]COLUMN")]
    pub(crate) key: Vec<String>,
    /// The column with the key of the source, for all files or one type [default: source, src, from, else the first]
    #[arg(long, value_name = "[TYPE=]COLUMN")]
    pub(crate) source: Vec<String>,
    /// The column with the key of the target, for all files or one type [default: target, dst, to, else the second]
    #[arg(long, value_name = "[TYPE=]COLUMN")]
    pub(crate) target: Vec<String>,
    /// The type of a column of those files that have it, for all files or one label or type: int, float, boolean, string,
    /// date, localtime, time, localdatetime, datetime, duration, json, or one of them with []
    #[arg(long = "type", value_name = "[LABEL=]COLUMN:TYPE")]
    pub(crate) types: Vec<String>,
    /// The format of all files: csv, jsonl, parquet, snap, dimacs, co [default: by the name's ending]
    #[arg(long)]
    pub(crate) format: Option<String>,
    /// Separator of fields: one character, or tab [default: told from the first line]
    #[arg(short, long, value_name = "[LABEL=]CHARACTER")]
    pub(crate) delimiter: Vec<String>,
    /// Quotation mark of fields: one character, or none
    #[arg(long, default_value = "\"")]
    pub(crate) quote: String,
    /// Separator of the elements of a list within a field [default: ;]
    #[arg(long, value_name = "[LABEL=]CHARACTER")]
    pub(crate) list_delimiter: Vec<String>,
    /// The names of the columns, for files without a header
    #[arg(long, value_name = "[LABEL=]NAME,NAME…")]
    pub(crate) header: Vec<String>,
    /// Leave bad rows out and write them to this file, instead of stopping
    #[arg(long, value_name = "FILE")]
    pub(crate) skip_bad: Option<PathBuf>,
    /// Relationships of a type are known again by their ends and this property, or by their ends alone
    #[arg(long, value_name = "TYPE[=PROPERTY]")]
    pub(crate) edge_key: Vec<String>,
    /// Handling of a node whose key is taken, and of a relationship with an --edge-key that is there
    #[arg(long, value_enum, default_value_t = Duplicate::Error)]
    pub(crate) on_duplicate: Duplicate,
    /// Memory to use, as 512MiB or 2GB [default: 1GiB, or a quarter of what there is if that is less]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<String>,
    /// Threads to use [default: all cores]
    #[arg(long)]
    pub(crate) threads: Option<usize>,
    /// Into a ring: the folder for the graph in files on its way, from which an import that was left goes on
    /// [default: KEYSPACE.import here]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) staging: Option<PathBuf>,
    /// Into a ring: begin anew where an import was left
    #[arg(long)]
    pub(crate) restart: bool,
    /// Do not show progress
    #[arg(short = 'b', long)]
    pub(crate) no_progress: bool,
}

/// Action for a node whose key is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Duplicate {
    /// The row is bad
    Error,
    /// Pass the row over
    Skip,
    /// Set the row's properties on the node that is there
    Update,
}

/// `knot export`.
#[derive(Args)]
pub(crate) struct ExportArguments {
    /// The store's directory
    pub(crate) store: PathBuf,
    /// The folder to write to; must be empty or missing
    pub(crate) folder: PathBuf,
    /// The form of the files
    #[arg(long, value_enum, default_value_t = ExportForm::Csv)]
    pub(crate) format: ExportForm,
}

/// The form of exported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// Comma separated values with typed headers
    Csv,
    /// One JSON object a line
    Jsonl,
}

/// `knot info`.
#[derive(Args)]
pub(crate) struct InfoArguments {
    /// The store's directory
    pub(crate) store: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// A database to attach and tell of, as name=URL or name=definition.json; may be given several times
    #[arg(long, value_name = "NAME=SOURCE")]
    pub(crate) attach: Vec<String>,
}

/// `knot source`.
#[derive(Subcommand)]
pub(crate) enum SourceCommand {
    /// Write a graph definition from the tables and keys of a database
    Infer(InferArguments),
    /// Compare a graph definition with its database, and tell what is wrong or slow
    Check(CheckSourceArguments),
}

/// `knot source infer`.
///
/// Tables with a primary key become nodes, foreign keys and join tables become relationships.
#[derive(Args)]
pub(crate) struct InferArguments {
    #[arg(help = database::inferable_sources())]
    pub(crate) url: String,
    /// Write the definition to this file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `knot source check`.
#[derive(Args)]
pub(crate) struct CheckSourceArguments {
    /// A graph definition, or the URL of a database, whose definition then is inferred
    pub(crate) source: String,
    /// The database, if it is not the one that the definition names
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
}

/// `knot check`.
#[derive(Args)]
pub(crate) struct CheckArguments {
    /// The store's directory
    pub(crate) store: PathBuf,
}

/// `knot compact`.
#[derive(Args)]
pub(crate) struct CompactArguments {
    /// The store's directory
    pub(crate) store: PathBuf,
}

/// `knot backup`.
///
/// The copy is of one moment: it holds every transaction that was durable when it began, and none in part. Another process
/// may read and write the store meanwhile. Every checksum is verified.
#[derive(Args)]
pub(crate) struct BackupArguments {
    /// The store's directory
    pub(crate) store: PathBuf,
    /// The directory to write to; must be empty or missing
    pub(crate) destination: PathBuf,
    /// An earlier backup of the store on the same file system; files that have not changed are shared with it
    #[arg(long, value_name = "BACKUP")]
    pub(crate) base: Option<PathBuf>,
}

/// `knot restore`.
#[derive(Args)]
pub(crate) struct RestoreArguments {
    /// The directory of a backup
    pub(crate) backup: PathBuf,
    /// The directory of the new store; must be empty or missing
    pub(crate) store: PathBuf,
}

/// `knot recover`.
#[derive(Args)]
pub(crate) struct RecoverArguments {
    /// The directory of the damaged store; it is not changed
    pub(crate) store: PathBuf,
    /// The directory of the new store; must be empty or missing
    pub(crate) new: PathBuf,
}

/// `knot generate`.
///
/// The same seed gives the same bytes. Memory does not grow with the graph. A distribution is uniform:LOW..HIGH, unique,
/// normal:MEAN,DEVIATION,LOW..HIGH, strings:DISTINCT or zipf:DISTINCT[,EXPONENT].
#[derive(Args)]
pub(crate) struct GenerateArguments {
    /// Kind of the graph
    #[arg(value_enum)]
    pub(crate) kind: GeneratedKind,
    /// Number of nodes (of users, of persons), as 1000, 10k or 1M; of a Kronecker graph the next power of two, of universities the
    /// next whole department
    #[arg(short, long, value_name = "COUNT", default_value = "1M", conflicts_with = "scale")]
    pub(crate) nodes: String,
    /// Number of nodes as a power of two
    #[arg(long, value_name = "POWER", value_parser = clap::value_parser!(u32).range(1..32))]
    pub(crate) scale: Option<u32>,
    /// Edges for each node [default: barabasi and erdos 5, kronecker 16, ratings 20, social 10]
    #[arg(short, long, alias = "edge-factor", value_name = "COUNT")]
    pub(crate) edges_per_node: Option<u64>,
    /// Shares of the four quarters of the adjacency matrix of a Kronecker graph [default: 0.57,0.19,0.19,0.05]
    #[arg(long, value_name = "A,B,C,D", value_delimiter = ',')]
    pub(crate) initiator: Option<Vec<f64>>,
    /// Seed of all random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// A property of nodes, instead of those of the kind; may be given several times, or as none
    #[arg(short, long = "property", value_name = "NAME=DISTRIBUTION")]
    pub(crate) properties: Vec<String>,
    /// A property of edges, instead of those of the kind; may be given several times, or as none
    #[arg(long = "edge-property", value_name = "NAME=DISTRIBUTION")]
    pub(crate) edge_properties: Vec<String>,
    /// Number of edge types, over which edges are spread evenly
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    pub(crate) edge_types: u64,
    /// A folder for CSV files, empty or missing, or a new store, whose name ends in .knot
    #[arg(short, long, value_name = "FOLDER|STORE")]
    pub(crate) output: PathBuf,
}

/// Kind of a generated graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GeneratedKind {
    /// Degrees of a power law, by preferential attachment (Barabási–Albert)
    Barabasi,
    /// Degrees of the web, by a stochastic Kronecker product (R-MAT)
    Kronecker,
    /// Even degrees, different pairs: G(n, m) of Erdős and Rényi
    Erdos,
    /// Users who rate products, a tenth as many
    Ratings,
    /// Persons and their friends
    Social,
    /// Universities: departments, staff, students and courses (LUBM)
    Lubm,
}

/// `knot introspect`.
///
/// Reads only, unless `--writes` is given. The store may be in use. docs/introspect.md tells how to read the tables, and the lines that a program speaks
/// to be measured in the place of a store.
#[derive(Args)]
pub(crate) struct IntrospectArguments {
    /// The store's directory, the address of a server (bolt://…) or of a relational database (postgresql://…, mysql://…,
    /// FILE.sqlite, FILE.duckdb), a graph definition (FILE.json), or "subject: COMMAND" for a program that speaks JSON lines
    pub(crate) store: PathBuf,
    /// Tables of a relational database that are nodes and edges, as "node=person(id) edge=knows(src,dst)" [default: by its keys]
    #[arg(long, value_name = "TABLES")]
    pub(crate) tables: Option<String>,
    /// Take less than a minute, with fewer calls, where the store can be read in seconds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure writes too: single ones, commits, and a load of up to a million edges, in a copy and a new store beside the store
    #[arg(long)]
    pub(crate) writes: bool,
    /// Measure the statements of this file, separated by `;`, in the place of those that are built in. The line `// name: …` before one
    /// gives its name; $key is the unique key of a node, $node and $target are ids
    #[arg(long, value_name = "FILE", conflicts_with = "trace")]
    pub(crate) queries: Option<PathBuf>,
    /// Measure the statements of this trace that read, which --record wrote, with their parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Another store, on which the fitted costs are judged too
    #[arg(long, value_name = "STORE")]
    pub(crate) beside: Option<PathBuf>,
    /// Write everything to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write a report with charts to this file: a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Memory that the store may use, as 512MiB or 2GB [default: KNOTWORK_MEMORY_LIMIT, else half of what there is]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<String>,
    /// Seed of the nodes to start from
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// `knot advise`.
///
/// Statements that only read are run, up to a minute each, to learn what they take; those that write are only planned. The store may be
/// in use, and is not changed. docs/introspect.md tells where the figures come from.
#[derive(Args)]
pub(crate) struct AdviseArguments {
    /// The store's directory
    pub(crate) store: PathBuf,
    /// One or more statements, separated by `;` [default: standard input, unless there is a trace]
    pub(crate) query: Option<String>,
    /// A parameter, as name=value; the value is read as JSON, or else as text
    #[arg(short = 'P', long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Take the statements from this trace, which --record wrote, each as often as it ran
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "parameters"])]
    pub(crate) trace: Option<PathBuf>,
    /// Carry the advice out on a copy of the store beside it, and tell what it brought; nobody else may write the store meanwhile
    #[arg(long)]
    pub(crate) verify: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Memory that the store may use, as 512MiB or 2GB [default: KNOTWORK_MEMORY_LIMIT, else half of what there is]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<String>,
}

/// `knot replay`.
///
/// Ends with 1 if rows are others than those of the trace. docs/introspect.md describes traces.
#[derive(Args)]
pub(crate) struct ReplayArguments {
    /// The trace
    pub(crate) trace: PathBuf,
    /// The store's directory, or the address of a server
    #[arg(long, value_name = "STORE")]
    pub(crate) on: PathBuf,
    /// Factor to the speed of the trace, or max for each statement as soon as the one before has ended
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    pub(crate) speed: Speed,
    /// Run statements that write too, on a copy of the store beside it, which is removed afterwards
    #[arg(long)]
    pub(crate) writes: bool,
    /// Write the times to this file as JSON, for knot bench compare
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Memory that the store may use, as 512MiB or 2GB [default: KNOTWORK_MEMORY_LIMIT, else half of what there is]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory_limit: Option<String>,
}

/// Speed of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    /// So many times that of the trace.
    Times(f64),
    /// As fast as it goes.
    Max,
}

fn speed(text: &str) -> Result<Speed, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| factor.is_finite() && *factor > 0.0);
    match (text, factor) {
        ("max", _) => Ok(Speed::Max),
        (_, Some(factor)) => Ok(Speed::Times(factor)),
        _ => Err(format!("expected a positive number or max, found {text}")),
    }
}

/// `knot bench`.
#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Write a report with charts of one or several measurements, side by side
    Report(BenchReportArguments),
    /// Compare a measurement with its base; exit with 1 if an operation became slower
    Compare(BenchCompareArguments),
}

/// `knot bench report`.
///
/// docs/introspect.md tells how to read it.
#[derive(Args)]
pub(crate) struct BenchReportArguments {
    /// Measurements that knot introspect --json wrote; others are compared with the first
    #[arg(required = true, value_name = "JSON")]
    pub(crate) measurements: Vec<PathBuf>,
    /// File of the report: a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: PathBuf,
}

/// `knot bench compare`.
///
/// An operation is slower if its median is, the interval of 95 % of the ratio leaves out 1, and the ratio is beyond the noise
/// between measurements of the same. docs/introspect.md tells how to read the table.
#[derive(Args)]
pub(crate) struct BenchCompareArguments {
    /// The base, as knot introspect --json wrote it
    #[arg(value_name = "BASE.json")]
    pub(crate) base: PathBuf,
    /// The measurement to compare with it
    #[arg(value_name = "NEW.json")]
    pub(crate) new: PathBuf,
    /// Another measurement of the base; may be given several times: a change must exceed the noise between them
    #[arg(long, value_name = "JSON")]
    pub(crate) again: Vec<PathBuf>,
    /// Another measurement of the new; may be given several times: a change must be in all of them
    #[arg(long, value_name = "JSON")]
    pub(crate) new_again: Vec<PathBuf>,
    /// Slowdown up to which the exit code is 0
    #[arg(long, value_name = "PERCENT", default_value = "10%")]
    pub(crate) fail_over: String,
    /// Show all operations, not only those that changed
    #[arg(long)]
    pub(crate) all: bool,
    /// Seed of the intervals
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// `knot demo`.
#[derive(Args)]
pub(crate) struct DemoArguments {
    /// Folder for the store and the picture [default: a folder below the system's temporary folder]
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// Airports as CSV: iata, name, city, state, country, latitude, longitude [default: built in]
    #[arg(long)]
    pub(crate) airports: Option<PathBuf>,
    /// Flights as Parquet: date, delay, distance, origin, destination [default: counted routes, built in]
    #[arg(long)]
    pub(crate) flights: Option<PathBuf>,
}
