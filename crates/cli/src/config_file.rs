//! Settings of a command from a file: TOML whose keys are the names of flags, as `memory-limit = "2GiB"`.
//!
//! The file becomes arguments in front of those of the command line. So both are checked by the same rules and tell the same errors;
//! where both set a flag, that of the command line counts.

use std::path::Path;

use clap::{ArgAction, Command};
use database::{Error, ErrorCode};
use model::suggestion::nearest;
use toml::{Table, Value};

/// The flag that names the file.
const FLAG: &str = "config";

/// The arguments of a process with those of the file that they name put in. `command` is the command line that they are for.
pub(crate) fn expanded(arguments: Vec<String>, command: &Command) -> Result<Vec<String>, Error> {
    let verb = arguments.get(1).and_then(|verb| command.find_subcommand(verb));
    let Some(verb) = verb.filter(|verb| verb.get_arguments().any(|known| known.get_long() == Some(FLAG))) else {
        return Ok(arguments);
    };
    let Some(file) = named(&arguments) else { return Ok(arguments) };
    let path = Path::new(&file);
    let text = std::fs::read_to_string(path).map_err(|cause| Error::of_file(path, &cause))?;
    let table: Table = text.parse().map_err(|cause: toml::de::Error| {
        let place = cause.span().map_or(1, |span| text[..span.start].lines().count().max(1));
        wrong(path, &format!("line {place}: {}", cause.message()))
    })?;
    let mut all = arguments[..2].to_vec();
    for (key, value) in &table {
        all.extend(of_entry(path, verb, (key, value), &arguments[2..])?);
    }
    all.extend_from_slice(&arguments[2..]);
    Ok(all)
}

/// The file that `--config` names.
fn named(arguments: &[String]) -> Option<String> {
    let mut rest = arguments.iter();
    let flag = format!("--{FLAG}");
    while let Some(argument) = rest.next() {
        match argument.strip_prefix(&flag) {
            Some("") => return rest.next().cloned(),
            Some(value) if value.starts_with('=') => return Some(value[1..].to_owned()),
            _ if argument == "--" => return None,
            _ => {}
        }
    }
    None
}

fn wrong(path: &Path, reason: &str) -> Error {
    let remedy = "write name = value, with the names of the command's flags";
    Error::new(ErrorCode::Argument, format!("{}: {reason}", path.display())).with_remedy(remedy)
}

/// The arguments of an entry of a file; none where the command line sets the flag.
fn of_entry(path: &Path, verb: &Command, (key, value): (&str, &Value), given: &[String]) -> Result<Vec<String>, Error> {
    let known = verb.get_arguments().find(|known| known.get_long() == Some(key) && key != FLAG);
    let Some(known) = known else {
        let remedy = format!("the settings are the flags that knot {} --help shows, without --", verb.get_name());
        let like = verb.get_arguments().filter_map(|known| known.get_long()).filter(|name| *name != FLAG);
        let suggestion = nearest(key, like).map_or_else(String::new, |name| format!(" (did you mean {name}?)"));
        return Err(wrong(path, &format!("there is no setting '{key}'{suggestion}")).with_remedy(remedy));
    };
    let flag = format!("--{key}");
    let is_short = |argument: &str| {
        known.get_short().is_some_and(|short| argument.starts_with(&format!("-{short}")) && !argument.starts_with("--"))
    };
    if given.iter().any(|argument| argument.split('=').next() == Some(flag.as_str()) || is_short(argument)) {
        return Ok(Vec::new());
    }
    let expected = |what: &str| wrong(path, &format!("'{key}': expected {what}, found {}", value.type_str()));
    if matches!(known.get_action(), ArgAction::SetTrue) {
        let is_on = value.as_bool().ok_or_else(|| expected("true or false"))?;
        return Ok(if is_on { vec![flag] } else { Vec::new() });
    }
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        _ => Err(expected("a string or a number")),
    };
    match value {
        Value::Array(items) if matches!(known.get_action(), ArgAction::Append) => {
            items.iter().map(|item| Ok(format!("{flag}={}", text(item)?))).collect()
        }
        other => Ok(vec![format!("{flag}={}", text(other)?)]),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::expanded;
    use crate::arguments::Arguments;

    fn with(text: &str, given: &[&str]) -> Result<String, String> {
        let folder = testing::Folder::new();
        let file = folder.join("knot.toml");
        std::fs::write(&file, text).unwrap();
        let config = format!("--config={}", file.display());
        let arguments = ["knot", "serve", "s.knot", &config].iter().chain(given).map(|&word| word.to_owned()).collect();
        let all = expanded(arguments, &Arguments::command()).map_err(|failure| failure.to_string())?;
        let all: Vec<String> = all.into_iter().filter(|word| *word != config).collect();
        Ok(all.join(" "))
    }

    #[test]
    fn settings_become_arguments_and_the_command_line_counts() {
        let text = "listen = ['127.0.0.1:1', '127.0.0.1:2']\nmemory-limit = '2GiB'\nconnections = 7\nno-auth = true\nplaintext = false\n";
        let all = with(text, &[]).unwrap();
        for expected in
            ["--listen=127.0.0.1:1 --listen=127.0.0.1:2", "--memory-limit=2GiB", "--connections=7", "--no-auth"]
        {
            assert!(all.contains(expected), "{all}");
        }
        assert!(!all.contains("--plaintext") && all.ends_with("s.knot"), "{all}");
        let all = with(text, &["-l", "[::1]:9", "--memory-limit", "1GiB"]).unwrap();
        assert!(!all.contains("127.0.0.1") && !all.contains("2GiB") && all.contains("--connections=7"), "{all}");
    }

    #[test]
    fn mistakes_are_told_with_file_and_key() {
        let cases = [
            ("connectons = 7", "there is no setting 'connectons' (did you mean connections?)"),
            ("config = 'x'", "there is no setting 'config'"),
            ("no-auth = 'yes'", "'no-auth': expected true or false, found string"),
            ("connections = [1]", "'connections': expected a string or a number, found array"),
            ("\n\nconnections = ", "line 3: "),
        ];
        for (text, expected) in cases {
            let failure = with(text, &[]).unwrap_err();
            assert!(failure.contains(expected) && failure.contains("knot.toml"), "{failure}");
        }
    }
}
