#!/usr/bin/env bash
# The Python package from a clean checkout: builds the wheel, installs it into an environment of its own below .cache, and
# runs its tests there. Ends with 77 if there is no Python that can do it. PYTHON chooses the interpreter.
#
#   scripts/python.sh                 wheel, tests, examples
#   scripts/python.sh -k threads      the same, with arguments for pytest
#   NETWORKX_ALL=1 scripts/python.sh  the same with all of NetworkX's own tests through the backend, a quarter of an hour
#   BUILD_ONLY=1 scripts/python.sh    only the wheel, into .cache/python/wheels, and the environment
#   PROFILE=dev scripts/python.sh     a wheel without optimisation
#   LIBRARY=FILE scripts/python.sh    a wheel with a library that is compiled already
#   scripts/python.sh --is-possible   nothing; ends with 0 if there is a Python that can do it
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/python
interpreter=${PYTHON:-$(command -v python3 || true)}
if [ -z "$interpreter" ] || ! "$interpreter" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
  echo "python: SKIPPED: Python 3.9 or newer with venv is not installed (on Debian: apt install python3-venv)" >&2
  exit 77
fi
[ "${1:-}" = --is-possible ] && exit 0
mkdir -p "$cache/wheels"

tools=(maturin wheel pytest pytest-timeout pyarrow pandas polars duckdb numpy networkx scipy nbformat nbclient ipykernel)
python=$cache/env/bin/python
stamp=$cache/tools
if ! [ -x "$python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "${tools[*]}" ]; then
  "$interpreter" -m venv --clear "$cache/env"
  "$python" -m pip install --quiet --disable-pip-version-check "${tools[@]}"
  echo "${tools[*]}" >"$stamp"
fi

rm -f "$cache"/wheels/knotwork-*.whl
maturin=$cache/env/bin/maturin
if [ -n "${LIBRARY:-}" ]; then
  # Maturin compiles a library itself, with the features of this package alone: nothing that the tests of the workspace have
  # compiled serves for it, and it takes minutes. So its metadata and that library are packed.
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  "$maturin" pep517 write-dist-info --metadata-directory "$tree" --interpreter "$python" >/dev/null 2>&1
  cp -R python/knotwork python/knotwork_networkx_info "$tree"
  find "$tree" -name __pycache__ -prune -exec rm -rf {} +
  strip -S -o "$tree/knotwork/_knotwork.abi3.so" "$LIBRARY"
  "$python" -m wheel pack --dest-dir "$cache/wheels" "$tree" >/dev/null
else
  "$maturin" build --profile "${PROFILE:-release}" --quiet --interpreter "$python" --out "$cache/wheels"
fi
# The tests use the packed wheel, not the source tree.
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$cache"/wheels/knotwork-*.whl
[ -n "${BUILD_ONLY:-}" ] && exit 0
"$python" -m pytest -p no:cacheprovider "$@"
