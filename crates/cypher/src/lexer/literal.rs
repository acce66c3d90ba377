//! The values of literals: numbers, strings and names as written.

use model::{ErrorDetail, Result, Span, error};

use crate::token::TokenKind;

/// Checks the form of a number; its value is checked when it is read.
pub(crate) fn check_number(text: &str, kind: TokenKind) -> Result<()> {
    let (digits, radix) = radix(text);
    let well_formed = match kind {
        TokenKind::Float => {
            text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'_' | b'.' | b'e' | b'E' | b'+' | b'-'))
        }
        _ => !digits.is_empty() && digits.chars().all(|digit| digit == '_' || digit.is_digit(radix)),
    };
    // An underscore joins two digits, so it stands neither at an end nor beside another.
    let well_joined = !(text.starts_with('_') || text.ends_with('_') || text.contains("__"))
        && ["_.", "._", "_e", "e_", "_E", "E_", "_+", "_-"].iter().all(|pair| radix == 16 || !text.contains(pair));
    if !well_formed || !well_joined {
        return Err(error!(Syntax::InvalidNumberLiteral, "expected a number, found {}", excerpt(text)).with_remedy(
            "write integers as 42, 0x2a or 0o52, floats as 1.5 or 1e9, and names that start with a digit in backticks",
        ));
    }
    if kind == TokenKind::Integer && radix == 10 && text.len() > 1 && text.starts_with('0') {
        return Err(error!(
            Syntax::InvalidNumberLiteral,
            "expected an integer without leading zeros, found {}",
            excerpt(text)
        )
        .with_remedy("write octal integers as 0o17"));
    }
    Ok(())
}

/// The digits of an integer and their base.
fn radix(text: &str) -> (&str, u32) {
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'o' | b'O', ..] => (&text[2..], 8),
        _ => (text, 10),
    }
}

/// The value of an integer literal, with the sign that stands before it.
pub(crate) fn integer(text: &str, negative: bool, span: Span) -> Result<i64> {
    let (digits, radix) = radix(text);
    let mut plain = String::with_capacity(digits.len() + 1);
    if negative {
        plain.push('-');
    }
    plain.extend(digits.chars().filter(|&digit| digit != '_'));
    i64::from_str_radix(&plain, radix).map_err(|_| {
        error!(
            Syntax::IntegerOverflow,
            "expected an integer between {} and {}, found {}",
            i64::MIN,
            i64::MAX,
            excerpt(text)
        )
        .at(span)
        .with_remedy("write it as a float, or as a string")
    })
}

/// The value of a floating-point literal.
pub(crate) fn float(text: &str, span: Span) -> Result<f64> {
    let plain: String = text.chars().filter(|&digit| digit != '_').collect();
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(error!(
            Syntax::FloatingPointOverflow,
            "expected a float of at most {:e}, found {}",
            f64::MAX,
            excerpt(text)
        )
        .at(span)),
    }
}

/// The value of a name in backticks.
pub(crate) fn quoted_name(text: &str, span: Span) -> Result<String> {
    let inner = &text[1..text.len() - 1];
    if inner.is_empty() {
        return Err(error!(Syntax, "expected a name, found empty backticks").at(span));
    }
    Ok(inner.replace("``", "`"))
}

/// The value of a string literal with its quotes, which starts at that byte of the query.
pub(crate) fn string(text: &str, start: usize) -> Result<String> {
    let inner = &text[1..text.len() - 1];
    if !inner.contains('\\') {
        return Ok(inner.to_owned());
    }
    let mut value = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        let offset = start + 1 + (inner.len() - rest.len()) + at;
        let (letter, length) = escape(&rest[at..]).ok_or_else(|| bad_escape(&rest[at..], offset))?;
        value.push(letter);
        rest = &rest[at + length..];
    }
    value.push_str(rest);
    Ok(value)
}

/// The character that an escape stands for, and the length of the escape.
fn escape(text: &str) -> Option<(char, usize)> {
    let letter = match text.as_bytes().get(1)? {
        b'\\' => '\\',
        b'\'' => '\'',
        b'"' => '"',
        b'`' => '`',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'U' => return Some((char::from_u32(hex(text, 2, 8)?)?, 10)),
        b'u' => return unicode_escape(text),
        _ => return None,
    };
    Some((letter, 2))
}

/// `\uXXXX`, or two of them that are the halves of one character.
fn unicode_escape(text: &str) -> Option<(char, usize)> {
    let first = hex(text, 2, 4)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((letter, 6));
    }
    let second = text.get(6..8).filter(|mark| *mark == "\\u").and_then(|_| hex(text, 8, 4))?;
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    Some((char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))?, 12))
}

fn hex(text: &str, start: usize, length: usize) -> Option<u32> {
    let digits = text.get(start..start + length)?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

fn bad_escape(text: &str, offset: usize) -> model::Error {
    let found: String = text.chars().take(2).collect();
    let what = match found.as_str() {
        "\\u" => "four hexadecimal digits of a character after \\u",
        "\\U" => "eight hexadecimal digits of a character after \\U",
        _ => "an escape of a string",
    };
    let shown: String = text.chars().take(if found.eq_ignore_ascii_case("\\u") { 6 } else { 2 }).collect();
    let is_number = found.eq_ignore_ascii_case("\\u");
    let detail = if is_number { ErrorDetail::InvalidUnicodeLiteral } else { ErrorDetail::UnexpectedSyntax };
    error!(Syntax, "expected {what}, found {shown}")
        .with_detail(detail)
        .at(Span::new(offset, offset + found.len()))
        .with_remedy("the escapes are \\\\ \\' \\\" \\b \\f \\n \\r \\t \\uXXXX \\UXXXXXXXX; write a backslash as \\\\")
}

/// The start of a text that may be long.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN_CHARS: usize = 40;
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
