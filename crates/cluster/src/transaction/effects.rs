//! The rows, items and changes of the state that a commit makes of a transaction's writes.

use std::sync::{Arc, Mutex};

use model::codec::ordered::hold_nan;
use model::store::by_scan::each_edge;
use model::{EdgeId, EdgeTypeId, LabelId, NodeId, PropertyKeyId, Result, Subject, error};

use super::Transaction;
use crate::bodies::Named;
use crate::body::{Body, Slot};
use crate::commit::{Answer, Doubts, Pending};
use crate::items::{Item, Items};
use crate::overlay::{Ends, edge_entry, node_entry};
use crate::record::{Member, Stored, TransactionId};
use crate::rows::{
    ENTRY_BYTES_MAX, EdgeData, EdgeVersion, NodeData, NodeVersion, SEGMENT_BITS, bucket, bytes, first_value, int,
    labels_bytes, properties_bytes, shard, sort_bytes,
};
use crate::state::{Delta, NameKind, NewName, NumberedIndex, difference, rules_of};
use crate::tables::{Field, Table};

/// Rows that die where a label or a value is lost: the event that says so, and the one before.
const ENDED: u64 = 2;

fn known(number: u64) -> Slot {
    Slot::Known(int(number))
}

/// Rows being gathered, with what else the commit needs.
struct Effects<'a> {
    transaction: &'a Transaction,
    graph: Field,
    body: Body,
    doubts: Doubts,
    has_edges: bool,
    has_edge_properties: bool,
    /// Rows that no later view sees.
    dead: u64,
}

impl Transaction {
    /// The transaction as it waits for its commit; `None` if it wrote nothing. Long bodies are written here.
    pub(super) fn pending(&self) -> Result<Option<Arc<Pending>>> {
        let mut effects = Effects {
            transaction: self,
            graph: Field::Int(self.shared.log.ring.graph),
            body: Body::default(),
            doubts: Doubts { schema: self.view.own.schema.clone(), ..Doubts::default() },
            has_edges: false,
            has_edge_properties: false,
            dead: 0,
        };
        effects.gather()?;
        let delta = effects.delta();
        if delta == Delta::default() && effects.doubts.items.is_empty() {
            return Ok(None);
        }
        effects.into_pending(delta).map(Some)
    }
}

impl Effects<'_> {
    fn gather(&mut self) -> Result<()> {
        let own = &self.transaction.view.own;
        for (&id, touched) in &own.nodes {
            self.node(id, touched.old.as_ref(), touched.new.as_deref())?;
        }
        for (&number, touched) in &own.edges {
            self.edge(number, touched.old.as_ref(), touched.new.as_deref())?;
        }
        for index in own.indexes.iter().filter(|index| own.is_fresh(index)) {
            let from = (index.number, Arc::from([]), 0);
            let to = (index.number + 1, Arc::from([]), 0);
            for ((_, entry, id), ends) in own.entries.range(from..to) {
                let first = self.first_value_of(index, *id, entry)?;
                self.entry(index, entry, &first, (*id, *ends), true)?;
            }
        }
        self.resort()?;
        let claims = self.transaction.claims.iter().map(|&hash| Item::Claim(hash));
        self.doubts.items.extend(claims);
        Ok(())
    }

    /// Bytes of the first value of an entry: all of it where the index has one property.
    fn first_value_of(&self, index: &NumberedIndex, id: u64, entry: &[u8]) -> Result<Vec<u8>> {
        if index.keys.len() == 1 {
            return Ok(entry.to_vec());
        }
        let view = &self.transaction.view;
        let first = match index.subject {
            Subject::Label(_) => {
                view.nodes(&[NodeId(id)])?.pop().flatten().map(|node| first_value(&node.properties, &index.keys))
            }
            Subject::EdgeType(_) => {
                view.edges(&[EdgeId(id)])?.pop().flatten().map(|edge| first_value(&edge.properties, &index.keys))
            }
        };
        first.ok_or_else(|| error!(Internal, "the index {} has an entry of what is not there", index.name))
    }

    fn put(&mut self, table: Table, partition: &[Field], clustering: &[Slot], cells: &[(usize, Slot)]) -> Result<()> {
        self.body.put(table, partition, clustering, cells);
        let settings = &self.transaction.shared.log.settings;
        let (rows, bytes) = (settings.transaction_rows_max, settings.transaction_bytes_max);
        if self.body.rows() > rows || self.body.len() > bytes {
            return Err(error!(
                Limit,
                "the transaction writes over {rows} rows or {bytes} bytes to the wide-column store"
            )
            .with_remedy("split it, as CALL { … } IN TRANSACTIONS does"));
        }
        Ok(())
    }

    fn node(&mut self, id: NodeId, old: Option<&NodeVersion>, new: Option<&NodeData>) -> Result<()> {
        if old.is_none() && new.is_none() {
            return Ok(());
        }
        let partition = [self.graph.clone(), int(bucket(id.0))];
        if let Some(old) = old {
            self.put(Table::Node, &partition, &[known(id.0), known(old.born)], &[(0, Slot::Sequence)])?;
            self.dead += 1;
            self.doubts.items.push(Item::Node(id));
            if new.is_none() {
                self.doubts.deleted.push(id);
            }
        }
        if let Some(new) = new {
            let cells = [
                (1, Slot::Known(bytes(&labels_bytes(&new.labels)))),
                (2, Slot::Known(bytes(&properties_bytes(&new.properties)))),
            ];
            self.put(Table::Node, &partition, &[known(id.0), Slot::Sequence], &cells)?;
        }
        let was = old.map(|version| &*version.data);
        self.labels(id, was.map_or(&[][..], |was| &was.labels), new.map_or(&[][..], |new| &new.labels))?;
        let indexes = self.transaction.view.own.indexes.clone();
        for index in indexes.iter() {
            let entry = |node: Option<&NodeData>| node.and_then(|node| node_entry(index, node));
            let (before, after) = (entry(was), entry(new));
            let first = |node: Option<&NodeData>| node.map(|node| first_value(&node.properties, &index.keys));
            self.values(index, (id.0, Ends::default()), (before, first(was)), (after, first(new)))?;
        }
        Ok(())
    }

    /// Events of labels that were got or lost.
    fn labels(&mut self, id: NodeId, old: &[LabelId], new: &[LabelId]) -> Result<()> {
        let lost = old.iter().filter(|label| !new.contains(label)).map(|label| (label, 0));
        let got = new.iter().filter(|label| !old.contains(label)).map(|label| (label, 1));
        for (label, is_present) in lost.chain(got) {
            let partition = [self.graph.clone(), int(u64::from(label.0)), int(id.0 >> SEGMENT_BITS)];
            let clustering = [known(id.0), Slot::Sequence];
            self.put(Table::ByLabel, &partition, &clustering, &[(0, known(is_present))])?;
            self.dead += ENDED * (1 - is_present);
        }
        Ok(())
    }

    /// Events of an index in which something has another entry than before, if it has.
    fn values(
        &mut self,
        index: &NumberedIndex,
        holder: (u64, Ends),
        (before, first_before): (Option<Vec<u8>>, Option<Vec<u8>>),
        (after, first_after): (Option<Vec<u8>>, Option<Vec<u8>>),
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        let is_fresh = self.transaction.view.own.is_fresh(index);
        if let Some(entry) = &before
            && !is_fresh
        {
            self.entry(index, entry, &first_before.unwrap_or_default(), holder, false)?;
        }
        if let Some(entry) = &after {
            if index.is_unique && !hold_nan(entry) {
                self.doubts.items.push(Item::Value(index.name.to_string(), index.number, entry.clone()));
            }
            if !is_fresh {
                self.entry(index, entry, &first_after.unwrap_or_default(), holder, true)?;
            }
        }
        Ok(())
    }

    /// An event of an index.
    fn entry(
        &mut self,
        index: &NumberedIndex,
        entry: &[u8],
        first: &[u8],
        (id, ends): (u64, Ends),
        is_present: bool,
    ) -> Result<()> {
        let partition = [self.graph.clone(), int(u64::from(index.number)), int(shard(first))];
        let cut = &entry[..entry.len().min(ENTRY_BYTES_MAX)];
        let clustering = [Slot::Known(bytes(cut)), known(id), Slot::Sequence];
        let mut cells = vec![(0, known(u64::from(is_present)))];
        if matches!(index.subject, Subject::EdgeType(_)) {
            cells.extend([(1, known(ends.1.0)), (2, known(ends.2.0)), (3, known(u64::from(ends.0.0)))]);
        }
        self.dead += if is_present { 0 } else { ENDED };
        self.put(Table::ByValue, &partition, &clustering, &cells)
    }

    fn edge(&mut self, number: u64, old: Option<&EdgeVersion>, new: Option<&EdgeData>) -> Result<()> {
        if old.is_none() && new.is_none() {
            return Ok(());
        }
        match (old, new) {
            (Some(old), _) => {
                let EdgeData { edge_type, source, target, .. } = *old.data;
                self.doubts.items.push(Item::Edge(number, edge_type, source, target));
            }
            (None, Some(new)) => self.touch(new),
            (None, None) => {}
        }
        self.has_edges |= old.is_some() != new.is_some();
        self.has_edge_properties |= old.is_some() && new.is_some();
        self.edge_rows(number, old, new)?;
        let was = old.map(|version| &*version.data);
        let ends = new.or(was).map(|edge| (edge.edge_type, edge.source, edge.target)).unwrap_or_default();
        let indexes = self.transaction.view.own.indexes.clone();
        for index in indexes.iter() {
            let entry = |edge: Option<&EdgeData>| edge.and_then(|edge| edge_entry(index, edge));
            let first = |edge: Option<&EdgeData>| edge.map(|edge| first_value(&edge.properties, &index.keys));
            self.values(index, (number, ends), (entry(was), first(was)), (entry(new), first(new)))?;
        }
        Ok(())
    }

    /// Notes the ends of a new edge, unless they are as new as it.
    fn touch(&mut self, edge: &EdgeData) {
        for node in [edge.source, edge.target] {
            let is_new = self.transaction.view.own.nodes.get(&node).is_some_and(|touched| touched.old.is_none());
            if !is_new {
                self.doubts.touched.push(node);
            }
        }
    }

    /// The end of one version of an edge and the beginning of the next, in all tables of edges.
    fn edge_rows(&mut self, number: u64, old: Option<&EdgeVersion>, new: Option<&EdgeData>) -> Result<()> {
        if let Some(old) = old {
            let died = [(0, Slot::Sequence)];
            let partition = [self.graph.clone(), int(bucket(number))];
            self.put(Table::Edge, &partition, &[known(number), known(old.born)], &died)?;
            self.dead += 3;
            self.neighbor_rows(number, &old.data, &old.sort, known(old.born), &died)?;
        }
        if let Some(new) = new {
            let sort = sort_bytes(&new.properties, self.transaction.view.own.schema.sort_key(new.edge_type));
            let properties = Slot::Known(bytes(&properties_bytes(&new.properties)));
            let partition = [self.graph.clone(), int(bucket(number))];
            let cells = [
                (1, properties.clone()),
                (2, known(u64::from(new.edge_type.0))),
                (3, known(new.source.0)),
                (4, known(new.target.0)),
                (5, Slot::Known(Field::Bytes(sort.clone()))),
            ];
            self.put(Table::Edge, &partition, &[known(number), Slot::Sequence], &cells)?;
            self.neighbor_rows(number, new, &sort, Slot::Sequence, &[(1, properties)])?;
        }
        Ok(())
    }

    fn neighbor_rows(
        &mut self,
        number: u64,
        edge: &EdgeData,
        sort: &Arc<[u8]>,
        born: Slot,
        cells: &[(usize, Slot)],
    ) -> Result<()> {
        let ends = [(Table::EdgeOut, edge.source, edge.target), (Table::EdgeIn, edge.target, edge.source)];
        for (table, node, neighbor) in ends {
            let partition = [self.graph.clone(), int(bucket(node.0))];
            let clustering = [
                known(node.0),
                known(u64::from(edge.edge_type.0)),
                Slot::Known(Field::Bytes(sort.clone())),
                known(neighbor.0),
                known(number),
                born.clone(),
            ];
            self.put(table, &partition, &clustering, cells)?;
        }
        Ok(())
    }

    /// New versions of the edges whose type has another sort key than before.
    fn resort(&mut self) -> Result<()> {
        let view = &self.transaction.view;
        let (before, after) = (&view.state.schema, &view.own.schema);
        let types = (0..after.edge_types.len() as u32).map(EdgeTypeId);
        let changed: Vec<EdgeTypeId> =
            types.filter(|&edge_type| before.sort_key(edge_type) != after.sort_key(edge_type)).collect();
        for edge_type in changed {
            let mut edges: Vec<EdgeId> = Vec::new();
            each_edge(view, edge_type, &[] as &[PropertyKeyId], |batch| {
                edges.extend(batch.edges.iter().filter(|edge| !view.own.edges.contains_key(&edge.0)));
                Ok(())
            })?;
            for edges in edges.chunks(model::limits::BATCH_ROWS) {
                for (number, old) in view.base_edges(edges)? {
                    let data = old.data.clone();
                    self.edge_rows(number, Some(&old), Some(&data))?;
                }
            }
        }
        Ok(())
    }

    fn delta(&self) -> Delta {
        let view = &self.transaction.view;
        let (before, own) = (&view.state, &view.own);
        let mut names = Vec::new();
        for kind in NameKind::ALL {
            let first = kind.of(&before.schema).len();
            let new = kind.of(&own.schema).iter().enumerate().skip(first);
            names.extend(new.map(|(number, name)| NewName { kind, number: number as u32, name: name.clone() }));
        }
        Delta {
            names,
            rules: own.has_new_rules.then(|| rules_of(&own.schema, &own.numbers, own.next_index)),
            counts: difference(&before.statistics, &own.statistics),
            has_data: self.body.rows() > 0,
            has_edges: self.has_edges,
            has_edge_properties: self.has_edge_properties,
            dead: self.dead,
            ..Delta::default()
        }
    }

    /// Writes what is too long for the record.
    fn into_pending(self, delta: Delta) -> Result<Arc<Pending>> {
        let shared = &self.transaction.shared;
        let (log, random) = (&shared.log, &shared.log.settings.random);
        let mut items = Items::default();
        items.write(&self.doubts.items);
        self.doubts.deleted.iter().for_each(|&node| items.delete(node));
        self.doubts.touched.iter().for_each(|&node| items.touch(node));
        items.finish();
        let (encoded, rows) = (Arc::<[u8]>::from(items.encode()), self.body.finish());
        let named = if Stored::is_long(&encoded) || Stored::is_long(&rows) {
            shared.names.take(log)?
        } else {
            Named { id: TransactionId(random.next_u64(), random.next_u64()), sequence: u64::MAX }
        };
        let id = named.id;
        let (stored_items, mut parts) = Stored::new(&encoded, log.ring.graph, id, 0);
        let (stored_rows, more) = Stored::new(&rows, log.ring.graph, id, parts.len() as u32);
        parts.extend(more);
        if !parts.is_empty() {
            log.ring.write(&parts)?;
        }
        let mut bytes = Vec::new();
        delta.encode(&mut bytes);
        let inline = |stored: &Stored| if let Stored::Inline(bytes) = stored { bytes.len() } else { 16 };
        let bytes = bytes.len() + inline(&stored_items) + inline(&stored_rows) + 32;
        let member = Member::new(id, delta, stored_items, stored_rows, Arc::new(items));
        Ok(Arc::new(Pending {
            base: self.transaction.view.state.sequence,
            named_at: named.sequence,
            member: Arc::new(member),
            rows,
            bytes,
            doubts: self.doubts,
            answer: Mutex::new(Answer::Waiting),
        }))
    }
}
