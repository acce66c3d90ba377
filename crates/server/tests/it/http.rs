//! The Query API: places, forms of values, errors, bodies.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_ipc::reader::StreamReader;
use serde_json::{Value, json};
use server::Settings;

use super::client::ENDLESS;
use super::running::Running;
use super::web::{ARROW, QUERY, TYPED, Web};

fn start() -> (Running, Web) {
    let running = Running::start(Settings::default());
    let web = Web::connect(running.address);
    (running, web)
}

#[test]
fn everybody_is_told_what_there_is() {
    let (running, mut web) = start();
    let root = web.get("/");
    assert_eq!((root.status, root.header("content-type")), (200, Some("application/json")));
    let json = root.json();
    assert_eq!(json["query"], "http://localhost/db/{databaseName}/query/v2");
    assert_eq!(json["bolt_direct"], "bolt://localhost");
    assert!(json["neo4j_version"].as_str().unwrap().starts_with("5."), "{json}");
    assert_eq!(web.get("/health").json(), json!({"status": "ok"}));
    // All over one connection.
    for _ in 0..3 {
        assert_eq!(web.run("RETURN 1 AS x").rows(), json!([[1]]));
    }
    drop(running);
}

#[test]
fn places_take_their_methods_and_others_are_not_there() {
    let (_running, mut web) = start();
    for (method, path, status, allowed) in [
        ("POST", "/", 405, Some("GET, HEAD, OPTIONS")),
        ("GET", QUERY, 405, Some("POST, OPTIONS")),
        ("BREW", QUERY, 405, Some("POST, OPTIONS")),
        ("PUT", "/db/neo4j/query/v2/tx/1", 405, Some("POST, DELETE, OPTIONS")),
        ("OPTIONS", QUERY, 204, Some("POST, OPTIONS")),
        ("HEAD", "/", 200, None),
        ("HEAD", "/nothing", 404, None),
        ("GET", "/nothing", 404, None),
        ("POST", "/db/neo4j/tx/commit", 404, None),
        ("POST", "/db/neo4j/query/v3", 404, None),
    ] {
        let answer = web.ask(method, path, "", "");
        assert_eq!((answer.status, answer.header("allow")), (status, allowed), "{method} {path}");
        if status >= 400 && method != "HEAD" {
            assert_eq!(answer.error().1, "Neo.ClientError.Request.Invalid");
        }
    }
    assert_eq!(web.run("RETURN 1 AS x").rows(), json!([[1]]));
}

#[test]
fn results_have_the_parts_that_are_asked_for() {
    let (_running, mut web) = start();
    let body = json!({"statement": "CREATE (n:A {x: 1})-[:R]->(:B) RETURN n.x AS x, 2 AS y", "includeCounters": true});
    let answer = web.post(QUERY, &body.to_string());
    let json = answer.json();
    assert_eq!(answer.status, 202);
    assert_eq!(json["data"], json!({"fields": ["x", "y"], "values": [[1, 2]]}));
    assert_eq!(json["queryType"], "rw");
    let counters = json["counters"].as_object().unwrap();
    assert_eq!(counters.len(), 14);
    assert_eq!((&counters["nodesCreated"], &counters["labelsAdded"]), (&json!(2), &json!(2)));
    assert_eq!((&counters["containsUpdates"], &counters["nodesDeleted"]), (&json!(true), &json!(0)));
    let bookmark = json["bookmarks"][0].as_str().unwrap();
    // A statement after a bookmark of this store runs.
    let body = json!({"statement": "MATCH (n:A) RETURN count(n)", "bookmarks": [bookmark], "accessMode": "Read"});
    let json = web.post(QUERY, &body.to_string()).json();
    assert_eq!((&json["data"]["values"], json.get("counters")), (&json!([[1]]), None));
    // No columns, no rows.
    assert_eq!(web.run("CREATE (:C)").json()["data"], json!({"fields": [], "values": []}));
    let json = web.run("MATCH (n:Nothing) RETURN n").json();
    assert_eq!(json["data"]["values"], json!([]));
    let notification = &json["notifications"][0];
    assert_eq!(notification["code"], "Neo.ClientNotification.Statement.UnknownLabelWarning");
    assert_eq!(notification["position"], json!({"offset": 9, "line": 1, "column": 10}));
    let plan = &web.run("EXPLAIN MATCH (n:A) RETURN n").json()["queryPlan"];
    assert!(plan["operatorType"].is_string() && plan["arguments"]["EstimatedRows"].is_number(), "{plan}");
    let plan = &web.run("PROFILE MATCH (n:A) RETURN n").json()["profiledQueryPlan"];
    assert!(plan["records"] == 1 && plan["children"].is_array(), "{plan}");
}

const ALL: &str = "CREATE p = (a:L:M {x: 1})-[r:R {y: [true, false]}]->(b:N) RETURN null AS null, true AS bool, -9 AS int, \
    9223372036854775807 AS large, 1.5 AS float, 0.0/0.0 AS nan, 'a\"\u{e4}' AS text, [1, 'x'] AS list, {k: 1.0} AS map, \
    date('2015-03-26') AS date, time('12:50:35.556+01:00') AS time, localtime('12:50') AS localtime, \
    datetime('2015-11-21T21:40:32.142+02:00') AS offset, datetime('2015-06-21T21:40:32[Europe/Paris]') AS zoned, \
    localdatetime('2015-07-04T19:32:24') AS local, duration('P14DT16H12M') AS duration, a, r, p, \
    toString(elementId(a)) AS ia, toString(elementId(b)) AS ib, toString(elementId(r)) AS ir";

/// The row of all values, by the names of their columns.
fn named(json: Value) -> impl Fn(&str) -> Value {
    assert!(json.get("errors").is_none(), "{json}");
    let fields: Vec<String> =
        json["data"]["fields"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().into()).collect();
    let row = json["data"]["values"][0].as_array().unwrap().clone();
    move |name| row[fields.iter().position(|field| field == name).unwrap_or_else(|| panic!("{name}"))].clone()
}

#[test]
fn every_value_has_a_plain_form() {
    let (_running, mut web) = start();
    let of = named(web.run(ALL).json());
    for (name, expected) in [
        ("null", json!(null)),
        ("bool", json!(true)),
        ("int", json!(-9)),
        ("large", json!(i64::MAX)),
        ("float", json!(1.5)),
        ("nan", json!("NaN")),
        ("text", json!("a\"\u{e4}")),
        ("list", json!([1, "x"])),
        ("map", json!({"k": 1.0})),
        ("date", json!("2015-03-26")),
        ("time", json!("12:50:35.556+01:00")),
        ("localtime", json!("12:50")),
        ("offset", json!("2015-11-21T21:40:32.142+02:00")),
        ("zoned", json!("2015-06-21T21:40:32+02:00[Europe/Paris]")),
        ("local", json!("2015-07-04T19:32:24")),
        ("duration", json!("P14DT16H12M")),
    ] {
        assert_eq!(of(name), expected, "{name}");
    }
    let node = json!({"elementId": of("ia"), "labels": ["L", "M"], "properties": {"x": 1}});
    let edge = json!({"elementId": of("ir"), "startNodeElementId": of("ia"), "endNodeElementId": of("ib"), "type": "R",
        "properties": {"y": [true, false]}});
    let end = json!({"elementId": of("ib"), "labels": ["N"], "properties": {}});
    assert_eq!((of("a"), of("r")), (node.clone(), edge.clone()));
    assert_eq!(of("p"), json!([node, edge, end]));
}

#[test]
fn every_value_has_a_form_with_its_type() {
    let (_running, mut web) = start();
    let answer = web.run_typed(&json!({ "statement": ALL }));
    assert_eq!(answer.header("content-type"), Some(TYPED));
    let of = named(answer.json());
    let typed = |kind: &str, value: Value| json!({"$type": kind, "_value": value});
    for (name, kind, value) in [
        ("null", "Null", json!(null)),
        ("bool", "Boolean", json!(true)),
        ("int", "Integer", json!("-9")),
        ("large", "Integer", json!("9223372036854775807")),
        ("float", "Float", json!("1.5")),
        ("nan", "Float", json!("NaN")),
        ("text", "String", json!("a\"\u{e4}")),
        ("list", "List", json!([typed("Integer", json!("1")), typed("String", json!("x"))])),
        ("map", "Map", json!({"k": typed("Float", json!("1.0"))})),
        ("date", "Date", json!("2015-03-26")),
        ("time", "Time", json!("12:50:35.556+01:00")),
        ("localtime", "LocalTime", json!("12:50")),
        ("offset", "OffsetDateTime", json!("2015-11-21T21:40:32.142+02:00")),
        ("zoned", "ZonedDateTime", json!("2015-06-21T21:40:32+02:00[Europe/Paris]")),
        ("local", "LocalDateTime", json!("2015-07-04T19:32:24")),
        ("duration", "Duration", json!("P14DT16H12M")),
    ] {
        assert_eq!(of(name), typed(kind, value), "{name}");
    }
    let id = |name: &str| of(name)["_value"].clone();
    let x = typed("Integer", json!("1"));
    let node = typed("Node", json!({"_element_id": id("ia"), "_labels": ["L", "M"], "_properties": {"x": x}}));
    let flags = typed("List", json!([typed("Boolean", json!(true)), typed("Boolean", json!(false))]));
    let edge = json!({"_element_id": id("ir"), "_start_node_element_id": id("ia"), "_end_node_element_id": id("ib"),
        "_type": "R", "_properties": {"y": flags}});
    let edge = typed("Relationship", edge);
    let end = typed("Node", json!({"_element_id": id("ib"), "_labels": ["N"], "_properties": {}}));
    assert_eq!((of("a"), of("r")), (node.clone(), edge.clone()));
    assert_eq!(of("p"), typed("Path", json!([node, edge, end])));
}

#[test]
fn parameters_come_in_both_forms() {
    let (_running, mut web) = start();
    let typed = |kind: &str, value: &str| json!({"$type": kind, "_value": value});
    let parameters = json!({
        "null": {"$type": "Null", "_value": null},
        "bool": {"_value": true, "$type": "Boolean"},
        "int": typed("Integer", "-9223372036854775808"),
        "float": typed("Float", "1.5"),
        "text": typed("String", "\u{e4}"),
        "bytes": typed("Base64", "A2+/"),
        "date": typed("Date", "2015-03-26"),
        "time": typed("Time", "12:50:35.556+01:00"),
        "localtime": typed("LocalTime", "12:50:35"),
        "offset": typed("OffsetDateTime", "2015-11-21T21:40:32.142+02:00"),
        "zoned": typed("ZonedDateTime", "2015-06-21T21:40:32+02:00[Europe/Paris]"),
        "local": typed("LocalDateTime", "2015-07-04T19:32:24"),
        "duration": typed("Duration", "P14DT16H12M"),
        "map": {"$type": "Map", "_value": {"k": {"$type": "List", "_value": [typed("Integer", "1")]}}},
    });
    let names: Vec<&String> = parameters.as_object().unwrap().keys().collect();
    let items: Vec<String> = names.iter().map(|name| format!("${name} AS {name}")).collect();
    let statement = format!("RETURN {}", items.join(", "));
    let answer = web.run_typed(&json!({"statement": statement, "parameters": parameters}));
    let of = named(answer.json());
    for name in names {
        // Entries of an object have no order.
        assert_eq!(of(name), parameters[name], "{name}");
    }
    let body = json!({"statement": "RETURN $a AS a, $b AS b", "parameters": {"a": [1, 2.5, "x", null, {"c": false}], "b": -1}});
    assert_eq!(web.post(QUERY, &body.to_string()).rows(), json!([[[1, 2.5, "x", null, {"c": false}], -1]]));
}

fn check_error(web: &mut Web, path: &str, headers: &str, body: &str, expected: (u16, &str, &str)) {
    let (status, code, message) = web.ask("POST", path, headers, body).error();
    let (expected_status, expected_code, part) = expected;
    assert_eq!((status, code), (expected_status, format!("Neo.ClientError.{expected_code}")), "{body}: {message}");
    assert!(message.contains(part), "{body}: {message}");
}

#[test]
fn errors_of_statements_have_a_status_a_code_and_a_message() {
    let (_running, mut web) = start();
    let cases = [
        (json!({"statement": "RETURN"}), 400, "Statement.SyntaxError", "expected an expression"),
        (json!({"statement": "RETURN $x"}), 400, "Statement.ParameterMissing", "$x"),
        (json!({"statement": "RETURN 1/0"}), 400, "Statement.ArithmeticError", "zero"),
        (json!({"statement": "COPY (RETURN 1) TO 'x.csv'"}), 403, "Security.Forbidden", "COPY"),
        (json!({"statement": "BEGIN"}), 400, "Statement.UnsupportedOperationError", "driver"),
        (json!({"statement": "CREATE (:A)", "accessMode": "READ"}), 400, "Statement.AccessMode", "reading"),
        (json!({"statement": "RETURN 1", "bookmarks": ["x"]}), 400, "Transaction.InvalidBookmark", "'x'"),
        (json!({"statement": "RETURN 1", "impersonatedUser": "ann"}), 403, "Security.Forbidden", "'ann'"),
        (json!({"statement": ENDLESS, "maxExecutionTime": 1}), 400, "Transaction.TransactionTimedOut", "1"),
        (json!({"statement": 1}), 400, "Request.InvalidFormat", "text"),
        (json!({"statement": "RETURN 1", "parameters": []}), 400, "Request.InvalidFormat", "'parameters'"),
        (json!({"statement": "RETURN 1", "accessMode": "all"}), 400, "Request.InvalidFormat", "Read"),
        (json!([]), 400, "Request.InvalidFormat", "no object"),
        (json!({}), 400, "Request.InvalidFormat", "statement"),
    ];
    for (body, status, code, part) in cases {
        check_error(&mut web, QUERY, "", &body.to_string(), (status, code, part));
    }
    assert_eq!(web.run("RETURN 1 AS x").rows(), json!([[1]]));
}

#[test]
fn errors_of_requests_have_a_status_a_code_and_a_message() {
    let (_running, mut web) = start();
    let typed = format!("Content-Type: {TYPED}\r\n");
    let text = "Content-Type: text/plain\r\n";
    let wanted = "Accept: text/html\r\n";
    let one = json!({"statement": "RETURN 1"}).to_string();
    let nodes = json!({"statement": "MATCH (n) RETURN n"}).to_string();
    let untyped = json!({"statement": "RETURN $x", "parameters": {"x": 1}}).to_string();
    check_error(&mut web, "/db/other/query/v2", "", &one, (404, "Database.DatabaseNotFound", "'other'"));
    let expected = (400, "Statement.UnsupportedOperationError", "system");
    check_error(&mut web, "/db/system/query/v2", "", &nodes, expected);
    check_error(&mut web, QUERY, "", "", (400, "Request.InvalidFormat", "statement"));
    check_error(&mut web, QUERY, "", "{\"statement\": ", (400, "Request.Invalid", "line 1 column 14"));
    check_error(&mut web, QUERY, &typed, &untyped, (400, "Statement.TypeError", "$x"));
    check_error(&mut web, QUERY, text, "RETURN 1", (415, "Request.Invalid", "text/plain"));
    check_error(&mut web, QUERY, wanted, &one, (406, "Request.Invalid", "application/json"));
    assert_eq!(web.run("RETURN 1 AS x").rows(), json!([[1]]));
}

#[test]
fn rows_come_as_arrow() {
    let (_running, mut web) = start();
    let accept = format!("Accept: {ARROW}\r\n");
    let mut ask = |text: &str| web.ask("POST", QUERY, &accept, &json!({"statement": text}).to_string());
    let answer = ask("UNWIND range(1, 50000) AS i RETURN i, 'text ' + i AS t, i / 2.0 AS f, [i] AS l");
    assert_eq!((answer.status, answer.header("content-type")), (202, Some(ARROW)));
    let mut rows = 0;
    for batch in StreamReader::try_new(answer.bytes.as_slice(), None).unwrap() {
        let batch = batch.unwrap();
        let (numbers, texts) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string::<i32>());
        let (halves, lists) = (batch.column(2).as_primitive::<Float64Type>(), batch.column(3).as_string::<i32>());
        for row in 0..batch.num_rows() {
            rows += 1;
            assert_eq!((numbers.value(row), halves.value(row)), (rows, rows as f64 / 2.0));
            assert_eq!((texts.value(row), lists.value(row)), (&*format!("text {rows}"), &*format!("[{rows}]")));
        }
    }
    assert_eq!(rows, 50_000);
    let answer = ask("MATCH (n:Nothing) RETURN n");
    assert_eq!(StreamReader::try_new(answer.bytes.as_slice(), None).unwrap().count(), 0);
    // A failure before the first piece is JSON, and one behind it an answer without an end.
    let answer = ask("RETURN 1/0");
    assert_eq!((answer.header("content-type"), answer.error().0), (Some("application/json"), 400));
    assert_eq!(web.ask("POST", "/db/neo4j/query/v2/tx", &accept, "").error().0, 406);
    let body = json!({"statement": "UNWIND range(1, 60000) AS i RETURN CASE WHEN i < 50000 THEN i ELSE 'x' END AS x"});
    let request = web.request("POST", QUERY, &accept, &body.to_string());
    web.send(&request);
    assert_eq!(web.take_line(), "HTTP/1.1 202 Accepted");
    assert!(!web.rest().ends_with(b"\r\n0\r\n\r\n"));
}

#[test]
fn long_results_come_in_pieces_and_tell_at_the_end_that_they_failed() {
    let (_running, mut web) = start();
    let answer = web.run("UNWIND range(1, 100000) AS i RETURN i, 'text ' + i AS t");
    assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
    let rows = answer.rows();
    assert_eq!(rows.as_array().map(Vec::len), Some(100_000));
    assert_eq!(rows[99_999], json!([100_000, "text 100000"]));
    let answer = web.run("UNWIND range(1, 20000) AS i RETURN 1 / (15000 - i) AS x");
    let json = answer.json();
    assert_eq!((answer.status, &json["errors"][0]["code"]), (202, &json!("Neo.ClientError.Statement.ArithmeticError")));
    assert!(json["data"]["values"].as_array().is_some_and(|rows| !rows.is_empty()));
    assert_eq!(web.run("RETURN 1 AS x").rows(), json!([[1]]));
}

#[test]
fn requests_may_stand_behind_each_other_and_in_pieces() {
    let (_running, mut web) = start();
    let body = |i: usize| format!("{{\"statement\": \"UNWIND range(1, {i}) AS x RETURN x\"}}");
    let mut all = Vec::new();
    for i in [1, 30_000, 2, 30_000, 3] {
        all.extend(web.request("POST", QUERY, "", &body(i)));
    }
    web.send(&all);
    for i in [1, 30_000, 2, 30_000, 3] {
        assert_eq!(web.answer(false).rows().as_array().map(Vec::len), Some(i));
    }
    // The same in single bytes, with a body in pieces.
    let text = body(2);
    let (first, second) = text.split_at(7);
    let pieces =
        format!("{:x}\r\n{first}\r\n{:X};a=b\r\n{second}\r\n0\r\nTrailer: x\r\n\r\n", first.len(), second.len());
    let request = format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{pieces}");
    for byte in request.as_bytes() {
        web.send(&[*byte]);
    }
    assert_eq!(web.answer(false).rows(), json!([[1], [2]]));
}

#[test]
fn a_client_says_that_it_is_the_last_request() {
    let (running, mut web) = start();
    let answer =
        web.ask("POST", QUERY, "Connection: close\r\n", "{\"statement\": \"UNWIND range(1, 200000) AS x RETURN x\"}");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(answer.rows().as_array().map(Vec::len), Some(200_000));
    assert!(web.is_closed());
    // An older client takes all up to the end of the connection.
    let mut web = Web::connect(running.address);
    let body = "{\"statement\": \"UNWIND range(1, 200000) AS x RETURN x\"}";
    web.send(format!("POST {QUERY} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    let answer = web.answer(false);
    assert_eq!((answer.header("transfer-encoding"), answer.rows().as_array().map(Vec::len)), (None, Some(200_000)));
}

#[test]
fn bodies_are_bounded() {
    let running = Running::start(Settings { message_bytes_max: 200_000, ..Settings::default() });
    let mut web = Web::connect(running.address);
    let body =
        |bytes: usize| json!({"statement": "RETURN size($x) AS n", "parameters": {"x": "x".repeat(bytes)}}).to_string();
    // Longer than strangers may send, which is let in once the head was looked at.
    assert_eq!(web.post(QUERY, &body(150_000)).rows(), json!([[150_000]]));
    // A client that asks first is told to go on.
    let text = body(1_000);
    let head = format!(
        "POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    web.send(head.as_bytes());
    assert_eq!(web.take_line(), "HTTP/1.1 100 Continue");
    assert_eq!(web.take_line(), "");
    web.send(text.as_bytes());
    assert_eq!(web.answer(false).rows(), json!([[1_000]]));
    // One that asks for too much is not.
    let asking =
        format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n");
    web.send(asking.as_bytes());
    assert!(web.answer(false).error().0 == 413 && web.is_closed());
    let mut web = Web::connect(running.address);
    // Too much is refused by its length alone, or as it comes.
    let head = format!("POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\nx");
    web.send(head.as_bytes());
    let (status, _, message) = web.answer(false).error();
    assert!(status == 413 && message.contains("--message-limit") && web.is_closed(), "{status} {message}");
    let mut web = Web::connect(running.address);
    let pieces = format!(
        "POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        format!("1000\r\n{}\r\n", "x".repeat(0x1000)).repeat(100)
    );
    let _ = web.try_send(pieces.as_bytes());
    assert_eq!(web.answer(false).error().0, 413);
    // The values of a body take at most sixteen times the limit.
    let mut web = Web::connect(running.address);
    let many = format!(
        "{{\"statement\": \"RETURN 1\", \"parameters\": {{\"x\": [{}]}}}}",
        vec!["{\"a\":1}"; 20_000].join(",")
    );
    let (status, _, message) = web.post(QUERY, &many).error();
    assert!(status == 400 && message.contains("too much memory"), "{status} {message}");
    assert_eq!(web.run("RETURN 1 AS x").rows(), json!([[1]]));
    let deep =
        format!("{{\"statement\": \"RETURN 1\", \"parameters\": {{\"x\": {}{}}}}}", "[".repeat(500), "]".repeat(500));
    assert!(web.post(QUERY, &deep).error().2.contains("recursion"));
}
