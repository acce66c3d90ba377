"""Comparisons of a program with itself: same.py STORE [MEASUREMENTS] measures a store that many times (6), and lets
`knot bench compare` judge pairs of two measurements against two others. Nothing changed, so each that fails is a false alarm.

KNOT is the program (target/release/knot). A second table has the same with a planted slowdown of one operation: what is found.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

KNOT = os.environ.get("KNOT", "target/release/knot")
SEED = int(os.environ.get("SEED", "4242"))
COMPARISONS = 60
PLANTED = (1.2, 1.5, 2.0, 3.0)


def measure(store, folder, count):
    files = [folder / f"{at}.json" for at in range(count)]
    for file in files:
        subprocess.run([KNOT, "introspect", store, "--quick", "--json", file], check=True, capture_output=True)
    return files


def fails(base, new):
    command = [KNOT, "bench", "compare", base[0], new[0]]
    for flag, files in (("--again", base[1:]), ("--new-again", new[1:])):
        for file in files:
            command += [flag, file]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1) or done.stderr:
        sys.exit(f"{command}: {done.stderr}")
    return done.returncode == 1, done.stdout


def draw(generator, files, base, new):
    drawn = generator.sample(files, base + new)
    return drawn[:base], drawn[base:]


def planted(files, folder, run, factor):
    """Copies of measurements in which one operation takes `factor` times as long."""
    copies = []
    for at, file in enumerate(files):
        stored = json.loads(file.read_text())
        held = stored["runs"][run]
        held["samplesNs"] = [int(ns * factor) for ns in held["samplesNs"]]
        copies.append(folder / f"planted-{at}.json")
        copies[-1].write_text(json.dumps(stored))
    return copies


def main():
    store, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
    generator = random.Random(SEED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = measure(store, folder, count)
        print(f"{count} measurements of {store}, seed {SEED}")
        for base, new in itertools.product((1, 2, 3), repeat=2):
            if base + new > count:
                continue
            alarms = sum(fails(*draw(generator, files, base, new))[0] for _ in range(COMPARISONS))
            print(f"{base} of the base, {new} of the same: {alarms} of {COMPARISONS} fail")
        runs = json.loads(files[0].read_text())["runs"]
        judged = [at for at, run in enumerate(runs) if run["calls"] >= 8]
        for factor in PLANTED:
            found = 0
            for _ in range(COMPARISONS):
                base, new = draw(generator, files, 2, 2)
                run = generator.choice(judged)
                _, text = fails(base, planted(new, folder, run, factor))
                found += any(line.startswith(runs[run]["operation"]) and "SLOWER" in line for line in text.splitlines())
            print(f"one operation ×{factor}, two measurements of each side: found in {found} of {COMPARISONS}")


if __name__ == "__main__":
    main()
