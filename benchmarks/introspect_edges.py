"""A real graph in the form of `knot generate`, so that introspect.sh measures it as it does generated ones:

    zstd -dc edges.csv.zst | introspect_edges.py FOLDER

reads pairs of numbers, one a line, parted by commas or spaces; other lines are passed over. Nodes are numbered anew from 0. They, and the edges,
have properties of the names and distributions of `knot generate barabasi`, from a fixed seed.
"""
import csv
import pathlib
import random
import string
import sys


def pairs(lines):
    for line in lines:
        words = line.replace(",", " ").split()
        if len(words) == 2 and all(word.isdigit() for word in words):
            yield words


def main(folder):
    folder, draws, numbers = pathlib.Path(folder), random.Random(1), {}
    folder.mkdir(parents=True)
    strings = ["".join(draws.choices(string.ascii_lowercase, k=draws.randint(15, 20))) for _ in range(100_000)]
    with (folder / "edges-LINK.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([":START_ID(Node)", ":END_ID(Node)", "time:long", ":TYPE"])
        for source, target in pairs(sys.stdin):
            ends = [numbers.setdefault(end, len(numbers)) for end in (source, target)]
            time = min(max(round(draws.gauss(5_000, 2_000)), 0), 10_000)
            rows.writerow([*ends, time, "LINK"])
    unique = draws.sample(range(len(numbers) * 10), len(numbers))
    with (folder / "nodes-Node.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id:ID(Node)", "age:long", "number:long", "name:string", ":LABEL"])
        for number in range(len(numbers)):
            rows.writerow([number, draws.randint(18, 65), unique[number], draws.choice(strings), "Node"])


if __name__ == "__main__":
    main(*sys.argv[1:])
