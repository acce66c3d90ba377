//! Lists that nodes keep: in a property, in a node that is made anew, under a composite constraint, a label, an index.

use model::schema::{Index, Rule, Subject};
use model::{
    Column, Constraint, GraphStore, IndexBatch, IndexScan, Interrupt, KeyOrder, KeyRange, ReadView, Result,
    WriteTransaction,
};
use storage::NativeStore;
use testing::random::SeededRandom;

use super::edges::{connect, neighbors};
use super::{Keeper, appended, create_node, find, int, key_of, label_of, number, numbers, scan, single};
use crate::index_build::hook::yields;

/// A property that is written anew as a whole. Its index, and a uniqueness constraint on another property, come and go.
pub(super) struct Property;

impl Keeper for Property {
    fn name(&self) -> &'static str {
        "List"
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn prepare(&self, transaction: &mut dyn WriteTransaction, list: u32) -> Result<()> {
        transaction.property_key("values")?;
        transaction.property_key("other")?;
        create_node(transaction, self.name(), &[("list", int(list.into()))]).map(drop)
    }

    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>> {
        Ok(numbers(&find(view, self.name(), list, &["values"])?.1[0]))
    }

    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, random: &mut SeededRandom) -> Result<()> {
        let (node, values) = find(to.view(), self.name(), list, &["values"])?;
        let (key, other) = (to.property_key("values")?, to.property_key("other")?);
        to.set_node_properties(&[node], key, &appended(numbers(&values[0]), value))?;
        if random.chance(30) { to.set_node_properties(&[node], other, &single(int(value))) } else { Ok(()) }
    }

    fn disturb(&self, store: &NativeStore) -> Result<()> {
        let mut transaction = store.write()?;
        let has_index = transaction.view().schema().indexes.iter().any(|index| &*index.name == "lists");
        let (label, key) = (transaction.label(self.name())?, transaction.property_key("values")?);
        let other = transaction.property_key("other")?;
        if has_index {
            transaction.drop_index("lists")?;
            transaction.drop_constraint("others")?;
        } else {
            let index = Index { name: "lists".into(), subject: Subject::Label(label), keys: vec![key] };
            transaction.create_index(index, &yields())?;
            transaction.create_constraint(Constraint::unique("others", label, other), &yields())?;
        }
        transaction.commit()
    }
}

/// A node that is deleted, with its edge, and made anew with one number more.
pub(super) struct Replaced;

impl Keeper for Replaced {
    fn name(&self) -> &'static str {
        "Replaced"
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn prepare(&self, transaction: &mut dyn WriteTransaction, list: u32) -> Result<()> {
        transaction.property_key("values")?;
        let anchor = create_node(transaction, "ReplacedAnchor", &[("list", int(list.into()))])?;
        let node = create_node(transaction, self.name(), &[("list", int(list.into()))])?;
        connect(transaction, "OF", anchor, node, &[])
    }

    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>> {
        let (node, values) = find(view, self.name(), list, &["values"])?;
        let anchor = find(view, "ReplacedAnchor", list, &[])?.0;
        let ends: Vec<_> = neighbors(view, "OF", anchor, &[])?.iter().map(|(_, end, _)| *end).collect();
        assert_eq!(ends, [node], "the anchor of list {list} leads to its node alone");
        Ok(numbers(&values[0]))
    }

    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, _: &mut SeededRandom) -> Result<()> {
        let anchor = find(to.view(), "ReplacedAnchor", list, &[])?.0;
        let (node, values) = find(to.view(), self.name(), list, &["values"])?;
        let edges: Vec<_> = neighbors(to.view(), "OF", anchor, &[])?.iter().map(|(edge, ..)| *edge).collect();
        to.delete_edges(&edges)?;
        to.delete_nodes(&[node])?;
        let values = appended(numbers(&values[0]), value).value(0);
        let node = create_node(to, self.name(), &[("list", int(list.into())), ("values", values)])?;
        connect(to, "OF", anchor, node, &[])
    }
}

/// A node for each number, at a place that a uniqueness constraint of two properties gives once.
pub(super) struct UniqueSlots;

impl UniqueSlots {
    fn slots(&self, view: &dyn ReadView, list: u32) -> Result<Vec<(u64, u64)>> {
        let mut nodes = scan(view, self.name(), &["list", "place", "value"])?;
        nodes.retain(|(_, values)| values[0] == int(list.into()));
        let mut slots: Vec<(u64, u64)> =
            nodes.iter().map(|(_, values)| (number(&values[1]), number(&values[2]))).collect();
        slots.sort_unstable();
        Ok(slots)
    }
}

impl Keeper for UniqueSlots {
    fn name(&self) -> &'static str {
        "Slot"
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn prepare(&self, transaction: &mut dyn WriteTransaction, list: u32) -> Result<()> {
        let label = transaction.label(self.name())?;
        let keys = vec![transaction.property_key("list")?, transaction.property_key("place")?];
        transaction.property_key("value")?;
        if list > 0 {
            return Ok(());
        }
        let subject = Subject::Label(label);
        let constraint = Constraint { name: "slots".into(), subject, keys, rule: Rule::Unique };
        transaction.create_constraint(constraint, &Interrupt::new())
    }

    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>> {
        let slots = self.slots(view, list)?;
        assert!(slots.iter().map(|(place, _)| *place).eq(0..slots.len() as u64), "places are taken once: {slots:?}");
        Ok(slots.into_iter().map(|(_, value)| value).collect())
    }

    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, _: &mut SeededRandom) -> Result<()> {
        let place = self.slots(to.view(), list)?.len() as u64;
        let properties = [("list", int(list.into())), ("place", int(place)), ("value", int(value))];
        create_node(to, self.name(), &properties).map(drop)
    }
}

/// A node for each number, that has the label of the list; now and then it gets the label after it was made.
pub(super) struct Labelled;

/// The label of a list. Bulk loads add nodes of it, too.
pub(in crate::histories) fn label_of_list(list: u32) -> String {
    format!("Labelled{list}")
}

impl Keeper for Labelled {
    fn name(&self) -> &'static str {
        "Labelled"
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn prepare(&self, transaction: &mut dyn WriteTransaction, list: u32) -> Result<()> {
        transaction.label(&label_of_list(list))?;
        transaction.label("Unlisted")?;
        transaction.property_key("value").map(drop)
    }

    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>> {
        let nodes = scan(view, &label_of_list(list), &["value"])?;
        Ok(nodes.iter().map(|(_, values)| number(&values[0])).collect())
    }

    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, random: &mut SeededRandom) -> Result<()> {
        if random.chance(50) {
            return create_node(to, &label_of_list(list), &[("value", int(value))]).map(drop);
        }
        let node = create_node(to, "Unlisted", &[("value", int(value))])?;
        let labels = [to.label(&label_of_list(list))?, to.label("Unlisted")?];
        to.add_labels(&[node], &labels[..1])?;
        to.remove_labels(&[node], &labels[1..])
    }
}

/// A node for each number, found by an ordered index of two properties that comes and goes.
pub(super) struct Indexed;

impl Indexed {
    fn index(&self, view: &dyn ReadView) -> Index {
        let keys = vec![key_of(view, "list"), key_of(view, "value")];
        Index { name: "entries".into(), subject: Subject::Label(label_of(view, self.name())), keys }
    }
}

impl Keeper for Indexed {
    fn name(&self) -> &'static str {
        "Entry"
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn prepare(&self, transaction: &mut dyn WriteTransaction, _: u32) -> Result<()> {
        transaction.label(self.name())?;
        transaction.property_key("list")?;
        transaction.property_key("value").map(drop)
    }

    fn read(&self, view: &dyn ReadView, list: u32) -> Result<Vec<u64>> {
        let index = self.index(view);
        if !view.schema().indexes.contains(&index) {
            let mut nodes = scan(view, self.name(), &["list", "value"])?;
            nodes.retain(|(_, values)| values[0] == int(list.into()));
            return Ok(nodes.iter().map(|(_, values)| number(&values[1])).collect());
        }
        let equal = vec![Column::from_values(&[int(list.into())])];
        let scan = IndexScan { index, equal, rows: 1, range: KeyRange::All, order: KeyOrder::Ascending };
        let (mut cursor, mut batch, mut nodes) = (view.index_scan(&scan)?, IndexBatch::default(), Vec::new());
        while cursor.next(&mut batch)? {
            nodes.extend_from_slice(&batch.nodes);
        }
        let values = view.node_properties(&nodes, &[key_of(view, "value")])?;
        let values: Vec<u64> = values[0].values().map(|value| number(&value)).collect();
        assert!(values.is_sorted(), "an index gives its entries in order: {values:?}");
        Ok(values)
    }

    fn append(&self, to: &mut dyn WriteTransaction, list: u32, value: u64, _: &mut SeededRandom) -> Result<()> {
        create_node(to, self.name(), &[("list", int(list.into())), ("value", int(value))]).map(drop)
    }

    fn disturb(&self, store: &NativeStore) -> Result<()> {
        let mut transaction = store.write()?;
        let index = self.index(transaction.view());
        if transaction.view().schema().indexes.contains(&index) {
            transaction.drop_index("entries")?;
        } else {
            transaction.create_index(index, &yields())?;
        }
        // A second build lets others work, too.
        let interrupt = yields();
        let _listening = interrupt.listen();
        transaction.commit()
    }
}
