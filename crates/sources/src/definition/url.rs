//! Address of a source: a URL, or a server, a database and a user; never a password.

use model::{Result, error};

use super::fields::{Field, Object, at, choose};
use crate::registry::{Address, DRIVERS, Driver, password_variables};
use crate::urls::{encoded, scheme};

/// True if the definition says that its source is a key-value store.
pub(super) fn names_key_values(top: &Object<'_>) -> Result<bool> {
    let by_url = top.text("url")?.and_then(|url| Driver::of_scheme(scheme(url)));
    let by_engine = top.text("engine")?.and_then(Driver::of_engine);
    Ok(by_url.into_iter().chain(by_engine).any(Driver::is_key_value))
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
    let named = |driver: &'static Driver| driver.engines.iter().map(move |&name| (name, driver));
    let engines: Vec<(&str, &Driver)> = DRIVERS.iter().flat_map(named).collect();
    let engine = top.get("engine").map(|field| choose(&field, &engines)).transpose()?;
    let database = top.text("database")?;
    let Some(server) = top.text("server")? else {
        if let Some(piece) = ["port", "user"].iter().find(|piece| top.has(piece)) {
            return Err(at("", format_args!("expected the key `server` beside `{piece}`")));
        }
        return match (engine, database) {
            (Some(driver), Some(path)) if matches!(driver.address, Address::Path(_)) => {
                Ok(Some(format!("{}:{path}", driver.engines[0])))
            }
            (_, Some(_)) => Err(at("", "expected the key `server` beside `database`")),
            _ => Ok(None),
        };
    };
    let scheme = engine.unwrap_or_else(|| Driver::by_default(is_key_value)).engines[0];
    let port = top.get("port").map(|port| port.integer(1, 65535)).transpose()?;
    let user = top.text("user")?.map(|user| format!("{}@", encoded(user))).unwrap_or_default();
    let host = if server.contains(':') { format!("[{server}]") } else { encoded(server) };
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let database = database.map(|name| format!("/{}", encoded(name))).unwrap_or_default();
    Ok(Some(format!("{scheme}://{user}{host}{port}{database}")))
}

/// A definition is a file that is passed around: what opens a door does not belong into it.
fn refuse_password(field: &Field<'_>) -> Result<()> {
    if has_password(field.text()?) {
        let variables = password_variables(|_| true);
        return Err(error!(Definition, "{}: a password stands in the definition", field.place)
            .with_remedy(format!("take it out; give it in the environment ({variables}) or in the URL of ATTACH")));
    }
    Ok(())
}

/// True if a URL holds a password, before the host or among its settings.
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
