//! Values, expressions, patterns and plans of any depth, on the smallest stack that threads have: an answer or an error,
//! never the end of the process.

use std::time::Duration;

use database::{Config, Database, Durability, ErrorCode, Parameters, QueryResult, Session};
use model::limits::VALUE_DEPTH_MAX;
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

/// The stack of a thread that nobody has asked for a larger one.
const STACK_BYTES: usize = 2 << 20;

/// Runs on a new store, in a thread with a small stack.
fn on_a_small_stack(work: impl FnOnce(&mut Session) + Send) {
    let folder = Folder::new();
    let config = Config { durability: Durability::Off, threads: 2, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("a store can be opened");
    std::thread::scope(|scope| {
        let run = || work(&mut database.session());
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run);
        thread.expect("a thread").join().expect("no panic");
    });
}

fn run(session: &mut Session, text: &str) -> Result<QueryResult, ErrorCode> {
    session.query(text, &Parameters::default()).map_err(|error| error.code())
}

/// Expressions that put `s` one level deeper.
const DEEPER: &[&str] = &[
    "[s]", "{a: s}", "[0, s, null]", "{a: 1, b: s, c: []}", "[x IN [1, 2] | s]", "[x IN [s] WHERE true]",
    "mapEntry('k', s)", "[] + [s]", "[s] + 1", "reverse([1, s])", "tail([1, s])", "[1, s][1..]",
    "CASE WHEN true THEN [s] ELSE null END", "coalesce(null, [s])", "head([m IN [{a: 1}] | m{.a, b: s}])",
    "reduce(t = [], y IN [1, 2] | t + [s])",
];

/// Uses of a deep value `m`.
const USES: &[&str] = &[
    "RETURN m",
    "RETURN m = m, m <> m, m < m, m IN [m, 1]",
    "RETURN valueType(m), size(toString(size([m]))), isEmpty([m])",
    "UNWIND [m, 1, m] AS x RETURN DISTINCT x",
    "UNWIND [m, 1, m] AS x RETURN x, count(*)",
    "UNWIND [m, 1, m] AS x RETURN x ORDER BY x DESC",
    "RETURN min(m), max(m), count(DISTINCT m)",
    "RETURN collect(m)",
    "RETURN [x IN [m] WHERE x = m | 1]",
    "UNWIND [m, m] AS a UNWIND [m] AS b WITH a, b WHERE a = b RETURN count(*)",
    "UNWIND range(1, 5000) AS i WITH i, m, toString(i) + 'abcdefghijklmnopqrstuvwxyz' AS t ORDER BY t DESC RETURN count(m)",
    "CREATE (n:Deep {x: m}) RETURN n.x",
    "MATCH (n:Deep) WHERE n.x = m RETURN n.x, properties(n)",
    "MERGE (n:Deep {x: m}) SET n.y = m RETURN n",
];

#[test]
fn a_value_within_the_limit_can_be_put_to_any_use() {
    on_a_small_stack(|session| {
        let mut answers = 0;
        for deeper in DEEPER {
            // Some begin one level down, and what is done puts them into a list or two.
            let made = format!("WITH reduce(s = 1, i IN range(1, {}) | {deeper}) AS m", VALUE_DEPTH_MAX - 4);
            for memory in [None, Some(300_000)] {
                session.set_query_memory(memory);
                for wanted in USES {
                    let text = format!("{made} {wanted}");
                    match run(session, &text) {
                        Ok(result) => {
                            answers += 1;
                            for row in result.rows() {
                                for value in &row {
                                    assert!(value.depth() <= VALUE_DEPTH_MAX, "{text}");
                                    assert_eq!(value, &value.clone(), "{text}");
                                    assert!(!format!("{value} {value:?}").is_empty(), "{text}");
                                }
                            }
                        }
                        Err(code) => assert!(
                            [ErrorCode::Limit, ErrorCode::Type, ErrorCode::Argument].contains(&code),
                            "{text}: {code:?}"
                        ),
                    }
                }
            }
        }
        assert!(answers > DEEPER.len() * USES.len(), "{answers} answers");
    });
}

#[test]
fn a_deeper_value_is_refused_where_it_is_made() {
    on_a_small_stack(|session| {
        for deeper in DEEPER {
            for depth in [VALUE_DEPTH_MAX + 2, 30_000, 100_000] {
                let text = format!("WITH reduce(s = 1, i IN range(1, {depth}) | {deeper}) AS m RETURN m");
                let error = session.query(&text, &Parameters::default()).err().expect(&text);
                assert_eq!(error.code(), ErrorCode::Limit, "{text}: {error:?}");
                // A value that stands in a list twice makes it grow faster than its depth.
                let is_told = ["levels deep", "in all its levels"].iter().any(|words| error.message().contains(words));
                assert!(is_told, "{text}: {error:?}");
            }
        }
        // Aggregates nest as well.
        for levels in [200, 400] {
            let text = format!("WITH 1 AS s {} RETURN s", "WITH collect(s) AS s ".repeat(levels));
            let expected = if levels < VALUE_DEPTH_MAX as usize { None } else { Some(ErrorCode::Limit) };
            assert_eq!(run(session, &text).err(), expected, "{levels}");
            let text = format!("WITH 1 AS s {} RETURN s", "CALL (s) { RETURN [s] AS t } WITH t AS s ".repeat(levels));
            assert_eq!(run(session, &text).err(), expected, "{levels}");
        }
        // So do parameters.
        let mut value = model::Value::Int(1);
        for _ in 0..=VALUE_DEPTH_MAX {
            value = model::Value::list(vec![value]);
        }
        let parameters = [(std::sync::Arc::from("deep"), value)].into_iter().collect();
        let error = session.query("RETURN $deep", &parameters).err().expect("it is too deep");
        assert_eq!(error.code(), ErrorCode::Limit);
    });
}

#[test]
fn random_nestings_give_an_answer_or_an_error() {
    let seed = seed_or(17);
    let mut random = SeededRandom::new(seed);
    on_a_small_stack(|session| {
        for round in 0..60 {
            let mut made = String::from("WITH 1 AS s");
            for _ in 0..random.below(5) {
                let deeper = random.pick(DEEPER);
                let steps = random.pick(&[3, 60, 250, 1_000, 20_000]);
                made.push_str(&format!(" WITH reduce(s = s, i IN range(1, {steps}) | {deeper}) AS s"));
            }
            let wanted = random.pick(USES);
            session.set_query_memory(random.chance(50).then_some(300_000));
            let text = format!("{made} WITH s AS m {wanted}");
            if let Err(code) = run(session, &text) {
                let expected = [ErrorCode::Limit, ErrorCode::Type, ErrorCode::Argument];
                assert!(expected.contains(&code), "FUZZ_SEED={seed}, round {round}: {text}: {code:?}");
            }
        }
    });
}

/// Texts in which something is nested, or repeated side by side, `n` times.
fn texts(n: usize) -> Vec<String> {
    let around = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
    let joined = |part: &str, by: &str| vec![part; n].join(by);
    let numbered = |part: &dyn Fn(usize) -> String, by: &str| (0..n).map(part).collect::<Vec<_>>().join(by);
    vec![
        format!("RETURN {}", around("(", "1", ")")),
        format!("RETURN {}", around("[", "1", "]")),
        format!("RETURN {}", around("{a:", "1", "}")),
        format!("RETURN {}", around("abs(", "1", ")")),
        format!("RETURN {}", around("NOT ", "true", "")),
        format!("RETURN {}", around("- ", "1", "")),
        format!("RETURN {}", around("CASE WHEN true THEN ", "1", " END")),
        format!("RETURN {}", around("[x IN ", "[1]", " | x]")),
        format!("RETURN {}", around("reduce(s = 0, x IN [1] | s + ", "1", ")")),
        format!("RETURN {}", around("all(x IN [1] WHERE ", "true", ")")),
        format!("WITH [1] AS x RETURN x{}", "[0]".repeat(n)),
        format!("WITH {{a: 1}} AS x RETURN x{}", ".a".repeat(n)),
        format!("RETURN {} AS x", joined("1", "+")),
        format!("RETURN size({}) AS x", joined("'a'", "+")),
        format!("RETURN {} AS x", joined("true", " AND ")),
        format!("RETURN {} AS x", joined("false", " OR ")),
        format!("RETURN {} AS x", joined("true", " XOR ")),
        format!("RETURN {} AS x", joined("1", " < ")),
        format!("MATCH (p:P) WHERE {} RETURN count(*)", numbered(&|i| format!("p.id = {i}"), " OR ")),
        format!("MATCH (p:P) WHERE {} RETURN count(*)", numbered(&|i| format!("p.id <> {i}"), " AND ")),
        format!("MATCH (n:{}) RETURN count(*)", around("(", "A", ")")),
        format!("MATCH (n:{}A) RETURN count(*)", "!".repeat(n)),
        format!("MATCH (n:{}) RETURN count(*)", numbered(&|i| format!("L{i}"), "|")),
        format!("MATCH (n) WHERE {} RETURN count(*)", around("EXISTS { MATCH (n) WHERE ", "true", " }")),
        format!("MATCH (n) WHERE {} RETURN count(*)", around("NOT EXISTS { (n)-->(m) WHERE ", "true", " }")),
        format!("{}RETURN 1 AS x{}", "CALL { ".repeat(n), " } RETURN x".repeat(n)),
        format!("MATCH {} RETURN count(*)", around("(", "(a)-->(b)", "){1,2}")),
        format!("MATCH {} RETURN count(*)", joined("()", "-[:R]->")),
        format!("MATCH {} RETURN count(*)", numbered(&|i| format!("(n{i})"), "-[:R]->")),
        format!("MATCH {} RETURN count(*)", numbered(&|i| format!("(n{i}:P)--(m{i})"), ", ")),
        format!("{} RETURN count(*)", numbered(&|i| format!("MATCH (n{i}:P)"), " ")),
        format!("{} RETURN count(*)", numbered(&|i| format!("OPTIONAL MATCH (n{i}:P)"), " ")),
        format!("{} RETURN x", joined("WITH 1 AS x", " ")),
        joined("RETURN 1 AS x", " UNION ALL "),
        joined("RETURN 1 AS x", " UNION "),
        joined("RETURN 1 AS x", " NEXT "),
        joined("WHEN false THEN RETURN 1 AS x", " "),
        around("FOREACH (x IN [1] | ", "CREATE ()", ")"),
        format!("CREATE {}", joined("()", ",")),
        format!("RETURN {}", numbered(&|i| format!("{i} AS c{i}"), ",")),
        format!("RETURN [{}] AS x", joined("1", ",")),
        format!("RETURN {{{}}} AS x", numbered(&|i| format!("k{i}: {i}"), ",")),
        format!("{} RETURN 1", "/*".repeat(n)),
        format!("RETURN {}", "(".repeat(n)),
        format!("RETURN 1 AS `{}`", "x".repeat(n)),
    ]
}

#[test]
fn texts_of_any_depth_and_length_give_an_answer_or_an_error() {
    on_a_small_stack(|session| {
        run(session, "UNWIND range(1, 3) AS i CREATE (:P {id: i})").expect("nodes");
        // Planning the largest of them may take long, and can be stopped.
        session.set_timeout(Some(Duration::from_millis(400)));
        let mut answers = 0;
        for n in [20, 100, 250, 1_000, 4_000] {
            for text in texts(n) {
                match run(session, &text) {
                    Ok(_) => answers += 1,
                    Err(code) => {
                        let expected = [
                            ErrorCode::Limit,
                            ErrorCode::Syntax,
                            ErrorCode::Semantic,
                            ErrorCode::Type,
                            ErrorCode::Unsupported,
                            ErrorCode::Timeout,
                        ];
                        let start: String = text.chars().take(60).collect();
                        assert!(expected.contains(&code), "{n} times {start}: {code:?}");
                    }
                }
                // The plan is shown, and dropped.
                let _ = run(session, &format!("EXPLAIN {text}"));
            }
        }
        assert!(answers > 60, "{answers}");
    });
}
