//! Transactions over HTTP that stay open between requests.

use std::time::Duration;

use serde_json::json;
use server::{Admission, Settings, credentials};

use super::client::{Client, ENDLESS};
use super::running::{Running, folder};
use super::web::{BEGIN, QUERY, Web};

const GONE: &str = "Neo.ClientError.Transaction.TransactionNotFound";

fn statement(text: &str) -> String {
    json!({"statement": text, "includeCounters": true}).to_string()
}

/// The path of a transaction that begins.
fn begin(web: &mut Web) -> String {
    let json = web.post(BEGIN, "").json();
    let expires = json["transaction"]["expires"].as_str().unwrap();
    assert!(expires.len() == 20 && expires.ends_with('Z'), "{expires}");
    format!("{BEGIN}/{}", json["transaction"]["id"].as_str().unwrap())
}

fn count(web: &mut Web) -> serde_json::Value {
    web.run("MATCH (n) RETURN count(n) AS n").rows()[0][0].clone()
}

#[test]
fn what_is_committed_stays_and_what_is_rolled_back_does_not() {
    let running = Running::start(Settings::default());
    let (mut web, mut other) = (Web::connect(running.address), Web::connect(running.address));
    let path = begin(&mut web);
    let json = web.post(&path, &statement("CREATE (n:A) RETURN 1 AS x")).json();
    assert_eq!((&json["data"]["values"], &json["counters"]["nodesCreated"]), (&json!([[1]]), &json!(1)));
    assert!(json["transaction"]["id"].is_string() && json.get("bookmarks").is_none(), "{json}");
    // It goes on over any connection, and nobody else sees it.
    assert_eq!(other.post(&path, &statement("MATCH (n) RETURN count(n)")).rows(), json!([[1]]));
    assert_eq!(count(&mut other), 0);
    // Without a statement it is kept open.
    assert_eq!(web.post(&path, "").status, 202);
    let json = web.post(&format!("{path}/commit"), "").json();
    assert!(json["bookmarks"][0].is_string(), "{json}");
    assert_eq!((count(&mut other), web.post(&path, "").error().1.as_str()), (json!(1), GONE));
    let path = begin(&mut web);
    web.post(&path, &statement("CREATE (:A)")).rows();
    let undone = web.ask("DELETE", &path, "", "");
    assert_eq!((undone.status, undone.json()), (200, json!({})));
    assert_eq!((count(&mut other), web.ask("DELETE", &path, "", "").error().0), (json!(1), 404));
}

#[test]
fn statements_come_with_the_beginning_and_the_end() {
    let running = Running::start(Settings::default());
    let mut web = Web::connect(running.address);
    let json = web.post(BEGIN, &statement("CREATE (n:A) RETURN 1 AS x")).json();
    assert_eq!(json["data"]["values"], json!([[1]]));
    let path = format!("{BEGIN}/{}", json["transaction"]["id"].as_str().unwrap());
    let answer = web.post(&format!("{path}/commit"), &statement("UNWIND range(1, 50000) AS i CREATE (n:B) RETURN i"));
    let json = answer.json();
    assert_eq!(json["data"]["values"].as_array().map(Vec::len), Some(50_000));
    assert!(json["bookmarks"][0].is_string() && json["counters"]["nodesCreated"] == 50_000, "{}", json["counters"]);
    assert_eq!(count(&mut web), 50_001);
    // A last statement that fails commits nothing.
    let path = begin(&mut web);
    web.post(&path, &statement("CREATE (:A)")).rows();
    assert_eq!(web.post(&format!("{path}/commit"), &statement("RETURN 1/0")).error().0, 400);
    assert_eq!((count(&mut web), web.post(&path, "").error().1.as_str()), (json!(50_001), GONE));
    // So does one that begins with it.
    assert_eq!(web.post(BEGIN, &statement("RETURN")).error().0, 400);
    let body = json!({"accessMode": "Read", "statement": "CREATE (:A)"}).to_string();
    assert_eq!(web.post(BEGIN, &body).error().1, "Neo.ClientError.Statement.AccessMode");
    assert_eq!(web.post("/db/other/query/v2/tx", "").error().0, 404);
    assert_eq!(metric(&mut web, "http_transactions"), 0);
}

/// A figure of the server.
fn metric(web: &mut Web, name: &str) -> u64 {
    let page = web.get("/metrics");
    assert_eq!(page.status, 200, "{}", page.text);
    let line = page.text.lines().find_map(|line| line.strip_prefix(&format!("knotwork_{name} ")));
    line.unwrap_or_else(|| panic!("{name}: {}", page.text)).parse().unwrap()
}

#[test]
fn a_statement_that_fails_ends_its_transaction() {
    let running = Running::start(Settings::default());
    let mut web = Web::connect(running.address);
    let path = begin(&mut web);
    web.post(&path, &statement("CREATE (:A)")).rows();
    assert_eq!(web.post(&path, &statement("RETURN 1/0")).error().1, "Neo.ClientError.Statement.ArithmeticError");
    assert_eq!(web.post(&format!("{path}/commit"), "").error().1, GONE);
    assert_eq!(count(&mut web), 0);
    // A body that cannot be read is no statement.
    let path = begin(&mut web);
    assert_eq!(web.post(&path, "{").error().0, 400);
    assert_eq!(web.post(&path, &statement("RETURN 1")).rows(), json!([[1]]));
    // Two that change the same cannot both be committed.
    web.run("CREATE (:C {x: 0})").rows();
    let (path, other) = (begin(&mut web), begin(&mut web));
    for path in [&path, &other] {
        web.post(path, &statement("MATCH (n:C) SET n.x = n.x + 1")).rows();
    }
    assert_eq!(web.post(&format!("{path}/commit"), "").status, 202);
    let (status, code, _) = web.post(&format!("{other}/commit"), "").error();
    assert_eq!((status, code.as_str()), (409, "Neo.TransientError.Transaction.Outdated"));
}

#[test]
fn a_transaction_without_requests_ends_after_a_time() {
    let settings = Settings { idle_http_transaction: Duration::from_millis(1_500), ..Settings::default() };
    let running = Running::start(settings);
    let mut web = Web::connect(running.address);
    let path = begin(&mut web);
    web.post(&path, &statement("CREATE (:A)")).rows();
    while metric(&mut web, "http_transactions") > 0 {
        std::thread::yield_now();
    }
    assert_eq!(web.post(&path, "").error().1, GONE);
    assert_eq!(count(&mut web), 0);
    // One that is told to end does so at once.
    let running = Running::start(Settings::default());
    let mut web = Web::connect(running.address);
    let path = begin(&mut web);
    web.post(&path, &statement("CREATE (:A)")).rows();
    let rows = web.run("SHOW TRANSACTIONS YIELD transactionId, protocol, connectionId").rows();
    let row = rows.as_array().unwrap().iter().find(|row| row[1] == "http").unwrap().clone();
    assert!(row[2].as_str().unwrap().starts_with("http-"), "{row}");
    // The statement that asks is listed too, and is not to end itself.
    for row in rows.as_array().unwrap() {
        let body = json!({"statement": "TERMINATE TRANSACTIONS $id", "parameters": {"id": row[0]}});
        let _ = web.post(QUERY, &body.to_string());
    }
    while metric(&mut web, "http_transactions") > 0 {
        std::thread::yield_now();
    }
    assert_eq!(count(&mut web), 0);
}

#[test]
fn a_transaction_belongs_to_its_client_and_takes_one_request_at_a_time() {
    let folder = folder();
    let users = folder.join("a.knot.users");
    credentials::set_password(&users, "long enough").unwrap();
    let line = std::fs::read_to_string(&users).unwrap();
    std::fs::write(&users, format!("{line}{}", line.replacen("neo4j", "ann", 1))).unwrap();
    let settings = Settings { admission: Admission::Users(users), ..Settings::default() };
    let running = Running::start_with(settings, database::Config::default(), folder);
    let as_user = |authorization: &str| {
        let mut web = Web::connect(running.address);
        web.headers.push_str(&format!("Authorization: Basic {authorization}\r\n"));
        web
    };
    // The names and the password in Base64.
    let (mut first, mut second) = (as_user("bmVvNGo6bG9uZyBlbm91Z2g="), as_user("YW5uOmxvbmcgZW5vdWdo"));
    let path = begin(&mut first);
    for (method, path) in [("POST", path.clone()), ("DELETE", path.clone()), ("POST", format!("{path}/commit"))] {
        assert_eq!(second.ask(method, &path, "", "").error().1, GONE);
    }
    assert_eq!(second.run("SHOW CURRENT USER YIELD user").rows(), json!([["ann"]]));
    // While a statement runs, the transaction is taken.
    let request = first.request("POST", &path, "", &statement(ENDLESS));
    first.send(&request);
    let mut third = as_user("bmVvNGo6bG9uZyBlbm91Z2g=");
    while !third.run("SHOW TRANSACTIONS YIELD currentQuery").text.contains("range(1, 1000000)") {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (status, code, _) = third.post(&path, "").error();
    assert_eq!((status, code.as_str()), (409, "Neo.ClientError.Transaction.TransactionAccessedConcurrently"));
    // The client hangs up, and its statement and transaction are over.
    drop(first);
    loop {
        match third.post(&path, "").error() {
            (409, ..) => std::thread::yield_now(),
            (_, code, _) => break assert_eq!(code, GONE),
        }
    }
}

#[test]
fn transactions_are_bounded_and_roll_back_with_the_server() {
    let mut running =
        Running::start(Settings { connections_max: 2, drain: Duration::from_secs(3_600), ..Settings::default() });
    let mut web = Web::connect(running.address);
    let (first, second) = (begin(&mut web), begin(&mut web));
    let (status, code, message) = web.post(BEGIN, "").error();
    assert_eq!((status, code.as_str()), (503, "Neo.TransientError.Request.NoThreadsAvailable"), "{message}");
    web.ask("DELETE", &second, "", "");
    web.post(&first, &statement("CREATE (:Kept)")).rows();
    running.tell_to_end();
    // Those that are open may be ended, and no new one begins.
    while web.get("/health").status == 200 {
        std::thread::yield_now();
    }
    assert_eq!(web.post(BEGIN, "").error().1, "Neo.TransientError.General.DatabaseUnavailable");
    assert_eq!(web.post(&format!("{first}/commit"), "").status, 202);
    assert!(web.is_closed());
    running.wait();
    let mut session = running.database.session();
    let kept = session.query("MATCH (n:Kept) RETURN count(n) AS n", &database::Parameters::default()).unwrap();
    assert_eq!(kept.single(), Some(database::Value::Int(1)));
    // A transaction that is open when the time is over is undone.
    let mut running = Running::start(Settings { drain: Duration::from_millis(50), ..Settings::default() });
    let mut web = Web::connect(running.address);
    let path = begin(&mut web);
    web.post(&path, &statement("CREATE (:Lost)")).rows();
    running.tell_to_end();
    running.wait();
    let mut session = running.database.session();
    let lost = session.query("MATCH (n:Lost) RETURN count(n) AS n", &database::Parameters::default()).unwrap();
    assert_eq!(lost.single(), Some(database::Value::Int(0)));
}

#[test]
fn bolt_and_http_are_served_beside_each_other() {
    let running = Running::start(Settings::default());
    let (mut web, mut client) = (Web::connect(running.address), Client::connect(running.address));
    web.run("CREATE (:A)").rows();
    assert_eq!(client.rows("MATCH (n:A) RETURN n"), 1);
    client.rows("CREATE (n:A) RETURN n");
    assert_eq!(count(&mut web), 2);
}
