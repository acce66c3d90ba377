//! Programs of users: the same states in memory and in files, in any memory, with any number of threads.

use std::sync::Arc;

use analytics::program::{
    Context, Edge, EdgeProgram, Node, VertexProgram, edge_program_sides, run_edge_program, run_vertex_program,
};
use analytics::{Execution, Graph, GraphView, Projection, Selection, Sides, Weight};
use model::store::Direction;
use model::{ErrorCode, GraphStore, Interrupt};
use testing::ReferenceStore;
use testing::graphs::{Kronecker, kronecker};

use crate::generated::{DIRECTIONS, assert_close, on_all_graphs, turned, view_of};
use testing::workspace::Limited;

/// Counts over how many edges something comes, weighted by how often it was sent: an edge's value grows by one with each
/// iteration, or by a million if it is sent over backwards. The state is wide, so that few fit.
struct Counting {
    iterations: u64,
}

impl VertexProgram for Counting {
    type State = [u64; 8];
    type Value = u64;
    type Gathered = u64;
    type Total = u64;

    const BOTH_WAYS: bool = true;
    const USES_VALUES: bool = true;

    fn start(&self, node: Node, total: &mut u64) -> [u64; 8] {
        *total += u64::from(node.degree);
        let mut state = [0; 8];
        state[7] = u64::from(node.number);
        state
    }

    fn should_iterate(&mut self, iteration: u64, _changed: u64, total: &u64) -> bool {
        assert!(iteration == 0 || *total < 1 << 60, "the total of an iteration is that of its nodes");
        iteration < self.iterations
    }

    fn scatter(&self, node: Node, state: &[u64; 8], edge: Edge, before: u64) -> u64 {
        assert_eq!(state[7], u64::from(node.number), "a node sends with its own state");
        before + if edge.is_reversed { 1_000_000 } else { 1 }
    }

    fn gather(&self, sum: &mut u64, value: u64) {
        *sum += value;
    }

    fn apply(&self, node: Node, state: &mut [u64; 8], sum: &mut u64, total: &mut u64) -> bool {
        assert_eq!(state[7], u64::from(node.number), "a node is updated with its own state");
        state[0] = *sum;
        *total += 1;
        true
    }
}

#[test]
fn values_stay_on_edges() {
    on_all_graphs(|name, graph, store, ids, _| {
        for (word, direction) in DIRECTIONS {
            let graph = turned(graph, direction);
            let mut expected = vec![0; graph.node_count];
            for &(source, target, _) in &graph.edges {
                expected[target] += 3;
                if direction != Direction::Both {
                    expected[source] += 3_000_000;
                }
            }
            let view = view_of(store, direction, false, Sides::Forward);
            let (graph, interrupt) = (Graph::in_memory(Arc::new(view)), Interrupt::new());
            let workspace = Limited::new(1 << 30, 1 << 30);
            for execution in Execution::ALL {
                let context = Context { threads: 2, interrupt: &interrupt, workspace: &workspace, execution };
                let states = run_vertex_program(&mut Counting { iterations: 3 }, &graph, &context).unwrap();
                let states = states.to_vec().unwrap();
                let found: Vec<u64> = ids.iter().map(|&id| states[graph.index(id).unwrap() as usize][0]).collect();
                assert_eq!(found, expected, "{name}, {word}, {execution:?}");
            }
            workspace.assert_all_given_back(name);
        }
    });
}

#[test]
fn states_do_not_depend_on_memory_or_threads() {
    let store = ReferenceStore::new();
    kronecker(&Kronecker { scale: 11, seed: 3, ..Kronecker::default() }).load_into(&store).unwrap();
    let interrupt = Interrupt::new();
    let view = store.read().unwrap();
    let projection = Projection::all(Direction::Out);
    let selection = Selection { view: &*view, projection: &projection, weight: None, sides: Sides::Forward };
    let graph = Graph::open(selection, Execution::Windows, 2, &interrupt).unwrap();
    let run = |memory: usize, threads| {
        let workspace = Limited::new(memory, 1 << 30);
        let execution = Execution::Windows;
        let context = Context { threads, interrupt: &interrupt, workspace: &workspace, execution };
        let states = run_vertex_program(&mut Counting { iterations: 4 }, &graph, &context).unwrap().to_vec().unwrap();
        assert!(workspace.peak() <= memory, "{} of {memory} bytes were held", workspace.peak());
        workspace.assert_all_given_back("states");
        states
    };
    let expected = run(1 << 28, 1);
    for (memory, threads) in [(1 << 28, 2), (1 << 20, 2), (256 << 10, 1), (256 << 10, 2)] {
        assert_eq!(run(memory, threads), expected, "{memory} bytes, {threads} threads");
    }
}

/// The costs of cheapest paths from a node.
struct Cheapest {
    source: u32,
}

impl EdgeProgram for Cheapest {
    type State = f64;
    type Accumulator = Option<f64>;

    const ONLY_CHANGED: bool = true;
    const USES_WEIGHTS: bool = true;

    fn start(&self, node: Node) -> f64 {
        if node.number == self.source { 0.0 } else { f64::INFINITY }
    }

    fn is_new(&self, node: Node, _state: &f64) -> bool {
        node.number == self.source
    }

    fn should_iterate(&mut self, _iteration: u64, changed: u64) -> bool {
        changed > 0
    }

    fn process_edge(&self, source: &f64, weight: f64, least: &mut Option<f64>) {
        let cost = source + weight;
        *least = Some(least.map_or(cost, |least| least.min(cost)));
    }

    fn update_node(&self, _node: Node, state: &mut f64, least: Option<f64>) -> bool {
        let is_less = least.is_some_and(|least| least < *state);
        *state = least.map_or(*state, |least| least.min(*state));
        is_less
    }
}

/// PageRank; a state is a score, and how many edges share it.
struct Ranking {
    iterations: u64,
    nodes: f64,
}

impl EdgeProgram for Ranking {
    type State = (f64, u32);
    type Accumulator = f64;

    fn start(&self, node: Node) -> (f64, u32) {
        (1.0 / self.nodes, node.degree)
    }

    fn should_iterate(&mut self, iteration: u64, _changed: u64) -> bool {
        iteration < self.iterations
    }

    fn process_edge(&self, &(score, degree): &(f64, u32), _weight: f64, sum: &mut f64) {
        *sum += score / f64::from(degree);
    }

    fn update_node(&self, node: Node, state: &mut (f64, u32), sum: f64) -> bool {
        assert_eq!(node.degree, state.1, "a node is updated with its own state");
        state.0 = 0.15 / self.nodes + 0.85 * sum;
        true
    }
}

/// Runs an edge program every way: rows in memory and streamed, states in memory and in files.
fn each_way<P: EdgeProgram<State: PartialEq + std::fmt::Debug>>(
    store: &ReferenceStore,
    direction: Direction,
    mut program: impl FnMut(&Graph<'_>) -> P,
    memory: usize,
    mut check: impl FnMut(&Graph<'_>, Vec<P::State>, &str),
) {
    let (view, interrupt, projection) =
        (store.read().expect("a store in memory can be read"), Interrupt::new(), Projection::all(direction));
    let key = view.schema().property_key("weight");
    let weight = key.map(|_| Weight { key, name: "weight".into(), default: None });
    let weight = weight.as_ref().filter(|_| P::USES_WEIGHTS);
    let sides = edge_program_sides::<P>();
    for execution in Execution::ALL {
        for threads in [1, 2] {
            let selection = Selection { view: &*view, projection: &projection, weight, sides };
            let graph = Graph::open(selection, execution, threads, &interrupt).expect("a store in memory can be read");
            let workspace = Limited::new(memory, 1 << 30);
            let context = Context { threads, interrupt: &interrupt, workspace: &workspace, execution };
            let states = run_edge_program(&mut program(&graph), &graph, &context).expect("there is memory and disk");
            workspace.assert_all_given_back("an edge program");
            check(&graph, states, &format!("{direction:?}, {execution:?}, {threads} threads"));
        }
    }
}

#[test]
fn edge_programs_run_every_way() {
    on_all_graphs(|name, naive, store, ids, random| {
        for (_, direction) in DIRECTIONS.into_iter().filter(|_| !ids.is_empty()) {
            let source = random.index(ids.len());
            let expected = turned(naive, direction).distances(source);
            let program = |graph: &Graph<'_>| Cheapest { source: graph.index(ids[source]).unwrap() };
            each_way(store, direction, program, 1 << 30, |graph, states, way| {
                let found: Vec<f64> = ids.iter().map(|&id| states[graph.index(id).unwrap() as usize]).collect();
                assert_close(&found, &expected, 1e-12, &format!("{name}, {way}"));
            });
        }
    });
}

#[test]
fn edge_programs_run_in_little_memory() {
    let store = ReferenceStore::new();
    kronecker(&Kronecker { scale: 12, seed: 3, ..Kronecker::default() }).load_into(&store).unwrap();
    let mut first: Option<Vec<f64>> = None;
    each_way(
        &store,
        Direction::Out,
        |_| Ranking { iterations: 5, nodes: 4096.0 },
        90 << 10,
        |_, states, way| {
            let scores: Vec<f64> = states.iter().map(|state| state.0).collect();
            assert_close(&scores, first.get_or_insert_with(|| scores.clone()), 1e-12, way);
        },
    );
    let mut first: Option<Vec<f64>> = None;
    each_way(
        &store,
        Direction::Out,
        |_| Cheapest { source: 1 },
        90 << 10,
        |_, costs, way| {
            assert_close(&costs, first.get_or_insert_with(|| costs.clone()), 1e-12, way);
        },
    );
}

/// Fails at one node in one iteration.
struct Failing(u32);

impl VertexProgram for Failing {
    type State = u32;
    type Value = ();
    type Gathered = u32;
    type Total = u64;

    fn start(&self, _node: Node, _total: &mut u64) -> u32 {
        0
    }

    fn should_iterate(&mut self, iteration: u64, _changed: u64, _total: &u64) -> bool {
        iteration < 2
    }

    fn scatter(&self, _node: Node, _state: &u32, _edge: Edge, (): ()) {}

    fn gather(&self, count: &mut u32, (): ()) {
        *count += 1;
    }

    fn apply(&self, node: Node, state: &mut u32, count: &mut u32, _total: &mut u64) -> bool {
        assert!(node.number != self.0 || *state == 0, "node {} is refused", node.number);
        *state += *count;
        true
    }
}

#[test]
fn a_panic_of_a_program_is_an_error() {
    let store = ReferenceStore::new();
    kronecker(&Kronecker { scale: 8, seed: 3, ..Kronecker::default() }).load_into(&store).unwrap();
    let view: GraphView = view_of(&store, Direction::Out, false, Sides::Forward);
    let node = (0..view.node_count() as u32).find(|&node| view.forward().neighbors(node).contains(&node));
    let node = node.or(view.forward().all_neighbors().first().copied()).unwrap();
    let (graph, interrupt) = (Graph::in_memory(Arc::new(view)), Interrupt::new());
    for execution in Execution::ALL {
        for threads in [1, 2] {
            let workspace = Limited::new(1 << 30, 1 << 30);
            let context = Context { threads, interrupt: &interrupt, workspace: &workspace, execution };
            let error = run_vertex_program(&mut Failing(node), &graph, &context).err().unwrap();
            assert_eq!(error.code(), ErrorCode::Internal);
            assert_eq!(error.message(), format!("the program over the graph panicked: node {node} is refused"));
            workspace.assert_all_given_back("a panic");
            let counts = run_vertex_program(&mut Failing(u32::MAX), &graph, &context).unwrap();
            assert!(counts.to_vec().unwrap()[node as usize] > 0, "the same surroundings serve the next run");
        }
    }
}
