//! The graph of dependencies between transactions, and its cycles.

use std::collections::VecDeque;

/// Why one transaction must come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// The second wrote over what the first wrote.
    WriteWrite,
    /// The second read what the first wrote.
    WriteRead,
    /// The second wrote over what the first read.
    ReadWrite,
    /// The first was acknowledged before the second began.
    RealTime,
}

/// Dependencies between numbered transactions.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    edges: Vec<Vec<(u32, Dependency)>>,
}

/// A node of the search: a transaction, and whether it was just reached by a `ReadWrite` dependency.
type State = usize;

impl Graph {
    /// A graph of `count` nodes without dependencies.
    pub fn new(count: usize) -> Graph {
        Graph { edges: vec![Vec::new(); count] }
    }

    /// A further node; its number.
    pub fn add_node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    /// Adds a dependency; one of a transaction on itself says nothing.
    pub fn add(&mut self, from: usize, to: usize, dependency: Dependency) {
        let edge = (to as u32, dependency);
        if from != to && !self.edges[from].contains(&edge) {
            self.edges[from].push(edge);
        }
    }

    /// Number of dependencies.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(Vec::len).sum()
    }

    /// A cycle that snapshot isolation forbids: one without two `ReadWrite` dependencies in a row.
    pub fn forbidden_cycle(&self) -> Option<Vec<(usize, Dependency)>> {
        self.cycle(&|state, dependency| match (state % 2, dependency) {
            (0, Dependency::ReadWrite) => Some(1),
            (_, Dependency::ReadWrite) => None,
            _ => Some(0),
        })
    }

    /// Any cycle: what serializability forbids.
    pub fn any_cycle(&self) -> Option<Vec<(usize, Dependency)>> {
        self.cycle(&|_, _| Some(0))
    }

    /// A short cycle among states; `step` says in which layer a dependency ends, if it may be taken.
    fn cycle(&self, step: &dyn Fn(State, Dependency) -> Option<usize>) -> Option<Vec<(usize, Dependency)>> {
        let components = self.components(step);
        let mut sizes = vec![0_u32; components.len()];
        components.iter().for_each(|&component| sizes[component as usize] += 1);
        let in_cycles = (0..components.len()).filter(|&state| sizes[components[state] as usize] > 1);
        let starts = in_cycles.take(50);
        starts.filter_map(|start| self.shortest_cycle(start, &components, step)).min_by_key(Vec::len)
    }

    fn next<'a>(
        &'a self,
        state: State,
        step: &'a dyn Fn(State, Dependency) -> Option<usize>,
    ) -> impl Iterator<Item = (State, Dependency)> + 'a {
        let edges = self.edges[state / 2].iter();
        edges.filter_map(move |&(to, dependency)| Some((2 * to as usize + step(state, dependency)?, dependency)))
    }

    /// The strongly connected component of each state. After: Tarjan, "Depth-first search and linear graph algorithms",
    /// 1972, with a stack of our own.
    fn components(&self, step: &dyn Fn(State, Dependency) -> Option<usize>) -> Vec<u32> {
        const UNSEEN: u32 = u32::MAX;
        let count = 2 * self.edges.len();
        let (mut order, mut low, mut component) = (vec![UNSEEN; count], vec![0_u32; count], vec![UNSEEN; count]);
        let (mut stack, mut open, mut next_order, mut next_component) = (Vec::new(), Vec::new(), 0, 0);
        for root in 0..count {
            if order[root] != UNSEEN {
                continue;
            }
            open.push((root, 0));
            while let Some(&mut (state, ref mut position)) = open.last_mut() {
                if *position == 0 {
                    (order[state], low[state]) = (next_order, next_order);
                    next_order += 1;
                    stack.push(state);
                }
                let target = self.next(state, step).nth(*position).map(|(target, _)| target);
                *position += 1;
                match target {
                    Some(target) if order[target] == UNSEEN => open.push((target, 0)),
                    Some(target) if component[target] == UNSEEN => low[state] = low[state].min(order[target]),
                    Some(_) => {}
                    None => {
                        open.pop();
                        if let Some(&(parent, _)) = open.last() {
                            low[parent] = low[parent].min(low[state]);
                        }
                        if low[state] == order[state] {
                            let start = stack.iter().rposition(|&other| other == state).expect("it was pushed");
                            stack.drain(start..).for_each(|member| component[member] = next_component);
                            next_component += 1;
                        }
                    }
                }
            }
        }
        component
    }

    /// The transactions of a shortest cycle through a state, each with the dependency that leads on.
    fn shortest_cycle(
        &self,
        start: State,
        components: &[u32],
        step: &dyn Fn(State, Dependency) -> Option<usize>,
    ) -> Option<Vec<(usize, Dependency)>> {
        let mut came_from: Vec<Option<(State, Dependency)>> = vec![None; components.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            for (target, dependency) in self.next(state, step) {
                if components[target] != components[start] || came_from[target].is_some() {
                    continue;
                }
                came_from[target] = Some((state, dependency));
                if target == start {
                    let (mut cycle, mut at) = (Vec::new(), start);
                    loop {
                        let (before, dependency) = came_from[at].expect("the search came this way");
                        cycle.push((before / 2, dependency));
                        at = before;
                        if at == start {
                            cycle.reverse();
                            return Some(cycle);
                        }
                    }
                }
                queue.push_back(target);
            }
        }
        None
    }
}
