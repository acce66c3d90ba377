"""Algorithms as functions, and progress."""

import inspect
import io
import pydoc
import time

import networkx
import pytest

import knotwork
from knotwork._progress import Bar


@pytest.fixture
def karate(db):
    graph = networkx.karate_club_graph()
    db.load_nodes(graph, label="Member")
    db.load_edges(graph, type="MET", source=("Member", "id"))
    return db, graph


def test_pagerank_is_that_of_networkx(karate):
    db, graph = karate
    expected = networkx.pagerank(graph, weight=None, tol=1e-10)
    frame = db.algo.pagerank(direction="BOTH", max_iterations=100, tolerance=1e-10, key="id").to_pandas()
    total = frame["score"].sum()
    for id, score in zip(frame["id"], frame["score"]):
        assert abs(score / total - expected[id]) < 1e-6


def test_components_and_modes(karate):
    db, _ = karate
    result = db.algo.wcc()
    assert result.columns == ("nodeId", "component")
    assert {row.component for row in result} == {0}
    written = db.algo.wcc(write_property="part").fetchone()
    assert written["nodePropertiesWritten"] == 34 and written["componentCount"] == 1
    assert db.execute("MATCH (m:Member) RETURN count(DISTINCT m.part)").scalar() == 1
    assert db.algo.wcc(mode="stats").fetchone()["componentCount"] == 1
    assert "requiredMemory" in db.algo.wcc(mode="estimate").columns
    with pytest.raises(ValueError, match="modes"):
        db.algo.wcc(mode="dance")


def test_nodes_as_settings_and_paths(karate):
    db, graph = karate
    source, target = (db.execute("MATCH (m:Member {id: $id}) RETURN m", id=id).scalar() for id in (16, 26))
    path = db.algo.shortest_path(source_node=source, target_node=target, direction="BOTH").fetchone()["path"]
    assert len(path) == networkx.shortest_path_length(graph, 16, 26)
    distances = {row.id: row.distance for row in db.algo.bfs(sourceNode=source, direction="BOTH", key="id")}
    assert distances == networkx.single_source_shortest_path_length(graph, 16)


def test_names(db):
    assert {"pagerank", "wcc", "louvain", "triangle_count", "betweenness", "shortest_path"} <= set(dir(db.algo))
    assert db.algo.triangleCount is db.algo.triangle_count
    assert "PageRank" in db.algo.pagerank.__doc__ or "rank" in db.algo.pagerank.__doc__.lower()
    assert "stream" in repr(db.algo.pagerank) and "stats.estimate" in repr(db.algo.pagerank)
    assert not [name for name in dir(db.algo) if name.endswith("_stats")]
    assert "requiredMemory" in db.algo.pagerank(mode="stats.estimate").columns
    with pytest.raises(AttributeError, match="there is no algorithm 'nothing'"):
        db.algo.nothing
    for algorithm in db.algo:
        assert algorithm.__doc__


def test_settings_that_do_not_exist(db):
    db.execute("CREATE (:A)-[:B]->(:C)")
    with pytest.raises(knotwork.Error, match="nonsense"):
        db.algo.pagerank(nonsense=1).fetchall()


def test_every_algorithm_without_needs_runs(karate):
    db, _ = karate
    ran = 0
    for algorithm in db.algo:
        try:
            algorithm().fetchall()
            ran += 1
        except knotwork.Error as error:
            # Those that need a source, a weight or a property say so.
            assert "need" in str(error) or "expected" in str(error) or "cycle" in str(error).lower(), (algorithm, error)
    assert ran >= 12


def test_the_bar():
    out = io.StringIO()
    out.isatty = lambda: True
    with Bar("rank", out) as bar:
        bar(5, 10)
        assert "rank:  50% |███████████████               | 5/10" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")
    assert bar.text(3, 0).startswith("rank: 3 steps")
    quiet = io.StringIO()
    with Bar("rank", quiet) as bar:
        bar(5, 10)
    assert quiet.getvalue() == ""


def test_iterations_without_bound_end_when_asked(db, run):
    db.execute("UNWIND range(1, 2000) AS i CREATE (:N {i: i, latitude: i / 100.0, longitude: 1.0})")
    db.execute("MATCH (a:N), (b:N {i: a.i + 1}) CREATE (a)-[:R]->(b)")
    without_bound = [{name: 2**63 - 1} for name in ("max_iterations", "max_levels", "max_expanded")] + [{"walks_per_node": 2**40}]
    needed = {"source_node": 0, "target_node": 1900, "community_property": "i"}
    called, stopped = set(), set()
    for name in set(dir(db.algo)) - {"edge_program"}:
        for settings in without_bound:
            for more in ({}, {"tolerance": 0.0}):
                settings = {**settings, **more}
                while True:
                    start = time.monotonic()
                    try:
                        getattr(db.algo, name)(**settings, timeout=0.2).close()
                    except knotwork.TimeoutError:
                        stopped.add(name)
                    except knotwork.DataError as error:
                        missing = [key for key in needed if f"'{key}' is missing" in str(error) and key not in settings]
                        if missing:
                            settings.update({key: needed[key] for key in missing})
                            continue
                        assert "has no setting" in str(error), error
                        break
                    assert time.monotonic() - start < 5, name
                    called.add(name)
                    break
    assert len(called) >= 10 and {"cdlp", "pagerank", "eigenvector", "hits", "leiden"} <= stopped, (called, stopped)
    run(
        """
        import os, signal, threading, time, knotwork
        db = knotwork.connect()
        db.execute("CREATE (a:N)-[:R]->(b:N), (b)-[:R]->(a)")
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        try:
            db.algo.cdlp(max_iterations=2**63 - 1)
            raise AssertionError("it ended")
        except KeyboardInterrupt:
            assert time.monotonic() - start < 5
        """
    )


def test_help_names_the_settings(db):
    ranks = db.algo.pagerank
    assert {"damping_factor", "max_iterations", "tolerance", "source_nodes", "weight_property", "labels"} <= set(ranks.settings)
    assert "Settings: labels, " in ranks.__doc__ and ranks.__doc__.startswith("Ranks nodes by how likely")
    shown = inspect.signature(ranks)
    assert {"mode", "key", "timeout", "damping_factor", "settings"} <= set(shown.parameters)
    assert "damping_factor" in pydoc.render_doc(ranks)
    for name in set(dir(db.algo)) - {"edge_program"}:
        assert inspect.signature(getattr(db.algo, name)).parameters["mode"].default is None
