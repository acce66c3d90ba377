//! Settings are read by their tables, and refused with errors that name them.

use std::sync::Arc;

use model::store::Direction;
use model::value::Value;

use super::kind::{Integer, Kind, Nodes, Number};
use super::shared::{DIRECTION, LABELS, SOURCE_NODE};
use super::table::{Absence, Fixed, Setting, Unset};
use super::{Row, Settings, Table};
use crate::ArrayGraph;

static MAX_ITERATIONS: Setting<Integer, Fixed<u64>> = super::shared::max_iterations(20);
static TOLERANCE: Setting<Number, Fixed<f64>> = super::shared::tolerance(1e-7, "Test.");
static SOURCE_NODES: Setting<Nodes, Unset> = super::shared::source_nodes("all nodes", "Test.");
const TABLE: Table = &[&LABELS, &MAX_ITERATIONS, &TOLERANCE, &DIRECTION, &SOURCE_NODES];

fn graph() -> ArrayGraph {
    ArrayGraph::new(3, &[0, 1], &[1, 2], None).unwrap()
}

fn map(entries: &[(&str, Value)]) -> Value {
    Value::map(entries.iter().map(|(key, value)| (Arc::from(*key), value.clone())))
}

fn check_error<K: Kind, D: Absence<K>>(entries: &[(&str, Value)], setting: &'static Setting<K, D>, expected: &str)
where
    D::Found: std::fmt::Debug,
{
    let (map, graph) = (map(entries), graph());
    let read = Settings::new("algo.test", &map, TABLE.to_vec(), &graph).and_then(|settings| settings.get(setting));
    let error = read.expect_err(expected);
    assert_eq!(format!("{} ({})", error.message(), error.remedy()), expected);
}

#[test]
fn errors_name_the_setting() {
    let one = Value::Int(1);
    check_error(
        &[("maxIteratons", one.clone())],
        &LABELS,
        "algo.test has no setting 'maxIteratons' (did you mean 'maxIterations'?)",
    );
    check_error(
        &[("colour", one.clone())],
        &LABELS,
        "algo.test has no setting 'colour' (the settings are: labels, nodeLabels, maxIterations, tolerance, direction, \
         sourceNodes)",
    );
    check_error(
        &[("labels", one)],
        &LABELS,
        "algo.test: setting 'labels' is INTEGER, expected STRING or LIST OF STRING (convert it, or test it first)",
    );
    check_error(
        &[("labels", Value::string("A")), ("nodeLabels", Value::string("A"))],
        &LABELS,
        "algo.test: 'labels' and 'nodeLabels' are the same setting, give one of them ()",
    );
    check_error(
        &[("maxIterations", Value::Int(0))],
        &MAX_ITERATIONS,
        "algo.test: setting 'maxIterations' is 0, expected an integer of at least 1 ()",
    );
    check_error(
        &[("tolerance", Value::Float(f64::NAN))],
        &TOLERANCE,
        "algo.test: setting 'tolerance' is NaN, expected a finite number of at least 0 ()",
    );
    check_error(
        &[("direction", Value::string("up"))],
        &DIRECTION,
        "algo.test: setting 'direction' is 'up', expected 'OUT', 'IN' or 'BOTH' ()",
    );
    check_error(
        &[("sourceNodes", Value::list(vec![Value::Int(1), Value::Int(3)]))],
        &SOURCE_NODES,
        "algo.test: node #3 of setting 'sourceNodes' is not in the graph (match it again)",
    );
}

#[test]
fn a_setting_left_out_or_null_has_its_default() {
    let graph = graph();
    for argument in [Value::Null, map(&[]), map(&[("tolerance", Value::Null), ("direction", Value::Null)])] {
        let settings = Settings::new("algo.test", &argument, TABLE.to_vec(), &graph).unwrap();
        assert_eq!(settings.get(&TOLERANCE).unwrap(), 1e-7);
        assert_eq!(settings.get(&DIRECTION).unwrap(), Direction::Out);
        assert_eq!(settings.get(&LABELS).unwrap(), None);
        assert_eq!(settings.unread(TABLE), ["maxIterations", "sourceNodes"]);
    }
}

#[test]
#[should_panic(expected = "algo.test has no row for its setting 'sourceNode'")]
fn a_setting_that_the_table_lacks_cannot_be_read() {
    let graph = graph();
    let settings = Settings::new("algo.test", &Value::Null, TABLE.to_vec(), &graph).unwrap();
    drop(settings.get(&SOURCE_NODE));
}

#[test]
fn rows_say_what_they_take_and_what_stands_for_nothing() {
    let shown: Vec<String> = TABLE.iter().map(|row| format!("{}: {}", row.domain(), row.default_text())).collect();
    assert_eq!(
        shown,
        [
            "STRING or LIST OF STRING: all nodes",
            "INTEGER of at least 1: `20`",
            "FLOAT of at least 0: `1e-7`",
            "STRING: 'OUT', 'IN' or 'BOTH': `'OUT'`",
            "NODE, its id, or a LIST of these: all nodes",
        ]
    );
    assert_eq!(Row::aliases(&LABELS), ["nodeLabels"]);
}
