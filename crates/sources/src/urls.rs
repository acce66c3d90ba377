//! URLs of sources as texts: their schemes, what is hidden of them, and what stands in them.

use model::{Result, error, secrets};

/// The part of a URL before its colon, in lower case is what it should be; empty if there is none.
pub fn scheme(url: &str) -> &str {
    let is_name = |name: &str| name.len() > 1 && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    url.split_once(':').map_or("", |(name, _)| if is_name(name) { name } else { "" })
}

/// A text as it may stand in a URL: all but letters, digits and a few signs as `%xx`.
pub fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// A path as it stands in the URL of a file, where `?` begins the settings: `?` and `%` as `%xx`.
pub fn of_path(path: &str) -> String {
    if path.contains('?') || path_in(path) != path {
        path.replace('%', "%25").replace('?', "%3F")
    } else {
        path.to_owned()
    }
}

/// The path that stands in the URL of a file, before its settings.
pub fn path_in(text: &str) -> String {
    text.replace("%3F", "?").replace("%3f", "?").replace("%25", "%")
}

/// The URL as it may be shown: without a password.
pub fn without_password(url: &str) -> String {
    let shown = match url.split_once("://") {
        Some((scheme, rest)) => match secrets::login(rest) {
            Some(("", _, place)) => format!("{scheme}://{}", &place[1..]),
            Some((user, _, place)) => format!("{scheme}://{user}{place}"),
            None => url.to_owned(),
        },
        None => url.to_owned(),
    };
    let (address, settings) = shown.split_once('?').unwrap_or((&shown, ""));
    let is_secret = |setting: &&str| secrets::is_secret(setting.split('=').next().unwrap_or(""));
    let settings: Vec<&str> =
        settings.split('&').filter(|setting| !setting.is_empty() && !is_secret(setting)).collect();
    if settings.is_empty() { address.to_owned() } else { format!("{address}?{}", settings.join("&")) }
}

/// Fails where the password has a sign that ends an address: the part behind it would be looked up as a host, and shown.
pub fn check_password(url: &str) -> Result<()> {
    let Some((_, Some(password), place)) = url.split_once("://").and_then(|(_, rest)| secrets::login(rest)) else {
        return Ok(());
    };
    let Some(at) = password.find(['/', '?', '#']) else { return Ok(()) };
    // `host:5432/name@x` has no login.
    if password.as_bytes()[at] == b'/' && password[..at].bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    let sign = &password[at..=at];
    let remedy = format!("write {sign} as {} in the URL, or pass the password by the environment", encoded(sign));
    let shown = place.strip_prefix('@').unwrap_or(place);
    Err(error!(Argument, "the password of {shown} has a {sign}, which ends the name of the host in a URL")
        .with_remedy(remedy))
}

#[cfg(test)]
mod tests {
    use super::{check_password, of_path, path_in, scheme, without_password};

    #[test]
    fn paths_with_signs_of_urls_are_kept() {
        for (path, written) in [
            ("a/b.db", "a/b.db"),
            ("100%.db", "100%.db"),
            ("what?.db", "what%3F.db"),
            ("100%?.db", "100%25%3F.db"),
            ("a%3Fb.db", "a%253Fb.db"),
            ("a%253fb%25.db", "a%25253fb%2525.db"),
        ] {
            assert_eq!((of_path(path).as_str(), path_in(written).as_str()), (written, path));
        }
    }

    #[test]
    fn a_password_that_ends_the_host_is_refused_and_not_shown() {
        for url in
            ["mysql://u:S3c@r3/tPw@127.0.0.1:3306/ty", "postgres://u:a?b@h/d", "redis://:x#y@h", "mysql://u:12/ab@h"]
        {
            let told = check_password(url).err().map(|error| error.to_string());
            if url.contains("12/") {
                // Nobody can tell it from a host and a port.
                assert_eq!(told, None);
                continue;
            }
            let told = told.unwrap_or_else(|| panic!("{url} is accepted"));
            assert!(["r3", "tPw", "a?b", "x#y"].iter().all(|part| !told.contains(part)), "{told}");
        }
        for url in [
            "postgres://ann:secret@h:1/d?a=b", "postgres://h:5432/a@b", "mysql://u:p%2Fw@h/d", "file:///a/b@c",
            "redis://h",
        ] {
            check_password(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (url, expected) in [
            (
                "postgres://ann:secret@db.example:5432/shop?sslmode=require",
                "postgres://ann@db.example:5432/shop?sslmode=require",
            ),
            ("redis://:secret@host", "redis://host"),
            ("mysql://host/shop?password=x", "mysql://host/shop"),
            ("sqlite:/data/a@b.db", "sqlite:/data/a@b.db"),
            ("mysql://u:S3c@r3/tPw@127.0.0.1:3306/shop", "mysql://u@127.0.0.1:3306/shop"),
            ("mysql://u:pa?ss@host/shop?sslmode=require", "mysql://u@host/shop?sslmode=require"),
            ("postgres://ann@host/a@b", "postgres://ann@host/a@b"),
        ] {
            assert_eq!(without_password(url), expected);
        }
    }

    #[test]
    fn schemes_are_names() {
        assert_eq!([scheme("redis://h"), scheme("C:\\x"), scheme("plain.json")], ["redis", "", ""]);
    }
}
