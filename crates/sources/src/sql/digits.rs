//! Numbers of databases with all their digits.

use model::Value;

/// The decimal digits that an integer of 64 bits holds, whatever they are.
pub const INTEGER_DIGITS: u32 = 18;
/// The decimal digits that every float keeps: numbers of no more are told apart, and put in order, by the floats next to them.
pub const FLOAT_DIGITS: u32 = 15;

/// A number as it is written, in the one way in which equal numbers are written alike: an integer where it is one of 64
/// bits, else a string without zeros at its ends. `None` for what is no plain decimal number.
pub fn number(text: &str) -> Option<Value> {
    let plain = plain(text)?;
    match plain.parse::<i64>() {
        Ok(number) => Some(Value::Int(number)),
        Err(_) => Some(Value::String(plain.into())),
    }
}

/// The digits before and after the point of a plain decimal number.
pub fn width(text: &str) -> Option<(usize, usize)> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(whole) && is_number(fraction) && whole.len() + fraction.len() > 0)
        .then_some((whole.len(), fraction.len()))
}

/// The digits in all, and those after the point, that a declared type says: `numeric(20,2)`, `DECIMAL(18)`; `None` where it
/// does not say them.
pub fn declared(declared: &str) -> Option<(u32, i32)> {
    let (_, rest) = declared.split_once('(')?;
    let (inner, _) = rest.split_once(')')?;
    let (digits, scale) = inner.split_once(',').unwrap_or((inner, "0"));
    Some((digits.trim().parse().ok()?, scale.trim().parse().ok()?))
}

/// Tells whether all numbers with these digits in all and after the point are integers of 64 bits.
pub fn are_integers((digits, scale): (u32, i32)) -> bool {
    scale == 0 && digits <= INTEGER_DIGITS
}

/// Tells whether numbers of a declared type that are shown as floats can be other numbers that the same float shows.
pub fn are_rounded(digits: Option<(u32, i32)>) -> bool {
    digits.is_none_or(|(digits, scale)| digits > FLOAT_DIGITS || scale < 0)
}

fn plain(text: &str) -> Option<String> {
    width(text)?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(match (whole, fraction) {
        ("0", "") => "0".to_owned(),
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    })
}

#[cfg(test)]
mod tests {
    use super::{are_rounded, declared, number, width};

    #[test]
    fn equal_numbers_are_written_alike() {
        for (text, expected) in [
            ("0", Some("0")),
            ("-0.00", Some("0")),
            ("+007", Some("7")),
            ("9223372036854775807", Some("9223372036854775807")),
            ("9223372036854775808", Some("'9223372036854775808'")),
            ("-9223372036854775808.0", Some("-9223372036854775808")),
            ("01.50", Some("'1.5'")),
            ("-.5", Some("'-0.5'")),
            ("1e5", None),
            ("", None),
            (".", None),
            ("abc", None),
            ("NaN", None),
        ] {
            assert_eq!(number(text).map(|value| value.to_string()).as_deref(), expected, "{text}");
        }
        assert_eq!(width("-12.345"), Some((2, 3)));
    }

    #[test]
    fn declared_types_say_how_many_digits_there_are() {
        assert_eq!(declared("numeric(20,2)"), Some((20, 2)));
        assert_eq!(declared("DECIMAL( 18 ) unsigned"), Some((18, 0)));
        assert_eq!(declared("numeric(3,-2)"), Some((3, -2)));
        assert_eq!(declared("NUMERIC"), None);
        assert!(are_rounded(None) && are_rounded(Some((16, 2))) && !are_rounded(Some((15, 2))));
    }
}
