//! A* search: a cheapest path between two nodes that have coordinates, looking first where the target lies.
//!
//! Claim: the path costs no more than any other, provided that no edge costs less than `heuristicScale` times the
//! great-circle distance between its ends. Without a weight property an edge costs that distance in kilometres and
//! the claim holds. With one, `heuristicScale` must be given: what a kilometre costs at least, such as 1000 for a
//! weight in metres; 0 makes this Dijkstra's algorithm. Where it is set too high the path found may not be the
//! cheapest. An estimate that is never too high but not consistent is fine: nodes are expanded again as needed.
//! Cost: see `search/best_first.rs`; and one distance a node met.
//! After: Hart, Nilsson, Raphael, 1968; Yoneki, Roy, "A unified graph query layer for multiple databases", 2012,
//! section 3, with its sphere of 6371 km and its limit of expansions.

use model::error::Result;
use model::id::NodeId;
use model::interrupt::Interrupt;
use model::procedure::{ProcedureContext, ProcedureMode, RowSink};
use model::store::ReadView;

use super::dijkstra::{self, CheapestPath, Ends};
use crate::held::SearchContext;
use crate::procedure::{SearchProcedure, signature};
use crate::projection::{Projection, Weight, property_key};
use crate::search::best_first::{self, Problem};
use crate::search::ground::Coordinates;
use crate::settings::Settings;
use crate::settings::kind::{Number, Text};
use crate::settings::shared::{ENDS, MAX_EXPANDED, SEARCH, WEIGHTS};
use crate::settings::table::{Fixed, Setting, Unset};
use crate::view_cache::ViewCache;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The node at which paths start.
    pub source: NodeId,
    /// The node at which paths end.
    pub target: NodeId,
    /// The weight that states the cost of edges; the great-circle distance in kilometres if `None`.
    pub weight: Option<Weight>,
    /// Lower bound of the cost of a kilometre.
    pub heuristic_scale: f64,
    /// The property with degrees of latitude.
    pub latitude: String,
    /// The property with degrees of longitude.
    pub longitude: String,
    /// Expansions after which to give up.
    pub expanded_max: u64,
}

/// Finds a cheapest path between two nodes, straight over the store.
pub fn run(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    context: SearchContext<'_>,
) -> Result<CheapestPath> {
    run_keeping(view, projection, config, None, context)
}

/// The same; what it reads is kept there, and what was kept is not read again.
pub fn run_keeping(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    kept: Option<&ViewCache>,
    context: SearchContext<'_>,
) -> Result<CheapestPath> {
    let coordinates = Coordinates {
        latitude: (&config.latitude, property_key(view.schema(), &config.latitude)?),
        longitude: (&config.longitude, property_key(view.schema(), &config.longitude)?),
        cost_per_km: config.heuristic_scale,
    };
    let problem = Problem {
        view,
        projection,
        weight: config.weight.as_ref(),
        map: Some(coordinates),
        source: config.source,
        target: config.target,
        expanded_max: config.expanded_max,
    };
    let best_first::Outcome { path, expanded, batches } = best_first::run(&problem, kept, context)?;
    Ok(CheapestPath { path, expanded, batches })
}

/// Checks a result by another method: without the estimate no cheaper path is found.
pub fn verify(
    view: &dyn ReadView,
    projection: &Projection,
    config: &Config,
    result: &CheapestPath,
    interrupt: &Interrupt,
) -> Result<()> {
    let context = SearchContext::unaccounted(interrupt);
    let blind = if config.weight.is_some() {
        let (source, target, weight) = (config.source, config.target, config.weight.clone());
        let without = dijkstra::Config { source, target, weight, expanded_max: u64::MAX };
        dijkstra::run(view, projection, &without, context)?
    } else {
        run(view, projection, &Config { heuristic_scale: 0.0, expanded_max: u64::MAX, ..config.clone() }, context)?
    };
    let cost = |found: &CheapestPath| found.path.as_ref().map_or(f64::INFINITY, |(_, cost)| *cost);
    let (found, expected) = (cost(result), cost(&blind));
    if found == expected || (found - expected).abs() <= 1e-9 * expected {
        return Ok(());
    }
    Err(model::error!(Internal, "the path costs {found}, expected {expected}"))
}

/// `algo.astar`.
pub const PROCEDURE: SearchProcedure = SearchProcedure {
    signature: signature(
        "algo.astar",
        &["algo.astar.stream", "gds.shortestPath.astar.stream"],
        ProcedureMode::Read,
        "Finds a cheapest path between two nodes with latitude and longitude; no row if there is none.",
        dijkstra::PATH_YIELDS,
    ),
    settings: &[SEARCH, ENDS, WEIGHTS, &[&LATITUDE_PROPERTY, &LONGITUDE_PROPERTY, &HEURISTIC_SCALE, &MAX_EXPANDED]],
    body: stream,
    kept: None,
};

static LATITUDE_PROPERTY: Setting<Text, Fixed<&str>> =
    Setting::new("latitudeProperty", Text, Fixed("latitude"), "Property of nodes with degrees of latitude.");
static LONGITUDE_PROPERTY: Setting<Text, Fixed<&str>> =
    Setting::new("longitudeProperty", Text, Fixed("longitude"), "Property of nodes with degrees of longitude.");
static HEURISTIC_SCALE: Setting<Number, Unset> = Setting::new(
    "heuristicScale",
    Number::POSITIVE,
    Unset("1 without weights, otherwise required"),
    "Lower bound of the cost of a kilometer: 1 for weights in kilometers, 1000 for meters, 0 if none is known.",
);

fn stream(
    context: &ProcedureContext<'_>,
    settings: &Settings<'_>,
    kept: Option<&ViewCache>,
    sink: &mut RowSink<'_>,
) -> Result<()> {
    let ends = Ends::read(context, settings)?;
    let view = context.graph.view();
    let dijkstra::Config { source, target, weight, expanded_max } = ends.config()?;
    let config = Config {
        source,
        target,
        heuristic_scale: read_scale(settings, weight.is_some())?,
        weight,
        latitude: settings.get(&LATITUDE_PROPERTY)?.to_string(),
        longitude: settings.get(&LONGITUDE_PROPERTY)?.to_string(),
        expanded_max,
    };
    let context = SearchContext::of(context);
    let result = run_keeping(view, &ends.projection, &config, kept, context)?;
    dijkstra::send_path(view, &ends.projection, config.weight.as_ref(), result, context, sink)
}

fn read_scale(settings: &Settings<'_>, has_weight: bool) -> Result<f64> {
    let scale = settings.get(&HEURISTIC_SCALE)?;
    match scale {
        None if has_weight => Err(model::error!(
            Argument,
            "algo.astar: 'weightProperty' is given without 'heuristicScale', so that the search cannot estimate costs"
        )
        .with_remedy("give what a kilometre costs at least: 1 for a weight in km, 1000 for m, 0 if nothing is known")),
        Some(scale) if !has_weight && scale > 1.0 => Err(model::error!(
            Argument,
            "algo.astar: setting 'heuristicScale' is {scale}, expected at most 1, since edges cost their length in km"
        )),
        scale => Ok(scale.unwrap_or(1.0)),
    }
}
