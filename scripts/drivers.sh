#!/usr/bin/env bash
# Sessions of Neo4j's own Python driver against `knot serve` on this machine. The driver and pytest are installed into an
# environment below .cache. Ends with 77 if there is no Python, or the driver cannot be had.
#
#   scripts/drivers.sh                 all tests, with target/debug/knot, which is built if it is missing
#   scripts/drivers.sh -k values       the same, with arguments for pytest
#   KNOT=target/release/knot scripts/drivers.sh      with another binary
#   SERVER_KILLS=200 scripts/drivers.sh -k kills     many kills
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
    tools+=("langchain-neo4j>=0.5,<1" "neo4j-graphrag>=1.7,<2")
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
exec "$python" -m pytest -p no:cacheprovider --timeout 120 -q -rs tests/drivers "$@"
