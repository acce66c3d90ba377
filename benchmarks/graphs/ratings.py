"""Users who review products, with a score and a time (the graph of Titan's recommendation traversals): 5 million reviews by
default; 37 million is the size in the paper. No user reviews a product twice."""
import numpy as np

from . import Writer, zipf


def write(folder, reviews=5_000_000):
    rng = np.random.default_rng(20261121)
    users, products = int(reviews * 0.06), int(reviews * 0.04)
    draws = int(reviews * 1.25)
    key = zipf(rng, users, draws, 0.75, 50.0).astype(np.int64) * products + zipf(rng, products, draws, 0.85, 30.0)
    _, first = np.unique(key, return_index=True)
    key = key[np.sort(first)[:reviews]]
    user, product = key // products, key % products
    score = rng.choice(np.arange(1, 6), len(key), p=[0.08, 0.05, 0.09, 0.20, 0.58])
    made = Writer(folder)
    made.nodes("User", users)
    made.nodes("Product", products)
    made.edges("REVIEWED", "User", "Product", user, product, {"score": "INT32", "time": "INT64"}, score=score,
               time=rng.integers(1_000_000_000, 1_420_000_000, len(key)))
    fans = np.flatnonzero(np.bincount(user[score == 5], minlength=users))
    made.finish({"users": rng.choice(fans, 100, replace=False).tolist()})
