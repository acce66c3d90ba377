//! Patterns on small random graphs with loops and parallel edges, compared with plain enumeration.

use super::{answer, variants};
use model::Map;
use testing::random::{SeededRandom, seed_or};

/// Edges as source and target; the place of an edge is its property `w`.
type Edges = Vec<(u64, u64)>;

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

    /// Where an edge leads from a node.
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

/// Queries with what plain enumeration gives for them.
fn cases(edges: &Edges, way: Way) -> Vec<(String, Vec<String>)> {
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
        let script = create(&edges);
        for (number, (store, settings)) in variants().into_iter().enumerate() {
            answer(&store, &script, &Map::default(), settings).expect("the graph can be made");
            for way in [Way::Out, Way::In, Way::Both] {
                for (query, mut expected) in cases(&edges, way) {
                    let place = format!("seed {seed}, round {round}, variant {number}: {edges:?}: {query}");
                    let (mut rows, _) = answer(&store, &query, &Map::default(), settings)
                        .unwrap_or_else(|error| panic!("{place}: {error:?}"));
                    rows.sort();
                    expected.sort();
                    assert_eq!(rows, expected, "{place}");
                }
            }
        }
    }
}
