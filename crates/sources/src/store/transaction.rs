//! Writing through a source: a transaction of its own database, whose view sees what it wrote.
//!
//! Nothing that others have cached is read, and nothing that is read is left to others, before it is committed; then all
//! that may have changed is forgotten.
//! A source has the tables that it has: what its definition has no column for is refused.

use std::sync::Arc;

use model::store::{EdgeIds, NewEdges, NewNodes, Savepoint};
use model::{
    Column, Constraint, Direction, EdgeBatch, EdgeId, EdgeTypeId, Error, Expand, Index, Interrupt, LabelId, Map,
    NodeId, PropertyKeyId, ReadView, Result, SortKey, Value, WriteTransaction, error,
};

use super::Shared;
use super::edge_ids::{EdgeName, MetEdge};
use super::layout::{Layout, ListKind};
use super::link::Link;
use super::view::SourceView;
use crate::connector::{Change, EdgeKeys};
use crate::definition::{EdgeKind, NodeKind};
use crate::keys;

/// A transaction of a source.
pub struct SourceTransaction {
    shared: Arc<Shared>,
    view: SourceView,
    changed_nodes: Vec<usize>,
    changed_edges: Vec<usize>,
    /// Changes so far.
    changes: u64,
    /// For each savepoint, the changes before it, and how it is come back to.
    savepoints: Vec<(u64, Mark)>,
    /// Why it can not be committed: a change failed, maybe in the middle, and was not undone.
    broken: Option<Arc<str>>,
}

/// The way of returning to a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// The source has a mark there.
    There,
    /// The transaction had not begun.
    Beginning,
    /// Not at all.
    Missing,
}

/// Nodes of a kind: which of those that were given they are, and the numbers of their keys.
type NodeGroup = (usize, Vec<u32>, Vec<u64>);

/// Edges of one kind, as they are named in a change.
struct Named {
    kind: usize,
    sources: Column,
    targets: Column,
    keys: Column,
    /// The rows of the call that they are.
    rows: Vec<u32>,
}

impl Named {
    fn keys(&self) -> EdgeKeys<'_> {
        EdgeKeys { sources: &self.sources, targets: &self.targets, keys: &self.keys }
    }
}

impl SourceTransaction {
    pub(super) fn new(shared: &Arc<Shared>, view: SourceView) -> SourceTransaction {
        SourceTransaction {
            shared: shared.clone(),
            view,
            changed_nodes: Vec::new(),
            changed_edges: Vec::new(),
            changes: 0,
            savepoints: Vec::new(),
            broken: None,
        }
    }

    /// The graph as this transaction has left it so far.
    pub fn source_view(&self) -> &SourceView {
        &self.view
    }

    fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    fn link(&self) -> &Link {
        &self.view.link
    }

    fn source(&self) -> &str {
        self.shared.connector.name()
    }

    fn node_kind(&self, kind: usize) -> &NodeKind {
        &self.layout().definition.nodes[kind]
    }

    fn edge_kind(&self, kind: usize) -> &EdgeKind {
        &self.layout().definition.edges[kind]
    }

    /// Makes a change, and forgets what was read before it.
    fn change(&mut self, change: &Change<'_>) -> Result<Column> {
        if let Some(reason) = &self.broken {
            return Err(
                error!(TransactionState, "an earlier change failed: {reason}").with_remedy("roll back and begin again")
            );
        }
        self.changes += 1;
        let answer = self.link().change(|writing| writing.change(change));
        match change {
            Change::InsertNodes { kind, .. } | Change::UpdateNodes { kind, .. } | Change::DeleteNodes { kind, .. } => {
                self.changed_nodes.push(*kind);
            }
            Change::InsertEdges { kind, .. } | Change::UpdateEdges { kind, .. } | Change::DeleteEdges { kind, .. } => {
                self.changed_edges.push(*kind);
            }
        }
        self.view.forget_all();
        answer.inspect_err(|failure| self.broken = Some(Arc::from(failure.message())))
    }

    /// The kind for new nodes of these labels.
    fn home(&self, labels: &[LabelId]) -> Result<usize> {
        let layout = self.layout();
        let kinds = layout.kinds_of(labels);
        let exact: Vec<usize> =
            kinds.iter().copied().filter(|&kind| layout.nodes[kind].labels.len() == labels.len()).collect();
        let names: Vec<&str> = labels.iter().map(|&label| layout.schema.label_name(label)).collect();
        let names = if names.is_empty() { "no labels".to_owned() } else { format!("labels {}", names.join(", ")) };
        match (&exact[..], &kinds[..]) {
            ([kind], _) | ([], [kind]) => Ok(*kind),
            ([], []) => Err(error!(Argument, "{} has no kind of nodes with {names}", self.source())
                .with_remedy(format!("its kinds are {}", self.kind_names()))),
            _ => Err(error!(Argument, "{} has several kinds of nodes with {names}", self.source())
                .with_remedy("name labels that only one of them has")),
        }
    }

    fn kind_names(&self) -> String {
        let kinds = self.layout().definition.nodes.iter();
        kinds.map(|kind| format!("{} (:{})", kind.name, kind.labels.join(":"))).collect::<Vec<_>>().join(", ")
    }

    fn no_property(&self, kind: &str, key: PropertyKeyId) -> Error {
        let name = self.layout().schema.property_key_name(key);
        error!(Argument, "{}: {kind} has no property {name}", self.source())
            .with_remedy("add a column to the source, and to the definition")
    }

    /// The numbers of properties that are given, with their columns. What is null everywhere need not be there.
    fn properties<'c>(
        &self,
        numbers: &Map<PropertyKeyId, usize>,
        kind: &str,
        keys: &[PropertyKeyId],
        columns: &'c [Column],
    ) -> Result<Vec<(usize, &'c Column)>> {
        let mut properties = Vec::new();
        for (key, column) in keys.iter().zip(columns) {
            match numbers.get(key) {
                Some(&number) => properties.push((number, column)),
                None if (0..column.len()).all(|row| column.is_null(row)) => {}
                None => return Err(self.no_property(kind, *key)),
            }
        }
        Ok(properties)
    }

    /// The nodes by kind: their rows, and their keys. All must be there.
    fn group_nodes(&self, nodes: &[NodeId]) -> Result<Vec<NodeGroup>> {
        let mut groups: Vec<NodeGroup> = Vec::new();
        for (row, (kind, node)) in self.view.kinds_of_nodes(nodes)?.into_iter().zip(nodes).enumerate() {
            let kind = kind.ok_or_else(|| error!(NotFound, "{} has no node #{}", self.source(), node.0))?;
            let at = groups.iter().position(|(other, ..)| *other == kind).unwrap_or_else(|| {
                groups.push((kind, Vec::new(), Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(row as u32);
            groups[at].2.push(keys::parts(*node).2);
        }
        Ok(groups)
    }

    /// The edges that are there, by kind.
    fn group_edges(&self, edges: &[EdgeId]) -> Result<Vec<Named>> {
        let layout = self.layout();
        let exist = self.view.which_edges_exist(edges)?;
        let mut groups: Vec<(usize, Vec<u32>, Vec<MetEdge>)> = Vec::new();
        for (row, edge) in self.view.edge_names.edges(edges).into_iter().enumerate() {
            let Some(edge) = edge.filter(|_| exist.get(row)) else { continue };
            let at = groups.iter().position(|(other, ..)| *other == edge.list.edge).unwrap_or_else(|| {
                groups.push((edge.list.edge, Vec::new(), Vec::new()));
                groups.len() - 1
            });
            groups[at].1.push(row as u32);
            groups[at].2.push(edge);
        }
        let all_keys = &self.shared.keys;
        let named = groups.into_iter().map(|(kind, rows, edges)| {
            let ends =
                |edge: &MetEdge| if edge.list.is_reverse { (edge.far, edge.near) } else { (edge.near, edge.far) };
            let (sources, targets): (Vec<u64>, Vec<u64>) = edges.iter().map(ends).unzip();
            let [source, target] = layout.edges[kind].ends;
            let own: Vec<Value> =
                edges.iter().map(|edge| all_keys.value(layout.edge_space(kind), edge.name.key)).collect();
            Named {
                kind,
                sources: all_keys.decode(source, &sources),
                targets: all_keys.decode(target, &targets),
                keys: if layout.edges[kind].has_keys { Column::from_values(&own) } else { Column::nulls(own.len()) },
                rows,
            }
        });
        Ok(named.collect())
    }

    fn read_only(&self, what: &str) -> Error {
        error!(ReadOnly, "{}: {what}", self.source()).with_remedy("change it in the source, and attach it again")
    }

    /// New edges of one kind; their ids.
    fn insert_edges(&mut self, kind: usize, rows: &[u32], new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        let layout = self.shared.layout.clone();
        let shared = self.shared.clone();
        let ends =
            |nodes: &[NodeId]| -> Vec<u64> { rows.iter().map(|&row| keys::parts(nodes[row as usize]).2).collect() };
        let [source_space, target_space] = layout.edges[kind].ends;
        let sources = shared.keys.decode(source_space, &ends(new.sources));
        let targets = shared.keys.decode(target_space, &ends(new.targets));
        let columns: Vec<Column> = new.properties.iter().map(|column| column.gather(rows)).collect();
        let name = self.edge_kind(kind).name.clone();
        let properties = self.properties(&layout.edges[kind].properties, &name, new.keys, &columns)?;
        let change = Change::InsertEdges { kind, sources: &sources, targets: &targets, properties: &properties };
        let answer = self.change(&change)?;
        let nodes = |nodes: &[NodeId]| -> Vec<NodeId> { rows.iter().map(|&row| nodes[row as usize]).collect() };
        let (sources, targets) = (nodes(new.sources), nodes(new.targets));
        if !layout.edges[kind].has_keys {
            return self.find_new_edges(kind, &sources, &targets, new.keys, &columns);
        }
        let mut own = Vec::new();
        shared.keys.encode(layout.edge_space(kind), &answer, &mut own)?;
        if own.len() != rows.len() {
            return Err(error!(Internal, "{} new edges were given {} keys", rows.len(), own.len()));
        }
        let met = own.into_iter().zip(sources).zip(targets).map(|((key, source), target)| MetEdge {
            name: EdgeName { edge: kind as u32, ordinal: 0, source, target, key },
            list: ListKind { edge: kind, is_reverse: false },
            near: keys::parts(source).2,
            far: keys::parts(target).2,
        });
        let mut ids = Vec::new();
        self.view.edge_names.number(met.collect::<Vec<_>>().into_iter(), &mut ids)?;
        Ok(ids)
    }

    /// The ids of new edges that have no keys: of those with the same ends and properties any will do.
    fn find_new_edges(
        &self,
        kind: usize,
        sources: &[NodeId],
        targets: &[NodeId],
        keys: &[PropertyKeyId],
        columns: &[Column],
    ) -> Result<Vec<EdgeId>> {
        let expand = Expand {
            direction: Direction::Out,
            types: Some(vec![self.layout().edges[kind].edge_type]),
            edge_ids: EdgeIds::Include,
            keys: keys.to_vec(),
            ..Expand::default()
        };
        let mut found: Vec<Vec<(NodeId, EdgeId, Vec<Value>)>> = vec![Vec::new(); sources.len()];
        let (mut cursor, mut batch) = (self.view.expand(sources, &expand)?, EdgeBatch::default());
        while model::store::EdgeCursor::next(cursor.as_mut(), &mut batch)? {
            for row in 0..batch.len() {
                let values = batch.properties.iter().map(|column| column.value(row)).collect();
                found[batch.inputs[row] as usize].push((batch.neighbors[row], batch.edges[row], values));
            }
        }
        let mut taken = model::Set::default();
        let ids = (0..sources.len()).map(|row| {
            let wanted: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
            let mut same = found[row].iter().filter(|(target, id, _)| *target == targets[row] && !taken.contains(id));
            let exact = same.clone().find(|(.., values)| *values == wanted).or_else(|| same.next_back());
            let id = exact.map(|(_, id, _)| *id);
            let id = id.ok_or_else(|| error!(NotFound, "{} does not show an edge that it took", self.source()))?;
            taken.insert(id);
            Ok(id)
        });
        ids.collect()
    }

    /// The kind for new edges of a type between nodes of these kinds.
    fn edge_home(&self, edge_type: EdgeTypeId, source: usize, target: usize) -> Result<usize> {
        let kinds = self.layout().edges.iter().enumerate();
        let mut fitting = kinds.filter(|(_, kind)| kind.edge_type == edge_type && kind.ends == [source, target]);
        let name = self.layout().schema.edge_type_name(edge_type);
        let (from, to) = (&self.node_kind(source).name, &self.node_kind(target).name);
        match (fitting.next(), fitting.next()) {
            (Some((kind, _)), None) => Ok(kind),
            (None, _) => Err(error!(Argument, "{} has no edges of type {name} from {from} to {to}", self.source())
                .with_remedy("define a kind of edges that has them")),
            _ => Err(error!(
                Argument,
                "{} keeps edges of type {name} from {from} to {to} in several places",
                self.source()
            )
            .with_remedy("give them types of their own in the definition")),
        }
    }

    /// Fails if edges without keys are to be deleted that can not be told from others that stay.
    fn check_parallel(&self, named: &Named) -> Result<()> {
        if self.layout().edges[named.kind].has_keys {
            return Ok(());
        }
        let mut wanted: Map<(Value, Value), u64> = Map::default();
        for row in 0..named.rows.len() {
            *wanted.entry((named.sources.value(row), named.targets.value(row))).or_default() += 1;
        }
        let mut numbers = Vec::new();
        let space = self.layout().edges[named.kind].ends[0];
        self.shared.keys.encode(space, &named.sources, &mut numbers)?;
        let member = self.layout().member;
        numbers.sort_unstable();
        numbers.dedup();
        let near: Vec<NodeId> = numbers.into_iter().map(|number| keys::node_id(member, space, number)).collect();
        let types = Some(vec![self.layout().edges[named.kind].edge_type]);
        let expand = Expand { types, edge_ids: EdgeIds::Include, ..Expand::default() };
        let (mut cursor, mut batch, mut met) = (self.view.expand(&near, &expand)?, EdgeBatch::default(), Vec::new());
        while model::store::EdgeCursor::next(cursor.as_mut(), &mut batch)? {
            met.extend(self.view.edge_names.edges(&batch.edges).into_iter().flatten());
        }
        for edge in met.iter().filter(|edge| edge.list.edge == named.kind) {
            let ends = self.layout().edges[named.kind].ends;
            let value = |space: usize, key: u64| self.shared.keys.value(space, key);
            if let Some(left) = wanted.get_mut(&(value(ends[0], edge.near), value(ends[1], edge.far))) {
                *left = left.checked_sub(1).ok_or_else(|| {
                    let name = &self.edge_kind(named.kind).name;
                    self.read_only(&format!("edges {name} have no key that tells those with the same ends apart"))
                })?;
            }
        }
        Ok(())
    }
}

impl WriteTransaction for SourceTransaction {
    fn view(&self) -> &dyn ReadView {
        &self.view
    }

    fn label(&mut self, name: &str) -> Result<LabelId> {
        self.layout().schema.label(name).ok_or_else(|| {
            error!(Argument, "{} has no kind of nodes with the label {name}", self.source())
                .with_remedy(format!("its kinds are {}", self.kind_names()))
        })
    }

    fn edge_type(&mut self, name: &str) -> Result<EdgeTypeId> {
        self.layout().schema.edge_type(name).ok_or_else(|| {
            error!(Argument, "{} has no edges of type {name}", self.source())
                .with_remedy("define a kind of edges that has them")
        })
    }

    fn property_key(&mut self, name: &str) -> Result<PropertyKeyId> {
        self.layout().schema.property_key(name).ok_or_else(|| {
            error!(Argument, "{} has no property {name}", self.source())
                .with_remedy("add a column to the source, and to the definition")
        })
    }

    fn create_nodes(&mut self, new: &NewNodes<'_>) -> Result<Vec<NodeId>> {
        if new.count == 0 {
            return Ok(Vec::new());
        }
        let kind = self.home(new.labels)?;
        let name = self.node_kind(kind).name.clone();
        let layout = self.shared.layout.clone();
        let properties = self.properties(&layout.nodes[kind].properties, &name, new.keys, new.properties)?;
        let answer = self.change(&Change::InsertNodes { kind, count: new.count, properties: &properties })?;
        let mut numbers = Vec::new();
        self.shared.keys.encode(kind, &answer, &mut numbers)?;
        if numbers.len() != new.count || numbers.contains(&keys::NO_KEY) {
            return Err(error!(
                Internal,
                "{}: {} new nodes were given {} keys",
                self.source(),
                new.count,
                numbers.len()
            ));
        }
        Ok(numbers.into_iter().map(|number| keys::node_id(layout.member, kind, number)).collect())
    }

    fn create_edges(&mut self, new: &NewEdges<'_>) -> Result<Vec<EdgeId>> {
        let kinds = |nodes: &[NodeId]| -> Result<Vec<usize>> {
            let kinds = self.view.kinds_of_nodes(nodes)?.into_iter().zip(nodes);
            let found = kinds.map(|(kind, node)| {
                kind.ok_or_else(|| {
                    error!(NotFound, "{} has no node #{}, where an edge is to end", self.source(), node.0)
                })
            });
            found.collect()
        };
        let (sources, targets) = (kinds(new.sources)?, kinds(new.targets)?);
        let mut groups: Vec<(usize, Vec<u32>)> = Vec::new();
        for (row, (&source, &target)) in sources.iter().zip(&targets).enumerate() {
            let kind = self.edge_home(new.edge_type, source, target)?;
            match groups.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, rows)) => rows.push(row as u32),
                None => groups.push((kind, vec![row as u32])),
            }
        }
        let mut ids = vec![EdgeId(0); sources.len()];
        for (kind, rows) in groups {
            for (&row, id) in rows.iter().zip(self.insert_edges(kind, &rows, new)?) {
                ids[row as usize] = id;
            }
        }
        Ok(ids)
    }

    fn set_node_properties(&mut self, nodes: &[NodeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        // A later row for the same node wins.
        let mut last: Map<NodeId, u32> = Map::default();
        nodes.iter().enumerate().for_each(|(row, &node)| {
            last.insert(node, row as u32);
        });
        for (kind, rows, numbers) in self.group_nodes(nodes)? {
            let kept: Vec<usize> = (0..rows.len()).filter(|&at| last[&nodes[rows[at] as usize]] == rows[at]).collect();
            let values = values.gather(&kept.iter().map(|&at| rows[at]).collect::<Vec<u32>>());
            let name = self.node_kind(kind).name.clone();
            let Some(&property) = self.layout().nodes[kind].properties.get(&key) else {
                if (0..values.len()).all(|row| values.is_null(row)) {
                    continue;
                }
                return Err(self.no_property(&name, key));
            };
            if self.node_kind(kind).key.contains(&self.node_kind(kind).properties[property].column) {
                let property = self.layout().schema.property_key_name(key);
                return Err(self.read_only(&format!("property {property} is the key of {name}, which stays as it is")));
            }
            let numbers: Vec<u64> = kept.iter().map(|&at| numbers[at]).collect();
            let keys = self.shared.keys.decode(kind, &numbers);
            self.change(&Change::UpdateNodes { kind, keys: &keys, property, values: &values })?;
        }
        Ok(())
    }

    fn set_edge_properties(&mut self, edges: &[EdgeId], key: PropertyKeyId, values: &Column) -> Result<()> {
        let mut last: Map<EdgeId, usize> = Map::default();
        edges.iter().enumerate().for_each(|(row, &edge)| {
            last.insert(edge, row);
        });
        let mut kept: Vec<u32> = last.values().map(|&row| row as u32).collect();
        kept.sort_unstable();
        let distinct: Vec<EdgeId> = kept.iter().map(|&row| edges[row as usize]).collect();
        let values = values.gather(&kept);
        for named in self.group_edges(&distinct)? {
            let (kind, values) = (named.kind, values.gather(&named.rows));
            let name = self.edge_kind(kind).name.clone();
            let Some(&property) = self.layout().edges[kind].properties.get(&key) else {
                if (0..values.len()).all(|row| values.is_null(row)) {
                    continue;
                }
                return Err(self.no_property(&name, key));
            };
            if !self.layout().edges[kind].has_keys {
                return Err(self.read_only(&format!("edges {name} have no key by which one could be changed")));
            }
            self.change(&Change::UpdateEdges { kind, edges: named.keys(), property, values: &values })?;
        }
        Ok(())
    }

    fn add_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        for (kind, ..) in self.group_nodes(nodes)? {
            if let Some(&label) = labels.iter().find(|label| !self.layout().nodes[kind].labels.contains(label)) {
                let (name, label) = (&self.node_kind(kind).name, self.layout().schema.label_name(label));
                return Err(self.read_only(&format!("the definition gives nodes {name} their labels, {label} is none")));
            }
        }
        Ok(())
    }

    fn remove_labels(&mut self, nodes: &[NodeId], labels: &[LabelId]) -> Result<()> {
        for (kind, ..) in self.group_nodes(nodes)? {
            if let Some(&label) = labels.iter().find(|label| self.layout().nodes[kind].labels.contains(label)) {
                let (name, label) = (&self.node_kind(kind).name, self.layout().schema.label_name(label));
                return Err(self.read_only(&format!("the definition gives all nodes {name} the label {label}")));
            }
        }
        Ok(())
    }

    fn delete_edges(&mut self, edges: &[EdgeId]) -> Result<()> {
        let mut distinct = edges.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let groups = self.group_edges(&distinct)?;
        for named in &groups {
            self.check_parallel(named)?;
        }
        for named in groups {
            self.change(&Change::DeleteEdges { kind: named.kind, edges: named.keys() })?;
        }
        Ok(())
    }

    fn delete_nodes(&mut self, nodes: &[NodeId]) -> Result<()> {
        let exist = self.view.nodes_exist(nodes)?;
        let mut there: Vec<NodeId> = (0..nodes.len()).filter(|&row| exist.get(row)).map(|row| nodes[row]).collect();
        there.sort_unstable();
        there.dedup();
        let degrees = self.view.degrees(&there, Direction::Both, None)?;
        if let Some(row) = degrees.iter().position(|&degree| degree > 0) {
            let (source, node, degree) = (self.source(), there[row].0, degrees[row]);
            return Err(error!(StillConnected, "{source}: node #{node} still has {degree} edges"));
        }
        for (kind, _, numbers) in self.group_nodes(&there)? {
            let keys = self.shared.keys.decode(kind, &numbers);
            self.change(&Change::DeleteNodes { kind, keys: &keys })?;
        }
        Ok(())
    }

    fn create_constraint(&mut self, constraint: Constraint, _interrupt: &Interrupt) -> Result<()> {
        Err(self.read_only(&format!("constraint {} cannot be made through it", constraint.name)))
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        Err(self.read_only(&format!("constraint {name} cannot be dropped through it")))
    }

    fn create_index(&mut self, index: Index, _interrupt: &Interrupt) -> Result<()> {
        Err(self.read_only(&format!("index {} cannot be made through it", index.name)))
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        Err(self.read_only(&format!("index {name} cannot be dropped through it")))
    }

    fn set_sort_key(&mut self, _sort_key: SortKey) -> Result<()> {
        Err(self.read_only("the order of edges is the source's own affair"))
    }

    fn drop_sort_key(&mut self, _edge_type: EdgeTypeId) -> Result<()> {
        Err(self.read_only("the order of edges is the source's own affair"))
    }

    fn savepoint(&mut self) -> Savepoint {
        let number = self.savepoints.len() as u64 + 1;
        // Also for transactions that only read: in some databases a question that fails ends the transaction, unless it
        // is undone.
        let mark = match self.link().is_open() {
            false => Mark::Beginning,
            true if self.broken.is_some() => Mark::Missing,
            true => match self.link().change(|writing| writing.mark(number)) {
                Ok(true) => Mark::There,
                Ok(false) | Err(_) => Mark::Missing,
            },
        };
        self.savepoints.push((self.changes, mark));
        Savepoint(number)
    }

    fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let at = savepoint.0 as usize;
        let Some(&(changes, mark)) = at.checked_sub(1).and_then(|at| self.savepoints.get(at)) else {
            return Err(error!(TransactionState, "savepoint {at} was undone or never made"));
        };
        self.savepoints.truncate(at);
        let undone = match mark {
            Mark::There => self.link().change(|writing| writing.undo_to(savepoint.0)),
            Mark::Beginning => {
                self.link().begin_anew();
                Ok(())
            }
            Mark::Missing if self.changes == changes => return Ok(()),
            Mark::Missing => Err(error!(Unsupported, "{} cannot undo a part of a transaction", self.source())),
        };
        if let Err(failure) = undone {
            self.broken = Some(Arc::from(failure.message()));
            return Err(failure.with_remedy("roll back the whole transaction"));
        }
        (self.changes, self.broken) = (changes, None);
        self.view.forget_all();
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        if let Some(reason) = &self.broken {
            return Err(error!(TransactionState, "a change failed and was not undone: {reason}")
                .with_remedy("roll back and begin again"));
        }
        let committed = self.link().commit();
        if !self.changed_nodes.is_empty() || !self.changed_edges.is_empty() {
            // Even after an error it may have been made durable.
            self.shared.forget_changed(&self.changed_nodes, &self.changed_edges);
        }
        committed
    }
}
