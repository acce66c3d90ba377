//! The names of all parts as one schema, and what each name is called in each part.

use model::schema::Names;
use model::{Constraint, Index, LabelId, PropertyKeyId, ReadView, Schema, SortKey, Subject};

use super::view::Part;

/// The schema of the whole.
#[derive(Clone)]
pub(super) struct Union {
    pub(super) schema: Schema,
    pub(super) maps: Vec<NameMap>,
    /// The schemas that it was made of, to know when it is no longer right.
    sources: Vec<Schema>,
    /// The labels that the native store has a name for, but no node with.
    unused: Vec<bool>,
}

/// The mapping from the numbers of the whole to those of one part, and back.
#[derive(Clone, Default)]
pub(super) struct NameMap {
    pub(super) labels: Numbers,
    pub(super) types: Numbers,
    pub(super) keys: Numbers,
}

/// Numbers of names of one kind.
#[derive(Clone, Default)]
pub(super) struct Numbers {
    to_part: Vec<Option<u32>>,
    from_part: Vec<u32>,
    /// All numbers are the same in both, so far.
    is_same: bool,
}

impl Numbers {
    /// The number in the part of a name of the whole, if the part has it.
    #[inline]
    pub(super) fn to_part(&self, number: u32) -> Option<u32> {
        self.to_part.get(number as usize).copied().flatten()
    }

    /// The number in the whole of a name of the part.
    #[inline]
    pub(super) fn shared(&self, number: u32) -> u32 {
        self.from_part[number as usize]
    }

    /// True if what the part has is called the same there.
    pub(super) fn is_same(&self) -> bool {
        self.is_same
    }

    /// Looks all names up anew; those that are new to the whole get a number.
    fn refresh(&mut self, whole: &mut Names, part: &Names) {
        self.from_part = part.iter().map(|name| whole.intern(name)).collect();
        self.to_part = vec![None; whole.len()];
        for (number, &at) in self.from_part.iter().enumerate() {
            self.to_part[at as usize] = Some(number as u32);
        }
        self.is_same = self.from_part.iter().enumerate().all(|(number, &at)| number as u32 == at);
    }
}

impl NameMap {
    /// True if ids need not be translated for the part.
    pub(super) fn is_same(&self) -> bool {
        self.labels.is_same() && self.types.is_same() && self.keys.is_same()
    }

    /// The subject of an index or a constraint, in the part.
    pub(super) fn subject_to_part(&self, subject: Subject) -> Option<Subject> {
        match subject {
            Subject::Label(label) => self.labels.to_part(label.0).map(|id| Subject::Label(LabelId(id))),
            Subject::EdgeType(of) => self.types.to_part(of.0).map(|id| Subject::EdgeType(model::EdgeTypeId(id))),
        }
    }

    fn subject_from_part(&self, subject: Subject) -> Subject {
        match subject {
            Subject::Label(label) => Subject::Label(LabelId(self.labels.shared(label.0))),
            Subject::EdgeType(of) => Subject::EdgeType(model::EdgeTypeId(self.types.shared(of.0))),
        }
    }

    /// Property keys in the part; `None` if it lacks one.
    pub(super) fn keys_to_part(&self, keys: &[PropertyKeyId]) -> Option<Vec<PropertyKeyId>> {
        keys.iter().map(|key| self.keys.to_part(key.0).map(PropertyKeyId)).collect()
    }

    fn keys_from_part(&self, keys: &[PropertyKeyId]) -> Vec<PropertyKeyId> {
        keys.iter().map(|key| PropertyKeyId(self.keys.shared(key.0))).collect()
    }

    fn index_from_part(&self, index: &Index) -> (Subject, Vec<PropertyKeyId>) {
        (self.subject_from_part(index.subject), self.keys_from_part(&index.keys))
    }
}

impl Union {
    pub(super) fn of(parts: &[Part]) -> Union {
        let mut union = Union {
            schema: Schema::default(),
            maps: vec![NameMap::default(); parts.len()],
            sources: Vec::new(),
            unused: Vec::new(),
        };
        for (at, part) in parts.iter().enumerate() {
            union.refresh_names(at, part.view().schema());
        }
        union.refresh_rules(parts);
        union
    }

    /// True if nothing has changed that it was made of.
    pub(super) fn is_of(&self, parts: &[Part]) -> bool {
        let same_names = |a: &Names, b: &Names| a.len() == b.len() && a.iter().eq(b.iter());
        self.sources.len() == parts.len()
            && self.sources.iter().zip(parts).all(|(held, part)| {
                let schema = part.view().schema();
                same_names(&held.labels, &schema.labels)
                    && same_names(&held.edge_types, &schema.edge_types)
                    && same_names(&held.property_keys, &schema.property_keys)
                    && held.constraints == schema.constraints
                    && held.indexes == schema.indexes
                    && held.searchable == schema.searchable
                    && held.matched == schema.matched
                    && held.sort_keys == schema.sort_keys
            })
            && self.unused == unused_labels(parts)
    }

    /// Takes new names of a part in.
    pub(super) fn refresh_names(&mut self, part: usize, schema: &Schema) {
        let map = &mut self.maps[part];
        map.labels.refresh(&mut self.schema.labels, &schema.labels);
        map.types.refresh(&mut self.schema.edge_types, &schema.edge_types);
        map.keys.refresh(&mut self.schema.property_keys, &schema.property_keys);
    }

    /// A number for a label that no part has.
    pub(super) fn name_label(&mut self, name: &str) -> u32 {
        self.schema.labels.intern(name)
    }

    /// A number for an edge type that no part has.
    pub(super) fn name_type(&mut self, name: &str) -> u32 {
        self.schema.edge_types.intern(name)
    }

    /// A number for a property key that no part has.
    pub(super) fn name_key(&mut self, name: &str) -> u32 {
        self.schema.property_keys.intern(name)
    }

    /// Works out which constraints and indexes hold of the whole.
    ///
    /// That values are unique in one part says nothing of the whole if another part has the label too. An index is one of
    /// the whole if all parts that have its subject keep it, or look its one key up.
    pub(super) fn refresh_rules(&mut self, parts: &[Part]) {
        self.unused = unused_labels(parts);
        self.sources = parts.iter().map(|part| part.view().schema().clone()).collect();
        let mut constraints: Vec<Constraint> = Vec::new();
        let mut indexes: Vec<Index> = Vec::new();
        let mut searchable: Vec<Index> = Vec::new();
        for (at, (map, part)) in self.maps.iter().zip(parts).enumerate() {
            let named = |name: &str| match &part.name {
                None => name.into(),
                Some(source) => format!("{source}.{name}").into(),
            };
            let schema = &self.sources[at];
            for held in &schema.constraints {
                let (subject, keys) = (map.subject_from_part(held.subject), map.keys_from_part(&held.keys));
                let mut rule = held.rule;
                rule.labels_mut().for_each(|label| *label = LabelId(map.labels.shared(label.0)));
                if !held.is_unique() || self.holders(subject).iter().all(|&holder| holder == at) {
                    constraints.push(Constraint { name: named(&held.name), subject, keys, rule });
                } else if held.keys.len() == 1 && self.is_indexed(subject, &keys) && is_new(&indexes, subject, &keys) {
                    indexes.push(Index { name: named(&held.name), subject, keys });
                }
            }
            for held in &schema.indexes {
                let (subject, keys) = map.index_from_part(held);
                if self.is_indexed(subject, &keys) && is_new(&indexes, subject, &keys) {
                    indexes.push(Index { name: named(&held.name), subject, keys });
                }
            }
        }
        for (at, (map, part)) in self.maps.iter().zip(parts).enumerate() {
            for held in &self.sources[at].searchable {
                let (subject, keys) = map.index_from_part(held);
                let is_new = is_new(&indexes, subject, &keys) && is_new(&searchable, subject, &keys);
                if is_new && self.is_indexed(subject, &keys) {
                    let source = part.name.as_deref().unwrap_or_default();
                    searchable.push(Index { name: format!("{source}.{}", held.name).into(), subject, keys });
                }
            }
        }
        let mut matched: Vec<LabelId> = Vec::new();
        for (at, map) in self.maps.iter().enumerate() {
            let shared = self.sources[at].matched.iter().map(|label| LabelId(map.labels.shared(label.0)));
            matched.extend(shared.filter(|label| self.holders(Subject::Label(*label)) == [at]));
        }
        matched.sort_unstable();
        // A seek must not be shown to find one at most by a constraint that is not of the whole.
        self.schema.sort_keys = self.sources[0].sort_keys.iter().map(|held| self.sort_key(held)).collect();
        self.schema.constraints = constraints;
        self.schema.indexes = indexes;
        self.schema.searchable = searchable;
        self.schema.matched = matched;
    }

    fn sort_key(&self, held: &SortKey) -> SortKey {
        let map = &self.maps[0];
        let edge_type = model::EdgeTypeId(map.types.shared(held.edge_type.0));
        SortKey { edge_type, keys: map.keys_from_part(&held.keys) }
    }

    /// The parts that may have nodes of that label, or edges of that type.
    pub(super) fn holders(&self, subject: Subject) -> Vec<usize> {
        let holds = |at: &usize| match (self.maps[*at].subject_to_part(subject), at) {
            (Some(Subject::Label(label)), 0) => !self.unused.get(label.index()).is_some_and(|&unused| unused),
            (found, _) => found.is_some(),
        };
        (0..self.maps.len()).filter(holds).collect()
    }

    /// True if every part that has the subject finds it by these properties.
    fn is_indexed(&self, subject: Subject, keys: &[PropertyKeyId]) -> bool {
        let finds = |at: usize| {
            let map = &self.maps[at];
            let (Some(subject), Some(keys)) = (map.subject_to_part(subject), map.keys_to_part(keys)) else {
                // It has no such property, so that its answer is known.
                return true;
            };
            finds(&self.sources[at], subject, &keys) != Finds::No
        };
        self.holders(subject).into_iter().all(finds)
    }
}

/// The way in which a store finds nodes or edges by properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finds {
    /// By an ordered index.
    Index,
    /// Equal values only, by a uniqueness constraint.
    Lookup,
    /// It must look at all.
    No,
}

/// The way in which a store with that schema finds nodes or edges by properties.
pub(super) fn finds(schema: &Schema, subject: Subject, keys: &[PropertyKeyId]) -> Finds {
    let mut indexes = schema.indexes.iter().chain(&schema.searchable);
    if indexes.any(|held| held.subject == subject && held.keys == keys) {
        return Finds::Index;
    }
    match (subject, keys) {
        (Subject::Label(label), &[key]) if schema.unique(label, key).is_some() => Finds::Lookup,
        _ => Finds::No,
    }
}

fn is_new(indexes: &[Index], subject: Subject, keys: &[PropertyKeyId]) -> bool {
    !indexes.iter().any(|held| held.subject == subject && held.keys == keys)
}

/// For each label of the native store, whether it has no node with it. A statement that makes the first one was planned
/// as if there were none; what it finds stays right, since lookups and seeks ask every part that knows the label.
fn unused_labels(parts: &[Part]) -> Vec<bool> {
    let native: &dyn ReadView = parts[0].view();
    let counts = native.estimates();
    (0..native.schema().labels.len() as u32).map(|label| counts.label(LabelId(label)) == 0).collect()
}
