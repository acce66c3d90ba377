//! Texts without the passwords of URLs in them.
//!
//! A password need not be escaped as URLs want it: it goes from the first colon of the login to the last `@`, so that of a
//! text that can be read in two ways rather too much is hidden than too little.

/// The letter that stands in the place of each one of a password, so that a caret below it still points to the same word.
const MASK: char = '*';

/// The same text with each letter of a password hidden: in a URL, of `scheme://user:password@host` and `?password=`, and in a
/// statement, of `PASSWORD '…'` and `PASSWORD FROM '…' TO '…'`.
pub fn masked(text: &str) -> String {
    masked_literals(&masked_urls(text))
}

/// Words of statements between which passwords stand.
const WORD: &str = "password";
const BETWEEN: [&str; 2] = ["from", "to"];

/// Hides the literals behind the word.
fn masked_literals(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    while let Some(found) = lower[done..].find(WORD) {
        let mut end = done + found + WORD.len();
        while let Some((start, close)) = literal_behind(&lower, end) {
            out.push_str(&text[done..start]);
            out.extend(text[start..close].chars().map(|_| MASK));
            (done, end) = (close, close + 1);
        }
        let end = end.min(text.len());
        out.push_str(&text[done..end]);
        done = end;
    }
    out.push_str(&text[done..]);
    out
}

/// The content of the literal that stands behind a place, perhaps with a word between; its end is that of the text if it has none.
fn literal_behind(lower: &str, place: usize) -> Option<(usize, usize)> {
    let rest = lower.get(place..)?;
    let mut blank = rest.trim_start();
    if blank.len() == rest.len() && !blank.starts_with(['\'', '"']) {
        return None;
    }
    for word in BETWEEN {
        blank = blank.strip_prefix(word).map_or(blank, str::trim_start);
    }
    let quote = blank.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    let start = lower.len() - blank.len() + 1;
    let mut is_escaped = false;
    let close = lower[start..].char_indices().find(|&(_, letter)| {
        let is_close = letter == quote && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_close
    });
    Some((start, close.map_or(lower.len(), |(at, _)| start + at)))
}

fn masked_urls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let start = at + "://".len();
        let length = url_length(rest, at, start);
        out.push_str(&rest[..start]);
        out.push_str(&masked_url(&rest[start..start + length]));
        rest = &rest[start + length..];
    }
    out.push_str(rest);
    out
}

/// The part of a URL behind its `://`, in its login the user and the password; the rest begins at the `@`.
pub fn login(rest: &str) -> Option<(&str, Option<&str>, &str)> {
    let at = rest[..settings_start(rest)].rfind('@')?;
    let (login, place) = rest.split_at(at);
    match login.split_once(':') {
        Some((user, password)) => Some((user, Some(password), place)),
        // A path may have this letter, too.
        None if login.contains('/') => None,
        None => Some((login, None, place)),
    }
}

/// The place where `?name=value` begins. A `?` with something else behind it, before an `@`, is a part of a password.
fn settings_start(rest: &str) -> usize {
    let is_setting = |at: usize| {
        let setting = rest[at + 1..].split('&').next().unwrap_or_default();
        setting.find('@').is_none_or(|found| setting[..found].contains('='))
    };
    rest.match_indices('?').map(|(at, _)| at).find(|&at| is_setting(at)).unwrap_or(rest.len())
}

/// The length of a URL whose `://` lies before `start`: to the quote that it began with, or to a blank.
fn url_length(text: &str, colon: usize, start: usize) -> usize {
    let scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let before = text[..colon].trim_end_matches(scheme).chars().next_back();
    let tail = &text[start..];
    let end = match before {
        Some(quote @ ('\'' | '"' | '`')) => tail.find(quote),
        _ => tail.find(char::is_whitespace),
    };
    end.unwrap_or(tail.len())
}

fn masked_url(rest: &str) -> String {
    let hidden = |text: &str| MASK.to_string().repeat(text.chars().count());
    let shown = match login(rest) {
        Some((user, Some(password), place)) => format!("{user}:{}{place}", hidden(password)),
        _ => rest.to_owned(),
    };
    let Some((address, settings)) = shown.split_once('?') else { return shown };
    let settings = settings.split('&').map(|setting| match setting.split_once('=') {
        Some((name, value)) if is_secret(name) => format!("{name}={}", hidden(value)),
        _ => setting.to_owned(),
    });
    format!("{address}?{}", settings.collect::<Vec<_>>().join("&"))
}

/// Tells whether a setting of that name is a password.
pub fn is_secret(name: &str) -> bool {
    matches!(&*name.to_ascii_lowercase(), "password" | "passwd" | "pwd" | "pass")
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn passwords_are_hidden_letter_by_letter() {
        for (text, expected) in [
            ("ATTACH 'postgres://ann:secret@h/d' AZ p", "ATTACH 'postgres://ann:******@h/d' AZ p"),
            ("x://u:S3c@r3/tPw@127.0.0.1", "x://u:**********@127.0.0.1"),
            ("x://u:pa?ss@h/d?sslmode=require", "x://u:*****@h/d?sslmode=require"),
            ("'x://u:a b\"c@h' and 'y://v:ü@h'", "'x://u:*****@h' and 'y://v:*@h'"),
            ("x://h:5432/d?options=a@b&password=geheim", "x://h:5432/d?options=a@b&password=******"),
            ("redis://:pw@h", "redis://:**@h"),
            ("x://ann@h/d@e no://thing", "x://ann@h/d@e no://thing"),
            (
                "CREATE USER a SET PASSWORD 'gehü' CHANGE NOT REQUIRED",
                "CREATE USER a SET PASSWORD '****' CHANGE NOT REQUIRED",
            ),
            ("SET PASSWORD\n\"a'b\\\"c\" SET", "SET PASSWORD\n\"******\" SET"),
            ("set password from 'ab' to 'cd'; RETURN 'x'", "set password from '**' to '**'; RETURN 'x'"),
            ("SET PASSWORD 'never ends", "SET PASSWORD '**********"),
            ("RETURN n.password = $p, 'x'", "RETURN n.password = $p, 'x'"),
            ("password", "password"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }
}
