"""``python -m knotwork.spark SESSION.json``: the job of a file, as ``execution: 'spark'`` starts it."""

import sys

from .job import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
