#!/usr/bin/env bash
# Formatting, lints, and every test of the workspace. Says what is missing on this machine, and installs what it can.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never

need() {
    command -v "$1" >/dev/null || { echo "test: $1 is missing; $2" >&2; exit 2; }
}
need cargo "install Rust from https://rustup.rs"
need cc "install a C compiler (on Debian: apt install build-essential); a compression library is built with it"

# Adds a component of the Rust toolchain if it is not there; fails if it cannot be had.
have_component() {
    local command=$1 component=$2
    cargo "$command" --version >/dev/null 2>&1 && return 0
    command -v rustup >/dev/null && rustup component add "$component" && return 0
    echo "test: SKIPPED cargo $command: $component is not installed, and rustup could not fetch it" >&2
    return 1
}

step() {
    echo "== $*"
    local start=$SECONDS
    "$@"
    echo "== took $((SECONDS - start)) s"
}

if have_component fmt rustfmt; then
    step cargo fmt --all --check
fi
# Clippy's driver is the compiler of our own crates, so that they are linted as they are compiled for the tests: a run of
# cargo clippy by itself would compile everything another time.
if have_component clippy clippy; then
    export RUSTC_WORKSPACE_WRAPPER=clippy-driver
    export CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
fi
# The tests say what is missing if it cannot be had.
step ./scripts/tck.sh || true
# Tests of attached databases start real servers. What cannot be had is skipped, and counted at the end.
KNOTWORK_SKIPPED=$(mktemp)
export KNOTWORK_SKIPPED
say_skipped() {
    local count
    count=$(sort -u "$KNOTWORK_SKIPPED" | grep -c . || true)
    echo "test: SKIPPED $count: servers or tools that are not there"
    sort -u "$KNOTWORK_SKIPPED" | sed 's/^/    /'
    rm -f "$KNOTWORK_SKIPPED"
}
trap say_skipped EXIT
step ./scripts/servers.sh
# The Python package has no tests of Rust. It is named so that most of its dependencies are compiled once, for the wheel too.
packages=(--workspace)
scripts/python.sh --is-possible || packages+=(--exclude knotwork-python)
step cargo test "${packages[@]}" --all-features --no-fail-fast
# The binary that the tests of the command were run with.
echo "== ./scripts/drivers.sh"
status=0
KNOT=$PWD/target/debug/knot ./scripts/drivers.sh || status=$?
if [ "$status" -eq 77 ]; then
    echo "Neo4j's Python driver" >>"$KNOTWORK_SKIPPED"
elif [ "$status" -ne 0 ]; then
    exit "$status"
fi
echo "== ./scripts/python.sh"
status=0
PROFILE=dev ./scripts/python.sh || status=$?
# 77: there is no Python, and it has said so.
[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"
