"""Output of notebooks, the examples of the documentation, and the notebook of the examples."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest

import knotwork

ROOT = pathlib.Path(__file__).parents[2]


def test_a_result_is_a_table_and_stays_to_be_read(db):
    result = db.execute("UNWIND range(1, 100) AS i RETURN i, '<b>' + i AS text")
    page = result._repr_html_()
    assert page.count("<tr>") == 21 and "&lt;b&gt;1" in page and "more follow" in page
    assert len(result.fetchall()) == 100
    page = db.execute("RETURN 1 AS one")._repr_html_()
    assert "more follow" not in page and "<th" in page and ">one</th>" in page


def test_a_small_graph_is_a_picture(db):
    db.execute("CREATE (:P {name: 'Ann'})-[:KNOWS {since: 1}]->(:Q {name: 'Bo<b'})")
    page = db.execute("MATCH p = ()-[]->() RETURN p")._repr_html_()
    assert "<svg" in page and page.count("<circle") == 2 and page.count("<line") == 1 and "Bo&lt;b" in page
    # Nothing is fetched.
    assert not re.search(r"(src|href)=.?https?:|@import|url\(http", page)
    assert "<svg" not in db.execute("MATCH (p) RETURN p")._repr_html_()


def test_plans_are_trees(db):
    db.execute("CREATE (:P {name: 'Ann'})")
    page = db.execute("EXPLAIN MATCH (p:P) WHERE p.name = 'x' RETURN p ORDER BY p.name")._repr_html_()
    assert "<details" in page and "expected" in page
    page = db.execute("PROFILE MATCH (p:P) RETURN p.name")._repr_html_()
    assert " ms" in page and "rows 1" in page
    page = db.execute("CREATE (:P)")._repr_html_()
    assert "1 nodes created" in page


def test_errors_show_the_caret_only(db):
    with pytest.raises(knotwork.QuerySyntaxError) as caught:
        db.execute("MATCH (n) RETRUN n")
    shown = caught.value._render_traceback_()
    assert shown[0].startswith("QuerySyntaxError: SYNTAX") and "^" in shown[0]


def modules():
    yield knotwork
    for found in pkgutil.walk_packages(knotwork.__path__, "knotwork."):
        if "networkx_backend" not in found.name:
            yield importlib.import_module(found.name)


@pytest.mark.parametrize("module", list(modules()), ids=lambda module: module.__name__)
def test_docstrings(module):
    module.__dict__.setdefault("knotwork", knotwork)
    failed, _ = doctest.testmod(module, extraglobs={"knotwork": knotwork}, optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_docstrings_of_the_engine_part():
    native = importlib.import_module("knotwork._knotwork")
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for name in ("Duration", "Record", "Result", "Node", "Edge", "Path"):
        text = getattr(native, name).__doc__
        assert text
        test = doctest.DocTestParser().get_doctest(text, {"knotwork": knotwork}, name, None, 0)
        runner.run(test)
    assert finder and runner.failures == 0


def test_everything_public_says_what_it_is():
    for name in knotwork.__all__:
        if not name.startswith("__"):
            thing = getattr(knotwork, name)
            assert thing.__doc__, name
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_") and callable(value):
                    assert value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_examples_of_the_documents_run(page, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for number, block in enumerate(blocks):
        # Those about NetworkX change what it does from then on, and have tests of their own.
        if block.startswith("# Not run here") or "backend" in block:
            continue
        exec(compile(block.replace("tests/", f"{ROOT}/tests/"), f"{page}[{number}]", "exec"), namespace)


def test_a_script_of_ladybug_needs_another_import_only(tmp_path, monkeypatch):
    (script,) = re.findall(r"^```python\n(import knotwork as ladybug.*?)^```", (ROOT / "docs/python.md").read_text(), re.M | re.S)
    changed = script.replace("import knotwork as ladybug", "import ladybug")
    assert "knotwork" not in changed
    found = {}
    for name, text in [("knotwork", script), ("ladybug", changed)]:
        if name == "ladybug":
            pytest.importorskip("ladybug")
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        names = {}
        exec(compile(text, f"docs/python.md in {name}", "exec"), names)
        found[name] = (list(names["frame"].columns), names["frame"].values.tolist())
    assert found["knotwork"] == found["ladybug"]


def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    paths = sorted((ROOT / "examples").glob("*.ipynb"))
    assert paths
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(ROOT / "examples")}}).execute()
        shown = [data for cell in notebook.cells for out in cell.get("outputs", []) for data in out.get("data", {})]
        assert "text/html" in shown
