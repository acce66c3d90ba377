package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
)

// sample is a value, and Cypher that makes the same value where there is some.
type sample struct {
	name  string
	value any
	text  string
}

// offset is a zone as the driver makes it for values that have no name of a zone.
func offset(seconds int) *time.Location {
	return time.FixedZone("Offset", seconds)
}

func zone(name string) *time.Location {
	return must(time.LoadLocation(name))
}

func atTime(hour, minute, second, nanosecond int, location *time.Location) time.Time {
	return time.Date(0, 1, 1, hour, minute, second, nanosecond, location)
}

func date(year int, month time.Month, day int) neo4j.Date {
	return neo4j.DateOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

func someBytes(length int) []byte {
	found := make([]byte, length)
	for at := range found {
		found[at] = byte(at)
	}
	return found
}

func integers(length int) []any {
	found := make([]any, length)
	for at := range found {
		found[at] = int64(at + 1)
	}
	return found
}

func samples() []sample {
	found := []sample{{"null", nil, "null"}, {"true", true, "true"}, {"false", false, "false"}}
	// Both sides of each limit of a form of integers.
	for _, value := range []int64{
		0, -1, 127, 128, -16, -17, -128, -129, math.MaxInt16, math.MaxInt16 + 1, math.MinInt16, math.MinInt16 - 1, math.MaxInt32,
		math.MaxInt32 + 1, math.MinInt32, math.MinInt32 - 1, 1<<53 + 1, math.MaxInt64, math.MinInt64,
	} {
		found = append(found, sample{fmt.Sprintf("integer %d", value), value, fmt.Sprint(value)})
	}
	found = append(found,
		sample{"float 0.0", 0.0, "0.0"},
		sample{"float -0.0", math.Copysign(0, -1), "-0.0"},
		sample{"float -1.5", -1.5, "-1.5"},
		sample{"float 1.7976931348623157e308", math.MaxFloat64, "1.7976931348623157e308"},
		sample{"float 5e-324", math.SmallestNonzeroFloat64, "5e-324"},
		sample{"float Infinity", math.Inf(1), "1.0 / 0.0"},
		sample{"float -Infinity", math.Inf(-1), "-1.0 / 0.0"},
		sample{"float NaN", math.NaN(), "0.0 / 0.0"},
		sample{"empty string", "", "''"},
		sample{"string beyond the first plane", "Größenmaßstäbe 𝄞", `'Größenmaßstäbe \U0001D11E'`},
	)
	// Both sides of each limit of a form of strings.
	for _, length := range []int{15, 16, 255, 256, 65_535, 65_536, 100_000} {
		found = append(found, sample{fmt.Sprintf("string of %d", length), strings.Repeat("x", length), ""})
	}
	for _, length := range []int{0, 255, 256, 100_000} {
		found = append(found, sample{fmt.Sprintf("%d bytes", length), someBytes(length), ""})
	}
	found = append(found,
		sample{"empty list", []any{}, "[]"},
		sample{"nested list", []any{int64(1), "a", nil, []any{2.5, []any{true}}}, "[1, 'a', null, [2.5, [true]]]"},
		sample{"list of 70000", integers(70_000), "range(1, 70000)"},
		sample{"empty map", map[string]any{}, "{}"},
		sample{
			"nested map",
			map[string]any{"a": int64(1), "b": map[string]any{"c": []any{nil, map[string]any{"d": "e"}}}},
			"{a: 1, b: {c: [null, {d: 'e'}]}}",
		},
	)
	found = append(found, temporalSamples()...)
	return append(found,
		sample{"point in a plane", neo4j.Point2D{X: 1, Y: -2.5, SpatialRefId: 7203}, "point({x: 1, y: -2.5})"},
		sample{"point in space", neo4j.Point3D{X: 1, Y: 2, Z: 1e300, SpatialRefId: 9157}, "point({x: 1, y: 2, z: 1e300})"},
		sample{
			"point on the earth",
			neo4j.Point2D{X: 12.5, Y: 55.6, SpatialRefId: 4326},
			"point({longitude: 12.5, latitude: 55.6})",
		},
		sample{
			"point above the earth",
			neo4j.Point3D{X: -180, Y: 90, Z: -3, SpatialRefId: 4979},
			"point({longitude: -180, latitude: 90, height: -3})",
		},
	)
}

func temporalSamples() []sample {
	stockholm := zone("Europe/Stockholm")
	localDateTime := func(year int, month time.Month, day, hour, minute, second, nanosecond int) any {
		return neo4j.LocalDateTimeOf(time.Date(year, month, day, hour, minute, second, nanosecond, time.UTC))
	}
	return []sample{
		{"date 0001-01-01", date(1, 1, 1), "date('0001-01-01')"},
		{"date 1970-01-01", date(1970, 1, 1), "date('1970-01-01')"},
		{"date 2024-02-29", date(2024, 2, 29), "date('2024-02-29')"},
		{"date 9999-12-31", date(9999, 12, 31), "date('9999-12-31')"},
		{"time of UTC", neo4j.OffsetTimeOf(atTime(23, 59, 59, 999_999_999, offset(0))), "time('23:59:59.999999999Z')"},
		{"time at an offset", neo4j.OffsetTimeOf(atTime(1, 2, 3, 4, offset(-19_800))), "time('01:02:03.000000004-05:30')"},
		{"local time 0", neo4j.LocalTimeOf(atTime(0, 0, 0, 0, time.UTC)), "localtime('00:00')"},
		{"local time", neo4j.LocalTimeOf(atTime(23, 59, 59, 999_999_999, time.UTC)), "localtime('23:59:59.999999999')"},
		{"local datetime before 1970", localDateTime(1900, 2, 28, 0, 0, 0, 1), "localdatetime('1900-02-28T00:00:00.000000001')"},
		{"local datetime", localDateTime(2024, 2, 29, 23, 59, 59, 999_999_999), "localdatetime('2024-02-29T23:59:59.999999999')"},
		{"datetime of UTC", time.Date(1969, 12, 31, 23, 59, 59, 1, offset(0)), "datetime('1969-12-31T23:59:59.000000001Z')"},
		{
			"datetime at +02:00",
			time.Date(2015, 7, 21, 21, 40, 32, 142_000_000, offset(7_200)),
			"datetime('2015-07-21T21:40:32.142+02:00')",
		},
		{
			"datetime at -10:30",
			time.Date(2015, 7, 21, 21, 40, 32, 142_000_000, offset(-37_800)),
			"datetime('2015-07-21T21:40:32.142-10:30')",
		},
		{
			"datetime in Europe/Stockholm",
			time.Date(2024, 6, 21, 12, 30, 15, 123_456_789, stockholm),
			"datetime('2024-06-21T12:30:15.123456789[Europe/Stockholm]')",
		},
		{
			"datetime in America/New_York",
			time.Date(2024, 1, 21, 12, 30, 15, 0, zone("America/New_York")),
			"datetime('2024-01-21T12:30:15[America/New_York]')",
		},
		// As clocks go back, the same local time comes twice.
		{
			"the first 02:30 of two",
			time.Date(2024, 10, 27, 0, 30, 0, 0, time.UTC).In(stockholm),
			"datetime('2024-10-27T02:30:00+02:00[Europe/Stockholm]')",
		},
		{
			"the second 02:30 of two",
			time.Date(2024, 10, 27, 1, 30, 0, 0, time.UTC).In(stockholm),
			"datetime('2024-10-27T02:30:00+01:00[Europe/Stockholm]')",
		},
		{"duration", neo4j.DurationOf(14, -3, 70, 5), "duration({months: 14, days: -3, seconds: 70, nanoseconds: 5})"},
		{"negative duration", neo4j.DurationOf(0, 0, -1, 1), "duration({seconds: -1, nanoseconds: 1})"},
	}
}
