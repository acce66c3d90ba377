//! Ends of words, strings and comments: scanning that the lexer and the splitter of statements share.

/// A stretch of text in which a semicolon or a bracket means nothing; its end, or `None` if it is never closed.
pub(crate) enum Opaque {
    /// `'text'` or `"text"`.
    String(Option<usize>),
    /// `` `name` ``.
    QuotedName(Option<usize>),
    /// `// …` or `/* … */`.
    Comment(Option<usize>),
}

/// The opaque stretch that starts at that byte, if one does.
pub(crate) fn opaque(bytes: &[u8], at: usize) -> Option<Opaque> {
    match bytes[at] {
        quote @ (b'\'' | b'"') => Some(Opaque::String(string_end(bytes, at + 1, quote))),
        b'`' => Some(Opaque::QuotedName(quoted_name_end(bytes, at + 1))),
        b'/' if bytes.get(at + 1) == Some(&b'/') => {
            let length = bytes[at..].iter().position(|&byte| byte == b'\n' || byte == b'\r');
            Some(Opaque::Comment(Some(length.map_or(bytes.len(), |length| at + length))))
        }
        b'/' if bytes.get(at + 1) == Some(&b'*') => {
            let body = &bytes[at + 2..];
            let length = body.windows(2).position(|pair| pair == b"*/");
            Some(Opaque::Comment(length.map(|length| at + 2 + length + 2)))
        }
        _ => None,
    }
}

fn string_end(bytes: &[u8], mut at: usize, quote: u8) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// A doubled backtick stands for one within the name.
fn quoted_name_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            b'`' if bytes.get(at + 1) == Some(&b'`') => at += 2,
            b'`' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// True if a word may start with that letter.
pub(crate) fn starts_word(letter: char) -> bool {
    letter == '_' || letter.is_alphabetic() || matches!(letter, '\u{203f}' | '\u{2040}' | '\u{2054}')
}

/// True if a word may go on with that letter. Besides letters and digits, that is what joins or modifies letters.
pub(crate) fn continues_word(letter: char) -> bool {
    starts_word(letter)
        || letter.is_alphanumeric()
        || matches!(letter, '\u{300}'..='\u{36f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// True if the letter only keeps others apart.
pub(crate) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{1c}'..='\u{1f}' | '\u{180e}' | '\u{feff}')
}
