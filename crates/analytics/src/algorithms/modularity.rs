//! Modularity: how much more edges weigh within given communities than chance would have it.
//!
//! Claim: of each community the share of all weight that lies within it, less `gamma` times the square of the share
//! that its nodes have; all together the modularity of the partition. Edges are followed both ways, parallel ones add
//! up, a self-loop counts twice. A node without the property is a community of its own.
//! Cost: one pass over the edges, by one thread; 20 bytes a node.
//! After: Newman, Girvan, "Finding and evaluating community structure in networks", 2004; Reichardt, Bornholdt,
//! "Statistical mechanics of community detection", 2006 (gamma).

use model::column::{Column, ColumnData};
use model::error::Result;
use model::id::PropertyKeyId;
use model::interrupt::Interrupt;
use model::store::{Direction, ReadView};
use model::value::Value;

use crate::algorithm::{About, Follows, Needs, Outcome, RowOrder, Run, Shape};
use crate::graph::{Execution, Graph, Side};
use crate::graph_view::{GraphView, Sides};
use crate::network::seeds;
use crate::procedure::column;
use crate::projection::property_key;
use crate::settings::Settings;
use crate::settings::kind::Text;
use crate::settings::shared::GAMMA;
use crate::settings::table::{Required, Setting};

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The property that states the community of each node.
    pub property: (String, PropertyKeyId),
    /// Resolution: the factor of the expected weight.
    pub gamma: f64,
}

/// For each community its part of the modularity of an undirected graph; they sum to the modularity. Communities are
/// numbers without gaps.
pub fn run(graph: &Graph<'_>, communities: &[u32], gamma: f64, interrupt: &Interrupt) -> Result<Vec<f64>> {
    let count = communities.iter().max().map_or(0, |&most| most as usize + 1);
    let (mut inside, mut totals) = (vec![0.0; count], vec![0.0; count]);
    let rows = graph.rows();
    for part in 0..rows.part_count(Side::Forward) {
        rows.scan_part(Side::Forward, part, None, &mut |block| {
            interrupt.check()?;
            for row in 0..block.len() {
                let node = block.first + row as u32;
                let own = communities[node as usize];
                for (at, &neighbor) in block.neighbors(row).iter().enumerate() {
                    let weight = block.weights(row).get(at).copied().unwrap_or(1.0);
                    // An undirected row has a self-loop once, though it has two ends here.
                    let weight = if neighbor == node { 2.0 * weight } else { weight };
                    totals[own as usize] += weight;
                    if communities[neighbor as usize] == own {
                        inside[own as usize] += weight;
                    }
                }
            }
            Ok(())
        })?;
    }
    let all: f64 = totals.iter().sum();
    if all == 0.0 {
        return Ok(vec![0.0; count]);
    }
    let part = |(inside, total): (&f64, &f64)| inside / all - gamma * (total / all) * (total / all);
    Ok(inside.iter().zip(&totals).map(part).collect())
}

/// Checks the modularity of a partition by another method: by its definition, edge by edge and, for what is expected,
/// community by community. No modularity stands for 0.
pub fn verify(view: &GraphView, communities: &[u32], gamma: f64, found: Option<f64>) -> Result<()> {
    let rows = view.forward();
    let weight_of = |node: u32, at: usize| if rows.has_weights() { rows.weights(node)[at] } else { 1.0 };
    let ends = |node: u32| {
        let entries = rows.neighbors(node).iter().enumerate();
        entries.map(move |(at, &other)| (other, if other == node { 2.0 } else { 1.0 } * weight_of(node, at)))
    };
    let strengths: Vec<f64> =
        (0..view.node_count() as u32).map(|node| ends(node).map(|(_, weight)| weight).sum()).collect();
    let all: f64 = strengths.iter().sum();
    let mut totals: model::Map<u32, f64> = model::Map::default();
    let mut expected = 0.0;
    for node in 0..view.node_count() as u32 {
        let community = communities[node as usize];
        *totals.entry(community).or_default() += strengths[node as usize];
        let within = ends(node).filter(|(other, _)| communities[*other as usize] == community);
        expected += within.map(|(_, weight)| weight).sum::<f64>() / all;
    }
    expected -= totals.values().map(|total| gamma * (total / all).powi(2)).sum::<f64>();
    let (expected, found) = (if all == 0.0 { 0.0 } else { expected }, found.unwrap_or(0.0));
    if (found - expected).abs() <= 1e-9 {
        return Ok(());
    }
    Err(model::error!(Internal, "the modularity is given as {found}, a pass over all edges finds {expected}"))
}

static COMMUNITY_PROPERTY: Setting<Text> =
    Setting::new("communityProperty", Text, Required, "Property of nodes that states their community.");

/// `algo.modularity`.
pub struct Algorithm;

impl crate::Algorithm for Algorithm {
    type Config = Config;

    const ABOUT: About = About {
        name: "modularity",
        aliases: &["gds.modularity"],
        description: "Finds the modularity of the communities that a property states.",
        settings: &[&COMMUNITY_PROPERTY, &GAMMA],
        direction: Follows::Always(Direction::Both),
        takes_weights: true,
        yields: &[column("communityId", "INTEGER"), column("modularity", "FLOAT")],
        stats: &[column("modularity", "FLOAT"), column("communityCount", "INTEGER"), column("nodeCount", "INTEGER")],
        shape: Shape::Rows,
    };

    fn read(settings: &Settings<'_>, view: &dyn ReadView) -> Result<Config> {
        let name = settings.get(&COMMUNITY_PROPERTY)?;
        let gamma = settings.get(&GAMMA)?;
        Ok(Config { property: (name.to_string(), property_key(view.schema(), &name)?), gamma })
    }

    fn needs(_config: &Config, _is_weighted: bool) -> Needs {
        Needs {
            sides: Sides::Forward,
            node_bytes: size_of::<u32>() + 2 * size_of::<f64>() + size_of::<Value>(),
            edge_bytes: 0,
            executions: &[Execution::Memory, Execution::Streaming],
        }
    }

    fn run(graph: &Graph<'_>, config: &Config, run: &Run<'_>) -> Result<Outcome> {
        let (name, key) = &config.property;
        let (communities, names) = seeds(graph, run.selection.view, (name, *key), run.interrupt)?;
        let parts = self::run(graph, &communities, config.gamma, run.interrupt)?;
        let stats = vec![
            Value::Float(parts.iter().fold(0.0, |sum, part| sum + part)),
            Value::Int(parts.len() as i64),
            Value::Int(communities.len() as i64),
        ];
        let columns = vec![Column::from_values(&names), Column::new(ColumnData::Float(parts))];
        Ok(Outcome { columns, order: RowOrder::ByNumber, stats })
    }
}
