//! Statements of benchmarks, for graphs that have their labels and types.
//!
//! After: Guo, Pan, Heflin, "LUBM: A benchmark for OWL knowledge base systems", 2005 (its graph; the statements are by type
//! of node, of edge, and of both); Mhedhbi et al., "LSQB: a large-scale subgraph query benchmark", 2021; the three
//! traversals of a recommendation with which Titan was presented.

use super::Statement;

/// Statements on a graph: those of the labels and types that it needs.
struct Benchmark {
    labels: &'static [&'static str],
    types: &'static [&'static str],
    /// The label whose unique key is `$key`, where there is such a parameter.
    key_label: Option<&'static str>,
    statements: &'static [(&'static str, &'static str)],
}

const LUBM: Benchmark = Benchmark {
    labels: &["UndergraduateStudent", "Department", "Professor"],
    types: &["teacherOf", "takesCourse", "worksFor", "memberOf"],
    key_label: None,
    statements: &[
        ("LUBM 1", "MATCH (:UndergraduateStudent)-->(:Department) RETURN count(*)"),
        ("LUBM 2", "MATCH (a)-[:teacherOf]->(b)<-[:takesCourse]-(c) RETURN count(*)"),
        (
            "LUBM 3",
            "MATCH (:Professor)-[:worksFor]->(:Department)<-[:memberOf]-(:UndergraduateStudent) RETURN count(*)",
        ),
    ],
};

/// The type of ratings stands as `RATED`.
const TITAN: [(&str, &str); 3] = [
    (
        "Titan 1",
        "MATCH (u:User {id: $key})-[r:RATED]->(p:Product) WHERE r.score = 5 RETURN p.id ORDER BY r.time DESC LIMIT 10",
    ),
    (
        "Titan 2",
        "MATCH (u:User {id: $key})-[r:RATED]->(p:Product)<-[s:RATED]-(v:User) \
         WHERE r.score = 5 AND s.score = 5 AND v.id <> $key RETURN count(DISTINCT v)",
    ),
    (
        "Titan 3",
        "MATCH (u:User {id: $key})-[r:RATED]->(p:Product)<-[s:RATED]-(v:User) \
         WHERE r.score = 5 AND s.score = 5 AND v.id <> $key WITH DISTINCT u, v ORDER BY v.id LIMIT 200 \
         MATCH (v)-[t:RATED]->(q:Product) WHERE t.score = 5 AND NOT EXISTS { MATCH (u)-[:RATED]->(q) } \
         RETURN q.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 10",
    ),
];

/// Types of ratings, of which the first that is there is taken.
const RATINGS: [&str; 2] = ["RATED", "REVIEWED"];

const SOCIAL: Benchmark = Benchmark {
    labels: &["Person"],
    types: &["KNOWS"],
    key_label: Some("Person"),
    statements: &[
        (
            "friends in the same city",
            "MATCH (p:Person {id: $key})-[:KNOWS]-(f:Person) WHERE f.city = p.city RETURN f.id",
        ),
        (
            "friends of friends",
            "MATCH (p:Person {id: $key})-[:KNOWS]-(:Person)-[:KNOWS]-(f:Person) \
             WHERE f <> p AND NOT EXISTS { (p)-[:KNOWS]-(f) } \
             RETURN f.id AS id, count(*) AS n ORDER BY n DESC, id LIMIT 10",
        ),
        (
            "cities of friends",
            "MATCH (p:Person {id: $key})-[:KNOWS]-(:Person)-[:KNOWS]-(f:Person) \
             RETURN f.city AS city, count(DISTINCT f) AS n, avg(f.age) AS age ORDER BY n DESC, city",
        ),
    ],
};

/// The nine of LSQB, as the development benchmarks have them.
const LSQB: &str = include_str!("../../../../../benchmarks/lsqb.cypher");
const LSQB_NAMES: [&str; 9] =
    ["LSQB 1", "LSQB 2", "LSQB 3", "LSQB 4", "LSQB 5", "LSQB 6", "LSQB 7", "LSQB 8", "LSQB 9"];
const LSQB_LABELS: [&str; 9] = ["Country", "City", "Person", "Forum", "Post", "Comment", "Message", "Tag", "TagClass"];
const LSQB_TYPES: [&str; 11] = [
    "IS_PART_OF", "IS_LOCATED_IN", "HAS_MEMBER", "CONTAINER_OF", "REPLY_OF", "HAS_TAG", "HAS_TYPE", "HAS_CREATOR",
    "KNOWS", "LIKES", "HAS_INTEREST",
];

/// Names that programs may have among their operations.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let listed = LUBM.statements.iter().chain(&TITAN).chain(SOCIAL.statements);
    listed.map(|(name, _)| *name).chain(LSQB_NAMES)
}

/// Names of a graph, by which statements are chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    pub(crate) labels: Vec<String>,
    pub(crate) types: Vec<String>,
    pub(crate) properties: Vec<String>,
    /// Label and property of the unique key of starts.
    pub(crate) key: Option<(String, String)>,
}

impl Schema {
    fn has(&self, labels: &[&str], types: &[&str]) -> bool {
        let holds = |names: &[String], wanted: &[&str]| wanted.iter().all(|name| names.iter().any(|held| held == name));
        holds(&self.labels, labels) && holds(&self.types, types)
    }

    fn has_key(&self, label: &str) -> bool {
        self.key.as_ref().is_some_and(|(of, key)| of == label && key == "id")
    }

    fn has_properties(&self, names: &[&str]) -> bool {
        names.iter().all(|name| self.properties.iter().any(|held| held == name))
    }
}

fn of_list(statements: &[(&str, &str)], change: impl Fn(&str) -> String) -> Vec<Statement> {
    // They are tested to read only.
    statements.iter().filter_map(|(name, text)| Statement::new(name, &change(text)).ok()).collect()
}

/// The statements for a graph.
pub(crate) fn built_in(schema: &Schema) -> Vec<Statement> {
    let mut found = Vec::new();
    for benchmark in [&LUBM, &SOCIAL] {
        let has_key =
            benchmark.key_label.is_none_or(|label| schema.has_key(label) && schema.has_properties(&["city", "age"]));
        if has_key && schema.has(benchmark.labels, benchmark.types) {
            found.extend(of_list(benchmark.statements, str::to_owned));
        }
    }
    let rated = RATINGS.iter().find(|name| schema.has(&["User", "Product"], &[name]));
    if let Some(rated) = rated.filter(|_| schema.has_key("User") && schema.has_properties(&["score", "time"])) {
        found.extend(of_list(&TITAN, |text| text.replace("RATED", rated)));
    }
    if schema.has(&LSQB_LABELS, &LSQB_TYPES) {
        let texts = database::split_statements(LSQB);
        let named: Vec<(&str, &str)> = LSQB_NAMES.into_iter().zip(texts).collect();
        found.extend(of_list(&named, str::to_owned));
    }
    found
}
