//! Seeded graph generators: each gives plain columns that can be looked at, and loaded into any store.

mod random;
mod regular;
mod social;
mod zoo;

use std::collections::BTreeMap;

use model::store::{EdgeIds, NewEdges, NewNodes};
use model::{
    Column, EdgeBatch, EdgeTypeId, Expand, GraphStore, LabelId, NodeBatch, NodeId, NodeScan, PropertyKeyId, ReadView,
    Result, WriteTransaction,
};

pub use random::{Kronecker, erdos_renyi, kronecker};
pub use regular::{grid, path, star};
pub use social::social;
pub use zoo::zoo;

/// A graph as columns. Nodes are numbered from 0 through all groups in order.
#[derive(Clone, Debug, Default)]
pub struct GraphData {
    /// The nodes.
    pub nodes: Vec<NodeGroup>,
    /// The edges.
    pub edges: Vec<EdgeGroup>,
}

/// Nodes that have the same labels and property keys.
#[derive(Clone, Debug, Default)]
pub struct NodeGroup {
    /// Number of nodes.
    pub count: usize,
    /// Their labels.
    pub labels: Vec<String>,
    /// Their properties: `count` rows each.
    pub properties: Vec<(String, Column)>,
}

/// Edges that have the same type and property keys.
#[derive(Clone, Debug, Default)]
pub struct EdgeGroup {
    /// Their type.
    pub edge_type: String,
    /// The number of the node where each starts.
    pub sources: Vec<u64>,
    /// The number of the node where each ends.
    pub targets: Vec<u64>,
    /// Their properties: a row for each edge.
    pub properties: Vec<(String, Column)>,
}

/// Nodes and edges written by one call while loading.
const LOAD_ROWS: usize = 65_536;

impl GraphData {
    /// Nodes without properties that carry `label`, joined by edges of `edge_type`.
    pub fn plain(label: &str, node_count: usize, edge_type: &str, edges: &[(u64, u64)]) -> GraphData {
        let (sources, targets) = edges.iter().copied().unzip();
        GraphData {
            nodes: vec![NodeGroup { count: node_count, labels: vec![label.to_owned()], properties: Vec::new() }],
            edges: vec![EdgeGroup { edge_type: edge_type.to_owned(), sources, targets, properties: Vec::new() }],
        }
    }

    /// All that a view holds: a group for each set of labels, and for each type of edges.
    pub fn of(view: &dyn ReadView) -> Result<GraphData> {
        let schema = view.schema();
        let all: Vec<PropertyKeyId> = (0..schema.property_keys.len() as u32).map(PropertyKeyId).collect();
        let named = |columns: Vec<Column>| -> Vec<(String, Column)> {
            let named = all.iter().zip(columns).filter(|(_, column)| (0..column.len()).any(|row| !column.is_null(row)));
            named.map(|(&key, column)| (schema.property_key_name(key).to_owned(), column)).collect()
        };
        let mut by_labels: BTreeMap<Vec<LabelId>, Vec<NodeId>> = BTreeMap::new();
        let (mut cursor, mut batch) = (view.scan(&NodeScan::default())?, NodeBatch::default());
        while cursor.next(&mut batch)? {
            for (labels, &node) in view.node_labels(&batch.nodes)?.into_iter().zip(&batch.nodes) {
                by_labels.entry(labels).or_default().push(node);
            }
        }
        let (mut data, mut numbers) = (GraphData::default(), BTreeMap::new());
        for (labels, nodes) in &by_labels {
            let labels = labels.iter().map(|&label| schema.label_name(label).to_owned()).collect();
            let properties = named(view.node_properties(nodes, &all)?);
            nodes.iter().for_each(|&node| {
                numbers.insert(node, numbers.len() as u64);
            });
            data.nodes.push(NodeGroup { count: nodes.len(), labels, properties });
        }
        let from: Vec<NodeId> = by_labels.into_values().flatten().collect();
        for edge_type in (0..schema.edge_types.len() as u32).map(EdgeTypeId) {
            let (types, edge_ids) = (Some(vec![edge_type]), EdgeIds::Include);
            let expand = Expand { types, edge_ids, ..Expand::default() };
            let (mut cursor, mut batch) = (view.expand(&from, &expand)?, EdgeBatch::default());
            let (mut sources, mut targets, mut edges) = (Vec::new(), Vec::new(), Vec::new());
            while cursor.next(&mut batch)? {
                sources.extend(batch.inputs.iter().map(|&input| numbers[&from[input as usize]]));
                targets.extend(batch.neighbors.iter().map(|neighbor| numbers[neighbor]));
                edges.append(&mut batch.edges);
            }
            let properties = named(view.edge_properties(&edges, &all)?);
            let edge_type = schema.edge_type_name(edge_type).to_owned();
            data.edges.push(EdgeGroup { edge_type, sources, targets, properties });
        }
        Ok(data)
    }

    /// Nodes in all.
    pub fn node_count(&self) -> usize {
        self.nodes.iter().map(|group| group.count).sum()
    }

    /// Edges in all.
    pub fn edge_count(&self) -> usize {
        self.edges.iter().map(|group| group.sources.len()).sum()
    }

    /// All edges as pairs of node numbers, group by group.
    pub fn edge_pairs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.edges.iter().flat_map(|group| group.sources.iter().copied().zip(group.targets.iter().copied()))
    }

    /// Writes the graph in one transaction; the result gives the id of each node by its number.
    pub fn load_into(&self, store: &dyn GraphStore) -> Result<Vec<NodeId>> {
        let mut transaction = store.write()?;
        let ids = self.write(&mut *transaction)?;
        transaction.commit()?;
        Ok(ids)
    }

    /// Writes the graph within a transaction; the result gives the id of each node by its number.
    pub fn write(&self, transaction: &mut dyn WriteTransaction) -> Result<Vec<NodeId>> {
        let mut ids = Vec::with_capacity(self.node_count());
        for group in &self.nodes {
            let labels: Vec<LabelId> =
                group.labels.iter().map(|name| transaction.label(name)).collect::<Result<_>>()?;
            let (keys, columns) = keys_and_columns(transaction, &group.properties)?;
            for (start, end) in chunks(group.count) {
                let properties: Vec<Column> = columns.iter().map(|column| column.slice(start, end)).collect();
                let new = NewNodes { count: end - start, labels: &labels, keys: &keys, properties: &properties };
                ids.extend(transaction.create_nodes(&new)?);
            }
        }
        for group in &self.edges {
            let edge_type = transaction.edge_type(&group.edge_type)?;
            let (keys, columns) = keys_and_columns(transaction, &group.properties)?;
            for (start, end) in chunks(group.sources.len()) {
                let id_of = |&number: &u64| ids[number as usize];
                let sources: Vec<NodeId> = group.sources[start..end].iter().map(id_of).collect();
                let targets: Vec<NodeId> = group.targets[start..end].iter().map(id_of).collect();
                let properties: Vec<Column> = columns.iter().map(|column| column.slice(start, end)).collect();
                let new =
                    NewEdges { edge_type, sources: &sources, targets: &targets, keys: &keys, properties: &properties };
                transaction.create_edges(&new)?;
            }
        }
        Ok(ids)
    }
}

fn keys_and_columns<'a>(
    transaction: &mut dyn WriteTransaction,
    properties: &'a [(String, Column)],
) -> Result<(Vec<PropertyKeyId>, Vec<&'a Column>)> {
    let keys = properties.iter().map(|(name, _)| transaction.property_key(name)).collect::<Result<_>>()?;
    Ok((keys, properties.iter().map(|(_, column)| column).collect()))
}

fn chunks(rows: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).step_by(LOAD_ROWS).map(move |start| (start, rows.min(start + LOAD_ROWS)))
}

#[cfg(test)]
mod tests {
    use super::{GraphData, Kronecker, erdos_renyi, grid, kronecker, path, social, star, zoo};
    use crate::ReferenceStore;
    use crate::differential::Content;
    use model::GraphStore;

    fn check(graph: &GraphData, nodes: usize, edges: usize) {
        assert_eq!((graph.node_count(), graph.edge_count()), (nodes, edges));
        let store = ReferenceStore::new();
        assert_eq!(graph.load_into(&store).unwrap().len(), nodes);
        let content = Content::of(&*store.read().unwrap());
        assert_eq!((content.nodes.len(), content.edges.len()), (nodes, edges));
    }

    #[test]
    fn generators_give_what_they_promise() {
        check(&path(10), 10, 9);
        check(&path(0), 0, 0);
        check(&star(10), 11, 10);
        check(&grid(4, 3, 1), 12, 34);
        check(&erdos_renyi(50, 200, 1), 50, 200);
        check(&kronecker(&Kronecker { scale: 6, edge_factor: 8, ..Kronecker::default() }), 64, 512);
        let zoo = zoo();
        check(&zoo, zoo.node_count(), zoo.edge_count());
        let social = social(30, 5);
        check(&social, social.node_count(), social.edge_count());
    }

    #[test]
    fn a_seed_gives_the_same_graph_and_another_seed_another() {
        let pairs = |seed| {
            let graph = kronecker(&Kronecker { scale: 8, seed, ..Kronecker::default() });
            graph.edge_pairs().collect::<Vec<_>>()
        };
        assert_eq!(pairs(1), pairs(1));
        assert_ne!(pairs(1), pairs(2));
    }

    #[test]
    fn kronecker_graphs_are_skewed() {
        let graph = kronecker(&Kronecker { scale: 10, ..Kronecker::default() });
        let mut degrees = vec![0; 1024];
        graph.edge_pairs().for_each(|(source, _)| degrees[source as usize] += 1);
        degrees.sort_unstable();
        assert!(degrees[1023] > 10 * 16, "the largest degree is far above the mean of 16, found {}", degrees[1023]);
    }
}
