//! Slots that names mean, and what is known of the values they hold.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use model::suggestion;
use model::{Error, Result, Set, Span, error};

use crate::plan::{Expression, ExpressionKind, SlotId, SlotKind};

/// Kind of values that a variable is known to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableKind {
    Node,
    Edge,
    EdgeList,
    Path,
    /// A value that is no node, edge or path.
    Value,
    /// Not known before it runs.
    Any,
}

impl VariableKind {
    /// The kind of slot that holds it.
    pub(crate) fn slot_kind(self) -> SlotKind {
        match self {
            VariableKind::Node => SlotKind::Node,
            VariableKind::Edge => SlotKind::Edge,
            VariableKind::EdgeList => SlotKind::EdgeList,
            VariableKind::Path => SlotKind::Path,
            VariableKind::Value | VariableKind::Any => SlotKind::Any,
        }
    }

    /// As error messages say it.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            VariableKind::Node => "a node",
            VariableKind::Edge => "a relationship",
            VariableKind::EdgeList => "a list of relationships",
            VariableKind::Path => "a path",
            VariableKind::Value => "a value that is no node or relationship",
            VariableKind::Any => "any value",
        }
    }
}

/// A variable of the scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable {
    pub(crate) slot: SlotId,
    pub(crate) kind: VariableKind,
}

/// The variables that can be named at some place, in the order of their declaration; later ones hide earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    variables: Vec<(Arc<str>, Variable)>,
    /// Names that were there before a `WITH` that did not pass them on.
    dropped: Set<Arc<str>>,
    /// In a subquery, what it sees of the query around it.
    imports: Option<Rc<Imports>>,
    /// The line and the file of the row that `LOAD CSV` read last, until a `WITH`.
    pub(crate) csv: Option<(SlotId, SlotId)>,
}

/// Variables of the query around a subquery: seen everywhere in it, whatever its `WITH` pass on, and not to be
/// declared again.
#[derive(Debug, Default)]
struct Imports {
    variables: Vec<(Arc<str>, Variable)>,
    /// Names around the subquery that it does not see.
    hidden: Set<Arc<str>>,
    /// Slots of the variables that have been named.
    used: RefCell<Set<SlotId>>,
}

impl Scope {
    /// The scope of a subquery that sees these variables throughout.
    pub(crate) fn of_subquery(&self, imported: Vec<(Arc<str>, Variable)>) -> Scope {
        let names = self.variables.iter().chain(self.imported()).map(|(name, _)| name);
        let hidden = names.filter(|name| !imported.iter().any(|(known, _)| known == *name)).cloned().collect();
        let imports = Imports { variables: imported, hidden, used: RefCell::default() };
        Scope { imports: Some(Rc::new(imports)), ..Scope::default() }
    }

    /// Adds variables of the query around a subquery that are like its own.
    pub(crate) fn adopt(&mut self, variables: Vec<(Arc<str>, Variable)>) {
        self.variables.extend(variables);
    }

    fn imported(&self) -> impl Iterator<Item = &(Arc<str>, Variable)> {
        self.imports.iter().flat_map(|imports| imports.variables.iter())
    }

    /// The slots of the query around a subquery that have been named in it so far, in order.
    pub(crate) fn used_imports(&self) -> Vec<SlotId> {
        let mut used: Vec<SlotId> =
            self.imports.iter().flat_map(|imports| imports.used.borrow().iter().copied().collect::<Vec<_>>()).collect();
        used.sort_unstable();
        used
    }

    /// Notes that a subquery within this one uses these slots.
    pub(crate) fn note_uses(&self, slots: &[SlotId]) {
        let Some(imports) = &self.imports else { return };
        let is_import = |slot: &&SlotId| imports.variables.iter().any(|(_, variable)| variable.slot == **slot);
        imports.used.borrow_mut().extend(slots.iter().filter(is_import));
    }

    /// True if the name is one of the query around a subquery, and seen in it.
    pub(crate) fn imports(&self, name: &str) -> Option<Variable> {
        self.imported().find(|(known, _)| &**known == name).map(|(_, variable)| *variable)
    }

    /// The variable of that name.
    pub(crate) fn find(&self, name: &str) -> Option<Variable> {
        if let Some((_, variable)) = self.variables.iter().rev().find(|(known, _)| &**known == name) {
            return Some(*variable);
        }
        let variable = self.imports(name)?;
        self.note_uses(&[variable.slot]);
        Some(variable)
    }

    /// The variable of that name, or an error that tells why there is none.
    pub(crate) fn get(&self, name: &str, span: Span) -> Result<Variable> {
        self.find(name).ok_or_else(|| self.undefined(name, span))
    }

    fn undefined(&self, name: &str, span: Span) -> Error {
        let error = error!(Semantic::UndefinedVariable, "variable `{name}` is not defined").at(span);
        let known = self.variables.iter().chain(self.imported()).map(|(known, _)| &**known);
        if self.imports.as_ref().is_some_and(|imports| imports.hidden.contains(name)) {
            error.with_remedy(format!("it is outside of the subquery, which does not import it; write CALL ({name})"))
        } else if self.dropped.contains(name) {
            error.with_remedy(format!("the WITH before did not pass it on; add {name} to it"))
        } else if let Some(remedy) = suggestion::did_you_mean(name, known) {
            error.with_remedy(remedy)
        } else {
            error.with_remedy("bind it in a MATCH, UNWIND or WITH before this place")
        }
    }

    /// Adds a variable.
    pub(crate) fn declare(&mut self, name: &str, slot: SlotId, kind: VariableKind) {
        self.variables.push((Arc::from(name), Variable { slot, kind }));
    }

    /// Number of variables, to be given to `truncate`.
    pub(crate) fn len(&self) -> usize {
        self.variables.len()
    }

    /// Forgets the variables declared since `len` was asked.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.variables.truncate(len);
    }

    /// The names and variables that are not hidden, in order of declaration.
    pub(crate) fn visible(&self) -> Vec<(Arc<str>, Variable)> {
        let hidden = |index: usize, name: &str| self.variables[index + 1..].iter().any(|(later, _)| &**later == name);
        let all = self.variables.iter().enumerate();
        all.filter(|(index, (name, _))| !hidden(*index, name)).map(|(_, entry)| entry.clone()).collect()
    }

    /// All variables that a subquery expression sees, those of the query around a subquery first.
    pub(crate) fn all_visible(&self) -> Vec<(Arc<str>, Variable)> {
        let mut all: Vec<(Arc<str>, Variable)> = self.imported().cloned().collect();
        all.extend(self.visible());
        all
    }

    /// All slots that a name means.
    pub(crate) fn slots(&self) -> Set<SlotId> {
        self.variables.iter().chain(self.imported()).map(|(_, variable)| variable.slot).collect()
    }

    /// The scope after a `WITH` that gives these variables.
    pub(crate) fn after_projection(&self, outputs: Vec<(Arc<str>, Variable)>) -> Scope {
        let mut dropped = self.dropped.clone();
        dropped.extend(self.variables.iter().map(|(name, _)| name.clone()));
        Scope { variables: outputs, dropped, imports: self.imports.clone(), csv: None }
    }

    /// Kind of values that an expression is known to give.
    pub(crate) fn kind_of(&self, expression: &Expression) -> VariableKind {
        use ExpressionKind as Kind;
        match &expression.kind {
            Kind::Slot(slot) => {
                let mut all = self.variables.iter().rev().chain(self.imported());
                let found = all.find(|(_, variable)| variable.slot == *slot);
                found.map_or(VariableKind::Any, |(_, variable)| variable.kind)
            }
            Kind::Literal(value) if value.is_null() => VariableKind::Any,
            Kind::Literal(_) | Kind::List(_) | Kind::Map(_) | Kind::MapProjection { .. } => VariableKind::Value,
            Kind::Not(_) | Kind::And(_) | Kind::Or(_) | Kind::Xor(..) | Kind::Negate(_) => VariableKind::Value,
            Kind::Binary { .. } | Kind::IsNull(_) | Kind::IsNotNull(_) | Kind::HasLabels { .. } => VariableKind::Value,
            Kind::ListComprehension { .. } | Kind::Quantifier { .. } | Kind::Subquery { .. } => VariableKind::Value,
            Kind::Slice { .. } => VariableKind::Value,
            Kind::Path { .. } => VariableKind::Path,
            _ => VariableKind::Any,
        }
    }
}
