/* A graph in JanusGraph, with Berkeley DB JE under it, as a subject of `knot introspect`, by traversals of Gremlin.

    knot generate barabasi --nodes 100k -o graph
    knot introspect "subject: java -cp 'JARS/*' examples/introspect/JanusGraph.java graph.janus graph" --quick

The arguments are the folder of the database, and the folder of files that it is made of where it is not there yet. JARS is a folder
with janusgraph-core, janusgraph-berkeleyje and what they need. */

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversal;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.shaded.jackson.databind.JsonNode;
import org.apache.tinkerpop.shaded.jackson.databind.ObjectMapper;
import org.janusgraph.core.JanusGraph;
import org.janusgraph.core.JanusGraphFactory;
import org.janusgraph.core.JanusGraphTransaction;
import org.janusgraph.core.PropertyKey;
import org.janusgraph.core.schema.JanusGraphManagement;
import org.janusgraph.graphdb.configuration.JanusGraphConstants;
import org.janusgraph.graphdb.database.StandardJanusGraph;
import org.janusgraph.graphdb.idmanagement.IDManager;

class JanusGraphSubject {
    static final String LABEL = "Node", TYPE = "LINK", KEY = "uid";
    static final Map<String, Direction> DIRECTIONS = new LinkedHashMap<>();

    static {
        DIRECTIONS.put("out", Direction.OUT);
        DIRECTIONS.put("in", Direction.IN);
        DIRECTIONS.put("both", Direction.BOTH);
    }

    static final List<String> WRITES =
        List.of("add node", "add edge", "set node property", "commit", "ingest, bulk", "ingest, increment");
    /** Nodes and edges of a transaction that loads. */
    static final int BATCH = 10_000;
    /** Nodes of which one is chosen by its degree, and those of which one with an edge is looked for. */
    static final int CANDIDATES = 16;
    /** Edges that are put into a new graph, as many as `knot introspect` takes, and those of one transaction. */
    static final int INGEST_EDGES = 1_000_000, COMMIT_EDGES = 1_000;
    /** Calls of an operation that have the virtual machine compile its code, and the time that they may take. */
    static final int REHEARSALS = 2_000;
    static final long REHEARSAL_NS = 500_000_000;

    /** What a call found: counted once the clock has stopped. */
    record Found(long rows, long checksum, Map<String, Long> counts) {
        static Found of(long rows, long checksum) {
            return new Found(rows, checksum, Map.of());
        }
    }

    /** A call within a transaction; what it returns is looked at after the time is taken. */
    interface Call extends BiFunction<GraphTraversalSource, Start, Object> {}

    record Start(long node, long target, long key, String edge) {}

    record Row(long source, long target, long time) {}

    record Node(long key, Long age, String name) {}

    /** A neighbour and the property of the edge to it. */
    record Met(Vertex node, long time) {}

    final Map<String, Call> reads = new LinkedHashMap<>();
    Path place, copies;
    JanusGraph graph, target;
    IDManager ids;
    long nodes, edges, free = 1L << 40;
    boolean isForgotten;
    List<Node> nodeRows;
    List<Row> bulkRows, increment;

    JanusGraphSubject(Path place, Path folder) throws IOException {
        this.place = place;
        if (!Files.exists(place)) {
            if (folder == null) {
                throw new IOException(place + ": no such folder");
            }
            make(folder);
        }
        open();
        nodes = graph.variables().<Long>get("nodes").orElse(0L);
        edges = graph.variables().<Long>get("edges").orElse(0L);
        isForgotten = forget();
        listReads();
        rehearse();
    }

    void listReads() {
        reads.put("node by id", (g, start) -> g.V(id(start.node)).next());
        reads.put("node by key", (g, start) -> g.V().has(LABEL, KEY, start.key).next());
        reads.put("node property, integer", (g, start) -> g.V(id(start.node)).values("age").toList());
        reads.put("node property, string", (g, start) -> g.V(id(start.node)).values("name").toList());
        reads.put("edge by id", (g, start) -> g.E(start.edge).next());
        reads.put("edge property", (g, start) -> g.E(start.edge).values("time").toList());
        DIRECTIONS.forEach((name, direction) -> {
            reads.put("degree " + name, (g, start) -> g.V(id(start.node)).toE(direction, TYPE).count().toList());
            reads.put("first neighbour " + name, (g, start) -> g.V(id(start.node)).to(direction, TYPE).limit(1).toList());
            reads.put("neighbours " + name, (g, start) -> g.V(id(start.node)).to(direction, TYPE).toList());
            reads.put("neighbours " + name + " with property", (g, start) -> met(g, start, direction));
        });
        for (String name : List.of("out", "both")) {
            for (int hops = 1; hops <= 3; hops++) {
                int count = hops;
                Direction direction = DIRECTIONS.get(name);
                reads.put(hops + "-hop " + name, (g, start) -> within(g, start, direction, count).toList());
            }
        }
    }

    List<Met> met(GraphTraversalSource g, Start start, Direction direction) {
        List<Met> found = new ArrayList<>();
        Object from = id(start.node);
        g.V(from).toE(direction, TYPE).forEachRemaining(edge -> {
            Vertex out = edge.outVertex();
            Vertex other = out.id().equals(from) ? edge.inVertex() : out;
            found.add(new Met(other, edge.<Long>property("time").orElse(0L)));
        });
        return found;
    }

    /** The nodes within some hops. No repeat(): one whose nodes are distinct over all rounds may find a node by the longer way first. */
    @SuppressWarnings("unchecked")
    GraphTraversal<Vertex, Vertex> within(GraphTraversalSource g, Start start, Direction direction, int hops) {
        GraphTraversal<Vertex, Vertex> found = g.V(id(start.node)).to(direction, TYPE).dedup();
        for (int hop = 1; hop < hops; hop++) {
            found = found.union(__.<Vertex>identity(), __.<Vertex>to(direction, TYPE)).dedup();
        }
        return found.hasId(P.neq(id(start.node)));
    }

    /** Ids are given when nodes are made, and are their numbers in another form: a checksum of them reads nothing. */
    Object id(long number) {
        return ids.toVertexId(number + 1);
    }

    long number(Vertex vertex) {
        return ids.fromVertexId((Long) vertex.id()) - 1;
    }

    // The database.

    static JanusGraph at(Path folder) {
        return JanusGraphFactory.build().set("storage.backend", "berkeleyje").set("storage.directory", folder.toString())
            .set("graph.set-vertex-id", true).set("schema.default", "none").set("ids.block-size", 1_000_000).open();
    }

    void open() {
        graph = at(place);
        ids = ((StandardJanusGraph) graph).getIDManager();
    }

    /** Makes the database, under another name first: a load that is killed leaves none. */
    void make(Path folder) throws IOException {
        Path made = place.resolveSibling(place.getFileName() + ".loading");
        remove(made);
        try (JanusGraph loaded = at(made)) {
            ids = ((StandardJanusGraph) loaded).getIDManager();
            addSchema(loaded);
            long added = 0, linked = 0;
            for (Path file : filesOf(folder, "nodes-")) {
                try (Stream<Node> rows = rows(file, "id:", "age:", "name:")
                    .map(row -> new Node(Long.parseLong(row[0]), row[1].isEmpty() ? null : Long.valueOf(row[1]), row[2]))) {
                    added += addNodes(loaded, rows.iterator());
                }
            }
            for (Path file : filesOf(folder, "edges-")) {
                try (Stream<Row> rows = rows(file, ":START_ID", ":END_ID", "time:")
                    .map(row -> new Row(Long.parseLong(row[0]), Long.parseLong(row[1]), Long.parseLong(row[2])))) {
                    linked += addEdges(loaded, rows.iterator(), BATCH);
                }
            }
            loaded.variables().set("nodes", added);
            loaded.variables().set("edges", linked);
        }
        Files.move(made, place);
    }

    static void addSchema(JanusGraph graph) {
        JanusGraphManagement schema = graph.openManagement();
        PropertyKey key = schema.makePropertyKey(KEY).dataType(Long.class).make();
        schema.makePropertyKey("age").dataType(Long.class).make();
        schema.makePropertyKey("name").dataType(String.class).make();
        schema.makePropertyKey("time").dataType(Long.class).make();
        schema.makeVertexLabel(LABEL).make();
        schema.makeEdgeLabel(TYPE).make();
        schema.buildIndex("by_key", Vertex.class).addKey(key).unique().buildCompositeIndex();
        schema.commit();
    }

    long addNodes(JanusGraph graph, Iterator<Node> rows) {
        long count = 0;
        while (rows.hasNext()) {
            JanusGraphTransaction tx = graph.buildTransaction().enableBatchLoading().start();
            for (int at = 0; at < BATCH && rows.hasNext(); at++, count++) {
                Node row = rows.next();
                Vertex node = tx.addVertex(T.id, id(row.key), T.label, LABEL, KEY, row.key);
                if (row.age != null) {
                    node.property("age", row.age);
                }
                if (row.name != null) {
                    node.property("name", row.name);
                }
            }
            tx.commit();
        }
        return count;
    }

    /** Ends of edges are not looked up: they were added before. */
    long addEdges(JanusGraph graph, Iterator<Row> rows, int batch) {
        long count = 0;
        while (rows.hasNext()) {
            JanusGraphTransaction tx = graph.buildTransaction().enableBatchLoading().checkExternalVertexExistence(false).start();
            for (int at = 0; at < batch && rows.hasNext(); at++, count++) {
                Row row = rows.next();
                tx.getVertex(id(row.source)).addEdge(TYPE, tx.getVertex(id(row.target)), "time", row.time);
            }
            tx.commit();
        }
        return count;
    }

    // Files.

    static List<Path> filesOf(Path folder, String start) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            List<Path> found = files.filter(file -> file.getFileName().toString().startsWith(start)).sorted().toList();
            if (found.isEmpty()) {
                throw new IOException(folder + ": no files of knot generate");
            }
            return found;
        }
    }

    /** The columns whose names begin so. Generated values have neither commas nor quotes. */
    static Stream<String[]> rows(Path file, String... wanted) throws IOException {
        List<String> head;
        try (BufferedReader reader = Files.newBufferedReader(file)) {
            head = Arrays.asList(reader.readLine().split(","));
        }
        int[] places = new int[wanted.length];
        for (int at = 0; at < wanted.length; at++) {
            String start = wanted[at];
            places[at] = head.indexOf(head.stream().filter(name -> name.startsWith(start)).findFirst().orElseThrow());
        }
        return Files.lines(file).skip(1).map(line -> {
            String[] values = line.split(",", -1);
            return Arrays.stream(places).mapToObj(place -> values[place]).toArray(String[]::new);
        });
    }

    static void remove(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }

    static long bytes(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(Files::isRegularFile).mapToLong(file -> file.toFile().length()).sum();
        }
    }

    /** Drops the files from the page cache by GNU dd, since Java cannot. */
    boolean forget() throws IOException {
        String drop = "for file in \"$0\"/*.jdb; do dd if=\"$file\" iflag=nocache count=0 || exit 1; done";
        Process process = new ProcessBuilder("sh", "-c", drop, place.toString())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try {
            return process.waitFor() == 0;
        } catch (InterruptedException stopped) {
            return false;
        }
    }

    // Questions.

    Map<String, Object> answer(JsonNode question) throws IOException {
        return switch (question.get("ask").asText()) {
            case "describe" -> describe();
            case "choose" -> choose(question);
            case "perform" -> perform(question.get("operation").asText(), startOf(question.get("start")));
            case "cool" -> cool();
            case "warm" -> warm();
            case "copy" -> copy();
            default -> throw new IOException("no such question: " + question.get("ask"));
        };
    }

    Map<String, Object> describe() throws IOException {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("system", "janusgraph");
        told.put("version", JanusGraphConstants.VERSION);
        told.put("place", place.toString());
        told.put("nodes", nodes);
        told.put("edges", edges);
        told.put("bytes", bytes(place));
        told.put("settings", Map.of(
            "backend", "berkeleyje",
            "driver", "Gremlin within the process, a transaction for each call",
            "heap", Runtime.getRuntime().maxMemory() / (1 << 20) + " MiB",
            "java", System.getProperty("java.version"),
            "graph.set-vertex-id", "true"));
        told.put("coldMethod", "the database is closed, " + (isForgotten
            ? "its files are dropped from the page cache, and it is opened anew"
            : "and opened anew; its files stay in the page cache") + "; the code of the virtual machine stays compiled");
        told.put("operations", Stream.concat(reads.keySet().stream(), WRITES.stream()).toList());
        return told;
    }

    Map<String, Object> choose(JsonNode question) {
        Random draws = new Random(question.get("seed").asLong());
        long within = question.path("within").asLong(0);
        boolean isByDegree = question.path("choice").asText().equals("by degree") && edges > 0;
        List<Map<String, Object>> starts = new ArrayList<>();
        JanusGraphTransaction tx = graph.buildTransaction().readOnly().start();
        try {
            GraphTraversalSource g = tx.traversal();
            for (int at = 0; at < question.get("count").asInt(); at++) {
                starts.add(toldOf(drawn(g, draws, isByDegree, within > 0 ? Math.min(within, nodes) : nodes)));
            }
        } finally {
            tx.rollback();
        }
        return Map.of("starts", starts);
    }

    /** Generated nodes are numbered from 0 on, without gaps. */
    Start drawn(GraphTraversalSource g, Random draws, boolean isByDegree, long below) {
        long node = isByDegree ? byDegree(g, draws) : draws.nextLong(below);
        return new Start(node, draws.nextLong(nodes), node, edgeOf(g, draws));
    }

    long byDegree(GraphTraversalSource g, Random draws) {
        long[] drawn = draws.longs(CANDIDATES, 0, nodes).toArray();
        long[] degrees = Arrays.stream(drawn).map(node -> g.V(id(node)).bothE(TYPE).count().next()).toArray();
        long sum = Arrays.stream(degrees).sum();
        long left = sum == 0 ? 0 : draws.nextLong(sum);
        int at = 0;
        while (sum > 0 && left >= degrees[at]) {
            left -= degrees[at++];
        }
        return drawn[at];
    }

    /** One of the edges that leave a node, or null where none of some nodes has any. */
    String edgeOf(GraphTraversalSource g, Random draws) {
        for (int tries = 0; tries < CANDIDATES; tries++) {
            List<Edge> found = g.V(id(draws.nextLong(nodes))).outE(TYPE).toList();
            if (!found.isEmpty()) {
                return found.get(draws.nextInt(found.size())).id().toString();
            }
        }
        return null;
    }

    static Map<String, Object> toldOf(Start start) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("node", start.node);
        told.put("target", start.target);
        told.put("key", start.key);
        told.put("edgeName", start.edge);
        return told;
    }

    static Start startOf(JsonNode told) {
        long node = told.path("node").asLong();
        return new Start(node, told.path("target").asLong(), told.path("key").asLong(node), told.path("edgeName").asText(null));
    }

    Map<String, Object> perform(String operation, Start start) throws IOException {
        if (operation.startsWith("ingest")) {
            return operation.equals("ingest, bulk") ? ingestBulk() : ingestIncrement();
        }
        if (WRITES.contains(operation)) {
            return write(operation, start);
        }
        Call call = reads.get(operation);
        if (call == null) {
            throw new IOException("no such operation: " + operation);
        }
        // The transaction is part of the call: its cache would answer the next one.
        long before = System.nanoTime();
        JanusGraphTransaction tx = graph.buildTransaction().readOnly().start();
        Object result;
        try {
            result = call.apply(tx.traversal(), start);
        } catch (RuntimeException failure) {
            tx.rollback();
            throw failure;
        }
        long ns = System.nanoTime() - before;
        Found found = found(operation, result);
        before = System.nanoTime();
        tx.rollback();
        ns += System.nanoTime() - before;
        return Map.of("ns", ns, "rows", found.rows, "checksum", found.checksum, "counts", found.counts);
    }

    Found found(String operation, Object result) {
        List<?> rows = result instanceof List<?> list ? list : List.of(result);
        long sum = 0;
        for (Object row : rows) {
            if (row instanceof Vertex vertex) {
                sum += number(vertex);
            } else if (row instanceof Met met) {
                sum += number(met.node);
            } else if (row instanceof Edge edge) {
                sum += number(edge.outVertex());
            } else if (row instanceof Number value) {
                sum += value.longValue();
            }
        }
        long count = rows.size();
        sum &= Long.MAX_VALUE;
        if (operation.startsWith("neighbours")) {
            long properties = operation.endsWith("property") ? count : 0;
            return new Found(count, sum,
                Map.of("neighborhoods", operation.contains("both") ? 2L : 1L, "edges", count, "properties", properties));
        }
        return operation.contains("-hop") ? new Found(count, sum, Map.of("uniqueNodes", count)) : Found.of(count, sum);
    }

    /** Calls each read for a while, as the first calls of a virtual machine say nothing of those that follow. */
    void rehearse() throws IOException {
        Random draws = new Random(0);
        List<Start> starts = new ArrayList<>();
        JanusGraphTransaction tx = graph.buildTransaction().readOnly().start();
        for (int at = 0; at < 100; at++) {
            starts.add(drawn(tx.traversal(), draws, false, nodes));
        }
        tx.rollback();
        if (starts.stream().anyMatch(start -> start.edge == null)) {
            reads.keySet().removeIf(name -> name.startsWith("edge "));
        }
        for (String operation : reads.keySet()) {
            long end = System.nanoTime() + REHEARSAL_NS;
            for (int at = 0; at < REHEARSALS && System.nanoTime() < end; at++) {
                perform(operation, starts.get(at % starts.size()));
            }
        }
    }

    Map<String, Object> cool() throws IOException {
        graph.close();
        forget();
        open();
        return Map.of();
    }

    Map<String, Object> warm() {
        JanusGraphTransaction tx = graph.buildTransaction().readOnly().start();
        GraphTraversalSource g = tx.traversal();
        g.V().values("age").max().tryNext();
        g.E().values("time").max().tryNext();
        tx.rollback();
        return Map.of();
    }

    // Writes.

    Map<String, Object> write(String operation, Start start) throws IOException {
        if (copies == null) {
            throw new IOException("writes go to a copy: ask for it first");
        }
        JanusGraphTransaction tx = graph.newTransaction();
        GraphTraversalSource g = tx.traversal();
        try {
            long before = System.nanoTime();
            switch (operation) {
                case "add edge" -> g.addE(TYPE).from(__.V(id(start.node))).to(__.V(id(start.target))).iterate();
                case "set node property" -> g.V(id(start.node)).property("age", start.target).iterate();
                default -> g.addV(LABEL).property(T.id, id(free)).property(KEY, free++).iterate();
            }
            if (operation.equals("commit")) {
                before = System.nanoTime();
                tx.commit();
            }
            return Map.of("ns", System.nanoTime() - before, "rows", 1);
        } finally {
            if (tx.isOpen()) {
                tx.rollback();
            }
        }
    }

    Map<String, Object> copy() throws IOException {
        List<Row> sample = new ArrayList<>();
        JanusGraphTransaction tx = graph.buildTransaction().readOnly().start();
        tx.traversal().E().limit(INGEST_EDGES)
            .forEachRemaining(edge -> sample.add(new Row(number(edge.outVertex()), number(edge.inVertex()), 1)));
        tx.rollback();
        bulkRows = new ArrayList<>();
        increment = new ArrayList<>();
        TreeSet<Long> ends = new TreeSet<>();
        for (Row row : sample) {
            ((bulkRows.size() + increment.size()) % 10 < 9 ? bulkRows : increment).add(row);
            ends.add(row.source);
            ends.add(row.target);
        }
        nodeRows = ends.stream().map(key -> new Node(key, null, null)).collect(Collectors.toList());
        graph.close();
        copies = Files.createTempDirectory(place.toAbsolutePath().getParent(), "introspect-");
        Path copied = Files.createDirectory(copies.resolve("copy"));
        try (Stream<Path> files = Files.list(place)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                // Locks belong to the process that has the database open.
                if (!file.toString().endsWith(".lck")) {
                    Files.copy(file, copied.resolve(file.getFileName()));
                }
            }
        }
        place = copied;
        open();
        return Map.of();
    }

    Map<String, Object> ingestBulk() throws IOException {
        Path path = copies.resolve("ingest");
        if (target != null) {
            target.close();
        }
        remove(path);
        long before = System.nanoTime();
        target = at(path);
        addSchema(target);
        addNodes(target, nodeRows.iterator());
        addEdges(target, bulkRows.iterator(), BATCH);
        long ns = System.nanoTime() - before;
        long made = nodeRows.size(), linked = bulkRows.size();
        return Map.of("ns", ns, "rows", linked,
            "counts", Map.of("uniqueNodes", made, "edges", linked, "properties", made + linked));
    }

    Map<String, Object> ingestIncrement() {
        long before = System.nanoTime();
        addEdges(target, increment.iterator(), COMMIT_EDGES);
        long ns = System.nanoTime() - before;
        long linked = increment.size();
        return Map.of("ns", ns, "rows", linked, "counts",
            Map.of("edges", linked, "properties", linked, "passes", (linked + COMMIT_EDGES - 1) / COMMIT_EDGES));
    }

    void close() throws IOException {
        graph.close();
        if (target != null) {
            target.close();
        }
        if (copies != null) {
            remove(copies);
        }
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length < 1 || arguments.length > 2) {
            System.err.println("usage: java -cp 'JARS/*' JanusGraph.java PLACE [FOLDER]");
            System.exit(2);
        }
        // Answers alone go to the standard output; what libraries print does not.
        PrintStream answers = System.out, errors = System.err;
        System.setOut(errors);
        // Without a logger the interface of loggers says so, once.
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        org.slf4j.LoggerFactory.getILoggerFactory();
        System.setErr(errors);
        JanusGraphSubject subject = null;
        try {
            subject = new JanusGraphSubject(Path.of(arguments[0]), arguments.length > 1 ? Path.of(arguments[1]) : null);
        } catch (Exception failure) {
            failure.printStackTrace(errors);
            System.exit(1);
        }
        ObjectMapper json = new ObjectMapper();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = json.readTree(line);
            if (question.path("ask").asText().equals("close")) {
                break;
            }
            Map<String, Object> answer;
            try {
                answer = subject.answer(question);
            } catch (Exception failure) {
                answer = Map.of("error", failure.getClass().getSimpleName() + ": " + failure.getMessage());
            }
            answers.println(json.writeValueAsString(answer));
            answers.flush();
        }
        subject.close();
        // Threads of libraries may stay.
        System.exit(0);
    }
}
