//! Names by which the server may be reached, and pages whose scripts may reach it.
//!
//! A page of any site can have its browser send requests to an address of this machine, and can make a name of its own stand for
//! that address. The browser tells both: `Host` has the name, `Origin` the site.

use std::net::{IpAddr, SocketAddr};

use super::head::{Head, Refusal};

/// Names and sites that are trusted besides those of this machine.
pub(crate) struct Guard<'g> {
    /// Names that are advertised, perhaps with a port.
    pub(crate) advertised: Option<&'g str>,
    /// Sites whose pages may come.
    pub(crate) origins: &'g [String],
}

/// The host of an authority, without its port.
pub(crate) fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    }
}

fn is_here(host: &str) -> bool {
    let is_local = |ip: IpAddr| ip.is_loopback();
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_local)
}

impl Guard<'_> {
    /// Fails unless the client may send this request to the address that it reached. Gives the site whose page may read the
    /// answer, if it is another than that of the server.
    pub(crate) fn check<'h>(&self, head: &'h Head, reached: Option<SocketAddr>) -> Result<Option<&'h str>, Refusal> {
        let mut hosts = head.all("host");
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) if !host.contains(['/', '@', ' ', ',']) => host,
            (None, _) if !head.is_newer => "",
            _ => return Err(Refusal::new(400, "a request has one header Host with the name of the server")),
        };
        let is_local = reached.is_none_or(|address| address.ip().is_loopback());
        if is_local && !host.is_empty() && !self.is_known(host_of(host)) {
            let message = format!(
                "this server is not known by the name '{}': use localhost or an address, or start it with --advertise",
                host_of(host)
            );
            return Err(Refusal::new(403, message));
        }
        let Some(origin) = head.get("origin") else { return Ok(None) };
        let site = origin.split_once("://").map_or("", |(_, authority)| authority);
        let is_own = !site.is_empty() && site.eq_ignore_ascii_case(host);
        if is_own {
            return Ok(None);
        }
        let is_trusted = self.origins.iter().any(|trusted| trusted.eq_ignore_ascii_case(origin));
        if is_trusted || is_here(host_of(site)) {
            return Ok(Some(origin));
        }
        let message = format!("pages of {origin} may not reach this server: start it with --allow-origin {origin}");
        Err(Refusal::new(403, message))
    }

    /// True if the server may have that name. An address is no name that somebody else could have made stand for it.
    fn is_known(&self, host: &str) -> bool {
        let is_advertised = self.advertised.is_some_and(|name| host_of(name).eq_ignore_ascii_case(host));
        is_here(host) || is_advertised || host.parse::<IpAddr>().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Guard, Head, host_of};

    fn check(lines: &str, reached: &str) -> Result<Option<String>, u16> {
        let text = format!("GET / HTTP/1.1\r\n{}\r\n\r\n", lines.replace('\n', "\r\n"));
        let (head, _) = Head::read(text.as_bytes()).unwrap();
        let origins = ["https://app.example.com".to_owned()];
        let guard = Guard { advertised: Some("db.example.com:7687"), origins: &origins };
        let checked = guard.check(&head, Some(reached.parse().unwrap()));
        checked.map(|origin| origin.map(str::to_owned)).map_err(|refusal| refusal.status)
    }

    #[test]
    fn hosts_are_taken_from_authorities() {
        for (authority, host) in [("a:1", "a"), ("a", "a"), ("[::1]:7", "::1"), ("[::1]", "::1"), ("", "")] {
            assert_eq!(host_of(authority), host);
        }
    }

    #[test]
    fn names_that_somebody_else_may_have_made_are_refused() {
        for host in
            ["localhost:7687", "LOCALHOST", "a.localhost", "127.0.0.1:1", "[::1]:1", "10.0.0.1", "DB.example.com"]
        {
            assert_eq!(check(&format!("Host: {host}"), "127.0.0.1:7687"), Ok(None), "{host}");
        }
        for host in ["evil.com", "localhost.evil.com", "127.0.0.1.evil.com:80", "db.example.com.evil.com"] {
            assert_eq!(check(&format!("Host: {host}"), "[::1]:7687"), Err(403), "{host}");
            // Another address needs a password, whatever the name.
            assert_eq!(check(&format!("Host: {host}"), "10.0.0.1:7687"), Ok(None), "{host}");
        }
        for lines in ["A: b", "Host: a\nHost: a", "Host: a@b", "Host: a/b"] {
            assert_eq!(check(lines, "127.0.0.1:7687"), Err(400), "{lines}");
        }
    }

    #[test]
    fn pages_of_other_sites_are_refused() {
        let of = |origin: &str| check(&format!("Host: localhost:7687\nOrigin: {origin}"), "127.0.0.1:7687");
        assert_eq!(of("http://localhost:7687"), Ok(None));
        for origin in ["http://localhost:7474", "http://127.0.0.1:3000", "https://app.example.com"] {
            assert_eq!(of(origin), Ok(Some(origin.to_owned())));
        }
        for origin in
            ["null", "https://evil.com", "http://app.example.com", "http://localhost.evil.com", "file://", "x"]
        {
            assert_eq!(of(origin), Err(403), "{origin}");
        }
    }
}
