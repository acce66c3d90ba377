//! The slots of a statement, and what is known of their values before anything runs.

use std::sync::Arc;

use model::Map;

use crate::plan::{SlotId, SlotInfo, SlotKind};

/// Type that all values of an expression except null are known to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownType {
    /// The type, as errors name it.
    pub(crate) name: &'static str,
    /// The type of the elements of a list besides null, if they have one.
    pub(crate) element: Option<&'static str>,
}

/// All slots of a statement.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    infos: Vec<SlotInfo>,
    /// Types that the values of some of them are known to have before anything runs.
    types: Map<SlotId, KnownType>,
    unnamed: u32,
}

impl Slots {
    /// A new slot with that name.
    pub(crate) fn named(&mut self, name: &str, kind: SlotKind) -> SlotId {
        let slot = SlotId(self.infos.len() as u32);
        self.infos.push(SlotInfo { name: Arc::from(name), kind, covered_label: None });
        slot
    }

    /// A new slot for what has no name in the query.
    pub(crate) fn unnamed(&mut self, kind: SlotKind) -> SlotId {
        self.unnamed += 1;
        let name = format!("@{}", self.unnamed);
        self.named(&name, kind)
    }

    /// Gives a slot another name.
    pub(crate) fn rename(&mut self, slot: SlotId, name: &str) {
        self.infos[slot.0 as usize].name = Arc::from(name);
    }

    /// Notes that a label of a slot's nodes is not tested, since all nodes carry it.
    pub(crate) fn cover(&mut self, slot: SlotId, label: &Arc<str>) {
        self.infos[slot.0 as usize].covered_label.get_or_insert_with(|| label.clone());
    }

    /// The name of a slot.
    pub(crate) fn name(&self, slot: SlotId) -> &str {
        &self.infos[slot.0 as usize].name
    }

    /// Kind of values that a slot holds.
    pub(crate) fn kind(&self, slot: SlotId) -> SlotKind {
        self.infos[slot.0 as usize].kind
    }

    /// Notes the known type of the values of a slot.
    pub(crate) fn know(&mut self, slot: SlotId, known: Option<KnownType>) {
        self.types.extend(known.map(|known| (slot, known)));
    }

    /// Notes that a slot takes the elements of a list one by one.
    pub(crate) fn know_element(&mut self, slot: SlotId, list: Option<KnownType>) {
        let element = list.and_then(|list| list.element);
        self.know(slot, element.map(|name| KnownType { name, element: None }));
    }

    /// Type that the values of a slot except null are known to have.
    pub(crate) fn known_type(&self, slot: SlotId) -> Option<KnownType> {
        self.types.get(&slot).copied()
    }

    /// All slots, by number.
    pub(crate) fn into_infos(self) -> Vec<SlotInfo> {
        self.infos
    }
}
