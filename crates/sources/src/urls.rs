//! URLs of sources as texts: their schemes, what is hidden of them, and what stands in them.

use model::secrets;

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

#[cfg(test)]
mod tests {
    use super::{scheme, without_password};

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
