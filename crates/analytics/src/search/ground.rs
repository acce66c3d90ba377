//! The part of a graph that searches have read: nodes numbered as they were met, their edges with their costs, and
//! their coordinates. Edges are fetched in batches when they are first needed, and serve every search after.
//!
//! Nodes that are near each other are met one soon after the other, so that a search over edges already fetched touches
//! little memory.
//! Cost: 28 bytes a node met (36 more with coordinates) and 12 an edge fetched (4 without costs).

use model::batch::EdgeBatch;
use model::course::Course;
use model::error::{Error, Result};
use model::id::{NodeId, PropertyKeyId};
use model::store::{AccessHint, Direction, EdgeIds, Expand, ReadView};

use super::slots::Slots;
use crate::projection::{Projection, Weight, append_numbers};
use crate::sphere::Point;

/// The coordinates of the nodes, for estimates; and for the cost of edges, if there is no weight.
#[derive(Clone, Copy)]
pub(crate) struct Coordinates<'a> {
    pub(crate) latitude: (&'a str, PropertyKeyId),
    pub(crate) longitude: (&'a str, PropertyKeyId),
    /// Lower bound of the cost of a kilometre.
    pub(crate) cost_per_km: f64,
}

/// The part of a graph that is read, and the way in which it is asked for.
pub(crate) struct Reach<'a> {
    pub(crate) view: &'a dyn ReadView,
    pub(crate) projection: Projection,
    pub(crate) weight: Option<&'a Weight>,
    pub(crate) map: Option<Coordinates<'a>>,
    expand: Expand,
    pub(crate) is_remote: bool,
}

impl<'a> Reach<'a> {
    /// Edges of a projection followed one way.
    pub(crate) fn new(
        view: &'a dyn ReadView,
        projection: &Projection,
        direction: Direction,
        weight: Option<&'a Weight>,
        map: Option<Coordinates<'a>>,
    ) -> Reach<'a> {
        let projection = Projection { direction, ..projection.clone() };
        let expand = projection.expand(direction, weight.map_or_else(Vec::new, Weight::keys), EdgeIds::Omit);
        Reach { view, projection, weight, map, expand, is_remote: view.capabilities().is_remote }
    }

    /// Tells the store which nodes will be expanded soon.
    pub(crate) fn announce(&self, nodes: &[NodeId]) {
        self.view.prefetch(&AccessHint::Expand(nodes, &self.expand));
    }

    /// Tells the store where a search goes.
    pub(crate) fn announce_course(&self, course: &Course) {
        self.view.prefetch(&AccessHint::Course(course, &self.expand));
    }

    /// Why an edge between two nodes has no usable cost.
    pub(crate) fn fault(&self, from: NodeId, to: NodeId) -> Error {
        match (self.weight, &self.map) {
            (Some(weight), _) => weight.fault_at(self.view, &self.projection, from),
            (None, Some(map)) => {
                let is_nowhere = |node| matches!(self.points(map, &[node]), Ok(points) if points[0].is_nowhere());
                self.no_coordinates(if is_nowhere(from) { from } else { to })
            }
            (None, None) => model::error!(Internal, "an edge without weight costs something else than 1"),
        }
    }

    /// Why a node has no place on the map.
    pub(crate) fn no_coordinates(&self, node: NodeId) -> Error {
        let Some(map) = &self.map else {
            return model::error!(Internal, "a search without coordinates asked for them");
        };
        for ((name, key), most) in [(map.latitude, 90), (map.longitude, 360)] {
            let value = match self.view.node_properties(&[node], &[key]) {
                Ok(columns) => columns[0].value(0),
                Err(error) => return error,
            };
            let mut number = Vec::new();
            append_numbers(&model::Column::constant(&value, 1), f64::NAN, &mut number);
            if value.is_null() {
                return model::error!(Argument, "node #{} has no property '{name}', which the search needs", node.0)
                    .with_remedy("set it, or name other properties by 'latitudeProperty' and 'longitudeProperty'");
            }
            if number[0].is_nan() || number[0].abs() > f64::from(most) {
                let expected = format!("expected degrees between -{most} and {most}");
                return model::error!(Argument, "node #{} has {value} in property '{name}', {expected}", node.0);
            }
        }
        model::error!(Internal, "node #{} has coordinates that were not seen", node.0)
    }

    fn points(&self, map: &Coordinates<'_>, nodes: &[NodeId]) -> Result<Vec<Point>> {
        let columns = self.view.node_properties(nodes, &[map.latitude.1, map.longitude.1])?;
        let (mut latitudes, mut longitudes) = (Vec::new(), Vec::new());
        append_numbers(&columns[0], f64::NAN, &mut latitudes);
        append_numbers(&columns[1], f64::NAN, &mut longitudes);
        Ok(latitudes.iter().zip(longitudes).map(|(&lat, lon)| Point::from_degrees(lat, lon)).collect())
    }
}

/// State of a node that was met.
#[derive(Clone, Copy, Default)]
pub(crate) struct Row {
    pub(crate) first_edge: u32,
    pub(crate) edge_count: u32,
    /// The search that fetched its edges; 0 before one did.
    pub(crate) fetched_by: u32,
    /// True if the node lacks the labels that were asked for.
    pub(crate) is_out: bool,
}

/// The part of a graph that was read so far.
pub(crate) struct Ground {
    slots: Slots,
    /// For each slot where its edges are, once fetched.
    pub(crate) rows: Vec<Row>,
    /// The slots at the other ends of edges.
    pub(crate) neighbors: Vec<u32>,
    /// The costs of edges, NaN where a cost cannot be told; empty where each costs 1.
    pub(crate) costs: Vec<f64>,
    /// The coordinates of nodes; empty without coordinates.
    pub(crate) points: Vec<Point>,
    buffer: EdgeBatch,
    /// When the oldest of what it holds was read from the source.
    pub(crate) oldest_ns: u64,
    /// The present search, from 1.
    pub(crate) search: u32,
    /// Number of batches of nodes that the store was asked to expand.
    pub(crate) batches: u64,
}

impl Ground {
    /// Nothing met yet.
    pub(crate) fn new(view: &dyn ReadView) -> Ground {
        Ground {
            slots: Slots::new(view),
            rows: Vec::new(),
            neighbors: Vec::new(),
            costs: Vec::new(),
            points: Vec::new(),
            buffer: EdgeBatch::default(),
            oldest_ns: u64::MAX,
            search: 1,
            batches: 0,
        }
    }

    /// Bytes that it holds.
    pub(crate) fn byte_count(&self) -> usize {
        self.slots.byte_count()
            + size_of::<Row>() * self.rows.capacity()
            + 4 * self.neighbors.capacity()
            + 8 * self.costs.capacity()
            + size_of::<Point>() * self.points.capacity()
    }

    /// The slot of a node, given now if it is new; [`Ground::admit`] is to be called before anything is asked about it.
    pub(crate) fn slot(&mut self, node: NodeId) -> u32 {
        self.slots.slot(node)
    }

    /// The slot of a node that was met.
    pub(crate) fn find(&self, node: NodeId) -> Option<u32> {
        self.slots.find(node)
    }

    #[inline]
    pub(crate) fn node(&self, slot: u32) -> NodeId {
        self.slots.node(slot)
    }

    /// Takes nodes in without asking whether they take part.
    pub(crate) fn admit_all(&mut self) {
        self.rows.resize(self.slots.len(), Row::default());
    }

    /// Fetches the edges of some nodes, and what must be known of the nodes at their other ends.
    pub(crate) fn fetch(&mut self, reach: &Reach<'_>, wanted: &[u32]) -> Result<()> {
        let nodes: Vec<NodeId> = wanted.iter().map(|&slot| self.slots.node(slot)).collect();
        self.batches += 1;
        let first_edge = self.neighbors.len();
        let mut cursor = reach.view.expand(&nodes, &reach.expand)?;
        for &slot in wanted {
            self.rows[slot as usize].fetched_by = self.search;
        }
        let mut previous = u32::MAX;
        while cursor.next(&mut self.buffer)? {
            let start = self.neighbors.len();
            if u32::try_from(start + self.buffer.len()).is_err() {
                return Err(model::error!(Limit, "a search has fetched {start} edges, it can hold {}", u32::MAX));
            }
            self.slots.append(&self.buffer.neighbors, &mut self.neighbors);
            if let Some(weight) = reach.weight {
                weight.append(&self.buffer.properties, self.buffer.len(), &mut self.costs);
            }
            for (at, &input) in self.buffer.inputs.iter().enumerate() {
                let row = &mut self.rows[wanted[input as usize] as usize];
                if input != previous {
                    previous = input;
                    row.first_edge = (start + at) as u32;
                }
                row.edge_count += 1;
            }
        }
        drop(cursor);
        self.admit(reach)?;
        if reach.weight.is_none() && reach.map.is_some() {
            self.measure(wanted, first_edge);
        }
        Ok(())
    }

    /// Edges from some place on, which are those of these nodes, cost their lengths.
    fn measure(&mut self, wanted: &[u32], first_edge: usize) {
        self.costs.resize(self.neighbors.len(), 0.0);
        for &slot in wanted {
            let Row { first_edge: start, edge_count, .. } = self.rows[slot as usize];
            debug_assert!(edge_count == 0 || start as usize >= first_edge, "the edges of a node are fetched once");
            for edge in start as usize..(start + edge_count) as usize {
                let neighbor = self.points[self.neighbors[edge] as usize];
                self.costs[edge] = self.points[slot as usize].distance_km(neighbor);
            }
        }
    }

    /// Takes in the nodes met since the last time: whether they take part, and where they lie.
    pub(crate) fn admit(&mut self, reach: &Reach<'_>) -> Result<()> {
        let start = self.rows.len();
        if self.slots.len() == start {
            return Ok(());
        }
        self.admit_all();
        let fresh = self.slots.nodes_from(start);
        if reach.projection.labels.is_some() {
            let admitted = reach.projection.admits(reach.view, fresh)?;
            self.rows[start..].iter_mut().zip(admitted).for_each(|(row, admit)| row.is_out = !admit);
        }
        if let Some(map) = &reach.map {
            self.points.extend(reach.points(map, fresh)?);
        }
        Ok(())
    }
}
