//! Reads a definition from JSON.

use std::sync::Arc;
use std::time::Duration;

use model::Result;
use model::schema::PropertyKind;
use model::suggestion::nearest;

use super::fields::{Field, Object, at, choose};
use super::json::Json;
use super::rows::{EDGE_ROWS, NODE_ROWS, RowsReader};
use super::{CacheSettings, EdgeKind, End, EndNode, GraphDefinition, NodeKind, Prefetch, Property, Rows, url};

const TOP: &[&str] = &[
    "$schema", "description", "url", "engine", "server", "port", "database", "user", "node-space", "node", "nodes",
    "edges", "prefetch", "cache",
];
const NODE: &[&str] = &["description", "label", "labels", "key", "show-key", "properties"];
const EDGE: &[&str] = &["description", "type", "source", "target", "key", "properties"];

/// The label of nodes of a homogeneous node space that do not say theirs.
const NODE_LABEL: &str = "Node";
/// The column that is the key of nodes that do not say theirs.
const NODE_KEY: &str = "id";

pub(super) fn definition(text: &str) -> Result<GraphDefinition> {
    let json = Json::parse(text)?;
    let top = Field { place: String::new(), json: &json }.object(TOP)?;
    let is_homogeneous = is_homogeneous(&top)?;
    let kinds = node_objects(&top, is_homogeneous)?;
    let edges = match top.get("edges") {
        None => Vec::new(),
        Some(edges) => {
            let named = edges.any_object()?;
            let known = [EDGE, EDGE_ROWS].concat();
            named.fields().map(|(name, field)| Ok((name, field.object(&known)?))).collect::<Result<Vec<_>>>()?
        }
    };
    let all = || kinds.iter().chain(&edges).map(|(_, object)| object);
    let is_key_value = url::names_key_values(&top)?
        || !all().any(|object| object.has("table") || object.has("sql") || object.has("file"));
    let mut reader = Reader { is_homogeneous, rows: RowsReader { is_key_value }, nodes: Vec::new() };
    for (name, object) in &kinds {
        let kind = reader.node(name, object)?;
        reader.nodes.push(kind);
    }
    let edges = edges.iter().map(|(name, object)| reader.edge(name, object)).collect::<Result<Vec<_>>>()?;
    let definition = GraphDefinition {
        url: url::of_definition(&top, is_key_value)?,
        nodes: reader.nodes,
        edges,
        prefetch: top.get("prefetch").map(prefetch).transpose()?.unwrap_or_default(),
        cache: top.get("cache").map(cache).transpose()?.unwrap_or_default(),
    };
    definition.check()?;
    Ok(definition)
}

fn is_homogeneous(top: &Object<'_>) -> Result<bool> {
    top.only_one_of(&["node", "nodes"])?;
    match top.get("node-space") {
        None => Ok(top.has("node")),
        Some(space) => {
            let is_homogeneous = choose(&space, &[("homogeneous", true), ("heterogeneous", false)])?;
            let (right, wrong) = if is_homogeneous { ("node", "nodes") } else { ("nodes", "node") };
            if top.has(wrong) {
                let found = format_args!("expected the key `{right}` in this node space, found `{wrong}`");
                return Err(at(&space.place, found));
            }
            Ok(is_homogeneous)
        }
    }
}

fn node_objects<'a>(top: &Object<'a>, is_homogeneous: bool) -> Result<Vec<(&'a str, Object<'a>)>> {
    let known = [NODE, NODE_ROWS].concat();
    if is_homogeneous {
        let node = top.need("node", "the nodes of a homogeneous node space")?;
        return Ok(vec![("node", node.object(&known)?)]);
    }
    let nodes =
        top.need("nodes", "the kinds of nodes by name, or `node` where there is one kind only")?.any_object()?;
    nodes.fields().map(|(name, field)| Ok((name, field.object(&known)?))).collect()
}

struct Reader {
    is_homogeneous: bool,
    rows: RowsReader,
    nodes: Vec<NodeKind>,
}

impl Reader {
    fn node(&self, name: &str, object: &Object<'_>) -> Result<NodeKind> {
        object.only_one_of(&["label", "labels"])?;
        let labels = match (object.get("label"), object.get("labels")) {
            (Some(label), _) => vec![label.name()?],
            (None, Some(labels)) => labels.texts()?.into_iter().map(Arc::from).collect(),
            (None, None) if self.is_homogeneous => vec![NODE_LABEL.into()],
            (None, None) => vec![name.into()],
        };
        let key = match object.get("key") {
            Some(key) => key.texts()?,
            None => vec![NODE_KEY.to_owned()],
        };
        let mut properties = properties(object)?;
        if object.get("show-key").map(|show| show.boolean()).transpose()?.unwrap_or(true) {
            show_key(&key, &mut properties);
        }
        Ok(NodeKind { name: name.into(), labels, rows: self.rows.node(object)?, key, properties })
    }

    fn edge(&self, name: &str, object: &Object<'_>) -> Result<EdgeKind> {
        let rows = self.rows.edge(object, |kind| self.pattern_of(kind, object))?;
        let source = self.end(object, "source", &rows)?;
        let target = self.end(object, "target", &rows)?;
        let edge_type = object.get("type").map(|field| field.name()).transpose()?.unwrap_or_else(|| name.into());
        let key = object.get("key").map(|field| field.texts()).transpose()?.unwrap_or_default();
        Ok(EdgeKind { name: name.into(), edge_type, rows, source, target, key, properties: properties(object)? })
    }

    /// The key pattern of the nodes where the edges start, for the short form with a suffix.
    fn pattern_of(&self, suffix: &str, edge: &Object<'_>) -> Result<String> {
        let node = match edge.get("source") {
            Some(source) => self.end_written(&source, false)?.node,
            None if self.is_homogeneous => EndNode::Kind(0),
            None => {
                return Err(at(&edge.place, "expected the key `source`: the kind of nodes whose key has the suffix"));
            }
        };
        match node {
            EndNode::Kind(kind) => match &self.nodes[kind].rows {
                Rows::Keys(pattern) => Ok(format!("{}:{suffix}", pattern.pattern)),
                _ => Err(at(
                    &edge.place,
                    format_args!("`{}` has no key that a suffix could follow", self.nodes[kind].name),
                )),
            },
            EndNode::Foreign { .. } => {
                Err(at(&edge.place, "nodes of another source have no key that a suffix could follow"))
            }
        }
    }

    fn end(&self, edge: &Object<'_>, which: &str, rows: &Rows) -> Result<End> {
        let keys_are_elsewhere = match rows {
            Rows::Keys(_) => true,
            Rows::ByKey { reverse, scan, .. } => which == "source" && reverse.is_none() && scan.is_none(),
            _ => false,
        };
        let mut end = match edge.get(which) {
            Some(field) => self.end_written(&field, !keys_are_elsewhere)?,
            None if self.is_homogeneous && keys_are_elsewhere => {
                End { node: EndNode::Kind(0), columns: Vec::new(), is_array: false }
            }
            None => {
                let what = if self.is_homogeneous {
                    "the column that holds the node's key"
                } else {
                    "a kind of nodes and its columns, as `Person(person_id)`"
                };
                return Err(edge.need(which, what).err().unwrap_or_else(|| at(&edge.place, what)));
            }
        };
        if let (EndNode::Kind(kind), true) = (&end.node, end.columns.is_empty()) {
            let of = &self.nodes[*kind];
            if !keys_are_elsewhere && of.rows != *rows {
                let (place, name) = (&edge.place, &of.name);
                return Err(at(
                    &format!("{place}.{which}"),
                    format_args!("expected the columns that hold the key of `{name}`, as `{name}(column)`"),
                ));
            }
            end.columns = of.key.clone();
        }
        if let (EndNode::Foreign { property, .. }, true, true) = (&end.node, end.columns.is_empty(), keys_are_elsewhere)
        {
            end.columns = vec![property.to_string()];
        }
        Ok(end)
    }

    /// An end as it is written: `column`, `Kind`, `Kind(column, column)`, `Kind(column[])`, or an object.
    fn end_written(&self, field: &Field<'_>, names_columns: bool) -> Result<End> {
        match field.json {
            Json::Text(_) => self.end_in_short(field, names_columns),
            Json::List(_) if self.is_homogeneous => {
                Ok(End { node: EndNode::Kind(0), columns: field.texts()?, is_array: false })
            }
            _ => self.end_in_full(field),
        }
    }

    fn end_in_short(&self, field: &Field<'_>, names_columns: bool) -> Result<End> {
        let text = field.text()?.trim();
        let (kind, columns) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((kind, columns)) => (Some(kind.trim()), columns),
            None if self.is_homogeneous && names_columns => (None, text),
            None => (Some(text), ""),
        };
        let node = match kind {
            Some(name) => self.kind(field, name)?,
            None => 0,
        };
        let mut columns: Vec<String> = columns.split(',').map(|column| column.trim().to_owned()).collect();
        columns.retain(|column| !column.is_empty());
        let is_array = match &mut columns[..] {
            [column] if column.ends_with("[]") => {
                column.truncate(column.len() - 2);
                true
            }
            _ => false,
        };
        Ok(End { node: EndNode::Kind(node), columns, is_array })
    }

    fn end_in_full(&self, field: &Field<'_>) -> Result<End> {
        let object = field.object(&["node", "label", "property", "column", "columns", "array"])?;
        object.only_one_of(&["node", "label"])?;
        object.only_one_of(&["column", "columns"])?;
        let node = match (object.get("node"), object.get("label")) {
            (Some(node), _) => EndNode::Kind(self.kind(&node, node.text()?)?),
            (None, Some(label)) => EndNode::Foreign {
                label: label.name()?,
                property: object.need("property", "the property that the column holds the value of")?.name()?,
            },
            (None, None) if self.is_homogeneous => EndNode::Kind(0),
            (None, None) => {
                return Err(at(&field.place, "expected the key `node`, or `label` for nodes of another source"));
            }
        };
        let columns = object.get("column").or_else(|| object.get("columns"));
        let columns = columns.map(|columns| columns.texts()).transpose()?.unwrap_or_default();
        let is_array = object.get("array").map(|array| array.boolean()).transpose()?.unwrap_or(false);
        Ok(End { node, columns, is_array })
    }

    fn kind(&self, field: &Field<'_>, name: &str) -> Result<usize> {
        self.nodes.iter().position(|kind| &*kind.name == name).ok_or_else(|| {
            let failure = at(&field.place, format_args!("there are no nodes `{name}` in this definition"));
            match nearest(name, self.nodes.iter().map(|kind| &*kind.name)) {
                Some(near) => failure.with_remedy(format!("did you mean `{near}`?")),
                None => failure,
            }
        })
    }
}

/// Puts the key's columns before the other properties, those that none of them shows.
fn show_key(key: &[String], properties: &mut Vec<Property>) {
    let hidden = key
        .iter()
        .filter(|column| !properties.iter().any(|property| property.column == **column || *property.name == ***column));
    let shown: Vec<Property> =
        hidden.map(|column| Property { name: column.as_str().into(), column: column.clone(), kind: None }).collect();
    properties.splice(0..0, shown);
}

fn properties(object: &Object<'_>) -> Result<Vec<Property>> {
    let Some(field) = object.get("properties") else { return Ok(Vec::new()) };
    match field.json {
        Json::List(items) => {
            let places = (0..).map(|index| format!("{}[{index}]", field.place));
            items.iter().zip(places).map(|(json, place)| property(None, &Field { place, json })).collect()
        }
        Json::Object(_) => field.any_object()?.fields().map(|(name, field)| property(Some(name), &field)).collect(),
        _ => Err(field.expected("a list of properties, or an object of columns by property")),
    }
}

/// A property in a list, or the value of one that is named.
fn property(name: Option<&str>, field: &Field<'_>) -> Result<Property> {
    if let Json::Text(_) = field.json {
        let column = field.text()?;
        return Ok(Property { name: name.unwrap_or(column).into(), column: column.to_owned(), kind: None });
    }
    let object = field.object(if name.is_some() { &["column", "type"] } else { &["name", "column", "type"] })?;
    let (given, column) = (object.text("name")?.or(name), object.text("column")?);
    let Some(column) = column.or(given) else {
        return Err(at(&field.place, "expected the key `name`: the property, and `column` if it is called otherwise"));
    };
    let kind = object.get("type").map(|field| choose(&field, &kinds())).transpose()?;
    Ok(Property { name: given.unwrap_or(column).into(), column: column.to_owned(), kind })
}

/// The types by the names that definitions may use.
fn kinds() -> Vec<(&'static str, PropertyKind)> {
    let mut kinds: Vec<_> = PropertyKind::ALL.iter().map(|kind| (kind.name(), *kind)).collect();
    kinds.extend([
        ("BOOL", PropertyKind::Boolean),
        ("INT", PropertyKind::Integer),
        ("DOUBLE", PropertyKind::Float),
        ("TEXT", PropertyKind::String),
    ]);
    kinds
}

fn prefetch(field: Field<'_>) -> Result<Prefetch> {
    const DEPTH_MAX: i64 = 64;
    if let Json::Text(_) = field.json {
        return choose(&field, &[("adaptive", true), ("none", false)])
            .map(|adaptive| if adaptive { Prefetch::Adaptive } else { Prefetch::None });
    }
    let object = field.object(&["lookahead", "block"])?;
    object.only_one_of(&["lookahead", "block"])?;
    if let Some(depth) = object.get("lookahead") {
        return Ok(Prefetch::Lookahead(depth.integer(1, DEPTH_MAX)? as u32));
    }
    let block = object.need("block", "a size; or `lookahead`: a number of edges")?;
    if let Json::Integer(_) | Json::Number(_) = block.json {
        return Ok(Prefetch::Block { properties: Vec::new(), size: block.size()? });
    }
    let block = block.object(&["properties", "size"])?;
    let properties = block.get("properties").map(|field| field.texts()).transpose()?.unwrap_or_default();
    let size = block.need("size", "the side of the block, in units of the properties")?.size()?;
    Ok(Prefetch::Block { properties: properties.into_iter().map(Arc::from).collect(), size })
}

fn cache(field: Field<'_>) -> Result<CacheSettings> {
    const AGE_MAX_S: f64 = 1e9;
    let object = field.object(&["bytes", "max-age"])?;
    let mut settings = CacheSettings::default();
    if let Some(bytes) = object.get("bytes") {
        settings.bytes_max = quantity(&bytes, &BYTE_UNITS, "a number of bytes, as 268435456 or \"256 MiB\"")? as usize;
    }
    if let Some(age) = object.get("max-age") {
        let what = "a time, as 60 (seconds) or \"5 min\"";
        let seconds = quantity(&age, &TIME_UNITS, what)?;
        if seconds > AGE_MAX_S {
            return Err(age.expected(what));
        }
        settings.age_max = Duration::from_secs_f64(seconds);
    }
    Ok(settings)
}

const BYTE_UNITS: [(&str, f64); 8] = [
    ("", 1.0),
    ("B", 1.0),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
    ("GiB", 1073741824.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
];
const TIME_UNITS: [(&str, f64); 5] = [("", 1.0), ("s", 1.0), ("ms", 1e-3), ("min", 60.0), ("h", 3600.0)];

/// A number, or a string of a number and a unit.
fn quantity(field: &Field<'_>, units: &[(&str, f64)], what: &str) -> Result<f64> {
    let number = match field.json {
        Json::Integer(number) => Some(*number as f64),
        Json::Number(number) => Some(*number),
        Json::Text(text) => {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            let unit = text[end..].trim();
            let factor = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| factor);
            text[..end].parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor)
        }
        _ => None,
    };
    number.filter(|number| *number >= 0.0 && number.is_finite()).ok_or_else(|| field.expected(what))
}
