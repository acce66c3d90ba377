//! Addresses of servers, as users write them: `bolt://user:password@host:port/database`.

use std::fmt;

use model::{Result, error};

use crate::tls::Trust;

/// The port of Bolt.
const PORT: u16 = 7687;
/// The user that servers have from the start.
const USER: &str = "neo4j";
/// The variable of the environment with the password, if the address has none.
pub const PASSWORD_VARIABLE: &str = "KNOT_PASSWORD";

const REMEDY: &str = "write bolt://user:password@host:7687/database, and in a name or password %2F for /, %3F for ?, %23 for #, %40 for @";

/// The address of a server, and the user who logs in.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Certificates that are believed; `None` without encryption.
    pub(crate) trust: Option<Trust>,
    /// Name and password; `None` to come in without.
    pub(crate) login: Option<(String, String)>,
    pub(crate) database: Option<String>,
}

/// Without the password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let scheme = match self.trust {
            None => "bolt",
            Some(Trust::Authorities) => "bolt+s",
            Some(Trust::Any) => "bolt+ssc",
        };
        write!(f, "{scheme}://{host}:{}", self.port)?;
        self.database.as_ref().map_or(Ok(()), |name| write!(f, "/{name}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Address {
    /// True if a text is the address of a server, and no path.
    pub fn is_one(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            let plain = scheme.split('+').next().unwrap_or_default();
            plain.eq_ignore_ascii_case("bolt") || plain.eq_ignore_ascii_case("neo4j")
        })
    }

    /// Reads an address. `password` is taken if it has none; no message shows either.
    ///
    /// # Errors
    /// Fails if the text is no address of a server, or has settings behind a `?`.
    pub fn parse(text: &str, password: Option<String>) -> Result<Address> {
        let bad = |what: &str| error!(Argument, "{what}").with_remedy(REMEDY);
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(bad("expected an address that begins with bolt://"));
        };
        if !Address::is_one(text) {
            return Err(bad("expected an address that begins with bolt:// or neo4j://"));
        }
        let trust = match scheme.split_once('+').map(|(_, trust)| trust.to_ascii_lowercase()) {
            None => None,
            Some(trust) if trust == "s" => Some(Trust::Authorities),
            Some(trust) if trust == "ssc" => Some(Trust::Any),
            Some(_) => return Err(bad("behind the + of the scheme stands s (a trusted certificate) or ssc (any)")),
        };
        // Drivers take settings of routing and of time here. This client has its own, and would ignore them.
        let rest = match rest.split_once(['?', '#']) {
            None => rest,
            Some((rest, "")) => rest,
            Some(_) => return Err(bad("an address has no settings behind a ?, and nothing behind a #")),
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, behind)) => (host, behind.strip_prefix(':')),
            None => place.rsplit_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(bad("the address names no host"));
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| bad("the port of the address is no number up to 65535"))?,
            None => PORT,
        };
        let decode = |text: &str| decoded(text).ok_or_else(|| bad("a % in the address is not followed by two digits"));
        let login = match login.map(|login| login.split_once(':').map_or((login, None), |(a, b)| (a, Some(b)))) {
            Some((user, Some(password))) => Some((decode(user)?, decode(password)?)),
            Some((user, None)) => Some((decode(user)?, password.unwrap_or_default())),
            None => password.map(|password| (USER.to_owned(), password)),
        };
        let database = Some(decode(database)?).filter(|name| !name.is_empty());
        Ok(Address { host: host.to_owned(), port, trust, login, database })
    }
}

/// A text with its `%` and two digits as the bytes that they stand for.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        if first == b'%' {
            let (digits, behind) = behind.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = behind;
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{Address, Trust};

    #[test]
    fn addresses_are_read() {
        let login = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (text, host, port, expected, database) in [
            ("bolt://localhost", "localhost", 7687, None, None),
            ("neo4j://a.b:1/", "a.b", 1, None, None),
            ("BOLT://ann:se%3Ac%40ret@[::1]:99/neo4j", "::1", 99, login("ann", "se:c@ret"), Some("neo4j")),
            ("bolt://ann@h?", "h", 7687, login("ann", ""), None),
            ("bolt+s://ann@h", "h", 7687, login("ann", ""), None),
            ("neo4j+SSC://ann@h/x", "h", 7687, login("ann", ""), Some("x")),
            ("bolt://ann:p@ss@h", "h", 7687, login("ann", "p@ss"), None),
        ] {
            assert!(Address::is_one(text));
            let found = Address::parse(text, None).unwrap();
            assert_eq!((found.host.as_str(), found.port), (host, port), "{text}");
            assert_eq!((&found.login, found.database.as_deref()), (&expected, database), "{text}");
            let shown = format!("{found} {found:?}");
            assert!(!shown.contains("ret") && !shown.contains("p@ss"), "{shown}");
        }
        for (text, trust) in [
            ("bolt://h", None),
            ("bolt+s://h", Some(Trust::Authorities)),
            ("neo4j+S://h", Some(Trust::Authorities)),
            ("bolt+ssc://h", Some(Trust::Any)),
        ] {
            assert_eq!(Address::parse(text, None).unwrap().trust, trust, "{text}");
        }
        assert_eq!(Address::parse("bolt://h", Some("x".into())).unwrap().login, login("neo4j", "x"));
        assert_eq!(Address::parse("bolt://ann@h", Some("x".into())).unwrap().login, login("ann", "x"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_telling_the_password() {
        for text in ["a.knot", "http://h", "bolt:/h", "/a/b://c", "x://bolt"] {
            assert!(!Address::is_one(text), "{text}");
        }
        for text in [
            "bolt://u:secret@", "bolt://u:secret@h:x", "bolt://u:sec%zzret@h", "bolt+x://u:secret@h",
            "http://u:secret@h", "bolt://u:secret@h?timeout=3", "bolt://u:sec?ret@h", "bolt://u:sec#ret@h",
            "bolt://u:sec/ret@h",
        ] {
            let error = Address::parse(text, None).unwrap_err();
            assert!(!format!("{error:?}").contains("sec") && error.remedy().contains("%3F"), "{error:?}");
        }
    }
}
