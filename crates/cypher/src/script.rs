//! A text of several statements, cut at its semicolons; what a shell asks while a user still types.

use model::Span;

use crate::lexer::scan::{self, Opaque};

/// The places of the statements of a text, without their semicolons and the blanks around them.
/// Semicolons in strings, comments and backticks do not separate; pieces of blanks and comments are left out.
/// What is not a statement at all still gets its place, so that parsing it gives the error.
pub fn split_statements(text: &str) -> Vec<Span> {
    split(text).statements
}

/// True if the last statement of the text is not closed by a semicolon, so that an editor should ask for more.
pub fn is_unfinished(text: &str) -> bool {
    split(text).is_open
}

struct Split {
    statements: Vec<Span>,
    /// The last statement, or a comment after it, has no end.
    is_open: bool,
}

fn split(text: &str) -> Split {
    let bytes = text.as_bytes();
    let mut statements = Vec::new();
    let mut piece: Option<Span> = None;
    let mut is_open = false;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        if bytes[at] == b';' {
            statements.extend(piece.take());
            at += 1;
            continue;
        }
        let is_content = match scan::opaque(bytes, at) {
            Some(Opaque::Comment(end)) => {
                at = end.unwrap_or(bytes.len());
                is_open |= end.is_none();
                false
            }
            Some(Opaque::String(end) | Opaque::QuotedName(end)) => {
                at = end.unwrap_or(bytes.len());
                true
            }
            None => {
                let letter = text[at..].chars().next().unwrap_or(' ');
                at += letter.len_utf8();
                !scan::is_blank(letter)
            }
        };
        if is_content {
            let here = Span::new(start, at);
            piece = Some(piece.map_or(here, |so_far| so_far.to(here)));
        }
    }
    is_open |= piece.is_some();
    statements.extend(piece);
    Split { statements, is_open }
}

#[cfg(test)]
mod tests {
    use super::{is_unfinished, split_statements};

    #[test]
    fn texts_are_cut_at_their_semicolons() {
        let check = |text: &str, expected: &[&str]| {
            let pieces: Vec<&str> =
                split_statements(text).iter().map(|span| &text[span.start as usize..span.end as usize]).collect();
            assert_eq!(pieces, expected, "{text}");
        };
        check("", &[]);
        check(" ;; ; ", &[]);
        check("RETURN 1", &["RETURN 1"]);
        check(" RETURN 1 ;\n RETURN 2;", &["RETURN 1", "RETURN 2"]);
        check("RETURN ';' ; RETURN \";\\\";\"", &["RETURN ';'", "RETURN \";\\\";\""]);
        check("RETURN `a;``;b`;", &["RETURN `a;``;b`"]);
        check("// a; b\nRETURN 1 // c;\n;/* d; */ RETURN /*;*/ 2", &["RETURN 1", "RETURN /*;*/ 2"]);
        check("/* only; a comment", &[]);
        check("RETURN 'open; ", &["RETURN 'open; "]);
        check("RETURN 'é\\", &["RETURN 'é\\"]);
        check("\u{feff}RETURN 'ü';é", &["RETURN 'ü'", "é"]);
    }

    #[test]
    fn an_open_statement_is_unfinished() {
        let check = |text: &str, expected: bool| assert_eq!(is_unfinished(text), expected, "{text}");
        check("", false);
        check("RETURN 1;", false);
        check("RETURN 1; // done", false);
        check("RETURN 1", true);
        check("RETURN ';", true);
        check("RETURN 1; MATCH (n)", true);
        check("RETURN 1; /* more", true);
        check(" \n", false);
    }
}
