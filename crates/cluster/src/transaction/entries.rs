//! All nodes of a label, or edges of a type, by reading everything.

use model::store::by_scan::{each_edge, each_node};
use model::{PropertyKeyId, ReadView, Result, Subject, Value};

use super::Transaction;
use crate::overlay::Ends;
use crate::rows::entry_bytes;
use crate::state::NumberedIndex;

/// Called with a node or edge: its number, type and ends, and properties.
pub(super) type Visit<'a> = dyn FnMut(u64, Ends, &[(PropertyKeyId, Value)]) -> Result<()> + 'a;

impl Transaction {
    /// Calls `visit` with each node of a label or edge of a type.
    pub(super) fn each_holder(&self, subject: Subject, visit: &mut Visit<'_>) -> Result<()> {
        match subject {
            Subject::Label(label) => each_node(&self.view, label, &[], |batch| {
                let all = self.view.all_node_properties(&batch.nodes)?;
                let mut rows = batch.nodes.iter().zip(all);
                rows.try_for_each(|(node, properties)| visit(node.0, Ends::default(), &properties))
            }),
            Subject::EdgeType(edge_type) => each_edge(&self.view, edge_type, &[], |batch| {
                let all = self.view.all_edge_properties(&batch.edges)?;
                for (row, properties) in all.iter().enumerate() {
                    let ends = (edge_type, batch.sources[row], batch.targets[row]);
                    visit(batch.edges[row].0, ends, properties)?;
                }
                Ok(())
            }),
        }
    }

    /// Gives an index that was made in this transaction an entry for all that is there.
    pub(super) fn fill(&mut self, index: &NumberedIndex) -> Result<()> {
        let mut entries = Vec::new();
        self.each_holder(index.subject, &mut |id, ends, properties| {
            entries.extend(entry_bytes(properties, &index.keys).map(|entry| (entry, id, ends)));
            Ok(())
        })?;
        for (entry, id, ends) in entries {
            self.view.own.put_entry(index.number, entry, id, ends);
        }
        Ok(())
    }
}
