//! Positions of the parameters in SQL that a definition holds: the question marks outside of string literals, names and
//! comments.

/// The pieces of a query before, between and after its parameters; a query without parameters is one piece.
/// `??` is no parameter but a question mark, for operators that are written with one.
pub fn around_parameters(sql: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(&byte) = sql.as_bytes().get(at) {
        let rest = &sql[at..];
        at += match byte {
            b'\'' | b'"' | b'`' => quoted(rest, byte),
            b'-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => comment(rest),
            b'$' => dollar_quoted(rest),
            b'?' if rest.starts_with("??") => 2,
            b'?' => {
                pieces.push(&sql[start..at]);
                start = at + 1;
                1
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
    }
    pieces.push(&sql[start..]);
    pieces
}

/// The length of what stands in quotes; a doubled quote ends and begins again, which comes to the same.
fn quoted(rest: &str, quote: u8) -> usize {
    rest[1..].find(quote as char).map_or(rest.len(), |end| end + 2)
}

fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The length of a string in dollar quotes (`$$…$$`, `$tag$…$tag$`), or of the dollar alone.
fn dollar_quoted(rest: &str) -> usize {
    let is_tag = |c: char| c == '_' || c.is_alphanumeric();
    let tag_end = match rest[1..].find(|c| !is_tag(c)) {
        Some(end) if rest[1 + end..].starts_with('$') && !rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
            end + 2
        }
        _ => return 1,
    };
    let tag = &rest[..tag_end];
    rest[tag_end..].find(tag).map_or(rest.len(), |end| tag_end + end + tag.len())
}

#[cfg(test)]
mod tests {
    use super::around_parameters;

    #[test]
    fn parameters_are_found_outside_of_texts_names_and_comments() {
        for (sql, pieces) in [
            ("SELECT 1", &["SELECT 1"][..]),
            ("SELECT a FROM t WHERE id = ?", &["SELECT a FROM t WHERE id = ", ""]),
            ("? + ?", &["", " + ", ""]),
            (
                "SELECT '?', \"?\", `?` FROM t -- ?\n WHERE 'it''s ?' = ?",
                &["SELECT '?', \"?\", `?` FROM t -- ?\n WHERE 'it''s ?' = ", ""],
            ),
            ("/* ? /* ? */ ? */ ?é", &["/* ? /* ? */ ? */ ", "é"]),
            ("$$ ? $$ ? $a$ $$ ? $a$", &["$$ ? $$ ", " $a$ $$ ? $a$"]),
            ("'open ?", &["'open ?"]),
            ("a ?? 'b' = ?", &["a ?? 'b' = ", ""]),
        ] {
            assert_eq!(around_parameters(sql), pieces, "{sql}");
        }
    }
}
