//! Repeated parts of paths, path modes and selectors, worked out by hand.

use exec::{QueryMemory, SpillSpace};
use model::{Map, MemoryBudget};

use super::{answer, check, check_error, run_with, variants};

/// As in `paths`: a chain 1→2→3→4 with a shortcut 1→3, a way back 4→1, a loop at 2, and 3→4 twice.
const GRAPH: &str = "CREATE (a:N {id: 1}), (b:N:Two {id: 2}), (c:N {id: 3}), (d:N {id: 4}),
    (a)-[:E {w: 1}]->(b), (b)-[:E {w: 2}]->(c), (c)-[:E {w: 3}]->(d), (c)-[:E {w: 4}]->(d), (a)-[:E {w: 5}]->(c),
    (d)-[:E {w: 6}]->(a), (b)-[:E {w: 7}]->(b);\n";

fn check_graph(query: &str, expected: &[&str]) {
    check(&format!("{GRAPH}{query}"), expected);
}

fn check_wrong(query: &str, code: &str) {
    check_error(&format!("{GRAPH}{query}"), code);
}

#[test]
fn a_relationship_repeats() {
    check_graph(
        "MATCH (a {id: 1})-[r:E]->{2}(b) RETURN [x IN r | x.w], b.id",
        &["[1, 2], 3", "[1, 7], 2", "[5, 3], 4", "[5, 4], 4"],
    );
    check_graph("MATCH (a {id: 1})-[r]->*(b) WHERE size(r) < 2 RETURN size(r), b.id", &["0, 1", "1, 2", "1, 3"]);
    check_graph("MATCH (a {id: 1})-[r WHERE r.w < 3]->+(b) RETURN [x IN r | x.w]", &["[1]", "[1, 2]"]);
    check_graph("MATCH (a {id: 4})<-[r*1..2 WHERE r.w > 3]-(b) RETURN [x IN r | x.w]", &["[4]", "[4, 5]"]);
    check_graph("MATCH p = (a {id: 1})-->{3}(b) RETURN length(p), count(*)", &["3, 5"]);
}

#[test]
fn a_group_of_one_relationship_repeats() {
    check_graph(
        "MATCH (s {id: 1}) ((a)-[r]->(b) WHERE a.id < b.id){1,3} (t) \
         RETURN [x IN a | x.id], [x IN r | x.w], [x IN b | x.id], t.id",
        &[
            "[1], [1], [2], 2", "[1], [5], [3], 3", "[1, 2], [1, 2], [2, 3], 3", "[1, 3], [5, 3], [3, 4], 4",
            "[1, 3], [5, 4], [3, 4], 4", "[1, 2, 3], [1, 2, 3], [2, 3, 4], 4", "[1, 2, 3], [1, 2, 4], [2, 3, 4], 4",
        ],
    );
    // From the other end the condition still sees the nodes as they are written.
    check_graph(
        "MATCH (t {id: 4}) MATCH (s) ((a)-[r]->(b:N WHERE b.id > 2) WHERE a.id < b.id){2} (t) RETURN s.id, [x IN a | x.id], [x IN r | x.w]",
        &["1, [1, 3], [5, 3]", "1, [1, 3], [5, 4]", "2, [2, 3], [2, 3]", "2, [2, 3], [2, 4]"],
    );
    check_graph(
        "MATCH (s {id: 3}) ((a)-[r]->(b)){0,1} (t) RETURN a = [], size(b), t.id",
        &["true, 0, 3", "false, 1, 4", "false, 1, 4"],
    );
    check_graph("MATCH ((:Two)-[r]->(:Two))+ RETURN [x IN r | x.w]", &["[7]"]);
    check_graph("MATCH (s {id: 2}) ((a)-->(a))+ (t) RETURN size(a), t.id", &["1, 2"]);
    check_graph(
        "MATCH (s {id: 1}) ((a)-[r]->(b) WHERE r.w = 5)+ ((c)-[q]->(d))+ (t {id: 4}) RETURN [x IN r + q | x.w]",
        &[
            "[5, 3]", "[5, 4]", "[5, 3, 6, 1, 2, 4]", "[5, 4, 6, 1, 2, 3]", "[5, 3, 6, 1, 7, 2, 4]",
            "[5, 4, 6, 1, 7, 2, 3]",
        ],
    );
    check_graph(
        "MATCH (n:Two) WITH n, 3 AS most MATCH (n) ((a)-[r]->(b) WHERE b.id <= most)+ (t) RETURN [x IN r | x.w]",
        &["[7]", "[2]", "[7, 2]"],
    );
}

#[test]
fn modes() {
    check_graph("MATCH WALK (a {id: 2})-->{1,3}(b {id: 2}) RETURN count(*)", &["3"]);
    check_graph("MATCH REPEATABLE ELEMENTS p = (a {id: 2})-->(b)-->(c {id: 2}) RETURN length(p)", &["2"]);
    check_graph("MATCH (a {id: 2})-->(b)-->(c {id: 2}) RETURN count(*)", &["0"]);
    check_graph("MATCH DIFFERENT RELATIONSHIPS (a {id: 2})-->(b)-->(c {id: 2}) RETURN count(*)", &["0"]);
    check_graph(
        "MATCH p = ACYCLIC (a {id: 2})-->*(b) RETURN [n IN nodes(p) | n.id]",
        &["[2]", "[2, 3]", "[2, 3, 4]", "[2, 3, 4]", "[2, 3, 4, 1]", "[2, 3, 4, 1]"],
    );
    check_graph(
        "MATCH p = SIMPLE (a {id: 3})-->+(a) RETURN [r IN relationships(p) | r.w]",
        &["[3, 6, 5]", "[4, 6, 5]", "[3, 6, 1, 2]", "[4, 6, 1, 2]"],
    );
    check_graph("MATCH TRAIL (a {id: 2})-[r]->{2}(b) RETURN [x IN r | x.w]", &["[2, 3]", "[2, 4]", "[7, 2]"]);
    check_wrong("MATCH WALK (a)-->+(b) RETURN a", "SEMANTIC");
    check_wrong("MATCH REPEATABLE ELEMENTS (a)-[*]->(b) RETURN a", "SEMANTIC");
}

#[test]
fn names_inside_are_new() {
    check_wrong("MATCH (a) ((a)-->(b))+ (c) RETURN a", "SEMANTIC");
    check_wrong("MATCH (s) ((a)-->(b) WHERE a.id = s.id)+ (c) RETURN a", "SEMANTIC");
    check_wrong("MATCH ((a)-->(b))+ ((a)-->(c))+ RETURN a", "SEMANTIC");
    check_wrong("CREATE ((a)-[:E]->(b)){2}", "SEMANTIC");
    check_wrong("CREATE (a)-[:E]->{2}(b)", "SEMANTIC");
    check_wrong("MERGE ACYCLIC (a)-[:E]->(b)", "SEMANTIC");
}

#[test]
fn shortest_paths_from_one_node() {
    let ends = "RETURN b.id, [x IN r | x.w]";
    check_graph(
        &format!("MATCH ALL SHORTEST (a {{id: 1}})-[r]->+(b) {ends}"),
        &["2, [1]", "3, [5]", "4, [5, 3]", "4, [5, 4]", "1, [5, 3, 6]", "1, [5, 4, 6]"],
    );
    check_graph(
        "MATCH ANY (a {id: 2})-[r]->*(b) RETURN b.id, size(r), r[0].w",
        &["2, 0, null", "3, 1, 2", "4, 2, 2", "1, 3, 2"],
    );
    check_graph(
        &format!("MATCH ALL SHORTEST (b)-[r]->{{,2}}(a {{id: 4}}) {ends}"),
        &["4, []", "3, [3]", "3, [4]", "1, [5, 3]", "1, [5, 4]", "2, [2, 3]", "2, [2, 4]"],
    );
    check_graph("MATCH ALL SHORTEST (a {id: 3})-[r]-+(b) RETURN b.id, count(*)", &["1, 1", "2, 1", "3, 2", "4, 2"]);
    check_graph(
        "MATCH ANY SHORTEST (a {id: 1}) ((x)-[r]->(y) WHERE x.id < y.id)+ (b) RETURN b.id, [n IN x | n.id]",
        &["2, [1]", "3, [1]", "4, [1, 3]"],
    );
    check_graph("MATCH SHORTEST 1 (a {id: 1})-[:E]->+(b) RETURN count(*)", &["4"]);
}

/// A search that needs more than a little holds no more than it may, and says so; what it held is given back.
#[test]
fn searches_keep_to_their_memory() {
    let graph = "UNWIND range(0, 199) AS i CREATE (:N {id: i});\n\
        MATCH (a:N), (b:N) WHERE b.id % 20 IN [(a.id + 1) % 20, a.id * 3 % 20] CREATE (a)-[:E]->(b);\n";
    let ends = "MATCH (a:N {id: 0}), (b:N {id: 43})";
    let many = "MATCH (a:N {id: 0})-[*..3]->(b) RETURN count(*)";
    let cases = [
        format!("{ends} MATCH p = shortestPath((a)-[*]->(b)) RETURN length(p)"),
        format!("{ends} MATCH p = allShortestPaths((a)-[*]->(b)) RETURN length(p)"),
        "MATCH (a:N {id: 0})-[*1..4]->(b) RETURN count(DISTINCT b)".to_string(),
        "MATCH ANY (a:N {id: 0})-->+(b) RETURN count(b)".to_string(),
        format!("{ends} MATCH p = SHORTEST 3 (a)-->+(b) RETURN length(p)"),
        many.to_string(),
        "MATCH (a:N {id: 0}) ((x)-->(y)-->(z)){1} (b) RETURN count(*)".to_string(),
    ];
    for (store, settings) in variants() {
        answer(&store, graph, &Map::default(), settings).expect("the graph can be made");
        for query in &cases {
            let run = |limit: usize| {
                let memory = QueryMemory::new(MemoryBudget::unlimited(), Some(limit), SpillSpace::none());
                let outcome = run_with(&store, query, &Map::default(), settings, &memory);
                assert_eq!(memory.used(), 0, "{query}");
                outcome.map(|(rows, _)| rows)
            };
            let outcome = run(100);
            assert!(outcome.is_ok() || outcome.is_err_and(|error| error.code().name() == "LIMIT"), "{query}");
            assert!(run(4 << 20).is_ok_and(|rows| !rows.is_empty()), "{query}");
            // A batch of full size holds the paths of a level, small ones a few.
            assert!(query != many || settings.batch_rows < 100 || run(100).is_err());
        }
    }
}
