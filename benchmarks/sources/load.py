"""Road graphs in PostgreSQL and Redis, for road_search and its peers.

Tables: node(id, lon, lat) in degrees; arc(src, dst, len) in decimetres; edge for pgRouting; the functions of plpgsql.sql.
Keys: n:{id}, a hash of lon and lat; a:{id}, a hash of lengths by target.
"""

import math
import pathlib
import random

METRES_PER_DEGREE = 6_371_000 * math.pi / 180


def read_dimacs(folder, name):
    """Places as (id, longitude, latitude) in millionths of a degree, arcs as (from, to, decimetres)."""
    with open(folder / f"{name}.co") as lines:
        places = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("v")]
    with open(folder / f"{name}.gr") as lines:
        arcs = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("a")]
    return places, arcs


def great_circle(a, b):
    """Metres between two places in degrees (longitude, latitude)."""
    x, y = (math.radians(b[0] - a[0]) / 2, math.radians(b[1] - a[1]) / 2)
    s = math.sin(y) ** 2 + math.cos(math.radians(a[1])) * math.cos(math.radians(b[1])) * math.sin(x) ** 2
    return 2 * 6_371_000 * math.asin(min(1.0, math.sqrt(s)))


def write_grid(folder, side, seed):
    """A graph like that of roads: a grid of side by side places, moved a little, a tenth of the streets missing, each as long
    as the great circle and up to a third more; written as DIMACS files."""
    rng = random.Random(seed)
    step = 0.0015
    place = [(8 + (i % side + rng.uniform(-0.3, 0.3)) * step, 45 + (i // side + rng.uniform(-0.3, 0.3)) * step)
             for i in range(side * side)]
    order = list(range(side * side))
    rng.shuffle(order)  # Keys say nothing of places.
    micro = [(round(lon * 1e6), round(lat * 1e6)) for lon, lat in place]
    arcs = []
    for i in range(side * side):
        for j in ([i + 1] if i % side + 1 < side else []) + ([i + side] if i + side < side * side else []):
            if rng.random() < 0.1:
                continue
            a, b = (tuple(c / 1e6 for c in micro[k]) for k in (i, j))
            length = math.ceil(great_circle(a, b) * 10 * rng.uniform(1.0, 1.33))
            arcs += [(order[i] + 1, order[j] + 1, length), (order[j] + 1, order[i] + 1, length)]
    with open(folder / "grid.co", "w") as out:
        out.write(f"p aux sp co {side * side}\n")
        out.writelines(f"v {order[i] + 1} {lon} {lat}\n" for i, (lon, lat) in enumerate(micro))
    with open(folder / "grid.gr", "w") as out:
        out.write(f"p sp {side * side} {len(arcs)}\n")
        out.writelines(f"a {a} {b} {length}\n" for a, b, length in arcs)


def load_postgres(connect, name, places, arcs):
    """Makes the database of that name; connect(name) gives an autocommitting connection."""
    with connect("postgres") as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"CREATE DATABASE {name}")
    with connect(name) as connection:
        connection.execute("CREATE TABLE node(id int PRIMARY KEY, lon float8 NOT NULL, lat float8 NOT NULL)")
        connection.execute("CREATE TABLE arc(src int NOT NULL, dst int NOT NULL, len int NOT NULL)")
        cursor = connection.cursor()
        with cursor.copy("COPY node FROM STDIN") as copy:
            for key, lon, lat in places:
                copy.write_row((key, lon / 1e6, lat / 1e6))
        with cursor.copy("COPY arc FROM STDIN") as copy:
            for row in arcs:
                copy.write_row(row)
        for statement in [
            "ALTER TABLE arc ADD FOREIGN KEY (src) REFERENCES node, ADD FOREIGN KEY (dst) REFERENCES node",
            "CREATE INDEX ON arc(src) INCLUDE (dst, len)", "CREATE INDEX ON arc(dst)",
            "CREATE INDEX ON node USING gist (point(lon, lat))",
        ]:
            connection.execute(statement)
        # pgRouting wants coordinates on a plane: metres, so that its straight line is about the great circle.
        middle = sum(lat for _, _, lat in places) / len(places) / 1e6
        x, y = METRES_PER_DEGREE * math.cos(math.radians(middle)), METRES_PER_DEGREE
        connection.execute(
            f"""CREATE TABLE edge AS SELECT row_number() OVER ()::int AS id, src AS source, dst AS target,
                len / 10.0::float8 AS cost, -1::float8 AS reverse_cost, s.lon * {x}::float8 AS x1, s.lat * {y}::float8 AS y1,
                t.lon * {x}::float8 AS x2, t.lat * {y}::float8 AS y2
                FROM arc JOIN node s ON s.id = src JOIN node t ON t.id = dst""")
        connection.execute("CREATE INDEX ON edge USING gist (point(x1, y1))")
        connection.execute("CREATE EXTENSION IF NOT EXISTS pgrouting CASCADE")
        connection.execute((pathlib.Path(__file__).parent / "plpgsql.sql").read_text(), prepare=False)
        connection.execute("VACUUM ANALYZE")
    return x, y


def load_redis(client, places, arcs):
    client.flushdb()
    pipe = client.pipeline(transaction=False)
    lengths = {}
    for source, target, length in arcs:
        held = lengths.setdefault(source, {})
        held[target] = min(length, held.get(target, length))
    for at, (key, lon, lat) in enumerate(places):
        pipe.hset(f"n:{key}", mapping={"lon": lon / 1e6, "lat": lat / 1e6})
        if key in lengths:
            pipe.hset(f"a:{key}", mapping=lengths[key])
        if at % 5000 == 0:
            pipe.execute()
    pipe.execute()
