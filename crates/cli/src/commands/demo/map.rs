//! A map of ranked airports and a route, as SVG.
//!
//! Projection: Albers' equal-area conic with the standard parallels of the contiguous United States (29.5° and 45.5°
//! north, centre 37.5° north 96° west); airports outside its frame are left out.

use svg::Document;
use svg::node::element::{Circle, Group, Polyline, Rectangle, Text, Title};

/// An airport and its PageRank.
pub(super) struct Airport {
    pub(super) code: String,
    pub(super) city: String,
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    pub(super) score: f64,
}

const WIDTH: f64 = 1_100.0;
const HEIGHT: f64 = 700.0;
/// Pixels for a radius of the Earth.
const SCALE: f64 = 1_350.0;
/// Airports with their code beside them.
const NAMED: usize = 10;

/// The picture. `airports` are in order of rank; `route` names stops by code.
pub(super) fn draw(airports: &[Airport], route: &[String]) -> String {
    let background = Rectangle::new().set("width", WIDTH).set("height", HEIGHT).set("fill", "#f4f1ea");
    let mut picture = Document::new().set("viewBox", (0, 0, WIDTH as i64, HEIGHT as i64)).add(background);
    picture = picture.add(circles(airports)).add(line(airports, route)).add(names(airports, route));
    let title = format!("US airports by PageRank over flights; the shortest way by air: {}", route.join(" – "));
    let source = "Data: vega-datasets (BSD-3-Clause), US Bureau of Transportation Statistics, January to June 2001";
    picture =
        picture.add(text(&title, 24.0, 36.0, 20.0, "#222222")).add(text(source, 24.0, HEIGHT - 18.0, 12.0, "#777777"));
    picture.to_string()
}

fn circles(airports: &[Airport]) -> Group {
    let best = airports.first().map_or(1.0, |airport| airport.score);
    let mut group = Group::new().set("fill", "#2a6f97").set("fill-opacity", 0.65);
    for airport in airports {
        let Some((x, y)) = place(airport) else { continue };
        let radius = 1.2 + 17.0 * (airport.score / best).sqrt();
        let name = Title::new(format!("{} {}: {:.4}", airport.code, airport.city, airport.score));
        group = group.add(Circle::new().set("cx", round(x)).set("cy", round(y)).set("r", round(radius)).add(name));
    }
    group
}

/// The route as great circles, each cut into short straight lines.
fn line(airports: &[Airport], route: &[String]) -> Polyline {
    let stops: Vec<&Airport> = stops(airports, route);
    let mut points = Vec::new();
    for pair in stops.windows(2) {
        for step in 0..=32 {
            let (latitude, longitude) = between(pair[0], pair[1], f64::from(step) / 32.0);
            let (x, y) = project(latitude, longitude);
            points.push(format!("{},{}", round(x), round(y)));
        }
    }
    let line = Polyline::new().set("points", points.join(" ")).set("fill", "none").set("stroke", "#d1495b");
    line.set("stroke-width", 3).set("stroke-linejoin", "round")
}

fn names(airports: &[Airport], route: &[String]) -> Group {
    let mut group = Group::new();
    for (rank, airport) in airports.iter().enumerate() {
        let is_stop = route.contains(&airport.code);
        let (Some((x, y)), true) = (place(airport), is_stop || rank < NAMED) else { continue };
        let label = if rank < NAMED { format!("{} {}", rank + 1, airport.code) } else { airport.code.clone() };
        group = group.add(text(&label, x + 7.0, y - 7.0, 14.0, if is_stop { "#a61e33" } else { "#222222" }));
    }
    group
}

fn stops<'a>(airports: &'a [Airport], route: &[String]) -> Vec<&'a Airport> {
    route.iter().filter_map(|code| airports.iter().find(|airport| airport.code == *code)).collect()
}

fn text(content: &str, x: f64, y: f64, size: f64, color: &str) -> Text {
    let text = Text::new(content).set("x", round(x)).set("y", round(y)).set("font-size", size).set("fill", color);
    text.set("font-family", "sans-serif")
}

fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

/// Place of an airport, unless it is outside the frame or flights do not lead there.
fn place(airport: &Airport) -> Option<(f64, f64)> {
    let (x, y) = project(airport.latitude, airport.longitude);
    ((0.0..WIDTH).contains(&x) && (50.0..HEIGHT - 30.0).contains(&y)).then_some((x, y))
}

fn project(latitude: f64, longitude: f64) -> (f64, f64) {
    let radians = f64::to_radians;
    let (first, second, centre) = (radians(29.5), radians(45.5), radians(37.5));
    let n = (first.sin() + second.sin()) / 2.0;
    let c = first.cos().powi(2) + 2.0 * n * first.sin();
    let distance = |latitude: f64| (c - 2.0 * n * latitude.sin()).sqrt() / n;
    let angle = n * radians(longitude + 96.0);
    let rho = distance(radians(latitude));
    (WIDTH / 2.0 + SCALE * rho * angle.sin(), HEIGHT / 2.0 + 10.0 - SCALE * (distance(centre) - rho * angle.cos()))
}

/// The point at a part of the great circle between two airports, as latitude and longitude.
fn between(from: &Airport, to: &Airport, part: f64) -> (f64, f64) {
    let vector = |airport: &Airport| {
        let (latitude, longitude) = (airport.latitude.to_radians(), airport.longitude.to_radians());
        [latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()]
    };
    let (a, b) = (vector(from), vector(to));
    let angle = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>().clamp(-1.0, 1.0).acos();
    if angle == 0.0 {
        return (from.latitude, from.longitude);
    }
    let (left, right) = (((1.0 - part) * angle).sin() / angle.sin(), (part * angle).sin() / angle.sin());
    let point: Vec<f64> = a.iter().zip(b).map(|(x, y)| left * x + right * y).collect();
    (point[2].clamp(-1.0, 1.0).asin().to_degrees(), point[1].atan2(point[0]).to_degrees())
}
