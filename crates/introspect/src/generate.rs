//! Generated graphs: Barabási–Albert, Kronecker, Erdős–Rényi, ratings, social and universities, with properties from
//! distributions.
//!
//! - `shapes`: the ends of edges.
//! - `lubm`: universities.
//! - `properties`: values of properties.
//! - `output`: files and stores.
//!
//! Invariant: all is a function of the seed, the kind and the number of the node or edge. So the same seed gives the same
//! bytes, and any part can be made alone. Cost: the memory of one piece of rows, whatever the size of the graph.

mod lubm;
mod output;
mod properties;
mod shapes;

use std::ops::Range;
use std::sync::Arc;

use model::{Column, ColumnData, Result, error};

use crate::random::Stream;
use lubm::{RELATIONS, TABLES, Table, Universities};
use shapes::Shape;

pub use output::{GeneratedSummary, write_files, write_store};
pub(crate) use output::{KEY, load_edges, load_nodes};
pub use properties::Distribution;

/// Nodes that a graph may have: pairs of them are numbered in 64 bits.
const NODES_MAX: u64 = u32::MAX as u64;
/// Edges that a graph may have.
const EDGES_MAX: u64 = 1 << 48;
/// Persons for each product of ratings.
const USERS_PER_PRODUCT: u64 = 10;
/// Initiator of Kronecker graphs unless one is given: that of Graph 500.
pub const INITIATOR: [f64; 4] = [0.57, 0.19, 0.19, 0.05];

/// Kind of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphKind {
    /// Degrees of a power law, by preferential attachment (Barabási–Albert).
    Barabasi,
    /// Degrees of the web, by a stochastic Kronecker product (R-MAT).
    Kronecker,
    /// Even degrees: G(n, m) of Erdős and Rényi.
    Erdos,
    /// Users who rate products.
    Ratings,
    /// Persons and their friends.
    Social,
    /// Universities, their departments, staff, students and courses (LUBM).
    Lubm,
}

/// Description of a graph to generate.
#[derive(Clone, Debug)]
pub struct GraphOptions {
    /// Kind of the graph.
    pub kind: GraphKind,
    /// Number of nodes; of users or persons, where there are such. A Kronecker graph takes the next power of two, universities
    /// the next whole department.
    pub nodes: u64,
    /// Edges for each node; `None` for the default of the kind.
    pub edges_per_node: Option<u64>,
    /// Probabilities of the quarters of the adjacency matrix of a Kronecker graph: they are divided by their sum.
    pub initiator: [f64; 4],
    /// The same seed gives the same graph.
    pub seed: u64,
    /// Properties of all nodes beside those of the kind; `None` for the default of the kind.
    pub properties: Option<Vec<(String, Distribution)>>,
    /// Properties of all edges beside those of the kind; `None` for the default of the kind.
    pub edge_properties: Option<Vec<(String, Distribution)>>,
    /// Number of edge types, over which edges are spread evenly.
    pub edge_types: u64,
}

impl GraphOptions {
    /// A graph of that kind and size, the rest by default.
    pub fn new(kind: GraphKind, nodes: u64) -> GraphOptions {
        GraphOptions {
            kind,
            nodes,
            edges_per_node: None,
            initiator: INITIATOR,
            seed: 1,
            properties: None,
            edge_properties: None,
            edge_types: 1,
        }
    }
}

/// Reads a count as `1000`, `10k`, `1M` or `2G`.
///
/// # Errors
/// `ARGUMENT` if it is none.
pub fn parse_count(text: &str) -> Result<u64> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        Some((at, 'g' | 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let parsed = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    parsed.ok_or_else(|| error!(Argument, "'{text}' is no count").with_remedy("give a number, as 1000, 10k, 1M or 2G"))
}

/// A property of a table.
#[derive(Clone, Debug)]
struct Property {
    name: String,
    distribution: Distribution,
    stream: Stream,
}

/// Rows that are made when they are asked for.
pub(crate) trait Rows: Sync {
    /// Number of rows.
    fn row_count(&self) -> u64;
    /// The names of the columns.
    fn names(&self) -> Vec<String>;
    /// The columns of a part of the rows.
    fn columns(&self, rows: Range<u64>) -> Vec<Column>;
}

/// Nodes of one label.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    pub(crate) label: &'static str,
    count: u64,
    /// The universities whose professors these are, with their ranks as a property.
    ranks: Option<Arc<Universities>>,
    properties: Vec<Property>,
}

/// The property with the rank of a professor.
const RANK: &str = "rank";

impl Rows for Nodes {
    fn row_count(&self) -> u64 {
        self.count
    }

    fn names(&self) -> Vec<String> {
        let rank = self.ranks.iter().map(|_| RANK.to_owned());
        let properties = self.properties.iter().map(|property| property.name.clone());
        std::iter::once("id".to_owned()).chain(rank).chain(properties).collect()
    }

    fn columns(&self, rows: Range<u64>) -> Vec<Column> {
        let ids = Column::new(ColumnData::Int(rows.clone().map(u64::cast_signed).collect()));
        let values = |property: &Property| property.distribution.column(property.stream, rows.clone(), self.count);
        let ranks = self.ranks.iter().map(|universities| universities.ranks(&rows));
        std::iter::once(ids).chain(ranks).chain(self.properties.iter().map(values)).collect()
    }
}

/// Edges of one type, between nodes of two labels.
#[derive(Clone, Debug)]
pub(crate) struct Edges {
    pub(crate) edge_type: String,
    pub(crate) source_label: &'static str,
    pub(crate) target_label: &'static str,
    ends: Ends,
    properties: Vec<Property>,
}

/// The rule by which edges have their ends.
#[derive(Clone, Debug)]
enum Ends {
    /// Edges of a shape that fall to one type.
    Shape(Turns),
    /// A relation of universities, by its number.
    Relation(Arc<Universities>, usize),
}

/// The edges of a shape that fall to one of several types.
#[derive(Clone, Debug)]
struct Turns {
    shape: Arc<Shape>,
    /// Edges of all types.
    total: u64,
    /// The number of the type, and of all types.
    part: (u64, u64),
    turns: Stream,
}

impl Turns {
    /// Place of this type among the edges of a round: each type has one edge of each round, at a random place.
    fn place(&self, round: u64) -> u64 {
        let (number, count) = self.part;
        (number + self.turns.below(round, count)) % count
    }

    fn ends(&self, row: u64) -> (u64, u64) {
        self.shape.ends(row * self.part.1 + self.place(row))
    }

    fn count(&self) -> u64 {
        let (rounds, rest) = (self.total / self.part.1, self.total % self.part.1);
        rounds + u64::from(self.place(rounds) < rest)
    }
}

impl Rows for Edges {
    fn row_count(&self) -> u64 {
        match &self.ends {
            Ends::Shape(turns) => turns.count(),
            Ends::Relation(universities, relation) => universities.edges(*relation),
        }
    }

    fn names(&self) -> Vec<String> {
        let properties = self.properties.iter().map(|property| property.name.clone());
        ["source".to_owned(), "target".to_owned()].into_iter().chain(properties).collect()
    }

    fn columns(&self, rows: Range<u64>) -> Vec<Column> {
        let ends = match &self.ends {
            Ends::Shape(turns) => rows.clone().map(|row| turns.ends(row)).collect(),
            Ends::Relation(universities, relation) => universities.ends(*relation, &rows),
        };
        let (sources, targets): (Vec<i64>, Vec<i64>) =
            ends.into_iter().map(|(source, target)| (source.cast_signed(), target.cast_signed())).unzip();
        let mut columns = vec![Column::new(ColumnData::Int(sources)), Column::new(ColumnData::Int(targets))];
        let count = self.row_count();
        let values = |property: &Property| property.distribution.column(property.stream, rows.clone(), count);
        columns.extend(self.properties.iter().map(values));
        columns
    }
}

/// A graph that is made when its rows are asked for.
#[derive(Clone, Debug)]
pub struct GeneratedGraph {
    pub(crate) nodes: Vec<Nodes>,
    pub(crate) edges: Vec<Edges>,
}

/// Names that a table has columns of already.
const TAKEN: [&str; 3] = ["id", "source", "target"];

type Named = (String, Distribution);

fn named(list: &[(&str, Distribution)]) -> Vec<Named> {
    list.iter().map(|(name, distribution)| ((*name).to_owned(), distribution.clone())).collect()
}

/// Properties as the paper has them: an age, a number of its own, a name; a time.
fn of_the_paper() -> (Vec<Named>, Vec<Named>) {
    let nodes = [
        ("age", Distribution::Uniform { low: 18, high: 65 }),
        ("number", Distribution::Unique),
        ("name", Distribution::Strings { distinct: 100_000 }),
    ];
    let time = Distribution::Normal { mean: 5_000.0, deviation: 2_000.0, low: 0, high: 10_000 };
    (named(&nodes), named(&[("time", time)]))
}

/// Properties of persons, and of friendships.
fn of_persons() -> (Vec<Named>, Vec<Named>) {
    let nodes = [
        ("name", Distribution::Strings { distinct: 1_000_000 }),
        ("age", Distribution::Normal { mean: 38.0, deviation: 16.0, low: 13, high: 95 }),
        ("city", Distribution::Cities),
    ];
    (named(&nodes), named(&[("since", Distribution::Uniform { low: 2_005, high: 2_025 })]))
}

/// Properties of all that a university has.
fn of_universities() -> (Vec<Named>, Vec<Named>) {
    (named(&[("name", Distribution::Strings { distinct: 1_000_000 })]), Vec::new())
}

/// Properties of ratings: the stars, and a second of the years 2020 to 2024.
fn of_ratings() -> (Vec<Named>, Vec<Named>) {
    let nodes = named(&[("name", Distribution::Strings { distinct: 1_000_000 })]);
    let time = Distribution::Uniform { low: 1_577_836_800, high: 1_735_689_599 };
    (nodes, named(&[("score", Distribution::Scores), ("time", time)]))
}

impl GeneratedGraph {
    /// The graph of a description.
    ///
    /// # Errors
    /// `ARGUMENT` if there is no such graph.
    pub fn new(options: &GraphOptions) -> Result<GeneratedGraph> {
        let (kind, seed) = (options.kind, options.seed);
        let scale = u64::BITS - options.nodes.saturating_sub(1).leading_zeros();
        let nodes = if kind == GraphKind::Kronecker { 1 << scale.min(63) } else { options.nodes };
        if !(2..=NODES_MAX).contains(&nodes) {
            let failed = error!(Argument, "a graph of {} nodes cannot be generated", options.nodes);
            return Err(failed.with_remedy(format!("give 2 to {NODES_MAX} nodes")));
        }
        let (default, (node_defaults, edge_defaults)) = match kind {
            GraphKind::Barabasi | GraphKind::Erdos => (5, of_the_paper()),
            GraphKind::Kronecker => (16, of_the_paper()),
            GraphKind::Ratings => (20, of_ratings()),
            GraphKind::Social => (10, of_persons()),
            GraphKind::Lubm => (1, of_universities()),
        };
        let per_node = options.edges_per_node.unwrap_or(default);
        let joined = if kind == GraphKind::Barabasi { nodes - 1 } else { nodes };
        let total = joined.checked_mul(per_node).filter(|total| (1..=EDGES_MAX).contains(total)).ok_or_else(|| {
            error!(Argument, "{per_node} edges for each of {nodes} nodes cannot be generated")
                .with_remedy(format!("give at least 1, and at most {EDGES_MAX} in all"))
        })?;
        if kind == GraphKind::Erdos && per_node > nodes - 1 {
            let failed = error!(Argument, "{nodes} nodes have no {per_node} edges each to different others");
            return Err(failed.with_remedy(format!("give at most {} edges for each node", nodes - 1)));
        }
        let properties = options.properties.clone().unwrap_or(node_defaults);
        let edge_properties = options.edge_properties.clone().unwrap_or(edge_defaults);
        check_names(&properties, &TAKEN)?;
        check_names(&edge_properties, &TAKEN)?;
        let (tables, labels, name, shape) = match kind {
            GraphKind::Barabasi => (vec![("Node", nodes)], ["Node"; 2], "LINK", Shape::barabasi(per_node, seed)),
            GraphKind::Kronecker => {
                let initiator = checked_initiator(options.initiator)?;
                (vec![("Node", nodes)], ["Node"; 2], "LINK", Shape::kronecker(scale, initiator, seed))
            }
            GraphKind::Erdos => (vec![("Node", nodes)], ["Node"; 2], "LINK", Shape::erdos(nodes, seed)),
            GraphKind::Ratings => {
                let products = (nodes / USERS_PER_PRODUCT).max(1);
                let shape = Shape::ratings(nodes, products, seed);
                (vec![("User", nodes), ("Product", products)], ["User", "Product"], "RATED", shape)
            }
            GraphKind::Lubm => return universities(options, &properties, &edge_properties),
            GraphKind::Social => {
                (vec![("Person", nodes)], ["Person"; 2], "KNOWS", Shape::friends(nodes, per_node, seed))
            }
        };
        let nodes = tables.into_iter().map(|(label, count)| {
            let properties = with_streams(&properties, seed, label);
            Nodes { label, count, ranks: None, properties }
        });
        Ok(GeneratedGraph {
            nodes: nodes.collect(),
            edges: edge_tables(options, (name, labels), (shape, total), &edge_properties)?,
        })
    }

    /// Number of nodes.
    pub fn node_count(&self) -> u64 {
        self.nodes.iter().map(Rows::row_count).sum()
    }

    /// Number of edges.
    pub fn edge_count(&self) -> u64 {
        self.edges.iter().map(Rows::row_count).sum()
    }
}

fn edge_tables(
    options: &GraphOptions,
    (name, [source_label, target_label]): (&str, [&'static str; 2]),
    (shape, total): (Shape, u64),
    properties: &[Named],
) -> Result<Vec<Edges>> {
    let types = options.edge_types;
    if !(1..=1_000).contains(&types) {
        return Err(error!(Argument, "{types} edge types cannot be generated").with_remedy("give 1 to 1000"));
    }
    let shape = Arc::new(shape);
    let table = |number: u64| {
        let edge_type = if types == 1 { name.to_owned() } else { format!("{name}_{}", number + 1) };
        let properties = with_streams(properties, options.seed, &edge_type);
        let (part, turns) = ((number, types), Stream::new(options.seed, "edge types"));
        let ends = Ends::Shape(Turns { shape: shape.clone(), total, part, turns });
        Edges { edge_type, source_label, target_label, ends, properties }
    };
    Ok((0..types).map(table).collect())
}

/// The graph of universities, whose edges have types and numbers of their own.
fn universities(options: &GraphOptions, properties: &[Named], edge_properties: &[Named]) -> Result<GeneratedGraph> {
    if options.edge_types != 1 || options.edges_per_node.is_some() {
        let failed = error!(Argument, "the edges of universities have types and numbers of their own");
        return Err(failed.with_remedy("leave out the number of edge types and of edges for each node"));
    }
    check_names(properties, &[RANK])?;
    let made = Arc::new(Universities::new(options.nodes, options.seed));
    let nodes = TABLES.map(|(table, label)| Nodes {
        label,
        count: made.nodes(table),
        ranks: (table == Table::Professor).then(|| made.clone()),
        properties: with_streams(properties, options.seed, label),
    });
    let label = |table: Table| TABLES[table as usize].1;
    let edges = RELATIONS.iter().enumerate().map(|(number, relation)| {
        let [source_label, target_label] = [relation.source, relation.target].map(label);
        let stream = format!("{} {source_label} {target_label}", relation.edge_type);
        Edges {
            edge_type: relation.edge_type.to_owned(),
            source_label,
            target_label,
            ends: Ends::Relation(made.clone(), number),
            properties: with_streams(edge_properties, options.seed, &stream),
        }
    });
    Ok(GeneratedGraph { nodes: nodes.into(), edges: edges.collect() })
}

fn with_streams(properties: &[Named], seed: u64, table: &str) -> Vec<Property> {
    let with_stream = |(name, distribution): &Named| Property {
        name: name.clone(),
        distribution: distribution.clone(),
        stream: Stream::new(seed, &format!("{table}.{name}")),
    };
    properties.iter().map(with_stream).collect()
}

fn check_names(properties: &[Named], taken: &[&str]) -> Result<()> {
    for (at, (name, _)) in properties.iter().enumerate() {
        let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_taken = taken.contains(&name.as_str()) || properties[..at].iter().any(|(other, _)| other == name);
        if is_taken || !is_plain {
            let failed = error!(Argument, "a property cannot have the name '{name}'");
            return Err(
                failed.with_remedy("give each property a name of its own, of letters, digits and _, besides id")
            );
        }
    }
    Ok(())
}

fn checked_initiator(initiator: [f64; 4]) -> Result<[f64; 4]> {
    let sum: f64 = initiator.iter().sum();
    let is_usable = initiator.iter().all(|share| share.is_finite() && *share >= 0.0) && sum > 0.0;
    if !is_usable {
        let failed = error!(Argument, "the initiator {initiator:?} has a share below 0, or no sum");
        return Err(failed.with_remedy("give four shares from 0 on, as 0.57,0.19,0.19,0.05"));
    }
    Ok(initiator.map(|share| share / sum))
}

/// Ends of the edges of a Barabási–Albert graph, for the tests of other modules.
#[cfg(test)]
pub(crate) fn barabasi_ends(nodes: u64, per_node: u64) -> impl Iterator<Item = (u64, u64)> {
    let shape = Shape::barabasi(per_node, 1);
    (0..(nodes - 1) * per_node).map(move |edge| shape.ends(edge))
}

#[cfg(test)]
mod tests;
