#!/usr/bin/env bash
# Sessions of Neo4j's own drivers for Python, JavaScript, Go and Java against `knot serve` on this machine. The driver for Python and
# pytest are installed into an environment below .cache; for HTTP, into another, since it needs a newer driver than neomodel allows.
# Ends with 77 if there is no Python, or the driver cannot be had. Sessions over HTTP are skipped, aloud, if only the newer one cannot
# be had; those of another language, if its tools (Node with npm; Go; a JDK with Maven) are not installed, or its packages do not come
# within a minute.
#
#   scripts/drivers.sh                 all tests, with target/debug/knot, which is built if it is missing
#   scripts/drivers.sh -k values       the same, with arguments for pytest
#   KNOT=target/release/knot scripts/drivers.sh      with another binary
#   SERVER_KILLS=200 scripts/drivers.sh -k kills     many kills
#   SERVER_CONNECTIONS=9900 scripts/drivers.sh -k slow  many clients, a tenth of which does not read
#   DRIVERS=all scripts/drivers.sh -k other_drivers  other languages, whose packages may take ten minutes each
#   TOOLS=1 scripts/drivers.sh -k tools              sessions of large tools too (400 MB of packages)
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/drivers
interpreter=${PYTHON:-$(command -v python3 || true)}
skip() {
    echo "drivers: SKIPPED: $1" >&2
    exit 77
}
if [ -z "$interpreter" ] || ! "$interpreter" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    skip "Python 3.10 or newer with venv is not installed (on Debian: apt install python3-venv)"
fi
tools=("neo4j>=5.28,<7" pytest pytest-timeout "neomodel>=5.4,<8")
if [ -n "${TOOLS:-}" ]; then
    tools+=("langchain-neo4j>=0.5,<1" "neo4j-graphrag>=1.7,<2" "llama-index-graph-stores-neo4j>=0.8,<1")
fi
python=$cache/env/bin/python
stamp=$cache/tools
if ! [ -x "$python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "${tools[*]}" ]; then
    mkdir -p "$cache"
    "$interpreter" -m venv --clear "$cache/env"
    "$python" -m pip install --quiet --disable-pip-version-check "${tools[@]}" || skip "pip cannot install ${tools[*]}"
    echo "${tools[*]}" >"$stamp"
fi
if [ -z "${KNOT:-}" ]; then
    KNOT=$PWD/target/debug/knot
    [ -x "$KNOT" ] || cargo build --package knotwork-cli --all-features
fi
export KNOT
newer=$cache/http/bin/python
http=("neo4j[http]>=6.4,<7" pytest pytest-timeout)
if ! [ -x "$newer" ] || [ "$(cat "$stamp.http" 2>/dev/null)" != "${http[*]}" ]; then
    "$interpreter" -m venv --clear "$cache/http"
    if "$newer" -m pip install --quiet --disable-pip-version-check "${http[@]}"; then
        echo "${http[*]}" >"$stamp.http"
    else
        echo "drivers: SKIPPED over HTTP: pip cannot install ${http[*]}" | tee -a "${KNOTWORK_SKIPPED:-/dev/null}" >&2
        rm -f "$stamp.http"
    fi
fi
# Without the newer driver, the tests of HTTP skip what needs it, and say so.
run=(-m pytest -p no:cacheprovider --timeout 120 -q -rs)
if ! [ -f "$stamp.http" ]; then
    exec "$python" "${run[@]}" tests/drivers "$@"
fi
# Pytest ends with 5 where the arguments select no test, as they may in one of the two.
first=0 second=0
"$python" "${run[@]}" tests/drivers --ignore tests/drivers/test_http.py "$@" || first=$?
"$newer" "${run[@]}" tests/drivers/test_http.py "$@" || second=$?
if [ "$first" = 0 ] && [ "$second" != 5 ] || [ "$first" = 5 ]; then
    exit "$second"
fi
exit "$first"
