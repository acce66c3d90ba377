"""Jobs of ``execution: 'spark'``: six algorithms as computations on DataFrames.

This file is the whole program: it needs PySpark alone, and is run by ``knot`` as ``python job.py session.json``. It tells
by lines of JSON on its standard output how far it is, and is sent one line, the task. When its input closes before it is
done, whoever wanted the result is gone: then it ends with all that it has started, and removes the folder of the job.

Nodes are numbers from 0 without gaps; an edge is a row of ``source`` and ``target``, with ``weight`` if there are any.
Of a graph without direction each edge is there in both directions. Every algorithm is defined as in
``docs/algorithms.md``: the answers are those of the engine, sums of floats within 1e-6 of each score.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading

#: Approximate number of edges of a partition.
PARTITION_EDGES = 2_000_000
#: Rounds after which, on a cluster, what was found is written to the shared folder.
ROUNDS_KEPT = 5
#: Levels of a breadth-first search whose plans are kept apart.
LEVELS_APART = 8

#: Removes a folder once the processes that write to it have ended.
REMOVE = """
import shutil, sys, time
for seconds in (0.3, 1):
    time.sleep(seconds)
    shutil.rmtree(sys.argv[1], True)
"""


class Failure(Exception):
    """A failure with a remedy."""

    def __init__(self, message: str, remedy: "str | None" = None) -> None:
        super().__init__(message)
        self.remedy = remedy


class Link:
    """The lines between this program and the one that has started it."""

    def __init__(self, folder: str) -> None:
        # Prints of Spark go to the log.
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._folder = folder
        self._is_over = False
        self._tasks: "queue.Queue[dict]" = queue.Queue()
        if os.getpgid(0) != os.getpid():
            os.setpgid(0, 0)
        threading.Thread(target=self._listen, daemon=True).start()

    def say(self, event: str, **fields: object) -> None:
        """Says that something has happened."""
        self._is_over = self._is_over or event in ("done", "failed")
        print(json.dumps({"event": event, **fields}), file=self._out, flush=True)

    def task(self) -> dict:
        """The task, as soon as it is sent."""
        return self._tasks.get()

    def _listen(self) -> None:
        line = sys.stdin.readline()
        if line:
            self._tasks.put(json.loads(line))
            while sys.stdin.readline():
                pass
        if not self._is_over:
            subprocess.Popen([sys.executable, "-c", REMOVE, self._folder], start_new_session=True, cwd="/")
            os.killpg(0, signal.SIGKILL)


class Run:
    """A computation under way: the graph as DataFrames, the settings, and how its rounds are kept."""

    def __init__(self, spark: object, folder: str, task: dict, progress) -> None:
        from pyspark.sql import functions

        self.spark, self.settings, self.progress, self.functions = spark, task["settings"], progress, functions
        self.node_count: int = self.settings["nodes"]
        self.is_undirected: bool = self.settings["is_undirected"]
        self.is_weighted: bool = self.settings["is_weighted"]
        self.nodes = spark.range(self.node_count).withColumnRenamed("id", "node")
        self.edges = spark.read.parquet("file://" + os.path.join(folder, "edges"))
        context = spark.sparkContext
        self.is_local = is_local(context.master)
        self.partitions = max(context.defaultParallelism, self.edges.count() // PARTITION_EDGES + 1)
        if "spark.sql.shuffle.partitions" not in dict(context.getConf().getAll()):
            spark.conf.set("spark.sql.shuffle.partitions", str(self.partitions))
        self._rounds, self._held = 0, []
        if not self.is_local:
            context.setCheckpointDir("file://" + os.path.join(folder, "checkpoints"))

    def by(self, column: str, frame):
        """The rows, kept together by the values of a column, to be joined by it again and again."""
        return frame.repartition(self.partitions, column).persist()

    def cut(self, frame):
        """The same rows, computed, without the plan that has led to them: plans of many rounds would grow."""
        if self.is_local:
            return frame.localCheckpoint()
        # A machine of a cluster may be lost: rounds can be computed again from those in the folder.
        self._rounds += 1
        kept = frame.persist()
        self._held.append(kept)
        if self._rounds % ROUNDS_KEPT:
            return kept
        written = kept.checkpoint()
        while self._held:
            self._held.pop().unpersist()
        return written

    def one(self, **columns: object):
        """A row of these integers and floats."""
        lit = self.functions.lit
        return self.spark.range(1).select([lit(value).alias(name) for name, value in columns.items()])


def pagerank(run: Run):
    """Scores that sum to 1; nodes without weight going out give to all, or to the sources."""
    F, settings, n = run.functions, run.settings, run.node_count
    damping = settings["damping_factor"]
    figures = {"ranIterations": 0, "didConverge": False}
    if n == 0:
        return run.nodes.select("node", F.lit(0.0).alias("value")), figures
    edges = run.edges if run.is_weighted else run.edges.withColumn("weight", F.lit(1.0))
    strengths = edges.groupBy("source").agg(F.sum("weight").alias("strength")).where("strength > 0").persist()
    arcs = edges.join(strengths, "source").select("source", "target", (F.col("weight") / F.col("strength")).alias("part"))
    arcs = run.by("source", arcs)
    state = run.nodes.join(strengths.withColumnRenamed("source", "node"), "node", "left")
    state = state.select("node", F.col("strength").isNull().alias("keeps"))
    if settings["sources"]:
        total = sum(settings["source_weights"])
        goes = zip(settings["sources"], (weight / total for weight in settings["source_weights"]))
        # No rows of Python's: they would need processes of Python on Spark's machines.
        text = F.lit(json.dumps([{"node": node, "goes": part} for node, part in goes]))
        goes = run.spark.range(1).select(F.explode(F.from_json(text, "array<struct<node:long,goes:double>>")).alias("to"))
        goes = goes.select("to.node", "to.goes")
        state = state.join(goes, "node", "left").select("node", "keeps", F.coalesce("goes", F.lit(0.0)).alias("goes"))
    else:
        state = state.withColumn("goes", F.lit(1.0 / n))
    scores = run.cut(run.by("node", state.withColumn("score", F.col("goes"))))
    kept = F.sum(F.when(F.col("keeps"), F.col("score")).otherwise(0.0))
    dangling = scores.agg(kept).first()[0]
    while figures["ranIterations"] < settings["max_iterations"]:
        run.progress(figures["ranIterations"], settings["max_iterations"])
        received = scores.select(F.col("node").alias("source"), "score").join(arcs, "source").groupBy("target")
        received = received.agg(F.sum(F.col("score") * F.col("part")).alias("received"))
        found = F.lit(1.0 - damping + damping * dangling) * F.col("goes")
        found = found + F.lit(damping) * F.coalesce("received", F.lit(0.0))
        scores = scores.withColumnRenamed("score", "before")
        scores = scores.join(received.withColumnRenamed("target", "node"), "node", "left")
        scores = scores.select("node", "keeps", "goes", found.alias("score"), F.abs(found - F.col("before")).alias("change"))
        scores = run.cut(scores)
        change, dangling = scores.agg(F.sum("change"), kept).first()
        scores = scores.drop("change")
        figures["ranIterations"] += 1
        if change < settings["tolerance"]:
            figures["didConverge"] = True
            break
    return scores.select("node", F.col("score").alias("value")), figures


def bfs(run: Run):
    """The least number of edges from the source, level by level."""
    F, depth_max = run.functions, run.settings["depth_max"]
    arcs = run.by("source", run.edges.select("source", "target"))
    frontier = run.cut(run.one(node=run.settings["source"], value=0).selectExpr("bigint(node) node", "bigint(value) value"))
    seen, level = frontier, 0
    while depth_max is None or level < depth_max:
        run.progress(level, 0)
        reached = frontier.select(F.col("node").alias("source")).join(arcs, "source")
        reached = reached.select(F.col("target").alias("node")).distinct().join(seen, "node", "left_anti")
        frontier = run.cut(reached.select("node", F.lit(level + 1).cast("long").alias("value")))
        if frontier.isEmpty():
            break
        level += 1
        seen = seen.union(frontier)
        if level % LEVELS_APART == 0:
            seen = run.cut(seen.coalesce(run.partitions))
    return seen, {"nodesReached": seen.count(), "maxDistance": level}


def sssp(run: Run):
    """The least cost from the source: nodes that have become cheaper offer paths on."""
    F = run.functions
    edges = run.edges if run.is_weighted else run.edges.withColumn("weight", F.lit(1.0))
    # Of parallel edges the cheapest counts.
    arcs = run.by("source", edges.groupBy("source", "target").agg(F.min("weight").alias("weight")))
    costs = run.cut(run.one(node=run.settings["source"]).selectExpr("bigint(node) node", "double(0) value"))
    cheaper, rounds = costs, 0
    while True:
        run.progress(rounds, 0)
        offers = cheaper.withColumnRenamed("node", "source").join(arcs, "source").groupBy("target")
        offers = offers.agg(F.min(F.col("value") + F.col("weight")).alias("offer")).withColumnRenamed("target", "node")
        cheaper = offers.join(costs, "node", "left").where("value is null or offer < value")
        cheaper = run.cut(cheaper.select("node", F.col("offer").alias("value")))
        if cheaper.isEmpty():
            return costs, {"nodesReached": costs.count()}
        costs = costs.join(cheaper.withColumnRenamed("value", "offer"), "node", "full")
        costs = run.cut(costs.select("node", F.coalesce("offer", "value").alias("value")))
        rounds += 1


def wcc(run: Run):
    """The smallest node of each component, by stars that alternate: few rounds however long paths are.

    After Kiveris, Lattanzi, Mirrokni, Rastogi, Vassilvitskii, "Connected components in MapReduce and beyond", 2014.
    """
    F = run.functions
    ends = run.edges.select(F.greatest("source", "target").alias("high"), F.least("source", "target").alias("low"))
    stars, rounds = run.cut(ends.where("high <> low").distinct()), 0
    while True:
        run.progress(rounds, 0)
        both = stars.selectExpr("high node", "low other").union(stars.selectExpr("low node", "high other"))
        least = both.groupBy("node").agg(F.least("node", F.min("other")).alias("least"))
        large = both.where("other > node").join(least, "node").selectExpr("other high", "least low").distinct()
        least = large.groupBy("high").agg(F.min("low").alias("least"))
        small = large.join(least, "high").where("low <> least").selectExpr("low high", "least low")
        stars = run.cut(small.union(least.selectExpr("high", "least low")).distinct())
        rounds += 1
        # Stars are done if each node has one center, and no center has another.
        centers = stars.select(F.col("low").alias("high")).distinct()
        is_done = stars.join(centers, "high", "left_semi").isEmpty()
        if is_done and stars.groupBy("high").count().where("count > 1").isEmpty():
            break
    found = run.nodes.join(stars.withColumnRenamed("high", "node"), "node", "left")
    found = found.select("node", F.coalesce("low", "node").alias("value"))
    return found, {"componentCount": run.node_count - stars.count()}


def cdlp(run: Run):
    """The label most frequent among neighbors, those of in-edges and of out-edges, the smallest of several."""
    F, figures = run.functions, {"ranIterations": 0, "didConverge": run.node_count == 0}
    arcs = run.edges.selectExpr("source node", "target neighbor")
    if not run.is_undirected:
        arcs = arcs.union(run.edges.selectExpr("target node", "source neighbor"))
    arcs = run.by("neighbor", arcs.groupBy("node", "neighbor").agg(F.count(F.lit(1)).alias("votes")))
    labels = run.cut(run.by("node", run.nodes.select("node", F.col("node").alias("value"))))
    while figures["ranIterations"] < run.settings["max_iterations"] and not figures["didConverge"]:
        run.progress(figures["ranIterations"], run.settings["max_iterations"])
        votes = labels.withColumnRenamed("node", "neighbor").join(arcs, "neighbor").groupBy("node", "value")
        votes = votes.agg(F.sum("votes").alias("votes"))
        most = votes.groupBy("node").agg(F.max(F.struct("votes", (-F.col("value")).alias("minus"))).alias("most"))
        most = most.select("node", (-F.col("most.minus")).alias("taken"))
        labels = labels.select("node", "value").join(most, "node", "left")
        is_new = (F.col("taken") != F.col("value")).alias("is_new")
        labels = labels.select("node", F.coalesce("taken", "value").alias("value"), is_new)
        labels = run.cut(labels)
        figures["ranIterations"] += 1
        figures["didConverge"] = labels.where("is_new").isEmpty()
    labels = labels.select("node", "value")
    return labels, {"communityCount": labels.select("value").distinct().count(), **figures}


def lcc(run: Run):
    """The part of the pairs of a node's neighbors that edges join, each direction by itself.

    Triangles are found from the corner with the fewest neighbors, so that nodes with many do not pair them all.
    """
    F, n = run.functions, run.node_count
    arcs = run.edges.where("source <> target").select("source", "target").distinct()
    ends = arcs.select(F.least("source", "target").alias("a"), F.greatest("source", "target").alias("b"))
    pairs = run.cut(ends.groupBy("a", "b").agg(F.count(F.lit(1)).alias("ways")))
    degrees = pairs.selectExpr("a node").union(pairs.selectExpr("b node")).groupBy("node")
    degrees = degrees.agg(F.count(F.lit(1)).alias("degree")).persist()
    run.progress(1, 3)
    ranked = pairs.join(degrees.selectExpr("node a", "degree degree_a"), "a")
    ranked = ranked.join(degrees.selectExpr("node b", "degree degree_b"), "b")
    first = "degree_a < degree_b or (degree_a = degree_b and a < b)"
    ranked = ranked.selectExpr(f"if({first}, a, b) corner", f"if({first}, b, a) other", "ways")
    ranked = run.by("corner", ranked)
    wedges = ranked.selectExpr("corner", "other a", "ways ways_a")
    wedges = wedges.join(ranked.selectExpr("corner", "other b", "ways ways_b"), "corner").where("a < b")
    triangles = wedges.join(pairs, ["a", "b"])
    parts = F.array(
        F.struct(F.col("corner").alias("node"), F.col("ways").alias("closed")),
        F.struct(F.col("a").alias("node"), F.col("ways_b").alias("closed")),
        F.struct(F.col("b").alias("node"), F.col("ways_a").alias("closed")),
    )
    closed = triangles.select(F.explode(parts).alias("part")).groupBy("part.node")
    closed = closed.agg(F.sum("part.closed").alias("closed"))
    found = run.nodes.join(degrees, "node", "left").join(closed, "node", "left")
    found = found.selectExpr("node", "if(closed is null, 0d, closed / (double(degree) * (degree - 1))) value")
    run.progress(2, 3)
    found = run.cut(found)
    total = found.agg(F.sum("value")).first()[0]
    return found, {"averageClusteringCoefficient": float(total) / n if n else 0.0, "nodeCount": n}


ALGORITHMS = {"pagerank": pagerank, "bfs": bfs, "sssp": sssp, "wcc": wcc, "cdlp": cdlp, "lcc": lcc}
#: Algorithms whose rows come by their values, then by node; of others by node.
BY_VALUE = {"bfs", "sssp"}


def compute(spark: object, folder: str, task: dict, progress=lambda done, total: None) -> dict:
    """Runs a task on the tables of a folder; its rows go to ``result`` there. Gives the figures."""
    name = task["name"]
    if name not in ALGORITHMS:
        raise Failure(f"it has no algorithm {name!r}, only {', '.join(sorted(ALGORITHMS))}")
    run = Run(spark, folder, task, progress)
    values, figures = ALGORITHMS[name](run)
    if task["rows"] != "none":
        if task["rows"] == "all":
            values = run.nodes.join(values, "node", "left")
        order = ["value", "node"] if name in BY_VALUE else ["node"]
        values.select("node", "value").orderBy(*order).write.parquet("file://" + os.path.join(folder, "result"))
    return figures


def is_local(master: str) -> bool:
    """True if Spark computes in the process of its driver alone."""
    return master == "local" or master.startswith("local[")


def session(settings: dict) -> object:
    """A session of Spark that leaves nothing outside of the folder of the job."""
    from pyspark.sql import SparkSession

    own = os.path.join(settings["folder"], "local")
    options = {
        "spark.app.name": "knotwork",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": os.path.join(own, "warehouse"),
    }
    if is_local(settings["master"]):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        options.update({"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"})
    options.update(settings["options"])
    java = f"-Djava.io.tmpdir={own} -XX:-UsePerfData"
    options["spark.driver.extraJavaOptions"] = f"{java} {options.get('spark.driver.extraJavaOptions', '')}".strip()
    builder = SparkSession.builder.master(settings["master"])
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def require() -> None:
    """Fails if PySpark or Java is not there."""
    try:
        import pyspark
    except ImportError as error:
        remedy = f"install it there: {sys.executable} -m pip install 'pyspark>=3.5,<4'; or name another Python "
        remedy += "by spark_python (--spark-python)"
        raise Failure(f"the Python {sys.executable} has no PySpark ({error})", remedy) from None
    if tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < (3, 3):
        raise Failure(f"PySpark {pyspark.__version__} is too old", "install PySpark 3.5")
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        remedy = "install Java 17, as the package openjdk-17-jre-headless, or set JAVA_HOME"
        raise Failure(f"there is no Java: {java}", remedy)


def reason(error: BaseException) -> str:
    """The failure in a line: of an error in Spark its cause, not its stack."""
    cause = getattr(error, "java_exception", None)
    if cause is None:
        return " ".join(str(error).split())[:1000] or type(error).__name__
    while cause.getCause() is not None:
        cause = cause.getCause()
    return " ".join(str(cause.toString()).split())[:1000]


def main(arguments: "list[str]") -> int:
    """Runs the job of a file with the settings of its session."""
    if len(arguments) != 1:
        print("usage: python job.py SESSION.json", file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as file:
        settings = json.load(file)
    link = Link(settings["folder"])
    try:
        require()
        link.say("begun")
        spark = session(settings)
        link.say("ready")
        task = link.task()
        figures = compute(spark, settings["folder"], task, lambda done, total: link.say("progress", done=done, total=total))
        spark.stop()
        link.say("done", figures=figures)
        return 0
    except Failure as error:
        link.say("failed", message=str(error), remedy=error.remedy)
    except Exception as error:
        link.say("failed", message=reason(error))
        raise
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
