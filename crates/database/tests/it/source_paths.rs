//! Shortest paths on a database that is attached are those on its copy in the native store: searched by Cypher and by
//! algorithms, over SQLite and, where it is installed, PostgreSQL.

use std::fmt::Write;

use database::{Config, Database, Durability, Parameters};
use rusqlite::Connection;
use testing::Folder;
use testing::random::{SeededRandom, seed_or};

use crate::engine::answer_of;

const DEFINITION: &str = r#"{
  "nodes": { "Place": { "table": "place", "key": "uid", "properties": ["uid", "latitude", "longitude"] } },
  "edges": {
    "ROAD": { "table": "road", "source": "Place(a)", "target": "Place(b)", "properties": ["length"] },
    "PATH": { "table": "path", "source": "Place(a)", "target": "Place(b)" }
  },
  "prefetch": PREFETCH
}"#;

const BLOCKS: &str = r#"{ "block": { "properties": ["latitude", "longitude"], "size": 0.02 } }"#;

/// Tables of places and of ways between them, some of which lead nowhere.
fn tables(random: &mut SeededRandom) -> String {
    let count = 40 + random.index(60);
    let mut text =
        "CREATE TABLE place (uid INTEGER PRIMARY KEY, latitude DOUBLE PRECISION, longitude DOUBLE PRECISION);
        CREATE TABLE road (a INTEGER, b INTEGER, length DOUBLE PRECISION); CREATE TABLE path (a INTEGER, b INTEGER);
        CREATE INDEX road_a ON road (a); CREATE INDEX road_b ON road (b); CREATE INDEX path_a ON path (a);
        INSERT INTO road VALUES (1, 9999, 1.0), (9999, 2, 1.0), (NULL, 2, 1.0), (1, NULL, 1.0);\n"
            .to_owned();
    for uid in 0..count {
        let (x, y) = (random.index(1_000) as f64 / 1e4, random.index(1_000) as f64 / 1e4);
        writeln!(text, "INSERT INTO place VALUES ({uid}, {x:?}, {y:?});").expect("a text can be written");
    }
    for uid in 0..count {
        writeln!(text, "INSERT INTO road VALUES ({uid}, {}, 24000);", (uid + 1) % count)
            .expect("a text can be written");
    }
    for _ in 0..2 * count {
        let (a, b, length) = (random.index(count), random.index(count), 20_000 + random.index(40) * 100);
        writeln!(text, "INSERT INTO road VALUES ({a}, {b}, {length});").expect("a text can be written");
        if random.chance(40) {
            writeln!(text, "INSERT INTO path VALUES ({b}, {});", random.index(count)).expect("a text can be written");
        }
    }
    text
}

/// Questions whose answers are the same whichever of several shortest paths is found.
const QUESTIONS: &[&str] = &[
    "MATCH (a:Place {uid: 1}), (b:Place) WHERE a <> b MATCH p = shortestPath((a)-[:ROAD*]->(b)) \
     RETURN b.uid, length(p) ORDER BY b.uid",
    "MATCH (a:Place {uid: 1}), (b:Place) WHERE a <> b MATCH p = shortestPath((a)-[:ROAD|PATH*..4]-(b)) \
     RETURN b.uid, length(p) ORDER BY b.uid",
    "MATCH (a:Place), (b:Place {uid: 3}) WHERE a <> b MATCH p = shortestPath((a)<-[*]-(b)) \
     RETURN a.uid, length(p) ORDER BY a.uid",
    "MATCH (a:Place {uid: 2}), (b:Place) WHERE a <> b MATCH p = allShortestPaths((a)-[:ROAD*]->(b)) \
     WITH b.uid AS uid, [n IN nodes(p) | n.uid] AS path RETURN uid, path ORDER BY uid, path",
    "MATCH (a:Place {uid: 2}), (b:Place {uid: 7}) MATCH p = allShortestPaths((a)-[:ROAD|PATH*]-(b)) \
     WITH [n IN nodes(p) | n.uid] AS path, [r IN relationships(p) | [type(r), r.length]] AS ways \
     RETURN path, ways ORDER BY path, ways",
    "MATCH (a:Place {uid: 4}) CALL algo.bfs({sourceNode: a}) YIELD node, distance \
     RETURN node.uid AS uid, distance ORDER BY uid",
    "MATCH (a:Place {uid: 4}), (b:Place {uid: 9}) \
     CALL algo.shortest_path({sourceNode: a, targetNode: b, types: 'ROAD'}) YIELD distance RETURN distance",
    "MATCH (a:Place {uid: 4}) CALL algo.sssp({sourceNode: a, types: 'ROAD', weightProperty: 'length'}) \
     YIELD node, cost RETURN node.uid AS uid, cost ORDER BY uid",
    "MATCH (a:Place {uid: 5}), (b:Place {uid: 8}) \
     CALL algo.dijkstra({sourceNode: a, targetNode: b, types: 'ROAD', weightProperty: 'length'}) YIELD cost RETURN cost",
    "MATCH (a:Place {uid: 5}), (b:Place {uid: 8}) CALL algo.bidirectionalDijkstra({sourceNode: a, targetNode: b, \
     types: 'ROAD', weightProperty: 'length'}) YIELD cost RETURN cost",
    "MATCH (a:Place {uid: 5}), (b:Place {uid: 8}) CALL algo.astar({sourceNode: a, targetNode: b, types: 'ROAD', \
     weightProperty: 'length', latitudeProperty: 'latitude', longitudeProperty: 'longitude', heuristicScale: 1.0}) YIELD cost RETURN cost",
    "MATCH (a:Place {uid: 6}) CALL algo.allShortestPaths({sourceNode: a, types: 'ROAD', weightProperty: 'length'}) \
     YIELD path, cost WITH [n IN nodes(path) | n.uid] AS way, cost RETURN way, cost ORDER BY way",
    "MATCH (a:Place {uid: 6}), (b:Place {uid: 9}) CALL algo.yens({sourceNode: a, targetNode: b, types: 'ROAD', \
     weightProperty: 'length', k: 4}) YIELD cost, index RETURN index, cost ORDER BY index",
    "CALL algo.pagerank({types: 'ROAD'}) YIELD node, score \
     RETURN node.uid AS uid, round(score * 1000000) AS score ORDER BY uid",
    "CALL algo.wcc() YIELD node, component WITH component, node.uid AS uid ORDER BY uid \
     WITH component, collect(uid) AS members RETURN members ORDER BY members",
];

fn rows(database: &Database, text: &str) -> Vec<String> {
    let answer = answer_of(&mut database.session(), text, &Parameters::default());
    let answer = answer.unwrap_or_else(|failure| panic!("{text}: {failure}"));
    answer.rows.iter().map(|row| row.join(", ")).collect()
}

/// Asks the source, copies it, and asks the copy.
fn check(url: &str, prefetch: &str, context: &str) {
    let folder = Folder::new();
    let definition = folder.join("roads.json");
    std::fs::write(&definition, DEFINITION.replace("PREFETCH", prefetch)).expect("the folder of a test can be written");
    let config = Config { durability: Durability::Off, ..Config::default() };
    let database = Database::open(&folder.join("store.knot"), config).expect("the store of a test can be opened");
    rows(&database, &format!("ATTACH '{url}' AS roads (DEFINITION '{}')", definition.display()));
    let attached: Vec<Vec<String>> = QUESTIONS.iter().map(|text| rows(&database, text)).collect();
    assert!(attached[0].len() > 5 && attached[11].len() > 5, "{context}: the graph hangs together");
    rows(&database, "PRELOAD roads");
    rows(&database, "DETACH roads");
    for (text, expected) in QUESTIONS.iter().zip(&attached) {
        assert_eq!(&rows(&database, text), expected, "{context}: {text}");
    }
}

#[test]
fn shortest_paths_are_the_same_on_a_source_and_on_its_copy() {
    let first = seed_or(17);
    let prefetches = ["\"adaptive\"", "\"none\"", "{ \"lookahead\": 2 }", BLOCKS];
    for (seed, prefetch) in (first..).zip(prefetches) {
        let tables = tables(&mut SeededRandom::new(seed));
        let folder = Folder::new();
        let file = folder.join("roads.db");
        let connection = Connection::open(&file).expect("the folder of a test can be written");
        connection.execute_batch(&tables).expect("the tables can be made");
        check(&format!("sqlite:{}", file.display()), prefetch, &format!("SQLite, {prefetch}, seed {seed}"));
        #[cfg(feature = "postgres")]
        if let Some(server) = testing::servers::postgres() {
            let name = format!("paths_{seed}");
            let url = server.database(&name);
            server.run(&name, &tables);
            check(&url, prefetch, &format!("PostgreSQL, {prefetch}, seed {seed}"));
        }
    }
}
