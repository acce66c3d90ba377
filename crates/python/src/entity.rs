//! Nodes, edges and paths as classes: what a result tells of them, with their properties read when it was made.

use std::sync::Arc;

use database::result::{EdgeRecord, Entities, NodeRecord};
use database::{Error, Value};
use model::value::{EdgeValue, PathValue};
use model::{EdgeId, EdgeTypeId, NodeId};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::convert::{from_python, to_python};

/// Names with values, in order.
type Properties = [(Arc<str>, Value)];

/// A node of a result: its id, its labels and its properties.
///
/// Properties are read like those of a mapping: ``node["name"]``, ``node.get("name")``, ``dict(node)``.
#[pyclass(frozen, mapping, module = "knotwork", name = "Node")]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    record: NodeRecord,
}

/// An edge of a result: its id, type, ends and properties.
///
/// Properties are read like those of a mapping. ``id`` is what ``id(r)`` gives, and stays the same as
/// long as the relationship is there.
#[pyclass(frozen, mapping, module = "knotwork", name = "Edge")]
pub(crate) struct Edge {
    pub(crate) value: EdgeValue,
    record: EdgeRecord,
}

/// A path of a result: its nodes and edges in walking order.
#[pyclass(frozen, sequence, module = "knotwork", name = "Path")]
pub(crate) struct Path {
    pub(crate) value: Arc<PathValue>,
    nodes: Py<PyTuple>,
    edges: Py<PyTuple>,
}

pub(crate) fn node<'py>(py: Python<'py>, id: NodeId, entities: &Entities) -> PyResult<Bound<'py, PyAny>> {
    let record = entities.nodes.get(&id).cloned().unwrap_or_default();
    Ok(Bound::new(py, Node { id, record })?.into_any())
}

pub(crate) fn edge<'py>(py: Python<'py>, value: EdgeValue, entities: &Entities) -> PyResult<Bound<'py, PyAny>> {
    let record = entities.edges.get(&value.id).cloned().unwrap_or_default();
    Ok(Bound::new(py, Edge { value, record })?.into_any())
}

pub(crate) fn path<'py>(py: Python<'py>, value: &Arc<PathValue>, entities: &Entities) -> PyResult<Bound<'py, PyAny>> {
    let nodes = value.nodes.iter().map(|id| node(py, *id, entities)).collect::<PyResult<Vec<_>>>()?;
    let edges = value.edges.iter().map(|of| edge(py, *of, entities)).collect::<PyResult<Vec<_>>>()?;
    let (nodes, edges) = (PyTuple::new(py, nodes)?.unbind(), PyTuple::new(py, edges)?.unbind());
    Ok(Bound::new(py, Path { value: value.clone(), nodes, edges })?.into_any())
}

/// The value of a node, edge or path that a result gave, to be passed as a parameter.
pub(crate) fn value_of(object: &Bound<'_, PyAny>) -> Option<Result<Value, Error>> {
    if let Ok(node) = object.cast::<Node>() {
        return Some(Ok(Value::Node(node.get().id)));
    }
    if let Ok(edge) = object.cast::<Edge>() {
        return Some(Ok(Value::Edge(edge.get().value)));
    }
    let path = object.cast::<Path>().ok()?;
    Some(Ok(Value::Path(path.get().value.clone())))
}

fn find<'py>(py: Python<'py>, properties: &Properties, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = properties.iter().find(|(name, _)| &**name == key);
    found.map(|(_, value)| to_python::value(py, value, &Entities::default())).transpose()
}

fn as_dict<'py>(py: Python<'py>, properties: &Properties) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in properties {
        dict.set_item(&**name, to_python::value(py, value, &Entities::default())?)?;
    }
    Ok(dict)
}

fn as_properties(dict: &Bound<'_, PyDict>) -> PyResult<Vec<(Arc<str>, Value)>> {
    let property = |(name, object): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let value = from_python::value(&object, 0).map_err(|fault| fault.of(|| format!("property {name}")))?;
        Ok((Arc::from(name), value))
    };
    dict.iter().map(property).collect()
}

fn keys<'py>(py: Python<'py>, properties: &Properties) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, properties.iter().map(|(name, _)| &**name))
}

fn shown(properties: &Properties) -> String {
    let entries: Vec<String> = properties.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    if entries.is_empty() { String::new() } else { format!(" {{{}}}", entries.join(", ")) }
}

/// Methods of a mapping for their properties, which both nodes and edges have.
macro_rules! mapping_methods {
    ($class:ident, $own:expr, { $($methods:tt)* }) => {
        #[pymethods]
        impl $class {
            $($methods)*

            /// The properties as a new dictionary.
            #[getter]
            fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                as_dict(py, &self.record.properties)
            }

            /// The names of the properties.
            fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
                keys(py, &self.record.properties)
            }

            /// The values of the properties.
            fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                as_dict(py, &self.record.properties)?.call_method0("values")
            }

            /// Names and values of the properties.
            fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                as_dict(py, &self.record.properties)?.call_method0("items")
            }

            /// The property of that name, or the default.
            #[pyo3(signature = (key, default=None))]
            fn get<'py>(
                &self,
                py: Python<'py>,
                key: &str,
                default: Option<Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let found = find(py, &self.record.properties, key)?;
                Ok(found.or(default).unwrap_or_else(|| py.None().into_bound(py)))
            }

            fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
                if let Some(found) = find(py, &self.record.properties, key)? {
                    return Ok(found);
                }
                let own: fn(&$class, Python<'py>, &str) -> PyResult<Option<Bound<'py, PyAny>>> = $own;
                own(self, py, key)?.ok_or_else(|| PyKeyError::new_err(key.to_owned()))
            }

            fn __contains__(&self, key: &str) -> bool {
                self.record.properties.iter().any(|(name, _)| &**name == key)
            }

            fn __len__(&self) -> usize {
                self.record.properties.len()
            }

            fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                keys(py, &self.record.properties)?.call_method0("__iter__")
            }

            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                other.cast::<$class>().is_ok_and(|other| other.get().identity() == self.identity())
            }

            fn __hash__(&self) -> u64 {
                self.identity()
            }
        }
    };
}

impl Node {
    fn identity(&self) -> u64 {
        self.id.0
    }
}

impl Edge {
    fn identity(&self) -> u64 {
        self.value.id.0
    }
}

// The names that start with an underscore are what Kuzu's dictionaries have beside the properties.
mapping_methods!(
    Node,
    |node, py, key| {
        Ok(match key {
            "_id" => Some(node.id.0.into_pyobject(py)?.into_any()),
            "_label" => node.record.labels.first().map(|label| PyString::new(py, label).into_any()),
            _ => None,
        })
    },
    {
        /// The id, which stays the same as long as the node is there.
        #[getter]
        fn id(&self) -> u64 {
            self.id.0
        }

        /// The labels, as a tuple.
        #[getter]
        fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
            PyTuple::new(py, self.record.labels.iter().map(|label| &**label))
        }

        /// Made again of its id, labels and properties: in another process, or by ``copy``.
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
            let (py, node) = (slf.py(), slf.get());
            let parts = (node.id.0, node.labels(py)?, node.properties(py)?).into_pyobject(py)?;
            Ok((slf.get_type().getattr("_made_again")?, parts))
        }

        #[staticmethod]
        fn _made_again(id: u64, labels: Vec<String>, properties: &Bound<'_, PyDict>) -> PyResult<Node> {
            let labels = labels.iter().map(|label| Arc::from(label.as_str())).collect();
            Ok(Node { id: NodeId(id), record: NodeRecord { labels, properties: as_properties(properties)? } })
        }

        fn __repr__(&self) -> String {
            let labels: String = self.record.labels.iter().map(|label| format!(":{label}")).collect();
            format!("<Node {}{labels}{}>", self.id.0, shown(&self.record.properties))
        }
    }
);
mapping_methods!(
    Edge,
    |edge, py, key| {
        Ok(match key {
            "_id" => Some(edge.value.id.0.into_pyobject(py)?.into_any()),
            "_label" => Some(PyString::new(py, &edge.record.edge_type).into_any()),
            "_src" => Some(edge.value.source.0.into_pyobject(py)?.into_any()),
            "_dst" => Some(edge.value.target.0.into_pyobject(py)?.into_any()),
            _ => None,
        })
    },
    {
        /// The id, which stays the same as long as the relationship is there.
        #[getter]
        fn id(&self) -> u64 {
            self.value.id.0
        }

        /// The type.
        #[getter]
        fn r#type(&self) -> &str {
            &self.record.edge_type
        }

        /// The id of the node where it starts.
        #[getter]
        fn source(&self) -> u64 {
            self.value.source.0
        }

        /// The id of the node where it ends.
        #[getter]
        fn target(&self) -> u64 {
            self.value.target.0
        }

        /// Made again of its parts: in another process, or by ``copy``.
        fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
            let (py, edge) = (slf.py(), slf.get());
            let EdgeValue { id, source, target, edge_type } = edge.value;
            let ids = (id.0, source.0, target.0, edge_type.0);
            let parts = (ids, edge.r#type(), edge.properties(py)?).into_pyobject(py)?;
            Ok((slf.get_type().getattr("_made_again")?, parts))
        }

        #[staticmethod]
        fn _made_again(ids: (u64, u64, u64, u32), r#type: &str, properties: &Bound<'_, PyDict>) -> PyResult<Edge> {
            let (id, source, target, edge_type) = ids;
            let (source, target) = (NodeId(source), NodeId(target));
            let value = EdgeValue { id: EdgeId(id), source, target, edge_type: EdgeTypeId(edge_type) };
            let properties = as_properties(properties)?;
            Ok(Edge { value, record: EdgeRecord { edge_type: Arc::from(r#type), properties } })
        }

        fn __repr__(&self) -> String {
            let EdgeValue { source, target, .. } = self.value;
            let shown = shown(&self.record.properties);
            format!("<Edge {}-[:{}{shown}]->{}>", source.0, self.record.edge_type, target.0)
        }
    }
);

#[pymethods]
impl Path {
    /// The nodes in walking order.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> Py<PyTuple> {
        self.nodes.clone_ref(py)
    }

    /// The edges in walking order.
    #[getter]
    fn edges(&self, py: Python<'_>) -> Py<PyTuple> {
        self.edges.clone_ref(py)
    }

    /// Made again of its nodes and edges: in another process, or by ``copy``.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, path) = (slf.py(), slf.get());
        let parts = (path.nodes.bind(py), path.edges.bind(py)).into_pyobject(py)?;
        Ok((slf.get_type().getattr("_made_again")?, parts))
    }

    #[staticmethod]
    fn _made_again(nodes: &Bound<'_, PyTuple>, edges: &Bound<'_, PyTuple>) -> PyResult<Path> {
        let ids = nodes.iter().map(|node| Ok(node.cast::<Node>()?.get().id)).collect::<PyResult<_>>()?;
        let values = edges.iter().map(|edge| Ok(edge.cast::<Edge>()?.get().value)).collect::<PyResult<_>>()?;
        let value = Arc::new(PathValue { nodes: ids, edges: values });
        Ok(Path { value, nodes: nodes.clone().unbind(), edges: edges.clone().unbind() })
    }

    /// The number of edges.
    fn __len__(&self) -> usize {
        self.value.edges.len()
    }

    /// The edge at that place.
    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyAny>> {
        let count = self.value.edges.len() as isize;
        let at = if index < 0 { index + count } else { index };
        if !(0..count).contains(&at) {
            return Err(PyIndexError::new_err("the path has no such edge"));
        }
        self.edges.bind(py).get_item(at as usize)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Path>().is_ok_and(|other| other.get().value == self.value)
    }

    fn __hash__(&self) -> u64 {
        let ends = self.value.nodes.iter().chain(self.value.nodes.last());
        ends.fold(self.value.edges.len() as u64, |hash, node| hash.wrapping_mul(31).wrapping_add(node.0))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("<Path ({})", self.value.nodes.first().map_or(0, |node| node.0));
        for ((edge, record), pair) in
            self.value.edges.iter().zip(self.edges.bind(py).iter()).zip(self.value.nodes.windows(2))
        {
            let edge_type = record.cast::<Edge>()?.get().record.edge_type.clone();
            let forwards = edge.source == pair[0];
            let (left, right) = if forwards { ("-", "->") } else { ("<-", "-") };
            text.push_str(&format!("{left}[:{edge_type}]{right}({})", pair[1].0));
        }
        Ok(text + ">")
    }
}
