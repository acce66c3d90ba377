//! Generated shapes of queries on small random graphs, compared with an evaluation that follows their definition: rows of
//! one to four relationships with labels, types, directions, lengths and conditions at any place, in one or two clauses,
//! counted, summed, grouped or made distinct at any node.

use std::collections::BTreeMap;

use exec::RunSettings;
use model::Map;
use testing::random::{SeededRandom, seed_or};

use super::{answer, variants};

const LABELS: [&str; 2] = ["A", "B"];
const TYPES: [&str; 2] = ["E", "F"];

/// A graph with loops, parallel edges and missing properties.
pub(super) struct Graph {
    /// Of each node, whether it carries each label.
    pub(super) labels: Vec<[bool; 2]>,
    ages: Vec<Option<u64>>,
    /// Source, target and type.
    pub(super) edges: Vec<(usize, usize, usize)>,
}

impl Graph {
    pub(super) fn new(random: &mut SeededRandom) -> Graph {
        let nodes = 3 + random.index(4);
        let labels = (0..nodes).map(|_| [random.chance(60), random.chance(40)]).collect();
        let ages = (0..nodes).map(|_| random.chance(80).then(|| random.below(4))).collect();
        let edge =
            |random: &mut SeededRandom| (random.index(nodes), random.index(nodes), usize::from(random.chance(30)));
        let edges = (0..random.index(12)).map(|_| edge(random)).collect();
        Graph { labels, ages, edges }
    }

    pub(super) fn script(&self) -> String {
        let mut script = String::new();
        for (id, (labels, age)) in self.labels.iter().zip(&self.ages).enumerate() {
            let labels = LABELS.iter().zip(labels).filter(|(_, carried)| **carried);
            let labels: String = labels.map(|(label, _)| format!(":{label}")).collect();
            let age = age.map_or(String::new(), |age| format!(", age: {age}"));
            script += &format!("CREATE ({labels} {{id: {id}{age}}});\n");
        }
        for (from, to, edge_type) in &self.edges {
            let edge_type = TYPES[*edge_type];
            script += &format!("MATCH (a {{id: {from}}}), (b {{id: {to}}}) CREATE (a)-[:{edge_type}]->(b);\n");
        }
        script
    }
}

/// One relationship of a pattern, or a path of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// Followed forth, followed back.
    pub(super) ways: [bool; 2],
    pub(super) only: Option<usize>,
    pub(super) lengths: (usize, usize),
    /// A length of one is written.
    pub(super) is_told: bool,
}

impl Hop {
    pub(super) fn new(random: &mut SeededRandom, may_repeat: bool) -> Hop {
        let ways = [[true, false], [false, true], [true, true]][random.index(3)];
        let only = [Some(0), Some(0), Some(1), None][random.index(4)];
        let lengths = match random.index(14) {
            0 => (1, 2),
            1 => (2, 3),
            2 => (0, 1),
            3 => (2, 2),
            4 => (3, 3),
            _ => (1, 1),
        };
        let is_told = random.chance(15);
        Hop { ways, only, is_told, lengths: if may_repeat { lengths } else { (1, 1) } }
    }

    pub(super) fn text(&self) -> String {
        let only = self.only.map_or(String::new(), |only| format!(":{}", TYPES[only]));
        let lengths = match self.lengths {
            (1, 1) if !self.is_told => String::new(),
            (min, max) => format!("*{min}..{max}"),
        };
        let (left, right) = match self.ways {
            [true, false] => ("-", "->"),
            [false, _] => ("<-", "-"),
            _ => ("-", "-"),
        };
        format!("{left}[{only}{lengths}]{right}")
    }

    /// The edges that can be followed from a node, and the nodes they lead to.
    pub(super) fn follow(self, graph: &Graph, from: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        graph.edges.iter().enumerate().filter_map(move |(edge, &(source, target, edge_type))| {
            let to = match self.ways {
                [true, _] if source == from => Some(target),
                [_, true] if target == from => Some(source),
                _ => None,
            };
            to.filter(|_| self.only.is_none_or(|only| only == edge_type)).map(|to| (edge, to))
        })
    }
}

/// A condition on a node.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Label(usize),
    Older(u64),
    /// Some relationship leads to a node with that label, or none does.
    Leads(Hop, Option<usize>, bool),
}

impl Condition {
    fn new(random: &mut SeededRandom) -> Condition {
        match random.index(5) {
            0 | 1 => Condition::Label(random.index(2)),
            2 => Condition::Older(random.below(3)),
            _ => {
                let label = random.chance(40).then(|| random.index(2));
                Condition::Leads(Hop::new(random, false), label, random.chance(50))
            }
        }
    }

    fn text(&self, name: &str) -> String {
        match self {
            Condition::Label(label) => format!("{name}:{}", LABELS[*label]),
            Condition::Older(age) => format!("{name}.age > {age}"),
            Condition::Leads(hop, label, wanted) => {
                let label = label.map_or(String::new(), |label| format!(":{}", LABELS[label]));
                let not = if *wanted { "" } else { "NOT " };
                format!("{not}EXISTS {{ ({name}){}({label}) }}", hop.text())
            }
        }
    }

    fn holds(&self, graph: &Graph, node: usize) -> bool {
        match self {
            Condition::Label(label) => graph.labels[node][*label],
            Condition::Older(age) => graph.ages[node].is_some_and(|known| known > *age),
            Condition::Leads(hop, label, wanted) => {
                let leads = |to: usize| label.is_none_or(|label| graph.labels[to][label]);
                hop.follow(graph, node).any(|(_, to)| leads(to)) == *wanted
            }
        }
    }
}

/// The value made of the matches.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Count,
    CountDistinct(usize),
    Sum(usize),
    Groups(usize, usize),
    Ends(usize, usize),
    /// The distinct nodes, read in a clause of their own, perhaps of a limited number of rows.
    Nodes(usize, bool),
    Extremes(usize, usize),
    Rows,
}

/// A row of relationships, and what is asked of it.
#[derive(Debug)]
struct Shape {
    hops: Vec<Hop>,
    /// Of each node, one more than relationships.
    conditions: Vec<Option<Condition>>,
    /// The relationship with which a second clause begins, and whether that is optional.
    second: Option<(usize, bool)>,
    /// The last node is the first.
    is_closed: bool,
    wanted: Wanted,
}

/// The nodes of a match; missing behind an optional clause without one.
type Match = Vec<Option<usize>>;

impl Shape {
    fn new(random: &mut SeededRandom) -> Shape {
        let count = 1 + random.index(4);
        let same = Hop::new(random, false);
        let hops: Vec<Hop> =
            (0..count).map(|_| if random.chance(50) { same } else { Hop::new(random, true) }).collect();
        let conditions = (0..=count).map(|_| random.chance(25).then(|| Condition::new(random))).collect();
        let second = (count > 1 && random.chance(25)).then(|| (1 + random.index(count - 1), random.chance(50)));
        let is_closed = count > 1 && second.is_none() && random.chance(10);
        let mut node = || random.index(if is_closed { count } else { count + 1 });
        let (a, b) = (node(), node());
        let wanted = match random.index(12) {
            0 => Wanted::CountDistinct(a),
            1 => Wanted::Sum(a),
            2 => Wanted::Groups(a, b),
            3 => Wanted::Ends(a, b),
            4 => Wanted::Rows,
            5 | 6 => Wanted::Nodes(a, false),
            7 => Wanted::Nodes(a, true),
            8 => Wanted::Extremes(a, b),
            _ => Wanted::Count,
        };
        Shape { hops, conditions, second, is_closed, wanted }
    }

    fn name(&self, node: usize) -> String {
        if self.is_closed && node == self.hops.len() { "n0".to_string() } else { format!("n{node}") }
    }

    /// The nodes that a clause binds, and the relationships that it follows.
    fn clauses(&self) -> Vec<(usize, usize, bool)> {
        let end = self.hops.len();
        match self.second {
            None => vec![(0, end, false)],
            Some((at, optional)) => vec![(0, at, false), (at, end, optional)],
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (start, end, optional) in self.clauses() {
            text += if optional { "OPTIONAL MATCH " } else { "MATCH " };
            text += &format!("({})", self.name(start));
            for hop in start..end {
                text += &format!("{}({})", self.hops[hop].text(), self.name(hop + 1));
            }
            let first = if start == 0 { 0 } else { start + 1 };
            let conditions = (first..=end).filter_map(|node| Some(self.conditions[node]?.text(&self.name(node))));
            let conditions: Vec<String> = conditions.collect();
            if !conditions.is_empty() {
                text += &format!(" WHERE {}", conditions.join(" AND "));
            }
            text += " ";
        }
        let name = |node: usize| self.name(node);
        let wanted = match self.wanted {
            Wanted::Count => "count(*)".to_string(),
            Wanted::CountDistinct(node) => format!("count(DISTINCT {})", name(node)),
            Wanted::Sum(node) => format!("sum({0}.age), count({0})", name(node)),
            Wanted::Groups(key, node) => format!("{}.id, count(*), count(DISTINCT {})", name(key), name(node)),
            Wanted::Ends(a, b) => format!("DISTINCT {}.id AS a, {}.id AS b", name(a), name(b)),
            Wanted::Nodes(node, is_limited) => {
                let limit = if is_limited { "LIMIT 1000" } else { "" };
                return format!("{text}WITH DISTINCT {0} {limit} RETURN {0}.id", name(node));
            }
            Wanted::Extremes(key, node) => {
                format!("{0}.id, max({1}.age), min({1}.id), count(DISTINCT {1})", name(key), name(node))
            }
            Wanted::Rows => {
                let ids: Vec<String> =
                    (0..=self.hops.len()).map(|node| format!("{}.id AS c{node}", name(node))).collect();
                ids.join(", ")
            }
        };
        text + "RETURN " + &wanted
    }

    /// Adds all ways to go on from the last node of a match along the relationships from `hop` on.
    fn extend(
        &self,
        graph: &Graph,
        found: &Match,
        hop: usize,
        end: usize,
        used: &mut Vec<usize>,
        all: &mut Vec<Match>,
    ) {
        if hop == end {
            all.push(found.clone());
            return;
        }
        let Some(from) = found[hop] else { return };
        self.walk(graph, (found, hop, end), (from, 0), used, all);
    }

    /// The same, after `length` edges of the path that one of the relationships stands for.
    fn walk(
        &self,
        graph: &Graph,
        (found, hop, end): (&Match, usize, usize),
        (at, length): (usize, usize),
        used: &mut Vec<usize>,
        all: &mut Vec<Match>,
    ) {
        let (min, max) = self.hops[hop].lengths;
        if length >= min {
            let holds = self.conditions[hop + 1].is_none_or(|condition| condition.holds(graph, at));
            let closes = !self.is_closed || hop + 1 < self.hops.len() || found[0] == Some(at);
            if holds && closes {
                let mut longer = found.clone();
                longer.push(Some(at));
                self.extend(graph, &longer, hop + 1, end, used, all);
            }
        }
        if length < max {
            for (edge, to) in self.hops[hop].follow(graph, at) {
                if !used.contains(&edge) {
                    used.push(edge);
                    self.walk(graph, (found, hop, end), (to, length + 1), used, all);
                    used.pop();
                }
            }
        }
    }

    fn matches(&self, graph: &Graph) -> Vec<Match> {
        let starts = 0..graph.labels.len();
        let holds = |node: &usize| self.conditions[0].is_none_or(|condition| condition.holds(graph, *node));
        let mut matches: Vec<Match> = starts.filter(holds).map(|node| vec![Some(node)]).collect();
        for (start, end, optional) in self.clauses() {
            let before = std::mem::take(&mut matches);
            for found in before {
                let known = matches.len();
                self.extend(graph, &found, start, end, &mut Vec::new(), &mut matches);
                if optional && matches.len() == known {
                    let mut missing = found.clone();
                    missing.resize(end + 1, None);
                    matches.push(missing);
                }
            }
        }
        matches
    }

    fn expected(&self, graph: &Graph) -> Vec<String> {
        let matches = self.matches(graph);
        let id = |node: Option<usize>| node.map_or("null".to_string(), |node| node.to_string());
        let distinct = |of: &[&Match], node: usize| {
            let mut nodes: Vec<usize> = of.iter().filter_map(|found| found[node]).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes.len()
        };
        let all: Vec<&Match> = matches.iter().collect();
        let groups = |key: usize| {
            let mut groups: BTreeMap<Option<usize>, Vec<&Match>> = BTreeMap::new();
            all.iter().for_each(|found| groups.entry(found[key]).or_default().push(found));
            groups
        };
        let mut rows = match self.wanted {
            Wanted::Count => vec![matches.len().to_string()],
            Wanted::CountDistinct(node) => vec![distinct(&all, node).to_string()],
            Wanted::Sum(node) => {
                let nodes = || all.iter().filter_map(|found| found[node]);
                let sum: u64 = nodes().filter_map(|node| graph.ages[node]).sum();
                vec![format!("{sum}, {}", nodes().count())]
            }
            Wanted::Nodes(node, _) => groups(node).into_keys().map(id).collect(),
            Wanted::Extremes(key, node) => {
                let row = |(key, of): (Option<usize>, Vec<&Match>)| {
                    let oldest = of.iter().filter_map(|found| graph.ages[found[node]?]).max();
                    let oldest = oldest.map_or("null".to_string(), |age| age.to_string());
                    let least = of.iter().filter_map(|found| found[node]).min();
                    format!("{}, {oldest}, {}, {}", id(key), id(least), distinct(&of, node))
                };
                groups(key).into_iter().map(row).collect()
            }
            Wanted::Groups(key, node) => {
                let row = |(key, of): (Option<usize>, Vec<&Match>)| {
                    format!("{}, {}, {}", id(key), of.len(), distinct(&of, node))
                };
                groups(key).into_iter().map(row).collect()
            }
            Wanted::Ends(a, b) => {
                let mut ends: Vec<String> = all.iter().map(|it| format!("{}, {}", id(it[a]), id(it[b]))).collect();
                ends.sort();
                ends.dedup();
                ends
            }
            Wanted::Rows => {
                let row = |found: &&Match| found.iter().map(|node| id(*node)).collect::<Vec<_>>().join(", ");
                all.iter().map(row).collect()
            }
        };
        rows.sort();
        rows
    }
}

#[test]
fn generated_shapes_give_what_their_definition_says() {
    let seed = seed_or(20_261_124);
    let rounds: u64 = std::env::var("FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(6);
    let mut random = SeededRandom::new(seed);
    let mut with_rows = 0;
    for round in 0..rounds {
        let graph = Graph::new(&mut random);
        let script = graph.script();
        let stores: Vec<(_, RunSettings)> = variants()
            .into_iter()
            .inspect(|(store, settings)| {
                answer(store, &script, &Map::default(), *settings).expect("the graph can be made");
            })
            .collect();
        for _ in 0..120 {
            let shape = Shape::new(&mut random);
            let (query, expected) = (shape.text(), shape.expected(&graph));
            with_rows += u64::from(!expected.is_empty() && expected != ["0"]);
            for (number, (store, settings)) in stores.iter().enumerate() {
                let place = format!("seed {seed}, round {round}, variant {number}:\n{script}{query}");
                let (mut rows, _) = answer(store, &query, &Map::default(), *settings)
                    .unwrap_or_else(|error| panic!("{place}\n{}", error.render(&query)));
                rows.sort();
                assert_eq!(rows, expected, "{place}");
            }
        }
    }
    assert!(with_rows * 3 > rounds * 120, "only {with_rows} shapes have rows");
}
