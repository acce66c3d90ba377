#!/usr/bin/env bash
# Durable commits beside CREATE INDEX and CREATE CONSTRAINT: p50 and p99 with nothing beside, and while each is built.
#
# MILLION_EDGES (5 by default) is the size of the graph, IDLE_SECONDS (10) the time of commits with nothing beside.
set -euo pipefail
cd "$(dirname "$0")/.."
store=$PWD/.cache/bench/indexes.knot
mkdir -p "$(dirname "$store")"
rm -rf "$store"
cargo build --release --quiet -p knotwork-storage --examples
target/release/examples/index_build "$store" "${MILLION_EDGES:-5}" "${IDLE_SECONDS:-10}"
rm -rf "$store"
