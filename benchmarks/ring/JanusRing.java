// JanusGraph on a ring of Cassandra, for benchmarks/ring.py: answers a line of JSON for each line of JSON of the standard input.
//
//   java -cp 'JARS/*' JanusRing.java meter HOST,HOST,HOST PORT            counters of requests, from the nodes themselves
//   java -cp 'JARS/*' JanusRing.java graph HOST,HOST,HOST PORT KEYSPACE   the graph
//
// The jars are those of janusgraph-cql, and what it needs.

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.tinkerpop.gremlin.process.traversal.Order;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversal;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.structure.Column;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.shaded.jackson.databind.JsonNode;
import org.apache.tinkerpop.shaded.jackson.databind.ObjectMapper;
import org.janusgraph.core.EdgeLabel;
import org.janusgraph.core.JanusGraph;
import org.janusgraph.core.JanusGraphFactory;
import org.janusgraph.core.JanusGraphTransaction;
import org.janusgraph.core.JanusGraphVertex;
import org.janusgraph.core.Multiplicity;
import org.janusgraph.core.PropertyKey;
import org.janusgraph.core.schema.ConsistencyModifier;
import org.janusgraph.core.schema.JanusGraphIndex;
import org.janusgraph.core.schema.JanusGraphManagement;

public class JanusRing {
    /** Threads that load, as many as an import of Knotwork has. */
    static final int LOADERS = 4;
    /** Edges of a transaction that loads. */
    static final int BATCH = 1_000;
    /** Attempts to make a node, of which a lock lets one through. */
    static final int ATTEMPTS = 100;
    static final int ATTEMPTS_TO_MAKE = 20;
    static final String DATA_CENTER = "datacenter1";

    final String hosts, port, keyspace;
    JanusGraph graph;

    JanusRing(String hosts, String port, String keyspace) {
        this.hosts = hosts;
        this.port = port;
        this.keyspace = keyspace;
    }

    JanusGraph open(boolean loads, boolean caches) {
        return settings(loads, caches).open();
    }

    JanusGraphFactory.Builder settings(boolean loads, boolean caches) {
        JanusGraphFactory.Builder settings = JanusGraphFactory.build()
            .set("storage.backend", "cql").set("storage.hostname", hosts).set("storage.port", Integer.parseInt(port))
            .set("storage.cql.local-datacenter", DATA_CENTER).set("storage.cql.keyspace", keyspace)
            .set("storage.cql.replication-factor", 3)
            .set("storage.cql.read-consistency-level", "LOCAL_QUORUM").set("storage.cql.write-consistency-level", "LOCAL_QUORUM")
            .set("schema.default", "none").set("query.force-index", true).set("query.fast-property", true)
            .set("query.batch.enabled", true);
        if (loads) {
            settings.set("storage.batch-loading", true).set("ids.block-size", 100_000);
        }
        if (caches) {
            // Bytes of the ring are kept without a time after which they expire: the fastest, and blind for what others write.
            settings.set("cache.db-cache", true).set("cache.db-cache-size", 0.25).set("cache.db-cache-time", 0L);
        }
        return settings;
    }

    // Schema and load.

    /** Makes keyspace and tables. Busy nodes learn of a table too late for the request that follows, so this is repeated. */
    void make() throws InterruptedException {
        for (int attempt = 1; ; attempt++) {
            try {
                open(false, false).close();
                return;
            } catch (RuntimeException failure) {
                if (attempt == ATTEMPTS_TO_MAKE) {
                    throw failure;
                }
                System.err.println("tables are not there yet: " + failure.getMessage());
                Thread.sleep(2_000);
            }
        }
    }

    static void define(JanusGraph graph) {
        JanusGraphManagement schema = graph.openManagement();
        schema.makeVertexLabel("User").make();
        schema.makeVertexLabel("Product").make();
        schema.makeVertexLabel("Race").make();
        PropertyKey user = schema.makePropertyKey("uid").dataType(Integer.class).make();
        PropertyKey product = schema.makePropertyKey("pid").dataType(Integer.class).make();
        schema.makePropertyKey("name").dataType(String.class).make();
        PropertyKey score = schema.makePropertyKey("score").dataType(Integer.class).make();
        PropertyKey time = schema.makePropertyKey("time").dataType(Long.class).make();
        EdgeLabel rated = schema.makeEdgeLabel("RATED").multiplicity(Multiplicity.MULTI).make();
        schema.buildIndex("byUser", Vertex.class).addKey(user).unique().buildCompositeIndex();
        schema.buildIndex("byProduct", Vertex.class).addKey(product).unique().buildCompositeIndex();
        schema.buildEdgeIndex(rated, "byScore", Direction.BOTH, Order.desc, score, time);
        for (String name : List.of("free", "locked")) {
            PropertyKey key = schema.makePropertyKey(name).dataType(Integer.class).make();
            JanusGraphIndex index = schema.buildIndex("by-" + name, Vertex.class).addKey(key).unique().buildCompositeIndex();
            if (name.equals("locked")) {
                schema.setConsistency(index, ConsistencyModifier.LOCK);
                schema.setConsistency(key, ConsistencyModifier.LOCK);
            }
        }
        schema.commit();
    }

    static List<String[]> rows(Path file) throws IOException {
        return Files.readAllLines(file).stream().skip(1).map(line -> line.split(",", -1)).toList();
    }

    Map<String, Object> load(Path folder) throws Exception {
        List<String[]> users = rows(folder.resolve("nodes-User.csv")), products = rows(folder.resolve("nodes-Product.csv"));
        List<String[]> edges = rows(folder.resolve("edges-RATED.csv"));
        make();
        graph = open(true, false);
        define(graph);
        long start = System.nanoTime();
        long[] userIds = add("User", "uid", users), productIds = add("Product", "pid", products);
        double nodesAfter = (System.nanoTime() - start) / 1e9;
        AtomicInteger next = new AtomicInteger();
        together(LOADERS, thread -> {
            for (int from = next.getAndAdd(BATCH); from < edges.size(); from = next.getAndAdd(BATCH)) {
                JanusGraphTransaction tx = graph.newTransaction();
                for (String[] edge : edges.subList(from, Math.min(edges.size(), from + BATCH))) {
                    Vertex source = tx.getVertex(userIds[Integer.parseInt(edge[0])]);
                    Vertex target = tx.getVertex(productIds[Integer.parseInt(edge[1])]);
                    source.addEdge("RATED", target, "score", Integer.parseInt(edge[2]), "time", Long.parseLong(edge[3]));
                }
                tx.commit();
            }
            return null;
        });
        double seconds = (System.nanoTime() - start) / 1e9;
        graph.close();
        return Map.of("nodes", users.size() + products.size(), "edges", edges.size(), "seconds", seconds, "nodes_seconds", nodesAfter);
    }

    /** Adds nodes; a row begins with its number. */
    long[] add(String label, String key, List<String[]> rows) throws Exception {
        long[] ids = new long[rows.size()];
        AtomicInteger next = new AtomicInteger();
        together(LOADERS, thread -> {
            for (int from = next.getAndAdd(BATCH); from < rows.size(); from = next.getAndAdd(BATCH)) {
                JanusGraphTransaction tx = graph.newTransaction();
                for (String[] row : rows.subList(from, Math.min(rows.size(), from + BATCH))) {
                    JanusGraphVertex vertex = tx.addVertex(label);
                    vertex.property(key, Integer.parseInt(row[0]));
                    vertex.property("name", row[1]);
                    ids[Integer.parseInt(row[0])] = (Long) vertex.id();
                }
                tx.commit();
            }
            return null;
        });
        return ids;
    }

    interface Work<T> {
        T apply(int thread) throws Exception;
    }

    static <T> List<T> together(int threads, Work<T> work) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<T>> calls = new ArrayList<>();
            IntStream.range(0, threads).forEach(thread -> calls.add(() -> work.apply(thread)));
            List<T> results = new ArrayList<>();
            for (Future<T> done : pool.invokeAll(calls)) {
                results.add(done.get());
            }
            return results;
        } catch (ExecutionException failure) {
            throw failure.getCause() instanceof Exception cause ? cause : failure;
        } finally {
            pool.shutdownNow();
        }
    }

    // Traversals.

    static Object traverse(String name, GraphTraversalSource g, int user) {
        GraphTraversal<Vertex, Vertex> start = g.V().has("uid", user);
        return switch (name) {
            case "preference" -> start.outE("RATED").has("score", 5).order().by("time", Order.desc).limit(10)
                .inV().values("pid").toList();
            case "similarity" -> start.as("me").outE("RATED").has("score", 5).inV().inE("RATED").has("score", 5).outV()
                .where(P.neq("me")).dedup().count().next();
            case "recommendation" -> start.as("me").sideEffect(__.out("RATED").aggregate("seen"))
                .outE("RATED").has("score", 5).inV().inE("RATED").has("score", 5).outV().where(P.neq("me")).dedup()
                .outE("RATED").has("score", 5).inV().where(P.without("seen")).values("pid")
                .groupCount().unfold().order().by(Column.values, Order.desc).by(Column.keys, Order.asc).limit(10)
                .toList().stream().map(entry -> ((Map.Entry<?, ?>) entry)).map(entry -> List.of(entry.getKey(), entry.getValue()))
                .toList();
            default -> throw new IllegalArgumentException("no such traversal: " + name);
        };
    }

    Object once(String name, int user) {
        JanusGraphTransaction tx = graph.buildTransaction().readOnly().start();
        try {
            return traverse(name, tx.traversal(), user);
        } finally {
            tx.rollback();
        }
    }

    /** Runs a traversal from users, each in a transaction of its own, or all in one, which is first run without being timed. */
    Map<String, Object> run(String name, int[] users, boolean sharesTransaction) {
        JanusGraphTransaction shared = sharesTransaction ? graph.buildTransaction().readOnly().start() : null;
        if (shared != null) {
            Arrays.stream(users).forEach(user -> traverse(name, shared.traversal(), user));
        }
        List<Double> times = new ArrayList<>();
        List<Object> answers = new ArrayList<>();
        for (int user : users) {
            long start = System.nanoTime();
            Object answer = shared != null ? traverse(name, shared.traversal(), user) : once(name, user);
            times.add((System.nanoTime() - start) / 1e6);
            answers.add(answer);
        }
        if (shared != null) {
            shared.rollback();
        }
        return Map.of("ms", times, "answers", answers);
    }

    /** Lets clients ask for a time: the number of answers and failures, and the longest times without an answer. */
    Map<String, Object> ask(String name, int[] users, int clients, double seconds) throws Exception {
        AtomicLong answers = new AtomicLong(), failures = new AtomicLong();
        List<Double> slowest = new ArrayList<>(), ends = new ArrayList<>();
        long start = System.nanoTime(), end = start + (long) (seconds * 1e9);
        Map<String, Integer> problems = new TreeMap<>();
        together(clients, thread -> {
            double slow = 0;
            for (int at = thread * users.length / clients; System.nanoTime() < end; at++) {
                long before = System.nanoTime();
                boolean isAnswered = false;
                try {
                    once(name, users[at % users.length]);
                    answers.incrementAndGet();
                    isAnswered = true;
                } catch (RuntimeException failure) {
                    failures.incrementAndGet();
                    synchronized (problems) {
                        problems.merge(failure.getClass().getSimpleName() + ": " + failure.getMessage(), 1, Integer::sum);
                    }
                }
                slow = Math.max(slow, (System.nanoTime() - before) / 1e9);
                if (isAnswered) {
                    synchronized (ends) {
                        ends.add((System.nanoTime() - start) / 1e9);
                    }
                }
            }
            synchronized (slowest) {
                slowest.add(slow);
            }
            return null;
        });
        double took = (System.nanoTime() - start) / 1e9;
        double[] order = ends.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        double pause = order.length == 0 ? took : Math.max(order[0], took - order[order.length - 1]);
        for (int at = 1; at < order.length; at++) {
            pause = Math.max(pause, order[at] - order[at - 1]);
        }
        double slow = slowest.stream().mapToDouble(Double::doubleValue).max().orElse(0);
        return Map.of("answers", answers.get(), "failures", failures.get(), "seconds", took, "slowest_s", slow, "pause_s", pause,
            "problems", problems);
    }

    /** Lets instances, as processes have them, make the same keys at once. */
    Map<String, Object> race(String key, int clients, int keys, double seconds) throws Exception {
        List<JanusGraph> graphs = new ArrayList<>();
        for (int at = 0; at < clients; at++) {
            graphs.add(open(false, false));
        }
        AtomicLong retries = new AtomicLong(), failures = new AtomicLong(), last = new AtomicLong();
        long start = System.nanoTime(), end = start + (long) (seconds * 1e9);
        together(clients, thread -> {
            JanusGraph own = graphs.get(thread);
            for (int number = 0; number < keys && System.nanoTime() < end; number++) {
                boolean isDone = false;
                for (int attempt = 0; attempt < ATTEMPTS && !isDone; attempt++) {
                    JanusGraphTransaction tx = own.newTransaction();
                    try {
                        if (!tx.traversal().V().has(key, number).hasNext()) {
                            tx.addVertex("Race").property(key, number);
                        }
                        tx.commit();
                        isDone = true;
                    } catch (RuntimeException failure) {
                        if (tx.isOpen()) {
                            tx.rollback();
                        }
                        retries.incrementAndGet();
                    }
                }
                if (!isDone) {
                    failures.incrementAndGet();
                }
                last.accumulateAndGet(number + 1, Math::max);
            }
            return null;
        });
        double took = (System.nanoTime() - start) / 1e9;
        graphs.forEach(JanusGraph::close);
        // An index whose values are unique has one entry for each, also where several nodes have the value: so all nodes are read.
        JanusGraph all = settings(false, false).set("query.force-index", false).open();
        long nodes = all.traversal().V().hasLabel("Race").has(key).count().next();
        all.close();
        return Map.of("nodes", nodes, "keys", last.get(), "retries", retries.get(), "failures", failures.get(), "seconds", took);
    }

    // Counters of the nodes.

    static Map<String, Object> counters(List<CqlSession> nodes) {
        Map<String, Map<String, Long>> all = new TreeMap<>();
        for (CqlSession node : nodes) {
            for (String kind : List.of("coordinator_read", "coordinator_scan", "coordinator_write", "local_read")) {
                for (Row row : node.execute("SELECT keyspace_name, count FROM system_views." + kind + "_latency")) {
                    all.computeIfAbsent(row.getString("keyspace_name"), name -> new TreeMap<>())
                        .merge(kind, row.getLong("count"), Long::sum);
                }
            }
        }
        return new LinkedHashMap<>(all);
    }

    @SuppressWarnings("deprecation")
    static CqlSession sessionOf(String host, int port) {
        // The tables of counters are those of the node that is asked.
        return CqlSession.builder().addContactPoint(new InetSocketAddress(host, port)).withLocalDatacenter(DATA_CENTER)
            .withNodeFilter(node -> node.getEndPoint().resolve().equals(new InetSocketAddress(host, port))).build();
    }

    static int[] numbers(JsonNode list) {
        return IntStream.range(0, list.size()).map(at -> list.get(at).asInt()).toArray();
    }

    Map<String, Object> answer(JsonNode question) throws Exception {
        String name = question.path("traversal").asText();
        int clients = question.path("clients").asInt(1);
        double seconds = question.path("seconds").asDouble();
        switch (question.get("ask").asText()) {
            case "load":
                return load(Path.of(question.get("folder").asText()));
            case "open":
                graph = open(false, question.get("caches").asBoolean());
                return Map.of();
            case "run":
                return run(name, numbers(question.get("users")), question.path("shares").asBoolean());
            case "clients":
                return ask(name, numbers(question.get("users")), clients, seconds);
            case "race":
                return race(question.get("key").asText(), clients, question.get("keys").asInt(), seconds);
            default:
                throw new IOException("no such question");
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 3) {
            System.err.println("usage: JanusRing.java meter HOSTS PORT | graph HOSTS PORT KEYSPACE");
            System.exit(2);
        }
        // Answers alone go to the standard output; what libraries print does not.
        PrintStream answers = System.out;
        System.setOut(System.err);
        boolean isMeter = arguments[0].equals("meter");
        List<CqlSession> nodes = new ArrayList<>();
        if (isMeter) {
            for (String host : arguments[1].split(",")) {
                nodes.add(sessionOf(host, Integer.parseInt(arguments[2])));
            }
        }
        JanusRing ring = isMeter ? null : new JanusRing(arguments[1], arguments[2], arguments[3]);
        ObjectMapper json = new ObjectMapper();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            Map<String, Object> answer;
            try {
                answer = isMeter ? counters(nodes) : ring.answer(json.readTree(line));
            } catch (Exception failure) {
                failure.printStackTrace(System.err);
                answer = Map.of("error", failure.getClass().getSimpleName() + ": " + failure.getMessage());
            }
            answers.println(json.writeValueAsString(answer));
            answers.flush();
        }
        // Threads of libraries may stay.
        System.exit(0);
    }
}
