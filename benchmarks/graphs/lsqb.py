"""A social network with the node and edge types of LDBC's Labelled Subgraph Query Benchmark; sizes and degrees grow with the
scale about as those of LDBC's own data do (scale 1: 11,000 persons, 3 million messages, 18 million edges)."""
import numpy as np

from . import Writer, lognormal, pairs, zipf


def friends(rng, persons, wanted):
    """Pairs of persons, most of them close to each other by number, as in communities; each pair once."""

    def draw(count):
        source = lognormal(rng, persons, count)
        near = (source + rng.integers(-40, 41, count)) % persons
        target = np.where(rng.random(count) < 0.6, near, lognormal(rng, persons, count))
        return np.minimum(source, target), np.maximum(source, target)

    return pairs(rng, draw, wanted, persons)


def write(folder, scale=1.0):
    rng = np.random.Generator(np.random.PCG64(11))
    size = lambda at_one: max(20, int(at_one * scale))
    persons, forums, posts, comments = size(11_000), size(100_000), size(1_000_000), size(2_050_000)
    countries, cities, classes, tags = 111, 1_343, 71, 16_080
    made = Writer(folder)
    for label, count in [("Country", countries), ("City", cities), ("TagClass", classes), ("Tag", tags),
                         ("Person", persons), ("Forum", forums), ("Post", posts), ("Comment", comments)]:
        made.nodes(label, count, also=["Message"] if label in ("Post", "Comment") else [])
    edges = made.edges
    edges("IS_PART_OF", "City", "Country", np.arange(cities), zipf(rng, countries, cities, 0.6, 3))
    edges("HAS_TYPE", "Tag", "TagClass", np.arange(tags), zipf(rng, classes, tags, 0.8, 2))
    edges("IS_LOCATED_IN", "Person", "City", np.arange(persons), zipf(rng, cities, persons, 0.6, 5))
    edges("KNOWS", "Person", "Person", *friends(rng, persons, size(220_000)))
    edges("HAS_INTEREST", "Person", "Tag", *distinct(rng, lognormal(rng, persons, size(250_000)), tags))
    edges("HAS_MEMBER", "Forum", "Person", *distinct(rng, lognormal(rng, forums, size(1_600_000)), persons))
    edges("CONTAINER_OF", "Forum", "Post", lognormal(rng, forums, posts), np.arange(posts))
    edges("HAS_CREATOR", "Post", "Person", np.arange(posts), lognormal(rng, persons, posts))
    edges("HAS_CREATOR", "Comment", "Person", np.arange(comments), lognormal(rng, persons, comments))
    edges("HAS_TAG", "Post", "Tag", *distinct(rng, rng.integers(0, posts, size(700_000)), tags))
    edges("HAS_TAG", "Comment", "Tag", *distinct(rng, rng.integers(0, comments, size(2_600_000)), tags))
    answers = rng.random(comments) < 0.5
    to_posts, to_comments = np.flatnonzero(answers), np.flatnonzero(~answers)
    to_comments = to_comments[to_comments > 0]
    edges("REPLY_OF", "Comment", "Post", to_posts, lognormal(rng, posts, len(to_posts)))
    # A comment answers an earlier one.
    edges("REPLY_OF", "Comment", "Comment", to_comments, (rng.random(len(to_comments)) * to_comments).astype(np.int64))
    edges("LIKES", "Person", "Post", *distinct(rng, lognormal(rng, persons, size(750_000)), posts))
    edges("LIKES", "Person", "Comment", *distinct(rng, lognormal(rng, persons, size(1_400_000)), comments))
    made.finish({})


def distinct(rng, source, targets):
    """Each source with a target that it does not have yet; targets are skewed."""
    target = zipf(rng, targets, len(source), 0.7, 10)
    key = np.unique(source.astype(np.int64) * targets + target)
    return key // targets, key % targets
