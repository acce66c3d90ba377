//! Statements that questions and changes become, in each dialect: compared with `sql/statements.txt`, which
//! `UPDATE_GOLDEN=1` writes anew.

use std::ops::Bound;
use std::path::Path;

use model::pattern_query::{FirstRows, PatternColumn, PatternEdge, PatternNode, PatternQuery, PatternTest};
use model::{Column, Direction, KeyOrder, Map, PropertyKind, Value};
use sources::connector::{Change, Condition, EdgeKeys, Question, Test, Which};
use sources::definition::{EdgeKind, End, EndNode, GraphDefinition, NodeKind, Property, Rows};
use sources::sql::catalog::PointIndex;
use sources::sql::dialect::{MYSQL, POSTGRES, SQLITE};
use sources::sql::{Catalog, ColumnFacts, Dialect, ParameterValue, RowsFacts, Statement, Writer};

fn table(name: &str) -> Rows {
    Rows::Table { schema: None, name: name.to_owned() }
}

fn property(name: &str, column: &str, kind: Option<PropertyKind>) -> Property {
    Property { name: name.into(), column: column.to_owned(), kind }
}

fn node(name: &str, rows: Rows, key: &[&str], properties: Vec<Property>) -> NodeKind {
    let key = key.iter().map(|&name| name.to_owned()).collect();
    NodeKind { name: name.into(), labels: vec![name.into()], rows, key, properties }
}

fn end(kind: usize, columns: &[&str], is_array: bool) -> End {
    End { node: EndNode::Kind(kind), columns: columns.iter().map(|&name| name.to_owned()).collect(), is_array }
}

fn edge(name: &str, rows: Rows, source: End, target: End, key: &[&str], properties: Vec<Property>) -> EdgeKind {
    let key = key.iter().map(|&name| name.to_owned()).collect();
    EdgeKind { name: name.into(), edge_type: name.into(), rows, source, target, key, properties }
}

/// 0 Junction, 1 Person (string key), 2 Seat (two columns), 3 ByKey; edges 0 ROAD, 1 LIVES (foreign key), 2 KNOWS
/// (array), 3 SITS, 4 by key, 5 into another part of the graph.
fn definition() -> GraphDefinition {
    let by_key = |sql: &str, reverse: Option<&str>, scan: Option<&str>| Rows::ByKey {
        sql: sql.to_owned(),
        reverse: reverse.map(str::to_owned),
        scan: scan.map(str::to_owned),
    };
    let people = vec![
        property("name", "full \"name\"", None),
        property("age", "age", None),
        property("born", "born", Some(PropertyKind::Date)),
    ];
    let place = vec![property("lat", "lat", None), property("long", "lon", None), property("id", "id", None)];
    let roads = vec![property("length", "distance", Some(PropertyKind::Float))];
    let foreign = EndNode::Foreign { label: "City".into(), property: "code".into() };
    let crackle = "SELECT lat_f as lat, long_f as long FROM junctions WHERE id = ?";
    let crackle_roads = "SELECT j_to, distance FROM roads WHERE j_from = ?";
    GraphDefinition {
        nodes: vec![
            node("junction", table("junctions"), &["id"], place),
            node("person", Rows::Table { schema: Some("app".into()), name: "people".into() }, &["code"], people),
            node("seat", Rows::Query("SELECT * FROM seats -- all\n;".into()), &["hall", "number"], vec![]),
            node("crossing", by_key(crackle, None, None), &["id"], vec![property("lat", "lat", None)]),
        ],
        edges: vec![
            edge("road", table("roads"), end(0, &["j_from"], false), end(0, &["j_to"], false), &["id"], roads),
            edge(
                "lives",
                Rows::Table { schema: Some("app".into()), name: "people".into() },
                end(1, &["code"], false),
                end(0, &["home"], false),
                &[],
                vec![],
            ),
            edge(
                "knows",
                Rows::Table { schema: Some("app".into()), name: "people".into() },
                end(1, &["code"], false),
                end(1, &["friends"], true),
                &[],
                vec![],
            ),
            edge(
                "sits",
                table("tickets"),
                end(1, &["person"], false),
                end(2, &["hall", "seat"], false),
                &["id"],
                vec![],
            ),
            edge(
                "link",
                by_key(crackle_roads, None, None),
                end(3, &["j_from"], false),
                end(3, &["j_to"], false),
                &[],
                vec![property("distance", "distance", None)],
            ),
            edge(
                "mayor",
                table("mayors"),
                end(1, &["person"], false),
                End { node: foreign, columns: vec!["city".into()], is_array: false },
                &[],
                vec![],
            ),
        ],
        ..GraphDefinition::default()
    }
}

fn facts(columns: &[(&str, &str, Option<PropertyKind>)]) -> RowsFacts {
    let facts = |sql_type: &str, kind| ColumnFacts {
        sql_type: sql_type.to_owned(),
        kind,
        compares: true,
        is_binary: false,
        is_nullable: false,
        ..ColumnFacts::default()
    };
    let columns: Map<String, ColumnFacts> =
        columns.iter().map(|&(name, sql_type, kind)| (name.to_owned(), facts(sql_type, kind))).collect();
    RowsFacts { columns, has_index: [true, true], ..RowsFacts::default() }
}

fn catalog() -> Catalog {
    let (int, text) = (Some(PropertyKind::Integer), Some(PropertyKind::String));
    let float = Some(PropertyKind::Float);
    let people = [
        ("code", "text", text),
        ("full \"name\"", "text", text),
        ("age", "int4", int),
        ("born", "text", text),
        ("home", "int4", int),
        ("friends", "text[]", None),
    ];
    let by_key = RowsFacts { parameter: ["int4".to_owned(), String::new()], ..RowsFacts::default() };
    Catalog {
        nodes: vec![
            facts(&[("id", "int4", int), ("lat", "float8", float), ("lon", "float8", float)]),
            facts(&people),
            facts(&[("hall", "text", text), ("number", "int4", int)]),
            by_key.clone(),
        ],
        edges: vec![
            facts(&[("id", "int8", int), ("j_from", "int4", int), ("j_to", "int4", int), ("distance", "int4", int)]),
            facts(&people),
            facts(&people),
            RowsFacts {
                has_index: [true, false],
                ..facts(&[("id", "int8", int), ("person", "text", text), ("hall", "text", text), ("seat", "int4", int)])
            },
            by_key,
            facts(&[("person", "text", text), ("city", "text", text)]),
        ],
    }
}

fn render(title: &str, dialect: &dyn Dialect, statements: model::Result<Vec<Statement<'_>>>, out: &mut String) {
    out.push_str(&format!("=== {title} · {dialect:?}\n"));
    let statements = match statements {
        Ok(statements) => statements,
        Err(error) => return out.push_str(&format!("{error}\n\n")),
    };
    for statement in statements {
        out.push_str(&statement.text);
        for (at, parameter) in statement.parameters.iter().enumerate() {
            let value = match &parameter.value {
                ParameterValue::One(value) => value.to_string(),
                ParameterValue::Array(values) => Value::list(values.values().collect()).to_string(),
            };
            out.push_str(&format!("\n  {} = {value}", at + 1));
        }
        let answer: Vec<String> = statement
            .answer
            .iter()
            .map(|held| {
                format!(
                    "{}({}){}",
                    held.name,
                    held.columns,
                    held.kind.map_or(String::new(), |kind| format!(":{}", kind.name()))
                )
            })
            .collect();
        out.push_str(&format!("\n  -> {}", answer.join(", ")));
        if !statement.rest.is_done() {
            out.push_str(&format!("\n  then {:?}", statement.rest));
        }
        if let Some(rows) = statement.expects {
            out.push_str(&format!("\n  changes {rows}"));
        }
        out.push('\n');
    }
    out.push('\n');
}

/// Negated tests of strings, the last of a column of dates.
fn negated() -> [Condition; 4] {
    let tests = [Test::StartsWith("A%".into()), Test::EndsWith("b".into()), Test::Contains("c".into())];
    let [start, end, middle] = tests.map(|test| Condition::is(0, Test::NoMatch(Box::new(test))));
    [start, end, middle, Condition::is(2, Test::NoMatch(Box::new(Test::Contains("d".into()))))]
}

fn questions(out: &mut String) {
    let ints = Column::from_values(&[Value::Int(7), Value::Int(8)]);
    let texts = Column::from_values(&[Value::string("a"), Value::string("b'c")]);
    let pair = |hall: &str, number| Value::list(vec![Value::string(hall), Value::Int(number)]);
    let pairs = Column::from_values(&[pair("A", 1), pair("B", 2)]);
    let condition = Condition::is;
    let adults = [condition(1, Test::Between(Bound::Excluded(Value::Float(17.5)), Bound::Unbounded))];
    let named = [
        condition(0, Test::StartsWith("A%".to_owned())),
        condition(1, Test::OneOf(vec![Value::Int(1), Value::string("x"), Value::Float(2.0), Value::Int(1 << 40)])),
        condition(0, Test::Between(Bound::Included(Value::string("a")), Bound::Excluded(Value::string("b")))),
    ];
    let born = [condition(2, Test::OneOf(vec![Value::Date(model::temporal::Date(0))]))];
    let any = [Condition::Any(vec![
        condition(0, Test::EndsWith("%".to_owned())),
        condition(0, Test::Contains("a_".to_owned())),
        Condition::All(vec![condition(1, Test::Absent), condition(0, Test::NoneOf(vec![Value::string("x")]))]),
    ])];
    let others = negated();
    let boxes = [vec![(1.0, 2.0), (3.0, 4.0)], vec![(5.0, 6.0), (7.0, 8.0)], vec![(5.5, 6.0), (7.0, 8.0)]];
    let in_boxes = Which::Boxes { properties: &[0, 1], boxes: &boxes };
    let (starts, roads) = ([(0, ints.clone())], [(0, Direction::Out), (0, Direction::In)]);
    let near = Which::Within { starts: &starts, along: &roads, depth: 3, limit: 100 };
    let (people, all_ways) = ([(1, texts.clone())], [1, 2, 0].map(|kind| (kind, Direction::Out)));
    let mixed = Which::Within { starts: &people, along: &all_ways, depth: 2, limit: 50 };
    let crossings = [(3, ints.clone())];
    let links = Which::Within { starts: &crossings, along: &[(4, Direction::Out)], depth: 2, limit: 9 };
    let nodes = |kind, which, properties, order, limit| Question::Nodes { kind, which, properties, order, limit };
    let edges = |kind, direction, of, properties| Question::Edges { kind, direction, of, properties };
    let (out_way, in_way) = (Direction::Out, Direction::In);
    let ages: &[(usize, KeyOrder)] = &[(1, KeyOrder::Descending), (0, KeyOrder::Descending)];
    let cases: Vec<(&str, Question<'_>)> = vec![
        ("all nodes", nodes(0, Which::All, &[0, 1], &[], None)),
        ("nodes by keys", nodes(0, Which::Keys(&ints), &[0], &[], None)),
        ("nodes by text keys", nodes(1, Which::Keys(&texts), &[0, 2], &[], None)),
        ("nodes by keys of two columns", nodes(2, Which::Keys(&pairs), &[], &[], None)),
        ("nodes by a query", nodes(3, Which::Keys(&ints), &[0], &[], None)),
        ("nodes of a query by key, all", nodes(3, Which::All, &[0], &[], None)),
        ("nodes where, in order", nodes(1, Which::Where(&adults), &[0], ages, Some(10))),
        ("nodes where more", nodes(1, Which::Where(&named), &[0], &[], None)),
        ("nodes where one of several holds", nodes(1, Which::Where(&any), &[0], &[], Some(3))),
        ("nodes where strings do not match", nodes(1, Which::Where(&others), &[0], &[], None)),
        ("nodes where a conversion stands between", nodes(1, Which::Where(&born), &[0], ages, Some(10))),
        ("nodes in boxes", nodes(0, in_boxes.clone(), &[0, 1], &[], None)),
        ("nodes within", nodes(0, near.clone(), &[0], &[], None)),
        ("nodes within, of many kinds", nodes(0, mixed.clone(), &[2], &[], None)),
        ("nodes within, by queries", nodes(3, links.clone(), &[0], &[], None)),
        ("count", Question::CountNodes { kind: 1, which: Which::Where(&adults) }),
        ("count where a conversion stands between", Question::CountNodes { kind: 1, which: Which::Where(&born) }),
        ("all edges", edges(0, out_way, Which::All, &[0])),
        ("edges by keys", edges(0, out_way, Which::Keys(&ints), &[0])),
        ("edges against their direction", edges(0, in_way, Which::Keys(&ints), &[0])),
        ("edges of a foreign key", edges(1, in_way, Which::Keys(&ints), &[])),
        ("edges of an array", edges(2, out_way, Which::Keys(&texts), &[])),
        ("edges of an array from its elements", edges(2, in_way, Which::Keys(&texts), &[])),
        ("edges to keys of two columns", edges(3, in_way, Which::Keys(&pairs), &[])),
        ("edges without an index", edges(3, out_way, Which::Keys(&texts), &[])),
        ("edges by a query", edges(4, out_way, Which::Keys(&ints), &[0])),
        ("edges by a query that has no other way", edges(4, in_way, Which::Keys(&ints), &[0])),
        ("edges in boxes", edges(0, out_way, in_boxes, &[0])),
        ("edges within", edges(0, out_way, near, &[0])),
        ("edges within, of many kinds", edges(1, out_way, mixed, &[])),
        ("edges to elsewhere", edges(5, out_way, Which::Keys(&texts), &[])),
        ("edges from elsewhere", edges(5, in_way, Which::Keys(&texts), &[])),
        ("count of edges of an array", Question::CountEdges { kind: 2 }),
    ];
    for (title, question) in &cases {
        each_dialect(|writer| render(title, writer.dialect, writer.question(question), out));
    }
}

fn patterns(out: &mut String) {
    let node = |of, conditions: Vec<Condition>| PatternNode { of, conditions };
    let edge = |of, source, target| PatternEdge { of, source, target };
    let old = || vec![Condition::is(1, Test::NotBetween(Bound::Unbounded, Bound::Excluded(Value::Int(18))))];
    let query = |nodes, edges, columns| PatternQuery {
        nodes,
        edges,
        columns,
        distinct: Vec::new(),
        tests: Vec::new(),
        is_grouped: true,
        first: None,
    };
    use PatternColumn::{Count, DistinctCount, DistinctNodes, Key, Matches, Max, Min, Node, Sum};
    let homes = || (vec![node(1, old()), node(0, Vec::new())], vec![edge(1, 0, 1)]);
    let (nodes, edges) = homes();
    let grouped = PatternQuery {
        first: Some(FirstRows { order: vec![(1, true), (0, false)], limit: 3 }),
        ..query(nodes, edges, vec![Key(0, 0), Matches, Max(0, 1), Min(0, 0), Sum(0, 1), Count(0, 1)])
    };
    let (nodes, edges) = homes();
    let of_nodes = query(nodes, edges, vec![Node(1), DistinctNodes(0), DistinctCount(0, 0)]);
    let junctions = vec![node(0, Vec::new()), node(0, Vec::new()), node(0, Vec::new())];
    let joined = PatternQuery {
        distinct: vec![(0, 1)],
        is_grouped: false,
        first: Some(FirstRows { order: vec![(1, false)], limit: 9 }),
        ..query(junctions, vec![edge(0, 0, 1), edge(0, 1, 2)], vec![Key(0, 2), Key(2, 0), Node(1)])
    };
    let tested = PatternQuery {
        tests: vec![
            PatternTest { edge: edge(1, 0, 1), inner: 1, is_absent: true },
            PatternTest { edge: edge(3, 0, 2), inner: 2, is_absent: false },
        ],
        ..query(vec![node(1, Vec::new()), node(0, Vec::new()), node(2, Vec::new())], vec![], vec![Matches])
    };
    let of_arrays = query(vec![node(1, Vec::new()), node(1, Vec::new())], vec![edge(2, 0, 1)], vec![Matches]);
    let by_key = query(vec![node(3, Vec::new())], vec![], vec![Max(0, 0)]);
    let converted = query(vec![node(1, Vec::new())], vec![], vec![Key(0, 2)]);
    let cases = [
        ("groups of a foreign key", grouped),
        ("groups of nodes", of_nodes),
        ("a join of a table with itself", joined),
        ("nodes with and without edges", tested),
        ("a pattern over an array", of_arrays),
        ("a pattern over a query by key", by_key),
        ("groups by what a conversion makes", converted),
    ];
    let (definition, catalog) = (definition(), catalog());
    for (title, asked) in &cases {
        for (dialect, has_returning) in [(POSTGRES, true), (MYSQL, false), (SQLITE, true)] {
            let writer = Writer { dialect, definition: &definition, catalog: &catalog, has_returning };
            render(title, dialect, writer.question(&Question::Pattern(asked)), out);
        }
    }
}

fn changes(out: &mut String) {
    let ints = Column::from_values(&[Value::Int(7), Value::Int(8)]);
    let texts = Column::from_values(&[Value::string("a"), Value::string("b")]);
    let nulls = Column::nulls(2);
    let (new_person, new_road) = ([(0, &texts), (1, &ints)], [(0, &ints)]);
    let of_edges = |sources, targets, keys| EdgeKeys { sources, targets, keys };
    let cases: Vec<(&str, Change<'_>)> = vec![
        ("insert nodes", Change::InsertNodes { kind: 1, count: 2, properties: &new_person }),
        ("insert nodes of nothing", Change::InsertNodes { kind: 0, count: 1, properties: &[] }),
        ("insert edges", Change::InsertEdges { kind: 0, sources: &ints, targets: &ints, properties: &new_road }),
        ("insert a foreign key", Change::InsertEdges { kind: 1, sources: &texts, targets: &ints, properties: &[] }),
        ("insert into an array", Change::InsertEdges { kind: 2, sources: &texts, targets: &texts, properties: &[] }),
        ("update nodes", Change::UpdateNodes { kind: 0, keys: &ints, property: 0, values: &ints }),
        ("update a query", Change::UpdateNodes { kind: 2, keys: &ints, property: 0, values: &ints }),
        (
            "update edges",
            Change::UpdateEdges { kind: 0, edges: of_edges(&ints, &ints, &ints), property: 0, values: &nulls },
        ),
        ("delete nodes", Change::DeleteNodes { kind: 1, keys: &texts }),
        ("delete edges", Change::DeleteEdges { kind: 0, edges: of_edges(&ints, &ints, &ints) }),
        ("delete edges without a key", Change::DeleteEdges { kind: 5, edges: of_edges(&texts, &texts, &nulls) }),
        ("delete a foreign key", Change::DeleteEdges { kind: 1, edges: of_edges(&texts, &ints, &nulls) }),
    ];
    for (title, change) in &cases {
        each_dialect(|writer| render(title, writer.dialect, writer.change(change), out));
    }
}

fn each_dialect(mut visit: impl FnMut(&Writer<'_>)) {
    let (definition, known, unknown) = (definition(), catalog(), Catalog::default());
    for (dialect, has_returning) in [(POSTGRES, true), (MYSQL, false), (SQLITE, true)] {
        let catalog = if dialect.has_arrays() { &known } else { &unknown };
        visit(&Writer { dialect, definition: &definition, catalog, has_returning });
    }
}

#[test]
fn statements_are_as_written_down() {
    let mut found = String::new();
    questions(&mut found);
    patterns(&mut found);
    changes(&mut found);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql/statements.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    let sections = |text: &str| -> Vec<String> { text.split("=== ").map(str::to_owned).collect() };
    for (found, expected) in sections(&found).iter().zip(&sections(&expected)) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

#[test]
fn a_spatial_index_serves_boxes() {
    let (definition, mut catalog) = (definition(), catalog());
    catalog.nodes[0].points =
        vec![PointIndex { expression: "point({0}, {1})".into(), columns: ["lon".into(), "lat".into()] }];
    let writer = Writer { dialect: POSTGRES, definition: &definition, catalog: &catalog, has_returning: true };
    let rows = "SELECT n.\"id\"\nFROM \"junctions\" AS n\n";
    let apart = [vec![(1.0, 2.0), (3.0, 4.0)], vec![(5.0, 6.0), (3.0, 4.0)]];
    let meeting = [vec![(1.0, 2.0), (3.0, 4.0)], vec![(2.0, 6.0), (3.0, 4.0)]];
    for (boxes, rest, expected) in [
        (
            apart,
            "CROSS JOIN unnest($1::float8[], $2::float8[], $3::float8[], $4::float8[]) AS place(x_0, y_0, x_1, y_1)\n\
             WHERE point(n.\"lon\", n.\"lat\") <@ box(point(place.x_0, place.y_0), point(place.x_1, place.y_1))",
            "[[3.0, 3.0], [1.0, 5.0], [4.0, 4.0], [2.0, 6.0]]",
        ),
        (
            meeting,
            "WHERE (point(n.\"lon\", n.\"lat\") <@ box(point($1::float8, $2::float8), point($3::float8, $4::float8))\n    \
             OR point(n.\"lon\", n.\"lat\") <@ box(point($5::float8, $6::float8), point($7::float8, $8::float8)))",
            "[3.0, 1.0, 4.0, 2.0, 3.0, 2.0, 4.0, 6.0]",
        ),
    ] {
        let which = Which::Boxes { properties: &[0, 1], boxes: &boxes };
        let question = Question::Nodes { kind: 0, which, properties: &[], order: &[], limit: None };
        let statement = writer.question(&question).unwrap().remove(0);
        assert_eq!(statement.text, format!("{rows}{rest}"));
        let values = statement.parameters.iter().map(|parameter| match &parameter.value {
            ParameterValue::One(value) => value.clone(),
            ParameterValue::Array(column) => Value::list(column.values().collect()),
        });
        assert_eq!(format!("{}", Value::list(values.collect())), expected);
    }
}
