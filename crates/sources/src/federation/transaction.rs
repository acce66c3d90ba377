//! One transaction over all parts: it reads them all, and writes one of them.
//!
//! Nothing can make the writes of two databases one, so the part that is written first is the only one. Which part a write
//! goes to is told by the nodes and edges that it names; a new node goes to the source that keeps nodes of its labels, or
//! else to the native store.

use std::sync::Arc;

use model::store::{EdgeIds, NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, Direction, EdgeBatch, EdgeId, EdgeTypeId, Expand, Index, Interrupt, IsolationLevel, LabelId,
    NodeId, PropertyKeyId, ReadView, Result, SortKey, Subject, WriteTransaction, error,
};

use super::split::Group;
use super::view::{Joined, Part, State};
use super::{Member, MemberView, shared_edge};

pub(super) struct FederatedTransaction {
    joined: Joined,
    members: Arc<[Member]>,
    /// The views of the members when the transaction began.
    views: Vec<Arc<dyn MemberView>>,
    isolation: IsolationLevel,
    /// The part that is written.
    written: Option<usize>,
    savepoints: Vec<Saved>,
}

/// The savepoints of the parts.
struct Saved {
    written: Option<usize>,
    native: Option<Savepoint>,
    /// Of each source that is read, or written, in a transaction.
    sources: Vec<Option<Savepoint>>,
}

impl FederatedTransaction {
    pub(super) fn new(mut joined: Joined, members: Arc<[Member]>, isolation: IsolationLevel) -> FederatedTransaction {
        let view = |part: &Part| match &part.state {
            State::Member(view) => Some(view.clone()),
            _ => None,
        };
        let views = joined.parts.iter().filter_map(view).collect();
        for (part, member) in joined.parts[1..].iter_mut().zip(members.iter()) {
            // Reads and the changes that follow them must share a transaction, or changes of others in between would be
            // lost.
            if let Some(transaction) = member.store.write_member_later() {
                part.state = State::MemberWriting(transaction);
            }
        }
        FederatedTransaction { joined, members, views, isolation, written: None, savepoints: Vec::new() }
    }

    /// The writing of a part, begun now if it was not. Fails if another part was written.
    fn writing(&mut self, part: usize) -> Result<&mut dyn WriteTransaction> {
        if let Some(written) = self.written.filter(|&written| written != part) {
            let (here, there) = (self.joined.parts[part].title(), self.joined.parts[written].title());
            return Err(error!(Unsupported, "this transaction has written to {there}, and cannot write to {here} too")
                .with_remedy("commit in between: a transaction writes to one of them"));
        }
        if part > 0 && self.isolation == IsolationLevel::Serializable {
            let name = &self.members[part - 1].name;
            return Err(error!(Unsupported, "a serializable transaction cannot write to the source {name}")
                .with_remedy("write to it with snapshot isolation"));
        }
        if matches!(self.joined.parts[part].state, State::Member(_)) {
            let member = &self.members[part - 1];
            self.joined.parts[part].state = State::MemberWriting(member.store.write_member()?);
        }
        self.joined.statistics.take();
        self.joined.estimates.take();
        let transaction: &mut dyn WriteTransaction = match &mut self.joined.parts[part].state {
            State::NativeWriting(transaction) => &mut **transaction,
            State::MemberWriting(transaction) => &mut **transaction,
            State::Native(_) | State::Member(_) => {
                return Err(error!(ReadOnly, "the native store is open for reading only")
                    .with_remedy("open it without --read-only, or write to a source that is attached"));
            }
        };
        self.written = Some(part);
        Ok(transaction)
    }

    fn renew_names(&mut self, part: usize) {
        let union = Arc::make_mut(&mut self.joined.union);
        union.refresh_names(part, self.joined.parts[part].view().schema());
    }

    fn renew_rules(&mut self) {
        Arc::make_mut(&mut self.joined.union).refresh_rules(&self.joined.parts);
    }

    /// A label of the whole in a part, made there if it is new to it.
    fn label_in(&mut self, part: usize, label: LabelId) -> Result<LabelId> {
        if let Some(known) = self.joined.map(part).labels.to_part(label.0) {
            return Ok(LabelId(known));
        }
        let name = self.joined.union.schema.label_name(label).to_owned();
        let id = self.writing(part)?.label(&name)?;
        self.renew_names(part);
        Ok(id)
    }

    fn labels_in(&mut self, part: usize, labels: &[LabelId]) -> Result<Vec<LabelId>> {
        labels.iter().map(|&label| self.label_in(part, label)).collect()
    }

    fn type_in(&mut self, part: usize, edge_type: EdgeTypeId) -> Result<EdgeTypeId> {
        if let Some(known) = self.joined.map(part).types.to_part(edge_type.0) {
            return Ok(EdgeTypeId(known));
        }
        let name = self.joined.union.schema.edge_type_name(edge_type).to_owned();
        let id = self.writing(part)?.edge_type(&name)?;
        self.renew_names(part);
        Ok(id)
    }

    fn key_in(&mut self, part: usize, key: PropertyKeyId) -> Result<PropertyKeyId> {
        if let Some(known) = self.joined.map(part).keys.to_part(key.0) {
            return Ok(PropertyKeyId(known));
        }
        let name = self.joined.union.schema.property_key_name(key).to_owned();
        let id = self.writing(part)?.property_key(&name)?;
        self.renew_names(part);
        Ok(id)
    }

    fn keys_in(&mut self, part: usize, keys: &[PropertyKeyId]) -> Result<Vec<PropertyKeyId>> {
        keys.iter().map(|&key| self.key_in(part, key)).collect()
    }

    fn subject_in(&mut self, part: usize, subject: Subject) -> Result<Subject> {
        match subject {
            Subject::Label(label) => self.label_in(part, label).map(Subject::Label),
            Subject::EdgeType(edge_type) => self.type_in(part, edge_type).map(Subject::EdgeType),
        }
    }

    /// The one part that a write is about; `None` if it is about nothing.
    fn only<T: Copy>(&self, groups: &[Group<'_, T>]) -> Result<Option<usize>> {
        match groups {
            [] => Ok(None),
            [group] => Ok(Some(group.part)),
            [first, second, ..] => {
                let (a, b) = (self.joined.parts[first.part].title(), self.joined.parts[second.part].title());
                Err(error!(Unsupported, "the statement would write to {a} and to {b} in one transaction")
                    .with_remedy("write to them one after the other, in statements of their own"))
            }
        }
    }

    /// The part for new nodes of these labels.
    fn home(&self, labels: &[LabelId]) -> Result<usize> {
        let keeps = |part: &usize| {
            let can_write = self.joined.parts[*part].view().capabilities().writes;
            can_write && self.joined.labels_in(*part, labels).is_some()
        };
        let mut homes = (1..self.joined.parts.len()).filter(|part| !labels.is_empty() && keeps(part));
        match (homes.next(), homes.next()) {
            (None, _) => Ok(0),
            (Some(part), None) => Ok(part),
            (Some(a), Some(b)) => {
                let names: Vec<&str> = labels.iter().map(|&id| self.joined.union.schema.label_name(id)).collect();
                let (a, b) = (self.joined.parts[a].title(), self.joined.parts[b].title());
                Err(error!(Unsupported, "nodes of the labels {} are kept by {a} and by {b}", names.join(", "))
                    .with_remedy("detach one of them, or attach it with a PREFIX of its own"))
            }
        }
    }

    /// Fails if a member has an edge that ends at one of these nodes of another part.
    fn check_unconnected(&self, part: usize, nodes: &[NodeId]) -> Result<()> {
        let expand = Expand { direction: Direction::Both, edge_ids: EdgeIds::Include, ..Expand::default() };
        for other in (1..self.joined.parts.len()).filter(|&other| other != part) {
            if self.joined.crosses(other, None) {
                let mut batch = EdgeBatch::default();
                if self.joined.expand_part_of(other, nodes, &expand)?.next(&mut batch)? {
                    let node = nodes[batch.inputs[0] as usize];
                    let title = self.joined.parts[other].title();
                    return Err(error!(StillConnected, "node {} still has relationships, kept by {title}", node.0));
                }
            }
        }
        Ok(())
    }
}

/// The error for an edge that would join nodes of two parts.
fn is_between(error_at: &Joined, a: usize, b: usize, edge_type: EdgeTypeId) -> model::Error {
    let name = error_at.union.schema.edge_type_name(edge_type);
    let (a, b) = (error_at.parts[a].title(), error_at.parts[b].title());
    error!(Unsupported, "a relationship :{name} from a node of {a} to a node of {b} can not be created").with_remedy(
        "keep the key of the other node in a column, and say so in the source's graph definition (an end with label and property)",
    )
}

impl WriteTransaction for FederatedTransaction {
    fn view(&self) -> &dyn ReadView {
        &self.joined
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        if let Some(id) = self.joined.union.schema.label(name) {
            return Ok(id);
        }
        Ok(LabelId(Arc::make_mut(&mut self.joined.union).name_label(name)))
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId> {
        if let Some(id) = self.joined.union.schema.edge_type(name) {
            return Ok(id);
        }
        Ok(EdgeTypeId(Arc::make_mut(&mut self.joined.union).name_type(name)))
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId> {
        if let Some(id) = self.joined.union.schema.property_key(name) {
            return Ok(id);
        }
        Ok(PropertyKeyId(Arc::make_mut(&mut self.joined.union).name_key(name)))
    }

    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>> {
        let part = self.home(new.labels)?;
        let (labels, keys) = (self.labels_in(part, new.labels)?, self.keys_in(part, new.keys)?);
        self.writing(part)?.create_nodes(&NewNodes { labels: &labels, keys: &keys, ..new.clone() })
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        let (from, to) = (self.joined.nodes_by_part(new.sources), self.joined.nodes_by_part(new.targets));
        for (&source, &target) in new.sources.iter().zip(new.targets) {
            let there = |node: NodeId| {
                let part = self.joined.part_of(node);
                part.ok_or_else(|| error!(NotFound, "node {} is not there", node.0))
            };
            let (a, b) = (there(source)?, there(target)?);
            if a != b {
                return Err(is_between(&self.joined, a, b, new.edge_type));
            }
        }
        self.only(&to)?;
        let Some(part) = self.only(&from)? else { return Ok(Vec::new()) };
        let (edge_type, keys) = (self.type_in(part, new.edge_type)?, self.keys_in(part, new.keys)?);
        let mut edges = self.writing(part)?.create_edges(&NewEdges { edge_type, keys: &keys, ..new.clone() })?;
        if part != 0 {
            edges.iter_mut().for_each(|edge| *edge = shared_edge(*edge));
        }
        Ok(edges)
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        let Some(part) = self.only(&self.joined.nodes_by_part(nodes))? else { return Ok(()) };
        let key = self.key_in(part, key)?;
        self.writing(part)?.set_node_properties(nodes, key, values)
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        let groups = self.joined.edges_by_part(edges);
        let Some(part) = self.only(&groups)? else { return Ok(()) };
        let own: Vec<EdgeId> = groups.iter().flat_map(|group| group.ids.iter().copied()).collect();
        let key = self.key_in(part, key)?;
        self.writing(part)?.set_edge_properties(&own, key, values)
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        let Some(part) = self.only(&self.joined.nodes_by_part(nodes))? else { return Ok(()) };
        let labels = self.labels_in(part, labels)?;
        self.writing(part)?.add_labels(nodes, &labels)
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        let Some(part) = self.only(&self.joined.nodes_by_part(nodes))? else { return Ok(()) };
        let known = labels.iter().filter_map(|label| self.joined.map(part).labels.to_part(label.0));
        let known: Vec<LabelId> = known.map(LabelId).collect();
        self.writing(part)?.remove_labels(nodes, &known)
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        let groups = self.joined.edges_by_part(edges);
        let Some(part) = self.only(&groups)? else { return Ok(()) };
        let own: Vec<EdgeId> = groups.iter().flat_map(|group| group.ids.iter().copied()).collect();
        self.writing(part)?.delete_edges(&own)
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        let Some(part) = self.only(&self.joined.nodes_by_part(nodes))? else { return Ok(()) };
        self.check_unconnected(part, nodes)?;
        self.writing(part)?.delete_nodes(nodes)
    }

    fn create_constraint(&mut self, constraint: Constraint, interrupt: &Interrupt) -> Result<()> {
        self.check_rule_name(&constraint.name)?;
        let (subject, keys) = (self.subject_in(0, constraint.subject)?, self.keys_in(0, &constraint.keys)?);
        let mut rule = constraint.rule;
        for label in rule.labels_mut() {
            *label = self.label_in(0, *label)?;
        }
        self.writing(0)?.create_constraint(Constraint { subject, keys, rule, ..constraint }, interrupt)?;
        self.renew_rules();
        Ok(())
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        self.check_rule_name(name)?;
        self.writing(0)?.drop_constraint(name)?;
        self.renew_rules();
        Ok(())
    }

    fn create_index(&mut self, index: Index, interrupt: &Interrupt) -> Result<()> {
        self.check_rule_name(&index.name)?;
        let (subject, keys) = (self.subject_in(0, index.subject)?, self.keys_in(0, &index.keys)?);
        self.writing(0)?.create_index(Index { subject, keys, ..index }, interrupt)?;
        self.renew_rules();
        Ok(())
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        self.check_rule_name(name)?;
        self.writing(0)?.drop_index(name)?;
        self.renew_rules();
        Ok(())
    }

    fn set_sort_key(&mut self, sort_key: SortKey) -> Result<()> {
        let (edge_type, keys) = (self.type_in(0, sort_key.edge_type)?, self.keys_in(0, &sort_key.keys)?);
        self.writing(0)?.set_sort_key(SortKey { edge_type, keys })?;
        self.renew_rules();
        Ok(())
    }

    fn drop_sort_key(&mut self, edge_type: EdgeTypeId) -> Result<()> {
        let edge_type = self.type_in(0, edge_type)?;
        self.writing(0)?.drop_sort_key(edge_type)?;
        self.renew_rules();
        Ok(())
    }

    fn defer_unique(&mut self) {
        if let State::NativeWriting(transaction) = &mut self.joined.parts[0].state {
            transaction.defer_unique();
        }
    }

    fn check_deferred(&mut self) -> Result<()> {
        match &mut self.joined.parts[0].state {
            State::NativeWriting(transaction) => transaction.check_deferred(),
            _ => Ok(()),
        }
    }

    fn claim(&mut self, hashes: &[u64]) {
        if let State::NativeWriting(transaction) = &mut self.joined.parts[0].state {
            transaction.claim(hashes);
        }
    }

    fn set_at_work(&mut self, is_at_work: bool) {
        if let State::NativeWriting(transaction) = &mut self.joined.parts[0].state {
            transaction.set_at_work(is_at_work);
        }
    }

    fn savepoint(&mut self) -> Savepoint {
        let native = match &mut self.joined.parts[0].state {
            State::NativeWriting(transaction) => Some(transaction.savepoint()),
            _ => None,
        };
        let source = |part: &mut Part| match &mut part.state {
            State::MemberWriting(transaction) => Some(transaction.savepoint()),
            _ => None,
        };
        let sources = self.joined.parts[1..].iter_mut().map(source).collect();
        self.savepoints.push(Saved { written: self.written, native, sources });
        Savepoint(self.savepoints.len() as u64 - 1)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let at = savepoint.0 as usize;
        let Some(saved) = self.savepoints.get(at) else {
            return Err(error!(TransactionState, "savepoint {at} was undone or never made"));
        };
        if let (Some(native), State::NativeWriting(transaction)) = (saved.native, &mut self.joined.parts[0].state) {
            transaction.rollback_to(native)?;
        }
        for part in 1..self.joined.parts.len() {
            if let State::MemberWriting(transaction) = &mut self.joined.parts[part].state {
                match saved.sources[part - 1] {
                    Some(source) => transaction.rollback_to(source)?,
                    // It was begun later, so that all of it goes.
                    None => self.joined.parts[part].state = State::Member(self.views[part - 1].clone()),
                }
            }
        }
        self.written = saved.written;
        self.savepoints.truncate(at + 1);
        self.joined.statistics.take();
        self.joined.estimates.take();
        self.renew_names(0);
        self.renew_rules();
        Ok(())
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        let part = self.written.unwrap_or(0);
        let view = match self.joined.parts[0].state {
            // Checks left by a transaction that only read are made by the native store.
            State::NativeWriting(_) if part == 0 => None,
            _ if part == 0 => return Ok(()),
            _ => Some(self.views[part - 1].clone()),
        };
        let state = match view {
            Some(view) => std::mem::replace(&mut self.joined.parts[part].state, State::Member(view)),
            None => self.joined.parts.swap_remove(0).state,
        };
        match state {
            State::NativeWriting(transaction) => transaction.commit(),
            State::MemberWriting(transaction) => {
                let transaction: Box<dyn WriteTransaction> = transaction;
                transaction.commit()
            }
            State::Native(_) | State::Member(_) => Ok(()),
        }
    }
}

impl FederatedTransaction {
    /// Fails for the name of a rule that a source keeps.
    fn check_rule_name(&self, name: &str) -> Result<()> {
        let of_source = |part: &&Part| {
            part.name.as_ref().is_some_and(|source| name.starts_with(&format!("{source}.")))
                && !self.joined.parts[0].view().schema().is_rule_name(name)
                && self.joined.union.schema.is_rule_name(name)
        };
        match self.joined.parts.iter().find(of_source) {
            Some(part) => {
                Err(error!(SchemaRule, "{name} is a rule of {}", part.title())
                    .with_remedy("change it in that database"))
            }
            None => Ok(()),
        }
    }
}
