#!/usr/bin/env bash
# The figures of Macko, Margo, Seltzer, "Performance introspection of graph databases" (2013), for this and other systems:
#   introspect.sh FOLDER
# KINDS (default "barabasi kronecker"), SIZES (default "1k 100k"; the paper has 1k, 1M and 10M), EDGES for each node, if not those of
# the kind; SUBJECTS (default "knotwork sqlite duckdb postgresql ladybugdb janusgraph neo4j"). PYTHON has their packages.
# POSTGRESQL_URL is a server whose database may be filled: the tables `node` and `edge` are dropped first. NEO4J and JANUSGRAPH are
# folders with their jars (of janusgraph-core and janusgraph-berkeleyje, and what they need); Neo4j is started with a database of its
# own. What is not there is skipped, and said. Writes FOLDER/KIND-SIZE.html, and a JSON file for each subject; databases are removed
# once they are measured.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:?a folder for graphs, stores and reports}
knot=${KNOT:-$here/target/release/knot}
python=${PYTHON:-python3}
mkdir -p "$folder"

has() { "$python" -c "import $1" 2>/dev/null; }

# Sets `asked` to the subject of a system on a graph, or to nothing where it is not there.
prepare() {
    local system=$1 name=$2 program="$python $here/examples/introspect"
    asked=
    case $system in
    knotwork)
        "$knot" import "$folder/$name.knot" "$folder/$name"
        asked=$folder/$name.knot
        ;;
    sqlite) asked="subject: $program/sql.py sqlite $folder/$name.db $folder/$name" ;;
    duckdb) has duckdb && asked="subject: $program/sql.py duckdb $folder/$name.duckdb $folder/$name" ;;
    ladybugdb) has ladybug && asked="subject: $program/ladybugdb.py $folder/$name.lbug $folder/$name" ;;
    janusgraph)
        [ -n "${JANUSGRAPH:-}" ] && command -v java >/dev/null &&
            asked="subject: java -cp '$JANUSGRAPH/*' $here/examples/introspect/JanusGraph.java $folder/$name.janus $folder/$name"
        ;;
    postgresql)
        [ -n "${POSTGRESQL_URL:-}" ] && has psycopg || return 0
        drop_tables
        asked="subject: $program/sql.py postgresql $POSTGRESQL_URL $folder/$name"
        ;;
    neo4j) [ -n "${NEO4J:-}" ] && has neo4j && start_neo4j "$name" ;;
    esac || true
}

drop_tables() {
    "$python" - <<SQL
import psycopg
with psycopg.connect("$POSTGRESQL_URL", autocommit=True) as database:
    database.execute("DROP TABLE IF EXISTS node, edge")
SQL
}

# Loads a graph into Neo4j and starts it; it ends with its standard input, which is file 7.
start_neo4j() {
    local name=$1 address=$folder/$1.address
    rm -f "$folder/$name.end" && mkfifo "$folder/$name.end" && : >"$address"
    "$python" "$here/benchmarks/neo4j_server.py" "$NEO4J" "$folder/$name.neo4j" "$folder/$name" \
        <"$folder/$name.end" >"$address" 2>"$folder/$name-neo4j.log" &
    neo4j=$!
    exec 7>"$folder/$name.end"
    while ! grep -q bolt "$address"; do
        kill -0 $neo4j 2>/dev/null || { echo "introspect: Neo4j does not start: $folder/$name-neo4j.log" >&2; return 1; }
        sleep 0.5
    done
    asked=$(cat "$address")
}

# Removes what a system made of a graph.
clear_up() {
    local system=$1 name=$2
    case $system in
    postgresql) drop_tables ;;
    neo4j)
        exec 7>&-
        wait $neo4j || true
        rm -rf "$folder/$name.neo4j" "$folder/$name.end" "$folder/$name.address"
        ;;
    *) rm -rf "$folder/$name.knot" "$folder/$name".{db,duckdb,lbug,janus}* ;;
    esac
}

for kind in ${KINDS:-barabasi kronecker}; do
    for size in ${SIZES:-1k 100k}; do
        name=$kind-$size
        [ -d "$folder/$name" ] || "$knot" generate "$kind" --nodes "$size" ${EDGES:+--edges-per-node "$EDGES"} --seed 1 -o "$folder/$name"
        measured=()
        for system in ${SUBJECTS:-knotwork sqlite duckdb postgresql ladybugdb janusgraph neo4j}; do
            prepare "$system" "$name"
            if [ -z "$asked" ]; then
                echo "introspect: $system is skipped: its package or server is not there" >&2
                continue
            fi
            writes=--writes
            [ "$system" = neo4j ] && writes=
            file=$folder/$name-$system.json
            echo "== $name, $system"
            # Code of a virtual machine is compiled by a run that does not count, as in the paper.
            [ "$system" = neo4j ] && "$knot" introspect "$asked" --quick >"$folder/$name-$system.txt"
            # shellcheck disable=SC2086 # no option is no argument
            if "$knot" introspect "$asked" ${EFFORT---quick} $writes --json "$file" >"$folder/$name-$system.txt"; then
                measured+=("$file")
            else
                echo "introspect: $system failed on $name" >&2
            fi
            clear_up "$system" "$name"
        done
        "$knot" bench report "${measured[@]}" --html "$folder/$name.html"
        "$python" "$here/benchmarks/introspect_table.py" "${measured[@]}"
    done
done
