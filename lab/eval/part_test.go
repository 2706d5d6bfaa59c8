package eval

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"agentlab/lab/jsonvalue"
)

func TestIsPart(t *testing.T) {
	tests := []struct {
		expected, actual string
		want             bool
	}{
		{`{}`, `{"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1,"b":2}`, `{"a":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":null}`, `{"a":null}`, true},
		{`{"a":{"b":[{"c":1}]}}`, `{"a":{"b":[{"c":1,"d":2}],"e":3}}`, true},
		{`{"a":{"b":[{"c":1}]}}`, `{"a":{"b":[{"c":2}]}}`, false},
		{`[]`, `[]`, true},
		{`[]`, `[1]`, false},
		{`[1]`, `[]`, false},
		{`[1,{}]`, `[1,{"a":1}]`, true},
		{`[1,2]`, `[2,1]`, false},
		{`1`, `1.0e0`, true},
		{`-0`, `0`, true},
		{`0.1`, `10e-2`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`9007199254740993`, `9007199254740993.0`, true},
		{`1`, `"1"`, false},
		{`"a"`, `"a"`, true},
		{`"\u0061"`, `"a"`, true},
		{`"a"`, `"A"`, false},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`false`, `null`, false},
		{`null`, `null`, true},
		{`null`, `{}`, false},
		{`{}`, `[]`, false},
		{`[]`, `{}`, false},
		{`{}`, `null`, false},
		{`{}`, `{"a":1,"a":1}`, false}, // it has two readings
		{`{"a":1,"a":1}`, `{"a":1}`, false},
	}
	for _, test := range tests {
		g := newPart(json.RawMessage(test.expected)).grade("state", json.RawMessage(test.actual))
		if g.Passed != test.want || g.Name != "state" {
			t.Errorf("%s of %s: %+v, want %v", test.expected, test.actual, g, test.want)
		}
	}
	if g := newPart(json.RawMessage(`null`)).grade("state", nil); g.Passed || string(g.Actual) != "null" {
		t.Errorf("null of nothing: %+v", g)
	}
	if g := newPart(json.RawMessage("{ \"a\":\n1 }")).grade("state", json.RawMessage(`{"a":1}`)); !g.Passed || string(g.Expected) != `{"a":1}` {
		t.Errorf("not compact: %+v", g)
	}
	if p := newPart(nil); p != nil {
		t.Errorf("a part of nothing: %+v", p)
	}
}

// tree draws a value as jsonvalue.Decode returns it.
func tree(t *rapid.T, depth int) any {
	kinds := []string{"null", "bool", "text", "number"}
	if depth > 0 {
		kinds = append(kinds, "array", "object", "object")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "text":
		return rapid.SampledFrom([]string{"", "a", "é"}).Draw(t, "text")
	case "number":
		return rapid.SampledFrom([]json.Number{"0", "1", "1.5", "-2", "12345678901234567890", "1e300"}).Draw(t, "number")
	case "array":
		items := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, tree(t, depth-1))
		}
		return items
	case "object":
		members := make(map[string]any)
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			members[rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "name")] = tree(t, depth-1)
		}
		return members
	}
	return nil
}

// A value is a part of itself; with members taken away it is a part of what it
// was, which is a part of it only where nothing was taken.
func TestIsPartOfItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := tree(t, 3)
		if !isPart(whole, whole) {
			t.Fatalf("%v is no part of itself", whole)
		}
		taken := 0
		less := without(t, whole, &taken)
		if !isPart(less, whole) {
			t.Fatalf("%v is no part of %v", less, whole)
		}
		if isPart(whole, less) != (taken == 0) {
			t.Fatalf("%v is a part of %v, of which %d members were taken", whole, less, taken)
		}
		document := jsonvalue.AppendCanonical(nil, whole)
		if g := newPart(document).grade("state", document); !g.Passed {
			t.Fatalf("%s is no part of itself", document)
		}
	})
}

func without(t *rapid.T, value any, taken *int) any {
	switch v := value.(type) {
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = without(t, v[i], taken)
		}
		return items
	case map[string]any:
		members := make(map[string]any)
		for name, member := range v {
			if rapid.Bool().Draw(t, "take") {
				*taken++
				continue
			}
			members[name] = without(t, member, taken)
		}
		return members
	}
	return value
}
