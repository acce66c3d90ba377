//! Settings of more than one algorithm.

use model::limits::WEIGHT_MAX;
use model::store::Direction;

use super::kind::{Flag, Integer, Names, Node, Nodes, Number, OneOf, Text};
use super::table::{Fixed, Required, Setting, Table, Unset};

/// More threads than this are never started, whatever `concurrency` says.
pub(crate) const THREADS_MAX: u64 = 256;

pub(crate) static LABELS: Setting<Names, Unset> =
    Setting::new("labels", Names, Unset("all nodes"), "Labels of the nodes that take part. A node needs one of them.")
        .or(&["nodeLabels"]);
pub(crate) static TYPES: Setting<Names, Unset> =
    Setting::new("types", Names, Unset("all types"), "Types of the relationships that take part.")
        .or(&["relationshipTypes"]);
pub(crate) static CONCURRENCY: Setting<Integer, Unset> = Setting::new(
    "concurrency",
    Integer(1),
    Unset("threads of the session"),
    "Number of threads, at most 256. Searches between two nodes use one thread.",
);
pub(crate) static EXECUTION: Setting<Text, Fixed<&str>> = Setting::new(
    "execution",
    Text,
    Fixed("auto"),
    "Execution mode: `'memory'`, `'streaming'`, `'windows'` or `'spark'`, where the algorithm supports it. `'auto'` selects \
     the fastest of the first three that the free memory permits.",
);
/// The settings that algorithms over a whole selection share.
pub(crate) const WHOLE: Table = &[&LABELS, &TYPES, &CONCURRENCY, &EXECUTION];

const fn direction(default: Direction) -> Setting<OneOf<Direction>, Fixed<Direction>> {
    const WORDS: OneOf<Direction> = OneOf(&[
        (&["OUT", "OUTGOING", "NATURAL"], Direction::Out),
        (&["IN", "INCOMING", "REVERSE"], Direction::In),
        (&["BOTH", "UNDIRECTED"], Direction::Both),
    ]);
    Setting::new("direction", WORDS, Fixed(default), "Direction in which relationships are followed.")
}
pub(crate) static DIRECTION: Setting<OneOf<Direction>, Fixed<Direction>> = direction(Direction::Out);
static DIRECTION_IN: Setting<OneOf<Direction>, Fixed<Direction>> = direction(Direction::In);
static DIRECTION_BOTH: Setting<OneOf<Direction>, Fixed<Direction>> = direction(Direction::Both);

/// The row `direction` with a default.
pub(crate) fn direction_by_default(default: Direction) -> &'static Setting<OneOf<Direction>, Fixed<Direction>> {
    match default {
        Direction::Out => &DIRECTION,
        Direction::In => &DIRECTION_IN,
        Direction::Both => &DIRECTION_BOTH,
    }
}

pub(crate) static WEIGHT_PROPERTY: Setting<Text, Unset> = Setting::new(
    "weightProperty",
    Text,
    Unset("no weights"),
    "Numeric property of relationships that is their weight.",
)
.or(&["relationshipWeightProperty"]);
pub(crate) static DEFAULT_WEIGHT: Setting<Number, Unset> = Setting::new(
    "defaultWeight",
    Number { least: 0.0, most: WEIGHT_MAX },
    Unset("none"),
    "Weight of relationships without the property. Without a default they are an error.",
);
/// The settings of algorithms that take weights.
pub(crate) const WEIGHTS: Table = &[&WEIGHT_PROPERTY, &DEFAULT_WEIGHT];

pub(crate) static MUST_CONVERGE: Setting<Flag, Fixed<bool>> = Setting::new(
    "mustConverge",
    Flag,
    Fixed(false),
    "Makes it an error to reach `maxIterations` before the run has converged. Algorithms that yield `didConverge` have it.",
);
pub(crate) static WRITE_PROPERTY: Setting<Text> =
    Setting::new("writeProperty", Text, Required, "Property that `.write` sets.");
pub(crate) static WRITE_RELATIONSHIP_TYPE: Setting<Text> = Setting::new(
    "writeRelationshipType",
    Text,
    Required,
    "Type of the relationships that `.write` creates, where rows are pairs of nodes.",
);

pub(crate) static SOURCE_NODE: Setting<Node> =
    Setting::new("sourceNode", Node, Required, "Node where the search starts.").or(&["source"]);
pub(crate) static TARGET_NODE: Setting<Node> =
    Setting::new("targetNode", Node, Required, "Node where the search ends.").or(&["target"]);
pub(crate) static MAX_DEPTH: Setting<Integer, Unset> =
    Setting::new("maxDepth", Integer(0), Unset("no limit"), "Largest number of relationships on a path.");
pub(crate) static MAX_EXPANDED: Setting<Integer, Unset> = Setting::new(
    "maxExpanded",
    Integer(1),
    Unset("no limit"),
    "Number of nodes whose relationships may be read. A search that needs more is an error.",
);
/// The settings that searches over a part of the graph share.
pub(crate) const SEARCH: Table = &[&LABELS, &TYPES, &DIRECTION, &CONCURRENCY];
/// The ends of a search between two nodes.
pub(crate) const ENDS: Table = &[&SOURCE_NODE, &TARGET_NODE];

pub(crate) const fn max_iterations(default: u64) -> Setting<Integer, Fixed<u64>> {
    Setting::new("maxIterations", Integer(1), Fixed(default), "Largest number of iterations.")
}

pub(crate) const fn source_nodes(default: &'static str, sentence: &'static str) -> Setting<Nodes, Unset> {
    Setting::new("sourceNodes", Nodes, Unset(default), sentence)
}

pub(crate) const fn tolerance(default: f64, sentence: &'static str) -> Setting<Number, Fixed<f64>> {
    Setting::new("tolerance", Number::POSITIVE, Fixed(default), sentence)
}

pub(crate) static GAMMA: Setting<Number, Fixed<f64>> = Setting::new(
    "gamma",
    Number::POSITIVE,
    Fixed(1.0),
    "Resolution of modularity. A larger value gives smaller communities.",
);
