#!/usr/bin/env bash
# Installs what tests and benchmarks start themselves: PostgreSQL with pgRouting, Redis, MariaDB, openssl, chromium; and the
# library of DuckDB, below .cache. Does nothing where they are there. Says what it installs and why, and SKIPPED where it
# cannot; never fails.
set -uo pipefail
cd "$(dirname "$0")/.."

note_skipped() {
    echo "servers: SKIPPED $1" >&2
    [ -n "${KNOTWORK_SKIPPED:-}" ] && echo "$1" >>"$KNOTWORK_SKIPPED"
    return 0
}

# DuckDB publishes its library for programs in JavaScript, too, from where every machine with npm can have it.
fetch_duckdb() {
    local version=1.5.6-r.1 folder=.cache/duckdb system processor package
    compgen -G "$folder/libduckdb.*" >/dev/null && return 0
    command -v npm >/dev/null || { note_skipped "DuckDB's library: for tests of the DuckDB source; npm is not installed"; return 0; }
    system=$(uname -s | tr '[:upper:]' '[:lower:]')
    case $(uname -m) in aarch64 | arm64) processor=arm64 ;; *) processor=x64 ;; esac
    package=node-bindings-$system-$processor
    echo "servers: fetching @duckdb/$package $version with npm: for tests of the DuckDB source"
    mkdir -p "$folder"
    if npm pack "@duckdb/$package@$version" --pack-destination "$folder" --silent >/dev/null; then
        tar -xzf "$folder"/*.tgz -C "$folder" --strip-components 1
        rm -f "$folder"/*.tgz "$folder/duckdb.node"
    fi
    compgen -G "$folder/libduckdb.*" >/dev/null || note_skipped "DuckDB's library: npm could not fetch it"
}
fetch_duckdb

# Each: a program that shows that it is there, the Debian package, and what wants it.
wanted=(
    "/usr/lib/postgresql/*/bin/initdb|postgresql|tests of the PostgreSQL source"
    "/usr/bin/psql|postgresql-client|tests of the PostgreSQL source"
    "/usr/share/postgresql/*/extension/pgrouting.control|postgresql-15-pgrouting|the comparison with pgRouting (make bench)"
    "/usr/bin/redis-server|redis-server|tests of the Redis source"
    "/usr/bin/redis-cli|redis-tools|tests of the Redis source"
    "/usr/sbin/mariadbd|mariadb-server|tests of the MySQL source"
    "/usr/bin/mariadb|mariadb-client|tests of the MySQL source"
    "/usr/bin/openssl|openssl|tests of connections with TLS"
    "/usr/bin/chromium|chromium|the test of the report in a browser"
    "/usr/bin/pgrep|procps|tests that halt and kill servers"
)

missing=() reasons=()
for entry in "${wanted[@]}"; do
    IFS='|' read -r file package reason <<<"$entry"
    compgen -G "$file" >/dev/null && continue
    command -v "${file##*/}" >/dev/null && continue
    missing+=("$package") reasons+=("$package: for $reason")
done
[ ${#missing[@]} -eq 0 ] && exit 0

say_skipped() {
    local reason
    for reason in "${reasons[@]}"; do
        note_skipped "${reason}; $1"
    done
    exit 0
}
command -v apt-get >/dev/null || say_skipped "there is no apt-get here; install it by hand"
[ "$(id -u)" = 0 ] || say_skipped "only root can install it: sudo scripts/servers.sh"

printf 'servers: installing %s\n' "${reasons[@]}"
# Tests start servers themselves, each in a folder of its own: none is to run as a service.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy && chmod +x $policy
    trap 'rm -f '$policy EXIT
fi
apt-get update -qq || echo "servers: apt-get update failed; trying with what is known" >&2
# One by one where all together fail, so that what there is of them is had.
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    for package in "${missing[@]}"; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null ||
            { reasons=("$package"); (say_skipped "apt-get could not install it"); }
    done
exit 0
