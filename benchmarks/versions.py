"""Short statements in two builds of Knotwork, in turns: versions.py OLD NEW FOLDER [ROUNDS]

OLD and NEW are programs of `cargo build --release -p knotwork-database --example queries`. Each makes a store of its own from the same
statements (100,000 persons, a million relationships), and runs each statement for 4,000 keys a round. For each statement it prints the
medians of all rounds in microseconds, their ratio, and the lowest and highest ratio of a round; the builds take turns to go first.
Answers must be equal.
"""
import json
import pathlib
import statistics
import subprocess
import sys

PERSONS, KNOWS, KEYS, STEP = 100_000, 1_000_000, 4_000, 7_919
MAKE = [
    "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE",
    f"UNWIND range(0, {PERSONS - 1}) AS i CREATE (:Person {{id: i, age: 18 + i % 70, name: 'p' + toString(i)}})",
    *(f"UNWIND range({start}, {start + KNOWS // 10 - 1}) AS i"
      f" MATCH (a:Person {{id: i % {PERSONS}}}), (b:Person {{id: (i * {STEP} + i / {PERSONS} * 31) % {PERSONS}}})"
      " CREATE (a)-[:KNOWS {since: i % 1000}]->(b)" for start in range(0, KNOWS, KNOWS // 10)),
]
STATEMENTS = {
    "node by its key": "MATCH (p:Person {id: $id}) RETURN p.age",
    "neighbours out": "MATCH (:Person {id: $id})-[:KNOWS]->(q) RETURN q.id",
    "neighbours in": "MATCH (:Person {id: $id})<-[:KNOWS]-(q) RETURN q.id",
    "neighbours with properties": "MATCH (:Person {id: $id})-[r:KNOWS]->(q) RETURN q.id, q.age, r.since",
    "neighbours under a condition": "MATCH (:Person {id: $id})-[r:KNOWS]->(q) WHERE q.age > 40 RETURN q.id",
    "degree": "MATCH (:Person {id: $id})-[r:KNOWS]->() RETURN count(r)",
}


def run(program, store, spec, folder):
    (folder / "spec.json").write_text(json.dumps(spec))
    subprocess.run([program, store, folder / "spec.json", folder / "result.json"], check=True)
    return json.loads((folder / "result.json").read_text())["queries"]


def round_of(number):
    """The statements, each for keys that another round does not ask for in this order."""
    keys = [(number * 131 + key * STEP) % PERSONS for key in range(KEYS)]
    return {"statements": [], "threads": 1, "queries": [
        {"name": name, "text": text, "parameters": [{"id": key} for key in keys], "rounds": ["first", "warm"]}
        for name, text in STATEMENTS.items()]}


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    programs, folder = {"old": sys.argv[1], "new": sys.argv[2]}, pathlib.Path(sys.argv[3])
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 8
    folder.mkdir(parents=True, exist_ok=True)
    stores = {name: folder / f"{name}.knot" for name in programs}
    for name, program in programs.items():
        if not stores[name].exists():
            run(program, stores[name], {"statements": MAKE, "durability": "off", "queries": []}, folder)
    medians = {statement: {"old": [], "new": []} for statement in STATEMENTS}
    for number in range(rounds):
        answers = {}
        for name in sorted(programs, reverse=number % 2 == 0):
            for statement, found in run(programs[name], stores[name], round_of(number), folder).items():
                medians[statement][name].append(statistics.median(found["rounds"]["warm"]))
                rows = [sorted(map(json.dumps, answer)) for answer in found["answers"]]
                if answers.setdefault(statement, rows) != rows:
                    sys.exit(f"round {number}: answers differ: {statement}")
    print("| statement | old, µs | new, µs | new / old | of a round |\n| --- | --- | --- | --- | --- |")
    for statement, found in medians.items():
        old, new = statistics.median(found["old"]), statistics.median(found["new"])
        ratios = sorted(after / before for before, after in zip(found["old"], found["new"], strict=True))
        print(f"| {statement} | {old:.2f} | {new:.2f} | {new / old:.3f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |")


main()
