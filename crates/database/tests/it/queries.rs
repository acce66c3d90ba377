//! Random graphs and random queries over them.

use std::fmt::Write as _;

use testing::random::SeededRandom;

use crate::oracle::{Arrow, OracleEdge, OracleGraph, OracleNode, Pattern, PatternEdge, PatternNode, PatternPath};

const LABELS: &[&str] = &["A", "B", "C"];
const TYPES: &[&str] = &["R", "S", "T"];

/// A random graph, for the oracle and as statements that make it.
pub(crate) fn graph(random: &mut SeededRandom) -> (OracleGraph, Vec<String>) {
    let node_count = 1 + random.index(12);
    let edge_count = random.index(3 * node_count / 2 + 2);
    let maybe = |random: &mut SeededRandom, bound: u64| random.chance(75).then(|| random.below(bound) as i64);
    let nodes: Vec<OracleNode> = (0..node_count)
        .map(|_| {
            let labels = LABELS.iter().copied().filter(|_| random.chance(45)).collect();
            OracleNode { labels, n: maybe(random, 4) }
        })
        .collect();
    let edges: Vec<OracleEdge> = (0..edge_count)
        .map(|_| OracleEdge {
            source: random.index(node_count),
            target: random.index(node_count),
            edge_type: random.pick::<&str>(TYPES),
            w: maybe(random, 3),
        })
        .collect();
    let mut statements = Vec::new();
    if random.chance(50) {
        statements.push("CREATE CONSTRAINT unique_id FOR (a:A) REQUIRE a.id IS UNIQUE".to_string());
    }
    for (id, node) in nodes.iter().enumerate() {
        let labels: String = node.labels.iter().map(|label| format!(":{label}")).collect();
        let n = node.n.map_or(String::new(), |n| format!(", n: {n}"));
        // A property whose values are of several types.
        let x = match id % 5 {
            0 => ", x: 'text'".to_string(),
            1 => format!(", x: {id}"),
            2 => format!(", x: {id}.5"),
            3 => ", x: true".to_string(),
            _ => String::new(),
        };
        statements.push(format!("CREATE ({labels} {{id: {id}{n}{x}}})"));
    }
    for edge in &edges {
        let w = edge.w.map_or(String::new(), |w| format!(" {{w: {w}}}"));
        statements.push(format!(
            "MATCH (a {{id: {}}}), (b {{id: {}}}) CREATE (a)-[:{}{w}]->(b)",
            edge.source, edge.target, edge.edge_type
        ));
    }
    (OracleGraph { nodes, edges }, statements)
}

/// A random pattern over the variables `first..`, which may also use the variables below.
pub(crate) fn pattern(random: &mut SeededRandom, known: usize) -> Pattern {
    let mut variables = known;
    let mut paths = Vec::new();
    for _ in 0..1 + random.index(2) {
        let mut variable = |random: &mut SeededRandom| {
            if variables > 0 && random.chance(30) {
                return random.index(variables);
            }
            variables += 1;
            variables - 1
        };
        let node = |random: &mut SeededRandom, variable: usize| PatternNode {
            variable,
            label: random.chance(40).then(|| *random.pick(LABELS)),
            n: random.chance(12).then(|| random.below(4) as i64),
        };
        let first = variable(random);
        let mut path = PatternPath { nodes: vec![node(random, first)], edges: Vec::new() };
        for _ in 0..random.index(3) + usize::from(random.chance(60)) {
            path.edges.push(edge(random));
            let next = variable(random);
            path.nodes.push(node(random, next));
        }
        paths.push(path);
    }
    Pattern { paths, variables }
}

fn edge(random: &mut SeededRandom) -> PatternEdge {
    let arrow = *random.pick(&[Arrow::Right, Arrow::Right, Arrow::Left, Arrow::Both]);
    let types = match random.index(4) {
        0 => Vec::new(),
        1 => vec![TYPES[random.index(2)], TYPES[2]],
        _ => vec![*random.pick(TYPES)],
    };
    let bounds = random.chance(20).then(|| {
        let min = random.index(3);
        (min, min + random.index(3))
    });
    PatternEdge { arrow, types, w: random.chance(15).then(|| random.below(3) as i64), bounds }
}

/// A pattern as Cypher writes it.
pub(crate) fn pattern_text(pattern: &Pattern) -> String {
    let path_text = |path: &PatternPath| {
        let mut text = node_text(&path.nodes[0]);
        for (edge, node) in path.edges.iter().zip(&path.nodes[1..]) {
            let (left, right) = match edge.arrow {
                Arrow::Right => ("-", "->"),
                Arrow::Left => ("<-", "-"),
                Arrow::Both => ("-", "-"),
            };
            let types = if edge.types.is_empty() { String::new() } else { format!(":{}", edge.types.join("|")) };
            let bounds = edge.bounds.map_or(String::new(), |(min, max)| format!("*{min}..{max}"));
            let w = edge.w.map_or(String::new(), |w| format!(" {{w: {w}}}"));
            let _ = write!(text, "{left}[{types}{bounds}{w}]{right}{}", node_text(node));
        }
        text
    };
    pattern.paths.iter().map(path_text).collect::<Vec<_>>().join(", ")
}

fn node_text(node: &PatternNode) -> String {
    let label = node.label.map_or(String::new(), |label| format!(":{label}"));
    let n = node.n.map_or(String::new(), |n| format!(" {{n: {n}}}"));
    format!("(v{}{label}{n})", node.variable)
}

/// A random query that only reads, whose answer does not depend on the order of rows.
pub(crate) fn query(random: &mut SeededRandom) -> String {
    if random.chance(25) {
        return search(random);
    }
    let first = pattern(random, 0);
    let mut text = format!("MATCH {}", pattern_text(&first));
    let mut variables = first.variables;
    if random.chance(40) {
        let _ = write!(text, " WHERE {}", condition(random, variables));
    }
    if random.chance(35) {
        let more = pattern(random, variables);
        let optional = if random.chance(65) { "OPTIONAL " } else { "" };
        let _ = write!(text, " {optional}MATCH {}", pattern_text(&more));
        variables = more.variables;
        if random.chance(40) {
            let _ = write!(text, " WHERE {}", condition(random, variables));
        }
    }
    text + &projection(random, variables)
}

const BOUNDS: &[&str] = &["{1,3}", "{2,4}", "{0,2}", "+", "*"];

/// A random search for paths, whose answer does not depend on which of several paths of one length is found.
fn search(random: &mut SeededRandom) -> String {
    let mut arrow = |words: &str| {
        let types = ["", ":R", ":S|T", ":R|S"][random.index(4)];
        let way = random.index(4);
        match way {
            0 | 1 => format!("-[{words}{types}]->"),
            2 => format!("<-[{words}{types}]-"),
            _ => format!("-[{words}{types}]-"),
        }
    };
    let (one, other) = (arrow(""), arrow(""));
    let (from, to) = (random.below(5), random.below(12));
    let label =
        |random: &mut SeededRandom| if random.chance(30) { format!(":{}", random.pick(LABELS)) } else { String::new() };
    let (first, last) = (format!("(a{})", label(random)), format!("(b{})", label(random)));
    let lengths = "RETURN a.id AS i, b.id AS j, length(p) AS l";
    let selector = *random.pick(&["ANY SHORTEST", "ALL SHORTEST", "SHORTEST 2", "SHORTEST 2 GROUPS", "ANY"]);
    // Without a second path or a second length, all trails are tried.
    let bounds = *random.pick(if selector.contains('2') { &BOUNDS[..3] } else { BOUNDS });
    match random.index(8) {
        0 | 1 => format!("MATCH p = {selector} {first}{one}{bounds}{last} {lengths}"),
        2 => format!("MATCH p = {selector} {first} ((x){one}(y){other}(z)){{1,2}} {last} {lengths}"),
        3 => format!(
            "MATCH p = {selector} {first} ((x){one}(y) WHERE x.n <> y.n){{1,3}} (m) ((u){other}(v)){{0,2}} {last} {lengths}"
        ),
        4 => {
            let mode = *random.pick(&["ACYCLIC", "SIMPLE", "TRAIL", "WALK"]);
            format!("MATCH p = {mode} {first}{one}{{1,3}}{last} RETURN a.id AS i, [n IN nodes(p) | n.id] AS l")
        }
        5 => {
            let function = *random.pick(&["shortestPath", "allShortestPaths"]);
            let edge = one.replacen(']', "*..4]", 1);
            format!("MATCH {first}, {last} WHERE a <> b MATCH p = {function}((a){edge}(b)) {lengths}")
        }
        6 => {
            let edge = one.replacen(']', "*]", 1).replacen('[', "[r", 1);
            format!(
                "MATCH (a {{id: {from}}}), (b {{id: {to}}}) WHERE a <> b \
                 MATCH p = shortestPath((a){edge}(b)) WHERE all(e IN r WHERE e.w IS NULL OR e.w < 2) {lengths}"
            )
        }
        _ => {
            let edge = one.replacen(']', "*]", 1);
            format!("MATCH {first}{edge}{last} RETURN DISTINCT a.id AS i, b.id AS j")
        }
    }
}

fn projection(random: &mut SeededRandom, variables: usize) -> String {
    let v = |random: &mut SeededRandom| format!("v{}", random.index(variables));
    let (a, b) = (v(random), v(random));
    let all = (0..variables).map(|v| format!("v{v}.id")).collect::<Vec<_>>().join(", ");
    match random.index(10) {
        0 => " RETURN count(*) AS c".into(),
        1 => format!(" RETURN {a}.n AS n, count(*) AS c, count(DISTINCT {b}) AS d, sum({b}.n) AS s"),
        2 => format!(" RETURN DISTINCT {a}.n AS n, labels({b}) AS l"),
        3 => format!(" RETURN {all} ORDER BY {all} SKIP 1 LIMIT 5"),
        4 => format!(" WITH {a} AS a, count({b}) AS c WHERE c > 1 RETURN a.id, c"),
        5 => format!(" WITH DISTINCT {a} AS a MATCH (a)-[r]-(o) RETURN a.id, type(r), o.id"),
        6 => format!(" RETURN min({a}.x) AS mi, max({a}.x) AS ma, count({a}.x) AS c, avg({b}.n) AS v"),
        7 => format!(" RETURN {a}.id AS i, [({a})-->(o) WHERE o.n > 0 | o.id] <> [] AS p, {b}.x AS x, {b}:A AS l"),
        8 => format!(
            " WITH {a} AS a, {b} AS b ORDER BY a.id, b.id LIMIT 3 OPTIONAL MATCH (a)-[:R*1..2]->(b) RETURN a.id, count(*)"
        ),
        _ => format!(" RETURN {all}"),
    }
}

fn condition(random: &mut SeededRandom, variables: usize) -> String {
    let v = |random: &mut SeededRandom| format!("v{}", random.index(variables));
    let (a, b) = (v(random), v(random));
    let number = random.index(4);
    let simple = match random.index(13) {
        0 => format!("{a}.n > {number}"),
        1 => format!("{a}.n = {b}.n"),
        2 => format!("{a}:{}", random.pick(LABELS)),
        3 => format!("NOT {a}.n = {number}"),
        4 => format!("{a}.x >= {number}"),
        5 => format!("{a} <> {b}"),
        6 => format!("({a})-[:R]->()"),
        7 => format!("NOT ({a})--({b})"),
        8 => format!("{a}.n IN [0, {number}, null]"),
        9 => format!("{a}.id = {number}"),
        10 => format!("EXISTS {{ ({a})-[:S|T]->(o) WHERE o.n = {b}.n }}"),
        11 => format!("{a}.x IS NULL OR {b}.n IS NOT NULL"),
        _ => format!("({a}.n + {b}.id) % 2 = 0"),
    };
    match random.index(5) {
        0 => format!("{simple} AND {}", condition(random, variables)),
        1 => format!("({simple} OR {b}.n < 2)"),
        _ => simple,
    }
}
