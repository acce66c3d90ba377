//! Operators, branches, lists and maps over plain values.

use super::{Fixture, columns};

/// Names and columns written as lists.
type Columns<'c> = &'c [(&'c str, &'c str)];

/// Checks expressions over columns written as lists: columns, expression, expected list.
fn check_all(cases: &[(Columns<'_>, &str, &str)]) {
    let fixture = Fixture::new();
    for (texts, expression, expected) in cases {
        fixture.check(&columns(&fixture, texts), expression, expected);
    }
}

fn check_errors(cases: &[(Columns<'_>, &str, [&str; 3])]) {
    let fixture = Fixture::new();
    for (texts, expression, expected) in cases {
        fixture.check_error(&columns(&fixture, texts), expression, *expected);
    }
}

const TRUTHS: Columns<'_> = &[
    ("a", "[true, true, true, false, false, false, null, null, null]"),
    ("b", "[true, false, null, true, false, null, true, false, null]"),
];

#[test]
fn logic_has_three_values() {
    check_all(&[
        (TRUTHS, "a AND b", "[true, false, null, false, false, false, null, false, null]"),
        (TRUTHS, "a OR b", "[true, true, true, true, false, null, true, null, null]"),
        (TRUTHS, "a XOR b", "[false, true, null, true, false, null, null, null, null]"),
        (TRUTHS, "NOT a", "[false, false, false, true, true, true, null, null, null]"),
        (TRUTHS, "a AND NOT b OR b", "[true, true, null, true, false, null, true, null, null]"),
        (TRUTHS, "a IS NULL", "[false, false, false, false, false, false, true, true, true]"),
        (TRUTHS, "b IS NOT NULL", "[true, true, false, true, true, false, true, true, false]"),
        (&[("a", "[null, null]")], "a AND true OR NOT a", "[null, null]"),
    ]);
}

#[test]
fn arithmetic() {
    let numbers: Columns<'_> = &[("x", "[7, -7, null, 0]"), ("y", "[2, 2, 2, null]"), ("f", "[0.5, 2.0, 1.5, null]")];
    check_all(&[
        (numbers, "x + y", "[9, -5, null, null]"),
        (numbers, "x - f", "[6.5, -9.0, null, null]"),
        (numbers, "x * y", "[14, -14, null, null]"),
        (numbers, "x / y", "[3, -3, null, null]"),
        (numbers, "x % y", "[1, -1, null, null]"),
        (numbers, "x / f", "[14.0, -3.5, null, null]"),
        (numbers, "y ^ 3", "[8.0, 8.0, 8.0, null]"),
        (numbers, "-x", "[-7, 7, null, 0]"),
        (numbers, "-f", "[-0.5, -2.0, -1.5, null]"),
        (numbers, "10 - x", "[3, 17, null, 10]"),
        (numbers, "f / 0", "[1.0 / 0.0, 1.0 / 0.0, 1.0 / 0.0, null]"),
        (&[("x", "[1, 1.5, 'a', [1], null]")], "x + 1", "[2, 2.5, 'a1', [1, 1], null]"),
        (&[("x", "[1, 1.5, 'a', true, null]")], "'=' + x", "['=1', '=1.5', '=a', '=true', null]"),
        (&[("x", "['a', '', null]"), ("y", "['b', 'c', 'd']")], "x + y", "['ab', 'c', null]"),
        (&[("x", "['a', '', null]"), ("y", "['b', 'c', 'd']")], "x || y || x", "['aba', 'c', null]"),
        (&[("x", "[[1], [], null]")], "x + [2, null]", "[[1, 2, null], [2, null], null]"),
        (&[("x", "[[1], [], null]")], "0 + x", "[[0, 1], [0], null]"),
        (&[("x", "[9223372036854775807, null]"), ("y", "[0, 1]")], "x + y", "[9223372036854775807, null]"),
    ]);
}

#[test]
fn arithmetic_errors_point_at_the_operation() {
    check_errors(&[
        (&[("x", "[1, 9223372036854775807]")], "2 * (x + 1)", ["ARITHMETIC", "(x + 1)", "does not fit"]),
        (&[("x", "[1, 0]")], "1 / x", ["ARITHMETIC", "1 / x", "division by zero"]),
        (&[("x", "[1, 0]")], "1 % x", ["ARITHMETIC", "1 % x", "division by zero"]),
        (&[("x", "[-9223372036854775807]")], "-(x - 1)", ["ARITHMETIC", "-(x - 1)", "does not fit"]),
        (&[("x", "[1, true]")], "x + 1", ["TYPE", "x + 1", "BOOLEAN + INTEGER"]),
        (&[("x", "['a']")], "x * 2", ["TYPE", "x * 2", "expected numbers"]),
        (&[("x", "['a']")], "x || 2", ["TYPE", "x || 2", "two strings or two lists"]),
        (&[("x", "[1]")], "x AND true", ["TYPE", "x", "expected a boolean, found INTEGER"]),
        (&[("x", "['a']")], "NOT x", ["TYPE", "x", "expected a boolean, found STRING"]),
        (&[("x", "[1]")], "1 IN x", ["TYPE", "1 IN x", "expected a list"]),
        (&[("x", "['(']")], "'a' =~ x", ["ARGUMENT", "'a' =~ x", "no regular expression"]),
        (&[("x", "[1]")], "x.y", ["TYPE", "x.y", "INTEGER has no properties"]),
        (&[("x", "[[1]]")], "x['a']", ["TYPE", "x['a']", ""]),
        (&[("x", "[1]")], "[y IN x | y]", ["TYPE", "x", "expected a list"]),
        (&[("x", "[1]")], "$missing + x", ["PARAMETER", "$missing", "$missing has no value"]),
        (&[("x", "[1]")], "toUpper(x)", ["TYPE", "toUpper(x)", "toUpper() takes a string, found INTEGER"]),
        (&[("x", "[1]")], "CASE WHEN x THEN 1 END", ["TYPE", "x", "expected a boolean"]),
    ]);
}

#[test]
fn what_is_decided_is_not_evaluated() {
    let zero: Columns<'_> = &[("x", "[0, 1, 2, null]")];
    check_all(&[
        (zero, "x = 0 OR 2 / x > 1", "[true, true, false, null]"),
        (zero, "x <> 0 AND 2 / x > 1", "[false, true, false, null]"),
        (zero, "x > 0 AND x < 2 AND 2 / x > 1", "[false, true, false, null]"),
        (zero, "CASE WHEN x = 0 THEN -1 ELSE 2 / x END", "[-1, 2, 1, null]"),
        (zero, "CASE x WHEN 0 THEN 'none' WHEN 2 / x THEN 'self' END", "['none', null, null, null]"),
        (zero, "coalesce(nullIf(x, 0), 1 / (1 - x))", "[1, 1, 2, null]"),
        (zero, "[y IN [x] WHERE y > 0 | 2 / y]", "[[], [2], [1], []]"),
    ]);
}

#[test]
fn comparison() {
    check_all(&[
        (&[("x", "[1, 2, null, 3]")], "x < 2", "[true, false, null, false]"),
        (&[("x", "[1, 2, null, 3]")], "2 <= x", "[false, true, null, true]"),
        (&[("x", "[1, 2.0, null, 3.5]")], "x >= 2", "[false, true, null, true]"),
        (&[("x", "[1, 2.0, 'a', null]")], "x = 2", "[false, true, false, null]"),
        (&[("x", "[1, 2.0, 'a', null]")], "x <> 2", "[true, false, true, null]"),
        (&[("x", "[1, 'a', true, [1]]")], "x > 0", "[true, null, null, null]"),
        (&[("x", "['a', 'b', '', null]")], "x < 'b'", "[true, false, true, null]"),
        (&[("x", "['a', 'b']"), ("y", "['b', 'a']")], "x > y", "[false, true]"),
        (&[("x", "[1, 5, 9, null]")], "2 < x <= 9", "[false, true, true, null]"),
        (&[("x", "[[1, 2], [1, null], [], null]")], "x = [1, 2]", "[true, null, false, null]"),
        (&[("x", "[[1, 2], [1, 3], [2, null], [1]]")], "x > [1, 2]", "[false, true, true, false]"),
        (&[("x", "[{a: 1}, {a: null}, {b: 1}]")], "x = {a: 1}", "[true, null, false]"),
        (&[("x", "[0.0 / 0.0, 1.0]")], "x = x", "[false, true]"),
        (&[("x", "[0.0 / 0.0, 1.0]")], "x < 2", "[false, true]"),
        (
            &[("x", "[1, -2, null, 9007199254740993]"), ("f", "[1.0, -1.5, 0.5, 9007199254740992.0]")],
            "x > f",
            "[false, false, null, true]",
        ),
        (
            &[("x", "[1, 3]"), ("f", "[1.0, 0.0 / 0.0]")],
            "[x = f, f <> x, x < f, f >= x]",
            "[[true, false, false, true], [false, true, false, false]]",
        ),
        (&[("x", "[9007199254740993, 9007199254740992]")], "x = 9007199254740992.0", "[false, true]"),
        (&[("x", "[date('2001-01-01'), date('2002-01-01'), null]")], "x < date('2001-06-01')", "[true, false, null]"),
        (&[("x", "[true, false, null]")], "x > false", "[true, false, null]"),
    ]);
}

#[test]
fn membership() {
    let elements: Columns<'_> = &[("x", "[1, 2.0, 'a', null, [1]]")];
    check_all(&[
        (elements, "x IN [1, 2]", "[true, true, false, null, false]"),
        (elements, "x IN []", "[false, false, false, false, false]"),
        (elements, "x IN [null, 1]", "[true, null, null, null, null]"),
        (elements, "x IN null", "[null, null, null, null, null]"),
        (elements, "x IN [1, 2, 3, 4, 5, 6, 7, 8, 9]", "[true, true, false, null, false]"),
        (elements, "x IN [1, 2, 3, 4, 5, 6, 7, 8, null]", "[true, true, null, null, null]"),
        (elements, "x IN [[1], 2, 3, 4, 5, 6, 7, 8, 9]", "[false, true, false, null, true]"),
        (elements, "NOT x IN ['a']", "[true, true, false, null, true]"),
        (&[("l", "[[1, 2], [], null, [null]]")], "1 IN l", "[true, false, null, null]"),
        (&[("l", "[[[1, null]], [[2, 1]]]")], "[1, 2] IN l", "[null, false]"),
    ]);
}

#[test]
fn texts() {
    let texts: Columns<'_> = &[("s", "['hello', 'help', '', null, 1]")];
    check_all(&[
        (texts, "s STARTS WITH 'hel'", "[true, true, false, null, null]"),
        (texts, "s ENDS WITH 'p'", "[false, true, false, null, null]"),
        (texts, "s CONTAINS 'l'", "[true, true, false, null, null]"),
        (texts, "'hello there' CONTAINS s", "[true, false, true, null, null]"),
        (texts, "s =~ 'hel.*'", "[true, true, false, null, null]"),
        (texts, "s =~ 'hel'", "[false, false, false, null, null]"),
        (texts, "s =~ '(?i)HELP|x'", "[false, true, false, null, null]"),
        (texts, "s =~ null", "[null, null, null, null, null]"),
        (&[("s", "['ab', 'b']"), ("p", "['a.', 'a']")], "s =~ p", "[true, false]"),
    ]);
}

#[test]
fn branches() {
    let x: Columns<'_> = &[("x", "[1, 2, 3, null]")];
    check_all(&[
        (x, "CASE WHEN x > 2 THEN 'big' WHEN x > 1 THEN 'mid' ELSE x END", "[1, 'mid', 'big', null]"),
        (x, "CASE WHEN x > 2 THEN 'big' END", "[null, null, 'big', null]"),
        (x, "CASE x WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END", "['one', 'two', 'many', 'many']"),
        (x, "CASE null WHEN x THEN 1 ELSE 2 END", "[2, 2, 2, 2]"),
        (x, "CASE WHEN true THEN x END", "[1, 2, 3, null]"),
        (x, "coalesce(x, 0)", "[1, 2, 3, 0]"),
        (x, "coalesce(null, x, 'none')", "[1, 2, 3, 'none']"),
        (x, "coalesce(null, null)", "[null, null, null, null]"),
    ]);
}

#[test]
fn lists_and_maps() {
    let lists: Columns<'_> = &[("l", "[[1, 2, 3], [], null, [null, 5]]"), ("i", "[1, 0, 0, null]")];
    check_all(&[
        (lists, "l[0]", "[1, null, null, null]"),
        (lists, "l[-1]", "[3, null, null, 5]"),
        (lists, "l[i]", "[2, null, null, null]"),
        (lists, "[1, 2, 3][i]", "[2, 1, 1, null]"),
        (lists, "l[1..]", "[[2, 3], [], null, [5]]"),
        (lists, "l[..-1]", "[[1, 2], [], null, [null]]"),
        (lists, "l[i..2]", "[[2], [], null, null]"),
        (lists, "l[3..1]", "[[], [], null, []]"),
        (lists, "[i, l, 'x']", "[[1, [1, 2, 3], 'x'], [0, [], 'x'], [0, null, 'x'], [null, [null, 5], 'x']]"),
        (lists, "{a: i, b: 1}", "[{a: 1, b: 1}, {a: 0, b: 1}, {a: 0, b: 1}, {a: null, b: 1}]"),
        (lists, "{a: l}.a[0]", "[1, null, null, null]"),
        (&[("m", "[{a: 1, b: 2}, {}, null]")], "m.a", "[1, null, null]"),
        (&[("m", "[{a: 1, b: 2}, {}, null]")], "m['b']", "[2, null, null]"),
        (&[("m", "[{a: 1, b: 2}, {}, null]"), ("k", "['a', 'a', 'b']")], "m[k]", "[1, null, null]"),
        (&[("m", "[{a: 1, b: 2}, {}, null]")], "m{.a, c: 3}", "[{a: 1, c: 3}, {a: null, c: 3}, null]"),
        (&[("m", "[{a: 1, b: 2}, {}, null]")], "m{.*, a: 9}", "[{a: 9, b: 2}, {a: 9}, null]"),
        (&[("m", "[{a: 1}]"), ("x", "[5]")], "m{.*, x}", "[{a: 1, x: 5}]"),
    ]);
}

#[test]
fn comprehensions() {
    let lists: Columns<'_> = &[("l", "[[1, 2, 3], [], null, [null, 5]]"), ("k", "[10, 20, 30, null]")];
    check_all(&[
        (lists, "[x IN l | x * 2]", "[[2, 4, 6], [], null, [null, 10]]"),
        (lists, "[x IN l WHERE x > 1]", "[[2, 3], [], null, [5]]"),
        (lists, "[x IN l WHERE x > 1 | x + k]", "[[12, 13], [], null, [null]]"),
        (lists, "[x IN l | [y IN l WHERE y < x | x * 10 + y]]", "[[[], [21], [31, 32]], [], null, [[], []]]"),
        (lists, "all(x IN l WHERE x > 0)", "[true, true, null, null]"),
        (lists, "any(x IN l WHERE x > 4)", "[false, false, null, true]"),
        (lists, "none(x IN l WHERE x > 4)", "[true, true, null, false]"),
        (lists, "single(x IN l WHERE x = 2)", "[true, false, null, null]"),
        (lists, "single(x IN l WHERE x < 3)", "[false, false, null, null]"),
        (lists, "any(x IN l WHERE x = 1)", "[true, false, null, null]"),
        (lists, "reduce(s = 0, x IN l | s + x)", "[6, 0, null, null]"),
        (lists, "reduce(s = k, x IN l | s * 2)", "[80, 20, null, null]"),
        (lists, "reduce(s = '', x IN l | s + coalesce(x, '?'))", "['123', '', null, '?5']"),
        (&[("n", "[20000]")], "size([x IN range(1, n) WHERE x % 2 = 0 | x])", "[10000]"),
        (&[("m", "[[{a: 1}, {a: 2}]]")], "[x IN m | x.a]", "[[1, 2]]"),
    ]);
}

#[test]
fn dates() {
    let dates: Columns<'_> = &[("d", "[date('2001-02-03'), localdatetime('2001-12-31T13:05:06.123456'), null]")];
    let moments: Columns<'_> = &[("d", "[localdatetime('2001-12-31T13:05:06.123456'), null]")];
    check_all(&[
        (dates, "d.year", "[2001, 2001, null]"),
        (dates, "[d.month, d.day, d.quarter]", "[[2, 3, 1], [12, 31, 4], [null, null, null]]"),
        (
            dates,
            "[d.dayOfWeek, d.ordinalDay, d.dayOfYear, d.week]",
            "[[6, 34, 34, 5], [1, 365, 365, 1], [null, null, null, null]]",
        ),
        (dates, "d.dayOfQuarter", "[34, 92, null]"),
        (moments, "[d.hour, d.minute, d.second]", "[[13, 5, 6], [null, null, null]]"),
        (moments, "[d.millisecond, d.microsecond]", "[[123, 123456], [null, null]]"),
        (dates, "toString(d)", "['2001-02-03', '2001-12-31T13:05:06.123456', null]"),
        (&[("d", "[localdatetime('1970-01-01T00:00:01.5')]")], "[d.epochSeconds, d.epochMillis]", "[[1, 1500]]"),
        (
            &[("x", "[1]")],
            "[date(), localdatetime(), timestamp()]",
            "[[date('2001-02-03'), localdatetime('2001-02-03T04:05:06'), 981173106000]]",
        ),
    ]);
}

#[test]
fn components_that_no_integer_holds_are_errors() {
    let long: Columns<'_> = &[("d", "[duration({seconds: 9223372036854775807})]")];
    let old: Columns<'_> = &[("d", "[datetime('-999999999-01-01T00:00+18:00')]")];
    check_all(&[
        (long, "d.seconds", "[9223372036854775807]"),
        (&[("d", "[duration({seconds: 9223372036})]")], "d.nanoseconds", "[9223372036000000000]"),
        (&[("d", "[duration({seconds: -3, milliseconds: 500})]")], "d.milliseconds", "[-2500]"),
    ]);
    check_errors(&[
        (long, "d.milliseconds", ["ARITHMETIC", "d.milliseconds", "'milliseconds' is 9223372036854775807000"]),
        (long, "d.microseconds", ["ARITHMETIC", "d.microseconds", "no 64-bit integer"]),
        (long, "d.nanoseconds", ["ARITHMETIC", "d.nanoseconds", "no 64-bit integer"]),
        (old, "d.epochMillis", ["ARITHMETIC", "d.epochMillis", "no 64-bit integer"]),
    ]);
}
