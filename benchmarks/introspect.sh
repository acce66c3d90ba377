#!/usr/bin/env bash
# The figures of Macko, Margo, Seltzer, "Performance introspection of graph databases" (2013), for this and other systems:
#   introspect.sh FOLDER
# KINDS (default "barabasi kronecker"), SIZES (default "1k 100k"; the paper has 1k, 1M and 10M), SUBJECTS (default "knotwork sqlite
# duckdb postgresql ladybugdb neo4j"). PYTHON has their packages; POSTGRESQL_URL and NEO4J_URL (with KNOT_PASSWORD) are servers whose
# database may be filled: tables `node` and `edge` of PostgreSQL are dropped first. What is not there is skipped, and said. Writes FOLDER/KIND-SIZE.html, and a JSON file for each subject.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:?a folder for graphs, stores and reports}
knot=${KNOT:-$here/target/release/knot}
python=${PYTHON:-python3}
mkdir -p "$folder"

has() { "$python" -c "import $1" 2>/dev/null; }

# The subject of a system on a graph, or nothing with the reason why it is skipped.
subject() {
    local system=$1 name=$2 program="$python $here/examples/introspect"
    case $system in
    knotwork) echo "$folder/$name.knot" ;;
    sqlite) echo "subject: $program/sql.py sqlite $folder/$name.db $folder/$name" ;;
    duckdb) has duckdb && echo "subject: $program/sql.py duckdb $folder/$name.duckdb $folder/$name" ;;
    ladybugdb) has ladybug && echo "subject: $program/ladybugdb.py $folder/$name.lbug $folder/$name" ;;
    postgresql)
        [ -n "${POSTGRESQL_URL:-}" ] && has psycopg || return 0
        "$python" - <<SQL
import psycopg
with psycopg.connect("$POSTGRESQL_URL", autocommit=True) as database:
    database.execute("DROP TABLE IF EXISTS node, edge")
SQL
        echo "subject: $program/sql.py postgresql $POSTGRESQL_URL $folder/$name"
        ;;
    neo4j) [ -n "${NEO4J_URL:-}" ] && echo "$NEO4J_URL" ;;
    esac || true
}

for kind in ${KINDS:-barabasi kronecker}; do
    for size in ${SIZES:-1k 100k}; do
        name=$kind-$size
        [ -d "$folder/$name" ] || "$knot" generate "$kind" --nodes "$size" --seed 1 -o "$folder/$name"
        [ -d "$folder/$name.knot" ] || "$knot" import "$folder/$name.knot" "$folder/$name"
        measured=()
        for system in ${SUBJECTS:-knotwork sqlite duckdb postgresql ladybugdb neo4j}; do
            asked=$(subject "$system" "$name")
            if [ -z "$asked" ]; then
                echo "introspect: $system is skipped: its package or server is not there" >&2
                continue
            fi
            writes=--writes
            [ "$system" = neo4j ] && writes=
            file=$folder/$name-$system.json
            echo "== $name, $system"
            # shellcheck disable=SC2086 # no option is no argument
            "$knot" introspect "$asked" ${EFFORT---quick} $writes --json "$file" >"$folder/$name-$system.txt"
            measured+=("$file")
        done
        "$knot" bench report "${measured[@]}" --html "$folder/$name.html"
        "$python" "$here/benchmarks/introspect_table.py" "${measured[@]}"
    done
done
