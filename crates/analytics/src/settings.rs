//! The one map argument of every algorithm: keys are known or refused, values have the right type or are refused.

use std::borrow::Cow;

use model::Set;
use model::error::{Error, Result};
use model::id::NodeId;
use model::store::{Direction, ReadView};
use model::suggestion::nearest;
use model::value::{MapValue, Value};

/// The settings of one call.
pub struct Settings<'a> {
    procedure: Cow<'static, str>,
    map: Option<&'a MapValue>,
}

impl<'a> Settings<'a> {
    /// Takes the argument of a call; fails on a key that is not among `known`.
    pub(crate) fn new(
        procedure: impl Into<Cow<'static, str>>,
        argument: &'a Value,
        known: &[&str],
    ) -> Result<Settings<'a>> {
        let procedure = procedure.into();
        let map = match argument {
            Value::Null => None,
            Value::Map(map) => Some(&**map),
            other => {
                let found = other.type_name();
                return Err(model::error!(Type, "{procedure} takes its settings as a MAP, found {found}"));
            }
        };
        for key in map.iter().flat_map(|map| map.keys()) {
            if !known.contains(&&**key) {
                let remedy = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("the settings are: {}", known.join(", ")),
                };
                return Err(model::error!(Argument, "{procedure} has no setting '{key}'").with_remedy(remedy));
            }
        }
        Ok(Settings { procedure, map })
    }

    /// The value under one of several names for the same setting; null is the same as not given.
    fn get(&self, names: &[&'static str]) -> Result<Option<(&'static str, &'a Value)>> {
        let mut found = None;
        for &name in names {
            if let Some(value) = self.map.and_then(|map| map.get(name)).filter(|value| !value.is_null()) {
                if let Some((other, _)) = found {
                    return Err(self.refuse(&format!("'{other}' and '{name}' are the same setting, give one of them")));
                }
                found = Some((name, value));
            }
        }
        Ok(found)
    }

    /// The error about a setting that cannot be.
    pub(crate) fn refuse(&self, what: &str) -> Error {
        model::error!(Argument, "{}: {what}", self.procedure)
    }

    fn wrong_type(&self, name: &str, value: &Value, expected: &str) -> Error {
        let (procedure, found) = (&self.procedure, value.type_name());
        model::error!(Type, "{procedure}: setting '{name}' is {found}, expected {expected}")
    }

    fn missing(&self, names: &[&'static str], expected: &str) -> Error {
        self.refuse(&format!("setting '{}' is missing, expected {expected}", names[0]))
    }

    /// A text.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&'a str>> {
        self.text_of(&[name])
    }

    /// A text under one of several names.
    pub(crate) fn text_of(&self, names: &[&'static str]) -> Result<Option<&'a str>> {
        match self.get(names)? {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text)),
            Some((name, other)) => Err(self.wrong_type(name, other, "STRING")),
        }
    }

    /// A text that must be given.
    pub(crate) fn required_text(&self, name: &'static str) -> Result<&'a str> {
        self.text(name)?.ok_or_else(|| self.missing(&[name], "STRING"))
    }

    /// A text or a list of texts; `None` for all: when left out, or `'*'`.
    pub(crate) fn names(&self, names: &[&'static str]) -> Result<Option<Vec<&'a str>>> {
        let Some((name, value)) = self.get(names)? else { return Ok(None) };
        let texts = match value {
            Value::String(text) => vec![&**text],
            Value::List(items) => {
                let mut texts = Vec::with_capacity(items.len());
                for item in items.iter() {
                    let Value::String(text) = item else {
                        return Err(self.wrong_type(name, item, "STRING or LIST OF STRING"));
                    };
                    texts.push(&**text);
                }
                texts
            }
            other => return Err(self.wrong_type(name, other, "STRING or LIST OF STRING")),
        };
        if texts.is_empty() {
            return Err(
                self.refuse(&format!("setting '{name}' is an empty list, which leaves nothing; leave it out for all"))
            );
        }
        Ok(if texts.contains(&"*") { None } else { Some(texts) })
    }

    /// An integer of at least `least`.
    pub(crate) fn integer(&self, name: &'static str, least: i64) -> Result<Option<u64>> {
        self.integer_of(&[name], least)
    }

    /// An integer of at least `least` under one of several names.
    pub(crate) fn integer_of(&self, names: &[&'static str], least: i64) -> Result<Option<u64>> {
        match self.get(names)? {
            None => Ok(None),
            Some((_, Value::Int(x))) if *x >= least => Ok(Some(x.cast_unsigned())),
            Some((name, Value::Int(x))) => {
                Err(self.refuse(&format!("setting '{name}' is {x}, expected an integer of at least {least}")))
            }
            Some((name, other)) => Err(self.wrong_type(name, other, "INTEGER")),
        }
    }

    /// The seed of random numbers: any integer.
    pub(crate) fn seed(&self, names: &[&'static str]) -> Result<Option<u64>> {
        self.integer_of(names, i64::MIN)
    }

    /// A number in `least..=most`, which are finite: so is what is given.
    pub(crate) fn number(&self, name: &'static str, least: f64, most: f64) -> Result<Option<f64>> {
        let number = match self.get(&[name])? {
            None => return Ok(None),
            Some((_, Value::Int(x))) => *x as f64,
            Some((_, Value::Float(x))) => *x,
            Some((_, other)) => return Err(self.wrong_type(name, other, "a number")),
        };
        if !(least..=most).contains(&number) {
            let expected = match most {
                f64::MAX => format!("a finite number of at least {least}"),
                1e15.. => format!("a number from {least} to {most:e}"),
                _ => format!("a number from {least} to {most}"),
            };
            return Err(self.refuse(&format!("setting '{name}' is {number}, expected {expected}")));
        }
        Ok(Some(number))
    }

    /// A list of numbers.
    pub(crate) fn numbers(&self, name: &'static str) -> Result<Option<Vec<f64>>> {
        let Some((_, value)) = self.get(&[name])? else { return Ok(None) };
        let Value::List(items) = value else { return Err(self.wrong_type(name, value, "LIST OF FLOAT")) };
        let number = |item: &Value| match item {
            Value::Int(x) => Ok(*x as f64),
            Value::Float(x) => Ok(*x),
            other => Err(self.wrong_type(name, other, "LIST OF FLOAT")),
        };
        items.iter().map(number).collect::<Result<_>>().map(Some)
    }

    /// A node of the view, given as a node or by its id.
    pub(crate) fn node(&self, names: &[&'static str], view: &dyn ReadView) -> Result<NodeId> {
        let Some((name, value)) = self.get(names)? else {
            return Err(self.missing(names, "NODE or INTEGER (a node id)"));
        };
        let node = node_of(value).ok_or_else(|| self.wrong_type(name, value, "NODE or INTEGER (a node id)"))?;
        self.require_nodes(names[0], &[node], view)?;
        Ok(node)
    }

    /// Nodes of the view, each given as a node or by its id: a list of them, or a single one; each once, in the order of
    /// their first mention.
    pub(crate) fn nodes(&self, names: &[&'static str], view: &dyn ReadView) -> Result<Option<Vec<NodeId>>> {
        const EXPECTED: &str = "NODE, INTEGER (a node id) or LIST of these";
        let Some((name, value)) = self.get(names)? else { return Ok(None) };
        let items = match value {
            Value::List(items) => &items[..],
            single => std::slice::from_ref(single),
        };
        if items.is_empty() {
            return Err(self.refuse(&format!("setting '{name}' is an empty list, leave it out for all nodes")));
        }
        let (mut nodes, mut known) = (Vec::with_capacity(items.len()), Set::default());
        for item in items {
            let node = node_of(item).ok_or_else(|| self.wrong_type(name, item, EXPECTED))?;
            if known.insert(node) {
                nodes.push(node);
            }
        }
        self.require_nodes(names[0], &nodes, view)?;
        Ok(Some(nodes))
    }

    fn require_nodes(&self, name: &str, nodes: &[NodeId], view: &dyn ReadView) -> Result<()> {
        let exist = view.nodes_exist(nodes)?;
        match (0..nodes.len()).find(|&at| !exist.get(at)) {
            None => Ok(()),
            Some(at) => {
                let (procedure, node) = (&self.procedure, nodes[at].0);
                Err(model::error!(NotFound, "{procedure}: node #{node} of setting '{name}' is not in the graph"))
            }
        }
    }

    /// Whether a setting is given under any of its names.
    pub(crate) fn is_given(&self, names: &[&'static str]) -> Result<bool> {
        Ok(self.get(names)?.is_some())
    }

    /// True or false.
    pub(crate) fn flag(&self, name: &'static str) -> Result<Option<bool>> {
        match self.get(&[name])? {
            None => Ok(None),
            Some((_, Value::Bool(flag))) => Ok(Some(*flag)),
            Some((_, other)) => Err(self.wrong_type(name, other, "BOOLEAN")),
        }
    }

    /// Which way edges are followed.
    pub(crate) fn direction(&self, default: Direction) -> Result<Direction> {
        let Some(text) = self.text("direction")? else { return Ok(default) };
        match text.to_ascii_uppercase().as_str() {
            "OUT" | "OUTGOING" | "NATURAL" => Ok(Direction::Out),
            "IN" | "INCOMING" | "REVERSE" => Ok(Direction::In),
            "BOTH" | "UNDIRECTED" => Ok(Direction::Both),
            _ => Err(self.refuse(&format!("setting 'direction' is '{text}', expected 'OUT', 'IN' or 'BOTH'"))),
        }
    }

    /// How many threads to use: `concurrency`, or what the caller offers.
    pub(crate) fn threads(&self, offered: usize) -> Result<usize> {
        Ok(self.integer("concurrency", 1)?.map_or(offered, |asked| asked.min(THREADS_MAX) as usize).max(1))
    }
}

/// More threads than this are never started, whatever `concurrency` says.
const THREADS_MAX: u64 = 256;

/// Names for the node where a search starts.
pub(crate) const SOURCE: &[&str] = &["sourceNode", "source"];
/// Names for the node where a search ends.
pub(crate) const TARGET: &[&str] = &["targetNode", "target"];

/// The node that a value stands for: itself, or its id.
fn node_of(value: &Value) -> Option<NodeId> {
    match value {
        Value::Node(node) => Some(*node),
        Value::Int(id) if *id >= 0 => Some(NodeId(id.cast_unsigned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use model::value::Value;
    use std::sync::Arc;

    fn check_error(entries: &[(&str, Value)], read: fn(&Settings<'_>) -> model::Result<()>, expected: &str) {
        let map = Value::map(entries.iter().map(|(key, value)| (Arc::from(*key), value.clone())));
        let known = ["labels", "nodeLabels", "maxIterations", "tolerance", "direction"];
        let error = Settings::new("algo.test", &map, &known).and_then(|s| read(&s)).expect_err(expected);
        assert_eq!(format!("{} ({})", error.message(), error.remedy()), expected);
    }

    #[test]
    fn errors_name_the_setting() {
        let one = Value::Int(1);
        check_error(
            &[("maxIteratons", one.clone())],
            |_| Ok(()),
            "algo.test has no setting 'maxIteratons' (did you mean 'maxIterations'?)",
        );
        check_error(
            &[("colour", one.clone())],
            |_| Ok(()),
            "algo.test has no setting 'colour' (the settings are: labels, nodeLabels, maxIterations, tolerance, direction)",
        );
        check_error(
            &[("labels", one.clone())],
            |s| s.names(&["labels", "nodeLabels"]).map(drop),
            "algo.test: setting 'labels' is INTEGER, expected STRING or LIST OF STRING (convert it, or test it first)",
        );
        check_error(
            &[("labels", Value::string("A")), ("nodeLabels", Value::string("A"))],
            |s| s.names(&["labels", "nodeLabels"]).map(drop),
            "algo.test: 'labels' and 'nodeLabels' are the same setting, give one of them ()",
        );
        check_error(
            &[("maxIterations", Value::Int(0))],
            |s| s.integer("maxIterations", 1).map(drop),
            "algo.test: setting 'maxIterations' is 0, expected an integer of at least 1 ()",
        );
        check_error(
            &[("tolerance", Value::Float(f64::NAN))],
            |s| s.number("tolerance", 0.0, f64::MAX).map(drop),
            "algo.test: setting 'tolerance' is NaN, expected a finite number of at least 0 ()",
        );
        check_error(
            &[("direction", Value::string("up"))],
            |s| s.direction(model::Direction::Out).map(drop),
            "algo.test: setting 'direction' is 'up', expected 'OUT', 'IN' or 'BOTH' ()",
        );
    }
}
