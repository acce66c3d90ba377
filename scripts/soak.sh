#!/usr/bin/env bash
# Runs the tests of soak.txt in release for SOAK_SECONDS in all (two hours by default), each for an equal share and with new
# seeds every time. Prints every seed and what each test counts; ends with the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never
SOAK_SECONDS=${SOAK_SECONDS:-7200}
LIST=${SOAK_LIST:-scripts/soak.txt}

# Lines of "binary test".
tests=$(mktemp)
output=$(mktemp)
trap 'rm -f "$tests" "$output"' EXIT
while read -r package target part; do
    case $package in '' | '#'*) continue ;; esac
    if [ "$target" = lib ]; then which=(--lib); else which=(--test "$target"); fi
    binary=$(cargo test --release --quiet --no-run --message-format=json -p "$package" "${which[@]}" |
        sed -n 's/.*"profile":{[^}]*"test":true}.*"executable":"\([^"]*\)".*/\1/p')
    found=$("$binary" --list --format terse "$part" | sed -n 's/: test$//p')
    [ -n "$found" ] || { echo "soak: no test of $package $target fits $part" >&2; exit 2; }
    while read -r test; do echo "$package $binary $test"; done <<<"$found" >>"$tests"
done <"$LIST"

count=$(wc -l <"$tests")
share=$((SOAK_SECONDS / count))
[ "$share" -gt 0 ] || share=1
echo "soak: $count tests, $share s each"
total=0
while read -r package binary test; do
    # The folder in which cargo runs the tests of a package.
    folder=crates/${package#knotwork-}
    end=$((SECONDS + share)) runs=0
    while :; do
        seed=$((RANDOM * 32768 + RANDOM)) left=$((end - SECONDS))
        [ "$left" -gt 0 ] || left=1
        if ! (cd "$folder" && FUZZ_SEED=$seed FUZZ_SECONDS=$left "$binary" --exact "$test" --nocapture) >"$output" 2>&1 </dev/null; then
            tail -n 40 "$output"
            echo "soak: FAILED: FUZZ_SEED=$seed $test of $package" >&2
            exit 1
        fi
        runs=$((runs + 1))
        grep -E 'Tally|kills|crash points|failures|seed' "$output" | tail -n 3 | sed 's/^/    /' || true
        echo "    FUZZ_SEED=$seed"
        [ "$SECONDS" -lt "$end" ] || break
    done
    total=$((total + runs))
    echo "soak: $package $test: $runs runs"
done <"$tests"
echo "soak: $total runs of $count tests in $SECONDS s, no failure"
