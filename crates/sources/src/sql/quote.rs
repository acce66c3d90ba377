//! Names and strings as they stand in statements, and the `?` of queries by key.

use model::{Result, error};

use crate::sql::Dialect;

/// A name, quoted.
pub fn name(dialect: &dyn Dialect, name: &str) -> String {
    dialect.quotes().quoted(name)
}

/// A column of an alias.
pub fn column(dialect: &dyn Dialect, alias: &str, column: &str) -> String {
    format!("{alias}.{}", name(dialect, column))
}

/// The start of a pattern for `LIKE ... ESCAPE '!'` that finds strings that start with `prefix`.
pub fn prefix_pattern(prefix: &str) -> String {
    let mut pattern = String::with_capacity(prefix.len() + 1);
    for letter in prefix.chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// A query as it may stand in parentheses: without its semicolon, and with a line of its own for the parenthesis, since a
/// comment may end it.
pub fn subquery(sql: &str) -> String {
    let sql = sql.trim().trim_end_matches(';').trim_end();
    if sql.contains("--") || sql.contains('#') { format!("({sql}\n)") } else { format!("({sql})") }
}

/// A query with its `?` replaced by an expression; `??` is a question mark. What stands in quotes or comments is left.
///
/// Fails with `DEFINITION` if there is none.
pub fn with_key(dialect: &dyn Dialect, sql: &str, expression: &str) -> Result<String> {
    let (mut out, mut rest, mut count) = (String::with_capacity(sql.len() + 16), sql, 0);
    while let Some(at) = rest.find(['?', '\'', '"', '`', '-', '/', '$']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = opaque_length(dialect, rest);
        if length > 0 {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        } else if let Some(after) = rest.strip_prefix("??") {
            out.push('?');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('?') {
            out.push_str(expression);
            count += 1;
            rest = after;
        } else {
            out.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    if count == 0 {
        return Err(error!(Definition, "a query by key has no `?` for the key: {sql}"));
    }
    Ok(out)
}

/// The length of the quoted string or comment at the start of `sql`, 0 if there is none. One that is not closed goes to
/// the end.
fn opaque_length(dialect: &dyn Dialect, sql: &str) -> usize {
    let until = |open: usize, close: &str| sql[open..].find(close).map_or(sql.len(), |at| open + at + close.len());
    let quotes = dialect.quotes();
    match sql.as_bytes()[0] {
        b'\'' if quotes.has_backslashes => escaped_length(sql, b'\''),
        b'\'' => until(1, "'"),
        b'"' if quotes.has_backslashes => escaped_length(sql, b'"'),
        b'"' => until(1, "\""),
        b'`' if quotes.has_backquotes => until(1, "`"),
        b'-' if sql.starts_with("--") => until(2, "\n"),
        b'/' if sql.starts_with("/*") => until(2, "*/"),
        b'$' if quotes.has_dollars => {
            let tag = sql[1..].find('$').map(|end| &sql[..end + 2]);
            let is_name = |tag: &&str| tag[1..tag.len() - 1].chars().all(|c| c.is_alphanumeric() || c == '_');
            tag.filter(is_name).map_or(0, |tag| until(tag.len(), tag))
        }
        _ => 0,
    }
}

/// The length of a string in quotes in which a backslash hides the character that follows it.
fn escaped_length(sql: &str, quote: u8) -> usize {
    let bytes = sql.as_bytes();
    let mut at = 1;
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    // A backslash may hide the first byte of a letter of several: the end is moved to a border.
    let mut end = (at + 1).min(sql.len());
    while !sql.is_char_boundary(end) {
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::{Dialect, name, prefix_pattern, subquery, with_key};
    use crate::sql::dialect::{MYSQL, POSTGRES};

    #[test]
    fn keys_stand_where_question_marks_stood() {
        let check = |dialect: &dyn Dialect, sql: &str, expected: &str| {
            assert_eq!(with_key(dialect, sql, "k.x").unwrap(), expected)
        };
        check(POSTGRES, "SELECT a FROM t WHERE id = ?", "SELECT a FROM t WHERE id = k.x");
        check(POSTGRES, "SELECT '?', \"?\" FROM t -- ?\n WHERE a=?", "SELECT '?', \"?\" FROM t -- ?\n WHERE a=k.x");
        check(
            POSTGRES,
            "SELECT j ?? 'a', $q$?$q$ /* ? */ FROM t WHERE ?=a",
            "SELECT j ? 'a', $q$?$q$ /* ? */ FROM t WHERE k.x=a",
        );
        check(POSTGRES, "SELECT 'it''s ?' || ?", "SELECT 'it''s ?' || k.x");
        check(MYSQL, "SELECT 'a\\'?' , `?` FROM t WHERE a - ? / 2", "SELECT 'a\\'?' , `?` FROM t WHERE a - k.x / 2");
        check(POSTGRES, "SELECT $1 + ?", "SELECT $1 + k.x");
        assert!(with_key(POSTGRES, "SELECT '?'", "k").is_err());
    }

    #[test]
    fn names_and_queries_are_closed() {
        assert_eq!(name(POSTGRES, "a\"b"), "\"a\"\"b\"");
        assert_eq!(name(MYSQL, "a`b"), "`a``b`");
        assert_eq!(subquery(" SELECT 1 ; "), "(SELECT 1)");
        assert_eq!(subquery("SELECT 1 -- one"), "(SELECT 1 -- one\n)");
        assert_eq!(prefix_pattern("a%_!b"), "a!%!_!!b%");
    }
}
