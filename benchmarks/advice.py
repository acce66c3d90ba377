"""Advice compared with what it brings: statements of many forms are generated from a seed, each is advised on and the advice verified.

A promise is broken where less than half of the time that it said would be saved is saved. Ends with 1 if more than a tenth are.

    KNOT=target/release/knot python3 benchmarks/advice.py FOLDER [CASES] [SEED]
"""

import collections
import json
import os
import random
import subprocess
import sys

KNOT = os.environ.get("KNOT", "target/release/knot")
PERSONS = 100_000
PRODUCTS = 20_000
SCHEMA = [
    f"UNWIND range(0, {PERSONS - 1}) AS i CREATE (:Person {{id: i, name: 'p' + i, age: (i * 7919) % 90,"
    " city: 'c' + toInteger(sqrt((i * 104729) % 250000)), joined: (i * 31) % 3650, score: ((i * 17) % 1000) / 10.0,"
    " email: 'p' + i + '@example.org', born: date('1950-01-01') + duration({days: (i * 31) % 20000})})",
    f"UNWIND range(0, {PRODUCTS - 1}) AS i CREATE (:Product {{sku: 's' + i, price: (i * 13) % 500, kind: 'k' + (i % 40)}})",
    "CREATE INDEX FOR (p:Person) ON (p.id)",
    "CREATE INDEX FOR (p:Product) ON (p.sku)",
    "UNWIND range(0, 399999) AS i MATCH (a:Person {id: (i * 48271) % 100000}), (b:Product {sku: 's' + ((i * i) % 20000)})"
    " CREATE (a)-[:BOUGHT {at: i % 5000, amount: i % 9}]->(b)",
    "MATCH (a:Person {id: 1}), (b:Person) WHERE b.id % 2 = 0 CREATE (a)-[:FOLLOWS {since: b.joined, weight: b.age}]->(b)",
]


def run(*arguments, check=True):
    done = subprocess.run([KNOT, *arguments], capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")
    return done


def statement(draw):
    """A statement of a form that is drawn, with constants that are drawn."""
    number, name = draw.randrange(PERSONS), f"'p{draw.randrange(PERSONS)}'"
    low = draw.randrange(3600)
    forms = [
        lambda: f"MATCH (p:Person) WHERE p.name = {name} RETURN p.age",
        lambda: f"MATCH (p:Person {{city: 'c{draw.randrange(500)}'}}) RETURN p.id, p.age",
        lambda: f"MATCH (p:Person) WHERE p.joined >= {low} AND p.joined < {low + draw.choice([1, 5, 400, 3000])} RETURN sum(p.age)",
        lambda: f"MATCH (p:Person) WHERE p.city = 'c{draw.randrange(500)}' AND p.age > {draw.randrange(90)} RETURN count(*)",
        lambda: f"MATCH (p:Person)-[:BOUGHT]->(b) WHERE p.name IN [{name}, 'p7'] RETURN b.sku",
        lambda: f"MATCH (p:Person)-[:BOUGHT]->(b:Product) WHERE b.kind = 'k{draw.randrange(40)}' AND p.age = 3 RETURN count(*)",
        lambda: f"MATCH (p:Person)-[:BOUGHT]->(b:Product {{price: {draw.randrange(500)}}}) RETURN p.city, count(*)",
        lambda: f"MATCH (p:Person)-[r:BOUGHT]->(b) WHERE r.at = {draw.randrange(5000)} RETURN p.id, b.sku",
        lambda: f"MATCH (:Person {{id: 1}})-[r:FOLLOWS]->(b) WHERE r.since < {draw.choice([3, 40, 2000])} RETURN count(b.age)",
        lambda: f"MATCH (:Person {{id: 1}})-[r:FOLLOWS]->(b) RETURN b.id ORDER BY r.weight DESC LIMIT {draw.choice([1, 20])}",
        lambda: f"UNWIND range({number}, {number} + {draw.choice([1, 50])}) AS i MATCH (p:Person {{name: 'p' + i}}) RETURN p.id",
        lambda: f"MATCH (p:Person) WHERE p.name STARTS WITH 'p{draw.randrange(10, 1000)}' RETURN count(p.score)",
        lambda: f"MATCH (b:Product) WHERE EXISTS {{ (b)<-[:BOUGHT]-(p:Person) WHERE p.name = {name} }} RETURN b.sku",
        lambda: f"MATCH (p:Person) WHERE p.score > {draw.choice([1.0, 50.0, 99.8])} RETURN p.city, max(p.age)",
        lambda: f"MATCH (p:Person) RETURN p.id ORDER BY p.joined DESC LIMIT {draw.choice([5, 100])}",
        lambda: f"MATCH (a:Person {{id: {number}}}), (b:Person {{name: {name}}}) MATCH q = shortestPath((a)-[*..3]-(b)) RETURN length(q)",
        # For a constraint: a unique property stands for its node.
        lambda: f"MATCH (p:Person)-[:BOUGHT]->(b:Product) WHERE b.price < {draw.choice([20, 400])} RETURN count(DISTINCT p.email)",
        lambda: f"MATCH (p:Person)-[:BOUGHT]->(b) WHERE p.age < {draw.choice([5, 80])} RETURN p.email, count(*), min(b.price)",
        lambda: f"MATCH (p:Person)-[:BOUGHT]->(b:Product) WHERE p.joined < {draw.choice([30, 3000])} RETURN DISTINCT b.sku",
        # For a rewrite: functions around a property, parts of it, and labels, types and directions that are left open.
        lambda: f"MATCH (p:Person) WHERE toLower(p.name) = {name} RETURN p.age",
        lambda: f"MATCH (p:Person) WHERE trim(p.email) IN ['p{number}@example.org', 'p5@example.org'] RETURN p.id",
        lambda: f"MATCH (p:Person) WHERE toInteger(p.joined) < {draw.choice([3, 50, 3000])} RETURN sum(p.age)",
        lambda: f"MATCH (p:Person) WHERE p.born.year = {draw.randrange(1950, 2005)} RETURN count(p.city)",
        lambda: f"MATCH (p:Person) WHERE p.born.year > {draw.randrange(1950, 2004)} RETURN max(p.score)",
        lambda: f"MATCH (p:Person) WHERE p.email =~ 'p{draw.randrange(10, 9999)}.*' RETURN p.id",
        lambda: f"MATCH (p:Person) WHERE left(p.name, 4) = 'p{draw.randrange(100, 1000)}' RETURN count(p.age)",
        lambda: f"MATCH (p {{id: {number}}}) RETURN p.name",
        lambda: f"MATCH (p)-[:BOUGHT]->(b) WHERE p.name = {name} RETURN b.sku",
        lambda: f"MATCH (p) WHERE p.price = {draw.randrange(500)} RETURN count(*)",
        lambda: f"MATCH (p:Person)-[:BOUGHT]-(b:Product) WHERE b.price < {draw.choice([2, 100])} RETURN count(*)",
        lambda: f"MATCH (p:Person {{id: {number}}})--(b:Product) RETURN b.sku",
        lambda: f"MATCH (p:Person)-->(b:Product {{sku: 's{draw.randrange(PRODUCTS)}'}}) RETURN p.name",
        lambda: f"MATCH (:Person {{id: 1}})-[r]->(b:Person) WHERE r.since < {draw.choice([3, 2000])} RETURN sum(b.age)",
        # Of a node with many relationships, where most pass, and of all relationships, where few do.
        lambda: f"MATCH (a:Person {{id: 1}})-[r]->(b:Person) WHERE r.weight > {draw.choice([10, 85])} RETURN count(*)",
        lambda: f"MATCH (a:Person {{id: 1}})-[:FOLLOWS]-(b:Person) WHERE b.age < {draw.choice([13, 60])} RETURN count(*)",
        lambda: "MATCH (:Person)-[r]->(:Product) RETURN count(r)",
        lambda: f"MATCH ()-[r:BOUGHT]->() WHERE r.at > {draw.choice([4990, 2000])} RETURN sum(r.amount)",
    ]
    return draw.choice(forms)()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "advice-bench"
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    os.makedirs(folder, exist_ok=True)
    store = os.path.join(folder, "advice.knot")
    if not os.path.exists(store):
        run(store, "-c", "; ".join(SCHEMA) + "; CHECKPOINT", "--durability", "off")
    print(f"seed {seed}, {cases} statements")
    draw = random.Random(seed)
    advised = kept = broken = nothing = 0
    kinds = collections.Counter()
    ratios = []
    for _ in range(cases):
        text = statement(draw)
        told = json.loads(run("advise", store, text, "--verify", "--json").stdout)
        if not told["recommendations"]:
            nothing += 1
            continue
        for held in told["recommendations"]:
            kinds[held["kind"]] += 1
            if held["kind"] == "rewrite" and held["measured"]["hasSameRows"] is False:
                sys.exit(f"other rows as {held['statement']}: {text}")
            for time, found in zip(held["times"], held["measured"]["times"]):
                promised = time["beforeNs"] - time["predictedNs"]
                saved = found["beforeNs"] - found["afterNs"]
                advised += 1
                ratios.append(found["afterNs"] / time["predictedNs"])
                is_kept = saved >= promised / 2
                kept += is_kept
                broken += not is_kept
                mark = "" if is_kept else "BROKEN "
                print(
                    f"{mark}{held['statement']}: {time['beforeNs'] / 1e6:.3f} ms, promised {time['predictedNs'] / 1e6:.3f}, "
                    f"measured {found['beforeNs'] / 1e6:.3f} to {found['afterNs'] / 1e6:.3f}, "
                    f"{held['bytes']} bytes, measured {held['measured']['bytes']}, built in {held['buildNs'] / 1e6:.0f} ms, "
                    f"measured {held['measured']['buildNs'] / 1e6:.0f}: {text}"
                )
    ratios.sort()
    middle = ratios[len(ratios) // 2] if ratios else float("nan")
    print(", ".join(f"{count} × {kind}" for kind, count in sorted(kinds.items())))
    print(f"{advised} promises for {cases - nothing} statements: {kept} kept, {broken} broken ({100 * broken / max(advised, 1):.1f} %)")
    print(f"measured over predicted time: median {middle:.2f}, from {ratios[0]:.2f} to {ratios[-1]:.2f}" if ratios else "")
    sys.exit(1 if broken > 0.1 * advised else 0)


if __name__ == "__main__":
    main()
