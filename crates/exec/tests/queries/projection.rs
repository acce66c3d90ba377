//! `WITH`, `RETURN`, `UNWIND`, parameters.

use super::{check, check_error, check_ordered, check_with};
use model::Value;

#[test]
fn projections() {
    check("RETURN 1 + 1 AS x, 'a' AS y, null AS z", &["2, 'a', null"]);
    check("WITH 1 AS x, 2 AS y WITH y AS x, x AS y RETURN x, y", &["2, 1"]);
    check("WITH [1, 2, 3] AS l UNWIND l AS x WITH x WHERE x > 1 RETURN x, x * x", &["2, 4", "3, 9"]);
    check("WITH 1 AS a RETURN *", &["1"]);
    check_error("RETURN 1 / 0", "ARITHMETIC");
}

#[test]
fn unwinding() {
    check("UNWIND [] AS x RETURN x", &[]);
    check("UNWIND null AS x RETURN x", &[]);
    check("UNWIND 3 AS x RETURN x", &["3"]);
    check("UNWIND [[1, 2], [], [3]] AS l UNWIND l AS x RETURN x, size(l)", &["1, 2", "2, 2", "3, 1"]);
    check("UNWIND [1, null, 'a'] AS x RETURN x", &["1", "null", "'a'"]);
    check("UNWIND range(1, 5000) AS x RETURN count(x), sum(x)", &["5000, 12502500"]);
    check_ordered("UNWIND [1, 2] AS x UNWIND ['a', 'b'] AS y RETURN x, y", &["1, 'a'", "1, 'b'", "2, 'a'", "2, 'b'"]);
}

#[test]
fn parameters() {
    check_with("RETURN $x + 1", &[("x", Value::Int(2))], &["3"], false);
    check_with(
        "UNWIND range(1, 10) AS i RETURN i SKIP $s LIMIT $l",
        &[("s", Value::Int(2)), ("l", Value::Int(1))],
        &["3"],
        false,
    );
    check_error("RETURN $missing", "PARAMETER");
    check_error("WITH 1 AS one UNWIND [1] AS x RETURN x LIMIT toInteger('-1')", "ARGUMENT");
}
