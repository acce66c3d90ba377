#!/usr/bin/env bash
# Starts a ring of three Cassandra nodes on this machine, loads the flights of `make demo` into it, queries it while a node
# is killed, computes PageRank there and on a store in files, and compares. Everything is stopped and removed at the end, also
# on Ctrl-C.
#
#   scripts/demo-ring.sh         counted routes, which are within the repository: a minute or two
#   FLIGHTS=all scripts/demo-ring.sh   the three million flights that `make demo` has fetched: many minutes
#
# Needs Java 17, Maven, Python 3 and 4 GB of memory. Ends with 2 where something is missing, with 1 where something went wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

knot=$PWD/${CARGO_TARGET_DIR:-target}/demo/knot
case "${CARGO_TARGET_DIR:-}" in /*) knot=$CARGO_TARGET_DIR/demo/knot ;; esac
airports=crates/cli/data/airports.csv
flights=crates/cli/data/flights-airport.csv
key=count
if [ "${FLIGHTS:-}" = all ]; then
    flights=.cache/vega-datasets-3.2.1/flights-3m.parquet
    key=delay
fi

say() { printf '\n== %s\n' "$*"; }

missing=()
need() { # PROGRAM REMEDY
    command -v "$1" >/dev/null || missing+=("$1: $2")
}
need java "install Java 17, as openjdk-17-jre-headless"
need mvn "install Maven, which fetches Cassandra"
need python3 "install Python 3, which finds free ports"
[ -x "$knot" ] || missing+=("$knot: build it with make demo-ring")
[ -e "$flights" ] || missing+=("$flights: fetch it with make demo")
if [ ${#missing[@]} -gt 0 ]; then
    echo "demo-ring: this is missing:" >&2
    printf '    %s\n' "${missing[@]}" >&2
    exit 2
fi

folder=$(mktemp -d)
asker=
stop_all() {
    trap '' INT TERM
    [ -n "$asker" ] && kill "$asker" 2>/dev/null && wait "$asker" 2>/dev/null
    [ -e "$folder/ring/pids" ] && echo "demo-ring: stopping the ring" && scripts/ring.sh stop "$folder/ring"
    rm -rf "$folder"
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say "A ring of three nodes"
# The first time, Maven fetches 66 MB.
address=$(scripts/ring.sh start 3 "$folder/ring")
ring=cql://$address/flights
echo "$ring, three copies of each row"

say "The flights, into the ring and into a store in files"
load() { # STORE
    "$knot" import "$1" -n "Airport=$airports" -e "FLIGHT=$flights" --key iata --source origin --target destination \
        --no-progress "${@:2}"
}
load "$ring" --staging "$folder/staging"
load "$folder/flights.knot"

say "The busiest routes, from the ring"
busiest="MATCH (a:Airport)-[f:FLIGHT]->(b:Airport) RETURN a.iata AS origin, b.iata AS destination, \
f.count AS flights ORDER BY flights DESC, origin LIMIT 5"
[ "$key" = delay ] && busiest="MATCH (a:Airport)-[f:FLIGHT]->(b:Airport) RETURN a.iata AS origin, b.iata AS destination, \
count(*) AS flights ORDER BY flights DESC, origin LIMIT 5"
"$knot" query "$ring" "$busiest"

say "A node is killed while others ask"
change="MATCH (:Airport {iata: 'BGR'})-[:FLIGHT]->(hub:Airport)-[:FLIGHT]->(there:Airport) \
RETURN count(DISTINCT there) AS airports"
expected=$("$knot" query "$folder/flights.knot" "$change" --format csv | tail -1)
ask() {
    while :; do
        if [ "$("$knot" query "$ring" "$change" --format csv 2>>"$folder/problems" | tail -1)" = "$expected" ]; then
            echo ok >>"$folder/answers"
        else
            echo wrong >>"$folder/answers"
        fi
    done
}
count() { grep -c "$1" "$folder/answers" || true; }
: >"$folder/answers"
ask &
asker=$!
wait_for() { # ANSWERS
    for _ in $(seq 600); do
        [ "$(wc -l <"$folder/answers")" -ge "$1" ] && return
        sleep 0.1
    done
    echo "demo-ring: the ring does not answer" >&2
    return 1
}
wait_for 5
before=$(wc -l <"$folder/answers")
victim=$(tail -1 "$folder/ring/pids")
kill -9 "$victim"
echo "node 3 (process $victim) is killed after $before answers"
wait_for $((before + 15))
kill "$asker" 2>/dev/null && wait "$asker" 2>/dev/null || true
asker=
echo "$(count ok) queries answered as before, $(count wrong) failed"
if [ "$(count wrong)" -gt 0 ]; then
    cat "$folder/problems" >&2
    exit 1
fi

say "PageRank on the two nodes that are left"
rank="CALL algo.pagerank({labels: 'Airport', types: 'FLIGHT'}) YIELD node, score \
RETURN node.iata AS airport, round(score * 1e12) / 1e12 AS score ORDER BY score DESC, airport"
"$knot" query "$ring" "$rank LIMIT 5"
"$knot" query "$ring" "$rank" --format csv >"$folder/ring.csv"
"$knot" query "$folder/flights.knot" "$rank" --format csv >"$folder/files.csv"
if ! cmp -s "$folder/ring.csv" "$folder/files.csv"; then
    echo "demo-ring: PageRank on the ring differs from that on files:" >&2
    diff "$folder/ring.csv" "$folder/files.csv" | head -5 >&2
    exit 1
fi
echo "The scores of all $(($(wc -l <"$folder/ring.csv") - 1)) airports equal those of the store in files."
