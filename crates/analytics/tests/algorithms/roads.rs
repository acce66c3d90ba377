//! A* on grids of streets: with every kind of cost it finds what a search without an estimate finds.

use analytics::Projection;
use analytics::algorithms::{astar, dijkstra};
use analytics::{GraphView, SearchContext, Sides, Weight};
use model::store::Direction;
use model::{Column, ColumnData, GraphStore, Interrupt, Value};
use testing::ReferenceStore;
use testing::graphs::grid;
use testing::random::{SeededRandom, seed_or};

use crate::call::{call, number};

#[test]
fn astar_finds_what_dijkstra_finds() {
    let seed = seed_or(5);
    let mut random = SeededRandom::new(seed);
    for (width, height) in [(1, 1), (2, 1), (5, 5), (30, 20)] {
        for store in [ReferenceStore::new(), ReferenceStore::with_batch_rows(3), ReferenceStore::foreign(11)] {
            let ids = grid(width, height, seed).load_into(&store).unwrap();
            let view = store.read().unwrap();
            let key = view.schema().property_key("distance");
            let weight = key.map(|key| Weight { key: Some(key), name: "distance".into(), default: None });
            for _ in 0..8 {
                let ends = [*random.pick(&ids), *random.pick(&ids)];
                for weight in [None, weight.clone()] {
                    let config = astar::Config {
                        source: ends[0],
                        target: ends[1],
                        weight: weight.clone(),
                        heuristic_scale: 1.0,
                        latitude: "latitude".to_owned(),
                        longitude: "longitude".to_owned(),
                        expanded_max: u64::MAX,
                    };
                    let projection = Projection::all(Direction::Out);
                    let result =
                        astar::run(&*view, &projection, &config, SearchContext::unaccounted(&Interrupt::new()))
                            .unwrap();
                    astar::verify(&*view, &projection, &config, &result, &Interrupt::new())
                        .unwrap_or_else(|error| panic!("{width} by {height}, FUZZ_SEED={seed}, {ends:?}: {error}"));
                    let Some(weight) = weight else { continue };
                    let rows =
                        GraphView::build(&*view, &projection, Some(&weight), Sides::Forward, 1, &Interrupt::new());
                    let blind = dijkstra::Config {
                        source: ends[0],
                        target: ends[1],
                        weight: Some(weight),
                        expanded_max: u64::MAX,
                    };
                    dijkstra::verify(&rows.unwrap(), &blind, &result, &Interrupt::new()).unwrap();
                    let all = dijkstra::run(&*view, &projection, &blind, SearchContext::unaccounted(&Interrupt::new()))
                        .unwrap();
                    assert!(result.expanded <= all.expanded, "the estimate saves expansions, FUZZ_SEED={seed}");
                }
            }
        }
    }
}

/// With latitudes that make the estimate admissible but not consistent a node must be expanded twice: the estimate
/// lures the search over the costly way to it first.
#[test]
fn an_inconsistent_estimate_still_gives_the_cheapest_path() {
    let degrees = |km: f64| km / (6371.0 * 1_f64.to_radians());
    // Distances to the target in km: the estimates. Node 1 looks far away, but is on the cheapest path.
    let estimates = [9.0, 10.0, 1.0, 0.0, 0.0];
    let edges = [(0, 1, 1.0), (0, 2, 4.0), (1, 2, 1.0), (2, 3, 9.0), (3, 4, 3.0)];
    let mut graph = testing::graphs::GraphData::plain("Place", 5, "ROAD", &edges.map(|(a, b, _)| (a, b)));
    let column = |rows: Vec<f64>| Column::new(ColumnData::Float(rows));
    graph.nodes[0].properties = vec![
        ("latitude".to_owned(), column(estimates.iter().map(|&km| degrees(km)).collect())),
        ("longitude".to_owned(), column(vec![0.0; 5])),
    ];
    graph.edges[0].properties = vec![("length".to_owned(), column(edges.iter().map(|edge| edge.2).collect()))];
    let store = ReferenceStore::new();
    let ids = graph.load_into(&store).unwrap();
    let settings = [
        ("source", Value::Node(ids[0])),
        ("target", Value::Node(ids[4])),
        ("weightProperty", Value::string("length")),
        ("heuristicScale", Value::Int(1)),
    ];
    let rows = call(&store, "algo.astar", &settings, 1).unwrap();
    assert_eq!(number(&rows[0][1]), 14.0);
    let Value::Path(path) = &rows[0][0] else { panic!("expected a path") };
    assert_eq!(path.nodes, [ids[0], ids[1], ids[2], ids[3], ids[4]]);
    assert_eq!(rows[0][2], Value::Int(5), "node 2 is expanded twice, the target never");
}

#[test]
fn an_astar_call_yields_a_path_with_its_edges() {
    let store = ReferenceStore::new();
    let ids = grid(4, 4, 1).load_into(&store).unwrap();
    let settings = [("sourceNode", Value::Node(ids[0])), ("targetNode", Value::Node(ids[15]))];
    let rows = call(&store, "gds.shortestPath.astar.stream", &settings, 2).unwrap();
    let [row] = &rows[..] else { panic!("expected one row, found {rows:?}") };
    let Value::Path(path) = &row[0] else { panic!("expected a path, found {:?}", row[0]) };
    assert_eq!((path.nodes.len(), path.edges.len()), (7, 6));
    assert!((number(&row[1]) - 6.0 * 11.12).abs() < 0.1, "six steps of a tenth of a degree, found {:?}", row[1]);
}
