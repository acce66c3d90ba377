//! Text of a statement without its literals, comments and superfluous blanks.

use cypher::lexer;
use cypher::token::TokenKind;

/// The mark in the place of a literal.
const LITERAL: &str = "?";

/// A part of a plan, in which columns without a name are called by their texts, with a mark for each of these too.
pub(crate) fn without_literals_and_texts(text: &str) -> Option<String> {
    masked(text, |kind| is_literal(kind) || kind == TokenKind::QuotedName)
}

fn is_literal(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Integer | TokenKind::Float | TokenKind::String)
}

/// The text with a mark in the place of each literal; the elements of a list that are all literals share one. `None` if it is
/// no sequence of Cypher's tokens: then nothing of it may be shown.
pub(crate) fn without_literals(text: &str) -> Option<String> {
    masked(text, is_literal)
}

fn masked(text: &str, is_hidden: impl Fn(TokenKind) -> bool) -> Option<String> {
    let tokens = lexer::tokens(text).ok()?;
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    // Within brackets, the place in `out` at which the elements begin, as long as all are literals.
    let mut lists: Vec<Option<usize>> = Vec::new();
    for token in tokens.iter().filter(|token| token.kind != TokenKind::End) {
        let (start, stop) = (token.span.start as usize, token.span.end as usize);
        if start > end && !out.is_empty() {
            out.push(' ');
        }
        end = stop;
        let is_literal = is_hidden(token.kind);
        match token.kind {
            TokenKind::RightBracket => {
                if let Some(Some(start)) = lists.pop()
                    && out[start..].contains(',')
                {
                    out.truncate(start);
                    out.push_str("?, …");
                }
            }
            TokenKind::Comma | TokenKind::Minus => {}
            _ if is_literal => {}
            _ => lists.iter_mut().for_each(|list| *list = None),
        }
        out.push_str(if is_literal { LITERAL } else { text.get(start..stop)? });
        if token.kind == TokenKind::LeftBracket {
            lists.push(Some(out.len()));
        }
    }
    let length = out.trim_end_matches([';', ' ']).len();
    out.truncate(length);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::without_literals;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(without_literals(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn literals_are_hidden_and_blanks_are_one() {
        check(
            "MATCH (n:P {name: 'Ann', age: 3.5})\n  // secret\n RETURN n ;",
            Some("MATCH (n:P {name: ?, age: ?}) RETURN n"),
        );
        check("RETURN \"it's\" /* 7 */ + $x, 0x1F, -1e9, `a 'b'`, true", Some("RETURN ? + $x, ?, -?, `a 'b'`, true"));
        check("ATTACH 'postgresql://u:secret@h/d' AS s (CACHE '64 MiB')", Some("ATTACH ? AS s (CACHE ?)"));
        check("RETURN 'no end", None);
        check("", Some(""));
    }

    #[test]
    fn lists_of_any_length_are_one() {
        check("WHERE n.id IN [1, 2,\n -3]", Some("WHERE n.id IN [?, …]"));
        check("WHERE n.id IN [1]", Some("WHERE n.id IN [?]"));
        check("RETURN [[1, 2], [3]], [a, 1], [], x[1..2]", Some("RETURN [[?, …], [?]], [a, ?], [], x[?..?]"));
    }
}
