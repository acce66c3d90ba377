//! Golden tests of the parser: queries and their canonical text, and queries and their errors.

mod errors;
mod fuzz;
mod queries;

use super::{parse, parse_expression, parse_script};
use crate::ast::{ClauseKind, Expression, StatementKind};

#[test]
fn spans_hold_the_text_as_written() {
    let query = "MATCH (n) RETURN n.name ,  ( n.a + 1 )*2 AS x, count( * ), -1 , [x IN [1] | x]";
    let statement = parse(query).expect("the query is right");
    let StatementKind::Query(parsed) = &statement.kind else { panic!("it is a query") };
    let ClauseKind::Return(projection) = &parsed.first.clauses[1].kind else { panic!("it returns") };
    let texts: Vec<&str> = projection.items.iter().map(|item| text_of(query, &item.expression)).collect();
    assert_eq!(texts, ["n.name", "( n.a + 1 )*2", "count( * )", "-1", "[x IN [1] | x]"]);
}

fn text_of<'a>(query: &'a str, expression: &Expression) -> &'a str {
    &query[expression.span.start as usize..expression.span.end as usize]
}

#[test]
fn scripts_hold_any_number_of_statements() {
    let statements = parse_script(";BEGIN; CREATE (n);; // done;\nCOMMIT").expect("the script is right");
    let texts: Vec<String> = statements.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["BEGIN", "CREATE (n)", "COMMIT"]);
    assert_eq!(parse_script("").expect("an empty script is right").len(), 0);
    assert_eq!(parse_expression("[1, {a: $b}]").expect("it is right").to_string(), "[1, {a: $b}]");
    assert!(parse_expression("1 2").is_err());
}

#[test]
fn nesting_is_limited_everywhere() {
    let deep = |open: &str, middle: &str, close: &str, times: usize| {
        format!("RETURN {}{middle}{}", open.repeat(times), close.repeat(times))
    };
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("NOT ", "true", ""),
        ("- ", "x", ""),
        ("", "1", " + 1"),
        ("", "x", ".y"),
        ("", "x", "[0]"),
        ("", "x", " IS NULL"),
        ("{a: ", "1", "}"),
        ("f(", "1", ")"),
        ("CASE WHEN ", "1", " THEN 1 END"),
        ("EXISTS { RETURN ", "1", " AS x }"),
        ("EXISTS { (a {b: ", "1", "}) }"),
        ("[x IN ", "xs", " | x]"),
        ("reduce(a = ", "1", ", x IN y | x)"),
        ("1 + (2 * (", "3", "))"),
        ("n:A&(", "n:!A", ")"),
        ("[(a)-[{x: ", "1", "}]->(b) | 1]"),
    ] {
        let query = deep(open, middle, close, 60);
        let is_wrong_in_itself = parse(&deep(open, middle, close, 1)).is_err();
        assert_eq!(parse(&query).is_err(), is_wrong_in_itself, "{query}");
        let error = parse(&deep(open, middle, close, 100_000)).expect_err("it is too deep");
        assert!(is_wrong_in_itself || error.code() == model::ErrorCode::Limit, "{open}{middle}{close}: {error}");
    }
    let foreach = format!("{} CREATE (n) {}", "FOREACH (x IN [1] | ".repeat(10_000), ")".repeat(10_000));
    assert_eq!(parse(&foreach).expect_err("it is too deep").code(), model::ErrorCode::Limit);
    let cases = format!("{} RETURN 1 AS x {}", "WHEN true THEN { ".repeat(10_000), "}".repeat(10_000));
    assert_eq!(parse(&cases).expect_err("it is too deep").code(), model::ErrorCode::Limit);
    let steps = format!("RETURN 1 AS x{}", " NEXT RETURN x".repeat(20_000));
    assert!(parse(&steps).is_ok(), "one query after the other is no nesting");
    let labels = format!("MATCH (n:{}A)", "!(".repeat(10_000));
    assert_eq!(parse(&labels).expect_err("it is too deep").code(), model::ErrorCode::Limit);
}

#[test]
fn long_chains_are_no_nesting() {
    for (word, operand) in [("AND", "true"), ("OR", "n.x = 1"), ("XOR", "true"), ("<", "1")] {
        let query = format!("RETURN {}", vec![operand; 20_000].join(&format!(" {word} ")));
        assert!(parse(&query).is_ok(), "{word}");
    }
    let list = format!("RETURN [{}]", vec!["1"; 100_000].join(","));
    assert!(parse(&list).is_ok());
}

#[test]
fn long_texts_are_refused() {
    let text = " ".repeat(model::limits::QUERY_BYTES_MAX + 1);
    assert_eq!(parse(&text).expect_err("it is too long").code(), model::ErrorCode::Limit);
}
