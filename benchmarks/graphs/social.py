"""Persons who know each other and work somewhere: 100,000 persons, 5 million KNOWS, 10,000 companies by default."""
import numpy as np

from . import Writer, lognormal, pairs


def write(folder, persons=100_000, knows=5_000_000, companies=10_000):
    rng = np.random.Generator(np.random.PCG64(43))
    made = Writer(folder)
    source, target = pairs(rng, lambda n: (lognormal(rng, persons, n), lognormal(rng, persons, n)), knows, persons)
    weights = 1 / np.arange(1, 201)
    cities = rng.choice(200, persons, p=weights / weights.sum())
    made.nodes(
        "Person", persons, {"name": "STRING", "age": "INT32", "city": "STRING"},
        name=[f"person_{i:06d}" for i in range(persons)], age=rng.integers(18, 80, persons),
        city=[f"city{i:03d}" for i in cities])
    made.nodes("Company", companies, {"name": "STRING"}, name=[f"company_{i:05d}" for i in range(companies)])
    since = rng.integers(1990, 2025, knows)
    made.edges("KNOWS", "Person", "Person", source, target, {"since": "INT32"}, since=since)
    made.edges("WORKS_AT", "Person", "Company", np.arange(persons), rng.integers(0, companies, persons) ** 2 // companies,
               {"since": "INT32"}, since=rng.integers(2000, 2025, persons))
    picked = rng.choice(knows, 5_000)
    made.finish({
        "city": "city010", "company": 40, "starts": rng.choice(persons, 100, replace=False).tolist(),
        "keys": rng.choice(persons, 10_000).tolist(), "ends": np.stack([source[picked], target[picked]], 1).tolist()})
