#!/usr/bin/env bash
# Tests that others have written for Neo4j, run against `knot serve` on this machine. They are fetched into .cache/compat, and are no
# part of this repository. Each suite has a server and a store of its own, on a free port, in a temporary folder. What cannot be had is
# skipped, aloud. Ends with the number of suites that have failures which scripts/compat.txt does not name with their reasons.
#
#   scripts/compat.sh                      all suites, with target/debug/knot
#   scripts/compat.sh go testkit           some of them: opencypher, go, python, testkit, shell
#   KNOT=target/release/knot scripts/compat.sh
#   TESTKIT=FOLDER PYTHON_DRIVER=FOLDER    checkouts of neo4j-drivers/testkit and neo4j/neo4j-python-driver to use
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
cache=$root/.cache/compat
KNOT=$(realpath "${KNOT:-target/debug/knot}")
[ -x "$KNOT" ] || { echo "compat: $KNOT is not there; build it with cargo build -p knotwork-cli --all-features" >&2; exit 2; }
mkdir -p "$cache"
work=$(mktemp -d)
server=
stop_server() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    server=
}
trap 'stop_server; rm -rf "$work"' EXIT
password=testing-password

# Starts a server on a new store; sets `port`.
start_server() {
    stop_server
    local folder
    folder=$(mktemp -d "$work/XXXXXX")
    echo "$password" | "$KNOT" serve "$folder/graph.knot" --set-password 2>/dev/null
    mkdir "$folder/files"
    "$KNOT" serve "$folder/graph.knot" --listen 127.0.0.1:0 --databases "$folder/databases" --files "$folder/files" \
        2>"$folder/log" &
    server=$!
    port=
    for _ in $(seq 200); do
        port=$(sed -n 's|^listening on bolt://127.0.0.1:\([0-9]*\)$|\1|p' "$folder/log")
        [ -z "$port" ] || return 0
        sleep 0.1
    done
    echo "compat: the server does not start:" >&2
    cat "$folder/log" >&2
    exit 2
}

# An environment of Python with these packages, made once. Prints its interpreter.
environment() {
    local name=$1 folder=$cache/$1
    shift
    if ! [ -x "$folder/bin/python" ] || [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ]; then
        python3 -m venv --clear "$folder"
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2 || return 1
        echo "$*" >"$folder/packages"
    fi
    echo "$folder/bin/python"
}

# A checkout: the folder that is given, or one that is fetched. Prints it.
checkout() {
    local given=$1 repository=$2 folder=$cache/${2##*/}
    if [ -n "$given" ]; then
        rm -rf "$work/${repository##*/}"
        cp -r "$given" "$work/${repository##*/}"
        echo "$work/${repository##*/}"
        return
    fi
    [ -d "$folder" ] || git clone --quiet --depth 1 "https://github.com/$repository" "$folder" >&2 || return 1
    echo "$folder"
}

skip() {
    echo "compat: SKIPPED $1" >&2
    return 0
}

# The names of failures that are known, of a suite.
known() {
    sed -n "s/^$1 \([^ ]*\) .*/\1/p" scripts/compat.txt
}

# Says how a suite ended: names of failures stand in a file, a line each. Fails if one of them is not known.
conclude() {
    local suite=$1 run=$2 failed=$3 new
    sort -u -o "$failed" "$failed"
    new=$(comm -23 "$failed" <(known "$suite" | sort -u))
    echo "compat: $suite: $run ran, $(wc -l <"$failed") failed, $(grep -c . <<<"$new" || true) of them not known"
    [ "${run:-0}" -gt 0 ] || { echo "compat: $suite: no test ran" >&2; return 1; }
    [ -z "$new" ] || { sed "s/^/    /" <<<"$new"; return 1; }
}

opencypher() {
    local python
    python=$(environment opencypher "opencypher-compliance==1.0.1" "neo4j>=5.28,<6") || { skip "opencypher: pip cannot install it"; return; }
    start_server
    "${python%python}opencypher-compliance" run -a bolt --host 127.0.0.1 --port "$port" -u neo4j -p "$password" \
        --timeout 30 -f json -o "$work/opencypher" >"$work/opencypher.log" 2>&1 || true
    "$python" - "$work/opencypher" "$work/failed" <<'PYTHON'
import json, pathlib, sys
tests = [t for f in pathlib.Path(sys.argv[1]).rglob("*.json") for t in json.loads(f.read_text()).get("results", [])]
failed = [t for t in tests if t["result"] != "pass"]
pathlib.Path(sys.argv[2]).write_text("".join(t["element"].replace(" ", "_") + "\n" for t in failed))
print(len(tests), file=open(sys.argv[1] + ".count", "w"))
PYTHON
    conclude opencypher "$(cat "$work/opencypher.count")" "$work/failed"
}

go_driver() {
    command -v go >/dev/null || { skip "go: Go is not installed"; return; }
    local module=github.com/neo4j/neo4j-go-driver/v5 version=v5.28.4 folder
    mkdir -p "$cache/go"
    (cd "$cache/go" && printf 'module compat\n\ngo 1.21\n' >go.mod && go mod download "$module@$version") >&2 || { skip "go: the module cannot be had"; return; }
    folder=$(go env GOMODCACHE)/$module@$version
    start_server
    # A test that fails ends all others with it: those whose failure is known are left out.
    (cd "$folder" && TEST_NEO4J_HOST=127.0.0.1 TEST_NEO4J_PORT=$port TEST_NEO4J_USER=neo4j TEST_NEO4J_PASS=$password \
        TEST_NEO4J_SCHEME=neo4j TEST_NEO4J_VERSION=5.26 go test -count=1 -timeout 600s -json -skip "$(cd "$root" && known go | sed 's/+/[+]/g' | paste -sd '|')" ./neo4j/test-integration/) \
        >"$work/go.json" 2>"$work/go.log" || true
    python3 - "$work/go.json" "$work/failed" >"$work/go.count" <<'PYTHON'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
done = {e["Test"]: e["Action"] for e in events if e.get("Test") and e["Action"] in ("pass", "fail")}
leaves = {t: a for t, a in done.items() if not any(o.startswith(t + "/") for o in done)}
open(sys.argv[2], "w").writelines(t + "\n" for t, a in leaves.items() if a == "fail")
print(len(leaves))
PYTHON
    conclude go "$(cat "$work/go.count")" "$work/failed"
}

# The driver for Python, of a checkout, with what its tests need. Sets `driver` and `python`.
python_driver() {
    driver=$(checkout "${PYTHON_DRIVER:-}" neo4j/neo4j-python-driver) || { skip "$1: the driver for Python cannot be fetched"; return 1; }
    python=$(environment python pytz "ifaddr==0.1.7" "lark==1.0.0" "nose==1.3.7" "freezegun>=1.5.1" "pytest<9" "pytest-asyncio<1" \
        pytest-mock pytest-timeout mock numpy pandas pyarrow) || { skip "$1: pip cannot install what it needs"; return 1; }
}

python_tests() {
    python_driver python || return 0
    start_server
    (cd "$driver" && PYTHONPATH=src TEST_NEO4J_HOST=127.0.0.1 TEST_NEO4J_PORT=$port TEST_NEO4J_USER=neo4j TEST_NEO4J_PASS=$password \
        TEST_NEO4J_SCHEME=bolt TEST_NEO4J_VERSION=5.26 TEST_NEO4J_EDITION=community "$python" -m pytest -p no:cacheprovider --timeout 120 -q -rA tests/integration) \
        >"$work/python.log" 2>&1 || true
    grep -E '^(FAILED|ERROR) ' "$work/python.log" | sed -E 's/^[A-Z]+ ([^ ]*).*/\1/' >"$work/failed" || true
    conclude python "$(grep -cE '^(PASSED|FAILED|ERROR) ' "$work/python.log")" "$work/failed"
}

testkit() {
    local kit backend backend_port
    kit=$(checkout "${TESTKIT:-}" neo4j-drivers/testkit) || { skip "testkit: it cannot be fetched"; return 0; }
    python_driver testkit || return 0
    start_server
    backend_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    # It listens for everybody otherwise.
    sed "s/(\"0.0.0.0\", 9876)/(\"127.0.0.1\", $backend_port)/" "$driver/testkitbackend/__main__.py" >"$driver/testkitbackend/here.py"
    (cd "$driver" && PYTHONPATH=src exec "$python" -W ignore -m testkitbackend.here) >"$work/backend.log" 2>&1 &
    backend=$!
    sleep 3
    (cd "$kit" && TEST_DRIVER_NAME=python TEST_BACKEND_HOST=127.0.0.1 TEST_BACKEND_PORT=$backend_port TEST_NEO4J_HOST=127.0.0.1 \
        TEST_NEO4J_PORT=$port TEST_NEO4J_USER=neo4j TEST_NEO4J_PASS=$password TEST_NEO4J_SCHEME=${SCHEME:-bolt} TEST_NEO4J_VERSION=5.26 \
        TEST_NEO4J_EDITION=community "$python" -W ignore -m unittest discover -v -s tests/neo4j -t . -p 'test_*.py') \
        >"$work/testkit.log" 2>&1 || true
    kill "$backend" 2>/dev/null || true
    grep -E '^(FAIL|ERROR): ' "$work/testkit.log" | sed -E 's/^[A-Z]+: ([^ ]*) \(([^)]*)\).*/\2/' >"$work/failed" || true
    conclude testkit "$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$work/testkit.log")" "$work/failed"
}

# Statements through Neo4j's own shell, from Maven.
cypher_shell() {
    command -v mvn >/dev/null && command -v java >/dev/null || { skip "shell: Java and Maven are not installed"; return 0; }
    local folder=$cache/cypher-shell classes
    if ! [ -f "$folder/classes" ]; then
        mkdir -p "$folder"
        cat >"$folder/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>compat</groupId><artifactId>compat</artifactId><version>1</version>
<dependencies><dependency><groupId>org.neo4j</groupId><artifactId>cypher-shell</artifactId><version>5.26.0</version></dependency></dependencies>
</project>
XML
        (cd "$folder" && mvn -q dependency:build-classpath -Dmdep.outputFile=classes.new && mv classes.new classes) >"$work/mvn.log" 2>&1 ||
            { skip "shell: Maven cannot fetch it"; return 0; }
    fi
    classes=$(cat "$folder/classes")
    start_server
    ask() { java -cp "$classes" org.neo4j.shell.Main -a "$1://127.0.0.1:$port" -u neo4j -p "$password" --format plain "${@:3}" "$2"; }
    : >"$work/failed"
    local ran=0
    check() {
        ran=$((ran + 1))
        local found
        found=$(ask "${@:3}" 2>&1 | tr '\n' '|') || true
        [ "$found" = "$2" ] || { echo "$1" >>"$work/failed"; echo "    $1: expected $2, found $found" >&2; }
    }
    for scheme in bolt neo4j; do
        check "$scheme-number" 'x|1|' $scheme 'RETURN 1 AS x;'
        check "$scheme-create" '' $scheme 'CREATE (:A {n: 1})-[:R {w: 1.5}]->(:B);'
        check "$scheme-node" 'a|(:A {n: 1})|' $scheme "MATCH (a:A) RETURN a LIMIT 1;"
        check "$scheme-path" 'p|(:A {n: 1})-[:R {w: 1.5}]->(:B)|' $scheme 'MATCH p = (:A)-->(:B) RETURN p LIMIT 1;'
        check "$scheme-parameter" 'x|"ä"|' $scheme 'RETURN $p AS x;' -P '{p: "ä"}'
        check "$scheme-types" 'd, t, l|2026-01-02, P1M2DT3S, [1, 2.5, NULL]|' $scheme "RETURN date('2026-01-02') AS d, duration('P1M2DT3S') AS t, [1, 2.5, null] AS l;"
        check "$scheme-delete" '' $scheme 'MATCH (n) DETACH DELETE n;'
    done
    conclude shell "$ran" "$work/failed"
}

suites=("${@:-}")
[ -n "${suites[0]}" ] || suites=(opencypher go python testkit shell)
bad=0
for suite in "${suites[@]}"; do
    case $suite in
        go) go_driver ;;
        python) python_tests ;;
        shell) cypher_shell ;;
        opencypher | testkit) "$suite" ;;
        *) echo "compat: there is no suite $suite" >&2; exit 2 ;;
    esac || bad=$((bad + 1))
    [ -z "${KEEP:-}" ] || cp "$work"/*.log "$work"/*.json "$KEEP" 2>/dev/null || true
done
exit "$bad"
