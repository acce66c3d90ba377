//! Pages of the synthetic subject: figures, tables, names from files, and mistakes in files.

use model::{ErrorCode, Interrupt};
use serde_json::Value;
use testing::simulation::CountingClock;

use super::{escape, slug, to_html};
use crate::machine::{DiskLimits, Effort, MachineLimits};
use crate::measure::{MeasureOptions, measure};
use crate::report::{Report, Stored, to_json};
use crate::subject::synthetic::Synthetic;

/// A measurement of a subject of known costs, as JSON.
pub(crate) fn measured() -> Value {
    to_json(&report())
}

fn report() -> Report {
    let options = MeasureOptions { calls_max: 60, cold_calls_max: 20, ..MeasureOptions::new(Effort::Quick) };
    let found = measure(
        &mut Synthetic::new(2_000, 5).with_statements(),
        &options,
        &CountingClock::default(),
        &Interrupt::new(),
    );
    let machine = MachineLimits {
        processor: "a <processor>".to_owned(),
        threads: 2,
        load: "0.1".to_owned(),
        clock_ns: 20.0,
        load_ns: vec![(16 << 10, 1.5), (64 << 10, 4.0), (1 << 20, 12.0), (64 << 20, 95.0)],
        memory_bytes_per_second: 8e9,
        loopback_ns: Some(9_000.0),
        disk: Ok(DiskLimits {
            sequential_bytes_per_second: 1e9,
            random_read_ns: 80_000.0,
            sync_ns: 2e6,
            method: "direct",
        }),
    };
    Report::new(machine, found.expect("it runs"), None)
}

#[test]
fn errors_of_files_keep_something_from_being_measured() {
    let mut report = report();
    assert!(report.unmeasured().is_none());
    report.machine.disk = Err("FILE: there: Permission denied (os error 13)".to_owned());
    report.measurements.runs[0].error = Some("CONNECTION: lost".to_owned());
    assert!(report.unmeasured().is_none());
    for (told, code) in [("IO: cannot lock LOCK: Permission denied", ErrorCode::Io), ("FILE: gone", ErrorCode::File)] {
        report.measurements.runs[1].error = Some(told.to_owned());
        let error = report.unmeasured().expect("a run failed");
        assert!(error.code() == code && told.ends_with(error.message()), "{error}");
    }
    report.machine.disk = Err("DISK_FULL: there: No space left on device".to_owned());
    assert_eq!(report.unmeasured().map(|error| error.code()), Some(ErrorCode::DiskFull));
}

fn stored(value: &Value) -> Stored {
    Stored::read(value).expect("it is what to_json writes")
}

/// Descriptions of the charts in a page.
fn charts(page: &str) -> Vec<Value> {
    let (_, rest) = page.split_once("id=\"charts\">").expect("there are charts");
    let (json, _) = rest.split_once("</script>").expect("they end");
    serde_json::from_str(json).expect("they are JSON")
}

#[test]
fn a_page_has_a_table_under_every_chart_and_names_nothing_outside() {
    let page = to_html(&[stored(&measured())]).expect("it is written");
    let charts = charts(&page);
    let ids: Vec<&str> = charts.iter().filter_map(|chart| chart["id"].as_str()).collect();
    for wanted in
        ["loads", "micro", "graph", "neighbours", "working-sets", "algorithm", "statement", "modelled", "fitted"]
    {
        assert!(ids.contains(&wanted), "{wanted} in {ids:?}");
    }
    assert!(ids.iter().any(|id| id.starts_with("waterfall-0-")), "{ids:?}");
    for id in &ids {
        let figure = page.split(&format!("<figure id=\"{id}\">")).nth(1).expect("the chart has a figure");
        let figure = figure.split("</figure>").next().expect("a text has a start");
        assert!(figure.contains(&format!("data-chart=\"{id}\"")) && figure.contains("<tbody>\n<tr>"), "{figure}");
    }
    assert!(page.contains("a &lt;processor&gt;") && !page.contains("a <processor>"));
    for outside in ["src=\"", "href=\"http", "@import", "url("] {
        let own = page.split("<script>").next().expect("a text has a start");
        assert!(!own.contains(outside), "{outside}");
    }
    assert!(page.contains("Apache License, Version 2.0"));
}

#[test]
fn several_subjects_stand_side_by_side() {
    let one = measured();
    let mut two = one.clone();
    two["dataset"]["nodes"] = 5.into();
    two["machine"]["processor"] = "another".into();
    two["findings"] = serde_json::json!([
        {"rule": "step", "operation": "x", "sentence": "</script><b>slow</b>", "figure": 1.0, "threshold": 1.0}
    ]);
    two["runs"][3]["error"] = "it <ended>".into();
    let page = to_html(&[stored(&one), stored(&two)]).expect("it is written");
    let micro = charts(&page).into_iter().find(|chart| chart["id"] == "micro-api").expect("there is a chart");
    assert_eq!(micro["chart"]["series"].as_array().map(Vec::len), Some(2));
    assert_ne!(micro["chart"]["series"][0]["name"], micro["chart"]["series"][1]["name"], "names are told apart");
    for expected in
        ["×1.00", "The machines differ", "The graphs differ in size", "it &lt;ended&gt;", "href=\"#working-sets\""]
    {
        assert!(page.contains(expected), "{expected}");
    }
    let mut other = stored(&one);
    other.system = "another system 7 (of a vendor)".into();
    let page = to_html(&[stored(&one), other]).expect("it is written");
    let micro = charts(&page).into_iter().find(|chart| chart["id"] == "micro-api").expect("there is a chart");
    assert_eq!(micro["chart"]["series"][1]["name"], "another system 7");
    let page = to_html(&[stored(&one), stored(&two)]).expect("it is written");
    assert!(!page.contains("<b>slow</b>") && page.contains("&lt;/script&gt;&lt;b&gt;slow"));
}

#[test]
fn the_waterfall_ends_at_the_time_of_the_statement() {
    let page = to_html(&[stored(&measured())]).expect("it is written");
    for chart in charts(&page).iter().filter(|chart| chart["chart"]["kind"] == "waterfall") {
        let steps = chart["chart"]["steps"].as_array().expect("there are steps");
        let number = |at: usize, key: &str| steps[at][key].as_f64().expect("it is a number");
        let last = steps.len() - 1;
        assert!((number(last - 1, "to") - number(last, "to")).abs() < 1e-6 && number(last, "from") == 0.0, "{chart}");
        assert!((1..last).all(|at| number(at, "from") == number(at - 1, "to")), "{chart}");
    }
}

#[test]
fn a_subject_without_runs_makes_a_page() {
    let mut none = measured();
    for key in ["runs", "sweep", "predictions", "judgements", "findings", "fits"] {
        none[key] = serde_json::json!([]);
    }
    let page = to_html(&[stored(&none)]).expect("it is written");
    assert!(page.contains("None: no rule is past its threshold."));
    assert_eq!(charts(&page).len(), 1, "the limits of the machine are all there is");
}

#[test]
fn what_is_wrong_in_a_file_is_told_by_its_place() {
    let whole = measured();
    let told = |change: &dyn Fn(&mut Value)| {
        let mut value = whole.clone();
        change(&mut value);
        Stored::read(&value).expect_err("it is wrong").message().to_owned()
    };
    assert_eq!(
        told(&|value| value["schema"] = "other/1".into()),
        "expected the schema 'knotwork-bench/1', found 'other/1'"
    );
    assert_eq!(told(&|value| *value = 1.into()), "expected the schema 'knotwork-bench/1', found none");
    assert_eq!(
        told(&|value| value["runs"][2]["p50Ns"] = "fast".into()),
        "runs[2].p50Ns: expected a number, found a string"
    );
    assert_eq!(
        told(&|value| value["machine"]["limits"]["loads"] = Value::Null),
        "machine.limits.loads: expected a list, found null"
    );
    assert_eq!(told(&|value| drop(value.as_object_mut().expect("an object").remove("leftOut"))), "leftOut is missing");
}

#[test]
fn texts_are_escaped() {
    assert_eq!(escape("<a href=\"x\">'&'</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    assert_eq!(slug("2-hop Out, by type"), "2-hop-out--by-type");
}
