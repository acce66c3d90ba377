//! Objects of a definition, read key by key: what is misspelt or of the wrong kind is named with its place.

use std::sync::Arc;

use model::suggestion::nearest;
use model::{Error, Result, error};

use super::json::Json;

/// An object whose keys are all known.
pub(super) struct Object<'a> {
    pub(super) place: String,
    pub(super) entries: &'a [(String, Json)],
}

/// A value with its place.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub(super) place: String,
    pub(super) json: &'a Json,
}

impl<'a> Object<'a> {
    /// The value of a key; null counts as absent.
    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let (_, json) = self.entries.iter().find(|(held, json)| held == key && *json != Json::Null)?;
        Some(Field { place: within(&self.place, key), json })
    }

    /// The value of a key that must be there.
    pub(super) fn need(&self, key: &str, what: &str) -> Result<Field<'a>> {
        self.get(key).ok_or_else(|| at(&self.place, format_args!("expected the key `{key}`: {what}")))
    }

    /// True if the key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Every key with its value.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> + '_ {
        self.entries.iter().map(|(key, json)| (key.as_str(), Field { place: within(&self.place, key), json }))
    }

    /// The string of a key that may be absent.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.get(key).map(|field| field.text()).transpose()
    }

    /// Fails if two keys that exclude each other are there.
    pub(super) fn only_one_of(&self, keys: &[&str]) -> Result<()> {
        let given: Vec<&&str> = keys.iter().filter(|key| self.has(key)).collect();
        match given[..] {
            [first, second, ..] => Err(at(&self.place, format_args!("expected `{first}` or `{second}`, found both"))),
            _ => Ok(()),
        }
    }
}

impl<'a> Field<'a> {
    /// The value as an object with these keys only.
    pub(super) fn object(&self, known: &[&str]) -> Result<Object<'a>> {
        let object = self.any_object()?;
        match object.entries.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => Err(unknown_key(&self.place, key, known)),
            None => Ok(object),
        }
    }

    /// The value as an object whose keys are names.
    pub(super) fn any_object(&self) -> Result<Object<'a>> {
        match self.json {
            Json::Object(entries) => Ok(Object { place: self.place.clone(), entries }),
            _ => Err(self.expected("an object")),
        }
    }

    /// The value as a string that is not empty.
    pub(super) fn text(&self) -> Result<&'a str> {
        match self.json {
            Json::Text(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.expected("a text")),
        }
    }

    /// The value as a name.
    pub(super) fn name(&self) -> Result<Arc<str>> {
        Ok(self.text()?.into())
    }

    /// The value, a string or a list of strings, as a list.
    pub(super) fn texts(&self) -> Result<Vec<String>> {
        match self.json {
            Json::List(items) => {
                items.iter().map(|json| Field { json, ..self.clone() }.text().map(str::to_owned)).collect()
            }
            Json::Text(_) => Ok(vec![self.text()?.to_owned()]),
            _ => Err(self.expected("a text or a list of texts")),
        }
    }

    /// The value as true or false.
    pub(super) fn boolean(&self) -> Result<bool> {
        match self.json {
            Json::Bool(yes) => Ok(*yes),
            _ => Err(self.expected("true or false")),
        }
    }

    /// The value as a whole number from `least` to `most`.
    pub(super) fn integer(&self, least: i64, most: i64) -> Result<i64> {
        match self.json {
            Json::Integer(number) if (least..=most).contains(number) => Ok(*number),
            _ => Err(self.expected(&format!("a whole number from {least} to {most}"))),
        }
    }

    /// The value as a number above zero.
    pub(super) fn size(&self) -> Result<f64> {
        match *self.json {
            Json::Integer(number) if number > 0 => Ok(number as f64),
            Json::Number(number) if number > 0.0 && number.is_finite() => Ok(number),
            _ => Err(self.expected("a number above 0")),
        }
    }

    /// The error that states the expected and the found value at this place.
    pub(super) fn expected(&self, what: &str) -> Error {
        at(&self.place, format_args!("expected {what}, found {}", self.json.describe()))
    }
}

/// An error at a place of the definition.
pub(super) fn at(place: &str, message: impl std::fmt::Display) -> Error {
    if place.is_empty() { error!(Definition, "{message}") } else { error!(Definition, "{place}: {message}") }
}

/// One of several names, or what it may have been meant to be.
pub(super) fn choose<T: Copy>(field: &Field<'_>, choices: &[(&str, T)]) -> Result<T> {
    let text = field.text()?;
    if let Some((_, choice)) = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)) {
        return Ok(*choice);
    }
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let failure = field.expected(&format!("one of {}", names.join(", ")));
    Err(match nearest(text, names.iter().copied()) {
        Some(near) => failure.with_remedy(format!("did you mean `{near}`?")),
        None => failure,
    })
}

fn within(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

fn unknown_key(place: &str, key: &str, known: &[&str]) -> Error {
    let failure = at(place, format_args!("there is no key `{key}` here; expected {}", known.join(", ")));
    match nearest(key, known.iter().copied()) {
        Some(near) => failure.with_remedy(format!("did you mean `{near}`?")),
        None => failure,
    }
}
