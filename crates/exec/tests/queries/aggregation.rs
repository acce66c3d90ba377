//! Grouping, distinct, sorting.

use super::{check, check_ordered};

const ROWS: &str = "CREATE (:R {k: 'a', v: 1}), (:R {k: 'b', v: 2}), (:R {k: 'a', v: 3}), (:R {v: 4}), (:R {k: 'b'}), (:R {k: 1, v: 1.0}), (:R {k: 1.0, v: 2});\n";

fn check_rows(query: &str, expected: &[&str]) {
    check(&format!("{ROWS}{query}"), expected);
}

#[test]
fn groups() {
    check_rows(
        "MATCH (r:R) RETURN count(*), count(r.k), count(r.v), sum(r.v), min(r.v), max(r.v)",
        &["7, 6, 6, 13.0, 1, 4"],
    );
    check_rows(
        "MATCH (r:R) WHERE r.v > 100 RETURN count(*), sum(r.v), min(r.v), collect(r.v), avg(r.v)",
        &["0, 0, null, [], null"],
    );
    check_rows("MATCH (r:R) WHERE r.v > 100 RETURN r.k, count(*)", &[]);
    check_rows(
        "MATCH (r:R) WITH r.k AS k, count(*) AS c WHERE k IS NULL OR k IN ['a', 'b'] RETURN k, c",
        &["'a', 2", "'b', 2", "null, 1"],
    );
    check_rows("MATCH (r:R) WHERE r.k = 1 RETURN count(DISTINCT r.k), count(r.k)", &["1, 2"]);
    check_rows("MATCH (r:R) RETURN r.k = 'a' AS x, count(*)", &["true, 2", "false, 4", "null, 1"]);
    check_rows("MATCH (r:R) RETURN count(r) + 1, size(collect(r.k))", &["8, 6"]);
    check_rows("MATCH (r:R) WITH r, r.v AS v RETURN v IS NULL AS n, count(DISTINCT r)", &["true, 1", "false, 6"]);
}

#[test]
fn groups_by_several_keys() {
    check(
        "UNWIND range(0, 99) AS i RETURN i % 2 AS a, i % 3 AS b, count(*) AS c, min(i), max(i)",
        &[
            "0, 0, 17, 0, 96", "1, 1, 17, 1, 97", "0, 2, 17, 2, 98", "1, 0, 17, 3, 99", "0, 1, 16, 4, 94",
            "1, 2, 16, 5, 95",
        ],
    );
    check("UNWIND [[1], [1.0], [null], [null], [2]] AS l RETURN l, count(*)", &["[1], 2", "[null], 2", "[2], 1"]);
}

#[test]
fn distinct_rows() {
    check("UNWIND [1, 1.0, 2, null, null, 'a', 'a'] AS x RETURN DISTINCT x", &["1", "2", "null", "'a'"]);
    check("UNWIND [1, 2, 1] AS x UNWIND [1, 1] AS y RETURN DISTINCT x, y", &["1, 1", "2, 1"]);
    check("UNWIND range(1, 5000) AS x WITH DISTINCT x % 7 AS m RETURN count(*), sum(m)", &["7, 21"]);
}

#[test]
fn distinct_nodes() {
    // Nodes come alone, then beside nulls, and beside other values.
    check_rows("MATCH (r:R), (s:R) WITH DISTINCT r RETURN count(*)", &["7"]);
    check_rows(
        "MATCH (r:R) OPTIONAL MATCH (s:R) WHERE s.v = r.v + 1 WITH DISTINCT s RETURN count(*), count(s)",
        &["5, 4"],
    );
    check_rows(
        "MATCH (r:R) WITH collect(r) AS l UNWIND l + l + [null, 1, null] + l + [1.0] AS x WITH DISTINCT x RETURN count(*), count(x)",
        &["9, 8"],
    );
    check_rows(
        "MATCH (r:R) WITH collect(r) AS l UNWIND l + l AS x WITH DISTINCT x RETURN count(*), sum(x.v)",
        &["7, 13.0"],
    );
}

#[test]
fn order() {
    check_ordered(
        "UNWIND [3, 1, null, 2.5, 'a', true] AS x RETURN x ORDER BY x",
        &["'a'", "true", "1", "2.5", "3", "null"],
    );
    check_ordered("UNWIND [3, 1, null, 2.5] AS x RETURN x ORDER BY x DESC", &["null", "3", "2.5", "1"]);
    check_ordered("UNWIND [3, 1, 2] AS x RETURN x ORDER BY x DESC LIMIT 2", &["3", "2"]);
    check_ordered("UNWIND [3, 1, 2, 5, 4] AS x RETURN x ORDER BY x SKIP 1 LIMIT 2", &["2", "3"]);
    check_ordered(
        "UNWIND range(1, 9) AS x RETURN x % 3 AS m, x ORDER BY m DESC, x",
        &["2, 2", "2, 5", "2, 8", "1, 1", "1, 4", "1, 7", "0, 3", "0, 6", "0, 9"],
    );
    check_ordered(
        "UNWIND range(1, 20000) AS x WITH x, (x * 7919) % 20011 AS h RETURN x ORDER BY h LIMIT 2",
        &["1031", "2062"],
    );
}

#[test]
fn unions() {
    check_ordered("RETURN 1 AS x UNION ALL RETURN 1 AS x UNION ALL RETURN 2 AS x", &["1", "1", "2"]);
    check("RETURN 1 AS x UNION RETURN 1 AS x UNION RETURN 2 AS x", &["1", "2"]);
    check(
        "UNWIND [1, 2] AS x RETURN x, 'l' AS s UNION ALL UNWIND [3] AS x RETURN x, 'r' AS s",
        &["1, 'l'", "2, 'l'", "3, 'r'"],
    );
}
