package main

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// describe tells a value with its type, so that values are the same if their descriptions are: NaN equals itself, -0 is not 0, and
// the same moment in two zones differs.
func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case float64:
		return "float64 " + strconv.FormatFloat(value, 'g', -1, 64)
	case string:
		return strconv.Quote(value)
	case []byte:
		return fmt.Sprintf("bytes %x", value)
	case []any:
		return "[" + strings.Join(descriptions(value), ", ") + "]"
	case map[string]any:
		return "{" + strings.Join(entries(value), ", ") + "}"
	case neo4j.Date:
		return "date " + value.Time().Format("2006-01-02")
	case neo4j.OffsetTime:
		return "time " + value.Time().Format("15:04:05.000000000Z07:00")
	case neo4j.LocalTime:
		return "local time " + value.Time().Format("15:04:05.000000000")
	case neo4j.LocalDateTime:
		return "local datetime " + value.Time().Format("2006-01-02T15:04:05.000000000")
	case time.Time:
		return "datetime " + value.Format("2006-01-02T15:04:05.000000000Z07:00") + "[" + value.Location().String() + "]"
	case neo4j.Point2D:
		return fmt.Sprintf("point %d %v %v", value.SpatialRefId, value.X, value.Y)
	case neo4j.Point3D:
		return fmt.Sprintf("point %d %v %v %v", value.SpatialRefId, value.X, value.Y, value.Z)
	case neo4j.Node:
		labels := append([]string{}, value.Labels...)
		sort.Strings(labels)
		return fmt.Sprintf("node %s %v %s", value.ElementId, labels, describe(value.Props))
	case neo4j.Relationship:
		ends := value.StartElementId + " to " + value.EndElementId
		return fmt.Sprintf("relationship %s %s from %s %s", value.ElementId, value.Type, ends, describe(value.Props))
	case neo4j.Path:
		text := "path"
		for _, node := range value.Nodes {
			text += ", " + describe(node)
		}
		for _, relationship := range value.Relationships {
			text += ", " + describe(relationship)
		}
		return text
	case error:
		return describeError(value)
	}
	return fmt.Sprintf("%T %v", value, value)
}

func descriptions(values []any) []string {
	found := []string{}
	for _, value := range values {
		found = append(found, describe(value))
	}
	return found
}

func entries(values map[string]any) []string {
	found := []string{}
	for key, value := range values {
		found = append(found, strconv.Quote(key)+": "+describe(value))
	}
	sort.Strings(found)
	return found
}

func describeError(value error) string {
	var failure *neo4j.Neo4jError
	if errors.As(value, &failure) {
		return fmt.Sprintf("%T %s %s", value, failure.Code, failure.GqlStatus)
	}
	return fmt.Sprintf("%T %s", value, value.Error())
}

func short(text string) string {
	if len(text) > 400 {
		return fmt.Sprintf("%s… (%d bytes)", text[:400], len(text))
	}
	return text
}
