//! A small social network with several labels, edge types and kinds of properties.

use model::temporal::Date;
use model::{Column, Value};

use super::{EdgeGroup, GraphData, NodeGroup};
use crate::random::SeededRandom;

const NAMES: [&str; 12] =
    ["Ada", "Bela", "Chen", "Dora", "Emil", "Fatima", "Goro", "Hana", "Ivo", "Jun", "Kofi", "Lea"];
const CITIES: [&str; 4] = ["Lisbon", "Oslo", "Pune", "Quito"];

/// `people` of label `Person` (every third also `Student`; `name` unique, `age`, `born`, some with `email`) who live in
/// four `City`s and know each other.
pub fn social(people: usize, seed: u64) -> GraphData {
    let mut random = SeededRandom::new(seed);
    let (mut nodes, mut numbers) = (Vec::new(), Vec::new());
    let mut next = 0;
    for (labels, remainders) in [(&["Person", "Student"][..], [0, 0]), (&["Person"][..], [1, 2])] {
        let members: Vec<usize> = (0..people).filter(|person| remainders.contains(&(person % 3))).collect();
        numbers.extend(members.iter().map(|_| next_number(&mut next)));
        nodes.push(people_group(labels, &members, &mut random));
    }
    let first_city = next;
    let city_names: Vec<Value> = CITIES.iter().map(|name| Value::string(name)).collect();
    nodes.push(NodeGroup {
        count: CITIES.len(),
        labels: vec!["City".to_owned()],
        properties: vec![("name".to_owned(), Column::from_values(&city_names))],
    });
    let mut edges = Vec::new();
    if people > 0 {
        edges.push(acquaintances(&numbers, &mut random));
        let homes = numbers.iter().map(|_| first_city + random.below(CITIES.len() as u64)).collect();
        edges.push(EdgeGroup {
            edge_type: "LIVES_IN".to_owned(),
            sources: numbers,
            targets: homes,
            properties: Vec::new(),
        });
    }
    GraphData { nodes, edges }
}

fn next_number(next: &mut u64) -> u64 {
    *next += 1;
    *next - 1
}

fn people_group(labels: &[&str], members: &[usize], random: &mut SeededRandom) -> NodeGroup {
    let column = |value: &mut dyn FnMut(usize) -> Value| {
        let values: Vec<Value> = members.iter().map(|&person| value(person)).collect();
        Column::from_values(&values)
    };
    let name = |person: usize| format!("{}{}", NAMES[person % NAMES.len()], person / NAMES.len());
    let properties = vec![
        ("name".to_owned(), column(&mut |person| Value::from(name(person)))),
        ("age".to_owned(), column(&mut |_| Value::Int(18 + random.below(60) as i64))),
        ("born".to_owned(), column(&mut |person| Value::Date(Date(5_000 + person as i64 * 37)))),
        (
            "email".to_owned(),
            column(&mut |person| match person % 4 {
                0 => Value::Null,
                _ => Value::from(format!("{}@example.org", name(person).to_lowercase())),
            }),
        ),
    ];
    NodeGroup { count: members.len(), labels: labels.iter().map(|&label| label.to_owned()).collect(), properties }
}

/// Four `KNOWS` for each person, with `since` and, for some, `strength`.
fn acquaintances(numbers: &[u64], random: &mut SeededRandom) -> EdgeGroup {
    let sources: Vec<u64> = numbers.iter().flat_map(|&person| [person; 4]).collect();
    let targets: Vec<u64> = sources.iter().map(|_| *random.pick(numbers)).collect();
    let since: Vec<Value> = sources.iter().map(|_| Value::Int(2000 + random.below(25) as i64)).collect();
    let strength = |random: &mut SeededRandom| {
        if random.chance(50) { Value::Float(random.unit()) } else { Value::Null }
    };
    let strength: Vec<Value> = sources.iter().map(|_| strength(random)).collect();
    let properties = vec![
        ("since".to_owned(), Column::from_values(&since)),
        ("strength".to_owned(), Column::from_values(&strength)),
    ];
    EdgeGroup { edge_type: "KNOWS".to_owned(), sources, targets, properties }
}
