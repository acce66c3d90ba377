//! The requests of a member to the other parts to follow an edge that leads there.

use model::{
    Column, ColumnBuilder, IndexBatch, IndexScan, KeyOrder, KeyRange, NodeId, ReadView, Result, Subject, Value,
};
use model::{Index, LabelId, PropertyKeyId};

use super::view::Joined;
use crate::store::Crossing;

impl Crossing for Joined {
    fn nodes_of(&self, label: &str, property: &str, values: &Column) -> Result<Vec<(u32, NodeId)>> {
        let schema = &self.union.schema;
        let (Some(label), Some(key)) = (schema.label(label), schema.property_key(property)) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for part in 0..self.parts.len() {
            self.nodes_in(part, label, key, values, &mut found)?;
        }
        found.sort_unstable();
        Ok(found)
    }

    fn values_of(&self, nodes: &[NodeId], label: &str, property: &str) -> Result<Column> {
        let schema = &self.union.schema;
        let (Some(label), Some(key)) = (schema.label(label), schema.property_key(property)) else {
            return Ok(Column::nulls(nodes.len()));
        };
        let has_label = self.has_label(nodes, label)?;
        let labelled: Vec<u32> = (0..nodes.len() as u32).filter(|&row| has_label.get(row as usize)).collect();
        if labelled.len() == nodes.len() {
            return Ok(self.node_properties(nodes, &[key])?.swap_remove(0));
        }
        let those: Vec<NodeId> = labelled.iter().map(|&row| nodes[row as usize]).collect();
        let values = self.node_properties(&those, &[key])?.swap_remove(0);
        let mut all = ColumnBuilder::default();
        let mut next = 0;
        for row in 0..nodes.len() {
            if has_label.get(row) {
                all.push(&values.value(next));
                next += 1;
            } else {
                all.push(&Value::Null);
            }
        }
        Ok(all.finish())
    }
}

impl Joined {
    /// Adds the nodes of one part whose property equals a value.
    fn nodes_in(
        &self,
        part: usize,
        label: LabelId,
        key: PropertyKeyId,
        values: &Column,
        found: &mut Vec<(u32, NodeId)>,
    ) -> Result<()> {
        let index = Index { name: "".into(), subject: Subject::Label(label), keys: vec![key] };
        let (equal, rows) = (vec![values.clone()], values.len());
        let scan = IndexScan { index, equal, rows, range: KeyRange::All, order: KeyOrder::Ascending };
        let Some(own) = self.index_scan_in(part, &scan) else { return Ok(()) };
        let mut cursor = self.open_index(part, &own)?;
        let mut batch = IndexBatch::default();
        while cursor.next(&mut batch)? {
            found.extend(batch.inputs.iter().copied().zip(batch.nodes.iter().copied()));
        }
        Ok(())
    }
}
