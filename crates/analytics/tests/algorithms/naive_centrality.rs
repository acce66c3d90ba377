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

    /// PageRank that returns to some nodes, or without any to all, so many iterations.
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

    /// ArticleRank, so many iterations from 1.
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

    /// Eigenvector centrality, so many iterations.
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

    /// Authorities and hubs after so many iterations.
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
