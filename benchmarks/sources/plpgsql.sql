-- A* as a database does it alone: the priority queue and the closed set are tables, as in section 5 of Yoneki, Roy, "A unified
-- graph query layer for multiple databases", 2012. Costs are metres.
CREATE OR REPLACE FUNCTION great_circle(lon1 float8, lat1 float8, lon2 float8, lat2 float8) RETURNS float8
LANGUAGE sql IMMUTABLE AS $$
  SELECT 12742000 * asin(least(1, sqrt(sin(radians((lat2 - lat1) / 2)) ^ 2
    + cos(radians(lat1)) * cos(radians(lat2)) * sin(radians((lon2 - lon1) / 2)) ^ 2)))
$$;

CREATE OR REPLACE FUNCTION astar(s int, g int, OUT cost float8, OUT expanded int) LANGUAGE plpgsql AS $$
DECLARE
  current record;
  goal node;
BEGIN
  SELECT * INTO goal FROM node WHERE id = g;
  DROP TABLE IF EXISTS open_set;
  DROP TABLE IF EXISTS closed_set;
  CREATE TEMP TABLE open_set(id int PRIMARY KEY, distance float8, hval float8, parent int);
  CREATE INDEX ON open_set(hval);
  CREATE TEMP TABLE closed_set(id int PRIMARY KEY, distance float8, parent int);
  INSERT INTO open_set SELECT id, 0, great_circle(lon, lat, goal.lon, goal.lat), NULL FROM node WHERE id = s;
  expanded := 0;
  LOOP
    SELECT * INTO current FROM open_set ORDER BY hval LIMIT 1;
    IF NOT FOUND THEN
      RETURN;
    END IF;
    DELETE FROM open_set WHERE id = current.id;
    INSERT INTO closed_set VALUES (current.id, current.distance, current.parent);
    expanded := expanded + 1;
    IF current.id = g THEN
      cost := current.distance;
      RETURN;
    END IF;
    INSERT INTO open_set
      SELECT DISTINCT ON (n.id) n.id, current.distance + a.len / 10.0,
        current.distance + a.len / 10.0 + great_circle(n.lon, n.lat, goal.lon, goal.lat), current.id
      FROM arc a JOIN node n ON n.id = a.dst
      WHERE a.src = current.id AND NOT EXISTS (SELECT 1 FROM closed_set c WHERE c.id = a.dst)
      ORDER BY n.id, a.len
    ON CONFLICT (id) DO UPDATE SET distance = excluded.distance, hval = excluded.hval, parent = excluded.parent
      WHERE excluded.distance < open_set.distance;
  END LOOP;
END $$;
