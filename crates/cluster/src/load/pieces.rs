//! Pieces of a load: the rows of a range of nodes, of the edges that start there, or of those that end there.

use std::ops::Range;
use std::sync::Arc;

use model::store::EdgeIds;
use model::{Direction, EdgeBatch, Expand, LabelId, NodeId, PropertyKeyId, ReadView, Result, Subject, error};

use super::names::Names;
use crate::ring::Ring;
use crate::rows::{
    ENTRY_BYTES_MAX, Properties, SEGMENT_BITS, bucket, bytes, entry_bytes, first_value, int, labels_bytes,
    properties_bytes, shard, sort_bytes,
};
use crate::state::NumberedIndex;
use crate::tables::{Change, Field, RowWrite, Table};

/// Nodes whose properties are held at a time.
const NODES: usize = 128;
/// Rows that are written at a time.
const ROWS: usize = 4_096;
/// Bytes of them, estimated.
const BYTES: usize = 4 << 20;
/// Bytes of a row beside its fields of variable length, estimated.
const ROW_BYTES: usize = 128;

/// The parts of a load, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Nodes,
    Out,
    In,
}

/// The pieces of a load of nodes below a bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    nodes: u64,
    piece_nodes: u64,
}

impl Pieces {
    pub(super) fn new(nodes: u64, piece_nodes: u64) -> Pieces {
        Pieces { nodes, piece_nodes }
    }

    fn of_part(self) -> u64 {
        self.nodes.div_ceil(self.piece_nodes)
    }

    /// Number of pieces.
    pub(super) fn count(self) -> u64 {
        3 * self.of_part()
    }

    fn piece(self, piece: u64) -> (Part, Range<u64>) {
        let part = [Part::Nodes, Part::Out, Part::In][(piece / self.of_part()) as usize];
        let start = piece % self.of_part() * self.piece_nodes;
        (part, start..(start + self.piece_nodes).min(self.nodes))
    }

    /// Writes the rows of a piece, the last ones of which the writer still has.
    pub(super) fn write(self, piece: u64, source: &dyn ReadView, writer: &mut Writer<'_>) -> Result<()> {
        let (part, range) = self.piece(piece);
        let nodes: Vec<NodeId> = range.map(NodeId).collect();
        match part {
            Part::Nodes => nodes.chunks(NODES).try_for_each(|nodes| write_nodes(source, nodes, writer)),
            Part::Out => write_edges(source, &nodes, Direction::Out, writer),
            Part::In => write_edges(source, &nodes, Direction::In, writer),
        }
    }
}

fn write_nodes(source: &dyn ReadView, nodes: &[NodeId], writer: &mut Writer<'_>) -> Result<()> {
    let is_there = source.nodes_exist(nodes)?;
    let (labels, properties) = (source.node_labels(nodes)?, source.all_node_properties(nodes)?);
    for (row, (labels, properties)) in labels.into_iter().zip(properties).enumerate() {
        if is_there.get(row) {
            let mut labels: Vec<LabelId> = labels.into_iter().map(|label| writer.names.label(label)).collect();
            labels.sort_unstable();
            let properties = writer.names.properties(properties.into_iter());
            writer.node(nodes[row].0, &labels, &properties)?;
        }
    }
    Ok(())
}

fn write_edges(source: &dyn ReadView, nodes: &[NodeId], direction: Direction, writer: &mut Writer<'_>) -> Result<()> {
    let keys: Vec<PropertyKeyId> = (0..source.schema().property_keys.len() as u32).map(PropertyKeyId).collect();
    let edges_max = source.statistics().edges;
    let expand = Expand { direction, keys: keys.clone(), edge_ids: EdgeIds::Include, ..Expand::default() };
    let (mut cursor, mut batch) = (source.expand(nodes, &expand)?, EdgeBatch::default());
    while cursor.next(&mut batch)? {
        let numbers = source.edge_numbers(&batch.edges)?;
        for (row, &number) in numbers.iter().enumerate() {
            if number >= edges_max {
                let problem = "the edges of the source are not numbered as those of an import are";
                return Err(error!(Argument, "{problem}: number {number} of {edges_max}")
                    .with_remedy("export the source, and import the files"));
            }
            let values = keys.iter().zip(&batch.properties).map(|(key, column)| (*key, column.value(row)));
            let properties = writer.names.properties(values.filter(|(_, value)| !value.is_null()));
            let (node, neighbor) = (nodes[batch.inputs[row] as usize], batch.neighbors[row]);
            let edge_type = writer.names.edge_type(batch.types[row]);
            match direction {
                Direction::In => writer.edge_in(number, edge_type, (neighbor, node), &properties)?,
                _ => writer.edge_out(number, edge_type, (node, neighbor), &properties)?,
            }
        }
    }
    Ok(())
}

/// Rows of a load that wait to be written together.
pub(super) struct Writer<'a> {
    ring: &'a Ring,
    names: &'a Names,
    since: u64,
    rows: Vec<RowWrite>,
    bytes: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(ring: &'a Ring, names: &'a Names, since: u64) -> Writer<'a> {
        Writer { ring, names, since, rows: Vec::new(), bytes: 0 }
    }

    /// Writes the rows that wait.
    pub(super) fn flush(&mut self) -> Result<()> {
        let outcome = self.ring.write(&self.rows);
        self.rows.clear();
        self.bytes = 0;
        outcome
    }

    fn put(&mut self, table: Table, key: [u64; 2], clustering: Vec<Field>, cells: Vec<(usize, Field)>) -> Result<()> {
        let mut partition = vec![Field::Int(self.ring.graph)];
        partition.extend(key[..table.shape().partition.len() - 1].iter().copied().map(int));
        let length = |field: &Field| if let Field::Bytes(bytes) = field { bytes.len() } else { 0 };
        let fields = clustering.iter().chain(cells.iter().map(|(_, field)| field));
        self.bytes += ROW_BYTES + fields.map(length).sum::<usize>();
        let (timestamp, change) = (self.since as i64, Change::Put(cells));
        self.rows.push(RowWrite { table, partition, clustering, timestamp, change });
        if self.rows.len() >= ROWS || self.bytes >= BYTES { self.flush() } else { Ok(()) }
    }

    fn node(&mut self, id: u64, labels: &[LabelId], properties: &Properties) -> Result<()> {
        let since = int(self.since);
        let cells = vec![(1, bytes(&labels_bytes(labels))), (2, bytes(&properties_bytes(properties)))];
        self.put(Table::Node, [bucket(id), 0], vec![int(id), since.clone()], cells)?;
        for label in labels {
            let key = [u64::from(label.0), id >> SEGMENT_BITS];
            self.put(Table::ByLabel, key, vec![int(id), since.clone()], vec![(0, int(1))])?;
        }
        let names = self.names;
        for index in &names.indexes {
            if let Subject::Label(label) = index.subject
                && labels.binary_search(&label).is_ok()
            {
                self.entry(index, id, properties, &[])?;
            }
        }
        Ok(())
    }

    /// An entry of an index, if the properties have one.
    fn entry(
        &mut self,
        index: &NumberedIndex,
        id: u64,
        properties: &Properties,
        ends: &[(usize, Field)],
    ) -> Result<()> {
        let Some(entry) = entry_bytes(properties, &index.keys) else { return Ok(()) };
        let key = [u64::from(index.number), shard(&first_value(properties, &index.keys))];
        let cut = bytes(&entry[..entry.len().min(ENTRY_BYTES_MAX)]);
        let mut cells = vec![(0, int(1))];
        cells.extend_from_slice(ends);
        self.put(Table::ByValue, key, vec![cut, int(id), int(self.since)], cells)
    }

    fn sort(&self, edge_type: model::EdgeTypeId, properties: &Properties) -> Arc<[u8]> {
        sort_bytes(properties, self.names.schema.sort_key(edge_type))
    }

    /// An edge by its number and by its source, and its entries of indexes.
    fn edge_out(
        &mut self,
        number: u64,
        edge_type: model::EdgeTypeId,
        (source, target): (NodeId, NodeId),
        properties: &Properties,
    ) -> Result<()> {
        let (kind, since) = (int(u64::from(edge_type.0)), int(self.since));
        let (sort, stored) = (Field::Bytes(self.sort(edge_type, properties)), bytes(&properties_bytes(properties)));
        let cells =
            vec![(1, stored.clone()), (2, kind.clone()), (3, int(source.0)), (4, int(target.0)), (5, sort.clone())];
        self.put(Table::Edge, [bucket(number), 0], vec![int(number), since.clone()], cells)?;
        let clustering = vec![int(source.0), kind.clone(), sort, int(target.0), int(number), since];
        self.put(Table::EdgeOut, [bucket(source.0), 0], clustering, vec![(1, stored)])?;
        let names = self.names;
        for index in names.indexes.iter().filter(|index| index.subject == Subject::EdgeType(edge_type)) {
            let ends = [(1, int(source.0)), (2, int(target.0)), (3, kind.clone())];
            self.entry(index, number, properties, &ends)?;
        }
        Ok(())
    }

    /// An edge by its target.
    fn edge_in(
        &mut self,
        number: u64,
        edge_type: model::EdgeTypeId,
        (source, target): (NodeId, NodeId),
        properties: &Properties,
    ) -> Result<()> {
        let sort = Field::Bytes(self.sort(edge_type, properties));
        let kind = int(u64::from(edge_type.0));
        let clustering = vec![int(target.0), kind, sort, int(source.0), int(number), int(self.since)];
        let stored = bytes(&properties_bytes(properties));
        self.put(Table::EdgeIn, [bucket(target.0), 0], clustering, vec![(1, stored)])
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Pieces};

    #[test]
    fn pieces_have_each_node_once_in_each_part() {
        let pieces = Pieces::new(10, 4);
        assert_eq!((pieces.count(), Pieces::new(0, 4).count()), (9, 0));
        let all: Vec<_> = (0..9).map(|piece| pieces.piece(piece)).collect();
        assert_eq!(all[..3], [(Part::Nodes, 0..4), (Part::Nodes, 4..8), (Part::Nodes, 8..10)]);
        assert_eq!((&all[3], &all[8]), (&(Part::Out, 0..4), &(Part::In, 8..10)));
    }
}
