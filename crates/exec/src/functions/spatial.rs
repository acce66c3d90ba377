//! Functions of points.

use model::point::{Crs, Point};
use model::value::MapValue;
use model::{Result, Value, error};

use super::{Body, Function, mismatch};

pub(super) const FUNCTIONS: &[&Function] = &[&POINT, &DISTANCE, &WITHIN_BOX];

const POINT: Function = Function {
    name: "point",
    arguments_min: 1,
    arguments_max: Some(1),
    usage: "point(map)",
    description: "The point at `x` and `y` (and `z`) or at `longitude` and `latitude` (and `height`), in the coordinate \
                  reference system that `crs` names or `srid` numbers: cartesian, cartesian-3D, WGS-84 or WGS-84-3D. \
                  Null if a component is null. Other entries are passed over.",
    examples: &[
        ("point({x: 3, y: 0})", "point({x: 3.0, y: 0.0, crs: 'cartesian'})"),
        ("point({longitude: 12.5, latitude: 55.6}).srid", "4326"),
        ("point({x: 12.5, y: 55.6, crs: 'WGS-84'}).latitude", "55.6"),
        ("point({x: 1, y: null})", "null"),
        ("point({x: 1, y: 2, name: 'stop'}).y", "2.0"),
    ],
    body: Body::Strict(|values| match &values[0] {
        Value::Map(map) => of_map(map),
        Value::Point(_) => Ok(values[0].clone()),
        other => Err(mismatch("point", "a map", other)),
    }),
};

const DISTANCE: Function = Function {
    name: "point.distance",
    arguments_min: 2,
    arguments_max: Some(2),
    usage: "point.distance(from, to)",
    description: "The distance between two points of one coordinate reference system, on the earth in metres along a \
                  great circle; null between points of different systems.",
    examples: &[
        ("point.distance(point({x: 0, y: 0}), point({x: 3, y: 4}))", "5.0"),
        ("point.distance(point({x: 0, y: 0}), point({longitude: 0, latitude: 0}))", "null"),
    ],
    body: Body::Strict(|values| {
        let (from, to) = (of(&values[0], "point.distance")?, of(&values[1], "point.distance")?);
        Ok(from.distance(&to).map_or(Value::Null, Value::Float))
    }),
};

const WITHIN_BOX: Function = Function {
    name: "point.withinBBox",
    arguments_min: 3,
    arguments_max: Some(3),
    usage: "point.withinBBox(point, lowerLeft, upperRight)",
    description: "True if a point lies in the box between two corners, its edges included; null if the coordinate \
                  reference systems differ. A box on the earth whose lower left corner is east of the other crosses \
                  the 180th meridian.",
    examples: &[
        ("point.withinBBox(point({x: 1, y: 1}), point({x: 0, y: 0}), point({x: 2, y: 1}))", "true"),
        ("point.withinBBox(point({x: 1, y: 3}), point({x: 0, y: 0}), point({x: 2, y: 1}))", "false"),
    ],
    body: Body::Strict(|values| {
        let name = "point.withinBBox";
        let [point, lower, upper] = [of(&values[0], name)?, of(&values[1], name)?, of(&values[2], name)?];
        Ok(point.is_within(&lower, &upper).map_or(Value::Null, Value::Bool))
    }),
};

/// Entries of a map that make a point; others are passed over, so that the properties of a node can be given.
const COMPONENTS: [&str; 8] = ["x", "y", "z", "longitude", "latitude", "height", "crs", "srid"];

/// The point of a map; null if a component is.
fn of_map(map: &MapValue) -> Result<Value> {
    let mut numbers = Vec::with_capacity(map.len());
    let mut systems = Vec::new();
    for (name, value) in map.iter().filter(|(name, _)| COMPONENTS.contains(&&***name)) {
        match (&**name, value) {
            (_, Value::Null) => return Ok(Value::Null),
            ("crs", Value::String(name)) => systems.push(Crs::of_name(name)?),
            ("srid", Value::Int(number)) => systems.push(Crs::of_srid(*number)?),
            (name, Value::Float(number)) if !["crs", "srid"].contains(&name) => numbers.push((name, *number)),
            (name, Value::Int(number)) if name != "crs" => numbers.push((name, *number as f64)),
            (name, other) => {
                let expected = match name {
                    "crs" => "a string",
                    "srid" => "an integer",
                    _ => "a number",
                };
                return Err(error!(Type, "{name} of a point is {}: expected {expected}", other.type_name()));
            }
        }
    }
    if systems.len() > 1 {
        return Err(error!(Argument, "a point has crs and srid: expected one of them"));
    }
    Point::of_named(&numbers, systems.first().copied()).map(Value::Point)
}

fn of(value: &Value, function: &str) -> Result<Point> {
    match value {
        Value::Point(point) => Ok(*point),
        other => Err(mismatch(function, "points", other)),
    }
}
