//! `knot serve`: a store for the drivers of Neo4j and clients of HTTP, until Ctrl-C or SIGTERM.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use database::line_log::LineLog;
use database::{Database, Error, ErrorCode, FileAccess, Interrupt};
use server::{Admission, Folder, Handover, Listeners, News, Notice, Settings, Tls, Version, credentials, tls};

use crate::arguments::{Encryption, ServeArguments};
use crate::failure::{Failure, Outcome};
use crate::signals;

/// The port of Bolt, and of HTTP beside it.
const PORT: u16 = 7687;

/// Time between two attempts to open a store that another process has, or to have that serve it.
const PAUSE: Duration = Duration::from_millis(25);
/// Attempts at first: whoever has the store may just be opening or closing it.
const FIRST_ATTEMPTS: usize = 40;
/// Attempts for a store whose process has ended: one of the others opens it, and may have much to repeat.
const NEXT_ATTEMPTS: usize = 400;

pub(super) fn run(arguments: &ServeArguments) -> Outcome<()> {
    let users = arguments.users.clone().unwrap_or_else(|| {
        let mut name = arguments.store.as_os_str().to_owned();
        name.push(".users");
        PathBuf::from(name)
    });
    if arguments.set_password {
        return set_password(&users);
    }
    let listen = addresses(arguments)?;
    // A setting that is refused leaves no store behind.
    let settings = given_settings(arguments, &listen)?;
    super::check_new_store(&arguments.store)?;
    let end = Interrupt::new();
    let _ending = signals::cancel_with(end.clone());
    let mut service = Service {
        arguments,
        users,
        listeners: Listeners::bind(&listen)?,
        settings,
        told: None,
        is_prepared: false,
        end,
    };
    service.run()?;
    tell!("ended");
    Ok(())
}

/// A server that is about to run, in this process or in the one that has the store open.
struct Service<'a> {
    arguments: &'a ServeArguments,
    /// The file of the users.
    users: PathBuf,
    listeners: Listeners,
    settings: Settings,
    /// The file of the password that was made, until it is told.
    told: Option<PathBuf>,
    is_prepared: bool,
    end: Interrupt,
}

impl Service<'_> {
    /// Serves until it is asked to end: in the process that has the store open, or here.
    fn run(&mut self) -> Outcome<()> {
        let store = &self.arguments.store;
        let (mut attempt, mut attempts) = (0, FIRST_ATTEMPTS);
        loop {
            // A store that may only be read is read beside the process that writes.
            if !self.arguments.opening.read_only && server::share::reach(store).is_ok() {
                self.prepare()?;
                match self.hand_over()? {
                    Handover::Ended => return Ok(()),
                    Handover::HolderEnded => (attempt, attempts) = (0, NEXT_ATTEMPTS),
                    // It is about to end, or does not answer, which takes its time.
                    Handover::NoHolder => attempt += FIRST_ATTEMPTS / 2,
                }
            }
            match super::open_to_serve(store, &self.arguments.opening) {
                Ok(database) => return self.serve(database),
                Err(Failure::Error(error, _)) if error.code() == ErrorCode::Busy && attempt < attempts => {}
                Err(failure) => return Err(with_another_way(failure)),
            }
            self.end.check_unpaused()?;
            std::thread::sleep(PAUSE);
            attempt += 1;
        }
    }

    /// Makes the files that a server needs, once there is a store.
    fn prepare(&mut self) -> Outcome<()> {
        if self.is_prepared {
            return Ok(());
        }
        if !self.arguments.no_auth {
            self.told = credentials::first_start(&self.users)?;
            self.settings.admission = Admission::Users(self.users.clone());
        }
        self.settings.tls = certificate(self.arguments, &self.settings.listen)?;
        let audit_log = self.arguments.audit_log.as_ref().map(|path| LineLog::open(path)).transpose()?;
        self.settings.audit_log = audit_log.map(|log| Arc::new(log.telling(super::tell_loss)));
        self.is_prepared = true;
        Ok(())
    }

    fn serve(&mut self, database: Database) -> Outcome<()> {
        self.prepare()?;
        // Other processes are told that the store is in use where the file system has no sockets.
        let _sharing = server::share(&database).ok();
        let listeners = self.listeners.try_clone()?;
        server::serve_on(listeners, database, self.settings.clone(), &self.end.clone(), |addresses| {
            self.say(addresses)
        })?;
        Ok(())
    }

    fn hand_over(&mut self) -> Outcome<Handover> {
        let (listeners, settings, end) = (self.listeners.try_clone()?, self.settings.clone(), self.end.clone());
        let has_limits = self.arguments.opening.memory_limit.is_some();
        let outcome = server::hand_over(&self.arguments.store, &listeners, &settings, &end, &mut |news| match news {
            News::Ready(process) => {
                self.say(&listeners.addresses());
                tell!("process {process} has the store open, and takes clients in until it ends");
                if has_limits {
                    tell!("warning: --memory-limit is for the process that has the store open");
                }
            }
            News::Notice(text) => tell!("{text}"),
        });
        Ok(outcome?)
    }

    /// Tells that clients can come, and what they need.
    fn say(&mut self, addresses: &[SocketAddr]) {
        let schemes = schemes(self.settings.tls.as_ref(), self.arguments.tls_self_signed);
        for (address, scheme) in
            addresses.iter().flat_map(|address| schemes.iter().map(move |scheme| (address, scheme)))
        {
            tell!("listening on {scheme}://{address}");
        }
        match (self.told.take(), self.arguments.no_auth) {
            (_, true) => tell!("warning: everybody on this machine can read and write the store"),
            (Some(file), _) => tell!("the password of the user neo4j was made, and stands in {}", file.display()),
            (None, _) => {}
        }
    }
}

/// The settings that the arguments give, without the files that are made.
fn given_settings(arguments: &ServeArguments, listen: &[SocketAddr]) -> Outcome<Settings> {
    let databases = arguments.databases.as_ref().map(|path| -> Outcome<Folder> {
        Ok(Folder { path: path.clone(), memory_bytes_max: super::import::bytes(&arguments.database_memory)? })
    });
    Ok(Settings {
        listen: listen.to_vec(),
        files: arguments.files.as_deref().map_or(Ok(FileAccess::Nowhere), given_files)?,
        user_memory_bytes_max: arguments.user_memory.as_deref().map(super::import::bytes).transpose()?,
        databases: databases.transpose()?,
        advertised: arguments.advertise.clone(),
        newest: arguments.bolt_version.unwrap_or(Version::ALL[0]),
        connections_max: arguments.connections.max(1),
        statements_max: arguments.statements.max(1),
        message_bytes_max: super::import::bytes(&arguments.message_limit)?,
        timeout: arguments.opening.timeout,
        idle_transaction: arguments.idle_transaction,
        idle_http_transaction: arguments.idle_http_transaction,
        origins: arguments.allow_origin.clone(),
        patience: arguments.patience,
        drain: arguments.drain,
        keep_alive: arguments.keep_alive,
        notice: Notice(Arc::new(|text| tell!("{text}"))),
        ..Settings::default()
    })
}

/// A store that another process has open, and does not share, is not served beside it.
fn with_another_way(failure: Failure) -> Failure {
    match failure {
        Failure::Error(error, text) if error.code() == ErrorCode::Busy => {
            let remedy = "that process does not let others in, or does not answer: end it first, and others write through the server";
            Failure::Error(error.with_remedy(remedy), text)
        }
        other => other,
    }
}

/// The files of a folder, for clients.
fn given_files(folder: &Path) -> Outcome<FileAccess> {
    match folder.canonicalize() {
        Ok(real) if real.is_dir() => Ok(FileAccess::Within(real)),
        Ok(_) => Err(Failure::UsageOf("serve", format!("--files needs a folder, and {} is a file", folder.display()))),
        Err(cause) => {
            Err(Error::of_file(folder, &cause).with_remedy("make the folder, or name another in --files").into())
        }
    }
}

/// The certificate that the arguments name, or that is made as they ask.
fn certificate(arguments: &ServeArguments, listen: &[SocketAddr]) -> Outcome<Option<Tls>> {
    let is_required = arguments.tls == Encryption::Required;
    let files = match (&arguments.tls_certificate, &arguments.tls_key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        _ if arguments.tls_self_signed => {
            let reached = listen.iter().map(SocketAddr::ip).filter(|address| !address.is_unspecified());
            let advertised = arguments.advertise.as_deref().map(|name| match name.rsplit_once(':') {
                Some((host, _)) => host.trim_matches(['[', ']']).to_owned(),
                None => name.to_owned(),
            });
            let names: Vec<String> = reached.map(|address| address.to_string()).chain(advertised).collect();
            Some(tls::self_signed(&arguments.store, &names)?)
        }
        _ => None,
    };
    Ok(files.map(|(certificate, key)| Tls { certificate, key, is_required }))
}

/// Schemes of the URLs by which clients reach the server.
fn schemes(tls: Option<&Tls>, is_self_signed: bool) -> Vec<&'static str> {
    let encrypted = if is_self_signed { "bolt+ssc" } else { "bolt+s" };
    match tls {
        None => vec!["bolt", "http"],
        Some(tls) if tls.is_required => vec![encrypted, "https"],
        Some(_) => vec!["bolt", encrypted, "http", "https"],
    }
}

/// Addresses to listen on. Only those of this machine are taken without a word.
fn addresses(arguments: &ServeArguments) -> Outcome<Vec<SocketAddr>> {
    if arguments.listen.is_empty() {
        let has_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
        let second = has_ipv6.then_some(SocketAddr::from((Ipv6Addr::LOCALHOST, PORT)));
        return Ok(std::iter::once(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))).chain(second).collect());
    }
    let is_encrypted =
        arguments.tls == Encryption::Required && (arguments.tls_self_signed || arguments.tls_certificate.is_some());
    let public = arguments.listen.iter().find(|address| !address.ip().is_loopback());
    match public {
        Some(address) if arguments.no_auth => {
            Err(Failure::UsageOf("serve", format!("--no-auth is for this machine alone, and others reach {address}")))
        }
        Some(address) if !arguments.plaintext && !is_encrypted => Err(Failure::UsageOf(
            "serve",
            format!(
                "other machines reach {address}, and passwords and rows may cross the network as they are; pass \
                 --tls-certificate and --tls-key, or --tls-self-signed, or else --plaintext"
            ),
        )),
        _ => Ok(arguments.listen.clone()),
    }
}

fn set_password(users: &Path) -> Outcome<()> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    credentials::set_password(users, line.trim_end_matches(['\r', '\n']))?;
    tell!("the password of the user neo4j was set in {}", users.display());
    Ok(())
}
