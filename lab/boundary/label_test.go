package boundary_test

import (
	"slices"
	"strings"
	"testing"

	"agentlab/lab/boundary"
	"agentlab/lab/jsonvalue"
	"agentlab/lab/schema"
)

// TestLabels: where a keyword does not tell who is to blame, the probe is told of
// what was found.
func TestLabels(t *testing.T) {
	tests := []struct {
		name, schema, arguments, place string
		side                           boundary.Side
	}{
		{"another branch takes it", with(`{"anyOf":[{"type":"integer","maximum":10},{"type":"integer","minimum":5}]}`), `{"a":11}`, "/properties/a/anyOf", boundary.Inside},
		{"no branch takes it", with(`{"anyOf":[{"type":"integer","maximum":10},{"type":"string"}]}`), `{"a":11}`, "/properties/a/anyOf/0/maximum", boundary.Outside},
		{"a forbidden property", `{"properties":{"x":false}}`, `{"x":"example"}`, "/properties/x/false", boundary.Outside},
		{"behind a reference", `{"required":["a"],"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"integer","maximum":10}}}`, `{"a":11}`, "/$defs/s/maximum", boundary.Outside},
		{"on an open end", with(`{"type":"integer","exclusiveMinimum":4}`), `{"a":4}`, "/properties/a/exclusiveMinimum", boundary.Outside},
		{"recursion", `{"required":["n"],"properties":{"n":{"type":"integer"},"in":{"$ref":"#"}}}`, `{"in":{"in":{"in":{"in":{"in":{"in":{"in":{"in":{"in":{"n":1},"n":1},"n":1},"n":1},"n":1},"n":1},"n":1},"n":1},"n":1},"n":1}`, "/properties/in", boundary.Inside},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := probed(t, define("t", tt.schema), boundary.ProbeOptions{Foreign: true})
			for _, p := range set.Probes {
				if string(p.Arguments) != tt.arguments {
					continue
				}
				if p.Place() != tt.place || p.Side != tt.side {
					t.Errorf("%s %s, want %s %s", p.Place(), p.Side, tt.place, tt.side)
				}
				if p.Keyword != "" && !slices.ContainsFunc(set.Coverage, func(c boundary.Covered) bool { return c.Pointer == p.Pointer && c.Keyword == p.Keyword }) {
					t.Errorf("%s is not among the keywords %+v", p.Place(), set.Coverage)
				}
				return
			}
			t.Errorf("there is no %s", tt.arguments)
			for _, p := range set.Probes {
				t.Logf("%.300s", p.Arguments)
			}
		})
	}
}

// TestNoVerdict: what lab/schema does not judge is left out, as is what depends
// on where the sandbox is.
func TestNoVerdict(t *testing.T) {
	big := define("t", `{"type":"object","properties":{"n":{"type":"integer"},"e":{"enum":["a"]}}}`)
	if set := probed(t, big, boundary.ProbeOptions{}); len(set.Probes) < 30 {
		t.Errorf("%d probes", len(set.Probes))
	}
	d := define("t", `{"required":["path"],"properties":{"path":{"type":"string","pattern":"^/"},"n":{"type":"integer"}}}`)
	compiled, err := schema.CompileForeign(d.InputSchema, schema.Draft202012)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range probed(t, d, boundary.ProbeOptions{Foreign: true}).Probes {
		if value, err := jsonvalue.Decode(p.Arguments); err == nil && p.Valid != (compiled.Validate(value) == nil) {
			t.Errorf("%s depends on where the sandbox is", p.Arguments)
		}
	}
}

// TestPathsOfProbes: a text that a tool takes for a path lies in the sandbox,
// whatever is wrong with it.
func TestPathsOfProbes(t *testing.T) {
	d := define("t", `{"required":["path"],"properties":{"path":{"type":"string","maxLength":60},"dest":{"type":"string","format":"uri"},"dirs":{"type":"array","items":{"type":"string"}}}}`)
	set := probed(t, d, boundary.ProbeOptions{Foreign: true})
	texts := 0
	for _, p := range set.Probes {
		value, err := jsonvalue.Decode(p.Arguments)
		if err != nil {
			continue
		}
		for name, member := range value.(map[string]any) {
			if path, ok := member.(string); ok && boundary.NamesPath(name) {
				if texts++; !strings.HasPrefix(path, "${SANDBOX}") && !strings.HasPrefix(path, "https://example.test/") {
					t.Errorf("%s: %q", p.Words, path)
				}
			}
		}
	}
	if texts < 50 {
		t.Errorf("only %d texts", texts)
	}
}
