"""Results as graphs of NetworkX."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Tuple

from ._knotwork import Edge, Node, Path
from ._tables import _library


def _entities(value: Any) -> Iterable[Any]:
    if isinstance(value, (Node, Edge)):
        yield value
    elif isinstance(value, Path):
        yield from value.nodes
        yield from value.edges
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _entities(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _entities(item)


def collect(records: Iterable[Any]) -> Tuple[Dict[int, Any], Dict[int, Any]]:
    """The nodes and edges that stand in records: two dictionaries by id."""
    nodes: Dict[int, Any] = {}
    edges: Dict[int, Any] = {}
    for record in records:
        for value in record:
            for entity in _entities(value):
                (nodes if isinstance(entity, Node) else edges)[entity.id] = entity
    return nodes, edges


def _plain(name: str, value: Any) -> Any:
    """An attribute as files of graphs have it: a text, a number or a boolean."""
    if isinstance(value, (str, bool, int, float)):
        return value
    return ":".join(value) if name == "labels" and isinstance(value, tuple) else str(value)


def to_networkx(
    result: Any, directed: bool = True, multigraph: bool = True, key: "str | None" = None, plain: bool = False
) -> Any:
    """The nodes, edges and paths of all rows that are left as a NetworkX graph.

    Nodes are named by their ids, or by the property ``key``; labels are the attribute ``labels``, types the attribute
    ``type``; properties are attributes.

    ``plain=True`` makes every attribute a text, a number or a boolean, as GraphML and GEXF need them: labels are joined by
    ``:``, other values are their texts, and what is ``None`` is left out.
    """
    networkx = _library("networkx", "to_networkx")
    kinds = {(True, True): "MultiDiGraph", (True, False): "DiGraph", (False, True): "MultiGraph", (False, False): "Graph"}
    graph = getattr(networkx, kinds[bool(directed), bool(multigraph)])()
    nodes, edges = collect(result)
    names = {}
    for id, node in nodes.items():
        names[id] = id if key is None else node[key]
        graph.add_node(names[id], labels=node.labels, **{name: value for name, value in node.items() if name != "labels"})
    for edge in edges.values():
        ends = [names.get(end, end) for end in (edge.source, edge.target)]
        attributes = dict(edge.items())
        attributes.setdefault("type", edge.type)
        graph.add_edges_from([(*ends, attributes)])
    if plain:
        for held in [data for _, data in graph.nodes(data=True)] + [data for *_, data in graph.edges(data=True)]:
            for name, value in list(held.items()):
                if value is None:
                    del held[name]
                else:
                    held[name] = _plain(name, value)
    return graph
