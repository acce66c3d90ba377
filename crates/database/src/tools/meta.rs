//! The shape of the graph as `db.schema.*` and `apoc.meta.*` tell it: counts from the store's statistics, which are exact, and
//! properties and pairs of labels from a sample of nodes and relationships, spread over the store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::procedure::{ArgumentSpec, ProcedureContext, YieldSpec};
use model::{Constraint, EdgeTypeId, LabelId, PropertyKeyId, ReadView, Result, Schema, Subject, Value};

use super::{Rows, Surroundings, Tool, also, flag, of, setting, text, texts, tool, with};
use crate::picture;
use crate::shape::{KeyShape, Properties, Shape};

/// Nodes of each label, and relationships of each type, that are looked at unless a caller says how many.
const SAMPLE: u64 = 1_000;

const CONFIG: &[ArgumentSpec] = &[ArgumentSpec {
    name: "config",
    type_name: "MAP",
    description: "sample: how many nodes of each label are looked at, 1000 if left out, -1 for all.",
    default: Some(|| Value::map([])),
}];
const PICTURE: &[YieldSpec] = &[of("nodes", "LIST<NODE>"), of("relationships", "LIST<RELATIONSHIP>")];
const NODE_TYPE: &[YieldSpec] =
    &[text("nodeType"), texts("nodeLabels"), text("propertyName"), texts("propertyTypes"), flag("mandatory")];
const REL_TYPE: &[YieldSpec] = &[text("relType"), text("propertyName"), texts("propertyTypes"), flag("mandatory")];
const DATA: &[YieldSpec] = &[
    text("label"),
    text("property"),
    of("count", "INTEGER"),
    flag("unique"),
    flag("index"),
    flag("existence"),
    text("type"),
    flag("array"),
    of("sample", "LIST<ANY>"),
    of("left", "INTEGER"),
    of("right", "INTEGER"),
    texts("other"),
    texts("otherLabels"),
    text("elementType"),
];
const VALUE: &[YieldSpec] = &[of("value", "MAP")];
const STATS: &[YieldSpec] = &[
    of("labelCount", "INTEGER"),
    of("relTypeCount", "INTEGER"),
    of("propertyKeyCount", "INTEGER"),
    of("nodeCount", "INTEGER"),
    of("relCount", "INTEGER"),
    of("labels", "MAP"),
    of("relTypes", "MAP"),
    of("relTypesCount", "MAP"),
    of("stats", "MAP"),
];
const INDEX: &[YieldSpec] = &[
    text("name"),
    text("label"),
    texts("properties"),
    text("status"),
    text("type"),
    text("failure"),
    of("populationProgress", "FLOAT"),
    of("size", "INTEGER"),
    of("valuesSelectivity", "FLOAT"),
    text("userDescription"),
];

pub(super) fn tools() -> Vec<Tool> {
    let sampled = |tool| with(CONFIG, tool);
    vec![
        tool("db.schema.visualization", "A node for each label, a relationship for each type.", PICTURE, drawing),
        tool("db.schema.nodeTypeProperties", "The properties of nodes, by their labels.", NODE_TYPE, node_types),
        tool("db.schema.relTypeProperties", "The properties of relationships, by their type.", REL_TYPE, rel_types),
        sampled(tool("apoc.meta.data", "The properties and relationships of each label.", DATA, data)),
        sampled(tool("apoc.meta.schema", "The same as one map.", VALUE, schema_map)),
        sampled(also(
            &["apoc.meta.graphSample"],
            tool("apoc.meta.graph", "A node for each label, a relationship for each type.", PICTURE, drawing),
        )),
        tool("apoc.meta.stats", "How many nodes and relationships there are.", STATS, stats),
        sampled(tool("apoc.schema.nodes", "The indexes and constraints of nodes.", INDEX, indexes)),
    ]
}

fn shape(context: &ProcedureContext<'_>, arguments: &[Value]) -> Result<Shape> {
    let sample = match setting(arguments, "sample")? {
        None => Some(SAMPLE),
        Some(number) => u64::try_from(number).ok().map(|number| number.max(1)),
    };
    Shape::draw(context.graph.view(), sample, context.interrupt)
}

fn drawing(_: &Surroundings, context: &mut ProcedureContext<'_>, arguments: &[Value]) -> Result<Rows> {
    let shape = shape(context, arguments)?;
    let nodes = shape.labels.keys().map(|&label| Value::Node(picture::node(label))).collect();
    let pairs = shape.types.iter().flat_map(|(&edge_type, held)| held.pairs.keys().map(move |pair| (pair, edge_type)));
    let edges = pairs.filter_map(|(&(source, target), edge_type)| picture::edge(source, edge_type, target));
    Ok(vec![vec![Value::list(nodes), Value::list(edges.map(Value::Edge).collect())]])
}

/// True if a rule of these labels or this type demands the property.
fn is_demanded(schema: &Schema, subjects: &[Subject], key: PropertyKeyId) -> bool {
    let demands =
        |held: &Constraint| held.is_mandatory() && held.keys.contains(&key) && subjects.contains(&held.subject);
    schema.constraints.iter().any(demands)
}

/// Rows of properties in the words of `db.schema.*`; one without a property where there is none.
fn property_rows(schema: &Schema, head: &[Value], subjects: &[Subject], held: &Properties, is_exact: bool) -> Rows {
    let row = |rest: [Value; 3]| head.iter().cloned().chain(rest).collect::<Vec<Value>>();
    if held.keys.is_empty() {
        return vec![row([Value::Null, Value::Null, Value::Bool(false)])];
    }
    let property = |(&key, found): (&PropertyKeyId, &KeyShape)| {
        let types = found.types.iter().map(|name| Value::string(java_name(name, false)));
        let types = types.chain(found.lists.iter().map(|name| Value::string(java_name(name, true))));
        let is_everywhere = is_exact && found.present == held.sampled;
        let is_mandatory = is_everywhere || is_demanded(schema, subjects, key);
        let name = Value::string(schema.property_key_name(key));
        row([name, Value::list(types.collect()), Value::Bool(is_mandatory)])
    };
    held.keys.iter().map(property).collect()
}

fn node_types(_: &Surroundings, context: &mut ProcedureContext<'_>, arguments: &[Value]) -> Result<Rows> {
    let shape = shape(context, arguments)?;
    let schema = context.graph.view().schema();
    let mut rows = Vec::new();
    for (labels, held) in &shape.kinds {
        let names: Vec<&str> = labels.iter().map(|&label| schema.label_name(label)).collect();
        let node_type: String = names.iter().map(|name| format!(":`{name}`")).collect();
        let head = [Value::string(&node_type), strings(&names)];
        let subjects: Vec<Subject> = labels.iter().map(|&label| Subject::Label(label)).collect();
        // All nodes of a kind were met if all of one of its labels were.
        let is_exact = labels.iter().any(|label| shape.labels.get(label).is_some_and(Properties::is_exact));
        rows.extend(property_rows(schema, &head, &subjects, held, is_exact));
    }
    Ok(rows)
}

fn rel_types(_: &Surroundings, context: &mut ProcedureContext<'_>, arguments: &[Value]) -> Result<Rows> {
    let shape = shape(context, arguments)?;
    let schema = context.graph.view().schema();
    let rows = shape.types.iter().flat_map(|(&edge_type, held)| {
        let head = [Value::string(&format!(":`{}`", schema.edge_type_name(edge_type)))];
        let (subjects, properties) = ([Subject::EdgeType(edge_type)], &held.properties);
        property_rows(schema, &head, &subjects, properties, properties.is_exact())
    });
    Ok(rows.collect())
}

/// The facts of a property that the rules and indexes of its label or type tell.
struct Marks {
    is_unique: bool,
    is_indexed: bool,
    exists: bool,
}

impl Marks {
    fn of(schema: &Schema, subject: Subject, key: PropertyKeyId) -> Marks {
        let mut rules = schema.constraints.iter().filter(|held| held.subject == subject);
        let is_unique = rules.any(|held| held.is_unique() && held.keys == [key]);
        let has_index = schema.indexes.iter().any(|index| index.subject == subject && index.keys.contains(&key));
        Marks { is_unique, is_indexed: is_unique || has_index, exists: is_demanded(schema, &[subject], key) }
    }
}

fn data(_: &Surroundings, context: &mut ProcedureContext<'_>, arguments: &[Value]) -> Result<Rows> {
    let shape = shape(context, arguments)?;
    let schema = context.graph.view().schema();
    let mut rows = Vec::new();
    for (&label, held) in &shape.labels {
        let name = schema.label_name(label);
        rows.extend(data_rows(schema, name, "node", Subject::Label(label), held));
        for (&edge_type, held) in &shape.types {
            let others: Vec<&str> =
                held.pairs.keys().filter(|pair| pair.0 == label).map(|pair| schema.label_name(pair.1)).collect();
            let count: u64 = held.pairs.iter().filter(|(pair, _)| pair.0 == label).map(|(_, count)| count).sum();
            if !others.is_empty() {
                rows.push(relationship_row(name, schema.edge_type_name(edge_type), count, &others, "node"));
            }
        }
    }
    for (&edge_type, held) in &shape.types {
        let name = schema.edge_type_name(edge_type);
        rows.extend(data_rows(schema, name, "relationship", Subject::EdgeType(edge_type), &held.properties));
        for (source, others, count) in by_source(&held.pairs) {
            let others: Vec<&str> = others.iter().map(|&label| schema.label_name(label)).collect();
            rows.push(relationship_row(name, schema.label_name(source), count, &others, "relationship"));
        }
    }
    Ok(rows)
}

/// For each label of sources the labels of targets, and how many relationships there are about.
fn by_source(pairs: &BTreeMap<(LabelId, LabelId), u64>) -> Vec<(LabelId, Vec<LabelId>, u64)> {
    let mut found: BTreeMap<LabelId, (Vec<LabelId>, u64)> = BTreeMap::new();
    for (&(source, target), &count) in pairs {
        let held = found.entry(source).or_default();
        held.0.push(target);
        held.1 += count;
    }
    found.into_iter().map(|(source, (targets, count))| (source, targets, count)).collect()
}

fn data_rows(schema: &Schema, name: &str, element: &str, subject: Subject, held: &Properties) -> Rows {
    let row = |(&key, found): (&PropertyKeyId, &KeyShape)| {
        let marks = Marks::of(schema, subject, key);
        vec![
            Value::string(name),
            Value::string(schema.property_key_name(key)),
            Value::Int(estimate(held, found)),
            Value::Bool(marks.is_unique),
            Value::Bool(marks.is_indexed),
            Value::Bool(marks.exists),
            Value::string(apoc_name(found)),
            Value::Bool(!found.lists.is_empty()),
            Value::Null,
            Value::Int(0),
            Value::Int(0),
            Value::list(Vec::new()),
            Value::list(Vec::new()),
            Value::string(element),
        ]
    };
    held.keys.iter().map(row).collect()
}

/// About how many nodes or relationships have the property.
fn estimate(held: &Properties, found: &KeyShape) -> i64 {
    let share = found.present as f64 / held.sampled.max(1) as f64;
    (share * held.count as f64).round() as i64
}

fn relationship_row(label: &str, property: &str, count: u64, others: &[&str], element: &str) -> Vec<Value> {
    vec![
        Value::string(label),
        Value::string(property),
        Value::Int(count as i64),
        Value::Bool(false),
        Value::Bool(false),
        Value::Bool(false),
        Value::string("RELATIONSHIP"),
        Value::Bool(true),
        Value::Null,
        Value::Int(0),
        Value::Int(0),
        strings(others),
        Value::list(Vec::new()),
        Value::string(element),
    ]
}

fn schema_map(_: &Surroundings, context: &mut ProcedureContext<'_>, arguments: &[Value]) -> Result<Rows> {
    let shape = shape(context, arguments)?;
    let schema = context.graph.view().schema();
    let mut all = Vec::new();
    for (&label, held) in &shape.labels {
        let mut relationships = Vec::new();
        for (&edge_type, of_type) in &shape.types {
            let name: Arc<str> = Arc::from(schema.edge_type_name(edge_type));
            let others = |direction: &str| {
                let pairs = of_type.pairs.iter().filter_map(|(&(source, target), &count)| match direction {
                    "out" => (source == label).then_some((target, count)),
                    _ => (target == label).then_some((source, count)),
                });
                pairs.collect::<Vec<(LabelId, u64)>>()
            };
            let (out, into) = (others("out"), others("in"));
            let (direction, pairs) = match (out.is_empty(), into.is_empty()) {
                (true, true) => continue,
                (false, _) => ("out", out),
                (true, false) => ("in", into),
            };
            let labels: BTreeSet<&str> = pairs.iter().map(|(other, _)| schema.label_name(*other)).collect();
            let labels: Vec<&str> = labels.into_iter().collect();
            let count = pairs.iter().map(|(_, count)| *count as i64).sum();
            let subject = Subject::EdgeType(edge_type);
            let entry = map([
                ("direction", Value::string(direction)),
                ("count", Value::Int(count)),
                ("labels", strings(&labels)),
                ("properties", property_map(schema, subject, &of_type.properties)),
            ]);
            relationships.push((name, entry));
        }
        let entry = map([
            ("type", Value::string("node")),
            ("count", Value::Int(held.count as i64)),
            ("labels", Value::list(Vec::new())),
            ("properties", property_map(schema, Subject::Label(label), held)),
            ("relationships", Value::map(relationships)),
        ]);
        all.push((Arc::from(schema.label_name(label)), entry));
    }
    for (&edge_type, held) in &shape.types {
        let name: Arc<str> = Arc::from(schema.edge_type_name(edge_type));
        // A label of the same name is told; the map has one entry for each.
        if all.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let properties = property_map(schema, Subject::EdgeType(edge_type), &held.properties);
        let count = Value::Int(held.properties.count as i64);
        all.push((name, map([("type", Value::string("relationship")), ("count", count), ("properties", properties)])));
    }
    Ok(vec![vec![Value::map(all)]])
}

fn property_map(schema: &Schema, subject: Subject, held: &Properties) -> Value {
    let entry = |(&key, found): (&PropertyKeyId, &KeyShape)| {
        let marks = Marks::of(schema, subject, key);
        let facts = map([
            ("type", Value::string(apoc_name(found))),
            ("array", Value::Bool(!found.lists.is_empty())),
            ("unique", Value::Bool(marks.is_unique)),
            ("indexed", Value::Bool(marks.is_indexed)),
            ("existence", Value::Bool(marks.exists)),
        ]);
        (Arc::from(schema.property_key_name(key)), facts)
    };
    Value::map(held.keys.iter().map(entry).collect::<Vec<_>>())
}

fn stats(_: &Surroundings, context: &mut ProcedureContext<'_>, _: &[Value]) -> Result<Rows> {
    let view: &dyn ReadView = context.graph.view();
    let (schema, statistics) = (view.schema(), view.statistics());
    let labels = (0..schema.labels.len() as u32).map(LabelId).filter(|&label| statistics.label(label) > 0);
    let labels = labels.map(|label| (Arc::from(schema.label_name(label)), count(statistics.label(label))));
    let types: Vec<EdgeTypeId> = (0..schema.edge_types.len() as u32)
        .map(EdgeTypeId)
        .filter(|&edge_type| statistics.edge_type(edge_type) > 0)
        .collect();
    let named = |form: fn(&str) -> String| {
        let entry = |&edge_type: &EdgeTypeId| {
            (Arc::from(form(schema.edge_type_name(edge_type))), count(statistics.edge_type(edge_type)))
        };
        Value::map(types.iter().map(entry).collect::<Vec<(Arc<str>, Value)>>())
    };
    let labels = Value::map(labels.collect::<Vec<(Arc<str>, Value)>>());
    let facts = [
        ("labelCount", count(schema.labels.len() as u64)),
        ("relTypeCount", count(schema.edge_types.len() as u64)),
        ("propertyKeyCount", count(schema.property_keys.len() as u64)),
        ("nodeCount", count(statistics.nodes)),
        ("relCount", count(statistics.edges)),
        ("labels", labels),
        ("relTypes", named(|name| format!("()-[:{name}]->()"))),
        ("relTypesCount", named(str::to_owned)),
    ];
    let whole = map(facts.clone());
    Ok(vec![facts.into_iter().map(|(_, value)| value).chain([whole]).collect()])
}

fn indexes(_: &Surroundings, context: &mut ProcedureContext<'_>, _: &[Value]) -> Result<Rows> {
    let view = context.graph.view();
    let (schema, statistics) = (view.schema(), view.statistics());
    let row = |name: &str, kind: &str, subject: Subject, keys: &[PropertyKeyId]| {
        let Subject::Label(label) = subject else { return None };
        let size = statistics.label(label);
        let sketch = statistics.sketches.as_ref().zip(keys.first()).filter(|_| keys.len() == 1);
        let distinct = sketch.and_then(|(sketches, &key)| sketches.values.get(&(label, key))).map(|held| held.distinct);
        let share = |distinct: u64| Value::Float((distinct as f64 / size.max(1) as f64).min(1.0));
        let selectivity = if kind == "UNIQUENESS" { Value::Float(1.0) } else { distinct.map_or(Value::Null, share) };
        let keys: Vec<&str> = keys.iter().map(|&key| schema.property_key_name(key)).collect();
        let label = schema.label_name(label);
        Some(vec![
            Value::string(&format!(":{label}({})", keys.join(","))),
            Value::string(label),
            strings(&keys),
            Value::string("ONLINE"),
            Value::string(kind),
            Value::string("NO FAILURE"),
            Value::Float(100.0),
            count(size),
            selectivity,
            Value::string(name),
        ])
    };
    let unique = schema.constraints.iter().filter(|held| held.is_unique());
    let unique = unique.filter_map(|held| row(&held.name, "UNIQUENESS", held.subject, &held.keys));
    let free = schema.indexes.iter().filter(|index| schema.owner(index).is_none());
    Ok(unique.chain(free.filter_map(|index| row(&index.name, "RANGE", index.subject, &index.keys))).collect())
}

fn count(count: u64) -> Value {
    Value::Int(count as i64)
}

fn strings(texts: &[&str]) -> Value {
    Value::list(texts.iter().map(|text| Value::string(text)).collect())
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::map(entries.map(|(name, value)| (Arc::from(name), value)))
}

/// The name of a type in `apoc.meta.*`; `ANY` where values are of several, or none was met.
fn apoc_name(found: &KeyShape) -> &'static str {
    let mut types = found.types.iter().copied();
    match (types.next(), types.next(), found.lists.is_empty()) {
        (None, _, false) => "LIST",
        (Some("FLOAT"), Some("INTEGER"), true) if found.types.len() == 2 => "FLOAT",
        (Some(name), None, true) => match name {
            "ZONED DATETIME" => "DATE_TIME",
            "LOCAL DATETIME" => "LOCAL_DATE_TIME",
            "LOCAL TIME" => "LOCAL_TIME",
            "ZONED TIME" => "TIME",
            "BYTES" => "BYTE_ARRAY",
            other => other,
        },
        _ => "ANY",
    }
}

/// The name of a type in `db.schema.*`: that of the class by which Neo4j keeps it.
fn java_name(name: &str, is_list: bool) -> &'static str {
    match (name, is_list) {
        ("BOOLEAN", false) => "Boolean",
        ("BOOLEAN", true) => "BooleanArray",
        ("INTEGER", false) => "Long",
        ("INTEGER", true) => "LongArray",
        ("FLOAT", false) => "Double",
        ("FLOAT", true) => "DoubleArray",
        ("STRING", false) => "String",
        ("STRING", true) => "StringArray",
        ("BYTES", false) => "ByteArray",
        ("DATE", false) => "Date",
        ("DATE", true) => "DateArray",
        ("LOCAL DATETIME", false) => "LocalDateTime",
        ("LOCAL DATETIME", true) => "LocalDateTimeArray",
        ("ZONED DATETIME", false) => "DateTime",
        ("ZONED DATETIME", true) => "DateTimeArray",
        ("LOCAL TIME", false) => "LocalTime",
        ("LOCAL TIME", true) => "LocalTimeArray",
        ("ZONED TIME", false) => "Time",
        ("ZONED TIME", true) => "TimeArray",
        ("DURATION", false) => "Duration",
        ("DURATION", true) => "DurationArray",
        ("POINT", false) => "Point",
        ("POINT", true) => "PointArray",
        (_, false) => "Any",
        (_, true) => "AnyArray",
    }
}
