//! Nodes, relationships and paths, as clients read them.

use crate::message::Map;
use crate::packstream::Value;
use crate::structures::{NODE, PATH, RELATIONSHIP, UNBOUND_RELATIONSHIP};

/// A node as it stands in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number.
    pub number: i64,
    /// Its element id; empty where the version has none.
    pub element: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// Its properties.
    pub properties: Map,
}

/// A relationship as it stands in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Relationship {
    /// Its number.
    pub number: i64,
    /// Its element id; empty where the version has none.
    pub element: String,
    /// The nodes from which and to which it leads: number and element id. `None` within a path, whose steps tell.
    pub ends: Option<[(i64, String); 2]>,
    /// Its type.
    pub kind: String,
    /// Its properties.
    pub properties: Map,
}

/// A path as it stands in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Each node once, the first one first.
    pub nodes: Vec<Node>,
    /// Each relationship once.
    pub relationships: Vec<Relationship>,
    /// The steps: the place of a relationship, true if it is walked in its direction, and the place of the node that it leads to.
    pub steps: Vec<(usize, bool, usize)>,
}

/// A structure that stands for something in the graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Entity {
    /// A node.
    Node(Node),
    /// A relationship.
    Relationship(Relationship),
    /// A path.
    Path(Path),
}

impl Entity {
    /// True if structures of that tag stand for something in the graph.
    pub fn is_tag(tag: u8) -> bool {
        matches!(tag, NODE | RELATIONSHIP | PATH)
    }

    /// Takes a structure apart; `None` if it is none of these, or its fields are not those that it has. Places in the steps of a path
    /// exist.
    pub fn read(tag: u8, fields: Vec<Value>) -> Option<Entity> {
        match tag {
            NODE => node(fields).map(Entity::Node),
            RELATIONSHIP => relationship(fields).map(Entity::Relationship),
            PATH => path(fields).map(Entity::Path),
            _ => None,
        }
    }
}

fn integer(value: &Value) -> Option<i64> {
    if let Value::Int(integer) = value { Some(*integer) } else { None }
}

fn text(value: Value) -> Option<String> {
    if let Value::String(text) = value { Some(text) } else { None }
}

fn map(value: Value) -> Option<Map> {
    if let Value::Map(map) = value { Some(map) } else { None }
}

fn list(value: Value) -> Option<Vec<Value>> {
    if let Value::List(items) = value { Some(items) } else { None }
}

/// The element id that follows, or an empty text at the end of the fields.
fn element(fields: &mut impl Iterator<Item = Value>) -> Option<String> {
    fields.next().map_or(Some(String::new()), text)
}

fn node(fields: Vec<Value>) -> Option<Node> {
    let mut fields = fields.into_iter();
    let number = integer(&fields.next()?)?;
    let labels = list(fields.next()?)?.into_iter().map(text).collect::<Option<_>>()?;
    let properties = map(fields.next()?)?;
    let element = element(&mut fields)?;
    fields.next().is_none().then_some(Node { number, element, labels, properties })
}

fn relationship(fields: Vec<Value>) -> Option<Relationship> {
    let mut fields = fields.into_iter();
    let mut next = || integer(&fields.next()?);
    let (number, source, target) = (next()?, next()?, next()?);
    let kind = text(fields.next()?)?;
    let properties = map(fields.next()?)?;
    let own = element(&mut fields)?;
    let ends = Some([(source, element(&mut fields)?), (target, element(&mut fields)?)]);
    fields.next().is_none().then_some(Relationship { number, element: own, ends, kind, properties })
}

fn unbound(fields: Vec<Value>) -> Option<Relationship> {
    let mut fields = fields.into_iter();
    let number = integer(&fields.next()?)?;
    let kind = text(fields.next()?)?;
    let properties = map(fields.next()?)?;
    let element = element(&mut fields)?;
    fields.next().is_none().then_some(Relationship { number, element, ends: None, kind, properties })
}

fn path(fields: Vec<Value>) -> Option<Path> {
    let [nodes, relationships, steps] = <[Value; 3]>::try_from(fields).ok()?;
    let of_tag = |wanted: u8| {
        move |value: Value| match value {
            Value::Structure(tag, fields) if tag == wanted => Some(fields),
            _ => None,
        }
    };
    let nodes: Vec<Node> = list(nodes)?.into_iter().map(|item| node(of_tag(NODE)(item)?)).collect::<Option<_>>()?;
    let relationships: Vec<Relationship> = list(relationships)?
        .into_iter()
        .map(|item| unbound(of_tag(UNBOUND_RELATIONSHIP)(item)?))
        .collect::<Option<_>>()?;
    let numbers: Vec<i64> = list(steps)?.iter().map(integer).collect::<Option<_>>()?;
    let step = |pair: &[i64]| {
        let &[relationship, node] = pair else { return None };
        let place = usize::try_from(relationship.unsigned_abs()).ok()?.checked_sub(1)?;
        let node = usize::try_from(node).ok()?;
        (place < relationships.len() && node < nodes.len()).then_some((place, relationship > 0, node))
    };
    let steps: Vec<_> = numbers.chunks(2).map(step).collect::<Option<_>>()?;
    (!nodes.is_empty()).then_some(Path { nodes, relationships, steps })
}

#[cfg(test)]
mod tests {
    use super::{Entity, Node, Path, Relationship};
    use crate::encoder::Encoder;
    use crate::packstream::{Limits, Value, decode};
    use crate::structures::{Id, NODE, PATH, RELATIONSHIP};
    use crate::version::Version;

    fn read(write: impl FnOnce(&mut Encoder<'_>)) -> Option<Entity> {
        let mut out = Vec::new();
        write(&mut Encoder::new(&mut out));
        let Ok(Value::Structure(tag, fields)) = decode(&out, Limits::default()) else { panic!("{out:X?}") };
        assert!(Entity::is_tag(tag));
        Entity::read(tag, fields)
    }

    fn id(element: &str) -> Id<'_> {
        Id { number: element.parse().unwrap(), element }
    }

    fn plain(number: i64) -> Node {
        Node { number, element: number.to_string(), labels: vec!["A".into()], properties: Vec::new() }
    }

    fn write_node(out: &mut Encoder<'_>, element: &str) {
        out.node(Version::ALL[0], id(element));
        out.list(1);
        out.string("A");
        out.map(0);
        out.element(Version::ALL[0], id(element));
    }

    #[test]
    fn what_servers_write_is_read() {
        let version = Version::ALL[0];
        assert_eq!(read(|out| write_node(out, "3")), Some(Entity::Node(plain(3))));
        let found = read(|out| {
            out.relationship(version, id("5"), id("1"), id("2"), "R");
            out.map(0);
            out.elements(version, id("5"), id("1"), id("2"));
        });
        let ends = Some([(1, "1".to_owned()), (2, "2".to_owned())]);
        let edge = Relationship { number: 5, element: "5".into(), ends, kind: "R".into(), properties: Vec::new() };
        assert_eq!(found, Some(Entity::Relationship(edge.clone())));
        let found = read(|out| {
            out.path();
            out.list(2);
            write_node(out, "1");
            write_node(out, "2");
            out.list(1);
            out.unbound_relationship(version, id("5"), "R");
            out.map(0);
            out.element(version, id("5"));
            out.list(4);
            [1, 1, -1, 0].into_iter().for_each(|number| out.int(number));
        });
        let relationships = vec![Relationship { ends: None, ..edge }];
        let steps = vec![(0, true, 1), (0, false, 0)];
        assert_eq!(found, Some(Entity::Path(Path { nodes: vec![plain(1), plain(2)], relationships, steps })));
    }

    #[test]
    fn what_is_not_of_their_form_is_none() {
        let node = |number| Value::Structure(NODE, vec![Value::Int(number), Value::List(vec![]), Value::Map(vec![])]);
        let path = |steps: &[i64]| {
            let steps = steps.iter().map(|step| Value::Int(*step)).collect();
            Entity::read(PATH, vec![Value::List(vec![node(1)]), Value::List(vec![]), Value::List(steps)])
        };
        assert!(path(&[]).is_some());
        for steps in [&[1, 0][..], &[0, 0], &[-1, 0], &[1], &[i64::MIN, 0], &[1, -1]] {
            assert_eq!(path(steps), None, "{steps:?}");
        }
        for (tag, count) in [(NODE, 3), (RELATIONSHIP, 8), (PATH, 3)] {
            for fields in 0..=count {
                assert_eq!(Entity::read(tag, vec![Value::Null; fields]), None, "{tag} {fields}");
            }
        }
    }
}
