// Sessions of Neo4j's driver for Go: values of every type both ways, graphs, transactions, streams and errors.
//
// NEO4J_URI, NEO4J_USERNAME and NEO4J_PASSWORD name an empty server. Each case that differs is printed with what was expected and
// what was found; the last line is the number of cases, and the exit code 1 if one of them differed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	_ "time/tzdata"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

type object = map[string]any

var (
	ctx              = context.Background()
	uri              = os.Getenv("NEO4J_URI")
	user             = os.Getenv("NEO4J_USERNAME")
	password         = os.Getenv("NEO4J_PASSWORD")
	driver           neo4j.DriverWithContext
	cases, differing int
)

// must gives the value; within a case, an error is what the case found.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// check is a case: what find gives is compared with what is expected, in the types of the driver.
func check(name string, expected any, find func() any) {
	cases++
	wanted, found := describe(expected), describe(attempt(find))
	if found != wanted {
		differing++
		fmt.Printf("DIFFERS %s: expected %s, found %s\n", name, short(wanted), short(found))
	}
}

func attempt(find func() any) (found any) {
	defer func() {
		if reason := recover(); reason != nil {
			found = reason
		}
	}()
	return find()
}

// refused is the error of a code and a GQL status, as it is described.
func refused(code, status string) error {
	return &neo4j.Neo4jError{Code: "Neo.ClientError." + code, GqlStatus: status}
}

func query(text string, parameters object) *neo4j.EagerResult {
	return must(neo4j.ExecuteQuery(ctx, driver, text, parameters, neo4j.EagerResultTransformer))
}

func rows(text string, parameters object) [][]any {
	found := [][]any{}
	for _, record := range query(text, parameters).Records {
		found = append(found, record.Values)
	}
	return found
}

func single(text string, parameters object) any {
	return rows(text, parameters)[0][0]
}

func inSession(settings neo4j.SessionConfig, act func(neo4j.SessionWithContext) any) any {
	session := driver.NewSession(ctx, settings)
	defer session.Close(ctx)
	return act(session)
}

// runner is a session or a transaction.
type runner func(text string, parameters object) (neo4j.ResultWithContext, error)

func of(session neo4j.SessionWithContext) runner {
	return func(text string, parameters object) (neo4j.ResultWithContext, error) {
		return session.Run(ctx, text, parameters)
	}
}

func within(transaction neo4j.ManagedTransaction) runner {
	return func(text string, parameters object) (neo4j.ResultWithContext, error) {
		return transaction.Run(ctx, text, parameters)
	}
}

// first is the first value of the only record.
func first(run runner, text string, parameters object) (any, error) {
	result, err := run(text, parameters)
	if err != nil {
		return nil, err
	}
	record, err := result.Single(ctx)
	if err != nil {
		return nil, err
	}
	return record.Values[0], nil
}

// failure runs a statement to its end, and gives its error.
func failure(run runner, text string) error {
	result, err := run(text, nil)
	if err == nil {
		_, err = result.Consume(ctx)
	}
	return err
}

func checkValues() {
	all, properties := []any{}, object{}
	for _, each := range samples() {
		each := each
		text := each.text
		if text == "" {
			text = "$x"
		}
		check(each.name, []any{each.value, each.value}, func() any {
			return rows("RETURN $x AS sent, "+text+" AS made", object{"x": each.value})[0]
		})
		all = append(all, each.value)
		// Nothing is stored for null; lists of several types, and maps, are no properties.
		switch each.name {
		case "null", "nested list", "empty map", "nested map":
		default:
			properties[each.name] = each.value
		}
	}
	check("all values in a list", all, func() any {
		found := []any{}
		for _, row := range rows("UNWIND $values AS value RETURN value", object{"values": all}) {
			found = append(found, row[0])
		}
		return found
	})
	check("all values as properties", properties, func() any {
		rows("CREATE (n:Value) SET n = $properties", object{"properties": properties})
		return single("MATCH (n:Value) RETURN n", nil).(neo4j.Node).Props
	})
	// What only this driver has.
	check("other integers, and slices and maps of one type", []any{int64(7), []any{"a", "b"}, object{"c": 1.5}}, func() any {
		parameters := object{"x": uint16(7), "y": []string{"a", "b"}, "z": map[string]float64{"c": 1.5}}
		return rows("RETURN $x, $y, $z", parameters)[0]
	})
	// The server has one status for all arguments out of range; Neo4j's own for this is 22N21.
	check("a point of an unknown system is refused", []any{refused("Statement.ArgumentError", "22N02"), true}, func() any {
		parameters := object{"x": neo4j.Point2D{X: 1, Y: 2, SpatialRefId: 4711}}
		_, err := neo4j.ExecuteQuery(ctx, driver, "RETURN $x", parameters, neo4j.EagerResultTransformer)
		return []any{err, err != nil && strings.Contains(err.Error(), "coordinate reference system 4711")}
	})
}

func checkGraphs() {
	rows("CREATE (a:Person:Admin {name: 'Ann', born: date('1990-01-02')})-[:KNOWS {since: 2001}]->(b:Person {name: 'Bob'})"+
		"<-[:LIKES]-(c:Person {name: 'Cid'})", nil)
	row := rows("MATCH p = (a {name: 'Ann'})-[r:KNOWS]->(b)<-[s]-(c) RETURN a, r, b, s, c, p, elementId(a), elementId(r)", nil)[0]
	ann, knows, bob := row[0].(neo4j.Node), row[1].(neo4j.Relationship), row[2].(neo4j.Node)
	likes, cid, path := row[3].(neo4j.Relationship), row[4].(neo4j.Node), row[5].(neo4j.Path)
	check("labels and properties of a node", []any{true, true, int64(2), object{"name": "Ann", "born": date(1990, 1, 2)}}, func() any {
		labels := " " + strings.Join(ann.Labels, " ") + " "
		return []any{strings.Contains(labels, " Admin "), strings.Contains(labels, " Person "), int64(len(ann.Labels)), ann.Props}
	})
	check("type and properties of a relationship", []any{"KNOWS", object{"since": int64(2001)}}, func() any {
		return []any{knows.Type, knows.Props}
	})
	check("element ids are those of the function", row[6:], func() any { return []any{ann.ElementId, knows.ElementId} })
	check("a node is found by its element id", "Ann", func() any {
		return single("MATCH (n) WHERE elementId(n) = $id RETURN n.name", object{"id": ann.ElementId})
	})
	check("a relationship is found by its element id", int64(2001), func() any {
		return single("MATCH ()-[r]->() WHERE elementId(r) = $id RETURN r.since", object{"id": knows.ElementId})
	})
	check("relationships have directions", []any{ann.ElementId, bob.ElementId, cid.ElementId, bob.ElementId}, func() any {
		return []any{knows.StartElementId, knows.EndElementId, likes.StartElementId, likes.EndElementId}
	})
	expected := neo4j.Path{Nodes: []neo4j.Node{ann, bob, cid}, Relationships: []neo4j.Relationship{knows, likes}}
	check("a path has nodes and relationships in order", expected, func() any { return path })
	check("a path of no relationship", neo4j.Path{Nodes: []neo4j.Node{ann}}, func() any {
		return single("MATCH p = (:Admin) RETURN p", nil)
	})
	check("graphs in lists and maps", []any{ann, object{"edge": knows, "walk": []any{path}}}, func() any {
		return single("MATCH p = (a:Admin)-[r:KNOWS]->()<--() RETURN [a, {edge: r, walk: [p]}]", nil)
	})
}

func count() any {
	return single("MATCH (n:T) RETURN count(n)", nil)
}

func checkTransactions() {
	all := neo4j.SessionConfig{}
	check("an explicit transaction commits", []any{int64(1), int64(0), int64(1)}, func() any {
		return inSession(all, func(session neo4j.SessionWithContext) any {
			transaction := must(session.BeginTransaction(ctx))
			defer transaction.Close(ctx)
			must(transaction.Run(ctx, "CREATE (:T)", nil))
			inside := must(must(transaction.Run(ctx, "MATCH (n:T) RETURN count(n)", nil)).Single(ctx)).Values[0]
			outside := count()
			if err := transaction.Commit(ctx); err != nil {
				return err
			}
			return []any{inside, outside, count()}
		})
	})
	check("an explicit transaction rolls back", int64(1), func() any {
		return inSession(all, func(session neo4j.SessionWithContext) any {
			transaction := must(session.BeginTransaction(ctx))
			defer transaction.Close(ctx)
			must(transaction.Run(ctx, "CREATE (:T)", nil))
			if err := transaction.Rollback(ctx); err != nil {
				return err
			}
			return count()
		})
	})
	check("a managed transaction writes", []any{int64(2), int64(2)}, func() any {
		return inSession(all, func(session neo4j.SessionWithContext) any {
			found := must(session.ExecuteWrite(ctx, func(transaction neo4j.ManagedTransaction) (any, error) {
				return first(within(transaction), "CREATE (:T) WITH 1 AS x MATCH (n:T) RETURN count(n)", nil)
			}))
			return []any{found, count()}
		})
	})
	check("a managed transaction reads", int64(2), func() any {
		return inSession(all, func(session neo4j.SessionWithContext) any {
			return must(session.ExecuteRead(ctx, func(transaction neo4j.ManagedTransaction) (any, error) {
				return first(within(transaction), "MATCH (n:T) RETURN count(n)", nil)
			}))
		})
	})
	check("a managed transaction that reads does not write", refused("Statement.AccessMode", "42N02"), func() any {
		return inSession(all, func(session neo4j.SessionWithContext) any {
			_, err := session.ExecuteRead(ctx, func(transaction neo4j.ManagedTransaction) (any, error) {
				return nil, failure(within(transaction), "CREATE (:T)")
			})
			return err
		})
	})
	givenUp := errors.New("given up")
	check("work that fails is rolled back", []any{givenUp, int64(2)}, func() any {
		return inSession(all, func(session neo4j.SessionWithContext) any {
			_, err := session.ExecuteWrite(ctx, func(transaction neo4j.ManagedTransaction) (any, error) {
				must(transaction.Run(ctx, "CREATE (:T)", nil))
				return nil, givenUp
			})
			return []any{err, count()}
		})
	})
	check("conflicts are tried again", int64(40), countTogether)
	check("bookmarks are passed on", []any{int64(1), int64(3)}, func() any {
		bookmarks := inSession(all, func(session neo4j.SessionWithContext) any {
			must(must(session.Run(ctx, "CREATE (:T)", nil)).Consume(ctx))
			return session.LastBookmarks()
		}).(neo4j.Bookmarks)
		found := inSession(neo4j.SessionConfig{Bookmarks: bookmarks}, func(session neo4j.SessionWithContext) any {
			return must(first(of(session), "MATCH (n:T) RETURN count(n)", nil))
		})
		return []any{int64(len(bookmarks)), found}
	})
	check("a failure ends its transaction", int64(3), func() any {
		return inSession(all, func(session neo4j.SessionWithContext) any {
			transaction := must(session.BeginTransaction(ctx))
			defer transaction.Close(ctx)
			must(transaction.Run(ctx, "CREATE (:T)", nil))
			_, failed := transaction.Run(ctx, "RETRUN 1", nil)
			if failed == nil || transaction.Commit(ctx) == nil {
				return "no error"
			}
			return count()
		})
	})
}

// countTogether adds ones in four sessions at a time, which meet in one node.
func countTogether() any {
	rows("CREATE (:Counter {n: 0})", nil)
	ends := make(chan error)
	for worker := 0; worker < 4; worker++ {
		go func() {
			session := driver.NewSession(ctx, neo4j.SessionConfig{})
			defer session.Close(ctx)
			var err error
			for round := 0; round < 10 && err == nil; round++ {
				_, err = session.ExecuteWrite(ctx, func(transaction neo4j.ManagedTransaction) (any, error) {
					found, err := first(within(transaction), "MATCH (c:Counter) RETURN c.n", nil)
					if err != nil {
						return nil, err
					}
					return transaction.Run(ctx, "MATCH (c:Counter) SET c.n = $n", object{"n": found.(int64) + 1})
				})
			}
			ends <- err
		}()
	}
	for worker := 0; worker < 4; worker++ {
		if err := <-ends; err != nil {
			return err
		}
	}
	return single("MATCH (c:Counter) RETURN c.n", nil)
}

func checkStreams() {
	check("10,000 records come in batches of 300", integers(10_000), func() any {
		return inSession(neo4j.SessionConfig{FetchSize: 300}, func(session neo4j.SessionWithContext) any {
			result := must(session.Run(ctx, "UNWIND range(1, 10000) AS i RETURN i", nil))
			found := []any{}
			for result.Next(ctx) {
				found = append(found, result.Record().Values[0])
			}
			return must(found, result.Err())
		})
	})
	check("several results are open in a transaction", []any{integers(1_000), integers(1_000)}, func() any {
		return inSession(neo4j.SessionConfig{FetchSize: 100}, func(session neo4j.SessionWithContext) any {
			return must(session.ExecuteRead(ctx, func(transaction neo4j.ManagedTransaction) (any, error) {
				one := must(transaction.Run(ctx, "UNWIND range(1, 1000) AS i RETURN i", nil))
				two := must(transaction.Run(ctx, "UNWIND range(1, 1000) AS i RETURN i", nil))
				left, right := []any{}, []any{}
				for one.Next(ctx) && two.Next(ctx) {
					left, right = append(left, one.Record().Values[0]), append(right, two.Record().Values[0])
				}
				if err := one.Err(); err != nil {
					return nil, err
				}
				return []any{left, right}, two.Err()
			}))
		})
	})
	check("the rest of a stream is not wanted", []any{integers(25), int64(1)}, func() any {
		return inSession(neo4j.SessionConfig{FetchSize: 10}, func(session neo4j.SessionWithContext) any {
			result := must(session.Run(ctx, "UNWIND range(1, 1000000000) AS i RETURN i", nil))
			found := []any{}
			for len(found) < 25 && result.Next(ctx) {
				found = append(found, result.Record().Values[0])
			}
			must(result.Consume(ctx))
			return []any{found, must(first(of(session), "RETURN 1", nil))}
		})
	})
	check("a failure behind records", []any{true, refused("Statement.ArithmeticError", "22003")}, func() any {
		return inSession(neo4j.SessionConfig{FetchSize: 10}, func(session neo4j.SessionWithContext) any {
			result := must(session.Run(ctx, "UNWIND range(1, 5000) AS i RETURN 1 / (4500 - i) AS x", nil))
			found := 0
			for result.Next(ctx) {
				found++
			}
			return []any{found > 0 && found < 4_500, result.Err()}
		})
	})
}

func checkErrors() {
	rows("CREATE CONSTRAINT unique_key FOR (n:U) REQUIRE n.k IS UNIQUE", nil)
	for _, each := range [][3]string{
		{"RETRUN 1", "Statement.SyntaxError", "42001"},
		{"RETURN x", "Statement.SemanticError", "42001"},
		{"RETURN $x", "Statement.ParameterMissing", "42N51"},
		{"CALL nothing()", "Procedure.ProcedureNotFound", "42N08"},
		{"UNWIND [1, 'a'] AS x RETURN x + date()", "Statement.TypeError", "22N01"},
		{"CREATE (a:U {k: 1}), (b:U {k: 1})", "Schema.ConstraintValidationFailed", "22N79"},
		{"LOAD CSV FROM 'x.csv' AS row RETURN row", "Security.Forbidden", "42NFF"},
	} {
		text := each[0]
		check("error of "+text, []any{refused(each[1], each[2]), int64(1)}, func() any {
			return inSession(neo4j.SessionConfig{}, func(session neo4j.SessionWithContext) any {
				return []any{failure(of(session), text), must(first(of(session), "RETURN 1", nil))}
			})
		})
	}
	logIn := func(user, password string) func() any {
		return func() any {
			stranger := must(neo4j.NewDriverWithContext(uri, neo4j.BasicAuth(user, password, "")))
			defer stranger.Close(ctx)
			return stranger.VerifyConnectivity(ctx)
		}
	}
	check("a wrong password", refused("Security.Unauthorized", "42NFF"), logIn(user, "wrong password"))
	check("an unknown user", refused("Security.Unauthorized", "42NFF"), logIn("nobody", password))
	check("an unknown database", refused("Database.DatabaseNotFound", "42N00"), func() any {
		elsewhere := neo4j.ExecuteQueryWithDatabase("elsewhere")
		_, err := neo4j.ExecuteQuery(ctx, driver, "RETURN 1", nil, neo4j.EagerResultTransformer, elsewhere)
		return err
	})
}

func changes(text string) any {
	found := query(text, nil).Summary.Counters()
	return fmt.Sprint(
		found.NodesCreated(), found.NodesDeleted(), found.RelationshipsCreated(), found.RelationshipsDeleted(), found.PropertiesSet(),
		found.LabelsAdded(), found.LabelsRemoved(), found.IndexesAdded(), found.IndexesRemoved(), found.ConstraintsAdded(),
		found.ConstraintsRemoved(),
	)
}

func checkSummaries() {
	check("counters of what is made", "2 0 1 0 3 3 0 0 0 0 0", func() any {
		return changes("CREATE (a:A:B {x: 1, y: 2})-[:R {z: 3}]->(:C)")
	})
	check("counters of what is deleted", "0 2 0 1 0 0 0 0 0 0 0", func() any {
		return changes("MATCH (a:A)-->(c:C) DETACH DELETE a, c")
	})
	check("kind, database and server", []any{true, "neo4j", "5.8", true}, func() any {
		summary := query("CREATE (n:S) RETURN n", nil).Summary
		version := summary.Server().ProtocolVersion()
		agent := regexp.MustCompile(`^Neo4j/5\.\d+\.\d+ \(Knotwork .*\)$`).MatchString(summary.Server().Agent())
		protocol := fmt.Sprintf("%d.%d", version.Major, version.Minor)
		return []any{summary.StatementType() == neo4j.StatementTypeReadWrite, summary.Database().Name(), protocol, agent}
	})
	check("a plan and a profile", []any{true, true, int64(7)}, func() any {
		plan := query("EXPLAIN MATCH (n:S) RETURN n", nil).Summary.Plan()
		profile := query("PROFILE UNWIND range(1, 7) AS i RETURN i", nil).Summary.Profile()
		return []any{plan.Operator() != "", profile.Operator() != "", profile.Records()}
	})
	check("a route leads back", int64(1), func() any {
		routed := must(neo4j.NewDriverWithContext(strings.Replace(uri, "bolt:", "neo4j:", 1), neo4j.BasicAuth(user, password, "")))
		defer routed.Close(ctx)
		readers := neo4j.ExecuteQueryWithReadersRouting()
		return must(neo4j.ExecuteQuery(ctx, routed, "RETURN 1", nil, neo4j.EagerResultTransformer, readers)).Records[0].Values[0]
	})
}

func main() {
	driver = must(neo4j.NewDriverWithContext(uri, neo4j.BasicAuth(user, password, "")))
	defer driver.Close(ctx)
	checkValues()
	checkGraphs()
	checkTransactions()
	checkStreams()
	checkErrors()
	checkSummaries()
	fmt.Printf("%d cases\n", cases)
	if differing > 0 {
		os.Exit(1)
	}
}
