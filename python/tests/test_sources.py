"""Other data as a part of the graph, attached by definition."""

import pytest

import knotwork


def test_files_by_a_definition(db, tmp_path):
    (tmp_path / "airports.csv").write_text("iata,name,lat\nOSL,Oslo,60.2\nARN,Stockholm,59.7\n")
    (tmp_path / "flights.csv").write_text("origin,destination,delay\nOSL,ARN,5\nARN,OSL,7\n")
    definition = {
        "url": f"file:{tmp_path}",
        "nodes": {"Airport": {"file": "airports.csv", "key": "iata", "properties": ["name", {"name": "lat", "type": "FLOAT"}]}},
        "edges": {"FLIGHT": {"file": "flights.csv", "source": "Airport(origin)", "target": "Airport(destination)", "properties": ["delay"]}},
    }
    made = db.attach(definition, "air").fetchone()
    assert made["name"] == "air" and made["labels"] == ["Airport"]
    assert db.execute("MATCH (a:Airport) RETURN count(a)").scalar() == 2
    assert db.execute("MATCH (a:Airport) RETURN a.name AS name ORDER BY name").to_arrow().column("name").to_pylist() == ["Oslo", "Stockholm"]
    assert "air" in str(db.sources().to_dicts())
    db.detach("air")
    assert db.execute("MATCH (a:Airport) RETURN count(a)").scalar() == 0
    with pytest.raises(knotwork.Error):
        db.detach("air")


def test_what_cannot_be_attached(db):
    with pytest.raises(knotwork.Error):
        db.attach("nothing://here", "x")
    with pytest.raises(knotwork.Error):
        db.attach({"nodes": 1}, "x")
