"""Edges as arrays, and programs over them, beside the algorithms of the engine."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import knotwork


class PageRank(knotwork.EdgeProgram):
    """Of 18 lines."""

    def __init__(self, iterations, damping=0.85):
        self.iterations, self.damping = iterations, damping

    def start(self, graph):
        self.degrees = np.maximum(graph.degrees, 1)
        self.dangling = graph.degrees == 0
        self.rank = np.full(graph.node_count, 1 / graph.node_count)
        self.received = np.zeros(graph.node_count)

    def should_iterate(self, iteration, changed):
        self.share = self.rank / self.degrees
        self.base = (1 - self.damping + self.damping * self.rank[self.dangling].sum()) / len(self.rank)
        return iteration < self.iterations

    def process_edges(self, edges):
        edges.add(self.received, self.share[edges.sources])

    def update_nodes(self, nodes):
        self.rank[nodes] = self.base + self.damping * self.received[nodes]
        self.received[nodes] = 0

    def result(self):
        return {"score": self.rank}


class Components(knotwork.EdgeProgram):
    only_changed = True

    def start(self, graph):
        self.part, self.least = np.arange(graph.node_count), np.arange(graph.node_count)

    def should_iterate(self, iteration, changed):
        return changed > 0

    def process_edges(self, edges):
        edges.minimum(self.least, self.part[edges.sources])

    def update_nodes(self, nodes):
        changed = self.least[nodes] < self.part[nodes]
        self.part[nodes] = self.least[nodes]
        return changed

    def result(self):
        return {"component": self.part}


class Distances(knotwork.EdgeProgram):
    """Breadth-first search without weights, Bellman's method with them."""

    only_changed = True

    def __init__(self, source):
        self.source = source

    def start(self, graph):
        self.distance = np.full(graph.node_count, np.inf)
        self.distance[graph.number(self.source)] = 0
        self.least = self.distance.copy()
        return self.distance == 0

    def should_iterate(self, iteration, changed):
        return changed > 0

    def process_edges(self, edges):
        edges.minimum(self.least, self.distance[edges.sources] + (1 if edges.weights is None else edges.weights))

    def update_nodes(self, nodes):
        changed = self.least[nodes] < self.distance[nodes]
        self.distance[nodes] = self.least[nodes]
        return changed

    def result(self):
        return {"distance": self.distance}


NODES, EDGES = 3_000, 400_000


@pytest.fixture(scope="module")
def graph():
    """A graph in a store, of several batches; some nodes and edges take no part, and some edges were deleted."""
    random = np.random.default_rng(int(os.environ.get("FUZZ_SEED", 7)))
    ids = np.arange(NODES)
    source, target = random.integers(0, NODES, EDGES) ** 2 // NODES, random.integers(0, NODES, EDGES)
    with knotwork.connect() as db:
        db.load_nodes({"id": ids}, label="N", key="id")
        db.execute("UNWIND range(1, 50) AS i CREATE (:Other {id: -i})")
        db.load_edges({"a": source, "b": target, "cost": random.random(EDGES), "n": source}, type="R", source=("N", "id", "a"), target=("N", "id", "b"))
        db.execute("MATCH (o:Other), (n:N {id: 1}) CREATE (o)-[:R {cost: 1.0, n: -1}]->(n), (n)-[:S {cost: 9.0}]->(o)")
        db.execute("MATCH (:N {id: 5})-[r:R]->() DELETE r")
        yield db


SELECTIONS = [
    dict(labels="N", types="R"),
    dict(),
    dict(types=["R", "S"], direction="BOTH"),
    dict(labels="N", direction="IN"),
]


def by_id(result, name):
    return dict(zip(result["nodeId"].tolist(), result[name].tolist()))


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_programs_give_what_the_algorithms_give(graph, selection):
    ranks = graph.algo.edge_program(PageRank(15), **selection)
    expected = {row.nodeId: row.score for row in graph.algo.pagerank(max_iterations=15, tolerance=0.0, **selection)}
    assert ranks.iterations == 15 and by_id(ranks, "score") == pytest.approx(expected, rel=1e-5)
    source = graph.execute("MATCH (n:N {id: 1}) RETURN n").scalar()
    found = graph.algo.edge_program(Distances(source), **selection)
    expected = {row.nodeId: row.distance for row in graph.algo.bfs(source_node=source, **selection)}
    assert {id: d for id, d in by_id(found, "distance").items() if d < np.inf} == expected
    found = graph.algo.edge_program(Distances(source.id), weight="cost", **selection)
    settings = {"source_node": source, "weight_property": "cost", **selection}
    expected = {row.nodeId: row.cost for row in graph.algo.sssp(**settings)}
    finite = lambda pairs: {id: d for id, d in pairs.items() if d < np.inf}
    assert finite(by_id(found, "distance")) == pytest.approx(finite(expected))
    if selection.get("direction") == "BOTH":
        found = by_id(graph.algo.edge_program(Components(), **selection), "component")
        expected = {row.nodeId: row.component for row in graph.algo.wcc(types=["R", "S"])}
        pairs = {(found[id], expected[id]) for id in expected}
        assert len(pairs) == len(set(found.values())) == len(set(expected.values()))


def edges_of(batches):
    return sorted((s, t, n) for edges in batches for s, t, n in zip(edges.sources.tolist(), edges.targets.tolist(), edges["n"].tolist()))


def test_batches_are_the_edges(graph):
    rows = graph.execute("MATCH (a:N)-[r:R]->(b:N) RETURN id(a), id(b), r.n").fetchall()
    with graph.edges(labels="N", types="R", properties=["n"]) as stream:
        number = {id: at for at, id in enumerate(stream.ids.tolist())}
        expected = sorted((number[a], number[b], n) for a, b, n in rows)
        assert stream.node_count == NODES and edges_of(stream) == expected
        assert np.array_equal(stream.degrees, np.bincount([s for s, _, _ in expected], minlength=NODES))
        mask = np.zeros(NODES, dtype=bool)
        mask[[3, 700, 2999]] = True
        assert edges_of(stream.edges_of(mask)) == [edge for edge in expected if mask[edge[0]]]
        # Passes are the same, also one that follows one that was left.
        first = [(len(edges), int(edges.sources.sum())) for edges in stream]
        next(iter(stream))
        assert len(first) > 1 and [(len(edges), int(edges.sources.sum())) for edges in stream] == first
        # Writes made meanwhile are not seen.
        graph.execute("MATCH (n:N {id: 2}) CREATE (n)-[:R {n: 2, cost: 1.0}]->(n)")
        assert len(edges_of(stream)) == len(expected)
        with graph.edges(labels="N", types="R") as later:
            assert sum(map(len, later)) == len(expected) + 1
    graph.execute("MATCH (n:N {id: 2})-[r:R {n: 2}]->(n) WITH r LIMIT 1 DELETE r")


def test_directions_and_kinds_of_properties(db):
    db.execute(
        "CREATE (a {name: 'a'})-[:R {w: 1, t: 'x', f: 0.5, y: true}]->(b {name: 'b'})-[:R {w: 2, t: 'y', y: false}]->(b), (b)-[:R {t: 'z', f: 1, y: true}]->(a)"
    )
    both = []
    with db.edges(direction="BOTH", properties=["w", "t", "f", "y"]) as stream:
        for edges in stream:
            assert (edges["w"].dtype, edges["t"].dtype, edges["f"].dtype, edges["y"].dtype) == (np.float64, object, np.float64, bool)
            both += zip(edges.sources.tolist(), edges.targets.tolist(), edges["t"])
        assert sorted(both) == [(0, 1, "x"), (0, 1, "z"), (1, 0, "x"), (1, 0, "z"), (1, 1, "y")]
        some = [pair for edges in stream.edges_of([False, True]) for pair in zip(edges.sources.tolist(), edges.targets.tolist(), edges["t"])]
        assert sorted(some) == [edge for edge in sorted(both) if edge[0] == 1]
        with pytest.raises(knotwork.Error, match="a bit for each of 2 nodes"):
            next(stream.edges_of([True] * 200))
        with pytest.raises(ValueError):
            edges.sources[0] = 5
    into = [pair for edges in db.edges(direction="IN", properties=["t"]) for pair in zip(edges.sources.tolist(), edges.targets.tolist(), edges["t"])]
    assert sorted(into) == [(0, 1, "z"), (1, 0, "x"), (1, 1, "y")]
    with db.edges(weight="w", default_weight=7, properties=["f"]) as stream:
        assert [sorted(edges.weights.tolist()) for edges in stream] == [[1, 2, 7]]
    with pytest.raises(knotwork.Error, match="has no property 'w' to take its weight from"):
        list(db.edges(weight="w"))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u8", "u4", "i2", "?", ">f8"])
def test_numbers_are_combined_as_numpy_does(graph, dtype):
    random = np.random.default_rng(3)
    start = random.integers(0, 100, NODES + 51).astype(dtype)
    for name in ("add", "minimum", "maximum"):
        found, expected = start.copy(), start.copy()
        for edges in graph.edges():
            values = random.integers(0, 3, len(edges)).astype(dtype)
            getattr(edges, name)(found, values)
            getattr(np, name).at(expected, edges.targets, values)
        assert np.array_equal(found, expected), name
    for edges in graph.edges():
        wide = np.zeros((NODES + 51, 2))
        edges.add(wide, np.ones((len(edges), 2)))
        count = np.zeros(NODES + 51)
        edges.add(count, 1)
        assert np.array_equal(wide[:, 0], count) and count.sum() == len(edges)
        with pytest.raises((knotwork.Error, IndexError)):
            edges.add(np.zeros(3), 1.0)
        fixed = np.zeros(NODES + 51)
        fixed.flags.writeable = False
        with pytest.raises(ValueError):
            edges.add(fixed, 1.0)
        held = np.full(NODES + 51, np.nan)
        edges.minimum(held, 1.0)
        assert np.isnan(held).all()


def test_results_are_tables_and_written(db):
    db.execute("CREATE (a:N {name: 'a'})-[:R]->(:N {name: 'b'})-[:R]->(:N {name: 'c'}), (:N {name: 'd'})")
    found = db.algo.edge_program(Components(), direction="BOTH", key="name", write_property="part", progress=lambda done, total: None)
    assert found.to_dict() == {"name": ["a", "b", "c", "d"], "component": [0, 0, 0, 3]}
    assert found.to_arrow().num_rows == len(found.to_pandas()) == len(found.to_polars()) == len(found) == 4
    assert "4 nodes" in repr(found) and found.edges > 0
    assert db.execute("MATCH (n:N) RETURN n.part ORDER BY n.name").get_all() == [[0], [0], [0], [3]]
    assert "edge_program" in dir(db.algo)


def test_what_goes_wrong_is_told(db, graph):
    with pytest.raises(TypeError, match="update_nodes is missing"):
        db.algo.edge_program(type("Half", (), {"should_iterate": print, "process_edges": print})())
    with pytest.raises(knotwork.Error, match="no label 'Nothing'"):
        db.algo.edge_program(Components(), labels="Nothing")
    with pytest.raises(knotwork.Error, match="expected 'OUT', 'IN' or 'BOTH'"):
        db.edges(direction="UP")
    with pytest.raises(knotwork.ResourceLimitError, match="a pass over edges"):
        graph.algo.edge_program(Components(), memory_limit=1 << 16)
    with pytest.raises(knotwork.TimeoutError):
        graph.algo.edge_program(PageRank(10**9), timeout=0.5)

    class Failing(Components):
        def process_edges(self, edges):
            raise ZeroDivisionError("of the program")

    with pytest.raises(ZeroDivisionError, match="of the program"):
        graph.algo.edge_program(Failing())
    other = knotwork.connect()
    other.execute("UNWIND range(1, 100) AS i CREATE (:A)-[:B]->(:C)")
    stream = other.edges()
    next(iter(stream))
    other.close()
    with pytest.raises(knotwork.Error):
        [list(stream) for _ in range(3)]
    # The database goes on, and a program may use it while it runs.
    class Asking(Components):
        def update_nodes(self, nodes):
            assert graph.execute("MATCH (n:N {id: 1}) RETURN count(n)").scalar() == 1
            return super().update_nodes(nodes)

    assert graph.algo.edge_program(Asking(), direction="BOTH").iterations > 0


def test_control_c_ends_a_program(path):
    script = textwrap.dedent(
        """
        import sys, knotwork
        db = knotwork.connect(sys.argv[1])
        db.execute("UNWIND range(1, 1000) AS i CREATE (:A)-[:B]->(:C)")
        class Endless(knotwork.EdgeProgram):
            def should_iterate(self, iteration, changed): return True
            def process_edges(self, edges): pass
            def update_nodes(self, nodes): pass
        print("ready", flush=True)
        try:
            db.algo.edge_program(Endless())
        except KeyboardInterrupt:
            print(db.execute("MATCH (n) RETURN count(n)").scalar())
        db.close()
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out == "2000\n" and process.returncode == 0


def test_a_pass_ends_when_another_begins(db):
    db.execute("UNWIND range(1, 300000) AS i CREATE (:N)-[:R]->(:N)")
    with db.edges() as graph:
        first = iter(graph)
        seen = len(next(first))
        assert 0 < seen < 300_000
        assert sum(map(len, graph)) == 300_000
        with pytest.raises(knotwork.ClosedError, match="another one began"):
            next(first)
        # So does one within the other.
        with pytest.raises(knotwork.ClosedError, match="another one began"):
            for _ in graph:
                assert sum(map(len, graph)) == 300_000
        assert sum(map(len, graph)) == 300_000
        with db.edges() as other:
            assert sum(len(edges) for edges in graph for _ in [sum(map(len, other))]) == 300_000


def test_ids_and_degrees_are_told_during_a_pass(db):
    db.execute("UNWIND range(1, 300000) AS i CREATE (:N)-[:R]->(:N)")
    with db.edges() as graph:
        seen = 0
        for place, edges in enumerate(graph):
            seen += len(edges)
            if place == 0:
                assert len(graph.ids) == 600_000 and graph.degrees.sum() == 300_000
                assert graph.number(graph.ids[7]) == 7
        assert seen == 300_000


def test_a_program_that_reads_the_edges_within_a_batch_is_told_so(db):
    db.execute("UNWIND range(1, 300000) AS i CREATE (:N)-[:R]->(:N)")

    class Nested(knotwork.EdgeProgram):
        def start(self, graph):
            self.graph = graph

        def should_iterate(self, iteration, changed):
            return iteration < 1

        def process_edges(self, edges):
            sum(map(len, self.graph))

        def update_nodes(self, nodes):
            return False

    with pytest.raises(knotwork.ClosedError, match="another one began"):
        db.algo.edge_program(Nested())
