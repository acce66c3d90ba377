#!/usr/bin/env bash
# Whole-graph computation on stores larger than the memory given, straight from the transactional store.
#
# Makes Kronecker graphs (edge factor 16) below .cache, then runs PageRank (20 iterations), WCC, BFS and CDLP in a control
# group whose limit counts the page cache: scale 22 with two properties on its edges, and without, within 1/8 of the store's
# size, and scales 22 and 24 without properties within 1 GiB. SMALL_SCALE and LARGE_SCALES choose others (an empty one none),
# LARGE_MIB the limit of the large ones, ALGORITHMS what is run, EXECUTION how. A billion relationships: SMALL_SCALE= LARGE_SCALES=26
# LARGE_MIB=2048, with 20 GB of room on the disk.
# Printed are the bytes read an iteration, the part of the disk's sequential rate, measured by a plain read of the same file
# just before, and what a second PageRank at the same time reads more. No limit is below 32 MiB, which a process needs for
# itself: a store of a small scale (SMALL_SCALE=12 LARGE_SCALES=12 for a trial) is not larger than that. Where this machine does not let us make a control
# group (root, cgroup v1), only Knotwork's own limit holds.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/bench
scales=${LARGE_SCALES-22 24}
small_scale=${SMALL_SCALE-22}
large_limit=$((${LARGE_MIB:-1024} << 20))
algorithms=${ALGORITHMS:-pagerank,wcc,bfs,cdlp,shared}
execution=${EXECUTION:-auto}
mkdir -p "$cache"
cargo build --release --quiet -p knotwork-storage --example stream_speed --example build_speed
cargo build --release --quiet -p knotwork-database --example larger

# Takes the files of a store out of the page cache.
forget() { for file in "$1"/*; do dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none; done; }

# The rate of a plain sequential read of a file past the page cache, in MB/s.
disk_rate() {
  dd if="$1" of=/dev/null bs=4M iflag=direct 2>&1 | awk '/copied/ { printf "%.0f", $1 / $(NF - 3) / 1e6 }'
}

# Runs a command in a control group of a given number of bytes, or without one.
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

# Runs everything on a store within a given number of bytes.
measure() {
  local store=$1 limit=$2 bytes edges rate
  [ "$limit" -ge $((32 << 20)) ] || limit=$((32 << 20))
  bytes=$(du -sb "$store" | cut -f1)
  edges=$(find "$store" -name '*.edges' -printf '%s %p\n' | sort -n | tail -1 | cut -d' ' -f2)
  forget "$store"
  rate=$(disk_rate "$edges")
  echo "== ${store##*/}: $((bytes >> 20)) MiB of files, limit $((limit >> 20)) MiB, disk $rate MB/s"
  # An eighth is for what is not the database's own: code, stacks, pages on their way.
  within "$limit" target/release/examples/larger "$store" "$(((limit - limit / 8) >> 20))" "$rate" "$algorithms" "$execution"
}

# Makes a store of a scale, with or without properties, if it is not there; prints where it is, past links.
store_of() {
  local kind=$1 scale=$2 store=$cache/$1-$2.knot
  if ! [ -d "$store" ]; then
    case $kind in
      properties) target/release/examples/build_speed "$store" "$scale" 1024 >&2 ;;
      topology) target/release/examples/stream_speed make "$store" "$scale" 1024 >&2 ;;
    esac
  fi
  readlink -f "$store"
}

if [ -n "$small_scale" ]; then
  for kind in properties topology; do
    store=$(store_of "$kind" "$small_scale")
    measure "$store" $(($(du -sb "$store" | cut -f1) / 8))
  done
fi
for scale in $scales; do
  measure "$(store_of topology "$scale")" "$large_limit"
done
