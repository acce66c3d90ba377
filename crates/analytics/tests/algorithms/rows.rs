//! Rows streamed from stores of different kinds, whole and in parts, are the rows in memory.

use analytics::{Execution, Graph, Projection, RowBlock, Rows, Selection, Side, Sides, Weight};
use model::column::Bitmap;
use model::store::Direction;
use model::{GraphStore, Interrupt, LabelId, ReadView};
use testing::ReferenceStore;
use testing::graphs::{GraphData, Kronecker, kronecker};
use testing::random::{SeededRandom, seed_or};

/// For each node its neighbors with their weights, sorted.
type Table = Vec<Vec<(u32, u64)>>;

fn add(table: &mut Table, block: RowBlock<'_>) {
    for row in 0..block.len() {
        let weights = block.weights(row);
        let neighbors = block.neighbors(row).iter().enumerate();
        let entries = neighbors.map(|(at, &neighbor)| (neighbor, weights.get(at).map_or(0, |weight| weight.to_bits())));
        table[block.first as usize + row].extend(entries);
    }
}

fn sorted(mut table: Table, among: Option<&Bitmap>) -> Table {
    for (node, row) in table.iter_mut().enumerate() {
        row.sort_unstable();
        if among.is_some_and(|among| !among.get(node)) {
            row.clear();
        }
    }
    table
}

fn whole(rows: &dyn Rows, side: Side, among: Option<&Bitmap>, pieces: usize) -> Table {
    let mut table = vec![Vec::new(); rows.node_count()];
    let ranges = rows.pieces(side, pieces);
    assert_eq!(ranges.iter().cloned().flatten().collect::<Vec<_>>(), (0..rows.node_count()).collect::<Vec<_>>());
    for range in ranges {
        let mut next = range.start;
        rows.scan(side, range.clone(), among, &mut |block| {
            let first = block.first as usize;
            assert!(first >= next && (among.is_some() || first == next), "rows come in order, none is left out");
            next = first + block.len();
            assert!(next <= range.end);
            add(&mut table, block);
            Ok(())
        })
        .expect("the store of the test works");
        assert!(among.is_some() || next == range.end);
    }
    sorted(table, among)
}

fn in_parts(rows: &dyn Rows, side: Side, among: Option<&Bitmap>) -> Table {
    let mut table = vec![Vec::new(); rows.node_count()];
    for part in 0..rows.part_count(side) {
        let neighbors = rows.part_neighbors(side, part);
        rows.scan_part(side, part, among, &mut |block| {
            assert!(block.neighbors.iter().all(|&neighbor| neighbors.contains(&(neighbor as usize))));
            add(&mut table, block);
            Ok(())
        })
        .expect("the store of the test works");
    }
    sorted(table, among)
}

/// Compares all ways of reading a selection.
fn check(view: &dyn ReadView, projection: &Projection, weight: Option<&Weight>, random: &mut SeededRandom, name: &str) {
    let interrupt = Interrupt::new();
    for threads in [1, 2] {
        let selection = Selection { view, projection, weight, sides: Sides::ForwardAndBackward };
        let [memory, streamed] = [Execution::Memory, Execution::Streaming]
            .map(|way| Graph::open(selection, way, threads, &interrupt).expect("the store of the test works"));
        let nodes = memory.node_count();
        assert_eq!(streamed.node_count(), nodes);
        let share = random.index(4) as u32 + 1;
        let some: Bitmap = (0..nodes).map(|_| random.below(u64::from(share * share)) == 0).collect();
        for side in [Side::Forward, Side::Backward] {
            for among in [None, Some(&some), Some(&Bitmap::filled(nodes, false))] {
                let expected = whole(memory.rows(), side, among, 3);
                for pieces in [1, 7] {
                    assert_eq!(whole(streamed.rows(), side, among, pieces), expected, "{name}, {side:?}");
                }
                assert_eq!(in_parts(memory.rows(), side, among), expected, "{name}, {side:?}, parts in memory");
                assert_eq!(in_parts(streamed.rows(), side, among), expected, "{name}, {side:?}, parts");
            }
        }
        let degrees: Vec<u32> = memory.forward_degrees(threads, &interrupt).expect("the store of the test works");
        assert_eq!(
            streamed.forward_degrees(threads, &interrupt).expect("the store of the test works"),
            degrees,
            "{name}"
        );
    }
}

#[test]
fn streamed_rows_are_those_in_memory() {
    let seed = seed_or(5);
    let mut random = SeededRandom::new(seed);
    let mut graph: GraphData = kronecker(&Kronecker { scale: 8, seed, ..Kronecker::default() });
    // Another type of edges, and nodes of another label between the others.
    let mut second = graph.edges[0].clone();
    second.edge_type = "OTHER".to_owned();
    std::mem::swap(&mut second.sources, &mut second.targets);
    graph.edges.push(second);
    graph.nodes.push(testing::graphs::NodeGroup {
        count: 40,
        labels: vec!["Other".to_owned()],
        properties: Vec::new(),
    });
    graph.edges[1].sources.iter_mut().step_by(3).for_each(|node| *node += 40);
    for (kind, store) in [
        ("dense", ReferenceStore::new()),
        ("small batches", ReferenceStore::with_batch_rows(3)),
        ("foreign", ReferenceStore::foreign(7)),
    ] {
        graph.load_into(&store).expect("the store of the test works");
        let view = store.read().expect("the store of the test works");
        let schema = view.schema();
        let weight = Weight { key: schema.property_key("weight"), name: "weight".into(), default: None };
        let labels: Vec<Vec<LabelId>> = (0..2).map(|label| vec![LabelId(label)]).collect();
        for direction in [Direction::Out, Direction::In, Direction::Both] {
            for types in [None, Some(vec![schema.edge_type("OTHER").expect("the store of the test works")])] {
                for labels in [None, labels.first().cloned(), labels.last().cloned()] {
                    let projection = Projection { labels, types: types.clone(), direction };
                    for weight in [None, Some(&weight)] {
                        let name = format!("{kind} store, {projection:?}, FUZZ_SEED={seed}");
                        check(&*view, &projection, weight, &mut random, &name);
                    }
                }
            }
        }
    }
}
