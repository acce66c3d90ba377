"""The lines of JSON that `knot introspect "subject: COMMAND"` speaks with a program (docs/introspect.md).

A subject is an object with a method for each question: `describe`, `choose`, `perform`, `cool`, `warm`, and `copy` if it writes.
Copy this folder for another system.
"""

import json
import os
import sys


def serve(subject):
    """Answers questions until there are no more."""
    for line in sys.stdin:
        question = json.loads(line)
        if question["ask"] == "close":
            break
        try:
            answer = getattr(subject, question["ask"])(question)
        except Exception as failure:
            answer = {"error": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(answer), flush=True)


def forget(path):
    """Drops a file from the page cache, where the system lets one."""
    if hasattr(os, "posix_fadvise"):
        file = os.open(path, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def tables_of(folder):
    """The files that `knot generate` wrote into a folder: names and paths of those of nodes, and of those of edges."""
    names = sorted(os.listdir(folder))
    paths = [[os.path.join(folder, name) for name in names if name.startswith(kind)] for kind in ("nodes-", "edges-")]
    if not all(paths):
        sys.exit(f"{folder}: no files of knot generate")
    return paths
