//! `knot serve`: a store for the drivers of Neo4j and clients of HTTP, until Ctrl-C or SIGTERM.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use database::line_log::LineLog;
use database::{Access, Error, ErrorCode, FileAccess, Interrupt};
use server::{Admission, Folder, Settings, Tls, Version, credentials, tls};

use crate::arguments::{Encryption, ServeArguments};
use crate::failure::{Failure, Outcome};
use crate::signals;

/// The port of Bolt, and of HTTP beside it.
const PORT: u16 = 7687;

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
    let files = arguments.files.as_deref().map_or(Ok(FileAccess::Nowhere), given_files)?;
    let user_memory_bytes_max = arguments.user_memory.as_deref().map(super::import::bytes).transpose()?;
    let message_bytes_max = super::import::bytes(&arguments.message_limit)?;
    let databases = arguments.databases.as_ref().map(|path| -> Outcome<Folder> {
        Ok(Folder { path: path.clone(), memory_bytes_max: super::import::bytes(&arguments.database_memory)? })
    });
    let databases = databases.transpose()?;
    super::check_new_store(&arguments.store)?;
    let database = super::open_as(&arguments.store, &arguments.opening, Access::ReadWrite).map_err(with_another_way)?;
    let admission = if arguments.no_auth { Admission::Everybody } else { Admission::Users(users.clone()) };
    let told = if arguments.no_auth { None } else { credentials::first_start(&users)? };
    let tls = certificate(arguments, &listen)?;
    let audit_log = arguments.audit_log.as_ref().map(|path| LineLog::open(path).map(Arc::new));
    let settings = Settings {
        listen,
        files,
        user_memory_bytes_max,
        admission,
        databases,
        audit_log: audit_log.transpose()?,
        tls: tls.clone(),
        advertised: arguments.advertise.clone(),
        newest: arguments.bolt_version.unwrap_or(Version::ALL[0]),
        connections_max: arguments.connections.max(1),
        statements_max: arguments.statements.max(1),
        message_bytes_max,
        timeout: arguments.opening.timeout,
        idle_transaction: arguments.idle_transaction,
        idle_http_transaction: arguments.idle_http_transaction,
        origins: arguments.allow_origin.clone(),
        patience: arguments.patience,
        drain: arguments.drain,
        keep_alive: arguments.keep_alive,
        notice: |text| eprintln!("{text}"),
    };
    // Other processes are told that the store is in use where the file system has no sockets.
    let _sharing = server::share(&database).ok();
    let end = Interrupt::new();
    let _ending = signals::cancel_with(end.clone());
    let no_auth = arguments.no_auth;
    let schemes = schemes(tls.as_ref(), arguments.tls_self_signed);
    server::serve(database, settings, &end, |addresses| {
        for (address, scheme) in
            addresses.iter().flat_map(|address| schemes.iter().map(move |scheme| (address, scheme)))
        {
            eprintln!("listening on {scheme}://{address}");
        }
        match (told, no_auth) {
            (_, true) => eprintln!("warning: everybody on this machine can read and write the store"),
            (Some(file), _) => eprintln!("the password of the user neo4j was made, and stands in {}", file.display()),
            (None, _) => {}
        }
    })?;
    eprintln!("ended");
    Ok(())
}

/// A store that another process has open is not served beside it.
fn with_another_way(failure: Failure) -> Failure {
    match failure {
        Failure::Error(error, text) if error.code() == ErrorCode::Busy => {
            let remedy =
                "end that process first: the server needs the store for itself; then others write through the server";
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
    eprintln!("the password of the user neo4j was set in {}", users.display());
    Ok(())
}
