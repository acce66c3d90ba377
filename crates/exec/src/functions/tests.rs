//! The examples of all functions, and the page made of them.

use std::path::Path;
use std::sync::Arc;

use cypher::catalog::{Catalog, CompileContext, FunctionSignature};
use cypher::plan::Statement;
use model::Interrupt;
use model::procedure::{GraphAccess, ProcedureSignature, Procedures};
use testing::simulation::CountingClock;

use super::{FunctionCatalog, find, manual, scalar_functions};
use crate::expression::tests::{Fixture, shown};
use crate::{Environment, QueryMemory, RunSettings};

#[test]
fn examples_give_what_they_say() {
    let fixture = Fixture::new();
    for function in scalar_functions() {
        for (text, expected) in function.examples {
            let value = fixture.example(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
            assert_eq!(value.to_string(), *expected, "{text}");
            assert!(text.contains(function.name), "an example of {} does not call it: {text}", function.name);
        }
    }
}

/// The functions as the compiler asks for them; there are no procedures.
struct FunctionsOnly(FunctionCatalog);

impl Catalog for FunctionsOnly {
    fn function(&self, name: &str) -> Option<&FunctionSignature> {
        self.0.function(name)
    }

    fn result_of(&self, function: &str) -> Option<cypher::catalog::ResultType> {
        super::result_of(function)
    }

    fn function_names(&self) -> Vec<&str> {
        self.0.names().to_vec()
    }

    fn procedure(&self, _: &str) -> Option<&ProcedureSignature> {
        None
    }

    fn procedure_names(&self) -> Vec<&str> {
        Vec::new()
    }
}

#[test]
fn examples_run_as_queries() {
    let fixture = Fixture::new();
    let catalog = FunctionsOnly(FunctionCatalog::new());
    let names = ["n", "r", "p"].map(Arc::<str>::from);
    let parameters = names.into_iter().zip(fixture.example_values()).collect();
    let (schema, statistics) = (fixture.view.schema(), fixture.view.statistics());
    let (capabilities, interrupt) = (fixture.view.capabilities(), model::Interrupt::new());
    let compile_context =
        CompileContext { catalog: &catalog, schema, statistics, capabilities, interrupt: &interrupt, seen: &[] };
    let clock = CountingClock::default();
    let environment = Environment {
        parameters: &parameters,
        procedures: &Procedures::default(),
        interrupt: &Interrupt::new(),
        clock: &clock,
        settings: RunSettings::default(),
        memory: &QueryMemory::unlimited(),
        transactions: None,
        replanner: None,
    };
    for (text, expected) in scalar_functions().flat_map(|function| function.examples) {
        let query = format!("WITH $n AS n, $r AS r, $p AS p RETURN {text} AS value");
        let statement = cypher::compile(&query, &compile_context).unwrap_or_else(|e| panic!("{}", e.render(&query)));
        let Statement::Query(_, plan) = statement else { panic!("{query} is a query") };
        let mut found = Vec::new();
        let outcome = crate::run(&plan, GraphAccess::Read(&*fixture.view), environment, &mut |_, columns| {
            for value in columns[0].values() {
                assert!(plan.is_as_told(0, &value), "{query} gives {value}, told was {:?}", plan.column_types[0]);
                found.push(value.to_string());
            }
            Ok(true)
        });
        outcome.unwrap_or_else(|error| panic!("{}", error.render(&query)));
        assert_eq!(found, [*expected], "{query}");
    }
}

#[test]
fn functions_of_null_are_null() {
    let fixture = Fixture::new();
    let exceptions = ["coalesce", "valueType", "exists", "datetime", "mapEntry", "isOfType"];
    for function in scalar_functions().filter(|function| !exceptions.contains(&function.name)) {
        for count in function.arguments_min.max(1)..=function.arguments_max.unwrap_or(3) {
            let call = format!("{}({})", function.name, vec!["null"; count].join(", "));
            assert_eq!(fixture.constant(&call).unwrap().to_string(), "null", "{call}");
        }
    }
}

#[test]
fn names_are_unique_and_found_in_any_case() {
    let catalog = FunctionCatalog::new();
    let mut names: Vec<String> = catalog.names().iter().map(|name| name.to_lowercase()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), catalog.names().len());
    assert_eq!(find("TOUPPER").unwrap().name, "toUpper");
    assert_eq!(catalog.function("PERCENTILEcont").unwrap().arguments_min, 2);
}

#[test]
fn arguments_outside_their_range_are_errors() {
    let fixture = Fixture::new();
    for (text, code, part) in [
        ("left('a', -1)", "ARGUMENT", "the length of left() is -1: expected 0 or more"),
        ("substring('a', -1)", "ARGUMENT", "the start of substring() is -1"),
        ("range(1, 2, 0)", "ARGUMENT", "the step of range() is 0"),
        ("range(1, 9223372036854775807)", "LIMIT", "a list holds at most 100000000"),
        ("round(1.5, -1)", "ARGUMENT", "round() to -1 digits"),
        ("round(1.5, 0, 'SIDEWAYS')", "ARGUMENT", "no mode 'SIDEWAYS'"),
        ("date('2001-02-30')", "ARGUMENT", "date('2001-02-30') has no value"),
        ("date({month: 2})", "ARGUMENT", "without 'year'"),
        ("date({year: 2001, moth: 2})", "ARGUMENT", "with 'moth'"),
        ("date({year: 2001, month: 2, day: 30})", "ARGUMENT", "there is no day 30 in month 2 of 2001"),
        ("localdatetime({year: 2001, hour: 24})", "ARGUMENT", "hour is 24: expected 0 to 23"),
        ("datetime({epochSeconds: 1, year: 2001})", "ARGUMENT", "'year' stands beside an epoch"),
        ("time({hour: 1, second: 2})", "ARGUMENT", "'second' stands without 'minute'"),
        ("abs(-9223372036854775807 - 1)", "ARITHMETIC", "does not fit"),
        ("toInteger([1])", "TYPE", "takes a number, string or boolean, found LIST"),
        ("toString({})", "TYPE", "found MAP"),
        ("size(1)", "TYPE", "takes a list or a string, found INTEGER"),
        ("sqrt('a')", "TYPE", "sqrt() takes a number, found STRING"),
        ("keys(1)", "TYPE", "INTEGER has no properties"),
    ] {
        let error = match fixture.constant(text) {
            Ok(value) => panic!("{text} gives {value}"),
            Err(error) => error,
        };
        assert_eq!(error.code().name(), code, "{text}: {error}");
        assert!(error.message().contains(part), "{text}: {error}");
        assert!(error.span().is_some(), "{text}: {error}");
    }
}

#[test]
fn functions_work_on_columns_as_on_values() {
    let fixture = Fixture::new();
    let column = |text: &str| super::super::expression::tests::columns(&fixture, &[("x", text)]);
    for (values, text, expected) in [
        ("['a', null, 'Bc']", "toUpper(x)", "['A', null, 'BC']"),
        ("['a', null, 'Bcé']", "size(x)", "[1, null, 3]"),
        ("[[1], null, 'ab']", "size(x)", "[1, null, 2]"),
        ("[4, null, 2.25]", "sqrt(x)", "[2.0, null, 1.5]"),
        ("[4.0, null, 2.25]", "floor(x)", "[4.0, null, 2.0]"),
        ("[4, null, 9]", "ceil(x)", "[4.0, null, 9.0]"),
        ("['1', 2.7, null, true]", "toInteger(x)", "[1, 2, null, 1]"),
        ("[0.5, 1.5, 2.5, -0.5, -2.5]", "round(x)", "[1.0, 2.0, 3.0, 0.0, -2.0]"),
        ("[0.5, 1.5, -0.5, -2.5]", "round(x, 0)", "[1.0, 2.0, 0.0, -2.0]"),
        ("[0.5, 1.5, 2.5, -2.5]", "round(x, 0, 'half_even')", "[0.0, 2.0, 2.0, -2.0]"),
        ("[9.99, 1.005, 0.125]", "round(x, 2, 'HALF_DOWN')", "[9.99, 1.0, 0.12]"),
        ("[9.995, 99.999]", "round(x, 2)", "[10.0, 100.0]"),
        ("['a,b', null, '']", "split(x, ',')", "[['a', 'b'], null, ['']]"),
        ("['ab', null, 'c']", "substring(x, 1)", "['b', null, '']"),
    ] {
        fixture.check(&column(values), text, expected);
    }
    assert_eq!(shown(&[fixture.constant("rand() = rand()").unwrap()]), "[false]");
}

#[test]
fn the_manual_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    testing::golden::check_text(&page, &manual());
}
