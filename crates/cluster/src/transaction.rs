//! Writing: each call changes a copy of the transaction's writes, which counts only if the call succeeded.
//!
//! - [`writes`]: nodes and edges. [`rules`]: constraints, indexes, sort keys. [`check`]: unique values, types, presence.
//! - [`effects`]: the rows, items and changes of the state of a commit.

mod check;
mod effects;
mod entries;
mod rules;
mod writes;

use std::sync::Arc;

use model::store::{NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, EdgeId, EdgeTypeId, Index, Interrupt, LabelId, NodeId, PropertyKeyId, ReadView, Result,
    SortKey, WriteTransaction, error,
};

use crate::overlay::Overlay;
use crate::shared::Shared;
use crate::state::NameKind;
use crate::view::View;

/// A transaction.
pub(crate) struct Transaction {
    shared: Arc<Shared>,
    view: View,
    savepoints: Vec<Overlay>,
    /// Hashes of what it makes because it was not there.
    claims: Vec<u64>,
}

/// Nodes or edges that a call touched, whose constraints are to be checked.
#[derive(Debug, Default)]
struct Changed {
    nodes: Vec<NodeId>,
    edges: Vec<u64>,
}

impl Transaction {
    /// A transaction over a view.
    pub(crate) fn new(shared: Arc<Shared>, view: View) -> Transaction {
        Transaction { shared, view, savepoints: Vec::new(), claims: Vec::new() }
    }

    /// Runs a call; if it fails or leaves a constraint broken, nothing changes.
    fn change<T>(&mut self, call: impl FnOnce(&mut Transaction, &mut Changed) -> Result<T>) -> Result<T> {
        let before = self.view.own.clone();
        let mut changed = Changed::default();
        let result = call(self, &mut changed).and_then(|result| self.check(&changed).map(|()| result));
        if result.is_err() {
            self.view.own = before;
        }
        result
    }

    fn intern(&mut self, kind: NameKind, name: &str) -> u32 {
        match kind.of(&self.view.own.schema).find(name) {
            Some(number) => number,
            None => {
                let schema = Arc::make_mut(&mut self.view.own.schema);
                match kind {
                    NameKind::Label => schema.labels.intern(name),
                    NameKind::EdgeType => schema.edge_types.intern(name),
                    NameKind::PropertyKey => schema.property_keys.intern(name),
                }
            }
        }
    }
}

impl WriteTransaction for Transaction {
    fn view(&self) -> &dyn ReadView {
        &self.view
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        Ok(LabelId(self.intern(NameKind::Label, name)))
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId> {
        Ok(EdgeTypeId(self.intern(NameKind::EdgeType, name)))
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId> {
        Ok(PropertyKeyId(self.intern(NameKind::PropertyKey, name)))
    }

    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>> {
        self.change(|this, changed| this.add_nodes(new, changed))
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        self.change(|this, changed| this.add_edges(new, changed))
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.change(|this, changed| this.set_of_nodes(nodes, key, values, changed))
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        self.change(|this, changed| this.set_of_edges(edges, key, values, changed))
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.change(|this, changed| {
            this.change_nodes(nodes, changed, |data, _| {
                data.labels.extend_from_slice(labels);
                data.labels.sort_unstable();
                data.labels.dedup();
                Ok(())
            })
        })
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        self.change(|this, changed| {
            this.change_nodes(nodes, changed, |data, _| {
                data.labels.retain(|label| !labels.contains(label));
                Ok(())
            })
        })
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        self.change(|this, _| this.remove_edges(edges))
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        self.change(|this, _| this.remove_nodes(nodes))
    }

    fn create_constraint(&mut self, constraint: Constraint, interrupt: &Interrupt) -> Result<()> {
        self.change(|this, _| this.add_constraint(constraint, interrupt))
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        self.change(|this, _| this.remove_constraint(name))
    }

    fn create_index(&mut self, index: Index, _interrupt: &Interrupt) -> Result<()> {
        self.change(|this, _| this.add_index(index))
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        self.change(|this, _| this.remove_index(name))
    }

    fn set_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        self.change(|this, _| this.change_sort_keys(|schema| schema.add_sort_key(sort_key)))
    }

    fn drop_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        self.change(|this, _| this.change_sort_keys(|schema| schema.remove_sort_key(edge_type)))
    }

    fn claim(&mut self, hashes: &[u64]) {
        self.claims.extend_from_slice(hashes);
    }

    fn savepoint(&mut self) -> Savepoint {
        self.savepoints.push(self.view.own.clone());
        Savepoint(self.savepoints.len() as u64 - 1)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let at = savepoint.0 as usize;
        let Some(before) = self.savepoints.get(at) else {
            return Err(error!(TransactionState, "savepoint {at} was undone or never made"));
        };
        self.view.own = before.clone();
        self.savepoints.truncate(at + 1);
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.check_presence()?;
        match self.pending()? {
            Some(pending) => self.shared.queue.commit(&self.shared.log, pending).map(drop),
            None => Ok(()),
        }
    }
}
