//! Where a source lies: a URL, or a server, a database and a user; never a password.

use model::{Result, error};

use super::fields::{Field, Object, at, choose};

/// A URL scheme for each name of an engine.
const ENGINES: &[(&str, &str)] = &[
    ("postgresql", "postgresql"),
    ("postgres", "postgresql"),
    ("mysql", "mysql"),
    ("mariadb", "mysql"),
    ("sqlite", "sqlite"),
    ("redis", "redis"),
    ("file", "file"),
];

/// Whether the definition says that its source is a key-value store.
pub(super) fn names_key_values(top: &Object<'_>) -> Result<bool> {
    let is_redis = |url: &str| url.starts_with("redis:") || url.starts_with("rediss:");
    Ok(top.text("url")?.is_some_and(is_redis)
        || top.text("engine")?.is_some_and(|engine| engine.eq_ignore_ascii_case("redis")))
}

/// The URL that a definition gives, in one piece or in several.
pub(super) fn of_definition(top: &Object<'_>, is_key_value: bool) -> Result<Option<String>> {
    const PIECES: &[&str] = &["engine", "server", "port", "database", "user"];
    if let Some(url) = top.get("url") {
        if let Some(piece) = PIECES.iter().find(|piece| top.has(piece)) {
            return Err(at("", format_args!("expected `url` or `{piece}`, found both")));
        }
        refuse_password(&url)?;
        return Ok(Some(url.text()?.to_owned()));
    }
    let engine = top.get("engine").map(|field| choose(&field, ENGINES)).transpose()?;
    let database = top.text("database")?;
    let Some(server) = top.text("server")? else {
        if let Some(piece) = ["port", "user"].iter().find(|piece| top.has(piece)) {
            return Err(at("", format_args!("expected the key `server` beside `{piece}`")));
        }
        return match (engine, database) {
            (Some(scheme @ ("sqlite" | "file")), Some(path)) => Ok(Some(format!("{scheme}:{path}"))),
            (_, Some(_)) => Err(at("", "expected the key `server` beside `database`")),
            _ => Ok(None),
        };
    };
    let scheme = engine.unwrap_or(if is_key_value { "redis" } else { "postgresql" });
    let port = top.get("port").map(|port| port.integer(1, 65535)).transpose()?;
    let user = top.text("user")?.map(|user| format!("{}@", encode(user))).unwrap_or_default();
    let host = if server.contains(':') { format!("[{server}]") } else { encode(server) };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let database = database.map(|name| format!("/{}", encode(name))).unwrap_or_default();
    Ok(Some(format!("{scheme}://{user}{host}{port}{database}")))
}

/// A definition is a file that is passed around: what opens a door does not belong into it.
fn refuse_password(field: &Field<'_>) -> Result<()> {
    if has_password(field.text()?) {
        return Err(error!(Definition, "{}: a password stands in the definition", field.place).with_remedy(
            "take it out; give it in the environment (PGPASSWORD, MYSQL_PWD, REDISCLI_AUTH) or in the URL of ATTACH",
        ));
    }
    Ok(())
}

/// Whether a URL holds a password, before the host or among its settings.
pub(super) fn has_password(url: &str) -> bool {
    let (before, settings) = url.split_once('?').unwrap_or((url, ""));
    let rest = before.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or("");
    let in_authority = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    let names_password = |setting: &str| {
        let name = setting.split('=').next().unwrap_or("").to_ascii_lowercase();
        matches!(&*name, "password" | "passwd" | "pwd" | "pass")
    };
    in_authority || settings.split('&').any(names_password)
}

/// The text with everything but letters, digits and a few signs as `%xx`.
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => encoded.push(byte as char),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
