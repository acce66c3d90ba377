//! `USE name` in front of a statement, by which a server chooses among its databases.

use cypher::lexer;
use cypher::token::{Token, TokenKind};

/// Bytes in which the word must begin for the text to be looked at: comments before it are seldom long.
const LOOKED_AT: usize = 256;
const WORD: &str = "USE";

/// A statement without its `USE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedDatabase {
    /// The name of the database.
    pub name: String,
    /// The statement with blanks in the place of the clause, so that places in it stay the same.
    pub statement: String,
}

/// The database that a statement names in front, behind `EXPLAIN` or `PROFILE` if it has such.
pub fn used_database(text: &str) -> Option<UsedDatabase> {
    let start = &text.as_bytes()[..text.len().min(LOOKED_AT)];
    if !start.windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD.as_bytes())) {
        return None;
    }
    let tokens = lexer::tokens(text).ok()?;
    let word = |token: &Token| &text[token.span.start as usize..token.span.end as usize];
    let is_word = |at: usize, expected: &str| {
        tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word && word(token).eq_ignore_ascii_case(expected))
    };
    let at = usize::from(is_word(0, "EXPLAIN") || is_word(0, "PROFILE"));
    let name = tokens.get(at + 1).filter(|_| is_word(at, WORD))?;
    // `x.y` is a graph of a composite database, `f(x)` one that is computed: there are none, and the parser says so.
    if tokens.get(at + 2).is_some_and(|next| matches!(next.kind, TokenKind::Dot | TokenKind::LeftParen)) {
        return None;
    }
    let chosen = lexer::name_of(text, name)?;
    let (start, end) = (tokens[at].span.start as usize, name.span.end as usize);
    let statement = format!("{}{}{}", &text[..start], " ".repeat(end - start), &text[end..]);
    Some(UsedDatabase { name: chosen, statement })
}

#[cfg(test)]
mod tests {
    use super::used_database;

    #[test]
    fn the_clause_is_found_in_front_only() {
        let check = |text: &str, name: &str, statement: &str| {
            let found = used_database(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((found.name.as_str(), found.statement.as_str()), (name, statement), "{text}");
            assert_eq!(found.statement.len(), text.len());
        };
        check("USE sales MATCH (n) RETURN n", "sales", "          MATCH (n) RETURN n");
        check("/* use */ use `a-b``c` RETURN 1", "a-b`c", "/* use */              RETURN 1");
        check("USE ```a``` RETURN 1", "`a`", "            RETURN 1");
        check("profile USE x\nRETURN 1", "x", "profile      \nRETURN 1");
        check("USE x", "x", "     ");
        for text in [
            "MATCH (n) USE x RETURN n", "RETURN 'USE x'", "USE 'x' RETURN 1", "USE", "use", "USED x",
            "USE a.b RETURN 1", "USE graph.byName('x') RETURN 1", "USE f(1) RETURN 1", "USE 'open",
        ] {
            assert_eq!(used_database(text), None, "{text}");
        }
    }
}
