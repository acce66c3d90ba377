//! The normal forms of Unicode: one spelling for texts that look the same.

use model::interrupt::work;
use model::{Result, Value, error};
use unicode_normalization::UnicodeNormalization;

use super::{Body, Function, text};

pub(super) const NORMALIZE: Function = Function {
    name: "normalize",
    arguments_min: 1,
    arguments_max: Some(2),
    usage: "normalize(text[, form])",
    description: "The text in a normal form of Unicode: `NFC` by default, `NFD`, `NFKC` or `NFKD`.",
    examples: &[
        ("normalize('e\\u0301') = '\\u00e9'", "true"),
        ("size(normalize('\\u00e9', NFD))", "2"),
        ("normalize('\\ufb01', NFKC)", "'fi'"),
    ],
    body: Body::Strict(|values| {
        let form = form("normalize", values)?;
        form.of(text("normalize", &values[0])?).map(Value::from)
    }),
};

pub(super) const IS_NORMALIZED: Function = Function {
    name: "isNormalized",
    arguments_min: 1,
    arguments_max: Some(2),
    usage: "isNormalized(text[, form])",
    description: "True if a string is in a normal form of Unicode; also written `text IS [form] NORMALIZED`. Null for \
                  other values.",
    examples: &[
        ("isNormalized('e\\u0301')", "false"),
        ("isNormalized('e\\u0301', 'NFD')", "true"),
        ("isNormalized(1)", "null"),
    ],
    body: Body::Strict(|values| {
        let form = form("isNormalized", values)?;
        match &values[0] {
            Value::String(text) => Ok(Value::Bool(form.has(text))),
            _ => Ok(Value::Null),
        }
    }),
};

enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

/// The form that the second argument names.
fn form(function: &str, values: &[Value]) -> Result<Form> {
    let Some(name) = values.get(1) else { return Ok(Form::Nfc) };
    match text(function, name)?.to_ascii_uppercase().as_str() {
        "NFC" => Ok(Form::Nfc),
        "NFD" => Ok(Form::Nfd),
        "NFKC" => Ok(Form::Nfkc),
        "NFKD" => Ok(Form::Nfkd),
        other => Err(error!(Argument, "{function}() needs NFC, NFD, NFKC or NFKD, found {other}")),
    }
}

/// The characters as a text.
fn joined(characters: impl Iterator<Item = char>) -> Result<String> {
    let mut text = String::new();
    for character in characters {
        work(1)?;
        text.push(character);
    }
    Ok(text)
}

impl Form {
    fn of(&self, text: &str) -> Result<String> {
        match self {
            Form::Nfc => joined(text.nfc()),
            Form::Nfd => joined(text.nfd()),
            Form::Nfkc => joined(text.nfkc()),
            Form::Nfkd => joined(text.nfkd()),
        }
    }

    fn has(&self, text: &str) -> bool {
        match self {
            Form::Nfc => unicode_normalization::is_nfc(text),
            Form::Nfd => unicode_normalization::is_nfd(text),
            Form::Nfkc => unicode_normalization::is_nfkc(text),
            Form::Nfkd => unicode_normalization::is_nfkd(text),
        }
    }
}
