#!/usr/bin/env bash
# Formatting, lints, and every test of the workspace. Says what is missing on this machine, and installs what it can.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never

need() {
    command -v "$1" >/dev/null || { echo "test: $1 is missing; $2" >&2; exit 2; }
}
need cargo "install Rust from https://rustup.rs"
need cc "install a C compiler (on Debian: apt install build-essential); a compression library is built with it"

# Adds a component of the Rust toolchain if it is not there; fails if it cannot be had.
have_component() {
    local command=$1 component=$2
    cargo "$command" --version >/dev/null 2>&1 && return 0
    command -v rustup >/dev/null && rustup component add "$component" && return 0
    echo "test: SKIPPED cargo $command: $component is not installed, and rustup could not fetch it" >&2
    return 1
}

step() {
    echo "== $*"
    local start=$SECONDS
    "$@"
    echo "== took $((SECONDS - start)) s"
}

if have_component fmt rustfmt; then
    step cargo fmt --all --check
fi
# Clippy's driver is the compiler of our own crates, so that they are linted as they are compiled for the tests: a run of
# cargo clippy by itself would compile everything another time.
if have_component clippy clippy; then
    export RUSTC_WORKSPACE_WRAPPER=clippy-driver
    export CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__
fi
# The tests say what is missing if it cannot be had.
step ./scripts/tck.sh || true
# Tests of attached databases start real servers. What cannot be had is skipped, and counted at the end.
KNOTWORK_SKIPPED=$(mktemp)
export KNOTWORK_SKIPPED
say_skipped() {
    local count
    count=$(sort -u "$KNOTWORK_SKIPPED" | grep -c . || true)
    echo "test: SKIPPED $count: servers or tools that are not there"
    sort -u "$KNOTWORK_SKIPPED" | sed 's/^/    /'
    rm -f "$KNOTWORK_SKIPPED"
}
trap say_skipped EXIT
step ./scripts/servers.sh
built=${CARGO_TARGET_DIR:-$PWD/target}/debug
# Where nothing is compiled yet, nothing is kept for compiling parts again: that costs a fifth of the time.
[ -d "$built" ] || export CARGO_INCREMENTAL=0
packages=(--workspace)
scripts/python.sh --is-possible || packages+=(--exclude knotwork-python)
tests=(cargo test "${packages[@]}" --all-features)
step "${tests[@]}" --no-run
# The library of the Python package has no tests of Rust, so the line above leaves it out. With the tests named it has the
# features that they have, and everything below it is compiled already.
library=
if scripts/python.sh --is-possible; then
    PYO3_BUILD_EXTENSION_MODULE=1 step cargo build "${packages[@]}" --all-features --lib --tests
    library=$(find "$built" -maxdepth 1 -name 'lib_knotwork.*' ! -name '*.d')
fi

# Prints each job: its folder and the words of its command, with tabs between them. Jobs are the binaries of tests, the
# package for Python, sessions of drivers, and the examples in comments. The longest come first, so that none of them is
# left over at the end.
list_jobs() {
    local binaries
    binaries=$("${tests[@]}" --no-run --quiet --message-format=json |
        sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*/\1\t\2/p')
    [ -n "$binaries" ] || { echo "test: cargo names no binary of tests" >&2; return 1; }
    local long=$'/(storage|database|analytics)\t.*/(it|algorithms)-'
    grep -E "$long" <<<"$binaries" | sort -r
    # With the binary that the tests of the command are run with.
    local knot=$built/knot
    printf '%s\tenv\tLIBRARY=%s\tKNOT=%s\tscripts/python.sh\n' "$PWD" "$library" "$knot"
    printf '%s\tenv\tKNOT=%s\tscripts/drivers.sh\n' "$PWD" "$knot"
    grep -vE "$long" <<<"$binaries"
    (IFS=$'\t' && echo "$PWD${IFS}${tests[*]}${IFS}--doc")
}

# Runs a job in its folder, as cargo does; keeps what it prints, and its status unless that is 0.
run_job() {
    local words start=$SECONDS status=0
    IFS=$'\t' read -r -a words <<<"$1"
    local name=${words[0]##*/}-${words[${#words[@]} - 1]##*/}
    local output=$jobs/${name//[^a-zA-Z0-9_-]/-}
    echo "== starts: $name"
    (cd "${words[0]}" && "${words[@]:1}") >"$output" 2>&1 </dev/null || status=$?
    case $status in
        0) ;;
        # What it needs is not there.
        77) echo "$name: $(tail -n 1 "$output")" >>"$KNOTWORK_SKIPPED" ;;
        *) echo "$name ended with $status" >>"$jobs/failed" ;;
    esac
    echo "== took $((SECONDS - start)) s: $name"
}

# Two jobs at a time: one by one they leave half of two processors idle, since they wait for disks, servers and processes.
jobs=$(mktemp -d)
export jobs
export -f run_job
trap 'say_skipped; rm -rf "$jobs"' EXIT
list_jobs >"$jobs/list"
tr '\n' '\0' <"$jobs/list" | xargs -0 -n 1 -P 2 bash -c 'run_job "$1"' run_job
for output in "$jobs"/*-*; do
    printf '\n== %s\n' "${output##*/}"
    cat "$output"
done
if [ -e "$jobs/failed" ]; then
    sed 's/^/test: FAILED: /' "$jobs/failed" >&2
    exit 1
fi
