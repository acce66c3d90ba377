//! Naive references of centralities: formulas over a list of edges, without any cleverness.

use crate::naive::NaiveGraph;

/// Divides by the root of the sum of squares, if that is not 0.
fn scaled(mut numbers: Vec<f64>) -> Vec<f64> {
    let length = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        numbers.iter_mut().for_each(|x| *x /= length);
    }
    numbers
}

impl NaiveGraph {
    /// The same with every edge at a cost of 1.
    pub(crate) fn unweighted(&self) -> NaiveGraph {
        let edges = self.edges.iter().map(|&(source, target, _)| (source, target, 1.0)).collect();
        NaiveGraph { node_count: self.node_count, edges }
    }

    /// For each node, the costs of the edges that lead away from it added up.
    pub(crate) fn strengths(&self) -> Vec<f64> {
        let mut strengths = vec![0.0; self.node_count];
        self.edges.iter().for_each(|&(source, _, cost)| strengths[source] += cost);
        strengths
    }

    /// PageRank that returns to some nodes, or without any to all, with `iterations` iterations.
    pub(crate) fn personalized_pagerank(&self, damping_factor: f64, iterations: usize, sources: &[usize]) -> Vec<f64> {
        let all: Vec<usize> = (0..self.node_count).collect();
        let sources = if sources.is_empty() { &all[..] } else { sources };
        let strengths = self.strengths();
        let mut start = vec![0.0; self.node_count];
        sources.iter().for_each(|&node| start[node] = 1.0 / sources.len() as f64);
        let mut scores = start.clone();
        for _ in 0..iterations {
            let stuck: f64 = all.iter().filter(|&&node| strengths[node] == 0.0).map(|&node| scores[node]).sum();
            let mut next: Vec<f64> =
                start.iter().map(|share| share * (1.0 - damping_factor + damping_factor * stuck)).collect();
            for &(source, target, cost) in self.edges.iter().filter(|edge| strengths[edge.0] > 0.0) {
                next[target] += damping_factor * scores[source] * cost / strengths[source];
            }
            scores = next;
        }
        scores
    }

    /// ArticleRank, with `iterations` iterations from 1.
    pub(crate) fn article_rank(&self, damping_factor: f64, iterations: usize, sources: &[usize]) -> Vec<f64> {
        let strengths = self.strengths();
        let mean = strengths.iter().sum::<f64>() / self.node_count as f64;
        let start: Vec<f64> =
            (0..self.node_count).map(|n| f64::from(u8::from(sources.is_empty() || sources.contains(&n)))).collect();
        let mut scores = start.clone();
        for _ in 0..iterations {
            let mut next: Vec<f64> = start.iter().map(|share| share * (1.0 - damping_factor)).collect();
            for &(source, target, cost) in self.edges.iter().filter(|edge| strengths[edge.0] + mean > 0.0) {
                next[target] += damping_factor * scores[source] * cost / (strengths[source] + mean);
            }
            scores = next;
        }
        scores
    }

    /// Eigenvector centrality, with `iterations` iterations.
    pub(crate) fn eigenvector(&self, iterations: usize, sources: &[usize]) -> Vec<f64> {
        let start = (0..self.node_count).map(|n| f64::from(u8::from(sources.is_empty() || sources.contains(&n))));
        let mut scores = scaled(start.collect());
        for _ in 0..iterations {
            let mut next = scores.clone();
            self.edges.iter().for_each(|&(source, target, cost)| next[target] += scores[source] * cost);
            scores = scaled(next);
        }
        scores
    }

    /// Authorities and hubs after `iterations` iterations.
    pub(crate) fn hits(&self, iterations: usize) -> (Vec<f64>, Vec<f64>) {
        let (mut authorities, mut hubs) = (vec![0.0; self.node_count], vec![1.0; self.node_count]);
        for _ in 0..iterations {
            authorities = vec![0.0; self.node_count];
            self.edges.iter().for_each(|&(source, target, cost)| authorities[target] += hubs[source] * cost);
            authorities = scaled(authorities);
            hubs = vec![0.0; self.node_count];
            self.edges.iter().for_each(|&(source, target, cost)| hubs[source] += authorities[target] * cost);
            hubs = scaled(hubs);
        }
        (authorities, hubs)
    }
}

/// Centralities by distances.
impl NaiveGraph {
    /// Costs of cheapest paths between all nodes (Floyd, Warshall).
    pub(crate) fn all_distances(&self) -> Vec<Vec<f64>> {
        let count = self.node_count;
        let mut costs = vec![vec![f64::INFINITY; count]; count];
        self.edges.iter().for_each(|&(source, target, cost)| costs[source][target] = costs[source][target].min(cost));
        (0..count).for_each(|node| costs[node][node] = 0.0);
        for over in 0..count {
            let onward = costs[over].clone();
            for row in &mut costs {
                let first = row[over];
                row.iter_mut().zip(&onward).for_each(|(cost, &second)| *cost = cost.min(first + second));
            }
        }
        costs
    }

    /// Closeness, plain and as Wasserman and Faust have it, and harmonic centrality.
    pub(crate) fn closeness(&self) -> [Vec<f64>; 3] {
        let distances = self.all_distances();
        let count = self.node_count.saturating_sub(1).max(1) as f64;
        let mut found = [Vec::new(), Vec::new(), Vec::new()];
        for node in 0..self.node_count {
            let others = distances.iter().enumerate().filter(|(from, _)| *from != node);
            let costs = others.map(|(_, to)| to[node]);
            let costs: Vec<f64> = costs.filter(|cost| cost.is_finite()).collect();
            let (reached, total) = (costs.len() as f64, costs.iter().sum::<f64>());
            let plain = if total > 0.0 { reached / total } else { 0.0 };
            found[0].push(plain);
            found[1].push(plain * reached / count);
            found[2].push(costs.iter().filter(|&&cost| cost > 0.0).map(|cost| 1.0 / cost).sum::<f64>() / count);
        }
        found
    }

    /// For each source, how much each node adds to betweenness: shortest paths are counted from both ends.
    pub(crate) fn dependencies(&self) -> Vec<Vec<f64>> {
        let count = self.node_count;
        let distances = self.all_distances();
        let is_step = |source: usize, &(from, to, cost): &(usize, usize, f64)| {
            distances[source][from].is_finite()
                && close(distances[source][from] + cost, distances[source][to])
                && distances[source][from] < distances[source][to]
        };
        let mut paths = vec![vec![0.0; count]; count];
        for source in 0..count {
            let mut steps: Vec<_> = self.edges.iter().filter(|edge| is_step(source, edge)).collect();
            steps.sort_by(|a, b| distances[source][a.0].total_cmp(&distances[source][b.0]));
            paths[source][source] = 1.0;
            steps.iter().for_each(|&&(from, to, _)| paths[source][to] += paths[source][from]);
        }
        let mut found = vec![vec![0.0; count]; count];
        for source in 0..count {
            for target in (0..count).filter(|&target| target != source && distances[source][target].is_finite()) {
                for over in (0..count).filter(|&over| over != source && over != target) {
                    if close(distances[source][over] + distances[over][target], distances[source][target]) {
                        let share = paths[source][over] * paths[over][target] / paths[source][target];
                        found[source][over] += share;
                    }
                }
            }
        }
        found
    }
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() < 1e-12 * b
}
