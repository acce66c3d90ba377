//! Encoding of constraints and indexes: the same bytes in the manifest and in the log.

use std::sync::Arc;

use crate::error::Result;
use crate::id::{EdgeTypeId, LabelId, PropertyKeyId};
use crate::schema::{Constraint, Index, PropertyKind, PropertyType, Rule, Subject};

use super::bytes::{Get, Put};

const LABEL: u8 = 0;
const EDGE_TYPE: u8 = 1;

const UNIQUE: u8 = 0;
const KEY: u8 = 1;
const EXISTS: u8 = 2;
const TYPE: u8 = 3;
const LIST_TYPE: u8 = 4;
const ENDS: u8 = 5;

/// Adds a constraint.
pub fn put_constraint(constraint: &Constraint, out: &mut Vec<u8>) {
    out.put_text(&constraint.name);
    put_subject(constraint.subject, out);
    put_keys(&constraint.keys, out);
    let (rule, kind) = match constraint.rule {
        Rule::Unique => (UNIQUE, None),
        Rule::Key => (KEY, None),
        Rule::Exists => (EXISTS, None),
        Rule::Type(PropertyType::One(kind)) => (TYPE, Some(kind)),
        Rule::Type(PropertyType::List(kind)) => (LIST_TYPE, Some(kind)),
        Rule::Ends { .. } => (ENDS, None),
    };
    out.push(rule);
    let number = kind.and_then(|kind| PropertyKind::ALL.iter().position(|of| *of == kind));
    out.extend(number.map(|number| number as u8));
    if let Rule::Ends { from, to } = constraint.rule {
        out.put_u32(from.0);
        out.put_u32(to.0);
    }
}

/// The next constraint.
pub fn constraint(get: &mut Get<'_>) -> Result<Constraint> {
    let (name, subject, keys) = (Arc::from(get.text()?), subject(get)?, any_keys(get)?);
    let rule = match get.u8()? {
        UNIQUE => Rule::Unique,
        KEY => Rule::Key,
        EXISTS => Rule::Exists,
        TYPE => Rule::Type(PropertyType::One(kind(get)?)),
        LIST_TYPE => Rule::Type(PropertyType::List(kind(get)?)),
        ENDS => Rule::Ends { from: LabelId(get.u32()?), to: LabelId(get.u32()?) },
        number => return Err(get.damage(format!("no rule of a constraint has the number {number}"))),
    };
    if keys.is_empty() != matches!(rule, Rule::Ends { .. }) {
        return Err(get.damage("a constraint names properties where its rule has none, or none where it has some"));
    }
    Ok(Constraint { name, subject, keys, rule })
}

/// Adds an index.
pub fn put_index(index: &Index, out: &mut Vec<u8>) {
    out.put_text(&index.name);
    put_subject(index.subject, out);
    put_keys(&index.keys, out);
}

/// The next index.
pub fn index(get: &mut Get<'_>) -> Result<Index> {
    Ok(Index { name: Arc::from(get.text()?), subject: subject(get)?, keys: keys(get)? })
}

fn kind(get: &mut Get<'_>) -> Result<PropertyKind> {
    let number = get.u8()?;
    let kind = PropertyKind::ALL.get(usize::from(number)).copied();
    kind.ok_or_else(|| get.damage(format!("no type of a property has the number {number}")))
}

/// Adds what a constraint or index is about.
pub fn put_subject(subject: Subject, out: &mut Vec<u8>) {
    let (tag, id) = match subject {
        Subject::Label(label) => (LABEL, label.0),
        Subject::EdgeType(edge_type) => (EDGE_TYPE, edge_type.0),
    };
    out.push(tag);
    out.put_u32(id);
}

/// Reads the subject of a constraint or index.
pub fn subject(get: &mut Get<'_>) -> Result<Subject> {
    match (get.u8()?, get.u32()?) {
        (LABEL, id) => Ok(Subject::Label(LabelId(id))),
        (EDGE_TYPE, id) => Ok(Subject::EdgeType(EdgeTypeId(id))),
        (tag, _) => Err(get.damage(format!("no subject of a constraint has the number {tag}"))),
    }
}

/// Adds property keys.
pub fn put_keys(keys: &[PropertyKeyId], out: &mut Vec<u8>) {
    out.put_u32(keys.len() as u32);
    keys.iter().for_each(|key| out.put_u32(key.0));
}

/// Property keys, one at least.
pub fn keys(get: &mut Get<'_>) -> Result<Vec<PropertyKeyId>> {
    let keys = any_keys(get)?;
    if keys.is_empty() {
        return Err(get.damage("an index names no property"));
    }
    Ok(keys)
}

fn any_keys(get: &mut Get<'_>) -> Result<Vec<PropertyKeyId>> {
    (0..get.count(4)?).map(|_| Ok(PropertyKeyId(get.u32()?))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::id::{EdgeTypeId, LabelId, PropertyKeyId};
    use crate::{Constraint, Index, PropertyKind, PropertyType, Rule, Subject};

    use super::{constraint, index, put_constraint, put_index};
    use crate::codec::bytes::Get;

    #[test]
    fn what_is_written_is_read() {
        let label = Subject::Label(LabelId(3));
        let edge_type = Subject::EdgeType(EdgeTypeId(7));
        let (a, b) = (PropertyKeyId(1), PropertyKeyId(9));
        for (subject, keys, rule) in [
            (label, vec![a], Rule::Unique),
            (label, vec![b, a], Rule::Key),
            (edge_type, vec![a], Rule::Exists),
            (edge_type, vec![a], Rule::Type(PropertyType::One(PropertyKind::LocalDateTime))),
            (label, vec![a], Rule::Type(PropertyType::List(PropertyKind::Boolean))),
            (edge_type, vec![], Rule::Ends { from: LabelId(3), to: LabelId(u32::MAX) }),
        ] {
            let mut bytes = Vec::new();
            let written = Constraint { name: "a name".into(), subject, keys: keys.clone(), rule };
            put_constraint(&written, &mut bytes);
            let mut get = Get::new(&bytes, Path::new("test"), 0);
            assert_eq!(constraint(&mut get).unwrap(), written);
            assert_eq!(get.left(), 0);
            if keys.is_empty() {
                continue;
            }

            let mut bytes = Vec::new();
            let written = Index { name: "i".into(), subject, keys };
            put_index(&written, &mut bytes);
            let mut get = Get::new(&bytes, Path::new("test"), 0);
            assert_eq!(index(&mut get).unwrap(), written);
            assert_eq!(get.left(), 0);
        }
    }
}
