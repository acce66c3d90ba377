#!/usr/bin/env bash
# Installs what tests and benchmarks start themselves: PostgreSQL with pgRouting, Redis, MariaDB, openssl, chromium.
# Does nothing where they are there. Says what it installs and why, and SKIPPED where it cannot; never fails.
set -uo pipefail

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
        echo "servers: SKIPPED ${reason}; $1" >&2
        [ -n "${KNOTWORK_SKIPPED:-}" ] && echo "${reason}; $1" >>"$KNOTWORK_SKIPPED"
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
