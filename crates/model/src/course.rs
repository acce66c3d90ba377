//! The course of a search over places, told to a store so that it can have ready what lies on the way.

use crate::id::PropertyKeyId;

/// The radius of the sphere in kilometres.
const RADIUS_KM: f64 = 6371.0;

/// A search from one place to another: it will come to nodes about in the order of [`Course::order_at`]. A hint only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The properties that hold latitude and longitude, in degrees.
    pub properties: [PropertyKeyId; 2],
    /// Latitude and longitude of where it begins.
    pub from: [f64; 2],
    /// Latitude and longitude of where it goes.
    pub to: [f64; 2],
    /// Cost of a kilometre away from the beginning, as far as is known.
    pub cost_per_km: f64,
    /// Least cost that the search assumes for a kilometre before the end.
    pub estimate_per_km: f64,
}

impl Course {
    /// About what a path over a place costs as far as the search can tell; it comes to places where that is less sooner.
    pub fn order_at(&self, latitude: f64, longitude: f64) -> f64 {
        self.order().at(latitude, longitude)
    }

    /// The same for many places.
    pub fn order(&self) -> CourseOrder {
        CourseOrder {
            from: point(self.from),
            to: point(self.to),
            cost_per_km: self.cost_per_km,
            estimate_per_km: self.estimate_per_km,
        }
    }
}

/// The order in which a search comes to places.
#[derive(Clone, Copy, Debug)]
pub struct CourseOrder {
    from: [f64; 3],
    to: [f64; 3],
    cost_per_km: f64,
    estimate_per_km: f64,
}

impl CourseOrder {
    /// Position of a place in the order, as [`Course::order_at`].
    pub fn at(&self, latitude: f64, longitude: f64) -> f64 {
        let place = point([latitude, longitude]);
        distance_km(place, self.from) * self.cost_per_km + distance_km(place, self.to) * self.estimate_per_km
    }
}

fn point([latitude, longitude]: [f64; 2]) -> [f64; 3] {
    let (sin_latitude, cos_latitude) = latitude.to_radians().sin_cos();
    let (sin_longitude, cos_longitude) = longitude.to_radians().sin_cos();
    [cos_latitude * cos_longitude, cos_latitude * sin_longitude, sin_latitude]
}

/// Along the chord, which is no shorter than the way over the sphere by more than a part in a thousand up to 1,000 km.
fn distance_km(a: [f64; 3], b: [f64; 3]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    RADIUS_KM * squares.sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::Course;
    use crate::id::PropertyKeyId;

    #[test]
    fn places_between_come_before_those_behind() {
        let properties = [PropertyKeyId(0), PropertyKeyId(1)];
        let course = Course { properties, from: [45.0, 8.0], to: [45.0, 9.0], cost_per_km: 1.3, estimate_per_km: 1.0 };
        let order = |latitude, longitude| course.order_at(latitude, longitude);
        assert!(order(45.0, 8.0) < order(45.0, 8.5), "the nearer to the beginning, the sooner");
        assert!(order(45.0, 8.5) < order(45.0, 9.0));
        assert!(order(45.0, 8.2) < order(45.0, 7.8), "what lies ahead comes before what lies behind");
        assert!((order(45.0, 8.0) - 78.63).abs() < 0.01, "{}", order(45.0, 8.0));
    }
}
