//! `knot serve`: a store for the drivers of Neo4j, until Ctrl-C or SIGTERM.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use database::{Access, Interrupt};
use server::{Admission, Settings, Version, credentials};

use crate::arguments::ServeArguments;
use crate::failure::{Failure, Outcome};
use crate::signals;

/// The port of Bolt.
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
    super::check_new_store(&arguments.store)?;
    let database = super::open_as(&arguments.store, &arguments.opening, Access::ReadWrite)?;
    let admission = if arguments.no_auth { Admission::Everybody } else { Admission::Users(users.clone()) };
    let told = if arguments.no_auth { None } else { credentials::first_start(&users)? };
    let settings = Settings {
        listen,
        admission,
        advertised: arguments.advertise.clone(),
        newest: arguments.bolt_version.unwrap_or(Version::ALL[0]),
        connections_max: arguments.connections.max(1),
        statements_max: arguments.statements.max(1),
        message_bytes_max: super::import::bytes(&arguments.message_limit)?,
        timeout: arguments.opening.timeout,
        idle_transaction: arguments.idle_transaction,
        patience: arguments.patience,
        drain: arguments.drain,
    };
    let end = Interrupt::new();
    let _ending = signals::cancel_with(end.clone());
    let no_auth = arguments.no_auth;
    server::serve(database, settings, &end, |addresses| {
        addresses.iter().for_each(|address| eprintln!("listening on bolt://{address}"));
        match (told, no_auth) {
            (_, true) => eprintln!("warning: everybody on this machine can read and write the store"),
            (Some(file), _) => eprintln!("the password of the user neo4j was made, and stands in {}", file.display()),
            (None, _) => {}
        }
    })?;
    eprintln!("ended");
    Ok(())
}

/// Addresses to listen on. Only those of this machine are taken without a word.
fn addresses(arguments: &ServeArguments) -> Outcome<Vec<SocketAddr>> {
    if arguments.listen.is_empty() {
        let has_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
        let second = has_ipv6.then_some(SocketAddr::from((Ipv6Addr::LOCALHOST, PORT)));
        return Ok(std::iter::once(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))).chain(second).collect());
    }
    let public = arguments.listen.iter().find(|address| !address.ip().is_loopback());
    match public {
        Some(address) if arguments.no_auth => {
            Err(Failure::UsageOf("serve", format!("--no-auth is for this machine alone, and others reach {address}")))
        }
        Some(address) if !arguments.plaintext => Err(Failure::UsageOf(
            "serve",
            format!(
                "other machines reach {address}, and passwords and rows are not encrypted on their way; put a proxy with TLS \
                 before the server, or pass --plaintext"
            ),
        )),
        _ => Ok(arguments.listen.clone()),
    }
}

fn set_password(users: &std::path::Path) -> Outcome<()> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    credentials::set_password(users, line.trim_end_matches(['\r', '\n']))?;
    eprintln!("the password of the user neo4j was set in {}", users.display());
    Ok(())
}
