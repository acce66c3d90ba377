#!/usr/bin/env bash
# Fetches three million flights once, and runs the demonstration on them; without a network, on the small data within.
#
# Data: vega-datasets 3.2.1 (BSD-3-Clause), https://github.com/vega/vega-datasets
set -euo pipefail
cd "$(dirname "$0")/.."

version=3.2.1
sha256=6f72fda460a9863fae5fcb32f85bcd49e1761fdea6dc6cf9f4962472881cc5a3
archive=.cache/vega-datasets-$version.tgz
data=.cache/vega-datasets-$version
output=.cache/demo
knot=${CARGO_TARGET_DIR:-target}/demo/knot

if [ ! -x "$knot" ]; then
    echo "demo: $knot is not built; run make demo" >&2
    exit 2
fi
mkdir -p .cache

# Fetches the package from the registry that npm is set up for.
fetch() {
    command -v npm >/dev/null || return 1
    echo "demo: fetching vega-datasets $version with npm"
    npm pack "vega-datasets@$version" --pack-destination .cache --silent >/dev/null
}

# True if the archive is the one that this script was written for; where no program can tell, says so and goes on.
is_genuine() {
    local found
    if command -v sha256sum >/dev/null; then
        found=$(sha256sum "$archive")
    elif command -v shasum >/dev/null; then
        found=$(shasum -a 256 "$archive")
    else
        echo "demo: neither sha256sum nor shasum is here, so the checksum of $archive is not compared" >&2
        return 0
    fi
    [ "${found%% *}" = "$sha256" ]
}

unpack() {
    rm -rf "$data.partial"
    mkdir -p "$data.partial"
    tar -xzf "$archive" -C "$data.partial" --strip-components=2 \
        package/data/airports.csv package/data/flights-3m.parquet
    mv "$data.partial" "$data"
}

if [ ! -d "$data" ]; then
    if { [ -f "$archive" ] || fetch; } && is_genuine; then
        unpack
    else
        if [ -f "$archive" ]; then
            echo "demo: $archive is not the expected file, and is removed" >&2
            rm -f "$archive"
        fi
        echo "demo: vega-datasets $version could not be fetched (is npm installed, and is there a network?)" >&2
        echo "demo: going on with the small data within knot: airports and routes, without the three million flights" >&2
    fi
fi

if [ -d "$data" ]; then
    exec "$knot" demo --flights "$data/flights-3m.parquet" --airports "$data/airports.csv" --output "$output"
fi
exec "$knot" demo --output "$output"
