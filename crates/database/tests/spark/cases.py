"""Computes tasks on tables that were kept, in one session of Spark: ``python cases.py FOLDER_OF_JOB_PY FOLDER_OF_CASES``.

Each case is a folder with ``edges`` and ``task.json``; a line of JSON is printed for it, with its figures and its rows.
"""

import json
import os
import sys

sys.path.insert(0, sys.argv[1])
import job

cases = sys.argv[2]
os.makedirs(os.path.join(cases, "local"))
spark = job.session({"folder": cases, "master": "local[2]", "options": {"spark.driver.memory": "1g"}})
for name in sorted(name for name in os.listdir(cases) if name.startswith("case-")):
    folder = os.path.join(cases, name)
    with open(os.path.join(folder, "task.json"), encoding="utf-8") as file:
        task = json.load(file)
    figures = job.compute(spark, folder, task)
    result = os.path.join(folder, "result")
    rows = []
    for part in sorted(name for name in os.listdir(result) if name.endswith(".parquet")):
        rows += [list(row) for row in spark.read.parquet(os.path.join(result, part)).collect()]
    print(json.dumps({"case": name, "figures": figures, "rows": rows}), flush=True)
    spark.catalog.clearCache()
spark.stop()
