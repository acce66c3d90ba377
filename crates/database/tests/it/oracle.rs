//! A matcher that anyone can read: all assignments of a pattern's edges and nodes, tried one after the other.

/// A graph as the oracle sees it: node `i` has the id `i`.
pub(crate) struct OracleGraph {
    pub(crate) nodes: Vec<OracleNode>,
    pub(crate) edges: Vec<OracleEdge>,
}

#[derive(Clone, Debug)]
pub(crate) struct OracleNode {
    pub(crate) labels: Vec<&'static str>,
    pub(crate) n: Option<i64>,
}

#[derive(Clone, Debug)]
pub(crate) struct OracleEdge {
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) edge_type: &'static str,
    pub(crate) w: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrow {
    Right,
    Left,
    Both,
}

/// A node of a pattern: a variable with what it must fulfil.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternNode {
    pub(crate) variable: usize,
    pub(crate) label: Option<&'static str>,
    pub(crate) n: Option<i64>,
}

/// An edge of a pattern; with bounds it is of variable length.
#[derive(Clone, Debug)]
pub(crate) struct PatternEdge {
    pub(crate) arrow: Arrow,
    pub(crate) types: Vec<&'static str>,
    pub(crate) w: Option<i64>,
    pub(crate) bounds: Option<(usize, usize)>,
}

/// A path of a pattern: one more node than edges.
#[derive(Clone, Debug)]
pub(crate) struct PatternPath {
    pub(crate) nodes: Vec<PatternNode>,
    pub(crate) edges: Vec<PatternEdge>,
}

/// The paths of one `MATCH`.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) paths: Vec<PatternPath>,
    pub(crate) variables: usize,
}

/// A partial match: the node of each variable, and the edges that are used.
#[derive(Clone)]
struct State {
    bound: Vec<Option<usize>>,
    used: Vec<usize>,
}

/// All matches of a pattern, as the nodes of its variables, beginning with those that are bound already.
pub(crate) fn matches(graph: &OracleGraph, pattern: &Pattern, bound: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut bound = bound.to_vec();
    bound.resize(pattern.variables, None);
    let mut states = vec![State { bound, used: Vec::new() }];
    for path in &pattern.paths {
        states = states.into_iter().flat_map(|state| match_path(graph, path, &state)).collect();
    }
    let nodes = |state: State| state.bound.into_iter().map(|node| node.unwrap_or(usize::MAX)).collect();
    states.into_iter().map(nodes).collect()
}

fn match_path(graph: &OracleGraph, path: &PatternPath, state: &State) -> Vec<State> {
    let starts = (0..graph.nodes.len()).filter_map(|node| bind(graph, &path.nodes[0], node, state));
    let mut ends: Vec<(State, usize)> = starts.collect();
    for (edge, node) in path.edges.iter().zip(&path.nodes[1..]) {
        let mut next = Vec::new();
        for (state, at) in &ends {
            for (walked, end) in walks(graph, edge, state, *at) {
                next.extend(bind(graph, node, end, &walked));
            }
        }
        ends = next;
    }
    ends.into_iter().map(|(state, _)| state).collect()
}

fn bind(graph: &OracleGraph, pattern: &PatternNode, node: usize, state: &State) -> Option<(State, usize)> {
    let found = &graph.nodes[node];
    let is_match = pattern.label.is_none_or(|label| found.labels.contains(&label))
        && pattern.n.is_none_or(|n| found.n == Some(n))
        && state.bound[pattern.variable].is_none_or(|other| other == node);
    let mut state = state.clone();
    state.bound[pattern.variable] = Some(node);
    is_match.then_some((state, node))
}

/// Nodes to which an edge of a pattern leads from a node, with the edges used on the way.
fn walks(graph: &OracleGraph, pattern: &PatternEdge, state: &State, from: usize) -> Vec<(State, usize)> {
    let (min, max) = pattern.bounds.unwrap_or((1, 1));
    let mut found = Vec::new();
    let mut level = vec![(state.clone(), from)];
    for length in 0..=max {
        if length >= min {
            found.extend(level.iter().cloned());
        }
        let mut next = Vec::new();
        for (state, at) in &level {
            for (number, edge) in graph.edges.iter().enumerate() {
                let is_type = pattern.types.is_empty() || pattern.types.contains(&edge.edge_type);
                if !is_type || pattern.w.is_some_and(|w| edge.w != Some(w)) || state.used.contains(&number) {
                    continue;
                }
                let forward = edge.source == *at && pattern.arrow != Arrow::Left;
                let backward = edge.target == *at && pattern.arrow != Arrow::Right;
                let is_loop = edge.source == edge.target;
                let mut walked = state.clone();
                walked.used.push(number);
                if forward {
                    next.push((walked.clone(), edge.target));
                }
                if backward && !(forward && is_loop) {
                    next.push((walked, edge.source));
                }
            }
        }
        level = next;
    }
    found
}
