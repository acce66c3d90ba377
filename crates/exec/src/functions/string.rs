//! Functions of texts. Positions and lengths count characters, not bytes.

use model::interrupt::{collected, work};
use model::limits::LIST_ELEMENTS_MAX;
use model::value::Nested;
use model::{Result, Value, error};

use super::normal_form::{IS_NORMALIZED, NORMALIZE};
use super::{Body, Function, integer, mismatch, text};
use crate::allocations::BYTES_OF_WORK;
use crate::context::EvaluationContext;

pub(super) const FUNCTIONS: &[&Function] = &[
    &TO_UPPER, &UPPER, &TO_LOWER, &LOWER, &TRIM, &LTRIM, &RTRIM, &BTRIM, &REPLACE, &SPLIT, &SUBSTRING, &LEFT, &RIGHT,
    &CHAR_LENGTH, &CHARACTER_LENGTH, &NORMALIZE, &IS_NORMALIZED,
];

const TO_UPPER: Function = Function {
    name: "toUpper",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "toUpper(text)",
    description: "The text in upper case.",
    examples: &[("toUpper('Straße')", "'STRASSE'"), ("toUpper(null)", "null")],
    body: Body::Text(|text, out| in_pieces(text, true, |piece| out.push_str(&piece.to_uppercase()))),
};

/// Bytes of a text that are changed between two looks at the interrupt.
const PIECE_BYTES: usize = 64 << 10;

/// Hands a text to `each` in pieces. Unless every character `is_alone`, they end behind white space: a sigma at the end of
/// a word has a small letter of its own.
fn in_pieces(text: &str, is_alone: bool, mut each: impl FnMut(&str)) -> Result<()> {
    let mut rest = text;
    while rest.len() > PIECE_BYTES {
        work(PIECE_BYTES / BYTES_OF_WORK)?;
        let is_end = |at: usize| if is_alone { rest.is_char_boundary(at) } else { rest.as_bytes()[at - 1] == b' ' };
        let Some(end) = (PIECE_BYTES..rest.len()).find(|&at| is_end(at)) else { break };
        each(&rest[..end]);
        rest = &rest[end..];
    }
    each(rest);
    Ok(())
}

const UPPER: Function = Function {
    name: "upper",
    usage: "upper(text)",
    description: "The same as `toUpper`.",
    examples: &[("upper('a1')", "'A1'")],
    ..TO_UPPER
};

const TO_LOWER: Function = Function {
    name: "toLower",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "toLower(text)",
    description: "The text in lower case.",
    examples: &[("toLower('ABC')", "'abc'")],
    body: Body::Text(|text, out| in_pieces(text, !text.contains('Σ'), |piece| out.push_str(&piece.to_lowercase()))),
};

const LOWER: Function = Function {
    name: "lower",
    usage: "lower(text)",
    description: "The same as `toLower`.",
    examples: &[("lower('A1')", "'a1'")],
    ..TO_LOWER
};

const TRIM: Function = Function {
    name: "trim",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "trim(text)",
    description: "The text without white space at its ends.",
    examples: &[("trim('  a b ')", "'a b'")],
    body: Body::Text(|text, out| {
        out.push_str(text.trim());
        Ok(())
    }),
};

const LTRIM: Function = Function {
    name: "ltrim",
    arguments_min: 1,
    arguments_max: Some(2),
    usage: "ltrim(text, characters)",
    description: "The text without white space, or without any of these characters, at its start.",
    examples: &[("ltrim('  a ')", "'a '"), ("ltrim('xyaxy', 'xy')", "'axy'")],
    body: Body::Strict(|values| trimmed("ltrim", values, Ends::Start)),
};

const RTRIM: Function = Function {
    name: "rtrim",
    arguments_min: 1,
    arguments_max: Some(2),
    usage: "rtrim(text, characters)",
    description: "The text without white space, or without any of these characters, at its end.",
    examples: &[("rtrim('  a ')", "'  a'"), ("rtrim('xyaxy', 'xy')", "'xya'")],
    body: Body::Strict(|values| trimmed("rtrim", values, Ends::End)),
};

const BTRIM: Function = Function {
    name: "btrim",
    arguments_min: 1,
    arguments_max: Some(2),
    usage: "btrim(text, characters)",
    description: "The text without white space, or without any of these characters, at both ends.",
    examples: &[("btrim(' a ')", "'a'"), ("btrim('xyaxy', 'xy')", "'a'")],
    body: Body::Strict(|values| trimmed("btrim", values, Ends::Both)),
};

/// The ends of a string that are trimmed.
#[derive(Clone, Copy)]
enum Ends {
    Start,
    End,
    Both,
}

fn trimmed(function: &str, values: &[Value], ends: Ends) -> Result<Value> {
    let set = values.get(1).map(|set| text(function, set)).transpose()?;
    let is_trimmed = |c: char| set.map_or(c.is_whitespace(), |set| set.contains(c));
    let whole = text(function, &values[0])?;
    Ok(Value::string(match ends {
        Ends::Start => whole.trim_start_matches(is_trimmed),
        Ends::End => whole.trim_end_matches(is_trimmed),
        Ends::Both => whole.trim_matches(is_trimmed),
    }))
}

const REPLACE: Function = Function {
    name: "replace",
    arguments_min: 3,
    arguments_max: Some(3),
    usage: "replace(text, part, by)",
    description: "The text with every occurrence of the part replaced.",
    examples: &[("replace('hello', 'l', 'w')", "'hewwo'"), ("replace('a', null, 'b')", "null")],
    body: Body::Strict(replace),
};

fn replace(values: &[Value]) -> Result<Value> {
    let (whole, part, by) = (text("replace", &values[0])?, text("replace", &values[1])?, text("replace", &values[2])?);
    let added = by.len().saturating_sub(part.len());
    // Only where it could matter are the occurrences counted.
    if whole.len().saturating_add(1).saturating_mul(added) > LIST_ELEMENTS_MAX {
        let size = whole.matches(part).count().saturating_mul(added).saturating_add(whole.len());
        if size > LIST_ELEMENTS_MAX {
            return Err(error!(Limit, "replace() makes a text of {size} bytes: at most {LIST_ELEMENTS_MAX} fit"));
        }
    }
    let (mut replaced, mut from) = (String::new(), 0);
    for (at, _) in whole.match_indices(part) {
        work(1 + (at - from + by.len()) / BYTES_OF_WORK)?;
        replaced.push_str(&whole[from..at]);
        replaced.push_str(by);
        from = at + part.len();
    }
    replaced.push_str(&whole[from..]);
    Ok(Value::from(replaced))
}

const SPLIT: Function = Function {
    name: "split",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "split(text, separator)",
    description: "The parts of the text between separators: a string, or any of a list of strings; an empty one \
                  separates all characters.",
    examples: &[
        ("split('one,two', ',')", "['one', 'two']"),
        ("split('a,b;c', [',', ';'])", "['a', 'b', 'c']"),
        ("split('abc', '')", "['a', 'b', 'c']"),
        ("split('', ',')", "['']"),
    ],
    body: Body::Batch(|arguments, rows, context| {
        super::by_rows(arguments, rows, |values| super::unless_null(values, |values| split(values, context)))
    }),
};

/// Bytes of parts of a text that are noted at a time.
const NOTED_BYTES: usize = 64 << 10;

fn split(values: &[Value], context: &EvaluationContext<'_>) -> Result<Value> {
    let whole = text("split", &values[0])?;
    let separators: Vec<&str> = match &values[1] {
        Value::String(separator) => vec![separator],
        Value::List(list) => list.iter().map(|item| text("split", item)).collect::<Result<_>>()?,
        other => return Err(mismatch("split", "a string or a list of strings", other)),
    };
    let part_bytes = |characters: usize| size_of::<Value>() + 2 * size_of::<usize>() + characters;
    if separators.iter().any(|separator| separator.is_empty()) {
        context.made(SPLIT.usage, whole.chars().count().saturating_mul(part_bytes(1)))?;
        let characters = collected(whole.chars().map(|c| Value::string(c.encode_utf8(&mut [0; 4]))))?;
        return Ok(Value::List(Nested::flat(characters)));
    }
    let (mut parts, mut rest, mut bytes) = (Vec::new(), whole, 0);
    loop {
        let found = separators.iter().filter_map(|separator| Some((rest.find(separator)?, separator.len()))).min();
        let Some((at, length)) = found else { break };
        work(1 + at / BYTES_OF_WORK)?;
        parts.push(Value::string(&rest[..at]));
        rest = &rest[at + length..];
        bytes += part_bytes(at);
        if bytes > NOTED_BYTES {
            context.made(SPLIT.usage, std::mem::take(&mut bytes))?;
        }
    }
    parts.push(Value::string(rest));
    context.made(SPLIT.usage, bytes + part_bytes(rest.len()))?;
    Ok(Value::list(parts))
}

const SUBSTRING: Function = Function {
    name: "substring",
    arguments_min: 2,
    arguments_max: Some(3),
    usage: "substring(text, start, length)",
    description: "The part of the text from a position (0 is the first), to the end or of that length.",
    examples: &[
        ("substring('hello', 1, 3)", "'ell'"),
        ("substring('hello', 2)", "'llo'"),
        ("substring('ab', 5)", "''"),
    ],
    body: Body::Strict(substring),
};

fn substring(values: &[Value]) -> Result<Value> {
    let rest = skip_characters(text("substring", &values[0])?, count("substring", "start", &values[1])?);
    match values.get(2) {
        None => Ok(Value::string(rest)),
        Some(length) => Ok(Value::string(first_characters(rest, count("substring", "length", length)?))),
    }
}

const LEFT: Function = Function {
    name: "left",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "left(text, length)",
    description: "The first characters of the text.",
    examples: &[("left('hello', 2)", "'he'"), ("left('a', 9)", "'a'")],
    body: Body::Strict(|values| {
        let length = count("left", "length", &values[1])?;
        Ok(Value::string(first_characters(text("left", &values[0])?, length)))
    }),
};

const RIGHT: Function = Function {
    name: "right",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "right(text, length)",
    description: "The last characters of the text.",
    examples: &[("right('hello', 2)", "'lo'"), ("right('a', 9)", "'a'")],
    body: Body::Strict(|values| {
        let (whole, length) = (text("right", &values[0])?, count("right", "length", &values[1])?);
        Ok(Value::string(skip_characters(whole, whole.chars().count().saturating_sub(length))))
    }),
};

fn count(function: &str, argument: &str, value: &Value) -> Result<usize> {
    let given = integer(function, value)?;
    usize::try_from(given)
        .map_err(|_| error!(Argument, "the {argument} of {function}() is {given}: expected 0 or more"))
}

fn skip_characters(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or("", |(at, _)| &text[at..])
}

fn first_characters(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(at, _)| &text[..at])
}

const CHAR_LENGTH: Function = Function {
    name: "char_length",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "char_length(text)",
    description: "The number of characters of the text.",
    examples: &[("char_length('größe')", "5")],
    body: Body::Strict(|values| Ok(Value::Int(text("char_length", &values[0])?.chars().count() as i64))),
};

const CHARACTER_LENGTH: Function = Function {
    name: "character_length",
    usage: "character_length(text)",
    description: "The same as `char_length`.",
    examples: &[("character_length('')", "0")],
    ..CHAR_LENGTH
};
