// Sessions of Neo4j's driver for Java: values of every type both ways, graphs, transactions, streams and errors.
//
// NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD name an empty server. Each case that differs is printed with what was expected and
// what was found; the last line is the number of cases, and the exit code 1 if one of them differed. Java runs this file as it is.

import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Driver;
import org.neo4j.driver.EagerResult;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.QueryConfig;
import org.neo4j.driver.RoutingControl;
import org.neo4j.driver.Session;
import org.neo4j.driver.SessionConfig;
import org.neo4j.driver.SimpleQueryRunner;
import org.neo4j.driver.Value;
import org.neo4j.driver.Values;
import org.neo4j.driver.exceptions.Neo4jException;
import org.neo4j.driver.types.Node;
import org.neo4j.driver.types.Path;
import org.neo4j.driver.types.Relationship;

final class Sessions {
    private static final String URI = System.getenv("NEO4J_URI");
    private static final String USER = System.getenv("NEO4J_USERNAME");
    private static final String PASSWORD = System.getenv("NEO4J_PASSWORD");

    private final Driver driver;
    private int cases = 0;
    private int differing = 0;

    private Sessions(Driver driver) {
        this.driver = driver;
    }

    public static void main(String[] arguments) throws Exception {
        try (var driver = GraphDatabase.driver(URI, AuthTokens.basic(USER, PASSWORD))) {
            var sessions = new Sessions(driver);
            sessions.values();
            sessions.graphs();
            sessions.transactions();
            sessions.streams();
            sessions.errors();
            sessions.summaries();
            System.out.println(sessions.cases + " cases");
            System.exit(sessions.differing == 0 ? 0 : 1);
        }
    }

    /** A case: what `find` gives is compared with what is expected, in the types of the driver. */
    private void check(String name, Object expected, Callable<Object> find) {
        cases += 1;
        Object found;
        try {
            found = find.call();
        } catch (Exception failure) {
            found = failure;
        }
        if (!comparable(found).equals(comparable(expected))) {
            differing += 1;
            System.out.println("DIFFERS " + name + ": expected " + brief(expected) + ", found " + brief(found));
        }
    }

    private static String brief(Object value) {
        var text = comparable(value).toString() + (value instanceof Exception failure ? ": " + failure.getMessage() : "");
        return text.length() > 400 ? text.substring(0, 400) + "… (" + text.length() + " characters)" : text;
    }

    /** The same with what `equals` does not look into taken apart. NaN equals itself, and -0 is not 0. */
    private static Object comparable(Object value) {
        if (value == null) {
            return "null";
        } else if (value instanceof Value wrapped) {
            return comparable(wrapped.asObject());
        } else if (value instanceof byte[] bytes) {
            return "bytes " + HexFormat.of().formatHex(bytes);
        } else if (value instanceof String text) {
            return "'" + text + "'";
        } else if (value instanceof List<?> list) {
            return list.stream().map(Sessions::comparable).toList();
        } else if (value instanceof Map<?, ?> map) {
            var found = new TreeMap<String, Object>();
            map.forEach((key, item) -> found.put(key.toString(), comparable(item)));
            return found;
        } else if (value instanceof Node node) {
            return list("node", node.elementId(), new TreeSet<>(labels(node)), comparable(node.asMap()));
        } else if (value instanceof Relationship edge) {
            return list("relationship", edge.elementId(), edge.type(), ends(edge), comparable(edge.asMap()));
        } else if (value instanceof Path path) {
            var found = new ArrayList<Object>();
            found.add(comparable(path.start()));
            path.forEach(segment -> found.addAll(list(comparable(segment.relationship()), comparable(segment.end()))));
            return found;
        } else if (value instanceof Neo4jException failure) {
            return refused(failure.getClass().getSimpleName(), failure.code(), failure.gqlStatus());
        } else if (value instanceof Exception failure) {
            return failure.getClass().getSimpleName();
        }
        return value;
    }

    private record Refusal(String kind, String code, String status) {}

    private static Refusal refused(String kind, String code, String status) {
        return new Refusal(kind, code.startsWith("Neo.") ? code : "Neo.ClientError." + code, status);
    }

    /** A list that may have nulls. */
    private static List<Object> list(Object... values) {
        return Arrays.asList(values);
    }

    private static Set<String> labels(Node node) {
        var found = new TreeSet<String>();
        node.labels().forEach(found::add);
        return found;
    }

    private static List<Object> ends(Relationship edge) {
        return list(edge.startNodeElementId(), edge.endNodeElementId());
    }

    private static Exception failure(Callable<Object> act) {
        try {
            act.call();
        } catch (Exception failure) {
            return failure;
        }
        return new IllegalStateException("no error");
    }

    private EagerResult query(String text) {
        return driver.executableQuery(text).execute();
    }

    private List<Object> row(String text, Map<String, Object> parameters) {
        return rows(text, parameters).get(0);
    }

    private List<List<Object>> rows(String text, Map<String, Object> parameters) {
        var records = driver.executableQuery(text).withParameters(parameters).execute().records();
        return records.stream().map(record -> record.values().stream().map(Value::asObject).toList()).toList();
    }

    private Object single(String text, Map<String, Object> parameters) {
        return row(text, parameters).get(0);
    }

    private Object single(String text) {
        return single(text, Map.of());
    }

    private static Object first(SimpleQueryRunner runner, String text) {
        return runner.run(text).single().get(0).asObject();
    }

    private Object inSession(Function<Session, Object> act) {
        return inSession(SessionConfig.defaultConfig(), act);
    }

    private Object inSession(SessionConfig settings, Function<Session, Object> act) {
        try (var session = driver.session(settings)) {
            return act.apply(session);
        }
    }

    private static SessionConfig batchesOf(long records) {
        return SessionConfig.builder().withFetchSize(records).build();
    }

    /** A value, and Cypher that makes the same value where there is some. */
    private record Sample(String name, Object value, String text) {}

    private static byte[] bytes(int length) {
        var found = new byte[length];
        for (int at = 0; at < length; at += 1) {
            found[at] = (byte) at;
        }
        return found;
    }

    private static List<Object> integers(int length) {
        return LongStream.rangeClosed(1, length).mapToObj(value -> (Object) value).toList();
    }

    private static Map<String, Object> map(String key, Object value) {
        var found = new LinkedHashMap<String, Object>();
        found.put(key, value);
        return found;
    }

    private static List<Sample> samples() {
        var found = new ArrayList<Sample>();
        found.add(new Sample("null", null, "null"));
        found.add(new Sample("true", true, "true"));
        found.add(new Sample("false", false, "false"));
        // Both sides of each limit of a form of integers.
        for (long value : new long[] {
            0, -1, 127, 128, -16, -17, -128, -129, 32_767, 32_768, -32_768, -32_769, 2_147_483_647L, 2_147_483_648L,
            -2_147_483_648L, -2_147_483_649L, 9_007_199_254_740_993L, Long.MAX_VALUE, Long.MIN_VALUE
        }) {
            found.add(new Sample("integer " + value, value, Long.toString(value)));
        }
        found.add(new Sample("float 0.0", 0.0, "0.0"));
        found.add(new Sample("float -0.0", -0.0, "-0.0"));
        found.add(new Sample("float -1.5", -1.5, "-1.5"));
        found.add(new Sample("float 1.7976931348623157e308", Double.MAX_VALUE, "1.7976931348623157e308"));
        found.add(new Sample("float 5e-324", Double.MIN_VALUE, "5e-324"));
        found.add(new Sample("float Infinity", Double.POSITIVE_INFINITY, "1.0 / 0.0"));
        found.add(new Sample("float -Infinity", Double.NEGATIVE_INFINITY, "-1.0 / 0.0"));
        found.add(new Sample("float NaN", Double.NaN, "0.0 / 0.0"));
        found.add(new Sample("empty string", "", "''"));
        found.add(new Sample("string beyond the first plane", "Größenmaßstäbe 𝄞", "'Größenmaßstäbe \\U0001D11E'"));
        // Both sides of each limit of a form of strings.
        for (int length : new int[] {15, 16, 255, 256, 65_535, 65_536, 100_000}) {
            found.add(new Sample("string of " + length, "x".repeat(length), "$x"));
        }
        for (int length : new int[] {0, 255, 256, 100_000}) {
            found.add(new Sample(length + " bytes", bytes(length), "$x"));
        }
        found.add(new Sample("empty list", List.of(), "[]"));
        found.add(new Sample("nested list", list(1L, "a", null, list(2.5, list(true))), "[1, 'a', null, [2.5, [true]]]"));
        found.add(new Sample("list of 70000", integers(70_000), "range(1, 70000)"));
        found.add(new Sample("empty map", Map.of(), "{}"));
        var nested = map("a", 1L);
        nested.put("b", map("c", list(null, map("d", "e"))));
        found.add(new Sample("nested map", nested, "{a: 1, b: {c: [null, {d: 'e'}]}}"));
        found.addAll(temporalSamples());
        found.add(new Sample("point in a plane", Values.point(7203, 1, -2.5).asPoint(), "point({x: 1, y: -2.5})"));
        found.add(new Sample("point in space", Values.point(9157, 1, 2, 1e300).asPoint(), "point({x: 1, y: 2, z: 1e300})"));
        var earth = Values.point(4326, 12.5, 55.6).asPoint();
        found.add(new Sample("point on the earth", earth, "point({longitude: 12.5, latitude: 55.6})"));
        var pole = Values.point(4979, -180, 90, -3).asPoint();
        found.add(new Sample("point above the earth", pole, "point({longitude: -180, latitude: 90, height: -3})"));
        return found;
    }

    private static List<Sample> temporalSamples() {
        var stockholm = ZoneId.of("Europe/Stockholm");
        var newYork = ZoneId.of("America/New_York");
        var thatDay = LocalDateTime.of(2015, 7, 21, 21, 40, 32, 142_000_000);
        var twice = LocalDateTime.of(2024, 10, 27, 2, 30);
        var leapDay = LocalDateTime.of(2024, 2, 29, 23, 59, 59, 999_999_999);
        var early = LocalDateTime.of(1900, 2, 28, 0, 0, 0, 1);
        var before = ZonedDateTime.of(1969, 12, 31, 23, 59, 59, 1, ZoneOffset.UTC);
        var summer = ZonedDateTime.of(2024, 6, 21, 12, 30, 15, 123_456_789, stockholm);
        var winter = ZonedDateTime.of(2024, 1, 21, 12, 30, 15, 0, newYork);
        var late = OffsetTime.of(23, 59, 59, 999_999_999, ZoneOffset.UTC);
        var night = OffsetTime.of(1, 2, 3, 4, ZoneOffset.ofHoursMinutes(-5, -30));
        return List.of(
                new Sample("date 0001-01-01", LocalDate.of(1, 1, 1), "date('0001-01-01')"),
                new Sample("date 1970-01-01", LocalDate.of(1970, 1, 1), "date('1970-01-01')"),
                new Sample("date 2024-02-29", LocalDate.of(2024, 2, 29), "date('2024-02-29')"),
                new Sample("date 9999-12-31", LocalDate.of(9999, 12, 31), "date('9999-12-31')"),
                new Sample("time of UTC", late, "time('23:59:59.999999999Z')"),
                new Sample("time at an offset", night, "time('01:02:03.000000004-05:30')"),
                new Sample("local time 0", LocalTime.MIDNIGHT, "localtime('00:00')"),
                new Sample("local time", LocalTime.of(23, 59, 59, 999_999_999), "localtime('23:59:59.999999999')"),
                new Sample("local datetime before 1970", early, "localdatetime('1900-02-28T00:00:00.000000001')"),
                new Sample("local datetime", leapDay, "localdatetime('2024-02-29T23:59:59.999999999')"),
                new Sample("datetime of UTC", before, "datetime('1969-12-31T23:59:59.000000001Z')"),
                new Sample("datetime at +02:00", thatDay.atZone(ZoneOffset.ofHours(2)), "datetime('2015-07-21T21:40:32.142+02:00')"),
                new Sample(
                        "datetime at -10:30",
                        thatDay.atZone(ZoneOffset.ofHoursMinutes(-10, -30)),
                        "datetime('2015-07-21T21:40:32.142-10:30')"),
                new Sample("datetime in Europe/Stockholm", summer, "datetime('2024-06-21T12:30:15.123456789[Europe/Stockholm]')"),
                new Sample("datetime in America/New_York", winter, "datetime('2024-01-21T12:30:15[America/New_York]')"),
                // As clocks go back, the same local time comes twice. The driver reads the second as the first.
                new Sample(
                        "the first 02:30 of two",
                        twice.atZone(stockholm).withEarlierOffsetAtOverlap(),
                        "datetime('2024-10-27T02:30:00+02:00[Europe/Stockholm]')"),
                new Sample(
                        "duration",
                        Values.isoDuration(14, -3, 70, 5).asIsoDuration(),
                        "duration({months: 14, days: -3, seconds: 70, nanoseconds: 5})"),
                new Sample(
                        "negative duration",
                        Values.isoDuration(0, 0, -1, 1).asIsoDuration(),
                        "duration({seconds: -1, nanoseconds: 1})"));
    }

    private void values() {
        var all = new ArrayList<Object>();
        var properties = new LinkedHashMap<String, Object>();
        // Nothing is stored for null; lists of several types, and maps, are no properties.
        var isNoProperty = Set.of("null", "nested list", "empty map", "nested map");
        for (var sample : samples()) {
            var text = "RETURN $x AS sent, " + sample.text + " AS made";
            check(sample.name, list(sample.value, sample.value), () -> row(text, map("x", sample.value)));
            all.add(sample.value);
            if (!isNoProperty.contains(sample.name)) {
                properties.put(sample.name, sample.value);
            }
        }
        check("all values in a list", all, () -> {
            return rows("UNWIND $values AS value RETURN value", map("values", all)).stream().map(row -> row.get(0)).toList();
        });
        check("all values as properties", properties, () -> {
            rows("CREATE (n:Value) SET n = $properties", map("properties", properties));
            return ((Node) single("MATCH (n:Value) RETURN n")).asMap();
        });
        var second = LocalDateTime.of(2024, 10, 27, 2, 30).atZone(ZoneId.of("Europe/Stockholm")).withLaterOffsetAtOverlap();
        check("the second 02:30 of two is sent", "2024-10-27T02:30+01:00[Europe/Stockholm]", () -> {
            return single("RETURN toString($x)", map("x", second));
        });
        // What only this driver has.
        var offset = OffsetDateTime.of(2024, 1, 1, 0, 0, 0, 0, ZoneOffset.ofHours(1));
        var expected = list(
                7L, list(1L, 2L), Values.isoDuration(2, 3, 0, 0).asIsoDuration(), Values.isoDuration(0, 0, 4, 5).asIsoDuration(),
                offset.toZonedDateTime());
        check("other numbers, arrays, periods and datetimes", expected, () -> {
            return single("RETURN $x", map("x", list(7, new int[] {1, 2}, Period.of(0, 2, 3), Duration.ofSeconds(4, 5), offset)));
        });
        // The server has one status for all arguments out of range; Neo4j's own for this is 22N21.
        var refusal = refused("ClientException", "Statement.ArgumentError", "22N02");
        check("a point of an unknown system is refused", list(refusal, true), () -> {
            var found = failure(() -> rows("RETURN $x", map("x", Values.point(4711, 1, 2))));
            return list(found, found.getMessage().contains("coordinate reference system 4711"));
        });
    }

    private void graphs() {
        query("CREATE (a:Person:Admin {name: 'Ann', born: date('1990-01-02')})-[:KNOWS {since: 2001}]->(b:Person {name: 'Bob'})"
                + "<-[:LIKES]-(c:Person {name: 'Cid'})");
        var row = row("MATCH p = (a {name: 'Ann'})-[r:KNOWS]->(b)<-[s]-(c) RETURN a, r, b, s, c, p, elementId(a), elementId(r)", Map.of());
        Node ann = (Node) row.get(0), bob = (Node) row.get(2), cid = (Node) row.get(4);
        Relationship knows = (Relationship) row.get(1), likes = (Relationship) row.get(3);
        var path = (Path) row.get(5);
        var properties = Map.of("name", "Ann", "born", LocalDate.of(1990, 1, 2));
        check("labels and properties of a node", list(Set.of("Admin", "Person"), properties), () -> list(labels(ann), ann.asMap()));
        check("type and properties of a relationship", list("KNOWS", Map.of("since", 2001L)), () -> list(knows.type(), knows.asMap()));
        check("element ids are those of the function", row.subList(6, 8), () -> list(ann.elementId(), knows.elementId()));
        check("a node is found by its element id", "Ann", () -> {
            return single("MATCH (n) WHERE elementId(n) = $id RETURN n.name", map("id", ann.elementId()));
        });
        check("a relationship is found by its element id", 2001L, () -> {
            return single("MATCH ()-[r]->() WHERE elementId(r) = $id RETURN r.since", map("id", knows.elementId()));
        });
        var directions = list(list(ann.elementId(), bob.elementId()), list(cid.elementId(), bob.elementId()));
        check("relationships have directions", directions, () -> list(ends(knows), ends(likes)));
        check("a path has nodes and relationships in order", list(ann, knows, bob, likes, cid), () -> path);
        check("a path of no relationship", list(ann), () -> single("MATCH p = (:Admin) RETURN p"));
        check("graphs in lists and maps", list(ann, Map.of("edge", knows, "walk", list(path))), () -> {
            return single("MATCH p = (a:Admin)-[r:KNOWS]->()<--() RETURN [a, {edge: r, walk: [p]}]");
        });
    }

    private static final String COUNT = "MATCH (n:T) RETURN count(n)";

    private void transactions() {
        check("an explicit transaction commits", list(1L, 0L, 1L), () -> inSession(session -> {
            try (var transaction = session.beginTransaction()) {
                transaction.run("CREATE (:T)");
                var inside = first(transaction, COUNT);
                var outside = single(COUNT);
                transaction.commit();
                return list(inside, outside, single(COUNT));
            }
        }));
        check("an explicit transaction rolls back", 1L, () -> inSession(session -> {
            try (var transaction = session.beginTransaction()) {
                transaction.run("CREATE (:T)");
                transaction.rollback();
                return single(COUNT);
            }
        }));
        check("a managed transaction writes", list(2L, 2L), () -> inSession(session -> {
            var found = session.executeWrite(transaction -> first(transaction, "CREATE (:T) WITH 1 AS x MATCH (n:T) RETURN count(n)"));
            return list(found, single(COUNT));
        }));
        check("a managed transaction reads", 2L, () -> inSession(session -> session.executeRead(transaction -> first(transaction, COUNT))));
        check("a managed transaction that reads does not write", refused("ClientException", "Statement.AccessMode", "42N02"), () -> {
            return inSession(session -> session.executeRead(transaction -> transaction.run("CREATE (:T)").consume()));
        });
        check("work that fails is rolled back", list(new ArithmeticException(), 2L), () -> inSession(session -> {
            var found = failure(() -> session.executeWrite(transaction -> {
                transaction.run("CREATE (:T)");
                throw new ArithmeticException("given up");
            }));
            return list(found, single(COUNT));
        }));
        check("conflicts are tried again", 40L, this::countTogether);
        check("bookmarks are passed on", list(1, 3L), () -> {
            var bookmarks = new ArrayList<org.neo4j.driver.Bookmark>();
            inSession(session -> session.run("CREATE (:T)").consume() != null && bookmarks.addAll(session.lastBookmarks()));
            var settings = SessionConfig.builder().withBookmarks(bookmarks).build();
            return list(bookmarks.size(), inSession(settings, session -> first(session, COUNT)));
        });
        check("a failure ends its transaction", list(refused("ClientException", "Statement.SyntaxError", "42001"), true, 3L), () -> {
            return inSession(session -> {
                try (var transaction = session.beginTransaction()) {
                    transaction.run("CREATE (:T)");
                    var found = failure(() -> transaction.run("RETRUN 1").consume());
                    var committed = failure(() -> {
                        transaction.commit();
                        return null;
                    });
                    return list(found, committed instanceof Neo4jException, single(COUNT));
                }
            });
        });
    }

    /** Adds ones in four sessions at a time, which meet in one node. */
    private Object countTogether() throws Exception {
        query("CREATE (:Counter {n: 0})");
        Callable<Object> work = () -> inSession(session -> {
            for (int round = 0; round < 10; round += 1) {
                session.executeWrite(transaction -> {
                    var found = (Long) first(transaction, "MATCH (c:Counter) RETURN c.n");
                    return transaction.run("MATCH (c:Counter) SET c.n = $n", map("n", found + 1)).consume();
                });
            }
            return null;
        });
        var workers = Executors.newFixedThreadPool(4);
        try {
            for (Future<Object> end : workers.invokeAll(List.of(work, work, work, work))) {
                end.get();
            }
        } finally {
            workers.shutdown();
        }
        return single("MATCH (c:Counter) RETURN c.n");
    }

    private void streams() {
        check("10,000 records come in batches of 300", integers(10_000), () -> inSession(batchesOf(300), session -> {
            var found = new ArrayList<Object>();
            session.run("UNWIND range(1, 10000) AS i RETURN i").forEachRemaining(record -> found.add(record.get(0).asObject()));
            return found;
        }));
        var both = list(integers(1_000), integers(1_000));
        check("several results are open in a transaction", both, () -> inSession(batchesOf(100), session -> {
            return session.executeRead(transaction -> {
                var one = transaction.run("UNWIND range(1, 1000) AS i RETURN i");
                var two = transaction.run("UNWIND range(1, 1000) AS i RETURN i");
                List<Object> left = new ArrayList<>(), right = new ArrayList<>();
                while (one.hasNext() && two.hasNext()) {
                    left.add(one.next().get(0).asObject());
                    right.add(two.next().get(0).asObject());
                }
                return list(left, right);
            });
        }));
        check("the rest of a stream is not wanted", list(integers(25), 1L), () -> inSession(batchesOf(10), session -> {
            var result = session.run("UNWIND range(1, 1000000000) AS i RETURN i");
            var found = new ArrayList<Object>();
            while (found.size() < 25) {
                found.add(result.next().get(0).asObject());
            }
            result.consume();
            return list(found, first(session, "RETURN 1"));
        }));
        check("a failure behind records", list(true, refused("ClientException", "Statement.ArithmeticError", "22003")), () -> {
            return inSession(batchesOf(10), session -> {
                var found = new ArrayList<Object>();
                var end = failure(() -> {
                    session.run("UNWIND range(1, 5000) AS i RETURN 1 / (4500 - i) AS x").forEachRemaining(found::add);
                    return null;
                });
                return list(!found.isEmpty() && found.size() < 4_500, end);
            });
        });
    }

    private void errors() {
        query("CREATE CONSTRAINT unique_key FOR (n:U) REQUIRE n.k IS UNIQUE");
        var statements = List.of(
                List.of("RETRUN 1", "ClientException", "Statement.SyntaxError", "42001"),
                List.of("RETURN x", "ClientException", "Statement.SemanticError", "42001"),
                List.of("RETURN $x", "ClientException", "Statement.ParameterMissing", "42N51"),
                List.of("CALL nothing()", "ClientException", "Procedure.ProcedureNotFound", "42N08"),
                List.of("UNWIND [1, 'a'] AS x RETURN x + date()", "ClientException", "Statement.TypeError", "22N01"),
                List.of("CREATE (a:U {k: 1}), (b:U {k: 1})", "ClientException", "Schema.ConstraintValidationFailed", "22N79"),
                List.of("LOAD CSV FROM 'x.csv' AS row RETURN row", "SecurityException", "Security.Forbidden", "42NFF"));
        for (var statement : statements) {
            var text = statement.get(0);
            var expected = list(refused(statement.get(1), statement.get(2), statement.get(3)), 1L);
            check("error of " + text, expected, () -> inSession(session -> {
                var found = failure(() -> session.run(text).consume());
                return list(found, first(session, "RETURN 1"));
            }));
        }
        var unauthorized = refused("AuthenticationException", "Security.Unauthorized", "42NFF");
        check("a wrong password", unauthorized, () -> logIn(USER, "wrong password"));
        check("an unknown user", unauthorized, () -> logIn("nobody", PASSWORD));
        check("an unknown database", refused("FatalDiscoveryException", "Database.DatabaseNotFound", "42N00"), () -> {
            var elsewhere = QueryConfig.builder().withDatabase("elsewhere").build();
            return driver.executableQuery("RETURN 1").withConfig(elsewhere).execute();
        });
    }

    private static Object logIn(String user, String password) {
        try (var stranger = GraphDatabase.driver(URI, AuthTokens.basic(user, password))) {
            stranger.verifyConnectivity();
            return "no error";
        }
    }

    private List<Object> changes(String text) {
        var found = query(text).summary().counters();
        return list(
                found.nodesCreated(), found.nodesDeleted(), found.relationshipsCreated(), found.relationshipsDeleted(),
                found.propertiesSet(), found.labelsAdded(), found.labelsRemoved(), found.indexesAdded(), found.indexesRemoved(),
                found.constraintsAdded(), found.constraintsRemoved());
    }

    private void summaries() {
        check("counters of what is made", list(2, 0, 1, 0, 3, 3, 0, 0, 0, 0, 0), () -> {
            return changes("CREATE (a:A:B {x: 1, y: 2})-[:R {z: 3}]->(:C)");
        });
        check("counters of what is deleted", list(0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0), () -> {
            return changes("MATCH (a:A)-->(c:C) DETACH DELETE a, c");
        });
        check("kind, database and server", list("READ_WRITE", "neo4j", "5.8", true), () -> {
            var summary = query("CREATE (n:S) RETURN n").summary();
            var server = summary.server();
            var isKnotwork = server.agent().matches("Neo4j/5\\.\\d+\\.\\d+ \\(Knotwork .*\\)");
            return list(summary.queryType().name(), summary.database().name(), server.protocolVersion(), isKnotwork);
        });
        check("a plan and a profile", list(false, false, 7L), () -> {
            var plan = query("EXPLAIN MATCH (n:S) RETURN n").summary().plan();
            var profile = query("PROFILE UNWIND range(1, 7) AS i RETURN i").summary().profile();
            return list(plan.operatorType().isEmpty(), profile.operatorType().isEmpty(), profile.records());
        });
        check("a route leads back", 1L, () -> {
            try (var routed = GraphDatabase.driver(URI.replace("bolt:", "neo4j:"), AuthTokens.basic(USER, PASSWORD))) {
                var readers = QueryConfig.builder().withRouting(RoutingControl.READ).build();
                return routed.executableQuery("RETURN 1").withConfig(readers).execute().records().get(0).get(0).asObject();
            }
        });
    }
}
