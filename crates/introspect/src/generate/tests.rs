//! Counts of graphs, parts of tables, and descriptions that are refused.

use model::Value;

use super::{Distribution, GeneratedGraph, GraphKind, GraphOptions, Rows, parse_count};

const KINDS: [GraphKind; 6] = [
    GraphKind::Barabasi,
    GraphKind::Kronecker,
    GraphKind::Erdos,
    GraphKind::Ratings,
    GraphKind::Social,
    GraphKind::Lubm,
];

fn rows(table: &dyn Rows, pieces: u64) -> Vec<Vec<Value>> {
    let count = table.row_count();
    let bounds: Vec<u64> = (0..=pieces).map(|piece| count * piece / pieces).collect();
    let mut found = Vec::new();
    for pair in bounds.windows(2) {
        let columns = table.columns(pair[0]..pair[1]);
        let row = |row: u64| columns.iter().map(|column| column.value(row as usize)).collect();
        found.extend((0..pair[1] - pair[0]).map(row));
    }
    found
}

#[test]
fn counts_and_mean_degrees_are_exact() {
    let expected = [(2_000, 9_995), (2_048, 32_768), (2_000, 10_000), (2_200, 40_000), (2_000, 20_000)];
    for (kind, counts) in KINDS.into_iter().zip(expected) {
        let graph = GeneratedGraph::new(&GraphOptions::new(kind, 2_000)).expect("there is such a graph");
        assert_eq!((graph.node_count(), graph.edge_count()), counts, "{kind:?}");
        let edges: usize = graph.edges.iter().map(|table| rows(table, 1).len()).sum();
        assert_eq!(edges as u64, counts.1);
    }
}

#[test]
fn parts_are_the_parts_of_the_whole() {
    for kind in KINDS {
        let graph = GeneratedGraph::new(&GraphOptions::new(kind, 700)).expect("there is such a graph");
        for table in
            graph.nodes.iter().map(|table| table as &dyn Rows).chain(graph.edges.iter().map(|table| table as _))
        {
            assert_eq!(rows(table, 1), rows(table, 9), "{kind:?}");
        }
    }
}

#[test]
fn another_seed_gives_another_graph() {
    for kind in KINDS {
        let of_seed = |seed: u64| {
            let graph = GeneratedGraph::new(&GraphOptions { seed, ..GraphOptions::new(kind, 500) });
            let graph = graph.expect("there is such a graph");
            (rows(&graph.nodes[0], 1), graph.edges.iter().map(|table| rows(table, 1)).collect::<Vec<_>>())
        };
        assert_eq!(of_seed(1), of_seed(1));
        let (one, two) = (of_seed(1), of_seed(2));
        assert!(one.0 != two.0 && one.1 != two.1, "{kind:?}");
    }
}

/// Every edge has one type, whatever the number of types.
#[test]
fn types_share_the_edges() {
    let whole = GeneratedGraph::new(&GraphOptions::new(GraphKind::Barabasi, 101)).expect("there is such a graph");
    let ends = |table: &dyn Rows| rows(table, 1).into_iter().map(|row| row[..2].to_vec()).collect::<Vec<_>>();
    let mut all = ends(&whole.edges[0]);
    all.sort();
    for edge_types in [2, 3, 7] {
        let options = GraphOptions { edge_types, ..GraphOptions::new(GraphKind::Barabasi, 101) };
        let graph = GeneratedGraph::new(&options).expect("there is such a graph");
        let counts: Vec<u64> = graph.edges.iter().map(Rows::row_count).collect();
        assert!(counts.iter().all(|count| count.abs_diff(500 / edge_types) <= 1), "{counts:?}");
        let mut found: Vec<_> = graph.edges.iter().flat_map(|table| ends(table)).collect();
        found.sort();
        assert_eq!(found, all);
    }
}

#[test]
fn graphs_that_cannot_be_are_refused() {
    let check = |change: &dyn Fn(&mut GraphOptions), expected: &str| {
        let mut options = GraphOptions::new(GraphKind::Erdos, 100);
        change(&mut options);
        let error = GeneratedGraph::new(&options).expect_err(expected);
        assert!(error.message().contains(expected) && !error.remedy().is_empty(), "{error}");
    };
    check(&|options| options.nodes = 1, "1 nodes");
    check(&|options| options.nodes = 1 << 40, "nodes cannot be generated");
    check(&|options| options.edges_per_node = Some(0), "0 edges for each");
    check(&|options| options.edges_per_node = Some(100), "to different others");
    check(&|options| options.edge_types = 0, "0 edge types");
    check(&|options| (options.kind, options.edge_types) = (GraphKind::Lubm, 2), "types and numbers of their own");
    let rank = vec![("rank".to_owned(), Distribution::Unique)];
    check(&|options| (options.kind, options.properties) = (GraphKind::Lubm, Some(rank.clone())), "the name 'rank'");
    let id = vec![("id".to_owned(), Distribution::Unique)];
    check(&|options| options.properties = Some(id.clone()), "the name 'id'");
    check(
        &|options| {
            options.kind = GraphKind::Kronecker;
            options.initiator = [0.0; 4];
        },
        "initiator",
    );
}

#[test]
fn counts_are_read_with_their_units() {
    let of = |text: &str| parse_count(text).ok();
    assert_eq!(
        [of("12"), of("10k"), of("1M"), of("2G"), of("x"), of("")],
        [Some(12), Some(10_000), Some(1_000_000), Some(2_000_000_000), None, None]
    );
}
