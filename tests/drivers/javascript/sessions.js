// Sessions of Neo4j's driver for JavaScript: values of every type both ways, graphs, transactions, streams and errors.
//
// NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD name an empty server. Each case that differs is printed with what was expected and
// what was found; the last line is the number of cases, and the exit code 1 if one of them differed.

import neo4j from "neo4j-driver";
import { inspect, isDeepStrictEqual } from "node:util";

const { NEO4J_URI, NEO4J_USERNAME, NEO4J_PASSWORD } = process.env;
const { int } = neo4j;
const { Date, DateTime, Duration, LocalDateTime, LocalTime, Point, Time } = neo4j.types;

let cases = 0;
let differing = 0;

// A case: what `find` gives is compared with what is expected, in the types of the driver. NaN equals itself, and -0 is not 0.
async function check(name, expected, find) {
  cases += 1;
  let found;
  try {
    found = await find();
  } catch (error) {
    found = error;
  }
  if (!isDeepStrictEqual(found, expected)) {
    differing += 1;
    console.log(`DIFFERS ${name}: expected ${short(expected)}, found ${short(found)}`);
  }
}

function short(value) {
  const text = value instanceof Error ? `${value.name} ${value.code}: ${value.message}` : inspect(value, { depth: 6 });
  return text.length > 400 ? `${text.slice(0, 400)}… (${text.length} characters)` : text;
}

// The class, the code and the GQL status of the error that `act` ends with.
async function refusal(act) {
  try {
    await act();
  } catch (error) {
    return [error.name, error.code, error.gqlStatus];
  }
  return "no error";
}

function refused(code, status) {
  return ["Neo4jError", `Neo.ClientError.${code}`, status];
}

const driver = neo4j.driver(NEO4J_URI, neo4j.auth.basic(NEO4J_USERNAME, NEO4J_PASSWORD));

async function rows(text, parameters) {
  const { records } = await driver.executeQuery(text, parameters);
  return records.map((record) => [...record.values()]);
}

async function single(text, parameters) {
  return (await rows(text, parameters))[0][0];
}

async function inSession(act, settings) {
  const session = driver.session(settings);
  try {
    return await act(session);
  } finally {
    await session.close();
  }
}

const date = (year, month, day) => new Date(int(year), int(month), int(day));
const time = (...parts) => new Time(...parts.map((part) => int(part)));
const localTime = (...parts) => new LocalTime(...parts.map((part) => int(part)));
const localDateTime = (...parts) => new LocalDateTime(...parts.map((part) => int(part)));
const atOffset = (...parts) => new DateTime(...parts.map((part) => int(part)));
const inZone = (name, ...parts) => new DateTime(...parts.map((part) => int(part)), name);
const duration = (...parts) => new Duration(...parts.map((part) => int(part)));
const point = (system, ...coordinates) => new Point(int(system), ...coordinates);
const bytes = (length) => Int8Array.from({ length }, (_, at) => at);
const integers = (length) => Array.from({ length }, (_, at) => int(at + 1));

// A name, a value, and Cypher that makes the same value where there is some.
const VALUES = [
  ["null", null, "null"],
  ["true", true, "true"],
  ["false", false, "false"],
  // Both sides of each limit of a form of integers.
  ...[
    "0", "-1", "127", "128", "-16", "-17", "-128", "-129", "32767", "32768", "-32768", "-32769", "2147483647", "2147483648",
    "-2147483648", "-2147483649", "9007199254740993", "9223372036854775807", "-9223372036854775808",
  ].map((digits) => [`integer ${digits}`, int(digits), digits]),
  ["float 0.0", 0, "0.0"],
  ["float -0.0", -0, "-0.0"],
  ["float -1.5", -1.5, "-1.5"],
  ["float 1.7976931348623157e308", Number.MAX_VALUE, "1.7976931348623157e308"],
  ["float 5e-324", Number.MIN_VALUE, "5e-324"],
  ["float Infinity", Infinity, "1.0 / 0.0"],
  ["float -Infinity", -Infinity, "-1.0 / 0.0"],
  ["float NaN", NaN, "0.0 / 0.0"],
  ["empty string", "", "''"],
  ["string beyond the first plane", "Größenmaßstäbe 𝄞", "'Größenmaßstäbe \\U0001D11E'"],
  // Both sides of each limit of a form of strings.
  ...[15, 16, 255, 256, 65_535, 65_536, 100_000].map((length) => [`string of ${length}`, "x".repeat(length), null]),
  ...[0, 255, 256, 100_000].map((length) => [`${length} bytes`, bytes(length), null]),
  ["empty list", [], "[]"],
  ["nested list", [int(1), "a", null, [2.5, [true]]], "[1, 'a', null, [2.5, [true]]]"],
  ["list of 70000", integers(70_000), "range(1, 70000)"],
  ["empty map", {}, "{}"],
  ["nested map", { a: int(1), b: { c: [null, { d: "e" }] } }, "{a: 1, b: {c: [null, {d: 'e'}]}}"],
  ["date 0001-01-01", date(1, 1, 1), "date('0001-01-01')"],
  ["date 1970-01-01", date(1970, 1, 1), "date('1970-01-01')"],
  ["date 2024-02-29", date(2024, 2, 29), "date('2024-02-29')"],
  ["date 9999-12-31", date(9999, 12, 31), "date('9999-12-31')"],
  ["time of UTC", time(23, 59, 59, 999_999_999, 0), "time('23:59:59.999999999Z')"],
  ["time at an offset", time(1, 2, 3, 4, -19_800), "time('01:02:03.000000004-05:30')"],
  ["local time 0", localTime(0, 0, 0, 0), "localtime('00:00')"],
  ["local time", localTime(23, 59, 59, 999_999_999), "localtime('23:59:59.999999999')"],
  ["local datetime before 1970", localDateTime(1900, 2, 28, 0, 0, 0, 1), "localdatetime('1900-02-28T00:00:00.000000001')"],
  ["local datetime", localDateTime(2024, 2, 29, 23, 59, 59, 999_999_999), "localdatetime('2024-02-29T23:59:59.999999999')"],
  ["datetime of UTC", atOffset(1969, 12, 31, 23, 59, 59, 1, 0), "datetime('1969-12-31T23:59:59.000000001Z')"],
  ["datetime at +02:00", atOffset(2015, 7, 21, 21, 40, 32, 142_000_000, 7_200), "datetime('2015-07-21T21:40:32.142+02:00')"],
  ["datetime at -10:30", atOffset(2015, 7, 21, 21, 40, 32, 142_000_000, -37_800), "datetime('2015-07-21T21:40:32.142-10:30')"],
  [
    "datetime in Europe/Stockholm",
    inZone("Europe/Stockholm", 2024, 6, 21, 12, 30, 15, 123_456_789, 7_200),
    "datetime('2024-06-21T12:30:15.123456789[Europe/Stockholm]')",
  ],
  [
    "datetime in America/New_York",
    inZone("America/New_York", 2024, 1, 21, 12, 30, 15, 0, -18_000),
    "datetime('2024-01-21T12:30:15[America/New_York]')",
  ],
  // As clocks go back, the same local time comes twice.
  [
    "the first 02:30 of two",
    inZone("Europe/Stockholm", 2024, 10, 27, 2, 30, 0, 0, 7_200),
    "datetime('2024-10-27T02:30:00+02:00[Europe/Stockholm]')",
  ],
  [
    "the second 02:30 of two",
    inZone("Europe/Stockholm", 2024, 10, 27, 2, 30, 0, 0, 3_600),
    "datetime('2024-10-27T02:30:00+01:00[Europe/Stockholm]')",
  ],
  ["duration", duration(14, -3, 70, 5), "duration({months: 14, days: -3, seconds: 70, nanoseconds: 5})"],
  ["negative duration", duration(0, 0, -1, 1), "duration({seconds: -1, nanoseconds: 1})"],
  ["point in a plane", point(7203, 1, -2.5), "point({x: 1, y: -2.5})"],
  ["point in space", point(9157, 1, 2, 1e300), "point({x: 1, y: 2, z: 1e300})"],
  ["point on the earth", point(4326, 12.5, 55.6), "point({longitude: 12.5, latitude: 55.6})"],
  ["point above the earth", point(4979, -180, 90, -3), "point({longitude: -180, latitude: 90, height: -3})"],
];

async function values() {
  for (const [name, value, text] of VALUES) {
    await check(name, [value, value], async () => (await rows(`RETURN $x AS sent, ${text ?? "$x"} AS made`, { x: value }))[0]);
  }
  await check("all values in a list", VALUES.map(([, value]) => value), async () => {
    return (await rows("UNWIND $values AS value RETURN value", { values: VALUES.map(([, value]) => value) })).map(([value]) => value);
  });
  // Nothing is stored for null; lists of several types, and maps, are no properties.
  const isProperty = ([name]) => !["null", "nested list", "empty map", "nested map"].includes(name);
  const properties = Object.fromEntries(VALUES.filter(isProperty).map(([name, value]) => [name, value]));
  await check("all values as properties", properties, async () => {
    await rows("CREATE (n:Value) SET n = $properties", { properties });
    const node = await single("MATCH (n:Value) RETURN n");
    return node.properties;
  });
  // What only this driver has.
  await check("BigInt", [int("9223372036854775807")], async () => (await rows("RETURN $x AS x", { x: 9223372036854775807n }))[0]);
  await check("a vector arrives as a list", [[1.5, -2]], async () => {
    return (await rows("RETURN $x AS x", { x: neo4j.vector(Float32Array.of(1.5, -2)) }))[0];
  });
  // The server has one status for all arguments out of range; Neo4j's own for this is 22N21.
  await check("a point of an unknown system is refused", [refused("Statement.ArgumentError", "22N02"), true], async () => {
    let message;
    const found = await refusal(() => rows("RETURN $x", { x: point(4711, 1, 2) }).catch((error) => {
      message = error.message;
      throw error;
    }));
    return [found, message?.includes("coordinate reference system 4711")];
  });
}

async function graphs() {
  await rows(
    "CREATE (a:Person:Admin {name: 'Ann', born: date('1990-01-02')})-[:KNOWS {since: 2001}]->(b:Person {name: 'Bob'})" +
      "<-[:LIKES]-(c:Person {name: 'Cid'})",
  );
  const [[ann, knows, bob, likes, cid, path, nodeId, edgeId]] = await rows(
    "MATCH p = (a {name: 'Ann'})-[r:KNOWS]->(b)<-[s]-(c) RETURN a, r, b, s, c, p, elementId(a), elementId(r)",
  );
  await check("labels and properties of a node", [["Admin", "Person"], { name: "Ann", born: date(1990, 1, 2) }], () => [
    [...ann.labels].sort(),
    ann.properties,
  ]);
  await check("type and properties of a relationship", ["KNOWS", { since: int(2001) }], () => [knows.type, knows.properties]);
  await check("element ids are those of the function", [nodeId, edgeId], () => [ann.elementId, knows.elementId]);
  await check("a node is found by its element id", "Ann", () => {
    return single("MATCH (n) WHERE elementId(n) = $id RETURN n.name", { id: ann.elementId });
  });
  await check("a relationship is found by its element id", int(2001), () => {
    return single("MATCH ()-[r]->() WHERE elementId(r) = $id RETURN r.since", { id: knows.elementId });
  });
  await check("relationships have directions", [ann, bob, cid, bob].map((node) => node.elementId), () => [
    knows.startNodeElementId,
    knows.endNodeElementId,
    likes.startNodeElementId,
    likes.endNodeElementId,
  ]);
  await check("a path has nodes and relationships in order", [2, ann, knows, bob, bob, likes, cid], () => [
    path.length,
    ...path.segments.flatMap(({ start, relationship, end }) => [start, relationship, end]),
  ]);
  await check("a path of no relationship", [0, "Ann", "Ann"], async () => {
    const found = await single("MATCH p = (:Admin) RETURN p");
    return [found.length, found.start.properties.name, found.end.properties.name];
  });
  await check("graphs in lists and maps", [ann, { edge: knows, walk: [path] }], () => {
    return single("MATCH p = (a:Admin)-[r:KNOWS]->()<--() RETURN [a, {edge: r, walk: [p]}]");
  });
}

async function transactions() {
  const count = () => single("MATCH (n:T) RETURN count(n)");
  await check("an explicit transaction commits", [int(1), int(0), int(1)], () => inSession(async (session) => {
    const transaction = await session.beginTransaction();
    await transaction.run("CREATE (:T)");
    const inside = (await transaction.run("MATCH (n:T) RETURN count(n)")).records[0].get(0);
    const outside = await count();
    await transaction.commit();
    return [inside, outside, await count()];
  }));
  await check("an explicit transaction rolls back", int(1), () => inSession(async (session) => {
    const transaction = await session.beginTransaction();
    await transaction.run("CREATE (:T)");
    await transaction.rollback();
    return count();
  }));
  await check("a managed transaction writes", [int(2), int(2)], () => inSession(async (session) => {
    const found = await session.executeWrite(async (transaction) => {
      return (await transaction.run("CREATE (:T) WITH 1 AS x MATCH (n:T) RETURN count(n)")).records[0].get(0);
    });
    return [found, await count()];
  }));
  await check("a managed transaction reads", int(2), () => inSession((session) => {
    return session.executeRead(async (transaction) => (await transaction.run("MATCH (n:T) RETURN count(n)")).records[0].get(0));
  }));
  await check("a managed transaction that reads does not write", refused("Statement.AccessMode", "42N02"), () => {
    return refusal(() => inSession((session) => session.executeRead((transaction) => transaction.run("CREATE (:T)"))));
  });
  await check("work that fails is rolled back", [["RangeError", undefined, undefined], int(2)], () => inSession(async (session) => {
    const found = await refusal(() => session.executeWrite(async (transaction) => {
      await transaction.run("CREATE (:T)");
      throw new RangeError("given up");
    }));
    return [found, await count()];
  }));
  await check("conflicts are tried again", int(40), async () => {
    await rows("CREATE (:Counter {n: 0})");
    const add = async (transaction) => {
      const found = (await transaction.run("MATCH (c:Counter) RETURN c.n")).records[0].get(0);
      await transaction.run("MATCH (c:Counter) SET c.n = $n", { n: found.add(1) });
    };
    const work = () => inSession(async (session) => {
      for (let round = 0; round < 10; round += 1) {
        await session.executeWrite(add);
      }
    });
    await Promise.all([work(), work(), work(), work()]);
    return single("MATCH (c:Counter) RETURN c.n");
  });
  await check("bookmarks are passed on", [1, int(3)], async () => {
    const bookmarks = await inSession(async (session) => {
      await session.run("CREATE (:T)");
      return session.lastBookmarks();
    });
    const found = await inSession((session) => session.run("MATCH (n:T) RETURN count(n)"), { bookmarks });
    return [bookmarks.length, found.records[0].get(0)];
  });
  await check("a failure ends its transaction", int(3), () => inSession(async (session) => {
    const transaction = await session.beginTransaction();
    await transaction.run("CREATE (:T)");
    await refusal(() => transaction.run("RETRUN 1"));
    await refusal(() => transaction.commit());
    return count();
  }));
}

async function streams() {
  await check("10,000 records come in batches of 300", integers(10_000), () => inSession(async (session) => {
    const found = [];
    for await (const record of session.run("UNWIND range(1, 10000) AS i RETURN i")) {
      found.push(record.get("i"));
    }
    return found;
  }, { fetchSize: 300 }));
  await check("several results are open in a transaction", [integers(1_000), integers(1_000)], () => inSession((session) => {
    return session.executeRead(async (transaction) => {
      const open = [0, 1].map(() => transaction.run("UNWIND range(1, 1000) AS i RETURN i")[Symbol.asyncIterator]());
      const found = [[], []];
      for (let row = 0; row < 1_000; row += 1) {
        for (const which of [0, 1]) {
          found[which].push((await open[which].next()).value.get("i"));
        }
      }
      return found;
    });
  }, { fetchSize: 100 }));
  await check("the rest of a stream is not wanted", [integers(25), int(1)], () => inSession(async (session) => {
    const result = session.run("UNWIND range(1, 1000000000) AS i RETURN i");
    const found = [];
    for await (const record of result) {
      found.push(record.get("i"));
      if (found.length === 25) {
        break;
      }
    }
    return [found, (await session.run("RETURN 1")).records[0].get(0)];
  }, { fetchSize: 10 }));
  await check("a failure behind records", [true, refused("Statement.ArithmeticError", "22003")], () => inSession(async (session) => {
    let found = 0;
    const failure = await refusal(async () => {
      for await (const _ of session.run("UNWIND range(1, 5000) AS i RETURN 1 / (4500 - i) AS x")) {
        found += 1;
      }
    });
    return [found > 0 && found < 4_500, failure];
  }, { fetchSize: 10 }));
}

async function errors() {
  await rows("CREATE CONSTRAINT unique_key FOR (n:U) REQUIRE n.k IS UNIQUE");
  const statements = [
    ["RETRUN 1", "Statement.SyntaxError", "42001"],
    ["RETURN x", "Statement.SemanticError", "42001"],
    ["RETURN $x", "Statement.ParameterMissing", "42N51"],
    ["CALL nothing()", "Procedure.ProcedureNotFound", "42N08"],
    ["UNWIND [1, 'a'] AS x RETURN x + date()", "Statement.TypeError", "22N01"],
    ["CREATE (a:U {k: 1}), (b:U {k: 1})", "Schema.ConstraintValidationFailed", "22N79"],
    ["LOAD CSV FROM 'x.csv' AS row RETURN row", "Security.Forbidden", "42NFF"],
  ];
  for (const [text, code, status] of statements) {
    await check(`error of ${text}`, [refused(code, status), int(1)], () => inSession(async (session) => {
      const found = await refusal(() => session.run(text));
      return [found, (await session.run("RETURN 1")).records[0].get(0)];
    }));
  }
  const logIn = (...credentials) => refusal(async () => {
    const stranger = neo4j.driver(NEO4J_URI, neo4j.auth.basic(...credentials));
    try {
      await stranger.getServerInfo();
    } finally {
      await stranger.close();
    }
  });
  await check("a wrong password", refused("Security.Unauthorized", "42NFF"), () => logIn(NEO4J_USERNAME, "wrong password"));
  await check("an unknown user", refused("Security.Unauthorized", "42NFF"), () => logIn("nobody", NEO4J_PASSWORD));
  await check("an unknown database", refused("Database.DatabaseNotFound", "42N00"), () => refusal(() => {
    return driver.executeQuery("RETURN 1", {}, { database: "elsewhere" });
  }));
}

async function summaries() {
  const changes = async (text) => (await driver.executeQuery(text)).summary.counters.updates();
  const none = {
    nodesCreated: 0, nodesDeleted: 0, relationshipsCreated: 0, relationshipsDeleted: 0, propertiesSet: 0, labelsAdded: 0,
    labelsRemoved: 0, indexesAdded: 0, indexesRemoved: 0, constraintsAdded: 0, constraintsRemoved: 0,
  };
  await check("counters of what is made", { ...none, nodesCreated: 2, relationshipsCreated: 1, propertiesSet: 3, labelsAdded: 3 }, () => {
    return changes("CREATE (a:A:B {x: 1, y: 2})-[:R {z: 3}]->(:C)");
  });
  await check("counters of what is deleted", { ...none, nodesDeleted: 2, relationshipsDeleted: 1 }, () => {
    return changes("MATCH (a:A)-->(c:C) DETACH DELETE a, c");
  });
  await check("kind, database and server", ["rw", "neo4j", "6.0", true], async () => {
    const { summary } = await driver.executeQuery("CREATE (n:S) RETURN n");
    const { agent, protocolVersion } = summary.server;
    return [summary.queryType, summary.database.name, protocolVersion.toString(), /^Neo4j\/5\.\d+\.\d+ \(Knotwork .*\)$/.test(agent)];
  });
  await check("a plan and a profile", [true, true, int(7)], async () => {
    const { plan } = (await driver.executeQuery("EXPLAIN MATCH (n:S) RETURN n")).summary;
    const { profile } = (await driver.executeQuery("PROFILE UNWIND range(1, 7) AS i RETURN i")).summary;
    return [plan.operatorType.length > 0, profile.operatorType.length > 0, int(profile.rows)];
  });
  await check("a route leads back", int(1), async () => {
    const routed = neo4j.driver(NEO4J_URI.replace("bolt:", "neo4j:"), neo4j.auth.basic(NEO4J_USERNAME, NEO4J_PASSWORD));
    try {
      return (await routed.executeQuery("RETURN 1", {}, { routing: "READ" })).records[0].get(0);
    } finally {
      await routed.close();
    }
  });
}

for (const part of [values, graphs, transactions, streams, errors, summaries]) {
  await part();
}
await driver.close();
console.log(`${cases} cases`);
process.exitCode = differing === 0 ? 0 : 1;
