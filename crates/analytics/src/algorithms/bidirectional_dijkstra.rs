//! A cheapest path between two nodes, searched from both ends at once.
//!
//! Claim: the path costs no more than any other; it is the same in every run. A negative weight is an error that names
//! the relationship, if the search comes to it.
//! Cost: the nodes nearer than half the distance to either end have their edges followed, in batches straight over the
//! store, see `search/nearby.rs`. A store that cannot follow edges backwards is searched from the source alone.
//! After: Dantzig, "Linear programming and extensions", 1963; Pohl, "Bi-directional search", 1971.

use model::error::Result;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink};
use model::store::{Direction, ReadView};

pub use super::dijkstra::verify;

use super::dijkstra::{self, CheapestPath, Config, Ends, PATH_YIELDS};
use crate::held::SearchContext;
use crate::procedure::{AlgorithmProcedure, signature};
use crate::projection::Projection;
use crate::search::nearby::{Front, Nearby};
use crate::settings::Settings;
use crate::settings::shared::{ENDS, MAX_EXPANDED, SEARCH, WEIGHTS};

/// One end of the search.
struct End<'a> {
    nearby: Nearby<'a>,
    front: Front,
}

/// The cheapest way found so far: what it costs, and where the ends meet, as each of them numbers it.
struct Best {
    cost: f64,
    meeting: Option<(u32, u32)>,
}

/// Finds a cheapest path between two nodes, straight over the store.
pub fn run(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
) -> Result<CheapestPath> {
    let direction = projection.direction;
    if !view.capabilities().expands_against_direction && direction != Direction::Both {
        return dijkstra::run(view, projection, config, context);
    }
    let end = |direction| End {
        nearby: Nearby::new(view, projection, direction, config.weight.as_ref(), context),
        front: Front::default(),
    };
    let (mut near, mut far) = (end(direction), end(direction.reverse()));
    let (source, target) = (near.nearby.slot(config.source), far.nearby.slot(config.target));
    near.front.begin(source, 0.0);
    far.front.begin(target, 0.0);
    let mut best = Best { cost: f64::INFINITY, meeting: None };
    if config.source == config.target {
        best = Best { cost: 0.0, meeting: Some((source, target)) };
    }
    while let (Some(from_near), Some(from_far)) = (near.front.least(), far.front.least()) {
        if from_near + from_far >= best.cost {
            break;
        }
        let expanded = near.front.expanded + far.front.expanded;
        dijkstra::check_expanded(expanded, config.expanded_max)?;
        if from_near <= from_far {
            near.step(&far, |cost, here, there| best.offer(cost, (here, there)))?;
        } else {
            far.step(&near, |cost, here, there| best.offer(cost, (there, here)))?;
        }
    }
    let expanded = near.front.expanded + far.front.expanded;
    let path = best.meeting.map(|(here, there)| join(&near, &far, here, there));
    Ok(CheapestPath { path, expanded, batches: near.nearby.batches() + far.nearby.batches() })
}

impl Best {
    fn offer(&mut self, cost: f64, meeting: (u32, u32)) {
        if cost < self.cost {
            *self = Best { cost, meeting: Some(meeting) };
        }
    }
}

impl End<'_> {
    /// Settles one node; tells of each neighbor that the other end has come to what the way over both costs, and where
    /// they meet.
    fn step(&mut self, other: &End<'_>, mut meet: impl FnMut(f64, u32, u32)) -> Result<()> {
        let Some(slot) = self.front.settle() else { return Ok(()) };
        self.front.follow(
            &mut self.nearby,
            slot,
            |_| 0.0,
            |met| {
                if met.cost < met.known
                    && let Some(there) = other.nearby.find(met.node)
                    && other.front.cost(there) < f64::INFINITY
                {
                    meet(met.cost + other.front.cost(there), met.slot, there);
                }
                true
            },
        )
    }
}

/// The path over a meeting, and its cost added up from the source.
fn join(near: &End<'_>, far: &End<'_>, here: u32, there: u32) -> (Vec<model::NodeId>, f64) {
    let mut nodes: Vec<_> = near.front.path(here).iter().map(|&slot| near.nearby.node(slot)).collect();
    let mut cost = near.front.cost(here);
    let back = far.front.path(there);
    for step in back.windows(2).rev() {
        nodes.push(far.nearby.node(step[0]));
        cost += far.nearby.cheapest(step[0], step[1]);
    }
    (nodes, cost)
}

/// `algo.bidirectionalDijkstra`.
pub const PROCEDURE: AlgorithmProcedure = AlgorithmProcedure {
    signature: signature(
        "algo.bidirectionalDijkstra",
        &["algo.bidirectionalDijkstra.stream", "algo.bidirectional_dijkstra", "algo.bidirectional_dijkstra.stream"],
        ProcedureMode::Read,
        "Finds a cheapest path between two nodes from both ends at once; no row if there is none.",
        PATH_YIELDS,
    ),
    settings: &[SEARCH, ENDS, WEIGHTS, &[&MAX_EXPANDED]],
    body: stream,
};

fn stream(context: &ProcedureContext<'_>, settings: &Settings<'_>, sink: &mut RowSink<'_>) -> Result<()> {
    let ends = Ends::read(context, settings)?;
    let view = context.graph.view();
    let config = ends.config()?;
    let context = SearchContext::of(context);
    let result = run(view, &ends.projection, &config, context)?;
    dijkstra::send_path(view, &ends.projection, config.weight.as_ref(), result, context, sink)
}
