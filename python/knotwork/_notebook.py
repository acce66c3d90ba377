"""Rendering of results in a notebook: tables, plans as trees, small graphs. Nothing is fetched from a network."""

from __future__ import annotations

import json
import math
from html import escape
from typing import Any, Dict, List

from ._graphs import collect
from ._knotwork import Node

#: Rows that are shown, and nodes that are drawn, at most.
ROWS_MAX = 20
NODES_MAX = 60

_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#9d755d", "#bab0ac")
_CELL = "text-align:left;padding:2px 10px;border-bottom:1px solid #8883;vertical-align:top"
_STYLE = "border-collapse:collapse;font-size:13px"


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else repr(value)
    return escape(text if len(text) <= 200 else text[:199] + "…")


def table_html(columns: Any, rows: List[Any], more: bool) -> str:
    """Rows as a table."""
    head = "".join(f"<th style='{_CELL}'>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    note = f"<div style='font-size:12px;opacity:.7'>the first {len(rows)} rows; more follow</div>" if more else ""
    return f"<table style='{_STYLE}'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def result_html(result: Any) -> str:
    """A result: its plan, its graph, or its first rows, which stay to be read."""
    rows = result._peek(ROWS_MAX + 1)
    if len(rows) <= ROWS_MAX:
        summary = result.summary
        if summary.plan_tree:
            return summary_html(summary)
        if not rows:
            return summary_html(summary) + (table_html(result.columns, [], False) if result.columns else "")
    nodes, edges = collect(rows)
    picture = graph_html(nodes, edges) if edges and len(nodes) <= NODES_MAX else ""
    return picture + table_html(result.columns, rows[:ROWS_MAX], len(rows) > ROWS_MAX)


def summary_html(summary: Any) -> str:
    """The summary of a statement, with its plan as a tree."""
    changed = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in summary.counters.items() if count)
    hints = "".join(f"<div style='font-size:12px'>hint: {escape(hint)}</div>" for hint in summary.hints)
    line = f"<div style='font-size:12px;opacity:.7'>{escape(changed or 'no changes')}; {summary.time * 1e3:.2f} ms</div>"
    finding = f"<div style='font-size:12px'>{escape(summary.finding)}</div>" if summary.finding else ""
    return line + hints + finding + (plan_html(summary.plan_tree) if summary.plan_tree else "")


def plan_html(plan: Dict[str, Any]) -> str:
    """A plan as a tree that folds."""
    total = plan.get("timeNs") or 0
    return f"<div style='font-family:monospace;font-size:12px'>{_operator(plan, total)}</div>"


def _operator(node: Dict[str, Any], total: int) -> str:
    figures = [f"expected {node['estimatedRows']:,.0f}"]
    bar = ""
    if "rows" in node:
        time = node.get("timeNs") or 0
        figures += [f"rows {node['rows']:,}", f"{time / 1e6:.2f} ms"]
        width = round(100 * time / total) if total else 0
        bar = f"<span style='display:inline-block;height:8px;width:{width}px;background:#e45756aa;margin-left:6px'></span>"
    text = (
        f"<b>{escape(node['operator'])}</b> {escape(node['details'])} "
        f"<span style='opacity:.6'>{', '.join(figures)}</span>{bar}"
    )
    children = "".join(_operator(child, total) for child in node["children"])
    if not children:
        return f"<div style='margin-left:16px'>{text}</div>"
    return f"<details open style='margin-left:16px'><summary>{text}</summary>{children}</details>"


def _caption(node: Any) -> str:
    for name in ("name", "title", "label", "id"):
        if name in node:
            return str(node[name])
    for _, value in node.items():
        return str(value)
    return str(node.id)


def _layout(count: int, pairs: List[Any], width: float, height: float) -> List[List[float]]:
    """Places of nodes by forces: all push each other away, edges pull (Fruchterman and Reingold, 1991)."""
    places = [
        [width / 2 + width / 3 * math.cos(2 * math.pi * at / count), height / 2 + height / 3 * math.sin(2 * math.pi * at / count)]
        for at in range(count)
    ]
    reach = 0.75 * math.sqrt(width * height / count)
    for step in range(120):
        moves = [[0.0, 0.0] for _ in range(count)]
        for a in range(count):
            for b in range(a):
                dx, dy = places[a][0] - places[b][0], places[a][1] - places[b][1]
                square = dx * dx + dy * dy or 0.01
                push = reach * reach / square
                for node, sign in ((a, 1), (b, -1)):
                    moves[node][0] += sign * dx * push
                    moves[node][1] += sign * dy * push
        for a, b in pairs:
            dx, dy = places[a][0] - places[b][0], places[a][1] - places[b][1]
            pull = math.hypot(dx, dy) / reach
            for node, sign in ((a, -1), (b, 1)):
                moves[node][0] += sign * dx * pull
                moves[node][1] += sign * dy * pull
        heat = 0.1 * width * (1 - step / 120)
        for place, move in zip(places, moves):
            length = math.hypot(*move) or 1.0
            place[0] = min(max(place[0] + move[0] / length * min(length, heat), 24), width - 24)
            place[1] = min(max(place[1] + move[1] / length * min(length, heat), 24), height - 24)
    return places


#: Lets nodes be dragged; the picture is complete without it.
_SCRIPT = """
(function(svg){var held=null;function at(e){var p=svg.createSVGPoint();p.x=e.clientX;p.y=e.clientY;
return p.matrixTransform(svg.getScreenCTM().inverse())}
svg.addEventListener('pointerdown',function(e){var g=e.target.closest('[data-node]');if(g){held=g.dataset.node;e.preventDefault()}});
svg.addEventListener('pointermove',function(e){if(held===null)return;var p=at(e);
svg.querySelector('[data-node="'+held+'"]').setAttribute('transform','translate('+p.x+','+p.y+')');
svg.querySelectorAll('[data-a="'+held+'"]').forEach(function(l){l.setAttribute('x1',p.x);l.setAttribute('y1',p.y)});
svg.querySelectorAll('[data-b="'+held+'"]').forEach(function(l){l.setAttribute('x2',p.x);l.setAttribute('y2',p.y)})});
window.addEventListener('pointerup',function(){held=null})})(document.currentScript.previousElementSibling);
"""


def graph_html(nodes: Dict[int, Any], edges: Dict[int, Any], width: int = 640, height: int = 360) -> str:
    """A small graph as a picture whose nodes can be dragged."""
    known = dict(nodes)
    order: Dict[int, int] = {}
    for id in list(nodes) + [end for edge in edges.values() for end in (edge.source, edge.target)]:
        order.setdefault(id, len(order))
    labels = sorted({node.labels[0] for node in known.values() if isinstance(node, Node) and node.labels})
    pairs = [(order[edge.source], order[edge.target]) for edge in edges.values() if edge.source != edge.target]
    places = _layout(len(order), pairs, width, height)
    parts = [
        f"<svg viewBox='0 0 {width} {height}' style='width:100%;max-width:{width}px;touch-action:none'>"
        "<defs><marker id='knotwork-arrow' viewBox='0 0 8 8' refX='20' refY='4' markerWidth='6' markerHeight='6' orient='auto'>"
        "<path d='M0 0L8 4L0 8z' fill='#888'/></marker></defs>"
    ]
    for edge in edges.values():
        (ax, ay), (bx, by) = places[order[edge.source]], places[order[edge.target]]
        title = escape(edge.type + (" " + json.dumps(edge.properties, default=str) if len(edge) else ""))
        parts.append(
            f"<line data-a='{order[edge.source]}' data-b='{order[edge.target]}' x1='{ax:.1f}' y1='{ay:.1f}' x2='{bx:.1f}' "
            f"y2='{by:.1f}' stroke='#888' marker-end='url(#knotwork-arrow)'><title>{title}</title></line>"
        )
    for id, place in order.items():
        node, (x, y) = known.get(id), places[place]
        label = node.labels[0] if node is not None and node.labels else ""
        colour = _COLOURS[labels.index(label) % len(_COLOURS)] if label in labels else "#bab0ac"
        text = _caption(node) if node is not None else str(id)
        title = escape(":".join(node.labels) + " " + json.dumps(node.properties, default=str)) if node is not None else str(id)
        parts.append(
            f"<g data-node='{place}' transform='translate({x:.1f},{y:.1f})' style='cursor:grab'><title>{title}</title>"
            f"<circle r='10' fill='{colour}'/><text y='22' text-anchor='middle' font-size='10' fill='currentColor'>"
            f"{escape(text[:18])}</text></g>"
        )
    legend = " ".join(
        f"<span style='color:{_COLOURS[at % len(_COLOURS)]}'>●</span> {escape(label)}" for at, label in enumerate(labels)
    )
    return f"<div>{''.join(parts)}</svg><script>{_SCRIPT}</script></div><div style='font-size:12px'>{legend}</div>"
