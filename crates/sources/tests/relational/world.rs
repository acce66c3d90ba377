//! Random tables, as statements that make them and as the graph that a definition makes of them.
//!
//! They have what makes a source hard: keys of several columns and of strings, foreign keys that lead nowhere, nulls,
//! rows that are alike, strings that differ only in capitals, conversions, queries and queries by key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use model::platform::Clock;
use model::temporal::{Date, LocalDateTime};
use model::{Column, MemoryBudget, Value};
use sources::connector::Connector;
use sources::definition::{End, EndNode, GraphDefinition, Property};
use sources::store::{Environment, SourceStore};
use testing::ReferenceStore;
use testing::graphs::{EdgeGroup, GraphData, NodeGroup};
use testing::random::SeededRandom;

/// Tables, and the definition over them.
pub(crate) struct World {
    pub(crate) definition: GraphDefinition,
    tables: Vec<Table>,
}

struct Table {
    name: &'static str,
    /// Names with types, as all dialects have them after [`World::statements`] has put theirs in.
    columns: &'static [(&'static str, &'static str)],
    rules: &'static str,
    indexes: &'static [&'static str],
    rows: Vec<Vec<Value>>,
}

/// A type of each dialect for the words that the tables use: an exact string, a float, a moment.
#[derive(Clone, Copy)]
pub(crate) struct Types {
    pub(crate) exact: &'static str,
    pub(crate) float: &'static str,
    pub(crate) moment: &'static str,
}

const DEFINITION: &str = r#"{
  "nodes": {
    "person": {
      "labels": ["Person", "Thing"], "table": "person", "key": "id",
      "properties": ["id", "uid", "name", "age", "height", "born", "joined", { "name": "active", "type": "BOOLEAN" },
        { "name": "years", "column": "age", "type": "FLOAT" }]
    },
    "place": { "labels": ["Place", "Thing"], "table": "place", "key": ["country", "code"], "properties": ["uid", "name"] },
    "tag": { "label": "Tag", "sql": "SELECT tag, uid, grade FROM tag WHERE '?' <> ''", "key": "tag", "properties": ["uid", "grade"] },
    "road": {
      "label": "Road", "sql": "SELECT uid, lat FROM road WHERE id = ?", "scan": "SELECT id, uid, lat FROM road",
      "properties": ["uid", "lat"]
    }
  },
  "edges": {
    "boss": { "type": "BOSS", "table": "person", "source": "person", "target": "person(boss)" },
    "visited": {
      "type": "VISITED", "table": "visit", "source": "person(person)", "target": "place(country, code)", "key": "id",
      "properties": ["rating", "day"]
    },
    "likes": { "type": "LIKES", "table": "likes", "source": "person(a)", "target": "person(b)", "properties": ["weight"] },
    "tagged": {
      "type": "LIKES", "sql": "SELECT * FROM tagged -- all of them", "source": "person(person)", "target": "tag(tag)",
      "properties": [{ "name": "weight", "column": "often", "type": "FLOAT" }]
    },
    "leads": {
      "type": "LEADS", "sql": "SELECT a, b, far FROM leads WHERE a = ?", "reverse": "SELECT a, b, far FROM leads WHERE b = ?",
      "scan": "SELECT a, b, far FROM leads", "source": "road(a)", "target": "road(b)", "properties": ["far"]
    }
  }
}"#;

impl World {
    pub(crate) fn new(seed: u64) -> World {
        let mut random = SeededRandom::new(seed);
        let definition = GraphDefinition::from_json(DEFINITION).unwrap();
        World { definition, tables: tables(&mut random) }
    }

    /// The statements that make the tables.
    pub(crate) fn statements(&self, types: Types) -> String {
        let mut text = String::new();
        for table in &self.tables {
            let column = |(name, of): &(&str, &str)| {
                let (of, rest) = of.split_once(' ').unwrap_or((of, ""));
                let of = match of {
                    "exact" => types.exact,
                    "float" => types.float,
                    "moment" => types.moment,
                    of => of,
                };
                format!("{name} {of} {rest}")
            };
            let columns: Vec<String> = table.columns.iter().map(column).collect();
            text += &format!("CREATE TABLE {} ({}{});\n", table.name, columns.join(", "), table.rules);
            for (number, index) in table.indexes.iter().enumerate() {
                text += &format!("CREATE INDEX {}_{number} ON {} ({index});\n", table.name, table.name);
            }
            for rows in table.rows.chunks(100) {
                let row = |row: &Vec<Value>| format!("({})", row.iter().map(literal).collect::<Vec<_>>().join(", "));
                let rows: Vec<String> = rows.iter().map(row).collect();
                text += &format!("INSERT INTO {} VALUES {};\n", table.name, rows.join(",\n"));
            }
        }
        text
    }

    /// The graph that the definition makes of the tables.
    pub(crate) fn reference(&self) -> ReferenceStore {
        let mut data = GraphData::default();
        let mut numbers: Vec<(usize, Vec<Value>)> = Vec::new();
        for (number, kind) in self.definition.nodes.iter().enumerate() {
            let table = self.table(&kind.name);
            numbers.extend(table.rows.iter().map(|row| (number, table.values(row, &kind.key))));
            let labels = kind.labels.iter().map(|label| label.to_string()).collect();
            let rows: Vec<&Vec<Value>> = table.rows.iter().collect();
            data.nodes.push(NodeGroup {
                count: rows.len(),
                labels,
                properties: table.columns(&rows, &kind.properties),
            });
        }
        let number = |table: &Table, row: &[Value], end: &End| {
            let EndNode::Kind(kind) = end.node else { panic!("no end is foreign here") };
            let key = table.values(row, &end.columns);
            numbers.iter().position(|(of, held)| *of == kind && *held == key).map(|number| number as u64)
        };
        for kind in &self.definition.edges {
            let table = self.table(if &*kind.name == "boss" { "person" } else { &kind.name });
            let (mut sources, mut targets, mut rows) = (Vec::new(), Vec::new(), Vec::new());
            for row in &table.rows {
                if let (Some(source), Some(target)) =
                    (number(table, row, &kind.source), number(table, row, &kind.target))
                {
                    sources.push(source);
                    targets.push(target);
                    rows.push(row);
                }
            }
            let properties = table.columns(&rows, &kind.properties);
            data.edges.push(EdgeGroup { edge_type: kind.edge_type.to_string(), sources, targets, properties });
        }
        let store = ReferenceStore::new();
        data.load_into(&store).unwrap();
        store
    }

    fn table(&self, kind: &str) -> &Table {
        let name = if kind == "visited" { "visit" } else { kind };
        self.tables.iter().find(|table| table.name == name).unwrap()
    }
}

impl Table {
    fn values(&self, row: &[Value], columns: &[String]) -> Vec<Value> {
        let place = |name: &String| self.columns.iter().position(|(held, _)| held == name).unwrap();
        columns.iter().map(|name| row[place(name)].clone()).collect()
    }

    fn columns(&self, rows: &[&Vec<Value>], properties: &[Property]) -> Vec<(String, Column)> {
        let column = |property: &Property| {
            let values: Vec<Value> = rows
                .iter()
                .map(|row| {
                    let value = self.values(row, std::slice::from_ref(&property.column)).remove(0);
                    match property.kind {
                        Some(kind) => sources::sql::convert::converted(&value, kind).unwrap(),
                        None => value,
                    }
                })
                .collect();
            (property.name.to_string(), Column::from_values(&values))
        };
        properties.iter().map(column).collect()
    }
}

/// A store over a connector.
pub(crate) fn store(definition: &GraphDefinition, connector: Arc<dyn Connector>) -> SourceStore {
    let clock = Arc::new(StillClock(AtomicU64::new(1_000_000_000_000)));
    let environment = Environment { memory: MemoryBudget::new(1 << 30), clock };
    SourceStore::new(Arc::new(definition.clone()), connector, 3, environment).unwrap()
}

#[derive(Debug)]
struct StillClock(AtomicU64);

impl Clock for StillClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn unix_us(&self) -> i64 {
        0
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Date(_) => format!("'{value}'"),
        Value::LocalDateTime(_) => format!("'{}'", value.to_string().replace('T', " ")),
        other => other.to_string(),
    }
}

fn maybe(random: &mut SeededRandom, percent: u64, value: Value) -> Value {
    if random.chance(percent) { value } else { Value::Null }
}

fn number(random: &mut SeededRandom, bound: u64) -> Value {
    Value::Int(random.below(bound) as i64)
}

const COUNTRIES: [&str; 3] = ["be", "nl", "o'x"];
const TAGS: [&str; 5] = ["red", "Red", "blue", "a b", "é"];

fn tables(random: &mut SeededRandom) -> Vec<Table> {
    let mut tables = node_tables(random);
    tables.extend(edge_tables(random));
    tables
}

fn node_tables(random: &mut SeededRandom) -> Vec<Table> {
    let persons: Vec<Vec<Value>> = (0..120).map(|number| person(random, number)).collect();
    let place = |number: i64| {
        let country = Value::string(COUNTRIES[number as usize % 3]);
        vec![
            country,
            Value::Int(number),
            Value::string(&format!("place {number}")),
            Value::string(["Town", "town"][number as usize % 2]),
        ]
    };
    let tags = TAGS.iter().map(|tag| {
        let grade = [Value::Int(1), Value::Null, Value::Int(3)][random.index(3)].clone();
        vec![Value::string(tag), Value::string(&format!("tag {tag}")), grade]
    });
    let tags = tags.collect();
    let roads = (0..30).map(|number| {
        vec![Value::Int(number), Value::string(&format!("road {number}")), Value::Float(number as f64 / 4.0)]
    });
    let roads = roads.collect();
    vec![
        Table {
            name: "person",
            columns: &[
                ("id", "BIGINT NOT NULL"),
                ("uid", "exact"),
                ("name", "VARCHAR(40)"),
                ("age", "INT"),
                ("height", "float"),
                ("born", "DATE"),
                ("joined", "moment"),
                ("active", "BOOLEAN"),
                ("boss", "BIGINT"),
            ],
            rules: ", PRIMARY KEY (id)",
            indexes: &["age", "name, age", "boss"],
            rows: persons,
        },
        Table {
            name: "place",
            columns: &[
                ("country", "exact NOT NULL"),
                ("code", "INT NOT NULL"),
                ("uid", "exact"),
                ("name", "VARCHAR(40)"),
            ],
            rules: ", PRIMARY KEY (country, code)",
            indexes: &["uid"],
            rows: (0..20).map(place).collect(),
        },
        Table {
            name: "tag",
            columns: &[("tag", "exact"), ("uid", "exact"), ("grade", "INT")],
            rules: "",
            indexes: &[],
            rows: tags,
        },
        Table {
            name: "road",
            columns: &[("id", "INT"), ("uid", "exact"), ("lat", "float")],
            rules: "",
            indexes: &["id"],
            rows: roads,
        },
    ]
}

fn edge_tables(random: &mut SeededRandom) -> Vec<Table> {
    vec![
        Table {
            name: "visit",
            columns: &[
                ("id", "BIGINT NOT NULL"),
                ("person", "BIGINT"),
                ("country", "exact"),
                ("code", "INT"),
                ("rating", "INT"),
                ("day", "DATE"),
            ],
            rules: ", PRIMARY KEY (id), FOREIGN KEY (person) REFERENCES person (id)",
            indexes: &["country, code"],
            rows: (0..250).map(|number| visit(random, number)).collect(),
        },
        Table {
            name: "likes",
            columns: &[("a", "BIGINT"), ("b", "BIGINT"), ("weight", "float")],
            rules: "",
            indexes: &["a", "b"],
            rows: likes(random),
        },
        Table {
            name: "tagged",
            columns: &[("person", "BIGINT"), ("tag", "exact"), ("often", "INT")],
            rules: "",
            indexes: &[],
            rows: (0..60)
                .map(|_| vec![person_key(random), Value::string(TAGS[random.index(5)]), number(random, 3)])
                .collect(),
        },
        Table {
            name: "leads",
            columns: &[("a", "INT"), ("b", "INT"), ("far", "float")],
            rules: "",
            indexes: &["a", "b"],
            rows: (0..80)
                .map(|_| vec![number(random, 32), number(random, 32), Value::Float(random.below(9) as f64)])
                .collect(),
        },
    ]
}

fn person(random: &mut SeededRandom, at: i64) -> Vec<Value> {
    let id = if at % 10 == 9 { i64::MAX - at } else { at };
    let name = Value::string(["ann", "Ann", "bob", "", "O'Hara %_!"][random.index(5)]);
    let age = number(random, 12);
    let height = Value::Float(random.below(40) as f64 / 16.0);
    let born = Value::Date(Date(10_000 + random.below(50) as i64));
    let joined = Value::LocalDateTime(LocalDateTime {
        seconds: 1_500_000_000 + random.below(1_000) as i64 * 3_600,
        nanosecond: 0,
    });
    let active = Value::Bool(random.chance(50));
    vec![
        Value::Int(id),
        Value::string(&format!("person {at}")),
        maybe(random, 90, name),
        maybe(random, 80, age),
        maybe(random, 90, height),
        maybe(random, 90, born),
        maybe(random, 90, joined),
        maybe(random, 90, active),
        if random.chance(60) { person_key(random) } else { Value::Null },
    ]
}

/// The key of a person who may not be there.
fn person_key(random: &mut SeededRandom) -> Value {
    let at = random.below(130) as i64;
    Value::Int(if at % 10 == 9 { i64::MAX - at } else { at })
}

fn visit(random: &mut SeededRandom, id: i64) -> Vec<Value> {
    let at = random.below(120) as i64;
    let person = Value::Int(if at % 10 == 9 { i64::MAX - at } else { at });
    let code = random.below(22) as i64;
    let country = Value::string(COUNTRIES[code as usize % 3]);
    let (rating, day) = (number(random, 4), Value::Date(Date(18_000 + random.below(20) as i64)));
    vec![
        Value::Int(id),
        maybe(random, 95, person),
        maybe(random, 95, country),
        maybe(random, 95, Value::Int(code)),
        maybe(random, 80, rating),
        maybe(random, 80, day),
    ]
}

/// Rows without a key, of which some are alike.
fn likes(random: &mut SeededRandom) -> Vec<Vec<Value>> {
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for _ in 0..300 {
        let weight = number(random, 3);
        let weight = maybe(random, 80, Value::Float(if let Value::Int(x) = weight { x as f64 } else { 0.0 }));
        let mut row = vec![person_key(random), person_key(random), weight];
        if random.chance(5) {
            row[1] = row[0].clone();
        }
        if random.chance(5) {
            row[random.index(2)] = Value::Null;
        }
        if random.chance(20) {
            rows.push(row.clone());
        }
        rows.push(row);
    }
    rows
}
