//! Separated values as text: an absent value is an empty field, an empty string is a quoted one.

/// Adds a field. It is quoted if it is empty or would be read as something else.
pub fn push_field(out: &mut String, field: Option<&str>, delimiter: u8) {
    let Some(text) = field else { return };
    let is_special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r');
    if text.is_empty() || text.bytes().any(is_special) {
        push_quoted(out, text);
    } else {
        out.push_str(text);
    }
}

/// Adds a field within quotes.
pub fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for piece in text.split_inclusive('"') {
        out.push_str(piece);
        if piece.ends_with('"') {
            out.push('"');
        }
    }
    out.push('"');
}

/// Adds a record with its line end. What stands for an absent value is quoted where it is a value.
pub fn push_record<T: AsRef<str>>(
    out: &mut String,
    fields: impl Iterator<Item = Option<T>>,
    delimiter: u8,
    null: &str,
) {
    for (index, field) in fields.enumerate() {
        if index > 0 {
            out.push(char::from(delimiter));
        }
        match field {
            None => out.push_str(null),
            Some(text) if text.as_ref() == null => push_quoted(out, null),
            Some(text) => push_field(out, Some(text.as_ref()), delimiter),
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::push_record;

    #[test]
    fn absent_and_empty_are_told_apart() {
        let fields = || [Some("a"), None, Some(""), Some("x,y"), Some("\"q\""), Some("l\nm"), Some("NULL")].into_iter();
        let mut out = String::new();
        push_record(&mut out, fields(), b',', "");
        assert_eq!(out, "a,,\"\",\"x,y\",\"\"\"q\"\"\",\"l\nm\",NULL\n");
        out.clear();
        push_record(&mut out, fields(), b',', "NULL");
        assert_eq!(out, "a,NULL,\"\",\"x,y\",\"\"\"q\"\"\",\"l\nm\",\"NULL\"\n");
    }
}
