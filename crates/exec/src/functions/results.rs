//! Result types of functions that do not depend on the data. The tests of the functions' examples check them.

use cypher::catalog::ResultType;
use model::{PropertyKind, PropertyType};

use super::{Body, find};

/// Names of functions, and what every value that they give is, besides null.
const RESULTS: &[(ResultType, &[&str])] = &[
    (of(PropertyKind::Boolean), &["hasLabels", "hasAnyLabel", "isAcyclic", "isSimple", "isEmpty", "isNaN", "exists"]),
    (of(PropertyKind::Boolean), &["isOfType", "isNormalized", "toBoolean", "toBooleanOrNull"]),
    (of(PropertyKind::Integer), &["count", "length", "size", "char_length", "character_length", "timestamp"]),
    (of(PropertyKind::Integer), &["id", "sign", "toInteger", "toIntegerOrNull"]),
    (of(PropertyKind::Float), &["atan2", "e", "pi", "rand", "toFloat", "toFloatOrNull"]),
    (of(PropertyKind::Float), &["stDev", "stDevP", "percentileCont"]),
    (of(PropertyKind::String), &["elementId", "type", "replace", "substring", "left", "right", "normalize"]),
    (of(PropertyKind::String), &["valueType", "toString", "toStringOrNull", "randomUUID", "btrim"]),
    (of(PropertyKind::Date), &["date", "date.statement", "date.transaction", "date.realtime"]),
    (of(PropertyKind::LocalTime), &["localtime", "localtime.statement", "localtime.transaction", "localtime.realtime"]),
    (of(PropertyKind::Time), &["time", "time.statement", "time.transaction", "time.realtime"]),
    (
        of(PropertyKind::LocalDateTime),
        &["localdatetime", "localdatetime.statement", "localdatetime.transaction", "localdatetime.realtime"],
    ),
    (
        of(PropertyKind::DateTime),
        &[
            "datetime", "datetime.statement", "datetime.transaction", "datetime.realtime", "datetime.fromEpoch",
            "datetime.fromEpochMillis",
        ],
    ),
    (
        of(PropertyKind::Duration),
        &["duration", "duration.between", "duration.inMonths", "duration.inDays", "duration.inSeconds"],
    ),
    (of(PropertyKind::Uuid), &["uuid"]),
    (of(PropertyKind::Point), &["point"]),
    (of(PropertyKind::Float), &["point.distance"]),
    (of(PropertyKind::Boolean), &["point.withinBBox"]),
    (list_of(PropertyKind::String), &["labels", "keys", "split"]),
    (list_of(PropertyKind::Integer), &["range"]),
    (ResultType::Argument, &["nullIf", "tail", "abs", "reverse", "min", "max", "percentileDisc"]),
    (ResultType::Arguments, &["coalesce"]),
    (ResultType::Element, &["head", "last"]),
    (ResultType::ListOfArgument, &["collect"]),
    (ResultType::Mean, &["avg"]),
    (ResultType::Sum, &["sum"]),
];

const fn of(kind: PropertyKind) -> ResultType {
    ResultType::Always(PropertyType::One(kind))
}

const fn list_of(kind: PropertyKind) -> ResultType {
    ResultType::Always(PropertyType::List(kind))
}

/// The result type of the scalar or aggregate function of that name.
pub fn result_of(name: &str) -> Option<ResultType> {
    let listed = RESULTS.iter().find(|(_, names)| names.contains(&name)).map(|(result, _)| *result);
    listed.or_else(|| match find(name)?.body {
        Body::Float(_) => Some(of(PropertyKind::Float)),
        Body::Text(_) => Some(of(PropertyKind::String)),
        Body::Strict(_) | Body::Lenient(_) | Body::Batch(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_a_function() {
        let catalog = crate::functions::FunctionCatalog::new();
        for name in RESULTS.iter().flat_map(|(_, names)| *names) {
            assert!(catalog.names().contains(name), "no function is called {name}");
        }
    }
}
