#!/usr/bin/env bash
# Spark on this machine, for the tests of algorithms with execution: 'spark' and of knotwork.spark.
#
#   scripts/spark.sh fetch   only installs PySpark, into an environment of its own below .cache; prints its Python
#   scripts/spark.sh test    the same, and runs the tests that want it: some minutes
#
# Needs Python 3.9 or newer with venv, and Java 17. Takes 400 MB on the disk. Says SKIPPED and ends with 3 where it cannot.
set -uo pipefail
cd "$(dirname "$0")/.."
version=3.5.9
environment="$PWD/.cache/spark/env"

skip() {
    echo "spark: SKIPPED: $1" >&2
    [ -n "${KNOTWORK_SKIPPED:-}" ] && echo "Spark: $1" >>"$KNOTWORK_SKIPPED"
    exit 3
}

fetch() {
    local java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    command -v "$java" >/dev/null || skip "there is no Java; install openjdk-17-jre-headless"
    local interpreter=${PYTHON:-python3}
    "$interpreter" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
        skip "Python 3.9 or newer with venv is not installed (on Debian: apt install python3-venv)"
    [ "$(cat "$environment/version" 2>/dev/null)" = "$version" ] && return
    echo "spark: installing PySpark $version" >&2
    "$interpreter" -m venv --clear "$environment" &&
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "pyspark==$version" pytest pytest-timeout >&2 ||
        skip "pip could not install PySpark $version"
    echo "$version" >"$environment/version"
}

case "${1:-}" in
    fetch)
        fetch
        echo "$environment/bin/python"
        ;;
    test)
        fetch
        set -e
        KNOTWORK_SPARK_PYTHON="$environment/bin/python" \
            cargo test --package knotwork-database --all-features --test spark -- --nocapture --test-threads 1
        PYO3_BUILD_EXTENSION_MODULE=1 cargo build --package knotwork-python --all-features --lib
        library=$(find "${CARGO_TARGET_DIR:-$PWD/target}/debug" -maxdepth 1 -name 'lib_knotwork.*' ! -name '*.d')
        BUILD_ONLY=1 LIBRARY=$library scripts/python.sh
        "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
            .cache/python/wheels/knotwork-*.whl
        "$environment/bin/python" -m pytest -p no:cacheprovider python/tests/test_spark.py
        ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
