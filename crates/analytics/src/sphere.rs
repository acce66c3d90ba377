//! Great-circle distances on a sphere of 6371 km, from degrees of latitude and longitude.
//!
//! The paper's formula, `R · acos(sin a₁ sin b₁ + cos a₁ cos b₁ cos(a₂ − b₂))`, loses all digits for points a few
//! metres apart, where `acos` is flat. Points are kept as unit vectors instead, and the same angle is taken from the
//! chord between them: `2 R · asin(|a − b| / 2)`. The error is about a nanometre at any distance up to a quarter of
//! the Earth, and up to a decimetre for points on opposite sides of it.
//!
//! Cost: two sines and two cosines a point, once; then a square root and a short polynomial a distance.
//! After: Yoneki, Roy, "A unified graph query layer for multiple databases", 2012, section 3.2.

/// The radius of the sphere in kilometres.
pub(crate) const RADIUS_KM: f64 = 6371.0;

/// A point on the unit sphere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point([f64; 3]);

impl Point {
    /// The point that stands for one whose coordinates are missing: every distance to it is NaN.
    pub(crate) const NOWHERE: Point = Point([f64::NAN; 3]);

    /// The point at these degrees; [`Point::NOWHERE`] if they are not degrees.
    pub(crate) fn from_degrees(latitude: f64, longitude: f64) -> Point {
        if !(latitude.abs() <= 90.0 && longitude.abs() <= 360.0) {
            return Point::NOWHERE;
        }
        let (sin_latitude, cos_latitude) = latitude.to_radians().sin_cos();
        let (sin_longitude, cos_longitude) = longitude.to_radians().sin_cos();
        Point([cos_latitude * cos_longitude, cos_latitude * sin_longitude, sin_latitude])
    }

    /// Latitude and longitude in degrees.
    pub(crate) fn degrees(self) -> [f64; 2] {
        let [x, y, z] = self.0;
        [z.clamp(-1.0, 1.0).asin().to_degrees(), y.atan2(x).to_degrees()]
    }

    /// True if it is [`Point::NOWHERE`].
    pub(crate) fn is_nowhere(self) -> bool {
        self.0[0].is_nan()
    }

    /// The great-circle distance to another point, in kilometres.
    #[inline]
    pub(crate) fn distance_km(self, other: Point) -> f64 {
        let [x, y, z] = [self.0[0] - other.0[0], self.0[1] - other.0[1], self.0[2] - other.0[2]];
        let half_chord = 0.5 * (x * x + y * y + z * z).sqrt();
        2.0 * RADIUS_KM * arc_sine(half_chord)
    }
}

/// The arc sine of a number from 0; the Taylor series is exact to a double below 0.05, which is 637 km.
#[inline]
fn arc_sine(x: f64) -> f64 {
    if x < 0.05 {
        let square = x * x;
        let tail = 15.0 / 336.0 + square * (105.0 / 3456.0 + square * (945.0 / 42240.0));
        return x * (1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0 + square * tail)));
    }
    if x > 1.0 { std::f64::consts::FRAC_PI_2 } else { x.asin() }
}

#[cfg(test)]
mod tests {
    use super::{Point, RADIUS_KM};

    fn by_the_papers_formula(a: (f64, f64), b: (f64, f64)) -> f64 {
        let [a0, a1, b0, b1] = [a.0, a.1, b.0, b.1].map(f64::to_radians);
        RADIUS_KM * (a0.sin() * b0.sin() + a0.cos() * b0.cos() * (a1 - b1).cos()).clamp(-1.0, 1.0).acos()
    }

    fn check(a: (f64, f64), b: (f64, f64), tolerance: f64) {
        let found = Point::from_degrees(a.0, a.1).distance_km(Point::from_degrees(b.0, b.1));
        let expected = by_the_papers_formula(a, b);
        assert!((found - expected).abs() <= tolerance, "{a:?} {b:?}: {found}, expected {expected}");
    }

    #[test]
    fn agrees_with_the_papers_formula() {
        check((41.9, 12.5), (41.9, 12.5), 1e-3);
        check((41.9, 12.5), (42.0, 12.4), 1e-6);
        check((41.9, 12.5), (52.4, 4.9), 1e-9);
        check((40.6, -73.8), (-33.9, 151.2), 1e-8);
        check((0.0, 179.9), (0.0, -179.9), 1e-6);
        check((0.0, 0.0), (0.0, 180.0), 1e-3);
        check((90.0, 0.0), (-90.0, 77.0), 1e-3);
        check((10.0, 350.0), (10.0, -10.0), 1e-3);
    }

    #[test]
    fn is_exact_for_a_metre() {
        let metre = 1e-3 / (RADIUS_KM * 1f64.to_radians());
        let found = Point::from_degrees(41.9, 12.5).distance_km(Point::from_degrees(41.9 + metre, 12.5));
        assert!((found - 1e-3).abs() < 1e-11, "{found}");
    }

    #[test]
    fn what_is_not_degrees_is_nowhere() {
        for (latitude, longitude) in [(91.0, 0.0), (f64::NAN, 0.0), (0.0, 12_245_848.0)] {
            assert!(Point::from_degrees(latitude, longitude).distance_km(Point::from_degrees(0.0, 0.0)).is_nan());
        }
    }
}
