//! Patterns on small random graphs with loops and parallel edges, compared with plain enumeration.

use std::collections::BTreeSet;

use cypher::optimizer::OptimizerConfig;
use exec::RunSettings;
use model::Map;
use testing::random::{SeededRandom, seed_or};

use super::optimizer::Bench;
use super::{answer, variants};

/// Edges as source and target; the place of an edge is its property `w`.
type Edges = Vec<(u64, u64)>;

/// Queries, and the rows that plain enumeration gives for each.
type Cases = Vec<(String, Vec<String>)>;

const NODES: u64 = 5;

fn random_edges(random: &mut SeededRandom) -> Edges {
    (0..random.below(9)).map(|_| (random.below(NODES), random.below(NODES))).collect()
}

fn create(edges: &Edges) -> String {
    let mut script = format!("UNWIND range(0, {}) AS i CREATE (:N {{id: i}});\n", NODES - 1);
    for (w, (source, target)) in edges.iter().enumerate() {
        script += &format!(
            "MATCH (a:N {{id: {source}}}), (b:N {{id: {target}}}) CREATE (a)-[:{} {{w: {w}}}]->(b);\n",
            ["E", "F"][w % 2]
        );
    }
    script
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Out,
    In,
    Both,
}

impl Way {
    /// The pattern of an edge with these words in its brackets.
    fn pattern(self, words: &str) -> String {
        match self {
            Way::Out => format!("-[{words}]->"),
            Way::In => format!("<-[{words}]-"),
            Way::Both => format!("-[{words}]-"),
        }
    }

    /// The node that an edge leads to from a node.
    fn follow(self, edge: (u64, u64), from: u64) -> Option<u64> {
        match self {
            Way::Out => (edge.0 == from).then_some(edge.1),
            Way::In => (edge.1 == from).then_some(edge.0),
            Way::Both => Way::Out.follow(edge, from).or(Way::In.follow(edge, from)),
        }
    }
}

/// All paths without a repeated edge: the places of their edges, and their last node.
fn trails(edges: &Edges, way: Way, from: u64, max: usize) -> Vec<(Vec<usize>, u64)> {
    let mut all = vec![(Vec::new(), from)];
    let mut next = 0;
    while next < all.len() {
        let (path, end) = all[next].clone();
        next += 1;
        if path.len() == max {
            continue;
        }
        for (place, &edge) in edges.iter().enumerate() {
            if let Some(to) = way.follow(edge, end)
                && !path.contains(&place)
            {
                let mut longer = path.clone();
                longer.push(place);
                all.push((longer, to));
            }
        }
    }
    all
}

/// Bounds of path lengths, as they are written.
const BOUNDS: &[(&str, usize, usize)] = &[
    ("*0..1", 0, 1),
    ("*1..4", 1, 4),
    ("*2..3", 2, 3),
    ("*2..", 2, 8),
    ("*3", 3, 3),
    ("*3..5", 3, 5),
    ("*0..", 0, 8),
    ("*", 1, 8),
];

/// Queries about the ends of paths of all bounds, with what plain enumeration gives for them.
fn bounded_cases(edges: &Edges, way: Way) -> Cases {
    let all: Vec<_> =
        (0..NODES).flat_map(|from| trails(edges, way, from, 8).into_iter().map(move |it| (from, it))).collect();
    let mut cases = Vec::new();
    for &(words, min, max) in BOUNDS {
        let path = way.pattern(words);
        let of_bounds = |(_, (path, _)): &&(u64, (Vec<usize>, u64))| (min..=max).contains(&path.len());
        let fits = || all.iter().filter(of_bounds);
        let pairs: Vec<String> = fits().map(|(from, (_, to))| format!("{from}, {to}")).collect();
        let mut once = pairs.clone();
        once.sort();
        once.dedup();
        let both = "MATCH (a:N), (b:N) WITH a, b ORDER BY a.id * 7 % 5, b.id ";
        cases.push((format!("{both}MATCH (a){path}(b) RETURN a.id, b.id"), pairs));
        cases.push((format!("{both}MATCH (a){path}(b) RETURN DISTINCT a.id, b.id"), once.clone()));
        cases.push((format!("{both}WHERE EXISTS {{ (a){path}(b) }} RETURN a.id, b.id"), once.clone()));
        cases.push((format!("MATCH (a){path}(b) RETURN DISTINCT a.id, b.id"), once.clone()));
        cases.push((
            format!("{both}CALL (a, b) {{ MATCH (a){path}(b) RETURN 1 AS one LIMIT 1 }} RETURN a.id, b.id"),
            once,
        ));
        cases.extend(ends_of_some(&fits().map(|&(from, (_, to))| (from, to)).collect::<Vec<_>>(), &path));
        cases.extend(behind_an_edge(edges, way, &path, (min, max)));
        let lists = |(from, (path, to)): &(u64, (Vec<usize>, u64))| format!("{from}, {path:?}, {to}");
        let listed = format!("{both}MATCH (a){}(b)", way.pattern(&format!("r{words}")));
        cases.push((format!("{listed} RETURN a.id, [x IN r | x.w], b.id"), fits().map(lists).collect()));
        let without = |(_, (path, _)): &&(u64, (Vec<usize>, u64))| !path.contains(&2);
        let kept: Vec<String> = fits().filter(without).map(lists).collect();
        cases.push((format!("{listed} WHERE all(x IN r WHERE x.w <> 2) RETURN a.id, [x IN r | x.w], b.id"), kept));
        let upper = max.min(4);
        let steps = |from: u64, path: &[usize]| {
            let mut at = from;
            path.iter().all(|&edge| {
                let before = at;
                at = way.follow(edges[edge], at).unwrap_or(at);
                before != 1 || at != 3
            })
        };
        let rising = all.iter().filter(|(from, (path, _))| (min..=upper).contains(&path.len()) && steps(*from, path));
        let mut rising: Vec<String> = rising.map(|(from, (_, to))| format!("{from}, {to}")).collect();
        let hop = format!("((x){}(y) WHERE NOT (x.id = 1 AND y.id = 3)){{{min},{upper}}}", way.pattern(""));
        cases.push((format!("{both}MATCH (a) {hop} (b) RETURN a.id, b.id"), rising.clone()));
        rising.sort();
        rising.dedup();
        cases.push((format!("MATCH (a) {hop} (b) RETURN DISTINCT a.id, b.id"), rising));
    }
    cases
}

/// Queries about the ends of two paths in a row, the second one in some direction.
fn paths_in_a_row(edges: &Edges, way: Way) -> Cases {
    let mut cases = Vec::new();
    let bounds = [("*0..1", (0, 1), "*2..3", (2, 3)), ("", (1, 1), "*1..4", (1, 4)), ("*1..2", (1, 2), "", (1, 1))];
    for (second, (words, of_first, other_words, of_second)) in
        [way, Way::Out, Way::Both].into_iter().flat_map(|way| bounds.map(|bounds| (way, bounds)))
    {
        let fits = |path: &[usize], (min, max): (usize, usize)| (min..=max).contains(&path.len());
        let mut pairs = BTreeSet::new();
        for from in 0..NODES {
            let firsts = trails(edges, way, from, of_first.1).into_iter().filter(|(path, _)| fits(path, of_first));
            for (first, middle) in firsts {
                let others = trails(edges, second, middle, of_second.1).into_iter();
                let others =
                    others.filter(|(path, _)| fits(path, of_second) && !path.iter().any(|edge| first.contains(edge)));
                pairs.extend(others.map(|(_, to)| (from, to)));
            }
        }
        let pattern = format!("(a){}(){}(b)", way.pattern(words), second.pattern(other_words));
        let both = pairs.iter().map(|(from, to)| format!("{from}, {to}")).collect();
        let single = |ids: BTreeSet<u64>| ids.iter().map(u64::to_string).collect::<Vec<String>>();
        cases.push((format!("MATCH {pattern} RETURN DISTINCT a.id, b.id"), both));
        let ends = single(pairs.iter().map(|(_, to)| *to).collect());
        cases.push((format!("MATCH {pattern} RETURN DISTINCT b.id"), ends));
        let starts = single(pairs.iter().map(|(from, _)| *from).collect());
        cases.push((format!("MATCH (a:N) WHERE EXISTS {{ {pattern} }} RETURN a.id"), starts));
        let rounds = single(pairs.iter().filter(|(from, to)| from == to).map(|(from, _)| *from).collect());
        cases.push((format!("MATCH {pattern} WHERE a = b RETURN DISTINCT a.id"), rounds));
    }
    cases
}

/// Queries about the ends of paths from some starts, given where paths start and end.
fn ends_of_some(pairs: &[(u64, u64)], path: &str) -> Cases {
    let mut cases = Vec::new();
    for starts in [&[2][..], &[0, 3], &[1, 2, 4]] {
        let reached = pairs.iter().filter(|(from, _)| starts.contains(from)).map(|(_, to)| *to);
        let ends: BTreeSet<u64> = reached.collect();
        let some = format!("MATCH (a:N) WHERE a.id IN {starts:?} WITH a MATCH (a){path}(b)");
        cases.push((format!("{some} RETURN DISTINCT b.id"), ends.iter().map(u64::to_string).collect()));
        cases.push((format!("{some} RETURN count(DISTINCT b)"), vec![ends.len().to_string()]));
        let few = ends.len().min(1);
        cases.push((format!("{some} WITH DISTINCT b LIMIT 1 RETURN count(*)"), vec![few.to_string()]));
        let turned = BTreeSet::from_iter(pairs.iter().filter(|(_, to)| starts.contains(to)).map(|(from, _)| from));
        let there = format!("MATCH (a:N) WHERE EXISTS {{ (a){path}(b) WHERE b.id IN {starts:?} }} RETURN a.id");
        cases.push((there, turned.into_iter().map(u64::to_string).collect()));
    }
    cases
}

/// Queries about the ends of paths that must not go along an edge before them.
fn behind_an_edge(edges: &Edges, way: Way, path: &str, (min, max): (usize, usize)) -> Cases {
    let mut pairs = BTreeSet::new();
    for (place, &edge) in edges.iter().enumerate() {
        for (from, middle) in (0..NODES).filter_map(|from| Some((from, way.follow(edge, from)?))) {
            let all = trails(edges, way, middle, 8).into_iter();
            let fits = all.filter(|(path, _)| (min..=max).contains(&path.len()) && !path.contains(&place));
            pairs.extend(fits.map(|(_, to)| (from, to)));
        }
    }
    let both: Vec<String> = pairs.iter().map(|(from, to)| format!("{from}, {to}")).collect();
    let single = |ids: BTreeSet<u64>| ids.iter().map(u64::to_string).collect::<Vec<String>>();
    let pattern = format!("(a){}(m){path}(b)", way.pattern("e"));
    vec![
        (format!("MATCH {pattern} RETURN DISTINCT a.id, b.id"), both.clone()),
        (format!("MATCH (a:N), (b:N) WHERE EXISTS {{ {pattern} }} RETURN a.id, b.id"), both),
        (format!("MATCH {pattern} RETURN DISTINCT b.id"), single(pairs.iter().map(|(_, to)| *to).collect())),
        (format!("MATCH {pattern} RETURN DISTINCT a.id"), single(pairs.iter().map(|(from, _)| *from).collect())),
    ]
}

/// Nodes, and the places of the edges that lead there.
type Behind = BTreeSet<(u64, Vec<usize>)>;

/// The nodes one edge further than some, without an edge twice.
fn one_further(edges: &Edges, way: Way, rows: &Behind) -> Behind {
    let longer = |(node, used): &(u64, Vec<usize>)| {
        let (node, used) = (*node, used.clone());
        let edges = edges
            .iter()
            .enumerate()
            .filter(move |(place, _)| !used.contains(place))
            .map(|(place, &edge)| (place, edge));
        edges.filter_map(move |(place, edge)| Some((way.follow(edge, node)?, place))).collect::<Vec<_>>()
    };
    let rows =
        rows.iter().flat_map(|row| longer(row).into_iter().map(|(to, place)| (to, [&row.1[..], &[place]].concat())));
    rows.collect()
}

/// Larger and sparser than those of which all paths are compared.
#[test]
fn ends_of_paths_from_several_starts() {
    let seed = seed_or(20_261_130);
    let mut random = SeededRandom::new(seed);
    for round in 0..21_usize {
        let nodes = 10 + random.below(20);
        // Graphs without any order, trees and chains with a few edges more.
        let children = [None, Some(1), Some(2)][round % 3];
        let tree = children.map_or(0, |_| nodes);
        let mut edges: Edges = (1..tree).map(|node| ((node - 1) / children.unwrap_or(1), node)).collect();
        let others = if tree > 0 { random.below(4) } else { nodes + random.below(nodes) };
        edges.extend((0..others).map(|_| (random.below(nodes), random.below(nodes))));
        let place = format!("seed {seed}, round {round}: {edges:?}");
        let mut statements = vec![format!("UNWIND range(0, {}) AS i CREATE (:N {{id: i}})", nodes - 1)];
        statements.extend(edges.iter().enumerate().map(|(place, (source, target))| {
            let third = place % 3;
            format!("MATCH (a:N {{id: {source}}}), (b:N {{id: {target}}}) CREATE (a)-[:E {{third: {third}}}]->(b)")
        }));
        let bench = Bench::new(&statements);
        for (way, more) in [(Way::Out, 3), (Way::In, 0), (Way::In, 2), (Way::Both, 0), (Way::Both, 1), (Way::Both, 3)] {
            let min = random.below(4) as usize;
            let most = if children == Some(1) { 12 } else { 5 };
            let max = (min + more * random.below(3) as usize).clamp(1, most);
            let starts: Vec<u64> = (0..1 + random.below(6)).map(|_| random.below(nodes)).collect();
            let mut rows: Behind = starts.iter().map(|&start| (start, Vec::new())).collect();
            let mut before = String::new();
            for number in 0..3 {
                let some = format!("MATCH (a:N) WHERE a.id IN {starts:?} WITH a MATCH (a){before}");
                for third in [None, Some(random.below(3) as usize)] {
                    let passes = |path: &[usize]| third.is_none_or(|third| path.iter().all(|edge| edge % 3 != third));
                    let ends: BTreeSet<u64> = rows
                        .iter()
                        .flat_map(|(start, used)| {
                            let paths = trails(&edges, way, *start, max).into_iter();
                            let fits = |path: &[usize]| {
                                path.len() >= min && passes(path) && !path.iter().any(|edge| used.contains(edge))
                            };
                            paths.filter(move |(path, _)| fits(path)).map(|(_, to)| to)
                        })
                        .collect();
                    let mut expected: Vec<String> = ends.iter().map(u64::to_string).collect();
                    expected.sort();
                    let path = way.pattern(&format!("p*{min}..{max}"));
                    let filter = third.map(|third| format!(" WHERE all(e IN p WHERE e.third <> {third})"));
                    let query = format!("{some}{path}(b){} RETURN DISTINCT b.id", filter.unwrap_or_default());
                    for (batch_rows, threads) in [(1, 1), (2_048, 1), (3, 3)] {
                        let settings =
                            RunSettings { batch_rows, threads, parallel_nodes_min: 0, ..RunSettings::default() };
                        let found = bench.run(&query, &OptimizerConfig::default(), settings);
                        let (found, plan) = found.unwrap_or_else(|error| panic!("{error}"));
                        assert_eq!(found, expected, "{place}\n{query}\n{plan}");
                    }
                }
                let step = [Way::Out, Way::In, Way::Both][random.index(3)];
                rows = one_further(&edges, step, &rows);
                before += &format!("{}(m{number})", step.pattern(&format!("e{number}")));
            }
        }
    }
}

/// Each node of a chain has used the edge towards its beginning, but for the last one, at which two edges arrive.
#[test]
fn ends_beyond_a_chain_of_used_edges() {
    let bench = Bench::new(&[
        "UNWIND range(0, 12) AS i CREATE (:N {id: i})".to_owned(),
        "MATCH (a:N), (b:N) WHERE a.id < 11 AND b.id = a.id + 1 CREATE (a)-[:E]->(b)".to_owned(),
        "MATCH (a:N {id: 12}), (b:N {id: 11}) CREATE (a)-[:E]->(b)".to_owned(),
    ]);
    for (bounds, count) in [("*", 13), ("*1..11", 13), ("*1..10", 12), ("*1..9", 11), ("*2..11", 13), ("*2..9", 11)] {
        let query = format!("MATCH (a)-->(m)-[{bounds}]-(b) RETURN count(DISTINCT b)");
        let (found, plan) = bench
            .run(&query, &OptimizerConfig::default(), RunSettings::default())
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found, [count.to_string()], "{query}\n{plan}");
    }
}

/// Asks the cases of each way of a graph, in all variants of stores and settings.
fn check(edges: &Edges, cases: fn(&Edges, Way) -> Cases, round: &str) {
    let script = create(edges);
    for (number, (store, settings)) in variants().into_iter().enumerate() {
        answer(&store, &script, &Map::default(), settings).expect("the graph can be made");
        for (query, mut expected) in [Way::Out, Way::In, Way::Both].into_iter().flat_map(|way| cases(edges, way)) {
            let place = format!("{round}, variant {number}: {edges:?}: {query}");
            let (mut rows, _) =
                answer(&store, &query, &Map::default(), settings).unwrap_or_else(|error| panic!("{place}: {error:?}"));
            rows.sort();
            expected.sort();
            assert_eq!(rows, expected, "{place}");
        }
    }
}

#[test]
fn paths_of_any_bounds_equal_plain_enumeration() {
    let seed = seed_or(20_261_123);
    let mut random = SeededRandom::new(seed);
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    for round in 0..rounds {
        let mut edges = random_edges(&mut random);
        edges.truncate(7);
        check(&edges, bounded_cases, &format!("seed {seed}, round {round}"));
        check(&edges, paths_in_a_row, &format!("seed {seed}, round {round}"));
    }
}

/// Queries with what plain enumeration gives for them.
fn cases(edges: &Edges, way: Way) -> Cases {
    let mut cases = Vec::new();
    let (mut walks, mut long, mut pairs, mut ends, mut shortest) = (vec![], vec![], vec![], vec![], vec![]);
    let mut back = vec![];
    for from in 0..NODES {
        let trails = trails(edges, way, from, 3);
        for (path, to) in &trails {
            if !path.is_empty() {
                walks.push(format!("{from}, {path:?}, {to}"));
            }
            if path.len() >= 2 {
                long.push(format!("{from}, {to}"));
            }
            if path.len() == 2 {
                pairs.push(format!("{from}, {}, {}, {to}", path[0], path[1]));
            }
            if path.len() == 3 && *to == from {
                back.push(format!("{from}, {path:?}"));
            }
        }
        let mut reached: Vec<u64> = trails.iter().filter(|(path, _)| !path.is_empty()).map(|(_, to)| *to).collect();
        reached.sort_unstable();
        reached.dedup();
        ends.push(format!("{from}, {}", reached.len()));
        for to in (0..NODES).filter(|&to| to != from) {
            let lengths = || trails.iter().filter(|(_, end)| *end == to).map(|(path, _)| path.len());
            if let Some(length) = lengths().min() {
                shortest.push(format!("{from}, {to}, {length}, {}", lengths().filter(|&l| l == length).count()));
            }
        }
    }
    ends.retain(|end| !end.ends_with(" 0"));
    let total = format!("{}", pairs.len());
    let one = way.pattern("r");
    let ids = "RETURN a.id";
    cases.push((format!("MATCH (a){}(b) {ids}, [x IN r | x.w], b.id", way.pattern("r*1..3")), walks));
    cases.push((format!("MATCH (a){}(b) {ids}, b.id", way.pattern("*2..3")), long));
    cases.push((format!("MATCH (a){one}(m){}(b) {ids}, r.w, s.w, b.id", way.pattern("s")), pairs));
    cases.push((format!("MATCH (a){one}(m){}(b) RETURN count(*)", way.pattern("s")), vec![total]));
    cases.push((format!("MATCH (a){}(b) {ids}, count(DISTINCT b)", way.pattern("*1..3")), ends));
    cases.push((
        format!("MATCH (a){}(b){}(c){}(a) {ids}, [r.w, s.w, t.w]", one, way.pattern("s"), way.pattern("t")),
        back.clone(),
    ));
    cases.push((format!("MATCH (a){}(a) {ids}, [x IN r | x.w]", way.pattern("r*3")), back));
    cases.push((
        format!(
            "MATCH (a:N), (b:N) WHERE a.id <> b.id MATCH p = allShortestPaths((a){}(b)) \
             {ids}, b.id, min(length(p)), count(*)",
            way.pattern("*..3")
        ),
        shortest,
    ));
    cases
}

#[test]
fn patterns_equal_plain_enumeration() {
    let seed = seed_or(20_261_121);
    let mut random = SeededRandom::new(seed);
    for round in 0..12 {
        let edges = random_edges(&mut random);
        check(&edges, cases, &format!("seed {seed}, round {round}"));
    }
}

/// The pattern and its changes; `$k` and `$v` stand for what differs from row to row, `#` for putting rows in order.
const MERGES: &[&str] = &[
    "MERGE (n:N {k: $k}) ON CREATE SET n.c = $v ON MATCH SET n.c = n.c * 2 + $v",
    "MERGE (n:N {k: $k, v: $v}) ON MATCH SET n.c = coalesce(n.c, 0) + 1",
    "MERGE (n:N {k: $k}) ON CREATE SET n.k = $v",
    "MERGE (n:N {k: $k}) ON MATCH SET n += {k: $v}",
    "MERGE (n:N:M {k: $k}) ON MATCH SET n:L",
    "MATCH (a:N {k: $k}), (b:N {k: $v}) # MERGE (a)-[r:E]->(b) ON CREATE SET r.c = 1 ON MATCH SET r.c = r.c + 1",
    "MATCH (a:N {k: $k}), (b:N {k: $v}) # MERGE (a)-[r:E]-(b) ON CREATE SET r.c = 1 ON MATCH SET r.c = r.c * 3",
    "MATCH (a:N {k: $k}) # MERGE (a)-[:E]->(b:B {v: $v})",
    "MATCH (a:N {k: $k}), (b:N {k: $v}) # SET a.c = b.c + 1, b.c = coalesce(a.c, 0) + 2",
    "MATCH (a:N {k: $k}) # SET a.c = coalesce(a.c, 0) * 2 + $v, a.d = a.c",
    "MATCH (a:N {k: $k}), (b:N) # SET a.c = coalesce(a.c, 0) + $v, b.d = $v",
];

const DUMPS: &[&str] =
    &["MATCH (n) RETURN n.k, n.v, n.c, n.d, n:M, n:L", "MATCH (a)-[r]->(b) RETURN a.k, b.k, b.v, r.c"];

#[test]
fn batches_of_writes_equal_row_by_row() {
    let seed = seed_or(20_261_122);
    let mut random = SeededRandom::new(seed);
    for round in 0..10 {
        for merge in MERGES {
            let start: String =
                (0..random.below(4)).map(|k| format!("CREATE (:N {{k: {k}, v: {k}, c: 1}});\n")).collect();
            let rows: Vec<(u64, u64)> = (0..1 + random.below(8)).map(|_| (random.below(4), random.below(4))).collect();
            let row = |(i, (k, v)): (usize, &(u64, u64))| format!("{{i: {i}, k: {k}, v: {v}}}");
            let list: Vec<String> = rows.iter().enumerate().map(row).collect();
            let changed = merge.replace("$k", "row.k").replace("$v", "row.v").replace('#', "WITH * ORDER BY row.i");
            let batch = format!("{start}UNWIND [{}] AS row {changed};\n", list.join(", "));
            let one = |(k, v): &(u64, u64)| {
                format!("{};\n", merge.replace("$k", &k.to_string()).replace("$v", &v.to_string()).replace('#', ""))
            };
            let single = format!("{start}{}", rows.iter().map(one).collect::<String>());
            for (number, ((together, settings), (apart, _))) in variants().into_iter().zip(variants()).enumerate() {
                let place = format!("seed {seed}, round {round}, variant {number}: {batch}");
                answer(&together, &batch, &Map::default(), settings).unwrap_or_else(|e| panic!("{place}: {e:?}"));
                answer(&apart, &single, &Map::default(), settings).unwrap_or_else(|e| panic!("{place}: {e:?}"));
                for dump in DUMPS {
                    let dump = |store| {
                        let (mut rows, _) =
                            answer(store, dump, &Map::default(), settings).expect("the graph can be read");
                        rows.sort();
                        rows
                    };
                    assert_eq!(dump(&together), dump(&apart), "{place}");
                }
            }
        }
    }
}
