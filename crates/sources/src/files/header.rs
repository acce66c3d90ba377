//! The header of a file of separated values: names, the types they state, and whether the first line is a header at all.

use model::{Result, error};

use super::{FieldType, ReadOptions, TypedHeader};

/// Customary names of the column with the key of an edge's source.
pub const SOURCE_NAMES: [&str; 6] = ["source", "src", "from", "start", "source_id", "from_id"];
/// Customary names of the column with the key of an edge's target.
pub const TARGET_NAMES: [&str; 7] = ["target", "dst", "to", "end", "target_id", "to_id", "destination"];

/// The names of the columns and the types they state.
pub(super) struct NamesAndTypes {
    pub(super) names: Vec<String>,
    pub(super) types: Vec<Option<FieldType>>,
}

impl NamesAndTypes {
    pub(super) fn of_header(header: &[String], options: &ReadOptions) -> Result<NamesAndTypes> {
        let typed = options.typed_header == TypedHeader::Detect && header.iter().any(|field| is_typed(field));
        // neo4j-admin takes fields without a type for text; in other files they are inferred as ever.
        let has_roles = header.iter().any(|field| split(field).is_some_and(|(_, word, _)| role_of(word).is_some()));
        let mut names = Vec::new();
        let mut types = Vec::new();
        for (index, field) in header.iter().enumerate() {
            let (name, mut stated) = if typed { split_typed(field)? } else { (field.clone(), None) };
            if !has_roles && !is_typed(field) {
                stated = None;
            }
            let name = if name.is_empty() { format!("column{}", index + 1) } else { unused(name, &names) };
            let chosen = options.types.iter().find(|(column, _)| *column == name).map(|(_, chosen)| chosen.clone());
            let declared = options.declared.iter().find(|(column, _)| *column == name);
            names.push(name);
            types.push(chosen.or(stated).or_else(|| declared.and_then(|(_, kind)| kind.clone())));
        }
        Ok(NamesAndTypes { names, types })
    }
}

/// The names of the columns of a file whose first record that is, or `None` if that record is their header.
///
/// An error if a header is missing: names that are all numbers are the first row of a file without one.
pub(super) fn names_without_header(first: &[String], options: &ReadOptions) -> Result<Option<Vec<String>>> {
    if let Some(names) = &options.header {
        return Ok(Some(names.clone()));
    }
    let is_named = |name: &str| first.iter().any(|field| field.eq_ignore_ascii_case(name));
    // Ends of edges are declared without a type, and their columns have customary names.
    let names_ends = options.declared.first().is_some_and(|(_, kind)| kind.is_none())
        && SOURCE_NAMES.iter().any(|name| is_named(name))
        && TARGET_NAMES.iter().any(|name| is_named(name));
    let declared = || options.declared.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    match options.has_header {
        Some(true) => return Ok(None),
        Some(false) if options.declared.len() == first.len() => return Ok(Some(declared())),
        Some(false) => return Err(not_as_declared(first, &declared())),
        None if options.declared.len() == first.len()
            && !options.declared.iter().any(|(name, _)| is_named(name))
            && !names_ends
            && !first.iter().any(|field| is_typed(field)) =>
        {
            return Ok(Some(declared()));
        }
        // A file of nodes that names none of the declared columns has no key either.
        None if options.declared.first().is_some_and(|(_, kind)| kind.is_some())
            && !options.declared.iter().any(|(name, _)| is_named(name))
            && !first.iter().any(|field| is_typed(field)) =>
        {
            return Err(not_as_declared(first, &declared()));
        }
        None => {}
    }
    let is_number = |field: &String| field.contains(|c: char| c.is_ascii_digit()) && field.parse::<f64>().is_ok();
    if first.iter().all(is_number) {
        let count = first.len();
        let found = first.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(error!(Import, "line 1: expected the names of the columns, found numbers ({found}): no header")
            .with_remedy(format!("name the {count} columns: --header name,name,…, or names = 'name,name,…' in COPY")));
    }
    Ok(None)
}

/// The error for a first line that has neither the names nor the number of the declared columns.
fn not_as_declared(first: &[String], declared: &[String]) -> model::Error {
    let (found, names) = (first.len(), declared.join(", "));
    error!(Import, "line 1: expected the declared columns ({names}), found {found} fields")
        .with_remedy("name the columns of the file: names = 'name,name,…'")
}

/// The name, or with a number if an earlier column has it: files of edges often name both ends alike.
fn unused(name: String, names: &[String]) -> String {
    if !names.contains(&name) || name.starts_with(':') {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    numbered.into_iter().find(|other| !names.contains(other)).unwrap_or(name)
}

/// Words of neo4j-admin that say what a column is for, not what type it has.
const ROLES: [&str; 6] = ["ID", "LABEL", "START_ID", "END_ID", "TYPE", "IGNORE"];

/// A field `name:word{options}` in its parts.
fn split(field: &str) -> Option<(&str, &str, Option<&str>)> {
    let (plain, options) = match field.strip_suffix('}').and_then(|field| field.rsplit_once('{')) {
        Some((plain, options)) => (plain, Some(options)),
        None => (field, None),
    };
    plain.rsplit_once(':').map(|(name, word)| (name, word, options))
}

fn role_of(suffix: &str) -> Option<&str> {
    let word = suffix.split_once('(').map_or(suffix, |(word, _)| word);
    ROLES.iter().find(|role| word.eq_ignore_ascii_case(role)).map(|_| word)
}

pub(super) fn is_typed(field: &str) -> bool {
    split(field).is_some_and(|(_, word, _)| role_of(word).is_some() || FieldType::of_name(word).is_some())
}

/// Splits `name:type`; a role stays with the name (`id:ID(Person)`), and its values are strings unless they are
/// inferred.
fn split_typed(field: &str) -> Result<(String, Option<FieldType>)> {
    let Some((name, word, options)) = split(field) else {
        return Ok((field.to_string(), Some(FieldType::String)));
    };
    if let Some(role) = role_of(word) {
        let text = !role.eq_ignore_ascii_case("ID") && !role.to_ascii_uppercase().ends_with("_ID");
        return Ok((field.to_string(), text.then_some(FieldType::String)));
    }
    if let Some(options) = options {
        let remedy = match word.to_ascii_lowercase().as_str() {
            "point" => "leave the options out, and write the system with each point, as in {x: 1, y: 2, crs: 'WGS-84'}",
            _ => "leave the options out, and write the zone with each value",
        };
        return Err(error!(Import, "line 1: the header's field '{field}' has options ({options}) that are not known")
            .with_remedy(remedy));
    }
    match FieldType::of_name(word) {
        Some(field_type) => Ok((name.to_string(), Some(field_type))),
        None => Err(error!(Import, "line 1: the header's field '{field}' names an unknown type '{word}'")
            .with_remedy("use int, float, boolean, string, date, localtime, time, localdatetime, datetime, duration, json, or one of them with []")),
    }
}
