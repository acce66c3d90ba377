//! Counts of relationships between labels, which the store answers in part from what was found out before, against the relationships
//! themselves; between changes of relationships and of labels.
//!
//! The seed of a failure is in its message; `FUZZ_SEED` replays it.

use database::Parameters;
use testing::random::{SeededRandom, seed_or};

use crate::engine::{Engine, Native};

const ROUNDS: u64 = 12;
const CHANGES: usize = 12;
const LABELS: [&str; 3] = ["A", "B", "C"];
const TYPES: [&str; 2] = ["T", "U"];

/// The graph as it should be.
#[derive(Default)]
struct Graph {
    /// For each node, which of the labels it has; nothing of one that is deleted.
    nodes: Vec<Option<[bool; 3]>>,
    /// Type, source and target.
    edges: Vec<(usize, usize, usize)>,
}

impl Graph {
    /// A graph of few nodes with many edges. Of each label either most nodes have it, or half of them, or few.
    fn random(random: &mut SeededRandom) -> Graph {
        let count = 5 + random.index(60);
        let shares = LABELS.map(|_| [2, 50, 97, 100][random.index(4)]);
        let nodes = (0..count).map(|_| Some(shares.map(|share| random.chance(share)))).collect();
        let end = |random: &mut SeededRandom| random.index(count);
        let mut edges = Vec::new();
        for _ in 0..random.index(1_200) {
            let (source, target) = (end(random), end(random));
            edges.push((random.index(TYPES.len()), source, if random.chance(5) { source } else { target }));
        }
        Graph { nodes, edges }
    }

    fn statements(&self) -> Vec<String> {
        let labels = |node: &Option<[bool; 3]>| -> String {
            let carried = LABELS.iter().zip(node.unwrap_or_default()).filter(|(_, carries)| *carries);
            carried.map(|(label, _)| format!(":{label}")).collect()
        };
        let nodes = self.nodes.iter().enumerate();
        let mut statements: Vec<String> =
            nodes.map(|(id, node)| format!("CREATE (:N{} {{id: {id}}})", labels(node))).collect();
        for (number, name) in TYPES.iter().enumerate() {
            let ends = self.edges.iter().filter(|(of, ..)| *of == number);
            let ends: Vec<String> = ends.map(|(_, source, target)| format!("[{source}, {target}]")).collect();
            let list = ends.join(", ");
            statements.push(format!(
                "UNWIND [{list}] AS e MATCH (s:N {{id: e[0]}}), (t:N {{id: e[1]}}) CREATE (s)-[:{name}]->(t)"
            ));
        }
        statements
    }

    /// Changes something; gives the statement that does the same.
    fn change(&mut self, random: &mut SeededRandom) -> String {
        let there: Vec<usize> = (0..self.nodes.len()).filter(|&id| self.nodes[id].is_some()).collect();
        let (source, target) = (there[random.index(there.len())], there[random.index(there.len())]);
        let (edge_type, label) = (random.index(TYPES.len()), random.index(LABELS.len()));
        match random.index(5) {
            0 => {
                self.edges.push((edge_type, source, target));
                let name = TYPES[edge_type];
                format!("MATCH (s:N {{id: {source}}}), (t:N {{id: {target}}}) CREATE (s)-[:{name}]->(t)")
            }
            1 => {
                self.edges.retain(|edge| *edge != (edge_type, source, target));
                let name = TYPES[edge_type];
                format!("MATCH (s:N {{id: {source}}})-[r:{name}]->(t:N {{id: {target}}}) DELETE r")
            }
            2 if there.len() > 2 => {
                self.nodes[source] = None;
                self.edges.retain(|(_, from, to)| *from != source && *to != source);
                format!("MATCH (n:N {{id: {source}}}) DETACH DELETE n")
            }
            at => {
                if let Some(labels) = &mut self.nodes[source] {
                    labels[label] = at == 3;
                }
                let word = if at == 3 { "SET" } else { "REMOVE" };
                format!("MATCH (n:N {{id: {source}}}) {word} n:{}", LABELS[label])
            }
        }
    }

    /// Number of rows of a pattern of one relationship.
    fn count(&self, near: Option<usize>, types: &[usize], direction: &str, far: Option<usize>) -> usize {
        let carries = |node: usize, label: Option<usize>| {
            label.is_none_or(|label| self.nodes[node].is_some_and(|labels| labels[label]))
        };
        let rows = |(edge_type, source, target): &(usize, usize, usize)| {
            let forth = carries(*source, near) && carries(*target, far);
            let back = carries(*target, near) && carries(*source, far);
            let is_wanted = types.is_empty() || types.contains(edge_type);
            let rows = match direction {
                "->" => usize::from(forth),
                "<-" => usize::from(back),
                _ => usize::from(forth) + usize::from(back && source != target),
            };
            if is_wanted { rows } else { 0 }
        };
        self.edges.iter().map(rows).sum()
    }
}

#[test]
fn counts_between_labels() {
    let seed = seed_or(8_117);
    for round in 0..ROUNDS {
        let mut random = SeededRandom::new(seed.wrapping_add(round));
        let mut graph = Graph::random(&mut random);
        let mut engine = if random.chance(50) { Native::new(2) } else { Native::reopening(1) };
        let run = |engine: &mut Native, text: &str| {
            let answer = engine.run(text, &Parameters::default());
            answer.unwrap_or_else(|error| panic!("FUZZ_SEED={seed}, round {round}: {text}: {error}")).rows
        };
        graph.statements().iter().for_each(|statement| drop(run(&mut engine, statement)));
        engine.settle();
        for _ in 0..CHANGES {
            for _ in 0..60 {
                let label = |random: &mut SeededRandom| Some(random.index(4)).filter(|&label| label < LABELS.len());
                let (near, far) = (label(&mut random), label(&mut random));
                let types: &[usize] = [[].as_slice(), &[0], &[1], &[0, 1]][random.index(4)];
                let (start, direction, end) = [("-", "->", "->"), ("<-", "<-", "-"), ("-", "--", "-")][random.index(3)];
                let named = |label: Option<usize>| label.map_or(String::new(), |label| format!(":{}", LABELS[label]));
                let names: Vec<&str> = types.iter().map(|&edge_type| TYPES[edge_type]).collect();
                let listed = if names.is_empty() { String::new() } else { format!(":{}", names.join("|")) };
                let text = format!("MATCH (x{}){start}[{listed}]{end}(y{}) RETURN count(*)", named(near), named(far));
                let expected = graph.count(near, types, direction, far).to_string();
                let found = run(&mut engine, &text);
                assert_eq!(found, [[expected]], "FUZZ_SEED={seed}, round {round}: {text}");
            }
            let change = graph.change(&mut random);
            run(&mut engine, &change);
        }
    }
}
