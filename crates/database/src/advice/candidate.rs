//! Candidates: indexes, uniqueness constraints and sort keys that do not exist, of the labels, types and properties that a text names.
//!
//! They are taken from the words of the text, whatever stands around them. So no form of a condition needs a rule here: which of them
//! serve is for the planner to say.

use std::sync::Arc;

use cypher::lexer;
use cypher::plan::explain::quoted;
use cypher::plan::{EdgeChoice, IndexRange, OperatorKind, Plan};
use model::schema::{Constraint, Index, SortKey, Subject};
use model::{PropertyKeyId, Rule, Schema, Statistics};

use super::rewrite::Premise;

/// Properties of one label or type from which on no pairs of them are tried.
const PAIRED_MAX: usize = 8;
/// Share of the values of a property that must be different, by an estimate, so that all may be.
const UNIQUE_SHARE: f64 = 0.9;
/// Candidates of one statement at most.
const CANDIDATES_MAX: usize = 400;

/// An index, a constraint or a sort key that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// An ordered index.
    Index {
        /// True if it holds relationships.
        on_edges: bool,
        /// The label or the relationship type.
        subject: Arc<str>,
        /// Its properties, the first first.
        keys: Vec<Arc<str>>,
    },
    /// A constraint by which no two nodes of a label have the same value of a property, and each is found by it.
    Unique {
        /// The label.
        label: Arc<str>,
        /// The property.
        keys: [Arc<str>; 1],
    },
    /// A sort key.
    SortKey {
        /// The relationship type.
        edge_type: Arc<str>,
        /// Its properties, the first first.
        keys: Vec<Arc<str>>,
    },
}

impl Candidate {
    /// The statement that makes it.
    pub fn statement(&self) -> String {
        let keys = |variable: &str| {
            self.keys().iter().map(|key| format!("{variable}.{}", quoted(key))).collect::<Vec<_>>().join(", ")
        };
        match self {
            Candidate::Index { on_edges: false, subject, .. } => {
                format!("CREATE INDEX FOR (n:{}) ON ({})", quoted(subject), keys("n"))
            }
            Candidate::Index { on_edges: true, subject, .. } => {
                format!("CREATE INDEX FOR ()-[r:{}]-() ON ({})", quoted(subject), keys("r"))
            }
            Candidate::Unique { label, .. } => {
                format!("CREATE CONSTRAINT FOR (n:{}) REQUIRE {} IS UNIQUE", quoted(label), keys("n"))
            }
            Candidate::SortKey { edge_type, .. } => {
                format!("CREATE SORT KEY FOR ()-[r:{}]-() ON ({})", quoted(edge_type), keys("r"))
            }
        }
    }

    /// Its properties, the first first.
    pub fn keys(&self) -> &[Arc<str>] {
        match self {
            Candidate::Index { keys, .. } | Candidate::SortKey { keys, .. } => keys,
            Candidate::Unique { keys, .. } => keys,
        }
    }

    /// The label or the relationship type.
    pub fn subject(&self) -> &Arc<str> {
        match self {
            Candidate::Index { subject, .. } => subject,
            Candidate::Unique { label, .. } => label,
            Candidate::SortKey { edge_type, .. } => edge_type,
        }
    }

    /// True if it is a sort key.
    pub fn is_sort_key(&self) -> bool {
        matches!(self, Candidate::SortKey { .. })
    }

    /// True if it is a constraint.
    pub fn is_constraint(&self) -> bool {
        matches!(self, Candidate::Unique { .. })
    }

    /// True if it is about relationships.
    pub fn is_on_edges(&self) -> bool {
        !matches!(self, Candidate::Index { on_edges: false, .. } | Candidate::Unique { .. })
    }

    /// Premise of a constraint: without it the constraint cannot be made.
    pub(super) fn premise(&self) -> Option<Premise> {
        let Candidate::Unique { label, keys: [key] } = self else { return None };
        let (label, key) = (quoted(label), quoted(key));
        Some(Premise {
            counts_against: format!("MATCH (n:{label}) RETURN count(n.{key}) - count(DISTINCT n.{key})"),
            told: format!("no two :{label} nodes have the same {key}"),
        })
    }

    /// The subject by its number.
    pub(super) fn subject_in(&self, schema: &Schema) -> Option<Subject> {
        if self.is_on_edges() {
            schema.edge_type(self.subject()).map(Subject::EdgeType)
        } else {
            schema.label(self.subject()).map(Subject::Label)
        }
    }

    /// A schema with it; `None` if that would not be allowed.
    pub(super) fn added_to(&self, schema: &Schema) -> Option<Schema> {
        let keys: Vec<PropertyKeyId> = self.keys().iter().map(|key| schema.property_key(key)).collect::<Option<_>>()?;
        let subject = self.subject_in(schema)?;
        let mut with = schema.clone();
        match (self, subject) {
            (Candidate::SortKey { .. }, Subject::EdgeType(edge_type)) => {
                if !with.sort_key(edge_type).is_empty() {
                    return None;
                }
                with.sort_keys.push(SortKey { edge_type, keys });
            }
            (Candidate::Unique { .. }, _) => {
                let constraint = Constraint { name: self.statement().into(), subject, keys, rule: Rule::Unique };
                schema.check_constraint(&constraint).ok()?;
                with.constraints.push(constraint);
            }
            _ => {
                let index = Index { name: self.statement().into(), subject, keys };
                schema.check_index(&index).ok()?;
                with.indexes.push(index);
            }
        }
        Some(with)
    }
}

/// The candidates that a text could use in a store.
pub(super) fn candidates(text: &str, schema: &Schema, statistics: &Statistics) -> Vec<Candidate> {
    let words = words(text);
    let known = |word: &&Arc<str>, find: fn(&Schema, &str) -> bool| find(schema, word);
    let labels = words.iter().filter(|word| known(word, |schema, word| schema.label(word).is_some()));
    let types = words.iter().filter(|word| known(word, |schema, word| schema.edge_type(word).is_some()));
    let keys: Vec<&Arc<str>> =
        words.iter().filter(|word| known(word, |schema, word| schema.property_key(word).is_some())).collect();
    let mut found = Vec::new();
    for label in labels {
        let keys = keys.iter().copied().filter(|key| may_have(label, key, schema, statistics)).collect();
        for keys in combinations(keys) {
            if let [key] = &keys[..]
                && may_be_unique(label, key, schema, statistics)
            {
                found.push(Candidate::Unique { label: label.clone(), keys: [key.clone()] });
            }
            found.push(Candidate::Index { on_edges: false, subject: label.clone(), keys });
        }
    }
    for edge_type in types {
        for keys in combinations(keys.clone()) {
            found.push(Candidate::SortKey { edge_type: edge_type.clone(), keys: keys.clone() });
            found.push(Candidate::Index { on_edges: true, subject: edge_type.clone(), keys });
        }
    }
    found.retain(|candidate| !is_held(candidate, schema));
    found.truncate(CANDIDATES_MAX);
    found
}

/// The names in a text, each once.
fn words(text: &str) -> Vec<Arc<str>> {
    let mut words: Vec<Arc<str>> = Vec::new();
    for token in lexer::tokens(text).unwrap_or_default() {
        let Some(name) = lexer::name_of(text, &token) else { continue };
        if words.iter().all(|known| **known != *name) {
            words.push(name.into());
        }
    }
    words
}

/// True if nodes of a label may have a property, as far as sketches tell.
fn may_have(label: &str, key: &str, schema: &Schema, statistics: &Statistics) -> bool {
    let (Some(label), Some(key), Some(sketches)) =
        (schema.label(label), schema.property_key(key), statistics.sketches.as_ref())
    else {
        return true;
    };
    let is_drawn = sketches.values.keys().any(|(of, _)| *of == label);
    !is_drawn || sketches.values.contains_key(&(label, key))
}

/// True if nodes of a label may all have different values of a property, as far as sketches tell.
fn may_be_unique(label: &str, key: &str, schema: &Schema, statistics: &Statistics) -> bool {
    let (Some(label), Some(key), Some(sketches)) =
        (schema.label(label), schema.property_key(key), statistics.sketches.as_ref())
    else {
        return false;
    };
    let values = sketches.values.get(&(label, key));
    values.is_some_and(|values| values.distinct as f64 >= UNIQUE_SHARE * values.present as f64 && values.present > 1)
}

/// Each key alone, and each pair of keys in both orders.
fn combinations(keys: Vec<&Arc<str>>) -> Vec<Vec<Arc<str>>> {
    let mut all: Vec<Vec<Arc<str>>> = keys.iter().map(|&key| vec![key.clone()]).collect();
    if keys.len() <= PAIRED_MAX {
        for first in &keys {
            let others = keys.iter().filter(|second| *second != first);
            all.extend(others.map(|&second| vec![Arc::clone(first), second.clone()]));
        }
    }
    all
}

/// True if an index or a constraint serves wherever the candidate would.
fn is_held(candidate: &Candidate, schema: &Schema) -> bool {
    let keys: Option<Vec<PropertyKeyId>> = candidate.keys().iter().map(|key| schema.property_key(key)).collect();
    let (Some(keys), Some(subject)) = (keys, candidate.subject_in(schema)) else { return true };
    match (candidate, subject) {
        (Candidate::SortKey { .. }, Subject::EdgeType(edge_type)) => !schema.sort_key(edge_type).is_empty(),
        _ => {
            let serves = |index: &Index| index.subject == subject && index.keys.starts_with(&keys);
            let is_unique =
                matches!((subject, &keys[..]), (Subject::Label(label), [key]) if schema.unique(label, *key).is_some());
            is_unique || !candidate.is_constraint() && schema.indexes.iter().any(serves)
        }
    }
}

/// True if a plan that was made with a candidate uses it, all of its properties included.
pub(super) fn is_used(candidate: &Candidate, plan: &Plan) -> bool {
    let mut uses = false;
    plan.root.each(&mut |operator| uses |= operator_uses(candidate, &operator.kind));
    uses
}

fn operator_uses(candidate: &Candidate, kind: &OperatorKind) -> bool {
    match (candidate, kind) {
        (
            Candidate::Index { on_edges, subject, keys },
            OperatorKind::IndexSeek { on_edges: of_edges, subject: of, keys: by, equal, range, .. },
        ) => {
            let sought = equal.len() + usize::from(!matches!(range, IndexRange::All));
            on_edges == of_edges && subject == of && keys == by && sought >= keys.len()
        }
        (Candidate::Unique { label, keys: [key] }, OperatorKind::NodeLookup { label: of, key: by, .. }) => {
            label == of && key == by
        }
        (Candidate::SortKey { edge_type, keys }, OperatorKind::Expand { types, choice: Some(choice), .. }) => {
            matches!(&types[..], [only] if only == edge_type) && chooses(choice, keys)
        }
        _ => false,
    }
}

/// True if edges are found by all of these properties.
fn chooses(choice: &EdgeChoice, keys: &[Arc<str>]) -> bool {
    let first = choice.first.iter().flat_map(|first| &first.keys);
    let used: Vec<&Arc<str>> = choice.conditions.iter().map(|condition| &condition.key).chain(first).collect();
    keys.iter().all(|key| used.contains(&key))
}

#[cfg(test)]
mod tests {
    use super::{combinations, words};

    #[test]
    fn words_are_names_and_no_texts() {
        let found = words("MATCH (p:`Odd ``name`) WHERE p.age > 3 AND p.city = 'Oslo' // Berlin\nRETURN p.age");
        let expected = ["MATCH", "p", "Odd `name", "WHERE", "age", "AND", "city", "RETURN"];
        assert_eq!(found.iter().map(|word| &**word).collect::<Vec<_>>(), expected);
        assert_eq!(combinations(found.iter().take(3).collect()).len(), 3 + 6);
    }
}
