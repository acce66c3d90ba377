//! Promises of stores whose schema is that of tables: what the tables have no place for is refused.

use model::{Constraint, ErrorCode, Index, Interrupt, SortKey, Subject as About, WriteTransaction};

use super::Check;
use super::subject::{Subject, all_named, assert_code};
use crate::differential::{Content, assert_same_content};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("names that no table has are refused", unknown_names),
    ("labels are those of the table", labels_stay),
    ("rules are the tables' own", rules_stay),
];

/// Fails if an attempt changes anything, in its transaction or after commit.
fn changes_nothing(subject: &mut Subject<'_>, attempt: impl FnOnce(&mut dyn WriteTransaction)) {
    subject.commit_edges(2, &[(0, 1)]);
    let before = Content::of(&*subject.view());
    subject.commit(|transaction| {
        attempt(transaction);
        assert_same_content(&Content::of(transaction.view()), &before);
    });
    assert_same_content(&Content::of(&*subject.view()), &before);
}

fn unknown_names(subject: &mut Subject<'_>) {
    changes_nothing(subject, |transaction| {
        assert_code(transaction.label("Unheard of"), ErrorCode::Argument);
        assert_code(transaction.edge_type("UNHEARD_OF"), ErrorCode::Argument);
        assert_code(transaction.property_key("unheard of"), ErrorCode::Argument);
    });
}

fn labels_stay(subject: &mut Subject<'_>) {
    changes_nothing(subject, |transaction| {
        let nodes = all_named(transaction.view(), 2);
        let (own, other) = (transaction.label("N").expect("a label"), transaction.label("A").expect("a label"));
        transaction.add_labels(&nodes, &[own]).expect("adding the label that is there");
        transaction.remove_labels(&nodes, &[other]).expect("removing a label that is not there");
        assert_code(transaction.add_labels(&nodes, &[own, other]), ErrorCode::ReadOnly);
        assert_code(transaction.remove_labels(&nodes[1..], &[own]), ErrorCode::ReadOnly);
    });
}

fn rules_stay(subject: &mut Subject<'_>) {
    changes_nothing(subject, |transaction| {
        let (label, key) = (transaction.label("N").expect("a label"), transaction.property_key("name").expect("a key"));
        let edge_type = transaction.edge_type("E").expect("a type");
        let unique = Constraint::unique("unheard of", label, key);
        assert_code(transaction.create_constraint(unique, &Interrupt::new()), ErrorCode::ReadOnly);
        assert_code(transaction.drop_constraint("unheard of"), ErrorCode::ReadOnly);
        let index = Index { name: "unheard of".into(), subject: About::Label(label), keys: vec![key] };
        assert_code(transaction.create_index(index, &Interrupt::new()), ErrorCode::ReadOnly);
        assert_code(transaction.drop_index("unheard of"), ErrorCode::ReadOnly);
        assert_code(transaction.set_sort_key(SortKey { edge_type, keys: vec![key] }), ErrorCode::ReadOnly);
        assert_code(transaction.drop_sort_key(edge_type), ErrorCode::ReadOnly);
    });
}
