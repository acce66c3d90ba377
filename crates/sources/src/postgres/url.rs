//! Address of a server and login data: from the URL, the environment and the password file, as `psql` finds it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Error, Result, error};

/// The degree of TLS that is wanted, as `sslmode` of `psql` states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SslMode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// A server, a database in it, and the user.
#[derive(Clone)]
pub(super) struct Settings {
    /// A name, an address, or the folder of a socket.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) database: String,
    /// Never printed.
    password: Option<String>,
    pub(super) ssl: SslMode,
    pub(super) root_certificate: Option<PathBuf>,
    pub(super) connect_timeout: Duration,
    pub(super) statement_timeout: Option<Duration>,
    pub(super) pool_size: usize,
    /// Schemas in which tables without a schema are looked for, if the URL says so.
    pub(super) search_path: Option<String>,
    /// The source as messages name it.
    pub(super) name: String,
}

/// Connections that are open at most, unless the URL says otherwise.
const POOL_SIZE: usize = 8;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(120);

/// The error of a URL that cannot be read.
fn bad(what: &str) -> Error {
    error!(Argument, "a URL of PostgreSQL {what}")
        .with_remedy("write it as postgres://user@host:5432/database?sslmode=require")
}

impl Settings {
    /// Reads `postgres://user:password@host:port/database?setting=value&...`.
    pub(super) fn parse(url: &str) -> Result<Settings> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| bad("starts with postgres://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) =
            authority.rsplit_once('@').map_or((None, authority), |(login, place)| (Some(login), place));
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, password)) => (decoded(user), Some(decoded(password)).filter(|text| !text.is_empty())),
            None => (String::new(), None),
        };
        let (host, port) = host_and_port(place).ok_or_else(|| bad("has a number from 1 to 65535 as its port"))?;
        let from_environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let or_environment = |value: String, name: &str| {
            if value.is_empty() { from_environment(name) } else { Some(value) }
        };
        let mut settings = Settings {
            host: or_environment(decoded(host), "PGHOST").unwrap_or_else(|| "localhost".to_owned()),
            port: port.or(from_environment("PGPORT").and_then(|port| port.parse().ok())).unwrap_or(5432),
            user: or_environment(user, "PGUSER")
                .or_else(|| from_environment("USER"))
                .unwrap_or_else(|| "postgres".to_owned()),
            database: or_environment(decoded(database), "PGDATABASE").unwrap_or_default(),
            password: password.or_else(|| from_environment("PGPASSWORD")),
            ssl: SslMode::Prefer,
            root_certificate: from_environment("PGSSLROOTCERT").map(PathBuf::from),
            connect_timeout: CONNECT_TIMEOUT,
            statement_timeout: Some(STATEMENT_TIMEOUT),
            pool_size: POOL_SIZE,
            search_path: None,
            name: String::new(),
        };
        if let Some(mode) = from_environment("PGSSLMODE") {
            settings.set("sslmode", &mode)?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            settings.set(&decoded(name), &decoded(value))?;
        }
        if settings.database.is_empty() {
            settings.database.clone_from(&settings.user);
        }
        // If a password has letters that end it in a URL, the rest of it stands in the place of the database.
        settings.name = match settings.database.rsplit_once('@') {
            Some((_, place)) => format!("postgres://{}@{place}", settings.user),
            None => format!("postgres://{}@{}:{}/{}", settings.user, settings.host, settings.port, settings.database),
        };
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let number = || value.parse::<u64>().map_err(|_| bad(&format!("has a number as {name}, not {value}")));
        match name {
            "sslmode" => {
                self.ssl = match value {
                    "disable" | "allow" => SslMode::Disable,
                    "prefer" => SslMode::Prefer,
                    "require" => SslMode::Require,
                    "verify-ca" => SslMode::VerifyCa,
                    "verify-full" => SslMode::VerifyFull,
                    _ => {
                        let known = "disable, prefer, require, verify-ca or verify-full";
                        return Err(bad(&format!("has {known} as sslmode, not {value}")));
                    }
                }
            }
            "sslrootcert" => self.root_certificate = Some(PathBuf::from(value)),
            "connect_timeout" => self.connect_timeout = Duration::from_secs(number()?.max(1)),
            "connect_timeout_ms" => self.connect_timeout = Duration::from_millis(number()?.max(1)),
            "timeout_ms" | "statement_timeout" => {
                self.statement_timeout = Some(Duration::from_millis(number()?)).filter(|limit| !limit.is_zero());
            }
            "pool_size" => self.pool_size = usize::try_from(number()?).unwrap_or(usize::MAX).max(1),
            "search_path" => self.search_path = Some(value.to_owned()),
            "host" => value.clone_into(&mut self.host),
            "user" => value.clone_into(&mut self.user),
            "password" => self.password = Some(value.to_owned()),
            "application_name" => {}
            other => {
                return Err(error!(Argument, "the URL of PostgreSQL has no setting {other}").with_remedy(
                    "settings are sslmode, sslrootcert, connect_timeout, statement_timeout, pool_size, search_path",
                ));
            }
        }
        Ok(())
    }

    /// The password: from the URL, `PGPASSWORD`, or the password file.
    pub(super) fn password(&self) -> Option<String> {
        self.password.clone().or_else(|| {
            let file = std::env::var_os("PGPASSFILE").map(PathBuf::from);
            let file = file.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pgpass")))?;
            let text = std::fs::read_to_string(file).ok()?;
            let wanted = [&*self.host, &self.port.to_string(), &*self.database, &*self.user];
            text.lines().find_map(|line| password_of(line, &wanted))
        })
    }

    /// True if the host is the folder of a socket of this machine.
    pub(super) fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }
}

/// The password of a line `host:port:database:user:password`, if it is for this one; `*` stands for anything.
fn password_of(line: &str, wanted: &[&str; 4]) -> Option<String> {
    let (mut fields, mut field, mut letters) = (Vec::new(), String::new(), line.chars());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => field.extend(letters.next()),
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            letter => field.push(letter),
        }
    }
    let is_mine = fields.len() == 4 && fields.iter().zip(wanted).all(|(held, wanted)| held == "*" || held == wanted);
    (is_mine && !line.starts_with('#')).then_some(field)
}

fn host_and_port(place: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':'))
        }
        None => match place.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    match port {
        None | Some("") => Some((host, None)),
        Some(port) => port.parse().ok().filter(|&port: &u16| port > 0).map(|port| (host, Some(port))),
    }
}

/// A part of a URL with its `%xx` as bytes.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = if bytes[at] == b'%' {
            text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok())
        } else {
            None
        };
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Settings, SslMode, password_of};

    #[test]
    fn urls_say_where_and_who() {
        let settings =
            Settings::parse("postgres://me:p%40ss@[::1]:6432/my%20db?sslmode=verify-full&pool_size=3").unwrap();
        assert_eq!((&*settings.user, &*settings.host, settings.port), ("me", "::1", 6432));
        assert_eq!((&*settings.database, settings.ssl, settings.pool_size), ("my db", SslMode::VerifyFull, 3));
        assert_eq!(settings.password().as_deref(), Some("p@ss"));
        assert_eq!(settings.name, "postgres://me@::1:6432/my db");
        for bad in [
            "mysql://x", "postgres://h:0/d", "postgres://h/d?sslmode=x", "postgres://h/d?colour=red",
            "postgres://h/d?pool_size=x",
        ] {
            let error = Settings::parse(bad).err().unwrap();
            assert!(
                error.remedy().starts_with("write it as postgres://") || error.remedy().starts_with("settings are"),
                "{error}"
            );
        }
    }

    #[test]
    fn lines_of_the_password_file() {
        let wanted = ["h", "5432", "d", "u"];
        assert_eq!(password_of("h:5432:*:u:se\\:cret:x", &wanted).as_deref(), Some("se:cret:x"));
        assert_eq!(password_of("h:5432:e:u:secret", &wanted), None);
        assert_eq!(password_of("# h:5432:*:u:secret", &wanted), None);
    }
}
