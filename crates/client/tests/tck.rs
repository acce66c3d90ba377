//! The openCypher Technology Compatibility Kit over Bolt: every scenario, its values there and back, through the socket by which other
//! processes reach a store. The harness is that of the crate `database`.

#[path = "../../database/tests/tck/effects.rs"]
mod effects;
#[path = "../../database/tests/tck/feature.rs"]
mod feature;
#[path = "../../database/tests/tck/kit.rs"]
mod kit;
#[path = "../../database/tests/tck/notation.rs"]
mod notation;
#[path = "../../database/tests/tck/procedure.rs"]
mod procedure;
#[path = "../../database/tests/tck/run.rs"]
mod run;

use client::Graph;
use database::{Config, Database, Parameters};
use feature::Scenario;
use kit::{TAG, describe, run_all, say};
use model::Interrupt;
use run::Query;

/// A session over the socket of the store, which is there as long as the session.
fn over_bolt(database: &Database) -> Box<Query> {
    let sharing = server::share(database).expect("a folder of temporary files has sockets");
    let graph = Graph::open(database.path(), Config::default(), &Interrupt::new()).expect("it is shared");
    assert!(graph.database().is_none(), "the graph is on the other side of the socket");
    let mut session = graph.session();
    Box::new(move |text: &str, parameters: &Parameters| {
        let _sharing = &sharing;
        session.query(text, parameters)
    })
}

#[test]
fn every_scenario_does_over_bolt_what_the_kit_says() {
    let folder = kit::folder();
    let scenarios = kit::scenarios(&folder);
    let failures = run_all(&scenarios, &folder, over_bolt);
    say(&format!("TCK {TAG} over Bolt: {} / {}", scenarios.len() - failures.len(), scenarios.len()));
    let describe = |scenario: &Scenario| failures.get(&scenario.id()).map(|failure| describe(scenario, failure));
    let told: Vec<String> = scenarios.iter().filter_map(describe).collect();
    assert!(told.is_empty(), "{} scenarios fail:\n{}", told.len(), told.join("\n"));
}
