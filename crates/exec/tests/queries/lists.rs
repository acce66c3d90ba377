//! Lists and texts that expressions make, and the limit of the query: what is too large ends with an error before it is
//! made, what is made on the way and gone again does not count.

use exec::{QueryMemory, RunSettings};
use model::{ErrorCode, Map, Value};
use testing::ReferenceStore;

use super::memory::with_limit;
use super::{Answer, run_with};

const MIB: usize = 1 << 20;

fn run(query: &str, memory: &QueryMemory) -> model::Result<Answer> {
    let list = Value::list((0..50_000).map(Value::Int).collect());
    let text = Value::from("ab,".repeat(200_000));
    let parameters: Map<_, _> = [("list".into(), list), ("text".into(), text)].into_iter().collect();
    run_with(&ReferenceStore::new(), query, &parameters, RunSettings::default(), memory)
}

/// Queries that ask for more than the limit, the limit in MiB, and the name of what is too large.
const TOO_LARGE: &[(&str, usize, &str)] = &[
    ("RETURN size([x IN range(1, 90000000) | x])", 64, "a list of 90000000 elements: range(start, end, step)"),
    ("RETURN size(range(1, 90000000))", 64, "a list of 90000000 elements: range(start, end, step)"),
    ("WITH range(1, 3000000) AS l UNWIND l AS x RETURN count(*)", 64, "a list of 3000000 elements: range("),
    ("RETURN [x IN range(0, 99999999) WHERE x < 0]", 64, "a list of 100000000 elements: range("),
    ("RETURN all(x IN range(0, 99999999) WHERE x >= 0)", 64, "a list of 100000000 elements: range("),
    ("UNWIND range(1, 10) AS i RETURN size(range(i, 100000 * i))", 20, "a list of 299998 elements: range("),
    ("RETURN size([x IN range(1, 300000) | [x]])", 20, "a list comprehension"),
    ("RETURN size([x IN range(1, 300000) WHERE x % 2 < 2])", 20, "a list comprehension"),
    ("RETURN size([x IN range(1, 2000) | range(1, 1000 + x % 2)])", 20, "a list of 100"),
    ("RETURN size([x IN range(1, 1000) | $list + x])", 20, "joining lists or texts"),
    ("RETURN size(reduce(l = [1], x IN range(1, 26) | l + l))", 20, "joining lists or texts"),
    ("RETURN size(reduce(l = [1], x IN range(1, 26) | l + [y IN l | y]))", 20, ""),
    ("RETURN size(reduce(t = 'x', x IN range(1, 26) | t + t))", 20, "joining lists or texts"),
    ("RETURN size(reduce(t = 'x', x IN range(1, 26) | t || t))", 20, "joining lists or texts"),
    ("UNWIND range(1, 1000) AS x RETURN size($list + x)", 20, "joining lists or texts"),
    ("UNWIND range(1, 1000) AS x RETURN size(x + $list)", 20, "joining lists or texts"),
    ("UNWIND range(1, 1000) AS x RETURN size($text + toString(x))", 20, "joining lists or texts"),
    ("UNWIND range(1, 1000) AS x RETURN size($list[x..])", 20, "a slice of a list"),
    ("UNWIND range(1, 1000) AS x RETURN size(reverse($list + x))", 3, "joining lists or texts"),
    ("UNWIND range(1, 1000) AS x RETURN size(tail($list[x % 2..]))", 20, "a slice of a list"),
    ("RETURN size(split($text, ''))", 20, "split(text, separator)"),
    ("RETURN size(split($text, ['a', 'b', ',']))", 20, "split(text, separator)"),
    (
        "UNWIND range(1, 100) AS x RETURN size(split($text, CASE x WHEN 1 THEN ';' ELSE ',' END))",
        20,
        "split(text, separator)",
    ),
    ("RETURN size(replace($text, ',', substring($text, 0, 120)))", 20, "replace(text, part, by)"),
    ("UNWIND range(1, 1000) AS x RETURN size(replace($text, 'a', toString(x)))", 20, "replace(text, part, by)"),
    ("UNWIND range(1, 1000) AS x RETURN size(left($text, 500000 + x))", 20, "left(text, length)"),
];

#[test]
fn what_is_too_large_names_the_limit_before_it_is_made() {
    for &(query, mib, maker) in TOO_LARGE {
        let (error, peak) = with_limit(mib * MIB, |memory| (run(query, memory).expect_err(query), memory.peak()));
        assert_eq!(error.code(), ErrorCode::Limit, "{query}: {error:?}");
        let message = error.message();
        assert!(message.starts_with(maker), "{query}: {message}");
        assert!(message.contains(&format!("of the {} bytes it may hold", mib * MIB)), "{query}: {message}");
        assert!(error.remedy().contains("query_memory_max"), "{query}: {}", error.remedy());
        assert!(error.span().is_some(), "{query} does not say where");
        assert!(peak <= mib * MIB, "{query} held {peak}");
    }
}

/// Queries that fit into 20 MiB at any time, although more is made in all, and their answers.
const FITTING: &[(&str, &str)] = &[
    ("RETURN size([x IN range(1, 150000) | x])", "150000"),
    ("RETURN size(reduce(l = [], x IN range(1, 2000) | l + x))", "2000"),
    ("RETURN size(reduce(l = [], x IN range(1, 200) | CASE WHEN x % 2 = 0 THEN l ELSE $list END))", "50000"),
    ("RETURN reduce(s = 0, x IN range(1, 60) | s + size($list + x))", "3000060"),
    ("RETURN size([x IN range(1, 20000) | size(range(1, x % 50))])", "20000"),
    ("RETURN all(x IN range(1, 20000) WHERE size(range(1, x % 50)) = x % 50)", "true"),
    ("RETURN size([x IN range(1, 1500) | $list])", "1500"),
    ("RETURN size([x IN range(1, 1500) | head([$list, x])])", "1500"),
    ("RETURN size([x IN range(1, 3000) | CASE x % 2 WHEN 0 THEN $list ELSE [x] END])", "3000"),
    ("UNWIND range(1, 3000) AS x WITH size(range(0, x % 90)) AS s RETURN sum(s)", "135630"),
    ("UNWIND range(1, 90000000) AS x RETURN x LIMIT 1", "1"),
    ("RETURN size(split($text, ','))", "200001"),
    (
        "RETURN size(range(1, 200000)) + size(range(1, 200000)) + size(range(1, 200000)) + size(range(1, 200000))",
        "800000",
    ),
    ("RETURN size(range(1, 200000)) = 3 OR size(range(1, 200000)) = 4 OR size(range(1, 200000)) = 200000", "true"),
];

#[test]
fn what_is_gone_again_does_not_count() {
    for &(query, expected) in FITTING {
        let (rows, peak) = with_limit(20 * MIB, |memory| {
            let (rows, _) = run(query, memory).unwrap_or_else(|error| panic!("{query}: {error:?}"));
            (rows, memory.peak())
        });
        assert_eq!(rows, [expected], "{query}");
        assert!(peak <= 20 * MIB, "{query} held {peak}");
    }
}

/// An operator that fills its memory leaves expressions their allowance.
#[test]
fn what_a_batch_needs_is_not_refused() {
    let query = "UNWIND range(1, 20000) AS i WITH i, [x IN range(1, 50) | x * i] AS l ORDER BY -i RETURN sum(l[49])";
    for limit in [0, 100_000, 2 * MIB] {
        let (rows, spilled) = with_limit(limit, |memory| {
            let (rows, _) = run(query, memory).unwrap_or_else(|error| panic!("{query} within {limit}: {error:?}"));
            (rows, memory.spilled())
        });
        assert_eq!(rows, ["10000500000"], "{query} within {limit}");
        assert!(spilled > 0, "{query} within {limit}");
    }
}
