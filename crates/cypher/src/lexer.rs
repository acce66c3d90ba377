//! Text to tokens.
//!
//! Invariant: the last token is the only one of kind `End`, and the spans of tokens never overlap.

use model::interrupt::work;
use model::{ErrorDetail, Result, Span, error, limits};

use crate::token::{Token, TokenKind};

pub(crate) mod literal;
pub(crate) mod scan;

use scan::Opaque;

/// The name that a token of a text is, without its backticks; `None` if it is none.
pub fn name_of(text: &str, token: &Token) -> Option<String> {
    let word = &text[token.span.start as usize..token.span.end as usize];
    match token.kind {
        TokenKind::Word => Some(word.to_owned()),
        TokenKind::QuotedName => literal::quoted_name(word, token.span).ok(),
        _ => None,
    }
}

/// The tokens of a text, without its blanks and comments.
pub fn tokens(text: &str) -> Result<Vec<Token>> {
    if text.len() > limits::QUERY_BYTES_MAX {
        return Err(error!(Limit, "the query is {} bytes long, the limit is {}", text.len(), limits::QUERY_BYTES_MAX)
            .with_remedy("pass data as parameters, or import it"));
    }
    let mut lexer = Lexer { text, at: 0, tokens: Vec::with_capacity(text.len() / 5 + 1) };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<()> {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            work(1)?;
            let start = self.at;
            if byte.is_ascii_whitespace() {
                self.at += 1;
            } else if let Some(opaque) = scan::opaque(self.text.as_bytes(), start) {
                self.opaque(opaque)?;
            } else if byte.is_ascii_digit() || byte == b'.' && self.byte(1).is_some_and(|next| next.is_ascii_digit()) {
                self.number()?;
            } else if byte == b'$' {
                self.parameter()?;
            } else if let Some((kind, length)) = self.sign(byte) {
                self.at += length;
                self.push(kind, start);
            } else {
                self.word()?;
            }
        }
        self.push(TokenKind::End, self.at);
        Ok(())
    }

    /// The byte so far ahead.
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.tokens.push(Token { kind, span: Span::new(start, self.at) });
    }

    /// A string, a name in backticks, or a comment.
    fn opaque(&mut self, opaque: Opaque) -> Result<()> {
        let start = self.at;
        let (kind, end) = match opaque {
            Opaque::Comment(end) => (None, end),
            Opaque::String(end) => (Some(TokenKind::String), end),
            Opaque::QuotedName(end) => (Some(TokenKind::QuotedName), end),
        };
        let Some(end) = end else {
            let (what, closing) = match opaque {
                Opaque::Comment(_) => ("comment", "*/".to_owned()),
                Opaque::String(_) => ("string", self.text[start..start + 1].to_owned()),
                Opaque::QuotedName(_) => ("name in backticks", "`".to_owned()),
            };
            return Err(error!(Syntax, "expected {closing} to close the {what}, found the end of the query")
                .at(Span::new(start, start + 1)));
        };
        self.at = end;
        if let Some(kind) = kind {
            self.push(kind, start);
        }
        Ok(())
    }

    /// `$name`, `$1`, `` $`name` ``; `$(` is left to the parser, which knows what it would mean.
    fn parameter(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        if self.byte(0) == Some(b'`') {
            return match scan::opaque(self.text.as_bytes(), self.at) {
                Some(Opaque::QuotedName(Some(end))) => {
                    self.at = end;
                    self.push(TokenKind::Parameter, start);
                    Ok(())
                }
                _ => Err(error!(Syntax, "expected ` to close the name in backticks, found the end of the query")
                    .at(Span::new(start, self.at + 1))),
            };
        }
        self.skip_word_rest();
        if self.at == start + 1 {
            if self.byte(0) == Some(b'(') {
                self.push(TokenKind::Dollar, start);
                return Ok(());
            }
            return Err(error!(Syntax, "expected the name of a parameter after $, found {}", self.found())
                .at(Span::new(start, self.at)));
        }
        self.push(TokenKind::Parameter, start);
        Ok(())
    }

    /// A number in any notation. What is glued to it belongs to it, so that `12ab` is one mistake and not two tokens.
    fn number(&mut self) -> Result<()> {
        let start = self.at;
        let mut kind = TokenKind::Integer;
        if self.byte(0) == Some(b'0') && self.byte(1).is_some_and(|mark| mark.is_ascii_alphabetic()) {
            self.skip_word_rest();
        } else {
            self.skip_digits();
            if self.byte(0) == Some(b'.') && self.byte(1).is_some_and(|next| next.is_ascii_digit()) {
                kind = TokenKind::Float;
                self.at += 1;
                self.skip_digits();
            }
            if matches!(self.byte(0), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
                if self.byte(1 + sign).is_some_and(|digit| digit.is_ascii_digit()) {
                    kind = TokenKind::Float;
                    self.at += 1 + sign;
                    self.skip_digits();
                }
            }
            self.skip_word_rest();
        }
        self.push(kind, start);
        // The value is read when the parser knows whether a minus sign belongs to it; the form is checked here.
        literal::check_number(&self.text[start..self.at], kind).map_err(|error| {
            let is_key = self.text[..start].trim_end().ends_with(['{', ','])
                && self.text[self.at..].trim_start().starts_with(':');
            let error = if is_key { error.with_detail(ErrorDetail::UnexpectedSyntax) } else { error };
            error.at(Span::new(start, self.at))
        })
    }

    fn skip_digits(&mut self) {
        while self.byte(0).is_some_and(|digit| digit.is_ascii_digit() || digit == b'_') {
            self.at += 1;
        }
    }

    fn skip_word_rest(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find(|letter| !scan::continues_word(letter)).unwrap_or(rest.len());
    }

    /// A keyword or name, a blank of Unicode, or a character that belongs nowhere.
    fn word(&mut self) -> Result<()> {
        let start = self.at;
        let Some(first) = self.text[start..].chars().next() else { return Ok(()) };
        self.at += first.len_utf8();
        if scan::is_blank(first) {
            return Ok(());
        }
        if let Some(kind) = unicode_sign(first) {
            self.push(kind, start);
            return Ok(());
        }
        if !scan::starts_word(first) {
            let is_ascii = first.is_ascii();
            let detail = if is_ascii { ErrorDetail::UnexpectedSyntax } else { ErrorDetail::InvalidUnicodeCharacter };
            return Err(error!(Syntax, "expected a word or a sign, found the character {first:?}")
                .with_detail(detail)
                .at(Span::new(start, self.at)));
        }
        self.skip_word_rest();
        self.push(TokenKind::Word, start);
        Ok(())
    }

    /// Describes what stands at the current place in words.
    fn found(&self) -> String {
        match self.text[self.at..].chars().next() {
            Some(letter) => format!("{letter:?}"),
            None => "the end of the query".to_owned(),
        }
    }

    /// The sign of ASCII at the current place and its length.
    fn sign(&self, byte: u8) -> Option<(TokenKind, usize)> {
        let next = self.byte(1);
        let one = |kind| Some((kind, 1));
        let two = |kind| Some((kind, 2));
        match (byte, next) {
            (b':', Some(b':')) => two(TokenKind::DoubleColon),
            (b'.', Some(b'.')) => two(TokenKind::DotDot),
            (b'+', Some(b'=')) => two(TokenKind::PlusEqual),
            (b'=', Some(b'=')) => two(TokenKind::DoubleEqual),
            (b'=', Some(b'~')) => two(TokenKind::Matches),
            (b'<', Some(b'>')) => two(TokenKind::NotEqual),
            (b'!', Some(b'=')) => two(TokenKind::BangEqual),
            (b'<', Some(b'=')) => two(TokenKind::LessEqual),
            (b'>', Some(b'=')) => two(TokenKind::GreaterEqual),
            (b'|', Some(b'|')) => two(TokenKind::DoubleBar),
            (b'(', _) => one(TokenKind::LeftParen),
            (b')', _) => one(TokenKind::RightParen),
            (b'[', _) => one(TokenKind::LeftBracket),
            (b']', _) => one(TokenKind::RightBracket),
            (b'{', _) => one(TokenKind::LeftBrace),
            (b'}', _) => one(TokenKind::RightBrace),
            (b',', _) => one(TokenKind::Comma),
            (b';', _) => one(TokenKind::Semicolon),
            (b':', _) => one(TokenKind::Colon),
            (b'.', _) => one(TokenKind::Dot),
            (b'+', _) => one(TokenKind::Plus),
            (b'-', _) => one(TokenKind::Minus),
            (b'*', _) => one(TokenKind::Star),
            (b'/', _) => one(TokenKind::Slash),
            (b'%', _) => one(TokenKind::Percent),
            (b'^', _) => one(TokenKind::Caret),
            (b'=', _) => one(TokenKind::Equal),
            (b'<', _) => one(TokenKind::Less),
            (b'>', _) => one(TokenKind::Greater),
            (b'|', _) => one(TokenKind::Bar),
            (b'&', _) => one(TokenKind::Ampersand),
            (b'!', _) => one(TokenKind::Bang),
            _ => None,
        }
    }
}

/// The dashes and arrow heads that the grammar of openCypher lists beside those of ASCII.
fn unicode_sign(letter: char) -> Option<TokenKind> {
    match letter {
        '\u{ad}' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => {
            Some(TokenKind::Minus)
        }
        '\u{27e8}' | '\u{3008}' | '\u{fe64}' | '\u{ff1c}' => Some(TokenKind::Less),
        '\u{27e9}' | '\u{3009}' | '\u{fe65}' | '\u{ff1e}' => Some(TokenKind::Greater),
        _ => None,
    }
}
