#!/usr/bin/env bash
# Durable commits beside CREATE INDEX and CREATE CONSTRAINT: p50 and p99 with nothing beside, and while each is built. Then a
# range of relationships, and the deletion of all, with an index on their property and without: between all pairs of many nodes,
# with many between each pair of a few, and from one hub.
#
# MILLION_EDGES (5 by default) is the size of the graph, IDLE_SECONDS (10) the time of commits with nothing beside, SIDE (1000)
# the square root of the number of relationships in each shape.
set -euo pipefail
cd "$(dirname "$0")/.."
store=$PWD/.cache/bench/indexes.knot
mkdir -p "$(dirname "$store")"
rm -rf "$store"
cargo build --release --quiet -p knotwork-storage --examples
target/release/examples/index_build "$store" "${MILLION_EDGES:-5}" "${IDLE_SECONDS:-10}"
rm -rf "$store"

knot=target/release/knot
side=${SIDE:-1000}
count=$((side * side))
value='(a.id * 7919 + b.id * 104729 + k * 31) % 1000003'
make() {
  local nodes=$1 from=$2 parallel=$3
  rm -rf "$store"
  "$knot" "$store" > /dev/null <<END
UNWIND range(0, $nodes - 1) AS i CREATE (:N {id: i});
MATCH (a:N), (b:N) WHERE $from UNWIND range(0, $parallel - 1) AS k CREATE (a)-[:R {x: $value, y: 1}]->(b);
END
  "$knot" compact "$store" > /dev/null
}
milliseconds() {
  local start
  start=$(date +%s%N)
  "$knot" query "$store" "$1" > /dev/null 2>&1
  echo $((($(date +%s%N) - start) / 1000000))
}
printf '%-22s %14s %14s %14s %14s\n' "$count relationships" 'range, ms' 'with index' 'delete, ms' 'with index'
for shape in "dense $side true 1" "parallel 10 true $((count / 100))" "hub $count a.id=0 1"; do
  read -r name nodes from parallel <<< "$shape"
  results=()
  for index in no yes; do
    make "$nodes" "$from" "$parallel"
    [ "$index" = no ] || "$knot" query "$store" "CREATE INDEX rx FOR ()-[r:R]-() ON (r.x)" > /dev/null 2>&1
    results+=("$(milliseconds "MATCH ()-[r:R]->() WHERE r.x > 500000 AND r.x < 600000 RETURN count(r), sum(r.y)")")
    results+=("$(milliseconds "MATCH ()-[r:R]->() DELETE r")")
  done
  printf '%-22s %14s %14s %14s %14s\n' "$name" "${results[0]}" "${results[2]}" "${results[1]}" "${results[3]}"
done
rm -rf "$store"
