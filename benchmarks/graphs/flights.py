"""Flights between airports, many of them between the same two: 300 airports, 30 airlines, a million flights by default."""
import numpy as np

from . import Writer, zipf


def write(folder, flights=1_000_000, airports=300, airlines=30):
    rng = np.random.Generator(np.random.PCG64(47))
    made = Writer(folder)
    made.nodes("Airport", airports, {"size": "INT32", "country": "STRING"}, size=rng.integers(1, 6, airports),
               country=[f"country{i:02d}" for i in rng.integers(0, 40, airports)])
    made.nodes("Airline", airlines, {"rank": "INT32"}, rank=rng.integers(0, 10, airlines))
    made.edges("FLIGHT", "Airport", "Airport", zipf(rng, airports, flights, 1.0, 5), zipf(rng, airports, flights, 1.0, 5),
               {"hour": "INT32"}, hour=rng.integers(0, 24, flights))
    served = airports * airlines // 4
    made.edges("SERVES", "Airline", "Airport", rng.integers(0, airlines, served), rng.integers(0, airports, served))
    made.finish({})
