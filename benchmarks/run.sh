#!/usr/bin/env bash
# Side by side with LadybugDB on a Kronecker graph: import, size, memory, opening, latencies, PageRank.
#
# Installs the peer into a throw-away environment below .cache; builds Knotwork for release; runs both in both orders
# and prints medians. Every answer is compared. SCALE and ROUNDS may be set. Then come the workloads of store.py (sustained
# inserts, upserts, LinkBench, reads by degree; EDGES=100000000 runs the inserts as long as the paper's figure 7a), reads
# under a memory limit (memory.sh), commits beside CREATE INDEX (indexes.sh), queries beside several peers (cypher.py), and whole-graph computation beside graph
# libraries (analytics.py; SCALES="16 18 20 22" shows how it grows) and within less memory than the store takes (larger.sh).
# And A* over databases, the evaluation of the Crackle paper run anew (sources/evaluate.py), on a generated graph like that of
# roads, and on Rome's if ROADS names a folder with it; and generated questions to attached databases beside SQL
# (sources/questions.py).
# Generated shapes of queries beside DuckDB, LadybugDB and NeuG, answers compared and ratios shown (shapes.py).
# Advice compared with what it brings (advice.py). Comparisons of a program with itself (same.py). Estimated times compared with measured ones (estimates.py).
# A server beside Neo4j, if NEO4J names a folder with its jars (server.py).
# A ring of Cassandra nodes beside JanusGraph, which only PARTS=ring asks for (ring.py).
# The Python package is measured by python.py. PARTS="graph store memory indexes cypher shapes advice same estimates analytics analytics_large python sources server introspect ring"
# chooses. With BASE, a folder with the programs of another build as in target/release, and PEERS=base, the parts graph, cypher,
# and analytics compare the two builds; with BASE alone PARTS=versions does by short statements (versions.py).
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${SCALE:-20}
rounds=${ROUNDS:-3}
cache=$PWD/.cache/bench
mkdir -p "$cache"

if ! [ -x "$cache/env/bin/python" ] || ! "$cache/env/bin/python" -c 'import duckdb, kuzu, ladybug, numpy, pyarrow' 2>/dev/null; then
  command -v python3 >/dev/null || { echo "make bench needs python3 (with venv) to run the peer; install it" >&2; exit 1; }
  python3 -m venv "$cache/env" || { echo "python3 cannot make a virtual environment; install python3-venv" >&2; exit 1; }
  "$cache/env/bin/pip" install --quiet ladybug==0.22.0 kuzu==0.11.3 duckdb numpy pyarrow
fi
python=$cache/env/bin/python

parts=${PARTS:-graph store memory indexes cypher shapes advice same estimates analytics analytics_large python sources server introspect}
cargo build --release --quiet -p knotwork-cli
cargo build --release --quiet -p knotwork-database --examples
for part in $parts; do
  case $part in
    graph)
      graph=$cache/kronecker-$scale
      [ -f "$graph/queries.json" ] || "$python" benchmarks/kronecker.py "$scale" 16 "$graph"
      "$python" benchmarks/compare.py "$graph" "$cache" "$rounds" ;;
    store) mkdir -p "$cache/store"; "$python" benchmarks/store.py "$cache/store" ;;
    memory) ./benchmarks/memory.sh ;;
    indexes) ./benchmarks/indexes.sh ;;
    cypher) "$python" benchmarks/cypher.py "$cache/cypher" ;;
    advice)
      mkdir -p "$cache/advice"; KNOT=target/release/knot "$python" benchmarks/advice.py "$cache/advice" "${CASES:-100}" ${SEED:+"$SEED"} ;;
    same)
      [ -d "$cache/same.knot" ] || target/release/knot generate barabasi --nodes 100k -o "$cache/same.knot"
      KNOT=target/release/knot "$python" benchmarks/same.py "$cache/same.knot" ;;
    ring)
      "$python" -c 'import neo4j' 2>/dev/null || "$python" -m pip install --quiet neo4j
      KNOT=target/release/knot "$python" benchmarks/ring.py "$cache/ring" ;;
    versions)
      [ -n "${BASE:-}" ] || { echo "the part versions wants BASE, a folder with the programs of another build" >&2; exit 2; }
      "$python" benchmarks/versions.py "$BASE/examples/queries" target/release/examples/queries "$cache/versions" ;;
    estimates) KNOT=target/release/knot "$python" benchmarks/estimates.py "$cache/estimates" ;;
    server)
      "$python" -c 'import neo4j' 2>/dev/null || "$cache/env/bin/pip" install --quiet neo4j==6.0.3
      cargo build --release --quiet -p knotwork-client --example server_load
      cargo build --release --quiet -p knotwork-bolt --example canned_server
      KNOT=target/release/knot LOAD=target/release/examples/server_load CANNED=target/release/examples/canned_server \
        "$python" benchmarks/server.py "$cache/server" ;;
    shapes)
      "$python" -c 'import neug' 2>/dev/null || "$cache/env/bin/pip" install --quiet neug==0.3.0
      "$python" benchmarks/shapes.py "$cache/shapes" ;;
    analytics)
      "$python" -c 'import networkit, igraph, graphblas' 2>/dev/null \
        || "$cache/env/bin/pip" install --quiet networkit==11.2.2 igraph==1.0.0 python-graphblas==2025.2.0 scipy
      # shellcheck disable=SC2086 # several scales are several words
      "$python" benchmarks/analytics.py "$cache" ${SCALES:-$scale} ;;
    analytics_large) ./benchmarks/larger.sh ;;
    introspect)
      "$python" -c 'import psycopg' 2>/dev/null || "$cache/env/bin/pip" install --quiet 'psycopg[binary]'
      PYTHON=$python ./benchmarks/introspect.sh "$cache/introspect" ;;
    python)
      # The wheel as it would be published, in the environment of its tests, beside the peers.
      BUILD_ONLY=1 ./scripts/python.sh
      .cache/python/env/bin/pip install --quiet ladybug==0.22.0 duckdb
      .cache/python/env/bin/python benchmarks/python.py "$cache/python" "$rounds"
      # NetworkX's functions, in an environment of their own: its peers pin other versions.
      speed=$cache/networkx
      [ -x "$speed/bin/python" ] || python3 -m venv "$speed"
      # shellcheck disable=SC2046 # the requirements are several words
      "$speed/bin/pip" install --quiet $("$python" benchmarks/networkx_speed.py --requirements)
      "$speed/bin/pip" install --quiet --force-reinstall --no-deps .cache/python/wheels/knotwork-*.whl
      [ -x "$speed-parallel/bin/python" ] || python3 -m venv "$speed-parallel"
      # shellcheck disable=SC2046
      "$speed-parallel/bin/pip" install --quiet $("$python" benchmarks/networkx_speed.py --parallel-requirements)
      # shellcheck disable=SC2086 # several scales are several words
      NX_PARALLEL_PYTHON=$speed-parallel/bin/python ROUNDS=$rounds "$speed/bin/python" benchmarks/networkx_speed.py "$cache/networkx-times" ${SCALES:-16 20} ;;
    sources)
      ./scripts/servers.sh
      "$python" -c 'import matplotlib, psycopg, redis' 2>/dev/null \
        || "$cache/env/bin/pip" install --quiet 'psycopg[binary]' redis matplotlib
      cargo build --release --quiet -p knotwork-database --example road_search --features postgres,redis
      for name in ${ROADS:+rome} grid; do
        "$python" benchmarks/sources/evaluate.py "$cache/sources/$name" "$name"
      done
      "$python" benchmarks/sources/questions.py "$cache/sources/questions" ;;
    *) echo "no part of the benchmark has the name $part" >&2; exit 2 ;;
  esac
done
