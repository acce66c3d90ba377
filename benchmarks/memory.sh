#!/usr/bin/env bash
# Reads of a store under memory limits: left to the operating system, and within Knotwork's own limit.
#
# Makes a Kronecker graph (SCALE, 20 by default) below .cache, then measures without a limit, within 1/8 of the store by
# our own limit, and within a control group of that size where this machine lets us make one (root, cgroup v1). A control
# group is never smaller than 32 MiB, which a process needs for itself: below scale 20 it holds the store as a whole.
#
# Then writes millions of relationships in one transaction, changes and deletes them, and opens a store with a long log, at a limit of
# 64 MiB in a group of 128 MiB.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${SCALE:-20}
cache=$PWD/.cache/bench
store=$cache/memory-$scale.knot
mkdir -p "$cache"
cargo build --release --quiet -p knotwork-storage --examples
[ -d "$store" ] || target/release/examples/build_speed "$store" "$scale" 256
bytes=$(du -sb "$store" | cut -f1)
limit=$((bytes / 8))
mib=$(((limit >> 20) > 0 ? limit >> 20 : 1))
group_mib=$((mib > 32 ? mib : 32))

# Takes the files of the store out of the page cache.
forget() { for file in "$store"/*; do dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none; done; }

group=/sys/fs/cgroup/memory/knotwork-bench.$$
in_group() {
  if ! mkdir "$group" 2>/dev/null || ! echo "$((group_mib << 20))" > "$group/memory.limit_in_bytes"; then
    echo "skipped: this machine does not let us make a control group with a memory limit" >&2
    return
  fi
  forget
  (echo $BASHPID > "$group/cgroup.procs"; exec "$@") || echo "the command failed with $?" >&2
  echo "most memory in the group: $(($(cat "$group/memory.max_usage_in_bytes") >> 20)) MiB" >&2
  rmdir "$group" 2>/dev/null || true
}

memory=target/release/examples/memory
echo "== $((bytes >> 20)) MiB of files, no limit" >&2; forget; $memory "$store" 0
echo "== our own limit of $mib MiB" >&2; forget; $memory "$store" "$mib"
echo "== a control group of $group_mib MiB, our limit half of it" >&2; in_group "$memory" "$store" 0
echo "== a control group of $group_mib MiB, left to the operating system (this takes minutes)" >&2; in_group "$memory" "$store" 0 plain

cargo build --release --quiet -p knotwork-cli
knot=$PWD/target/release/knot
store=$cache/memory-writes.knot
group_mib=128
rm -rf "$store"
echo "UNWIND range(0, 199999) AS i CREATE (:N {id: i});" | "$knot" "$store" > /dev/null
write() { echo "== $1" >&2; in_group "$knot" query --memory-limit 64MiB "$store" "$1"; }
write "MATCH (a:N) WHERE a.id < 15 MATCH (b:N) CREATE (a)-[:Q {w: b.id}]->(b)"
write "MATCH ()-[r:Q]->() SET r.w = r.w + 1"
write "FOREACH (i IN range(1, 700000) | CREATE (:F {i: i}))"
write "MATCH ()-[r:Q]->() WITH r LIMIT 1500000 DELETE r"
write "MATCH (n:N) DETACH DELETE n"
"$knot" query "$store" "UNWIND range(1, 150000) AS i CREATE (:L {i: i})" > /dev/null
write "MATCH (n:L) RETURN count(n)"
