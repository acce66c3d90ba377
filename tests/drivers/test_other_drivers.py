"""Sessions of Neo4j's drivers for other languages: a program for each, which checks its cases and counts them.

A driver whose tools are not installed, or whose packages do not come within a minute, is skipped, aloud: DRIVERS=all
scripts/drivers.sh waits ten minutes for each. Packages and programs lie in .cache/drivers; nothing is written beside the sources.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

SOURCES = pathlib.Path(__file__).parent
CACHE = SOURCES.parent.parent / ".cache" / "drivers"
PATIENCE_SECONDS = 600 if os.environ.get("DRIVERS") == "all" else 60


def skip(language, reason):
    # The tests of the whole name at their end what was skipped.
    with open(os.environ.get("KNOTWORK_SKIPPED") or os.devnull, "a") as skipped:
        print(f"drivers: SKIPPED {language}: {reason}", file=skipped)
    pytest.skip(f"{language}: {reason}")


def need(language, *tools, oldest=0):
    """Tools that must be there, the first of them in a version that is not too old."""
    for tool in tools:
        if not shutil.which(tool):
            skip(language, f"{tool} is not installed")
    if oldest:
        _, said = run([tools[0], "--version"], 60)
        version = re.search(r"\d+", said)
        if not version or int(version[0]) < oldest:
            skip(language, f"{tools[0]} is older than {oldest}")


def run(command, seconds, **settings):
    """The exit code, None if it took too long, and what was said. Programs that it started end with it."""
    said = subprocess.PIPE
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, text=True, start_new_session=True, **settings
    )
    try:
        text = process.communicate(timeout=seconds)[0]
        return process.returncode, text
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0]


def fetch(language, folder, command, *files):
    """Packages of these files, once for each state of the files."""
    wanted = "".join((SOURCES / language / file).read_text() for file in files)
    stamp = folder / "fetched"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copy(SOURCES / language / file, folder)
    code, said = run(command, PATIENCE_SECONDS, cwd=folder)
    if code is None:
        skip(language, f"its packages did not come within {PATIENCE_SECONDS} s (DRIVERS=all waits longer)")
    if code != 0:
        skip(language, f"{' '.join(command[:2])} cannot fetch its packages: {' '.join(said.split())[-300:]}")
    stamp.write_text(wanted)


def javascript():
    need("javascript", "node", "npm", oldest=18)
    folder = CACHE / "javascript"
    fetch("javascript", folder, ["npm", "ci", "--no-audit", "--no-fund"], "package.json", "package-lock.json")
    # Packages are looked for from the place of the program on.
    program = shutil.copy(SOURCES / "javascript" / "sessions.js", folder)
    return ["node", program]


def go():
    need("go", "go")
    folder = CACHE / "go"
    fetch("go", folder, ["go", "mod", "download"], "go.mod", "go.sum")
    program = folder / "sessions"
    code, said = run(["go", "build", "-o", program, "."], 300, cwd=SOURCES / "go")
    assert code == 0, said
    return [program]


def java():
    need("java", "java", "javac", "mvn", oldest=17)
    folder = CACHE / "java"
    command = ["mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory=packages"]
    fetch("java", folder, command, "pom.xml")
    return ["java", "-cp", f"{folder}/packages/*", SOURCES / "java" / "Sessions.java"]


@pytest.mark.timeout(PATIENCE_SECONDS + 600)
@pytest.mark.parametrize("prepare, cases", [(javascript, 113), (go, 112), (java, 112)], ids=["javascript", "go", "java"])
def test_a_driver_of_another_language_works(serve, prepare, cases):
    command = prepare()
    server = serve()
    place = {"NEO4J_URI": f"bolt://127.0.0.1:{server.port}", "NEO4J_USERNAME": "neo4j", "NEO4J_PASSWORD": server.password()}
    code, said = run(command, 120, env={**os.environ, **place})
    assert code == 0, said
    assert said == f"{cases} cases\n"
    assert server.stop() == 0
