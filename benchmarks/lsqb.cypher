// The nine patterns of LDBC's Labelled Subgraph Query Benchmark, for benchmarks/suites.py and for the tests of the database.
// In 3 each person has a MATCH of its own, because persons of one city share the edge from it to the country.

MATCH (:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(:Person)<-[:HAS_MEMBER]-(:Forum)-[:CONTAINER_OF]->(:Post)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass)
RETURN count(*);

MATCH (a:Person)-[:KNOWS]-(b:Person), (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(b)
RETURN count(*);

MATCH (country:Country)
MATCH (a:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
MATCH (b:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
MATCH (c:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a)
RETURN count(*);

MATCH (:Tag)<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(:Person), (message)<-[:LIKES]-(:Person), (message)<-[:REPLY_OF]-(:Comment)
RETURN count(*);

MATCH (tag1:Tag)<-[:HAS_TAG]-(message:Message)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(tag2:Tag)
WHERE tag1 <> tag2
RETURN count(*);

MATCH (a:Person)-[:KNOWS]-(b:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag)
WHERE a <> c
RETURN count(*);

MATCH (:Tag)<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(:Person)
OPTIONAL MATCH (message)<-[:LIKES]-(liker:Person)
OPTIONAL MATCH (message)<-[:REPLY_OF]-(reply:Comment)
RETURN count(*);

MATCH (tag1:Tag)<-[:HAS_TAG]-(message:Message)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(tag2:Tag)
WHERE NOT (comment)-[:HAS_TAG]->(tag1) AND tag1 <> tag2
RETURN count(*);

MATCH (a:Person)-[:KNOWS]-(b:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag)
WHERE NOT (a)-[:KNOWS]-(c) AND a <> c
RETURN count(*);
