//! Conditions, limits and orders that attached databases answer: no more rows come than SQL would give, and no others.

use database::Parameters;
use rusqlite::Connection;
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

#[path = "source_pushdown/flights.rs"]
mod flights;
#[path = "source_pushdown/patterns.rs"]
mod patterns;

use flights::{AIRPORTS, CARRIERS, CODES, databases, fetched, rows, sources};

/// Questions, with the SQL whose rows are needed to answer them; the rows fetched are at most twice as many.
const NEEDED: &[(&str, &str)] = &[
    ("MATCH (f:Flight) WHERE f.delay > 800 RETURN f.id", "SELECT id FROM flight WHERE delay > 800"),
    (
        "MATCH (f:Flight) WHERE 800 < f.delay AND f.month = 6 RETURN f.id",
        "SELECT id FROM flight WHERE delay > 800 AND month = 6",
    ),
    (
        "MATCH (f:Flight) WHERE f.delay > 800 OR f.speed < 2 RETURN f.id",
        "SELECT id FROM flight WHERE delay > 800 OR speed < 2",
    ),
    ("MATCH (f:Flight) WHERE f.id = 17 OR f.id = 80 RETURN f.month", "SELECT month FROM flight WHERE id IN (17, 80)"),
    (
        "MATCH (f:Flight) WHERE f.carrier IS NULL AND f.delay IS NULL RETURN f.id",
        "SELECT id FROM flight WHERE carrier IS NULL AND delay IS NULL",
    ),
    (
        "MATCH (f:Flight) WHERE f.carrier <> 'UA' AND f.delay > 800 RETURN f.id",
        "SELECT id FROM flight WHERE NOT carrier = 'UA' AND delay > 800",
    ),
    (
        "MATCH (f:Flight) WHERE NOT f.month IN [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] AND f.speed > 590 RETURN f.id, f.speed",
        "SELECT id FROM flight WHERE month > 10 AND speed > 590",
    ),
    (
        "MATCH (f:Flight) WHERE f.carrier CONTAINS '%' AND f.month = 1 RETURN f.id",
        "SELECT id FROM flight WHERE carrier = 'A%' AND month = 1",
    ),
    (
        "MATCH (f:Flight) WHERE f.carrier ENDS WITH '_' AND f.month = 1 RETURN f.id",
        "SELECT id FROM flight WHERE carrier = 'A_' AND month = 1",
    ),
    ("MATCH (f:Flight) RETURN f.id ORDER BY f.id LIMIT 5", "SELECT id FROM flight ORDER BY id LIMIT 5"),
    ("MATCH (f:Flight) RETURN f.id, f.delay ORDER BY f.delay DESC, f.id DESC LIMIT 4", "SELECT id FROM flight LIMIT 4"),
    (
        "MATCH (f:Flight) WHERE f.month = 3 RETURN f.id, f.speed ORDER BY f.speed SKIP 2 LIMIT 3",
        "SELECT id FROM flight LIMIT 5",
    ),
    ("MATCH (f:Flight) RETURN f.id LIMIT 3", "SELECT id FROM flight LIMIT 3"),
    ("MATCH (f:Flight) WHERE f.delay IS NULL RETURN count(*)", "SELECT count(*) FROM flight"),
    ("MATCH (f:Flight) WHERE f.delay > 5 AND f.month = 2 RETURN count(f)", "SELECT count(*) FROM flight"),
    (
        "MATCH (f:Flight) RETURN f.id, f.delay, f.month ORDER BY f.month DESC, f.id LIMIT 4",
        "SELECT id FROM flight LIMIT 4",
    ),
    (
        "MATCH (f:Flight) WHERE NOT (f.delay < 800 OR f.month <= 3) RETURN f.id",
        "SELECT id FROM flight WHERE delay >= 800 AND month > 3",
    ),
    ("MATCH (f:Flight) WHERE NOT (f)-[:FROM]->() RETURN count(*)", "SELECT count(*) FROM flight"),
    (
        "MATCH (f:Flight)-[:FROM]->(o) WHERE f.delay > 800 RETURN o.faa, count(f)",
        "SELECT origin FROM flight WHERE delay > 800 GROUP BY origin",
    ),
    (
        "MATCH (c:Crew)-[:DUTY]->(f:Flight)-[:FROM]->(o) RETURN o.faa, c.id, count(*) AS n ORDER BY n DESC LIMIT 15",
        "SELECT id FROM flight LIMIT 15",
    ),
    ("MATCH (f:Flight) RETURN max(f.delay), min(f.carrier), sum(f.month), avg(f.id)", "SELECT count(*) FROM flight"),
    ("MATCH (f:Flight) RETURN DISTINCT f.month", "SELECT DISTINCT month FROM flight"),
    (
        "MATCH (f:Flight) WHERE f.day IS NOT NULL RETURN f.carrier, count(*), count(DISTINCT f.month), min(f.delay)",
        "SELECT DISTINCT carrier FROM flight",
    ),
    ("MATCH (o:Airport {faa: 'JFK'})<-[r:FROM]-() RETURN count(r)", "SELECT count(*) FROM flight"),
    (
        "MATCH (o:Airport)<-[r:FROM]-() WITH o, count(r) AS n ORDER BY n DESC LIMIT 3 RETURN o.name, n",
        "SELECT faa FROM airport LIMIT 3",
    ),
    (
        "MATCH (f:Flight)-[:FROM]->(o:Airport) WHERE f.delay > 800 AND o.name = 'Airport JFK' RETURN f.id, o.faa",
        "SELECT id FROM flight WHERE delay > 800 AND origin = 'JFK'",
    ),
    (
        "MATCH (f:Flight)-[:FROM]->(o:Airport) WHERE o.faa <> 'JFK' RETURN f.id, o.name ORDER BY f.delay DESC, f.id LIMIT 5",
        "SELECT id FROM flight LIMIT 5",
    ),
];

#[test]
fn no_more_is_fetched_than_sql_would_give() {
    let folder = Folder::new();
    for source in databases("pushdown_rows", &folder) {
        let counted = Connection::open(folder.join("flights.db")).expect("it is there");
        let database = source.attached(&folder, "rows");
        for (text, sql) in NEEDED {
            let query = format!("SELECT count(*) FROM ({sql}) AS q");
            let needed: i64 = counted.query_row(&query, [], |row| row.get(0)).expect("a query of a test runs");
            let mut session = database.session();
            rows(&mut session, "CALL source.forget('f')");
            let (_, fetched, report) = fetched(&mut session, text);
            assert!(
                fetched <= 2 * needed as u64,
                "{}: {text}: {fetched} rows fetched, {needed} are needed\n{report}",
                source.name
            );
        }
    }
}

#[test]
fn a_pattern_begins_with_the_few_rows_that_a_condition_leaves() {
    let folder = Folder::new();
    for source in databases("pushdown_pattern", &folder) {
        let database = source.attached(&folder, "pattern");
        let text = "MATCH (f:Flight)-[:FROM]->(o) WHERE f.delay > 800 RETURN o.faa, count(f) ORDER BY o.faa";
        let counted = Connection::open(folder.join("flights.db")).expect("it is there");
        let needed = "SELECT count(*) FROM flight WHERE delay > 800";
        let needed: i64 = counted.query_row(needed, [], |row| row.get(0)).expect("a query of a test runs");
        let (_, fetched, report) = fetched(&mut database.session(), text);
        // The flights, their edges, and the airports.
        let most = 2 * needed as u64 + 2 * AIRPORTS.len() as u64;
        assert!(fetched <= most, "{}: {fetched} rows fetched, {needed} flights are late\n{report}", source.name);
    }
}

/// A condition of a query over the flights.
fn condition(random: &mut SeededRandom, depth: u32) -> String {
    let number = |random: &mut SeededRandom| match random.below(5) {
        0 => "5.5".to_owned(),
        1 => "null".to_owned(),
        2 => "'x'".to_owned(),
        _ => (random.below(40) as i64 - 12).to_string(),
    };
    let text = |random: &mut SeededRandom| {
        let text = random.pick(&CARRIERS).replace('\\', "\\\\").replace('\'', "\\'");
        if random.chance(10) { "null".to_owned() } else { format!("'{text}'") }
    };
    let operator = |random: &mut SeededRandom| *random.pick(&["=", "<>", "<", "<=", ">", ">="]);
    let day = |random: &mut SeededRandom| format!("date('2024-0{}-1{}')", 1 + random.below(9), random.below(10));
    match if depth == 0 { 2 + random.below(11) } else { random.below(14) } {
        13 => format!("NOT ({})", condition(random, depth - 1)),
        0 => format!("({} OR {})", condition(random, depth - 1), condition(random, depth - 1)),
        1 => format!("({} AND {})", condition(random, depth - 1), condition(random, depth - 1)),
        2 | 3 => {
            let property = random.pick(&["f.delay", "f.month", "f.speed", "f.id", "f.price"]);
            format!("{property} {} {}", operator(random), number(random))
        }
        4 => format!("{} {} f.delay", number(random), operator(random)),
        5 => format!("f.carrier {} {}", operator(random), text(random)),
        6 => {
            let word = random.pick(&["STARTS WITH", "ENDS WITH", "CONTAINS"]);
            format!("f.{} {word} {}", random.pick(&["carrier", "code"]), text(random))
        }
        7 => {
            let not = if random.chance(40) { "NOT " } else { "" };
            let items: Vec<String> = (0..random.below(4)).map(|_| text(random)).collect();
            format!("{not}f.carrier IN [{}]", items.join(", "))
        }
        8 => format!("f.{} IS NULL", random.pick(&["delay", "carrier", "speed", "day", "price", "unheard"])),
        9 => format!("f.{} IS NOT NULL", random.pick(&["delay", "carrier", "speed", "code"])),
        10 => format!("f.day {} {}", operator(random), day(random)),
        11 => {
            let words = [format!("{:?}", random.pick(&CODES)), "'ab  '".to_owned(), "'a '".to_owned()];
            format!("f.code {} {}", operator(random), random.pick(&words))
        }
        _ => format!("f.price {} {}.{:02}", operator(random), random.below(90), random.below(100)),
    }
}

/// A question for what a condition leaves, whose answer does not depend on the order of equal rows.
fn question(random: &mut SeededRandom, round: u64) -> String {
    let condition = condition(random, 2);
    let down = *random.pick(&["", " DESC"]);
    let end = match round % 4 {
        0 => "RETURN f.id, f.delay, f.carrier ORDER BY f.id".to_owned(),
        1 => "RETURN count(*), count(f.delay)".to_owned(),
        2 => {
            let key = random.pick(&["carrier", "code", "day", "price", "delay"]);
            format!("RETURN f.{key} ORDER BY f.{key}{down} LIMIT 7")
        }
        _ => format!("RETURN f.speed, f.delay ORDER BY f.delay{down}, f.speed{down} SKIP 3 LIMIT {}", random.below(9)),
    };
    format!("MATCH (f:Flight) WHERE {condition} {end}")
}

#[test]
fn answers_are_the_same_whoever_tests_and_sorts() {
    let folder = Folder::new();
    let seed = seed_or(41);
    for source in sources("pushdown_same", &folder) {
        let (attached, copied) = (source.attached(&folder, "same"), source.copied(&folder));
        let (mut attached, mut copied) = (attached.session(), copied.session());
        let mut random = SeededRandom::new(seed);
        let mut found = 0;
        for round in 0..80 {
            let text = question(&mut random, round);
            let expected = rows(&mut copied, &text);
            found += expected.len();
            assert_eq!(rows(&mut attached, &text), expected, "{}, seed {seed}: {text}", source.name);
        }
        assert!(found > 1_000, "{}: the questions ask for {found} rows only", source.name);
    }
}

#[test]
fn plans_say_what_is_pushed_and_indexes_are_real() {
    let folder = Folder::new();
    let database = databases("pushdown_plans", &folder).swap_remove(0).attached(&folder, "plans");
    let mut session = database.session();
    let text = "MATCH (f:Flight) WHERE f.delay > 800 AND f.carrier =~ 'U.*' RETURN f.id";
    let plan = rows(&mut session, "SHOW INDEXES");
    assert!(plan.iter().all(|row| row.contains("unique")), "{plan:?}");
    let mut explain = |text: &str| {
        let result = session.query(&format!("EXPLAIN {text}"), &Parameters::default());
        result.expect("a plan is told").summary.report.expect("it is asked for").text().to_owned()
    };
    let told = explain(text);
    assert!(told.contains("pushed: f.delay > 800") && told.contains("f.carrier =~ 'U.*'"), "{told}");
    assert!(told.contains("Filter") && told.contains("WHERE") && !told.contains("Index"), "{told}");
    let told = explain("MATCH (f:Flight) WHERE f.month = 6 RETURN f.id ORDER BY f.speed DESC LIMIT 5");
    assert!(told.contains("pushed: f.month = 6 ORDER BY f.speed DESC LIMIT 5"), "{told}");
    assert!(told.contains("LIMIT 5") && told.contains("Top"), "{told}");
}
