//! Edges in arrays: the same edges as the graph has, each way, however the store reads them.

use std::sync::Arc;

use analytics::EdgePasses;
use model::column::Bitmap;
use model::procedure::Unaccounted;
use model::value::Value;
use model::{GraphStore, Interrupt};

use crate::generated::{DIRECTIONS, on_all_graphs, turned};

fn settings(pairs: &[(&str, Value)]) -> Value {
    Value::map(pairs.iter().map(|(name, value)| (Arc::from(*name), value.clone())))
}

#[test]
fn passes_give_the_edges_of_the_graph() {
    on_all_graphs(|name, naive, store, ids, random| {
        let view = store.read().unwrap();
        let has_weights = view.schema().property_key("weight").is_some();
        for (word, direction) in DIRECTIONS {
            let mut given = vec![("direction", Value::string(word))];
            if has_weights {
                given.push(("properties", Value::string("weight")));
            }
            let (interrupt, given) = (Interrupt::new(), settings(&given));
            let passes = EdgePasses::open(&*view, &given, &interrupt, &Unaccounted).unwrap();
            let numbers: Vec<u32> = {
                let nodes: Vec<_> = passes.nodes().collect();
                ids.iter().map(|id| nodes.binary_search(id).unwrap() as u32).collect()
            };
            let graph = turned(naive, direction);
            let mut expected: Vec<(u32, u32)> =
                graph.edges.iter().map(|&(source, target, _)| (numbers[source], numbers[target])).collect();
            expected.sort_unstable();
            let among: Bitmap = (0..passes.node_count()).map(|_| random.index(3) == 0).collect();
            for chosen in [None, Some(&among)] {
                let mut found = Vec::new();
                passes
                    .pass(chosen, &mut |edges| {
                        assert!(edges.properties.iter().all(|column| column.len() == edges.sources.len()));
                        found.extend(edges.sources.iter().copied().zip(edges.targets.iter().copied()));
                        Ok(true)
                    })
                    .unwrap();
                found.sort_unstable();
                let wanted = |edge: &&(u32, u32)| chosen.is_none_or(|among| among.get(edge.0 as usize));
                let expected: Vec<_> = expected.iter().filter(wanted).copied().collect();
                assert_eq!(found, expected, "{name}, {word}, {}", chosen.is_some());
            }
            let mut degrees = vec![0; passes.node_count()];
            expected.iter().for_each(|edge| degrees[edge.0 as usize] += 1);
            assert_eq!(passes.degrees().unwrap(), degrees, "{name}, {word}");
        }
    });
}
