#!/usr/bin/env bash
# Fetches the openCypher Technology Compatibility Kit into an ignored folder, unless it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.0.0-M23
artifact=org.opencypher:tck:$version
target=.cache/tck/$version

[ -d "$target/features" ] && exit 0

fail() {
    echo "tck: $1" >&2
    echo "tck: without it, unpack the folders features and graphs of the artifact $artifact into $target" >&2
    exit 2
}

if ! command -v mvn >/dev/null; then
    echo "tck: mvn is missing; installing the package maven" >&2
    if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get install --yes --quiet maven >&2 || { apt-get update --quiet >&2 && apt-get install --yes --quiet maven >&2; } ||
            fail "maven could not be installed"
    else
        fail "mvn is missing; install Maven (on Debian: apt install maven)"
    fi
fi

fresh=$PWD/$target.$$
trap 'rm -rf "$fresh"' EXIT
mkdir -p "$fresh"
# Maven leaves marks of what it unpacked where it is called.
(cd "$fresh" && mvn --quiet --batch-mode dependency:unpack -Dartifact=$artifact -DoutputDirectory="$fresh/kit" >&2) ||
    fail "Maven could not fetch $artifact"
[ -d "$fresh/kit/features" ] || fail "$artifact holds no folder features"
rm -rf "$target"
mv "$fresh/kit" "$target"
