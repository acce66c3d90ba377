#!/usr/bin/env bash
# Whole-graph computation on stores larger than the memory given, straight from the transactional store.
#
# Makes Kronecker graphs (edge factor 16, no properties) below .cache, then runs PageRank (20 iterations), WCC, BFS and CDLP in
# a control group whose limit counts the page cache: scale 22 within 1/8 of the store's size and within 1 GiB, scale 24 within
# 1 GiB. LARGE_SCALES chooses other scales, ALGORITHMS what is run. Bytes read an iteration and the part of the disk's
# sequential rate, measured by a plain read of the same file just before, are printed. Where this machine does not let us
# make a control group (root, cgroup v1), only Knotwork's own limit holds.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/bench
scales=${LARGE_SCALES:-22 24}
algorithms=${ALGORITHMS:-pagerank,wcc,bfs,cdlp}
mkdir -p "$cache"
cargo build --release --quiet -p knotwork-storage --example stream_speed
cargo build --release --quiet -p knotwork-database --example larger

# Takes the files of a store out of the page cache.
forget() { for file in "$1"/*; do dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none; done; }

# The rate of a plain sequential read of a file past the page cache, in MB/s.
disk_rate() {
  dd if="$1" of=/dev/null bs=4M iflag=direct 2>&1 | awk '/copied/ { printf "%.0f", $1 / $(NF - 3) / 1e6 }'
}

# Runs a command in a control group of so many bytes, or without one.
within() {
  local limit=$1
  shift
  local group=/sys/fs/cgroup/memory/knotwork-larger.$$
  if ! mkdir "$group" 2>/dev/null || ! echo "$limit" > "$group/memory.limit_in_bytes"; then
    echo "no control group on this machine: only our own limit holds" >&2
    "$@"
    return
  fi
  (echo $BASHPID > "$group/cgroup.procs"; exec "$@") || echo "the command failed with $?" >&2
  echo "most memory in the group, page cache counted: $(($(cat "$group/memory.max_usage_in_bytes") >> 20)) MiB"
  echo 0 > "$group/memory.force_empty" 2>/dev/null || true
  rmdir "$group" 2>/dev/null || true
}

for scale in $scales; do
  store=$cache/topology-$scale.knot
  [ -d "$store" ] || target/release/examples/stream_speed make "$store" "$scale" 1024
  bytes=$(du -sb "$store" | cut -f1)
  edges=$(ls -S "$store"/*.edges | head -1)
  limits=$((1 << 30))
  [ "$scale" -gt 22 ] || limits="$((bytes / 8)) $limits"
  for limit in $limits; do
    forget "$store"
    rate=$(disk_rate "$edges")
    echo "== scale $scale: $((bytes >> 20)) MiB of files, limit $((limit >> 20)) MiB, disk $rate MB/s"
    # What is not the database's own: code, stacks, pages on their way.
    own=$((limit - limit / 8))
    within "$limit" target/release/examples/larger "$store" "$((own >> 20))" "$rate" "$algorithms"
  done
done
