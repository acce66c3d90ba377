//! Points: two or three coordinates in one of four coordinate reference systems, and distances between them.
//!
//! Coordinates are finite numbers, and zero has no sign, so that equal points have equal bytes. A longitude lies within
//! -180 to 180 degrees: others are turned around the earth until they do.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::error;
use crate::error::Result;

/// Radius of the earth in metres, as Neo4j has it.
const EARTH_RADIUS: f64 = 6_378_140.0;

/// Names of coordinates in a plane or space, and on the earth.
const PLANE: [&str; 3] = ["x", "y", "z"];
const EARTH: [&str; 3] = ["longitude", "latitude", "height"];
/// The forms of a point, for messages.
const EXPECTED: &str = "expected x and y, with z in space, or longitude and latitude, with height; and crs or srid";
/// The systems, for messages.
const SYSTEMS: &str = "expected cartesian (7203), cartesian-3D (9157), WGS-84 (4326) or WGS-84-3D (4979)";

/// A coordinate reference system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crs {
    /// Degrees of longitude and latitude.
    Wgs84,
    /// Degrees of longitude and latitude, and metres of height.
    Wgs84Height,
    /// Two coordinates of a plane.
    Cartesian,
    /// Three coordinates of space.
    Cartesian3D,
}

impl Crs {
    /// Every system.
    const ALL: [Crs; 4] = [Crs::Wgs84, Crs::Wgs84Height, Crs::Cartesian, Crs::Cartesian3D];

    /// Its number among systems (EPSG; those of cartesian systems are Neo4j's).
    pub fn srid(self) -> u32 {
        match self {
            Crs::Wgs84 => 4326,
            Crs::Wgs84Height => 4979,
            Crs::Cartesian => 7203,
            Crs::Cartesian3D => 9157,
        }
    }

    /// The system of a number.
    ///
    /// # Errors
    /// `ARGUMENT` if there is none.
    pub fn of_srid(srid: i64) -> Result<Crs> {
        let found = Crs::ALL.into_iter().find(|crs| i64::from(crs.srid()) == srid);
        found.ok_or_else(|| error!(Argument, "there is no coordinate reference system {srid}: {SYSTEMS}"))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Crs::Wgs84 => "wgs-84",
            Crs::Wgs84Height => "wgs-84-3d",
            Crs::Cartesian => "cartesian",
            Crs::Cartesian3D => "cartesian-3d",
        }
    }

    /// The system of a name in any case.
    ///
    /// # Errors
    /// `ARGUMENT` if there is none.
    pub fn of_name(name: &str) -> Result<Crs> {
        let found = Crs::ALL.into_iter().find(|crs| crs.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| error!(Argument, "there is no coordinate reference system '{name}': {SYSTEMS}"))
    }

    /// True if coordinates are degrees.
    pub fn is_geographic(self) -> bool {
        matches!(self, Crs::Wgs84 | Crs::Wgs84Height)
    }

    /// Number of coordinates.
    pub fn dimensions(self) -> usize {
        if matches!(self, Crs::Wgs84 | Crs::Cartesian) { 2 } else { 3 }
    }
}

/// A point. Its parts may be out of their bounds where they were read from bytes: see [`Point::is_valid`].
#[derive(Clone, Copy, Debug)]
pub struct Point {
    srid: u32,
    coordinates: [f64; 3],
}

/// The origin of the plane.
impl Default for Point {
    fn default() -> Point {
        Point { srid: Crs::Cartesian.srid(), coordinates: [0.0; 3] }
    }
}

impl Point {
    /// The point at two or three coordinates of a system.
    ///
    /// # Errors
    /// `ARGUMENT` if they are not as many as the system has, not finite, or no place on the earth.
    pub fn new(crs: Crs, coordinates: &[f64]) -> Result<Point> {
        let name = crs.name();
        if coordinates.len() != crs.dimensions() {
            let (wanted, found) = (crs.dimensions(), coordinates.len());
            return Err(error!(Argument, "a point of {name} has {wanted} coordinates, found {found}"));
        }
        if coordinates.iter().any(|number| !number.is_finite()) {
            return Err(error!(Argument, "a coordinate of a point is infinite or NaN: expected a finite number"));
        }
        let mut held = [0.0; 3];
        // Zero without a sign.
        held.iter_mut().zip(coordinates).for_each(|(place, number)| *place = number + 0.0);
        if crs.is_geographic() {
            if held[1].abs() > 90.0 {
                return Err(error!(Argument, "a latitude of {:?} degrees is none", held[1]).with_remedy(
                    "latitudes lie between -90 and 90; the longitude comes first where x and y are given",
                ));
            }
            if held[0].abs() > 180.0 {
                held[0] = (held[0] + 180.0).rem_euclid(360.0) - 180.0 + 0.0;
            }
        }
        Ok(Point { srid: crs.srid(), coordinates: held })
    }

    /// The point of its number of a system, and its coordinates; nothing is checked.
    pub(crate) fn of_parts(srid: u32, coordinates: [f64; 3]) -> Point {
        Point { srid, coordinates }
    }

    /// Number of its coordinate reference system.
    pub fn srid(self) -> u32 {
        self.srid
    }

    /// Its coordinate reference system.
    pub fn crs(self) -> Crs {
        Crs::ALL.into_iter().find(|crs| crs.srid() == self.srid).unwrap_or(Crs::Cartesian)
    }

    /// Its coordinates: x, y and perhaps z; or longitude, latitude and perhaps height.
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates[..self.crs().dimensions()]
    }

    /// All three coordinates, the last 0 where there are two.
    pub(crate) fn all(self) -> [f64; 3] {
        self.coordinates
    }

    /// True if [`Point::new`] makes it.
    pub fn is_valid(self) -> bool {
        let crs = self.crs();
        let bits = |point: Point| point.coordinates.map(f64::to_bits);
        crs.srid() == self.srid && Point::new(crs, self.coordinates()).is_ok_and(|made| bits(made) == bits(self))
    }

    /// The coordinate of a name, as `point.x`: `None` if it has no such.
    pub fn coordinate(&self, name: &str) -> Option<f64> {
        let place = |names: [&str; 3]| names.iter().position(|held| *held == name);
        let place = place(PLANE).or_else(|| place(EARTH).filter(|_| self.crs().is_geographic()))?;
        self.coordinates().get(place).copied()
    }

    /// The point at coordinates with names: `x`, `y` and perhaps `z`, or `longitude`, `latitude` and perhaps `height`; of the
    /// usual coordinate reference system if none is given.
    ///
    /// # Errors
    /// `ARGUMENT` if they make none.
    pub fn of_named(given: &[(&str, f64)], crs: Option<Crs>) -> Result<Point> {
        if let Some((other, _)) = given.iter().find(|(name, _)| !PLANE.contains(name) && !EARTH.contains(name)) {
            return Err(error!(Argument, "a point has no component '{other}': {EXPECTED}"));
        }
        let is_earth = given.iter().any(|(name, _)| EARTH.contains(name));
        let names = if is_earth { EARTH } else { PLANE };
        let number = |name: &str| given.iter().find(|(held, _)| *held == name).map(|(_, number)| *number);
        let coordinates: Vec<f64> = names.into_iter().map_while(number).collect();
        if coordinates.len() < 2 || coordinates.len() < given.len() {
            let names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
            let given = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            return Err(error!(Argument, "a point cannot be made of {given}: {EXPECTED}"));
        }
        let usual = match (is_earth, coordinates.len()) {
            (true, 2) => Crs::Wgs84,
            (true, _) => Crs::Wgs84Height,
            (false, 2) => Crs::Cartesian,
            (false, _) => Crs::Cartesian3D,
        };
        let crs = crs.unwrap_or(usual);
        if is_earth && !crs.is_geographic() {
            return Err(error!(Argument, "{} has no longitude and latitude", crs.name()).with_remedy("give x and y"));
        }
        Point::new(crs, &coordinates)
    }

    /// Reads the text that it displays as; the map in it alone, as `{longitude: 13, latitude: 55.6}`; and
    /// `SRID=4326;POINT (13 55.6)`, the form of well-known text.
    pub fn parse(text: &str) -> Option<Point> {
        let text = text.trim();
        if text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("SRID=")) {
            return of_well_known_text(&text[5..]);
        }
        let inner = text.strip_prefix("point(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(text).trim();
        let inner = inner.strip_prefix('{')?.strip_suffix('}')?;
        let (mut numbers, mut crs) = (Vec::new(), None);
        for entry in inner.split(',') {
            let (key, value) = entry.split_once(':')?;
            let (key, value) = (key.trim(), value.trim());
            let quoted = ['\'', '"'].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
            let named = match key {
                "crs" => Some(Crs::of_name(quoted.unwrap_or(value)).ok()?),
                "srid" => Some(Crs::of_srid(value.parse().ok()?).ok()?),
                _ => None,
            };
            let is_new = match named {
                Some(named) => crs.replace(named).is_none(),
                None => {
                    numbers.push((key, value.parse().ok()?));
                    numbers.iter().filter(|(held, _)| *held == key).count() == 1
                }
            };
            is_new.then_some(())?;
        }
        Point::of_named(&numbers, crs).ok()
    }

    /// Its well-known text with the number of its system, as `SRID=4326;POINT (13.0 55.6)`.
    pub fn well_known_text(&self) -> String {
        let kind = if self.coordinates().len() == 2 { "POINT" } else { "POINT Z" };
        let numbers: Vec<String> = self.coordinates().iter().map(|number| format!("{number:?}")).collect();
        format!("SRID={};{kind} ({})", self.srid, numbers.join(" "))
    }

    /// The distance to another point of the same system, `None` if it is of another one: in a plane or space by
    /// Pythagoras, on the earth in metres along a great circle, with the difference of heights by Pythagoras.
    pub fn distance(&self, other: &Point) -> Option<f64> {
        if self.srid != other.srid {
            return None;
        }
        let (a, b) = (self.coordinates, other.coordinates);
        if !self.crs().is_geographic() {
            return Some((a[0] - b[0]).hypot(a[1] - b[1]).hypot(a[2] - b[2]));
        }
        let (half_x, half_y) = ((b[0] - a[0]).to_radians() / 2.0, (b[1] - a[1]).to_radians() / 2.0);
        // The haversine formula, which is exact for small distances too.
        let chord = half_y.sin().powi(2) + a[1].to_radians().cos() * b[1].to_radians().cos() * half_x.sin().powi(2);
        let angle = 2.0 * chord.min(1.0).sqrt().atan2((1.0 - chord).max(0.0).sqrt());
        let radius = EARTH_RADIUS + f64::midpoint(a[2], b[2]);
        Some((radius * angle).hypot(a[2] - b[2]))
    }

    /// True if it lies in the box between two corners of the same system; `None` if they are of others. Where the lower
    /// corner is east of the upper one, the box crosses the 180th meridian.
    pub fn is_within(&self, lower: &Point, upper: &Point) -> Option<bool> {
        if self.srid != lower.srid || self.srid != upper.srid {
            return None;
        }
        let crosses = self.crs().is_geographic() && lower.coordinates[0] > upper.coordinates[0];
        let is_inside = |place: usize| {
            let (x, low, high) = (self.coordinates[place], lower.coordinates[place], upper.coordinates[place]);
            if crosses && place == 0 { x >= low || x <= high } else { low <= x && x <= high }
        };
        Some((0..3).all(is_inside))
    }
}

/// The point of `4326;POINT (1 2)`.
fn of_well_known_text(text: &str) -> Option<Point> {
    let (srid, shape) = text.split_once(';')?;
    let crs = Crs::of_srid(srid.trim().parse().ok()?).ok()?;
    let (kind, numbers) = shape.trim().strip_suffix(')')?.split_once('(')?;
    let is_point = ["POINT", "POINT Z", "POINTZ"].iter().any(|name| kind.trim().eq_ignore_ascii_case(name));
    let numbers: Option<Vec<f64>> = numbers.split_whitespace().map(|number| number.parse().ok()).collect();
    if is_point { Point::new(crs, &numbers?).ok() } else { None }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("point({")?;
        for (name, number) in PLANE.iter().zip(self.coordinates()) {
            write!(f, "{name}: {number:?}, ")?;
        }
        write!(f, "crs: '{}'}})", self.crs().name())
    }
}

/// By system, then by coordinates.
impl Ord for Point {
    fn cmp(&self, other: &Point) -> Ordering {
        let pairs = self.coordinates.iter().zip(&other.coordinates);
        self.srid
            .cmp(&other.srid)
            .then_with(|| pairs.map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
    }
}

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Point) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Point {
    fn eq(&self, other: &Point) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Point {}

impl Hash for Point {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.srid.hash(state);
        self.coordinates.iter().for_each(|number| number.to_bits().hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::{Crs, Point};

    fn point(text: &str) -> Point {
        Point::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn texts_are_read_and_written() {
        let there = point("{longitude: 12.5, latitude: -55.25}");
        assert_eq!(there.to_string(), "point({x: 12.5, y: -55.25, crs: 'wgs-84'})");
        assert_eq!(there.well_known_text(), "SRID=4326;POINT (12.5 -55.25)");
        for text in [
            "point({x: 1.0, y: 2.0, crs: 'cartesian'})",
            "point({x: 1.0, y: 2.0, z: -3.5, crs: 'cartesian-3d'})",
            "point({x: 1e-300, y: 2.0, z: 5e-324, crs: 'wgs-84-3d'})",
        ] {
            let read = point(text);
            assert_eq!((Point::parse(&read.well_known_text()), read.to_string()), (Some(read), text.to_owned()));
        }
        assert_eq!(point("{ x : 3, y:0, srid: 4326 }"), point("srid=4326;point(3 0)"));
        for wrong in [
            "", "{}", "{x: 1}", "{x: 1, y: 2, w: 3}", "{x: 1, x: 1, y: 2}", "{x: 1, latitude: 2}", "SRID=1;POINT (1 2)",
        ] {
            assert_eq!(Point::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn equal_points_have_equal_bits() {
        assert_eq!(point("{x: -0.0, y: 0}"), point("{x: 0.0, y: 0}"));
        assert_ne!(point("{x: 1, y: 2}"), point("{x: 1, y: 2, crs: 'WGS-84'}"));
        let turned = |longitude: f64| Point::new(Crs::Wgs84, &[longitude, 0.0]).unwrap().coordinates()[0];
        assert_eq!(
            [190.0, -190.0, 540.0, 180.0, -180.0, 360.0].map(turned),
            [-170.0, 170.0, -180.0, 180.0, -180.0, 0.0]
        );
        assert!(Point::new(Crs::Wgs84, &[0.0, 90.5]).is_err());
        assert!(Point::new(Crs::Cartesian, &[f64::NAN, 0.0]).is_err());
        assert!(!Point::of_parts(7203, [0.0, -0.0, 0.0]).is_valid());
        assert!(!Point::of_parts(7203, [0.0, 0.0, 1.0]).is_valid());
        assert!(!Point::of_parts(1, [0.0; 3]).is_valid());
        assert!(!Point::of_parts(4326, [181.0, 0.0, 0.0]).is_valid());
        assert!(point("{x: 1, y: 2, z: 3}").is_valid());
    }

    #[test]
    fn distances_and_boxes() {
        let plane = point("{x: 3, y: 4}").distance(&point("{x: 0, y: 0}")).unwrap();
        assert_eq!(plane, 5.0);
        assert_eq!(point("{x: 2, y: 3, z: 6}").distance(&point("{x: 0, y: 0, z: 0}")), Some(7.0));
        assert_eq!(point("{x: 3, y: 4}").distance(&point("{longitude: 3, latitude: 4}")), None);
        // A quarter of the equator, and the whole height of a tower.
        let quarter = point("{longitude: 0, latitude: 0}").distance(&point("{longitude: 90, latitude: 0}")).unwrap();
        assert!((quarter - super::EARTH_RADIUS * std::f64::consts::FRAC_PI_2).abs() < 1e-6, "{quarter}");
        let [foot, top] =
            ["0", "300"].map(|height| point(&format!("{{longitude: 2, latitude: 48, height: {height}}}")));
        assert_eq!(foot.distance(&top), Some(300.0));
        let opposite = point("{longitude: 0, latitude: 90}").distance(&point("{longitude: 0, latitude: -90}")).unwrap();
        assert!((opposite - super::EARTH_RADIUS * std::f64::consts::PI).abs() < 1e-6, "{opposite}");
        let within =
            |point_text: &str, lower: &str, upper: &str| point(point_text).is_within(&point(lower), &point(upper));
        assert_eq!(within("{x: 1, y: 1}", "{x: 1, y: 0}", "{x: 2, y: 1}"), Some(true));
        assert_eq!(within("{x: 1, y: 1}", "{x: 2, y: 0}", "{x: 0, y: 2}"), Some(false));
        let [fiji, samoa] = ["{longitude: 178, latitude: -18}", "{longitude: -172, latitude: -13}"];
        assert_eq!(within(fiji, "{longitude: 170, latitude: -30}", "{longitude: -170, latitude: 0}"), Some(true));
        assert_eq!(within(samoa, "{longitude: 170, latitude: -30}", "{longitude: -170, latitude: 0}"), Some(true));
        assert_eq!(
            within(
                "{longitude: 0, latitude: -18}", "{longitude: 170, latitude: -30}", "{longitude: -170, latitude: 0}"
            ),
            Some(false)
        );
    }
}
