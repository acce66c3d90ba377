#!/usr/bin/env bash
# Starts a ring of Apache Cassandra on this machine, for tests and for trying things out.
#
#   scripts/ring.sh start [NODES] FOLDER   starts 1 node (default) or 3, each on a loopback address of its own, with data in FOLDER;
#                                          prints where clients connect, as HOST:PORT
#   scripts/ring.sh stop FOLDER            ends the nodes of FOLDER
#   scripts/ring.sh fetch                  only fetches Cassandra, by Maven, into .cache
#   scripts/ring.sh test [NODES]           starts a ring, runs the tests that want one, and ends it
#
# Needs Java 17 and Maven. A node takes 1.3 GB of memory. Says SKIPPED and ends with 3 where it cannot.
set -uo pipefail
cd "$(dirname "$0")/.."
version=5.0.6
jars="$PWD/.cache/cassandra-$version"

skip() {
    echo "ring: SKIPPED: $1" >&2
    [ -n "${KNOTWORK_SKIPPED:-}" ] && echo "a real ring: $1" >>"$KNOTWORK_SKIPPED"
    exit 3
}

fetch() {
    [ -e "$jars/complete" ] && return
    command -v java >/dev/null || skip "there is no Java; install openjdk-17-jre-headless"
    command -v mvn >/dev/null || skip "there is no Maven; install maven"
    local work
    work=$(mktemp -d)
    cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>knotwork</groupId><artifactId>ring</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>
<version>$version</version></dependency></dependencies></project>
POM
    echo "ring: fetching Cassandra $version" >&2
    mkdir -p "$jars"
    (cd "$work" && mvn -B -q dependency:copy-dependencies "-DoutputDirectory=$jars" -DincludeScope=runtime) >&2 ||
        skip "Maven could not fetch Cassandra $version"
    rm -rf "$work"
    touch "$jars/complete"
}

# A port that is free at the first loopback address.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

configure() { # FOLDER NODE TOKEN
    local folder=$1 node=$2 token=$3
    mkdir -p "$folder/$node"
    cat >"$folder/$node/cassandra.yaml" <<YAML
cluster_name: knotwork
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
num_tokens: 1
initial_token: $token
auto_bootstrap: false
listen_address: 127.0.0.$node
rpc_address: 127.0.0.$node
native_transport_port: $native_port
storage_port: $storage_port
endpoint_snitch: SimpleSnitch
seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: "127.0.0.1:$storage_port"}]}]
data_file_directories: [$folder/$node/data]
commitlog_directory: $folder/$node/commitlog
saved_caches_directory: $folder/$node/saved_caches
hints_directory: $folder/$node/hints
commitlog_sync: periodic
commitlog_sync_period: 10000ms
paxos_variant: v2
concurrent_reads: 8
concurrent_writes: 16
concurrent_compactors: 1
memtable_heap_space: 128MiB
memtable_offheap_space: 64MiB
file_cache_size: 32MiB
networking_cache_size: 32MiB
key_cache_size: 16MiB
YAML
    cat >"$folder/$node/logback.xml" <<XML
<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%d %level %logger{0} %msg%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="out"/></root></configuration>
XML
}

launch() { # FOLDER NODE
    local home="$1/$2" node=$2 module
    local options=(-Xms768m -Xmx768m -XX:+UseSerialGC -XX:MaxDirectMemorySize=256m -Djdk.attach.allowAttachSelf=true
        "-javaagent:$jars/jamm-0.4.0.jar")
    for module in jdk.internal.misc jdk.internal.ref sun.nio.ch; do
        options+=("--add-exports=java.base/$module=ALL-UNNAMED")
    done
    options+=(--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED --add-exports=java.rmi/sun.rmi.server=ALL-UNNAMED
        --add-exports=java.management.rmi/com.sun.jmx.remote.internal.rmi=ALL-UNNAMED)
    for module in sun.nio.ch java.lang java.nio java.util java.util.concurrent java.util.concurrent.atomic java.io java.net \
        java.lang.reflect java.lang.module jdk.internal.ref jdk.internal.loader jdk.internal.reflect jdk.internal.math \
        jdk.internal.module jdk.internal.util.jar; do
        options+=("--add-opens=java.base/$module=ALL-UNNAMED")
    done
    options+=("-Dcassandra.config=file://$home/cassandra.yaml" "-Dcassandra.storagedir=$home" "-Dcassandra.logdir=$home"
        "-Dlogback.configurationFile=file://$home/logback.xml" -Dcassandra-foreground=yes
        "-Dcassandra.jmx.local.port=$(free_port)" -Djava.rmi.server.hostname=127.0.0.1
        -Dcassandra.skip_wait_for_gossip_to_settle=0 -Dcassandra.ring_delay_ms=100 -Dcassandra.superuser_setup_delay_ms=0)
    (cd "$home" && exec setsid java "${options[@]}" -cp "$jars/*" org.apache.cassandra.service.CassandraDaemon \
        >"$home/log" 2>&1 </dev/null) &
    echo $! >>"$1/pids"
}

start() { # NODES FOLDER
    local nodes=$1 folder node tokens=(-9223372036854775808 -3074457345618258603 3074457345618258602)
    [ "$nodes" = 1 ] || [ "$nodes" = 3 ] || { echo "ring: 1 or 3 nodes, not $nodes" >&2; exit 2; }
    mkdir -p "$2" && folder=$(cd "$2" && pwd)
    [ -e "$folder/pids" ] && { echo "ring: $folder has a ring; end it with: scripts/ring.sh stop $folder" >&2; exit 2; }
    fetch
    native_port=$(free_port) storage_port=$(free_port)
    # One after the other: a node that finds no other within 30 s gives up.
    for node in $(seq "$nodes"); do
        configure "$folder" "$node" "${tokens[$((node - 1))]}"
        launch "$folder" "$node"
        for _ in $(seq 240); do
            (echo >"/dev/tcp/127.0.0.$node/$native_port") 2>/dev/null && continue 2
            kill -0 "$(tail -1 "$folder/pids")" 2>/dev/null || break
            sleep 0.5
        done
        tail -20 "$folder/$node/log" >&2
        stop "$folder"
        skip "node $node did not start"
    done
    echo "127.0.0.1:$native_port" | tee "$folder/address"
}

stop() { # FOLDER
    [ -e "$1/pids" ] || { echo "ring: no ring in $1" >&2; exit 2; }
    while read -r pid; do
        kill "$pid" 2>/dev/null
        for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || continue 2; sleep 0.1; done
        kill -9 "$pid" 2>/dev/null
    done <"$1/pids"
    rm -f "$1/pids"
}

case "${1:-}" in
    fetch) fetch ;;
    start) if [ $# -ge 3 ]; then start "$2" "$3"; else start 1 "${2:?the folder is missing}"; fi ;;
    stop) stop "${2:?the folder is missing}" ;;
    test)
        folder=$(mktemp -d)
        address=$(start "${2:-1}" "$folder") || exit $?
        trap 'stop "$folder"; rm -rf "$folder"' EXIT
        # One test at a time: the last one kills a node of three.
        KNOTWORK_CQL="$address" KNOTWORK_CQL_NODES="${2:-1}" KNOTWORK_CQL_PIDS="$(tr '\n' ' ' <"$folder/pids")" \
            bash -c '
                cargo test --package knotwork-database --features cql --test it ring -- --nocapture --test-threads 1 &&
                    cargo test --package knotwork-cluster --features cql --test it real_ring -- --nocapture --test-threads 1'
        ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
