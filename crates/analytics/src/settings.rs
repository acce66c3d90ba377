//! The one map argument of every algorithm: keys are known or refused, values have the right type or are refused.
//!
//! - [`table`]: rows of settings, from which calls are read and the reference is made.
//! - [`kind`]: the types of settings.
//! - [`shared`]: settings of more than one algorithm.
//!
//! Invariant: a setting that is read is a row of the table that the call was checked against.

pub mod kind;
pub mod shared;
pub mod table;

use std::borrow::Cow;
use std::cell::Cell;

use model::error::{Error, Result};
use model::id::NodeId;
use model::store::ReadView;
use model::suggestion::nearest;
use model::value::{MapValue, Value};

pub use table::{Row, Setting, Table};

use kind::Kind;
use table::Absence;

/// The settings of one call.
pub struct Settings<'a> {
    procedure: Cow<'static, str>,
    map: Option<&'a MapValue>,
    rows: Vec<&'static dyn Row>,
    /// A bit for each row that was asked for.
    asked: Cell<u64>,
    view: &'a dyn ReadView,
}

/// A value that a call gives for a setting.
pub struct Given<'s, 'a> {
    settings: &'s Settings<'a>,
    /// The first name of the setting.
    setting: &'static str,
    /// The name in the call.
    name: &'static str,
    /// The value.
    pub(crate) value: &'a Value,
}

impl<'a> Settings<'a> {
    /// Takes the argument of a call; fails on a key that no row names. Nodes must be in `view`.
    pub(crate) fn new(
        procedure: impl Into<Cow<'static, str>>,
        argument: &'a Value,
        rows: Vec<&'static dyn Row>,
        view: &'a dyn ReadView,
    ) -> Result<Settings<'a>> {
        let procedure = procedure.into();
        assert!(rows.len() <= u64::BITS as usize, "{procedure} has more settings than a word has bits");
        let map = match argument {
            Value::Null => None,
            Value::Map(map) => Some(&**map),
            other => {
                let found = other.type_name();
                return Err(model::error!(Type, "{procedure} takes its settings as a MAP, found {found}"));
            }
        };
        for key in map.iter().flat_map(|map| map.keys()) {
            if !names_of(&rows).any(|name| name == &**key) {
                let remedy = match nearest(key, names_of(&rows)) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("the settings are: {}", names_of(&rows).collect::<Vec<_>>().join(", ")),
                };
                return Err(model::error!(Argument, "{procedure} has no setting '{key}'").with_remedy(remedy));
            }
        }
        Ok(Settings { procedure, map, rows, asked: Cell::new(0), view })
    }

    /// The value of a setting, or its default.
    ///
    /// # Panics
    /// If the call was not checked against this row.
    pub(crate) fn get<K: Kind, D: Absence<K>>(&self, setting: &'static Setting<K, D>) -> Result<D::Found> {
        let at = self.rows.iter().position(|row| std::ptr::addr_eq::<dyn Row, Setting<K, D>>(*row, setting));
        let at = at.unwrap_or_else(|| panic!("{} has no row for its setting '{}'", self.procedure, setting.name));
        self.asked.set(self.asked.get() | 1 << at);
        match self.find(setting.name, setting.aliases)? {
            Some(given) => setting.kind.read(&given).map(D::given),
            None => setting.default.left_out().ok_or_else(|| {
                let expected = setting.kind.expected();
                self.refuse(&format!("setting '{}' is missing, expected {expected}", setting.name))
            }),
        }
    }

    /// The value under one of several names for the same setting; null is the same as not given.
    fn find(&self, setting: &'static str, aliases: &'static [&'static str]) -> Result<Option<Given<'_, 'a>>> {
        let mut found: Option<Given<'_, 'a>> = None;
        for name in std::iter::once(setting).chain(aliases.iter().copied()) {
            if let Some(value) = self.map.and_then(|map| map.get(name)).filter(|value| !value.is_null()) {
                if let Some(Given { name: other, .. }) = found {
                    return Err(self.refuse(&format!("'{other}' and '{name}' are the same setting, give one of them")));
                }
                found = Some(Given { settings: self, setting, name, value });
            }
        }
        Ok(found)
    }

    /// The names of rows of a table that were never asked for: a call could give them in vain.
    pub(crate) fn unread(&self, table: Table) -> Vec<&'static str> {
        let is_asked = |name: &str| {
            self.rows.iter().position(|row| row.name() == name).is_some_and(|at| self.asked.get() >> at & 1 == 1)
        };
        table.iter().map(|row| row.name()).filter(|name| !is_asked(name)).collect()
    }

    /// The error about a setting that cannot be.
    pub(crate) fn refuse(&self, what: &str) -> Error {
        model::error!(Argument, "{}: {what}", self.procedure)
    }

    /// The number of threads: `concurrency`, or what the caller offers.
    pub(crate) fn threads(&self, offered: usize) -> Result<usize> {
        Ok(self.get(&shared::CONCURRENCY)?.map_or(offered, |asked| asked.min(shared::THREADS_MAX) as usize).max(1))
    }
}

impl<'a> Given<'_, 'a> {
    /// The error about a value that cannot be: `what` says why.
    pub(crate) fn refuse(&self, what: &str) -> Error {
        self.settings.refuse(&format!("setting '{}' {what}", self.name))
    }

    /// The error about a value, or an item of it, of another type.
    pub(crate) fn wrong_type(&self, value: &Value, expected: &str) -> Error {
        let (procedure, name, found) = (&self.settings.procedure, self.name, value.type_name());
        model::error!(Type, "{procedure}: setting '{name}' is {found}, expected {expected}")
    }

    /// The items of a list, or a single value as the only one.
    pub(crate) fn items(&self) -> &'a [Value] {
        match self.value {
            Value::List(items) => items,
            single => std::slice::from_ref(single),
        }
    }

    /// Fails unless all nodes are in the graph.
    pub(crate) fn require_nodes(&self, nodes: &[NodeId]) -> Result<()> {
        let exist = self.settings.view.nodes_exist(nodes)?;
        match (0..nodes.len()).find(|&at| !exist.get(at)) {
            None => Ok(()),
            Some(at) => {
                let (procedure, name, node) = (&self.settings.procedure, self.setting, nodes[at].0);
                Err(model::error!(NotFound, "{procedure}: node #{node} of setting '{name}' is not in the graph"))
            }
        }
    }
}

/// All names of rows, in order.
pub(crate) fn names_of(rows: &[&'static dyn Row]) -> impl Iterator<Item = &'static str> {
    rows.iter().flat_map(|row| std::iter::once(row.name()).chain(row.aliases().iter().copied()))
}

#[cfg(test)]
mod tests;
