//! Repeated parts of paths, selectors and modes on small random graphs with loops and parallel edges, compared with plain
//! enumeration of all walks.

use super::{answer, variants};
use model::Map;
use testing::random::{SeededRandom, seed_or};

const NODES: usize = 4;

/// Edges as source and target; the place of an edge is its property `w`.
type Edges = Vec<(usize, usize)>;

/// A walk: its nodes, and the places of its edges.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Walk {
    nodes: Vec<usize>,
    edges: Vec<usize>,
}

impl Walk {
    fn is_trail(&self) -> bool {
        are_distinct(&self.edges)
    }

    fn is_acyclic(&self) -> bool {
        are_distinct(&self.nodes)
    }

    fn is_simple(&self) -> bool {
        let round = self.nodes.len() > 1 && self.nodes.first() == self.nodes.last();
        self.is_trail() && are_distinct(&self.nodes[usize::from(round)..])
    }

    fn ends(&self) -> (usize, usize) {
        (self.nodes[0], self.nodes[self.nodes.len() - 1])
    }
}

fn are_distinct(list: &[usize]) -> bool {
    list.iter().enumerate().all(|(index, item)| !list[..index].contains(item))
}

fn random_edges(random: &mut SeededRandom) -> Edges {
    let node = |random: &mut SeededRandom| random.below(NODES as u64) as usize;
    (0..random.below(8)).map(|_| (node(random), node(random))).collect()
}

fn create(edges: &Edges) -> String {
    let mut script = format!("UNWIND range(0, {}) AS i CREATE (:N {{id: i}});\n", NODES - 1);
    for (w, (source, target)) in edges.iter().enumerate() {
        script += &format!("MATCH (a:N {{id: {source}}}), (b:N {{id: {target}}}) CREATE (a)-[:E {{w: {w}}}]->(b);\n");
    }
    script
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Out,
    In,
    Both,
}

impl Way {
    fn pattern(self, words: &str) -> String {
        match self {
            Way::Out => format!("-[{words}]->"),
            Way::In => format!("<-[{words}]-"),
            Way::Both => format!("-[{words}]-"),
        }
    }

    fn follow(self, edge: (usize, usize), from: usize) -> Option<usize> {
        match self {
            Way::Out => (edge.0 == from).then_some(edge.1),
            Way::In => (edge.1 == from).then_some(edge.0),
            Way::Both => Way::Out.follow(edge, from).or(Way::In.follow(edge, from)),
        }
    }
}

/// All walks of at most `max` edges, each hop in the direction given for its place.
fn walks(edges: &Edges, ways: &[Way], max: usize) -> Vec<Walk> {
    let mut all: Vec<Walk> = (0..NODES).map(|node| Walk { nodes: vec![node], edges: Vec::new() }).collect();
    let mut next = 0;
    while next < all.len() {
        let walk = all[next].clone();
        next += 1;
        if walk.edges.len() == max {
            continue;
        }
        for (place, &edge) in edges.iter().enumerate() {
            let end = walk.nodes[walk.nodes.len() - 1];
            if let Some(node) = ways[walk.edges.len() % ways.len()].follow(edge, end) {
                let mut longer = walk.clone();
                longer.nodes.push(node);
                longer.edges.push(place);
                all.push(longer);
            }
        }
    }
    all
}

/// Of the walks between the same two nodes, the lengths that a selector leaves.
fn lengths(walks: &[Walk], keep: impl Fn(Vec<usize>) -> Vec<usize>) -> Vec<String> {
    let mut rows = Vec::new();
    for from in 0..NODES {
        for to in 0..NODES {
            let mut lengths: Vec<usize> =
                walks.iter().filter(|walk| walk.ends() == (from, to)).map(|walk| walk.edges.len()).collect();
            lengths.sort_unstable();
            rows.extend(keep(lengths).into_iter().map(|length| format!("{from}, {to}, {length}")));
        }
    }
    rows
}

fn groups(count: usize) -> impl Fn(Vec<usize>) -> Vec<usize> {
    move |lengths| {
        let mut distinct = lengths.clone();
        distinct.dedup();
        lengths.into_iter().filter(|length| distinct[..count.min(distinct.len())].contains(length)).collect()
    }
}

fn first(count: usize) -> impl Fn(Vec<usize>) -> Vec<usize> {
    move |lengths| lengths.into_iter().take(count).collect()
}

const LENGTHS: &str = "RETURN a.id, b.id, length(p)";
const EDGES: &str = "RETURN a.id, [x IN relationships(p) | x.w]";

fn whole(walks: &[Walk], keep: impl Fn(&Walk) -> bool) -> Vec<String> {
    walks.iter().filter(|walk| keep(walk)).map(|walk| format!("{}, {:?}", walk.nodes[0], walk.edges)).collect()
}

/// Queries with what plain enumeration gives for them.
fn cases(edges: &Edges, way: Way) -> Vec<(String, Vec<String>)> {
    let walks_of_one = walks(edges, &[way], 4);
    let arrow = way.pattern(":E");
    let up_to = |min: usize, max: usize| {
        let fits = move |walk: &&Walk| walk.edges.len() >= min && walk.edges.len() <= max;
        walks_of_one.iter().filter(fits).cloned().collect::<Vec<Walk>>()
    };
    let of_mode = |walks: Vec<Walk>, keep: fn(&Walk) -> bool| walks.into_iter().filter(keep).collect::<Vec<Walk>>();
    let trails = |min, max| of_mode(up_to(min, max), Walk::is_trail);
    let mut cases = vec![
        (format!("MATCH p = (a){arrow}{{0,3}}(b) {EDGES}"), whole(&trails(0, 3), |_| true)),
        (format!("MATCH p = (a) ((x){arrow}(y))+ (b) WHERE length(p) < 4 {EDGES}"), whole(&trails(1, 3), |_| true)),
        (format!("MATCH p = WALK (a){arrow}{{1,3}}(b) {EDGES}"), whole(&up_to(1, 3), |_| true)),
        (format!("MATCH p = ACYCLIC (a){arrow}{{0,3}}(b) {EDGES}"), whole(&up_to(0, 3), Walk::is_acyclic)),
        (format!("MATCH p = SIMPLE (a){arrow}{{1,3}}(b) {EDGES}"), whole(&up_to(1, 3), Walk::is_simple)),
        (
            format!(
                "MATCH p = (a) ((x)-[r]{}(y) WHERE x.id < y.id){{1,3}} (b) {EDGES}",
                if way == Way::Out { "->" } else { "-" }
            ),
            {
                let way = if way == Way::Out { Way::Out } else { Way::Both };
                let rising = |walk: &Walk| walk.nodes.windows(2).all(|pair| pair[0] < pair[1]) && walk.is_trail();
                whole(&walks(edges, &[way], 3), |walk| rising(walk) && !walk.edges.is_empty())
            },
        ),
    ];
    for selector in ["SHORTEST 1", "ANY", "ALL SHORTEST", "SHORTEST 2", "SHORTEST 2 GROUPS"] {
        let keep = |walks: &[Walk]| match selector {
            "SHORTEST 1" | "ANY" => lengths(walks, first(1)),
            "ALL SHORTEST" => lengths(walks, groups(1)),
            "SHORTEST 2" => lengths(walks, first(2)),
            _ => lengths(walks, groups(2)),
        };
        for (min, max) in [(0, 3), (1, 4), (2, 4)] {
            cases.push((
                format!("MATCH p = {selector} (a){arrow}{{{min},{max}}}(b) {LENGTHS}"),
                keep(&trails(min, max)),
            ));
        }
        let acyclic = of_mode(up_to(1, 3), Walk::is_acyclic);
        cases.push((format!("MATCH p = {selector} ACYCLIC (a){arrow}{{1,3}}(b) {LENGTHS}"), keep(&acyclic)));
        let even: Vec<Walk> = trails(1, 4).into_iter().filter(|walk| walk.edges.len() % 2 == 0).collect();
        cases.push((
            format!("MATCH p = {selector} ((a){arrow}{{1,4}}(b) WHERE length(p) % 2 = 0) {LENGTHS}"),
            keep(&even),
        ));
        let two = [way, Way::Out];
        let through: Vec<Walk> = walks(edges, &two, 2)
            .into_iter()
            .filter(|walk| walk.edges.len() == 2 && walk.is_trail() && walk.nodes[1] > 0)
            .collect();
        cases.push((format!("MATCH p = {selector} (a){arrow}(m WHERE m.id > 0)-[:E]->(b) {LENGTHS}"), keep(&through)));
    }
    cases.extend(groups_of_two(edges, way));
    cases
}

/// Repeated parts of two relationships, and what their variables hold outside.
fn groups_of_two(edges: &Edges, way: Way) -> Vec<(String, Vec<String>)> {
    let arrow = way.pattern("r");
    let pairs: Vec<Walk> = walks(edges, &[way, Way::Out], 4)
        .into_iter()
        .filter(|walk| walk.is_trail() && walk.edges.len() % 2 == 0 && !walk.edges.is_empty())
        .collect();
    let every = |list: &[usize], from: usize| -> Vec<usize> { list[from..].iter().step_by(2).copied().collect() };
    let row = |walk: &Walk| {
        let (nodes, edges) = (&walk.nodes, &walk.edges);
        let last = nodes.len() - 1;
        let (x, y) = (every(&nodes[..last], 0), every(nodes, 1));
        let z = every(nodes, 2);
        format!("{x:?}, {:?}, {y:?}, {:?}, {z:?}", every(edges, 0), every(edges, 1))
    };
    let columns = "[n IN x | n.id], [e IN r | e.w], [n IN y | n.id], [e IN s | e.w], [n IN z | n.id]";
    let up = |walk: &&Walk| walk.nodes.chunks(2).zip(walk.nodes[2..].chunks(2)).all(|(x, z)| x[0] <= z[0]);
    vec![
        (format!("MATCH (a) ((x){arrow}(y)-[s]->(z)){{1,2}} (b) RETURN {columns}"), pairs.iter().map(row).collect()),
        (
            format!("MATCH (a) ((x){arrow}(y)-[s]->(z) WHERE x.id <= z.id){{1,2}} (b) RETURN {columns}"),
            pairs.iter().filter(up).map(row).collect(),
        ),
        (
            format!("MATCH ALL SHORTEST (a) ((x){arrow}(y)-[s]->(z)){{1,2}} (b) RETURN a.id, b.id, size(r) + size(s)"),
            lengths(&pairs, groups(1)),
        ),
    ]
}

#[test]
fn searches_equal_plain_enumeration() {
    let seed = seed_or(20_261_122);
    let mut random = SeededRandom::new(seed);
    for round in 0..10 {
        let edges = random_edges(&mut random);
        let script = create(&edges);
        for (number, (store, settings)) in variants().into_iter().enumerate() {
            answer(&store, &script, &Map::default(), settings).expect("the graph can be made");
            for way in [Way::Out, Way::In, Way::Both] {
                for (query, mut expected) in cases(&edges, way) {
                    let place = format!("seed {seed}, round {round}, variant {number}: {edges:?}: {query}");
                    let (mut rows, _) = answer(&store, &query, &Map::default(), settings)
                        .unwrap_or_else(|error| panic!("{place}: {}", error.render(&query)));
                    rows.sort();
                    expected.sort();
                    assert_eq!(rows, expected, "{place}");
                }
            }
        }
    }
}
