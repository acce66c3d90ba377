//! A definition as a schema: which labels, types and properties its kinds have, by number.

use std::sync::{Arc, OnceLock};

use model::schema::{Constraint, Index, Schema, Subject};
use model::statistics::{EdgeSketch, Sketches};
use model::{Direction, EdgeTypeId, LabelId, Map, PropertyKeyId, Statistics};

use crate::connector::{Abilities, Facts};
use crate::definition::{EdgeKind, EndNode, GraphDefinition, NodeKind, Property, Rows};

/// A definition with numbers for its names. Never changes.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) definition: Arc<GraphDefinition>,
    pub(crate) member: u8,
    pub(crate) schema: Schema,
    pub(crate) statistics: Statistics,
    pub(crate) facts: Facts,
    pub(crate) nodes: Vec<NodeLayout>,
    pub(crate) edges: Vec<EdgeLayout>,
    /// Labels and properties by which nodes of other parts of the graph are found. Their keys are in spaces of their own,
    /// after those of the kinds of nodes.
    pub(crate) foreign: Vec<(Arc<str>, Arc<str>)>,
    /// The name of the source where it is attached.
    pub(crate) called: OnceLock<Arc<str>>,
}

/// A kind of nodes.
#[derive(Debug)]
pub(crate) struct NodeLayout {
    /// Ascending.
    pub(crate) labels: Vec<LabelId>,
    /// The property that each key stands for, by number.
    pub(crate) properties: Map<PropertyKeyId, usize>,
    /// Number of properties.
    pub(crate) property_count: usize,
    /// The property that holds the key, if it is one column that is a property.
    pub(crate) key_property: Option<usize>,
}

/// A kind of edges.
#[derive(Debug)]
pub(crate) struct EdgeLayout {
    pub(crate) edge_type: EdgeTypeId,
    pub(crate) properties: Map<PropertyKeyId, usize>,
    pub(crate) property_count: usize,
    pub(crate) has_keys: bool,
    /// The spaces of the keys of the source and of the target.
    pub(crate) ends: [usize; 2],
    /// True for the source and for the target if they are sure to be there.
    pub(crate) ends_exist: [bool; 2],
}

/// Edges of a kind, followed one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ListKind {
    pub(crate) edge: usize,
    /// Against their direction.
    pub(crate) is_reverse: bool,
}

impl ListKind {
    pub(crate) fn direction(self) -> Direction {
        if self.is_reverse { Direction::In } else { Direction::Out }
    }
}

impl Layout {
    pub(crate) fn new(definition: Arc<GraphDefinition>, member: u8, facts: Facts, abilities: Abilities) -> Layout {
        let mut layout = Layout {
            definition: definition.clone(),
            member,
            schema: Schema::default(),
            statistics: Statistics::default(),
            facts,
            nodes: Vec::new(),
            edges: Vec::new(),
            foreign: Vec::new(),
            called: OnceLock::new(),
        };
        layout.facts.nodes.resize_with(definition.nodes.len(), Default::default);
        layout.facts.edges.resize_with(definition.edges.len(), Default::default);
        for (number, kind) in definition.nodes.iter().enumerate() {
            layout.add_node_kind(kind, layout.facts.nodes[number].hides_key, abilities);
        }
        definition.edges.iter().enumerate().for_each(|(number, kind)| layout.add_edge_kind(number, kind));
        layout.add_rules(abilities);
        layout.count();
        layout
    }

    fn add_node_kind(&mut self, kind: &NodeKind, hides_key: bool, abilities: Abilities) {
        let mut labels: Vec<LabelId> =
            kind.labels.iter().map(|name| LabelId(self.schema.labels.intern(name))).collect();
        labels.sort_unstable();
        labels.dedup();
        // A property that is converted, or shows a key otherwise than it is kept, is not the key as the source has it; where the source finds nodes by conditions
        // it is looked up by one. Elsewhere keys are converted as their property is.
        let shows_key = |property: &Property, column: &str| {
            property.column == column && (property.kind.is_none() && !hides_key || !abilities.conditions)
        };
        let key_property = match &kind.key[..] {
            [column] => kind.properties.iter().position(|property| shows_key(property, column)),
            _ => None,
        };
        let properties = self.properties(&kind.properties);
        self.nodes.push(NodeLayout { labels, properties, property_count: kind.properties.len(), key_property });
    }

    fn add_edge_kind(&mut self, number: usize, kind: &EdgeKind) {
        let edge_type = EdgeTypeId(self.schema.edge_types.intern(&kind.edge_type));
        let properties = self.properties(&kind.properties);
        let ends = [self.space_of(&kind.source.node), self.space_of(&kind.target.node)];
        let known = self.facts.edges[number].ends_exist;
        self.edges.push(EdgeLayout {
            edge_type,
            properties,
            property_count: kind.properties.len(),
            has_keys: !kind.key.is_empty(),
            ends,
            ends_exist: [known.0 || self.is_foreign(ends[0]), known.1 || self.is_foreign(ends[1])],
        });
    }

    fn properties(&mut self, properties: &[Property]) -> Map<PropertyKeyId, usize> {
        let keys = properties.iter().enumerate();
        keys.map(|(number, property)| (PropertyKeyId(self.schema.property_keys.intern(&property.name)), number))
            .collect()
    }

    fn space_of(&mut self, node: &EndNode) -> usize {
        match node {
            EndNode::Kind(kind) => *kind,
            EndNode::Foreign { label, property } => {
                let end = (label.clone(), property.clone());
                let at = self.foreign.iter().position(|other| *other == end).unwrap_or_else(|| {
                    self.foreign.push(end);
                    self.foreign.len() - 1
                });
                self.definition.nodes.len() + at
            }
        }
    }

    /// Constraints for unique properties; and the properties by which the source finds nodes, where it does so by conditions.
    fn add_rules(&mut self, abilities: Abilities) {
        if abilities.patterns {
            self.schema.matched = (0..self.schema.labels.len() as u32).map(LabelId).collect();
        }
        for label in (0..self.schema.labels.len() as u32).map(LabelId) {
            let kinds = self.kinds_of(&[label]);
            let mut keys: Vec<(PropertyKeyId, bool)> = Vec::new();
            for &kind in &kinds {
                for (&key, &property) in &self.nodes[kind].properties {
                    let is_unique = kinds.len() == 1 && self.is_unique(kind, property, abilities);
                    if !keys.iter().any(|(other, _)| *other == key) {
                        keys.push((key, is_unique));
                    }
                }
            }
            keys.sort_unstable();
            for (key, is_unique) in keys {
                let (label_name, key_name) = (self.schema.label_name(label), self.schema.property_key_name(key));
                let name: Arc<str> = Arc::from(format!("{label_name}_{key_name}"));
                if is_unique {
                    let name = format!("{name}_unique");
                    self.schema.constraints.push(Constraint::unique(name, label, key));
                }
                if abilities.conditions {
                    self.schema.searchable.push(Index { name, subject: Subject::Label(label), keys: vec![key] });
                }
            }
        }
    }

    fn is_unique(&self, kind: usize, property: usize, abilities: Abilities) -> bool {
        let is_key = self.nodes[kind].key_property == Some(property);
        is_key || abilities.conditions && self.facts.nodes[kind].unique.contains(&property)
    }

    fn count(&mut self) {
        let statistics = &mut self.statistics;
        for (kind, facts) in self.nodes.iter().zip(&self.facts.nodes) {
            statistics.nodes += facts.rows;
            for &label in &kind.labels {
                *statistics.nodes_by_label.entry(label).or_default() += facts.rows;
            }
        }
        for (kind, facts) in self.edges.iter().zip(&self.facts.edges) {
            statistics.edges += facts.rows;
            *statistics.edges_by_type.entry(kind.edge_type).or_default() += facts.rows;
        }
        let edge_types = self.edge_sketches();
        let statistics = &mut self.statistics;
        let (nodes, edges) = (statistics.nodes, statistics.edges);
        statistics.sketches = Some(Arc::new(Sketches { nodes, edges, edge_types, values: Map::default() }));
    }

    /// The labels that each type of edges joins, as the definition says; none of types that lead to other parts of a graph.
    fn edge_sketches(&self) -> Map<EdgeTypeId, EdgeSketch> {
        let mut sketches: Map<EdgeTypeId, EdgeSketch> = Map::default();
        let mut crossing = Vec::new();
        for (kind, facts) in self.edges.iter().zip(&self.facts.edges) {
            if kind.ends.iter().any(|&space| self.is_foreign(space)) {
                crossing.push(kind.edge_type);
                continue;
            }
            let sketch = sketches.entry(kind.edge_type).or_default();
            sketch.edges += facts.rows;
            sketch.sampled += facts.rows;
            let labels = kind.ends.map(|space| {
                let labels = self.nodes[space].labels.iter().map(|&label| Some(label));
                labels.chain([None]).collect::<Vec<Option<LabelId>>>()
            });
            for &source in &labels[0] {
                for &target in &labels[1] {
                    *sketch.pairs.entry((source, target)).or_default() += facts.rows;
                }
            }
        }
        sketches.retain(|edge_type, _| !crossing.contains(edge_type));
        sketches
    }

    /// True if the nodes of a space belong to other parts of the graph.
    pub(crate) fn is_foreign(&self, space: usize) -> bool {
        space >= self.definition.nodes.len()
    }

    /// The space of the keys of a kind of edges.
    pub(crate) fn edge_space(&self, edge: usize) -> usize {
        self.nodes.len() + self.foreign.len() + edge
    }

    /// Number of spaces of keys.
    pub(crate) fn space_count(&self) -> usize {
        self.edge_space(self.edges.len())
    }

    /// The table that lists of edges are kept in; nodes are in the one of their kind's number.
    pub(crate) fn list_table(&self, list: ListKind) -> usize {
        self.nodes.len() + 2 * list.edge + usize::from(list.is_reverse)
    }

    pub(crate) fn table_count(&self) -> usize {
        self.nodes.len() + 2 * self.edges.len()
    }

    /// The spaces of the near and the far nodes of lists.
    pub(crate) fn ends(&self, list: ListKind) -> (usize, usize) {
        let [source, target] = self.edges[list.edge].ends;
        if list.is_reverse { (target, source) } else { (source, target) }
    }

    /// True if the far nodes of lists are sure to be there.
    pub(crate) fn has_sure_ends(&self, list: ListKind) -> bool {
        self.edges[list.edge].ends_exist[usize::from(!list.is_reverse)]
    }

    /// The kinds of nodes that carry all of these labels.
    pub(crate) fn kinds_of(&self, labels: &[LabelId]) -> Vec<usize> {
        let carries = |kind: &usize| labels.iter().all(|label| self.nodes[*kind].labels.contains(label));
        (0..self.nodes.len()).filter(carries).collect()
    }

    /// The lists that an expansion reads.
    pub(crate) fn lists(&self, direction: Direction, types: Option<&[EdgeTypeId]>) -> Vec<ListKind> {
        let mut lists = Vec::new();
        for (edge, kind) in self.edges.iter().enumerate() {
            if types.is_none_or(|types| types.contains(&kind.edge_type)) {
                if direction != Direction::In {
                    lists.push(ListKind { edge, is_reverse: false });
                }
                if direction != Direction::Out {
                    lists.push(ListKind { edge, is_reverse: true });
                }
            }
        }
        lists
    }

    /// True if all edges can be followed against their direction.
    pub(crate) fn goes_against_direction(&self) -> bool {
        self.definition.edges.iter().all(|kind| match &kind.rows {
            Rows::ByKey { reverse, .. } => reverse.is_some(),
            Rows::Keys(pattern) => pattern.reverse.is_some(),
            _ => true,
        })
    }
}
