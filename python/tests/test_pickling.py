"""Values of results go to other processes, and are copied."""

import copy
import pickle

import knotwork

TEXT = """
    CREATE (a:Person:Boss {name: 'Ann', born: date('1980-01-02'), tags: ['x', 'y']})-[k:KNOWS {since: 2019, span: duration('P1M')}]->
           (b:Person {name: 'Bob'})
    WITH a, b, k MATCH p = (a)-[*]->(b) RETURN a, k, p, [a, {b: b}] AS nested, 1 AS one
"""


def copies(thing):
    return [copy.copy(thing), copy.deepcopy(thing)] + [
        pickle.loads(pickle.dumps(thing, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    ]


def test_entities_and_records_are_copied_whole(db):
    record = db.execute(TEXT).fetchone()
    for found in copies(record):
        assert type(found) is knotwork.Record and found == record and found.keys() == record.keys()
        assert repr(found) == repr(record) and hash(found.a) == hash(record.a)
        assert found.a.labels == ("Person", "Boss") and found.a.properties == record.a.properties
        assert (found.k.type, found.k.source, found.k.target) == ("KNOWS", record.a.id, record.p.nodes[1].id)
        assert found.k.properties == {"since": 2019, "span": knotwork.Duration(months=1)}
        assert found.p == record.p and hash(found.p) == hash(record.p) and len(found.p) == 1
        assert found.p.nodes[1]["name"] == "Bob" and found.nested[1]["b"] == found.p.nodes[1]
        # A copy stands for the same node and relationship.
        assert db.execute("MATCH (n) WHERE n = $n RETURN n.name AS name", n=found.a).scalar() == "Ann"
    for part in record:
        assert all(found == part and type(found) is type(part) for found in copies(part))


def test_results_leave_a_worker_process(run):
    run(
        """
        import concurrent.futures, multiprocessing, knotwork

        def work(name):
            with knotwork.connect() as db:
                db.execute("CREATE (:Person {name: $name})-[:KNOWS]->(:Person)", name=name)
                return db.execute("MATCH p = (n:Person {name: $name})-->() RETURN n, p", name=name).fetchall()

        with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            for name, [record] in zip("ab", pool.map(work, "ab")):
                assert record.n["name"] == name and record.p.nodes[0] == record.n, record
        """
    )
