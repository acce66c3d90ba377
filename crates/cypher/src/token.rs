//! The words and signs that a Cypher text is made of.

use model::Span;

/// One word or sign of a text; its text is the slice at its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: TokenKind,
    /// Place in the text.
    pub span: Span,
}

/// Kinds of tokens. Keywords are words: the place of a word decides if it is a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword or a plain name.
    Word,
    /// A name in backticks.
    QuotedName,
    /// An integer, as written.
    Integer,
    /// A floating-point number, as written.
    Float,
    /// A string with its quotes.
    String,
    /// `$name`.
    Parameter,
    /// `$` before a parenthesis.
    Dollar,
    /// `(`.
    LeftParen,
    /// `)`.
    RightParen,
    /// `[`.
    LeftBracket,
    /// `]`.
    RightBracket,
    /// `{`.
    LeftBrace,
    /// `}`.
    RightBrace,
    /// `,`.
    Comma,
    /// `;`.
    Semicolon,
    /// `:`.
    Colon,
    /// `::`.
    DoubleColon,
    /// `.`.
    Dot,
    /// `..`.
    DotDot,
    /// `+`.
    Plus,
    /// `+=`.
    PlusEqual,
    /// `-`, or one of the dashes of Unicode.
    Minus,
    /// `*`.
    Star,
    /// `/`.
    Slash,
    /// `%`.
    Percent,
    /// `^`.
    Caret,
    /// `=`.
    Equal,
    /// `==`, which other languages have.
    DoubleEqual,
    /// `=~`.
    Matches,
    /// `<>`.
    NotEqual,
    /// `!=`, which other languages have.
    BangEqual,
    /// `<`, or one of the arrow heads of Unicode.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`, or one of the arrow heads of Unicode.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `|`.
    Bar,
    /// `||`.
    DoubleBar,
    /// `&`.
    Ampersand,
    /// `!`.
    Bang,
    /// The end of the text.
    End,
}

impl TokenKind {
    /// Name of an expected token in error messages.
    pub(crate) fn description(self) -> &'static str {
        match self {
            TokenKind::Word | TokenKind::QuotedName => "a name",
            TokenKind::Integer => "an integer",
            TokenKind::Float => "a number",
            TokenKind::String => "a string",
            TokenKind::Parameter | TokenKind::Dollar => "a parameter",
            TokenKind::LeftParen => "(",
            TokenKind::RightParen => ")",
            TokenKind::LeftBracket => "[",
            TokenKind::RightBracket => "]",
            TokenKind::LeftBrace => "{",
            TokenKind::RightBrace => "}",
            TokenKind::Comma => ",",
            TokenKind::Semicolon => ";",
            TokenKind::Colon => ":",
            TokenKind::DoubleColon => "::",
            TokenKind::Dot => ".",
            TokenKind::DotDot => "..",
            TokenKind::Plus => "+",
            TokenKind::PlusEqual => "+=",
            TokenKind::Minus => "-",
            TokenKind::Star => "*",
            TokenKind::Slash => "/",
            TokenKind::Percent => "%",
            TokenKind::Caret => "^",
            TokenKind::Equal => "=",
            TokenKind::DoubleEqual => "==",
            TokenKind::Matches => "=~",
            TokenKind::NotEqual => "<>",
            TokenKind::BangEqual => "!=",
            TokenKind::Less => "<",
            TokenKind::LessEqual => "<=",
            TokenKind::Greater => ">",
            TokenKind::GreaterEqual => ">=",
            TokenKind::Bar => "|",
            TokenKind::DoubleBar => "||",
            TokenKind::Ampersand => "&",
            TokenKind::Bang => "!",
            TokenKind::End => "the end of the query",
        }
    }
}

/// Every keyword, for completion and for highlighting.
#[rustfmt::skip]
pub const KEYWORDS: &[&str] = &[
    "ALL", "AND", "ANY", "AS", "ASC", "ASCENDING", "ASSERT", "BEGIN", "BY", "CALL", "CASE", "COLLECT", "COMMIT",
    "CONSTRAINT", "CONSTRAINTS", "CONTAINS", "COUNT", "CREATE", "DELETE", "DESC", "DESCENDING", "DETACH", "DISTINCT",
    "DROP", "ELSE", "END", "ENDS", "EXISTS", "EXPLAIN", "FALSE", "FILTER", "FINISH", "FOR", "FOREACH", "IF", "IN", "INF", "INFINITY", "IS",
    "KEY", "KEYS", "LET",
    "LIMIT", "MATCH", "MERGE", "NAN", "NONE", "NOT", "NULL", "OFFSET", "ON", "OPTIONAL", "OR", "ORDER", "PROFILE", "REDUCE",
    "REMOVE", "REQUIRE", "RETURN", "ROLLBACK", "SET", "SHOW", "SINGLE", "SKIP", "SORT", "STARTS", "THEN", "TRANSACTION",
    "TRUE", "UNION", "UNIQUE", "UNWIND", "WHEN", "WHERE", "WITH", "XOR", "YIELD",
];

/// Keywords that are variables only in backticks, because the grammar could not tell otherwise.
#[rustfmt::skip]
pub(crate) const RESERVED: &[&str] = &[
    "AND", "AS", "CASE", "CONTAINS", "CREATE", "DELETE", "DISTINCT", "ENDS", "FALSE", "IN", "INF", "INFINITY", "IS",
    "MATCH", "MERGE", "NAN", "NOT", "NULL", "OR", "REMOVE", "RETURN", "SET", "STARTS", "TRUE", "UNION", "UNWIND",
    "WHERE", "WITH", "XOR",
];

/// True if the word, in whatever case, is in the list.
pub(crate) fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}
